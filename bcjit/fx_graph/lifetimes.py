"""Where the variables of generated code are deleted; it writes no code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bcjit.fx_graph.node import Node, NodeKind, item_of
from bcjit.fx_graph.places import Places, Value, is_big

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["dead_names"]


def dead_names(places: Places, graph: Graph) -> dict[int, list[str]]:
    """Return the variables that nothing reads any more behind a node of a graph; behind what a loop begins with, by -1 - index.

    Only arrays are worth it, inputs belong to the caller, and at the last call or the return of the function its own
    end is soon enough.
    """
    statements = [
        index for index, node in enumerate(graph.nodes)
        if node.kind not in (NodeKind.INPUT, NodeKind.CONST) and node not in places.nested and item_of(node) is None
    ]  # fmt: skip
    end = (
        len(graph.nodes)
        if graph in places.around
        else (statements[-2] if len(statements) > 1 else 0)
    )
    last: dict[str, int] = {}
    for index in statements:
        node = graph.nodes[index]
        made: list[Value] = []
        if node.bodies:
            results = [(node, k) for k, meta in enumerate(node.meta) if is_big(meta)]
            made.extend(value for value in results if places.has_variable(value))
        elif (
            node.kind is NodeKind.CALL
            and places.binds(node)
            and (node.multi or any(map(is_big, node.meta)))
        ):
            made = [node]
        for value in made:
            members = places.variables.members(value)
            if all(_is_ours(places, member, graph) for member in members):
                name, read = places.name(value), places.last[graph].get(value, index)
                last[name] = max(last.get(name, -1), read)
                user = graph.nodes[read] if read < len(graph.nodes) else None
                if (
                    user is not None
                    and user.kind is NodeKind.LOOP
                    and len(members) == 1
                    and value not in places.inside[user]
                ):
                    last[name] = -1 - read if user is not node else read
    dead: dict[int, list[str]] = {}
    for name, index in last.items():
        if index < end:
            dead.setdefault(index, []).append(name)
    return dead


def _is_ours(places: Places, value: Value, graph: Graph) -> bool:
    """Whether a value is made in a graph or its bodies, and not needed behind it."""
    if isinstance(value, Node) and value.kind is NodeKind.INPUT and places.home(value) is graph:
        return False
    if value in places.kept_to_the_end:
        return False
    return graph in places.chain(places.home(value))
