"""Backends as a command line names them: ``native``, or ``native-fast`` for one with an option; one that is not there is left out, with a sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from bcjit.api import compile as compile_function
from bcjit.backends import get_backend
from bcjit.bench.measure import Function
from bcjit.bench.peers import one_line
from bcjit.errors import BackendNotFoundError

__all__ = ["OURS", "Through", "forget_kernels", "named", "there", "words_of"]

OURS: Final = ("auto", "eager", "fused", "native")  # not all are installed everywhere


@dataclass(frozen=True, slots=True)
class Through:
    """A backend, with the options that are switched on.

    Attributes
    ----------
    name
        What the command line and the tables call it.
    backend
        A registered name.
    flags
        Options that are True.
    """

    name: str
    backend: str
    flags: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether results are held to be NumPy's bit by bit; an option is asked for where they need not be."""
        return not self.flags

    def compile(self, function: Function) -> Any:
        """Return the function compiled for it."""
        options = dict.fromkeys(self.flags, True) or None
        return compile_function(function, backend=self.backend, options=options)


def named(word: str) -> Through:
    """Return what a word names; names of backends are identifiers, so dashes are ours."""
    backend, *flags = word.split("-")
    return Through(word, backend, tuple(flags))


def forget_kernels() -> None:
    """Let what is compiled next find nothing in memory; a backend that was not used yet is not read."""
    native = sys.modules.get("bcjit.backends.native.compiled")
    if native is not None:
        native.forget()


def words_of(given: Sequence[str]) -> tuple[str, ...]:
    """Return the names of an option that is given again or lists several, each once."""
    return tuple(dict.fromkeys(word for text in given for word in text.split(",") if word))


def there(
    words: Sequence[str], fail: Callable[[str], object]
) -> tuple[tuple[Through, ...], tuple[str, ...]]:
    """Return the backends that can be measured here, and a sentence about each that cannot.

    Parameters
    ----------
    words
        Their names.
    fail
        What is told about a name that there never is; it does not return.
    """
    found, missing = [], []
    for word in words:
        through = named(word)
        try:
            get_backend(through.backend)
            _try(through)
        except BackendNotFoundError as error:
            if through.backend not in OURS:
                fail(f"--backend: {error}")
            missing.append(f"{word} is left out: no backend here is called {through.backend}")
        except Exception as error:  # noqa: BLE001 - whatever is missing or refused, the others are measured
            missing.append(f"{word} is left out: {one_line(error)}")
        else:
            found.append(through)
    return tuple(found), tuple(missing)


def _add_one(x: Any) -> Any:
    return x + 1.0


def _try(through: Through) -> None:
    """Compile and call something: a backend may find out late that it lacks what it needs."""
    compiled = through.compile(_add_one)
    compiled(np.ones(3))
