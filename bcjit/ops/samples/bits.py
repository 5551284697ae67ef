"""Samples for packed bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import numbers

__all__ = ["packed", "unpacked"]


def packed(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``packbits``."""
    grid = numbers(dtype, 20).reshape(2, 10)
    for array in (grid, grid[:, ::2], grid[:0], np.array(grid[0, 1]), grid[0, 1]):
        yield sample(array)
        yield sample(array, -1, "little")
    yield sample(grid, axis=2)
    yield sample([0, 1, 1])


def unpacked(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``unpackbits``, which takes bytes only."""
    yield from packed(dtype)
    grid = numbers(np.dtype(np.uint8), 4).reshape(2, 2)
    for count in (0, 3, 20, -3, -16, -40, None):
        yield sample(grid, 1, count)
        yield sample(grid, count=count, bitorder="little")
