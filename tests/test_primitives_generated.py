"""Generated graphs: as captured, lowered, and bufferised they give the same results, writes and views."""

from __future__ import annotations

from collections import Counter

import numpy as np
from conftest import FULL
from graph_kit import programs, sharing, start
from hypothesis import HealthCheck, given, settings

from bcjit.fx_graph import Interpreter
from bcjit.primitives import CannotLower, bufferise, lower, verify
from bcjit.primitives.verify import written_in_place

generated = settings(
    max_examples=2_000 if FULL else 120,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def same(got, want, ulp=4):
    """Compare values and what can be seen of them but for strides, which the primitive level does not fix."""
    assert type(got) is type(want)
    if not isinstance(want, np.ndarray | np.generic):
        assert repr(got) == repr(want)
        return
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if want.dtype.kind == "f":
        # A sum of an array in another order of memory may end in another last bit.
        size = np.max(np.abs(np.where(np.isfinite(want), want, 0)), initial=0.0)
        limit = ulp * np.finfo(want.dtype).eps * size
        assert np.allclose(got, want, rtol=0, atol=limit, equal_nan=True)
    else:
        assert np.array_equal(got, want)


def agree(program, outputs, inputs):
    pairs = zip([*outputs, *inputs], [*program.outputs, *program.inputs_after], strict=True)
    for got, want in pairs:
        same(got, want)
    assert sharing(outputs, inputs) == sharing(program.outputs, program.inputs_after)
    identity = [[one is other for other in (*outputs, *inputs)] for one in outputs]
    wanted = (*program.outputs, *program.inputs_after)
    for row, one, node in zip(identity, program.outputs, program.graph.outputs, strict=True):
        if isinstance(one, np.ndarray):
            assert row == [one is other for other in wanted], node


REFUSED: Counter[str] = Counter()


@generated
@given(programs())
def check_levels(program):
    try:
        lowered = lower(program.graph, program.inputs)
    except CannotLower as error:
        REFUSED[error.reason] += 1
        return
    REFUSED["lowered"] += 1
    graphs = [lowered.graph]
    verify(lowered.graph, lowered.env)
    for restarts in (True, False):
        graphs.append(bufferise(lowered.graph, lowered.env, restarts=restarts))
        verify(graphs[-1], lowered.env)
        REFUSED["in place"] += any(written_in_place(node) for node in graphs[-1].calls)
    with np.errstate(all="ignore"):
        for graph in graphs:
            inputs = start(program)
            agree(program, Interpreter(graph).run(*inputs), inputs)
            inputs = start(program)
            agree(program, graph.to_callable()(*inputs), inputs)


def test_captured_lowered_and_bufferised_graphs_agree():
    REFUSED.clear()
    check_levels()
    lowered = REFUSED.pop("lowered")
    # A floor: what is refused tests nothing, nor does what writes nothing.
    assert lowered > 2 * sum(count for reason, count in REFUSED.items() if reason != "in place")
    assert REFUSED["in place"] > lowered / 4, REFUSED
