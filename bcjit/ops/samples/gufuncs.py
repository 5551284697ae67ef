"""Samples for generalised ufuncs of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import tame

__all__ = ["matvec", "vecdot", "vecmat"]


def vecdot(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.vecdot``."""
    cube = tame(dtype, 24).reshape(2, 3, 4)
    if dtype.kind == "c":
        cube = cube * (1 + 2j)
    yield sample(cube, cube)
    yield sample(cube[0, 0], cube[1, 1])
    yield sample(cube[:1], cube[0, 0], keepdims=True)
    yield sample(cube, cube, axis=0)
    yield sample(cube, cube[1], axis=-2, keepdims=True)
    yield sample(cube, cube[..., :3])
    yield sample(cube, 2)
    yield sample(cube, tame(np.dtype(np.float32), 4), out=np.zeros((2, 3), np.complex128))
    yield sample(cube, cube, dtype=np.float32, casting="unsafe")
    yield sample(cube, [1, 2, 3, 4], signature="dd->d")
    yield sample(cube[:, :0], cube[:, :0])
    yield sample(cube, cube, axes=[-1, -1])


def matvec(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.matvec``."""
    yield from _products(dtype, 4)


def vecmat(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.vecmat``."""
    for one in _products(dtype, 3):
        left, right = one.args
        yield sample(right, left, **one.kwargs)


def _products(dtype: np.dtype[Any], length: int) -> Iterator[Sample]:
    cube = tame(dtype, 24).reshape(2, 3, 4)
    if dtype.kind == "c":
        cube = cube * (1 + 2j)
    vectors = cube.reshape(-1)[: 2 * length].reshape(2, length)
    yield sample(cube, vectors)
    yield sample(cube, vectors[0])
    yield sample(cube[0], vectors[0], out=np.zeros(7 - length, np.complex128))
    yield sample(cube[:1], vectors, dtype=np.float64)
    yield sample(cube, cube[0, :, 0][:2])
    yield sample(cube[0, 0], vectors[0])
    yield sample(cube, vectors[0], axes=[(-2, -1), -1, -1])
