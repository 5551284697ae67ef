"""Warnings from NumPy and from the user, with their file, line and order."""

from __future__ import annotations

import warnings

import numpy as np

from corpus.registry import args, entry, floats, ints, world


@entry("warning numpy")
def divides_by_zero():
    def fn(x, y):
        a = x + 1
        b = a / y
        c = b * 2
        return a, c

    return world(
        fn,
        lambda: args(floats(3), floats(3)),
        lambda: args(floats(3), np.array([1.0, 0.0, 2.0])),
        lambda: args(floats(2, dtype="f4"), 0.0),
        lambda: args(ints(2), ints(2) * 0),
    )


@entry("warning numpy")
def overflows():
    def fn(x):
        y = np.exp(x)
        z = y * y
        return z - 1

    return world(
        fn,
        lambda: args(floats(3)),
        lambda: args(np.array([500.0, 1.0])),
        lambda: args(np.array([80.0], dtype="f4")),
    )


@entry("warning numpy")
def invalid_values():
    def fn(x):
        root = np.sqrt(x)
        log = np.log(x)
        return root + log, np.arcsin(x)

    return world(
        fn,
        lambda: args(np.array([0.5, 0.25])),
        lambda: args(np.array([-1.0, 0.0, 4.0])),
        lambda: args(np.array([np.inf, np.nan], dtype="f4")),
    )


@entry("warning numpy writes")
def warning_after_a_write():
    def fn(x, y):
        x[0] = 1
        x /= y
        x[-1] = 2
        return x.sum()

    return world(
        fn,
        lambda: args(floats(3), 2.0),
        lambda: args(floats(3), np.array([1.0, 0.0, 1.0])),
        lambda: args(floats(2, dtype="f4"), 0.0),
    )


@entry("warning numpy reductions")
def mean_of_nothing():
    def fn(x):
        return x.mean(), np.std(x, axis=0), np.nanmax(x)

    return world(
        fn,
        lambda: args(floats(3)),
        lambda: args(np.full(2, np.nan)),
        lambda: args(np.zeros((0,))),
    )


@entry("warning numpy printing order")
def warnings_between_prints():
    def fn(x):
        print("before")
        y = 1 / x
        print("between")
        z = np.log(y - y)
        print("after")
        return z

    return world(fn, lambda: args(floats(2)), lambda: args(np.zeros(2)))


@entry("warning user")
def user_warnings_with_stacklevels():
    def deprecated(x):
        warnings.warn("old", DeprecationWarning, stacklevel=2)
        return x + 1

    def fn(x):
        warnings.warn("first")
        y = x * 2
        warnings.warn("second", RuntimeWarning, stacklevel=2)
        y = deprecated(y)
        warnings.warn(UserWarning("third", 3))
        return y

    return world(fn, lambda: args(floats(2)), lambda: args(ints(2)))


@entry("warning errstate")
def seterr_inside():
    def fn(x):
        np.seterr(divide="ignore")
        y = 1 / x
        old = np.seterr(invalid="raise")
        return y, old

    return world(fn, lambda: args(np.zeros(2)), lambda: args(floats(2)))


@entry("warning scalars")
def warnings_of_numpy_scalars():
    def fn(a, b):
        return a * 2, a / b, a * a

    return world(
        fn,
        lambda: args(np.float64(1), np.float64(2)),
        lambda: args(np.float64(1e300), np.float64(0)),
        lambda: args(np.int8(100), np.int8(0)),
    )


@entry("warning cast")
def casts_that_warn():
    def fn(x):
        y = x * 2
        return y.astype("i4"), y.astype("f4")

    return world(fn, lambda: args(floats(3)), lambda: args(np.array([np.nan, 1e300, 1.0])))


@entry("warning same line")
def same_warning_on_the_same_line_twice():
    def fn(x):
        return (1 / x, 2 / x, np.log(x * 0))

    return world(fn, lambda: args(np.zeros(2)), lambda: args(np.zeros(3)))


@entry("warning inline")
def warning_in_a_helper():
    def inverse(v):
        return 1 / v

    def fn(x):
        y = x + 0
        z = inverse(y)
        return inverse(z) + y

    return world(fn, lambda: args(floats(3)), lambda: args(np.zeros(2)))
