"""Floor division and remainders in vectors: NumPy's bits, or the flag that has NumPy do it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import FULL
from native_kit import (
    FUNCTIONS,
    apply,
    combinations,
    flags_of_kernels,
    flags_of_numpy,
    kernel_of,
    program_of,
    same,
    special,
)

import bcjit
from bcjit.backends.choice import has_llvm
from bcjit.backends.native.backend import Native
from bcjit.backends.native.division import QUOTIENTS
from bcjit.backends.native.program import flags_that_count
from bcjit.backends.native.rules import has_rule
from bcjit.backends.native.scalars import Apply, Constant, Element, Number
from bcjit.ops.scalar_functions import CAST

pytestmark = pytest.mark.skipif(not has_llvm(), reason="needs llvmlite")

RNG = np.random.default_rng(31)
NAMES = sorted(QUOTIENTS)
INVALID = 8
CASES = [
    (name, char)
    for name in NAMES
    for char in "bBhHiIqQfd"
    if has_llvm() and has_rule(FUNCTIONS[name], (np.dtype(char),) * 3)
]
both = pytest.mark.parametrize(("name", "char"), CASES)


def program(name, char, by=None):
    """Return the program of one quotient, by another operand if nothing else is given."""
    dtype = np.dtype(char)
    item = apply(FUNCTIONS[name], (dtype,) * 3)
    if by is not None:
        item = Apply(item.function, item.dtypes, (item.operands[0], by))
    return program_of(item, numbers=(dtype,) if isinstance(by, Number) else ())


def left(value, by):
    """Return which quotients may be left to NumPy."""
    dtype = value.dtype
    with np.errstate(all="ignore"):
        if dtype.kind == "f":
            ratio = value / by
            large = np.abs(ratio) >= 2.0 ** (np.finfo(dtype).nmant + 1)
            return large | np.isinf(value) | np.isinf(by) | (by == 0)
        found = by == 0
        if dtype.kind == "i":
            found |= (value == np.iinfo(dtype).min) & (by == -1)
        if dtype.itemsize == 8:
            found |= (np.abs(value.astype(float) / by.astype(float)) > 2.0**62.9) | (by > 2**62)
        return found


@both
def test_each_element_is_numpys_or_left_to_it(name, char):
    """Special values against each other, one by one: whatever NumPy speaks of is flagged, and little else is left to it."""
    dtype = np.dtype(char)
    function, kernel = FUNCTIONS[name].ufunc, kernel_of(program(name, char))
    value, by = combinations((dtype, dtype))
    expected_left = left(value, by)
    for i in range(0, len(value), 1 if FULL else 7):
        one, other = value[i : i + 1], by[i : i + 1]
        with flags_of_kernels() as raised, flags_of_numpy() as spoken:
            made, wanted = kernel(one, other), function(one, other)
        flags = raised[0] if raised else 0
        if flags & INVALID:
            assert expected_left[i], (one, other)
        else:
            assert same(made, wanted, any_nan=True), (one, other)
            assert not spoken or spoken[0] & ~flags == 0, (one, other)


def hard(dtype, n):
    """Return operands of all magnitudes whose quotients are whole, or just not so."""
    if dtype.kind == "f":
        by = (RNG.normal(size=n) * 10.0 ** RNG.uniform(-3, 3, n)).astype(dtype)
        value = (by * RNG.integers(-50, 50, n)).astype(dtype)
        third = n // 3
        value[:third] = np.nextafter(value[:third], dtype.type(np.inf))
        value[third : 2 * third] = np.nextafter(value[third : 2 * third], dtype.type(-np.inf))
        return value, by
    info, bits = np.iinfo(dtype), 8 * dtype.itemsize
    by, value = [], []
    for size in RNG.integers(1, bits, n):
        other = int(RNG.integers(1 << (int(size) - 1), 1 << int(size), dtype=np.uint64))
        times = int(RNG.integers(0, 1 << (bits - int(size)), dtype=np.uint64))
        one = times * other + (0, 1, -1, other - 1)[int(RNG.integers(4))]
        signs = RNG.choice([1, -1], 2) if dtype.kind == "i" else (1, 1)
        by.append(min(int(signs[1]) * other, info.max))
        value.append(min(max(int(signs[0]) * one, info.min), info.max))
    return np.array(value, dtype), np.array(by, dtype)


@both
def test_quotients_near_whole_numbers(name, char):
    """Of whole vectors, with operands that round to others as floats."""
    value, by = hard(np.dtype(char), 600)
    some = ~left(value, by)
    value, by = value[some], by[some]
    with flags_of_kernels() as raised, np.errstate(all="ignore"):
        made, wanted = kernel_of(program(name, char))(value, by), FUNCTIONS[name].ufunc(value, by)
    assert not any(flags & INVALID for flags in raised)
    assert same(made, wanted)


def test_all_of_a_byte():
    """Every quotient of int8 and uint8."""
    for dtype in map(np.dtype, "bB"):
        every = np.arange(256).astype(dtype)
        value, by = np.repeat(every, 256), np.tile(every, 256)
        some = ~left(value, by)
        for name in NAMES:
            kernel = kernel_of(program(name, dtype.char), checks_flags=2)
            made = kernel(value[some], by[some])
            assert same(made, FUNCTIONS[name].ufunc(value[some], by[some]))


@both
def test_by_a_number(name, char):
    """Constants have ways of their own, and numbers are divided by in all lanes; none of these needs NumPy."""
    dtype = np.dtype(char)
    value = special(dtype) if dtype.kind in "iu" else hard(dtype, 40)[0]
    numbers = [1, 7, 16, -3]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        numbers += [info.max, info.min, info.max // 2 + 1, 10**9 + 7]
        numbers = [one for one in numbers if info.min <= one <= info.max and one not in (0, -1)]
    for by in numbers:
        constant = Constant(dtype.type(by))
        item = program(name, char, constant)
        assert flags_that_count(item.results[0]) == (2 if dtype.kind == "f" else 0)
        with flags_of_kernels() as raised, np.errstate(all="ignore"):
            wanted = FUNCTIONS[name].ufunc(value, dtype.type(by))
            assert same(kernel_of(item)(value), wanted), by
            some = ~left(value, np.full_like(value, by))
            given = value[some]
            if some.any():
                made = kernel_of(program(name, char, Number(0, dtype)))(given, by)
                assert same(made, wanted[some]), by
        assert not any(flags & INVALID for flags in raised)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("by", [0, -1])
def test_by_a_constant_of_which_numpy_speaks(by, name):
    """Zero and -1 are told as an array of them is."""
    for char in "biq":
        dtype = np.dtype(char)
        item = program(name, char, Constant(dtype.type(by)))
        assert flags_that_count(item.results[0]) == 2
        with flags_of_kernels() as raised:
            kernel_of(item)(np.array([np.iinfo(dtype).min] * 3, dtype))
        assert raised[0] & INVALID


@pytest.mark.parametrize("char", "bHiqQ")
def test_flags_of_what_is_not_needed(char):
    """A quotient that the rest of the kernel forgets is computed all the same; so is a float as an integer."""
    dtype, double = np.dtype(char), np.dtype("d")
    loop = (dtype,) * 3
    quotient = apply(FUNCTIONS["floor_divide"], loop)
    whole = Apply(CAST, (double, dtype), (Element(2, double),))
    zero = Constant(dtype.type(0))
    for item, spoiled in ((quotient, 1), (whole, 2)):
        forgotten = (
            Apply(FUNCTIONS["multiply"], loop, (item, zero)),
            Apply(FUNCTIONS["bitwise_xor"], loop, (item, item)),
        )
        rest = apply(FUNCTIONS["add"], loop), apply(FUNCTIONS["negative"], (double,) * 2, 2)
        operands = [np.ones(70, dtype), np.ones(70, dtype), np.ones(70)]
        operands[spoiled][40] = 0 if spoiled == 1 else np.nan
        for one in forgotten:
            with flags_of_kernels() as raised:
                kernel_of(program_of(one, *rest))(*operands)
            assert raised
            assert raised[0] & INVALID


@pytest.mark.parametrize("name", ["less", "equal", "not_equal", "isnan", "isfinite"])
def test_flags_of_what_is_compared(name):
    """What is compared is computed, whatever becomes of the answer."""
    double, truth = np.dtype("d"), np.dtype("?")
    ratio = apply(FUNCTIONS["divide"], (double,) * 3)
    function = FUNCTIONS[name]
    given = (ratio, Element(0, double))[: function.nin]
    answer = Apply(function, (*(double,) * function.nin, truth), given)
    item = Apply(FUNCTIONS["logical_and"], (truth,) * 3, (answer, Constant(np.False_)))
    by = np.ones(70)
    by[40] = 0
    with flags_of_kernels() as raised:
        made = kernel_of(program_of(item, apply(FUNCTIONS["add"], (double,) * 3)))(np.ones(70), by)
    assert raised == [1]
    assert not made[0].any()


def test_mixed_with_others():
    """What is divided is computed in the same kernel, and what is made of it; dtypes are NumPy's."""
    x, y = np.arange(-9, 9, dtype=np.int32), np.arange(1, 19, dtype=np.int16)

    def fn(x, y, k):
        return (x * 3) // y - x % k + (y // 4) % 5, np.remainder(x, 2.5) // y

    compiled = bcjit.compile(fn, backend=Native(smallest=1))
    for k in (7, -3):
        for made, wanted in zip(compiled(x, y, k), fn(x, y, k), strict=True):
            assert same(made, wanted)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float64])
def test_warnings_are_numpys(dtype):
    """Division by zero: NumPy's values, and its warning once, at the user's line."""

    def fn(x, y):
        return (x + x) // y, (x + x) % y

    x, y = np.arange(6).astype(dtype), np.array([1, 2, 0, 3, 0, 5]).astype(dtype)
    compiled = bcjit.compile(fn, backend=Native(smallest=1))

    def heard(function):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            made = function(x, y)
        return made, [(one.category, str(one.message), one.lineno) for one in found]

    (wanted, said), (made, also) = heard(fn), heard(compiled)
    assert said == also
    assert said
    assert all(same(one, other) for one, other in zip(made, wanted, strict=True))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        compiled(x, y)
