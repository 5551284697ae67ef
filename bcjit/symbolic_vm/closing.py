"""Closes the graphs of a loop or branch: what they use of the graph around becomes inputs of theirs.

A trace refers to nodes and symbols around it as they are. Once it is final they are handed in; it decides nothing about values.
"""

from __future__ import annotations

from collections.abc import Sequence

from bcjit.dims import Expr, Symbol
from bcjit.fx_graph import Graph, Node, NodeKind, Operand, leaves, map_operand
from bcjit.meta import ArrayMeta, Meta, ScalarMeta, UnboundMeta
from bcjit.records import replace
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import is_seen, owner
from bcjit.symbolic_vm.state import Effect

__all__ = ["close", "finish", "written_operands"]


def close(graphs: Sequence[Graph]) -> tuple[Operand, ...]:
    """Give complete graphs an input for each thing that one of them uses of the graph around; return these operands, in order."""
    free: dict[Node | Symbol, None] = {}
    for graph in graphs:
        free.update(_used_from_around(graph))
    for graph in graphs:
        _hand_in(graph, tuple(free))
    return tuple(thing if isinstance(thing, Node) else thing.expr for thing in free)


def _used_from_around(graph: Graph) -> dict[Node | Symbol, None]:
    own = set(graph.nodes)
    found: dict[Node | Symbol, None] = {}
    made: set[Node] = set()
    for node in graph.nodes:
        for operand in node.operands:
            for leaf in leaves(operand):
                if isinstance(leaf, Node):
                    if leaf not in own:
                        found[leaf] = None
                elif isinstance(leaf, Expr):
                    symbols = sorted(leaf.symbols(), key=lambda symbol: symbol.name)
                    # A size from around may be that of a later node too (of a write's result).
                    found.update((s, None) for s in symbols if not _is_bound(graph, s, made))
        made.add(node)
    return found


def _is_bound(graph: Graph, symbol: Symbol, made: set[Node]) -> bool:
    return symbol in graph.symbols and graph.symbols[symbol][0] in made


def _hand_in(graph: Graph, free: tuple[Node | Symbol, ...]) -> None:
    before = list(graph.nodes)
    inner: dict[Node, Node] = {}
    made: list[Node] = []
    for thing in free:
        if isinstance(thing, Node):
            made.append(graph.input(thing.name, _meta_of(thing)))
            inner[thing] = made[-1]
        else:
            made.append(graph.input(thing.name, ScalarMeta(int)))
            graph.symbols[thing] = (made[-1], None)
    inputs = [node for node in before if node.kind is NodeKind.INPUT]
    graph.reorder([*inputs, *made, *(node for node in before if node.kind is not NodeKind.INPUT)])

    def swap(leaf: Operand) -> Operand:
        return inner.get(leaf, leaf) if isinstance(leaf, Node) else leaf

    for node in before:
        if node.kind is NodeKind.INPUT:
            continue
        if any(used in inner for used in node.uses()):
            graph.set_operands(
                node,
                tuple(map_operand(arg, swap) for arg in node.args),
                {name: map_operand(arg, swap) for name, arg in node.kwargs.items()},
            )
        node.writes = tuple(inner.get(written, written) for written in node.writes)
        if node.view_of is not None:
            node.view_of = inner.get(node.view_of, node.view_of)


def _meta_of(node: Node) -> Meta:
    (meta,) = node.meta
    return meta


def written_operands(
    graphs: Sequence[Graph], handed_in: Sequence[Operand], first: int
) -> tuple[Node, ...]:
    """Return the operands of a loop or branch whose memory a run of closed graphs may write.

    Parameters
    ----------
    graphs
        Closed graphs.
    handed_in
        The operands for their inputs, from input `first` on.
    first
        How many inputs come before.
    """
    found: dict[Node, None] = {}
    arrays = [o for o in handed_in if isinstance(o, Node) and _may_be_array(o)]
    for graph in graphs:
        places = {node: place - first for place, node in enumerate(graph.inputs)}
        for node in graph.nodes:
            for written in node.writes:
                memory = owner(written)
                if memory.kind is NodeKind.INPUT and places[memory] >= 0:
                    operand = handed_in[places[memory]]
                    if isinstance(operand, Node):
                        found[operand] = None
                elif memory.alias == "maybe":
                    found.update(dict.fromkeys(arrays))
    return tuple(found)


def _may_be_array(node: Node) -> bool:
    metas = (meta.kind if isinstance(meta, UnboundMeta) else meta for meta in node.meta)
    return any(isinstance(meta, ArrayMeta) and not meta.is_scalar for meta in metas)


def finish(vm: Machine, node: Node) -> None:
    """Log a loop or branch that has been appended: its record, and what others can see of it."""
    inside = [call for body in node.bodies for call in body.all_calls]
    node.visible = any(call.visible for call in inside)
    if is_seen(vm.state) or node.visible:
        vm.records[node] = vm.record(visible=node.visible)
        vm.undoable(lambda: vm.records.pop(node, None))
    if node.visible:
        vm.state = replace(vm.state, effects=(*vm.state.effects, Effect("write", node)))
