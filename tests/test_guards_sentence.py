"""Each guard in plain words: what must hold, and what was found instead, for every kind and when there is nothing to find."""

import gc
import types

import numpy as np
import pytest
from guards_kit import arg, function_with, guard, plain, roots, step

from bcjit.dims import Relation, Symbol
from bcjit.guards import (
    GuardKind,
    Identity,
    Source,
    SourceKind,
    SymbolicRelation,
    describe,
    sentence,
)

X, Y = arg(), arg(1, "y")
N, M = Symbol("s0"), Symbol("s1")
GLOBALS, BUILTINS = Source(SourceKind.GLOBALS), Source(SourceKind.BUILTINS)
CELL = Source(SourceKind.CELL, (0, "total"))
NP_ADD = step("MODULE_ATTR", Source(SourceKind.GLOBAL, "np"), "add")


class Model:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)

    def __repr__(self):
        raise AssertionError("no sentence prints an object")

    step = None


def another_model():
    class Model:
        pass

    Model.__qualname__ = "Model"
    return Model


def step_one():
    return 1


def enclosing():
    total = 1
    return lambda: total


nested = enclosing()
OLD_STEP, OTHER_STEP = (
    types.FunctionType(step_one.__code__, {}),
    types.FunctionType(step_one.__code__, {}),
)


def relation(op, lhs, rhs, *symbols):
    return guard("RELATION", symbols[0][1], SymbolicRelation(Relation(op, lhs, rhs), symbols))


LINE = "(relied on at model.py:12)"
ARRAY = guard("ARRAY", X, (np.dtype(float), 2))
KEYS = guard("KEYS", X, ("a", 1))
SAME, TWO = guard("SAME_OBJECT", X, (Y, True)), guard("SAME_OBJECT", X, (Y, False))
APART, OVERLAPPING = guard("OVERLAP", X, (Y, False)), guard("OVERLAP", X, (Y, True))
SIZE = relation("!=", N, 1, (N, step("SHAPE", X, 0)))
SIZES = relation("==", N, 2 * M, (N, step("SHAPE", X, 0)), (M, step("LENGTH", Y)))
MODEL = guard("TYPE", X, Model)
LENGTH = guard("EQUALS", step("LENGTH", arg(0, "parts")), 3)
SCALE = guard("EQUALS", X, 1.0)
NAN = float("nan")
OTHER_NAN = np.array([0x7FF8000000000001], np.uint64).view(float).item()

# (guard, what must hold, [(values, what was found)])
SENTENCES = [
    (
        ARRAY,
        "x is a float64 array of 2 dimensions",
        [
            (roots(np.zeros((2, 2), "f4")), f"x: dtype float64 was expected {LINE}, got float32"),
            (roots(np.zeros((2, 2), ">f8")), f"x: dtype float64 was expected {LINE}, got >f8"),
            (roots(np.zeros(2)), f"x: 2 dimensions were expected {LINE}, got 1"),
            (roots([1.0]), f"x: a float64 array was expected {LINE}, got a list object"),
            (roots(None), f"x: a float64 array was expected {LINE}, got None"),
            (roots(np.zeros((2, 2))), f"x is a float64 array of 2 dimensions, as expected {LINE}"),
            (
                roots(),
                f"it was expected that x is a float64 array of 2 dimensions {LINE}, but there is no such value now (x: there is no such argument)",
            ),
        ],
    ),
    (
        guard("ARRAY", X, (np.dtype(int), 1)),
        "x is an int64 array of 1 dimension",
        [(roots(np.ones((2, 2), int)), f"x: 1 dimension was expected {LINE}, got 2")],
    ),
    (
        guard("ARRAY", X, (np.dtype([("a", int)]), 1)),
        "x is a [('a', '<i8')] array of 1 dimension",
        [
            (
                roots(np.zeros(1, [("a", int)])),
                f"x: dtype [('a', '<i8')] was expected {LINE}, got another dtype [('a', '<i8')]",
            )
        ],
    ),
    (
        MODEL,
        "x is a Model",
        [
            (roots(3), f"x: a Model was expected {LINE}, got an int"),
            (
                roots(another_model()()),
                f"x: a Model was expected {LINE}, got one of another class of that name",
            ),
            (roots(Model()), f"x is a Model, as expected {LINE}"),
        ],
    ),
    (
        guard("IDENTITY", NP_ADD, Identity(np.add)),
        "np.add is ufunc add",
        [
            (roots(func=function_with({"np": np})), f"np.add is ufunc add, as expected {LINE}"),
            (
                roots(func=function_with({})),
                f"it was expected that np.add is ufunc add {LINE}, but there is no such value now (np: there is no 'np')",
            ),
            (
                roots(func=function_with({"np": 3})),
                f"it was expected that np.add is ufunc add {LINE}, but there is no such value now (np: it is not a module)",
            ),
        ],
    ),
    (
        guard("IDENTITY", step("MRO", step("TYPE", X), "step"), Identity(OLD_STEP)),
        "type(x).step is function step_one",
        [
            (roots(Model()), f"type(x).step: function step_one was expected {LINE}, got None"),
            (
                roots(type("M", (), {"step": OTHER_STEP})()),
                f"type(x).step: function step_one was expected {LINE}, got another object of that name",
            ),
        ],
    ),
    (
        LENGTH,
        "len(parts) == 3",
        [
            (roots([1, 2, 3, 4]), f"len(parts) == 3 was expected {LINE}, got 4"),
            (
                roots(3),
                f"it was expected that len(parts) == 3 {LINE}, but there is no such value now (parts: it is not a plain list, tuple, dict, set, str or bytes)",
            ),
        ],
    ),
    (
        guard("EQUALS", arg(0, "mode"), "fast"),
        "mode == 'fast'",
        [
            (roots("slow"), f"mode == 'fast' was expected {LINE}, got 'slow'"),
            (roots(Model()), f"mode == 'fast' was expected {LINE}, got a Model object"),
        ],
    ),
    (
        SCALE,
        "x == 1.0",
        [
            (
                roots(np.float64(1.0)),
                f"x == 1.0 was expected {LINE}, got a NumPy scalar of type float64",
            ),
            (roots(1), f"x == 1.0 was expected {LINE}, got 1"),
        ],
    ),
    (
        guard("EQUALS", X, NAN),
        "x == nan",
        [(roots(OTHER_NAN), f"x == nan was expected {LINE}, got another nan")],
    ),
    (guard("EQUALS", X, "a" * 500), f"x == '{'a' * 21}...{'a' * 22}'", []),
    (
        guard("ABSENT", GLOBALS, "len"),
        "there is no name len in globals()",
        [
            (
                roots(func=function_with({"len": 1})),
                f"no name len in globals() was expected {LINE}, got one",
            )
        ],
    ),
    (
        guard("ABSENT", BUILTINS, "step"),
        "there is no name step in builtins",
        [
            (
                roots(func=function_with({"__builtins__": {"step": 1}})),
                f"no name step in builtins was expected {LINE}, got one",
            )
        ],
    ),
    (
        guard("ABSENT", arg(0, "config"), "scale"),
        "config has no 'scale'",
        [
            (roots({"scale": 1}), f"config: no 'scale' was expected {LINE}, got one"),
            (roots({}), f"config has no 'scale', as expected {LINE}"),
        ],
    ),
    (
        guard("NO_INSTANCE_ATTR", arg(0, "self"), "step"),
        "self has no attribute step of its own",
        [
            (
                roots(Model(step=4)),
                f"self: no attribute step of its own was expected {LINE}, got 4",
            ),
            (
                roots(np),
                f"self: no attribute step of its own was expected {LINE}, got module numpy",
            ),
        ],
    ),
    (
        guard("OTHER_ARRAY", X),
        "x is an array of something else than plain numbers",
        [
            (
                roots(np.ones((2, 2))),
                f"x: an array of something else than plain numbers was expected {LINE}, got a float64 array of 2 dimensions",
            ),
            (
                roots(3),
                f"x: an array of something else than plain numbers was expected {LINE}, got 3",
            ),
        ],
    ),
    (
        guard("PRESENT", step("ITEM", X, "k")),
        "x['k'] exists",
        [
            (
                roots({}),
                f"it was expected that x['k'] exists {LINE}, but there is no such value now (x: there is no 'k')",
            ),
        ],
    ),
    (
        guard("UNBOUND_CELL", CELL),
        "total is not assigned",
        [
            (roots(closure=(types.CellType(4),)), f"total: no value was expected {LINE}, got 4"),
            (
                roots(),
                f"it was expected that total is not assigned {LINE}, but there is no such value now (total: there is no such cell)",
            ),
            (roots(closure=(types.CellType(),)), f"total is not assigned, as expected {LINE}"),
        ],
    ),
    (
        guard("UNBOUND_CELL", step("CELL_OF", step("MEMBER", X, "closure"), 0)),
        "x.__closure__[0].cell_contents is not assigned",
        [
            (
                roots(function_with({}, nested.__code__, (types.CellType("a"),))),
                f"x.__closure__[0].cell_contents: no value was expected {LINE}, got 'a'",
            )
        ],
    ),
    (
        KEYS,
        "x is a dict with the keys 'a', 1 in this order",
        [
            (roots({1: 0, "a": 0}), f"x: the keys ('a', 1) were expected {LINE}, got (1, 'a')"),
            (
                roots({Model(): 0}),
                f"x: the keys ('a', 1) were expected {LINE}, got (a Model object)",
            ),
            (roots([]), f"x: the keys ('a', 1) were expected {LINE}, got a list object"),
        ],
    ),
    (
        guard("KEYS", X, ()),
        "x is an empty dict",
        [(roots({"a": 0}), f"x: the keys () were expected {LINE}, got ('a')")],
    ),
    (
        SIZE,
        "x.shape[0] != 1",
        [
            (roots(np.ones(1)), f"x.shape[0] != 1 was expected {LINE}, got 1"),
            (
                roots(np.array(2)),
                f"it was expected that x.shape[0] != 1 {LINE}, but there is no such value now (x: it has only 0 dimensions)",
            ),
        ],
    ),
    (
        SIZES,
        "x.shape[0] == 2*len(y)",
        [
            (
                roots(np.ones(3), [1]),
                f"x.shape[0] == 2*len(y) was expected {LINE}, got x.shape[0] = 3, len(y) = 1",
            ),
            (
                roots(np.ones(3), 1),
                f"it was expected that x.shape[0] == 2*len(y) {LINE}, but there is no such value now (y: it is not a plain list, tuple, dict, set, str or bytes)",
            ),
        ],
    ),
    (
        relation("==", N, 2, (N, X)),
        "x == 2",
        [
            (
                roots(2.0),
                f"it was expected that x == 2 {LINE}, but there is no such value now (x is not an int)",
            )
        ],
    ),
    (
        relation("==", 1 // N, 2, (N, X)),
        "1 // x == 2",
        [(roots(0), f"1 // x == 2 was expected {LINE}, got 0")],
    ),
    (
        SAME,
        "x and y are the same object",
        [(roots(1, Model()), f"x and y: one object was expected {LINE}, got two")],
    ),
    (
        TWO,
        "x and y are two objects",
        [
            (roots(*[Model()] * 2), f"x and y: two objects were expected {LINE}, got one"),
            (
                roots(1),
                f"it was expected that x and y are two objects {LINE}, but there is no such value now (y: there is no such argument)",
            ),
        ],
    ),
    (
        APART,
        "x and y are arrays that do not overlap in memory",
        [
            (
                roots(*[np.ones(2)] * 2),
                f"x and y: arrays that do not overlap were expected {LINE}, got others",
            )
        ],
    ),
    (
        OVERLAPPING,
        "x and y are arrays that overlap in memory",
        [
            (
                roots(np.ones(2), np.ones(2)),
                f"x and y: arrays that overlap were expected {LINE}, got others",
            )
        ],
    ),
]
CASES = [(one, where, text) for one, _, found in SENTENCES for where, text in found]


def test_every_guard_kind_has_a_sentence():
    assert {one.kind for one, _, _ in SENTENCES} == set(GuardKind)


@pytest.mark.parametrize(("one", "text"), [(one, text) for one, text, _ in SENTENCES], ids=str)
def test_what_must_hold_is_described(one, text):
    assert describe(one) == text


@pytest.mark.parametrize(("one", "where", "text"), CASES, ids=[text for _, _, text in CASES])
def test_what_was_found_is_said(one, where, text):
    assert sentence(one, where) == text


def test_a_dead_referent_is_said():
    cls = another_model()
    by_type, by_identity = guard("TYPE", X, cls), guard("IDENTITY", X, Identity(thing := Model()))
    del cls, thing
    gc.collect()
    assert describe(by_type) == "x is a Model"
    assert (
        sentence(by_type, roots(3))
        == f"x: a Model was expected {LINE}, got an int; what was expected no longer exists"
    )
    assert (
        sentence(by_identity, roots(None))
        == f"x: a Model object was expected {LINE}, got None; what was expected no longer exists"
    )


def test_globals_and_cells_are_named_as_the_program_names_them():
    assert describe(guard("EQUALS", Source(SourceKind.GLOBAL, "SCALE"), 3)) == "SCALE == 3"
    assert describe(guard("EQUALS", Source(SourceKind.BUILTIN, "len"), 3)) == "len == 3"
    assert describe(guard("EQUALS", CELL, 3)) == "total == 3"
    assert describe(guard("EQUALS", step("ITEM", GLOBALS, "x"), 3)) == "globals()['x'] == 3"
    assert sentence(guard("EQUALS", CELL, 3), roots(func=plain)).endswith(
        "(total: there is no such cell)"
    )


def test_words_tell_apart_what_guards_tell_apart():
    twins = [np.dtype("l"), np.dtype("q")]
    words = [describe(guard("ARRAY", arg(0, "x"), (dtype, 1))) for dtype in twins]
    assert len(set(words)) == 2
    assert words[1] == "x is an int64 (longlong) array of 1 dimension"
    wanted = guard("ARRAY", arg(0, "x"), (np.dtype("f8"), 1))
    assert sentence(wanted, roots(np.float64(1.0))).endswith("got a NumPy scalar of type float64")
