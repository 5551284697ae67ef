"""Passes change nothing that can be seen, remove what they can, and never violate a dependency edge."""

from __future__ import annotations

import operator
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bcjit.dims import Symbol
from bcjit.errors import InternalError
from bcjit.fx_graph import (
    PASSES,
    Graph,
    NodeKind,
    dependencies,
    eliminate_dead_code,
    optimize,
    schedule,
)
from bcjit.fx_graph.lint import check
from bcjit.fx_graph.passes import drop_unread, fold_constants, merge_common_subexpressions, simplify
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.ops import lookup, lookup_attribute
from tests.graph_kit import agree, programs, start

N = Symbol("n")
FLOATS = ArrayMeta((N.expr,), np.dtype(float))
INTS = ArrayMeta((N.expr,), np.dtype(int))
COMPLEX = ArrayMeta((N.expr,), np.dtype(complex))
MATRIX = ArrayMeta((N.expr, N.expr), np.dtype(float))
NUMBER = ArrayMeta((), np.dtype(float), is_scalar=True)
TRANSPOSE = lookup_attribute("T")[1]


def runs_as_before(program):
    program.graph.lint()
    with np.errstate(all="ignore"):
        inputs = start(program)
        agree(program, program.graph.to_callable()(*inputs), inputs)


# On generated graphs


@pytest.mark.parametrize("one", [*PASSES, optimize])
def test_a_pass_changes_nothing_visible(one):
    @given(programs())
    def check_one(program):
        count = program.graph.count
        one(program.graph)
        assert program.graph.count <= count
        runs_as_before(program)

    check_one()


@given(programs(), st.data())
def test_a_pass_leaves_what_records_need(program, data):
    kept = data.draw(st.sets(st.sampled_from(program.graph.calls or program.graph.inputs)))
    program.graph.keep.update(kept)
    optimize(program.graph)
    runs_as_before(program)
    assert kept <= set(program.graph.nodes)


@given(programs(), st.randoms(use_true_random=False))
def test_any_topological_order_runs_as_the_captured_one(program, rng):
    numbers = {node: rng.random() for node in program.graph.nodes}
    schedule(program.graph, numbers.__getitem__)
    runs_as_before(program)
    optimize(program.graph)
    runs_as_before(program)


@given(programs())
def test_the_order_stays_where_nothing_asks_for_another(program):
    before = [node for node in program.graph.nodes if node.kind is not NodeKind.INPUT]
    schedule(program.graph)
    assert [node for node in program.graph.nodes if node.kind is not NodeKind.INPUT] == before


@given(programs(), st.randoms(use_true_random=False))
def test_lint_names_each_order_that_an_edge_forbids(program, rng):
    graph = program.graph
    edges = [
        (node, other)
        for node, needed in dependencies(graph).items()
        for other in needed
        if other.kind is not NodeKind.INPUT
    ]
    if not edges:
        return
    node, other = rng.choice(edges)
    nodes = list(graph.nodes)
    nodes.remove(other)
    nodes.insert(nodes.index(node) + 1, other)
    graph.reorder(nodes)
    assert any(node.name in problem and other.name in problem for problem in check(graph)) or (
        node.kind is NodeKind.OUTPUT and any("output" in problem for problem in check(graph))
    )


def test_generated_graphs_give_every_pass_something_to_do():
    """A floor under the generator."""
    found = set()

    @settings(derandomize=True)  # a hundred fresh ones may lack something
    @given(programs())
    def look(program):
        found.update(one.__name__ for one in PASSES if one(program.graph))

    look()
    # There are no loops in them: `drop_unread` has the loop programs.
    assert found == {one.__name__ for one in PASSES if one is not drop_unread}


# What is left of a graph


class Sketch:
    """A graph under construction, of calls of the op table."""

    def __init__(self, **inputs):
        self.graph = Graph()
        self.values = {name: self.graph.input(name, meta) for name, meta in inputs.items()}
        for node in self.values.values():
            if isinstance(node.meta[0], ArrayMeta):
                self.graph.bind_symbol(N, node, 0)

    def call(self, target, *args, meta=FLOATS, **rest):
        return self.graph.call(
            target, args, rest.pop("kwargs", {}), meta=meta, op=lookup(target), **rest
        )

    def view(self, target, base, *args, meta=FLOATS):
        return self.call(target, base, *args, meta=meta, view_of=base, alias="view", can_fail=False)

    def write(self, base, *args):
        return self.call(operator.setitem, base, *args, meta=None, writes=(base,))

    def left(self, *outputs, passes=(optimize,)):
        self.graph.output(outputs)
        self.graph.lint()
        for one in passes:
            one(self.graph)
        self.graph.lint()
        return [call.target for call in self.graph.calls]


def test_equal_calls_are_made_once_also_where_they_can_fail():
    s = Sketch(x=FLOATS)
    x = s.values["x"]
    one, two = (s.call(np.sqrt, x) for _ in range(2))
    assert s.left(s.call(np.add, one, two)) == [np.sqrt, np.add]
    assert s.graph.output_node.args[0].args == (one, one)


def test_a_write_between_equal_calls_keeps_both():
    s = Sketch(x=FLOATS, y=FLOATS)
    x, y = s.values.values()
    one = s.call(np.sqrt, x)
    s.write(y, 0, 1.0)  # y may be x
    two = s.call(np.sqrt, x)
    assert s.left(s.call(np.add, one, two)) == [np.sqrt, operator.setitem, np.sqrt, np.add]


def test_a_write_into_other_memory_of_the_graph_does_not():
    s = Sketch(x=FLOATS)
    x = s.values["x"]
    own = s.call(np.zeros, N.expr)
    one = s.call(np.sqrt, x)
    s.write(own, 0, 1.0)
    two = s.call(np.sqrt, x)
    assert s.left(s.call(np.add, one, two), own).count(np.sqrt) == 1


def test_results_that_the_program_can_tell_apart_stay_two():
    for change in (
        lambda s, one, two: (one, two),
        lambda s, one, two: (s.write(one, 0, 1.0), (two,))[1],
    ):
        s = Sketch(x=FLOATS)
        one, two = (s.call(np.sqrt, s.values["x"]) for _ in range(2))
        assert s.left(*change(s, one, two)).count(np.sqrt) == 2


def test_views_of_two_results_that_both_get_out_stay_two():
    s = Sketch(x=FLOATS)
    one, two = (s.call(np.sqrt, s.values["x"]) for _ in range(2))
    views = [s.view(operator.getitem, base, slice(1, None)) for base in (one, two)]
    assert s.left(*views).count(np.sqrt) == 2


def test_items_of_two_calls_that_both_get_out_are_two_objects():
    s = Sketch(x=FLOATS)
    pairs = [s.call(np.modf, s.values["x"], meta=(FLOATS, FLOATS)) for _ in range(2)]
    items = [
        s.graph.call(operator.getitem, (pair, 0), meta=FLOATS, can_fail=False) for pair in pairs
    ]
    assert s.left(*items).count(np.modf) == 2
    s = Sketch(x=FLOATS)
    pairs = [s.call(np.modf, s.values["x"], meta=(FLOATS, FLOATS)) for _ in range(2)]
    items = [
        s.graph.call(operator.getitem, (pair, 0), meta=FLOATS, can_fail=False) for pair in pairs
    ]
    assert s.left(items[0], s.call(np.sqrt, items[1])).count(np.modf) == 1


def test_one_result_that_gets_out_serves_the_other_too():
    s = Sketch(x=FLOATS)
    one, two = (s.call(np.sqrt, s.values["x"]) for _ in range(2))
    total = s.call(np.add.reduce, two, meta=NUMBER)
    assert s.left(two, total) == [np.sqrt, np.add.reduce]
    assert s.graph.outputs == (one, total)


def test_equal_views_are_one_even_if_they_are_written():
    s = Sketch(x=FLOATS)
    x = s.values["x"]
    s.write(s.view(operator.getitem, x, slice(1, None)), 0, 1.0)
    s.write(s.view(operator.getitem, x, slice(1, None)), 1, 2.0)
    assert s.left().count(operator.getitem) == 1


def test_two_views_that_get_out_are_two_objects():
    s = Sketch(x=FLOATS)
    views = [s.view(operator.getitem, s.values["x"], slice(1, None)) for _ in range(2)]
    assert s.left(*views).count(operator.getitem) == 2


@pytest.mark.parametrize(
    ("left", "right"),
    [(0.0, -0.0), (1, 1.0), (1, True), (np.float32(1), np.float64(1)), (float, int), (None, ...)],
)
def test_constants_that_are_equal_but_not_the_same_keep_two_calls(left, right):
    s = Sketch(x=FLOATS)
    one, two = (s.call(np.add, s.values["x"], number) for number in (left, right))
    assert s.left(s.call(np.add, one, two)).count(np.add) == 3


def test_the_same_nan_is_the_same_constant():
    s = Sketch(x=FLOATS)
    one, two = (s.call(np.add, s.values["x"], number) for number in (np.nan, float("nan")))
    assert s.left(s.call(np.multiply, one, two)).count(np.add) == 1


def test_draws_are_never_merged_nor_dropped():
    s = Sketch()
    one, two = (s.call(np.random.standard_normal, 3, draws=True, can_fail=False) for _ in range(2))
    assert s.left(s.call(np.add, one, two)).count(np.random.standard_normal) == 2
    s = Sketch()
    s.call(np.random.standard_normal, 3, draws=True, can_fail=False)
    assert s.left() == [np.random.standard_normal]


def test_a_symbol_is_read_from_the_call_that_is_left():
    s = Sketch(k=ScalarMeta(int))
    k, size = s.values["k"], Symbol("m")
    one, two = (s.graph.call(operator.add, (k, 1), meta=ScalarMeta(int)) for _ in range(2))
    s.graph.bind_symbol(size, two)
    made = s.call(np.zeros, size.expr, meta=ArrayMeta((size.expr,), np.dtype(float)))
    assert s.left(made, one) == [operator.add, np.zeros]
    assert s.graph.symbols[size] == (one, None)
    assert s.graph.to_callable()(4)[0].shape == (5,)


def test_calls_of_constants_are_made_at_compile_time():
    s = Sketch(x=FLOATS)
    three = ArrayMeta((3,), np.dtype(float))
    line = s.call(np.linspace, 0, 1, 3, meta=three, can_fail=False)
    double = s.call(np.multiply, line, 2.0, meta=three)
    total = s.call(np.add.reduce, double, meta=NUMBER)
    assert s.left(s.call(np.add, s.values["x"], total)) == [np.add]
    assert s.graph.calls[0].args[1] == np.float64(3.0)


@pytest.mark.parametrize(
    "call",
    [
        (np.divide, 1.0, 0.0),  # warns
        (np.add, 1, "a"),  # raises
        (np.zeros, 1 << 20),  # large
        (np.mean, []),  # Python code of NumPy's warns
    ],
)
def test_constants_that_warn_raise_or_are_large_are_left_to_the_program(call):
    s = Sketch(x=FLOATS)
    target, *args = call
    meta = ArrayMeta((1 << 20,), np.dtype(float)) if target is np.zeros else NUMBER
    made = s.call(target, *args, meta=meta)
    assert s.left(s.call(np.add, s.values["x"], made)) == [target, np.add]


def test_a_constant_that_gets_out_or_is_written_is_made_anew_in_each_call():
    two = ArrayMeta((2,), np.dtype(float))
    s = Sketch()
    assert s.left(s.call(np.zeros, 2, meta=two, can_fail=False)) == [np.zeros]
    s = Sketch()
    made = s.call(np.zeros, 2, meta=two, can_fail=False)
    s.write(made, 0, 1.0)
    assert s.left(s.call(np.add.reduce, made, meta=NUMBER)).count(np.zeros) == 1
    s = Sketch()
    made = s.call(np.zeros, 2, meta=two, can_fail=False)
    assert s.left(s.view(operator.getitem, made, slice(1, None))).count(np.zeros) == 1


def simplified(meta, build, *, leak=False):
    """The targets that are left of `build(sketch, packed value)`, which is used by a sum."""
    s = Sketch(x=meta)
    packed = s.call(np.square, s.values["x"], meta=meta)
    found = build(s, packed)
    number = ArrayMeta((), meta.dtype, is_scalar=True)
    outputs = (found,) if leak else (s.call(np.add.reduce, found, meta=number),)
    return s.left(*outputs, passes=(simplify, eliminate_dead_code))[1:]


def neg(s, value, meta):
    return s.call(operator.neg, value, meta=meta, can_fail=False)


@pytest.mark.parametrize(
    ("meta", "build", "left"),
    [
        (FLOATS, lambda s, v: neg(s, neg(s, v, FLOATS), FLOATS), []),
        (FLOATS, lambda s, v: s.call(np.absolute, neg(s, v, FLOATS), can_fail=False), [np.absolute]),
        (FLOATS, lambda s, v: s.call(np.abs, s.call(np.abs, v, can_fail=False), can_fail=False), [np.absolute]),
        (FLOATS, lambda s, v: s.call(np.multiply, v, 1), [np.multiply]),
        (FLOATS, lambda s, v: s.call(np.add, v, 0), [np.add]),
        (FLOATS, lambda s, v: s.call(np.add, v, neg(s, v, FLOATS)), [operator.neg, np.add]),
        (INTS, lambda s, v: s.call(np.multiply, v, 1, meta=INTS, can_fail=False), []),
        (INTS, lambda s, v: s.call(np.add, v, 0, meta=INTS, can_fail=False), []),
        (INTS, lambda s, v: s.call(np.add, v, False, meta=INTS, can_fail=False), [np.add]),
        (INTS, lambda s, v: s.call(np.add, v, neg(s, v, INTS), meta=INTS, can_fail=False), [np.subtract]),
        (INTS, lambda s, v: s.call(np.multiply, neg(s, v, INTS), neg(s, v, INTS), meta=INTS), [np.multiply]),
        (INTS, lambda s, v: s.call(np.invert, s.call(np.invert, v, meta=INTS, can_fail=False), meta=INTS, can_fail=False), []),
        (COMPLEX, lambda s, v: s.call(np.conj, s.call(np.conj, v, meta=COMPLEX, can_fail=False), meta=COMPLEX, can_fail=False), []),
        (MATRIX, lambda s, v: s.call(np.sqrt, s.view(TRANSPOSE, s.view(TRANSPOSE, v, meta=MATRIX), meta=MATRIX), meta=MATRIX), [np.sqrt]),
    ],
)  # fmt: skip
def test_what_algebra_leaves(meta, build, left):
    assert simplified(meta, build)[:-1] == left


def test_a_rewrite_returns_no_operand_where_numpy_would_have_allocated():
    for meta, build in (
        (FLOATS, lambda s, v: neg(s, neg(s, v, FLOATS), FLOATS)),
        (INTS, lambda s, v: s.call(np.add, v, 0, meta=INTS, can_fail=False)),
    ):
        assert simplified(meta, build, leak=True) != []
        s = Sketch(x=meta)  # nor an input in the place of new memory: its layout may be another
        found = build(s, s.values["x"])
        number = ArrayMeta((), meta.dtype, is_scalar=True)
        assert len(s.left(s.call(np.add.reduce, found, meta=number))) > 1


def test_a_written_operand_is_not_read_later_than_it_was():
    s = Sketch(x=INTS)
    packed = s.call(np.square, s.values["x"], meta=INTS)
    negative = neg(s, packed, INTS)
    s.write(packed, 0, 5)
    assert np.subtract not in s.left(s.call(np.add, s.values["x"], negative, meta=INTS))


# Edges and lint


def test_a_read_stays_on_its_side_of_a_write():
    s = Sketch(x=FLOATS)
    x = s.values["x"]
    before = s.call(np.sqrt, x, can_fail=False)
    write = s.write(x, 0, 1.0)
    after = s.call(np.sqrt, x, can_fail=False)
    output = s.graph.output((before, after))
    edges = dependencies(s.graph)
    assert before in edges[write]
    assert write in edges[after]
    s.graph.reorder([x, after, write, before, output])
    assert check(s.graph) == [
        f"{after.name} must come after {write.name}", f"{write.name} must come after {before.name}",
    ]  # fmt: skip


def test_what_gives_its_operand_back_reads_it_on_its_side_of_a_write():
    s = Sketch()
    own = s.call(np.zeros, 3)
    checked = s.call(np.asarray_chkfinite, own, view_of=own, alias="same")
    write = s.write(own, 0, np.nan)
    write.visible = False  # the graph's own memory: only the read keeps them in order
    s.graph.output((checked,))
    assert checked in dependencies(s.graph)[write]


def test_a_call_that_can_fail_stays_on_its_side_of_a_visible_effect():
    s = Sketch(x=FLOATS, y=FLOATS)
    own = s.call(np.zeros, N.expr, can_fail=False)
    fails = s.call(np.sqrt, own)
    write = s.write(s.values["x"], 0, 1.0)
    s.graph.output((fails,))
    assert fails in dependencies(s.graph)[write]


def test_an_inserted_node_belongs_where_it_was_inserted():
    s = Sketch(x=FLOATS)
    x = s.values["x"]
    first = s.write(x, 0, 1.0)
    read = s.call(np.sqrt, x, can_fail=False)
    s.write(x, 0, 2.0)
    s.graph.output((read,))
    between = s.graph.call(operator.setitem, (x, 1, 3.0), meta=None, writes=(x,), before=read)
    s.graph.lint()
    assert (first.effect_order, between.effect_order) == (1, 2)
    assert between in dependencies(s.graph)[read]
    assert s.graph.to_callable()(np.ones(2))[0].tolist() == [1.0, np.sqrt(3.0)]


def test_reorder_takes_the_nodes_of_the_graph_only():
    s = Sketch(x=FLOATS)
    s.graph.output(())
    with pytest.raises(InternalError, match="reorder"):
        s.graph.reorder(s.graph.nodes[:1])


def test_schedule_is_the_same_for_the_same_key():
    s = Sketch(x=FLOATS)
    values = [s.call(np.sqrt, s.values["x"], can_fail=False) for _ in range(5)]
    s.graph.output(tuple(values))
    order = {node: random.Random(3).random() for node in s.graph.nodes}
    schedule(s.graph, lambda node: -order[node])
    once = list(s.graph.nodes)
    schedule(s.graph, lambda node: -order[node])
    assert once == s.graph.nodes


def test_merging_and_folding_report_how_much_they_did():
    s = Sketch(x=FLOATS)
    one, two = (s.call(np.sqrt, s.values["x"]) for _ in range(2))
    number = s.call(np.sqrt, 4.0, meta=NUMBER)
    s.graph.output((s.call(np.add, one, s.call(np.multiply, two, number)),))
    assert fold_constants(s.graph) == 1
    assert merge_common_subexpressions(s.graph) == 1
    assert eliminate_dead_code(s.graph) == 0
