"""Makes functions from source text, with real file and line facts; it compiles nothing.

Source made at run time is put into `linecache` under a file name of its own, so that tracebacks and
warnings have lines to show, as for a module on disk.
"""

from __future__ import annotations

import hashlib
import linecache
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import bcjit

PRELUDE = """\
import warnings

import numpy as np

SEEN = []


class Refused(Exception):
    def __init__(self, message, value):
        super().__init__(message)
        self.value = value


class Box:
    gain = 2.0

    def __init__(self, value):
        self.value = value
        self.count = 0

    def scaled(self, x):
        return x * self.gain + self.value


def helper(v, scale=2.0, *, shift=0):
    w = v * scale
    return w + shift


def noisy(v):
    w = v + 1
    print("noisy", w.sum())
    return w


def deep(v):
    return helper(v, 1.5) - helper(v, shift=1)


def choose(v, limit):
    if v.sum() > limit:
        return v - limit
    return v


def explode(v):
    w = v * 2
    return w.reshape(7, 7)


def refuse(v):
    try:
        v["key"]
    except IndexError as error:
        raise Refused("refused", 3) from error


def note(*things):
    SEEN.append([str(thing) for thing in things])


"""


def module_from(source: str, label: str) -> types.ModuleType:
    """Execute source text as a module that has lines in `linecache`."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    filename = f"/generated/{label}_{digest}.py"
    lines = source.splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)
    module = types.ModuleType(f"{label}_{digest}")
    module.__file__ = filename
    module.__dict__["graph_break"] = bcjit.graph_break
    with warnings.catch_warnings():
        # 3.14 warns of a return in a finally block: programs may do what the language lets them.
        warnings.simplefilter("ignore", SyntaxWarning)
        code = compile(source, filename, "exec")
    exec(code, module.__dict__)
    return module


def function_from(source: str, label: str, name: str = "f") -> Callable[..., Any]:
    """Execute `PRELUDE` and source text afresh and return the function of that name."""
    return getattr(module_from(PRELUDE + source, label), name)


def indented(block: str, by: int = 4) -> str:
    """Return the lines of a block, indented."""
    return "".join(f"{' ' * by}{line}\n" for line in block.splitlines())


def copy_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return fresh copies of arguments given by name; two names of one object stay so."""
    memo: dict[int, Any] = {}

    def fresh(value: Any) -> Any:
        if id(value) in memo:
            return memo[id(value)]
        if isinstance(value, np.ndarray):
            made: Any = value.copy(order="K")
        elif isinstance(value, list):
            made = [fresh(item) for item in value]
        elif isinstance(value, tuple):
            made = tuple(fresh(item) for item in value)
        elif isinstance(value, dict):
            made = {key: fresh(item) for key, item in value.items()}
        else:
            return value
        memo[id(value)] = made
        return made

    return {name: fresh(value) for name, value in arguments.items()}
