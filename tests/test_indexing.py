"""``x[index]`` and ``x[index] = v`` in compiled functions against plain ones, over many kinds of index."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
from pictures import Painter

import bcjit
from bcjit.backends.testing import CountingBackend

COUNT = 20  # of random indices of each array of several axes
SHAPES = ((), (4,), (3, 4), (2, 3, 4), (0, 3))


@dataclass
class Case:
    """An index as it is written in the function: arrays and NumPy scalars are its arguments."""

    x: np.ndarray
    text: str
    arguments: tuple

    def function(self, template):
        names = "".join(f", a{i}" for i in range(len(self.arguments)))
        namespace = {"np": np}
        lines = template.replace("INDEX", self.text).replace("NAMES", names)
        exec(lines, namespace)
        return namespace["f"]

    def fresh(self):
        """Return arguments that share no memory with those of another run."""
        base = np.array(self.x, order="K")
        x = base[..., ::-1] if self.x.ndim == 2 else base
        return x, *(a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments)


def counting(function):
    """Compile a function; a mistake inside bcjit raises."""
    bcjit.config.strict = True  # put back by conftest.py
    backend = CountingBackend()
    return bcjit.compile(function, backend=backend), backend


def parts(rng, length):
    """Return indices for one axis, of every kind."""
    size = max(length, 1)
    return [
        f"{rng.randrange(-size, size)}",
        np.int64(rng.randrange(size)),
        rng.randrange(-size, size),
        ":",
        "1:",
        "::-1",
        "-1:0:-2",
        "None",
        "...",
        "[0, -1]",
        np.array([size - 1, 0, 0]),
        np.array([[0], [-1]], np.int8),
        np.array(0),
        np.array([], int),
        np.arange(length) % 2 == 0,
        np.zeros(length, bool),
        "True",
        np.bool_(False),
    ]


def case(x, chosen, *, is_tuple=True):
    texts, arguments = [], []
    for part in chosen:
        texts.append(part if isinstance(part, str) else f"a{len(arguments)}")
        if not isinstance(part, str):
            arguments.append(part)
    return Case(x, ", ".join(texts) + ("," if is_tuple else ""), tuple(arguments))


def cases(count, seed):
    """Yield indices of arrays: every kind alone, and some of each number together."""
    rng = random.Random(seed)
    for shape in SHAPES:
        x = np.arange(np.prod(shape), dtype=float).reshape(shape)
        lengths = [*shape, 2]
        for part in parts(rng, lengths[0]):
            yield case(x, [part], is_tuple=False)
        for _ in range(count if len(shape) > 1 else count // 4):
            number = rng.randrange(1, 5)
            chosen = [rng.choice(parts(rng, lengths[min(i, len(shape))])) for i in range(number)]
            yield case(x, chosen)
        if len(shape) > 1 and x.size:
            mask = x % 3 == 0
            yield case(x, [mask], is_tuple=False)
            yield case(x, ["...", mask[0]])
            yield case(x, [mask[..., 0], "0"])
            yield case(x, [np.nonzero(mask)[0], ":", np.nonzero(mask)[1]][:: len(shape) - 1])
            yield case(np.asfortranarray(x), [mask], is_tuple=False)


def outcome(function, arguments):
    """Return what a call did: its result and arguments, or what it raised."""
    try:
        return Painter().paint((function(*arguments), arguments), "r")
    except Exception as error:
        return type(error), str(error), Painter().paint(arguments, "args")


GET = """
def f(x NAMES):
    return x[INDEX]
"""
SET = """
def f(x, v NAMES):
    x[INDEX] = v
"""
ADD = """
def f(x NAMES):
    x[INDEX] += 1
    return x
"""
SELF = """
def f(x NAMES):
    x[INDEX] = x[INDEX][::-1]
"""


def values_for(one, rng):
    """Return a value of the size of what is indexed, and one of another size, for those that can be evaluated here."""
    try:
        region = one.function(GET)(*one.fresh())
    except IndexError:
        return [1.5]
    whole = np.arange(region.size, dtype=np.int8).reshape(np.shape(region))
    return [rng.choice([1.5, whole, whole[..., :1] if whole.ndim else whole, np.ones((1, 7))])]


def arguments_of(template, one, value):
    x, *rest = one.fresh()
    return (x, value, *rest) if template is SET else (x, *rest)


@pytest.mark.parametrize("template", [GET, SET, ADD, SELF], ids=["get", "set", "add", "self"])
def test_every_kind_of_index_does_what_numpy_does(template):
    rng = random.Random(7)
    captured = total = 0
    for one in cases(COUNT, seed=len(template)):
        function = one.function(template)
        value = values_for(one, rng)[0] if template is SET else None
        want = outcome(function, arguments_of(template, one, value))
        compiled, backend = counting(function)
        for _ in range(2):
            got = outcome(compiled, arguments_of(template, one, value))
            assert got == want, (one, template, value)
        if not isinstance(want[0], type):
            total += 1
            captured += backend.node_count > 0
    # What is left out: a bool as index of an array without axes is assigned to in plain Python.
    assert captured >= total - 4, (captured, total)
