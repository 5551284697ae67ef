"""What was captured and why, for people: explanations of one call and reports of all calls, as text and as dicts.

These read the code cache; they change nothing and run nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from bcjit.code_cache import CacheEntry, CodeCache, Miss, Problem
from bcjit.config import config
from bcjit.fx_graph import Graph
from bcjit.guards import describe
from bcjit.records import dataclass
from bcjit.symbolic_vm import LoopReport

__all__ = ["Explanation", "RecompileReport", "explanation_of", "report_of"]


@dataclass(frozen=True, slots=True)
class PartReport:
    """One compiled variant of one part of a function, in words.

    Attributes
    ----------
    where
        ``file:line`` where the part begins.
    guards
        What must hold for it, a sentence each.
    nodes, graph
        Calls captured, and the text of the graph that runs: what the passes left of them.
    ends
        How it ends: ``"returns"``, or the break's code, title, line and context.
    effects
        What it changes that others see.
    loops
        What became of the loops it came to: captured whole, unrolled or left in Python, and why.
    hits, bailouts
        How often it was reused (the call it was captured in does not count), and how often its graph failed and
        plain code ran instead.
    """

    where: str
    function: str
    guards: tuple[str, ...]
    nodes: int
    graph: str
    ends: str
    effects: tuple[str, ...]
    loops: tuple[LoopReport, ...]
    hits: int
    bailouts: int

    def as_dict(self) -> dict[str, object]:
        """Return the fields as plain data."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "loops": [loop.as_dict() for loop in self.loops]}


def _part_report(entry: CacheEntry) -> PartReport:
    return PartReport(
        where=entry.line.text(),
        function=entry.line.function,
        guards=tuple(dict.fromkeys(describe(guard) for guard in entry.guards)),
        nodes=entry.captured,
        graph=entry.graph.text(),
        ends=_ending(entry),
        effects=entry.effects,
        loops=entry.loops,
        hits=entry.hits,
        bailouts=entry.bailouts,
    )


def _ending(entry: CacheEntry) -> str:
    cause = entry.cause
    if cause is None:
        return "runs as plain Python: nothing to capture" if entry.plain else "returns"
    where = f" at {cause.line.text()}" if cause.line is not None else ""
    context = f": {cause.context}" if cause.context else ""
    return f"{cause.reason.code} {cause.reason.title}{where}{context}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """What one call of a function captured: see `PartReport` for the parts.

    Attributes
    ----------
    function
        Its qualified name.
    parts
        The parts the call went through, in the order of capture.
    problems
        What runs plain, and why.
    graphs
        The captured graphs.
    result
        What the call returned.
    """

    function: str
    parts: tuple[PartReport, ...]
    problems: tuple[Problem, ...]
    graphs: tuple[Graph, ...]
    result: object

    @property
    def breaks(self) -> tuple[str, ...]:
        """The breaks of the parts, in words."""
        return tuple(part.ends for part in self.parts if part.ends.startswith("BRK"))

    @property
    def loops(self) -> tuple[LoopReport, ...]:
        """What became of each loop: captured whole, unrolled or left in Python, and why."""
        return _loops(self.parts)

    def as_dict(self) -> dict[str, object]:
        """Return everything but the graphs and the result as plain data."""
        return {
            "function": self.function,
            "parts": [part.as_dict() for part in self.parts],
            "loops": [loop.as_dict() for loop in self.loops],
            "problems": [_problem_dict(problem) for problem in self.problems],
        }

    def __str__(self) -> str:
        nodes = sum(part.nodes for part in self.parts)
        lines = [
            f"{self.function}: {_count(len(self.graphs), 'graph')}, {_count(nodes, 'node')},"
            f" {_count(len(self.breaks), 'break')}"
        ]
        for number, part in enumerate(self.parts):
            lines.append(f"part {number} from {part.where} ({part.function})")
            lines += [f"  guard: {guard}" for guard in part.guards]
            if part.nodes:
                lines += [f"  {row}" for row in part.graph.splitlines()]
            else:
                lines.append("  no array work")
            lines += [f"  effect: {effect}" for effect in part.effects]
            lines.append(f"  ends: {part.ends}")
        lines += [loop.text() for loop in self.loops]
        lines += [f"plain: {_problem_text(problem)}" for problem in self.problems]
        return "\n".join(lines)


def _problem_text(problem: Problem) -> str:
    context = f": {problem.context}" if problem.context else ""
    return f"{problem.line} {problem.code} {problem.title}{context}"


def _problem_dict(problem: Problem) -> dict[str, object]:
    return {
        "where": problem.line.text(),
        "code": problem.code,
        "title": problem.title,
        "context": problem.context,
    }


@dataclass(frozen=True, slots=True)
class RecompileReport:
    """What a function's calls have led to so far.

    Attributes
    ----------
    function
        Its qualified name.
    parts
        Every compiled variant, with its hits.
    recompilations
        For every time that a new variant was compiled because none fitted: where, and the guard that failed in words
        with both values (of the variant that came nearest).
    plain_calls
        How many calls ran plain because there are as many variants as ``bcjit.config.cache_limit`` allows.
    problems
        What runs plain, and why.
    """

    function: str
    parts: tuple[PartReport, ...]
    recompilations: tuple[Miss, ...]
    plain_calls: int
    problems: tuple[Problem, ...]

    @property
    def loops(self) -> tuple[LoopReport, ...]:
        """What became of each loop: captured whole, unrolled or left in Python, and why."""
        return _loops(self.parts)

    def as_dict(self) -> dict[str, object]:
        """Return the report as plain data."""
        return {
            "function": self.function,
            "parts": [part.as_dict() for part in self.parts],
            "loops": [loop.as_dict() for loop in self.loops],
            "recompilations": [
                {"where": m.line.text(), "why": m.sentence} for m in self.recompilations
            ],
            "plain_calls": self.plain_calls,
            "problems": [_problem_dict(problem) for problem in self.problems],
        }

    def __str__(self) -> str:
        lines = [
            f"{self.function}: {_count(len(self.parts), 'compiled variant')},"
            f" {_count(len(self.recompilations), 'recompilation')}"
        ]
        lines += [
            f"  {part.where}: {_count(part.nodes, 'node')}, reused {_count(part.hits, 'time')}"
            + (f", {_count(part.bailouts, 'bail-out')}" if part.bailouts else "")
            + f", {part.ends}"
            for part in self.parts
        ]
        lines += [f"  {loop.text()}" for loop in self.loops]
        lines += [f"  {m.line} compiled again: {m.sentence}" for m in self.recompilations]
        if self.plain_calls:
            lines.append(
                f"  {_count(self.plain_calls, 'call')} ran plain: bcjit.config.cache_limit allows"
                f" {_count(config.cache_limit, 'variant')} of a part"
            )
        lines += [f"  plain: {_problem_text(problem)}" for problem in self.problems]
        return "\n".join(lines)


def _loops(parts: tuple[PartReport, ...]) -> tuple[LoopReport, ...]:
    """Return what became of the loops, each thing once, in the order of the source."""
    found = dict.fromkeys(loop for part in parts for loop in part.loops)
    return tuple(sorted(found, key=lambda loop: (loop.line.filename, loop.line.lineno)))


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _entries(caches: list[CodeCache]) -> Iterator[CacheEntry]:
    for cache in caches:
        yield from tuple(cache.entries)  # another thread may be compiling


def graphs_of(caches: list[CodeCache]) -> tuple[Graph, ...]:
    """Return the captured graphs that hold at least one call, in order of capture for each function."""
    return tuple(entry.graph for entry in _entries(caches) if entry.graph.calls)


def explanation_of(function: str, caches: list[CodeCache], result: object) -> Explanation:
    """Return the explanation of the one call that filled these caches."""
    return Explanation(
        function=function,
        parts=tuple(map(_part_report, _entries(caches))),
        problems=tuple(p for cache in caches for p in tuple(cache.problems.values())),
        graphs=graphs_of(caches),
        result=result,
    )


def report_of(function: str, caches: list[CodeCache]) -> RecompileReport:
    """Return the report on everything these caches have seen."""
    return RecompileReport(
        function=function,
        parts=tuple(map(_part_report, _entries(caches))),
        recompilations=tuple(m for cache in caches for m in tuple(cache.misses) if m.compiled),
        plain_calls=sum(cache.plain_calls() for cache in caches),
        problems=tuple(p for cache in caches for p in tuple(cache.problems.values())),
    )
