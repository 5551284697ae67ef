"""What an entry of the op table is, and the two ways to say no; holds no entries (those are in the op modules).

An `OpDef` is one NumPy function. Its `Spelling` objects are the callables that mean it: a function, an ndarray method,
a ufunc's ``reduce``, a Python operator. Each has an ``expand`` whose parameters after the emitter are the
declared signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from inspect import Signature, signature
from typing import Any, TypeAlias

import numpy as np

from bcjit.dims import Expr
from bcjit.records import dataclass

__all__ = [
    "Fact",
    "MustKnow",
    "NotConstant",
    "OpDef",
    "OpFailure",
    "Sample",
    "Sampler",
    "Spelling",
    "Unsupported",
    "WouldRaise",
    "declared",
    "sample",
]


class OpFailure(Exception):
    """An op cannot be put into a graph; ``reason`` is one sentence for the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Unsupported(OpFailure):
    """The table does not describe this call: break the graph here."""


class MustKnow(Unsupported):
    """The table describes this call once a symbolic int, wherever it is among its arguments, is a known one.

    ``few`` says that it has only a few values in any program (an axis).
    """

    def __init__(self, reason: str, dim: Expr, *, few: bool = False) -> None:
        super().__init__(reason)
        self.dim = dim
        self.few = few


class NotConstant(Unsupported):
    """The table describes this call once a Python number among its arguments is a known one.

    ``parameter`` is the name of the argument in the signature.
    """

    def __init__(self, parameter: str) -> None:
        super().__init__(f"{parameter} is not a constant number")
        self.parameter = parameter


class WouldRaise(OpFailure):
    """NumPy raises for these shapes, dtypes or constants: break, so that it does."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What an expand gives where the call's result is a Python value and no array: no node of a graph is made.

    The value is made of dims, bools, texts, dtypes, classes, NumPy scalars, None, and tuples of those.
    """

    value: object


@dataclass(frozen=True, slots=True)
class Sample:
    """Arguments for the tests, of real values."""

    args: tuple[object, ...]
    kwargs: Mapping[str, object]


def sample(*args: object, **kwargs: object) -> Sample:
    """Build a `Sample` as the call is written."""
    return Sample(args, kwargs)


Sampler: TypeAlias = Callable[[np.dtype[Any]], Iterable[Sample]]  # of arguments in a dtype


@dataclass(frozen=True, slots=True)
class Spelling:
    """One callable that means an op."""

    target: Callable[..., object]
    expand: Callable[..., object]  # expand(e, *arguments of target)
    samples: Sampler
    method: str | None = None  # name of the ndarray attribute that is this, if it is one
    of_scalar: bool = False  # the attribute of np.generic, not of np.ndarray
    is_attribute: bool = False  # read (``x.T``), not called

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments of a call by the names of the parameters; ``TypeError`` if they do not fit."""
        return declared(self.expand).bind(None, *args, **kwargs).arguments


@cache
def declared(expand: Callable[..., object]) -> Signature:
    """Return the parameters of an expand, the emitter first: made when first needed, so that importing is fast."""
    if type(expand) is partial and not expand.keywords:
        # One function serves many ops; inspecting a partial takes as long as all the rest of a call's first inference.
        every = tuple(declared(expand.func).parameters.values())
        return Signature(every[len(expand.args) :])
    return signature(expand)


@dataclass(frozen=True, slots=True)
class OpDef:
    """The entry for a NumPy function."""

    name: str
    spellings: tuple[Spelling, ...]
    ulp: int = (
        0  # how far expand may be from NumPy, in units in the last place of the largest result
    )

    def spelling(self, target: Callable[..., object]) -> Spelling:
        """Return the spelling of a callable that means this op; ``KeyError`` for any other.

        Ufunc methods are compared by equality: ``np.add.reduce`` is a new object at each access.
        """
        for spelling in self.spellings:
            if spelling.target is target or (
                isinstance(target, _BUILTIN_METHOD) and spelling.target == target
            ):
                return spelling
        raise KeyError(target)


_BUILTIN_METHOD = type(len)
