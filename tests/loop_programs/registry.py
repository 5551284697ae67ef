"""The table of loop programs, how one is put into it, and the arrays that they are called with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from differential import World, args

Make = Callable[[], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class LoopProgram:
    """A function, and makers of the arguments of its calls; the first is the usual one, of which floors are counted."""

    fn: Callable[..., Any]
    calls: tuple[Make, ...]

    @property
    def name(self) -> str:
        """The function's name."""
        return self.fn.__name__

    def world(self) -> World:
        """Return a fresh world with all calls."""
        return World(self.fn, [lambda make=make: args(*make()) for make in self.calls])


PROGRAMS: Final[list[LoopProgram]] = []


def program(*calls: Make) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function into the table, with makers of arguments."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        assert fn.__name__ not in {one.name for one in PROGRAMS}, fn.__name__
        PROGRAMS.append(LoopProgram(fn, calls))
        return fn

    return register


def wave(*shape: int, dtype: str = "f8", phase: float = 0.0) -> np.ndarray:
    """Return numbers between -1 and 1 (-9 and 9 of integers) that look random and are none."""
    values = np.sin(np.arange(int(np.prod(shape))) * 1.7 + phase).reshape(shape)
    if np.dtype(dtype).kind in "iu":
        return (values * 9).round().astype(dtype)
    if np.dtype(dtype).kind == "c":
        return (values + 1j * np.cos(values * 3)).astype(dtype)
    return values.astype(dtype)


def dominant(n: int, dtype: str = "f8") -> np.ndarray:
    """Return a symmetric matrix that every solver here can take."""
    part = wave(n, n)
    return (part @ part.T / (n or 1) + np.eye(n) * 3).astype(dtype)
