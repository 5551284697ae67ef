"""Changes of objects from outside, captured whole: done in program order, read back, right for every alias and failure.

The corpus (``corpus/effects.py``) goes through the sweeps; here is what needs a test of its own: what must be captured without a
break, a failure at each place, classes that change between calls, objects with finalisers.
"""

from __future__ import annotations

import dataclasses
import gc
import types
import weakref

import numpy as np
import pytest
from conftest import FULL
from corpus.effects import Config, Frozen, Model, Node, Slotted
from differential import PLAIN, Setting, World, args, assert_same, compare, observe
from programs import function_from
from under_test import TRANSFORMS, compile_failing

import bcjit
from bcjit.config import config

STORE = types.ModuleType("store")
STORE.count = 0
COUNT = 0
LOG: list[object] = []


def model(size=3):
    return Model(np.arange(1.0, size + 1))


def vector(size=3):
    return np.arange(1.0, size + 1)


# ---------------------------------------------------------------------- captured whole
def attributes(m, x):
    m.last = x * m.weights
    m.step += 1
    m.history.append(m.step)
    m.table["last"] = m.last
    return m.last + m.step


def through_methods(m, x):
    m.forward(x)
    m.update(x, rate=0.5)
    m.scale = x.sum()
    return m.scale


def growing_log(m, x):
    m.history.append(x.sum())
    m.history.extend((1, 2))
    m.history += [3]
    return x + 1


def builtin_functions(m, x):
    setattr(m, "step", x * 2)  # noqa: B010
    delattr(m, "best")
    object.__setattr__(m, "best", m.step)
    return getattr(m, "best") + 1  # noqa: B009


def global_names(m, x):
    global COUNT
    COUNT = COUNT + 1
    STORE.count = COUNT
    STORE.fresh = x * STORE.count
    del STORE.fresh
    return x + COUNT + STORE.count


def made_here(m, x):
    node = Node(x, Node(x * 2))
    m.best = node.parent
    pair = Slotted(node, right=m)
    m.last = Frozen(pair.left.value, size=3)
    m.config = Config(x).doubled()
    return m.last.data + m.config.data, pair


def deleted_items(m, x):
    m.table["a"] = x
    m.table["b"] = 2
    del m.table["a"]
    size = len(m.table)
    m.table.clear()
    m.table["c"] = size
    return x * m.table["c"], "c" in list(m.table)


WHOLE = (
    attributes, through_methods, growing_log, builtin_functions, global_names, made_here, deleted_items,
)  # fmt: skip


def world_of(fn):
    def make():
        global COUNT
        COUNT = STORE.count = 0
        m = model()
        calls = [lambda: args(m, vector()), lambda: args(model(), vector())]
        return World(fn, calls, watch=lambda: (COUNT, dict(vars(STORE)), vars(m)))

    return make


@pytest.mark.parametrize("fn", WHOLE, ids=lambda fn: fn.__name__)
def test_is_captured_without_a_break_and_not_again(fn):
    world = world_of(fn)()
    config.strict = True
    compiled = bcjit.compile(fn, backend="eager", fullgraph=True)
    want = observe(fn, world.calls, Setting(repeats=3), world_of(fn)())
    world = world_of(fn)()
    got = observe(compiled, world.calls, Setting(repeats=3), world)
    world = world_of(fn)()
    assert not compare(observe(fn, world.calls, Setting(repeats=3), world), got)
    assert want
    # The first call finds other attributes than the later ones do.
    assert len(compiled.report().parts) <= 3


def test_a_growing_list_does_not_recompile():
    history: list[object] = []

    def fn(x):
        history.append(x.sum())
        return x * 2

    compiled = TRANSFORMS["eager"](fn)
    for _ in range(20):
        compiled(vector())
    assert history == [6.0] * 20
    assert len(compiled.report().parts) == 1


# ---------------------------------------------------------------------- a failure at each place
STATEMENTS = (
    "m.step = k",
    "m.history.append(m.step)",
    "a = x * m.step",
    "m.last = a",
    "m.table['a'] = [a, m.last]",
    "x[0] = 7.0",
    "m.history.append(x.sum())",
    "m.table['a'].append(m)",
    "m.step += 1",
    "del m.best",
    "node = Node(x + k)",
    "node.parent = m",
    "x[1:] += k",
    "m.best = node",
    "COUNT = m.step",
    "node.children.append(x * 2)",
)
LAST = ("return a, node, m.last is a, m.step",)
STRIKES = {
    "raises": "x[99]",
    "raises in a callee": "Model.limit.nothing(m)",
    "mismatch": "x + np.ones(7)",
    "warns": "x / (k - 3)",
    "prints": "print(m.step, len(m.history), COUNT)",
    "unknown": "sorted(m.history, key=str)",
}


def program(lines):
    body = "".join(f"    {line}\n" for line in lines)
    return f"def f(m, x, k):\n    global COUNT\n{body}"


def world_of_source(source):
    def make():
        f = function_from(source, "effects")
        f.__globals__.update(Node=Node, Model=Model, COUNT=0)
        calls = [
            lambda: args(model(), vector(), 3),
            lambda: args(model(), np.array([1e308, 1e308, 2.0]), 2),
        ]
        return World(f, calls, watch=lambda: f.__globals__["COUNT"])

    return make


@pytest.mark.parametrize("kind", STRIKES)
def test_a_strike_between_any_two_effects_looks_like_plain(kind):
    settings = [Setting(in_except=True, repeats=1), Setting("error", repeats=1)]
    problems = []
    for at in range(len(STATEMENTS) + 1):
        lines = [*STATEMENTS[:at], f"late = {STRIKES[kind]}", *STATEMENTS[at:], *LAST]
        source = program(lines)
        try:
            assert_same(
                world_of_source(source),
                TRANSFORMS["eager"],
                settings if FULL else settings[at % 2 :][:1],
            )
        except AssertionError as error:
            problems.append(f"{error}\n{source}")
    assert not problems, f"{len(problems)} differ, the first:\n{problems[0]}"


@pytest.mark.parametrize("inlined", [False, True])
def test_a_graph_that_fails_at_each_node_looks_like_plain(inlined):
    source = program([*STATEMENTS, *LAST])
    if inlined:
        source += "\ndef g(m, x, k):\n    m.step = 0\n    x[2] = k\n    m.history.append('g')\n    r = f(m, x, k)\n    return r, f(m, x, k + 1)\n"

    def make():
        world = world_of_source(source)()
        if inlined:
            world.fn = world.fn.__globals__["g"]
        return world

    for node in range(24):
        world = make()
        plain = observe(world.fn, world.calls, PLAIN, world)
        world = make()
        got = observe(compile_failing(world.fn, node), world.calls, PLAIN, world)
        assert not compare(plain, got), node


# ---------------------------------------------------------------------- aliases
def test_what_is_one_object_in_one_call_may_be_two_in_the_next():
    def fn(a, b, c, d, x):
        a.step = 1
        b.step = 2
        first = a.step
        c.append(first)
        d.append(x)
        a.table["k"] = x
        b.table["k"] = first
        c.pop()
        return first, a.step, len(c), len(d), a.table["k"] is x, a.table is b.table

    def make():
        m, n, c, d = model(), model(), [0], [0]
        n.table = m.table

        def call(*given):
            return lambda: args(*given, vector())

        orders = [(m, m, c, c), (m, n, c, d), (n, m, d, c), (m, m, c, d), (m, n, c, c)]
        return World(fn, [call(*order) for order in (*orders, *reversed(orders))])

    assert_same(make, TRANSFORMS["eager"])


GLOBALS = """
def f(namespace, x):
    global count
    count = 5
    namespace["count"] = x.sum()
    y = x + count
    namespace["late"] = y
    return y, late if "late" in space() else None

def space():
    return list(globals())
"""


def test_globals_under_two_names():
    def make():
        f = function_from(GLOBALS, "space")
        namespace = f.__globals__
        namespace.update(count=0)
        found = {k: v for k, v in namespace.items() if not k.startswith("__")}

        def call(own):
            namespace.pop("late", None)
            return args(namespace if own else dict(found), vector())

        calls = [lambda own=own: call(own) for own in (True, False, True)]
        return World(f, calls, watch=lambda: (namespace["count"], "late" in namespace))

    assert_same(make, TRANSFORMS["eager"])


def test_the_dict_of_an_object_is_the_object():
    def fn(m, names, x):
        names["step"] = 3
        y = x * m.step
        m.best = y
        return y, names.get("best")

    def make():
        def own():
            m = model()
            return args(m, vars(m), vector())

        other = lambda: args(model(), {}, vector())  # noqa: E731
        return World(fn, [other, own, other])

    assert_same(make, TRANSFORMS["eager"])


def test_the_dict_of_a_module_is_the_module():
    def fn(names, x):
        names["count"] = 3
        y = x * STORE.count
        STORE.count = 4
        return y + names["count"]

    def make():
        STORE.count = 1
        other = lambda: args({"count": 0}, vector())  # noqa: E731
        return World(
            fn, [other, lambda: args(vars(STORE), vector()), other], watch=lambda: STORE.count
        )

    assert_same(make, TRANSFORMS["eager"])


# ---------------------------------------------------------------------- classes that change
def plain_class():
    class Thing:
        kind = 1

        def __init__(self, data):
            self.data = data

    return Thing


def refuse(self, *given):
    LOG.append(given)


def twenty(self, name):
    return 20 if name == "kind" else object.__getattribute__(self, name)


class DataDescriptor:
    def __get__(self, obj, owner=None):
        return 40

    def __set__(self, obj, value):
        LOG.append("set")


CHANGES = {
    "setattr": lambda cls: setattr(cls, "__setattr__", refuse),
    "property": lambda cls: setattr(cls, "kind", property(lambda self: 30, refuse)),
    "descriptor": lambda cls: setattr(cls, "kind", DataDescriptor()),
    "new descriptor": lambda cls: setattr(cls, "data", DataDescriptor()),
    "getattribute": lambda cls: setattr(cls, "__getattribute__", twenty),
    "init": lambda cls: setattr(cls, "__init__", lambda self, data: None),
    "new": lambda cls: setattr(cls, "__new__", lambda cls, data: 17),
    "getattr": lambda cls: setattr(cls, "__getattr__", lambda self, name: 18),
    "finaliser": lambda cls: setattr(cls, "__del__", lambda self: self.data),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_class_may_change_between_calls(change):
    def make():
        cls = plain_class()

        def fn(thing, x):
            thing.data = x + 1
            thing.kind = 2
            made = cls(x)
            return thing.data, thing.kind, getattr(made, "data", None)

        things = [cls(0), cls(1), cls(2)]
        LOG.clear()

        def between(number):
            if number == 2:
                CHANGES[change](cls)

        calls = [lambda thing=thing: args(thing, vector()) for thing in things]
        return World(fn, calls, watch=lambda: list(LOG), between=between)

    assert_same(make, TRANSFORMS["eager"])


def test_slots_may_change_between_calls():
    def make():
        class Thing:
            __slots__ = ("data", "other")

        class Another:
            __slots__ = ("data",)

        def fn(thing, x):
            thing.data = x * 2
            y = thing.data
            del thing.data
            thing.data = y
            return y

        def between(number):
            if number == 1:
                Thing.data = Thing.other
            if number == 2:
                Thing.data = Another.data

        def call():
            return args(vector())

        return World(lambda x: fn(Thing(), x), [call] * 3, between=between)

    assert_same(make, TRANSFORMS["eager"])


def test_what_cannot_be_stored_raises_as_in_plain_python():
    def fn(thing, name, x):
        y = x * 2
        LOG.append(name)
        if name == "missing":
            thing.missing = y
        elif name == "frozen":
            Frozen(y).data = y
        elif name == "gone":
            del thing.nothing
        elif name == "class":
            thing.__class__ = int
        elif name == "read only":
            thing.alone = y
        elif name == "key":
            del LOG[7]
        return y

    class Tight:
        __slots__ = ()

        @property
        def alone(self):
            return 1

    def make():
        LOG.clear()
        names = ("missing", "frozen", "gone", "class", "read only", "key", "none")
        calls = [lambda name=name: args(Tight(), name, vector()) for name in names]
        return World(fn, calls, watch=lambda: list(LOG))

    assert_same(make, TRANSFORMS["eager"])


# ---------------------------------------------------------------------- lifetimes
class Dying:
    """Says when it dies."""

    def __init__(self, name):
        self.name = name

    def __del__(self):
        LOG.append(f"{self.name} died")


def test_a_replaced_object_with_a_finaliser_dies_at_its_line():
    def fn(m, table, items, x):
        m.best = x * 2
        seen = len(LOG)
        LOG.append("attribute")
        table["k"] = x
        LOG.append(len(LOG))
        items[0] = 1
        items.pop()
        items.clear()
        LOG.append("end")
        return seen, len(LOG)

    def make():
        def call():
            LOG.clear()
            m = model()
            m.best = Dying("attribute")
            return args(m, {"k": [Dying("nested")]}, [Dying("a"), Dying("b"), Dying("c")], vector())

        return World(fn, [call], watch=lambda: list(LOG))

    assert_same(make, TRANSFORMS["eager"])


def test_an_object_with_a_finaliser_dies_before_the_next_effect():
    def fn(x):
        dying = Dying("local")
        y = x * 2
        LOG.append("first")
        dying = None
        LOG.append("second")
        seen = len(LOG)
        LOG.append("third")
        return y, seen, dying

    def make():
        def call():
            LOG.clear()
            return args(vector())

        return World(fn, [call], watch=lambda: list(LOG))

    assert_same(make, TRANSFORMS["eager"])
    assert LOG == ["first", "local died", "second", "third"]


def test_instances_made_here_die_and_are_weakly_referable():
    def fn(x):
        node = Node(x)
        other = Node(x, node)
        ref = weakref.ref(node)
        return ref() is node, other.parent is node, ref

    compiled = TRANSFORMS["eager"](fn)
    for _ in range(3):
        alive, linked, ref = compiled(vector())
        assert alive
        assert linked
        gc.collect()
        assert ref() is None


def test_nothing_of_the_arguments_is_kept():
    def fn(m, items, x):
        m.best = x * 2
        items.append(Node(x, parent=m.best is not None and None))
        return m

    compiled = TRANSFORMS["eager"](fn)
    m, items, x = model(), [], vector()
    compiled(m, items, x)
    refs = [weakref.ref(one) for one in (m, items[0], m.best, x)]
    del m, items, x
    gc.collect()
    assert [ref() for ref in refs] == [None] * 4


# ---------------------------------------------------------------------- identity and order
def test_names_keep_their_order_and_objects_their_identity():
    @dataclasses.dataclass
    class Late:
        first: object
        second: object = None

    def fn(x, table):
        late = Late(second=x, first=[x])
        late.third = late
        del late.second
        late.second = late.first
        table["z"] = late
        table["a"] = late.first
        table.pop("z")
        table["z"] = late
        return list(vars(late)) if False else late, late.first is late.second, table

    def make():
        return World(fn, [lambda: args(vector(), {"z": 0, "y": 1})])

    assert_same(make, TRANSFORMS["eager"])
    made, same, table = TRANSFORMS["eager"](fn)(vector(), {})
    assert list(vars(made)) == ["first", "third", "second"]
    assert same
    assert list(table) == ["a", "z"]
    assert made.third is made


class Finalised:
    def __init__(self, counts):
        self.counts = counts

    def __del__(self):
        self.counts["v"] += 1


@pytest.mark.parametrize("what", ["dict", "list", "attribute", "missing key", "missing attribute"])
def test_what_is_replaced_may_have_a_finaliser_the_second_time(what):
    class Holder:
        pass

    def fn(x, d, items, holder, counts):
        if what in ("dict", "missing key"):
            d["a"] = x
        elif what == "list":
            items[0] = x
        else:
            holder.a = x
        y = x * 2
        return counts["v"], y

    def arguments(*old):
        d, items, holder = {}, [None], Holder()
        for value in old:
            if "key" in what or what == "dict":
                d["a"] = value
            elif what == "list":
                items[0] = value
            else:
                holder.a = value
        return d, items, holder

    compiled = TRANSFORMS["eager"](fn)
    for run in (fn, compiled):
        x, counts = np.ones(2), {"v": 0}
        first = () if what.startswith("missing") else (1,)
        assert run(x, *arguments(*first), counts)[0] == 0
        assert run(x, *arguments(Finalised(counts)), counts)[0] == 1
