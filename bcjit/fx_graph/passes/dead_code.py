"""Removes calls whose values nobody uses; never one that can raise, warn, write or draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bcjit.fx_graph.node import Node, NodeKind, exprs_in
from bcjit.meta import ArrayMeta, ScalarMeta, UnionMeta

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph
    from bcjit.meta import Meta

__all__ = ["eliminate_dead_code"]


def eliminate_dead_code(graph: Graph) -> int:
    """Erase constants and calls without users that have no effect and cannot fail; return how many.

    A call that can fail stays although nobody uses its value: its warning or exception is part of the program.
    """
    needed: set[Node] = set()
    for node in reversed(graph.nodes):
        removable = node.kind not in (NodeKind.INPUT, NodeKind.OUTPUT) and node not in graph.keep
        if not removable or node.has_effect or _can_fail(node) or node in needed:
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


def _can_fail(node: Node) -> bool:
    """Whether running a node may be noticed although nobody uses its value; of a loop or branch: anything in it, or no end."""
    if not node.bodies:
        return node.can_fail
    over = node.args[0]
    if node.kind is NodeKind.LOOP:
        if over is None or type(over[2]) is not int or over[2] == 0:  # type: ignore[index]  # a range
            return True
    elif not (isinstance(over, bool) or (isinstance(over, Node) and _is_scalar(over.meta))):
        return True  # the truth of an array may not exist
    inner = (one for body in node.bodies for one in body.nodes)
    return any(one.has_effect or _can_fail(one) for one in inner)


def _is_scalar(metas: tuple[Meta, ...]) -> bool:
    return all(
        isinstance(meta, ScalarMeta | UnionMeta) or (isinstance(meta, ArrayMeta) and meta.is_scalar)
        for meta in metas
    )
