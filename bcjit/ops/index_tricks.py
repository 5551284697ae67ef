"""Objects of NumPy that are indexed to make arrays: mgrid, ogrid, r_ and c_."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite
from typing import Any, TypeAlias

import numpy as np

from bcjit.dims import Dim, floor_divide
from bcjit.ops.conversion import array
from bcjit.ops.elementwise import apply
from bcjit.ops.emitter import DType, Emitter, Operand, Value
from bcjit.ops.grids import along, filled
from bcjit.ops.indexed_objects import GET_GRID, GET_JOINED
from bcjit.ops.joining import concatenate
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import cast, less
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.sequences import arange, linspace
from bcjit.ops.table import Rows
from bcjit.ops.views import with_new_axes

__all__: list[str] = []

example = Samplers("grids")
table = Rows()

# mgrid and ogrid

_Axis: TypeAlias = tuple[Dim, Operand, Operand]  # length, step, start


def grid_item(e: Emitter, grid: Operand, key: Operand) -> Value | tuple[Value, ...]:
    """``np.mgrid[...]`` and ``np.ogrid[...]``. Source: NumPy ``lib/_index_tricks_impl.py``: ``nd_grid``."""
    if isinstance(key, slice):
        if _points(key.step) is None:
            start = 0 if key.start is None else key.start
            return arange(e, start, key.stop, key.step)
        axis, dtype = _axis(e, key)
        return _axis_values(e, axis, dtype)
    if not isinstance(key, tuple) or not all(isinstance(item, slice) for item in key):
        raise Unsupported("the index of a grid is not made of slices")
    found = [_axis(e, item) for item in key]
    joint: DType = np.result_type(np.dtype(int), *(dtype for _, dtype in found))
    values = [_axis_values(e, axis, joint) for axis, _ in found]
    if isinstance(grid, type(np.ogrid)):
        return tuple(along(e, value, i, len(values)) for i, value in enumerate(values))
    return filled(e, values, joint)


def _points(step: Operand) -> int | None:
    """Return the number of points that a step like ``5j`` means, None for any other step."""
    return int(abs(step)) if type(step) is complex else None


def _axis(e: Emitter, item: slice) -> tuple[_Axis, DType]:
    start: Any = 0 if item.start is None else item.start
    step: Any = 1 if item.step is None else item.step
    points = _points(step)
    if item.stop is None:
        raise WouldRaise("a grid needs a stop")
    bounds = (start, item.stop, step)
    if any(e.weak_type(bound) not in {int, float, complex} for bound in bounds):
        raise Unsupported("a bound of a grid is not a Python number")
    if points is not None:
        if complex in {e.weak_type(start), e.weak_type(item.stop)} or not isfinite(abs(step)):
            raise Unsupported("a grid of complex numbers")
        dtype = np.result_type(0, 1.0)
        if points != 1:
            (distance,) = apply(e, row("subtract"), (_number(e, item.stop), _number(e, start)))
            divisor = e.fill((), float(points - 1), dtype)
            if points == 0:
                raise Unsupported("a grid of no points")
            (step,) = apply(e, row("divide"), (distance, divisor))
        return (points, step if points != 1 else 1, start), dtype
    dtype = np.result_type(*(np.dtype(e.weak_type(bound)) for bound in bounds))
    return (_length(e, *bounds), step, start), dtype


def _number(e: Emitter, bound: Operand) -> Value:
    return e.fill((), bound, np.dtype(float))


def _length(e: Emitter, start: Any, stop: Any, step: Any) -> Dim:
    low, high, by = e.integer(start), e.integer(stop), e.integer(step)
    if low is not None and high is not None and isinstance(by, int) and by != 0:
        distance = high - low if by > 0 else low - high
        length = floor_divide(distance + abs(by) - 1, abs(by))
        if less(e, length, 0):
            raise Unsupported("a grid of negative size")
        return length
    if not all(type(bound) in {int, float} for bound in (start, stop, step)) or step == 0:
        raise Unsupported("the size of a grid depends on values")
    if not isfinite((stop - start) / step) or stop < start:
        raise Unsupported("a grid without a size")
    exact: float = (stop - start) / step
    return ceil(exact)


def _axis_values(e: Emitter, axis: _Axis, dtype: DType) -> Value:
    length, step, start = axis
    (scaled,) = apply(e, row("multiply"), (e.iota(length, dtype), step))
    return apply(e, row("add"), (scaled, start))[0]


# r_ and c_


def joined_item(e: Emitter, joiner: Operand, key: Operand) -> Value:
    """``np.r_[...]`` and ``np.c_[...]``. Source: NumPy ``lib/_index_tricks_impl.py``: ``AxisConcatenator``."""
    columns = isinstance(joiner, type(np.c_))
    items: Sequence[Operand] = key if isinstance(key, tuple) else (key,)
    parts, kinds = [], []
    for item in items:
        part = _part(e, item)
        weak = e.weak_type(item)
        if weak is int:
            # It may not fit the common dtype.
            e.may_fail()
        kinds.append(weak(0) if weak in {int, float, complex} else part.dtype)
        missing = (2 if columns else 1) - len(part.shape)
        if missing > 0:
            # Columns of one axis; a number has all axes new.
            at = (1,) if missing == 1 and columns else tuple(range(missing))
            part = e.view(part, with_new_axes(part, at))
        parts.append(part)
    if not parts:
        raise WouldRaise("need at least one array to concatenate")
    dtype = np.result_type(*kinds)
    for item in items:
        if type(item) is int and dtype.kind in "iu" and not _holds(dtype, item):
            raise WouldRaise(f"Python integer {item} out of bounds for {dtype}")
    return concatenate(e, [cast(e, part, dtype) for part in parts], -1 if columns else 0)


def _holds(dtype: DType, number: int) -> bool:
    limits = np.iinfo(dtype)
    return bool(limits.min <= number <= limits.max)


def _part(e: Emitter, item: Operand) -> Value:
    if isinstance(item, str):
        raise Unsupported("a directive in the index")
    if not isinstance(item, slice):
        return array(e, item, copy=None)
    start = 0 if item.start is None else item.start
    points = _points(item.step)
    if points is None:
        return arange(e, start, item.stop, item.step)
    spaced = linspace(e, start, item.stop, points)
    assert not isinstance(spaced, tuple)
    return spaced


# The table

table.define("nd_grid", [Spelling(GET_GRID, grid_item, example.items)])
table.define("r_ and c_", [Spelling(GET_JOINED, joined_item, example.joined)], ulp=4)
