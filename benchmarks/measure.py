"""How everything here is measured: minima of several functions in turns, and rows of a table of targets."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import bcjit

Function = Callable[..., object]


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


def captured(function: Function, args: tuple[object, ...], *, calls: int = 1) -> Function:
    """Compile a function for the eager backend and call it; that nothing was captured is an error, not a good figure."""
    compiled = bcjit.compile(function, backend="eager")
    for _ in range(calls):
        compiled(*args)
    if not compiled.graphs:
        raise SystemExit(f"{function.__name__}: nothing was captured, so nothing can be measured")
    return compiled


def nanoseconds(
    functions: Sequence[Function], args: tuple[object, ...], rounds: int
) -> list[float]:
    """Least time of one call of each function, measured in turns, so that a busy machine disturbs all alike."""
    names = {f"a{i}": arg for i, arg in enumerate(args)}
    statement = f"f({', '.join(names)})"
    timers = [timeit.Timer(statement, globals={**names, "f": function}) for function in functions]
    number = max(1, timers[0].autorange()[0] // 100)
    best = [float("inf")] * len(timers)
    for _ in range(rounds):
        for i, timer in enumerate(timers):
            best[i] = min(best[i], timer.timeit(number) / number)
    return [seconds * 1e9 for seconds in best]


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
