"""What a user can do about a guard that keeps failing, in a sentence for each kind; it judges no guard and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from bcjit.guards.guard import Guard, GuardKind, SymbolicRelation
from bcjit.guards.sentence import describe, named
from bcjit.guards.source import Source, SourceKind

__all__ = ["hint"]


def _equals(guard: Guard) -> str:
    subject = named(guard.source)
    if guard.source.kind is SourceKind.LENGTH:
        whole = named(cast("Source", guard.source.base))
        return (
            f"keep {whole} at one length, or make it one array: each length of it is compiled for"
        )
    if guard.source.kind is SourceKind.SHAPE:
        return f"compile without dynamic=False: with it each {subject} is compiled for"
    if type(guard.expected) in (int, float, complex):
        return (
            f"use {subject} in arithmetic only (and compile without dynamic=False), or decide by it before the call:"
            " each value is compiled for"
        )
    return f"decide by {subject} before the call, or only hand it on: each value is compiled for"


def _identity(guard: Guard) -> str:
    subject = named(guard.source)
    if guard.source.chain()[0].kind is SourceKind.LOCAL:
        return f"make {subject} once and hand the same object to every call: each is compiled for"
    return f"hand {subject} in as an argument, or leave it as it is between calls: each object is compiled for"


def _relation(guard: Guard) -> str:
    sources = dict.fromkeys(
        named(source) for _, source in cast("SymbolicRelation", guard.expected).symbols
    )
    return (
        f"let nothing depend on {describe(guard)}, or bring {' and '.join(sources)} to few values before the call"
        " (by padding): each answer is compiled for"
    )


def _pair(guard: Guard) -> str:
    left, right = map(named, guard.sources())
    return f"hand in {left} and {right} always as one or always apart (as copies): both ways are compiled for"


def _of(form: str) -> Callable[[Guard], str]:
    return lambda guard: form.format(subject=named(guard.source), expected=guard.expected)


_HINTS: Final[dict[GuardKind, Callable[[Guard], str]]] = {
    GuardKind.TYPE: _of(
        "convert {subject} to one type before the call (np.asarray, float): each type is compiled for"
    ),
    GuardKind.IDENTITY: _identity,
    GuardKind.EQUALS: _equals,
    GuardKind.ARRAY: _of(
        "bring {subject} to one dtype and number of dimensions before the call (astype, np.atleast_1d): each is"
        " compiled for"
    ),
    GuardKind.OTHER_ARRAY: _of(
        "convert {subject} to numbers in the machine's byte order before the call: what it holds is not captured, and"
        " compiled for beside numbers"
    ),
    GuardKind.ABSENT: _of(
        "let {subject} have {expected!r} always or never: both ways are compiled for"
    ),
    GuardKind.NO_INSTANCE_ATTR: _of(
        "set {expected} on the object {subject} always or never: both ways are compiled for"
    ),
    GuardKind.UNBOUND_CELL: _of(
        "assign {subject} before the first call: having no value is compiled for too"
    ),
    GuardKind.KEYS: _of(
        "read {subject} by key, or build it with the same keys in the same order: each order is compiled for"
    ),
    GuardKind.RELATION: _relation,
    GuardKind.SAME_OBJECT: _pair,
    GuardKind.OVERLAP: _pair,
    GuardKind.PRESENT: _of(
        "let there be a value at {subject} in every call: having none is compiled for too"
    ),
}


def hint(guard: Guard) -> str:
    """Return what would spare the compilations that a guard costs which fails again and again."""
    return _HINTS[guard.kind](guard)
