"""Arrays of unusual dtype, layout and byte order, and code that tells them apart."""

from __future__ import annotations

import numpy as np

from corpus.registry import args, entry, floats, ints, world


def unaligned(n):
    """Return doubles at odd addresses."""
    raw = np.zeros(8 * n + 1, dtype="u1")
    view = raw[1:].view("f8")
    view[:] = floats(n)
    return view


@entry("dtypes layout")
def arithmetic_on_any_layout():
    def fn(x):
        y = x + x
        return y, y.dtype, -x, x.sum(), x[1:], x.astype("f8"), y.flags.c_contiguous

    return world(
        fn,
        lambda: args(floats(4).astype(">f8")),
        lambda: args(unaligned(4)),
        lambda: args(floats(2, 3, 4).transpose(2, 0, 1)),
        lambda: args(floats(4, 6)[1::2, ::-2]),
        lambda: args(np.zeros((2, 0, 3))),
        lambda: args(floats(4, dtype="f2")),
        lambda: args(np.array([1 + 2j, 3], dtype="c8")),
        lambda: args(floats(3, dtype="g")),
    )


@entry("dtypes bool")
def boolean_arithmetic():
    def fn(a, b):
        return a & b, a | ~b, a + b, a * b, a.sum(), np.logical_not(a), a ^ b, a == b

    return world(
        fn,
        lambda: args(np.array([True, False]), np.array([True, True])),
        lambda: args(np.array([True, False]), True),
        lambda: args(np.array([True, False]), ints(2, low=0)),
    )


@entry("dtypes bool raising")
def subtraction_of_booleans_is_refused():
    def fn(a):
        b = a | True
        return b - a

    return world(fn, lambda: args(np.array([True, False])), lambda: args(ints(2)))


@entry("dtypes object", capture=False)
def object_arrays():
    def fn(x):
        y = x * 2
        return y, y.sum(), x[0], x == y

    return world(
        fn,
        lambda: args(np.array([1, 2.5, "a"], dtype=object)),
        lambda: args(np.array([[1], [2, 3], None], dtype=object)),
        lambda: args(np.array([1, 2], dtype=object)),
    )


@entry("dtypes structured")
def structured_arrays():
    def fn(x):
        x["a"] += 1
        first = x[0]
        first["b"] = 9
        return x["a"], x[["a"]], first, x["b"].sum(), x.dtype.names

    made = np.dtype([("a", "f8"), ("b", "i2", (2,))])
    return world(fn, lambda: args(np.zeros(2, made)), lambda: args(np.ones((1, 2), made)))


@entry("dtypes datetime text", capture=False)
def dates_and_text():
    def fn(x, y):
        return x == y, np.sort(x), x[0], x.dtype, np.concatenate([x, x])

    return world(
        fn,
        lambda: args(np.array(["2020-01-02", "2019-01-01"], "M8[D]"), np.datetime64("2019-01-01")),
        lambda: args(np.array(["b", "aa"]), "b"),
        lambda: args(np.array([3, 2], "m8[s]"), np.timedelta64(2, "s")),
    )


@entry("dtypes promotion")
def mixed_dtypes():
    def fn(a, b):
        return a + b, a / b, np.add(a, b).dtype, np.result_type(a, b), a * 2, b * 2.0

    pairs = [("i1", "u1"), ("i8", "u8"), ("f4", "i4"), ("f2", "i2"), ("?", "u1"), ("c8", "f8")]
    return world(
        fn,
        *[
            lambda one=one, two=two: args(ints(3, low=1, dtype=one), ints(3, low=1, dtype=two))
            for one, two in pairs
        ],
    )


@entry("dtypes integer wrap")
def integers_wrap_around():
    def fn(x, k):
        y = x * 100
        y += k
        return y, -y, y << 3, np.abs(y), y.sum(dtype=x.dtype)

    return world(
        fn,
        lambda: args(ints(4, dtype="i1"), 100),
        lambda: args(ints(4, dtype="u2", low=0), 7),
        lambda: args(np.array([2**62, -(2**63)]), 1),
    )


@entry("dtypes division")
def integer_division_by_zero():
    def fn(x, y):
        return x // y, x % y, x / y

    return world(
        fn,
        lambda: args(ints(3), np.array([1, 0, -2])),
        lambda: args(floats(3), np.array([1, 0, -2.0])),
        lambda: args(ints(3, dtype="u1", low=0), 0),
    )


@entry("dtypes isinstance")
def type_tests():
    def fn(x):
        kinds = isinstance(x, np.ndarray), isinstance(x, (int, float)), type(x) is np.ndarray
        if isinstance(x, np.generic) or np.isscalar(x):
            return kinds, x * 2
        return kinds, np.asarray(x) * 2, np.issubdtype(np.asarray(x).dtype, np.floating)

    return world(
        fn,
        lambda: args(floats(2)),
        lambda: args(3),
        lambda: args(np.float32(1)),
        lambda: args([1, 2]),
        lambda: args(np.ma.masked_array([1.0, 2.0], [0, 1])),
    )


@entry("dtypes errstate callback")
def error_callbacks():
    def fn(x):
        y = x * 2
        z = 1 / y
        print("after")
        return z + np.log(y)

    def noticed(kind, flag):
        print("noticed", kind, flag)

    def between(number):
        np.seterrcall(noticed)
        np.seterr(all=("call", "print", "warn", "ignore")[number % 4])

    return world(fn, *[lambda: args(np.zeros(2))] * 4, between=between)
