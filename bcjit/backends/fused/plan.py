"""Gives the temporaries of a graph buffers by their lifetimes; it calls nothing and writes no code.

A *temporary* is the new memory of a call that is one ufunc, of which nothing outlives its graph. A *leaving* array is one that does: NumPy makes
its memory, once, and the temporaries before it on the way may be in that memory already. All is under a test of the inputs
(`bcjit.fx_graph.buffers.Plan`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from bcjit.backends.fused.calls import array_meta, elementwise, may_write_over_operands, only_looks
from bcjit.backends.fused.layout import Layouts, Order
from bcjit.backends.fused.scratch import ScratchPool
from bcjit.dims import Dim, Expr, product
from bcjit.fx_graph import Node, NodeKind, maker
from bcjit.fx_graph.buffers import Plan, Scratch, Stored
from bcjit.meta import ArrayMeta
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.fx_graph import Graph
    from bcjit.fx_graph.places import Places

__all__ = ["BufferPlanner"]

_Key: TypeAlias = tuple[tuple[Dim, ...], np.dtype[np.generic]]

_AT_THE_END: Final = 1 << 60


@dataclass(slots=True)
class _Array:
    """An array that may be put into a buffer."""

    node: Node
    function: np.ufunc
    graph: Graph
    made: int  # the index of its call
    read: int  # that of the last that reads it
    key: _Key
    leaves: bool
    over: bool  # its call may write over an operand


@dataclass(slots=True, eq=False)
class _Buffer:
    """Arrays that are in one memory after one another."""

    key: _Key
    arrays: list[_Array] = field(default_factory=list)
    leaving: bool = False


class BufferPlanner:
    """Plans the buffers of graphs; made for one call of the backend.

    Parameters
    ----------
    smallest
        The least number of elements for which buffers are used.
    """

    def __init__(self, smallest: int) -> None:
        self.smallest = smallest

    def candidates(self, graph: Graph) -> Collection[Node]:
        """Return the calls that may be given a buffer."""
        if not graph.inputs:
            return ()
        layouts = Layouts(graph)
        kept = {node for one in graph.nested() for node in one.keep}
        found: list[Node] = []
        for one in graph.nested():
            for node in one.nodes:
                if (
                    node in kept
                    or node.escapes
                    or not node.users
                    or layouts.of.get(node) is not Order.C
                ):
                    continue
                plain = elementwise(node) is not None and _has_known_size(graph, node)
                if plain and _stays(node, kept) is not None:
                    found.append(node)
        return found

    def plan(self, places: Places, candidates: Collection[Node]) -> Plan | None:
        """Return which call writes into which buffer; None if none does."""
        sizes = _Sizes(places.graph)
        for node in candidates:
            sizes.join(node)
        arrays = {node: self._array(places, node, sizes) for node in candidates}
        in_order = sorted(arrays.values(), key=lambda one: (_depth(places, one.graph), one.made))
        buffers = [*_leaving(arrays)]
        taken = {one.node for buffer in buffers for one in buffer.arrays}
        scratch: list[_Buffer] = []
        for one in in_order:
            if one.node in taken or one.leaves:
                continue
            home = next((b for b in scratch if b.key == one.key and _is_free(places, b, one)), None)
            if home is None:
                home = _Buffer(one.key)
                scratch.append(home)
            home.arrays.append(one)
        found = [*scratch, *(buffer for buffer in buffers if len(buffer.arrays) > 1)]
        if not found:
            return None
        # Rows and columns beside matrices are not worth a buffer.
        most = max(_symbolic_axes(buffer) for buffer in found)
        scratch = [buffer for buffer in scratch if _symbolic_axes(buffer) == most]
        found = [buffer for buffer in found if buffer.leaving or _symbolic_axes(buffer) == most]
        calls: dict[Node, Stored] = {}
        for number, buffer in enumerate(found):
            first = min(buffer.arrays, key=lambda one: one.made).node if buffer.leaving else None
            for one in buffer.arrays:
                calls[one.node] = Stored(one.function, number, one.node is first)
        main = Counter(buffer.key[0] for buffer in found for _ in buffer.arrays).most_common(1)[0][
            0
        ]
        inputs = [node for node in places.graph.inputs if _has_axes(node)]
        whole = (node for node in inputs if sizes.shape(array_shape(node)) == main)
        return Plan(
            calls,
            tuple(Scratch(*buffer.key) for buffer in scratch),
            ScratchPool([buffer.key[1] for buffer in scratch]),
            next(whole, product(main)),
            self.smallest,
            tuple(sizes.equal),
            tuple(inputs),
        )

    def _array(self, places: Places, node: Node, sizes: _Sizes) -> _Array:
        graph, made = places.where[node]
        function = elementwise(node)
        assert function is not None
        last = places.last[graph]
        family = _stays(node, places.kept)
        assert family is not None
        members, leaves = family
        read = _AT_THE_END if leaves else max(last.get(member, made) for member in members)
        meta = array_meta(node)
        assert meta is not None
        key = sizes.shape(meta.shape), meta.dtype
        over = may_write_over_operands(node)
        return _Array(node, function, graph, made, read, key, leaves, over)


def array_shape(node: Node) -> tuple[Dim, ...]:
    """Return the shape of an array."""
    meta = node.meta[0]
    assert isinstance(meta, ArrayMeta)
    return meta.shape


def _has_axes(node: Node) -> bool:
    return any(isinstance(meta, ArrayMeta) and meta.shape for meta in node.meta)


def _has_known_size(graph: Graph, node: Node) -> bool:
    """Whether the shape of an array can be told from the inputs."""
    return all(
        graph.symbols.get(symbol, (None,))[0] in graph.inputs
        for dim in array_shape(node)
        if isinstance(dim, Expr)
        for symbol in dim.symbols()
    )


def _stays(node: Node, kept: Collection[Node]) -> tuple[list[Node], bool] | None:
    """Return the values in the memory of a new array, and whether one is an output of its graph; None if it may be got hold of otherwise."""
    members, leaves = [node], False
    for member in members:
        if member in kept or member.escapes:
            return None
        for user in member.users:
            if user.kind is NodeKind.OUTPUT:
                leaves = True
            elif not only_looks(user, member):
                return None
            elif maker(user) is node and user not in members:
                members.append(user)
    return members, leaves


class _Sizes:
    """Sizes that are the same where the plan is used.

    Attributes
    ----------
    equal
        The pairs that are compared.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.equal: list[tuple[Dim, Dim]] = []
        self._same: dict[Dim, Dim] = {}

    def join(self, node: Node) -> None:
        """Take the axes of the operands of an elementwise call for those of its result, where none is known to be stretched."""
        shape = array_shape(node)
        for operand in node.uses():
            if _has_axes(operand) and _has_known_size(self.graph, operand):
                for one, other in zip(
                    reversed(array_shape(operand)), reversed(shape), strict=False
                ):
                    if one != 1 and (isinstance(one, Expr) or isinstance(other, Expr)):
                        self._join(one, other)

    def _join(self, one: Dim, other: Dim) -> None:
        one, other = self._find(one), self._find(other)
        if one == other or (isinstance(one, int) and isinstance(other, int)):
            return
        if isinstance(one, int):
            one, other = other, one
        self._same[one] = other
        self.equal.append((one, other))

    def _find(self, dim: Dim) -> Dim:
        while dim in self._same:
            dim = self._same[dim]
        return dim

    def shape(self, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Return a shape in terms of the sizes that stand for others."""
        return tuple(map(self._find, shape))


def _leaving(arrays: dict[Node, _Array]) -> Iterator[_Buffer]:
    """Yield a buffer for each array that leaves, with those on the way to it that can be in its memory before."""
    taken: set[Node] = set()
    for last in sorted(arrays.values(), key=lambda one: -one.made):
        if not last.leaves:
            continue
        buffer = _Buffer(last.key, [last], leaving=True)
        now = last
        while now.over:
            before = [
                arrays[used] for used in now.node.uses() if used in arrays and used not in taken
            ]
            fitting = [
                one for one in before
                if one.key == last.key and one.graph is last.graph and not one.leaves and one.read <= now.made
            ]  # fmt: skip
            if not fitting:
                break
            now = max(fitting, key=lambda one: -one.made)  # the longest way back
            buffer.arrays.append(now)
            taken.add(now.node)
        yield buffer


def _symbolic_axes(buffer: _Buffer) -> int:
    return sum(isinstance(dim, Expr) for dim in buffer.key[0])


def _depth(places: Places, graph: Graph) -> int:
    return sum(1 for _ in places.chain(graph))


def _is_free(places: Places, buffer: _Buffer, one: _Array) -> bool:
    """Whether nothing in a buffer is needed while an array is."""
    return not any(_meet(places, one, other) for other in buffer.arrays)


def _follows(one: _Array, read: int) -> bool:
    """Whether an array is made while another one, which is read last at an index, is needed."""
    return one.made < read or (one.made == read and not one.over)


def _meet(places: Places, one: _Array, other: _Array) -> bool:
    """Whether two arrays are needed at one moment."""
    if one.graph is other.graph:
        return _follows(one, other.read) and _follows(other, one.read)
    for outer, inner in ((one, other), (other, one)):
        graph = inner.graph
        while graph in places.around:
            around, graph = places.around[graph]
            if graph is outer.graph:
                return outer.made < places.where[around][1] < outer.read
    return False  # on two sides of a branch, or in two loops
