"""Samples for functions that give facts about shapes and dtypes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import calls, constants, each, each_array, tame

__all__ = [
    "arrays",
    "casts",
    "classes",
    "codes",
    "dtypes",
    "kinds",
    "numbers",
    "objects",
    "operands",
    "pairs",
    "shapes",
    "sizes",
]

sizes: Final = calls(each(sample(), sample(0), sample(-1), sample(7)), constants(sample([1, 2])))
shapes: Final = constants(
    sample(), sample((2, 1), (3,)), sample(4, (2, 1)), sample((2,), (3,)), sample((0,), 1)
)
codes: Final = constants(sample("df"), sample(["F", "d"]), sample([np.zeros(1), "F"]), sample("i"))
_CONSTANTS: Final = (True, 3, -300, 2.5, 1e300, 2j)


def operands(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``result_type``."""
    array = tame(dtype, 2)
    for other in (1, 1.5, 1j, True, np.float32, "i2", np.dtype("u1"), array[0], 2**64, int):
        yield sample(array, other)
        yield sample(other)
    yield sample()
    yield sample(array, [1, 2])


def pairs(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``promote_types``."""
    for other in ("f4", np.int8, np.dtype("u8"), "S3", complex):
        yield sample(dtype, other)
    yield sample(dtype.char, "nonsense")


def casts(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``can_cast``."""
    for target in (np.float32, "i2", bool, dtype):
        yield sample(dtype, target)
        yield sample(tame(dtype, 2), target, "same_kind")
    yield sample(1, dtype)
    yield sample(dtype, np.int64, casting="nonsense")
    yield sample(tame(dtype, 2)[0], dtype)


def numbers(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample functions of an array or number."""
    yield from each_array(dtype)
    for number in _CONSTANTS:
        yield sample(number)


def arrays(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``common_type``."""
    array = tame(dtype, 2)
    yield sample(array)
    yield sample(array, np.zeros(2, np.float32), array[0])
    yield sample(array, np.zeros((1, 1), np.complex64))


def kinds(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``isdtype``."""
    for kind in ("bool", "integral", ("real floating", np.int8), np.float32, "nonsense"):
        yield sample(dtype, kind)
    yield sample(dtype.type, "numeric")


def classes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``issubdtype``."""
    for other in (np.number, np.floating, np.integer, float, "i4", np.generic, dtype):
        yield sample(dtype, other)
    yield sample(dtype.type, np.inexact)


def objects(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample questions about any object."""
    yield from numbers(dtype)
    for item in ("text", [1], (), None):
        yield sample(item)


def dtypes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample descriptions of a dtype."""
    for spelled in (dtype, dtype.type, dtype.str, float, "nonsense", "S3"):
        yield sample(spelled)
