"""Probe (a): a branch on data. The function is cut there, and each side is captured when it is first taken.

Called with 0, 1 and -1: the first call prints the subgraph that judges and the one of the else side, the second
call nothing, the third call the other side only.
"""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass, field

import numpy as np

import bcjit


def two_sided(x: np.ndarray) -> np.ndarray:
    """Move `x` one step towards zero, or away from it when it is there."""
    if x.sum() < 0:
        y = x + 1
    else:
        y = x - 1
    return y


@dataclass
class Facts:
    """What happened at each call."""

    results: list[np.ndarray] = field(default_factory=list)
    captured: list[int] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)


def main() -> Facts:
    """Call the function with 0, 1, -1 under the print backend and show what each call captured."""
    compiled = bcjit.compile(two_sided, backend="print")
    facts = Facts()
    for value in (0.0, 1.0, -1.0):
        before = len(compiled.graphs)
        with contextlib.redirect_stdout(io.StringIO()) as stream:
            result = compiled(np.full(3, value))
        facts.results.append(result)
        facts.captured.append(len(compiled.graphs) - before)
        facts.printed.append(stream.getvalue())
        print(f"two_sided({value:g}) -> {result}, {facts.captured[-1]} subgraphs captured")
        print(facts.printed[-1], end="")
    return facts


if __name__ == "__main__":
    main()
