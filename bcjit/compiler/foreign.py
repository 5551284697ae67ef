"""Exceptions that come from elsewhere while bcjit works: a signal handler of the program that raises; told by their traceback.

Such an exception is neither a failure of the graph nor a bug of ours: it goes on to the program, without our frames.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final

from bcjit import _core
from bcjit.compiler.error_state import FlagRaised

__all__ = ["install_foreign_test", "traceback_from_elsewhere"]

_OWN: Final = frozenset({"bcjit", "numpy", "bytecode", *sys.stdlib_module_names}) - {"__main__"}


def traceback_from_elsewhere(
    exc: BaseException, function: Callable[..., object] | None = None
) -> TracebackType | None:
    """Return the part of an exception's traceback that is the program's, None if it is all NumPy's and ours.

    Parameters
    ----------
    exc
        The exception.
    function
        What a backend made of a graph: the package it comes from is at work too.
    """
    if isinstance(exc, FlagRaised):
        return None  # whoever's code NumPy was called from
    own = _OWN
    if function is not None:
        module = getattr(function, "__module__", None) or type(function).__module__
        own = own | {str(module).partition(".")[0]}
    for traceback in _entries(exc.__traceback__):
        module = traceback.tb_frame.f_globals.get("__name__")
        if str(module).partition(".")[0] not in own:
            return traceback
    return None


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def install_foreign_test() -> None:
    """Tell the C extension which exceptions are not the graph's own."""
    _core.set_foreign_test(traceback_from_elsewhere)
