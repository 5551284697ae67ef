"""Where the values of a graph and of the bodies in it live in generated code: which share a variable, which have none.

All bodies stand in one function, so what a body is handed is the outer variable itself, a carried value is one variable for all turns, and the
results of a loop are those variables. A value is a node, or (for a result of a loop or branch) the node with the index.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from bcjit.dims import Expr
from bcjit.fx_graph.node import Node, NodeKind, Operand, exprs_in, item_of, leaves, nodes_in
from bcjit.fx_graph.variables import Handed, Variables
from bcjit.meta import ArrayMeta, Meta, UnboundMeta

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["Handed", "Places", "Size", "Value"]

Value: TypeAlias = "Node | tuple[Node, int]"
Size: TypeAlias = "tuple[Value, int]"  # an axis of an array

# Deeper nesting helps nothing, and the parser takes at most 200 brackets (CPython Parser/tokenizer.h, MAXLEVEL).
_DEEPEST: Final = 20


class Places:
    """Decides for one graph with its bodies.

    Attributes
    ----------
    nested
        Nodes written inside the expression of their only user.
    kept
        Nodes that must be variables: bail-out records need them.
    kept_to_the_end
        Those that must be up to the end of their graph.
    """

    def __init__(
        self,
        graph: Graph,
        kept: Collection[Node] | None,
        forced: Node | None,
        separate: Collection[Node] = (),
    ) -> None:
        self.graph = graph
        self.forced = forced
        self.separate = frozenset(separate)  # never nested
        self.around: dict[Graph, tuple[Node, Graph]] = {}
        self.where: dict[Node, tuple[Graph, int]] = {}
        self._place_of_input: dict[Node, int] = {}
        self.sources: set[Node] = set()
        keep: set[Node] = set()
        for one in graph.nested():
            self.sources |= one.symbol_sources()
            keep |= one.keep
            for index, node in enumerate(one.inputs):
                self._place_of_input[node] = index
            for index, node in enumerate(one.nodes):
                self.where[node] = (one, index)
                for body in node.bodies:
                    self.around[body] = (node, one)
        self.kept = frozenset(keep if kept is None else kept)
        self.kept_to_the_end = self.kept
        self._kept_for: dict[Node, list[Node]] = {}
        self._meanings: dict[Node, Value | Handed] = {}
        self._statuses: dict[Node, frozenset[int | None]] = {}
        self._read_items = self._find_read_items()
        # What a loop gives its turns by iterating over an array: ``for v in x`` for ``for i in range(len(x)): v = x[i]``.
        self.iterated: dict[Node, Node] = {}
        self.nested: set[Node] = set()
        if forced is None:
            self.iterated = dict(_iterations(graph, self.kept))
            self._nest(graph, visible=False)
        if kept is None:
            self._find_ends()
        self.last: dict[Graph, dict[Value, int]] = {}
        self.inside: dict[Node, set[Value]] = {}
        self._scan(graph)
        self.variables = Variables(self)

    # What an operand stands for

    def meaning(self, node: Node) -> Value | Handed:
        """Return the value whose variable a node is, or what stands for it."""
        found = self._meanings.get(node)
        if found is None:
            found = self._meanings[node] = self._meaning(node)
        return found

    def _meaning(self, node: Node) -> Value | Handed:
        graph, _ = self.where[node]
        if node.kind is NodeKind.CONST:
            return Handed(node, graph)
        if node.kind is NodeKind.INPUT and graph in self.around:
            around, outer = self.around[graph]
            index = self._place_of_input[node] - len(self.own_inputs(around))
            if index < 0:
                return node
            operand = cast("tuple[Operand, ...]", around.args[-1])[index]
            if isinstance(operand, Node):
                return self.meaning(operand)
            if around.kind is NodeKind.LOOP and not _is_simple(operand):
                return node  # computed once, not in each turn
            return Handed(operand, outer)
        item = item_of(node)
        return node if item is None else self._result(item)

    def _result(self, item: tuple[Node, int]) -> Value | Handed:
        around, index = item
        if around.kind is NodeKind.LOOP:
            if index:
                return item
            statuses = self.statuses(around)
            status = next(iter(statuses)) if len(statuses) == 1 else None
            return item if status is None else Handed(status, self.where[around][0])
        one, other = (
            self.meaning(operand) if isinstance(operand, Node) else None
            for operand in (body.outputs[index] for body in around.bodies)
        )
        if one is None or isinstance(one, Handed) or one != other:
            return item
        return (
            item if self.home(one) in around.bodies else one
        )  # both sides give what was there before

    def own_inputs(self, node: Node) -> tuple[Node, ...]:
        """Return the inputs of a loop's body that have variables of their own: the index, and what is carried."""
        if node.kind is not NodeKind.LOOP:
            return ()
        over, carried, _ = cast("LoopArgs", node.args)
        return node.bodies[0].inputs[: len(carried) + (over is not None)]

    def carried_inputs(self, node: Node) -> tuple[Node, ...]:
        """Return the inputs of a loop's body for what is carried."""
        return self.own_inputs(node)[node.args[0] is not None :]

    def computed_inputs(self, node: Node) -> list[tuple[Node, Operand]]:
        """Return the inputs of a loop's body that are computed once, in front of it, each with its operand."""
        inputs = node.bodies[0].inputs[len(self.own_inputs(node)) :]
        free = cast("tuple[Operand, ...]", node.args[-1])
        return [
            (one, operand)
            for one, operand in zip(inputs, free, strict=True)
            if self.meaning(one) is one and self.binds(one)
        ]

    def home(self, value: Value) -> Graph:
        """Return the graph in which a value comes to be."""
        return self.where[value if isinstance(value, Node) else value[0]][0]

    def chain(self, graph: Graph) -> Iterator[Graph]:
        """Yield a graph and those around it."""
        yield graph
        while graph in self.around:
            _, graph = self.around[graph]
            yield graph

    def values_of(self, operand: Operand, graph: Graph) -> set[Value]:
        """Return the values that are read where an operand is written."""
        found: set[Value] = set()
        for leaf in leaves(operand):
            if isinstance(leaf, Node):
                found |= self._values_of_node(leaf)
            elif isinstance(leaf, Expr):
                for symbol in leaf.symbols():
                    found |= self._values_of_node(graph.symbols[symbol][0])
        return found

    def _values_of_node(self, node: Node) -> set[Value]:
        meaning = self.meaning(node)
        if isinstance(meaning, Handed):
            if meaning.operand is node:
                return set()  # a constant
            return self.values_of(meaning.operand, meaning.graph)
        if isinstance(meaning, Node) and meaning in self.nested:
            return self.values_of(meaning.operands, self.where[meaning][0])
        return {meaning}

    # Loops

    def is_read(self, value: tuple[Node, int]) -> bool:
        """Whether a result of a loop or branch is used."""
        return value in self._read_items

    def has_variable(self, value: tuple[Node, int]) -> bool:
        """Whether a result of a loop or branch is written anywhere: what is carried always is."""
        if value[0].kind is NodeKind.LOOP and value[1]:
            return True
        return self.is_read(value) and self._result(value) == value

    def _find_read_items(self) -> set[tuple[Node, int]]:
        found: set[tuple[Node, int]] = set()
        for node, (graph, _) in self.where.items():  # outer graphs first
            item = item_of(node)
            if item is None:
                continue
            around = self.around.get(graph)
            if around is not None and around[0].kind is NodeKind.COND:
                output = graph.nodes[-1]
                used = set(node.users) != {output} or any(
                    (around[0], k) in found and node in set(nodes_in(operand))
                    for k, operand in enumerate(output.args)
                )
            else:
                used = True
            if (node.users and used) or node in self.kept or node in self.sources:
                found.add(item)
        return found

    def tail(self, graph: Graph) -> Node | None:
        """Return the branch with which a body ends: its results are outputs, and nothing comes behind it."""
        *_, output = graph.nodes
        last = next(
            (node for node in reversed(graph.nodes[:-1]) if item_of(node) is None), None
        )  # fmt: skip
        if last is None or last.kind is not NodeKind.COND:
            return None
        given = Counter(leaf for leaf in output.args if isinstance(leaf, Node))
        for user in last.users:
            item = item_of(user)
            special = user in self.kept or user in self.sources or user is self.forced
            if item is None or special or set(user.users) - {output}:
                return None
            if user.users and given[user] != sum(used is user for used in output.uses()):
                return None
        indices = [item_of(leaf) for leaf in given.elements() if item_of(leaf) is not None]
        ours = [item for item in indices if item is not None and item[0] is last]
        return last if len(ours) == len(set(ours)) else None

    def side_outputs(self, tail: Node, side: Graph, outputs: list[Ending]) -> list[Ending]:
        """Return the outputs of a body on one side of the branch that it ends with."""

        def at(ending: Ending) -> Ending:
            operand, _ = ending
            item = item_of(operand) if isinstance(operand, Node) else None
            if item is None or item[0] is not tail:
                return ending
            return side.outputs[item[1]], side

        return [at(ending) for ending in outputs]

    def constant_status(self, operand: Operand) -> int | None:
        """Return a status that is known, None for one that is computed."""
        if isinstance(operand, Node):
            meaning = self.meaning(operand)
            operand = meaning.operand if isinstance(meaning, Handed) else None
        return operand if type(operand) is int else None

    def statuses(self, loop: Node) -> frozenset[int | None]:
        """Return the statuses that a loop can end with; None stands for one that is computed."""
        found = self._statuses.get(loop)
        if found is None:
            body = loop.bodies[0]
            given = set(self._ways([(body.outputs[0], body)], body))
            given.discard(0)
            if loop.args[0] is not None or not given:
                given.add(0)
            found = self._statuses[loop] = frozenset(given)
        return found

    def _ways(self, outputs: list[Ending], graph: Graph) -> Iterator[int | None]:
        tail = self.tail(graph)
        if tail is None:
            yield self.constant_status(outputs[0][0])
            return
        for side in tail.bodies:
            yield from self._ways(self.side_outputs(tail, side, outputs), side)

    # Nesting

    def _nest(self, graph: Graph, *, visible: bool) -> bool:
        """Find the nodes that may stand inside the expression of their user; return whether a visible effect came.

        The value is used once, and no effect lies between it and its use: running it later, just before its use, changes nothing but which of
        several failures comes first, and after any of them the part goes on from the same place: its start, or the last effect. So behind a visible
        effect, or where one comes in another turn, only calls without effects take others in. Nothing is moved over a loop, which may not end.
        """
        counts = Counter(used for node in graph.nodes for used in node.uses())
        variables = self.kept | self.separate | graph.symbol_sources()
        depth: dict[Node, int] = {}
        stretch: set[Node] = set()  # calls since the last effect
        items = set(self.iterated.values())
        for node in graph.nodes:
            before = visible
            for body in node.bodies:
                again = node.kind is NodeKind.LOOP and _is_visible(node)
                visible |= self._nest(body, visible=before or again)
            visible |= node.visible
            if node in items or node.kind in (NodeKind.INPUT, NodeKind.CONST):
                continue
            if item_of(node) is not None:
                continue
            if (before or visible) and (node.has_effect or node.kind is not NodeKind.CALL):
                stretch.clear()  # nothing is nested into a visible effect: its failure must be told from its operands'
                continue
            inner = [
                used
                for used in nodes_in(self._single_operands(node, graph))
                if used in stretch and counts[used] == 1 and used not in variables
            ]
            inner = [used for used in inner if depth[used] < _DEEPEST]
            inner = _as_temporary(node, inner)
            self.nested.update(inner)
            depth[node] = 1 + max((depth[used] for used in inner), default=0)
            if node.has_effect or node.bodies:
                stretch.clear()
            else:
                stretch.add(node)
        return visible

    def _single_operands(self, node: Node, graph: Graph) -> tuple[Operand, ...]:
        """Return the operands of a node that are written once, and run once."""
        if node.bodies:
            return node.args[:-1]
        if node.kind is NodeKind.OUTPUT and graph in self.around:
            around, _ = self.around[graph]
            if around.kind is NodeKind.COND:
                return tuple(
                    operand for k, operand in enumerate(node.args) if self.is_read((around, k))
                )
        return node.operands

    # Reads

    def _find_ends(self) -> None:
        """Tell the kept nodes that some nodes need, if they fail, from those that are needed to the end."""
        ending: set[Node] = set()
        for graph in self.graph.nested():
            for node, failing in graph.keep_for.items():
                if node in self.kept and not failing & self.nested:
                    ending.add(node)
                    for one in failing:
                        self._kept_for.setdefault(one, []).append(node)
        self.kept_to_the_end -= ending

    def _scan(self, graph: Graph) -> set[Value]:
        """Note at which of its nodes a graph reads a value last; return all that it reads."""
        last = self.last[graph] = {}
        for index, node in enumerate(graph.nodes):
            if node in self.nested or item_of(node) is not None:
                continue
            found: set[Value] = set()
            for operand in self._single_operands(node, graph):
                found |= self.values_of(operand, graph)
            if node.kind is NodeKind.LOOP:
                over, _, free = cast("LoopArgs", node.args)
                found |= self.values_of(free, graph)
                self.inside[node] = self.values_of(over, graph) | self._scan(node.bodies[0])
                found |= self.inside[node]
            else:
                for body in node.bodies:
                    found |= self._scan(body)
            for needed in self._kept_for.get(node, ()):
                found |= self._values_of_node(needed)
            last.update(dict.fromkeys(found, index))
        for node in self.kept_to_the_end:
            meaning = self.meaning(node) if self.where.get(node, (None,))[0] is graph else None
            if meaning is not None and not isinstance(meaning, Handed):
                last[meaning] = len(graph.nodes)
        return set(last)

    def is_live_after(self, value: Value, graph: Graph, index: int) -> bool:
        """Whether a value may be read behind a node of a graph, in another turn too."""
        while True:
            if self.last[graph].get(value, -1) > index:
                return True
            if graph is self.home(value):
                return False
            around, graph = self.around[graph]
            if around.kind is NodeKind.LOOP and value in self.inside[around]:
                return True
            index = self.where[around][1]

    # Variables

    def binds(self, node: Node) -> bool:
        """Whether a call's value is given a variable."""
        return node.has_value and bool(
            node.users or node in self.kept or node in self.sources
        )  # fmt: skip

    def name(self, value: Value) -> str:
        """Return the variable of a value."""
        return self.variables.name(value)


Ending: TypeAlias = "tuple[Operand, Graph]"
LoopArgs: TypeAlias = (
    "tuple[tuple[Operand, Operand, Operand] | None, tuple[Operand, ...], tuple[Operand, ...]]"
)


def _as_temporary(node: Node, inner: list[Node]) -> list[Node]:
    """Leave only what may be a temporary of NumPy's: see ``elision``. The left operand, if it was one and cannot be, takes the right one with it."""
    if node.temporaries is None:
        return inner
    (left, right), (is_left, is_right) = node.args, node.temporaries
    if not is_left:
        inner = [used for used in inner if used is not left]
    if not is_right or (is_left and left not in inner):
        inner = [used for used in inner if used is not right]
    return inner


def _iterations(graph: Graph, kept: frozenset[Node]) -> Iterator[tuple[Node, Node]]:
    """Yield the loops over the length of an array whose turns do nothing with the index but read the item, and that reading."""
    for one in graph.nested():
        for loop in one.nodes:
            if loop.kind is NodeKind.LOOP and loop.args[0] is not None:
                item = _item_in_turn(loop, kept)
                if item is not None:
                    yield loop, item


def _item_in_turn(loop: Node, kept: frozenset[Node]) -> Node | None:
    over, carried, free = cast("LoopArgs", loop.args)
    (body,) = loop.bodies
    index = body.inputs[0]
    first = next(node for node in body.nodes if node.kind is not NodeKind.INPUT)
    assert over is not None
    start, stop, step = over
    if index in kept or (start, step) != (0, 1) or first.target is not operator.getitem:
        return None
    counted = {symbol for symbol, place in body.symbols.items() if place == (index, None)}
    array = first.args[0]
    place = body.inputs.index(array) - 1 - len(carried) if array in body.inputs else -1
    over_it = isinstance(first.args[1], Expr) and any(first.args[1] == s.expr for s in counted)
    if place < 0 or not over_it or not isinstance(free[place], Node):
        return None
    meta = body.inputs[1 + len(carried) + place].meta[0]
    whole = isinstance(meta, ArrayMeta) and bool(meta.shape) and meta.shape[0] == stop
    others = [node for node in body.nodes if node is not first]
    read = any(
        index in node.uses() or any(counted & expr.symbols() for expr in exprs_in(node.operands))
        for node in others
    )
    return first if whole and not read else None


def _is_visible(node: Node) -> bool:
    """Whether a loop or branch has an effect that others see, or anything in it has."""
    return node.visible or any(
        inner.visible for body in node.bodies for graph in body.nested() for inner in graph.nodes
    )


def _is_simple(operand: Operand) -> bool:
    """Whether an operand is a constant, or a symbol alone."""
    if isinstance(operand, Expr):
        symbol, *others = operand.symbols()
        return not others and operand == symbol.expr
    return type(operand) not in (tuple, list, dict) and not isinstance(operand, slice)


def is_big(meta: Meta) -> bool:
    """Whether a value is worth deleting."""
    meta = meta.kind if isinstance(meta, UnboundMeta) else meta
    return isinstance(meta, ArrayMeta) and not meta.is_scalar
