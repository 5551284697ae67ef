"""The last step: versions become writes in place where nobody reads the version before; it changes no result.

Three rewrites, each only where a check of what is read later allows it:

- Scatter into a base that is not read behind it writes the base's own memory;
- a Map whose only use is such a Scatter of all its elements writes them there itself;
- a Commit of a version that is in the input's memory already is nothing.
"""

from __future__ import annotations

from bcjit.dims import ShapeEnv
from bcjit.fx_graph import Graph, Node, NodeKind, map_operand
from bcjit.meta import ArrayMeta
from bcjit.ops.emitter import Value
from bcjit.ops.meta_emitter import MetaEmitter, MetaValue
from bcjit.primitives.kinds import Commit, Map, Scatter
from bcjit.primitives.verify import buffer_of
from bcjit.primitives.views import join_views
from bcjit.records import replace

__all__ = ["bufferise"]


def bufferise(graph: Graph, env: ShapeEnv, *, restarts: bool = True) -> Graph:
    """Return a graph that does the same with fewer arrays.

    Parameters
    ----------
    graph
        A verified primitive graph without writes in place; it is not changed.
    env
        That of its lowering.
    restarts
        Whether whoever runs the graph starts again when a node fails: then an input's memory is written only where no
        node can fail any more, the writing one included.
    """
    return _Bufferising(graph, env, restarts=restarts).run()


class _Bufferising:
    def __init__(self, graph: Graph, env: ShapeEnv, *, restarts: bool) -> None:
        self.source = graph
        self.env = env
        self.restarts = restarts
        self.place = {node: index for index, node in enumerate(graph.nodes)}
        self.last_failing = max(
            (index for node, index in self.place.items() if node.can_fail), default=-1
        )
        self.new = Graph()
        self.made: dict[Node, Node] = {}
        self.visible: set[Node] = set()  # Scatter nodes that write what may be an input's memory
        self.in_place = self._in_place()
        self.fused = self._fused()

    # What is done in place

    def _in_place(self) -> set[Node]:
        """Return the Scatter nodes that can write their base's memory.

        A buffer goes from a base to the version made in it, so values of one buffer are found by following both views and
        these versions.
        """
        chosen: set[Node] = set()
        buffer: dict[Node, Node] = {}
        values: dict[Node, list[Node]] = {}
        for node in self.source.nodes:
            shares = node.view_of if not isinstance(node.target, Commit) else None
            if isinstance(node.target, Scatter) and self._may_write(node, buffer, values):
                chosen.add(node)
                shares = node.args[0]  # type: ignore[assignment]  # checked by verify: a node
            root = buffer[shares] if shares is not None else node
            buffer[node] = root
            values.setdefault(root, []).append(node)
        return chosen

    def _may_write(
        self, node: Node, buffer: dict[Node, Node], values: dict[Node, list[Node]]
    ) -> bool:
        base = node.args[0]
        assert isinstance(base, Node)
        root = buffer[base]
        if root.kind is NodeKind.CONST:
            return False
        if root.kind is NodeKind.INPUT:
            self.visible.add(node)
            if self.restarts and self.place[node] <= self.last_failing:
                return False
        if not node.kwargs.keys() <= {"dims"} and any(
            buffer[used] is root for used in node.uses() if used is not base
        ):
            return False
        here = self.place[node]
        return not any(
            self.place[user] > here and not self._is_commit_target(user, value)
            for value in values[root]
            for user in value.users
        )

    @staticmethod
    def _is_commit_target(user: Node, value: Node) -> bool:
        """Whether a value is used only as the place that a version is put into."""
        return isinstance(user.target, Commit) and user.args[0] is value

    def _fused(self) -> dict[Node, Node]:
        """Return the Map nodes that write in the place of a Scatter, by the Scatter."""
        found: dict[Node, Node] = {}
        for node in self.in_place:
            item = node.args[1]
            if not isinstance(item, Node) or not isinstance(item.target, Map):
                continue
            ufunc = item.target.function.ufunc
            plain = node.kwargs.keys() <= {"dims"} and not item.kwargs
            if not plain or ufunc is None or ufunc.nout != 1:
                continue
            if self.restarts and item.can_fail and node in self.visible:
                continue
            if list(item.users) == [node] and self._fills(node, item) and self._moves(item, node):
                found[node] = item
        return found

    def _fills(self, node: Node, item: Node) -> bool:
        """Whether the item has the shape of what is written: nothing is repeated."""
        assert isinstance(node.target, Scatter)
        base, (have,) = node.args[0], item.meta
        assert isinstance(base, Node)
        assert isinstance(have, ArrayMeta)
        emitter = MetaEmitter(self.env)
        region = _value_of(base)
        for how in join_views(node.target.forms, node.kwargs.get("dims", ())):  # type: ignore[arg-type]  # a tuple
            region = emitter.view(region, how)
        return len(region.shape) == len(have.shape) and all(
            a == b or self.env.simplify(a) == self.env.simplify(b)
            for a, b in zip(region.shape, have.shape, strict=True)
        )

    def _moves(self, item: Node, node: Node) -> bool:
        """Whether the Map computes the same just before the Scatter: no write lies between."""
        between = self.source.nodes[self.place[item] + 1 : self.place[node]]
        return not any(one in self.in_place or one.has_effect for one in between)

    # The new graph

    def run(self) -> Graph:
        moved = set(self.fused.values())
        for node in self.source.nodes:
            if node in moved:
                continue
            self.made[node] = self._node(node)
        for symbol, (node, axis) in self.source.symbols.items():
            self.new.bind_symbol(symbol, self.made[node], axis)
        return self.new

    def _node(self, node: Node) -> Node:
        if node.kind is NodeKind.INPUT:
            return self.new.input(node.name, node.meta[0], line=node.line)
        if node.kind is NodeKind.CONST:
            return self.new.const(node.target, node.meta[0], name=node.name, line=node.line)
        if node.kind is NodeKind.OUTPUT:
            return self.new.output(self._operands(node.args), line=node.line)
        if isinstance(node.target, Commit):
            version = self.made[node.args[1]]  # type: ignore[index]  # checked by verify: a node
            if buffer_of(version) is self.made[node.args[0]]:  # type: ignore[index]
                return version
        if node in self.fused:
            return self._map_in_place(node, self.fused[node])
        if node in self.in_place:
            assert isinstance(node.target, Scatter)
            return self._call(node, replace(node.target, in_place=True), node.args, node.kwargs)
        return self._call(node, node.target, node.args, node.kwargs)

    def _map_in_place(self, node: Node, item: Node) -> Node:
        assert isinstance(node.target, Scatter)
        assert isinstance(item.target, Map)
        target = replace(item.target, in_place=node.target.forms)
        kwargs = {"out": node.args[0], **node.kwargs}
        made = self._call(node, target, item.args, kwargs)
        made.can_fail = node.can_fail or item.can_fail
        return made

    def _call(
        self, node: Node, target: object, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> Node:
        """Append a node like one of the source, with the memory it shares and writes."""
        place: Node | None = None
        if isinstance(target, Map) and target.in_place is not None:
            place = kwargs["out"]  # type: ignore[assignment]  # the Scatter's base, a node
        elif (isinstance(target, Scatter) and target.in_place) or isinstance(target, Commit):
            place = args[0]  # type: ignore[assignment]  # checked by verify: a node
        shares = node.view_of if place is None else place
        made = self.new.call(
            target,  # type: ignore[arg-type]  # that of a call node
            self._operands(args),
            {key: map_operand(arg, self._leaf) for key, arg in kwargs.items()},
            meta=node.meta or None,
            multi=node.multi,
            view_of=None if shares is None else self.made[shares],
            alias=node.alias if place is None else "same",
            writes=() if place is None else (self.made[place],),
            draws=node.draws,
            can_fail=node.can_fail,
            op=node.op,
            line=node.line,
            name=node.name,
        )
        made.visible = node.draws or (
            place is not None and buffer_of(self.made[place]).kind is NodeKind.INPUT
        )
        return made

    def _operands(self, args: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(map_operand(arg, self._leaf) for arg in args)

    def _leaf(self, leaf: object) -> object:
        return self.made[leaf] if isinstance(leaf, Node) else leaf


def _value_of(node: Node) -> Value:
    meta = node.meta[0]
    assert isinstance(meta, ArrayMeta)
    return MetaValue(meta.shape, meta.dtype)
