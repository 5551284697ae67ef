"""Generated loops and branches: the interpreter and the generated code agree, also after a failure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bcjit.fx_graph import Interpreter, NodeKind, locate_failure
from bcjit.fx_graph.codegen import ForcedFailure
from tests.graph_kit import same, sharing
from tests.structured_kit import fresh_inputs, structured_graphs, values_before

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
    at = data.draw(st.integers(0, graph.count))
    node = (*graph.all_calls, graph.output_node)[at]
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


def test_generated_graphs_have_what_loops_and_branches_have():
    """A floor under the generator: it must not drift to graphs that test nothing."""
    found = set()

    @given(structured_graphs())
    def look(graph):
        source = graph.source()
        lines = [line.strip() for line in source.splitlines()]
        found.update(
            name
            for name, is_there in {
                "for": "for " in source,
                "while True": "while True:" in source,
                "while": any(line.startswith("while ") and "True" not in line for line in lines),
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
        "for", "while True", "while", "break", "else", "loop in a loop", "together", "in place", "draw", "del in a turn",
        "size in front",
    }  # fmt: skip
