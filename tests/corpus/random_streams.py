"""Draws from random streams: between breaks, before warnings and errors, by several generators and under several names."""

from __future__ import annotations

import numpy as np

from corpus.registry import args, entry, floats, world

RNG = np.random.default_rng(8)


def rng(seed=3):
    return np.random.default_rng(seed)


def legacy(seed=3):
    return np.random.RandomState(seed)


@entry("random branches")
def draws_on_both_sides_of_a_branch():
    def fn(x, rng):
        noise = rng.normal(size=x.shape)
        if noise.sum() > 0:
            y = x + rng.random(len(x))
        else:
            y = x - rng.integers(0, 5, size=len(x))
        return y, rng.random()

    return world(fn, *(lambda s=s: args(floats(3), rng(s)) for s in range(4)))


@entry("random warning")
def warns_between_draws():
    def fn(x, rng):
        first = rng.standard_normal(x.shape[0])
        bad = np.log(x - first)
        second = np.random.rand()
        return bad / (second - second), rng.poisson(3.0), first

    return world(fn, lambda: args(floats(4), rng()), lambda: args(floats(2), legacy()))


@entry("random raising")
def raises_behind_draws():
    def fn(x, rng):
        first = rng.uniform(size=3)
        try:
            y = x + rng.uniform(size=3)
        except ValueError as error:
            return str(error), rng.uniform()
        z = y.reshape(2, 2) if y[0] > 1 else rng.normal(0, -y[0])
        return first, z

    return world(
        fn,
        lambda: args(np.ones(3), rng()),
        lambda: args(np.ones(4), rng()),
        lambda: args(np.zeros(3), rng(5)),
        lambda: args(np.zeros(1), legacy(5)),
    )


@entry("random writes")
def writes_what_is_drawn():
    def fn(x, rng):
        x += rng.normal(size=len(x))
        rng.shuffle(x)
        np.random.shuffle(x[1:])
        x[0] = rng.exponential()
        return np.sqrt(x), rng.choice(x)

    return world(fn, lambda: args(floats(4), rng()), lambda: args(floats(5), legacy()))


@entry("random loops")
def draws_in_loops():
    def fn(n, rng):
        total = np.zeros(3)
        for k in range(n):
            step = rng.normal(size=3) / (k - 1)
            total = total + step
            if total[0] > 1e9:
                print("far")
        return total, [rng.random() for _ in range(3)]

    return world(fn, lambda: args(0, rng()), lambda: args(4, rng()), lambda: args(9, legacy()))


@entry("random names")
def interleaves_streams_under_several_names():
    def fn(a, b, holder):
        np.random.seed(7)
        x = a.normal(size=2) + b.normal(size=2)
        y = RNG.random(2) * holder["rng"].random(2)
        own = np.random.default_rng(5)
        print(x[0])
        z = own.random(2) - np.random.default_rng(a).random(2)
        return x, y, z, np.random.randint(9), a is b, own

    def make(same):
        RNG.bit_generator.state = rng(8).bit_generator.state
        first = rng()
        return args(first, first if same else rng(4), {"rng": first})

    return world(fn, lambda: make(True), lambda: make(False), watch=lambda: RNG)
