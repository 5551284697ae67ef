"""Functions that raise: each kind of exception, before and after a break."""

from __future__ import annotations

import numpy as np

from corpus.registry import args, entry, floats, ints, world


class Refused(Exception):
    """An exception of the user's own, with state."""

    def __init__(self, message, value):
        super().__init__(message)
        self.value = value


def check(x):
    """Raise a user exception with a cause for large values."""
    if x.sum() > 1e6:
        raise Refused("too large", x.sum()) from ValueError("cause")
    return x


@entry("raising ValueError")
def shapes_do_not_match():
    def fn(x, y):
        a = x * 2
        b = a + y
        return b.sum()

    return world(
        fn,
        lambda: args(floats(3), floats(3)),
        lambda: args(floats(3), floats(4)),
        lambda: args(floats(2, 3), floats(2)),
        lambda: args(floats(1), floats(5)),
    )


@entry("raising ValueError printing")
def shapes_do_not_match_after_a_print():
    def fn(x, y):
        a = x * 2
        print("before")
        b = a + 1
        c = b @ y
        print("after")
        return c

    return world(
        fn,
        lambda: args(floats(3), floats(3)),
        lambda: args(floats(3), floats(4)),
        lambda: args(floats(2, 3), floats(2, 2)),
    )


@entry("raising IndexError")
def index_out_of_bounds():
    def fn(x, k):
        y = x + 1
        y[0] = 7
        return y[k] * 2

    return world(
        fn,
        lambda: args(floats(5), 4),
        lambda: args(floats(3), 4),
        lambda: args(floats(3), -4),
        lambda: args(ints(9, 2), 4),
    )


@entry("raising KeyError")
def key_is_missing():
    def fn(x, table):
        y = x * 2
        return y + table["scale"]

    return world(
        fn,
        lambda: args(floats(2), {"scale": 3}),
        lambda: args(floats(2), {}),
        lambda: args(ints(2), {"scale": floats(2)}),
    )


@entry("raising ZeroDivisionError")
def division_of_python_numbers():
    def fn(x, k):
        rate = 10 / k
        rest = 10 % (k - 1)
        return x * rate + rest

    return world(
        fn, lambda: args(floats(2), 3), lambda: args(floats(2), 0), lambda: args(floats(2), 1)
    )


@entry("raising TypeError")
def wrong_types():
    def fn(x, y):
        a = x + 1
        b = a.sum() + y
        return len(b)

    return world(
        fn,
        lambda: args(floats(2), floats(3)),
        lambda: args(floats(2), "text"),
        lambda: args(floats(2), None),
        lambda: args(floats(2), 1.5),
    )


@entry("raising AttributeError")
def attribute_is_missing():
    def fn(x):
        y = x * 2
        return y.nothing + 1

    return world(fn, lambda: args(floats(2)), lambda: args(3), lambda: args(np.float64(2)))


@entry("raising NameError")
def name_is_missing():
    def fn(x):
        y = x * 2
        return y + not_a_name  # noqa: F821

    return world(fn, lambda: args(floats(2)), lambda: args(ints(2)))


@entry("raising UnboundLocalError")
def local_is_unbound():
    def fn(x, flag):
        y = x * 2
        if flag:
            z = y + 1
        return z

    return world(fn, lambda: args(floats(2), True), lambda: args(floats(2), False))


@entry("raising user cause")
def user_exception_with_a_cause():
    def fn(x):
        y = x * 1e3
        y = check(y)
        return y + 1

    return world(fn, lambda: args(floats(3)), lambda: args(np.full(3, 1e9)), lambda: args(ints(2)))


@entry("raising user printing")
def raises_directly():
    def fn(x):
        y = x - 1
        if y.sum() > 0:
            raise Refused("positive", y)
        print("fine")
        if y.min() < -50:
            raise ValueError("very negative", 1) from None
        return y

    return world(
        fn,
        lambda: args(np.zeros(2)),
        lambda: args(np.ones(2) * 5),
        lambda: args(np.ones(2) * -99),
    )


@entry("raising LinAlgError")
def singular_matrix():
    def fn(a, b):
        c = a * 2
        return np.linalg.solve(c, b) + 1

    return world(
        fn,
        lambda: args(floats(3, 3), floats(3)),
        lambda: args(np.zeros((2, 2)), floats(2)),
        lambda: args(floats(2, 3), floats(2)),
    )


@entry("raising FloatingPointError errstate")
def floating_point_error_under_seterr():
    def fn(x):
        np.seterr(all="raise")
        y = x * 2
        z = 1 / y
        return z + 1

    return world(fn, lambda: args(np.ones(2)), lambda: args(np.zeros(2)), lambda: args(ints(2)))


@entry("raising OverflowError")
def overflow_of_python_numbers():
    def fn(x, k):
        big = 10.0**k
        return x * big, int(big)

    return world(
        fn, lambda: args(floats(2), 3), lambda: args(floats(2), 400), lambda: args(floats(2), 308)
    )


@entry("raising writes")
def writes_before_it_raises():
    def fn(x, y, log):
        x[0] = 1
        log.append("one")
        x += y
        log.append("two")
        return x

    return world(
        fn,
        lambda: args(floats(3), 1, []),
        lambda: args(floats(3), floats(2), []),
        lambda: args(ints(3), 1.5, []),
    )


@entry("raising unpack")
def wrong_number_of_values():
    def fn(x):
        a, b = x.shape
        first, second, *rest = x
        return a * first + b * second, rest

    return world(
        fn, lambda: args(floats(3, 2)), lambda: args(floats(3)), lambda: args(floats(1, 4))
    )


@entry("raising axis")
def axis_error():
    def fn(x, axis):
        y = x + 1
        return y.sum(axis=axis), np.expand_dims(y, axis)

    return world(
        fn, lambda: args(floats(2, 2), 1), lambda: args(floats(3), 1), lambda: args(floats(2), -3)
    )


@entry("raising inline")
def raises_two_calls_deep():
    def inner(v, k):
        w = v * 2
        return w[k]

    def middle(v, k):
        return inner(v + 1, k) + 1

    def fn(x, k):
        y = x - 1
        return middle(y, k) * 2

    return world(
        fn, lambda: args(floats(3), 2), lambda: args(floats(3), 3), lambda: args(floats(2), 1)
    )


@entry("raising cast")
def unsafe_cast():
    def fn(x, y):
        z = y * 2
        x += z
        return x

    return world(
        fn,
        lambda: args(floats(2), 1),
        lambda: args(ints(2), 1.5),
        lambda: args(ints(2, dtype="u1", low=0), np.array([1, 2])),
    )


@entry("raising callee")
def unknown_callee_raises():
    def explode(v):
        raise RuntimeError("unknown", len(v))

    table = {"f": explode}

    def fn(x):
        y = x * 2
        print(y)
        return table["f"](y) + 1

    return world(fn, lambda: args(floats(2)), lambda: args(ints(3)))


@entry("raising assert")
def raises_an_instance_given():
    def fn(x, error):
        y = x.sum()
        error.args = (float(y),)
        raise error

    shared = ValueError("shared")
    shared.__notes__ = ["a note"]
    return world(fn, lambda: args(floats(2), KeyError("k")), lambda: args(floats(3), shared))
