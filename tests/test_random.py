"""Random numbers: drawn by the real generators, in order, once; the streams stand where plain Python leaves them.

The corpus (``corpus/random_streams.py``) goes through the sweeps, the table test has each distribution; here are whole programs
(``random_programs.py``) with what must be captured of them, and what graphs say of their draws.
"""

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import FULL
from differential import PLAIN, STANDARD_SETTINGS, compare, observe
from random_programs import (
    BROKEN,
    CAPTURED,
    legacy,
    of_an_argument,
    of_items,
    rng,
    unused_draws,
    vector,
    world_of,
    world_written,
    written,
)
from under_test import TRANSFORMS, compile_failing, most_nodes

import bcjit
from bcjit import ops
from bcjit.fx_graph import Node
from bcjit.meta import ObjectMeta
from bcjit.ops.unsupported import UNSUPPORTED


@pytest.mark.parametrize("fn", CAPTURED + BROKEN)
def test_program_cannot_be_told_from_plain(fn):
    problems = []
    for setting in STANDARD_SETTINGS:
        plain_world, world = world_of(fn), world_of(fn)
        plain = observe(fn, plain_world.calls, setting, plain_world)
        got = observe(TRANSFORMS["eager"](fn), world.calls, setting, world)
        problems += [f"[{setting}] {line}" for line in compare(plain, got)]
    assert not problems, "\n".join(problems[:20])


@pytest.mark.parametrize("fn", CAPTURED + BROKEN)
def test_a_failure_at_any_node_goes_on_behind_the_draws(fn):
    world = world_of(fn)
    compiled = TRANSFORMS["eager"](fn)
    observe(compiled, world.calls, world=world)
    plain_world = world_of(fn)
    plain = observe(fn, plain_world.calls, PLAIN, plain_world)
    problems = []
    for node in range(most_nodes(compiled) + 1):
        world = world_of(fn)
        got = observe(compile_failing(fn, node), world.calls, PLAIN, world)
        problems += [f"node {node} {line}" for line in compare(plain, got)]
    assert not problems, "\n".join(problems[:20])


@pytest.mark.parametrize("fn", CAPTURED)
def test_program_is_captured_whole(fn):
    compiled = bcjit.compile(fn, backend="eager", fullgraph=True)
    with np.errstate(all="ignore"):
        compiled(vector(), rng())
    (graph,) = compiled.graphs
    assert any(node.draws for node in graph.nodes)


@pytest.mark.parametrize("number", range(300 if FULL else 15))
def test_written_program_cannot_be_told_from_plain(number):
    problems = []
    for setting in (PLAIN, STANDARD_SETTINGS[3]):
        plain_world, world = world_written(number), world_written(number)
        plain = observe(plain_world.fn, plain_world.calls, setting, plain_world)
        compiled = TRANSFORMS["eager"](world.fn)
        problems += compare(plain, observe(compiled, world.calls, setting, world))
        world = world_written(number)
        failing = compile_failing(world.fn, number % (most_nodes(compiled) + 1))
        got = observe(failing, world.calls, setting, world)
        problems += [f"failing {line}" for line in compare(plain, got)]
    assert not problems, written(number) + "\n".join(problems[:20])


# ---------------------------------------------------------------------- one graph for many
def test_twenty_sizes_are_one_graph():
    def fn(x, n, rng):
        shape = (len(x), n + 1)
        noise = rng.standard_normal(shape) + rng.normal(x[:, None], size=shape)
        return noise, rng.normal(size=n), rng.integers(5, size=x.size), rng.permutation(n)

    compiled = bcjit.compile(fn, backend="eager")
    for n in range(2, 22):
        mine, theirs = rng(n), rng(n)
        for got, want in zip(compiled(vector(n), n, mine), fn(vector(n), n, theirs), strict=True):
            np.testing.assert_array_equal(got, want, strict=True)
        assert mine.bit_generator.state == theirs.bit_generator.state
    assert len(compiled.graphs) == 1


def test_sizes_may_depend_on_what_is_drawn():
    def fn(x, rng):
        few = int(rng.integers(1, 4))
        chosen = x[x > 1]
        return rng.normal(size=few), rng.random((2, few)) * 2, rng.normal(size=len(chosen)) + chosen

    compiled = bcjit.compile(fn, backend="eager", fullgraph=True)
    for seed in range(8):
        got, want = compiled(vector(seed), rng(seed)), fn(vector(seed), rng(seed))
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other, strict=True)
    assert len(compiled.graphs) == 1


def test_a_negative_size_raises_where_it_is_drawn():
    def fn(n, rng):
        return rng.random(), rng.normal(size=n)

    compiled = bcjit.compile(fn, backend="eager")
    mine, theirs = rng(), rng()
    compiled(3, mine), fn(3, theirs)
    for function, generator in ((compiled, mine), (fn, theirs)):
        with pytest.raises(ValueError, match="negative dimensions"):
            function(-1, generator)
    assert mine.bit_generator.state == theirs.bit_generator.state
    assert len(compiled.graphs) == 1


def test_generators_share_a_graph_and_classes_do_not():
    compiled = bcjit.compile(lambda x, rng: x + rng.normal(size=2), backend="eager")
    for seed in range(5):
        assert np.array_equal(compiled(1.0, rng(seed)), 1.0 + rng(seed).normal(size=2))
    assert len(compiled.graphs) == 1
    assert np.array_equal(compiled(1.0, legacy()), 1.0 + legacy().normal(size=2))
    assert len(compiled.graphs) == 2


class Loaded(np.random.Generator):
    """A generator of the program's own class."""

    def normal(self, *args, **kwargs):
        return 1.0


def test_generators_of_other_classes_are_left_to_python():
    compiled = bcjit.compile(lambda x, rng: (x + rng.normal(), x + rng.random()), backend="eager")
    got = compiled(vector(), Loaded(np.random.PCG64(3)))
    assert np.array_equal(got[0], vector() + 1.0)
    assert np.array_equal(got[1], vector() + rng().random())
    assert not any(node.draws for graph in compiled.graphs for node in graph.nodes)


def test_a_replaced_function_of_the_module_is_called(monkeypatch):
    compiled = bcjit.compile(lambda x: x + np.random.rand(), backend="eager")
    np.random.seed(1)
    first = compiled(vector())
    monkeypatch.setattr(np.random, "rand", lambda: 5.0)
    assert np.array_equal(compiled(vector()), vector() + 5.0)
    monkeypatch.undo()
    np.random.seed(1)
    assert np.array_equal(compiled(vector()), first)


def test_threads_share_a_generator_as_numpy_lets_them():
    shared = rng()
    compiled = bcjit.compile(lambda x, rng: x * rng.random(), backend="eager")
    drawn = []

    def draw():
        for _ in range(50):
            drawn.append(compiled(np.ones(1), shared)[0])

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(drawn) == sorted(rng().random(200))


def test_capture_leaves_generators_alone():
    seen = []

    def backend(graph, examples):
        (node,) = (node for node in graph.inputs if isinstance(node.meta[0], ObjectMeta))
        generator = examples[graph.inputs.index(node)]
        seen.append((node.meta[0].pytype, generator, pickle.dumps(generator)))
        return graph.to_callable()

    mine = rng()
    before = pickle.dumps(mine)
    bcjit.compile(of_an_argument, backend=backend)(vector(), mine)
    assert seen == [(np.random.Generator, mine, before)]
    assert pickle.dumps(mine) != before


def test_nothing_keeps_a_generator():
    compiled = bcjit.compile(of_items, backend="eager")
    mine, unused = rng(), rng()
    compiled(vector(), mine)
    compiled(vector(), mine)
    gc.collect()
    assert sys.getrefcount(mine) == sys.getrefcount(unused)


# ---------------------------------------------------------------------- what graphs say
def draws_of(fn, *arguments) -> tuple[str, list[Node]]:
    compiled = bcjit.compile(fn, backend="eager", fullgraph=True)
    compiled(*arguments)
    (graph,) = compiled.graphs
    graph.lint()
    return graph.text(), [node for node in graph.nodes if node.draws]


def test_draws_are_effects_in_order_also_where_nothing_uses_them():
    text, draws = draws_of(unused_draws, vector(), rng())
    assert [node.name for node in draws] == ["normal", "random", "random_1"]
    assert [node.effect_order for node in draws] == [1, 2, 3]
    assert all(node.visible for node in draws)
    assert "rng: Generator" in text
    assert "normal = numpy.random.Generator.normal(rng, size=3)  float64[3], draws" in text
    explanation = str(bcjit.explain(unused_draws, vector(), rng()))
    assert "effect: draw normal" in explanation
    assert "guard: rng is a Generator" in explanation


def test_functions_of_the_module_are_printed_as_they_are_called():
    text, draws = draws_of(lambda: (np.random.rand(2), np.random.seed(3)))
    assert "numpy.random.rand(2)" in text
    assert "numpy.random.seed(3)" in text
    assert all(node.visible for node in draws)


def test_streams_made_by_the_graph_are_effects_that_nobody_sees():
    def fn(rng):
        own = np.random.default_rng(2)
        return own.random(), np.random.default_rng(2), np.random.default_rng(rng).random()

    _, draws = draws_of(fn, rng())
    assert [(node.name, node.visible) for node in draws] == [
        ("default_rng", False),
        ("random", False),
        ("default_rng_1", False),
        ("random_1", True),
    ]


def test_a_generator_of_an_old_bit_generator_draws_from_its_stream():
    bits = np.random.PCG64(3)
    _, draws = draws_of(lambda bits: np.random.Generator(bits).random(), bits)
    assert [node.visible for node in draws] == [False, True]


def test_every_public_name_is_in_the_table_or_has_its_reason():
    owners = {
        "np.random": np.random,
        "np.random.Generator": np.random.Generator,
        "np.random.RandomState": np.random.RandomState,
    }
    for owner, holder in owners.items():
        public = {name: value for name, value in vars(holder).items() if not name.startswith("_")}
        known = {name for name, value in public.items() if ops.lookup(value) is not None}
        listed = {name for name in public if f"{owner}.{name}" in UNSUPPORTED}
        assert known | listed == set(public)
        assert not known & listed


def test_the_rows_are_loaded_when_a_program_draws():
    program = """
import sys, bcjit, numpy as np
f = bcjit.compile(lambda x: np.add(x, 1), backend="eager")
g = bcjit.compile(lambda x: x + np.random.rand(), backend="eager")
f(np.ones(2))
print("numpy.random" in sys.modules, "bcjit.ops.random" in sys.modules)
g(np.ones(2)), g(np.ones(2))
print("bcjit.ops.random" in sys.modules, [n.draws for graph in g.graphs for n in graph.calls])
"""
    assert output_of(program) == ["False False", "True [True, False]"]


def test_what_a_program_put_into_the_module_is_not_taken_for_numpys():
    program = """
import bcjit, numpy as np
class RandomState(np.random.RandomState):
    pass
np.random.normal = lambda *args, **kwargs: "mine"
np.random.RandomState = RandomState
f = bcjit.compile(lambda: (np.random.normal(), np.random.seed(1), np.random.rand()), backend="eager")
g = bcjit.compile(lambda: type(np.random.RandomState(1)).__module__, backend="eager")
print(f()[0], g())
print([n.name for graph in f.graphs for n in graph.nodes if n.draws])
"""
    assert output_of(program) == ["mine __main__", "['seed', 'rand']"]


def output_of(program):
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
