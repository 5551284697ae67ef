"""Every kind of source and guard, with samples that hold and samples that do not, by the evaluator and by the C tree."""

import builtins
import collections
import ctypes
import gc
import math
import sys
import types
from dataclasses import dataclass, field

import numpy as np
import pytest
from guards_kit import arg, first_failing_of_both, function_with, guard, holds_for_both, roots, step

from bcjit.dims import Relation, Symbol, maximum, minimum
from bcjit.guards import (
    GuardKind,
    Identity,
    Source,
    SourceKind,
    SymbolicRelation,
    Unavailable,
    compile_guards,
    fetch,
)
from bcjit.guards.evaluate import GENERIC_TYPES
from bcjit.guards.source import MEMBERS

MODULE = types.ModuleType("sample")
MODULE.attribute = "of the module"


class Base:
    inherited = "of the class"

    def method(self):
        return self

    @property
    def computed(self):
        raise AssertionError("no guard runs this")

    @staticmethod
    def static():
        return None

    @classmethod
    def of_class(cls):
        return cls


class Plain(Base):
    def __init__(self, **attributes):
        for name, value in attributes.items():
            setattr(self, name, value)


class Slotted:
    __slots__ = ("unset", "value")

    def __init__(self, value):
        self.value = value


class SlotAndDict(Slotted):
    pass


class Borrowing:
    value = Slotted.value


BORROWING = Borrowing()
vars(BORROWING)["value"] = 1


class Opaque(Base):
    def __getattribute__(self, name):
        raise AssertionError("no guard runs this")


class Fallback(Base):
    def __getattr__(self, name):
        raise AssertionError("no guard runs this")


class ListFallback(list, Fallback):
    pass


class DictSub(dict):
    def __getitem__(self, key):
        raise AssertionError("no guard runs this")

    get = __contains__ = __len__ = __iter__ = __getitem__


class ListSub(list):
    def __getitem__(self, key):
        raise AssertionError("no guard runs this")


class TupleSub(tuple):
    __slots__ = ()


class HostileTuple(tuple):
    __slots__ = ()

    def __len__(self):
        raise AssertionError

    __getitem__ = __iter__ = __hash__ = __len__


class StrSub(str):
    __slots__ = ()

    def __eq__(self, other):
        raise AssertionError("no guard runs this")

    __hash__ = str.__hash__


class IntSub(int):
    pass


class FloatSub(float):
    pass


class ArraySub(np.ndarray):
    pass


class ModuleSub(types.ModuleType):
    pass


class Meta(type):
    def __getattribute__(cls, name):
        raise AssertionError("no guard runs this")

    @property
    def __dict__(cls):
        raise AssertionError("no guard runs this")

    def mro(cls):
        return super(Meta, cls).mro()


class WithMeta(metaclass=Meta):
    attribute = "of the strange class"


class Descriptor:
    def __get__(self, instance, owner):
        raise AssertionError("no guard runs this")


class DataDescriptor(Descriptor):
    def __set__(self, instance, value):
        instance.__dict__["data"] = value


class DeletingDescriptor(Descriptor):
    def __delete__(self, instance):
        raise AssertionError("no guard runs this")


class WithDescriptors:
    nondata = Descriptor()
    data = DataDescriptor()
    deleting = DeletingDescriptor()


class DictProperty:
    @property
    def __dict__(self):
        raise AssertionError("no guard runs this")


class Alike:
    """Equal hash to the text "key", and comparing fails."""

    def __hash__(self):
        return hash("key")

    def __eq__(self, other):
        raise RuntimeError("comparing")


class AlikeQuietly(Alike):
    def __eq__(self, other):
        return False

    __hash__ = Alike.__hash__


def closing():
    number = 3
    empty = None

    def inner(default=1, *, keyword=2):
        return number, empty, default, keyword  # noqa: F821 - deleted below: its cell is empty

    del empty
    return inner


def no_builtins(code=closing.__code__):
    return types.FunctionType(code, {"__builtins__": {"len": "mine"}})


CLOSED = closing()
SPLIT = Plain(a=1, b=2)
MATERIALISED = Plain(a=1)
MATERIALISED.__dict__["extra"] = "x"
REPLACED = Plain()
REPLACED.__dict__ = {"own": 5}
STRANGE_DICT = Plain()
STRANGE_DICT.__dict__ = DictSub(own=5)
UNINTERNED = Plain(**{"".join(["un", "interned"]): 7})
object.__setattr__(UNINTERNED, "".join(["by ", "hand"]), 8)
WITH_DATA = WithDescriptors()
WITH_DATA.data = 1
WITH_DATA.__dict__["deleting"] = 2
WITH_DATA.__dict__["nondata"] = 3
NAMESPACE = types.SimpleNamespace(field=4)
ERROR = ValueError("x")
ERROR.note = "mine"
FUNCTION_ATTRIBUTE = closing()
FUNCTION_ATTRIBUTE.tag = "t"
GENERAL = {AlikeQuietly(): "other", "key": "found", 3: "three"}
FAILING = {Alike(): "other"}
FAILING_DICT = Plain()
FAILING_DICT.__dict__ = FAILING
METHOD = SPLIT.method
SUPER = super(Plain, SPLIT)
GLOBALS = {"name": "value", "__builtins__": builtins}
WITH_GLOBALS = function_with(GLOBALS)
RECORD = np.zeros(2, [("a", int), ("b", float)])

X = arg()
INNER_CLOSURE = step("MEMBER", X, "closure")
NUMBER_CELL = CLOSED.__code__.co_freevars.index("number")
EMPTY_CELL = CLOSED.__code__.co_freevars.index("empty")


@dataclass
class Found:
    source: Source
    where: object
    value: object


@dataclass
class Missing:
    source: Source
    where: object


def attr(value, name, expected):
    return Found(step("ATTR", X, name), roots(value), expected)


def no_attr(value, name):
    return Missing(step("ATTR", X, name), roots(value))


def member(value, name, expected):
    return Found(step("MEMBER", X, name), roots(value), expected)


SOURCES = {
    SourceKind.LOCAL: [
        Found(arg(1, "y"), roots(1, "two"), "two"),
        Missing(arg(9, "z"), roots(1, 2)),
        Missing(arg(-1, "z"), roots(1, 2)),
    ],
    SourceKind.GLOBAL: [
        Found(Source(SourceKind.GLOBAL, "name"), roots(func=WITH_GLOBALS), "value"),
        Missing(Source(SourceKind.GLOBAL, "other"), roots(func=WITH_GLOBALS)),
        Missing(Source(SourceKind.GLOBAL, "name"), roots(func=function_with(DictSub(name=1)))),
        Missing(Source(SourceKind.GLOBAL, "key"), roots(func=function_with(FAILING))),
        Found(Source(SourceKind.GLOBAL, "key"), roots(func=function_with(GENERAL)), "found"),
    ],
    SourceKind.BUILTIN: [
        Found(Source(SourceKind.BUILTIN, "len"), roots(), len),
        Found(Source(SourceKind.BUILTIN, "len"), roots(func=no_builtins()), "mine"),
        Missing(Source(SourceKind.BUILTIN, "nonesuch"), roots()),
    ],
    SourceKind.CELL: [
        Found(Source(SourceKind.CELL, (NUMBER_CELL, "number")), roots(func=CLOSED), 3),
        Found(
            Source(SourceKind.CELL, (0, "n")),
            roots(func=CLOSED, closure=(types.CellType("other"),)),
            "other",
        ),
        Missing(Source(SourceKind.CELL, (EMPTY_CELL, "empty")), roots(func=CLOSED)),
        Missing(Source(SourceKind.CELL, (7, "n")), roots(func=CLOSED)),
        Missing(Source(SourceKind.CELL, (-1, "n")), roots(func=CLOSED)),
        Missing(Source(SourceKind.CELL, (0, "n")), roots()),
        Missing(Source(SourceKind.CELL, (0, "n")), roots(func=CLOSED, closure=(3,))),
    ],
    SourceKind.ATTR: [
        attr(SPLIT, "b", 2),
        attr(MATERIALISED, "extra", "x"),
        attr(REPLACED, "own", 5),
        attr(STRANGE_DICT, "own", 5),
        attr(UNINTERNED, "uninterned", 7),
        attr(UNINTERNED, "by hand", 8),
        attr(SPLIT, "".join(["a", ""]), 1),
        attr(UNINTERNED, "".join(["unin", "terned"]), 7),
        attr(Slotted(6), "value", 6),
        attr(SlotAndDict(6), "value", 6),
        attr(WITH_DATA, "nondata", 3),
        attr(ERROR, "note", "mine"),
        attr(NAMESPACE, "field", 4),
        attr(FUNCTION_ATTRIBUTE, "tag", "t"),
        attr(slice(5, 6), "stop", 6),
        no_attr(BORROWING, "value"),
        no_attr(FAILING_DICT, "key"),
        no_attr(SPLIT, "missing"),
        no_attr(SPLIT, "inherited"),
        no_attr(SPLIT, "method"),
        no_attr(SPLIT, "computed"),
        no_attr(Plain(), "a"),
        no_attr(object(), "a"),
        no_attr(Slotted(6), "unset"),
        no_attr(Slotted(6), "missing"),
        no_attr(WITH_DATA, "data"),
        no_attr(WITH_DATA, "deleting"),
        no_attr(WithDescriptors(), "nondata"),
        no_attr(Opaque(), "inherited"),
        no_attr(Fallback(), "missing"),
        no_attr(ListFallback(), "missing"),
        no_attr(MODULE, "attribute"),
        no_attr(Plain, "inherited"),
        no_attr(3, "real"),
        no_attr(np.ones(2), "shape"),
    ],
    SourceKind.MODULE_ATTR: [
        Found(step("MODULE_ATTR", X, "attribute"), roots(MODULE), "of the module"),
        Found(
            step("MODULE_ATTR", Source(SourceKind.GLOBAL, "np"), "add"),
            roots(func=function_with({"np": np})),
            np.add,
        ),
        Missing(step("MODULE_ATTR", X, "other"), roots(MODULE)),
        Missing(step("MODULE_ATTR", X, "attribute"), roots(ModuleSub("other"))),
        Missing(step("MODULE_ATTR", X, "a"), roots(SPLIT)),
    ],
    SourceKind.TYPE: [
        Found(step("TYPE", X), roots(SPLIT), Plain),
        Found(step("TYPE", X), roots(Plain), type),
        Found(step("TYPE", X), roots(WithMeta), Meta),
        Found(step("TYPE", step("LENGTH", X)), roots([1]), int),
        Missing(step("TYPE", arg(3, "z")), roots(1)),
    ],
    SourceKind.MRO: [
        Found(step("MRO", X, "method"), roots(Plain), vars(Base)["method"]),
        Found(step("MRO", X, "computed"), roots(Plain), vars(Base)["computed"]),
        Found(step("MRO", step("TYPE", X), "of_class"), roots(SPLIT), vars(Base)["of_class"]),
        Found(step("MRO", X, "attribute"), roots(WithMeta), "of the strange class"),
        Found(step("MRO", X, "sum"), roots(np.ndarray), vars(np.ndarray)["sum"]),
        Missing(step("MRO", X, "missing"), roots(Plain)),
        Missing(step("MRO", X, "missing"), roots(WithMeta)),
        Missing(step("MRO", X, "a"), roots(SPLIT)),
    ],
    SourceKind.ITEM: [
        Found(step("ITEM", X, 1), roots([4, 5]), 5),
        Found(step("ITEM", X, -1), roots((4, 5)), 5),
        Found(step("ITEM", X, True), roots([4, 5]), 5),
        Found(step("ITEM", X, "key"), roots({"key": 6}), 6),
        Found(step("ITEM", X, 1), roots({True: 6}), 6),
        Found(step("ITEM", X, 2.0), roots({2: 6}), 6),
        Found(step("ITEM", X, (1, "a")), roots({(1, "a"): 6}), 6),
        Found(step("ITEM", X, None), roots({None: 6}), 6),
        Found(step("ITEM", X, "key"), roots(GENERAL), "found"),
        Found(step("ITEM", X, 3), roots(GENERAL), "three"),
        Missing(step("ITEM", X, "key"), roots(FAILING)),
        Missing(step("ITEM", X, "key"), roots({AlikeQuietly(): 1})),
        Missing(step("ITEM", X, 2), roots([4, 5])),
        Missing(step("ITEM", X, -3), roots([4, 5])),
        Missing(step("ITEM", X, 10**30), roots([4, 5])),
        Missing(step("ITEM", X, -(10**30)), roots((4, 5))),
        Missing(step("ITEM", X, 1.0), roots([4, 5])),
        Missing(step("ITEM", X, "missing"), roots({})),
        Missing(step("ITEM", X, 0), roots(ListSub([1]))),
        Missing(step("ITEM", X, 1), roots(TupleSub([1]))),
        Found(step("ITEM", X, -1), roots(HostileTuple(["a", "b"])), "b"),
        Missing(step("ITEM", X, 0), roots(DictSub({0: 1}))),
        Missing(step("ITEM", X, 0), roots("text")),
    ],
    SourceKind.LENGTH: [
        Found(step("LENGTH", X), roots([1, 2]), 2),
        Found(step("LENGTH", X), roots((1,)), 1),
        Found(step("LENGTH", X), roots({1: 2}), 1),
        Found(step("LENGTH", X), roots({1, 2, 3}), 3),
        Found(step("LENGTH", X), roots(frozenset("ab")), 2),
        Found(step("LENGTH", X), roots("日本語"), 3),
        Found(step("LENGTH", X), roots(b"four"), 4),
        Found(step("LENGTH", X), roots(HostileTuple([1, 2])), 2),
        Missing(step("LENGTH", X), roots(ListSub([1]))),
        Missing(step("LENGTH", X), roots(DictSub())),
        Missing(step("LENGTH", X), roots(np.ones(3))),
        Missing(step("LENGTH", X), roots(3)),
    ],
    SourceKind.SHAPE: [
        Found(step("SHAPE", X, 1), roots(np.ones((2, 300000), bool)), 300000),
        Found(step("SHAPE", X, 0), roots(np.ones((0, 3))), 0),
        Missing(step("SHAPE", X, 2), roots(np.ones((2, 3)))),
        Missing(step("SHAPE", X, -1), roots(np.ones((2, 3)))),
        Missing(step("SHAPE", X, 0), roots(np.array(3))),
        Missing(step("SHAPE", X, 0), roots(np.ones(3).view(ArraySub))),
        Missing(step("SHAPE", X, 0), roots([1])),
    ],
    SourceKind.MEMBER: [
        member(CLOSED, "code", CLOSED.__code__),
        member(CLOSED, "defaults", CLOSED.__defaults__),
        member(no_builtins, "kwdefaults", None),
        member(CLOSED, "kwdefaults", CLOSED.__kwdefaults__),
        member(CLOSED, "globals", globals()),
        member(CLOSED, "closure", CLOSED.__closure__),
        member(no_builtins, "closure", None),
        member(METHOD, "self", SPLIT),
        member([].append, "func", Unavailable),
        member(math.sin, "self", math),
        member(SUPER, "self", SPLIT),
        member(SUPER, "class_self", Plain),
        member(super(Plain), "self", None),
        member(METHOD, "func", vars(Base)["method"]),
        member(vars(Base)["static"], "func", Base.static),
        member(vars(Base)["of_class"], "func", Base.of_class.__func__),
        member(vars(Base)["computed"], "fget", vars(Base)["computed"].fget),
        member(property(), "fget", None),
        member(property(None, len), "fset", len),
        member(property(), "fset", None),
        member(math, "dict", vars(math)),
        member(MATERIALISED, "dict", vars(MATERIALISED)),
        member(3, "dict", None),
        member(Plain, "dict", None),
        *(Missing(step("MEMBER", X, name), roots(SPLIT)) for name in MEMBERS if name != "dict"),
    ],
    SourceKind.CELL_OF: [
        Found(step("CELL_OF", INNER_CLOSURE, NUMBER_CELL), roots(CLOSED), 3),
        Missing(step("CELL_OF", INNER_CLOSURE, EMPTY_CELL), roots(CLOSED)),
        Missing(step("CELL_OF", INNER_CLOSURE, 9), roots(CLOSED)),
        Missing(step("CELL_OF", INNER_CLOSURE, 0), roots(no_builtins)),
        Missing(step("CELL_OF", X, 0), roots([1])),
    ],
    SourceKind.GLOBALS: [
        Found(Source(SourceKind.GLOBALS), roots(func=WITH_GLOBALS), GLOBALS),
        Missing(step("ITEM", Source(SourceKind.GLOBALS), "x"), roots(func=WITH_GLOBALS)),
    ],
    SourceKind.BUILTINS: [
        Found(Source(SourceKind.BUILTINS), roots(), vars(builtins)),
        Missing(step("ITEM", Source(SourceKind.BUILTINS), "x"), roots()),
    ],
}
FOUND = [
    sample
    for samples in SOURCES.values()
    for sample in samples
    if isinstance(sample, Found) and sample.value is not Unavailable
]
MISSING = [
    Missing(sample.source, sample.where)
    for samples in SOURCES.values()
    for sample in samples
    if isinstance(sample, Missing) or sample.value is Unavailable
]


def sample_id(sample):
    return f"{sample.source.kind.name}-{sample.source}"


def test_every_source_kind_has_samples_that_are_found_and_missing():
    for kind in SourceKind:
        assert {type(sample) for sample in SOURCES[kind]} == {Found, Missing}, kind
    tested = {sample.source.key for sample in FOUND if sample.source.kind is SourceKind.MEMBER}
    assert tested == set(MEMBERS)


@pytest.mark.parametrize("sample", FOUND, ids=sample_id)
def test_a_source_is_fetched_alike_by_both(sample):
    if sample.source.kind in (SourceKind.LENGTH, SourceKind.SHAPE):
        assert holds_for_both(guard("EQUALS", sample.source, sample.value), sample.where)
    else:
        where = roots(
            *sample.where.values, sample.value, func=sample.where.func, closure=sample.where.closure
        )
        same = arg(len(sample.where.values), "same")
        assert holds_for_both(guard("SAME_OBJECT", sample.source, (same, True)), where)
        assert not holds_for_both(guard("SAME_OBJECT", sample.source, (same, False)), where)
        assert fetch(sample.source, sample.where) is sample.value
    assert fetch(sample.source, sample.where) == sample.value


@pytest.mark.parametrize("sample", MISSING, ids=sample_id)
def test_a_source_that_cannot_be_fetched_fails_its_guard_in_both(sample):
    fine = guard("EQUALS", arg(len(sample.where.values), "fine"), 1)
    where = roots(*sample.where.values, 1, func=sample.where.func, closure=sample.where.closure)
    for kind in (int, object):
        assert first_failing_of_both([fine, guard("TYPE", sample.source, kind), fine], where) == 1
    with pytest.raises(Unavailable):
        fetch(sample.source, sample.where)


# Guards


@dataclass
class Sample:
    guard: object
    good: list = field(default_factory=list)
    bad: list = field(default_factory=list)


A, B, N = Symbol("a"), Symbol("b"), Symbol("n")
SIZES = ((A, step("SHAPE", X, 0)), (B, step("SHAPE", arg(1, "y"), 0)))
NAN = float("nan")
OTHER_NAN = np.array([0x7FF8000000000001], np.uint64).view(float).item()
BIG = 2**70


def relation(op, lhs, rhs, symbols):
    return guard(
        "RELATION", symbols[0][1], SymbolicRelation(Relation(op, lhs, rhs), tuple(symbols))
    )


def one_array(*dtypes):
    return [roots(np.zeros((2, 3), dtype)) for dtype in dtypes]


def array_guard(dtype, ndim=2):
    return guard("ARRAY", X, (np.dtype(dtype), ndim))


def integers(*values):
    return [roots(value) for value in values]


MEMORY = np.zeros((4, 6))
Y = arg(1, "y")

GUARDS = {
    GuardKind.TYPE: [
        Sample(guard("TYPE", X, Plain), [roots(SPLIT)], [roots(Base()), roots(Plain), roots(3)]),
        Sample(guard("TYPE", X, int), [roots(3)], [roots(True), roots(IntSub(3)), roots(3.0)]),
        Sample(
            guard("TYPE", X, np.ndarray),
            [roots(np.ones(2))],
            [roots(np.ones(2).view(ArraySub)), roots(np.ma.ones(2))],
        ),
        Sample(guard("TYPE", step("SHAPE", X, 0), int), [roots(np.ones(2))], [roots(3)]),
        Sample(guard("TYPE", X, type(None)), [roots(None)], [roots(0)]),
    ],
    GuardKind.IDENTITY: [
        Sample(
            guard("IDENTITY", X, Identity(np.add)),
            [roots(np.add)],
            [roots(np.subtract), roots(None)],
        ),
        Sample(guard("IDENTITY", X, Identity(None)), [roots(None)], [roots(0), roots(False)]),
        Sample(
            guard("IDENTITY", X, Identity(SPLIT)), [roots(SPLIT)], [roots(Plain()), roots(None)]
        ),
        Sample(
            guard("IDENTITY", step("TYPE", X), Identity(Plain)), [roots(SPLIT)], [roots(Base())]
        ),
    ],
    GuardKind.EQUALS: [
        Sample(
            guard("EQUALS", X, 3), integers(3), integers(True, 3.0, 4, IntSub(3), np.int64(3), "3")
        ),
        Sample(
            guard("EQUALS", X, BIG),
            integers(int("1" + "0" * 22) - int("1" + "0" * 22) + 2**70),
            integers(BIG + 1, float(BIG)),
        ),
        Sample(guard("EQUALS", X, True), integers(True), integers(1, False)),
        Sample(guard("EQUALS", X, 0.0), integers(0.0), integers(-0.0, 0, False, FloatSub(0.0))),
        Sample(guard("EQUALS", X, NAN), integers(NAN, -(-NAN)), integers(OTHER_NAN, 0.0, None)),
        Sample(
            guard("EQUALS", X, complex(0.0, -0.0)),
            integers(complex(0.0, -0.0)),
            integers(complex(0.0, 0.0), 0.0),
        ),
        Sample(
            guard("EQUALS", X, "text"),
            integers("".join(["te", "xt"])),
            integers("other", b"text", StrSub("text")),
        ),
        Sample(
            guard("EQUALS", X, b"text"),
            integers(bytes([116, 101, 120, 116])),
            integers("text", b""),
        ),
        Sample(guard("EQUALS", X, None), integers(None), integers(0, ...)),
        Sample(guard("EQUALS", X, ...), integers(...), integers(None)),
        Sample(
            guard("EQUALS", X, (1, ("a", 0.0), None)),
            integers((1, ("a", 0.0), None)),
            integers(
                (1, ("a", -0.0), None),
                (True, ("a", 0.0), None),
                (1, ("a", 0.0)),
                [1],
                (1, TupleSub(("a", 0.0)), None),
            ),
        ),
        Sample(guard("EQUALS", X, ()), integers(()), integers((1,), TupleSub(), [])),
        Sample(guard("EQUALS", step("LENGTH", X), 2), [roots([1, 2])], [roots([1]), roots(3)]),
        Sample(guard("EQUALS", step("LENGTH", X), 2.0), [], [roots([1, 2])]),
        Sample(guard("EQUALS", step("LENGTH", X), True), [], [roots([1])]),
        Sample(guard("EQUALS", step("LENGTH", X), BIG), [], [roots([1])]),
    ],
    GuardKind.ARRAY: [
        Sample(
            array_guard("f8"),
            [
                *one_array(
                    "f8",
                    np.dtype("f8").newbyteorder("S").newbyteorder("S"),
                ),
                roots(np.zeros((6, 4), "f8").T[::2, ::-1]),
            ],
            [
                *one_array("f4", ">f8", "i8", "O", "M8[s]", np.dtype("f8", metadata={"a": 1})),
                roots(np.zeros(3)),
                roots(np.zeros((2, 3)).view(ArraySub)),
                roots([[1.0]]),
                roots(np.float64(2)),
            ],
        ),
        Sample(
            array_guard(">f8"),
            one_array(">f8", np.dtype("f8").newbyteorder(">")),
            one_array("f8", ">f4", ">i8"),
        ),
        Sample(array_guard("?"), one_array("?"), one_array("i1")),
        Sample(array_guard("l"), one_array("l"), one_array("i4", "u8")),
        Sample(array_guard("e"), one_array("e"), one_array("f4")),
        Sample(array_guard("O"), one_array("O"), one_array("V8")),
        Sample(
            array_guard("U3"),
            one_array("U3"),
            one_array("U4", ">U3", "S3", np.dtype("U3", metadata={"a": 1})),
        ),
        Sample(
            array_guard("S3"),
            one_array("S3"),
            one_array("S2", "U3", np.dtype("S3", metadata={"a": 1})),
        ),
        Sample(
            array_guard("M8[s]"),
            one_array("M8[s]"),
            one_array("M8[ms]", "m8[s]", ">M8[s]", "M8", np.dtype("M8[s]", metadata={"a": 1})),
        ),
        Sample(array_guard("m8[s]"), one_array("m8[s]"), one_array("m8[ms]", "M8[s]")),
        Sample(
            guard("ARRAY", X, (RECORD.dtype, 1)),
            [roots(RECORD), roots(RECORD[:0])],
            [
                roots(np.zeros(2, [("a", int), ("c", float)])),
                roots(np.zeros(2, "V16")),
                roots(RECORD["a"]),
            ],
        ),
        Sample(
            array_guard("f8", 0),
            [roots(np.array(2.0))],
            [roots(np.float64(2)), roots(2.0), roots(np.ones(1))],
        ),
    ],
    GuardKind.ABSENT: [
        Sample(
            guard("ABSENT", Source(SourceKind.GLOBALS), "len"),
            [roots(func=WITH_GLOBALS)],
            [roots(func=function_with({"len": 1})), roots(func=function_with(DictSub()))],
        ),
        Sample(
            guard("ABSENT", Source(SourceKind.BUILTINS), "nonesuch"),
            [roots()],
            [roots(func=function_with({"__builtins__": {"nonesuch": 1}}))],
        ),
        Sample(
            guard("ABSENT", X, "key"),
            [roots({}), roots({"other": 1}), roots({AlikeQuietly(): 1})],
            [roots({"key": 1}), roots(DictSub()), roots(FAILING), roots([])],
        ),
        Sample(
            guard("ABSENT", X, 1),
            [roots({"1": 1})],
            [roots({True: 1}), roots({1.0: 1}), roots(MODULE_LIKE := object())],
        ),
        Sample(
            guard("ABSENT", X, "__getattr__"),
            [roots(MODULE), roots(Plain), roots(WithMeta)],
            [roots(Fallback), roots(SPLIT), roots(ModuleSub("m"))],
        ),
        Sample(guard("ABSENT", X, "attribute"), [roots(np)], [roots(MODULE), roots(WithMeta)]),
        Sample(guard("ABSENT", X, 3), [roots(MODULE)], [roots(Plain)]),
    ],
    GuardKind.NO_INSTANCE_ATTR: [
        Sample(
            guard("NO_INSTANCE_ATTR", X, "method"),
            [
                roots(SPLIT),
                roots(MATERIALISED),
                roots(Slotted(1)),
                roots(object()),
                roots(3),
                roots(np.ones(2)),
                roots(DictProperty()),
                roots(Plain()),
            ],
            [
                roots(Plain(method=1)),
                roots(Opaque()),
                roots(Fallback()),
                roots(MODULE),
                roots(Plain),
                roots(ListFallback()),
            ],
        ),
        Sample(
            guard("NO_INSTANCE_ATTR", X, "unset"), [roots(Slotted(1)), roots(SlotAndDict(1))], []
        ),
        Sample(
            guard("NO_INSTANCE_ATTR", X, "value"),
            [roots(SPLIT), roots(Borrowing())],
            [roots(Slotted(1)), roots(SlotAndDict(1)), roots(BORROWING)],
        ),
        Sample(
            guard("NO_INSTANCE_ATTR", X, "data"),
            [roots(WithDescriptors()), roots(SPLIT)],
            [roots(WITH_DATA)],
        ),
        Sample(
            guard("NO_INSTANCE_ATTR", X, "own"),
            [roots(SPLIT)],
            [roots(REPLACED), roots(STRANGE_DICT)],
        ),
        Sample(guard("NO_INSTANCE_ATTR", X, "key"), [roots(SPLIT)], [roots(FAILING_DICT)]),
        Sample(guard("NO_INSTANCE_ATTR", X, "computed"), [roots(SPLIT)], []),
    ],
    GuardKind.UNBOUND_CELL: [
        Sample(
            guard("UNBOUND_CELL", Source(SourceKind.CELL, (EMPTY_CELL, "empty"))),
            [roots(func=CLOSED), roots(func=CLOSED, closure=(types.CellType(),) * 2)],
            [
                roots(func=CLOSED, closure=(types.CellType(1),) * 2),
                roots(),
                roots(closure=()),
                roots(closure=(1, 2)),
            ],
        ),
        Sample(
            guard("UNBOUND_CELL", step("CELL_OF", INNER_CLOSURE, EMPTY_CELL)),
            [roots(CLOSED)],
            [roots(no_builtins), roots(3)],
        ),
        Sample(
            guard("UNBOUND_CELL", step("CELL_OF", INNER_CLOSURE, NUMBER_CELL)), [], [roots(CLOSED)]
        ),
    ],
    GuardKind.OTHER_ARRAY: [
        Sample(
            guard("OTHER_ARRAY", X),
            one_array(object, "U3", "S2", ">f8", ">i2", "M8[s]", "m8[D]", "i4,f4", "V3"),
            [
                *one_array("?", "i1", "u8", "f2", "f8", "g", "c8", "G", np.longlong),
                roots(3),
                roots(np.float64(1)),
                roots(np.zeros(2, object).view(ArraySub)),
            ],
        )
    ],
    GuardKind.PRESENT: [
        Sample(guard("PRESENT", step("ITEM", X, "k")), [roots({"k": None})], [roots({}), roots(3)]),
        Sample(
            guard("PRESENT", step("ATTR", X, "own")), [roots(Plain(own=None))], [roots(object())]
        ),
    ],
    GuardKind.KEYS: [
        Sample(
            guard("KEYS", X, ("a", 1, None)),
            [roots({"a": 0, 1: 0, None: 0})],
            [
                roots({"a": 0, 1: 0}),
                roots({1: 0, "a": 0, None: 0}),
                roots({"a": 0, True: 0, None: 0}),
                roots({"a": 0, 1: 0, AlikeQuietly(): 0}),
                roots(["a", 1, None]),
                roots(DictSub()),
            ],
        ),
        Sample(
            guard("KEYS", X, ()), [roots({})], [roots({"a": 1}), roots(collections.OrderedDict())]
        ),
    ],
    GuardKind.RELATION: [
        Sample(
            relation("!=", A, 1, SIZES[:1]),
            [roots(np.ones(2)), roots(np.ones((0, 3)))],
            [roots(np.ones(1)), roots(np.array(3)), roots([1])],
        ),
        Sample(
            relation("==", A, B * 2, SIZES),
            [roots(np.ones(4), np.ones(2))],
            [roots(np.ones(4), np.ones(3)), roots(np.ones(4), 2)],
        ),
        *(
            Sample(
                relation(op, A, B, symbols),
                [roots(np.ones(a), np.ones(b)) for a, b in good],
                [roots(np.ones(a), np.ones(b)) for a, b in bad],
            )
            for symbols in (SIZES, SIZES[::-1])
            for op, good, bad in [
                ("==", [(4, 4)], [(4, 3)]),
                ("!=", [(4, 3)], [(4, 4)]),
                ("<=", [(4, 4), (3, 4)], [(4, 3)]),
            ]
        ),
        Sample(
            relation("<=", A, N, [(A, step("SHAPE", X, 0)), (N, arg(1, "n"))]),
            [roots(np.ones(2), 2), roots(np.ones(2), BIG)],
            [roots(np.ones(2), 1), roots(np.ones(2), -BIG), roots(np.ones(2), 2.0)],
        ),
        Sample(
            relation("<", N, 10, [(N, X)]),
            integers(9, -5, -BIG),
            integers(10, BIG, True, 3.0, IntSub(3), np.int64(2)),
        ),
        Sample(
            relation("<=", N * N * N, 2**62, [(N, X)]),
            integers(3, -BIG, 2**20, -(2**40)),
            integers(2**40, BIG, 2**63 - 1),
        ),
        Sample(relation("==", N // 7, -2, [(N, X)]), integers(-8, -14), integers(-7, 14)),
        Sample(relation("==", N % -7, -1, [(N, X)]), integers(6, -1, -8), integers(1, 8)),
        Sample(
            relation("<=", N // (A - 3), 2, [(N, X), (A, Y)]),
            [roots(2, 4), roots(-(2**63), 5), roots(2**70, 2)],
            [roots(3, 4), roots(1, 3), roots(-(2**63), 2), roots(2**70, 4)],
        ),
        Sample(
            relation("==", N % (A - 3), 0, [(N, X), (A, Y)]),
            [roots(-(2**63), 2), roots(4, 5)],
            [roots(5, 5), roots(5, 3)],
        ),
        Sample(relation("==", N, BIG, [(N, X)]), integers(BIG), integers(0)),
        Sample(
            relation("<=", minimum(N, A + 2), maximum(A, 3), [(N, X), (A, Y)]),
            [roots(2, 9), roots(3, -BIG), roots(BIG, 1), roots(-BIG, BIG)],
            [roots(11, 9), roots(BIG, BIG - 1)],
        ),
        Sample(relation("==", N + 2**62, 2**63, [(N, X)]), integers(2**62), integers(2**62 - 1)),
    ],
    GuardKind.SAME_OBJECT: [
        Sample(
            guard("SAME_OBJECT", X, (Y, True)),
            [roots(SPLIT, SPLIT)],
            [roots(SPLIT, Plain()), roots(1.5, float("1.5"))],
        ),
        Sample(
            guard("SAME_OBJECT", X, (Y, False)),
            [roots(SPLIT, Plain())],
            [roots(SPLIT, SPLIT), roots(SPLIT)],
        ),
        Sample(
            guard("SAME_OBJECT", X, (step("ITEM", Y, 0), True)),
            [roots(SPLIT, [SPLIT])],
            [roots(SPLIT, []), roots(SPLIT, [3])],
        ),
    ],
    GuardKind.OVERLAP: [
        Sample(
            guard("OVERLAP", X, (Y, True)),
            [
                roots(MEMORY, MEMORY),
                roots(MEMORY[1:], MEMORY[:2]),
                roots(MEMORY[:, ::-1], MEMORY[1]),
                roots(MEMORY[::2], MEMORY[1::2]),
            ],
            [
                roots(MEMORY, MEMORY.copy()),
                roots(MEMORY[:2], MEMORY[2:]),
                roots(MEMORY, MEMORY[:0]),
                roots(MEMORY, 3),
                roots(MEMORY, MEMORY.view(ArraySub)),
            ],
        ),
        Sample(
            guard("OVERLAP", X, (Y, False)),
            [
                roots(MEMORY, MEMORY.copy()),
                roots(MEMORY[:2], MEMORY[2:]),
                roots(MEMORY[:, :0], MEMORY),
                roots(np.zeros(1, "V0"), np.zeros(1, "V0")),
                roots(MEMORY[3::-1], np.ones(2)),
            ],
            [
                roots(MEMORY, MEMORY),
                roots(MEMORY[0], MEMORY[::-1]),
                roots(3, MEMORY),
                roots(MEMORY.view(ArraySub), np.ones(2)),
            ],
        ),
    ],
}
SAMPLES = [
    (sample, where)
    for samples in GUARDS.values()
    for sample in samples
    for where in (sample.good, sample.bad)
]


def guard_id(value):
    return str(value.guard) if isinstance(value, Sample) else ""


def test_every_guard_kind_has_samples_that_hold_and_that_fail():
    for kind in GuardKind:
        samples = GUARDS[kind]
        assert all(sample.guard.kind is kind for sample in samples)
        assert any(sample.good for sample in samples), kind
        assert any(sample.bad for sample in samples), kind


@pytest.mark.parametrize(
    "sample", [sample for samples in GUARDS.values() for sample in samples], ids=guard_id
)
def test_a_guard_holds_for_good_values_and_fails_for_bad_ones_in_both(sample):
    for where in sample.good:
        assert holds_for_both(sample.guard, where), (str(sample.guard), where.values)
    for where in sample.bad:
        assert not holds_for_both(sample.guard, where), (str(sample.guard), where.values)


def test_a_dead_referent_fails_and_none_is_not_it():
    thing = Plain()

    class Temporary:
        pass

    instance = Temporary()
    by_type, by_identity = guard("TYPE", X, Temporary), guard("IDENTITY", X, Identity(thing))
    assert holds_for_both(by_type, roots(instance))
    assert holds_for_both(by_identity, roots(thing))
    del thing, instance, Temporary
    gc.collect()
    for value in (None, 3, Plain()):
        assert not holds_for_both(by_type, roots(value))
        assert not holds_for_both(by_identity, roots(value))


def test_reading_instance_attributes_does_not_make_a_dict():
    thing = Plain(a=1)
    size = sys.getsizeof(thing)
    tree = compile_guards(
        [guard("EQUALS", step("ATTR", X, "a"), 1), guard("NO_INSTANCE_ATTR", X, "b")]
    )
    assert tree.check((thing,), Base.method, None) == -1
    assert not any(type(referent) is dict for referent in gc.get_referents(thing))
    assert sys.getsizeof(thing) == size


def test_shared_keys_that_move_are_found_again():
    class Moving:
        pass

    first, second = Moving(), Moving()
    first.a, first.b = 1, 2
    second.b = 2
    one = guard("EQUALS", step("ATTR", X, "b"), 2)
    tree = compile_guards([one])
    for value, expected in [
        (first, -1),
        (second, -1),
        (first, -1),
        (Moving(), 0),
        (SPLIT, -1),
        (first, -1),
    ]:
        assert tree.check((value,), Base.method, None) == expected


@pytest.mark.parametrize("cls", GENERIC_TYPES, ids=lambda cls: cls.__name__)
def test_types_said_to_look_attributes_up_plainly_do_so_in_c(cls):
    # tp_getattro is the slot after tp_str: PyTypeObject in CPython's Include/cpython/object.h.
    place = object.__basicsize__ + (object.__basicsize__ // 2) + 15 * ctypes.sizeof(ctypes.c_void_p)

    def slot(owner):
        return ctypes.c_void_p.from_address(id(owner) + place).value

    assert slot(cls) == slot(object)
    assert slot(types.ModuleType) != slot(object)
