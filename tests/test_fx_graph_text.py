"""The text and dot forms of a graph, inline."""

from __future__ import annotations

import operator
import re
from functools import partial

import numpy as np
import pytest

from bcjit.dims import Symbol
from bcjit.errors import SourceLine
from bcjit.fx_graph import Graph, NodeKind
from bcjit.fx_graph.printer import operand_text, target_name
from bcjit.meta import ArrayMeta, ScalarMeta

N = Symbol("s0")
VECTOR = ArrayMeta((N.expr,), np.dtype(float))
SCALAR = ArrayMeta((), np.dtype(float), is_scalar=True)
LINE = SourceLine("/home/user/model.py", 12, "f")


def sample_graph():
    graph = Graph()
    x = graph.input("x", VECTOR)
    y = graph.input("y", ScalarMeta(float))
    graph.bind_symbol(N, x, 0)
    table = graph.const(np.arange(4), ArrayMeta((4,), np.dtype(int)), name="table")
    add = graph.call(np.add, (x, y), {"dtype": np.dtype("f4")}, meta=VECTOR, line=LINE)
    taken = graph.call(np.take, (table, [0, N - 1]), meta=VECTOR)
    parts = graph.call(np.modf, (add,), meta=(VECTOR, VECTOR))
    first = graph.call(operator.getitem, (parts, 0), meta=VECTOR, view_of=parts, alias="same")
    ravel = graph.call(np.ravel, (first,), meta=VECTOR, view_of=first, alias="maybe")
    graph.call(
        operator.setitem, (x, (slice(0, N.expr), None), ravel), meta=None, writes=(x,), line=LINE
    )
    noise = graph.call(np.random.rand, (3,), meta=VECTOR, draws=True)
    total = graph.call(np.ndarray.sum, (noise,), {"axis": 0}, meta=SCALAR)
    graph.output((total, taken, N * 2))
    return graph


def test_text_shows_results_effects_and_lines():
    assert sample_graph().text() == (
        "graph(x: float64[s0], y: float):\n"
        "  table = <array int64[4]>                       int64[4]\n"
        "  add = numpy.add(x, y, dtype=dtype('float32'))  float64[s0]                         # model.py:12\n"
        "  take = numpy.take(table, [0, s0 - 1])          float64[s0]\n"
        "  modf = numpy.modf(add)                         (float64[s0], float64[s0])\n"
        "  getitem = modf[0]                              float64[s0], same as modf\n"
        "  ravel = numpy.ravel(getitem)                   float64[s0], maybe view of getitem\n"
        "  setitem: x[0:s0, None] = ravel                 writes x                            # model.py:12\n"
        "  rand = numpy.random.rand(3)                    float64[s0], draws\n"
        "  sum = numpy.ndarray.sum(rand, axis=0)          scalar float64\n"
        "  return (sum, take, 2*s0)"
    )


def test_text_does_not_change_the_graph():
    graph = sample_graph()
    before = list(graph.nodes)
    assert graph.text() == graph.text()
    assert graph.nodes == before
    graph.lint()


def test_text_of_a_graph_being_built_has_no_return():
    graph = Graph()
    graph.input("x", VECTOR)
    assert graph.text() == "graph(x: float64[s0]):"


def test_text_of_bodies_is_indented():
    graph, body = Graph(), Graph()
    body.output((body.input("i", ScalarMeta(int)),))
    x = graph.input("x", VECTOR)
    loop = graph.call(len, (x,), meta=ScalarMeta(int), name="loop")
    loop.kind, loop.bodies, loop.target = NodeKind.LOOP, (body,), None
    graph.output((loop,))
    assert graph.text() == (
        "graph(x: float64[s0]):\n"
        "  loop = loop(x)  int\n"
        "    graph(i: int):\n"
        "      return (i,)\n"
        "  return (loop,)"
    )


def free_function():
    pass


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (np.add, "numpy.add"),
        (np.linalg.norm, "numpy.linalg.norm"),
        (np.add.reduce, "numpy.add.reduce"),
        (np.ndarray.sum, "numpy.ndarray.sum"),
        (np.float64.sum, "numpy.generic.sum"),
        (np.ndarray.T.__get__, "numpy.ndarray.T"),
        (operator.attrgetter("T"), "attribute.T"),
        (operator.setitem, "operator.setitem"),
        (abs, "abs"),
        (float, "float"),
        (np.float32, "numpy.float32"),
        (free_function, f"{__name__}.free_function"),
        (partial(abs), "partial"),
    ],
)
def test_target_has_its_public_name(target, name):
    assert target_name(target) == name


class Secret:
    def __repr__(self):
        raise AssertionError("the text must not run user code")


@pytest.mark.parametrize(
    ("operand", "text"),
    [
        ((1,), "(1,)"),
        ((), "()"),
        ([1.5, "a", None, ...], "[1.5, 'a', None, Ellipsis]"),
        (slice(1, N.expr), "slice(1, s0, None)"),
        ({"k": N * 2}, "{'k': 2*s0}"),
        (np.float32, "float32"),
        (np.add, "numpy.add"),
        (np.float64(2.5), "np.float64(2.5)"),
        (np.zeros((2, 3)), "<array float64[2, 3]>"),
        (Secret(), "<Secret>"),
        (2**64, "18446744073709551616"),
        (2**20_000, "<int of 20001 bits>"),
        ("x" * 100, "'" + "x" * 56 + "..."),
    ],
    ids=lambda value: value if type(value) is str and len(value) < 30 else "",
)
def test_operand_text_is_short_and_runs_no_user_code(operand, text):
    assert operand_text(operand) == text


DOT_LINE = re.compile(
    r'digraph \{|\}|  node \[fontname=monospace\];|  n\d+ \[shape=\w+, label="(?:[^"\\]|\\.)*"\];'
    r'|  n\d+ -> n\d+( \[style="dashed,bold"\])?;'
)


def test_dot_has_a_node_and_an_edge_for_each():
    graph = sample_graph()
    lines = graph.dot().splitlines()
    assert all(DOT_LINE.fullmatch(line) for line in lines)
    assert sum("label" in line for line in lines) == len(graph.nodes)
    edges = {(user, used) for user in graph.nodes for used in user.uses()}
    assert sum("->" in line for line in lines) == len(edges)
    assert sum("dashed" in line for line in lines) == 1


def test_dot_escapes_labels():
    graph = Graph()
    line = SourceLine('C:\\dir\\a "quoted"\nname.py', 3, "f")
    graph.output((graph.input("x", VECTOR, line=line),))
    text = graph.dot()
    assert r"a \"quoted\"\nname.py:3" in text
    assert all(DOT_LINE.fullmatch(row) for row in text.splitlines())
