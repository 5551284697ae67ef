"""Reductions of large arrays by several threads: the bits of NumPy's whatever their number, flags, interrupts."""

import signal
import warnings

import numpy as np
import pytest

import bcjit
from bcjit.backends.choice import has_llvm
from bcjit.config import config

if not has_llvm():
    pytest.skip("llvmlite is not installed", allow_module_level=True)

from test_native_reductions import Spy, said, scaled, softmax, standardised, values

# Elements of rows that are cut into parts; and of those that are not.
LONG, SHORT = 1 << 17, 1 << 9


def sums(x):
    return x.sum(), np.square(x).sum(axis=-1), x.var(), (x > 0).sum()


def positions(x):
    return (x * 2).argmax(axis=-1), (x * 2).prod(axis=-1)


def stencil(x):
    return np.abs(x[..., 2:] - x[..., :-2]).max(), (x[..., 1:] * x[..., :-1]).sum()


ROWS = (LONG + 9,), (2, LONG + 1), (3 * SHORT, SHORT)


@pytest.mark.parametrize("shape", ROWS, ids=str)
@pytest.mark.parametrize("fn", [sums, softmax, scaled, positions, stencil])
def test_the_number_of_threads_cannot_be_seen(fn, shape):
    x = values(shape, np.float64)
    check(fn, x)


def test_columns_and_other_dtypes():
    check(standardised, values((900, 200), np.float64))
    check(lambda x: (x * x).sum(axis=(0, 2)), values((10, 3, 9000), np.float32))
    check(lambda x: (x.sum(), (x | 1).prod(), x.max(), x.mean()), values((LONG,), np.int64))
    check(lambda x: x[:, 1:].sum(dtype=np.float64), values((300, 1000), np.float32))
    check(lambda x: (x * 2).sum(), values((LONG,), np.complex64))


def check(fn, x):
    """Compare a function with its compiled form by 1 to 3 threads; the first call with a new kernel finds its pace."""
    spy = Spy()
    compiled = bcjit.compile(fn, backend=spy)
    with np.errstate(all="ignore"):
        expected = said(fn(x))
        for count in (1, 2, 3):
            with config.override(num_threads=count):
                assert said(compiled(x)) == said(compiled(x)) == expected
    assert all(one.calls and not one.fell_back for one in spy.reductions)
    assert spy.reductions


@pytest.mark.parametrize("at", [0, LONG // 2, LONG - 1])
def test_flags_that_threads_raise_are_seen(at):
    def inverse(x):
        return (1.0 / np.exp(np.sin(x)) / x).sum()

    compiled = bcjit.compile(inverse, backend=Spy())
    x = np.linspace(1.0, 2.0, LONG)
    with config.override(num_threads=3):
        compiled(x), compiled(x)
        x[at] = 0.0
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert compiled(x) == np.inf
        assert [str(one.message) for one in seen] == ["divide by zero encountered in divide"]
        with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
            compiled(x)


def test_a_zero_in_a_part_leaves_extremes_to_numpy():
    x = -np.abs(values((LONG,), np.float64))
    x[[5, LONG - 3]] = 0.0, -0.0
    spy = Spy()
    compiled = bcjit.compile(lambda x: (x * 1.0).max(), backend=spy)
    with config.override(num_threads=2):
        assert said(compiled(x)) == said(compiled(x)) == said((x * 1.0).max())
    assert spy.reductions[0].fell_back


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a timer that signals")
@pytest.mark.parametrize("shape", [(1 << 21,), (1 << 14, 1 << 7)], ids=str)
def test_a_signal_ends_a_long_reduction(shape):
    def handler(_number, _frame):
        raise KeyboardInterrupt

    spy = Spy()
    compiled = bcjit.compile(lambda x: np.sin(np.exp(np.sin(x))).sum(axis=-1), backend=spy)
    x = np.linspace(-3.0, 5.0, 1 << 21).reshape(shape)
    with config.override(num_threads=2):
        wanted = said(compiled(x))
        before = signal.signal(signal.SIGALRM, handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(KeyboardInterrupt):
                while True:
                    compiled(x)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert said(compiled(x)) == wanted
    assert not spy.reductions[0].fell_back
