"""One node of a graph, and the pure helpers over its operands; it knows no graph, no op table and no backend.

An operand is a `Node`, a `bcjit.dims.Expr`, a constant, or a ``tuple``, ``list``, ``slice`` or ``dict`` (exact
types) of operands. Dictionary keys are constants. Every other object is a constant leaf.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from bcjit.dims import Expr
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.errors import SourceLine
    from bcjit.fx_graph.graph import Graph
    from bcjit.meta import Meta

__all__ = [
    "Alias", "Node", "NodeKind", "Operand", "exprs_in", "has_form", "item_of", "leaves", "map_operand", "nodes_in",
]  # fmt: skip

Operand: TypeAlias = object
Alias: TypeAlias = Literal["fresh", "view", "maybe", "same"]


class NodeKind(enum.Enum):
    """What a node is."""

    INPUT = "input"  # a value given by the caller, in order
    CONST = "const"  # the object `target`
    CALL = "call"  # target(*args, **kwargs)
    LOOP = "loop"  # repeats its body graph
    COND = "cond"  # runs one of two body graphs
    OUTPUT = "output"  # the last node; args are the values returned


# Nodes are compared and hashed by identity.
@dataclass(slots=True, eq=False, repr=False, weakref_slot=True)
class Node:
    """One input, constant, call or output. Made by the methods of `Graph`, which keep `users` right.

    To change operands use `Graph.replace_uses` or `Graph.set_operands`; the other fields are free to edit.
    """

    kind: NodeKind
    name: str  # unique in its graph, a valid identifier
    target: object = None  # CALL: a callable; CONST: the value; else None
    args: tuple[Operand, ...] = ()
    kwargs: dict[str, Operand] = field(default_factory=dict)
    # Closed graphs with inputs of their own. LOOP: args are (over, carried, free), COND: (predicate, free); see note 0015.
    bodies: tuple[Graph, ...] = ()
    # One for each result. Empty: the result is None and is not used (operator.setitem).
    meta: tuple[Meta, ...] = ()
    # The value is a tuple (or list) of results, read by operator.getitem nodes; else len(meta) <= 1.
    multi: bool = False
    users: dict[Node, None] = field(default_factory=dict)  # an ordered set
    # The operand whose memory the result shares, or may share. None with alias "maybe" is an item of a LOOP or COND
    # that may be any memory handed in to it.
    view_of: Node | None = None
    alias: Alias = "fresh"  # how: not at all, a view, perhaps (reshape), or the very same object
    # Its memory is handed to a loop or branch that gives arrays back, and may be among these: as if it came from outside.
    escapes: bool = False
    writes: tuple[Node, ...] = ()  # operands whose memory the call writes
    draws: bool = False  # the call advances a random stream, or makes one: never dropped, merged or done again
    # The effect reaches what was there before the graph: an input's memory, a random stream. A write into an array
    # that the graph itself made is an effect for the order of calls, but running all again undoes it.
    visible: bool = False
    effect_order: int = 0  # position among the graph's effects, from 1; 0 for a node without one
    epoch: int = 0  # how many of the graph's effects came before it when it was captured
    can_fail: bool = True  # may raise or warn
    # Of a sum or product of arrays as written: which of the two operands nobody else holds. NumPy computes large results into
    # such a temporary, and swaps the operands if only the right one is one. None: it was not asked.
    temporaries: tuple[bool, bool] | None = None
    # What a kernel leaves to this call: it is made only where the value of that node is not None. Where it is not made its value is what it
    # writes, or None. Only backends set it, on graphs that they run.
    unless_done: Node | None = None
    op: object | None = None  # row of the op table, opaque here
    line: SourceLine | None = None  # the user's line

    @property
    def has_effect(self) -> bool:
        """Whether running the node changes something that others can see: it writes or draws."""
        return bool(self.writes) or self.draws

    @property
    def has_value(self) -> bool:
        """Whether the node has a result that can be used."""
        return self.kind is not NodeKind.OUTPUT and (bool(self.meta) or self.multi)

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Positional and keyword operands, in order; behind them, whose value says whether the call is made."""
        if self.unless_done is not None:
            return (*self.args, *self.kwargs.values(), self.unless_done)
        return (*self.args, *self.kwargs.values())

    def uses(self) -> Iterator[Node]:
        """Yield the nodes among the operands, once for each time they occur."""
        return nodes_in(self.operands)

    def __repr__(self) -> str:
        return f"<{self.kind.value} {self.name}>"


_NESTED: Final = frozenset({tuple, list, slice, dict})


def map_operand(operand: Operand, function: Callable[[Operand], Operand]) -> Operand:
    """Rebuild an operand with `function` applied to each leaf; lists and dictionaries are always new."""
    if type(operand) is tuple:
        return tuple(map_operand(item, function) for item in operand)
    if type(operand) is list:
        return [map_operand(item, function) for item in operand]
    if isinstance(operand, slice):
        parts = (operand.start, operand.stop, operand.step)
        return slice(*(map_operand(item, function) for item in parts))
    if type(operand) is dict:
        return {key: map_operand(value, function) for key, value in operand.items()}
    return function(operand)


def leaves(operand: Operand) -> Iterator[Operand]:
    """Yield every leaf of an operand, from left to right."""
    if type(operand) in (tuple, list):
        for item in operand:  # type: ignore[attr-defined]
            yield from leaves(item)
    elif isinstance(operand, slice):
        for item in (operand.start, operand.stop, operand.step):
            yield from leaves(item)
    elif type(operand) is dict:
        for item in operand.values():
            yield from leaves(item)
    else:
        yield operand


def nodes_in(operand: Operand) -> Iterator[Node]:
    """Yield the nodes in an operand, from left to right, once for each time they occur."""
    if type(operand) is not tuple:
        return (leaf for leaf in leaves(operand) if isinstance(leaf, Node))
    found: list[Node] = []
    for item in operand:  # most operands are flat, and asked for often
        if isinstance(item, Node):
            found.append(item)
        elif type(item) in _NESTED:
            found.extend(nodes_in(item))
    return iter(found)


def exprs_in(operand: Operand) -> Iterator[Expr]:
    """Yield the symbolic integers in an operand, from left to right."""
    return (leaf for leaf in leaves(operand) if isinstance(leaf, Expr))


def item_of(node: Node) -> tuple[Node, int] | None:
    """Return the loop or branch of which a node is a result, and which one; None if it is none."""
    if node.target is operator.getitem and len(node.args) == 2:
        of, index = node.args
        if isinstance(of, Node) and of.bodies and type(index) is int:
            return of, index
    return None


def has_form(node: Node) -> bool:
    """Whether a loop or branch has as many operands and bodies as its kind has."""
    if node.kwargs or not node.args or type(node.args[-1]) is not tuple:
        return False
    if node.kind is NodeKind.COND:
        return (len(node.args), len(node.bodies)) == (2, 2)
    if (node.kind, len(node.args), len(node.bodies)) != (NodeKind.LOOP, 3, 1):
        return False
    over, carried, _ = node.args
    return type(carried) is tuple and (over is None or (type(over) is tuple and len(over) == 3))
