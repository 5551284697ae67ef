"""Algebra that holds for every bit pattern: no rule that a NaN, a signed zero, a flag or a memory layout could tell.

A rule looks at a call and gives what takes its place: an operand of its operand, or a callable and operands for the call itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from bcjit import ops
from bcjit.fx_graph.dependencies import owner
from bcjit.fx_graph.node import Node, NodeKind, Operand, nodes_in
from bcjit.fx_graph.passes.sharing import Sharing
from bcjit.meta import ArrayMeta

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["simplify"]

# A node to use in place of the result, or the ufunc and operands to call instead.
Found: TypeAlias = "Node | tuple[np.ufunc, tuple[Operand, ...]] | None"
Rule: TypeAlias = Callable[[Node], Found]


def simplify(graph: Graph) -> int:
    """Apply the rules to every call once, in order; return how many calls were replaced or changed."""
    sharing = Sharing(graph)
    changed = 0
    for node in tuple(graph.nodes):
        arity, rule = _RULES.get(_name(node), (0, None))
        found = rule(node) if rule is not None and len(node.args) == arity else None
        if found is None or (node.alias != "view" and _is_written(node.operands, sharing)):
            continue  # an operand is not what the call that made it gave
        if isinstance(found, Node):
            if not _can_stand_for(found, node, sharing):
                continue
            graph.replace_uses(node, found)
            changed += 1
        else:
            target, operands = found
            if _is_written(operands, sharing):
                continue  # not what it was when the call between was made
            node.target, node.op = target, ops.lookup(target)
            node.temporaries = None  # it is another call, of other operands
            graph.set_operands(node, operands)
            changed += 1
    return changed


def _name(node: Node) -> str:
    """Return the op that a call of positional operands means, "" for any other node."""
    if node.kind is not NodeKind.CALL or node.has_effect or node.kwargs:
        return ""
    return node.op.name if isinstance(node.op, ops.OpDef) else ""


def _is_written(operands: tuple[Operand, ...], sharing: Sharing) -> bool:
    """Whether the memory of an operand is written anywhere in the graph."""
    return any(owner(operand) in sharing.written for operand in nodes_in(operands))


def _can_stand_for(found: Node, node: Node, sharing: Sharing) -> bool:
    """Whether nobody can tell that a node was used in place of another of the same elements."""
    if found.meta != node.meta or node in sharing.leaving:
        return False
    if node.alias == "view":
        return True  # the same memory
    return sharing.is_private(node) and owner(found) not in sharing.written


def _operand(node: Node, index: int = 0) -> Node | None:
    operand = node.args[index]
    return operand if isinstance(operand, Node) else None


def _is_packed(operand: Operand) -> bool:
    """Whether it is new memory that an elementwise loop laid out: another such call of it alone has the same layout."""
    if not isinstance(operand, Node) or not _name(operand) or operand.alias != "fresh":
        return False
    target = operand.target
    if isinstance(target, np.ufunc):
        return target.signature is None
    return getattr(target, "__module__", "") == "_operator" and target is not operator.matmul


def _meta(operand: Operand) -> ArrayMeta | None:
    meta = operand.meta[0] if isinstance(operand, Node) and len(operand.meta) == 1 else None
    return meta if isinstance(meta, ArrayMeta) and not meta.is_scalar else None


def _kind(operand: Operand) -> str:
    meta = _meta(operand)
    return "" if meta is None else meta.dtype.kind


# The rules


def _twice(name: str, kinds: str) -> Rule:
    """``f(f(x))`` is x."""

    def rule(node: Node) -> Found:
        inner = _operand(node)
        if inner is None or _name(inner) != name or _kind(node) not in tuple(kinds):
            return None
        innermost = _operand(inner)
        return innermost if _is_packed(innermost) else None

    return rule


def _absolute(node: Node) -> Found:
    """``abs(abs(x))`` is ``abs(x)``, ``abs(-x)`` is ``abs(x)``: of real numbers."""
    inner = _operand(node)
    if inner is None or _kind(node) not in tuple("if") or _kind(inner) != _kind(node):
        return None
    if _name(inner) == "absolute":
        return inner if _is_packed(inner) else None
    if _name(inner) == "negative" and _is_packed(inner):
        return np.absolute, inner.args
    return None


def _add(node: Node) -> Found:
    """``x + -y`` is ``x - y``: of integers (of floats the sign of a NaN would be another)."""
    left, right = node.args
    if _is_negative(right, node) and _kind(left) == "i":
        assert isinstance(right, Node)
        return np.subtract, (left, right.args[0])
    return _neutral(0)(node)


def _multiply(node: Node) -> Found:
    """``-x * -y`` is ``x * y``: of integers."""
    left, right = node.args
    if _is_negative(left, node) and _is_negative(right, node):
        assert isinstance(left, Node)
        assert isinstance(right, Node)
        return np.multiply, (left.args[0], right.args[0])
    return _neutral(1)(node)


def _is_negative(operand: Operand, node: Node) -> bool:
    """Whether an operand is ``-x`` of an x laid out as itself, in the signed integers that the call computes in."""
    if not isinstance(operand, Node) or _name(operand) != "negative" or _kind(node) != "i":
        return False
    one, other = _meta(operand), _meta(node)
    same = one is not None and other is not None and one.dtype == other.dtype
    return same and _is_packed(operand.args[0])


def _neutral(number: int) -> Rule:
    """``x + 0``, ``x * 1`` and their like are x: of integers (for floats 0 has two signs, and NaN may signal)."""

    def rule(node: Node) -> Found:
        left, right = node.args
        if (
            type(right) is int
            and right == number
            and _kind(node) in ("i", "u")
            and _is_packed(left)
        ):
            assert isinstance(left, Node)
            return left
        return None

    return rule


def _transpose(node: Node) -> Found:
    """``x.T.T`` is another array object over the same memory."""
    inner = _operand(node)
    if inner is None or _name(inner) != "transpose" or len(inner.args) != 1:
        return None
    return _operand(inner)


# name: number of operands, rule
_RULES: Final[dict[str, tuple[int, Rule]]] = {
    "absolute": (1, _absolute),
    "add": (2, _add),
    "bitwise_or": (2, _neutral(0)),
    "bitwise_xor": (2, _neutral(0)),
    "conjugate": (1, _twice("conjugate", "c")),
    "invert": (1, _twice("invert", "biu")),
    "left_shift": (2, _neutral(0)),
    "multiply": (2, _multiply),
    "negative": (1, _twice("negative", "iuf")),
    "right_shift": (2, _neutral(0)),
    "subtract": (2, _neutral(0)),
    "transpose": (1, _transpose),
}
