"""How many threads a kernel may use; ``csrc/kernel_pool.c`` asks it where a kernel has long to run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, cast

from bcjit.config import config

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["thread_count"]


def thread_count() -> int:
    """Return the setting, or how many processors this process may run on."""
    return config.num_threads or _processors()


def _processors() -> int:
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    if affinity is None:
        return os.cpu_count() or 1
    return len(cast("Callable[[int], set[int]]", affinity)(0))
