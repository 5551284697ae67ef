"""The reference evaluator: fetches sources and checks guards in Python, as ``csrc/guards.c`` does; runs no user code.

Every read is raw: class dicts through ``type``'s own descriptors, instance attributes only where the class looks
them up plainly. What cannot be read so is ``Unavailable``, and its guard fails. (A dict that holds keys of user
classes is read as Python reads it: a key with an equal hash may be compared.)
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from bcjit.guards.guard import Guard, GuardKind, Identity, SymbolicRelation
from bcjit.guards.source import (
    Source,
    SourceKind,
    exact_key,
    has_base,
    is_constant_key,
    is_exactly,
)
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.dims import Symbol

__all__ = ["Roots", "Unavailable", "fetch", "first_failing", "holds", "own_dict", "same_dtype"]


class Unavailable(LookupError):
    """A source whose value cannot be found, or not without running user code."""


@dataclass(frozen=True, slots=True)
class Roots:
    """What sources start from: a part's values, the function, and the part's closure if it has its own."""

    values: tuple[object, ...]
    func: types.FunctionType
    closure: tuple[types.CellType, ...] | None = None

    def cells(self) -> tuple[types.CellType, ...]:
        """Return the closure in use."""
        return self.closure if self.closure is not None else self.func.__closure__ or ()


# Raw reads

_TYPE_MRO: Final = type.__dict__["__mro__"]
_TYPE_DICT: Final = type.__dict__["__dict__"]
_MODULE_DICT: Final = vars(types.ModuleType)["__dict__"]
_BUILTINS: Final = vars(types.FunctionType)["__builtins__"]
_ABSENT: Final = object()

# Types of which the C slot tp_getattro is PyObject_GenericGetAttr: some wrap it again, each in a __getattribute__ of
# its own. C types that are not listed are not read here (the C tree sees the slot itself).
GENERIC_TYPES: Final[tuple[type, ...]] = (
    *(object, BaseException, bool, bytearray, bytes, complex, dict, float, frozenset, int, list),
    *(range, set, slice, str, tuple, property, staticmethod, classmethod),
    *(
        types.FunctionType,
        types.BuiltinFunctionType,
        types.CodeType,
        types.CellType,
        types.SimpleNamespace,
    ),
    *(types.MemberDescriptorType, types.GetSetDescriptorType, types.WrapperDescriptorType),
    *(types.MethodDescriptorType, types.ClassMethodDescriptorType),
    *(collections.defaultdict, collections.deque, functools.partial),
    *(np.ndarray, np.generic, np.dtype, np.ufunc),
)
_GENERIC_GETATTRIBUTE: Final = frozenset(
    vars(cls)["__getattribute__"] for cls in GENERIC_TYPES if "__getattribute__" in vars(cls)
)


def lookup_in_mro(cls: type, name: str) -> object:
    """Return what ``_PyType_Lookup`` (Objects/typeobject.c) finds, or raise Unavailable."""
    for ancestor in _TYPE_MRO.__get__(cls):
        namespace = _TYPE_DICT.__get__(ancestor)
        found = namespace.get(name, _ABSENT)
        if found is not _ABSENT:
            return found
    raise Unavailable(
        f"class {cls.__name__} has no {name}" if type(cls) is type else f"the class has no {name}"
    )


def _has_in_mro(cls: type, name: str) -> bool:
    return any(name in _TYPE_DICT.__get__(ancestor) for ancestor in _TYPE_MRO.__get__(cls))


def _looks_up_plainly(cls: type) -> bool:
    """Whether instances use ``PyObject_GenericGetAttr`` (Objects/object.c)."""
    found = lookup_in_mro(cls, "__getattribute__")
    return (
        type(found) is types.WrapperDescriptorType
        and found in _GENERIC_GETATTRIBUTE
        and not _has_in_mro(cls, "__getattr__")
    )


def _instance_dict(value: object) -> dict[object, object]:
    """Return the instance's dict, through the descriptor that the class which brought it was given."""
    found = own_dict(value)
    return {} if found is None else found


def own_dict(value: object) -> dict[object, object] | None:
    """Return the dict with an instance's attributes, None if it has none; nothing is asked of classes."""
    if is_class(value):
        return None
    for ancestor in _TYPE_MRO.__get__(type(value)):
        descriptor = _TYPE_DICT.__get__(ancestor).get("__dict__")
        # A getset where the instance has it; a member in C types that always have one.
        if is_exactly(descriptor, (types.GetSetDescriptorType, types.MemberDescriptorType)):
            return cast("dict[object, object]", descriptor.__get__(value))
    return None


def instance_attribute(value: object, name: str) -> object:
    """Return an instance attribute as ``PyObject_GenericGetAttr`` finds it, ``_ABSENT`` if there is none.

    Raises Unavailable where attributes are not looked up plainly or a data descriptor other than a slot is in front.
    """
    cls = type(value)
    if not _looks_up_plainly(cls):
        raise Unavailable("its class has its own way to look attributes up")
    try:
        descriptor = lookup_in_mro(cls, name)
    except Unavailable:
        descriptor = None
    if type(descriptor) is types.MemberDescriptorType:
        try:
            return descriptor.__get__(value)
        except AttributeError:
            return _ABSENT
        except TypeError:
            raise Unavailable("the slot belongs to another class") from None
    if descriptor is not None and _is_data_descriptor(descriptor):
        raise Unavailable(f"its class computes {name}")
    # Not its own get: an instance's dict may be of a subclass.
    return _raw_get(_instance_dict(value), name)


def _is_data_descriptor(descriptor: object) -> bool:
    # tp_descr_set is filled by __set__ and by __delete__.
    return _has_in_mro(type(descriptor), "__set__") or _has_in_mro(type(descriptor), "__delete__")


def _raw_get(namespace: dict[object, object], key: object) -> object:
    """Return what a dict has under a key, ``_ABSENT`` for nothing."""
    try:
        return dict.get(namespace, key, _ABSENT)
    except Exception as error:
        raise Unavailable(f"looking for {key!r} failed") from error


# Sources


def _local(key: Any, _base: object, roots: Roots) -> object:
    if not 0 <= key[0] < len(roots.values):
        raise Unavailable("there is no such argument")
    return roots.values[key[0]]


def _from_dict(namespace: object, key: object) -> object:
    if type(namespace) is not dict:
        raise Unavailable("its namespace is not a plain dict")
    value = _raw_get(namespace, key)
    if value is _ABSENT:
        raise Unavailable(f"there is no {key!r}")
    return value


def cell_of(source: Source, roots: Roots) -> types.CellType:
    """Return the cell itself of a CELL or CELL_OF source."""
    if source.kind is SourceKind.CELL:
        cells: object = roots.cells()
        index = cast("tuple[int, str]", source.key)[0]
    else:
        cells = fetch(cast("Source", source.base), roots)
        index = cast("int", source.key)
    if (
        type(cells) is not tuple
        or not 0 <= index < len(cells)
        or type(cells[index]) is not types.CellType
    ):
        raise Unavailable("there is no such cell")
    return cast("types.CellType", cells[index])


def _attr(key: Any, base: object, _roots: Roots) -> object:
    value = instance_attribute(base, key)
    if value is _ABSENT:
        raise Unavailable(f"it has no {key} of its own")
    return value


def _module_attr(key: Any, base: object, _roots: Roots) -> object:
    if type(base) is not types.ModuleType:
        raise Unavailable("it is not a module")
    return _from_dict(_MODULE_DICT.__get__(base), key)


def is_class(value: object) -> bool:
    """Whether the value is a class, without asking its ``__class__``."""
    return has_base(value, type)


def _mro(key: Any, base: object, _roots: Roots) -> object:
    if not is_class(base):
        raise Unavailable("it is not a class")
    return lookup_in_mro(cast("type", base), key)


def _item(key: Any, base: object, _roots: Roots) -> object:
    if type(base) is dict:
        return _from_dict(base, key)
    # Of a tuple's subclass its items are read where they are stored; its class is guarded before.
    if type(base) is not list and not is_tuple(base):
        raise Unavailable("it is not a plain list, tuple or dict")
    if type(key) not in (int, bool):
        raise Unavailable("its items have no such key")
    size = _length(None, base, _roots)
    if not -size <= key < size:
        raise Unavailable(f"it has only {size} items")
    if type(base) is list:
        return base[key]
    return tuple.__getitem__(cast("tuple[object, ...]", base), key)


_SIZED: Final = (list, dict, set, frozenset, str, bytes)


def is_tuple(value: object) -> bool:
    """Whether a value is a tuple, or of a class made from it; nothing is asked of the value."""
    return has_base(value, tuple)


def _length(_key: Any, base: object, _roots: Roots) -> int:
    if is_tuple(base):
        return tuple.__len__(cast("tuple[object, ...]", base))
    if not is_exactly(base, _SIZED):
        raise Unavailable("it is not a plain list, tuple, dict, set, str or bytes")
    return len(cast("Sequence[object]", base))


def _shape(key: Any, base: object, _roots: Roots) -> object:
    if type(base) is not np.ndarray:
        raise Unavailable("it is not a plain array")
    if not 0 <= key < base.ndim:
        raise Unavailable(f"it has only {base.ndim} dimensions")
    return base.shape[key]


# member -> the exact types that have it, with the C descriptor that reads it
def _readers(*pairs: tuple[type, str]) -> dict[type, Callable[[object], object]]:
    return {cls: vars(cls)[name].__get__ for cls, name in pairs}


_READERS: Final[dict[str, dict[type, Callable[[object], object]]]] = {
    "code": _readers((types.FunctionType, "__code__")),
    "defaults": _readers((types.FunctionType, "__defaults__")),
    "kwdefaults": _readers((types.FunctionType, "__kwdefaults__")),
    "globals": _readers((types.FunctionType, "__globals__")),
    "closure": _readers((types.FunctionType, "__closure__")),
    "self": _readers(
        (types.MethodType, "__self__"), (types.BuiltinFunctionType, "__self__"), (super, "__self__")
    ),
    "func": _readers(
        (types.MethodType, "__func__"), (staticmethod, "__func__"), (classmethod, "__func__")
    ),
    "fget": _readers((property, "fget")),
    "fset": _readers((property, "fset")),
    "class_self": _readers((super, "__self_class__")),
}


def _member(key: Any, base: object, _roots: Roots) -> object:
    if key == "dict":
        return own_dict(base)
    for pytype, reader in _READERS[key].items():
        if type(base) is pytype:
            return reader(base)
    raise Unavailable(f"it is not an object with {key}")


def _cell_contents(source: Source, roots: Roots) -> object:
    try:
        return cell_of(source, roots).cell_contents
    except ValueError:
        raise Unavailable("its cell is empty") from None


_FETCH: Final[dict[SourceKind, Callable[[Any, object, Roots], object]]] = {
    SourceKind.LOCAL: _local,
    SourceKind.GLOBAL: lambda key, _base, roots: _from_dict(roots.func.__globals__, key),
    SourceKind.BUILTIN: lambda key, _base, roots: _from_dict(_BUILTINS.__get__(roots.func), key),
    SourceKind.ATTR: _attr,
    SourceKind.MODULE_ATTR: _module_attr,
    SourceKind.TYPE: lambda _key, base, _roots: type(base),
    SourceKind.MRO: _mro,
    SourceKind.ITEM: _item,
    SourceKind.LENGTH: _length,
    SourceKind.SHAPE: _shape,
    SourceKind.MEMBER: _member,
    SourceKind.GLOBALS: lambda _key, _base, roots: roots.func.__globals__,
    SourceKind.BUILTINS: lambda _key, _base, roots: _BUILTINS.__get__(roots.func),
}


def fetch(source: Source, roots: Roots) -> object:
    """Return the value a source names now; raise Unavailable if it has none."""
    value: object = None
    steps = source.chain()
    for step in steps:
        if step.kind in (SourceKind.CELL, SourceKind.CELL_OF):
            value = _cell_contents(step, roots)
        else:
            value = _FETCH[step.kind](step.key, value, roots)
    return value


# Guards


def same_dtype(found: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    """Whether arrays of one dtype are arrays of the other: same kind of element, same byte order.

    Descriptors are not unique objects (unpickled ones, byte-swapped ones), so numbers are compared by type number
    and byte order; text and times as NumPy compares them. Records, new-style dtypes and those with metadata must be
    the same object.
    """
    if found is expected:
        return True
    if found.num != expected.num:
        return False
    if found.metadata is not None or expected.metadata is not None:
        return False  # seen by whoever asks for the dtype
    if found.num in _PLAIN_NUMBERS:
        return found.isnative == expected.isnative
    return found.num in _COMPARED_NUMBERS and found == expected


_NUMBERS: Final = frozenset(np.dtype(code).num for code in "?bBhHiIlLqQefdgFDG")
_PLAIN_NUMBERS: Final = _NUMBERS | {np.dtype(object).num}
_COMPARED_NUMBERS: Final = frozenset(np.dtype(code).num for code in "SUmM")


def equals_exactly(value: object, expected: object) -> bool:
    """Whether the value is the same constant: same exact types, equal, floats by bits."""
    return is_constant_key(value) and exact_key(value) == exact_key(expected)


def _array(value: object, expected: Any, _roots: Roots) -> bool:
    if type(value) is not np.ndarray:
        return False
    dtype, ndim = expected
    return value.ndim == ndim and same_dtype(value.dtype, dtype)


def _other_array(value: object, _expected: object, _roots: Roots) -> bool:
    if type(value) is not np.ndarray:
        return False
    return value.dtype.num not in _NUMBERS or not value.dtype.isnative


def _absent(value: object, expected: object, _roots: Roots) -> bool:
    if type(value) is types.ModuleType:
        value = _MODULE_DICT.__get__(value)
    if type(value) is dict:
        return _raw_get(value, expected) is _ABSENT
    return (
        is_class(value) and type(expected) is str and not _has_in_mro(cast("type", value), expected)
    )


def _no_instance_attr(value: object, expected: Any, _roots: Roots) -> bool:
    if not _looks_up_plainly(type(value)):
        return False
    try:
        return instance_attribute(value, expected) is _ABSENT
    except Unavailable:
        # A data descriptor: it is in front of the instance's dict, which must not have the name all the same.
        return _raw_get(_instance_dict(value), expected) is _ABSENT


def _keys(value: object, expected: Any, _roots: Roots) -> bool:
    if type(value) is not dict:
        return False
    found = tuple(value)  # at once: another thread may change it meanwhile
    return len(found) == len(expected) and all(map(equals_exactly, found, expected))


def _same_object(value: object, expected: Any, roots: Roots) -> bool:
    other, same = expected
    return (value is fetch(other, roots)) is same


def _overlap(value: object, expected: Any, roots: Roots) -> bool:
    other_source, expected_overlap = expected
    other = fetch(other_source, roots)
    if type(value) is not np.ndarray or type(other) is not np.ndarray:
        return False
    # Compares extents only, and empty arrays have none.
    return np.may_share_memory(value, other) is expected_overlap


def bindings(expected: SymbolicRelation, roots: Roots) -> dict[Symbol, int]:
    """Return the symbols' values now; raise Unavailable if one is no exact int."""
    found: dict[Symbol, int] = {}
    for symbol, source in expected.symbols:
        value = fetch(source, roots)
        if type(value) is not int:
            raise Unavailable(f"{source} is not an int")
        found[symbol] = value
    return found


def _relation(expected: SymbolicRelation, roots: Roots) -> bool:
    values = bindings(expected, roots)
    try:
        return expected.relation.holds(values)
    except ZeroDivisionError:
        return False


def _is_identity(value: object, expected: Any, _roots: Roots) -> bool:
    identity: Identity = expected
    return identity.is_(value)


# Kinds that look at the value of the guard's source; UNBOUND_CELL and RELATION do not.
_HOLDS: Final[dict[GuardKind, Callable[[object, Any, Roots], bool]]] = {
    GuardKind.TYPE: lambda value, expected, _roots: expected.is_(type(value)),
    GuardKind.IDENTITY: _is_identity,
    GuardKind.EQUALS: lambda value, expected, _roots: equals_exactly(value, expected),
    GuardKind.ARRAY: _array,
    GuardKind.ABSENT: _absent,
    GuardKind.NO_INSTANCE_ATTR: _no_instance_attr,
    GuardKind.KEYS: _keys,
    GuardKind.SAME_OBJECT: _same_object,
    GuardKind.OVERLAP: _overlap,
    GuardKind.OTHER_ARRAY: _other_array,
    GuardKind.PRESENT: lambda value, expected, _roots: True,  # it has been fetched
}


def holds(guard: Guard, roots: Roots) -> bool:
    """Whether a guard holds now; a source that cannot be fetched fails it."""
    try:
        if guard.kind is GuardKind.UNBOUND_CELL:
            return _is_empty(cell_of(guard.source, roots))
        if isinstance(guard.expected, SymbolicRelation):
            return _relation(guard.expected, roots)
        return _HOLDS[guard.kind](fetch(guard.source, roots), guard.expected, roots)
    except Unavailable:
        return False


def _is_empty(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def first_failing(guards: Sequence[Guard], roots: Roots) -> int:
    """Return the index of the first guard that fails, -1 if all hold."""
    for index, guard in enumerate(guards):
        if not holds(guard, roots):
            return index
    return -1
