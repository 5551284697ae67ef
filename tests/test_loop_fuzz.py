"""Generated programs of loops, compiled and plain, cannot be told apart; Hypothesis decides what `loop_fuzzer` writes, and makes it small.

A fixed slice, another on each Python, and a fresh one. By hand, any number: ``python -m tests.loop_fuzzer --count 1000 --seed 7``.
"""

from __future__ import annotations

import os
import sys

import fuzz_run
import loop_fuzzer
import pytest
from conftest import FIXED_SEED, FULL
from differential import Setting, observe
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from under_test import captured_loops, captured_nodes, compile_eager, run_plain

FRESH_SEED = int(os.environ.get("BCJIT_FRESH_SEED", "0"))
EACH = 2_000 if FULL else 60
# Other programs on each Python.
SLICE = FIXED_SEED + sys.version_info.minor

# What is captured of twenty programs of the fixed seed where least is: nodes, and loops whole; only to be raised.
FLOOR = 2_000
LOOPS_FLOOR = 80

generated = settings(
    max_examples=EACH,
    deadline=None,
    database=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate, Phase.shrink),
)


def check(rng, number):
    source = loop_fuzzer.write(rng)
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
    """Return how many calls of programs returned, how many raised, and the nodes and loops captured from them."""
    ended = {"returned": 0, "raised": 0}
    nodes = loops = 0
    for number in range(count):
        world = fuzz_run.world_of(loop_fuzzer.program(f"{FIXED_SEED}/{number}"))
        compiled = compile_(world.fn)
        for record in observe(compiled, world.calls, Setting(repeats=1), world):
            ended[record.outcome[0]] += 1
        nodes += captured_nodes(compiled)
        loops += captured_loops(compiled)
    return ended, nodes, loops


def test_programs_return_and_are_captured():
    # Programs that raise at once, or run plain, would test little.
    ended, nodes, loops = observed(compile_eager)
    assert ended["returned"] > ended["raised"] > 0
    assert nodes >= FLOOR
    assert loops >= LOOPS_FLOOR


def test_nothing_is_captured_from_what_runs_plain():
    assert observed(run_plain, 2)[1:] == (0, 0)


def one_turn_less(fn):
    """Do what a wrong compiler would: leave out a turn."""

    def g(x, y, a, parts, rng, n, k, r):
        return fn(x, y, a, parts, rng, n - 1, k, r)

    return g


def writes_lost(fn):
    """Do what a wrong compiler would: write into memory that nobody else has."""

    def g(x, y, a, *rest):
        return fn(x.copy(), y.copy(), a.copy(), *rest)

    return g


@pytest.mark.parametrize("wrong", [one_turn_less, writes_lost])
def test_a_wrong_compiler_is_found(wrong, monkeypatch):
    monkeypatch.setitem(fuzz_run.TRANSFORMS, "eager", wrong)
    way = fuzz_run.way_of(0)
    assert way.transform == "eager"
    sources = [loop_fuzzer.program(f"{FIXED_SEED}/{number}") for number in range(12)]
    assert sum(bool(fuzz_run.differences(source, way)) for source in sources) > 4


def test_every_form_of_loop_is_written():
    text = "".join(loop_fuzzer.program(f"{FIXED_SEED}/{number}") for number in range(150))
    for form in ("in range(", "in reversed(", "in enumerate(", "in zip(", "in parts", "while True", "break", "continue", "return", "else:", "elif"):  # fmt: skip
        assert form in text, form
    assert "\n                for " in text  # three deep


def test_a_program_is_the_same_for_the_same_seed():
    assert loop_fuzzer.program("7/3") == loop_fuzzer.program("7/3")
    assert loop_fuzzer.program("7/3") != loop_fuzzer.program("7/4")


def test_by_hand(capsys):
    assert fuzz_run.main(["--count", "2", "--seed", "7"], writer="loops") == 0
    assert "2 programs from seed 7, 0 differ" in capsys.readouterr().out
