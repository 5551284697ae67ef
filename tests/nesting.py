"""Nests of ``for``, ``while``, ``if``, ``try`` and ``with`` as small functions, each around one way out; it runs nothing.

A `Nest` names the places that a function goes through from the outside in (the body of a loop, a handler, a ``finally``, ...)
and the statement in the innermost one. Every place does a little work whose order shows: into locals, into an array that was passed in,
into a list that was passed in. The inputs decide how often loops turn, whether a body raises, and when the way out is taken.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from programs import module_from

PRELUDE: Final = '''\
import contextlib
import sys

import numpy as np


def fail(error, s):
    raise error(s, "in a callee")


class Manager:
    """Writes when it is entered and left; swallows exceptions when told to."""

    def __init__(self, out, trace, at, swallow):
        self.out, self.trace, self.at, self.swallow = out, trace, at, swallow

    def __enter__(self):
        self.out[0] += self.at + 1.0
        return self.at

    def __exit__(self, kind, error, traceback):
        self.out[0] *= 1.5
        self.trace.append((self.at, kind and kind.__name__, str(error), sys.exc_info()[1] is error))
        return self.swallow


@contextlib.contextmanager
def managed(out, trace, at, swallow):
    out[1] += at + 2.0
    try:
        yield at
    except LookupError as error:
        trace.append((at, type(error).__name__, str(error)))
        if not swallow:
            raise
    finally:
        out[1] *= 1.25
        trace.append((at, type(sys.exc_info()[1]).__name__))


'''

SIGNATURE: Final = "def f(x, out, trace, n, arm, hit, error):"

# The statement in the innermost place. A bare "raise" outside of a handler is an error of its own.
EXITS: Final = (
    "pass",
    "break",
    "continue",
    "return t, s, trace",
    "raise error(s)",
    "raise",
    "fail(error, s)",
)

# What a level does to show that it was there, and when; {k} is the number of the place in the function.
_WORK: Final = (
    "t = t + x",
    "out += {k}",
    "s = {k} - s",
    "trace.append(s)",
    "out *= 1.25",
    "t = np.abs(t)",
    "out[1] = s",
    "out += t",
    "s += out.size",
    "t = x - t",
)
_RAISING: Final = (
    "raise ValueError(s)",
    "x[99]",
    "s = s // 0",
    "t = t + np.ones(7)",
    "raise LookupError(s) from KeyError({k})",
)
_MANAGERS: Final = (
    "Manager(out, trace, {k}, arm)",
    "managed(out, trace, {k}, arm)",
    "np.errstate(divide='ignore')",
    "Manager(out, trace, {k}, False)",
)
_FOR: Final = ("range(n)", "range(n)", "[x, t, out][:n]", "x[:n]", "enumerate(x[:n])")
_IF: Final = ("n > 0", "t.size", "t.sum() < 1e9", "s >= 0", "out is not x")
_ELSE: Final = ("n > 2", "arm and hit == 2", "t.sum() < -1e9", "out is x")
# The first two catch all that is in _RAISING.
_CAUGHT: Final = (
    "(LookupError, ValueError, ArithmeticError)",
    "Exception",
    "ValueError",
    "(IndexError, ZeroDivisionError)",
)


class _Writer:
    """Lines of one function, and the numbers by which its parts are varied."""

    def __init__(self, first: int) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.number = first
        self.first = first

    @property
    def k(self) -> int:
        return self.number - self.first

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text.format(k=self.k))

    def work(self) -> None:
        self.line(self.vary(_WORK))

    def vary(self, choices: tuple[str, ...]) -> str:
        """Return the next of some choices: the nest and the place in it decide which."""
        self.number += 1
        return choices[(self.number * 0x9E3779B1 >> 16) % len(choices)]

    def block(self, head: str, *parts: str | Callable[[], None]) -> None:
        """Write a clause; a part is a line, or writes lines."""
        self.line(head)
        self.depth += 1
        for part in parts:
            if isinstance(part, str):
                self.line(part)
            else:
                part()
        self.depth -= 1


Inner = Callable[[], None]


def _for(w: _Writer, level: int, inner: Inner, *, orelse: bool) -> None:
    head = f"for i{level} in {w.vary(_FOR)}:"
    if orelse:
        w.block(head, w.work, f"if s % 5 == arm + {level}:", "    break")
        w.block("else:", inner, w.work)
        return
    w.block(head, w.work, inner, w.work)


def _while(w: _Writer, level: int, inner: Inner, *, orelse: bool) -> None:
    name = f"w{level}"
    if w.vary(("number", "array")) == "number":
        start, test, step = f"{name} = 0", f"{name} < n", f"{name} += 1"
    else:
        start, test, step = f"{name} = x * 0.0", f"{name}.max() < n", f"{name} = {name} + 1.0"
    w.line(start)
    if orelse:
        w.block(f"while {test}:", step, w.work, f"if s % 5 == arm + {level}:", "    break")
        w.block("else:", inner, w.work)
        return
    w.block(f"while {test}:", step, inner, w.work)


def _if(w: _Writer, level: int, inner: Inner, *, orelse: bool) -> None:
    if orelse:
        w.block(f"if {w.vary(_ELSE)}:", w.work)
        w.block("else:", inner, w.work)
        return
    w.block(f"if {w.vary(_IF)}:", inner, w.work)


def _try(w: _Writer, level: int, inner: Inner, *, place: str, clauses: tuple[str, ...]) -> None:
    def part(name: str, *before: str) -> None:
        def body() -> None:
            if place == name:
                inner()
                w.work()
            elif name == "body":
                # Where the way out is in the handler, all that is armed raises; else only what is armed twice.
                w.block("if arm:" if place == "handler" else "if arm > 1:", w.vary(_RAISING))

        heads = {"body": "try:", "else": "else:", "final": "finally:"}
        caught = w.vary(_CAUGHT[:2] if place == "handler" else _CAUGHT)
        head = heads.get(name) or f"except {caught} as e{level}:"
        first = f"trace.append(e{level}.args)" if name == "handler" else w.vary(_WORK)
        w.block(head, first, body)

    part("body")
    for name in clauses:
        part(name)


def _with(w: _Writer, level: int, inner: Inner) -> None:
    w.block(f"with {w.vary(_MANAGERS)} as m{level}:", w.work, inner)


def _tries(name: str, *clauses: str) -> dict[str, Callable[[_Writer, int, Inner], None]]:
    def made(place: str) -> Callable[[_Writer, int, Inner], None]:
        return lambda w, level, inner: _try(w, level, inner, place=place, clauses=clauses)

    return {f"{name}.{place}": made(place) for place in ("body", *clauses)}


# Name of a place -> what writes the statement around it.
PLACES: Final[dict[str, Callable[[_Writer, int, Inner], None]]] = {
    "for.body": lambda w, level, inner: _for(w, level, inner, orelse=False),
    "for.else": lambda w, level, inner: _for(w, level, inner, orelse=True),
    "while.body": lambda w, level, inner: _while(w, level, inner, orelse=False),
    "while.else": lambda w, level, inner: _while(w, level, inner, orelse=True),
    "if.body": lambda w, level, inner: _if(w, level, inner, orelse=False),
    "if.else": lambda w, level, inner: _if(w, level, inner, orelse=True),
    **_tries("except", "handler"),
    **_tries("finally", "final"),
    **_tries("full", "handler", "else", "final"),
    "with.body": _with,
}
_TURNS: Final = frozenset({"for.body", "while.body"})


def name_of_exit(leave: str) -> str:
    """Return one or two words for a way out."""
    return "raise again" if leave == "raise" else leave.replace("(", " ").split()[0]


@dataclass(frozen=True, slots=True)
class Nest:
    """One function: the places from the outside in, and the way out."""

    places: tuple[str, ...]
    exit: str

    def __str__(self) -> str:
        return f"{' > '.join(self.places)} > {name_of_exit(self.exit)}"

    @property
    def is_valid(self) -> bool:
        """Whether there is a loop to go on with, or to leave."""
        return self.exit not in {"break", "continue"} or bool(_TURNS & set(self.places))

    def source(self) -> str:
        """Return the source text of the function."""
        # What varies does so by the nest: neighbours differ, and a nest is the same in every run.
        names = list(PLACES)
        number = EXITS.index(self.exit)
        for place in self.places:
            number = number * len(names) + names.index(place)
        w = _Writer(number * 7)
        for line in ("t = x * 2.0", "s = c = 0"):
            w.line(line)

        def write(level: int) -> None:
            if level == len(self.places):
                w.line("c += 1")
                w.block("if c == hit:", self.exit)
                w.work()
            else:
                PLACES[self.places[level]](w, level, lambda: write(level + 1))

        write(0)
        w.work()
        w.line("return t, s, c")
        return "\n".join([SIGNATURE, *w.lines]) + "\n"

    def function(self) -> Callable[..., Any]:
        """Return the function, made afresh."""
        return function_from_source(self.source())


def function_from_source(source: str) -> Callable[..., Any]:
    """Return the function of a nest's source text, made afresh."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # leaving a finally, on 3.14 and later
        return module_from(PRELUDE + source, "nest").__dict__["f"]


def nests(depth: int) -> Iterator[Nest]:
    """Yield every nest of one depth."""
    for places in itertools.product(PLACES, repeat=depth):
        for leave in EXITS:
            nest = Nest(places, leave)
            if nest.is_valid:
                yield nest


def inputs() -> list[dict[str, Any]]:
    """Return the argument sets: loops turn not at all, once, often; bodies raise or not; the way out is taken or not."""
    return [
        {
            "x": np.array([1.0, -2.0, 3.0, 0.5]),
            "out": np.zeros(4),
            "trace": [],
            "n": n,
            "arm": arm,
            "hit": hit,
            "error": error,
        }
        for n, arm, hit, error in (
            (0, 0, 0, ValueError),
            (3, 0, 2, ValueError),
            (2, 1, 1, KeyError),
            (1, 2, 1, ValueError),
            (3, 1, 2, IndexError),
            (2, 0, 1, KeyError),
        )
    ]
