"""Averages and spreads: mean, var, std, ptp; medians and percentiles are library routines.

Mirrors NumPy's ``_core/_methods.py``. Where that warns in Python code (mean of nothing), the condition is decided and the call
is `Unsupported`, so that the fact guards the others; where a mask decides it, the graph gives up (``refuse_where``).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import floor

import numpy as np

from bcjit.dims import Dim, Relation, maximum
from bcjit.ops.elementwise import apply, single_out, store
from bcjit.ops.emitter import Broadcast, Emitter, Operand, Part, Reshape, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    ABSENT,
    FLOAT64,
    INTP,
    as_dtype,
    axis_tuple,
    cast,
    equal,
    expect,
    flag,
)
from bcjit.ops.reductions import finish, fold, reduced_size, reduction_mask
from bcjit.ops.refusals import refuse_where
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import Rows

__all__ = ["mean", "std", "var"]

example = Samplers("reductions")
table = Rows()


def _count(
    e: Emitter, value: Value, axes: tuple[int, ...], mask: Value, *, keepdims: bool
) -> Value:
    """Return how many elements each result comes from. Source: NumPy ``_methods._count_reduce_items``."""
    spread = e.view(mask, Broadcast(value.shape))
    return fold(e, row("add"), spread, axes, dtype=INTP, keepdims=keepdims)


def _divided(e: Emitter, total: Value, divisor: Value) -> Value:
    """Divide by a count, which NumPy has as an ``intp`` scalar or array, in place (``casting="unsafe"``)."""
    (quotient,) = apply(e, row("divide"), (total, divisor))
    return cast(e, quotient, total.dtype)


def _counted_axes(e: Emitter, axis: Operand, ndim: int) -> tuple[int, ...]:
    """Return the axes whose elements NumPy counts in Python code: a 0-d array has no axis 0 there."""
    return axis_tuple(e, axis if isinstance(axis, tuple) or axis is None else (axis,), ndim)


def mean(
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    keepdims: Operand = False,
    *,
    where: Operand = ABSENT,
) -> Value:
    """Arithmetic mean. Source: NumPy ``_methods._mean``."""
    value, target = e.array(a), single_out(e, out)
    axes, keep = _counted_axes(e, axis, len(value.shape)), flag(keepdims, "keepdims")
    mask = reduction_mask(e, where, value)
    if mask is not None:
        count = _count(e, value, axes, mask, keepdims=keep)
        refuse_where(e, apply(e, row("equal"), (count, 0))[0])  # it warns
    else:
        size = reduced_size(value, axes)
        if not expect(e, Relation("!=", size, 0)):
            raise Unsupported("the mean of nothing warns")
        count = e.fill((), size, INTP)
    given = as_dtype(dtype)
    half = given is None and value.dtype == np.float16
    if given is None and value.dtype.kind in "biu":
        given = FLOAT64
    total = fold(
        e,
        row("add"),
        value,
        axes,
        dtype=np.dtype(np.float32) if half else given,
        out=None if target is None else target.dtype,
        keepdims=keep,
        mask=mask,
    )
    if target is not None:
        total = cast(e, total, target.dtype)
    result = _divided(e, total, count)
    if half and target is None:
        result = cast(e, result, value.dtype)
    return finish(e, result, target)


def _squared_deviations(e: Emitter, value: Value, centre: Operand) -> Value:
    (deviation,) = apply(e, row("subtract"), (value, centre))
    if value.dtype.kind in "fiu":
        return apply(e, row("square"), (deviation,))[0]
    if deviation.dtype.kind == "c":
        parts = [e.view(deviation, Part(name)) for name in ("real", "imag")]
        squares = [apply(e, row("square"), (part,))[0] for part in parts]
        return apply(e, row("add"), squares)[0]
    return apply(e, row("multiply"), (deviation, deviation))[0]


def var(
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    ddof: Operand = 0,
    keepdims: Operand = False,
    *,
    where: Operand = ABSENT,
    mean: Operand = ABSENT,
    correction: Operand = ABSENT,
) -> Value:
    """Variance. Source: NumPy ``_methods._var``."""
    ddof = _corrected(ddof, correction)
    result, target = _variance(e, a, axis, dtype, out, ddof, keepdims, where, mean)
    return finish(e, result, target)


def _corrected(ddof: Operand, correction: Operand) -> Operand:
    """Return ``ddof``, of which ``correction`` is another name."""
    if correction is ABSENT:
        return ddof
    if type(ddof) not in {int, float} or ddof != 0:
        raise WouldRaise("ddof and correction can't be provided simultaneously")
    return correction


def _variance(
    e: Emitter,
    a: Operand,
    axis: Operand,
    dtype: Operand,
    out: Operand,
    ddof: Operand,
    keepdims: Operand,
    where: Operand,
    mean: Operand = ABSENT,
) -> tuple[Value, Value | None]:
    value, target = e.array(a), single_out(e, out)
    axes = _counted_axes(e, axis, len(value.shape))
    if type(ddof) not in {int, float}:
        raise Unsupported("ddof is not a constant number")
    assert isinstance(ddof, int | float)
    if not -(2**62) < ddof < 2**62:
        raise Unsupported("ddof is no finite number of elements")
    mask = reduction_mask(e, where, value)
    if mask is not None:
        count = _count(e, value, axes, mask, keepdims=True)
        refuse_where(e, apply(e, row("less_equal"), (count, ddof))[0])  # it warns
        (freedom,) = apply(e, row("subtract"), (count, ddof))
        (freedom,) = apply(e, row("maximum"), (freedom, 0))
    else:
        size = reduced_size(value, axes)
        if not expect(e, Relation("<", floor(ddof), size)):
            raise Unsupported("a variance without degrees of freedom warns")
        count, freedom = e.fill((), size, INTP), _freedom(e, size, ddof)
    given = as_dtype(dtype)
    if given is None and value.dtype.kind in "biu":
        given = FLOAT64
    if mean is ABSENT or mean is None:
        total = fold(e, row("add"), value, axes, dtype=given, keepdims=True, mask=mask)
        centre: Operand = _divided(e, total, count)
    else:
        centre = mean
    squares = _squared_deviations(e, value, centre)
    if len(squares.shape) != len(value.shape) or not all(
        equal(e, one, other) for one, other in zip(squares.shape, value.shape, strict=True)
    ):
        raise Unsupported("mean does not broadcast to the array")
    out_dtype = None if target is None else target.dtype
    keep = flag(keepdims, "keepdims")
    ret = fold(e, row("add"), squares, axes, dtype=given, out=out_dtype, keepdims=keep, mask=mask)
    if out_dtype is not None:
        ret = cast(e, ret, out_dtype)
    if mask is not None:
        freedom = e.view(freedom, Reshape(ret.shape))
    return _divided(e, ret, freedom), target


def _freedom(e: Emitter, size: Dim, ddof: float) -> Value:
    """Return the degrees of freedom, at least 0."""
    if type(ddof) is int:
        return e.fill((), maximum(size - ddof, 0), INTP)
    if not isinstance(size, int):
        raise Unsupported("ddof is a float and the size is not constant")
    return e.fill((), max(size - ddof, 0.0), FLOAT64)


def std(
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    ddof: Operand = 0,
    keepdims: Operand = False,
    *,
    where: Operand = ABSENT,
    mean: Operand = ABSENT,
    correction: Operand = ABSENT,
) -> Value:
    """Standard deviation. Source: NumPy ``_methods._std``."""
    if where is not ABSENT and where is not True:
        # Its warning belongs to ``_std`` in a module that has no twin (``warning_twins``).
        raise Unsupported("where: a standard deviation of nothing warns")
    ddof = _corrected(ddof, correction)
    result, target = _variance(e, a, axis, dtype, out, ddof, keepdims, where, mean)
    if result.dtype.kind not in "fc":
        raise Unsupported("the standard deviation is computed in integers")
    (root,) = apply(e, row("sqrt"), (result,))
    return finish(e, cast(e, root, result.dtype), target)


def _spread_method(
    expand: Callable[..., Value],
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    ddof: Operand = 0,
    keepdims: Operand = False,
    *,
    where: Operand = True,
    mean: Operand = None,
) -> Value:
    """``x.var()``, ``x.std()``: without ``correction``."""
    return expand(e, a, axis, dtype, out, ddof, keepdims, where=where, mean=mean)


def ptp(
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    out: Operand = None,
    keepdims: Operand = False,
) -> Value:
    """Range of values. Source: NumPy ``_methods._ptp``."""
    value, target = e.array(a), single_out(e, out)
    axes, keep = axis_tuple(e, axis, len(value.shape)), flag(keepdims, "keepdims")
    if target is None:
        extremes = [
            fold(e, row(name), value, axes, keepdims=keep) for name in ("maximum", "minimum")
        ]
        return e.scalar(apply(e, row("subtract"), extremes)[0])
    # The maximum is stored, cast, before the minimum is taken away from it.
    top = store(e, target, fold(e, row("maximum"), value, axes, out=target.dtype, keepdims=keep))
    bottom = fold(e, row("minimum"), value, axes, keepdims=keep)
    return apply(e, row("subtract"), (top, bottom), out=target)[0]


# The table

table.define(
    "mean", functions(mean, example.means, "mean") + methods(mean, example.means, "mean"), ulp=8
)
for _name, _expand in (("var", var), ("std", std)):
    _method = partial(_spread_method, _expand)
    table.define(
        _name,
        functions(_expand, example.corrected_variances, _name)
        + methods(_method, example.variances, _name),
        ulp=8,
    )
table.define("ptp", functions(ptp, example.ranges, "ptp"))
