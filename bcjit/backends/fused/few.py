"""Sums of rows of a few numbers, where NumPy takes longer for each row than for each number; the same bits, which is tried."""

from __future__ import annotations

import functools
import itertools
from typing import Any, Final

import numpy as np

__all__ = ["add_rows", "adds_in_order"]

# A warning that Python would attribute to a frame of this module raises, as in graphs: what runs here is a part of one.
__warningregistry__ = 0

# From eight on NumPy adds in another order.
_FEW: Final = range(2, 8)


@functools.cache
def adds_in_order(dtype: np.dtype[np.generic]) -> bool:
    """Whether NumPy adds the numbers of a short row one after another to zero, on this machine: which of two NaNs comes through tells."""
    bits = np.dtype(f"u{dtype.itemsize}")
    numbers = np.array(
        [1.5, -0.0, 0.0, np.inf, -np.inf, -1.5, 3e-30, np.nan, np.nan, -np.nan], dtype
    )
    numbers[-2:].view(bits)[:] |= bits.type(5)
    rng = np.random.RandomState(3)
    with np.errstate(all="ignore"):
        for count, rows in itertools.product(_FEW, (2, 3, 64)):
            a = numbers[rng.randint(0, len(numbers), (rows, count))]
            got = np.empty(rows, dtype)
            _add_columns(a, got)
            if got.tobytes() != np.add.reduce(a, axis=-1).tobytes():
                return False
    return True


def _add_columns(a: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> None:
    np.add(a[..., 0], a[..., 1], out=out)
    for column in range(2, a.shape[-1]):
        np.add(out, a[..., column], out=out)
    np.add(out, 0.0, out=out)


def add_rows(
    a: np.ndarray[Any, Any], *, axis: int, keepdims: bool, out: np.ndarray[Any, Any]
) -> None:
    """Add the numbers of each row, into an array."""
    # NumPy takes the addition of one number to another in place for a sum, which takes the other way round.
    if a.shape[-1] in _FEW and out.size > 1 and adds_in_order(a.dtype):
        _add_columns(a, out[..., 0] if keepdims else out)
    else:
        np.add.reduce(a, axis=axis, keepdims=keepdims, out=out)
