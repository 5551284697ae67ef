"""Prints, logging and calls of unknown functions in the middle of captured code."""

from __future__ import annotations

import logging
import sys
import time
import traceback

import numpy as np

from corpus.registry import args, entry, floats, ints, world

LOG: list[object] = []


def note(*things):
    """Log what it is given."""
    LOG.append([str(thing) for thing in things])


@entry("printing")
def prints_between_operations():
    def fn(x):
        y = x * 2
        print("y is", y)
        z = y + 1
        print("z is", z, sep="=", end=".\n")
        return z

    return world(fn, lambda: args(floats(2)), lambda: args(ints(3)), lambda: args(floats(1, 2)))


@entry("printing writes")
def prints_see_the_values_of_their_moment():
    def fn(x):
        x[0] = 1
        print(x)
        x += 5
        print(x)
        view = x[1:]
        view[...] = 0
        print(x, view)
        return view

    return world(fn, lambda: args(floats(3)), lambda: args(ints(4)))


@entry("printing containers identity")
def identity_survives_a_print():
    def fn(x):
        items = [x, x * 2]
        table = {"items": items, "x": x}
        view = items[1][1:]
        print(len(items))
        items.append(view)
        view += 1
        return items, table, view

    return world(fn, lambda: args(floats(3)), lambda: args(ints(2)))


@entry("printing stack")
def print_inside_an_expression():
    def fn(x, y):
        return (x + 1, [y * 2, print("inside"), x.sum()], {"k": note(x) or y + 3})

    return world(
        fn,
        lambda: args(floats(2), 3),
        lambda: args(ints(2), floats(2)),
        watch=lambda: list(LOG),
        between=lambda number: LOG.clear(),
    )


@entry("printing unknown")
def unknown_functions_midway():
    def fn(x):
        y = np.exp(x)
        note(y.sum())
        z = y / (1 + y)
        time.perf_counter()
        note("after", z)
        return z.mean()

    return world(
        fn,
        lambda: args(floats(3)),
        lambda: args(floats(2, 2)),
        lambda: args(ints(3)),
        watch=lambda: list(LOG),
        between=lambda number: LOG.clear(),
    )


@entry("printing branches data-dependent")
def prints_on_both_sides():
    def fn(x):
        if x.sum() > 0:
            print("positive")
            y = x * 2
        else:
            y = x - 1
            print("negative", y)
        return y + 1

    return world(fn, lambda: args(np.ones(2)), lambda: args(-np.ones(3)), lambda: args(ints(2)))


@entry("printing inline")
def helper_that_prints():
    def show(x, label="value"):
        y = x + 1
        print(label, y)
        return y * 2

    def fn(x):
        a = x * 3
        b = show(a)
        c = show(b, label="again")
        return a + b + c

    return world(fn, lambda: args(floats(2)), lambda: args(ints(2, 2)))


@entry("printing closure")
def prints_with_cells_alive():
    def fn(x):
        total = x.sum()

        def inner(y):
            return y * total

        print("total", total)
        total = total + 1
        return inner(x), inner

    return world(fn, lambda: args(floats(2)), lambda: args(ints(3)))


@entry("printing stderr logging")
def logging_and_stderr():
    logger = logging.getLogger("corpus.printing")

    def fn(x):
        y = x * 2
        sys.stderr.write("to stderr\n")
        logger.warning("sum %s", y.sum())
        return y - 1

    return world(fn, lambda: args(floats(2)), lambda: args(ints(2)))


@entry("printing stack frames", capture=False)
def looks_at_its_own_stack():
    def fn(x):
        y = x + 1
        where = traceback.extract_stack()[-1]
        frame = sys._getframe()
        return y, where.lineno, where.name, frame.f_code.co_name, sorted(locals())[:1]

    return world(fn, lambda: args(floats(2)), lambda: args(ints(2)))


@entry("printing locals", capture=False)
def asks_for_its_locals():
    def fn(x, k):
        y = x + k
        names = dict(locals())
        return y * 2, names

    return world(fn, lambda: args(floats(2), 1), lambda: args(ints(2), 2.5))


@entry("printing deep")
def many_prints():
    def fn(x):
        print(1)
        x = x + 1
        print(2)
        print(3)
        x = x * x.sum()
        print(4, x)
        return x, print(5)

    return world(fn, lambda: args(floats(2)), lambda: args(floats(3, dtype="f4")))


@entry("printing arguments order")
def calls_inside_an_argument_list():
    def fn(x, f):
        return f(x + 1, print("a"), *[x * 2], key=f(x, print("b")))

    def given(*positional, key=None):
        return positional, key

    return world(fn, lambda: args(floats(2), given), lambda: args(ints(2), given))
