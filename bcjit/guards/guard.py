"""What must hold for compiled code to be right: plain data, comparable and printable, which checks nothing itself.

``Guard`` names a value by its ``Source`` and says what is expected of it; ``Identity`` is an object that is
expected to be the very same, held weakly where that can be. No guard is a closure or keeps a user's object alive.
"""

from __future__ import annotations

import types
import weakref
from collections import namedtuple
from collections.abc import Callable, Hashable, Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Final

import numpy as np

from bcjit.dims import Relation, Symbol
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
    from bcjit.meta import SourceLine

__all__ = ["DEAD", "Guard", "GuardKind", "Identity", "SymbolicRelation", "relation_guard"]


class GuardKind(IntEnum):
    """The things that can be expected; the numbers are those of ``enum guard_kind`` in ``csrc/guards.h``."""

    TYPE = 0  # expected a class: type(v) is expected
    IDENTITY = 1  # expected Identity: v is that object; a dead one fails
    EQUALS = 2  # expected constant: same exact type and equal, floats by bits
    ARRAY = 3  # expected (dtype, ndim): exact ndarray
    ABSENT = (
        4  # expected key: not in an exact dict, not in a module's dict, not in the MRO of a class
    )
    NO_INSTANCE_ATTR = 5  # expected name: no such name in the instance's dict or slots
    UNBOUND_CELL = 6  # the cell of a CELL or CELL_OF source is empty
    KEYS = 7  # expected tuple of constant keys: exact dict with those keys in that order
    RELATION = 8  # expected SymbolicRelation
    SAME_OBJECT = 9  # expected (other Source, bool)
    OVERLAP = 10  # expected (other Source, bool): memory extents of two exact ndarrays
    PRESENT = 11  # there is a value at the source, whatever it is
    OTHER_ARRAY = 12  # exact ndarray of anything but plain numbers in the machine's byte order


class _Dead:
    """What a dead ``Identity`` gives; no value is it."""

    def __repr__(self) -> str:
        return "<dead>"


DEAD: Final = _Dead()

# Immutable constants, and C descriptors and functions that live as long as their (static) type or module.
_HELD_TYPES: Final[frozenset[type]] = frozenset(
    {
        bool,
        bytes,
        complex,
        float,
        int,
        range,
        str,
        type(None),
        type(Ellipsis),
        type(NotImplemented),
        types.BuiltinFunctionType,
        types.ClassMethodDescriptorType,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        np.ufunc,
        type(np.sum),  # the C callable around every function that __array_function__ can override
        type(vars(namedtuple("_", "x"))["x"]),  # noqa: PYI024 - the descriptor of a named tuple's field
    }
    # Records and objects can hold anything.
    | (frozenset(np.sctypeDict.values()) - {np.void, np.object_})
)


def _may_be_held(obj: object) -> bool:
    if type(obj) is tuple:
        return all(map(_may_be_held, obj))
    return is_exactly(obj, _HELD_TYPES) or has_base(obj, np.dtype)


class Identity:
    """An object that is expected to be the very same, held weakly where weak references exist.

    Equal to another one while both name the same living object. Raises ValueError for an object that has no weak
    references and may hold users' data (guard its type instead).
    """

    __slots__ = ("_hash", "_held", "_label", "_reference")

    def __init__(self, obj: object) -> None:
        self._held: object = DEAD
        self._reference: weakref.ref[object] | None = None
        try:
            self._reference = weakref.ref(obj)
        except TypeError:
            if not _may_be_held(obj):
                msg = (
                    f"obj: something weakly referable or immutable is expected, got an object of type "
                    f"{type(obj).__name__}; guard its type instead"
                )
                raise ValueError(msg) from None
            self._held = obj
        self._hash = hash((Identity, id(obj)))
        self._label = label(obj)

    def get(self) -> object:
        """Return the object, or ``DEAD``."""
        if self._reference is None:
            return self._held
        obj = self._reference()
        return DEAD if obj is None else obj

    @property
    def reference(self) -> weakref.ref[object] | None:
        """The weak reference, None if the object is held."""
        return self._reference

    @property
    def label(self) -> str:
        """What the object is (was), in words that were found without running its code."""
        return self._label

    def is_(self, value: object) -> bool:
        """Whether the value is the object, which then is alive."""
        return self.get() is value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Identity):
            return NotImplemented
        return self is other or (self.get() is not DEAD and self.get() is other.get())

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Identity({self._label})"


def _qualified(obj: type) -> str:
    # Not cls.__qualname__: a metaclass may define it.
    return str(type.__dict__["__qualname__"].__get__(obj))


def with_article(noun: str) -> str:
    """Put a or an in front: an int64, a uint8."""
    return f"{'an' if noun[:1].lower() in set('aeio') else 'a'} {noun}"


def label(obj: object) -> str:
    """Describe an object without running its code: ``numpy.add``, ``class Model``, ``function f``, ``a Model object``."""
    if is_constant_key(obj):
        return repr(obj)
    for pytype, words in _LABELS.items():
        if type(obj) is pytype:
            return words(obj)
    if has_base(obj, type):
        assert isinstance(obj, type)
        return f"class {_qualified(obj)}"
    if has_base(obj, np.dtype):
        return f"dtype {obj}"
    return f"{with_article(_qualified(type(obj)))} object"


def _module_label(obj: types.ModuleType) -> str:
    name = vars(obj).get("__name__")
    return f"module {name}" if type(name) is str else "a module"


_LABELS: Final[dict[type, Callable[..., str]]] = {
    types.FunctionType: lambda obj: f"function {obj.__qualname__}",
    types.BuiltinFunctionType: lambda obj: f"built-in function {obj.__name__}",
    types.MethodDescriptorType: lambda obj: f"method {obj.__qualname__}",
    types.WrapperDescriptorType: lambda obj: f"method {obj.__qualname__}",
    types.ModuleType: _module_label,
    types.CodeType: lambda obj: f"code of {obj.co_qualname}",
    np.ufunc: lambda obj: f"ufunc {obj.__name__}",
    # The C callable around what __array_function__ can override has these from the function inside.
    type(np.sum): lambda obj: f"function {obj.__module__}.{obj.__name__}",
    np.ndarray: lambda obj: f"{with_article(str(obj.dtype))} array of shape {obj.shape}",
}


@dataclass(frozen=True, slots=True)
class SymbolicRelation:
    """A relation, and where the values of its symbols are found: exact ints and array sizes."""

    relation: Relation
    symbols: tuple[tuple[Symbol, Source], ...]

    def __post_init__(self) -> None:
        given = {symbol for symbol, _ in self.symbols}
        if given != self.relation.symbols():
            msg = (
                f"symbols: a source for each symbol of {self.relation} and for no other is expected, "
                f"got {sorted(map(str, given))}"
            )
            raise ValueError(msg)


def _is_flag_pair(expected: object) -> bool:
    match expected:
        case (Source(), bool()):
            return True
    return False


def _is_array(expected: object) -> bool:
    match expected:
        case (np.dtype(), int()):
            return True
    return False


# kind -> what expected must be, and how a wrong one is described
_EXPECTED: Final[dict[GuardKind, tuple[Callable[[object], bool], str]]] = {
    GuardKind.TYPE: (lambda expected: isinstance(expected, Identity), "a class"),
    GuardKind.IDENTITY: (lambda expected: isinstance(expected, Identity), "an Identity"),
    GuardKind.EQUALS: (is_constant_key, "a constant"),
    GuardKind.ARRAY: (_is_array, "(dtype, ndim)"),
    GuardKind.ABSENT: (is_constant_key, "a constant key"),
    GuardKind.NO_INSTANCE_ATTR: (lambda expected: type(expected) is str, "a name"),
    GuardKind.UNBOUND_CELL: (lambda expected: expected is None, "None"),
    GuardKind.KEYS: (
        lambda expected: type(expected) is tuple and is_constant_key(expected),
        "a tuple of constant keys",
    ),
    GuardKind.RELATION: (
        lambda expected: isinstance(expected, SymbolicRelation),
        "a SymbolicRelation",
    ),
    GuardKind.SAME_OBJECT: (_is_flag_pair, "(Source, bool)"),
    GuardKind.OVERLAP: (_is_flag_pair, "(Source, bool)"),
    GuardKind.PRESENT: (lambda expected: expected is None, "None"),
    GuardKind.OTHER_ARRAY: (lambda expected: expected is None, "None"),
}

_CELL_KINDS: Final = (SourceKind.CELL, SourceKind.CELL_OF)
_NUMBER_KINDS: Final = (SourceKind.LENGTH, SourceKind.SHAPE)


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """Something that must hold of a value; ``why`` is the user's line that relied on it and no part of equality."""

    kind: GuardKind
    source: Source
    expected: object  # see GuardKind; a class given for TYPE becomes an Identity, so that it is held weakly
    why: SourceLine

    def __post_init__(self) -> None:
        if self.kind is GuardKind.TYPE and isinstance(self.expected, type):
            object.__setattr__(self, "expected", Identity(self.expected))
        accepts, wanted = _EXPECTED[self.kind]
        if not accepts(self.expected):
            msg = f"expected: {wanted} is expected for a {self.kind.name} guard, got {self.expected!r}"
            raise ValueError(msg)
        if self.kind is GuardKind.UNBOUND_CELL and self.source.kind not in _CELL_KINDS:
            msg = f"source: a CELL or CELL_OF source is expected for an UNBOUND_CELL guard, got {self.source}"
            raise ValueError(msg)
        if self.kind is GuardKind.SAME_OBJECT and any(
            source.kind in _NUMBER_KINDS for source in self.sources()
        ):
            msg = f"source: a number that is made when it is read is no object to compare, got {self.sources()}"
            raise ValueError(msg)

    def sources(self) -> tuple[Source, ...]:
        """Return every source the guard reads, in order."""
        match self.expected:
            case SymbolicRelation(symbols=symbols):
                return tuple(source for _, source in symbols) or (self.source,)
            case (Source() as other, bool()):
                return self.source, other
        return (self.source,)

    def identity(self) -> Hashable:
        """Return what makes guards equal."""
        expected = self.expected
        return (
            self.kind,
            self.source,
            exact_key(expected) if is_constant_key(expected) else expected,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Guard):
            return NotImplemented
        return self.identity() == other.identity()

    def __hash__(self) -> int:
        return hash(self.identity())

    def __str__(self) -> str:
        return f"{self.kind.name} {self.source} {self.expected!r} ({self.why})"


def relation_guard(relation: Relation, sources: Mapping[Symbol, Source], why: SourceLine) -> Guard:
    """Return the RELATION guard of a fact: each symbol of the relation with its source, in order of name."""
    used = sorted(relation.symbols(), key=Symbol.key)
    if not used:
        msg = f"relation: one with symbols is expected, got {relation}"
        raise ValueError(msg)
    symbols = tuple((symbol, sources[symbol]) for symbol in used)
    return Guard(GuardKind.RELATION, symbols[0][1], SymbolicRelation(relation, symbols), why)
