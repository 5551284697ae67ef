"""The text form of a graph, stable so that tests and people can compare it; it must not change the graph."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from types import MethodType
from typing import TYPE_CHECKING, Final

import numpy as np

from bcjit.dims import Expr
from bcjit.fx_graph.node import Node, NodeKind, Operand, has_form

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["node_text", "operand_text", "target_name", "to_text"]

# Constants whose text is longer are cut: a graph must stay readable.
_LONGEST_CONSTANT: Final = 60
_LONGEST_INT: Final = 192

# Where modules hide behind public ones, or are long to read.
_PUBLIC_MODULES: Final = {
    "_operator": "operator",
    "bcjit.primitives.kinds": "primitive",
    "numpy._core.numeric": "numpy",
    "numpy.random": "numpy.random",
    "numpy.random._generator": "numpy.random",
    "numpy.random.mtrand": "numpy.random",
}


def target_name(target: object) -> str:
    """Return ``numpy.add``, ``operator.setitem``, ``numpy.ndarray.sum``... of a callable."""
    owner = getattr(target, "__objclass__", None)
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", None)
    if type(target) is operator.attrgetter:
        return f"attribute.{target.__reduce__()[1][0]}"
    if type(target) is type(np.ndarray.T.__get__) and isinstance(name, str):
        # The bound __get__ or __set__ of a descriptor: name what it reads or writes.
        described = getattr(target, "__self__", None)
        owner, name = (
            getattr(described, "__objclass__", owner),
            getattr(described, "__name__", name),
        )
    if not isinstance(name, str):
        return type(target).__name__
    if isinstance(target, np.ufunc) and getattr(np, name, None) is target:
        return f"numpy.{name}"  # ufuncs of NumPy 2.0 do not know their module
    if type(target) is MethodType and _PUBLIC_MODULES.get(target.__module__) == "numpy.random":
        return f"numpy.random.{target.__name__}"  # its functions are methods of one RandomState
    name = name.rpartition("<locals>.")[2]
    if isinstance(owner, type):
        return _qualified(owner.__module__, f"{owner.__qualname__}.{name.rpartition('.')[2]}")
    bound = getattr(target, "__self__", None)
    if isinstance(bound, np.ufunc):
        return f"{target_name(bound)}.{name.rpartition('.')[2]}"
    return _qualified(getattr(target, "__module__", None), name)


def _qualified(module: object, name: str) -> str:
    if not isinstance(module, str) or module == "builtins":
        return name
    return f"{_PUBLIC_MODULES.get(module, module)}.{name}"


def operand_text(operand: Operand) -> str:
    """Return an operand as people write it: nodes and symbols by name, constants by (short) repr."""
    if isinstance(operand, Node):
        return operand.name
    if isinstance(operand, Expr):
        return str(operand)
    if type(operand) is tuple:
        inner = ", ".join(map(operand_text, operand))
        return f"({inner},)" if len(operand) == 1 else f"({inner})"
    if type(operand) is list:
        return f"[{', '.join(map(operand_text, operand))}]"
    if isinstance(operand, slice):
        return f"slice({', '.join(map(operand_text, (operand.start, operand.stop, operand.step)))})"
    if type(operand) is dict:
        pairs = (f"{key!r}: {operand_text(value)}" for key, value in operand.items())
        return f"{{{', '.join(pairs)}}}"
    return _constant_text(operand)


def _constant_text(value: object) -> str:
    if isinstance(value, type):
        return value.__name__
    if callable(value) and not isinstance(value, np.generic):
        return target_name(value)
    if isinstance(value, np.ndarray):
        return f"<array {value.dtype}{list(value.shape)}>"
    if type(value) is int and value.bit_length() > _LONGEST_INT:
        return f"<int of {value.bit_length()} bits>"  # repr has a limit on the number of digits
    # Only the repr of types that run no user code.
    if type(value).__module__ not in ("builtins", "numpy", "numpy.dtypes"):
        return f"<{type(value).__name__}>"
    text = repr(value)
    return text if len(text) <= _LONGEST_CONSTANT else f"{text[: _LONGEST_CONSTANT - 3]}..."


def _index_text(key: Operand) -> str:
    """Return what stands between the brackets of ``x[...]``."""
    if type(key) is tuple and key:
        return ", ".join(map(_index_text, key)) + ("," if len(key) == 1 else "")
    if isinstance(key, slice):
        start, stop, step = (
            "" if part is None else operand_text(part) for part in (key.start, key.stop, key.step)
        )
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return "..." if key is Ellipsis else operand_text(key)


def _call_text(node: Node) -> str:
    if node.target is operator.getitem and len(node.args) == 2 and not node.kwargs:
        return f"{operand_text(node.args[0])}[{_index_text(node.args[1])}]"
    operands = [operand_text(arg) for arg in node.args]
    operands.extend(f"{key}={operand_text(arg)}" for key, arg in node.kwargs.items())
    head = target_name(node.target) if node.kind is NodeKind.CALL else node.kind.value
    return f"{head}({', '.join(operands)})"


def _facts(node: Node) -> Iterator[str]:
    """Yield result and effects: ``float64[s0]``, ``view of x``, ``writes x``."""
    metas = ", ".join(map(str, node.meta))
    if node.multi:
        yield f"({metas})"
    elif metas:
        yield metas
    if node.view_of is not None:
        how = {"view": "view of", "maybe": "maybe view of", "same": "same as"}
        yield f"{how.get(node.alias, node.alias)} {node.view_of.name}"
    if node.writes:
        yield f"writes {', '.join(written.name for written in node.writes)}"
    if node.draws:
        yield "draws"


def _columns(node: Node) -> tuple[str, str, str]:
    """Return what a node does, what it gives, and the user's line."""
    if node.kind is NodeKind.CONST:
        does = f"{node.name} = {_constant_text(node.target)}"
    elif node.target is operator.setitem and len(node.args) == 3 and not node.kwargs:
        owner, key, value = node.args
        does = f"{node.name}: {operand_text(owner)}[{_index_text(key)}] = {operand_text(value)}"
    else:
        does = f"{node.name} = {_call_text(node)}"
    return does, ", ".join(_facts(node)), f"# {node.line}" if node.line is not None else ""


def node_text(node: Node) -> str:
    """Return a node in one line, with what it gives; of a loop or branch not its bodies."""
    does, gives, _ = _columns(node)
    return f"{does}  {gives}"


def to_text(graph: Graph) -> str:
    """Return the text of a graph; bodies of loops and branches stand below their node, indented.

    A loop says what it runs over, what it carries from turn to turn with the values before the first, and with which names its body
    reads what is around it; ``next`` gives the status (not 0 ends the loop) and what is carried on. The sides of a branch ``give`` its results.
    """
    inputs = ", ".join(f"{node.name}: {node.meta[0]}" for node in graph.inputs)
    lines = [f"graph({inputs}):", *(f"  {text}" for text in _rows(graph))]
    if graph.output_node is not None:
        lines.append(f"  return {operand_text(graph.outputs)}")
    return "\n".join(lines)


def _rows(graph: Graph) -> list[str]:
    """Return the lines of the nodes between inputs and output, in columns."""
    skipped = (NodeKind.INPUT, NodeKind.OUTPUT)
    nodes = [node for node in graph.nodes if node.kind not in skipped]
    rows = {node: _columns(node) for node in nodes}
    plain = [row for node, row in rows.items() if not node.bodies]
    widths = [max((len(row[column]) for row in plain), default=0) for column in (0, 1)]
    lines: list[str] = []
    for node, (does, gives, line) in rows.items():
        if node.bodies and has_form(node):
            lines.extend(_structured_rows(node, "  ".join(part for part in (gives, line) if part)))
            continue
        lines.append(f"{does:{widths[0]}}  {gives:{widths[1]}}  {line}".rstrip())
        for body in node.bodies:
            lines.extend(f"  {text}" for text in to_text(body).splitlines())
    return lines


def _structured_rows(node: Node, facts: str) -> Iterator[str]:
    *own, free = node.args
    assert isinstance(free, tuple)
    body = node.bodies[0]
    if node.kind is NodeKind.LOOP:
        over, carried = own
        assert isinstance(carried, tuple)
        inputs = body.inputs
        head = "repeat"
        if over is not None:
            head = f"for {inputs[0].name if inputs else '?'} in range{operand_text(over)}"
            inputs = inputs[1:]
        head += _pairs("carrying", inputs, carried) + _pairs("with", inputs[len(carried) :], free)
        yield f"{node.name} = {head}:  {facts}".rstrip()
        yield from (f"  {text}" for text in _rows(body))
        yield f"  next {', '.join(map(operand_text, body.outputs))}"
        return
    for body, word in zip(
        node.bodies, (f"{node.name} = if {operand_text(own[0])}", "else"), strict=True
    ):
        head = f"{word}{_pairs('with', body.inputs, free)}:"
        yield (head if word == "else" else f"{head}  {facts}").rstrip()
        yield from (f"  {text}" for text in _rows(body))
        yield f"  give {', '.join(map(operand_text, body.outputs))}".rstrip()


def _pairs(word: str, inputs: tuple[Node, ...], operands: tuple[Operand, ...]) -> str:
    """Return `` carrying (s = 0.0)``, nothing where there are no operands."""
    shown = [
        f"{one.name} = {operand_text(operand)}"
        for one, operand in zip(inputs, operands, strict=False)
    ]
    return f" {word} ({', '.join(shown)})" if shown else ""
