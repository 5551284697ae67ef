"""Generated loops and branches: the interpreter and the generated code agree, also after a failure."""

from __future__ import annotations

import functools
import operator
import textwrap

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bcjit.backends.testing import assert_text
from bcjit.errors import InternalError
from bcjit.fx_graph import (
    PASSES,
    Graph,
    Interpreter,
    NodeKind,
    eliminate_dead_code,
    locate_failure,
    optimize,
    schedule,
)
from bcjit.fx_graph.codegen import ForcedFailure
from tests.graph_kit import same, sharing
from tests.structured_kit import (
    ARRAY,
    BOOL,
    FLOAT,
    INT,
    N,
    fresh_inputs,
    structured_graphs,
    values_before,
)
from tests.structured_samples import fibonacci, item, search, sum_of_positive, two_buffers

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def agree(graph, run):
    """Compare the results, the inputs after, what shares memory, and the random stream."""
    with np.errstate(all="ignore"):
        wanted_inputs = fresh_inputs()
        wanted = Interpreter(graph).run(*wanted_inputs)
        stream = np.random.random()
        inputs = fresh_inputs()
        outputs = run(*inputs)
    for got, value in zip([*outputs, *inputs], [*wanted, *wanted_inputs], strict=True):
        same(got, value)
    assert sharing(outputs, inputs) == sharing(wanted, wanted_inputs)
    assert np.random.random() == stream


@settings(max_examples=60)
@given(structured_graphs())
def test_code_and_interpreter_agree(graph):
    function = graph.to_callable()
    agree(graph, function)
    agree(graph, function)
    agree(graph, graph.to_callable(keep=graph.all_calls))


@settings(max_examples=60)
@given(structured_graphs(), st.data())
def test_failure_anywhere_gives_the_values_so_far(graph, data):
    at = data.draw(st.integers(0, len(graph.steps)))
    node = (*graph.steps, graph.output_node)[at]
    nodes = [
        one
        for g in graph.nested()
        for one in g.nodes
        if one.kind is not NodeKind.OUTPUT and not one.bodies
    ]
    keep = data.draw(st.sampled_from([None, "all"])) and nodes
    if keep is None:
        for g in graph.nested():
            g.keep.update(
                data.draw(st.lists(st.sampled_from(g.nodes[:-1]), max_size=2))
                if len(g.nodes) > 1
                else ()
            )
    function = graph.to_callable(force_failure_at=at, keep=keep)
    kept = {one for g in graph.nested() for one in g.keep} if keep is None else set(keep)
    if node.kind is NodeKind.OUTPUT:
        wanted = None
    else:
        with np.errstate(all="ignore"):
            wanted = values_before(graph, node, fresh_inputs())
        if wanted is None:
            agree(graph, function)
            return
    with np.errstate(all="ignore"), pytest.raises(ForcedFailure) as caught:
        function(*fresh_inputs())
    located, values = locate_failure(caught.value, function)
    assert located is node
    if wanted is None:
        return
    for one, value in values.items():
        same(value, wanted[one])
    assert {
        one for one in wanted if one in kept and one.has_value and not one.bodies
    } <= values.keys()


@settings(max_examples=60)
@given(structured_graphs(), st.sampled_from([*PASSES, optimize]))
def test_passes_change_nothing(graph, one):
    with np.errstate(all="ignore"):
        wanted = fresh_inputs(), Interpreter(graph)
        outputs = wanted[1].run(*wanted[0])
    stream = np.random.random()
    for inner in tuple(graph.nested()) if one is not optimize else (graph,):
        one(inner)
    graph.lint()
    for run in (Interpreter(graph).run, graph.to_callable()):
        with np.errstate(all="ignore"):
            inputs = fresh_inputs()
            again = run(*inputs)
        for got, value in zip([*again, *inputs], [*outputs, *wanted[0]], strict=True):
            same(got, value)
        assert sharing(again, inputs) == sharing(outputs, wanted[0])
        assert np.random.random() == stream


@settings(max_examples=30)
@given(structured_graphs(), st.randoms(use_true_random=False))
def test_scheduling_changes_nothing(graph, random):
    with np.errstate(all="ignore"):
        wanted = fresh_inputs()
        outputs = Interpreter(graph).run(*wanted)
        for inner in graph.nested():
            schedule(inner, lambda node: random.random())
        graph.lint()
        inputs = fresh_inputs()
        again = graph.to_callable()(*inputs)
    for got, value in zip([*again, *inputs], [*outputs, *wanted], strict=True):
        same(got, value)


SOURCES = {
    sum_of_positive: """
        s = const_float
        s0 = x.shape[0]
        for i in range(s0):
            if x[i] > 0.0:
                s = s + x[i]
        return (s,)
    """,
    search: """
        s = const_float
        found = 0
        for i in range(3):
            status_1 = 0
            for j in range(3):
                value = x[i, j]
                if value < 0.0:
                    status_1 = 1
                    break
                s = s + value
            found = status_1
            if found:
                break
        return (found, s)
    """,
    fibonacci: """
        a = 0
        b = 1
        while a < n:
            a, b = b, a + b
        return (a, b)
    """,
    functools.partial(two_buffers, visible=False): """
        u = np_copy(x)
        v = np_zeros_like(x)
        for i in range(4):
            add = np_add(np_sin(u), 1.0, out=v)
            v = u
            u = add
            del add
        return (u,)
    """,
    functools.partial(two_buffers, visible=True): """
        u = np_copy(x)
        v = x
        for i in range(4):
            sin = np_sin(u)
            add = np_add(sin, 1.0, out=v); del sin
            v = u
            u = add
            del add
        return (u,)
    """,
}


@pytest.mark.parametrize("make", SOURCES, ids=lambda make: getattr(make, "__name__", "two_buffers"))
def test_source_is_what_people_write(make):
    graph = make()
    graph.lint()
    assert textwrap.dedent(graph.source().partition("\n")[2]) == textwrap.dedent(SOURCES[make])[1:]


def test_text_of_loops_and_branches():
    assert_text(
        search(),
        """
        graph(x: float64[3, 3]):
          loop_1 = for i in range(0, 3, 1) carrying (s = 0.0) with (of = x):  (int, float|float64)
            loop = for j in range(0, 3, 1) carrying (s_1 = s) with (of_1 = of, i_1 = i):  (int, float|float64)
              value = of_1[i_1, j] scalar float64
              lt = operator.lt(value, 0.0) bool
              cond = if lt with (s_2 = s_1, value_1 = value):  (int, float|float64)
                give 1, s_2
              else with (s_3 = s_1, value_2 = value):
                add = operator.add(s_3, value_2)  scalar float64
                give 0, add
              status = cond[0] int
              s_4 = cond[1] float|float64
              next status, s_4
            status_1 = loop[0] int
            s_5 = loop[1] float|float64
            next status_1, s_5
          found = loop_1[0] int
          total = loop_1[1] float|float64
          return (found, total)
        """,
    )
    assert "loop = repeat carrying (a = 0, b = 1) with (n_1 = n):" in fibonacci().text()


def test_samples_give_what_their_programs_give():
    x = np.array([1.0, -2.0, 3.0])
    assert sum_of_positive().to_callable()(x) == (4.0,)
    matrix = np.arange(9.0).reshape(3, 3)
    assert search().to_callable()(matrix) == (0, 36.0)
    matrix[1, 2] = -1.0
    assert search().to_callable()(matrix) == (1, 10.0)
    assert fibonacci().to_callable()(50) == (55, 89)


def test_more_values_than_can_be_swapped_go_round():
    graph, names = Graph(), ("a", "b", "c", "d", "e")
    body = graph.subgraph()
    body.input("i", INT)
    given = [body.input(name, INT) for name in names]
    body.output((0, *given[1:], given[0]))
    loop = graph.loop((0, 2, 1), (1, 2, 3, 4, 5), (), body, metas=(INT,) * 5)
    graph.output(tuple(item(graph, loop, k, "r") for k in range(1, 6)))
    assert graph.to_callable()() == (3, 4, 5, 1, 2)
    assert "next_a = b" in graph.source()


def running_sum():
    """A graph with a loop over an array, and in it a branch that writes."""
    graph = Graph()
    x = graph.input("x", ARRAY)
    graph.bind_symbol(N, x, 0)
    body = graph.subgraph()
    i, s, of = (body.input(name, meta) for name, meta in (("i", INT), ("s", INT), ("of", ARRAY)))
    test = body.call(operator.lt, (i, 1), meta=BOOL, can_fail=False)
    then, orelse = body.subgraph(), body.subgraph()
    inner = then.input("of", ARRAY)
    then.call(operator.setitem, (inner, 0, 7.0), meta=None, writes=(inner,))
    then.output((1,))
    orelse.input("of", ARRAY)
    orelse.output((0,))
    cond = body.cond(test, (of,), then, orelse, metas=(INT,), writes=(of,))
    status = body.call(operator.getitem, (cond, 0), meta=INT, can_fail=False, name="status")
    body.output((status, body.call(operator.add, (s, i), meta=INT, can_fail=False)))
    loop = graph.loop((0, N.expr, 1), (0,), (x,), body, metas=(INT,), writes=(x,))
    result = graph.call(operator.getitem, (loop, 1), meta=INT, can_fail=False, name="result")
    graph.output((result,))
    return graph, loop, cond


def drop_output(graph, loop, cond):
    body = loop.bodies[0]
    body.set_operands(body.nodes[-1], body.nodes[-1].args[:1])


def more_operands(graph, loop, cond):
    graph.set_operands(loop, (*loop.args[:2], (*loop.args[2], 1)))


def no_status(graph, loop, cond):
    body = loop.bodies[0]
    body.set_operands(body.nodes[-1], (0.5, body.nodes[-1].args[1]))


def other_kind(graph, loop, cond):
    loop.meta = (INT, FLOAT)


def silent_write(graph, loop, cond):
    loop.writes, loop.effect_order = (), 0


def silent_inner_write(graph, loop, cond):
    cond.writes, cond.effect_order = (), 0


def silent_draw(graph, loop, cond):
    cond.bodies[0].calls[0].draws = True


def whole_result(graph, loop, cond):
    graph.set_operands(graph.nodes[-1], (loop,))


def beyond(graph, loop, cond):
    graph.set_operands(graph.calls[-1], (loop, 2))


def open_body(graph, loop, cond):
    body = loop.bodies[0]
    body.set_operands(body.calls[0], (graph.nodes[0], 1))


def open_symbol(graph, loop, cond):
    body = loop.bodies[0]
    body.set_operands(body.calls[0], (body.inputs[0], N.expr))


def wrong_form(graph, loop, cond):
    graph.set_operands(loop, loop.args[1:])


def same_name(graph, loop, cond):
    loop.bodies[0].inputs[0].name = "x"


def float_index(graph, loop, cond):
    loop.bodies[0].inputs[0].meta = (FLOAT,)


BREAKAGES = {
    drop_output: "body 0 of loop: it has 1 outputs, but loop gives 2",
    more_operands: "body 0 of loop: it has 3 inputs, but is handed 4 values",
    no_status: "body 0 of loop: its first output is the status, and no int",
    other_kind: "body 0 of loop: s is int, but loop carries float|float64",
    silent_write: "loop does not say that it writes x",
    silent_inner_write: "body 0 of loop: cond does not say that it writes of",
    silent_draw: "cond does not say that its bodies draw",
    whole_result: "output_3 uses loop, whose results are read by operator.getitem",
    beyond: "result reads result 2 of loop, which has 2",
    open_body: "lt uses x, which is no node of this graph",
    open_symbol: "lt uses symbol s0, which no node defines",
    wrong_form: "loop has not the operands and bodies of a loop",
    same_name: "a node in a body of loop has the name x of another one",
    float_index: "body 0 of loop: i is the index, and no int",
}


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda function: function.__name__)
def test_broken_loop_is_named(breakage):
    parts = running_sum()
    parts[0].lint()
    breakage(*parts)
    with pytest.raises(InternalError) as caught:
        parts[0].lint()
    assert BREAKAGES[breakage] in str(caught.value)


def test_loop_that_nobody_uses_goes_if_it_cannot_be_noticed():
    def graph_of(over, *, fails):
        graph = Graph()
        body = graph.subgraph()
        i, s = body.input("i", INT), body.input("s", INT)
        body.output((0, body.call(operator.add, (s, i), meta=INT, can_fail=fails)))
        graph.loop(over, (0,), (), body, metas=(INT,))
        graph.output(())
        return graph

    assert eliminate_dead_code(graph_of((0, 3, 1), fails=False)) == 1
    assert eliminate_dead_code(graph_of((0, 3, 1), fails=True)) == 0
    assert eliminate_dead_code(graph_of((0, 3, 0), fails=False)) == 0


def test_generated_graphs_have_what_loops_and_branches_have():
    """A floor under the generator: it must not drift to graphs that test nothing."""
    found = set()

    @settings(max_examples=250)
    @given(structured_graphs())
    def look(graph):
        source = graph.source()
        lines = [line.strip() for line in source.splitlines()]
        found.update(
            name
            for name, is_there in {
                "for": "for " in source,
                "while True": "while True:" in source,
                "break": "break" in lines,
                "else": "else:" in lines,
                "loop in a loop": source.count("for ") > 1 and "        for " in source,
                "together": any(
                    ", " in line.partition(" = ")[0] and line[0] != "d"
                    for line in lines
                    if " = " in line
                ),
                "in place": " += " in source,
                "draw": "standard_normal" in source,
                "status": "status" in source or "r_int = 0" in source,
                "del in a turn": any(
                    line[:8].isspace() and "del " in line for line in source.splitlines()
                ),
                "size in front": "s0 = " in source,
            }.items()
            if is_there
        )

    look()
    assert found >= {
        "for", "while True", "break", "else", "loop in a loop", "together", "in place", "draw", "del in a turn",
        "size in front",
    }  # fmt: skip
