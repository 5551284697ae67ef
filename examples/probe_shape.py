"""Probe (b): code that uses its input's shape. Lengths are symbols, so four lengths need one capture."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import bcjit

LENGTHS = (3, 5, 7, 100)


def differences(x: np.ndarray) -> np.ndarray:
    """Return the table of all differences between elements, scaled by their number."""
    n = x.shape[0]
    column = x.reshape(n, 1)
    return (column - x) / n + np.zeros((n, n))


@dataclass
class Facts:
    """What happened at each call."""

    shapes: list[tuple[int, ...]] = field(default_factory=list)
    captured: list[int] = field(default_factory=list)
    equal: list[bool] = field(default_factory=list)


def main() -> Facts:
    """Call the function with 3, 5, 7 and 100 elements and show how many subgraphs each call captured."""
    compiled = bcjit.compile(differences, backend="eager")
    facts = Facts()
    for length in LENGTHS:
        x = np.linspace(0.0, 1.0, length)
        before = len(compiled.graphs)
        result = compiled(x)
        facts.shapes.append(result.shape)
        facts.captured.append(len(compiled.graphs) - before)
        facts.equal.append(bool(np.array_equal(result, differences(x))))
        print(
            f"differences of {length} elements -> shape {result.shape}, "
            f"{facts.captured[-1]} subgraphs captured, equal to plain NumPy: {facts.equal[-1]}"
        )
    for graph in compiled.graphs:
        print(graph.text())
    return facts


if __name__ == "__main__":
    main()
