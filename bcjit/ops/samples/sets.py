"""Samples for sets of elements, and counts of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import calls, each_array, numbers, tame

__all__ = ["bins", "counts", "differences", "intersections", "memberships", "pairs", "uniques"]


def _unique_options(dtype: np.dtype[Any]) -> Iterator[Sample]:
    grid = tame(dtype, 12).reshape(4, 3)
    yield sample(grid, True)
    yield sample(grid, return_inverse=True, return_counts=True)
    yield sample(numbers(dtype, 7), True, True, True, equal_nan=False)
    yield sample(grid, axis=0, return_counts=True)
    yield sample(grid, axis=-1)
    yield sample(grid, axis=0, return_inverse=True)
    yield sample(grid, axis=2)
    yield sample([3, 1, 1])
    yield sample(np.array(grid[0, 0]), return_inverse=True)


uniques: Final = calls(each_array, _unique_options)


def pairs(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a set function of two arrays."""
    left = tame(dtype, 6).reshape(2, 3)
    for right in (left, numbers(dtype, 4), tame(np.dtype("f4"), 4), [2, 7], np.zeros(0, dtype), 2):
        yield sample(left, right)


def differences(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``setdiff1d``."""
    yield from pairs(dtype)
    yield sample(tame(dtype, 3), tame(dtype, 2), True)


def intersections(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``intersect1d``."""
    yield from differences(dtype)
    yield sample(tame(dtype, 3), tame(dtype, 2), return_indices=True)


def memberships(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``isin``."""
    yield from pairs(dtype)
    grid = tame(dtype, 6).reshape(2, 3)
    yield sample(grid, grid[0], invert=True, kind="sort")
    yield sample(grid, grid[0], kind="table")
    yield sample(grid[0, 0], grid)
    yield sample(2, [1, 2], assume_unique=True)


def counts(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``bincount``."""
    line = tame(dtype, 6)
    yield sample(line)
    yield sample(line, minlength=9)
    yield sample(line, np.arange(6.0), 2)
    yield sample(line, tame(dtype, 6))
    yield sample(np.array([1, 2]), line)
    yield sample(line.reshape(2, 3))
    yield sample(np.array([-1, 2]))
    yield sample(np.zeros(0, np.intp))


def bins(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``digitize``."""
    edges = np.array([0, 1, 3])
    for array in (tame(dtype, 6).reshape(2, 3), numbers(dtype, 4), tame(dtype, 1)[0]):
        yield sample(array, edges)
        yield sample(array, edges[::-1], right=True)
    yield sample(edges, np.sort(tame(dtype, 4)), True)
    yield sample(edges, np.array([1, 0, 2]))
    yield sample(2, edges)
    yield sample(edges, edges.reshape(3, 1))
