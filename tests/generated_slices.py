"""How slices of generated programs are tested: what `test_array_programs` and `test_loop_fuzz` have in common; it writes no program.

A fixed slice is other programs on each Python; the fresh one has the seed that CI prints.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, Protocol

import fuzz_run
import pytest
from conftest import FIXED_SEED
from differential import Setting, observe
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from under_test import captured_loops, captured_nodes

FRESH_SEED: Final = int(os.environ.get("BCJIT_FRESH_SEED", "0"))
SLICE: Final = FIXED_SEED + sys.version_info.minor

written = given(rng=st.randoms(use_true_random=False), number=st.integers(0, 139))


class Writer(Protocol):
    """A module that writes programs."""

    def write(self, rng: Random) -> str:
        """Return a program that `rng` decides."""

    def program(self, seed: str) -> str:
        """Return the program of a seed."""


def generated(count: int) -> settings:
    """Return Hypothesis's settings for so many programs; one that fails is made small."""
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )


def check(writer: Writer, rng: Random, number: int) -> None:
    """Fail with its source where a program can be told from plain."""
    source = writer.write(rng)
    way = fuzz_run.way_of(number)
    found = fuzz_run.differences(source, way)
    if found:
        shown = "\n  ".join(found[:10])
        pytest.fail(f"{way} differs:\n  {shown}\n\n{source}")


@dataclass
class Observed:
    """How calls of programs ended, and what was captured of the programs."""

    ended: Counter[str] = field(default_factory=Counter)
    nodes: int = 0
    loops: int = 0


def observed(writer: Writer, compile_: Callable[[Any], Any], count: int = 20) -> Observed:
    """Run programs of the fixed seed."""
    found = Observed()
    for number in range(count):
        world = fuzz_run.world_of(writer.program(f"{FIXED_SEED}/{number}"))
        compiled = compile_(world.fn)
        records = observe(compiled, world.calls, Setting(repeats=1), world)
        found.ended.update(record.outcome[0] for record in records)
        found.nodes += captured_nodes(compiled)
        found.loops += captured_loops(compiled)
    return found
