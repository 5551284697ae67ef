"""What is being compiled, on the terminal, while that takes long under ``python -m bcjit run``; it must not be noticed otherwise.

A line is shown behind what the program has written, and taken away before the program goes on: the cursor is saved and
restored, and nothing wraps, so what is on the screen is the program's again. Nothing is shown where that cannot be promised: stderr is no
terminal, a program in raw mode draws the screen itself, other threads or forked processes may write in between, the process is in the background
(where writing may stop it).
"""

from __future__ import annotations

import os
import sys
import termios
import time
from typing import Final

from bcjit.config import config
from bcjit.errors import SourceLine

__all__ = ["Progress"]

STDERR: Final = 2
AFTER: Final = 0.5  # seconds of compiling in one stretch
PAUSE: Final = 1.0  # a program that ran for so long in between has begun another stretch
# Save the cursor; long lines do not wrap, which could scroll the place that was saved.
_SHOW: Final = b"\x1b7\x1b[?7l%s\x1b[?7h"
_CLEAR: Final = b"\x1b8\x1b[K"


class Progress:
    """Shows what is being compiled once a stretch of compiling has taken long.

    Parameters
    ----------
    file
        The file descriptor to write to.
    after
        Seconds of compiling in one stretch that are not worth a word.
    """

    def __init__(self, file: int = STDERR, after: float = AFTER) -> None:
        self._file = file
        self._after = after
        self._possible = os.environ.get("TERM", "dumb") != "dumb"
        self._depth = 0  # a signal's handler may have something compiled in the middle
        self._shown = False
        self._began = self._ended = time.monotonic()
        self._spent = 0.0  # in this stretch, before `_began`
        self._count = 0
        self._line: SourceLine | None = None

    def give_up(self) -> None:
        """Show nothing any more: processes were forked, or nobody reads."""
        self._possible = False

    def begin(self, line: SourceLine) -> None:
        """Show that a function is compiled, if compiling has taken long; `end` must follow."""
        now = time.monotonic()
        if not self._depth:
            if now - self._ended > PAUSE:
                self._spent, self._count = 0.0, 0
            self._began = now
        self._depth += 1
        self._count += 1
        self._line = line
        self.step("")

    def end(self) -> None:
        """Take the line away: the program runs again."""
        self._depth = max(self._depth - 1, 0)
        if self._shown:
            self._shown = False
            self._write(_CLEAR)
        if not self._depth:
            self._ended = time.monotonic()
            self._spent += self._ended - self._began

    def step(self, what: str) -> None:
        """Show which step of the compilation begins, if it has taken long already."""
        if self._line is None:
            return
        spent = self._spent + time.monotonic() - self._began
        if spent < self._after or not self._is_fit():
            return
        step = f", {what}" if what else ""
        name = f"{self._line.function} ({self._line}){step}"
        text = f" bcjit: compiling {name}; {self._count} parts, {spent:.1f} s"
        shown = "".join(c if c.isprintable() else "?" for c in text).encode("ascii", "replace")
        again = _CLEAR if self._shown else b""
        self._shown = True
        self._write(again + _SHOW % shown)

    def _is_fit(self) -> bool:
        """Whether a line can be shown now without a trace."""
        if not (self._possible and config.progress and _threads() == 1):
            return False
        try:
            modes = termios.tcgetattr(self._file)[3]
        except (OSError, termios.error):
            return False  # no terminal, or closed
        try:
            in_front = os.tcgetpgrp(self._file) == os.getpgrp()
        except OSError:
            in_front = True  # not our controlling terminal: it stops nobody
        return in_front and bool(modes & termios.ICANON)

    def _write(self, text: bytes) -> None:
        try:
            os.write(self._file, text)
        except OSError:
            self.give_up()


def _threads() -> int:
    """Return how many threads run Python code."""
    return len(sys._current_frames())  # noqa: SLF001 - public, for such purposes
