"""Samples for functions that join arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import arrays, numbers, tame

__all__ = ["appends", "blocks", "columns", "joins", "raised", "rows", "stacks"]


def raised(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``atleast_1d``."""
    for array in arrays(dtype):
        yield sample(array)
        yield sample(array, np.ones((2, 2)), 3.5, array)
    yield sample()


def joins(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``concatenate``."""
    grid, other = numbers(dtype, 6).reshape(2, 3), np.ones((2, 3), np.float32)
    yield sample((grid, grid))
    yield sample([grid, other, grid[::-1]], axis=1)
    yield sample([grid, other], -1)
    yield sample([grid, other], None)
    yield sample((grid, other[:, :1]), 1)
    yield sample((grid, other[:1]), 1)
    yield sample((grid, grid[0]))
    yield sample((grid, other), axis=2)
    yield sample((grid[0, 0], grid[1, 1]))
    yield sample((grid, other), dtype=np.float64)
    yield sample((grid, other), dtype=np.int8, casting="unsafe")
    yield sample((grid, grid), dtype=np.int8)
    yield sample([])
    yield sample((grid, 1, 2.5, 300), None)
    yield sample((1, 2.5), axis=None)
    yield sample(grid)
    yield sample(grid, None)
    yield sample(grid[:0], None)
    yield sample(grid[:, :, None], 1)
    yield sample((grid, other), 0, np.zeros((4, 3)))
    yield sample((grid, other), 0, np.zeros((4, 3), np.float32))
    yield sample((grid, grid), out=np.zeros((2, 3)))
    yield sample((grid, grid), out=np.zeros((4, 3)), dtype=np.float64)
    yield sample([grid[0], 3], None, np.zeros(4, np.int8), casting="unsafe")


def stacks(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``stack``."""
    grid, other = numbers(dtype, 6).reshape(2, 3), np.ones((2, 3), np.float32)
    yield sample((grid, other))
    yield sample([grid, other], -1)
    yield sample((grid, other), axis=1, out=np.zeros((2, 2, 3), np.float32))
    yield sample((grid, other), axis=5)
    yield sample((grid, other[0]))
    yield sample((grid[0, 0], 1, 2))
    yield sample(grid, 1)
    yield sample(grid, -2, np.zeros((2, 3)))
    yield sample((grid, other), dtype=np.int8, casting="unsafe")
    yield sample([])


def rows(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``hstack`` and ``vstack``."""
    grid, other = numbers(dtype, 6).reshape(2, 3), np.ones((2, 3), np.int16)
    yield sample((grid, other))
    yield sample([grid[0], other[1]])
    yield sample([grid[0], other])
    yield sample((grid[0, 0], other[0, 0], 1))
    yield sample((grid[0], np.ones(2)))
    for items in (grid, grid[0], grid.reshape(1, 2, 3), grid[0, 0], grid[:0]):
        yield sample(items)
    yield sample((grid.reshape(1, 2, 3), other.reshape(1, 2, 3)), dtype=np.float64)


def columns(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``column_stack``."""
    grid = numbers(dtype, 6).reshape(3, 2)
    yield sample((grid[:, 0], np.ones(3, np.float32)))
    yield sample([grid, grid[:, 0]])
    yield sample((grid, np.ones(2)))
    yield sample((1, grid[0, 0], 2.5))
    for items in (grid, grid[0], grid.reshape(1, 3, 2), grid.reshape(1, 3, 2, 1)):
        yield sample(items)


def appends(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``append``."""
    grid = numbers(dtype, 6).reshape(3, 2)
    for values in (grid, 1, [1.5, 2], np.ones((1, 2), np.float32), 2j):
        yield sample(grid, values)
        yield sample(grid, values, axis=0)
    yield sample(grid[0, 0], 1)
    yield sample(grid[0, 0], 1, 0)


def blocks(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``block``."""
    grid, other = tame(dtype, 4).reshape(2, 2), np.ones((2, 1), np.float32)
    yield sample([[grid, other], [np.zeros((1, 3), np.int8)]])
    yield sample([grid, other])
    yield sample([[grid[0], 1], [2, 3, 4]])
    yield sample([grid[0], 1.5])
    yield sample(grid)
    yield sample(grid[0, 0])
    yield sample([[grid], other])
    yield sample([grid, other[:1]])
    yield sample([[[grid]], [[grid]]])
    yield sample((grid, grid))
    yield sample([[], []])
