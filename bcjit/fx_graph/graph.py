"""The captured graph: ordered nodes that can be appended, edited and undone; it must not know what any call means.

``Graph`` is append-mostly: capture appends, and `Graph.mark` with `Graph.truncate` undo in time proportional to what
is removed. Passes insert, replace and erase; that makes marks taken before invalid. Checking, printing and code
generation are functions of sibling modules; the methods here are short names for them.

The bodies of loops and branches are graphs of their own (``docs/design/0015-loops-and-branches.md``), made by `Graph.subgraph`: they
know nothing of the graph around them but share its names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bcjit.errors import InternalError, SourceLine
from bcjit.fx_graph.codegen import to_callable, to_source
from bcjit.fx_graph.dependencies import maker
from bcjit.fx_graph.names import Names
from bcjit.fx_graph.node import (
    Alias,
    Node,
    NodeKind,
    Operand,
    exprs_in,
    item_of,
    map_operand,
)
from bcjit.fx_graph.places import is_big
from bcjit.fx_graph.printer import target_name, to_text
from bcjit.lazy import Later
from bcjit.meta import ScalarMeta
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.dims import Dim, Symbol
    from bcjit.fx_graph import dataflow, dot, lint
    from bcjit.fx_graph.buffers import Planner
    from bcjit.fx_graph.codegen import GraphFunction
    from bcjit.fx_graph.dataflow import Dataflow
    from bcjit.meta import Meta
else:
    # Few programs ask for them.
    dataflow, dot, lint = (Later(f"bcjit.fx_graph.{name}") for name in ("dataflow", "dot", "lint"))

__all__ = ["Graph", "Mark", "set_drawing"]

# What draws a graph for notebooks, which is above this module.
_drawing: Final[list[Callable[[Graph], str]]] = []


def set_drawing(draw: Callable[[Graph], str]) -> None:
    """Say what draws a graph for notebooks, as an element of HTML."""
    _drawing[:] = [draw]


def _hand_over(node: Node) -> None:
    """Note that what a loop or branch is handed may be among the arrays that it gives back; so is one of several that an index chooses."""
    chooses = bool(node.bodies) or (node.alias == "maybe" and node.view_of is None)
    if chooses and any(map(is_big, node.meta)):
        for used in node.uses():
            root = maker(used)
            root.escapes = True


@dataclass(frozen=True, slots=True)
class Mark:
    """A point to which a graph can be undone; opaque to everyone but `Graph.truncate`."""

    nodes: int
    names: int
    symbols: int
    effects: int
    edits: int


class Graph:
    """Nodes in the order in which they run.

    Attributes
    ----------
    nodes
        Inputs, constants, calls and at last one output, in order. Read it; change it by the methods.
    symbols
        Where each symbol is read at run time: an axis of an array node, or (axis None) the value of a Python int node;
        mostly inputs.
    keep
        Nodes whose values bail-out records need: generated code has them in variables and lets them live to its end.
    equal
        Symbols of which guards make sure, before the graph runs, that they equal something simpler.

    Examples
    --------
    >>> import numpy as np
    >>> from bcjit.meta import ArrayMeta
    >>> vector = ArrayMeta((3,), np.dtype(float))
    >>> graph = Graph()
    >>> x = graph.input("x", vector)
    >>> y = graph.call(np.add, (x, 1.0), meta=vector, can_fail=False)
    >>> _ = graph.output((y,))
    >>> print(graph.text())
    graph(x: float64[3]):
      add = numpy.add(x, 1.0)  float64[3]
      return (add,)
    >>> graph.to_callable()(np.zeros(3))
    (array([1., 1., 1.]),)
    """

    __slots__ = (
        "__weakref__",
        "_edits",
        "_effects",
        "_names",
        "equal",
        "keep",
        "keep_for",
        "nodes",
        "symbols",
    )

    nodes: list[Node]
    symbols: dict[Symbol, tuple[Node, int | None]]
    keep: set[Node]
    keep_for: dict[Node, set[Node]]
    equal: Mapping[Symbol, Dim]

    def __init__(self) -> None:
        self.nodes = []
        self.symbols = {}
        self.keep = set()
        self.keep_for = {}
        self.equal = {}
        self._names = Names()
        self._effects = 0
        self._edits = 0

    def subgraph(self) -> Graph:
        """Return an empty graph for a body, whose names are none of this graph's nor of its other bodies.

        The names given out are logged once for all graphs that share them. So marks are undone in reverse order of all that was
        appended to any of these graphs: truncate a body before the graph around it, and take a mark of the outer graph before a body is begun to
        undo both.
        """
        made = Graph()
        made._names = self._names
        return made

    # Building

    def input(self, name: str, meta: Meta, *, line: SourceLine | None = None) -> Node:
        """Append an input; inputs may come between calls, their order is the order of the arguments."""
        return self._place(
            Node(NodeKind.INPUT, self._names.new(name), meta=(meta,), can_fail=False, line=line)
        )

    def const(
        self,
        value: object,
        meta: Meta,
        *,
        name: str = "const",
        line: SourceLine | None = None,
        before: Node | None = None,
    ) -> Node:
        """Append (or insert before a node) the object `value` itself, kept alive by the graph."""
        node = Node(
            NodeKind.CONST, self._names.new(name), value, meta=(meta,), can_fail=False, line=line
        )
        return self._place(node, before)

    def call(
        self,
        target: Callable[..., object],
        args: tuple[Operand, ...] = (),
        kwargs: Mapping[str, Operand] | None = None,
        *,
        meta: Meta | tuple[Meta, ...] | None,
        multi: bool | None = None,
        view_of: Node | None = None,
        alias: Alias = "fresh",
        writes: tuple[Node, ...] = (),
        draws: bool = False,
        can_fail: bool = True,
        op: object | None = None,
        line: SourceLine | None = None,
        name: str | None = None,
        before: Node | None = None,
    ) -> Node:
        """Append (or insert before a node) the call ``target(*args, **kwargs)``.

        Parameters
        ----------
        meta
            Of the result; a tuple when the result is a tuple of results; None when the result is None.
        multi
            Whether the result is a tuple of results, where the type of `meta` does not say it: ``meta=(m,), multi=False``
            is a single result.
        view_of, alias
            The operand whose memory the result shares, and how.
        writes
            Operands whose memory the call writes; that others see it is assumed (see `Node.visible`).
        draws
            Whether it advances a random stream, or makes one; that others see it is assumed (see `Node.visible`).
        can_fail
            Whether it may raise or warn.
        name
            Base of the node's name; the target's own name by default.
        """
        node = Node(
            NodeKind.CALL,
            self._names.new(name or target_name(target).rpartition(".")[2]),
            target,
            tuple(args),
            dict(kwargs or {}),
            meta=meta if isinstance(meta, tuple) else () if meta is None else (meta,),
            multi=isinstance(meta, tuple) if multi is None else multi,
            view_of=view_of,
            alias=alias,
            writes=tuple(writes),
            draws=draws,
            visible=bool(writes) or draws,
            can_fail=can_fail,
            op=op,
            line=line,
        )
        return self._place(node, before)

    def loop(
        self,
        over: tuple[Operand, Operand, Operand] | None,
        carried: tuple[Operand, ...],
        free: tuple[Operand, ...],
        body: Graph,
        *,
        metas: tuple[Meta, ...],
        writes: tuple[Node, ...] = (),
        draws: bool = False,
        line: SourceLine | None = None,
        name: str = "loop",
        before: Node | None = None,
    ) -> Node:
        """Append (or insert before a node) a loop; its results ``(status, *carried)`` are read by `operator.getitem` nodes.

        Parameters
        ----------
        over
            Start, stop and step of the range; None where only a status ends the loop.
        carried
            What is handed from turn to turn, before the first.
        free
            What each turn reads of the graph around it.
        body
            ``body(index if over, *carried, *free) -> (status, *carried)``, complete; a status that is not 0 ends the loop.
        metas
            Of the carried values: what holds for each of them before, between and after the turns.
        writes, draws
            Operands whose memory the body may write, and whether it draws.
        """
        return self._structured(
            NodeKind.LOOP, (over, tuple(carried), tuple(free)), (body,), (ScalarMeta(int), *metas),
            writes, draws=draws, line=line, name=name, before=before,
        )  # fmt: skip

    def cond(
        self,
        predicate: Operand,
        free: tuple[Operand, ...],
        then: Graph,
        orelse: Graph,
        *,
        metas: tuple[Meta, ...],
        writes: tuple[Node, ...] = (),
        draws: bool = False,
        line: SourceLine | None = None,
        name: str = "cond",
        before: Node | None = None,
    ) -> Node:
        """Append (or insert before a node) a branch; its results are read by `operator.getitem` nodes.

        Parameters
        ----------
        predicate
            Asked once, as Python's ``if`` asks.
        free
            What the sides read of the graph around them; each side has all of it as inputs.
        then, orelse
            The sides, complete, with as many outputs each.
        metas
            Of the results, whichever side ran.
        writes, draws
            Operands whose memory a side may write, and whether one draws.
        """
        return self._structured(
            NodeKind.COND, (predicate, tuple(free)), (then, orelse), tuple(metas),
            writes, draws=draws, line=line, name=name, before=before,
        )  # fmt: skip

    def output(self, values: tuple[Operand, ...], *, line: SourceLine | None = None) -> Node:
        """Append the output node: the graph returns the tuple of `values`."""
        name = self._names.new("output")
        node = Node(NodeKind.OUTPUT, name, args=tuple(values), can_fail=False, line=line)
        return self._place(node)

    def bind_symbol(self, symbol: Symbol, node: Node, axis: int | None = None) -> None:
        """Say that `symbol` is the length of an axis of an array, or (None) the value of a Python int."""
        self.symbols.setdefault(symbol, (node, axis))

    # Reading

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The input nodes, in the order of the arguments."""
        return tuple(node for node in self.nodes if node.kind is NodeKind.INPUT)

    @property
    def calls(self) -> tuple[Node, ...]:
        """The call nodes of this graph itself, in order; a loop or cond is one, whatever is in its bodies."""
        skipped = (NodeKind.INPUT, NodeKind.CONST, NodeKind.OUTPUT)
        return tuple(node for node in self.nodes if node.kind not in skipped)

    @property
    def all_calls(self) -> tuple[Node, ...]:
        """The call nodes in program order, each loop and cond in front of those of its bodies."""
        found: list[Node] = []
        for node in self.calls:
            found.append(node)
            for body in node.bodies:
                found.extend(body.all_calls)
        return tuple(found)

    @property
    def steps(self) -> tuple[Node, ...]:
        """The nodes of `all_calls` at which something runs: not those that name a result of a loop or cond."""
        return tuple(node for node in self.all_calls if item_of(node) is None)

    @property
    def count(self) -> int:
        """The number of call nodes, those of bodies included."""
        return len(self.all_calls)

    def nested(self) -> Iterator[Graph]:
        """Yield this graph and all bodies in it, each before its own bodies."""
        yield self
        for node in self.nodes:
            for body in node.bodies:
                yield from body.nested()

    @property
    def output_node(self) -> Node | None:
        """The output node, None while the graph is being built."""
        last = self.nodes[-1] if self.nodes else None
        return last if last is not None and last.kind is NodeKind.OUTPUT else None

    @property
    def outputs(self) -> tuple[Operand, ...]:
        """The values the graph returns; empty while it is being built."""
        node = self.output_node
        return node.args if node is not None else ()

    def symbol_sources(self) -> set[Node]:
        """Return the nodes from which the symbols of operands are read; they count as used, without being operands."""
        exprs = (expr for node in self.nodes for expr in exprs_in(node.operands))
        return {self.symbols[symbol][0] for expr in exprs for symbol in expr.symbols()}

    # Undo

    def mark(self) -> Mark:
        """Return the present point, for `truncate`."""
        return Mark(
            len(self.nodes), self._names.mark(), len(self.symbols), self._effects, self._edits
        )

    def truncate(self, mark: Mark) -> None:
        """Undo everything appended since `mark`, in time proportional to it.

        Raises InternalError when the graph was edited other than by appending, or is shorter than the mark.
        """
        if mark.edits != self._edits or mark.nodes > len(self.nodes):
            raise InternalError(
                f"truncate: {mark} is no point of this graph's past any more"
                f" ({len(self.nodes)} nodes, {self._edits} edits)"
            )
        while len(self.nodes) > mark.nodes:
            node = self.nodes.pop()
            self.keep.discard(node)
            self.keep_for.pop(node, None)
            for used in node.uses():
                used.users.pop(node, None)
        self._names.truncate(mark.names)
        while len(self.symbols) > mark.symbols:
            self.symbols.popitem()
        self._effects = mark.effects

    # Editing

    def replace_uses(self, old: Node, new: Operand) -> int:
        """Put `new` where `old` is an operand, and in `view_of` and `writes` if it is a node; count the users."""

        def swap(leaf: Operand) -> Operand:
            return new if leaf is old else leaf

        users = [user for user in old.users if user is not new]
        for user in users:
            self.set_operands(
                user,
                tuple(map_operand(arg, swap) for arg in user.args),
                {key: map_operand(arg, swap) for key, arg in user.kwargs.items()},
            )
            if isinstance(new, Node):
                user.writes = tuple(new if node is old else node for node in user.writes)
                # The items of a call that gives several views are views of what it was called with.
                for sharing in (user, *user.users) if user.multi else (user,):
                    sharing.view_of = new if sharing.view_of is old else sharing.view_of
        return len(users)

    def set_operands(
        self, node: Node, args: tuple[Operand, ...], kwargs: Mapping[str, Operand] | None = None
    ) -> None:
        """Give a node other operands."""
        for used in node.uses():
            used.users.pop(node, None)
        node.args = tuple(args)
        node.kwargs = dict(kwargs or {})
        for used in node.uses():
            used.users[node] = None
        _hand_over(node)
        self._edits += 1

    def call_unless_done(self, node: Node, done: Node) -> None:
        """Have a call made only where the value of another node is not None: see `Node.unless_done`."""
        node.unless_done = done
        done.users[node] = None
        self._edits += 1

    def erase(self, node: Node) -> None:
        """Remove a node that nobody uses. InternalError if it has users, is kept, or a symbol is read from it."""
        if node in self.keep:
            raise InternalError(f"erase: a bail-out record needs {node.name}")
        if node.users:
            users = ", ".join(user.name for user in node.users)
            raise InternalError(f"erase: {node.name} is used by {users}; replace its uses first")
        for symbol, (source, _) in self.symbols.items():
            if source is node:
                raise InternalError(f"erase: symbol {symbol} is read from {node.name}")
        self.nodes.remove(node)
        for used in node.uses():
            used.users.pop(node, None)
        self._edits += 1

    # Checking, printing, running

    def lint(self, *, complete: bool = True) -> None:
        """Raise InternalError naming everything that is wrong; a graph being built is not `complete`."""
        problems = lint.check(self, complete=complete)
        if problems:
            raise InternalError(
                "broken graph:\n" + "\n".join(f"  {problem}" for problem in problems)
            )

    def text(self) -> str:
        """Return the graph for people: one line a node, with results, effects and the user's lines."""
        return to_text(self)

    def source(self) -> str:
        """Return the source of the Python function that runs this graph."""
        return to_source(self).source

    def dot(self) -> str:
        """Return the graph in the graphviz language."""
        return dot.to_dot(self)

    def _repr_html_(self) -> str | None:
        """Return what notebooks show: a drawing."""
        return _drawing[0](self) if _drawing else None

    def to_dataflow(self) -> Dataflow:
        """Return the graph with loops and branches as dataflow primitives, for study; see `dataflow`."""
        return dataflow.to_dataflow(self)

    def to_callable(
        self,
        *,
        keep: Collection[Node] | None = None,
        force_failure_at: int | None = None,
        origin: Mapping[Node, Node] | None = None,
        planner: Planner | None = None,
    ) -> GraphFunction:
        """Return a Python function over the inputs that returns the tuple of outputs; see `codegen`."""
        return to_callable(
            self, keep=keep, force_failure_at=force_failure_at, origin=origin, planner=planner
        )

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Graph: {len(self.inputs)} inputs, {self.count} calls>"

    # Inside

    def _structured(
        self, kind: NodeKind, args: tuple[Operand, ...], bodies: tuple[Graph, ...], metas: tuple[Meta, ...],
        writes: tuple[Node, ...], *, draws: bool, line: SourceLine | None, name: str, before: Node | None,
    ) -> Node:  # fmt: skip
        node = Node(
            kind, self._names.new(name), args=args, bodies=bodies, meta=metas, multi=True,
            writes=tuple(writes), draws=draws, visible=bool(writes) or draws, line=line,
        )  # fmt: skip
        _hand_over(node)
        return self._place(node, before)

    def _place(self, node: Node, before: Node | None = None) -> Node:
        if before is None:
            self.nodes.append(node)
        else:
            self.nodes.insert(self.nodes.index(before), node)
            self._edits += 1
        for used in node.uses():
            used.users[node] = None
        node.epoch = self._effects if before is None else before.epoch
        if node.has_effect:
            self._effects += 1
            node.effect_order = node.epoch + 1
            if before is not None:
                self._make_room(node)
        return node

    def _make_room(self, effect: Node) -> None:
        """Number the effects behind an inserted one anew, and what stands behind it."""
        behind = False
        for node in self.nodes:
            if node is effect:
                behind = True
                continue
            if node.has_effect and node.effect_order >= effect.effect_order:
                node.effect_order += 1
            if node.epoch > effect.epoch or (behind and node.epoch == effect.epoch):
                node.epoch += 1

    def reorder(self, nodes: Sequence[Node]) -> None:
        """Put the nodes into another order; `schedule` finds such orders. InternalError if they are not the same nodes."""
        if len(nodes) != len(self.nodes) or set(nodes) != set(self.nodes):
            raise InternalError(
                f"reorder: {len(nodes)} nodes are not the {len(self.nodes)} of the graph"
            )
        self.nodes[:] = nodes
        self._edits += 1
