"""Python and NumPy scalars: arithmetic, conversion, promotion."""

from __future__ import annotations

import operator

import numpy as np

from corpus.registry import args, entry, floats, ints, world


@entry("scalars python")
def scalars_in_arithmetic():
    def fn(x, k, rate):
        step = k * rate + 1
        return x * step, step, k // 2, -k, k**2, rate / 3

    return world(
        fn,
        lambda: args(floats(3), 2, 0.5),
        lambda: args(floats(2, 2), 5, 0.25),
        lambda: args(ints(3), True, 2),
        lambda: args(floats(2, dtype="f4"), 10**25, 1e-3),
    )


@entry("scalars index")
def ints_asked_to_be_ints():
    def fn(x, n):
        return x * operator.index(n), operator.index(len(x)), x[operator.index(1)]

    return world(
        fn,
        lambda: args(floats(3), 2),
        lambda: args(floats(2, dtype="f4"), True),
        lambda: args(ints(4), np.int16(3)),
        lambda: args(ints(4), 1.0),
    )


@entry("scalars nep50")
def python_scalars_are_weak():
    def fn(x):
        return x + 1, x * 2.5, x + 1j, x / 2, x + True, x // 2

    return world(
        fn,
        lambda: args(floats(2, dtype="f4")),
        lambda: args(ints(3, dtype="i1")),
        lambda: args(floats(2, dtype="f2")),
        lambda: args(np.float32(1.5)),
    )


@entry("scalars range raises")
def ints_that_do_not_fit():
    def fn(x, k):
        return x + k

    return world(
        fn,
        lambda: args(ints(3, dtype="i1"), 5),
        lambda: args(ints(3, dtype="i1"), 300),
        lambda: args(ints(3, dtype="u1", low=0), -1),
        lambda: args(ints(3), 2**70),
    )


@entry("scalars numpy-scalar")
def numpy_scalars():
    def fn(a, b):
        return a + b, a * b, a / b, a > b, a**2, np.maximum(a, b), a.dtype, a.item()

    return world(
        fn,
        lambda: args(np.float64(1.5), np.float64(2.5)),
        lambda: args(np.float32(1.5), 3),
        lambda: args(np.int8(5), np.int64(7)),
    )


@entry("scalars conversion")
def conversions_of_scalars():
    def fn(x):
        first = x[0]
        return float(first), int(first), bool(first), complex(first), str(first), f"{first:.3f}"

    return world(fn, lambda: args(floats(3)), lambda: args(ints(2)), lambda: args(floats(1)))


@entry("scalars power")
def powers_by_sign():
    def fn(x, k):
        return x**k, 2**k, k**2

    return world(
        fn,
        lambda: args(floats(3) + 20, 2),
        lambda: args(floats(3) + 20, -2),
        lambda: args(ints(3, low=1), 3),
        lambda: args(floats(2) + 20, 0.5),
    )


@entry("scalars builtins")
def builtins_on_scalars():
    def fn(k, rate):
        pair = divmod(k, 3)
        return pair, abs(-k), min(k, 4), max(k, rate), round(rate, 1), pow(k, 2), sum((k, k, 1))

    return world(fn, lambda: args(7, 2.25), lambda: args(4, -1.5), lambda: args(4.0, 4))


@entry("scalars big")
def big_ints_stay_exact():
    def fn(k):
        big = k * 10**20 + 1
        return big, big % 7, big >> 3, np.float64(1) * 2, big == k

    return world(fn, lambda: args(3), lambda: args(2**70), lambda: args(-1))


@entry("scalars strings")
def text_from_shapes():
    def fn(x):
        return f"{x.shape} {x.dtype} {len(x):>4}", "n=" + str(x.shape[0]), "%d" % x.ndim, x * 1

    return world(fn, lambda: args(floats(3)), lambda: args(ints(2, 2)), lambda: args(floats(9)))
