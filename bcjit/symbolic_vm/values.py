"""Symbolic values: what the interpreter knows of the objects a frame holds; they carry payload and no behaviour.

::

    SymValue
    ├── Null, Unbound             an empty stack slot, an unbound local
    ├── Lazy                      an object from outside, no fact of which has been used yet
    ├── Known                     the object itself is known: a literal, or guarded
    ├── SymArray                  an ndarray or a NumPy scalar: a node of the graph
    ├── SymScalar                 a Python int, float, complex or bool that is only known symbolically
    ├── SymUnion                  a number whose kind depends on the way that led here: Python's or one of NumPy's
    ├── SymMaybe                  a local that has a value on some ways only
    ├── SymGone                   a local that has a value which is not known here
    ├── SymTuple, SymSlice, SymRange
    ├── SymNamedTuple             a named tuple of NumPy's
    ├── SymObject                 a list, dict, set or deque; its contents are in the state's heap
    ├── SymView                   the keys, values or items of a dict
    ├── SymNew                    an instance made in the frame; its attributes are in the state's heap
    ├── SymIterator               an iterator made in the frame; how far it is, is in the state's heap
    ├── SymGenerator              a generator made in the frame; its frame's state is in the heap
    ├── SymRandom                 a random generator made in the frame: a node of the graph
    ├── SymCell                   a cell; its contents are in the state's heap
    ├── SymFunction               a Python function, from outside or made in the frame
    ├── SymMethod                 a bound method
    └── SymInstance               any other object from outside; its type is guarded

A value says where it is found again (`source`), never what must hold: guards belong to the capture. The contents of
mutable objects belong to the state. Only `Lazy`, `SymInstance` and `SymFunction` refer to live objects; they do not outlive
the capture (what an entry keeps is recipes, see ``bcjit.compiler``).
"""

from __future__ import annotations

from dataclasses import field
from types import CodeType
from typing import TYPE_CHECKING, NamedTuple

from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.dims import Dim, Expr
    from bcjit.fx_graph import Node
    from bcjit.guards import Source
    from bcjit.meta import ArrayMeta, Meta
    from bcjit.symbolic_vm.state import Frame

__all__ = [
    "DELETED",
    "NULL",
    "UNBOUND",
    "Appended",
    "Changes",
    "DictItem",
    "IteratorState",
    "Known",
    "Lazy",
    "Null",
    "SymArray",
    "SymCell",
    "SymFunction",
    "SymGenerator",
    "SymGone",
    "SymInstance",
    "SymIterator",
    "SymMaybe",
    "SymMethod",
    "SymNamedTuple",
    "SymNew",
    "SymObject",
    "SymRandom",
    "SymRange",
    "SymScalar",
    "SymSlice",
    "SymTuple",
    "SymUnion",
    "SymValue",
    "SymView",
    "Unbound",
]


@dataclass(frozen=True, slots=True, eq=False)
class SymValue:
    """Base of all symbolic values; compared by identity."""

    source: Source | None


@dataclass(frozen=True, slots=True, eq=False)
class Null(SymValue):
    """The NULL that calls keep on the stack."""


@dataclass(frozen=True, slots=True, eq=False)
class Unbound(SymValue):
    """A local or a cell without a value."""


NULL = Null(None)
UNBOUND = Unbound(None)


@dataclass(frozen=True, slots=True, eq=False)
class Lazy(SymValue):
    """An object from outside the frame; `source` is never None. Nothing is guarded yet."""

    obj: object


@dataclass(frozen=True, slots=True, eq=False)
class Known(SymValue):
    """A value that is known exactly: a literal (no source), or an object guarded by identity or equality."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class SymArray(SymValue):
    """An exact ndarray, or a NumPy scalar (`meta.is_scalar`)."""

    node: Node
    meta: ArrayMeta


@dataclass(frozen=True, slots=True, eq=False)
class SymScalar(SymValue):
    """A Python number. `payload` is an `Expr` for an int, else a node whose meta is a ``ScalarMeta``."""

    pytype: type
    payload: Node | Expr


@dataclass(frozen=True, slots=True, eq=False)
class SymUnion(SymValue):
    """A number that is of one of several kinds, which depends on data: of Python's, or a NumPy scalar."""

    node: Node
    kinds: tuple[Meta, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SymMaybe(SymValue):
    """What a local holds that has a value on some of the ways here: at run time `node` is ``UNBOUND`` on the others."""

    value: SymValue
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class SymGone(SymValue):
    """A local has a value at run time that is not known here: it must not be read, and the frame cannot be made again."""


@dataclass(frozen=True, slots=True, eq=False)
class SymTuple(SymValue):
    """An exact tuple."""

    items: tuple[SymValue, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SymNamedTuple(SymValue):
    """A named tuple of one of NumPy's classes (`ops.NAMED_TUPLES`): no `SymTuple`, whose type and identity rules differ."""

    pytype: type[tuple[object, ...]]
    items: tuple[SymValue, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SymSlice(SymValue):
    """A slice object made in the frame."""

    start: SymValue
    stop: SymValue
    step: SymValue


@dataclass(frozen=True, slots=True, eq=False)
class SymRange(SymValue):
    """A range object made in the frame."""

    start: SymValue
    stop: SymValue
    step: SymValue


@dataclass(frozen=True, slots=True, eq=False)
class SymObject(SymValue):
    """A list, dict or set. `initial` holds the contents until the first write puts them into the heap.

    The contents of a list or deque are a tuple of values; of a dict a tuple of `DictItem` in order; of a set its history,
    a tuple of `SetStep`.
    One from outside has `initial` None: a list's items are asked of the machine, a dict is read by key.
    """

    pytype: type
    oid: int
    initial: tuple[object, ...] | None
    obj: object = None  # the live object of one from outside, during the capture


@dataclass(frozen=True, slots=True, eq=False)
class SymNew(SymValue):
    """An instance of a Python class, made in the frame. Its attributes are in the heap: a dict of names in their order."""

    pytype: type
    oid: int
    cls: SymValue  # the class itself, for its source


@dataclass(frozen=True, slots=True, eq=False)
class SymView(SymValue):
    """The keys, values or items of a dict."""

    pytype: type
    owner: SymObject
    which: str


class DictItem(NamedTuple):
    """An item of a dict: the key as a constant, its value, and the key's own symbolic value (for its identity)."""

    key: object
    value: SymValue
    spelled: SymValue


@dataclass(frozen=True, slots=True, eq=False)
class SymRandom(SymValue):
    """A random generator, or what one is made of, made in the frame. One from outside is a `SymInstance`."""

    pytype: type
    node: Node


@dataclass(frozen=True, slots=True, eq=False)
class SymCell(SymValue):
    """A cell. `initial` is its contents at the start (Unbound when empty)."""

    oid: int
    name: str
    initial: SymValue
    from_outside: bool  # made before this part began: a store is visible to others


@dataclass(frozen=True, slots=True, eq=False)
class SymIterator(SymValue):
    """An iterator made in the frame. Its contents in the heap are an `IteratorState`.

    What `parts` are depends on `kind`: of "items" the iterable; of "keys" a dict and the keys it had; of "reversed" a
    sequence and its length then; of "zip", "strict zip", "enumerate" and "chain" iterators; of "map" and "filter" the function, then
    iterators.
    """

    kind: str
    pytype: type
    oid: int
    parts: tuple[SymValue, ...]
    initial: IteratorState


class IteratorState(NamedTuple):
    """How often an iterator was asked successfully, and whether it is exhausted.

    A symbolic number in a turn of a loop that is a node: it is made again there, and not asked.
    """

    given: Dim
    done: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SymGenerator(SymValue):
    """A generator whose frame is interpreted as part of this one. It cannot be made again once it has begun.

    Its contents in the heap are the `State` its frame is suspended in, None once it has returned.
    """

    frame: Frame
    oid: int
    born: int  # the instruction of the outermost frame that made it
    initial: None = None


@dataclass(frozen=True, slots=True, eq=False)
class SymFunction(SymValue):
    """A Python function. One from outside has a source; one made in the frame has all its parts here."""

    code: CodeType
    globals: dict[str, object]
    globals_source: Source
    defaults: tuple[SymValue, ...] | None
    kwdefaults: tuple[tuple[str, SymValue], ...] | None
    closure: tuple[SymCell, ...]
    name: str
    qualname: str
    annotations: SymValue | None = None
    obj: object = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class SymMethod(SymValue):
    """A bound method: Python (`func` a SymFunction) or built in (`func` a Known descriptor)."""

    self: SymValue
    func: SymValue


@dataclass(frozen=True, slots=True, eq=False)
class SymInstance(SymValue):
    """An object from outside of a type that has no class of its own here.

    Attributes written in the frame are in the heap: a dict of names, with `DELETED` for those that are gone.
    """

    pytype: type
    obj: object
    oid: int = 0


DELETED = Unbound(None)


@dataclass(frozen=True, slots=True, eq=False)
class Appended:
    """Contents of a list from outside that was only added to at its end: what it held is not asked for."""

    items: tuple[SymValue, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Contents of a dict from outside that was changed key by key: `DELETED` values are gone; in program order."""

    items: tuple[DictItem, ...]

    def find(self, key: object) -> SymValue | None:
        """Return what the last change of a key made of it, None if it was not changed."""
        for item in reversed(self.items):
            if item.key == key:
                return item.value
        return None
