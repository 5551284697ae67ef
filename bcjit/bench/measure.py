"""How everything here is measured: minima of several subjects in turns, and rows of a table of targets.

A figure is the least time of a call over many turns. In a turn each subject runs for about a millisecond, one behind the
other, so that a busy machine or a changing clock disturbs all alike: ratios and differences are of minima of one run.
"""

from __future__ import annotations

import time
import timeit
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bcjit.api import compile as compile_function

__all__ = [
    "CLOCKS",
    "Call",
    "Clock",
    "Fresh",
    "Function",
    "Row",
    "captured",
    "in_each_turn",
    "in_turns",
    "nanoseconds",
    "show",
    "timer",
]

Function = Callable[..., Any]
Clock = Callable[[], float]
# Processor time, of all threads, is the better one where neighbours take turns with us and everybody has one thread.
CLOCKS: Final[dict[str, Clock]] = {"wall": time.perf_counter, "processor": time.process_time}
SLICE: Final = 1e-3  # seconds for which a subject runs in a turn
FEWEST: Final = 5  # turns, however long they take


@dataclass(frozen=True, slots=True)
class Call:
    """A call, written as a program would write it: ``function(*args, **keywords)``, or of a method of an object."""

    function: Any
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    method: str = ""

    def __call__(self) -> Any:
        """Make it, once and not timed."""
        function = getattr(self.function, self.method) if self.method else self.function
        return function(*self.args, **self.keywords)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    target: float | None  # at most; None where nothing was promised
    measured: float
    unit: str
    note: str = ""

    @property
    def met(self) -> bool:
        """Whether the figure is within its target."""
        return self.target is None or self.measured <= self.target


def captured(function: Function, args: tuple[object, ...], *, calls: int = 1) -> Any:
    """Compile a function for the eager backend and call it; that nothing was captured is an error, not a good figure."""
    compiled = compile_function(function, backend="eager")
    for _ in range(calls):
        compiled(*args)
    if not compiled.graphs:
        raise SystemExit(f"{function.__name__}: nothing was captured, so nothing can be measured")
    return compiled


def timer(*calls: Call) -> timeit.Timer:
    """Return what times these calls, made one after the other."""
    names: dict[str, Any] = {}
    lines = []
    for i, call in enumerate(calls):
        names[f"f{i}"] = call.function
        written = []
        for j, (keyword, value) in enumerate(
            [*(("", arg) for arg in call.args), *call.keywords.items()]
        ):
            names[f"a{i}_{j}"] = value
            written.append(f"{keyword}{'=' * bool(keyword)}a{i}_{j}")
        lines.append(f"f{i}{'.' * bool(call.method)}{call.method}({', '.join(written)})")
    return timeit.Timer("\n".join(lines), globals=names)


def _number(timer: timeit.Timer) -> int:
    """How often a statement runs in a turn."""
    number = 1
    # The least of three, or a first run that is slow by itself makes the turns too short.
    while (spent := min(timer.repeat(3, number))) < SLICE / 4:
        number *= 4
    return max(1, round(number * SLICE / spent))


class Fresh(timeit.Timer):
    """Times a function whose arguments are made anew, outside what is timed: it may write into them."""

    def __init__(
        self,
        function: Function,
        fresh: Callable[[int], Iterator[tuple[Any, ...]]],
        clock: Clock = time.perf_counter,
    ) -> None:
        self.fresh = fresh
        self.names: dict[str, Any] = {"function": function}
        super().__init__("function(*next(turns))", timer=clock, globals=self.names)

    def timeit(self, number: int = 1) -> float:
        """Return the seconds of so many calls."""
        self.names["turns"] = self.fresh(number)
        return super().timeit(number)


def in_each_turn(
    timers: Sequence[timeit.Timer], rounds: int, seconds: float = float("inf")
) -> list[list[float]]:
    """Return the seconds that each statement took in each turn; no further turn begins after so many seconds, but a few there are."""
    numbers = [_number(timer) for timer in timers]
    times: list[list[float]] = [[] for _ in timers]
    end = time.monotonic() + seconds
    for turn in range(rounds):
        if turn >= FEWEST and time.monotonic() > end:
            break
        for found, timer, number in zip(times, timers, numbers, strict=True):
            found.append(timer.timeit(number) / number)
    return times


def in_turns(timers: Sequence[timeit.Timer], rounds: int) -> list[float]:
    """Return the least nanoseconds of each statement, measured in turns."""
    return [min(found) * 1e9 for found in in_each_turn(timers, rounds)]


def nanoseconds(
    functions: Sequence[Function], args: tuple[object, ...], rounds: int
) -> list[float]:
    """Return the least nanoseconds of one call of each function, measured in turns."""
    return in_turns([timer(Call(function, args)) for function in functions], rounds)


def show(title: str, rows: Iterable[Row]) -> None:
    """Print rows as a table."""
    print(f"\n{title}\n")
    print("| what | at most | measured | | |")
    print("|---|---|---|---|---|")
    for row in rows:
        target = "" if row.target is None else f"{row.target:,.2f} {row.unit}"
        verdict = "" if row.target is None else "met" if row.met else "missed"
        print(
            f"| {row.what} | {target} | {row.measured:,.2f} {row.unit} | {verdict} | {row.note} |"
        )
