"""Small arguments for the tests of each op, in every dtype; nothing here runs outside tests.

A sampler is ``samples(dtype) -> Iterable[Sample]``. Arguments NumPy rejects are samples too: the table must say that it
will, or may, raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, sample

__all__ = ["DTYPES", "Sampler", "binary", "constants", "inplace", "numbers", "of_arrays", "unary"]

Array = np.ndarray[Any, Any]
Sampler = Callable[[np.dtype[Any]], Iterable[Sample]]

DTYPES: Final = tuple(
    np.dtype(code)
    for code in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16")
)


def numbers(dtype: np.dtype[Any], size: int) -> Array:
    """Return ``size`` elements of a dtype, the extreme ones first."""
    if dtype.kind == "b":
        return np.equal(np.arange(size) % 3, 0)
    small = (np.arange(size) % 7 - 2).astype(dtype)
    if dtype.kind in "iu":
        extremes = np.array([np.iinfo(dtype).max, np.iinfo(dtype).min, 1], dtype)
    else:
        info = np.finfo(dtype)
        values = [np.nan, info.max, -np.inf, info.tiny, -0.0, info.min]
        extremes = np.array(values, dtype)
        small = small + np.array(0.25, dtype)
    result = small.copy()
    result[: min(size, len(extremes))] = extremes[:size]
    return result


def tame(dtype: np.dtype[Any], size: int) -> Array:
    """Return ``size`` small positive elements of a dtype."""
    return (np.arange(size) % 5 + 1).astype(dtype)


def arrays(dtype: np.dtype[Any]) -> tuple[Array | np.generic, ...]:
    """Return arrays of every kind of shape and layout, and a scalar."""
    grid = numbers(dtype, 24)
    return (
        grid[:7],
        grid.reshape(4, 6)[::2, ::-1],
        grid.reshape(2, 3, 4).transpose(2, 0, 1),
        grid.reshape(4, 6, order="F"),
        grid[5:6],
        grid[5:6].reshape(1, 1),
        np.array(grid[2]),
        tame(dtype, 6).reshape(2, 3),
        np.zeros(0, dtype),
        np.zeros((0, 3), dtype),
        grid[6],
    )


def of_arrays(*args: object, **kwargs: object) -> Sampler:
    """Return a sampler of calls with each array first and then these arguments."""

    def sampler(dtype: np.dtype[Any]) -> Iterator[Sample]:
        for array in arrays(dtype):
            yield sample(array, *args, **kwargs)

    return sampler


def calls(*samplers: Sampler) -> Sampler:
    """Return a sampler of all calls of several."""

    def sampler(dtype: np.dtype[Any]) -> Iterator[Sample]:
        for one in samplers:
            yield from one(dtype)

    return sampler


def constants(*rows: Sample) -> Sampler:
    """Return a sampler of these calls, whatever the dtype."""
    return lambda _: rows


def unary(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a ufunc of one input."""
    for array in arrays(dtype):
        yield sample(array)
    grid = tame(dtype, 6).reshape(2, 3)
    yield sample(grid, out=np.zeros((2, 3), dtype))
    yield sample(grid, np.zeros((2, 3), np.complex128))
    yield sample(grid, out=(np.zeros((4, 2, 3), np.float64),))
    yield sample(grid, out=np.zeros(3, dtype))
    yield sample(grid, dtype=np.float32)
    yield sample(grid, dtype="f8", casting="unsafe")


def unary_operator(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a Python operator of one operand."""
    for array in arrays(dtype):
        yield sample(array)


def binary_operator(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a Python operator of two operands."""
    grid = numbers(dtype, 12).reshape(3, 4)
    for array in arrays(dtype):
        yield sample(array, array)
    yield sample(grid, tame(dtype, 4))
    yield sample(grid[:, :1], tame(dtype, 4))
    yield sample(grid, tame(dtype, 3))
    yield sample(grid[:0], tame(dtype, 1))
    yield sample(np.array(grid[0, 0]), grid[1, 1])
    yield sample(grid[2, 2], tame(np.dtype(np.float32), 2)[1])
    for number in (True, 2, -1, 0, 300, 2**40, 2**70, 0.5, 1e300, float("nan"), 1j):
        yield sample(grid, number)
        yield sample(number, grid[:, ::-1])
        yield sample(grid[2, 1], number)
    yield sample(grid, [1, 2, 3, 4])


def binary(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a ufunc of two inputs."""
    yield from binary_operator(dtype)
    grid = tame(dtype, 6).reshape(2, 3)
    row = tame(dtype, 3)
    yield sample(grid, row, out=np.zeros((2, 3), dtype))
    yield sample(grid, row, np.zeros((2, 3), np.complex128))
    yield sample(row, row, out=np.zeros((2, 3), np.float64))
    yield sample(grid, row, out=row.copy())
    yield sample(grid, row, dtype=np.float32)
    yield sample(grid, row, dtype="f8", casting="unsafe")
    yield sample(grid, row, dtype="i4")


def inplace(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample an in-place operator."""
    grid = numbers(dtype, 12).reshape(3, 4)
    yield sample(grid.copy(), tame(dtype, 4))
    yield sample(tame(dtype, 4), tame(dtype, 1))
    yield sample(tame(dtype, 4), grid)
    yield sample(np.array(grid[1, 2]), grid[1, 1])
    yield sample(grid[1, 2], grid[1, 1])
    yield sample(tame(dtype, 4), tame(np.dtype(np.float64), 4))
    yield sample(tame(dtype, 4), tame(np.dtype(np.int64), 4))
    yield sample(np.zeros((0, 3), dtype), tame(dtype, 3))
    for number in (True, 2, 300, 0.5, 1j):
        yield sample(tame(dtype, 4)[::2], number)
    yield sample(2, grid)


# Reductions


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


def logical_methods(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``any`` and ``all`` as methods."""
    for array, kwargs in _axes(dtype):
        yield sample(array, **kwargs)
    yield sample(tame(dtype, 24).reshape(2, 3, 4), 1, out=np.zeros((2, 4), np.bool_))


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


def ufunc_reductions(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ufunc.reduce``."""
    for array, kwargs in _axes(dtype):
        yield sample(array, **kwargs)
    yield sample(tame(dtype, 24).reshape(2, 3, 4), axis=None)


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


def arg_extremes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``argmax``."""
    for array, kwargs in _axes(dtype):
        if not isinstance(kwargs.get("axis"), tuple):
            yield sample(array, **kwargs)


def counts(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``count_nonzero``."""
    for array, kwargs in _axes(dtype):
        yield sample(array, **kwargs)
    yield sample(tame(dtype, 4), keepdims=True)


def scans(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample a cumulative reduction."""
    yield from accumulations(dtype)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, None)
    yield sample(cube, 1, out=np.zeros((2, 3, 4), np.float64))


def accumulations(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ufunc.accumulate``."""
    for array in arrays(dtype):
        yield sample(array)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, -1)
    yield sample(cube, 3)
    yield sample(cube, 1, np.float32)


# Indexing

_BASIC: Final[tuple[object, ...]] = (
    0,
    -1,
    9,
    np.int64(1),
    slice(None),
    slice(1, None),
    slice(None, -1),
    slice(5, 2),
    slice(-100, 100),
    slice(None, None, -1),
    slice(None, None, 2),
    slice(3, 0, -2),
    slice(-2, None, -1),
    slice(1, 3, 0),
    slice(7, 9),
    Ellipsis,
    None,
    (),
    (0, 0),
    (0, slice(None)),
    (slice(1, 2), 1),
    (Ellipsis, 0),
    (Ellipsis, 0, 0),
    (None, Ellipsis, 0, None),
    (slice(None), None, slice(None, None, -1)),
    (0, Ellipsis, Ellipsis),
    (0, 0, 0, 0),
    1.0,
    [0, 1],
    (0, 0, 0),
)


def getitems(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``x[index]``."""
    for array in arrays(dtype):
        for index in _BASIC:
            yield sample(array, index)
    grid = tame(dtype, 12).reshape(3, 4)
    for index in (np.array([2, 0]), np.array([[1, -1]]), (np.array([0, 1]), np.array([[1], [2]]))):
        yield sample(grid, index)
    yield sample(grid, (np.array([0, 1]), 2))
    yield sample(grid, np.array([5]))
    yield sample(grid, np.array([0.5]))
    yield sample(grid, grid > 2)


def setitems(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``x[index] = value``."""
    for index in _BASIC:
        yield sample(tame(dtype, 12).reshape(3, 4), index, tame(dtype, 4)[1])
    grid = tame(dtype, 12).reshape(3, 4)
    values: list[object] = [1, 2.5, 1e300, 300, True, 1j, [1, 2, 3, 4]]
    values += [tame(dtype, 4), tame(dtype, 3), tame(dtype, 1), np.array(1, dtype)]
    values += [numbers(np.dtype("f8"), 4), numbers(np.dtype("i8"), 4), tame(np.dtype("c8"), 4)]
    values.append(tame(dtype, 12).reshape(1, 3, 4))
    for value in values:
        yield sample(grid.copy(), slice(None), value)
        yield sample(grid.copy(), (0, 1), value)
        yield sample(grid.copy(), (Ellipsis, slice(None, None, -1)), value)
        yield sample(grid.copy(), grid > 2, value)
        yield sample(grid.copy(), np.array([0, 2, 0]), value)
    yield sample(grid.copy(), grid.T > 2, 1)
    yield sample(grid.copy(), (np.array([0, 1]), np.array([1, 9])), 1)
    yield sample(grid[0, 0], 0, 1)


# Movement


def _grids(dtype: np.dtype[Any]) -> tuple[Array | np.generic, ...]:
    cube = numbers(dtype, 24).reshape(2, 3, 4)
    return (cube, cube.transpose(2, 0, 1), cube[:, ::-1, ::2], cube[:0], cube[0, 0, 0], cube[0, 0])


def _each(*rows: Sample) -> Sampler:
    """Return a sampler of calls with each of some arrays first and then each of these rows."""

    def sampler(dtype: np.dtype[Any]) -> Iterator[Sample]:
        for array in (*_grids(dtype), np.array(tame(dtype, 1)[0])):
            for one in rows:
                yield sample(array, *one.args, **one.kwargs)

    return sampler


_SHAPES: Final = (-1, (6, 4), (4, -1), (2, 3, 4), (2, -1, -1), 24, (5, -1), (), (0,), 1, (12, 1, 1))
reshapes: Final = _each(*(sample(shape) for shape in (*_SHAPES, [-1, 2])), sample(-1, order="F"))
reshape_methods: Final = calls(
    reshapes, _each(sample(6, 4), sample(-1, 2), sample(3, -1, 1), sample(-1, -1))
)
transposes: Final = _each(sample(), sample((1, 0, 2)), sample([2, 0, 1]), sample((0, 0, 1)))
transpose_methods: Final = calls(transposes, _each(sample(1, 2, 0), sample(None), sample(-1, 0, 1)))
swaps: Final = _each(sample(0, 1), sample(-1, 0), sample(0, 5))
moves: Final = _each(
    sample(0, -1), sample((0, 1), (1, 2)), sample(0, (1, 2)), sample((0, 0), (1, 2))
)
expansions: Final = _each(sample(0), sample(-1), sample((0, 2)), sample(7), sample((0, 0)))
broadcasts: Final = _each(
    sample((2, 3, 4)), sample((5, 2, 3, 4)), sample(4), sample((2, 2)), sample((7, 1, 3, 4))
)
flips: Final = _each(sample(), sample(0), sample((0, -1)), sample(3), sample(axis=-1))
repeats: Final = _each(sample(2), sample(3, 1), sample(1), sample(0, axis=0), sample(-1))
tiles: Final = _each(sample(2), sample((2, 1, 3)), sample((1, 1)), sample((2, 1, 1, 2)), sample(0))
rolls: Final = _each(sample(1), sample(-2, 1), sample((1, 2), (0, -1)), sample(100, axis=0))


def squeezes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``squeeze``."""
    ones = tame(dtype, 3).reshape(1, 3, 1)
    for array in (*arrays(dtype), ones, ones[..., 0]):
        yield sample(array)
        yield sample(array, 0)
    yield sample(ones, axis=(0, 2))
    yield sample(ones, axis=-2)


def joins(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``concatenate`` and ``stack``."""
    grid, other = numbers(dtype, 6).reshape(2, 3), np.ones((2, 3), np.float32)
    yield sample((grid, grid))
    yield sample([grid, other, grid[::-1]], axis=1)
    yield sample([grid, other], -1)
    yield sample([grid, other], None)
    yield sample((grid, other[:, :1]), 1)
    yield sample((grid, other[:1]), 1)
    yield sample((grid, grid[0]))
    yield sample((grid, other), axis=2)
    yield sample((grid[0, 0], grid[1, 1]))
    yield sample((grid, other), dtype=np.float64)
    yield sample((grid, other), dtype=np.int8, casting="unsafe")
    yield sample((grid, grid), dtype=np.int8)
    yield sample([])


def stacks(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``hstack`` and ``vstack``."""
    grid, other = numbers(dtype, 6).reshape(2, 3), np.ones((2, 3), np.int16)
    yield sample((grid, other))
    yield sample([grid[0], other[1]])
    yield sample([grid[0], other])
    yield sample((grid[0, 0], other[0, 0], 1))
    yield sample((grid[0], np.ones(2)))
    yield sample((grid.reshape(1, 2, 3), other.reshape(1, 2, 3)), dtype=np.float64)


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


# Functions made of elementwise ones


def wheres(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``where``."""
    grid, test = numbers(dtype, 12).reshape(3, 4), np.arange(4) % 2 == 0
    for other in (grid, grid[:, :1], tame(np.dtype("f4"), 4), 1, 2.5, True, 1j, grid[0, 0], 300):
        yield sample(test, grid, other)
        yield sample(grid, other, grid[::-1])
    yield sample(test, 1, 0.5)
    yield sample(test, 1, 0)
    yield sample(True, np.array(grid[0, 0]), grid[1, 1])
    yield sample(test, grid[:, :3], grid)
    yield sample(test, [1, 2, 3, 4], grid)


def clips(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.clip``."""
    yield from clip_methods(dtype)
    yield sample(numbers(dtype, 7), a_min=0, a_max=1)
    yield sample(numbers(dtype, 7), 0, 1, max=1)


def clip_methods(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``clip`` as a method."""
    for array in arrays(dtype):
        yield sample(array, 0, 2)
    grid = numbers(dtype, 12).reshape(3, 4)
    for low, high in ((None, 1), (1, None), (-1, 300), (0.5, 1.5), (grid[0], 2), (None, None)):
        yield sample(grid, low, high)
        yield sample(grid, min=low, max=high)
    yield sample(tame(dtype, 4), 1, 2, out=np.zeros(4, np.float64))
    yield sample(tame(dtype, 4), 1, 2, np.zeros(4, dtype))


rounds: Final = calls(of_arrays(), of_arrays(2), of_arrays(decimals=-1), of_arrays(1.5))
diffs: Final = calls(of_arrays(), of_arrays(2), of_arrays(axis=0), of_arrays(-1), of_arrays(1, 5))


def closes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``isclose``."""
    for array in arrays(dtype):
        yield sample(array, array)
        yield sample(array, 1)
    grid = numbers(dtype, 12).reshape(3, 4)
    yield sample(grid, tame(np.dtype("f4"), 4), 0.5, atol=1)
    yield sample(grid, grid, equal_nan=True)
    yield sample(2.0, grid)
    yield sample(grid, tame(dtype, 3))


def fills(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``ndarray.fill``."""
    for value in (1, 2.5, 300, 1j, True, np.float32(1.5), np.int8(3), np.array(2), "a"):
        yield sample(tame(dtype, 6).reshape(2, 3)[:, ::-1], value)
        yield sample(np.zeros(0, dtype), value)


# Creation

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
    """Sample ``array`` and ``asarray``."""
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


# Products and linear algebra


def products(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``dot``, ``matmul`` and ``inner``."""
    cube, grid, line = (
        tame(dtype, 24).reshape(2, 3, 4),
        tame(dtype, 12).reshape(4, 3),
        tame(dtype, 4),
    )
    for left, right in (
        (grid, grid.T),
        (line, line),
        (line, grid),
        (cube, grid),
        (cube, line),
        (cube, cube),
        (cube, cube.transpose(0, 2, 1)),
        (cube[:1], tame(np.dtype("f4"), 24).reshape(2, 4, 3)),
        (grid, tame(np.dtype("i2"), 3)),
        (grid.reshape(1, 1, 4, 3), cube),
        (np.array(line[0]), line),
        (line[0], line[1]),
        (grid, 2),
        (2.0, line),
        (np.zeros((0, 3), dtype), grid.T),
        (np.zeros((3, 0), dtype), np.zeros((0, 2), dtype)),
        (line, [1, 2, 3, 4]),
    ):
        yield sample(left, right)


def matmuls(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.matmul``."""
    yield from products(dtype)
    grid = tame(dtype, 12).reshape(4, 3)
    yield sample(grid, grid.T, out=np.zeros((4, 4), np.float64))
    yield sample(grid, grid.T, dtype=np.float64)
    yield sample(grid, grid.T, np.zeros((3, 4), dtype))


def dots(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.dot``."""
    yield from products(dtype)
    grid = tame(dtype, 12).reshape(4, 3)
    yield sample(grid, grid.T, out=np.zeros((4, 4), dtype))
    yield sample(grid, grid.T, np.zeros((4, 4), np.float16))


def squares(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample functions of square matrices."""
    stack = tame(dtype, 18).reshape(2, 3, 3) + np.eye(3, dtype=dtype)
    yield sample(stack.astype(dtype))
    yield sample((stack[0] + stack[0].T).astype(dtype))
    yield sample(np.array(stack[0] @ stack[0].T).astype(dtype))
    yield sample(np.zeros((2, 2), dtype))
    yield sample(np.zeros((0, 0), dtype))
    yield sample(tame(dtype, 6).reshape(2, 3))
    yield sample(tame(dtype, 3))


def solves(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``solve``."""
    for one in squares(dtype):
        (matrix,) = one.args
        assert isinstance(matrix, np.ndarray)
        size = matrix.shape[-1]
        yield sample(matrix, tame(dtype, size))
        yield sample(matrix, tame(np.dtype("f8"), 2 * size).reshape(size, 2))
    yield sample(np.eye(3, dtype=dtype), tame(dtype, 4))


def norms(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``norm``."""
    for array in arrays(dtype):
        yield sample(array)
        yield sample(array, keepdims=True)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    for order in (None, 1, 2, np.inf, -np.inf, "fro"):
        yield sample(cube[0, 0], order)
        yield sample(cube[0], order)
        yield sample(cube, order, axis=1)
        yield sample(cube, order, (0, 2), keepdims=True)
        yield sample(cube, order)
    yield sample(cube, axis=-1, keepdims=True)
    yield sample(cube, axis=3)


# Sorting, taking, diagonals

sorts: Final = calls(of_arrays(), of_arrays(0), of_arrays(axis=None), of_arrays(-1, kind="stable"))
sort_methods: Final = calls(of_arrays(), of_arrays(0), of_arrays(-1, "stable"))
traces: Final = _each(sample(), sample(1), sample(-1, 1, 2), sample(axis1=0, axis2=-1), sample(9))
triangles: Final = _each(sample(), sample(1), sample(k=-1))


def takes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``take``."""
    for array in arrays(dtype):
        for index in (0, np.array([0, -1]), [0, 0], np.array([[1]]), np.array(0)):
            yield sample(array, index)
            yield sample(array, index, 0)
            yield sample(array, index, axis=-1)
    for bad in (np.array([9]), np.array([0.5]), np.array([True])):
        yield sample(tame(dtype, 4), bad)


def inplace_products(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``@=``."""
    grid = tame(dtype, 9).reshape(3, 3)
    yield sample(grid.copy(), grid)
    yield sample(tame(dtype, 6).reshape(2, 3), grid)
    yield sample(grid.copy(), tame(dtype, 6).reshape(3, 2))
    yield sample(grid.copy(), tame(dtype, 3))
