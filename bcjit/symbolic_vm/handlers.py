"""What each virtual opcode does: one handler an opcode, in one table, or a row in the list of those that break, with the reason.

Handlers move values between stack, locals and cells (``handlers_names``), ask the protocol modules what operations mean
(``handlers_values``), call, jump and return (``handlers_flow``). They never test a Python version. A test holds that every opcode of every
supported version is in the table.
"""

from __future__ import annotations

from typing import Final

import bcjit.symbolic_vm.break_reasons as because
import bcjit.symbolic_vm.builtin_calls as _builtin_calls
import bcjit.symbolic_vm.handlers_flow as _handlers_flow
import bcjit.symbolic_vm.handlers_loops as _handlers_loops
import bcjit.symbolic_vm.handlers_names as _handlers_names
import bcjit.symbolic_vm.handlers_values as _handlers_values
import bcjit.symbolic_vm.math_calls as _math_calls
import bcjit.symbolic_vm.method_calls as _method_calls
import bcjit.symbolic_vm.sets_and_deques as _sets_and_deques
from bcjit.bytecode import FOR_ITERS, Instruction, Op
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.handler_table import HANDLERS, handles
from bcjit.symbolic_vm.machine import Handler, Machine
from bcjit.symbolic_vm.state import Exit, Frame

__all__ = ["BREAKS", "CALL_OPS", "HANDLERS", "LOOP_HEADS", "PROLOGUE"]

# Where a capture never stops: what sets a frame up, and what completes a function (3.13), which cannot be made
# again while its closure is missing.
PROLOGUE: Final = frozenset(
    {
        Op.MAKE_CELL,
        Op.COPY_FREE_VARS,
        Op.RESUME,
        Op.LOAD_CLOSURE,
        Op.MAKE_FUNCTION,
        Op.SET_FUNCTION_ATTRIBUTE,
    }
)
LOOP_HEADS: Final = FOR_ITERS
CALL_OPS: Final = frozenset({Op.CALL, Op.CALL_KW, Op.CALL_FUNCTION_EX})
# Importing these fills the tables.
_LOADED: Final = (
    _builtin_calls,
    _math_calls,
    _handlers_flow,
    _handlers_loops,
    _handlers_names,
    _handlers_values,
    _method_calls,
    _sets_and_deques,
)

BREAKS: Final[dict[Op, tuple[str, str]]] = {
    **dict.fromkeys(
        (Op.RAISE_VARARGS, Op.RERAISE), (because.RAISE, "the real traceback comes from Python")
    ),
    **dict.fromkeys(
        (
            Op.LOAD_NAME, Op.STORE_NAME, Op.DELETE_NAME, Op.LOAD_LOCALS, Op.LOAD_BUILD_CLASS,
            Op.LOAD_FROM_DICT_OR_DEREF, Op.LOAD_FROM_DICT_OR_GLOBALS, Op.SETUP_ANNOTATIONS,
        ),
        (because.INSTRUCTION, "class and module bodies work on a namespace, not on fast locals"),
    ),
    **dict.fromkeys(
        (Op.IMPORT_NAME, Op.IMPORT_FROM), (because.INSTRUCTION, "an import runs a module's code")
    ),
    **dict.fromkeys(
        (Op.BUILD_INTERPOLATION, Op.BUILD_TEMPLATE),
        (because.INSTRUCTION, "a template is an object of the interpreter"),
    ),
    **dict.fromkeys(
        (Op.CALL_INTRINSIC_1, Op.CALL_INTRINSIC_2),
        (because.INSTRUCTION, "import *, type parameters and the interactive prompt"),
    ),
    Op.LOAD_SUPER_ATTR: (because.ATTRIBUTE, "super() walks the MRO of the live class"),
    **dict.fromkeys(
        (Op.MATCH_CLASS, Op.MATCH_KEYS, Op.MATCH_MAPPING, Op.MATCH_SEQUENCE),
        (because.NO_RULE, "patterns ask classes of the program what they are"),
    ),
    **dict.fromkeys(
        (Op.PUSH_EXC_INFO, Op.POP_EXCEPT, Op.CHECK_EG_MATCH),
        (because.EXCEPTION, "the interpreter's handled exception changes"),
    ),
    **dict.fromkeys(
        (Op.BEFORE_WITH, Op.WITH_EXCEPT_START), (because.WITH, "a context manager is called")
    ),
    **dict.fromkeys(
        (Op.END_FOR, Op.JUMP_NO_INTERRUPT), (because.INSTRUCTION, "never reached in a function")
    ),
    **dict.fromkeys(
        (
            Op.GET_YIELD_FROM_ITER, Op.GET_AWAITABLE,
            Op.GET_AITER, Op.GET_ANEXT, Op.BEFORE_ASYNC_WITH, Op.END_ASYNC_FOR, Op.SEND,
            Op.SEND_POP, Op.END_SEND, Op.CLEANUP_THROW,
        ),
        (because.SUSPENDS, "a suspended frame cannot be replaced"),
    ),
}  # fmt: skip


def _breaking(reason: str, context: str) -> Handler:
    def handler(vm: Machine, frame: Frame, instruction: Instruction) -> Exit | None:
        what = "" if reason == because.WITH else f"{instruction.op.name}: "
        return break_graph(reason, f"{what}{context}")

    return handler


for _op, (_reason, _context) in BREAKS.items():
    handles(_op)(_breaking(_reason, _context))
