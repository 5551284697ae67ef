"""Says guards in plain words: what must hold, and why one does not hold now; changes nothing, runs no user code."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from typing import Any, Final, cast

import numpy as np

from bcjit.dims import Symbol
from bcjit.guards.evaluate import (
    Roots,
    Unavailable,
    bindings,
    cell_of,
    fetch,
    holds,
    same_dtype,
)
from bcjit.guards.guard import (
    DEAD,
    Guard,
    GuardKind,
    Identity,
    SymbolicRelation,
    label,
    with_article,
)
from bcjit.guards.source import Source, SourceKind, is_constant_key
from bcjit.meta import SourceLine
from bcjit.records import dataclass

__all__ = ["Failure", "describe", "failure", "named", "sentence"]


# Names and values


def named(source: Source) -> str:
    """Return the path as the user's program would write it."""
    rendered = ""
    for step in source.chain():
        rendered = _NAMED[step.kind](rendered, step) if step.kind in _NAMED else step.tail(rendered)
    return rendered


def _of_frame(_base: str, step: Source) -> str:
    """Return a local's name; what only stands on the stack behind a break has none."""
    name = step.tail("")
    return f"<operand {int(name[2:]) + 1}>" if name.startswith(".s") else name


_NAMED: Final[dict[SourceKind, Callable[[str, Source], str]]] = {
    SourceKind.LOCAL: _of_frame,
    SourceKind.GLOBAL: lambda _base, step: str(step.key),
    SourceKind.BUILTIN: lambda _base, step: str(step.key),
    SourceKind.MRO: lambda base, step: f"{base}.{step.key}",
    SourceKind.GLOBALS: lambda _base, _step: "globals()",
    SourceKind.BUILTINS: lambda _base, _step: "builtins",
}

_short = reprlib.Repr()
_short.maxstring = _short.maxother = _short.maxlong = 48
_short.maxtuple = 12


def _show(value: object) -> str:
    """Return a value in a few words: constants as written, arrays by dtype and shape, others by their type."""
    if is_constant_key(value):
        return _short.repr(value)
    if issubclass(type(value), np.generic):
        return f"a NumPy scalar of type {_dtype(cast('np.generic', value).dtype)}"
    return label(value)


# Types of C that are as long as another one of the same name, and told apart all the same.
_TWINS: Final = {"q": "longlong", "Q": "ulonglong"}


def _dtype(dtype: np.dtype[Any]) -> str:
    """Return the name of a dtype; ``int64 (longlong)`` where there are two of that name."""
    name = str(dtype)
    twin = _TWINS.get(dtype.char)
    return (
        name
        if twin is None or np.dtype(name.lstrip("<>")).char == dtype.char
        else f"{name} ({twin})"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _array_in_words(value: object) -> str:
    """Return an array by what guards on arrays tell apart."""
    if type(value) is not np.ndarray:
        return _show(value)
    return f"{with_article(_dtype(value.dtype))} array of {_count(value.ndim, 'dimension')}"


# What must hold


def _describe_array(subject: str, expected: Any) -> str:
    dtype, ndim = expected
    return f"{subject} is {with_article(_dtype(dtype))} array of {_count(ndim, 'dimension')}"


def _describe_absent(guard: Guard) -> str:
    subject, key = named(guard.source), guard.expected
    if guard.source.kind in (SourceKind.GLOBALS, SourceKind.BUILTINS):
        return f"there is no name {key} in {subject}"
    return f"{subject} has no {key!r}"


def _describe_keys(subject: str, expected: Any) -> str:
    keys = ", ".join(map(_show, expected))
    return (
        f"{subject} is a dict with the keys {keys} in this order"
        if expected
        else f"{subject} is an empty dict"
    )


def _names(expected: SymbolicRelation) -> dict[Symbol, str]:
    return {symbol: named(source) for symbol, source in expected.symbols}


def _pair(guard: Guard) -> tuple[str, str, bool]:
    other, flag = cast("tuple[Source, bool]", guard.expected)
    return named(guard.source), named(other), flag


def _describe_same_object(guard: Guard) -> str:
    left, right, same = _pair(guard)
    return f"{left} and {right} are {'the same object' if same else 'two objects'}"


def _describe_overlap(guard: Guard) -> str:
    left, right, overlap = _pair(guard)
    return (
        f"{left} and {right} are arrays that {'overlap' if overlap else 'do not overlap'} in memory"
    )


def _instance(of_class: str) -> str:
    """Return ``a list`` for the label ``class list``."""
    return with_article(of_class.removeprefix("class "))


def _identity(guard: Guard) -> Identity:
    return cast("Identity", guard.expected)


def _describe_type(guard: Guard) -> str:
    subject, kind = named(guard.source), _identity(guard).label
    # What stands on the stack behind a break and is an iterator is that of a loop.
    if subject.startswith("<operand") and kind.endswith("_iterator"):
        return f"the loop goes over {_instance(kind.removesuffix('_iterator'))}"
    return f"{subject} is {_instance(kind)}"


_DESCRIBE: Final[dict[GuardKind, Callable[[Guard], str]]] = {
    GuardKind.TYPE: _describe_type,
    GuardKind.IDENTITY: lambda guard: f"{named(guard.source)} is {_identity(guard).label}",
    GuardKind.EQUALS: lambda guard: (
        f"{named(guard.source)} {'is' if guard.expected is None else '=='} {_show(guard.expected)}"
    ),
    GuardKind.ARRAY: lambda guard: _describe_array(named(guard.source), guard.expected),
    GuardKind.ABSENT: _describe_absent,
    GuardKind.NO_INSTANCE_ATTR: lambda guard: (
        f"{named(guard.source)} has no attribute {guard.expected} of its own"
    ),
    GuardKind.UNBOUND_CELL: lambda guard: f"{named(guard.source)} is not assigned",
    GuardKind.KEYS: lambda guard: _describe_keys(named(guard.source), guard.expected),
    GuardKind.RELATION: lambda guard: cast("SymbolicRelation", guard.expected).relation.source(
        _names(cast("SymbolicRelation", guard.expected))
    ),
    GuardKind.SAME_OBJECT: _describe_same_object,
    GuardKind.OVERLAP: _describe_overlap,
    GuardKind.PRESENT: lambda guard: f"{named(guard.source)} exists",
    GuardKind.OTHER_ARRAY: lambda guard: (
        f"{named(guard.source)} is an array of something else than plain numbers"
    ),
}


def describe(guard: Guard) -> str:
    """Return what must hold: ``x is a float64 array of 2 dimensions``, ``len(parts) == 3``."""
    return _DESCRIBE[guard.kind](guard)


# What was expected, and what is found: (claim with its verb, found)

_Clash = tuple[str, str]


def _clash_of_identity(guard: Guard, wanted: str, found: str, another: str) -> _Clash:
    claim = f"{named(guard.source)}: {wanted} was expected"
    if _identity(guard).get() is DEAD:
        return claim, f"{found}; what was expected no longer exists"
    return claim, another if found == wanted else found


def _type_clash(guard: Guard, value: object, _roots: Roots) -> _Clash:
    wanted, found = _instance(_identity(guard).label), _instance(label(type(value)))
    return _clash_of_identity(guard, wanted, found, "one of another class of that name")


def _identity_clash(guard: Guard, value: object, _roots: Roots) -> _Clash:
    wanted = _identity(guard).label
    return _clash_of_identity(guard, wanted, _show(value), "another object of that name")


def _equals_clash(guard: Guard, value: object, _roots: Roots) -> _Clash:
    found = _show(value)
    if found == _show(guard.expected):
        found = (
            f"{found} of type {type(value).__name__}"
            if type(value) is not type(guard.expected)
            else f"another {found}"
        )
    return f"{describe(guard)} was expected", found


def _array_clash(guard: Guard, value: object, _roots: Roots) -> _Clash:
    subject = named(guard.source)
    dtype, ndim = cast("tuple[np.dtype[Any], int]", guard.expected)
    if type(value) is not np.ndarray:
        return f"{subject}: {with_article(_dtype(dtype))} array was expected", _show(value)
    if not same_dtype(value.dtype, dtype):
        wanted, found = _dtype(dtype), _dtype(value.dtype)
        another = f"another dtype {found}" if found == wanted else found
        return f"{subject}: dtype {wanted} was expected", another
    return f"{subject}: {_count(ndim, 'dimension')} {'was' if ndim == 1 else 'were'} expected", str(
        value.ndim
    )


def _other_array_clash(guard: Guard, value: object, _roots: Roots) -> _Clash:
    claim = f"{named(guard.source)}: an array of something else than plain numbers was expected"
    return claim, _array_in_words(value)


def _absent_clash(guard: Guard, _value: object, _roots: Roots) -> _Clash:
    if guard.source.kind in (SourceKind.GLOBALS, SourceKind.BUILTINS):
        return f"no name {guard.expected} in {named(guard.source)} was expected", "one"
    return f"{named(guard.source)}: no {guard.expected!r} was expected", "one"


def _no_instance_attr_clash(guard: Guard, value: object, roots: Roots) -> _Clash:
    claim = f"{named(guard.source)}: no attribute {guard.expected} of its own was expected"
    try:
        return claim, _show(fetch(Source(SourceKind.ATTR, guard.expected, guard.source), roots))
    except Unavailable:
        return claim, _show(value)


def _keys_clash(guard: Guard, value: object, _roots: Roots) -> _Clash:
    expected = cast("tuple[object, ...]", guard.expected)
    found = f"({', '.join(map(_show, tuple(value)))})" if type(value) is dict else _show(value)
    return (
        f"{named(guard.source)}: the keys ({', '.join(map(_show, expected))}) were expected",
        found,
    )


def _pair_clash(guard: Guard, _value: object, _roots: Roots) -> _Clash:
    left, right, flag = _pair(guard)
    if guard.kind is GuardKind.SAME_OBJECT:
        words = ("two objects were expected", "one"), ("one object was expected", "two")
    else:
        words = (
            ("arrays that do not overlap were expected", "others"),
            ("arrays that overlap were expected", "others"),
        )
    claim, found = words[flag]
    return f"{left} and {right}: {claim}", found


_CLASH: Final[dict[GuardKind, Callable[[Guard, object, Roots], _Clash]]] = {
    GuardKind.TYPE: _type_clash,
    GuardKind.IDENTITY: _identity_clash,
    GuardKind.EQUALS: _equals_clash,
    GuardKind.ARRAY: _array_clash,
    GuardKind.ABSENT: _absent_clash,
    GuardKind.NO_INSTANCE_ATTR: _no_instance_attr_clash,
    GuardKind.KEYS: _keys_clash,
    GuardKind.OTHER_ARRAY: _other_array_clash,
    GuardKind.SAME_OBJECT: _pair_clash,
    GuardKind.OVERLAP: _pair_clash,
}


def _unbound_cell_clash(guard: Guard, roots: Roots) -> _Clash:
    contents = cell_of(guard.source, roots).cell_contents
    return f"{named(guard.source)}: no value was expected", _show(contents)


def _relation_clash(guard: Guard, roots: Roots) -> _Clash:
    expected = cast("SymbolicRelation", guard.expected)
    values = bindings(expected, roots)
    names = _names(expected)
    if len(values) == 1:
        (found,) = map(str, values.values())
    else:
        found = ", ".join(f"{names[symbol]} = {value}" for symbol, value in values.items())
    return f"{describe(guard)} was expected", found


def _clash(guard: Guard, roots: Roots) -> _Clash:
    if guard.kind is GuardKind.UNBOUND_CELL:
        return _unbound_cell_clash(guard, roots)
    if guard.kind is GuardKind.RELATION:
        return _relation_clash(guard, roots)
    value = fetch(guard.source, roots)
    if guard.kind in (GuardKind.SAME_OBJECT, GuardKind.OVERLAP):
        fetch(cast("tuple[Source, bool]", guard.expected)[0], roots)
    return _CLASH[guard.kind](guard, value, roots)


def _unreadable(guard: Guard, roots: Roots, error: Unavailable) -> str:
    """Return which step of which path has no value."""
    for source in guard.sources():
        for step in source.chain():
            try:
                fetch(step, roots)
            except Unavailable as reason:
                base = step.base
                return (
                    f"{named(base)}: {reason}" if base is not None else f"{named(step)}: {reason}"
                )
    return str(error)


@dataclass(frozen=True, slots=True)
class Failure:
    """A guard that did not hold, in words that keep no object alive.

    Attributes
    ----------
    guard
        What had to hold: ``x is a float64 array of 1 dimension``.
    expected
        The claim: ``x: dtype float64 was expected``.
    seen
        What was found instead: ``float32``.
    relied
        The user's line that relied on it.
    sentence
        All of it in one sentence.
    about
        The guard itself.
    value
        What was found, in words that tell every value apart which the guard tells apart: of an array its dtype and
        dimensions.
    """

    guard: str
    expected: str
    seen: str
    relied: SourceLine
    sentence: str
    about: Guard
    value: str


def failure(guard: Guard, roots: Roots) -> Failure:
    """Say why a guard does not hold now: what was expected, why, and what is found. Of a guard that holds it says so.

    The sentence is like ``x: dtype float64 was expected (relied on at model.py:12), got float32``.
    """
    what, why = describe(guard), guard.why
    relied = f"(relied on at {why})"
    if holds(guard, roots):
        return Failure(what, what, what, why, f"{what}, as expected {relied}", guard, what)
    try:
        claim, found = _clash(guard, roots)
        if guard.kind is GuardKind.ARRAY:
            value = _array_in_words(fetch(guard.source, roots))
        else:
            value = found
    except Unavailable as error:
        reason = _unreadable(guard, roots, error)
        text = f"it was expected that {what} {relied}, but there is no such value now ({reason})"
        seen = f"no such value ({reason})"
        return Failure(what, what, seen, why, text, guard, seen)
    return Failure(what, claim, found, why, f"{claim} {relied}, got {found}", guard, value)


def sentence(guard: Guard, roots: Roots) -> str:
    """Return the sentence of `failure`."""
    return failure(guard, roots).sentence
