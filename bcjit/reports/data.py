"""The records that reports are made of: plain, frozen data that holds nothing of the program; it reads no cache.

::

    ProgramReport       all compiled functions
      Report            one compiled function, and the functions it calls (`Explanation`: of one call)
        FunctionReport  one function of the program or of a package
          PartReport    one compiled variant of one part: GuardReport, LoopReport, BreakReport, Seconds, Picture
          Recompilation, LimitReport, BreakReport (what runs plain)

How they are shown is decided in ``text`` and ``html``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from bcjit.errors import SourceLine
from bcjit.records import dataclass
from bcjit.reports.picture import Picture
from bcjit.reports.shown import Shown
from bcjit.symbolic_vm import LoopReport

if TYPE_CHECKING:
    from bcjit.fx_graph import Graph

__all__ = [
    "BreakReport", "Explanation", "FunctionReport", "GuardReport", "LimitReport", "PartReport", "ProgramReport",
    "Recompilation", "Report", "Seconds", "VerdictReport",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Seconds:
    """Where the time of a compilation went, in seconds."""

    capture: float = 0.0
    backend: float = 0.0
    assembly: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.capture + self.backend + self.assembly

    def __add__(self, other: Seconds) -> Seconds:
        return Seconds(
            self.capture + other.capture,
            self.backend + other.backend,
            self.assembly + other.assembly,
        )

    def as_dict(self) -> dict[str, float]:
        """Return the seconds as plain data."""
        return {"capture": self.capture, "backend": self.backend, "assembly": self.assembly}


@dataclass(frozen=True, slots=True)
class GuardReport:
    """Something that must hold for a variant to be used, and the user's line that relied on it."""

    what: str  # a sentence
    line: SourceLine
    package: str = ""  # the installed package that the line is in; empty for the program's own
    name: str = ""  # where it only says that a name means what it did (``np.pad``): that name

    def __str__(self) -> str:
        return self.what

    def as_dict(self) -> dict[str, str]:
        """Return the guard as plain data."""
        return {"what": self.what, "relied": self.line.text()}


@dataclass(frozen=True, slots=True)
class BreakReport:
    """A place where a graph was cut, or what runs plain, and why; the words are those of the table of reasons."""

    code: str
    title: str
    context: str  # what it was about
    line: SourceLine | None
    explanation: str
    hint: str  # what to do, empty where there is nothing to do

    def text(self) -> str:
        """Return it in a sentence: ``BRK001 data-dependent branch at model.py:7: scalar bool``."""
        where = f" at {self.line.text()}" if self.line is not None else ""
        context = f": {self.context}" if self.context else ""
        return f"{self.code} {self.title}{where}{context}"

    def as_dict(self) -> dict[str, str | None]:
        """Return the reason as plain data."""
        return {
            "where": None if self.line is None else self.line.text(),
            "code": self.code,
            "title": self.title,
            "context": self.context,
            "explanation": self.explanation,
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True)
class VerdictReport:
    """What the cost model measured of a variant for arguments of some sizes, and what runs since."""

    plain: bool  # the plain function runs
    plain_seconds: float  # of a call
    compiled_seconds: float
    text: str

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "plain": self.plain,
            "plain_seconds": self.plain_seconds,
            "compiled_seconds": self.compiled_seconds,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class PartReport:
    """One compiled variant of one part of a function.

    Attributes
    ----------
    function
        Qualified name of the function.
    line
        Where the part begins; `where` has it as text.
    part
        The number of the part in its function; variants of one part have the same.
    guards
        What must hold for it, each thing once, in the order in which it is checked.
    nodes, graph, picture
        Calls captured; the text of the graph that runs (what the passes left of them); what a drawing of it needs.
    lines
        The program's lines that the nodes of the graph come from, with how many come from each.
    elsewhere
        How many nodes come from code of which installed package.
    cut
        The break that ends it, None where it returns. `ends` has it in words.
    effects
        What it changes that others see.
    loops
        What became of the loops it came to: captured whole, unrolled or left in Python, and why.
    hits, bailouts
        How often it was reused (the call it was captured in does not count), and how often its graph failed and
        plain code ran instead.
    seconds
        The time it took to capture and compile.
    plain
        Whether there was nothing to run, so that the plain code serves.
    verdicts
        What the cost model measured, for each range of sizes, and whether it was switched back to plain Python for them.
    """

    function: str
    line: SourceLine
    part: int
    guards: tuple[GuardReport, ...]
    nodes: int
    graph: str
    picture: Picture
    lines: tuple[tuple[SourceLine, int], ...]
    elsewhere: tuple[tuple[str, int], ...]
    cut: BreakReport | None
    effects: tuple[str, ...]
    loops: tuple[LoopReport, ...]
    hits: int
    bailouts: int
    seconds: Seconds
    plain: bool = False
    verdicts: tuple[VerdictReport, ...] = ()

    @property
    def where(self) -> str:
        """``file:line`` where the part begins."""
        return self.line.text()

    @property
    def ends(self) -> str:
        """How it ends: ``"returns"``, or the break's code, title, line and context."""
        if self.cut is not None:
            return self.cut.text()
        return "runs as plain Python: nothing to capture" if self.plain else "returns"

    def as_dict(self) -> dict[str, object]:
        """Return everything but the drawing as plain data."""
        return {
            "function": self.function,
            "where": self.where,
            "part": self.part,
            "guards": [guard.as_dict() for guard in self.guards],
            "nodes": self.nodes,
            "graph": self.graph,
            "lines": {line.text(): nodes for line, nodes in self.lines},
            "elsewhere": dict(self.elsewhere),
            "ends": self.ends,
            "break": None if self.cut is None else self.cut.as_dict(),
            "effects": list(self.effects),
            "loops": [loop.as_dict() for loop in self.loops],
            "hits": self.hits,
            "bailouts": self.bailouts,
            "seconds": self.seconds.as_dict(),
            "plain": self.plain,
            "verdicts": [verdict.as_dict() for verdict in self.verdicts],
        }


@dataclass(frozen=True, slots=True)
class Recompilation:
    """A call that no variant fitted although there were some: the guard that failed of the variant that came nearest."""

    line: SourceLine  # where the part begins
    guard: str  # what had to hold, in words; empty where all would hold by now
    expected: str
    seen: str
    relied: SourceLine | None  # the user's line that relied on it
    sentence: str
    compiled: bool  # False: there were as many variants as there may be, it ran plain

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "where": self.line.text(),
            "guard": self.guard,
            "expected": self.expected,
            "seen": self.seen,
            "relied": None if self.relied is None else self.relied.text(),
            "why": self.sentence,
        }


@dataclass(frozen=True, slots=True)
class LimitReport:
    """A limit of `bcjit.config` that was reached: what needs more runs plain.

    Attributes
    ----------
    limit, allowed
        The field of ``bcjit.config`` and its value: ``cache_limit``, variants of a part, or ``part_limit``, parts of a code object.
    line
        Where the part begins; the first of the parts that run plain.
    calls
        How many calls ran plain for want of a variant.
    guard, relied
        The guard that failed most often and the user's line that relied on it; of parts the guard is empty.
    seen
        The last different values found instead; of parts the lines where they begin.
    hint
        What to do.
    text
        All of it in words.
    """

    limit: str
    allowed: int
    line: SourceLine
    calls: int
    guard: str
    relied: SourceLine
    seen: tuple[str, ...]
    hint: str
    text: str

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            "limit": self.limit,
            "allowed": self.allowed,
            "where": self.line.text(),
            "calls": self.calls,
            "guard": self.guard,
            "relied": self.relied.text(),
            "seen": list(self.seen),
            "hint": self.hint,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """What is known of one function.

    Attributes
    ----------
    name
        Its qualified name.
    line, last
        Where its definition begins, and the last line that its code is from.
    package
        The installed package that it is of; empty for the program's own functions.
    parts
        Its compiled variants, in the order of capture.
    recompilations, limits, problems
        Why variants were compiled again, which parts have as many as they may have, what runs plain.
    """

    name: str
    line: SourceLine
    last: int
    package: str
    parts: tuple[PartReport, ...]
    recompilations: tuple[Recompilation, ...]
    limits: tuple[LimitReport, ...]
    problems: tuple[BreakReport, ...]

    @property
    def seconds(self) -> Seconds:
        """The time that its compilations took."""
        return sum((part.seconds for part in self.parts), Seconds())

    @property
    def loops(self) -> tuple[LoopReport, ...]:
        """What became of its loops, each thing once, in the order of the source."""
        return in_order(self.parts)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to say of it."""
        return not (self.parts or self.problems or self.limits)

    def as_dict(self) -> dict[str, object]:
        """Return what is known of the function as a whole as plain data."""
        return {
            "name": self.name,
            "filename": self.line.filename,
            "lineno": self.line.lineno,
            "package": self.package,
            "variants": len(self.parts),
            "recompilations": len(self.recompilations),
            "seconds": self.seconds.as_dict(),
        }


class Lists(Shown):
    """What reports of one and of several functions have in common: their lists, of all their functions."""

    __slots__ = ()

    def rows(self) -> Iterator[FunctionReport]:
        """Yield the functions it is about."""
        raise NotImplementedError

    @property
    def parts(self) -> tuple[PartReport, ...]:
        """Every compiled variant, in the order of capture for each function."""
        return tuple(part for function in self.rows() for part in function.parts)

    @property
    def recompilations(self) -> tuple[Recompilation, ...]:
        """Every time that a new variant was compiled because none fitted."""
        return tuple(again for function in self.rows() for again in function.recompilations)

    @property
    def limits(self) -> tuple[LimitReport, ...]:
        """The parts that have as many variants as they may have."""
        return tuple(limit for function in self.rows() for limit in function.limits)

    @property
    def plain_calls(self) -> int:
        """How many calls ran plain because there are as many variants as ``bcjit.config.cache_limit`` allows."""
        return sum(limit.calls for limit in self.limits)

    @property
    def problems(self) -> tuple[BreakReport, ...]:
        """What runs plain, and why."""
        return tuple(problem for function in self.rows() for problem in function.problems)

    @property
    def loops(self) -> tuple[LoopReport, ...]:
        """What became of each loop: captured whole, unrolled or left in Python, and why."""
        return in_order(self.parts)

    @property
    def breaks(self) -> tuple[str, ...]:
        """The breaks of the parts, in words."""
        return tuple(part.ends for part in self.parts if part.cut is not None)

    @property
    def seconds(self) -> Seconds:
        """The time that all compilations took."""
        return sum((part.seconds for part in self.parts), Seconds())

    def lists(self) -> dict[str, object]:
        """Return the lists as plain data."""
        return {
            "seconds": self.seconds.as_dict(),
            "functions": [function.as_dict() for function in self.rows()],
            "parts": [part.as_dict() for part in self.parts],
            "loops": [loop.as_dict() for loop in self.loops],
            "recompilations": [again.as_dict() for again in self.recompilations],
            "limits": [limit.as_dict() for limit in self.limits],
            "plain_calls": self.plain_calls,
            "problems": [problem.as_dict() for problem in self.problems],
        }


@dataclass(frozen=True, slots=True, repr=False)
class Report(Lists):
    """What a function's calls have led to so far.

    ``str()`` of it is for people, ``as_dict()`` for programs; ``print()`` shows it in colour on a terminal, ``save(path)`` writes a page for a browser, and
    notebooks show that page.

    Attributes
    ----------
    function
        Its qualified name.
    functions
        What is known of the function itself, and behind it of the functions that it calls.
    copies
        How many compiled functions of one definition it is about (`bcjit.report` puts those together).
    parts, recompilations, limits, problems, loops, breaks, seconds
        The lists of all these functions, and the time they took.
    """

    function: str
    functions: tuple[FunctionReport, ...]
    copies: int = 1

    def rows(self) -> Iterator[FunctionReport]:
        """Yield the functions it is about."""
        return iter(self.functions)

    def as_dict(self) -> dict[str, object]:
        """Return the report as plain data, which the ``json`` module can write."""
        return {"function": self.function, "copies": self.copies, **self.lists()}


@dataclass(frozen=True, slots=True, repr=False)
class Explanation(Lists):
    """What one call of a function captured; shown like a `Report`.

    Attributes
    ----------
    function
        Its qualified name.
    functions
        What is known of the function itself, and behind it of the functions that it calls.
    graphs
        The captured graphs.
    result
        What the call returned.
    parts, problems, loops, breaks, seconds
        The parts the call went through, in the order of capture for each function, and what else there is to say of them.
    """

    function: str
    functions: tuple[FunctionReport, ...]
    graphs: tuple[Graph, ...] = field(compare=False)
    result: object = field(compare=False)

    def rows(self) -> Iterator[FunctionReport]:
        """Yield the functions it is about."""
        return iter(self.functions)

    def as_dict(self) -> dict[str, object]:
        """Return everything but the graphs and the result as plain data, which the ``json`` module can write."""
        return {"function": self.function, **self.lists()}


@dataclass(frozen=True, slots=True, repr=False)
class ProgramReport(Lists):
    """What the calls of all compiled functions have led to so far; shown like a `Report`.

    Attributes
    ----------
    reports
        Of each definition that was compiled, in the order in which they were.
    parts, recompilations, limits, problems, loops, breaks, seconds
        The lists of all functions, and the time they took.
    """

    reports: tuple[Report, ...]

    def rows(self) -> Iterator[FunctionReport]:
        """Yield the functions it is about."""
        return (function for report in self.reports for function in report.functions)

    def as_dict(self) -> dict[str, object]:
        """Return the reports as plain data, which the ``json`` module can write."""
        return {
            "seconds": self.seconds.as_dict(),
            "reports": [report.as_dict() for report in self.reports],
        }


def in_order(parts: tuple[PartReport, ...]) -> tuple[LoopReport, ...]:
    """Return what became of the loops, each thing once, in the order of the source."""
    found = dict.fromkeys(loop for part in parts for loop in part.loops)
    return tuple(sorted(found, key=lambda loop: (loop.line.filename, loop.line.lineno)))
