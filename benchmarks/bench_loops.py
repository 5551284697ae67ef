"""Loops that stay in Python: a call with the eager backend over plain NumPy.

What was promised is that a ``while`` that ends when the data say so costs at most 1.2 times plain NumPy. The others show what a turn
of a loop costs whose body is captured, and that a loop with nothing in it to capture is left alone.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from benchmarks.measure import Function, Row, captured, nanoseconds


def jacobi(u):
    """Iteration to convergence on a 12 by 12 grid."""
    change = 1.0
    while change > 1e-3:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.abs(new - u).max()
        u = new
    return u


def newton(x):
    """A few turns, left from the middle."""
    while True:
        step = (x * x - 2.0) / (2.0 * x)
        x = x - step
        if np.abs(step).max() < 1e-12:
            return x


def decay(x):
    """The least there can be: two operations a turn on ten elements."""
    while x.sum() > 0.5:
        x = x * 0.9
    return x


def time_steps(x):
    """A ``for`` of a hundred turns with five operations each."""
    for step in range(100):
        x = x + 0.01 * (np.sin(x) - x * step)
    return x


def counts(x):
    """A loop with nothing in it to capture."""
    total = 0
    for i in range(200):
        total += i % 7
    return x + total


def reads_items(x):
    """A loop that reads and writes items one by one."""
    y = x.copy()
    for i in range(1, len(y)):
        y[i] = 0.5 * y[i - 1] + y[i]
    return y * 2.0


def plate() -> np.ndarray:
    """Return the grid of `jacobi`."""
    u = np.zeros((12, 12))
    u[0] = 1.0
    return u


LINE: Final = np.linspace(0.1, 1.0, 10)
# function -> argument, and the ratio promised where one was
CASES: Final[tuple[tuple[Function, np.ndarray, float | None], ...]] = (
    (jacobi, plate(), 1.2),
    (newton, np.arange(1.0, 11.0), 1.2),
    (decay, LINE, 1.2),
    (time_steps, LINE, None),
    (counts, LINE, None),
    (reads_items, np.linspace(0.0, 1.0, 100), None),
)


def rows(rounds: int) -> list[Row]:
    """Measure every function."""
    found = []
    for function, argument, target in CASES:
        args = (argument,)
        plain, ours = nanoseconds(
            [function, captured(function, args, calls=3)], args, max(rounds // 5, 10)
        )
        note = f"{plain / 1000:,.1f} us plain, {ours / 1000:,.1f} us"
        found.append(Row(function.__name__, target, ours / plain, "x", note))
    return found
