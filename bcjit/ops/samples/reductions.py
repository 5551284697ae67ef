"""Samples for reductions and scans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import Array, arrays, tame

__all__ = [
    "accumulations",
    "arg_extremes",
    "bounded",
    "corrected_variances",
    "counts",
    "logical_methods",
    "means",
    "ranges",
    "reductions",
    "reductions_without_dtype",
    "scans",
    "ufunc_reductions",
    "variances",
]


def _axes(dtype: np.dtype[Any]) -> Iterator[tuple[Array | np.generic, dict[str, object]]]:
    for array in arrays(dtype):
        yield array, {}
        yield array, {"axis": 0}
        yield array, {"axis": -1, "keepdims": True}
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield cube, {"axis": (0, 2)}
    yield cube, {"axis": (-1, 0), "keepdims": True}
    yield cube, {"axis": ()}
    yield cube, {"axis": 3}
    yield cube, {"axis": 1, "where": cube > 2}
    yield cube, {"axis": (0, 1), "where": np.array([True, False, True, True]), "keepdims": True}
    yield cube, {"where": np.ones((2, 2, 3, 4), np.bool_)}
    yield cube[0, 0], {"where": np.array([[True], [False]])}
    yield cube[0], {"axis": 0, "where": [True, False, True, False]}
    yield cube, {"where": False}
    yield cube, {"axis": (0, 0)}
    yield np.zeros((3, 0), dtype), {"axis": 1}
    yield np.zeros((0, 0), dtype), {"axis": 0}


def reductions_without_dtype(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a reduction that has axis, out and keepdims."""
    for array, kwargs in _axes(dtype):
        yield sample(array, **kwargs)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, 1, out=np.zeros((2, 4), dtype))
    yield sample(cube, 1, out=np.zeros((2, 4), np.complex128))
    yield sample(cube, axis=0, out=np.zeros((3,), dtype))
    yield sample(cube, out=np.zeros((), dtype))


def bounded(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``max`` and ``min``, which also have initial."""
    yield from reductions_without_dtype(dtype)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, 1, initial=0, where=cube > 2)
    yield sample(cube, 1, None, True, 2.5)
    yield sample(cube[:0], initial=cube[0, 0, 0])
    yield sample(cube, 0, initial=None)


def ranges(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a reduction that has axis, out and keepdims only."""
    for array, kwargs in _axes(dtype):
        if "where" not in kwargs:
            yield sample(array, **kwargs)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, 1, out=np.zeros((2, 4), dtype))
    yield sample(cube, 1, np.zeros((2, 4), np.float64), False)
    yield sample(cube, axis=0, out=np.zeros((3,), dtype))
    yield sample(cube, out=np.zeros((), np.float32))


def logical_methods(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``any`` and ``all`` as methods."""
    for array, kwargs in _axes(dtype):
        yield sample(array, **kwargs)
    yield sample(tame(dtype, 24).reshape(2, 3, 4), 1, out=np.zeros((2, 4), np.bool_))
    yield sample(tame(dtype, 4), 0, np.bool_)
    yield sample(tame(dtype, 4), 0, np.float64)


def reductions(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a reduction that has axis, dtype, out, keepdims and initial."""
    for array, kwargs in _axes(dtype):
        yield sample(array, **kwargs)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, 1, out=np.zeros((2, 4), dtype))
    yield sample(cube, 1, None, np.zeros((2, 4), np.float64))
    yield sample(cube, axis=0, out=np.zeros((3,), dtype))
    yield sample(cube, 2, np.float32)
    yield sample(cube, dtype="i4")
    yield sample(cube, dtype=complex, keepdims=True)
    yield sample(cube, axis=1, initial=1)
    yield sample(np.zeros(0, dtype), initial=2.5)
    yield sample(cube, (0, 2), initial=cube[0, 0, 2], where=cube != 2)
    yield sample(cube, 1, initial=np.array(3))
    yield sample(cube, 1, initial=300)
    yield sample(cube, 1, initial=None)
    yield sample(cube, 1, initial="3")


def ufunc_reductions(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ufunc.reduce``."""
    for array, kwargs in _axes(dtype):
        yield sample(array, **kwargs)
    yield sample(tame(dtype, 24).reshape(2, 3, 4), axis=None)
    yield sample(tame(dtype, 4), out=...)
    yield sample(tame(dtype, 4), out=(np.zeros((), np.float64),))


def means(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a mean."""
    for array, kwargs in _axes(dtype):
        yield sample(array, **kwargs)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, 1, None, np.zeros((2, 4), np.float64))
    yield sample(cube, 1, out=np.zeros((2, 4), np.float32))
    yield sample(cube, 1, out=np.zeros((2, 4), np.float16))
    yield sample(cube, 2, np.float32)
    yield sample(cube, 0, dtype=np.complex128)


def variances(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a variance."""
    yield from means(dtype)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, 1, ddof=1)
    yield sample(cube, (0, 1), ddof=2, keepdims=True)
    yield sample(cube, 1, ddof=3)
    yield sample(cube, 1, ddof=0.5)
    yield sample(cube, 1, ddof=1, where=cube != 2)
    yield sample(cube, (0, 1), ddof=0.5, keepdims=True, where=cube[:1] != 3)
    yield sample(cube, 1, None, np.zeros((2, 4)), where=cube[0] != 3)
    yield sample(cube, 1, mean=cube.mean(axis=1, keepdims=True))
    yield sample(cube, mean=2.5)
    yield sample(cube[0], mean=cube)


def corrected_variances(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.var``, which also has correction."""
    yield from variances(dtype)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, 1, correction=1)
    yield sample(cube, 1, ddof=1, correction=1)


def arg_extremes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``argmax``."""
    for array, kwargs in _axes(dtype):
        if not isinstance(kwargs.get("axis"), tuple) and "where" not in kwargs:
            yield sample(array, **kwargs)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, 1, np.zeros((2, 4), np.intp))
    yield sample(cube, 1, out=np.zeros((2, 1, 4), np.int16), keepdims=True)
    yield sample(cube, 1, out=np.zeros((2, 4)))
    yield sample(cube, 1, out=np.zeros((1, 4), np.intp))
    yield sample(cube, out=(np.zeros((), np.intp),))


def counts(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``count_nonzero``."""
    for array, kwargs in _axes(dtype):
        if "where" not in kwargs:
            yield sample(array, **kwargs)
    yield sample(tame(dtype, 4), keepdims=True)


def scans(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a cumulative reduction."""
    yield from accumulations(dtype)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, None)
    yield sample(cube, 1, out=np.zeros((2, 3, 4), np.float64))
    yield sample(cube, 1, None, (np.zeros((2, 3, 4)),))


def accumulations(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ufunc.accumulate``."""
    for array in arrays(dtype):
        yield sample(array)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, -1)
    yield sample(cube, 3)
    yield sample(cube, 1, np.float32)
    yield sample(cube[0, 0], None)
    yield sample(cube, None)
    yield sample(cube, (1,), out=(np.zeros((2, 3, 4)),))
    yield sample(cube, 1, out=...)
