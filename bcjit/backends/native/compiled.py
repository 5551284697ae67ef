"""Programs as machine code: each is compiled once in a process, and once on a disk; it knows no graph."""

from __future__ import annotations

import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bcjit.backends.native.emit import emit
from bcjit.backends.native.engine import Loaded, in_turn, machine
from bcjit.backends.native.program import Program
from bcjit.lazy import Later
from bcjit.records import dataclass, replace

if TYPE_CHECKING:
    from bcjit.disk_cache import keys, store
else:
    keys, store = Later("bcjit.disk_cache.keys"), Later("bcjit.disk_cache.store")

__all__ = ["Compiled", "compiled", "forget"]


@dataclass(frozen=True, slots=True, eq=False)
class Compiled:
    """Machine code of a program, and what its caller must know."""

    text: str  # of the program
    loaded: Loaded
    width: int  # elements of a vector: the fewest it can be called for
    block: int  # the most
    scratch: int  # bytes
    seconds: float  # what it took to have it; 0 if it was there
    reloaded: bool  # it was on disk


# No lock: a signal's handler that raises could leave one locked, and a dict needs none.
_known: Final[dict[str, Compiled]] = {}
# What stands before the object in a file: width, block, scratch.
_HEAD: Final = struct.Struct("<qqq")
_FUNCTION: Final = '"prefer-vector-width"="512" nounwind'


def compiled(program: Program) -> Compiled:
    """Return the machine code of a program."""
    key = program.key
    found = _known.get(key)
    if found is not None:
        return replace(found, seconds=0.0)
    start = time.perf_counter()
    made = in_turn(lambda: _from_disk(key) or _compiled(program, key))
    made = replace(made, seconds=time.perf_counter() - start)
    return _known.setdefault(key, made)


def forget() -> None:
    """Forget the machine code in memory: what is asked for next comes from disk, or is compiled (benchmarks measure both)."""
    _known.clear()


def _compiled(program: Program, key: str) -> Compiled:
    target = machine()
    emitted = emit(program, target.vector_bytes, _FUNCTION)
    image = target.compile(emitted.text)
    on_disk = _on_disk(key)
    if on_disk is not None:
        store.DiskCache().store(
            on_disk, _HEAD.pack(emitted.width, emitted.block, emitted.scratch) + image
        )
    loaded = target.load(image)
    return Compiled(key, loaded, emitted.width, emitted.block, emitted.scratch, 0.0, reloaded=False)


def _from_disk(key: str) -> Compiled | None:
    on_disk = _on_disk(key)
    data = None if on_disk is None else store.DiskCache().load(on_disk)
    if data is None:
        return None
    width, block, scratch = _HEAD.unpack_from(data)
    return Compiled(
        key, machine().load(data[_HEAD.size :]), width, block, scratch, 0.0, reloaded=True
    )


_sources: Final[list[str | None]] = []  # the digest of this package, once it was asked for


def _on_disk(key: str) -> str | None:
    """Return the key of a program on disk; None where it cannot be told what made its code."""
    if not _sources:
        _sources.append(keys.source_digest(str(Path(__file__).parent)))
    digest = _sources[0]
    if digest is None:
        return None
    target = machine()
    return keys.cache_key(key, target=target.name, llvm=target.version, source=digest)
