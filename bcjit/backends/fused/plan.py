"""Gives the temporaries of a graph buffers by their lifetimes; it calls nothing and writes no code.

A *temporary* is the new memory of a call that is one ufunc, of which nothing outlives its graph. A *leaving* array is one that does: NumPy makes
its memory, once, and the temporaries before it on the way may be in that memory already. All is under a test of the inputs
(`bcjit.fx_graph.buffers.Plan`).
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from bcjit.backends.fused.calls import (
    BLOCKWISE,
    array_meta,
    array_shape,
    count_inputs,
    elementwise,
    may_write_over_operands,
    only_looks,
)
from bcjit.backends.fused.layout import Layouts, Order
from bcjit.backends.fused.order import (
    Sizes,
    count_bytes,
    dtype_of,
    has_axes,
    has_known_size,
    swaps,
    with_users,
)
from bcjit.backends.fused.scratch import ScratchPool
from bcjit.dims import Dim, Expr, floor_divide, maximum, product
from bcjit.fx_graph import Node, NodeKind, item_of, maker
from bcjit.fx_graph.buffers import Plan, Run, Scratch, Stored
from bcjit.fx_graph.elision import LEAST
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.fx_graph import Graph
    from bcjit.fx_graph.places import Places, Value

__all__ = ["BufferPlanner"]

_Key: TypeAlias = tuple[tuple[Dim, ...], np.dtype[np.generic]]

# Calls of a run: slicing the blocks costs more than two of them save.
_SHORTEST: Final = 3

_AT_THE_END: Final = 1 << 60


@dataclass(slots=True)
class _Array:
    """An array that may be put into a buffer."""

    node: Node
    function: Callable[..., Any]
    graph: Graph
    made: int  # the index of its call
    read: int  # that of the last that reads it
    key: _Key
    leaves: bool
    over: bool  # its call may write over an operand
    whole: _Key  # the key of all of it, where the other is that of a block


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
    block
        How many elements are computed at once, where several calls behind one another are.
    """

    def __init__(self, smallest: int, block: int) -> None:
        self.smallest = smallest
        self.block = block

    def candidates(self, graph: Graph) -> Collection[Node]:
        """Return the calls that may be given a buffer, and the numbers that they take."""
        if not graph.inputs:
            return ()
        self.layouts = Layouts(graph)
        graphs = list(graph.nested())
        kept = {node for one in graphs for node in one.keep}
        to_the_end = {node for one in graphs for node in one.keep if node not in one.keep_for}
        found: list[Node] = []
        for one in graphs:
            for node in one.nodes:
                known = node not in to_the_end and not node.escapes
                if not known or self.layouts.of.get(node) is not Order.C:
                    continue
                plain = elementwise(node) is not None and has_known_size(graph, node)
                if plain and _stays(node, kept) is not None:
                    found.append(node)
        calls = with_users(found, Sizes(graph, found))
        return [
            *calls,
            *(used for node in calls for used in node.uses() if _is_computed_number(used)),
        ]

    def plan(self, places: Places, candidates: Collection[Node]) -> Plan | None:
        """Return which call writes into which buffer; None if none does."""
        nodes = [node for node in candidates if not _is_computed_number(node)]
        sizes = Sizes(places.graph, nodes)
        orders = {node: swaps(node, sizes) for node in nodes}
        if None in orders.values() or not nodes:
            return None
        arrays = {node: self._array(places, node, sizes) for node in nodes}
        # Rows and columns beside matrices are not worth a buffer.
        counts = Counter(one.key[0] for one in arrays.values())
        main = max(counts, key=lambda shape: (_symbolic_axes(shape), counts[shape]))
        most = _symbolic_axes(main)
        arrays = {n: one for n, one in arrays.items() if _symbolic_axes(one.key[0]) == most}
        runs = [*_Runs(places, arrays, main, self.layouts, sizes).find()]
        run_of = {one.node: run for run in runs for one in run.arrays}
        # Only a block of what numpy.where gives is cheap to copy.
        arrays = {
            n: one for n, one in arrays.items() if n in run_of or one.function is not np.where
        }
        local: set[tuple[Dim, ...]] = set()
        for run in runs:
            shape = self._block_shape(run, main)
            local.add(shape)
            for one in run.arrays:
                if not one.leaves and one.read <= run.arrays[-1].made:
                    one.key = shape, one.key[1]
        taken: set[Node] = set()
        leaving = [
            buffer
            for buffer in _leaving(arrays, taken)
            if len(buffer.arrays) > 1 or buffer.arrays[0].node in run_of
        ]
        scratch = _scratch(places, arrays, run_of, taken)
        found = [*scratch, *leaving]
        if not found:
            return None
        calls, makes = self._calls(found, run_of, orders, main)
        for node in nodes:  # what has a name is no temporary to NumPy: the order must be said
            function = elementwise(node)
            if node not in calls and orders[node] and function is not None:
                calls[node] = Stored(function, 2, None, swapped=count_bytes(node))
        blocks = frozenset(n for n, buffer in enumerate(scratch) if buffer.key[0] in local)
        inputs = [node for node in places.graph.inputs if has_axes(node)]
        whole = (node for node in inputs if sizes.shape(array_shape(node)) == main)
        return Plan(
            calls,
            tuple(Scratch(*buffer.key) for buffer in scratch),
            ScratchPool([buffer.key[1] for buffer in scratch]),
            next(whole, product(main)),
            self.smallest,
            tuple(sizes.equal),
            tuple(inputs),
            tuple(self._run(run, calls, makes, blocks) for run in runs),
        )

    def _calls(
        self,
        buffers: list[_Buffer],
        run_of: Container[Node],
        orders: Mapping[Node, bool | None],
        main: tuple[Dim, ...],
    ) -> tuple[dict[Node, Stored], dict[Node, int]]:
        """Return how each call gets its memory, and the buffers that are made in runs, by the call that is first in them."""
        calls: dict[Node, Stored] = {}
        makes: dict[Node, int] = {}
        for number, buffer in enumerate(buffers):
            first = min(buffer.arrays, key=lambda one: one.made).node if buffer.leaving else None
            if first is not None and first in run_of:
                makes[first] = number
            for one in buffer.arrays:
                starts = one.node is first and first not in run_of
                swapped: bool | Expr = False
                if orders[one.node]:
                    least = self.smallest * one.whole[1].itemsize
                    always = one.whole[0] == main and least >= LEAST
                    swapped = always or count_bytes(one.node)
                calls[one.node] = Stored(
                    one.function, count_inputs(one.function), number, starts, swapped
                )
        return calls, makes

    def _block_shape(self, run: _Run, main: tuple[Dim, ...]) -> tuple[Dim, ...]:
        if run.flat or len(main) == 1:
            return (self.block,)
        row = maximum(product(main[1:]), 1)
        return maximum(floor_divide(self.block, row), 1), *main[1:]

    def _run(
        self,
        run: _Run,
        calls: dict[Node, Stored],
        makes: dict[Node, int],
        blocks: frozenset[int],
    ) -> Run:
        nodes = tuple(one.node for one in run.arrays)
        last = run.arrays[-1].made
        return Run(
            nodes,
            frozenset(run.whole),
            frozenset(run.sliced),
            len(array_shape(nodes[0])),
            run.flat,
            self.block,
            blocks & {calls[n].buffer for n in nodes},
            tuple((makes[n], dtype_of(n)) for n in nodes if n in makes),
            frozenset(one.node for one in run.arrays if one.leaves or one.read > last),
            tuple(run.views),
        )

    def _array(self, places: Places, node: Node, sizes: Sizes) -> _Array:
        graph, made = places.where[node]
        function = elementwise(node)
        assert function is not None
        last = places.last[graph]
        family = _stays(node, places.kept)
        assert family is not None
        members, leaves = family
        read = _AT_THE_END if leaves else max(last.get(member, made) for member in members)
        if node in places.kept:
            read += 1  # it must be there even when the call that reads it has failed
        meta = array_meta(node)
        assert meta is not None
        key = sizes.shape(meta.shape), meta.dtype
        over = may_write_over_operands(node)
        return _Array(node, function, graph, made, read, key, leaves, over, key)


def _stays(node: Node, kept: Collection[Node]) -> tuple[list[Node], bool] | None:
    """Return the values in the memory of a new array, and whether one is an output of its graph; None if it may be got hold of otherwise.

    What a bail-out record needs is copied then, which would part it from its views.
    """
    members, leaves = [node], False
    for member in members:
        if member.escapes or (member in kept and member is not node):
            return None
        for user in member.users:
            if user.kind is NodeKind.OUTPUT:
                leaves = True
            elif not only_looks(user, member):
                return None
            elif maker(user) is node and user not in members:
                members.append(user)
    if node in kept and len(members) > 1:
        return None
    return members, leaves


def _leaving(arrays: dict[Node, _Array], taken: set[Node]) -> Iterator[_Buffer]:
    """Yield a buffer for each array that leaves, with those on the way to it that can be in its memory before."""
    for last in sorted(arrays.values(), key=lambda one: -one.made):
        if last.leaves:
            yield _Buffer(last.key, _chain(last, arrays, taken), leaving=True)


def _chain(last: _Array, arrays: dict[Node, _Array], taken: set[Node]) -> list[_Array]:
    """Return an array with those that can be in its memory before, one after another, and take them."""
    found = [last]
    taken.add(last.node)
    while found[-1].over:
        now = found[-1]
        before = [arrays[used] for used in now.node.uses() if used in arrays and used not in taken]
        fitting = [
            one for one in before
            if one.whole == last.whole and one.graph is last.graph and not one.leaves and one.read <= now.made
        ]  # fmt: skip
        if not fitting:
            break
        found.append(min(fitting, key=lambda one: one.made))  # the longest way back
        taken.add(found[-1].node)
    return found


@dataclass(slots=True)
class _Run:
    """Calls that are made block by block."""

    arrays: list[_Array] = field(default_factory=list)
    nodes: set[Node] = field(default_factory=set)
    whole: set[Node] = field(default_factory=set)
    sliced: set[Node] = field(default_factory=set)
    flat: bool = True
    views: list[Node] = field(default_factory=list)


class _Runs:
    """Finds the calls behind one another that are made block by block."""

    def __init__(
        self,
        places: Places,
        arrays: dict[Node, _Array],
        main: tuple[Dim, ...],
        layouts: Layouts,
        sizes: Sizes,
    ) -> None:
        self.places = places
        self.arrays = arrays
        self.main = main
        self.layouts = layouts
        self.sizes = sizes

    def find(self) -> Iterator[_Run]:
        """Yield the runs that are long enough."""
        for graph in self.places.graph.nested():
            run = _Run(flat=len(self.main) > 1)
            waiting: list[Node] = []  # views behind the last call of the run
            for node in graph.nodes:
                passed = node.kind in (NodeKind.INPUT, NodeKind.CONST)
                if passed or node in self.places.nested or item_of(node) is not None:
                    continue
                if self._is_view_apart(run, node):
                    waiting.append(node)
                    continue
                if self._takes(run, node):
                    run.views += waiting
                    waiting = []
                else:
                    waiting = []
                    if _is_worth_it(run):
                        yield run
                    run = _Run(flat=len(self.main) > 1)
                    self._takes(run, node)

    def _is_view_apart(self, run: _Run, node: Node) -> bool:
        """Whether a statement between two calls of a run is a view that can as well be made before the run."""
        if not run.arrays or node.target is not operator.getitem or node.alias != "view":
            return False
        graph, _ = self.places.where[node]
        read: set[Value] = set()
        for operand in node.operands:
            read |= self.places.values_of(operand, graph)
        return not read & (run.nodes | set(run.views)) and maker(node) not in self.arrays

    def _takes(self, run: _Run, node: Node) -> bool:
        """Append a call to a run, if it fits."""
        one = self.arrays.get(node)
        if one is None or one.key[0] != self.main or one.function not in BLOCKWISE:
            return False
        whole: list[Node] = []
        sliced: list[Node] = []
        flat = run.flat
        for used in node.uses():
            if used in run.nodes:
                continue
            graph, _ = self.places.where[node]
            if used in self.places.nested and self.places.values_of(used, graph) & run.nodes:
                return False
            if not has_axes(used):
                if used.multi:
                    return False
                continue
            if used not in self.arrays and maker(used) in self.arrays:
                return False  # a view of a buffer
            shape = self.sizes.shape(array_shape(used))
            if shape == self.main:
                whole.append(used)
                sliced.append(used)
                flat &= self.layouts.of.get(used) is Order.C and used not in self.places.nested
            else:
                flat = False
                if len(shape) == len(self.main) and shape[0] != 1:
                    if shape[0] != self.main[0]:
                        return False
                    sliced.append(used)
        run.arrays.append(one)
        run.nodes.add(node)
        run.whole.update(whole)
        run.sliced.update(sliced)
        run.flat = flat
        return True


def _is_worth_it(run: _Run) -> bool:
    """Whether blocks save more than their slicing costs: calls that do not follow from one another have nothing in the caches for each other."""
    follow = any(used in run.nodes for node in run.nodes for used in node.uses())
    return len(run.arrays) >= _SHORTEST and follow and bool(run.whole)


def _scratch(
    places: Places, arrays: dict[Node, _Array], run_of: Container[Node], taken: set[Node]
) -> list[_Buffer]:
    """Return as few buffers as are needed for the arrays that are not taken."""
    found: list[_Buffer] = []

    def place(key: _Key, group: list[_Array]) -> None:
        free = (b for b in found if b.key == key and all(_is_free(places, b, one) for one in group))
        home = next(free, None)
        if home is None:
            home = _Buffer(key)
            found.append(home)
        home.arrays += group

    left = [one for one in arrays.values() if one.node not in taken]
    left.sort(key=lambda one: (_depth(places, one.graph), one.made))
    for one in left:
        # What is written block by block and read as a whole: its blocks serve for those before it too.
        if one.node in run_of and one.key == one.whole and one.node not in taken:
            place(one.whole, _chain(one, arrays, taken))
    for one in left:
        if one.node not in taken:
            place(one.key, [one])
    return found


def _symbolic_axes(shape: tuple[Dim, ...]) -> int:
    return sum(isinstance(dim, Expr) for dim in shape)


def _is_computed_number(node: Node) -> bool:
    return node.kind is NodeKind.CALL and not node.multi and not has_axes(node)


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
