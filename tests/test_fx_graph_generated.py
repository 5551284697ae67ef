"""Generated graphs: direct NumPy, the interpreter and the generated code agree bit for bit, also after a failure."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bcjit.dims import Expr
from bcjit.fx_graph import Graph, Interpreter, NodeKind, locate_failure
from bcjit.fx_graph.codegen import ForcedFailure
from tests.graph_kit import agree, programs, start


@given(programs())
def test_code_interpreter_and_numpy_agree(program):
    with np.errstate(all="ignore"):
        inputs = start(program)
        agree(program, Interpreter(program.graph).run(*inputs), inputs)
        function = program.graph.to_callable()
        for _ in range(2):
            inputs = start(program)
            agree(program, function(*inputs), inputs)
        inputs = start(program)
        agree(program, program.graph.to_callable(keep=program.graph.calls)(*inputs), inputs)


@given(programs(), st.data())
def test_run_can_be_resumed_from_the_values_of_a_failure(program, data):
    graph = program.graph
    at = data.draw(st.integers(0, graph.count))
    step = (*graph.calls, graph.output_node)[at]
    function = graph.to_callable(force_failure_at=at, keep=graph.calls)
    inputs = start(program)
    with np.errstate(all="ignore"):
        with pytest.raises(ForcedFailure) as caught:
            function(*inputs)
        node, values = locate_failure(caught.value, function)
        assert node is step
        rest = Interpreter(graph)
        rest.values = values
        for later in graph.nodes[graph.nodes.index(node) :]:
            if later.kind is NodeKind.CALL:
                args = tuple(rest.fetch(arg) for arg in later.args)
                kwargs = {key: rest.fetch(arg) for key, arg in later.kwargs.items()}
                rest.values[later] = rest.run_node(later, args, kwargs)
        agree(program, tuple(rest.fetch(output) for output in graph.outputs), inputs)


@given(programs(), st.data())
def test_truncated_graph_is_the_shorter_graph(program, data):
    graph = program.graph
    where = data.draw(st.integers(0, len(graph.nodes)))
    again, twins, marks = Graph(), {}, []

    def twin(leaf):
        return twins.get(leaf, leaf) if not isinstance(leaf, list | dict | np.ndarray) else leaf

    for node in graph.nodes:
        marks.append((again.mark(), again.text()))
        if node.kind is NodeKind.INPUT:
            twins[node] = again.input(node.name, node.meta[0])
        elif node.kind is NodeKind.CALL and not any(isinstance(arg, Expr) for arg in node.args):
            twins[node] = again.call(
                node.target, tuple(twins.get(a, a) if not isinstance(a, tuple | slice) else a for a in node.args),
                meta=node.meta, multi=False,
            )  # fmt: skip
    marks.append((again.mark(), again.text()))
    mark, text = marks[where]
    again.truncate(mark)
    assert again.text() == text
    assert all(user in again.nodes for node in again.nodes for user in node.users)


def test_generated_programs_have_writes_views_and_nesting():
    """A floor under the generator: it must not drift to programs that test nothing."""
    found = set()

    @given(programs())
    def look(program):
        source = program.graph.source()
        found.update(
            name
            for name, is_there in {
                "effect": any(node.has_effect for node in program.graph.calls),
                "view": any(node.view_of for node in program.graph.calls),
                "symbol": ".shape[" in source,
                "del": "; del " in source,
                "nested": source.count("\n") - 2 - source.count(".shape[") < program.graph.count,
                "long": program.graph.count >= 8,
            }.items()
            if is_there
        )

    look()
    assert found == {"effect", "view", "symbol", "del", "nested", "long"}
