"""Runs a graph node by node; a second implementation for tests and a base for passes, not a fast path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from bcjit.dims import Expr
from bcjit.errors import InternalError
from bcjit.fx_graph.node import Node, NodeKind, Operand, map_operand

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bcjit.fx_graph.graph import Graph

__all__ = ["Interpreter"]


class Interpreter:
    """Executes a graph with the real callables, in order. Override `run_node` to see or change each step.

    Attributes
    ----------
    values
        The values of the nodes so far, of the present or last run.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.values: dict[Node, object] = {}

    def run(self, *inputs: object) -> tuple[object, ...]:
        """Return the graph's outputs for these inputs."""
        nodes = self.graph.inputs
        if len(inputs) != len(nodes):
            raise InternalError(f"{len(nodes)} inputs are expected, got {len(inputs)}")
        self.values = dict(zip(nodes, inputs, strict=True))
        for node in self.graph.nodes:
            if node.kind is NodeKind.OUTPUT:
                return tuple(self.fetch(value) for value in node.args)
            if node.kind is not NodeKind.INPUT:
                args = tuple(self.fetch(arg) for arg in node.args)
                kwargs = {key: self.fetch(arg) for key, arg in node.kwargs.items()}
                self.values[node] = self.run_node(node, args, kwargs)
        raise InternalError("the graph has no output")

    def run_node(self, node: Node, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        """Return the value of a constant or a call."""
        if node.kind is NodeKind.CONST:
            return node.target
        if node.kind is NodeKind.CALL:
            return cast("Callable[..., object]", node.target)(*args, **kwargs)
        raise InternalError(f"{node.kind.value} nodes cannot be run yet: {node.name}")

    def fetch(self, operand: Operand) -> object:
        """Return the run-time value of an operand."""
        return map_operand(operand, self._leaf)

    def _read(self, node: Node, axis: int | None) -> int:
        value = self.values[node]
        return (
            cast("int", value) if axis is None else cast("NDArray[np.generic]", value).shape[axis]
        )

    def _leaf(self, leaf: Operand) -> object:
        if isinstance(leaf, Node):
            return self.values[leaf]
        if isinstance(leaf, Expr):
            where = self.graph.symbols
            return leaf.evaluate({symbol: self._read(*where[symbol]) for symbol in leaf.symbols()})
        return leaf
