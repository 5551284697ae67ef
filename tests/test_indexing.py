"""``x[index]`` and ``x[index] = v`` in compiled functions against plain ones, over many kinds of index."""

import random
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from pictures import Painter

import bcjit
from bcjit.backends.testing import CountingBackend

COUNT = 20  # of random indices of each array of several axes
SHAPES = ((), (4,), (3, 4), (2, 3, 4), (0, 3))


@dataclass
class Case:
    """An index as it is written in the function: arrays and NumPy scalars are its arguments."""

    x: np.ndarray
    text: str
    arguments: tuple

    def function(self, template):
        names = "".join(f", a{i}" for i in range(len(self.arguments)))
        namespace = {"np": np}
        lines = template.replace("INDEX", self.text).replace("NAMES", names)
        exec(lines, namespace)
        return namespace["f"]

    def fresh(self):
        """Return arguments that share no memory with those of another run."""
        base = np.array(self.x, order="K")
        x = base[..., ::-1] if self.x.ndim == 2 else base
        return x, *(a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments)


def counting(function):
    """Compile a function; a mistake inside bcjit raises."""
    bcjit.config.strict = True  # put back by conftest.py
    backend = CountingBackend()
    return bcjit.compile(function, backend=backend), backend


def parts(rng, length):
    """Return indices for one axis, of every kind."""
    size = max(length, 1)
    return [
        f"{rng.randrange(-size, size)}",
        np.int64(rng.randrange(size)),
        rng.randrange(-size, size),
        ":",
        "1:",
        "::-1",
        "-1:0:-2",
        "None",
        "...",
        "[0, -1]",
        np.array([size - 1, 0, 0]),
        np.array([[0], [-1]], np.int8),
        np.array(0),
        np.array([], int),
        np.arange(length) % 2 == 0,
        np.zeros(length, bool),
        "True",
        np.bool_(False),
    ]


def case(x, chosen, *, is_tuple=True):
    texts, arguments = [], []
    for part in chosen:
        texts.append(part if isinstance(part, str) else f"a{len(arguments)}")
        if not isinstance(part, str):
            arguments.append(part)
    return Case(x, ", ".join(texts) + ("," if is_tuple else ""), tuple(arguments))


def cases(count, seed):
    """Yield indices of arrays: every kind alone, and some of each number together."""
    rng = random.Random(seed)
    for shape in SHAPES:
        x = np.arange(np.prod(shape), dtype=float).reshape(shape)
        lengths = [*shape, 2]
        for part in parts(rng, lengths[0]):
            yield case(x, [part], is_tuple=False)
        for _ in range(count if len(shape) > 1 else count // 4):
            number = rng.randrange(1, 5)
            chosen = [rng.choice(parts(rng, lengths[min(i, len(shape))])) for i in range(number)]
            yield case(x, chosen)
        if len(shape) > 1 and x.size:
            mask = x % 3 == 0
            yield case(x, [mask], is_tuple=False)
            yield case(x, ["...", mask[0]])
            yield case(x, [mask[..., 0], "0"])
            yield case(x, [np.nonzero(mask)[0], ":", np.nonzero(mask)[1]][:: len(shape) - 1])
            yield case(np.asfortranarray(x), [mask], is_tuple=False)


def outcome(function, arguments):
    """Return what a call did: its result and arguments, or what it raised."""
    try:
        return Painter().paint((function(*arguments), arguments), "r")
    except Exception as error:
        return type(error), str(error), Painter().paint(arguments, "args")


GET = """
def f(x NAMES):
    return x[INDEX]
"""
SET = """
def f(x, v NAMES):
    x[INDEX] = v
"""
ADD = """
def f(x NAMES):
    x[INDEX] += 1
    return x
"""
SELF = """
def f(x NAMES):
    x[INDEX] = x[INDEX][::-1]
"""


def values_for(one, rng):
    """Return a value of the size of what is indexed, and one of another size, for those that can be evaluated here."""
    try:
        region = one.function(GET)(*one.fresh())
    except IndexError:
        return [1.5]
    whole = np.arange(region.size, dtype=np.int8).reshape(np.shape(region))
    return [rng.choice([1.5, whole, whole[..., :1] if whole.ndim else whole, np.ones((1, 7))])]


def arguments_of(template, one, value):
    x, *rest = one.fresh()
    return (x, value, *rest) if template is SET else (x, *rest)


@pytest.mark.parametrize("template", [GET, SET, ADD, SELF], ids=["get", "set", "add", "self"])
def test_every_kind_of_index_does_what_numpy_does(template):
    rng = random.Random(7)
    captured = total = 0
    for one in cases(COUNT, seed=len(template)):
        function = one.function(template)
        value = values_for(one, rng)[0] if template is SET else None
        want = outcome(function, arguments_of(template, one, value))
        compiled, backend = counting(function)
        for _ in range(2):
            got = outcome(compiled, arguments_of(template, one, value))
            assert got == want, (one, template, value)
        if not isinstance(want[0], type):
            total += 1
            captured += backend.node_count > 0
    # What is left out: a bool as index of an array without axes is assigned to in plain Python.
    assert captured >= total - 4, (captured, total)


# Sizes that depend on data


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


DATA = [
    bounded, written_between_bounds, items, trimmed,reduced, positions, together, sliced, picked, with_known_size, stored, branched, rewritten, of_sets, changed_between]  # fmt: skip
LIMITS = (3, 30, 8, 4, 0, -1)


def seen(function, x, m):
    """Return what a call gave, wrote, raised and warned."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = outcome(function, (x, m))
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
    graphs = {branched: 3, changed_between: 1}.get(function, 1)
    assert backend.graph_count <= graphs


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
    assert seen(compiled, x, 1) == seen(mean, x, 1)
    assert backend.node_count > 2
    result, warned = seen(compiled, x, 9)
    assert (result, warned) == seen(mean, x, 9)
    assert len(warned) == 2
