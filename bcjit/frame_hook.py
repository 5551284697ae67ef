"""The policy of the frame-evaluation hook (PEP 523): whether it can be used here, and which frames are left alone.

The mechanism is C (``bcjit._core``): the hook is armed for one code object at a time, on one thread, when a call finds no entry, and
disarmed when that frame arrives; while a whole script is run it stays, and each code object is judged once (`is_eligible`, `shows_arrays`).
Frames under ``sys.settrace``, a debugger or a coverage tool run plain. This module knows no graphs.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import itertools
import os
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

from bcjit.bytecode.dialect import SUPPORTED
from bcjit.logs import get_logger, once

__all__ = [
    "is_eligible",
    "may_compile_callee",
    "measure_own_coverage",
    "report_once",
    "shows_arrays",
    "why_unsupported",
]

_LEFT_ALONE: Final = (
    sys.stdlib_module_names | {"numpy", "bcjit", "llvmlite", "_pytest", "pytest"}
) - {"__main__"}


_FORMS: Final = "bcjit.structured"


def why_unsupported() -> str | None:
    """Return why nothing can be compiled in this interpreter, None if all is well.

    Nothing is raised: on a Python that bcjit does not know, functions run plain.
    """
    version = sys.version_info[:2]
    if version not in SUPPORTED:
        known = ", ".join(f"{major}.{minor}" for major, minor in sorted(SUPPORTED))
        return f"bytecode of Python {version[0]}.{version[1]} is not known to this bcjit (known: {known})"
    if importlib.util.find_spec("bcjit._core") is None:
        return "the C extension bcjit._core was not built for this Python"
    try:
        core = importlib.import_module("bcjit._core")
    except ImportError as error:
        return f"the C extension bcjit._core cannot be imported: {error}"
    found = core.check_support()
    return None if found is None else str(found)


def report_once(reason: str) -> None:
    """Log one line that functions run plain, and why."""
    once(get_logger("hook"), reason, f"bcjit: functions run as plain Python: {reason}")


def may_compile_callee(function: FunctionType) -> bool:
    """Whether a function that a compiled one calls may be compiled by itself.

    The standard library, NumPy's own Python code and the machinery around us stay as they are: there is nothing to gain,
    and their frames are looked at by name. Our loops and branches as functions are code of the program's that we wrote.
    """
    module = function.__globals__.get("__name__")
    return module == _FORMS or not (
        isinstance(module, str) and module.partition(".")[0] in _LEFT_ALONE
    )


# ---- whole scripts -------------------------------------------------------------------------------

_STDLIB: Final = os.path.join(os.path.dirname(os.__file__), "")  # noqa: PTH118, PTH120 - co_filename is a string
_INSTALLED: Final = ("site-packages", "dist-packages")
_OWN: Final = os.path.join(os.path.dirname(__file__), "")  # noqa: PTH118, PTH120 - as above


def is_eligible(code: CodeType, function: FunctionType) -> bool:
    """Whether frames of a function may be captured when a whole script is run.

    The script and the pure-Python packages it uses are; the standard library, NumPy and bcjit (but for its forms of loops) are not.
    """
    filename = code.co_filename
    if filename.startswith(_OWN):
        return function.__globals__.get("__name__") == _FORMS
    if filename.startswith(_STDLIB):
        inside = filename[len(_STDLIB) :].replace("\\", "/").split("/", 1)[0]
        return inside in _INSTALLED and may_compile_callee(function)
    return may_compile_callee(function)


_FEW: Final = 4
_MANY: Final = 64
_HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class of the program's
_flags_of: Final[Any] = type.__dict__["__flags__"]
_module_of: Final[Any] = type.__dict__["__module__"]


def shows_arrays(code: CodeType, function: FunctionType, values: Iterable[object]) -> bool:
    """Whether a call of a function has anything of NumPy in sight; runs no code of the program.

    In sight are the arguments, what they hold, the cells, and the globals that the code or code inside it names.
    """
    namespace = function.__globals__
    inner = (constant for constant in code.co_consts if type(constant) is CodeType)
    names = (name for each in (code, *inner) for name in each.co_names)
    return (
        any(dict.__contains__(namespace, n) and _is_of_numpy(namespace[n]) for n in names)
        or any(map(_is_of_numpy, _contents(function)))
        or any(_is_of_numpy(value) or any(map(_is_of_numpy, _held(value))) for value in values)
    )


def _is_of_numpy(value: object) -> bool:
    """Whether a value is an array, a NumPy scalar, a function, class or module of NumPy."""
    kind = type(value)
    if kind is ModuleType:
        module = vars(value).get("__name__")
    else:
        # issubclass of classes, since isinstance asks the value for its __class__
        module = _module_of.__get__(value if issubclass(kind, type) else kind)
    return isinstance(module, str) and module.partition(".")[0] == "numpy"


def _contents(function: FunctionType) -> Iterator[object]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue  # empty


def _held(value: object) -> Iterator[object]:
    """Yield the first elements of a builtin container and the attributes of an instance."""
    kind = type(value)
    if kind is list or kind is tuple:
        yield from itertools.islice(value, _FEW)  # type: ignore[call-overload]  # mypy: exact types
    elif kind is dict:
        yield from itertools.islice(value.values(), _FEW)  # type: ignore[attr-defined]  # as above
    elif _flags_of.__get__(kind) & _HEAP_TYPE and not issubclass(
        kind, list | tuple | dict | set | frozenset
    ):
        for held in itertools.islice(gc.get_referents(value), _MANY):
            yield held
            if type(held) is dict:
                yield from itertools.islice(held.values(), _MANY)


def measure_own_coverage() -> None:
    """Keep compiling under tracing, so that the coverage of bcjit's own tests can be measured."""
    core = importlib.import_module("bcjit._core")
    core.set_tracing_override(True)
