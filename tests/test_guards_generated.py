"""Generated guards over generated values: the C tree and the reference evaluator give the same first failing guard."""

import types

import numpy as np
from guards_kit import WHY, guard, step
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bcjit.dims import Relation, Symbol, maximum, minimum
from bcjit.guards import (
    Guard,
    GuardKind,
    Identity,
    Roots,
    Source,
    SourceKind,
    SymbolicRelation,
    Unavailable,
    compile_guards,
    fetch,
    first_failing,
)
from bcjit.guards.source import MEMBERS, is_constant_key

NAMES = ["a", "b", "method", "computed"]


class Plain:
    def method(self):
        return self

    @property
    def computed(self):
        raise AssertionError("no guard runs this")

    @computed.setter
    def computed(self, value):
        DICT.__get__(self)["computed"] = value


DICT = vars(Plain)["__dict__"]


class Child(Plain):
    a = "of the class"


class Slotted:
    __slots__ = ("a", "b")


class SlotAndDict(Slotted, Plain):
    b = 5


class Opaque(Plain):
    def __getattribute__(self, name):
        raise AssertionError("no guard runs this")


class Fallback(Plain):
    def __getattr__(self, name):
        raise AssertionError("no guard runs this")


class ListSub(list):
    pass


class ArraySub(np.ndarray):
    pass


CLASSES = [Plain, Child, Slotted, SlotAndDict, Opaque, Fallback, ListSub, ArraySub, object, int]
DTYPES = [
    "?",
    "i1",
    "u2",
    "i4",
    "i8",
    ">i4",
    "f2",
    "f4",
    "f8",
    ">f8",
    "c16",
    "O",
    "U2",
    ">U2",
    "S3",
    "M8[s]",
    "M8[ns]",
    "m8[D]",
    [("a", "i4"), ("b", "f8")],
]
constants = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from(
        [
            2**63,
            -(2**63),
            2**70,
            0.0,
            -0.0,
            1.0,
            float("nan"),
            float("inf"),
            1j,
            complex(-0.0, 0.0),
            b"",
            b"a",
            ...,
        ]
    ),
    st.sampled_from(["", *NAMES]),
)
keys = st.one_of(constants, st.tuples(constants), st.tuples(constants, constants))


def make_array(dtype, shape, how):
    array = np.zeros(shape, dtype)
    match how:
        case "transposed":
            return array.T
        case "reversed":
            return array[::-1] if array.ndim else array
        case "strided":
            return np.zeros((*shape, 2), dtype)[..., 0]
        case "sub":
            return array.view(ArraySub)
        case "scalar" if array.ndim == 0:
            return array[()]
    return array


arrays = st.builds(
    make_array,
    st.sampled_from(DTYPES),
    st.sampled_from([(), (0,), (1,), (3,), (2, 3), (1, 0), (3, 1, 2)]),
    st.sampled_from(["", "", "transposed", "reversed", "strided", "sub", "scalar"]),
)


def make_object(cls, attributes, materialise):
    instance = object.__new__(cls)
    for name, value in attributes.items():
        try:
            object.__setattr__(instance, name, value)
        except AttributeError:
            continue
    if materialise and cls not in (Slotted, Opaque):
        assert instance.__dict__ is not None
    return instance


def make_module(attributes):
    module = types.ModuleType("generated")
    vars(module).update(attributes)
    return module


def make_function(default, contents, filled):
    def function(x=default, *, y=default):
        return contents

    if not filled:
        del contents
    return function


def containers(inner):
    attributes = st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
    return st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=2).map(ListSub),
        st.dictionaries(keys, inner, max_size=3),
        st.builds(make_object, st.sampled_from(CLASSES[:6]), attributes, st.booleans()),
        st.builds(make_module, attributes),
        st.builds(make_function, inner, inner, st.booleans()),
        st.builds(
            types.MethodType, st.just(make_module), inner.filter(lambda value: value is not None)
        ),
        st.builds(lambda value: staticmethod(lambda: value), inner),
    )


leaves = st.one_of(
    constants,
    arrays,
    arrays,
    arrays,
    st.sampled_from(CLASSES),
    st.sampled_from(
        [np, np.add, len, Plain.method, vars(Plain)["computed"], frozenset({1}), {2, 3}]
    ),
)
values = st.recursive(leaves, containers, max_leaves=8)


def globals_of(attributes):
    return {"np": np, **attributes}


def make_roots(arguments, attributes, contents, empty, own_closure):
    cell = types.CellType() if empty else types.CellType(contents)
    code = make_function(1, 2, True).__code__
    func = types.FunctionType(code, globals_of(attributes), None, None, (cell,))
    return Roots(tuple(arguments), func, (types.CellType(3),) if own_closure else None)


all_roots = st.builds(
    make_roots,
    st.tuples(arrays, arrays, values, values),
    st.dictionaries(st.sampled_from([*NAMES, "len"]), values, max_size=2),
    values,
    st.booleans(),
    st.booleans(),
)
names = st.sampled_from(NAMES)
STEPS = {
    SourceKind.ATTR: names,
    SourceKind.MODULE_ATTR: st.sampled_from([*NAMES, "add", "ndarray"]),
    SourceKind.TYPE: st.none(),
    SourceKind.MRO: st.sampled_from([*NAMES, "sum", "__init__"]),
    SourceKind.ITEM: st.one_of(st.integers(-2, 2), keys),
    SourceKind.LENGTH: st.none(),
    SourceKind.SHAPE: st.integers(0, 2),
    # The reference evaluator makes the dict of an instance that has none yet.
    SourceKind.MEMBER: st.sampled_from([name for name in MEMBERS if name != "dict"]),
    SourceKind.CELL_OF: st.integers(0, 1),
}
# What is worth trying on a value of this type, with which keys; anything may be tried on anything.
PLAUSIBLE = {
    list: lambda value: [
        (SourceKind.LENGTH, None),
        *((SourceKind.ITEM, index) for index in range(-1, len(value))),
    ],
    tuple: lambda value: [
        (SourceKind.LENGTH, None),
        (SourceKind.CELL_OF, 0),
        *((SourceKind.ITEM, index) for index in range(len(value))),
    ],
    dict: lambda value: [
        (SourceKind.LENGTH, None),
        *((SourceKind.ITEM, key) for key in list(value)[-3:] if is_constant_key(key)),
    ],
    str: lambda _value: [(SourceKind.LENGTH, None)],
    np.ndarray: lambda value: [(SourceKind.SHAPE, axis) for axis in range(value.ndim)],
    types.ModuleType: lambda _value: [(SourceKind.MODULE_ATTR, name) for name in [*NAMES, "add"]],
    types.FunctionType: lambda _value: [
        (SourceKind.MEMBER, name) for name in ["code", "defaults", "kwdefaults", "closure"]
    ],
    types.MethodType: lambda _value: [(SourceKind.MEMBER, name) for name in ["self", "func"]],
    property: lambda _value: [(SourceKind.MEMBER, "fget")],
    staticmethod: lambda _value: [(SourceKind.MEMBER, "func")],
    type: lambda _value: [(SourceKind.MRO, name) for name in [*NAMES, "sum"]],
}
ROOTS = [
    *(Source(SourceKind.LOCAL, (index, f"v{index}")) for index in range(4)),
    *(Source(SourceKind.GLOBAL, name) for name in [*NAMES, "np", "len"]),
    *(Source(SourceKind.CELL, (index, "c")) for index in range(2)),
    *(Source(kind) for kind in (SourceKind.GLOBALS, SourceKind.BUILTINS)),
    *(Source(SourceKind.BUILTIN, name) for name in ("len", "a")),
]


def sources_of(where):
    """Return what can be reached in a few plausible steps, whether it is there or not."""
    reached, at = list(ROOTS), 0
    while at < len(reached) < 150:
        source, at = reached[at], at + 1
        try:
            value = fetch(source, where)
        except Unavailable:
            continue
        otherwise = [(SourceKind.ATTR, name) for name in NAMES]
        steps = (
            PLAUSIBLE.get(type(value), lambda _value: otherwise)(value)
            if type(value) not in (int, type(None))
            else []
        )
        reached.extend(
            Source(kind, key, source)
            for kind, key in [*steps, (SourceKind.TYPE, None)]
            if len(source.chain()) < 5
        )
    return reached


def current(source, where):
    try:
        return fetch(source, where)
    except Unavailable:
        return None


# Guard kinds that say something of values of one type.
SUBJECTS = {
    GuardKind.ARRAY: np.ndarray,
    GuardKind.OVERLAP: np.ndarray,
    GuardKind.KEYS: dict,
    GuardKind.ABSENT: dict,
    GuardKind.RELATION: np.ndarray,
}


def draw_source(draw, where, subject=None):
    sources = sources_of(where)
    fitting = [source for source in sources if type(current(source, where)) is subject]
    source = draw(st.sampled_from(fitting or sources))
    if draw(st.sampled_from([False] * 7 + [True])):
        kind = draw(st.sampled_from(list(STEPS)))
        source = Source(kind, draw(STEPS[kind]), source)
    return source


def identity_of(value):
    try:
        return Identity(value)
    except ValueError:
        return Identity(len)


def draw_relation(draw, where):
    n, m = Symbol("n"), Symbol("m")
    sources = tuple((symbol, draw_number_source(draw, where)) for symbol in (n, m))
    left = draw(
        st.sampled_from(
            [
                n + m,
                n * m,
                n - m,
                n // 2,
                n % 3,
                minimum(n, m),
                maximum(n, 3 * m),
                n * n * m - 1,
                n // (m + 1),
                n % (m + 1),
                n.expr,
            ]
        )
    )
    op, right = (
        draw(st.sampled_from(["==", "!=", "<=", "<"])),
        draw(st.sampled_from([0, 1, 2, 2**62, 2**65, n.expr, m * 2])),
    )
    relation = Relation(op, left, right)
    assume(relation.constant() is None)
    used = tuple((symbol, source) for symbol, source in sources if symbol in relation.symbols())
    return SymbolicRelation(relation, used)


def draw_number_source(draw, where):
    source = draw_source(draw, where, draw(st.sampled_from([np.ndarray, np.ndarray, list, int])))
    value = current(source, where)
    # By type, not isinstance: that would ask the value for its __class__.
    if type(value) is np.ndarray and value.ndim:
        return step("SHAPE", source, draw(st.integers(0, value.ndim - 1)))
    if type(value) in (list, tuple, dict, str):
        return step("LENGTH", source)
    return source


def draw_guard(draw, where):
    kind = draw(st.sampled_from(list(GuardKind)))
    source = draw_source(draw, where, SUBJECTS.get(kind))
    value = (
        current(source, where) if draw(st.sampled_from([True, True, True, False])) else draw(values)
    )
    other = source if draw(st.booleans()) else draw_source(draw, where, SUBJECTS.get(kind))
    match kind:
        case GuardKind.TYPE:
            expected = type(value)
        case GuardKind.IDENTITY:
            expected = identity_of(value)
        case GuardKind.EQUALS:
            expected = value if is_constant_key(value) else draw(keys)
        case GuardKind.ARRAY:
            dtype = (
                value.dtype
                if type(value) is np.ndarray
                else np.dtype(draw(st.sampled_from(DTYPES)))
            )
            expected = dtype, value.ndim if type(value) is np.ndarray else draw(st.integers(0, 2))
        case GuardKind.ABSENT:
            expected = draw(keys)
        case GuardKind.PRESENT | GuardKind.OTHER_ARRAY:
            expected = None
        case GuardKind.NO_INSTANCE_ATTR:
            expected = draw(names)
        case GuardKind.UNBOUND_CELL:
            source, expected = Source(SourceKind.CELL, (draw(st.integers(0, 1)), "c")), None
            if draw(st.booleans()):
                source = step("CELL_OF", step("MEMBER", draw_source(draw, where), "closure"), 0)
        case GuardKind.KEYS:
            expected = (
                tuple(value) if type(value) is dict and all(map(is_constant_key, value)) else ("a",)
            )
        case GuardKind.RELATION:
            expected = draw_relation(draw, where)
        case _:
            expected = other, draw(st.booleans())
            numbers = {SourceKind.LENGTH, SourceKind.SHAPE}
            if kind is GuardKind.SAME_OBJECT and {source.kind, other.kind} & numbers:
                return guard("TYPE", source, int)
    return Guard(kind, source, expected, WHY)


@st.composite
def cases(draw):
    where = draw(all_roots)
    guards = [draw_guard(draw, where) for _ in range(draw(st.integers(1, 6)))]
    return guards, [where, draw(all_roots)]


@settings(max_examples=150)
@given(case=cases())
def test_c_and_python_name_the_same_first_failing_guard(case):
    guards, places = case
    # Also each alone: in a list, what comes after the first failure is not seen.
    trees = [(guards, compile_guards(guards)), *(([one], compile_guards([one])) for one in guards)]
    for where in places:
        for checked, tree in trees:
            # Also before the evaluator has made the dicts of instances.
            found = tree.check(where.values, where.func, where.closure)
            expected = first_failing(checked, where)
            again = tree.check(where.values, where.func, where.closure)
            assert found == expected == again, ([str(one) for one in checked], where)
        # Those that hold, together.
        holding = [checked[0] for checked, _ in trees[1:] if first_failing(checked, where) == -1]
        assert compile_guards(holding).check(where.values, where.func, where.closure) == -1


@settings(max_examples=100)
@given(where=all_roots, data=st.data())
def test_most_guards_made_from_a_value_hold_for_it(where, data):
    """Keep the generator honest: a guard on what is there now holds in both."""
    source = draw_source(data.draw, where)
    try:
        value = fetch(source, where)
    except Unavailable:
        return
    made = [guard("TYPE", source, type(value))]
    if is_constant_key(value):
        made.append(guard("EQUALS", source, value))
    if type(value) is np.ndarray:
        made.append(guard("ARRAY", source, (value.dtype, value.ndim)))
    if type(value) is dict and all(map(is_constant_key, value)):
        made.append(guard("KEYS", source, tuple(value)))
    assert first_failing(made, where) == -1
    assert compile_guards(made).check(where.values, where.func, where.closure) == -1
