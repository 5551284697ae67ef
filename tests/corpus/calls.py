"""Calls: parameters of all kinds, nested functions, closures, methods, recursion."""

from __future__ import annotations

import functools
import operator

import numpy as np

from corpus.registry import args, entry, floats, ints, world

OFFSET = 3


def helper(x, scale=2.0, *, shift=0.0):
    """Scale and shift; called from the corpus functions."""
    return x * scale + shift


def factorial_scale(x, n):
    """Multiply by n factorial, by recursion."""
    if n <= 1:
        return x
    return factorial_scale(x * n, n - 1)


class Model:
    """A class with attributes of every kind."""

    gain = 1.5
    __slots__ = ("__dict__", "bias")

    def __init__(self, weights, bias):
        self.weights = weights
        self.bias = bias

    def predict(self, x):
        return self.weights * x * self.gain + self.bias

    def __call__(self, x):
        return self.predict(x) - 1

    @classmethod
    def scaled(cls, x):
        return x * cls.gain

    @staticmethod
    def twice(x):
        return x + x

    @property
    def size(self):
        return self.weights.size


class Child(Model):
    """Overrides and calls its parent."""

    def predict(self, x):
        return super().predict(x) + 1


@entry("calls parameters")
def parameters_of_every_kind():
    def fn(a, b=2.0, /, c=3, *rest, d, e=5.0, **more):
        return a * b + c * d + e, rest, more, len(rest), sorted(more)

    return world(
        fn,
        lambda: args(floats(3), d=1),
        lambda: args(floats(2), 1, 2, 3, 4, d=ints(2), z=1),
        lambda: args(ints(2, 2), 4.0, d=0.5, e=1, x=2, y=3),
    )


@entry("calls binding raises")
def wrong_arguments():
    def fn(a, b, *, c=1):
        return a + b + c

    return world(
        fn,
        lambda: args(floats(2)),
        lambda: args(floats(2), 1, 2),
        lambda: args(floats(2), 1, d=3),
        lambda: args(floats(2), 1, c=3),
        lambda: args(floats(2), 1, a=3),
    )


@entry("calls inline")
def calls_a_helper_in_every_way():
    def fn(x, options):
        a = helper(x)
        b = helper(x, 3.0, shift=1)
        c = helper(scale=2, x=x)
        d = helper(*(x, 4.0))
        e = helper(x, **options)
        return a + b + c + d + e

    return world(
        fn,
        lambda: args(floats(3), {"shift": 2.0}),
        lambda: args(ints(2, 2), {"scale": 1, "shift": 0}),
        lambda: args(floats(3, dtype="f4"), {}),
    )


@entry("calls closure")
def nested_functions_and_closures():
    def fn(x, k):
        offset = k + 1

        def inner(y, times=2):
            return y * times + offset

        add = lambda z: z + offset  # noqa: E731
        offset = offset * 2
        return inner(x), inner(x, 3), add(x), inner

    return world(
        fn, lambda: args(floats(3), 1), lambda: args(ints(2), 2.5), lambda: args(floats(2), 1)
    )


@entry("calls closure nonlocal")
def nonlocal_counters():
    total = np.zeros(2)
    count = 0

    def fn(x):
        nonlocal count, total
        count += 1
        total = total + x.sum()
        return total * count

    return world(
        fn,
        lambda: args(floats(3)),
        lambda: args(floats(2, 2)),
        lambda: args(ints(4)),
        watch=lambda: (count, total),
    )


@entry("calls closure nonlocal")
def local_function_with_nonlocal():
    def fn(x):
        count = 0
        seen = []

        def bump(value):
            nonlocal count
            count += 1
            seen.append(value)
            return value * count

        first = bump(x)
        second = bump(first)
        return first, second, count, seen, bump

    return world(fn, lambda: args(floats(2)), lambda: args(ints(3)))


@entry("calls method attributes")
def methods_and_attributes():
    model = Model(np.array([1.0, 2.0]), 0.5)

    def fn(m, x):
        bound = m.predict
        return bound(x), m(x), m.scaled(x), Model.twice(x), m.size, m.gain, Model.predict(model, x)

    return world(
        fn,
        lambda: args(Model(floats(2), 1.0), floats(2)),
        lambda: args(model, ints(2)),
        lambda: args(Child(floats(3, 2), 2), 1.5),
    )


@entry("calls super")
def inherited_methods():
    def fn(m, x):
        return m.predict(x), type(m) is Child, isinstance(m, Model), m.__class__.__name__

    return world(
        fn,
        lambda: args(Child(floats(2), 1.0), floats(2)),
        lambda: args(Model(floats(3), 0.0), floats(3)),
    )


@entry("calls attributes guards")
def attribute_is_replaced_between_calls():
    model = Model(np.ones(3), 0.0)

    def fn(x):
        return model.predict(x) + model.gain

    def between(number):
        model.weights = np.arange(3.0) * number
        model.bias = (0.0, 1, np.float32(2))[number % 3]
        if number == 3:
            model.gain = 10

    return world(fn, *[lambda: args(floats(3))] * 3, between=between)


@entry("calls recursion")
def recursive_function():
    return world(
        factorial_scale,
        lambda: args(floats(3), 4),
        lambda: args(ints(2), 1),
        lambda: args(floats(2, dtype="f4"), 3),
    )


@entry("calls recursion inline")
def calls_a_recursive_function():
    def fn(x, n):
        return factorial_scale(x, n) + factorial_scale(x, 2)

    return world(fn, lambda: args(floats(3), 3), lambda: args(ints(2), 5))


@entry("calls functional")
def functions_as_values():
    def fn(x, f):
        table = {"double": lambda v: v * 2, "helper": helper}
        g = table["double"]
        h = functools.partial(helper, scale=3.0)
        return g(x), f(x), h(x), operator.add(x, 1), operator.itemgetter(0)(x)

    def square(v):
        return v * v

    return world(
        fn,
        lambda: args(floats(3), np.exp),
        lambda: args(ints(2), square),
        lambda: args(floats(2), abs),
    )


@entry("calls defaults")
def default_values_of_locals():
    def fn(x, state=[]):  # noqa: B006
        state.append(x.sum())

        def inner(y=x, *, z=len(state)):
            return y + z

        return inner(), inner(1), list(state)

    def make():
        # A default is kept in the function object, so each world needs its own.
        fn.__defaults__ = ([],)
        return world(fn, lambda: args(floats(2)), lambda: args(ints(2)))

    return make()


@entry("calls bound")
def compiled_bound_method():
    model = Child(np.array([1.0, 2.0]), 0.5)
    return world(
        Child.predict,
        lambda: args(model, floats(2)),
        lambda: args(model, x=ints(2)),
        lambda: args(Model(floats(1), 0.0), floats(2)),
    )


@entry("calls globals")
def writes_globals():
    def fn(x):
        global OFFSET
        y = x + OFFSET
        OFFSET = OFFSET + 1
        return y, OFFSET

    def between(number):
        global OFFSET
        if number == 0:
            OFFSET = 3

    return world(
        fn,
        lambda: args(floats(2)),
        lambda: args(ints(2)),
        watch=lambda: OFFSET,
        between=between,
    )


@entry("calls sorted key", capture=False)
def callbacks_from_c():
    def fn(items):
        order = sorted(items, key=lambda item: -item.sum())
        return [item.sum() for item in order], list(map(lambda item: item * 2, items))  # noqa: C417

    return world(
        fn, lambda: args([floats(2), floats(3)]), lambda: args([ints(2), floats(1), ints(4)])
    )


@entry("calls class")
def makes_objects_of_a_class():
    def fn(x):
        m = Model(x, 1.0)
        m.extra = x + 1
        return m, m.predict(2.0), vars(m)["extra"] is m.extra

    return world(fn, lambda: args(floats(2)), lambda: args(ints(3)))


@entry("calls random")
def draws_from_the_global_streams():
    import random

    def fn(x):
        noise = np.random.normal(size=x.shape[0])
        return x + noise, random.random(), np.random.rand(), np.random.randint(10)

    return world(fn, lambda: args(floats(3)), lambda: args(floats(5)), lambda: args(ints(2)))
