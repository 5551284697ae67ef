"""Samples for functions whose results have as many elements as something is true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import arrays, calls, constants, each_array, numbers, tame

__all__ = [
    "compress_methods",
    "compressions",
    "deletions",
    "extracts",
    "insertions",
    "nonzeros",
    "positions",
    "trims",
]

nonzeros: Final = each_array
positions: Final = calls(each_array, constants(sample([0, 1, 2])))


def extracts(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``extract``."""
    grid = tame(dtype, 12).reshape(3, 4)
    yield sample(grid > 2, grid.T)
    yield sample([True, False, True], grid)
    yield sample(np.ones(13), grid)
    yield sample(True, grid[0, 0])


def _conditions() -> tuple[object, ...]:
    return (
        [True, False, True],
        np.arange(3) % 2,
        np.ones(9, bool),
        np.ones((1, 1), bool),
        np.zeros(0),
    )


def compressions(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``compress``."""
    for one in compress_methods(dtype):
        yield sample(one.args[1], one.args[0], *one.args[2:], **one.kwargs)
    yield sample([True], numbers(dtype, 1)[0], 0)


def compress_methods(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample the method ``compress``."""
    grid = numbers(dtype, 12).reshape(3, 4)
    for condition in _conditions():
        yield sample(grid, condition)
        yield sample(grid, condition, 0)
    yield sample(grid, [True, False], -1)
    yield sample(grid, [True, False], 2)
    yield sample(grid, [True], 0, np.zeros((1, 4), dtype))
    yield sample(grid, [True], 0, np.zeros((2, 4), dtype))
    yield sample(grid, [True], 0, out=np.zeros((1, 4), np.longdouble))
    yield sample(np.array(grid[0, 0]), [True])


def deletions(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``delete``."""
    for array in arrays(dtype):
        yield sample(array, 0)
    grid = numbers(dtype, 12).reshape(3, 4)
    found = (-1, 9, [0, 0, 2], np.array([1]), np.array(2), slice(1, None), slice(None, None, -2))
    for obj in (*found, [], np.arange(4) > 1, True, slice(2, 2), np.int64(1)):
        yield sample(grid, obj, 1)
    yield sample(grid, 1, axis=0)
    yield sample(grid, 1, 2)


def insertions(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``insert``."""
    for array in arrays(dtype):
        yield sample(array, 0, tame(dtype, 1)[0])
    grid = tame(dtype, 12).reshape(3, 4)
    row = tame(dtype, 3)
    for obj in (1, -1, 9, [1], [0, 2], np.array([0, 0, 4]), np.array(1), slice(0, 2), slice(0, 1)):
        yield sample(grid, obj, row, 1)
        yield sample(grid, obj, row.reshape(3, 1), axis=1)
        yield sample(grid, obj, 2.5, 0)
    yield sample(grid, [True, False], 1)
    yield sample(grid, 0, 1j)
    yield sample(grid, 0, grid.reshape(1, 3, 4), 0)


def trims(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``trim_zeros``."""
    line = np.array([0, 0, 2, 0, 1, 0], dtype)
    yield sample(line)
    yield sample(line[::-1], "f")
    yield sample(line, trim="B")
    yield sample(line[:2])
    yield sample(line[:0], "b")
    yield sample(line, "x")
    yield sample([0, 1])
    yield sample(line.reshape(2, 3))
