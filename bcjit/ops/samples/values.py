"""Arrays in every dtype, shape and layout, and ways to build samplers from them; knows no op."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, Sampler, sample

__all__ = [
    "DTYPES",
    "Array",
    "arrays",
    "calls",
    "constants",
    "each",
    "each_array",
    "grids",
    "numbers",
    "of_arrays",
    "tame",
]

Array = np.ndarray[Any, Any]


DTYPES: Final = tuple(
    np.dtype(code)
    for code in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
)


def numbers(dtype: np.dtype[Any], size: int) -> Array:
    """Return ``size`` elements of a dtype, the extreme ones first."""
    if dtype.kind == "b":
        return np.equal(np.arange(size) % 3, 0)
    small = (np.arange(size) % 7 - 2).astype(dtype)
    if dtype.kind in "iu":
        extremes = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min, 1], dtype)
    else:
        info = np.finfo(dtype)
        values = [np.nan, info.max, -np.inf, info.tiny, -0.0, info.min]
        extremes = np.array(values, dtype)
        small = small + np.array(0.25, dtype)
    result = small.copy()
    result[: min(size, len(extremes))] = extremes[:size]
    return result


def tame(dtype: np.dtype[Any], size: int) -> Array:
    """Return ``size`` small positive elements of a dtype."""
    return (np.arange(size) % 5 + 1).astype(dtype)


def arrays(dtype: np.dtype[Any]) -> tuple[Array | np.generic, ...]:
    """Return arrays of every kind of shape and layout, and a scalar."""
    grid = numbers(dtype, 24)
    return (
        grid[:7],
        grid.reshape(4, 6)[::2, ::-1],
        grid.reshape(2, 3, 4).transpose(2, 0, 1),
        grid.reshape(4, 6, order="F"),
        grid[5:6],
        grid[5:6].reshape(1, 1),
        np.array(grid[2]),
        tame(dtype, 6).reshape(2, 3),
        np.zeros(0, dtype),
        np.zeros((0, 3), dtype),
        grid[6],
    )


def of_arrays(*args: object, **kwargs: object) -> Sampler:
    """Return a sampler of calls with each array first and then these arguments."""

    def sampler(dtype: np.dtype[Any]) -> Iterator[Sample]:
        for array in arrays(dtype):
            yield sample(array, *args, **kwargs)

    return sampler


def each_array(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample calls with an array only."""
    for array in arrays(dtype):
        yield sample(array)


def calls(*samplers: Sampler) -> Sampler:
    """Return a sampler of all calls of several."""

    def sampler(dtype: np.dtype[Any]) -> Iterator[Sample]:
        for one in samplers:
            yield from one(dtype)

    return sampler


def constants(*rows: Sample) -> Sampler:
    """Return a sampler of these calls, whatever the dtype."""
    return lambda _: rows


def grids(dtype: np.dtype[Any]) -> tuple[Array | np.generic, ...]:
    """Return a few arrays of 0, 1 and 3 axes, and a scalar."""
    cube = numbers(dtype, 24).reshape(2, 3, 4)
    return (cube, cube.transpose(2, 0, 1), cube[:, ::-1, ::2], cube[:0], cube[0, 0, 0], cube[0, 0])


def each(*rows: Sample) -> Sampler:
    """Return a sampler of calls with each of some arrays first and then each of these rows."""

    def sampler(dtype: np.dtype[Any]) -> Iterator[Sample]:
        for array in (*grids(dtype), np.array(tame(dtype, 1)[0])):
            for one in rows:
                yield sample(array, *one.args, **one.kwargs)

    return sampler
