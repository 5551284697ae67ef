"""Samples for functions that make arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import DTYPES, arrays, constants, numbers, tame

__all__ = [
    "aranges",
    "bessels",
    "converted",
    "diagonals",
    "empties",
    "eyes",
    "full_likes",
    "fulls",
    "geomspaces",
    "identities",
    "kaisers",
    "likes",
    "linspaces",
    "logspaces",
    "of_class",
    "requirements",
    "shapes",
    "to_arrays",
    "to_contiguous",
    "triangles",
    "vanders",
    "windows",
]

_NEW: Final = ((3,), 4, [2, 3], (), (0, 2), (2, -1), 1.5, np.int64(2))
shapes: Final = constants(
    *(sample(shape) for shape in _NEW),
    *(sample(3, dtype) for dtype in DTYPES),
    sample((2, 2), dtype="i4", order="F"),
    sample(3, int),
    sample(3, object),
)
empties = shapes
eyes: Final = constants(
    sample(3),
    sample(2, 4, 1),
    sample(3, k=-1, dtype=int),
    sample(0),
    sample(3, dtype="c8"),
    sample(-1),
)
identities: Final = constants(sample(3), sample(2, np.float32), sample(0), sample(3, dtype=bool))
aranges: Final = constants(
    *(
        sample(*args)
        for args in ((5,), (0,), (-3,), (2, 7), (7, 2), (0, 10, 3), (10, 0, -3), (3, 3))
    ),
    *(
        sample(*args)
        for args in ((0, 1, 0), (1.0,), (0, 1, 0.25), (0.5, 4), (1, 0, -0.3), (0, 2.5))
    ),
    *(sample(5, dtype=dtype) for dtype in DTYPES),
    *(sample(1, 9, 2, dtype=dtype) for dtype in DTYPES),
    sample(0, 1, 0.1, dtype=np.float32),
    sample(300, dtype=np.int8),
    sample(-1, 3, dtype=np.uint8),
    sample(0, 1, 0.0),
    sample(np.int64(4)),
    sample(np.float32(0), 1, 0.25),
    sample(0, np.float64(2), dtype=np.float32),
    sample(np.uint64(3)),
    sample(np.int8(3), np.array(0.5), -1),
    sample(0, 1j),
)
linspaces: Final = constants(
    sample(0, 1),
    sample(0, 1, 5),
    sample(0.0, 2.5, 7, endpoint=False),
    sample(0, 10, 5, dtype=int),
    sample(0, 10, 1),
    sample(0, 10, 0),
    sample(0, 1j, 4),
    sample(3, 3, 4),
    sample(np.float32(0), 1, 5),
    sample(np.float32(0), np.float64(1), 5),
    sample(np.zeros(2, np.float32), np.arange(2), 3),
    sample(0, 1, -1),
    sample(-1.5, 1, 6, dtype=np.float32),
    sample(0, 1, 5, retstep=True),
    sample(0, 1, 1, retstep=True),
    sample(np.zeros(2), 1, 3, True, True, axis=-1),
    sample(0, np.ones((2, 2)), 3, axis=1),
)
logspaces: Final = constants(
    sample(0, 2),
    sample(0, 3, 4, base=2),
    sample(0, 2.5, 4, False, dtype=np.float32),
    sample(0, 2, 3, dtype=int),
    sample(np.zeros(2), 1, 3, axis=1),
    sample(0, 1, 3, base=np.ones(2)),
)
geomspaces: Final = constants(
    sample(1, 1000, 4),
    sample(1.0, 256, 9, endpoint=False),
    sample(-1, -8, 4),
    sample(np.float32(1), 4, 3),
    sample([1, 2], 8.0, 3, axis=1),
    sample(1, 4, 3, dtype=np.float32),
    sample(0, 4, 3),
    sample(1, 4, -1),
)
windows: Final = constants(*(sample(m) for m in (0, 1, 2, 7, -3)), sample(2.5))
kaisers: Final = constants(sample(5, 8.6), sample(1, 2), sample(0, 1.0), sample(4, np.float32(3)))
triangles: Final = constants(
    sample(3),
    sample(2, 4, 1),
    sample(3, k=-1, dtype=int),
    sample(0),
    sample(3, dtype="c8"),
    sample(-1, 2),
)


def likes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``zeros_like``."""
    for array in arrays(dtype):
        yield sample(array)
    yield sample(tame(dtype, 3), dtype=np.float32)
    yield sample(tame(dtype, 3), np.int8, "C", shape=(2, 2))
    yield sample(2.5)
    yield sample([1, 2])


def fulls(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``full``."""
    for value in (1, 2.5, True, 1j, 300, 2**70, [1, 2, 3], tame(dtype, 3), tame(dtype, 1)[0]):
        yield sample((2, 3), value)
        yield sample(3, value, dtype)
        yield sample(2, value)


def full_likes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``full_like``."""
    for value in (1, 2.5, True, 1j, 300, [1, 2, 3], tame(dtype, 3), tame(dtype, 1)[0]):
        yield sample(tame(dtype, 6).reshape(2, 3), value)
        yield sample(tame(dtype, 3), value, np.float32)


def to_arrays(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``array``."""
    yield from _conversions(dtype)
    row = tame(dtype, 3)
    for count in (0, 1, 3, 99):
        yield sample(row, ndmin=count)
        yield sample(row, copy=None, ndmin=count)
    yield sample(row.reshape(1, 3), copy=None, order="F", subok=True)
    yield sample(row.reshape(1, 3), copy=False, order="C")
    yield sample([row, row], order="F", ndmin=3)
    yield sample(2.5, copy=False)


def _conversions(dtype: np.dtype[Any]) -> Iterator[Sample]:

    for array in arrays(dtype):
        yield sample(array)
        yield sample(array, np.float64)
        yield sample(array, copy=True)
    row = tame(dtype, 3)
    yield sample(row, dtype)
    for items in (
        [1, 2],
        [row, row],
        [row[0], 1.0],
        [[row[0], 2], [3, 4.5]],
        (row, [1, 2, 3]),
        2.5,
    ):
        yield sample(items)
    yield sample([row, row[:2]])
    for name in (np.float32, np.int8, np.bool_, complex):
        yield sample([1, 2.5], name)
        yield sample([1, 300], name)
        yield sample([row[0], 2], name)
        yield sample([row, [1, 2, 3]], dtype=name)
    yield sample(row, copy=None)
    yield sample(row, copy=False)


def to_contiguous(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ascontiguousarray``."""
    for array in arrays(dtype):
        yield sample(array)
    yield sample(tame(dtype, 4)[::2], np.float64)


def converted(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``asarray``."""
    yield from _conversions(dtype)
    row = tame(dtype, 3)
    for order in "CFA":
        yield sample(row.reshape(1, 3), order=order)
        yield sample(row.reshape(1, 3), np.float64, order)
    yield sample(row[0], copy=False)
    yield sample([1, 2], copy=False)
    yield sample(row, np.longlong)


def requirements(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``require``."""
    for array in (tame(dtype, 3), tame(dtype, 4).reshape(2, 2).T, tame(dtype, 2)[0]):
        for flags in (None, "C", ["F_CONTIGUOUS", "W"], ("O",), "E", ["C", "F"], ["nonsense"], []):
            yield sample(array, None, flags)
        yield sample(array, np.float64, "C")
    yield sample([1, 2], requirements="F")


def diagonals(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``diag``."""
    for array in arrays(dtype):
        yield sample(array)
        yield sample(array, 1)
        yield sample(array, k=-2)
    yield sample([1, 2.5])


def vanders(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``vander``."""
    row = tame(dtype, 3)
    for count in (None, 0, 1, 2, -1):
        yield sample(row, count)
        yield sample(row, N=count, increasing=True)
    yield sample([1, 2.5], 3)
    yield sample(row.reshape(1, 3))


def bessels(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``i0``."""
    for array in (tame(dtype, 5), tame(dtype, 2)[0], np.array(tame(dtype, 1)[0])):
        yield sample(array)
    yield sample(2.5)


def of_class(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a class of NumPy scalars."""
    row = numbers(dtype, 3)
    for value in (row, row[0], row[1], row[:1], row[:1].reshape(()), [1, 2.5], [row[1], 1]):
        yield sample(value)
    for number in (True, 3, -1, 300, 2.5, float("nan"), 1e300, 2j):
        yield sample(number)
    yield sample()
