"""What a loop hands from turn to turn and nobody reads: a program's temporaries, which are locals that nothing asks for again."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from bcjit.fx_graph.node import Node, NodeKind, Operand, item_of

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["drop_unread"]


def drop_unread(graph: Graph) -> int:
    """Have loops of a graph hand on what they began with in the place of what no turn, no call behind the loop and no failure reads.

    Then nobody computes it for the next turn, and no kernel need give it. Returns how many values that are. What an outer loop does not
    read an inner one need not give, so outer loops come first.
    """
    return sum(_in_loop(graph, node) for node in graph.nodes if node.kind is NodeKind.LOOP)


def _in_loop(graph: Graph, loop: Node) -> int:
    over, carried, _ = cast("tuple[object, tuple[Operand, ...], object]", loop.args)
    (body,) = loop.bodies
    output = body.output_node
    assert output is not None
    inputs = body.inputs[over is not None :]
    items = [(user, item_of(user)) for user in loop.users]
    if any(item is None for _, item in items):
        return 0
    read = {item[1] for user, item in items if item is not None and _is_read(graph, user, ())}
    given = list(output.args)
    dropped = 0
    for place in range(len(carried)):
        own = inputs[place]
        if place + 1 in read or given[place + 1] is own or _is_read(body, own, (output,)):
            continue
        if own in output.args[: place + 1] or own in output.args[place + 2 :]:
            continue  # handed on in another place
        given[place + 1] = own
        dropped += 1
    if dropped:
        body.set_operands(output, tuple(given))
    return dropped


def _is_read(graph: Graph, node: Node, but: tuple[Node, ...]) -> bool:
    sources = {source for source, _ in graph.symbols.values()}
    return node in graph.keep or node in sources or any(user not in but for user in node.users)
