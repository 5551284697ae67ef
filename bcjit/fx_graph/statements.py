"""A graph and the bodies in it as the lines of one Python function: calls, ``for``, ``while``, ``if``; it computes no places.

A turn ends with the assignment of what is carried, then its status: 0 is no code at all, a constant is a ``break``. A branch with which a
body ends holds the rest of the turn in its sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from bcjit.fx_graph.blocks import blocks
from bcjit.fx_graph.expressions import Expression, Renderer
from bcjit.fx_graph.lifetimes import dead_names
from bcjit.fx_graph.node import Node, NodeKind, item_of
from bcjit.fx_graph.places import Ending, LoopArgs, Places, Size, Value
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.fx_graph.buffers import Run
    from bcjit.fx_graph.graph import Graph

__all__ = ["ForcedFailure", "Line", "write_lines"]

# Names assigned at one moment: CPython swaps up to three on its stack, more become a tuple.
_SWAPPED: Final = 3


class ForcedFailure(Exception):
    """Raised by generated code where a test asked for a failure."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that runs one node."""

    depth: int
    text: str
    node: Node


@dataclass(slots=True)
class _Block:
    """What is being written of one graph."""

    graph: Graph
    around: Node | None  # the loop or branch of which it is a body
    lines: list[Line] = field(default_factory=list)
    start: int = 0  # where the loop or branch being written in it begins
    sizes: set[Size] = field(default_factory=set)  # read so far


# Variables with what is assigned to them.
_Pairs: TypeAlias = "Sequence[tuple[str, Expression]]"


def write_lines(
    places: Places, renderer: Renderer
) -> tuple[list[Line], dict[Node, frozenset[str]]]:
    """Return the lines of the function, and the variables that are assigned at the end of each body."""
    writer = _Writer(places, renderer)
    writer.statements(places.graph)
    return writer.block.lines, writer.assigned


class _Writer:
    def __init__(self, places: Places, renderer: Renderer) -> None:
        self.places = places
        self.renderer = renderer
        self.blocks = [_Block(places.graph, None)]
        self.dead = {graph: dead_names(places, graph) for graph in places.graph.nested()}
        self.assigned: dict[Node, frozenset[str]] = {}

    @property
    def block(self) -> _Block:
        return self.blocks[-1]

    # Lines

    def _line(self, text: str, node: Node) -> None:
        self.block.lines.append(Line(0, text, node))

    def _need(self, value: Expression, node: Node) -> None:
        """Read the sizes that an expression needs, in front of the outermost loop in which the array stays the same."""
        for size in value.sizes:
            if any(size in block.sizes for block in self.blocks):
                continue
            home = self.places.home(size[0])
            at = index = len(self.blocks) - 1
            while self.blocks[index].graph is not home:
                around = self.blocks[index].around
                index -= 1
                if around is not None and around.kind is NodeKind.LOOP:
                    at = index
            target = self.blocks[at]
            target.sizes.add(size)
            text = f"{self.renderer.size_name(size)} = {self.places.name(size[0])}.shape[{size[1]}]"
            if target is self.block:
                self._line(text, node)
            else:
                target.lines.insert(target.start, Line(0, text, node))
                target.start += 1

    def _fail(self, node: Node) -> None:
        if node is self.places.forced:
            self._line(f"raise {self.renderer.bind(ForcedFailure, 'ForcedFailure')}", node)

    def _delete(self, node: Node, graph: Graph, index: int) -> None:
        names = self.dead[graph].get(index)
        if names:
            self._line(f"del {', '.join(names)}", node)

    # Nodes

    def statements(self, graph: Graph, until: Node | None = None) -> None:
        """Write the nodes of a graph, up to one of them or the output."""
        for index, node in enumerate(graph.nodes):
            if node is until:
                return
            if node in self.places.iterated.values():
                continue  # the loop gives it
            if node.kind is NodeKind.LOOP:
                self._fail(node)
                self._loop(graph, node)
                self._delete(node, graph, index)
            elif node.kind is NodeKind.COND:
                self._fail(node)
                self._cond(graph, node)
                self._delete(node, graph, index)
            elif item_of(node) is not None:
                continue  # its variable has been written
            elif node in self.renderer.buffers.runs:
                self._run(graph, self.renderer.buffers.runs[node], node)
            elif node.kind is NodeKind.CALL or (
                node.kind is NodeKind.OUTPUT and len(self.blocks) == 1
            ):
                self._simple(graph, index, node)

    def _simple(self, graph: Graph, index: int, node: Node) -> None:
        places, renderer = self.places, self.renderer
        if node.unless_done is not None:
            self._unless_done(graph, index, node, node.unless_done)
            return
        value = renderer.effect(node) if node.kind is NodeKind.CALL else None
        if value is not None:
            text = value.text
        else:
            value = renderer.expression(node)
            if node in places.nested:
                renderer.nested[node] = value
                return
            text = value.text
            if node.kind is NodeKind.OUTPUT:
                text = self._returned(value, node)
            elif places.binds(node):
                text = f"{places.name(node)} = {text}"
        self._need(value, node)
        self._fail(node)
        names = self.dead[graph].get(index)
        self._line(f"{text}; del {', '.join(names)}" if names else text, node)

    def _run(self, graph: Graph, run: Run, node: Node) -> None:
        """Write a run where its first call stands."""
        if node is not run.nodes[0]:
            return
        places = self.places
        first, last = (places.where[one][1] for one in (node, run.nodes[-1]))
        for one in graph.nodes[first:last]:  # what the calls take may be written inside them
            if one in places.nested:
                self.renderer.nested[one] = self.renderer.expression(one)
            elif one in run.views:
                value = self.renderer.expression(one)
                self._need(value, one)
                self._line(f"{places.name(one)} = {value.text}", one)
        parts = blocks(self.renderer, graph, run)
        for value in parts.needed:
            self._need(value, node)
        for text in parts.before:
            self._line(text, node)
        depth = 0
        if parts.unless:
            self._line(parts.unless, node)
            depth = 1
        inside = [(node, text) for text in parts.slices] + parts.calls
        self.block.lines.append(Line(depth, parts.head, node))
        self.block.lines.extend(Line(depth + 1, text, one) for one, text in inside)
        for one, text in parts.after:
            self._line(text, one)
        unbound = {places.name(one) for one in run.nodes if one not in run.read_later | run.rows}
        for one in graph.nodes[first : last + 1]:
            if one not in self.renderer.buffers.runs:
                continue
            names = self.dead[graph].get(places.where[one][1], [])
            bound = [name for name in names if name not in unbound]
            if bound:
                self._line(f"del {', '.join(bound)}", one)

    def _returned(self, value: Expression, node: Node) -> str:
        """Return the statement that returns the outputs; what they are is known before buffers are given back."""
        if self.renderer.buffers.closing is None:
            return f"return {value.text}"
        name, closing = self.renderer.buffers.closing
        self._need(value, node)
        self._line(f"{name} = {value.text}", node)
        self._line(closing, node)
        return f"return {name}"

    def _unless_done(self, graph: Graph, index: int, node: Node, done: Node) -> None:
        """Write a call that a kernel may have done already."""
        places, renderer = self.places, self.renderer
        test = f"{renderer.operand(done, graph).text} is not None"
        change = renderer.effect(node)
        if change is None:
            value = renderer.expression(node)
            text = value.text if value.atom else f"({value.text})"
            if places.binds(node):
                instead = renderer.operand(node.writes[0] if node.writes else None, graph)
                text = f"{places.name(node)} = {text} if {test} else {instead.text}"
            else:
                text = f"if {test}: {text}"
            self._need(value, node)
        else:
            self._need(change, node)
            if places.binds(node):
                left = renderer.operand(node.args[0], graph)
                self._line(f"{places.name(node)} = {left.text}", node)
            text = f"if {test}: {change.text}"
        self._fail(node)
        self._line(text, node)
        self._delete(node, graph, index)

    # Loops

    def _loop(self, graph: Graph, node: Node) -> None:
        over, carried, _ = cast("LoopArgs", node.args)
        places, renderer = self.places, self.renderer
        body = node.bodies[0]
        pairs = [
            (places.name(one), renderer.operand(operand, graph))
            for one, operand in places.computed_inputs(node)
        ]
        self._assign(pairs, node)
        values = places.carried_inputs(node)
        pairs = [
            (places.name(value), renderer.handed_on(operand, graph))
            for value, operand in zip(values, carried, strict=True)
        ]
        status = self._status(node)
        if status is not None and over is not None:
            pairs.append((status, Expression("0")))
        self._assign(pairs, node)
        self._delete(node, graph, -1 - places.where[node][1])
        head = "while True:"
        if over is not None:
            item = places.iterated.get(node)
            span = (
                renderer.range(over, graph)
                if item is None
                else renderer.operand(item.args[0], body)
            )
            self._need(span, node)
            head = f"for {places.name(body.inputs[0] if item is None else item)} in {span.text}:"
        self.block.start = len(self.block.lines)
        block = _Block(body, node)
        self.blocks.append(block)
        outputs: list[Ending] = [(operand, body) for operand in body.outputs]
        otherwise: list[Line] = []
        at = node
        if over is None:
            found = self._while(node, outputs, status)
            if found is not None:
                head, otherwise, at = found
        else:
            self._turn(node, outputs)
        self.blocks.pop()
        self._line(head, at)
        self._indented(block.lines, node)
        if otherwise:
            self._line("else:", node)
            self._indented(otherwise, node)

    def _indented(self, lines: list[Line], node: Node) -> None:
        if not lines:
            lines = [Line(0, "pass", node)]
        self.block.lines.extend(Line(line.depth + 1, line.text, line.node) for line in lines)

    def _status(self, loop: Node) -> str | None:
        """Return the variable of a loop's first result, None where that is a constant or not used."""
        value: Value = (loop, 0)
        if not self.places.is_read((loop, 0)) or (
            len(self.places.statuses(loop)) == 1 and None not in self.places.statuses(loop)
        ):
            return None
        return self.places.name(value)

    def _turn(self, loop: Node, outputs: list[Ending]) -> bool:
        """Write what is left of a turn in the present block; return whether its end can be reached."""
        graph = self.block.graph
        tail = self.places.tail(graph)
        self.statements(graph, tail)
        if tail is None:
            return self._finish(loop, outputs)
        self._fail(tail)
        predicate, sides = self._sides(loop, tail, outputs)
        return self._join(tail, predicate, *sides)

    def _sides(
        self, loop: Node, tail: Node, outputs: list[Ending]
    ) -> tuple[str, list[tuple[list[Line], bool]]]:
        """Return the predicate and the lines of the sides of a branch that ends a turn; whether their ends can be reached."""
        predicate = self.renderer.operand(tail.args[0], self.block.graph)
        self._need(predicate, tail)
        self.block.start = len(self.block.lines)
        sides = []
        for body in tail.bodies:
            block = _Block(body, tail)
            self.blocks.append(block)
            falls = self._turn(loop, self.places.side_outputs(tail, body, outputs))
            self.blocks.pop()
            sides.append((block.lines, falls))
        return predicate.text, sides

    def _join(
        self,
        tail: Node,
        predicate: str,
        then: tuple[list[Line], bool],
        orelse: tuple[list[Line], bool],
    ) -> bool:
        """Write a branch that ends a turn: what leaves it stands behind the test, the rest follows."""
        swapped = then[1] and not orelse[1]
        if then[1] == orelse[1]:
            swapped = not then[0] or (
                bool(orelse[0]) and _is_nested(then[0]) and not _is_nested(orelse[0])
            )
        first, last = (orelse, then) if swapped else (then, orelse)
        self._line(f"if not {predicate}:" if swapped else f"if {predicate}:", tail)
        self._indented(first[0], tail)
        if not first[1]:
            self.block.lines.extend(last[0])
            return last[1]
        if not last[0]:
            return True
        if _is_nested(last[0]) and last[1]:
            self._indented([Line(0, "continue", tail)], tail)
            self.block.lines.extend(last[0])
            return True
        self._line("else:", tail)
        self._indented(last[0], tail)
        return True

    def _while(
        self, loop: Node, outputs: list[Ending], status: str | None
    ) -> tuple[str, list[Line], Node] | None:
        """Write the turn of a loop without a range; return the head with the test, where the turn begins with one."""
        block = self.block
        tail = self.places.tail(block.graph)
        if tail is None:
            self._turn(loop, outputs)
            return None
        self.statements(block.graph, tail)
        self._fail(tail)
        predicate, sides = self._sides(loop, tail, outputs)
        if not block.lines:
            for (lines, falls), (rest, _), head in (
                (sides[1], sides[0], f"while {predicate}:"),
                (sides[0], sides[1], f"while not {predicate}:"),
            ):
                leaving = [line.text for line in lines if not line.text.startswith(f"{status} = ")]
                if leaving == ["break"] and not falls:
                    block.lines.extend(rest)
                    return head, lines[:-1], tail
        self._join(tail, predicate, *sides)
        return None

    def _finish(self, loop: Node, outputs: list[Ending]) -> bool:
        """Write the end of a turn: what is carried on, and whether it goes on; return whether the next line can be reached."""
        places, block = self.places, self.block
        node = block.graph.nodes[-1]
        (given, graph), *following = outputs
        pairs = [
            (places.name(value), self.renderer.handed_on(*ending))
            for value, ending in zip(places.carried_inputs(loop), following, strict=True)
        ]
        status, known = self._status(loop), places.constant_status(given)
        test = ""
        if known is None:
            value = self.renderer.operand(given, graph)
            test = value.text
            if status is not None or value.reads & {
                name for name, one in pairs if one.text != name
            }:
                test = status or self.renderer.new_name("status")
                pairs.append((test, value))
            else:
                self._need(value, node)
        elif known and status is not None:
            pairs.append((status, self.renderer.operand(known, graph)))
        self._assign(pairs, node)
        if test:
            self._line(f"if {test}:", node)
            self._indented([Line(0, "break", node)], node)
        self._delete(node, block.graph, places.where[node][1])
        if known:
            self._line("break", node)
        return not known

    # Branches

    def _cond(self, graph: Graph, node: Node) -> None:
        predicate = self.renderer.operand(node.args[0], graph)
        self._need(predicate, node)
        self.block.start = len(self.block.lines)
        sides: list[list[Line]] = []
        for body in node.bodies:
            block = _Block(body, node)
            self.blocks.append(block)
            self.statements(body)
            output = body.nodes[-1]
            pairs = [
                (self.places.name((node, k)), self.renderer.handed_on(operand, body))
                for k, operand in enumerate(body.outputs)
                if self.places.has_variable((node, k))
            ]
            self._assign(pairs, output)
            self._delete(output, body, len(body.nodes) - 1)
            self.blocks.pop()
            sides.append(block.lines)
        then, orelse = sides
        if not then and orelse:
            self._line(f"if not {predicate.text}:", node)
            self._indented(orelse, node)
            return
        self._line(f"if {predicate.text}:", node)
        self._indented(then, node)
        if orelse:
            self._line("else:", node)
            self._indented(orelse, node)

    # Assignments

    def _assign(self, pairs: _Pairs, node: Node) -> None:
        """Assign variables as if at one moment; what is assigned to itself is left out."""
        for _, value in pairs:
            self._need(value, node)
        waiting = [(name, value) for name, value in pairs if value.text != name]
        if node.kind is NodeKind.OUTPUT:
            self.assigned[node] = frozenset(name for name, _ in waiting)
        while waiting:
            ready = next(
                (
                    pair
                    for pair in waiting
                    if not any(
                        pair[0] in other.reads for _, other in waiting if other is not pair[1]
                    )
                ),
                None,
            )
            if ready is not None:
                self._line(f"{ready[0]} = {ready[1].text}", node)
                waiting.remove(ready)
            elif len(waiting) <= _SWAPPED:
                names, values = (
                    ", ".join(side) for side in zip(*((n, v.text) for n, v in waiting), strict=True)
                )
                self._line(f"{names} = {values}", node)
                return
            else:
                name, value = waiting[0]
                saved = self.renderer.new_name(f"next_{name}")
                self._line(f"{saved} = {value.text}", node)
                waiting[0] = (name, Expression(saved, reads=frozenset({saved})))


def _is_nested(lines: list[Line]) -> bool:
    return any(line.depth for line in lines)
