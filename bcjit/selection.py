"""Which parts are compiled and which nodes a backend gets, for bisection (``BCJIT_ONLY``); it counts and tells, and knows neither parts nor nodes.

``BCJIT_ONLY="parts=0:5,nodes=7:9,to=file"``: of the parts in the order in which they come up only the first five are compiled, the others run
plain; of the nodes only those with the numbers 7 and 8 go to the backend, the others to eager. A bound that is left out is none. What came up
is appended to the file, a dict in Python's syntax a line; ``to`` is the last word, and takes the rest of the text.

The choice is for one process, in which the numbers have a meaning. Those that it forks off or starts compile everything, and tell only that they are
there; ``parent=123`` says whose child that process is.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Final

from bcjit.errors import ArgumentError

__all__ = ["Selection", "choosing", "selected"]

VARIABLE: Final = "BCJIT_ONLY"
# Of longer ranges of nodes not each one is told.
TOLD: Final = 64


class Selection:
    """A choice of parts and nodes by their numbers.

    Parameters
    ----------
    text
        As in the environment variable.
    """

    def __init__(self, text: str) -> None:
        self.parts = self.nodes = range(sys.maxsize)
        self.file: str | None = None
        self._is_meant = True
        rest = text
        while rest:
            whole, (word, _, rest) = rest, map(str.strip, rest.partition(","))
            key, _, value = word.partition("=")
            if not word:
                continue
            if key == "to":
                self.file, rest = whole.strip()[len("to=") :], ""
            elif key == "parent" and value.isdecimal():
                self._is_meant = os.getppid() == int(value)
            elif key == "parts":
                self.parts = _range(word, value)
            elif key == "nodes":
                self.nodes = _range(word, value)
            else:
                raise ArgumentError(_problem(word))
        self._numbers: dict[Hashable, int] = {}
        self._count = 0
        self._process = os.getpid()
        self._silent = 0  # another process, which has told that it is there

    @property
    def _is_own(self) -> bool:
        return self._is_meant and os.getpid() == self._process

    def takes_part(self, key: Hashable, **words: object) -> bool:
        """Whether a part is compiled; `words` say what it is."""
        if not self._is_own:
            self._tell_of_process()
            return True
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers.setdefault(key, len(self._numbers))
            self.tell(part=number, **words)
        return number in self.parts

    @property
    def seen(self) -> tuple[Hashable, ...]:
        """The keys of the parts that came up, by number."""
        return tuple(self._numbers)

    def takes_nodes(self, count: int) -> tuple[int, range]:
        """Return the number of the first of the next nodes, and which of them are chosen, counted from it."""
        if not self._is_own:
            return 0, range(count)
        first = self._count
        self._count += count
        self.tell(nodes=self._count)
        low, high = (min(max(at - first, 0), count) for at in (self.nodes.start, self.nodes.stop))
        return first, range(low, max(low, high))

    @property
    def tells_nodes(self) -> bool:
        """Whether so few nodes are chosen that each is told."""
        return self.file is not None and self._is_own and len(self.nodes) <= TOLD

    def tell(self, **words: object) -> None:
        """Append what came up to the file; other processes have other numbers."""
        if self._is_own:
            self._write(words)

    def _tell_of_process(self) -> None:
        if self._silent != os.getpid():
            self._silent = os.getpid()
            self._write({"process": self._silent})

    def _write(self, words: dict[str, object]) -> None:
        if self.file is not None:
            with open(self.file, "a", encoding="utf-8") as stream:  # noqa: PTH123 - pathlib takes longer to import than most of bcjit
                stream.write(f"{words!r}\n")


def _range(word: str, text: str) -> range:
    low, colon, high = text.partition(":")
    bounds = (low or "0", high or str(sys.maxsize))
    if not colon or not all(bound.isdecimal() for bound in bounds):
        raise ArgumentError(_problem(word))
    return range(int(bounds[0]), int(bounds[1]))


def _problem(word: str) -> str:
    return f"environment variable {VARIABLE}: parts=low:high, nodes=low:high, parent=number or to=file, which is the last, is expected, got {word!r}"


def _from_environment() -> Selection | None:
    text = os.environ.get(VARIABLE, "")
    return Selection(text) if text else None


# The last one holds; None: everything is chosen.
_active: Final[list[Selection | None]] = [_from_environment()]


def selected() -> Selection | None:
    """Return the choice that holds, None where everything is chosen."""
    return _active[-1]


@contextmanager
def choosing(selection: Selection) -> Iterator[Selection]:
    """Let a choice hold for what is compiled in the ``with`` block, in all threads."""
    _active.append(selection)
    try:
        yield selection
    finally:
        _active.remove(selection)
