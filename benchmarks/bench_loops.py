"""Loops: a call with the eager backend over plain NumPy, of programs as people write them.

No loop is to be slower than in Python. What was promised at first is that a ``while`` that ends when the data say so costs at most 1.2 times
plain NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from bcjit.bench.measure import Function, Row, captured, nanoseconds

Make = Callable[[], tuple[object, ...]]


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


def steps_in_time(x):
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


def thomas(lower, middle, upper, right):
    """A tridiagonal solver by element."""
    n = len(right)
    c = np.zeros(n)
    d = np.zeros(n)
    c[0] = upper[0] / middle[0]
    d[0] = right[0] / middle[0]
    for i in range(1, n):
        scale = middle[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / scale
        d[i] = (right[i] - lower[i] * d[i - 1]) / scale
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def floyd_warshall(paths):
    """Shortest paths, a row at a time."""
    n = len(paths)
    for k in range(n):
        for i in range(n):
            paths[i] = np.minimum(paths[i], paths[i, k] + paths[k])
    return paths


def cholesky(a):
    """A factorisation by rows of growing length."""
    n = a.shape[0]
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j] - (low[i, :j] * low[j, :j]).sum()
            low[i, j] = np.sqrt(rest) if i == j else rest / low[j, j]
    return low


def gauss_seidel(u):
    """Sweeps over a grid by element."""
    rows, columns = u.shape
    for _ in range(5):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def edit_distance(a, b):
    """A table with a branch on data for each item."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1]
            else:
                table[i, j] = 1 + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return table


def checksum(data):
    """Python ints and their bits."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= int(byte)
        for _ in range(8):
            crc = (crc >> 1) ^ 0xEDB88320 if crc & 1 else crc >> 1
    return crc


def escape(re, im, most):
    """Scalars only, left by a return."""
    a = b = 0.0
    for k in range(most):
        if a * a + b * b > 4.0:
            return k
        a, b = a * a - b * b + re, 2.0 * a * b + im
    return most


def leapfrog(u, before, after):
    """Two buffers that swap."""
    for _ in range(60):
        after[1:-1] = 2 * u[1:-1] - before[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before, u, after = u, after, before
    return u


def kalman(measured, state, covariance, transition):
    """Small matrices in time."""
    eye = np.eye(len(state))
    for k in range(len(measured)):
        state = transition @ state
        covariance = transition @ covariance @ transition.T + 0.1 * eye
        gain = covariance @ np.linalg.inv(covariance + eye)
        state = state + gain @ (measured[k] - state)
        covariance = (eye - gain) @ covariance
    return state


def walk(rng, n):
    """A draw and a branch a turn."""
    x = 0.0
    accepted = 0
    for _ in range(n):
        new = x + rng.normal()
        if rng.random() < np.exp(0.5 * (x * x - new * new)):
            x = new
            accepted += 1
    return x, accepted


def plate() -> np.ndarray:
    """Return the grid of `jacobi`."""
    u = np.zeros((12, 12))
    u[0] = 1.0
    return u


def line(n: int) -> np.ndarray:
    """Return numbers from 0.1 to 1."""
    return np.linspace(0.1, 1.0, n)


def matrix(n: int) -> np.ndarray:
    """Return a positive definite matrix."""
    return np.outer(line(n), line(n)) + np.eye(n) * n


# function -> what makes its arguments, and the ratio promised where one was
CASES: Final[tuple[tuple[Function, Make, float | None], ...]] = (
    (jacobi, lambda: (plate(),), 1.2),
    (newton, lambda: (np.arange(1.0, 11.0),), 1.2),
    (decay, lambda: (line(10),), 1.2),
    (steps_in_time, lambda: (line(10),), 1.0),
    (counts, lambda: (line(10),), 1.0),
    (reads_items, lambda: (line(100),), 1.0),
    (thomas, lambda: (line(60), line(60) + 3, line(60), line(60)), 1.0),
    (floyd_warshall, lambda: (matrix(12),), 1.0),
    (cholesky, lambda: (matrix(12),), 1.0),
    (gauss_seidel, lambda: (plate(),), 1.0),
    (edit_distance, lambda: (np.arange(12) % 5, np.arange(14) * 3 % 5), 1.0),
    (checksum, lambda: (np.arange(30, dtype=np.uint8),), 1.0),
    (escape, lambda: (-0.7, 0.3, 100), 1.0),
    (leapfrog, lambda: (line(50), line(50), np.zeros(50)), 1.0),
    (kalman, lambda: (np.ones((20, 2)), np.zeros(2), np.eye(2), np.eye(2)), 1.0),
    (walk, lambda: (np.random.default_rng(1), 60), 1.0),
)


def rows(rounds: int) -> list[Row]:
    """Measure every function."""
    found = []
    for function, make, target in CASES:
        compiled = captured(function, make(), calls=3)
        args = make()
        plain, ours = nanoseconds([function, compiled], args, max(rounds // 5, 10))
        note = f"{plain / 1000:,.1f} us plain, {ours / 1000:,.1f} us"
        found.append(Row(function.__name__, target, ours / plain, "x", note))
    return found
