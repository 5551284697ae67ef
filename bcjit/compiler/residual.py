"""Residual code: read the graph's inputs, call the graph, make what is live again, run the one instruction that broke, hand over.

Written with `CodeBuilder` in virtual terms, so that it is the same on every Python version. It decides nothing about meaning: a `Capture` and
recipes say what to load. Values are all computed before any is stored, so that nothing is read after it has been overwritten.
What is read from outside the frame is read once, before the RESUME: guards have been checked just before, and until then neither a
signal handler nor another thread can run and change what they are about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Final

from bcjit import _core
from bcjit.bytecode import FOR_ITERS, Instruction, Op, Position, Region, stack_effect
from bcjit.compiler.hand_over import HandOver, Side, cut_guards, hand_over, jump_of, places_of
from bcjit.compiler.recipes import (
    FromGraph,
    FromSource,
    Literal,
    Nothing,
    Recipe,
    RecipeMaker,
    Step,
)
from bcjit.compiler.residual_values import GetPart, ValueWriter, needs_call
from bcjit.compiler.restore import (
    unbound_local,
)
from bcjit.dims import Expr
from bcjit.fx_graph import Node
from bcjit.guards import Source, SourceKind
from bcjit.records import dataclass, replace
from bcjit.symbolic_vm import BreakExit, Capture, PartSpec, ReturnExit, State
from bcjit.symbolic_vm.values import UNBOUND, SymValue

__all__ = ["Residual", "build_residual", "continuations_end"]

_CONDITIONAL: Final = frozenset(
    {
        Op.POP_JUMP_IF_TRUE,
        Op.POP_JUMP_IF_FALSE,
        Op.POP_JUMP_IF_NONE,
        Op.POP_JUMP_IF_NOT_NONE,
        Op.JUMP_IF_TRUE_OR_POP,
        Op.JUMP_IF_FALSE_OR_POP,
    }
)
_LEAVES: Final = frozenset({Op.RETURN_VALUE, Op.RAISE_VARARGS, Op.RERAISE})
_DONE: Final = object()  # what an exhausted iterator gives


@dataclass(frozen=True, slots=True)
class Residual:
    """Residual code and what the graph must return for it."""

    code: CodeType
    outputs: tuple[Node | Expr, ...]
    returns: bool  # always leaves the function; else returns (part, closure, values...)
    next_parts: tuple[object, ...]
    # The places of the values that the graph takes, when all the code does is to return its only output; else None.
    direct: tuple[int, ...] | None = None
    hand_over: HandOver | None = None  # where the code does no more than that


def continuations_end(capture: Capture) -> bool:
    """Whether nothing comes behind this part: it returns, or its last instruction raises."""
    end = capture.end
    if isinstance(end, ReturnExit):
        return True
    group = capture.frame.listing.group_at(end.instruction.offset)
    start = group.index(end.instruction)
    # What raises in a protected region goes on in its handler.
    return any(i.op in _LEAVES and i.handler is None for i in group[start:])


def build_residual(
    capture: Capture,
    inputs: Sequence[Node],
    graph_call: Callable[[tuple[Node | Expr, ...]], _core.GraphCall],
    get_part: GetPart,
    callee_tag: object,
) -> Residual:
    """Write the residual code of a capture.

    Parameters
    ----------
    capture
        What was captured.
    inputs
        The graph's inputs in order.
    graph_call
        Given the outputs in order, completes and compiles the graph and returns the callable that runs it; not called when
        there is nothing to run.
    get_part
        Returns the part of a continuation.
    callee_tag
        Says for whom a callee that could not be inlined is compiled.
    """
    return _Writer(capture, inputs, graph_call, get_part, callee_tag).write()


@dataclass(frozen=True, slots=True)
class _Slot:
    """A slot of the virtual stack behind the break: NULL, or a temporary."""

    null: bool = False
    temp: str = ""


@dataclass(frozen=True, slots=True)
class _Handler:
    """A handler still to be written: what leads to it, and what the handler of the program gets."""

    start: int  # the protected instructions, by their places in the builder
    end: int
    region: Region
    depth: int  # how many slots of the real stack it keeps
    slots: tuple[
        _Slot, ...
    ]  # what the program's handler has on its stack: those slots, or temporaries
    bound: frozenset[str]
    position: Position
    bails: bool = False  # a graph is called there: its failure is not the program's


class _Writer(ValueWriter):
    def __init__(
        self,
        capture: Capture,
        inputs: Sequence[Node],
        graph_call: Callable[[tuple[Node | Expr, ...]], _core.GraphCall],
        get_part: GetPart,
        callee_tag: object,
    ) -> None:
        super().__init__(capture, inputs, graph_call, get_part, callee_tag)
        self._handlers: list[_Handler] = []
        self._handed: HandOver | None = None
        listing = capture.frame.listing
        offset = capture.spec.offset
        self._start_region = None if offset is None else listing[listing.index_of(offset)].handler

    # ------------------------------------------------------------------ the whole
    def write(self) -> Residual:
        end = self.capture.end
        state = end.state
        maker = RecipeMaker(state, state.cells, self.cell_names)
        direct = None
        if isinstance(end, ReturnExit):
            value = self._resolve(maker.make(end.value))
            cells = self._cell_changes(maker, state)
            steps = self._steps(maker)
            self._plan([value, *(recipe for _, recipe in cells)], steps)
            self._enter()
            self._hold(steps)
            self._load(value)
            self._store(cells, steps)
            self.builder.return_value()
            if not cells and not steps:
                direct = self._direct(value)
        else:
            self._write_break(maker, end)
        for handler in self._handlers:
            self._write_handler(handler)
        return Residual(
            self.builder.finish(),
            tuple(self.outputs),
            continuations_end(self.capture),
            tuple(self.next_parts),
            direct,
            self._handed,
        )

    def _direct(self, value: Recipe) -> tuple[int, ...] | None:
        """Say which values the graph takes, if they are all it takes and its only output is all there is to return."""
        if not isinstance(value, FromGraph) or list(self.outputs) != [value.operand]:
            return None
        if self._start_region is not None:
            return None
        return places_of(list(self._input_set.values()))

    def _enter(self) -> None:
        """Call the graph and keep its outputs in temporaries."""
        builder = self.builder
        builder.at(self._position())
        calls = bool(self.outputs or self.capture.graph.calls)
        kept = {source for source, uses in self._source_uses.items() if uses > 0}
        if calls:
            for source in self._input_set.values():
                self._use(source)
        for source in sorted(kept, key=needs_call):
            name = builder.temp()
            self._read(source)
            builder.store_fast(name)
            self._early[source] = name
        if not calls:
            builder.resume()
            return
        builder.begin_call()
        graph_call = self.graph_call(tuple(self.outputs))
        builder.load_const(graph_call)
        builder.end_callable()
        for node in self.inputs:
            self._load_source(self._input_set[node])
        builder.resume()
        builder.call(len(self.inputs))
        if not self.outputs:
            builder.pop()
            return
        if not graph_call.single:
            builder.unpack_sequence(len(self.outputs))
        for index in self.outputs.values():
            builder.store_fast(f".o{index}")

    def _position(self) -> Position:
        end = self.capture.end
        if isinstance(end, BreakExit):
            return end.instruction.position
        line = self.capture.spec.line
        return Position(line, line, None, None)

    # ------------------------------------------------------------------ cells and locals
    def _cell_changes(self, maker: RecipeMaker, state: State) -> list[tuple[str, Recipe]]:
        """Return what must be stored into the frame's cells: `Nothing` empties one."""
        changes: list[tuple[str, Recipe]] = []
        for cell, name in zip(state.cells, self.cell_names, strict=True):
            if cell is None:
                continue
            contents = state.heap.get(cell.oid, cell.initial)
            assert isinstance(contents, SymValue)
            if contents is not cell.initial:
                changes.append((name, self._resolve(maker.make(contents))))
        return changes

    def _store(self, changes: list[tuple[str, Recipe]], steps: Iterable[Step]) -> None:
        """Do what the program did to objects, then store the frame's cells."""
        for _, recipe in changes:
            if not isinstance(recipe, Nothing):
                self._load(recipe)
        for step in steps:
            self._do(step)
        self._protect_start()
        for name, recipe in reversed(changes):
            if isinstance(recipe, Nothing):
                self.builder.emit(Op.DELETE_DEREF, name)
            else:
                self.builder.store_deref(name)

    def _plain_locals(self, state: State) -> Iterable[tuple[str, SymValue]]:
        for name, value in zip(self.code.co_varnames, state.locals, strict=True):
            if name not in self.code.co_cellvars:
                yield name, value

    # ------------------------------------------------------------------ breaks
    def _write_break(self, maker: RecipeMaker, end: BreakExit) -> None:
        state = end.state
        instruction = end.instruction
        pops, _ = stack_effect(instruction.op, instruction.arg)
        below = len(state.stack) - pops
        operands = [self._resolve(maker.make(value)) for value in state.stack[below:]]
        lower = [self._resolve(maker.make(value)) for value in state.stack[:below]]
        before = set(self.capture.spec.value_names)
        variables: list[tuple[str, Recipe]] = []
        unbind: list[str] = []
        bound: set[str] = set()
        for name, value in self._plain_locals(state):
            if value is UNBOUND:
                if name in before:
                    unbind.append(name)
                continue
            bound.add(name)
            recipe = self._resolve(maker.make(value))
            if not _is_own_argument(recipe, name):
                variables.append((name, recipe))
        cells = self._cell_changes(maker, state)
        steps = self._steps(maker)
        self._plan([*operands, *lower, *(r for _, r in variables), *(r for _, r in cells)], steps)
        self._enter()
        self._hold(steps)
        # What lies below the operands stays below them: temporaries would be seen by locals().
        for recipe in lower:
            self._load(recipe)
        wrapped = self._wrapped_operand(end, operands)
        for index, recipe in enumerate(operands):
            if index == wrapped:
                self._load_callee(recipe)
            else:
                self._load(recipe)
        for _, recipe in variables:
            self._load(recipe)
        self._store(cells, steps)
        for name, _ in reversed(variables):
            self.builder.store_fast(name)
        for name in unbind:
            self.builder.delete_fast(name)
        self._drop_stack_arguments()
        self._run_group(end, _nulls(lower), _nulls(operands), bound)
        if not steps and not self.cell_names and self._start_region is None:
            self._hand_over_at_once(end, operands, lower, dict(variables), bound)

    def _hand_over_at_once(
        self,
        end: BreakExit,
        operands: list[Recipe],
        lower: list[Recipe],
        variables: dict[str, Recipe],
        bound: set[str],
    ) -> None:
        """Say what is handed over, if the instruction that broke does no more than to jump."""
        group = self.capture.frame.listing.group_at(end.instruction.offset)
        jump = jump_of(group[group.index(end.instruction) :])
        cut = bool(cut_guards(self.capture))
        if not self.outputs or (jump is None and not cut):
            return
        own = {name: place for place, name in enumerate(self.capture.spec.value_names)}
        values = [
            variables.get(name) or FromSource(Source(SourceKind.LOCAL, (own[name], name)))
            for name in self.code.co_varnames
            if name in bound
        ]
        given = [Literal(None)] if cut else []
        sides = [Side(part, (*values, *lower, *given)) for part in self.next_parts]
        if jump is Op.POP_JUMP_IF_TRUE:  # what comes next is the side where it is false
            sides.reverse()
        test = operands[0] if operands and not cut else None
        self._handed = hand_over(self._input_set, self.outputs, test, sides)

    def _drop_stack_arguments(self) -> None:
        for name in self.capture.spec.stack_names:
            self.builder.delete_fast(name)

    def _wrapped_operand(self, end: BreakExit, operands: list[Recipe]) -> int | None:
        """Return which operand is a Python function to be called through its own entries."""
        if end.callee is None or end.instruction.op not in (
            Op.CALL,
            Op.CALL_KW,
            Op.CALL_FUNCTION_EX,
        ):
            return None
        return 1 if isinstance(operands[0], Nothing) else 0

    def _load_callee(self, recipe: Recipe) -> None:
        builder = self.builder
        builder.begin_call()
        builder.load_const(_core.callee)
        builder.end_callable()
        self._load(recipe)
        builder.load_const(self.callee_tag)
        builder.call(2)

    # ------------------------------------------------------------------ protected regions
    def _protect_start(self) -> None:
        """What strikes from outside before anything is stored (a signal) goes to the handler of where the part began."""
        region = self._start_region
        if region is None:
            return
        spec = self.capture.spec
        names = iter(spec.stack_names)
        slots = [_Slot(null=True) if null else _Slot(temp=next(names)) for null in spec.stack]
        bound = frozenset(spec.bound)
        kept = tuple(slots[: region.depth])
        self._handlers.append(
            _Handler(0, self.builder.place(), region, 0, kept, bound, self._position(), bails=True)
        )

    def _protect(
        self, start: int, region: Region | None, kept: Sequence[_Slot], depth: int, bound: set[str]
    ) -> None:
        """Let what was emitted since `start` raise into the program's handler, with `kept` on its stack."""
        if region is not None:
            handler = _Handler(
                start,
                self.builder.place(),
                region,
                depth,
                tuple(kept[: region.depth]),
                frozenset(bound),
                self._position(),
            )
            self._handlers.append(handler)

    def _write_handler(self, handler: _Handler) -> None:
        """Hand an exception over to the part that is the program's handler."""
        builder = self.builder
        region = handler.region
        builder.at(handler.position)
        builder.protect(handler.start, handler.end, handler.depth, lasti=False)
        exception = builder.temp()
        if handler.bails:
            self._let_bailouts_pass()
        builder.store_fast(exception)
        slots = list(handler.slots)
        if handler.depth:
            slots = self._keep_below([slot.null for slot in slots])
        if region.lasti and not self.builder.positions_are_objects:
            slots.append(_Slot(null=True))
        elif region.lasti:
            # Where the exception was raised: a traceback has it already, and nothing else asks.
            builder.load_const(0)
            builder.store_fast(".lasti")
            slots.append(_Slot(temp=".lasti"))
        slots.append(_Slot(temp=exception))
        offset = self.capture.frame.listing[region.handler].offset
        self._hand_over(offset, slots, set(handler.bound))

    def _let_bailouts_pass(self) -> None:
        builder = self.builder
        mine = builder.label()
        builder.copy(1)
        builder.store_fast(".e")
        builder.push_callable(isinstance)
        builder.load_fast(".e")
        builder.load_const(_core.BailOut)
        builder.call(2)
        builder.emit(Op.POP_JUMP_IF_FALSE, mine)
        builder.delete_fast(".e")
        builder.emit(Op.RERAISE, 0)
        builder.mark(mine)
        builder.delete_fast(".e")

    # ------------------------------------------------------------------ the instruction that broke
    def _run_group(
        self, end: BreakExit, below: list[bool], operands: list[bool], bound: set[str]
    ) -> None:
        """Run the instruction that broke, and what else its group does, natively; then hand over.

        `operands`, and `below` of the slots under them, say whether each slot is NULL.
        """
        listing = self.capture.frame.listing
        group = listing.group_at(end.instruction.offset)
        first, *rest = group[group.index(end.instruction) :]
        self.builder.at(first.position)
        if first.op in _CONDITIONAL:
            self._branch(first, [], below, bound)
            return
        if first.op in FOR_ITERS:
            self._for_iter(first, below, bound)
            return
        if first.op in (Op.JUMP, Op.JUMP_NO_INTERRUPT):
            assert isinstance(first.arg, int)
            target = listing.instructions[first.arg].offset
            self._hand_over(target, self._keep_below(below), bound)
            return
        whole = [_Slot(null=null) for null in (*below, *operands)]
        results = self._native(first, operands, bound, whole, None)
        if first.op in _LEAVES:
            return
        slots = [*self._keep_below(below), *results]
        for instruction in rest:
            self.builder.at(instruction.position)
            if instruction.op in _CONDITIONAL:
                self._push_operands(1, slots)
                self._branch(instruction, slots, [], bound)
                return
            if self._simulate(instruction, slots):
                continue
            pops, _ = stack_effect(instruction.op, instruction.arg)
            nulls = [slot.null for slot in slots[len(slots) - pops :]]
            self._push_operands(pops, slots)
            slots.extend(self._native(instruction, nulls, bound, slots, 0))
            if instruction.op in _LEAVES:
                return
        self._hand_over(listing.next_offset(end.instruction.offset), slots, bound)

    def _keep_below(self, below: list[bool]) -> list[_Slot]:
        """Move what is on the real stack into temporaries."""
        names = [self.builder.temp() for _ in below]
        for name in reversed(names):
            self.builder.store_fast(name)  # a NULL leaves its temporary unbound
        return [
            _Slot(null=True) if null else _Slot(temp=name)
            for name, null in zip(names, below, strict=True)
        ]

    def _simulate(self, instruction: Instruction, slots: list[_Slot]) -> bool:
        """Do to the slots what an instruction does that only moves values."""
        if instruction.op is Op.NOP:
            return True
        if instruction.op is Op.PUSH_NULL:
            slots.append(_Slot(null=True))
        elif instruction.op is Op.SWAP:
            assert isinstance(instruction.arg, int)
            other = -instruction.arg
            slots[-1], slots[other] = slots[other], slots[-1]
        elif instruction.op is Op.COPY:
            assert isinstance(instruction.arg, int)
            slots.append(slots[-instruction.arg])
        else:
            return False
        return True

    def _push_operands(self, count: int, slots: list[_Slot]) -> None:
        if count == 0:
            return
        for slot in slots[-count:]:
            self._push_slot(slot)
        del slots[-count:]

    def _push_slot(self, slot: _Slot) -> None:
        if slot.null:
            self.builder.push_null()
            return
        self.builder.load_fast(slot.temp)

    def _native(
        self,
        instruction: Instruction,
        operands: list[bool],
        bound: set[str],
        kept: Sequence[_Slot],
        depth: int | None,
    ) -> list[_Slot]:
        """Run an instruction whose operands are on the real stack; its results go to temporaries.

        Where it raises, `kept` begins with what the handler has on its stack: in temporaries if `depth` is 0, on the real
        stack if it is None.
        """
        builder = self.builder
        _, pushes = stack_effect(instruction.op, instruction.arg)
        nulls = _nulls_left(instruction, operands, bound)
        start = builder.place()
        if instruction.op is Op.RERAISE and not self.builder.positions_are_objects:
            # No position is there to go back to; the traceback has it already.
            instruction = replace(instruction, arg=0)
        if instruction.handler is not None:
            # CPython 3.13 looks for the handler of what a called frame raises one code unit before the call.
            builder.emit(Op.NOP)
        if instruction.op in (Op.LOAD_DEREF, Op.DELETE_DEREF):
            self._check_own_cell(str(instruction.arg))
        builder.native(instruction)
        self._protect_native(start, instruction, kept, depth, bound)
        if instruction.op is Op.STORE_FAST and not operands[0]:
            bound.add(str(instruction.arg))
        elif instruction.op in _UNBIND:
            bound.discard(str(instruction.arg))
        slots: list[_Slot] = []
        for index in range(pushes):
            name = builder.temp()
            builder.store_fast(name)  # a NULL leaves its temporary unbound
            null = bool(nulls) and nulls[-1 - index]
            slots.append(_Slot(null=True) if null else _Slot(temp=name))
        return slots[::-1]

    def _check_own_cell(self, name: str) -> None:
        """Raise what Python raises where a variable of the function itself is unbound.

        In a continuation its cell is a free variable, of which Python would say another thing.
        """
        if self.first or name not in self.code.co_cellvars:
            return
        builder = self.builder
        bound = builder.label()
        builder.push_callable(unbound_local)
        builder.load_closure(name)
        builder.load_const(name)
        builder.call(2)
        builder.copy(1)
        builder.emit(Op.POP_JUMP_IF_NONE, bound)
        builder.emit(Op.RAISE_VARARGS, 1)
        builder.mark(bound)
        builder.pop()

    def _protect_native(
        self,
        start: int,
        instruction: Instruction,
        kept: Sequence[_Slot],
        depth: int | None,
        bound: set[str],
    ) -> None:
        region = instruction.handler
        if region is not None:
            self._protect(start, region, kept, region.depth if depth is None else depth, bound)

    def _for_iter(self, instruction: Instruction, below: list[bool], bound: set[str]) -> None:
        """Ask the iterator on top of the real stack for its next item; with one and without, hand over."""
        builder = self.builder
        listing = self.capture.frame.listing
        exhausted = builder.label()
        builder.at(instruction.position)
        start = builder.place()
        # From 3.15 on a NULL is above the iterator.
        iterator = [False, True] if instruction.op is Op.FOR_ITER_PAIR else [False]
        builder.push_callable(next)
        builder.copy(2 + len(iterator))
        builder.load_const(_DONE)
        builder.call(2)
        whole = [_Slot(null=null) for null in (*below, *iterator)]
        self._protect_native(start, instruction, whole, None, bound)
        builder.copy(1)
        builder.load_const(_DONE)
        builder.emit(Op.IS_OP, False)
        builder.emit(Op.POP_JUMP_IF_TRUE, exhausted)
        given = self._keep_below([*below, *iterator, False])
        self._hand_over(listing.next_offset(instruction.offset), given, bound)
        builder.mark(exhausted)
        for _ in (*iterator, _DONE):
            builder.pop()
        assert isinstance(instruction.arg, int)
        self._hand_over(listing[instruction.arg].offset, self._keep_below(below), bound)

    def _branch(
        self, instruction: Instruction, slots: list[_Slot], below: list[bool], bound: set[str]
    ) -> None:
        """Jump natively on the operand on top of the real stack; each side hands over by itself."""
        builder = self.builder
        listing = self.capture.frame.listing
        target = builder.label()
        start = builder.place()
        builder.native(replace(instruction, arg=target))
        if slots:
            self._protect_native(start, instruction, slots, 0, bound)
        else:
            whole = [_Slot(null=null) for null in below]
            self._protect_native(start, instruction, whole, None, bound)
        fallen = [*slots, *self._keep_below(below)]
        self._hand_over(listing.next_offset(instruction.offset), fallen, bound)
        builder.mark(target)
        kept = instruction.op in (Op.JUMP_IF_TRUE_OR_POP, Op.JUMP_IF_FALSE_OR_POP)
        jumped = [*slots, *self._keep_below([*below, False] if kept else below)]
        assert isinstance(instruction.arg, int)
        self._hand_over(listing.instructions[instruction.arg].offset, jumped, bound)

    def _hand_over(self, offset: int, slots: list[_Slot], bound: set[str]) -> None:
        """Return ``(next part, closure, values...)`` to the driver.

        Temporaries are dropped: a traceback or a callee may hold this frame, and what was on the program's stack dies when
        the program lets go of it.
        """
        names = tuple(
            name
            for name in self.code.co_varnames
            if name in bound and name not in self.code.co_cellvars
        )
        spec = PartSpec(self.code, offset, tuple(slot.null for slot in slots), names)
        part = self.get_part(spec)
        self.next_parts.append(part)
        builder = self.builder
        builder.load_const(part)
        if self.cell_names:
            for name in self.cell_names:
                builder.load_closure(name)
            builder.build_tuple(len(self.cell_names))
        else:
            builder.load_const(None)
        for name in names:
            builder.load_fast(name)
        live = [slot for slot in slots if not slot.null]
        for slot in live:
            self._push_slot(slot)
        for name in dict.fromkeys(slot.temp for slot in live):
            builder.delete_fast(name)  # who has kept the frame, a traceback too, sees none of ours
        builder.build_tuple(2 + len(names) + len(live))
        builder.return_value()


def _nulls(recipes: Sequence[Recipe]) -> list[bool]:
    return [isinstance(recipe, Nothing) for recipe in recipes]


# Instructions that take what is on top and leave the slots below where they are.
_LEAVE_BELOW: Final = frozenset(
    {
        Op.LIST_APPEND,
        Op.LIST_EXTEND,
        Op.SET_ADD,
        Op.SET_UPDATE,
        Op.MAP_ADD,
        Op.DICT_UPDATE,
        Op.DICT_MERGE,
    }
)


# Behind them a local is unbound; a NULL is stored when a comprehension puts back what was unbound before it.
_UNBIND: Final = frozenset({Op.DELETE_FAST, Op.LOAD_FAST_AND_CLEAR, Op.STORE_FAST})


def _nulls_left(instruction: Instruction, operands: list[bool], bound: set[str]) -> list[bool]:
    """Say of each slot an instruction leaves whether it is NULL; an empty list says that none is."""
    op = instruction.op
    if op is Op.PUSH_NULL:
        return [True]
    if op is Op.LOAD_FAST_AND_CLEAR:
        return [instruction.arg not in bound]
    if op is Op.COPY:
        return [*operands, operands[0]]
    if op is Op.SWAP:
        return [operands[-1], *operands[1:-1], operands[0]]
    if op is Op.WITH_EXCEPT_START:
        return [*operands, False]
    if op in _LEAVE_BELOW:
        _, pushes = stack_effect(op, instruction.arg)
        return operands[:pushes]
    return []


def _is_own_argument(recipe: Recipe, name: str) -> bool:
    return (
        isinstance(recipe, FromSource)
        and recipe.source.kind is SourceKind.LOCAL
        and recipe.source.key[1] == name  # type: ignore[index]
    )
