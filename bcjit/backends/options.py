"""Options on their way from `compile` to a backend, which alone knows what they mean.

A backend takes options if it has an attribute ``with_options``: called with the mapping it returns the backend that heeds them, or raises
`ArgumentError` for what it does not know, for which `check_options` is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from bcjit.backends.registry import backend_name, get_backend
from bcjit.errors import ArgumentError, ArgumentTypeError, BackendError

if TYPE_CHECKING:
    from bcjit.backends.registry import Backend

__all__ = ["NO_OPTIONS", "check_options", "options_text", "with_options"]

NO_OPTIONS: Final[Mapping[str, object]] = {}


def with_options(backend: str | Backend, options: Mapping[str, object]) -> Backend:
    """Return the backend that heeds the options.

    Raises
    ------
    ArgumentError
        The backend takes no options, or not these.
    BackendError
        What its ``with_options`` returns is no backend.
    """
    found = get_backend(backend)
    if not options:
        return found
    take: Any = getattr(found, "with_options", None)
    name = backend_name(backend)
    if not callable(take):
        given = ", ".join(map(repr, options))
        raise ArgumentError(f"options: backend {name!r} takes none, got {given}")
    made: object = take(options)
    if not callable(made):
        raise BackendError(name, f"with_options returned {type(made).__name__}, not a callable")
    return cast("Backend", made)


def check_options(name: str, options: Mapping[str, object], known: Mapping[str, type]) -> None:
    """Raise for options that a backend does not know, or of another type.

    Parameters
    ----------
    name
        The backend's.
    options
        What was given.
    known
        The type of each option there is.
    """
    expected = ", ".join(f"{key!r}: {kind.__name__}" for key, kind in known.items())
    for key, value in options.items():
        if key not in known:
            raise ArgumentError(f"options: backend {name!r} has {{{expected}}}, got {key!r}")
        if not isinstance(value, known[key]):
            raise ArgumentTypeError(
                f"options: {key!r} of backend {name!r} is of type {known[key].__name__}, got {value!r}"
            )


def options_text(options: Mapping[str, object]) -> str:
    """Return options for people, empty if there are none."""
    return ", ".join(f"{key}={value!r}" for key, value in options.items())
