"""The dataflow form of loops and branches gives what the interpreter gives."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings

from bcjit.fx_graph import Graph, dataflow
from bcjit.meta import ScalarMeta
from tests.structured_kit import BOOL, INT, structured_graphs
from tests.structured_samples import fibonacci, item, search, sum_of_positive, two_buffers
from tests.test_fx_graph_structured import agree

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@settings(max_examples=60, deadline=None)
@given(structured_graphs())
def test_generated_graphs_agree_with_the_interpreter(graph):
    agree(graph, graph.to_dataflow())


def test_a_loop_without_a_turn_and_one_with_branches():
    flow = sum_of_positive().to_dataflow()
    assert flow(np.zeros(0)) == (0.0,)
    assert flow(np.array([1.0, -2.0, 4.0])) == (5.0,)


def test_a_status_ends_nested_loops_early():
    flow = search().to_dataflow()
    x = np.ones((3, 3))
    assert flow(x) == (0, 9.0)
    x[1, 1] = -1.0
    assert flow(x) == (1, 4.0)


def test_a_loop_ended_by_its_status_alone():
    assert fibonacci().to_dataflow()(50) == (55, 89)


@pytest.mark.parametrize("visible", [True, False])
def test_writes_come_in_program_order(visible):
    got, wanted = np.array([0.5, -1.0, 2.0]), np.array([0.5, -1.0, 2.0])
    graph = two_buffers(visible=visible)
    outputs, expected = graph.to_dataflow()(got), graph.to_callable()(wanted)
    assert [one.tobytes() for one in outputs] == [one.tobytes() for one in expected]
    assert got.tobytes() == wanted.tobytes()


TEXT = """\
start = Input()
p = Input()
cond_test = bool(p)
switch = Switch(cond_test, cond_test)
switch_2 = Switch(start, cond_test)
note = note()  after switch:true
note_1 = note()  after switch:false
merge = Merge(note, note_1)
merge_2 = Merge(switch_2:true, switch_2:false)
return (merge,)
"""


def branch(ran):
    graph = Graph()
    p = graph.input("p", BOOL)
    sides = [graph.subgraph(), graph.subgraph()]
    for k, side in enumerate(sides):

        def note(k=k):
            ran.append(k)
            return k

        side.output((side.call(note, meta=INT, name="note"),))
    cond = graph.cond(p, (), *sides, metas=(ScalarMeta(int),))
    graph.output((item(graph, cond, 0, "r"),))
    return graph


def test_only_the_side_taken_runs():
    ran = []
    flow = branch(ran).to_dataflow()
    assert (flow(True), flow(False), ran) == ((0,), (1,), [0, 1])


def test_how_many_of_each_primitive():
    counts = fibonacci().to_dataflow().counts()
    kinds = ("Enter", "NextIteration", "Exit", "LoopCond", "Switch", "Merge")
    # The loop carries status, order, a and b; n is invariant. The branch splits test, order, a and b, and merges status, a, b and order.
    assert [counts[kind] for kind in kinds] == [5, 4, 4, 1, 8, 8]


def test_text_is_one_node_a_line():
    text = branch([]).to_dataflow().text()
    assert text.replace(f"{__name__}.", "") == TEXT.rstrip()


def test_the_example_runs():
    assert doctest.testmod(dataflow).failed == 0
