"""Calls put together into kernels: no two of them ever wait for each other, and a thousand calls are grouped in no time."""

from __future__ import annotations

import random

import numpy as np
import pytest

import bcjit
from bcjit.backends.choice import has_llvm
from bcjit.backends.native.build import build
from bcjit.backends.native.waiting import Waiting


def waits_for_itself(units, used):
    """Return whether no order of units computes each behind all that it uses."""
    done, left = set(), list(units)
    while left:
        ready = [
            unit
            for unit in left
            if all(one in done or one in unit for c in unit for one in used[c])
        ]
        if not ready:
            return True
        done.update(*ready)
        left = [unit for unit in left if unit not in ready]
    return False


@pytest.mark.parametrize("seed", range(20))
def test_calls_can_be_united_exactly_if_an_order_is_left(seed):
    rng = random.Random(seed)
    waiting, used, unit_of = Waiting(), {}, {}
    for call in range(rng.choice([5, 12, 24])):
        used[call] = set(rng.sample(range(call), min(call, rng.choice([0, 1, 1, 2, 3]))))
        waiting.add(call, used[call])
        unit_of[call] = frozenset({call})
        for other in rng.sample(range(call), min(call, 3)):
            one, two = unit_of[call], unit_of[other]
            others = set(unit_of.values()) - {one, two}
            possible = not waits_for_itself([*others, one | two], used)
            assert waiting.can_unite(call, other) == possible
            if possible and rng.random() < 0.7:
                waiting.unite(call, other)
                unit_of |= dict.fromkeys(one | two, one | two)
    assert not waits_for_itself(set(unit_of.values()), used)


def source(rng, length):
    """Return a function of many calls of two shapes, some of which no kernel can do."""
    lines, rows, flat = [], ["x", "y"], ["z"]
    for number in range(length):
        name, kind = f"v{number}", rng.random()
        if kind < 0.6:
            lines.append(f"    {name} = {rng.choice(rows)} {rng.choice('+-*')} {rng.choice(rows)}")
            rows.append(name)
        elif kind < 0.75:
            lines.append(f"    {name} = {rng.choice(flat)} - {rng.choice(flat)}")
            flat.append(name)
        elif kind < 0.85:
            lines.append(f"    {name} = np.cumsum({rng.choice(rows)}, axis=1) * 0.25")
            rows.append(name)
        elif kind < 0.93:
            lines.append(f"    {name} = {rng.choice(rows)}.max(axis=0) + {rng.choice(flat)}")
            flat.append(name)
        else:
            lines.append(f"    {name} = {rng.choice(rows)} / 3 + {rng.choice(flat)}")
            rows.append(name)
    ends = ", ".join([*rng.sample(rows, min(len(rows), 6)), *rng.sample(flat, min(len(flat), 3))])
    return "def fn(x, y, z):\n" + "\n".join(lines) + f"\n    return {ends}\n"


@pytest.mark.skipif(not has_llvm(), reason="needs llvmlite")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(4))
def test_generated_graphs_are_grouped_and_give_what_numpy_does(seed):
    rng = random.Random(seed)
    names = {"np": np}
    exec(source(rng, 40), names)
    kernels = []

    def backend(graph, _example_inputs):
        made = build(graph, smallest=1 + seed % 2)
        made.graph.lint()  # operands come before what uses them
        kernels.extend(made.kernels)
        return made.graph.to_callable(origin=made.origin)

    values = np.random.default_rng(seed)
    given = (
        values.standard_normal((4, 6)),
        values.standard_normal((4, 6)),
        values.standard_normal(6),
    )
    for made, plain in zip(
        bcjit.compile(names["fn"], backend=backend)(*given), names["fn"](*given), strict=True
    ):
        np.testing.assert_array_equal(made, plain)
    assert kernels
