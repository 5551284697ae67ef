"""The table of handlers, one an opcode, and how a handler gets into it; no handler is here.

A handler takes the machine, the frame and the instruction, and moves `machine.state` on. It returns an exit only where the frame leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bcjit.bytecode import Instruction, Op
from bcjit.symbolic_vm.machine import Handler, Machine
from bcjit.symbolic_vm.state import Exit, Frame

__all__ = ["HANDLERS", "argument_count", "argument_name", "handles"]

HANDLERS: Final[dict[Op, Handler]] = {}

_Simple = Callable[[Machine, Frame, Instruction], Exit | None]


def handles(*opcodes: Op) -> Callable[[_Simple], _Simple]:
    """Register the handler of some opcodes."""

    def register(function: _Simple) -> _Simple:
        for op in opcodes:
            if op in HANDLERS:
                message = f"two handlers for {op.name}"
                raise ValueError(message)
            HANDLERS[op] = function
        return function

    return register


def argument_name(instruction: Instruction) -> str:
    """Return the argument of an instruction that names something."""
    assert isinstance(instruction.arg, str)
    return instruction.arg


def argument_count(instruction: Instruction) -> int:
    """Return the argument of an instruction that counts something."""
    assert isinstance(instruction.arg, int)
    return instruction.arg
