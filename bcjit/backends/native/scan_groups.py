"""Which calls become one kernel with scans; it makes no code and edits no graph.

Scans of arrays of one shape along one axis, the calls for each element that they are made of, and those that are made of them. As in `groups`,
nothing is written or drawn between them, and no call outside waits for one of them and is waited for by another.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from bcjit.backends.native.groups import (
    LARGEST,
    between_effects,
    is_free,
    results_of,
    shape_of,
    used_by,
)
from bcjit.backends.native.program import can_compute
from bcjit.backends.native.reduce_bound import constant_of
from bcjit.backends.native.scalars import Apply, Item, Leaf, Running
from bcjit.backends.native.scan_tracing import FLAT, ScanCall, traced_scan
from bcjit.backends.native.tracing import traced
from bcjit.backends.native.waiting import Waiting
from bcjit.dims import DimLike, Symbol
from bcjit.fx_graph import Graph, Node
from bcjit.records import replace

if TYPE_CHECKING:
    from bcjit.dims import Dim

__all__ = ["ScanGroup", "alone", "running_items", "scan_groups"]


class ScanGroup:
    """Calls in the order of the graph.

    Attributes
    ----------
    shape
        Of the elements.
    axis
        Along which scans run, or `FLAT`; None as long as there is none.
    items
        What each call computes.
    results
        The calls that something else needs.
    views
        None: views of its operands are calls of their own.
    """

    def __init__(self, shape: tuple[DimLike, ...]) -> None:
        self.shape = shape
        self.axis: int | None = None
        self.nodes: list[Node] = []
        self.items: dict[Node, Item] = {}
        self.results: tuple[Node, ...] = ()
        self.views: tuple[Node, ...] = ()

    def is_flat(self, node: Node) -> bool:
        """Whether a result has one axis, whatever the operands have."""
        return self.axis == FLAT and isinstance(self.items[node], Running)


def scan_groups(
    graph: Graph, equal: Mapping[Symbol, Dim], without: Collection[Node]
) -> list[ScanGroup]:
    """Return the groups of one graph, not of its bodies.

    Parameters
    ----------
    graph
        The graph.
    equal
        What is known of the symbols of its shapes.
    without
        Calls that are something else's.
    """
    found = [
        group
        for run in between_effects(graph)
        for group in _Grouping(graph, run, equal, without).groups()
        if group.axis is not None
    ]
    for group in found:
        group.results = results_of(graph, group.nodes)
    return found


def alone(graph: Graph, group: ScanGroup) -> list[ScanGroup]:
    """Return the scans of a group of which no kernel can be made, each alone."""
    found = []
    for node in group.nodes:
        if len(group.nodes) > 1 and isinstance(group.items[node], Running):
            one = ScanGroup(group.shape)
            one.axis, one.nodes, one.items = group.axis, [node], {node: group.items[node]}
            one.results = results_of(graph, one.nodes)
            found.append(one)
    return found


def running_items(
    group: ScanGroup, of_leaf: Callable[[Leaf], Item], now: Callable[[Node], Node]
) -> dict[Node, Item]:
    """Return what each call of a group computes, over what `of_leaf` makes of values from outside; `now` says what gives these by now."""
    items: dict[Node, Item] = {}
    memo: dict[Item, Item] = {}

    def bound(item: Item) -> Item:
        if item not in memo:
            memo[item] = made(item)
        return memo[item]

    def made(item: Item) -> Item:
        if isinstance(item, Leaf):
            source = item.source
            if isinstance(source, Node):
                if source in items:
                    return items[source]
                source = now(source)
            return constant_of(source) or of_leaf(replace(item, source=source))
        if isinstance(item, Apply):
            return Apply(item.function, item.dtypes, tuple(map(bound, item.operands)))
        if isinstance(item, Running):
            return Running(item.function, item.dtype, bound(item.operand))
        return item

    for node in group.nodes:
        items[node] = bound(group.items[node])
    return items


class _Grouping:
    """The groups of one stretch of calls."""

    def __init__(
        self,
        graph: Graph,
        run: Sequence[Node],
        equal: Mapping[Symbol, Dim],
        without: Collection[Node],
    ) -> None:
        self.graph, self.run, self.equal, self.without = graph, run, equal, without
        self.place = {node: i for i, node in enumerate(run)}
        self.of: dict[Node, ScanGroup] = {}
        self.made: list[ScanGroup] = []
        self.waiting: Waiting[Node] = Waiting()

    def groups(self) -> list[ScanGroup]:
        """Return them, some of them perhaps without a scan."""
        scans = {
            node: found
            for node in self.run
            if is_free(node, self.graph) and (found := traced_scan(node)) is not None
        }
        items = self._elementwise(scans) if scans else {}
        for node in self.run if scans else ():
            used = {one for one in used_by(node, self.graph) if one in self.place}
            self.waiting.add(node, used)
            if node in scans:
                shape = shape_of(scans[node].source, self.equal)
                self._add(node, used, scans[node].item, shape, scans[node].axis)
            elif node in items:
                self._add(node, used, items[node], shape_of(node, self.equal), None)
        return self.made

    def _elementwise(self, scans: Mapping[Node, ScanCall]) -> dict[Node, Item]:
        """Return the elementwise calls that are made of scans, and those of which these and scans are made."""
        items: dict[Node, Item] = {}
        for node in self.run:
            if node in scans or node in self.without or not is_free(node, self.graph):
                continue
            item = traced(node)
            if item is not None and can_compute(item):
                items[node] = item
        behind: set[Node] = set(scans)
        for node in self.run:
            if node in items and any(one in behind for one in node.uses()):
                behind.add(node)
        needed = set(behind)
        for node in reversed(self.run):
            if node in items and any(user in needed for user in node.users):
                needed.add(node)
        return {node: item for node, item in items.items() if node in needed}

    def _add(
        self,
        node: Node,
        used: set[Node],
        item: Item,
        shape: tuple[DimLike, ...],
        axis: int | None,
    ) -> None:
        """Have a call in the group of something that it uses, or in one of its own; and the groups of what it uses with it."""
        near = {id(self.of[one]): self.of[one] for one in used if one in self.of}
        group = next(
            (one for one in near.values() if self._takes(one, node, used, shape, axis)), None
        )
        if group is None:
            group = ScanGroup(shape)
            self.made.append(group)
        group.axis = axis if group.axis is None else group.axis
        group.items[node] = item
        group.nodes.append(node)
        self.waiting.unite(group.nodes[0], node)
        self.of[node] = group
        for other in near.values():
            if other is not group and self._takes(
                group, other.nodes[0], used, other.shape, other.axis
            ):
                self.waiting.unite(node, other.nodes[0])
                group.nodes = sorted((*group.nodes, *other.nodes), key=self.place.__getitem__)
                group.items |= other.items
                group.axis = other.axis if group.axis is None else group.axis
                self.of |= dict.fromkeys(other.nodes, group)
                self.made.remove(other)

    def _takes(
        self,
        group: ScanGroup,
        node: Node,
        used: set[Node],
        shape: tuple[DimLike, ...],
        axis: int | None,
    ) -> bool:
        if group.shape != shape or (None not in (group.axis, axis) and group.axis != axis):
            return False
        if len(group.nodes) + len(self.of.get(node, group).nodes) > LARGEST:
            return False
        if any(one in group.items and group.is_flat(one) for one in used):
            return False  # it has other axes than the elements
        return self.waiting.can_unite(group.nodes[0], node)
