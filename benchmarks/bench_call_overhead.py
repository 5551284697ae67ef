"""Cost of a call of a small function (10-element float64 arrays), plain NumPy and bcjit; prints one table of nanoseconds and ratios.

Ratios are of minima measured in turns within this one run, so that a busy machine disturbs both sides alike.
The class at the end is what asv records over time (see README.md here).
"""

from __future__ import annotations

import argparse
import timeit
from collections.abc import Callable
from typing import Final

import numpy as np

import bcjit

Function = Callable[..., object]


def add_one(x):
    """One operation."""
    return x + 1


def five_arrays(a, b, c, d, e):
    """Four operations on five arrays."""
    return a + b + c + d + e


def ten_operations(x):
    """A chain of ten operations."""
    y = np.sqrt(x * x + 1.0)
    z = np.exp(-y) * np.sin(x)
    return np.tanh(z + y) / (y * 2.0)


def branch(x):
    """A branch on data, so two parts a call."""
    if x.sum() > 0:
        return x + 1
    return x - 1


CASES: Final[dict[str, tuple[Function, int]]] = {
    "x + 1": (add_one, 1),
    "5 arrays": (five_arrays, 5),
    "10 operations": (ten_operations, 1),
    "branch on x.sum()": (branch, 1),
}
BACKENDS: Final = ("eager",)


def arrays(count: int) -> tuple[np.ndarray, ...]:
    """Return the arguments."""
    return tuple(np.linspace(0.1, 1.0, 10) + i for i in range(count))


def nanoseconds(functions: list[Function], args: tuple[object, ...], rounds: int) -> list[float]:
    """Least time of one call of each function, measured in turns."""
    names = {f"a{i}": arg for i, arg in enumerate(args)}
    statement = f"f({', '.join(names)})"
    timers = [timeit.Timer(statement, globals={**names, "f": function}) for function in functions]
    number = max(1, timers[0].autorange()[0] // 20)
    best = [float("inf")] * len(timers)
    for _ in range(rounds):
        for i, timer in enumerate(timers):
            best[i] = min(best[i], timer.timeit(number) / number)
    return [seconds * 1e9 for seconds in best]


def table(rounds: int) -> list[tuple[str, list[float]]]:
    """Measure every case: its title, then nanoseconds of plain and of each backend."""
    rows = []
    for title, (function, count) in CASES.items():
        compiled = [bcjit.compile(function, backend=backend) for backend in BACKENDS]
        args = arrays(count)
        for f in compiled:
            f(*args)
        rows.append((title, nanoseconds([function, *compiled], args, rounds)))
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="turns that the minimum is of")
    rows = table(parser.parse_args().rounds)
    print("| ns a call | plain | " + " | ".join(f"{b} | {b} / plain" for b in BACKENDS) + " |")
    print("|" + "---|" * (2 + 2 * len(BACKENDS)))
    for title, (plain, *others) in rows:
        cells = " | ".join(f"{ns:,.0f} | {ns / plain:.2f}" for ns in others)
        print(f"| {title} | {plain:,.0f} | {cells} |")


class CallOverhead:
    """The same cases for asv: ``time_call`` by case and by how it runs."""

    params = (list(CASES), ["plain", *BACKENDS])
    param_names = ("function", "run")

    def setup(self, title: str, run: str) -> None:
        """Compile and capture, outside what is timed."""
        function, count = CASES[title]
        self.args = arrays(count)
        self.function = function if run == "plain" else bcjit.compile(function, backend=run)
        self.function(*self.args)

    def time_call(self, _title: str, _run: str) -> None:
        """One call."""
        self.function(*self.args)


if __name__ == "__main__":
    main()
