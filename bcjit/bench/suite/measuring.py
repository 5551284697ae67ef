"""What is found out about one program (or kernel) at one size: whether it gives the same, how fast it is, what was captured, how much memory it takes.

Everything of it runs in one process, the timed calls in turns. What a call may change of its arguments (arrays, random streams) is made
anew for each call, outside what is timed.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import signal
import tempfile
import threading
import time
import timeit
import tracemalloc
import types
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

import numpy as np

from bcjit import _core
from bcjit.bench.measure import Clock, Fresh, Function, in_each_turn
from bcjit.bench.peers import Peer, difference, one_line, rebound
from bcjit.bench.tables import Cell
from bcjit.bench.through import Through, forget_kernels
from bcjit.config import config
from bcjit.debugging import check
from bcjit.debugging.compare import differences
from bcjit.debugging.copies import copy_of

__all__ = [
    "CLOSE",
    "MISSING",
    "Arguments",
    "Figures",
    "Measured",
    "Stoppable",
    "Subject",
    "measure",
    "warm",
]

MISSING: Final = "not installed"
CLOSE: Final = "close"  # the result of a backend with an option that lets it round otherwise
FIRST_CALLS: Final = 3
FIRST_SECONDS: Final = 2.0  # after which none is made again
BUDGET: Final = 2.0  # seconds after which no further turn begins
WARM_CALLS: Final = 3  # by then all is captured
# By then the cost model has decided too, which looks at functions of this backend.
CHOOSING: Final = "auto"
CHOICE_CALLS: Final = 100
CHOICE_SECONDS: Final = 1.0
FEWEST_CHOICE_CALLS: Final = 12
PEER_SECONDS: Final = 120.0  # in which a peer must have compiled a program
LATE_AGAIN: Final = 2.0  # seconds after which it is told again
# Other compilers sum in another order, and what follows differs with it: half of the digits must be the same.
PEER_DIGITS: Final = 0.5


class Subject(Protocol):
    """What can be measured: a plain function, and what makes its arguments for a size."""

    @property
    def function(self) -> Function:
        """The function."""

    def setup(self, size: str, /) -> tuple[Any, ...]:
        """Return its arguments."""


S = TypeVar("S", bound=Subject)


@dataclass(slots=True)
class Figures:
    """What one backend or peer made of a program; all else is as it was where `problem` is told.

    Attributes
    ----------
    problem
        Why there are no figures: what differs from plain Python, or why a peer cannot run it.
    differs
        Whether that is a result that differs, of ours: a failure.
    late
        Whether it is that a peer takes too long to compile.
    times, plain_times
        Seconds of a call in each turn, and the plain program's.
    facts
        The other figures by column.
    """

    problem: str = ""
    differs: bool = False
    late: bool = False
    times: list[float] = field(default_factory=list)
    plain_times: list[float] = field(default_factory=list)
    facts: dict[str, Cell] = field(default_factory=dict)

    @property
    def speedup(self) -> float:
        """How many times as fast as plain: of the least times."""
        return min(self.plain_times) / min(self.times)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The quartiles of the ratios of single turns."""
        ratios = np.array(self.plain_times) / np.array(self.times)
        low, high = np.percentile(ratios, (25, 75))
        return float(low), float(high)


@dataclass(slots=True)
class Measured(Generic[S]):
    """A program at a size, through each backend and peer; `beside` are seconds of what else was timed in the same turns."""

    program: S
    size: str
    plain_times: list[float] = field(default_factory=list)
    plain_peak: int = 0
    backends: dict[str, Figures] = field(default_factory=dict)
    peers: dict[str, Figures] = field(default_factory=dict)
    beside: dict[str, list[float]] = field(default_factory=dict)


class Arguments:
    """A program's arguments, anew as often as somebody asks.

    Attributes
    ----------
    change
        Whether a call leaves them otherwise than it found them; only then are they made anew.
    """

    def __init__(self, program: Subject, size: str) -> None:
        self.args = program.setup(size)
        # Copies share no memory with these, and have the same layout.
        after = copy_of(self.args)
        program.function(*after)
        self.change = any(differences([("arguments", self.args, after)]))

    def __call__(self, count: int) -> Iterator[tuple[Any, ...]]:
        """Return the arguments of so many calls."""
        if not self.change:
            return itertools.repeat(self.args, count)
        return iter([copy_of(self.args) for _ in range(count)])

    def one(self) -> tuple[Any, ...]:
        """Return the arguments of one call."""
        return next(self(1))


def measure(
    program: S,
    size: str,
    backends: Sequence[Through],
    peers: Sequence[Peer],
    rounds: int,
    beside: Mapping[str, Callable[[], object]] | None = None,
    clock: Clock = time.perf_counter,
) -> Measured[S]:
    """Measure a program at a size.

    Parameters
    ----------
    program, size
        Which, and what its set-up is asked.
    backends
        What compiles it.
    peers
        Other compilers, which get the same function.
    rounds
        Turns at most; fewer where they take long.
    beside
        What else is timed in the same turns, by name.
    clock
        What tells the time, of first calls and of calls in turns.
    """
    measured = Measured(program, size)
    arguments = Arguments(program, size)
    subjects: dict[str, tuple[Figures, Function]] = {}
    for through in backends:
        figures = measured.backends[through.name] = Figures()
        figures.problem = _problem(program, through, arguments)
        if figures.problem:
            figures.differs = True
        else:
            first = _first_call(program, through, arguments, clock)
            compiled = warm(program.function, through, arguments)
            figures.facts = {"result": "equal" if through.exact else CLOSE}
            figures.facts |= first | _captured(compiled)
            subjects[through.name] = figures, compiled
    for peer in peers:
        figures = measured.peers[peer.key] = Figures()
        function = _by_peer(peer, program, arguments, figures, clock)
        if function is not None:
            subjects[peer.key] = figures, function
    functions = [program.function, *(function for _, function in subjects.values())]
    timers: list[timeit.Timer] = [Fresh(one, arguments, clock) for one in functions]
    timers += [timeit.Timer(call, timer=clock) for call in (beside or {}).values()]
    times = in_each_turn(timers, rounds, BUDGET)
    measured.plain_times = times[0]
    measured.beside = dict(zip(beside or (), times[len(functions) :], strict=True))
    for (figures, _), found_times in zip(subjects.values(), times[1 : len(functions)], strict=True):
        figures.plain_times, figures.times = times[0], found_times
    # By itself: tracing makes calls slower.
    measured.plain_peak = _peak(program.function, arguments)
    for through in backends:
        if through.name in subjects:
            figures, function = subjects[through.name]
            figures.facts["peak_bytes"] = float(_peak(function, arguments))
    return measured


T = TypeVar("T")


@dataclass(slots=True)
class Stoppable:
    """Goes through what is measured until somebody interrupts it: tables of a long run are then of what is done."""

    stopped: bool = False

    def __call__(self, work: Iterator[T]) -> Iterator[T]:
        """Return what the iterator gives; nothing more once it was interrupted while it made something."""
        try:
            yield from work
        except KeyboardInterrupt:
            self.stopped = True


def _problem(program: Subject, through: Through, arguments: Arguments) -> str:
    """Return what a backend does otherwise than plain Python, in words, or nothing."""
    if through.exact:
        found = check(program.function, *arguments.args, backend=through.backend)
        return "" if found else f"differs: {'; '.join(found.differences) or found.reason}"
    plain_args, args = copy_of(arguments.args), copy_of(arguments.args)
    expected = program.function(*plain_args)
    try:
        result = through.compile(program.function)(*args)
    except Exception as error:  # noqa: BLE001 - whatever is raised is the figure
        return f"differs: {one_line(error)}"
    problem = _unlike(result, expected) or _written(args, plain_args)
    return f"differs: {problem}" if problem else ""


def _first_call(
    program: Subject, through: Through, arguments: Arguments, clock: Clock
) -> dict[str, Cell]:
    """Return the least milliseconds of calls that compile a copy of the code, and what compiling and the kernels took in that one.

    Twice: with nothing in memory or on disk, and with the kernels on disk, where the backend keeps them there.
    """
    cold: dict[str, Cell] = {}
    kept: dict[str, Cell] = {}
    end = time.monotonic() + FIRST_SECONDS
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(FIRST_CALLS):
            if turn and time.monotonic() > end:
                break
            with config.override(disk_cache_folder=str(Path(folder) / str(turn))):
                _least(cold, _one_first_call(program, through, arguments, clock))
                found = _one_first_call(program, through, arguments, clock)
                if found["reload_ms"] is not None:
                    _least(kept, found)
    forget_kernels()
    facts = {key: cold[key] for key in ("first_ms", "compile_ms", "kernel_ms")}
    return facts | {"disk_ms": kept.get("first_ms"), "reload_ms": kept.get("reload_ms")}


def _least(best: dict[str, Cell], found: dict[str, Cell]) -> None:
    least, spent = best.get("first_ms", float("inf")), found["first_ms"]
    assert isinstance(least, float)
    assert isinstance(spent, float)
    if spent < least:
        best.update(found)


def _one_first_call(
    program: Subject, through: Through, arguments: Arguments, clock: Clock
) -> dict[str, Cell]:
    forget_kernels()
    compiled: Any = through.compile(rebound(program.function))
    args = arguments.one()
    start = clock()
    compiled(*args)
    return {
        "first_ms": (clock() - start) * 1e3,
        "compile_ms": compiled.report().seconds.total * 1e3,
        "kernel_ms": _milliseconds(compiled, "compile_seconds"),
        "reload_ms": _milliseconds(compiled, "reload_seconds"),
    }


def warm(function: Function, through: Through, arguments: Arguments) -> Any:
    """Return the function compiled for a backend, called so often that all is captured and decided."""
    compiled = through.compile(function)
    end = time.monotonic() + CHOICE_SECONDS
    for call in range(CHOICE_CALLS if through.backend == CHOOSING else WARM_CALLS):
        if call >= FEWEST_CHOICE_CALLS and time.monotonic() > end:
            break
        compiled(*arguments.one())
    return compiled


def _captured(compiled: Any) -> dict[str, Cell]:
    """Return what was captured and what runs."""
    report = compiled.report()
    left = any(verdict.plain for part in report.parts for verdict in part.verdicts)
    return {
        "graphs": float(len(compiled.graphs)),
        "breaks": float(len(report.breaks)),
        "nodes": float(sum(part.nodes for part in report.parts)),
        "kernels": _kernels(compiled),
        "runs": "plain" if left else None,
    }


def _told(compiled: Any, name: str) -> list[Any]:
    """Return what the callables that the backend made of the graphs tell by an attribute; for a function in C, which has none, what it is bound to tells."""
    return [
        value
        for cache in compiled._caches  # noqa: SLF001 - the reports' own door
        for entry in cache.entries
        if entry.entry is not None and (live := entry.entry()) is not None
        for constant in live.code.co_consts
        if isinstance(constant, _core.GraphCall)
        for teller in (constant.tag, getattr(constant.tag, "__self__", None))
        if (value := getattr(teller, name, None)) is not None
    ]


def _kernels(compiled: Any) -> Cell:
    """Return how many kernels the graphs became."""
    found = _told(compiled, "kernels")
    if not found:
        return None
    return float(sum(count if isinstance(count, int) else len(count) for count in found))


def _milliseconds(compiled: Any, name: str) -> Cell:
    """Return the most that one kernel took, of what a backend tells of each."""
    seconds = [one for each in _told(compiled, name) for one in each]
    return max(seconds) * 1e3 if seconds else None


def _peak(function: Function, arguments: Arguments) -> int:
    """Return the most bytes that a call had allocated at once: NumPy tells tracemalloc of its arrays."""
    args = arguments.one()
    tracemalloc.start()
    try:
        function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


# ---- peers ----------------------------------------------------------------------------------------------


def _by_peer(
    peer: Peer, program: Subject, arguments: Arguments, figures: Figures, clock: Clock
) -> Function | None:
    """Return the program as a peer compiled it, checked against NumPy, or say why not."""
    if not peer.installed:
        figures.problem = MISSING
        return None
    plain_args = copy_of(arguments.args)
    expected = program.function(*plain_args)
    start = time.perf_counter()
    try:
        with warnings.catch_warnings(), _quiet(), _within(PEER_SECONDS):
            warnings.simplefilter("ignore")
            function = peer.compile(program.function)
            before = clock()
            for call in range(3):  # it may compile again when it sees another kind of argument
                args = copy_of(arguments.args)
                found = function(*args)
                if not call:
                    figures.facts = {"first_ms": (clock() - before) * 1e3}
                problem = _unlike(found, expected) or _written(args, plain_args)
                if problem is not None:
                    figures.problem = f"cannot: {problem}"
                    return None
    except Exception as error:  # noqa: BLE001 - whatever a peer raises is its answer
        # It may have raised something else out of our TimeoutError.
        figures.late = time.perf_counter() - start >= PEER_SECONDS
        figures.problem = f"cannot: {_late() if figures.late else one_line(error)}"
        return None
    return function


def _unlike(found: Any, expected: Any) -> str | None:
    leaf = expected
    while isinstance(leaf, tuple | list):
        leaf = leaf[0]
    kinds = np.asarray(leaf).dtype
    unit = float(np.finfo(kinds).eps) if np.issubdtype(kinds, np.inexact) else 2.0**-52
    digits = unit**PEER_DIGITS / unit
    return difference(found, expected, digits, digits)


def _written(args: tuple[Any, ...], plain_args: tuple[Any, ...]) -> str | None:
    for ours, plain in zip(args, plain_args, strict=True):
        numbers = isinstance(plain, np.ndarray | list)
        if numbers and _unlike(ours, plain) is not None:
            return "it leaves an argument otherwise than NumPy"
    return None


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep what a peer logs of what it cannot do off the tables."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _late() -> str:
    return f"more than {PEER_SECONDS:g} s to compile"


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes longer; only the main thread can be told."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(_number: int, _frame: types.FrameType | None) -> None:
        raise TimeoutError(_late())

    before: Callable[..., Any] | int | None = signal.signal(signal.SIGALRM, late)
    # Again and again: what is raised where Python calls back into somebody's code (collectors, `__del__`) is lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, LATE_AGAIN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
