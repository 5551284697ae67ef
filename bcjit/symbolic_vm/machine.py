"""The core of one capture: graph, guards, shape facts, marks and undo, and the loop that runs a region.

`Machine.interpret(state, region)` is re-entrant: an inlined call is another call of it, on the same logs. Everything a capture
gathers is append-only and is cut back with `truncate(mark)`, so giving up an instruction costs nothing and leaves no trace.
What instructions mean is in the handler tables; this module must not know any opcode's meaning.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, cast

import bcjit.symbolic_vm.break_reasons as because
from bcjit.config import config
from bcjit.dims import Expr, Relation, ShapeEnv, Symbol, Undecidable
from bcjit.errors import GraphBreak, SourceLine
from bcjit.fx_graph import Graph, Node
from bcjit.fx_graph import Mark as GraphMark
from bcjit.guards import (
    Guard,
    GuardKind,
    Roots,
    Source,
    SourceKind,
    SymbolicRelation,
    fetch,
)
from bcjit.records import dataclass, replace
from bcjit.symbolic_vm.aliasing import Changed, holds_root, relation
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.finalisers import has_finaliser
from bcjit.symbolic_vm.given_up import still_needed
from bcjit.symbolic_vm.loop_report import How, LoopReport
from bcjit.symbolic_vm.state import (
    BreakExit,
    Effect,
    Exit,
    FallExit,
    Position,
    Region,
    ReturnExit,
    State,
    YieldExit,
)
from bcjit.symbolic_vm.values import (
    Appended,
    Known,
    Lazy,
    SymCell,
    SymGenerator,
    SymGone,
    SymObject,
    SymScalar,
    SymTuple,
    SymValue,
)

if TYPE_CHECKING:
    from bcjit.bytecode import Instruction, Op
    from bcjit.dims import Dim
    from bcjit.meta import Meta
    from bcjit.symbolic_vm.state import Frame

__all__ = ["LeaveLoops", "LoopEntry", "Machine", "Mark", "Settings", "holds_cell"]

Handler = Callable[["Machine", "Frame", "Instruction"], Exit | None]
Realizer = Callable[["Machine", Lazy], SymValue]
# Captures the loop that begins at the present instruction: None if none does, or it is not captured whole; else how the frame goes
# on: an exit, or True where the state is that behind the loop.
LoopEntry = Callable[["Machine", "Frame"], "Exit | bool | None"]
# Makes locals whole that may have no value, before a break.
Completer = Callable[["Machine"], None]

# A name whose module is imported when it is first read (3.15+).
_LAZY_IMPORT: Final = getattr(types, "LazyImportType", None)


@dataclass(frozen=True, slots=True)
class Settings:
    """What the caller decides about a capture."""

    dynamic: bool = True
    inlines_compiled: bool = True  # False: a compiled function that is called keeps its own backend
    # Offsets of instructions at which the graph is cut wherever that is possible; for tests that break everywhere.
    break_at: frozenset[int] = frozenset()
    # Loops that are left to Python: what has failed once is not tried again.
    left_loops: set[LoopKey] = field(default_factory=set)
    # Why, for reports: by the line of the loop.
    left_reports: dict[SourceLine, LoopReport] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment of a capture to go back to."""

    state: State
    graphs: tuple[
        GraphMark, ...
    ]  # of the whole graph, and of those of the loops and branches around here
    env: tuple[int, int]
    guards: int
    journal: int
    fact_lines: int


LoopKey = tuple[
    str, int, str, int
]  # file, first line and name of the code, index of the loop's head


class LeaveLoops(Exception):
    """A capture cannot end as it did: it is to be made anew with these loops left to Python."""

    def __init__(self, heads: frozenset[LoopKey]) -> None:
        super().__init__(heads)
        self.heads = heads


class Machine:
    """One capture: what has been recorded so far, and how it grows and shrinks.

    Parameters
    ----------
    roots
        The live values that sources start from; they are read through, never run or changed.
    handlers
        The handler of each virtual opcode.
    realize
        Turns a `Lazy` into a value of a known kind, guarding its type.
    call_ops
        The call instructions: a caller can be resumed at one of them with another callee.
    prologue
        The instructions that set a frame up; a capture never stops at one.
    loop_heads
        The instructions that decide by themselves whether a loop takes another turn.
    loops
        Asked before each instruction; see `LoopEntry`.
    complete
        See `Completer`.
    settings
        See `Settings`.
    """

    def __init__(
        self,
        roots: Roots,
        handlers: Mapping[Op, Handler],
        realize: Realizer,
        call_ops: frozenset[Op],
        prologue: frozenset[Op],
        loop_heads: frozenset[Op],
        loops: LoopEntry,
        complete: Completer,
        settings: Settings,
    ) -> None:
        self.roots = roots
        self.settings = settings
        self.root = Graph()  # the whole graph: inputs are made there
        self.graph = (
            self.root
        )  # the one that is being written: of a side of a branch or a turn of a loop within it
        self.graphs: tuple[Graph, ...] = (self.root,)
        self.env = ShapeEnv()
        self.guards: list[Guard] = []
        self.fact_lines: list[SourceLine] = []
        self.state: State = State(0, (), (), ())
        self.positions: list[Position] = []
        self.records: dict[Node, tuple[Position, ...]] = {}
        self.input_sources: dict[Node, Source] = {}
        self.input_values: dict[
            Node, object
        ] = {}  # as they were read: another thread may have changed the place since
        self.symbol_sources: dict[Symbol, Source] = {}
        self.end_position: Position | None = None  # where the outermost frame left off
        self.callee: SymValue | None = None  # the function whose inlining was given up last
        self.steps = 0
        self._handlers = handlers
        self._realize = realize
        self._call_ops = call_ops
        self._prologue = prologue
        self._loop_heads = loop_heads
        self._loops = loops
        self._complete = complete
        self._journal: list[Callable[[], object]] = []
        self._realized: dict[Source, SymValue] = {}
        self._guarded: set[Guard] = set()
        self._cells: dict[Source, SymCell] = {}
        self._ids = 0
        # Items of lists from outside, as seen first.
        self._lists: dict[Source, tuple[SymValue, ...]] = {}
        # How many elements of an array are not zero, and how many nodes there were when that was asked: see data_sizes.
        self.nonzero_counts: dict[Node, tuple[Symbol, int]] = {}
        self._live: dict[int, tuple[int, object]] = {}  # by identity: the numbers of live objects
        self._changed = Changed()
        self._finalised = tuple(
            place for place, value in enumerate(roots.values) if has_finaliser(value)
        )
        self._line: SourceLine | None = None
        self.outside_cells_written: tuple[SymCell, ...] = ()
        # Calls at these instructions of the outermost frame make no generator here: one would have to live on.
        self.no_generators: frozenset[int] = frozenset()
        self.loops_captured: set[LoopKey] = set()
        self._passed: list[set[int]] = []  # of each frame, the instructions interpreted
        self._inside_builtin = 0
        self._regions: list[Region] = []
        self.loop_notes: list[LoopReport] = []
        self.loops_left: dict[SourceLine, LoopReport] = {}
        self.continues = False  # whether the part begins behind a break
        self.constructing: list[int] = []  # the depths of the frames that are at a call of a class

    # ------------------------------------------------------------------ marks and undo
    def mark(self) -> Mark:
        """Return the present moment."""
        self._date_facts()  # facts and their lines are cut back together
        return Mark(
            self.state,
            tuple(graph.mark() for graph in self.graphs),
            self.env.mark(),
            len(self.guards),
            len(self._journal),
            len(self.fact_lines),
        )

    def truncate(self, mark: Mark) -> None:
        """Go back to `mark`: everything recorded since is gone."""
        self.state = mark.state
        while len(self._journal) > mark.journal:
            self._journal.pop()()
        for graph, point in zip(self.graphs[::-1], mark.graphs[::-1], strict=True):
            graph.truncate(point)
        self.env.truncate(mark.env)
        for guard in self.guards[mark.guards :]:
            self._guarded.discard(guard)
        del self.guards[mark.guards :]
        del self.fact_lines[mark.fact_lines :]

    def undoable(self, undo: Callable[[], object]) -> None:
        """Register how to take back a change of something that is not itself a log."""
        self._journal.append(undo)

    def close(self) -> None:
        """Let go of the live objects: the ways back refer to this machine, which would keep all alive."""
        self._journal.clear()
        self._realized.clear()
        self._cells.clear()
        self._lists.clear()
        self._live.clear()
        self.input_values.clear()

    def new_id(self) -> int:
        """Return a number no object of this capture has."""
        self._ids += 1
        return self._ids

    def number_of(self, obj: object) -> int:
        """Return the number of a live object: the same through whatever source it is reached."""
        found = self._live.get(id(obj))
        if found is None:
            self._ids += 1
            found = self._live[id(obj)] = (self._ids, obj)
        return found[0]

    def fresh_name(self, name: str) -> str:
        """Return `name`, made different from the names of all symbols there are."""
        taken = {symbol.name for symbol in self.env.symbols}
        count = 1
        fresh = name
        while fresh in taken:
            count += 1
            fresh = f"{name}_{count}"
        return fresh

    # ------------------------------------------------------------------ guards and facts
    @property
    def line(self) -> SourceLine:
        """The user's line that is being interpreted."""
        if self._line is None:
            code = self.positions[-1].frame.code if self.positions else None
            if code is None:
                return SourceLine("<unknown>", 0, "")
            return SourceLine(code.co_filename, code.co_firstlineno, code.co_qualname)
        return self._line

    def guard(self, kind: GuardKind, source: Source, expected: object) -> None:
        """Record that what is captured from here on relies on this fact."""
        guard = Guard(kind, source, expected, self.line)
        if guard not in self._guarded:
            self._guarded.add(guard)
            self.guards.append(guard)

    def present(self, source: Source, obj: object) -> Lazy:
        """Return the value at a source that may be missing another time, guarding that it is there."""
        if type(obj) is _LAZY_IMPORT:
            break_graph(because.INSTRUCTION, "a lazy import runs a module's code")
        self.guard(GuardKind.PRESENT, source, None)
        return Lazy(source, obj)

    def guard_same_object(self, left: Source, right: Source, *, same: bool) -> None:
        """Record that two places hold, or do not hold, one object."""
        self.guard(GuardKind.SAME_OBJECT, left, (right, same))

    def outside_length(self, value: SymObject) -> SymValue:
        """Return the length of a dict from outside, guarding it."""
        assert isinstance(value.obj, dict)
        assert value.source is not None
        size = len(value.obj)
        self.guard(GuardKind.EQUALS, Source(SourceKind.LENGTH, None, value.source), size)
        return Known(None, size)

    def decide(self, relation: Relation) -> bool:
        """Answer a question about symbolic integers; an answer taken from the hints becomes a guard."""
        answer = self.ask(relation)
        if answer is None:
            break_graph(because.MUST_KNOW, f"whether {relation}")
        return answer

    def ask(self, relation: Relation) -> bool | None:
        """Answer a question as `decide` does; None if it depends on data."""
        try:
            return self.env.decide(relation)
        except Undecidable:
            return None

    def relation_guards(self, first: int = 0) -> list[Guard]:
        """Return the facts about symbolic integers as guards, from the first of these on."""
        found = []
        for fact, line in zip(self.env.facts[first:], self.fact_lines[first:], strict=True):
            if not fact.symbols() <= self.symbol_sources.keys():
                continue  # assumed of what is counted in the graph: see `ShapeEnv.assume`
            symbols = tuple(
                (symbol, self.symbol_sources[symbol])
                for symbol in sorted(fact.symbols(), key=lambda s: s.name)
            )
            expected = SymbolicRelation(fact, symbols)
            found.append(Guard(GuardKind.RELATION, symbols[0][1], expected, line))
        return found

    def bind_symbol(self, symbol: Symbol, source: Source) -> None:
        """Say where guards find the value of an input symbol."""
        self.symbol_sources[symbol] = source
        self.undoable(lambda: self.symbol_sources.pop(symbol, None))

    def fetch(self, source: Source) -> object:
        """Return the live object at a source; runs nothing."""
        return fetch(source, self.roots)

    @property
    def builtins(self) -> dict[str, object]:
        """The builtins of the function whose frame is captured."""
        # Not every version of the type checker's library declares it.
        found: dict[str, object] = cast("Any", self.roots.func).__builtins__
        return found

    # ------------------------------------------------------------------ values
    def realize(self, value: SymValue) -> SymValue:
        """Return `value`, or if it is an object from outside, what is known of it once its type is guarded."""
        if not isinstance(value, Lazy):
            return value
        source = value.source
        assert source is not None
        known = self._realized.get(source)
        if known is None:
            known = self._realize(self, value)
            self.remember(source, known)
        return known

    def remember(self, source: Source, value: SymValue) -> None:
        """Make `value` what every later use of `source` gives."""
        before = self._realized.get(source)
        self._realized[source] = value

        def undo() -> None:
            if before is None:
                del self._realized[source]
            else:
                self._realized[source] = before

        self.undoable(undo)

    def cell(self, source: Source, make: Callable[[], SymCell]) -> SymCell:
        """Return the symbolic cell at a source, made at its first use.

        Two sources may lead to one cell another time, or no longer: so they are kept apart, and what is written
        through one is not read through another (see the handler of ``LOAD_DEREF``).
        """
        found = self._cells.get(source)
        if found is None:
            found = self._cells[source] = make()
            self.undoable(lambda: self._cells.pop(source, None) and None)
        return found

    def contents(self, value: SymObject | SymCell) -> object:
        """Return what a mutable object holds now; of a list from outside the length is guarded."""
        if isinstance(value, SymObject) and value.source is not None:
            self.meet(value)
        found = self.state.heap.get(value.oid, value.initial)
        if isinstance(value, SymObject) and value.pytype is list:
            if found is None:
                return self._outside_items(value)
            if isinstance(found, Appended):
                return self._outside_items(value) + found.items
        return found

    def _outside_items(self, value: SymObject) -> tuple[SymValue, ...]:
        assert type(value.obj) is list
        assert value.source is not None
        items = self._lists.get(value.source)
        if items is None:
            items = self._lists[value.source] = tuple(
                Lazy(Source(SourceKind.ITEM, index, value.source), item)
                for index, item in enumerate(tuple(value.obj))  # at once: see capture
            )
        length = Source(SourceKind.LENGTH, None, value.source)
        self.guard(GuardKind.EQUALS, length, len(items))
        return items

    # ------------------------------------------------------------------ changes of objects from outside
    def perform(self, effect: Effect) -> None:
        """Log something that residual code will do to an object that others can see."""
        owner = effect.owner
        if owner is not None and owner.source is not None and not isinstance(owner, SymCell):
            self.meet(owner)
        self._nothing_dies()
        self.state = replace(self.state, effects=(*self.state.effects, effect))

    def meet(self, value: SymValue) -> None:
        """Guard which of the objects changed so far this one, from outside, is.

        Two places that hold one object now may hold two another time, and the other way round.
        """
        for other in self._changed.of(self.state.effects):
            if other is not value and other.source != value.source:
                found = relation(value, other)
                if found is not None:
                    self.guard_same_object(found.left, found.right, same=found.same)
        self._nothing_dies()

    def _nothing_dies(self) -> None:
        """Break where an argument with a finaliser is gone: its ``__del__`` must run before what comes next."""
        for place in self._finalised:
            states = [self.state, *(position.state for position in self.positions)]
            if not any(holds_root(state, place) for state in states):
                break_graph(because.OUTSIDE_WRITE, "an object with __del__ may be gone by now")

    def graph_input(self, name: str, meta: Meta, source: Source, obj: object) -> Node:
        """Make a graph input that is read from `source`, where there is `obj` now."""
        node = self.root.input(name, meta)
        self.input_sources[node] = source
        self.input_values[node] = obj
        self.undoable(
            lambda: (self.input_sources.pop(node, None), self.input_values.pop(node, None))
        )
        return node

    def constant(self, value: SymValue, what: str) -> object:
        """Return the Python value of `value`, guarding it if it was symbolic.

        Raises
        ------
        GraphBreak
            If it depends on what the graph computes, or is not a constant at all.
        """
        value = self.realize(value)
        if isinstance(value, Known):
            return value.value
        if isinstance(value, SymScalar):
            if isinstance(value.payload, Expr):
                return self.fix(value.payload, what)
            source = self.input_sources.get(value.payload)
            if source is not None:
                live = self.input_values[value.payload]
                self.guard(GuardKind.EQUALS, source, live)
                return live
        return break_graph(because.MUST_KNOW, what)

    def fix(self, dim: Dim, what: str) -> int:
        """Return the number a symbolic integer has now, guarding it."""
        if isinstance(dim, int):
            return dim
        simple = self.env.simplify(dim)
        if isinstance(simple, int):
            return simple
        hint = self.env.hint(simple)
        if hint is None:
            break_graph(because.MUST_KNOW, f"{what}: {simple}")
        self.decide(Relation("==", simple, hint))
        return hint

    def fix_here(self, dim: Dim, what: str) -> int:
        """Return the number a symbolic integer has now, guarding it where it is likely to be the same again.

        Behind a break that is not likely: the part may be a turn of a loop, and the number what it counts with.

        Raises
        ------
        GraphBreak
            In a part that begins behind a break, if the number is not known.
        """
        if self.continues and isinstance(self.env.simplify(dim), Expr):
            break_graph(because.MUST_KNOW, f"{what}: {dim}")
        return self.fix(dim, what)

    def record(self, *, visible: bool) -> tuple[Position, ...]:
        """Return where to resume if the node made next fails: the frames and their states, outermost first.

        A frame can be resumed behind its call instruction only where what the callee returns is what the instruction gives: not
        at a property, nor at a class. There the instruction is done again, if nothing that can be seen was done in it yet.
        `visible` says that the node itself is seen by others.
        """
        if self._inside_builtin:
            break_graph(because.WRITE_IN_INLINED, "called by a builtin")
        record = tuple(self.positions)
        for place, position in enumerate(record[:-1]):
            instruction = position.frame.listing.instructions[position.state.index]
            if instruction.op in self._call_ops and place not in self.constructing:
                continue
            since = self.state.effects[len(position.state.effects) :]
            if visible or any(effect.node is not None for effect in since):
                break_graph(because.WRITE_IN_INLINED, instruction.op.name)
            return record[: place + 1]
        return record

    def at_call(self) -> bool:
        """Whether the present frame is at a call instruction, and not at one that reads a property."""
        position = self.positions[-1]
        instruction = position.frame.listing.instructions[position.state.index]
        return instruction.op in self._call_ops

    def note_cell_written(self, cell: SymCell) -> None:
        """Remember that a cell from outside was written: it may be seen under another name."""
        before = self.outside_cells_written
        if all(cell is not known for known in before):
            self.outside_cells_written = (*before, cell)
        self.undoable(lambda: setattr(self, "outside_cells_written", before))

    def same_builtins(self, namespace: dict[str, object]) -> bool:
        """Whether another module's globals lead to the same builtins as the frame's."""
        found = namespace.get("__builtins__", self.builtins)
        if isinstance(found, ModuleType):
            found = found.__dict__
        return found is self.builtins

    # ------------------------------------------------------------------ stack
    def push(self, value: SymValue) -> None:
        """Push onto the stack of the present frame."""
        state = self.state
        self.state = state.with_stack((*state.stack, value))

    def pop(self) -> SymValue:
        """Pop the top of the stack."""
        state = self.state
        self.state = state.with_stack(state.stack[:-1])
        return state.stack[-1]

    def popn(self, n: int) -> tuple[SymValue, ...]:
        """Pop `n` values; the last one was on top."""
        if n == 0:
            return ()
        state = self.state
        self.state = state.with_stack(state.stack[:-n])
        return state.stack[-n:]

    def set_local(self, slot: int, value: SymValue) -> None:
        """Bind a local of the present frame, or unbind it."""
        variables = self.state.locals
        self.state = replace(self.state, locals=(*variables[:slot], value, *variables[slot + 1 :]))

    # ------------------------------------------------------------------ running
    def interpret(self, state: State, region: Region) -> tuple[Exit, ...]:
        """Run `region` from `state` until it returns, breaks, or leaves the region.

        In an inlined frame a break is not an exit: it goes up to the caller's call instruction.

        Returns
        -------
        tuple of Exit
            One exit for straight-line code. `self.state` is what it was before the call.
        """
        outer, line = self.state, self._line
        self.state = state
        self.positions.append(Position(region.frame, state))
        self._passed.append(set())
        self._regions.append(region)
        try:
            return (self._run(region),)
        finally:
            self._regions.pop()
            self._passed.pop()
            self.positions.pop()
            self.state, self._line = outer, line

    @property
    def region(self) -> Region:
        """The region that is being run."""
        return self._regions[-1]

    @property
    def structured(self) -> bool:
        """Whether what is run now is part of a loop or branch that is a node."""
        return len(self.graphs) > 1

    @contextmanager
    def nested(self, graph: Graph) -> Iterator[None]:
        """Write into another graph, one of a loop or a branch."""
        outer = self.graph
        self.graph = graph
        self.graphs = (*self.graphs, graph)
        try:
            yield
        finally:
            self.graphs = self.graphs[:-1]
            self.graph = outer

    @contextmanager
    def at(self, position: Position) -> Iterator[None]:
        """Let what is recorded be resumed at a position of the present frame."""
        outer = self.positions[-1]
        self.positions[-1] = position
        try:
            yield
        finally:
            self.positions[-1] = outer

    def run_nested(
        self, graph: Graph, start: State | Callable[[], Exit | None], region: Region
    ) -> Exit:
        """Run a side of a branch or a turn of a loop of the present frame, writing into a graph of its own.

        It begins with a state, or with what `start` does and the state that leaves.
        """
        outer, line, position = self.state, self._line, self.positions[-1]
        self._passed.append(set())
        self._regions.append(region)
        try:
            with self.nested(graph):
                found = None
                if isinstance(start, State):
                    self.state = start
                else:
                    found = start()
                return self._run(region) if found is None else found
        finally:
            self._regions.pop()
            self._passed.pop()
            self.positions[-1] = position
            self.state, self._line = outer, line

    def _run(self, region: Region) -> Exit:
        frame = region.frame
        instructions = frame.listing.instructions
        code = frame.code
        asked = frozenset[int]() if frame.inlined else self.settings.break_at
        group = -1
        line: SourceLine | None = None
        passed = self._passed[-1]
        begins = region.begins_at_stop
        while begins or self.state.index not in region.stop:
            instruction = instructions[self.state.index]
            passed.add(self.state.index)
            starts = instruction.offset != group
            if starts:
                group = instruction.offset
                self.positions[-1] = Position(frame, self.state)
            lineno = instruction.position.lineno or frame.listing.line_of(self.state.index)
            if line is None or line.lineno != lineno:
                line = SourceLine(code.co_filename, lineno, code.co_qualname)
            self._line = line
            mark = self.mark()
            self.callee = None
            try:
                self.steps += instruction.op not in self._prologue
                if starts and self.steps > config.capture_limit:
                    limit = f"{config.capture_limit} instructions"
                    self._stop_at(instruction, because.CAPTURE_LIMIT, limit)
                if starts and instruction.offset in asked:
                    self._stop_at(instruction, because.ASKED, "")
                entered = None if begins else self._loops(self, frame)
                begins = False
                if entered is None:
                    leave = self._step(frame, instruction)
                else:
                    leave = entered if isinstance(entered, Exit) else None
                self._date_facts()
            except GraphBreak as cause:
                if cause.line is None:
                    cause.line = self._line
                callee = self.callee
                if frame.inlined or region.nested:
                    raise
                self._give_up(mark, cause)
                self._must_be_whole()
                self.end_position = self.positions[-1]
                # A fresh one: the traceback of the other holds frames, and with them the user's objects.
                # Its line is where this frame is cut, also if an inlined call was the reason.
                clean = GraphBreak(cause.reason, cause.context, self._line)
                return BreakExit(self.state, instruction, clean, callee)
            if leave is not None:
                self.end_position = self.positions[-1]
                return leave
        return FallExit(self.state)

    def _give_up(self, mark: Mark, cause: GraphBreak) -> None:
        """Go back to before the present instruction, but rely on what it was given up for."""
        self._date_facts()
        recorded = [*self.guards[mark.guards :], *self.relation_guards(mark.fact_lines)]
        self.truncate(mark)
        for guard in still_needed(recorded, cause.reason.code):
            if guard not in self._guarded:
                self._guarded.add(guard)
                self.guards.append(guard)

    def _date_facts(self) -> None:
        """Give the facts that the present instruction brought its line, be it itself or the loop that begins at it."""
        self.fact_lines.extend([self.line] * (len(self.env.facts) - len(self.fact_lines)))

    def _must_be_whole(self) -> None:
        """Capture anew, without a loop behind which a local would have to be made again that is not known here."""
        if any(isinstance(value, SymGone) for value in (*self.state.locals, *self.state.stack)):
            raise LeaveLoops(frozenset(self.loops_captured))
        self._complete(self)
        self._date_facts()

    def note_loop(self, how: How, why: str, line: SourceLine | None, trips: str = "") -> None:
        """Remember for the report what became of a loop."""
        self.loop_notes.append(LoopReport(line or self.line, how, why, trips))
        self.undoable(self.loop_notes.pop)

    def leave_loop(self, why: str, line: SourceLine) -> None:
        """Remember for the report that a loop is left to Python, and the first reason; that stays when all else is undone."""
        report = LoopReport(line, "left", why)
        self.loops_left[line] = self.settings.left_reports.setdefault(line, report)

    def _stop_at(self, instruction: Instruction, reason: str, context: str) -> None:
        """Give up an instruction before it is tried; those before it stay captured."""
        if instruction.op not in self._prologue and not any(map(holds_cell, self.state.stack)):
            break_graph(reason, context)

    def _step(self, frame: Frame, instruction: Instruction) -> Exit | None:
        state = self.state
        self.state = state.at(state.index + 1)
        return self._handlers[instruction.op](self, frame, instruction)

    def jump(self, index: int) -> None:
        """Go on at the virtual instruction `index` of the present frame.

        Raises
        ------
        GraphBreak
            If that begins another turn of a loop: a capture holds one turn, so that it takes as long however many there
            are. A ``for`` loop is cut, or unrolled, where it asks its iterator.
        """
        if index < self.state.index and index in self._passed[-1]:
            target = self.positions[-1].frame.listing.instructions[index]
            if target.op not in self._loop_heads:
                break_graph(because.LOOP, "another turn")
        self.state = self.state.at(index)

    @contextmanager
    def inlining(self) -> Iterator[None]:
        """Guard the depth of inlined calls."""
        if len(self.positions) > config.inline_depth:
            break_graph(because.INLINE_DEPTH, f"{config.inline_depth} calls deep")
        yield

    def call_region(self, state: State, frame: Frame) -> ReturnExit:
        """Run an inlined frame to its return and carry its heap and effects over to the caller."""
        with self.inlining():
            caller = self.state
            (leave,) = self.interpret(
                replace(state, heap=caller.heap, effects=caller.effects), Region(frame)
            )
        assert isinstance(leave, ReturnExit)
        self.state = replace(caller, heap=leave.state.heap, effects=leave.state.effects)
        return leave

    def resume_generator(self, generator: SymGenerator) -> SymValue | None:
        """Let a generator made in the frame go on to its next value; None when it returns."""
        suspended = self.state.heap.get(generator.oid)
        if suspended is None:
            return None
        assert isinstance(suspended, State)
        with self.inlining(), self.inside_builtin():
            caller = self.state
            state = replace(
                suspended.push(Known(None, None)),
                heap={**caller.heap, generator.oid: None},
                effects=caller.effects,
            )
            (leave,) = self.interpret(state, Region(generator.frame))
        assert isinstance(leave, ReturnExit | YieldExit)
        heap = dict(leave.state.heap)
        if isinstance(leave, YieldExit):
            heap[generator.oid] = replace(leave.state, heap={}, effects=())
        self.state = replace(caller, heap=heap, effects=leave.state.effects)
        return leave.value if isinstance(leave, YieldExit) else None

    @contextmanager
    def inside_builtin(self) -> Iterator[None]:
        """Say that what is called now is called by a builtin: its caller cannot be resumed at a call of it."""
        self._inside_builtin += 1
        try:
            yield
        finally:
            self._inside_builtin -= 1


def holds_cell(value: SymValue) -> bool:
    """Whether a stack slot is a cell, or the closure of a function that is being made: neither lasts over a break."""
    return isinstance(value, SymCell) or (
        isinstance(value, SymTuple) and any(map(holds_cell, value.items))
    )
