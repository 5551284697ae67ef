"""Samples for averages, order statistics, histograms and the functions that leave NaN out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import Array, numbers, tame

__all__ = [
    "averages",
    "bin_edges",
    "correlations",
    "covariances",
    "histograms",
    "histograms_2d",
    "medians",
    "nan_arg_extremes",
    "nan_extremes",
    "nan_means",
    "nan_scans",
    "nan_sums",
    "nan_variances",
    "percentiles",
    "quantiles",
]


def _grids(dtype: np.dtype[Any]) -> tuple[Array | np.generic, ...]:
    """Return a grid with NaN in it, one with a row of NaN, one of no rows, and a scalar."""
    grid = tame(dtype, 12).reshape(3, 4)
    full = grid.copy()
    if dtype.kind in "fc":
        grid[1, 2] = np.nan
        full[1] = np.nan
    return grid[:, ::-1], full, grid[:0], np.array(grid[0, 1]), grid[0, 0]


def _axes(dtype: np.dtype[Any]) -> Iterator[tuple[Array | np.generic, dict[str, object]]]:
    for array in _grids(dtype):
        yield array, {}
        yield array, {"axis": 1}
    cube = numbers(dtype, 24).reshape(2, 3, 4)
    yield cube, {"axis": -1, "keepdims": True}


def _with_tuples(dtype: np.dtype[Any]) -> Iterator[tuple[Array | np.generic, dict[str, object]]]:
    yield from _axes(dtype)
    yield tame(dtype, 24).reshape(2, 3, 4), {"axis": (0, 2)}


def nan_extremes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``nanmax``."""
    for array, kwargs in _with_tuples(dtype):
        yield sample(array, **kwargs)
    yield sample(tame(dtype, 6).reshape(2, 3), 1, out=np.zeros(2, dtype))


def nan_sums(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``nansum``."""
    yield from nan_extremes(dtype)
    yield sample(tame(dtype, 6).reshape(2, 3), 1, np.float64, initial=2)


def nan_scans(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``nancumsum``."""
    for array in _grids(dtype):
        yield sample(array)
        yield sample(array, 1)
    yield sample(tame(dtype, 6).reshape(2, 3), -1, np.float64)


def nan_arg_extremes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``nanargmax``."""
    for array, kwargs in _axes(dtype):
        yield sample(array, **kwargs)


def nan_means(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``nanmean``."""
    for array, kwargs in _with_tuples(dtype):
        yield sample(array, **kwargs)
    grid = _grids(dtype)[0]
    yield sample(grid, 1, np.float64)
    yield sample(grid, 1, np.int64)
    yield sample(grid, 1, out=np.zeros(3, np.float32))
    yield sample(grid, 1, out=np.zeros(3, np.int32))


def nan_variances(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``nanvar``."""
    yield from nan_means(dtype)
    grid = _grids(dtype)[0]
    yield sample(grid, 1, ddof=1)
    yield sample(grid, ddof=0.5, keepdims=True)
    yield sample(grid, 0, ddof=3)
    yield sample(grid, correction=1)
    yield sample(grid, ddof=1, correction=1)
    yield sample(grid, 1, mean=np.ones((3, 1), np.float32))
    yield sample(grid, 1, mean=np.ones((2, 3, 4), np.float32))


def medians(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``median``."""
    for array, kwargs in _with_tuples(dtype):
        yield sample(array, **kwargs)
    yield sample(np.full((2, 2), np.nan).astype(dtype if dtype.kind in "fc" else np.float16))
    yield sample(tame(dtype, 6).reshape(2, 3), axis=(), keepdims=True)
    yield sample(tame(dtype, 5), axis=1)
    yield sample(tame(dtype, 5), overwrite_input=True)


def _quantiles(dtype: np.dtype[Any], whole: float) -> Iterator[Sample]:
    """Sample a quantile, of a range from 0 to `whole`."""
    half = whole / 2
    yield sample(np.full((2, 2), np.nan).astype(dtype if dtype.kind in "fc" else np.float16), half)
    for array, kwargs in _with_tuples(dtype):
        yield sample(array, half, **kwargs)
    grid = tame(dtype, 6).reshape(2, 3)
    for q in ([0.0, half], np.array([[0.5, half]]), np.float32(half), 0, int(whole), (0, 1)):
        yield sample(grid, q)
        yield sample(grid, q, 1, keepdims=True)
    for method in ("lower", "midpoint", "inverted_cdf", "hazen"):
        yield sample(grid, half, method=method)
        yield sample(grid, [half, half], 0, method=method)
    yield sample(grid, half, method="unknown")
    yield sample(grid, 2 * whole)
    yield sample(grid, half, weights=np.ones((2, 3)), method="inverted_cdf")
    yield sample(grid, half, axis=1, weights=np.arange(3) + 1, method="inverted_cdf")


def percentiles(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``percentile``."""
    yield from _quantiles(dtype, 100.0)


def quantiles(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``quantile``."""
    yield from _quantiles(dtype, 1.0)


def averages(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``average``."""
    for array, kwargs in _with_tuples(dtype):
        yield sample(array, **kwargs)
        yield sample(array, returned=True, **kwargs)
    grid = tame(dtype, 6).reshape(2, 3)
    yield sample(grid, weights=grid)
    yield sample(grid, weights=grid[0])
    yield sample(grid, 1, [1, 2, 3], returned=True)
    yield sample(grid, 0, np.ones(2, np.float32), True, keepdims=True)
    yield sample(grid, (1, 0), np.ones((3, 2)))
    yield sample(grid, 1, np.zeros(3))
    yield sample(grid, 1, np.ones(2))
    yield sample(grid[:, :0], 0, returned=True)


def correlations(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``corrcoef``."""
    grid = np.array([[1, 2, 1, 3], [4, 0, 2, 2]], dtype)
    for array in (grid, grid[0], grid[:, :1], grid[:0], grid[0, 0]):
        yield sample(array)
        yield sample(array, rowvar=False)
    yield sample(grid, grid[1])
    yield sample(grid, grid[:, :3])
    yield sample(grid.T, grid[0], rowvar=False)
    yield sample(grid, dtype=np.float32)
    yield sample(grid, dtype=np.int64)


def covariances(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``cov``."""
    yield from correlations(dtype)
    grid = tame(dtype, 8).reshape(2, 4)
    yield sample(grid, bias=True)
    yield sample(grid, ddof=3)
    yield sample(grid, ddof=4)
    yield sample(grid, fweights=[1, 2, 1, 1], aweights=np.ones(4, np.float32))
    yield sample(grid[0], aweights=grid[1] + 1, ddof=0)
    yield sample(grid.reshape(1, 2, 4))


def histograms(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``histogram``."""
    grid = tame(dtype, 12).reshape(3, 4)
    edges = np.array([0, 2, 3, 8])
    for array in (grid, grid[0, 0], grid[:0], numbers(dtype, 7)):
        yield sample(array)
    yield sample(grid, 4, (0, 3))
    yield sample(grid, bins=4, range=(0.5, np.float32(3)))
    yield sample(grid, 3, density=True)
    yield sample(grid, 3, weights=np.ones((3, 4), np.float32))
    yield sample(grid, edges)
    yield sample(grid, bins=edges.astype(np.float32), density=True)
    yield sample(grid, [0, 1, 2.5])
    yield sample(grid, edges.reshape(2, 2))
    yield sample(grid, 0)
    yield sample(grid, "auto")
    yield sample(grid, bins="fd", range=(0, 3))
    yield sample(grid, "auto", weights=grid)
    yield sample(grid, "unknown")


def bin_edges(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``histogram_bin_edges``."""
    for one in histograms(dtype):
        if "density" not in one.kwargs:
            yield one


def histograms_2d(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``histogram2d``."""
    line = tame(dtype, 6)
    other = np.arange(6.0)
    yield sample(line, other)
    yield sample(line, line, 3)
    yield sample(line, other, [2, 3], [[0, 5], [0.0, 6.0]])
    yield sample(line, other, (2, 3), density=True)
    yield sample(line, other, bins=2, weights=other)
    yield sample(line, other, [0.0, 1.0, 2.5])
    yield sample(line, other, np.array([0.0, 1.0, 2.5]))
    yield sample(line, other[:5])
    yield sample(line.reshape(2, 3), other)
    yield sample(line, other, 0)
