"""``x[...]`` and ``x[...] = v``: basic indexing as views, index arrays and masks as Gather and Scatter; no other functions.

Mirrors NumPy ``mapping.c`` (``array_subscript``, ``array_assign_subscript``, ``PyArray_MapIterNew``): the axes of index
arrays, broadcast together, stand where the first of them stood if nothing else is between them, and first if something is.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from bcjit.dims import Dim
from bcjit.ops.elementwise import apply
from bcjit.ops.emitter import (
    Basic,
    Emitter,
    NewAxis,
    Operand,
    Permute,
    Pick,
    Range,
    Shape,
    Slice,
    Value,
)
from bcjit.ops.index_entries import Arrays, Index, Item, Mask, parse, slice_range, true_positions
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import INTP, agree, broadcast, copy
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.table import Rows

__all__ = ["check_item", "check_region", "getitem", "slice_range"]

example = Samplers("indexing")
table = Rows()


# Reading


def getitem(e: Emitter, x: Operand, index: Operand, /) -> Value:
    """``x[index]``: a view, a scalar where all axes are picked, a copy for index arrays."""
    if not e.is_value(x):
        raise Unsupported("the indexed object is not an array")
    value = e.array(x)
    parsed = parse(e, value, index)
    if not parsed.is_basic:
        return _gathered(e, value, parsed)
    result = e.view(value, parsed.basic)
    if parsed.copies:
        return copy(e, result)
    return result if parsed.keeps_array else e.scalar(result)


def _gathered(e: Emitter, value: Value, index: Index) -> Value:
    """Read by index arrays: a view without them, their axes first, then the axes where NumPy puts them."""
    plain: list[Pick | Range | Slice | NewAxis] = []
    arrays: list[Value] = []
    front: list[int] = []  # axes of the view that are indexed by arrays
    rest: list[int] = []
    at: int | None = None  # where the axes of the arrays go
    masks = [item for item in index.items if isinstance(item, Mask)]
    alone = len(masks) == 1 and not any(isinstance(item, Arrays) for item in index.items)
    axis = produced = 0
    for item in index.items:
        if isinstance(item, Range | Slice | NewAxis):
            plain.append(item)
            rest.append(produced)
            axis += not isinstance(item, NewAxis)
            produced += 1
            continue
        at = len(rest) if at is None else at
        if isinstance(item, Pick):
            plain.append(item)
            axis += 1
            continue
        values = _index_arrays(e, item, alone=alone)
        if isinstance(item, Arrays) and item.extra:
            plain.append(NewAxis())
            count = 1
        else:
            count = len(item.value.shape) if isinstance(item, Mask) else len(values)
            plain.extend(Range(0, 1, dim) for dim in value.shape[axis : axis + count])
            axis += count
        arrays.extend(values)
        front.extend(range(produced, produced + count))
        produced += count
    assert at is not None
    view = e.view(value, Basic(tuple(plain)))
    if front != list(range(len(front))):
        view = e.view(view, Permute((*front, *rest)))
    taken = e.gather(view, tuple(arrays))
    extra = len(taken.shape) - len(rest)
    at = 0 if index.gap else at
    if at == 0:
        return taken
    moved = tuple(range(extra, extra + len(rest)))
    return e.view(taken, Permute((*moved[:at], *range(extra), *moved[at:])))


def _index_arrays(e: Emitter, item: Mask | Arrays, *, alone: bool) -> tuple[Value, ...]:
    if isinstance(item, Arrays):
        return item.values
    return (item.value,) if alone else true_positions(e, item.value)


# Writing


def setitem(e: Emitter, x: Operand, index: Operand, value: Operand, /) -> None:
    """``x[index] = value``: the value is broadcast and cast to what is indexed."""
    if not e.is_value(x):
        raise Unsupported("the indexed object is not an array")
    if e.is_scalar(x):
        raise WouldRaise("a NumPy scalar does not support item assignment")
    parsed = parse(e, x, index)
    item: Operand = e.array(value) if isinstance(value, tuple | list) else value
    check_item(e, x, item)
    shape = item.shape if e.is_value(item) else ()
    if not parsed.is_basic:
        arrays, region = _scattered(e, x, parsed)
        if _is_whole_mask(x, arrays) and len(shape) > 1:
            raise WouldRaise("an assignment by a mask requires a 0 or 1-dimensional input")
        check_region(e, shape, region)
        e.scatter(x, item, arrays)
        return
    view = parsed.basic
    region = e.view(x, view).shape
    if e.is_value(item):
        if not region and not parsed.keeps_array and item.shape:
            # Converting an array of one element to a scalar is deprecated and warns.
            raise Unsupported("an array is assigned to one element")
        check_region(e, shape, region)
    e.scatter(x, item, view)


def _is_whole_mask(x: Value, arrays: Sequence[Value]) -> bool:
    return arrays[0].dtype.kind == "b" and len(arrays[0].shape) == len(x.shape)


def _scattered(e: Emitter, x: Value, index: Index) -> tuple[tuple[Value, ...], Shape]:
    """Return index arrays for the first axes of an array, and the shape of what they index."""
    first = _leading(e, x, index)
    if first is not None:
        return first
    # Every axis gets an index array, with its axes at their places in the result.
    groups = [_group(e, item) for item in index.items]
    joined: Shape = ()
    for array in (array for group in groups for array in group):
        joined = broadcast(e, joined, array.shape)
    plain = [isinstance(item, Range | Slice | NewAxis) for item in index.items]
    at = 0 if index.gap else plain.index(False)
    ndim = sum(plain) + len(joined)
    region: list[Dim] = []
    arrays: list[Value] = []
    extras: list[Value] = []
    for item, group in zip(index.items, groups, strict=True):
        if isinstance(item, Slice):
            raise Unsupported("index arrays together with a slice of unknown bounds")
        if isinstance(item, Range):
            place = len(region) if len(region) < at else len(region) + len(joined)
            arrays.append(_placed(e, _positions(e, item), place, ndim))
        placed = [_placed(e, array, at + len(joined) - len(array.shape), ndim) for array in group]
        (extras if isinstance(item, Arrays) and item.extra else arrays).extend(placed)
        if isinstance(item, Range | Slice | NewAxis):
            region.append(item.length if isinstance(item, Range) else 1)
    if not arrays:
        raise Unsupported("only bools as index of an array without axes")
    for extra in extras:
        # What a bool picks has size 0 or 1: all is indexed, or nothing.
        (arrays[0],) = apply(e, row("add"), (arrays[0], extra))
    return tuple(arrays), (*region[:at], *joined, *region[at:])


def _group(e: Emitter, item: Item) -> tuple[Value, ...]:
    """Return the index arrays of one part of an index."""
    if isinstance(item, Pick):
        return (_integer(e, item),)
    if isinstance(item, Mask):
        return true_positions(e, item.value)
    return item.values if isinstance(item, Arrays) else ()


def _leading(e: Emitter, x: Value, index: Index) -> tuple[tuple[Value, ...], Shape] | None:
    """Return the index arrays as they are where they are for the first axes, and the others are whole."""
    count = sum(not isinstance(item, Range | Slice | NewAxis) for item in index.items)
    head, tail = index.items[:count], index.items[count:]
    used = 0
    arrays: list[Value] = []
    for item in head:
        if isinstance(item, Mask) and count == 1:
            arrays.append(item.value)
            used += len(item.value.shape)
        elif isinstance(item, Arrays) and not item.extra:
            arrays.extend(item.values)
            used += len(item.values)
        elif isinstance(item, Pick):
            arrays.append(_integer(e, item))
            used += 1
        else:
            return None
    for item, dim in zip(tail, x.shape[used:], strict=False):
        if not isinstance(item, Range) or item != Range(0, 1, dim):
            return None
    if len(tail) != len(x.shape) - used:
        return None
    if isinstance(head[0], Mask):
        return tuple(arrays), (e.unknown("selected", head[0].value), *x.shape[used:])
    shape: Shape = ()
    for array in arrays:
        shape = broadcast(e, shape, array.shape)
    return tuple(arrays), shape + x.shape[used:]


def _integer(e: Emitter, item: Pick) -> Value:
    if e.is_value(item.index):
        return e.array(item.index)
    return e.fill((), item.index, INTP)


def _positions(e: Emitter, item: Range) -> Value:
    """Return the positions that a slice takes, as an array."""
    count = e.iota(item.length, INTP)
    if item.step != 1:
        (count,) = apply(e, row("multiply"), (count, e.fill((), item.step, INTP)))
    if item.start != 0:
        (count,) = apply(e, row("add"), (count, e.fill((), item.start, INTP)))
    return count


def _placed(e: Emitter, array: Value, place: int, ndim: int) -> Value:
    """Return an array with its axes at this place among others."""
    behind = ndim - place - len(array.shape)
    if behind == 0:
        return array
    whole = tuple(Range(0, 1, dim) for dim in array.shape)
    return e.view(array, Basic((*whole, *(NewAxis() for _ in range(behind)))))


def check_item(e: Emitter, x: Value, item: Operand) -> None:
    """Refuse what cannot be stored in an array."""
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


def check_region(e: Emitter, shape: Shape, region: Shape) -> None:
    """Refuse a value that does not broadcast: leading axes of size 1 are dropped (NumPy ``PyArray_AssignArray``).

    NumPy checks before it writes, so nothing need be known of a size that depends on data.
    """
    extra = max(len(shape) - len(region), 0)
    if any(not agree(e, dim, 1) for dim in shape[:extra]):
        raise WouldRaise("could not broadcast the value to the indexed shape")
    tail = shape[extra:]
    for have, want in zip(tail, region[len(region) - len(tail) :], strict=True):
        if not agree(e, have, want) and not agree(e, have, 1):
            raise WouldRaise("could not broadcast the value to the indexed shape")


table.define("getitem", [Spelling(operator.getitem, getitem, example.getitems)])
table.define("setitem", [Spelling(operator.setitem, setitem, example.setitems)])
