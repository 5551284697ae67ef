"""What newer Pythons write differently or brought: captured, or broken with a reason, and never told from the plain function.

The sources are texts, so that older Pythons can read this file; each says the first version that knows its syntax.
"""

from __future__ import annotations

import linecache
import sys
import textwrap
import types
import zlib

import numpy as np
import pytest
from differential import PLAIN, Setting, World, args, assert_same
from under_test import compile_eager

import bcjit


def program(source, **names):
    """The namespace of a module with this text, whose lines tracebacks can show."""
    text = textwrap.dedent(source)
    name = f"<program {zlib.crc32(text.encode())}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    module = types.ModuleType("program")
    module.__dict__.update(np=np, **names)
    sys.modules.setdefault("program", module)
    exec(compile(text, name, "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def same(source, *calls, watch=None, settings=(PLAIN, Setting("error"))):
    def world():
        namespace = program(source)
        return World(
            namespace["f"],
            calls,
            None if watch is None else lambda: watch(namespace),
        )

    assert_same(world, compile_eager, settings)


def reasons(function, *arguments):
    return " ".join(bcjit.compile(function).explain(*arguments).breaks)


def since(*version):
    return pytest.mark.skipif(sys.version_info < version, reason=f"came with {version}")


X = np.arange(6.0)


# ---------------------------------------------------------------------- written differently
WITHS = """
    LOG = []

    class Manager:
        def __init__(self, swallow=False):
            self.swallow = swallow
        def __enter__(self):
            LOG.append("enter")
            return 2.0
        def __exit__(self, kind, value, tb):
            LOG.append((kind and kind.__name__, str(value), tb and tb.tb_lineno))
            return self.swallow

    class Called:
        def __init__(self, name):
            self.name = name
        def __call__(self, *args):
            LOG.append((self.name, len(args)))
            return 3.0

    class Callables:  # nothing that binds
        __enter__ = Called("enter")
        __exit__ = Called("exit")

    class Static:
        @staticmethod
        def __enter__():
            return 4.0
        @classmethod
        def __exit__(cls, *args):
            LOG.append(cls.__name__)

    class Half:
        def __enter__(self):
            LOG.append("never")

    class Other:
        async def __aenter__(self): ...
        async def __aexit__(self, *args): ...

    MANAGERS = {c.__name__: c for c in (Manager, Callables, Static, Half, Other)}

    def f(x, name, n, *how):
        y = x * 2.0
        with MANAGERS[name](*how) as k:
            y = y + k
            for i in range(3):
                with Manager(i == 1):
                    y = y * (i + 1)
                    if i == n:
                        raise ValueError(y.sum())
                    LOG.append(i)
            if n == 4:
                return y, list(LOG)
            y = y.reshape(n, -1)
        return y, list(LOG)
"""


@pytest.mark.parametrize("name", ["Manager", "Callables", "Static", "Half", "Other", "object"])
def test_managers_of_all_kinds(name):
    calls = [lambda n=n: args(X.copy(), name, n) for n in (7, 0, 1, 2, 4, 3)]
    if name == "Manager":
        calls += [lambda n=n: args(X.copy(), name, n, True) for n in (0, 7)]
    same(WITHS, *calls, watch=lambda names: repr(names["LOG"]))


def test_iterators_of_all_kinds_are_left_in_the_middle():
    source = """
        class Mine:
            def __init__(self, n): self.n = n
            def __iter__(self): return self
            def __next__(self):
                self.n -= 1
                if self.n < 0: raise StopIteration
                return self.n

        class Indexed:
            def __getitem__(self, i):
                if i > 3: raise IndexError
                return i

        def of(kind, x):
            return {"list": [1, 2, 3, 4], "tuple": (1, 2, 3), "array": x, "dict": {1: 2, 3: 4}, "set": {1},
                    "str": "1234", "range": range(5), "mine": Mine(3), "indexed": Indexed(), "number": 5,
                    "generator": (i for i in (1, 2, 3)), "zip": zip([1, 2], (3, 4))}[kind]

        def f(x, kind, stop):
            total = x * 0.0
            items = of(kind, x)
            for i in items:
                print(i)
                total = total + x
                for j in (1, 2):
                    for k in items if kind in ("list", "tuple") else [1]:
                        total = total + j
                        print(j, k)
                        if j == stop:
                            break
                        if k == stop:
                            continue
                    if j == stop + 1:
                        return total, i
                if kind == "list" and len(items) < 6:
                    items.append(9)
            else:
                print("else")
            return total, list(items) if kind == "mine" else None
    """
    kinds = ("list", "tuple", "array", "dict", "set", "str", "range", "mine", "indexed", "number")
    for kind in (*kinds, "generator", "zip"):
        same(
            source, *(lambda s=s: args(X.copy(), kind, s) for s in (0, 1, 9, 1)), settings=(PLAIN,)
        )


def test_comprehensions_and_calls_that_are_written_in_place():
    source = """
        OPTIONS = [1.0, 2.0]
        def add(a, b): return a + b
        def f(x, n):
            a = [x * i for i in range(n)]
            b = {i: x + i for i in range(n)}
            c = all(y.sum() > -1 for y in a), any(i > 1 for i in range(n)), tuple(i + 1 for i in range(n))
            d = [i for i in range(n) if i % 2], {i for i in range(n)}, list(i for i in range(n)), set(i for i in a[0:0])
            return a, b, c, d, add(*OPTIONS), x[0:2], x[::-1], [1, 2, 3][0:2], "text"[-2:], x.reshape(2, 3)[0:1, 1]
    """
    same(source, lambda: args(X.copy(), 3), lambda: args(X.copy(), 4))
    own = "def all(items): return sum(1 for i in items)\n" + textwrap.dedent(source)
    same(own, lambda: args(X.copy(), 3))


def test_a_constant_slice_is_one_object():
    source = """
        class Keys:
            def __getitem__(self, key): return key
            def __setitem__(self, key, value): self.last = key, value
        keys = Keys()
        def f(x):
            first, second = keys[1:2], keys[1:2]
            keys[1:2] = 5
            return first is second, first, keys[1:2, 0], x[1:2] + 1.0, keys.last, first.start
    """
    same(source, lambda: args(X.copy()))


def test_exceptions_caught_and_raised_again():
    source = """
        def g(x, n):
            try:
                try:
                    return x.reshape(n, -1) * 2.0
                except TypeError as e:
                    raise KeyError(n) from e
                finally:
                    x = x + 1.0
                    print(x.sum())
            except* ZeroDivisionError:
                pass
        def f(x, n):
            out = []
            for k in (n, 2, 4, "a"):
                try:
                    assert k != 3, "three"
                    out.append(g(x, k))
                except (ValueError, AssertionError) as e:
                    out.append(repr(e) + repr(e.__context__))
                    if n == 5:
                        raise NotImplementedError from None
                except KeyError as e:
                    out.append(repr(e.__cause__))
                else:
                    continue
                finally:
                    out.append(k)
            return out
    """
    same(source, *(lambda n=n: args(X.copy(), n) for n in (1, 3, 4, 5, 3)), settings=(PLAIN,))


# ---------------------------------------------------------------------- new in 3.14
@since(3, 14)
def test_template_strings_break_the_graph():
    source = """
        def f(x, w):
            y = x * 2.0
            t = t"{y.sum()!r:>{w}} and {y} {w:{w}} {w!s}"
            parts = [(i.value, i.expression, i.conversion, i.format_spec) for i in t.interpolations]
            return t.strings, parts, y + 1.0
    """
    same(source, lambda: args(X.copy(), 10), lambda: args(X.copy(), 3))
    assert "BRK016" in reasons(program(source)["f"], X, 10)


@since(3, 14)
def test_annotations_are_evaluated_when_they_are_asked_for():
    source = """
        import annotationlib
        def f(x, scale):
            y = x * scale
            def g(a: Missing, b: np.ndarray = y, *, c: scale = 1) -> list[int]:
                return a
            z: Undefined = y + 1.0
            try:
                g.__annotations__
            except NameError as e:
                error = str(e)
            forward = annotationlib.get_annotations(g, format=annotationlib.Format.STRING)
            return error, forward, g(z), g.__defaults__, g.__kwdefaults__
    """
    same(source, lambda: args(X.copy(), 2.0), lambda: args(X.copy(), 3.0))
    compiled = bcjit.compile(program("def f(x: Later) -> int:\n    return x + 1.0")["f"])
    with pytest.raises(NameError, match="Later"):
        compiled.__annotations__
    compiled.__wrapped__.__globals__["Later"] = float
    assert compiled.__annotations__ == {"x": float, "return": int}


# ---------------------------------------------------------------------- new in 3.15
@since(3, 15)
def test_a_lazy_import_happens_where_plain_python_does_it():
    source = """
        lazy import colorsys
        lazy from this_does_not_exist import nothing
        import sys
        def f(x, n):
            y = x * 2.0
            before = "colorsys" in sys.modules
            if n:
                y = y + colorsys.ONE_THIRD
            if n > 1:
                y = y + nothing
            return y, before, type(globals()["colorsys"]).__name__, "colorsys" in sys.modules
    """

    def world():
        sys.modules.pop("colorsys", None)
        return World(program(source)["f"], [lambda n=n: args(X.copy(), n) for n in (0, 1, 1, 2, 0)])

    assert_same(world, compile_eager, (PLAIN,))
    sys.modules.pop("colorsys", None)
    assert "BRK016" in reasons(program(source)["f"], X, 1)


@since(3, 15)
def test_unpacking_in_comprehensions():
    source = """
        def f(x, n):
            parts = [(x, n), [n + 1.0]]
            return [*p for p in parts], {**{i: x * i} for i in range(n)}, {*(i, n) for i in range(n)}
    """
    same(source, lambda: args(X.copy(), 2), lambda: args(X.copy(), 3))
