"""The harness itself: it accepts the identity, and catches each of a set of wrong transforms."""

from __future__ import annotations

import functools
import types
import warnings

import numpy as np
import pytest
from corpus import ENTRIES
from corpus.registry import args, floats, world
from differential import STANDARD_SETTINGS, Setting, assert_same, compare, observe

IDS = [entry.name for entry in ENTRIES]


@pytest.mark.parametrize("entry", ENTRIES, ids=IDS)
def test_identity_cannot_be_told_from_plain(entry):
    assert_same(entry.make, lambda fn: fn, STANDARD_SETTINGS, entry.name)


# Functions tagged "self" are changed between calls, which a copy does not see.
@pytest.mark.parametrize(
    "entry", [e for e in ENTRIES if "self" not in e.tags], ids=lambda e: e.name
)
def test_a_copy_of_the_function_cannot_be_told_from_plain(entry):
    def copy(fn):
        fresh = types.FunctionType(
            fn.__code__.replace(), fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__
        )
        fresh.__kwdefaults__ = fn.__kwdefaults__
        fresh.__qualname__ = fn.__qualname__
        return fresh

    assert_same(entry.make, copy, label=entry.name)


def test_corpus_is_large_and_mostly_without_loops():
    assert len(ENTRIES) >= 60
    assert sum("loops" in entry.tags for entry in ENTRIES) >= 10
    assert sum(entry.expects_capture for entry in ENTRIES) >= 60


def nudge(value):
    """Return the value one unit in the last place larger, where there is one."""
    if isinstance(value, tuple):
        return tuple(map(nudge, value))
    return np.nextafter(value, np.inf) if isinstance(value, np.ndarray) else value


def shown(x, y):
    z = x * y
    print("z", z.sum())
    return z[1:], x[1:]


def failing(x, y):
    try:
        raise KeyError("first")
    except KeyError:
        return x[7] + y


def make_shown():
    return world(shown, lambda: args(floats(3), 2.0), lambda: args(floats(4, 2), 0.5))


def make_failing():
    return world(failing, lambda: args(floats(3), 2.0))


def mutant(make):
    """Turn a function (fn, *args) into a transform."""

    def transform(fn):
        @functools.wraps(fn)
        def wrapped(*positional, **keyword):
            return make(fn, *positional, **keyword)

        return wrapped

    return transform


@mutant
def off_by_one_ulp(fn, x, y):
    z, view = fn(x, y)
    return nudge(z), view


@mutant
def copy_instead_of_view(fn, x, y):
    z, view = fn(x, y)
    return z, view.copy()


@mutant
def contiguous_base_lost(fn, x, y):
    z, view = fn(x, y)
    return z.copy(), view


@mutant
def extra_warning(fn, x, y):
    warnings.warn("extra", stacklevel=2)
    return fn(x, y)


@mutant
def lost_print(fn, x, y):
    return (x * y)[1:], x[1:]


@mutant
def list_for_tuple(fn, x, y):
    return list(fn(x, y))


@mutant
def argument_written(fn, x, y):
    result = fn(x, y)
    x[0] = np.nextafter(x[0], 9e9)
    return result


@mutant
def random_number_drawn(fn, x, y):
    np.random.rand()
    return fn(x, y)


@mutant
def error_state_left(fn, x, y):
    np.seterr(divide="ignore")
    return fn(x, y)


@mutant
def filter_added(fn, x, y):
    warnings.filterwarnings("ignore", message="never")
    return fn(x, y)


@mutant
def other_dtype_of_equal_value(fn, x, y):
    z, view = fn(x, y)
    return z.astype(">f8"), view


@mutant
def negative_zero(fn, x, y):
    z, view = fn(x, y)
    return z, np.where(view == 0, -view, view) if y == 2.0 else view


def moved_lines(fn):
    """Return the function moved down by one line."""
    code = fn.__code__.replace(co_firstlineno=fn.__code__.co_firstlineno + 1)
    return types.FunctionType(code, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)


def renamed(fn):
    """Return the function under another code name."""
    return types.FunctionType(fn.__code__.replace(co_name="resume"), fn.__globals__)


def context_dropped(fn):
    def failing(x, y):
        return x[7] + y

    positions = fn.__code__.co_firstlineno
    code = failing.__code__.replace(
        co_firstlineno=positions, co_filename=fn.__code__.co_filename, co_qualname="failing"
    )
    # Line 5 of the original is where it raises: push this one down to it.
    return types.FunctionType(code.replace(co_firstlineno=positions + 3), fn.__globals__)


SHOWN_MUTANTS = {
    "off_by_one_ulp": (off_by_one_ulp, "outcome"),
    "copy_instead_of_view": (copy_instead_of_view, "outcome"),
    "contiguous_base_lost": (contiguous_base_lost, "outcome"),
    "extra_warning": (extra_warning, "events"),
    "lost_print": (lost_print, "events"),
    "list_for_tuple": (list_for_tuple, "outcome"),
    "argument_written": (argument_written, "arguments"),
    "random_number_drawn": (random_number_drawn, "random_state"),
    "error_state_left": (error_state_left, "error_state"),
    "filter_added": (filter_added, "filters"),
    "other_dtype_of_equal_value": (other_dtype_of_equal_value, "outcome"),
    "negative_zero": (negative_zero, "outcome"),
    "moved_lines": (moved_lines, "events"),
    "renamed": (renamed, "events"),
}


@pytest.mark.parametrize("name", SHOWN_MUTANTS)
def test_wrong_transform_is_caught(name):
    transform, part = SHOWN_MUTANTS[name]
    with pytest.raises(AssertionError, match=part):
        assert_same(make_shown, transform)


FAILING_MUTANTS = {
    "moved_lines": (moved_lines, "traceback"),
    "renamed": (renamed, "traceback"),
    "context_dropped": (context_dropped, "__context__"),
}


@pytest.mark.parametrize("name", FAILING_MUTANTS)
def test_wrong_traceback_is_caught(name):
    transform, part = FAILING_MUTANTS[name]
    with pytest.raises(AssertionError, match=part):
        assert_same(make_failing, transform)


def run_pair(plain, other, *calls, setting=Setting()):
    return compare(observe(plain, calls, setting), observe(other, calls, setting))


def test_other_exception_text_and_cause_are_caught():
    def raises(cause, text):
        def fn():
            raise ValueError(text) from cause

        return fn

    assert run_pair(raises(None, "a"), raises(None, "a"), args) == []
    assert any("str" in line for line in run_pair(raises(None, "a"), raises(None, "b"), args))
    lines = run_pair(raises(None, "a"), raises(KeyError("k"), "a"), args)
    assert any("__cause__" in line for line in lines)


def test_context_of_the_caller_is_seen():
    def fn():
        raise ValueError("inner")

    record = observe(fn, [args], Setting(in_except=True, repeats=1))[0]
    assert "being handled" in repr(record.outcome)


def test_same_list_twice_is_told_from_two_equal_lists():
    def one():
        a = [1]
        return [a, a]

    def two():
        return [[1], [1]]

    assert run_pair(one, one, args) == []
    assert any("outcome" in line for line in run_pair(one, two, args))


def test_argument_returned_is_told_from_an_equal_object():
    def same(x):
        return x

    calls = (lambda: args(1.5), lambda: args((1, 2.5)), lambda: args(np.float64(3)))
    assert run_pair(same, same, *calls) == []
    assert len(run_pair(same, lambda x: type(x)(x) + 0 * x if x == 1.5 else x, *calls)) >= 1


def test_warning_order_relative_to_prints_is_seen():
    def a():
        print("p")
        warnings.warn("w", stacklevel=1)

    def b():
        warnings.warn("w", stacklevel=1)
        print("p")

    assert any("events" in line for line in run_pair(a, b, args))


def test_second_warning_of_a_line_is_hidden_under_default_filters():
    def fn():
        warnings.warn("w", stacklevel=1)

    first, second = observe(fn, [args], Setting("default"))
    assert first.events and not second.events
    assert [bool(r.events) for r in observe(fn, [args], Setting("always"))] == [True, True]


def test_exception_left_being_handled_is_seen():
    record = observe(lambda: None, [args], Setting(in_except=True, repeats=1))[0]
    assert record.exception_state.startswith("Outer")


def test_distance_between_views_of_one_array_is_seen():
    def a(x):
        return x[:2]

    def b(x):
        return x[2:]

    calls = (lambda: args(np.ones(4)),)
    assert any("memory" in line for line in run_pair(a, b, *calls))
