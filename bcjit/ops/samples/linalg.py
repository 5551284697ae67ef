"""Samples for ``np.linalg``: stacks, sizes 0 and 1, singular matrices, and what is rejected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import Array, arrays, tame

__all__ = [
    "choleskys",
    "conds",
    "hermitians",
    "least_squares",
    "matrices",
    "matrix_norms",
    "norms",
    "pinvs",
    "qrs",
    "ranks",
    "solves",
    "squares",
    "svds",
    "tensorinvs",
    "tensorsolves",
    "vector_norms",
]


def _square(dtype: np.dtype[Any]) -> tuple[Array, ...]:
    stack = (tame(dtype, 18).reshape(2, 3, 3) + np.eye(3, dtype=dtype)).astype(dtype)
    product = np.array(stack[0] @ stack[0].T).astype(dtype)
    return (stack, product, np.zeros((2, 2), dtype), np.zeros((0, 0), dtype), tame(dtype, 1)[None])


def _oblong(dtype: np.dtype[Any]) -> tuple[Array, ...]:
    return (
        tame(dtype, 6).reshape(2, 3),
        tame(dtype, 12).reshape(2, 3, 2),
        np.zeros((0, 2), dtype),
        np.zeros((0, 2, 2), dtype),
    )


def squares(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample functions of square matrices."""
    for matrix in (*_square(dtype), *_oblong(dtype)[:1], tame(dtype, 3)):
        yield sample(matrix)


def matrices(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample functions of matrices."""
    for matrix in (*_square(dtype), *_oblong(dtype), tame(dtype, 3)):
        yield sample(matrix)


def choleskys(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``cholesky``."""
    yield from squares(dtype)
    yield sample(np.eye(2, dtype=dtype), upper=True)


def hermitians(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``eigh``."""
    yield from squares(dtype)
    yield sample(np.eye(2, dtype=dtype), "u")
    yield sample(np.eye(2, dtype=dtype), UPLO="X")


def solves(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``solve``."""
    for matrix in (*_square(dtype), *_oblong(dtype)[:1]):
        size = matrix.shape[-1]
        yield sample(matrix, tame(dtype, size))
        yield sample(matrix, tame(np.dtype("f8"), 2 * size).reshape(size, 2))
    yield sample(np.eye(3, dtype=dtype), tame(dtype, 4))
    yield sample(np.eye(3, dtype=dtype), np.ones(3, np.longdouble))
    yield sample(np.eye(3, dtype=dtype), tame(dtype, 12).reshape(4, 3, 1))


def tensorsolves(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``tensorsolve``."""
    block = np.eye(6, dtype=dtype)
    yield sample(block.reshape(2, 3, 6), tame(dtype, 6).reshape(2, 3))
    yield sample(block.reshape(6, 3, 2), tame(dtype, 6))
    yield sample(block.reshape(2, 3, 6), tame(dtype, 6), axes=(1, 0))
    yield sample(block.reshape(2, 3, 6), tame(dtype, 6), axes=(5,))
    yield sample(block.reshape(4, 9), tame(dtype, 9))


def tensorinvs(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``tensorinv``."""
    block = np.eye(6, dtype=dtype)
    yield sample(block.reshape(2, 3, 6))
    yield sample(block.reshape(6, 3, 2), ind=1)
    yield sample(block.reshape(6, 3, 2), ind=0)
    yield sample(block.reshape(4, 9), ind=1)
    yield sample(np.zeros((0, 0), dtype), ind=1)


def least_squares(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``lstsq``."""
    tall = (tame(dtype, 12).reshape(4, 3) + np.eye(4, 3, dtype=dtype)).astype(dtype)
    for matrix in (tall, tall.T, np.zeros((4, 2), dtype), tall[:0], tall[:, :0]):
        rows = len(matrix)
        yield sample(matrix, tame(dtype, rows))
        yield sample(matrix, tame(np.dtype("f8"), 2 * rows).reshape(rows, 2), rcond=0.5)
    yield sample(tall, np.zeros((4, 0), dtype), None)
    yield sample(tall, tame(dtype, 3))
    yield sample(tall[None], tame(dtype, 3))


def qrs(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``qr``."""
    yield from matrices(dtype)
    for matrix in (_oblong(dtype)[0], _oblong(dtype)[1]):
        for mode in ("complete", "r", "raw"):
            yield sample(matrix, mode)
    yield sample(_oblong(dtype)[0], mode="economic")


def svds(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``svd``."""
    yield from matrices(dtype)
    for matrix in _oblong(dtype)[:2]:
        yield sample(matrix, full_matrices=False)
        yield sample(matrix, compute_uv=False)
    for symmetric in (np.eye(2, dtype=dtype), _oblong(dtype)[0]):
        yield sample(symmetric, hermitian=True)
        yield sample(symmetric, True, False, True)


def ranks(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``matrix_rank``."""
    yield from matrices(dtype)
    stack = _square(dtype)[0]
    yield sample(np.array(stack[0, 0, 0]))
    yield sample(stack, 0.5)
    yield sample(stack[0], np.array([0.1, 10.0, 1.0]))
    yield sample(stack, hermitian=True)
    yield sample(stack, rtol=0.5)
    yield sample(stack, 0.5, rtol=0.5)


def conds(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``cond``."""
    yield from matrices(dtype)
    stack = _square(dtype)[0]
    for order in (1, -2, 2.0, np.inf, "fro", "nuc", 3):
        yield sample(stack, order)
    yield sample(_oblong(dtype)[0], p=1)


def pinvs(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``pinv``."""
    yield from matrices(dtype)
    stack = _square(dtype)[0]
    yield sample(stack, 0.1)
    yield sample(stack, np.array([0.1, 0.5]))
    yield sample(stack, hermitian=True)
    yield sample(stack, rtol=None)
    yield sample(stack, rtol=0.5)
    yield sample(stack, 0.1, rtol=0.5)


_ORDERS = (None, 0, 1, -1, 2, -2, 2.5, np.inf, -np.inf, "fro", "nuc")


def norms(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``norm``."""
    for array in arrays(dtype):
        yield sample(array)
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube[0].T, keepdims=True)
    yield sample(cube[0], "f")
    for order in _ORDERS:
        yield sample(cube[0, 0], order)
        yield sample(cube, order, axis=1)
        yield sample(cube, order, (2, -3), keepdims=True)
        yield sample(cube[0, :, :0], order)
        yield sample(cube[0, 0, :0], order)
    yield sample(np.ones((2, 2), np.longdouble), 1)
    yield sample(cube, 1)
    yield sample(cube, axis=-1, keepdims=True)
    yield sample(cube, axis=3)
    yield sample(cube, axis=[1])
    yield sample(cube[0, 0, 0], axis=0)


def matrix_norms(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``matrix_norm``."""
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube)
    yield sample(cube[0], ord=1, keepdims=True)
    yield sample(cube[0, 0])


def vector_norms(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``vector_norm``."""
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube)
    yield sample(cube, keepdims=True)
    yield sample(cube, axis=(2, 0))
    yield sample(cube, axis=(-1, 0), keepdims=True, ord=1)
    yield sample(cube, axis=1, ord=np.inf)
    yield sample(cube, axis=-1, keepdims=True)
    yield sample(cube, axis=(3,))
    yield sample(cube[0, 0, 0])
