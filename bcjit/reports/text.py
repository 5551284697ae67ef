"""Reports as rows of words: plain, or with styles where ``rich`` shows them; it decides what to fold and where to stop."""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Final, TypeAlias, TypeVar

from bcjit.reports.data import Explanation, FunctionReport, Lists, ProgramReport, Report
from bcjit.reports.parts import (
    BreakReport,
    GuardReport,
    PartReport,
    Seconds,
)
from bcjit.reports.words import (
    Variants,
    bounded,
    count,
    counted_breaks,
    duration,
    ending,
    facts,
    folded,
    headline,
    limit_cause,
    limit_head,
    listed,
    names_in,
    needs,
    recompiled,
    variants_of,
)

__all__ = ["for_rich", "plain", "show"]

Piece: TypeAlias = tuple[str, str]  # text, and the style it has in a terminal
Row: TypeAlias = tuple[Piece, ...]
T = TypeVar("T")

# How much is shown of lists that a program can make long.
_FUNCTIONS: Final = 40
_PARTS: Final = 40
_VARIANTS: Final = 10
_LINES: Final = 12  # of guards
_NAMES: Final = 40
_REASONS: Final = 20
_GRAPH_ROWS: Final = 200
_WIDTH: Final = 110


def plain(report: Lists, *, guards: bool = False) -> str:
    """Return a report as text without styles."""
    return "\n".join("".join(text for text, _ in row) for row in _asked(report, guards=guards))


def _asked(report: Lists, *, guards: bool) -> Iterator[Row]:
    """Yield the rows; those of guards, which are most of them, only where they are asked for."""
    return (row for row in _rows(report) if guards or row[-1][1] != _GUARD)


def show(report: Lists, file: IO[str], *, guards: bool = False) -> None:
    """Print a report: through ``rich`` where it is installed and the output is a terminal."""
    if file.isatty():
        try:
            console = importlib.import_module("rich.console")
        except ImportError:
            pass
        else:
            terminal = console.Console(file=file)
            for row in for_rich(report, guards=guards):
                terminal.print(row)
            return
    file.write(f"{plain(report, guards=guards)}\n")


def for_rich(report: Lists, *, guards: bool = False) -> list[Any]:
    """Return the rows as texts of ``rich``; long ones go on below their own beginning."""
    text = importlib.import_module("rich.text")
    padding = importlib.import_module("rich.padding")
    made = []
    for row in _asked(report, guards=guards):
        words = text.Text.assemble(*row)
        depth = len(words.plain) - len(words.plain.lstrip())
        made.append(padding.Padding(words[depth:], (0, 0, 0, depth)))
    return made


_TITLE: Final = "bold"
_PLACE: Final = "cyan"
_DIM: Final = "dim"
_GUARD: Final = (
    "dim not bold"  # of rows that say what must hold; looks like the others that are dim
)
_CUT: Final = "yellow"
_HINT: Final = "green"
_BAD: Final = "red"
_NORMAL: Final = ""


def _row(depth: int, *pieces: Piece) -> Row:
    return ((" " * depth, _NORMAL), *pieces)


def _rows(report: Lists) -> Iterator[Row]:
    if isinstance(report, Explanation):
        yield from _explanation(report)
    elif isinstance(report, ProgramReport):
        yield from _program(report)
    else:
        assert isinstance(report, Report)
        yield from _report(report)


def _some(
    items: Sequence[T], most: int, depth: int, what: str, rows: Callable[[T], Iterable[Row]]
) -> Iterator[Row]:
    """Yield the rows of the first items, and how many more there are."""
    shown, more = bounded(items, most)
    for item in shown:
        yield from rows(item)
    if more:
        yield _row(depth, (f"and {count(more, f'more {what}')}", _DIM))


def _timed(seconds: Seconds) -> str:
    if not seconds.total:
        return ""
    return (
        f", compiled in {duration(seconds.total)} (capture {duration(seconds.capture)},"
        f" backend {duration(seconds.backend)}, assembly {duration(seconds.assembly)})"
    )


# ---------------------------------------------------------------------- reports


def _report(report: Report, depth: int = 0) -> Iterator[Row]:
    first, *others = report.functions or (None,)
    copies = f" ({report.copies} compiled functions)" if report.copies > 1 else ""
    tally = (
        f": {count(len(report.parts), 'compiled variant')},"
        f" {count(len(report.recompilations), 'recompilation')}{_timed(report.seconds)}"
    )
    yield _row(depth, (report.function, _TITLE), (copies + tally, _NORMAL))
    if first is None:
        return
    words = headline(report)
    if words:
        yield _row(depth + 2, (words, _TITLE))
    yield from _function(first, depth + 2)
    own = [function for function in others if not function.package]
    yield from _some(own, _FUNCTIONS, depth + 2, "function", lambda f: _callee(f, depth + 2))
    for sentence in folded(others):
        yield _row(depth + 2, (sentence, _DIM))


def _callee(function: FunctionReport, depth: int) -> Iterator[Row]:
    tally = f", called from it: {count(len(function.parts), 'compiled variant')}, {duration(function.seconds.total)}"
    yield _row(
        depth, (f"{function.line.text()}: ", _PLACE), (function.name, _TITLE), (tally, _NORMAL)
    )
    yield from _function(function, depth + 2)


def _function(function: FunctionReport, depth: int) -> Iterator[Row]:
    groups = variants_of(function)
    yield from _some(groups, _PARTS, depth, "part", lambda group: _variants(group, depth))
    told: set[str] = set()  # a hint is given once for breaks of one kind
    for cut, times in counted_breaks(function.parts):
        many = f" ({times} variants)" if times > 1 else ""
        yield from _cut("", cut, depth, many, hinted=cut.code not in told)
        told.add(cut.code)
    for loop in function.loops:
        yield _row(depth, (loop.text(), _NORMAL))
    yield from _some(recompiled(function.recompilations), _REASONS, depth, "reason", lambda again: [_row(
        depth,
        (f"{again.first.line} ", _PLACE),
        (f"compiled again{f' {again.times} times' if again.times > 1 else ''}: {again.sentence()}", _NORMAL),
    )])  # fmt: skip
    for limit in function.limits:
        yield _row(depth, (limit_head(limit), _CUT))
        yield _row(depth + 2, (limit_cause(limit), _NORMAL))
        yield _row(depth + 2, (f"hint: {limit.hint}", _HINT))
    yield from _some(
        function.problems, _REASONS, depth, "problem", lambda p: _cut("plain: ", p, depth, "")
    )


def _variants(group: Variants, depth: int) -> Iterator[Row]:
    place = (f"{group.line.text()}: ", _PLACE)
    if len(group.parts) == 1:
        (part,) = group.parts
        yield _row(depth, place, *_facts(part))
        yield from _needs(part.guards, group.line.filename, depth + 2)
        return
    yield _row(depth, place, (count(len(group.parts), "variant"), _NORMAL))
    yield from _needs(group.common, group.line.filename, depth + 2, "all need")

    def rows(part: PartReport) -> Iterator[Row]:
        yield _row(depth + 2, *_facts(part))
        yield from _needs(group.own(part), group.line.filename, depth + 4)

    yield from _some(group.parts, _VARIANTS, depth + 2, "variant", rows)


def _facts(part: PartReport) -> Iterator[Piece]:
    yield f"{facts(part)}, ", _NORMAL
    yield ending(part), _CUT if part.cut is not None else _NORMAL
    for verdict in part.verdicts:
        yield f"; {verdict.text}", _BAD if verdict.plain else _DIM


def _needs(
    guards: Sequence[GuardReport], filename: str, depth: int, verb: str = "needs"
) -> Iterator[Row]:
    """Yield what must hold, a row for each line that relies on it; names that must mean what they did are one row."""
    rows, more = bounded(needs(guards), _LINES)
    for row in rows:
        if row.line is None:
            words = f"{verb} {count(len(row.guards), 'guard')} for code of {row.package}"
        else:
            here = row.line.filename == filename
            where = f"line {row.line.lineno}" if here else row.line.text()
            words = f"{verb} for {where}: {'; '.join(guard.what for guard in row.guards)}"
        yield from _wrapped(words, depth, _GUARD)
    if more:
        left = sum(len(row.guards) for row in needs(guards)[_LINES:])
        yield _row(depth, (f"and {count(left, 'more guard')}", _GUARD))
    names = names_in(guards)
    if names:
        yield from _wrapped(f"{verb} unchanged: {listed(names, _NAMES)}", depth, _GUARD)


def _wrapped(words: str, depth: int, style: str = _DIM) -> Iterator[Row]:
    for text in textwrap.wrap(
        words, _WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    ):
        yield _row(depth, (text, style))


def _cut(
    word: str, cut: BreakReport, depth: int, times: str, *, hinted: bool = True
) -> Iterator[Row]:
    yield _row(depth, (f"{word}{cut.text()}{times}", _BAD if word else _CUT))
    if cut.hint and hinted:
        yield _row(depth + 2, (f"hint: {cut.hint}", _HINT))


def _program(report: ProgramReport) -> Iterator[Row]:
    called = [one for one in report.reports if not all(map(_is_idle, one.functions))]
    idle = [one for one in report.reports if all(map(_is_idle, one.functions))]
    yield _row(
        0,
        (f"{count(len(report.reports), 'compiled function')}", _TITLE),
        (
            f": {count(len(report.parts), 'compiled variant')},"
            f" {count(len(report.recompilations), 'recompilation')}{_timed(report.seconds)}",
            _NORMAL,
        ),
    )
    yield from _some(called, _FUNCTIONS, 0, "function", _report)
    if idle:
        names, more = bounded([one.function for one in idle], _FUNCTIONS)
        words = f"not called yet: {', '.join(names)}" + (f" and {more} more" if more else "")
        yield _row(0, (words, _DIM))


def _is_idle(function: FunctionReport) -> bool:
    return function.is_empty


# ---------------------------------------------------------------------- explanations


def _explanation(found: Explanation) -> Iterator[Row]:
    nodes = sum(part.nodes for part in found.parts)
    tally = (
        f": {count(len(found.graphs), 'graph')}, {count(nodes, 'node')}, {count(len(found.breaks), 'break')}"
        f"{_timed(found.seconds)}"
    )
    yield _row(0, (found.function, _TITLE), (tally, _NORMAL))
    own = [function for function in found.functions if not function.package]
    parts = [part for function in own for part in function.parts]
    numbered = tuple(enumerate(parts))
    yield from _some(numbered, _PARTS, 0, "part", lambda item: _explained(*item))
    for loop in found.loops:
        yield _row(0, (loop.text(), _NORMAL))
    for sentence in folded(found.functions):
        yield _row(0, (sentence, _DIM))
    for function in own:
        for problem in function.problems:
            yield from _cut("plain: ", problem, 0, "")


def _explained(number: int, part: PartReport) -> Iterator[Row]:
    yield _row(
        0,
        (f"part {number} from ", _TITLE),
        (part.where, _PLACE),
        (f" ({part.function}), {duration(part.seconds.total)}", _NORMAL),
    )
    own = [guard for guard in part.guards if not guard.package and not guard.name]
    width = min(60, max((len(guard.what) for guard in own), default=0))
    for guard in own:
        yield _row(2, (f"guard: {guard.what:{width}}", _NORMAL), (f"  # {guard.line.text()}", _DIM))
    for row in needs(guard for guard in part.guards if guard.package):
        yield _row(2, (f"guard: {len(row.guards):,} more for code of {row.package}", _DIM))
    names = names_in(part.guards)
    if names:
        yield from _wrapped(f"guard: unchanged: {listed(names, _NAMES)}", 2)
    if part.nodes:
        lines, more = bounded(part.graph.splitlines(), _GRAPH_ROWS)
        for line in lines:
            yield _row(2, (line, _NORMAL))
        if more:
            yield _row(2, (f"and {count(more, 'more line')}", _DIM))
    else:
        yield _row(2, ("no array work", _DIM))
    for effect in part.effects:
        yield _row(2, (f"effect: {effect}", _NORMAL))
    if part.cut is None:
        yield _row(2, (f"ends: {part.ends}", _NORMAL))
    else:
        yield from _cut("ends: ", part.cut, 2, "")
