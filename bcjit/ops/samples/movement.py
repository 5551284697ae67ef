"""Samples for functions that move elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import DTYPES, arrays, calls, each, each_array, numbers, tame

__all__ = [
    "broadcasts",
    "casts",
    "casts_of_arrays",
    "devices",
    "expansions",
    "flips",
    "moves",
    "orders",
    "readings",
    "repeats",
    "reshape_methods",
    "reshapes",
    "resizes",
    "rolled_axes",
    "rolls",
    "squeezes",
    "swaps",
    "tiles",
    "together",
    "transpose_methods",
    "transposes",
    "turns",
]

_SHAPES: Final = (-1, (6, 4), (4, -1), (2, 3, 4), (2, -1, -1), 24, (5, -1), (), (0,), 1, (12, 1, 1))
reshapes: Final = each(
    *(sample(shape) for shape in (*_SHAPES, [-1, 2])),
    *(sample(shape, order=order) for shape in (-1, (4, -1), (3, 2, 4)) for order in "FA"),
    sample(-1, order="K"),
    sample((4, -1), copy=True),
    sample((4, -1), copy=False),
)
orders: Final = calls(each_array, each(sample("F"), sample(order="K"), sample("A")))
turns: Final = each(
    *(sample(k) for k in (0, 1, 2, -1)), sample(1, (2, 0)), sample(axes=(0, 0)), sample(5, [-1, 1])
)
rolled_axes: Final = each(sample(1), sample(0, 2), sample(2, 1), sample(-1, -2), sample(0, 9))
resizes: Final = each(sample(5), sample((2, 3)), sample((0, 2)), sample((7, 4)), sample(-1))
reshape_methods: Final = calls(
    reshapes, each(sample(6, 4), sample(-1, 2), sample(3, -1, 1), sample(-1, -1))
)
transposes: Final = each(sample(), sample((1, 0, 2)), sample([2, 0, 1]), sample((0, 0, 1)))
transpose_methods: Final = calls(transposes, each(sample(1, 2, 0), sample(None), sample(-1, 0, 1)))
swaps: Final = each(sample(0, 1), sample(-1, 0), sample(0, 5))
moves: Final = each(
    sample(0, -1), sample((0, 1), (1, 2)), sample(0, (1, 2)), sample((0, 0), (1, 2))
)
expansions: Final = each(sample(0), sample(-1), sample((0, 2)), sample(7), sample((0, 0)))
broadcasts: Final = each(
    sample((2, 3, 4)), sample((5, 2, 3, 4)), sample(4), sample((2, 2)), sample((7, 1, 3, 4))
)
flips: Final = each(sample(), sample(0), sample((0, -1)), sample(3), sample(axis=-1))
repeats: Final = each(
    sample(2),
    sample(3, 1),
    sample(1),
    sample(0, axis=0),
    sample(-1),
    sample([2, 0], 0),
    sample((3,)),
    sample([1, 2, 0], axis=1),
    sample(np.array([1, 0, 2]), 1),
    sample(np.int16(2)),
    sample(np.array(2), 0),
    sample(np.array([3, -1]), 0),
)
tiles: Final = each(sample(2), sample((2, 1, 3)), sample((1, 1)), sample((2, 1, 1, 2)), sample(0))
rolls: Final = each(
    sample(1),
    sample(-2, 1),
    sample((1, 2), (0, -1)),
    sample((), ()),
    sample(100, axis=0),
    sample(1, (0, 1)),
    sample((1, 2), 0),
    sample((1, -4)),
    sample((1, 1), (0, 0)),
    sample((1, 2), (0, 1, 2)),
)


def squeezes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``squeeze``."""
    ones = tame(dtype, 3).reshape(1, 3, 1)
    for array in (*arrays(dtype), ones, ones[..., 0]):
        yield sample(array)
        yield sample(array, 0)
    yield sample(ones, axis=(0, 2))
    yield sample(ones, axis=-2)


def casts(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``astype``."""
    array = numbers(dtype, 8)
    for target in DTYPES:
        yield sample(array, target)
        yield sample(array[0], target)
    for name in (float, "i4", np.bool_, complex, int, "nonsense", object):
        yield sample(array, name)
    yield sample(array, dtype, copy=False)
    yield sample(array, np.float64, copy=False)
    yield sample(array, np.int8, casting="safe")
    yield sample(array, dtype=np.float32, casting="same_kind")
    for order in "CFA":
        yield sample(array.reshape(2, 4), dtype, order, copy=False)
        yield sample(array.reshape(2, 4), np.complex128, order)
    yield sample(array, None)


def casts_of_arrays(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.astype``."""
    array = numbers(dtype, 8)
    yield sample(array, np.float32)
    yield sample(array, dtype, copy=False)
    yield sample(array, dtype)


def readings(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``view``."""
    array = numbers(dtype, 8)
    for target in (np.int32, "f8", "u1", dtype, np.ndarray, np.complex128):
        yield sample(array, target)
        yield sample(array.reshape(2, 4).T, target)
    yield sample(array)
    yield sample(array[0])
    yield sample(array[:3], np.complex128)
    yield sample(np.array(array[0]), np.int64)


def devices(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``to_device``."""
    yield sample(tame(dtype, 2), "cpu")
    yield sample(tame(dtype, 2), "gpu")


def together(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``broadcast_arrays``."""
    row = tame(dtype, 3)
    yield sample(row, np.ones((2, 1)), row)
    yield sample(row, row[:1], subok=True)
    yield sample(row, 2.5)
    yield sample(row, row[:2])
    yield sample()
