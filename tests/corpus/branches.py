"""Branches: on data, on shapes, on flags; conditions of every form; match."""

from __future__ import annotations

import numpy as np

from corpus.registry import args, entry, floats, ints, world


@entry("branches data-dependent")
def two_sides_on_data():
    def fn(x):
        y = x * 2
        if y.sum() < 0:
            return y - 1, "low"
        return np.sqrt(np.abs(y)), "high"

    return world(
        fn,
        lambda: args(np.array([0.0, 0.0])),
        lambda: args(np.array([1.0, 2.0])),
        lambda: args(np.array([-1.0, 0.5, 0.0], dtype="f4")),
        lambda: args(ints(2, 2) - 20),
    )


@entry("branches data-dependent join")
def sides_that_rejoin():
    def fn(x, y):
        if x.max() > 1:
            z = x + y
            tag = "big"
        else:
            z = x - y
            tag = ["small"]
        z = z * 2
        return z, tag, x

    return world(
        fn,
        lambda: args(floats(3), 1.0),
        lambda: args(np.zeros(3), floats(3)),
        lambda: args(ints(2, 2), 2),
    )


@entry("branches shape")
def branches_on_shape():
    def fn(x):
        if x.ndim == 1:
            x = x[None, :]
        if x.shape[1] > 4:
            return x[:, :4] + 1
        elif x.shape[0] == 1:
            return x.T
        return x.sum(axis=0)

    return world(
        fn,
        lambda: args(floats(3)),
        lambda: args(floats(6)),
        lambda: args(floats(2, 3)),
        lambda: args(floats(2, 9, dtype="f4")),
    )


@entry("branches flags")
def branches_on_flags():
    def fn(x, flag, mode="a"):
        if flag:
            x = x + 1
        if not flag and mode == "a":
            return x * 2
        if mode is None or mode == "b":
            return x * 3
        return x

    return world(
        fn,
        lambda: args(floats(3), True),
        lambda: args(floats(3), False),
        lambda: args(ints(2), 0, mode="b"),
        lambda: args(floats(2), [1], None),
    )


@entry("branches ternary")
def conditional_expressions():
    def fn(x, k):
        a = x if k > 0 else -x
        b = k and x
        c = k or x
        d = x * 2 if x is not None else 0
        return a, b, c, d, not k

    return world(
        fn, lambda: args(floats(2), 1), lambda: args(floats(2), 0), lambda: args(ints(2), -2.5)
    )


@entry("branches chained data-dependent")
def chained_comparisons():
    def fn(x, low, high):
        mean = x.mean()
        if low < mean <= high:
            return x * 2
        inside = low <= x.shape[0] < high
        return x - mean, inside

    return world(
        fn,
        lambda: args(floats(4), -100, 100),
        lambda: args(floats(4), 50, 100),
        lambda: args(floats(3, dtype="f4"), 2, 9.5),
    )


@entry("branches and-or data-dependent")
def conditions_joined():
    def fn(x):
        if x.sum() > 0 and x.min() > -100 or x.size == 1:
            return "yes", x + 1
        if not (x > 0).all() and (x < 5).any():
            return "no", x - 1
        return "neither", x

    return world(
        fn,
        lambda: args(np.array([1.0, 2.0])),
        lambda: args(np.array([-1.0, -2.0])),
        lambda: args(np.array([-9.0])),
        lambda: args(np.array([-50.0, 9.0, 9.0])),
    )


@entry("branches match")
def match_on_values_and_shapes():
    def fn(x, command):
        match command:
            case "scale":
                return x * 2
            case ("shift", amount):
                return x + amount
            case {"op": op, **rest}:
                return op, rest, x.sum()
            case int() | float():
                return x * command
            case [first, *_]:
                return x - first
            case _:
                return None

    return world(
        fn,
        lambda: args(floats(2), "scale"),
        lambda: args(floats(2), ("shift", 3)),
        lambda: args(floats(2), {"op": "a", "n": 1}),
        lambda: args(ints(2), 2.5),
        lambda: args(ints(2), [1, 2, 3]),
        lambda: args(ints(2), b"?"),
    )


@entry("branches truth raises")
def truth_of_an_array_is_ambiguous():
    def fn(x):
        y = x + 1
        if y:
            return y * 2
        return y

    return world(
        fn,
        lambda: args(np.array([1.0])),
        lambda: args(np.array([-1.0])),
        lambda: args(floats(3)),
        lambda: args(np.array(0.5)),
    )


@entry("branches nested data-dependent")
def nested_branches():
    def fn(x, y):
        if x[0] > 0:
            if y[0] > 0:
                out = x + y
            else:
                out = x - y
        elif y.sum() == 0:
            return x, y
        else:
            out = y * 2
        return out * x

    def pair(a, b):
        return lambda: args(np.array([a, 1.0]), np.array([b, 0.0]))

    return world(fn, pair(1.0, 1.0), pair(1.0, -1.0), pair(-1.0, 0.0), pair(-1.0, 2.0))


@entry("branches identity")
def branches_on_identity():
    def fn(x, y):
        if x is y:
            return x + 1
        if y is None:
            return x
        return x * y

    def same():
        x = floats(3)
        return args(x, x)

    return world(fn, same, lambda: args(floats(3), None), lambda: args(floats(3), floats(3)))


@entry("branches walrus data-dependent")
def assignment_expressions():
    def fn(x):
        if (total := x.sum()) > 1 and (n := len(x)) > 2:
            return total * n
        return total

    return world(fn, lambda: args(np.ones(3)), lambda: args(np.ones(2)), lambda: args(-np.ones(4)))


@entry("branches unbound raises data-dependent")
def bound_on_one_side_only():
    def fn(x):
        y = x * 2
        if y[0] > 0:
            bonus = y.sum()
        return y + bonus

    return world(fn, lambda: args(np.array([1.0])), lambda: args(np.array([-1.0])))


@entry("branches assert")
def asserts():
    def fn(x, k):
        assert x.ndim == 1, "one axis only"
        assert k > 0
        y = x * k
        assert y.sum() > 0, f"sum is {y.sum()}"
        return y

    return world(
        fn,
        lambda: args(np.ones(3), 2),
        lambda: args(np.ones((2, 2)), 2),
        lambda: args(np.ones(3), -1),
        lambda: args(-np.ones(3), 1),
    )
