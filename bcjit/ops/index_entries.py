"""What stands between the brackets of ``x[...]``: slices, ints, index arrays, masks; no reading or writing.

Mirrors NumPy ``mapping.c`` (``prepare_index``) and CPython ``sliceobject.c`` (``PySlice_AdjustIndices``), with sizes that
may be symbolic.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import TypeAlias

import numpy as np

from bcjit.dims import Dim, Undecidable, floor_divide, maximum, minimum
from bcjit.ops.emitter import Basic, Emitter, NewAxis, Operand, Pick, Range, Shape, Slice, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import BOOL, INTP, equal, in_range, less
from bcjit.records import dataclass

__all__ = [
    "Arrays",
    "Index",
    "Item",
    "Mask",
    "index_array",
    "parse",
    "slice_range",
    "true_positions",
]


@dataclass(frozen=True, slots=True)
class Mask:
    """A boolean array in an index, for as many axes as it has."""

    value: Value


@dataclass(frozen=True, slots=True)
class Arrays:
    """Integer arrays in an index, one for each of some axes; or (`extra`) one that indexes a new axis of size 1."""

    values: tuple[Value, ...]
    extra: bool = False


Plain: TypeAlias = Pick | Range | Slice | NewAxis
Item: TypeAlias = Plain | Mask | Arrays


@dataclass(frozen=True, slots=True)
class Index:
    """An index that covers all axes.

    Attributes
    ----------
    items
        In order; a `Pick` among index arrays counts as one of them.
    gap
        Whether something that is no index array stands between index arrays, be it an ellipsis for no axis.
    keeps_array
        Whether a result without axes stays an array.
    copies
        Whether the result of a basic index is a copy.
    """

    items: tuple[Item, ...]
    gap: bool = False
    keeps_array: bool = False
    copies: bool = False

    @property
    def is_basic(self) -> bool:
        """Whether there is no index array."""
        return not any(isinstance(item, Mask | Arrays) for item in self.items)

    @property
    def basic(self) -> Basic:
        """The index as a view."""
        return Basic(tuple(i for i in self.items if isinstance(i, Pick | Range | Slice | NewAxis)))


def parse(e: Emitter, value: Value, index: Operand) -> Index:
    """Return what an index means for an array."""
    given: Sequence[Operand] = index if isinstance(index, tuple) else (index,)
    entries = [_entry(e, entry) for entry in given]
    ndim = len(value.shape)
    consumed = sum(_axes_of(e, entry) for entry in entries)
    if consumed > ndim:
        raise WouldRaise("too many indices for array")
    dots = [i for i, entry in enumerate(entries) if isinstance(entry, EllipsisType)]
    if len(dots) > 1:
        raise WouldRaise("an index can only have a single ellipsis")
    if not dots and consumed < ndim:
        entries.append(Ellipsis)
    items: list[Item] = []
    kinds: list[bool] = []  # of each entry, whether it takes part in broadcasting
    axis = 0
    fancy = any(_is_fancy(e, entry) for entry in entries)
    for entry in entries:
        kinds.append(not (entry is None or isinstance(entry, slice | EllipsisType)))
        if isinstance(entry, EllipsisType):
            rest = range(axis, axis + ndim - consumed)
            items.extend(Range(0, 1, value.shape[i]) for i in rest)
            axis = rest.stop
        else:
            items.append(_item(e, entry, value.shape[axis:], fancy=fancy))
            axis += _axes_of(e, entry)
    if fancy:
        positions = [i for i, kind in enumerate(kinds) if kind]
        return Index(tuple(items), gap=positions[-1] - positions[0] >= len(positions))
    # A 0-d array copies, but not among ints only: there it gives a scalar.
    copies = any(e.is_value(x) and not e.is_scalar(x) for x in entries) and not all(kinds)
    return Index(tuple(items), keeps_array=bool(dots), copies=copies)


def _entry(e: Emitter, entry: Operand) -> Operand:
    """Return an entry with sequences made arrays, and bools made 0-d arrays."""
    if isinstance(entry, tuple | list):
        return index_array(e, entry)
    if e.weak_type(entry) is bool:
        return e.fill((), entry, BOOL)
    if e.is_value(entry) and e.is_scalar(entry) and entry.dtype.kind == "b":
        return e.array(entry)
    return entry


def index_array(e: Emitter, items: Sequence[Operand]) -> Value:
    """Return a sequence in an index as an array of integers or bools."""
    integers = all(_is_integer(e, item) for item in items)
    if integers and any(type(item) is not int for item in items):
        # Not all are constants, which is what an emitter makes arrays of.
        return e.concat([e.fill((1,), _index(e, x), INTP) for x in items], 0, INTP)
    array = e.array(items)
    if array.dtype.kind == "f" and any(dim == 0 for dim in array.shape):
        # An empty list has no dtype of its own.
        return e.fill(array.shape, 0, INTP)
    if array.dtype.kind not in "biu":
        raise WouldRaise("only integers, slices and arrays are valid indices")
    return array


def _is_integer(e: Emitter, item: Operand) -> bool:
    if e.is_value(item):
        return e.is_scalar(item) and item.dtype.kind in "iu"
    return e.weak_type(item) is int


def _index(e: Emitter, item: Operand) -> Operand:
    known = e.integer(item)
    if known is not None:
        return known
    if e.is_value(item):
        raise Unsupported("a list of unknown NumPy integers as index")
    return item


def _axes_of(e: Emitter, entry: Operand) -> int:
    if entry is None or isinstance(entry, EllipsisType):
        return 0
    if e.is_value(entry) and entry.dtype.kind == "b":
        return len(entry.shape)
    return 1


def _is_fancy(e: Emitter, entry: Operand) -> bool:
    return e.is_value(entry) and (bool(entry.shape) or entry.dtype.kind == "b")


def _item(e: Emitter, entry: Operand, lengths: Shape, *, fancy: bool) -> Item:
    if entry is None:
        return NewAxis()
    if isinstance(entry, slice):
        return _slice(e, entry, lengths[0])
    if not e.is_value(entry) or not (entry.shape or entry.dtype.kind == "b"):
        return _pick(e, entry, lengths[0], fancy=fancy)
    if entry.dtype.kind == "b":
        return _mask(e, entry, lengths)
    if entry.dtype.kind not in "iu":
        raise WouldRaise("arrays used as indices must be of integer (or boolean) type")
    return Arrays((entry,))


def _mask(e: Emitter, mask: Value, lengths: Shape) -> Item:
    if not mask.shape:
        # It picks no axis and adds one.
        (position,) = true_positions(e, e.view(mask, Basic((NewAxis(),))), mask)
        return Arrays((position,), extra=True)
    for have, want in zip(mask.shape, lengths, strict=False):
        if not equal(e, have, want) and not equal(e, have, 0):
            raise WouldRaise("boolean index did not match indexed array")
    return Mask(mask)


def true_positions(e: Emitter, mask: Value, of: Value | None = None) -> tuple[Value, ...]:
    """Return the positions where an array of at least one axis is not zero, as `np.nonzero` does."""
    count = e.unknown("selected", mask if of is None else of)
    results = [((count,), INTP)] * len(mask.shape)
    return e.lib_call(np.nonzero, (mask,), {}, results, can_fail=False)


def _pick(e: Emitter, entry: Operand, length: Dim, *, fancy: bool) -> Pick:
    known = e.integer(entry)
    if known is not None:
        index = in_range(e, known, length)
        if index is None:
            if fancy:
                raise Unsupported("an index out of bounds among index arrays")
            raise WouldRaise("an index is out of bounds")
        return Pick(index)
    weak = e.weak_type(entry)
    if weak in {float, complex} or isinstance(entry, str):
        raise WouldRaise("only integers, slices and arrays are valid indices")
    if weak is int or (e.is_value(entry) and entry.dtype.kind in "iu"):
        e.may_fail()
        return Pick(entry)
    if e.is_value(entry):
        raise WouldRaise("only integers, slices and arrays are valid indices")
    raise Unsupported(f"an index of type {type(entry).__name__}")


# Slices


def _slice(e: Emitter, item: slice, length: Dim) -> Range | Slice:
    """Return what a slice takes of an axis, also where a bound depends on data."""
    bounds = (item.start, item.stop, item.step)
    known = all(bound is None or e.integer(bound) is not None for bound in bounds)
    if known:
        try:
            return slice_range(e, item, length)
        except Undecidable:
            pass
    for bound in bounds:
        if bound is not None and not _is_bound(e, bound):
            if e.weak_type(bound) in {float, complex} or isinstance(bound, str):
                raise WouldRaise("slice indices must be integers or None")
            raise Unsupported("a bound of a slice is not an integer")
    if item.step is not None:
        e.may_fail()
    return Slice(*bounds, e.unknown("sliced"))


def _is_bound(e: Emitter, bound: Operand) -> bool:
    if e.is_value(bound):
        return not bound.shape and bound.dtype.kind in "iu"
    return e.weak_type(bound) is int


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
    return Range(first, step, _steps(_at_least(e, distance, 0), stride))


def _at_least(e: Emitter, dim: Dim, low: Dim) -> Dim:
    """Return the larger one, by a formula where data decide which that is."""
    try:
        return low if less(e, dim, low) else dim
    except Undecidable:
        return maximum(dim, low)


def _at_most(e: Emitter, dim: Dim, high: Dim) -> Dim:
    try:
        return high if less(e, high, dim) else dim
    except Undecidable:
        return minimum(dim, high)


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
        return _at_least(e, bound + length, low)
    return _at_most(e, bound, length + low)
