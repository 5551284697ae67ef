"""``getattr`` on symbolic values, mirroring CPython's Objects/object.c and typeobject.c without running any code.

Reads of live objects are limited to generic attribute lookup on types whose metaclass is plain; what would call a
``__getattr__``, a descriptor of the program or a module's ``__getattr__`` is a break (a property is inlined).
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

import bcjit.symbolic_vm.break_reasons as because
from bcjit import ops
from bcjit._core import Dispatcher
from bcjit.guards import GuardKind, Source, SourceKind
from bcjit.lazy import Later
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.identity import pytype_of
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.named_tuples import FIELD, field_of
from bcjit.symbolic_vm.numpy_calls import call_op, call_scalar, describe, from_fact
from bcjit.symbolic_vm.operators import as_dim, from_dim
from bcjit.symbolic_vm.random_generators import generator_method, is_generator
from bcjit.symbolic_vm.realize import PLAIN_METACLASSES, member
from bcjit.symbolic_vm.values import (
    DELETED,
    Changes,
    Known,
    Lazy,
    SymArray,
    SymFunction,
    SymInstance,
    SymMethod,
    SymNamedTuple,
    SymNew,
    SymObject,
    SymScalar,
    SymTuple,
    SymValue,
)

if TYPE_CHECKING:
    from bcjit.ops import unsupported
else:
    # It is the text of graph breaks.
    unsupported = Later("bcjit.ops.unsupported")

__all__ = [
    "MISSING",
    "bind_call",
    "class_of",
    "get_attribute",
    "has_attribute",
    "namespace_of",
    "raw_in_mro",
    "stored",
    "wrapped_function",
]

# Attributes of arrays that raise when they are read: of too few axes, of some dtypes, or, before they were gone, always.
_MAY_REFUSE: Final = frozenset({"data", "itemset", "mT", "newbyteorder", "ptp"})
# How a property is read: given by the call layer, which inlines the getter.
CallProperty = Callable[[Machine, SymValue, SymValue], SymValue]


def get_attribute(vm: Machine, value: SymValue, name: str, call_property: CallProperty) -> SymValue:
    """Return ``value.name``.

    Parameters
    ----------
    vm
        The capture.
    value
        The object.
    name
        The attribute.
    call_property
        Inlines the getter of a property.

    Raises
    ------
    GraphBreak
        If the attribute does not exist (Python raises) or reading it may run code.
    """
    value = vm.realize(value)
    if isinstance(value, SymArray):
        return _array_attribute(vm, value, name)
    if is_generator(value):
        method = generator_method(value, name)
        if method is not None:
            return method
    if isinstance(value, SymInstance | SymNew):
        return _instance_attribute(vm, value, name, call_property)
    if isinstance(value, Known):
        if isinstance(value.value, types.ModuleType):
            return _module_attribute(vm, value, value.value, name)
        if isinstance(value.value, type):
            return _class_attribute(vm, value, value.value, name)
        return _builtin_attribute(vm, value, name)
    if isinstance(value, SymFunction) and name in ("__name__", "__qualname__"):
        if value.source is None:
            return Known(None, value.name if name == "__name__" else value.qualname)
        return break_graph(because.ATTRIBUTE, f"function.{name}")
    if isinstance(value, SymNamedTuple) and name in _fields(value):
        return value.items[_fields(value).index(name)]
    if isinstance(value, SymMethod) and name in ("__self__", "__func__"):
        return value.self if name == "__self__" else value.func
    return _builtin_attribute(vm, value, name)


def _fields(value: SymNamedTuple) -> tuple[str, ...]:
    names: tuple[str, ...] = value.pytype._fields  # type: ignore[attr-defined]
    return names


def has_attribute(vm: Machine, value: SymValue, name: str) -> bool:
    """Answer ``hasattr`` where it can be known from builtin types; else break."""
    pytype = pytype_of(vm, value)
    of_numpy = pytype is np.ndarray or issubclass(pytype, np.generic)
    refuses = of_numpy and name in _MAY_REFUSE and raw_in_mro(pytype, name) is not MISSING
    if not refuses and (
        of_numpy or pytype in (tuple, list, dict, str, int, float, complex, bool, type(None))
    ):
        return raw_in_mro(pytype, name) is not MISSING  # not hasattr: the metaclass has more
    value = vm.realize(value)
    if is_generator(value):
        missing = raw_in_mro(pytype, name) is MISSING
        if missing or generator_method(value, name) is not None:
            return not missing
    return break_graph(because.ATTRIBUTE, f"hasattr(..., {name!r}) of {describe(value)}")


# ---------------------------------------------------------------------- arrays and builtin types
def _array_attribute(vm: Machine, value: SymArray, name: str) -> SymValue:
    meta = value.meta
    owner = meta.dtype.type if meta.is_scalar else np.ndarray
    found = ops.lookup_attribute(name, is_scalar=meta.is_scalar)
    if found is not None:
        op, target = found
        return call_op(vm, op, target, (value,))
    raw = getattr(owner, name, None)
    if isinstance(raw, types.MethodDescriptorType | types.WrapperDescriptorType):
        return SymMethod(None, value, Known(None, raw))
    why = unsupported.UNSUPPORTED.get(f"np.{'generic' if meta.is_scalar else 'ndarray'}.{name}")
    context = f"{describe(value)}.{name}"
    return break_graph(because.ATTRIBUTE, f"{context}: {why}" if why else context)


def _builtin_attribute(vm: Machine, value: SymValue, name: str) -> SymValue:
    pytype = pytype_of(vm, value)
    if name == "__class__" and pytype.__module__ == "builtins":
        return Known(None, pytype)
    raw = getattr(pytype, name, None)
    if isinstance(raw, types.MethodDescriptorType) and (
        isinstance(value, SymObject | SymTuple | SymScalar) or pytype in _METHOD_TYPES
    ):
        return SymMethod(None, value, Known(None, raw))
    if isinstance(value, Known) and isinstance(value.value, np.dtype) and name in _DTYPE_FIELDS:
        return Known(None, getattr(value.value, name))
    if isinstance(value, Known) and type(value.value) in _LIMITS:
        found = getattr(value.value, name, MISSING)
        if type(found) in (int, str) or isinstance(found, np.generic | np.dtype):
            return from_fact(vm, found)
    if isinstance(value, Known) and pytype is np.ufunc and name in _UFUNC_FIELDS:
        return Known(None, getattr(value.value, name))
    if isinstance(value, SymScalar) and value.pytype is int and name in ("real", "numerator"):
        dim = as_dim(vm, value)
        assert dim is not None
        return from_dim(vm, dim)
    if isinstance(value, SymScalar) and value.pytype is complex and name in ("real", "imag"):
        return call_scalar(vm, getattr, (value, Known(None, name)), float, can_fail=False)
    return break_graph(because.ATTRIBUTE, f"{describe(value)}.{name}")


_METHOD_TYPES: Final = (str, bytes, tuple, int, float, complex, bool)
_DTYPE_FIELDS: Final = (
    "alignment", "byteorder", "char", "fields", "hasobject", "isbuiltin", "isnative", "itemsize", "kind", "name", "names",
    "ndim", "num", "shape", "str", "subdtype", "type",
)  # fmt: skip
_LIMITS: Final = (np.finfo, np.iinfo)
_UFUNC_FIELDS: Final = (
    *("accumulate", "at", "outer", "reduce", "reduceat"),
    *("nargs", "nin", "nout", "ntypes", "signature"),
)


# ---------------------------------------------------------------------- objects from outside
def namespace_of(vm: Machine, module: Known) -> SymObject:
    """Return the dict of a module; its source is the module, which is what is compared with other objects."""
    assert module.source is not None
    assert isinstance(module.value, types.ModuleType)
    namespace = types.ModuleType.__getattribute__(module.value, "__dict__")
    source = member(module.source, "dict")
    return SymObject(source, dict, vm.number_of(namespace), None, namespace)


def class_of(value: SymInstance | SymNew) -> Source:
    """Return the source of an object's class."""
    if isinstance(value, SymNew):
        assert value.cls.source is not None
        return value.cls.source
    assert value.source is not None
    return Source(SourceKind.TYPE, None, value.source)


def _module_attribute(vm: Machine, value: Known, module: types.ModuleType, name: str) -> SymValue:
    namespace = types.ModuleType.__getattribute__(module, "__dict__")
    if value.source is None:
        return break_graph(because.ATTRIBUTE, f"module {namespace.get('__name__')}.{name}")
    changed = vm.contents(namespace_of(vm, value))
    if isinstance(changed, Changes):
        known = changed.find(name)
        if known is DELETED:
            return break_graph(because.ATTRIBUTE, f"{namespace.get('__name__')}.{name} was deleted")
        if known is not None:
            return known
    found = namespace.get(name, MISSING)
    if found is MISSING:
        what = f"module {namespace.get('__name__')}.{name}"
        if "__getattr__" in namespace:
            what += f", which the module looks for in code of its own (a first use of {what.removeprefix('module ')} may import it)"
        return break_graph(because.ATTRIBUTE, what)
    return vm.present(Source(SourceKind.MODULE_ATTR, name, value.source), found)


def raw_in_mro(cls: type, name: str) -> object:
    """Return what ``_PyType_Lookup`` (Objects/typeobject.c) finds, `MISSING` for nothing."""
    for base in type.__getattribute__(cls, "__mro__"):
        found = type.__getattribute__(base, "__dict__").get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


MISSING: Final = object()


def _class_attribute(vm: Machine, value: Known, cls: type, name: str) -> SymValue:
    if type(cls) not in PLAIN_METACLASSES and not issubclass(cls, np.generic):
        return break_graph(because.ATTRIBUTE, f"{cls.__name__}.{name}: its metaclass may run code")
    if name == "__name__" and not cls.__flags__ & (1 << 9):  # Py_TPFLAGS_HEAPTYPE: can be renamed
        return Known(None, cls.__name__)
    if isinstance(raw_in_mro(type(cls), name), _DATA_DESCRIPTORS):
        return break_graph(because.ATTRIBUTE, f"{cls.__name__}.{name}")
    raw = raw_in_mro(cls, name)
    if raw is MISSING:
        return break_graph(because.ATTRIBUTE, f"{cls.__name__}.{name} does not exist")
    if value.source is None:
        if isinstance(raw, types.MethodDescriptorType | types.WrapperDescriptorType):
            return Known(None, raw)
        return break_graph(because.ATTRIBUTE, f"{cls.__name__}.{name}")
    in_class = Source(SourceKind.MRO, name, value.source)
    if ops.lookup(raw) is not None:  # methods of random generators, of Cython's own type
        return vm.realize(Lazy(in_class, raw))
    return _bind_in_class(vm, value, in_class, raw, name)


def _bind_in_class(
    vm: Machine, owner: SymValue, source: Source, raw: object, name: str
) -> SymValue:
    kind = type(raw)
    if kind is staticmethod:
        vm.realize(Lazy(source, raw))
        return Lazy(member(source, "func"), raw.__func__)  # type: ignore[attr-defined]
    if kind is classmethod:
        vm.realize(Lazy(source, raw))
        function = Lazy(member(source, "func"), raw.__func__)  # type: ignore[attr-defined]
        return SymMethod(None, owner, function)
    if kind is types.FunctionType or issubclass(kind, Dispatcher) or not _is_descriptor(raw):
        return vm.present(source, raw)
    if kind in (types.MethodDescriptorType, types.WrapperDescriptorType):
        return vm.realize(Lazy(source, raw))
    return break_graph(because.ATTRIBUTE, f"{name}: a descriptor of type {kind.__name__}")


def _is_descriptor(raw: object) -> bool:
    return raw_in_mro(type(raw), "__get__") is not MISSING


_DATA_DESCRIPTORS: Final = (types.GetSetDescriptorType, types.MemberDescriptorType, property)


# ``PyObject_GenericGetAttr``, under the name that each builtin class gives it.
_GENERIC: Final = vars(object)["__getattribute__"]
# Before 3.14 tuple has a wrapper of its own around the same function.
_GENERIC_LOOKUPS: Final = (_GENERIC, vars(tuple).get("__getattribute__", _GENERIC))


def _instance_attribute(
    vm: Machine, value: SymInstance | SymNew, name: str, call_property: CallProperty
) -> SymValue:
    """Mirror ``PyObject_GenericGetAttr`` (Objects/object.c): data descriptor, instance, class."""
    cls = value.pytype
    if issubclass(cls, np.ndarray):  # isinstance would ask the object for its __class__
        break_graph(because.NOT_NUMERIC, f"{cls.__name__}.{name}")
    lookup = raw_in_mro(cls, "__getattribute__")
    generic = (
        any(lookup is plain for plain in _GENERIC_LOOKUPS)
        and raw_in_mro(cls, "__getattr__") is MISSING
    )
    outside = isinstance(value, SymInstance)
    if type(cls) not in PLAIN_METACLASSES or not generic or (outside and value.source is None):
        return break_graph(because.ATTRIBUTE, f"{cls.__name__}.{name}")
    raw = raw_in_mro(cls, name)
    where = class_of(value)
    in_class = Source(SourceKind.MRO, name, where)
    kind = type(raw)
    if outside and (kind is property or raw is object.__dict__["__class__"]):
        # Nothing of the object itself is read, by which a lookup of the class's own would be seen.
        vm.realize(Lazy(Source(SourceKind.MRO, "__getattribute__", where), lookup))
    if kind is property:
        return call_property(vm, _getter(vm, in_class, raw), value)
    if raw is object.__dict__["__class__"]:
        return value.cls if isinstance(value, SymNew) else Known(where, cls)
    if kind is FIELD and isinstance(value, SymInstance):
        return field_of(vm, value, in_class, raw)
    slot = raw is MISSING or kind is types.MemberDescriptorType
    if not slot and raw_in_mro(kind, "__set__") is not MISSING:
        return break_graph(because.ATTRIBUTE, f"{cls.__name__}.{name}: a data descriptor")
    own = _own_attribute(vm, value, name, raw, slot=slot)
    if own is not None:
        return own
    if slot:
        return break_graph(because.ATTRIBUTE, f"{cls.__name__}.{name} is not set")
    if kind is types.FunctionType or issubclass(kind, Dispatcher):
        return SymMethod(None, value, vm.present(in_class, raw))
    if kind in (types.MethodDescriptorType, types.WrapperDescriptorType):
        return SymMethod(None, value, vm.realize(Lazy(in_class, raw)))
    owner = Known(where, cls)  # the type is guarded with the instance
    return _bind_in_class(vm, owner, in_class, raw, name)


def _getter(vm: Machine, source: Source, raw: object) -> Lazy:
    """Return the function that reads a property, which is guarded."""
    assert isinstance(raw, property)
    vm.realize(Lazy(source, raw))
    if raw.fget is None:
        break_graph(because.ATTRIBUTE, f"{source.key} is write-only")
    return Lazy(member(source, "fget"), raw.fget)


def _own_attribute(
    vm: Machine, value: SymInstance | SymNew, name: str, raw: object, *, slot: bool
) -> SymValue | None:
    """Return what the object itself has under a name, None for nothing; `slot` says that the class has nothing."""
    if isinstance(value, SymInstance):
        vm.meet(value)
    attributes = vm.state.heap.get(value.oid, {})
    assert isinstance(attributes, dict)
    changed = attributes.get(name)
    if changed is not None:
        assert isinstance(changed, SymValue)
        return None if changed is DELETED else changed
    if isinstance(value, SymNew):
        return None
    assert value.source is not None
    live = stored(value.obj, name, raw if slot else MISSING)
    if live is not MISSING:
        return vm.present(Source(SourceKind.ATTR, name, value.source), live)
    if not slot:
        vm.guard(GuardKind.NO_INSTANCE_ATTR, value.source, name)
    return None


def wrapped_function(vm: Machine, compiled: SymInstance) -> SymValue:
    """Return the function that a compiled function was made from; it holds it itself, so no code of its class runs."""
    found = _own_attribute(vm, compiled, "__wrapped__", MISSING, slot=True)
    if found is None:
        return break_graph(because.ATTRIBUTE, "a compiled function without its function")
    return found


def bind_call(vm: Machine, value: SymInstance) -> SymValue | None:
    """Return ``type(value).__call__`` bound as a call of the instance binds it, None where that is not in Python."""
    cls = value.pytype
    raw = raw_in_mro(cls, "__call__")
    if value.source is None or type(cls) not in PLAIN_METACLASSES or raw is MISSING:
        return None
    of_class = Source(SourceKind.TYPE, None, value.source)
    in_class = Source(SourceKind.MRO, "__call__", of_class)
    if type(raw) is types.FunctionType or issubclass(type(raw), Dispatcher):
        return SymMethod(None, value, vm.present(in_class, raw))
    if type(raw) in (staticmethod, classmethod):
        return _bind_in_class(vm, Known(of_class, cls), in_class, raw, "__call__")
    return None


def stored(obj: object, name: str, raw: object) -> object:
    """Read what the object itself holds: a slot, or an item of its dict."""
    if isinstance(raw, types.MemberDescriptorType):
        try:
            return raw.__get__(obj, type(obj))
        except (AttributeError, TypeError):  # empty, or the slot of another class
            return MISSING
    try:
        namespace = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return MISSING
    return namespace.get(name, MISSING) if type(namespace) is dict else MISSING
