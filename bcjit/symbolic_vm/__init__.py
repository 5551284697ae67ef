"""The symbolic interpreter: bytecode over symbolic values, recording NumPy calls into a graph and all it relied on as guards.

Rooms, in the order a capture goes through them: ``capture`` (the door), ``machine`` (logs, undo, the loop), ``handlers`` and its three rooms (opcodes),
``realize`` (objects from outside), ``attributes``, ``operators``, ``subscripts``, ``calls``, ``builtin_calls``, ``math_calls``, ``method_calls``
(what Python's operations mean), ``numpy_calls`` (nodes), ``loops``, ``loop_items``, ``branches``, ``merging``, ``places``, ``closing``, ``unions`` (loops and branches
that are nodes), ``state`` and ``values`` (data), ``refusals`` and ``break_reasons``
(what is not captured, and why). Nothing here compiles, runs or changes anything of the program.
"""

from bcjit.symbolic_vm.break_reasons import REASONS
from bcjit.symbolic_vm.calls import mark, marked, only_cuts
from bcjit.symbolic_vm.capture import Capture, PartSpec, argument_count, capture
from bcjit.symbolic_vm.given_up import RAISING
from bcjit.symbolic_vm.handlers import BREAKS, CALL_OPS, HANDLERS
from bcjit.symbolic_vm.loop_report import LoopReport
from bcjit.symbolic_vm.machine import Settings
from bcjit.symbolic_vm.refusals import Refusal, refusal
from bcjit.symbolic_vm.state import BreakExit, Position, ReturnExit, State

__all__ = [
    "BREAKS",
    "CALL_OPS",
    "HANDLERS",
    "RAISING",
    "REASONS",
    "BreakExit",
    "Capture",
    "LoopReport",
    "PartSpec",
    "Position",
    "Refusal",
    "ReturnExit",
    "Settings",
    "State",
    "argument_count",
    "capture",
    "mark",
    "marked",
    "only_cuts",
    "refusal",
]
