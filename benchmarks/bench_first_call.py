"""The first call of a function: capture, guards, residual code and the eager backend's function.

Processor time of this process, because what is measured is milliseconds on a machine that does other things too. The
function is compiled anew each time; that Python and NumPy have been warmed up before is part of the promise.
"""

from __future__ import annotations

import statistics
import time
from typing import Final

import numpy as np

import bcjit
from benchmarks.measure import Function, Row, captured

TIMES: Final = 60


def twenty_operations(x):
    """Twenty operations in one part."""
    y = np.sqrt(x * x + 1.0)
    z = np.exp(-y) * np.sin(x)
    w = np.tanh(z + y) / (y * 2.0)
    v = np.sqrt(w * w + 1.0)
    u = np.exp(-v) * np.sin(w)
    return np.tanh(u + v) / (v * 2.0)


def twenty_on_five(a, b, c, d, e):
    """Twenty operations on five arrays, whose sizes have to be shown equal."""
    first = (a + b) * (c - d) / e + a * b
    second = (first - c) * (d + e) + first * a
    third = (second + b) * (first - c) + d * e
    return (third - a) * (second + first) + b * third


def three_parts(x):
    """A branch on data, then another."""
    y = np.sqrt(x * x + 1.0)
    if y.sum() > 0:
        y = y * 2.0 + x
    if y.mean() > 1e9:
        return x
    return np.tanh(y) / (y * 2.0)


CASES: Final[dict[str, tuple[Function, int, float | None]]] = {
    "20 operations": (twenty_operations, 1, 10.0),
    "20 operations on 5 arrays": (twenty_on_five, 5, 10.0),
    "two branches, three parts": (three_parts, 1, None),
}


def milliseconds(function: Function, args: tuple[object, ...], times: int) -> tuple[float, float]:
    """Return the least and the median processor time of a first call."""
    spent = []
    for _ in range(times):
        compiled = bcjit.compile(function, backend="eager")
        start = time.process_time()
        compiled(*args)
        spent.append((time.process_time() - start) * 1e3)
    return min(spent), statistics.median(spent)


def rows(rounds: int) -> list[Row]:
    """Measure every case."""
    found = []
    for title, (function, count, target) in CASES.items():
        args = tuple(np.linspace(0.1, 1.0, 10) + i for i in range(count))
        captured(function, args)
        least, median = milliseconds(function, args, min(rounds, TIMES))
        found.append(Row(title, target, least, "ms", f"median {median:.2f} ms"))
    return found


class FirstCall:
    """The same cases for asv."""

    params = (tuple(CASES),)
    param_names = ("function",)

    def setup(self, title: str) -> None:
        """Make the arguments."""
        self.fn, count, _ = CASES[title]
        self.args = tuple(np.linspace(0.1, 1.0, 10) + i for i in range(count))

    def time_first_call(self, _title: str) -> None:
        """Compile and call once."""
        bcjit.compile(self.fn, backend="eager")(*self.args)
