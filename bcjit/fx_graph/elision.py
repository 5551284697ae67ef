"""Where NumPy computes a sum or product into its right operand: a rule of NumPy's for large temporaries, told again.

Sums and products of two temporaries, or of one and something else, are computed into one (numpy/_core/src/multiarray/temp_elide.c): into the left
one if it can be, else into the right one, and then with the operands swapped. That shows in the last bits of complex products, and in
which of two NaNs comes through. Generated code keeps temporaries what they are (see ``places``); where it cannot, it asks here.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

__all__ = ["COMMUTED", "LEAST", "ever_swaps", "swaps"]

COMMUTED: Final[tuple[Callable[..., object], ...]] = (operator.add, operator.mul)
LEAST: Final = 256 * 1024  # bytes: NPY_MIN_ELIDE_BYTES


@functools.cache
def ever_swaps() -> bool:
    """Whether NumPy does this at all on this Python: it must be able to tell a temporary, which it cannot everywhere. It is tried."""
    size = LEAST // 8 + 1
    left, right = np.full(size, np.nan), np.full(size, -np.nan)
    tried = left + np.positive(right)
    orders = [np.signbit(np.add(*pair)[0]) for pair in ((left, right), (right, left))]
    return bool(orders[0] != orders[1] and np.signbit(tried[0]) == orders[1])


def swaps(left: Any, right: Any) -> bool:
    """Whether NumPy would compute ``right * left``, where the right operand is a temporary and the left one is none."""
    if type(right) is not np.ndarray or right.nbytes < LEAST:
        return False
    if not (right.flags.owndata and right.flags.writeable):
        return False
    array = np.asarray(left)
    fits = array.ndim == 0 or array.shape == right.shape
    return fits and np.can_cast(array.dtype, right.dtype, "safe")
