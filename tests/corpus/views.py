"""Indexing: views of arguments, copies, and how the two may share memory."""

from __future__ import annotations

import numpy as np

from corpus.registry import args, entry, floats, ints, world


class Tagged(np.ndarray):
    """A subclass that says when it is added to."""

    def __add__(self, other):
        print("added")
        return super().__add__(other)


@entry("views identity")
def returns_its_argument_and_views_of_it():
    def fn(x):
        return x, x[1:], x[::-1], x[:], x.view()

    return world(
        fn, lambda: args(floats(5)), lambda: args(ints(3, 2)), lambda: args(floats(4, dtype="f4"))
    )


@entry("views slices")
def slices_with_every_part():
    def fn(x, start, stop, step):
        return x[start:stop:step], x[-3:], x[:-1] - x[1:], x[..., 0], x[start]

    return world(
        fn,
        lambda: args(floats(8), 1, 6, 2),
        lambda: args(floats(5, 3), 0, None, 1),
        lambda: args(ints(7), -2, 1, -1),
    )


@entry("views fancy")
def integer_array_indexing():
    def fn(x, index):
        return x[index], np.take(x, index), x[[0, -1]]

    return world(
        fn,
        lambda: args(floats(6), np.array([0, 2, 2, -1])),
        lambda: args(ints(4), np.array([[1, 0], [3, 2]])),
        lambda: args(floats(3, dtype="f4"), [1, 1]),
    )


@entry("views mask data-dependent")
def boolean_masks():
    def fn(x):
        positive = x[x > 0]
        return positive, positive.shape, np.nonzero(x > 0), positive * 2

    return world(fn, lambda: args(floats(6)), lambda: args(floats(2, 4)), lambda: args(-np.ones(3)))


@entry("views alias arguments")
def two_arguments_that_may_be_one():
    def fn(x, y):
        x += 1
        return x + y, x is y

    def same():
        a = floats(4)
        return args(a, a)

    def overlapping():
        a = floats(6)
        return args(a[:4], a[2:])

    return world(fn, lambda: args(floats(4), floats(4, seed=1)), same, overlapping)


@entry("views overlap writes")
def writes_through_overlapping_slices():
    def fn(x):
        x[1:] += x[:-1]
        x[::-1][0] = 9
        return x[2:]

    return world(fn, lambda: args(floats(6)), lambda: args(ints(5)), lambda: args(floats(3, 2)))


@entry("views chain")
def view_of_a_view_of_a_temporary():
    def fn(x):
        temporary = x * 2
        view = temporary[1:]
        inner = view.reshape(-1)[::2]
        return inner, temporary, view.T

    return world(fn, lambda: args(floats(5)), lambda: args(floats(3, 2)))


@entry("views strides")
def strided_inputs():
    def fn(x):
        return x * 2, x.reshape(-1), x[1:], np.ascontiguousarray(x), x.copy(order="K")

    return world(
        fn,
        lambda: args(floats(6, 4)[::2, ::-1]),
        lambda: args(np.asfortranarray(floats(3, 3))),
        lambda: args(floats(8)[::3]),
        lambda: args(np.broadcast_to(floats(3), (2, 3))),
    )


@entry("views zero-dimensional")
def zero_dimensional_arrays():
    def fn(x):
        return x + 1, x[()], x[...], x.reshape(1), x.item(), x.T

    return world(fn, lambda: args(np.array(2.5)), lambda: args(np.array(3)))


@entry("views attributes")
def attributes_of_arrays():
    def fn(x):
        return x.T, x.real, x.dtype, x.itemsize, x.nbytes, x.flat[0], x.dtype.kind, x.strides

    return world(
        fn, lambda: args(floats(3, 2)), lambda: args(ints(4)), lambda: args(floats(2)[::-1])
    )


@entry("views diagonal")
def diagonals_and_triangles():
    def fn(x):
        return np.diag(x), x.diagonal(), np.tril(x), np.trace(x), np.diag_indices(2)

    return world(fn, lambda: args(floats(3, 3)), lambda: args(ints(2, 4)))


@entry("views subclass", capture=False)
def subclasses_stay_what_they_are():
    def fn(x):
        return x + 1, x.sum(), x[1:]

    return world(
        fn,
        lambda: args(np.ma.masked_array(floats(4), mask=[0, 1, 0, 0])),
        lambda: args(floats(2, 2).view(Tagged)),
        lambda: args(np.rec.array([1.5, 2.5])),
    )
