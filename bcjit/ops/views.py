"""Index maps and results that several op modules need; emits nothing but views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from bcjit.dims import Dim
from bcjit.ops.emitter import Basic, Emitter, NewAxis, Operand, Pick, Range, Value

__all__ = ["along_axis", "back", "by_layout", "indexed", "with_new_axes"]


def back(e: Emitter, source: Operand, result: Value) -> Value:
    """Return a method's result as a NumPy scalar if it was called on one."""
    return e.scalar(result) if e.is_value(source) and e.is_scalar(source) else result


def by_layout(order: Operand) -> Literal["C", "F", "flags"]:
    """Return by what a function decides whether an array has the order of memory asked for."""
    return "C" if order == "C" else "F" if order == "F" else "flags"


def indexed(value: Value, special: dict[int, Pick | Range]) -> Basic:
    """Return the basic index that is whole except on some axes."""
    return Basic(tuple(special.get(i, Range(0, 1, dim)) for i, dim in enumerate(value.shape)))


def with_new_axes(value: Value, axes: Sequence[int]) -> Basic:
    """Return the index that is whole, with new axes of size 1 at these positions of the result."""
    dims = iter(value.shape)
    return Basic(
        tuple(
            NewAxis() if i in axes else Range(0, 1, next(dims))
            for i in range(len(value.shape) + len(axes))
        )
    )


def along_axis(length: Dim, axis: int, ndim: int) -> Basic:
    """Return the index that puts the only axis of an array at this place among axes of size 1."""
    return Basic(tuple(Range(0, 1, length) if i == axis else NewAxis() for i in range(ndim)))
