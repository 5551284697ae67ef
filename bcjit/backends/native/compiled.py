"""Programs as machine code, each compiled once in a process; it knows no graph."""

from __future__ import annotations

import time
from threading import Lock
from typing import Final

from bcjit.backends.native.emit import Emitted, emit
from bcjit.backends.native.engine import Loaded, machine
from bcjit.backends.native.program import Program
from bcjit.records import dataclass

__all__ = ["Compiled", "compiled"]


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """Machine code of a program."""

    emitted: Emitted
    loaded: Loaded
    seconds: float  # to emit, compile and load it; 0 if it was there
    reloaded: bool  # from the disk

    @property
    def address(self) -> int:
        """Of the function."""
        return self.loaded.address

    @property
    def library(self) -> object:
        """What keeps the code in memory."""
        return self.loaded.library


_known: Final[dict[str, Loaded]] = {}
_lock: Final = Lock()


def compiled(program: Program) -> Compiled:
    """Return the machine code of a program."""
    start = time.perf_counter()
    target = machine()
    emitted = emit(program, target.vector_bytes, '"prefer-vector-width"="512" nounwind')
    key = program.key
    with _lock:
        loaded = _known.get(key)
    if loaded is not None:
        return Compiled(emitted, loaded, 0.0, False)
    image = target.compile(emitted.text)
    loaded = target.load(image)
    with _lock:
        _known[key] = loaded
    return Compiled(emitted, loaded, time.perf_counter() - start, False)
