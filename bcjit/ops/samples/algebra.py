"""Samples for products of matrices, interpolation and search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import tame

__all__ = [
    "dots",
    "inplace_products",
    "matmuls",
    "products",
    "searches",
]


def products(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``dot``, ``matmul`` and ``inner``."""
    cube, grid, line = (
        tame(dtype, 24).reshape(2, 3, 4),
        tame(dtype, 12).reshape(4, 3),
        tame(dtype, 4),
    )
    for left, right in (
        (grid, grid.T),
        (line, line),
        (line, grid),
        (cube, grid),
        (cube, line),
        (cube, cube),
        (cube, cube.transpose(0, 2, 1)),
        (cube[:1], tame(np.dtype("f4"), 24).reshape(2, 4, 3)),
        (grid, tame(np.dtype("i2"), 3)),
        (grid.reshape(1, 1, 4, 3), cube),
        (np.array(line[0]), line),
        (line[0], line[1]),
        (grid, 2),
        (2.0, line),
        (np.zeros((0, 3), dtype), grid.T),
        (np.zeros((3, 0), dtype), np.zeros((0, 2), dtype)),
        (line, [1, 2, 3, 4]),
    ):
        yield sample(left, right)


def matmuls(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.matmul``."""
    yield from products(dtype)
    grid = tame(dtype, 12).reshape(4, 3)
    yield sample(grid, grid.T, out=np.zeros((4, 4), np.float64))
    yield sample(grid, grid.T, dtype=np.float64)
    yield sample(grid, grid.T, np.zeros((3, 4), dtype))


def dots(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.dot``."""
    yield from products(dtype)
    grid = tame(dtype, 12).reshape(4, 3)
    yield sample(grid, grid.T, out=np.zeros((4, 4), dtype))
    yield sample(grid, grid.T, np.zeros((4, 4), np.float16))


def inplace_products(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``@=``."""
    grid = tame(dtype, 9).reshape(3, 3)
    yield sample(grid.copy(), grid)
    yield sample(tame(dtype, 6).reshape(2, 3), grid)
    yield sample(grid.copy(), tame(dtype, 6).reshape(3, 2))
    yield sample(grid.copy(), tame(dtype, 3))


def searches(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``searchsorted``."""
    line = np.sort(tame(dtype, 6))
    for sought in (line[2], 1, tame(np.dtype("f4"), 4).reshape(2, 2), [1, 2]):
        yield sample(line, sought)
        yield sample(line, sought, side="right")
    yield sample(line.reshape(2, 3), 1)
    shuffled = line[[3, 0, 5, 1, 4, 2]]
    yield sample(shuffled, line, "right", np.argsort(shuffled))
    yield sample(shuffled, line, sorter=[0.5])
    yield sample(shuffled, line, sorter=[0, 9])
    yield sample(line, 1, "middle")
