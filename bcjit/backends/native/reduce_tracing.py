"""What a reduction of a graph computes, found by running its expansion, as `tracing` does for elementwise calls.

A reduction is a graph of items over two spaces: *elements*, those of the array that is reduced, and *folded* values, one for each of
the results. `Fold` leads from the first to the second, `Spread` back. What is not so is left to NumPy: masks, other starting values,
casts that may raise flags.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, cast

import numpy as np

from bcjit.backends.native.scalars import Apply, Constant, DType, Fold, Item, Leaf, Spread
from bcjit.backends.native.tracing import NotElementwise, Tracer, _Traced
from bcjit.dims import Expr, Relation, product, symbols
from bcjit.fx_graph import Node, NodeKind, map_operand
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.ops import OpDef, OpFailure
from bcjit.ops.emitter import Basic, Broadcast, Operand, Reshape, Shape, Value, ViewMap
from bcjit.ops.opdef import declared
from bcjit.ops.operands import INTP
from bcjit.ops.scalar_functions import CAST, ScalarFunction
from bcjit.records import dataclass

__all__ = ["REDUCTIONS", "Reduction", "traced_reduction"]

REDUCTIONS: Final = frozenset(
    {
        "sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "ptp", "count_nonzero",
        "argmax", "argmin",
    }
)  # fmt: skip

# Integers whose sums as float64 are exact, so that their order does not matter.
_EXACT_AS_FLOAT64: Final = frozenset("?bBhH")

# Reductions in another dtype than the elements', and of which dtypes.
_CASTING: Final = frozenset({"add", "multiply"})
_WIDENED: Final = {"d": "ef?bBhHiIlLqQ", "f": "e?bBhHiIlLqQ"}

# Of how many bools are true.
_COUNTS: Final = (np.dtype(np.int64), np.dtype(np.float64))


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """What a call makes of an array."""

    item: Item  # folded
    source: Node  # the array
    axes: tuple[int, ...]  # in order


def traced_reduction(node: Node) -> Reduction | None:
    """Return what a call computes if it reduces one array, None if it does something else."""
    found = _source(node)
    if found is None:
        return None
    source, shape = found
    assert isinstance(node.op, OpDef)
    emitter = _ReductionTracer(shape)
    leaves: dict[Node, object] = {}

    def operand(leaf: object) -> object:
        if not isinstance(leaf, Node):
            return leaf
        if leaf is not source:
            raise NotElementwise
        if leaf not in leaves:
            dtype = cast("ArrayMeta", leaf.meta[0]).dtype
            leaves[leaf] = _Elements(shape, dtype, "same", item=Leaf(leaf, dtype))
        return leaves[leaf]

    try:
        args = [map_operand(arg, operand) for arg in node.args]
        kwargs = {key: map_operand(arg, operand) for key, arg in node.kwargs.items()}
        expand = node.op.spelling(cast("Callable[..., object]", node.target)).expand
        bound = declared(expand).bind(emitter, *args, **kwargs)
        result = expand(*bound.args, **bound.kwargs)
    except (NotElementwise, OpFailure):
        return None
    if not isinstance(result, _Folded) or emitter.axes is None:
        return None
    item = result.item
    meta = node.meta[0]
    known = meta.dtype if isinstance(meta, ArrayMeta) else np.dtype(np.int64)
    if not isinstance(item, Fold | Apply) or item.dtype != known:
        return None
    return Reduction(item, source, emitter.axes)


def _source(node: Node) -> tuple[Node, Shape] | None:
    """Return the array that a call may reduce, and its shape."""
    if node.kind is not NodeKind.CALL or node.has_effect or node.multi or len(node.meta) != 1:
        return None
    if not isinstance(node.op, OpDef) or node.op.name not in REDUCTIONS or node.alias != "fresh":
        return None
    meta = node.meta[0]
    if not isinstance(meta, ArrayMeta) and not (
        isinstance(meta, ScalarMeta) and meta.pytype is int
    ):
        return None
    source = node.args[0] if node.args else None
    if not isinstance(source, Node) or source.multi or len(source.meta) != 1:
        return None
    of = source.meta[0]
    if not isinstance(of, ArrayMeta) or of.is_scalar or not of.shape:
        return None
    if any(symbol.kind != "input" for dim in of.shape for symbol in symbols(dim)):
        return None  # what NumPy does of few elements is decided when the sizes are known
    return source, of.shape


@dataclass(frozen=True, slots=True)
class _Elements(_Traced):
    """A value with an element for each element of the array."""


@dataclass(frozen=True, slots=True)
class _Folded(_Traced):
    """A value with an element for each result."""


class _ReductionTracer(Tracer):
    """Keeps what Map and Reduce compute of one array, and refuses all else."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.axes: tuple[int, ...] | None = None

    def require(self, relation: Relation) -> None:
        """See `Emitter.require`: the capture has seen to it."""

    def map(
        self,
        function: ScalarFunction,
        operands: Sequence[Operand],
        dtypes: Sequence[DType],
        mask: Value | None = None,
    ) -> tuple[Value, ...]:
        """See `Emitter.map`."""
        of_elements = any(isinstance(one, _Elements) for one in operands)
        if of_elements:
            operands = [self._beside(one) for one in operands]
        (made,) = super().map(function, operands, dtypes, mask)
        assert isinstance(made, _Traced)
        if of_elements:
            return (_Elements(self.shape, made.dtype, item=made.item),)
        folded = [one for one in operands if isinstance(one, _Folded)]
        if folded:
            return (_Folded(folded[0].shape, made.dtype, item=made.item),)
        return (_Traced((), made.dtype, item=made.item),)

    def _beside(self, operand: Operand) -> Operand:
        if not isinstance(operand, _Folded):
            return operand
        if len(operand.shape) not in (0, len(self.shape)):
            raise NotElementwise
        assert operand.item is not None
        return _Elements(self.shape, operand.dtype, item=Spread(operand.item))

    def reduce(  # type: ignore[override]  # the base class refuses it
        self,
        function: ScalarFunction,
        value: Value,
        axes: tuple[int, ...],
        dtype: DType,
        initial: Operand = None,
        mask: Value | None = None,
    ) -> Value:
        """See `Emitter.reduce`."""
        if not isinstance(value, _Elements) or initial is not None or mask is not None:
            raise NotElementwise
        assert value.item is not None
        item, casts = _as_folded(function, value.item, dtype)
        fold = Fold(function.name, function, dtype, item, casts)
        return self._folded(fold, value.shape, axes)

    def arg_reduce(self, name: str, value: Value, axis: int) -> Value:  # type: ignore[override]  # as above
        """See `Emitter.arg_reduce`."""
        if not isinstance(value, _Elements):
            raise NotElementwise
        assert value.item is not None
        axes = (axis,) if len(value.shape) == len(self.shape) else tuple(range(len(self.shape)))
        return self._folded(Fold(name, None, INTP, value.item), self.shape, axes)

    def _folded(self, fold: Fold, shape: Shape, axes: tuple[int, ...]) -> Value:
        axes = tuple(sorted(axes))
        if not axes or self.axes not in (None, axes):
            raise NotElementwise
        self.axes = axes
        rest = tuple(dim for axis, dim in enumerate(shape) if axis not in axes)
        return _Folded(rest, fold.dtype, item=fold)

    def view(self, value: Value, how: ViewMap) -> Value:
        """See `Emitter.view`: axes of one element, and all elements on one axis."""
        if isinstance(value, _Folded) and isinstance(how, Basic):
            return _Folded((1,) * len(how.items), value.dtype, item=value.item)
        if isinstance(value, _Elements) and isinstance(how, Reshape):
            if how.shape == (product(self.shape),):
                return _Elements(how.shape, value.dtype, item=value.item)
            raise NotElementwise
        if isinstance(how, Broadcast) and isinstance(value, _Elements):
            return value
        raise NotElementwise

    def fill(self, shape: Shape, item: Operand, dtype: DType) -> Value:
        """See `Emitter.fill`: a size is a number that is handed in."""
        if not shape and isinstance(item, Expr):
            return _Traced((), dtype, item=Leaf(item, dtype))
        return super().fill(shape, item, dtype)

    def item(self, value: Value, pytype: type) -> Operand:  # type: ignore[override]  # as above
        """See `Emitter.item`."""
        if not isinstance(value, _Folded) or pytype is not int:
            raise NotElementwise
        return value


def _as_folded(function: ScalarFunction, item: Item, dtype: DType) -> tuple[Item, bool]:
    """Return what is folded: elements as the loop has them; and whether that they are cast shows in how NumPy adds them up."""
    source = item.dtype
    if source == dtype or (function.name == "add" and source.kind == "b" and dtype in _COUNTS):
        return item, False  # bools are counted
    exact = dtype.kind in "iub" and source.kind in "iub"
    exact = exact or (dtype.kind == "b" and source.kind == "f")
    exact = exact or (dtype == np.float64 and source.char in _EXACT_AS_FLOAT64)
    casts = not exact and dtype.char in "fd" and function.name in _CASTING
    if not (exact or (casts and source.char in _WIDENED[dtype.char])) or isinstance(item, Constant):
        raise NotElementwise
    return Apply(CAST, (source, dtype), (item,)), casts
