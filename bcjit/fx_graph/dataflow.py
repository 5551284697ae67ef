"""Loops and branches as the control primitives of a dataflow graph, for study; no backend runs this form.

The primitives Switch, Merge, Enter, Exit and NextIteration are those of TensorFlow 1: Abadi et al. 2016, "TensorFlow: A System for
Large-Scale Machine Learning", OSDI; Yu et al. 2018, "Dynamic Control Flow in Large-Scale Machine Learning", EuroSys.
"""

from __future__ import annotations

import operator
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from bcjit.dims import Expr
from bcjit.errors import InternalError
from bcjit.fx_graph.dependencies import reads
from bcjit.fx_graph.node import Node, NodeKind, Operand, item_of, leaves, map_operand
from bcjit.fx_graph.printer import operand_text, target_name
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["Dataflow", "DataflowNode", "Port", "to_dataflow"]

# The turns that a token is in, from the outermost loop: (frame, number of the turn).
Tag: TypeAlias = "tuple[tuple[str, int], ...]"
_DEAD: Final = object()


@dataclass(slots=True, eq=False, repr=False)
class DataflowNode:
    """An operation; ``kind`` is one of the primitives, ``Call``, ``Const``, ``Input`` or ``LoopCond``."""

    kind: str
    name: str
    inputs: tuple[Port, ...] = ()
    after: tuple[Port, ...] = ()  # control edges: waited for, not passed on
    function: Callable[..., object] | None = None
    args: Operand = ()  # with ports in the place of values
    kwargs: Operand = None
    frame: str = ""  # ENTER and EXIT: the loop
    invariant: bool = False  # ENTER: the value is that of all turns


@dataclass(slots=True, frozen=True)
class Port:
    """A result of a node; a Switch has two, 1 where the predicate is true."""

    node: DataflowNode
    side: int = 0

    def __repr__(self) -> str:
        return self.node.name + (
            f":{('false', 'true')[self.side]}" if self.node.kind == "Switch" else ""
        )


def _text(operand: Operand) -> str:
    if isinstance(operand, Port):
        return repr(operand)
    if type(operand) is tuple:
        inner = ", ".join(map(_text, operand))
        return f"({inner},)" if len(operand) == 1 else f"({inner})"
    return operand_text(operand)


@dataclass(slots=True, eq=False, repr=False)
class Dataflow:
    """A graph of `DataflowNode`; call it with the inputs to evaluate it.

    A node runs once in each turn, when all that it waits for is there; it is dead where something of that is. A Merge takes the
    first live token.
    """

    nodes: list[DataflowNode] = field(default_factory=list)
    outputs: tuple[Operand, ...] = ()

    def text(self) -> str:
        """Return one line a node; control edges stand behind ``after``."""
        return "\n".join([*map(_line, self.nodes), f"return {_text(self.outputs)}"])

    def counts(self) -> Counter[str]:
        """Return how many nodes there are of each kind."""
        return Counter(node.kind for node in self.nodes)

    def __call__(self, *inputs: object) -> tuple[object, ...]:
        """Return the outputs for these inputs."""
        return _Run(self).run(inputs)


def _line(node: DataflowNode) -> str:
    if node.kind == "Call":
        given = [_text(one) for one in cast("tuple[Operand, ...]", node.args)]
        pairs = cast("dict[str, Operand]", node.kwargs or {})
        given.extend(f"{key}={_text(value)}" for key, value in pairs.items())
        head = target_name(node.function)
    else:
        head = node.kind
        given = [_text(node.args)] if node.kind == "Const" else [repr(one) for one in node.inputs]
    if node.frame:
        given.append(f"frame={node.frame}")
    if node.invariant:
        given.append("invariant")
    after = f"  after {', '.join(map(repr, node.after))}" if node.after else ""
    return f"{node.name} = {head}({', '.join(given)}){after}"


class _Run:
    """One evaluation: tokens on their way, and what has arrived."""

    def __init__(self, flow: Dataflow) -> None:
        self.flow = flow
        self.waiting: dict[Port, list[DataflowNode]] = {}
        for node in flow.nodes:
            for port in dict.fromkeys((*node.inputs, *node.after)):
                self.waiting.setdefault(port, []).append(node)
        self.arrived: dict[tuple[DataflowNode, Tag], dict[Port, object]] = {}
        self.fired: set[tuple[DataflowNode, Tag]] = set()
        self.turns: dict[Tag, int] = {}  # how many turns of a frame have begun
        self.invariants: dict[Tag, list[tuple[Port, object]]] = {}
        self.values: dict[Port, object] = {}
        self.queue: deque[tuple[Port, Tag, object]] = deque()

    def run(self, inputs: tuple[object, ...]) -> tuple[object, ...]:
        sources = [node for node in self.flow.nodes if node.kind == "Input"]
        if len(inputs) != len(sources) - 1:
            raise InternalError(f"{len(sources) - 1} inputs are expected, got {len(inputs)}")
        for node, value in zip(sources, (None, *inputs), strict=True):
            self.queue.append((Port(node), (), value))
        while self.queue:
            port, tag, value = self.queue.popleft()
            if not tag:
                self.values[port] = value
            for node in self.waiting.get(port, ()):
                self.arrive(node, port, tag, value)
        return tuple(_filled(one, self.values) for one in self.flow.outputs)

    def arrive(self, node: DataflowNode, port: Port, tag: Tag, value: object) -> None:
        if (node, tag) in self.fired:
            return
        here = self.arrived.setdefault((node, tag), {})
        here[port] = value
        complete = len(here) == len({*node.inputs, *node.after})
        if not complete and not (node.kind == "Merge" and value is not _DEAD):
            return
        self.fired.add((node, tag))
        del self.arrived[node, tag]
        self.fire(node, tag, here)

    def fire(self, node: DataflowNode, tag: Tag, here: dict[Port, object]) -> None:
        dead = any(value is _DEAD for value in here.values())
        out = Port(node)
        if node.kind == "Merge":
            live = [value for value in here.values() if value is not _DEAD]
            self.queue.append((out, tag, live[0] if live else _DEAD))
        elif node.kind == "Switch":
            taken = -1 if dead else int(bool(here[node.inputs[1]]))
            for side in (0, 1):
                value = here[node.inputs[0]] if side == taken else _DEAD
                self.queue.append((Port(node, side), tag, value))
        elif node.kind == "Enter":
            self.enter(node, tag, _DEAD if dead else here[node.inputs[0]])
        elif node.kind in ("Exit", "NextIteration"):
            if dead:  # another turn follows, or none
                return
            last, number = tag[:-1], tag[-1][1]
            if node.kind == "NextIteration":
                self.begin(last, tag[-1][0], number + 1)
                last = (*last, (tag[-1][0], number + 1))
            self.queue.append((out, last, here[node.inputs[0]]))
        else:
            self.queue.append((out, tag, _DEAD if dead else _computed(node, here)))

    def enter(self, node: DataflowNode, tag: Tag, value: object) -> None:
        if value is _DEAD:  # the loop is on a side not taken: so is what it gives
            for other in self.flow.nodes:
                if (
                    other.kind == "Exit"
                    and other.frame == node.frame
                    and (other, tag) not in self.fired
                ):
                    self.fired.add((other, tag))
                    self.queue.append((Port(other), tag, _DEAD))
            return
        self.begin(tag, node.frame, 0)
        frame = (*tag, (node.frame, -1))
        turns = 1
        if node.invariant:
            self.invariants.setdefault(frame, []).append((Port(node), value))
            turns = self.turns[frame]
        for number in range(turns):
            self.queue.append((Port(node), (*tag, (node.frame, number)), value))

    def begin(self, outer: Tag, frame: str, number: int) -> None:
        """Hand what is invariant to a turn, at the first token of the turn."""
        key = (*outer, (frame, -1))
        if number < self.turns.get(key, 0):
            return
        self.turns[key] = number + 1
        for port, value in self.invariants.get(key, ()):
            self.queue.append((port, (*outer, (frame, number)), value))


def _filled(operand: Operand, values: dict[Port, object]) -> object:
    def one(leaf: Operand) -> object:
        return values[leaf] if isinstance(leaf, Port) else leaf

    return map_operand(operand, one)


def _computed(node: DataflowNode, here: dict[Port, object]) -> object:
    args = _filled(node.args, here)
    if node.function is None:
        return args
    kwargs = cast("dict[str, object]", _filled(node.kwargs or {}, here))
    return node.function(*cast("tuple[object, ...]", args), **kwargs)


def _ports(operand: Operand) -> Iterator[Port]:
    return (leaf for leaf in leaves(operand) if isinstance(leaf, Port))


def _more(status: int, *over: int) -> bool:
    """Whether a loop takes another turn."""
    return status == 0 and (not over or bool(range(*over)))


class _Lowering:
    """What has been lowered, and where the next node belongs."""

    def __init__(self, ordered: bool) -> None:
        self.flow = Dataflow()
        self.names: Counter[str] = Counter()
        self.ordered = ordered
        # The last node of the chain of effects, and what is live only where this place is reached.
        self.last = self.pivot = self.add("Input", "start")

    def add(self, kind: str, name: str, *inputs: Port, **more: object) -> Port:
        base = name
        while self.names[name]:
            self.names[base] += 1
            name = f"{base}_{self.names[base]}"
        self.names[name] += 1
        node = DataflowNode(kind, name, inputs, **more)  # type: ignore[arg-type]  # fields
        # Constants of a loop are there in its last, empty turn too: nothing may run by them alone.
        if kind not in ("Input", "Merge") and all(
            one.node.kind == "Enter" for one in (*inputs, *node.after)
        ):
            node.after = (*node.after, self.pivot)
        self.flow.nodes.append(node)
        return Port(node)

    def call(
        self, name: str, function: Callable[..., object] | None, args: Operand,
        kwargs: Operand = None, *, chained: bool = False,
    ) -> Port:  # fmt: skip
        ports = dict.fromkeys((*_ports(args), *_ports(kwargs)))
        chained = chained and self.ordered
        made = self.add(
            "Const" if function is None else "Call", name, *ports, function=function, args=args,
            kwargs=kwargs, after=(self.last,) if chained else (),
        )  # fmt: skip
        if chained:
            self.last = made
        return made

    def port(self, operand: Operand) -> Port:
        return operand if isinstance(operand, Port) else self.call("const", None, operand)

    def graph(self, graph: Graph, inputs: tuple[Port, ...]) -> tuple[Operand, ...]:
        values: dict[Node, Operand] = dict(zip(graph.inputs, inputs, strict=True))

        def size(expr: Expr) -> Port:
            symbols = list(expr.symbols())
            where = [graph.symbols[symbol] for symbol in symbols]

            def evaluate(*sources: object) -> int:
                return expr.evaluate({
                    symbol: source if axis is None else source.shape[axis]  # type: ignore[attr-defined,misc]  # an array: it has axes
                    for symbol, source, (_, axis) in zip(symbols, sources, where, strict=True)
                })  # fmt: skip

            evaluate.__qualname__, evaluate.__module__ = f"size[{expr}]", "builtins"
            return self.call("size", evaluate, tuple(values[node] for node, _ in where))

        def leaf(one: Operand) -> Operand:
            if isinstance(one, Node):
                return values[one]
            return size(one) if isinstance(one, Expr) else one

        for node in graph.nodes:
            if node.kind is NodeKind.INPUT:
                continue
            args = cast("tuple[Operand, ...]", map_operand(node.args, leaf))
            item = item_of(node)
            if node.kind is NodeKind.OUTPUT:
                return args
            if node.kind is NodeKind.CONST:
                values[node] = self.call(node.name, None, node.target)
            elif item is not None:
                values[node] = cast("tuple[Operand, ...]", values[item[0]])[item[1]]
            elif node.kind is NodeKind.COND:
                values[node] = self.cond(node, args)
            elif node.kind is NodeKind.LOOP:
                values[node] = self.loop(node, args)
            else:
                values[node] = self.call(
                    node.name, cast("Callable[..., object]", node.target), args,
                    map_operand(node.kwargs, leaf),
                    chained=node.has_effect or node.can_fail or any(reads(node)),
                )  # fmt: skip
        raise InternalError("the graph has no output")

    def cond(self, node: Node, args: tuple[Operand, ...]) -> tuple[Port, ...]:
        test = self.call(f"{node.name}_test", bool, args[:1], chained=True)
        free = [self.port(one) for one in cast("tuple[Operand, ...]", args[1])]
        split = [self.add("Switch", "switch", one, test) for one in (test, self.last, *free)]
        outer, given = self.pivot, []
        for side, body in ((1, node.bodies[0]), (0, node.bodies[1])):
            self.pivot, self.last, *own = (Port(one.node, side) for one in split)
            results = self.graph(body, tuple(own))
            given.append([*map(self.port, results), self.last])
        self.pivot = outer
        *merged, self.last = (
            self.add("Merge", "merge", *pair) for pair in zip(*given, strict=True)
        )
        return tuple(merged)

    def loop(self, node: Node, args: tuple[Operand, ...]) -> tuple[Port, ...]:
        over, carried, free = cast("tuple[tuple[Operand, ...] | None, tuple[Operand, ...], tuple[Operand, ...]]", args)  # fmt: skip
        frame, outer = node.name, self.pivot

        def enter(operand: Operand, invariant: bool) -> Port:
            one = self.port(operand)
            return self.add("Enter", "enter", one, frame=frame, invariant=invariant)

        limits = [enter(one, True) for one in (over or ())[1:]]
        held = [enter(one, True) for one in free]
        first = [enter(one, False) for one in (0, self.last, *(over or ())[:1], *carried)]
        merges = [self.add("Merge", "merge", one) for one in first]
        ports = (merges[0], *([merges[2], *limits] if over else []))
        more = self.add("LoopCond", f"{frame}_more", *ports, function=_more, args=ports)
        split = [self.add("Switch", "switch", one, more) for one in merges]
        self.pivot, self.last, *own = (Port(one.node, 1) for one in split)
        status, *following = self.graph(node.bodies[0], (*own, *held))
        index = [self.call("next", operator.add, (own[0], limits[1]))] if over else []
        for merge, one in zip(merges, (status, self.last, *index, *following), strict=True):
            back = self.add("NextIteration", "next_iteration", self.port(one))
            merge.node.inputs = (*merge.node.inputs, back)
        self.pivot = outer
        exits = [self.add("Exit", "exit", Port(one.node, 0), frame=frame) for one in split]
        self.last = exits[1]
        return (exits[0], *exits[3 if over else 2 :])


def to_dataflow(graph: Graph) -> Dataflow:
    """Lower loops and branches to Switch, Merge, Enter, Exit and NextIteration.

    Where a graph has effects, control edges keep its writes, draws, reads of memory and what may fail in program order.

    Returns
    -------
    Dataflow
        Called with the inputs, it gives what the graph gives.

    Examples
    --------
    >>> import operator
    >>> from bcjit.fx_graph import Graph
    >>> from bcjit.meta import ScalarMeta
    >>> graph = Graph()
    >>> n = graph.input("n", ScalarMeta(int))
    >>> body = graph.subgraph()
    >>> i, s = body.input("i", ScalarMeta(int)), body.input("s", ScalarMeta(int))
    >>> _ = body.output((0, body.call(operator.add, (s, i), meta=ScalarMeta(int))))
    >>> loop = graph.loop((0, n, 1), (0,), (), body, metas=(ScalarMeta(int),))
    >>> _ = graph.output((graph.call(operator.getitem, (loop, 1), meta=ScalarMeta(int)),))
    >>> flow = graph.to_dataflow()
    >>> flow(5)
    (10,)
    >>> flow.counts()["Exit"]
    4
    """
    ordered = any(node.has_effect for one in graph.nested() for node in one.nodes)
    lowering = _Lowering(ordered)
    inputs = tuple(lowering.add("Input", node.name) for node in graph.inputs)
    lowering.flow.outputs = lowering.graph(graph, inputs)
    return lowering.flow
