"""What has been compiled for a function: entries, their order and limits, and the log of misses; it compiles nothing.

A `CodeCache` belongs to one function and one set of options. Several threads may fill, read and clear it at once, without locks: what is
iterated here are copies, made by one C call each, and what must be one for all is put in by ``dict.setdefault``. The guard trees and hit counts live in the C parts and entries; here is what
reports need: which part an entry is of, its guards, its graph, how it ends, and why it had to be compiled.
"""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Final

from bcjit.config import config
from bcjit.errors import GraphBreak, SourceLine
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit import _core
    from bcjit.fx_graph import Graph
    from bcjit.guards import Failure, Guard
    from bcjit.symbolic_vm import LoopReport, PartSpec

__all__ = ["CacheEntry", "CodeCache", "Miss", "Problem", "Times", "Verdict", "duration"]

LOG_LENGTH: Final = 64


@dataclass(slots=True, eq=False)
class Times:
    """Seconds of this thread that went into an entry."""

    capture: float = 0.0  # bytecode to graph
    backend: float = 0.0  # passes, and graph to callable
    assembly: float = 0.0  # guards and residual code


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the cost model measured of an entry, for arguments of some sizes, and what runs since."""

    low: int  # elements of the largest array argument; 0 and 0: none has any
    high: int | None  # None: and more
    plain: bool  # the plain function runs
    plain_time: float  # least seconds of a call
    compiled_time: float
    calls: int  # that were timed

    def text(self) -> str:
        """Return it in words."""
        times = f"{duration(self.plain_time)} plain, {duration(self.compiled_time)} compiled"
        what = "switched back to plain Python" if self.plain else "compiled code is kept"
        return f"{what} for {self._sizes()}: {times} (least of {self.calls} calls)"

    def _sizes(self) -> str:
        if self.high == 0:
            return "arguments without array elements"
        if self.high is None:
            return f"arrays of {self.low:,} elements and more"
        return f"arrays of {self.low:,} to {self.high:,} elements"


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1.0:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


@dataclass(slots=True, eq=False, weakref_slot=True)
class CacheEntry:
    """One compiled variant of one part."""

    spec: PartSpec
    line: SourceLine  # where the part begins
    guards: tuple[Guard, ...]
    graph: Graph
    captured: int  # calls in it before the passes
    backend: str
    cause: GraphBreak | None  # why the part ends; None when it returns
    effects: tuple[str, ...]  # what the part changes that others see, in words
    next_specs: tuple[PartSpec, ...]
    loops: tuple[LoopReport, ...] = ()  # what became of the loops it came to
    entry: weakref.ref[_core.Entry] | None = None
    plain: bool = False  # nothing to run: the plain code serves
    times: Times = field(default_factory=Times)

    def attach(self, entry: _core.Entry) -> None:
        """Say which C entry counts this one's hits."""
        self.entry = weakref.ref(entry)

    def become_loop(self, next_specs: tuple[PartSpec, ...]) -> None:
        """Say that the loop that begins here is run as it is, whatever the values."""
        self.guards = ()
        self.next_specs = next_specs

    @property
    def hits(self) -> int:
        """How often the guards held; the call it was captured in does not count."""
        entry = self.entry() if self.entry is not None else None
        return 0 if entry is None else entry.hits

    @property
    def bailouts(self) -> int:
        """How often the graph failed and the plain code ran instead."""
        entry = self.entry() if self.entry is not None else None
        return 0 if entry is None else entry.bailouts

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What the cost model has decided, for each range of sizes."""
        entry = self.entry() if self.entry is not None else None
        return () if entry is None else tuple(map(_verdict, entry.verdicts))


def _verdict(row: tuple[int, int, bool, float, float, int, int]) -> Verdict:
    low, high, plain, plain_time, compiled_time, *calls = row
    return Verdict(low, None if high < 0 else high, plain, plain_time, compiled_time, sum(calls))


@dataclass(frozen=True, slots=True)
class Miss:
    """A call that no entry fitted although there were some, and why."""

    line: SourceLine  # where the part begins
    failure: Failure | None  # of the entry that came nearest; None: it would fit by now
    compiled: bool  # False: the limit is reached, it ran plain

    @property
    def sentence(self) -> str:
        """The failure in a sentence."""
        return "" if self.failure is None else self.failure.sentence


@dataclass(frozen=True, slots=True)
class Problem:
    """A part that is not compiled, and why."""

    line: SourceLine
    code: str
    title: str
    context: str


@dataclass(slots=True, eq=False, weakref_slot=True)
class CodeCache:
    """All parts and entries of one function with one set of options."""

    parts: dict[PartSpec, _core.Part] = field(default_factory=dict)
    entries: list[CacheEntry] = field(default_factory=list)
    misses: deque[Miss] = field(default_factory=lambda: deque(maxlen=LOG_LENGTH))
    problems: dict[tuple[str, SourceLine], Problem] = field(default_factory=dict)
    captures: int = 0
    asked: Counter[PartSpec] = field(default_factory=Counter)  # misses that were looked at

    def of_part(self, spec: PartSpec) -> Iterator[CacheEntry]:
        """Yield the entries of one part, oldest first."""
        return (entry for entry in tuple(self.entries) if entry.spec == spec)

    def is_full(self, part: _core.Part) -> bool:
        """Whether a part has as many entries as it may have."""
        return len(part.entries) >= config.cache_limit

    def can_split(self) -> bool:
        """Whether another part may be made."""
        return len(self.parts) < config.part_limit

    def plain_calls(self) -> int:
        """How many calls ran plain because a part had as many entries as it may have."""
        unasked = sum(
            part.misses - self.asked[part.tag]
            for part in tuple(self.parts.values())
            if part.on_miss is None and not part.skip
        )
        return unasked + sum(not miss.compiled for miss in tuple(self.misses))

    def note(self, problem: Problem) -> bool:
        """Remember a problem once; True when it is new."""
        key = (problem.code, problem.line)
        return self.problems.setdefault(key, problem) is problem

    def clear(self) -> None:
        """Forget everything: parts run plain until they are captured again."""
        for part in tuple(self.parts.values()):
            part.clear()
            part.skip = False
        self.entries.clear()
        self.misses.clear()
        self.problems.clear()
        self.captures = 0
        self.asked.clear()
