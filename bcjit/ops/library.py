"""Other library routines that stay opaque: interpolation, search; only their results are known."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bcjit.dims import Relation
from bcjit.ops.emitter import DType, Emitter, Operand, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import FLOAT64, INTP, agree, expect
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("algebra")
of_differences = Samplers("differences")
table = Rows()

_COMPLEX128: Final[DType] = np.dtype(np.complex128)


# Interpolation, search


def interp(
    e: Emitter,
    x: Operand,
    xp: Operand,
    fp: Operand,
    left: Operand = None,
    right: Operand = None,
    period: Operand = None,
) -> Value:
    """``np.interp``: float64 or complex128, of the shape of x."""
    points, knots, values = e.array(x), e.array(xp), e.array(fp)
    if points.dtype.kind == "c" or knots.dtype.kind == "c":
        raise Unsupported("interp at complex points warns or raises")
    if len(knots.shape) != 1 or len(values.shape) != 1:
        raise WouldRaise("interp: the data points must be 1-d")
    filled = expect(e, Relation("!=", knots.shape[0], 0))
    if not filled or not agree(e, knots.shape[0], values.shape[0]):
        raise WouldRaise("interp: fp and xp are not of the same length, or empty")
    extra = (left, right, period)
    for number in extra:
        known = e.is_value(number) and not number.shape and number.dtype.kind != "c"
        if not (number is None or known or e.weak_type(number) in {bool, int, float}):
            raise Unsupported("left, right or period is not a real number")
    dtype = _COMPLEX128 if values.dtype.kind == "c" else FLOAT64
    operands = (points, knots, values, *extra)
    (result,) = e.lib_call(np.interp, operands, {}, [(points.shape, dtype)])
    return e.scalar(result)


def searchsorted(
    e: Emitter, a: Operand, v: Operand, side: Operand = "left", sorter: Operand = None
) -> Value:
    """``np.searchsorted``: positions, of the shape of v."""
    values, sought = e.array(a), e.array(v)
    if len(values.shape) != 1:
        raise WouldRaise("object too deep for desired array")
    if not isinstance(side, str) or side not in {"left", "right"}:
        raise Unsupported("side is not 'left' or 'right'")
    operands, options = [values, sought], {"side": side}
    if sorter is not None:
        order = e.array(sorter)
        if order.dtype.kind not in "iu" or len(order.shape) != 1:
            raise Unsupported("the sorter is not an array of integers")
        operands.append(order)
    (result,) = e.lib_call(_searchsorted, operands, options, [(sought.shape, INTP)])
    return e.scalar(result)


def _searchsorted(a: Any, v: Any, sorter: Any = None, *, side: Any) -> object:
    return np.searchsorted(a, v, side, sorter)


# The table

table.define("interp", functions(interp, of_differences.interps, "interp"))
table.define(
    "searchsorted",
    functions(searchsorted, example.searches, "searchsorted")
    + methods(searchsorted, example.searches, "searchsorted", of_scalars=False),
)
