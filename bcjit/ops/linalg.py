"""Functions of ``np.linalg`` as library calls: only the shape and dtype of the result are known here.

The routines raise ``LinAlgError`` by value, so each can fail.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from bcjit.dims import Dim
from bcjit.ops.emitter import DType, Emitter, Operand, Shape, Value
from bcjit.ops.opdef import Sampler, Unsupported, WouldRaise
from bcjit.ops.operands import FLOAT64, axis_tuple, broadcast, equal
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import define

__all__: list[str] = []

example = Samplers("algebra")

_REAL: Final[dict[str, DType]] = {
    "F": np.dtype(np.float32),
    "D": FLOAT64,
    "G": np.dtype(np.longdouble),
}


def _common_dtype(*values: Value) -> DType:
    """Return the dtype a LAPACK routine works in. Source: NumPy ``linalg._linalg._commonType``."""
    for value in values:
        if value.dtype.char not in "fdFD" and value.dtype.kind not in "biu":
            raise WouldRaise(f"array type {value.dtype} is unsupported in linalg")
    dtypes = [FLOAT64 if value.dtype.kind in "biu" else value.dtype for value in values]
    return np.result_type(*dtypes)


def _square(e: Emitter, a: Operand) -> Value:
    value = e.array(a)
    if len(value.shape) < 2 or not equal(e, value.shape[-1], value.shape[-2]):
        raise WouldRaise("the last two dimensions of the array must be square")
    return value


def _call(
    e: Emitter, function: Any, operands: tuple[Value, ...], shape: Shape, dtype: DType
) -> Value:
    (result,) = e.lib_call(function, operands, {}, [(shape, dtype)])
    return result


def _of_matrix(function: Any, e: Emitter, a: Operand, /) -> Value:
    """``inv`` and ``cholesky``: a matrix of the same size."""
    value = _square(e, a)
    return _call(e, function, (value,), value.shape, _common_dtype(value))


def det(e: Emitter, a: Operand) -> Value:
    """``np.linalg.det``."""
    value = _square(e, a)
    result = _call(e, np.linalg.det, (value,), value.shape[:-2], _common_dtype(value))
    return e.scalar(result)


def solve(e: Emitter, a: Operand, b: Operand) -> Value:
    """``np.linalg.solve``: b is a vector where it is 1-d, else a stack of matrices."""
    matrix, right = _square(e, a), e.array(b)
    dtype = _common_dtype(matrix, right)
    size = matrix.shape[-1]
    vector = len(right.shape) == 1
    if not right.shape or not equal(e, right.shape[-1 if vector else -2], size):
        raise WouldRaise("solve: the sizes do not match")
    if vector:
        shape: Shape = matrix.shape[:-1]
    else:
        batch = broadcast(e, matrix.shape[:-2], right.shape[:-2])
        shape = (*batch, size, right.shape[-1])
    return _call(e, np.linalg.solve, (matrix, right), shape, dtype)


_ORDERS: Final[tuple[object, ...]] = (None, 1, 2, float("inf"), float("-inf"), "fro")


def norm(
    e: Emitter,
    x: Operand,
    ord: Operand = None,  # noqa: A002 - NumPy's name
    axis: Operand = None,
    keepdims: Operand = False,
) -> Value:
    """``np.linalg.norm`` of a vector or a matrix. Source: NumPy ``linalg._linalg.norm``."""
    value = e.array(x)
    ndim = len(value.shape)
    if e.is_value(ord) or ord not in _ORDERS or type(keepdims) is not bool:
        raise Unsupported("this order of the norm")
    axes = axis_tuple(e, axis, ndim)
    if ord is not None and len(axes) not in {1, 2}:
        raise WouldRaise("Improper number of dimensions to norm")
    if axis is not None and (len(axes) not in {1, 2} or not ndim):
        raise WouldRaise("Improper number of dimensions to norm")
    if ord == "fro" and len(axes) == 1:
        raise WouldRaise("Invalid norm order for vectors")
    shape: list[Dim] = []
    for i, dim in enumerate(value.shape):
        if i not in axes:
            shape.append(dim)
        elif keepdims:
            shape.append(1)
    dtype = FLOAT64 if value.dtype.kind in "biu" else value.dtype
    real = _REAL.get(dtype.char, dtype)
    options = {"ord": ord, "axis": axis, "keepdims": keepdims}
    (result,) = e.lib_call(np.linalg.norm, (value,), options, [(tuple(shape), real)])
    return e.scalar(result)


def _linalg(expand: Any, sampler: Sampler, name: str) -> None:
    define(f"linalg.{name}", functions(expand, sampler, name, module=np.linalg))


_linalg(partial(_of_matrix, np.linalg.inv), example.squares, "inv")
_linalg(partial(_of_matrix, np.linalg.cholesky), example.squares, "cholesky")
_linalg(det, example.squares, "det")
_linalg(solve, example.solves, "solve")
_linalg(norm, example.norms, "norm")
