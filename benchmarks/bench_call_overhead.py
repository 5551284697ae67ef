"""Cost of a call of a small function (10-element float64 arrays): bcjit over plain NumPy.

Ratios are of minima measured in turns within this one run, so that a busy machine disturbs both sides alike.
The class at the end is what asv records over time (see README.md here).
"""

from __future__ import annotations

from typing import Final

import numpy as np

import bcjit
from benchmarks.measure import Function, Row, nanoseconds


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


# title -> function, arrays, and the ratios promised for each backend
CASES: Final[dict[str, tuple[Function, int, dict[str, float]]]] = {
    "x + 1": (add_one, 1, {"eager": 960 / 762}),
    "5 arrays": (five_arrays, 5, {"eager": 1600 / 1397}),
    "10 operations": (ten_operations, 1, {"eager": 6000 / 5789}),
    "branch on x.sum()": (branch, 1, {"eager": 2300 / 1882}),
}
BACKENDS: Final = ("eager",)


def arrays(count: int) -> tuple[np.ndarray, ...]:
    """Return the arguments."""
    return tuple(np.linspace(0.1, 1.0, 10) + i for i in range(count))


def rows(rounds: int) -> list[Row]:
    """Measure every case with every backend."""
    found = []
    for title, (function, count, targets) in CASES.items():
        args = arrays(count)
        for backend in BACKENDS:
            compiled = bcjit.compile(function, backend=backend)
            compiled(*args)
            plain, ours = nanoseconds([function, compiled], args, rounds)
            note = f"{plain:,.0f} ns plain, {ours:,.0f} ns"
            found.append(Row(f"{title}, {backend}", targets.get(backend), ours / plain, "x", note))
    return found


class CallOverhead:
    """The same cases for asv: ``time_call`` by case and by how it runs."""

    params = (list(CASES), ["plain", *BACKENDS])
    param_names = ("function", "run")

    def setup(self, title: str, run: str) -> None:
        """Compile and capture, outside what is timed."""
        function, count, _ = CASES[title]
        self.args = arrays(count)
        self.function = function if run == "plain" else bcjit.compile(function, backend=run)
        self.function(*self.args)

    def time_call(self, _title: str, _run: str) -> None:
        """One call."""
        self.function(*self.args)
