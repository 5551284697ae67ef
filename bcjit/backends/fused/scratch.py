"""Buffers that wait between the calls of one graph; it knows nothing of what is written into them."""

from __future__ import annotations

import math
import weakref
from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ScratchPool"]

Shapes: TypeAlias = tuple[tuple[int, ...], ...]

# How many calls at one moment find buffers (threads, recursion), how much memory waits in each set, and in all of all functions.
_SETS: Final = 2
_MOST_BYTES: Final = 1 << 29
_MOST_OF_ALL: Final = 1 << 30
_FEW_BYTES: Final = 1 << 24  # for so much nobody is asked: functions would have to be many

_pools: Final[dict[int, weakref.ref[ScratchPool]]] = {}  # those made last come last

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

    __slots__ = ("__weakref__", "_dtypes", "_waiting")

    def __init__(self, dtypes: Sequence[np.dtype[np.generic]]) -> None:
        key = id(self)
        _pools[key] = weakref.ref(self, lambda _: _pools.pop(key, None))
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
        """Take a set back; one that is too large to wait is freed, and for a large one those of other functions may be."""
        size = _count_bytes(held)
        if size > _MOST_BYTES:
            return
        if size > _FEW_BYTES:
            _make_room(size)
        self._waiting.append(held)

    @property
    def waiting_bytes(self) -> int:
        """How much memory waits."""
        return sum(map(_count_bytes, list(self._waiting)))

    def clear(self) -> None:
        """Free what waits."""
        self._waiting.clear()

    def __len__(self) -> int:
        return len(self._waiting)


def _make(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> np.ndarray:
    """Return new memory at the start of a cache line, where NumPy's own large arrays never start: stores are a tenth faster."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def _count_bytes(held: list[np.ndarray]) -> int:
    return sum(one.nbytes for one in held)


def _make_room(size: int) -> None:
    """Free what waits in other pools, until there is room for a set. All steps are single ones: whoever comes in between finds fewer sets."""
    pools = [pool for ref in list(_pools.values()) if (pool := ref()) is not None]
    waiting = sum(pool.waiting_bytes for pool in pools)
    for pool in pools:
        if waiting + size <= _MOST_OF_ALL:
            return
        waiting -= pool.waiting_bytes
        pool.clear()
