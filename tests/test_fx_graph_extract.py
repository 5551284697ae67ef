"""Parts of graphs as graphs: generated graphs cut anywhere give what they give whole, and stay as they were."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bcjit.backends.split import Split, count_leaves
from bcjit.debugging.compare import differences
from bcjit.dims import Symbol
from bcjit.fx_graph import Graph, NodeKind
from bcjit.fx_graph.extract import copy_graph, extract, units
from bcjit.meta import ArrayMeta, ScalarMeta
from tests.graph_kit import agree, programs, start
from tests.structured_kit import fresh_inputs, structured_graphs

VECTOR = ArrayMeta((3,), np.dtype(float))


@given(programs())
def test_copy_is_the_same_graph_with_nodes_of_its_own(program):
    made = copy_graph(program.graph)
    made.lint()
    assert made.text() == program.graph.text()
    assert not set(made.nodes) & set(program.graph.nodes)
    with np.errstate(all="ignore"):
        inputs = start(program)
        agree(program, made.to_callable()(*inputs), inputs)


@settings(max_examples=30)
@given(programs(), st.data())
def test_graph_cut_in_three_gives_what_it_gives_whole(program, data):
    graph = program.graph
    before = graph.text()
    count = len(units(graph))
    lo = data.draw(st.integers(0, count))
    hi = data.draw(st.integers(lo, count))
    seen = []

    def backend(piece, examples):
        piece.lint()
        seen.append(len(units(piece)))
        assert len(examples) == len(piece.inputs)
        return piece.to_callable()

    function = Split(graph, range(lo, hi), backend)
    with np.errstate(all="ignore"):
        for _ in range(2):
            inputs = start(program)
            agree(program, function(*inputs), inputs)
    assert seen == ([hi - lo] if hi > lo else [])  # compiled once
    assert graph.text() == before


@settings(max_examples=30)
@given(structured_graphs(), st.data())
def test_loops_and_branches_are_cut_inside(graph, data):
    count = count_leaves(graph)
    lo = data.draw(st.integers(0, count))
    hi = data.draw(st.integers(lo, count))
    given_ = []

    def backend(piece, _examples):
        piece.lint()
        given_.append(count_leaves(piece))
        return piece.to_callable()

    with np.errstate(all="ignore"):
        results = []
        for run in (graph.to_callable(), Split(graph, range(lo, hi), backend)):
            inputs = fresh_inputs()
            results.append((run(*inputs), inputs))
    assert not list(differences([("a run", *results)]))
    assert sum(given_) <= hi - lo  # a side that was not taken is not compiled


@settings(max_examples=30)
@given(structured_graphs())
def test_loops_and_branches_are_copied_whole(graph):
    made = copy_graph(graph)
    made.lint()
    assert made.text() == graph.text()
    assert not {n for g in made.nested() for n in g.nodes} & {n for g in graph.nested() for n in g.nodes}  # fmt: skip
    with np.errstate(all="ignore"):
        results = []
        for run in (graph.to_callable(), Split(graph, range(1), lambda g, _e: g.to_callable())):
            inputs = fresh_inputs()
            results.append((run(*inputs), inputs))
    assert not list(differences([("a run", *results)]))


def test_results_of_one_call_stay_with_it():
    graph = Graph()
    x = graph.input("x", VECTOR)
    both = graph.call(np.frexp, (x,), meta=(VECTOR, VECTOR))
    first = graph.call(operator.getitem, (both, 0), meta=VECTOR, can_fail=False)
    other = graph.call(np.sin, (first,), meta=VECTOR)
    second = graph.call(operator.getitem, (both, 1), meta=VECTOR, can_fail=False)
    graph.output((other, second))
    assert units(graph) == ((both, first, second), (other,))
    piece = extract(graph, units(graph)[0])
    assert piece.inputs == (x,)
    assert piece.outputs == (first, second)
    assert piece.nodes[both].target is np.frexp
    piece.graph.lint()


def test_sizes_that_a_part_needs_are_handed_in():
    size = Symbol("n")
    graph = Graph()
    x = graph.input("x", ArrayMeta((size.expr,), np.dtype(float)))
    n = graph.input("n", ScalarMeta(int))
    graph.bind_symbol(size, x, 0)
    other = Symbol("m")
    graph.bind_symbol(other, n)
    made = graph.call(np.zeros, (size.expr + other.expr,), meta=ArrayMeta((size.expr + other.expr,), np.dtype(float)))  # fmt: skip
    graph.output((made,))
    piece = extract(graph, [made])
    assert piece.inputs == (x, n)
    assert piece.graph.to_callable()(np.ones(2), 3)[0].shape == (5,)


def test_write_into_what_came_before_a_part_is_seen_from_it():
    graph = Graph()
    x = graph.input("x", VECTOR)
    own = graph.call(np.copy, (x,), meta=VECTOR)
    write = graph.call(operator.setitem, (own, 0, 1.0), meta=None, writes=(own,))
    write.visible = False  # nobody else has the copy
    graph.output((own,))
    assert extract(graph, [write]).graph.calls[0].visible
    assert not extract(graph, [own, write]).graph.calls[1].visible
    with pytest.raises(KeyError):
        extract(graph, [write], [x, own, graph.nodes[-1]])


def test_constants_go_with_what_uses_them():
    graph = Graph()
    table = graph.const(np.ones(3), VECTOR)
    x = graph.input("x", VECTOR)
    total = graph.call(np.add, (x, table), meta=VECTOR)
    graph.output((total, table))
    piece = extract(graph, [total])
    kinds = [node.kind for node in piece.graph.nodes]
    assert kinds == [NodeKind.INPUT, NodeKind.CONST, NodeKind.CALL, NodeKind.OUTPUT]
    assert list(itertools.chain(*Split(graph, range(0), None)(np.zeros(3)))) == [1.0] * 6
