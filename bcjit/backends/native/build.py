"""A graph with its groups as kernels: programs out of groups, kernels out of programs, and one call in place of many."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from bcjit import _core
from bcjit.backends.native.compiled import Compiled, compiled
from bcjit.backends.native.groups import Group, groups
from bcjit.backends.native.program import Program, flags_that_count, loop_of
from bcjit.backends.native.reduce_bound import bound_items, constant_of, result_row
from bcjit.backends.native.reduce_groups import ReduceGroup, reduce_groups
from bcjit.backends.native.reduce_plan import pieces, plan
from bcjit.backends.native.scalars import Apply, Element, Item, Leaf, Number
from bcjit.fx_graph import Graph, Node, map_operand, returning_value
from bcjit.fx_graph.expressions import warns_here
from bcjit.fx_graph.extract import copy_graph, extract
from bcjit.meta import ArrayMeta
from bcjit.records import dataclass, replace

if TYPE_CHECKING:
    from bcjit.dims import Expr

__all__ = ["Built", "build"]

DType: TypeAlias = "np.dtype[Any]"

# As bcjit/csrc/kernel.h has them.
_OPERANDS, _RESULTS, _NUMBERS = 32, 8, 32
_NUMBER_KINDS: Final = "biuf"


@dataclass(frozen=True, slots=True, eq=False)
class Built:
    """A graph that calls kernels."""

    graph: Graph
    origin: dict[Node, Node]  # of its nodes in the graph it was made of
    kernels: tuple[Compiled, ...]


def build(graph: Graph, smallest: int) -> Built:
    """Return a copy of a graph in which groups of calls are calls of kernels.

    Parameters
    ----------
    graph
        Complete; it stays as it is.
    smallest
        The fewest calls of which a kernel is made.
    """
    origin: dict[Node, Node] = {}
    copy = copy_graph(graph, origin=origin)
    made: list[Compiled] = []
    for one in tuple(copy.nested()):
        moved: dict[Node, Node] = {}  # results of calls that are in kernels now
        for reducing in reduce_groups(one, copy.equal):
            reduction = _Kernel.with_reductions(one, reducing, moved)
            if reduction is not None:
                made += reduction.codes
                moved |= reduction.put(origin)
        for group in groups(one, copy.equal, smallest):
            kernel = _Kernel.of(one, group, moved)
            if kernel is not None:
                made += kernel.codes
                moved |= kernel.put(origin)
    return Built(copy, origin, tuple(made))


class _Inputs:
    """What a kernel is called with: values of nodes, then sizes; and what its code makes of them."""

    def __init__(self, given: tuple[Node, ...]) -> None:
        self.arguments: list[Node | Expr] = list(given)
        self.places: dict[object, int] = {node: i for i, node in enumerate(given)}
        self.operands: dict[object, Element] = {}
        self.numbers: dict[tuple[object, DType], Number] = {}
        self.operand_rows: list[tuple[int, int]] = []
        self.number_rows: list[tuple[int, int, bool]] = []

    def item(self, leaf: Leaf) -> Item:
        """Return what a leaf is in the kernel."""
        if leaf.source not in self.places:  # a size
            self.places[leaf.source] = len(self.arguments)
            self.arguments.append(cast("Expr", leaf.source))
        assert leaf.dtype is not None
        place = self.places[leaf.source]
        meta = leaf.source.meta[0] if isinstance(leaf.source, Node) else None
        if isinstance(meta, ArrayMeta) and not meta.is_scalar:
            if leaf.source not in self.operands:
                self.operands[leaf.source] = Element(len(self.operands), leaf.dtype)
                self.operand_rows.append((place, leaf.dtype.num))
            return self.operands[leaf.source]
        key = leaf.source, leaf.dtype
        if key not in self.numbers:
            self.numbers[key] = Number(len(self.numbers), leaf.dtype)
            self.number_rows.append(
                (place, leaf.dtype.num, meta is not None and isinstance(meta, ArrayMeta))
            )
        return self.numbers[key]


@dataclass(slots=True, eq=False)
class _Kernel:
    """A kernel and the calls it does."""

    graph: Graph
    group: Group | ReduceGroup
    arguments: tuple[Node | Expr, ...]
    target: Callable[..., object]
    codes: tuple[Compiled, ...]

    @classmethod
    def of(cls, graph: Graph, group: Group, moved: dict[Node, Node]) -> _Kernel | None:
        """Return the kernel of a group, None where it has more of something than a kernel can have."""
        taken = extract(graph, group.nodes, group.results)
        inputs = _Inputs(taken.inputs)
        items: dict[Node, Item] = {}
        memo: dict[Item, Item] = {}

        def bound(item: Item) -> Item:
            if item in memo:
                return memo[item]
            made: Item = item
            if isinstance(item, Leaf):
                source = item.source
                inner = items.get(source) if isinstance(source, Node) else None
                if inner is None and isinstance(source, Node) and source in moved:
                    source = moved[source]
                made = inner or constant_of(source) or inputs.item(replace(item, source=source))
            elif isinstance(item, Apply):
                made = Apply(item.function, item.dtypes, tuple(map(bound, item.operands)))
            memo[item] = made
            return made

        for node in group.nodes:
            items[node] = bound(group.items[node])
        results = tuple(items[node] for node in group.results)
        if len(results) > _RESULTS or not _fits(inputs):
            return None
        program = Program(
            results,
            tuple(element.dtype for element in inputs.operands.values()),
            tuple(number.dtype for number in inputs.numbers.values()),
        )
        code = compiled(program)
        fallback: Callable[..., object] = taken.graph.to_callable()
        if len(results) == 1:
            fallback = _single(fallback)
        loops = [
            address
            for item in program.by_loop
            for address in cast("tuple[int, int]", loop_of(item.function, item.dtypes))
        ]
        target = _core.Kernel(
            code.loaded.address, code.loaded.library, fallback, len(inputs.arguments), len(taken.inputs),
            tuple(inputs.operand_rows), tuple(inputs.number_rows),
            tuple(item.dtype.num for item in results), tuple(loops), code.width,
            code.block, code.scratch, max(map(flags_that_count, program.items)),
            all(not node.can_fail or warns_here(node) for node in group.nodes),
        )  # fmt: skip
        return cls(graph, group, tuple(inputs.arguments), target, (code,))

    @classmethod
    def with_reductions(
        cls, graph: Graph, group: ReduceGroup, moved: dict[Node, Node]
    ) -> _Kernel | None:
        """Return the kernel of a group with reductions, None where there is none."""
        taken = extract(graph, group.nodes, group.results)
        inputs = _Inputs(taken.inputs)
        items = bound_items(group, inputs.item, lambda source: moved.get(source, source))
        assert group.axes is not None
        found = plan(
            [(node, items[node], node in group.folded) for node in group.results],
            trailing=group.axes[-1] == len(group.shape) - 1,
        )
        if found is None or not _fits(inputs):
            return None
        fallback: Callable[..., object] = taken.graph.to_callable()
        if len(group.results) == 1:
            fallback = _single(fallback)
        target = _core.ReduceKernel(
            fallback, len(inputs.arguments), len(taken.inputs), len(group.shape), group.axes[0],
            len(group.axes), pieces(),
            tuple((*row, i in found.folded) for i, row in enumerate(inputs.operand_rows)),
            tuple(inputs.number_rows), found.bigs, found.smalls, found.phases,
            tuple(
                (place, *result_row(node, len(group.shape)))
                for node, place in zip(group.results, found.places, strict=True)
            ),
            found.checks_flags, all(not node.can_fail or warns_here(node) for node in group.nodes),
        )  # fmt: skip
        return cls(graph, group, tuple(inputs.arguments), target, found.codes)

    def put(self, origin: dict[Node, Node]) -> dict[Node, Node]:
        """Have the graph call the kernel instead: as its first call, which keeps its place and what a failure there means.

        Returns what gives each result now.
        """
        graph, (first, *others) = self.graph, self.group.nodes
        results = self.group.results
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
        return made

    def _place(self) -> Node:
        """Return the node before which the kernel stands: behind all that it takes, and not before its first call."""
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


def _fits(inputs: _Inputs) -> bool:
    """Whether a kernel can take these arguments."""
    return (
        0 < len(inputs.operands) <= _OPERANDS
        and len(inputs.numbers) <= _NUMBERS
        and not any(
            number.dtype.kind not in _NUMBER_KINDS or number.dtype.char in "eg"
            for number in inputs.numbers.values()
        )
    )


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
