"""Changes of objects from outside the frame: attributes, items, containers, globals; in order, and read again."""

from __future__ import annotations

import collections
import dataclasses
import weakref

import numpy as np

from corpus.registry import args, entry, floats, ints, world

COUNT = 0
TABLE: dict[str, object] = {}
SEEN: list[object] = []


class Model:
    """Keeps a state, writes it in its methods."""

    limit = 10

    def __init__(self, weights):
        self.weights = weights
        self.step = 0
        self.history = []
        self.best = None
        self.table = {}

    def forward(self, x):
        self.last = x * self.weights
        self.step += 1
        return self.last.sum()

    def update(self, gradient, rate=0.5):
        self.weights = self.weights - rate * gradient
        self.history.append(self.step)
        self.table[self.step] = self.weights
        return self

    @property
    def scale(self):
        return self._scale

    @scale.setter
    def scale(self, value):
        self._scale = value * 2
        self.history.append("scaled")


class Slotted:
    """Has slots and no dict."""

    __slots__ = ("__weakref__", "left", "right")

    def __init__(self, left, right=None):
        self.left = left
        self.right = right


class Node:
    """Part of a tree."""

    def __init__(self, value, parent=None):
        self.value = value
        self.parent = parent
        self.children = []
        if parent is not None:
            parent.children.append(self)

    def total(self):
        return self.value.sum() + len(self.children)


@dataclasses.dataclass
class Config:
    """A dataclass with defaults."""

    data: np.ndarray
    rate: float = 0.1
    tags: list = dataclasses.field(default_factory=list)

    def doubled(self):
        return Config(self.data * 2, rate=self.rate * 2)


@dataclasses.dataclass(frozen=True)
class Frozen:
    """A dataclass that cannot be changed."""

    data: np.ndarray
    size: int = 0


class Checked:
    """Checks what is stored."""

    def __init__(self, data):
        self.data = data

    def __setattr__(self, name, value):
        SEEN.append(name)
        object.__setattr__(self, name, value)


def reset(number):
    global COUNT
    COUNT = 0
    TABLE.clear()
    SEEN.clear()


def watched():
    return COUNT, dict(TABLE), list(SEEN), sorted(n for n in globals() if n.startswith("made_"))


def model():
    return Model(floats(3))


@entry("effects attributes")
def writes_attributes_of_an_argument():
    def fn(m, x):
        m.weights = m.weights * x
        m.step += 1
        m.best = m.weights.max()
        m.fresh = (m.step, m.best)
        del m.history
        m.history = [m.fresh]
        return m.weights + m.step, m.fresh is m.history[0]

    return world(
        fn,
        lambda: args(model(), floats(3)),
        lambda: args(model(), 2),
        lambda: args(Model(ints(2, 2)), ints(2)),
    )


@entry("effects attributes inline")
def methods_write_self():
    def fn(m, x):
        first = m.forward(x)
        second = m.update(x).forward(x + 1)
        m.update(gradient=m.last, rate=0.25)
        return first, second, m.step, m.last

    return world(fn, lambda: args(model(), floats(3)), lambda: args(model(), ints(3)))


@entry("effects attributes property")
def a_property_with_a_setter():
    def fn(m, x):
        m.scale = x.shape[0]
        y = x * m.scale
        m.scale = y
        return y, m.scale

    return world(fn, lambda: args(model(), floats(3)), lambda: args(model(), floats(2, 2)))


@entry("effects alias")
def two_arguments_that_may_be_one_object():
    def fn(a, b, x):
        before = b.step
        a.step = x.shape[0]
        after = b.step
        a.weights = x * after
        b.history.append(before)
        a.history.append(after)
        return b.weights + before, len(b.history), a is b

    def one():
        m = model()
        return args(m, m, floats(3))

    def two():
        return args(model(), model(), floats(3))

    return world(fn, one, two, one, two)


@entry("effects alias containers")
def lists_and_dicts_that_may_be_one_object():
    def fn(a, b, c, d, x):
        a.append(x + 1)
        size = len(b)
        b.append(size)
        c["k"] = x * 2
        seen = d.get("k")
        d["n"] = len(a)
        return size, seen is c["k"], sorted(c), a[-1], b[0]

    def same():
        a, c = [1], {"n": 0}
        return args(a, a, c, c, floats(2))

    def apart():
        return args([1], [2, 3], {}, {"k": 1}, floats(2))

    return world(fn, same, apart, same, apart)


@entry("effects lists")
def changes_a_list_from_outside():
    def fn(items, x):
        items.append(x * 2)
        items.extend([1, x.shape[0]])
        items.insert(1, "second")
        last = items.pop()
        items[0] = x + last
        items[1:3] = [7]
        items += (8, 9)
        del items[-1]
        items.reverse()
        return items, items[0], len(items), [*items, 0], items.pop(0)

    return world(
        fn,
        lambda: args([1, 2], floats(3)),
        lambda: args([None, "b"], ints(2)),
        lambda: args([1, 2], floats(4)),
    )


@entry("effects dicts")
def changes_a_dict_from_outside():
    def fn(table, x):
        table["a"] = x * 2
        table["n"] = table.get("n", 0) + 1
        table.update(b=table["a"], c=3)
        popped = table.pop("c")
        kept = table.setdefault("d", []), table.setdefault("a", None)
        table["d"].append(popped)
        del table["b"]
        table["b"] = 1
        return table["a"] + 1, kept, list(table), {**table}

    return world(
        fn,
        lambda: args({}, floats(2)),
        lambda: args({"b": 1, "n": 4}, ints(3)),
        lambda: args({"d": [1], "a": 2}, floats(2)),
    )


@entry("effects globals")
def writes_and_deletes_globals():
    def fn(x, name):
        global COUNT, made_here, made_there
        COUNT += 1
        made_here = x * COUNT
        TABLE[name] = made_here
        y = made_here + COUNT
        made_there = y
        del made_there
        SEEN.append(len(TABLE))
        return y, COUNT

    return world(
        fn,
        lambda: args(floats(2), "a"),
        lambda: args(ints(3), "b"),
        watch=watched,
        between=reset,
    )


@entry("effects globals raises")
def deletes_a_global_and_reads_it():
    def fn(x):
        global made_for_now
        made_for_now = x + 1
        y = made_for_now * 2
        del made_for_now
        SEEN.append("deleted")
        return y + made_for_now  # noqa: F821

    return world(fn, lambda: args(floats(2)), watch=watched, between=reset)


@entry("effects raises")
def raises_between_effects():
    def fn(m, x, k):
        m.step = 1
        y = x + 1
        m.history.append("before")
        z = y / np.ones(k)
        m.history.append("between")
        m.step = z[3]
        m.history.append("after")
        return z

    return world(
        fn,
        lambda: args(model(), floats(4), 4),
        lambda: args(model(), floats(4), 3),
        lambda: args(model(), floats(2), 2),
        lambda: args(model(), floats(5), 5),
    )


@entry("effects raises callee")
def raises_in_a_callee_that_writes():
    def fail(m, x):
        m.step = 5
        m.history.append("in")
        if x.shape[0] > 2:
            raise ValueError("refused", m.step)
        return x

    def fn(m, x):
        m.step = 1
        y = fail(m, x * 2)
        m.history.append("out")
        return y

    return world(fn, lambda: args(model(), floats(2)), lambda: args(model(), floats(3)))


@entry("effects writes")
def arrays_written_between_other_effects():
    def fn(m, x, k):
        m.step = 1
        x[0] = 5.0
        m.history.append(x[0])
        x[1:] += k
        m.best = x.sum()
        y = np.sqrt(x)
        m.step = 2
        x[-1] = y[0]
        m.last = y
        return y, m.best

    return world(
        fn,
        lambda: args(model(), floats(3), 1.0),
        lambda: args(model(), np.abs(floats(4)), 2.0),
        lambda: args(model(), np.array([1e308, 1e308, 1.0]), 1e308),
    )


@entry("effects writes inline")
def a_callee_that_writes_arrays_and_attributes():
    def work(m, x, k):
        m.step += k
        x[k] = m.step
        m.history.append(k)
        x += k
        return x * m.step

    def fn(m, x):
        a = work(m, x, 1)
        m.history.append("middle")
        b = work(m, x, 2)
        return a / b

    return world(
        fn,
        lambda: args(model(), floats(3)),
        lambda: args(model(), floats(3)),
        lambda: args(model(), np.array([1.0, -4.0, 1.0])),
    )


@entry("effects instances")
def instances_made_in_the_frame():
    def fn(x):
        root = Node(x)
        child = Node(x * 2, root)
        leaf = Node(child.value + 1, parent=child)
        leaf.mark = leaf.parent.parent is root
        config = Config(x, tags=["a"])
        double = config.doubled()
        double.tags.append(root)
        return root.total(), leaf, double, config, type(leaf) is Node, isinstance(root, Node)

    return world(fn, lambda: args(floats(2)), lambda: args(ints(3)))


@entry("effects instances frozen")
def frozen_and_slotted_instances():
    def fn(x, box):
        frozen = Frozen(x * 2, x.shape[0])
        pair = Slotted(frozen, x)
        pair.right = pair.left.data + frozen.size
        del pair.left
        box.left = pair
        box.right = [box, pair]
        pair.left = box
        return frozen, box.left.right

    return world(
        fn,
        lambda: args(floats(2), Slotted(1)),
        lambda: args(ints(3), Slotted(None, 2)),
    )


@entry("effects instances raises")
def storing_into_a_frozen_instance_raises():
    def fn(x):
        frozen = Frozen(x * 2)
        SEEN.append(frozen)
        frozen.size = 3
        return frozen

    return world(fn, lambda: args(floats(2)), watch=lambda: list(SEEN), between=reset)


@entry("effects setattr")
def a_class_that_checks_its_stores():
    def fn(checked, x):
        y = x + 1
        checked.data = y
        checked.more = checked.data * 2
        made = Checked(y)
        setattr(made, "late", y)  # noqa: B010
        return checked.more, made

    return world(fn, lambda: args(Checked(1), floats(2)), watch=lambda: list(SEEN), between=reset)


@entry("effects breaks")
def effects_around_breaks():
    def fn(m, x):
        m.step = 1
        m.history.append(x + 1)
        print("step", m.step, len(m.history))
        m.step += 1
        y = x * m.step
        if y.sum() > 0:
            m.best = "high"
        else:
            m.best = "low"
        m.history.append(m.best)
        return y, [m, m.best]

    return world(fn, lambda: args(model(), np.ones(2)), lambda: args(model(), -np.ones(2)))


@entry("effects weakref")
def what_is_replaced_dies():
    def fn(m, x):
        m.best = x * 2
        ref = weakref.ref(m.best)
        alive = ref() is not None
        m.best = x * 3
        return alive, ref() is None, m.best

    return world(fn, lambda: args(model(), floats(2)))


@entry("effects other containers")
def deques_and_dicts_of_other_types():
    def fn(queue, table, x):
        queue.append(x * 2)
        first = queue.popleft()
        table["a"].append(first)
        table["n"] = x.shape[0]
        return len(queue), table

    return world(
        fn,
        lambda: args(collections.deque([1]), collections.defaultdict(list), floats(2)),
        lambda: args(collections.deque([0, 1], 2), collections.OrderedDict(a=[]), floats(2)),
    )


@entry("effects namespace")
def an_object_and_its_dict():
    def fn(m, names, x):
        names["step"] = x.shape[0]
        y = x * m.step
        m.best = y
        return y, names.get("best") is y

    def own():
        m = model()
        return args(m, m.__dict__, floats(2))

    return world(
        fn, lambda: args(model(), {}, floats(2)), own, lambda: args(model(), {}, floats(2))
    )


@entry("effects sets")
def sets_made_and_changed():
    def fn(x, seen, k):
        words = {"delta", "alpha", "beta", k}
        words.add("gamma")
        words.discard("alpha")
        words.update(
            ["zeta", "eta"],
        )
        numbers = set()
        for n in range(3):
            numbers.add(n * 1000 + x.shape[0])
        seen.add(x.shape[0])
        seen.add((k, 1.5))
        seen.discard("gone")
        seen.update([k, "new"])
        y = x * len(words)
        inside = k in words, "alpha" in words, 7 not in numbers, k in {"a", "b", "c"}
        copy = {*words}
        numbers.remove(1000 + x.shape[0])
        return y, words, list(words), numbers, inside, copy, {1, 2, 3}, [*{4, 5, 6}], seen

    return world(
        fn,
        lambda: args(floats(2), {1, "x"}, "b"),
        lambda: args(ints(3), set(), "beta"),
        lambda: args(floats(2), {2.5, None}, 17),
    )


@entry("effects sets raises")
def sets_that_raise():
    def fn(x, seen, k):
        words = {"a"}
        seen.add("before")
        if k == 0:
            words.remove("b")
        elif k == 1:
            seen.remove("gone")
        elif k == 2:
            seen.add([x])
        elif k == 3:
            words = {x}
        return words, x + 1

    return world(fn, *[lambda k=k: args(floats(2), {1}, k) for k in range(5)])


@entry("effects deques")
def deques_made_and_changed():
    def fn(x, queue, short):
        made = collections.deque([x, 1])
        made.append(x * 2)
        made.appendleft("first")
        made.extend((3, 4))
        made.extendleft([5, 6])
        last, first = made.pop(), made.popleft()
        queue.append(made)
        queue.appendleft(x + 1)
        queue.extend([last, first])
        short.append(x.sum())
        short.extendleft((1, 2))
        return made, made[0], made[-1] * x, len(made), [*made]

    return world(
        fn,
        lambda: args(floats(2), collections.deque(), collections.deque([1, 2], 3)),
        lambda: args(ints(3), collections.deque([0]), collections.deque(maxlen=1)),
    )


@entry("effects views")
def views_of_dicts():
    def fn(x, table):
        made = {"a": x, "b": x * 2}
        keys, items = made.keys(), made.items()
        total = x * 0
        for name, value in made.items():
            total = total + value * len(name)
        for value in made.values():
            total = total - value
        made["c"] = total
        here = "c" in keys, "z" in made, len(items), "a" in table
        for name, value in table.items():
            table[name] = (value, name)
        return total, keys, made.values(), items, here, list(table.values()), [*table.keys()]

    return world(
        fn,
        lambda: args(floats(2), {"a": 1, "b": 2}),
        lambda: args(ints(3), {}),
        lambda: args(ints(2), {"z": 0}),
    )


@entry("effects views")
def iterators_of_what_was_changed():
    def fn(x, items, table):
        items.append(x)
        out = []
        for item in items:
            out.append(item * 2)
            if len(out) == 1:
                print("one")
        table["new"] = x
        for name in table:
            print(name)
            table[name] = 0
        for name, value in table.items():
            out.append((name, value))
        items.pop(0)
        backwards = []
        for item in reversed(items):
            backwards.append(item * 3)
        return out, backwards

    return world(
        fn,
        lambda: args(floats(2), [1, 2], {"a": 1}),
        lambda: args(ints(3), [floats(2)], {}),
    )


@entry("effects cells")
def variables_of_other_functions():
    count, last = 0, None

    def bump(by):
        nonlocal count
        count += by
        return count

    def keep(value):
        nonlocal last
        last = value

    def forget():
        nonlocal last
        del last

    def fn(x, k):
        first = bump(1)
        second = bump(k)
        y = x * first + second
        x[0] = second
        keep(y)
        z = y / x
        if k == 3:
            forget()
            keep(first)
        return z, count, last

    return world(
        fn,
        lambda: args(floats(2), 2),
        lambda: args(ints(3), 3),
        lambda: args(np.array([0.0, 0.0]), -3),
        watch=lambda: (count, last),
    )


def counter():
    n = 0

    def up():
        nonlocal n
        n += 1
        return n

    def down():
        nonlocal n
        n -= 1
        return n

    return up, down


@entry("effects cells alias")
def one_variable_under_two_names():
    def fn(first, second, x):
        a = first()
        b = second()
        c = first()
        return x * a + b, c, second()

    def one():
        up, down = counter()
        return args(up, down, floats(2))

    def two():
        return args(counter()[0], counter()[1], floats(2))

    def three():
        up, _ = counter()
        return args(up, up, floats(2))

    return world(fn, one, two, three, one)
