"""What in a graph must come before what, and other orders that hold to it; changes no call.

Which side of a write a read belongs to is told by `Node.epoch`, not by where the node stands now: so a violated edge can be
found afterwards (`misplaced`).
"""

from __future__ import annotations

import heapq
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from bcjit.fx_graph.node import Node, NodeKind, exprs_in
from bcjit.fx_graph.places import is_big

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["Owner", "dependencies", "misplaced", "owner", "schedule"]

# A node that made memory; None is all memory that was there before the graph (inputs may overlap).
Owner: TypeAlias = Node | None


def owner(node: Node) -> Owner:
    """Return whose memory a node's value is, or may be.

    What a loop, a branch or an index gives that chooses among arrays may be any memory it was handed: that is then all one with what came
    from outside.
    """
    node = maker(node)
    if node.escapes or node.alias == "maybe":
        return None
    return None if node.kind in (NodeKind.INPUT, NodeKind.CONST) else node


def maker(node: Node) -> Node:
    """Return the node whose call made the memory of a value."""
    while True:
        if node.view_of is not None:
            node = node.view_of
        elif (
            node.target is operator.getitem
            and isinstance(node.args[0], Node)
            and node.args[0].multi
            and not (node.args[0].bodies and node.alias == "maybe")
        ):
            node = node.args[0]  # a result of a call with several
        else:
            return node


def has_memory(node: Node) -> bool:
    """Whether a node's value is, or holds, an array."""
    return node.multi or any(map(is_big, node.meta))


def reads(node: Node) -> Iterator[Node]:
    """Yield the operands whose elements a node may read; a view reads none of its base."""
    for used in node.uses():
        if has_memory(used) and not (node.alias == "view" and used is node.view_of):
            yield used  # also by what gives it back: np.asarray_chkfinite looks at every element


def dependencies(graph: Graph) -> dict[Node, set[Node]]:
    """Return, for each node, those that must come before it: operands, memory, effects."""
    before: dict[Node, set[Node]] = {}
    effects = [node for node in graph.nodes if node.has_effect]
    for node in graph.nodes:
        needed = before.setdefault(node, set(node.uses()))
        needed.update(
            graph.symbols[symbol][0]
            for expr in exprs_in(node.operands)
            for symbol in expr.symbols()
            if symbol in graph.symbols
        )
    for node in graph.nodes:
        touched = {owner(used) for used in reads(node)} if effects else set()
        for effect in effects:
            if effect is node or not _conflict(node, touched, effect):
                continue
            if effect.effect_order <= node.epoch:
                before[node].add(effect)
            else:
                before[effect].add(node)
    if graph.output_node is not None:
        before[graph.output_node].update(n for n in graph.nodes if n.kind is not NodeKind.OUTPUT)
    return before


def _conflict(node: Node, touched: set[Owner], effect: Node) -> bool:
    """Whether a node and an effect may not change places."""
    if node.kind in (NodeKind.INPUT, NodeKind.CONST):
        return False
    if (node.draws and effect.draws) or (node.visible and effect.visible):
        return True
    if effect.visible and node.can_fail:
        return True
    written = {owner(target) for target in effect.writes}
    return bool(written & (touched | {owner(target) for target in node.writes}))


def misplaced(graph: Graph) -> Iterator[tuple[Node, Node]]:
    """Yield each node with one that must come before it and does not."""
    place = {node: index for index, node in enumerate(graph.nodes)}
    for node, needed in dependencies(graph).items():
        for other in needed:
            # Inputs are bound before anything runs, wherever they stand.
            if other.kind is not NodeKind.INPUT and place.get(other, -1) > place[node]:
                yield node, other


def schedule(graph: Graph, key: Callable[[Node], float] | None = None) -> None:
    """Put the nodes into the topological order in which, of those that are ready, the one of the least `key` comes first.

    By default the order stays the captured one, as far as the edges allow it. Raises InternalError for a graph whose edges form a cycle.
    """
    place = {node: index for index, node in enumerate(graph.nodes)}
    needed = dependencies(graph)
    followers: dict[Node, list[Node]] = {}
    missing: dict[Node, int] = {}
    for node, before in needed.items():
        present = [other for other in before if other in place]
        missing[node] = len(present)
        for other in present:
            followers.setdefault(other, []).append(node)

    def rank(node: Node) -> tuple[bool, float, int]:
        if node.kind in (NodeKind.INPUT, NodeKind.CONST):
            return False, 0.0, place[node]  # their order is that of the arguments
        return True, float(place[node]) if key is None else key(node), place[node]

    ready = [(rank(node), node) for node in graph.nodes if not missing[node]]
    heapq.heapify(ready)
    order: list[Node] = []
    while ready:
        _, node = heapq.heappop(ready)
        order.append(node)
        for follower in followers.get(node, ()):
            missing[follower] -= 1
            if not missing[follower]:
                heapq.heappush(ready, (rank(follower), follower))
    graph.reorder(order)
