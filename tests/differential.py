"""The differential harness: a transformed function must not be told from the plain one.

`observe` runs a function in a fresh world and returns one `Record` a call, which holds everything a
user can see; `assert_same` observes a plain and a transformed world and names each difference. The
harness must not repair, round or sort anything away.

Main names: `Call`, `World`, `Setting`, `Record`, `observe`, `compare`, `assert_same`.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import pickle
import random
import sys
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from _pytest.outcomes import OutcomeException
from pictures import Painter, Picture, differences

from bcjit.errors import InternalError

Function = Callable[..., Any]
Transform = Callable[[Function], Function]
Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Call = Callable[[], Arguments]  # makes fresh arguments for one call

_HERE = frozenset({__file__})

# A mistake inside bcjit (raised under config.strict) fails the test as it is: it is no outcome.
_FATAL = (KeyboardInterrupt, InternalError, OutcomeException)


def args(*positional: Any, **keyword: Any) -> Arguments:
    """Return the arguments of one call."""
    return positional, keyword


@dataclass(slots=True)
class World:
    """A function with the calls made of it; a factory makes a fresh world for each run.

    `watch` returns whatever else the calls may change (globals, class attributes, cells).
    `between` is run before each call with the call's number, to change globals and the like.
    """

    fn: Function
    calls: Sequence[Call]
    watch: Callable[[], object] | None = None
    between: Callable[[int], None] | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """The circumstances of a run."""

    filters: str = "always"  # the warning filter: always, default, error, ignore
    errstate: Mapping[str, str] = field(default_factory=dict)
    in_except: bool = False  # call from within an except block
    repeats: int = 2  # how often the list of calls is gone through

    def __str__(self) -> str:
        parts = [self.filters]
        parts += [f"{key}={value}" for key, value in self.errstate.items()]
        return "-".join([*parts, "in_except"] if self.in_except else parts)


PLAIN = Setting()
STANDARD_SETTINGS = (
    PLAIN,
    Setting("default", in_except=True),
    Setting("error", repeats=1),
    Setting(errstate={"all": "raise"}, in_except=True, repeats=1),
)


@dataclass(frozen=True, slots=True)
class Record:
    """Everything that can be seen of one call, as pictures."""

    outcome: Picture  # ("returned", value) or ("raised", facts)
    arguments: Picture  # positional and keyword arguments after the call
    memory: Picture  # which arrays share memory
    events: Picture  # printed text and warnings in the order in which they came, with their stacks
    exception_state: str  # what is being handled after the call
    error_state: Picture  # np.geterr, np.geterrcall
    random_state: str  # digest of random's and NumPy's global streams
    filters: int  # how many warning filters there are
    registry: Picture  # keys of the __warningregistry__ of the function's globals
    watched: Picture  # what World.watch returns


class _Events(io.TextIOBase):
    """One ordered log of writes to stdout and stderr and of warnings."""

    def __init__(self) -> None:
        self.log: list[tuple[Picture, ...]] = []

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        stack = _stack()
        if self.log and self.log[-1][0] == "text" and self.log[-1][2] == stack:
            text = str(self.log.pop()[1]) + text
            self.log.append(("text", text, stack))
        else:
            self.log.append(("text", text, stack))
        return len(text)

    def warn(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: object = None,
        line: str | None = None,
    ) -> None:
        where = f"{filename}:{lineno}"
        kind = f"{category.__module__}.{category.__qualname__}"
        given = repr(getattr(message, "args", ()))
        self.log.append(("warning", kind, str(message), given, where, f"line {line}", _stack()))

    def take(self) -> tuple[Picture, ...]:
        taken = tuple(self.log)
        self.log.clear()
        return taken


_HIDDEN_IN_STACKS = frozenset({__file__, warnings.__file__, contextlib.__file__})


def _stack() -> tuple[str, ...]:
    """Name the frames between the harness and here, innermost first."""
    found = []
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not _call.__code__:
        code = frame.f_code
        if code.co_filename not in _HIDDEN_IN_STACKS:
            found.append(f"{code.co_filename}:{frame.f_lineno} {code.co_name} {code.co_qualname}")
        frame = frame.f_back
    return tuple(found)


class Outer(Exception):
    """Being handled while a function is called from within an except block."""


def _call(fn: Function, arguments: Arguments, in_except: bool) -> tuple[str, Any, object]:
    """Call once; return how it ended, the value or exception, and what is handled after it."""
    positional, keyword = arguments
    if not in_except:
        try:
            return "returned", fn(*positional, **keyword), sys.exc_info()[1]
        except _FATAL:
            raise
        except BaseException as error:
            return "raised", error, None
    try:
        raise Outer("being handled")
    except Outer:
        try:
            return "returned", fn(*positional, **keyword), sys.exc_info()[1]
        except _FATAL:
            raise
        except BaseException as error:
            return "raised", error, None


def _random_digest() -> str:
    digest = hashlib.sha256(pickle.dumps(random.getstate()))
    digest.update(pickle.dumps(np.random.get_state()))
    return digest.hexdigest()[:16]


def _globals_of(fn: Function) -> dict[str, Any]:
    return getattr(getattr(fn, "__func__", fn), "__globals__", {})


def _registry_keys(namespace: dict[str, Any]) -> Picture:
    registry = namespace.get("__warningregistry__", {})
    return tuple(repr(key) for key in registry if key != "version")


def _record(world: World, fn: Function, call: Call, setting: Setting, events: _Events) -> Record:
    arguments = call()
    before = Painter(hidden_files=_HERE)
    before.paint(arguments[0], "args")
    before.paint(arguments[1], "kwargs")
    events.take()  # what making the arguments printed is not the function's
    how, value, handled = _call(fn, arguments, setting.in_except)
    logged = events.take()
    painter = Painter(before.names, _HERE)
    after = painter.paint(arguments[0], "args"), painter.paint(arguments[1], "kwargs")
    outcome = (how, painter.paint(value, how))
    watched = painter.paint(world.watch(), "watched") if world.watch else None
    record = Record(
        outcome=outcome,
        arguments=after,
        memory=painter.shared_memory(),
        events=logged,
        exception_state=repr(handled),
        error_state=(
            *sorted(np.geterr().items()),
            getattr(np.geterrcall(), "__qualname__", repr(np.geterrcall())),
        ),
        random_state=_random_digest(),
        filters=len(warnings.filters),
        registry=_registry_keys(_globals_of(world.fn)),
        watched=watched,
    )
    # A traceback holds this frame: without this, what was called with would die with the collector's
    # next run, in the middle of a later call.
    del value, handled, painter, before, arguments
    return record


def observe(
    fn: Function,
    calls: Sequence[Call],
    setting: Setting = PLAIN,
    world: World | None = None,
) -> list[Record]:
    """Call a function with each maker's arguments, `setting.repeats` times over.

    Parameters
    ----------
    fn
        The function to call, plain or transformed.
    calls
        Makers of arguments; each is run freshly for each call.
    setting
        Warning filters, error state, and whether an exception is being handled.
    world
        The world that `fn` belongs to, for its `watch`, `between` and globals.

    Returns
    -------
    list of Record
        One a call, in order.
    """
    world = world or World(fn, calls)
    random.seed(12345)
    np.random.seed(12345)
    _globals_of(world.fn).pop("__warningregistry__", None)
    old_errors, old_call = np.geterr(), np.geterrcall()
    events = _Events()
    records = []
    try:
        np.seterr(**setting.errstate)
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(events),
            contextlib.redirect_stderr(events),
        ):
            warnings.simplefilter(setting.filters)  # type: ignore[arg-type]
            warnings.showwarning = events.warn  # type: ignore[assignment]
            for number, call in enumerate(list(calls) * setting.repeats):
                if world.between is not None:
                    world.between(number)
                records.append(_record(world, fn, call, setting, events))
    finally:
        np.seterr(**old_errors)
        np.seterrcall(old_call)
        _globals_of(world.fn).pop("__warningregistry__", None)
    return records


def compare(plain: Sequence[Record], transformed: Sequence[Record]) -> list[str]:
    """Return one line for each difference between the records of two runs."""
    found = []
    if len(plain) != len(transformed):
        found.append(f"{len(plain)} calls plain, {len(transformed)} transformed")
    for number, (want, got) in enumerate(zip(plain, transformed, strict=False)):
        for part in fields(Record):
            lines = differences(getattr(want, part.name), getattr(got, part.name), part.name)
            found += [f"call {number}: {line}" for line in lines]
    return found


def assert_same(
    make_world: Callable[[], World],
    transform: Transform,
    settings: Sequence[Setting] = (PLAIN,),
    label: str = "",
) -> list[list[Record]]:
    """Fail unless a transformed function cannot be told from the plain one.

    Parameters
    ----------
    make_world
        Makes a fresh world; called twice a setting.
    transform
        Turns the plain function into the one under test.
    settings
        The circumstances under which both are run.
    label
        Said at the start of a failure message.

    Returns
    -------
    list of list of Record
        The records of the plain runs, one list a setting.
    """
    plain_records = []
    problems: list[str] = []
    for setting in settings:
        world = make_world()
        plain = observe(world.fn, world.calls, setting, world)
        world = make_world()
        transformed = observe(transform(world.fn), world.calls, setting, world)
        problems += [f"[{setting}] {line}" for line in compare(plain, transformed)]
        plain_records.append(plain)
    if problems:
        shown = "\n  ".join(problems[:20])
        more = f"\n  ... and {len(problems) - 20} more" if len(problems) > 20 else ""
        raise AssertionError(f"{label} differs from plain (plain != transformed):\n  {shown}{more}")
    return plain_records
