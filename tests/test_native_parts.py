"""Calls with several results in native kernels: divmod, modf, frexp."""

from __future__ import annotations

import traceback
import warnings

import numpy as np
import pytest
from native_kit import bits, flags_of_kernels, kernel_of, program_of, special

import bcjit
from bcjit import _core
from bcjit.backends.choice import has_llvm
from bcjit.backends.native.backend import Native
from bcjit.backends.native.build import build
from bcjit.backends.native.part_rules import PARTS
from bcjit.backends.native.rules import has_rule
from bcjit.backends.native.scalars import Apply, Element

pytestmark = pytest.mark.skipif(not has_llvm(), reason="needs llvmlite")

X = np.array([7.5, -7.5, 0.0, -0.0, 1e-3, -250.25, 3.0, 1e9])
Y = np.array([2.0, 2.0, 3.0, 3.0, -7.0, 0.5, 3.0, -1e3])


class Spy(Native):
    """The native backend, which remembers its kernels."""

    def __init__(self):
        super().__init__(smallest=2)
        self.kernels = []

    def __call__(self, graph, example_inputs):
        """See `Native`."""
        super().__call__(graph, example_inputs)
        made = build(graph, self.smallest)
        made.graph.lint()
        self.kernels = [
            node.target for node in made.graph.calls if isinstance(node.target, _core.Kernel)
        ]
        return made.graph.to_callable(origin=made.origin)


def said(value):
    """Return all that can be told of results."""
    if isinstance(value, tuple):
        return tuple(map(said, value))
    return value.dtype, value.shape, value.strides, bits(value.ravel("K")).tolist()


def check(fn, *args, kernels=1):
    """Compare a function with its compiled form, which kernels do."""
    spy = Spy()
    compiled = bcjit.compile(fn, backend=spy)
    expected = said(fn(*args))
    assert [said(compiled(*args)) for _ in range(2)] == [expected] * 2
    assert len(spy.kernels) == kernels
    assert all(one.calls and not one.fell_back for one in spy.kernels)
    return spy


@pytest.mark.parametrize("char", "fd")
@pytest.mark.parametrize("name", ["modf", "frexp"])
def test_each_result(name, char):
    """Bit for bit, NaN and infinity included, without a flag."""
    dtype = np.dtype(char)
    given = special(dtype)
    wanted = getattr(np, name)(given)
    items = []
    for part, one in zip(PARTS[name], wanted, strict=True):
        loop = (dtype, one.dtype)
        if not has_rule(part, loop):
            pytest.skip("the processor does not round")
        items.append(Apply(part, loop, (Element(0, dtype),)))
    with flags_of_kernels() as raised:
        made = kernel_of(program_of(*items))(given)
    for one, other in zip(made, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(bits(one), bits(other))
    assert not any(flags & ~4 for flags in raised)


def _divided(x, y):
    q, r = np.divmod(x, y)
    return q * 2 - r


def _both(x, y):
    return np.divmod(x, y)


def _one_of_two(x, y):
    return np.modf(x * y)[1] + 1, np.divmod(x, y)[0]


def _twice(x, y):
    q, r = np.divmod(x, y)
    m, e = np.frexp(q + 1)
    return m * r, e


@pytest.mark.parametrize("fn", [_divided, _both, _one_of_two, _twice])
@pytest.mark.parametrize("char", "dfqh")
def test_in_one_kernel(fn, char):
    """Operands and users are computed with them; results are those that something needs."""
    x, y = (np.clip(one, -9e3, 9e3).astype(char) for one in (X, Y))
    y[y == 0] = 3
    check(fn, x, y)
    check(fn, np.asfortranarray(x.reshape(2, 4)), np.asfortranarray(y.reshape(2, 4)))


def test_more_than_a_kernel_has_room_for():
    """A call and those that read its results are not parted."""

    def fn(x):
        a, b = np.divmod(x, 2.5)
        c, d = np.divmod(a, 1.5)
        e, f = np.divmod(b, 0.5)
        g, h = np.divmod(c, 3.0)
        i, j = np.divmod(d + e, 7.0)
        return a, b, c, d, e, f, g, h, i, j

    compiled = bcjit.compile(fn, backend=Spy())
    assert said(compiled(X)) == said(fn(X))


def test_stored():
    """What is stored somewhere is computed by a kernel, and stored by NumPy."""

    def fn(x, y):
        made = np.zeros(8)
        made[:] = np.divmod(x, y)[1] * 2
        return made

    check(fn, X, Y)


def test_it_is_one_call_where_numpy_does_it_again():
    """Its warning is heard once, at its line, and its error too."""

    def fn(x, y):
        z = x + 1
        q, r = np.divmod(z, y)
        return q + r

    y = Y.astype(np.int64)
    y[3] = 0
    x = X.astype(np.int64)
    spy = Spy()
    compiled = bcjit.compile(fn, backend=spy)

    def heard(function):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            made = function(x, y)
        return said(made), [(one.category, str(one.message), one.lineno) for one in found]

    def raised(function):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError) as error:
            function(x, y)
        return str(error.value), traceback.extract_tb(error.value.__traceback__)[-1].lineno

    assert heard(compiled) == heard(fn)
    assert len(heard(fn)[1]) == 1
    assert raised(compiled) == raised(fn)
    assert spy.kernels[0].fell_back == 2


def test_left_to_numpy():
    """float16, masks and results with a place of their own."""
    x = np.arange(6, dtype=np.float16)

    def fn(x):
        f, w = np.modf(x)
        return f + w, np.divmod(x, x + 1)[0] * 2

    spy = Spy()
    compiled = bcjit.compile(fn, backend=spy)
    assert said(compiled(x)) == said(fn(x))

    def placed(x):
        out = np.zeros(8), np.zeros(8)
        np.modf(x, out=out)
        return out[0] + out[1]

    compiled = bcjit.compile(placed, backend=spy)
    assert said(compiled(X)) == said(placed(X))


@pytest.mark.parametrize("smallest", [1, 2])
def test_what_warns_behind_a_write_is_told_where_it_stands(smallest):
    """The views that a kernel makes itself are needed by nothing that goes on there."""

    def unread(x, y):
        x *= 2
        np.divmod(x[..., None], y[0])[1]

    def one(x, y):
        np.sqrt(x, out=x)
        return np.divmod(x, y[::-1])[1]

    def both(x, y):
        x += 1
        q, r = divmod(x[1:], y[:-1])
        e = np.frexp(q[::-1])[1]
        return q, r, e, x / y

    def heard(function):
        x, y = np.full(8, 3.0), np.zeros(8)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            made = function(x, y)
        told = [(one.category, str(one.message), one.lineno) for one in found]
        return made if made is None else said(made), x.tobytes(), told

    def raised(function):
        x, y = np.full(8, 3.0), np.zeros(8)
        with np.errstate(all="raise"), pytest.raises(FloatingPointError) as error:
            function(x, y)
        line = traceback.extract_tb(error.value.__traceback__)[-1].lineno
        return str(error.value), line, x.tobytes()

    for fn in (unread, one, both):
        assert heard(fn)[2]
        assert heard(bcjit.compile(fn, backend=Native(smallest))) == heard(fn)
        assert raised(bcjit.compile(fn, backend=Native(smallest))) == raised(fn)
