"""Scans in native kernels: bit for bit what NumPy gives, for each loop, layout and block, with elementwise work around them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import bcjit
from bcjit import _core
from bcjit.backends.choice import has_llvm
from bcjit.backends.native.backend import Native
from bcjit.backends.native.build import build

pytestmark = pytest.mark.skipif(not has_llvm(), reason="llvmlite is not installed")

RNG = np.random.default_rng(30)


class Spy(Native):
    """The native backend, which remembers its kernels."""

    def __init__(self, *, fast=False):
        super().__init__(smallest=1, fast=fast)
        self.kernels = []

    def __call__(self, graph, example_inputs):
        """See `Native`."""
        super().__call__(graph, example_inputs)
        made = build(graph, self.smallest, fast=self.fast)
        made.graph.lint()
        kinds = (_core.Kernel, _core.ReduceKernel, _core.ScanKernel)
        self.kernels = [one.target for one in made.graph.calls if isinstance(one.target, kinds)]
        return made.graph.to_callable(origin=made.origin)

    @property
    def scans(self):
        """Those with scans."""
        return [one for one in self.kernels if isinstance(one, _core.ScanKernel)]


def said(value):
    """Return all that can be told of a result: of NaN only where they are, since which of two a sum gives is open."""
    if isinstance(value, tuple):
        return tuple(map(said, value))
    flat = np.array(value, copy=True).reshape(-1)
    if flat.dtype.kind in "fc":
        flat = flat.view(flat.real.dtype)
        flat[np.isnan(flat)] = np.nan
    return type(value), value.dtype, value.shape, value.strides, value.base is None, flat.tobytes()


def check(fn, *args, runs=True, kernels=1, fast=False):
    """Compare a function with its compiled form; `runs` says that kernels with scans did it, None that NumPy may have had to."""
    spy = Spy(fast=fast)
    compiled = bcjit.compile(fn, backend=spy)
    with np.errstate(all="ignore"):
        expected = fn(*args)
        for _ in range(2):
            assert said(compiled(*args)) == said(expected)
    assert kernels in (None, len(spy.kernels))
    if runs:
        assert spy.scans
        assert all(one.calls and not one.fell_back for one in spy.scans)
    elif runs is not None:
        assert all(one.fell_back == one.calls for one in spy.scans)
    return spy


def values(shape, char):
    """Return elements of which the order matters, beyond each other's precision and with zeros of both signs."""
    dtype = np.dtype(char)
    if dtype.kind == "b":
        return RNG.random(shape) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)
    made = RNG.normal(size=shape) * 10.0 ** RNG.uniform(-2, 2, shape)
    made = made + 1j * RNG.normal(size=shape) if dtype.kind == "c" else made
    made = made.astype(dtype)
    made.reshape(-1)[[1, 3]] = 0.0, -0.0
    return made


REAL = "?bBhHiIlLqQefd"
LOOPS = [
    *(("add", char) for char in REAL + "FD"),
    *(("multiply", char) for char in REAL),
    *((name, char) for name in ("maximum", "minimum") for char in REAL),
    *((name, "?") for name in ("logical_and", "logical_or", "logical_xor")),
]


@pytest.mark.parametrize(("name", "char"), LOOPS)
def test_loops(name, char):
    """Each loop along the last axis, by rows, and along the first, by columns and by few of them, is NumPy's."""
    accumulate = getattr(np, name).accumulate
    dtype = np.dtype(char)
    # Small integers and bools would be folded in larger ones.
    check(lambda x: accumulate(x, axis=1, dtype=dtype), values((6, 4), char))
    check(lambda x: accumulate(x, axis=0, dtype=dtype), values((4, 5), char))
    check(lambda x: accumulate(x, axis=0, dtype=dtype), values((9, 2), char))


@pytest.mark.parametrize("char", "fde")
@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_of_equal_zeros_and_nan(name, char):
    """Of zeros of two signs, and behind a NaN, extremes are those that NumPy's loop takes, with any number of elements; no flag is raised for them."""
    accumulate = getattr(np, name).accumulate
    some = np.array([0.0, -0.0, 1.0, -0.0, 0.0, np.nan, 2.0, -np.nan], char)
    for n in (1, 2, 3, 8):
        check(lambda x: accumulate(x), some[:n])
        check(lambda x: accumulate(x, axis=0), np.tile(some[:n, None], (1, 6)))
    check(lambda x: accumulate(x / 2), some)
    with np.errstate(all="raise"):
        spy = Spy()
        bcjit.compile(lambda x: accumulate(x / 2), backend=spy)(some)
    assert not any(one.fell_back for one in spy.scans)


@pytest.mark.parametrize("given", "?bHiqefd")
@pytest.mark.parametrize("dtype", [None, np.float64, np.int32, np.complex128])
def test_dtypes(given, dtype):
    """Elements are cast before they are folded, small integers to what NumPy counts in."""
    x = np.clip(values(13, given).astype("d"), 0, 50).astype(given)
    halves = given == "e" and dtype == np.complex128
    check(lambda x: np.cumsum(x, dtype=dtype), x, runs=not halves, kernels=0 if halves else 1)


LAYOUTS = {
    "C": lambda x: x,
    "Fortran": np.asfortranarray,
    "every other row": lambda x: x[::2],
    "every other column": lambda x: x[:, ::2],
    "one column": lambda x: x[:, :1],
    "repeated": lambda x: np.broadcast_to(x[0], x.shape),
}
OTHERS = {
    "backwards": lambda x: x[::-1],
    "unaligned": lambda x: np.frombuffer(b"?" + x.tobytes(), x.dtype, offset=1).reshape(x.shape),
    "swapped": lambda x: x.astype(">f8"),
    "empty": lambda x: x[:0],
}


@pytest.mark.parametrize("axis", [0, 1, None])
@pytest.mark.parametrize("layout", [*LAYOUTS, *OTHERS])
def test_layouts(layout, axis):
    """Results lie as NumPy lays them out; what does not lie in order is NumPy's."""
    x = {**LAYOUTS, **OTHERS}[layout](values((6, 4), "d"))
    runs = layout in LAYOUTS and (
        axis is not None or layout in ("C", "one column", "every other column")
    )
    fn = {
        0: lambda x: np.cumsum(x, axis=0),
        1: lambda x: np.cumsum(x, axis=1),
        None: lambda x: np.cumsum(x),
    }[axis]
    kernels = int(layout != "swapped")
    check(fn, x, runs=None if layout == "every other row" else runs, kernels=kernels)


@pytest.mark.parametrize("step", [-1, 3, -2])
def test_one_axis_with_strides(step):
    """One axis may go backwards, as sums from the end do."""
    check(lambda x: np.cumsum(x), values(20, "d")[::step])
    check(lambda x: np.cumsum(x * 2), values(20, "h")[::step])


def test_what_replaces_nan_copies():
    """A row that is repeated is copied as Fortran has it, and so lies the result."""
    x = values((6, 4), "d")
    repeated = np.broadcast_to(x[0], (5, 4))
    check(lambda x: np.nancumsum(x, axis=0), x)
    check(lambda x: np.nancumsum(x, axis=0), repeated, runs=False)
    check(lambda x: np.cumsum(x, axis=0), repeated)


def test_loops_of_numpys_go_backwards_otherwise():
    """Where elements go backwards beside others, some of NumPy's loops have other last bits: they are asked, not kernels."""
    x, y = values(100, "f"), values(100, "f")
    check(lambda x, y: np.cumsum(np.arctan2(x, y)), x[::-1], y, runs=None)
    check(lambda x, y: np.arctan2(x, y) * 2, x[::-1], y, runs=None)
    check(lambda x, y: np.arctan2(x[::-1], y) * 2, x, y, runs=None)
    check(lambda x, y: np.max(np.arctan2(x[::-1], y)), x, y, runs=None)
    check(lambda x, y: np.sum(np.arctan2(x, y)), x[::-1], y, runs=None)
    check(lambda x, y: x[::-1] * y + 1, x, y, runs=None)


@pytest.mark.parametrize("char", ["F", "D"])
def test_products_of_complex_numbers_go_backwards_otherwise(char):
    """So do NumPy's products of complex numbers, which are none of its loops in a kernel."""
    x, y = (RNG.standard_normal(74).view("D").astype(char) for _ in range(2))
    x, y = np.tile(x, 3), np.tile(y, 3)
    check(lambda x, y: x * y + 1, x[::-1], y, runs=None)
    check(lambda x, y: x * y[::-1] + 1, x, y, runs=None)
    check(lambda x, y: x * y, x[::-1], y[::-1], runs=None)
    check(lambda x, y: np.sum(x * y), x[::-1], y, runs=None)
    check(lambda x, y: np.cumsum(x * y), x[::-1], y, runs=None)
    check(lambda x: np.square(x) - 1, x[::-1], runs=None, kernels=None)

    def masked(x, y):
        x = x.copy()
        m = x.real > 0
        x[m] = x[m] * y[: np.sum(m)][::-1]
        return x

    check(masked, x, y, runs=None, kernels=None)


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 1, 2)])
def test_axes(shape):
    """Any axis of three."""
    x = values(shape, "d")
    check(lambda x: x.cumsum(axis=0) * x, x)
    check(lambda x: x.cumsum(1) * x, x)
    check(lambda x: x.cumsum(-1) * x, x)


@pytest.mark.parametrize("n", [1, 7, 1023, 1024, 1025, 2049])
def test_blocks(n):
    """What was folded goes on from block to block, and behind others: rows, columns, and rows of columns."""

    def fn(x):
        c = np.cumsum(np.abs(x) + 1, axis=0)
        return c, np.maximum.accumulate(np.cumsum(x - c, axis=0), axis=0) * 2

    check(fn, values(n, "d") if n > 1 else np.ones(1))
    check(fn, np.resize(values(50, "d"), (3, n)))
    check(fn, np.resize(values(50, "d"), (n, 3)))


FUSED = [
    lambda x: np.cumsum(x * 2 + 1) - x,
    lambda x: np.cumsum(np.cumsum(x)),
    lambda x: np.cumsum(x) / np.cumsum(np.abs(x)),
    lambda x: np.cumsum(np.exp(-x * x)) + np.exp(-x * x),
    lambda x: (np.cumsum(x), np.cumsum(x) * 2, x + np.cumsum(x)),
    lambda x: 1 - np.cumprod(1 + x * 1e-3) / np.maximum.accumulate(np.cumprod(1 + x * 1e-3)),
    lambda x: np.nancumsum(x),
    lambda x: np.cumsum(x > 0) * x,
    lambda x: np.logical_or.accumulate(x > 3) & (x > 0),
    lambda x: np.cumsum((x > 0).astype(np.int32)),
    lambda x: x - np.minimum.accumulate(x),
]


@pytest.mark.parametrize("fn", FUSED)
def test_fused(fn):
    """Elementwise calls before, between and behind are in the same kernel."""
    x = values(20, "d")
    x[7] = np.nan
    check(fn, x)


def test_not_all_at_once():
    """What a scan of all elements gives has one axis: it is not beside the elements; views and other shapes are other kernels."""
    x = values((4, 5), "d")
    check(lambda x: np.cumsum(x + 1) * 2, x, kernels=2)

    def beside(x):
        y = x.reshape(1, 5)
        return y * np.cumsum(y * 2)

    check(beside, x[0], kernels=None)
    check(lambda x: np.cumsum(x, axis=0) + np.cumsum(x, axis=1), x, kernels=2)
    check(lambda x: np.cumsum(x / x.sum()), x[0], kernels=2)
    check(lambda x: np.cumsum(x)[2:] - np.cumsum(x)[:-2], x[0], kernels=2)


def test_too_many():
    """More scans than a kernel has room for are made one by one."""

    def fn(x):
        y = x + 1
        return tuple(np.cumsum(y * k) for k in range(1, 11))

    spy = check(fn, values(5, "d"), kernels=None)
    assert len(spy.scans) == 10


def test_left_to_numpy():
    """Products of complex numbers, other functions, and what is stored somewhere."""
    x = values(6, "d")
    check(lambda x: np.cumprod(x), values(6, "D"), runs=None, kernels=0)
    check(lambda x: np.subtract.accumulate(x), x, runs=None, kernels=0)

    def stored(x):
        out = np.zeros(6)
        np.cumsum(x, out=out)
        return out

    check(stored, x, runs=None, kernels=0)


def test_flags():
    """A flag that NumPy would speak of has NumPy do it again: its warning, at the user's line."""

    def fn(x):
        return np.cumprod(x * 2)

    x = np.full(12, 1e200)
    spy = Spy()
    compiled = bcjit.compile(fn, backend=spy)
    with warnings.catch_warnings(record=True) as said_so:
        warnings.simplefilter("always")
        fn(x)
        compiled(x)
    assert [str(one.message) for one in said_so] == ["overflow encountered in accumulate"] * 2
    assert said_so[1].lineno == said_so[0].lineno
    assert spy.scans[0].fell_back == 1
    with np.errstate(over="ignore"):
        compiled(x)
    assert spy.scans[0].fell_back == 1


def test_fast():
    """The option for polynomials goes through scans."""
    x = np.linspace(0, 1, 9)
    spy = Spy(fast=True)
    made = bcjit.compile(lambda x: np.cumsum(np.exp(x)), backend=spy)(x)
    assert spy.scans[0].calls == 1
    np.testing.assert_allclose(made, np.cumsum(np.exp(x)), rtol=1e-14)


@pytest.mark.parametrize(
    "change",
    [
        {"ndim": 0}, {"axis": 1}, {"operands": ()}, {"operands": ((1, 12),)}, {"values": (12,) * 25},
        {"results": ((1, False),)}, {"results": ()}, {"phases": ()}, {"results": ((0, False),) * 2},
        {"phases": ((None, (("add", "f", 1, 1, 3, 0, False),)),)},
        {"phases": ((None, (("add", "f", 0, 0, 0, 0, False),)),)},
        {"phases": (((0, None, (), 1, 1, 0, (0,), (0,)), ()),)},
        {"scalars": ((3, 12, False),)},
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_kernel(change):
    """C says what it cannot run."""
    good = {
        "fallback": len, "n_arguments": 1, "n_fallback": 1, "ndim": 1, "axis": 0,
        "operands": ((0, 12),), "scalars": (), "values": (12,),
        "phases": ((None, (("add", "f", 1, 1, 0, 0, False),)),), "results": ((0, False),),
        "checks_flags": 0, "warns_here": False, "copies": False,
    }  # fmt: skip
    assert _core.ScanKernel(**good)(np.arange(3.0)).tolist() == [0.0, 1.0, 3.0]
    with pytest.raises(ValueError, match="ScanKernel"):
        _core.ScanKernel(**{**good, **change})
