"""The records of reports: of one function, of one compiled function with what it calls, of one call, of a whole program; they read no cache.

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
from bcjit.reports.parts import (
    BreakReport,
    LimitReport,
    PartReport,
    Recompilation,
    Seconds,
    in_order,
)
from bcjit.reports.shown import Shown
from bcjit.symbolic_vm import LoopReport

if TYPE_CHECKING:
    from bcjit.fx_graph import Graph

__all__ = ["Explanation", "FunctionReport", "Lists", "ProgramReport", "Report"]


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
