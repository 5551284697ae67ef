"""How reports word counts, times, variants, guards and failures, whatever shows them; it knows neither text nor pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from bcjit.code_cache import counted, duration
from bcjit.errors import SourceLine
from bcjit.records import dataclass
from bcjit.reports.data import FunctionReport, Lists
from bcjit.reports.parts import (
    BreakReport,
    GuardReport,
    LimitReport,
    PartReport,
    Recompilation,
)

__all__ = [
    "Again",
    "Needs",
    "Variants",
    "bounded",
    "count",
    "counted_breaks",
    "duration",
    "ending",
    "facts",
    "folded",
    "headline",
    "limit_cause",
    "limit_head",
    "listed",
    "names_in",
    "needs",
    "recompiled",
    "variants_of",
]  # fmt: skip

T = TypeVar("T")


def count(number: int, what: str) -> str:
    """Return ``1 node``, ``2 nodes``, ``1,024 nodes``."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def bounded(items: Sequence[T], most: int) -> tuple[Sequence[T], int]:
    """Return the first items, and how many are left out."""
    return items[:most], max(0, len(items) - most)


def listed(words: Iterable[str], most: int) -> str:
    """Return the first words with commas, and how many there are more."""
    shown, more = bounded(tuple(words), most)
    return ", ".join(shown) + (f" and {more} more" if more else "")


# ---------------------------------------------------------------------- what matters most

# Ratios nearer to 1 than this are no difference: times of short calls are not known better.
_SAME = 1.05


def headline(report: Lists) -> str:
    """Return whether the function is faster now, by how much, and what to change first: what is known, else how to know it."""
    if not report.parts:
        return "runs as plain Python" if report.problems else ""
    return f"{_speed(report)}; {_change(report)}"


def _speed(report: Lists) -> str:
    verdicts = [verdict for part in report.parts for verdict in part.verdicts]
    kept = [verdict for verdict in verdicts if not verdict.plain]
    if not verdicts:
        return "faster? not measured: time calls of it beside calls of its __wrapped__"
    if not kept:
        return "not faster: calls run as plain Python, which was measured to be no slower"
    ratios = sorted(
        verdict.plain_seconds / verdict.compiled_seconds
        for verdict in kept
        if verdict.compiled_seconds > 0
    )
    if not ratios or ratios[-1] < _SAME:
        words = "as fast as plain Python"
    elif ratios[0] < _SAME:
        words = f"up to {ratios[-1]:.2f} times as fast as plain Python"
    else:
        low, high = f"{ratios[0]:.2f}", f"{ratios[-1]:.2f}"
        words = f"{low if low == high else f'{low} to {high}'} times as fast as plain Python"
    others = ", for other sizes plain Python runs" if len(kept) < len(verdicts) else ""
    return f"{words}{others}"


def _change(report: Lists) -> str:
    """Return where a change would help most: at what runs plain, then at the break that calls come to most often."""
    if report.limits:
        limit = max(report.limits, key=lambda limit: limit.calls)
        return f"first to change: {limit.line} ({limit.hint})"
    for problem in report.problems:
        where = f"{problem.line.text()} " if problem.line is not None else ""
        return f"first to change: {where}({problem.code}, runs plain)"
    calls: dict[BreakReport, int] = {}
    for part in report.parts:
        if part.cut is not None and part.cut.hint and part.cut.line is not None:
            calls[part.cut] = calls.get(part.cut, 0) + part.hits + 1
    if calls:
        cut = max(calls, key=calls.__getitem__)
        assert cut.line is not None
        for loop in report.loops:
            if loop.how == "left" and loop.line == cut.line:
                return f"first to change: {loop.text()}"
        return f"first to change: {cut.line.text()} ({cut.code})"
    return "nothing to change" if not report.breaks else "no break has a remedy"


# ---------------------------------------------------------------------- variants


@dataclass(frozen=True, slots=True)
class Variants:
    """The variants of one part, and the guards that all of them have."""

    line: SourceLine
    part: int
    parts: tuple[PartReport, ...]
    common: tuple[GuardReport, ...]

    def own(self, part: PartReport) -> tuple[GuardReport, ...]:
        """Return the guards that are not common to all variants."""
        common = {guard.what for guard in self.common}
        return tuple(guard for guard in part.guards if guard.what not in common)


def variants_of(function: FunctionReport) -> tuple[Variants, ...]:
    """Return the parts of a function, each with its variants, in the order of the source."""
    grouped: dict[int, list[PartReport]] = {}
    for part in function.parts:
        grouped.setdefault(part.part, []).append(part)
    found = []
    for number, parts in grouped.items():
        held = [{guard.what for guard in part.guards} for part in parts]
        shared = set.intersection(*held)
        common = tuple(guard for guard in parts[0].guards if guard.what in shared)
        found.append(Variants(parts[0].line, number, tuple(parts), common))
    return tuple(sorted(found, key=lambda variants: variants.line.lineno))


def facts(part: PartReport) -> str:
    """Return what is known of a variant but how it ends: ``5 nodes, reused 2 times, 1.3 ms``."""
    words = [
        count(part.nodes, "node") if part.nodes else "no array work",
        f"reused {count(part.hits, 'time')}",
    ]
    if part.bailouts:
        words.append(count(part.bailouts, "bail-out"))
    if part.options:
        words.append(part.options)
    words.append(duration(part.seconds.total))
    return ", ".join(words)


def ending(part: PartReport) -> str:
    """Return how a variant ends, in few words: ``returns``, ``cut at model.py:7 (BRK001)``."""
    if part.cut is None:
        return part.ends
    where = f"at {part.cut.line.text()} " if part.cut.line is not None else ""
    return f"cut {where}({part.cut.code})"


def counted_breaks(parts: Iterable[PartReport]) -> tuple[tuple[BreakReport, int], ...]:
    """Return each break once, with the number of variants that end in it, in the order of the source."""
    found: dict[BreakReport, int] = {}
    for part in parts:
        if part.cut is not None:
            found[part.cut] = found.get(part.cut, 0) + 1
    return tuple(sorted(found.items(), key=lambda item: item[0].line.lineno if item[0].line else 0))


# ---------------------------------------------------------------------- guards


@dataclass(frozen=True, slots=True)
class Needs:
    """Guards that one line relies on, or that code of one package does (then the line is None)."""

    line: SourceLine | None
    package: str
    guards: tuple[GuardReport, ...]


def names_in(guards: Iterable[GuardReport]) -> tuple[str, ...]:
    """Return the names of which guards say that they mean what they did, but those of packages."""
    return tuple(dict.fromkeys(guard.name for guard in guards if guard.name and not guard.package))


def needs(guards: Iterable[GuardReport]) -> tuple[Needs, ...]:
    """Return guards by the line that relied on them; those of a package together, behind the others. Guards of names are left to `names_in`."""
    found: dict[tuple[str, SourceLine | None], list[GuardReport]] = {}
    for guard in guards:
        if guard.name and not guard.package:
            continue
        key = (guard.package, None if guard.package else guard.line)
        found.setdefault(key, []).append(guard)
    rows = [Needs(line, package, tuple(held)) for (package, line), held in found.items()]

    def place(row: Needs) -> tuple[bool, str, int]:
        return (
            (True, row.package, 0)
            if row.line is None
            else (False, row.line.filename, row.line.lineno)
        )

    return tuple(sorted(rows, key=place))


# ---------------------------------------------------------------------- recompilations

_SEEN = 8


@dataclass(frozen=True, slots=True)
class Again:
    """Recompilations of one part for one reason: how many, and the values seen."""

    first: Recompilation
    times: int
    seen: tuple[str, ...]

    def sentence(self) -> str:
        """Return why: ``x: dtype float64 was expected (relied on at model.py:12), got float32, int64``."""
        again = self.first
        if not again.guard:
            return "the variants had changed by then"
        if len(self.seen) == 1 or again.relied is None:
            return again.sentence
        return f"{again.expected} (relied on at {again.relied}), got {listed(self.seen, _SEEN)}"


def recompiled(recompilations: Iterable[Recompilation]) -> tuple[Again, ...]:
    """Return recompilations for the same reason as one."""
    found: dict[tuple[object, ...], list[Recompilation]] = {}
    for again in recompilations:
        key = (again.line, again.guard, again.expected, again.relied)
        found.setdefault(key, []).append(again)
    return tuple(
        Again(same[0], len(same), tuple(dict.fromkeys(again.seen for again in same)))
        for same in found.values()
    )


# ---------------------------------------------------------------------- limits


def limit_head(limit: LimitReport) -> str:
    """Return which limit was reached, and what runs plain for it."""
    name = f"bcjit.config.{limit.limit} ({limit.allowed})"
    if limit.guard:
        calls = count(limit.calls, "call")
        return f"{limit.line}: {calls} ran plain, there are as many variants as {name} allows"
    return f"{limit.line}: parts run plain, the code is cut into more than {name} allows"


def limit_cause(limit: LimitReport) -> str:
    """Return what kept failing and the values seen, or where the parts are that run plain."""
    if limit.guard:
        seen = counted(limit.seen, limit.times)
        return (
            f"failed most often: {limit.guard} (relied on at {limit.relied}); found instead: {seen}"
        )
    return f"they begin at {listed(limit.seen, _SEEN)}"


# ---------------------------------------------------------------------- packages


def folded(functions: Iterable[FunctionReport]) -> tuple[str, ...]:
    """Return a sentence for each installed package whose functions are called: how much of it was compiled."""
    packages: dict[str, list[FunctionReport]] = {}
    for function in functions:
        if function.package:
            packages.setdefault(function.package, []).append(function)
    rows = []
    for package, found in packages.items():
        parts = [part for function in found for part in function.parts]
        breaks = sum(part.cut is not None for part in parts)
        seconds = sum(part.seconds.total for part in parts)
        rows.append(
            f"{count(len(found), 'function')} of {package}, called from it: {count(len(parts), 'compiled variant')},"
            f" {count(breaks, 'break')}, {duration(seconds)}"
        )
    return tuple(rows)
