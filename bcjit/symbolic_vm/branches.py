"""Branches on data that are nodes: both sides are captured up to where they meet, in graphs of their own.

Only within a loop that is captured whole, or behind one with several ways out, or where the program asks for it; elsewhere a branch on data
cuts the graph (note 0015). What a side is made of, and where sides meet, is said by the listing; what the merged values are, by ``merging``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

import bcjit.symbolic_vm.break_reasons as because
from bcjit.bytecode import Op, leads_to_raise, meeting_of
from bcjit.dims import Dim, Symbol
from bcjit.fx_graph import Graph, Node
from bcjit.meta import ArrayMeta, Meta, ScalarMeta, UnboundMeta, UnionMeta
from bcjit.records import replace
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.closing import close, finish, written_operands
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.merging import (
    GONE,
    Kind,
    assemble,
    join,
    kind_of,
    metas,
    same_value,
    spread,
)
from bcjit.symbolic_vm.numpy_calls import add_node, is_seen, operand
from bcjit.symbolic_vm.places import Place, read_places, with_places
from bcjit.symbolic_vm.state import (
    Exit,
    FallExit,
    Frame,
    Position,
    Region,
    ReturnExit,
    State,
    TurnEnd,
)
from bcjit.symbolic_vm.values import UNBOUND, SymArray, SymScalar, SymValue

__all__ = [
    "at_return",
    "check_effects",
    "forget",
    "fork",
    "result_nodes",
    "whole_meta",
]


def fork(
    vm: Machine,
    frame: Frame,
    predicate: SymValue,
    sides: tuple[State, State | Callable[[], Exit | None]],
    indices: tuple[int, ...] = (),
    *,
    may_fail: bool = True,
) -> Exit | None:
    """Capture both sides of a branch.

    Parameters
    ----------
    vm
        The capture; its state is that before the sides.
    frame
        The frame that branches.
    predicate
        What decides, as Python's ``if`` asks it.
    sides
        Where the frame goes on if it is true, and if not; or what is done first there (another branch).
    indices
        Where ways begin that are not those of `sides`.
    may_fail
        Whether all since the present position may be done again, by Python, when the graph fails here.

    Returns
    -------
    Exit or None
        None where the sides meet, and `vm.state` is what they bring there; an exit where they end what is run.
    """
    if (
        may_fail
        and isinstance(sides[1], State)
        and _without_raising_side(vm, frame, predicate, (sides[0], sides[1]))
    ):
        return None
    region = vm.region
    asked = operand(vm, predicate)[1]
    outer = frozenset(vm.env.symbols)
    indices = indices or tuple(side.index for side in sides if isinstance(side, State))
    meeting = meeting_of(frame.listing, indices, region.stop)
    stop = region.stop if meeting is None else region.stop | {meeting}
    ends_turn = region.turn is not None and (meeting is None or meeting in region.turn.stop)
    inner = Region(frame, stop, nested=True, turn=region.turn)
    before = vm.state
    graphs = (vm.graph.subgraph(), vm.graph.subgraph())
    exits = []
    try:
        for graph, start in zip(graphs, sides, strict=True):
            exits.append(vm.run_nested(graph, start, inner))
        side = _Sides(vm, asked, predicate, graphs, outer)
        if ends_turn:
            return side.end_turn(region, exits)
        _check_effects(before, exits)
        if all(isinstance(found, FallExit) for found in exits):
            vm.state = before
            vm.state = side.merged([found.state for found in exits])  # type: ignore[union-attr]  # as was asked
            return None
        if all(isinstance(found, ReturnExit) for found in exits):
            vm.state = before
            leave = side.returned(exits)  # type: ignore[arg-type]  # as was asked
            state = at_return(frame, leave.state, leave.value)
            if is_seen(state) and not _begins_group(frame, state.index):
                break_graph(because.DATA_BRANCH, "no return of the function can be gone on with")
            vm.positions[-1] = Position(frame, state)
            return leave
        return break_graph(because.DATA_BRANCH, "its sides end in ways that do not go together")
    except BaseException:
        for graph in graphs[::-1]:
            forget(graph)
        raise


def leave_if(predicate: object) -> bool:
    """Raise, so that the graph bails out and Python raises what the program says, if a value is true."""
    if predicate:
        raise RuntimeError("the program raises here")
    return True


def leave_unless(predicate: object) -> bool:
    """Raise, so that the graph bails out and Python raises what the program says, if a value is not true."""
    if not predicate:
        raise RuntimeError("the program raises here")
    return True


def _without_raising_side(
    vm: Machine, frame: Frame, predicate: SymValue, sides: tuple[State, State]
) -> bool:
    """Where one side only raises, go on with the other: the graph fails where that would be taken."""
    raising = [leads_to_raise(frame.listing, side.index) for side in sides]
    if raising[0] == raising[1]:
        return False
    target = leave_if if raising[0] else leave_unless
    asked = operand(vm, predicate)[1]
    add_node(vm, target, (asked,), {}, (ScalarMeta(bool),), can_fail=True, op=None)
    vm.state = replace(sides[raising[0]], effects=vm.state.effects)
    return True


def forget(graph: Graph) -> None:
    """Take a graph that is given up out of the users of the nodes around it."""
    for node in graph.nodes:
        for used in node.uses():
            used.users.pop(node, None)


def at_return(frame: Frame, state: State, value: SymValue) -> State:
    """Return the state in which a frame returns a value next: at a return that can be gone on with, if there is one."""
    instructions = frame.listing.instructions
    places = [i for i, one in enumerate(instructions) if one.op is Op.RETURN_VALUE]
    whole = [i for i in places if _begins_group(frame, i)]
    unbound = (UNBOUND,) * len(state.locals)
    return replace(state, index=(whole or places)[0], stack=(value,), locals=unbound)


def _begins_group(frame: Frame, index: int) -> bool:
    """Whether a frame can be gone on with at an instruction: not at the second of a pair (``RETURN_CONST``)."""
    instruction = frame.listing.instructions[index]
    return frame.listing.group_at(instruction.offset)[0] is instruction


def _check_effects(before: State, exits: list[Exit]) -> None:
    for found in exits:
        state = getattr(found, "state", None)
        if state is not None:
            check_effects(before, state)


def check_effects(before: State, after: State) -> None:
    """Break where something was done to an object that is not an array: that cannot depend on data."""
    for effect in after.effects[len(before.effects) :]:
        if effect.node is None:
            break_graph(because.OUTSIDE_WRITE, f"in a branch or loop on data: {effect.text()}")


class _Sides:
    """The two sides of a branch, captured: makes the node and what it gives."""

    def __init__(
        self,
        vm: Machine,
        asked: object,
        predicate: SymValue,
        graphs: tuple[Graph, Graph],
        outer: frozenset[Symbol],
    ) -> None:
        self.vm = vm
        self.asked = asked
        self.predicate = predicate
        self.graphs = graphs
        self.outer = outer

    def merged(self, states: list[State]) -> State:
        """Return the state where both sides meet."""
        left, right = states
        if left.index != right.index or len(left.stack) != len(right.stack):
            break_graph(because.DATA_BRANCH, "its sides meet with other values on the stack")
        if left.cells != right.cells:
            break_graph(because.DATA_BRANCH, "a cell is made on one side")
        values = self._join(states)
        return with_places(replace(left, effects=self.vm.state.effects), values)

    def returned(self, exits: list[ReturnExit]) -> ReturnExit:
        """Return the common return of both sides."""
        states = [replace(found.state, stack=(found.value,), locals=()) for found in exits]
        values = self._join(states)
        state = with_places(replace(states[0], effects=self.vm.state.effects), values)
        found = exits[0].state
        return ReturnExit(
            replace(found, heap=state.heap, effects=state.effects, stack=()), state.stack[0]
        )

    def _join(self, states: list[State]) -> dict[Place, SymValue]:
        vm = self.vm
        places = [read_places(vm, state) for state in states]
        kinds: dict[Place, Kind] = {}
        for place in dict.fromkeys([*places[0].values, *places[1].values]):
            a, b = (one.values.get(place) for one in places)
            if a is None or b is None:
                continue  # in an object that one side made for itself
            if not same_value(a, b):
                kind = join(vm, kind_of(vm, a, self.outer), kind_of(vm, b, self.outer), self.outer)
                if kind is GONE and not place.is_local:
                    break_graph(because.DATA_BRANCH, f"its sides bring different {place.text()}")
                kinds[place] = kind
        for oid in places[0].shapes.keys() & places[1].shapes.keys():
            if places[0].shapes[oid] != places[1].shapes[oid]:
                break_graph(
                    because.DATA_BRANCH,
                    "a container is changed on one side (put the values into an array made before the loop)",
                )
        spreads = []
        for graph, one in zip(self.graphs, places, strict=True):
            with vm.nested(graph):
                spreads.append(
                    [
                        leaf
                        for place, kind in kinds.items()
                        for leaf in spread(vm, kind, one.values[place])
                    ]
                )
        new_node = self._node([m for kind in kinds.values() for m in metas(kind)], spreads)
        return {place: assemble(vm, kind, new_node) for place, kind in kinds.items()}

    def end_turn(self, region: Region, exits: list[Exit]) -> TurnEnd:
        """Return the end of a turn that both sides come to, each in its own way."""
        assert region.turn is not None
        ends = []
        for graph, found in zip(self.graphs, exits, strict=True):
            with self.vm.nested(graph):
                ends.append(found if isinstance(found, TurnEnd) else region.turn.end(found))
        left, right = (end.operands for end in ends)
        if left is None or right is None:
            for graph in self.graphs[::-1]:
                forget(graph)
            return TurnEnd(None)
        kinds: list[tuple[Meta, tuple[Dim | None, ...]]] = [(ScalarMeta(int), ())]
        kinds += region.turn.metas()
        differ = [
            place
            for place, (a, b) in enumerate(zip(left, right, strict=True))
            if not _same_operand(a, b)
        ]
        new_node = self._node(
            [kinds[place] for place in differ],
            [[side[place] for place in differ] for side in (left, right)],
        )
        operands = list(left)
        for place in differ:
            meta, dims = kinds[place]
            operands[place] = new_node(whole_meta(self.vm, meta, dims))
        return TurnEnd(tuple(operands))

    def _node(
        self, kinds: list[tuple[Meta, tuple[Dim | None, ...]]], outputs: list[list[object]]
    ) -> Callable[[Meta], Node]:
        """Append the node, and return what gives its results in order."""
        vm = self.vm
        empty = not any(graph.calls for graph in self.graphs)
        if empty and not kinds and _cannot_fail(self.predicate):
            for graph in self.graphs:
                forget(graph)
            return _none
        for graph, values in zip(self.graphs, outputs, strict=True):
            graph.output(tuple(values))
        free = close(self.graphs)
        node = vm.graph.cond(
            self.asked,
            free,
            *self.graphs,
            metas=tuple(whole_meta(vm, meta, dims) for meta, dims in kinds),
            writes=written_operands(self.graphs, free, 0),
            draws=any(call.draws for graph in self.graphs for call in graph.all_calls),
            line=vm.line,
        )
        finish(vm, node)
        return result_nodes(vm, node)


def _none(meta: Meta) -> Node:
    raise AssertionError(meta)


def whole_meta(vm: Machine, meta: Meta, dims: tuple[Dim | None, ...]) -> Meta:
    """Return a leaf's facts with a symbol for each size that is not known."""
    if isinstance(meta, UnboundMeta):
        return UnboundMeta(whole_meta(vm, meta.kind, dims))
    if not isinstance(meta, ArrayMeta) or not dims:
        return meta
    shape = tuple(
        vm.env.symbol(vm.fresh_name("size"), "data").expr if dim is None else dim for dim in dims
    )
    return replace(meta, shape=shape)


def result_nodes(vm: Machine, node: Node, first: int = 0) -> Callable[[Meta], Node]:
    """Return what gives the nodes that read a loop's or branch's results, one after the other."""
    places: Iterator[int] = iter(range(first, len(node.meta)))

    def new_node(meta: Meta) -> Node:
        place = next(places)
        inner = meta.kind if isinstance(meta, UnboundMeta) else meta
        scalar = isinstance(inner, ScalarMeta | UnionMeta) or (
            isinstance(inner, ArrayMeta) and inner.is_scalar
        )
        return vm.graph.call(
            operator.getitem,
            (node, place),
            meta=(meta,),
            multi=False,
            alias="fresh" if scalar else "maybe",
            can_fail=False,
            line=vm.line,
            name=f"{node.name}_result",
        )

    return new_node


def _same_operand(a: object, b: object) -> bool:
    if a is b:
        return True
    return type(a) is type(b) and not isinstance(a, Node | float | complex) and a == b


def _cannot_fail(predicate: SymValue) -> bool:
    """Whether asking for the truth of a value cannot raise."""
    return isinstance(predicate, SymScalar) or (
        isinstance(predicate, SymArray) and predicate.meta.is_scalar
    )
