"""Samples for polynomials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import tame

__all__ = ["derivatives", "evaluations", "fits", "integrals", "products", "roots", "sums"]


def sums(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``polyadd``."""
    line = tame(dtype, 4)
    yield sample(line, line[::-1])
    yield sample(line, np.ones(2, np.float32))
    yield sample([1, 2], line)
    yield sample(line, 3)
    yield sample(line, line[2])
    yield sample(line[:0], line)
    yield sample(line.reshape(2, 2), line)


def derivatives(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``polyder``."""
    line = tame(dtype, 4)
    for order in (1, 3, 6, 0, -1):
        yield sample(line, order)
    yield sample(line[:0])
    yield sample(line[:1])
    yield sample([1, 2, 3])
    yield sample(line.reshape(2, 2))


def integrals(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``polyint``."""
    line = tame(dtype, 4)
    for order in (1, 3, 0, -1):
        yield sample(line, order)
    yield sample(line[:0])
    yield sample(line, 2, 3)
    yield sample(line, 2, [3, 0.5])
    yield sample(line, k=line[1])
    yield sample(line, 3, k=line[:2])
    yield sample(line.reshape(2, 2))


def evaluations(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``polyval``."""
    line = tame(dtype, 4)
    for points in (line, line.reshape(2, 2), 3, 0.5, line[1], np.array(line[1]), line[:0], [1, 2]):
        yield sample(line, points)
    yield sample([1, 2, 3], line)
    yield sample(tame(dtype, 18), np.float32(0.5))
    yield sample(line[:0], line)
    yield sample(line.reshape(2, 2), line)


def roots(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``poly``."""
    line = tame(dtype, 4)
    for zeros in (line, line[0], line[:0], line.reshape(2, 2), [1, 2]):
        yield sample(zeros)


def fits(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``polyfit``."""
    line, points = tame(dtype, 5), np.array([0, 1, 3, 4, 7], np.float32)
    yield sample(points, line, 1)
    yield sample(line, points, 2)
    yield sample(points, np.stack([line, line[::-1]], 1), 1, 1e-3)
    yield sample(points, line, 1, w=points + 1)
    yield sample(points, line, 1, cov=True)
    yield sample(points, np.stack([line, line[::-1]], 1), deg=1, cov="unscaled")
    yield sample(points, line, 1, full=True)
    yield sample(points, line, 1, cov=2)
    yield sample(points, line, -1)
    yield sample(points, line[:4], 1)
    yield sample(points, line, 1, w=points[:4])
    yield sample(points[:0], line[:0], 1)


def products(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``polymul`` and ``polydiv``."""
    line = tame(dtype, 5)
    for other in (line[:2], line[::-1], np.array([0, 1, 2], np.float32), [1, 2], 3, line[:0]):
        yield sample(line, other)
    yield sample(line[:2], line)
    yield sample(np.zeros(3, dtype), line[:2])
    yield sample(line, line[:4].reshape(2, 2))
