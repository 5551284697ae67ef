"""Turns guards into the plain tuples from which ``bcjit._core.GuardTree`` is built; checks nothing itself.

The specification is ``(sources, guards)``::

    sources: ((kind, base, key, number), ...)           base: index of an earlier source, -1 for a root
    guards:  ((kind, source, ready, payload, number), ...)

Sources are numbered in the order in which guards first need them, each once; ``ready`` is how many of them a guard
needs fetched, its own among them. So the tree is a straight line: fetch up to ``ready``, check, go on.

What a row means (every use of ``number`` that is not listed is 0, of ``payload`` None):

=================  ======================================================================
LOCAL, CELL        number: index
GLOBAL, BUILTIN    key: name (also ATTR, MODULE_ATTR, MRO); ITEM: key is the constant
SHAPE, CELL_OF     number: axis, index
MEMBER             number: place in ``MEMBERS``
TYPE, IDENTITY     payload: weak reference (number 1) or the object itself (number 0)
ARRAY              payload: dtype, number: ndim
EQUALS, KEYS       payload: the constant; ABSENT, NO_INSTANCE_ATTR: the key
UNBOUND_CELL       source: that of the closure tuple, -1 for the closure in use; number: index
SAME_OBJECT        payload: index of the other source, number: whether they are the same (OVERLAP likewise)
RELATION           payload: (sources of the symbols, comparison, program), see ``relation_program``
=================  ======================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from bcjit._core import GuardTree
from bcjit.dims import Dim, FloorDiv, Max, Min, Mod, Relation, Symbol
from bcjit.guards.guard import Guard, GuardKind, Identity, SymbolicRelation
from bcjit.guards.source import MEMBERS, Source, SourceKind, exact_key

if TYPE_CHECKING:
    from collections.abc import Hashable

    from bcjit.dims import Atom

__all__ = ["Operation", "Specification", "compile_guards", "relation_program", "specification"]

SourceRow: TypeAlias = tuple[int, int, object, int]
GuardRow: TypeAlias = tuple[int, int, int, object, int]
Specification: TypeAlias = tuple[tuple[SourceRow, ...], tuple[GuardRow, ...]]


class Operation(IntEnum):
    """Operations of a relation's stack program; the numbers are those of ``enum operation`` in ``csrc/guards.c``."""

    CONSTANT = 0  # push the operand
    SYMBOL = 1  # push the value of the symbol with this index
    ADD = 2
    MULTIPLY = 3
    FLOOR_DIVIDE = 4
    MODULO = 5
    MINIMUM = 6
    MAXIMUM = 7


_COMPARISONS: Final = {"==": 0, "!=": 1, "<=": 2}

Program: TypeAlias = list[tuple[int, int]]


def relation_program(relation: Relation, symbols: Sequence[Symbol]) -> tuple[tuple[int, int], ...]:
    """Return a stack program that leaves the two sides of a relation: pairs of operation and operand."""
    index = {symbol: place for place, symbol in enumerate(symbols)}
    program: Program = []
    _push_dim(relation.lhs, index, program)
    _push_dim(relation.rhs, index, program)
    return tuple(program)


def _push_dim(dim: Dim, index: dict[Symbol, int], program: Program) -> None:
    if isinstance(dim, int):
        program.append((Operation.CONSTANT, dim))
        return
    for place, (monomial, coefficient) in enumerate(dim.terms):
        factors = [atom for atom, power in monomial for _ in range(power)]
        if coefficient != 1 or not factors:
            program.append((Operation.CONSTANT, coefficient))
        for nth, atom in enumerate(factors):
            _push_atom(atom, index, program)
            if nth or coefficient != 1:
                program.append((Operation.MULTIPLY, 0))
        if place:
            program.append((Operation.ADD, 0))


_OPERATIONS: Final[dict[type, Operation]] = {
    FloorDiv: Operation.FLOOR_DIVIDE,
    Mod: Operation.MODULO,
    Min: Operation.MINIMUM,
    Max: Operation.MAXIMUM,
}


def _push_atom(atom: Atom, index: dict[Symbol, int], program: Program) -> None:
    if isinstance(atom, Symbol):
        program.append((Operation.SYMBOL, index[atom]))
        return
    for nth, arg in enumerate(atom.args):
        _push_dim(arg, index, program)
        if nth:
            program.append((_OPERATIONS[type(atom)], 0))


class _Numbering:
    """Sources in the order of their first use, each once."""

    __slots__ = ("_place", "rows")

    def __init__(self) -> None:
        self.rows: list[SourceRow] = []
        self._place: dict[Hashable, int] = {}

    def place(self, source: Source) -> int:
        """Return the index of a source, adding it and its bases."""
        index = -1
        for step in source.chain():
            # A path is its last step from an already numbered base.
            key = (index, step.kind, exact_key(step.key))
            known = self._place.get(key)
            if known is None:
                known = len(self.rows)
                self._place[key] = known
                self.rows.append(_source_row(step, index))
            index = known
        return index


_NUMBERED_PAIRS: Final = (SourceKind.LOCAL, SourceKind.CELL)
_NUMBERED: Final = (SourceKind.SHAPE, SourceKind.CELL_OF)


def _source_row(source: Source, base: int) -> SourceRow:
    if source.kind in _NUMBERED_PAIRS:
        return source.kind, base, None, cast("tuple[int, str]", source.key)[0]
    if source.kind in _NUMBERED:
        return source.kind, base, None, cast("int", source.key)
    if source.kind is SourceKind.MEMBER:
        return source.kind, base, None, list(MEMBERS).index(cast("str", source.key))
    return source.kind, base, source.key, 0


_Row: TypeAlias = tuple[int, object, int]  # source, payload, number


def _plain(guard: Guard, numbering: _Numbering) -> _Row:
    return numbering.place(guard.source), guard.expected, 0


def _identity(guard: Guard, numbering: _Numbering) -> _Row:
    identity = cast("Identity", guard.expected)
    weak = identity.reference
    return (
        numbering.place(guard.source),
        identity.get() if weak is None else weak,
        0 if weak is None else 1,
    )


def _array(guard: Guard, numbering: _Numbering) -> _Row:
    dtype, ndim = cast("tuple[object, int]", guard.expected)
    return numbering.place(guard.source), dtype, ndim


def _unbound_cell(guard: Guard, numbering: _Numbering) -> _Row:
    if guard.source.kind is SourceKind.CELL:
        return -1, None, cast("tuple[int, str]", guard.source.key)[0]
    return numbering.place(cast("Source", guard.source.base)), None, cast("int", guard.source.key)


def _pair(guard: Guard, numbering: _Numbering) -> _Row:
    other, flag = cast("tuple[Source, bool]", guard.expected)
    return numbering.place(guard.source), numbering.place(other), int(flag)


def _relation(guard: Guard, numbering: _Numbering) -> _Row:
    expected = cast("SymbolicRelation", guard.expected)
    places = tuple(numbering.place(source) for _, source in expected.symbols)
    program = relation_program(expected.relation, [symbol for symbol, _ in expected.symbols])
    return -1, (places, _COMPARISONS[expected.relation.op], program), 0


_ROWS: Final[dict[GuardKind, Callable[[Guard, _Numbering], _Row]]] = {
    GuardKind.TYPE: _identity,
    GuardKind.IDENTITY: _identity,
    GuardKind.EQUALS: _plain,
    GuardKind.ARRAY: _array,
    GuardKind.ABSENT: _plain,
    GuardKind.NO_INSTANCE_ATTR: _plain,
    GuardKind.UNBOUND_CELL: _unbound_cell,
    GuardKind.KEYS: _plain,
    GuardKind.RELATION: _relation,
    GuardKind.SAME_OBJECT: _pair,
    GuardKind.OVERLAP: _pair,
    GuardKind.PRESENT: _plain,
    GuardKind.OTHER_ARRAY: _plain,
}


def specification(guards: Sequence[Guard]) -> Specification:
    """Return the argument of ``GuardTree`` for these guards, in their order."""
    numbering = _Numbering()
    rows: list[GuardRow] = []
    for guard in guards:
        source, payload, number = _ROWS[guard.kind](guard, numbering)
        rows.append((guard.kind, source, len(numbering.rows), payload, number))
    return tuple(numbering.rows), tuple(rows)


def compile_guards(guards: Sequence[Guard]) -> GuardTree:
    """Return the C tree that checks these guards in their order."""
    return GuardTree(specification(guards))
