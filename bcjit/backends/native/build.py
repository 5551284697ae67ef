"""A graph with its groups as kernels: programs out of groups, kernels out of programs, and one call in place of many."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from bcjit import _core
from bcjit.backends.native.alone import MOST_ALONE
from bcjit.backends.native.compiled import Compiled, compiled
from bcjit.backends.native.fast import quick
from bcjit.backends.native.groups import drafts, read_elsewhere
from bcjit.backends.native.inputs import Inputs, fits
from bcjit.backends.native.masks import masked_writes
from bcjit.backends.native.outcomes import Group, halves, lazy_views, outcomes
from bcjit.backends.native.program import Program, flags_that_count, loops_of
from bcjit.backends.native.reduce_bound import bound_items, constant_of, counted, result_row
from bcjit.backends.native.reduce_groups import ReduceGroup, reduce_groups
from bcjit.backends.native.reduce_plan import pieces, plan
from bcjit.backends.native.scalars import Apply, Item, Leaf, Table
from bcjit.backends.native.scan_groups import ScanGroup, alone, running_items, scan_groups
from bcjit.backends.native.scan_plan import MOST_OPERANDS, scan_plan
from bcjit.backends.native.scan_tracing import scans_copy
from bcjit.backends.native.tracing import copies
from bcjit.backends.native.unroll import sizes_of, unrolled
from bcjit.backends.native.views import Picked, view_of
from bcjit.backends.native.writes import (
    Write,
    bound_alone,
    counts_flags,
    drop_own_stores,
    leave_unless_done,
    lone_write,
    not_done,
    own_views,
    write_of,
)
from bcjit.fx_graph import Graph, Node, map_operand, returning_value
from bcjit.fx_graph.expressions import warns_here
from bcjit.fx_graph.extract import copy_graph, extract
from bcjit.meta import ScalarMeta
from bcjit.records import dataclass, replace

if TYPE_CHECKING:
    from bcjit.dims import Expr

__all__ = ["Built", "build"]

DType: TypeAlias = "np.dtype[Any]"

# As bcjit/csrc/kernel.h has it.
_RESULTS: Final = 8


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A graph that calls kernels."""

    graph: Graph
    origin: dict[Node, Node]  # of its nodes in the graph it was made of
    kernels: tuple[Compiled, ...]


def build(
    graph: Graph,
    smallest: int,
    *,
    fast: bool = False,
    example_inputs: Sequence[object] | None = None,
) -> Built:
    """Return a copy of a graph in which groups of calls are calls of kernels.

    Parameters
    ----------
    graph
        Complete; it stays as it is.
    smallest
        The fewest calls of which a kernel is made.
    fast
        Whether functions may be polynomials, and sums in another order.
    example_inputs
        Of the first call, for what its sizes say; None: nothing is made for certain sizes.
    """
    origin: dict[Node, Node] = {}
    copy = copy_graph(graph, origin=origin)
    sizes = sizes_of(copy, example_inputs)
    made: list[Compiled] = []
    for one in tuple(copy.nested()):
        drop_own_stores(one)
        made += masked_writes(one, copy, origin, fast=fast)
        moved: dict[Node, Node] = {}  # results of calls that are in kernels now
        written_out = (
            {} if example_inputs is None else unrolled(one, copy.equal, sizes, exact=not fast)
        )
        others = {node for each, found in written_out.items() for node in (each, *found.inside)}
        for reducing in reduce_groups(one, copy.equal, others):
            reduction = _Kernel.with_reductions(one, reducing, moved, fast=fast)
            if reduction is not None:
                made += reduction.codes
                moved |= reduction.put(origin)
        scans = scan_groups(one, copy.equal, others)
        while scans:
            scanning = scans.pop(0)
            scan = _Kernel.with_scans(one, scanning, moved, fast=fast)
            if scan is not None:
                made += scan.codes
                moved |= scan.put(origin)
            else:
                scans[:0] = alone(one, scanning)
        waiting = outcomes(one, drafts(one, copy.equal, written_out), smallest)
        while waiting:
            group = waiting.pop(0)
            kernel = _Kernel.of(one, group, moved, fast=fast)
            if kernel is not None:
                made += kernel.codes
                moved |= kernel.put(origin)
            elif len(group.nodes) > 1:
                waiting[:0] = outcomes(one, halves(group), smallest)
        made += _lone_writes(one, origin)
    return Built(copy, origin, tuple(made))


def _lone_writes(graph: Graph, origin: dict[Node, Node]) -> list[Compiled]:
    """Have kernels do the writes that no group does, where that saves views, and where no flag can be up: there they store at once."""
    codes = []
    for node in tuple(graph.nodes):
        write = lone_write(node)
        lazy = () if write is None else lazy_views(graph, node, set())
        if write is None or not lazy:
            continue
        inputs = Inputs((), own_views(write))
        program = Program(
            (bound_alone(write.item, inputs.item),),
            tuple(element.dtype for element in inputs.operands.values()),
            tuple(number.dtype for number in inputs.numbers.values()),
        )
        if not fits(graph, inputs) or any(map(counts_flags, program.items)):
            continue
        code = compiled(program)
        codes.append(code)
        to = inputs.row(write.to, write.item.dtype)
        target = _core.Kernel(
            code.loaded.address, code.loaded, not_done, len(inputs.arguments), 0,
            tuple(inputs.operand_rows), tuple(inputs.number_rows), (write.item.dtype.num,), loops_of(program),
            code.width, code.block, code.scratch, 0, True, to, 1,
        )  # fmt: skip
        done = graph.call(
            target, tuple(inputs.arguments), meta=ScalarMeta(bool), writes=(write.to.base,),
            can_fail=False, name="left", line=node.line, before=node,
        )  # fmt: skip
        done.visible = node.visible
        origin[done] = origin[node]
        leave_unless_done(graph, node, lazy, done)
    return codes


def _for_other_sizes(graph: Graph, *, fast: bool) -> Callable[..., object]:
    """Return what does the calls of a kernel that is for certain sizes: kernels that are for all, made when they are needed."""
    made: list[Callable[..., object]] = []

    def fallback(*args: object) -> object:
        if not made:
            found = build(graph, 2, fast=fast).graph.to_callable()
            made.append(returning_value(found) or found)
        return made[0](*args)

    return fallback


def _by_now(source: object, moved: Mapping[Node, Node]) -> object:
    """Return what gives a value from outside, or the array that elements are chosen of, where kernels do some calls."""
    if isinstance(source, Picked):
        return replace(source, base=moved.get(source.base, source.base))
    return moved.get(source, source) if isinstance(source, Node) else source


def _layouts(group: Group) -> int:
    """Return for which layouts of operands NumPy's results lie as a kernel has them: 1 of one piece, since something is copied; 2 C's."""
    if any(map(read_elsewhere, group.items.values())):
        return 2
    return int(any(map(copies, group.nodes)))


@dataclass(slots=True, eq=False)
class _Kernel:
    """A kernel and the calls it does."""

    graph: Graph
    group: Group | ReduceGroup | ScanGroup
    arguments: tuple[Node | Expr, ...]
    target: Callable[..., object]
    codes: tuple[Compiled, ...]

    @classmethod
    def of(
        cls, graph: Graph, group: Group, moved: dict[Node, Node], *, fast: bool
    ) -> _Kernel | None:
        """Return the kernel of a group, None where it has more of something than a kernel can have."""
        write = None if group.write is None else write_of(group.write.node)
        views = {
            node: view for node in group.views if (view := view_of(node, copies=True)) is not None
        }
        inside = {*group.nodes, *(node for view in views.values() for node in view.nodes)}
        calls = [node for node in graph.nodes if node in inside]
        returned = (*group.results, *group.handed)
        taken = extract(graph, calls, returned)
        inputs = Inputs(taken.inputs, views)
        items: dict[Node, Item] = {}
        memo: dict[Item, Item] = {}

        def bound(item: Item) -> Item:
            if item in memo:
                return memo[item]
            made: Item = item
            if isinstance(item, Leaf):
                source = item.source
                inner = items.get(source) if isinstance(source, Node) else None
                source = _by_now(source, moved)
                made = inner or constant_of(source) or inputs.item(replace(item, source=source))
            elif isinstance(item, Table):
                source = cast("Node", item.source)
                made = inputs.table(replace(item, source=moved.get(source, source)))
            elif isinstance(item, Apply):
                made = Apply(item.function, item.dtypes, tuple(map(bound, item.operands)))
            memo[item] = made
            return made

        for node, item in group.items.items():
            items[node] = bound(item)
        results = [items[node] for node in group.results]
        if write is not None:
            views |= own_views(write)
            results.append(bound(write.item))
        if len(returned) > _RESULTS or not fits(graph, inputs):
            return None
        program = Program(
            quick(results) if fast else tuple(results),
            tuple(element.dtype for element in inputs.operands.values()),
            tuple(number.dtype for number in inputs.numbers.values()),
        )
        code = compiled(program)
        fallback: Callable[..., object] = taken.graph.to_callable()
        if any(map(read_elsewhere, group.items.values())):
            fallback = _for_other_sizes(taken.graph, fast=fast)
        elif len(returned) == 1:
            fallback = _single(fallback)
        to = None if write is None else inputs.row(write.to, write.item.dtype)
        target = _core.Kernel(
            code.loaded.address, code.loaded, fallback, len(inputs.arguments), len(taken.inputs),
            tuple(inputs.operand_rows), tuple(inputs.number_rows),
            tuple(item.dtype.num for item in results), loops_of(program), code.width,
            code.block, code.scratch, max(map(flags_that_count, program.items)),
            all(not node.can_fail or warns_here(node) for node in calls),
            to, len(group.handed), _layouts(group), MOST_ALONE if group.alone else 0,
            tables=tuple(inputs.tables), computes_numbers=program.computes_numbers,
        )  # fmt: skip
        return cls(graph, group, tuple(inputs.arguments), target, (code,))

    @classmethod
    def with_reductions(
        cls, graph: Graph, group: ReduceGroup, moved: dict[Node, Node], *, fast: bool
    ) -> _Kernel | None:
        """Return the kernel of a group with reductions, None where there is none."""
        views = {
            node: view for node in group.views if (view := view_of(node, copies=True)) is not None
        }
        inside = {*group.nodes, *(node for view in views.values() for node in view.nodes)}
        calls = [node for node in graph.nodes if node in inside]
        taken = extract(graph, calls, group.results)
        inputs = Inputs(taken.inputs, views)
        inputs.places |= counted(group)
        items = bound_items(group, inputs.item, lambda source: moved.get(source, source))
        if fast:
            items = dict(zip(items, quick(tuple(items.values())), strict=True))
        assert group.axes is not None
        found = plan(
            [(node, items[node], node in group.folded) for node in group.results],
            trailing=group.axes[-1] == len(group.shape) - 1,
        )
        if found is None or not fits(graph, inputs):
            return None
        fallback: Callable[..., object] = taken.graph.to_callable()
        if len(group.results) == 1:
            fallback = _single(fallback)
        target = _core.ReduceKernel(
            fallback, len(inputs.arguments), len(taken.inputs), len(group.shape), group.axes, pieces(),
            tuple((*row, i in found.folded) for i, row in enumerate(inputs.operand_rows)),
            tuple(inputs.number_rows), found.bigs, found.smalls, found.phases,
            tuple(
                (place, *result_row(node, len(group.shape)))
                for node, place in zip(group.results, found.places, strict=True)
            ),
            found.checks_flags, all(not node.can_fail or warns_here(node) for node in calls),
        )  # fmt: skip
        return cls(graph, group, tuple(inputs.arguments), target, found.codes)

    @classmethod
    def with_scans(
        cls, graph: Graph, group: ScanGroup, moved: dict[Node, Node], *, fast: bool
    ) -> _Kernel | None:
        """Return the kernel of a group with scans, None where there is none."""
        taken = extract(graph, group.nodes, group.results)
        inputs = Inputs(taken.inputs, {})
        items = running_items(group, inputs.item, lambda source: moved.get(source, source))
        results = [items[node] for node in group.results]
        found = scan_plan(
            quick(results) if fast else results, [one.dtype for one in inputs.numbers.values()]
        )
        if found is None or not fits(graph, inputs) or len(inputs.operands) > MOST_OPERANDS:
            return None
        fallback: Callable[..., object] = taken.graph.to_callable()
        if len(group.results) == 1:
            fallback = _single(fallback)
        assert group.axis is not None
        target = _core.ScanKernel(
            fallback, len(inputs.arguments), len(taken.inputs), len(group.shape), group.axis,
            tuple(row[:2] for row in inputs.operand_rows), tuple(inputs.number_rows), found.values,
            found.phases, tuple((i, group.is_flat(node)) for i, node in enumerate(group.results)),
            found.checks_flags, all(not node.can_fail or warns_here(node) for node in group.nodes),
            any(copies(node) or scans_copy(node) for node in group.nodes),
        )  # fmt: skip
        return cls(graph, group, tuple(inputs.arguments), target, found.codes)

    @property
    def write(self) -> Write | None:
        """The write that it does."""
        return self.group.write if isinstance(self.group, Group) else None

    @property
    def handed(self) -> tuple[Node, ...]:
        """What it gives only where it has not done the write."""
        return self.group.handed if isinstance(self.group, Group) else ()

    def put(self, origin: dict[Node, Node]) -> dict[Node, Node]:
        """Have the graph call the kernel instead: as its first call, which keeps its place and what a failure there means.

        Returns what gives each result now.
        """
        graph, (first, *others) = self.graph, self.group.nodes
        results = (*self.group.results, *self.handed)
        metas = tuple(node.meta[0] for node in results)
        can_fail = any(node.can_fail for node in self.group.nodes)
        after = self._place()
        multi = len(results) > 1
        if multi:
            made = {
                node: graph.call(
                    operator.getitem,
                    (first, i),
                    meta=node.meta[0],
                    can_fail=False,
                    name=node.name,
                    line=node.line,
                    before=after,
                )
                for i, node in enumerate(results)
            }
        else:
            made = {results[0]: first}
        for node in results:
            new = made[node]
            if new is node:
                continue
            _hand_on(graph, node, new, keep={*made.values(), first})
            origin[new] = origin[node]
        for node in reversed(others):
            graph.set_operands(node, ())
        graph.set_operands(first, self.arguments)
        for node in others:
            graph.keep.discard(node)
            graph.erase(node)
            origin.pop(node, None)
        first.target, first.op, first.temporaries = self.target, None, None
        first.meta, first.multi, first.can_fail = metas, multi, can_fail
        if multi:
            graph.keep.discard(first)
        self._move(first, after, list(made.values()) if multi else [])
        self._leave_write(first, made)
        self._erase_views(origin)
        return made

    def _leave_write(self, kernel: Node, made: dict[Node, Node]) -> None:
        """Have the write made where the kernel has not done it."""
        graph, group, write = self.graph, self.group, self.write
        if write is None:
            return
        assert isinstance(group, Group)
        done = made[self.handed[0]]
        kernel.writes, kernel.visible = (write.to.base,), write.node.visible
        leave_unless_done(graph, write.node, group.lazy, done)

    def _erase_views(self, origin: dict[Node, Node]) -> None:
        """Drop the views that nobody else needs; nothing of what they are made of is left to fail."""
        graph = self.graph
        read_from = {node for node, _ in graph.symbols.values()}
        queue = [] if isinstance(self.group, ScanGroup) else list(self.group.views)
        while queue:
            node = queue.pop()
            if node.users or node in graph.keep or node in read_from:
                continue
            if view_of(node, copies=True) is None:
                continue
            queue += [one for one in node.uses() if one in graph.nodes]
            graph.erase(node)
            origin.pop(node, None)

    def _place(self) -> Node:
        """Return the node before which the kernel stands: behind all that it takes, and not before its first call."""
        if self.write is not None:
            return self.write.node
        nodes = self.graph.nodes
        inside = set(self.group.nodes)
        needed = {node for node in self.arguments if isinstance(node, Node)}
        last = max((i for i, node in enumerate(nodes) if node in needed), default=-1)
        start = max(last + 1, nodes.index(self.group.nodes[0]) + 1)
        return next(node for node in nodes[start:] if node not in inside)

    def _move(self, kernel: Node, before: Node, items: list[Node]) -> None:
        moved = [kernel, *items]
        rest = [node for node in self.graph.nodes if node not in set(moved)]
        at = rest.index(before)
        # What uses a result and stood before it comes behind.
        head, tail = rest[:at], rest[at:]
        late: list[Node] = []
        known = set(moved)
        for node in tuple(head):
            if known & set(node.uses()):
                head.remove(node)
                late.append(node)
                known.add(node)
        self.graph.reorder([*head, *moved, *late, *tail])


def _single(function: Callable[..., object]) -> Callable[..., object]:
    single = returning_value(function)
    assert single is not None
    return single


def _hand_on(graph: Graph, old: Node, new: Node, keep: set[Node]) -> None:
    """Have the users of a result use what gives it now."""
    users = [user for user in old.users if user not in keep]
    for user in users:
        _swap(graph, user, old, new)
    if old in graph.keep:
        graph.keep.discard(old)
        graph.keep.add(new)
    for symbol, (source, axis) in tuple(graph.symbols.items()):
        if source is old:
            graph.symbols[symbol] = (new, axis)


def _swap(graph: Graph, user: Node, old: Node, new: Node) -> None:
    def other(leaf: object) -> object:
        return new if leaf is old else leaf

    graph.set_operands(
        user,
        tuple(map_operand(arg, other) for arg in user.args),
        {key: map_operand(arg, other) for key, arg in user.kwargs.items()},
    )
    user.writes = tuple(new if node is old else node for node in user.writes)
    for sharing in (user, *user.users) if user.multi else (user,):
        sharing.view_of = new if sharing.view_of is old else sharing.view_of
