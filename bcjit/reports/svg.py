"""A graph as SVG: boxes for nodes, edges for what they read, loops and branches as boxes around their bodies.

Colours are those of the page's style sheet (``style``); everything is drawn by hand here, so that a page needs nothing from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from bcjit.records import dataclass
from bcjit.reports.layout import Arrangement, arrange
from bcjit.reports.markup import Markup, join, tag
from bcjit.reports.picture import Picture, Row

__all__ = ["drawing"]

# A fixed font's advance is 0.6 of its size nearly everywhere; a little more for those where it is not.
_SIZE: Final = 12.0
_ADVANCE: Final = 7.3
_LINE: Final = 16.0
_PAD: Final = 10.0
_LONGEST: Final = 46  # characters of a line in a box
_MARGIN: Final = 8.0
# Of one drawing, bodies included; a drawing of more is no help.
_ROWS: Final = 160
_DEEPEST: Final = 4


def drawing(picture: Picture) -> tuple[Markup, int]:
    """Return the drawing of a graph as an ``svg`` element, and how many nodes are left out of it."""
    budget = _Budget(_ROWS)
    made = _draw(picture, budget, 0)
    width, height = made.width + 2 * _MARGIN, made.height + 2 * _MARGIN
    shown = tag(
        "svg",
        tag("g", made.markup, transform=_moved(_MARGIN, _MARGIN)),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
        aria_label=f"graph of {len(picture.rows)} nodes",
        # A drawing that is a little too wide is made smaller, one that is much too wide is scrolled.
        style=f"min-width:{0.62 * width:.0f}px",
    )
    return shown, budget.left_out


class _Budget:
    """How many boxes may still be drawn."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.left_out = 0

    def take(self, picture: Picture) -> Sequence[Row]:
        """Return the rows that are drawn: the first ones, and always the last, which says what comes out."""
        shown = picture.rows[: max(self.rows, 0)]
        self.rows -= len(shown)
        self.left_out += picture.left_out + len(picture.rows) - len(shown)
        return shown


@dataclass(frozen=True, slots=True)
class _Drawn:
    markup: Markup
    width: float
    height: float


Lines: TypeAlias = tuple[tuple[str, str], ...]  # class and text of each line in a box


@dataclass(frozen=True, slots=True)
class _Box:
    row: Row
    lines: Lines
    bodies: tuple[_Drawn, ...]
    width: float
    height: float


def _moved(x: float, y: float) -> str:
    return f"translate({x:.1f} {y:.1f})"


def _cut(text: str, longest: int = _LONGEST) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _draw(picture: Picture, budget: _Budget, depth: int) -> _Drawn:
    rows = budget.take(picture)
    boxes = [_box(row, budget, depth) for row in rows]
    shown = range(len(rows))
    edges: dict[tuple[int, int], str] = {}
    for index, row in enumerate(rows):
        edges.update({(after, index): "order" for after in row.after if after in shown})
        edges.update(
            {
                (used, index): "write" if used in row.writes else ""
                for used in row.uses
                if used in shown
            }
        )
    last = len(rows) - 1 if rows and rows[-1].kind == "output" else None
    placed = arrange([(box.width, box.height) for box in boxes], list(edges), last)
    drawn = [_edge(placed, edge, kind) for edge, kind in edges.items()]
    drawn += [_drawn_box(box, *corner) for box, corner in zip(boxes, placed.corners, strict=True)]
    return _Drawn(join(drawn), placed.width, placed.height)


def _lines(row: Row) -> Lines:
    if row.kind == "input":
        gives = f": {row.gives}" if row.gives else ""
        return (("what", _cut(row.does + gives)),)
    if row.kind == "output":
        return (("what", _cut(row.does, 72)),)
    where = "" if row.line is None else f"line {row.line.lineno}"
    what, gives = f"{row.name} = {row.does}", row.gives
    if row.bodies:
        what, gives = row.does, f"{row.name}: {row.gives}" if row.gives else ""
    elif row.writes and not row.gives:
        what = row.does
    below = " · ".join(part for part in (_cut(gives, 40), where) if part)
    return (("what", _cut(what)), *((("gives", below),) if below else ()))


def _box(row: Row, budget: _Budget, depth: int) -> _Box:
    lines = _lines(row)
    width = max(len(text) for _, text in lines) * _ADVANCE + 2 * _PAD
    height = len(lines) * _LINE + 0.8 * _PAD
    if not row.bodies:
        return _Box(row, lines, (), width, height)
    if depth >= _DEEPEST:
        budget.left_out += sum(len(body.rows) + body.left_out for body in row.bodies)
        return _Box(row, lines, (), width, height)
    bodies = tuple(_framed(body, budget, depth + 1) for body in row.bodies)
    inside = sum(body.width for body in bodies) + _PAD * (len(bodies) + 1)
    return _Box(
        row, lines, bodies, max(width, inside), height + max(b.height for b in bodies) + _PAD
    )


def _framed(body: Picture, budget: _Budget, depth: int) -> _Drawn:
    """Draw a body in a frame with its title."""
    made = _draw(body, budget, depth)
    width = max(made.width, len(body.title) * _ADVANCE) + 2 * _PAD
    height = made.height + _LINE + 2 * _PAD
    inside = (width - made.width) / 2
    frame = tag("rect", class_="body", width=f"{width:.1f}", height=f"{height:.1f}", rx="6")
    title = tag("text", body.title, class_="title", x=f"{_PAD:.0f}", y=f"{_LINE:.0f}")
    moved = tag("g", made.markup, transform=_moved(inside, _LINE + _PAD))
    return _Drawn(join((frame, title, moved)), width, height)


def _drawn_box(box: _Box, x: float, y: float) -> Markup:
    row = box.row
    kind = row.kind + (" writes" if row.writes else "")
    round_ = box.height / 2 if row.kind in ("input", "output") else 5
    parts: list[object] = [
        tag("title", _full(row)),
        tag("rect", width=f"{box.width:.1f}", height=f"{box.height:.1f}", rx=f"{round_:.1f}"),
    ]
    for place, (class_, text) in enumerate(box.lines):
        left = box.bodies and row.bodies
        at = _PAD if left else box.width / 2
        baseline = 0.4 * _PAD + _LINE * place + 12
        parts.append(
            tag(
                "text",
                text,
                class_=class_,
                x=f"{at:.1f}",
                y=f"{baseline:.1f}",
                text_anchor=None if left else "middle",
            )
        )
    at, top = _PAD, len(box.lines) * _LINE + 0.8 * _PAD
    spare = box.width - sum(body.width for body in box.bodies) - _PAD * (len(box.bodies) + 1)
    for body in box.bodies:
        parts.append(tag("g", body.markup, transform=_moved(at + spare / 2, top)))
        at += body.width + _PAD
    return tag("g", *parts, class_=f"node {kind}", transform=_moved(x, y))


def _full(row: Row) -> str:
    """Return all that is known of a node, for who points at it."""
    words = [f"{row.name} = {row.does}" if row.name and row.kind != "input" else row.does]
    if row.gives:
        words.append(row.gives)
    if row.line is not None:
        words.append(f"{row.line.text()} {row.line.function}".rstrip())
    return "\n".join(words)


def _edge(placed: Arrangement, edge: tuple[int, int], kind: str) -> Markup:
    points = placed.routes[edge]
    tip_x, tip_y = points[-1]
    path = " ".join(_path([*points[:-1], (tip_x, tip_y - 1)]))
    head = f"M{tip_x - 3.5:.1f} {tip_y - 6.5:.1f}h7L{tip_x:.1f} {tip_y - 0.5:.1f}z"
    return tag(
        "g", tag("path", class_="line", d=path), tag("path", class_="head", d=head), class_=f"edge {kind}".rstrip(),
    )  # fmt: skip


def _path(points: Sequence[tuple[float, float]]) -> Iterator[str]:
    (x, y), *rest = points
    yield f"M{x:.1f} {y:.1f}"
    for next_x, next_y in rest:
        if abs(next_x - x) < 0.5:
            yield f"L{next_x:.1f} {next_y:.1f}"
        else:
            middle = (y + next_y) / 2
            yield f"C{x:.1f} {middle:.1f} {next_x:.1f} {middle:.1f} {next_x:.1f} {next_y:.1f}"
        x, y = next_x, next_y
