"""Reports as pages: one file without scripts and without anything from elsewhere; all text of the program is escaped by ``markup``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bcjit.fx_graph import Graph
from bcjit.reports.annotated import annotated, chip, colour
from bcjit.reports.data import Explanation, FunctionReport, Lists, ProgramReport, Report
from bcjit.reports.markup import Markup, join, tag
from bcjit.reports.parts import (
    BreakReport,
    GuardReport,
    PartReport,
    Seconds,
)
from bcjit.reports.picture import picture_of
from bcjit.reports.style import PAGE, STYLE
from bcjit.reports.svg import drawing
from bcjit.reports.words import (
    Again,
    Variants,
    bounded,
    count,
    duration,
    ending,
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

__all__ = ["fragment", "graph_element", "page"]

# How much of lists that a program can make long is shown.
_FUNCTIONS: Final = 40
_ROWS: Final = 60
_GRAPHS: Final = 24  # drawn of one function
_ALL_GRAPHS: Final = 120  # of a page, but the first of each function
_GRAPH_LINES: Final = 300


def page(report: Lists) -> Markup:
    """Return a report as a whole document."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"bcjit: {_title(report)}"),
        tag("style", Markup(STYLE + PAGE)),
    )
    body = tag("body", tag("main", *_contents(report), class_="bcjit"))
    return Markup(f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n")


def fragment(report: Lists) -> Markup:
    """Return a report as an element for a notebook."""
    return join((tag("style", Markup(STYLE)), tag("div", *_contents(report), class_="bcjit")))


def graph_element(graph: Graph) -> Markup:
    """Return a drawing of a graph as an element for a notebook."""
    drawn, left_out = drawing(picture_of(graph))
    inside: list[object] = [tag("div", drawn, class_=f"scroll {colour(0)}")]
    if left_out:
        inside.append(tag("p", f"{count(left_out, 'more node')} not drawn.", class_="muted"))
    return join((tag("style", Markup(STYLE)), tag("div", *inside, class_="bcjit")))


def _title(report: Lists) -> str:
    if isinstance(report, ProgramReport):
        return "all compiled functions"
    assert isinstance(report, Report | Explanation)
    return report.function


def _contents(report: Lists) -> Iterator[Markup]:
    if isinstance(report, ProgramReport):
        yield from _program(report)
        return
    assert isinstance(report, Report | Explanation)
    what = "One call of " if isinstance(report, Explanation) else ""
    copies = report.copies if isinstance(report, Report) else 1
    yield tag("h1", what, tag("span", report.function, class_="mono"))
    yield from _one(report.functions, report, copies, _Drawn())


def _program(report: ProgramReport) -> Iterator[Markup]:
    yield tag("h1", "All compiled functions")
    yield _stats(report)
    called = [one for one in report.reports if not all(f.is_empty for f in one.functions)]
    idle = [one.function for one in report.reports if all(f.is_empty for f in one.functions)]
    shown, more = bounded(called, _FUNCTIONS)
    if shown:
        rows = [_overview(number, one) for number, one in enumerate(shown)]
        titles = ("function", "", "variants", "reused", "recompilations", "breaks", "compiled in")
        yield _table(titles, rows, "  nnnnn")
    if more:
        yield tag("p", f"{count(more, 'more function')} left out.", class_="muted")
    if idle:
        names, left = bounded(idle, _FUNCTIONS)
        words = f"Not called yet: {', '.join(names)}" + (f" and {left} more" if left else "")
        yield tag("p", words, class_="muted")
    drawn = _Drawn()
    for number, one in enumerate(shown):
        yield tag("h2", tag("span", one.function, class_="mono"), id=f"f{number}")
        yield from _one(one.functions, one, one.copies, drawn)


def _overview(number: int, one: Report) -> list[object]:
    line = one.functions[0].line.text() if one.functions else ""
    return [
        tag("a", tag("span", one.function, class_="mono"), href=f"#f{number}"),
        tag("span", line, class_="where"),
        f"{len(one.parts):,}",
        f"{sum(part.hits for part in one.parts):,}",
        f"{len(one.recompilations):,}",
        f"{len(one.breaks):,}",
        duration(one.seconds.total),
    ]


# ---------------------------------------------------------------------- one compiled function


class _Drawn:
    """How many graphs a page may still draw."""

    def __init__(self) -> None:
        self.left = _ALL_GRAPHS

    def take(self, wanted: int) -> int:
        """Return how many of a function's graphs are drawn."""
        given = max(1, min(wanted, _GRAPHS, self.left))
        self.left -= given
        return given


def _one(
    functions: Sequence[FunctionReport], report: Lists, copies: int, drawn: _Drawn
) -> Iterator[Markup]:
    if not functions:
        return
    first, *others = functions
    where = f"{first.line.filename}:{first.line.lineno}"
    if copies > 1:
        where += f", {copies} compiled functions of this definition"
    yield tag("div", where, class_="where")
    words = headline(report)
    if words and not isinstance(report, Explanation):
        yield tag("p", tag("b", words))
    yield _stats(report)
    yield from _function(first, drawn)
    own, more = bounded([one for one in others if not one.package], _FUNCTIONS)
    for callee in own:
        words = count(len(callee.parts), "compiled variant")
        yield tag("h3", "Called from it: ", tag("span", callee.name, class_="mono"))
        line = f"{callee.line.filename}:{callee.line.lineno}, {words}"
        yield tag("div", line, class_="where")
        yield from _function(callee, drawn)
    if more:
        yield tag("p", f"{count(more, 'more function')} called from it left out.", class_="muted")
    libraries = folded(others)
    if libraries:
        yield tag("h3", "Functions of installed packages")
        yield tag("ul", *(tag("li", words) for words in libraries), class_="plain")


def _stats(report: Lists) -> Markup:
    parts = report.parts
    cells: list[tuple[str, str, bool]] = [
        (f"{len(parts):,}", "compiled variant" + "s" * (len(parts) != 1), False),
        (f"{sum(part.nodes for part in parts):,}", "nodes captured", False),
        (f"{len(report.breaks):,}", "ended by a break", False),
    ]
    if not isinstance(report, Explanation):
        cells.append((f"{sum(part.hits for part in parts):,}", "reuses", False))
        again = len(report.recompilations)
        cells.append((f"{again:,}", "recompilation" + "s" * (again != 1), False))
    bailouts = sum(part.bailouts for part in parts)
    if bailouts:
        cells.append((f"{bailouts:,}", "bail-out" + "s" * (bailouts != 1), True))
    if report.plain_calls:
        cells.append((f"{report.plain_calls:,}", "calls ran plain at the limit", True))
    items = [
        tag("li", tag("b", number), tag("span", what), class_="bad" if bad else None)
        for number, what, bad in cells
    ]
    if report.seconds.total:
        items.append(_time_cell(report.seconds))
    return tag("ul", *items, class_="stats")


def _time_cell(seconds: Seconds) -> Markup:
    total = seconds.total
    shares = (
        (seconds.capture, "capture"), (seconds.backend, "backend"), (seconds.assembly, "assembly"),
    )  # fmt: skip
    bars = [
        tag("i", class_=f"t{number}", style=f"width:{100 * share / total:.1f}%", title=what)
        for number, (share, what) in enumerate(shares)
    ]
    words = ", ".join(f"{what} {duration(share)}" for share, what in shares)
    return tag(
        "li", tag("b", duration(total)), tag("div", *bars, class_="bar"), tag("span", f"to compile: {words}"),
    )  # fmt: skip


def _table(names: Sequence[str], rows: Sequence[Sequence[object]], kinds: str) -> Markup:
    """Return a table; the kind of a column is ``n`` for numbers, ``w`` for what is not broken, a space for text."""
    classes = [kind if kind != " " else None for kind in kinds]
    head = tag("tr", *(tag("th", name, class_=c) for name, c in zip(names, classes, strict=True)))
    body = [
        tag("tr", *(tag("td", cell, class_=c) for cell, c in zip(row, classes, strict=True)))
        for row in rows
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *body)), class_="scroll")


def _function(function: FunctionReport, drawn: _Drawn) -> Iterator[Markup]:
    groups = variants_of(function)
    for problem in function.problems[:_ROWS]:
        yield _card(problem, "Runs as plain Python: ")
    for limit in function.limits:
        head = tag("p", limit_head(limit), class_="head")
        cause, hint = tag("p", limit_cause(limit)), tag("p", limit.hint, class_="hint")
        yield tag("div", head, cause, hint, class_="card warn")
    yield from annotated(function, groups)
    if groups:
        yield from _variants(groups)
    if function.recompilations:
        yield from _recompilations(recompiled(function.recompilations))
    if groups:
        yield from _graphs(groups, drawn)


def _card(cut: BreakReport, word: str = "") -> Markup:
    return tag(
        "div",
        tag("p", word, cut.text(), class_="head"),
        tag("p", cut.explanation),
        tag("p", cut.hint, class_="hint") if cut.hint else None,
        class_="card",
    )


def _variants(groups: Sequence[Variants]) -> Iterator[Markup]:
    yield tag("h4", "Compiled variants")
    in_order = sorted(groups, key=lambda group: group.part)
    listed = [(place, part) for group in in_order for place, part in enumerate(group.parts)]
    shown, more = bounded(listed, _ROWS)
    several = {group.part for group in groups if len(group.parts) > 1}
    rows = []
    told: dict[int, tuple[str, ...]] = {}  # variants of one part change the same things, as a rule
    for place, part in shown:
        ends: list[object] = [ending(part)]
        if part.bailouts:
            ends.append(f", {count(part.bailouts, 'bail-out')}")
        ends += [tag("div", verdict.text, class_="verdict") for verdict in part.verdicts]
        if part.options:
            ends.append(tag("div", f"options: {part.options}", class_="muted"))
        if part.effects and told.get(part.part) == part.effects:
            ends.append(tag("div", "changes: as above", class_="muted"))
        else:
            ends += [
                tag("div", f"changes: {effect}", class_="muted") for effect in part.effects[:8]
            ]
        told[part.part] = part.effects
        rows.append(
            [
                chip(part.part, place if part.part in several else None),
                tag("span", part.where, class_="where"),
                f"{part.nodes:,}",
                f"{part.hits:,}",
                duration(part.seconds.total),
                join(ends),
            ]
        )
    yield _table(("", "from", "nodes", "reused", "compiled in", "ends"), rows, "wwnnn ")
    if more:
        yield tag("p", f"{count(more, 'more variant')} left out.", class_="muted")


def _recompilations(found: Sequence[Again]) -> Iterator[Markup]:
    yield tag("h4", "Why variants were compiled again")
    shown, more = bounded(found, _ROWS)
    rows = [
        [
            tag("span", again.first.line.text(), class_="where"),
            f"{again.times:,}",
            again.first.expected or again.sentence(),
            ", ".join(again.seen[:12]) + (f" and {len(again.seen) - 12} more" * (len(again.seen) > 12)),
            tag("span", "" if again.first.relied is None else again.first.relied.text(), class_="where"),
        ]
        for again in shown
    ]  # fmt: skip
    yield _table(("at", "times", "what failed", "seen", "relied on at"), rows, "wn  w")
    if more:
        yield tag("p", f"{count(more, 'more reason')} left out.", class_="muted")


# ---------------------------------------------------------------------- graphs


def _graphs(groups: Sequence[Variants], drawn: _Drawn) -> Iterator[Markup]:
    listed = [
        (group, place, part)
        for group in groups
        for place, part in enumerate(group.parts)
        if part.nodes
    ]
    if not listed:
        return
    yield tag("h4", "Graphs")
    shown, more = bounded(listed, drawn.take(len(listed)))
    for number, (group, place, part) in enumerate(shown):
        only = len(group.parts) == 1
        yield _graph(group, part, None if only else place, opened=number == 0)
    if more:
        yield tag("p", f"{count(more, 'more graph')} left out.", class_="muted")


def _graph(group: Variants, part: PartReport, place: int | None, *, opened: bool) -> Markup:
    drawn, left_out = drawing(part.picture)
    lines, more = bounded(part.graph.splitlines(), _GRAPH_LINES)
    text = "\n".join(lines) + (f"\n… {count(more, 'more line')}" if more else "")
    inside: list[object] = [tag("div", drawn, class_=f"scroll {colour(part.part)}")]
    if left_out:
        inside.append(
            tag(
                "p", f"{count(left_out, 'more node')} not drawn; the text has them.", class_="muted"
            )
        )
    inside.append(
        tag("details", tag("summary", "as text"), tag("div", tag("pre", text), class_="inside"))
    )
    guards = part.guards if place is None else group.own(part)
    if guards:
        inside.append(
            _guards(guards, "Guards" if place is None else "Guards of this variant alone")
        )
    head = f"{count(part.nodes, 'node')} from {part.where}, {ending(part)}"
    return tag(
        "details",
        tag("summary", chip(part.part, place), head),
        tag("div", *inside, class_="inside"),
        open=opened,
    )


def _guards(guards: Sequence[GuardReport], title: str) -> Markup:
    rows = []
    for row in needs(guards):
        if row.line is None:
            words: object = f"{count(len(row.guards), 'guard')} for code of {row.package}"
            rows.append([tag("span", row.package, class_="where"), words])
            continue
        held = listed([guard.what for guard in row.guards], _ROWS)
        rows.append([tag("span", row.line.text(), class_="where"), held])
    names = names_in(guards)
    if names:
        rows.append(["", f"names unchanged: {listed(names, _ROWS)}"])
    table = _table(("for line", "must hold"), rows, "w ")
    return tag("details", tag("summary", title), tag("div", table, class_="inside"))
