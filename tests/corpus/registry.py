"""The table of corpus functions and the small helpers with which their files are written.

An `Entry` names a factory of fresh `World`s. This module must not run or judge them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from differential import Call, Function, World, args

__all__ = ["ENTRIES", "Entry", "args", "entry", "floats", "ints", "world"]

ENTRIES: list[Entry] = []


@dataclass(frozen=True, slots=True)
class Entry:
    """One corpus function."""

    name: str
    make: Callable[[], World]
    tags: frozenset[str]
    expects_capture: bool


def entry(tags: str, capture: bool = True) -> Callable[[Callable[[], World]], Callable[[], World]]:
    """Put a factory of worlds into the table, under the factory's name.

    Parameters
    ----------
    tags
        Words that describe the function, parted by blanks.
    capture
        Whether at least one graph must be captured from it.
    """

    def put(make: Callable[[], World]) -> Callable[[], World]:
        name = make.__name__
        if any(known.name == name for known in ENTRIES):
            raise ValueError(f"two corpus functions are called {name}")
        ENTRIES.append(Entry(name, make, frozenset(tags.split()), capture))
        return make

    return put


def world(
    fn: Function,
    *calls: Call,
    watch: Callable[[], object] | None = None,
    between: Callable[[int], None] | None = None,
) -> World:
    """Return a world with these calls."""
    return World(fn, calls, watch, between)


def floats(*shape: int, dtype: str = "f8", seed: int = 0) -> np.ndarray:
    """Return positive and negative numbers that no operation maps to round ones."""
    generator = np.random.Generator(np.random.PCG64(seed + sum(shape)))
    return np.asarray(generator.normal(size=shape) * 3).astype(dtype)


def ints(*shape: int, dtype: str = "i8", low: int = -5, high: int = 9, seed: int = 0) -> np.ndarray:
    """Return small whole numbers."""
    generator = np.random.Generator(np.random.PCG64(seed + sum(shape)))
    return np.asarray(generator.integers(low, high, size=shape)).astype(dtype)
