"""Cost of a guard check in C: of whole sets of guards, and of one more guard of each kind.

What a call of the check costs from Python when there is no guard is subtracted: the dispatcher calls it from C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from bcjit.bench.measure import Row, nanoseconds
from bcjit.dims import Relation, Symbol
from bcjit.errors import SourceLine
from bcjit.guards import (
    Guard,
    GuardKind,
    Identity,
    Source,
    SourceKind,
    SymbolicRelation,
    compile_guards,
)

WHY: Final = SourceLine("bench.py", 1, "f")
SETTING: Final = {"limit": 3}


class Model:
    """An object whose attributes are guarded."""

    def __init__(self) -> None:
        self.weight = np.zeros(3)
        self.rate = 0.5


def local(index: int) -> Source:
    """Return the source of an argument."""
    return Source(SourceKind.LOCAL, (index, f"a{index}"))


def array(index: int) -> Guard:
    """Expect a vector of float64."""
    return Guard(GuardKind.ARRAY, local(index), (np.dtype(np.float64), 1), WHY)


def same_length(index: int) -> Guard:
    """Expect the length of the first argument."""
    symbols = (Symbol("n"), Symbol("m"))
    sources = (Source(SourceKind.SHAPE, 0, local(0)), Source(SourceKind.SHAPE, 0, local(index)))
    relation = Relation("==", *symbols)
    pairs = tuple(sorted(zip(symbols, sources, strict=True), key=lambda pair: pair[0].name))
    return Guard(GuardKind.RELATION, pairs[0][1], SymbolicRelation(relation, pairs), WHY)


def attribute(name: str) -> Source:
    """Return the source of an attribute of the last argument."""
    return Source(SourceKind.ATTR, name, local(8))


KINDS: Final[dict[str, Callable[[], Guard]]] = {
    "array": lambda: array(7),
    "equal lengths": lambda: same_length(7),
    "type of an argument": lambda: Guard(GuardKind.TYPE, local(8), Identity(Model), WHY),
    "a global is that module": lambda: Guard(
        GuardKind.IDENTITY, Source(SourceKind.GLOBAL, "np"), Identity(np), WHY
    ),
    "an attribute of a module": lambda: Guard(
        GuardKind.IDENTITY,
        Source(SourceKind.MODULE_ATTR, "exp", Source(SourceKind.GLOBAL, "np")),
        Identity(np.exp),
        WHY,
    ),
    "an attribute is an array": lambda: Guard(
        GuardKind.ARRAY, attribute("weight"), (np.dtype(np.float64), 1), WHY
    ),
    "an attribute is a number": lambda: Guard(GuardKind.EQUALS, attribute("rate"), 0.5, WHY),
    "an item of a dict": lambda: Guard(
        GuardKind.EQUALS,
        Source(SourceKind.ITEM, "limit", Source(SourceKind.GLOBAL, "SETTING")),
        3,
        WHY,
    ),
}


def rows(rounds: int) -> list[Row]:
    """Measure whole sets, then one more guard of each kind."""
    values = (*(np.arange(10.0) for _ in range(8)), Model())
    eight = [array(i) for i in range(8)]
    full = [*eight, *(same_length(i) for i in range(1, 8))]
    sets = {
        "no guard": [],
        "1 array": eight[:1],
        "8 arrays": eight,
        "8 arrays of one length": full,
        **{title: [*eight[:7], make()] for title, make in KINDS.items()},
        "7 arrays": eight[:7],
    }
    checks = {title: compile_guards(guards).check for title, guards in sets.items()}
    for title, check in checks.items():
        assert check(values, rows, None) == -1, title
    times = nanoseconds(list(checks.values()), (values, rows, None), rounds)
    ns = dict(zip(checks, times, strict=True))
    whole = [
        Row(title, 1000.0, ns[title] - ns["no guard"], "ns")
        for title in ("1 array", "8 arrays", "8 arrays of one length")
    ]
    more = [Row(f"one more: {title}", 50.0, ns[title] - ns["7 arrays"], "ns") for title in KINDS]
    return whole + more
