"""Result dtypes of all binary functions, for every pair of dtypes and for Python scalars, against NumPy."""

import operator
import warnings

import numpy as np
import pytest

from bcjit.dims import ShapeEnv
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.ops import Unsupported, WouldRaise, infer, lookup
from bcjit.ops.samples.values import DTYPES
from bcjit.ops.scalar_functions import SCALAR_FUNCTIONS

BINARY = [row.ufunc for row in SCALAR_FUNCTIONS.values() if row.nin == 2]
OPERATORS = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.lshift,
    operator.rshift,
    operator.and_,
    operator.or_,
    operator.xor,
    operator.eq,
    operator.lt,
    divmod,
]
PYTHON_SCALARS = (True, 3, 3.0, 3j)


def called(function, *args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:
            return error


def inferred(function, *args):
    env = ShapeEnv()
    try:
        return infer(lookup(function), function, args, {}, env)
    except (Unsupported, WouldRaise) as refusal:
        return refusal


def meta(value):
    if isinstance(value, np.ndarray):
        return ArrayMeta(value.shape, value.dtype)
    if isinstance(value, np.generic):
        return ArrayMeta((), value.dtype, is_scalar=True)
    return value


def check(function, left, right, left_meta=None, right_meta=None):
    left_meta = meta(left) if left_meta is None else left_meta
    right_meta = meta(right) if right_meta is None else right_meta
    want = called(function, left, right)
    got = inferred(function, left_meta, right_meta)
    where = (function, left, right, left_meta, right_meta, want, got)
    if isinstance(got, Unsupported):
        return False
    if isinstance(got, WouldRaise):
        assert isinstance(want, Exception), where
        return True
    if isinstance(want, Exception):
        assert got.can_fail, where
        # Only by value: the dtypes have a loop.
        assert not isinstance(want, TypeError), where
        return True
    wants = want if isinstance(want, tuple) else (want,)
    gots = got.results if isinstance(got.results, tuple) else (got.results,)
    assert [meta(w) for w in wants] == list(gots), where
    return True


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_ufunc_dtypes_equal_numpy_for_every_pair(function):
    for left in DTYPES:
        for right in DTYPES:
            assert check(function, np.ones(2, left), np.ones(2, right))


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_ufunc_dtypes_equal_numpy_for_python_scalars(function):
    for dtype in DTYPES:
        array = np.ones(2, dtype)
        for number in PYTHON_SCALARS:
            assert check(function, array, number)
            assert check(function, number, array)
            unknown = ScalarMeta(type(number))
            assert check(function, array, number, right_meta=unknown)
            assert check(function, number, array, left_meta=unknown)


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operator_dtypes_equal_numpy_for_arrays_and_scalars(function):
    for left in DTYPES:
        for right in DTYPES:
            check(function, np.ones(2, left), right.type(1))
            check(function, left.type(1), np.ones(2, right))
            check(function, left.type(1), right.type(1))
        for number in PYTHON_SCALARS:
            check(function, np.ones(2, left), number)
            check(function, number, np.ones(2, left))
            check(function, left.type(1), number)
            check(function, number, left.type(1))
            check(function, left.type(1), number, right_meta=ScalarMeta(type(number)))
            check(function, np.ones(2, left), number, right_meta=ScalarMeta(type(number)))


def test_a_size_is_a_weak_int():
    env = ShapeEnv()
    size = env.symbol("n", "input", 3).expr
    x = ArrayMeta((size,), np.dtype(np.int8))
    assert infer(lookup(np.add), np.add, (x, size), {}, env).results == x
