"""Handlers that move values: the stack, constants, locals, cells and globals; they compute nothing."""

from __future__ import annotations

from typing import Final

import bcjit.symbolic_vm.break_reasons as because
from bcjit.bytecode import Instruction, Op
from bcjit.guards import GuardKind, Source, SourceKind
from bcjit.records import replace
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.finalisers import drop
from bcjit.symbolic_vm.handler_table import argument_count, argument_name, handles
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.merging import bound_value
from bcjit.symbolic_vm.state import Effect, Frame
from bcjit.symbolic_vm.subscripts import delete_from_dict, set_in_dict
from bcjit.symbolic_vm.values import (
    DELETED,
    NULL,
    UNBOUND,
    Changes,
    Known,
    Lazy,
    Null,
    SymCell,
    SymGone,
    SymMaybe,
    SymObject,
    SymValue,
)


@handles(Op.NOP, Op.RESUME, Op.COPY_FREE_VARS)
def _nothing(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    del vm, frame, instruction


@handles(Op.POP_TOP)
def _pop_top(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.pop()


@handles(Op.PUSH_NULL)
def _push_null(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(NULL)


@handles(Op.COPY)
def _copy(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(vm.state.stack[-argument_count(instruction)])


@handles(Op.SWAP)
def _swap(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    stack = list(vm.state.stack)
    other = -argument_count(instruction)
    stack[-1], stack[other] = stack[other], stack[-1]
    vm.state = replace(vm.state, stack=tuple(stack))


@handles(Op.LOAD_CONST)
def _load_const(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(Known(None, instruction.arg))


@handles(Op.LOAD_ASSERTION_ERROR)
def _load_assertion_error(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(Known(None, AssertionError))


def _local(frame: Frame, name: str) -> int:
    return frame.code.co_varnames.index(name)


@handles(Op.LOAD_FAST)
def _load_fast(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    slot = _local(frame, argument_name(instruction))
    value = vm.state.locals[slot]
    if value is UNBOUND:
        break_graph(because.UNBOUND_NAME, argument_name(instruction))
    if isinstance(value, SymGone):
        break_graph(
            because.LOOP, f"{argument_name(instruction)} is another kind of thing in each turn"
        )
    if isinstance(value, SymMaybe):
        value = bound_value(vm, value)
        vm.set_local(slot, value)
    vm.push(value)


@handles(Op.STORE_FAST)
def _store_fast(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    value = vm.pop()
    vm.set_local(
        _local(frame, argument_name(instruction)), UNBOUND if isinstance(value, Null) else value
    )


@handles(Op.DELETE_FAST)
def _delete_fast(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    value = vm.state.locals[_local(frame, argument_name(instruction))]
    if value is UNBOUND or isinstance(value, SymGone):
        break_graph(because.UNBOUND_NAME, argument_name(instruction))
    if isinstance(value, SymMaybe):
        bound_value(vm, value)
    vm.set_local(_local(frame, argument_name(instruction)), UNBOUND)


def _cell_slot(frame: Frame, name: str) -> int:
    return (frame.code.co_cellvars + frame.code.co_freevars).index(name)


def _cell(vm: Machine, frame: Frame, name: str) -> SymCell:
    cell = vm.state.cells[_cell_slot(frame, name)]
    if cell is None:
        break_graph(because.UNBOUND_NAME, name)
    return cell


@handles(Op.MAKE_CELL)
def _make_cell(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    name = argument_name(instruction)
    initial: SymValue = UNBOUND
    if name in frame.code.co_varnames:
        initial = vm.state.locals[_local(frame, name)]
        vm.set_local(_local(frame, name), UNBOUND)
    cell = SymCell(None, vm.new_id(), name, initial, from_outside=False)
    slot = _cell_slot(frame, name)
    cells = vm.state.cells
    vm.state = replace(vm.state, cells=(*cells[:slot], cell, *cells[slot + 1 :]))


@handles(Op.LOAD_CLOSURE)
def _load_closure(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(_cell(vm, frame, argument_name(instruction)))


@handles(Op.LOAD_DEREF)
def _load_deref(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    cell = _cell(vm, frame, argument_name(instruction))
    _must_be_known(vm, cell)
    vm.push(_contents_of(vm, cell))


def _must_be_known(vm: Machine, cell: SymCell) -> None:
    """Break where a cell from outside may be one that was written under another name.

    The frame's own cells are known apart, and a cell is itself; two that held two objects at the start are two.
    """
    if cell.source is None:
        return
    for other in vm.outside_cells_written:
        assert other.source is not None
        both = (cell.source, other.source)
        if both[0] == both[1] or all(source.kind is SourceKind.CELL for source in both):
            continue
        held = (cell.initial, other.initial)
        if not all(isinstance(value, Lazy) for value in held) or held[0].obj is held[1].obj:  # type: ignore[attr-defined]
            break_graph(because.OUTSIDE_WRITE, f"{cell.name} may be a variable that was written")
        vm.guard_same_object(*both, same=False)


def _contents_of(vm: Machine, cell: SymCell) -> SymValue:
    """Return what a cell holds; that it holds something is guarded if it was so from the start."""
    value = vm.contents(cell)
    assert isinstance(value, SymValue)
    if value is UNBOUND:
        break_graph(because.UNBOUND_NAME, cell.name)
    if value is cell.initial and cell.source is not None:
        vm.guard(GuardKind.PRESENT, cell.source, None)
    return value


@handles(Op.STORE_DEREF)
def _store_deref(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    cell = _cell(vm, frame, argument_name(instruction))
    value = vm.pop()
    _write_cell(vm, cell, value)


@handles(Op.DELETE_DEREF)
def _delete_deref(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    cell = _cell(vm, frame, argument_name(instruction))
    _contents_of(vm, cell)
    _write_cell(vm, cell, UNBOUND)


def _write_cell(vm: Machine, cell: SymCell, value: SymValue) -> None:
    if cell.source is not None:
        _must_be_known(vm, cell)
        before = vm.contents(cell)
        assert isinstance(before, SymValue)
        drop(vm, before)
        vm.note_cell_written(cell)
        if cell.source.kind is SourceKind.CELL_OF:
            kind = "delcell" if value is UNBOUND else "setcell"
            operands = () if value is UNBOUND else (value,)
            vm.perform(Effect(kind, owner=cell, operands=operands))
    vm.state = vm.state.with_heap(cell.oid, value)


def _namespace(vm: Machine, frame: Frame) -> SymObject:
    """Return the globals of a frame as the dict they are."""
    if type(frame.globals) is not dict:
        break_graph(because.ATTRIBUTE, "globals that are not a plain dict")
    number = vm.number_of(frame.globals)
    return SymObject(frame.globals_source, dict, number, None, frame.globals)


@handles(Op.STORE_GLOBAL)
def _store_global(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    name = Known(None, argument_name(instruction))
    set_in_dict(vm, _namespace(vm, frame), name, vm.pop())


@handles(Op.DELETE_GLOBAL)
def _delete_global(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    name = Known(None, argument_name(instruction))
    delete_from_dict(vm, _namespace(vm, frame), name)


@handles(Op.LOAD_GLOBAL)
def _load_global(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(_global(vm, frame, argument_name(instruction)))


def _global(vm: Machine, frame: Frame, name: str) -> SymValue:
    """Mirror ``LOAD_GLOBAL`` (Python/bytecodes.c): the globals, else the builtins."""
    here = frame.globals_source
    namespace = _namespace(vm, frame)
    changed = vm.contents(namespace)
    known = changed.find(name) if isinstance(changed, Changes) else None
    if known is not None and known is not DELETED:
        return known
    if isinstance(changed, tuple):
        break_graph(because.ATTRIBUTE, "globals that were cleared")
    found = frame.globals.get(name, _MISSING)
    if known is None and found is not _MISSING:
        kind = here.kind is SourceKind.GLOBALS
        source = Source(SourceKind.GLOBAL, name) if kind else Source(SourceKind.ITEM, name, here)
        return vm.present(source, found)
    if not vm.same_builtins(frame.globals):
        break_graph(because.ATTRIBUTE, "builtins of another module")
    found = vm.builtins.get(name, _MISSING)
    if found is _MISSING:
        break_graph(because.UNBOUND_NAME, name)
    if known is None:
        vm.guard(GuardKind.ABSENT, here, name)
    return vm.present(Source(SourceKind.BUILTIN, name), found)


_MISSING: Final = object()
