"""What a scan of a graph computes, found by running its expansion, as `tracing` does for elementwise calls."""

from __future__ import annotations

from typing import Final

from bcjit.backends.native.rules import X86
from bcjit.backends.native.scalars import Apply, DType, Item, Running
from bcjit.backends.native.tracing import NotElementwise, Tracer, _Traced, expanded
from bcjit.dims import Relation, Undecidable, product
from bcjit.fx_graph import Node, NodeKind
from bcjit.meta import ArrayMeta
from bcjit.ops import OpDef, OpFailure
from bcjit.ops.emitter import Reshape, Shape, Value, ViewMap
from bcjit.ops.scalar_functions import CAST, SCALAR_FUNCTIONS, ScalarFunction
from bcjit.records import dataclass

__all__ = ["FLAT", "ScanCall", "has_scan", "scans_copy", "traced_scan"]

# The axis of a scan of all elements in C order.
FLAT: Final = -1

# Of each function, the dtypes for which C has a loop, or NumPy's may be called block by block: what it gives must not depend on where
# in a block an element stands, so products of complex numbers are NumPy's. Elsewhere than on x86 so are extremes of floats.
_CHARS: Final = {
    "add": "?bBhHiIlLqQefdFD", "multiply": "?bBhHiIlLqQefd",
    "maximum": "?bBhHiIlLqQefd", "minimum": "?bBhHiIlLqQefd",
    "logical_and": "?", "logical_or": "?", "logical_xor": "?",
}  # fmt: skip
_EXTREMES: Final = frozenset({"maximum", "minimum"})
_NAMES: Final = frozenset(
    {
        "cumsum", "cumprod", "nancumsum", "nancumprod", "cumulative_sum", "cumulative_prod",
        *(f"{name}.accumulate" for name in _CHARS),
    }
)  # fmt: skip

# What replaces NaN does so in a copy, and a copy of what is repeated lies as Fortran has it.
_OF_COPIES: Final = frozenset({"nancumsum", "nancumprod"})


@dataclass(frozen=True, slots=True, eq=False)
class ScanCall:
    """What a call makes of an array."""

    item: Running
    source: Node  # the array
    axis: int  # or `FLAT`


def traced_scan(node: Node) -> ScanCall | None:
    """Return what a call computes if it is a scan of one array, None if it does something else."""
    if node.kind is not NodeKind.CALL or node.has_effect or node.multi or len(node.meta) != 1:
        return None
    if not isinstance(node.op, OpDef) or node.op.name not in _NAMES or node.alias != "fresh":
        return None
    meta = node.meta[0]
    source = node.args[0] if node.args else None
    if not isinstance(meta, ArrayMeta) or not isinstance(source, Node) or source.multi:
        return None
    of = source.meta[0] if len(source.meta) == 1 else None
    if not isinstance(of, ArrayMeta) or of.is_scalar or not of.shape:
        return None
    if any(one is not source for one in node.uses()):
        return None
    tracer = _ScanTracer(of.shape)
    try:
        result = expanded(node, tracer)
    except (NotElementwise, OpFailure, Undecidable):
        return None
    item = result.item if isinstance(result, _Traced) else None
    if not isinstance(item, Running) or item.dtype != meta.dtype or tracer.axis is None:
        return None
    return ScanCall(item, source, tracer.axis)


def scans_copy(node: Node) -> bool:
    """Whether the result of a scan lies as a copy of its operand does."""
    return isinstance(node.op, OpDef) and node.op.name in _OF_COPIES


def has_scan(function: ScalarFunction, dtype: DType) -> bool:
    """Whether a kernel has a scan by a function of elements of a dtype."""
    name = function.name
    if SCALAR_FUNCTIONS.get(name) is not function or dtype.char not in _CHARS.get(name, ""):
        return False
    return X86 or name not in _EXTREMES or dtype.kind != "f"


class _ScanTracer(Tracer):
    """Keeps what Map and one Scan compute of one array, and refuses all else."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape)
        self.axis: int | None = None
        self.flat = False

    def require(self, relation: Relation) -> None:
        """See `Emitter.require`: the capture has seen to it."""

    def view(self, value: Value, how: ViewMap) -> Value:
        """See `Emitter.view`: all elements on one axis, too."""
        if isinstance(how, Reshape) and isinstance(value, _Traced):
            if how.shape != (product(self.shape),) or value.shape != self.shape:
                raise NotElementwise
            self.flat = len(self.shape) > 1
            return _Traced(how.shape, value.dtype, item=value.item)
        return super().view(value, how)

    def scan(  # type: ignore[override]  # the base class refuses it
        self, function: ScalarFunction, value: Value, axis: int, dtype: DType
    ) -> Value:
        """See `Emitter.scan`."""
        if not isinstance(value, _Traced) or self.axis is not None or value.item is None:
            raise NotElementwise
        if not has_scan(function, dtype) or (value.shape != self.shape and not self.flat):
            raise NotElementwise
        self.axis = FLAT if self.flat else axis
        item = self._as_folded(value, dtype)
        return _Traced(value.shape, dtype, item=Running(function, dtype, item))

    def _as_folded(self, value: _Traced, dtype: DType) -> Item:
        """Return elements as the loop has them: NumPy casts all of them first."""
        assert value.item is not None
        if value.dtype == dtype:
            return value.item
        if value.dtype.kind == "c" and dtype.kind != "c":
            raise NotElementwise  # NumPy warns
        return Apply(CAST, (value.dtype, dtype), (value.item,))
