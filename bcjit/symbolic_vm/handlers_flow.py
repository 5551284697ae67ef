"""Handlers of calls, function objects, jumps and returns."""

from __future__ import annotations

from types import CellType
from typing import TYPE_CHECKING, cast

import bcjit.symbolic_vm.break_reasons as because
from bcjit.bytecode import Instruction, Op
from bcjit.guards import Source, SourceKind
from bcjit.lazy import Later
from bcjit.records import replace
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.builtin_calls import items_of
from bcjit.symbolic_vm.calls import call
from bcjit.symbolic_vm.handler_table import argument_count, argument_name, handles
from bcjit.symbolic_vm.identity import identical
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import describe
from bcjit.symbolic_vm.operators import is_data, truth
from bcjit.symbolic_vm.realize import outside_cell
from bcjit.symbolic_vm.state import Exit, Frame, ReturnExit
from bcjit.symbolic_vm.subscripts import (
    dict_items,
)
from bcjit.symbolic_vm.values import (
    Known,
    Lazy,
    Null,
    SymCell,
    SymFunction,
    SymObject,
    SymValue,
)

if TYPE_CHECKING:
    from bcjit.symbolic_vm import branches
else:
    # Most functions have no branch on data.
    branches = Later("bcjit.symbolic_vm.branches")


def _callable(
    first: SymValue, second: SymValue, args: tuple[SymValue, ...]
) -> tuple[SymValue, tuple[SymValue, ...]]:
    """Sort out the two slots below the arguments; one rule fits the layouts of all versions."""
    if isinstance(first, Null):
        return second, args
    if isinstance(second, Null):
        return first, args
    return first, (second, *args)


@handles(Op.CALL)
def _call(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    first, second, *args = vm.popn(argument_count(instruction) + 2)
    function, given = _callable(first, second, tuple(args))
    vm.push(call(vm, function, given))


@handles(Op.CALL_KW)
def _call_kw(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    count, names = cast("tuple[int, tuple[str, ...]]", instruction.arg)
    first, second, *args = vm.popn(count + 2)
    positional = len(args) - len(names)
    function, given = _callable(first, second, tuple(args[:positional]))
    vm.push(call(vm, function, given, dict(zip(names, args[positional:], strict=True))))


@handles(Op.CALL_FUNCTION_EX)
def _call_function_ex(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    kwargs: dict[str, SymValue] = {}
    if instruction.arg and not isinstance(mapping := vm.pop(), Null):
        more = vm.realize(mapping)
        if not isinstance(more, SymObject) or more.pytype is not dict:
            break_graph(because.NO_RULE, f"** of {describe(more)}")
        for key, item, _ in dict_items(vm, more):
            if type(key) is not str:
                break_graph(because.WOULD_RAISE, "keywords must be strings")
            kwargs[key] = item
    first, second, packed = vm.popn(3)
    function, given = _callable(first, second, items_of(vm, packed, "*"))
    vm.push(call(vm, function, given, kwargs))


@handles(Op.MAKE_FUNCTION)
def _make_function(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    names = instruction.arg
    assert isinstance(names, tuple)
    *parts, code = vm.popn(len(names) + 1)
    code = vm.realize(code)
    assert isinstance(code, Known)
    made = SymFunction(
        source=None,
        code=code.value,  # type: ignore[arg-type]
        globals=frame.globals,
        globals_source=frame.globals_source,
        defaults=None,
        kwdefaults=None,
        closure=(),
        name=code.value.co_name,  # type: ignore[attr-defined]
        qualname=code.value.co_qualname,  # type: ignore[attr-defined]
    )
    for name, part in zip(names, parts, strict=True):
        made = _with_attribute(vm, made, name, part)
    vm.push(made)


@handles(Op.SET_FUNCTION_ATTRIBUTE)
def _set_function_attribute(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    part, function = vm.popn(2)
    function = vm.realize(function)
    if not isinstance(function, SymFunction) or function.source is not None:
        break_graph(because.OUTSIDE_WRITE, "attribute of a function")
    vm.push(_with_attribute(vm, function, argument_name(instruction), part))


def _closure_cells(vm: Machine, function: SymFunction, part: SymValue) -> tuple[SymCell, ...]:
    """Return the cells of a closure tuple: made here, or by the part before, which left the tuple on the stack."""
    tuple_source = vm.realize(part).source
    cells = []
    for index, (item, name) in enumerate(
        zip(items_of(vm, part, "closure"), function.code.co_freevars, strict=True)
    ):
        if isinstance(item, SymCell):
            cells.append(item)
        elif isinstance(item, Lazy) and isinstance(item.obj, CellType) and tuple_source is not None:
            source = Source(SourceKind.CELL_OF, index, tuple_source)
            cells.append(outside_cell(vm, item.obj, source, name))
        else:
            break_graph(because.NO_RULE, "a closure over cells that are on the stack")
    return tuple(cells)


def _with_attribute(vm: Machine, function: SymFunction, name: str, part: SymValue) -> SymFunction:
    if name == "closure":
        return replace(function, closure=_closure_cells(vm, function, part))
    if name == "defaults":
        return replace(function, defaults=items_of(vm, part, "defaults"))
    if name == "kwdefaults":
        part = vm.realize(part)
        if not isinstance(part, SymObject):
            break_graph(because.NO_RULE, "keyword defaults that are no dict")
        pairs = tuple((str(item.key), item.value) for item in dict_items(vm, part))
        return replace(function, kwdefaults=pairs)
    return replace(function, annotations=part)


@handles(Op.JUMP)
def _jump(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.jump(argument_count(instruction))


@handles(Op.POP_JUMP_IF_TRUE, Op.POP_JUMP_IF_FALSE)
def _pop_jump_if(vm: Machine, frame: Frame, instruction: Instruction) -> Exit | None:
    jumps_if = instruction.op is Op.POP_JUMP_IF_TRUE
    value = vm.pop()
    answer = _truth_or_data(vm, frame, value)
    if answer is None:
        ways = vm.state.at(argument_count(instruction)), vm.state
        return branches.fork(vm, frame, value, ways if jumps_if else ways[::-1])
    if answer is jumps_if:
        vm.jump(argument_count(instruction))
    return None


def _truth_or_data(vm: Machine, frame: Frame, value: SymValue) -> bool | None:
    """Return the truth of a value; None where data decide, and the branch is to be a node."""
    if vm.structured and is_data(vm, value):
        return None
    return truth(vm, value)


@handles(Op.POP_JUMP_IF_NONE, Op.POP_JUMP_IF_NOT_NONE)
def _pop_jump_if_none(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    answer = identical(vm, vm.pop(), Known(None, None))
    assert isinstance(answer, Known)
    if answer.value is (instruction.op is Op.POP_JUMP_IF_NONE):
        vm.jump(argument_count(instruction))


@handles(Op.JUMP_IF_TRUE_OR_POP, Op.JUMP_IF_FALSE_OR_POP)
def _jump_or_pop(vm: Machine, frame: Frame, instruction: Instruction) -> Exit | None:
    jumps_if = instruction.op is Op.JUMP_IF_TRUE_OR_POP
    value = vm.state.stack[-1]
    answer = _truth_or_data(vm, frame, value)
    if answer is None:
        stays = vm.state.at(argument_count(instruction))
        vm.pop()
        return branches.fork(vm, frame, value, (stays, vm.state) if jumps_if else (vm.state, stays))
    if answer is jumps_if:
        vm.jump(argument_count(instruction))
    else:
        vm.pop()
    return None


@handles(Op.RETURN_VALUE)
def _return_value(vm: Machine, frame: Frame, instruction: Instruction) -> Exit:
    value = vm.pop()
    return ReturnExit(vm.state, value)
