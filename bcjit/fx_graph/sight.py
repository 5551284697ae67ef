"""What the variables of generated code say at the moment of a failure: the values of nodes, those around a body included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from bcjit.dims import Expr
from bcjit.fx_graph.node import Node, NodeKind, Operand, map_operand
from bcjit.fx_graph.places import Handed, Places, Value

__all__ = ["values_in_sight"]


def values_in_sight(
    places: Places, failed: Node, bound: Mapping[str, object], assigned: frozenset[str]
) -> dict[Node, object]:
    """Return the values of the nodes that came before one, in its graph and those around it.

    Parameters
    ----------
    bound
        The variables.
    assigned
        Variables in the middle of being assigned, which say nothing.
    """
    in_sight = _nodes_in_sight(places, failed)
    # Of the values that share a variable the latest is in it.
    latest: dict[str, Value] = {}
    meanings = {node: places.meaning(node) for node in in_sight}
    for node, meaning in meanings.items():
        written: list[Value] = []
        if (
            node.bodies
        ):  # its results are there, whether or not the nodes that read them are in sight
            written = [(node, k) for k in range(len(node.meta)) if places.has_variable((node, k))]
        elif not isinstance(meaning, Handed) and meaning not in places.nested:
            written = [meaning]
        latest.update((places.name(value), value) for value in written)
    present: dict[Value, object] = {
        value: bound[name]
        for name, value in latest.items()
        if name in bound and name not in assigned
    }
    found: dict[Node, object] = {}
    for node, meaning in meanings.items():
        if isinstance(meaning, Handed):
            if node.kind is NodeKind.CONST:
                continue
            try:
                found[node] = _handed(places, meaning, present)
            except KeyError:
                continue
        elif meaning in present:
            found[node] = present[meaning]
    return found


def _nodes_in_sight(places: Places, failed: Node) -> list[Node]:
    """Return the nodes that came before one, outer ones first, the inputs of each graph before its other nodes."""
    graph, index = places.where[failed]
    found: list[Node] = []
    while True:
        before = [node for node in graph.nodes[:index] if node.kind is not NodeKind.INPUT]
        found = [*graph.inputs, *before, *found]
        if graph not in places.around:
            return found
        around, graph = places.around[graph]
        index = places.where[around][1]


def _handed(places: Places, handed: Handed, present: Mapping[Value, object]) -> object:
    """Return the value of what stands in the place of a node; KeyError if a variable that it needs has none."""

    def value_of(node: Node) -> object:
        meaning = places.meaning(node)
        if not isinstance(meaning, Handed):
            return present[meaning]
        return node.target if meaning.operand is node else _handed(places, meaning, present)

    def leaf(operand: Operand) -> object:
        if isinstance(operand, Node):
            return operand.target if operand.kind is NodeKind.CONST else value_of(operand)
        if isinstance(operand, Expr):
            sizes: dict[object, int] = {}
            for symbol in operand.symbols():
                node, axis = handed.graph.symbols[symbol]
                value = value_of(node)
                sizes[symbol] = (
                    cast("int", value) if axis is None else cast("_Shaped", value).shape[axis]
                )
            return operand.evaluate(sizes)  # type: ignore[arg-type]  # symbols
        return operand

    return map_operand(handed.operand, leaf)


class _Shaped:
    shape: tuple[int, ...]
