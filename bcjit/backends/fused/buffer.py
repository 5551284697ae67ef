"""Which arrays share a buffer, one after another; it chooses none for them."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import field
from typing import TYPE_CHECKING

from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.backends.fused.runs import Array, Key
    from bcjit.fx_graph import Graph
    from bcjit.fx_graph.places import Places

__all__ = ["Buffer"]


@dataclass(slots=True, eq=False)
class Buffer:
    """Arrays that are in one memory after one another."""

    key: Key
    leaving: bool = False
    arrays: list[Array] = field(default_factory=list)
    _in_order: dict[Graph, list[Array]] = field(default_factory=dict)  # those of each graph

    def add(self, one: Array) -> None:
        """Put an array in, for which it is free."""
        self.arrays.append(one)
        insort(self._in_order.setdefault(one.graph, []), one, key=_moments)

    def is_free(self, places: Places, one: Array) -> bool:
        """Whether nothing in it is needed while an array is. Of those of one graph two are never needed at a time."""
        return not any(
            _meets_neighbours(others, one)
            if graph is one.graph
            else _meets_inside(places, one, graph) or _meets_around(places, one, graph, others)
            for graph, others in self._in_order.items()
        )


def _moments(one: Array) -> tuple[int, int]:
    return one.made, one.read


def _meets_neighbours(others: list[Array], one: Array) -> bool:
    """Whether an array is needed together with one of those of its graph."""
    at = bisect_left(others, (one.made, -1), key=_moments)
    for other in others[at:]:
        if other.made > one.read:
            break
        if _meet(one, other):
            return True
    while at > 0:
        at -= 1
        if others[at].read < one.made:
            break
        if _meet(one, others[at]):
            return True
    return False


def _follows(one: Array, read: int) -> bool:
    """Whether an array is made while another one, which is read last at an index, is needed."""
    return one.made < read or (one.made == read and not one.over)


def _meet(one: Array, other: Array) -> bool:
    return _follows(one, other.read) and _follows(other, one.read)


def _meets_inside(places: Places, one: Array, graph: Graph) -> bool:
    """Whether an array is needed while a body in its graph runs."""
    at = _place_in(places, graph, one.graph)
    return at is not None and one.made < at < one.read


def _meets_around(places: Places, one: Array, graph: Graph, others: list[Array]) -> bool:
    """Whether the body that an array is in runs while one of those around it is needed."""
    at = _place_in(places, one.graph, graph)
    if at is None:
        return False
    before = bisect_left(others, (at, -1), key=_moments)
    return before > 0 and at < max(other.read for other in others[max(before - 2, 0) : before])


def _place_in(places: Places, graph: Graph, around: Graph) -> int | None:
    """Return the index in a graph of the loop or branch that another one is in; None if it is in none of it."""
    while graph in places.around:
        node, graph = places.around[graph]
        if graph is around:
            return places.where[node][1]
    return None  # on two sides of a branch, or in two loops
