"""In-place work: on arguments, on locals, through views, and with methods."""

from __future__ import annotations

import numpy as np

from corpus.registry import args, entry, floats, ints, world


@entry("writes")
def sets_items_of_its_argument():
    def fn(x, value):
        x[0] = value
        x[-1] = x[1] + 1
        x[1:3] = 0
        return None

    return world(
        fn,
        lambda: args(floats(5), 2.5),
        lambda: args(ints(4), 7),
        lambda: args(floats(4, 2, dtype="f4"), np.ones(2)),
    )


@entry("writes operators")
def every_augmented_assignment():
    def fn(x, y):
        x += y
        x -= 2
        x *= y
        x /= 3.0
        x **= 2
        x %= 5
        x //= 1
        return x

    return world(
        fn,
        lambda: args(floats(4), floats(4, seed=1)),
        lambda: args(floats(3, 2), floats(2) + 9),
        lambda: args(floats(4, dtype="f4"), 2),
    )


@entry("writes locals")
def writes_to_a_local_array():
    def fn(x):
        out = np.zeros(x.shape)
        out[...] = x
        out[0] *= 3
        view = out[1:]
        view += 10
        return out, view

    return world(fn, lambda: args(floats(4)), lambda: args(ints(3, 2)), lambda: args(floats(2)))


@entry("writes mask")
def assigns_by_mask_and_index():
    def fn(x, index):
        x[x < 0] = 0
        x[index] = 5
        x[index] += 1
        return x

    return world(
        fn,
        lambda: args(floats(6), np.array([0, 0, 3])),
        lambda: args(ints(5), [1, 1]),
        lambda: args(floats(4, 2), np.array([2])),
    )


@entry("writes methods")
def mutating_methods():
    def fn(x):
        x.sort()
        x.fill(x[0])
        y = x.copy()
        y.resize((2, 2), refcheck=False)
        x.put([0], 9)
        return y

    return world(fn, lambda: args(floats(4)), lambda: args(ints(6)), lambda: args(floats(5)))


@entry("writes functions")
def functions_that_write():
    def fn(x, y):
        np.copyto(x, y)
        np.add.at(x, [0, 0], 1)
        np.put(x, [1], -3)
        np.fill_diagonal(x, 8)
        return x

    return world(
        fn,
        lambda: args(floats(3, 3), floats(3)),
        lambda: args(floats(2, 2), 1.5),
        lambda: args(ints(4, 4), ints(4)),
    )


@entry("writes attributes class")
def writes_attributes_of_an_object():
    class Box:
        total = 0.0

        def __init__(self, start):
            self.buffer = start
            self.count = 0

    def fn(box, x):
        box.count += 1
        box.buffer = box.buffer + x
        box.buffer[0] = -1
        Box.total = box.buffer.sum()
        return box, box.buffer

    return world(
        fn,
        lambda: args(Box(floats(3)), floats(3, seed=1)),
        lambda: args(Box(ints(2)), 2),
        watch=lambda: Box.total,
    )


@entry("writes readonly raises")
def read_only_arguments_refuse():
    def fn(x):
        y = x * 2
        x[0] = 1
        return y

    def locked():
        x = floats(3)
        x.flags.writeable = False
        return args(x)

    return world(fn, lambda: args(floats(3)), locked, lambda: args(ints(2)))


@entry("writes containers")
def writes_into_containers_of_arrays():
    def fn(items, table):
        items[0] += 1
        items.append(items[0].sum())
        table["new"] = items[0] * 2
        del table["old"]
        table["new"][0] = 0
        return items

    return world(
        fn,
        lambda: args([floats(3)], {"old": 1}),
        lambda: args([ints(2), 4], {"a": 2, "old": None}),
    )


@entry("writes order")
def reads_before_and_after_a_write():
    def fn(x):
        before = x + 0
        view = x[1:]
        x[1] = 100
        after = view * 1
        view[0] = -100
        return before, after, x * 1

    return world(fn, lambda: args(floats(4)), lambda: args(ints(3)))


@entry("writes dtype")
def writes_that_cast():
    def fn(x, value):
        x[0] = value
        x[1:] = x[1:] * 1.75
        return x.sum()

    return world(
        fn,
        lambda: args(ints(4), 2.9),
        lambda: args(floats(3, dtype="f4"), 1e-20),
        lambda: args(ints(3, dtype="i1"), 4),
    )
