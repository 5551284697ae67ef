"""Loops and branches as functions: what they compute, plain and compiled, and what they say of wrong arguments."""

from __future__ import annotations

import doctest
import traceback

import numpy as np
import pytest

import bcjit
from bcjit import structured
from bcjit.errors import ArgumentError, ArgumentTypeError
from bcjit.frame_hook import is_eligible, may_compile_callee

X = np.arange(12.0).reshape(4, 3) - 3
V = X[:, 1].copy()


def same(one, other):
    if type(one) is tuple:
        assert type(other) is tuple
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
        return
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)
    np.testing.assert_array_equal(one, other)


def agree(form, written, *args):
    """A form is what the loop written out is, plain and compiled, and again with another length."""
    expected = written(*args)
    same(form(*args), expected)
    compiled = bcjit.compile(form)
    for _ in range(2):
        same(compiled(*args), expected)
    shorter = tuple(a[:-1] if isinstance(a, np.ndarray) else a for a in args)
    same(compiled(*shorter), written(*shorter))


# ---------------------------------------------------------------------- cond
def test_cond_calls_one_of_two():
    def form(x, y):
        return bcjit.cond(x.sum() > y.sum(), np.subtract, lambda a, b: a @ b, x, y)

    def written(x, y):
        return x - y if x.sum() > y.sum() else x @ y

    agree(form, written, V, V)
    agree(form, written, V, V - 1)


def test_cond_leaves_the_other_side_alone():
    def fails(x):
        raise RuntimeError

    for form in (
        lambda x: bcjit.cond(x.size, np.sum, fails, x),
        lambda x: bcjit.cond(0, fails, np.sum, x),
    ):
        agree(form, np.sum, V)


@pytest.mark.parametrize("pred", [True, 0, np.True_, np.array(2.0), "text", None])
def test_cond_asks_as_an_if_does(pred):
    assert bcjit.cond(pred, lambda: "yes", lambda: "no") == ("yes" if pred else "no")


def test_an_array_with_axes_decides_nothing():
    with pytest.raises(
        ArgumentError, match=r"pred: one truth value is expected, got float64\[4\]; use \.any"
    ):
        bcjit.cond(V, abs, abs, V)
    with pytest.raises(
        ArgumentError, match=r"cond_fn: one truth value is expected, got bool\[4, 3\]"
    ):
        bcjit.while_loop(lambda x: x > 0, abs, X)


# ---------------------------------------------------------------------- while_loop
def test_while_loop_ends_when_its_test_does():
    def form(x):
        return bcjit.while_loop(lambda v: abs(v).max() > 1, lambda v: v * 0.5, x)

    def written(x):
        while abs(x).max() > 1:
            x = x * 0.5
        return x

    agree(form, written, V)
    agree(form, written, V * 0)


def test_while_loop_carries_tuples():
    def form(a, b):
        return bcjit.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (a, b))

    assert form(48, 36) == bcjit.compile(form)(48, 36) == (12, 0)


# ---------------------------------------------------------------------- fori_loop
@pytest.mark.parametrize(
    ("lower", "upper"), [(0, 3), (2, 2), (3, 0), (np.int8(1), np.array(3)), (-2, True)]
)
def test_fori_loop_counts(lower, upper):
    def form(x, lower, upper):
        return bcjit.fori_loop(lower, upper, lambda i, v: v * 2 + i, x)

    def written(x, lower, upper):
        for i in range(lower, upper):
            x = x * 2 + i
        return x

    expected = written(X, lower, upper)
    same(form(X, lower, upper), expected)
    same(bcjit.compile(form)(X, lower, upper), expected)


def test_fori_loop_may_write_in_place():
    def form(x):
        def add(i, y):
            y[i] += y[i - 1]
            return y

        return bcjit.fori_loop(1, x.shape[0], add, x.copy())

    agree(form, lambda x: np.cumsum(x, axis=0), X)


# ---------------------------------------------------------------------- scan
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_carries_and_collects(reverse):
    def form(x):
        return bcjit.scan(lambda c, r: (c + r, c * r), np.zeros(3), x, reverse=reverse)

    def written(x):
        carry, out = np.zeros(3), []
        for row in x[::-1] if reverse else x:
            out.append(carry * row)
            carry = carry + row
        return carry, np.stack(out[::-1] if reverse else out)

    agree(form, written, X)


def test_scan_of_scalars_gives_an_array_with_one_axis():
    def form(v):
        return bcjit.scan(lambda c, x: (0.5 * c + x, c > x), 0.0, v)

    def written(v):
        carry, out = 0.0, []
        for x in v:
            out.append(carry > x)
            carry = 0.5 * carry + x
        return carry, np.stack(out)

    agree(form, written, V)


def test_scan_of_several_arrays_collects_tuples():
    def step(carry, xs):
        a, (b, c) = xs
        return carry + b, (a * carry, None, (b, c.sum()))

    def form(x, v):
        return bcjit.scan(step, 1, (x, (v, x)))

    def written(x, v):
        carry, one, two, three = 1, [], [], []
        for a, b, c in zip(x, v, x, strict=True):
            one.append(a * carry)
            two.append(b)
            three.append(c.sum())
            carry = carry + b
        return carry, (np.stack(one), None, (np.stack(two), np.stack(three)))

    agree(form, written, X, V)


def test_scan_without_xs_counts_by_length():
    def form(x):
        return bcjit.scan(lambda c, nothing: (c * 2, c if nothing is None else None), x, None, 4)

    def written(x):
        return x * 16, np.stack([x, x * 2, x * 4, x * 8])

    agree(form, written, V)


def test_scan_without_a_turn_gives_its_start_and_nothing():
    start = object()
    assert bcjit.scan(print, start, X[:0]) == (start, None)
    assert bcjit.scan(print, start, length=0) == (start, None)
    assert bcjit.compile(lambda x: bcjit.scan(print, 1, x))(X[:0]) == (1, None)


def test_a_single_turn_is_a_stack_of_one():
    agree(lambda x: bcjit.scan(lambda c, r: (r, r), 0, x[-1:]), lambda x: (x[-1], x[-1:].copy()), X)


@pytest.mark.parametrize("dtype", [">f8", "?", "U3", "complex64", "O", "datetime64[s]", "i1"])
def test_what_is_collected_is_what_np_stack_gives(dtype):
    x = np.array([[1, 0], [0, 1]]).astype(dtype)
    same(bcjit.scan(lambda c, r: (c, r), 0, x)[1], np.stack(list(x)))
    same(bcjit.map(lambda r: r, x), np.stack(list(x)))


def test_what_is_collected_is_a_copy():
    def step(buffer, x):
        buffer += x
        return buffer, buffer

    agree(lambda v: bcjit.scan(step, np.zeros(2), v)[1], lambda v: np.stack([v.cumsum()] * 2, 1), V)


# ---------------------------------------------------------------------- map
def test_map_stacks_results():
    def form(x):
        return bcjit.map(lambda r: (r[::-1], r.max(), (1, None)), x)

    def written(x):
        n = len(x)
        return x[:, ::-1].copy(), x.max(1), (np.stack([1] * n), None)

    agree(form, written, X)


def test_map_takes_tuples_of_arrays():
    agree(lambda x, v: bcjit.map(lambda r: r[0] * r[1], (x, v)), lambda x, v: x * v[:, None], X, V)


def test_map_of_nothing_says_that_no_shape_is_known():
    with pytest.raises(ArgumentError, match="xs: at least one row is expected"):
        bcjit.map(abs, X[:0])


# ---------------------------------------------------------------------- arguments
WRONG = [
    (
        lambda: bcjit.cond(True, 1, abs),
        ArgumentTypeError,
        "true_fn: a function is expected, got int: 1",
    ),
    (
        lambda: bcjit.cond(True, abs, "f"),
        ArgumentTypeError,
        "false_fn: a function is expected, got str: 'f'",
    ),
    (lambda: bcjit.while_loop(None, abs, 1), ArgumentTypeError, "cond_fn: a function is expected"),
    (
        lambda: bcjit.while_loop(abs, X, 1),
        ArgumentTypeError,
        "body_fn: a function is expected, got ndarray",
    ),
    (lambda: bcjit.fori_loop(0, 2, 3, 1), ArgumentTypeError, "body_fn: a function is expected"),
    (
        lambda: bcjit.fori_loop(0.5, 2, max, 1),
        ArgumentTypeError,
        "lower: an integer is expected, got float: 0.5; write int(lower)",
    ),
    (
        lambda: bcjit.fori_loop(0, V, max, 1),
        ArgumentTypeError,
        "upper: an integer is expected, got float64[4]; write int(upper)",
    ),
    (lambda: bcjit.scan(1, 0, X), ArgumentTypeError, "f: a function is expected"),
    (
        lambda: bcjit.scan(max, 0),
        ArgumentError,
        "length: the number of turns is expected where there are no xs",
    ),
    (lambda: bcjit.scan(max, 0, None, -1), ArgumentError, "length: 0 or more is expected, got -1"),
    (
        lambda: bcjit.scan(max, 0, X, 3),
        ArgumentError,
        "length: 3, but xs has 4 rows; leave one of them out",
    ),
    (
        lambda: bcjit.scan(max, 0, X, 4.0),
        ArgumentTypeError,
        "length: an integer is expected, got float: 4.0",
    ),
    (
        lambda: bcjit.scan(max, 0, [X, X]),
        ArgumentTypeError,
        "xs: an array or a tuple of arrays is expected, got list; write np.asarray(xs)",
    ),
    (
        lambda: bcjit.scan(max, 0, (X, (V, V[1:]))),
        ArgumentError,
        "xs[1]: arrays of one length are expected, but xs[1][0] has 4 rows and xs[1][1] has 3",
    ),
    (
        lambda: bcjit.scan(max, 0, ()),
        ArgumentError,
        "xs: an array is expected, got an empty tuple; give length",
    ),
    (
        lambda: bcjit.map(abs, np.array(1.0)),
        ArgumentError,
        "xs: an array with rows is expected, got float64[]; write np.atleast_1d(xs)",
    ),
    (
        lambda: bcjit.map(max, 3),
        ArgumentTypeError,
        "xs: an array or a tuple of arrays is expected, got int",
    ),
    (
        lambda: bcjit.scan(lambda c, x: c, 0, X),
        ArgumentTypeError,
        "f: it must return a tuple (carry, y), and returned int",
    ),
    (
        lambda: bcjit.scan(lambda c, x: (c, c, c), 0, X),
        ArgumentTypeError,
        "f: it must return a tuple (carry, y), and returned a tuple of 3",
    ),
    (
        lambda: bcjit.scan(lambda c, x: (c, {}), 0, X),
        ArgumentTypeError,
        "f: arrays, numbers, None and tuples of them can be collected, not dict",
    ),
    (
        lambda: bcjit.scan(lambda c, x: (c + 1, x[c:]), 0, X),
        ArgumentError,
        "f: what is collected must have one shape and dtype: row 1 gave float64[2], the first turn float64[3];"
        " convert it with np.asarray(y, dtype)",
    ),
    (
        lambda: bcjit.scan(lambda c, x: (1.5, c), 0, X),
        ArgumentError,
        "row 1 gave float64[], the first turn int64[]",
    ),
    (
        lambda: bcjit.scan(lambda c, x: (None, c), 0, X),
        ArgumentTypeError,
        "f: each turn must return outputs of one structure: row 1 gave None, the first turn an array or number",
    ),
    (
        lambda: bcjit.scan(lambda c, x: ((1, ""), c), (1, None), X),
        ArgumentTypeError,
        "f: each turn must return outputs of one structure: row 1 gave str, the first turn None",
    ),
    (
        lambda: bcjit.scan(lambda c, x: ((1,), c), (1, None), X),
        ArgumentTypeError,
        "row 1 gave (an array or number), the first turn (an array or number, None)",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), WRONG)
def test_wrong_arguments_are_told_with_what_to_do(call, error, message):
    for each in (call, bcjit.compile(call)):
        with pytest.raises(error) as told:
            each()
        assert type(told.value) is error
        assert message in str(told.value)


def test_a_form_that_cannot_be_inlined_is_compiled_by_itself(capsys):
    def form(x):
        def turn(carry, row):
            carry = carry + row
            print(carry.sum())
            return carry, carry * 2

        return bcjit.scan(turn, np.zeros(3), x)

    expected = form(X)
    printed = capsys.readouterr().out
    compiled = bcjit.compile(form)
    same(compiled(X), expected)
    assert capsys.readouterr().out == printed
    parts = compiled.report().parts
    assert any(part.function == "scan" and part.nodes for part in parts)


def test_forms_are_code_of_the_program():
    assert may_compile_callee(bcjit.scan)
    assert is_eligible(bcjit.scan.__code__, bcjit.scan)
    assert not may_compile_callee(bcjit.disable)
    assert not is_eligible(bcjit.disable.__code__, bcjit.disable)


def test_what_a_body_raises_comes_from_its_line():
    def body(i, v):
        return v / (i - 2)

    def form():
        return bcjit.fori_loop(0, 5, body, 1)

    told = []
    for each in (form, bcjit.compile(form)):
        with pytest.raises(ZeroDivisionError) as raised:
            each()
        rows = traceback.extract_tb(raised.value.__traceback__)
        told.append([(row.name, row.lineno) for row in rows][1:])
    assert told[0] == told[1]
    assert [name for name, _ in told[0]] == ["form", "fori_loop", "body"]


def test_examples_print_what_they_say():
    assert doctest.testmod(structured) == (0, doctest.testmod(structured).attempted)
    assert doctest.testmod(structured).attempted > 10
