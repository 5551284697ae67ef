"""Physics: bodies, chains, filters of states."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.bench.suite.program import Array, Program, Sizes

__all__ = ["PROGRAMS"]


def n_body(positions: Array, velocities: Array, masses: Array, dt: float, steps: int) -> Any:
    """Stars that attract each other, all pairs at once, and their energy."""
    for _ in range(steps):
        between = positions[None, :, :] - positions[:, None, :]
        squared = (between**2).sum(axis=-1) + 0.01
        pull = between * (masses[None, :, None] / (squared * np.sqrt(squared))[:, :, None])
        velocities += dt * pull.sum(axis=1)
        positions += dt * velocities
    return 0.5 * (masses * (velocities**2).sum(axis=1)).sum()


def kalman(measured: Array, state: Array, covariance: Array, transition: Array) -> Any:
    """A filter over measurements in time, with small matrices."""
    eye = np.eye(len(state))
    track = np.empty((len(measured), len(state)))
    for k in range(len(measured)):
        state = transition @ state
        covariance = transition @ covariance @ transition.T + 0.05 * eye
        gain = covariance @ np.linalg.inv(covariance + 0.4 * eye)
        state = state + gain @ (measured[k] - state)
        covariance = (eye - gain) @ covariance
        track[k] = state
    return track, covariance


def pendulums(angles: Array, speeds: Array, dt: float, steps: int) -> Any:
    """Many pendulums by Runge and Kutta's method, with a function inside."""

    def slope(angle: Array, speed: Array) -> tuple[Array, Array]:
        return speed, -np.sin(angle) - 0.1 * speed

    for _ in range(steps):
        a1, s1 = slope(angles, speeds)
        a2, s2 = slope(angles + 0.5 * dt * a1, speeds + 0.5 * dt * s1)
        a3, s3 = slope(angles + 0.5 * dt * a2, speeds + 0.5 * dt * s2)
        a4, s4 = slope(angles + dt * a3, speeds + dt * s3)
        angles = angles + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        speeds = speeds + dt / 6.0 * (s1 + 2.0 * s2 + 2.0 * s3 + s4)
    return angles, speeds


def ising(spins: Array, rng: np.random.Generator, coupling: float, sweeps: int) -> Any:
    """Spins on a torus, flipped by chance in two colours, in place."""
    rows, columns = np.indices(spins.shape)
    colour = (rows + columns) % 2
    for _ in range(sweeps):
        for parity in (0, 1):
            around = (
                np.roll(spins, 1, 0)
                + np.roll(spins, -1, 0)
                + np.roll(spins, 1, 1)
                + np.roll(spins, -1, 1)
            )
            chance = np.exp(-2.0 * coupling * spins * around)
            flip = (rng.random(spins.shape) < chance) & (colour == parity)
            spins[flip] *= -1
    return spins.mean(), np.abs(spins.sum(axis=0)).max()


def metropolis(rng: np.random.Generator, count: int, width: float) -> Any:
    """A chain of random steps, each taken or not."""
    chain = np.empty(count)
    x = 0.0
    taken = 0
    for k in range(count):
        new = x + width * rng.standard_normal()
        if rng.random() < np.exp(0.5 * (x * x - new * new)):
            x = new
            taken += 1
        chain[k] = x
    return chain, taken / count


def pairwise_distances(a: Array, b: Array) -> Any:
    """Distances between two sets of points, the nearest, and how many are close."""
    squared = (a * a).sum(axis=1)[:, None] + (b * b).sum(axis=1)[None, :] - 2.0 * (a @ b.T)
    distances = np.sqrt(np.maximum(squared, 0.0))
    return (
        distances.min(axis=1),
        distances.argmin(axis=1),
        np.count_nonzero(distances < 1.0, axis=1),
    )


def great_circles(latitude: Array, longitude: Array) -> Any:
    """Lengths of a route over the globe."""
    lat, lon = np.deg2rad(latitude), np.deg2rad(longitude)
    step_lat, step_lon = np.diff(lat), np.diff(lon)
    h = (
        np.sin(step_lat / 2.0) ** 2
        + np.cos(lat[:-1]) * np.cos(lat[1:]) * np.sin(step_lon / 2.0) ** 2
    )
    length = 2.0 * 6371.0 * np.arcsin(np.sqrt(h))
    return length.cumsum(), length.max()


def _stars(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    positions, velocities = rng.standard_normal((n, 3)), 0.1 * rng.standard_normal((n, 3))
    return positions, velocities, rng.uniform(0.5, 1.5, n), 0.01, 3


def _measured(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    transition = np.array([[1.0, 0.1], [-0.05, 0.98]])
    return rng.standard_normal((n, 2)).cumsum(axis=0), np.zeros(2), np.eye(2), transition


PROGRAMS = (
    Program(n_body, _stars, Sizes(6, 150, 1_500), "physics"),
    Program(kalman, _measured, Sizes(10, 500, 20_000), "physics"),
    Program(
        pendulums,
        lambda n, rng: (rng.uniform(-2.0, 2.0, n), np.zeros(n), 0.02, 5 if n < 100 else 20),
        Sizes(10, 5_000, 500_000),
        "physics",
    ),
    Program(
        ising,
        lambda n, rng: (rng.choice(np.array([-1, 1]), (n, n)), rng, 0.4, 3),
        Sizes(8, 100, 1_000),
        "physics",
    ),
    Program(
        metropolis,
        lambda n, rng: (rng, n, 1.2),
        Sizes(20, 5_000, 200_000),
        "physics",
        by_element=True,
    ),
    Program(
        pairwise_distances,
        lambda n, rng: (rng.standard_normal((n, 3)), rng.standard_normal((n, 3))),
        Sizes(10, 400, 4_000),
        "physics",
    ),
    Program(
        great_circles,
        lambda n, rng: (rng.uniform(-80.0, 80.0, n), rng.uniform(-180.0, 180.0, n)),
        Sizes(20, 50_000, 2_000_000),
        "physics",
    ),
)
