"""Order statistics as library calls: median, percentile, quantile and those that leave NaN out.

NumPy partitions, so only the results are known here. Their dtypes are NumPy's own answers for arrays of a few ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bcjit.dims import Dim, Relation
from bcjit.ops.emitter import Emitter, Operand, Shape, Value
from bcjit.ops.library_calls import weighted
from bcjit.ops.opdef import Unsupported
from bcjit.ops.operands import expect, flag, is_array, normal_axes, size_of
from bcjit.ops.reductions import ABSENT
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.stand_ins import answer, stand_in
from bcjit.ops.table import Rows
from bcjit.ops.warning_twins import refusing

__all__: list[str] = []

example = Samplers("statistics")
table = Rows()

_Function = Callable[..., Any]


def _kept(value: Value, axes: tuple[int, ...], *, keepdims: bool) -> Shape:
    """Return the shape of a reduction."""
    shape: list[Dim] = []
    for i, dim in enumerate(value.shape):
        if i not in axes:
            shape.append(dim)
        elif keepdims:
            shape.append(1)
    return tuple(shape)


def _fresh(out: Operand, overwrite_input: Operand) -> None:
    if out is not None:
        raise Unsupported("the argument out is not supported here")
    if overwrite_input is not False:
        raise Unsupported("overwrite_input leaves the array in an order that is not described")


def _filled(e: Emitter, a: Operand) -> Value:
    """Return an array that has elements: of none NumPy warns, raises, or gives another shape."""
    value = e.array(a)
    if not expect(e, Relation("!=", size_of(value), 0)):
        raise Unsupported("order statistics of nothing")
    return value


def _result(
    e: Emitter,
    function: _Function,
    operands: tuple[Operand, ...],
    options: dict[str, object],
    shape: Shape,
) -> Value:
    """Return the result of a library call, with dtype and scalar-ness from NumPy's answer for ones."""
    like = answer(function, [stand_in(e, operand) for operand in operands], options)
    if not isinstance(like, np.ndarray | np.generic):
        raise Unsupported("the result is not an array")
    if like.ndim != len(shape) or (not shape and isinstance(like, np.ndarray)):
        # Of weights NumPy gives a 0-d array, or a scalar where there is a NaN.
        raise Unsupported("whether the result is an array or a scalar depends on values")
    (result,) = e.lib_call(function, operands, options, [(shape, like.dtype)])
    return e.scalar(result) if isinstance(like, np.generic) else result


def _median(
    name: str,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    out: Operand = None,
    overwrite_input: Operand = False,
    keepdims: Operand = ABSENT,
) -> Value:
    """``np.median`` and ``np.nanmedian``."""
    _fresh(out, overwrite_input)
    value = _filled(e, a)
    axes, keep = normal_axes(e, axis, len(value.shape)), flag(keepdims, "keepdims")
    options = {"axis": axis, "keepdims": keep}
    shape = _kept(value, axes, keepdims=keep)
    return _result(e, refusing(getattr(np, name)), (value,), options, shape)


def _quantile(
    name: str,
    e: Emitter,
    a: Operand,
    q: Operand,
    axis: Operand = None,
    out: Operand = None,
    overwrite_input: Operand = False,
    method: Operand = "linear",
    keepdims: Operand = ABSENT,
    *,
    weights: Operand = None,
) -> Value:
    """``np.percentile``, ``np.quantile`` and those that leave NaN out."""
    _fresh(out, overwrite_input)
    value = _filled(e, a)
    axes, keep = normal_axes(e, axis, len(value.shape)), flag(keepdims, "keepdims")
    if not isinstance(method, str):
        raise Unsupported("method is not a constant")
    # A Python number is weak; a NumPy scalar is not, and NumPy tells them apart.
    quantiles = q if e.is_value(q) or e.weak_type(q) is not None else e.array(q)
    options: dict[str, object] = {"axis": axis, "method": method, "keepdims": keep}
    before = quantiles.shape if e.is_value(quantiles) else ()
    shape = (*before, *_kept(value, axes, keepdims=keep))
    operands: tuple[Operand, ...] = (value, quantiles)
    function: _Function = refusing(getattr(np, name))
    if weights is not None:
        if not is_array(e, weights):
            raise Unsupported("weights is not an array")
        if e.array(weights).dtype.kind == "c":
            raise Unsupported("of complex weights NumPy warns")
        operands, function = (*operands, weights), partial(weighted, function)
    result = _result(e, function, operands, options, shape)
    alone = not before and not _kept(value, axes, keepdims=False)
    if alone and value.dtype.kind == "f" and result.dtype != value.dtype:
        # NumPy gives the element itself where there is a NaN.
        raise Unsupported("the dtype of a quantile depends on whether there is a NaN")
    return result


# The table

for _name in ("median", "nanmedian"):
    table.define(_name, functions(partial(_median, _name), example.medians, _name))
for _name in ("percentile", "nanpercentile"):
    table.define(_name, functions(partial(_quantile, _name), example.percentiles, _name))
for _name in ("quantile", "nanquantile"):
    table.define(_name, functions(partial(_quantile, _name), example.quantiles, _name))
