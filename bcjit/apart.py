"""Work done where no signal's handler of the program comes in the middle of it: in another thread, while the main one waits."""

from __future__ import annotations

from _thread import allocate_lock, get_ident, start_new_thread
from collections.abc import Callable
from typing import Final, TypeVar

__all__ = ["apart"]

_Result = TypeVar("_Result")
_OURS: Final[set[int]] = set()  # the threads that do such work now


def apart(work: Callable[[], _Result]) -> _Result:
    """Return what a function gives, called in a thread in which Python runs no handlers; what it raises is raised here.

    Python runs handlers in the main thread only. Code of others that takes a lock there, and not in C, may never give it back where a handler
    raises; the import statement is such code. So whoever calls waits for another thread, and what is raised while it waits leaves that one to
    its end. The function must not wait for anything that the main thread may hold.
    """
    if get_ident() in _OURS:
        return work()
    done = allocate_lock()
    done.acquire()
    given: list[_Result] = []
    raised: list[BaseException] = []

    def run() -> None:
        own = get_ident()
        _OURS.add(own)
        try:
            given.append(work())
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised where it was asked for
            raised.append(error)
        finally:
            _OURS.discard(own)
            done.release()

    try:
        start_new_thread(run, ())
    except RuntimeError:  # no more threads, or the interpreter ends
        return work()
    done.acquire()
    if raised:
        try:
            raise raised[0]
        finally:
            raised.clear()  # no cycle through its traceback
    return given[0]
