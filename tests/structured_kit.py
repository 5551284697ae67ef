"""Generated graphs with loops and branches in one another: writes, draws, swapped arrays, no turns, early ends."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from bcjit.dims import Symbol
from bcjit.fx_graph import Graph, Interpreter, Node, NodeKind
from bcjit.meta import ArrayMeta, ScalarMeta, UnionMeta

N = Symbol("s0")
SIZE = 3
F8 = np.dtype(float)
ARRAY = ArrayMeta((N.expr,), F8)
FLOAT = UnionMeta((ScalarMeta(float), ArrayMeta((), F8, is_scalar=True)))
INT, BOOL = ScalarMeta(int), ScalarMeta(bool)
METAS = {"array": ARRAY, "float": FLOAT, "int": INT}
KINDS = sorted(METAS)
SEED = 11


@dataclass
class Scope:
    """A graph being built, and what its nodes can use."""

    graph: Graph
    pool: dict = field(default_factory=lambda: {"array": [], "float": [0.5], "int": [2, N.expr]})
    depth: int = 0
    private: bool = False  # nobody sees what is written
    quiet: bool = False  # nothing is written or drawn

    def nodes(self):
        return [one for kind in KINDS for one in self.pool[kind] if isinstance(one, Node)]

    def add(self, kind, node):
        self.pool[kind].append(node)
        return node

    def call(self, kind, target, *args, **options):
        node = self.graph.call(target, args, meta=METAS[kind], **options)
        if self.private:
            node.visible = node.draws
        return self.add(kind, node)


def pick(draw, scope, kind):
    return draw(st.sampled_from(scope.pool[kind]))


def index(draw, scope):
    return scope.call("int", operator.mod, pick(draw, scope, "int"), SIZE)


def step(draw, scope):
    quiet = ["add", "math", "item", "sum", "int", "scale"]
    loud = [] if scope.quiet else ["in place", "set", "draw"]
    nest = ["loop", "cond", "loop", "cond"] if scope.depth < 2 else []
    what = draw(st.sampled_from(quiet + loud + nest))
    some = lambda kind: pick(draw, scope, kind)  # noqa: E731
    if what == "add":
        kind = draw(st.sampled_from(KINDS))
        scope.call(kind, operator.add, some(kind), some(kind))
    elif what == "math":
        scope.call("array", draw(st.sampled_from([np.sin, np.negative])), some("array"))
    elif what == "item":
        scope.call("float", operator.getitem, some("array"), index(draw, scope))
    elif what == "sum":
        scope.call("float", np.sum, some("array"))
    elif what == "int":
        scope.call("int", operator.sub, 5, index(draw, scope))
    elif what == "scale":
        scope.call("array", operator.mul, some("array"), some("float"))
    elif what == "in place":
        base = some("array")
        scope.call(
            "array", operator.iadd, base, some("float"), view_of=base, alias="same", writes=(base,)
        )
    elif what == "set":
        base = some("array")
        node = scope.graph.call(
            operator.setitem, (base, index(draw, scope), some("float")), meta=None, writes=(base,)
        )
        node.visible = not scope.private
    elif what == "draw":
        scope.call("array", np.random.standard_normal, N.expr, draws=True)
    elif what == "loop":
        add_loop(draw, scope)
    else:
        add_cond(draw, scope)


def inner(draw, scope, handed, *, own=()):
    """Return a scope for a body, with inputs for what is its own and for what it is handed."""
    body = Scope(
        scope.graph.subgraph(), depth=scope.depth + 1, private=scope.private, quiet=scope.quiet
    )
    for kind, name in own:
        body.add(kind, body.graph.input(name, METAS[kind]))
    for kind, operand in handed:
        node = body.add(kind, body.graph.input(f"f_{kind}", METAS[kind]))
        if operand == N.expr:
            body.graph.bind_symbol(N, node)
        elif kind == "array":
            body.graph.bind_symbol(N, node, 0)
    if N not in body.graph.symbols:
        for kind in KINDS:
            body.pool[kind] = [
                one for one in body.pool[kind] if isinstance(one, Node) or one != N.expr
            ]
    return body


def some_of(draw, scope, least=()):
    """Return operands to hand to a body, with their kinds: an array and the size are among them."""
    pairs = [(kind, one) for kind in KINDS for one in scope.pool[kind]]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=4))
    if N in scope.graph.symbols and draw(st.booleans()):
        chosen.append(("int", N + 1))
    return [("array", pick(draw, scope, "array")), *least, *chosen]


def steps(draw, scope, most=3):
    for _ in range(draw(st.integers(0, most))):
        step(draw, scope)


def has_effects(*graphs):
    nodes = [node for graph in graphs for one in graph.nested() for node in one.nodes]
    return any(n.writes for n in nodes), any(n.draws for n in nodes), any(n.visible for n in nodes)


def effects(operands, *bodies):
    writes, draws, _ = has_effects(*bodies)
    arrays = [one for kind, one in operands if kind == "array"]
    return {"writes": tuple(dict.fromkeys(arrays)) if writes else (), "draws": draws}


def results(scope, node, kinds, *, first=0):
    for k, kind in enumerate(kinds, first):
        item = scope.graph.call(
            operator.getitem, (node, k), meta=METAS[kind], can_fail=False, name=f"r_{kind}",
            alias="maybe" if kind == "array" else "fresh",
        )  # fmt: skip
        scope.add(kind, item)


def predicate(draw, scope):
    return scope.graph.call(
        draw(st.sampled_from([operator.lt, operator.ne])),
        (pick(draw, scope, "int"), pick(draw, scope, "int")), meta=BOOL,
    )  # fmt: skip


def add_cond(draw, scope):
    handed = some_of(draw, scope)
    test = predicate(draw, scope)
    kinds = draw(st.lists(st.sampled_from(KINDS), max_size=3))
    sides = []
    for _ in range(2):
        side = inner(draw, scope, handed)
        steps(draw, side)
        side.graph.output(tuple(pick(draw, side, kind) for kind in kinds))
        sides.append(side.graph)
    node = scope.graph.cond(
        test, tuple(one for _, one in handed), *sides, metas=tuple(METAS[kind] for kind in kinds),
        **effects(handed, *sides),
    )  # fmt: skip
    node.visible = has_effects(*sides)[2]
    results(scope, node, kinds)


RANGES = [(0, 3, 1), (3, 0, -1), (0, 0, 1), (1, N.expr, 1), (2, 1, 1), (0, 4, 2)]


def add_loop(draw, scope):
    handed = some_of(draw, scope)
    carried = draw(st.lists(st.sampled_from(KINDS), max_size=3))
    if draw(st.booleans()):
        carried = ["array", "array", *carried]
    initial = [(kind, pick(draw, scope, kind)) for kind in carried]
    ranges = [r for r in RANGES if N in scope.graph.symbols or r[1] != N.expr]
    over = draw(st.sampled_from([*ranges, None]))
    if over is not None and draw(st.booleans()):
        over = (over[0], index(draw, scope), over[2])
    own = [("int", "i")] if over is not None else []
    if over is None:  # something must count
        carried, initial = ["int", *carried], [("int", 0), *initial]
    body = inner(draw, scope, handed, own=[*own, *((kind, f"c_{kind}") for kind in carried)])
    held = body.graph.inputs[len(own) :][: len(carried)]
    late = over is None and draw(st.booleans())  # counted in the sides of a branch
    count = None
    if over is None:
        count = held[0] if late else body.call("int", operator.add, held[0], 1)
    steps(draw, body, draw(st.sampled_from([0, 3])) if late else 3)
    end_turn(draw, body, held, count, carried, late=late)
    node = scope.graph.loop(
        over, tuple(one for _, one in initial), tuple(one for _, one in handed), body.graph,
        metas=tuple(METAS[kind] for kind in carried), **effects([*initial, *handed], body.graph),
    )  # fmt: skip
    node.visible = has_effects(body.graph)[2]
    results(scope, node, ["int", *carried])


def end_turn(draw, scope, held, count, kinds, *, late=False):
    """Append the output of a body, behind a branch or not; `count` ends a loop without a range."""

    def following(inside, own_count, own_held):
        given = [
            draw(st.sampled_from([old, pick(draw, inside, kind)]))
            for old, kind in zip(own_held, kinds, strict=True)
        ]
        return given if own_count is None else [own_count, *given[1:]]

    how = "branch" if late else draw(st.sampled_from(["plain", "computed", "branch", "branch"]))
    if how == "plain" and count is None:
        scope.graph.output((0, *following(scope, count, held)))
        return
    if count is None:
        test = predicate(draw, scope)
    else:
        test = scope.graph.call(operator.ge, (count, draw(st.integers(0, 3))), meta=BOOL)
    if how != "branch":
        status = scope.graph.call(operator.mul, (test, 2), meta=INT)
        scope.graph.output((status, *following(scope, count, held)))
        return
    counts = [] if count is None else [("int", count)]
    handed = [*counts, *zip(kinds, held, strict=True), *some_of(draw, scope)]
    statuses = (draw(st.sampled_from([1, 2])), draw(st.sampled_from([0, 0, 3])))
    if count is None:
        statuses = draw(st.sampled_from([statuses, statuses[::-1], (0, 0)]))
    sides = []
    for status in statuses:
        side = inner(draw, scope, handed)
        first = side.graph.inputs[0] if count is not None else None
        own = side.graph.inputs[len(counts) :][: len(kinds)]
        if late:
            first = side.call("int", operator.add, first, 1)
        steps(draw, side, 2)
        if status == 0 and count is None and scope.depth < 3 and draw(st.booleans()):
            end_turn(draw, side, own, None, kinds)
        else:
            side.graph.output((status, *following(side, first, own)))
        sides.append(side.graph)
    node = scope.graph.cond(
        test, tuple(one for _, one in handed), *sides, metas=(INT, *(METAS[kind] for kind in kinds)),
        **effects(handed, *sides),
    )  # fmt: skip
    node.visible = has_effects(*sides)[2]
    before = len(scope.graph.nodes)
    results(scope, node, ["int", *kinds])
    scope.graph.output(tuple(scope.graph.nodes[before:]))


@st.composite
def structured_graphs(draw):
    scope = Scope(Graph(), private=draw(st.booleans()), quiet=draw(st.booleans()))
    for name in ("x", "y"):
        scope.add("array", scope.graph.input(name, ARRAY))
    scope.add("int", scope.graph.input("n", INT))
    scope.graph.bind_symbol(N, scope.graph.nodes[0], 0)
    steps(draw, scope, 2)
    draw(st.sampled_from([add_loop, add_cond, add_loop]))(draw, scope)
    steps(draw, scope, 2)
    candidates = scope.nodes()
    scope.graph.output(tuple(draw(st.lists(st.sampled_from(candidates), min_size=1, max_size=5))))
    scope.graph.lint()
    return scope.graph


def fresh_inputs():
    np.random.seed(SEED)
    return [np.array([0.5, -1.0, 2.0]), np.array([3.0, 0.25, -0.0]), 1]


class Reached(Exception):
    """The node at which a `Stopping` interpreter stops."""


class Stopping(Interpreter):
    """Stops in front of a node, the first time; `seen` are the values of all graphs around it."""

    at = None
    stack = ()

    def run(self, *inputs):
        type(self).stack = (*self.stack, self)
        result = super().run(*inputs)
        type(self).stack = self.stack[:-1]
        return result

    def run_node(self, node, args, kwargs):
        if node is self.at:
            raise Reached
        return super().run_node(node, args, kwargs)


def values_before(graph, node, inputs):
    """Return the values of the nodes before one, when it is first reached; None if it is not."""
    kind = type("At", (Stopping,), {"at": node})
    try:
        kind(graph).run(*inputs)
    except Reached:
        return {
            one: value
            for run in kind.stack
            for one, value in run.values.items()
            if one.kind is not NodeKind.CONST
        }
    return None
