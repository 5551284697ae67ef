"""Ufuncs that have no entry in the op table, and the methods of ufuncs, against NumPy."""

import numpy as np
import pytest
from test_ops_table import check_sample

from bcjit.dims import ShapeEnv
from bcjit.meta import ArrayMeta
from bcjit.ops import infer, lookup
from bcjit.ops.opdef import sample

KINDS = [np.dtype(code) for code in ("?", "i8", "u1", "f4", "c16")]
METHODS = ("accumulate", "at", "outer", "reduce", "reduceat")
# Of each kind of identity, of loops and of results.
UFUNCS = (
    np.add,
    np.subtract,
    np.multiply,
    np.power,
    np.logical_or,
    np.bitwise_and,
    np.fmax,
    np.less,
    np.hypot,
    np.copysign,
    np.divmod,
    np.negative,
    np.modf,
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda f: f.__name__)
def test_methods_of_ufuncs_equal_numpy(ufunc, method):
    op = lookup(getattr(ufunc, method))
    spelling = op.spelling(getattr(ufunc, method))
    answers = set()
    for dtype in KINDS:
        for one in lookup(getattr(np.hypot, method)).spellings[0].samples(dtype):
            answers.add(check_sample(op, spelling, one, symbolic=dtype.char == "f"))
    unfit = ufunc.nin != 2 or (ufunc.nout != 1 and method != "outer")
    assert ("ok" in answers) is (not unfit or (method == "at" and ufunc is np.negative))


def special(name):
    return getattr(pytest.importorskip("scipy.special"), name)


@pytest.mark.parametrize(
    ("name", "arity"),
    [("expit", 1), ("erf", 1), ("xlogy", 2), ("betainc", 3), ("hyp2f1", 4), ("ellipj", 2)],
)
def test_ufuncs_of_other_packages_are_ops(name, arity):
    ufunc = special(name)
    op = lookup(ufunc)
    assert op is lookup(ufunc)
    spelling = op.spelling(ufunc)
    answers = set()
    for dtype in KINDS:
        grid = (np.arange(6).reshape(2, 3) / 8).astype(dtype)
        for args in ((grid,) * arity, (grid[0],) + (grid,) * (arity - 1), (0.5,) * arity, ()):
            answers.add(check_sample(op, spelling, sample(*args), symbolic=dtype.char == "f"))
    # Not with where=, by which SciPy's loops spoil memory on some versions of NumPy.
    grid = np.arange(6).reshape(2, 3) / 8
    out = tuple(np.zeros((2, 3)) for _ in range(ufunc.nout))
    one = sample(*(grid,) * arity, out=out)
    assert check_sample(op, spelling, one, symbolic=False) == "ok"
    assert {"ok", "raises"} <= answers


def test_the_ufunc_of_clip_has_no_public_name():
    ufunc = np._core.umath.clip
    op = lookup(ufunc)
    for dtype in KINDS:
        x = np.arange(6).reshape(2, 3).astype(dtype)
        for one in (sample(x, 1, 2), sample(x, x[0], 3, out=np.zeros((2, 3), complex))):
            check_sample(op, op.spelling(ufunc), one, symbolic=False)


@pytest.mark.parametrize("what", ["call", *METHODS])
def test_ufuncs_that_call_python_code_are_no_ops(what):
    made = np.frompyfunc(lambda a, b: a + b, 2, 1)
    assert lookup(made if what == "call" else getattr(made, what)) is None


def test_ufuncs_without_loops_for_numbers_are_no_ops():
    assert lookup(np.isnat) is None


def test_one_entry_is_enough_for_a_ufunc_and_its_methods():
    x = ArrayMeta((3,), np.dtype(np.float64))
    for target, args, result in (
        (np.nextafter.outer, (x, x), ArrayMeta((3, 3), x.dtype)),
        (np.arctan2.reduce, (x,), ArrayMeta((), x.dtype, is_scalar=True)),
        (np.copysign.accumulate, (x,), x),
    ):
        assert infer(lookup(target), target, args, {}, ShapeEnv()).results == result


def test_flags_of_at_come_behind_its_writes():
    ints, floats = (ArrayMeta((3,), np.dtype(code)) for code in ("i8", "f8"))
    for x, torn in ((ints, False), (floats, True)):
        got = infer(lookup(np.add.at), np.add.at, (x, [0, 1], 1), {}, ShapeEnv())
        assert (got.results, got.writes, got.can_fail, got.torn) == ((), (0,), True, torn)
