"""Histograms as library calls: histogram, histogram2d, histogram_bin_edges.

Source: NumPy ``lib/_histograms_impl.py`` and ``lib/_twodim_base_impl.py``. Edges that are given as an array are given back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bcjit.dims import Dim, Relation
from bcjit.ops.elementwise import apply
from bcjit.ops.emitter import DType, Emitter, Operand, Range, Shape, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import agree, expect, less
from bcjit.ops.refusals import refuse_where
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.spell import functions
from bcjit.ops.stand_ins import answer, stand_in
from bcjit.ops.table import Rows
from bcjit.ops.views import indexed

__all__: list[str] = []

example = Samplers("statistics")
table = Rows()

_Results = list[tuple[Shape, DType]]


def _counted(e: Emitter, a: Operand) -> Value:
    value = e.array(a)
    if value.dtype.kind == "b":
        raise Unsupported("a histogram of bools warns")
    if value.dtype.kind == "c":
        raise Unsupported("a histogram of complex numbers")
    return value


def _check_range(e: Emitter, limits: Operand) -> None:
    if limits is None:
        return
    if not isinstance(limits, tuple | list) or len(limits) != 2:
        raise Unsupported("range is not a pair of numbers")
    for limit in limits:
        real = e.weak_type(limit) in {bool, int, float}
        if not real and not (e.is_value(limit) and not limit.shape and limit.dtype.kind in "iuf"):
            raise Unsupported("range is not a pair of real numbers")


def _number_of_bins(e: Emitter, bins: Operand) -> Dim:
    count = e.integer(bins)
    if count is None:
        raise Unsupported("bins is not an int or edges")
    if less(e, count, 1):
        raise WouldRaise("`bins` must be positive, when an integer")
    return count


def _by_name(bins: Operand, weights: Value | None) -> bool:
    """Whether the number of bins is estimated from the values."""
    if not isinstance(bins, str):
        return False
    if weights is not None:
        raise WouldRaise("Automated estimation is not supported for weighted data")
    return True


def _edges(e: Emitter, bins: Operand) -> Value | None:
    """Return the edges that are given, None if it is a number of bins."""
    if not isinstance(bins, tuple | list) and not (e.is_value(bins) and bins.shape):
        return None
    edges = e.array(bins)
    if len(edges.shape) != 1:
        raise WouldRaise("`bins` must be 1d, when an array")
    if not expect(e, Relation("!=", edges.shape[0], 0)) or edges.dtype.kind not in "iuf":
        raise Unsupported("no edges, or not real ones")
    return edges


def _call(
    e: Emitter,
    function: Callable[..., Any],
    operands: Sequence[Operand],
    small: Sequence[object],
    shapes: Sequence[Shape],
) -> tuple[Value, ...]:
    like = answer(function, small, {})
    found = like if isinstance(like, tuple) else (like,)
    results = [(shape, one.dtype) for shape, one in zip(shapes, found, strict=True)]
    return e.lib_call(function, operands, {}, results)


def _weights(e: Emitter, weights: Operand, value: Value) -> Value | None:
    if weights is None:
        return None
    factors = e.array(weights)
    if len(factors.shape) != len(value.shape):
        raise WouldRaise("weights should have the same shape as a.")
    return factors


def histogram(
    e: Emitter,
    a: Operand,
    bins: Operand = 10,
    range: Operand = None,  # noqa: A002 - NumPy's name
    density: Operand = None,
    weights: Operand = None,
) -> tuple[Value, ...]:
    """``np.histogram``: counts and edges."""
    value, edges = _counted(e, a), _edges(e, bins)
    _check_range(e, range)
    if density is not None and type(density) is not bool:
        raise Unsupported("density is not a constant bool")
    factors = _weights(e, weights, value)
    rest = (range, density, factors)
    likes = [stand_in(e, item) for item in rest]
    if edges is None:
        count = e.unknown("bins") if _by_name(bins, factors) else _number_of_bins(e, bins)
        small = [stand_in(e, value), 1, *likes]
        shapes: list[Shape] = [(count,), (count + 1,)]
        return _call(e, np.histogram, (value, bins, *rest), small, shapes)
    small = [stand_in(e, value), np.array([0, 2], edges.dtype), *likes]
    shapes = [(edges.shape[0] - 1,), edges.shape]
    counts, _ = _call(e, np.histogram, (value, edges, *rest), small, shapes)
    return counts, edges


def histogram_bin_edges(
    e: Emitter,
    a: Operand,
    bins: Operand = 10,
    range: Operand = None,  # noqa: A002 - NumPy's name
    weights: Operand = None,
) -> Value:
    """``np.histogram_bin_edges``."""
    value, edges = _counted(e, a), _edges(e, bins)
    _check_range(e, range)
    factors = _weights(e, weights, value)
    if edges is not None:
        length = edges.shape[0] - 1
        lower, upper = (
            e.view(edges, indexed(edges, {0: Range(start, 1, length)})) for start in (0, 1)
        )
        refuse_where(e, apply(e, row("greater"), (lower, upper))[0])
        return edges
    length = e.unknown("edges") if _by_name(bins, factors) else _number_of_bins(e, bins) + 1
    small = [stand_in(e, value), 1, stand_in(e, range), stand_in(e, factors)]
    operands = (value, bins, range, factors)
    return _call(e, np.histogram_bin_edges, operands, small, [(length,)])[0]


def histogram2d(
    e: Emitter,
    x: Operand,
    y: Operand,
    bins: Operand = 10,
    range: Operand = None,  # noqa: A002 - NumPy's name
    density: Operand = None,
    weights: Operand = None,
) -> tuple[Value, ...]:
    """``np.histogram2d`` of numbers of bins: counts and the edges of each axis."""
    points = [e.array(x), e.array(y)]
    for value in points:
        if len(value.shape) != 1 or value.dtype.kind not in "iuf":
            raise Unsupported("coordinates that are not real vectors")
    if not agree(e, points[0].shape[0], points[1].shape[0]):
        raise WouldRaise("x and y must have the same length.")
    if density is not None and type(density) is not bool:
        raise Unsupported("density is not a constant bool")
    pair = isinstance(bins, tuple | list) and len(bins) == 2
    if range is not None:
        if not isinstance(range, tuple | list) or len(range) != 2:
            raise Unsupported("range is not a pair of pairs")
        for limits in range:
            _check_range(e, limits)
    counts = [_number_of_bins(e, item) for item in (bins if pair else (bins, bins))]  # type: ignore[attr-defined]  # a sequence
    factors = _weights(e, weights, points[0])
    operands = (*points, bins, range, density, factors)
    small = [stand_in(e, item) for item in (*points, None, range, density, factors)]
    small[2] = 1
    shapes: list[Shape] = [tuple(counts), *((count + 1,) for count in counts)]
    return _call(e, np.histogram2d, operands, small, shapes)


# The table

table.define("histogram", functions(histogram, example.histograms, "histogram"))
table.define(
    "histogram_bin_edges",
    functions(histogram_bin_edges, example.bin_edges, "histogram_bin_edges"),
)
table.define("histogram2d", functions(histogram2d, example.histograms_2d, "histogram2d"))
