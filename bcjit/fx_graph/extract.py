"""A part of a graph as a graph of its own; it changes nothing of the graph it takes from and runs nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TYPE_CHECKING, cast

from bcjit.dims import Expr, Symbol
from bcjit.fx_graph.dependencies import maker
from bcjit.fx_graph.graph import Graph
from bcjit.fx_graph.node import Node, NodeKind, Operand, exprs_in, map_operand
from bcjit.meta import ArrayMeta, UnboundMeta
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.meta import Meta

__all__ = ["Extract", "copy_graph", "extract", "units"]


@dataclass(frozen=True, slots=True)
class Extract:
    """Some calls of a graph as a graph."""

    graph: Graph
    inputs: tuple[Node, ...]  # of the graph it was taken from, as is `outputs`
    outputs: tuple[Node, ...]
    nodes: dict[Node, Node]  # there -> here


def units(graph: Graph) -> tuple[tuple[Node, ...], ...]:
    """Return the calls of a graph in order, each with the nodes that read one of its several results.

    Values that go from one unit to another are single: between units a graph can be cut.
    """
    found: dict[Node, list[Node]] = {}
    for node in graph.calls:
        of = _read_from(node)
        if of is None:
            found[node] = [node]
        else:
            found[of].append(node)
    return tuple(map(tuple, found.values()))


def _read_from(node: Node) -> Node | None:
    """Return the call of several results of which a node is one."""
    if node.target is operator.getitem and len(node.args) == 2 and not node.kwargs:
        of = node.args[0]
        if isinstance(of, Node) and of.multi and type(node.args[1]) is int:
            return _read_from(of) or of
    return None


def extract(graph: Graph, nodes: Sequence[Node], outputs: Sequence[Node] | None = None) -> Extract:
    """Return the graph of some calls.

    Parameters
    ----------
    graph
        A complete graph; it stays as it is.
    nodes
        Calls of it, in an order that holds for it: whole `units`.
    outputs
        Whose values the new graph returns. By default of those that something else in the graph needs.

    Returns
    -------
    Extract
        Its inputs are what the calls take from around them, those from which sizes are read included, in the order of the graph.
    """
    chosen = set(nodes)
    if outputs is None:
        outputs = _needed_outside(graph, chosen)
    needed = _taken(graph, nodes)
    inputs = tuple(node for node in graph.nodes if node in needed)
    made = Graph()
    mapping = {
        node: made.input(node.name, node.meta[0], line=node.line)
        for node in inputs
        if node.kind is not NodeKind.CONST
    }
    _fill(made, graph, [*(n for n in inputs if n.kind is NodeKind.CONST), *nodes], mapping)
    made.output(tuple(mapping[node] for node in outputs))
    given = tuple(node for node in inputs if node.kind is not NodeKind.CONST)
    return Extract(made, given, tuple(outputs), mapping)


def copy_graph(
    graph: Graph, into: Graph | None = None, origin: dict[Node, Node] | None = None
) -> Graph:
    """Return a graph that does the same, with nodes of its own; bodies are copied too. `origin` is told of which node each is a copy."""
    made = Graph() if into is None else into
    origin = {} if origin is None else origin
    mapping: dict[Node, Node] = {}
    for node in graph.inputs:
        mapping[node] = made.input(node.name, node.meta[0], line=node.line)
    rest = (NodeKind.INPUT, NodeKind.OUTPUT)
    _fill(made, graph, [node for node in graph.nodes if node.kind not in rest], mapping, origin)
    made.keep.update(mapping[node] for node in graph.keep)
    made.equal = graph.equal
    origin.update((copy, node) for node, copy in mapping.items())
    copies = {node: copy for copy, node in origin.items()}  # in bodies too
    for node, failing in graph.keep_for.items():
        if failing <= copies.keys():
            made.keep_for[mapping[node]] = {copies[one] for one in failing}
    output = graph.output_node
    if output is not None:
        mapping[output] = made.output(_mapped(output.args, mapping), line=output.line)
        origin[mapping[output]] = output
    return made


def _fill(
    made: Graph, graph: Graph, nodes: Sequence[Node], mapping: dict[Node, Node],
    origin: dict[Node, Node] | None = None,
) -> None:  # fmt: skip
    """Copy nodes behind the inputs that are there, and say where symbols are read."""
    for node in nodes:
        mapping[node] = _copy(made, node, mapping, origin)
    for symbol, (source, axis) in graph.symbols.items():
        if source in mapping:
            made.bind_symbol(symbol, mapping[source], axis)


def _copy(
    made: Graph, node: Node, mapping: dict[Node, Node], origin: dict[Node, Node] | None
) -> Node:
    args = _mapped(node.args, mapping)
    writes = tuple(mapping[written] for written in node.writes)
    if node.kind is NodeKind.CONST:
        return made.const(node.target, node.meta[0], name=node.name, line=node.line)
    if node.bodies:
        bodies = [copy_graph(body, made.subgraph(), origin) for body in node.bodies]
        if node.kind is NodeKind.LOOP:
            over, carried, free = cast("_LoopArgs", args)
            copied = made.loop(
                over, carried, free, bodies[0], metas=node.meta[1:], writes=writes,
                draws=node.draws, line=node.line, name=node.name,
            )  # fmt: skip
        else:
            predicate, handed = cast("tuple[Operand, tuple[Operand, ...]]", args)
            copied = made.cond(
                predicate, handed, bodies[0], bodies[1], metas=node.meta, writes=writes,
                draws=node.draws, line=node.line, name=node.name,
            )  # fmt: skip
    else:
        copied = made.call(
            cast("Callable[..., object]", node.target),
            args,
            {key: map_operand(value, _leaf(mapping)) for key, value in node.kwargs.items()},
            meta=node.meta or None,
            multi=node.multi,
            view_of=None if node.view_of is None else mapping[node.view_of],
            alias=node.alias,
            writes=writes,
            draws=node.draws,
            can_fail=node.can_fail,
            op=node.op,
            line=node.line,
            name=node.name,
        )
    if node.unless_done is not None:
        made.call_unless_done(copied, mapping[node.unless_done])
    copied.escapes = node.escapes
    copied.temporaries = node.temporaries
    # What is written that was made before the part is seen from it.
    outer = any(maker(written).kind is NodeKind.INPUT for written in writes)
    copied.visible = node.visible or outer
    return copied


_LoopArgs = tuple[
    "tuple[Operand, Operand, Operand] | None", "tuple[Operand, ...]", "tuple[Operand, ...]"
]


def _leaf(mapping: dict[Node, Node]) -> Callable[[Operand], Operand]:
    return lambda leaf: mapping[leaf] if isinstance(leaf, Node) else leaf


def _mapped(args: tuple[Operand, ...], mapping: dict[Node, Node]) -> tuple[Operand, ...]:
    return cast("tuple[Operand, ...]", map_operand(args, _leaf(mapping)))


def _taken(graph: Graph, nodes: Collection[Node]) -> set[Node]:
    """Return what calls take from around them: operands, and the nodes from which sizes are read."""
    inside = set(nodes)
    found: set[Node] = set()
    queue = list(nodes)
    while queue:
        node = queue.pop()
        used = set(node.uses()) if node in inside else set()
        for symbol in _symbols(node, operands=node in inside):
            if symbol in graph.symbols:
                used.add(graph.symbols[symbol][0])
        new = used - inside - found
        found |= new
        queue.extend(new)
    return found


def _symbols(node: Node, *, operands: bool) -> Iterator[Symbol]:
    """Yield the symbols of a node's operands and of the shape of its value."""
    exprs = list(exprs_in(node.operands)) if operands else []
    for meta in node.meta:
        exprs.extend(dim for dim in _shape(meta) if isinstance(dim, Expr))
    for expr in exprs:
        yield from expr.symbols()


def _shape(meta: Meta) -> tuple[object, ...]:
    if isinstance(meta, UnboundMeta):
        return _shape(meta.kind)
    return meta.shape if isinstance(meta, ArrayMeta) else ()


def _needed_outside(graph: Graph, chosen: set[Node]) -> tuple[Node, ...]:
    """Return the values of some calls that the rest of the graph takes, in order."""
    rest = [node for node in graph.nodes if node not in chosen]
    wanted = _taken(graph, rest) | graph.keep
    return tuple(
        node
        for node in graph.nodes
        if node in chosen and node in wanted and node.has_value and not node.multi
    )
