"""Lint passes good graphs and names every kind of mistake: one row of the table each."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from bcjit.dims import Symbol
from bcjit.errors import InternalError
from bcjit.fx_graph import Graph, Node, NodeKind
from bcjit.fx_graph.lint import CHECKS, check
from bcjit.meta import ArrayMeta, ScalarMeta

N = Symbol("s0")
VECTOR = ArrayMeta((N.expr,), np.dtype(float))


def good_graph():
    graph = Graph()
    x = graph.input("x", VECTOR)
    graph.bind_symbol(N, x, 0)
    k = graph.input("k", ScalarMeta(int))
    zeros = graph.call(np.zeros, (N * 2,), meta=VECTOR)
    view = graph.call(
        operator.getitem, (zeros, slice(0, N.expr)), meta=VECTOR, view_of=zeros, alias="view"
    )
    set_x = graph.call(operator.setitem, (x, 0, k), meta=None, writes=(x,))
    iadd = graph.call(
        operator.iadd, (view, x), meta=VECTOR, view_of=view, alias="same", writes=(view,)
    )
    output = graph.output((iadd,))
    return graph, {
        "x": x, "k": k, "zeros": zeros, "view": view, "set_x": set_x, "iadd": iadd, "output": output,
    }  # fmt: skip


def foreign_operand(graph, nodes):
    other = Node(NodeKind.CALL, "other", np.sin, meta=(VECTOR,))
    graph.set_operands(nodes["zeros"], (other,))


def use_before_definition(graph, nodes):
    graph.nodes.remove(nodes["zeros"])
    graph.nodes.insert(3, nodes["zeros"])


def node_twice(graph, nodes):
    graph.nodes.insert(3, nodes["zeros"])


def same_name(graph, nodes):
    nodes["view"].name = "zeros"


def bad_name(graph, nodes):
    nodes["view"].name = "lambda"


def lost_user(graph, nodes):
    nodes["zeros"].users.clear()


def false_user(graph, nodes):
    nodes["k"].users[nodes["iadd"]] = None


def no_meta(graph, nodes):
    nodes["zeros"].meta = ()


def input_without_meta(graph, nodes):
    nodes["x"].meta = ()


def two_metas(graph, nodes):
    nodes["zeros"].meta = (VECTOR, VECTOR)


def meta_of_wrong_type(graph, nodes):
    nodes["zeros"].meta = ("float64",)


def use_of_nothing(graph, nodes):
    graph.set_operands(nodes["output"], (nodes["set_x"],))


def target_not_callable(graph, nodes):
    nodes["zeros"].target = "numpy.zeros"


def input_with_operands(graph, nodes):
    graph.set_operands(nodes["k"], (1,))


def call_with_body(graph, nodes):
    nodes["zeros"].bodies = (good_graph()[0],)


def broken_body(graph, nodes):
    body, inner = good_graph()
    inner["iadd"].target = None
    nodes["zeros"].kind = NodeKind.LOOP
    nodes["zeros"].bodies = (body,)


def unknown_symbol(graph, nodes):
    graph.set_operands(nodes["zeros"], (Symbol("s9") + 1,))


def bare_symbol(graph, nodes):
    graph.set_operands(nodes["zeros"], ([N],))


def symbol_of_foreign_node(graph, nodes):
    graph.symbols[N] = (Node(NodeKind.INPUT, "other", meta=(VECTOR,)), 0)


def symbol_without_axis(graph, nodes):
    graph.symbols[N] = (nodes["x"], 1)


def symbol_of_no_int(graph, nodes):
    graph.symbols[N] = (nodes["x"], None)


def symbol_of_later_node(graph, nodes):
    graph.symbols[N] = (nodes["view"], 0)


def write_of_no_operand(graph, nodes):
    nodes["set_x"].writes = (nodes["zeros"],)


def write_of_no_array(graph, nodes):
    nodes["set_x"].writes = (nodes["k"],)


def view_of_nothing(graph, nodes):
    nodes["view"].view_of = None


def fresh_view(graph, nodes):
    nodes["view"].alias = "fresh"


def view_of_no_operand(graph, nodes):
    nodes["view"].view_of = nodes["x"]


def effects_swapped(graph, nodes):
    graph.nodes.remove(nodes["set_x"])
    graph.nodes.insert(-1, nodes["set_x"])


def effect_without_order(graph, nodes):
    nodes["zeros"].draws = True


def output_not_last(graph, nodes):
    graph.input("late", VECTOR)


def two_outputs(graph, nodes):
    graph.output(())


def no_output(graph, nodes):
    graph.erase(nodes["output"])


def kept_foreign_node(graph, nodes):
    graph.keep.add(Node(NodeKind.CALL, "other", np.sin, meta=(VECTOR,)))


BREAKAGES = {
    foreign_operand: "zeros uses other, which is no node of this graph",
    use_before_definition: "getitem uses zeros before it is defined",
    node_twice: "a node is in the graph twice",
    same_name: "two nodes are named zeros",
    bad_name: "'lambda' is no valid name for a node",
    lost_user: "users of zeros are recorded as [], but are ['getitem']",
    false_user: "users of k are recorded as ['iadd', 'setitem'], but are ['setitem']",
    no_meta: "zeros has neither a meta nor an effect",
    input_without_meta: "x must have 1 meta, not 0",
    two_metas: "zeros has 2 metas, but is not multi",
    meta_of_wrong_type: "zeros has a meta of the wrong type",
    use_of_nothing: "setitem has no value, but is used by output",
    target_not_callable: "the target of zeros is not callable: str",
    input_with_operands: "k is of kind input, but has operands",
    call_with_body: "zeros is of kind call with 1 bodies",
    broken_body: "body 0 of zeros: the target of iadd is not callable: NoneType",
    unknown_symbol: "zeros uses symbol s9, which no node defines",
    bare_symbol: "zeros has the bare symbol s0 as an operand; its expr is meant",
    symbol_of_foreign_node: "symbol s0 is read from other, which is no node of this graph",
    symbol_without_axis: "symbol s0 is axis 1 of x, which has no such axis",
    symbol_of_no_int: "symbol s0 is the value of x, which is no Python int",
    symbol_of_later_node: "zeros uses symbol s0 before it is defined",
    write_of_no_operand: "setitem writes zeros, which is not among its operands",
    write_of_no_array: "setitem writes k, which is no array",
    view_of_nothing: "getitem has alias 'view' but is view of None",
    fresh_view: "getitem has alias 'fresh' but is view of zeros",
    view_of_no_operand: "getitem is a view of x, which is not among its operands",
    effects_swapped: "setitem has an effect that comes before those of the nodes above it",
    effect_without_order: "zeros has effect order 0",
    output_not_last: "there must be one output, and it must be the last node; outputs are at [6]",
    two_outputs: "there must be one output, and it must be the last node; outputs are at [6, 7]",
    no_output: "there must be one output, and it must be the last node; outputs are at []",
    kept_foreign_node: "other is kept, but is no node of this graph",
}


def test_good_graph_passes():
    good_graph()[0].lint()


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda function: function.__name__)
def test_broken_graph_is_named(breakage):
    graph, nodes = good_graph()
    breakage(graph, nodes)
    with pytest.raises(InternalError) as caught:
        graph.lint()
    assert BREAKAGES[breakage] in str(caught.value)


def test_every_check_is_tripped_by_some_breakage():
    tripped = set()
    for breakage in BREAKAGES:
        graph, nodes = good_graph()
        breakage(graph, nodes)
        tripped.update(one for one in CHECKS if list(one(graph)))
    assert tripped == set(CHECKS)


def test_graph_that_is_being_built_needs_no_output():
    graph, nodes = good_graph()
    graph.erase(nodes["output"])
    graph.lint(complete=False)
    assert len(check(graph)) == 1
