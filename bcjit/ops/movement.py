"""Functions that move elements and compute nothing: reshape, transpose, concatenate, repeat, astype; no indexing.

Methods called on a NumPy scalar work on a 0-d copy and give a scalar back where the result is 0-d
(NumPy ``scalartypes.c.src``: ``gentype_generic_method``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from bcjit.dims import Dim, floor_divide, modulo, product
from bcjit.ops.emitter import (
    Broadcast,
    Emitter,
    Operand,
    Part,
    Permute,
    Pick,
    Range,
    Reshape,
    Shape,
    Value,
)
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    as_dtype,
    axis_index,
    axis_tuple,
    copy,
    equal,
    less,
    shape_argument,
    size_of,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import attribute, functions, methods
from bcjit.ops.table import define
from bcjit.ops.views import back, indexed, with_new_axes

__all__: list[str] = []

example = Samplers("movement")
of_any = Samplers("values")


def _order(order: Operand, allowed: str = "C") -> None:
    if not isinstance(order, str) or order not in allowed:
        raise Unsupported(f"order={order!r} is not supported here")


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


def _reshaped(e: Emitter, a: Operand, shape: Operand, order: Operand) -> Value:
    _order(order)
    value = e.array(a)
    dims = shape_argument(e, shape, minus_one=True)
    return e.view(value, Reshape(_resolved(e, size_of(value), dims)))


def reshape(e: Emitter, a: Operand, /, shape: Operand, order: Operand = "C") -> Value:
    """``np.reshape``."""
    return back(e, a, _reshaped(e, a, shape, order))


def _reshape_method(e: Emitter, a: Operand, /, *shape: Operand, order: Operand = "C") -> Value:
    if not shape:
        raise Unsupported("reshape without a shape")
    return reshape(e, a, shape[0] if len(shape) == 1 else shape, order)


def ravel(e: Emitter, a: Operand, order: Operand = "C") -> Value:
    """``np.ravel``."""
    return _reshaped(e, a, -1, order)


def flatten(e: Emitter, a: Operand, order: Operand = "C") -> Value:
    """``ndarray.flatten``: a copy."""
    return copy(e, ravel(e, a, order))


# Axes


def _permuted(e: Emitter, a: Operand, axes: tuple[int, ...]) -> Value:
    return back(e, a, e.view(e.array(a), Permute(axes)))


def transpose(e: Emitter, a: Operand, axes: Operand = None) -> Value:
    """``np.transpose``."""
    ndim = len(e.array(a).shape)
    if axes is None:
        return _permuted(e, a, tuple(reversed(range(ndim))))
    if not isinstance(axes, tuple | list) or len(axes) != ndim:
        raise (
            WouldRaise("axes don't match array")
            if isinstance(axes, tuple | list)
            else (Unsupported("axes is not a sequence"))
        )
    order = tuple(axis_index(e, axis, ndim) for axis in axes)
    if len(set(order)) != ndim:
        raise WouldRaise("repeated axis in transpose")
    return _permuted(e, a, order)


def _transpose_method(e: Emitter, a: Operand, /, *axes: Operand) -> Value:
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], tuple | list)):
        return transpose(e, a, axes[0])
    return transpose(e, a, axes or None)


def swapaxes(e: Emitter, a: Operand, axis1: Operand, axis2: Operand) -> Value:
    """``np.swapaxes``."""
    ndim = len(e.array(a).shape)
    first, second = axis_index(e, axis1, ndim), axis_index(e, axis2, ndim)
    order = list(range(ndim))
    order[first], order[second] = second, first
    return _permuted(e, a, tuple(order))


def _axis_list(e: Emitter, axes: Operand, ndim: int) -> tuple[int, ...]:
    items: Sequence[Operand] = axes if isinstance(axes, tuple | list) else (axes,)
    found = tuple(axis_index(e, axis, ndim) for axis in items)
    if len(set(found)) != len(found):
        raise WouldRaise("repeated axis")
    return found


def moveaxis(e: Emitter, a: Operand, source: Operand, destination: Operand) -> Value:
    """``np.moveaxis``. Source: NumPy ``_core/numeric.py``."""
    ndim = len(e.array(a).shape)
    sources = _axis_list(e, source, ndim)
    destinations = _axis_list(e, destination, ndim)
    if len(sources) != len(destinations):
        raise WouldRaise("source and destination must have the same number of elements")
    order = [axis for axis in range(ndim) if axis not in sources]
    for to, origin in sorted(zip(destinations, sources, strict=True)):
        order.insert(to, origin)
    return _permuted(e, a, tuple(order))


def squeeze(e: Emitter, a: Operand, axis: Operand = None) -> Value:
    """``np.squeeze``: the array itself where there is no axis of size 1."""
    value = e.array(a)
    ones = [equal(e, dim, 1) for dim in value.shape] if axis is None else []
    axes = tuple(i for i, one in enumerate(ones) if one)
    if axis is not None:
        axes = axis_tuple(e, axis, len(value.shape))
        if not all(equal(e, value.shape[i], 1) for i in axes):
            raise WouldRaise("cannot select an axis to squeeze out which has size not equal to one")
    if not axes:
        return back(e, a, value)
    return back(e, a, e.view(value, indexed(value, {i: Pick(0) for i in axes})))


def expand_dims(e: Emitter, a: Operand, axis: Operand) -> Value:
    """``np.expand_dims``."""
    value = e.array(a)
    items: Sequence[Operand] = axis if isinstance(axis, tuple | list) else (axis,)
    ndim = len(value.shape) + len(items)
    return e.view(value, with_new_axes(value, _axis_list(e, tuple(items), ndim)))


def broadcast_to(e: Emitter, array: Operand, shape: Operand) -> Value:
    """``np.broadcast_to``: read-only."""
    value = e.array(array)
    target = shape_argument(e, shape)
    if len(target) < len(value.shape):
        raise WouldRaise("input operand has more dimensions than allowed")
    tail = target[len(target) - len(value.shape) :]
    for have, want in zip(value.shape, tail, strict=True):
        if not equal(e, have, want) and not equal(e, have, 1):
            raise WouldRaise("the array does not broadcast to the shape")
    return e.view(value, Broadcast(target))


def flip(e: Emitter, m: Operand, axis: Operand = None) -> Value:
    """``np.flip``: a view with negative strides."""
    value = e.array(m)
    ndim = len(value.shape)
    if axis is None or isinstance(axis, tuple):
        axes = axis_tuple(e, axis, ndim)
    else:
        axes = (axis_index(e, axis, ndim),)
    backward = {i: Range(value.shape[i] - 1, -1, value.shape[i]) for i in axes}
    result = e.view(value, indexed(value, dict(backward)))
    return e.scalar(result) if axis is None and not ndim else result


# Repetition


def repeat(e: Emitter, a: Operand, repeats: Operand, axis: Operand = None) -> Value:
    """``np.repeat`` by one number."""
    value = e.array(a)
    count = e.integer(repeats)
    if count is None:
        raise Unsupported("repeats is not one integer")
    if less(e, count, 0):
        # An error, but not for an array without elements.
        raise Unsupported("repeats is negative")
    if axis is None or not value.shape:
        axis_tuple(e, axis, len(value.shape))
        value, at = e.view(value, Reshape((size_of(value),))), 0
    else:
        at = axis_index(e, axis, len(value.shape))
    shape = value.shape
    spread = e.view(value, with_new_axes(value, (at + 1,)))
    wide = e.view(spread, Broadcast((*shape[: at + 1], count, *shape[at + 1 :])))
    return copy(e, e.view(wide, Reshape((*shape[:at], shape[at] * count, *shape[at + 1 :]))))


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


def roll(e: Emitter, a: Operand, shift: Operand, axis: Operand = None) -> Value:
    """``np.roll``: a copy. Source: NumPy ``_core/numeric.py``."""
    value = e.array(a)
    if axis is None:
        flat = e.view(value, Reshape((size_of(value),)))
        return e.view(_rolled(e, flat, shift, 0), Reshape(value.shape))
    if not value.shape:
        raise WouldRaise("an axis of a 0-d array")
    pairs = [(shift, axis)]
    if isinstance(shift, tuple) and isinstance(axis, tuple) and len(shift) == len(axis):
        pairs = list(zip(shift, axis, strict=True))
    elif isinstance(shift, tuple | list) or isinstance(axis, tuple | list):
        raise Unsupported("shift and axis are not broadcast here")
    for one, along in pairs:
        value = _rolled(e, value, one, axis_index(e, along, len(value.shape)))
    return value if pairs else copy(e, value)


def _rolled(e: Emitter, value: Value, shift: Operand, axis: int) -> Value:
    by, length = e.integer(shift), value.shape[axis]
    if by is None:
        raise Unsupported("shift is not a known integer")
    if equal(e, length, 0):
        return copy(e, value)
    head = modulo(by, length)
    tail = length - head
    pieces = (Range(tail, 1, head), Range(0, 1, tail))
    parts = [e.view(value, indexed(value, {axis: piece})) for piece in pieces]
    return e.concat(parts, axis, value.dtype)


# Copies and parts


def astype(
    e: Emitter,
    x: Operand,
    dtype: Operand,
    order: Operand = "K",
    casting: Operand = "unsafe",
    subok: Operand = True,
    copy: Operand = True,
) -> Value:
    """``ndarray.astype``."""
    _order(order, "KA" if copy else "K")
    target, value = as_dtype(dtype), e.array(x)
    if target is None:
        raise Unsupported("dtype=None")
    if type(subok) is not bool or type(copy) is not bool or not isinstance(casting, str):
        raise Unsupported("subok, copy or casting is not a constant")
    if not np.can_cast(value.dtype, target, casting):  # type: ignore[arg-type]
        raise WouldRaise(f"cannot cast from {value.dtype} to {target} with casting rule {casting}")
    if not copy and value.dtype == target:
        return back(e, x, value)
    return back(e, x, _copied(e, value, target))


_copied = copy


def _copy_function(e: Emitter, a: Operand, order: Operand = "K") -> Value:
    _order(order, "KACF")
    return copy(e, e.array(a))


def _copy_method(e: Emitter, a: Operand, order: Operand = "C") -> Value:
    _order(order, "KACF")
    return back(e, a, copy(e, e.array(a)))


def _part(name: str, e: Emitter, val: Operand) -> Value:
    """``x.real`` is a real array itself; ``x.imag`` of one is new read-only zeros."""
    value = e.array(val)
    if value.dtype.kind == "c":
        return back(e, val, e.view(value, Part(name)))
    if name == "real":
        return back(e, val, value)
    return back(e, val, e.fill(value.shape, 0, value.dtype))


def _flip_axis(axis: int, e: Emitter, m: Operand) -> Value:
    """``np.flipud`` and ``np.fliplr``."""
    value = e.array(m)
    if len(value.shape) <= axis:
        raise WouldRaise(f"the input must have more than {axis} dimensions")
    return flip(e, value, axis)


def _reversed_axes(e: Emitter, a: Operand) -> Value:
    return transpose(e, a)


# The table

define(
    "reshape",
    functions(reshape, example.reshapes, "reshape")
    + methods(_reshape_method, example.reshape_methods, "reshape"),
)
define(
    "ravel",
    functions(ravel, of_any.each_array, "ravel") + methods(ravel, of_any.each_array, "ravel"),
)
define("flatten", methods(flatten, of_any.each_array, "flatten"))
define(
    "transpose",
    functions(transpose, example.transposes, "transpose", "permute_dims")
    + methods(_transpose_method, example.transpose_methods, "transpose")
    + attribute(_reversed_axes, of_any.each_array, "T"),
)
define(
    "swapaxes",
    functions(swapaxes, example.swaps, "swapaxes")
    + methods(swapaxes, example.swaps, "swapaxes", of_scalars=False),
)
define("moveaxis", functions(moveaxis, example.moves, "moveaxis"))
define(
    "squeeze",
    functions(squeeze, example.squeezes, "squeeze") + methods(squeeze, example.squeezes, "squeeze"),
)
define("expand_dims", functions(expand_dims, example.expansions, "expand_dims"))
define("broadcast_to", functions(broadcast_to, example.broadcasts, "broadcast_to"))
define("flip", functions(flip, example.flips, "flip"))
for _axis, _name in ((0, "flipud"), (1, "fliplr")):
    define(_name, functions(partial(_flip_axis, _axis), of_any.each_array, _name))
define(
    "repeat",
    functions(repeat, example.repeats, "repeat") + methods(repeat, example.repeats, "repeat"),
)
define("tile", functions(tile, example.tiles, "tile"))
define("roll", functions(roll, example.rolls, "roll"))
define("astype", methods(astype, example.casts, "astype"))
define(
    "copy",
    functions(_copy_function, of_any.each_array, "copy")
    + methods(_copy_method, of_any.each_array, "copy"),
)
for _name in ("real", "imag"):
    _expand = partial(_part, _name)
    define(
        _name,
        functions(_expand, of_any.each_array, _name) + attribute(_expand, of_any.each_array, _name),
    )
