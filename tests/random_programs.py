"""Programs that draw random numbers, of an array and a generator; what must be captured of them says the list they are in."""

from __future__ import annotations

import dataclasses
import functools
import random

import numpy as np
from differential import World, args
from programs import function_from, indented

__all__ = ["BROKEN", "CAPTURED", "legacy", "rng", "vector", "world_of", "world_written", "written"]


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


# ---------------------------------------------------------------------- written at random
_STREAMS = ("a", "b", "old", "held['a']", "box.value", "np.random")
_DRAWS = (
    "{g}.normal(size={s})", "{g}.standard_normal({s})", "{g}.uniform(-1, 2, {s})", "{g}.random({s})",
    "{g}.exponential(abs(z), {s})", "{g}.poisson(3, {s})", "{g}.permutation({x})", "{g}.gamma({x}, size={s})",
    "{g}.normal({x})", "{g}.choice({x}, 3)", "{g}.binomial(4, z, {s})",
)  # fmt: skip
_NUMBERS = ("{g}.random()", "{g}.normal(z)", "float({g}.choice({x}))", "{g}.gamma(z)")
_STATEMENTS = (
    "{x} = {d}", "{x} = {d}", "z = {n}", "z = {n}", "{x} = {x} * z + {d}", "{x} = np.log({x})", "{x} += {d}",
    "{x} /= z - z", "{g}.shuffle({x})", "print('z', z)", "{d}", "box.value = {g2}", "box.count += 1",
    "held['a'] = {g2}", "np.random.seed(len({x}))", "{g2} = np.random.default_rng(3)", "items.append({d})",
    "{x} = helper({d}, z)", "{x}[0] = {n}", "{x}[1:] *= 1e300", "{x}.reshape(7)", "y = x", "x = x[::-1]",
    "items.append(a is b)", "{g2}.standard_normal(out=np.asarray({x}))", "z = [{n} for _ in range(2)][1]",
)  # fmt: skip
_BLOCKS = (
    "if {x}.sum() > z:\n    {t}\nelse:\n    {t}", "for k in range(3):\n    {t}\n    {t}", "if z < 0.5:\n    {t}",
    "try:\n    {t}\n    {t}\nexcept ValueError:\n    {t}", "with np.errstate(all='ignore'):\n    {t}\n    {t}",
    "while z < 0.7 and len(items) < 4:\n    items.append(z)\n    z = {n}",
)  # fmt: skip


def written(seed):
    """Return the source of a program ``f(x, y, a, b, old)`` of draws from streams that may be one."""
    chance = random.Random(seed)

    def filled(form):
        """Fill the gaps from the left, until there are none."""
        while "{" in form:
            start, end = form.index("{"), form.index("}")
            pools = {
                "g": _STREAMS, "g2": ("a", "b"), "x": ("x", "y"), "s": ("len(x)", "3", "y.shape", "None"),
                "d": _DRAWS, "n": _NUMBERS, "t": _STATEMENTS,
            }  # fmt: skip
            form = form[:start] + chance.choice(pools[form[start + 1 : end]]) + form[end + 1 :]
        return form

    lines = [filled(chance.choice(_STATEMENTS * 2 + _BLOCKS)) for _ in range(chance.randint(4, 12))]
    body = "\n".join([
        "held, box, items, z = {'a': a}, Box(b), [], 0.25", *lines,
        "return x, y, z, items, a.random(), np.random.rand(), box, held",
    ])  # fmt: skip
    return f"def f(x, y, a, b, old):\n{indented(body)}"


def world_written(seed):
    """Return a world of such a program, with two generators, one under two names, and an old one as both."""
    fn = function_from(written(seed), "random")

    def call(a, b=None):
        return args(vector(), vector() * 0.5, a, a if b is None else b, legacy())

    return World(
        fn,
        [lambda: call(rng(), rng(4)), lambda: call(rng(5)), lambda: call(legacy(1), legacy(2))],
    )
