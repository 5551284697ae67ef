"""One call of a function in a world of its own, and all that can be seen of it."""

from __future__ import annotations

import contextlib
import io
import random
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from bcjit import logs
from bcjit.debugging.compare import differences, show, text_of
from bcjit.debugging.copies import copy_of
from bcjit.records import dataclass

__all__ = ["Call", "Observation", "ending", "observe", "same_streams", "unlike"]

_HERE: Final = frozenset({__file__, contextlib.__file__})


@dataclass(frozen=True, slots=True)
class Call:
    """A function and what it is called with; each call is made on copies."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Observation:
    """What can be seen of a call."""

    value: object  # what it returned, or the exception
    raised: bool
    names: tuple[str, ...]  # of the arguments
    arguments: tuple[object, ...]  # afterwards, those by keyword behind
    traceback: tuple[str, ...]
    warnings: tuple[str, ...]
    printed: str
    streams: object

    def seen(self) -> Iterator[tuple[str, object]]:
        """Yield what is compared and how it is called, in the order in which differences are told."""
        yield "the exception" if self.raised else "the result", self.value
        yield from zip(self.names, self.arguments, strict=True)
        yield "the traceback", self.traceback
        yield "the warnings", self.warnings
        yield "the printed text", self.printed
        yield "the random streams", self.streams


def unlike(
    plain: Observation, other: Observation, runs: tuple[str, str] = ("plain", "compiled")
) -> tuple[str, ...]:
    """Return where two calls differ, in sentences that call them as `runs` says."""
    if plain.raised is not other.raised:
        return (f"{runs[0]} {ending(plain)}, {runs[1]} {ending(other)}",)
    rows = zip(plain.seen(), other.seen(), strict=True)
    return tuple(differences(((name, one, two) for (name, one), (_, two) in rows), runs))


def ending(seen: Observation) -> str:
    """Return how a call ended: what it returned or raised."""
    if not seen.raised:
        return f"returns {show(seen.value)}"
    assert isinstance(seen.value, BaseException)
    return f"raises {type(seen.value).__qualname__}: {text_of(seen.value)}"


def observe(call: Call, compiled: Callable[..., Any] | None = None) -> Observation:
    """Call a function, or `compiled` in its place, on copies of the arguments."""
    args, kwargs = copy_of((call.args, call.kwargs))
    function = call.function if compiled is None else compiled
    text = io.StringIO()
    apart = contextlib.nullcontext() if compiled is None else logs.apart()
    value: object
    error: BaseException | None = None
    with (
        warnings.catch_warnings(record=True) as warned,
        apart,
        contextlib.redirect_stdout(text),
        contextlib.redirect_stderr(text),
        np.errstate(),
        same_streams(),
    ):
        warnings.simplefilter("always")
        try:
            value = function(*args, **kwargs)
        except (Exception, SystemExit) as caught:  # noqa: BLE001 - whatever it is, the other run must raise it too
            value = error = caught
        streams = _streams()
    return Observation(
        value=value,
        raised=error is not None,
        names=(*_names(call.function, len(args)), *kwargs),
        arguments=(*args, *kwargs.values()),
        traceback=() if error is None else tuple(_entries(error.__traceback__)),
        warnings=tuple(
            f"{w.filename}:{w.lineno}: {w.category.__name__}: {w.message}" for w in warned
        ),
        printed=text.getvalue(),
        streams=streams,
    )


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """Return what positional arguments are called."""
    code = getattr(function, "__code__", None)
    known = code.co_varnames[: code.co_argcount] if isinstance(code, types.CodeType) else ()
    return [known[k] if k < len(known) else f"argument {k}" for k in range(count)]


def _streams() -> tuple[object, ...]:
    return random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002 - the program's stream


@contextlib.contextmanager
def same_streams() -> Iterator[None]:
    """Put the global random streams back as they were."""
    state, numbers = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002 - the program's stream
    try:
        yield
    finally:
        random.setstate(state)
        np.random.set_state(numbers)  # noqa: NPY002 - as above


def _entries(traceback: types.TracebackType | None) -> Sequence[str]:
    found = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename not in _HERE:
            found.append(f"{code.co_filename}:{traceback.tb_lineno} in {code.co_qualname}")
        traceback = traceback.tb_next
    return found
