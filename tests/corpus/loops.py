"""Loops, try, with, comprehensions and generators."""

from __future__ import annotations

import contextlib

import numpy as np

from corpus.registry import args, entry, floats, ints, world


@entry("loops for")
def sums_in_a_loop():
    def fn(x, n):
        total = np.zeros(x.shape)
        for i in range(n):
            total += x * i
        return total, i

    return world(
        fn, lambda: args(floats(3), 4), lambda: args(ints(2), 1), lambda: args(floats(2), 0)
    )


@entry("loops while data-dependent")
def newton_until_it_converges():
    def fn(x):
        guess = x / 2 + 1
        steps = 0
        while np.abs(guess * guess - x).max() > 1e-9 and steps < 50:
            guess = (guess + x / guess) / 2
            steps += 1
        return guess, steps

    return world(fn, lambda: args(np.array([2.0, 9.0])), lambda: args(np.ones((1, 2))))


@entry("loops break continue else")
def loop_with_break_and_else():
    def fn(items, limit):
        found = []
        for item in items:
            if item.sum() < 0:
                continue
            if item.sum() > limit:
                break
            found.append(item * 2)
        else:
            found.append("all")
        return found

    return world(
        fn,
        lambda: args([floats(2), floats(3), np.ones(2)], 1e9),
        lambda: args([np.ones(2), np.ones(9), floats(1)], 5),
    )


@entry("loops try")
def falls_back_in_except():
    def fn(a, b):
        try:
            c = np.linalg.solve(a, b)
        except np.linalg.LinAlgError as error:
            print("singular", error)
            c = b * 0
        else:
            c = c + 1
        finally:
            print("done")
        return c

    return world(
        fn,
        lambda: args(np.eye(2), floats(2)),
        lambda: args(np.zeros((2, 2)), floats(2)),
        lambda: args(np.zeros((2, 3)), floats(2)),
    )


@entry("loops try raising")
def reraises_with_context():
    def fn(x, k):
        try:
            return x[k] / 2
        except IndexError as error:
            raise KeyError("no such", k) from error
        except TypeError:
            y = x + 1
            return y[None, None, k]

    return world(
        fn, lambda: args(floats(2), 1), lambda: args(floats(2), 7), lambda: args(floats(2), "a")
    )


@entry("loops with")
def errstate_as_a_context():
    def fn(x):
        with np.errstate(divide="ignore", invalid="raise"):
            y = 1 / x
        return y, np.log(x)

    return world(
        fn, lambda: args(floats(2)), lambda: args(np.zeros(2)), lambda: args(np.array([np.nan]))
    )


@entry("loops with")
def with_that_swallows():
    @contextlib.contextmanager
    def section(name):
        print("enter", name)
        try:
            yield name
        except ValueError as error:
            print("swallowed", error)
        print("leave", name)

    def fn(x, y):
        z = None
        with section("one") as name:
            z = x + y
            print(name)
        return z

    return world(fn, lambda: args(floats(2), 1), lambda: args(floats(2), floats(3)))


@entry("loops comprehension")
def comprehensions():
    def fn(items, k):
        squares = [item * k for item in items if item.size > 1]
        table = {i: item.sum() for i, item in enumerate(items)}
        return squares, table, {len(item) for item in items}, sum(s.sum() for s in squares)

    return world(
        fn,
        lambda: args([floats(2), floats(1), ints(3)], 2),
        lambda: args([floats(1, dtype="f4")], 0.5),
    )


@entry("loops generator", capture=False)
def returns_a_generator():
    def fn(x, n):
        for i in range(n):
            yield x * i

    def drain(x, n):
        return list(fn(x, n)), fn(x, n)

    return world(drain, lambda: args(floats(2), 3), lambda: args(ints(2), 0))


@entry("loops iteration")
def iterates_over_an_array():
    def fn(x, y):
        out = []
        for i, (row, scale) in enumerate(zip(x, y)):
            row += scale
            out.append(row)
        return out, x.tolist(), max(y)

    return world(fn, lambda: args(floats(2, 3), [1, 2]), lambda: args(floats(3), (0.5, 1.5, 2)))


@entry("loops unpack finally")
def finally_overrides():
    log = []

    def fn(x):
        y = x * 2
        try:
            y[5] = 1
            return y
        finally:
            log.append(y.sum())

    return world(fn, lambda: args(floats(7)), lambda: args(floats(3)), watch=lambda: list(log))
