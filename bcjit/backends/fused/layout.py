"""Which arrays of a graph lie in memory in C order, provided that its inputs do; it looks at metas, never at arrays.

NumPy lays results out in the order of their operands' axes in memory, and the order of a sum follows the layout: so a buffer may
stand for a result only where both are in C order.
"""

from __future__ import annotations

import enum
import operator
from typing import TYPE_CHECKING, Final, cast

import numpy as np

from bcjit.backends.fused.calls import array_meta, array_shape, elementwise, is_plain_slice
from bcjit.fx_graph import Node, NodeKind, item_of
from bcjit.meta import ArrayMeta

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bcjit.fx_graph import Graph, Operand

__all__ = ["Layouts", "Order"]


class Order(enum.IntEnum):
    """How the elements of an array lie in memory."""

    UNKNOWN = 0
    AXES = (
        1  # the axes are in C order, with gaps between them: results of such arrays are contiguous
    )
    C = 2  # contiguous


# New memory in C order, whatever the operands; up to how many positional operands, since an order is one of those behind.
_CREATING: Final[Mapping[object, int]] = {np.zeros: 2, np.ones: 2, np.empty: 2, np.full: 3}
# New memory in the order of the operand.
_LIKE: Final[Mapping[object, int]] = {
    np.zeros_like: 2, np.ones_like: 2, np.empty_like: 2, np.full_like: 3, np.copy: 1, np.ndarray.copy: 1, np.ndarray.astype: 2,
    np.where: 3,
}  # fmt: skip
# One axis.
_FLAT: Final[frozenset[object]] = frozenset({np.arange, np.linspace})
_REDUCING: Final[frozenset[object]] = frozenset({
    np.sum, np.prod, np.max, np.amax, np.min, np.amin, np.mean, np.var, np.std, np.any, np.all,
    np.ndarray.sum, np.ndarray.prod, np.ndarray.max, np.ndarray.min, np.ndarray.mean, np.ndarray.var, np.ndarray.std,
    np.ndarray.any, np.ndarray.all,
})  # fmt: skip


class Layouts:
    """The order of each array of a graph and of the bodies in it.

    Attributes
    ----------
    of
        The order of each node.
    """

    def __init__(self, graph: Graph) -> None:
        self.of: dict[Node, Order] = {}
        for node in graph.inputs:
            self.of[node] = Order.C
        self._run(graph)

    def _run(self, graph: Graph) -> None:
        for node in graph.nodes:
            if node.kind is NodeKind.LOOP:
                self._loop(node)
            elif node.kind is NodeKind.COND:
                self._branch(node)
            elif node.kind is not NodeKind.INPUT:
                self.of[node] = self._order(node)

    def _loop(self, loop: Node) -> None:
        over, carried, free = cast(
            "tuple[object, tuple[Operand, ...], tuple[Operand, ...]]", loop.args
        )
        (body,) = loop.bodies
        first = 1 if over is not None else 0
        given = [*([Order.C] * first), *map(self._operand, carried), *map(self._operand, free)]
        for _ in range(2 * len(carried) + 1):  # each turn of this takes an order from one of them
            self.of.update(zip(body.inputs, given, strict=True))
            self._run(body)
            following = [self._operand(output) for output in body.outputs[1:]]
            places = range(first, first + len(carried))
            lower = [min(given[k], after) for k, after in zip(places, following, strict=True)]
            if lower == given[first : first + len(carried)]:
                break
            given[first : first + len(carried)] = lower

    def _branch(self, cond: Node) -> None:
        free = cast("tuple[Operand, ...]", cond.args[-1])
        for body in cond.bodies:
            self.of.update(zip(body.inputs, map(self._operand, free), strict=True))
            self._run(body)

    def _operand(self, operand: Operand) -> Order:
        """Return the order of an operand; a number has every order."""
        if not isinstance(operand, Node):
            return Order.C
        if not any(isinstance(meta, ArrayMeta) and meta.shape for meta in operand.meta):
            return Order.C if not operand.multi else Order.UNKNOWN
        return self.of.get(operand, Order.UNKNOWN)

    def _order(self, node: Node) -> Order:
        if node.kind is NodeKind.CONST:
            value = node.target
            contiguous = type(value) is np.ndarray and value.flags.c_contiguous
            return Order.C if contiguous else Order.UNKNOWN
        item = item_of(node)
        if item is not None:
            return self._result(*item)
        if node.kind is not NodeKind.CALL or array_meta(node) is None:
            return Order.UNKNOWN
        lowest = min(map(self._operand, node.uses()), default=Order.C)
        if elementwise(node) is not None and node.target is not np.where:
            return Order.C if lowest else Order.UNKNOWN
        if node.op is None or "order" in node.kwargs or "out" in node.kwargs:
            return Order.UNKNOWN
        target = node.target
        if target is operator.getitem and node.alias == "view":
            return Order.AXES if lowest and is_plain_slice(node.args[1]) else Order.UNKNOWN
        if node.alias == "same" and node.view_of is not None:
            return self._operand(node.view_of)
        try:
            return self._of_call(node, target, lowest)
        except TypeError:  # not hashable
            return Order.UNKNOWN

    def _of_call(self, node: Node, target: object, lowest: Order) -> Order:
        if node.alias != "fresh":
            return Order.UNKNOWN
        if target in _FLAT:
            return Order.C if len(array_shape(node)) == 1 else Order.UNKNOWN
        if target in _CREATING:
            return Order.C if len(node.args) <= _CREATING[target] else Order.UNKNOWN
        most = 2 if target in _REDUCING else _LIKE.get(target, -1)
        return Order.C if len(node.args) <= most and lowest is Order.C else Order.UNKNOWN

    def _result(self, around: Node, index: int) -> Order:
        if around.kind is NodeKind.COND:
            return min(self._operand(body.outputs[index]) for body in around.bodies)
        if index == 0:
            return Order.C  # how the loop was left
        _, carried, _ = cast("tuple[object, tuple[Operand, ...], object]", around.args)
        body = around.bodies[0]
        return min(self._operand(carried[index - 1]), self._operand(body.outputs[index]))
