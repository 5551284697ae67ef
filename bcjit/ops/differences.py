"""Differences and sums along an axis: diff, ediff1d, gradient, trapezoid, cumulative_sum.

Mirrors NumPy's ``lib/_function_base_impl.py`` with its order of operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np

from bcjit.dims import Dim, Relation
from bcjit.ops.elementwise import apply
from bcjit.ops.emitter import Broadcast, DType, Emitter, Operand, Range, Reshape, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    FLOAT64,
    agree,
    axis_index,
    cast,
    constant,
    default_dtype,
    expect,
    flag,
    loop_dtypes,
    normal_axes,
    size_of,
)
from bcjit.ops.reductions import ABSENT, fold
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.scans import scan
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows
from bcjit.ops.views import indexed

__all__ = ["diff"]

example = Samplers("differences")
table = Rows()


def _part(e: Emitter, value: Value, axis: int, start: Dim, length: Dim) -> Value:
    return e.view(value, indexed(value, {axis: Range(start, 1, length)}))


def _neighbours(e: Emitter, value: Value, axis: int) -> tuple[Value, Value]:
    """Return ``value[1:]`` and ``value[:-1]`` along an axis."""
    length = value.shape[axis]
    if not expect(e, Relation("<=", 1, length)):
        return _part(e, value, axis, 0, 0), _part(e, value, axis, 0, 0)
    return _part(e, value, axis, 1, length - 1), _part(e, value, axis, 0, length - 1)


# diff, ediff1d


def _edge(e: Emitter, operand: Operand, value: Value, axis: int) -> Value:
    """Return what ``diff`` puts before or behind the array: a number becomes a slice of it."""
    edge = e.array(operand)
    if edge.shape:
        if len(edge.shape) != len(value.shape):
            raise WouldRaise("all the input arrays must have same number of dimensions")
        for i, (have, want) in enumerate(zip(edge.shape, value.shape, strict=True)):
            if i != axis and not agree(e, have, want):
                raise WouldRaise("all the input array dimensions except one must match exactly")
        return edge
    return e.view(edge, Broadcast((*value.shape[:axis], 1, *value.shape[axis + 1 :])))


def diff(
    e: Emitter,
    a: Operand,
    n: Operand = 1,
    axis: Operand = -1,
    prepend: Operand = ABSENT,
    append: Operand = ABSENT,
) -> Value:
    """``np.diff``."""
    times = constant(e, n, "n")
    if times == 0:
        if not e.is_value(a):
            raise Unsupported("n=0 gives the argument, which is not an array")
        return a
    if times < 0:
        raise WouldRaise("order must be non-negative")
    value = e.array(a)
    if not value.shape:
        raise WouldRaise("diff requires input that is at least one dimensional")
    at = axis_index(e, axis, len(value.shape))
    before = [] if prepend is ABSENT else [_edge(e, prepend, value, at)]
    behind = [] if append is ABSENT else [_edge(e, append, value, at)]
    if before or behind:
        parts = [*before, value, *behind]
        value = e.concat(parts, at, np.result_type(*(part.dtype for part in parts)))
    function = row("not_equal" if value.dtype.kind == "b" else "subtract")
    for _ in range(times):
        (value,) = apply(e, function, _neighbours(e, value, at))
    return value


def ediff1d(e: Emitter, ary: Operand, to_end: Operand = None, to_begin: Operand = None) -> Value:
    """``np.ediff1d``."""
    value = _flat(e, ary)
    (steps,) = apply(e, row("subtract"), _neighbours(e, value, 0))
    ends = [None if end is None else _flat(e, end) for end in (to_begin, to_end)]
    for end in ends:
        if end is not None and not np.can_cast(end.dtype, value.dtype, "same_kind"):
            raise WouldRaise("the dtypes of to_begin and to_end must be compatible with the input")
    begin, end = ends
    parts = [part for part in (begin, steps, end) if part is not None]
    return steps if len(parts) == 1 else e.concat(parts, 0, value.dtype)


def _flat(e: Emitter, operand: Operand) -> Value:
    value = e.array(operand)
    return e.view(value, Reshape((size_of(value),)))


# gradient

# A stand-in of an unknown Python number, to which only its type matters (NEP 50).
_WEAK: Final[dict[type, complex]] = {bool: 1.0, int: 1.0, float: 1.0, complex: 1j}


class _Spacing:
    """A distance between samples: a Python number, which stays weak, or a 0-d value."""

    def __init__(self, e: Emitter, distance: Operand) -> None:
        self.e = e
        self.distance = distance
        self.weak = e.weak_type(distance)

    def computed(self, ufunc: str, number: float | None) -> Operand:
        """Return ``number * distance`` or ``number / distance``, weak if the distance is; the distance itself for None."""
        if number is None:
            return self.distance
        if self.weak is None:
            return apply(self.e, row(ufunc), (number, self.distance))[0]
        if isinstance(self.distance, bool | int | float | complex):
            if ufunc == "divide" and self.distance == 0:
                raise WouldRaise("division by zero")
            return number * self.distance if ufunc == "multiply" else number / self.distance
        if ufunc == "divide":
            self.e.may_fail()
        dtype = np.dtype(np.complex128) if self.weak is complex else FLOAT64
        return self.e.map(row(ufunc), (number, self.distance), (dtype,) * 3)[0]

    def apply(self, ufunc: str, value: Value, number: Operand, *, first: bool) -> Value:
        """Apply a ufunc to a value and such a number, at the second place or the first."""
        operands = (number, value) if first else (value, number)
        if self.weak is None or not self.e.is_value(number):
            return apply(self.e, row(ufunc), operands)[0]
        # Computed from an unknown Python number, and weak as that one is.
        stand_in = _WEAK[self.weak]
        pattern = (stand_in, value) if first else (value, stand_in)
        dtypes = loop_dtypes(self.e, row(ufunc), pattern)
        return self.e.map(row(ufunc), operands, dtypes)[0]


def _combined(e: Emitter, spacing: _Spacing, terms: Sequence[tuple[Operand, Value]]) -> Value:
    """Return ``a * x + b * y + c * z``."""
    products = [spacing.apply("multiply", value, factor, first=True) for factor, value in terms]
    total = products[0]
    for other in products[1:]:
        (total,) = apply(e, row("add"), (total, other))
    return total


def _gradient(
    e: Emitter, value: Value, axis: int, distance: Operand, order: int, dtype: DType
) -> Value:
    spacing, length = _Spacing(e, distance), value.shape[axis]
    if not expect(e, Relation("<=", order + 1, length)):
        raise WouldRaise("Shape of array too small to calculate a numerical gradient")
    inner = length - 2

    def at(start: Dim) -> Value:
        return _part(e, value, axis, start, 1)

    def slope(later: Value, earlier: Value, factor: float | None) -> Value:
        (rise,) = apply(e, row("subtract"), (later, earlier))
        return spacing.apply("divide", rise, spacing.computed("multiply", factor), first=False)

    middle = slope(_part(e, value, axis, 2, inner), _part(e, value, axis, 0, inner), 2.0)
    if order == 1:
        first, last = slope(at(1), at(0), None), slope(at(length - 1), at(length - 2), None)
    else:
        ends = (
            ((-1.5, 0), (2.0, 1), (-0.5, 2)),
            ((0.5, length - 3), (-2.0, length - 2), (1.5, length - 1)),
        )
        first, last = (
            _combined(e, spacing, [(spacing.computed("divide", k), at(i)) for k, i in end])
            for end in ends
        )
    parts = [cast(e, part, dtype) for part in (first, middle, last)]
    return e.concat(parts, axis, dtype)


def _distances(
    e: Emitter, varargs: tuple[Operand, ...], axes: tuple[int, ...]
) -> Sequence[Operand]:
    if not varargs:
        return [1.0] * len(axes)
    items = [e.array(item) if isinstance(item, tuple | list) else item for item in varargs]
    for item in items:
        default_dtype(e, item)  # an array or a number
    if len(items) == 1 and not (e.is_value(items[0]) and items[0].shape):
        return items * len(axes)
    if len(items) != len(axes):
        raise WouldRaise("invalid number of arguments")
    return items


def gradient(
    e: Emitter, f: Operand, *varargs: Operand, axis: Operand = None, edge_order: Operand = 1
) -> Value | tuple[Value, ...]:
    """``np.gradient``; where there are coordinates, their values say how it is computed, so it is opaque."""
    value = e.array(f)
    axes = normal_axes(e, axis, len(value.shape))
    order = constant(e, edge_order, "edge_order")
    if order not in {1, 2}:
        raise (
            WouldRaise("'edge_order' greater than 2 not supported")
            if order > 2
            else (Unsupported("edge_order is not 1 or 2"))
        )
    if not axes:
        raise Unsupported("the gradient along no axis is an empty tuple")
    distances = _distances(e, varargs, axes)
    dtype = value.dtype if value.dtype.kind in "fc" else FLOAT64
    if any(e.is_value(item) and item.shape for item in distances):
        results = _opaque_gradient(e, value, axes, distances, order, dtype)
    else:
        source = cast(e, value, FLOAT64) if value.dtype.kind in "iu" else value
        results = tuple(
            _gradient(e, source, at, distance, order, dtype)
            for at, distance in zip(axes, distances, strict=True)
        )
    return results[0] if len(axes) == 1 else results


def _opaque_gradient(
    e: Emitter,
    value: Value,
    axes: tuple[int, ...],
    distances: Sequence[Operand],
    order: int,
    dtype: DType,
) -> tuple[Value, ...]:
    for at, distance in zip(axes, distances, strict=True):
        if e.is_value(distance) and distance.shape:
            if len(distance.shape) != 1 or not agree(e, distance.shape[0], value.shape[at]):
                raise WouldRaise("distances must be scalars or match the length of the dimension")
            if distance.dtype.kind == "c" and dtype.kind != "c":
                raise Unsupported("casting complex to real warns")
        if not expect(e, Relation("<=", order + 1, value.shape[at])):
            raise WouldRaise("Shape of array too small to calculate a numerical gradient")
    options = {"axis": axes, "edge_order": order}
    return e.lib_call(np.gradient, (value, *distances), options, [(value.shape, dtype)] * len(axes))


# trapezoid, cumulative_sum


def trapezoid(
    e: Emitter, y: Operand, x: Operand = None, dx: Operand = 1.0, axis: Operand = -1
) -> Value:
    """``np.trapezoid``."""
    value = e.array(y)
    at = axis_index(e, axis, len(value.shape))
    width: Operand = dx
    if x is not None:
        points = e.array(x)
        if len(points.shape) == 1:
            steps = diff(e, points)
            shape = [1] * len(value.shape)
            width = e.view(steps, Reshape((*shape[:at], steps.shape[0], *shape[at + 1 :])))
        else:
            width = diff(e, points, axis=axis)
    elif isinstance(width, tuple | list):
        raise Unsupported("dx is a sequence")
    (pairs,) = apply(e, row("add"), _neighbours(e, value, at))
    (areas,) = apply(e, row("multiply"), (width, pairs))
    (halves,) = apply(e, row("divide"), (areas, 2.0))
    along = axis_index(e, axis, len(halves.shape))
    return e.scalar(fold(e, row("add"), halves, (along,)))


def _cumulative(
    ufunc: str,
    e: Emitter,
    x: Operand,
    /,
    *,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    include_initial: Operand = False,
) -> Value:
    """``np.cumulative_sum`` and ``np.cumulative_prod``. Source: NumPy ``_core/fromnumeric.py``: ``_cumulative_func``."""
    value = e.array(x)
    if not value.shape:
        value = e.view(value, Reshape((1,)))
    if axis is None:
        if len(value.shape) > 1:
            raise WouldRaise("the axis argument is required for arrays of more than one dimension")
        axis = 0
    initial = flag(include_initial, "include_initial")
    if initial and out is not None:
        raise Unsupported("out with include_initial")
    result = scan(row(ufunc), e, value, axis, dtype, out)
    if not initial:
        return result
    at = axis_index(e, axis, len(value.shape))
    shape = (*value.shape[:at], 1, *value.shape[at + 1 :])
    start = e.fill(shape, 0 if ufunc == "add" else 1, result.dtype)
    return e.concat([start, result], at, result.dtype)


# The table

table.define("diff", functions(diff, example.diffs, "diff"))
table.define("ediff1d", functions(ediff1d, example.flat_diffs, "ediff1d"))
table.define("gradient", functions(gradient, example.gradients, "gradient"), ulp=1)
table.define("trapezoid", functions(trapezoid, example.trapezoids, "trapezoid"), ulp=4)
for _name, _ufunc in (("sum", "add"), ("prod", "multiply")):
    _spellings = functions(partial(_cumulative, _ufunc), example.cumulative, f"cumulative_{_name}")
    if _spellings:  # newer than the oldest NumPy
        table.define(f"cumulative_{_name}", _spellings, ulp=4)
