"""Two programs with loops: heat spreading over a plate in time steps, and the plate's rest state by iteration to convergence.

Both are written as one writes them in NumPy: time steps in a ``for``, a ``while`` that ends when the data say so.
"""

from __future__ import annotations

import numpy as np

SIZE = 160  # points on each side of the plate
STEPS = 200


def plate(size: int = SIZE) -> np.ndarray:
    """Return a cold square plate whose upper edge is hot, in degrees; float64 of shape (size, size)."""
    u = np.zeros((size, size))
    u[0] = 100.0
    return u


def laplacian(u: np.ndarray) -> np.ndarray:
    """Five-point Laplacian of the inner points, for a grid spacing of 1."""
    return u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]


def heat(u: np.ndarray, steps: int, rate: float) -> tuple[np.ndarray, list[float]]:
    """Advance the heat equation by explicit Euler steps; also return the mean temperature every tenth of the way."""
    u = u.copy()
    means = []
    for step in range(steps):
        u[1:-1, 1:-1] += rate * laplacian(u)
        if step % (steps // 10) == 0:
            means.append(float(u.mean()))
    return u, means


def rest_state(u: np.ndarray, tolerance: float) -> tuple[np.ndarray, int]:
    """Iterate by Jacobi's method until no point changes by more than `tolerance`; also return how many turns it took."""
    turns = 0
    change = np.inf
    while change > tolerance:
        new = u.copy()
        new[1:-1, 1:-1] += 0.25 * laplacian(u)
        change = np.abs(new - u).max()
        u = new
        turns += 1
    return u, turns
