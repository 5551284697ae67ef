"""Samples for ``np.pad``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import numbers, tame

__all__ = ["pads"]

_MODES = ("edge", "wrap", "reflect", "symmetric", "linear_ramp", "maximum", "mean", "median")


def pads(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``pad``."""
    grid = numbers(dtype, 6).reshape(2, 3)
    row = tame(dtype, 4)
    for width in (1, (0, 2), ((1, 2), (0, 1)), ((2,),), [[1], [0]], -1, 1.5, ((1, 2, 3),), ()):
        yield sample(grid, width)
    for value in (2, 300, -1, 2.5, 1j, (1, 2), ((1, 2), (3, 4)), (1, 2.5), row[0], row[:2]):
        yield sample(grid, 1, constant_values=value)
    for mode in _MODES:
        yield sample(row, (2, 1), mode)
        yield sample(row, 9, mode)
        yield sample(tame(dtype, 6).reshape(2, 3), ((1, 0), (2, 2)), mode=mode)
    yield sample(grid, 0, "empty")
    yield sample(row[:1], 2, "reflect")
    yield sample(row[:0], (0, 1), "edge")
    yield sample(grid[:0], ((0, 0), (1, 1)), "wrap")
    yield sample(row, 2, "reflect", reflect_type="odd")
    yield sample(row, 2, "minimum", stat_length=2)
    yield sample(row, 1, "edge", stat_length=2)
    yield sample(row, 1, "nonsense")
    yield sample(row[0], 1)
    yield sample(row[:1].reshape(()), 1)
    yield sample(row[:1].reshape(()), 1, "wrap")
    yield sample([1, 2.5], 1)
