"""What changes between calls: types, sizes, flags, containers, functions, aliasing."""

from __future__ import annotations

import types

import numpy as np

from corpus.registry import args, entry, floats, ints, world

TABLE = {"scale": 2.0, "nested": {"on": True}}
ITEMS = [1.0, 2.0]


def current(x):
    """Be replaced between calls."""
    return x + 1


def other(x):
    """Replace `current`."""
    return x * 100


@entry("guards globals function")
def global_function_is_replaced():
    def fn(x):
        return current(x) * 2

    def between(number):
        global current
        current = (other, np.negative, lambda v: v - 7, other)[number % 4]

    return world(fn, *[lambda: args(floats(2))] * 4, between=between)


@entry("guards globals code")
def code_of_a_function_is_replaced():
    def inner(x, k=1):
        return x + k

    def fn(x):
        return inner(x)

    def between(number):
        if number == 1:
            inner.__defaults__ = (5,)
        if number == 2:
            inner.__code__ = (lambda x, k=0: x * k).__code__
        if number == 3:
            inner.__defaults__ = None

    return world(fn, *[lambda: args(floats(2))] * 4, between=between)


@entry("guards dict")
def global_dict_changes():
    def fn(x):
        y = x * TABLE["scale"]
        if TABLE["nested"]["on"]:
            y = y + len(TABLE)
        if "extra" in TABLE:
            y = y - TABLE["extra"]
        return y

    def between(number):
        TABLE.pop("extra", None)
        TABLE["scale"] = 2.0 + number
        TABLE["nested"]["on"] = number % 2 == 0
        if number == 2:
            TABLE["extra"] = floats(2)

    return world(fn, *[lambda: args(floats(2))] * 4, between=between)


@entry("guards list")
def global_list_grows():
    def fn(x):
        return x * ITEMS[0] + len(ITEMS), ITEMS[-1], ITEMS

    def between(number):
        if number == 0:
            ITEMS[:] = [1.0, 2.0]
        if number >= 1:
            ITEMS.append(number)
            ITEMS[0] = number * 0.5

    return world(fn, *[lambda: args(floats(2))] * 4, between=between)


@entry("guards builtins")
def builtin_is_shadowed():
    namespace = {"np": np, "__builtins__": __builtins__}
    source = "def fn(x):\n    y = x + 1\n    return len(y), abs(y), max(1, 2)\n"
    exec(compile(source, __file__, "exec"), namespace)
    fn = namespace["fn"]

    def between(number):
        if number == 1:
            fn.__globals__["len"] = lambda v: "shadowed"
        if number == 2:
            fn.__globals__["abs"] = np.square
        if number == 3:
            del fn.__globals__["len"]

    return world(fn, *[lambda: args(floats(3))] * 4, between=between)


@entry("guards module")
def module_attribute_is_replaced():
    module = types.ModuleType("settings")
    module.scale = 2.0
    module.fn = np.exp

    def fn(x):
        return module.fn(x) * module.scale

    def between(number):
        if number == 1:
            module.scale = np.float32(3)
        if number == 2:
            module.fn = np.sin
        if number == 3:
            del module.scale

    return world(fn, *[lambda: args(floats(2))] * 4, between=between)


@entry("guards closure")
def cell_changes_between_calls():
    scale = 2.0
    offset = np.ones(2)

    def change(number):
        nonlocal scale, offset
        scale = (2.0, 3, np.float32(1.5), "text")[number % 4]
        offset = np.full(2, number)

    def fn(x):
        return x * scale + offset

    return world(fn, *[lambda: args(floats(2))] * 4, between=change)


@entry("guards numbers")
def many_different_numbers():
    def fn(x, k, r):
        return x * k + r, k + 1, r * 2

    kinds = (0, 1, 2, -7, 10**12, 2.5, 0.0, -0.0, float("inf"), True, 2**65, 1j, np.int8(3))
    return world(fn, *[lambda k=k: args(floats(2), k, 0.5 * abs(k)) for k in kinds])


@entry("guards shapes")
def many_different_shapes():
    def fn(x, y):
        z = x + y
        return z.sum(axis=0), z * x.shape[0], z[0]

    shapes = [(3,), (1,), (4, 1), (4, 3), (1, 3), (2, 3, 4), (5,), (0,), (7, 0)]
    return world(fn, *[lambda s=s: args(floats(*s), floats(*s, seed=1)) for s in shapes])


@entry("guards broadcasting")
def sizes_that_broadcast_or_not():
    def fn(x, y):
        return x * y + 1

    pairs = [(3, 3), (3, 1), (1, 3), (1, 1), (3, 2), (0, 1), (5, 5)]
    return world(fn, *[lambda a=a, b=b: args(floats(a), floats(b)) for a, b in pairs])


@entry("guards containers")
def containers_of_other_types():
    def fn(data):
        x, k = data[0], data[1]
        return x * k, len(data)

    return world(
        fn,
        lambda: args([floats(2), 2]),
        lambda: args((floats(2), 2.5)),
        lambda: args([ints(2), floats(2), 3]),
        lambda: args({0: floats(2), 1: "ab"}),
        lambda: args(floats(2, 2)),
        lambda: args("ab"),
    )


@entry("guards none")
def optional_arguments():
    def fn(x, weights=None, out=None, axis=None):
        if weights is None:
            weights = np.ones(x.shape)
        result = (x * weights).sum(axis=axis)
        if out is not None:
            out[...] = result
            return out
        return result

    return world(
        fn,
        lambda: args(floats(3)),
        lambda: args(floats(3), floats(3)),
        lambda: args(floats(2, 3), None, np.zeros(3), 0),
        lambda: args(floats(2, 3), axis=-1),
        lambda: args(floats(2, 3), axis=(0, 1)),
    )


@entry("guards alias")
def same_object_in_two_places():
    def fn(x, items, table):
        x += 1
        items[0] *= 2
        table["x"] -= 3
        return x, items[0], table["x"]

    def all_one():
        x = floats(3)
        return args(x, [x], {"x": x})

    def two_one():
        x, y = floats(3), floats(3, seed=1)
        return args(x, [y], {"x": y})

    def views():
        x = floats(5)
        return args(x[1:4], [x[:3]], {"x": x[::-1][:3]})

    return world(
        fn, lambda: args(floats(3), [floats(3)], {"x": floats(3)}), all_one, two_one, views
    )


@entry("guards keys")
def keyword_dicts_of_other_orders():
    def fn(x, **options):
        out = x
        if "scale" in options:
            out = out * options["scale"]
        return out, list(options), options.get("shift", 0)

    return world(
        fn,
        lambda: args(floats(2), scale=2, shift=1),
        lambda: args(floats(2), shift=1, scale=2.5),
        lambda: args(floats(2)),
        lambda: args(floats(2), other=1),
    )


class Holder:
    """Has attributes or not."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


@entry("guards raises printing")
def unused_reads_that_fail_later():
    def fn(x, table, holder):
        a = table["k"]
        b = holder.attribute
        y = x * 2
        print("read")
        return a, b, y

    full = {"k": [1]}
    return world(
        fn,
        lambda: args(floats(2), full, Holder(attribute=2)),
        lambda: args(floats(2), {}, Holder(attribute=2)),
        lambda: args(floats(2), full, Holder()),
        lambda: args(floats(2), (1,), Holder(attribute=2)),
        lambda: args(floats(2), full, Holder(attribute="other")),
    )


@entry("guards raises printing globals")
def global_read_but_not_used_vanishes():
    def fn(x):
        v = TABLE_FOR_A_WHILE  # noqa: F821
        y = x + 1
        print("read")
        return v, y

    def between(number):
        globals().pop("TABLE_FOR_A_WHILE", None)
        if number % 3 != 1:
            globals()["TABLE_FOR_A_WHILE"] = number

    return world(fn, *[lambda: args(floats(2))] * 3, between=between)
