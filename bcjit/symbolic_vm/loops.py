"""Loops that are captured whole: a turn is traced until what it hands on has settled, then it is one node (note 0015).

``symbolic_vm.branches`` does the branches in a turn, ``loop_items`` what an iterator gives in turn k. Whatever does not fit raises `GraphBreak`: the caller
gives the loop up, and it is served one turn a part.
"""

from __future__ import annotations

import operator
from dataclasses import field
from typing import Final

import bcjit.symbolic_vm.break_reasons as because
from bcjit.bytecode import Loop, Op, loops_of
from bcjit.config import config
from bcjit.dims import Dim, Symbol
from bcjit.errors import GraphBreak, SourceLine
from bcjit.fx_graph import Graph, Node, NodeKind
from bcjit.meta import Meta, ScalarMeta
from bcjit.records import dataclass, replace
from bcjit.symbolic_vm.branches import (
    at_return,
    check_effects,
    forget,
    fork,
    result_nodes,
    whole_meta,
)
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.closing import close, finish, written_operands
from bcjit.symbolic_vm.loop_items import Counter, counter_of, item_in_turn, taken
from bcjit.symbolic_vm.machine import LoopKey, Machine
from bcjit.symbolic_vm.merging import (
    GONE,
    Kind,
    Leaf,
    Maybe,
    assemble,
    handed_over,
    join,
    kind_of,
    metas,
    same_kind,
    same_value,
    spread,
)
from bcjit.symbolic_vm.numpy_calls import call_scalar, is_seen
from bcjit.symbolic_vm.places import Place, Places, read_places, with_places
from bcjit.symbolic_vm.state import (
    Effect,
    Exit,
    FallExit,
    Frame,
    Position,
    Region,
    ReturnExit,
    State,
    TurnEnd,
)
from bcjit.symbolic_vm.values import (
    UNBOUND,
    Known,
    SymGone,
    SymIterator,
    SymMaybe,
    SymScalar,
    SymValue,
)

__all__ = ["capture_for", "enter_loop"]

_DEEPEST: Final = 15  # CPython's compiler takes 20 blocks within each other
_MOST_TRACES: Final = 12  # of one turn, until it has settled
_RETURNED: Final = Place("return", 0)
# Stands for the visible effects of earlier turns, so that each node of a turn gets a record.
_EARLIER: Final = Effect("write", Node(NodeKind.LOOP, "earlier turns"))
_DROPPED: Final = SymGone(None)
# A way out of a loop: where it leads (None: the frame returns), and how deep the stack is then.
_Way = tuple[int | None, int]


def key_of(frame: Frame, loop: Loop) -> LoopKey:
    """Return what names a loop from one capture to the next."""
    code = frame.code
    return code.co_filename, code.co_firstlineno, code.co_qualname, loop.head


# ---------------------------------------------------------------------- when
def enter_loop(vm: Machine, frame: Frame) -> Exit | bool | None:
    """Capture a ``while`` loop at whose head the frame is: `LoopEntry` of the machine."""
    index = vm.state.index
    for loop in loops_of(frame.listing):  # hardly ever one: this is asked at each instruction
        if index == loop.head or index in loop.same:
            break
    else:
        return None
    if loop.is_for or vm.steps > config.capture_limit or not _is_allowed(vm, frame, loop):
        return None
    found = _attempt(vm, frame, loop, None)
    return None if isinstance(found, _Left) else found or True


def capture_for(vm: Machine, frame: Frame, index: int, iterator: SymIterator) -> Exit | bool | None:
    """Capture a ``for`` loop at whose head the frame is, over an iterator made in the frame; None where it is left."""
    loop = next((one for one in loops_of(frame.listing) if one.head == index), None)
    if loop is None or not _is_allowed(vm, frame, loop):
        return None
    found = _attempt(vm, frame, loop, iterator)
    return None if isinstance(found, _Left) else found or True


def _is_allowed(vm: Machine, frame: Frame, loop: Loop) -> bool:
    why = ""
    if not config.loops:
        why = "bcjit.config.loops is False"
    elif key_of(frame, loop) in vm.settings.left_loops:
        why = "what is bound behind it could not be made again where the graph is cut"
    # What a signal's handler raises must find the handler of the program.
    elif any(
        position.frame.listing.instructions[position.state.index].handler is not None
        for position in vm.positions
    ):
        why = "it is in a try or with"
    if why and not vm.structured:
        vm.leave_loop(why, _line_of(frame, loop))
    return not why


def _range_text(over: tuple[Dim, Dim, Dim] | None) -> str:
    """Return what a loop goes over, for people: ``range(n)``."""
    if over is None:
        return ""
    start, stop, step = over
    if step != 1:
        return f"range({start}, {stop}, {step})"
    if start != 0:
        return f"range({start}, {stop})"
    text = str(stop)
    # A length is never below 0; to a reader that says nothing.
    return (
        f"range({text[4:-4]})"
        if text.startswith("max(") and text.endswith(", 0)")
        else f"range({text})"
    )


def _line_of(frame: Frame, loop: Loop) -> SourceLine:
    code = frame.code
    return SourceLine(code.co_filename, frame.listing.line_of(loop.head), code.co_qualname)


class _Left:
    """A loop that is left to Python."""


_LEFT: Final = _Left()


def _attempt(
    vm: Machine, frame: Frame, loop: Loop, iterator: SymIterator | None
) -> Exit | _Left | None:
    """Capture a loop, or leave it as if nothing had been tried. Within another loop that one is given up too."""
    if len(vm.graphs) > _DEEPEST:
        break_graph(because.LOOP, "loops and branches are nested too deeply")
    mark, steps = vm.mark(), vm.steps
    try:
        found = _Capture(vm, frame, loop, iterator).run()
    except GraphBreak as cause:
        if vm.structured:
            raise
        vm.truncate(mark)
        vm.steps = steps
        vm.settings.left_loops.add(key_of(frame, loop))
        line = _line_of(frame, loop)
        place = "" if cause.line in {None, line} else f" ({cause.line})"
        title = "" if cause.reason.code == because.LOOP else f"{cause.reason.title}: "
        vm.leave_loop(f"{title}{cause.context}".removesuffix(": ") + place, line)
        return _LEFT
    vm.loops_captured.add(key_of(frame, loop))
    return found


# ---------------------------------------------------------------------- a turn
@dataclass(slots=True, eq=False)
class _Turn:
    """One trace of a turn: what is carried into it, and what the ways through it bring."""

    vm: Machine
    loop: Loop
    outside: State  # before the loop
    before: Places  # of `outside`
    outer: frozenset[Symbol]
    kinds: dict[Place, Kind]
    stop: frozenset[int]
    head: State = field(init=False)  # at the head, with what is carried in its places
    inside: Places = field(init=False)  # of `head`
    found: dict[Place, Kind] = field(default_factory=dict)  # what must be carried, by what was seen
    codes: dict[_Way, int] = field(default_factory=dict)
    # By the status: what may have no value then.
    loose: dict[int, set[Place]] = field(default_factory=dict)
    visible: bool = False
    dirty: bool = False

    def metas(self) -> list[tuple[Meta, tuple[Dim | None, ...]]]:
        """Return what is known of all that is carried, leaf by leaf."""
        return [leaf for kind in self.kinds.values() for leaf in metas(kind)]

    def end(self, exit_: Exit) -> TurnEnd:
        """Return the end of one way through the turn, in the present graph."""
        vm = self.vm
        if isinstance(exit_, TurnEnd):
            return exit_
        if not isinstance(exit_, FallExit | ReturnExit):
            break_graph(because.LOOP, "a generator")
        state = exit_.state
        check_effects(self.head, state)
        self.visible |= len(state.effects) > len(self.head.effects)
        status = self._status(exit_)
        places = read_places(vm, state)
        values = {place: value for place, value in places.values.items() if place.kind != "stack"}
        if isinstance(exit_, ReturnExit):
            values[_RETURNED] = exit_.value
        self._check_stack(exit_)
        if state.cells != self.head.cells:
            break_graph(because.LOOP, "a cell is made in each turn")
        self._note(values, places, status)
        if self.dirty:
            return TurnEnd(None)
        operands: list[object] = [status]
        for place, kind in self.kinds.items():
            operands += spread(vm, kind, values.get(place, self.inside.values.get(place, UNBOUND)))
        return TurnEnd(tuple(operands))

    def _status(self, exit_: Exit) -> int:
        if isinstance(exit_, ReturnExit):
            way: _Way = (None, 0)
        else:
            assert isinstance(exit_, FallExit)
            index = exit_.state.index
            if index == self.loop.head or index in self.loop.same:
                return 0
            way = (index, len(exit_.state.stack))
        return self.codes.setdefault(way, len(self.codes) + 1)

    def _check_stack(self, exit_: Exit) -> None:
        """Break unless the stack is that of the head, or what is left of it."""
        if isinstance(exit_, ReturnExit):
            return
        stack = exit_.state.stack  # type: ignore[union-attr]  # a FallExit: see `end`
        head = self.head.stack
        # What lies above is dropped on the way out: an inner loop's iterator, what a chained comparison has left.
        if not all(map(same_value, stack, head)):
            break_graph(because.LOOP, "values on the stack change")

    def _note(self, values: dict[Place, SymValue], places: Places, status: int) -> None:
        """Compare what one way brings with what is carried, and remember what more must be."""
        vm, outer = self.vm, self.outer
        loose = self.loose.setdefault(status, set())
        for oid, shape in self.inside.shapes.items():
            if oid in places.shapes and places.shapes[oid] != shape:
                break_graph(
                    because.LOOP,
                    "a container changes its size or keys (put the values into an array made before the loop)",
                )
        for place, value in values.items():
            if place.heap and place.slot not in self.inside.shapes:
                continue  # an object that this turn made
            if value is UNBOUND or isinstance(value, SymMaybe):
                loose.add(place)
            known = self.kinds.get(place)
            if known is None:
                at_head = self.inside.values.get(place, UNBOUND)
                if place != _RETURNED and same_value(value, at_head):
                    continue
                known = kind_of(vm, at_head, outer)
            kind = join(vm, self.found.get(place, known), kind_of(vm, value, outer), outer)
            if place.heap and isinstance(kind, Maybe):
                break_graph(because.LOOP, "a variable of a nested function may have no value")
            if kind is GONE and (place.heap or place == _RETURNED):
                what = "what is returned" if place == _RETURNED else "what an object holds"
                break_graph(because.LOOP, f"{what} is not the same kind of thing in each turn")
            self.found[place] = kind
            if place not in self.kinds or not same_kind(kind, self.kinds[place]):
                self.dirty = True


# ---------------------------------------------------------------------- the whole
class _Capture:
    """The capture of one loop."""

    def __init__(self, vm: Machine, frame: Frame, loop: Loop, iterator: SymIterator | None) -> None:
        self.vm = vm
        self.frame = frame
        self.loop = loop
        self.iterator = iterator
        self.outside = vm.state.at(loop.head)
        self.outer = frozenset(vm.env.symbols)
        self.before = read_places(vm, self.outside)
        self.behind: int | None = None  # where a `for` loop goes on
        self.counter: Counter | None = None
        self.width = 0  # slots of the iterator on the stack
        self.writes = False  # or draws

    def run(self) -> Exit | None:
        """Capture the loop: the exit of `fork`, or None where `vm.state` is that behind it."""
        vm = self.vm
        runs = False
        if self.iterator is not None:
            instruction = self.frame.listing.instructions[self.loop.head]
            self.width = 2 if instruction.op is Op.FOR_ITER_PAIR else 1
            assert isinstance(instruction.arg, int)
            self.behind = instruction.arg
            self._check_alone(self.iterator)
            self.counter = counter_of(vm, self.iterator)
            if self._binds_something():
                answer = self.counter.runs(vm)
                if answer is False:
                    vm.popn(self.width)
                    vm.state = vm.state.at(self.behind)
                    return None
                runs = answer is True
        turn, body, ends = self._settle()
        return self._build(turn, body, ends, runs=runs)

    def _binds_something(self) -> bool:
        """Whether a turn binds a local that has no value before."""
        names = self.frame.code.co_varnames
        return any(self.outside.locals[names.index(name)] is UNBOUND for name in self._stored())

    def _stored(self) -> list[str]:
        instructions = self.frame.listing.instructions
        return [
            str(instructions[i].arg)
            for i in sorted(self.loop.body)
            if instructions[i].op is Op.STORE_FAST
        ]

    def _check_alone(self, iterator: SymIterator) -> None:
        """Break where something else holds an iterator of the loop: it would be seen to move."""
        own: list[SymValue] = [iterator]
        for one in own:
            if isinstance(one, SymIterator):
                own += [part for part in one.parts if isinstance(part, SymIterator)]
        rest = self.outside.stack[: -self.width]
        held = [*self.outside.locals, *rest, *self.before.values.values()]
        count = sum(any(value is one for one in own) for value in held)
        if count > sum(value is iterator for value in self.outside.stack):
            break_graph(because.LOOP, "over an iterator that has a name")

    # ------------------------------------------------------------------ to a fixed point
    def _first_kinds(self) -> dict[Place, Kind]:
        """Guess what is carried: locals that a turn stores to, and that have a value."""
        vm = self.vm
        kinds: dict[Place, Kind] = {}
        names = self.frame.code.co_varnames
        for name in dict.fromkeys(self._stored()):
            place = Place("local", names.index(name))
            value = self.before.values[place]
            if value is UNBOUND:
                continue
            widened = handed_over(vm, value, self.outer)
            if isinstance(widened, Leaf):
                kinds[place] = widened
        return kinds

    def _settle(self) -> tuple[_Turn, Graph, tuple[object, ...]]:
        vm = self.vm
        kinds = self._first_kinds()
        visible = is_seen(self.outside)
        for _ in range(_MOST_TRACES):
            mark = vm.mark()
            body = vm.graph.subgraph()
            turn = self._turn(kinds)
            try:
                end = self._trace(turn, body, visible=visible)
            except BaseException:
                forget(body)
                raise
            if end is not None and turn.visible <= visible:
                return turn, body, end
            visible = visible or turn.visible
            forget(body)
            vm.truncate(mark)
            kinds = {**kinds, **turn.found}
        return break_graph(because.LOOP, "what a turn hands on does not settle")

    def _turn(self, kinds: dict[Place, Kind]) -> _Turn:
        loop = self.loop
        stop = frozenset({loop.head, *loop.same, *loop.exits})
        return _Turn(self.vm, loop, self.outside, self.before, self.outer, kinds, stop)

    def _trace(self, turn: _Turn, body: Graph, *, visible: bool) -> tuple[object, ...] | None:
        """Trace a turn; what it ends with, None if more must be carried."""
        vm = self.vm
        head = self.outside
        if visible:
            head = replace(head, effects=(*head.effects, _EARLIER))
        with vm.nested(body):
            count = None
            if self.counter is not None:
                count = self.counter.begin(vm, self._item_name())
            names = self.frame.code.co_varnames
            values: dict[Place, SymValue] = {}
            for place, kind in turn.kinds.items():
                if place == _RETURNED:
                    for meta, dims in metas(kind):
                        body.input("returned", whole_meta(vm, meta, dims))
                    continue
                name = names[place.slot] if place.is_local else "carried"

                def new_node(meta: Meta, name: str = name) -> Node:
                    return body.input(name, meta)

                values[place] = assemble(vm, kind, new_node)
            turn.head = with_places(head, values)
            turn.inside = read_places(vm, turn.head)
            start = turn.head
            vm.state = start
            if self.iterator is not None:
                assert self.counter is not None
                assert count is not None
                taken(vm, self.iterator, count.turn)
                at_head = Position(self.frame, vm.state)
                vm.state = start
                taken(vm, self.iterator, count.turn + 1)
                # What gives the item is done again as what comes behind it is: at the head, in the same turn.
                with vm.at(at_head):
                    item = item_in_turn(vm, self.iterator, count, own=self.counter.own)
                turn.head = vm.state
                turn.inside = read_places(vm, turn.head)
                start = vm.state.push(item).at(self.loop.head + 1)
            vm.state = self.outside
        region = Region(
            self.frame, turn.stop, nested=True, begins_at_stop=start.index in turn.stop, turn=turn
        )
        found = vm.run_nested(body, start, region)
        with vm.nested(body):
            return turn.end(found).operands

    def _item_name(self) -> str:
        instruction = self.frame.listing.instructions[self.loop.head + 1]
        return str(instruction.arg) if instruction.op is Op.STORE_FAST else "index"

    # ------------------------------------------------------------------ the node, and what comes behind
    def _build(
        self, turn: _Turn, body: Graph, ends: tuple[object, ...], *, runs: bool
    ) -> Exit | None:
        vm = self.vm
        body.output(ends)
        free = close((body,))
        carried: list[object] = []
        for place, kind in turn.kinds.items():
            carried += spread(vm, kind, self.before.values.get(place, UNBOUND))
        leaves = turn.metas()
        over = None if self.counter is None else self.counter.operands()
        handed_in = (*carried, *free)
        node = vm.graph.loop(
            over,
            tuple(carried),
            free,
            body,
            metas=tuple(whole_meta(vm, meta, dims) for meta, dims in leaves),
            writes=written_operands((body,), handed_in, 0 if over is None else 1),
            draws=any(call.draws for call in body.all_calls),
            line=vm.line,
        )
        self.writes = node.has_effect
        vm.state = self.outside
        finish(vm, node)
        inside = sum(not one.bodies for one in body.all_calls)
        count = f"{inside} node{'s' * (inside != 1)} in its body"
        vm.note_loop("rolled", count, vm.line, _range_text(over))
        new_node = result_nodes(vm, node)
        status = new_node(ScalarMeta(int))
        values = {place: assemble(vm, kind, new_node) for place, kind in turn.kinds.items()}
        return self._go_on(turn, status, values, runs=runs)

    def _go_on(
        self, turn: _Turn, status: Node, values: dict[Place, SymValue], *, runs: bool
    ) -> Exit | None:
        """Go on behind the loop: on the one way out, or on each in a branch on the status."""
        ways: dict[_Way, list[int]] = {}
        for way, code in turn.codes.items():
            ways[way] = [code]
        if self.behind is not None:  # last: it needs no test, and may have a second status
            way = (self.behind, len(self.outside.stack) - self.width)
            ways[way] = [0, *ways.pop(way, [])]
        if not ways:
            break_graph(because.LOOP, "there is no way out of it")
        states = [
            self._state_behind(turn, way, codes, values, runs=runs) for way, codes in ways.items()
        ]
        codes = [codes[0] for codes in ways.values()]
        # Its symbol belongs to this graph, also where it is asked on a side of a branch.
        symbol = self.vm.env.symbol(self.vm.fresh_name("status"), "data")
        self.vm.graph.bind_symbol(symbol, status, None)
        return self._choose(codes, states, SymScalar(None, int, symbol.expr))

    def _choose(self, codes: list[int], states: list[State], status: SymScalar) -> Exit | None:
        vm = self.vm
        if len(states) == 1:
            vm.state = states[0]
            return None
        known = Known(None, codes[0])
        took = call_scalar(vm, operator.eq, (status, known), bool, can_fail=False)
        rest = (
            states[1] if len(states) == 2 else lambda: self._choose(codes[1:], states[1:], status)
        )
        # Where the graph fails here, Python begins the loop again, which must not have written what is still there then.
        may_fail = not (is_seen(vm.state) and self.writes)
        indices = tuple(s.index for s in states)
        return fork(vm, self.frame, took, (states[0], rest), indices, may_fail=may_fail)

    def _state_behind(
        self,
        turn: _Turn,
        way: _Way,
        codes: list[int],
        values: dict[Place, SymValue],
        *,
        runs: bool,
    ) -> State:
        """Return the state in which the frame goes on behind the loop."""
        index, depth = way
        loose: set[Place] = set()
        for code in codes:
            loose |= turn.loose.get(code, set())
        if 0 in codes and not runs:
            loose |= set(values)  # perhaps there was no turn
        known = {
            place: value.value if isinstance(value, SymMaybe) and place not in loose else value
            for place, value in values.items()
        }
        returned = known.pop(_RETURNED, None)
        state = with_places(
            replace(self.outside, effects=self.vm.state.effects),
            {place: value for place, value in known.items() if place.kind != "stack"},
        )
        if index is not None:
            dropped = (_DROPPED,) * (depth - len(state.stack))
            return replace(state, stack=(*state.stack[:depth], *dropped), index=index)
        assert returned is not None
        if isinstance(returned, SymMaybe):
            returned = returned.value
        return at_return(self.frame, state, returned)
