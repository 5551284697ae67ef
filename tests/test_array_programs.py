"""Programs about arrays, compiled and plain, cannot be told apart; Hypothesis decides what `array_fuzzer` writes, and makes it small.

Two thousand in CI, spread over its Pythons: a fixed slice, another on each, and a fresh one. By hand, any number:
``python -m tests.array_fuzzer --count 1000 --seed 7``.
"""

from __future__ import annotations

import os
import sys

import array_fuzzer
import fuzz_run
import pytest
from conftest import FIXED_SEED, FULL
from differential import Setting, observe
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from under_test import captured_nodes, compile_eager, run_plain

FRESH_SEED = int(os.environ.get("BCJIT_FRESH_SEED", "0"))
PYTHONS = 5  # in CI
EACH = 2_000 if FULL else 2_000 // PYTHONS // 2
# Other programs on each Python.
SLICE = FIXED_SEED + sys.version_info.minor

# Nodes captured from twenty programs of the fixed seed on the NumPy that captures least; only to be raised.
FLOOR = 350

generated = settings(
    max_examples=EACH,
    deadline=None,
    database=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate, Phase.shrink),
)


def check(rng, number):
    source = array_fuzzer.write(rng)
    way = fuzz_run.way_of(number)
    found = fuzz_run.differences(source, way)
    if found:
        shown = "\n  ".join(found[:10])
        pytest.fail(f"{way} differs:\n  {shown}\n\n{source}")


written = given(rng=st.randoms(use_true_random=False), number=st.integers(0, 139))


@generated
@seed(SLICE)
@written
def test_fixed_slice_cannot_be_told_from_plain(rng, number):
    check(rng, number)


@generated
@seed(FRESH_SEED)
@written
def test_fresh_slice_cannot_be_told_from_plain(rng, number):
    check(rng, number)


def observed(compile_, count=20):
    """Return how many calls of programs returned, how many raised, and what was captured from them."""
    ended = {"returned": 0, "raised": 0}
    nodes = 0
    for number in range(count):
        world = fuzz_run.world_of(array_fuzzer.program(f"{FIXED_SEED}/{number}"))
        compiled = compile_(world.fn)
        for record in observe(compiled, world.calls, Setting(repeats=1), world):
            ended[record.outcome[0]] += 1
        nodes += captured_nodes(compiled)
    return ended, nodes


def test_programs_return_and_are_captured():
    # Programs that raise at once, or run plain, would test little.
    ended, nodes = observed(compile_eager)
    assert ended["returned"] > 2 * ended["raised"] > 0
    assert nodes >= FLOOR


def test_nothing_is_captured_from_what_runs_plain():
    assert observed(run_plain, 2)[1] == 0


def wrong(fn):
    """Do what a wrong compiler would: leave out the write into the first argument."""

    def g(x, *rest):
        return fn(x.copy(), *rest)

    return g


def test_a_write_that_is_left_out_is_found(monkeypatch):
    monkeypatch.setitem(fuzz_run.TRANSFORMS, "eager", wrong)
    way = fuzz_run.way_of(0)
    assert way.transform == "eager"
    sources = [array_fuzzer.program(f"{FIXED_SEED}/{number}") for number in range(10)]
    assert sum(bool(fuzz_run.differences(source, way)) for source in sources) > 4


def test_a_program_is_the_same_for_the_same_seed():
    assert array_fuzzer.program("7/3") == array_fuzzer.program("7/3")
    assert array_fuzzer.program("7/3") != array_fuzzer.program("7/4")


def test_by_hand(capsys):
    assert fuzz_run.main(["--count", "2", "--seed", "7"], writer="arrays") == 0
    assert "2 programs from seed 7, 0 differ" in capsys.readouterr().out
