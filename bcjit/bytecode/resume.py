"""Resume functions: code that takes live values as arguments and goes on inside the original bytecode.

A resume function is a short prologue and the original native instructions with their exception table, its fast locals
renumbered. It decides nothing: the caller says what is live. It does not handle generators.
"""

from __future__ import annotations

from types import CodeType
from typing import Final

from bcjit.bytecode.assembler import (
    NativeCode,
    NativeHandler,
    NativeInstruction,
    assemble_tables,
    parse,
)
from bcjit.bytecode.decode import decode
from bcjit.bytecode.dialect import Dialect, current
from bcjit.bytecode.instruction import Instruction, Op, Position, Region
from bcjit.bytecode.listing import Listing
from bcjit.bytecode.operands import Kind, Native, Operands, as_int
from bcjit.errors import BcjitError
from bcjit.records import dataclass

_CO_VARARGS: Final = 0x04
_CO_VARKEYWORDS: Final = 0x08


class CannotResume(BcjitError):
    """No function can go on at this offset: it lies in the prologue, inside a group, or is never reached."""


@dataclass(frozen=True, slots=True)
class Leave:
    """A place of the original code where resumed code ends.

    It returns ``(marker, cells or None, value...)``, the values of `bound` and of the slots of `stack` that are not NULL.
    """

    offset: int
    marker: object
    stack: tuple[bool, ...]
    bound: tuple[str, ...]


def resume_code(
    code: CodeType,
    offset: int,
    stack: tuple[bool, ...],
    bound: tuple[str, ...],
    leaves: tuple[Leave, ...] = (),
) -> CodeType:
    """Code that goes on in `code` at `offset`.

    Parameters
    ----------
    offset
        Start of a group of ``decode(code)``.
    stack
        One flag for each slot of the stack there, bottom first: True for a NULL, and, where a saved position is no object
        (`Listing.positions`, from 3.14 on), for a position: the function makes one.
    bound
        The bound locals that are not cells, in the order of ``co_varnames``. The other locals start unbound.
    leaves
        Where it ends before the original code does. What is bound there must be so for certain.

    Returns
    -------
    CodeType
        Its arguments are the values of `bound`, then those of the slots that are not NULL. Its free variables are
        ``co_cellvars + co_freevars`` of `code`. Everything a traceback shows is that of `code`.

    Raises
    ------
    CannotResume
        If `offset` is no place to go on.
    ValueError
        If `stack` or `bound` does not fit `code`.
    """
    listing = decode(code)
    entry = _entry(listing, offset)
    if listing.depths()[listing.index_of(offset)] != len(stack):
        raise ValueError(
            f"{code.co_qualname} has another stack depth than {len(stack)} at {offset}"
        )
    positions = _positions(listing, offset, stack)
    layout = _Layout.of(code, stack, bound, max((len(leave.stack) for leave in leaves), default=0))
    native = parse(code)
    target = next(n for n in native.instructions if n.offset == offset)
    handlers = native.handlers
    _renumber(native, layout)
    consts = list(code.co_consts)
    if leaves:
        _make_iterators_objects(native, consts)
    for leave in leaves:
        _insert_leave(native, leave, layout, consts)
    _drop_prologue(native)
    prologue, raised = _prologue(layout, stack, positions, entry, target)
    region = _native_region(listing, entry.handler, handlers)
    if region is not None:
        # from RESUME on a signal can raise: it must find the handler of the place where the user's code is
        start = next(n for n in prologue if n.name == "RESUME")
        first = native.instructions[0]
        own = NativeHandler(start, first, region.target, region.depth, region.lasti)
        handlers = [own, *handlers]
    handlers = [*raised, *handlers]
    tables = assemble_tables([*prologue, *native.instructions], handlers, code.co_firstlineno)
    return code.replace(
        co_code=tables.co_code,
        co_linetable=tables.co_linetable,
        co_exceptiontable=tables.co_exceptiontable,
        co_consts=tuple(consts),
        co_stacksize=max(
            code.co_stacksize + bool(leaves), *(_slots_of(leave, layout) for leave in leaves), 0
        ),
        co_varnames=layout.varnames,
        co_nlocals=len(layout.varnames),
        co_cellvars=(),
        co_freevars=layout.freevars,
        co_argcount=layout.argcount,
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~(_CO_VARARGS | _CO_VARKEYWORDS),
    )


def _positions(listing: Listing, offset: int, stack: tuple[bool, ...]) -> frozenset[int]:
    """The slots for which a saved position is to be made."""
    if current().positions_are_objects:
        return frozenset()
    positions = listing.positions(listing.index_of(offset))
    if not all(stack[slot] for slot in positions):
        message = f"{listing.code.co_qualname} has a saved position among {stack} at {offset}"
        raise ValueError(message)
    return positions


def _entry(listing: Listing, offset: int) -> Instruction:
    """The virtual instruction to go on at."""
    name = listing.code.co_qualname
    if listing.is_generator() is not None:
        raise CannotResume(f"{name} is a generator or a coroutine")
    if not listing.is_group_start(offset):
        raise CannotResume(
            f"{name}: offset {offset} is inside a group of instructions, or no instruction"
        )
    index = listing.index_of(offset)
    started = next(
        i for i, instruction in enumerate(listing.instructions) if instruction.op is Op.RESUME
    )
    if index <= started:
        raise CannotResume(f"{name} has not started at offset {offset}: its cells are not made yet")
    # an exhausted FOR_ITER goes on behind its END_FOR, so nothing arrives here
    if listing[index].op is Op.END_FOR or listing.depths()[index] is None:
        raise CannotResume(f"{name}: offset {offset} is never reached")
    if _cells_missing(listing, index):
        raise CannotResume(f"{name}: at offset {offset} a comprehension has not made its cells yet")
    return listing[index]


def _cells_missing(listing: Listing, index: int) -> set[object]:
    """Cells whose slot is empty there: an inlined comprehension clears it and makes its own, in straight-line code."""
    cells = {*listing.code.co_cellvars, *listing.code.co_freevars}
    missing: set[object] = set()
    for instruction in listing.instructions[:index]:
        if instruction.op is Op.LOAD_FAST_AND_CLEAR and instruction.arg in cells:
            missing.add(instruction.arg)
        elif instruction.op in {Op.MAKE_CELL, Op.STORE_FAST}:
            missing.discard(instruction.arg)
    return missing


@dataclass(frozen=True, slots=True)
class _Layout:
    """The fast locals of the resume function: arguments, then unbound locals, then the cells as free variables."""

    varnames: tuple[str, ...]
    freevars: tuple[str, ...]
    argcount: int
    temporaries: tuple[int, ...]  # slots that carry the stack
    slots: tuple[int, ...]  # new slot of each slot of the original
    unbound: frozenset[int]  # new slots

    @classmethod
    def of(
        cls, code: CodeType, stack: tuple[bool, ...], bound: tuple[str, ...], left: int
    ) -> _Layout:
        old = Operands.of(code)
        plain = [name for slot, name in enumerate(old.slots) if slot not in old.cells]
        if [name for name in plain if name in bound] != list(bound):
            message = f"{bound} are not locals of {code.co_qualname} in the order of {tuple(plain)}"
            raise ValueError(message)
        temporaries = [f".s{slot}" for slot, null in enumerate(stack) if not null]
        others = [name for name in plain if name not in bound]
        varnames = (*bound, *temporaries, *others, *(f".l{slot}" for slot in range(left)))
        freevars = code.co_cellvars + code.co_freevars
        new_local = {name: slot for slot, name in enumerate(varnames)}
        new_cell = {name: len(varnames) + slot for slot, name in enumerate(freevars)}
        argcount = len(bound) + len(temporaries)
        return cls(
            varnames,
            freevars,
            argcount,
            tuple(range(len(bound), argcount)),
            tuple(
                (new_cell if slot in old.cells else new_local)[name]
                for slot, name in enumerate(old.slots)
            ),
            frozenset(range(argcount, len(varnames))),
        )


def _renumber(native: NativeCode, layout: _Layout) -> None:
    """Give every instruction the new slots; split the pairs whose new slots do not fit, or need a test.

    What a local lends to the stack (LOAD_FAST_BORROW) is owned instead: the compiler knew of no way to enter here.
    """
    dialect = current()
    renumbered: list[NativeInstruction] = []
    for instruction in native.instructions:
        renumbered.append(instruction)
        if instruction.name in dialect.slot_opcodes:
            instruction.arg = layout.slots[instruction.arg]
            instruction.name = _checked(instruction, layout, dialect)
        elif instruction.name in dialect.pairs:
            first, second = (layout.slots[n] for n in (instruction.arg >> 4, instruction.arg & 15))
            if max(first, second) <= 15 and not {first, second} & layout.unbound:
                instruction.arg = first << 4 | second
                instruction.name = dialect.owned_loads.get(instruction.name, instruction.name)
                continue
            names = dialect.pairs[instruction.name]
            other = NativeInstruction(names[1], second, instruction.position)
            instruction.name, instruction.arg = names[0], first
            instruction.name = _checked(instruction, layout, dialect)
            other.name = _checked(other, layout, dialect)
            renumbered.append(other)
    native.instructions[:] = renumbered


def _checked(instruction: NativeInstruction, layout: _Layout, dialect: Dialect) -> str:
    """The opcode to use: the compiler left out tests for unbound locals by what it knew of the way here."""
    if instruction.arg in layout.unbound:
        return dialect.checked_loads.get(instruction.name, instruction.name)
    return dialect.owned_loads.get(instruction.name, instruction.name)


def _slots_of(leave: Leave, layout: _Layout) -> int:
    return 2 + len(leave.bound) + len(leave.stack) + len(layout.freevars)


def _insert_leave(native: NativeCode, leave: Leave, layout: _Layout, consts: list[object]) -> None:
    """Put in front of an instruction, and where it is jumped to, what hands over."""
    place, target = next(
        (i, n) for i, n in enumerate(native.instructions) if n.offset == leave.offset
    )
    slots = {name: slot for slot, name in enumerate(layout.varnames)}
    written: list[NativeInstruction] = []
    dialect = current()

    def emit(op: Op, arg: object) -> None:
        written.extend(
            NativeInstruction(made.name, as_int(made.value), target.position)
            for made in dialect.write(op, arg)
        )

    def load_const(value: object) -> None:
        written.append(NativeInstruction("LOAD_CONST", len(consts), target.position))
        consts.append(value)

    for slot in range(len(leave.stack) - 1, -1, -1):
        emit(Op.STORE_FAST, slots[f".l{slot}"])
    load_const(leave.marker)
    if layout.freevars:
        for slot in range(len(layout.freevars)):
            emit(Op.LOAD_CLOSURE, len(layout.varnames) + slot)
        emit(Op.BUILD_TUPLE, len(layout.freevars))
    else:
        load_const(None)
    live = [f".l{slot}" for slot, null in enumerate(leave.stack) if not null]
    for name in (*leave.bound, *live):
        emit(Op.LOAD_FAST, slots[name])
    emit(Op.BUILD_TUPLE, 2 + len(leave.bound) + len(live))
    written.append(NativeInstruction("RETURN_VALUE", 0, target.position))
    native.instructions[place:place] = written
    for instruction in native.instructions:
        if instruction.target is target:
            instruction.target = written[0]


def _make_iterators_objects(native: NativeCode, consts: list[object]) -> None:
    """Where GET_ITER may push what no local can hold (3.15), let it push an iterator: code that leaves hands it over."""
    dialect = current()
    if dialect.renames["FOR_ITER"][0] is Op.FOR_ITER:
        return
    consts.append(iter)
    written: list[NativeInstruction] = []
    for instruction in native.instructions:
        written.append(instruction)
        if instruction.name == "GET_ITER":
            made = [
                NativeInstruction(
                    new.name,
                    len(consts) - 1 if new.kind is Kind.CONST else as_int(new.value or 0),
                    instruction.position,
                )
                for new in (*dialect.write(Op.GET_ITER, None), Native("PUSH_NULL"))
            ]
            # what jumps here finds the first
            instruction.name, instruction.arg = made[0].name, made[0].arg
            written += made[1:]
    native.instructions[:] = written


def _drop_prologue(native: NativeCode) -> None:
    """Remove what is before the first RESUME and itself: cells exist already, and nothing jumps there."""
    names = [instruction.name for instruction in native.instructions]
    del native.instructions[: names.index("RESUME") + 1]


def _prologue(
    layout: _Layout,
    stack: tuple[bool, ...],
    positions: frozenset[int],
    entry: Instruction,
    target: NativeInstruction,
) -> tuple[list[NativeInstruction], list[NativeHandler]]:
    dialect = current()
    prologue: list[NativeInstruction] = []
    raised: list[tuple[NativeInstruction, NativeInstruction, int]] = []

    def emit(name: str, arg: int = 0, position: Position = target.position) -> None:
        prologue.append(NativeInstruction(name, arg, position))

    if layout.freevars:
        emit("COPY_FREE_VARS", len(layout.freevars))
    temporaries = iter(layout.temporaries)
    for depth, null in enumerate(stack):
        if depth in positions:
            # Only the interpreter can push one: it does for a handler of this exception, which nobody sees.
            emit("LOAD_COMMON_CONSTANT")  # the first is AssertionError
            emit("RAISE_VARARGS", 1)
            emit("POP_TOP")
            raised.append((prologue[-2], prologue[-1], depth))
            continue
        if null:
            emit("PUSH_NULL")
            continue
        slot = next(temporaries)
        for name in (
            dialect.moving_load
        ):  # the argument must not keep the value alive, nor show in f_locals
            emit(name, slot)
    emit("RESUME")
    if entry.op is Op.TO_BOOL and target.name in dialect.takes_bool:
        # the comparison before it gave a bool; what arrives here may be any object
        emit("TO_BOOL", position=entry.position)
    emit("JUMP_FORWARD")
    prologue[-1].target = target
    handlers = [NativeHandler(start, end, end, depth, lasti=True) for start, end, depth in raised]
    return prologue, handlers


def _native_region(
    listing: Listing, region: Region | None, handlers: list[NativeHandler]
) -> NativeHandler | None:
    if region is None:
        return None
    offset = listing[region.handler].offset
    return next(
        handler
        for handler in handlers
        if (handler.target.offset, handler.depth, handler.lasti)
        == (offset, region.depth, region.lasti)
    )
