"""Bits packed into bytes: packbits and unpackbits, as library calls. Source: NumPy ``compiled_base.c``."""

from __future__ import annotations

from typing import Final

import numpy as np

from bcjit.dims import Dim, floor_divide
from bcjit.ops.emitter import DType, Emitter, Operand, Reshape, Shape, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import axis_index, less, size_of
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("bits")
table = Rows()

_BYTE: Final[DType] = np.dtype(np.uint8)


def _along(e: Emitter, a: Operand, axis: Operand, bitorder: Operand) -> tuple[Value, int]:
    """Return the array with at least one axis, and the axis; without one the flat array."""
    if bitorder not in ("big", "little"):
        raise Unsupported("bitorder is not 'big' or 'little'")
    value = e.array(a)
    if axis is None or not value.shape:
        value = e.view(value, Reshape((size_of(value),)))
    return value, 0 if axis is None else axis_index(e, axis, len(value.shape))


def _replaced(shape: Shape, axis: int, length: Dim) -> Shape:
    return (*shape[:axis], length, *shape[axis + 1 :])


def packbits(e: Emitter, a: Operand, /, axis: Operand = None, bitorder: Operand = "big") -> Value:
    """``np.packbits``: eight elements are one byte."""
    value, at = _along(e, a, axis, bitorder)
    if value.dtype.kind not in "biu":
        raise WouldRaise("Expected an input array of integer or boolean data type")
    shape = _replaced(value.shape, at, floor_divide(value.shape[at] + 7, 8))
    options = {"axis": at, "bitorder": bitorder}
    return e.lib_call(np.packbits, (value,), options, [(shape, _BYTE)])[0]


def unpackbits(
    e: Emitter,
    a: Operand,
    /,
    axis: Operand = None,
    count: Operand = None,
    bitorder: Operand = "big",
) -> Value:
    """``np.unpackbits``: a byte is eight elements; a count cuts the end off, or fills it with zeros."""
    value, at = _along(e, a, axis, bitorder)
    if value.dtype != _BYTE:
        raise WouldRaise("Expected an input array of unsigned byte data type")
    length: Dim = value.shape[at] * 8
    if count is not None:
        number = e.integer(count)
        if number is None:
            raise Unsupported("count is not a known integer")
        if less(e, number, 0):
            if less(e, length + number, 0):
                raise WouldRaise("-count larger than number of elements")
            number = length + number
        length = number
    shape = _replaced(value.shape, at, length)
    options = {"axis": at, "count": count, "bitorder": bitorder}
    return e.lib_call(np.unpackbits, (value,), options, [(shape, _BYTE)])[0]


# The table

table.define("packbits", functions(packbits, example.packed, "packbits"))
table.define("unpackbits", functions(unpackbits, example.unpacked, "unpackbits"))
