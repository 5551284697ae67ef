"""Which values of a graph and its bodies share a variable of generated code; it decides nothing else of where a value is."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from bcjit.fx_graph.node import Node, NodeKind, Operand, item_of
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph
    from bcjit.fx_graph.places import LoopArgs, Places, Value

__all__ = ["Handed", "Variables"]


@dataclass(frozen=True, slots=True)
class Handed:
    """What stands for a node that has no variable: a constant or a symbolic integer of some graph."""

    operand: Operand
    graph: Graph


class Variables:
    """Which values share a variable: those that hand on to one another, where none is needed when the next is made."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._root: dict[Value, Value] = {}
        self._members: dict[Value, list[Value]] = {}
        self._names: dict[Value, str] = {}
        structured = [node for node in places.where if node.bodies]
        for node in structured:
            if node.kind is NodeKind.LOOP:
                for k, carried in enumerate(places.carried_inputs(node), 1):
                    self._join((node, k), carried)
        for node in structured:  # outer ones first
            if node.kind is NodeKind.LOOP:
                self._share_turns(node)
            else:
                self._share_sides(node)

    def members(self, value: Value) -> list[Value]:
        """Return the values in the variable of a value."""
        return self._members.get(self._find(value), [value])

    def name(self, value: Value) -> str:
        """Return the name of a value's variable."""
        root = self._find(value)
        name = self._names.get(root)
        if name is None:
            name = self._names[root] = self._best_name(root)
        return name

    def _best_name(self, root: Value) -> str:
        """Return the name of what is carried, by the outermost loop; else of the outermost result."""
        places = self.places

        def rank(value: Value) -> tuple[bool, int]:
            depth = sum(1 for _ in places.chain(places.home(value)))
            return not (isinstance(value, Node) and value.kind is NodeKind.INPUT), depth

        best = min(self.members(root), key=rank)
        if isinstance(best, Node):
            return best.name
        node, index = best
        items = (user for user in node.users if item_of(user) == (node, index))
        named = next(items, None)
        return f"{node.name}_{index}" if named is None else named.name

    # Sharing

    def _share_turns(self, loop: Node) -> None:
        places, body = self.places, loop.bodies[0]
        graph, _ = places.where[loop]
        _, initial, _ = cast("LoopArgs", loop.args)
        for k, carried in enumerate(places.carried_inputs(loop)):
            following = self._value(body.outputs[k + 1])
            if following is not None and places.home(following) is body:
                self._try(carried, following)
            before = self._value(initial[k])
            if before is not None and places.home(before) is graph:
                self._try(carried, before)

    def _share_sides(self, cond: Node) -> None:
        for side in cond.bodies:
            for k, operand in enumerate(side.outputs):
                value = self._value(operand)
                if value is None or self.places.home(value) is not side:
                    continue
                if self.places.is_read((cond, k)):
                    self._try((cond, k), value)

    def _value(self, operand: Operand) -> Value | None:
        """Return the value of an operand that may share a variable: not an input of the graph, an index, or what has none."""
        places = self.places
        meaning = places.meaning(operand) if isinstance(operand, Node) else None
        if meaning is None or isinstance(meaning, Handed):
            return None
        if not isinstance(meaning, Node):
            return meaning if meaning[1] or meaning[0].kind is NodeKind.COND else None
        if meaning in places.nested:
            return None
        if meaning.kind is NodeKind.INPUT:
            graph, _ = places.where[meaning]
            around = places.around.get(graph)
            if around is None or meaning not in places.carried_inputs(around[0]):
                return None
        return meaning

    def _try(self, one: Value, other: Value) -> None:
        if self._find(one) == self._find(other):
            return
        pairs = [(a, b) for a in self.members(one) for b in self.members(other)]
        if not any(self._is_live_at(a, b) or self._is_live_at(b, a) for a, b in pairs):
            self._join(one, other)

    def _is_live_at(self, value: Value, written: Value) -> bool:
        """Whether a value is still needed when another one is written."""
        places = self.places
        home, graph = places.home(value), places.home(written)
        if home not in places.chain(graph):
            return False
        if isinstance(written, Node):
            index = places.where[written][1]
            if (
                written.kind is NodeKind.INPUT
            ):  # carried: written before the first turn, and at the end of each
                if (
                    home is graph
                ):  # all that is carried is written at once, and so needs as many variables
                    return isinstance(value, Node) and value.kind is NodeKind.INPUT
                loop, graph = places.around[graph]
                if value in places.inside[loop]:
                    return True
                index = places.where[loop][1]
        else:
            index = places.where[written[0]][1]
        return self._is_before(value, graph, index) and places.is_live_after(value, graph, index)

    def _is_before(self, value: Value, graph: Graph, index: int) -> bool:
        """Whether a value was made before, or at, a node of a graph."""
        places = self.places
        made, home = (
            places.where[value if isinstance(value, Node) else value[0]][1],
            places.home(value),
        )
        inside = False
        while graph is not home:
            around, graph = places.around[graph]
            index, inside = places.where[around][1], True
        if isinstance(value, Node) and value.kind is NodeKind.INPUT:
            return True
        return made < index if inside else made <= index

    def _find(self, value: Value) -> Value:
        while value in self._root:
            value = self._root[value]
        return value

    def _join(self, one: Value, other: Value) -> None:
        one, other = self._find(one), self._find(other)
        self._members[one] = [*self.members(one), *self.members(other)]
        self._members.pop(other, None)
        self._root[other] = one
