"""Finds the calls behind one another that are made block by block, and which of them choose bits by masks; it plans no memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from bcjit.backends.fused.calls import BLOCKWISE, array_meta, array_shape, row_reduction
from bcjit.backends.fused.layout import Layouts, Order
from bcjit.backends.fused.order import Sizes, dtype_of, has_axes
from bcjit.dims import Dim, Expr
from bcjit.fx_graph import Node, NodeKind, item_of, maker
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.fx_graph import Graph
    from bcjit.fx_graph.places import Places, Value

__all__ = ["Array", "FoundRun", "Key", "Runs", "masks"]

Key: TypeAlias = tuple[tuple[Dim, ...], np.dtype[np.generic]]

# Calls of a run: slicing the blocks costs more than two of them save.
_SHORTEST: Final = 3


@dataclass(slots=True, eq=False)
class Array:
    """An array that may be put into a buffer."""

    node: Node
    function: Callable[..., Any] | None  # None: the mask that is made of its node
    graph: Graph
    made: int  # the index of its call
    read: int  # that of the last that reads it
    key: Key
    leaves: bool
    over: bool  # its call may write over an operand
    whole: Key  # the key of all of it, where the other is that of a block


@dataclass(slots=True)
class FoundRun:
    """Calls that are made block by block."""

    arrays: list[Array] = field(default_factory=list)
    nodes: set[Node] = field(default_factory=set)
    whole: set[Node] = field(default_factory=set)
    sliced: set[Node] = field(default_factory=set)
    flat: bool = True
    views: list[Node] = field(default_factory=list)
    rows: set[Node] = field(default_factory=set)  # what has a number for each row
    last: int = -1  # the index of the last call


class Runs:
    """Finds the calls behind one another that are made block by block."""

    def __init__(
        self,
        places: Places,
        arrays: dict[Node, Array],
        main: tuple[Dim, ...],
        layouts: Layouts,
        sizes: Sizes,
        small: Container[Node],
    ) -> None:
        self.small = small
        self.places = places
        self.arrays = arrays
        self.main = main
        self.layouts = layouts
        self.sizes = sizes

    def find(self) -> Iterator[FoundRun]:
        """Yield the runs that are long enough."""
        for graph in self.places.graph.nested():
            run = FoundRun(flat=len(self.main) > 1)
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
                    run = FoundRun(flat=len(self.main) > 1)
                    self._takes(run, node)

    def _is_view_apart(self, run: FoundRun, node: Node) -> bool:
        """Whether a statement between two calls of a run is a view that can as well be made before the run."""
        if not run.nodes or node.target is not operator.getitem or node.alias != "view":
            return False
        graph, _ = self.places.where[node]
        read: set[Value] = set()
        for operand in node.operands:
            read |= self.places.values_of(operand, graph)
        return not read & (run.nodes | set(run.views)) and maker(node) not in self.arrays

    def _takes(self, run: FoundRun, node: Node) -> bool:
        """Append a call to a run, if it fits."""
        if not (self._takes_rows(run, node) or self._takes_whole(run, node)):
            return False
        run.nodes.add(node)
        run.last = self.places.where[node][1]
        return True

    def _takes_rows(self, run: FoundRun, node: Node) -> bool:
        """Append a call that reduces rows, or one over the numbers of rows."""
        if node not in self.small or len(self.main) < 2:
            return False
        if row_reduction(node) is not None:
            operand = node.args[0]
            assert isinstance(operand, Node)
            if self.sizes.shape(array_shape(operand)) != self.main or operand in run.rows:
                return False
            if operand not in run.nodes:
                outside = operand in self.places.nested or maker(operand) in run.nodes
                if outside or self.layouts.of.get(operand) is not Order.C:
                    return False
                if operand not in self.arrays and maker(operand) in self.arrays:
                    return False  # a view of a buffer
                run.whole.add(operand)
                run.sliced.add(operand)
        else:
            shape = self.sizes.shape(array_shape(node))
            if shape not in (self.main[:-1], (*self.main[:-1], 1)):
                return False
            arrays = [used for used in node.uses() if has_axes(used)]
            if not any(used in run.rows for used in arrays):
                return False
            if any(used.multi for used in node.uses()):
                return False
            for used in arrays:
                if used not in run.rows or self.sizes.shape(array_shape(used)) != shape:
                    return False
        run.rows.add(node)
        run.flat = False
        return True

    def _takes_whole(self, run: FoundRun, node: Node) -> bool:
        one = self.arrays.get(node)
        if one is None or one.key[0] != self.main or one.function not in BLOCKWISE:
            return False
        whole: list[Node] = []
        sliced: list[Node] = []
        flat = run.flat
        for used in node.uses():
            if used in run.rows and len(array_shape(used)) != len(self.main):
                return False
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
        run.whole.update(whole)
        run.sliced.update(sliced)
        run.flat = flat
        return True


def _is_worth_it(run: FoundRun) -> bool:
    """Whether blocks save more than their slicing costs: calls that do not follow from one another have nothing in the caches for each other."""
    follow = any(used in run.nodes for node in run.nodes for used in node.uses())
    return len(run.nodes) >= _SHORTEST and bool(run.arrays) and follow


def masks(run: FoundRun, shape: tuple[Dim, ...]) -> list[tuple[Array, list[Array]]]:
    """Return the masks by which calls of `numpy.where` in a run choose bits, each with the calls; `shape` is that of a block."""
    groups: dict[tuple[Node, int], list[Array]] = {}
    for one in run.arrays:
        if one.function is np.where and _chooses_bits(one.node, run):
            condition = one.node.args[0]
            assert isinstance(condition, Node)
            groups.setdefault((condition, dtype_of(one.node).itemsize), []).append(one)
    found: list[tuple[Array, list[Array]]] = []
    for (condition, size), users in groups.items():
        key = shape, np.dtype(f"i{size}")
        first, last = users[0], users[-1]
        mask = Array(condition, None, first.graph, first.made, last.made, key, False, False, key)
        found.append((mask, users))
    return found


def _chooses_bits(node: Node, run: FoundRun) -> bool:
    """Whether a call of `numpy.where` casts nothing and stretches nothing, by a condition of which each byte is 0 or 1: what a ufunc has made."""
    condition, *choices = node.args
    dtype = dtype_of(node)
    if dtype.kind == "c" or dtype.itemsize > 8:
        return False
    if not isinstance(condition, Node) or condition not in run.nodes:
        return False
    if dtype_of(condition).kind != "b" or condition.target is np.where:
        return False
    for one in choices:
        if isinstance(one, Node):
            if one not in run.nodes and one not in run.whole:
                return False
            if array_meta(one) is None or dtype_of(one) != dtype:
                return False
        elif isinstance(one, Expr) or not _is_exact(one, dtype):
            return False
    return True


def _is_exact(number: object, dtype: np.dtype[np.generic]) -> bool:
    """Whether a number is the same one in a dtype."""
    if not isinstance(number, int | float | np.generic) or np.dtype(type(number)).kind == "c":
        return False
    try:
        with np.errstate(all="raise"):
            cast = np.asarray(number, dtype)[()]
    except (ArithmeticError, ValueError, TypeError):
        return False
    return bool(cast == number)  # so no NaN, of which there are many
