"""What became of a loop in a capture, for people; it decides nothing."""

from __future__ import annotations

from typing import Final, Literal

from bcjit.errors import SourceLine
from bcjit.records import dataclass

__all__ = ["How", "LoopReport"]

How = Literal["unrolled", "rolled", "left"]

_WORDS: Final[dict[str, str]] = {
    "rolled": "captured whole",
    "unrolled": "unrolled",
    "left": "left in Python",
}


@dataclass(frozen=True, slots=True)
class LoopReport:
    """What became of a loop.

    Parameters
    ----------
    line
        Where its head is.
    how
        ``"rolled"``: it is one node; ``"unrolled"``: each turn is captured by itself; ``"left"``: a part is one turn at most.
    why
        The reason, or how much was captured.
    trips
        What it goes over, empty where it is not known or nothing.
    """

    line: SourceLine
    how: How
    why: str
    trips: str = ""

    def text(self) -> str:
        """Return the report as a sentence: ``model.py:12: loop over range(n) captured whole: 14 nodes in its body``."""
        over = f" over {self.trips}" if self.trips else ""
        why = f": {self.why}" if self.why else ""
        return f"{self.line.text()}: loop{over} {_WORDS[self.how]}{why}"

    def as_dict(self) -> dict[str, str]:
        """Return the report as plain data."""
        return {"where": self.line.text(), "how": self.how, "why": self.why, "trips": self.trips}
