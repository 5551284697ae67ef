"""Result dtypes of ufuncs, operators, reductions and joins, for every pair of dtypes and Python scalars, against NumPy.

A test compares every call that the table describes, and counts those that it does not.
"""

import operator
import warnings
from functools import partial

import numpy as np
import pytest

from bcjit.dims import ShapeEnv
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.ops import Unsupported, WouldRaise, infer, lookup
from bcjit.ops.samples.values import DTYPES
from bcjit.ops.scalar_functions import SCALAR_FUNCTIONS

BINARY = [row.ufunc for row in SCALAR_FUNCTIONS.values() if row.nin == 2]
UNARY = [row.ufunc for row in SCALAR_FUNCTIONS.values() if row.nin == 1]
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
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
    divmod,
]
IN_PLACE = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.imod,
    operator.ipow,
    operator.ilshift,
    operator.irshift,
    operator.iand,
    operator.ior,
    operator.ixor,
]
REDUCTIONS = [
    np.sum,
    np.prod,
    np.max,
    np.min,
    np.any,
    np.all,
    np.mean,
    np.var,
    np.std,
    np.ptp,
    np.argmax,
    np.argmin,
    np.count_nonzero,
    np.cumsum,
    np.cumprod,
]
PYTHON_SCALARS = (True, 3, 3.0, 3j)


def called(function, *args):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*args)
        except Exception as error:
            return error


def inferred(function, *args, **kwargs):
    env = ShapeEnv()
    try:
        return infer(lookup(function), function, args, kwargs, env)
    except (Unsupported, WouldRaise) as refusal:
        return refusal


def meta(value):
    if isinstance(value, np.ndarray):
        return ArrayMeta(value.shape, value.dtype)
    if isinstance(value, np.generic):
        return ArrayMeta((), value.dtype, is_scalar=True)
    return value


def compare(function, args, metas=None, kwargs=None):
    """Compare the facts of one call with NumPy's result; returns False if the table does not describe it."""
    kwargs = kwargs or {}
    metas = tuple(map(meta, args)) if metas is None else metas
    # An in-place operator writes: the plain one gives the same, or raises, on a copy.
    own = tuple(arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args)
    want = called(partial(function, **kwargs), *own)
    got = inferred(function, *metas, **kwargs)
    where = (function, args, metas, kwargs, want, got)
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
    assert [result_meta(w) for w in wants] == list(gots), where
    return True


def result_meta(value):
    return ScalarMeta(type(value)) if type(value) in (bool, int, float, complex) else meta(value)


def check(function, left, right, left_meta=None, right_meta=None):
    left_meta = meta(left) if left_meta is None else left_meta
    right_meta = meta(right) if right_meta is None else right_meta
    return compare(function, (left, right), (left_meta, right_meta))


def undescribed(calls):
    """Compare calls of ``compare``; returns how many the table does not describe."""
    return [compare(*call) for call in calls].count(False)


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


# Each operand is an array, a NumPy scalar, or a Python scalar, known or not.
PAIRS = len(DTYPES) ** 2


def operand_pairs():
    for left in DTYPES:
        for right in DTYPES:
            yield np.ones(2, left), np.ones(2, right)
            yield np.ones(2, left), right.type(1)
            yield left.type(1), np.ones(2, right)
            yield left.type(1), right.type(1)


def number_pairs():
    for dtype in DTYPES:
        for number in PYTHON_SCALARS:
            for value in (np.ones(2, dtype), dtype.type(1)):
                yield (value, number), (meta(value), number)
                yield (number, value), (number, meta(value))
                yield (value, number), (meta(value), ScalarMeta(type(number)))
                yield (number, value), (ScalarMeta(type(number)), meta(value))


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operator_dtypes_equal_numpy(function):
    missing = undescribed((function, pair) for pair in operand_pairs())
    missing += undescribed((function, args, metas) for args, metas in number_pairs())
    # Of float64 scalars with complex numbers, and of powers whose dtype depends on the exponent.
    allowed = 4 + (len(DTYPES) * 4 * len(DTYPES) if function is operator.pow else 0)
    assert missing <= allowed


@pytest.mark.parametrize("function", IN_PLACE, ids=lambda f: f.__name__)
def test_in_place_operator_dtypes_equal_numpy(function):
    pairs = [(a, b) for a, b in operand_pairs() if isinstance(a, np.ndarray)]
    missing = undescribed((function, pair) for pair in pairs)
    for dtype in DTYPES:
        for number in PYTHON_SCALARS:
            metas = (meta(np.ones(2, dtype)), ScalarMeta(type(number)))
            missing += undescribed([(function, (np.ones(2, dtype), number))])
            missing += undescribed([(function, (np.ones(2, dtype), number), metas)])
    # Complex numbers into real arrays warn.
    assert missing <= (3 * len(DTYPES) ** 2 if function is operator.ipow else 0)


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_unary_ufunc_dtypes_equal_numpy(function):
    values = [
        make(dtype) for dtype in DTYPES for make in (lambda d: np.ones(2, d), lambda d: d.type(1))
    ]
    calls = [(function, (value,)) for value in (*values, *PYTHON_SCALARS)]
    calls += [(function, (number,), (ScalarMeta(type(number)),)) for number in (1.5, 2j, True)]
    for dtype in DTYPES:
        calls += [(function, (value,), None, {"dtype": dtype}) for value in values]
    assert undescribed(calls) == 0


@pytest.mark.parametrize("function", [operator.neg, operator.pos, operator.invert, abs])
def test_unary_operator_dtypes_equal_numpy(function):
    values = [
        make(dtype) for dtype in DTYPES for make in (lambda d: np.ones(2, d), lambda d: d.type(1))
    ]
    assert undescribed((function, (value,)) for value in values) == 0


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_ufunc_dtypes_equal_numpy_for_out_and_dtype(function):
    nout = function.nout
    calls = []
    for source in DTYPES:
        for target in DTYPES:
            x = np.ones(2, source)
            calls.append((function, (x, x), None, {"dtype": target}))
            if nout == 1:
                for casting in ("same_kind", "unsafe"):
                    options = {"out": np.ones(2, target), "casting": casting}
                    metas = {"out": meta(options["out"]), "casting": casting}
                    calls.append((function, (x, x), options, metas))
    missing = 0
    for one, args, options, kwargs in calls:
        if options is None:
            missing += undescribed([(one, args, None, kwargs)])
        else:
            missing += not compare_out(one, args, options, kwargs)
    # Complex results that are cast to real numbers warn.
    assert missing <= PAIRS


def compare_out(function, args, kwargs, metas):
    want = called(partial(function, **kwargs), *args)
    got = inferred(function, *map(meta, args), **metas)
    where = (function, args, kwargs, want, got)
    if isinstance(got, Unsupported):
        return False
    assert isinstance(got, WouldRaise) is isinstance(want, TypeError), where
    if not isinstance(want, Exception) and not isinstance(got, WouldRaise):
        assert got.results == meta(want), where
    return True


@pytest.mark.parametrize("function", REDUCTIONS, ids=lambda f: f.__name__)
def test_reduction_dtypes_equal_numpy(function):
    calls = []
    for dtype in DTYPES:
        for value in (np.ones((2, 3), dtype), np.ones((), dtype), dtype.type(1)):
            calls.append((function, (value,)))
            calls.append((function, (value, 0)))
            calls.append((function, (value,), None, {"axis": -1}))
    takes_dtype = (np.sum, np.prod, np.mean, np.var, np.std, np.cumsum, np.cumprod)
    if function in takes_dtype:
        for dtype in DTYPES:
            calls += [(function, (np.ones((2, 3), d),), None, {"dtype": dtype}) for d in DTYPES]
    # Sums of complex numbers as real ones warn; so do variances without degrees of freedom; std(dtype=int).
    assert undescribed(calls) <= len(DTYPES) * (10 if function in takes_dtype else 0)


@pytest.mark.parametrize(
    "name", ["add", "multiply", "maximum", "logical_or", "bitwise_and", "less"]
)
@pytest.mark.parametrize("method", ["reduce", "accumulate", "outer", "reduceat"])
def test_ufunc_method_dtypes_equal_numpy(name, method):
    function = getattr(getattr(np, name), method)
    calls = []
    for dtype in DTYPES:
        x = np.ones((2, 3), dtype)
        if method == "outer":
            calls += [(function, (x, np.ones(2, other))) for other in DTYPES]
            calls += [(function, (x, number)) for number in PYTHON_SCALARS]
            continue
        more = ([0],) if method == "reduceat" else ()
        calls.append((function, (x, *more)))
        calls += [(function, (x, *more), None, {"dtype": other}) for other in DTYPES]
    assert undescribed(calls) <= 3 * len(DTYPES)


def test_dtypes_of_where_and_concatenate_equal_numpy():
    test = np.array([True, False])
    pairs = [(np.ones(2, a), np.ones(2, b)) for a in DTYPES for b in DTYPES]
    missing = undescribed((np.where, (test, *pair)) for pair in pairs)
    missing += undescribed(
        (np.concatenate, (list(pair),), ([meta(one) for one in pair],)) for pair in pairs
    )
    mixed = [args for args, _ in number_pairs()] + [
        (a, b) for a in PYTHON_SCALARS for b in (2, 0.5)
    ]
    missing += undescribed((np.where, (test, *pair)) for pair in mixed)
    assert missing == 0


def test_dtypes_of_clip_equal_numpy():
    calls = []
    for dtype in DTYPES:
        x = np.ones(2, dtype)
        limits = [np.ones(2, other) for other in DTYPES] + list(PYTHON_SCALARS)
        calls += [(np.clip, (x, limit, limit)) for limit in limits]
        calls += [(np.clip, (x, None, limit)) for limit in limits]
        calls += [(np.clip, (x, limit, None)) for limit in limits]
        calls += [(np.clip, (x, low, 3)) for low in limits]
    assert undescribed(calls) == 0


def test_a_size_is_a_weak_int():
    env = ShapeEnv()
    size = env.symbol("n", "input", 3).expr
    x = ArrayMeta((size,), np.dtype(np.int8))
    assert infer(lookup(np.add), np.add, (x, size), {}, env).results == x
