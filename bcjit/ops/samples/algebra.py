"""Samples for products and linear algebra."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import arrays, tame

__all__ = [
    "convolutions",
    "dots",
    "ffts",
    "inplace_products",
    "interps",
    "matmuls",
    "norms",
    "products",
    "searches",
    "solves",
    "squares",
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


def squares(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample functions of square matrices."""
    stack = tame(dtype, 18).reshape(2, 3, 3) + np.eye(3, dtype=dtype)
    yield sample(stack.astype(dtype))
    yield sample((stack[0] + stack[0].T).astype(dtype))
    yield sample(np.array(stack[0] @ stack[0].T).astype(dtype))
    yield sample(np.zeros((2, 2), dtype))
    yield sample(np.zeros((0, 0), dtype))
    yield sample(tame(dtype, 6).reshape(2, 3))
    yield sample(tame(dtype, 3))


def solves(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``solve``."""
    for one in squares(dtype):
        (matrix,) = one.args
        assert isinstance(matrix, np.ndarray)
        size = matrix.shape[-1]
        yield sample(matrix, tame(dtype, size))
        yield sample(matrix, tame(np.dtype("f8"), 2 * size).reshape(size, 2))
    yield sample(np.eye(3, dtype=dtype), tame(dtype, 4))


def norms(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``norm``."""
    for array in arrays(dtype):
        yield sample(array)
        yield sample(array, keepdims=True)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    for order in (None, 1, 2, np.inf, -np.inf, "fro"):
        yield sample(cube[0, 0], order)
        yield sample(cube[0], order)
        yield sample(cube, order, axis=1)
        yield sample(cube, order, (0, 2), keepdims=True)
        yield sample(cube, order)
    yield sample(cube, axis=-1, keepdims=True)
    yield sample(cube, axis=3)


def inplace_products(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``@=``."""
    grid = tame(dtype, 9).reshape(3, 3)
    yield sample(grid.copy(), grid)
    yield sample(tame(dtype, 6).reshape(2, 3), grid)
    yield sample(grid.copy(), tame(dtype, 6).reshape(3, 2))
    yield sample(grid.copy(), tame(dtype, 3))


def ffts(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``fft``."""
    for array in arrays(dtype):
        yield sample(array)
    grid = tame(dtype, 12).reshape(3, 4)
    yield sample(grid, axis=0)
    yield sample(grid, 6)
    yield sample(grid, n=3, axis=1)
    yield sample(grid, 0)
    yield sample(grid, axis=2)


def interps(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``interp``."""
    knots = np.arange(4.0)
    yield sample(tame(dtype, 6).reshape(2, 3), knots, tame(dtype, 4))
    yield sample(1.5, knots, tame(dtype, 4))
    yield sample(tame(dtype, 1)[0], knots, knots * 1j)
    yield sample(tame(dtype, 3), [0, 1, 2], [0.5, 1, 2])
    yield sample(tame(dtype, 3), knots, knots[:3])
    yield sample(tame(dtype, 3), knots.reshape(2, 2), knots)
    yield sample(tame(dtype, 3), knots[:0], knots[:0])


def searches(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``searchsorted``."""
    line = np.sort(tame(dtype, 6))
    for sought in (line[2], 1, tame(np.dtype("f4"), 4).reshape(2, 2), [1, 2]):
        yield sample(line, sought)
        yield sample(line, sought, side="right")
    yield sample(line.reshape(2, 3), 1)


def convolutions(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``convolve``."""
    long, short = tame(dtype, 6), tame(np.dtype("f4"), 3)
    for mode in ("full", "same", "valid"):
        yield sample(long, short, mode)
        yield sample(short, long, mode=mode)
        yield sample(long, long, mode)
    yield sample(long[:0], short)
    yield sample(long, 2)
