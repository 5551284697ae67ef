"""Functions that cut an array into a list or tuple of views: split, array_split, hsplit, unstack; they copy nothing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np

from bcjit.dims import Dim, floor_divide, minimum, modulo
from bcjit.ops.emitter import Basic, Emitter, Operand, Permute, Pick, Range, Value
from bcjit.ops.indexing import slice_range
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import axis_index, constant, equal
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows
from bcjit.ops.views import indexed

__all__: list[str] = []

example = Samplers("splitting")
table = Rows()

MOST: Final = 64  # results: each is a node of the graph


def _array(e: Emitter, ary: Operand) -> Value:
    if not e.is_value(ary):
        raise Unsupported("what is split is not an array")
    return e.array(ary)


def _axis(e: Emitter, value: Value, axis: Operand) -> int:
    """Return the axis: NumPy asks for its length before it swaps it."""
    return axis_index(e, axis, len(value.shape))


def array_split(
    e: Emitter, ary: Operand, indices_or_sections: Operand, axis: Operand = 0
) -> list[Value]:
    """``np.array_split``. Source: NumPy ``lib/_shape_base_impl.py``."""
    value = _array(e, ary)
    at = _axis(e, value, axis)
    length = value.shape[at]
    if isinstance(indices_or_sections, tuple | list):
        bounds: list[Operand] = [0, *indices_or_sections, None]
        _few(len(bounds) - 1)
        ranges = [slice_range(e, slice(start, stop), length) for start, stop in pairwise(bounds)]
    else:
        ranges = _sections(e, indices_or_sections, length)
    return [e.view(value, indexed(value, {at: piece})) for piece in ranges]


def _sections(e: Emitter, sections: Operand, length: Dim) -> list[Range]:
    if e.is_value(sections) and sections.shape:
        raise Unsupported("an array of indices")
    count = constant(e, sections, "sections")
    if count <= 0:
        raise WouldRaise("number sections must be larger than 0.")
    _few(count)
    each, extras = floor_divide(length, count), modulo(length, count)
    starts = [each * i + minimum(i, extras) for i in range(count)]
    # The first few have one element more.
    return [
        Range(start, 1, floor_divide(length + (count - 1 - i), count))
        for i, start in enumerate(starts)
    ]


def _few(count: int) -> None:
    if count > MOST:
        raise Unsupported(f"more than {MOST} results")


def split(e: Emitter, ary: Operand, indices_or_sections: Operand, axis: Operand = 0) -> list[Value]:
    """``np.split``: array_split into equal sections."""
    value = _array(e, ary)
    at = _axis(e, value, axis)
    if isinstance(indices_or_sections, tuple | list):
        return array_split(e, value, indices_or_sections, axis)
    if e.is_value(indices_or_sections) and indices_or_sections.shape:
        raise Unsupported("an array of indices")
    count = constant(e, indices_or_sections, "sections")
    if count == 0 or not equal(e, modulo(value.shape[at], count), 0):
        raise WouldRaise("array split does not result in an equal division")
    if count < 0:
        raise WouldRaise("number sections must be larger than 0.")
    _few(count)
    each = floor_divide(value.shape[at], count)
    pieces = [Range(each * i, 1, each) for i in range(count)]
    return [e.view(value, indexed(value, {at: piece})) for piece in pieces]


def _split_along(axis: int, e: Emitter, ary: Operand, indices_or_sections: Operand) -> list[Value]:
    """``np.hsplit``, ``np.vsplit``, ``np.dsplit``."""
    value = _array(e, ary)
    ndim = len(value.shape)
    if ndim <= (axis if axis != 1 else 0):
        raise WouldRaise(f"the split along axis {axis} works only on arrays of more dimensions")
    if axis == 0 and ndim < 2:
        raise WouldRaise("vsplit only works on arrays of 2 or more dimensions")
    return split(e, value, indices_or_sections, min(axis, ndim - 1))


def unstack(e: Emitter, x: Operand, /, *, axis: Operand = 0) -> tuple[Value, ...]:
    """``np.unstack``: the items along an axis."""
    value = e.array(x)
    if not value.shape:
        raise WouldRaise("Input array must be at least 1-d.")
    at = axis_index(e, axis, len(value.shape))
    length = e.env.hint(value.shape[at])
    if length is None or not equal(e, value.shape[at], length):
        raise Unsupported("the number of results is not known")
    _few(length)
    rest = tuple(i for i in range(len(value.shape)) if i != at)
    moved = e.view(value, Permute((at, *rest)))
    whole: Sequence[Range] = [Range(0, 1, dim) for dim in moved.shape[1:]]
    return tuple(e.scalar(e.view(moved, Basic((Pick(i), *whole)))) for i in range(length))


# The table

table.define("array_split", functions(array_split, example.splits, "array_split"))
table.define("split", functions(split, example.splits, "split"))
for _axis_of, _name in ((1, "hsplit"), (0, "vsplit"), (2, "dsplit")):
    table.define(_name, functions(partial(_split_along, _axis_of), example.short_splits, _name))
if "unstack" in vars(np):  # newer than the oldest NumPy
    table.define("unstack", functions(unstack, example.unstacks, "unstack"))
