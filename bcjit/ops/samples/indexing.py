"""Samples for reading and writing by index, sorting, taking and diagonals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import arrays, calls, each, numbers, of_arrays, tame

__all__ = [
    "getitems",
    "key_sorts",
    "partition_methods",
    "partitions",
    "setitems",
    "sort_methods",
    "sorts",
    "takes",
    "traces",
    "triangles",
]

_BASIC: Final[tuple[object, ...]] = (
    0,
    -1,
    9,
    np.int64(1),
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(5, 2),
    slice(-100, 100),
    slice(None, None, -1),
    slice(None, None, 2),
    slice(3, 0, -2),
    slice(-2, None, -1),
    slice(1, 3, 0),
    slice(7, 9),
    Ellipsis,
    None,
    (),
    (0, 0),
    (0, slice(None)),
    (slice(1, 2), 1),
    (Ellipsis, 0),
    (Ellipsis, 0, 0),
    (None, Ellipsis, 0, None),
    (slice(None), None, slice(None, None, -1)),
    (0, Ellipsis, Ellipsis),
    (0, 0, 0, 0),
    1.0,
    [0, 1],
    (0, 0, 0),
)


def getitems(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``x[index]``."""
    for array in arrays(dtype):
        for index in _BASIC:
            yield sample(array, index)
    grid = tame(dtype, 12).reshape(3, 4)
    for index in (np.array([2, 0]), np.array([[1, -1]]), (np.array([0, 1]), np.array([[1], [2]]))):
        yield sample(grid, index)
    yield sample(grid, (np.array([0, 1]), 2))
    yield sample(grid, np.array([5]))
    yield sample(grid, np.array([0.5]))
    yield sample(grid, grid > 2)


def setitems(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``x[index] = value``."""
    for index in _BASIC:
        yield sample(tame(dtype, 12).reshape(3, 4), index, tame(dtype, 4)[1])
    grid = tame(dtype, 12).reshape(3, 4)
    values: list[object] = [1, 2.5, 1e300, 300, True, 1j, [1, 2, 3, 4]]
    values += [tame(dtype, 4), tame(dtype, 3), tame(dtype, 1), np.array(1, dtype)]
    values += [numbers(np.dtype("f8"), 4), numbers(np.dtype("i8"), 4), tame(np.dtype("c8"), 4)]
    values.append(tame(dtype, 12).reshape(1, 3, 4))
    for value in values:
        yield sample(grid.copy(), slice(None), value)
        yield sample(grid.copy(), (0, 1), value)
        yield sample(grid.copy(), (Ellipsis, slice(None, None, -1)), value)
        yield sample(grid.copy(), grid > 2, value)
        yield sample(grid.copy(), np.array([0, 2, 0]), value)
    yield sample(grid.copy(), grid.T > 2, 1)
    yield sample(grid.copy(), (np.array([0, 1]), np.array([1, 9])), 1)
    yield sample(grid[0, 0], 0, 1)


# Sorting, taking, diagonals

sorts: Final = calls(of_arrays(), of_arrays(0), of_arrays(axis=None), of_arrays(-1, kind="stable"))
sort_methods: Final = calls(
    of_arrays(), of_arrays(0), of_arrays(-1, "stable"), of_arrays(stable=False)
)
partition_methods: Final = calls(of_arrays(0), of_arrays(kth=-1, axis=0), of_arrays([0, 9]))
partitions: Final = calls(partition_methods, of_arrays((0,), None))
traces: Final = each(sample(), sample(1), sample(-1, 1, 2), sample(axis1=0, axis2=-1), sample(9))
triangles: Final = each(sample(), sample(1), sample(k=-1))


def takes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``take``."""
    for array in arrays(dtype):
        for index in (0, np.array([0, -1]), [0, 0], np.array([[1]]), np.array(0)):
            yield sample(array, index)
            yield sample(array, index, 0)
            yield sample(array, index, axis=-1)
    for bad in (np.array([9]), np.array([0.5]), np.array([True])):
        yield sample(tame(dtype, 4), bad)
    grid, index = tame(dtype, 12).reshape(3, 4), np.array([[5, -1]])
    for mode in ("wrap", "clip", "raise", "other"):
        yield sample(grid, index, 1, mode=mode)
        yield sample(grid, index[0], 0, np.zeros((2, 4), dtype), mode)
        yield sample(grid, [0, -1], 0, np.zeros((2, 4), dtype), mode)
    yield sample(grid, [0], 0, np.zeros((2, 4), dtype))
    yield sample(grid, [0], 0, np.zeros((1, 4), np.longdouble))


def key_sorts(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``lexsort``."""
    grid = tame(dtype, 12).reshape(3, 4)
    yield sample((grid[0], grid[1]))
    yield sample([grid, grid[::-1]], 0)
    yield sample(grid)
    yield sample(grid[:0])
    yield sample(keys=(grid[0], [1, 2, 3, 4]), axis=-1)
    yield sample((grid[0], grid[1, :2]))
    yield sample((grid[0, 0], 1))
