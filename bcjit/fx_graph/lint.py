"""Checks that a graph is well formed; it reports, and repairs nothing.

One generator for each kind of mistake, in the table `CHECKS`. Tests run them after every pass.
"""

from __future__ import annotations

import keyword
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias

from bcjit.dims import Expr, Symbol
from bcjit.fx_graph.dependencies import maker, misplaced
from bcjit.fx_graph.node import Node, NodeKind, exprs_in, has_form, item_of, leaves
from bcjit.meta import ArrayMeta, ObjectMeta, ScalarMeta, UnboundMeta, UnionMeta

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph
    from bcjit.meta import Meta

__all__ = ["CHECKS", "check"]

Check: TypeAlias = "Callable[[Graph], Iterator[str]]"

_METAS: Final = (ArrayMeta, ScalarMeta, ObjectMeta, UnionMeta, UnboundMeta)


def _definitions(graph: Graph) -> Iterator[str]:
    """Every node is in the graph once, and after what it uses."""
    # Inputs are bound before anything runs, wherever they stand.
    owned = set(graph.nodes)
    if len(owned) != len(graph.nodes):
        yield "a node is in the graph twice"
    defined = set(graph.inputs)
    for node in graph.nodes:
        for used in node.uses():
            if used not in owned:
                yield f"{node.name} uses {used.name}, which is no node of this graph"
            elif used not in defined:
                yield f"{node.name} uses {used.name} before it is defined"
        defined.add(node)
    for node in graph.keep - owned:
        yield f"{node.name} is kept, but is no node of this graph"


def _names(graph: Graph) -> Iterator[str]:
    """Names are unique, valid identifiers."""
    seen: set[str] = set()
    for node in graph.nodes:
        if node.name in seen:
            yield f"two nodes are named {node.name}"
        inner = {one.name for body in node.bodies for g in body.nested() for one in g.nodes}
        for name in sorted(inner & seen):
            yield f"a node in a body of {node.name} has the name {name} of another one"
        seen |= inner
        if not node.name.isidentifier() or keyword.iskeyword(node.name):
            yield f"{node.name!r} is no valid name for a node"
        seen.add(node.name)


def _users(graph: Graph) -> Iterator[str]:
    """`users` is what the operands say."""
    users: dict[Node, set[Node]] = {node: set() for node in graph.nodes}
    for node in graph.nodes:
        for used in node.uses():
            users.setdefault(used, set()).add(node)
    for node in graph.nodes:
        if set(node.users) != users[node]:
            said = sorted(user.name for user in node.users)
            found = sorted(user.name for user in users[node])
            yield f"users of {node.name} are recorded as {said}, but are {found}"


def _metas(graph: Graph) -> Iterator[str]:
    """Every value has a meta, and only values are used."""
    for node in graph.nodes:
        if not all(isinstance(meta, _METAS) for meta in node.meta):
            yield f"{node.name} has a meta of the wrong type: {node.meta}"
        wanted = 0 if node.kind is NodeKind.OUTPUT else 1
        simple = node.kind in (NodeKind.INPUT, NodeKind.CONST, NodeKind.OUTPUT)
        if simple and (len(node.meta) != wanted or node.multi):
            yield f"{node.name} must have {wanted} meta, not {len(node.meta)}"
        if not simple and not node.multi and len(node.meta) > 1:
            yield f"{node.name} has {len(node.meta)} metas, but is not multi"
        if not simple and not node.has_value and not node.has_effect:
            yield f"{node.name} has neither a meta nor an effect"
        if node.users and not node.has_value:
            yield f"{node.name} has no value, but is used by {next(iter(node.users)).name}"


def _kinds(graph: Graph) -> Iterator[str]:
    """Each kind of node has the fields of its kind."""
    for node in graph.nodes:
        if node.kind is NodeKind.CALL and not callable(node.target):
            yield f"the target of {node.name} is not callable: {type(node.target).__name__}"
        if node.kind in (NodeKind.INPUT, NodeKind.CONST) and node.operands:
            yield f"{node.name} is of kind {node.kind.value}, but has operands"
        if bool(node.bodies) != (node.kind in (NodeKind.LOOP, NodeKind.COND)):
            yield f"{node.name} is of kind {node.kind.value} with {len(node.bodies)} bodies"
        formed = has_form(node)
        for index, body in enumerate(node.bodies):
            for problem in (*check(body), *(_arity(node, body) if formed else ())):
                yield f"body {index} of {node.name}: {problem}"
        if node.bodies and formed:
            yield from _structured(node)
        elif node.bodies:
            yield f"{node.name} has not the operands and bodies of a {node.kind.value}"


def _arity(node: Node, body: Graph) -> Iterator[str]:
    """A body takes what its node hands it, and gives what the node gives."""
    *own, free = node.args
    if node.kind is NodeKind.LOOP:
        over, carried = own
        handed = (over is not None) + len(carried) + len(free)  # type: ignore[arg-type]  # tuples
        held = body.inputs[over is not None :][: len(carried)]  # type: ignore[arg-type]  # a tuple
        for one, meta in zip(held, node.meta[1:], strict=False):
            if not _alike(one.meta[0], meta):
                yield f"{one.name} is {one.meta[0]}, but {node.name} carries {meta}"
        if over is not None and body.inputs and body.inputs[0].meta != (ScalarMeta(int),):
            yield f"{body.inputs[0].name} is the index, and no int"
        status = body.outputs[0] if body.outputs else None
        if not (type(status) is int or isinstance(status, Expr)) and not (
            isinstance(status, Node) and status.meta == (ScalarMeta(int),)
        ):
            yield "its first output is the status, and no int"
    else:
        handed = len(free)  # type: ignore[arg-type]  # a tuple
    if len(body.inputs) != handed:
        yield f"it has {len(body.inputs)} inputs, but is handed {handed} values"
    if len(body.outputs) != len(node.meta):
        yield f"it has {len(body.outputs)} outputs, but {node.name} gives {len(node.meta)}"


def _alike(one: Meta, other: Meta) -> bool:
    """Whether two metas are of one kind: a size has another symbol in a body than around it."""
    if isinstance(one, UnboundMeta) and isinstance(other, UnboundMeta):
        return _alike(one.kind, other.kind)
    if isinstance(one, ArrayMeta) and isinstance(other, ArrayMeta):
        return (one.dtype, one.ndim, one.is_scalar) == (other.dtype, other.ndim, other.is_scalar)
    return one == other


def _structured(node: Node) -> Iterator[str]:
    """The results of a loop or branch are read by index, one by one."""
    for user in node.users:
        item = item_of(user)
        if item is None:
            yield f"{user.name} uses {node.name}, whose results are read by operator.getitem"
        elif not 0 <= item[1] < len(node.meta):
            yield f"{user.name} reads result {item[1]} of {node.name}, which has {len(node.meta)}"
    inner = [one for body in node.bodies for one in body.nodes]
    if any(one.draws for one in inner) and not node.draws:
        yield f"{node.name} does not say that its bodies draw"
    for body in node.bodies:
        for place, one in enumerate(body.inputs):
            written = any(maker(w) is one for inner in body.nodes for w in inner.writes)
            operands = _handed(node)
            operand = operands[place] if place < len(operands) else None
            said = {maker(w) for w in node.writes}
            if written and isinstance(operand, Node) and maker(operand) not in said:
                yield f"{node.name} does not say that it writes {operand.name}"


def _handed(node: Node) -> tuple[object, ...]:
    """Return the operands for the inputs of a body; None for the index."""
    if node.kind is NodeKind.COND:
        return tuple(node.args[-1])  # type: ignore[arg-type]  # a tuple
    over, carried, free = node.args
    index = () if over is None else (None,)
    return (*index, *carried, *free)  # type: ignore[misc]  # tuples


def _symbols(graph: Graph) -> Iterator[str]:
    """Every symbol of an operand can be read from a node before it."""
    owned = set(graph.nodes)
    for symbol, (node, axis) in graph.symbols.items():
        meta = node.meta[0] if node.meta and not node.multi else None
        if isinstance(meta, UnboundMeta):
            meta = meta.kind  # read only where there is a value
        if node not in owned:
            yield f"symbol {symbol} is read from {node.name}, which is no node of this graph"
        elif axis is None and meta != ScalarMeta(int):
            yield f"symbol {symbol} is the value of {node.name}, which is no Python int"
        elif axis is not None and not (isinstance(meta, ArrayMeta) and 0 <= axis < meta.ndim):
            yield f"symbol {symbol} is axis {axis} of {node.name}, which has no such axis"
    defined = set(graph.inputs)
    for node in graph.nodes:
        # As a constant it would reach NumPy.
        bare = [leaf for leaf in leaves(node.operands) if isinstance(leaf, Symbol)]
        if bare:
            yield f"{node.name} has the bare symbol {bare[0]} as an operand; its expr is meant"
        used = {symbol for expr in exprs_in(node.operands) for symbol in expr.symbols()}
        for symbol in sorted(used, key=str):
            if symbol not in graph.symbols:
                yield f"{node.name} uses symbol {symbol}, which no node defines"
            elif graph.symbols[symbol][0] not in defined:
                yield f"{node.name} uses symbol {symbol} before it is defined"
        defined.add(node)


def _memory(graph: Graph) -> Iterator[str]:
    """Writes and views are about array operands."""
    for node in graph.nodes:
        used = set(node.uses())
        # An item of a call's results may be a view of one of the call's operands.
        used.update(inner for call in tuple(used) if call.multi for inner in call.uses())
        for written in node.writes:
            meta = written.meta[0] if len(written.meta) == 1 else None
            meta = meta.kind if isinstance(meta, UnboundMeta) else meta
            if written not in used:
                yield f"{node.name} writes {written.name}, which is not among its operands"
            elif not isinstance(meta, ArrayMeta) or meta.is_scalar:
                yield f"{node.name} writes {written.name}, which is no array"
        # What a loop or a branch gives may be any memory handed in: there is no one operand to name.
        # So may an item of several arrays that is chosen by an index.
        chosen = node.target is operator.getitem and type(node.args[0]) is tuple
        from_body = node.alias == "maybe" and (item_of(node) is not None or chosen)
        if (node.view_of is None) != (node.alias == "fresh") and not from_body:
            of = node.view_of.name if node.view_of is not None else None
            yield f"{node.name} has alias {node.alias!r} but is view of {of}"
        elif node.view_of is not None and node.view_of not in used:
            yield f"{node.name} is a view of {node.view_of.name}, which is not among its operands"


def _effects(graph: Graph) -> Iterator[str]:
    """Effects stand in the order in which the program has them."""
    last = 0
    for node in graph.nodes:
        if node.has_effect != (node.effect_order > 0):
            yield f"{node.name} has effect order {node.effect_order}, but writes {node.writes}"
        elif node.has_effect:
            if node.effect_order <= last:
                yield f"{node.name} has an effect that comes before those of the nodes above it"
            last = node.effect_order


def _order(graph: Graph) -> Iterator[str]:
    """Nothing stands on the wrong side of an effect: a read of what is written, a call that can fail."""
    for node, other in misplaced(graph):
        if other not in node.users and other not in set(node.uses()):
            yield f"{node.name} must come after {other.name}"


def _output(graph: Graph) -> Iterator[str]:
    """The last node, and no other, is the output."""
    where = [index for index, node in enumerate(graph.nodes) if node.kind is NodeKind.OUTPUT]
    if where != [len(graph.nodes) - 1]:
        yield f"there must be one output, and it must be the last node; outputs are at {where}"


CHECKS: Final[tuple[Check, ...]] = (
    _definitions, _names, _users, _metas, _kinds, _symbols, _memory, _effects, _order,
)  # fmt: skip


def check(graph: Graph, *, complete: bool = True) -> list[str]:
    """Return what is wrong with a graph, one sentence each; `complete` asks for an output too."""
    checks = (*CHECKS, _output) if complete else CHECKS
    return [problem for one in checks for problem in one(graph)]
