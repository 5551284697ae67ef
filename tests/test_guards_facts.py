"""Every fact that a capture relied on is guarded: it changes between two calls, and the second sees it; others may change freely.

One small program a fact. The table says how many captures a change leads to: none for what was not used, one where the fact was.
Facts about arguments, globals, cells and classes of the plainest kind are in ``test_symbolic_vm_guards.py``.
"""

from __future__ import annotations

import abc
import collections
import dataclasses
import enum
import functools
import os
import types
import warnings

import numpy as np
import pytest
from facts_kit import Table, agree, captures

import bcjit
from bcjit.backends.testing import CountingBackend
from bcjit.config import config

TABLE = Table()
row = TABLE.row
X = np.arange(1.0, 5.0)


@pytest.fixture(autouse=True)
def _strict():
    config.strict = True


# ---------------------------------------------------------------------- arrays
@row(new=2)
def byte_order():
    """Two: what is not plain numbers breaks the graph."""
    fn = lambda x: x + 1
    yield fn, (X,)
    yield fn, (X.astype(">f8"),)


@row(new=1)
def byte_order_comes_first():
    fn = lambda x: x + 1
    yield fn, (X.astype(">f8"),)
    yield fn, (X,)


@row(new=1)
def objects_come_first():
    fn = lambda x: x + 1
    yield fn, (X.astype(object),)
    yield fn, (X,)


@row(new=1)
def metadata_of_a_dtype_that_is_asked_for():
    fn = lambda x: x.dtype
    yield fn, (X,)
    yield fn, (X.astype(np.dtype("f8", metadata={"unit": "m"})),)


@row(new=0)
def layout_of_an_array():
    fn = lambda x: (x + 1, x.T, x.ravel(), x.reshape(-1), x.copy())
    x = np.arange(6.0).reshape(2, 3)
    yield fn, (x,)
    yield fn, (np.asfortranarray(x),)
    yield fn, (np.arange(12.0).reshape(2, 6)[:, ::2],)
    yield fn, (x[::-1],)
    yield fn, (np.broadcast_to(x[:1], (2, 3)),)


@row(new=0)
def an_array_that_must_not_be_written():
    """The graph fails, and plain code raises."""

    def fn(x):
        x[0] = 9.0
        return x + 1

    x = X.copy()
    yield fn, (x,)
    x.flags.writeable = False
    yield fn, (x,)


@row(new=0)
def strides_that_are_asked_for():
    """They are read by the program itself, between two graphs."""
    fn = lambda x: (x.strides, x + 1)
    yield fn, (np.arange(4.0),)
    yield fn, (np.arange(8.0)[::2],)


@row(new=1)
def flags_that_are_asked_for():
    fn = lambda x: x + 1 if x.flags.c_contiguous else x - 1
    yield fn, (np.arange(4.0),)
    yield fn, (np.arange(8.0)[::2],)


@row(new=0)
def memory_of_arrays_that_are_only_read():
    fn = lambda x, y: (x * 2 + y)[::-1]
    yield fn, (X, X + 1)
    yield fn, (X, X)
    yield fn, (X[:2], X[1:3])


@row(new=0)
def memory_beside_an_array_of_the_graph_s_own():
    def fn(x, y):
        z = x * 2
        z[1:] += y[1:]
        return z

    yield fn, (X, X + 1)
    yield fn, (X, X)


@row(new=0)
def memory_of_others_than_the_written_one():
    def fn(out, x, y):
        out[:] = x * y
        return out

    yield fn, (np.zeros(4), X, X + 1)
    yield fn, (np.zeros(4), X, X)


@row(new=1)
def memory_of_the_written_one():
    def fn(out, x):
        out[:] = x[0]
        return out + x

    yield fn, (np.zeros(4), X.copy())
    x = X.copy()
    yield fn, (x, x)


@row(new=0)
def whether_two_arrays_share_memory_when_that_is_asked():
    fn = lambda x, y: (np.shares_memory(x, y), x + 1)
    yield fn, (X, X + 1)
    yield fn, (X, X)


@row(new=1)
def kind_of_a_numpy_scalar():
    fn = lambda k: (np.sin(k), k)
    yield fn, (np.float64(2),)
    yield fn, (np.float32(2),)
    yield fn, (2.0,)
    yield fn, (np.array(2.0),)


@row(new=2)
def subclass_of_an_array():
    """Two: it breaks the graph."""

    class Sub(np.ndarray):
        pass

    fn = lambda x: x + 1
    yield fn, (X,)
    yield fn, (X.view(Sub),)


# ---------------------------------------------------------------------- the error state and warnings
def divided(x, y):
    return x / y


@pytest.mark.parametrize("how", ["ignore", "warn", "raise", "print"])
def test_the_error_state_of_a_call_is_that_of_its_moment(how, capsys):
    compiled = bcjit.compile(divided, backend="eager")
    x, y = np.ones(2), np.zeros(2)
    with np.errstate(all="ignore"):
        assert compiled(x, y).tolist() == [np.inf, np.inf]

    def run(fn):
        with warnings.catch_warnings(record=True) as caught, np.errstate(all=how):
            warnings.simplefilter("always")
            try:
                found = fn(x, y).tolist()
            except FloatingPointError as error:
                found = str(error)
        return found, [(str(w.message), w.category, w.lineno) for w in caught], capsys.readouterr()

    assert run(compiled) == run(divided)
    assert captures(compiled) == 1


def test_the_function_that_is_called_for_errors_is_that_of_the_moment():
    compiled = bcjit.compile(divided, backend="eager")
    with np.errstate(all="ignore"):
        compiled(np.ones(2), np.zeros(2))
    told = []
    for fn in (compiled, divided):
        for place in range(2):
            with np.errstate(
                divide="call", call=lambda what, _flag, p=place: told.append((p, what))
            ):
                fn(np.ones(2), np.zeros(2))
    assert told == [(0, "divide by zero"), (1, "divide by zero")] * 2
    assert captures(compiled) == 1


def test_warning_filters_of_the_moment_decide():
    compiled = bcjit.compile(divided, backend="eager")
    for action in ("ignore", "error", "always", "error"):
        for fn in (compiled, divided):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter(action)
                if action == "error":
                    with pytest.raises(RuntimeWarning, match="divide by zero"):
                        fn(np.ones(2), np.zeros(2))
                else:
                    fn(np.ones(2), np.zeros(2))
            assert len(caught) == (action == "always")


@row(new=0)
def error_state_that_is_asked_for():
    fn = lambda x: (np.geterr()["over"], np.geterr()["divide"], x + 1)
    with np.errstate(over="ignore"):
        yield fn, (X,)
    with np.errstate(over="raise"):
        yield fn, (X,)


@row(new=0)
def print_options_that_are_used():
    fn = lambda x: (str(x * 2), np.get_printoptions()["precision"])
    yield fn, (X / 3,)
    with np.printoptions(precision=2):
        yield fn, (X / 3,)


# ---------------------------------------------------------------------- bcjit's own settings
@pytest.mark.parametrize(
    "settings",
    [
        {"disabled": True},
        {"inline_depth": 0},
        {"loops": False},
        {"unroll_limit": 0},
        {"plain_loops": False},
        {"optimize": False},
        {"capture_limit": 1},
        {"cache_limit": 1},
        {"part_limit": 1},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_settings_change_no_result(settings):
    def helper(x, k):
        return x * k

    def fn(x):
        total = 0.0
        for k in range(3):
            total = total + helper(x, k)
        if total.sum() > 1:
            total = total - 1
        return total

    compiled = bcjit.compile(fn, backend="eager")
    agree(compiled, fn, X)
    with config.override(**settings):
        assert not agree(compiled, fn, X) or settings == {"disabled": True}
        agree(compiled, fn, X.astype("f4"))
    agree(compiled, fn, X)
    agree(compiled, fn, X.astype("f4"))


# ---------------------------------------------------------------------- globals and builtins
@row(new=1)
def shadow_of_a_builtin_is_deleted():
    space = {"np": np, "abs": lambda x: x * 100}
    exec("def fn(x): return abs(x)", space)
    fn = space["fn"]
    yield fn, (-X,)
    del space["abs"]
    yield fn, (-X,)


@row(new=1)
def builtin_is_replaced_for_all():
    own = {"abs": abs, "__build_class__": __build_class__}
    space = {"__builtins__": own}
    exec("def fn(x): return abs(x)", space)
    fn = space["fn"]
    yield fn, (-X,)
    own["abs"] = np.sign
    yield fn, (-X,)


@row(new=1)
def global_is_deleted():
    space = {"scale": np.float64(2)}
    exec("def fn(x): return x * scale", space)
    fn = space["fn"]
    yield fn, (X,)
    del space["scale"]
    yield fn, (X,)


@row(new=1)
def global_array_gets_another_dtype():
    space = {"table": X}
    exec("def fn(x): return x * table", space)
    fn = space["fn"]
    yield fn, (X,)
    space["table"] = X.astype("f4")
    yield fn, (X,)


@row(new=0)
def global_array_is_replaced_or_written():
    space = {"table": X}
    exec("def fn(x): return x * table", space)
    fn = space["fn"]
    yield fn, (X,)
    space["table"] = X + 1
    yield fn, (X,)
    space["table"][0] = 77.0
    yield fn, (X,)


@row(new=1)
def numpy_function_is_patched():
    fn = lambda x: np.sinc(x)
    before = np.sinc
    try:
        yield fn, (X,)
        np.sinc = lambda x: x * 100
        yield fn, (X,)
    finally:
        np.sinc = before


@row(new=0)
def numpy_function_that_is_not_used_is_patched():
    fn = lambda x: np.sin(x)
    before = np.sinc
    try:
        yield fn, (X,)
        np.sinc = None
        yield fn, (X,)
    finally:
        np.sinc = before


@row(new=1)
def attribute_of_a_module_appears():
    module = types.ModuleType("settings")
    fn = lambda x: x * 2 if hasattr(module, "fast") else x * 3
    yield fn, (X,)
    module.fast = True
    yield fn, (X,)


@row(new=1)
def global_list_is_longer():
    space = {"steps": [1.0, 2.0], "np": np}
    exec("def fn(x):\n    for s in steps:\n        x = x * s\n    return x", space)
    fn = space["fn"]
    yield fn, (X,)
    space["steps"].append(3.0)
    yield fn, (X,)


@row(new=1)
def function_in_a_global_dict_is_replaced():
    space = {"table": {"f": np.sin}, "np": np}
    exec("def fn(x): return table['f'](x)", space)
    fn = space["fn"]
    yield fn, (X,)
    space["table"]["f"] = np.cos
    yield fn, (X,)


# ---------------------------------------------------------------------- functions
@row(new=0)
def code_of_the_function_itself_is_replaced():
    """It runs plain from then on."""

    def fn(x):
        return x * 2

    yield fn, (X,)
    fn.__code__ = (lambda x: x * 9).__code__
    yield fn, (X,)


@row(new=1)
def number_of_defaults_of_a_callee():
    def callee(x, k=2.0, m=1.0):
        return x * k + m

    fn = lambda x: callee(x, 3.0)
    yield fn, (X,)
    callee.__defaults__ = None
    yield fn, (X,)


@row(new=1)
def keyword_default_of_a_callee_goes():
    def callee(x, *, k=2.0):
        return x * k

    fn = lambda x: callee(x)
    yield fn, (X,)
    callee.__kwdefaults__ = None
    yield fn, (X,)


@row(new=1)
def default_of_a_callee_gets_another_type():
    def callee(x, k=2.0):
        return x * k

    fn = lambda x: callee(x)
    yield fn, (X,)
    callee.__defaults__ = (2,)
    yield fn, (X,)


@row(new=0)
def default_that_is_not_used():
    def callee(x, k=2.0):
        return x * k

    fn = lambda x: callee(x, 3.0)
    yield fn, (X,)
    callee.__defaults__ = ("text",)
    yield fn, (X,)


@row(new=1)
def mutable_default_has_changed():
    def fn(x, seen=[1.0]):  # noqa: B006 - what is tested
        return x * len(seen)

    yield fn, (X,)
    fn.__defaults__[0].append(2.0)
    yield fn, (X,)


@row(new=1)
def cell_of_a_callee_holds_another_kind():
    k = 2.0

    def callee(x):
        return x * k

    fn = lambda x: callee(x)
    yield fn, (X,)
    k = X
    yield fn, (X,)


@row(new=1)
def attribute_of_a_function():
    def callee(x):
        return x

    callee.scale = 2.0
    fn = lambda x: x * callee.scale
    yield fn, (X,)
    callee.scale = X
    yield fn, (X,)


@row(new=1)
def arguments_of_a_partial():
    fn = lambda f, x: f(x)
    callee = lambda k, x: x * k
    yield fn, (functools.partial(callee, 2.0), X)
    yield fn, (functools.partial(callee, X), X)


# ---------------------------------------------------------------------- classes and their objects
class Thing:
    def __init__(self, own=3.0):
        self.own = own


def new_class(**namespace):
    return type("Local", (Thing,), namespace)


@row(new=0)
def getattr_is_defined_later():
    cls = new_class()
    fn = lambda o, x: (hasattr(o, "missing"), x + 1)
    o = cls()
    yield fn, (o, X)
    cls.__getattr__ = lambda self, name: 5.0
    yield fn, (o, X)


@row(new=1)
def attribute_of_the_class_appears():
    cls = new_class()
    fn = lambda o, x: x * getattr(o, "late", 1.0)
    o = cls()
    yield fn, (o, X)
    cls.late = X
    yield fn, (o, X)


@row(new=1)
def truth_of_an_object():
    cls = new_class()
    fn = lambda o, x: x + 1 if o else x - 1
    o = cls()
    yield fn, (o, X)
    cls.__bool__ = lambda self: False
    yield fn, (o, X)


@row(new=1)
def length_of_an_object_decides():
    cls = new_class()
    fn = lambda o, x: x + 1 if o else x - 1
    o = cls()
    yield fn, (o, X)
    cls.__len__ = lambda self: 0
    yield fn, (o, X)


@row(new=1)
def equality_is_defined_later():
    cls = new_class()
    fn = lambda a, b, x: x + 1 if a == b else x - 1
    a, b = cls(), cls()
    yield fn, (a, b, X)
    cls.__eq__ = lambda self, other: True
    yield fn, (a, b, X)


@row(new=0)
def operator_is_defined_later():
    cls = new_class(__mul__=lambda self, x: x * 2)
    fn = lambda o, x: o * 3 + x
    o = cls()
    yield fn, (o, X)
    cls.__mul__ = lambda self, x: x * 5
    yield fn, (o, X)


@row(new=0)
def array_ufunc_is_defined_later():
    cls = new_class(__radd__=lambda self, x: x * 0)
    fn = lambda o, x: (x * 2) + o
    o = cls()
    yield fn, (o, X)
    cls.__array_ufunc__ = None
    yield fn, (o, X)


@row(new=0)
def item_access_is_replaced():
    cls = new_class(__getitem__=lambda self, key: key * 2.0)
    fn = lambda o, x: x * o[3]
    o = cls()
    yield fn, (o, X)
    cls.__getitem__ = lambda self, key: key * 5.0
    yield fn, (o, X)


@row(new=1)
def call_is_replaced():
    cls = new_class(__call__=lambda self, x: x * 2)
    fn = lambda o, x: o(x)
    o = cls()
    yield fn, (o, X)
    cls.__call__ = lambda self, x: x * 5
    yield fn, (o, X)


@row(new=1)
def class_of_an_object_is_assigned():
    one, other = new_class(f=lambda self, x: x * 2), new_class(f=lambda self, x: x * 5)
    fn = lambda o, x: o.f(x)
    o = one()
    yield fn, (o, X)
    o.__class__ = other
    yield fn, (o, X)


@row(new=1)
def bases_of_a_class_are_assigned():
    class A:
        def f(self, x):
            return x * 2

    class B:
        def f(self, x):
            return x * 5

    class C(A):
        pass

    fn = lambda o, x: o.f(x)
    o = C()
    yield fn, (o, X)
    C.__bases__ = (B,)
    yield fn, (o, X)


@row(new=1)
def method_that_super_finds_is_replaced():
    class A:
        def f(self, x):
            return x * 2

    class B(A):
        def f(self, x):
            return super().f(x) + 1

    fn = lambda o, x: o.f(x)
    yield fn, (B(), X)
    A.f = lambda self, x: x * 5
    yield fn, (B(), X)


@row(new=2)
def descriptor_becomes_one_that_sets():
    class Reader:
        def __get__(self, obj, cls):
            return 5.0

    cls = new_class(own=Reader())
    o = cls.__new__(cls)
    o.__dict__["own"] = 2.0
    fn = lambda o, x: x * o.own
    yield fn, (o, X)
    Reader.__set__ = lambda self, obj, value: None
    yield fn, (o, X)


@row(new=1)
def constructor_is_replaced():
    cls = new_class(__init__=lambda self: setattr(self, "own", 2.0))
    fn = lambda x: x * cls().own
    yield fn, (X,)
    cls.__init__ = lambda self: setattr(self, "own", 5.0)
    yield fn, (X,)


@row(new=3)
def way_to_set_attributes_is_replaced():
    cls = new_class()

    def fn(x):
        o = cls(2.0)
        o.more = 3.0
        return x * o.more, o.own

    yield fn, (X,)
    cls.__setattr__ = lambda self, name, value: object.__setattr__(self, name, value * 2)
    yield fn, (X,)


@row(new=2)
def new_is_defined_later():
    cls = new_class()
    fn = lambda x: x * cls(2.0).own
    yield fn, (X,)

    def new(kind, *args):
        made = object.__new__(kind)
        made.own = 9.0
        return made

    cls.__new__ = new
    yield fn, (X,)


@row(new=1)
def abstract_class_gets_another_member():
    class Base(abc.ABC):
        pass

    class Other:
        pass

    fn = lambda o, x: x + 1 if isinstance(o, Base) else x - 1
    o = Other()
    yield fn, (o, X)
    Base.register(Other)
    yield fn, (o, X)


@row(new=1)
def check_for_instances_is_replaced():
    class Meta(type):
        pass

    class Base(metaclass=Meta):
        pass

    fn = lambda o, x: x + 1 if isinstance(o, Base) else x - 1
    yield fn, (3, X)
    Meta.__instancecheck__ = lambda cls, o: True
    yield fn, (3, X)


@row(new=0)
def name_of_a_class_that_is_asked_for():
    cls = new_class()
    fn = lambda o, x: (type(o).__name__, x + 1)
    yield fn, (cls(), X)
    cls.__name__ = "Renamed"
    yield fn, (cls(), X)


@row(new=0)
def what_else_a_class_has():
    cls = new_class(f=lambda self, x: x * self.own)
    fn = lambda o, x: o.f(x)
    yield fn, (cls(), X)
    cls.more = 1
    cls.__repr__ = lambda self: "changed"
    cls.__len__ = lambda self: 0
    cls.__eq__ = lambda self, other: True
    yield fn, (cls(5.0), X)


@row(new=0)
def what_else_an_object_has():
    fn = lambda o, x: x * o.own
    o = Thing()
    yield fn, (o, X)
    o.more = [1]
    yield fn, (o, X)
    o.__dict__["also"] = 3
    yield fn, (o, X)


@row(new=1)
def attribute_moves_from_the_object_to_its_class():
    cls = new_class()
    fn = lambda o, x: x * o.own
    o = cls()
    yield fn, (o, X)
    del o.own
    cls.own = 8.0
    yield fn, (o, X)


@row(new=1)
def value_of_an_enumeration():
    class Kind(enum.Enum):
        A = 2.0
        B = 3.0

    fn = lambda kind, x: x + 1 if kind is Kind.A else x - 1
    yield fn, (Kind.A, X)
    yield fn, (Kind.B, X)


@row(new=0)
def fields_of_a_dataclass():
    @dataclasses.dataclass
    class Point:
        a: float
        b: object

    fn = lambda p, x: x * p.a
    yield fn, (Point(2.0, 1), X)
    yield fn, (Point(3.0, "unused"), X)


# ---------------------------------------------------------------------- containers
@row(new=2)
def type_of_a_dict():
    fn = lambda d, x: x * d["k"]
    yield fn, ({"k": 2.0}, X)
    yield fn, (collections.OrderedDict(k=3.0), X)


@row(new=0)
def keys_that_are_not_read():
    fn = lambda d, x: x * d["k"]
    d = {"k": 2.0}
    yield fn, (d, X)
    d["more"] = 1
    yield fn, (d, X)
    d[1] = d[None] = d[(1, 2)] = 1
    yield fn, (d, X)
    yield fn, ({"first": 0, "k": 7.0}, X)


@row(new=1)
def number_of_keys_that_is_asked_for():
    fn = lambda d, x: x * len(d)
    yield fn, ({"k": 2.0}, X)
    yield fn, ({"k": 2.0, "m": 1}, X)


@row(new=2)
def names_of_keyword_arguments():
    def fn(x, **kw):
        return x * sum(kw.values())

    inner = lambda d, x: fn(x, **d)
    yield inner, ({"a": 1.0}, X)
    yield inner, ({"b": 1.0}, X)


@row(new=1)
def whether_a_value_is_in_a_list():
    fn = lambda items, x: x + 1 if 3 in items else x - 1
    yield fn, ([1, 2], X)
    yield fn, ([1, 3], X)


@row(new=1)
def what_a_set_has():
    fn = lambda items, x: x + 1 if 3 in items else x - 1
    yield fn, ({1, 2}, X)
    yield fn, ({1, 3}, X)


@row(new=1)
def equality_of_two_lists():
    fn = lambda a, b, x: x + 1 if a == b else x - 1
    yield fn, ([1, 2], [1, 2], X)
    yield fn, ([1, 2], [1, 5], X)


@pytest.mark.parametrize("name", TABLE.rows)
def test_a_change_is_seen(name):
    TABLE.check(name)


# ---------------------------------------------------------------------- what an odd call leaves behind
class Odd:
    def __radd__(self, other):
        return "odd"

    __array_ufunc__ = None


def added(x, y):
    z = x * 2
    return z + y


ODD = {
    "an array of objects": (X.astype(object), 1.0),
    "another byte order": (X.astype(">f8"), 1.0),
    "an object without a rule": (X, Odd()),
    "sizes that do not go together": (X, np.ones(3)),
    "nothing": (X, None),
    "text": (X, "text"),
}


@pytest.mark.parametrize("name", ODD)
def test_a_call_that_breaks_does_not_stand_in_the_way_of_others(name):
    """Whether it comes first or later: what is made for it serves calls alike only."""
    for calls in ([(X, 1.0), ODD[name], (X, X)], [ODD[name], (X, 1.0), (X, X)]):
        counting = CountingBackend()
        compiled = bcjit.compile(added, backend=counting)
        for args in calls * 2:
            agree(compiled, added, *args)
        before = counting.call_count
        for args in ((X, 1.0), (X, X)):
            assert not agree(compiled, added, *args)
        assert counting.call_count == before + 2
        assert len([graph for graph in compiled.graphs if len(graph.calls) == 2]) == 2


def test_values_that_an_instruction_was_given_up_with_are_many():
    """A break that any value leads to is not compiled for each."""

    def fn(x, name, n):
        y = x + 1
        table = {"a": 1}
        str.maketrans(table)
        os.fspath(name)
        return y * len(table) + n

    compiled = bcjit.compile(fn, backend="eager")
    agree(compiled, fn, X, "first", 0)
    before = captures(compiled)
    assert before > 1  # it broke
    for number in range(5):
        agree(compiled, fn, np.arange(number + 2.0), f"name {number}", number)
    assert captures(compiled) == before


def test_each_way_to_raise_is_a_way_of_its_own():
    def fn(x, key):
        return x * {"a": 2.0, "b": 3.0}[key]

    compiled = bcjit.compile(fn, backend="eager")
    for key in ("bad", "a", "b", "bad", "worse"):
        agree(compiled, fn, X, key)
    assert [graph.count for graph in compiled.graphs] == [1, 1]
    for key in ("a", "b", "bad", "worse"):
        assert not agree(compiled, fn, X, key)
