"""The fused backend: the same bits as eager whatever is in buffers, the plans that are expected, and the traps of memory that is used again."""

from __future__ import annotations

import gc
import itertools
import operator
import os
import signal
import threading
import warnings
import weakref
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from under_test import compile_fused

import bcjit
from bcjit.backends import Fused, backend_name, get_backend
from bcjit.backends.fused import calls, scratch
from bcjit.backends.fused import threads as fused_threads
from bcjit.backends.fused.buffer import Buffer
from bcjit.backends.fused.calls import BLOCKWISE, elementwise
from bcjit.backends.fused.few import adds_in_order
from bcjit.backends.fused.plan import BufferPlanner
from bcjit.backends.fused.scratch import ScratchPool
from bcjit.compiler.bailout import BailOuts
from bcjit.fx_graph import Graph, to_source
from bcjit.fx_graph import source_of as source_text
from bcjit.meta import ArrayMeta
from bcjit.ops import all_ops, lookup
from tests import graph_kit, structured_kit
from tests.test_fx_graph_structured import agree as agree_structured

F8 = np.dtype(float)


# ------------------------------------------------------------------ the same bits
def values(dtype, size, rng):
    x = rng.normal(size=size) * rng.choice([1.0, 50.0, 1e-3], size=size)
    if dtype.kind == "f":
        x[::7], x[1::5], x[2::9] = np.nan, np.inf, -0.0
    if dtype.kind == "c":
        x = x + 1j * rng.normal(size=size)
    return np.abs(x).astype(dtype) if dtype.kind == "u" else x.astype(dtype)


UFUNCS = sorted(
    {s.target for op in all_ops() for s in op.spellings if isinstance(s.target, np.ufunc)},
    key=lambda one: one.__name__,
)


SMALL_COUNTS = {np.power, np.left_shift, np.right_shift}


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda one: one.__name__)
def test_a_result_has_the_same_bits_in_any_memory(ufunc):
    if ufunc.nout != 1 or ufunc.signature is not None:
        pytest.skip("it is given no buffer")
    rng = np.random.default_rng(0)
    for dtypes in itertools.product("?Bhqefd" + "FD" * (ufunc.nin == 1), repeat=ufunc.nin):
        for size in (3, 37):
            arguments = [values(np.dtype(one), size, rng) for one in dtypes]
            if ufunc in SMALL_COUNTS and np.dtype(dtypes[1]).kind in "iu":
                arguments[1] = np.abs(arguments[1]) % arguments[1].dtype.type(5)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    wanted = ufunc(*arguments)
                except (TypeError, ValueError):
                    break
                buffer = np.empty(wanted.shape, wanted.dtype)
                assert ufunc(*arguments, out=buffer) is buffer
                assert buffer.tobytes() == wanted.tobytes(), dtypes
                for k, one in enumerate(arguments):
                    if one.dtype == wanted.dtype and one.dtype.kind != "c":
                        copies = [x.copy() for x in arguments]
                        ufunc(*copies, out=copies[k])
                        assert copies[k].tobytes() == wanted.tobytes(), (dtypes, k)


@pytest.mark.parametrize("dtype", "efdg")
def test_powers_are_what_the_operator_makes(dtype):
    x = values(np.dtype(dtype), 100, np.random.default_rng(1))
    for exponent in (-1, -1.0, 0.5, 2, 2.0, 3, -2, 1.5, np.nan):
        graph = Graph()
        meta = ArrayMeta(x.shape, x.dtype)
        node = graph.call(operator.pow, (graph.input("x", meta), exponent), meta=meta, op=lookup(operator.pow))  # fmt: skip
        function = elementwise(node)
        with np.errstate(all="ignore"):
            wanted = x**exponent
            got = function(*(x, exponent)[: function.nin], np.empty_like(x))
        assert np.array_equal(got, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(got), np.signbit(wanted))


@given(graph_kit.programs())
@settings(max_examples=100)
def test_generated_graphs_give_the_same(program):
    function = program.graph.to_callable(planner=BufferPlanner(0, 5))
    with np.errstate(all="ignore"):
        for _ in range(2):
            inputs = graph_kit.start(program)
            graph_kit.agree(program, function(*inputs), inputs)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(structured_kit.structured_graphs())
@settings(max_examples=100)
def test_generated_loops_and_branches_give_the_same(graph):
    for one in graph.nested():
        for node in one.nodes:
            if callable(node.target):
                node.op = lookup(node.target)
    function = graph.to_callable(planner=BufferPlanner(0, 5))
    agree_structured(graph, function)
    agree_structured(graph, function)


def test_generated_graphs_are_planned():
    """A floor under the generators."""
    planned = {"straight": 0, "loops": 0}

    @settings(max_examples=60)
    @given(graph_kit.programs())
    def straight(program):
        planned["straight"] += (
            "buffer" in to_source(program.graph, planner=BufferPlanner(0, 5)).source
        )

    @settings(max_examples=60)
    @given(structured_kit.structured_graphs())
    def loops(graph):
        for one in graph.nested():
            for node in one.nodes:
                if callable(node.target):
                    node.op = lookup(node.target)
        planned["loops"] += "buffer" in to_source(graph, planner=BufferPlanner(0, 5)).source

    straight()
    loops()
    assert planned["straight"] > 5
    assert planned["loops"] > 5


@pytest.mark.parametrize(
    "ufunc",
    sorted(BLOCKWISE - {np.where}, key=lambda one: one.__name__),
    ids=lambda one: one.__name__,
)
def test_a_result_has_the_same_bits_block_by_block(ufunc):
    rng = np.random.default_rng(2)
    for dtypes in itertools.product("?bHlefdD", repeat=ufunc.nin):
        arguments = [values(np.dtype(one), 131, rng) for one in dtypes]
        if ufunc in SMALL_COUNTS and np.dtype(dtypes[1]).kind in "iu":
            arguments[1] = np.abs(arguments[1]) % arguments[1].dtype.type(5)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                wanted = ufunc(*arguments)
            except (TypeError, ValueError):
                continue
            for block in (1, 5, 64):
                got = np.empty_like(wanted)
                for start in range(0, 131, block):
                    here = slice(start, start + block)
                    ufunc(*(one[here] for one in arguments), out=got[here])
                assert got.tobytes() == wanted.tobytes(), (dtypes, block)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "function", sorted({*calls._ROWS.values()}, key=repr), ids=lambda one: one.__qualname__
)
def test_rows_have_the_same_bits_block_by_block(function, dtype):
    rng = np.random.default_rng(4)
    whole = np.add.reduce if function is calls.add_rows else function
    for columns in (1, 2, 3, 5, 7, 8, 9, 33, 130, 1100):
        a = values(np.dtype(dtype), 11 * columns, rng).reshape(11, columns)
        bits = np.dtype(f"u{a.itemsize}")
        a[3], a[5, ::2], a[7] = -0.0, np.nan, 1.5
        a[5, ::2].view(bits)[...] |= (
            np.arange(len(a[5, ::2])).astype(bits) % 7
        )  # NaNs that can be told apart
        for keepdims, block in itertools.product((False, True), (1, 2, 4, 11)):
            with np.errstate(all="ignore"):
                wanted = whole(a, axis=1, keepdims=keepdims)
                got = np.empty_like(wanted)
                for start in range(0, 11, block):
                    here = slice(start, start + block)
                    function(a[here], axis=1, keepdims=keepdims, out=got[here])
            assert got.tobytes() == wanted.tobytes(), (columns, block)


def test_sums_of_few_are_tried():
    assert adds_in_order(F8)
    assert adds_in_order(np.dtype("f4"))


# ------------------------------------------------------------------ plans
def planned_source(fn):
    """Return the sources of all graphs of a function of a matrix."""
    made = []

    class Backend(Fused):
        def __call__(self, graph, examples):
            function = super().__call__(graph, examples)
            made.append(source_text(function))
            return function

    with np.errstate(all="ignore"):
        bcjit.compile(fn, backend=Backend(0, 5))(M.copy())
    return "".join(made)


def source_of(fn, *arguments, smallest=0, block=5):
    """Return the lines of the way with buffers, of the one graph that is made of a function."""
    made = []

    def backend(graph, examples):
        made.append(to_source(graph, planner=BufferPlanner(smallest, block)).source)
        return graph.to_callable()

    backend.optimizes = True
    bcjit.compile(fn, backend=backend)(*arguments)
    (source,) = made
    lines = source.splitlines()[1:]
    if not lines[0].startswith("    if "):
        return []
    return [
        line.strip() for line in itertools.takewhile(lambda one: one.startswith(" " * 8), lines[1:])
    ]


def chain(x, y):
    return np.exp(x) * y - 1.0


def rows(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def stencil(u):
    v = u.copy()
    v[1:-1] = u[:-2] + u[2:] - 2 * u[1:-1]
    return v


X = np.linspace(-1.0, 1.0, 12)
M = np.linspace(-1.0, 1.0, 12).reshape(4, 3)

PLANS = [
    (chain, (X, X), [
        "buffer = np_empty(x.shape, dtype_float64)",
        "length = x.size",
        "step = 5",
        "step -= 1 * (step > 2 * 1 and 0 < length % step < 2)",
        "step -= 1 * (step > 2 * 1 and 0 < length % step < 2)",
        "if not in_threads(part, length, step, (), (buffer, x, y, )):",
        "for start in range(0, length, step):",
        "here = slice(start, start + step)",
        "x_block = x[here]",
        "buffer_block = buffer[here]",
        "y_block = y[here]",
        "np_exp(x_block, out=buffer_block)",
        "np_multiply(buffer_block, y_block, out=buffer_block)",
        "np_subtract(buffer_block, 1.0, out=buffer_block)",
        "sub = buffer",
        "return (sub,)",
    ]),
    (rows, (M,), [
        "buffer = np_empty(x.shape, dtype_float64)",
        "length = x.shape[0]",
        "row = max(x.size // max(length, 1), 1)",
        "step = max(10 // row, 1)",
        "max_ = np_empty((*x.shape[:-1], 1), dtype_float64)",
        "sum = np_empty((*x.shape[:-1], 1), dtype_float64)",
        "if not in_threads(part, length, step, (), (buffer, max_, sum, x, )):",
        "for start in range(0, length, step):",
        "here = slice(start, start + step)",
        "x_block = x[here]",
        "max__block = max_[here]",
        "buffer_block = buffer[here]",
        "sum_block = sum[here]",
        "np_reduce(x_block, axis=1, keepdims=True, out=max__block)",
        "np_subtract(x_block, max__block, out=buffer_block)",
        "np_exp(buffer_block, out=buffer_block)",
        "np_add_rows(buffer_block, axis=1, keepdims=True, out=sum_block)",
        "np_divide(buffer_block, sum_block, out=buffer_block)",
        "truediv = buffer",
        "del max_",
        "return (truediv,)",
    ]),
    (stencil, (X,), [
        "held = take(((u.shape[0] - 2, ), (5, ),))",
        "buffer, buffer_1, = held",
        "copy = u.copy()",
        "getitem = u[:-2]",
        "getitem_1 = u[2:]",
        "getitem_2 = u[1:-1]",
        "length = getitem.size",
        "step = 5",
        "step -= 1 * (step > 2 * 1 and 0 < length % step < 2)",
        "step -= 1 * (step > 2 * 1 and 0 < length % step < 2)",
        "if not in_threads(part, length, step, (buffer_1, ), (buffer, getitem, getitem_1, getitem_2, )):",
        "for start in range(0, length, step):",
        "here = slice(start, start + step)",
        "getitem_block = getitem[here]",
        "getitem_1_block = getitem_1[here]",
        "buffer_block = buffer[here]",
        "getitem_2_block = getitem_2[here]",
        "buffer_1_block = buffer_1[:min(length - start, step)]",
        "np_add(getitem_block, getitem_1_block, out=buffer_block)",
        "np_multiply(2, getitem_2_block, out=buffer_1_block)",
        "np_subtract(buffer_block, buffer_1_block, out=buffer_block)",
        "sub = buffer",
        "del getitem, getitem_1",
        "del getitem_2",
        "copy[1:-1] = sub",
        "outputs = (copy,)",
        "give(held)",
        "return outputs",
    ]),
    # One call: nothing to gain. The memory of an input, of what is handed out or is written over by others is never a buffer.
    (lambda x: x + 1, (X,), []),
    (lambda x: x.T * 2 - 1, (M,), []),
    (lambda x: np.fmax(x, 0.0).tolist(), (X,), []),
    (lambda x: (x + 1, x - 1), (X,), []),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "arguments", "expected"), PLANS)
def test_plan(fn, arguments, expected):
    assert source_of(fn, *arguments) == expected


# ------------------------------------------------------------------ traps
def layouts():
    rng = np.random.default_rng(3)
    base = rng.normal(size=(6, 8))
    yield "C", base[:, :4].copy()
    yield "F", np.asfortranarray(base[:, :4])
    yield "strided", base[::2, ::2]
    yield "reversed", base[::-1, ::-1]
    yield "one column", base[:, :1].copy()
    yield "one row", base[:1]
    yield "one row of F", np.asfortranarray(base)[:1]
    yield "empty", base[:0]
    yield "no columns", base[:, :0].copy()


def two_axes(x):
    a = np.exp(x) * 2.0
    b = np.where(a > 1.0, a, -x) - x
    return a, b.sum(axis=0), b.T, b


def view_of_a_temporary(x):
    t = np.sin(x) + 1.0
    return t[1:], t[::-1], (t * 2.0).reshape(-1)


def returned_twice(x):
    t = np.sin(x) * x
    return t, t, [t, t + 1.0]


def written_temporary(x):
    t = np.sin(x) + 1.0
    t += x
    t[:1] = 5.0
    u = t * 2.0
    u -= t
    return u.sum(axis=0), u


def reads_back(x):
    a = x * 2.0
    b = a + 1.0
    c = b[::-1] - a
    d = c * b
    return np.exp(d).sum(axis=-1), a.sum(axis=0)


def powers(x):
    return (x**2 + x**3 - x**-1) ** 0.5, x**2.0 * x**4


def writes_an_input(x):
    y = np.cos(x) * 3.0
    x += y * 2.0
    x[...] = np.sqrt(np.abs(x)) + y
    return x, y + x


def turns(x):
    u = x
    best = x
    for i in range(5):
        v = np.sin(u) * 0.5 + u
        if i == 2:
            best = u
        u, best = v - best * 0.1, v
    return u, best, u + best


def swapped(x):
    a, b = x + 1.0, x * 2.0
    for _ in range(3):
        a, b = b * 0.5 + a, a - 1.0
    return a, b


def mixed(x):
    i = (x * 7).astype(int)
    m = (i % 3 == 1) | (x > 0.5)
    c = (x + 1j * x) * (x - 2j) * (1.5 - x)
    return i // 2 + i, m & (i > 0), np.abs(c) - x, (c + c.conj()) * c


def numbers(x):
    s = x.sum()
    return (x - s) / (s + 1.0) * np.float32(2), x * 1.5 - x.shape[0]


def pairs(x):
    d = x[:, None] - x[None]
    e = (d * d).sum(axis=-1)
    return np.sqrt(e + 1.0) * 2.0, d.sum(axis=0)


def orders(x):
    a, b, c = np.zeros(x.shape, float, "F"), x.copy("F"), np.copy(x, "F")
    d = np.ones_like(x) * 2.0 + np.zeros(x.shape)
    e = np.full(x.shape, 2.0, float, "F") + 1.0
    return a + 1.0 - x, b * 2.0 + 1.0, (c - 1.0) * 3.0, d * x, e * e, (b * c - 1.0).sum(axis=0)


def slices(x):
    u = np.exp(x)[:, 1:] * 2.0 + x[:, 1:]
    return (u - x[:, :-1]) * u, (x[::-1] * 2.0 + 1.0) * x, (x[:, ::2] + 1.0) * 2.0


def normalised(x):
    s = x.sum(axis=-1, keepdims=True)
    d = (x - s) / np.sqrt(s * s + 1.0) * x[:1] + x[:, :1]
    e = np.exp(d - d.max(axis=0, initial=0.0))
    return e / e.sum(axis=0), np.maximum(d, 0.0) * np.minimum(e, 2.0) - d


def cubes(x):
    y = x[:, :, None] * x[:, None] + 1.0
    z = np.exp(y * 0.1) - y[..., :1] * 2.0
    return z.sum(axis=1), (z * y - x[:, None]) * 0.5, z.max(axis=(0, 2), initial=0.0)


def smooth(x):
    y = np.cos(x) + 1.0
    y[1:-1] = (x[:-2] + x[2:] - 2.0 * x[1:-1]) * 0.25 + y[1:-1]
    return y * x - y, y


def newton(x):
    guess, steps = x / 2.0 + 3.0, 0
    while np.abs(guess * guess - x).max(initial=0.0) > 1e-9 and steps < 5:
        guess = (guess + x / guess) * (guess * 2.0) + x * (guess + 1.0)
        steps += 1
    return guess, steps


def chosen(x):
    m = x > 0.0
    a = np.where(m, x * 2.0, x - 1.0)
    b = np.where(m, 0.0, a) + np.where(np.isnan(x) | m, a, -0.0)
    c = np.where(m, a * 1j, b * (1.0 + 2.0j))
    n = (x * 7.0).astype(np.int16)
    k = np.where((n > 2) & m, n * 2, -n) + np.where(m, np.int16(3), n)
    t = np.where(m, k > 0, n == k) ^ (k < 5)
    return a * b, c, k, t, np.where(t & m, b, np.where(m, a, 1))


def chosen_and_added(x):
    return np.where(x > 0.0, x * 2.0, x - 1.0).sum(axis=0)


def rows_of_many(x):
    if x.size == 0:
        return x * 2.0 + x - 1.0
    m = x.mean(axis=1, keepdims=True)
    d = (x - m) / np.sqrt(x.var(axis=-1, keepdims=True) + 0.5) * 2.0
    e = np.exp(d - np.max(d, axis=1, keepdims=True, initial=0.0))
    s = (e * d).sum(axis=1)
    return e / e.sum(axis=1, keepdims=True), m, s, np.sqrt(s + 1.0) * s, (d * d - e).std(axis=1)


def rows_of_few(x):
    y = x[:, None, :3] - x[None, :, :3]
    r = np.sqrt((y * y).sum(axis=-1) + 1.0)
    z = x[:, None] * x - 0.5
    return r, (z * z + z).sum(-1, keepdims=True), np.sum(z * 2.0 + y.sum() - z, axis=2) * r


PROGRAMS = [
    chosen_and_added, rows_of_many, rows_of_few, chosen, newton, normalised, cubes, smooth, pairs, orders, slices,
    two_axes, view_of_a_temporary, returned_twice, written_temporary, reads_back, powers, writes_an_input, turns, swapped,
    mixed, numbers,
]  # fmt: skip


def facts(value, seen):
    """Return all that can be told of a result: bits, memory layout, whose memory it is."""
    if isinstance(value, tuple | list):
        return type(value), [facts(one, seen) for one in value]
    if not isinstance(value, np.ndarray):
        return type(value), value.tobytes() if isinstance(value, np.generic) else repr(value)
    shared = [np.shares_memory(value, one) for one in seen]
    same = [value is one for one in seen]
    seen.append(value)
    base = None if value.base is None else (value.base.shape, value.base.flags.owndata)
    flags = value.flags
    return (
        value.dtype, value.shape, value.strides, value.tobytes(), shared, same, base,
        flags.writeable, flags.owndata, flags.c_contiguous, flags.f_contiguous,
    )  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_nothing_can_be_told_from_plain(fn, monkeypatch):
    failures = []  # of graphs: plain code would do the work
    monkeypatch.setattr(BailOuts, "__call__", lambda *arguments: failures.append(arguments))
    assert "buffer" in planned_source(fn)
    compiled = compile_fused(fn)
    results = []
    with np.errstate(all="ignore"):
        for (name, mine), (_, theirs) in zip(
            [*layouts(), *layouts()], [*layouts(), *layouts()], strict=True
        ):
            wanted = facts(fn(theirs), [theirs])
            result = compiled(mine)
            got = facts(result, [mine])
            assert got == wanted, name
            assert mine.tobytes() == theirs.tobytes()
            results.append((result, got, mine))
    assert not failures
    # Later calls have not touched what earlier ones handed out.
    for result, got, mine in results:
        if fn is not writes_an_input:
            assert facts(result, [mine]) == got


def test_a_warning_in_the_middle_is_numpys_own():
    def fn(x):
        a = x * 2.0 + 1.0
        b = np.log(a) - x
        return b * 3.0

    compiled = compile_fused(fn)
    good, bad = X + 5.0, X - 5.0
    for _ in range(2):
        assert compiled(good).tobytes() == fn(good).tobytes()
        with pytest.warns(RuntimeWarning, match="invalid value encountered in log") as caught:
            got = compiled(bad)
        assert caught[0].filename == __file__
        with np.errstate(all="ignore"):
            assert got.tobytes() == fn(bad).tobytes()
        with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="log"):
            compiled(bad)
    assert compiled(good).tobytes() == fn(good).tobytes()


def test_a_failure_behind_a_visible_write_goes_on_from_there():
    def fn(x, y):
        a = (x * 2.0 + y) * 0.5
        x += a
        b = np.log(x) * 2.0 - a
        y[:] = b
        return (np.sqrt(b) + 1.0) * a, a

    compiled = compile_fused(fn)
    for shift in (5.0, 5.0, -0.5, 5.0, -0.5):
        mine, theirs = (X + shift, X.copy()), (X + shift, X.copy())
        outcomes = []
        for function, arguments in ((fn, theirs), (compiled, mine)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = function(*arguments)
            said = [(one.filename, one.lineno, str(one.message)) for one in caught]
            outcomes.append((said, [one.tobytes() for one in (*result, *arguments)]))
        assert outcomes[0] == outcomes[1]


SWAPPED = [
    lambda x, y: x * (y + x) + (y * x) * (x * y),
    lambda x, y: (x + (x * y)) * 2.0 - y,
    lambda x, y: 1.5 * (x + y) * (y * (x - y)),
    lambda x, y: np.exp(x * (y * y)) * (x + y * 0.5),
]


@pytest.mark.parametrize("fn", SWAPPED)
@pytest.mark.parametrize("dtype", ["c16", "f8", "f4", "f2"])
def test_operands_change_places_where_numpy_swaps_them(fn, dtype):
    rng = np.random.default_rng(5)
    for size in (40_000, 140_000):
        x, y = (rng.normal(size=size).astype(dtype) for _ in range(2))
        if dtype == "c16":
            x, y = x + 1j * rng.normal(size=size), y - 1j * rng.normal(size=size)
        else:  # two NaNs that can be told apart
            bits = {"f8": np.uint64, "f4": np.uint32, "f2": np.uint16}[dtype]
            x[::3] = np.nan
            y[::2] = np.nan
            y.view(bits)[::2] |= bits(1)
        for compiled in (bcjit.compile(fn, backend="fused"), bcjit.compile(fn, backend=Fused(1))):
            with np.errstate(all="ignore"):
                assert compiled(x, y).tobytes() == fn(x, y).tobytes()


def flat_chain(x, y):
    return (x * 2.0 + y) + np.exp(y) - (x + y) * (y * x)


def chain_of_rows(x, y):
    s = x.sum(axis=1, keepdims=True)
    return (x * y + (y + x) - s) * (x * s + y), (y * x + x).sum(axis=-1)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("fn", [flat_chain, chain_of_rows])
def test_blocks_tell_nans_apart_as_numpy_does(fn, dtype):
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    sizes = (191, 192, 193, 199, 200, 256, 577)
    shapes = [(n,) for n in sizes] if fn is flat_chain else [(300, 33), (70, 200), (130, 8)]
    # Chains that are computed into their operands by NumPy would be, too, in arrays that are larger than these.
    for shape in shapes:
        compiled = bcjit.compile(fn, backend=Fused(smallest=0, block=192))
        x, y = np.full(shape, np.nan, dtype), np.full(shape, np.nan, dtype)
        y.view(bits)[...] |= bits.type(3)
        got, wanted = compiled(x, y), fn(x, y)
        for one, other in zip(
            got if type(got) is tuple else (got,), wanted if type(wanted) is tuple else (wanted,),
            strict=True,
        ):  # fmt: skip
            assert one.tobytes() == other.tobytes(), shape


def test_buffers_follow_the_sizes():
    compiled = compile_fused(reads_back)
    for size in (7, 3, 7, 1, 12, 12, 5):
        x = np.linspace(-1.0, 1.0, size)
        got, wanted = compiled(x), reads_back(x)
        assert [one.tobytes() for one in got] == [one.tobytes() for one in wanted]


def pools_of(fn, *arguments):
    """Return the compiled function, and the pools of its graphs."""
    pools = []

    class Backend(Fused):
        def __call__(self, graph, examples):
            function = super().__call__(graph, examples)
            pools.append(function.__globals__["take"].__self__)
            return function

    compiled = bcjit.compile(fn, backend=Backend(0, 5))
    compiled(*arguments)
    return compiled, pools


def test_buffers_wait_and_are_few():
    compiled, (pool,) = pools_of(stencil, X)
    assert len(pool) == 1
    (held,) = pool._waiting
    first = [one.ctypes.data for one in held]
    compiled(X)
    assert [one.ctypes.data for one in pool._waiting[0]] == first
    for _ in range(5):
        pool.give([np.empty(3)])
    assert len(pool) == 2


def test_buffers_that_are_too_large_do_not_wait(monkeypatch):
    monkeypatch.setattr(scratch, "_MOST_BYTES", 100)
    pool = ScratchPool([F8])
    pool.give(pool.take(((13,),)))
    assert len(pool) == 0
    pool.give(pool.take(((12,),)))
    assert len(pool) == 1


def test_all_that_waits_has_a_bound(monkeypatch):
    monkeypatch.setattr(scratch, "_FEW_BYTES", 10)
    monkeypatch.setattr(scratch, "_MOST_OF_ALL", 200)
    monkeypatch.setattr(scratch, "_pools", {})
    first, second, third = (ScratchPool([F8]) for _ in range(3))
    first.give(first.take(((10,),)))
    second.give(second.take(((10,),)))
    assert (len(first), len(second)) == (1, 1)
    third.give(third.take(((12,),)))
    assert (len(first), len(second), len(third)) == (0, 1, 1)
    del second
    gc.collect()
    assert len(scratch._pools) == 2


def test_a_failed_call_gives_nothing_back():
    compiled, (pool,) = pools_of(lambda x, y: np.exp((x * 2.0)[::-1] + y).sum(), X, X)
    assert len(pool) == 1
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        compiled(X, X + 1e4)
    assert len(pool) == 0
    compiled(X, X)
    assert len(pool) == 1


def test_buffers_die_with_the_function():
    compiled, pools = pools_of(stencil, X)
    gone = weakref.ref(pools.pop()._waiting[0][0])
    assert gone() is not None
    del compiled
    gc.collect()
    assert gone() is None


def test_threads_have_buffers_of_their_own():
    compiled = compile_fused(reads_back)
    inputs = [np.linspace(-1.0, k, 2000) for k in range(4)]
    wanted = [[one.tobytes() for one in reads_back(x)] for x in inputs]
    compiled(inputs[0])
    wrong = []

    def work(k):
        for _ in range(20):
            if [one.tobytes() for one in compiled(inputs[k])] != wanted[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX")
def test_a_signal_handler_may_call_the_same_function():
    compiled = compile_fused(reads_back)
    x, y = np.linspace(-1.0, 1.0, 3000), np.linspace(0.0, 2.0, 3000)
    wanted = [[one.tobytes() for one in reads_back(one_of)] for one_of in (x, y)]
    compiled(x)
    inner = []

    def handler(_number, _frame):
        inner.append([one.tobytes() for one in compiled(y)] == wanted[1])

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.002)
        for _ in range(2000):
            assert [one.tobytes() for one in compiled(x)] == wanted[0]
            if len(inner) > 20:
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert inner
    assert all(inner)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="signals of POSIX")
def test_an_interrupt_in_the_middle_leaves_the_next_call_right():
    compiled, (pool,) = pools_of(reads_back, np.linspace(-1.0, 1.0, 3000))
    x = np.linspace(0.0, 2.0, 3000)
    wanted = [one.tobytes() for one in reads_back(x)]
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    interrupted = 0
    try:
        for _ in range(200):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.0003 * (1 + interrupted % 7))
                for _ in range(50):
                    compiled(x)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                interrupted += 1
            assert len(pool) <= 2
            assert [one.tobytes() for one in compiled(x)] == wanted
            if interrupted > 10:
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted


@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_buffers_of_its_own():
    compiled = compile_fused(reads_back)
    x, y = np.linspace(-1.0, 1.0, 300), np.linspace(0.0, 2.0, 300)
    kept = compiled(x)
    child = os.fork()
    if child == 0:
        right = all(
            one.tobytes() == other.tobytes()
            for one, other in zip(compiled(y), reads_back(y), strict=True)
        )
        os._exit(0 if right else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert [one.tobytes() for one in kept] == [one.tobytes() for one in reads_back(x)]
    assert [one.tobytes() for one in compiled(y)] == [one.tobytes() for one in reads_back(y)]


def test_it_is_a_backend_by_name():
    assert backend_name(get_backend("fused")) == "fused"
    compiled = bcjit.compile(chain, backend="fused")
    for size in (10, 50_000):
        x = np.linspace(-1.0, 1.0, size)
        assert compiled(x, x).tobytes() == chain(x, x).tobytes()


def test_small_arrays_take_the_way_as_written():
    pool = []

    class Backend(Fused):
        def __call__(self, graph, examples):
            function = super().__call__(graph, examples)
            pool.append(function.__globals__["take"].__self__)
            return function

    compiled = bcjit.compile(stencil, backend=Backend(smallest=100))
    compiled(np.ones(50))
    assert len(pool[0]) == 0
    compiled(np.ones(150))
    assert len(pool[0]) == 1


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda one: one.__name__)
def test_handing_over_a_buffer_warns_of_nothing(ufunc):
    if ufunc.nout != 1 or ufunc.signature is not None:
        pytest.skip("it is given no buffer")
    for dtype in ("d", "q"):
        arguments = [np.ones(3, dtype)] * ufunc.nin
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                wanted = ufunc(*arguments)
            except (TypeError, RuntimeWarning):
                continue
            ufunc(*arguments, out=np.empty_like(wanted))


# ------------------------------------------------------------------ lifetimes
def test_a_buffer_is_free_where_none_of_its_arrays_is_needed():
    """Only neighbours are looked at; here all are."""
    rng = np.random.default_rng(1)
    places, graph = SimpleNamespace(around={}), Graph()
    refused = 0
    for _ in range(60):
        buffer = Buffer(((), np.dtype(float)))
        for made in rng.integers(0, 12, 12):
            read = int(made + rng.choice([0, 1, 1, 2, 5]))
            one = SimpleNamespace(
                graph=graph, made=int(made), read=read, over=bool(rng.integers(2))
            )
            free = not any(
                (one.made < other.read or (one.made == other.read and not one.over))
                and (other.made < one.read or (other.made == one.read and not other.over))
                for other in buffer.arrays
            )
            assert buffer.is_free(places, one) == free
            refused += not free
            if free:
                buffer.add(one)
    assert refused > 60


# ------------------------------------------------------------------ threads
def with_masks(x, y):
    z = np.where(x > 0.5, x * 2.0 + y, y - x)
    return np.sqrt(np.abs(z)) * 0.5 + np.where(z < 1.0, 0.0, z), z


def soft_rows(x, y):
    shifted = np.exp(x - x.max(axis=-1, keepdims=True)) * y
    return shifted / shifted.sum(axis=-1, keepdims=True) + y * 2.0


@pytest.fixture
def threads(monkeypatch):
    """Let runs have three threads; return what is told each that asks."""
    counts = []

    def three():
        counts.append(3)
        return 3

    monkeypatch.setattr(fused_threads, "thread_count", three)
    return counts


@pytest.mark.parametrize("fn", [flat_chain, with_masks, soft_rows])
def test_threads_give_the_same_bits(fn, threads):
    compiled = bcjit.compile(fn, backend=Fused(smallest=0, block=64))
    rng = np.random.default_rng(3)
    for length in (64 * 64, 64 * 64 - 1, 64 * 64 + 37, 64 * 67 + 1):
        x, y = (rng.random((length, 9) if fn is soft_rows else length) for _ in range(2))
        for _ in range(3):
            got, wanted = compiled(x, y), fn(x, y)
            for one, other in zip(
                got if type(got) is tuple else (got,), wanted if type(wanted) is tuple else (wanted,),
                strict=True,
            ):  # fmt: skip
                assert one.tobytes() == other.tobytes(), length
    assert len(threads) >= 9  # one length is a block too short


def test_what_a_thread_meets_is_told_as_ever(threads, monkeypatch):
    def fn(x, y):
        return np.log(x * 2.0 + y) * 0.5 + np.exp(y) / (x + 1.0)

    compiled = bcjit.compile(fn, backend=Fused(smallest=0, block=64))
    good = np.ones(64 * 80), np.ones(64 * 80)
    for place in (None, 0, 64 * 40, -1, None):
        x, y = good[0].copy(), good[1]
        if place is not None:
            x[place] = -5.0
        for state in ({}, {"all": "ignore"}, {"invalid": "raise"}):
            outcomes = []
            for function in (fn, compiled):
                with np.errstate(**state), warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        result = function(x, y).tobytes()
                    except FloatingPointError as error:
                        result = str(error)
                said = [(one.filename, one.lineno, str(one.message)) for one in caught]
                outcomes.append((result, said))
            assert outcomes[0] == outcomes[1]
    assert threads
    threads.clear()

    def none_left(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(fused_threads._thread, "start_new_thread", none_left)
    assert compiled(*good).tobytes() == fn(*good).tobytes()
    assert threads


def test_a_signal_handler_may_raise_while_threads_are_at_work(threads):
    class Struck(Exception):
        pass

    def handler(*_):
        raise Struck

    compiled = bcjit.compile(flat_chain, backend=Fused(smallest=0, block=512))
    x, y = np.linspace(0.0, 1.0, 400_000), np.ones(400_000)
    wanted = flat_chain(x, y).tobytes()
    compiled(x, y)
    before = signal.signal(signal.SIGALRM, handler)
    struck = 0
    try:
        for turn in range(30):
            try:
                signal.setitimer(signal.ITIMER_REAL, 2e-4 * (turn % 10 + 1))
                while True:
                    assert compiled(x, y).tobytes() == wanted
            except Struck as error:
                struck += 1
                names = [one.tb_frame.f_globals["__name__"] for one in _entries(error)]
                assert set(names) == {__name__}
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert struck == 30
    assert compiled(x, y).tobytes() == wanted


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_signal_handler_may_fork_while_threads_are_at_work(threads):
    children = []

    def handler(*_):
        children.append(os.fork())

    compiled = bcjit.compile(flat_chain, backend=Fused(smallest=0, block=512))
    x, y = np.linspace(0.0, 1.0, 400_000), np.ones(400_000)
    wanted = flat_chain(x, y).tobytes()
    compiled(x, y)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        for turn in range(4):
            signal.setitimer(signal.ITIMER_REAL, 5e-4 * (turn + 1))
            while len(children) <= turn:
                right = compiled(x, y).tobytes() == wanted
            if children[-1] == 0:
                os._exit(0 if right else 1)
            assert right
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4


def _entries(error):
    traceback = error.__traceback__
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next
