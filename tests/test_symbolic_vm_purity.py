"""A capture runs no code of the program, changes nothing that existed before, and lets go of everything it looked at."""

from __future__ import annotations

import abc
import enum
import functools
import gc
import sys
import types
import weakref
from collections import OrderedDict, defaultdict, namedtuple

import numpy as np
import pytest
from vm_kit import capture_call

from bcjit.config import config
from bcjit.symbolic_vm import BreakExit, ReturnExit, machine

RAN: list[str] = []


def ran(what):
    """Note that code of the program ran."""
    RAN.append(what)


@pytest.fixture(autouse=True)
def _nothing_ran():
    RAN.clear()
    yield
    assert RAN == []


def trap(name):
    def method(self, *args, **kwargs):
        ran(f"{type(self).__name__}.{name}")
        raise AssertionError(name)

    return method


NAMES = """
    __getattr__ __getattribute__ __setattr__ __delattr__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__ __len__
    __iter__ __next__ __contains__ __getitem__ __setitem__ __delitem__ __call__ __add__ __radd__ __iadd__ __mul__ __rmul__
    __matmul__ __rmatmul__ __neg__ __pos__ __invert__ __index__ __int__ __float__ __complex__ __repr__ __str__ __format__
    __enter__ __exit__ __array__ __array_ufunc__ __array_function__ __array_wrap__ __array_priority__ __dir__ __instancecheck__
    __class_getitem__ __reversed__ __round__ __abs__ __divmod__ __pow__ __length_hint__ __missing__ __del__
""".split()
OPERATORS = [
    n for n in NAMES if n not in ("__getattribute__", "__del__", "__setattr__", "__delattr__")
]
Operators = type("Operators", (), {name: trap(name) for name in OPERATORS})
Reads = type("Reads", (), {"__getattribute__": trap("__getattribute__")})


class Meta(type):
    def __getattribute__(cls, name):
        ran(f"metaclass reads {name}")
        return super().__getattribute__(name)

    def __instancecheck__(cls, instance):
        ran("metaclass instancecheck")
        return False

    def __eq__(cls, other):
        ran("metaclass eq")
        return False

    __hash__ = type.__hash__

    def __call__(cls, *args):
        ran("metaclass call")


class OfMeta(metaclass=Meta):
    factor = 2.0


class Descriptor:
    def __get__(self, instance, owner):
        ran("descriptor read")

    def __set__(self, instance, value):
        ran("descriptor written")


class NonData:
    def __get__(self, instance, owner):
        ran("descriptor read")


class Described:
    data = Descriptor()
    other = NonData()
    cached = functools.cached_property(lambda self: ran("cached"))

    @property
    def effect(self):
        print("a property with an effect")
        ran("property")
        return 1.0


class ListKind(list):
    __getitem__ = trap("list.__getitem__")
    __iter__ = trap("list.__iter__")
    __len__ = trap("list.__len__")


class DictKind(dict):
    __getitem__ = trap("dict.__getitem__")
    __contains__ = trap("dict.__contains__")
    __missing__ = trap("dict.__missing__")
    get = trap("dict.get")


class ArrayKind(np.ndarray):
    def __array_ufunc__(self, *args, **kwargs):
        ran("array_ufunc")

    def __array_finalize__(self, other):
        if other is not None and getattr(sys.modules[__name__], "WATCH_FINALIZE", False):
            ran("array_finalize")


class IntKind(int):
    __add__ = trap("int.__add__")
    __mul__ = trap("int.__mul__")
    __rmul__ = trap("int.__rmul__")
    __index__ = trap("int.__index__")


class Key:
    def __init__(self, silent=True):
        self.silent = silent

    def __hash__(self):
        if not self.silent:
            ran("key hash")
        return 5

    def __eq__(self, other):
        if not self.silent:
            ran("key eq")
        return self is other


class Abstract(abc.ABC):
    @classmethod
    def __subclasshook__(cls, other):
        ran("subclasshook")
        return NotImplemented


class ModuleKind(types.ModuleType):
    def __getattr__(self, name):
        ran(f"module {name}")


def noisy_key():
    key = Key()
    table = {key: 1, "b": 2}
    key.silent = False
    return key, table


def reads_attribute(o, x):
    y = x + 1
    return y * o.factor


def objects():
    made = np.empty(3, dtype=object)
    made[0] = Operators()
    return made


OPERATIONS = {
    "attribute": reads_attribute,
    "method": lambda o, x: (x + 1, o.method(x)),
    "add": lambda o, x: (x + 1) + o,
    "radd": lambda o, x: o + x,
    "multiply": lambda o, x: 2 * o,
    "matmul": lambda o, x: x @ o,
    "in place": lambda o, x: operator_iadd(x, o),
    "negative": lambda o, x: (x + 1, -o),
    "equal": lambda o, x: (x + 1, o == 1),
    "array equal": lambda o, x: x == o,
    "less": lambda o, x: (x + 1, o < 1),
    "truth": lambda o, x: x + 1 if o else x - 1,
    "not": lambda o, x: (x + 1, not o),
    "identity": lambda o, x: (x + 1, o is None, o is x),
    "length": lambda o, x: (x + 1, len(o)),
    "item": lambda o, x: (x + 1, o[0]),
    "named item": lambda o, x: (x + 1, o["b"]),
    "item of array": lambda o, x: x[o],
    "contains": lambda o, x: (x + 1, 1 in o),
    "contained": lambda o, x: (x + 1, o in (1, x), o in [1, 2]),
    "unpacked": lambda o, x: (x + 1, *o),
    "call": lambda o, x: (x + 1, o(x)),
    "call with it": lambda o, x: np.add(x, o),
    "called with out": lambda o, x: np.add(x, 1, out=o),
    "sum": lambda o, x: np.sum(o),
    "asarray": lambda o, x: np.asarray(o) + x,
    "text": lambda o, x: (x + 1, f"{o}"),
    "repr": lambda o, x: (x + 1, repr(o), str(o)),
    "isinstance": lambda o, x: (x + 1, isinstance(o, float), isinstance(o, (list, dict))),
    "isinstance of class": lambda o, x: (x + 1, isinstance(x, o)),
    "type": lambda o, x: (x + 1, type(o)),
    "bool": lambda o, x: (x + 1, bool(o)),
    "float": lambda o, x: (x + 1, float(o)),
    "int": lambda o, x: (x + 1, int(o)),
    "abs": lambda o, x: (x + 1, abs(o)),
    "max": lambda o, x: (x + 1, max(o, 1)),
    "list": lambda o, x: (x + 1, list(o), tuple(o)),
    "dict": lambda o, x: (x + 1, dict(o), {**o}),
    "key": lambda o, x: (x + 1, {o: 1}),
    "range": lambda o, x: (x + 1, range(o)),
    "callable": lambda o, x: (x + 1, callable(o)),
    "hasattr": lambda o, x: (x + 1, hasattr(o, "factor")),
    "getattr": lambda o, x: (x + 1, getattr(o, "factor", 2)),
    "shape": lambda o, x: x.reshape(o),
    "slice": lambda o, x: x[:o],
    "axis": lambda o, x: x.sum(axis=o),
    "dtype": lambda o, x: x.astype(o),
    "returned": lambda o, x: (x + 1, o, [o], {"k": o}),
    "stored": lambda o, x: [x + 1, o].append(o),
    "the described": lambda o, x: (x, o.data),
    "the other described": lambda o, x: (x, o.other),
    "the cached": lambda o, x: (x, o.cached),
    "the effect": lambda o, x: (x, o.effect),
    "set attribute": lambda o, x: setattr(o, "factor", x),
}


def operator_iadd(x, o):
    x += o
    return x


SUBJECTS = {
    "operators": Operators,
    "reads": Reads,
    "class with metaclass": lambda: OfMeta,
    "instance with metaclass": lambda: type.__call__(OfMeta),
    "descriptors": Described,
    "list kind": lambda: ListKind([1, 2]),
    "dict kind": lambda: DictKind(a=1),
    "array kind": lambda: np.ones(3).view(ArrayKind),
    "int kind": lambda: IntKind(2),
    "key": lambda: noisy_key()[0],
    "dict with a key": lambda: noisy_key()[1],
    "abstract class": lambda: Abstract,
    "module": lambda: ModuleKind("kind"),
    "default dict": lambda: defaultdict(lambda: ran("default factory")),
    "ordered dict": lambda: OrderedDict(a=1),
    "masked": lambda: np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "objects": lambda: objects(),
    "partial": lambda: functools.partial(ran, "partial"),
    "property": lambda: property(lambda self: ran("getter")),
    "generator": lambda: (ran("generator") for _ in range(3)),
    "named tuple": lambda: namedtuple("Pair", "a b")(1, 2),  # noqa: PYI024 - as users write it
    "enum": lambda: enum.Enum("Kind", "a b").a,
    "bound method": lambda: Described.effect.fget.__get__(Described()),
    "slots": lambda: Slotted(),
}


class Slotted:
    __slots__ = ("factor", "method")

    def __init__(self):
        self.factor = 2.0


@pytest.mark.parametrize("subject", SUBJECTS)
def test_no_operation_on_an_object_runs_its_code_while_it_is_captured(subject, monkeypatch):
    made = SUBJECTS[subject]()
    monkeypatch.setattr(sys.modules[__name__], "WATCH_FINALIZE", True, raising=False)
    ended = {ReturnExit: 0, BreakExit: 0}
    for name, operation in OPERATIONS.items():
        found = capture_call(operation, made, np.arange(3.0))
        ended[type(found.end)] += 1
        assert not RAN, f"{name} of {subject} ran {RAN}"
    assert ended[BreakExit], "nothing was refused"
    del made
    gc.collect()


def test_the_traps_are_live():
    for subject in ("operators", "reads", "descriptors", "list kind", "dict kind", "int kind"):
        made = SUBJECTS[subject]()
        for operation in OPERATIONS.values():
            try:
                operation(made, np.arange(3.0))
            except Exception:
                pass
        assert RAN, subject
        RAN.clear()


class Plain:
    shared = 3.0

    def __init__(self):
        self.buffer = np.arange(4.0)
        self.items = [1, 2.5, "t"]
        self.table = {"a": np.ones(4), "b": [1]}

    @property
    def total(self):
        return self.buffer.sum()

    def scaled(self, k):
        return self.buffer * k + self.shared


def works_on_everything(o, items, table, x, n=2, *rest, key=None, **more):
    y = o.scaled(n) + o.total + items[1]
    y += x
    z = table["a"] * more.get("m", 1) if table else x
    x[1:] = 5.0
    made = [*items, y]
    made.append(len(rest))
    named = {**more, "z": z}
    if key is None and o.table["b"] is not None:
        named["o"] = o.items[0]
    return y, made, named


def deep(value, memo=None):
    """Return a picture of an object and all that it holds, addresses of arrays included."""
    memo = {} if memo is None else memo
    if id(value) in memo:
        return ("seen", memo[id(value)])
    memo[id(value)] = len(memo)
    if isinstance(value, np.ndarray):
        return (
            id(value),
            value.ctypes.data,
            value.dtype,
            value.shape,
            value.strides,
            value.tobytes(),
        )
    if isinstance(value, list | tuple | set):
        return (id(value), type(value), [deep(v, memo) for v in value])
    if isinstance(value, dict):
        return (id(value), [(deep(k, memo), deep(v, memo)) for k, v in value.items()])
    if isinstance(value, Plain):
        return (id(value), deep(vars(value), memo), dict(vars(Plain)).keys())
    return (id(value), repr(value))


def test_capture_changes_no_object():
    o, items, table = Plain(), [1, 2.0, "t"], {"a": np.ones(4), "n": None}
    x, more = np.arange(4.0), {"m": 2.0}
    everything = (o, items, table, x, more, vars(Plain), works_on_everything.__dict__)
    before = [deep(value) for value in everything]
    for n in (2, 3.5, np.float64(2.0)):
        found = capture_call(works_on_everything, o, items, table, x, n, 7, **more)
        assert found.graph.calls
        assert isinstance(found.end, ReturnExit)
    assert [deep(value) for value in everything] == before


def test_capture_does_not_make_the_dict_of_an_instance():
    """Attribute reads must not turn inline values into a dict: that would cost the program memory and speed."""
    o = Plain()
    size = sys.getsizeof(o)
    capture_call(lambda o, x: x + o.shared + o.buffer, o, np.arange(4.0))
    assert sys.getsizeof(o) == size


def test_capture_draws_no_random_numbers_and_leaves_the_error_state():
    before = np.random.get_state()[1].tolist(), np.geterr()
    capture_call(lambda x: (np.random.normal(size=3) + x, np.random.rand()), np.arange(3.0))
    capture_call(lambda x: np.log(x) / 0.0, np.arange(3.0))
    assert (np.random.get_state()[1].tolist(), np.geterr()) == before


@pytest.mark.parametrize("ending", ["returns", "breaks", "breaks in a callee", "is limited"])
def test_capture_lets_go_of_its_arguments_without_the_collector(ending):
    """References come back to what they were at once: no cycle holds what a capture looked at."""

    def callee(v, o):
        print("breaks")
        return v + o.shared

    def returns(o, items, table, x):
        return works_on_everything(o, items, table, x)

    def breaks(o, items, table, x):
        y = works_on_everything(o, items, table, x)
        print("breaks")
        return y

    def breaks_in_callee(o, items, table, x):
        return callee(works_on_everything(o, items, table, x)[0], o)

    fn = {"returns": returns, "breaks": breaks, "breaks in a callee": breaks_in_callee}.get(
        ending, returns
    )
    o, items, table = Plain(), [1, 2.0, "t"], {"a": np.ones(4), "n": None}
    x = np.arange(4.0)
    held = [o, items, table, x, o.buffer, o.items, o.table, o.table["a"], table["a"]]
    capture_call(fn, o, items, table, x)  # what is cached for the code is cached now
    gc.collect()
    gc.disable()
    try:
        before = [sys.getrefcount(value) for value in held]
        with config.override(capture_limit=12 if ending == "is limited" else 20_000):
            found = capture_call(fn, o, items, table, x)
        kind = ReturnExit if ending == "returns" else BreakExit
        assert isinstance(found.end, kind)
        del found
        after = [sys.getrefcount(value) for value in held]
    finally:
        gc.enable()
    assert after == before


def test_a_capture_that_fails_lets_go_too(monkeypatch):
    def fails(self, *args):
        raise RuntimeError("made to fail")

    x = np.arange(4.0)
    keep = weakref.ref(x)
    gc.collect()
    gc.disable()
    try:
        monkeypatch.setattr(machine.Machine, "graph_input", fails)
        with pytest.raises(RuntimeError, match="made to fail"):
            capture_call(lambda x: x + 1, x)
        del x
        gc.collect()  # the exception's traceback holds the machine
        assert keep() is None
    finally:
        gc.enable()
