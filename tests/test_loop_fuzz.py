"""Generated programs of loops, compiled and plain, cannot be told apart; Hypothesis decides what `loop_fuzzer` writes, and makes it small.

A fixed slice, another on each Python, and a fresh one. By hand, any number: ``python -m tests.loop_fuzzer --count 1000 --seed 7``.
"""

from __future__ import annotations

import fuzz_run
import loop_fuzzer
import pytest
from conftest import FIXED_SEED, FULL
from generated_slices import FRESH_SEED, SLICE, check, generated, observed, written
from hypothesis import seed
from under_test import compile_eager, run_plain

EACH = 2_000 if FULL else 45

# What is captured of twenty programs of the fixed seed where least is: nodes, and loops whole; only to be raised.
FLOOR = 2_000
LOOPS_FLOOR = 78


@generated(EACH)
@seed(SLICE)
@written
def test_fixed_slice_cannot_be_told_from_plain(rng, number):
    check(loop_fuzzer, rng, number)


@generated(EACH)
@seed(FRESH_SEED)
@written
def test_fresh_slice_cannot_be_told_from_plain(rng, number):
    check(loop_fuzzer, rng, number)


def test_programs_return_and_are_captured():
    # Programs that raise at once, or run plain, would test little.
    found = observed(loop_fuzzer, compile_eager)
    assert found.ended["returned"] > found.ended["raised"] > 0
    assert found.nodes >= FLOOR
    assert found.loops >= LOOPS_FLOOR


def test_nothing_is_captured_from_what_runs_plain():
    found = observed(loop_fuzzer, run_plain, 2)
    assert (found.nodes, found.loops) == (0, 0)


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
