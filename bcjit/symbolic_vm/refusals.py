"""Which code objects are not interpreted at all, and why; facts about code only.

Suspended frames can never be replaced; a frame that lets itself be watched is seen as written.
"""

from __future__ import annotations

import weakref
from functools import partial
from types import CodeType
from typing import Final

import bcjit.symbolic_vm.break_reasons as because
from bcjit.bytecode import Op, decode
from bcjit.errors import SourceLine
from bcjit.records import dataclass

__all__ = ["Refusal", "refusal"]

# Generator, coroutine, iterable coroutine, async generator.
_SUSPENDS: Final = 0x20 | 0x80 | 0x100 | 0x200
_OPTIMIZED: Final = 0x01 | 0x02  # CO_OPTIMIZED | CO_NEWLOCALS: a function's code
# Names of functions that let someone watch the frame from then on: its lines must be the plain ones.
_WATCHES: Final = frozenset(
    {"breakpoint", "set_trace", "settrace", "setprofile", "set_local_events"}
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a code object runs plain."""

    reason: str  # code of the row of the table of break reasons
    context: str
    line: SourceLine


# By identity: equal code objects may come from different files.
_known: dict[int, tuple[weakref.ref[CodeType], Refusal | None]] = {}


def refusal(code: CodeType) -> Refusal | None:
    """Return why `code` is not captured, None if it can be tried."""
    key = id(code)
    known = _known.get(key)
    if known is not None and known[0]() is code:
        return known[1]
    found = _look(code)
    _known[key] = (
        weakref.ref(code, partial(_known.pop, key)),
        found,
    )  # no Python code, in which a signal could strike and be lost
    return found


def _look(code: CodeType) -> Refusal | None:
    first = SourceLine(code.co_filename, code.co_firstlineno, code.co_qualname)
    if code.co_flags & _SUSPENDS:
        return Refusal(because.SUSPENDS, code.co_qualname, first)
    if code.co_flags & _OPTIMIZED != _OPTIMIZED:
        return Refusal(because.INSTRUCTION, "not the code of a function", first)
    cells = {*code.co_cellvars, *code.co_freevars}
    watched = sorted(_WATCHES.intersection(code.co_names))
    if watched:
        return Refusal(because.DEBUGGER, watched[0], first)
    for instruction in decode(code).instructions:
        if instruction.op is Op.LOAD_FAST_AND_CLEAR and instruction.arg in cells:
            place = SourceLine(
                code.co_filename,
                instruction.position.lineno or code.co_firstlineno,
                code.co_qualname,
            )
            return Refusal(because.INSTRUCTION, "a comprehension whose variable is a cell", place)
    return None
