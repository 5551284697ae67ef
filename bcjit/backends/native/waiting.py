"""Which calls wait for which while calls are put together: says when that would make two of them wait for each other.

A unit is a call or several calls that are computed at once. A unit waits for another one if one of its calls uses a value of the other one's, or of a
unit that waits for it. As long as no unit waits for itself there is an order in which all can be computed.

Two units, of which each may wait for the other, can become one exactly if no third unit waits for one of them and is waited for by
one of them: a circle through the new unit leaves it, so it goes through a third one, which it comes to by a value that a call
inside uses. So it is enough to ask the units whose values are used directly, each of which knows all that it waits for.

Sets of calls are bits of an int: a thousand calls are a few machine words, and most unions change nothing for others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

from bcjit.records import dataclass

__all__ = ["Waiting"]

Call = TypeVar("Call")


@dataclass(slots=True, eq=False)
class _Unit(Generic[Call]):
    members: int
    waits: int  # for at least one call of each unit that it waits for
    used: set[Call]  # calls outside of which values are used directly


class Waiting(Generic[Call]):
    """Calls in the order of the program, each alone at first."""

    def __init__(self) -> None:
        self._of: dict[Call, _Unit[Call]] = {}
        self._calls: dict[_Unit[Call], list[Call]] = {}

    def __contains__(self, call: object) -> bool:
        """Whether a call was added."""
        return call in self._of

    def add(self, call: Call, used: Iterable[Call]) -> None:
        """Add a call behind all others.

        Parameters
        ----------
        call
            The call.
        used
            Those whose values it uses.
        """
        used = set(used)
        waits = 0
        for one in used:
            unit = self._of[one]
            waits |= unit.members | unit.waits
        made = self._of[call] = _Unit(1 << len(self._of), waits, used)
        self._calls[made] = [call]

    def can_unite(self, call: Call, other: Call) -> bool:
        """Whether two calls, each with what it was united with, can be computed at once."""
        one, two = self._of[call], self._of[other]
        both = one.members | two.members
        for unit in (one, two):
            for used in unit.used:
                outside = self._of[used]
                if outside is not one and outside is not two and outside.waits & both:
                    return False
        return True

    def unite(self, call: Call, other: Call) -> None:
        """Have two calls, each with what it was united with, be computed at once."""
        one, two = self._of[call], self._of[other]
        if one is two:
            return
        both = one.members | two.members
        waits = (one.waits | two.waits) & ~both
        for unit in self._calls:
            # Whoever waits for one of them waits for all that they wait for.
            if unit.waits & both and waits & ~unit.waits:
                unit.waits |= waits
        one.members, one.waits = both, waits
        one.used = {used for used in one.used | two.used if self._of[used] not in (one, two)}
        moved = self._calls.pop(two)
        self._calls[one] += moved
        self._of.update(dict.fromkeys(moved, one))
