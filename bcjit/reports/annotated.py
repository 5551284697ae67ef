"""Source code with the lines of each part coloured, and beside each line what it needs and what happens there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bcjit.errors import SourceLine
from bcjit.reports.data import FunctionReport
from bcjit.reports.listing import Listing, listing, listing_around
from bcjit.reports.markup import Markup, tag
from bcjit.reports.parts import (
    BreakReport,
    GuardReport,
)
from bcjit.reports.words import Again, Variants, bounded, count, counted_breaks, recompiled

__all__ = ["annotated", "chip", "colour"]

_COLOURS: Final = 8
_BARS: Final = 5
_GUARDS: Final = 14
_INLINED: Final = 12
_LINES: Final = 200
_CONTEXTS: Final = 6


def colour(part: int) -> str:
    """Return the class that has the colour of a part."""
    return f"p{part % _COLOURS}"


def _letter(part: int) -> str:
    """Return A, B, …, Z, A1, B1, … for the number of a part."""
    return chr(ord("A") + part % 26) + (str(part // 26) if part >= 26 else "")


def chip(part: int, place: int | None = None) -> Markup:
    """Return the sign of a part, or of one of its variants."""
    number = "" if place is None else f".{place + 1}"
    return tag("span", f"{_letter(part)}{number}", class_=f"chip {colour(part)}")


class _Notes:
    """What there is to say of each line."""

    def __init__(self, function: FunctionReport, groups: Sequence[Variants]) -> None:
        self.sizes = {group.part: len(group.parts) for group in groups}
        self.bars: dict[tuple[str, int], dict[int, int]] = {}
        self.functions: dict[tuple[str, str], set[int]] = {}  # whose lines those are
        self.guards: dict[tuple[str, int], dict[str, list[tuple[int, int]]]] = {}
        self.reports: dict[str, GuardReport] = {}
        self.packages: dict[str, int] = {}
        self.cuts: dict[tuple[str, int], list[tuple[BreakReport, int]]] = {}
        self.failed: dict[tuple[str, int], list[Again]] = {}
        for group in groups:
            for place, part in enumerate(group.parts):
                for line, nodes in part.lines:
                    key = line.filename, line.lineno
                    bars = self.bars.setdefault(key, {})
                    bars[part.part] = max(bars.get(part.part, 0), nodes)
                    self._own(line)
                for guard in part.guards:
                    self._add_guard(guard, part.part, place)
        for cut, times in counted_breaks(function.parts):
            if cut.line is not None:
                self.cuts.setdefault((cut.line.filename, cut.line.lineno), []).append((cut, times))
        for again in recompiled(function.recompilations):
            if again.first.relied is not None:
                relied = again.first.relied
                self.failed.setdefault((relied.filename, relied.lineno), []).append(again)

    def _own(self, line: SourceLine) -> None:
        self.functions.setdefault((line.filename, line.function), set()).add(line.lineno)

    def _add_guard(self, guard: GuardReport, part: int, place: int) -> None:
        if guard.package:
            self.packages[guard.package] = self.packages.get(guard.package, 0) + 1
            return
        self._own(guard.line)
        self.reports.setdefault(guard.what, guard)
        held = self.guards.setdefault((guard.line.filename, guard.line.lineno), {})
        held.setdefault(guard.what, []).append((part, place))

    def chips(self, holders: Sequence[tuple[int, int]]) -> Iterator[Markup]:
        """Yield the signs of the variants; none where there is but one, one for all variants of a part."""
        if sum(self.sizes.values()) == 1:
            return
        by_part: dict[int, list[int]] = {}
        for part, place in holders:
            by_part.setdefault(part, []).append(place)
        for part, places in by_part.items():
            if len(places) == self.sizes[part]:
                yield chip(part)
            else:
                yield from (chip(part, place) for place in places)


def annotated(function: FunctionReport, groups: Sequence[Variants]) -> Iterator[Markup]:
    """Yield the listing of a function, and those of functions that were captured as part of it."""
    notes = _Notes(function, groups)
    loops: dict[tuple[str, int], list[str]] = {}
    for loop in function.loops:
        words = loop.text().partition(": ")[2]
        loops.setdefault((loop.line.filename, loop.line.lineno), []).append(words)
    main = listing(function.name, function.line, function.last)
    yield _listing(main, notes, loops)
    inside = range(function.line.lineno, function.last + 1)
    others = [
        (name, filename, numbers)
        for (filename, name), numbers in notes.functions.items()
        if filename != function.line.filename or not all(n in inside for n in numbers)
    ]
    shown, more = bounded(others, _INLINED)
    for name, filename, numbers in shown:
        words = "Captured as part of it: "
        yield tag("div", words, tag("span", name, class_="mono"), class_="where inlined")
        yield _listing(listing_around(name, filename, numbers), notes, loops)
    if more:
        words = f"{count(more, 'more function')} captured as part of it left out."
        yield tag("p", words, class_="muted")
    yield from _elsewhere(function, notes)


def _elsewhere(function: FunctionReport, notes: _Notes) -> Iterator[Markup]:
    """Yield what code of installed packages adds, as counts."""
    nodes: dict[str, int] = {}
    for part in function.parts:
        for package, number in part.elsewhere:
            nodes[package] = nodes.get(package, 0) + number
    counts = [f"{count(number, 'node')} from code of {name}" for name, number in nodes.items()]
    counts += [
        f"{count(number, 'guard')} for code of {name}" for name, number in notes.packages.items()
    ]
    if counts:
        yield tag("p", f"Not shown beside lines: {', '.join(counts)}.", class_="muted")


def _listing(
    shown: Listing, notes: _Notes, loops: Mapping[tuple[str, int], Sequence[str]]
) -> Markup:
    file = tag("div", shown.filename, class_="file mono")
    if shown.missing:
        return tag("div", file, *_without_source(shown, notes, loops), class_="listing")
    rows = [
        _row((shown.filename, number), text, notes, loops.get((shown.filename, number), ()))
        for number, text in shown.lines
    ]
    if shown.left_out:
        rows.append(_bare(f"{count(shown.left_out, 'more line')} left out"))
    return tag("div", file, *rows, class_="listing")


def _without_source(
    shown: Listing, notes: _Notes, loops: Mapping[tuple[str, int], Sequence[str]]
) -> Iterator[Markup]:
    """Yield a row for each line of which there is something to say."""
    yield _bare(shown.missing)
    known = {*notes.bars, *notes.guards, *notes.cuts, *loops}
    numbers = sorted(number for filename, number in known if filename == shown.filename)
    for number in numbers[:_LINES]:
        key = shown.filename, number
        yield _row(key, "", notes, loops.get(key, ()))


def _bare(words: str) -> Markup:
    return tag(
        "div", tag("span"), tag("span"), tag("span", words, class_="code muted"), class_="row"
    )


def _row(key: tuple[str, int], text: str, notes: _Notes, loops: Sequence[str]) -> Markup:
    bars = notes.bars.get(key, {})
    beside = list(_beside(key, notes, loops))
    classes = ["row"]
    if bars:
        classes += ["in", colour(min(bars))]
    if beside:
        classes.append("note")
    if key in notes.cuts:
        classes.append("cut")
    marks = [
        tag("i", class_=colour(part), title=f"{_letter(part)}: {count(bars[part], 'node')}")
        for part in sorted(bars)[:_BARS]
    ]
    return tag(
        "div",
        tag("span", *marks, class_="bars"),
        tag("span", str(key[1]), class_="number"),
        tag("span", text, class_="code mono"),
        tag("div", *beside, class_="notes"),
        class_=" ".join(classes),
    )


def _beside(key: tuple[str, int], notes: _Notes, loops: Sequence[str]) -> Iterator[Markup]:
    cuts: dict[str, list[tuple[BreakReport, int]]] = {}
    for cut, times in notes.cuts.get(key, ()):
        cuts.setdefault(cut.code, []).append((cut, times))
    for same in cuts.values():
        yield _cut(same)
    for words in dict.fromkeys(loops):
        yield tag("p", words, class_="note loop")
    held = notes.guards.get(key, {})
    failures = {again.first.guard: again for again in notes.failed.get(key, ())}
    values = [what for what in held if not notes.reports[what].name]
    # What fails is shown first, then what few variants have.
    values.sort(key=lambda what: (what not in failures, len(held[what])))
    shown, more = bounded(values, _GUARDS)
    for what in shown:
        failed = failures.get(what)
        said = [*notes.chips(held[what]), what]
        if failed is not None:
            seen, others = bounded(failed.seen, 6)
            words = ", ".join(seen) + (f" and {others} more" if others else "")
            said.append(tag("b", f" ✗ failed {count(failed.times, 'time')}: {words}"))
        yield tag("p", *said, class_="note failed" if failed is not None else "note")
    if more:
        yield tag("p", f"and {count(more, 'more guard')}", class_="note names")
    names = list(
        dict.fromkeys(notes.reports[what].name for what in held if notes.reports[what].name)
    )
    if names:
        few, others = bounded(names, 2 * _GUARDS)
        words = ", ".join(few) + (f" and {others} more" if others else "")
        said = [tag("span", words, class_="mono"), " unchanged"]
        yield tag("p", *said, class_="note names", title=_names_title(held, notes))


def _names_title(held: Mapping[str, object], notes: _Notes) -> str:
    return "\n".join([what for what in held if notes.reports[what].name][:60])


def _cut(same: Sequence[tuple[BreakReport, int]]) -> Markup:
    """Return the card of the breaks of one kind at a line."""
    cut = same[0][0]
    times = sum(number for _, number in same)
    title = f"{cut.code} {cut.title}" + (f", {times} variants" if times > 1 else "")
    shown, more = bounded([one.context for one, _ in same if one.context], _CONTEXTS)
    about = [tag("p", tag("code", context)) for context in dict.fromkeys(shown)]
    if more:
        about.append(tag("p", f"and {more} more", class_="muted"))
    return tag(
        "div",
        tag("p", title, class_="head"),
        *about,
        tag("p", cut.explanation),
        tag("p", cut.hint, class_="hint") if cut.hint else None,
        class_="card",
    )
