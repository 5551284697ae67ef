"""Samples for functions of floats and complex numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import calls, each_array, numbers, of_arrays, tame

__all__ = ["angles", "each_array", "replaced", "stored", "unwrapped"]

angles: Final = calls(each_array, of_arrays(deg=True), of_arrays(1))


def stored(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a function that has out."""
    yield from each_array(dtype)
    grid = numbers(dtype, 6).reshape(2, 3)
    yield sample(grid, np.zeros((2, 3)))
    yield sample(grid[0], out=np.zeros((2, 3), np.complex128))
    yield sample(grid, out=np.zeros(3))
    yield sample([1.5, -2.5])
    yield sample(float("inf"))


def replaced(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``nan_to_num``."""
    for array in (numbers(dtype, 6).reshape(2, 3), np.array(numbers(dtype, 1)[0])):
        yield sample(array)
        yield sample(array.copy(), copy=False)
        yield sample(array, nan=7, posinf=2.5, neginf=-1)
        yield sample(array, True, 0.0, True)
        yield sample(array, nan=1j)
    yield sample(numbers(dtype, 6)[::-2], copy=False)
    yield sample(numbers(dtype, 1)[0])
    yield sample(numbers(dtype, 1)[0], copy=False)
    yield sample([1.0, 2.0])
    yield sample(2.5)


def unwrapped(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``unwrap``."""
    grid = (tame(dtype, 12) * 2).astype(dtype).reshape(3, 4)
    yield sample(grid)
    yield sample(grid, axis=0)
    yield sample(grid, 1.5)
    yield sample(grid, period=4)
    yield sample(grid, period=3)
    yield sample(grid[:, :0])
    yield sample(grid[0, 0])
    yield sample(grid, axis=2)
