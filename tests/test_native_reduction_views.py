"""Reductions in native kernels of what does not lie in C order, of views, over axes with others between, and of what NumPy casts as it adds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import bcjit
from bcjit.backends.choice import has_llvm

if not has_llvm():
    pytest.skip("llvmlite is not installed", allow_module_level=True)

from test_native_reductions import Spy, check, said, values

# NumPy holds so many elements in a buffer: what it adds up is in pieces of that, or of as many whole inner axes as fit.
BUFFER = 8192


def gradient(image):
    """Return a sum and an extreme over stencils."""
    across = image[1:-1, 2:] - image[1:-1, :-2]
    down = image[2:, 1:-1] - image[:-2, 1:-1]
    length = np.hypot(across, down)
    return length, length.max(), (across * down).sum()


def test_views_in_front_are_made_by_the_kernel():
    x, y = values((9, 40), np.float64), values((3, 5, 70), np.float64)
    check(gradient, x, kernels=1)
    check(lambda x: (x[1:] - x[:-1]).sum(axis=0), x, kernels=1)
    check(lambda x: (x[:, 1:] * x[:, :-1]).mean(axis=-1), x, kernels=1)
    check(lambda x: np.abs(x[::-1] - x).max(axis=-1, keepdims=True), x, kernels=1)
    check(lambda x: (x[:, ::2] + 1).sum(), x, kernels=1)
    check(lambda x: (x - x[:, :1]).std(axis=-1), x, kernels=1)
    check(lambda x: (x[2] * x[3]).sum(), x, kernels=1)
    check(lambda y: (y[:, 1:-1, 2:] ** 2).sum(axis=(1, 2)), y, kernels=1)
    check(lambda y: (y[:, 1:, 3:] - y[:, :-1, 3:]).mean(axis=0), y, kernels=1)


def test_views_that_are_folded_themselves():
    x, y = values((9, 40), np.float64), values((4, 5, 70), np.float64)
    for fn in (
        lambda x: x[1:].sum(),
        lambda x: x[1:].sum(axis=0),
        lambda x: x[:, 3:].sum(axis=-1),
        lambda x: x[:, ::2].sum(axis=-1),
        lambda x: x[:, ::2].mean(axis=0),
        lambda x: x[::-1].sum(axis=0),
        lambda x: x[:, ::-1].sum(axis=-1),
    ):
        check(fn, x, kernels=1)
    check(lambda y: (y[:, 1:].sum(axis=(1, 2)), y[:, 1:].var(axis=(1, 2))), y)
    check(lambda y: y[:, :, 5:].mean(axis=(1, 2)), y)
    check(lambda y: y[1:, :, 5:].sum(axis=0), y)
    check(lambda y: y[:, ::2, 5:].max(), y, runs=False)


def test_bounds_that_are_known_when_the_kernel_runs():
    x = values((9, 40), np.float64)
    fn = bcjit.compile(lambda x, n: (x[n:] - x[:1]).sum(axis=0) / len(x[0]), backend=Spy())
    for n in (1, 2, 3, -2, 0):
        assert said(fn(x, n)) == said((x[n:] - x[:1]).sum(axis=0) / 40)
    check(lambda x: (x[: x.shape[1] // 8] ** 2).mean(axis=-1), x)
    check(lambda x: (x[:, : x.shape[1]] * 2).mean(axis=1), x)
    picked = bcjit.compile(lambda x, n: (x[n] * 2).sum(), backend=Spy())
    for n in (1, 2, 3, -9):
        assert picked(x, n) == (x[n] * 2).sum()
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 9"):
        picked(x, 9)


def test_rolled_axes():
    x, y = values((6, 40), np.float64), values((3, 4, 7), np.float64)
    check(lambda x: np.abs(np.roll(x, 1, 0) - x).max(), x, kernels=1)
    check(lambda x: (np.roll(x, -3, axis=-1) * x).mean(axis=-1), x, kernels=1)
    check(lambda x: (np.roll(x, (1, 50), (0, 1)) * x).sum(axis=0), x, kernels=1)
    check(lambda x: np.roll(x[:, 1:], 2, 1).sum(axis=1), x, kernels=1)
    check(lambda y: (np.roll(y, 1, 1) * y).sum(axis=(1, 2)), y, kernels=1)
    check(lambda y: (np.roll(np.roll(y, 2, -1), -1, -2) * y).sum(axis=0), y, kernels=1)


@pytest.mark.parametrize("n", [1, 3, 9, 30, 70])
def test_short_rows_of_what_is_repeated(n):
    points, centres = values((40, n), np.float64), values((5, n), np.float64)
    check(lambda a, b: ((a[:, None, :] - b[None]) ** 2).sum(axis=2), points, centres, kernels=1)
    check(lambda a, b: np.abs(a[:, None] - b).max(axis=-1), points, centres, kernels=1)
    check(lambda a, b: (a[:, ::-1] * b[0]).mean(axis=-1), points, centres, kernels=1)
    check(lambda a: (np.roll(a, 1, 0) * a).sum(axis=-1), points, kernels=1)


AXES = ((0, 2), (0, 3), (1, 3), (0, 2, 3), (0, 1, 3))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_axes_with_others_between(dtype):
    x = values((3, 2, 4, 70), dtype)
    for axes in AXES:
        for keepdims in (False, True):
            check(
                lambda x, axes=axes, keepdims=keepdims: (
                    (x + x).sum(axis=axes, keepdims=keepdims),
                    (x + x).max(axis=axes, keepdims=keepdims),
                    x.sum(axis=axes),
                ),
                x,
                runs=False,
            )
    check(lambda x: np.square(x).sum(axis=(0, 1, 3)), x, kernels=1)
    check(lambda x: np.square(x).sum(axis=(0, 2)), x, kernels=1)
    check(lambda x: np.square(x).sum(axis=(0, 2)), x[:, :1], kernels=1)


def test_a_normalisation_over_a_batch_is_one_kernel():
    def normalised(x):
        mean = x.mean(axis=(0, 2, 3), keepdims=True)
        return (x - mean) / np.sqrt(x.var(axis=(0, 2, 3), keepdims=True) + 1e-5)

    for shape in ((2, 3, 4, 5), (1, 3, 4, 5), (3, 1, 2, 7), (2, 3, 30, 40)):
        check(normalised, values(shape, np.float64), kernels=1)
    # Channels last: rows of columns.
    check(
        lambda x: (x - x.mean(axis=(0, 2), keepdims=True)) / x.std(axis=(0, 2), keepdims=True),
        values((2, 3, 4, 40), np.float64),
        kernels=1,
    )
    check(normalised, values((2, 3, 4, 5), np.float64)[:, :, 1:], kernels=1)


def test_orders_of_axes():
    """Operands that agree on another order than C's: sums go by it, and results lie in it."""
    x = values((5, 6, 70), np.float64)
    fortran, turned = np.asfortranarray(x), x.transpose(1, 0, 2)
    check(lambda x: ((x * x).sum(), (x * x).max(), x.mean()), fortran, kernels=1)
    check(lambda x: (x * x).sum(axis=-1), turned, kernels=1)
    check(lambda x: (x - x.mean(axis=-1, keepdims=True)) ** 2, turned, kernels=1)
    check(lambda x: (x * 2, (x * 2).sum(axis=1)), fortran, kernels=1)
    check(lambda x: (x.T * x.T).sum(), x, kernels=1)
    check(lambda x: (x.transpose(2, 0, 1) * 2).sum(axis=0), x, runs=False)
    for axis in (0, 1, 2, (0, 2)):
        for other in (fortran, turned, fortran[:, :1]):
            check(
                lambda x, axis=axis: (
                    x.sum(axis=axis), (x * 2).max(axis=axis, keepdims=True), x.argmax(), x * 2
                ),
                other,
                runs=False,
            )  # fmt: skip


@pytest.mark.parametrize(
    ("source", "dtype"),
    [("f4", "f8"), ("f2", "f4"), ("f2", "f8"), ("i4", "f8"), ("i8", "f8"), ("u8", "f8")],
)
def test_sums_that_cast(source, dtype):
    for shape in ((300,), (3, 40), (BUFFER + 9,), (2, 5000), (2, BUFFER + 100)):
        x = values(shape, source, scale=0.1)
        check(lambda x: (x.sum(dtype=dtype), np.add.reduce(x + x, axis=-1, dtype=dtype)), x)
    x = values((4, 60), source, scale=0.1)
    check(lambda x: x.sum(axis=0, dtype=dtype), x, kernels=1)
    check(lambda x: x[:, 1:].sum(dtype=dtype), x, kernels=1)
    check(lambda x: x.prod(dtype=dtype, axis=-1), x / 2 if source[0] == "f" else x % 3)
    check(lambda x: (x.mean(axis=-1), (x + x).mean(), x.var(axis=-1)), x)


def test_a_narrower_dtype_is_left_to_numpy():
    x = values((4, 60), np.float64)
    assert not check(lambda x: (x * x).sum(axis=-1, dtype=np.float32), x, runs=False).reductions


@pytest.mark.parametrize("shape", [(3, 50, 60), (20, 30, 59), (2, 9, BUFFER + 8), (2, 70, 4100)])
def test_pieces_of_what_numpy_buffers(shape):
    """Axes that are not one axis in memory: NumPy goes through its buffer."""
    x = values(shape, np.float64)
    view, wide = x[:, 1:], values(shape, np.float32)[:, 1:]
    check(lambda x: (x.sum(), x.sum(axis=(1, 2))), view, runs=False)
    check(lambda x: x.sum(dtype=np.float64), wide)
    check(lambda x: (x[:, 1:] * 2).sum(), x, kernels=1)
    check(lambda x: np.add.reduce(x * 1j, axis=None), view, runs=False)


def test_a_program_may_choose_the_size_of_the_buffer():
    x, wide = values((3, 50, 60), np.float64)[:, 1:], values((3000,), np.float32)
    whole = np.getbufsize()

    def sums(x, y):
        return x.sum(), y.sum(dtype=np.float64), y.sum()

    compiled = bcjit.compile(sums, backend=Spy())
    try:
        for size in (whole, 64, whole):
            np.setbufsize(size)
            expected = said(sums(x, wide))
            for _ in range(2):
                assert said(compiled(x, wide)) == expected
    finally:
        np.setbufsize(whole)


def test_zeros_and_nan_of_what_does_not_lie_side_by_side():
    for special in (0.0, -0.0, np.nan):
        x = -np.abs(values((6, 40), np.float64))
        x[2:4, ::3] = special
        x[1, 2], x[4, 4] = 0.0, -0.0
        check(
            lambda x: (x[:, ::2].max(axis=-1), x[:, ::2].max(), x[:, 1:].min(), x[::2].max(axis=0)),
            x,
            runs=False,
        )


def test_warnings_of_sums_of_views():
    def total(x):
        return (x[1:] * 1e300).sum()

    compiled = bcjit.compile(total, backend=Spy())
    compiled(np.full(5, 0.1))
    x = np.full(50, 1e10)
    found = []
    for fn in (total, compiled):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found.append((said(fn(x)), [str(one.message) for one in seen]))
    assert found[0] == found[1]
    assert found[0][1] == ["overflow encountered in multiply"]
