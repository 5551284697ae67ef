"""Programs about arrays, compiled and plain, cannot be told apart; Hypothesis decides what `array_fuzzer` writes, and makes it small.

Two thousand in CI, spread over its Pythons: a fixed slice, another on each, and a fresh one. By hand, any number:
``python -m tests.array_fuzzer --count 1000 --seed 7``.
"""

from __future__ import annotations

import os
import sys

import array_fuzzer
import fuzz_run
import numpy as np
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

# Nodes captured from forty programs of the fixed seed on the NumPy that captures least; only to be raised.
FLOOR = 700

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
