"""The log channels of bcjit, through `logging`; it decides nothing about what is worth saying.

===================  ================================================================================
``capture``          what went wrong inside and runs plain: internal errors, backends that fail
``guards``           guards of new entries
``recompiles``       why an entry did not match, cache limits
``breaks``           where and why graphs were cut
``graph``            graphs, as captured and after the passes
``bytecode``         original and residual code of new entries, disassembled
``kernels``          what a backend made of a graph
``time``             how long it took to make an entry
``hook``             the frame hook: unknown Python, chained evaluators
===================  ================================================================================

Channel ``guards`` is the logger ``"bcjit.guards"``. ``BCJIT_LOGS="guards,recompiles"`` (or ``all``)
sends channels to stderr without any other set-up.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from bcjit.errors import ArgumentError

__all__ = ["CHANNELS", "apart", "enable", "forget_once", "get_logger", "once"]

# A program that configures logging for itself asks for its own messages, not for ours: these are asked for by name.
logging.getLogger("bcjit").setLevel(logging.WARNING)

CHANNELS: Final[dict[str, logging.Logger]] = {
    name: logging.getLogger(f"bcjit.{name}")
    for name in (
        "capture", "guards", "recompiles", "breaks", "graph", "bytecode", "kernels", "time", "hook",
    )
}  # fmt: skip


def get_logger(channel: str) -> logging.Logger:
    """Return the logger of a channel of `CHANNELS`."""
    return CHANNELS[channel]


# A program that meets ever new keys must not grow this set for ever.
_ONCE_LIMIT: Final = 4096
# No lock: a signal handler, a finalizer or a forked child may come here while a lock is held. What is used of the dict happens at once.
_said: Final[dict[tuple[str, Hashable], object]] = {}


# Where messages go while a program's own output is caught; see `apart`.
_streams: Final[list[TextIO]] = []


class _StderrHandler(logging.StreamHandler[TextIO]):
    """Writes to what ``sys.stderr`` is at the moment of the message, not at import."""

    def emit(self, record: logging.LogRecord) -> None:
        self.setStream(_streams[-1] if _streams else sys.stderr)
        super().emit(record)


@contextmanager
def apart() -> Iterator[None]:
    """Let messages go to the present ``sys.stderr``, whatever it becomes in the ``with`` block: ours are not the program's."""
    logger = logging.getLogger("bcjit")
    handler = None if logger.hasHandlers() else _StderrHandler()
    _streams.append(sys.stderr)
    if handler is not None:  # else logging itself would write to what sys.stderr has become
        logger.addHandler(handler)
    try:
        yield
    finally:
        _streams.pop()
        if handler is not None:
            logger.removeHandler(handler)


def once(
    logger: logging.Logger,
    key: Hashable,
    message: str,
    *args: object,
    level: int = logging.WARNING,
    exc_info: BaseException | None = None,
) -> bool:
    """Log `message` unless this logger has already logged one under `key`; say whether it did.

    `key` is kept for the life of the process: do not put the user's objects into it. `exc_info` adds a traceback.
    """
    entry = (logger.name, key)
    mine = object()
    if len(_said) >= _ONCE_LIMIT or _said.setdefault(entry, mine) is not mine:
        return False
    logger.log(level, message, *args, exc_info=exc_info)
    return True


def forget_once() -> None:
    """Let every message be said once more (``bcjit.reset()`` and tests)."""
    _said.clear()


def enable(names: str) -> None:
    """Send channels to stderr, all levels.

    Parameters
    ----------
    names
        Channel names separated by commas, or ``"all"``. Empty turns on nothing.
    """
    wanted = [name for name in map(str.strip, names.split(",")) if name]
    if "all" in wanted:
        wanted = list(CHANNELS)
    unknown = [name for name in wanted if name not in CHANNELS]
    if unknown:
        msg = (
            f"no log channel of bcjit is named {unknown[0]!r} (environment variable BCJIT_LOGS);"
            f" the channels are {', '.join(CHANNELS)}, or all"
        )
        raise ArgumentError(msg)
    for name in wanted:
        logger = CHANNELS[name]
        if not any(isinstance(handler, _StderrHandler) for handler in logger.handlers):
            handler = _StderrHandler()
            handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
            logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        # Else a program that configures the root logger prints each message twice.
        logger.propagate = False


enable(os.environ.get("BCJIT_LOGS", ""))
