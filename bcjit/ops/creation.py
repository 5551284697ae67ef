"""Functions that make new arrays: zeros, full, arange, linspace, eye, asarray and their like; no movement.

Arguments that choose layout only (``order``) are accepted and mean nothing here; ``like=`` and ``device=`` are not declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import ceil, isfinite
from typing import Final

import numpy as np

from bcjit.dims import Dim, Expr, floor_divide
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
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    FLOAT64,
    INTP,
    as_dtype,
    cast,
    constant,
    copy,
    default_dtype,
    equal,
    less,
    require_int64,
    shape_argument,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.spell import functions
from bcjit.ops.table import define

__all__: list[str] = []

example = Samplers("creation")

_EMPTY: Final = object()  # fill with nothing in particular


def _order(order: Operand) -> None:
    if order is not None and (not isinstance(order, str) or order not in "CFKA"):
        raise WouldRaise("order must be one of 'C', 'F', 'A', or 'K'")


def _sized(e: Emitter, shape: Operand) -> tuple[Dim, ...]:
    dims = shape_argument(e, shape)
    if any(isinstance(dim, Expr) for dim in dims):
        # Too large for memory, or for NumPy.
        e.may_fail()
    return dims


def _constant(
    item: Operand, e: Emitter, shape: Operand, dtype: Operand = float, order: Operand = "C"
) -> Value:
    """``np.zeros``, ``np.ones``, ``np.empty``."""
    _order(order)
    return e.fill(_sized(e, shape), None if item is _EMPTY else item, as_dtype(dtype) or FLOAT64)


def _filled(e: Emitter, shape: tuple[Dim, ...], item: Operand, dtype: DType | None) -> Value:
    if e.is_value(item) or isinstance(item, tuple | list):
        value = e.array(item)
        if len(value.shape) > len(shape):
            raise WouldRaise("could not broadcast the fill value to the shape")
        wide = e.view(value, Broadcast(_broadcast(e, value, shape)))
        return copy(e, wide, dtype)
    if e.weak_type(item) is None:
        raise Unsupported("fill_value is not a number")
    if dtype is None:
        require_int64(e, item)
        dtype = default_dtype(e, item)
    _check_fits(e, item, dtype)
    return e.fill(shape, item, dtype)


def _broadcast(e: Emitter, value: Value, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    tail = shape[len(shape) - len(value.shape) :]
    for have, want in zip(value.shape, tail, strict=True):
        if not equal(e, have, want) and not equal(e, have, 1):
            raise WouldRaise("could not broadcast the fill value to the shape")
    return shape


def _check_fits(e: Emitter, item: Operand, dtype: DType) -> None:
    if e.weak_type(item) is complex and dtype.kind in "iuf":
        raise Unsupported("casting complex to real warns")
    if type(item) is int and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= item <= limits.max:
            raise Unsupported("filling with an int that does not fit wraps or raises, by version")


def full(
    e: Emitter, shape: Operand, fill_value: Operand, dtype: Operand = None, order: Operand = "C"
) -> Value:
    """``np.full``."""
    _order(order)
    return _filled(e, _sized(e, shape), fill_value, as_dtype(dtype))


def _like(
    item: Operand,
    e: Emitter,
    a: Operand,
    dtype: Operand = None,
    order: Operand = "K",
    subok: Operand = True,
    shape: Operand = None,
) -> Value:
    """``np.zeros_like``, ``np.ones_like``, ``np.empty_like``."""
    model = _model(e, a, order, subok)
    dims = model.shape if shape is None else _sized(e, shape)
    return e.fill(dims, None if item is _EMPTY else item, as_dtype(dtype) or model.dtype)


def _model(e: Emitter, a: Operand, order: Operand, subok: Operand) -> Value:
    _order(order)
    if type(subok) is not bool:
        raise Unsupported("subok is not a constant bool")
    return e.array(a)


def full_like(
    e: Emitter,
    a: Operand,
    fill_value: Operand,
    dtype: Operand = None,
    order: Operand = "K",
    subok: Operand = True,
    shape: Operand = None,
) -> Value:
    """``np.full_like``."""
    model = _model(e, a, order, subok)
    dims = model.shape if shape is None else _sized(e, shape)
    return _filled(e, dims, fill_value, as_dtype(dtype) or model.dtype)


# arange, linspace


def arange(
    e: Emitter, start: Operand, stop: Operand = None, step: Operand = None, dtype: Operand = None
) -> Value:
    """``np.arange`` of ints, which may be symbolic, or of constant floats. Source: NumPy ``ctors.c``."""
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    given = as_dtype(dtype)
    if given is not None and given.kind not in "iuf":
        raise Unsupported("arange of bools or complex numbers")
    bounds = (start, stop, step)
    if any(e.is_value(bound) for bound in bounds):
        raise Unsupported("arange of NumPy scalars")
    dims = [e.integer(bound) for bound in bounds]
    first, last, stride = dims
    if first is not None and last is not None and stride is not None:
        return _int_range(e, first, last, stride, given or INTP)
    if not all(type(bound) in {int, float} for bound in bounds):
        raise Unsupported("the length of a range depends on values")
    return _float_range(e, bounds, given or FLOAT64)


def _int_range(e: Emitter, start: Dim, stop: Dim, step: Dim, dtype: DType) -> Value:
    if equal(e, step, 0):
        raise WouldRaise("division by zero")
    if less(e, step, 0):
        distance, stride = start - stop, -step
    else:
        distance, stride = stop - start, step
    length = 0 if less(e, distance, 1) else floor_divide(distance + stride - 1, stride)
    if any(isinstance(dim, Expr) for dim in (start, stop, step)) or dtype != INTP:
        e.may_fail()
    positions = e.iota(length, dtype)
    if step != 1:
        # Computed modulo the dtype; NumPy raises where the first two elements do not fit.
        (positions,) = apply(e, row("multiply"), (positions, e.fill((), step, dtype)))
    if start != 0:
        (positions,) = apply(e, row("add"), (positions, e.fill((), start, dtype)))
    return positions


def _float_range(e: Emitter, bounds: tuple[Operand, Operand, Operand], dtype: DType) -> Value:
    start, stop, step = (float(bound) for bound in bounds)  # type: ignore[arg-type]
    if step == 0 or not (isfinite(start) and isfinite(stop) and isfinite(step)):
        raise Unsupported("a range of infinite length")
    if dtype.kind != "f":
        raise Unsupported("integers from a range of floats")
    e.may_fail()
    length = max(0, ceil((stop - start) / step))
    # The step is what the second element differs by, in the dtype (NumPy ``arraytypes.c.src``: ``fill``).
    origin = dtype.type(start)
    delta = dtype.type(start + step) - origin
    positions = e.iota(length, dtype)
    (scaled,) = apply(e, row("multiply"), (positions, e.fill((), float(delta), dtype)))
    return apply(e, row("add"), (scaled, e.fill((), float(origin), dtype)))[0]


def linspace(
    e: Emitter,
    start: Operand,
    stop: Operand,
    num: Operand = 50,
    endpoint: Operand = True,
    retstep: Operand = False,
    dtype: Operand = None,
    axis: Operand = 0,
) -> Value:
    """``np.linspace``. Source: NumPy ``_core/function_base.py``."""
    if type(endpoint) is not bool or retstep is not False or constant(e, axis, "axis") != 0:
        raise Unsupported("only endpoint, num and dtype of linspace are supported")
    count = e.integer(num)
    if count is None:
        raise Unsupported("num is not a known integer")
    if less(e, count, 0):
        raise WouldRaise("Number of samples must be non-negative")
    division = count - 1 if endpoint else count
    low, high = e.array(start), e.array(stop)
    inexact = _inexact_type(e, start, stop)
    target = as_dtype(dtype)
    (delta,) = apply(e, row("subtract"), (high, low), dtype=inexact)
    positions = e.iota(count, inexact)
    column = e.view(positions, Basic((Range(0, 1, count), *(NewAxis() for _ in delta.shape))))
    if less(e, 0, division):
        (step,) = apply(e, row("divide"), (delta, e.fill((), division, inexact)))
        (scaled,) = apply(e, row("multiply"), (column, step))
    else:
        (scaled,) = apply(e, row("multiply"), (column, delta))
    (points,) = apply(e, row("add"), (scaled, cast(e, low, inexact)))
    if endpoint and less(e, 1, count):
        points = _with_last(e, points, cast(e, high, inexact), count)
    if target is None:
        return points
    if target.kind in "iu":
        (points,) = apply(e, row("floor"), (points,))
    return cast(e, points, target)


def _inexact_type(e: Emitter, start: Operand, stop: Operand) -> DType:
    operands: list[object] = []
    for operand in (start, stop):
        weak = e.weak_type(operand)
        operands.append(operand.dtype if e.is_value(operand) else weak(0) if weak else 0)
    return np.result_type(*operands, 0.0)  # type: ignore[arg-type]


def _with_last(e: Emitter, points: Value, last: Value, count: Dim) -> Value:
    rest = tuple(Range(0, 1, dim) for dim in points.shape[1:])
    view = Basic((Range(count - 1, 1, 1), *rest))
    return e.scatter(points, last, view)


# eye, asarray


def eye(
    e: Emitter,
    N: Operand,  # noqa: N803 - NumPy's names
    M: Operand = None,  # noqa: N803
    k: Operand = 0,
    dtype: Operand = float,
    order: Operand = "C",
) -> Value:
    """``np.eye``."""
    _order(order)
    (height,) = _sized(e, N)
    width = height if M is None else _sized(e, M)[0]
    offset = e.integer(k)
    if offset is None:
        raise Unsupported("k is not a known integer")
    rows = e.view(e.iota(height, INTP), Basic((Range(0, 1, height), NewAxis())))
    (shifted,) = apply(e, row("add"), (rows, e.fill((), offset, INTP)))
    (ones,) = apply(e, row("equal"), (shifted, e.iota(width, INTP)))
    return cast(e, ones, as_dtype(dtype) or FLOAT64)


def identity(e: Emitter, n: Operand, dtype: Operand = None) -> Value:
    """``np.identity``."""
    return eye(e, n, dtype=as_dtype(dtype))


def _from_sequence(e: Emitter, items: Sequence[Operand], target: DType | None) -> Value:
    """Return the array of a list of numbers and arrays; dtypes are promoted as found, not weakly."""
    if not any(_holds_value(e, item) for item in items):
        value = e.array(items)
        if target is None or target == value.dtype:
            return value
        # A number may not fit the dtype.
        e.may_fail()
        return copy(e, value, target)
    parts = [
        _from_sequence(e, item, target) if isinstance(item, tuple | list) else e.array(item)
        for item in items
    ]
    shape = parts[0].shape
    if any(len(part.shape) != len(shape) for part in parts):
        raise Unsupported("an array of parts of different shapes")
    for part in parts[1:]:
        if not all(equal(e, a, b) for a, b in zip(part.shape, shape, strict=True)):
            raise Unsupported("an array of parts of different shapes")
    if target is not None:
        e.may_fail()
    dtype = target or np.result_type(*(part.dtype for part in parts))
    new = Basic((NewAxis(), *(Range(0, 1, dim) for dim in shape)))
    return e.concat([e.view(part, new) for part in parts], 0, dtype)


def _holds_value(e: Emitter, item: Operand) -> bool:
    if isinstance(item, tuple | list):
        return any(_holds_value(e, inner) for inner in item)
    return e.is_value(item) or type(item) not in {bool, int, float, complex}


def _as_array(e: Emitter, a: Operand, dtype: Operand, copying: Operand) -> Value:
    target = as_dtype(dtype)
    if copying not in {None, True}:
        raise Unsupported("copy=False raises if a copy is needed")
    if isinstance(a, tuple | list):
        return _from_sequence(e, a, target)
    value = e.array(a)
    if copying or target not in {None, value.dtype}:
        return copy(e, value, target)
    return value


def array(
    e: Emitter,
    object: Operand,  # noqa: A002 - NumPy's name
    dtype: Operand = None,
    *,
    copy: Operand = True,
    order: Operand = "K",
    subok: Operand = False,
    ndmin: Operand = 0,
) -> Value:
    """``np.array``."""
    _order(order)
    if type(subok) is not bool or ndmin != 0:
        raise Unsupported("subok or ndmin")
    if copy is not True and order not in {None, "K"}:
        raise Unsupported("order= decides whether there is a copy")
    return _as_array(e, object, dtype, copy)


def asarray(
    e: Emitter,
    a: Operand,
    dtype: Operand = None,
    order: Operand = None,
    *,
    copy: Operand = None,
) -> Value:
    """``np.asarray``: the array itself where nothing has to change."""
    if copy is not True and order not in {None, "K", "A"}:
        raise Unsupported("order= decides whether there is a copy")
    return _as_array(e, a, dtype, copy)


def asanyarray(e: Emitter, a: Operand, dtype: Operand = None, order: Operand = None) -> Value:
    """``np.asanyarray``; its ``copy=`` is newer than the oldest NumPy and not declared."""
    return asarray(e, a, dtype, order)


def ascontiguousarray(e: Emitter, a: Operand, dtype: Operand = None) -> Value:
    """``np.ascontiguousarray``: at least 1-d; the array itself where its layout allows it."""
    value = _as_array(e, a, dtype, None)
    # Reshape is the one primitive that is a copy or not by layout.
    return e.view(value, Reshape(value.shape or (1,)))


# The table

for _name, _item in (("zeros", 0), ("ones", 1), ("empty", _EMPTY)):
    _sampler = example.empties if _item is _EMPTY else example.shapes
    define(_name, functions(partial(_constant, _item), _sampler, _name))
    define(f"{_name}_like", functions(partial(_like, _item), example.likes, f"{_name}_like"))
define("full", functions(full, example.fulls, "full"))
define("full_like", functions(full_like, example.full_likes, "full_like"))
define("arange", functions(arange, example.aranges, "arange"))
define("linspace", functions(linspace, example.linspaces, "linspace"), ulp=4)
define("eye", functions(eye, example.eyes, "eye"))
define("identity", functions(identity, example.identities, "identity"))
define("array", functions(array, example.to_arrays, "array"))
define("asarray", functions(asarray, example.to_arrays, "asarray"))
define("asanyarray", functions(asanyarray, example.to_arrays, "asanyarray"))
define(
    "ascontiguousarray", functions(ascontiguousarray, example.to_contiguous, "ascontiguousarray")
)
