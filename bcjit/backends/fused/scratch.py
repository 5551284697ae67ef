"""Buffers that wait between the calls of one graph; it knows nothing of what is written into them."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ScratchPool"]

Shapes: TypeAlias = tuple[tuple[int, ...], ...]

# How many calls at one moment find buffers (threads, recursion), and how much memory waits in each set.
_SETS: Final = 2
_MOST_BYTES: Final = 1 << 29

_LINE: Final = 64  # bytes of a cache line


class ScratchPool:
    """Sets of buffers; each is in the hands of one call at a time.

    Taking and giving back are single operations on a deque, so that threads, signal handlers and finalisers may call the same function in
    between. A call that fails gives nothing back: whoever looks at the traceback finds what it had. All is freed with the pool.

    Parameters
    ----------
    dtypes
        Of the buffers of a set, in order.
    """

    __slots__ = ("_dtypes", "_waiting")

    def __init__(self, dtypes: Sequence[np.dtype[np.generic]]) -> None:
        self._dtypes = tuple(dtypes)
        self._waiting: deque[list[np.ndarray]] = deque(maxlen=_SETS)

    def take(self, shapes: Shapes) -> list[np.ndarray]:
        """Return a set of buffers of these shapes, of undefined contents."""
        try:
            held = self._waiting.pop()
        except IndexError:
            held = []
        if len(held) == len(shapes) and all(
            one.shape == shape for one, shape in zip(held, shapes, strict=True)
        ):
            return held
        held.clear()  # before there are new ones
        held.extend(_make(shape, dtype) for shape, dtype in zip(shapes, self._dtypes, strict=True))
        return held

    def give(self, held: list[np.ndarray]) -> None:
        """Take a set back; one that is too large to wait is freed."""
        if sum(one.nbytes for one in held) <= _MOST_BYTES:
            self._waiting.append(held)

    def __len__(self) -> int:
        return len(self._waiting)


def _make(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> np.ndarray:
    """Return new memory at the start of a cache line, where NumPy's own large arrays never start: stores are a tenth faster."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size].view(dtype).reshape(shape)
