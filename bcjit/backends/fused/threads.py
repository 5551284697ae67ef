"""Threads that do the blocks of a run beside the caller's; they know nothing of what is computed.

NumPy lets other threads run in its loops. Threads are made for a run, which takes milliseconds, and end with it: none is there when a
process forks, or at its exit. What one raises ends the run, and is raised by the caller, as if a block of its own had failed: nothing can be seen of a run that fails.
"""

from __future__ import annotations

import _thread
import os
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Final

import numpy as np

from bcjit.backends.native.threads import thread_count
from bcjit.fx_graph.blocks import UNIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["in_threads"]

# Blocks of a run for which a thread pays: to make it takes 100 µs, and the caller's would take some milliseconds.
_FEWEST: Final = 64
# Threads take larger blocks, since they wait for one another between NumPy's calls.
_TOGETHER: Final = 4
_MOST: Final = 16
_LONG: Final = 0.1  # seconds

_one_run: Final = _thread.allocate_lock()  # a second one at a time has no threads


def in_threads(
    part: Callable[..., object],
    length: int,
    step: int,
    local: tuple[np.ndarray, ...],
    shared: tuple[object, ...],
) -> bool:
    """Have threads do the blocks of a run where that is worth it, and return whether it is done; see `Threads`."""
    if length < step * _FEWEST:
        return False
    count = min(thread_count(), _MOST)
    if count < 2 or not _one_run.acquire(blocking=False):
        return False
    try:
        times = next(n for n in range(_TOGETHER, 0, -1) if n == 1 or _fits(length, n * step))
        _Run(part, length, times, step, local, shared).run(count)
    finally:
        _one_run.release()
    return True


def _fits(length: int, step: int) -> bool:
    """Whether no block is so short that its last bits may be others: see `blocks`."""
    return length % step == 0 or length % step >= UNIT


class _Run:
    def __init__(
        self,
        part: Callable[..., object],
        length: int,
        times: int,
        step: int,
        local: tuple[np.ndarray, ...],
        shared: tuple[object, ...],
    ) -> None:
        self.part = part
        self.length, self.times, self.step = length, times, step * times
        self.local, self.shared = local, shared
        self.starts: Iterator[int] = iter(range(0, length, self.step))  # each is one thread's
        self.failures: list[BaseException] = []
        self.process = os.getpid()

    def run(self, count: int) -> None:
        ended = [lock for _ in range(count - 1) if (lock := self._start()) is not None]
        try:
            self._do_blocks()
        finally:
            self._stop()
            for lock in ended:
                self._wait(lock)
        if self.failures:
            raise self.failures.pop()  # it holds this frame

    def _wait(self, ended: _thread.LockType) -> None:
        while not ended.acquire(timeout=_LONG):
            if os.getpid() != self.process:  # a signal handler has forked: there is one thread here
                raise RuntimeError("the threads of a run are in another process")

    def _start(self) -> _thread.LockType | None:
        ended = _thread.allocate_lock()
        ended.acquire()
        try:
            _thread.start_new_thread(self._help, (copy_context(), ended))
        except RuntimeError:
            return None  # no more threads
        return ended

    def _help(self, context: Context, ended: _thread.LockType) -> None:
        try:
            context.run(self._do_blocks)
        except BaseException as error:  # noqa: BLE001 - it is the caller's to raise
            self.failures.append(error.with_traceback(None))
            self._stop()
        finally:
            ended.release()

    def _do_blocks(self) -> None:
        local = [
            np.empty((self.times * one.shape[0], *one.shape[1:]), one.dtype) for one in self.local
        ]
        self.part(self.starts, self.length, self.step, *local, *self.shared)

    def _stop(self) -> None:
        """Leave no block to begin with."""
        for _ in self.starts:
            pass
