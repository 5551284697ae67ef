"""Linear algebra by hand: factorisations, solvers, products, paths."""

from __future__ import annotations

import numpy as np

from loop_programs.registry import dominant, program, wave


@program(
    lambda: (wave(11), wave(11) + 4, wave(11), wave(11, phase=2.0)),
    lambda: (*(wave(4, dtype="f4"), wave(4, dtype="f4") + 3), *(wave(4, dtype="f4"),) * 2),
    lambda: (wave(1), np.ones(1), wave(1), wave(1)),
)
def thomas_solver(lower, middle, upper, right):
    n = len(right)
    c = np.zeros(n)
    d = np.zeros(n)
    c[0] = upper[0] / middle[0]
    d[0] = right[0] / middle[0]
    for i in range(1, n):
        scale = middle[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / scale
        d[i] = (right[i] - lower[i] * d[i - 1]) / scale
    x = np.zeros(n)
    x[-1] = d[-1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


@program(
    lambda: (np.abs(wave(9, 9)) * 10,),
    lambda: (np.abs(wave(4, 4, dtype="f4")),),
    lambda: (np.abs(wave(3, 3, dtype="i8")),),
    lambda: (np.zeros((0, 0)),),
)
def floyd_warshall_by_row(paths):
    n = paths.shape[0]
    for k in range(n):
        for i in range(n):
            paths[i] = np.minimum(paths[i], paths[i, k] + paths[k])
    return paths


@program(
    lambda: (np.abs(wave(5, 5)) * 10,),
    lambda: (np.abs(wave(3, 3, dtype="i4")),),
    lambda: (np.abs(wave(4, 4, dtype="f4")),),
)
def floyd_warshall_by_element(paths):
    n = len(paths)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                other = paths[i, k] + paths[k, j]
                if other < paths[i, j]:
                    paths[i, j] = other
    return paths


@program(
    lambda: (dominant(9),),
    lambda: (dominant(4, "f4"),),
    lambda: (dominant(1),),
    lambda: (dominant(0),),
    lambda: (-dominant(3),),
)
def cholesky_by_hand(a):
    n = a.shape[0]
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j] - low[i, :j] @ low[j, :j]
            if i == j:
                low[i, j] = np.sqrt(rest)
            else:
                low[i, j] = rest / low[j, j]
    return low


@program(
    lambda: (dominant(9),),
    lambda: (dominant(3, "f4"),),
    lambda: (dominant(4).T[::-1, ::-1],),
    lambda: (np.zeros((2, 2)),),
)
def lu_in_place(a):
    n = len(a)
    for k in range(n - 1):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a


@program(
    lambda: (wave(5, 5), wave(5)),
    lambda: (wave(3, 3, dtype="f4"), wave(3, dtype="f4")),
    lambda: (np.zeros((2, 2)), wave(2)),
)
def gauss_with_pivots(a, b):
    n = len(b)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if p != k:
            a[[k, p]] = a[[p, k]]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k:] -= f * a[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


@program(
    lambda: (np.tril(dominant(10)), wave(10)),
    lambda: (np.tril(dominant(3, "f4")), wave(3, dtype="f4")),
    lambda: (np.zeros((0, 0)), wave(0)),
)
def forward_substitution(low, b):
    y = np.zeros(len(b))
    for i in range(len(b)):
        y[i] = (b[i] - np.dot(low[i, :i], y[:i])) / low[i, i]
    return y


@program(
    lambda: (np.triu(dominant(10)), wave(10)),
    lambda: (np.triu(dominant(3, "f4")), wave(3, dtype="f4")),
    lambda: (np.zeros((0, 0)), wave(0)),
)
def back_substitution(up, y):
    n = up.shape[0]
    x = np.empty_like(y)
    for i in reversed(range(n)):
        x[i] = (y[i] - up[i, i + 1 :] @ x[i + 1 :]) / up[i, i]
    return x


@program(
    lambda: (wave(5, 4), wave(4, 5)),
    lambda: (wave(2, 3, dtype="f4"), wave(3, 2)),
    lambda: (wave(2, 2, dtype="i8"), wave(2, 3, dtype="i4")),
    lambda: (wave(2, 0), wave(0, 3)),
)
def product_by_three_loops(a, b):
    n, inner = a.shape
    m = b.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            s = 0.0
            for k in range(inner):
                s += a[i, k] * b[k, j]
            c[i, j] = s
    return c


@program(
    lambda: (wave(20), wave(20, phase=1.0)),
    lambda: (wave(5, dtype="f4"), wave(5)),
    lambda: (wave(5, dtype="i2"), wave(5, dtype="i8")),
    lambda: (wave(4, dtype="c16"), wave(4)),
    lambda: (wave(0), wave(0)),
)
def dot_by_element(x, y):
    total = 0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@program(
    lambda: (
        wave(14),
        np.arange(14) * 3 % 9,
        np.array([0, 2, 3, 3, 5, 7, 9, 11, 13, 14]),
        wave(9),
    ),
    lambda: (
        wave(3, dtype="f4"),
        np.array([0, 1, 1]),
        np.array([0, 0, 3]),
        wave(2, dtype="f4"),
    ),
    lambda: (wave(0), np.zeros(0, int), np.zeros(1, int), wave(0)),
)
def sparse_times_vector(values, columns, starts, x):
    rows = len(starts) - 1
    y = np.zeros(rows)
    for i in range(rows):
        part = slice(starts[i], starts[i + 1])
        y[i] = np.dot(values[part], x[columns[part]])
    return y


@program(
    lambda: (wave(11), np.arange(11) * 3 % 7, np.array([0, 2, 3, 3, 5, 7, 9, 11]), wave(7)),
    lambda: (wave(3, dtype="f4"), np.array([0, 1, 1]), np.array([0, 0, 3]), wave(2)),
    lambda: (wave(2), np.array([0, 9]), np.array([0, 1, 2]), wave(2)),
)
def sparse_by_element(values, columns, starts, x):
    y = np.zeros(len(starts) - 1)
    for row in range(len(starts) - 1):
        for k in range(starts[row], starts[row + 1]):
            y[row] += values[k] * x[columns[k]]
    return y


@program(
    lambda: (dominant(5), np.ones(5), 1e-6, 60),
    lambda: (dominant(3, "f4"), np.ones(3, "f4"), 1e-3, 9),
    lambda: (dominant(2), np.ones(2), 1.0, 0),
)
def power_iteration(a, v, tolerance, most):
    value = 0.0
    for _ in range(most):
        w = a @ v
        new = v @ w
        v = w / np.linalg.norm(w)
        if abs(new - value) < tolerance:
            break
        value = new
    return value, v


@program(
    lambda: (dominant(8), wave(8)),
    lambda: (dominant(3, "f4"), wave(3, dtype="f4")),
    lambda: (dominant(3), np.zeros(3)),
)
def conjugate_gradient(a, b):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r
    old = r @ r
    turns = 0
    while np.sqrt(old) > 1e-8 and turns < 50:
        ap = a @ p
        step = old / (p @ ap)
        x = x + step * p
        r = r - step * ap
        new = r @ r
        p = r + new / old * p
        old = new
        turns += 1
    return x, turns


@program(
    lambda: (dominant(4), wave(4), np.zeros(4)),
    lambda: (dominant(2, "f4"), wave(2, dtype="f4"), np.zeros(2, "f4")),
)
def descent_with_line_search(a, b, x):
    def cost(z):
        return 0.5 * z @ a @ z - b @ z

    for _ in range(40):
        slope = a @ x - b
        if np.abs(slope).max() < 1e-6:
            break
        step = 1.0
        while cost(x - step * slope) > cost(x) - 0.5 * step * (slope @ slope):
            step *= 0.5
            if step < 1e-10:
                break
        x = x - step * slope
    return x


@program(
    lambda: (wave(9, 6),),
    lambda: (wave(4, 3, dtype="f4"),),
    lambda: (wave(3, 2).T.copy().T,),
    lambda: (wave(3, 0),),
)
def gram_schmidt(a):
    n, m = a.shape
    q = np.zeros((n, m))
    r = np.zeros((m, m))
    for j in range(m):
        v = a[:, j].copy()
        for i in range(j):
            r[i, j] = q[:, i] @ a[:, j]
            v -= r[i, j] * q[:, i]
        r[j, j] = np.sqrt(v @ v)
        q[:, j] = v / r[j, j]
    return q, r


@program(
    lambda: (dominant(5), wave(5), 1e-8),
    lambda: (dominant(3, "f4"), wave(3, dtype="f4"), 1e-2),
)
def gauss_seidel_solver(a, b, tolerance):
    n = len(b)
    x = np.zeros_like(b)
    while True:
        old = x.copy()
        for i in range(n):
            x[i] = (b[i] - a[i, :i] @ x[:i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
        if np.linalg.norm(x - old) < tolerance:
            return x


@program(
    lambda: (dominant(4), 1e-9),
    lambda: (dominant(3, "f4"), 1e-2),
)
def unshifted_qr(a, tolerance):
    turns = 0
    while np.abs(np.tril(a, -1)).max() > tolerance and turns < 30:
        q, r = np.linalg.qr(a)
        a = r @ q
        turns += 1
    return np.diag(a), turns


@program(
    lambda: (wave(12, 2), np.zeros(2), np.eye(2), np.array([[1.0, 0.1], [0.0, 1.0]]), 0.1),
    lambda: (*(wave(3, 2, dtype="f4"), np.zeros(2, "f4")), *(np.eye(2, dtype="f4"),) * 2, 0.5),
    lambda: (wave(0, 2), np.zeros(2), np.eye(2), np.eye(2), 0.1),
)
def kalman_filter(measured, state, covariance, transition, noise):
    eye = np.eye(len(state))
    path = np.zeros_like(measured)
    for k in range(len(measured)):
        state = transition @ state
        covariance = transition @ covariance @ transition.T + noise * eye
        gain = covariance @ np.linalg.inv(covariance + eye)
        state = state + gain @ (measured[k] - state)
        covariance = (eye - gain) @ covariance
        path[k] = state
    return path, covariance
