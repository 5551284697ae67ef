"""Gives the temporaries of a graph buffers by their lifetimes; it calls nothing and writes no code.

A *temporary* is the new memory of a call that is one ufunc, of which nothing outlives its graph. A *leaving* array is one that does: NumPy makes
its memory, once, and the temporaries before it on the way may be in that memory already. All is under a test of the inputs
(`bcjit.fx_graph.buffers.Plan`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from bcjit.backends.fused.buffer import Buffer
from bcjit.backends.fused.calls import (
    array_meta,
    array_shape,
    count_inputs,
    elementwise,
    is_blockwise,
    may_write_over_operands,
    only_looks,
    row_reduction,
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
from bcjit.backends.fused.runs import Array, FoundRun, Key, Runs, masks
from bcjit.backends.fused.scratch import ScratchPool
from bcjit.backends.fused.threads import in_threads
from bcjit.dims import Dim, Expr, floor_divide, maximum, minimum, product
from bcjit.fx_graph import Node, NodeKind, maker
from bcjit.fx_graph.blocks import UNIT
from bcjit.fx_graph.buffers import Plan, Run, Scratch, Stored
from bcjit.fx_graph.elision import LEAST
from bcjit.records import replace

if TYPE_CHECKING:
    from bcjit.fx_graph import Graph
    from bcjit.fx_graph.places import Places

__all__ = ["BufferPlanner"]

# How many times as large arrays must be where nothing is made block by block: NumPy's allocator gives memory that is still in the caches.
_WITHOUT_RUNS: Final = 4

_AT_THE_END: Final = 1 << 60


class BufferPlanner:
    """Plans the buffers of graphs; made for one call of the backend.

    Parameters
    ----------
    smallest
        The least number of elements for which buffers are used: elements of eight bytes; there must be more smaller ones.
    block
        How many such elements are computed at once, where several calls behind one another are.
    """

    def __init__(self, smallest: int, block: int) -> None:
        self.smallest = self._smallest = smallest
        self.block = self._block = block

    def candidates(self, graph: Graph) -> Collection[Node]:
        """Return the calls that may be given a buffer, and the numbers that they take."""
        if not graph.inputs:
            return ()
        self.layouts = Layouts(graph)
        graphs = list(graph.nested())
        kept = {node for one in graphs for node in one.keep}
        to_the_end = {node for one in graphs for node in one.keep if node not in one.keep_for}
        found: list[Node] = []
        rows: list[Node] = []
        for one in graphs:
            for node in one.nodes:
                known = node not in to_the_end and not node.escapes
                if not known or self.layouts.of.get(node) is not Order.C:
                    continue
                plain = elementwise(node) is not None and has_known_size(graph, node)
                if plain and _stays(node, kept) is not None:
                    found.append(node)
                elif row_reduction(node) is not None and has_known_size(graph, node):
                    rows.append(node)
        calls = with_users([*found, *rows], Sizes(graph, found))
        return [
            *calls,
            *(used for node in calls for used in node.uses() if _is_computed_number(used)),
        ]

    def plan(self, places: Places, candidates: Collection[Node]) -> Plan | None:
        """Return which call writes into which buffer; None if none does."""
        reductions = [node for node in candidates if row_reduction(node) is not None]
        nodes = [
            node for node in candidates if elementwise(node) is not None and node not in reductions
        ]
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
        self._measure(arrays)
        small = {
            *reductions,
            *(node for node in nodes if node not in arrays and is_blockwise(node)),
        }
        runs = [*Runs(places, arrays, main, self.layouts, sizes, small).find()]
        if not runs:
            self.smallest *= _WITHOUT_RUNS
        run_of = {one.node: run for run in runs for one in run.arrays}
        # Only a block of what numpy.where gives is cheap to copy.
        arrays = {
            n: one for n, one in arrays.items() if n in run_of or one.function is not np.where
        }
        local, masked = self._find_local(runs, main)
        taken: set[Node] = set()
        leaving = [
            buffer
            for buffer in _leaving(arrays, taken)
            if len(buffer.arrays) > 1 or buffer.arrays[0].node in run_of
        ]
        scratch = _scratch(places, arrays, run_of, taken, [mask for mask, _ in masked])
        found = [*scratch, *leaving]
        if not found:
            return None
        calls, makes = self._calls(found, run_of, orders, main)
        for node in nodes:  # what has a name is no temporary to NumPy: the order must be said
            function = elementwise(node)
            if node not in calls and orders[node] and function is not None:
                calls[node] = Stored(function, 2, None, swapped=count_bytes(node))
        for node in {node: None for run in runs for node in run.rows}:
            calls.setdefault(node, _small_call(node))
        _add_masks(calls, scratch, masked)
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
            tuple(self._run(places, run, main, calls, makes, blocks) for run in runs),
            in_threads,
        )

    def _find_local(
        self, runs: list[FoundRun], main: tuple[Dim, ...]
    ) -> tuple[set[tuple[Dim, ...]], list[tuple[Array, list[Array]]]]:
        """Let what is only read inside a run have a block; return the shapes of blocks, and the masks with the calls that choose by them."""
        local: set[tuple[Dim, ...]] = set()
        masked: list[tuple[Array, list[Array]]] = []
        for run in runs:
            shape = self._block_shape(run, main)
            local.add(shape)
            masked += masks(run, shape)
            for one in run.arrays:
                if not one.leaves and one.read <= run.last:
                    one.key = shape, one.key[1]
        for _, users in masked:
            for one in users:
                one.over = False  # its result is written before the other operand is read
        return local, masked

    def _measure(self, arrays: Collection[Node]) -> None:
        """Count sizes in elements of the largest dtype that is worked on."""
        touched = [*arrays, *(used for node in arrays for used in node.uses() if has_axes(used))]
        most = max(dtype_of(node).itemsize for node in touched if array_meta(node) is not None)
        self.smallest = self._smallest * 8 // most
        self.block = max(self._block * 8 // most, 1)

    def _calls(
        self,
        buffers: list[Buffer],
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
                if one.function is None:
                    continue
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

    def _block_of(self, run: FoundRun) -> int:
        """Return how many elements a block has: a reduction of rows costs more beside its work than other calls."""
        return 2 * self.block if run.rows else self.block

    def _block_shape(self, run: FoundRun, main: tuple[Dim, ...]) -> tuple[Dim, ...]:
        if run.flat or len(main) == 1:
            return (self.block,)
        row = maximum(product(main[1:]), 1)
        rows = maximum(floor_divide(self._block_of(run), row), 1)
        if self._block_of(run) % UNIT == 0:  # see there
            rows = minimum(main[0], floor_divide(rows + (UNIT - 1), UNIT) * UNIT)
        return rows, *main[1:]

    def _run(
        self,
        places: Places,
        run: FoundRun,
        main: tuple[Dim, ...],
        calls: dict[Node, Stored],
        makes: dict[Node, int],
        blocks: frozenset[int],
    ) -> Run:
        nodes = tuple(sorted(run.nodes, key=lambda node: places.where[node][1]))
        return Run(
            nodes,
            frozenset(run.whole),
            frozenset(run.sliced),
            main,
            run.flat,
            self._block_of(run),
            blocks & {k for n in nodes for k in (calls[n].buffer, calls[n].mask)},
            tuple((makes[n], dtype_of(n)) for n in nodes if n in makes),
            frozenset(one.node for one in run.arrays if one.leaves or one.read > run.last),
            tuple(run.views),
            frozenset(run.rows),
        )

    def _array(self, places: Places, node: Node, sizes: Sizes) -> Array:
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
        return Array(node, function, graph, made, read, key, leaves, over, key)


def _small_call(node: Node) -> Stored:
    """Return how the numbers of rows are made."""
    function = row_reduction(node)
    if function is not None:
        return Stored(function, 1, None)
    function = elementwise(node)
    assert function is not None
    return Stored(function, count_inputs(function), None)


def _add_masks(
    calls: dict[Node, Stored], scratch: list[Buffer], masked: list[tuple[Array, list[Array]]]
) -> None:
    numbers = {one: n for n, buffer in enumerate(scratch) for one in buffer.arrays}
    for mask, users in masked:
        for one in users:
            first = one is users[0]
            calls[one.node] = replace(calls[one.node], mask=numbers[mask], makes_mask=first)


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


def _leaving(arrays: dict[Node, Array], taken: set[Node]) -> Iterator[Buffer]:
    """Yield a buffer for each array that leaves, with those on the way to it that can be in its memory before."""
    for last in sorted(arrays.values(), key=lambda one: -one.made):
        if last.leaves:
            yield Buffer(last.key, leaving=True, arrays=_chain(last, arrays, taken))


def _chain(last: Array, arrays: dict[Node, Array], taken: set[Node]) -> list[Array]:
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


def _scratch(
    places: Places,
    arrays: dict[Node, Array],
    run_of: Container[Node],
    taken: set[Node],
    masks: list[Array],
) -> list[Buffer]:
    """Return as few buffers as are needed for the arrays that are not taken, and for masks."""
    found: list[Buffer] = []
    of_key: dict[Key, list[Buffer]] = {}

    def place(key: Key, group: list[Array]) -> None:
        buffers = of_key.setdefault(key, [])
        home = next((b for b in buffers if all(b.is_free(places, one) for one in group)), None)
        if home is None:
            home = Buffer(key)
            found.append(home)
            buffers.append(home)
        for one in group:
            home.add(one)

    left = [one for one in arrays.values() if one.node not in taken]
    left.sort(key=lambda one: (_depth(places, one.graph), one.made))
    for one in left:
        # What is written block by block and read as a whole: its blocks serve for those before it too.
        if one.node in run_of and one.key == one.whole and one.node not in taken:
            place(one.whole, _chain(one, arrays, taken))
    for one in left:
        if one.node not in taken:
            place(one.key, [one])
    for one in masks:
        place(one.key, [one])
    return found


def _symbolic_axes(shape: tuple[Dim, ...]) -> int:
    return sum(isinstance(dim, Expr) for dim in shape)


def _is_computed_number(node: Node) -> bool:
    return node.kind is NodeKind.CALL and not node.multi and not has_axes(node)


def _depth(places: Places, graph: Graph) -> int:
    return sum(1 for _ in places.chain(graph))
