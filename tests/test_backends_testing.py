"""The counting, recording and failing backends, and comparing a graph's text."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from bcjit.backends.testing import (
    CountingBackend,
    FailingBackend,
    RecordingBackend,
    assert_text,
)
from bcjit.errors import ArgumentError, BackendNotFoundError, SourceLine
from bcjit.fx_graph import Graph, locate_failure
from bcjit.fx_graph.codegen import ForcedFailure
from bcjit.meta import ArrayMeta

VECTOR = ArrayMeta((3,), np.dtype(float))


def sample_graph():
    graph = Graph()
    x = graph.input("x", VECTOR)
    y = graph.call(np.add, (x, 1.0), meta=VECTOR, line=SourceLine("/a/model.py", 3, "f"))
    z = graph.call(operator.mul, (y, y), meta=VECTOR)
    graph.output((z,))
    return graph


def test_counting_backend_counts_graphs_nodes_and_calls():
    counter = CountingBackend()
    compiled = counter(sample_graph(), ())
    counter(sample_graph(), ())
    assert compiled(np.zeros(3))[0].tolist() == [1.0] * 3
    compiled(np.zeros(3))
    assert (counter.graph_count, counter.node_count, counter.call_count) == (2, 4, 2)


def test_recording_backend_keeps_graphs_and_inputs():
    recorder = RecordingBackend()
    first, second, x = sample_graph(), sample_graph(), np.zeros(3)
    recorder(first, [x])
    recorder(second, ())
    assert recorder.graphs == [first, second]
    assert recorder.example_inputs[0][0] is x


def test_wrapping_backends_nest_and_take_names():
    recorder = RecordingBackend()
    counter = CountingBackend(recorder)
    counter(sample_graph(), ())
    assert (len(recorder.graphs), counter.graph_count) == (1, 1)
    with pytest.raises(BackendNotFoundError):
        CountingBackend("no_such_backend")


@pytest.mark.parametrize("at", [0, 1, 2])
def test_failing_backend_fails_before_each_call_and_the_output(at):
    graph = sample_graph()
    compiled = FailingBackend(at)(graph, ())
    with pytest.raises(ForcedFailure) as caught:
        compiled(np.zeros(3))
    node, values = locate_failure(caught.value, compiled)
    assert node is (*graph.calls, graph.output_node)[at]
    assert list(values) == [*graph.inputs, *graph.calls[:at]]


def test_failing_backend_does_not_fail_beyond_the_graph():
    assert FailingBackend(3)(sample_graph(), ())(np.zeros(3))[0].tolist() == [1.0] * 3


def test_failing_backend_wants_an_index():
    with pytest.raises(ArgumentError, match="at: the index of a call"):
        FailingBackend(-1)


def test_failure_is_located_through_a_counting_backend():
    graph = sample_graph()
    compiled = CountingBackend(FailingBackend(1))(graph, ())
    with pytest.raises(ForcedFailure) as caught:
        compiled(np.zeros(3))
    assert locate_failure(caught.value, compiled)[0] is graph.calls[1]


def test_assert_text_ignores_padding_indentation_and_lines():
    assert_text(
        sample_graph(),
        """
        graph(x: float64[3]):
          add = numpy.add(x, 1.0)  float64[3]
          mul = operator.mul(add, add)  float64[3]
          return (mul,)
        """,
    )


def test_assert_text_compares_lines_when_asked():
    text = sample_graph().text()
    assert "# model.py:3" in text
    assert_text(sample_graph(), text, lines=True)
    with pytest.raises(AssertionError):
        assert_text(sample_graph(), text.replace("model.py:3", "model.py:4"), lines=True)


def test_assert_text_shows_the_difference():
    with pytest.raises(AssertionError, match=r"-  return \(add,\)\n\+  return \(mul,\)"):
        assert_text(sample_graph(), sample_graph().text().replace("(mul,)", "(add,)"))
