"""How long the steps of a compilation take; it reports nothing."""

from __future__ import annotations

import time

from bcjit.code_cache import Times

__all__ = ["timed"]


class timed:  # noqa: N801 - reads as a statement
    """Adds the time of a block to one of the times of an entry.

    Not a generator under ``contextlib``: what a signal handler raises in here must not pass through frames of its own.
    """

    __slots__ = ("start", "times", "what")

    def __init__(self, times: Times, what: str) -> None:
        self.times = times
        self.what = what

    def __enter__(self) -> None:
        self.start = time.thread_time()

    def __exit__(self, *_: object) -> None:
        spent = time.thread_time() - self.start
        setattr(self.times, self.what, getattr(self.times, self.what) + spent)
