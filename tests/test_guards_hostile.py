"""No guard touches user code: objects whose every special method is recorded are looked at by both evaluators, and nothing is recorded.

Every kind of guard is made about every place where such an object lies, and what lies behind it; both evaluators agree, and so does
what is said of a failure.
"""

from __future__ import annotations

import gc
import itertools
import types

import numpy as np
import pytest
from facts_kit import captures
from guards_kit import arg, first_failing_of_both, guard, relation_between, step

import bcjit
from bcjit.config import config
from bcjit.dims import Symbol
from bcjit.guards import (
    GuardKind,
    Identity,
    Roots,
    Source,
    SourceKind,
    compile_guards,
    failure,
    first_failing,
    hint,
    ordered,
)

CALLED = []
SPECIAL = [
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__bool__", "__len__"),
    *("__iter__", "__next__", "__contains__", "__getitem__", "__setitem__", "__missing__", "__reversed__"),
    *("__call__", "__repr__", "__str__", "__format__", "__bytes__", "__index__", "__int__", "__float__"),
    *("__complex__", "__array__", "__array_ufunc__", "__array_function__", "__array_finalize__"),
    *("__array_wrap__", "__buffer__", "__enter__", "__exit__", "__get__", "__set__", "__delete__"),
    *("__getattribute__", "__getattr__", "__setattr__", "__dir__", "__sizeof__", "__reduce__", "__copy__"),
    *("__instancecheck__", "__subclasscheck__", "__length_hint__", "__fspath__", "__keys__", "get", "keys"),
]  # fmt: skip


def recorded(name):
    def method(self, *args, **kwargs):
        CALLED.append(name)
        raise AssertionError(name)

    return method


def methods(*but):
    own = {name: recorded(name) for name in SPECIAL if name not in but}
    own["__class__"] = property(recorded("__class__"))
    return own


Meta = type("Meta", (type,), methods("__call__", "__setattr__", "__get__", "__set__", "__delete__"))
OFTEN = ("__hash__", "__eq__")  # a key has these, and its dict asks for them when it is filled
Everything = Meta("Everything", (), methods("__get__", "__set__", "__delete__"))
DictSub = type("DictSub", (dict,), methods())
ListSub = type("ListSub", (list,), methods())
TupleSub = type("TupleSub", (tuple,), methods("__getitem__"))
StrSub = type("StrSub", (str,), methods(*OFTEN))
IntSub = type("IntSub", (int,), methods())
ArraySub = type("ArraySub", (np.ndarray,), {**methods("__array_finalize__")})
Descriptor = type("Descriptor", (), methods("__set__", "__delete__"))
DataDescriptor = type("DataDescriptor", (), methods())
ModuleSub = type("ModuleSub", (types.ModuleType,), methods("__setattr__"))


class WithDescriptors:
    computed = DataDescriptor()
    method = Descriptor()
    name = "of the class"


class Borrowed:
    __slots__ = ("name",)


def hostile_values():
    """Return objects by name, each whole as the language makes it without a call of its own methods."""
    described = WithDescriptors()
    described.own = object.__new__(Everything)
    module = types.ModuleType("m")
    module.name = object.__new__(Everything)
    return {
        "everything": object.__new__(Everything),
        "class": Everything,
        "dict": dict.__new__(DictSub),
        "list": list.__new__(ListSub),
        "tuple": tuple.__new__(TupleSub, (1, 2)),
        "text": str.__new__(StrSub, "name"),
        "int": int.__new__(IntSub, 3),
        "array": np.ones((2, 3)).view(ArraySub),
        "described": described,
        "slots": Borrowed(),
        "module": module,
        "module of a class": types.ModuleType.__new__(ModuleSub),
        "keys": {StrSub("other"): 1, StrSub("more"): 2},
        "held": {"name": object.__new__(Everything), 0: object.__new__(Everything)},
        "items": [object.__new__(Everything), IntSub.__new__(IntSub, 4)],
    }


VALUES = hostile_values()
NAMES = ("name", "own", "computed", "method")


def sources(base):
    """Return a place and what may be behind it, in one and two steps."""
    steps = [
        *(("ATTR", name) for name in NAMES),
        *(("MODULE_ATTR", name) for name in NAMES[:1]),
        *(("ITEM", key) for key in (0, "name")),
        ("TYPE", None),
        ("LENGTH", None),
        ("SHAPE", 0),
        ("MRO", "name"),
        ("CELL_OF", 0),
        *(("MEMBER", key) for key in ("code", "self", "func", "fget", "closure")),
    ]
    once = [step(kind, base, key) for kind, key in steps]
    return [
        base,
        *once,
        step("MRO", once[7], "computed"),
        step("LENGTH", once[5]),
        step("TYPE", once[5]),
    ]


def guards_about(place):
    other = arg(1, "y")
    found = [
        guard("TYPE", place, dict),
        guard("TYPE", place, Everything),
        guard("IDENTITY", place, Identity(len)),
        guard("EQUALS", place, "name"),
        guard("EQUALS", place, 3),
        guard("EQUALS", place, (1, 2)),
        guard("ARRAY", place, (np.dtype("f8"), 2)),
        guard("OTHER_ARRAY", place),
        guard("ABSENT", place, "name"),
        guard("ABSENT", place, 0),
        *(guard("NO_INSTANCE_ATTR", place, name) for name in NAMES),
        guard("KEYS", place, ("other", "more")),
        guard("KEYS", place, ("name", 0)),
        guard("OVERLAP", place, (other, True)),
        guard("PRESENT", place),
        relation_between("!=", 1, (Symbol("n"), place)),
    ]
    if place.kind not in (SourceKind.LENGTH, SourceKind.SHAPE):
        found.append(guard("SAME_OBJECT", place, (other, False)))
    if place.kind is SourceKind.CELL_OF:
        found.append(guard("UNBOUND_CELL", place))
    return found


def roots_with(value):
    func = types.FunctionType(hostile_values.__code__, {"g": value, "np": np})
    return Roots((value, value), func, (types.CellType(value), types.CellType()))


@pytest.mark.parametrize("name", VALUES)
def test_both_evaluators_ask_an_object_nothing(name):
    value = VALUES[name]
    where = roots_with(value)
    kinds = set()
    places = [
        arg(),
        Source(SourceKind.GLOBAL, "g"),
        Source(SourceKind.CELL, (0, "c")),
        Source(SourceKind.CELL, (1, "c")),
    ]
    CALLED.clear()
    for place in itertools.chain(sources(places[0]), places[1:]):
        for one in guards_about(place):
            kinds.add(one.kind)
            first_failing_of_both([one], where)
            said = failure(one, where)
            assert said.sentence
            assert hint(one)
    first_failing_of_both([guard("UNBOUND_CELL", places[3])], where)
    assert kinds | {GuardKind.UNBOUND_CELL} == set(GuardKind)
    assert CALLED == []


@pytest.mark.parametrize("name", VALUES)
def test_guards_that_hold_of_an_object_hold_in_both(name):
    """Nothing is recorded for lack of trying: these get to the object and find it."""
    value, where = VALUES[name], roots_with(VALUES[name])
    CALLED.clear()
    found = [guard("PRESENT", arg()), guard("SAME_OBJECT", arg(), (arg(1, "y"), True))]
    found.append(guard("TYPE", arg(), type(value)))
    assert first_failing_of_both(found, where) == -1
    assert first_failing_of_both(ordered(found), where) == -1
    held = {
        "held": guard("TYPE", step("ITEM", arg(), "name"), Everything),
        "items": guard("TYPE", step("ITEM", arg(), 1), IntSub),
        "described": guard("TYPE", step("ATTR", arg(), "own"), Everything),
        "module": guard("TYPE", step("MODULE_ATTR", arg(), "name"), Everything),
        "tuple": guard("EQUALS", step("LENGTH", arg()), 2),
        "class": guard("ABSENT", arg(), "absent"),
        "everything": guard("ABSENT", step("TYPE", arg()), "absent"),
        "slots": guard("NO_INSTANCE_ATTR", arg(), "name"),
    }.get(name)
    if held is not None:
        assert first_failing_of_both([held], where) == -1
    assert CALLED == []


def test_a_dead_object_fails_its_guards_and_is_not_brought_back():
    class Local:
        pass

    one = Local()
    by_identity, by_type = guard("IDENTITY", arg(), Identity(one)), guard("TYPE", arg(), Local)
    trees = [compile_guards([by_identity]), compile_guards([by_type])]
    assert [tree.check((one,), roots_with(1).func) for tree in trees] == [-1, -1]
    del one, Local
    gc.collect()
    for value in (None, 3, object(), VALUES["everything"]):
        where = roots_with(value)
        CALLED.clear()
        for tree, one in zip(trees, (by_identity, by_type), strict=True):
            assert tree.check(where.values, where.func) == 0
            assert first_failing([one], where) == 0
            assert "no longer exists" in failure(one, where).sentence
        assert CALLED == []


def test_what_raises_while_it_is_looked_for_fails_the_guard():
    """A dict compares keys of equal hash for everybody: that is the one call there is, and what it raises goes nowhere."""

    class Raising(str):
        __slots__ = ()

        def __hash__(self):
            return hash("name")

        def __eq__(self, other):
            raise ValueError

    table = {Raising("x"): 1}
    place = step("ITEM", arg(), "name")
    for one in (guard("PRESENT", place), guard("ABSENT", arg(), "name"), guard("EQUALS", place, 1)):
        assert first_failing_of_both([one], roots_with(table)) == 0


# ---------------------------------------------------------------------- whole programs
class Box:
    pass


def boxed(value):
    box = Box()
    vars(box)["v"] = value
    return box


def replaces_in_a_list(x, items):
    first = items[0]
    items[0] = first
    return x + 1


def replaces_in_an_object(x, box):
    box.v = box.v
    return x + 1


def takes_out_and_puts_back(x, table):
    table["v"] = table.pop("v")
    return x + 1


def walks(x, items):
    for _ in items:
        x = x + 1
    return x


PROGRAMS = {
    "hands on": (lambda x, v: ([v], {"k": v}, x + 1), lambda v: v),
    "is it nothing": (lambda x, v: x + 1 if v is not None else x, lambda v: v),
    "is it another": (lambda x, v, w=None: (v is w, x + 1), lambda v: v),
    "reads from a dict": (lambda x, d: (d.get("v"), "v" in d, x + 1), lambda v: {"v": v}),
    "reads an attribute": (lambda x, box: (box.v, x + 1), boxed),
    "replaces in a list": (replaces_in_a_list, lambda v: [v]),
    "replaces in an object": (replaces_in_an_object, boxed),
    "takes out and puts back": (takes_out_and_puts_back, lambda v: {"v": v}),
    "walks": (walks, lambda v: [v, v]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_compiled_function_calls_no_special_method_of_what_it_hands_on(name):
    config.strict = True
    fn, holding = PROGRAMS[name]
    for kind, value in VALUES.items():
        compiled = bcjit.compile(fn, backend="eager")
        CALLED.clear()
        fn(np.ones(2), holding(value))
        assert CALLED == [], "so does the plain one"
        for _ in range(2):
            compiled(np.ones(2), holding(value))
            assert CALLED == [], kind
        assert captures(compiled)
