"""Loops as nodes: a loop with a branch in it is captured whole, printed, run and compared; the report says what became of each loop.

The functions are plain Python over single elements, the kind of program that has no array form: each turn needs the one before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import bcjit


def limited(x: np.ndarray, rate: float, limit: float) -> np.ndarray:
    """Low-pass filter of first order whose level never gets above `limit`; float64 of the shape of `x`, one axis."""
    y = np.empty_like(x)
    level = x[0]
    for i in range(x.shape[0]):
        level = level + rate * (x[i] - level)
        if level > limit:
            level = level - 2.0 * (level - limit)
        y[i] = level
    return y


def smoothed(x: np.ndarray, tolerance: float) -> np.ndarray:
    """Average neighbours until nothing changes by more than `tolerance`, at most 1,000 times; then three times more."""
    for _ in range(1000):
        new = x.copy()
        new[1:-1] = 0.25 * x[:-2] + 0.5 * x[1:-1] + 0.25 * x[2:]
        change = np.abs(new - x).max()
        x = new
        if change <= tolerance:
            break
    for weight in (0.5, 0.25, 0.125):
        x = x - weight * x.mean()
    return x


def steps(x: np.ndarray) -> list[np.float64]:
    """How much each element is above the one before: a list that grows, which is left to Python."""
    found = []
    for i in range(1, x.shape[0]):
        found.append(x[i] - x[i - 1])  # noqa: PERF401 - see above
    return found


def levels(x: np.ndarray, rate: float) -> np.ndarray:
    """The filter without its limit, with `bcjit.scan`."""

    def turn(level: np.float64, value: np.float64) -> tuple[np.float64, np.float64]:
        level = level + rate * (value - level)
        return level, level

    return bcjit.scan(turn, x[0], x)[1]


@dataclass
class Facts:
    """What `main` found, for the test of this example."""

    equal: list[bool]  # for each function: compiled and plain agree bit for bit
    graphs: list[int]  # how many each is
    became: list[list[str]]  # what became of its loops


def main() -> Facts:
    """Compile each function, run it, and print what was captured."""
    x = np.cumsum(np.random.default_rng(0).standard_normal(200))
    facts = Facts([], [], [])
    for fn, args in (
        (limited, (x, 0.3, 2.0)),
        (smoothed, (x, 0.05)),
        (steps, (x,)),
        (levels, (x, 0.3)),
    ):
        compiled = bcjit.compile(fn)
        result = compiled(*args)
        facts.equal.append(np.asarray(result).tobytes() == np.asarray(fn(*args)).tobytes())
        facts.graphs.append(len(compiled.graphs))
        report = compiled.report()
        facts.became.append([loop.how for loop in report.loops])
        if fn is limited:
            print("A loop and the branch in it are one node each, their bodies indented:\n")
            print(compiled.graphs[0])
            print("\nThe same as the control primitives of dataflow:\n")
            print(compiled.graphs[0].to_dataflow().text())
            print()
        print(report)
        print(f"  equal to plain Python bit for bit: {facts.equal[-1]}\n")
    return facts


if __name__ == "__main__":
    main()
