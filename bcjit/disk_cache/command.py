"""What ``python -m bcjit cache`` says and does, as lines of text; it prints nothing."""

from __future__ import annotations

from typing import Final

from bcjit.config import config
from bcjit.disk_cache.own_files import Unusable
from bcjit.disk_cache.store import DiskCache

__all__ = ["clear", "info"]

# Ignored files that are named.
_SHOWN: Final = 20


def info() -> list[str]:
    """Say where the cache is, what is in it, which files are ignored and why."""
    cache = DiskCache()
    lines = [] if config.disk_cache else ["switched off (BCJIT_CACHE=0)"]
    try:
        folder = cache.folder
        found = cache.survey()
    except FileNotFoundError:
        return [*lines, f"folder   {_safe(folder)} (not there yet)"]
    except (Unusable, OSError, ValueError) as error:
        return [*lines, f"no cache: {_why(error)}"]
    lines += [
        f"folder   {_safe(folder)}",
        f"kernels  {found.kernels:,}",
        f"bytes    {found.size:,} of at most {cache.limit:,}",
        f"ignored  {_files(len(found.ignored))}",
    ]
    lines += [f"  {_safe(name)}: {why}" for name, why in found.ignored[:_SHOWN]]
    more = len(found.ignored) - _SHOWN
    return [*lines, f"  and {more:,} more"] if more > 0 else lines


def clear() -> tuple[list[str], int]:
    """Remove the files of the cache; return what to say, and the exit code."""
    try:
        count, size = DiskCache().clear()
    except FileNotFoundError:
        count = size = 0
    except (Unusable, OSError, ValueError) as error:
        return [f"nothing is removed: {_why(error)}"], 1
    return [f"{count:,} kernel{'s' * (count != 1)} removed, {size:,} bytes"], 0


def _why(error: Exception) -> str:
    if isinstance(error, Unusable):
        return f"{_safe(error.path)}: {error.why}"
    return _safe(str(error))


def _files(count: int) -> str:
    return f"{count:,} file{'s' * (count != 1)}"


def _safe(name: str) -> str:
    """Return a name of a file as text that can be printed on one line."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)
