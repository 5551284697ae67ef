"""Where a value is found again at the next call: plain data, which neither fetches anything nor emits bytecode.

A ``Source`` is a path: a root (an argument, a global, a cell) or one step from a ``base``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Iterable, Iterator
from enum import IntEnum
from typing import Final, cast

from bcjit.records import dataclass

__all__ = [
    "MEMBERS",
    "ROOT_KINDS",
    "Source",
    "SourceKind",
    "exact_key",
    "has_base",
    "is_constant_key",
    "is_exactly",
]


class SourceKind(IntEnum):
    """The ways to find a value; the numbers are those of ``enum source_kind`` in ``csrc/guards.h``."""

    LOCAL = 0  # key (index, name): values[index]
    GLOBAL = 1  # key name: func.__globals__[name]
    BUILTIN = 2  # key name: func.__builtins__[name]
    CELL = 3  # key (index, name): contents of a cell of the closure
    ATTR = 4  # key name: instance attribute (instance dict or slot) of an object whose class looks attributes up plainly
    MODULE_ATTR = 5  # key name: the dict of an exact module
    TYPE = 6  # type(base)
    MRO = 7  # key name: first found in the class dicts of the base's MRO, not bound
    ITEM = 8  # key constant: exact list or (any) tuple by index, exact dict by key
    LENGTH = 9  # of any tuple as stored; of an exact list, dict, set, frozenset, str or bytes
    SHAPE = 10  # key axis: of an exact ndarray
    MEMBER = 11  # key one of MEMBERS: a C-level member
    CELL_OF = 12  # key index: contents of a cell of the base, a closure tuple
    GLOBALS = 13  # func.__globals__ itself
    BUILTINS = 14  # func.__builtins__ itself


ROOT_KINDS: Final = frozenset(
    {
        SourceKind.LOCAL,
        SourceKind.GLOBAL,
        SourceKind.BUILTIN,
        SourceKind.CELL,
        SourceKind.GLOBALS,
        SourceKind.BUILTINS,
    }
)

# What follows the base in text. The numbers' order is that of ``enum member`` in csrc/guards.h.
MEMBERS: Final[dict[str, str]] = {
    "code": "__code__",  # functions
    "defaults": "__defaults__",
    "kwdefaults": "__kwdefaults__",
    "globals": "__globals__",
    "closure": "__closure__",
    "self": "__self__",  # bound methods, built-in methods, super objects
    "func": "__func__",  # bound methods, staticmethod and classmethod objects
    "fget": "fget",  # properties
    "class_self": "__self_class__",  # super objects
    "fset": "fset",  # properties
    "dict": "__dict__",  # of an instance or a module; None while there is none (the C tree makes none)
}

_CONSTANT_TYPES: Final[frozenset[type]] = frozenset(
    {int, bool, float, complex, str, bytes, type(None), type(Ellipsis)}
)


# Comparing and hashing a class, as a search in a tuple, set or dict does, runs code of its metaclass. So classes of the program are
# compared by identity, or looked up only if their metaclass is the plain one.


def is_exactly(value: object, types: Iterable[type]) -> bool:
    """Whether the value is of just one of these types; nothing is asked of the value or its class."""
    pytype = type(value)
    return any(pytype is known for known in types)


def has_base(value: object, base: type) -> bool:
    """Whether the value's class is, or is made from, this one; nothing is asked of the value or its class."""
    return any(ancestor is base for ancestor in _MRO.__get__(type(value)))


_MRO: Final = type.__dict__["__mro__"]


def is_constant_key(value: object) -> bool:
    """Whether the value is a constant of exact built-in type, or a tuple of such."""
    pytype = type(value)
    if pytype is tuple:
        return all(map(is_constant_key, cast("tuple[object, ...]", value)))
    return type(pytype) is type and pytype in _CONSTANT_TYPES


def exact_key(value: object) -> Hashable:
    """Return a key that is equal only for constants of the same types and values, floats by their bits.

    ``1 == True == 1.0`` and ``0.0 == -0.0``, but they are not the same constant; and a NaN is one.
    """
    if type(value) is tuple:
        return tuple, tuple(map(exact_key, value))
    if type(value) is float:
        return float, struct.pack("d", value)
    if type(value) is complex:
        return complex, struct.pack("dd", value.real, value.imag)
    return type(value), value


def _check_indexed_name(key: object) -> bool:
    match key:
        case (int(), str()):
            return True
    return False


def _is_name(key: object) -> bool:
    return type(key) is str


def _is_index(key: object) -> bool:
    return type(key) is int


# kind -> what a key must be, and how a wrong one is described
_KEYS: Final[dict[SourceKind, tuple[Callable[[object], bool], str]]] = {
    SourceKind.LOCAL: (_check_indexed_name, "(index, name)"),
    SourceKind.GLOBAL: (_is_name, "a name"),
    SourceKind.BUILTIN: (_is_name, "a name"),
    SourceKind.CELL: (_check_indexed_name, "(index, name)"),
    SourceKind.ATTR: (_is_name, "a name"),
    SourceKind.MODULE_ATTR: (_is_name, "a name"),
    SourceKind.TYPE: (lambda key: key is None, "no key"),
    SourceKind.MRO: (_is_name, "a name"),
    SourceKind.ITEM: (is_constant_key, "a constant"),
    SourceKind.LENGTH: (lambda key: key is None, "no key"),
    SourceKind.SHAPE: (_is_index, "an axis"),
    SourceKind.MEMBER: (
        lambda key: type(key) is str and key in MEMBERS,
        f"one of {', '.join(MEMBERS)}",
    ),
    SourceKind.CELL_OF: (_is_index, "an index"),
    SourceKind.GLOBALS: (lambda key: key is None, "no key"),
    SourceKind.BUILTINS: (lambda key: key is None, "no key"),
}


class _Hashed:
    """A slot for the hash: sources are looked up often."""

    __slots__ = ("_hash",)
    _hash: int


@dataclass(frozen=True, slots=True, eq=False)
class Source(_Hashed):
    """A way to find a value again; two are equal when they are the same path with the same keys."""

    kind: SourceKind
    key: object = None
    base: Source | None = None

    def __post_init__(self) -> None:
        accepts, wanted = _KEYS[self.kind]
        if not accepts(self.key):
            msg = f"key: {wanted} is expected for a {self.kind.name} source, got {self.key!r}"
            raise ValueError(msg)
        if (self.base is None) is not (self.kind in ROOT_KINDS):
            msg = f"base: {'none' if self.kind in ROOT_KINDS else 'one'} is expected for a {self.kind.name} source"
            raise ValueError(msg)
        step = (self.kind, exact_key(self.key), None if self.base is None else hash(self.base))
        object.__setattr__(self, "_hash", hash(step))

    def chain(self) -> tuple[Source, ...]:
        """Return the steps of the path, the root first and this source last."""
        return tuple(reversed(list(self._upwards())))

    def _upwards(self) -> Iterator[Source]:
        step: Source | None = self
        while step is not None:
            yield step
            step = step.base

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Source):
            return NotImplemented
        # Step by step: a long path needs no recursion.
        left: Source | None = self
        right: Source | None = other
        while left is not None and right is not None:
            if left is right:
                return True
            if hash(left) != hash(right) or left.kind is not right.kind:
                return False
            if exact_key(left.key) != exact_key(right.key):
                return False
            left, right = left.base, right.base
        return left is right

    def __hash__(self) -> int:
        return self._hash

    def text(self) -> str:
        """Return the path as Python text: ``x``, ``self.buf``, ``G['np']``, ``f.__closure__[0].cell_contents``."""
        rendered = ""
        for step in self.chain():
            rendered = step.tail(rendered)
        return rendered

    def tail(self, base: str) -> str:
        """Return the text of this step after (or around) that of its base."""
        return _TEXT[self.kind](base, self.key)

    def __str__(self) -> str:
        return self.text()


def _indexed_name(_base: str, key: object) -> str:
    assert isinstance(key, tuple)
    return str(key[1])


_TEXT: Final[dict[SourceKind, Callable[[str, object], str]]] = {
    SourceKind.LOCAL: _indexed_name,
    SourceKind.GLOBAL: lambda _base, key: f"G[{key!r}]",
    SourceKind.BUILTIN: lambda _base, key: f"B[{key!r}]",
    SourceKind.CELL: _indexed_name,
    SourceKind.ATTR: lambda base, key: f"{base}.{key}",
    SourceKind.MODULE_ATTR: lambda base, key: f"{base}.{key}",
    SourceKind.TYPE: lambda base, _key: f"type({base})",
    SourceKind.MRO: lambda base, key: f"mro({base})[{key!r}]",
    SourceKind.ITEM: lambda base, key: f"{base}[{key!r}]",
    SourceKind.LENGTH: lambda base, _key: f"len({base})",
    SourceKind.SHAPE: lambda base, key: f"{base}.shape[{key}]",
    SourceKind.MEMBER: lambda base, key: f"{base}.{MEMBERS[str(key)]}",
    SourceKind.CELL_OF: lambda base, key: f"{base}[{key}].cell_contents",
    SourceKind.GLOBALS: lambda _base, _key: "G",
    SourceKind.BUILTINS: lambda _base, _key: "B",
}
