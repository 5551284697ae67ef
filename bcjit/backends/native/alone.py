"""Which single calls are worth a kernel, for small arrays: where NumPy takes longer to get at a number than a kernel takes at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bcjit.backends.native.division import QUOTIENTS
from bcjit.backends.native.rules import has_rule
from bcjit.backends.native.scalars import Apply
from bcjit.fx_graph import NodeKind
from bcjit.meta import ArrayMeta

if TYPE_CHECKING:
    from bcjit.backends.native.groups import Draft
    from bcjit.fx_graph import Node

__all__ = ["MOST_ALONE", "is_slow_in_numpy", "is_worth_it_alone"]

# Elements from which on NumPy is as fast: it is asked then.
MOST_ALONE: Final = 8192


def is_worth_it_alone(draft: Draft) -> bool:
    """Whether a single call has a number beside its arrays.

    Not on a temporary of the graph: NumPy may compute into a large one, which it cannot tell from others where a kernel was asked first.
    """
    if len(draft.nodes) != 1:
        return False
    (node,) = draft.nodes
    return not all(map(_is_array, node.args)) and not any(map(_is_temporary, node.uses()))


def is_slow_in_numpy(draft: Draft) -> bool:
    """Whether a single call is a division that NumPy does one element after the other, so that a kernel is faster at any size.

    Quotients of integers by a number are vectors there, too.
    """
    if len(draft.nodes) != 1:
        return False
    item = draft.items[draft.nodes[0]]
    if not isinstance(item, Apply) or item.function.name not in QUOTIENTS:
        return False
    by_number = not all(map(_is_array, draft.nodes[0].args))
    if by_number and item.function.name == "floor_divide" and item.dtype.kind != "f":
        return False
    return has_rule(item.function, item.dtypes)


def _is_array(operand: object) -> bool:
    meta = getattr(operand, "meta", (None,))[0]
    return isinstance(meta, ArrayMeta) and not meta.is_scalar


def _is_temporary(node: Node) -> bool:
    made = node.kind is NodeKind.CALL and node.alias == "fresh"
    return made and _is_array(node) and len(node.users) == 1
