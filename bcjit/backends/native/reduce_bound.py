"""The items of a group with reductions over what its kernel is handed, and what its results are in Python; it makes no code."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bcjit.backends.native.reduce_groups import ReduceGroup
from bcjit.backends.native.scalars import Apply, Constant, Fold, Item, Leaf, Spread
from bcjit.dims import Expr, maximum
from bcjit.fx_graph import Node
from bcjit.meta import ArrayMeta
from bcjit.records import replace

__all__ = ["bound_items", "constant_of", "counted", "result_row"]

# As bcjit/csrc/reduce.h has them.
_ARRAY, _KEEPS_DIMS, _SCALAR, _INT = range(4)


def bound_items(
    group: ReduceGroup, of_leaf: Callable[[Leaf], Item], now: Callable[[Node], Node]
) -> dict[Node, Item]:
    """Return what each call of a group computes, over what `of_leaf` makes of values from outside; `now` says what gives these by now."""
    items: dict[Node, Item] = {}
    memo: dict[tuple[Item, bool], Item] = {}

    def bound(item: Item, folded: bool) -> Item:
        key = item, folded
        if key not in memo:
            memo[key] = made(item, folded)
        return memo[key]

    def made(item: Item, folded: bool) -> Item:
        if isinstance(item, Leaf):
            return leaf(item, folded)
        if isinstance(item, Apply):
            operands = tuple(bound(one, folded) for one in item.operands)
            return Apply(item.function, item.dtypes, operands)
        if isinstance(item, Fold):
            return replace(item, operand=bound(item.operand, False))
        if isinstance(item, Spread):
            return Spread(bound(item.operand, True))
        return item

    def leaf(item: Leaf, folded: bool) -> Item:
        source = item.source
        if isinstance(source, Node):
            if source in items:
                beside = source in group.folded and not folded
                return Spread(items[source]) if beside else items[source]
            source = now(source)
        return constant_of(source) or of_leaf(replace(item, source=source))

    for node in group.nodes:
        folded = node in group.folded
        items[node] = bound((group.folded if folded else group.elements)[node], folded)
    return items


def counted(group: ReduceGroup) -> dict[object, int]:
    """Return the sizes that a kernel knows itself, as arguments: -1 for the elements of a result, -2 for one less."""
    found: dict[object, int] = {}
    for size in group.sizes:
        if isinstance(size, Expr):
            for less in (0, 1):
                found[size - less] = found[maximum(size - less, 0)] = -1 - less
    return found


def constant_of(source: object) -> Constant | None:
    """Return a NumPy scalar that is a constant of the graph."""
    target = source.target if isinstance(source, Node) else None
    return Constant(target) if isinstance(target, np.generic) else None


def result_row(node: Node, ndim: int) -> tuple[int, int]:
    """Return of which kind a result is, and its dtype."""
    meta = node.meta[0]
    if not isinstance(meta, ArrayMeta):
        return _INT, np.dtype(np.int64).num
    if meta.is_scalar:
        return _SCALAR, meta.dtype.num
    return (_KEEPS_DIMS if len(meta.shape) == ndim else _ARRAY), meta.dtype.num
