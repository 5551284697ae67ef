"""Corners: builtins on arrays, keys and indices that are equal but not the same, arrays reshaped in place."""

# ruff: noqa: C417, PLC2801

from __future__ import annotations

import operator

import numpy as np

from corpus.registry import args, entry, floats, ints, world


class Noisy:
    """A dict key that says when it is hashed or compared."""

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        print("hash", self.value)
        return hash(self.value)

    def __eq__(self, other):
        print("eq", self.value)
        return self.value == getattr(other, "value", other)


class Duck:
    """Takes part in NumPy functions by the protocols."""

    def __init__(self, data):
        self.data = data

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        print("ufunc", ufunc.__name__, method)
        return Duck(ufunc(*[getattr(i, "data", i) for i in inputs], **kwargs))

    def __array_function__(self, func, types, arguments, kwargs):
        print("function", func.__name__)
        return "function"


@entry("corners builtins")
def builtins_on_arrays():
    def fn(x, y):
        return (
            abs(x), round(x, 1), divmod(x, y), pow(x, 2), sum([x, y]), len(x), list(x), tuple(y),
            sorted(x), reversed(x), any(x > 0), all(x), float(x[0]), repr(x), str(y), callable(x),
            getattr(x, "shape"), hasattr(x, "nope"), x.__len__(), x.__add__(y), np.ndarray.sum(x),
            operator.mul(x, y), type(x)((2,)).shape, isinstance(x, np.ndarray), list(map(abs, x)),
        )  # fmt: skip

    return world(
        fn, lambda: args(floats(3), floats(3, seed=1) + 9), lambda: args(ints(2), ints(2, low=1))
    )


@entry("corners builtins raising")
def builtins_that_refuse_arrays():
    def fn(x, which):
        y = x + 1
        if which == 0:
            return hash(y)
        if which == 1:
            return max(x, y)
        if which == 2:
            return int(y)
        if which == 3:
            return y in [0, x]
        if which == 4:
            return [x, None].index(None)
        if which == 5:
            return range(y)
        if which == 6:
            return {y: 1}
        return chr(y[0])

    return world(fn, *[lambda k=k: args(floats(3), k) for k in range(8)])


@entry("corners keys")
def keys_that_are_equal_but_not_the_same():
    def fn(x, table, k):
        y = x * table[k]
        return y, {k: 1, 1: 2}, k in table, table.get(k), k == 1

    def table():
        return {1: 2.0, "a": 3}

    return world(
        fn,
        *[
            lambda k=k: args(floats(2), table(), k)
            for k in (1, True, 1.0, np.int64(1), np.float64(1), 1 + 0j, "a", 0)
        ],
    )


@entry("corners keys")
def keys_that_run_code():
    def fn(x, table, key):
        y = x + 1
        value = table[key]
        made = {key: y, Noisy(2): 1}
        return value, len(made), y

    return world(
        fn,
        lambda: args(floats(2), {Noisy(1): "one"}, Noisy(1)),
        lambda: args(floats(2), {1: "one"}, Noisy(1)),
    )


@entry("corners index")
def indices_of_every_type():
    def fn(x, items, k):
        return x[k], items[k] if isinstance(k, (int, np.integer)) else None, x[k] * 2

    def items():
        return ["a", "b", "c", "d"]

    kinds = (
        1,
        True,
        False,
        -1,
        np.int64(2),
        np.uint8(3),
        np.bool_(True),
        None,
        np.array(1),
        [1, 0],
    )
    return world(fn, *[lambda k=k: args(floats(4), items(), k) for k in kinds])


@entry("corners index slices")
def slices_of_every_kind():
    def fn(x, a, b, c):
        return x[a:b:c], x[a:], x[:b], len(range(5)[a:b]), "abcdef"[a:b:c]

    cuts = [
        (0, 3, 1), (None, None, None), (-2, None, -1), (10**20, None, None), (None, -(10**20), -2),
        (np.int64(1), np.int8(3), None), (3, 1, 1), (0, 0, 3), (True, 4, 2),
    ]  # fmt: skip
    return world(fn, *[lambda c=c: args(floats(6), *c) for c in cuts])


@entry("corners index raising")
def index_with_a_step_of_zero():
    def fn(x, c):
        y = x - 1
        return y[::c]

    return world(fn, *[lambda c=c: args(floats(4), c) for c in (1, 0, 2, 1.5, "a")])


@entry("corners attributes writes")
def shape_is_assigned():
    def fn(x):
        y = x * 2
        view = y[:]
        y.shape = (2, -1)
        z = y + 1
        x.shape = (x.size, 1)
        return y, view, z, x * 3, x.shape

    return world(fn, lambda: args(floats(4)), lambda: args(ints(2, 3)), lambda: args(floats(6)))


@entry("corners attributes writes")
def arrays_change_under_their_name():
    def fn(x, how):
        before = x + 0
        if how == "resize":
            x.resize(2, refcheck=False)
        elif how == "flags":
            x.flags.writeable = False
        elif how == "dtype":
            x.dtype = "i8"
        elif how == "byteswap":
            x.byteswap(inplace=True)
        elif how == "real":
            x.real = 7
        elif how == "flat":
            x.flat = [1, 2]
        elif how == "iadd":
            x.__iadd__(5)
        return before, x, x[:1] * 1, x.shape, x.dtype

    kinds = ("none", "resize", "flags", "dtype", "byteswap", "real", "flat", "iadd")
    return world(fn, *[lambda how=how: args(floats(4), how) for how in kinds])


@entry("corners zero-dimensional writes")
def zero_dimensional_in_place():
    def fn(x):
        a = np.array(1.5)
        b = a
        a += 1
        s = x.sum()
        t = s
        s += 1
        x[...] = a
        return a, b, a is b, s, t, x

    return world(fn, lambda: args(floats(2)), lambda: args(np.array(2.0)), lambda: args(ints(2, 2)))


@entry("corners out overlap writes")
def out_overlaps_its_inputs():
    def fn(x):
        np.add(x[1:], x[:-1], out=x[1:])
        np.multiply(x, 2, out=x)
        np.subtract(x[::-1], x, out=x)
        return x

    return world(fn, lambda: args(floats(5)), lambda: args(ints(4)), lambda: args(floats(3, 3)))


@entry("corners scalars range")
def scalars_too_large_for_the_array():
    def fn(x, k):
        y = x * k
        return y + k

    sets = [
        ("f4", 2.0), ("f4", 1e300), ("f2", 70000.0), ("f2", 1e-9), ("f4", float("nan")),
        ("f4", 2**200), ("f8", 2**2000), ("i2", 40000), ("u1", -1), ("i8", 2**63), ("?", 2),
        ("c8", 1e300), ("f4", np.float64(1e300)), ("f4", np.float32(3)), ("i1", np.int64(300)),
    ]  # fmt: skip
    return world(fn, *[lambda d=d, k=k: args(ints(3, low=1, dtype=d), k) for d, k in sets])


@entry("corners scalars branches")
def branches_on_the_value_of_a_number():
    def fn(x, k):
        if k == 0:
            return x, "zero"
        if k != k:
            return x * 2, "nan"
        if k > 3:
            return x + k, "large"
        return x - k, k > -1, -k, k < 2.5

    kinds = (0, 0.0, -0.0, 1, 5, -7, float("nan"), float("inf"), True, np.float64(2), 10**30, 3)
    return world(fn, *[lambda k=k: args(floats(2), k) for k in kinds])


@entry("corners scalars python")
def arithmetic_of_python_numbers():
    def fn(a, b):
        return (
            a // b, a % b, divmod(a, b), a**2, -a // b, abs(a) % 3, round(a / b, 2), a / b,
            min(a, b), max(a, b, 0), a == b, a - b * 2, float(a) // 2, int(a) % 4,
        )  # fmt: skip

    pairs = [(7, 2), (-7, 2), (7, -2), (-7.5, 2), (7.0, -0.5), (2**70, 3), (True, 2), (1e308, 0.1)]
    return world(fn, *[lambda p=p: args(*p) for p in [*pairs, (7, 0), (1.5, 0.0)]], between=None)


@entry("corners scalars python")
def shifts_powers_and_inversion():
    def fn(a, b, flag):
        return a << b, a >> b, ~a, a**b, (-a) ** 0.5, a & b | 3, ~flag, a.bit_length()

    return world(
        fn,
        lambda: args(5, 2, True),
        lambda: args(2**70, 3, False),
        lambda: args(5, -1, True),
        lambda: args(0, 0, False),
    )


@entry("corners closure raising")
def free_variable_is_deleted():
    def fn(x, remove):
        scale = 2.0

        def inner(v):
            return v * scale

        first = inner(x)
        if remove:
            del scale
        return first, inner(x)

    return world(fn, lambda: args(floats(2), False), lambda: args(floats(2), True))


@entry("corners definitions")
def definitions_inside():
    def fn(x, k):
        import math as m
        from operator import neg

        class Local:
            factor = k

            def apply(self, v, /, *, by: float = 2.0) -> float:
                return v * by * self.factor

        def named(v: int, w=k, *rest, z=x, **more) -> "str":
            """Have a docstring."""
            return v + w + z

        return Local().apply(x), named(1), named.__defaults__, m.pi, neg(x), Local.__name__

    return world(fn, lambda: args(floats(2), 3), lambda: args(ints(2), 0.5))


@entry("corners protocols", capture=False)
def duck_arrays():
    def fn(x, d):
        return x + d, np.add(d, x), np.sum(d), np.concatenate([x, d])

    return world(fn, lambda: args(floats(2), Duck(floats(2))), lambda: args(ints(2), Duck(1)))


@entry("corners random")
def generators_given_as_arguments():
    def fn(rng, x):
        noise = rng.normal(size=x.shape)
        y = x + noise
        rng.shuffle(y)
        return y, rng.random(), rng

    return world(
        fn,
        lambda: args(np.random.default_rng(5), floats(3)),
        lambda: args(np.random.default_rng(6), ints(2, 2)),
    )


@entry("corners guards numpy")
def numpy_functions_are_replaced():
    original = np.exp

    def fn(x):
        y = np.exp(x)
        return y + 1

    def between(number):
        np.exp = original if number % 3 != 1 else np.sin

    def restored():
        np.exp = original
        return None

    return world(fn, *[lambda: args(floats(2))] * 3, between=between, watch=restored)


@entry("corners guards defaults self")
def own_defaults_are_replaced():
    def fn(x, k=2, *, shift=0):
        return x * k + shift

    def between(number):
        fn.__defaults__ = [(2,), (3.5,), None, (floats(2),)][number % 4]
        fn.__kwdefaults__ = [{"shift": 0}, {"shift": 1}, {"shift": 2}, None][number % 4]

    return world(fn, *[lambda: args(floats(2)), lambda: args(floats(2), 5)] * 2, between=between)


@entry("corners guards code self")
def own_code_is_replaced():
    def fn(x, k=2):
        return x * k

    def other(x, k=2):
        print("other")
        return x - k

    first = fn.__code__

    def between(number):
        fn.__code__ = other.__code__ if number % 4 >= 2 else first

    return world(fn, *[lambda: args(floats(2))] * 4, between=between)


@entry("corners recursion")
def recursion_beyond_the_inline_depth():
    def fn(x, n):
        def down(v, n):
            if n == 0:
                return v
            return down(v + n, n - 1) * 0.5

        return down(x, n), down(x, 1)

    return world(fn, lambda: args(floats(2), 3), lambda: args(floats(2), 40))


@entry("corners recursion raising")
def recursion_without_end():
    def fn(x):
        return fn(x + 1) * 2

    return world(fn, lambda: args(floats(2)))


@entry("corners exceptions")
def looks_at_the_exception_being_handled():
    import sys

    def fn(x):
        y = x + 1
        kind, value, _ = sys.exc_info()
        return y, kind and kind.__name__, value is sys.exception(), str(value)

    return world(fn, lambda: args(floats(2)), lambda: args(ints(2)))


@entry("corners assignment")
def chained_and_nested_targets():
    def fn(x, items, table):
        items[0], (table["a"], *items[1:]), x[1:] = x[0], (1, 2, 3), 9
        x[0], x[1] = x[1], x[0]
        table["b"] = items[-1] = x[0]
        i, items[i] = 1, "i"
        return items, table, x, i

    return world(
        fn, lambda: args(floats(3), [0, 0], {}), lambda: args(ints(4), [1, 2, 3], {"a": 0})
    )


@entry("corners shapes empty")
def empty_and_single_arrays():
    def fn(x, y):
        z = x + y
        return z, z.sum(), z.reshape(-1), z[:0], z.T @ z if z.ndim == 2 else z @ z, z.max(initial=0)

    shapes = [
        ((0,), (0,)),
        ((1,), (0,)),
        ((0, 2), (2,)),
        ((1, 1), (1,)),
        ((2, 0), (2, 1)),
        ((), ()),
    ]
    return world(fn, *[lambda a=a, b=b: args(floats(*a), floats(*b)) for a, b in shapes])
