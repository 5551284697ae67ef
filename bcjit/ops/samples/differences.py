"""Samples for differences, gradients and interpolation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import Array, calls, numbers, of_arrays, tame

__all__ = ["cumulative", "diffs", "flat_diffs", "gradients", "interps", "trapezoids", "windows"]


def _grid(dtype: np.dtype[Any]) -> Array:
    return tame(dtype, 12).reshape(3, 4)


def _edges(dtype: np.dtype[Any]) -> Iterator[Sample]:
    grid = _grid(dtype)
    yield sample(grid, 0)
    yield sample(grid, prepend=0)
    yield sample(grid, axis=0, append=grid[:2], prepend=np.float32(1.5))
    yield sample(grid, 2, 0, grid[:1].astype(np.complex128))
    yield sample(grid, prepend=grid[:1])
    yield sample(grid, append=grid[0])


diffs: Final = calls(
    of_arrays(), of_arrays(2), of_arrays(axis=0), of_arrays(-1), of_arrays(1, 5), _edges
)


def flat_diffs(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ediff1d``."""
    grid = _grid(dtype)
    for array in (grid, grid[:0], grid[0, 0]):
        yield sample(array)
    yield sample(grid, to_begin=1)
    yield sample(grid, [1, 2], np.ones((1, 2), dtype))
    yield sample(grid, 2.5)
    yield sample(grid[:0], to_begin=np.float32(1))


def gradients(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``gradient``."""
    grid, line = numbers(dtype, 20).reshape(4, 5)[1:], tame(dtype, 4)
    yield sample(grid)
    yield sample(line)
    for spacing in (2, 0.5, True, 1j, 0, np.float32(0.5), np.array(2.0), line[1]):
        yield sample(line, spacing)
        yield sample(line, spacing, edge_order=2)
    yield sample(grid, 2.0, edge_order=2)
    yield sample(grid, 2.0, 3, axis=(1, 0))
    yield sample(grid, axis=-1)
    yield sample(grid, 1.0, 2.0, 3.0)
    yield sample(grid, axis=2)
    yield sample(line, edge_order=3)
    yield sample(line[:2], edge_order=2)
    yield sample(line[:2])
    yield sample(grid, np.array([1.0, 2.0, 4.0]), 0.5)
    yield sample(grid, np.array([0, 1, 2]), [1, 2, 4, 8, 9], edge_order=2)
    yield sample(line, np.ones(3))
    yield sample(line, np.array([1, 2, 4, 5j]))
    yield sample(line[0])


def trapezoids(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``trapezoid``."""
    grid = _grid(dtype)
    for array in (grid, grid[0], grid[:0], grid[:, :1], grid[0, 0]):
        yield sample(array)
        yield sample(array, axis=0)
    yield sample(grid, dx=0.5)
    yield sample(grid, dx=np.float32(2))
    yield sample(grid, np.array([0, 1, 3, 7]))
    yield sample(grid, np.array([0.5, 1, 3], np.float32), axis=0)
    yield sample(grid, grid)
    yield sample(grid, np.ones(3))


def cumulative(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``cumulative_sum``."""
    grid = _grid(dtype)
    for array in (grid, grid[0], grid[:0], grid[0, 0]):
        yield sample(array)
        yield sample(array, axis=0, include_initial=True)
    yield sample(grid, axis=1, dtype=np.float32, include_initial=True)
    yield sample(grid, axis=1, out=np.zeros((3, 4), np.float64))


def interps(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``interp``."""
    line, points = np.arange(5).astype(dtype), np.array([[-1.0, 0.5], [2.25, 9.0]])
    knots = np.array([0.0, 1.0, 2.0, 4.0, 8.0])
    yield sample(points, knots, line)
    yield sample(line, knots, knots)
    yield sample(line[1], knots, line)
    yield sample(0.5, knots, line, 1, right=2.5)
    yield sample(points, knots, line, left=np.float64(-1))
    yield sample(points, knots, line, period=8)
    yield sample(points, knots, line, period=0)
    yield sample(points, knots, line[:4])
    yield sample(points, knots[:0], line[:0])
    yield sample(points, knots.reshape(1, 5), line)
    yield sample(1j, knots, line)


def windows(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``sliding_window_view``."""
    grid = _grid(dtype)
    for array in (grid, grid[::2, ::-1], grid[:0], grid[0, 0]):
        yield sample(array, 2, 1)
    yield sample(grid, (2, 3))
    yield sample(grid, (2, 2), (1, 1))
    yield sample(grid, (1,), axis=0)
    yield sample(grid, 0, -1)
    yield sample(grid, 5, -1)
    yield sample(grid, 2)
    yield sample(grid, -1, 0)
    yield sample(grid, (3, 4), writeable=True)
