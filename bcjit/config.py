"""The settings of bcjit, one object for the process; it holds values and checks them, and acts on none.

Every field is a row of `FIELDS`. Assignment checks the value; `Config.override` sets some fields for
the length of a ``with`` block (for all threads: the settings are the process's).
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from bcjit.errors import ArgumentError, ArgumentTypeError
from bcjit.lazy import Later
from bcjit.records import dataclass

if TYPE_CHECKING:
    import difflib
else:
    difflib = Later("difflib")

__all__ = ["CACHE_HOME", "FIELDS", "Config", "Field", "config"]


@dataclass(frozen=True, slots=True)
class Field:
    """One setting: its default (whose type is its type), lower bound, environment variable, meaning."""

    default: bool | int | str
    doc: str
    low: int = 0
    env: str | None = None


FIELDS: Final[Mapping[str, Field]] = {
    "strict": Field(
        False, "raise internal errors instead of running the frame plainly", env="BCJIT_STRICT"
    ),
    "disabled": Field(False, "run every function as plain Python", env="BCJIT_DISABLE"),
    "verbose": Field(False, "log explanations and tracebacks in full", env="BCJIT_VERBOSE"),
    "cache_limit": Field(8, "most entries of one part; more variants run plainly", low=1),
    "part_limit": Field(64, "most parts (continuations) of one code object", low=1),
    "inline_depth": Field(16, "most calls inlined inside one another", low=0),
    "unroll_limit": Field(
        16, "most turns of a loop whose length is known that are unrolled", low=0
    ),
    "unroll_instructions": Field(
        4000, "most instructions interpreted in one capture that unrolls a loop", low=0
    ),
    "loops": Field(True, "capture loops whole, as nodes of the graph, where that can be done"),
    "plain_loops": Field(True, "leave a loop to Python in which nothing was captured"),
    "optimize": Field(True, "run the passes over the graphs of backends that take optimized ones"),
    "capture_limit": Field(20_000, "most instructions interpreted in one capture", low=1),
    "cost_model": Field(
        True,
        'under backend="auto", run plain what is measured to be slower compiled',
        env="BCJIT_COST_MODEL",
    ),
    "progress": Field(
        True,
        "show in the terminal what `python -m bcjit run` compiles while that takes long",
        env="BCJIT_PROGRESS",
    ),
    "disk_cache": Field(
        True, "keep compiled kernels on disk, for later processes", env="BCJIT_CACHE"
    ),
    "disk_cache_folder": Field(
        "",
        "folder for them; empty: `bcjit` in $XDG_CACHE_HOME or ~/.cache",
        env="BCJIT_CACHE_DIR",
    ),
    "disk_cache_size": Field(
        256,
        "most MiB of them; beyond, those that were not used for longest go",
        low=1,
        env="BCJIT_CACHE_SIZE",
    ),
    "num_threads": Field(
        0,
        "most threads of one native kernel; 0: as many as there are processors for this process",
        env="BCJIT_NUM_THREADS",
    ),
    "dump": Field(
        "", "folder into which what becomes of each part is written; empty: none", env="BCJIT_DUMP"
    ),
}

# Where the caches of this user are, as the process found it: a home that a program under test puts here later is none of ours.
CACHE_HOME: Final[Mapping[str, str]] = {
    name: os.environ.get(name, "") for name in ("XDG_CACHE_HOME", "HOME")
}

_ENV_BOOL: Final[Mapping[str, bool]] = {
    "": False, "0": False, "false": False, "no": False, "off": False,
    "1": True, "true": True, "yes": True, "on": True,
}  # fmt: skip


class Config:
    """The settings. Unknown names and wrong values raise at the assignment.

    Parameters
    ----------
    environ
        Where the environment variables of `FIELDS` are looked up.

    Examples
    --------
    >>> settings = Config({})
    >>> with settings.override(cache_limit=2):
    ...     settings.cache_limit
    2
    >>> settings.cache_limit
    8
    """

    __slots__ = tuple(FIELDS)

    strict: bool
    disabled: bool
    verbose: bool
    cache_limit: int
    part_limit: int
    inline_depth: int
    unroll_limit: int
    unroll_instructions: int
    loops: bool
    plain_loops: bool
    optimize: bool
    capture_limit: int
    cost_model: bool
    progress: bool
    disk_cache: bool
    disk_cache_folder: str
    disk_cache_size: int
    num_threads: int
    dump: str

    def __init__(self, environ: Mapping[str, str]) -> None:
        for name, field in FIELDS.items():
            value = field.default
            if field.env is not None and field.env in environ:
                value = _env_value(field.env, environ[field.env], field.default)
            setattr(self, name, value)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # what others look for in any object
            raise AttributeError(name)
        raise AttributeError(_no_field(name))

    def __setattr__(self, name: str, value: object) -> None:
        _check(name, value)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        msg = f"bcjit.config.{name} cannot be deleted; assign a value to it"
        raise ArgumentError(msg)

    @contextmanager
    def override(self, **values: bool | int | str) -> Iterator[Config]:
        """Set fields for the length of a ``with`` block; none is set unless all values are right."""
        for name, value in values.items():
            _check(name, value)
        before = {name: getattr(self, name) for name in values}
        for name, value in values.items():
            setattr(self, name, value)
        try:
            yield self
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def __repr__(self) -> str:
        return f"Config({', '.join(f'{name}={getattr(self, name)!r}' for name in FIELDS)})"


def _no_field(name: str) -> str:
    similar = difflib.get_close_matches(name, FIELDS, n=1)
    meant = f". Did you mean {similar[0]!r}?" if similar else ""
    return f"bcjit.config has no field {name!r}; its fields are {', '.join(FIELDS)}{meant}"


def _check(name: str, value: object) -> None:
    field = FIELDS.get(name)
    if field is None:
        raise ArgumentError(_no_field(name))
    wanted = type(field.default)
    if type(value) is not wanted:
        msg = (
            f"bcjit.config.{name} ({field.doc}) must be of type {wanted.__name__},"
            f" not {type(value).__name__}: {value!r}"
        )
        raise ArgumentTypeError(msg)
    if isinstance(value, int) and value < field.low:
        msg = f"bcjit.config.{name} ({field.doc}) must be at least {field.low}, not {value!r}"
        raise ArgumentError(msg)


def _env_value(variable: str, text: str, default: bool | int | str) -> bool | int | str:
    if isinstance(default, str):
        return text
    return (
        _env_bool(variable, text)
        if isinstance(default, bool)
        else _env_int(variable, text, default)
    )


def _env_int(variable: str, text: str, default: int) -> int:
    word = text.strip()
    if not word:
        return default
    if not (word.isascii() and word.isdecimal()):
        msg = f"environment variable {variable} must be a whole number (or empty), not {text!r}"
        raise ArgumentError(msg)
    return int(word)


def _env_bool(variable: str, text: str) -> bool:
    value = _ENV_BOOL.get(text.strip().lower())
    if value is None:
        msg = f"environment variable {variable} must be 1 or 0 (or empty), not {text!r}"
        raise ArgumentError(msg)
    return value


# What each setting is, for ``help(bcjit.config)``.
_WORDS: Final = (
    "A part is a piece of a function that is compiled by itself: from its beginning, or from behind a break, to the next break. An entry"
    "\nis one compiled variant of a part, for arguments of some kinds."
)
Config.__doc__ = (
    f"{inspect.cleandoc(Config.__doc__ or '')}\n\nSettings\n--------\n{_WORDS}\n\n"
    + "\n".join(
        f"{name} = {field.default!r}: {field.doc}"
        + (f" (environment variable {field.env})" if field.env else "")
        for name, field in FIELDS.items()
    )
)
config: Final = Config(os.environ)
