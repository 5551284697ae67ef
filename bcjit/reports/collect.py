"""From code caches to the records of ``data``: reads entries, misses and problems; changes nothing and runs nothing of the program."""

from __future__ import annotations

import functools
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from types import CodeType
from typing import Final, TypeAlias

from bcjit.code_cache import CacheEntry, CodeCache, LimitNote, Miss, Problem, Verdict
from bcjit.errors import GraphBreak, SourceLine
from bcjit.fx_graph import Graph, item_of
from bcjit.guards import Guard, GuardKind, SourceKind, describe, named
from bcjit.records import dataclass
from bcjit.reports.data import Explanation, FunctionReport, ProgramReport, Report
from bcjit.reports.parts import (
    BreakReport,
    GuardReport,
    LimitReport,
    PartReport,
    Recompilation,
    Seconds,
    VerdictReport,
)
from bcjit.reports.picture import picture_of
from bcjit.symbolic_vm import REASONS

__all__ = ["Compiled", "explanation_of", "package_of", "program_report_of", "report_of"]


@dataclass(slots=True, frozen=True, eq=False)
class Compiled:
    """A compiled function to report on: its name, and its cache in front of those of the functions that it calls."""

    name: str
    caches: list[CodeCache]


def report_of(function: str, caches: list[CodeCache]) -> Report:
    """Return the report on everything these caches have seen."""
    return Report(function, _functions(function, caches))


def explanation_of(
    function: str, caches: list[CodeCache], graphs: tuple[Graph, ...], result: object
) -> Explanation:
    """Return the explanation of the one call that filled these caches."""
    return Explanation(function, _functions(function, caches), graphs, result)


def program_report_of(compiled: Iterable[Compiled]) -> ProgramReport:
    """Return the report on several compiled functions; those made of one definition are put together."""
    grouped: dict[tuple[str, _Definition | None], list[list[CodeCache]]] = {}
    for one in compiled:
        code = _code_of(one.caches[0])
        definition = None if code is None else (_line_of(code), code)
        grouped.setdefault((one.name, definition), []).append(one.caches)
    return ProgramReport(
        tuple(
            Report(name, _functions(name, [c for caches in copies for c in caches]), len(copies))
            for (name, _), copies in grouped.items()
        )
    )


# ---------------------------------------------------------------------- functions


# Code that is made anew of one definition is equal, but equal code may be of two files.
_Definition: TypeAlias = tuple[SourceLine, CodeType]


def _code_of(cache: CodeCache) -> CodeType | None:
    """Return the code that a cache is of: its first part is made with it; None once the function is gone."""
    spec = next(iter(tuple(cache.parts)), None)
    return None if spec is None else spec.code


def _line_of(code: CodeType) -> SourceLine:
    return SourceLine(code.co_filename, code.co_firstlineno, code.co_qualname)


def _functions(name: str, caches: list[CodeCache]) -> tuple[FunctionReport, ...]:
    """Return what is known of each function: the one asked about, the program's, those of other packages."""
    together: dict[_Definition, list[CodeCache]] = {}
    for cache in caches:
        code = _code_of(cache)
        if code is not None:
            together.setdefault((_line_of(code), code), []).append(cache)
    if not together:
        return ()
    own = package_of(next(iter(together))[0].filename)
    found = [_function(line.function, code, same, own) for (line, code), same in together.items()]
    first, *others = found
    first = _named(first, name)
    callees = [function for function in others if not function.is_empty]
    return (first, *sorted(callees, key=lambda function: bool(function.package)))


def _named(function: FunctionReport, name: str) -> FunctionReport:
    return FunctionReport(
        name, function.line, function.last, function.package, function.parts,
        function.recompilations, function.limits, function.problems,
    )  # fmt: skip


def _function(name: str, code: CodeType, caches: Sequence[CodeCache], own: str) -> FunctionReport:
    entries = [entry for cache in caches for entry in tuple(cache.entries)]
    misses = [miss for cache in caches for miss in tuple(cache.misses)]
    numbers: dict[tuple[object, ...], int] = {}
    for entry in entries:
        numbers.setdefault(_place(entry), len(numbers))
    return FunctionReport(
        name=name,
        line=_line_of(code),
        last=_last_line(code),
        package=_foreign(code.co_filename, own),
        parts=tuple(_part(entry, numbers[_place(entry)], own) for entry in entries),
        recompilations=tuple(_recompilation(miss) for miss in misses if miss.compiled),
        limits=tuple(limit for cache in caches for limit in map(_limit, cache.limit_notes())),
        problems=(
            *(_problem(p) for cache in caches for p in tuple(cache.problems.values())),
            *dict.fromkeys(_backend_problem(entry) for entry in entries if entry.failure),
        ),
    )


def _place(entry: CacheEntry) -> tuple[object, ...]:
    """Return what makes entries variants of one part; codes of one definition, each made anew, are one."""
    spec = entry.spec
    return entry.line, spec.offset, spec.stack, spec.bound


def _last_line(code: CodeType) -> int:
    """Return the last line of the source that the code, or code nested in it, is from."""
    ends = [end for _, end, _, _ in code.co_positions() if end is not None]
    nested = [_last_line(const) for const in code.co_consts if isinstance(const, CodeType)]
    return max([code.co_firstlineno, *ends, *nested])


# ---------------------------------------------------------------------- variants


def _part(entry: CacheEntry, number: int, own: str) -> PartReport:
    guards: dict[str, GuardReport] = {}
    for guard in entry.guards:
        what, package = describe(guard), _foreign(guard.why.filename, own)
        if what not in guards:
            guards[what] = GuardReport(what, guard.why, package, _name_in(guard))
    lines: Counter[SourceLine] = Counter()
    elsewhere: Counter[str] = Counter()
    for graph in entry.graph.nested():
        for node in graph.calls:
            if node.line is None or item_of(node) is not None:
                continue
            package = _foreign(node.line.filename, own)
            if package:
                elsewhere[package] += 1
            else:
                lines[node.line] += 1
    return PartReport(
        function=entry.line.function,
        line=entry.line,
        part=number,
        guards=tuple(guards.values()),
        nodes=entry.captured,
        graph=entry.graph.text(),
        picture=picture_of(entry.graph),
        lines=tuple(lines.items()),
        elsewhere=tuple(elsewhere.items()),
        cut=None if entry.cause is None else _cut(entry.cause),
        effects=_effects(entry),
        loops=entry.loops,
        hits=entry.hits,
        bailouts=entry.bailouts,
        seconds=Seconds(entry.times.capture, entry.times.backend, entry.times.assembly),
        plain=entry.plain,
        verdicts=tuple(map(_verdict, entry.verdicts)),
        options=entry.options,
    )


def _effects(entry: CacheEntry) -> tuple[str, ...]:
    """Return what others see of a variant; where a node of the graph does it, with its line."""
    lines = {node.name: node.line for node in entry.graph.nodes if node.has_effect}
    found = []
    for effect in entry.effects:
        line = lines.get(effect.partition(" ")[2])
        found.append(effect if line is None else f"{effect} at {line.text()}")
    return tuple(found)


# Where names are looked up, and what a function is made of.
_LOOKUPS: Final = (SourceKind.GLOBAL, SourceKind.BUILTIN, SourceKind.MODULE_ATTR, SourceKind.MRO)
_SPACES: Final = (SourceKind.GLOBALS, SourceKind.BUILTINS)
_OF_FUNCTIONS: Final = ("code", "globals", "defaults", "kwdefaults")


def _name_in(guard: Guard) -> str:
    """Return the name of which a guard only says that it means what it did; empty where it says more."""
    source = guard.source
    if guard.kind is GuardKind.ABSENT and source.kind in _SPACES:
        return str(guard.expected)
    if guard.kind is GuardKind.ABSENT and source.kind is SourceKind.TYPE:
        return f"{named(source)}.{guard.expected}"
    if guard.kind is GuardKind.NO_INSTANCE_ATTR:
        return f"{named(source)}.{guard.expected}"
    if source.kind is SourceKind.MEMBER and source.key in _OF_FUNCTIONS and source.base is not None:
        return named(source.base)
    same = guard.kind in (GuardKind.IDENTITY, GuardKind.PRESENT)
    function = guard.kind is GuardKind.TYPE and describe(guard).endswith(" function")
    if (same or function) and source.kind in _LOOKUPS:
        return named(source)
    return ""


def _verdict(verdict: Verdict) -> VerdictReport:
    times = verdict.plain_time, verdict.compiled_time
    return VerdictReport(verdict.plain, *times, verdict.text())


def _cut(cause: GraphBreak) -> BreakReport:
    reason = cause.reason
    return BreakReport(
        reason.code, reason.title, cause.context, cause.line, reason.explanation, reason.hint
    )


_BUG: Final = (
    "Something went wrong while this was compiled. It runs as plain Python, with the right result.",
    "Please report it, with the message above.",
)


def _problem(problem: Problem) -> BreakReport:
    row = REASONS.get(problem.code)
    explanation, hint = _BUG if row is None else (row.explanation, row.hint)
    return BreakReport(
        problem.code, problem.title, problem.context, problem.line, explanation, hint
    )


def _backend_problem(entry: CacheEntry) -> BreakReport:
    return BreakReport(
        "BACKEND",
        f"what backend {entry.backend!r} made raises",
        entry.failure,
        entry.line,
        "What the backend returned for the graph of this part raised when it was run; plain Python did the work of that call.",
        "It is the backend that must be put right, or another one given: bcjit.compile(fn, backend=...).",
    )


# ---------------------------------------------------------------------- misses


def _recompilation(miss: Miss) -> Recompilation:
    failure = miss.failure
    if failure is None:
        return Recompilation(miss.line, "", "", "", None, "", miss.compiled)
    return Recompilation(
        miss.line, failure.guard, failure.expected, failure.seen, failure.relied, failure.sentence, miss.compiled,
    )  # fmt: skip


def _limit(note: LimitNote) -> LimitReport:
    return LimitReport(
        note.limit, note.allowed, note.line, note.plain_calls, note.guard, note.relied, note.seen, note.hint,
        note.times,
    )  # fmt: skip


# ---------------------------------------------------------------------- whose code it is


# Not of sysconfig, which a signal handler must not come back to while it sets itself up.
_STDLIB: Final = os.path.join(os.path.dirname(os.__file__), "")  # noqa: PTH118, PTH120 - compared with the names of files as code objects have them
_OWN: Final = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - as above
_INSTALLED: Final = ("site-packages", "dist-packages")


def _foreign(filename: str, own: str) -> str:
    """Return the package that a file is of, empty for the program's own and for the package that is asked about."""
    package = package_of(filename)
    return "" if package == own else package


@functools.lru_cache(maxsize=1024)
def package_of(filename: str) -> str:
    """Return the installed package that a file is of, empty for the program's own: ``numpy``, ``the standard library``."""
    parts = filename.replace("\\", "/").split("/")
    for index, part in enumerate(parts[:-1]):
        if part in _INSTALLED:
            return parts[index + 1].removesuffix(".py")
    if filename.startswith((_OWN + os.sep, "<bcjit")):
        return "bcjit"
    if filename.startswith((_STDLIB, "<frozen ")):
        return "the standard library"
    return ""
