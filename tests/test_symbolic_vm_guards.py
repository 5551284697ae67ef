"""A guard is recorded when a fact is used: what a function does not look at may change freely, what it does is seen at once.

Each row of the tables calls a function, changes something, and calls again; the results are always those of the plain function, and
the table says whether the second call needed a capture of its own.
"""

from __future__ import annotations

import contextlib
import enum
import types
from collections import namedtuple

import numpy as np
import pytest
from facts_kit import agree, captures

import bcjit
from bcjit.config import config
from bcjit.guards import GuardKind


@pytest.fixture(autouse=True)
def _strict():
    config.strict = True


# ---------------------------------------------------------------------- what is not used
def ignores(x, unused):
    return x * 2


ANYTHING = [
    1, 2.5, 1j, True, None, "text", b"bytes", ..., (1, 2), [1], {"a": 1}, {1, 2}, frozenset((1,)), range(3), slice(1), np.float64(1),
    np.arange(3), np.zeros((2, 2), "f4"), np.ma.ones(3), np.array(["a"]), np.array([None]), np.dtype("f4"), np, np.add, len, int, print,
    lambda: 1, types.SimpleNamespace(a=1), object(), property(), staticmethod(len), types.CellType(1), ValueError("x"), iter(()),
    enum.Enum("Kind", "a").a, namedtuple("Pair", "a b")(1, 2),  # noqa: PYI024 - as users write it
]  # fmt: skip


def test_an_unused_argument_costs_no_guard_and_no_capture():
    compiled = bcjit.compile(ignores, backend="eager")
    x = np.arange(3.0)
    compiled(x, 0)
    for value in ANYTHING:
        assert not agree(compiled, ignores, x, value), repr(value)
    assert captures(compiled) == 1
    assert not any(
        "unused" in guard.what for part in compiled.report().parts for guard in part.guards
    )


def test_an_argument_that_is_only_handed_on_is_not_looked_at():
    def hands_on(x, thing):
        pair = (thing, [thing])
        return pair[0], pair[1], x + 1, {"k": thing}

    compiled = bcjit.compile(hands_on, backend="eager")
    x = np.arange(3.0)
    compiled(x, 0)
    for value in ANYTHING:
        a, b, _, d = compiled(x, value)
        assert a is value
        assert b[0] is value
        assert d["k"] is value
    assert captures(compiled) == 1


def test_unused_globals_attributes_and_defaults_are_not_guarded():
    def uses_little(x, o, k=ANYTHING):
        return x * o.used

    o = types.SimpleNamespace(used=2.0, other=[1])

    class Holder:
        used = 2.0
        other = 1

    compiled = bcjit.compile(uses_little, backend="eager")
    instance = Holder()
    compiled(np.arange(3.0), instance)
    instance.new = 5
    Holder.other = "changed"
    Holder.extra = 3
    assert not agree(compiled, uses_little, np.arange(3.0), instance)
    assert not agree(compiled, uses_little, np.arange(3.0), instance, k=o)


# ---------------------------------------------------------------------- sizes and numbers
def test_twenty_lengths_are_one_graph():
    def fn(x, y):
        z = x * 2 + y
        return z.sum() / x.shape[0], z[1:] - z[:-1], len(x) * 2

    compiled = bcjit.compile(fn, backend="eager")
    for n in range(3, 23):
        agree(compiled, fn, np.arange(float(n)), np.ones(n))
    assert captures(compiled) == 1


def test_sizes_of_several_arrays_need_only_agree():
    def fn(a, b):
        return a @ b

    compiled = bcjit.compile(fn, backend="eager")
    for n, m, k in [(2, 3, 4), (5, 3, 2), (4, 4, 4), (7, 2, 3), (3, 3, 3)]:
        agree(compiled, fn, np.ones((n, m)), np.ones((m, k)))
    assert captures(compiled) == 1


@pytest.mark.parametrize(
    "numbers",
    [
        [0.001 * i for i in range(1000)],
        list(range(2, 1002)),
        [complex(i, 1) for i in range(100)],
        [np.float64(i) for i in range(100)],
        [np.int64(i) for i in range(100)],
        [np.float32(i) for i in range(100)],
    ],
    ids=["float", "int", "complex", "float64", "int64", "float32"],
)
def test_a_thousand_numbers_are_one_graph(numbers):
    def fn(x, rate):
        return x * rate + rate

    compiled = bcjit.compile(fn, backend="eager")
    x = np.arange(3.0)
    for rate in numbers[:20]:
        agree(compiled, fn, x, rate)
    for rate in numbers[20:]:
        compiled(x, rate)
    assert captures(compiled) == 1


def test_odd_floats_are_no_special_case():
    def fn(x, rate):
        return x * rate

    compiled = bcjit.compile(fn, backend="eager")
    x = np.arange(1.0, 4.0)
    with np.errstate(all="ignore"):
        for rate in (1.0, -0.0, 0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308):
            assert compiled(x, rate).tobytes() == fn(x, rate).tobytes()
    assert captures(compiled) == 1


def test_size_one_is_special_because_it_broadcasts():
    def fn(x, y):
        return x + y

    compiled = bcjit.compile(fn, backend="eager")
    assert agree(compiled, fn, np.arange(3.0), np.ones(3))
    assert not agree(compiled, fn, np.arange(5.0), np.ones(5))
    assert agree(compiled, fn, np.arange(5.0), np.ones(1))
    assert not agree(compiled, fn, np.arange(8.0), np.ones(1))
    assert agree(compiled, fn, np.arange(1.0), np.ones(4))
    agree(compiled, fn, np.arange(1.0), np.ones(1))
    agree(compiled, fn, np.arange(0.0), np.ones(0))
    agree(compiled, fn, np.arange(0.0), np.ones(1))
    assert (
        agree(compiled, fn, np.arange(2.0), np.ones(3)) or captures(compiled) > 3
    )  # raises, as plain


def test_a_question_about_a_size_is_guarded_as_the_answer():
    def fn(x, n):
        if x.shape[0] > 10:
            return x * 2
        if n % 2 == 0:
            return x + n
        return x - n

    compiled = bcjit.compile(fn, backend="eager")
    assert agree(compiled, fn, np.arange(5.0), 4)
    for size, n in [(3, 4), (7, 8), (10, 0), (2, 1000)]:
        assert not agree(compiled, fn, np.arange(float(size)), n)
    assert agree(compiled, fn, np.arange(5.0), 3)
    assert not agree(compiled, fn, np.arange(9.0), -7)
    assert agree(compiled, fn, np.arange(11.0), 4)
    assert not agree(compiled, fn, np.arange(1000.0), 5)  # n is not looked at on this way
    assert captures(compiled) == 3


def test_a_size_that_must_be_a_number_is_guarded_as_it():
    def fn(x, items):
        return items[len(x)] * x

    compiled = bcjit.compile(fn, backend="eager")
    items = [1.0, 2.0, 3.0, 4.0, 5.0]
    assert agree(compiled, fn, np.arange(3.0), items)
    assert not agree(compiled, fn, np.arange(3.0) + 1, items)
    assert agree(compiled, fn, np.arange(2.0), items)


def test_without_dynamic_each_size_and_number_is_compiled_for():
    def fn(x, k):
        return x * k + x.shape[0]

    compiled = bcjit.compile(fn, backend="eager", dynamic=False)
    assert agree(compiled, fn, np.arange(3.0), 2)
    assert not agree(compiled, fn, np.arange(3.0), 2)
    assert agree(compiled, fn, np.arange(4.0), 2)
    assert agree(compiled, fn, np.arange(3.0), 3)
    assert agree(compiled, fn, np.arange(3.0), 3.0)
    assert not agree(compiled, fn, np.arange(4.0), 2)
    kinds = {guard.kind for cache in compiled._caches for e in cache.entries for guard in e.guards}
    assert GuardKind.RELATION not in kinds
    assert "x_0" not in str(compiled.graphs[0].text())


# ---------------------------------------------------------------------- the table of changes
ROWS = {}


def row(same):
    """Register a generator function: it yields ``(fn, args)`` for the first call, then for the second, after its change."""

    def put(make):
        ROWS[make.__name__] = (make, same)
        return make

    return put


GLOBAL = 2.0
GLOBAL_FUNCTION = np.sin


def double(v):
    return v * 2


def triple(v):
    return v * 3


@row(same=False)
def dtype_of_an_array():
    fn = lambda x: x * 2
    yield fn, (np.arange(3.0),)
    yield fn, (np.arange(3, dtype="f4"),)


@row(same=False)
def number_of_dimensions():
    fn = lambda x: x * 2
    yield fn, (np.arange(3.0),)
    yield fn, (np.ones((3, 1)),)


@row(same=False)
def array_or_scalar():
    fn = lambda x: x * 2
    yield fn, (np.arange(3.0),)
    yield fn, (np.float64(3),)


@row(same=True)
def strides_and_order():
    fn = lambda x: x * 2
    yield fn, (np.ones((3, 4)),)
    yield fn, (np.ones((8, 6)).T[::2],)


@row(same=False)
def int_becomes_float():
    fn = lambda x, k: x * k
    yield fn, (np.arange(3.0), 2)
    yield fn, (np.arange(3.0), 2.0)


@row(same=False)
def int_becomes_bool():
    fn = lambda x, k: x * k
    yield fn, (np.arange(3), 2)
    yield fn, (np.arange(3), True)


@row(same=False)
def text_is_another():
    fn = lambda x, how: x.sum() if how == "sum" else x.max()
    yield fn, (np.arange(3.0), "sum")
    yield fn, (np.arange(3.0), "max")


@row(same=True)
def equal_text_is_another_object():
    fn = lambda x, how: x.sum() if how == "sum" else x.max()
    yield fn, (np.arange(3.0), "sum")
    yield fn, (np.arange(3.0), "".join(["s", "um"]))


@row(same=False)
def none_becomes_something():
    fn = lambda x, out: x * 2 if out is None else x * out
    yield fn, (np.arange(3.0), None)
    yield fn, (np.arange(3.0), np.ones(3))


@row(same=False)
def length_of_a_list():
    fn = lambda x, items: x * items[0] + len(items)
    yield fn, (np.arange(3.0), [1.0, 2.0])
    yield fn, (np.arange(3.0), [1.0, 2.0, 3.0])


@row(same=True)
def unread_item_of_a_list():
    fn = lambda x, items: x * items[0]
    yield fn, (np.arange(3.0), [1.0, 2.0])
    yield fn, (np.arange(3.0), [5.0, "unread"])


@row(same=False)
def read_item_of_a_list():
    fn = lambda x, items: x * items[1]
    yield fn, (np.arange(3.0), [1.0, 2.0])
    yield fn, (np.arange(3.0), [1.0, np.ones(3)])


@row(same=True)
def order_of_a_dict_that_is_read_by_key():
    fn = lambda x, table: x * table["a"]
    yield fn, (np.arange(3.0), {"a": 1.0, "b": 2.0})
    yield fn, (np.arange(3.0), {"c": None, "a": 3.0})


@row(same=False)
def order_of_a_dict_that_is_read_in_order():
    fn = lambda x, table: (x * 2, list(table), {**table})
    yield fn, (np.arange(3.0), {"a": 1.0, "b": 2.0})
    yield fn, (np.arange(3.0), {"b": 1.0, "a": 2.0})


@row(same=False)
def key_goes_missing():
    fn = lambda x, table: x * table["a"]
    yield fn, (np.arange(3.0), {"a": 1.0})
    yield fn, (np.arange(3.0), {})


@row(same=False)
def missing_key_appears():
    fn = lambda x, table: x * table.get("a", 2.0)
    yield fn, (np.arange(3.0), {})
    yield fn, (np.arange(3.0), {"a": 5.0})


@row(same=False)
def two_arguments_become_one_object():
    fn = lambda x, y: (x is y, x + y)
    x = np.arange(3.0)
    yield fn, (x, x + 0)
    yield fn, (x, x)


@row(same=True)
def sharing_that_nothing_asks_about():
    fn = lambda x, y: x + y
    x = np.arange(3.0)
    yield fn, (x, x + 0)
    yield fn, (x, x)


@row(same=False)
def a_written_array_overlaps():
    def fn(x, y):
        x[1:] = 5.0
        return x + y

    x = np.arange(6.0)
    yield fn, (x[:3], x[3:])
    yield fn, (x[:3], x[1:4])


@row(same=True)
def global_number_is_replaced():
    global GLOBAL
    fn = lambda x: x * GLOBAL
    GLOBAL = 2.0
    yield fn, (np.arange(3.0),)
    GLOBAL = 3.0
    yield fn, (np.arange(3.0),)
    GLOBAL = 2.0


@row(same=False)
def global_function_is_replaced():
    global GLOBAL_FUNCTION
    fn = lambda x: GLOBAL_FUNCTION(x)
    GLOBAL_FUNCTION = np.sin
    yield fn, (np.arange(3.0),)
    GLOBAL_FUNCTION = np.cos
    yield fn, (np.arange(3.0),)
    GLOBAL_FUNCTION = double
    yield fn, (np.arange(3.0),)
    GLOBAL_FUNCTION = triple
    yield fn, (np.arange(3.0),)


@row(same=False)
def builtin_is_shadowed():
    fn = lambda x: len(x) * x
    yield fn, (np.arange(3.0),)
    globals()["len"] = lambda x: 100
    yield fn, (np.arange(3.0),)
    del globals()["len"]


@row(same=True)
def closure_number_is_replaced():
    k = 2.0

    def fn(x):
        return x * k

    yield fn, (np.arange(3.0),)
    k = 5.0
    yield fn, (np.arange(3.0),)


@row(same=False)
def closure_function_is_replaced():
    f = double

    def fn(x):
        return f(x)

    yield fn, (np.arange(3.0),)
    f = triple
    yield fn, (np.arange(3.0),)


@row(same=False)
def closure_variable_is_deleted():
    k = 2.0

    def fn(x):
        return x * k  # noqa: F821 - deleted between the calls

    yield fn, (np.arange(3.0),)
    del k
    yield fn, (np.arange(3.0),)


@row(same=True)
def default_is_replaced():
    def fn(x, k=2.0):
        return x * k

    yield fn, (np.arange(3.0),)
    fn.__defaults__ = (7.0,)
    yield fn, (np.arange(3.0),)


@row(same=True)
def default_of_a_callee_is_replaced():
    def callee(x, k=2.0, *, shift=1.0):
        return x * k + shift

    fn = lambda x: callee(x)
    yield fn, (np.arange(3.0),)
    callee.__defaults__ = (7.0,)
    callee.__kwdefaults__ = {"shift": 3.0}
    yield fn, (np.arange(3.0),)


@row(same=False)
def code_of_a_callee_is_replaced():
    def callee(x):
        return x * 2

    fn = lambda x: callee(x)
    yield fn, (np.arange(3.0),)
    callee.__code__ = (lambda x: x * 9).__code__
    yield fn, (np.arange(3.0),)


class Holder:
    shared = 2.0

    def __init__(self):
        self.own = 3.0

    def method(self, x):
        return x * self.own

    @property
    def computed(self):
        return self.own + 1

    @staticmethod
    def static(x):
        return x * 2

    @classmethod
    def of_class(cls, x):
        return x * cls.shared


@row(same=True)
def attribute_number_is_replaced():
    fn = lambda o, x: x * o.own
    o = Holder()
    yield fn, (o, np.arange(3.0))
    o.own = 8.0
    yield fn, (o, np.arange(3.0))


@row(same=False)
def attribute_becomes_an_array():
    fn = lambda o, x: x * o.own
    o = Holder()
    yield fn, (o, np.arange(3.0))
    o.own = np.ones(3)
    yield fn, (o, np.arange(3.0))


@row(same=False)
def attribute_is_deleted():
    fn = lambda o, x: x * o.own
    o = Holder()
    yield fn, (o, np.arange(3.0))
    del o.own
    yield fn, (o, np.arange(3.0))


@row(same=True)
def class_attribute_number_is_replaced():
    class Local(Holder):
        shared = 2.0

    fn = lambda o, x: x * o.shared
    yield fn, (Local(), np.arange(3.0))
    Local.shared = 6.0
    yield fn, (Local(), np.arange(3.0))


@row(same=False)
def class_attribute_is_shadowed_by_an_instance():
    fn = lambda o, x: x * o.shared
    o = Holder()
    yield fn, (o, np.arange(3.0))
    o.shared = 9.0
    yield fn, (o, np.arange(3.0))


@row(same=False)
def instance_attribute_is_shadowed_by_a_property():
    class Local(Holder):
        pass

    fn = lambda o, x: x * o.own
    o = Local()
    yield fn, (o, np.arange(3.0))
    Local.own = property(lambda self: 5.0, lambda self, value: None)
    yield fn, (o, np.arange(3.0))


@row(same=False)
def plain_class_attribute_becomes_a_data_descriptor():
    class Local(Holder):
        own = 1.0

    fn = lambda o, x: x * o.own
    o = Local()
    yield fn, (o, np.arange(3.0))
    Local.own = property(lambda self: 5.0)
    yield fn, (o, np.arange(3.0))


@row(same=False)
def slot_is_shadowed_by_a_property():
    class Local:
        __slots__ = ("own",)

    fn = lambda o, x: x * o.own
    o = Local()
    o.own = 4.0
    yield fn, (o, np.arange(3.0))
    Local.own = property(lambda self: 5.0)
    yield fn, (o, np.arange(3.0))


@row(same=False)
def getattribute_is_defined_later():
    class Local(Holder):
        pass

    fn = lambda o, x: x * o.own
    o = Local()
    yield fn, (o, np.arange(3.0))
    Local.__getattribute__ = lambda self, name: 11.0
    yield fn, (o, np.arange(3.0))


@row(same=False)
def method_is_replaced():
    class Local(Holder):
        pass

    fn = lambda o, x: o.method(x)
    o = Local()
    yield fn, (o, np.arange(3.0))
    Local.method = lambda self, x: x - 1
    yield fn, (o, np.arange(3.0))


@row(same=False)
def method_is_replaced_on_the_instance():
    fn = lambda o, x: o.method(x)
    o = Holder()
    yield fn, (o, np.arange(3.0))
    o.method = lambda x: x - 1
    yield fn, (o, np.arange(3.0))


@row(same=False)
def property_is_replaced():
    class Local(Holder):
        pass

    fn = lambda o, x: x + o.computed
    o = Local()
    yield fn, (o, np.arange(3.0))
    Local.computed = property(lambda self: 77.0)
    yield fn, (o, np.arange(3.0))


@row(same=False)
def base_class_gets_another_method():
    class Base:
        def method(self, x):
            return x * 2

    class Local(Base):
        pass

    fn = lambda o, x: o.method(x)
    o = Local()
    yield fn, (o, np.arange(3.0))
    Base.method = lambda self, x: x * 4
    yield fn, (o, np.arange(3.0))


@row(same=False)
def class_of_the_instance_is_another():
    class Other(Holder):
        def method(self, x):
            return x - 1

    fn = lambda o, x: o.method(x)
    yield fn, (Holder(), np.arange(3.0))
    yield fn, (Other(), np.arange(3.0))


@row(same=True)
def another_instance_of_the_class():
    fn = lambda o, x: o.method(x) + o.computed + o.static(x) + o.of_class(x)
    yield fn, (Holder(), np.arange(3.0))
    o = Holder()
    o.own = 10.0
    yield fn, (o, np.arange(3.0))


@row(same=False)
def static_method_is_replaced():
    class Local(Holder):
        pass

    fn = lambda o, x: o.static(x)
    yield fn, (Local(), np.arange(3.0))
    Local.static = staticmethod(lambda x: x * 5)
    yield fn, (Local(), np.arange(3.0))


@row(same=True)
def class_becomes_callable():
    """Whether objects of a class can be called is asked of the class itself each time."""

    class Local(Holder):
        pass

    fn = lambda o, x: (x + 1, callable(o))
    yield fn, (Local(), np.arange(3.0))
    Local.__call__ = lambda self: 1
    yield fn, (Local(), np.arange(3.0))


@row(same=False)
def module_attribute_is_replaced():
    module = types.ModuleType("settings")
    module.f = double

    fn = lambda x: module.f(x)
    yield fn, (np.arange(3.0),)
    module.f = triple
    yield fn, (np.arange(3.0),)


@row(same=True)
def another_function_of_the_same_code_and_other_cells():
    def make(k):
        return lambda v: v * k

    fn = lambda f, x: f(x)
    yield fn, (make(2.0), np.arange(3.0))
    yield fn, (make(3.0), np.arange(3.0))


@row(same=False)
def bound_method_of_another_kind():
    fn = lambda f, x: f(x)
    yield fn, (Holder().method, np.arange(3.0))
    yield fn, (Holder.static, np.arange(3.0))


@row(same=False)
def tuple_is_longer():
    fn = lambda x, *more: x * len(more)
    yield fn, (np.arange(3.0), 1)
    yield fn, (np.arange(3.0), 1, 2)


@row(same=False)
def sign_of_a_number_that_is_asked_for():
    fn = lambda x, n: x if abs(n) == n else -x
    yield fn, (np.arange(3.0), 2)
    yield fn, (np.arange(3.0), -2)


@row(same=True)
def large_integers():
    fn = lambda n, x: (n * 3 + 1, x + 1)
    yield fn, (2, np.arange(3.0))
    yield fn, (2**80, np.arange(3.0))


@row(same=True)
def an_integer_that_no_longer_fits():
    """The graph fails, and NumPy raises: nothing is captured for it."""
    fn = lambda n, x: x + n
    yield fn, (2, np.arange(3, dtype="i1"))
    yield fn, (200, np.arange(3, dtype="i1"))


@row(same=True)
def a_division_that_raises():
    """The graph fails, and plain code raises: nothing is captured for it."""
    fn = lambda k, x: (1.0 / k, x + 1)
    yield fn, (2.0, np.arange(3.0))
    yield fn, (0.0, np.arange(3.0))


@pytest.mark.parametrize("name", ROWS)
def test_a_change_is_seen(name):
    make, same = ROWS[name]
    with contextlib.closing(make()) as calls:
        compiled, needed = None, []
        for fn, args in calls:
            if compiled is None:
                compiled = bcjit.compile(fn, backend="eager")
            needed.append(agree(compiled, fn, *args))
            assert not agree(compiled, fn, *args), "nothing changed"
    assert needed == [True] + [not same] * (len(needed) - 1)
    assert len(needed) > 1


def test_what_was_compiled_first_is_used_again_when_things_are_as_they_were():
    fn = lambda x, k: x * k
    compiled = bcjit.compile(fn, backend="eager")
    for x in (np.arange(3.0), np.arange(3), np.arange(3, dtype="f4"), np.arange(3) * 1j):
        assert agree(compiled, fn, x, 2)
    for x in (np.arange(3.0), np.arange(3), np.arange(3, dtype="f4"), np.arange(3) * 1j):
        assert not agree(compiled, fn, x, 3)


TABLE: dict[object, float] = {(str, 1): 2.0, float: 3.0, "a": 4.0}


def test_keys_that_guards_cannot_name_are_no_error():
    def fn(x, kind, table):
        return x * table.get((kind, 1), 5.0) + table[float], {**table}, (kind, "b") in table

    compiled = bcjit.compile(fn)
    x = np.arange(3.0)
    for kind in (str, int, str):
        got, wanted = compiled(x, kind, TABLE), fn(x, kind, TABLE)
        assert got[0].tolist() == wanted[0].tolist()
        assert got[1:] == wanted[1:]
    assert not compiled.report().problems
