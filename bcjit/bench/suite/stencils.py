"""Stencils: grids in one to three dimensions, stepped through time."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.bench.suite.program import Array, Program, Sizes

__all__ = ["PROGRAMS"]


def heat_1d(u: Array, steps: int) -> Any:
    """A rod, in place."""
    for _ in range(steps):
        u[1:-1] += 0.25 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


def jacobi_2d(u: Array, f: Array, tolerance: float, most: int) -> Any:
    """Poisson's equation, until nothing changes any more."""
    for turn in range(most):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - f[1:-1, 1:-1]
        )
        change = np.abs(new - u).max()
        u = new
        if change < tolerance:
            return u, turn
    return u, most


def heat_3d(u: Array, steps: int) -> Any:
    """A cube, with two buffers that swap."""
    new = u.copy()
    for _ in range(steps):
        inner = u[1:-1, 1:-1, 1:-1]
        new[1:-1, 1:-1, 1:-1] = inner + 0.1 * (
            u[2:, 1:-1, 1:-1]
            + u[:-2, 1:-1, 1:-1]
            + u[1:-1, 2:, 1:-1]
            + u[1:-1, :-2, 1:-1]
            + u[1:-1, 1:-1, 2:]
            + u[1:-1, 1:-1, :-2]
            - 6.0 * inner
        )
        u, new = new, u
    return u


def reaction_diffusion(a: Array, b: Array, feed: float, kill: float, steps: int) -> Any:
    """Gray and Scott's spots on a torus, with np.roll."""
    for _ in range(steps):
        spread_a = (
            np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4.0 * a
        )
        spread_b = (
            np.roll(b, 1, 0) + np.roll(b, -1, 0) + np.roll(b, 1, 1) + np.roll(b, -1, 1) - 4.0 * b
        )
        reaction = a * b * b
        a = a + 0.16 * spread_a - reaction + feed * (1.0 - a)
        b = b + 0.08 * spread_b + reaction - (feed + kill) * b
    return a, b


def electromagnetic_waves(ez: Array, hx: Array, hy: Array, steps: int) -> Any:
    """Maxwell's equations in a plane: three fields that update each other in place."""
    for step in range(steps):
        hx[:, :-1] -= 0.5 * (ez[:, 1:] - ez[:, :-1])
        hy[:-1] += 0.5 * (ez[1:] - ez[:-1])
        ez[1:-1, 1:-1] += 0.5 * (
            (hy[1:-1, 1:-1] - hy[:-2, 1:-1]) - (hx[1:-1, 1:-1] - hx[1:-1, :-2])
        )
        ez[ez.shape[0] // 2, ez.shape[1] // 2] += np.sin(0.3 * step)
    return (ez * ez).sum()


def game_of_life(cells: Array, steps: int) -> Any:
    """Integers and masks: neighbours counted by shifted slices."""
    for _ in range(steps):
        around = np.zeros_like(cells)
        around[1:, :] += cells[:-1, :]
        around[:-1, :] += cells[1:, :]
        around[:, 1:] += cells[:, :-1]
        around[:, :-1] += cells[:, 1:]
        around[1:, 1:] += cells[:-1, :-1]
        around[:-1, :-1] += cells[1:, 1:]
        around[1:, :-1] += cells[:-1, 1:]
        around[:-1, 1:] += cells[1:, :-1]
        born = (around == 3) & (cells == 0)
        stays = ((around == 2) | (around == 3)) & (cells == 1)
        cells = (born | stays).astype(np.int8)
    return cells


def shallow_water(h: Array, u: Array, v: Array, steps: int) -> Any:
    """Waves of a shallow sea between walls, in single precision."""
    g, dt = np.float32(9.8), np.float32(0.01)
    half = np.float32(0.5)
    for _ in range(steps):
        u[1:-1, 1:-1] -= dt * g * half * (h[1:-1, 2:] - h[1:-1, :-2])
        v[1:-1, 1:-1] -= dt * g * half * (h[2:, 1:-1] - h[:-2, 1:-1])
        flux_x, flux_y = h * u, h * v
        h[1:-1, 1:-1] -= (
            dt
            * half
            * (flux_x[1:-1, 2:] - flux_x[1:-1, :-2] + flux_y[2:, 1:-1] - flux_y[:-2, 1:-1])
        )
    return h.sum(), np.sqrt(u * u + v * v).max()


def gauss_seidel(u: Array, sweeps: int) -> Any:
    """Sweeps over a grid, item by item."""
    rows, columns = u.shape
    for _ in range(sweeps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def _maxwell(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), 8 if n < 100 else 20


def _spots(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    a, b = np.ones((n, n)), 0.05 * rng.random((n, n))
    a[n // 3 : n // 2, n // 3 : n // 2] = 0.5
    return a, b, 0.04, 0.06, 4 if n < 100 else 20


def _sea(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    h = (1.0 + 0.1 * rng.random((n, n))).astype(np.float32)
    return h, np.zeros_like(h), np.zeros_like(h), 4 if n < 100 else 20


PROGRAMS = (
    Program(
        heat_1d,
        lambda n, rng: (rng.random(n), 10 if n < 1000 else 50),
        Sizes(50, 20_000, 1_000_000),
        "stencils",
    ),
    Program(
        jacobi_2d,
        lambda n, rng: (np.zeros((n, n)), rng.random((n, n)) - 0.5, 1e-3, 40),
        Sizes(10, 120, 1_000),
        "stencils",
    ),
    Program(heat_3d, lambda n, rng: (rng.random((n, n, n)), 5), Sizes(6, 40, 160), "stencils"),
    Program(reaction_diffusion, _spots, Sizes(8, 128, 1_000), "stencils"),
    Program(electromagnetic_waves, _maxwell, Sizes(10, 150, 1_000), "stencils"),
    Program(
        game_of_life,
        lambda n, rng: (rng.integers(0, 2, (n, n), dtype=np.int8), 5 if n < 100 else 20),
        Sizes(10, 256, 2_000),
        "stencils",
    ),
    Program(shallow_water, _sea, Sizes(8, 150, 1_000), "stencils"),
    Program(
        gauss_seidel,
        lambda n, rng: (rng.random((n, n)), 2),
        Sizes(6, 64, 400),
        "stencils",
        by_element=True,
    ),
)
