"""Recurrences over a series, and numbers that are looked for until they are good enough."""

from __future__ import annotations

import math

import numpy as np

from loop_programs.registry import program, wave


@program(
    lambda: (wave(20), 0.3),
    lambda: (wave(5, dtype="f4"), 0.5),
    lambda: (wave(4, dtype="i8"), 0.25),
    lambda: (wave(1), 0.5),
)
def moving_average(x, alpha):
    out = np.empty(len(x))
    value = x[0]
    for i in range(len(x)):
        value = alpha * x[i] + (1 - alpha) * value
        out[i] = value
    return out, value


@program(
    lambda: (wave(18), (0.2, 0.3), (-0.5, 0.1)),
    lambda: (wave(4, dtype="f4"), (0.5, 0.5), (0.1, 0.0)),
    lambda: (wave(0), (0.5, 0.5), (0.1, 0.0)),
)
def recursive_filter(x, b, a):
    y = np.zeros_like(x)
    x1 = y1 = y2 = 0.0
    for n, now in enumerate(x):
        y[n] = b[0] * now + b[1] * x1 - a[0] * y1 - a[1] * y2
        x1 = now
        y1, y2 = y[n], y1
    return y


@program(
    lambda: (wave(16),),
    lambda: (wave(5, dtype="i4"),),
    lambda: (np.array([1.0, np.nan, 3.0], "f4"),),
    lambda: (wave(1),),
)
def running_maximum(x):
    out = x.copy()
    best = x[0]
    for i in range(1, x.size):
        if x[i] > best:
            best = x[i]
        out[i] = best
    return out


@program(
    lambda: (wave(9), 0.7),
    lambda: (wave(3, dtype="f4"), wave(4, dtype="f4")),
    lambda: (wave(4), wave(3)),
    lambda: (wave(0), 0.5),
)
def horner(coefficients, x):
    value = 0.0
    for c in reversed(coefficients):
        value = value * x + c
    return value


@program(lambda: (1.0, 2.0, 1e-9), lambda: (np.float32(1), np.float32(2), 1e-3), lambda: (1, 2, 5))
def bisection(low, high, tolerance):
    def f(z):
        return z * z * z - z - 2.0

    while high - low > tolerance:
        middle = (low + high) / 2
        if f(low) * f(middle) <= 0:
            high = middle
        else:
            low = middle
    return (low + high) / 2


@program(
    lambda: (np.arange(1.0, 9.0), 1e-12),
    lambda: (np.arange(1, 4, dtype="f4"), 1e-4),
    lambda: (np.array([[2.0, 3.0]]), 1e-9),
)
def newton_roots(a, tolerance):
    x = a.copy()
    for _ in range(50):
        step = (x * x - a) / (2.0 * x)
        x -= step
        if np.max(np.abs(step)) < tolerance:
            break
    else:
        raise ArithmeticError("no root found")
    return x


@program(lambda: (0.5, 1.0), lambda: (np.float64(0.1), 0.9), lambda: (0.7, 0.7))
def secant(a, b):
    fa = math.cos(a) - a
    turns = 0
    while abs(b - a) > 1e-10:
        fb = math.cos(b) - b
        a, b, fa = b, b - fb * (b - a) / (fb - fa), fb
        turns += 1
    return b, turns


@program(
    lambda: (wave(20),),
    lambda: (wave(5, dtype="f4"),),
    lambda: (wave(6, dtype="i8"),),
    lambda: (wave(0),),
)
def welford(x):
    count = 0
    mean = 0.0
    spread = 0.0
    for value in x:
        count += 1
        delta = value - mean
        mean += delta / count
        spread += delta * (value - mean)
    if count < 2:
        return mean, None
    return mean, spread / (count - 1)


@program(lambda: (0.0, 1.0, 40), lambda: (np.float32(0), np.float32(1), 3), lambda: (0.0, 1.0, 1))
def trapezoid_by_loop(a, b, n):
    h = (b - a) / n
    total = 0.5 * (np.exp(-a * a) + np.exp(-b * b))
    for i in range(1, n):
        z = a + i * h
        total += np.exp(-z * z)
    return total * h


@program(
    lambda: (np.linspace(-2, 1, 5) + 1j * np.linspace(-1, 1, 4)[:, None], 20),
    lambda: (np.array([0.1 + 0.2j, 2j], "c8"), 3),
    lambda: (np.array([1j]), 0),
)
def mandelbrot_by_mask(c, most):
    z = np.zeros_like(c)
    turns = np.zeros(c.shape, int)
    for k in range(most):
        alive = np.abs(z) <= 2.0
        z[alive] = z[alive] * z[alive] + c[alive]
        turns[alive] = k
    return turns


@program(lambda: (-0.7, 0.3, 60), lambda: (0.4, 0.4, 9), lambda: (np.float64(1), 1.0, 0))
def mandelbrot_escape(re, im, most):
    a = b = 0.0
    for k in range(most):
        if a * a + b * b > 4.0:
            return k
        a, b = a * a - b * b + re, 2 * a * b + im
    return most


@program(
    lambda: (np.linspace(-2, 0.5, 5), np.linspace(-1, 1, 4), 12),
    lambda: (np.linspace(-1, 1, 2, dtype="f4"), np.zeros(2, "f4"), 3),
)
def mandelbrot_image(xs, ys, most):
    image = np.zeros((len(ys), len(xs)), dtype=np.int32)
    for i in range(len(ys)):
        for j in range(len(xs)):
            z = 0j
            c = complex(xs[j], ys[i])
            n = 0
            while abs(z) <= 2 and n < most:
                z = z * z + c
                n += 1
            image[i, j] = n
    return image


@program(lambda: (3.7, 0.2, 24), lambda: (np.float32(3.5), np.float32(0.5), 3), lambda: (3, 1, 0))
def logistic_map(r, x, n):
    path = np.zeros(n)
    for i in range(n):
        x = r * x * (1 - x)
        path[i] = x
    return path, x


@program(
    lambda: (wave(15), wave(15, phase=1.0)),
    lambda: (wave(4, dtype="f4"), wave(4)),
    lambda: (wave(0), wave(0)),
)
def smallest_gap(x, y):
    best = np.inf
    where = None
    for i, (a, b) in enumerate(zip(x, y, strict=True)):
        gap = abs(a - b)
        if gap < best:
            best = gap
            where = i
    return best, where


@program(
    lambda: (2.0, 30),
    lambda: (np.float32(0.5), 5),
    lambda: (0, 3),
)
def exponential_series(x, n):
    term = total = 1.0
    for k in range(1, n):
        term *= x / k
        total += term
    return total


@program(
    lambda: (np.cumsum(np.abs(wave(12))), wave(12), np.linspace(0.1, 5, 9)),
    lambda: (np.arange(3, dtype="f4"), wave(3, dtype="f4"), np.array([0.5, 9.0], "f4")),
    lambda: (np.arange(3.0), wave(3), np.zeros(0)),
)
def interpolate_by_loop(x, y, at):
    out = np.zeros(len(at))
    for k in range(len(at)):
        if at[k] <= x[0]:
            out[k] = y[0]
            continue
        i = 0
        while i < len(x) - 2 and x[i + 1] < at[k]:
            i += 1
        t = (at[k] - x[i]) / (x[i + 1] - x[i])
        out[k] = (1 - t) * y[i] + t * y[i + 1]
    return out


@program(
    lambda: (np.array([0.5, 1.5, -0.3]), 1e-10, 100),
    lambda: (np.array([0.2, 0.1], "f4"), 1e-3, 10),
)
def fixed_point(x, tolerance, most):
    n = 0
    while n < most:
        new = np.cos(x)
        n += 1
        if not (np.abs(new - x) > tolerance).any():
            return new, n, True
        x = new
    return x, n, False
