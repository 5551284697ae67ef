"""Small numeric programs as people write them: none can be told from plain, and each is captured as it was.

A program has three sets of arguments, of other sizes and dtypes; a fourth one makes NumPy warn and raise. Its floor of captured nodes may only rise, its number of graphs
only fall; `whole` says that every call is one graph.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from differential import PLAIN, Setting, World, args, assert_same, observe
from under_test import captured_nodes, compile_eager

import bcjit

PROGRAMS: list[Any] = []
SETTINGS = (PLAIN, Setting(errstate={"all": "raise"}, repeats=1))


@dataclass(frozen=True)
class Program:
    """A function and what is known of its capture."""

    fn: Callable[..., Any]
    calls: tuple[Callable[[], tuple[Any, ...]], ...]
    nodes: int  # at least, over all graphs
    graphs: int  # at most
    whole: bool

    def world(self) -> World:
        return World(self.fn, [lambda make=make: args(*make()) for make in self.calls])


def program(*calls, nodes, graphs, whole=True):
    """Add a program to the table."""

    def register(fn):
        PROGRAMS.append(pytest.param(Program(fn, calls, nodes, graphs, whole), id=fn.__name__))
        return fn

    return register


def wave(*shape, dtype="f8", phase=0.0):
    """Return numbers between -1 and 1 that look random and are none."""
    size = int(np.prod(shape))
    values = np.sin(np.arange(size) * 1.7 + phase).reshape(shape)
    if np.dtype(dtype).kind == "c":
        return (values + 1j * np.cos(values * 3)).astype(dtype)
    return values.astype(dtype)


# Differential equations


@program(
    lambda: (wave(6, 7), 0.1),
    lambda: (wave(5, 5, dtype="f4"), 0.25),
    lambda: (wave(3, 4, dtype="c16"), 0.1),
    nodes=51, graphs=3,
)  # fmt: skip
def heat_step(u, alpha):
    new = u.copy()
    inner = u[1:-1, 1:-1]
    lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner
    new[1:-1, 1:-1] = inner + alpha * lap
    return new, np.abs(new - u).max()


@program(
    lambda: (wave(4), 0.0, 0.1),
    lambda: (wave(3, dtype="f4"), 1.0, 0.05),
    lambda: (wave(2, 2, dtype="c16"), 0.5, 0.2),
    nodes=96, graphs=3,
)  # fmt: skip
def runge_kutta(y, t, h):
    def slope(t, y):
        return np.cos(t) * y - y**3

    k1 = slope(t, y)
    k2 = slope(t + h / 2, y + h / 2 * k1)
    k3 = slope(t + h / 2, y + h / 2 * k2)
    k4 = slope(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@program(
    lambda: (wave(12), wave(12, phase=1.0), 0.1),
    lambda: (wave(7, dtype="f4"), wave(7, dtype="f4"), 0.3),
    lambda: (wave(4, 5), wave(4, 5, phase=2.0), 0.5),
    nodes=30, graphs=3,
)  # fmt: skip
def upwind_advection(q, speed, courant):
    left = q - np.roll(q, 1, axis=-1)
    right = np.roll(q, -1, axis=-1) - q
    return q - courant * np.where(speed > 0, speed * left, speed * right)


@program(
    lambda: (wave(5, 3), np.abs(wave(5)) + 1, 0.01),
    lambda: (wave(3, 2, dtype="f4"), np.ones(3, "f4"), 0.02),
    lambda: (wave(4, 3), np.ones(4), 0.5),
    nodes=42, graphs=2,
)  # fmt: skip
def n_body_step(position, mass, dt):
    offset = position[np.newaxis, :, :] - position[:, np.newaxis, :]
    distance = np.sqrt((offset**2).sum(axis=2) + 1e-3)
    pull = (mass[np.newaxis, :, np.newaxis] * offset / distance[:, :, np.newaxis] ** 3).sum(axis=1)
    energy = -0.5 * np.sum(np.outer(mass, mass) / distance)
    return position + 0.5 * dt * dt * pull, energy


# Linear algebra


@program(
    lambda: (np.eye(4) * 4 + wave(4, 4), wave(4)),
    lambda: (np.eye(3, dtype="f4") * 5 + wave(3, 3, dtype="f4"), wave(3, dtype="f4")),
    lambda: (np.eye(2) * 3 + wave(2, 2), wave(2, dtype="c16")),
    nodes=66, graphs=3,
)  # fmt: skip
def jacobi(matrix, right):
    diagonal = np.diag(matrix)
    rest = matrix - np.diag(diagonal)
    x = np.zeros_like(right)
    for _ in range(5):
        x = (right - rest @ x) / diagonal
    return x, np.linalg.norm(matrix @ x - right)


@program(
    lambda: (wave(2), np.eye(2), np.array([[1.0, 0.1], [0.0, 1.0]]), np.eye(2) * 0.01, wave(2)),
    lambda: (wave(3), np.eye(3) * 2, np.eye(3) + wave(3, 3) / 9, np.eye(3), wave(3)),
    lambda: (wave(2, dtype="f4"), np.eye(2, dtype="f4"), np.eye(2, dtype="f4"),
             np.eye(2, dtype="f4"), wave(2, dtype="f4")),
    nodes=28, graphs=2,
)  # fmt: skip
def kalman_step(state, covariance, transition, noise, measured):
    state = transition @ state
    covariance = transition @ covariance @ transition.T + noise
    gain = covariance @ np.linalg.inv(covariance + noise)
    innovation = measured - state
    eye = np.eye(len(state))
    return state + gain @ innovation, (eye - gain) @ covariance


@program(
    lambda: (wave(5, 3),),
    lambda: (wave(4, 2, dtype="f4"),),
    lambda: (wave(4, 3, dtype="c16"),),
    nodes=73, graphs=3, whole=True,
)  # fmt: skip
def gram_schmidt(vectors):
    basis = np.zeros_like(vectors)
    for j in range(vectors.shape[1]):
        column = vectors[:, j].copy()
        for i in range(j):
            column -= (basis[:, i].conj() @ vectors[:, j]) * basis[:, i]
        basis[:, j] = column / np.sqrt((np.abs(column) ** 2).sum())
    return basis


@program(
    lambda: (np.eye(4) * 4 + wave(4, 4), wave(4)),
    lambda: (np.eye(3, dtype="f4") * 4 + wave(3, 3, dtype="f4"), wave(3, dtype="f4")),
    lambda: (np.eye(2) * 3 + wave(2, 2, dtype="c16"), wave(2)),
    nodes=96, graphs=3, whole=True,
)  # fmt: skip
def elimination(matrix, right):
    a, b = matrix.copy(), right.astype(matrix.dtype)
    n = len(b)
    for k in range(n - 1):
        factor = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k:] -= factor[:, None] * a[k, k:]
        b[k + 1 :] -= factor * b[k]
    x = np.zeros_like(b)
    for k in range(n - 1, -1, -1):
        x[k] = (b[k] - a[k, k + 1 :] @ x[k + 1 :]) / a[k, k]
    return x


@program(
    lambda: (wave(8, 3),),
    lambda: (wave(5, 2, dtype="f4"),),
    lambda: (wave(6, 4, phase=1.0),),
    nodes=38, graphs=2,
)  # fmt: skip
def principal_component(data):
    centred = data - data.mean(axis=0)
    covariance = np.cov(centred, rowvar=False)
    direction = np.ones(data.shape[1])
    for _ in range(4):
        direction = covariance @ direction
        direction = direction / np.linalg.norm(direction)
    return direction, centred @ direction, direction @ covariance @ direction


@program(
    lambda: (wave(4, 3), wave(5, 3, phase=1.0)),
    lambda: (wave(2, 4, dtype="f4"), wave(3, 4, dtype="f4")),
    lambda: (wave(3, 2), wave(1, 2)),
    nodes=14, graphs=2,
)  # fmt: skip
def cosine_similarity(a, b):
    a = a / np.linalg.norm(a, axis=1, keepdims=True)
    b = b / np.linalg.norm(b, axis=1, keepdims=True)
    similarity = a @ b.T
    return similarity, similarity.argmax(axis=1)


# Graphs and games


@program(
    lambda: (np.abs(wave(5, 5)) * 9,),
    lambda: (np.arange(16).reshape(4, 4) % 7 + 1,),
    lambda: (np.abs(wave(3, 3, dtype="f4")),),
    nodes=30, graphs=9, whole=False,
)  # fmt: skip
def floyd_warshall(weights):
    distance = weights.copy()
    np.fill_diagonal(distance, 0)
    for k in range(distance.shape[0]):
        distance = np.minimum(distance, distance[:, k, None] + distance[None, k, :])
    return distance


@program(
    lambda: ((wave(6, 6) > 0.2).astype("i4"),),
    lambda: ((wave(4, 7) > 0).astype("u1"),),
    lambda: ((wave(3, 3) > -0.5).astype("i8"),),
    nodes=84, graphs=3,
)  # fmt: skip
def game_of_life(board):
    around = np.zeros_like(board)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dy or dx:
                around += np.roll(np.roll(board, dy, axis=0), dx, axis=1)
    alive = (around == 3) | ((board == 1) & (around == 2))
    return alive.astype(board.dtype), int(alive.sum())


@program(
    lambda: (wave(4, 5, dtype="c16"), 2.0),
    lambda: (wave(3, 3, dtype="c8"), 2.0),
    lambda: (wave(6, dtype="c16"), 1.5),
    nodes=75, graphs=3,
)  # fmt: skip
def mandelbrot(c, limit):
    z = np.zeros_like(c)
    steps = np.zeros(c.shape, dtype=int)
    for _ in range(4):
        inside = np.abs(z) < limit
        z = np.where(inside, z * z + c, z)
        steps += inside
    return steps


# Signals and images


@program(
    lambda: (np.arange(24).reshape(4, 6) % 17,),
    lambda: ((np.arange(20) ** 2 % 23).astype("u1").reshape(5, 4),),
    lambda: (np.abs(wave(3, 5, dtype="f4")) * 20,),
    nodes=30, graphs=3,
)  # fmt: skip
def equalise(image):
    counts, edges = np.histogram(image, bins=8, range=(0, 24))
    share = counts.cumsum() / counts.sum()
    return np.interp(image.ravel(), edges[:-1], share).reshape(image.shape)


@program(
    lambda: (wave(16), 0.2),
    lambda: (wave(9, dtype="f4"), 0.3),
    lambda: (wave(12, phase=1.0), 0.1),
    nodes=12, graphs=2,
)  # fmt: skip
def low_pass(signal, cut):
    spectrum = np.fft.rfft(signal)
    frequency = np.arange(len(spectrum)) / len(signal)
    return np.fft.irfft(np.where(frequency <= cut, spectrum, 0), n=len(signal))


@program(
    lambda: (wave(6, 7), wave(3, 3)),
    lambda: (wave(5, 4, dtype="f4"), np.ones((3, 3), "f4") / 9),
    lambda: (np.arange(20).reshape(4, 5), np.arange(9).reshape(3, 3)),
    nodes=111, graphs=3,
)  # fmt: skip
def convolve_by_slices(image, kernel):
    rows, columns = image.shape[0] - 2, image.shape[1] - 2
    out = np.zeros((rows, columns), dtype=np.result_type(image, kernel))
    for i in range(3):
        for j in range(3):
            out += kernel[i, j] * image[i : i + rows, j : j + columns]
    return out


@program(
    lambda: (wave(12),),
    lambda: (np.arange(9) * 5 % 7,),
    lambda: (wave(7, dtype="f4"),),
    nodes=15, graphs=3,
)  # fmt: skip
def running_median(signal):
    windows = np.lib.stride_tricks.sliding_window_view(signal, 5)
    middle = np.sort(windows, axis=1)[:, 2]
    return middle, np.median(windows, axis=1), windows.mean(axis=1)


@program(
    lambda: (wave(5, 6), np.abs(wave(7)) * 3, np.abs(wave(7, phase=1.0)) * 4),
    lambda: (wave(4, 4, dtype="f4"), np.abs(wave(3)) * 2, np.abs(wave(3)) * 2),
    lambda: (np.arange(12).reshape(3, 4), np.array([0.5, 1.25]), np.array([1.5, 0.0])),
    nodes=75, graphs=3,
)  # fmt: skip
def bilinear(image, y, x):
    y0 = np.clip(np.floor(y).astype(int), 0, image.shape[0] - 2)
    x0 = np.clip(np.floor(x).astype(int), 0, image.shape[1] - 2)
    fy, fx = y - y0, x - x0
    top = image[y0, x0] * (1 - fx) + image[y0, x0 + 1] * fx
    bottom = image[y0 + 1, x0] * (1 - fx) + image[y0 + 1, x0 + 1] * fx
    return top * (1 - fy) + bottom * fy


@program(
    lambda: (wave(15), 4),
    lambda: (np.arange(10) * 3 % 11, 3),
    lambda: (wave(3, 8, dtype="f4"), 2),
    nodes=21, graphs=3,
)  # fmt: skip
def moving_average(signal, width):
    total = np.cumsum(signal, axis=-1, dtype=float)
    total[..., width:] = total[..., width:] - total[..., :-width]
    return total[..., width - 1 :] / width


@program(
    lambda: (wave(12),),
    lambda: (wave(8, dtype="f4"),),
    lambda: (np.arange(9) ** 2 % 7,),
    nodes=51, graphs=3,
)  # fmt: skip
def autocorrelation(signal):
    centred = signal - signal.mean()
    power = centred @ centred
    found = [power / power]
    for lag in range(1, 4):
        found.append(centred[:-lag] @ centred[lag:] / power)
    return np.array(found)


@program(
    lambda: (wave(6, 3),),
    lambda: (wave(4, 2, dtype="f4"),),
    lambda: (wave(9),),
    nodes=27, graphs=12, whole=False,
)  # fmt: skip
def smoothed(rows):
    level = rows[0]
    out = [level]
    for row in rows[1:]:
        level = 0.3 * row + 0.7 * level
        out.append(level)
    return np.stack(out)


# Learning


@program(
    lambda: (wave(5, 3), np.array([0, 2, 1, 1, 0])),
    lambda: (wave(4, 2, dtype="f4"), np.array([1, 0, 0, 1])),
    lambda: (wave(3, 6), np.array([5, 0, 3], "u1")),
    nodes=45, graphs=3,
)  # fmt: skip
def cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    loss = -log_p[np.arange(len(labels)), labels].mean()
    gradient = np.exp(log_p)
    gradient[np.arange(len(labels)), labels] -= 1
    return loss, gradient / len(labels)


@program(
    lambda: (wave(9, 2), wave(3, 2, phase=1.0)),
    lambda: (wave(6, 3, dtype="f4"), wave(2, 3, dtype="f4")),
    lambda: (wave(5, 1), wave(4, 1)),
    nodes=42, graphs=2, whole=True,
)  # fmt: skip
def k_means_step(points, centres):
    distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    nearest = distance.argmin(axis=1)
    new = np.empty_like(centres)
    for k in range(centres.shape[0]):
        member = (nearest == k)[:, None]
        new[k] = (points * member).sum(axis=0) / np.maximum(member.sum(), 1)
    return new, distance.min(axis=1).sum()


@program(
    lambda: (wave(3), wave(6, 3), (wave(6) > 0).astype(float), 0.1),
    lambda: (wave(2, dtype="f4"), wave(4, 2, dtype="f4"), np.ones(4, "f4"), 0.5),
    lambda: (wave(4), wave(5, 4), (wave(5) > 0), 0.2),
    nodes=60, graphs=3,
)  # fmt: skip
def logistic_step(weights, inputs, targets, rate):
    p = 1.0 / (1.0 + np.exp(-(inputs @ weights)))
    loss = -np.mean(targets * np.log(p) + (1 - targets) * np.log(1 - p))
    return weights - rate * (inputs.T @ (p - targets)) / len(targets), loss


@program(
    lambda: (wave(4), wave(4, phase=1.0), np.zeros(4), np.zeros(4), 1),
    lambda: (wave(2, 3), wave(2, 3), wave(2, 3), np.abs(wave(2, 3)), 7),
    lambda: (wave(3, dtype="f4"), wave(3, dtype="f4"), np.zeros(3, "f4"), np.zeros(3, "f4"), 2),
    nodes=54, graphs=3,
)  # fmt: skip
def adam_step(x, gradient, m, v, t):
    m *= 0.9
    m += 0.1 * gradient
    v *= 0.999
    v += 0.001 * gradient**2
    m_hat, v_hat = m / (1 - 0.9**t), v / (1 - 0.999**t)
    x -= 0.01 * m_hat / (np.sqrt(v_hat) + 1e-8)
    return x


@program(
    lambda: (wave(6, 3), np.ones(3), np.zeros(3)),
    lambda: (wave(4, 2, dtype="f4"), np.ones(2, "f4"), np.zeros(2, "f4")),
    lambda: (wave(5, 4), wave(4), wave(4)),
    nodes=16, graphs=2,
)  # fmt: skip
def batch_norm(x, scale, shift):
    centre, spread = x.mean(axis=0), x.var(axis=0)
    normal = (x - centre) / np.sqrt(spread + 1e-5)
    return scale * normal + shift, centre, spread


# Numbers


@program(
    lambda: (np.array([1.0, -2.0, 0.5]), wave(4)),
    lambda: (np.array([3, 1, 2, 5]), np.arange(5)),
    lambda: (wave(2, dtype="c16"), wave(3, dtype="f4")),
    nodes=39, graphs=12, whole=False,
)  # fmt: skip
def horner(coefficients, x):
    value = np.zeros_like(x, dtype=np.result_type(coefficients, x))
    slope = np.zeros_like(value)
    for i in range(coefficients.shape[0]):
        slope = slope * x + value
        value = value * x + coefficients[i]
    return value, slope, np.polyval(coefficients, x)


@program(
    lambda: (np.linspace(0, 3, 9), wave(9)),
    lambda: (np.linspace(0, 1, 5, dtype="f4"), wave(5, dtype="f4")),
    lambda: (np.arange(7), np.arange(7) ** 2),
    nodes=57, graphs=3,
)  # fmt: skip
def integrals(x, y):
    step = x[1] - x[0]
    simpson = step / 3 * (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum())
    return simpson, np.trapezoid(y, x), np.gradient(y, step), np.diff(y, prepend=y[0])


@program(
    lambda: (np.abs(wave(5)) * 50 + 50, 60.0, 0.05, 0.2, 1.0),
    lambda: (np.abs(wave(3, dtype="f4")) * 50 + 50, 70.0, 0.01, 0.3, 0.5),
    lambda: (np.array([[90.0, 100.0]]), 95.0, 0.02, 0.25, 2.0),
    nodes=168, graphs=3,
)  # fmt: skip
def black_scholes(spot, strike, rate, volatility, time):
    def cdf(x):
        k = 1 / (1 + 0.2316419 * np.abs(x))
        series = k * (0.31938153 + k * (-0.356563782 + k * 1.781477937))
        tail = np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * series
        return np.where(x >= 0, 1 - tail, tail)

    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * time) / (volatility * np.sqrt(time))
    d2 = d1 - volatility * np.sqrt(time)
    return spot * cdf(d1) - strike * np.exp(-rate * time) * cdf(d2)


@program(
    lambda: (np.abs(wave(9)) + 1,),
    lambda: (np.abs(wave(6, dtype="f4")) + 2,),
    lambda: (np.array([3, 5, 2, 8, 4]),),
    nodes=27, graphs=3,
)  # fmt: skip
def draw_down(prices):
    peak = np.maximum.accumulate(prices)
    drop = (peak - prices) / peak
    change = np.diff(np.log(prices))
    return drop.max(), drop.argmax(), change.std(ddof=1), np.percentile(change, [5, 95])


@program(
    lambda: (wave(5, 4), np.abs(wave(5)) + 1),
    lambda: (wave(3, 6, dtype="f4"), np.ones(3, "f4")),
    lambda: (np.arange(12).reshape(4, 3), np.array([1, 2, 3, 4])),
    nodes=39, graphs=3,
)  # fmt: skip
def summary(table, weights):
    centre = np.average(table, axis=0, weights=weights)
    low, middle, high = np.quantile(table, [0.25, 0.5, 0.75], axis=0)
    score = (table - centre) / (np.nanstd(table, axis=0) + 1e-6)
    return np.corrcoef(table), high - low, np.nanmedian(table), score, np.ptp(table, axis=1), middle


@program(
    lambda: (wave(4), wave(4, phase=1.0)),
    lambda: (wave(4, dtype="f4"), wave(4, dtype="f4")),
    lambda: (wave(4, 3), wave(4, 3)),
    nodes=111, graphs=3,
)  # fmt: skip
def quaternion_product(p, q):
    a, b, c, d = p
    e, f, g, h = q
    return np.stack(
        [
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ]
    )


@program(
    lambda: (wave(4, 3), wave(4, 3, phase=1.0), np.zeros(3), 1.0),
    lambda: (wave(2, 3, dtype="f4"), wave(2, 3, dtype="f4"), np.zeros(3, "f4"), 0.5),
    lambda: (wave(3, 2), wave(3, 2, phase=2.0), np.ones(2), 2.0),
    nodes=42, graphs=2,
)  # fmt: skip
def rays_and_sphere(origin, direction, centre, radius):
    direction = direction / np.sqrt((direction**2).sum(axis=1, keepdims=True))
    away = origin - centre
    b = (away * direction).sum(axis=1)
    discriminant = b * b - ((away * away).sum(axis=1) - radius * radius)
    hit = discriminant >= 0
    distance = -b - np.sqrt(np.maximum(discriminant, 0))
    return np.where(hit, distance, np.inf), hit.any(), np.count_nonzero(hit)


@program(
    lambda: (np.append(wave(12), 9.0),),
    lambda: (np.append(wave(8, dtype="f4"), np.float32(-5)),),
    lambda: (np.arange(10) ** 3,),
    lambda: (np.arange(2),),
    nodes=45, graphs=3,
)  # fmt: skip
def without_outliers(x):
    kept = x[np.abs(x - np.median(x)) < x.std()]
    share = len(kept) / len(x)
    return kept.mean(), np.median(kept), np.percentile(kept, [10, 90]), np.diff(kept), share


@program(
    lambda: (np.where(wave(9) > 0.5, np.nan, wave(9)),),
    lambda: (wave(6, dtype="f4"),),
    lambda: (np.array([1.0, np.nan, 3.0, np.nan, 9.0]),),
    lambda: (np.full(3, np.nan),),
    nodes=20, graphs=2,
)  # fmt: skip
def gaps_filled(x):
    at = np.arange(len(x))
    known = ~np.isnan(x)
    filled = np.interp(at, at[known], x[known])
    return filled, np.trapezoid(filled), np.average(x[known], weights=at[known] + 1)


@program(
    lambda: (np.abs(wave(5)) + 1, 1e-10),
    lambda: (np.array([2.0, 9.0, 16.0], "f4"), 1e-3),
    lambda: (np.array([2, 3]), 1e-8),
    nodes=45, graphs=9, whole=False,
)  # fmt: skip
def newton_root(x, tolerance):
    guess = x / 2
    for _ in range(20):
        new = 0.5 * (guess + x / guess)
        if np.abs(new - guess).max() < tolerance:
            break
        guess = new
    return guess


@program(
    lambda: (wave(6), 0.0),
    lambda: (wave(5, dtype="f4"), 0.5),
    lambda: (-np.abs(wave(4)), 0.1),
    nodes=15, graphs=6, whole=False,
)  # fmt: skip
def clipped_gradient(gradient, limit):
    norm = np.sqrt(np.sum(gradient**2))
    if norm > limit > 0:
        gradient = gradient * (limit / norm)
    elif gradient.sum() < -1:
        return np.zeros_like(gradient)
    return gradient


@pytest.mark.parametrize("one", PROGRAMS)
def test_program_cannot_be_told_from_plain(one):
    assert_same(one.world, compile_eager, SETTINGS)


@pytest.mark.parametrize("one", PROGRAMS)
def test_program_is_captured(one):
    world = one.world()
    compiled = compile_eager(world.fn)
    observe(compiled, world.calls, world=world)
    assert captured_nodes(compiled) >= one.nodes
    assert len(compiled.graphs) <= one.graphs


@pytest.mark.parametrize("one", [p for p in PROGRAMS if p.values[0].whole])
def test_program_is_one_graph(one):
    for make in one.calls[:3]:
        bcjit.compile(one.fn, backend="eager", fullgraph=True)(*make())
