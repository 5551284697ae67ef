"""Passes over the captured graph that hold for every backend; none may change what a graph does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bcjit.fx_graph.node import NodeKind

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["eliminate_dead_code"]


def eliminate_dead_code(graph: Graph) -> int:
    """Erase constants and calls without users that have no effect and cannot fail; return how many.

    A call that can fail stays although nobody uses its value: its warning or exception is part of the program.
    """
    erased = 0
    for node in reversed(list(graph.nodes)):
        removable = node.kind in (NodeKind.CONST, NodeKind.CALL) and node not in graph.keep
        if removable and not (node.users or node.has_effect or node.can_fail):
            graph.erase(node)
            erased += 1
    return erased
