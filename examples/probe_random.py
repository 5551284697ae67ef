"""Probe (c): random numbers. The compiled function draws from the real streams, so none is frozen into a graph."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

import bcjit

CALLS = 5
SEED = 2_024


def noisy(x: np.ndarray) -> np.ndarray:
    """Add a number of NumPy's global stream and one of Python's to `x`."""
    return x + np.random.rand() + random.random()


@dataclass
class Facts:
    """The sums, call by call, and whether both streams stood at the same place after each call."""

    plain: list[float] = field(default_factory=list)
    compiled: list[float] = field(default_factory=list)
    same_state: list[bool] = field(default_factory=list)


def _stream(function: Callable[[np.ndarray], np.ndarray]) -> list[tuple[float, object]]:
    """Seed both streams; return each call's value and where the streams stand after it."""
    random.seed(SEED)
    np.random.seed(SEED)
    calls: list[tuple[float, object]] = []
    for _ in range(CALLS):
        value = float(function(np.zeros(1))[0])
        calls.append((value, (random.getstate(), repr(np.random.get_state()))))
    return calls


def main() -> Facts:
    """Run the plain and the compiled function from the same seeds and compare them call by call."""
    facts = Facts()
    plain = _stream(noisy)
    compiled = _stream(bcjit.compile(noisy, backend="eager"))
    for (expected, state_a), (got, state_b) in zip(plain, compiled, strict=True):
        facts.plain.append(expected)
        facts.compiled.append(got)
        facts.same_state.append(state_a == state_b)
        print(
            f"plain {expected:.17f}  compiled {got:.17f}  same streams after it: {state_a == state_b}"
        )
    return facts


if __name__ == "__main__":
    main()
