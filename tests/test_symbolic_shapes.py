"""Sizes and numbers are symbolic from the first call: one graph for all of them, and guards that do not grow.

Each row is a program, arguments for many calls, and how many graphs they may need. Every call is compared with plain Python
in everything the harness sees. The same programs are called with sizes 0 and 1, 0-d arrays and odd strides, where another
graph may be right and another answer never is.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from differential import Setting, World, args, assert_same
from programs import copy_arguments

import bcjit
from bcjit.backends.testing import CountingBackend
from bcjit.config import config
from bcjit.guards import GuardKind


def counted(fn, calls, settings=(Setting(repeats=1),), **compiling):
    """Compare a function with plain Python over the calls; return the backend that counted and the compiled function."""
    counting = CountingBackend()
    made = []

    def transform(plain):
        made.append(bcjit.compile(plain, backend=counting, **compiling))
        return made[-1]

    def world():
        # Each call has arguments of its own; two of one object stay so.
        return World(
            fn,
            [
                lambda given=given: args(
                    *copy_arguments({str(i): v for i, v in enumerate(given)}).values()
                )
                for given in calls
            ],
        )

    with config.override(strict=True, cache_limit=100):
        assert_same(world, transform, settings)
    return counting, made[0]


def variants(compiled):
    return [entry for cache in compiled._caches for entry in cache.entries]


LINE = [(np.linspace(-1, 1, n),) for n in range(2, 22)]
GRID = [(np.linspace(-1, 1, m * n).reshape(m, n),) for m in range(2, 6) for n in range(2, 7)]
LINE_N = [(np.linspace(-1, 1, n), n) for n in range(2, 22)]
THIRTY_I = [(np.linspace(-1, 1, 30), i) for i in range(2, 22)]
GRID_IJ = [(np.linspace(0, 1, 48).reshape(6, 8), i, j) for i in range(1, 5) for j in range(1, 6)]
FOUR = np.linspace(-1, 1, 4)
FLOATS = np.linspace(-3.1, 2.9, 20).tolist()


def loop(x, n):
    for _ in range(n):
        x = x * 2
    return x


def unpack(a):
    m, n = a.shape
    return a.sum() / (m * n), m + n


def same_shape(a, b):
    return a + b if a.shape == b.shape else a


def set_one(x, i):
    x[i] = 5.0
    return x


def shifted_sum(x):
    x[1:] += x[:-1]
    return x


def laplace(a):
    return a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2] - 4 * a[1:-1, 1:-1]


ONE_GRAPH = [
    # sizes of arrays
    ("elementwise", lambda x: np.sin(x) * 2 + x.sum(), LINE),
    ("matmul", lambda a, b: a @ b, [(np.ones((n, n + 1)), np.ones((n + 1, n + 2))) for n in range(2, 22)]),
    ("row", lambda a, b: a + b, [(a, a[0]) for (a,) in GRID]),
    ("column", lambda a, b: a + b, [(a, a[:, :1]) for (a,) in GRID]),
    ("outer", lambda x: x[:, None] * x[None, :], LINE),
    ("centred", lambda a: (a - a.mean(axis=0)) / a.std(axis=0), GRID),
    ("softmax", lambda a: np.exp(a - a.max(axis=1, keepdims=True)), GRID),
    ("gram", lambda a: a.T @ a, GRID),
    ("differences", lambda x: x[2:] - 2 * x[1:-1] + x[:-2], LINE),
    ("laplace", laplace, [(a,) for (a,) in GRID if min(a.shape) > 2]),
    ("ends", lambda x: x[-1] + x[0], LINE),
    ("strides", lambda x: (x[::2], x[::-1], x[::-3]), LINE),
    ("joined", lambda a, b: np.concatenate([a, b]), [(x, x[:-1]) for (x,) in LINE]),
    ("stacked", lambda a, b: np.stack([a, b]), [(x, x + 1) for (x,) in LINE]),
    ("running mean", lambda x: np.cumsum(x) / np.arange(1, x.size + 1), LINE),
    ("gathered", lambda x, i: x[i], [(FOUR, np.arange(n) % 4) for n in range(2, 22)]),
    ("0-d", lambda x: x * 2 + x.ndim, [(np.array(float(n)),) for n in range(20)]),
    # reading sizes
    ("reshape half", lambda x: x.reshape(x.shape[0] // 2, -1), [(np.arange(2.0 * n),) for n in range(1, 21)]),
    ("reshape to product", lambda a: a.reshape(a.shape[0] * a.shape[1]), GRID),
    ("reshape -1", lambda a: (a.reshape(-1), a.reshape(-1, 1), a.ravel()), GRID),
    ("reshape to arguments", lambda x, m: x.reshape(m, 3), [(np.arange(3.0 * m), m) for m in range(2, 22)]),
    ("zeros", lambda a: np.zeros(a.shape) + a, GRID),
    ("zeros of dtype", lambda a: np.zeros(a.shape, a.dtype), GRID),
    ("zeros of the list", lambda a: np.zeros(list(a.shape)), GRID),
    ("turned shape", lambda a: np.zeros(a.shape[::-1]), GRID),
    ("longer shape", lambda a: np.zeros((*a.shape, 3)), GRID),
    ("sum of shapes", lambda a: np.ones(a.shape + a.shape[:1]), GRID),
    ("shape of twice", lambda a: np.ones(tuple(2 * n for n in a.shape)), GRID),
    ("shapes compared", same_shape, [(a, a) for (a,) in GRID]),
    ("unpacked", unpack, GRID),
    ("shape given back", lambda a: (a.shape, a.sum(), a.shape[0] * 2), GRID),
    ("len", lambda x: x / len(x), LINE),
    ("size", lambda a: a.sum() / a.size, GRID),
    ("ndim", lambda a: a * a.ndim + a.nbytes, GRID),
    ("np.prod of shape", lambda a: a.sum() / np.prod(a.shape), GRID),
    ("math.prod of shape", lambda a: a.sum() / math.prod(a.shape), GRID),
    ("sum of shape", lambda a: a.sum() / sum(a.shape), GRID),
    ("longest axis", lambda a: a * max(a.shape) - min(a.shape), GRID),
    ("array of sizes", lambda a: np.array([len(a), a.size]), GRID),
    ("all but the last", lambda x: x[: len(x) - 1] + x[1:], LINE),
    ("arange of len", lambda x: np.arange(len(x)) / len(x), LINE),
    ("linspace of len", lambda x: np.linspace(0, 1, len(x)) * x, LINE),
    # ints
    ("x[:n - 1]", lambda x, n: x[: n - 1], LINE_N),
    ("arange", lambda x, n: np.arange(n) * x + np.arange(1, n + 1), LINE_N),
    ("arange of dtype", lambda x, n: np.arange(n, dtype=float) * x, LINE_N),
    ("arange of three", lambda a, i, j: np.arange(i, 30, j), GRID_IJ),
    ("linspace", lambda x, n: np.linspace(0, 1, n) * x, LINE_N),
    ("linspace from data", lambda x, n: np.linspace(x[0], x[1], n), LINE_N),
    ("zeros of n", lambda x, n: np.zeros((n, n)) + np.ones(n), LINE_N),
    ("full", lambda x, n: np.full(n, 2.5) + x, LINE_N),
    ("x[i]", lambda x, i: x[i] + x[-i], THIRTY_I),
    ("x[i:j]", lambda a, i, j: a[i : i + 2, j:], GRID_IJ),
    ("x[i, j]", lambda a, i, j: (a[i, j], a[i], a[..., j], a[i][j]), GRID_IJ),
    ("x[-n:]", lambda x, n: (x[-n:], x[:-n], x[slice(n)], x[n : n + 3]), THIRTY_I),
    ("x[i:30:k]", lambda a, i, j: a.ravel()[i:30:j], GRID_IJ),
    ("A[i, :i]", lambda a, i: a[i, :i].sum(), [(np.ones((21, 21)), i) for i in range(1, 21)]),
    ("x[i] = v", set_one, THIRTY_I),
    ("x / n", lambda x, n: x / n + n / 2, LINE_N),
    ("n % 2", lambda x, n: x * (n % 2) - n // 3, LINE_N),
    ("n ** 2", lambda x, n: x / n**2 + n**0.5 + np.sqrt(n), LINE_N),
    ("shifts", lambda x, n: x[: n >> 1] * (n << 2) + (1 << n) + (n & 1), LINE_N),
    ("max and min", lambda x, n: x[: min(len(x), 7)] * max(n, 3), LINE_N),
    ("min of ends", lambda x, i: x[: min(i, len(x) - i)], THIRTY_I),
    ("divmod", lambda x, n: x * divmod(n, 3)[1] + abs(-n), LINE_N),
    ("not n", lambda x, n: x * (not n) + (n and 3), LINE_N),
    ("rolled", lambda x, n: np.roll(x, -n), THIRTY_I),
    ("repeated", lambda x, n: (np.tile(x, n), np.repeat(x, n), np.tile(x, (n, 1))), [(FOUR, n) for n in range(2, 22)]),
    ("eye", lambda x, n: np.eye(n, k=1), LINE_N),
    # numbers in arithmetic
    ("a thousand floats", lambda x, k: x * k + k, [(FOUR, k) for k in np.linspace(-9, 9, 1000).tolist()]),
    ("ints", lambda x, k: x * k + k, [(FOUR, k) for k in range(-10, 10)]),
    ("ints and int8", lambda x, k: x * k + k, [(np.arange(4, dtype="i1"), k) for k in range(-10, 10)]),
    *(
        (f"{kind.__name__}s", lambda x, k: x * k + k, [(FOUR, kind(k)) for k in range(20)])
        for kind in (complex, np.float64, np.float32, np.int64, np.uint8, np.complex64)
    ),
    ("float32", lambda x, k: x * k + k, [(FOUR.astype("f4"), k) for k in FLOATS]),
    ("numbers alone", lambda x, k: (x * (k * 2 - 1 / (k + 9)), k**2, -k, k * 3), [(FOUR, k) for k in FLOATS]),
    ("scalars alone", lambda x, k: (k * 2 + 1, abs(k), k**2, k**0.5, -k, k.item()), [(FOUR, np.float64(abs(k))) for k in FLOATS]),
    ("parts", lambda x, k: x * k.real + k.imag, [(FOUR, complex(k, 2)) for k in FLOATS]),
    ("math", lambda x, k: x * math.exp(-k) + np.exp(k) + abs(k) + int(k), [(FOUR, k) for k in FLOATS]),
    ("rounded", lambda x, k: x * round(k) + round(k, 2), [(FOUR, k) for k in FLOATS]),
    ("linspace to k", lambda x, k: np.linspace(0, k, 5), [(FOUR, k) for k in FLOATS]),
    ("full of k", lambda x, k: np.full(4, k) + np.full_like(x, k), [(FOUR, k) for k in FLOATS]),
    ("array of k", lambda x, k: x * np.array([k, k + 1, 0, 1]), [(FOUR, k) for k in FLOATS]),
    ("where", lambda x, k: np.where(x > k, x, k) + np.clip(x, -k, k) + np.minimum(x, k), [(FOUR, k) for k in FLOATS]),
    ("in a list", lambda x, c: c[0] * x + c[1], [(FOUR, [k, k + 1]) for k in FLOATS]),
    ("in a dict", lambda x, c: c["rate"] * x, [(FOUR, {"rate": k}) for k in FLOATS]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fn", "calls"), [row[1:] for row in ONE_GRAPH], ids=[row[0] for row in ONE_GRAPH]
)
def test_one_graph(fn, calls):
    counting, compiled = counted(fn, calls)
    assert counting.graph_count == 1
    (entry,) = variants(compiled)
    assert entry.hits == len(calls) - 1
    assert entry.bailouts == 0


# What depends on a value or a size in Python or NumPy: some more graphs, as many as there are answers.
SOME_GRAPHS = [
    ("power by sign", lambda x, k: x * 2**k, [(FOUR, k) for k in (1, 2, -1, 0, 5, -3, -2, 9)], 2),
    ("if n", lambda x, n: x if n > 10 else -x, LINE_N, 1),
    ("if even", lambda x: x * 2 if len(x) % 2 == 0 else -x, LINE, 2),
    ("shape is", lambda a: a + 1 if a.shape == (3, 4) else a, GRID, 1),
    ("shape is not", lambda a, b: a + 1 if a.shape != b.shape else a + b, [*((a, a) for (a,) in GRID), *((a, a[1:]) for (a,) in GRID if len(a) > 2)], 2),
    ("length in", lambda a: a + 1 if a.shape[0] in (3, 5) else a - 1, GRID, 4),
    ("axis", lambda a, axis: a.sum(axis=axis), [(a, i) for (a,) in GRID for i in (0, 1)], 2),
    ("axis of a function", lambda a, i: np.concatenate([a, a], axis=i).mean(i), [(a, i) for (a,) in GRID for i in (0, -1)], 2),
    ("turns", loop, [(x, n) for (x,) in LINE for n in (4, 0, 2)], 2),
    ("a float as truth", lambda x, k: x if k > 0 else -x, [(FOUR, k) for k in FLOATS], 2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("fn", "calls", "graphs"), [row[1:] for row in SOME_GRAPHS], ids=[row[0] for row in SOME_GRAPHS]
)
def test_a_graph_an_answer(fn, calls, graphs):
    counting, _ = counted(fn, calls)
    assert counting.graph_count <= graphs
    assert counting.node_count > 0


def axis_behind_a_break(a, axis):
    bcjit.graph_break()
    return a.sum(axis=axis), np.stack([a, a], axis)


def size_from_data(x, k):
    n = int(x[0])
    return x[:n] * k, np.zeros(n), x.reshape(n, -1), np.arange(n), x * n


def length_of_a_selection(x):
    y = x[x > 0]
    return y * 2, len(y) > 3, y[: len(y) // 2]


@pytest.mark.parametrize(
    ("fn", "calls", "parts"),
    [
        (axis_behind_a_break, [(a, i) for (a,) in GRID for i in (0, 1)], 3),
        (size_from_data, [(np.full(12, n), 2.5) for n in (3, 2, 12, 4, 1, 6, 0, -1, 13)], 5),
        (length_of_a_selection, [*LINE, (np.zeros(3),)], 3),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_only_data_knows_is_not_decided_by_the_first_call(fn, calls, parts):
    # Each part behind a break has few variants however many sizes there are, and none is for one size.
    _, compiled = counted(fn, calls)
    assert len(variants(compiled)) <= parts


def test_agreeing_sizes_cost_one_guard():
    _, compiled = counted(
        lambda a, b: a @ b, [(np.ones((n, n + 1)), np.ones((n + 1, 7))) for n in range(2, 22)]
    )
    (entry,) = variants(compiled)
    assert [guard.kind for guard in entry.guards] == [
        GuardKind.ARRAY,
        GuardKind.ARRAY,
        GuardKind.RELATION,
    ]


def test_without_dynamic_sizes_each_has_a_graph():
    counting, _ = counted(
        lambda x, k: x * k, [(np.ones(n), k) for n in (2, 3) for k in (1.0, 2.0)], dynamic=False
    )
    assert counting.graph_count == 4


# -- sizes 0 and 1, 0-d arrays, strides ------------------------------------------------------------


def orders(calls):
    """Return the calls beginning with each of a few of them: what is captured first must not matter to what follows."""
    return [calls[start:] + calls[:start] for start in range(len(calls))]


ODD_SIZES = (5, 1, 0, 2)
ODD = {
    "x": [(np.linspace(-1, 1, n),) for n in ODD_SIZES],
    "x and n": [(np.linspace(-1, 1, 5), n) for n in (3, 1, 0, -2, 9)],
    "a": [(np.linspace(-1, 1, m * n).reshape(m, n),) for m, n in ((3, 4), (1, 4), (3, 1), (0, 3), (2, 0), (1, 1))],
    "a, i and j": [(np.linspace(0, 1, 12).reshape(3, 4), i, j) for i, j in ((1, 2), (0, 0), (-1, 1), (3, -4), (2, 9))],
}  # fmt: skip
BY_ARGUMENTS = {id(LINE): "x", id(LINE_N): "x and n", id(THIRTY_I): "x and n", id(GRID): "a", id(GRID_IJ): "a, i and j"}  # fmt: skip
ODD_ROWS = [
    (name, fn, BY_ARGUMENTS[id(calls)])
    for name, fn, calls, *_ in ONE_GRAPH + SOME_GRAPHS
    if id(calls) in BY_ARGUMENTS
]


@pytest.mark.parametrize(
    ("fn", "kind"), [row[1:] for row in ODD_ROWS], ids=[row[0] for row in ODD_ROWS]
)
def test_odd_sizes_and_numbers(fn, kind):
    for calls in orders(ODD[kind]):
        counted(fn, calls)


def broadcasts():
    shapes = [(), (1,), (3,), (1, 1), (1, 3), (2, 1), (2, 3), (0,), (1, 2, 3), (2, 1, 1), (2, 0)]
    return [(a, b) for a in shapes for b in shapes]


def test_shapes_of_every_rank_broadcast_or_do_not():
    def f(a, b):
        return a + b, np.maximum(a, b) * 2

    calls = [(np.arange(float(math.prod(a))).reshape(a), np.ones(b, "f4")) for a, b in broadcasts()]
    for start in (0, 40, 77):
        counting, _ = counted(f, calls[start:] + calls[:start])
        # One for each pair of ranks (16) and pattern of axes that broadcast (equal, left 1, right 1).
        assert counting.graph_count < 60


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a[::-1],
        lambda a: a[:, ::-1],
        lambda a: a[::2, ::-2],
        lambda a: a.T,
        lambda a: np.asfortranarray(a),
        lambda a: np.broadcast_to(a[0], a.shape),
        lambda a: np.broadcast_to(a[:, :1], a.shape),
        lambda a: np.lib.stride_tricks.as_strided(a, (3, 4), (8, 8)),
    ],
    ids=["up", "left", "sparse", "turned", "Fortran", "rows", "columns", "overlapping"],
)
def test_negative_zero_and_odd_strides(make):
    def f(a, k):
        b = a * k
        c = a[1:, ::-1].reshape(-1)
        return (
            b,
            c,
            a.ravel(),
            a.sum(axis=0),
            a.T,
            np.zeros_like(a),
            a.reshape(a.shape[::-1]),
            a @ b.T,
        )

    def args_of(m, n, k):
        return make(np.arange(float(m * n)).reshape(m, n)), k

    counting = CountingBackend()
    compiled = bcjit.compile(f, backend=counting)
    calls = [(4, 5, 1.5), (6, 7, 2.5), (5, 4, -1.0)]

    def world():
        return World(f, [lambda given=given: args(*args_of(*given)) for given in calls])

    assert_same(world, lambda _: compiled)
    assert counting.graph_count == 1


# -- numbers whose value matters to NumPy ------------------------------------------------------------

BIG = [1, 2, 300, -1, -129, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 2**70, -(2**70), 10**400]
FEW = [0, 1, -1, 2, 3, 0.5, -0.5, 2.0, 1e39, -1e39, 1e-50, 1e300, math.nan, math.inf, -0.0, 1j]
SCALARS = [np.float64(0.5), np.float64(1e300), np.float32(1e30), np.int8(100), np.int64(2**62), np.uint8(200), np.bool_(True)]  # fmt: skip
DTYPES = ("?", "i1", "u1", "i4", "i8", "u8", "f2", "f4", "f8", "F", "D")

BY_VALUE = [
    ("sum", lambda x, k: x + k),
    ("product", lambda x, k: k * x),
    ("quotient", lambda x, k: x / k),
    ("floor", lambda x, k: x // k),
    ("remainder", lambda x, k: x % k),
    ("power", lambda x, k: x**k),
    ("root", lambda x, k: k**x),
    ("comparison", lambda x, k: (x < k, k == x)),
    ("maximum", lambda x, k: np.maximum(x, k)),
    ("full", lambda x, k: np.full(3, k)),
    ("full of dtype", lambda x, k: np.full(3, k, dtype=x.dtype)),
    ("array", lambda x, k: np.array([k, 1])),
    ("where", lambda x, k: np.where(x > 1, x, k)),
    ("number", lambda x, k: x * (k * 2 + 1)),
    ("number's power", lambda x, k: x * k**2),
]


def in_place(x, k):
    x += k
    x *= 2
    return x


def into(x, k):
    x[1:] = k
    return x


BY_VALUE += [("in place", in_place), ("into", into)]
VALUE_SETTINGS = (
    Setting(repeats=1),
    Setting("error", errstate={"all": "raise"}, repeats=1),
)


@pytest.mark.parametrize("fn", [row[1] for row in BY_VALUE], ids=[row[0] for row in BY_VALUE])
@pytest.mark.parametrize("numbers", [BIG, FEW, SCALARS], ids=["ints", "numbers", "scalars"])
def test_numbers_whose_value_matters(fn, numbers):
    for start, dtype in enumerate(DTYPES):
        x = np.array([0, 1, 2]).astype(dtype)
        first = start % len(numbers)
        calls = [(x, k) for k in numbers[first:] + numbers[:first]]
        counted(fn, calls, VALUE_SETTINGS[start % 2 : start % 2 + 1])
