"""Cost of a call of a small function (10-element float64 arrays): bcjit with the eager backend over plain NumPy.

Ratios are of minima measured in turns within this one run, so that a busy machine disturbs both sides alike.
The class at the end is what asv records over time (see README.md here).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from benchmarks.measure import Function, Row, captured, nanoseconds


def add_one(x):
    """One operation."""
    return x + 1


def five_arrays(a, b, c, d, e):
    """Four operations on five arrays."""
    return a + b + c + d + e


def ten_operations(x):
    """A chain of ten operations."""
    y = np.sqrt(x * x + 1.0)
    z = np.exp(-y) * np.sin(x)
    return np.tanh(z + y) / (y * 2.0)


def branch(x):
    """A branch on data, so two parts a call."""
    if x.sum() > 0:
        return x + 1
    return x - 1


# title -> function, arrays, and the ratio promised for the eager backend
CASES: Final[dict[str, tuple[Function, int, float]]] = {
    "x + 1": (add_one, 1, 960 / 762),
    "5 arrays": (five_arrays, 5, 1600 / 1397),
    "10 operations": (ten_operations, 1, 6000 / 5789),
    "branch on x.sum()": (branch, 1, 2300 / 1882),
}


def arrays(count: int) -> tuple[np.ndarray, ...]:
    """Return the arguments."""
    return tuple(np.linspace(0.1, 1.0, 10) + i for i in range(count))


def rows(rounds: int) -> list[Row]:
    """Measure every case."""
    found = []
    for title, (function, count, target) in CASES.items():
        args = arrays(count)
        plain, ours = nanoseconds([function, captured(function, args)], args, rounds)
        note = f"{plain:,.0f} ns plain, {ours:,.0f} ns"
        found.append(Row(title, target, ours / plain, "x", note))
    return found


class CallOverhead:
    """The same cases for asv: ``time_call`` by case and by how it runs."""

    params = (list(CASES), ["plain", "eager"])
    param_names = ("function", "run")

    def setup(self, title: str, run: str) -> None:
        """Compile and capture, outside what is timed."""
        function, count, _ = CASES[title]
        self.args = arrays(count)
        self.function = function if run == "plain" else captured(function, self.args)

    def time_call(self, _title: str, _run: str) -> None:
        """One call."""
        self.function(*self.args)
