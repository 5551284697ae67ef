"""Functions that order, add or drop axes: transpose, moveaxis, squeeze, flip, rot90 and their like; views all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bcjit.ops.emitter import Emitter, Operand, Permute, Pick, Range, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import axis_index, axis_tuple, constant, equal
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import attribute, functions, methods
from bcjit.ops.table import Rows
from bcjit.ops.views import back, indexed, with_new_axes

__all__: list[str] = []

example = Samplers("movement")
of_any = Samplers("values")
table = Rows()


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


def _flip_axis(axis: int, e: Emitter, m: Operand) -> Value:
    """``np.flipud`` and ``np.fliplr``."""
    value = e.array(m)
    if len(value.shape) <= axis:
        raise WouldRaise(f"the input must have more than {axis} dimensions")
    return flip(e, value, axis)


def _reversed_axes(e: Emitter, a: Operand) -> Value:
    return transpose(e, a)


def matrix_transpose(e: Emitter, x: Operand, /) -> Value:
    """``np.matrix_transpose`` and ``x.mT``: the last two axes change places."""
    value = e.array(x)
    ndim = len(value.shape)
    if ndim < 2:
        raise WouldRaise("matrix transpose with ndim < 2 is undefined")
    return swapaxes(e, value, ndim - 1, ndim - 2)


def rollaxis(e: Emitter, a: Operand, axis: Operand, start: Operand = 0) -> Value:
    """``np.rollaxis``. Source: NumPy ``_core/numeric.py``."""
    if not e.is_value(a):
        raise Unsupported("the argument is not an array")
    value = e.array(a)
    ndim = len(value.shape)
    at, to = axis_index(e, axis, ndim), constant(e, start, "start")
    to = to + ndim if to < 0 else to
    if not 0 <= to <= ndim:
        raise WouldRaise(f"start: an axis of an array of dimension {ndim} is expected")
    to -= at < to
    order = [i for i in range(ndim) if i != at]
    order.insert(to, at)
    return e.view(value, Permute(tuple(order)))


def rot90(e: Emitter, m: Operand, k: Operand = 1, axes: Operand = (0, 1)) -> Value:
    """``np.rot90``. Source: NumPy ``lib/_function_base_impl.py``."""
    value = e.array(m)
    ndim = len(value.shape)
    if not isinstance(axes, tuple | list):
        raise Unsupported("axes is not a sequence")
    if len(axes) != 2:
        raise WouldRaise("len(axes) must be 2.")
    first, second = (axis_index(e, axis, ndim) for axis in axes)
    if first == second:
        raise WouldRaise("Axes must be different.")
    turns = constant(e, k, "k") % 4
    if turns == 0:
        return e.view(value, indexed(value, {}))
    if turns == 2:
        return flip(e, flip(e, value, first), second)
    if turns == 1:
        return swapaxes(e, flip(e, value, second), first, second)
    return flip(e, swapaxes(e, value, first, second), second)


# The table

table.define(
    "transpose",
    functions(transpose, example.transposes, "transpose", "permute_dims")
    + methods(_transpose_method, example.transpose_methods, "transpose")
    + attribute(_reversed_axes, of_any.each_array, "T"),
)
table.define(
    "matrix_transpose",
    functions(matrix_transpose, of_any.each_array, "matrix_transpose")
    + attribute(matrix_transpose, of_any.each_array, "mT"),
)
table.define(
    "swapaxes",
    functions(swapaxes, example.swaps, "swapaxes")
    + methods(swapaxes, example.swaps, "swapaxes", of_scalars=False),
)
table.define("moveaxis", functions(moveaxis, example.moves, "moveaxis"))
table.define("rollaxis", functions(rollaxis, example.rolled_axes, "rollaxis"))
table.define(
    "squeeze",
    functions(squeeze, example.squeezes, "squeeze") + methods(squeeze, example.squeezes, "squeeze"),
)
table.define("expand_dims", functions(expand_dims, example.expansions, "expand_dims"))
table.define("flip", functions(flip, example.flips, "flip"))
for _axis, _name in ((0, "flipud"), (1, "fliplr")):
    table.define(_name, functions(partial(_flip_axis, _axis), of_any.each_array, _name))
table.define("rot90", functions(rot90, example.turns, "rot90"))
