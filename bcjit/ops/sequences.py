"""Ranges and other sequences of numbers: arange, linspace, logspace, geomspace, and windows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil, isfinite, nan, pi
from typing import Final

import numpy as np

from bcjit.dims import Dim, Expr, floor_divide
from bcjit.ops.elementwise import apply
from bcjit.ops.emitter import Basic, DType, Emitter, NewAxis, Operand, Permute, Range, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    BOOL,
    FLOAT64,
    INTP,
    as_dtype,
    axis_index,
    broadcast,
    cast,
    check_host,
    default_dtype,
    equal,
    less,
    require_int64,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import SELECT, row
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("creation")
table = Rows()


def arange(
    e: Emitter,
    start: Operand,
    stop: Operand = None,
    step: Operand = None,
    dtype: Operand = None,
    *,
    device: Operand = None,
    like: Operand = None,
) -> Value:
    """``np.arange``: of ints, which may be symbolic, or constant floats; of other numbers of unknown length.

    Source: NumPy ``ctors.c``: ``PyArray_ArangeObj``.
    """
    check_host(device, like)
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    given = as_dtype(dtype)
    if given is not None and given.kind not in "iuf":
        raise Unsupported("arange of bools or complex numbers")
    bounds = (start, stop, step)
    if any(e.is_value(bound) for bound in bounds):
        return _unknown_range(e, bounds, given)
    dims = [e.integer(bound) for bound in bounds]
    first, last, stride = dims
    if first is not None and last is not None and stride is not None:
        return _int_range(e, first, last, stride, given or INTP)
    if not all(type(bound) in {int, float} for bound in bounds):
        return _unknown_range(e, bounds, given)
    return _float_range(e, bounds, given or FLOAT64)


def _unknown_range(e: Emitter, bounds: tuple[Operand, ...], given: DType | None) -> Value:
    target = INTP
    for bound in bounds:
        if e.is_value(bound) and bound.shape:
            raise Unsupported("a bound is an array")
        require_int64(e, bound)
        target = np.promote_types(target, default_dtype(e, bound))
    if target.kind == "c":
        raise Unsupported("arange of bools or complex numbers")
    options = {} if given is None else {"dtype": given}
    shape = (e.unknown("arange"),)
    return e.lib_call(np.arange, bounds, options, [(shape, given or target)])[0]


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
    if type(start) is int and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= start <= limits.max:
            raise Unsupported("a range from an int that does not fit its dtype")
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
    *,
    device: Operand = None,
) -> Value | tuple[Operand, ...]:
    """``np.linspace``. Source: NumPy ``_core/function_base.py``."""
    check_host(device)
    if type(retstep) is not bool:
        raise Unsupported("retstep is not a constant bool")
    points, step = _spaced(e, start, stop, num, endpoint, axis)
    target = as_dtype(dtype)
    if target is not None and target.kind in "iu":
        (points,) = apply(e, row("floor"), (points,))
    if target is not None:
        points = cast(e, points, target)
    return (points, step) if retstep else points


def _spaced(
    e: Emitter, start: Operand, stop: Operand, num: Operand, endpoint: Operand, axis: Operand
) -> tuple[Value, Operand]:
    """Return the points, not yet cast, and the step between them."""
    if type(endpoint) is not bool:
        raise Unsupported("endpoint is not a constant bool")
    count = _count(e, num)
    division = count - 1 if endpoint else count
    low, high = e.array(start), e.array(stop)
    inexact = _inexact_type(e, start, stop)
    (delta,) = apply(e, row("subtract"), (high, low), dtype=inexact)
    positions = e.iota(count, inexact)
    column = e.view(positions, Basic((Range(0, 1, count), *(NewAxis() for _ in delta.shape))))
    if less(e, 0, division):
        (step,) = apply(e, row("divide"), (delta, e.fill((), division, inexact)))
        (scaled,) = apply(e, row("multiply"), (column, step))
        between: Operand = e.scalar(step)
    else:
        (scaled,) = apply(e, row("multiply"), (column, delta))
        between = e.item(e.fill((), nan, FLOAT64), float)
    (points,) = apply(e, row("add"), (scaled, cast(e, low, inexact)))
    if endpoint and less(e, 1, count):
        points = _with_last(e, points, cast(e, high, inexact), count)
    return _at_axis(e, points, axis), between


def _count(e: Emitter, num: Operand) -> Dim:
    count = e.integer(num)
    if count is None:
        raise Unsupported("num is not a known integer")
    if less(e, count, 0):
        raise WouldRaise("Number of samples must be non-negative")
    return count


def _at_axis(e: Emitter, points: Value, axis: Operand) -> Value:
    """Return the points along another axis than the first."""
    to = axis_index(e, axis, len(points.shape))
    if to == 0:
        return points
    order = [*range(1, len(points.shape))]
    order.insert(to, 0)
    return e.view(points, Permute(tuple(order)))


def _inexact_type(e: Emitter, start: Operand, stop: Operand) -> DType:
    operands: list[object] = []
    for operand in (start, stop):
        weak = e.weak_type(operand)
        operands.append(e.array(operand).dtype if weak is None else weak(0))
    return np.result_type(*operands, 0.0)  # type: ignore[arg-type]


def _with_last(e: Emitter, points: Value, last: Value, count: Dim) -> Value:
    rest = tuple(Range(0, 1, dim) for dim in points.shape[1:])
    view = Basic((Range(count - 1, 1, 1), *rest))
    return e.scatter(points, last, view)


def logspace(
    e: Emitter,
    start: Operand,
    stop: Operand,
    num: Operand = 50,
    endpoint: Operand = True,
    base: Operand = 10.0,
    dtype: Operand = None,
    axis: Operand = 0,
) -> Value:
    """``np.logspace``: powers of a base that is a number. Source: NumPy ``_core/function_base.py``."""
    if isinstance(base, tuple | list) or (e.is_value(base) and base.shape):
        raise Unsupported("several bases")
    points, _ = _spaced(e, start, stop, num, endpoint, axis)
    (powers,) = apply(e, row("power"), (base, points))
    target = as_dtype(dtype)
    return powers if target is None else cast(e, powers, target)


def geomspace(
    e: Emitter,
    start: Operand,
    stop: Operand,
    num: Operand = 50,
    endpoint: Operand = True,
    dtype: Operand = None,
    axis: Operand = 0,
) -> Value:
    """``np.geomspace``: opaque, as it goes by the signs of its ends, and differs between versions of NumPy."""
    if type(endpoint) is not bool:
        raise Unsupported("endpoint is not a constant bool")
    count, low, high = _count(e, num), e.array(start), e.array(stop)
    given = as_dtype(dtype)
    target = given or np.result_type(low.dtype, high.dtype, 1.0, FLOAT64)
    ends = broadcast(e, low.shape, high.shape)
    to = axis_index(e, axis, len(ends) + 1)
    options = {"num": num, "endpoint": endpoint, "dtype": dtype, "axis": axis}
    shape = (*ends[:to], count, *ends[to:])
    return e.lib_call(np.geomspace, (low, high), options, [(shape, target)])[0]


# Windows


def _window(
    shape_of: Callable[[Emitter, Value, Operand], Value],
    e: Emitter,
    M: Operand,  # noqa: N803 - NumPy's name
) -> Value:
    """Return a window of M points. Source: NumPy ``lib/_function_base_impl.py``: ``hanning`` and its like."""
    count = e.integer(M)
    if count is None:
        raise Unsupported("M is not a known integer")
    if less(e, count, 1):
        return e.fill((0,), 0, FLOAT64)
    if equal(e, count, 1):
        return e.fill((1,), 1, FLOAT64)
    (doubled,) = apply(e, row("multiply"), (e.iota(count, FLOAT64), 2.0))
    (positions,) = apply(e, row("add"), (doubled, e.fill((), 1 - count, FLOAT64)))
    return shape_of(e, positions, e.fill((), count - 1, FLOAT64))


def _bartlett(e: Emitter, n: Value, last: Operand) -> Value:
    (test,) = apply(e, row("less_equal"), (n, 0))
    (part,) = apply(e, row("divide"), (n, last))
    (up,) = apply(e, row("add"), (1, part))
    (down,) = apply(e, row("subtract"), (1, part))
    return e.map(SELECT, (test, up, down), (BOOL, FLOAT64, FLOAT64, FLOAT64))[0]


def _cosines(terms: tuple[tuple[float, float], ...], e: Emitter, n: Value, last: Operand) -> Value:
    """Return a constant, and cosines of multiples of pi: (weight, factor) each, in the order NumPy adds them."""
    total: Operand = terms[0][0]
    for weight, factor in terms[1:]:
        (angle,) = apply(e, row("multiply"), (factor, n))
        (angle,) = apply(e, row("divide"), (angle, last))
        (cosine,) = apply(e, row("cos"), (angle,))
        (term,) = apply(e, row("multiply"), (weight, cosine))
        (total,) = apply(e, row("add"), (total, term))
    assert e.is_value(total)
    return total


_WINDOWS: Final[dict[str, Callable[[Emitter, Value, Operand], Value]]] = {
    "bartlett": _bartlett,
    "blackman": partial(_cosines, ((0.42, 0.0), (0.5, pi), (0.08, 2.0 * pi))),
    "hamming": partial(_cosines, ((0.54, 0.0), (0.46, pi))),
    "hanning": partial(_cosines, ((0.5, 0.0), (0.5, pi))),
}


def kaiser(
    e: Emitter,
    M: Operand,  # noqa: N803 - NumPy's name
    beta: Operand,
) -> Value:
    """``np.kaiser``: opaque, for its Bessel function."""
    count = e.integer(M)
    if count is None:
        raise Unsupported("M is not a known integer")
    if e.is_value(beta) and (beta.shape or beta.dtype.kind not in "biuf" or beta.dtype.char == "g"):
        raise Unsupported("beta is not one real number")
    if not e.is_value(beta) and e.weak_type(beta) not in {int, float}:
        raise Unsupported("beta is not one real number")
    length = 0 if less(e, count, 0) else count
    return e.lib_call(np.kaiser, (M, beta), {}, [((length,), FLOAT64)])[0]


def i0(e: Emitter, x: Operand) -> Value:
    """``np.i0``: opaque, a series for each of two ranges."""
    value = e.array(x)
    if value.dtype.kind == "c":
        raise WouldRaise("i0 not supported for complex values")
    dtype = value.dtype if value.dtype.kind == "f" else FLOAT64
    return e.lib_call(np.i0, (value,), {}, [(value.shape, dtype)])[0]


# The table

table.define("arange", functions(arange, example.aranges, "arange"))
table.define("linspace", functions(linspace, example.linspaces, "linspace"), ulp=4)
table.define("logspace", functions(logspace, example.logspaces, "logspace"), ulp=4)
table.define("geomspace", functions(geomspace, example.geomspaces, "geomspace"))
for _name, _shape_of in _WINDOWS.items():
    table.define(_name, functions(partial(_window, _shape_of), example.windows, _name))
table.define("kaiser", functions(kaiser, example.kaisers, "kaiser"))
table.define("i0", functions(i0, example.bessels, "i0"))
