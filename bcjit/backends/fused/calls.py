"""Which calls of the captured graph are one ufunc over their elements, and which only look at an operand; plans nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Mapping
from typing import Any, Final

import numpy as np

from bcjit.backends.fused.few import add_rows
from bcjit.dims import Dim, Expr
from bcjit.fx_graph import Node, NodeKind
from bcjit.fx_graph.expressions import IN_PLACE
from bcjit.meta import ArrayMeta, ScalarMeta

__all__ = [
    "BLOCKWISE",
    "array_meta",
    "array_shape",
    "count_inputs",
    "elementwise",
    "is_blockwise",
    "is_plain_slice",
    "may_write_over_operands",
    "only_looks",
    "row_reduction",
]

# What the operators of arrays call.
_BINARY: Final[dict[object, np.ufunc]] = {
    operator.add: np.add, operator.sub: np.subtract, operator.mul: np.multiply, operator.truediv: np.true_divide,
    operator.floordiv: np.floor_divide, operator.mod: np.remainder, operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or, operator.xor: np.bitwise_xor, operator.lshift: np.left_shift,
    operator.rshift: np.right_shift, operator.lt: np.less, operator.le: np.less_equal, operator.gt: np.greater,
    operator.ge: np.greater_equal, operator.eq: np.equal, operator.ne: np.not_equal,
}  # fmt: skip
_UNARY: Final[dict[object, np.ufunc]] = {
    operator.neg: np.negative, operator.pos: np.positive, operator.invert: np.invert, operator.abs: np.absolute,
}  # fmt: skip
# Of real numbers to a Python number; other exponents are for np.power.
_POWERS: Final[dict[object, np.ufunc | None]] = {
    0: None, 1: None, -1: np.reciprocal, 0.5: np.sqrt, 2: np.square,
}  # fmt: skip
_COMPARISONS: Final = frozenset(
    {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal}
)

# Whose results are the same bits however the arrays are cut in blocks. np.fmax is not: which of 0.0 and -0.0 it gives is a
# matter of the place in the array.
BLOCKWISE: Final[frozenset[Callable[..., Any]]] = frozenset({
    np.where,
    *_BINARY.values(), *_UNARY.values(), np.power, np.square, np.sqrt, np.reciprocal, np.cbrt, np.sign, np.fabs, np.maximum,
    np.minimum, np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan, np.arcsin, np.arccos,
    np.arctan, np.arctan2, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.hypot, np.floor, np.ceil, np.rint,
    np.trunc, np.isnan, np.isinf, np.isfinite, np.signbit, np.copysign, np.logical_and, np.logical_or, np.logical_not,
    np.logical_xor, np.conjugate, np.deg2rad, np.rad2deg, np.degrees, np.radians,
})  # fmt: skip

# What gives each row of the last axis a number, the same bits however many rows there are, and what to call for it with axis, keepdims and out.
_ROWS: Final[dict[object, Callable[..., Any]]] = {
    np.sum: add_rows, np.ndarray.sum: add_rows, np.add.reduce: add_rows, np.max: np.maximum.reduce, np.amax: np.maximum.reduce,
    np.ndarray.max: np.maximum.reduce, np.maximum.reduce: np.maximum.reduce, np.min: np.minimum.reduce, np.amin: np.minimum.reduce,
    np.ndarray.min: np.minimum.reduce, np.minimum.reduce: np.minimum.reduce, np.mean: np.ndarray.mean,
    np.ndarray.mean: np.ndarray.mean, np.var: np.ndarray.var, np.ndarray.var: np.ndarray.var, np.std: np.ndarray.std,
    np.ndarray.std: np.ndarray.std,
}  # fmt: skip

# Numbers of fixed width, in memory of NumPy's own.
_KINDS: Final = frozenset("biufc")

# Calls that keep no operand, and whose result is new memory or says of which operand it is a view.
_LOOKING: Final = frozenset({
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, operator.matmul,
    operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.lt, operator.le, operator.gt,
    operator.ge, operator.eq, operator.ne, operator.neg, operator.pos, operator.invert, operator.abs,
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.iand,
    operator.ior, operator.ixor, operator.getitem, operator.setitem,
    np.where, np.dot, np.sum, np.prod, np.max, np.amax, np.min, np.amin, np.mean, np.var, np.std, np.any, np.all, np.argmax,
    np.argmin, np.cumsum, np.count_nonzero, np.clip, np.copy, np.concatenate, np.stack, np.outer,
    np.ndarray.sum, np.ndarray.prod, np.ndarray.max, np.ndarray.min, np.ndarray.mean, np.ndarray.var, np.ndarray.std,
    np.ndarray.any, np.ndarray.all, np.ndarray.argmax, np.ndarray.argmin, np.ndarray.cumsum, np.ndarray.dot,
    np.ndarray.clip, np.ndarray.copy, np.ndarray.astype, np.ndarray.item,
})  # fmt: skip


def array_meta(node: Node) -> ArrayMeta | None:
    """Return the meta of a node whose value is one array of numbers with axes; None of anything else."""
    if node.multi or len(node.meta) != 1:
        return None
    meta = node.meta[0]
    if not isinstance(meta, ArrayMeta) or meta.is_scalar or not meta.shape:
        return None
    return meta if _is_number(meta.dtype) else None


def array_shape(node: Node) -> tuple[Dim, ...]:
    """Return the shape of an array."""
    meta = node.meta[0]
    assert isinstance(meta, ArrayMeta)
    return meta.shape


def _is_number(dtype: np.dtype[np.generic]) -> bool:
    return dtype.kind in _KINDS and dtype.isnative


def elementwise(node: Node) -> Callable[..., Any] | None:
    """Return the ufunc that gives the array of a call from its positional operands, with none but them, or `numpy.where`; None if there is none."""
    if node.kind is not NodeKind.CALL or node.kwargs or node.op is None or node.has_effect:
        return None
    if node.view_of is not None or node.alias != "fresh" or array_meta(node) is None:
        return None
    if node.target is np.where:
        known = len(node.args) == 3 and all(map(_is_operand, node.args))
        return np.where if known else None
    function = _function(node)
    if function is None or function.nout != 1 or function.signature is not None:
        return None
    number = 2 if node.target is operator.pow else function.nin
    if len(node.args) != number or not all(map(_is_operand, node.args)):
        return None
    if function in _COMPARISONS and not _compares_alike(node):
        return None
    return function


def is_blockwise(node: Node) -> bool:
    """Whether an elementwise call is one of a ufunc whose results are the same however arrays are cut."""
    function = elementwise(node)
    return function in BLOCKWISE and function is not np.where


def row_reduction(node: Node) -> Callable[..., Any] | None:
    """Return what gives each row of an array its number; None of what is no such call, or casts."""
    if (
        node.kind is not NodeKind.CALL
        or node.op is None
        or node.has_effect
        or node.alias != "fresh"
    ):
        return None
    function = _ROWS[node.target] if _is_in(node.target, _ROWS) else None
    operand = node.args[0] if len(node.args) in (1, 2) else None
    if (
        function is None
        or not isinstance(operand, Node)
        or not {*node.kwargs} <= {"axis", "keepdims"}
    ):
        return None
    meta, rows = array_meta(operand), array_meta(node)
    if meta is None or rows is None or meta.dtype.kind != "f" or meta.dtype.itemsize not in (4, 8):
        return None
    axis = node.args[1] if len(node.args) == 2 else node.kwargs.get("axis")
    last = len(meta.shape) - 1
    if last == 0 or type(axis) is not int or axis not in (-1, last) or rows.dtype != meta.dtype:
        return None
    keeps = node.kwargs.get("keepdims", False)
    if type(keeps) is not bool or rows.shape != (*meta.shape[:-1], *[1] * keeps):
        return None
    return function


def count_inputs(function: Callable[..., Any]) -> int:
    """Return how many operands `elementwise` leaves to what it returns."""
    return function.nin if isinstance(function, np.ufunc) else 3


def may_write_over_operands(node: Node) -> bool:
    """Whether an elementwise call gives the same bits where its result takes the place of an operand.

    NumPy multiplies complex numbers by other instructions where memory overlaps, with other roundings.
    """
    meta = array_meta(node)
    return meta is not None and (meta.dtype.kind != "c" or elementwise(node) is not np.multiply)


def _function(node: Node) -> np.ufunc | None:
    target = node.target
    if isinstance(target, np.ufunc):
        return target
    if target is operator.pow and len(node.args) == 2:
        base, exponent = node.args
        meta = array_meta(base) if isinstance(base, Node) else None
        if meta is None or meta.dtype.kind != "f" or type(exponent) not in (int, float):
            return None
        return _POWERS.get(exponent, np.power)
    table: Mapping[object, np.ufunc] = _UNARY if len(node.args) == 1 else _BINARY
    return table.get(target)


def _is_operand(operand: object) -> bool:
    """Whether an operand is an array of numbers or a number."""
    if isinstance(operand, Expr) or type(operand) in (bool, int, float, complex):
        return True
    if isinstance(operand, np.generic):
        return _is_number(operand.dtype)
    if not isinstance(operand, Node) or operand.multi or len(operand.meta) != 1:
        return False
    meta = operand.meta[0]
    if isinstance(meta, ArrayMeta):
        return _is_number(meta.dtype)
    return isinstance(meta, ScalarMeta)


def _compares_alike(node: Node) -> bool:
    """Whether a comparison has no Python number, which may be beyond what the array's dtype can say."""
    for operand in node.args:
        if isinstance(operand, Node):
            if not isinstance(operand.meta[0], ArrayMeta):
                return False
        elif not isinstance(operand, np.generic) and not _is_small(operand):
            return False
    return True


def _is_small(number: object) -> bool:
    return isinstance(number, float | bool) or (isinstance(number, int) and 0 <= number < 128)


def only_looks(node: Node, operand: Node) -> bool:
    """Whether a call keeps no hold of an operand's memory, but in a result that says so (`Node.view_of`)."""
    if node.kind is not NodeKind.CALL or node.op is None or node.multi or node.escapes:
        return False
    if any(_holds_objects(one) for one in (node, *node.uses())):
        return False
    target = node.target
    if node.alias != "fresh" and node.view_of is not operand:
        # What is written over another array is read once; views of two arrays are none.
        return node.view_of is not None and _is_in(target, IN_PLACE)
    if node.alias != "fresh":
        return True
    if isinstance(target, np.ufunc):
        return target.nout == 1
    if isinstance(getattr(target, "__self__", None), np.ufunc):
        return True
    return _is_in(target, _LOOKING)


def _is_in(target: object, table: Container[object]) -> bool:
    try:
        return target in table
    except TypeError:  # not hashable
        return False


def _holds_objects(node: Node) -> bool:
    """Whether a value may hold other objects than numbers."""
    return node.multi or any(
        isinstance(meta, ArrayMeta) and meta.dtype.kind not in _KINDS for meta in node.meta
    )


def is_plain_slice(key: object) -> bool:
    """Whether a subscript keeps the axes in order, and takes none backwards."""
    parts = key if type(key) is tuple else (key,)
    return all(_keeps_order(part) for part in parts)


def _keeps_order(part: object) -> bool:
    if part is None or part is Ellipsis or type(part) is int or isinstance(part, Expr):
        return True
    if isinstance(part, slice):
        return part.step is None or (type(part.step) is int and part.step > 0)
    return isinstance(part, Node) and part.meta == (ScalarMeta(int),)
