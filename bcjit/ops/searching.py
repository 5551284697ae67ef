"""Functions whose results have as many elements as something is true: nonzero, extract, compress, delete, insert.

How many is a size that depends on data (note 0012): the number of elements that are not zero, shared by all that select by one
mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.dims import Dim
from bcjit.ops.elementwise import single_out, store
from bcjit.ops.emitter import Basic, DType, Emitter, Operand, Range, Reshape, Shape, Slice, Value
from bcjit.ops.index_entries import index_array, slice_range, true_positions
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import INTP, axis_index, in_range, is_array, size_of
from bcjit.ops.samples import Samplers
from bcjit.ops.selection import gather_along
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import Rows
from bcjit.ops.views import indexed

__all__ = ["flat", "nonzero"]

example = Samplers("searching")
table = Rows()


def flat(e: Emitter, value: Value) -> Value:
    """Return the elements in C order along one axis."""
    return e.view(value, Reshape((size_of(value),)))


def _flat_positions(e: Emitter, value: Value) -> Value:
    """Return the positions in C order of the elements that are not zero."""
    if len(value.shape) == 1:
        return true_positions(e, value)[0]
    return true_positions(e, flat(e, value), value)[0]


def nonzero(e: Emitter, a: Operand) -> tuple[Value, ...]:
    """``np.nonzero``: one array of positions for each axis."""
    value = e.array(a)
    if not value.shape:
        raise Unsupported(
            "nonzero of a 0-d array, which the oldest NumPy deprecates and others refuse"
        )
    return true_positions(e, value)


def flatnonzero(e: Emitter, a: Operand) -> Value:
    """``np.flatnonzero``."""
    return _flat_positions(e, e.array(a))


def argwhere(e: Emitter, a: Operand) -> Value:
    """``np.argwhere``: a row of positions for each element that is not zero."""
    value = e.array(a)
    count = e.unknown("selected", value)
    results = [((count, len(value.shape)), INTP)]
    return e.lib_call(np.argwhere, (value,), {}, results, can_fail=False)[0]


def extract(e: Emitter, condition: Operand, arr: Operand) -> Value:
    """``np.extract``. Source: NumPy ``lib/_function_base_impl.py``."""
    positions = _flat_positions(e, e.array(condition))
    return e.gather(flat(e, e.array(arr)), (positions,))


def compress(
    e: Emitter, condition: Operand, a: Operand, axis: Operand = None, out: Operand = None
) -> Value:
    """``np.compress``. Source: NumPy ``item_selection.c``: ``PyArray_Compress``."""
    test, value = e.array(condition), e.array(a)
    if len(test.shape) != 1:
        raise WouldRaise("condition must be a 1-d array")
    target = single_out(e, out)
    if target is not None and target.dtype != value.dtype:
        raise Unsupported("out: an array of another dtype")
    if axis is None:
        value, at = flat(e, value), 0
    elif not value.shape:
        value, at = e.view(value, Reshape((1,))), axis_index(e, axis, 1)
    else:
        at = axis_index(e, axis, len(value.shape))
    taken = gather_along(e, value, _flat_positions(e, test), at)
    return taken if target is None else store(e, target, taken)


def _compress_method(
    e: Emitter, a: Operand, condition: Operand, axis: Operand = None, out: Operand = None
) -> Value:
    return compress(e, condition, a, axis, out)


# delete, insert


def _along(e: Emitter, a: Operand, axis: Operand) -> tuple[Value, int]:
    """Return an array and the axis in it; all elements in C order for None."""
    if not is_array(e, a):
        raise Unsupported("the array is not an array")
    value = e.array(a)
    if axis is None:
        return (value if len(value.shape) == 1 else flat(e, value)), 0
    return value, axis_index(e, axis, len(value.shape))


def _resized(value: Value, axis: int, length: Dim) -> tuple[Dim, ...]:
    return (*value.shape[:axis], length, *value.shape[axis + 1 :])


def delete(e: Emitter, arr: Operand, obj: Operand, axis: Operand = None) -> Value:
    """``np.delete``: a copy. Source: NumPy ``lib/_function_base_impl.py``."""
    value, at = _along(e, arr, axis)
    length = value.shape[at]
    if e.weak_type(obj) is bool or (e.is_value(obj) and not obj.shape and obj.dtype.kind == "b"):
        raise Unsupported("delete by one bool")
    if isinstance(obj, slice):
        gone = slice_range(e, obj, length)
        rest = length - gone.length
        (result,) = e.lib_call(
            np.delete, (value, obj), {"axis": at}, [(_resized(value, at, rest), value.dtype)]
        )
        return result
    known = e.integer(obj)
    if known is not None:
        index = in_range(e, known, length)
        if index is None:
            raise WouldRaise("an index is out of bounds")
        pieces = (Range(0, 1, index), Range(index + 1, 1, length - index - 1))
        parts = [e.view(value, indexed(value, {at: piece})) for piece in pieces]
        return e.concat(parts, at, value.dtype)
    if e.weak_type(obj) is int or (e.is_value(obj) and not obj.shape and obj.dtype.kind in "iu"):
        rest = length - 1
    elif isinstance(obj, tuple | list) or e.is_value(obj):
        # An element that is named twice is deleted once.
        rest = e.unknown("kept")
        obj = index_array(e, obj) if isinstance(obj, tuple | list) else obj
    else:
        raise Unsupported("the indices are neither integers nor bools")
    shape = _resized(value, at, rest)
    return e.lib_call(np.delete, (value, obj), {"axis": at}, [(shape, value.dtype)])[0]


def insert(e: Emitter, arr: Operand, obj: Operand, values: Operand, axis: Operand = None) -> Value:
    """``np.insert``: a copy. Source: NumPy ``lib/_function_base_impl.py``."""
    value, at = _along(e, arr, axis)
    if not value.shape:
        raise WouldRaise("insert into a 0-d array")
    given = e.array(values)
    if given.dtype.kind == "c" and value.dtype.kind != "c":
        raise Unsupported("casting complex to real warns")
    if isinstance(obj, slice):
        count: Dim = slice_range(e, obj, value.shape[at]).length
        if not isinstance(count, int) or count == 1:
            raise Unsupported("insert at a slice of one or an unknown number of positions")
    elif e.weak_type(obj) is int or (e.is_value(obj) and not obj.shape and obj.dtype.kind in "iu"):
        if len(given.shape) > len(value.shape):
            raise Unsupported("values of more dimensions than the array")
        padded = (*(1,) * (len(value.shape) - len(given.shape)), *given.shape)
        # The first axis of the values is the one that is inserted.
        count = padded[0]
    else:
        if not isinstance(obj, tuple | list) and not e.is_value(obj):
            raise Unsupported("the positions are not integers")
        obj = e.array(obj)
        if len(obj.shape) != 1 or obj.dtype.kind not in "iu":
            raise Unsupported("positions that are bools, or not along one axis")
        count = obj.shape[0]
        if not isinstance(count, int):
            raise Unsupported("how one position is used differs from how several are")
        if count == 1:
            padded = (*(1,) * (len(value.shape) - len(given.shape)), *given.shape)
            count = padded[at]
    shape = _resized(value, at, value.shape[at] + count)
    operands = (value, obj, values)
    return e.lib_call(np.insert, operands, {"axis": at}, [(shape, value.dtype)])[0]


# trim_zeros


def _ends(x: Any, *, trim: str) -> tuple[int, int]:
    found = np.flatnonzero(x)
    if not found.size:
        return 0, 0
    return (found[0] if "f" in trim else 0), (found[-1] + 1 if "b" in trim else len(x))


def trim_zeros(e: Emitter, filt: Operand, trim: Operand = "fb", axis: Operand = None) -> Value:
    """``np.trim_zeros`` of one axis: a view. Source: NumPy ``lib/_function_base_impl.py``."""
    if not is_array(e, filt):
        raise Unsupported("a sequence is trimmed to one of its type")
    value = e.array(filt)
    if len(value.shape) != 1 or axis is not None:
        raise Unsupported("zeros of several axes, or of chosen ones")
    if not isinstance(trim, str) or trim.lower() not in {"fb", "bf", "f", "b"}:
        raise Unsupported("trim is not 'f', 'b' or both")
    bound: tuple[Shape, DType] = ((), INTP)
    options = {"trim": trim.lower()}
    start, stop = e.lib_call(_ends, (value,), options, [bound, bound], can_fail=False)
    return e.view(value, Basic((Slice(start, stop, None, e.unknown("trimmed")),)))


# The table

table.define(
    "nonzero",
    functions(nonzero, example.positions, "nonzero")
    + methods(nonzero, example.nonzeros, "nonzero", of_scalars=False),
)
table.define("flatnonzero", functions(flatnonzero, example.positions, "flatnonzero"))
table.define("argwhere", functions(argwhere, example.positions, "argwhere"))
table.define("extract", functions(extract, example.extracts, "extract"))
table.define(
    "compress",
    functions(compress, example.compressions, "compress")
    + methods(_compress_method, example.compress_methods, "compress", of_scalars=False),
)
table.define("delete", functions(delete, example.deletions, "delete"))
table.define("trim_zeros", functions(trim_zeros, example.trims, "trim_zeros"))
table.define("insert", functions(insert, example.insertions, "insert"))
