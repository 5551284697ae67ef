"""Functions without loops on a thousand elements: (bcjit - 2 us) over plain NumPy, with the eager backend.

So is said that compiling never costs more than a fifth of the time and two microseconds, whatever a function does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from bcjit.bench.measure import Function, Row, captured, nanoseconds
from bcjit.bench.programs import add_one, branch, five_arrays, standardised, ten_operations

LOG: Final[list[float]] = []


@dataclass
class Layer:
    """An object with arrays."""

    weight: np.ndarray
    rate: float = 0.1


LAYER: Final = Layer(np.linspace(0, 1, 1000))


def softmax(x):
    """Reductions of the same size."""
    e = np.exp(x - x.max())
    return e / e.sum()


def reads_shape(x):
    """A size that becomes a number."""
    return x * (1.0 / x.shape[0])


def updates_in_place(x):
    """Writes to a copy."""
    y = x.copy()
    y[1:] -= x[:-1]
    y *= 0.5
    return y


def attributes(x):
    """Reads of an object's attributes."""
    return x * LAYER.weight + LAYER.rate


def makes_dict(x):
    """A container of results."""
    return {"low": x.min(), "high": x.max(), "both": [x + 1, x - 1]}


def calls_unknown(x):
    """A call that breaks the graph."""
    y = x * 2
    LOG.append(0.0)
    del LOG[:]
    return y + 1


def branches_twice(x):
    """Three parts."""
    if x.sum() < 0:
        x = -x
    if x[0] > 1e6:
        return x
    return x * 0.5


CASES: Final[tuple[tuple[Function, int], ...]] = (
    (add_one, 1),
    (five_arrays, 5),
    (ten_operations, 1),
    (branch, 1),
    (standardised, 1),
    (softmax, 1),
    (reads_shape, 1),
    (updates_in_place, 1),
    (attributes, 1),
    (makes_dict, 1),
    (calls_unknown, 1),
    (branches_twice, 1),
)


def rows(rounds: int) -> list[Row]:
    """Measure every function."""
    found = []
    for function, count in CASES:
        args = tuple(np.linspace(0.1, 1.0, 1000) + i for i in range(count))
        plain, ours = nanoseconds([function, captured(function, args, calls=3)], args, rounds)
        note = f"{plain:,.0f} ns plain, {ours:,.0f} ns: {ours / plain:.2f}x"
        found.append(Row(function.__name__, 1.2, (ours - 2000) / plain, "x", note))
    return found
