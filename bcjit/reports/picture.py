"""What a drawing of a graph needs, as plain data: rows with a few words, edges by number, bodies; it draws nothing.

A `Picture` holds no node, no constant and no function of the program.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np

from bcjit.dims import Symbol
from bcjit.errors import SourceLine
from bcjit.fx_graph import Graph, Node, NodeKind, exprs_in, item_of
from bcjit.fx_graph.dependencies import Owner, has_memory, owner
from bcjit.fx_graph.node import has_form
from bcjit.fx_graph.printer import operand_text, target_name
from bcjit.meta import UNBOUND
from bcjit.records import dataclass

__all__ = ["Picture", "Row", "picture_of"]

# Of one graph: what is longer is read as text, and that in parts.
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class Row:
    """One node: what it does and gives, and which rows of its picture it reads and writes."""

    kind: str  # of NodeKind, or "output"
    name: str
    does: str  # a few words: ``x - mean``
    gives: str  # ``float64[n]``
    line: SourceLine | None
    uses: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()  # among those that it uses
    after: tuple[int, ...] = ()  # effects that it must stay behind
    bodies: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """A graph, or a body of a loop or branch in it."""

    title: str  # empty for a whole graph
    rows: tuple[Row, ...]
    left_out: int = 0  # nodes behind these


def picture_of(graph: Graph) -> Picture:
    """Return what a drawing of a graph needs."""
    return _picture(graph, "", {})


def _picture(
    graph: Graph, title: str, given: dict[Node, str], carried: Sequence[str] = ()
) -> Picture:
    # A body is handed more than it reads: the other side of a branch may need it.
    read = graph.symbol_sources() if title else set()
    nodes = [
        node
        for node in graph.nodes
        if node.kind is not NodeKind.OUTPUT
        and item_of(node) is None
        and not (title and node.kind is NodeKind.INPUT and not node.users and node not in read)
    ]
    shown, more = nodes[:_LONGEST], len(nodes[_LONGEST:])
    number = {node: index for index, node in enumerate(shown)}
    results: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        item = item_of(node)
        if item is not None and item[0] in number:
            # What comes out of a loop or branch is named at its box.
            number[node] = number[item[0]]
            results.setdefault(item[0], []).append(node)
    behind = _order(shown, number)
    sizes = graph.symbols
    rows = [
        _row(
            node,
            tuple(results.get(node, (node,))),
            _numbers(node, number, sizes),
            number,
            behind[node],
            given,
        )
        for node in shown
    ]
    outputs = graph.output_node
    if outputs is not None and not more and outputs.args:
        words = _leaving(outputs.args, title, carried)
        rows.append(Row("output", "", words, "", None, _numbers(outputs, number, sizes)))
    return Picture(title, tuple(rows), more)


def _leaving(values: tuple[object, ...], title: str, carried: Sequence[str]) -> str:
    """Return what the end of a graph says: what it returns, what the next turn gets, what a side of a branch gives."""
    words = list(map(_short, values))
    if not carried or len(carried) != len(words) - 1:
        return f"{'give' if title else 'return'} {', '.join(words)}"
    status, *rest = words
    pairs = [f"{name} = {value}" for name, value in zip(carried, rest, strict=True)]
    return f"next {', '.join(pairs)}" + ("" if status == "0" else f"; end if {status}")


def _order(nodes: Sequence[Node], number: dict[Node, int]) -> dict[Node, tuple[int, ...]]:
    """Return for each node the effects that it must stay behind, where no operand says so."""
    written: dict[Owner, int] = {}
    drawn: int | None = None
    found = {}
    for node in nodes:
        touched = {owner(used) for used in node.uses() if has_memory(used)}
        behind = {written[one] for one in touched if one in written}
        if node.draws and drawn is not None:
            behind.add(drawn)
        found[node] = tuple(sorted(behind - {number[n] for n in node.uses() if n in number}))
        for target in node.writes:
            written[owner(target)] = number[node]
        drawn = number[node] if node.draws else drawn
    return found


def _numbers(
    node: Node, number: Mapping[Node, int], sizes: Mapping[Symbol, tuple[Node, int | None]]
) -> tuple[int, ...]:
    """Return the rows that a node reads, be it only a size."""
    measured = (
        sizes[symbol][0]
        for expr in exprs_in(node.operands)
        for symbol in sorted(expr.symbols(), key=str)
        if symbol in sizes
    )
    used = (*node.uses(), *measured)
    return tuple(dict.fromkeys(number[one] for one in used if one in number))


def _row(
    node: Node,
    results: tuple[Node, ...],
    uses: tuple[int, ...],
    number: Mapping[Node, int],
    behind: tuple[int, ...],
    given: Mapping[Node, str],
) -> Row:
    gives = ", ".join(str(meta) for one in results for meta in one.meta)
    return Row(
        kind=node.kind.value,
        name=", ".join(one.name for one in results),
        does=given.get(node) or _does(node),
        gives=f"({gives})" if results == (node,) and node.multi else gives,
        line=node.line,
        uses=uses,
        writes=tuple(number[written] for written in node.writes if written in number),
        after=behind,
        bodies=_bodies(node),
    )


# How operators are written; what is not here is written as a call.
_BINARY: Final[dict[Callable[..., object], str]] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.matmul: "@", operator.and_: "&", operator.or_: "|",
    operator.xor: "^", operator.lshift: "<<", operator.rshift: ">>", operator.lt: "<", operator.le: "<=",
    operator.eq: "==", operator.ne: "!=", operator.gt: ">", operator.ge: ">=", operator.iadd: "+=",
    operator.isub: "-=", operator.imul: "*=", operator.itruediv: "/=", operator.ifloordiv: "//=", operator.imod: "%=",
    operator.ipow: "**=", operator.iand: "&=", operator.ior: "|=", operator.ixor: "^=",
}  # fmt: skip
_UNARY: Final[dict[Callable[..., object], str]] = {
    operator.neg: "-", operator.pos: "+", operator.invert: "~", operator.not_: "not ",
}  # fmt: skip


def _short(operand: object) -> str:
    return "nothing" if operand is UNBOUND else operand_text(operand)


def _index(key: object) -> str:
    if type(key) is tuple and key:
        return ", ".join(map(_index, key))
    if isinstance(key, slice):
        ends = ["" if end is None else _short(end) for end in (key.start, key.stop, key.step)]
        return ":".join(ends if ends[2] else ends[:2])
    return "..." if key is Ellipsis else _short(key)


def _does(node: Node) -> str:
    """Return what a node does, as people write it."""
    args = node.args
    if node.kind is NodeKind.INPUT:
        return node.name
    if node.kind is NodeKind.CONST:
        return _constant(node.target)
    if node.kind is NodeKind.LOOP:
        return _loop_head(node)
    if node.kind is NodeKind.COND:
        return f"if {_short(args[0])}" if args else "if"
    target = node.target
    if not node.kwargs and _is_key(target):
        if target in _BINARY and len(args) == 2:
            return f"{_short(args[0])} {_BINARY[target]} {_short(args[1])}"
        if target in _UNARY and len(args) == 1:
            return f"{_UNARY[target]}{_short(args[0])}"
        if target is operator.getitem and len(args) == 2:
            return f"{_short(args[0])}[{_index(args[1])}]"
        if target is operator.setitem and len(args) == 3:
            return f"{_short(args[0])}[{_index(args[1])}] = {_short(args[2])}"
    words = [_short(arg) for arg in args]
    words += [f"{key}={_short(arg)}" for key, arg in node.kwargs.items()]
    return f"{_name(target)}({', '.join(words)})"


def _is_key(target: object) -> bool:
    # Only functions of operator are looked up: hashing an object of the program could run its code.
    return type(target) is type(operator.add)


# Left out in front of names: what follows is known well enough.
_KNOWN: Final = (
    "numpy.ndarray.", "numpy.random.Generator.", "numpy.random.", "numpy.", "operator.", "primitive.",
)  # fmt: skip


def _name(target: object) -> str:
    name = target_name(target)
    if name.startswith("bcjit."):
        return name.rpartition(".")[2]
    for prefix in _KNOWN:
        if name.startswith(prefix):
            return name.removeprefix(prefix)
    return name


def _constant(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"array {value.dtype}[{', '.join(map(str, value.shape))}]"
    return _short(value)


def _loop_head(node: Node) -> str:
    if not has_form(node) or node.args[0] is None:
        return "repeat"
    inputs = node.bodies[0].inputs
    return f"for {inputs[0].name if inputs else '?'} in range{_short(node.args[0])}"


def _bodies(node: Node) -> tuple[Picture, ...]:
    """Return the pictures of the bodies, whose inputs say what they are at first and in each turn."""
    if not node.bodies or not has_form(node):
        return tuple(_picture(body, "body", {}) for body in node.bodies)
    if node.kind is NodeKind.COND:
        given = node.args[1]
        assert isinstance(given, tuple)
        return tuple(
            _picture(body, title, _given(body.inputs, given, "="))
            for body, title in zip(node.bodies, ("then", "else"), strict=True)
        )
    over, carried, free = node.args
    (body,) = node.bodies
    inputs = body.inputs[1:] if over is not None else body.inputs
    assert isinstance(carried, tuple)
    assert isinstance(free, tuple)
    words = _given(inputs[: len(carried)], carried, "from")
    words.update(_given(inputs[len(carried) :], free, "="))
    names = [one.name for one in inputs[: len(carried)]]
    return (_picture(body, "each turn", words, names),)


def _given(inputs: tuple[Node, ...], operands: tuple[object, ...], word: str) -> dict[Node, str]:
    return {
        one: f"{one.name} {word} {_short(operand)}"
        for one, operand in zip(inputs, operands, strict=False)
    }
