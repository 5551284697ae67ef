"""What stays guarded of an instruction that is given up, so that the part made for an odd call does not serve the others.

An entry that ends at a break has to hold for nothing but what comes before the break; so without these guards it would be
right, and yet it would answer, from then on, also the calls whose instruction could have been captured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, cast

import bcjit.symbolic_vm.break_reasons as because
from bcjit.guards import DEAD, Guard, GuardKind, Identity, SourceKind

__all__ = ["RAISING", "still_needed"]

RAISING: Final = (because.WOULD_RAISE, because.RAISE, because.UNBOUND_NAME)

# Not for anything about the operands.
_ANYWAY: Final = (because.ASKED, because.CAPTURE_LIMIT, because.INLINE_DEPTH, because.DATA_BRANCH)
_LIKE_TYPES: Final = frozenset({type(None), bool, type(Ellipsis)})  # their values are few
_NUMBERS: Final = (SourceKind.LENGTH, SourceKind.SHAPE)


def still_needed(guards: Sequence[Guard], reason: str) -> Iterator[Guard]:
    """Yield of the guards of an instruction that was given up for a reason (a code of the table) those to be kept.

    Where the program raises, all of them: it does so for these values. Else those on kinds of operands, with which the
    instruction cannot be captured; values are many, and mostly it is not they that forbid it. Where an inlined call was
    given up, the callee is called through entries of its own, which have their own guards.
    """
    if reason in RAISING:
        yield from guards
        return
    if reason in _ANYWAY:
        return
    for guard in guards:
        kept = _of_kind(guard) if reason != because.NOT_INLINED else None
        if guard.kind is GuardKind.OTHER_ARRAY:
            kept = guard
        if kept is not None:
            yield kept


def _of_kind(guard: Guard) -> Guard | None:
    """Return the guard, or what it says of the value's type; None if that is nothing."""
    match guard.kind:
        case GuardKind.RELATION:
            return None
        case GuardKind.KEYS:
            return Guard(GuardKind.TYPE, guard.source, dict, guard.why)
        case GuardKind.EQUALS if guard.source.kind in _NUMBERS:
            return None
        case GuardKind.EQUALS if type(guard.expected) not in _LIKE_TYPES:
            return Guard(GuardKind.TYPE, guard.source, type(guard.expected), guard.why)
        case GuardKind.IDENTITY if guard.source.chain()[0].kind is SourceKind.LOCAL:
            found = cast("Identity", guard.expected).get()
            return (
                None
                if found is DEAD
                else Guard(GuardKind.TYPE, guard.source, type(found), guard.why)
            )
    return guard
