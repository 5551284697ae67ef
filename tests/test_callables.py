"""Callables that users have: what `compile` makes of each, and how a compiled one behaves where functions are looked at, copied, sent or wrapped.

A row of `CALLABLES` is made twice, for a plain and a compiled run, so that what a call changes is compared too.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import copy
import dataclasses
import dis
import doctest
import functools
import importlib.util
import inspect
import multiprocessing
import operator
import pickle
import subprocess
import sys
import traceback
import types
import typing
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import bcjit
from bcjit.backends.testing import CountingBackend
from bcjit.config import config
from tests.report_kit import timeless

ROOT = Path(__file__).parents[1]
X = np.arange(4.0)


@pytest.fixture(autouse=True)
def _strict():
    config.strict = True


def affine(x: np.ndarray, gain: float = 2.0, *, shift: float = 0.5) -> np.ndarray:
    """Return a line's values.

    >>> affine(np.ones(2)).tolist()
    [2.5, 2.5]
    """
    return x * gain + shift


class Model:
    """A callable instance with methods of each kind."""

    def __init__(self, gain):
        self.gain = gain
        self.args = "its own"

    def __call__(self, x, power=2):
        return self.gain * x**power

    def method(self, x):
        return x + self.gain

    @classmethod
    def of_class(cls, x):
        return x + 1, cls

    @staticmethod
    def static(x):
        return x * 3


class Slotted:
    __slots__ = ("weights",)

    def __init__(self):
        self.weights = np.array([1.0, 2.0, 3.0, 4.0])

    def __call__(self, x):
        return (x * self.weights).sum()


class Inherits(Model):
    pass


def remembers(x, seen=[]):  # noqa: B006 - that is what is looked at
    seen.append(len(seen))
    return x + len(seen), list(seen)


def make_counter():
    count = 0

    def counter(x):
        nonlocal count
        count += 1
        return x * count

    return counter


def logged(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        return fn(*args, **kwargs) + 1

    return wrapper


def makes_function(x):
    def inner(y):
        return x + y

    return inner(x * 2)


CALLABLES: dict[
    str, tuple[Callable[[], typing.Any], bool]
] = {  # makers, and whether it is compiled
    "function": (lambda: affine, True),
    "lambda": (lambda: lambda x: x * 2 + 1, True),
    "nested": (lambda: makes_function, True),
    "closure": (make_counter, True),
    "wrapped": (lambda: logged(affine), True),
    "bound method": (lambda: Model(3.0).method, True),
    "unbound method": (lambda: functools.partial(Model.method, Model(2.0)), True),
    "class method": (lambda: Model.of_class, True),
    "static method": (lambda: Model.static, True),
    "partial": (lambda: functools.partial(affine, gain=4.0), True),
    "partial of positions": (lambda: functools.partial(affine, X + 1), True),
    "partial of a partial": (
        lambda: functools.partial(functools.partial(affine, gain=4.0), shift=1.0),
        True,
    ),
    "partial of a bound method": (lambda: functools.partial(Model(3.0).method), True),
    "partial of an instance": (lambda: functools.partial(Model(3.0), power=3), True),
    "partial of a compiled one": (lambda: functools.partial(bcjit.compile(affine), gain=4.0), True),
    "instance": (lambda: Model(1.5), True),
    "instance of a subclass": (lambda: Inherits(1.5), True),
    "instance with slots": (Slotted, True),
    "lru_cache": (lambda: functools.lru_cache(lambda x: x), False),
    "builtin": (lambda: operator.neg, False),
    "ufunc": (lambda: np.negative, False),
    "partial of a builtin": (lambda: functools.partial(operator.mul, 3), False),
    "itemgetter": (lambda: operator.itemgetter(1), False),
    "vectorize": (lambda: np.vectorize(lambda v: v + 1), False),
}


def same(left, right):
    if isinstance(left, tuple | list):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, np.ndarray | np.generic):
        return (
            type(left) is type(right)
            and left.dtype == right.dtype
            and left.shape == right.shape
            and left.tobytes() == right.tobytes()
        )
    return left == right


@pytest.mark.parametrize("name", CALLABLES)
def test_every_callable_gives_what_it_gives_plain(name):
    make, compiles = CALLABLES[name]
    plain, compiled = make(), bcjit.compile(make())
    argument = 3 if name == "lru_cache" else X
    for _ in range(3):
        assert same(plain(argument), compiled(argument))
    assert bool(compiled.graphs) is compiles
    assert isinstance(compiled, bcjit.PlainFunction) is not compiles
    with contextlib.suppress(ValueError):  # some builtins have none
        wanted = inspect.signature(plain)
        assert inspect.signature(compiled) == wanted
    if not compiles:
        assert "runs as plain Python" in compiled.report()
        return
    assert compiled.report().parts
    compiled.reset()
    assert compiled.graphs == ()
    assert same(plain(argument), compiled(argument))
    assert compiled.graphs


def test_a_mutable_default_is_seen_by_the_next_call():
    seen: list[int] = []
    compiled = bcjit.compile(remembers)
    rows = [compiled(X) for _ in range(3)]
    assert [row[1] for row in rows] == [[0], [0, 1], [0, 1, 2]]
    assert remembers.__defaults__ == ([0, 1, 2],)
    assert compiled(X, seen)[0].tolist() == (X + 1).tolist()
    assert seen == [0]
    compiled.__defaults__ = ([7],)
    assert remembers.__defaults__ == ([7],) == compiled.__defaults__
    assert compiled(X)[1] == [7, 1]


# ---------------------------------------------------------------------- partials and instances
def test_a_partial_stays_a_partial_over_the_compiled_function():
    plain = functools.partial(affine, X, shift=2.0)
    compiled = bcjit.compile(plain)
    assert isinstance(compiled, functools.partial)
    assert isinstance(compiled, bcjit.CompiledCallable)
    assert compiled.__wrapped__ is plain
    assert (compiled.args, compiled.keywords) == (plain.args, plain.keywords)
    assert isinstance(compiled.func, bcjit.CompiledFunction)
    assert compiled.func.__wrapped__ is affine
    assert repr(compiled) == f"<bcjit compiled {plain!r}>"
    found = compiled.explain(gain=3.0)
    assert found.result.tolist() == plain(gain=3.0).tolist()
    assert len(found.graphs) == 1
    assert timeless(str(bcjit.explain(compiled, gain=3.0))) == timeless(str(found))


def test_an_instance_shows_its_own_attributes():
    model = Model(2.0)
    compiled = bcjit.compile(model)
    assert (compiled.gain, compiled.args) == (2.0, "its own")
    with pytest.raises(AttributeError, match="func"):
        compiled.func  # noqa: B018 - that it is not there is looked at
    assert not hasattr(compiled, "nothing")
    assert compiled.method(X).tolist() == model.method(X).tolist()
    compiled.gain = 5.0
    assert model.gain == 5.0
    assert compiled(X).tolist() == model(X).tolist()
    del compiled.gain
    assert not hasattr(model, "gain")
    with pytest.raises(AttributeError) as caught:
        compiled(X)
    assert "gain" in str(caught.value)
    model.gain = 1.0
    assert compiled.explain(X, power=3).result.tolist() == model(X, 3).tolist()


def test_a_compiled_call_in_a_class_serves_its_instances():
    class Layer:
        def __init__(self, k):
            self.k = k

        @bcjit.compile
        def __call__(self, x):
            return x * self.k

    assert Layer(2)(X).tolist() == (X * 2).tolist()
    assert Layer(3)(X).tolist() == (X * 3).tolist()
    assert len(Layer.__call__.graphs) == 1
    assert bcjit.compile(Layer(4))(X).tolist() == (X * 4).tolist()


@pytest.mark.parametrize("name", ["partial", "instance", "lru_cache", "partial of a bound method"])
def test_a_call_has_no_frame_of_ours(name):
    frames: list[list[str]] = []

    def look(x):
        frames.append([frame.name for frame in traceback.extract_stack(sys._getframe())])
        raise ValueError

    class Looks:
        def __call__(self, x):
            look(x)

        def method(self, x):
            look(x)

    def make():
        return {
            "partial": functools.partial(look),
            "instance": Looks(),
            "lru_cache": functools.lru_cache(look),
            "partial of a bound method": functools.partial(Looks().method),
        }[name]

    entries = []
    for fn in (make(), bcjit.compile(make())):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - its traceback is looked at
            fn(1)
        entries.append([entry.name for entry in traceback.extract_tb(caught.value.__traceback__)])
    assert frames[0] == frames[1]
    assert entries[0] == entries[1]


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_copies_of_partials_and_instances_are_compiled_copies(way):
    for original in (functools.partial(affine, gain=3.0), Model(3.0)):
        compiled = bcjit.compile(original, backend="eager", dynamic=False)
        made = way(compiled)
        assert type(made) is type(compiled)
        assert made is not compiled
        assert made.__wrapped__ is not original
        assert made(X).tolist() == original(X).tolist()
        assert len(made.graphs) == 1
        assert made._function()._options() == compiled._function()._options()


# ---------------------------------------------------------------------- called inside captured code
class Static:
    @staticmethod
    def __call__(x):
        return x * 7


class OfClass:
    k = 2.0

    @classmethod
    def __call__(cls, x):
        return x * cls.k


class CompiledCall:
    @bcjit.compile
    def __call__(self, x):
        return x * 2 + 1

    @bcjit.compile
    def method(self, x):
        return x * 3

    @staticmethod
    @bcjit.compile
    def static(x):
        return x * 4

    @classmethod
    @bcjit.compile
    def of_class(cls, x):
        return x * 5


class Announces:
    def __call__(self, x):
        bcjit.graph_break()
        return x * 2 + 1


PARTIAL = functools.partial(affine, gain=3.0)
NESTED = functools.partial(functools.partial(affine, shift=4.0), gain=5.0)
MODEL = Model(2.0)
CALLS = CompiledCall()

INLINED: dict[str, tuple[Callable[..., typing.Any], int]] = {  # and how many nodes there are
    "partial": (lambda x: PARTIAL(x) + 1, 3),
    "partial with more": (lambda x: PARTIAL(x, gain=2.0, shift=x), 2),
    "nested partial": (lambda x: NESTED(x), 2),  # noqa: PLW0108 - the call is what is looked at
    "partial as an argument": (lambda x, f=PARTIAL: f(x), 2),
    "partial of an instance": (lambda x, f=functools.partial(MODEL, power=3): f(x), 2),
    "partial of a method": (lambda x, f=functools.partial(MODEL.method): f(x), 1),
    "partial of an operation": (lambda x, f=functools.partial(np.add, 2): f(x), 1),
    "partial of a compiled one": (
        lambda x, f=functools.partial(bcjit.compile(affine), gain=2.0): f(x),
        2,
    ),
    "instance": (lambda x: MODEL(x, power=1) + MODEL(x), 5),
    "instance as an argument": (lambda x, m=MODEL: m(x), 2),
    "inherited call": (lambda x, m=Inherits(2.0): m(x), 2),
    "static call": (lambda x, m=Static(): m(x), 1),
    "class call": (lambda x, m=OfClass(): m(x), 1),
    "class and static methods": (
        lambda x: (MODEL.of_class(x)[0], Model.of_class(x)[0], MODEL.static(x), Model.static(x)),
        4,
    ),
    "compiled call": (lambda x: CALLS(x), 2),  # noqa: PLW0108 - the call is what is looked at
    "compiled methods": (
        lambda x: (
            CALLS.method(x),
            CompiledCall.method(CALLS, x),
            CALLS.static(x),
            CompiledCall.of_class(x),
        ),
        4,
    ),
}


@pytest.mark.parametrize("name", INLINED)
def test_calls_of_callables_are_inlined(name):
    fn, nodes = INLINED[name]
    compiled = bcjit.compile(fn, fullgraph=True)
    for _ in range(3):
        assert same(compiled(X), fn(X))
    (graph,) = compiled.graphs
    assert graph.count == nodes
    assert [part.hits for part in compiled.report().parts] == [2]


def test_an_instance_whose_call_breaks_is_captured_by_itself():
    model = Announces()
    compiled = bcjit.compile(lambda x: model(x) + 1)
    for _ in range(3):
        assert compiled(X).tolist() == (X * 2 + 2).tolist()
    assert sorted(graph.count for graph in compiled.graphs) == [1, 2]


def test_what_a_callable_leads_to_is_guarded():
    class Layer:
        def __call__(self, x):
            return x + 1

    class Other(Layer):
        pass

    def first(x):
        return x * 2

    def second(x, k=5.0):
        return x - k

    layer, partial = Layer(), functools.partial(first)
    compiled = bcjit.compile(lambda x: (layer(x), partial(x)))

    def check():
        for _ in range(2):
            assert same(compiled(X), (layer(X), partial(X)))

    check()
    layer.__call__ = lambda x: x * 100  # of no meaning: Python asks the class
    check()
    layer.__class__ = Other
    check()
    Other.__call__ = lambda self, x: x + 3
    check()
    partial.__setstate__((second, (), {}, None))
    check()
    partial.keywords["k"] = 7.0
    check()
    partial.__setstate__((second, (X,), {}, None))
    compiled = bcjit.compile(lambda k: partial(k))  # noqa: PLW0108 - the call is what is looked at
    assert same(compiled(X + 1), X - (X + 1))
    with pytest.raises(TypeError) as plain:
        partial(1, 2, 3)
    with pytest.raises(TypeError) as got:
        bcjit.compile(lambda x: partial(x, 2, 3))(1)
    assert str(got.value) == str(plain.value)
    del Other.__call__, Layer.__call__
    for fn in (layer, bcjit.compile(lambda x: layer(x))):  # noqa: PLW0108 - the call is what is looked at
        with pytest.raises(TypeError, match="'Other' object is not callable"):
            fn(X)


# ---------------------------------------------------------------------- functions that suspend
def test_generators_and_coroutines_run_plain_and_are_known_as_such():
    def generates(x):
        yield x + 1
        yield x + 2

    async def waits(x):
        await asyncio.sleep(0)
        return x + 1

    async def streams(x):
        yield x + 1

    @types.coroutine
    def older(x):
        yield
        return x

    async def collect(fn, x):
        return [value async for value in fn(x)]

    compiled = [bcjit.compile(fn) for fn in (generates, waits, streams, older)]
    assert [v.tolist() for v in compiled[0](X)] == [(X + 1).tolist(), (X + 2).tolist()]
    assert asyncio.run(compiled[1](X)).tolist() == (X + 1).tolist()
    assert asyncio.run(collect(compiled[2], X))[0].tolist() == (X + 1).tolist()
    for test in (
        inspect.isgeneratorfunction,
        inspect.iscoroutinefunction,
        inspect.isasyncgenfunction,
    ):
        assert [test(c) for c in compiled] == [test(c.__wrapped__) for c in compiled]
    for c in compiled:
        assert c.graphs == ()
        assert [problem.code for problem in c.report().problems] == ["BRK019"]
        assert "generator or coroutine" in str(c.report())
        found = c.explain(X)
        assert "generator or coroutine" in str(found)
        if inspect.iscoroutine(found.result):
            found.result.close()  # else it would be said that nobody awaited it
    partial = bcjit.compile(functools.partial(waits))
    assert inspect.iscoroutinefunction(partial)
    assert "generator or coroutine" in str(partial.report())


# ---------------------------------------------------------------------- classes
class Kinds:
    """Every way of having a compiled function in a class; ``plain`` is the same without it."""

    def __init_subclass__(cls, compiles=lambda f: f):
        @compiles
        def method(self, x):
            return x * self.k, self

        @staticmethod
        @compiles
        def static(x):
            return x * 2

        @compiles
        @staticmethod
        def outer_static(x):
            return x * 3

        @classmethod
        @compiles
        def of_class(cls, x):
            return x * cls.k, cls

        @compiles
        @classmethod
        def outer_of_class(cls, x):
            return x * cls.k + 1, cls

        @property
        @compiles
        def computed(self):
            return np.full(2, self.k) * 2

        @compiles
        def read(self):
            return np.full(3, self.k) + 1

        @compiles
        def write(self, value):
            self.k = value * 2

        cached = functools.cached_property(compiles(lambda self: np.full(2, self.k) + 5))
        cached.__set_name__(cls, "cached")
        for name, value in list(locals().items()):
            if name not in ("cls", "compiles", "read", "write"):
                setattr(cls, name, value)
        cls.both = property(read, write)
        cls.k = 3.0


class Plain(Kinds):
    pass


class Compiled(Kinds, compiles=bcjit.compile):
    pass


class PlainChild(Plain):
    k = 5.0

    def method(self, x):
        first, owner = super().method(x)
        return first + 1, owner

    @classmethod
    def of_class(cls, x):
        return super().of_class(x)[0] - 1, cls


class CompiledChild(Compiled):
    k = 5.0

    @bcjit.compile
    def method(self, x):
        first, owner = super().method(x)
        return first + 1, owner

    @classmethod
    @bcjit.compile
    def of_class(cls, x):
        return super().of_class(x)[0] - 1, cls


@pytest.mark.parametrize("pair", [(Plain, Compiled), (PlainChild, CompiledChild)])
def test_methods_of_each_kind_bind_as_functions_do(pair):
    def through(cls):
        o = cls()
        steps = [
            lambda: o.method(X)[0],
            lambda: o.method(X)[1] is o,
            lambda: cls.method(o, X)[0],
            lambda: o.static(X),
            lambda: cls.static(X),
            lambda: o.outer_static(X),
            lambda: cls.outer_static(X),
            lambda: o.of_class(X)[0],
            lambda: cls.of_class(X)[1] is cls,
            lambda: cls.outer_of_class(X)[0],
            lambda: o.outer_of_class(X)[1] is cls,
            lambda: o.computed,
            lambda: o.cached,
            lambda: o.cached is o.cached,
            lambda: o.both,
            lambda: setattr(o, "both", 4.0),
            lambda: o.k,
            lambda: o.both,
            lambda: o.method.__self__ is o,
            lambda: o.method == o.method,
            lambda: list(map(o.method, [X]))[0][0],
        ]
        return [[step() for step in steps] for _ in range(2)]

    plain, compiled = pair
    assert same(through(plain), through(compiled))


def test_abstract_methods_stay_abstract():
    class Base(abc.ABC):
        @bcjit.compile
        @abc.abstractmethod
        def inside(self, x): ...

        @abc.abstractmethod
        @bcjit.compile
        def outside(self, x): ...

        @property
        @abc.abstractmethod
        def value(self): ...

    class Half(Base):
        @bcjit.compile
        def inside(self, x):
            return x + 1

    class Whole(Half):
        value = 3

        @bcjit.compile
        def outside(self, x):
            return self.inside(x) + self.value

    assert Base.__abstractmethods__ == {"inside", "outside", "value"}
    assert Base.inside.__isabstractmethod__
    with pytest.raises(TypeError, match="abstract"):
        Half()
    assert Whole().outside(X).tolist() == (X + 4).tolist()


def test_dataclasses_enums_and_protocols_take_compiled_methods():
    @dataclasses.dataclass
    class Point:
        x: float
        y: float = 2.0

        @bcjit.compile
        def scaled(self, k):
            return np.array([self.x, self.y]) * k

    assert [field.name for field in dataclasses.fields(Point)] == ["x", "y"]
    assert Point(1.0).scaled(3).tolist() == [3.0, 6.0]
    assert Point(1.0) == Point(1.0)

    @typing.runtime_checkable
    class Scales(typing.Protocol):
        def scaled(self, k): ...

    assert isinstance(Point(1.0), Scales)


def test_single_dispatch_goes_through_compiled_functions():
    @functools.singledispatch
    @bcjit.compile
    def double(x):
        return x * 2

    @double.register
    @bcjit.compile
    def _(x: list):
        return [v * 2 for v in x]

    @double.register(tuple)
    @bcjit.compile
    def _(x):
        return np.array(x) * 2

    assert double(X).tolist() == (X * 2).tolist()
    assert double([1, 2]) == [2, 4]
    assert double((1, 2)).tolist() == [2, 4]

    class Has:
        @functools.singledispatchmethod
        @bcjit.compile
        def take(self, x):
            return x + 1

        @take.register(list)
        @bcjit.compile
        def _(self, x):
            return len(x)

    assert Has().take(X).tolist() == (X + 1).tolist()
    assert Has().take([1, 2]) == 2


# ---------------------------------------------------------------------- what looks at functions
compiled_affine = bcjit.compile(affine)


def test_it_is_seen_as_the_function():
    for name in (
        "__name__",
        "__qualname__",
        "__module__",
        "__doc__",
        "__annotations__",
        "__code__",
        "__defaults__",
        "__kwdefaults__",
        "__closure__",
        "__globals__",
    ):
        assert getattr(compiled_affine, name) == getattr(affine, name), name
    assert inspect.signature(compiled_affine) == inspect.signature(affine)
    assert inspect.getsource(compiled_affine) == inspect.getsource(affine)
    assert inspect.getsourcelines(compiled_affine) == inspect.getsourcelines(affine)
    assert inspect.getdoc(compiled_affine) == inspect.getdoc(affine)
    assert inspect.getmodule(compiled_affine) is sys.modules[__name__]
    assert inspect.unwrap(compiled_affine) is affine
    assert inspect.isroutine(compiled_affine)
    assert callable(compiled_affine)
    assert typing.get_type_hints(compiled_affine) == typing.get_type_hints(affine)
    assert inspect.getfullargspec(compiled_affine) == inspect.getfullargspec(affine)
    assert inspect.getcallargs(compiled_affine, X) == inspect.getcallargs(affine, X)
    assert [i.opname for i in dis.get_instructions(compiled_affine)] == [
        i.opname for i in dis.get_instructions(affine)
    ]


def test_signature_and_call_follow_changed_defaults():
    def fn(x, k=1, *, j=2):
        return x * k + j

    compiled = bcjit.compile(fn)
    assert compiled(X).tolist() == (X + 2).tolist()
    fn.__defaults__ = (3,)
    compiled.__kwdefaults__ = {"j": 4}
    assert str(inspect.signature(compiled)) == "(x, k=3, *, j=4)"
    assert compiled(X).tolist() == (X * 3 + 4).tolist() == fn(X).tolist()


def test_replaced_code_is_what_runs():
    def fn(x):
        return x + 1

    compiled = bcjit.compile(fn)
    assert compiled(X).tolist() == (X + 1).tolist()
    compiled.__code__ = (lambda x: x - 1).__code__
    assert compiled(X).tolist() == (X - 1).tolist() == fn(X).tolist()


def test_wraps_over_it_copies_what_it_copies_of_a_function():
    @functools.wraps(compiled_affine)
    def outer(*args, **kwargs):
        return compiled_affine(*args, **kwargs)

    assert outer.__wrapped__ is compiled_affine
    assert inspect.unwrap(outer) is affine
    assert inspect.signature(outer) == inspect.signature(affine)
    assert outer.__doc__ == affine.__doc__
    assert not [name for name in vars(outer) if not name.startswith("__")]
    again = bcjit.compile(outer)
    assert again(X).tolist() == affine(X).tolist()
    assert again.__name__ == "affine"


def test_doctest_finds_its_examples():
    finder = doctest.DocTestFinder()
    tests = {test.name: test for test in finder.find(sys.modules[__name__]) if test.examples}
    assert set(tests) == {f"{__name__}.affine", f"{__name__}.compiled_affine"}
    found = tests[f"{__name__}.compiled_affine"]
    found.globs["affine"] = compiled_affine
    assert doctest.DocTestRunner().run(found) == (0, 1)


# ---------------------------------------------------------------------- pickling, processes
@bcjit.compile
def decorated(x, k=2.0):
    return x * k - 1


class Holder:
    @bcjit.compile
    def method(self, x):
        return x + 2

    @staticmethod
    @bcjit.compile
    def static(x):
        return x + 3


PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_it_is_pickled_by_reference(protocol):
    if protocol > 1:  # before, a name with dots is no reference, of functions neither
        for fn in (decorated, Holder.method, Holder.static):
            assert pickle.loads(pickle.dumps(fn, protocol)) is fn
    bound = pickle.loads(pickle.dumps(Holder().method, protocol))
    assert bound.__func__ is Holder.method
    assert type(bound.__self__) is Holder
    assert bound(X).tolist() == (X + 2).tolist()


def test_what_cannot_be_pickled_plain_says_the_same():
    def nested(x):
        return x

    for fn in (nested, lambda x: x):
        with pytest.raises((pickle.PicklingError, AttributeError)) as plain:
            pickle.dumps(fn)
        with pytest.raises((pickle.PicklingError, AttributeError)) as compiled:
            pickle.dumps(bcjit.compile(fn))
        assert (type(plain.value), str(plain.value)) == (type(compiled.value), str(compiled.value))


def test_under_another_name_the_plain_function_is_sent_and_compiled_there():
    compiled = bcjit.compile(affine, dynamic=False, fullgraph=True)
    made = pickle.loads(pickle.dumps(compiled))
    assert isinstance(made, bcjit.CompiledFunction)
    assert made.__wrapped__ is affine
    assert made._options() == compiled._options()
    assert made(X).tolist() == affine(X).tolist()


def test_copies_are_the_function_itself():
    for fn in (decorated, bcjit.compile(functools.lru_cache(affine))):
        assert copy.copy(fn) is fn
        assert copy.deepcopy([fn])[0] is fn


JOBS = {
    "function": (decorated, X * 2.0 - 1),
    "method": (Holder().method, X + 2),
    "static": (Holder.static, X + 3),
    "partial": (functools.partial(decorated, k=3.0), X * 3 - 1),
    "compiled partial": (bcjit.compile(functools.partial(affine, gain=3.0)), X * 3 + 0.5),
    "instance": (bcjit.compile(Model(2.0)), 2 * X**2),
    "other name": (compiled_affine, X * 2 + 0.5),
}


def call_and_count(job):
    """Call a compiled callable in the process that this runs in, twice; say what it captured there."""
    fn, x = job
    fn(x)
    result = fn(x)
    graphs = getattr(fn, "graphs", None)
    return result, len(fn.func.graphs if graphs is None else graphs)


@pytest.mark.filterwarnings(
    "ignore:This process:DeprecationWarning"
)  # other tests have left threads
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_take_compiled_functions(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform has no {method}")
    for fn, _ in JOBS.values():
        fn(X)  # compiled before the fork too
    with multiprocessing.get_context(method).Pool(1) as pool:
        found = pool.map(call_and_count, [(fn, X) for fn, _ in JOBS.values()])
    for (name, (_, wanted)), (result, graphs) in zip(JOBS.items(), found, strict=True):
        assert result.tolist() == wanted.tolist(), name
        assert graphs == 1, name


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib_takes_compiled_functions(backend):
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    made = bcjit.compile(lambda x: x * 7)  # by value
    jobs = {**JOBS, "lambda": (made, X * 7)}
    with joblib.parallel_config(backend=backend, n_jobs=2):
        found = joblib.Parallel()(
            joblib.delayed(call_and_count)((fn, X)) for fn, _ in jobs.values()
        )
    for (name, (_, wanted)), (result, graphs) in zip(jobs.items(), found, strict=True):
        assert result.tolist() == wanted.tolist(), name
        assert graphs == 1 or backend == "threading", (
            name
        )  # two threads, one function: one runs plain meanwhile


MAIN = """
import multiprocessing, pickle, sys
import numpy as np
import bcjit

@bcjit.compile(dynamic=False)
def here(x):
    return x * 2 + 1

def work(job):
    fn, x = job
    fn(x)
    return fn(x).tolist(), len(fn.graphs)

if __name__ == "__main__":
    assert all(pickle.loads(pickle.dumps(here, p)) is here for p in range(pickle.HIGHEST_PROTOCOL + 1))
    x = np.arange(3.0)
    here(x)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(pool.map(work, [(here, x)]))
    if "joblib" in sys.argv:
        import joblib
        print(joblib.Parallel(n_jobs=2)(joblib.delayed(work)((here, x)) for _ in range(2)))
"""


def test_the_main_module_of_a_program_can_send_its_functions(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(MAIN)
    has_joblib = importlib.util.find_spec("joblib") is not None
    done = subprocess.run(
        [sys.executable, str(script), *["joblib"] * has_joblib],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    one = "([1.0, 3.0, 5.0], 1)"
    assert done.stdout.splitlines() == [f"[{one}]"] * 2 + [f"[{one}, {one}]"] * has_joblib


@pytest.mark.filterwarnings(
    "ignore:This process:DeprecationWarning"
)  # other tests have left threads
def test_a_forked_child_compiles_what_the_parent_was_compiling():
    """The thread that compiles does not exist in the child: its work is nobody's there."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this platform has no fork")
    counting = CountingBackend()
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def child():
        inner = [compiled(X).tolist() for _ in range(2)]
        theirs.send((inner, counting.graph_count))

    def forks(graph, inputs):
        if counting.graph_count == 0 and not started:
            process = context.Process(target=child)
            started.append(process)
            process.start()
        return counting(graph, inputs)

    started: list[multiprocessing.process.BaseProcess] = []
    compiled = bcjit.compile(lambda x: x * 3, backend=forks)
    assert compiled(X).tolist() == (X * 3).tolist()
    assert ours.poll(60)
    assert ours.recv() == ([(X * 3).tolist()] * 2, 1)
    started[0].join()


# ---------------------------------------------------------------------- types
TYPED = """
import functools
from typing import assert_type
import bcjit

def plain(x: int, *, k: float = 1.0) -> str: ...

f = bcjit.compile(plain)
assert_type(f(3, k=2.0), str)
f("a")  # error: arg-type
f(3, j=1)  # error: call-arg
f.report().parts
f.graphs
f.reset()
f.nothing  # error: attr-defined
f.explain("a")  # error: arg-type

@bcjit.compile
def bare(x: int) -> str: ...

@bcjit.compile(backend="eager", dynamic=False)
def given(x: int) -> str: ...

assert_type(bare(1), str)
assert_type(given(1), str)
bare("a")  # error: arg-type
given("a")  # error: arg-type
given.report().recompilations

class Model:
    @bcjit.compile
    def method(self, x: int) -> str: ...

    @staticmethod
    @bcjit.compile
    def static(x: int) -> str: ...

    @bcjit.compile
    @staticmethod
    def outer_static(x: int) -> str: ...

    @property
    @bcjit.compile
    def value(self) -> int: ...

model = Model()
assert_type(model.method(1), str)
assert_type(Model.method(model, 1), str)
assert_type(Model.static(1), str)
assert_type(Model.outer_static(1), str)
assert_type(model.value, int)
model.method("a")  # error: arg-type
model.method.report()
Model.static("a")  # error: arg-type

Same = bcjit.compile(Model)
assert_type(Same(), Model)
partial = bcjit.compile(functools.partial(plain, 1))
assert_type(partial(k=2.0), str)
partial.report()
bcjit.compile(3)  # error: call-overload
"""


def test_type_checkers_know_the_parameters_and_the_methods(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    source = TYPED
    path = tmp_path / "typed.py"
    path.write_text(source)
    wanted = {
        (number, line.rsplit("# error: ")[1])
        for number, line in enumerate(source.splitlines(), 1)
        if "# error: " in line
    }
    done = subprocess.run(  # in its own process: it sets the recursion limit
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--no-incremental",
            "--cache-dir",
            str(tmp_path / "cache"),
            "--disable-error-code",
            "empty-body",
            "--show-error-codes",
            "--no-pretty",
            "--hide-error-context",
            "--no-color-output",
            str(path),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    found = {
        (int(row.split(":")[1]), row.rsplit("[", 1)[1].rstrip("]"))
        for row in done.stdout.splitlines()
        if ": error: " in row
    }
    assert found == wanted, done.stdout + done.stderr
