"""Nests of loops, ``if``, ``try`` and ``with``, left in every way, with a break forced at each instruction in turn: nothing shows.

A short run takes a fixed slice and a fresh one, each with all outermost places and ways out, and of each nest no forced
break, one at every instruction, and one at a few in turn. A full run takes nests of one place with a break at each
instruction, all of two and some of three with a break at some. Each instruction of those too is three days of a processor
(``BCJIT_FULL=2``): for parts (``BCJIT_PART``).
"""

from __future__ import annotations

import dis
import functools
import random

import numpy as np
import pytest
from conftest import FIXED_SEED, part_of, share
from differential import Setting, World, args, compare, observe
from nesting import EXITS, PLACES, Nest, function_from_source, inputs, name_of_exit, nests
from programs import copy_arguments
from under_test import (
    break_points,
    captured_loops,
    captured_nodes,
    compile_breaking,
    compile_eager,
    run_plain,
)

from bcjit.config import config

# Settings under which every part that a break makes is captured.
LIMITS = {"part_limit": 10_000, "cache_limit": 32}
EVERYWHERE = -1  # as the offset of a break: at all instructions
NOWHERE = -2

# Nodes captured from the fixed slice on the Python that captures least; only to be raised.
FLOOR = 429  # the least of all versions: 3.14
# Loops captured whole from them, and from every second nest of two places that begins with a loop.
LOOPS_FLOOR = 16
LOOPS_OF_TWO_FLOOR = 80

# Found by sweeps: facts of a loop in which the capture ends, or behind which it breaks at once.
FOUND = (Nest(("while.else", "while.body"), "raise"),)

all_nests = functools.cache(lambda depth: tuple(nests(depth)))


def world_of(nest):
    calls = [lambda one=one: args(**copy_arguments(one)) for one in inputs()]
    return World(nest.function(), calls)


def setting_of(nest):
    return Setting(in_except=len(str(nest)) % 2 == 0)


def where(fn, offset):
    """Say what a break is forced at."""
    if offset < 0:
        return {EVERYWHERE: "every instruction", NOWHERE: "no instruction"}[offset]
    return next(
        f"{offset} {instruction.opname} {instruction.argrepr} (line {instruction.positions.lineno})"
        for instruction in dis.get_instructions(fn, show_caches=False)
        if instruction.offset >= offset
    )


def differences(nest, choose):
    """Yield what differs from plain Python for each break among the chosen ones.

    Parameters
    ----------
    nest
        The program.
    choose
        Given the offsets of the function's instructions, says where to break in turn.
    """
    world = world_of(nest)
    setting = setting_of(nest)
    plain = observe(world.fn, world.calls, setting, world)
    points = break_points(world.fn)
    for offset in choose(points):
        world = world_of(nest)
        asked = points if offset == EVERYWHERE else [offset]
        compiled = compile_breaking(world.fn, asked)
        found = compare(plain, observe(compiled, world.calls, setting, world))
        if found:
            lines = "\n  ".join(found[:8])
            yield f"{nest}, broken at {where(world.fn, offset)}:\n  {lines}\n{nest.source()}"


def check(chosen, choose):
    """Fail with the first differences of some programs."""
    with config.override(**LIMITS):
        problems = [line for nest in chosen for line in differences(nest, choose)]
    assert not problems, f"{len(problems)} runs differ, the first:\n{problems[0]}"


def sample(rng, outermost, count):
    """Draw nests of one outermost place; of each depth there are some."""
    found = []
    while len(found) < count:
        inner = tuple(rng.choice(list(PLACES)) for _ in range((2, 1)[len(found) % 2]))
        nest = Nest((outermost, *inner), rng.choice(EXITS))
        if nest.is_valid:
            found.append(nest)
    return found


def those(depth, outermost):
    """Return all nests of a depth that begin with a place."""
    return [nest for nest in all_nests(depth) if nest.places[0] == outermost]


def at_each(points):
    """Choose to break nowhere, everywhere, and at each instruction in turn."""
    return [NOWHERE, EVERYWHERE, *points]


def some(rng, count):
    """Return a choice of breaks: nowhere, everywhere, and at `count` instructions in turn."""
    return lambda points: [NOWHERE, EVERYWHERE, *rng.sample(points, min(count, len(points)))]


@pytest.mark.parametrize("outermost", PLACES)
def test_fixed_slice_cannot_be_told_from_plain(outermost):
    rng = random.Random(f"{FIXED_SEED} {outermost}")
    check(sample(rng, outermost, 2), some(rng, 1))


@pytest.mark.parametrize("outermost", PLACES)
def test_fresh_slice_cannot_be_told_from_plain(outermost, fresh_seed):
    rng = random.Random(f"{fresh_seed} {outermost}")
    check(sample(rng, outermost, 2), some(rng, 3))


@pytest.mark.parametrize("leave", EXITS, ids=name_of_exit)
def test_one_place_broken_everywhere_cannot_be_told_from_plain(leave):
    chosen = share([nest for nest in all_nests(1) if nest.exit == leave], 2)
    check(chosen, lambda points: [EVERYWHERE])


@pytest.mark.parametrize("nest", FOUND, ids=str)
def test_what_sweeps_found_cannot_be_told_from_plain(nest):
    check([nest], lambda points: points[:8])


@pytest.mark.full
@pytest.mark.timeout(0)
@pytest.mark.parametrize("outermost", PLACES)
def test_every_nest_of_one_broken_at_each_instruction_in_turn(outermost):
    check(those(1, outermost), at_each)


@pytest.mark.full
@pytest.mark.timeout(0)
@pytest.mark.parametrize("outermost", PLACES)
def test_every_nest_of_two_broken_at_some_instructions(outermost, fresh_seed):
    rng = random.Random(f"{fresh_seed} {outermost}")
    check(those(2, outermost), some(rng, 12))


@pytest.mark.full
@pytest.mark.timeout(0)
@pytest.mark.parametrize("outermost", PLACES)
def test_nests_of_three_broken_at_some_instructions(outermost, fresh_seed):
    rng = random.Random(f"{fresh_seed} {outermost}")
    check(rng.sample(those(3, outermost), 64), some(rng, 6))


@pytest.mark.days
@pytest.mark.timeout(0)
@pytest.mark.parametrize("outermost", PLACES)
@pytest.mark.parametrize("depth", [2, 3])
def test_every_nest_broken_at_each_instruction_in_turn(depth, outermost):
    check(part_of(those(depth, outermost), f"{depth} {outermost}"), at_each)


def test_every_way_out_is_reached_by_some_input():
    # A way out that no input takes would test nothing.
    taken = "if c == hit and trace.append('out') is None:"
    for nest in all_nests(1):
        fn = function_from_source(nest.source().replace("if c == hit:", taken))
        world = World(fn, world_of(nest).calls)
        records = observe(fn, world.calls, Setting(repeats=1), world)
        assert any("'out'" in repr(record.arguments) for record in records), str(nest)


def captured_from(chosen, transform):
    """Return how many nodes are captured, and loops whole, without forced breaks, from some programs."""
    nodes = loops = 0
    for nest in chosen:
        world = world_of(nest)
        compiled = transform(world.fn)
        observe(compiled, world.calls, Setting(repeats=1), world)
        nodes += captured_nodes(compiled)
        loops += captured_loops(compiled)
    return nodes, loops


def fixed_slice():
    for outermost in PLACES:
        yield from sample(random.Random(f"{FIXED_SEED} {outermost}"), outermost, 2)


def test_fixed_slice_captures_at_least_its_floor():
    nodes, loops = captured_from(fixed_slice(), compile_eager)
    assert nodes >= FLOOR
    assert loops >= LOOPS_FLOOR
    assert captured_from(fixed_slice(), run_plain) == (0, 0)


def test_loops_around_one_place_are_captured_whole_as_before():
    # Each way out of a loop, and of what stands in it; every other nest, as the whole takes long.
    chosen = [nest for nest in all_nests(2) if nest.places[0] in ("for.body", "while.body")][::2]
    assert captured_from(chosen, compile_eager)[1] >= LOOPS_OF_TWO_FLOOR


def test_a_break_is_made_at_each_offset_that_is_asked_for():
    def straight(x, k):
        y = x * k
        z = [y, k]
        return y + z[1]

    x = np.arange(3.0)
    plain = compile_breaking(straight, ())
    assert plain(x, 2).tolist() == straight(x, 2).tolist()
    assert len(plain._compiler.cache.entries) == 1
    broken = 0
    for offset in break_points(straight):
        compiled = compile_breaking(straight, [offset])
        for _ in range(2):
            assert compiled(x, 2).tolist() == straight(x, 2).tolist()
        causes = [e.cause.reason.code for e in compiled._compiler.cache.entries if e.cause]
        broken += causes.count("BRK004")
    assert broken == len(break_points(straight)) - 1  # all but the prologue
