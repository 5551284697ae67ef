"""Random numbers: drawn by the real generators, in order, once; the streams stand where plain Python leaves them.

The corpus (``corpus/random_streams.py``) goes through the sweeps, the table test has each distribution; here are whole programs
with what must be captured of them, and what graphs say of their draws.
"""

from __future__ import annotations

import dataclasses
import functools
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from differential import PLAIN, STANDARD_SETTINGS, World, args, compare, observe
from under_test import TRANSFORMS, compile_failing, most_nodes

import bcjit
from bcjit import ops
from bcjit.fx_graph import Node
from bcjit.meta import ObjectMeta
from bcjit.ops.random import UNSUPPORTED


class Holder:
    """What programs write, for others to see."""


RNG = np.random.default_rng(1)
HOLDER = Holder()
PARTIAL = functools.partial(RNG.uniform, 0.5)


def rng(seed=3):
    return np.random.default_rng(seed)


def legacy(seed=3):
    return np.random.RandomState(seed)


def vector(size=3):
    return np.arange(1.0, size + 1)


@dataclasses.dataclass
class Model:
    rng: np.random.Generator
    weights: object = None

    def noise(self, x):
        return x + self.rng.normal(size=x.shape)

    @property
    def drawn(self):
        return self.rng.random()


class Layer:
    def __init__(self, size, rng):
        self.weights = rng.normal(0, 1 / size, size=(size, size))


def check_random_state(seed):
    if seed is None or seed is np.random:
        return np.random.mtrand._rand
    if isinstance(seed, int):
        return np.random.RandomState(seed)
    if isinstance(seed, np.random.RandomState):
        return seed
    raise ValueError(f"{seed!r} cannot be used to seed a generator")


# ---------------------------------------------------------------------- captured without a break
def of_an_argument(x, rng):
    return x + rng.normal(0.5, size=x.shape), rng.random()


def of_a_global(x, rng):
    return RNG.random(len(x)) * x - RNG.integers(3)


def of_an_attribute(x, rng):
    model = Model(rng)
    return model.noise(x), model.noise(x)


def of_items(x, rng):
    table = {"rng": rng, "all": [rng, rng]}
    return table["rng"].normal(size=2), table["all"][1].gamma(2.0), table["all"][0].gamma(x)


def of_a_closure(x, rng):
    def draw(shape):
        return rng.uniform(-1, 1, shape)

    return draw(2) + draw((3, 2)), draw(())


def of_the_module(x, rng):
    np.random.seed(len(x))
    a = np.random.rand(2, len(x)) + np.random.randn(len(x))
    return a, np.random.rand(), np.random.randint(10), np.random.randint(10, size=2), a @ x


def by_bound_methods(x, rng):
    normal, draw = rng.normal, PARTIAL
    return (
        normal(size=2),
        draw(size=x.shape),
        normal(),
        hasattr(rng, "normal"),
        hasattr(rng, "rand"),
    )


def by_functions_of_classes(x, rng):
    return np.random.Generator.normal(rng, 1.0, size=x.shape) + np.random.Generator.random(rng)


def of_one_made_here(x, rng):
    own = np.random.default_rng(seed=5)
    old = np.random.RandomState(7)
    third = np.random.Generator(np.random.PCG64(2))
    return own.normal(size=x.shape) + old.rand(len(x)) * third.random(), own, old


def made_and_kept(x, rng):
    model = Model(rng)
    model.rng = np.random.default_rng(1)
    return model.noise(x), model, model.rng is rng, model.rng is model.rng


def passed_on(x, rng):
    same = np.random.default_rng(rng)
    return same.normal(size=2), same is rng, isinstance(same, np.random.Generator), x


def checked(x, rng):
    return check_random_state(5).rand(3) + x[0], check_random_state(None).rand(len(x))


def parameters_are_arrays(x, rng):
    lam = x * 2
    return rng.poisson(lam), rng.normal(x, lam[:, None]), rng.binomial(5, 0.5, size=(2, len(x)))


def of_a_sum(x, rng):
    scale = x.sum()
    return rng.normal(0.0, scale, size=4), rng.normal(scale), rng.exponential(x[0])


def into_arrays(x, rng):
    out = np.empty((2, 3))
    rng.random(out=out)
    back = rng.standard_normal(out=x)
    rng.standard_exponential(dtype=np.float64, out=out[1])
    return out, back is x, rng.random(2, dtype=np.float32)


def shuffles(x, rng):
    rng.shuffle(x)
    rng.shuffle(x[1:])
    grid = np.outer(x, x)
    rng.shuffle(grid, axis=1)
    np.random.shuffle(grid)
    return rng.permutation(x), rng.permutation(4), rng.permuted(grid, axis=0), grid


def chooses(x, rng):
    picked = rng.choice(x, size=4)
    return (
        picked,
        rng.choice(5),
        rng.choice(x),
        rng.choice(5, 3, replace=False),
        np.random.choice(x),
    )


def own_arrays_change(x, rng):
    y = rng.normal(size=3)
    y *= 1e308
    y *= 1e308
    z = np.log(y)
    y[1:] /= np.zeros(2)
    return y, z, rng.random()


def unused_draws(x, rng):
    rng.normal(size=3)
    rng.random()
    return rng.random() + x


def drawn_sizes(x, rng):
    k = np.random.randint(1, 4)
    return np.zeros(k), x * k, x[np.random.randint(len(x), size=2)]


def in_a_comprehension(x, rng):
    return [rng.random() for _ in range(3)], {v: rng.normal() * v for v in (1, 2)}, x


CAPTURED = [
    of_an_argument,
    of_a_global,
    of_an_attribute,
    of_items,
    of_a_closure,
    of_the_module,
    by_bound_methods,
    by_functions_of_classes,
    of_one_made_here,
    made_and_kept,
    passed_on,
    parameters_are_arrays,
    of_a_sum,
    into_arrays,
    shuffles,
    chooses,
    own_arrays_change,
    unused_draws,
    in_a_comprehension,
]


# ---------------------------------------------------------------------- with breaks
def prints_between(x, rng):
    first = rng.normal(size=len(x))
    print("first", first[0])
    second = rng.normal(size=len(x))
    print("second", second[0])
    return first - second, rng.random()


def draws_what_is_not_captured(x, rng):
    a = rng.normal(size=2)
    b = rng.multivariate_normal([0.0, 0.0], np.eye(2))
    c = rng.bytes(3)
    d = rng.choice(4, 2, replace=False, p=[0.25, 0.25, 0.25, 0.25])
    children = rng.spawn(2)
    items = [1, 2, 3]
    rng.shuffle(items)
    return a, b, c, d, children[1].random(2), items, rng.normal()


def judges_the_covariance(x, rng):
    a = rng.normal(size=2)
    return a, rng.multivariate_normal([0.0, 0.0], -np.eye(2)), rng.normal()


def looks_at_the_state(x, rng):
    state = rng.bit_generator.state
    a = rng.random(2)
    rng.bit_generator.state = state
    b = rng.random(2)
    old = np.random.get_state()
    c = np.random.rand(2)
    np.random.set_state(old)
    return a == b, c == np.random.rand(2)


def bad_parameters(x, rng):
    first = rng.random()
    try:
        rng.normal(0, -x)
    except ValueError as error:
        second = rng.random(), str(error)
    return first, second, rng.gamma(-x[0])


def bad_sizes(x, rng):
    first = rng.random(2)
    try:
        return rng.normal(x, size=(2, len(x) + 1))
    except ValueError:
        first += rng.random(2)
    try:
        return rng.random(2**60)
    except MemoryError:
        return first, rng.random(2)


def read_only(x, rng):
    y = np.broadcast_to(x, (2, len(x)))
    rng.random()
    try:
        rng.shuffle(y)
    except ValueError as error:
        return str(error), rng.random()
    return None


def too_wide_a_range(x, rng):
    high = x * 1.7e308
    rng.random()
    return rng.uniform(-high, high, size=x.shape)


def warns_and_goes_on(x, rng):
    a = np.sqrt(x - 2) + rng.random()
    b = 1 / (x - x) + rng.random()
    x += rng.random()
    c = np.log(-x) + rng.random()
    return a, b, c, rng.random()


def draws_in_a_handler(x, rng):
    try:
        first = rng.random(2)
        return x[7] + first
    except IndexError:
        return rng.random(2)
    finally:
        np.random.rand()


def in_a_generator(x, rng):
    return sum(rng.normal() * v for v in (1, 2)), functools.partial(rng.normal, 1.0)(), x


def while_a_draw_is_small(x, rng):
    count = 0
    while rng.random() < 0.7:
        count += 1
        x = x + rng.normal(size=x.shape)
    return count, x


def in_a_constructor(x, rng):
    layer = Layer(len(x), rng)
    return layer.weights @ x, rng.random()


def in_a_property(x, rng):
    model = Model(rng)
    model.rng.random()
    return model.drawn + model.drawn, x


def in_a_callback(x, rng):
    return list(map(lambda v: v + rng.random(), (1.0, 2.0))), sorted(x, key=lambda _: rng.random())  # noqa: C417


def raises_in_the_end(x, rng):
    x[0] = rng.random()
    y = rng.normal(size=2)
    return x.reshape(5) + y


def writes_between_draws(x, rng):
    HOLDER.first = rng.random()
    HOLDER.log = []
    HOLDER.log.append(rng.normal(size=2))
    HOLDER.rng = np.random.default_rng(2)
    HOLDER.log.append(HOLDER.rng.random())
    HOLDER.last = np.log(x - rng.random(len(x)) * 3)
    HOLDER.log.append(rng.normal(0, -1))


def gives_methods_away(x, rng):
    draw = rng.normal
    print("drawing", draw(size=2))
    return draw, draw(size=len(x)), rng.random


def replaces_its_generator(x, rng):
    a = rng.random()
    rng = np.random.default_rng(rng.integers(10))
    return a, rng.random(2), x


BROKEN = [
    checked,
    drawn_sizes,
    prints_between,
    draws_what_is_not_captured,
    judges_the_covariance,
    looks_at_the_state,
    bad_parameters,
    bad_sizes,
    read_only,
    too_wide_a_range,
    warns_and_goes_on,
    draws_in_a_handler,
    in_a_generator,
    while_a_draw_is_small,
    in_a_constructor,
    in_a_property,
    in_a_callback,
    raises_in_the_end,
    writes_between_draws,
    gives_methods_away,
    replaces_its_generator,
]


def world_of(fn):
    def restart(_number):
        RNG.bit_generator.state = rng(1).bit_generator.state
        vars(HOLDER).clear()

    calls = [lambda: args(vector(), rng()), lambda: args(vector(4), rng(4))]
    return World(fn, calls, watch=lambda: (RNG, vars(HOLDER)), between=restart)


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
    assert "guard: rng is of class Generator" in explanation


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
    missing = []
    for owner in (np.random, np.random.Generator, np.random.RandomState):
        for name, value in vars(owner).items():
            if not name.startswith("_") and name not in UNSUPPORTED and ops.lookup(value) is None:
                missing.append(f"{owner.__name__}.{name}")
    assert not missing
    known = set(dir(np.random)) | set(dir(np.random.Generator)) | set(dir(np.random.RandomState))
    assert set(UNSUPPORTED) <= known
    assert not any(ops.lookup(vars(np.random).get(name)) for name in UNSUPPORTED)


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
