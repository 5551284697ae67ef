"""Functions that choose elements: sort, argsort, take, diagonal, trace, triu; ``x[...]`` is in ``indexing``."""

from __future__ import annotations

from functools import partial
from typing import Literal

from bcjit.dims import maximum, minimum
from bcjit.ops.elementwise import apply, single_out, store
from bcjit.ops.emitter import (
    Basic,
    Diagonal,
    Emitter,
    NewAxis,
    Operand,
    Permute,
    Range,
    Reshape,
    Value,
)
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import BOOL, INTP, as_dtype, axis_index, constant, size_of
from bcjit.ops.reductions import fold
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import SELECT, row
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import define

__all__ = ["diagonal", "trace"]

example = Samplers("indexing")
products = Samplers("products")


# Sorting


def _sorted(e: Emitter, value: Value, axis: Operand, kind: Operand, *, indices: bool) -> Value:
    if kind is not None and kind not in {"quicksort", "mergesort", "heapsort", "stable"}:
        raise Unsupported("this kind of sorting")
    at = axis_index(e, axis, len(value.shape))
    return e.sort(value, at, kind if isinstance(kind, str) else None, indices=indices)


def sort(e: Emitter, a: Operand, axis: Operand = -1, kind: Operand = None) -> Value:
    """``np.sort``: a copy."""
    value = e.array(a)
    if axis is None:
        value, axis = e.view(value, Reshape((size_of(value),))), -1
    return _sorted(e, value, axis, kind, indices=False)


def argsort(e: Emitter, a: Operand, axis: Operand = -1, kind: Operand = None) -> Value:
    """``np.argsort``: a 0-d array counts as 1-d."""
    value = e.array(a)
    if axis is None or not value.shape:
        value, axis = e.view(value, Reshape((size_of(value),))), 0 if axis is None else axis
    return _sorted(e, value, axis, kind, indices=True)


def _sort_method(e: Emitter, a: Operand, axis: Operand = -1, kind: Operand = None) -> None:
    value = e.array(a)
    store(e, value, _sorted(e, value, axis, kind, indices=False))


# Taking


def take(e: Emitter, a: Operand, indices: Operand, axis: Operand = None) -> Value:
    """``np.take`` that raises out of bounds."""
    value = e.array(a)
    if axis is None:
        value, at = e.view(value, Reshape((size_of(value),))), 0
    elif not value.shape:
        value, at = e.view(value, Reshape((1,))), axis_index(e, axis, 1)
    else:
        at = axis_index(e, axis, len(value.shape))
    index = e.array(indices)
    if index.dtype.kind not in "biu" or index.dtype.str[1:] == "u8":
        raise WouldRaise(f"cannot cast indices from {index.dtype} to intp")
    if index.dtype.kind == "b":
        raise Unsupported("bools as indices of take")
    ndim, extra = len(value.shape), len(index.shape)
    front = e.view(value, Permute((at, *(i for i in range(ndim) if i != at))))
    taken = e.gather(front, (index,))
    # The axes of the index stand first: move them to where the axis was.
    rest = tuple(range(extra, extra + ndim - 1))
    order = (*rest[:at], *range(extra), *rest[at:])
    return e.scalar(e.view(taken, Permute(order)))


# Diagonals


def _diagonal(e: Emitter, value: Value, offset: Operand, axis1: Operand, axis2: Operand) -> Value:
    ndim = len(value.shape)
    if ndim < 2:
        raise WouldRaise("diag requires an array of at least two dimensions")
    first, second = axis_index(e, axis1, ndim), axis_index(e, axis2, ndim)
    if first == second:
        raise WouldRaise("axis1 and axis2 cannot be the same")
    shift = constant(e, offset, "offset")
    height, width = value.shape[first], value.shape[second]
    if shift == 0:
        length = minimum(height, width)
    else:
        length = minimum(height + min(shift, 0), width - max(shift, 0))
        length = maximum(length, 0)
    return e.view(value, Diagonal(shift, first, second, length))


def diagonal(
    e: Emitter, a: Operand, offset: Operand = 0, axis1: Operand = 0, axis2: Operand = 1
) -> Value:
    """``np.diagonal``: a read-only view."""
    return _diagonal(e, e.array(a), offset, axis1, axis2)


def trace(
    e: Emitter,
    a: Operand,
    offset: Operand = 0,
    axis1: Operand = 0,
    axis2: Operand = 1,
    dtype: Operand = None,
    out: Operand = None,
) -> Value:
    """``np.trace``: the sum of the diagonal. Source: NumPy ``calculation.c``: ``PyArray_Trace``."""
    entries = _diagonal(e, e.array(a), offset, axis1, axis2)
    target = single_out(e, out)
    total = fold(
        e,
        row("add"),
        entries,
        (len(entries.shape) - 1,),
        dtype=as_dtype(dtype),
        out=None if target is None else target.dtype,
    )
    return e.scalar(total) if target is None else store(e, target, total)


def _triangle(upper: Literal[True, False], e: Emitter, m: Operand, k: Operand = 0) -> Value:
    """``np.triu``, ``np.tril``. Source: NumPy ``lib/_twodim_base_impl.py``: a mask and ``where``."""
    value = e.array(m)
    if not value.shape:
        raise WouldRaise("a triangle of a 0-d array")
    shift = constant(e, k, "k")
    columns = value.shape[-1]
    rows = value.shape[-2] if len(value.shape) > 1 else columns
    if upper:
        shift -= 1
    column = e.view(e.iota(rows, INTP), Basic((Range(0, 1, rows), NewAxis())))
    (shifted,) = apply(e, row("add"), (column, e.fill((), shift, INTP)))
    (below,) = apply(e, row("greater_equal"), (shifted, e.iota(columns, INTP)))
    zero = e.fill((), 0, value.dtype)
    chosen = (zero, value) if upper else (value, zero)
    return e.map(SELECT, (below, *chosen), (BOOL, value.dtype, value.dtype, value.dtype))[0]


# The table

define("sort", functions(sort, example.sorts, "sort"))
define("sort_method", methods(_sort_method, example.sort_methods, "sort", of_scalars=False))
define(
    "argsort",
    functions(argsort, example.sorts, "argsort") + methods(argsort, example.sorts, "argsort"),
)
define("take", functions(take, example.takes, "take") + methods(take, example.takes, "take"))
define(
    "diagonal",
    functions(diagonal, example.traces, "diagonal")
    + methods(diagonal, example.traces, "diagonal", of_scalars=False),
)
define(
    "trace",
    functions(trace, products.traces, "trace")
    + methods(trace, products.traces, "trace", of_scalars=False),
    ulp=4,
)
for _upper, _name in ((True, "triu"), (False, "tril")):
    define(_name, functions(partial(_triangle, _upper), example.triangles, _name))
