"""Capture one part of a function: from live values to a graph, guards and the way it ends.

This is the door of the package: the compiler calls `capture` and reads a `Capture`. Nothing is compiled here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING

from bcjit.bytecode import FOR_ITERS, Op, decode, loops_of
from bcjit.errors import InternalError, SourceLine
from bcjit.fx_graph import Graph, Node
from bcjit.guards import Guard, Roots, Source, SourceKind
from bcjit.lazy import Later
from bcjit.records import dataclass
from bcjit.symbolic_vm.handlers import CALL_OPS, HANDLERS, LOOP_HEADS, PROLOGUE
from bcjit.symbolic_vm.loop_report import LoopReport
from bcjit.symbolic_vm.machine import LeaveLoops, Machine, Settings
from bcjit.symbolic_vm.merging import complete_locals
from bcjit.symbolic_vm.realize import outside_cell, realize
from bcjit.symbolic_vm.state import (
    BreakExit,
    Exit,
    Frame,
    Position,
    Region,
    ReturnExit,
    State,
    suspended_generators,
)
from bcjit.symbolic_vm.values import NULL, UNBOUND, Lazy, SymCell, SymValue

if TYPE_CHECKING:
    from bcjit.symbolic_vm import loops
else:
    # Most functions have no loop that is captured whole.
    loops = Later("bcjit.symbolic_vm.loops")

__all__ = ["Capture", "PartSpec", "capture"]


@dataclass(frozen=True, slots=True)
class PartSpec:
    """Which piece of a code object a part is, and how its values are laid out.

    The first part has `offset` None and as values the frame's arguments. A continuation has as values the plain
    locals named in `bound` (in the order of ``co_varnames``), then the stack slots that are not NULL, bottom first.
    """

    code: CodeType
    offset: int | None = None
    stack: tuple[bool, ...] = ()  # one flag a slot: True where it is NULL
    bound: tuple[str, ...] = ()

    @property
    def value_names(self) -> tuple[str, ...]:
        """The names of the values: the program's, and `stack_names`."""
        if self.offset is None:
            return self.code.co_varnames[: argument_count(self.code)]
        return (*self.bound, *self.stack_names)

    @property
    def stack_names(self) -> tuple[str, ...]:
        """The names of the stack slots that are not NULL: ``.s0`` …, or ``new x`` (of a loop ``next x``) of what is stored as ``x`` next."""
        if self.offset is None:
            return ()
        names = [f".s{index}" for index in range(sum(not null for null in self.stack))]
        listing = decode(self.code)
        index = listing.index_of(self.offset)
        first = listing[index]
        if names and first.op is Op.STORE_FAST:
            loops = index > 0 and listing[index - 1].op in FOR_ITERS
            names[-1] = f"{'next' if loops else 'new'} {first.arg}"
        return tuple(names)

    @property
    def source_line(self) -> SourceLine:
        """The line the part begins at, with file and function."""
        return SourceLine(self.code.co_filename, self.line, self.code.co_qualname)

    @property
    def line(self) -> int:
        """The number of that line."""
        if self.offset is None:
            return self.code.co_firstlineno
        listing = decode(self.code)
        return listing.line_of(listing.index_of(self.offset))


def argument_count(code: CodeType) -> int:
    """Return how many fast locals are bound when a frame starts."""
    return (
        code.co_argcount
        + code.co_kwonlyargcount
        + bool(code.co_flags & 0x04)
        + bool(code.co_flags & 0x08)
    )


@dataclass(frozen=True, slots=True)
class Capture:
    """What one capture found."""

    spec: PartSpec
    frame: Frame
    graph: Graph  # without an output: what is returned is the compiler's choice
    guards: tuple[Guard, ...]
    input_sources: Mapping[Node, Source]
    input_values: Mapping[Node, object]  # what was read there
    records: Mapping[Node, tuple[Position, ...]]  # nodes that are not resumed at the part's start
    end: ReturnExit | BreakExit
    end_position: Position  # the state at the start of the last instruction, with all nodes done
    steps: int = 0
    loops: tuple[LoopReport, ...] = ()  # what became of those it came to


def capture(
    func: FunctionType,
    closure: tuple[CellType, ...] | None,
    values: tuple[object, ...],
    spec: PartSpec,
    settings: Settings,
) -> Capture:
    """Interpret a part symbolically on these values; nothing is run and nothing is changed.

    Parameters
    ----------
    func
        The function whose frame it is (globals, builtins).
    closure
        The cells of a continuation (``co_cellvars + co_freevars``); None for the first part.
    values
        The part's values, in the order of ``spec.value_names``.
    spec
        Which part.
    settings
        See `Settings`.

    Returns
    -------
    Capture
    """
    no_generators: frozenset[int] = frozenset()
    while True:
        try:
            found = _attempt(Roots(values, func, closure), spec, settings, no_generators)
        except LeaveLoops as leave:
            if leave.heads <= settings.left_loops:
                raise InternalError(
                    "a capture without these loops ends as it did with them"
                ) from None
            settings.left_loops.update(leave.heads)
            continue
        state = found.end.state if isinstance(found.end, BreakExit) else None
        born = frozenset() if state is None else frozenset(suspended_generators(state))
        if born <= no_generators:
            return found
        no_generators |= born


def _enter_loop(vm: Machine, frame: Frame) -> Exit | bool | None:
    """Ask `enter_loop` of ``loops``, where the code has a loop at all."""
    return loops.enter_loop(vm, frame) if loops_of(frame.listing) else None


def _attempt(
    roots: Roots, spec: PartSpec, settings: Settings, no_generators: frozenset[int]
) -> Capture:
    """Capture once. A generator that would have to live on behind the end cannot be made again: its making is left out."""
    func = roots.func
    vm = Machine(
        roots,
        HANDLERS,
        realize,
        CALL_OPS,
        PROLOGUE,
        LOOP_HEADS,
        _enter_loop,
        complete_locals,
        settings,
    )
    vm.no_generators = no_generators
    vm.continues = spec.offset is not None
    frame = Frame(
        decode(spec.code),
        func.__globals__,
        Source(SourceKind.GLOBALS),
        func.__qualname__,
        inlined=False,
    )
    make = _first_state if spec.offset is None else _state
    start = make(vm, spec, roots.values)
    try:
        (leave,) = vm.interpret(start, Region(frame))
        input_values = dict(vm.input_values)
    finally:
        vm.close()
    assert isinstance(leave, ReturnExit | BreakExit)
    vm.root.equal = vm.env.equalities()
    return Capture(
        spec=spec,
        frame=frame,
        graph=vm.root,
        guards=(*vm.guards, *vm.relation_guards()),
        input_sources=dict(vm.input_sources),
        input_values=input_values,
        records=dict(vm.records),
        end=leave,
        end_position=_known(vm.end_position),
        steps=vm.steps,
        loops=_loops(vm, leave),
    )


def _loops(vm: Machine, end: ReturnExit | BreakExit) -> tuple[LoopReport, ...]:
    """Return what became of the loops: of one that is cut at each turn, why the first turn was."""
    cause = end.cause if isinstance(end, BreakExit) else None
    if cause is not None and cause.line is not None and cause.context.startswith("over "):
        # A ``for``. Where a ``while`` is cut, the line may be one of the turn's.
        vm.leave_loop(cause.context, cause.line)
    return (*dict.fromkeys(vm.loop_notes), *vm.loops_left.values())


def _known(position: Position | None) -> Position:
    assert position is not None
    return position


def _value(names: tuple[str, ...], index: int, values: tuple[object, ...]) -> Lazy:
    return Lazy(Source(SourceKind.LOCAL, (index, names[index])), values[index])


def _first_state(vm: Machine, spec: PartSpec, values: tuple[object, ...]) -> State:
    code = spec.code
    names = spec.value_names
    bound = tuple(_value(names, index, values) for index in range(len(values)))
    unbound = (UNBOUND,) * (len(code.co_varnames) - len(bound))
    cells = vm.roots.func.__closure__ or ()
    free = tuple(
        _outside(vm, cell, index, name)
        for index, (cell, name) in enumerate(zip(cells, code.co_freevars, strict=True))
    )
    return State(0, (), bound + unbound, (None,) * len(code.co_cellvars) + free)


def _outside(vm: Machine, cell: CellType, index: int, name: str) -> SymCell:
    return outside_cell(vm, cell, Source(SourceKind.CELL, (index, name)), name)


def _state(vm: Machine, spec: PartSpec, values: tuple[object, ...]) -> State:
    code = spec.code
    names = spec.value_names
    assert spec.offset is not None
    variables: list[SymValue] = [UNBOUND] * len(code.co_varnames)
    for index, name in enumerate(spec.bound):
        variables[code.co_varnames.index(name)] = _value(names, index, values)
    stack: list[SymValue] = []
    place = len(spec.bound)
    for null in spec.stack:
        if null:
            stack.append(NULL)
        else:
            stack.append(_value(names, place, values))
            place += 1
    all_names = code.co_cellvars + code.co_freevars
    cells = tuple(
        _outside(vm, cell, index, name)
        for index, (cell, name) in enumerate(zip(vm.roots.cells(), all_names, strict=True))
    )
    index = decode(code).index_of(spec.offset)
    return State(index, tuple(stack), tuple(variables), cells)
