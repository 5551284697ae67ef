"""The records of what was compiled: variants with their guards and breaks, recompilations, limits; plain, frozen data that holds nothing of the program."""

from __future__ import annotations

from bcjit.errors import SourceLine
from bcjit.records import dataclass
from bcjit.reports.picture import Picture
from bcjit.symbolic_vm import LoopReport

__all__ = [
    "BreakReport", "GuardReport", "LimitReport", "PartReport", "Recompilation", "Seconds", "VerdictReport", "in_order",
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
    options
        Options of the backend it was compiled with, in words.
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
    options: str = ""

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
            "options": self.options,
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
        The values found instead in calls that ran plain, those that came most often first; of parts the lines where they begin.
    times
        How often each of those was found, of the calls that were looked at; of parts it is empty.
    hint
        What to do.
    """

    limit: str
    allowed: int
    line: SourceLine
    calls: int
    guard: str
    relied: SourceLine
    seen: tuple[str, ...]
    hint: str
    times: tuple[int, ...] = ()

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
            "times": list(self.times),
            "hint": self.hint,
        }


def in_order(parts: tuple[PartReport, ...]) -> tuple[LoopReport, ...]:
    """Return what became of the loops, each thing once, in the order of the source."""
    found = dict.fromkeys(loop for part in parts for loop in part.loops)
    return tuple(sorted(found, key=lambda loop: (loop.line.filename, loop.line.lineno)))
