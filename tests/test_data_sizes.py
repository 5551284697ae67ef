"""Compiled functions whose arrays have sizes that depend on data, against plain ones, called with other sizes each time."""

import warnings

import numpy as np
import pytest
from pictures import Painter
from under_test import TRANSFORMS

import bcjit
from bcjit.backends.testing import CountingBackend
from bcjit.ops import all_ops
from tests.test_ops_table import duplicate


def counting(function):
    """Compile a function; a mistake inside bcjit raises."""
    bcjit.config.strict = True  # put back by conftest.py
    backend = CountingBackend()
    return bcjit.compile(function, backend=backend), backend


def outcome(function, arguments):
    """Return what a call did: its result and arguments, or what it raised."""
    try:
        return Painter().paint((function(*arguments), arguments), "r")
    except Exception as error:
        return type(error), str(error), Painter().paint(arguments, "args")


def diagonals(x, m):
    grid = np.ones((3, 3))
    i, j = np.diag_indices(3)
    grid[i, j] = x[:3]
    k = np.diag_indices_from(grid)
    k[0][:] = 0
    return grid, i is j, k, np.ix_(m, [0, 1])[0] + 1


def reduced(x, m):
    return x[m].sum(), x[m].max(), x[m].mean(), np.mean(x[m]), x[m].std(), len(x[m])


def positions(x, m):
    (i,) = np.nonzero(m)
    j = np.flatnonzero(x > 5)
    k = np.argwhere(m)
    (n,) = np.where(m)
    return i + n, x[j] * 2, k[:, 0], k.shape, np.zeros(i.shape)


def together(x, m):
    return x[m] * x[m], x[m] + x[~m], x[m] + x[:1], x[m, None] * x[m], np.append(x[m], x[~m])


def sliced(x, m):
    y = x[m]
    return y[1:], y[:-1] - y[1:], y[::-1], y[:3], y[-3:], y[::2], y[5:2:-1], x[: len(y)]


def picked(x, m):
    y = x[m]
    return y[0], y[-1], y[2]


def with_known_size(x, m):
    z = np.ones(5)
    return x[m] + z, x[m] - z[:, None], np.where(m, x, -1.0)


def stored(x, m):
    z = np.zeros(5)
    z += x[m]
    x[m] = z
    x[m] += 1
    x[~m] -= x[~m]
    return z


def branched(x, m):
    y = x[m]
    if len(y) > 3:
        y = y * 2
    return y, y.size


def rewritten(x, m):
    before = x[m]
    m[0] = True
    return before, x[m], before.shape


def of_sets(x, m):
    u, c = np.unique(x[m], return_counts=True)
    return u[c > 1], c.sum(), np.union1d(u, x), np.setdiff1d(x, u), np.isin(x, u), x[m].argsort()


def changed_between(x, m):
    n = x[m].copy()
    m &= x > 2
    return n, x[m], (x[m] - n[: len(x[m])]).sum()


def bounded(x, m):
    n, i, j = m.sum(), np.argmax(m), int(m.sum())
    head = x[:n]
    return head, x[i:], x[j:], x[-j:], x[::-1][i:n:2], x[i : i + 3], head + x[:n], x[i], x[j - 1]


def written_between_bounds(x, m):
    n = m.sum()
    x[:n] = 0
    x[n:] += 1
    x[n : n + 2] = x[:2]
    return x[:: n + 1]


def items(x, m):
    return x.item(3), x.item(-1) + 1, x[m].item(0), x.reshape(2, 5).item(1, 2), m.item(len(x) - 1)


def trimmed(x, m):
    y = np.trim_zeros(np.where(m, x, 0))
    return y, y + 1, np.trim_zeros(x, "f")


def of_shapes(x, m):
    both = np.broadcast_shapes(x[m].shape, x[~m].shape)
    return both, np.broadcast_shapes(x[m].shape, (3, 1)), np.shape(x[m]), np.size(x[m])


def made_by_count(x, m):
    k = int(m.sum())
    return np.zeros(k), np.ones((k, 2)), np.tile(x, k), np.tril_indices(k), np.zeros(k - 1)


DATA = [
    of_shapes,
    made_by_count,
    diagonals,
    bounded, written_between_bounds, items, trimmed,reduced, positions, together, sliced, picked, with_known_size, stored, branched, rewritten, of_sets, changed_between]  # fmt: skip
LIMITS = (3, 30, 8, 4, 0, -1)


def seen(function, x, m, *others):
    """Return what a call gave, wrote, raised and warned; `m` may be the number of elements to select."""
    if isinstance(m, int) and x.ndim:
        m = np.arange(len(x)) < m
    np.random.seed(1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = outcome(function, (x, m, *others))
    return result, [(str(w.message), w.category, w.filename, w.lineno) for w in caught]


@pytest.mark.parametrize("function", DATA)
def test_sizes_that_depend_on_data_change_from_call_to_call(function):
    compiled, backend = counting(function)
    for limit in LIMITS:
        x = np.arange(10.0)
        want = seen(function, x, x > limit)
        x = np.arange(10.0)
        assert seen(compiled, x, x > limit) == want, limit
    # One graph for all sizes, but where Python must know one.
    graphs = {branched: 3, of_shapes: 2}.get(function, 1)
    assert backend.graph_count <= graphs


INTO = [
    lambda x, m, out: np.compress(m, x, 0, out),
    lambda x, m, out: np.cumsum(x[m], 0, out=out),
    lambda x, m, out: np.sum(x[m], -1, out=out[:, 0]),
    lambda x, m, out: np.take(x[m], [0, 1], 1, out=out),
    lambda x, m, out: np.matmul(x[m], np.eye(2), out=out),
    lambda x, m, out: np.add(x[m], 1, out=out),  # which does repeat
    lambda x, m, out: np.compress(m, np.compress(m, x, 0), 1, out=out),
]


@pytest.mark.parametrize("transform", ["eager", "reference"])
@pytest.mark.parametrize("function", INTO)
def test_a_row_that_happens_to_be_the_only_one_is_not_repeated_into_out(function, transform):
    compiled = TRANSFORMS[transform](function)
    for limit in (0, 1, 2, -1):
        x, out, other = np.arange(4.0).reshape(2, 2), np.zeros((2, 2)), np.zeros((2, 2))
        want = seen(function, x, np.arange(2) < limit, other)
        assert seen(compiled, x, np.arange(2) < limit, out) == want, limit
        assert out.tolist() == other.tolist()


def test_equal_masks_share_a_size_until_they_are_written():
    x = np.arange(4.0)

    def masks(x, m):
        first, second = x[m], x[m]
        m[0] = False
        return first + second, x[m]

    text = str(bcjit.explain(masks, x, x > 1))
    assert text.count("float64[selected]") >= 2
    assert "float64[selected_" in text


def test_a_mean_of_an_empty_selection_warns_as_often_as_in_plain_python():
    def mean(x, limit):
        return np.mean(x[x > limit])

    compiled, backend = counting(mean)
    x = np.arange(4.0)
    assert seen(compiled, x, 1.0) == seen(mean, x, 1.0)
    assert backend.node_count > 2
    result, warned = seen(compiled, x, 9.0)
    assert (result, warned) == seen(mean, x, 9.0)
    assert len(warned) == 2


def is_constant(value):
    if isinstance(value, tuple | list):
        return all(map(is_constant, value))
    return isinstance(value, bool | int | float | str | type(None))


def calls_of(spelling):
    """Return calls of a spelling whose first argument can be cut, as a function of a mask too, with their arrays."""
    for one in spelling.samples(np.dtype(np.float64)):
        first = one.args[0] if one.args else None
        if not isinstance(first, np.ndarray) or first.ndim == 0 or spelling.of_scalar:
            continue
        names = [f"a{i}" for i in range(1, len(one.args))]
        given = [*zip(names, one.args[1:], strict=True), *one.kwargs.items()]
        if any(not is_constant(value) and not isinstance(value, np.ndarray) for _, value in given):
            continue
        arrays = {name: value for name, value in given if isinstance(value, np.ndarray)}
        text = {name: name if name in arrays else repr(value) for name, value in given}
        words = [text[n] for n in names] + [f"{name}={text[name]}" for name in one.kwargs]
        called = f"target({', '.join(['y', *words])})"
        if spelling.method:
            called = f"y.{spelling.method}" + (
                "" if spelling.is_attribute else f"({', '.join(words)})"
            )
        parameters = ", ".join(["x", "m", *arrays])
        namespace = {"target": spelling.target, "nan": np.nan, "inf": np.inf}
        exec(f"def f({parameters}):\n    y = x[m]\n    return {called}, y, len(y)", namespace)
        yield namespace["f"], (first, *arrays.values())


# The memory address of an array without elements is part of the picture of this one's base.
TOLD_APART = frozenset({"empty", "empty_like", "sliding_window_view"})


@pytest.mark.parametrize("part", range(4))
def test_every_op_takes_arrays_of_unknown_size(part):
    done = 0
    for op in list(all_ops())[part::4]:
        for spelling in op.spellings[:2]:
            for function, (first, *rest) in list(calls_of(spelling))[:1]:
                compiled, _ = counting(function)
                for kept in (9, 2, 0) if op.name not in TOLD_APART else ():
                    wanted, got = (
                        seen(
                            f,
                            *(arguments := duplicate((first, *rest), {}))[:1],
                            kept,
                            *arguments[1:],
                        )
                        for f in (function, compiled)
                    )
                    assert got == wanted, (op.name, spelling.target, kept)
                done += 1
    assert done > 40
