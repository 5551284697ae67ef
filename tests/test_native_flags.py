"""What is computed for nothing warns as in NumPy: machine code has instructions that leave out what is not chosen, and LLVM leaves out what nobody needs."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import FULL

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


def _ended(fn, *arguments):
    try:
        return _told(fn, *arguments)
    except (OverflowError, ValueError) as error:
        return repr(error)


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


# Integers and bools that LLVM finds to be the same for all elements.
KNOWN = {
    "times_zero": lambda x: x * 0,
    "less_itself": lambda x: x - x,
    "own_bits": lambda x: x ^ x,
    "no_bits": lambda x: x & 0,
    "all_bits": lambda x: (x | ~x) + 1,
    "shifted": lambda x: (x << 1) & 1,
    "remainder": lambda x: (x * 4) % 2,
    "smaller": lambda x: np.minimum(x, 3) > 3,
    "other": lambda x: x != x,
    "both": lambda x: (x > 1) & ~(x > 1),
    "clipped": lambda x: np.clip(x, 0, 2) > 2,
    "narrow": lambda x: x.astype("u1").astype("i8") > 255,
}
ZERO_OF = {
    "divided": lambda z: z / z,
    "quotient": lambda z: 1.5 / z.astype("d"),
    "floor": lambda z: z.astype("f") // z.astype("f"),
    "single": lambda z: z.astype("f") / z.astype("f"),
    "half": lambda z: z.astype("e") / z.astype("e"),
    "root": lambda z: np.sqrt(z - 1.0),
    "overflow": lambda z: (z + 1e308) * 10,
    "imaginary": lambda z: z.astype("D") / 0.0,
    "sum": lambda z: (z.astype("d") / z.astype("d")).sum(),
    "prefix": lambda z: np.cumsum(z.astype("d") / z.astype("d")),
}


@pytest.mark.parametrize("char", "iBl" if FULL else "lB")
@pytest.mark.parametrize("known", KNOWN)
def test_what_llvm_knows_of_integers_warns(known, char):
    x = np.arange(1, 71).astype(char)
    make = KNOWN[known]
    for name, compute in ZERO_OF.items():
        fn = lambda x, compute=compute: compute(make(x))
        wanted = _told(fn, x)
        assert wanted[2], name
        assert _told(bcjit.compile(fn, backend=Native(smallest=1)), x) == wanted, name


@pytest.mark.parametrize("char", "iBl" if FULL else "lB")
@pytest.mark.parametrize("known", KNOWN)
def test_what_a_condition_never_chooses_warns(known, char):
    n = np.arange(1, 71).astype(char)
    for dtype in "dfe":
        x, y, _ = operands(dtype)
        never = lambda n, x, y: np.where(KNOWN[known](n) != 0, x / y, y)
        always = lambda n, x, y: np.where(KNOWN[known](n) == 0, x, np.sqrt(y))
        at_once = lambda n, x, y: np.where(KNOWN[known](n), x * x * x, y)
        for fn in (never, always, at_once):
            wanted = _told(fn, n, x, y)
            assert wanted[2]
            assert _told(bcjit.compile(fn, backend=Native(smallest=1)), n, x, y) == wanted


# What is left of floats in integers, which are multiplied by zero then.
SEEN = {
    "sign": lambda made: np.signbit(made),
    "exponent": lambda made: np.frexp(made)[1],
    "integer": lambda made: made.astype("l"),
    "byte": lambda made: made.astype("i1"),
    "compared": lambda made: made > 1,
    "finite": lambda made: np.isfinite(made),
    "nan": lambda made: np.isnan(made),
    "truth": lambda made: np.logical_not(made),
    "counted": lambda made: made.astype("l").astype("u1") // 3,
}


@pytest.mark.parametrize("char", "dfe")
@pytest.mark.parametrize("seen", SEEN)
def test_what_only_integers_see_warns(seen, char):
    x, y, _ = operands(char)
    for name, compute in COMPUTED.items():
        forgets = lambda x, y, compute=compute: SEEN[seen](compute(x, y)) * 0
        itself = lambda x, y, compute=compute: SEEN[seen](compute(x, y)) ^ SEEN[seen](compute(x, y))
        for fn in (forgets, itself):
            wanted = _told(fn, x, y)
            assert _told(bcjit.compile(fn, backend=Native(smallest=1)), x, y) == wanted, name


LARGEST = np.float64(1e300)


def masked_by_number(x, k):
    x[x > 9] = x[x > 9] + np.multiply(k, np.add(x[x > 9], LARGEST, dtype="f4"), dtype="f4")
    return x


def filled(x, k):
    x[...] = LARGEST
    return x


def filled_where(x, k):
    x[x > 9] = LARGEST
    return x


def filled_by_argument(x, k):
    x[x > 9] = np.float64(k)
    return x


# Numbers are converted once, whether there are elements or not.
OF_NUMBERS = {
    "constant": lambda x, k: np.add(x, LARGEST, dtype="f4") * 2,
    "argument": lambda x, k: np.multiply(x, k, dtype="f4") + x,
    "python": lambda x, k: x * k + 1,
    "copied": lambda x, k: np.where(x > 9, x, np.float32(k)) * 2,
    "sum": lambda x, k: np.add(x, LARGEST, dtype="f4").sum(),
    "prefix": lambda x, k: np.cumsum(np.add(x, LARGEST, dtype="f4")),
    "filled": filled,
    "filled_where": filled_where,
    "filled_by_argument": filled_by_argument,
    "masked": masked_by_number,
}


@pytest.mark.parametrize("char", "fei")
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_numbers_warn_where_there_are_no_elements(name, char):
    fn = OF_NUMBERS[name]
    for k in (1e300, LARGEST, np.float32(3)):
        compiled = bcjit.compile(fn, backend=Native(smallest=1))
        for shape in (4, (2, 3), 0, (0, 3), (3, 0), 1):
            wanted = _ended(fn, np.ones(shape, char), k)
            assert _ended(compiled, np.ones(shape, char), k) == wanted, shape


# What only gives a sign, or is only chosen where another number is zero.
SIGNS = {
    "copysign": lambda made, x: np.copysign(x, made),
    "of_magnitude": lambda made, x: np.copysign(x, np.abs(made)),
    "of_part": lambda made, x: np.copysign(x, np.modf(made)[0]),
    "forgotten": lambda made, x: np.abs(np.copysign(x, made)),
    "again": lambda made, x: np.copysign(np.copysign(x, made), x),
    "positive_again": lambda made, x: np.copysign(np.copysign(x, made), np.abs(x)),
    "narrow": lambda made, x: np.copysign(x.astype("e"), made.astype("e")),
    "heaviside": lambda made, x: np.heaviside(x, made),
}


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("char", "dfe")
@pytest.mark.parametrize("taken", SIGNS)
def test_what_only_gives_a_sign_warns(taken, char, fast):
    x, y, _ = operands(char)
    for name, compute in COMPUTED.items():
        fn = lambda x, y, compute=compute: SIGNS[taken](compute(x, y), x)
        wanted = _told(fn, x, y)
        made = _told(bcjit.compile(fn, backend=Native(smallest=1, fast=fast)), x, y)
        assert made[2] == wanted[2], name
        assert fast or made == wanted, name
