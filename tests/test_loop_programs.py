"""Loop programs, compiled and plain, cannot be told apart, and as many of their loops are captured whole as before.

The programs are in `loop_programs`, what is captured of each in its floors.json (see `loop_floors`).
"""

from __future__ import annotations

import loop_floors
import pytest
from conftest import FULL, share
from differential import PLAIN, STANDARD_SETTINGS, Setting, assert_same, compare, observe
from loop_programs import PROGRAMS
from under_test import TRANSFORMS, compile_eager, compile_failing, most_nodes, run_plain

# Programs whose graphs are failed: each has other forms in its loops.
FAILED = share(PROGRAMS, 8)

name_of = lambda program: program.name


@pytest.fixture(scope="module")
def floors():
    return loop_floors.load_floors()


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_program_cannot_be_told_from_plain(program):
    others = STANDARD_SETTINGS[1:]
    settings = others if FULL else others[PROGRAMS.index(program) % 3 :][:1]
    assert_same(program.world, compile_eager, (PLAIN, *settings), program.name)


@pytest.mark.parametrize("program", share(PROGRAMS, 5), ids=name_of)
def test_program_cannot_be_told_from_plain_under_other_backends(program):
    for name in sorted(TRANSFORMS.keys() - {"eager", "print", "counting"}):
        assert_same(program.world, TRANSFORMS[name], (Setting(repeats=1),), name)


@pytest.mark.parametrize("program", FAILED, ids=name_of)
def test_failure_at_some_nodes_cannot_be_told_from_plain(program):
    world = program.world()
    plain = observe(world.fn, world.calls, PLAIN, world)
    count = most_nodes(loop_floors.compiled_once(program))
    problems = []
    for node in range(0, count + 1, 1 if FULL else count // 4 + 1):
        world = program.world()
        found = compare(plain, observe(compile_failing(world.fn, node), world.calls, PLAIN, world))
        problems += [f"node {node} {line}" for line in found]
    assert not problems, "\n".join(problems[:20])


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_captured_at_least_as_its_floor_says(program, floors):
    name = program.name
    assert not loop_floors.below(name, loop_floors.counted(program), floors[name])


def test_every_program_has_a_floor_and_every_floor_a_program(floors):
    assert list(floors) == [program.name for program in PROGRAMS]


def test_what_runs_plain_is_below_the_floors(floors):
    for program in PROGRAMS:
        now = loop_floors.counted(program, run_plain)
        assert now.graphs == now.loops == 0
        assert floors[program.name].graphs > 0
        if floors[program.name].loops:
            assert loop_floors.below(program.name, now, floors[program.name])


def test_a_floor_is_only_raised():
    floor = loop_floors.Floor(graphs=3, loops=1)
    assert loop_floors.Floor(graphs=5, loops=2).better(floor) == loop_floors.Floor(3, 2)
    assert loop_floors.Floor(graphs=2, loops=2).worse(floor) == loop_floors.Floor(3, 1)
    assert loop_floors.below("p", loop_floors.Floor(3, 1), floor) == []
    assert len(loop_floors.below("p", loop_floors.Floor(4, 0), floor)) == 2
