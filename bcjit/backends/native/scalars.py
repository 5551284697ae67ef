"""What a kernel computes for one element: a graph of scalar functions; it knows no array, no node and no LLVM.

An item is a leaf (an element of an operand, a number handed in, a constant) or a function applied to items. Items are
compared by identity; what is used twice is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.ops.scalar_functions import ScalarFunction
from bcjit.records import dataclass

__all__ = [
    "BETWEEN", "INVERSE", "MULTIPLY_ADD", "Apply", "Constant", "DType", "Element", "Fold", "Item", "Leaf", "Number", "Running", "Spread", "Table", "in_order",
]  # fmt: skip

DType: TypeAlias = "np.dtype[Any]"

# ``a * b + c``, with one rounding where the processor has it: only where `fast` says so.
MULTIPLY_ADD: Final = ScalarFunction("multiply_add", None, "")
# np.clip of floats where both limits are numbers: another loop than for arrays.
BETWEEN: Final = ScalarFunction("between", None, "biuf")
# What to multiply by instead of dividing; where it is of no use it raises the invalid flag.
INVERSE: Final = ScalarFunction("inverse", None, "")


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A value from outside, by what stands for it there; a Python number has the dtype of its use."""

    source: object
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Element:
    """An element of the operand of this index."""

    operand: int
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """The number in the slot of this index."""

    slot: int
    dtype: DType


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A constant."""

    value: np.generic

    @property
    def dtype(self) -> DType:
        """Its own."""
        return self.value.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """An array that is read at computed places, by what stands for it outside; in a kernel by its index."""

    source: object
    dtype: DType
    axes: int


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """A function of scalars on items that have the loop's dtypes already."""

    function: ScalarFunction
    dtypes: tuple[DType, ...]  # of the operands and the result
    operands: tuple[Item, ...]

    @property
    def dtype(self) -> DType:
        """Of the result."""
        return self.dtypes[-1]


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """What a reduction makes of all elements of an item; "argmax" and "argmin" give positions."""

    name: str
    function: ScalarFunction | None  # None: positions
    dtype: DType
    operand: Item
    casts: bool = False  # the operand is a cast that NumPy makes as it folds, a buffer at a time


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """What was folded, or made of that, beside each of the elements it came from."""

    operand: Item

    @property
    def dtype(self) -> DType:
        """Of the value."""
        return self.operand.dtype


@dataclass(frozen=True, slots=True, eq=False)
class Running:
    """What a scan makes of the elements of an item up to each of them."""

    function: ScalarFunction
    dtype: DType  # the item's too
    operand: Item


Item: TypeAlias = "Leaf | Element | Number | Constant | Table | Apply | Fold | Spread | Running"


def in_order(results: Iterable[Item]) -> list[Item]:
    """Return all items that results need, each once, operands before what uses them."""
    found: dict[Item, None] = {}

    def visit(item: Item) -> None:
        stack: list[tuple[Item, Sequence[Item]]] = [(item, _operands(item))]
        while stack:
            one, rest = stack.pop()
            if one in found:
                continue
            if not rest:
                found[one] = None
                continue
            stack.append((one, rest[1:]))
            if rest[0] not in found:
                stack.append((rest[0], _operands(rest[0])))

    for result in results:
        visit(result)
    return list(found)


def _operands(item: Item) -> Sequence[Item]:
    if isinstance(item, Fold | Spread | Running):
        return (item.operand,)
    return item.operands if isinstance(item, Apply) else ()
