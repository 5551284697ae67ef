"""Norms of vectors and matrices, written out as NumPy's own Python is; singular values come from a library call.

Source: NumPy ``linalg/_linalg.py``: ``norm``, ``vector_norm``, ``matrix_norm``.
"""

from __future__ import annotations

from typing import Final

from bcjit.dims import product
from bcjit.ops.elementwise import apply
from bcjit.ops.emitter import Emitter, Operand, Part, Permute, Reshape, Value
from bcjit.ops.linalg import define_linalg, real_dtype, singular_values
from bcjit.ops.numpy_facts import NORM_OF_NOTHING_IS_ZERO
from bcjit.ops.opdef import NotConstant, Unsupported, WouldRaise
from bcjit.ops.operands import FLOAT64, as_flag, axis_index, axis_tuple, cast, size_of
from bcjit.ops.reductions import ABSENT, fold
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.table import Rows
from bcjit.ops.views import with_new_axes

__all__: list[str] = []

example = Samplers("linalg")
table = Rows()

_INFINITY: Final = float("inf")
# The extreme of absolute values of nothing.
_START: Final = 0 if NORM_OF_NOTHING_IS_ZERO else ABSENT


# Pieces


def _floating(e: Emitter, x: Operand) -> Value:
    value = e.array(x)
    return cast(e, value, FLOAT64) if value.dtype.kind in "biu" else value


def _absolute(e: Emitter, value: Value) -> Value:
    return apply(e, row("absolute"), (value,))[0]


def _root(e: Emitter, value: Value) -> Value:
    return apply(e, row("sqrt"), (value,))[0]


def _squares(e: Emitter, value: Value) -> Value:
    """Return ``(x.conj() * x).real``."""
    conjugate = apply(e, row("conjugate"), (value,))[0] if value.dtype.kind == "c" else value
    (squares,) = apply(e, row("multiply"), (conjugate, value))
    return e.view(squares, Part("real")) if value.dtype.kind == "c" else squares


def _sum(e: Emitter, value: Value, *axes: int) -> Value:
    return fold(e, row("add"), value, axes)


def _largest(e: Emitter, value: Value, axis: int) -> Value:
    return fold(e, row("maximum"), value, (axis,), initial=_START)


def _smallest(e: Emitter, value: Value, axis: int) -> Value:
    return fold(e, row("minimum"), value, (axis,))


def _order(e: Emitter, order: Operand) -> object:
    """Return the order of a norm as a constant."""
    if order is None or type(order) in {int, float, str}:
        return order
    if e.weak_type(order) in {int, float}:
        raise NotConstant("ord")
    raise Unsupported("ord is not a number or a text")


# The norms


def _euclidean(e: Emitter, value: Value) -> Value:
    """Return the root of a dot product: of all elements, which NumPy takes in the order of memory."""
    flat = e.view(value, Reshape((size_of(value),)))
    parts: tuple[Value, ...] = (flat,)
    if flat.dtype.kind == "c":
        parts = (e.view(flat, Part("real")), e.view(flat, Part("imag")))
    squares = [e.contract(part, part, ("y", "y", ""), part.dtype) for part in parts]
    total = squares[0] if len(squares) == 1 else apply(e, row("add"), squares)[0]
    return _root(e, total)


def _of_vectors(e: Emitter, value: Value, order: object, axis: int) -> Value:
    if order == _INFINITY:
        return _largest(e, _absolute(e, value), axis)
    if order == -_INFINITY:
        return _smallest(e, _absolute(e, value), axis)
    if order == 0:
        (different,) = apply(e, row("not_equal"), (value, 0))
        return _sum(e, cast(e, different, real_dtype(value.dtype)), axis)
    if order == 1:
        return _sum(e, _absolute(e, value), axis)
    if order is None or order == 2:
        return _root(e, _sum(e, _squares(e, value), axis))
    if isinstance(order, str):
        raise WouldRaise(f"invalid norm order {order!r} for vectors")
    size = _absolute(e, value)
    (powers,) = apply(e, row("power"), (size, order))
    total = _sum(e, powers, axis)
    (inverse,) = e.map(row("reciprocal"), (order,), (total.dtype, total.dtype))
    return apply(e, row("power"), (total, inverse))[0]


def _of_matrices(e: Emitter, value: Value, order: object, rows: int, columns: int) -> Value:
    if order in {2, -2, "nuc"}:
        kept = [axis for axis in range(len(value.shape)) if axis not in {rows, columns}]
        singular = singular_values(e, e.view(value, Permute((*kept, rows, columns))))
        last = len(kept)
        if order == "nuc":
            return _sum(e, singular, last)
        return (_largest if order == 2 else _smallest)(e, singular, last)
    if order in {1, -1, _INFINITY, -_INFINITY}:
        assert isinstance(order, int | float)
        first, second = (rows, columns) if abs(order) == 1 else (columns, rows)
        sums = _sum(e, _absolute(e, value), first)
        extreme = _largest if order > 0 else _smallest
        return extreme(e, sums, second - 1 if second > first else second)
    if order in {None, "fro", "f"}:
        return _root(e, _sum(e, _squares(e, value), rows, columns))
    raise WouldRaise("invalid norm order for matrices")


def _kept(e: Emitter, result: Value, axes: tuple[int, ...], *, keepdims: bool) -> Value:
    """Return a result with the axes that were folded away as axes of size 1, if they are kept."""
    if keepdims and axes:
        result = e.view(result, with_new_axes(result, axes))
    return e.scalar(result)


def norm(
    e: Emitter,
    x: Operand,
    ord: Operand = None,  # noqa: A002 - NumPy's name
    axis: Operand = None,
    keepdims: Operand = False,
) -> Value:
    """``np.linalg.norm``."""
    value, order, keep = _floating(e, x), _order(e, ord), as_flag(keepdims, "keepdims")
    ndim = len(value.shape)
    axes = tuple(range(ndim))
    if axis is None:
        simple = order is None or (order in {"f", "fro"} and ndim == 2)
        if simple or (order == 2 and ndim == 1):
            return _kept(e, _euclidean(e, value), axes, keepdims=keep)
    elif isinstance(axis, list):
        raise WouldRaise("'axis' must be None, an integer or a tuple of integers")
    elif not ndim:
        raise Unsupported("an axis of a 0-d array")
    else:
        axes = axis_tuple(e, axis, ndim)
    if len(axes) == 1:
        return _kept(e, _of_vectors(e, value, order, axes[0]), axes, keepdims=keep)
    if len(axes) == 2:
        return _kept(e, _of_matrices(e, value, order, *axes), axes, keepdims=keep)
    raise WouldRaise("improper number of dimensions to norm")


def matrix_norm(
    e: Emitter,
    x: Operand,
    /,
    *,
    keepdims: Operand = False,
    ord: Operand = "fro",  # noqa: A002 - NumPy's name
) -> Value:
    """``np.linalg.matrix_norm``."""
    return norm(e, e.array(x), ord, (-2, -1), keepdims)


def vector_norm(
    e: Emitter,
    x: Operand,
    /,
    *,
    axis: Operand = None,
    keepdims: Operand = False,
    ord: Operand = 2,  # noqa: A002 - NumPy's name
) -> Value:
    """``np.linalg.vector_norm``: of any number of axes, which are made one."""
    value, keep = e.array(x), as_flag(keepdims, "keepdims")
    ndim = len(value.shape)
    if axis is None or isinstance(axis, tuple):
        axes = tuple(range(ndim)) if axis is None else axis_tuple(e, axis, ndim)
        rest = tuple(i for i in range(ndim) if i not in axes)
        if axis is not None:
            value = e.view(value, Permute((*axes, *rest)))
        shape = value.shape
        count = len(axes)
        value = e.view(value, Reshape((product(shape[:count]), *shape[count:])))
        at = 0
    else:
        at = axis_index(e, axis, ndim)
        axes = (at,)
    result = norm(e, value, ord, at)
    return _kept(e, result, axes, keepdims=keep)


# The table

define_linalg(table, norm, example.norms, "norm", ulp=16)
define_linalg(table, matrix_norm, example.matrix_norms, "matrix_norm", ulp=16)
define_linalg(table, vector_norm, example.vector_norms, "vector_norm", ulp=16)
