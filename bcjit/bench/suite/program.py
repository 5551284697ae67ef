"""What a program of the suite is: a plain function, what makes its arguments, and its sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

__all__ = ["SIZES", "Array", "Program", "Sizes"]

Array = np.ndarray[Any, Any]
SIZES: Final = ("small", "medium", "large")
SEED: Final = 20_240


@dataclass(frozen=True, slots=True)
class Sizes:
    """What a program is told as its size: elements, the length of a side, or turns, as its set-up says."""

    small: int
    medium: int
    large: int


@dataclass(frozen=True, slots=True)
class Program:
    """A program as a NumPy user writes it.

    Attributes
    ----------
    function
        The program. It names NumPy only as ``np``, so that a peer can run it with a module of its own under that name.
    make
        Returns its arguments, given its size and a generator of random numbers.
    sizes
        Its sizes.
    subject
        What it is about: the module it is in.
    by_element
        Whether it reads and writes items one by one in Python loops; else its work is in calls on arrays.
    """

    function: Callable[..., Any]
    make: Callable[[int, np.random.Generator], tuple[Any, ...]]
    sizes: Sizes
    subject: str
    by_element: bool = False

    @property
    def name(self) -> str:
        """How it is called in tables."""
        return self.function.__name__.replace("_", " ")

    @property
    def what(self) -> str:
        """What it computes, in a line."""
        return (self.function.__doc__ or "").partition("\n")[0].removesuffix(".")

    def setup(self, size: str, seed: int = SEED) -> tuple[Any, ...]:
        """Return its arguments for one of `SIZES`; the same for the same seed, and always new objects."""
        return self.make(getattr(self.sizes, size), np.random.default_rng(seed))
