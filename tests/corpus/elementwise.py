"""Arithmetic, comparison and mathematical functions, element by element."""

from __future__ import annotations

import math

import numpy as np

from corpus.registry import args, entry, floats, ints, world

SCALE = 2.5
TABLE = np.array([0.5, 1.5, -2.0])


@entry("elementwise dtype")
def multiply_add():
    def fn(x, y, k):
        return x * k + y

    return world(
        fn,
        lambda: args(floats(5), floats(5, seed=1), 2.0),
        lambda: args(floats(3, 2, dtype="f4"), floats(2, dtype="f4"), 3),
        lambda: args(ints(4, dtype="i1"), ints(4, dtype="i4"), 2),
    )


@entry("elementwise operators dtype")
def every_binary_operator():
    def fn(a, b):
        quotient = a // b
        return (
            a + b,
            a - b,
            a * b,
            a / b,
            quotient,
            a % b,
            a**2,
            -a,
            +a,
            abs(a),
            a < b,
            a <= b,
            a == b,
            a != b,
            a > b,
            a >= b,
        )

    return world(
        fn,
        lambda: args(floats(6), floats(6, seed=2) + 20),
        lambda: args(ints(3, 2), ints(2, low=1)),
        lambda: args(floats(4, dtype="f4"), 3),
        lambda: args(ints(4, dtype="u1", low=0), np.uint8(7)),
    )


@entry("elementwise operators ints")
def bitwise_operators():
    def fn(a, b):
        shifted = (a << 2) >> 1
        return a & b, a | b, a ^ b, ~a, shifted

    return world(
        fn,
        lambda: args(ints(5, low=0), ints(5, low=0, seed=3)),
        lambda: args(ints(2, 3, dtype="u1", low=0), np.uint8(3)),
        lambda: args(ints(4, dtype="i2"), 6),
    )


@entry("elementwise ufunc")
def transcendental_chain():
    def fn(x):
        y = np.exp(-np.square(x)) + np.sin(x) * np.cos(x)
        return np.tanh(y) / (1.0 + np.abs(y))

    return world(
        fn,
        lambda: args(floats(7)),
        lambda: args(floats(2, 3, dtype="f4")),
        lambda: args(ints(4)),
        lambda: args(np.float64(0.25)),
    )


@entry("elementwise ufunc out")
def ufunc_with_out_and_where():
    def fn(x, out):
        result = np.add(x, 1.0, out=out)
        np.multiply(x, 2.0, out=out, where=x > 0)
        return result

    return world(
        fn,
        lambda: args(floats(5), np.zeros(5)),
        lambda: args(floats(3, 2), np.ones((3, 2))),
        lambda: args(floats(4), np.zeros(4, dtype="f4")),
    )


@entry("elementwise dtype keyword")
def ufunc_with_dtype_and_casting():
    def fn(x):
        wide = np.add(x, x, dtype="f8")
        return wide, np.multiply(x, 2, casting="same_kind"), np.maximum(x, 0)

    return world(
        fn,
        lambda: args(floats(4, dtype="f4")),
        lambda: args(ints(3, 3)),
        lambda: args(floats(2)),
    )


@entry("elementwise select")
def where_clip_and_sign():
    def fn(x, low, high):
        clipped = np.clip(x, low, high)
        return np.where(x > 0, clipped, -clipped) * np.sign(x)

    return world(
        fn,
        lambda: args(floats(6), -1.0, 1.0),
        lambda: args(floats(2, 4, dtype="f4"), -2, 2),
        lambda: args(ints(5), 0, 3),
    )


@entry("elementwise globals module")
def reads_globals_of_a_module():
    def fn(x):
        return SCALE * x + math.pi + TABLE.sum() + np.e

    return world(fn, lambda: args(floats(3)), lambda: args(floats(2, 2)), lambda: args(2))


@entry("elementwise globals guards")
def global_is_replaced_between_calls():
    def fn(x):
        return x * SCALE + TABLE

    def between(number):
        global SCALE, TABLE
        SCALE = (2.5, 2.5, 3.5, 4)[number % 4]
        TABLE = np.array([0.5, 1.5, -2.0 - number % 3])

    return world(fn, *[lambda: args(floats(3))] * 3, between=between)


@entry("elementwise astype")
def conversions_between_dtypes():
    def fn(x):
        a = x.astype(np.float32)
        b = a.astype("i4")
        return a, b, b.astype(bool), x.astype(x.dtype, copy=False), x.copy()

    return world(
        fn, lambda: args(floats(5)), lambda: args(ints(2, 2)), lambda: args(floats(3, dtype="f4"))
    )


@entry("elementwise complex")
def complex_numbers():
    def fn(x):
        z = x + 1j * x
        return z.real, z.imag, np.conj(z), np.abs(z), np.angle(z)

    return world(fn, lambda: args(floats(4)), lambda: args(floats(2, 2, dtype="f4")))


@entry("elementwise freshness")
def identities_still_allocate():
    def fn(x):
        return x + 0, x * 1, -(-x), np.abs(np.abs(x)), x.copy(), np.array(x), np.asarray(x)

    return world(fn, lambda: args(floats(4)), lambda: args(ints(2, 3)), lambda: args(floats(1)))


@entry("elementwise special")
def special_values_keep_their_bits():
    def fn(x):
        return x * -1, np.minimum(x, 0.0), np.copysign(x, -0.0), np.isnan(x), x == x

    return world(
        fn,
        lambda: args(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])),
        lambda: args(np.array([-0.0, np.nan], dtype="f4")),
        lambda: args(floats(3)),
    )
