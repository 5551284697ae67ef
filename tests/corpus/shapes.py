"""Creation of arrays, changes of shape, and code that reads sizes."""

from __future__ import annotations

import numpy as np

from corpus.registry import args, entry, floats, ints, world


@entry("shapes symbolic")
def uses_the_length():
    def fn(x):
        n = x.shape[0]
        return x * n + n // 2, n, len(x), x.size, x.ndim

    return world(fn, *[lambda n=n: args(floats(n)) for n in (3, 5, 7, 1)])


@entry("shapes reshape views")
def reshapes_and_transposes():
    def fn(x):
        flat = x.reshape(-1)
        return flat, x.T, x.ravel(), flat.reshape(x.shape), np.expand_dims(x, 0), x[None, ..., None]

    return world(
        fn,
        lambda: args(floats(2, 3)),
        lambda: args(floats(4, 5).T),
        lambda: args(floats(3, 1, 2, dtype="f4")),
    )


@entry("shapes creation")
def only_creates_arrays():
    def fn(n, m):
        base = np.arange(n * m, dtype="f4").reshape(n, m)
        return base, np.zeros((n, m)), np.ones(n), np.full((m,), 1.5), np.eye(n), np.empty((0, m))

    return world(fn, lambda: args(2, 3), lambda: args(4, 1), lambda: args(1, 5))


@entry("shapes like")
def creates_like_its_argument():
    def fn(x):
        a = np.zeros_like(x)
        b = np.ones(x.shape, dtype=x.dtype)
        return a + b, np.full_like(x, 7), np.linspace(0.0, 1.0, x.shape[0])

    return world(
        fn, lambda: args(floats(4)), lambda: args(ints(2, 3)), lambda: args(floats(3, dtype="f4"))
    )


@entry("shapes join")
def joins_and_splits():
    def fn(x, y):
        joined = np.concatenate([x, y])
        stacked = np.stack((x, y), axis=-1)
        return joined, stacked, np.vstack([x, y]), np.tile(x, 2), np.repeat(y, 3)

    return world(
        fn,
        lambda: args(floats(3), floats(3, seed=1)),
        lambda: args(ints(4), floats(4)),
        lambda: args(floats(2, dtype="f4"), floats(2, dtype="f4")),
    )


@entry("shapes broadcast")
def outer_sum_by_broadcasting():
    def fn(x, y):
        grid = x[:, None] + y[None, :]
        return grid, grid.shape, np.broadcast_to(x, (2, x.shape[0]))

    return world(
        fn,
        lambda: args(floats(3), floats(4)),
        lambda: args(floats(1), floats(5)),
        lambda: args(ints(2), floats(2, dtype="f4")),
    )


@entry("shapes unpack symbolic")
def unpacks_a_shape():
    def fn(x):
        rows, columns = x.shape
        middle = rows // 2
        return x[middle, columns - 1], x[:middle], (rows, columns), rows * columns

    return world(
        fn, lambda: args(floats(4, 3)), lambda: args(floats(5, 2)), lambda: args(ints(2, 7))
    )


@entry("shapes moveaxis")
def moves_axes():
    def fn(x):
        return np.moveaxis(x, 0, -1), x.swapaxes(0, 1), np.transpose(x), x.squeeze(), np.flip(x, 0)

    return world(
        fn, lambda: args(floats(2, 3, 4)), lambda: args(floats(1, 3)), lambda: args(ints(3, 1, 1))
    )
