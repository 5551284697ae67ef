"""Samples for ``np.fft``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import arrays, tame

__all__ = ["frequencies", "lines", "planes", "shifts", "volumes"]


def lines(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample transforms of one axis."""
    for array in arrays(dtype)[-5:]:
        yield sample(array)
    grid = tame(dtype, 12).reshape(3, 4)
    yield sample(grid, axis=0)
    yield sample(grid, 6, norm="ortho")
    yield sample(grid, n=3, axis=1, norm="forward")
    yield sample(grid.astype(np.result_type(dtype, np.longdouble)), norm="backward")
    yield sample(grid, 0)
    yield sample(grid, axis=2)
    yield sample(grid, norm="unitary")
    yield sample(grid[:, :3], 4, out=np.zeros((3, 4), np.complex64))
    yield sample(grid, 4, out=np.zeros((3, 3), np.complex128))
    yield sample(grid[:1], 4, out=np.zeros((3, 4), np.complex128))
    yield sample(grid, 4, out=np.zeros((3, 4), np.float64))


def planes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample transforms of two axes."""
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube)
    yield sample(cube, (2, 5), norm="ortho")
    yield sample(cube, axes=(0, 1))
    yield sample(cube, [-1, 2], [0, -1])
    yield sample(cube, out=np.zeros((2, 3, 4), np.complex128))
    yield sample(cube, out=np.zeros((2, 3, 6), np.float64))
    yield sample(cube[0, 0])


def volumes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample transforms of any axes."""
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube)
    yield sample(cube, axes=(1,), norm="forward")
    yield sample(cube, (3, 2, 4), (0, 1, 2))
    yield sample(np.array(cube[0, 0, 0]))
    yield sample(cube[0], (2, 2))
    yield sample(cube, (2,), (0, 1))
    yield sample(cube[:, :0])
    yield sample(cube, axes=(0, 0))
    yield sample(cube[0], out=np.zeros((3, 4), np.complex128))


def frequencies(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``fftfreq``."""
    yield sample(5)
    yield sample(6, 0.25)
    yield sample(np.int8(4), d=2)
    yield sample(0)
    yield sample(3, 0.0)
    yield sample(4, tame(dtype, 1)[0])


def shifts(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``fftshift``."""
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube)
    yield sample(cube, -1)
    yield sample(cube, (0, 1))
    yield sample(cube[0], axes=[1])
    yield sample(cube[:, :0])
    yield sample(cube[0, 0, 0])
    yield sample(cube, 3)
