"""Building, undoing and editing graphs."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from bcjit.dims import Symbol
from bcjit.errors import InternalError
from bcjit.fx_graph import (
    Graph,
    Interpreter,
    Node,
    NodeKind,
    eliminate_dead_code,
    exprs_in,
    item_of,
    leaves,
    map_operand,
    nodes_in,
)
from bcjit.meta import ArrayMeta, ScalarMeta, UnionMeta

N = Symbol("s0")
VECTOR = ArrayMeta((N.expr,), np.dtype(float))
FLOAT = ScalarMeta(float)
FLOAT64 = ArrayMeta((), np.dtype(float), is_scalar=True)
EITHER = UnionMeta((FLOAT, FLOAT64))


def snapshot(graph):
    """Everything that truncate must give back."""
    return (
        [
            (node, node.name, node.args, dict(node.kwargs), list(node.users), node.effect_order)
            for node in graph.nodes
        ],
        list(graph.symbols.items()),
        set(graph.keep),
        set(graph._names._taken),
        dict(graph._names._suffixes),
        list(graph._names._log),
        graph._effects,
    )


def small_graph():
    graph = Graph()
    x = graph.input("x", VECTOR)
    graph.bind_symbol(N, x, 0)
    y = graph.call(np.add, (x, 1.0), meta=VECTOR)
    z = graph.call(operator.mul, (y, y), meta=VECTOR)
    return graph, x, y, z


# Operands


def test_map_operand_rebuilds_nested_containers():
    node = Node(NodeKind.INPUT, "x")
    operand = (1, [node, slice(None, node, 2)], {"k": (node,)})
    mapped = map_operand(operand, lambda leaf: "n" if leaf is node else leaf)
    assert mapped == (1, ["n", slice(None, "n", 2)], {"k": ("n",)})


def test_map_operand_never_shares_lists_or_dicts():
    operand = ([1], {"a": 2})
    mapped = map_operand(operand, lambda leaf: leaf)
    assert mapped == operand
    assert mapped[0] is not operand[0]
    assert mapped[1] is not operand[1]


def test_subclasses_of_containers_are_leaves():
    class Pair(tuple):
        __slots__ = ()

    pair = Pair((1, 2))
    assert list(leaves([pair, (3,)])) == [pair, 3]


def test_nodes_and_exprs_are_found_wherever_they_are_nested():
    x, y = Node(NodeKind.INPUT, "x"), Node(NodeKind.INPUT, "y")
    operand = [(x, slice(y, N.expr)), {"k": x}]
    assert list(nodes_in(operand)) == [x, y, x]
    assert list(exprs_in(operand)) == [N.expr]


# Names


def test_names_are_unique_and_stable():
    graph = Graph()
    x = graph.input("x", VECTOR)
    names = [graph.call(np.add, (x, 1.0), meta=VECTOR).name for _ in range(3)]
    assert names == ["add", "add_1", "add_2"]
    assert graph.input("x", VECTOR).name == "x_1"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("weights", "weights"),
        ("café", "café"),
        (".0", "v_0"),
        ("class", "class_"),
        ("min", "min_"),
        ("__debug__", "__debug___"),
        ("ﬁ", "value"),  # a ligature: the parser would read "fi"
        ("a b", "a_b"),
    ],
)
def test_user_names_are_kept_when_the_parser_reads_them_as_they_are(given, name):
    assert Graph().input(given, VECTOR).name == name


def test_name_that_looks_like_a_generated_one_is_not_taken_twice():
    graph = Graph()
    first = graph.input("add_1", VECTOR)
    calls = [graph.call(np.add, (first, 1.0), meta=VECTOR) for _ in range(3)]
    assert [node.name for node in calls] == ["add", "add_2", "add_3"]
    graph.output((calls[-1],))
    graph.lint()


# Fields


def test_meta_says_single_multi_or_no_result():
    graph, x, y, _ = small_graph()
    pair = graph.call(np.divmod, (x, y), meta=(VECTOR, VECTOR))
    single = graph.call(np.sin, (x,), meta=(VECTOR,), multi=False)
    nothing = graph.call(operator.setitem, (x, 0, 1.0), meta=None, writes=(x,))
    assert (pair.multi, len(pair.meta)) == (True, 2)
    assert (single.multi, single.meta) == (False, (VECTOR,))
    assert (nothing.has_value, nothing.has_effect) == (False, True)


def test_inputs_calls_outputs_are_read_in_order():
    graph, x, y, z = small_graph()
    late = graph.input("late", FLOAT)
    assert graph.outputs == ()
    graph.output((z, late, 3))
    assert graph.inputs == (x, late)
    assert graph.calls == (y, z)
    assert graph.count == 2
    assert graph.outputs == (z, late, 3)


# Undo


def test_truncate_restores_everything_exactly():
    graph, x, y, z = small_graph()
    before = snapshot(graph)
    mark = graph.mark()
    more = graph.input("x", FLOAT)
    graph.bind_symbol(Symbol("s1"), more)
    add = graph.call(np.add, (z, [more, y]), {"out": (x,)}, meta=VECTOR, writes=(x,))
    graph.call(operator.iadd, (add, x), meta=VECTOR, view_of=add, alias="same", writes=(add,))
    graph.keep.add(add)
    graph.output((add,))
    assert snapshot(graph) != before
    graph.truncate(mark)
    assert snapshot(graph) == before


def test_what_is_built_after_truncate_is_as_if_nothing_had_been_there():
    graph, _, _, z = small_graph()
    mark = graph.mark()
    for _ in range(3):
        graph.call(np.add, (z, 1.0), meta=VECTOR, name="add_7")
    graph.truncate(mark)
    names = [graph.call(np.add, (z, 1.0), meta=VECTOR, name="add_7").name for _ in range(2)]
    assert names == ["add_7", "add_7_1"]


def test_nested_marks_undo_from_the_inside():
    graph, _, _, z = small_graph()
    states, marks = [], []
    for _ in range(4):
        states.append(snapshot(graph))
        marks.append(graph.mark())
        z = graph.call(np.add, (z, 1.0), meta=VECTOR)
    for mark, state in zip(reversed(marks), reversed(states), strict=True):
        graph.truncate(mark)
        assert snapshot(graph) == state


def test_truncate_to_the_present_does_nothing():
    graph, *_ = small_graph()
    before = snapshot(graph)
    graph.truncate(graph.mark())
    assert snapshot(graph) == before


@pytest.mark.parametrize("edit", ["replace", "insert", "erase"])
def test_mark_is_invalid_after_an_edit(edit):
    graph, x, y, z = small_graph()
    mark = graph.mark()
    if edit == "replace":
        graph.replace_uses(y, x)
    elif edit == "insert":
        graph.call(np.sin, (x,), meta=VECTOR, before=z)
    else:
        graph.erase(z)
    with pytest.raises(InternalError, match="no point of this graph's past"):
        graph.truncate(mark)


def test_mark_beyond_the_end_is_refused():
    graph, *_ = small_graph()
    early = graph.mark()
    graph.input("y", FLOAT)
    late = graph.mark()
    graph.truncate(early)
    with pytest.raises(InternalError, match="no point of this graph's past"):
        graph.truncate(late)


# Editing


def test_replace_uses_reaches_nested_operands_views_and_writes():
    graph, x, y, z = small_graph()
    view = graph.call(operator.getitem, (z, (slice(0, 2),)), meta=VECTOR, view_of=z, alias="view")
    graph.call(operator.setitem, (z, 0, [view, z]), meta=None, writes=(z,))
    graph.output(({"k": z},))
    assert graph.replace_uses(z, y) == 3
    assert not z.users
    assert view.view_of is y
    assert graph.calls[-1].args == (y, 0, [view, y])
    assert graph.calls[-1].writes == (y,)
    graph.lint()


def test_replace_uses_leaves_the_replacement_itself_alone():
    graph, x, y, z = small_graph()
    wrapped = graph.call(np.negative, (y,), meta=VECTOR, before=z)
    graph.replace_uses(y, wrapped)
    assert wrapped.args == (y,)
    assert z.args == (wrapped, wrapped)


def test_insert_before_keeps_effects_in_order():
    graph, x, _, z = small_graph()
    last = graph.call(operator.setitem, (x, 0, 1.0), meta=None, writes=(x,))
    first = graph.call(operator.setitem, (x, 1, 1.0), meta=None, writes=(x,), before=z)
    assert (first.effect_order, last.effect_order) == (1, 2)
    graph.output((z,))
    graph.lint()


def test_erase_refuses_used_kept_and_symbol_nodes():
    graph, x, y, z = small_graph()
    with pytest.raises(InternalError, match="add is used by mul"):
        graph.erase(y)
    graph.keep.add(z)
    with pytest.raises(InternalError, match="a bail-out record needs mul"):
        graph.erase(z)
    graph.keep.clear()
    graph.erase(z)
    graph.erase(y)
    with pytest.raises(InternalError, match="symbol s0 is read from x"):
        graph.erase(x)


def test_dead_code_goes_but_failures_effects_and_kept_values_stay():
    graph = Graph()
    x = graph.input("x", VECTOR)
    graph.input("unused", FLOAT)
    dead = graph.call(np.negative, (x,), meta=VECTOR, can_fail=False)
    graph.call(np.negative, (dead,), meta=VECTOR, can_fail=False)
    graph.const(np.ones(2), VECTOR)
    fails = graph.call(np.add, (x, 1.0), meta=VECTOR, can_fail=True)
    kept = graph.call(np.negative, (x,), meta=VECTOR, can_fail=False)
    graph.keep.add(kept)
    write = graph.call(operator.setitem, (x, 0, 1), meta=None, writes=(x,), can_fail=False)
    draw = graph.call(np.random.rand, (3,), meta=VECTOR, draws=True, can_fail=False)
    graph.output((x,))
    assert eliminate_dead_code(graph) == 3
    assert graph.calls == (fails, kept, write, draw)
    assert len(graph.inputs) == 2
    graph.lint()


def test_dead_code_keeps_ints_that_only_symbols_read():
    graph = Graph()
    k = graph.input("k", ScalarMeta(int))
    s, t = Symbol("s"), Symbol("t")
    used = graph.call(operator.add, (k, 1), meta=ScalarMeta(int), can_fail=False)
    unused = graph.call(operator.add, (k, 2), meta=ScalarMeta(int), can_fail=False)
    graph.bind_symbol(s, used)
    graph.bind_symbol(t, unused)
    graph.output((graph.call(np.zeros, (s * 2,), meta=VECTOR),))
    assert eliminate_dead_code(graph) == 1
    assert list(graph.symbols) == [s]
    graph.lint()
    assert graph.to_callable()(2)[0].shape == (6,)


# The interpreter


def test_interpreter_runs_node_by_node_and_can_be_overridden():
    graph, _, y, z = small_graph()
    graph.output((z, N * 2, "text"))
    seen = []

    class Watching(Interpreter):
        def run_node(self, node, args, kwargs):
            value = super().run_node(node, args, kwargs)
            seen.append((node.name, value.tolist()))
            return value

    result, twice, text = Watching(graph).run(np.array([0.0, 1.0]))
    assert result.tolist() == [1.0, 4.0]
    assert (twice, text) == (4, "text")
    assert seen == [("add", [1.0, 2.0]), ("mul", [1.0, 4.0])]


def test_interpreter_says_how_many_inputs_it_wants():
    graph, *_ = small_graph()
    with pytest.raises(InternalError, match="1 inputs are expected, got 2"):
        Interpreter(graph).run(1, 2)


def test_interpreter_wants_an_output():
    graph, *_ = small_graph()
    with pytest.raises(InternalError, match="no output"):
        Interpreter(graph).run(np.zeros(1))


# Loops and branches


def running_sum(graph, x, *, name="loop"):
    """``for i in range(len(x)): s = s + x[i]``, with s the float 0.0 before."""
    mark = graph.mark()
    body = graph.subgraph()
    i = body.input("i", ScalarMeta(int))
    s = body.input("s", EITHER)
    of = body.input("of", VECTOR)
    item = body.call(operator.getitem, (of, i), meta=FLOAT64, can_fail=False)
    total = body.call(operator.add, (s, item), meta=FLOAT64)
    body.output((0, total))
    loop = graph.loop((0, N.expr, 1), (0.0,), (x,), body, metas=(EITHER,), name=name)
    result = graph.call(operator.getitem, (loop, 1), meta=EITHER, can_fail=False, name="s")
    return mark, loop, result


def test_loop_node_has_the_fields_of_its_kind():
    graph, x, *_ = small_graph()
    _, loop, result = running_sum(graph, x)
    graph.output((result,))
    graph.lint()
    assert (loop.kind, loop.multi, loop.meta) == (NodeKind.LOOP, True, (ScalarMeta(int), EITHER))
    assert (loop.has_effect, loop.visible, loop.can_fail) == (False, False, True)
    assert loop.args == ((0, N.expr, 1), (0.0,), (x,))
    assert loop in x.users
    assert item_of(result) == (loop, 1)
    assert [g.count for g in graph.nested()] == [6, 2]
    assert [node.name for node in graph.all_calls] == [
        "add", "mul", "loop", "getitem", "add_1", "s_1",
    ]  # fmt: skip
    assert Interpreter(graph).run(np.arange(4.0)) == (6.0,)


def branch(graph, predicate, x):
    then, orelse = graph.subgraph(), graph.subgraph()
    inner = then.input("x", VECTOR)
    then.call(
        operator.iadd, (inner, 1.0), meta=VECTOR, view_of=inner, alias="same", writes=(inner,)
    )
    then.output((inner, 1))
    orelse.output((orelse.input("x", VECTOR), 2))
    return graph.cond(
        predicate, (x,), then, orelse, metas=(VECTOR, ScalarMeta(int)), writes=(x,)
    )  # fmt: skip


def test_cond_node_has_the_fields_of_its_kind():
    graph, x, *_ = small_graph()
    p = graph.input("p", ScalarMeta(bool))
    cond = branch(graph, p, x)
    graph.output(
        tuple(
            graph.call(operator.getitem, (cond, k), meta=cond.meta[k], alias=("maybe", "fresh")[k])
            for k in (0, 1)
        )
    )
    graph.lint()
    assert (cond.kind, cond.multi, cond.meta) == (NodeKind.COND, True, (VECTOR, ScalarMeta(int)))
    assert (cond.has_effect, cond.visible, cond.effect_order) == (True, True, 1)
    value = np.zeros(2)
    (same, one), (_, two) = (Interpreter(graph).run(value, p) for p in (True, False))
    assert (same is value, one, two, value.tolist()) == (True, 1, 2, [1.0, 1.0])


def test_status_or_range_ends_a_loop():
    graph = Graph()
    over = tuple(graph.input(name, ScalarMeta(int)) for name in ("start", "stop", "step"))
    body = graph.subgraph()
    i = body.input("i", ScalarMeta(int))
    last = body.input("last", ScalarMeta(int))
    found = body.call(operator.eq, (i, 7), meta=ScalarMeta(bool))
    status = body.call(operator.mul, (found, 2), meta=ScalarMeta(int))
    body.output((status, body.call(operator.add, (last, i), meta=ScalarMeta(int))))
    loop = graph.loop(over, (100,), (), body, metas=(ScalarMeta(int),))
    items = [
        graph.call(operator.getitem, (loop, k), meta=ScalarMeta(int)) for k in range(2)
    ]  # fmt: skip
    graph.output(tuple(items))
    run = Interpreter(graph).run
    assert run(0, 3, 1) == (0, 103)
    assert run(5, 9, 1) == (2, 118)
    assert run(9, 5, -1) == (2, 124)
    assert run(3, 3, 1) == (0, 100)


def test_truncate_undoes_bodies_with_their_names():
    graph, x, *_ = small_graph()
    before, marks = [snapshot(graph)], []
    for _ in range(2):
        mark, *_ = running_sum(graph, x)
        marks.append(mark)
        before.append(snapshot(graph))
    for mark, state in zip(reversed(marks), before[1::-1], strict=True):
        graph.truncate(mark)
        assert snapshot(graph) == state


def test_body_is_undone_for_itself():
    graph, x, *_ = small_graph()
    body = graph.subgraph()
    inner = body.input("inner", VECTOR)
    states = snapshot(graph), snapshot(body)
    mark = body.mark()
    assert body.call(np.add, (inner, inner), meta=VECTOR).name == "add_1"
    assert graph.call(np.add, (x, x), meta=VECTOR).name == "add_2"
    graph.erase(graph.nodes[-1])
    body.truncate(mark)
    assert snapshot(body) == states[1]
    assert body.call(np.add, (inner, inner), meta=VECTOR).name == "add_1"


def test_operands_of_a_loop_are_replaced_like_others():
    graph, x, y, _ = small_graph()
    p = graph.input("p", ScalarMeta(bool))
    cond = branch(graph, p, x)
    graph.replace_uses(x, y)
    assert (cond.args, cond.writes) == ((p, (y,)), (y,))
    assert cond in y.users
    assert cond not in x.users
    graph.erase(cond)
    assert cond not in y.users
