"""Makes calls of constants once, at compile time, where NumPy does so in silence and nobody gets hold of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import numpy as np

from bcjit.dims import Expr
from bcjit.fx_graph.expressions import warns_here
from bcjit.fx_graph.node import Node, NodeKind, leaves, map_operand
from bcjit.fx_graph.passes.sharing import Sharing
from bcjit.meta import ArrayMeta, meta_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from bcjit.fx_graph.graph import Graph

__all__ = ["fold_constants"]

# Larger results are cheaper to make than to keep, for as long as the entry lives.
_LARGEST: Final = 1 << 14  # bytes


def fold_constants(graph: Graph) -> int:
    """Replace calls whose operands are all constants by what they give; return how many.

    A NumPy or Python scalar becomes an operand of the calls that use it, an array a constant that cannot be written.
    """
    sharing = Sharing(graph)
    sources = {source for source, _ in graph.symbols.values()}
    folded = 0
    for node in tuple(graph.nodes):
        if not _is_foldable(node) or not sharing.is_private(node) or node in sources:
            continue
        value = _evaluate(node)
        if value is None:
            continue
        if isinstance(value, np.ndarray):
            const = graph.const(value, node.meta[0], name=node.name, line=node.line, before=node)
            graph.replace_uses(node, const)
        else:
            graph.replace_uses(node, value)
        graph.erase(node)
        folded += 1
    return folded


def _is_foldable(node: Node) -> bool:
    """Whether it is a call of the op table that makes something new of constants."""
    if node.kind is not NodeKind.CALL or node.op is None or node.has_effect:
        return False
    if node.alias != "fresh" or node.multi or not node.meta:
        return False
    if node.can_fail and not warns_here(node):
        return False  # Python code of NumPy's could warn while we try
    return all(
        leaf.kind is NodeKind.CONST if isinstance(leaf, Node) else not isinstance(leaf, Expr)
        for leaf in leaves(node.operands)
    )


def _evaluate(node: Node) -> object:
    """Return the value of a call of constants; None where it raises, warns, or sets a floating-point flag."""
    meta = node.meta[0]
    if isinstance(meta, ArrayMeta) and not _is_small(meta):
        return None
    args = [map_operand(arg, _value) for arg in node.args]
    kwargs = {name: map_operand(arg, _value) for name, arg in node.kwargs.items()}
    target = cast("Callable[..., object]", node.target)
    try:
        with np.errstate(all="raise"):
            value = target(*args, **kwargs)
    except (ArithmeticError, ValueError, TypeError, LookupError, MemoryError):
        return None  # the program shall see it when it gets there
    if meta_of(value) != meta:
        return None
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    return value


def _is_small(meta: ArrayMeta) -> bool:
    size = meta.size
    return isinstance(size, int) and size * meta.dtype.itemsize <= _LARGEST


def _value(leaf: object) -> object:
    return leaf.target if isinstance(leaf, Node) else leaf
