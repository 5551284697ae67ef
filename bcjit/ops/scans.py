"""Scans: cumsum, cumprod, ``ufunc.accumulate``."""

from __future__ import annotations

from functools import partial

from bcjit.ops.elementwise import single_out, store
from bcjit.ops.emitter import Emitter, Operand, Reshape, Value
from bcjit.ops.numpy_facts import OUT_TAKES_ELLIPSIS
from bcjit.ops.opdef import Spelling, WouldRaise
from bcjit.ops.operands import as_dtype, axis_tuple, size_of
from bcjit.ops.reductions import accumulator
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import ScalarFunction, row
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import Rows

__all__ = ["accumulate", "one_axis", "scan"]

example = Samplers("reductions")
table = Rows()


def scan(
    function: ScalarFunction,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
) -> Value:
    """``np.cumsum`` and the like. Source: NumPy ``calculation.c``: ``PyArray_CumSum``."""
    if isinstance(out, tuple):
        raise WouldRaise("output must be an array")
    if isinstance(axis, tuple | list):
        raise WouldRaise("axis must be an integer")  # ufunc.accumulate takes a tuple of one
    value, target = e.array(a), single_out(e, out)
    if axis is None or not value.shape:
        axis_tuple(e, axis, len(value.shape))
        value, axis = e.view(value, Reshape((size_of(value),))), 0
    return accumulate(function, e, value, axis, dtype, target)


def accumulate(
    function: ScalarFunction,
    e: Emitter,
    array: Operand,
    axis: Operand = 0,
    dtype: Operand = None,
    out: Operand = None,
) -> Value:
    """``ufunc.accumulate``. Source: NumPy ``ufunc_object.c``: ``PyUFunc_Accumulate``."""
    if function.nin != 2 or function.nout != 1:
        raise WouldRaise("accumulate only supported for binary functions")
    value = e.array(array)
    target = None if out is Ellipsis and OUT_TAKES_ELLIPSIS else single_out(e, out)
    at = one_axis(e, axis, value)
    out_dtype = None if target is None else target.dtype
    loop = accumulator(function, value.dtype, as_dtype(dtype), out_dtype)
    result = e.scan(function, value, at, loop)
    return result if target is None else store(e, target, result)


def one_axis(e: Emitter, axis: Operand, value: Value) -> int:
    """Return the axis of a ufunc method that takes one only; it may be given as all axes are."""
    if not value.shape:
        raise WouldRaise("cannot accumulate or reduceat on a scalar")
    axes = axis_tuple(e, axis, len(value.shape))
    if len(axes) != 1:
        raise WouldRaise("accumulate and reduceat do not allow multiple axes")
    return axes[0]


# The table


def _ufunc_method(name: str) -> Spelling:
    function = row(name)
    assert function.ufunc is not None
    return Spelling(function.ufunc.accumulate, partial(accumulate, function), example.accumulations)


for _name, _ufunc in (("cumsum", "add"), ("cumprod", "multiply")):
    _cumulative = partial(scan, row(_ufunc))
    table.define(
        _name,
        functions(_cumulative, example.scans, _name)
        + methods(_cumulative, example.scans, _name)
        + [_ufunc_method(_ufunc)],
        ulp=4,
    )
for _ufunc in ("maximum", "minimum"):
    table.define(f"{_ufunc}.accumulate", [_ufunc_method(_ufunc)])
