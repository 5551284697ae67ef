"""Runs a graph node by node; a second implementation for tests and a base for passes, not a fast path.

`run_structured` runs one loop or branch for backends that know no bodies.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from bcjit.dims import Expr
from bcjit.errors import InternalError
from bcjit.fx_graph.node import Node, NodeKind, Operand, map_operand

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from bcjit.fx_graph.graph import Graph

__all__ = ["Interpreter", "run_structured"]

RunBody: TypeAlias = "Callable[..., tuple[object, ...]]"


def run_structured(
    node: Node,
    args: tuple[object, ...],
    bodies: Sequence[RunBody] | None = None,
) -> tuple[object, ...]:
    """Run a loop or a branch on the values of its operands; return its results.

    Parameters
    ----------
    args
        Like ``node.args``, with values in the place of nodes and symbolic integers.
    bodies
        What runs each of ``node.bodies``: takes its inputs, returns the tuple of its outputs. Their own Python functions by
        default.
    """
    run = [body.to_callable() for body in node.bodies] if bodies is None else bodies
    if node.kind is NodeKind.COND:
        predicate, free = cast("tuple[object, tuple[object, ...]]", args)
        return run[0](*free) if predicate else run[1](*free)
    over, carried, free = cast("_LoopArgs", args)
    turns = itertools.repeat(()) if over is None else ((index,) for index in range(*over))
    status: object = 0
    for index in turns:
        status, *carried = run[0](*index, *carried, *free)  # type: ignore[assignment]  # a list from then on
        if status != 0:
            break
    return (status, *carried)


_LoopArgs: TypeAlias = "tuple[tuple[int, int, int] | None, tuple[object, ...], tuple[object, ...]]"


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
        """Return the value of a constant, a call, a loop or a branch."""
        if node.kind is NodeKind.CONST:
            return node.target
        if node.kind is NodeKind.CALL:
            return cast("Callable[..., object]", node.target)(*args, **kwargs)
        return run_structured(
            node, args, [functools.partial(self.run_body, b) for b in node.bodies]
        )

    def run_body(self, body: Graph, *inputs: object) -> tuple[object, ...]:
        """Return the outputs of the body of a loop or branch: run by another of this class."""
        return type(self)(body).run(*inputs)

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
