"""What has been compiled for a function: entries, their order and limits, and the log of misses; it compiles nothing.

A `CodeCache` belongs to one function and one set of options. Several threads may fill, read and clear it at once, without locks: what is
iterated here are copies, made by one C call each, and what must be one for all is put in by ``dict.setdefault``. The guard trees and hit counts live in the C parts and entries; here is what
reports need: which part an entry is of, its guards, its graph, how it ends, and why it had to be compiled.
"""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Hashable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Final

from bcjit.config import config
from bcjit.errors import GraphBreak, SourceLine
from bcjit.guards import GuardKind, hint
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit import _core
    from bcjit.fx_graph import Graph
    from bcjit.guards import Failure, Guard
    from bcjit.symbolic_vm import LoopReport, PartSpec

__all__ = [
    "CacheEntry",
    "CodeCache",
    "LimitNote",
    "Miss",
    "Problem",
    "Times",
    "Verdict",
    "counted",
    "duration",
]

LOG_LENGTH: Final = 64
# So many calls past the limit are still looked at, so that a report can name the values that come.
LOOKED_AT_PAST_LIMIT: Final = 8
_VALUES_TOLD: Final = 6
# Times that differ by less than this factor say nothing without what else a call costs.
_CLEAR: Final = 1.02


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
        # What is compared is more than the two figures: compiled code also checks its guards.
        if self.plain and self.compiled_time <= _CLEAR * self.plain_time:
            times += " and the guards besides, so nothing is gained"
        elif not self.plain and self.plain_time < self.compiled_time:
            times += ", which is no real difference"
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
    failure: str = ""  # what the backend's callable raised last, in words
    options: str = ""  # of the backend, in words

    def attach(self, entry: _core.Entry) -> None:
        """Say which C entry counts this one's hits."""
        self.entry = weakref.ref(entry)

    def become_loop(self, next_specs: tuple[PartSpec, ...]) -> None:
        """Say that the loop that begins here is run as it is, whatever the values."""
        self.guards = ()
        self.next_specs = next_specs

    @property
    def hits(self) -> int:
        """How often it was used again; the call it was captured in does not count, nor do those of `plain_calls`."""
        entry = self.entry() if self.entry is not None else None
        return 0 if entry is None else entry.hits - entry.plain_hits

    @property
    def plain_calls(self) -> int:
        """How many calls it would have served but for the cost model, which let the plain function run."""
        entry = self.entry() if self.entry is not None else None
        return 0 if entry is None else entry.plain_hits + entry.unchecked

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


@dataclass(frozen=True, slots=True)
class LimitNote:
    """A limit of `bcjit.config` that was reached: what kept failing, and what can be done.

    Attributes
    ----------
    limit, allowed
        The field of ``bcjit.config`` and its value: ``cache_limit``, variants of a part, or ``part_limit``, parts of a
        code object.
    line
        Where the part begins; the first of the parts that run plain.
    guard
        What had to hold and failed most often: ``x is a float64 array of 1 dimension``. Of parts it is empty.
    relied
        The user's line that relied on it.
    seen
        The values found instead in calls that ran plain, those that came most often first; of parts the lines where they begin.
    times
        How often each of those was found, of the calls that were looked at; of parts it is empty.
    count
        How often that guard failed, of the misses that were looked at; how many parts there are too many.
    plain_calls
        How many calls ran plain for want of a variant. Calls of parts that are too many are not counted.
    hint
        What can be done in the program.
    """

    limit: str
    allowed: int
    line: SourceLine
    guard: str
    relied: SourceLine
    seen: tuple[str, ...]
    count: int
    plain_calls: int
    hint: str
    times: tuple[int, ...] = ()

    def text(self) -> str:
        """Return all of it in words."""
        advice = f"{self.hint}. bcjit.config.{self.limit} = {self.allowed} is the limit."
        where = f"{self.line.function} at {self.line}"
        if self.limit == "part_limit":
            return (
                f"{where}: the code is cut into more than {self.allowed} parts; others run as plain Python: those at"
                f" {', '.join(self.seen)}. Hint: {advice}"
            )
        return (
            f"{where} has {self.allowed} compiled variants; calls that need another run as plain Python. What failed"
            f" most often: {self.guard} (relied on at {self.relied}); found instead: {counted(self.seen, self.times)}."
            f" Hint: {advice}"
        )


def counted(seen: tuple[str, ...], times: tuple[int, ...]) -> str:
    """Return the values that calls came with, and how many of those that were looked at did, where some came more often."""
    if max(times, default=1) == 1:
        return ", ".join(seen)
    return ", ".join(f"{value} ({number})" for value, number in zip(seen, times, strict=True)) + (
        f" of {sum(times)} calls that were looked at"
    )


@dataclass(slots=True, eq=False)
class Tally:
    """How often one guard of a part has failed, over all its variants."""

    failure: Failure  # the last
    count: int = 0
    plain: Counter[str] = field(default_factory=Counter)  # the values of calls that ran plain

    def add(self, failure: Failure, *, compiled: bool) -> None:
        """Count a failure; a value that got a variant of its own is none that runs plain."""
        self.failure = failure
        self.count += 1
        if not compiled:
            self.plain[failure.value] += 1

    def weight(self) -> tuple[int, int]:
        """How much the guard matters: calls that ran plain for it, then all its failures."""
        return self.plain.total(), self.count


def _subject(failure: Failure) -> Hashable:
    """Return what variants have in common of which one expects one thing and the next another."""
    guard = failure.about
    named = guard.kind in (GuardKind.ABSENT, GuardKind.NO_INSTANCE_ATTR)
    return guard.kind, guard.sources(), guard.expected if named else None


@dataclass(slots=True, eq=False, weakref_slot=True)
class CodeCache:
    """All parts and entries of one function with one set of options."""

    parts: dict[PartSpec, _core.Part] = field(default_factory=dict)
    entries: list[CacheEntry] = field(default_factory=list)
    misses: deque[Miss] = field(default_factory=lambda: deque(maxlen=LOG_LENGTH))
    problems: dict[tuple[str, SourceLine], Problem] = field(default_factory=dict)
    captures: int = 0
    asked: Counter[PartSpec] = field(default_factory=Counter)  # misses that were looked at
    refused: Counter[PartSpec] = field(default_factory=Counter)  # of them, those past the limit
    tallies: dict[PartSpec, dict[Hashable, Tally]] = field(default_factory=dict)
    beyond: dict[PartSpec, SourceLine] = field(default_factory=dict)  # parts too many, left plain

    def of_part(self, spec: PartSpec) -> Iterator[CacheEntry]:
        """Yield the entries of one part, oldest first."""
        return (entry for entry in tuple(self.entries) if entry.spec == spec)

    def is_full(self, part: _core.Part) -> bool:
        """Whether a part has as many entries as it may have."""
        return len(part.entries) >= config.cache_limit

    def can_split(self) -> bool:
        """Whether another part may be made."""
        return len(self.parts) < config.part_limit

    def leave_plain(self, spec: PartSpec, line: SourceLine) -> None:
        """Remember a part that is one too many."""
        self.beyond.setdefault(spec, line)

    def miss(self, spec: PartSpec, miss: Miss) -> None:
        """Remember a miss, and count what failed."""
        self.misses.append(miss)
        if not miss.compiled:
            self.refused[spec] += 1
        if miss.failure is not None:
            of_part = self.tallies.setdefault(spec, {})
            tally = of_part.setdefault(_subject(miss.failure), Tally(miss.failure))
            tally.add(miss.failure, compiled=miss.compiled)

    def has_seen_enough(self, spec: PartSpec) -> bool:
        """Whether no more calls of a part need to be looked at that run plain because of the limit."""
        return self.refused[spec] >= LOOKED_AT_PAST_LIMIT

    def limit_note(self, spec: PartSpec) -> LimitNote | None:
        """Return what is to be said of a part that has as many variants as it may; None of one that could have more."""
        tallies = tuple(self.tallies.get(spec, {}).values())
        if not self.refused[spec] or not tallies:
            return None
        worst = max(reversed(tallies), key=Tally.weight)  # the newest of several
        told = worst.plain.most_common(_VALUES_TOLD)
        return LimitNote(
            limit="cache_limit",
            allowed=config.cache_limit,
            line=spec.source_line,
            guard=worst.failure.guard,
            relied=worst.failure.relied,
            seen=tuple(value for value, _ in told),
            times=tuple(times for _, times in told),
            count=worst.count,
            plain_calls=self._plain_calls_of(spec),
            hint=hint(worst.failure.about),
        )

    def limit_notes(self) -> tuple[LimitNote, ...]:
        """Return the limits that were reached."""
        found = [self.limit_note(spec) for spec in tuple(self.refused)]
        return tuple(note for note in (*found, self.parts_note()) if note is not None)

    def parts_note(self) -> LimitNote | None:
        """Return what is to be said of a code object that is cut into more parts than it may be; else None."""
        lines = tuple(self.beyond.values())
        if not lines:
            return None
        return LimitNote(
            limit="part_limit",
            allowed=config.part_limit,
            line=lines[0],
            guard="",
            relied=lines[0],
            seen=tuple(dict.fromkeys(line.text() for line in lines))[:_VALUES_TOLD],
            count=len(lines),
            plain_calls=0,
            hint="bcjit.explain says what cuts it; avoid that, or make functions of the pieces",
        )

    def plain_calls(self) -> int:
        """How many calls ran plain because a part had as many entries as it may have."""
        return sum(map(self._plain_calls_of, tuple(self.parts)))

    def _plain_calls_of(self, spec: PartSpec) -> int:
        part = self.parts.get(spec)  # another thread may be letting go of everything
        if part is None or part.on_miss is not None or part.skip:
            return self.refused[spec]
        return part.misses - self.asked[spec] + self.refused[spec]

    def note(self, problem: Problem) -> bool:
        """Remember a problem once; True when it is new."""
        key = (problem.code, problem.line)
        return self.problems.setdefault(key, problem) is problem

    def clear(self) -> None:
        """Forget everything: parts run plain until they are captured again."""
        for number, (spec, part) in enumerate(tuple(self.parts.items())):
            part.clear()
            part.misses = 0
            part.skip = number >= config.part_limit
            if not part.skip:
                self.beyond.pop(spec, None)
        self.entries.clear()
        self.misses.clear()
        self.problems.clear()
        self.captures = 0
        self.asked.clear()
        self.refused.clear()
        self.tallies.clear()
