"""Recipes have two interpreters, residual bytecode and the restorer of bail-outs: from one state they make the same values.

Captures of many functions are stopped early, at each instruction in turn, and everything that is alive there is made both ways from
fresh arguments. The pictures that are compared hold which objects are one and the same.
"""

from __future__ import annotations

import contextlib
import io
import types
import warnings
from dataclasses import replace

import numpy as np
import pytest
from corpus import ENTRIES
from pictures import Painter, differences
from vm_kit import capture_call, values_of

from bcjit import _core
from bcjit.compiler.recipes import (
    Build,
    FromGraph,
    FromSource,
    Literal,
    Nothing,
    RecipeMaker,
    walk,
)
from bcjit.compiler.residual import build_residual
from bcjit.compiler.restore import NOTHING, Restorer, perform
from bcjit.config import config
from bcjit.fx_graph import Graph, Interpreter, NodeKind
from bcjit.guards import Roots, Source, SourceKind, fetch
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.symbolic_vm import BreakExit, ReturnExit, State
from bcjit.symbolic_vm.values import (
    NULL,
    UNBOUND,
    DictItem,
    Known,
    Null,
    SymArray,
    SymCell,
    SymMethod,
    SymObject,
    SymRange,
    SymScalar,
    SymSlice,
    SymTuple,
    Unbound,
)


# ---------------------------------------------------------------------- own functions
def builds(x, n, table):
    pair = (x, n)
    box = [pair, x + 1, n * 2]
    same = {"box": box, "again": box, "pair": pair, **table}
    cut = slice(1, n)
    count = range(n)
    tail = box[1:]
    box.append(tail)
    same["cut"] = cut
    return same, count, pair[0] is x


def shares(x):
    inner = [x]
    outer = [inner, inner, (inner, x)]
    named = {"a": outer, "b": inner}
    view = x[1:]
    return outer, named, view, x


def methods(x, items):
    total = x.sum
    take = items.append
    text = "a".upper
    return total, take, text, x + 1


class Holder:
    def __init__(self):
        self.buffer = np.arange(3.0)

    def scaled(self, k):
        return self.buffer * k

    @classmethod
    def make(cls):
        return cls


def bound(o, x):
    scaled = o.scaled
    make = o.make
    buffer = o.buffer
    return scaled, make, buffer, x + buffer


def closes_over(x, n):
    total = x * 2
    kept = [n]

    def add(k, scale=n, *, shift: int = 3):
        nonlocal total
        total = total + k * scale
        return total, kept, shift

    other = add
    return add, other, total, kept


def argument_in_a_cell(x, n):
    def read():
        return x, n

    n = n + 1
    return read


def texts_and_constants(x):
    k = 3
    name = f"n{k}"
    pair = (1, 2.5, None, "t", b"b", 1j, ...)
    y = x + 1
    return name, pair, y, np.float32, np.pi, len


def sizes(x, n):
    rows = x.shape[0]
    twice = rows * 2 + n
    half = twice // 2
    shape = x.shape
    big = n**2 - rows
    return rows, twice, half, shape, big, x.reshape(rows, 1)


def keywords(x, *rest, key=None, **more):
    first = rest[0]
    more["new"] = first
    return first, rest, key, more, x + 1


OWN = {
    "builds": (builds, lambda: (np.arange(4.0), 3, {"t": [1]})),
    "shares": (shares, lambda: (np.arange(4.0),)),
    "methods": (methods, lambda: (np.arange(4.0), [1])),
    "bound": (bound, lambda: (Holder(), np.arange(3.0))),
    "closes_over": (closes_over, lambda: (np.arange(4.0), 3)),
    "argument_in_a_cell": (argument_in_a_cell, lambda: (np.arange(4.0), 3)),
    "texts_and_constants": (texts_and_constants, lambda: (np.arange(4.0),)),
    "sizes": (sizes, lambda: (np.arange(4.0), 3)),
    "keywords": (keywords, lambda: (np.arange(4.0), 1.5, [2])),
}


def cases():
    """Yield names, functions and makers of arguments."""
    for name, (fn, make) in OWN.items():
        yield name, fn, lambda make=make: (make(), {})
    for entry in ENTRIES[2::5]:
        world = entry.make()
        if "large" in entry.tags or not isinstance(world.fn, types.FunctionType):
            continue
        if "cells" in entry.tags:  # both ways would count in the same variables
            continue
        try:
            args, kwargs = world.calls[0]()
            values_of(world.fn, args, kwargs)
        except TypeError:
            continue
        yield entry.name, world.fn, world.calls[0]


CASES = list(cases())


class Skip(Exception):
    """A state that cannot be made: its graph fails on these arguments, as it would in the program."""


def live_values(state):
    """Return all values of a state that are objects."""
    cells = [state.heap.get(cell.oid, cell.initial) for cell in state.cells if cell is not None]
    return tuple(
        value
        for value in (*state.stack, *state.locals, *cells)
        if not isinstance(value, Null | Unbound | SymCell)
    )


def by_residual(fn, found, whole, args, kwargs):
    values = values_of(fn, args, kwargs)
    graph = found.graph

    def graph_call(outputs):
        graph.output(outputs)
        return _core.GraphCall(Interpreter(graph).run, None, False, False)

    done = replace(found, end=ReturnExit(found.end.state, whole))
    residual = build_residual(done, graph.inputs, graph_call, refuse, None)
    assert residual.returns
    if not graph.nodes or graph.nodes[-1].kind is not NodeKind.OUTPUT:  # nothing to run
        graph.output(())
    try:
        return _core.run_plain(residual.code, fn.__globals__, fn.__closure__, values)
    except _core.BailOut as failure:
        raise Skip from failure


def refuse(spec):
    raise AssertionError("a part that returns has no continuation")


def by_restorer(fn, found, whole, args, kwargs):
    roots = Roots(values_of(fn, args, kwargs), fn, None)
    interpreter = Interpreter(found.graph)
    interpreter.run(*[fetch(found.input_sources[node], roots) for node in found.graph.inputs])
    maker = RecipeMaker(found.end.state, (), ())
    recipe, steps = maker.make(whole), maker.steps()
    restorer = Restorer(roots, found.graph, interpreter.values, fn.__closure__ or ())
    value = restorer.make(recipe)
    given = [tuple(restorer.make(operand) for operand in step.operands) for step in steps]
    for step, operands in zip(steps, given, strict=True):
        perform(step, operands)
    return value


@pytest.mark.parametrize("name,fn,make", CASES, ids=[case[0] for case in CASES])
def test_residual_code_and_the_restorer_make_the_same_values(name, fn, make):
    args, kwargs = make()
    steps = capture_call(fn, *args, **kwargs).steps
    compared = 0
    for limit in range(1, min(steps, 120) + 1):
        args, kwargs = make()
        with config.override(capture_limit=limit):
            found = capture_call(fn, *args, **kwargs)
        if not isinstance(found.end, BreakExit):
            continue
        whole = SymTuple(None, live_values(found.end.state))
        made = []
        with quiet():
            try:
                for way in (by_residual, by_restorer):
                    arguments = make()
                    np.random.seed(1)  # the graph is run twice
                    value = way(fn, found, whole, *arguments)
                    made.append((Painter().paint((arguments, value), "all")))
            except Skip:
                break
        assert type(value) is tuple
        assert len(value) == len(whole.items)
        assert not list(differences(made[0], made[1])), f"{name} behind {limit} instructions"
        compared += 1
    assert compared or steps <= 2


@contextlib.contextmanager
def quiet():
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


# ---------------------------------------------------------------------- recipes of single values
def local(index, name="v"):
    return Source(SourceKind.LOCAL, (index, name))


def maker(heap=None):
    return RecipeMaker(State(0, (), (), (), heap or {}), (), ())


def restorer(values=(), graph=None, computed=None, cells=()):
    return Restorer(Roots(values, fn_of_nothing, None), graph or Graph(), computed or {}, cells)


def fn_of_nothing():
    return None


def test_what_is_no_object_is_nothing():
    for value in (NULL, UNBOUND):
        recipe = maker().make(value)
        assert recipe == Nothing()
        assert restorer().make(recipe) is NOTHING


def test_a_value_with_a_source_is_read_again():
    thing = object()
    recipe = maker().make(SymTuple(local(0), (Known(None, 1),)))
    assert recipe == FromSource(local(0))
    assert restorer((thing,)).make(recipe) is thing


def test_constants_are_kept_as_the_objects_they_are():
    constant = ("a", 1000, 2.5)
    recipe = maker().make(Known(None, constant))
    assert recipe == Literal(constant)
    assert restorer().make(recipe) is constant


def test_values_of_the_graph_are_its_nodes_and_sizes():
    graph = Graph()
    node = graph.input("x", ArrayMeta((3,), np.dtype("f8")))
    number = graph.input("k", ScalarMeta(float))
    array = np.arange(3.0)
    made = restorer((), graph, {node: array, number: 2.5})
    assert made.make(maker().make(SymArray(None, node, node.meta[0]))) is array
    assert made.make(maker().make(SymScalar(None, float, number))) == 2.5


def test_each_kind_of_container_is_made():
    one, two = Known(None, 1), Known(None, 2)
    wanted = {
        SymTuple(None, (one, two)): (1, 2),
        SymObject(None, list, 1, (one, two)): [1, 2],
        SymObject(None, dict, 2, (DictItem("a", one, Known(None, "a")),)): {"a": 1},
        SymSlice(None, one, two, Known(None, None)): slice(1, 2, None),
        SymRange(None, one, two, one): range(1, 2, 1),
    }
    for value, expected in wanted.items():
        found = restorer().make(maker().make(value))
        assert found == expected
        assert type(found) is type(expected)


def test_contents_are_those_of_the_state():
    box = SymObject(None, list, 7, (Known(None, 1),))
    changed = maker({7: (Known(None, 1), Known(None, 2))})
    assert restorer().make(changed.make(box)) == [1, 2]
    assert restorer().make(maker().make(box)) == [1]


def test_one_object_stays_one_object():
    box = SymObject(None, list, 7, (Known(None, 1),))
    recipe = maker().make(SymTuple(None, (box, box, SymTuple(None, (box,)))))
    first, second, (third,) = restorer().make(recipe)
    assert first is second is third
    assert (
        len({part.key for part in walk(recipe) if isinstance(part, Build) and part.kind == "list"})
        == 1
    )


def test_equal_objects_stay_different_objects():
    boxes = tuple(SymObject(None, list, oid, (Known(None, 1),)) for oid in (7, 8))
    first, second = restorer().make(maker().make(SymTuple(None, boxes)))
    assert first == second
    assert first is not second


def test_methods_are_bound_again():
    text = SymMethod(None, Known(None, "abc"), Known(None, str.upper))
    assert restorer().make(maker().make(text))() == "ABC"
    owner = Holder()
    python = SymMethod(None, SymTuple(local(0), ()), SymTuple(local(1), ()))
    made = restorer((owner, Holder.scaled)).make(maker().make(python))
    assert type(made) is types.MethodType
    assert made.__self__ is owner
    assert made.__func__ is Holder.scaled


def test_cells_are_made_with_their_contents_or_empty():
    full = SymCell(None, 1, "c", Known(None, 5), from_outside=False)
    empty = SymCell(None, 2, "e", UNBOUND, from_outside=False)
    assert restorer().make(maker().make(full)).cell_contents == 5
    with pytest.raises(ValueError, match="empty"):
        restorer().make(maker().make(empty)).cell_contents  # noqa: B018


def test_walk_yields_every_part_once():
    box = SymObject(None, list, 7, (Known(None, 1), Known(None, "x")))
    recipe = maker().make(SymTuple(None, (box, box)))
    literals = [part.value for part in walk(recipe) if isinstance(part, Literal)]
    assert literals[:2] == [1, "x"]
    assert not [part for part in walk(recipe) if isinstance(part, FromGraph)]
