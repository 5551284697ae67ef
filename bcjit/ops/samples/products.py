"""Samples for contractions and other products of arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bcjit.ops.opdef import Sample, sample
from bcjit.ops.samples.values import tame

__all__ = [
    "chains",
    "convolutions",
    "correlations",
    "crosses",
    "diagonals",
    "einsums",
    "krons",
    "linalg_crosses",
    "linalg_tensordots",
    "linalg_traces",
    "outers",
    "powers",
    "products",
    "tensordots",
    "traces",
    "transposes",
    "vecdots",
]

_F4 = np.dtype("f4")


def products(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.linalg.matmul``."""
    grid = tame(dtype, 12).reshape(4, 3)
    yield sample(grid, grid.T)
    yield sample(grid, tame(_F4, 3))
    yield sample(grid, 2)


def tensordots(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``tensordot``."""
    cube, other = tame(dtype, 24).reshape(2, 3, 4), tame(_F4, 12).reshape(4, 3)
    yield sample(cube, other, 1)
    yield sample(cube, other, axes=([2, 1], [0, 1]))
    yield sample(cube, other, ((-1,), (0,)))
    yield sample(cube, cube, 3)
    yield sample(other, other.T)
    yield sample(cube[0, 0], 2, 0)
    yield sample(other, cube, (0, 2))
    yield sample(cube[:, :, :0], other[:0], 1)
    yield sample(cube, other, 2)
    yield sample(cube, other, ((0, 0), (1, 1)))
    yield sample(cube, other, ((0, 1), 1))


def linalg_tensordots(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.linalg.tensordot``."""
    grid = tame(dtype, 12).reshape(4, 3)
    yield sample(grid, grid)
    yield sample(grid, grid, axes=((0,), (0,)))


def krons(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``kron``."""
    grid, cube = tame(dtype, 6).reshape(2, 3), tame(_F4, 8).reshape(2, 2, 2)
    for left, right in (
        (grid, grid.T),
        (grid, cube),
        (cube, grid[0]),
        (grid[0], grid[0, 0]),
        (2, grid[0, 0]),
        (2.5, grid),
        (grid[:0], grid),
        (grid[0], [1, 2]),
    ):
        yield sample(left, right)


def crosses(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``cross``."""
    grid = tame(dtype, 12).reshape(4, 3)
    yield sample(grid, grid[::-1])
    yield sample(grid[0], tame(_F4, 3))
    yield sample(grid.T, grid, 0)
    yield sample(grid, grid.T, axisb=0, axisc=0)
    yield sample(grid.T, grid[:1].T, axis=0)
    yield sample(grid[:, :2], grid)
    yield sample(grid[0, 0], grid)
    yield sample(grid, grid, axisc=2)


def linalg_crosses(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.linalg.cross``."""
    grid = tame(dtype, 12).reshape(4, 3)
    yield sample(grid, grid[::-1])
    yield sample(grid.T, grid.T, axis=0)


def powers(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``matrix_power``."""
    stack = (np.ones((2, 2, 2), dtype) + np.eye(2, dtype=dtype)).astype(dtype)
    for n in (0, 1, 2, 3, 6, -1, -3):
        yield sample(stack, n)
    yield sample(stack[0], 0)
    yield sample(np.zeros((2, 2), dtype), -1)
    yield sample(stack[0], 1.5)
    yield sample(tame(dtype, 6).reshape(2, 3), 2)


def chains(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``multi_dot``."""
    a, b, c = (tame(dtype, 12).reshape(shape) for shape in ((2, 6), (6, 2), (2, 6)))
    line = tame(_F4, 6)
    yield sample([a, b])
    yield sample((a, b, c))
    yield sample([b, c, b])
    yield sample([a, b, c, b])
    yield sample([line, b, c, line])
    yield sample([a, b, c, line])
    yield sample([line, b, c])
    yield sample([a, b, c], out=np.zeros((2, 6), dtype))
    yield sample([a, b, line])
    yield sample([a])
    yield sample([a, a])


def outers(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.linalg.outer``."""
    yield sample(tame(dtype, 3), tame(_F4, 2))
    yield sample(tame(dtype, 4).reshape(2, 2), tame(_F4, 2))


def diagonals(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.linalg.diagonal``."""
    cube = tame(dtype, 24).reshape(2, 3, 4)
    for offset in (0, 2, -1, 9):
        yield sample(cube, offset=offset)
    yield sample(cube[0, 0])


def linalg_traces(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.linalg.trace``."""
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube, offset=1)
    yield sample(cube[0], dtype=np.float64)
    yield sample(cube[0, 0])


def traces(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``trace``."""
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube)
    yield sample(cube, -1, 1, 2)
    yield sample(cube, 9, axis1=0, axis2=-1)
    yield sample(cube[0], 1, dtype=np.float64)
    yield sample(cube, 0, 1, 2, None, np.zeros(2, np.float64))
    yield sample(cube, out=np.zeros(3, dtype))
    yield sample(cube[0, 0])
    yield sample(cube, axis1=1)


def transposes(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``matrix_transpose``."""
    cube = tame(dtype, 24).reshape(2, 3, 4)
    yield sample(cube)
    yield sample(cube[0, 0])


def vecdots(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``np.linalg.vecdot``."""
    cube, line = tame(dtype, 24).reshape(2, 3, 4), tame(_F4, 4)
    if dtype.kind == "c":
        cube = (cube * dtype.type(1 + 2j)).astype(dtype)
    yield sample(cube, line)
    yield sample(cube[0, 0], line)
    yield sample(cube, cube[:1], axis=0)
    yield sample(cube[:, :1], cube, axis=-1)
    yield sample(cube, line[:3])
    yield sample(cube[0, 0, 0], line)


def convolutions(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``convolve``."""
    long, short = tame(dtype, 6), tame(_F4, 3)
    for mode in ("full", "same", "valid"):
        yield sample(long, short, mode)
        yield sample(short, long, mode=mode)
    yield sample(long, long, "same")
    yield sample(long[:0], short)
    yield sample(long, 2)
    yield sample(long.reshape(2, 3), short)


def correlations(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``correlate``."""
    yield from convolutions(dtype)
    yield sample(tame(dtype, 6), tame(_F4, 3))
    yield sample(tame(dtype, 2), tame(np.dtype("c8"), 3), "full")


def einsums(dtype: np.dtype[Any]) -> Iterator[Sample]:
    """Sample ``einsum``."""
    cube, grid = tame(dtype, 24).reshape(2, 3, 4), tame(_F4, 12).reshape(4, 3)
    square = tame(dtype, 9).reshape(3, 3)
    for text, *operands in (
        # one operand: views, diagonals, sums
        ("ijk->kij", cube),
        ("ba", grid),
        ("...j->j...", cube),
        ("ii->i", square),
        ("ii", square),
        ("kii->ik", np.broadcast_to(square, (2, 3, 3))),
        ("ijk->j", cube),
        ("i...->...", cube),
        ("ij->", cube[0, :, :0]),
        ("", square[0, 0]),
        # several
        ("ijk,kj->i", cube, grid),
        ("ij, jk", grid, square),
        ("...ij,jk->...ik", cube, grid),
        ("i,i", grid[0], grid[1]),
        ("i,j->ij", grid[0], square[0]),
        ("ij,kl->il", square, grid),
        ("ijk,ijk->ik", cube, cube[:, :1]),
        ("ij,ij->i", square[:, :1], square[:1]),
        ("ii,i->i", square, square[0]),
        ("...,...", cube, 2),
        ("ij,jk,kl,l", square, square, grid.T, grid[:, 0]),
        ("i,->i", square[0], 2.0),
        # not NumPy's
        ("...->", cube),
        ("ij->ii", square),
        ("ij->k", square),
        ("ij", cube),
        ("ij,jk", grid, grid),
        ("ii", grid),
        ("i$", square),
        ("ij,jk", square),
    ):
        yield sample(text, *operands)
    yield sample(cube, [0, 1, 2], grid, [2, 1], [0])
    yield sample(grid, [1, 0])
    yield sample(cube, [Ellipsis, 3], grid, [3, 30], [Ellipsis, 30])
    for optimize in (True, "greedy", ["einsum_path", (0, 1), (0, 1)]):
        yield sample("ij,jk,kl->il", square, square, square, optimize=optimize)
    yield sample("ij,ij->", square, square, optimize=True)
    yield sample("...k->k", cube, optimize=True)
    yield sample("ii->i", np.zeros((0, 3), dtype))
    yield sample("ij->ji", square, optimize=True)
    yield sample("ij,jk->ik", square, square, out=np.zeros((3, 3), dtype))
    yield sample("ij->i", square, out=np.zeros(3, np.float64))
    yield sample("ij->i", square[:1], out=np.zeros(3, dtype))
    yield sample("i,i->", square[0], square[1], out=np.zeros((), dtype))
    yield sample("ij,jk->ik", square, square, dtype=np.float64)
    yield sample("ij->i", square, dtype=np.int8, casting="same_kind")
    yield sample("ij->ji", square, dtype=np.int8)
