"""What is computed for nothing warns as in NumPy: machine code has instructions that leave out what is not chosen, and LLVM leaves out what nobody needs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import bcjit
from bcjit.backends.choice import has_llvm
from bcjit.backends.native.backend import Native

pytestmark = pytest.mark.skipif(not has_llvm(), reason="needs llvmlite")

LARGE = {"e": 6e4, "f": 3e38, "d": 1e308}


def operands(char, size=70):
    """Return two arrays that warn of much where the mask is false, and of nothing where it is true."""
    dtype = np.dtype(char)
    mask = np.arange(size) % 5 > 1
    real = dtype.type(0).real.dtype.char
    x = np.where(mask, 2, LARGE[real]).astype(dtype)
    y = np.where(mask, 4, 0).astype(dtype)
    y[::5] = -LARGE[real]
    return x, y, mask


COMPUTED = {
    "add": lambda x, y: x + x + y,
    "subtract": lambda x, y: y - x,
    "multiply": lambda x, y: x * x * y,
    "divide": lambda x, y: x / y,
    "by_number": lambda x, y: 1 / y,
    "reciprocal": lambda x, y: np.reciprocal(y),
    "square": lambda x, y: np.square(x),
    "remainder": lambda x, y: x % y,
    "floor_divide": lambda x, y: x // y,
    "sqrt": lambda x, y: np.sqrt(y),
    "log": lambda x, y: np.log(y),
    "exp": lambda x, y: np.exp(x),
    "narrower": lambda x, y: (x * x).astype("f4"),
    "maximum": lambda x, y: np.maximum(x / y, x),
    "clip": lambda x, y: np.clip(x / y, 0, 9),
}
NOT_COMPLEX = {"remainder", "floor_divide", "clip", "maximum", "narrower"}

TAKEN = {
    "where": lambda made, m, x: np.where(m, made, 0),
    "where_else": lambda made, m, x: np.where(~m, x, made),
    "where_whole": lambda made, m, x: np.where(m, made, x) + x,
    "sum": lambda made, m, x: np.where(m, made, 0).sum(),
    "scan": lambda made, m, x: np.cumsum(np.where(m, made, 0)),
    "never": lambda made, m, x: np.where(False, made, x),
    "none": lambda made, m, x: np.where(np.zeros(70, bool), made, x) * 2,
    "compared": lambda made, m, x: (made == 1) & m,
    "no_bool": lambda made, m, x: (made != made) & False,
    "bytes": lambda made, m, x: np.where(m, made, 0).astype("i1").astype("d") + m,
}


def _told(fn, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = fn(*arguments)
    return made.tobytes(), made.dtype, [str(one.message) for one in caught]


@pytest.mark.parametrize(
    ("char", "taken"),
    [(c, name) for c in "dfeD" for name in TAKEN if (c, name) != ("D", "bytes")],
)
def test_what_is_not_chosen_warns(char, taken):
    x, y, mask = operands(char)
    warned = 0
    for name, compute in COMPUTED.items():
        if char == "D" and name in NOT_COMPLEX:
            continue
        take = TAKEN[taken]
        fn = lambda x, y, m, compute=compute, take=take: take(compute(x, y), m, x)
        wanted = _told(fn, x, y, mask)
        compiled = bcjit.compile(fn, backend=Native(smallest=1))
        assert _told(compiled, x, y, mask) == wanted, name
        assert _told(compiled, x, y, mask) == wanted, name
        warned += bool(wanted[2])
    assert warned > 5


def stored(x, y, m, out):
    out[m] = (x / y)[m]
    out[...] = np.where(m, x / y, out)
    np.copyto(out, y - x, where=m)
    return out


@pytest.mark.parametrize("char", ["d", "f"])
def test_what_is_not_stored_warns(char):
    x, y, mask = operands(char)
    wanted = _told(stored, x, y, mask, np.zeros_like(x))
    compiled = bcjit.compile(stored, backend=Native(smallest=1))
    assert _told(compiled, x, y, mask, np.zeros_like(x)) == wanted
    assert len(wanted[2]) == 3


def test_a_fast_kernel_warns_too():
    x, y, mask = operands("d")
    fn = lambda x, y, m: np.where(m, 1 / y, x) + np.where(m, x / y, 0)
    compiled = bcjit.compile(fn, backend=Native(smallest=1, fast=True))
    assert _told(compiled, x, y, mask)[2] == _told(fn, x, y, mask)[2]
