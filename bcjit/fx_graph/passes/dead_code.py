"""Removes calls whose values nobody uses; never one that can raise, warn, write or draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bcjit.fx_graph.node import Node, NodeKind, exprs_in

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["eliminate_dead_code"]


def eliminate_dead_code(graph: Graph) -> int:
    """Erase constants and calls without users that have no effect and cannot fail; return how many.

    A call that can fail stays although nobody uses its value: its warning or exception is part of the program.
    """
    needed: set[Node] = set()
    for node in reversed(graph.nodes):
        removable = node.kind in (NodeKind.CONST, NodeKind.CALL) and node not in graph.keep
        if not removable or node.has_effect or node.can_fail or node in needed:
            needed.add(node)
            needed.update(node.uses())
            symbols = (symbol for expr in exprs_in(node.operands) for symbol in expr.symbols())
            needed.update(graph.symbols[symbol][0] for symbol in symbols)
    dead = [node for node in reversed(graph.nodes) if node not in needed]
    if dead:
        for symbol in [symbol for symbol, (node, _) in graph.symbols.items() if node not in needed]:
            del graph.symbols[symbol]
    for node in dead:
        graph.erase(node)
    return len(dead)
