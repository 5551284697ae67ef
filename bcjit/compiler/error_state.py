"""NumPy's error state while a graph runs: what would warn raises, so that the original code can warn at the user's line.

The mapper is given to the C extension, which sets the mapped state around each graph call and caches it by the state's identity.
"""

from __future__ import annotations

import functools
from typing import Any, Final, cast

import numpy as np
from numpy._core import umath

from bcjit import _core

__all__ = ["FLAGS", "FlagRaised", "install", "pending_actions"]

# NumPy's text for each bit of the status (numpy/_core/src/umath/extobj.c, _error_handler)
FLAGS: Final = (
    (1, "divide by zero", "divide"),
    (2, "overflow", "over"),
    (4, "underflow", "under"),
    (8, "invalid value", "invalid"),
)


# What NumPy raises when an error state calls and nothing is there to call; the two blanks are NumPy's.
_NO_HANDLER: Final = {
    "call": "python callback specified for {} (in  {}) but no function found.",
    "log": "log specified for {} (in {}) but no object with write method found.",
}


# What needs no other error state where warnings are refused.
_RAISING: Final = frozenset({"ignore", "raise", "warn"})


class FlagRaised(Exception):
    """A floating-point flag went up that the error state does not ignore; the call's stores are done.

    Parameters
    ----------
    status
        The bits of `FLAGS` that are up.
    """

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _raise(_kind: str, status: int) -> None:
    raise FlagRaised(status)


def _map(_state: object) -> object:
    """Return the error state in which everything that is not ignored raises `FlagRaised`."""
    now = np.geterr()
    mapped: dict[str, Any] = {
        name: "ignore" if mode == "ignore" else "call" for name, mode in now.items()
    }
    return umath._make_extobj(**mapped, call=_raise)  # noqa: SLF001 - np.errstate's own door


def _map_unless_raising(state: object) -> object:
    """Return None for an error state in which NumPy only ignores, raises or warns: the graph refuses its warnings."""
    modes = cast("dict[str, str]", np.geterr())
    return None if _RAISING.issuperset(modes.values()) else _map(state)


def pending_actions(status: int, function: str) -> tuple[tuple[str, object], ...]:
    """Return what NumPy would still do about flags that are up, in NumPy's order, for `_core.Completed`."""
    modes = cast("dict[str, str]", np.geterr())
    handler = np.geterrcall()
    actions: list[tuple[str, object]] = []
    for bit, text, name in FLAGS:
        mode = modes[name]
        if not status & bit or mode == "ignore":
            continue
        message = f"{text} encountered in {function}"
        if handler is None and mode in _NO_HANDLER:
            actions.append((mode, NameError(_NO_HANDLER[mode].format(text, function))))
        elif mode == "call":
            actions.append((mode, functools.partial(cast("Any", handler), text, status)))
        elif mode == "log":
            write = cast("Any", handler).write
            actions.append((mode, functools.partial(write, f"Warning: {message}\n")))
        else:
            actions.append((mode, message))
    return tuple(actions)


def install() -> None:
    """Tell the C extension how to make graphs raise."""
    variable = umath._extobj_contextvar  # noqa: SLF001
    _core.set_error_state_mapper(variable, _map, _map_unless_raising)
