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
