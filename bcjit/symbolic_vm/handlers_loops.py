"""Handlers of loops, comprehensions, exceptions caught and generators made in the frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import bcjit.symbolic_vm.break_reasons as because
from bcjit.bytecode import FOR_ITERS, Instruction, Op
from bcjit.config import config
from bcjit.lazy import Later
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.handler_table import argument_count, argument_name, handles
from bcjit.symbolic_vm.iterators import get_iter, is_iterator, step, turns_left
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import describe
from bcjit.symbolic_vm.state import Exit, Frame, ReturnExit, YieldExit
from bcjit.symbolic_vm.values import (
    NULL,
    UNBOUND,
    IteratorState,
    Known,
    SymGenerator,
    SymInstance,
    SymIterator,
    SymTuple,
    SymValue,
)

if TYPE_CHECKING:
    from bcjit.symbolic_vm import loops
else:
    # Most functions have no loop that is captured whole.
    loops = Later("bcjit.symbolic_vm.loops")

_HEAP_TYPE: Final = (
    1 << 9
)  # Py_TPFLAGS_HEAPTYPE: a class of the program, whose bases can be changed


@handles(Op.GET_ITER)
def _get_iter(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(get_iter(vm, vm.pop()))


@handles(*FOR_ITERS)
def _for_iter(vm: Machine, frame: Frame, instruction: Instruction) -> Exit | None:
    """Unroll a short loop over what was made here, capture a longer one whole; else it is cut, and Python asks the iterator."""
    pair = instruction.op is Op.FOR_ITER_PAIR
    iterator = vm.realize(vm.state.stack[-2 if pair else -1])
    behind = argument_count(instruction)
    if not is_iterator(iterator):
        break_graph(because.LOOP, _which_turn(iterator))
    if isinstance(iterator, SymIterator):
        turns, body = turns_left(vm, iterator), behind - vm.state.index
        if turns > config.unroll_limit or vm.steps + turns * body > config.unroll_instructions:
            vm.state = vm.state.at(vm.state.index - 1)
            found = loops.capture_for(vm, frame, vm.state.index, iterator)
            if found is None:
                break_graph(because.LOOP, _which_turn(iterator))
            return None if found is True else cast("Exit", found)
    item = step(vm, iterator)
    if item is None:
        if isinstance(iterator, SymIterator):
            made = vm.state.heap.get(iterator.oid, iterator.initial)
            assert isinstance(made, IteratorState)
            vm.note_loop("unrolled", f"{made.given} turns", vm.line)
        vm.popn(2 if pair else 1)
        vm.jump(behind)
    else:
        vm.push(item)
    return None


def _which_turn(iterator: SymValue) -> str:
    """Return in words what a loop is cut for: the way into it, or what comes behind a turn."""
    if isinstance(iterator, SymIterator):
        return "the first turn"
    kind = describe(iterator)
    over = kind.removesuffix("_iterator")
    return f"the next turn, over a {over}" if over != kind else f"the next turn, over {kind}"


@handles(Op.LOAD_FAST_AND_CLEAR)
def _load_fast_and_clear(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    slot = frame.code.co_varnames.index(argument_name(instruction))
    value = vm.state.locals[slot]
    vm.push(NULL if value is UNBOUND else value)
    vm.set_local(slot, UNBOUND)


@handles(Op.CHECK_EXC_MATCH)
def _check_exc_match(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    """Mirror ``PyErr_GivenExceptionMatches`` (Python/errors.c), which asks the classes' MRO and no code."""
    wanted = vm.realize(vm.pop())
    exception = vm.realize(vm.state.stack[-1])
    if not isinstance(exception, SymInstance):
        break_graph(because.NO_RULE, f"except for {describe(exception)}")
    classes = _exception_classes(vm, wanted)
    mro = type.__getattribute__(exception.pytype, "__mro__")
    if exception.pytype.__flags__ & _HEAP_TYPE and any(
        c not in (exception.pytype, Exception, BaseException) for c in classes
    ):
        break_graph(because.NO_RULE, f"except for {exception.pytype.__name__}")
    vm.push(Known(None, any(cls in mro for cls in classes)))


def _exception_classes(vm: Machine, value: SymValue) -> tuple[type, ...]:
    if isinstance(value, SymTuple):
        return tuple(c for item in value.items for c in _exception_classes(vm, vm.realize(item)))
    if isinstance(value, Known):
        found = value.value
        if isinstance(found, type) and issubclass(found, BaseException):
            return (found,)
    return break_graph(because.NO_RULE, f"except {describe(value)}")


@handles(Op.RETURN_GENERATOR)
def _return_generator(vm: Machine, frame: Frame, instruction: Instruction) -> Exit:
    if not frame.inlined:
        break_graph(because.SUSPENDS, "a suspended frame cannot be replaced")
    born = vm.positions[0].state.index
    if born in vm.no_generators:
        break_graph(because.NOT_INLINED, "a generator that lives on")
    made = SymGenerator(None, frame, vm.new_id(), born)
    return ReturnExit(vm.state.with_heap(made.oid, vm.state), made)


@handles(Op.YIELD_VALUE)
def _yield_value(vm: Machine, frame: Frame, instruction: Instruction) -> Exit:
    value = vm.pop()
    return YieldExit(vm.state, value)
