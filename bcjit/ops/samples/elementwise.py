"""Samples for ufuncs, operators and functions made of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import arrays, calls, numbers, of_arrays, tame

__all__ = [
    "binary",
    "binary_operator",
    "clip_methods",
    "clips",
    "closes",
    "copies",
    "equivalents",
    "fills",
    "inplace",
    "of_any_arity",
    "pairs",
    "rounds",
    "unary",
    "unary_operator",
    "wheres",
]


def unary(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a ufunc of one input."""
    for array in arrays(dtype):
        yield sample(array)
    grid = tame(dtype, 6).reshape(2, 3)
    yield sample(grid, out=np.zeros((2, 3), dtype))
    yield sample(grid, np.zeros((2, 3), np.complex128))
    yield sample(grid, out=(np.zeros((4, 2, 3), np.float64),))
    yield sample(grid, out=np.zeros(3, dtype))
    yield sample(grid, dtype=np.float32)
    yield sample(grid, dtype="f8", casting="unsafe")
    mask = np.array([True, False, True])
    yield sample(grid, out=np.ones((2, 3), np.complex128), where=mask)
    yield sample(grid[0, 0], np.full(3, 7.0), where=mask)
    yield sample(grid, out=np.ones((2, 3), np.float64), where=np.ones(3))
    yield sample(grid, where=mask)
    yield sample(grid, out=(np.zeros((2, 3)), None))
    yield sample(grid[0], np.zeros((2, 3)), np.zeros((2, 3), np.complex128), where=[True] * 3)
    yield sample(grid, None)
    yield sample(grid, np.zeros(3), out=None)
    yield sample(grid[0, 0], out=...)
    yield sample(grid, sig="d->d")
    yield sample(grid, signature=(None, np.float32), casting="unsafe", order="F")
    yield sample(grid, signature=(None, "D", None), subok=False)
    for number in (True, 3, 2.5, 1j, 2**70):
        yield sample(number)


def unary_operator(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a Python operator of one operand."""
    for array in arrays(dtype):
        yield sample(array)


def binary_operator(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a Python operator of two operands."""
    grid = numbers(dtype, 12).reshape(3, 4)
    for array in arrays(dtype):
        yield sample(array, array)
    yield sample(grid, tame(dtype, 4))
    yield sample(grid[:, :1], tame(dtype, 4))
    yield sample(grid, tame(dtype, 3))
    yield sample(grid[:0], tame(dtype, 1))
    yield sample(np.array(grid[0, 0]), grid[1, 1])
    yield sample(grid[2, 2], tame(np.dtype(np.float32), 2)[1])
    for number in (True, 2, -1, 0, 300, 2**40, 2**70, 0.5, 1e300, float("nan"), 1j):
        yield sample(grid, number)
        yield sample(number, grid[:, ::-1])
        yield sample(grid[2, 1], number)
    yield sample(grid, [1, 2, 3, 4])
    yield sample((1, 2, 3, 4), grid)
    for value in (grid, np.array(grid[0, 0]), grid[0, 0]):
        yield sample(value, None)
        yield sample(None, value)


def binary(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a ufunc of two inputs."""
    yield from binary_operator(dtype)
    grid = tame(dtype, 6).reshape(2, 3)
    row = tame(dtype, 3)
    yield sample(grid, row, out=np.zeros((2, 3), dtype))
    yield sample(grid, row, np.zeros((2, 3), np.complex128))
    yield sample(row, row, out=np.zeros((2, 3), np.float64))
    yield sample(grid, row, out=row.copy())
    yield sample(grid, row, dtype=np.float32)
    yield sample(grid, row, dtype="f8", casting="unsafe")
    yield sample(grid, row, dtype="i4")
    mask = np.array([[True], [False]])
    yield sample(grid, row, out=np.ones((2, 3), np.float64), where=mask)
    yield sample(row, 2, out=row.astype(np.complex128), where=mask[1, 0])
    yield sample(row, 1, np.ones((2, 3), np.complex128), where=mask)
    yield sample(row, 1, out=np.ones(3), where=mask)
    yield sample(grid, row, None, where=mask)
    yield sample(grid, row, out=(None, np.zeros((2, 3))))
    yield sample(row, row, out=(None, np.zeros((2, 3))))
    yield sample(row[0], 1, out=...)
    yield sample(grid, row, sig="ff->f", casting="unsafe")
    yield sample(grid, row, signature=(None, None, "d"))
    yield sample(grid, row, signature="d")
    yield sample(grid, order="k")
    for number in (True, 3, 2.5, 1j, 2**70):
        yield sample(number, 2)
        yield sample(0.5, number)


def of_any_arity(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a ufunc of three or more inputs."""
    grid = tame(dtype, 6).reshape(2, 3)
    for count in range(3, 6):
        yield sample(*(grid,) * count)


def inplace(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample an in-place operator."""
    grid = numbers(dtype, 12).reshape(3, 4)
    yield sample(grid.copy(), tame(dtype, 4))
    yield sample(tame(dtype, 4), tame(dtype, 1))
    yield sample(tame(dtype, 4), grid)
    yield sample(np.array(grid[1, 2]), grid[1, 1])
    yield sample(grid[1, 2], grid[1, 1])
    yield sample(tame(dtype, 4), tame(np.dtype(np.float64), 4))
    yield sample(tame(dtype, 4), tame(np.dtype(np.int64), 4))
    yield sample(np.zeros((0, 3), dtype), tame(dtype, 3))
    for number in (True, 2, 300, 0.5, 1j):
        yield sample(tame(dtype, 4)[::2], number)
    yield sample(2, grid)


# Functions made of elementwise ones


def wheres(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``where``."""
    grid, test = numbers(dtype, 12).reshape(3, 4), np.arange(4) % 2 == 0
    for other in (grid, grid[:, :1], tame(np.dtype("f4"), 4), 1, 2.5, True, 1j, grid[0, 0], 300):
        yield sample(test, grid, other)
        yield sample(grid, other, grid[::-1])
    yield sample(test, 1, 0.5)
    yield sample(test, 1, 0)
    yield sample(True, np.array(grid[0, 0]), grid[1, 1])
    yield sample(test, grid[:, :3], grid)
    yield sample(test, [1, 2, 3, 4], grid)
    yield sample(grid)
    yield sample(test, grid)
    yield sample(test, grid, None)


def clips(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.clip``."""
    yield from clip_methods(dtype)
    yield sample(numbers(dtype, 7), a_min=0, a_max=1)
    yield sample(numbers(dtype, 7), 0, 1, max=1)
    yield sample(numbers(dtype, 7), min=1)
    yield sample(numbers(dtype, 7), 0)
    yield sample(numbers(dtype, 7))


def clip_methods(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``clip`` as a method."""
    for array in arrays(dtype):
        yield sample(array, 0, 2)
    grid = numbers(dtype, 12).reshape(3, 4)
    for low, high in ((None, 1), (1, None), (-1, 300), (0.5, 1.5), (grid[0], 2), (None, None)):
        yield sample(grid, low, high)
        yield sample(grid, min=low, max=high)
    yield sample(tame(dtype, 4), 1, 2, out=np.zeros(4, np.float64))
    yield sample(tame(dtype, 4), 1, 2, np.zeros(4, dtype))
    yield sample(tame(dtype, 4), 1, 2, out=np.zeros(4), where=np.array([True, False, True, True]))
    yield sample(tame(dtype, 4), None, 2, dtype=np.float32, casting="unsafe")
    yield sample(tame(dtype, 4), 1, 2, out=...)
    yield sample(tame(dtype, 4), 1, 2, keepdims=True)


def rounds_into(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``round`` with out."""
    grid = tame(dtype, 6).reshape(2, 3)
    for places in (0, 1, -1):
        yield sample(grid, places, np.zeros((2, 3)))
        yield sample(grid, places, out=np.zeros((2, 3), dtype))
        yield sample(grid, decimals=places, out=np.zeros(3, np.complex128))
    yield sample(grid, 0, (np.zeros((2, 3)),))


rounds: Final = calls(
    of_arrays(), of_arrays(2), of_arrays(decimals=-1), of_arrays(1.5), rounds_into
)


def closes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``isclose``."""
    for array in arrays(dtype):
        yield sample(array, array)
        yield sample(array, 1)
    grid = numbers(dtype, 12).reshape(3, 4)
    yield sample(grid, tame(np.dtype("f4"), 4), 0.5, atol=1)
    yield sample(grid, grid, equal_nan=True)
    yield sample(2.0, grid)
    yield sample(grid, tame(dtype, 3))
    yield sample(grid, grid, tame(np.dtype("f4"), 4))
    yield sample(tame(dtype, 3), tame(dtype, 3), np.inf)


def fills(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ndarray.fill``."""
    for value in (1, 2.5, 300, 1j, True, np.float32(1.5), np.int8(3), np.array(2), "a"):
        yield sample(tame(dtype, 6).reshape(2, 3)[:, ::-1], value)
        yield sample(np.zeros(0, dtype), value)


def pairs(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``array_equal``."""
    for array in arrays(dtype):
        yield sample(array, array)
    grid = tame(dtype, 6).reshape(2, 3)
    yield sample(grid, grid.astype(np.complex128))
    yield sample(grid, grid[0])
    yield sample(grid, 1)
    yield sample(grid, grid, equal_nan=True)
    yield sample(numbers(dtype, 4), numbers(dtype, 4), True)
    yield sample(numbers(dtype, 4), np.array([np.nan] * 4), equal_nan=True)


def equivalents(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``array_equiv``."""
    grid = tame(dtype, 6).reshape(2, 3)
    for other in (
        grid,
        grid[:1],
        grid[0, 0],
        grid[0].astype(np.complex128),
        grid[:, :2],
        [1, 2, 3],
        1,
    ):
        yield sample(grid, other)
        yield sample(other, grid[:1])


def copies(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``copyto``."""
    grid = tame(dtype, 6).reshape(2, 3)
    for source in (1, 2.5, True, 1j, 300, grid[0], grid[0, 0], np.ones(2), np.ones(3), np.int8(1)):
        yield sample(grid.copy(), source)
    yield sample(grid[:, ::-1].copy(), np.ones((2, 3)), casting="unsafe")
    yield sample(grid.copy(), np.ones(3, np.float32), "no")
    yield sample(2, grid)
    for mask in ([True, False, True], np.array([[True], [False]]), False, [1, 0, 1], [True, False]):
        yield sample(grid.copy(), grid[:, ::-1].copy(), where=mask)
        yield sample(grid.copy(), 1, where=mask)
    yield sample(grid[:1].copy(), grid, where=[True])
    for source in (1, grid[0], tame(np.dtype("i1"), 3), np.ones(2)):
        yield sample(grid.copy(), source, where=grid > 2)
        yield sample(grid.copy(), source, "unsafe", [True, False, True])
    yield sample(grid.copy(), 1, where=np.ones(3))
    yield sample(grid.copy(), 1, where=np.ones((4, 2, 3), bool))
    yield sample(grid.copy(), [1, 2, 3], "unsafe")
