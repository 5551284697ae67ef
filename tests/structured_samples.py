"""Loops and branches built by hand, as capture makes them of what users write."""

from __future__ import annotations

import operator

import numpy as np

from bcjit.fx_graph import Graph
from bcjit.meta import ArrayMeta
from tests.structured_kit import ARRAY, BOOL, F8, FLOAT, INT, N

MATRIX = ArrayMeta((3, 3), F8)
SCALAR = ArrayMeta((), F8, is_scalar=True)


def item(graph, node, k, name, alias="fresh"):
    meta = node.meta[k]
    return graph.call(
        operator.getitem, (node, k), meta=meta, can_fail=False, name=name, alias=alias
    )


def sum_of_positive():
    """``for i in range(len(x)): if x[i] > 0.0: s += x[i]``."""
    graph = Graph()
    x = graph.input("x", ARRAY)
    graph.bind_symbol(N, x, 0)
    body = graph.subgraph()
    i, s, of = (body.input(name, meta) for name, meta in (("i", INT), ("s", FLOAT), ("of", ARRAY)))
    test = body.call(
        operator.gt, (body.call(operator.getitem, (of, i), meta=SCALAR), 0.0), meta=BOOL
    )
    then, orelse = body.subgraph(), body.subgraph()
    for side in (then, orelse):
        for name, meta in (("of", ARRAY), ("i", INT), ("s", FLOAT)):
            side.input(name, meta)
    of_then, i_then, s_then = then.inputs
    value = then.call(operator.getitem, (of_then, i_then), meta=SCALAR)
    then.output((then.call(operator.add, (s_then, value), meta=SCALAR),))
    orelse.output((orelse.inputs[2],))
    cond = body.cond(test, (of, i, s), then, orelse, metas=(FLOAT,))
    body.output((0, item(body, cond, 0, "s")))
    loop = graph.loop((0, N.expr, 1), (0.0,), (x,), body, metas=(FLOAT,))
    graph.output((item(graph, loop, 1, "total"),))
    return graph


def search():
    """Two loops, and a return in the inner one: ``if x[i, j] < 0: return``, else ``s += x[i, j]``."""
    graph = Graph()
    x = graph.input("x", MATRIX)
    outer = graph.subgraph()
    i, s, of = (
        outer.input(name, meta) for name, meta in (("i", INT), ("s", FLOAT), ("of", MATRIX))
    )
    inner = outer.subgraph()
    j, s_inner, of_inner, i_inner = (
        inner.input(name, meta)
        for name, meta in (("j", INT), ("s", FLOAT), ("of", MATRIX), ("i", INT))
    )
    value = inner.call(operator.getitem, (of_inner, (i_inner, j)), meta=SCALAR, name="value")
    test = inner.call(operator.lt, (value, 0.0), meta=BOOL)
    then, orelse = inner.subgraph(), inner.subgraph()
    for side in (then, orelse):
        side.input("s", FLOAT)
        side.input("value", SCALAR)
    then.output((1, then.inputs[0]))
    orelse.output((0, orelse.call(operator.add, orelse.inputs, meta=SCALAR)))
    cond = inner.cond(test, (s_inner, value), then, orelse, metas=(INT, FLOAT))
    inner.output((item(inner, cond, 0, "status"), item(inner, cond, 1, "s")))
    loop = outer.loop((0, 3, 1), (s,), (of, i), inner, metas=(FLOAT,))
    outer.output((item(outer, loop, 0, "status"), item(outer, loop, 1, "s")))
    loop = graph.loop((0, 3, 1), (0.0,), (x,), outer, metas=(FLOAT,))
    graph.output((item(graph, loop, 0, "found"), item(graph, loop, 1, "total")))
    return graph


def fibonacci():
    """``while a < n: a, b = b, a + b``."""
    graph = Graph()
    n = graph.input("n", INT)
    body = graph.subgraph()
    a, b, limit = (body.input(name, INT) for name in ("a", "b", "n"))
    test = body.call(operator.lt, (a, limit), meta=BOOL)
    then, orelse = body.subgraph(), body.subgraph()
    for side in (then, orelse):
        side.input("a", INT)
        side.input("b", INT)
    then.output((0, then.inputs[1], then.call(operator.add, then.inputs, meta=INT)))
    orelse.output((1, *orelse.inputs))
    cond = body.cond(test, (a, b), then, orelse, metas=(INT, INT, INT))
    body.output(tuple(item(body, cond, k, name) for k, name in enumerate(("status", "a", "b"))))
    loop = graph.loop(None, (0, 1), (n,), body, metas=(INT, INT))
    graph.output((item(graph, loop, 1, "a"), item(graph, loop, 2, "b")))
    return graph


def two_buffers(*, visible):
    """``for i in range(4): np.add(np.sin(u), 1.0, out=v); u, v = v, u``."""
    graph = Graph()
    x = graph.input("x", ARRAY)
    u0 = graph.call(np.copy, (x,), meta=ARRAY, can_fail=False)
    v0 = x if visible else graph.call(np.zeros_like, (x,), meta=ARRAY, can_fail=False)
    body = graph.subgraph()
    _, u, v = (body.input(name, meta) for name, meta in (("i", INT), ("u", ARRAY), ("v", ARRAY)))
    sine = body.call(np.sin, (u,), meta=ARRAY)
    made = body.call(
        np.add, (sine, 1.0), {"out": v}, meta=ARRAY, view_of=v, alias="same", writes=(v,)
    )
    made.visible = visible
    body.output((0, made, u))
    loop = graph.loop((0, 4, 1), (u0, v0), (), body, metas=(ARRAY, ARRAY), writes=(u0, v0))
    loop.visible = visible
    graph.output((item(graph, loop, 1, "u", "maybe"),))
    return graph
