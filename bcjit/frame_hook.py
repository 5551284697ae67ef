"""The policy of the frame-evaluation hook (PEP 523): whether it can be used here, and which frames are left alone.

The mechanism is C (``bcjit._core``): the hook is armed for one code object at a time, on one thread, when a call finds no entry, and
disarmed when that frame arrives. Frames under ``sys.settrace``, a debugger or a coverage tool run plain. This module knows no graphs.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import FunctionType
from typing import Final

from bcjit.bytecode.dialect import SUPPORTED
from bcjit.logs import get_logger, once

__all__ = ["may_compile_callee", "measure_own_coverage", "report_once", "why_unsupported"]

_LEFT_ALONE: Final = (sys.stdlib_module_names | {"numpy", "bcjit", "_pytest", "pytest"}) - {
    "__main__"
}


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
    and their frames are looked at by name.
    """
    module = function.__globals__.get("__name__")
    return not (isinstance(module, str) and module.partition(".")[0] in _LEFT_ALONE)


def measure_own_coverage() -> None:
    """Keep compiling under tracing, so that the coverage of bcjit's own tests can be measured."""
    core = importlib.import_module("bcjit._core")
    core.set_tracing_override(True)
