"""Generated programs: what Hypothesis writes, compiled and plain, cannot be told apart."""

from __future__ import annotations

import os

import pytest
from conftest import FIXED_SEED, FULL
from differential import Setting, World, args, assert_same
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from programs import copy_arguments, function_from
from strategies import argument_sets, programs
from under_test import TRANSFORMS, compile_failing

from bcjit.config import config

FRESH_SEED = int(os.environ.get("BCJIT_FRESH_SEED", "0"))
EXAMPLES = 2_000 if FULL else 25
# Backends differ in what they do with a graph, not in what is captured.
OF_BACKENDS = {name: EXAMPLES if name == "eager" or not FULL else 500 for name in TRANSFORMS}
SETTINGS = (Setting(), Setting("default", errstate={"divide": "raise"}, in_except=True, repeats=1))

generated = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate, Phase.shrink),
)


def world_of(source):
    """Return a factory of worlds in which the program is called with every argument set."""

    def make():
        f = function_from(source, "program")
        calls = [lambda given=given: args(**copy_arguments(given)) for given in argument_sets()]
        return World(f, calls, watch=lambda: f.__globals__["SEEN"])

    return make


def check(source, transform):
    try:
        assert_same(world_of(source), transform, SETTINGS)
    except AssertionError as error:
        raise AssertionError(f"{error}\n\n{source}") from None


@pytest.mark.parametrize("backend", TRANSFORMS)
def test_fixed_slice_cannot_be_told_from_plain(backend):
    @settings(generated, derandomize=False, max_examples=OF_BACKENDS[backend])
    @seed(FIXED_SEED)
    @given(source=programs())
    def one(source):
        check(source, TRANSFORMS[backend])

    one()


@settings(generated, derandomize=False)
@seed(FRESH_SEED)
@given(source=programs(14))
def test_fresh_slice_cannot_be_told_from_plain(source):
    check(source, TRANSFORMS["eager"])


@settings(generated, derandomize=False, max_examples=max(EXAMPLES // 2, 1))
@seed(FRESH_SEED)
@given(
    source=programs(8),
    limit=st.sampled_from([1, 2, 3, 5, 8, 13, 21, 34]),
    cache=st.sampled_from([1, 8, 100]),
)
def test_fresh_slice_of_interrupted_captures(source, limit, cache):
    with config.override(capture_limit=limit, part_limit=10_000, cache_limit=cache):
        check(source, TRANSFORMS["eager"])


@settings(generated, derandomize=False, max_examples=max(EXAMPLES // 2, 1))
@seed(FRESH_SEED)
@given(source=programs(8), node=st.integers(0, 9))
def test_fresh_slice_of_failing_graphs(source, node):
    check(source, lambda fn: compile_failing(fn, node))


def test_most_generated_programs_return():
    # Programs that raise at once would test little.
    returned = total = 0

    @settings(generated, max_examples=60, phases=(Phase.generate,))
    @seed(FIXED_SEED)
    @given(source=programs())
    def run(source):
        nonlocal returned, total
        for records in assert_same(world_of(source), lambda fn: fn, (Setting(repeats=1),)):
            total += len(records)
            returned += sum(record.outcome[0] == "returned" for record in records)

    run()
    assert returned > 0.5 * total, f"{returned} of {total} calls returned"
