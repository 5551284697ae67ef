"""Views as a form and sizes: the form is a static fact of a primitive, the sizes are operands; makes no nodes.

A form is a ``ViewMap`` with placeholders. Sizes follow in the order in which the form has them.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np

from bcjit.ops.emitter import (
    Basic,
    Broadcast,
    Diagonal,
    MemoryOrder,
    NewAxis,
    Part,
    Permute,
    Pick,
    Range,
    Reinterpret,
    Reshape,
    Shape,
    Slice,
    Value,
    ViewMap,
    Window,
)

__all__ = [
    "Array",
    "copies_by_layout",
    "follow",
    "is_whole",
    "join_view",
    "join_views",
    "split_view",
    "split_views",
]

Array = np.ndarray[Any, Any]
Item: TypeAlias = Pick | Range | Slice | NewAxis


def split_view(how: ViewMap) -> tuple[ViewMap, tuple[object, ...]]:
    """Return form and sizes of a view."""
    match how:
        case Basic(items):
            form: list[Item] = []
            dims: list[object] = []
            for item in items:
                if isinstance(item, Pick):
                    dims.append(item.index)
                    form.append(Pick(None))
                elif isinstance(item, Range):
                    dims += [item.start, item.step, item.length]
                    form.append(Range(0, 1, 0))
                elif isinstance(item, Slice):
                    # Its length is read from the result.
                    dims += [item.start, item.stop, item.step]
                    form.append(Slice(None, None, None, item.length))
                else:
                    form.append(item)
            return Basic(tuple(form)), tuple(dims)
        case Broadcast(shape):
            return Broadcast((0,) * len(shape)), shape
        case Reshape(shape):
            return Reshape((0,) * len(shape), how.by), shape
        case Diagonal():
            return replace(how, length=0), (how.length,)
        case Reinterpret(dtype, shape):
            return Reinterpret(dtype, (0,) * len(shape)), shape
        case Window(axes, sizes, shape):
            return Window(axes, (0,) * len(sizes), (0,) * len(shape)), (*sizes, *shape)
        case Permute() | Part() | MemoryOrder():
            return how, ()


def split_views(chain: Iterable[ViewMap]) -> tuple[tuple[ViewMap, ...], tuple[object, ...]]:
    """Return the forms of views of views, and the sizes of all."""
    pairs = [split_view(how) for how in chain]
    return tuple(form for form, _ in pairs), tuple(dim for _, dims in pairs for dim in dims)


def join_view(form: ViewMap, dims: Iterator[Any]) -> ViewMap:
    """Return the view of a form and the next sizes."""
    match form:
        case Basic(items):
            whole: list[Item] = []
            for item in items:
                if isinstance(item, Pick):
                    whole.append(Pick(next(dims)))
                elif isinstance(item, Range):
                    whole.append(Range(next(dims), next(dims), next(dims)))
                elif isinstance(item, Slice):
                    whole.append(Slice(next(dims), next(dims), next(dims), item.length))
                else:
                    whole.append(item)
            return Basic(tuple(whole))
        case Broadcast(shape):
            return Broadcast(tuple(next(dims) for _ in shape))
        case Reshape(shape):
            return Reshape(tuple(next(dims) for _ in shape), form.by)
        case Diagonal():
            return replace(form, length=next(dims))
        case Reinterpret(dtype, shape):
            return Reinterpret(dtype, tuple(next(dims) for _ in shape))
        case Window(axes, sizes, shape):
            return Window(axes, tuple(next(dims) for _ in sizes), tuple(next(dims) for _ in shape))
        case Permute() | Part() | MemoryOrder():
            return form


def join_views(forms: Iterable[ViewMap], dims: Iterable[object]) -> tuple[ViewMap, ...]:
    """Return the views of forms and all their sizes."""
    rest = iter(dims)
    return tuple(join_view(form, rest) for form in forms)


def is_whole(how: ViewMap, value: Value) -> bool:
    """Whether a view is all of an array as it is."""
    return isinstance(how, Basic) and how.items == tuple(Range(0, 1, dim) for dim in value.shape)


def copies_by_layout(chain: Iterable[ViewMap]) -> bool:
    """Whether the last of views of views may be a copy, by the layout of the array."""
    return any(isinstance(how, Reshape | MemoryOrder) for how in chain)


def follow(array: Array, how: ViewMap) -> Array:
    """Return the view of a NumPy array; an unknown index that is out of bounds raises as NumPy does."""
    match how:
        case Basic(items):
            return cast("Array", array[(*map(_entry, items), ...)])
        case Permute(axes):
            return array.transpose(axes)
        case Reshape(shape, by):
            if by in {"C", "F"}:
                array = np.asarray(array, order=cast("Any", by))
            return (
                array if array.shape == shape and by != "reshape" else array.reshape(_ints(shape))
            )
        case MemoryOrder(order):
            return array.ravel(cast("Any", order))
        case Reinterpret(dtype):
            return array.view(dtype)
        case Broadcast(shape):
            return np.broadcast_to(array, _ints(shape))
        case Part(name):
            return cast("Array", getattr(array, name))
        case Window(axes, sizes):
            return np.lib.stride_tricks.sliding_window_view(array, _ints(sizes), axes)
        case Diagonal(writeable=False):
            return np.diagonal(array, how.offset, how.axis1, how.axis2)
        case Diagonal():
            letters = list(range(array.ndim))
            letters[how.axis2] = how.axis1
            kept = [axis for axis in letters if axis != how.axis1]
            return cast("Array", np.einsum(array, letters, [*kept, how.axis1]))


def _ints(shape: Shape) -> tuple[int, ...]:
    return cast("tuple[int, ...]", shape)


def _entry(item: Item) -> Any:
    if isinstance(item, NewAxis):
        return None
    if isinstance(item, Pick):
        # Also a 0-d array, which as an index would copy.
        return operator.index(cast("Any", item.index))
    if isinstance(item, Slice):
        return slice(item.start, item.stop, item.step)
    if item.length == 0:
        return slice(0, 0)
    stop = item.start + item.step * item.length
    # Counting down, what is before the first element is written as no end.
    return slice(item.start, None if cast("int", stop) < 0 else stop, item.step)
