"""Sources, guards and identities are plain data: equal when they mean the same, printable, weak where they can be."""

import functools
import gc
import types
import weakref

import numpy as np
import pytest
from guards_kit import WHY, arg, guard, step

from bcjit.dims import Relation, ShapeEnv, Symbol
from bcjit.guards import (
    DEAD,
    Guard,
    GuardKind,
    Identity,
    Source,
    SourceKind,
    SymbolicRelation,
    relation_guard,
)
from bcjit.guards.compile import Operation, relation_program, specification
from bcjit.guards.guard import label
from bcjit.guards.source import MEMBERS, ROOT_KINDS, exact_key
from bcjit.meta import SourceLine

X, Y = arg(), arg(1, "y")

TEXTS = {
    "x": X,
    "G['np']": Source(SourceKind.GLOBAL, "np"),
    "B['len']": Source(SourceKind.BUILTIN, "len"),
    "n": Source(SourceKind.CELL, (0, "n")),
    "x.buf": step("ATTR", X, "buf"),
    "G['np'].add": step("MODULE_ATTR", Source(SourceKind.GLOBAL, "np"), "add"),
    "type(x)": step("TYPE", X),
    "mro(type(x))['step']": step("MRO", step("TYPE", X), "step"),
    "x['a'][-1]": step("ITEM", step("ITEM", X, "a"), -1),
    "len(x.parts)": step("LENGTH", step("ATTR", X, "parts")),
    "x.shape[0]": step("SHAPE", X, 0),
    "x.__defaults__": step("MEMBER", X, "defaults"),
    "x.__closure__[0].cell_contents": step("CELL_OF", step("MEMBER", X, "closure"), 0),
    "G": Source(SourceKind.GLOBALS),
    "B": Source(SourceKind.BUILTINS),
}


def test_every_source_kind_has_a_text():
    assert {source.kind for source in TEXTS.values()} == set(SourceKind)
    for text, source in TEXTS.items():
        assert source.text() == str(source) == text


def test_sources_are_equal_when_their_paths_are():
    assert step("ITEM", arg(), 1) == step("ITEM", X, 1)
    assert hash(step("ITEM", arg(), 1)) == hash(step("ITEM", X, 1))
    assert step("ITEM", X, 1) != step("ITEM", Y, 1)
    assert X != 3
    keys = [
        1,
        True,
        1.0,
        "1",
        b"1",
        (1,),
        (True,),
        0.0,
        -0.0,
        None,
        ...,
        1j,
        complex(0.0, -1),
        complex(-0.0, 1),
    ]
    assert len({step("ITEM", X, key) for key in keys}) == len(keys)
    nan = float("nan")
    assert exact_key((nan, 1)) == exact_key((float("nan"), 1))


def test_chain_starts_at_the_root():
    source = TEXTS["x['a'][-1]"]
    assert [part.text() for part in source.chain()] == ["x", "x['a']", "x['a'][-1]"]


def test_long_paths_need_no_recursion():
    source = X
    for _ in range(5000):
        source = step("ATTR", source, "next")
    assert source == source.chain()[-1]
    assert hash(source) == hash(source)
    assert source.text().endswith(".next")
    assert len(specification([guard("EQUALS", source, 1)])[0]) == 5001


@pytest.mark.parametrize(
    ("kind", "key", "based"),
    [
        ("LOCAL", "x", False),
        ("LOCAL", (0, "x"), True),
        ("GLOBAL", 3, False),
        ("BUILTIN", None, False),
        ("CELL", 0, False),
        ("ATTR", "x", False),
        ("ATTR", 3, True),
        ("MODULE_ATTR", None, True),
        ("TYPE", "x", True),
        ("MRO", 3, True),
        ("ITEM", [1], True),
        ("ITEM", (1, [2]), True),
        ("ITEM", np.int64(3), True),
        ("LENGTH", 0, True),
        ("SHAPE", "x", True),
        ("MEMBER", "nonesuch", True),
        ("MEMBER", 3, True),
        ("CELL_OF", (0, "x"), True),
        ("GLOBALS", "x", False),
        ("BUILTINS", None, True),
    ],
)
def test_malformed_sources_are_refused(kind, key, based):
    with pytest.raises(ValueError, match=r"^(key|base): "):
        Source(SourceKind[kind], key, X if based else None)


def test_root_kinds_are_those_without_base():
    assert {source.kind for source in TEXTS.values() if source.base is None} == ROOT_KINDS


# Identity


class Weak:
    def __eq__(self, other):
        raise AssertionError("no identity compares")

    __hash__ = None


class Lying(Weak):
    def __repr__(self):
        raise AssertionError("no identity prints")

    @property
    def __class__(self):
        raise AssertionError("no identity asks for __class__")


class NoWeak:
    __slots__ = ("x",)


@pytest.mark.parametrize(
    "obj",
    [
        Weak(),
        Weak,
        plain := (lambda: 0),
        np,
        np.ones(3),
        plain.__code__,
        len,
        functools.partial(len),
        [].append,
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_identity_is_weak_where_it_can_be(obj):
    identity = Identity(obj)
    assert identity.reference is not None
    assert identity.get() is obj
    assert identity.is_(obj)
    assert not identity.is_(None)
    assert not any(referent is obj for referent in gc.get_referents(identity))


@pytest.mark.parametrize(
    "obj",
    [
        None,
        ...,
        NotImplemented,
        3,
        2.5,
        "text",
        b"b",
        True,
        1j,
        range(3),
        np.add,
        np.sum,
        np.ndarray.sum,
        np.ndarray.shape,
        object.__init__,
    ]
    + [
        vars(dict)["fromkeys"],
        np.dtype(float),
        np.float32(2),
        (1, (np.add, None)),
        vars(property)["fget"],
    ],
    ids=lambda obj: getattr(obj, "__name__", type(obj).__name__),
)
def test_identity_holds_what_is_immutable_and_has_no_weak_references(obj):
    identity = Identity(obj)
    assert identity.reference is None
    assert identity.get() is obj


@pytest.mark.parametrize(
    "obj",
    [
        NoWeak(),
        [1],
        {},
        (1, []),
        (Weak(),),
        property(len),
        staticmethod(len),
        classmethod(len),
        slice(Weak()),
        np.random.default_rng(0),
        np.zeros(1, "i4,O")[0],
    ],
    ids=lambda obj: type(obj).__name__,
)
def test_identity_refuses_what_would_keep_users_objects_alive(obj):
    with pytest.raises(ValueError, match="guard its type instead"):
        Identity(obj)


def test_identities_are_equal_while_their_object_lives():
    thing = Weak()
    first, second = Identity(thing), Identity(thing)
    assert first == second
    assert hash(first) == hash(second)
    assert first != Identity(Weak)
    assert first != 3
    assert repr(first) == "Identity(a Weak object)"
    reference = weakref.ref(thing)
    del thing
    assert reference() is None
    assert first.get() is second.get() is DEAD
    assert first == first
    assert first != second
    assert first.label == "a Weak object"
    assert repr(DEAD) == "<dead>"


def test_identity_asks_an_object_nothing():
    thing = Lying()
    assert Identity(thing).get() is thing
    assert Identity(thing).label == "a Lying object"
    assert guard("IDENTITY", X, Identity(thing)) == guard("IDENTITY", X, Identity(thing))


class NamedModule(types.ModuleType):
    pass


NAMELESS = types.ModuleType("x")
NAMELESS.__name__ = Weak


def test_labels_say_what_an_object_is():
    labels = {
        "function test_labels_say_what_an_object_is": test_labels_say_what_an_object_is,
        "built-in function len": len,
        "method ndarray.sum": np.ndarray.sum,
        "method object.__init__": object.__init__,
        "module numpy": np,
        "a module": NAMELESS,
        "code of test_labels_say_what_an_object_is": test_labels_say_what_an_object_is.__code__,
        "ufunc add": np.add,
        "a float64 array of shape (2, 3)": np.ones((2, 3)),
        "dtype float64": np.dtype(float),
        "class Weak": Weak,
        "a Weak object": Weak(),
        "'text'": "text",
        "(1, None)": (1, None),
        "a NamedModule object": NamedModule("x"),
    }
    assert {text: label(obj) for text, obj in labels.items()} == {text: text for text in labels}


# Guards


def test_guards_are_equal_by_kind_source_and_exact_expectation():
    same = guard("EQUALS", X, 1), Guard(GuardKind.EQUALS, arg(), 1, SourceLine("other.py", 1))
    assert same[0] == same[1]
    assert len(set(same)) == 1
    different = [guard("EQUALS", X, value) for value in (1, True, 1.0, 0.0, -0.0, (1,), (1.0,))]
    assert len(set(different)) == len(different)
    assert guard("EQUALS", X, 1) != guard("ABSENT", X, 1)
    assert guard("EQUALS", X, 1) != 3
    assert guard("TYPE", X, int) == guard("TYPE", X, Identity(int))
    assert str(guard("EQUALS", X, 1)) == "EQUALS x 1 (model.py:12)"


def test_a_guard_holds_its_class_weakly():
    one = guard("TYPE", X, Weak)
    assert isinstance(one.expected, Identity)
    assert one.expected.reference is not None


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("TYPE", 3),
        ("IDENTITY", np.add),
        ("EQUALS", [1]),
        ("EQUALS", np.float64(3)),
        ("ARRAY", np.dtype(float)),
        ("ARRAY", ("f8", 1)),
        ("ABSENT", []),
        ("NO_INSTANCE_ATTR", 3),
        ("UNBOUND_CELL", 3),
        ("UNBOUND_CELL", None),
        ("KEYS", ["a"]),
        ("KEYS", ([],)),
        ("RELATION", Relation("==", Symbol("n"), 1)),
        ("SAME_OBJECT", (X, 1)),
        ("SAME_OBJECT", (step("SHAPE", X, 0), True)),
        ("OVERLAP", X),
    ],
)
def test_malformed_guards_are_refused(kind, expected):
    with pytest.raises(ValueError, match=r"^(expected|source): "):
        guard(kind, X, expected)


def test_facts_become_relation_guards():
    env = ShapeEnv()
    a, b = env.symbol("a", hint=3), env.symbol("b", hint=3)
    sources = {a: step("SHAPE", X, 0), b: step("SHAPE", Y, 0), env.symbol("c"): Y}
    assert env.decide(Relation("==", b, a))
    one = relation_guard(env.facts[0], sources, WHY)
    assert one.expected == SymbolicRelation(env.facts[0], ((a, sources[a]), (b, sources[b])))
    assert one.sources() == (sources[a], sources[b])
    assert one == relation_guard(env.facts[0], sources, WHY)
    assert hash(one) == hash(relation_guard(env.facts[0], sources, WHY))
    with pytest.raises(ValueError, match="one with symbols"):
        relation_guard(Relation("==", 0, 0), sources, WHY)
    for given in [(), (*one.expected.symbols, (Symbol("c"), Y))]:
        with pytest.raises(ValueError, match="for no other"):
            SymbolicRelation(env.facts[0], given)


def test_sources_of_a_guard_are_all_that_it_reads():
    assert guard("EQUALS", X, 1).sources() == (X,)
    assert guard("OVERLAP", X, (Y, False)).sources() == (X, Y)


def test_the_specification_numbers_each_source_once_in_order_of_need():
    np_add = TEXTS["G['np'].add"]
    guards = [
        guard("TYPE", step("ATTR", X, "buf"), list),
        guard("EQUALS", step("LENGTH", step("ATTR", X, "buf")), 2),
        guard("IDENTITY", np_add, Identity(np.add)),
        guard("SAME_OBJECT", X, (Y, False)),
        guard("UNBOUND_CELL", Source(SourceKind.CELL, (2, "n"))),
    ]
    sources, rows = specification(guards)
    assert sources == (
        (SourceKind.LOCAL, -1, None, 0),
        (SourceKind.ATTR, 0, "buf", 0),
        (SourceKind.LENGTH, 1, None, 0),
        (SourceKind.GLOBAL, -1, "np", 0),
        (SourceKind.MODULE_ATTR, 3, "add", 0),
        (SourceKind.LOCAL, -1, None, 1),
    )
    assert [(row[0], row[1], row[2]) for row in rows] == [
        (GuardKind.TYPE, 1, 2),
        (GuardKind.EQUALS, 2, 3),
        (GuardKind.IDENTITY, 4, 5),
        (GuardKind.SAME_OBJECT, 0, 6),
        (GuardKind.UNBOUND_CELL, -1, 6),
    ]
    assert rows[2][3:] == (np.add, 0)
    assert rows[4][3:] == (None, 2)


def test_members_are_numbered_by_their_place():
    rows = [specification([guard("EQUALS", step("MEMBER", X, name), 1)])[0][1] for name in MEMBERS]
    assert [row[3] for row in rows] == list(range(len(MEMBERS)))


def test_relation_programs_are_postfix():
    n, m = Symbol("n"), Symbol("m")
    program = relation_program(Relation("<=", 2 * n * m + n, (n + 1) // m + 5), [n, m])
    assert [operation.name for operation, _ in program] == (
        "CONSTANT SYMBOL MULTIPLY SYMBOL MULTIPLY SYMBOL ADD SYMBOL CONSTANT ADD SYMBOL FLOOR_DIVIDE CONSTANT ADD".split()
    )
    assert program[-2] == (Operation.CONSTANT, 5)
