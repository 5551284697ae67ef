"""Sums of products: matmul, dot, inner, outer, vdot; no decompositions (those are in ``linalg``).

NumPy gives these to BLAS, whose order of summation is its own: ``expand`` agrees within a tolerance only.
"""

from __future__ import annotations

import operator
from typing import Final

import numpy as np

from bcjit.ops.elementwise import apply, single_out, store
from bcjit.ops.emitter import (
    Basic,
    Broadcast,
    DType,
    Emitter,
    NewAxis,
    Operand,
    Range,
    Reshape,
    Value,
)
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import as_dtype, broadcast, loop_dtypes, require_default, size_of
from bcjit.ops.reductions import ABSENT
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import ScalarFunction, row
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import Rows

__all__ = ["dot", "letters", "matmul", "outer"]

example = Samplers("algebra")
table = Rows()

_MATMUL: Final = ScalarFunction("matmul", np.matmul, "biu")
# The others are those of the last axes: rows, the axis that is summed over, columns.
_LETTERS: Final = "abcdefghijklmnopqrstuvwABCDEFGHIJKLMNOPQRSTUVWXYZ"


def letters(count: int) -> str:
    """Return names for axes, without x, y and z."""
    if count > len(_LETTERS):
        raise Unsupported("more axes than letters to name them")
    return _LETTERS[:count]


def _product(e: Emitter, left: Value, right: Value, dtype: DType) -> Value:
    """Return the matrix product, giving an array. Source: gufunc signature ``(n?,k),(k,m?)->(n?,m?)``."""
    rows = "x" if len(left.shape) > 1 else ""
    columns = "z" if len(right.shape) > 1 else ""
    batch_left, batch_right = left.shape[:-2], right.shape[:-2]
    batch = broadcast(e, batch_left, batch_right)
    stack = letters(len(batch))
    names: list[str] = []
    operands: list[Value] = []
    for value, own in ((left, f"{rows}y"), (right, f"y{columns}")):
        stacked = len(value.shape) > 2
        repeats = stacked and value.shape[:-2] != batch
        wide = Broadcast((*batch, *value.shape[-2:]))
        operands.append(e.view(value, wide) if repeats else value)
        names.append(stack + own if stacked else own)
    labels = (names[0], names[1], stack + rows + columns)
    return e.contract(operands[0], operands[1], labels, dtype)


def matmul(
    e: Emitter,
    x1: Operand,
    x2: Operand,
    /,
    out: Operand = None,
    *,
    casting: Operand = "same_kind",
    order: Operand = "K",
    dtype: Operand = None,
    subok: Operand = True,
    signature: Operand = None,
    axes: Operand = ABSENT,
    axis: Operand = ABSENT,
    keepdims: Operand = False,
) -> Value:
    """``np.matmul`` and ``@``."""
    require_default(subok, True, "subok")
    require_default(signature, None, "signature")
    require_default(keepdims, False, "keepdims")
    require_default(axes, ABSENT, "axes")
    require_default(axis, ABSENT, "axis")
    if not isinstance(order, str) or order not in "CFAK":
        raise WouldRaise("order: one of 'C', 'F', 'A', or 'K' is expected")
    left, right = (_matrix(e, x) for x in (x1, x2))
    target = single_out(e, out)
    dtypes = loop_dtypes(
        e,
        _MATMUL,
        (left, right),
        dtype=as_dtype(dtype),
        out=None if target is None else target.dtype,
        casting=casting,
    )
    result = _product(e, left, right, dtypes[2])
    return e.scalar(result) if target is None else store(e, target, result)


def _matrix(e: Emitter, x: Operand) -> Value:
    value = e.array(x)
    if not value.shape:
        raise WouldRaise("matmul of a scalar")
    return value


def _matmul_operator(e: Emitter, x1: Operand, x2: Operand, /) -> Value:
    return matmul(e, x1, x2)


def _inplace_matmul(e: Emitter, x1: Operand, x2: Operand, /) -> Value:
    if not e.is_value(x1) or e.is_scalar(x1) or len(x1.shape) < 2:
        raise Unsupported("in-place matmul of what is not a matrix")
    if not e.is_value(x2) or len(x2.shape) < 2:
        raise Unsupported("in-place matmul by what is not a matrix")
    return matmul(e, x1, x2, out=x1)


# dot and its like


def _dot_dtype(left: Value, right: Value) -> DType:
    return np.promote_types(left.dtype, right.dtype)


def _scaled(e: Emitter, left: Value, right: Value) -> Value:
    (result,) = apply(e, row("multiply"), (left, right))
    return result


def dot(e: Emitter, a: Operand, b: Operand, out: Operand = None) -> Value:
    """``np.dot``: sums over the last axis of a and the second last of b."""
    left, right, target = e.array(a), e.array(b), single_out(e, out)
    dtype = _dot_dtype(left, right)
    if not left.shape or not right.shape:
        result = _scaled(e, left, right)
    else:
        free = letters(len(left.shape) + len(right.shape) - 2)
        free_left, free_right = free[: len(left.shape) - 1], free[len(left.shape) - 1 :]
        at = max(len(free_right) - 1, 0)
        names = free_right[:at] + "y" + free_right[at:]
        labels = (f"{free_left}y", names, free_left + free_right)
        result = e.contract(left, right, labels, dtype)
    if target is None:
        return e.scalar(result)
    if target.dtype != result.dtype:
        raise WouldRaise("output array is not acceptable")
    if not result.shape:
        raise Unsupported("out: of 0-d results NumPy returns a new scalar")
    return store(e, target, result)


def inner(e: Emitter, a: Operand, b: Operand, /) -> Value:
    """``np.inner``: sums over the last axes."""
    left, right = e.array(a), e.array(b)
    if not left.shape or not right.shape:
        return e.scalar(_scaled(e, left, right))
    free = letters(len(left.shape) + len(right.shape) - 2)
    free_left, free_right = free[: len(left.shape) - 1], free[len(left.shape) - 1 :]
    labels = (f"{free_left}y", f"{free_right}y", free_left + free_right)
    return e.scalar(e.contract(left, right, labels, _dot_dtype(left, right)))


def vdot(e: Emitter, a: Operand, b: Operand, /) -> Value:
    """``np.vdot``: of the flat arrays, the first one conjugated."""
    left, right = (e.view(v, Reshape((size_of(v),))) for v in (e.array(a), e.array(b)))
    dtype = _dot_dtype(left, right)
    if left.dtype.kind == "c":
        (left,) = apply(e, row("conjugate"), (left,))
    return e.scalar(e.contract(left, right, ("y", "y", ""), dtype))


def outer(e: Emitter, a: Operand, b: Operand, out: Operand = None) -> Value:
    """``np.outer``. Source: NumPy ``_core/numeric.py``."""
    left, right = e.array(a), e.array(b)
    rows, columns = size_of(left), size_of(right)
    flat = e.view(left, Reshape((rows,)))
    column = e.view(flat, Basic((Range(0, 1, rows), NewAxis())))
    line = e.view(right, Reshape((columns,)))
    target = single_out(e, out)
    return apply(e, row("multiply"), (column, line), out=target)[0]


# The table

table.define(
    "matmul",
    [
        Spelling(np.matmul, matmul, example.matmuls),
        Spelling(operator.matmul, _matmul_operator, example.products),
        Spelling(operator.imatmul, _inplace_matmul, example.inplace_products),
    ],
    ulp=16,
)
table.define(
    "dot",
    functions(dot, example.dots, "dot") + methods(dot, example.dots, "dot", of_scalars=False),
    ulp=16,
)
table.define("inner", functions(inner, example.products, "inner"), ulp=16)
table.define("vdot", functions(vdot, example.products, "vdot"), ulp=16)
table.define("outer", functions(outer, example.products, "outer"))
