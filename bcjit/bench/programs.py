"""The functions that are measured, as people write them; nothing is compiled here.

They name NumPy only as ``np``, so that a peer can run the same code with a module of its own under that name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.api import graph_break

__all__ = [
    "BREAKS",
    "Layer",
    "add_one",
    "applied",
    "arrays",
    "branch",
    "five_arrays",
    "in_five",
    "in_one",
    "in_three",
    "into",
    "newton",
    "nothing_captured",
    "scaled",
    "standardised",
    "ten_operations",
    "three_arrays",
    "three_parts",
    "twenty_on_five",
    "twenty_operations",
    "two_arrays",
    "with_numbers",
]

Array = np.ndarray[Any, Any]


def arrays(count: int) -> tuple[Array, ...]:
    """Return arguments: vectors of ten float64."""
    return tuple(np.linspace(0.1, 1.0, 10) + i for i in range(count))


# ---- entries with next to no work of their own, and guards of every common kind -------------------------


def in_one(a: Array) -> Any:
    """One array."""
    return np.negative(a)


def in_three(a: Array, b: Array, c: Array) -> Any:
    """Three arrays of one length."""
    return np.add(np.add(a, b), c)


def in_five(a: Array, b: Array, c: Array, d: Array, e: Array) -> Any:
    """Five arrays of one length."""
    return np.add(np.add(np.add(np.add(a, b), c), d), e)


def into(a: Array, b: Array, c: Array) -> Any:
    """Three arrays, into one of which is written: none may overlap it."""
    return np.add(b, c, out=a)


def scaled(a: Array, k: float = 2.0) -> Any:
    """An argument with a default."""
    return np.multiply(a, k)


class Layer:
    """An object with arrays and a method."""

    def __init__(self) -> None:
        self.weight = np.linspace(0.0, 1.0, 10)
        self.rate = 0.1

    def negative(self, a: Array) -> Any:
        """One array."""
        return np.negative(a)


# ---- end to end -----------------------------------------------------------------------------------------


def add_one(x: Array) -> Any:
    """One operation."""
    return x + 1


def two_arrays(a: Array, b: Array) -> Any:
    """One operation on two arrays."""
    return a + b


def three_arrays(a: Array, b: Array, c: Array) -> Any:
    """Two operations on three arrays."""
    return a + b + c


def five_arrays(a: Array, b: Array, c: Array, d: Array, e: Array) -> Any:
    """Four operations on five arrays."""
    return a + b + c + d + e


def ten_operations(x: Array) -> Any:
    """A chain of ten operations."""
    y = np.sqrt(x * x + 1.0)
    z = np.exp(-y) * np.sin(x)
    return np.tanh(z + y) / (y * 2.0)


def branch(x: Array) -> Any:
    """A branch on data, so two parts a call."""
    if x.sum() > 0:
        return x + 1
    return x - 1


def with_numbers(x: Array, k: float, n: int) -> Any:
    """An array and two Python numbers."""
    return x * k + n


def standardised(x: Array) -> Any:
    """Reductions and broadcasting."""
    return (x - x.mean()) / (x.std() + 1e-9)


def applied(layer: Layer, x: Array) -> Any:
    """Two attributes of an object."""
    return x * layer.weight + layer.rate


def nothing_captured(n: int) -> int:
    """Arithmetic that has no arrays in it."""
    return (n * 3 + 1) % 7


# ---- k breaks -------------------------------------------------------------------------------------------


def no_break(x: Array) -> Any:
    """Four operations."""
    x = np.square(x)
    x = np.square(x)
    x = np.square(x)
    return np.square(x)


def one_break(x: Array) -> Any:
    """The same in two parts."""
    x = np.square(x)
    graph_break()
    x = np.square(x)
    x = np.square(x)
    return np.square(x)


def two_breaks(x: Array) -> Any:
    """The same in three parts."""
    x = np.square(x)
    graph_break()
    x = np.square(x)
    graph_break()
    x = np.square(x)
    return np.square(x)


def three_breaks(x: Array) -> Any:
    """The same in four parts."""
    x = np.square(x)
    graph_break()
    x = np.square(x)
    graph_break()
    x = np.square(x)
    graph_break()
    return np.square(x)


def no_branch(x: Array) -> Any:
    """Three operations."""
    x = np.square(x)
    x = np.square(x)
    return np.square(x)


def one_branch(x: Array) -> Any:
    """The same and one branch on data."""
    x = np.square(x)
    if x[0] > 1e9:
        return x
    x = np.square(x)
    return np.square(x)


def two_branches(x: Array) -> Any:
    """The same and two branches on data."""
    x = np.square(x)
    if x[0] > 1e9:
        return x
    x = np.square(x)
    if x[1] > 1e9:
        return x
    return np.square(x)


# each is measured against the plain function; the first of each has no break
BREAKS = {
    "graph_break()": (no_break, one_break, two_breaks, three_breaks),
    "branch on data": (no_branch, one_branch, two_branches),
}


# ---- first calls ----------------------------------------------------------------------------------------


def twenty_operations(x: Array) -> Any:
    """Twenty operations in one part."""
    y = np.sqrt(x * x + 1.0)
    z = np.exp(-y) * np.sin(x)
    w = np.tanh(z + y) / (y * 2.0)
    v = np.sqrt(w * w + 1.0)
    u = np.exp(-v) * np.sin(w)
    return np.tanh(u + v) / (v * 2.0)


def twenty_on_five(a: Array, b: Array, c: Array, d: Array, e: Array) -> Any:
    """Twenty operations on five arrays, whose sizes have to be shown equal."""
    first = (a + b) * (c - d) / e + a * b
    second = (first - c) * (d + e) + first * a
    third = (second + b) * (first - c) + d * e
    return (third - a) * (second + first) + b * third


def three_parts(x: Array) -> Any:
    """A branch on data, then another."""
    y = np.sqrt(x * x + 1.0)
    if y.sum() > 0:
        y = y * 2.0 + x
    if y.mean() > 1e9:
        return x
    return np.tanh(y) / (y * 2.0)


def newton(x: Array) -> Any:
    """A loop that ends when the data say so."""
    while True:
        step = (x * x - 2.0) / (2.0 * x)
        x = x - step
        if np.abs(step).max() < 1e-12:
            return x
