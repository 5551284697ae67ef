"""Simulations in time: bodies, populations, chance, clusters."""

from __future__ import annotations

import numpy as np

from loop_programs.registry import program, wave


@program(
    lambda: (wave(3, 3), np.zeros((3, 3)), np.array([1.0, 2.0, 0.5]), 0.01, 5),
    lambda: (*(wave(2, 2, dtype="f4"), np.zeros((2, 2), "f4")), np.ones(2, "f4"), 0.1, 2),
    lambda: (wave(1, 3), np.zeros((1, 3)), np.ones(1), 0.1, 1),
)
def bodies_by_loops(x, v, mass, dt, steps):
    n, dims = x.shape
    for _ in range(steps):
        for i in range(n):
            for j in range(n):
                if i == j:
                    continue
                r2 = 1e-3
                for d in range(dims):
                    r2 += (x[j, d] - x[i, d]) ** 2
                pull = mass[j] / (r2 * np.sqrt(r2))
                for d in range(dims):
                    v[i, d] += dt * pull * (x[j, d] - x[i, d])
        for i in range(n):
            x[i] += dt * v[i]
    return x, v


@program(
    lambda: (wave(5, 3), np.zeros((5, 3)), np.abs(wave(5)) + 0.5, 0.01, 15),
    lambda: (*(wave(2, 2, dtype="f4"), np.zeros((2, 2), "f4")), np.ones(2, "f4"), 0.1, 2),
)
def bodies_in_time(x, v, mass, dt, steps):
    energy = np.zeros(steps)
    for step in range(steps):
        offset = x[None, :, :] - x[:, None, :]
        r2 = (offset**2).sum(axis=-1) + 1e-2
        pull = (mass[None, :, None] * offset / r2[:, :, None] ** 1.5).sum(axis=1)
        v += dt * pull
        x += dt * v
        energy[step] = 0.5 * (mass[:, None] * v**2).sum()
    return x, v, energy


@program(
    lambda: (99.0, 1.0, 0.0, 0.4, 0.1, 0.5, 20),
    lambda: (*(np.float32(9), np.float32(1), np.float32(0)), 0.3, 0.1, 1.0, 3),
    lambda: (9, 1, 0, 0.3, 0.1, 1, 0),
)
def epidemic_euler(s, i, r, beta, gamma, dt, steps):
    path = np.zeros((steps + 1, 3))
    path[0] = s, i, r
    for k in range(steps):
        caught = beta * s * i / (s + i + r) * dt
        healed = gamma * i * dt
        s = s - caught
        i = i + caught - healed
        r = r + healed
        path[k + 1] = s, i, r
    return path


@program(
    lambda: (np.array([0.99, 0.01, 0.0]), 0.4, 0.1, 0.5, 14),
    lambda: (np.array([0.9, 0.1, 0.0], "f4"), 0.3, 0.1, 1.0, 2),
)
def epidemic_runge_kutta(y, beta, gamma, dt, steps):
    def slope(y):
        caught = beta * y[0] * y[1]
        healed = gamma * y[1]
        return np.array([-caught, caught - healed, healed])

    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + dt / 2 * k1)
        k3 = slope(y + dt / 2 * k2)
        k4 = slope(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@program(
    lambda: (1.0, 1.0, 1.0, 0.01, 24),
    lambda: (np.float32(1), np.float32(0), 2.0, 0.01, 3),
    lambda: (1.0, 2.0, 3.0, 0.1, 0),
)
def lorenz(x, y, z, dt, steps):
    path = np.empty((steps, 3))
    for i in range(steps):
        dx = 10.0 * (y - x)
        dy = x * (28.0 - z) - y
        dz = x * y - 8.0 / 3.0 * z
        x, y, z = x + dt * dx, y + dt * dy, z + dt * dz
        path[i, 0] = x
        path[i, 1] = y
        path[i, 2] = z
    return path


@program(lambda: (0.3, 0.0, 0.05, 30), lambda: (0.1, 1.0, 0.1, 2), lambda: (np.pi, 0.0, 0.1, 1))
def pendulum(angle, speed, dt, steps):
    crossings = 0
    for _ in range(steps):
        speed -= 0.5 * dt * np.sin(angle)
        new = angle + dt * speed
        if new * angle < 0:
            crossings += 1
        angle = new
        speed -= 0.5 * dt * np.sin(angle)
    return angle, speed, crossings


@program(lambda: (20,), lambda: (1,), lambda: (0,))
def random_walk(n):
    path = np.zeros(n + 1)
    for i in range(n):
        path[i + 1] = path[i] + np.random.normal()
    return path


@program(
    lambda: (np.random.default_rng(5), 20, 3),
    lambda: (np.random.default_rng(6), 2, 1),
    lambda: (np.random.default_rng(7), 0, 2),
)
def random_walkers(rng, steps, walkers):
    place = np.zeros(walkers)
    farthest = 0.0
    for _ in range(steps):
        place += rng.choice([-1.0, 1.0], size=walkers)
        farthest = max(farthest, np.abs(place).max())
    return place, farthest


@program(
    lambda: (np.random.default_rng(5), 0.0, 1.0, 20),
    lambda: (np.random.default_rng(6), np.float64(1), 0.5, 4),
    lambda: (np.random.default_rng(6), 1.0, 0.5, 0),
)
def metropolis(rng, x, width, n):
    kept = np.zeros(n)
    accepted = 0
    for i in range(n):
        new = x + width * rng.normal()
        if np.log(rng.random()) < 0.5 * (x * x - new * new):
            x = new
            accepted += 1
        kept[i] = x
    return kept, accepted


@program(lambda: (40,), lambda: (3,), lambda: (0,))
def pi_by_chance(n):
    inside = 0
    for _ in range(n):
        x = np.random.uniform()
        y = np.random.uniform()
        if x * x + y * y < 1.0:
            inside += 1
    return 4.0 * inside / max(n, 1)


@program(lambda: (10, 2.0), lambda: (1, 0.1), lambda: (0, 1.0))
def gambler(stake, goal):
    turns = 0
    while 0 < stake < goal * 10 and turns < 60:
        stake += 1 if np.random.random() < 0.5 else -1
        turns += 1
    return stake, turns


@program(
    lambda: (wave(10, 2), 3),
    lambda: (wave(4, 2, dtype="f4"), 2),
    lambda: (wave(3, 1), 1),
)
def k_means(points, k):
    centres = points[:k].copy()
    while True:
        distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        label = distance.argmin(axis=1)
        new = centres.copy()
        for j in range(k):
            members = points[label == j]
            if len(members) > 0:
                new[j] = members.mean(axis=0)
        if np.allclose(new, centres):
            return new, label
        centres = new


@program(
    lambda: (np.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]]), 0, 20),
    lambda: (np.array([[0.5, 0.5], [0.1, 0.9]], "f4"), 1, 3),
    lambda: (np.eye(2), 0, 0),
)
def markov_chain(chances, state, n):
    seen = np.zeros(len(chances), int)
    for _ in range(n):
        u = np.random.rand()
        reached = 0.0
        for j in range(len(chances)):
            reached += chances[state, j]
            if u < reached:
                state = j
                break
        seen[state] += 1
    return seen, state


@program(
    lambda: (wave(14, 3), (wave(14) > 0).astype(float), np.zeros(3), 0.5, 15),
    lambda: (wave(4, 2, dtype="f4"), np.ones(4, "f4"), np.zeros(2, "f4"), 0.1, 2),
)
def logistic_regression(x, y, w, rate, turns):
    losses = np.zeros(turns)
    for t in range(turns):
        p = 1.0 / (1.0 + np.exp(-(x @ w)))
        losses[t] = -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p))
        w -= rate * (x.T @ (p - y)) / len(y)
    return w, losses


@program(
    lambda: (100.0, 0.2, 0.05, 1.0, 12, 100.0),
    lambda: (9, 0.5, 0.0, 2.0, 3, 8),
    lambda: (9.0, 0.5, 0.0, 2.0, 1, 8.0),
)
def option_on_a_tree(price, volatility, rate, years, n, strike):
    dt = years / n
    up = np.exp(volatility * np.sqrt(dt))
    p = (np.exp(rate * dt) - 1 / up) / (up - 1 / up)
    values = np.maximum(price * up ** (2.0 * np.arange(n + 1) - n) - strike, 0.0)
    for level in range(n - 1, -1, -1):
        for j in range(level + 1):
            values[j] = np.exp(-rate * dt) * (p * values[j + 1] + (1 - p) * values[j])
    return values[0]
