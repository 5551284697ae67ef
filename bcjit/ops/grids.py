"""Grids of coordinates: meshgrid, indices, mgrid and ogrid."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, isfinite
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.dims import Dim, floor_divide
from bcjit.ops.elementwise import apply
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
from bcjit.ops.numpy_facts import MESHES_ARE_A_TUPLE
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import as_dtype, copy, less, shape_argument, size_of
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.sequences import arange
from bcjit.ops.spell import functions
from bcjit.ops.table import define

__all__ = ["GET_GRID", "GRIDS"]

example = Samplers("grids")

GRIDS: Final = (type(np.mgrid), type(np.ogrid))
GET_GRID: Final = GRIDS[0].__getitem__  # one function for both


def _along(e: Emitter, value: Value, axis: int, ndim: int) -> Value:
    """Return a 1-d value as one axis of several, the others of size 1."""
    items = [NewAxis() if i != axis else Range(0, 1, value.shape[0]) for i in range(ndim)]
    return e.view(value, Basic(tuple(items)))


def meshgrid(
    e: Emitter,
    *xi: Operand,
    copy: Operand = True,
    sparse: Operand = False,
    indexing: Operand = "xy",
) -> tuple[Value, ...] | list[Value]:
    """``np.meshgrid``. Source: NumPy ``lib/_function_base_impl.py``."""
    if indexing not in {"xy", "ij"}:
        raise WouldRaise("Valid values for `indexing` are 'xy' and 'ij'.")
    if type(copy) is not bool or type(sparse) is not bool:
        raise Unsupported("copy or sparse is not a constant bool")
    ndim = len(xi)
    order = list(range(ndim))
    if indexing == "xy" and ndim > 1:
        order[:2] = [1, 0]
    values = [e.array(x) for x in xi]
    sizes = [size_of(value) for value in values]
    full: list[Dim] = [1] * ndim
    for axis, size in zip(order, sizes, strict=True):
        full[axis] = size
    grids = []
    for axis, size, value in zip(order, sizes, values, strict=True):
        shape: list[Dim] = [1] * ndim
        shape[axis] = size
        grid = e.view(value, Reshape(tuple(shape)))
        grids.append(grid if sparse else e.view(grid, Broadcast(tuple(full))))
    if copy:
        return tuple(_copied(e, grid) for grid in grids)
    return grids if sparse and not MESHES_ARE_A_TUPLE else tuple(grids)


_copied = copy


def indices(
    e: Emitter, dimensions: Operand, dtype: Operand = int, sparse: Operand = False
) -> Value | tuple[Value, ...]:
    """``np.indices``."""
    if not isinstance(dimensions, tuple | list) or type(sparse) is not bool:
        raise Unsupported("dimensions is not a sequence, or sparse no constant bool")
    target = as_dtype(dtype)
    if target is None or target.kind not in "iuf":
        raise Unsupported("indices as bools or complex numbers")
    shape = shape_argument(e, dimensions)
    if target.itemsize < _WIDE:
        # A size may not fit the dtype.
        e.may_fail()
    axes = [e.iota(dim, target) for dim in shape]
    if sparse:
        return tuple(_along(e, axis, i, len(shape)) for i, axis in enumerate(axes))
    return _filled(e, axes, target)


_WIDE: Final = 8  # bytes


def _filled(e: Emitter, axes: Sequence[Value], dtype: DType) -> Value:
    """Return the open grid of these axes as one array, the first axis of which tells them apart."""
    shape = tuple(axis.shape[0] for axis in axes)
    if not axes:
        return e.fill((0,), 0, dtype)
    layers = []
    for i, axis in enumerate(axes):
        wide = e.view(_along(e, axis, i, len(axes)), Broadcast(shape))
        layers.append(e.view(wide, Reshape((1, *shape))))
    return e.concat(layers, 0, dtype)


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
    if isinstance(grid, GRIDS[1]):
        return tuple(_along(e, value, i, len(values)) for i, value in enumerate(values))
    return _filled(e, values, joint)


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


# The table

define("meshgrid", functions(meshgrid, example.meshes, "meshgrid"))
define("indices", functions(indices, example.sizes, "indices"))
define("nd_grid", [Spelling(GET_GRID, grid_item, example.items)])
