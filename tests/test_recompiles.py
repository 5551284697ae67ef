"""No needless recompiles: many calls that differ in what does not matter are one compiled variant each part.

A row is a function, calls of it, and how many captures they need in all; each call is compared with plain Python. What must be compiled
for anew, and what cannot be helped, is at the end with its number, so that a change in either direction is seen.
"""

from __future__ import annotations

import numpy as np
import pytest
from facts_kit import agree, captures, new_captures

import bcjit
from bcjit.config import config

X = np.arange(1.0, 5.0)


@pytest.fixture(autouse=True)
def _strict():
    config.strict = True


def call(*args, **kwargs):
    return args, kwargs


class Model:
    def __init__(self, w):
        self.w = w

    def step(self, x):
        return x * self.w

    __call__ = step


def model_with(**attributes):
    made = Model(2.0)
    vars(made).update(attributes)
    return made


class Hostile:
    """Every special method that something may call by accident."""

    def _no(self, *_args, **_kwargs):
        raise AssertionError("nobody may ask")

    __eq__ = __hash__ = __bool__ = __len__ = __iter__ = __getattr__ = __getitem__ = _no
    __array__ = __array_ufunc__ = __array_function__ = __index__ = __float__ = __call__ = _no
    __repr__ = __str__ = __format__ = __contains__ = __add__ = __radd__ = _no


def with_defaults(x, k=2.0, *, m=1.0):
    return x * k + m


def maker(k):
    def inner(x):
        return x * k

    return inner


def ignored(x, _unused):
    return x + 1


def loops(x, n):
    total = 0.0
    for i in range(n):
        total = total + x * i
    return total


LENGTHS = range(1, 21)
UNUSED = [1, "a", None, [1], {"k": 1}, {1, 2}, X, len, np, Hostile, Model(1.0), 2.5, True, object()]
ONE = {
    "lengths": (lambda x: (x * 2).sum() / len(x) + x, [call(np.ones(n)) for n in range(2, 22)]),
    "floats": (lambda x, k: x * k, [call(X, i / 7) for i in range(1000)]),
    "ints": (lambda x, n: x * n + n, [call(X, n) for n in (5, 0, 1, 2, -1, *range(20), 2**70)]),
    "scalars of NumPy": (lambda x, n: x * n, [call(X, np.int64(n)) for n in LENGTHS]),
    "sizes asked for": (lambda n: np.zeros(n) + 1, [call(n) for n in range(2, 22)]),
    "ends of slices": (lambda x, n: x[:n], [call(np.ones(30), n) for n in range(2, 22)]),
    "indices": (lambda x, n: x[n], [call(np.ones(30), n) for n in range(2, 22)]),
    "powers": (lambda x, n: x**n, [call(X, n) for n in range(2, 12)]),
    "shapes": (lambda x, n: x.reshape(n, -1), [call(np.ones(24), n) for n in (2, 3, 4, 6, 8)]),
    "layouts": (
        lambda x: (x * 2).sum(axis=0),
        [
            call(np.ones((3, 4))),
            call(np.ones((4, 3)).T),
            call(np.ones((6, 4))[::2]),
            call(np.broadcast_to(np.ones(4), (3, 4))),
        ],
    ),
    "arrays that may not be written": (lambda x: x + 1, [call(X), call(np.broadcast_to(1.0, (4,)))]),
    "unused arguments": (ignored, [call(X, value) for value in UNUSED]),
    "more positional arguments": (lambda x, *more: x + 1, [call(X), call(X, 1), call(X, "a", [])]),
    "more keyword arguments": (
        lambda x, **k: x * k["a"],
        [call(X, a=1.0), call(X, a=2.0, b=1), call(X, c=2, a=3.0)],
    ),
    "ways to hand in": (
        with_defaults,
        [
            call(X),
            call(X, 2.0),
            call(X, k=3.0),
            call(x=X, k=1.0, m=4.0),
            call(X, m=1.5),
        ],
    ),
    "names handed on": (lambda x, s: (x, s, [s], {"k": s}), [call(X, str(n)) for n in LENGTHS]),
    "names that are there": (
        lambda x, s=None: x if s is None else x + 1,
        [call(X, str(n)) for n in LENGTHS],
    ),
    "names by type": (
        lambda x, s: x + 1 if isinstance(s, str) and type(s) is str else x,
        [call(X, str(n)) for n in LENGTHS],
    ),
    "names by whether they are empty": (
        lambda x, s: x + 1 if s and not (not s) and bool(s) else x,
        [call(X, "a" * n) for n in LENGTHS],
    ),
    "bytes": (lambda x, s: x + 1 if s is not None and s else x, [call(X, b"a" * n) for n in LENGTHS]),
    "tuples by type": (
        lambda x, t: x + 1 if t is not None and isinstance(t, tuple) else x,
        [call(X, (0,) * n) for n in LENGTHS],
    ),
    "lists handed on": (lambda x, items: (x + 1, items), [call(X, [0] * n) for n in LENGTHS]),
    "items of lists": (lambda x, items: x * items[0], [call(X, [2.0] * n) for n in LENGTHS]),
    "lists by whether they are empty": (
        lambda x, items: x + 1 if items else x,
        [call(X, [0] * n) for n in LENGTHS],
    ),
    "dicts by whether they are empty": (
        lambda x, d: x + 1 if d else x,
        [call(X, dict.fromkeys(range(n))) for n in LENGTHS],
    ),
    "keys that are not read": (
        lambda x, d: x * d["k"],
        [
            call(X, d)
            for d in ({"k": 2.0}, {"k": 3.0, "m": 1}, {1: 0, "k": 2.0}, {"m": X, "k": 1.0, None: 2})
        ],
    ),
    "keys that are not there": (
        lambda x, d: x * d.get("k", 2.0) if "other" not in d else x,
        [call(X, d) for d in ({}, {"m": 1}, {1: 2, None: 3})],
    ),
    "attributes that are not read": (
        lambda x, o: x * o.w,
        [call(X, model_with(**{f"b{n}": n})) for n in range(5)],
    ),
    "closures of one code": (lambda x, f: f(x), [call(X, maker(float(n))) for n in LENGTHS]),
    "bound methods": (lambda x, f: f(x), [call(X, Model(float(n)).step) for n in LENGTHS]),
    "objects": (lambda x, m: m.step(x) + m(x), [call(X, Model(float(n))) for n in LENGTHS]),
    "objects with arrays": (lambda x, m: m.step(x), [call(X, Model(np.ones(4) * n)) for n in LENGTHS]),
    "values in a dict in order": (
        lambda x, d: [x * v for v in d.values()],
        [call(X, {"a": 1.0, "b": 2.0}), call(X, {"a": 3.0, "b": 4.0})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ONE)
def test_one_variant_serves_all(name):
    fn, calls = ONE[name]
    compiled = bcjit.compile(fn, backend="eager")
    for args, kwargs in calls[:30]:
        agree(compiled, fn, *args, **kwargs)
    for args, kwargs in calls[30:]:
        compiled(*args, **kwargs)
    assert captures(compiled) == 1
    assert not compiled._caches[0].misses


def test_arguments_that_nothing_asks_are_not_asked():
    compiled = bcjit.compile(ignored, backend="eager")
    for value in (Hostile(), Hostile(), 3, Hostile()):
        assert compiled(X, value).tolist() == (X + 1).tolist()
    assert captures(compiled) == 1


def test_globals_and_cells_that_are_not_used_do_not_matter():
    other = 1
    space = {"np": np, "other": 1, "used": 2.0}
    exec("def fn(x): return x * used", space)
    fn = space["fn"]

    def inner(x):
        return x + 1 if x is not None else other

    for function, change in (
        (fn, lambda n: space.update(other=[n], more=n)),
        (inner, lambda n: inner.__closure__[0].__setattr__("cell_contents", [n])),
    ):
        compiled = bcjit.compile(function, backend="eager")
        for turn in range(4):
            change(turn)
            agree(compiled, function, X)
        assert captures(compiled) == 1


def test_an_alternation_of_kinds_adds_one():
    compiled = bcjit.compile(lambda x, k: x * k, backend="eager")
    for number in range(10):
        compiled(X, number)
        compiled(X, number / 2)
    assert captures(compiled) == 2


def test_the_order_of_keys_matters_where_it_is_read():
    one, other = {"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}
    read = bcjit.compile(lambda x, d: x * d["a"] + d["b"], backend="eager")
    walked = bcjit.compile(lambda x, d: [x * v for v in d.values()], backend="eager")
    for compiled, wanted in ((read, 1), (walked, 2)):
        for d in (one, other, one, other):
            compiled(X, d)
        assert captures(compiled) == wanted


def class_inside(x, k):
    class Local:
        pass

    made = Local()
    made.v = k
    return x * made.v


def text_in_keys(x, names):
    return dict.fromkeys(names, x)


# What is compiled for anew, with the number of captures.
MORE = {
    # by design
    "a size of one, which broadcasts": (
        lambda x, y: x + y,
        [call(X, X), call(X, X[:1]), call(X[:2], X[:2]), call(X[:3], X[1:2])],
        2,
    ),
    "a truth value, which decides": (lambda x, k: x * k, [call(X, 5), call(X, True), call(X, 7)], 2),
    "kinds of numbers": (
        lambda x, k: x * k,
        [call(X, 2), call(X, 2.0), call(X, 2j), call(X, np.float64(2)), call(X, np.int8(2)), call(X, 3)],
        5,
    ),
    "sides of an array": (lambda x, n: x[n], [call(X, 1), call(X, -1), call(X, 2), call(X, -2)], 2),
    "an axis": (lambda x, n: x.sum(axis=n), [call(np.ones((2, 3)), n) for n in (0, 1, 0)], 2),
    "a dtype": (lambda x, d: x.astype(d), [call(X, d) for d in ("f4", "i8", "f4")], 2),
    "text that is used": (lambda x, s: (x + 1, s + "!"), [call(X, s) for s in "aba"], 2),
    "a length of text": (lambda x, s: x + len(s), [call(X, s) for s in ("ab", "cd", "efg", "hi")], 2),
    # what could be better: see docs/design/0020-guards.md
    "lengths of lists": (lambda x, s: x + len(s), [call(X, [0] * n) for n in (1, 2, 3, 2)], 3),
    "lengths of tuples": (lambda x, s: x + s[0], [call(X, (1.0,) * n) for n in (1, 2, 3, 2)], 3),
    "keys made of data": (text_in_keys, [call(X, [s]) for s in "abcb"], 3),
}  # fmt: skip


@pytest.mark.parametrize("name", MORE)
def test_what_is_compiled_for_anew(name):
    fn, calls, wanted = MORE[name]
    compiled = bcjit.compile(fn, backend="eager")
    for args, kwargs in calls:
        agree(compiled, fn, *args, **kwargs)
    assert captures(compiled) == wanted


def test_a_class_made_in_the_function_is_another_one_each_time():
    compiled = bcjit.compile(class_inside, backend="eager")
    agree(compiled, class_inside, X, 1.0)
    counts = [new_captures(compiled, class_inside, X, float(n)) for n in range(12)]
    assert counts[0] == 1
    assert counts[-1] == 0  # the limit is reached, and it runs plain
    (note,) = compiled._caches[0].limit_notes()
    assert "Local" in note.guard
