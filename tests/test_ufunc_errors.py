"""What ufuncs raise and warn at run time: the plain function's type, text, moment and half-done writes, in every error state."""

from __future__ import annotations

import numpy as np
import pytest
from differential import PLAIN, Setting, World, args, assert_same
from under_test import captured_nodes, compile_eager

ZEROS = (0.0, 1.0, -2.0)
BIG = (1e308, -1e308, 2.0)
SMALL = (1e-308, -1e-300, 1.0)
MASK = np.array([True, False, True])


def floats(*values):
    return np.array(values)


# ---------------------------------------------------------------------- flags of loops
def divides(x):
    a = x + 1.0
    b = a / x
    return b * 2.0


def overflows(x):
    y = x * 10.0
    return np.exp(y), y - y


def underflows(x):
    return (x * 1e-20 + 0.0) * 1.0


def is_invalid(x):
    return np.sqrt(x - 5.0), np.log(x - 5.0), np.arccos(x * 10.0)


def divides_integers(x):
    n = x.astype(np.int64)
    return n + 1, n // n, n % n, np.divmod(n, n)


def narrows(x):
    return (x + 0.0).astype(np.float32), (x * 2.0).astype(np.float16) + 1


def casts_to_integers(x):
    return (x * np.inf).astype(np.int32) + 1


def of_scalars(x):
    a, b = x[0], x[1]
    return a * 10.0, a / (b - b), np.float64(a) - a * np.inf, -a


def of_integer_scalars(x):
    n = np.int8(127)
    m = x.astype(np.int8)[2]
    return n * m, m + n, m // (m - m), abs(np.int8(-128)), -(m - m - n - np.int8(1))


def of_a_size(x):
    return np.uint8(200) + x[:2].astype(np.uint8)[0], x / (len(x) - 3)


# ---------------------------------------------------------------------- flags behind writes
def in_place(x):
    x += 1.0
    x /= x - x
    x *= 2.0
    return x


def into_its_operand(x):
    np.multiply(x, x, out=x)
    np.divide(x, 0.0, x)
    return x


def into_another(x, out):
    out[:] = 7.0
    np.divide(x, x * 0.0, out=out)
    out += 1.0


def where_a_mask_is_true(x, out):
    np.divide(1.0, x, out=out, where=MASK)
    np.log(x, out=out, where=x > 0)
    np.add(out, 1e308, out=out, where=MASK)
    return out


def into_two(x, out, other):
    np.divmod(x, x - x, out=(out, other))
    whole = np.modf(x * np.inf, out=(None, other))
    return out + other, whole


def two_onto_operands(x, out):
    out += 1.0
    y = x * 1.0
    z = np.divmod(y, x - x, out=(y, None))
    np.modf(x * np.inf, out=(out, x))
    return y, z


def onto_itself(x):
    x[1:] *= x[:-1] * 1e300
    np.add(x[:-1], x[1:], out=x[1:])
    return x


def at_places(x, out):
    np.add.at(out, [0, 1, 1], 1e308)
    np.multiply.at(out, np.array([1, 1]), x[:2])
    return out


def counts_at_places(x, out):
    n = out.astype(np.int64)
    np.add.at(n, [0, 1, 1], 1)
    np.add.at(out, x.astype(np.int64), 1)
    return n


def counts_at_places_in_floats(x, out):
    np.add.at(out, [0, 0, 1], 1)  # as float64, which is more than fits
    return out


def by_a_number_that_overflows(x):
    y = x.astype(np.float32)
    y *= 1e300
    np.multiply(y, 1e300, out=y, dtype=np.float32)
    return y


def by_a_number_that_a_dtype_narrows(x):
    np.multiply(x, 1e300, out=x, dtype=np.float32, casting="unsafe")
    return x


def by_a_number_that_a_signature_narrows(x):
    np.multiply(1e300, x, x, sig="ff->f", casting="unsafe")
    return x


def masked_onto_its_operand(x):
    np.log(x, out=x, where=x < 1.0)
    np.divide(x, x - x, out=x, where=MASK)
    return x


# ---------------------------------------------------------------------- reductions and methods
def folds(x):
    return x.sum(), np.prod(x * 1e200), np.add.reduce(x), np.add.accumulate(x), np.mean(x)


def folds_into_others(x, out):
    out -= 1.0
    y = x * 10.0
    np.cumsum(y, out=out)
    np.clip(y / 0.0, 0, 1e308, out=out)
    np.mean([y, y], axis=0, out=out)
    np.std(y.reshape(1, 3) * np.ones((2, 1)), axis=0, out=out)
    np.round(y * 1e10, -1, out)
    return out


def folds_where(x):
    return np.sum(x, where=x > 0), x.min(where=x > 0, initial=1e308) * 10.0


def folds_nothing(x):
    return np.mean(x, where=x > 1e309), x.mean(where=x > 1e309), np.log(x)


def folds_too_little(x):
    return (
        x.var(where=x > 0, ddof=1),
        np.var(x, where=x > 0, ddof=1),
        np.std(x, where=x > 0, ddof=1),
    )


def folds_nothing_without_identity(x):
    return x + 1, np.maximum.reduce(x[:0])


def crosses(x):
    return np.multiply.outer(x, x * 10.0), np.divide.outer(x, x - x)


def folds_slices(x, out):
    return np.add.reduceat(x, [0, 2]), np.add.reduceat(out, x.astype(np.int64))


# ---------------------------------------------------------------------- errors
def does_not_fit(x):
    return x + 1.0, np.add(x, np.ones(4))


def is_read_only(x):
    y = x * 2.0
    x.flags.writeable = False
    np.add(y, 1.0, out=x)


def writes_read_only(x, out):
    y = x * 2.0
    np.add(y, 1.0, out=out)
    return y


def cannot_cast(x):
    n = x.astype(np.int64)
    n += 1
    n += 0.5
    return n


def cannot_cast_into(x, out):
    out += 1.0
    np.add(x, 1j, out=out)


def has_no_loop(x):
    y = x * 2.0
    return np.bitwise_and(y, y)


def to_a_negative_power(x):
    n = np.abs(x).astype(np.int64)
    return n + 1, n ** (n - n - 1)


def beyond_the_dtype(x):
    n = x.astype(np.uint8)
    return n + 1, n + 300


def with_an_int_beyond_floats(x):
    return x + 1.0, x * 10**400


def wrong_arguments(x):
    y = x + 1.0
    return np.add(y)


# ---------------------------------------------------------------------- error states of its own
def ignores_inside(x):
    with np.errstate(all="ignore"):
        y = x / (x - x)
    return y, x / (x - x)


def raises_inside(x):
    y = x * 2.0
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):
            y /= x - x
    except FloatingPointError as error:
        print(error)
        return y
    return y


def sets_a_state(x):
    old = np.seterr(all="warn")
    y = x / (x - x)
    np.seterr(**old)
    return y


def out(*values):
    return np.full(3, 5.0), *values


CASES = [
    (divides, [args(floats(*ZEROS)), args(floats(1.0, 2.0, 3.0))]),
    (overflows, [args(floats(*BIG))]),
    (underflows, [args(floats(*SMALL))]),
    (is_invalid, [args(floats(*ZEROS))]),
    (divides_integers, [args(floats(*ZEROS))]),
    (narrows, [args(floats(*BIG)), args(floats(*SMALL))]),
    (casts_to_integers, [args(floats(*ZEROS))]),
    (of_scalars, [args(floats(*BIG))]),
    (of_integer_scalars, [args(floats(1.0, 2.0, 100.0))]),
    (of_a_size, [args(floats(100.0, 2.0, 3.0))]),
    (in_place, [args(floats(*ZEROS))]),
    (into_its_operand, [args(floats(*BIG))]),
    (into_another, [args(floats(*ZEROS), np.full(3, 5.0))]),
    (where_a_mask_is_true, [args(floats(*ZEROS), np.full(3, 1e308))]),
    (into_two, [args(floats(*ZEROS), np.full(3, 5.0), np.full(3, 6.0))]),
    (two_onto_operands, [args(floats(*ZEROS), np.full(3, 5.0))]),
    (onto_itself, [args(floats(*BIG)), args(floats(2.0, 3.0, 4.0))]),
    (at_places, [args(floats(*BIG), np.full(3, 1e308))]),
    (counts_at_places, [args(floats(0, 1, 1), np.zeros(3)), args(floats(0, 1, 9), np.zeros(3))]),
    (
        counts_at_places_in_floats,
        [args(floats(*ZEROS), np.array([5, 2**64 - 1, 0], np.uint64))],
    ),
    (by_a_number_that_overflows, [args(floats(1.0, 2.0, 3.0))]),
    (by_a_number_that_a_dtype_narrows, [args(floats(1.0, 2.0, 3.0))]),
    (by_a_number_that_a_signature_narrows, [args(floats(1.0, 2.0, 3.0))]),
    (masked_onto_its_operand, [args(floats(*ZEROS))]),
    (folds, [args(floats(*BIG)), args(floats(1e308, 1e308, 1e308))]),
    (
        folds_into_others,
        [args(floats(*BIG), np.full(3, 5.0)), args(floats(*ZEROS), np.full(3, 5.0))],
    ),
    (folds_where, [args(floats(*BIG)), args(floats(1e308, 1e308, 1e308)), args(-np.ones(3))]),
    (folds_nothing, [args(floats(*ZEROS))]),
    (folds_too_little, [args(floats(*ZEROS)), args(floats(1.0, 2.0, 4.0))]),
    (folds_nothing_without_identity, [args(floats(*ZEROS))]),
    (crosses, [args(floats(*BIG))]),
    (folds_slices, [args(floats(*ZEROS), np.full(3, 1e308)), args(np.ones(3), np.ones(3))]),
    (does_not_fit, [args(floats(*ZEROS))]),
    (is_read_only, [args(floats(*ZEROS))]),
    (writes_read_only, [args(floats(*ZEROS), np.broadcast_to(np.ones(1), 3))]),
    (cannot_cast, [args(floats(*ZEROS))]),
    (cannot_cast_into, [args(floats(*ZEROS), np.full(3, 5.0))]),
    (has_no_loop, [args(floats(*ZEROS))]),
    (to_a_negative_power, [args(floats(*ZEROS))]),
    (beyond_the_dtype, [args(floats(1.0, 2.0, 3.0))]),
    (with_an_int_beyond_floats, [args(floats(*ZEROS))]),
    (wrong_arguments, [args(floats(*ZEROS))]),
    (ignores_inside, [args(floats(*ZEROS))]),
    (raises_inside, [args(floats(*ZEROS))]),
    (sets_a_state, [args(floats(*ZEROS))]),
]


class Log:
    """What ``np.seterrcall`` takes; prints, so that the differential harness sees it."""

    def write(self, line):
        print("logged", line)

    def __call__(self, kind, flag):
        print("called", kind, flag)


STATES = [
    PLAIN,
    Setting("error", repeats=1),
    *(Setting(errstate={"all": mode}, repeats=1) for mode in ("raise", "ignore", "print", "warn")),
    *(Setting(errstate={"all": mode}, repeats=1) for mode in ("call", "log")),
    Setting(errstate={"divide": "ignore", "over": "raise", "invalid": "warn"}, repeats=1),
]


@pytest.mark.parametrize(
    ("function", "calls"), CASES, ids=lambda value: getattr(value, "__name__", "")
)
def test_ufuncs_raise_and_warn_as_plain_ones(function, calls):
    def fresh(given):
        positional, keyword = given
        # Copies keep what a read-only view is.
        return lambda: (tuple(x.copy() if x.flags.writeable else x for x in positional), keyword)

    before = np.seterrcall(Log())
    try:
        records = assert_same(
            lambda: World(function, [fresh(given) for given in calls]), compile_eager, STATES
        )
    finally:
        np.seterrcall(before)
    seen = [record.outcome[0] == "raised" or record.events for run in records for record in run]
    assert any(seen), "nothing was raised or warned in any state"


def test_these_functions_are_captured():
    nodes = 0
    for function, calls in CASES:
        compiled = compile_eager(function)
        positional, keyword = calls[0]
        with np.errstate(all="ignore"):
            try:
                compiled(*(x.copy() if x.flags.writeable else x for x in positional), **keyword)
            except Exception:  # noqa: BLE001, S110 - some are about errors
                pass
        nodes += captured_nodes(compiled)
    assert nodes >= 100
