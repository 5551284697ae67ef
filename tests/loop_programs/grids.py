"""Stencils and equations on grids: by element, by slice, in time, to convergence."""

from __future__ import annotations

import numpy as np

from loop_programs.registry import program, wave


def plate(n, m, dtype="f8"):
    u = np.zeros((n, m), dtype)
    u[:1] = 1
    return u


@program(
    lambda: (wave(12), np.zeros(12)),
    lambda: (wave(7, dtype="f4"), np.zeros(7, "f4")),
    lambda: (wave(6, dtype="i8"), np.zeros(6, "i8")),
    lambda: (wave(2), np.zeros(2)),
    lambda: (wave(0), np.zeros(0)),
)
def three_point_stencil(x, out):
    for i in range(1, len(x) - 1):
        out[i] = 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1]
    return out


@program(
    lambda: (wave(12), 0.2, 25),
    lambda: (wave(5, dtype="f4"), 0.1, 3),
    lambda: (wave(4), 0.1, 0),
    lambda: (wave(1), 0.1, 4),
)
def heat_line_by_slice(u, r, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] + r * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return u


@program(
    lambda: (wave(4, 5), 0.1, 12),
    lambda: (wave(4, 4, dtype="f4"), 0.2, 2),
    lambda: (wave(3, 5).T, 0.1, 1),
    lambda: (wave(1, 4), 0.1, 2),
)
def heat_plate_by_element(u, alpha, steps):
    n, m = u.shape
    for _ in range(steps):
        new = u.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                lap = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]
                new[i, j] = u[i, j] + alpha * lap
        u = new
    return u


@program(
    lambda: (plate(5, 5), 1e-2),
    lambda: (plate(4, 6, "f4"), 1e-1),
    lambda: (plate(3, 3), 10.0),
)
def jacobi_to_convergence(u, tolerance):
    change = 1.0
    turns = 0
    while change > tolerance:
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        change = np.abs(new - u).max()
        u = new
        turns += 1
    return u, change, turns


@program(
    lambda: (plate(4, 5), 14),
    lambda: (plate(4, 4, "f4"), 2),
    lambda: (plate(2, 3), 3),
    lambda: (plate(5, 4), 0),
)
def gauss_seidel_sweeps(u, sweeps):
    rows, columns = u.shape
    for _ in range(sweeps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                u[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / 4
    return u


@program(
    lambda: (plate(4, 4), wave(4, 4), 1.4, 1e-3, 60),
    lambda: (plate(4, 5, "f4"), wave(4, 5, dtype="f4"), 1.2, 1e-2, 4),
    lambda: (plate(3, 2), wave(3, 2), 1.2, 1e-2, 5),
)
def successive_over_relaxation(u, f, omega, tolerance, most):
    n, m = u.shape
    for sweep in range(most):
        worst = 0.0
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                want = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j])
                step = omega * (want - u[i, j])
                u[i, j] += step
                if abs(step) > worst:
                    worst = abs(step)
        if worst < tolerance:
            break
    return u, worst, sweep


@program(
    lambda: (wave(12), 0.5, 20),
    lambda: (wave(6, dtype="f4"), 0.9, 3),
    lambda: (wave(3), 1.0, 0),
)
def leapfrog_string(u, courant, steps):
    before = u.copy()
    after = np.zeros_like(u)
    c2 = courant**2
    for _ in range(steps):
        after[1:-1] = 2 * u[1:-1] - before[1:-1] + c2 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before, u, after = u, after, before
    return u, before


@program(
    lambda: (wave(9), np.zeros(9), 21),
    lambda: (wave(5, dtype="f4"), np.zeros(5, "f4"), 4),
    lambda: (wave(5), np.zeros(5), 0),
)
def ping_pong_smoothing(u, v, steps):
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            v[i] = (u[i - 1] + u[i + 1]) * 0.5
        u, v = v, u
    return u, v


@program(
    lambda: (np.abs(wave(10)) + 0.1, 0.01, 0.1, 15),
    lambda: (wave(8, dtype="f4"), 0.02, 0.2, 2),
    lambda: (np.abs(wave(5, dtype="c16")), 0.1, 0.2, 1),
)
def burgers_upwind(u, dt, dx, steps):
    for _ in range(steps):
        old = u.copy()
        u[1:] = old[1:] - dt / dx * old[1:] * (old[1:] - old[:-1])
        u[0] = old[0]
    return u


@program(
    lambda: (wave(10), wave(10, phase=1.0), 0.3, 15),
    lambda: (wave(6, dtype="f4"), wave(6, dtype="f4"), 0.2, 2),
    lambda: (wave(4), wave(4), 0.2, 0),
)
def advection_by_sign(q, speed, courant, steps):
    n = len(q)
    for _ in range(steps):
        new = np.empty_like(q)
        for i in range(n):
            if speed[i] > 0:
                new[i] = q[i] - courant * speed[i] * (q[i] - q[i - 1])
            else:
                new[i] = q[i] - courant * speed[i] * (q[(i + 1) % n] - q[i])
        q = new
    return q


@program(
    lambda: (wave(6, 6) > 0.2, 13),
    lambda: ((wave(4, 5) > 0).astype("i4"), 2),
    lambda: (wave(3, 3) > 0, 0),
)
def game_of_life(board, generations):
    board = board.astype(np.int64)
    for _ in range(generations):
        near = np.zeros_like(board)
        for di in (-1, 0, 1):
            for dj in (-1, 0, 1):
                if di or dj:
                    near += np.roll(np.roll(board, di, axis=0), dj, axis=1)
        board = ((near == 3) | ((board == 1) & (near == 2))).astype(board.dtype)
    return board, board.sum()


@program(
    lambda: (np.sign(wave(4, 4)).astype("i8"), 0.6, 3),
    lambda: (np.sign(wave(3, 5)), 0.2, 1),
    lambda: (np.sign(wave(3, 3)), 0.2, 0),
)
def ising_sweeps(spins, beta, sweeps):
    rows, columns = spins.shape
    flips = 0
    for _ in range(sweeps):
        for i in range(rows):
            for j in range(columns):
                near = spins[i - 1, j] + spins[(i + 1) % rows, j]
                near += spins[i, j - 1] + spins[i, (j + 1) % columns]
                cost = 2.0 * spins[i, j] * near
                if cost <= 0 or np.random.random() < np.exp(-beta * cost):
                    spins[i, j] = -spins[i, j]
                    flips += 1
    return spins, flips


@program(
    lambda: (wave(6, 7), wave(3, 3)),
    lambda: (wave(4, 4, dtype="f4"), wave(2, 3, dtype="f4")),
    lambda: (wave(4, 5, dtype="i8"), wave(2, 2, dtype="i8")),
    lambda: (wave(2, 2), wave(3, 3)),
)
def filter_image(image, kernel):
    rows = image.shape[0] - kernel.shape[0] + 1
    columns = image.shape[1] - kernel.shape[1] + 1
    out = np.zeros((max(rows, 0), max(columns, 0)))
    for i in range(rows):
        for j in range(columns):
            out[i, j] = np.sum(image[i : i + kernel.shape[0], j : j + kernel.shape[1]] * kernel)
    return out


@program(
    lambda: (wave(24), 5),
    lambda: (wave(9, dtype="f4"), 3),
    lambda: (wave(8, dtype="i4"), 2),
    lambda: (wave(3), 9),
)
def moving_median(x, width):
    out = np.empty_like(x)
    half = width // 2
    for i in range(x.size):
        low = max(i - half, 0)
        high = min(i + half + 1, x.size)
        out[i] = np.median(x[low:high])
    return out


@program(
    lambda: (wave(4, 4), wave(4, 4, phase=1.0), 0.1, 11),
    lambda: (wave(3, 3, dtype="f4"), wave(3, 3, dtype="f4"), 0.1, 2),
)
def reaction_diffusion(a, b, dt, steps):
    def spread(z):
        return np.roll(z, 1, 0) + np.roll(z, -1, 0) + np.roll(z, 1, 1) + np.roll(z, -1, 1) - 4.0 * z

    for _ in range(steps):
        reaction = a * b * b
        a = a + dt * (0.2 * spread(a) - reaction + 0.04 * (1.0 - a))
        b = b + dt * (0.1 * spread(b) + reaction - 0.1 * b)
    return a, b
