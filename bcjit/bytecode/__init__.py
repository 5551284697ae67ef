"""Code objects as data: native and virtual instructions, resume functions, building code; interprets nothing.

`decode` gives the virtual `Listing` of a code object, `resume_code` a function that goes on at one of its offsets,
`CodeBuilder` makes new code. Imports nothing of bcjit outside this package.
"""

from bcjit.bytecode.builder import CodeBuilder
from bcjit.bytecode.decode import decode, encode
from bcjit.bytecode.dialect import UnsupportedPython
from bcjit.bytecode.instruction import (
    FOR_ITERS,
    JUMPS,
    TERMINATORS,
    Instruction,
    Op,
    Position,
    Region,
    stack_effect,
)
from bcjit.bytecode.listing import Listing
from bcjit.bytecode.loops import Loop, leads_to_raise, loops_of, meeting_of
from bcjit.bytecode.resume import CannotResume, Leave, resume_code

__all__ = [
    "FOR_ITERS",
    "JUMPS",
    "TERMINATORS",
    "CannotResume",
    "CodeBuilder",
    "Instruction",
    "Leave",
    "Listing",
    "Loop",
    "Op",
    "Position",
    "Region",
    "UnsupportedPython",
    "decode",
    "encode",
    "leads_to_raise",
    "loops_of",
    "meeting_of",
    "resume_code",
    "stack_effect",
]
