"""Averages with weights and covariances: average, cov, corrcoef.

Mirrors NumPy's ``lib/_function_base_impl.py`` with its order of operations.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from bcjit.dims import Relation
from bcjit.ops.averages import mean
from bcjit.ops.elementwise import apply
from bcjit.ops.emitter import (
    Basic,
    Broadcast,
    Diagonal,
    Emitter,
    Operand,
    Part,
    Permute,
    Pick,
    Reshape,
    Value,
)
from bcjit.ops.library_calls import covariance
from bcjit.ops.numpy_facts import COV_KEEPS_ONE_ROW
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    FLOAT64,
    INTP,
    agree,
    as_dtype,
    cast,
    copy,
    equal,
    expect,
    flag,
    normal_axes,
)
from bcjit.ops.reductions import ABSENT, fold, reduced_size
from bcjit.ops.refusals import refuse_where
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import CLIP, row
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows
from bcjit.ops.views import with_new_axes

__all__: list[str] = []

example = Samplers("statistics")
table = Rows()


# average


def _spread(e: Emitter, value: Value, weights: Value, axis: Operand) -> Value:
    """Return weights that broadcast against the array (``_weights_are_valid``)."""
    alike = len(weights.shape) == len(value.shape) and all(
        equal(e, have, want) for have, want in zip(weights.shape, value.shape, strict=True)
    )
    if alike:
        return weights
    if axis is None:
        raise WouldRaise("Axis must be specified when shapes of a and weights differ.")
    axes = normal_axes(e, axis, len(value.shape))
    wanted = tuple(value.shape[i] for i in axes)
    if len(weights.shape) != len(wanted) or not all(
        equal(e, have, want) for have, want in zip(weights.shape, wanted, strict=True)
    ):
        raise WouldRaise("Shape of weights must be consistent with shape of a along the axis")
    order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    arranged = e.view(weights, Permute(order))
    shape = tuple(dim if i in axes else 1 for i, dim in enumerate(value.shape))
    return e.view(arranged, Reshape(shape))


def _average(
    e: Emitter, value: Value, axis: Operand, weights: Operand, *, keepdims: bool
) -> tuple[Value, Value]:
    """Return the average and the sum of the weights, as arrays."""
    axes = normal_axes(e, axis, len(value.shape))
    if weights is None:
        average = mean(e, value, axes, keepdims=keepdims)
        kept = [dim for i, dim in enumerate(value.shape) if i not in axes]
        if not all(expect(e, Relation("!=", dim, 0)) for dim in kept):
            raise WouldRaise("division by zero")
        return e.array(average), e.fill((), reduced_size(value, axes), average.dtype)
    factors = e.array(weights)
    # A float64 for integers and bools.
    others = (FLOAT64,) if value.dtype.kind in "biu" else ()
    dtype = np.result_type(value.dtype, factors.dtype, *others)
    factors = _spread(e, value, factors, axis)
    scale = fold(e, row("add"), factors, axes, dtype=dtype, keepdims=keepdims)
    refuse_where(e, apply(e, row("equal"), (scale, 0.0))[0])
    (product,) = apply(e, row("multiply"), (value, factors), dtype=dtype)
    total = fold(e, row("add"), product, axes, keepdims=keepdims)
    return apply(e, row("divide"), (total, scale))[0], scale


def average(
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    weights: Operand = None,
    returned: Operand = False,
    *,
    keepdims: Operand = ABSENT,
) -> Value | tuple[Value, Value]:
    """``np.average``."""
    if type(returned) is not bool:
        raise Unsupported("returned is not a constant bool")
    value, keep = e.array(a), flag(keepdims, "keepdims")
    result, scale = _average(e, value, axis, weights, keepdims=keep)
    if not returned:
        return e.scalar(result)
    alike = len(scale.shape) == len(result.shape) and all(
        equal(e, have, want) for have, want in zip(scale.shape, result.shape, strict=True)
    )
    if not alike:
        scale = copy(e, e.view(scale, Broadcast(result.shape)))
    return e.scalar(result), e.scalar(scale)


# cov, corrcoef


def _rows(e: Emitter, operand: Operand) -> Value:
    value = e.array(operand)
    if len(value.shape) > 2:
        raise WouldRaise("m and y have at most 2 dimensions")
    return value


def _at_least_2d(e: Emitter, value: Value) -> Value:
    missing = 2 - len(value.shape)
    return e.view(value, with_new_axes(value, tuple(range(missing)))) if missing else value


def _variables(e: Emitter, m: Operand, y: Operand, rowvar: bool, dtype: Operand) -> Value:
    """Return the variables as rows, those of m before those of y."""
    value, other = _rows(e, m), None if y is None else _rows(e, y)
    given = as_dtype(dtype)
    if given is None:
        found = [part.dtype for part in (value, other) if part is not None]
        given = np.result_type(*found, FLOAT64)
    one_row = len(value.shape) == 1
    table = cast(e, _at_least_2d(e, value), given)
    if COV_KEEPS_ONE_ROW:
        one_row = not rowvar and equal(e, table.shape[0], 1)
    if not rowvar and not one_row:
        table = e.view(table, Permute((1, 0)))
    if equal(e, table.shape[0], 0):
        raise Unsupported("the covariance of no variables")
    if other is None:
        return table
    more = cast(e, _at_least_2d(e, other), given)
    if not rowvar and not equal(e, more.shape[0], 1):
        more = e.view(more, Permute((1, 0)))
    if not agree(e, table.shape[1], more.shape[1]):
        raise WouldRaise("m and y have different numbers of observations")
    return e.concat([table, more], 0, given)


def _covariance(
    e: Emitter, m: Operand, y: Operand, rowvar: Operand, ddof: int, dtype: Operand
) -> Value:
    if type(rowvar) is not bool:
        raise Unsupported("rowvar is not a constant bool")
    table = _variables(e, m, y, rowvar, dtype)
    if table.dtype.kind not in "fc":
        raise Unsupported("a covariance in integers")
    count, observations = table.shape
    if not expect(e, Relation("<", ddof, observations)):
        raise Unsupported("a covariance without degrees of freedom warns")
    centre, _ = _average(e, table, 1, None, keepdims=True)
    (deviations,) = apply(e, row("subtract"), (table, centre))
    deviations = cast(e, deviations, table.dtype)
    other = deviations
    if table.dtype.kind == "c":
        (other,) = apply(e, row("conjugate"), (deviations,))
    result = e.contract(deviations, other, ("ik", "jk", "ij"), table.dtype)
    factor = apply(e, row("divide"), (1, e.fill((), observations - ddof, INTP)))[0]
    (scaled,) = apply(e, row("multiply"), (result, factor))
    scaled = cast(e, scaled, table.dtype)
    if equal(e, count, 1):
        return e.view(scaled, Basic((Pick(0), Pick(0))))
    return scaled


def cov(
    e: Emitter,
    m: Operand,
    y: Operand = None,
    rowvar: Operand = True,
    bias: Operand = False,
    ddof: Operand = None,
    fweights: Operand = None,
    aweights: Operand = None,
    *,
    dtype: Operand = None,
) -> Value:
    """``np.cov``: of one variable a 0-d array."""
    if fweights is not None or aweights is not None:
        return _weighted(e, m, y, rowvar, bias, ddof, (fweights, aweights), dtype)
    if ddof is None:
        if type(bias) not in {bool, int}:
            raise Unsupported("bias is not a constant bool")
        ddof = 0 if bias else 1
    if type(ddof) is not int:
        raise Unsupported("ddof is not a constant int")
    return _covariance(e, m, y, rowvar, ddof, dtype)


def _weighted(
    e: Emitter,
    m: Operand,
    y: Operand,
    rowvar: Operand,
    bias: Operand,
    ddof: Operand,
    weights: tuple[Operand, Operand],
    dtype: Operand,
) -> Value:
    """``np.cov`` with weights, whose values NumPy looks at: opaque."""
    if type(rowvar) is not bool or type(bias) is not bool or type(ddof) not in {int, type(None)}:
        raise Unsupported("rowvar, bias or ddof is not a constant")
    table = _variables(e, m, y, rowvar, dtype)
    factors = [None if one is None else e.array(one) for one in weights]
    for one in factors:
        if one is not None and (len(one.shape) != 1 or not agree(e, one.shape[0], table.shape[1])):
            raise WouldRaise("weights are one for each observation")
        if one is not None and one.dtype.kind == "c":
            raise Unsupported("casting complex to real warns")
    count = table.shape[0]
    shape = () if equal(e, count, 1) else (count, count)
    others = None if y is None else e.array(y)
    operands = (e.array(m), others, rowvar, bias, ddof, *factors)
    function = partial(covariance, as_dtype(dtype))
    return e.lib_call(function, operands, {}, [(shape, table.dtype)])[0]


def corrcoef(
    e: Emitter,
    x: Operand,
    y: Operand = None,
    rowvar: Operand = True,
    bias: Operand = ABSENT,
    ddof: Operand = ABSENT,
    *,
    dtype: Operand = None,
) -> Value:
    """``np.corrcoef``; bias and ddof are old names of nothing, of which NumPy warns."""
    if bias is not ABSENT or ddof is not ABSENT:
        raise Unsupported("bias and ddof warn or raise, by NumPy's version")
    table = _covariance(e, x, y, rowvar, 1, dtype)
    if not table.shape:
        return e.scalar(apply(e, row("divide"), (table, table))[0])
    size = table.shape[0]
    diagonal = e.view(table, Diagonal(0, 0, 1, size))
    if table.dtype.kind == "c":
        diagonal = e.view(diagonal, Part("real"))
    (deviation,) = apply(e, row("sqrt"), (diagonal,))
    for axis in (1, 0):
        divisor = e.view(deviation, with_new_axes(deviation, (axis,)))
        (table,) = apply(e, row("divide"), (table, divisor))
    if table.dtype.kind != "c":
        return apply(e, CLIP, (table, -1, 1))[0]
    for name in ("real", "imag"):
        part = e.view(table, Part(name))
        (clipped,) = apply(e, CLIP, (part, -1, 1))
        table = e.scatter(table, clipped, Part(name))
    return table


# The table

table.define("average", functions(average, example.averages, "average"), ulp=8)
table.define("cov", functions(cov, example.covariances, "cov"), ulp=16)
table.define("corrcoef", functions(corrcoef, example.correlations, "corrcoef"), ulp=32)
