"""Calls with several results, each of which a kernel computes as it does the results of other calls: divmod, modf, frexp.

What is captured is the call, and for each of its results one that reads it. A kernel does all of these or none. Where NumPy does it again, it is
the one call, which speaks once.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from bcjit.backends.native.part_rules import PARTS
from bcjit.backends.native.rules import has_rule
from bcjit.backends.native.scalars import Apply
from bcjit.backends.native.tracing import NotElementwise, Tracer, _Traced, expanded
from bcjit.dims import Undecidable
from bcjit.fx_graph import Node, NodeKind
from bcjit.meta import ArrayMeta
from bcjit.ops import OpDef, OpFailure
from bcjit.ops.emitter import Operand, Value
from bcjit.ops.scalar_functions import SCALAR_FUNCTIONS, ScalarFunction

__all__ = ["are_whole", "parts_of"]

DType: TypeAlias = "np.dtype[Any]"


def parts_of(node: Node, kept: Collection[Node]) -> dict[Node, Apply] | None:
    """Return what each call that reads a result of a call computes, None if the call has one result or does something else.

    Parameters
    ----------
    node
        The call.
    kept
        Values that are needed if something fails.
    """
    if node.kind is not NodeKind.CALL or not node.multi or node.has_effect or node in kept:
        return None
    if not isinstance(node.op, OpDef) or node.op.name not in PARTS or node.kwargs:
        return None
    if not all(isinstance(meta, ArrayMeta) and not meta.is_scalar for meta in node.meta):
        return None
    first = node.meta[0]
    assert isinstance(first, ArrayMeta)
    ufunc = SCALAR_FUNCTIONS[node.op.name].ufunc
    assert ufunc is not None
    if not first.shape or len(node.args) != ufunc.nin or not all(map(_reads, node.users)):
        return None
    try:
        results = expanded(node, _PartsTracer(first.shape))
    except (NotElementwise, OpFailure, Undecidable):
        return None
    assert isinstance(results, tuple)
    found = {}
    for user in node.users:
        meta = user.meta[0]
        item = results[cast("int", user.args[1])].item
        if not isinstance(item, Apply) or getattr(meta, "dtype", None) != item.dtype:
            return None
        found[user] = item
    return found or None


def _reads(user: Node) -> bool:
    if user.target is not operator.getitem or len(user.args) != 2 or user.kwargs:
        return False
    return type(user.args[1]) is int and len(user.meta) == 1


def are_whole(nodes: Collection[Node]) -> bool:
    """Whether of the calls with several results among these all that read these are there, too."""
    inside = set(nodes)
    for node in nodes:
        if node.multi and not inside.issuperset(node.users):
            return False
        of = node.args[0] if node.args and _reads(node) else None
        if isinstance(of, Node) and of.multi and of not in inside:
            return False
    return True


class _PartsTracer(Tracer):
    """Keeps a Map with several results as one for each of them."""

    def map(
        self,
        function: ScalarFunction,
        operands: Sequence[Operand],
        dtypes: Sequence[DType],
        mask: Value | None = None,
    ) -> tuple[Value, ...]:
        """See `Emitter.map`."""
        if function.nout == 1:
            return super().map(function, operands, dtypes, mask)
        parts = PARTS.get(function.name, ())
        if mask is not None or SCALAR_FUNCTIONS.get(function.name) is not function:
            raise NotElementwise
        items = tuple(
            self.converted(operand, dtype) for operand, dtype in zip(operands, dtypes, strict=False)
        )
        made = []
        for part, dtype in zip(parts, dtypes[len(operands) :], strict=True):
            loop = (*dtypes[: len(operands)], dtype)
            if not has_rule(part, loop):
                raise NotElementwise
            made.append(_Traced(self.shape, dtype, item=Apply(part, loop, items)))
        return tuple(made)
