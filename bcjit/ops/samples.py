"""Small arguments for the tests of each op, in every dtype; nothing here runs outside tests.

A sampler is ``samples(dtype) -> Iterable[Sample]``. Arguments NumPy rejects are samples too: the table must say that it
will, or may, raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample

__all__ = ["DTYPES", "Sampler", "binary", "constants", "inplace", "numbers", "of_arrays", "unary"]

Array = np.ndarray[Any, Any]
Sampler = Callable[[np.dtype[Any]], Iterable[Sample]]

DTYPES: Final = tuple(
    np.dtype(code)
    for code in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
)


def numbers(dtype: np.dtype[Any], size: int) -> Array:
    """Return ``size`` elements of a dtype, the extreme ones first."""
    if dtype.kind == "b":
        return np.arange(size) % 3 == 0
    small = (np.arange(size) % 7 - 2).astype(dtype)
    if dtype.kind in "iu":
        extremes = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min, 1], dtype)
    else:
        info = np.finfo(dtype)
        values = [np.nan, info.max, -np.inf, info.tiny, -0.0, info.min]
        extremes = np.array(values, dtype)
        small = small + np.array(0.25, dtype)
    result = small.copy()
    result[: min(size, len(extremes))] = extremes[:size]
    return result


def tame(dtype: np.dtype[Any], size: int) -> Array:
    """Return ``size`` small positive elements of a dtype."""
    return (np.arange(size) % 5 + 1).astype(dtype)


def arrays(dtype: np.dtype[Any]) -> tuple[Array | np.generic, ...]:
    """Return arrays of every kind of shape and layout, and a scalar."""
    grid = numbers(dtype, 24)
    return (
        grid[:7],
        grid.reshape(4, 6)[::2, ::-1],
        grid.reshape(2, 3, 4).transpose(2, 0, 1),
        grid.reshape(4, 6, order="F"),
        grid[5:6],
        grid[5:6].reshape(1, 1),
        np.array(grid[2]),
        tame(dtype, 6).reshape(2, 3),
        np.zeros(0, dtype),
        np.zeros((0, 3), dtype),
        grid[6],
    )


def of_arrays(*args: object, **kwargs: object) -> Sampler:
    """Return a sampler of calls with each array first and then these arguments."""

    def sampler(dtype: np.dtype[Any]) -> Iterator[Sample]:
        for array in arrays(dtype):
            yield sample(array, *args, **kwargs)

    return sampler


def calls(*samplers: Sampler) -> Sampler:
    """Return a sampler of all calls of several."""

    def sampler(dtype: np.dtype[Any]) -> Iterator[Sample]:
        for one in samplers:
            yield from one(dtype)

    return sampler


def constants(*rows: Sample) -> Sampler:
    """Return a sampler of these calls, whatever the dtype."""
    return lambda _: rows


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
