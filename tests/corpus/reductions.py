"""Sums, means, products, sorting and the scalars that come out of them."""

from __future__ import annotations

import numpy as np

from corpus.registry import args, entry, floats, ints, world


@entry("reductions scalar")
def sums_and_means():
    def fn(x):
        return x.sum(), x.mean(), np.sum(x, axis=0), x.max(), np.min(x), x.std()

    return world(
        fn,
        lambda: args(floats(9)),
        lambda: args(floats(3, 4, dtype="f4")),
        lambda: args(ints(2, 5)),
    )


@entry("reductions axis keepdims")
def softmax_over_an_axis():
    def fn(x, axis=-1):
        shifted = x - x.max(axis=axis, keepdims=True)
        e = np.exp(shifted)
        return e / e.sum(axis=axis, keepdims=True)

    return world(
        fn,
        lambda: args(floats(4)),
        lambda: args(floats(3, 5), axis=0),
        lambda: args(floats(2, 3, 4, dtype="f4"), 1),
    )


@entry("reductions dtype")
def small_ints_are_summed_wide():
    def fn(x):
        return np.sum(x), x.prod(), np.cumsum(x), x.any(), x.all(), x.argmax(), np.argmin(x)

    return world(
        fn,
        lambda: args(ints(6, dtype="i1")),
        lambda: args(ints(2, 3, dtype="u2", low=0)),
        lambda: args(np.array([True, False, True])),
    )


@entry("reductions empty")
def sums_of_empty_arrays():
    def fn(x):
        return x.sum(), x.prod(), x.sum(axis=0), np.zeros(0).sum()

    return world(
        fn, lambda: args(np.zeros((0, 3))), lambda: args(np.zeros(0)), lambda: args(floats(2, 2))
    )


@entry("reductions linalg")
def products_of_matrices():
    def fn(a, b):
        return a @ b, np.dot(a, b), a.T @ a

    return world(
        fn,
        lambda: args(floats(3, 4), floats(4, 2)),
        lambda: args(floats(5), floats(5, seed=1)),
        lambda: args(floats(2, 3, dtype="f4"), floats(3, dtype="f4")),
    )


@entry("reductions numpy-scalar")
def results_are_numpy_scalars():
    def fn(x):
        total = x.sum()
        half = total / 2
        return total, half, total > 1, int(abs(total)), round(float(half), 3), total.dtype, hash(1)

    return world(
        fn,
        lambda: args(floats(5)),
        lambda: args(ints(5)),
        lambda: args(floats(3, dtype="f4")),
    )


@entry("reductions statistics")
def standardise_columns():
    def fn(x):
        mean = np.mean(x, axis=0)
        std = np.std(x, axis=0)
        return (x - mean) / (std + 1e-9), mean, std, np.median(x), np.var(x, axis=-1)

    return world(fn, lambda: args(floats(6, 3)), lambda: args(floats(4, 2, dtype="f4")))


@entry("reductions sort")
def sorts_return_new_arrays():
    def fn(x):
        order = np.argsort(x)
        return np.sort(x), order, x[order], np.searchsorted(np.sort(x), 0)

    return world(fn, lambda: args(floats(7)), lambda: args(ints(5)), lambda: args(floats(1)))


@entry("reductions order")
def sum_of_many_keeps_numpys_order():
    def fn(x):
        return x.sum(), x.sum(axis=0), x.T.sum(axis=0), np.add.reduce(x, axis=-1)

    return world(fn, lambda: args(floats(40, 30)), lambda: args(floats(17, 129, dtype="f4")))
