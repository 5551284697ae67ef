"""The order in which guards are checked, without those that others imply; a pure function that checks nothing itself.

Any order gives the same answer: a source that cannot be fetched fails its guard. What the order decides is what a miss
costs and which guard is named: the arguments' dtypes and types come first, as they change most; then sizes, what is read
through items, attributes, cells; globals, builtins and classes last, as they hardly ever change. A guard on what a path
goes through comes before guards on what is behind it.
"""

from __future__ import annotations

import math
import operator
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias, cast

import numpy as np

from bcjit.dims import Relation, Symbol
from bcjit.guards.guard import DEAD, Guard, GuardKind, Identity, SymbolicRelation
from bcjit.guards.source import Source, SourceKind, has_base

__all__ = ["ordered"]

# How seldom what is read by a step changes from call to call; that of a path is that of its rarest step.
_RARITY: Final[dict[SourceKind, int]] = {
    SourceKind.LOCAL: 0,
    SourceKind.TYPE: 0,
    SourceKind.LENGTH: 0,
    SourceKind.SHAPE: 0,
    SourceKind.ITEM: 1,
    SourceKind.MEMBER: 1,
    SourceKind.ATTR: 2,
    SourceKind.CELL: 3,
    SourceKind.CELL_OF: 3,
    SourceKind.GLOBAL: 4,
    SourceKind.MODULE_ATTR: 5,
    SourceKind.BUILTIN: 6,
    SourceKind.MRO: 6,
    SourceKind.GLOBALS: 6,
    SourceKind.BUILTINS: 6,
}
# Kinds that say what a value is, so that going on through it means something, are 0: they come before what is behind.
_COST: Final[dict[GuardKind, int]] = {
    GuardKind.ARRAY: 0,
    GuardKind.OTHER_ARRAY: 0,
    GuardKind.TYPE: 0,
    GuardKind.IDENTITY: 0,
    GuardKind.EQUALS: 0,
    GuardKind.KEYS: 0,
    GuardKind.PRESENT: 0,
    GuardKind.UNBOUND_CELL: 1,
    GuardKind.RELATION: 1,
    GuardKind.SAME_OBJECT: 2,
    GuardKind.ABSENT: 2,
    GuardKind.NO_INSTANCE_ATTR: 2,
    GuardKind.OVERLAP: 3,
}


def ordered(guards: Iterable[Guard]) -> tuple[Guard, ...]:
    """Return guards that hold exactly when all of these do, in the order in which they are best checked.

    Each is one of those given: of equal ones the first, and none that the others imply.
    """
    found = _without_mirrored(dict.fromkeys(guards))
    found = _without_implied(found)
    found = _without_implied_relations(found)
    found = _without_presence(found)
    return tuple(sorted(found, key=_rank))


def _rank(guard: Guard) -> tuple[int, int, int]:
    paths = [source.chain() for source in guard.sources()]
    return (
        max(_RARITY[step.kind] for path in paths for step in path),
        _COST[guard.kind],
        max(map(len, paths)),
    )


# What is implied


def _without_mirrored(guards: Iterable[Guard]) -> list[Guard]:
    """Leave out a pair that is there the other way round."""
    seen: set[tuple[GuardKind, frozenset[Source], bool]] = set()
    kept = []
    for guard in guards:
        match guard.expected:
            case (Source() as other, bool() as flag):
                pair = guard.kind, frozenset((guard.source, other)), flag
                if pair in seen:
                    continue
                seen.add(pair)
        kept.append(guard)
    return kept


def _exact_type(guard: Guard) -> type | None:
    """Return the type that a value must have for a guard on it to hold, as far as that is known."""
    match guard.kind:
        case GuardKind.ARRAY | GuardKind.OTHER_ARRAY:
            return np.ndarray
        case GuardKind.KEYS:
            return dict
        case GuardKind.EQUALS:
            return type(guard.expected)
        case GuardKind.IDENTITY:
            found = cast("Identity", guard.expected).get()
            return type(found) if found is not DEAD and _keeps_its_type(found) else None
        case _:
            return None


_IMMUTABLE_TYPE: Final = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE (Include/object.h)
_FLAGS: Final = type.__dict__["__flags__"]


def _keeps_its_type(value: object) -> bool:
    """Whether no assignment to ``__class__`` can give the object another one."""
    pytype = type(value)
    if has_base(value, types.ModuleType):
        return False
    return bool(_FLAGS.__get__(pytype) & _IMMUTABLE_TYPE)


def _exact_length(guard: Guard) -> int | None:
    """Return the length that a value must have for a guard on it to hold, as far as that is known."""
    expected = guard.expected
    if guard.kind is GuardKind.KEYS or (
        guard.kind is GuardKind.EQUALS and type(expected) in (str, bytes, tuple)
    ):
        return len(cast("Sequence[object]", expected))
    return None


def _without_implied(guards: Sequence[Guard]) -> list[Guard]:
    """Leave out types and lengths that another guard on the same value implies."""
    exact: dict[Source, type] = {}
    lengths: dict[Source, int] = {}
    for guard in guards:
        pytype, length = _exact_type(guard), _exact_length(guard)
        if pytype is not None:
            exact[guard.source] = pytype
        if length is not None:
            lengths[guard.source] = length
    return [
        guard
        for guard in guards
        if not (_is_type_implied(guard, exact) or _is_length_implied(guard, lengths))
    ]


def _is_type_implied(guard: Guard, exact: dict[Source, type]) -> bool:
    return (
        guard.kind is GuardKind.TYPE
        and guard.source in exact
        and cast("Identity", guard.expected).is_(exact[guard.source])
    )


def _is_length_implied(guard: Guard, lengths: dict[Source, int]) -> bool:
    source = guard.source
    if guard.kind is not GuardKind.EQUALS or source.kind is not SourceKind.LENGTH:
        return False
    return (
        type(guard.expected) is int and lengths.get(cast("Source", source.base)) == guard.expected
    )


def _reads(guard: Guard) -> Iterator[Source]:
    """Yield the sources without whose values a guard fails."""
    if guard.kind is GuardKind.UNBOUND_CELL:
        if guard.source.base is not None:
            yield guard.source.base
        return
    yield from guard.sources()


def _without_presence(guards: Sequence[Guard]) -> list[Guard]:
    """Leave out that a value is there where something else is expected of it or of what is behind it."""
    read: set[Source] = set()
    for guard in guards:
        for source in _reads(guard):
            step = source if guard.kind is not GuardKind.PRESENT else source.base
            while step is not None and step not in read:
                read.add(step)
                step = step.base
    return [
        guard for guard in guards if guard.kind is not GuardKind.PRESENT or guard.source not in read
    ]


# Relations


def _without_implied_relations(guards: Sequence[Guard]) -> list[Guard]:
    """Leave out relations that follow from others on the same terms, or from numbers that are known to be equal to one.

    Only that: what a capture has found out already it does not ask again, so that what follows from several facts is
    there when it was needed before the last of them.
    """
    places = _places(guards)
    if not places:
        return list(guards)
    symbols = {source: symbol for symbol, source in places.items()}
    said: dict[Guard, tuple[_Terms, str, int]] = {}
    for guard in guards:
        if isinstance(guard.expected, SymbolicRelation):
            said[guard] = _bound(guard.expected.relation)
        elif guard.kind is GuardKind.EQUALS and type(guard.expected) is int:
            symbol = symbols.get(guard.source)
            if symbol is not None:
                said[guard] = _terms_of(symbol), "==", guard.expected
    about: dict[_Terms, _Bounds] = {}
    for guard, (terms, op, limit) in said.items():
        about.setdefault(terms, _Bounds()).learn(guard, op, limit)
    equal = {
        symbol: bounds.equal
        for symbol in places
        if (bounds := about.get(_terms_of(symbol))) is not None and bounds.equal is not None
    }
    return [
        guard
        for guard in guards
        if guard.kind is not GuardKind.RELATION
        or not (about[said[guard][0]].imply(guard, *said[guard][1:]) or _is_decided(guard, equal))
    ]


def _places(guards: Iterable[Guard]) -> dict[Symbol, Source]:
    """Return where the symbols of relations are found; nothing where they are not called alike in all."""
    places: dict[Symbol, Source] = {}
    for guard in guards:
        if isinstance(guard.expected, SymbolicRelation):
            for symbol, source in guard.expected.symbols:
                if places.setdefault(symbol, source) != source:
                    return {}
    return places if len(set(places.values())) == len(places) else {}


_Terms: TypeAlias = tuple[tuple[object, int], ...]


def _terms_of(symbol: Symbol) -> _Terms:
    return symbol.expr.terms


def _bound(relation: Relation) -> tuple[_Terms, str, int]:
    """Return a relation as terms, the first of them positive, compared with a number."""
    difference = relation.difference()
    assert not isinstance(difference, int)  # there are symbols in it
    terms = tuple((monomial, factor) for monomial, factor in difference.terms if monomial)
    constant = sum(factor for monomial, factor in difference.terms if not monomial)
    if terms[0][1] > 0:
        return terms, relation.op, -constant
    terms = tuple((monomial, -factor) for monomial, factor in terms)
    return terms, ">=" if relation.op == "<=" else relation.op, constant


class _Bounds:
    """What several guards say of the same terms."""

    def __init__(self) -> None:
        self.equal: int | None = None
        self.by: Guard | None = (
            None  # which says what they equal; a number that must be found there comes first
        )
        self.low = -math.inf
        self.high = math.inf

    def learn(self, guard: Guard, op: str, limit: int) -> None:
        if op == "==":
            if self.by is None or guard.kind is GuardKind.EQUALS:
                self.equal, self.by = limit, guard
        elif op == "<=":
            self.high = min(self.high, limit)
        elif op == ">=":
            self.low = max(self.low, limit)

    def imply(self, guard: Guard, op: str, limit: int) -> bool:
        """Whether one of these guards is not needed beside the others."""
        if self.equal is not None and guard is not self.by:
            return _HOLDS[op](self.equal, limit)
        if op == "!=":
            return not self.low <= limit <= self.high
        return (op == "<=" and limit > self.high) or (op == ">=" and limit < self.low)


_HOLDS: Final[dict[str, Callable[[int, int], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
}


def _is_decided(guard: Guard, equal: dict[Symbol, int]) -> bool:
    """Whether a relation of several symbols holds because each of them must be equal to a number."""
    relation = cast("SymbolicRelation", guard.expected).relation
    used = relation.symbols()
    if len(used) < 2 or not used <= equal.keys():
        return False
    try:
        return relation.holds(equal)
    except ZeroDivisionError:
        return False
