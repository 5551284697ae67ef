"""Functions that join arrays along an axis: concatenate, stack, hstack, block, append and their like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from bcjit.ops.elementwise import single_out, store
from bcjit.ops.emitter import DType, Emitter, Operand, Permute, Reshape, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import as_dtype, axis_index, copy, equal, size_of
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows
from bcjit.ops.views import with_new_axes

__all__: list[str] = []

example = Samplers("joining")
of_any = Samplers("values")
table = Rows()


# At least so many axes


def _missing(ndim: int, have: int) -> tuple[int, ...]:
    """Return where the new axes of an array go that gets at least so many (NumPy ``_core/shape_base.py``)."""
    if have >= ndim:
        return ()
    if have == 0:
        return tuple(range(ndim))
    # ``x[newaxis, :]`` of one axis, ``x[newaxis, :, newaxis]``, ``x[:, :, newaxis]``.
    return {(2, 1): (0,), (3, 1): (0, 2), (3, 2): (2,)}[ndim, have]


def _widened(e: Emitter, value: Value, axes: tuple[int, ...]) -> Value:
    return e.view(value, with_new_axes(value, axes)) if axes else value


def _at_least(ndim: int, e: Emitter, *arys: Operand) -> Value | tuple[Value, ...]:
    """``np.atleast_1d`` and its like: one array, or a tuple of as many as are given."""
    arrays = [e.array(a) for a in arys]
    values = tuple(_widened(e, a, _missing(ndim, len(a.shape))) for a in arrays)
    return values[0] if len(values) == 1 else values


# Joining


def _parts(
    e: Emitter,
    arrays: Operand,
    new_axes: Callable[[int], tuple[int, ...]],
    axis: Callable[[int], int],
) -> tuple[list[Value], int]:
    """Return the arrays to join with their new axes, and the axis to join along.

    One array stands for its items: it becomes one part, in which they are joined already.

    Parameters
    ----------
    e, arrays
        The emitter, and the argument of the call.
    new_axes
        From the number of axes of a part to where the new ones go.
    axis
        From that number afterwards to the axis.
    """
    if e.is_value(arrays):
        if not arrays.shape:
            raise WouldRaise("the arrays to join are not a sequence")
        value, axes = e.array(arrays), new_axes(len(arrays.shape) - 1)
        value = _widened(e, value, tuple(i + 1 for i in axes))
        at = axis(len(value.shape) - 1)
        if equal(e, value.shape[0], 0):
            raise WouldRaise("need at least one array to join")
        return [_merged(e, value, at)], at
    if not isinstance(arrays, tuple | list):
        raise Unsupported("the arrays to join are not a tuple or list")
    if not arrays:
        raise WouldRaise("need at least one array to join")
    values = [e.array(item) for item in arrays]
    parts = [_widened(e, value, new_axes(len(value.shape))) for value in values]
    return parts, axis(len(parts[0].shape))


def _merged(e: Emitter, value: Value, axis: int) -> Value:
    """Return the items along the first axis side by side along an axis of theirs."""
    order = [*range(1, len(value.shape))]
    order.insert(axis, 0)
    moved = e.view(value, Permute(tuple(order)))
    shape = moved.shape
    together = shape[axis] * shape[axis + 1]
    return e.view(moved, Reshape((*shape[:axis], together, *shape[axis + 2 :])))


def _as_they_are(ndim: int) -> tuple[int, ...]:
    del ndim
    return ()


def _joined(
    e: Emitter,
    parts: Sequence[Value],
    axis: int,
    *,
    out: Operand = None,
    dtype: Operand = None,
    casting: Operand = "same_kind",
    weak: Sequence[type | None] = (),
) -> Value:
    """Return the parts in one array, or in ``out``. Source: NumPy ``multiarraymodule.c``: ``PyArray_ConcatenateArrays``."""
    shape = parts[0].shape
    for part in parts[1:]:
        if len(part.shape) != len(shape):
            raise WouldRaise("all the input arrays must have same number of dimensions")
        for i, (have, want) in enumerate(zip(part.shape, shape, strict=True)):
            if i != axis and not equal(e, have, want):
                raise WouldRaise("all the input array dimensions except one must match exactly")
    given, target = as_dtype(dtype), single_out(e, out)
    if target is not None and isinstance(out, tuple):
        raise WouldRaise("'out' must be an array")
    if target is not None and dtype is not None:
        raise WouldRaise("concatenate() only takes `out` or `dtype` as an argument, but both")
    if target is not None:
        given = target.dtype
    if not isinstance(casting, str):
        raise Unsupported("casting is not a constant")
    if given is None:
        given = _promoted(parts, weak)
    elif not all(np.can_cast(part.dtype, given, casting) for part in parts):  # type: ignore[arg-type]
        # The oldest NumPy only warns where axis is None.
        refusal = Unsupported if weak else WouldRaise
        raise refusal(f"cannot cast to {given} with casting rule {casting}")
    result = e.concat(parts, axis, given)
    return result if target is None else store(e, target, result)


def _promoted(parts: Sequence[Value], weak: Sequence[type | None]) -> DType:
    """Return the common dtype; Python numbers among the arrays to flatten are weak."""
    kinds = [*weak, *(None,) * (len(parts) - len(weak))]
    operands: list[Any] = [
        kind(0) if kind in {int, float, complex} else part.dtype
        for kind, part in zip(kinds, parts, strict=True)
    ]
    return np.result_type(*operands)


def _flat(e: Emitter, value: Value) -> Value:
    return e.view(value, Reshape((size_of(value),)))


def concatenate(
    e: Emitter,
    arrays: Operand,
    /,
    axis: Operand = 0,
    out: Operand = None,
    *,
    dtype: Operand = None,
    casting: Operand = "same_kind",
) -> Value:
    """``np.concatenate``."""
    if axis is None:
        items = arrays if isinstance(arrays, tuple | list) else (arrays,)
        if e.is_value(arrays) and (not arrays.shape or equal(e, arrays.shape[0], 0)):
            items = ()
        if not items:
            raise WouldRaise("need at least one array to join")
        flat = [_flat(e, e.array(item)) for item in items]
        weak = [e.weak_type(item) for item in items]
        return _joined(e, flat, 0, out=out, dtype=dtype, casting=casting, weak=weak)

    def along(ndim: int) -> int:
        if not ndim:
            raise WouldRaise("zero-dimensional arrays cannot be concatenated")
        return axis_index(e, axis, ndim)

    parts, at = _parts(e, arrays, _as_they_are, along)
    return _joined(e, parts, at, out=out, dtype=dtype, casting=casting)


def stack(
    e: Emitter,
    arrays: Operand,
    axis: Operand = 0,
    out: Operand = None,
    *,
    dtype: Operand = None,
    casting: Operand = "same_kind",
) -> Value:
    """``np.stack``."""
    parts, at = _parts(
        e,
        arrays,
        lambda ndim: (axis_index(e, axis, ndim + 1),),
        lambda ndim: axis_index(e, axis, ndim),
    )
    return _joined(e, parts, at, out=out, dtype=dtype, casting=casting)


def _stack_along(
    ndim: int, e: Emitter, tup: Operand, *, dtype: Operand = None, casting: Operand = "same_kind"
) -> Value:
    """``np.hstack`` (at least 1-d, axis 1 of more) and ``np.vstack`` (at least 2-d, axis 0)."""
    parts, axis = _parts(
        e, tup, partial(_missing, ndim), lambda have: 1 if ndim == 1 and have > 1 else 0
    )
    return _joined(e, parts, axis, dtype=dtype, casting=casting)


def dstack(e: Emitter, tup: Operand) -> Value:
    """``np.dstack``: at least 3-d, along axis 2."""
    parts, axis = _parts(e, tup, partial(_missing, 3), lambda _: 2)
    return _joined(e, parts, axis)


def column_stack(e: Emitter, tup: Operand) -> Value:
    """``np.column_stack``: 1-d arrays become columns."""
    parts, axis = _parts(e, tup, lambda ndim: tuple(range(ndim, 2)), lambda _: 1)
    return _joined(e, parts, axis)


def append(e: Emitter, arr: Operand, values: Operand, axis: Operand = None) -> Value:
    """``np.append``. Source: NumPy ``lib/_function_base_impl.py``."""
    parts = [e.array(arr), e.array(values)]
    if axis is None:
        return _joined(e, [_flat(e, part) for part in parts], 0)
    if not parts[0].shape:
        raise WouldRaise("zero-dimensional arrays cannot be concatenated")
    return _joined(e, parts, axis_index(e, axis, len(parts[0].shape)))


# block


def block(e: Emitter, arrays: Operand) -> Value:
    """``np.block``: lists of lists of arrays. Source: NumPy ``_core/shape_base.py``."""
    depth = _depth(arrays)
    leaves = list(_leaves(e, arrays))
    ndim = max(depth, *(len(leaf.shape) for leaf in leaves))
    joint = np.result_type(*(leaf.dtype for leaf in leaves))
    result = _block(e, arrays, ndim, depth)
    if result.dtype != joint:
        # Large results are promoted all at once, small ones list by list.
        raise Unsupported("the dtype depends on the size of the result")
    return result if depth else copy(e, result)


def _depth(arrays: Operand) -> int:
    """Return how deep lists are nested, which must be the same everywhere."""
    if isinstance(arrays, tuple):
        raise WouldRaise("only lists can be used to arrange blocks")
    if not isinstance(arrays, list):
        return 0
    depths = {_depth(item) for item in arrays}
    if len(depths) != 1:
        raise WouldRaise("list depths are mismatched, or a list is empty")
    return depths.pop() + 1


def _leaves(e: Emitter, arrays: Operand) -> list[Value]:
    if isinstance(arrays, list):
        return [leaf for item in arrays for leaf in _leaves(e, item)]
    return [e.array(arrays)]


def _block(e: Emitter, arrays: Operand, ndim: int, depth: int) -> Value:
    if isinstance(arrays, list):
        parts = [_block(e, item, ndim, depth - 1) for item in arrays]
        return _joined(e, parts, ndim - depth)
    value = e.array(arrays)
    missing = ndim - len(value.shape)
    return e.view(value, with_new_axes(value, tuple(range(missing)))) if missing else value


# The table

for _ndim, _name in ((1, "atleast_1d"), (2, "atleast_2d"), (3, "atleast_3d")):
    table.define(_name, functions(partial(_at_least, _ndim), example.raised, _name))
table.define("concatenate", functions(concatenate, example.joins, "concatenate", "concat"))
table.define("stack", functions(stack, example.stacks, "stack"))
for _ndim, _name in ((1, "hstack"), (2, "vstack")):
    table.define(_name, functions(partial(_stack_along, _ndim), example.rows, _name))
table.define("dstack", functions(dstack, example.columns, "dstack"))
table.define("column_stack", functions(column_stack, example.columns, "column_stack"))
table.define("append", functions(append, example.appends, "append"))
table.define("block", functions(block, example.blocks, "block"))
