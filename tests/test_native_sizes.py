"""Kernels over few elements: less than a vector, just one, the first line of the cache, two vectors a turn, the last vector."""

import numpy as np
import pytest

import bcjit
from bcjit.backends.native.backend import Native

pytest.importorskip("llvmlite")

SIZES = (1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 41, 64, 70, 100)


def small(x, y):
    return x * y + 1.5


def large(x, y):
    z = x * y + 1.5
    for k in range(1, 6):
        z = np.where(z < 40.0, z * x - y / (k + x * x), -z)
    return z


def of_two_dtypes(x, y):
    return x > y, (x > y) & (y > 2.0), x - y


@pytest.mark.parametrize("fn", [small, large, of_two_dtypes])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_every_size_gives_what_numpy_gives(fn, dtype):
    compiled = bcjit.compile(fn, backend=Native(smallest=1))
    for size in SIZES:
        x = np.linspace(-3.0, 7.0, size + 3, dtype=dtype)
        y = np.linspace(0.5, 9.0, size + 3, dtype=dtype)
        for start in range(3):  # operands that begin anywhere in a line of the cache
            pair = x[start : start + size], y[3 - start : 3 - start + size]
            wanted, found = fn(*pair), compiled(*pair)
            if not isinstance(wanted, tuple):
                wanted, found = (wanted,), (found,)
            assert [(one.dtype, one.tobytes()) for one in found] == [
                (one.dtype, one.tobytes()) for one in wanted
            ]


ONE_ELEMENT = {
    "product": lambda x, y: x * y,
    "square": lambda x, y: np.square(x) + y,
    "angle": lambda x, y: np.arctan2(x.real, y.real),
    "sum": lambda x, y: (x * y).sum(axis=-1),
    "folded": lambda x, y: x.sum(axis=0, keepdims=True) * y,
    "running": lambda x, y: np.cumsum(x * y, axis=0),
    "in place": lambda x, y: np.multiply(x, y, out=np.zeros(np.broadcast(x, y).shape, x.dtype)),
}


@pytest.mark.parametrize("char", "fdFD")
@pytest.mark.parametrize("name", ONE_ELEMENT)
def test_one_element_lies_as_numpys_loops_see_it(name, char):
    """They go another way where strides are below 0, or are none."""
    fn = ONE_ELEMENT[name]
    random = np.random.default_rng(0)
    compiled = {}
    for _ in range(20):
        values = (random.normal(size=6) + 1j * random.normal(size=6)).astype("D")
        a = (values if np.dtype(char).kind == "c" else values.real).astype(char)
        forms = a[:1], a[:1][::-1], a[::5][:1], a[::-3][:1], a[:1, None], a[None, ::-1][:, :1]
        for x in forms:
            for y in (a[1:2], a[1:2][::-1], a[1:2, None], a[None, 3:0:-2][:, :1]):
                key = x.ndim, y.ndim
                if key not in compiled:
                    compiled[key] = bcjit.compile(fn, backend=Native(smallest=1))
                assert compiled[key](x, y).tobytes() == fn(x, y).tobytes()
