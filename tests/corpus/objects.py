"""Users' classes: operators, attributes of every kind, finalisers, containers of other types."""

from __future__ import annotations

import collections
import dataclasses
import enum
import weakref
from fractions import Fraction

import numpy as np

from corpus.registry import args, entry, floats, ints, world

LOG: list[object] = []


class Vector:
    """Overloads operators and says so."""

    def __init__(self, data):
        self.data = data

    def __add__(self, other):
        print("add", type(other).__name__)
        return Vector(self.data + getattr(other, "data", other))

    __radd__ = __add__

    def __eq__(self, other):
        return isinstance(other, Vector) and bool((self.data == other.data).all())

    __hash__ = None

    def __bool__(self):
        print("bool")
        return bool(self.data.sum() > 0)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index]

    def __setitem__(self, index, value):
        print("set", index)
        self.data[index] = value

    def __contains__(self, value):
        return value in self.data

    def __call__(self, x):
        return self.data * x


class Lazy:
    """Makes attributes on demand."""

    def __getattr__(self, name):
        LOG.append(name)
        if name.startswith("no"):
            raise AttributeError(name)
        return len(name)

    def __setattr__(self, name, value):
        LOG.append((name, "set"))
        object.__setattr__(self, name, value)


class Finalised:
    """Says when it dies."""

    def __init__(self, name):
        self.name = name

    def __del__(self):
        LOG.append(f"{self.name} died")


class Descriptor:
    """A data descriptor."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        return self if obj is None else getattr(obj, self.name) * 2

    def __set__(self, obj, value):
        setattr(obj, self.name, value + 1)


class Described:
    """Has a descriptor, slots and class attributes."""

    value = Descriptor()
    table: list[int] = []  # noqa: RUF012
    __slots__ = ("_value", "other")


class Arrayish:
    """Converts itself to an array."""

    def __array__(self, dtype=None, copy=None):
        print("converted")
        return np.array([1.0, 2.0], dtype=dtype)


Point = collections.namedtuple("Point", "x y")  # noqa: PYI024


@dataclasses.dataclass
class State:
    """A dataclass with arrays."""

    weights: np.ndarray
    step: int = 0
    history: list = dataclasses.field(default_factory=list)


class Mode(enum.IntEnum):
    """An enumeration of ints."""

    FAST = 1
    SLOW = 2


def clear_log(number):
    LOG.clear()


@entry("objects operators", capture=False)
def operators_of_a_user_class():
    def fn(v, x):
        w = v + x
        u = x + v
        v[0] = 5
        return w, u, len(v), v[1], v == w, 5 in v, v(2)

    return world(
        fn,
        lambda: args(Vector(floats(2)), 1.5),
        lambda: args(Vector(ints(3)), Vector(ints(3))),
        lambda: args(Vector(floats(2)), floats(2)),
    )


@entry("objects truth")
def truth_of_a_user_class():
    def fn(v, x):
        if v:
            return x + 1
        return not v, v and x

    return world(
        fn,
        lambda: args(Vector(np.ones(2)), floats(2)),
        lambda: args(Vector(-np.ones(2)), floats(2)),
    )


@entry("objects attributes")
def attributes_made_on_demand():
    def fn(lazy, x):
        y = x * 2
        lazy.stored = y
        z = lazy.width + y
        return z, hasattr(lazy, "nothing"), getattr(lazy, "nope", 3), lazy.stored

    return world(
        fn,
        lambda: args(Lazy(), floats(2)),
        lambda: args(Lazy(), ints(2)),
        watch=lambda: list(LOG),
        between=clear_log,
    )


@entry("objects finalisers")
def objects_die_at_their_moment():
    def fn(x):
        first = Finalised("first")
        holder = [Finalised("second")]
        y = x * 2
        first = None
        LOG.append("between")
        holder.pop()
        LOG.append("end")
        return y, first

    return world(
        fn,
        lambda: args(floats(2)),
        lambda: args(ints(2)),
        watch=lambda: list(LOG),
        between=clear_log,
    )


@entry("objects finalisers arguments")
def argument_dies_when_it_is_replaced():
    def fn(holder, x):
        holder[0] = x * 2
        LOG.append("replaced")
        holder[0] += 1
        del holder[1]
        return x + 1

    return world(
        fn,
        lambda: args([Finalised("a"), Finalised("b")], floats(2)),
        lambda: args([Finalised("c"), 1], ints(2)),
        watch=lambda: list(LOG),
        between=clear_log,
    )


@entry("objects lifetime weakref")
def temporaries_die_before_a_call():
    def fn(x):
        y = x * 2
        ref = weakref.ref(y)
        alive = ref() is not None
        y = y + 1
        return y, alive, ref() is None

    return world(fn, lambda: args(floats(2)), lambda: args(ints(3)))


@entry("objects descriptors")
def descriptors_and_slots():
    def fn(d, x):
        d.value = 3
        d.other = x * d.value
        Described.table.append(d.value)
        return d.other, d.value, Described.value is Described.__dict__["value"]

    def reset(number):
        Described.table.clear()

    return world(
        fn,
        lambda: args(Described(), floats(2)),
        lambda: args(Described(), 2),
        watch=lambda: list(Described.table),
        between=reset,
    )


@entry("objects namedtuple")
def named_tuples_and_dataclasses():
    def fn(point, state):
        x, y = point
        state.weights = state.weights * point.x + y
        state.step += 1
        state.history.append(state.weights.sum())
        return Point(x, state.weights), point._replace(x=0), dataclasses.replace(state, step=9)

    return world(
        fn,
        lambda: args(Point(2, floats(2)), State(floats(2))),
        lambda: args(Point(0.5, 1), State(ints(3))),
    )


@entry("objects enum")
def enumerations_and_int_subclasses():
    def fn(x, mode):
        if mode is Mode.FAST:
            return x * 2, mode
        if mode == Mode.SLOW:
            return x * mode, mode + 1
        return x[mode], str(mode)

    return world(
        fn,
        lambda: args(floats(3), Mode.FAST),
        lambda: args(floats(3), Mode.SLOW),
        lambda: args(floats(3), True),
        lambda: args(floats(3), 0),
    )


@entry("objects containers subclass")
def other_containers():
    def fn(d, q, x):
        d["k"] = x
        q.append(x.sum())
        missing = d["missing"] if isinstance(d, collections.defaultdict) else None
        return list(d), len(q), q[0], missing, d.get("k") is x

    class Loud(dict):
        def __getitem__(self, key):
            print("get", key)
            return super().__getitem__(key)

        def __setitem__(self, key, value):
            print("set", key)
            super().__setitem__(key, value)

    class Sparse(list):
        def append(self, value):
            super().append(value * 2)

    return world(
        fn,
        lambda: args(collections.OrderedDict(a=1), collections.deque([1], maxlen=1), floats(2)),
        lambda: args(collections.defaultdict(list), [0], ints(2)),
        lambda: args(Loud(z=2), Sparse([1]), floats(3)),
    )


@entry("objects numbers", capture=False)
def numbers_of_other_kinds():
    def fn(x, number):
        return x * number, number + 1, number == 1

    return world(
        fn,
        lambda: args(ints(2).astype(object), Fraction(1, 3)),
        lambda: args(3, Fraction(1, 2)),
        lambda: args(2.0, np.float64(1)),
    )


@entry("objects array-protocol", capture=False)
def objects_that_become_arrays():
    def fn(x, a):
        return x + a, np.add(a, x), np.asarray(a), np.sum(a)

    return world(
        fn,
        lambda: args(floats(2), Arrayish()),
        lambda: args(floats(2), [1, 2]),
        lambda: args(floats(2), memoryview(b"ab")),
    )


@entry("objects class-attributes")
def class_attribute_changes_between_calls():
    class Layer:
        gain = 2.0

        @classmethod
        def apply(cls, x):
            return x * cls.gain

    class Sub(Layer):
        pass

    def fn(layer, x):
        return layer.apply(x) + layer.gain

    def between(number):
        if number == 1:
            Layer.gain = 3
        if number == 2:
            Sub.gain = np.float32(4)
        if number == 3:
            Layer.apply = classmethod(lambda cls, x: x - cls.gain)

    return world(
        fn, *[lambda: args(Sub(), floats(2)), lambda: args(Layer(), floats(2))] * 2, between=between
    )


@entry("objects id", capture=False)  # no array work
def identity_and_hash():
    def fn(x, items):
        y = x
        seen = {id(x): "x"}
        return seen[id(y)], y is x, id(items[0]) == id(x), items.index(items[1]), hash((1, "a"))

    def shared():
        x = floats(2)
        return args(x, [x, 3])

    return world(fn, shared, lambda: args(floats(2), [1, 2]))
