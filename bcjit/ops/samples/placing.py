"""Samples for functions that put elements where an index or a mask says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import numbers, tame

__all__ = [
    "along_puts",
    "alongs",
    "choices",
    "diagonals",
    "masks",
    "pieces",
    "places",
    "puts",
    "selections",
]


def _stored(dtype: np.dtype[Any]) -> tuple[object, ...]:
    wide = numbers(np.dtype("f8"), 4)
    return (1, 2.5, 300, 1j, [1, 2], tame(dtype, 3), wide, tame(np.dtype("c8"), 2), tame(dtype, 0))


def puts(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``put``."""
    grid = tame(dtype, 12).reshape(3, 4)
    for values in _stored(dtype):
        yield sample(grid.T.copy(), [0, -1, 5], values)
    for mode in ("wrap", "clip", "raise", "other"):
        yield sample(grid.copy(), np.array([[1], [99]]), tame(dtype, 3), mode)
    yield sample(grid.copy(), 3, 1)
    yield sample(grid.copy(), [0.5], 1)
    yield sample(np.array(grid[0, 0]), 0, 1)


def places(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``place``."""
    grid = tame(dtype, 12).reshape(3, 4)
    for values in _stored(dtype):
        yield sample(grid.T.copy(), grid.T > 2, values)
    yield sample(grid.copy(), grid[:2] > 2, 1)
    yield sample([1], [True], 1)


def masks(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``putmask``."""
    grid = tame(dtype, 12).reshape(3, 4)
    for values in _stored(dtype):
        yield sample(grid.copy(), grid > 2, values)
    yield sample(grid.copy(), grid > 2, grid[::-1])
    yield sample(grid.copy(), grid[:2] > 2, 1)


def diagonals(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``fill_diagonal``."""
    grid = tame(dtype, 12).reshape(3, 4)
    for values in _stored(dtype):
        yield sample(grid.T.copy(), values)
    yield sample(tame(dtype, 12).reshape(6, 2), 1, wrap=True)
    yield sample(tame(dtype, 8).reshape(2, 2, 2), 1)
    yield sample(grid.reshape(3, 2, 2).copy(), 1)
    yield sample(grid[0].copy(), 1)
    yield sample(grid[:0].copy(), 1)


def alongs(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``take_along_axis``."""
    grid = numbers(dtype, 12).reshape(3, 4)
    yield sample(grid, np.array([[0, -1]] * 3), axis=1)
    yield sample(grid, np.array([[0, 1, 2, 1]]), 0)
    yield sample(grid, np.array([0, 11]), None)
    yield sample(grid, np.array([[0.5]]), 1)
    yield sample(grid, np.array([[7]]), 1)
    yield sample(grid, np.array([0]), 1)
    yield sample(grid, np.array([[0], [1]]), 1)


def along_puts(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``put_along_axis``."""
    grid, index = tame(dtype, 12).reshape(3, 4), np.array([[0], [-1], [2]])
    for values in _stored(dtype):
        yield sample(grid.copy(), index, values, 1)
    yield sample(grid.copy(), index, tame(dtype, 3).reshape(3, 1), axis=1)
    yield sample(grid.copy(), index * 9, 1, 1)
    yield sample(grid.copy(), index, 1, None)


def choices(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``choose``."""
    index, grid = np.array([0, 1, 1, 0]), numbers(dtype, 8).reshape(2, 4)
    yield sample(index, grid)
    yield sample(index, [grid[0], tame(np.dtype("f4"), 4)])
    yield sample(index, (grid[0, :1], grid))
    yield sample(index, [[1, 2, 3, 4], [5, 6, 7, 8]])
    yield sample(index * 7, grid, mode="clip")
    yield sample(index, grid, np.zeros(4, dtype))
    yield sample(index * 7, grid, out=np.zeros(4, dtype))
    yield sample(index, grid, np.zeros(3, dtype))
    yield sample(index, grid, np.zeros(4, np.longdouble))
    yield sample(index * 7, grid)
    yield sample(index * 0.5, grid)
    yield sample(np.array(1), [np.array(grid[0, 0]), np.array(grid[0, 1])])
    yield sample(index, [1, 2])
    yield sample(tame(dtype, 4), [grid[0], grid[1], grid[0], grid[1], grid[0], grid[1]])


def selections(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``select``."""
    grid, test = numbers(dtype, 12).reshape(3, 4), np.arange(4) % 2 == 0
    yield sample([test], [grid])
    yield sample([test, ~test[:, None]], [grid[0], 1], 2.5)
    yield sample((test, grid == 0), (grid, tame(np.dtype("f4"), 4)), default=grid[0])
    yield sample([test], [300], 1j)
    yield sample([test], [grid, grid])
    yield sample([np.arange(4)], [grid])
    yield sample([], [])
    yield sample([True], [grid[0, 0]], True)


def pieces(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``piecewise``."""
    grid = tame(dtype, 12).reshape(3, 4)
    yield sample(grid, [grid > 2, grid > 3], [1, 2])
    yield sample(grid, [grid > 2, grid > 3], [1, 2.5, 0])
    yield sample(grid, [grid > 2], (1,))
    yield sample(grid, [grid > 2], [1j])
    yield sample(grid, [grid > 2], [1, 2, 3])
    yield sample(grid, [grid[0] > 2], [1])
    yield sample(grid, grid > 2, [1])
