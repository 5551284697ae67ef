"""Where what a kernel gives lies, and what it computes where nothing is stored: as NumPy has it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import bcjit

pytest.importorskip("llvmlite")

REPEATED = np.broadcast_to(np.arange(12.0) / 7, (9, 12))
FORTRAN = np.asfortranarray(np.arange(12.0).reshape(3, 4))
WIDE = np.arange(48.0).reshape(6, 8)


def store(x, y):
    x[1:-1] = np.sqrt(y) * 2


def add(x, y):
    x[1:-1] += np.sqrt(y) * 2


def fill(x, y):
    x[...] = np.sqrt(y) * 2


def copy(x, y):
    np.copyto(x[1:-1], np.sqrt(y) * 2)


def outcome(function, args):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = function(*args)
    layout = None if result is None else (result.dtype, result.strides, result.tobytes("A"))
    return layout, [str(one.message) for one in said], [one.tobytes() for one in args]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.astype("f4") + 1, lambda x: np.nan_to_num(x) + 1, lambda x: np.round(x, 1) * 2,
        lambda x: x.round(2) - 1, lambda x: x.astype("f4").std(axis=0), lambda x: (x * 2).astype("f4").sum(axis=0),
        lambda x: (x.astype("f4") * x.astype("f4")).sum(),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "x",
    [REPEATED, FORTRAN, FORTRAN[:, ::-1], WIDE.T[::2, ::2], WIDE, WIDE[:, :1], WIDE[::-1, 1:5],
     np.broadcast_to(np.ones((2, 1, 3)), (2, 5, 3))],
    ids=lambda x: f"{x.shape}{x.strides}",
)  # fmt: skip
def test_copies_lie_as_copies_do(function, x):
    compiled = bcjit.compile(function, backend="native")
    for _ in range(2):
        assert outcome(compiled, (x,)) == outcome(function, (x,))


@pytest.mark.parametrize("function", [store, add, fill, copy])
@pytest.mark.parametrize(
    ("shape", "other"),
    [((2,), (1,)), ((1, 5), (1, 5)), ((2, 5), (5,)), ((2, 5), (0, 5)), ((0,), (1,)), ((3, 2), (2,))],
)  # fmt: skip
def test_what_is_stored_nowhere_is_computed_all_the_same(function, shape, other):
    def args():
        return np.zeros(shape), -np.ones(other)

    try:
        expected = outcome(function, args())
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            bcjit.compile(function, backend="native")(*args())
    else:
        assert outcome(bcjit.compile(function, backend="native"), args()) == expected
