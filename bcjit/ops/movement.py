"""Functions that move elements and compute nothing: reshape, ravel, broadcast, repeat, tile, roll; no axes, no joining.

Methods called on a NumPy scalar work on a 0-d copy and give a scalar back where the result is 0-d
(NumPy ``scalartypes.c.src``: ``gentype_generic_method``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import numpy as np

from bcjit.dims import Dim, floor_divide, modulo, product
from bcjit.ops.emitter import (
    Broadcast,
    Emitter,
    MemoryOrder,
    Operand,
    Permute,
    Range,
    Reshape,
    Shape,
    Value,
)
from bcjit.ops.numpy_facts import BROADCAST_KEEPS_ARRAYS
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    axis_index,
    axis_tuple,
    broadcast,
    constant,
    copy,
    equal,
    less,
    shape_argument,
    size_of,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import Rows
from bcjit.ops.views import back, indexed, with_new_axes

__all__: list[str] = []

example = Samplers("movement")
of_any = Samplers("values")
table = Rows()

MOST_PARTS: Final = 64  # of one axis, each with a piece of its own


def _layout(order: Operand, value: Value) -> str:
    """Return "C", "F", or "A" and "K" where they mean anything else: arrays of one axis have one order."""
    if not isinstance(order, str) or order not in tuple("CFAK"):
        raise Unsupported(f"order={order!r} is not supported here")
    return order if len(value.shape) > 1 else "C"


# reshape, ravel


def _resolved(e: Emitter, size: Dim, shape: Shape) -> Shape:
    """Return the shape with -1 replaced (NumPy ``shape.c``: ``_fix_unknown_dimension``)."""
    unknown = [i for i, dim in enumerate(shape) if dim == -1]
    if len(unknown) > 1:
        raise WouldRaise("can only specify one unknown dimension")
    known = product(dim for i, dim in enumerate(shape) if i not in unknown)
    if not unknown:
        if not equal(e, known, size):
            raise WouldRaise("cannot reshape to another number of elements")
        return shape
    if equal(e, known, 0) or not equal(e, modulo(size, known), 0):
        raise WouldRaise("cannot reshape to another number of elements")
    at = unknown[0]
    return (*shape[:at], floor_divide(size, known), *shape[at + 1 :])


def _backward(e: Emitter, value: Value) -> Value:
    return e.view(value, Permute(tuple(reversed(range(len(value.shape))))))


def _reshaped(e: Emitter, a: Operand, shape: Operand, order: Operand, copying: Operand) -> Value:
    value = e.array(a)
    target = _resolved(e, size_of(value), shape_argument(e, shape, minus_one=True))
    if type(copying) not in {bool, type(None)}:
        raise Unsupported("copy is not a constant bool")
    by: Literal["reshape", "flags"] = "reshape"
    if copying is False:
        # It raises where a copy is needed.
        e.may_fail()
        by = "flags"
    if order == "K":
        raise WouldRaise("order 'K' is not permitted for reshaping")
    if order == "A" and max(len(value.shape), len(target)) > 1:
        raise Unsupported("the order of the elements depends on the layout")
    if _layout(order, value) == "F" or (order == "F" and len(target) > 1):
        result = e.view(_backward(e, value), Reshape(tuple(reversed(target)), by))
        result = _backward(e, result)
    else:
        result = e.view(value, Reshape(target, by))
    return copy(e, result) if copying else result


def reshape(
    e: Emitter,
    a: Operand,
    /,
    shape: Operand,
    order: Operand = "C",
    *,
    copy: Operand = None,
) -> Value:
    """``np.reshape``."""
    return back(e, a, _reshaped(e, a, shape, order, copy))


def _reshape_method(
    e: Emitter, a: Operand, /, *shape: Operand, order: Operand = "C", copy: Operand = None
) -> Value:
    if not shape:
        raise Unsupported("reshape without a shape")
    return reshape(e, a, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def ravel(e: Emitter, a: Operand, order: Operand = "C") -> Value:
    """``np.ravel``."""
    value = e.array(a)
    layout = _layout(order, value)
    if layout == "F":
        return e.view(_backward(e, value), MemoryOrder("C"))
    return e.view(value, MemoryOrder(layout))


def flatten(e: Emitter, a: Operand, order: Operand = "C") -> Value:
    """``ndarray.flatten``: a copy."""
    return copy(e, ravel(e, a, order))


# Repetition


def broadcast_to(e: Emitter, array: Operand, shape: Operand, subok: Operand = False) -> Value:
    """``np.broadcast_to``: read-only."""
    if type(subok) is not bool:
        raise Unsupported("subok is not a constant bool")
    value = e.array(array)
    target = shape_argument(e, shape)
    if len(target) < len(value.shape):
        raise WouldRaise("input operand has more dimensions than allowed")
    tail = target[len(target) - len(value.shape) :]
    for have, want in zip(value.shape, tail, strict=True):
        if not equal(e, have, want) and not equal(e, have, 1):
            raise WouldRaise("the array does not broadcast to the shape")
    return e.view(value, Broadcast(target))


def broadcast_arrays(e: Emitter, *args: Operand, subok: Operand = False) -> tuple[Value, ...]:
    """``np.broadcast_arrays``: the arrays themselves where they have the shape already."""
    if type(subok) is not bool:
        raise Unsupported("subok is not a constant bool")
    values = tuple(e.array(a) for a in args)
    shape: Shape = ()
    for value in values:
        shape = broadcast(e, shape, value.shape)
    keeps = [_has_shape(e, value, shape) for value in values]
    if not BROADCAST_KEEPS_ARRAYS and not all(keeps):
        keeps = [False] * len(values)
    return tuple(
        value if keep else e.view(value, Broadcast(shape))
        for value, keep in zip(values, keeps, strict=True)
    )


def _has_shape(e: Emitter, value: Value, shape: Shape) -> bool:
    return len(value.shape) == len(shape) and all(
        equal(e, have, want) for have, want in zip(value.shape, shape, strict=True)
    )


def repeat(e: Emitter, a: Operand, repeats: Operand, axis: Operand = None) -> Value:
    """``np.repeat`` by one number, or by a number for each item; unknown numbers make a result of unknown size."""
    value = e.array(a)
    if axis is None or not value.shape:
        axis_tuple(e, axis, len(value.shape))
        value, at = e.view(value, Reshape((size_of(value),))), 0
    else:
        at = axis_index(e, axis, len(value.shape))
    if isinstance(repeats, tuple | list) and len(repeats) != 1:
        return _repeat_each(e, value, [constant(e, item, "repeats") for item in repeats], at)
    count = e.integer(repeats[0] if isinstance(repeats, tuple | list) else repeats)
    if count is None:
        return _repeat_unknown(e, value, repeats, at)
    if less(e, count, 0):
        # An error, but not for an array without elements.
        raise Unsupported("repeats is negative")
    shape = value.shape
    spread = e.view(value, with_new_axes(value, (at + 1,)))
    wide = e.view(spread, Broadcast((*shape[: at + 1], count, *shape[at + 1 :])))
    return copy(e, e.view(wide, Reshape((*shape[:at], shape[at] * count, *shape[at + 1 :]))))


def _repeat_unknown(e: Emitter, value: Value, repeats: Operand, axis: int) -> Value:
    if not e.is_value(repeats) or len(repeats.shape) > 1 or repeats.dtype.kind not in "iu":
        raise Unsupported("repeats are not integers")
    counts = size_of(repeats)
    if not equal(e, counts, 1) and not equal(e, counts, value.shape[axis]):
        raise WouldRaise("operands could not be broadcast together")
    shape = (*value.shape[:axis], e.unknown("repeated"), *value.shape[axis + 1 :])
    options = {"axis": axis}
    return e.lib_call(np.repeat, (value, repeats), options, [(shape, value.dtype)])[0]


def _repeat_each(e: Emitter, value: Value, repeats: Sequence[int], axis: int) -> Value:
    if not equal(e, value.shape[axis], len(repeats)):
        raise WouldRaise("operands could not be broadcast together")
    if any(count < 0 for count in repeats):
        raise Unsupported("repeats is negative")
    if len(repeats) > MOST_PARTS:
        raise Unsupported(f"more than {MOST_PARTS} repeats")
    if not repeats:
        return copy(e, value)
    parts = []
    for i, count in enumerate(repeats):
        item = e.view(value, indexed(value, {axis: Range(i, 1, 1)}))
        wide = (*value.shape[:axis], count, *value.shape[axis + 1 :])
        parts.append(e.view(item, Broadcast(wide)))
    return e.concat(parts, axis, value.dtype)


def tile(e: Emitter, A: Operand, reps: Operand) -> Value:  # noqa: N803 - NumPy's name
    """``np.tile``."""
    value = e.array(A)
    counts = shape_argument(e, reps)
    extra = len(counts) - len(value.shape)
    counts = (*(1,) * max(-extra, 0), *counts)
    shape = (*(1,) * max(extra, 0), *value.shape)
    spread: list[Dim] = []
    wide: list[Dim] = []
    for count, dim in zip(counts, shape, strict=True):
        spread += [1, dim]
        wide += [count, dim]
    result = tuple(count * dim for count, dim in zip(counts, shape, strict=True))
    repeated = e.view(e.view(value, Reshape(tuple(spread))), Broadcast(tuple(wide)))
    return copy(e, e.view(repeated, Reshape(result)))


def resize(e: Emitter, a: Operand, new_shape: Operand) -> Value:
    """``np.resize``: the elements over and over. Source: NumPy ``_core/fromnumeric.py``."""
    shape = shape_argument(e, new_shape)
    value = e.array(a)
    size, new_size = size_of(value), product(shape)
    if equal(e, size, 0) or equal(e, new_size, 0):
        return e.fill(shape, 0, value.dtype)
    flat = e.view(value, Reshape((1, size)))
    times = floor_divide(new_size + size - 1, size)
    wide = e.view(flat, Broadcast((times, size)))
    again = copy(e, e.view(wide, Reshape((times * size,))))
    return e.view(e.view(again, indexed(again, {0: Range(0, 1, new_size)})), Reshape(shape))


def roll(e: Emitter, a: Operand, shift: Operand, axis: Operand = None) -> Value:
    """``np.roll``: a copy. Source: NumPy ``_core/numeric.py``."""
    value = e.array(a)
    if axis is None:
        flat = e.view(value, Reshape((size_of(value),)))
        return e.view(roll(e, flat, shift, 0), Reshape(value.shape))
    if not value.shape:
        raise WouldRaise("an axis of a 0-d array")
    shifts = list(shift) if isinstance(shift, tuple | list) else [shift]
    axes = list(axis) if isinstance(axis, tuple | list) else [axis]
    if len(shifts) != len(axes) and 1 not in {len(shifts), len(axes)}:
        raise WouldRaise("shift and axis do not broadcast")
    count = 0 if not shifts or not axes else max(len(shifts), len(axes))
    totals: dict[int, Dim] = {}
    for one, along in zip((shifts * count)[:count], (axes * count)[:count], strict=True):
        by = e.integer(one)
        if by is None:
            raise Unsupported("shift is not a known integer")
        at = axis_index(e, along, len(value.shape))
        totals[at] = totals.get(at, 0) + by
    if not totals:
        return copy(e, value)
    for at, total in totals.items():
        value = _rolled(e, value, total, at)
    return value


def _rolled(e: Emitter, value: Value, by: Dim, axis: int) -> Value:
    length = value.shape[axis]
    if equal(e, length, 0):
        return copy(e, value)
    head = modulo(by, length)
    tail = length - head
    pieces = (Range(tail, 1, head), Range(0, 1, tail))
    parts = [e.view(value, indexed(value, {axis: piece})) for piece in pieces]
    return e.concat(parts, axis, value.dtype)


# The table

table.define(
    "reshape",
    functions(reshape, example.reshapes, "reshape")
    + methods(_reshape_method, example.reshape_methods, "reshape"),
)
table.define(
    "ravel",
    functions(ravel, example.orders, "ravel") + methods(ravel, example.orders, "ravel"),
)
table.define("flatten", methods(flatten, example.orders, "flatten"))
table.define("broadcast_to", functions(broadcast_to, example.broadcasts, "broadcast_to"))
table.define("broadcast_arrays", functions(broadcast_arrays, example.together, "broadcast_arrays"))
table.define(
    "repeat",
    functions(repeat, example.repeats, "repeat") + methods(repeat, example.repeats, "repeat"),
)
table.define("tile", functions(tile, example.tiles, "tile"))
table.define("resize", functions(resize, example.resizes, "resize"))
table.define("roll", functions(roll, example.rolls, "roll"))
