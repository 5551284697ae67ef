"""``x[...]`` and ``x[...] = v``: basic indexing as views, index arrays as Gather and Scatter; no other functions.

Mirrors NumPy ``mapping.c`` (``prepare_index``) and CPython ``sliceobject.c`` (``PySlice_AdjustIndices``), with sizes that
may be symbolic. Boolean reading is unsupported: its size depends on values.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import EllipsisType
from typing import TypeAlias

import numpy as np

from bcjit.dims import Dim, floor_divide
from bcjit.ops.emitter import (
    Basic,
    Emitter,
    NewAxis,
    Operand,
    Pick,
    Range,
    Shape,
    Value,
)
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import INTP, broadcast, equal, in_range, less
from bcjit.ops.samples import Samplers
from bcjit.ops.table import define
from bcjit.records import dataclass

__all__ = ["getitem", "slice_range"]

example = Samplers("indexing")

Item: TypeAlias = Pick | Range | NewAxis


@dataclass(frozen=True, slots=True)
class Index:
    """An index with everything about it known: either basic, or index arrays for the first axes."""

    basic: tuple[Item, ...]
    arrays: tuple[Value, ...]
    ellipsis: bool  # keeps a 0-d result an array


def slice_range(e: Emitter, item: slice, length: Dim) -> Range:
    """Return what a slice takes of an axis. Source: CPython ``PySlice_AdjustIndices``."""
    start, stop, step = (
        None if bound is None else _bound(e, bound) for bound in (item.start, item.stop, item.step)
    )
    step = 1 if step is None else step
    if equal(e, step, 0):
        raise WouldRaise("slice step cannot be zero")
    backward = less(e, step, 0)
    stride = -step if backward else step
    if start is None and stop is None:
        # Needs to know nothing about the length.
        return Range(length - 1 if backward else 0, step, _steps(length, stride))
    if backward:
        first = length - 1 if start is None else _clamp(e, start, length, -1)
        last = -1 if stop is None else _clamp(e, stop, length, -1)
        distance = first - last
    else:
        first = 0 if start is None else _clamp(e, start, length, 0)
        last = length if stop is None else _clamp(e, stop, length, 0)
        distance = last - first
    if less(e, distance, 0):
        distance = 0
    return Range(first, step, _steps(distance, stride))


def _bound(e: Emitter, bound: Operand) -> Dim:
    known = e.integer(bound)
    if known is not None:
        return known
    if e.weak_type(bound) in {float, complex} or isinstance(bound, str):
        raise WouldRaise("slice indices must be integers or None")
    raise Unsupported("a slice depends on values")


def _steps(distance: Dim, stride: Dim) -> Dim:
    return floor_divide(distance + stride - 1, stride)


def _clamp(e: Emitter, bound: Dim, length: Dim, low: int) -> Dim:
    """Return a bound counted from the front, within low and length + low."""
    if less(e, bound, 0):
        bound = bound + length
        return low if less(e, bound, low) else bound
    high = length + low
    return high if less(e, high, bound) else bound


def _parse(e: Emitter, value: Value, index: Operand) -> Index:
    entries: Sequence[Operand] = index if isinstance(index, tuple) else (index,)
    entries = [e.array(entry) if isinstance(entry, list) else entry for entry in entries]
    if any(_is_bool(e, entry) for entry in entries):
        # It picks no axis and adds one.
        raise Unsupported("a bool as index")
    consumed = sum(_axes_of(e, entry) for entry in entries)
    missing = len(value.shape) - consumed
    if missing < 0:
        raise WouldRaise("too many indices for array")
    dots = [i for i, entry in enumerate(entries) if isinstance(entry, EllipsisType)]
    if len(dots) > 1:
        raise WouldRaise("an index can only have a single ellipsis")
    if any(_is_index_array(e, entry) for entry in entries):
        if dots or any(entry is None or isinstance(entry, slice) for entry in entries):
            raise Unsupported("index arrays together with slices")
        return Index((), _arrays(e, value, entries), ellipsis=False)
    at = dots[0] if dots else len(entries)
    whole: list[Operand] = [slice(None)] * missing
    filled = [*entries[:at], *whole, *entries[at + 1 :]]
    return Index(_items(e, value, filled), (), ellipsis=bool(dots))


def _is_bool(e: Emitter, entry: Operand) -> bool:
    if e.is_value(entry):
        return e.is_scalar(entry) and entry.dtype.kind == "b"
    return e.weak_type(entry) is bool


def _axes_of(e: Emitter, entry: Operand) -> int:
    if entry is None or isinstance(entry, EllipsisType):
        return 0
    if e.is_value(entry) and entry.dtype.kind == "b":
        return len(entry.shape)
    return 1


def _is_index_array(e: Emitter, entry: Operand) -> bool:
    if not e.is_value(entry) or e.is_scalar(entry):
        return False
    if entry.dtype.kind not in "biu":
        raise WouldRaise("arrays used as indices must be of integer (or boolean) type")
    return True


def _items(e: Emitter, value: Value, entries: Sequence[Operand]) -> tuple[Item, ...]:
    items: list[Item] = []
    axis = 0
    for entry in entries:
        if entry is None:
            items.append(NewAxis())
            continue
        length = value.shape[axis]
        axis += 1
        if isinstance(entry, slice):
            items.append(slice_range(e, entry, length))
        else:
            items.append(_pick(e, entry, length))
    return tuple(items)


def _pick(e: Emitter, entry: Operand, length: Dim) -> Pick:
    known = e.integer(entry)
    if known is not None:
        index = in_range(e, known, length)
        if index is None:
            raise WouldRaise("an index is out of bounds")
        return Pick(index)
    weak = e.weak_type(entry)
    if weak in {float, complex} or isinstance(entry, str):
        raise WouldRaise("only integers, slices and arrays are valid indices")
    if weak is int or (e.is_value(entry) and entry.dtype.kind in "iu"):
        e.may_fail()
        return Pick(None)
    if e.is_value(entry):
        raise WouldRaise("only integers, slices and arrays are valid indices")
    raise Unsupported(f"an index of type {type(entry).__name__}")


def _arrays(e: Emitter, value: Value, entries: Sequence[Operand]) -> tuple[Value, ...]:
    """Return index arrays for the first axes; ints among them become 0-d arrays."""
    if len(entries) > 1 and any(e.is_value(x) and x.dtype.kind == "b" for x in entries):
        raise Unsupported("a boolean array together with other indices")
    arrays: list[Value] = []
    for entry, length in zip(entries, _lengths(value, entries), strict=True):
        if e.is_value(entry):
            arrays.append(e.array(entry))
        else:
            index = _pick(e, entry, length).index
            if index is None:
                raise Unsupported("index arrays together with an unknown int")
            arrays.append(e.fill((), index, INTP))
    if all(not array.shape and array.dtype.kind != "b" for array in arrays):
        raise Unsupported("a 0-d array as index")
    return tuple(arrays)


def _lengths(value: Value, entries: Sequence[Operand]) -> Shape:
    return value.shape[: len(entries)] if len(entries) > 1 else value.shape[:1] or (1,)


# Reading


def getitem(e: Emitter, x: Operand, index: Operand, /) -> Value:
    """``x[index]``: a view, a scalar where all axes are picked, a copy for index arrays."""
    if not e.is_value(x):
        raise Unsupported("the indexed object is not an array")
    value = e.array(x)
    parsed = _parse(e, value, index)
    if parsed.arrays:
        if parsed.arrays[0].dtype.kind == "b":
            raise Unsupported("the size of a boolean selection depends on values")
        return e.gather(value, parsed.arrays)
    result = e.view(value, Basic(parsed.basic))
    return result if parsed.ellipsis else e.scalar(result)


# Writing


def setitem(e: Emitter, x: Operand, index: Operand, value: Operand, /) -> None:
    """``x[index] = value``: the value is broadcast and cast to what is indexed."""
    if not e.is_value(x):
        raise Unsupported("the indexed object is not an array")
    if e.is_scalar(x):
        raise WouldRaise("a NumPy scalar does not support item assignment")
    parsed = _parse(e, x, index)
    item: Operand = e.array(value) if isinstance(value, tuple | list) else value
    _check_item(e, x, item)
    if parsed.arrays:
        _check_array_assignment(e, x, parsed.arrays, item)
        e.scatter(x, item, parsed.arrays)
        return
    view = Basic(parsed.basic)
    region = e.view(x, view)
    if e.is_value(item):
        picked = not region.shape and not parsed.ellipsis
        if picked and item.shape:
            # Converting an array of one element to a scalar is deprecated and warns.
            raise Unsupported("an array is assigned to one element")
        _check_broadcast(e, item.shape, region.shape)
    e.scatter(x, item, view)


def _check_item(e: Emitter, x: Value, item: Operand) -> None:
    if e.is_value(item):
        return
    weak = e.weak_type(item)
    if weak is None:
        raise Unsupported(f"values of type {type(item).__name__} are not supported")
    if weak is complex and x.dtype.kind in "iuf":
        raise WouldRaise("a complex number does not fit a real array")
    if type(item) is int and x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        if not limits.min <= item <= limits.max:
            raise WouldRaise(f"Python integer {item} out of bounds for {x.dtype}")


def _check_broadcast(e: Emitter, shape: Shape, region: Shape) -> None:
    """Leading axes of size 1 are dropped from the value (NumPy ``PyArray_AssignArray``)."""
    extra = max(len(shape) - len(region), 0)
    if any(not equal(e, dim, 1) for dim in shape[:extra]):
        raise WouldRaise("could not broadcast the value to the indexed shape")
    tail = shape[extra:]
    for have, want in zip(tail, region[len(region) - len(tail) :], strict=True):
        if not equal(e, have, want) and not equal(e, have, 1):
            raise WouldRaise("could not broadcast the value to the indexed shape")


def _check_array_assignment(e: Emitter, x: Value, arrays: tuple[Value, ...], item: Operand) -> None:
    mask = arrays[0]
    shape = item.shape if e.is_value(item) else ()
    if mask.dtype.kind == "b":
        if len(mask.shape) != len(x.shape):
            raise Unsupported("a mask of fewer dimensions")
        if not all(equal(e, a, b) for a, b in zip(mask.shape, x.shape, strict=True)):
            raise WouldRaise("boolean index did not match indexed array")
        if len(shape) > 1:
            raise Unsupported("a value of several dimensions for a mask")
        return
    region: Shape = ()
    for array in arrays:
        region = broadcast(e, region, array.shape)
    _check_broadcast(e, shape, region + x.shape[len(arrays) :])


define("getitem", [Spelling(operator.getitem, getitem, example.getitems)])
define("setitem", [Spelling(operator.setitem, setitem, example.setitems)])
