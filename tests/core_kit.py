"""Hand-made parts and entries for the tests of ``bcjit._core``: residual code without a compiler. No tests here."""

from __future__ import annotations

import sys
import types
from pathlib import Path

from bcjit import _core
from bcjit.guards import Guard, GuardKind, Source, SourceKind, specification
from bcjit.meta import SourceLine

WHY = SourceLine("kit.py", 1)


def tree(*guards):
    """Build a guard tree of guards."""
    return _core.GuardTree(specification(guards))


def is_type(index, expected):
    """Guard: the value at this index has exactly this type."""
    return Guard(GuardKind.TYPE, Source(SourceKind.LOCAL, (index, f"v{index}")), expected, WHY)


def with_constants(code, **constants):
    """Return code in which the string constant ``"NAME"`` became the object given as ``NAME=``."""
    assert set(constants) <= set(filter(lambda c: type(c) is str, code.co_consts))
    found = [constants.get(c, c) if type(c) is str else c for c in code.co_consts]
    return code.replace(co_consts=tuple(found))


def restart(entry, func, closure, values, exc):
    """on_bailout that runs the part from its start."""
    return None


def entry_of(code, *guards, returns=True, on_bailout=restart, tag=None, **constants):
    """Make an entry of a function's or a code object's code, with objects in place of constants."""
    code = getattr(code, "__code__", code)
    return _core.Entry(tree(*guards), with_constants(code, **constants), returns, on_bailout, tag)


def part_of(fn, *entries, on_miss=None, tag=None):
    """Make the part that is all of fn's code; the first entry given is looked at first."""
    part = _core.Part(getattr(fn, "__code__", fn), on_miss, tag)
    for entry in reversed(entries):
        part.add(entry)
    return part


def capturing(make_entry):
    """on_miss that adds the entry it makes; ``.calls`` keeps what it was called with."""

    def on_miss(part, func, closure, values):
        on_miss.calls.append((part, func, closure, values))
        entry = make_entry()
        part.add(entry)
        return entry

    on_miss.calls = []
    return on_miss


def dispatcher(fn, *entries, on_miss=None):
    """Make a dispatcher of fn whose part has these entries."""
    return _core.Dispatcher(fn, part_of(fn, *entries, on_miss=on_miss))


def function_at(line, source, **names):
    """Define the first function of the source so that it begins on this line of ``kit.py``."""
    code = compile("\n" * (line - 1) + source, "kit.py", "exec")
    namespace = dict(names)
    exec(code, namespace)
    return next(
        v
        for v in namespace.values()
        if isinstance(v, types.FunctionType) and v.__code__.co_filename == "kit.py"
    )


def raised(fn, *args, **kwargs):
    """Call and describe the exception: type, arguments, cause, context, and the traceback below this frame."""
    try:
        fn(*args, **kwargs)
    except BaseException as exc:
        entries, tb = [], exc.__traceback__.tb_next
        while tb is not None:
            code = tb.tb_frame.f_code
            entries.append((code.co_name, code.co_qualname, code.co_filename, tb.tb_lineno))
            tb = tb.tb_next
        return type(exc), exc.args, repr(exc.__cause__), repr(exc.__context__), entries
    raise AssertionError("nothing was raised")


def resident_kb():
    """Return the resident memory of this process in kB, or None where it cannot be read."""
    if not sys.platform.startswith("linux"):
        return None
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4
