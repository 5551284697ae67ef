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
``cache``            the disk cache: what is loaded and stored, which files are ignored and why
===================  ================================================================================

Channel ``guards`` is the logger ``"bcjit.guards"``. ``BCJIT_LOGS="guards,recompiles"`` (or ``all``)
sends channels to stderr without any other set-up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from bcjit.errors import ArgumentError
from bcjit.lazy import Later, Unreadable, is_whole

if TYPE_CHECKING:
    import difflib
    import logging
else:
    difflib = Later("difflib")
    # Most programs get no message and do not log themselves; importing it takes as long as a tenth of bcjit.
    logging = Later("logging")

__all__ = ["CHANNELS", "DEBUG", "INFO", "WARNING", "Channel", "apart", "enable", "enable_asked", "forget_once", "get_logger", "once"]  # fmt: skip

DEBUG, INFO, WARNING = (
    10,
    20,
    30,
)  # those of `logging`, by which it may be asked for before it is there
_ROOT: Final = "bcjit"


class Channel:
    """One channel: what it is told goes to its logger; who asks whether anybody listens has no logger made."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def logger(self) -> logging.Logger:
        """Return the channel's logger, which logging may have to be imported for.

        A program that configures logging for itself asks for its own messages, not for ours: these are asked for by name.
        """
        root = logging.getLogger(_ROOT)
        if root.level == logging.NOTSET:
            root.setLevel(logging.WARNING)
        return logging.getLogger(self.name)

    def is_enabled_for(self, level: int) -> bool:
        """Whether a message of this level goes anywhere; runs no code of the program, whose loggers may be of classes of its own."""
        module = sys.modules.get("logging")
        if module is None or not is_whole(module):
            return level >= WARNING
        manager = module.root.manager
        if manager.disable >= level:
            return False
        for name in (self.name, _ROOT):
            found = manager.loggerDict.get(name)
            if found is not None and getattr(found, "level", None):
                return bool(level >= found.level)
        return level >= WARNING

    def log(
        self, level: int, message: str, *args: object, exc_info: BaseException | None = None
    ) -> None:
        """Log a message if anybody listens; it is lost where no file can be opened to import logging."""
        if self.is_enabled_for(level):
            try:
                logger = self.logger()
            except Unreadable:
                return
            logger.log(level, message, *args, exc_info=exc_info)

    def info(self, message: str, *args: object) -> None:
        """Log a message of level ``INFO``."""
        self.log(INFO, message, *args)


CHANNELS: Final[dict[str, Channel]] = {
    name: Channel(f"{_ROOT}.{name}")
    for name in (
        "capture", "guards", "recompiles", "breaks", "graph", "bytecode", "kernels", "time", "hook",
        "cache",
    )
}  # fmt: skip


def get_logger(channel: str) -> Channel:
    """Return a channel of `CHANNELS`."""
    return CHANNELS[channel]


# A program that meets ever new keys must not grow this set for ever.
_ONCE_LIMIT: Final = 4096
# No lock: a signal handler, a finalizer or a forked child may come here while a lock is held. What is used of the dict happens at once.
_said: Final[dict[tuple[str, Hashable], object]] = {}


# Where messages go while a program's own output is caught; see `apart`.
_streams: Final[list[TextIO]] = []


def _stderr_handler() -> logging.StreamHandler[TextIO]:
    """Return a handler that writes to what ``sys.stderr`` is at the moment of the message, not at import."""

    class StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]  # made when logging is there
        writes_to_stderr = True

        def emit(self, record: logging.LogRecord) -> None:
            self.setStream(_streams[-1] if _streams else sys.stderr)
            super().emit(record)

    return StderrHandler()


@contextmanager
def apart() -> Iterator[None]:
    """Let messages go to the present ``sys.stderr``, whatever it becomes in the ``with`` block: ours are not the program's."""
    logger = logging.getLogger("bcjit")
    handler = None if logger.hasHandlers() else _stderr_handler()
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
    logger: Channel,
    key: Hashable,
    message: str,
    *args: object,
    level: int = WARNING,
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
        similar = difflib.get_close_matches(unknown[0], CHANNELS, n=1)
        meant = f" Did you mean {similar[0]!r}?" if similar else ""
        msg = (
            f"no log channel of bcjit is named {unknown[0]!r} (environment variable BCJIT_LOGS);"
            f" the channels are {', '.join(CHANNELS)}, or all.{meant}"
        )
        raise ArgumentError(msg)
    for name in wanted:
        logger = CHANNELS[name].logger()
        if not any(hasattr(handler, "writes_to_stderr") for handler in logger.handlers):
            handler = _stderr_handler()
            handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
            logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        # Else a program that configures the root logger prints each message twice.
        logger.propagate = False


def enable_asked(environ: Mapping[str, str]) -> None:
    """Enable what ``BCJIT_LOGS`` names. A name that there is not is told on stderr: a program must not fail to start for it."""
    names = environ.get("BCJIT_LOGS", "").split(",")
    for name in names:
        try:
            enable(name)
        except ArgumentError as error:
            if sys.stderr is not None:
                print(f"bcjit: {error}", file=sys.stderr)  # noqa: T201 - no logging is set up yet


enable_asked(os.environ)
