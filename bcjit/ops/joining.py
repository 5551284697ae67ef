"""Functions that join arrays along an axis: concatenate, stack, hstack, append and their like."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from bcjit.ops.emitter import DType, Emitter, Operand, Reshape, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import as_dtype, axis_index, default_dtype, equal, size_of
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import define
from bcjit.ops.views import with_new_axes

__all__: list[str] = []

example = Samplers("movement")
of_any = Samplers("values")


def _at_least(ndim: int, e: Emitter, a: Operand) -> Value:
    value = e.array(a)
    if len(value.shape) >= ndim:
        return value
    if ndim == 2 or not value.shape:
        # NumPy: ``reshape(1)``, ``reshape(1, 1)`` and ``x[newaxis, :]``; the same views.
        new = ndim - len(value.shape)
        return e.view(value, with_new_axes(value, tuple(range(new))))
    return value


def _parts(e: Emitter, arrays: Operand) -> list[Value]:
    if not isinstance(arrays, tuple | list):
        raise Unsupported("the arrays to join are not a tuple or list")
    if not arrays:
        raise WouldRaise("need at least one array to join")
    return [e.array(item) for item in arrays]


def _joined_dtype(e: Emitter, arrays: Operand, dtype: Operand, casting: Operand) -> DType:
    """Return the promoted dtype; Python scalars among the arrays are weak (NEP 50)."""
    assert isinstance(arrays, tuple | list)
    given = as_dtype(dtype)
    dtypes = [default_dtype(e, e.array(item)) for item in arrays]
    if not isinstance(casting, str):
        raise Unsupported("casting is not a constant")
    if given is None:
        return np.result_type(*dtypes)
    if not all(np.can_cast(source, given, casting) for source in dtypes):  # type: ignore[arg-type]
        raise WouldRaise(f"cannot cast to {given} with casting rule {casting}")
    return given


def _concat(e: Emitter, parts: Sequence[Value], axis: int, dtype: DType) -> Value:
    shape = parts[0].shape
    for part in parts[1:]:
        if len(part.shape) != len(shape):
            raise WouldRaise("all the input arrays must have same number of dimensions")
        for i, (have, want) in enumerate(zip(part.shape, shape, strict=True)):
            if i != axis and not equal(e, have, want):
                raise WouldRaise("all the input array dimensions except one must match exactly")
    return e.concat(parts, axis, dtype)


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
    if out is not None:
        raise Unsupported("the argument out is not supported here")
    parts = _parts(e, arrays)
    target = _joined_dtype(e, arrays, dtype, casting)
    if axis is None:
        parts = [e.view(part, Reshape((size_of(part),))) for part in parts]
        return _concat(e, parts, 0, target)
    if not parts[0].shape:
        raise WouldRaise("zero-dimensional arrays cannot be concatenated")
    return _concat(e, parts, axis_index(e, axis, len(parts[0].shape)), target)


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
    if out is not None:
        raise Unsupported("the argument out is not supported here")
    parts = _parts(e, arrays)
    target = _joined_dtype(e, arrays, dtype, casting)
    if any(len(part.shape) != len(parts[0].shape) for part in parts):
        raise WouldRaise("all input arrays must have the same shape")
    at = axis_index(e, axis, len(parts[0].shape) + 1)
    return _concat(e, [e.view(part, with_new_axes(part, (at,))) for part in parts], at, target)


def _stack_along(
    ndim: int,
    e: Emitter,
    tup: Operand,
    *,
    dtype: Operand = None,
    casting: Operand = "same_kind",
) -> Value:
    """``np.hstack`` (at least 1-d, axis 1 of more) and ``np.vstack`` (at least 2-d, axis 0)."""
    parts = [_at_least(ndim, e, part) for part in _parts(e, tup)]
    axis = 1 if ndim == 1 and len(parts[0].shape) > 1 else 0
    return _concat(e, parts, axis, _joined_dtype(e, tup, dtype, casting))


def column_stack(e: Emitter, tup: Operand) -> Value:
    """``np.column_stack``: 1-d arrays become columns."""
    parts = _parts(e, tup)
    if any(not part.shape for part in parts):
        raise Unsupported("columns of numbers")
    columns = [e.view(p, with_new_axes(p, (1,))) if len(p.shape) == 1 else p for p in parts]
    return _concat(e, columns, 1, _joined_dtype(e, tup, None, "same_kind"))


def append(e: Emitter, arr: Operand, values: Operand, axis: Operand = None) -> Value:
    """``np.append``. Source: NumPy ``lib/_function_base_impl.py``."""
    parts = [e.array(arr), e.array(values)]
    dtype = np.promote_types(parts[0].dtype, parts[1].dtype)
    if axis is None:
        return _concat(e, [e.view(p, Reshape((size_of(p),))) for p in parts], 0, dtype)
    if not parts[0].shape:
        raise WouldRaise("zero-dimensional arrays cannot be concatenated")
    return _concat(e, parts, axis_index(e, axis, len(parts[0].shape)), dtype)


# The table

for _ndim, _name in ((1, "atleast_1d"), (2, "atleast_2d")):
    define(_name, functions(partial(_at_least, _ndim), of_any.each_array, _name))
define("concatenate", functions(concatenate, example.joins, "concatenate", "concat"))
define("stack", functions(stack, example.joins, "stack"))
for _ndim, _name in ((1, "hstack"), (2, "vstack")):
    define(_name, functions(partial(_stack_along, _ndim), example.stacks, _name))
define("column_stack", functions(column_stack, example.columns, "column_stack"))
define("append", functions(append, example.appends, "append"))
