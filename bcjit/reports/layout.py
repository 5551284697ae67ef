"""Where the boxes of a drawing stand and how its edges run: numbers in, numbers out; it knows no graph and draws nothing.

Layers by longest path, bends where an edge passes a layer, a few sweeps that put boxes beside the middle of their neighbours, then places that keep
to that order (K. Sugiyama, S. Tagawa, M. Toda: Methods for visual understanding of hierarchical system structures, IEEE SMC 11, 1981).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from bcjit.records import dataclass

__all__ = ["Arrangement", "arrange"]

Point: TypeAlias = tuple[float, float]

_GAP: Final = 22.0  # between boxes of a layer
_BEND_GAP: Final = 8.0
_LAYER_GAP: Final = 34.0  # between layers
_WIDEST: Final = 1300.0  # of a layer, unless one box is wider
_NARROWEST: Final = 600.0  # of the rows of boxes without edges
_PORT_GAP: Final = 16.0  # between the ends of edges at a box
_SWEEPS: Final = 6


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The upper left corner of each box, the points of each edge from top to bottom, and the size of all."""

    corners: tuple[Point, ...]
    routes: Mapping[tuple[int, int], tuple[Point, ...]]
    width: float
    height: float


def arrange(
    sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]], last: int | None = None
) -> Arrangement:
    """Arrange boxes in layers, edges running down.

    Parameters
    ----------
    sizes
        Width and height of each box.
    edges
        From which box to which; the second is always the later one.
    last
        A box that stands below all others.
    """
    if not sizes:
        return Arrangement((), {}, 0.0, 0.0)
    joined = {box for edge in edges for box in edge} | ({last} - {None})
    loose = [box for box in range(len(sizes)) if box not in joined]
    if not loose:
        return _Drawing(sizes, edges, last).arrangement()
    rest = [box for box in range(len(sizes)) if box in joined]
    number = {box: place for place, box in enumerate(rest)}
    placed = arrange(
        [sizes[box] for box in rest],
        [(number[start], number[end]) for start, end in edges],
        None if last is None else number[last],
    )
    return _with_loose(sizes, loose, rest, placed)


def _with_loose(
    sizes: Sequence[tuple[float, float]],
    loose: Sequence[int],
    rest: Sequence[int],
    placed: Arrangement,
) -> Arrangement:
    """Put boxes without edges above the others, in rows no wider than those: nothing says where else they belong."""
    widest = max(placed.width, _NARROWEST)
    corners: dict[int, Point] = {}
    across = down = tallest = width = 0.0
    for box in loose:
        if across and across + sizes[box][0] > widest:
            across, down, tallest = 0.0, down + tallest + _GAP, 0.0
        corners[box] = across, down
        width = max(width, across + sizes[box][0])
        across += sizes[box][0] + _GAP
        tallest = max(tallest, sizes[box][1])
    lower = down + tallest + (_LAYER_GAP if rest else 0.0)
    corners |= {box: (x, y + lower) for box, (x, y) in zip(rest, placed.corners, strict=True)}
    return Arrangement(
        tuple(corners[box] for box in range(len(sizes))),
        {
            (rest[start], rest[end]): tuple((x, y + lower) for x, y in route)
            for (start, end), route in placed.routes.items()
        },
        max(width, placed.width),
        lower + placed.height,
    )


class _Drawing:
    """Boxes and bends: the first numbers are the boxes', the rest those of bends."""

    def __init__(
        self,
        sizes: Sequence[tuple[float, float]],
        edges: Sequence[tuple[int, int]],
        last: int | None,
    ) -> None:
        self.sizes = list(sizes)
        self.boxes = len(sizes)
        self.layer = self._layers(edges, last)
        self.above: list[list[int]] = [[] for _ in sizes]
        self.below: list[list[int]] = [[] for _ in sizes]
        self.chains: dict[tuple[int, int], list[int]] = {}
        for edge in dict.fromkeys(edges):
            self._add_edge(*edge)
        self.rows: list[list[int]] = [[] for _ in range(max(self.layer) + 1)]
        for item, layer in enumerate(self.layer):
            self.rows[layer].append(item)
        self._order()
        self.center = [0.0] * len(self.sizes)
        self._place()

    def _layers(self, edges: Sequence[tuple[int, int]], last: int | None) -> list[int]:
        layer = [0] * self.boxes
        followers: dict[int, list[int]] = {}
        before: dict[int, list[int]] = {}
        for start, end in edges:
            followers.setdefault(start, []).append(end)
            before.setdefault(end, []).append(start)
        fed = before.keys()
        widths: dict[int, float] = {}
        for box in range(self.boxes):
            if box not in fed:
                continue
            place = max(layer[start] for start in before[box]) + 1
            # A layer that is full sends what else could stand there further down.
            while widths.get(place, 0.0) > 0 and widths[place] + self.sizes[box][0] > _WIDEST:
                place += 1
            layer[box] = place
            widths[place] = widths.get(place, 0.0) + self.sizes[box][0] + _GAP
        for box in range(self.boxes):
            # What nothing leads to stands right above what it is for.
            if box not in fed and box in followers:
                layer[box] = min(layer[end] for end in followers[box]) - 1
        if last is not None:
            others = (layer[i] + 1 for i in range(self.boxes) if i != last)
            layer[last] = max(others, default=0)
        return layer

    def _add_edge(self, start: int, end: int) -> None:
        chain = [start]
        for layer in range(self.layer[start] + 1, self.layer[end]):
            self.sizes.append((0.0, 0.0))
            self.layer.append(layer)
            self.above.append([])
            self.below.append([])
            chain.append(len(self.sizes) - 1)
        chain.append(end)
        for upper, lower in itertools.pairwise(chain):
            self.below[upper].append(lower)
            self.above[lower].append(upper)
        self.chains[start, end] = chain

    def _order(self) -> None:
        """Put the items of each layer beside the middle of their neighbours, from above and from below in turns."""
        best, fewest = [list(row) for row in self.rows], self._crossings()
        for sweep in range(_SWEEPS):
            down = sweep % 2 == 0
            neighbours = self.above if down else self.below
            rows = self.rows if down else self.rows[::-1]
            spots: dict[int, float] = {}
            for row in rows:
                middle = {
                    item: _mean([spots[n] for n in neighbours[item] if n in spots], place)
                    for place, item in enumerate(row)
                }
                row.sort(key=middle.__getitem__)
                spots.update({item: float(place) for place, item in enumerate(row)})
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(row) for row in self.rows], crossings
        self.rows = best

    def _crossings(self) -> int:
        total = 0
        for upper, lower in itertools.pairwise(self.rows):
            spot = {item: place for place, item in enumerate(lower)}
            ends = [
                spot[end]
                for start in upper
                for end in sorted(self.below[start], key=spot.__getitem__)
            ]
            if len(ends) > 300:
                continue  # counting is quadratic; such layers stay as the sweeps left them
            total += sum(a > b for i, a in enumerate(ends) for b in ends[i + 1 :])
        return total

    def _gap(self, left: int, right: int) -> float:
        bends = (left >= self.boxes) + (right >= self.boxes)
        room = (self.sizes[left][0] + self.sizes[right][0]) / 2
        return room + (_GAP, _GAP, _BEND_GAP)[bends]

    def _place(self) -> None:
        """Give each item a middle: packed at first, then drawn to its neighbours without changing the order."""
        for row in self.rows:
            place = 0.0
            for left, item in zip([None, *row], row, strict=False):
                place = place + self._gap(left, item) if left is not None else 0.0
                self.center[item] = place
            shift = place / 2
            for item in row:
                self.center[item] -= shift
        for sweep in range(2 * _SWEEPS):
            down = sweep % 2 == 0
            neighbours = self.above if down else self.below
            for row in self.rows if down else self.rows[::-1]:
                self._draw(row, neighbours.__getitem__)
        # A last look at both sides, so that boxes stand between what leads to them and what they lead to.
        for row in self.rows:
            self._draw(row, self._both_sides)

    def _both_sides(self, item: int) -> list[int]:
        return [item] if item >= self.boxes else self.above[item] + self.below[item]

    def _draw(self, row: list[int], neighbours: Callable[[int], list[int]]) -> None:
        """Move the items of a layer to the middle of their neighbours, as far as the gaps allow (least squares: pool adjacent violators)."""
        wanted = [
            _mean([self.center[n] for n in neighbours(item)], self.center[item]) for item in row
        ]
        offsets = [0.0]
        for left, right in itertools.pairwise(row):
            offsets.append(offsets[-1] + self._gap(left, right))
        # Without the gaps the middles must only not fall: the mean of each run that would.
        blocks: list[tuple[float, float, int]] = []  # sum, weight, length
        for item, want, offset in zip(row, wanted, offsets, strict=True):
            weight = 12.0 if item >= self.boxes else 1.0  # bends in line make straight edges
            total, heavy, length = (want - offset) * weight, weight, 1
            while blocks and blocks[-1][0] / blocks[-1][1] >= total / heavy:
                more, weighs, count = blocks.pop()
                total, heavy, length = total + more, heavy + weighs, length + count
            blocks.append((total, heavy, length))
        places = [total / heavy for total, heavy, length in blocks for _ in range(length)]
        for item, place, offset in zip(row, places, offsets, strict=True):
            self.center[item] = place + offset

    def arrangement(self) -> Arrangement:
        """Return corners and routes, the leftmost box at 0."""
        left = min(self.center[item] - self.sizes[item][0] / 2 for item in range(len(self.sizes)))
        right = max(self.center[item] + self.sizes[item][0] / 2 for item in range(len(self.sizes)))
        tops, top = [], 0.0
        heights = [max(self.sizes[item][1] for item in row) for row in self.rows]
        for height in heights:
            tops.append(top)
            top += height + _LAYER_GAP
        corners = []
        for box in range(self.boxes):
            width, height = self.sizes[box]
            layer = self.layer[box]
            # What nothing leads to stands low, close to what it is for.
            spare = 0.0 if self.above[box] else heights[layer] - height
            corners.append((self.center[box] - width / 2 - left, tops[layer] + spare))
        arrives = self._ports(self.above, [chain[-2:] for chain in self.chains.values()])
        leaves = self._ports(self.below, [chain[1::-1] for chain in self.chains.values()])
        routes = {}
        for (start, end), chain in self.chains.items():
            # Between layers edges may go aside; within the height of a layer, past its taller boxes, they run straight down.
            xs = [
                leaves[start, chain[1]],
                *(self.center[bend] for bend in chain[1:-1]),
                arrives[end, chain[-2]],
            ]
            layers = [self.layer[item] for item in chain]
            points = [
                (x - left, y)
                for x, layer in zip(xs, layers, strict=True)
                for y in (tops[layer], tops[layer] + heights[layer])
            ]
            points[0] = (points[0][0], corners[start][1] + self.sizes[start][1])
            points[-1] = (points[-1][0], corners[end][1])
            routes[start, end] = tuple(points)
        return Arrangement(tuple(corners), routes, right - left, top - _LAYER_GAP)

    def _ports(
        self, neighbours: Sequence[Sequence[int]], ends: Sequence[Sequence[int]]
    ) -> dict[tuple[int, int], float]:
        """Return where edges meet a box, spread over it in the order of where they come from."""
        found = {}
        for box in {end for _, end in ends}:
            there = sorted(neighbours[box], key=self.center.__getitem__)
            step = min(_PORT_GAP, 0.7 * self.sizes[box][0] / len(there))
            for place, other in enumerate(there):
                found[box, other] = self.center[box] + (place - (len(there) - 1) / 2) * step
        return found


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
