"""Which calls become one kernel with reductions; it makes no code and edits no graph.

Calls for each element of arrays of one shape, reductions of these over the same axes, and what is made of what was reduced. As in `groups`,
nothing is written or drawn between them, and no call outside waits for one of them and is waited for by another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from bcjit.backends.native.groups import (
    LARGEST,
    between_effects,
    is_free,
    results_of,
    shape_of,
    taken_by,
    used_by,
    views_among,
)
from bcjit.backends.native.program import can_compute
from bcjit.backends.native.reduce_tracing import Reduction, traced_reduction
from bcjit.backends.native.scalars import Item
from bcjit.backends.native.tracing import copies, traced
from bcjit.backends.native.views import View
from bcjit.backends.native.waiting import Waiting
from bcjit.dims import DimLike, Symbol, product
from bcjit.fx_graph import Graph, Node
from bcjit.meta import ArrayMeta

if TYPE_CHECKING:
    from bcjit.dims import Dim

__all__ = ["ReduceGroup", "reduce_groups"]


class ReduceGroup:
    """Calls in the order of the graph.

    Attributes
    ----------
    shape
        Of the elements.
    axes
        That are folded away; None as long as nothing is.
    elements, folded
        What each call computes: for each element, or for each result.
    results
        The calls that something else needs.
    sizes
        How many elements each result is made of, as captured.
    views
        Operands that the kernel makes itself.
    """

    def __init__(self, shape: tuple[DimLike, ...]) -> None:
        self.shape = shape
        self.axes: tuple[int, ...] | None = None
        self.nodes: list[Node] = []
        self.elements: dict[Node, Item] = {}
        self.folded: dict[Node, Item] = {}
        self.results: tuple[Node, ...] = ()
        self.sizes: dict[Dim, None] = {}
        self.views: tuple[Node, ...] = ()

    def spreads(self, node: Node) -> bool:
        """Whether a folded value lies beside the elements it came from, as NumPy broadcasts it."""
        assert self.axes is not None
        meta = node.meta[0]
        if not isinstance(meta, ArrayMeta):
            return False
        return len(meta.shape) == len(self.shape) or self.axes == tuple(range(len(self.axes)))


def reduce_groups(
    graph: Graph, equal: Mapping[Symbol, Dim], without: Collection[Node]
) -> list[ReduceGroup]:
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
    ]
    for group in found:
        group.results = results_of(graph, group.nodes)
    return found


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
        self.of: dict[Node, ReduceGroup] = {}
        self.made: list[ReduceGroup] = []
        self.waiting: Waiting[Node] = Waiting()
        self.views: dict[Node, View] = {}

    def groups(self) -> list[ReduceGroup]:
        """Return those that are worth it."""
        reductions = {
            node: found
            for node in self.run
            if self._is_used(node) and (found := traced_reduction(node)) is not None
        }
        if reductions:
            self.views = views_among(self.run, self.place, self.graph.keep)
        for node in self.run if reductions else ():
            used = {one for one in used_by(node, self.graph) if one in self.place}
            self.waiting.add(node, used)
            if node in reductions:
                self._add_reduction(node, used, reductions[node])
            elif self._is_used(node):
                self._add(node, used)
        for group in self.made:
            operands = dict.fromkeys(one for node in group.nodes for one in node.uses())
            group.views = tuple(one for one in operands if one in self.views)
        return [group for group in self.made if _is_worth_it(group)]

    def _is_used(self, node: Node) -> bool:
        return node not in self.without and is_free(node, self.graph)

    def _add_reduction(self, node: Node, used: set[Node], reduction: Reduction) -> None:
        shape = shape_of(reduction.source, self.equal)
        found = next(
            (
                group
                for group in self._candidates(node, used)
                if group.shape == shape
                and group.axes in (None, reduction.axes)
                and reduction.source not in group.folded
            ),
            None,
        )
        group = found or self._new(shape)
        group.folded[node] = reduction.item
        group.axes = reduction.axes
        sizes = cast("ArrayMeta", reduction.source.meta[0]).shape
        group.sizes.setdefault(product(sizes[axis] for axis in reduction.axes))
        self._join(group, node, used)

    def _add(self, node: Node, used: set[Node]) -> None:
        item = traced(node)
        if item is None or not can_compute(item):
            return
        if copies(node) and not any(one in self.of for one in node.uses()):
            return  # sums go by how elements lie
        shape = shape_of(node, self.equal)
        for group in self._candidates(node, used):
            if any(one in group.folded and not _has_dtype(one) for one in node.uses()):
                continue  # a Python int, which takes the dtype of what it is used with
            arrays = [one for one in node.uses() if _is_array(one)]
            inside = [one for one in arrays if one in group.folded]
            of_folded = inside and len(inside) == len(arrays)
            if of_folded and all(shape_of(one, self.equal) == shape for one in inside):
                group.folded[node] = item
            elif group.shape == shape and all(map(group.spreads, inside)):
                group.elements[node] = item
            else:
                continue
            self._join(group, node, used)
            return
        group = self._new(shape)
        group.elements[node] = item
        self._join(group, node, used)

    def _new(self, shape: tuple[DimLike, ...]) -> ReduceGroup:
        group = ReduceGroup(shape)
        self.made.append(group)
        return group

    def _join(self, group: ReduceGroup, node: Node, used: set[Node]) -> None:
        """Have a call in a group, and the groups of what it uses if they can be computed at once."""
        group.nodes.append(node)
        self.waiting.unite(group.nodes[0], node)
        self.of[node] = group
        for other in {id(self.of[one]): self.of[one] for one in used if one in self.of}.values():
            if other is not group and self._are_one(group, other):
                self.waiting.unite(node, other.nodes[0])
                group.nodes = sorted((*group.nodes, *other.nodes), key=self.place.__getitem__)
                group.elements |= other.elements
                group.folded |= other.folded
                group.sizes |= other.sizes
                group.axes = other.axes if group.axes is None else group.axes
                self.of |= dict.fromkeys(other.nodes, group)
                self.made.remove(other)

    def _are_one(self, group: ReduceGroup, other: ReduceGroup) -> bool:
        both = {*group.nodes, *other.nodes}
        if len(both) > LARGEST or group.shape != other.shape:
            return False
        if None not in (group.axes, other.axes) and group.axes != other.axes:
            return False
        # A folded value of another group is an array like any other; of the same group it must lie beside the elements.
        folded = {*group.folded, *other.folded}
        for one in (group, other):
            if any(
                use in folded and use not in one.folded for node in one.nodes for use in node.uses()
            ):
                return False
        return self.waiting.can_unite(group.nodes[0], other.nodes[0])

    def _candidates(self, node: Node, used: set[Node]) -> list[ReduceGroup]:
        """Return the groups that a call may join: those whose results it uses, then those with the same operands."""
        near = {id(self.of[one]): self.of[one] for one in used if one in self.of}
        shared = taken_by(node, self.views)
        for group in self.made[-4:]:
            if any(shared & taken_by(one, self.views) for one in group.nodes):
                near.setdefault(id(group), group)
        return [
            group
            for group in near.values()
            if len(group.nodes) < LARGEST and self.waiting.can_unite(node, group.nodes[0])
        ]


def _is_worth_it(group: ReduceGroup) -> bool:
    """Whether a kernel is faster: NumPy stops at the first true element of a single ``any``, and its ``argmax`` is C code alone."""
    if group.axes is None:
        return False
    if len(group.nodes) > 1:
        return True
    (node,) = group.nodes
    return getattr(node.op, "name", "") not in ("any", "all", "argmax", "argmin")


def _has_dtype(node: Node) -> bool:
    return all(isinstance(meta, ArrayMeta) for meta in node.meta)


def _is_array(node: Node) -> bool:
    return any(isinstance(meta, ArrayMeta) and not meta.is_scalar for meta in node.meta)
