"""Linear algebra by hand, where somebody wrote the loops himself."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.bench.suite.program import Array, Program, Sizes

__all__ = ["PROGRAMS"]


def cholesky(a: Array) -> Any:
    """A factorisation, by rows of growing length."""
    n = a.shape[0]
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j] - (low[i, :j] * low[j, :j]).sum()
            low[i, j] = np.sqrt(rest) if i == j else rest / low[j, j]
    return low


def gaussian_elimination(a: Array, b: Array) -> Any:
    """A system of equations: rows swapped and subtracted in place, then solved backwards."""
    n = len(b)
    for k in range(n - 1):
        best = k + np.abs(a[k:, k]).argmax()
        if best != k:
            a[[k, int(best)]] = a[[int(best), k]]
            b[[k, int(best)]] = b[[int(best), k]]
        factors = a[k + 1 :, k] / a[k, k]
        a[k + 1 :, k:] -= np.outer(factors, a[k, k:])
        b[k + 1 :] -= factors * b[k]
    x = np.zeros(n)
    for k in range(n - 1, -1, -1):
        x[k] = (b[k] - a[k, k + 1 :] @ x[k + 1 :]) / a[k, k]
    return x


def gram_schmidt(a: Array) -> Any:
    """Orthogonal columns and the triangle that is left, a column at a time."""
    n = a.shape[1]
    q = np.zeros_like(a)
    r = np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt((a[:, k] ** 2).sum())
        q[:, k] = a[:, k] / r[k, k]
        r[k, k + 1 :] = q[:, k] @ a[:, k + 1 :]
        a[:, k + 1 :] -= q[:, k, None] * r[None, k, k + 1 :]
    return q, r


def sparse_product(pointers: Array, columns: Array, values: Array, x: Array) -> Any:
    """A sparse matrix by rows times a vector, item by item."""
    rows = len(pointers) - 1
    y = np.zeros(rows)
    for i in range(rows):
        total = 0.0
        for k in range(pointers[i], pointers[i + 1]):
            total += values[k] * x[columns[k]]
        y[i] = total
    return y


def conjugate_gradients(pointers: Array, columns: Array, values: Array, b: Array, most: int) -> Any:
    """A sparse system by iteration: products through gathers and np.add.reduceat."""
    x = np.zeros_like(b)
    residual = b.copy()
    direction = residual.copy()
    length = residual @ residual
    for _ in range(most):
        product = np.add.reduceat(values * direction[columns], pointers[:-1])
        step = length / (direction @ product)
        x += step * direction
        residual -= step * product
        new = residual @ residual
        if np.sqrt(new) < 1e-8:
            break
        direction = residual + (new / length) * direction
        length = new
    return x, np.sqrt(length)


def tridiagonal(lower: Array, middle: Array, upper: Array, right: Array) -> Any:
    """A system with three diagonals, item by item: there and back."""
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


def power_iteration(a: Array, most: int) -> Any:
    """The largest eigenvalue of a matrix, until it stays."""
    x = np.ones(a.shape[0])
    value = 0.0
    for _ in range(most):
        y = a @ x
        x = y / np.sqrt((y * y).sum())
        new = x @ a @ x
        if abs(new - value) < 1e-9 * abs(new):
            return new, x
        value = new
    return value, x


def _positive(n: int, rng: np.random.Generator) -> Array:
    a = rng.standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


def _laplace(n: int) -> tuple[Array, Array, Array]:
    """Return a matrix of three diagonals as rows: pointers, columns, values."""
    row = np.repeat(np.arange(n), 3)
    column = row + np.tile(np.arange(-1, 2), n)
    kept = (column >= 0) & (column < n)
    values = np.where(row == column, 2.5, -1.0)[kept]
    pointers = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(row[kept]))))
    return pointers, column[kept], values


def _diagonals(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    return rng.random(n), 3.0 + rng.random(n), rng.random(n), rng.random(n)


PROGRAMS = (
    Program(
        cholesky,
        lambda n, rng: (_positive(n, rng),),
        Sizes(6, 60, 250),
        "matrices",
        by_element=True,
    ),
    Program(
        gaussian_elimination,
        lambda n, rng: (rng.standard_normal((n, n)), rng.standard_normal(n)),
        Sizes(5, 120, 600),
        "matrices",
    ),
    Program(
        gram_schmidt,
        lambda n, rng: (rng.standard_normal((2 * n, n)),),
        Sizes(5, 80, 400),
        "matrices",
    ),
    Program(
        sparse_product,
        lambda n, rng: (*_laplace(n), rng.random(n)),
        Sizes(8, 8_000, 200_000),
        "matrices",
        by_element=True,
    ),
    Program(
        conjugate_gradients,
        lambda n, rng: (*_laplace(n), rng.random(n), 30),
        Sizes(12, 10_000, 500_000),
        "matrices",
    ),
    Program(tridiagonal, _diagonals, Sizes(10, 10_000, 300_000), "matrices", by_element=True),
    Program(
        power_iteration, lambda n, rng: (_positive(n, rng), 50), Sizes(6, 200, 1_500), "matrices"
    ),
)
