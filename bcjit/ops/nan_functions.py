"""Functions that leave NaN out: nansum, nanmean, nanvar, nanmax, nanargmax and their like; the order statistics are in ``quantiles``.

Mirrors NumPy's ``lib/_nanfunctions_impl.py``. What NumPy warns about in Python code (a slice of NaN only) depends on values, so
the calls are marked as ones that can fail.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from bcjit.ops.averages import mean, std, var
from bcjit.ops.elementwise import apply, single_out, store
from bcjit.ops.emitter import DType, Emitter, Operand, Part, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import BOOL, INTP, as_dtype, axis_tuple, broadcast, cast, equal, flag
from bcjit.ops.reductions import ABSENT, arg_extreme, fold, reduction
from bcjit.ops.refusals import refuse_where
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import SELECT, row
from bcjit.ops.scans import scan
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("statistics")
table = Rows()


# Building blocks


def _select(e: Emitter, mask: Value, number: complex, value: Value) -> Value:
    """``np.copyto(value, number, where=mask)``, as a new version."""
    dtypes = (BOOL, value.dtype, value.dtype, value.dtype)
    return e.map(SELECT, (mask, e.fill((), number, value.dtype), value), dtypes)[0]


def _replaced(e: Emitter, a: Operand, number: complex) -> tuple[Value, Value | None]:
    """Return the array with another number for NaN, and the mask of NaN: None for dtypes without NaN (``_replace_nan``)."""
    value = e.array(a)
    if value.dtype.kind not in "fc":
        return value, None
    (mask,) = apply(e, row("isnan"), (value,))
    return _select(e, mask, number, value), mask


def _counts(e: Emitter, mask: Value, axes: tuple[int, ...], *, keepdims: bool) -> Value:
    (present,) = apply(e, row("invert"), (mask,))
    return fold(e, row("add"), present, axes, dtype=INTP, keepdims=keepdims)


def _divided(e: Emitter, total: Value, count: Value) -> Value:
    """``_divide_by_count``: in place, so in the dtype of the total."""
    return cast(e, apply(e, row("divide"), (total, count))[0], total.dtype)


def _inexact(dtype: DType | None, name: str) -> None:
    if dtype is not None and dtype.kind not in "fc":
        raise WouldRaise(f"If a is inexact, then {name} must be inexact")


def _finish(e: Emitter, result: Value, out: Value | None) -> Value:
    return e.scalar(result) if out is None else store(e, out, result)


def _no_where(where: Operand) -> None:
    if where is not ABSENT:
        raise Unsupported("the argument where is not supported here")


# nansum, nanprod, nancumsum, nancumprod


def _nan_sum(
    ufunc: str,
    identity: int,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    keepdims: Operand = ABSENT,
    initial: Operand = ABSENT,
    where: Operand = ABSENT,
) -> Value:
    """``np.nansum`` and ``np.nanprod``."""
    value, _ = _replaced(e, a, identity)
    return reduction(row(ufunc), e, value, axis, dtype, out, keepdims, initial, where)


def _nan_scan(
    ufunc: str,
    identity: int,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
) -> Value:
    """``np.nancumsum`` and ``np.nancumprod``."""
    value, _ = _replaced(e, a, identity)
    return scan(row(ufunc), e, value, axis, dtype, out)


# nanmax, nanmin, nanargmax, nanargmin


def _nan_extreme(
    name: str,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    out: Operand = None,
    keepdims: Operand = ABSENT,
    initial: Operand = ABSENT,
    where: Operand = ABSENT,
) -> Value:
    """``np.nanmax`` and ``np.nanmin``: ``fmax`` and ``fmin`` folded; the same for a NumPy scalar, which is its own extreme."""
    value = e.array(a)
    result = reduction(row(name), e, value, axis, None, out, keepdims, initial, where)
    if value.dtype.kind in "fc":
        refuse_where(e, apply(e, row("isnan"), (result,))[0])
    return result


def _nan_arg_extreme(
    name: str,
    number: float,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    out: Operand = None,
    *,
    keepdims: Operand = ABSENT,
) -> Value:
    """``np.nanargmax`` and ``np.nanargmin``: a slice of NaN only raises."""
    value, mask = _replaced(e, a, number)
    result = arg_extreme(name, e, value, axis, out, keepdims=keepdims)
    if mask is not None:
        axes = axis_tuple(e, axis, len(value.shape))
        refuse_where(e, fold(e, row("logical_and"), mask, axes, dtype=BOOL))
    return result


# nanmean, nanvar, nanstd


def nanmean(
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    keepdims: Operand = ABSENT,
    *,
    where: Operand = ABSENT,
) -> Value:
    """``np.nanmean``."""
    value, mask = _replaced(e, a, 0)
    if mask is None:
        return mean(e, value, axis, dtype, out, keepdims, where=where)
    _no_where(where)
    target, given = single_out(e, out), as_dtype(dtype)
    out_dtype = None if target is None else target.dtype
    _inexact(given, "dtype")
    _inexact(out_dtype, "out")
    axes, keep = axis_tuple(e, axis, len(value.shape)), flag(keepdims, "keepdims")
    counts = _counts(e, mask, axes, keepdims=keep)
    total = fold(e, row("add"), value, axes, dtype=given, out=out_dtype, keepdims=keep)
    if out_dtype is not None:
        total = cast(e, total, out_dtype)
    refuse_where(e, apply(e, row("equal"), (counts, 0))[0])
    return _finish(e, _divided(e, total, counts), target)


def _variance(
    e: Emitter,
    value: Value,
    mask: Value,
    axis: Operand,
    given: DType | None,
    target: Value | None,
    ddof: float,
    keepdims: Operand,
    centre: Operand,
) -> Value:
    out_dtype = None if target is None else target.dtype
    _inexact(given, "dtype")
    _inexact(out_dtype, "out")
    axes, keep = axis_tuple(e, axis, len(value.shape)), flag(keepdims, "keepdims")
    counts = _counts(e, mask, axes, keepdims=keep)
    if centre is ABSENT:
        total = fold(e, row("add"), value, axes, dtype=given, keepdims=True)
        average = _divided(e, total, _counts(e, mask, axes, keepdims=True))
    else:
        average = e.array(centre)
        shape = broadcast(e, value.shape, average.shape)
        if len(shape) != len(value.shape) or not all(map(partial(equal, e), shape, value.shape)):
            raise WouldRaise("mean does not broadcast to the array")
    (deviation,) = apply(e, row("subtract"), (value, average))
    deviation = _select(e, mask, 0, cast(e, deviation, value.dtype))
    if value.dtype.kind == "c":
        (conjugate,) = apply(e, row("conjugate"), (deviation,))
        (square,) = apply(e, row("multiply"), (deviation, conjugate))
        square = e.view(square, Part("real"))
    else:
        (square,) = apply(e, row("multiply"), (deviation, deviation))
    result = fold(e, row("add"), square, axes, dtype=given, out=out_dtype, keepdims=keep)
    if out_dtype is not None:
        result = cast(e, result, out_dtype)
    (freedom,) = apply(e, row("subtract"), (counts, ddof))
    (bad,) = apply(e, row("less_equal"), (freedom, 0))
    refuse_where(e, bad)
    return _divided(e, result, freedom)


def _nan_variance(
    root: bool,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    ddof: Operand = 0,
    keepdims: Operand = ABSENT,
    *,
    where: Operand = ABSENT,
    mean: Operand = ABSENT,
    correction: Operand = ABSENT,
) -> Value:
    """``np.nanvar`` and ``np.nanstd``."""
    value, mask = _replaced(e, a, 0)
    if mask is None:
        plain = std if root else var
        named = {"where": where, "mean": mean, "correction": correction}
        return plain(e, value, axis, dtype, out, ddof, keepdims, **named)
    _no_where(where)
    if correction is not ABSENT:
        if ddof != 0:
            raise WouldRaise("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if type(ddof) not in {int, float}:
        raise Unsupported("ddof is not a constant number")
    assert isinstance(ddof, int | float)
    target = single_out(e, out)
    result = _variance(e, value, mask, axis, as_dtype(dtype), target, ddof, keepdims, mean)
    if root:
        result = cast(e, apply(e, row("sqrt"), (result,))[0], result.dtype)
    return _finish(e, result, target)


# The table

_EXTREMES: Final = (("max", "fmax", -math.inf), ("min", "fmin", math.inf))

for _name, _ufunc, _identity in (("sum", "add", 0), ("prod", "multiply", 1)):
    _fold = partial(_nan_sum, _ufunc, _identity)
    table.define(f"nan{_name}", functions(_fold, example.nan_sums, f"nan{_name}"), ulp=4)
    _running = partial(_nan_scan, _ufunc, _identity)
    table.define(f"nancum{_name}", functions(_running, example.nan_scans, f"nancum{_name}"), ulp=4)
for _name, _ufunc, _number in _EXTREMES:
    _fold = partial(_nan_extreme, _ufunc)
    table.define(f"nan{_name}", functions(_fold, example.nan_extremes, f"nan{_name}"))
    _arg = partial(_nan_arg_extreme, f"arg{_name}", _number)
    table.define(f"nanarg{_name}", functions(_arg, example.nan_arg_extremes, f"nanarg{_name}"))
table.define("nanmean", functions(nanmean, example.nan_means, "nanmean"), ulp=8)
for _root, _name in ((False, "nanvar"), (True, "nanstd")):
    table.define(
        _name, functions(partial(_nan_variance, _root), example.nan_variances, _name), ulp=8
    )
