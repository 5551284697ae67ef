"""Samples for grids of coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import constants, tame

__all__ = ["items", "joined", "meshes", "sizes"]

sizes: Final = constants(
    sample((2, 3)),
    sample([2, 3], np.float32),
    sample((2, 0, 1)),
    sample((), int),
    sample((2, 3), sparse=True),
    sample((3,), np.int8),
    sample((-1,)),
    sample((2,), bool),
)
_KEYS: Final = (
    slice(0, 3),
    slice(None, 3),
    slice(5, 1, -2),
    slice(0.5, 2),
    slice(0, 1, 5j),
    slice(-1.5, 2, 3j),
    slice(0, 1, 1j),
    slice(2, 5, 0.75),
    slice(None),
    slice(5, 1),
)
items: Final = constants(
    *(sample(grid, key) for grid in (np.mgrid, np.ogrid) for key in _KEYS),
    *(sample(grid, (key, slice(0, 2))) for grid in (np.mgrid, np.ogrid) for key in _KEYS),
    sample(np.mgrid, (slice(0, 2), slice(0, 1, 2j), slice(1, 2))),
    sample(np.mgrid, ()),
    sample(np.mgrid, 3),
)


def meshes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``meshgrid``."""
    row, other = tame(dtype, 3), np.ones((2, 1), np.float32)
    for options in (
        {},
        {"indexing": "ij"},
        {"sparse": True},
        {"copy": False},
        {"copy": False, "sparse": True},
        {"indexing": "zz"},
    ):
        yield sample(row, other, row[:1], **options)
    yield sample(row)
    yield sample(row, 2.5)
    yield sample()
    yield sample(row[:0], [1, 2])


def joined(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``r_`` and ``c_``."""
    row = tame(dtype, 3)
    for joiner in (np.r_, np.c_):
        for key in (
            row,
            (row, row),
            (row, 0, 2.5),
            (row, 300),
            (row[0], 1),
            (1, 2.5),
            slice(0, 3),
            (slice(0, 3), row),
            (slice(0, 1, 3j), row, [1, 2, 3]),
            (row.reshape(1, 3), row.reshape(1, 3)),
            (row, row[:2]),
            ("r", row),
        ):
            yield sample(joiner, key)
