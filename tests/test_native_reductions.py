"""Reductions in native kernels: bit for bit what NumPy gives, in its order of summation, and where kernels leave it to NumPy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from conftest import FULL

import bcjit
from bcjit import _core
from bcjit.backends.choice import has_llvm
from bcjit.backends.native.backend import Native
from bcjit.backends.native.build import build

pytestmark = pytest.mark.skipif(not has_llvm(), reason="llvmlite is not installed")

RNG = np.random.default_rng(20)


class Spy(Native):
    """The native backend, which remembers its kernels."""

    def __init__(self):
        super().__init__(smallest=1)
        self.kernels = []

    def __call__(self, graph, example_inputs):
        """See `Native`."""
        function = super().__call__(graph, example_inputs)
        made = build(graph, self.smallest)
        made.graph.lint()
        self.kernels = [
            node.target
            for node in made.graph.calls
            if isinstance(node.target, (_core.Kernel, _core.ReduceKernel))
        ]
        return made.graph.to_callable(origin=made.origin) if self.kernels else function

    @property
    def reductions(self):
        """Those with reductions."""
        return [one for one in self.kernels if isinstance(one, _core.ReduceKernel)]


def said(value):
    """Return all that can be told of a result: of NaN only where they are, since which of two a sum gives is open."""
    if isinstance(value, tuple):
        return tuple(map(said, value))
    array = np.asarray(value)
    if array.dtype.kind in "fc":
        parts = np.array(array, copy=True).reshape(-1)
        parts = parts.view(parts.real.dtype)
        parts[np.isnan(parts)] = np.nan
        data = parts.tobytes()
    else:
        data = array.tobytes()
    strides = value.strides if isinstance(value, np.ndarray) else None
    return type(value), array.dtype, array.shape, strides, data


def check(fn, *args, runs=True, kernels=None):
    """Compare a function with its compiled form; `runs` says that kernels with reductions did it."""
    spy = Spy()
    compiled = bcjit.compile(fn, backend=spy)
    with np.errstate(all="ignore"):
        expected = fn(*args)
        for _ in range(2):
            assert said(compiled(*args)) == said(expected)
    if kernels is not None:
        assert len(spy.kernels) == kernels
    assert bool(spy.reductions) or not runs
    if runs:
        assert all(one.calls and not one.fell_back for one in spy.reductions)
    return spy


def values(shape, dtype, scale=4):
    """Return random elements whose sums depend on their order."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return RNG.random(shape) > 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return RNG.integers(info.min, info.max, shape, dtype, endpoint=True)
    found = RNG.normal(size=shape) * scale
    if dtype.kind == "c":
        found = found + 1j * RNG.normal(size=shape)
    return found.astype(dtype)


# The order of sums

EDGES = (1, 7, 8, 9, 127, 129, 136, 1025, 8193)
MORE = (
    2,
    15,
    16,
    17,
    128,
    130,
    255,
    256,
    257,
    264,
    1000,
    1023,
    1024,
    1031,
    2047,
    2049,
    2056,
    4097,
    8191,
    8192,
    16391,
    100003,
)


@pytest.mark.parametrize("n", sorted(EDGES + MORE) if FULL else EDGES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_follow_the_tree(n, dtype):
    x, y = values(n, dtype), values(n, dtype)
    check(lambda x, y: ((x - y) ** 2).sum(), x, y)
    check(lambda x: (x.sum(), x.mean(), x.std(), x.var(ddof=0, keepdims=True)), x)


def of_everything(x):
    """Return a reduction of each kind, of what was computed before, over all axes."""
    y = x * x
    return (
        y.sum(), y.prod(), y.max(), y.min(), y.any(), y.all(), y.mean(), np.count_nonzero(y),
        y.sum(keepdims=True), np.add.reduce(y, axis=None),
    )  # fmt: skip


KINDS = (np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_, np.complex128, np.float16)


@pytest.mark.parametrize(
    "dtype", [*KINDS, np.int8, np.uint64, np.int16, np.complex64] if FULL else KINDS
)
@pytest.mark.parametrize("n", [1, 5, 40, 1030, 9000] if FULL else [5, 1030])
def test_each_reduction_of_each_dtype(dtype, n):
    check(of_everything, values(n, dtype, scale=1), runs=False)


SHAPES = (
    (1, 9),
    (9, 1),
    (5, 3),
    (3, 130),
    (30, 7),
    (2, 1100),
    (1100, 2),
    (2, 3, 20),
    (3, 20, 2),
    (2, 1, 5),
)
MORE_SHAPES = (
    (1, 1),
    (17, 16),
    (513, 4),
    (4, 513),
    (3, 2000),
    (2000, 3),
    (100, 100),
    (2, 2, 2, 9),
    (40, 1030),
)


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float32, np.int32, np.complex128] if FULL else [np.float64]
)
@pytest.mark.parametrize("shape", SHAPES + MORE_SHAPES if FULL else SHAPES)
def test_axes(shape, dtype):
    x, y = values(shape, dtype), values(shape, dtype)
    for axis in (0, -1, tuple(range(1, len(shape))), (len(shape) - 2, len(shape) - 1)):
        for keepdims in (False, True):

            def reduced(x, y, axis=axis, keepdims=keepdims):
                z = x - y
                total = z.sum(axis=axis, keepdims=keepdims)
                return (
                    z,
                    total,
                    np.max(z, axis=axis, keepdims=keepdims),
                    z.mean(axis=axis, keepdims=keepdims),
                )

            check(reduced, x, y, runs=False)


def test_neighbouring_axes_run_in_kernels():
    x = values((3, 4, 5), np.float64)
    check(lambda x: (x * x).sum(axis=-1), x)
    check(lambda x: (x * x).sum(axis=0), x)
    check(lambda x: (x * x).mean(axis=1), x)
    check(lambda x: (x * x).sum(axis=(0, 1)), x)
    check(lambda x: (x * x).max(axis=(1, 2), keepdims=True), x)
    check(lambda x: np.square(x).max(axis=(0, 2)), values((3, 4, 40), np.float64))


def test_positions():
    x = values((6, 40), np.float64)
    x[2, 5], x[3, :2], x[4, 7] = np.nan, [-0.0, 0.0], np.inf
    check(
        lambda x: (np.argmax(-x, axis=-1), (-x).argmin(axis=1, keepdims=True), (x + 0).argmax()),
        x,
        runs=False,
    )
    check(lambda x: np.abs(x).argmax(axis=-1), x)


def test_counts_and_means_of_conditions():
    for shape in ((3000,), (7, 300)):
        x = values(shape, np.float64)
        check(lambda x: (np.count_nonzero(x > 0), (x > 1).sum(), (x < 0.5).mean()), x)
        check(lambda x: ((x > 0).sum(axis=0), (x > 1).mean(axis=0)), np.atleast_2d(x), runs=False)


def test_a_count_is_a_python_number_for_what_uses_it():
    for dtype in (np.float64, np.float32, np.int8):
        x = values((4, 30), dtype)
        check(
            lambda x: (
                x / np.count_nonzero(x > 0),
                x * np.count_nonzero(x > 0, axis=-1, keepdims=True),
            ),
            x,
            runs=False,
        )


# Several phases


def softmax(x):
    shifted = np.exp(x - x.max(axis=-1, keepdims=True))
    return shifted / shifted.sum(axis=-1, keepdims=True)


def layernorm(x, weight, bias):
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * weight + bias


def standardised(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def scaled(x):
    return (x - x.min()) / (x.max() - x.min())


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(4, 30), (1, 9), (2, 1200), (20, 130)])
def test_a_layer_is_one_kernel(shape, dtype):
    x, weight, bias = values(shape, dtype), values(shape[1], dtype), values(shape[1], dtype)
    check(softmax, x, kernels=1)
    check(layernorm, x, weight, bias, kernels=1)
    check(lambda x: np.exp(x).sum(axis=-1), x, kernels=1)
    check(lambda x: np.sqrt((x * x).sum(axis=-1)), x, kernels=1)


@pytest.mark.parametrize("shape", [(30, 4), (40, 1), (300, 9), (3, 1500)])
def test_columns_are_one_kernel(shape):
    x = values(shape, np.float64)
    check(standardised, x, runs=shape[1] > 1, kernels=1)
    check(scaled, x)
    check(lambda x: softmax(x.T).T, x, runs=False)
    check(
        lambda x: np.exp(x - x.max(axis=0)) / np.exp(x - x.max(axis=0)).sum(axis=0),
        x,
        runs=shape[1] > 1,
    )


def test_operands_of_other_shapes():
    x, row, column = values((6, 50), np.float64), values(50, np.float64), values((6, 1), np.float64)
    check(lambda x, row: (x * row).sum(axis=-1), x, row)
    check(lambda x, row: (x * row).sum(axis=0), x, row)
    check(lambda x, column: (x - column).sum(axis=-1), x, column)
    check(lambda x, column: (x - column).sum(axis=0), x, column)
    check(lambda row, column: (row * column).sum(), row, column, runs=False)
    check(lambda row, column: (row * column).max(axis=0), row, column)
    check(lambda x, n, s: (x * n + s).sum(axis=-1), x, 3, np.float64(0.1))


# What lies otherwise


def test_layouts():
    x = values((12, 40), np.float64)
    views = (
        x.T, x[::2], x[:, ::2], x[::-1], x[:, ::-1], x[:, :7], x[:1], x[:, :1], np.asfortranarray(x),
        np.broadcast_to(x[0], (5, 40)), np.broadcast_to(x[:, :1], (12, 6)),
        x.reshape(3, 4, 40).transpose(1, 0, 2), x.reshape(3, 4, 40)[:, 1:3],
    )  # fmt: skip
    for view in views:
        for axis in (None, 0, -1):

            def reduced(x, axis=axis):
                return (
                    x.sum(axis=axis),
                    (x * x).sum(axis=axis),
                    x.mean(axis=axis),
                    np.exp(x).max(axis=axis),
                )

            check(reduced, view, runs=False)


def test_byte_order_alignment_and_subclasses_are_left_to_numpy():
    x = values(60, np.float64)
    raw = np.zeros(8 * 60 + 1, np.uint8)[1:].view(np.float64)
    raw[:] = x
    for other in (x.astype(">f8"), raw, np.ma.masked_array(x, x > 0)):
        spy = Spy()
        compiled = bcjit.compile(lambda x: (x + 1).sum(), backend=spy)
        compiled(x)
        assert compiled(other) == (other + 1).sum()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_nothing(shape):
    x = np.zeros(shape)
    check(lambda x: ((x + 1).sum(axis=0), (x + 1).prod(), (x > 0).any(axis=-1)), x, runs=False)
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        bcjit.compile(lambda x: (x + 1).max(), backend=Spy())(x)
    for compiled in (False, True):
        mean = (
            bcjit.compile(lambda x: (x + 1).mean(), backend=Spy())
            if compiled
            else (lambda x: (x + 1).mean())
        )
        with pytest.warns(RuntimeWarning) as seen:
            mean(x)
        assert {str(one.message).rstrip(".") for one in seen} > {"Mean of empty slice"}


# Values


SPECIAL = (
    [-0.0],
    [-0.0] * 20,
    [0.0, -0.0],
    [-0.0, 0.0],
    [np.nan, 1.0],
    [1.0, np.nan],
    [np.inf, -np.inf],
    [np.inf, 1.0],
    [1e308, 1e308],
)


@pytest.mark.parametrize("special", SPECIAL, ids=str)
def test_special_values(special):
    for n in (len(special), 40, 2500):
        x = np.resize(np.array(special), n)
        check(
            lambda x: (np.negative(x).sum(), (-x).max(), (-x).min(), (-x).prod(), (-x).mean()),
            x,
            runs=False,
        )
        two = x.reshape(1, -1).repeat(3, axis=0)
        check(
            lambda x: ((-x).max(axis=0), (-x).sum(axis=0), (-x).min(axis=-1), x.argmax(axis=-1)),
            two,
            runs=False,
        )


def test_extremes_of_zero_over_several_blocks_are_left_to_numpy():
    x = -np.abs(values(3000, np.float64))
    x[[7, 2000]] = 0.0, -0.0
    spy = check(lambda x: (x + 0.0).max(), x, runs=False)
    assert spy.reductions[0].fell_back
    assert not check(lambda x: (x + 0.0).min(), x).reductions[0].fell_back


# What NumPy says


def failing(kind):
    return {
        "over": (lambda x: (x * 1e308).sum(), np.full(40, 10.0)),
        "over, in the sum": (lambda x: (x * 1.0).sum(), np.full(40, 1e308)),
        "invalid": (lambda x: np.sqrt(x).max(), np.full(40, -1.0)),
        "divide": (lambda x: (1 / x).min(), np.zeros(40)),
        "invalid, folded": (lambda x: x / x.sum(keepdims=True), np.zeros(40)),
        "over, of the mean": (
            lambda x: x.var(axis=0),
            np.array([[1e200], [-1e200], [3e200]]) * np.ones(4),
        ),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    ["over", "over, in the sum", "invalid", "divide", "invalid, folded", "over, of the mean"],
)
def test_warnings_are_those_of_numpy(kind):
    fn, x = failing(kind)
    compiled = bcjit.compile(fn, backend=Spy())
    compiled(np.full_like(x, 0.001))

    def messages(function):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            result = function(x)
        return [(one.category, str(one.message)) for one in seen], said(result)

    def error(function):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError) as raised:
            function(x)
        return str(raised.value)

    expected = messages(fn)
    assert expected[0]
    assert messages(compiled) == expected
    assert error(compiled) == error(fn)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            compiled(x)


def test_flags_before_a_loop_that_clears_them_are_kept():
    x = np.array([1.0, -1.0, 4.0])
    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        bcjit.compile(lambda x: np.sqrt(x).max(), backend=Spy())(x)


# Which calls


def test_what_is_asked_otherwise_is_numpys():
    x = values((4, 30), np.float64)
    out = np.zeros(4)
    for fn in (
        lambda x: (x * x).sum(axis=-1, dtype=np.float32),
        lambda x: (x * x).sum(axis=-1, initial=3.0),
        lambda x: (x * x).sum(axis=-1, where=x > 0),
        lambda x: (x * x).sum(axis=-1, out=out).copy(),
        lambda x: (x * x).sum(axis=()),
        lambda x: np.cumsum(x * x, axis=-1),
    ):
        assert not check(fn, x, runs=False).reductions
    assert not check(lambda x: x.any(), x > 9, runs=False).reductions


def test_results_are_new_arrays():
    x = values((4, 30), np.float64)
    compiled = bcjit.compile(lambda x: (x * x).sum(axis=-1, keepdims=True), backend=Spy())
    first, second = compiled(x), compiled(x)
    assert first.flags.owndata and first.flags.writeable and first.base is None
    assert not np.shares_memory(first, second)


def test_sizes_may_change():
    compiled = bcjit.compile(
        lambda x: (x - x.mean(axis=-1, keepdims=True)).std(axis=-1), backend=Spy()
    )
    for shape in ((3, 20), (3, 20), (5, 1100), (1, 4), (200, 2), (7, 300)):
        x = values(shape, np.float64)
        assert said(compiled(x)) == said((x - x.mean(axis=-1, keepdims=True)).std(axis=-1))


def test_large_arrays_run_without_the_lock():
    x = values((60, 1000), np.float64)
    check(softmax, x)
    check(lambda x: ((x - 1) ** 2).sum(), x)
