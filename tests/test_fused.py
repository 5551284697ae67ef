"""The fused backend: the same bits as eager whatever is in buffers, the plans that are expected, and the traps of memory that is used again."""

from __future__ import annotations

import gc
import itertools
import operator
import signal
import threading
import warnings
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from under_test import compile_fused

import bcjit
from bcjit.backends import Fused, backend_name, get_backend
from bcjit.backends.fused.calls import elementwise
from bcjit.backends.fused.plan import BufferPlanner
from bcjit.backends.fused.scratch import ScratchPool
from bcjit.backends.testing import RecordingBackend
from bcjit.fx_graph import Graph, to_source
from bcjit.meta import ArrayMeta
from bcjit.ops import all_ops, lookup
from tests import graph_kit, structured_kit
from tests.test_fx_graph_structured import agree as agree_structured

F8 = np.dtype(float)


# ------------------------------------------------------------------ the same bits
def values(dtype, size, rng):
    x = rng.normal(size=size) * rng.choice([1.0, 50.0, 1e-3], size=size)
    if dtype.kind == "f":
        x[::7], x[1::5], x[2::9] = np.nan, np.inf, -0.0
    if dtype.kind == "c":
        x = x + 1j * rng.normal(size=size)
    return np.abs(x).astype(dtype) if dtype.kind == "u" else x.astype(dtype)


UFUNCS = sorted(
    {s.target for op in all_ops() for s in op.spellings if isinstance(s.target, np.ufunc)},
    key=lambda one: one.__name__,
)


SMALL_COUNTS = {np.power, np.left_shift, np.right_shift}


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda one: one.__name__)
def test_a_result_has_the_same_bits_in_any_memory(ufunc):
    if ufunc.nout != 1 or ufunc.signature is not None:
        pytest.skip("it is given no buffer")
    rng = np.random.default_rng(0)
    for dtypes in itertools.product("?Bhqefd" + "FD" * (ufunc.nin == 1), repeat=ufunc.nin):
        for size in (3, 37):
            arguments = [values(np.dtype(one), size, rng) for one in dtypes]
            if ufunc in SMALL_COUNTS and np.dtype(dtypes[1]).kind in "iu":
                arguments[1] = np.abs(arguments[1]) % arguments[1].dtype.type(5)
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    wanted = ufunc(*arguments)
                except (TypeError, ValueError):
                    break
                buffer = np.empty(wanted.shape, wanted.dtype)
                assert ufunc(*arguments, buffer) is buffer
                assert buffer.tobytes() == wanted.tobytes(), dtypes
                for k, one in enumerate(arguments):
                    if one.dtype == wanted.dtype and one.dtype.kind != "c":
                        copies = [x.copy() for x in arguments]
                        ufunc(*copies, copies[k])
                        assert copies[k].tobytes() == wanted.tobytes(), (dtypes, k)


@pytest.mark.parametrize("dtype", "efdg")
def test_powers_are_what_the_operator_makes(dtype):
    x = values(np.dtype(dtype), 100, np.random.default_rng(1))
    for exponent in (-1, -1.0, 0.5, 2, 2.0, 3, -2, 1.5, np.nan):
        graph = Graph()
        meta = ArrayMeta(x.shape, x.dtype)
        node = graph.call(operator.pow, (graph.input("x", meta), exponent), meta=meta, op=lookup(operator.pow))  # fmt: skip
        function = elementwise(node)
        with np.errstate(all="ignore"):
            wanted = x**exponent
            got = function(*(x, exponent)[: function.nin], np.empty_like(x))
        assert np.array_equal(got, wanted, equal_nan=True)
        assert np.array_equal(np.signbit(got), np.signbit(wanted))


@given(graph_kit.programs())
@settings(max_examples=100)
def test_generated_graphs_give_the_same(program):
    function = program.graph.to_callable(planner=BufferPlanner(0, 5))
    with np.errstate(all="ignore"):
        for _ in range(2):
            inputs = graph_kit.start(program)
            graph_kit.agree(program, function(*inputs), inputs)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(structured_kit.structured_graphs())
@settings(max_examples=100)
def test_generated_loops_and_branches_give_the_same(graph):
    for one in graph.nested():
        for node in one.nodes:
            if callable(node.target):
                node.op = lookup(node.target)
    function = graph.to_callable(planner=BufferPlanner(0, 5))
    agree_structured(graph, function)
    agree_structured(graph, function)


def test_generated_graphs_are_planned():
    """A floor under the generators."""
    planned = {"straight": 0, "loops": 0}

    @settings(max_examples=60)
    @given(graph_kit.programs())
    def straight(program):
        planned["straight"] += "buffer" in to_source(program.graph, planner=BufferPlanner(0, 5)).source

    @settings(max_examples=60)
    @given(structured_kit.structured_graphs())
    def loops(graph):
        for one in graph.nested():
            for node in one.nodes:
                if callable(node.target):
                    node.op = lookup(node.target)
        planned["loops"] += "buffer" in to_source(graph, planner=BufferPlanner(0, 5)).source

    straight()
    loops()
    assert planned["straight"] > 5
    assert planned["loops"] > 5
