"""Samples for the methods of ufuncs that have no entry of their own; ``tests/test_ops_ufuncs.py`` uses them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import numbers, tame

__all__ = ["accumulate", "at", "outer", "reduce", "reduceat"]


def reduce(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ufunc.reduce``."""
    cube = numbers(dtype, 24).reshape(2, 3, 4)
    yield sample(cube)
    yield sample(cube, None)
    yield sample(cube, (0, 2))
    yield sample(cube, axis=1, keepdims=True, initial=1)
    yield sample(cube[:, :0], axis=1)
    yield sample(cube, 1, where=cube != 2)
    yield sample(cube[0, 0], dtype=np.float64, out=np.zeros(()))
    yield sample(cube[0, 0, 0])


def accumulate(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ufunc.accumulate``."""
    cube = numbers(dtype, 24).reshape(2, 3, 4)
    yield sample(cube)
    yield sample(cube, -1, out=np.zeros((2, 3, 4), np.complex128))
    yield sample(cube[:, :0], axis=1)
    yield sample(cube[0, 0, 0])


def reduceat(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ufunc.reduceat``."""
    cube = numbers(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, [0, 1, 0])
    yield sample(cube, np.array([1, 0]), -1)
    yield sample(cube, [0], axis=1, out=np.zeros((2, 1, 4)))
    yield sample(cube, [0, 2], (2,), np.float64)
    yield sample(cube, [7])
    yield sample(cube, [[0]])
    yield sample(cube, [0.5])
    yield sample(cube, np.zeros(0, np.intp))
    yield sample(cube[0, 0, 0], [0])


def outer(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ufunc.outer``."""
    grid = numbers(dtype, 6).reshape(2, 3)
    yield sample(grid, grid)
    yield sample(grid[0], tame(np.dtype(np.float32), 2))
    yield sample(grid[0, 0], 2)
    yield sample(grid, [1, 2], out=np.zeros((2, 3, 2), np.complex128))
    yield sample(grid[0], grid[1], where=np.array([True, False, True]), out=np.ones((3, 3)))
    yield sample(1, grid[:0])
    yield sample(grid, 1j, dtype=np.float32)
    yield sample(grid)


def at(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ufunc.at``."""
    grid = tame(dtype, 12).reshape(3, 4)
    yield sample(grid.copy(), [0, 1, 1])
    yield sample(grid[0].copy(), [0, 1, 1, 1], 2)
    yield sample(grid.copy(), [0, 1, 1], grid[0])
    yield sample(grid.copy(), (slice(None), [0, 0]), np.float32(2.5))
    yield sample(grid.copy(), (np.array([0, 2, 0]), np.array([1, 1, 1])), tame(dtype, 3))
    yield sample(grid.copy(), grid > 2, grid[0, 0])
    yield sample(grid[::-1, ::2].copy(), [0, 3], 1)
    yield sample(grid.copy(), [0], np.ones(3))
    yield sample(2, [0], 1)
