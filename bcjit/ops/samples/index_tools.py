"""Samples for functions that make indices; only matrices depend on the dtype."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import constants, tame

__all__ = ["diagonals", "grids", "matrices", "ravels", "squares", "triangles", "unravels"]

_LINE: Final = np.array([0, 2])

grids: Final = constants(
    sample(_LINE),
    sample([0, 1], [2, 4]),
    sample([True, False, True], []),
    sample(np.array([True, False, True])),
    sample(_LINE.reshape(1, 2)),
    sample(),
)
ravels: Final = constants(
    sample((_LINE, _LINE), (3, 4)),
    sample((_LINE, 1), (3, 4), order="F"),
    sample((2, 1), (3, 4)),
    sample((_LINE * 9, _LINE), (3, 4), mode=("wrap", "clip")),
    sample((_LINE * 9, _LINE), (3, 4)),
    sample((_LINE,), (3, 4)),
    sample((_LINE * 0.5, _LINE), (3, 4)),
)
unravels: Final = constants(
    sample(_LINE, (3, 4)),
    sample(_LINE.reshape(2, 1), (3, 4), order="F"),
    sample(5, (2, 3)),
    sample(np.int64(5), shape=(2, 3)),
    sample(_LINE, 3),
    sample(_LINE * 99, (3, 4)),
    sample(_LINE * 0.5, (3, 4)),
)
diagonals: Final = constants(sample(3), sample(2, 3), sample(0), sample(-1, ndim=2), sample(2, 1))
triangles: Final = constants(
    sample(3),
    sample(3, 1),
    sample(4, -1, 2),
    sample(2, k=2, m=5),
    sample(3, -5),
    sample(0),
)


def matrices(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``tril_indices_from``."""
    for k in (0, 1, -1, 2):
        yield sample(tame(dtype, 9).reshape(3, 3), k)
        yield sample(tame(dtype, 6).reshape(2, 3), k)
    yield sample(tame(dtype, 3))


def squares(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``diag_indices_from``."""
    yield sample(tame(dtype, 9).reshape(3, 3))
    yield sample(tame(dtype, 8).reshape(2, 2, 2))
    yield sample(tame(dtype, 6).reshape(2, 3))
    yield sample(tame(dtype, 3))
