"""What happens in the middle of a loop: errors, warnings and interrupts come in their turn, with all that was written before them."""

from __future__ import annotations

import math
import signal
import time
import traceback

import numpy as np
import pytest
from differential import STANDARD_SETTINGS, World, args, assert_same
from loop_programs.registry import wave
from under_test import captured_parts, compile_eager, compile_failing, loops_in
from vm_kit import capture_call

from bcjit.fx_graph import NodeKind
from bcjit.fx_graph.dependencies import owner

CASES = []


def case(*calls):
    """Add a function to the table, with makers of its arguments."""

    def register(fn):
        world = lambda: World(fn, [lambda make=make: args(*make()) for make in calls])
        CASES.append(pytest.param(world, id=fn.__name__))
        return fn

    return register


@case(
    lambda: (wave(20), np.arange(20), np.zeros(20)),
    lambda: (wave(20), np.r_[np.arange(13), 99, 0], np.zeros(20)),
    lambda: (wave(3), np.array([-3, -4]), np.zeros(3)),
    lambda: (wave(3, dtype="f4"), np.array([0, 1, 2, 0]), np.zeros(3)),
)
def index_error_in_a_turn(x, at, out):
    for k in range(len(at)):
        out[k] = 1.0
        out[k] += x[at[k]]
    return out


@case(lambda: (wave(20, dtype="i8"),), lambda: (wave(14),), lambda: ([3, 2, 0, 1],))
def division_by_zero_in_a_turn(x):
    total = 100
    for i in range(len(x)):
        total = total + 7 // int(x[i])
        x[i] = total
    return total


@case(lambda: (np.ones(20),), lambda: (np.zeros(2),), lambda: (np.ones(1),))
def first_thing_of_a_later_turn_over_an_array(x):
    s = 1.0
    for item in x:
        s = 1.0 / s
        x[0] += item
        s = 0.0


@case(lambda: (np.ones((20, 3)), [1.0] * 20), lambda: (np.ones((2, 3)), [2.0, 1.0]))
def first_thing_of_a_later_turn_over_several(table, items):
    s = 1.0
    for i, (row, item) in enumerate(zip(table, items, strict=True)):
        s = 1.0 / s
        row += item + i
        s = 0.0


@case(lambda: (np.ones(20), [3.0] * 15), lambda: (np.ones(3), [1.0, 2.0]))
def first_thing_of_a_later_turn_over_items_of_a_list(x, items):
    s = 1.0
    for item in items:
        s = 1.0 / s
        x[0] += item
        s = 0.0


@case(lambda: (np.arange(20.0),), lambda: (np.arange(2.0),))
def first_thing_of_a_later_turn_backwards(x):
    s = 1.0
    for item in reversed(x):
        s = 1.0 / s
        x[0] += item
        s = 0.0


@case(lambda: (np.ones(20), 3), lambda: (np.ones(2), 0))
def first_thing_of_a_later_turn_that_draws(x, n):
    s = 1.0
    for item in x:
        s = 1.0 / s
        for _ in range(n):
            s += np.random.random()
        s = item - item


@case(lambda: (np.ones(20), 18), lambda: (np.zeros(20), 18), lambda: (np.ones(3), 2))
def error_behind_a_loop_with_two_ways_out(x, n):
    total = 0
    for i in range(n):
        x[i] += 1
        total += 1
        if x[i] > 1.5 and i > 15:
            break
    else:
        total -= n
    y = 7 // total
    return x, y


@case(lambda: (np.ones(20), 18, 18), lambda: (np.zeros(20), 18, 3), lambda: (np.ones(3), 2, 2))
def error_behind_a_loop_that_may_return(x, n, rest):
    for i in range(n):
        x[i] += 1
        if x[i] > 5:
            return x
    return 7 // (n - rest)


@case(lambda: (np.ones(20), 4), lambda: (np.zeros(20), 0))
def error_behind_an_inner_loop_with_two_ways_out(x, n):
    total = 1
    for item in x:
        total = 7 // total
        for i in range(n):
            x[i] += 1
            if x[i] > item + 2:
                break
        total = 0
    return total


@case(lambda: (np.r_[wave(12), 0.0, wave(5)],), lambda: (np.array([0, 0, 3], "f4"),))
def warning_in_a_turn(x):
    out = np.zeros_like(x)
    for i in range(len(x)):
        out[i] = 1.0 / x[i]
        x[i] = i
    return out


@case(lambda: (wave(4) * 1e100, 14), lambda: (np.ones(2, "f4"), 40), lambda: (wave(2), 0))
def overflow_of_arrays_in_a_turn(x, n):
    turns = 0
    for _ in range(n):
        x *= 1e30
        turns += 1
        x -= x[0]
    return x, turns


@case(lambda: (np.zeros(20, "u1"), 20), lambda: (np.zeros(3, "i1"), 3), lambda: (np.zeros(0), 0))
def python_int_too_large_for_its_place(out, n):
    value = 1
    for i in range(n):
        out[i] = value
        value = value * 2 + 1
    return out


@case(lambda: (np.zeros(100, "i8"), 100), lambda: (np.zeros(2), 2))
def python_ints_have_no_end(out, n):
    a, b = 0, 1
    for i in range(n):
        a, b = b, a + b
        if a < 2**62:
            out[i] = a
    return a, b, a % 10**9 + (b >> 40)


@case(lambda: (wave(20), 0.9), lambda: (wave(20), 5.0), lambda: (wave(2, dtype="f4"), -1.0))
def raise_under_a_branch(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            raise ValueError(f"at {i}")
        x[i] = 0
    return x


@case(lambda: (wave(20) + 2, 18), lambda: (wave(20), 18), lambda: (wave(2), 2))
def assert_in_a_turn(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
        assert s > 0, i
    return s


@case(lambda: (wave(20),), lambda: (np.abs(wave(20)),), lambda: (wave(0),))
def domain_error_in_a_turn(x):
    s = 0.0
    for i in range(len(x)):
        s += math.sqrt(x[i])
        x[i] = s
    return s


def scaled(row, weights):
    row *= weights
    return row.reshape(2, -1)


@case(
    lambda: (wave(14, 4), [np.ones(4)] * 13 + [np.ones(3)]),
    lambda: (wave(12, 3), [2.0] * 12),
    lambda: (wave(2, 4, dtype="f4"), [np.ones(4)] * 2),
)
def error_in_an_inlined_function(table, weights):
    total = 0.0
    for row, w in zip(table, weights, strict=True):
        total += scaled(row, w)[0].sum()
    return total


@case(
    lambda: (wave(5, 5), np.full(5, 4)),
    lambda: (wave(5, 5), np.array([4, 4, 5, 4, 4])),
    lambda: (wave(2, 2, dtype="f4"), np.array([0, 3])),
)
def index_error_in_an_inner_loop(a, last):
    for i in range(a.shape[0]):
        for j in range(last[i] + 1):
            a[i, j] = i * j
        a[i] -= 1
    return a


@case(lambda: (wave(15), 3.0), lambda: (wave(15) - 4, 3.0), lambda: (wave(0), 3.0))
def unbound_in_the_first_turn(x, limit):
    for v in x:
        if v > -limit:
            best = v
        x *= 0.5
        limit = limit + best
    return limit


@case(
    lambda: (wave(12), np.arange(14)),
    lambda: (wave(12), np.arange(12)),
    lambda: (wave(1), np.zeros(0, int)),
)
def caught_around_the_loop(x, at):
    done = 0
    try:
        for k in at:
            x[k] = -x[k]
            done += 1
    except IndexError as error:
        return x, done, k, str(error)
    return x, done, "all"


@case(lambda: (wave(15), 0.9), lambda: (wave(15), 2.0), lambda: (wave(2, dtype="f4"), -1.0))
def caught_in_each_turn(x, limit):
    bad = 0
    for i in range(len(x)):
        try:
            if x[i] > limit:
                raise ArithmeticError(i)
            x[i] = 1 // int(x[i] * 3)
        except ArithmeticError:
            bad += 1
        finally:
            x[i] += 1
    return x, bad


@case(lambda: (wave(12), 15), lambda: (wave(12), 11))
def errstate_in_each_turn(x, n):
    for i in range(n):
        with np.errstate(all="ignore"):
            x = np.log(x - i) + 1 / x
    return x


@case(lambda: (wave(4, 3), 12, False), lambda: (wave(4, 3), 12, True))
def read_only_in_a_turn(x, n, locked):
    x.flags.writeable = not locked
    s = 0.0
    for i in range(n):
        s += i
        x[i % 4, 1] = s
    return x


@case(lambda: (wave(15), 15), lambda: (wave(15), 4))
def printed_in_each_turn(x, n):
    s = 0.0
    for i in range(n):
        s += x[i]
        if i % 4 == 3:
            print(i, s)
        x[i] = s
    return s


@pytest.mark.parametrize("world", CASES)
def test_middle_of_a_loop_cannot_be_told_from_plain(world):
    assert_same(world, compile_eager, STANDARD_SETTINGS)


# -- interrupts


def fills(out, n):
    for i in range(n):
        out[i % 1000] = i + 1
    return out


def turns_forever(out, n):
    while True:
        out += 1
        if out[0] > n:
            return out


def nested(out, n):
    for i in range(n):
        for j in range(1000):
            out[j] += 1
    return out


def calls(out, n):
    k = 0
    while k < n:
        k = advanced(out, k)
    return out


def advanced(out, k):
    for _ in range(50):
        k += 1
        out[k % 1000] = k
    return k


# function -> what holds of its array whenever it stops
HALTED = {
    fills: lambda out: out.max() == out[int(out.max() - 1) % 1000] and out.max() > 1000,
    turns_forever: lambda out: out.min() == out.max() > 10,
    nested: lambda out: 0 <= out[0] - out[-1] <= 1 and (np.diff(out) <= 0).all() and out[0] > 1,
    calls: lambda out: out.max() == out[int(out.max()) % 1000] and out.max() > 1000,
}


@pytest.mark.parametrize("fn", HALTED, ids=lambda fn: fn.__name__)
def test_an_interrupt_in_a_long_loop_arrives_at_once(fn):
    # Counted in this process's own time, as the machine may be busy. Any of these loops would last for weeks.
    compiled = compile_eager(fn)
    compiled(np.zeros(1000), 3)
    struck = []

    def strike(number, frame):
        struck.append(time.process_time())
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGPROF, strike)
    out = np.zeros(1000)
    try:
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, 0.1)
        with pytest.raises(KeyboardInterrupt) as info:
            compiled(out, 10**12)
        ended = time.process_time()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert len(struck) == 1
    assert ended - begun < 0.1 + 0.1
    assert HALTED[fn](out)
    frames = traceback.extract_tb(info.value.__traceback__)
    (place,) = [frame for frame in frames if frame.name == fn.__name__]
    first = fn.__code__.co_firstlineno
    # What a signal's handler raises is raised where the part began: see docs/architecture.md.
    assert place.lineno in range(first, first + 6)
    # The function goes on working.
    assert np.array_equal(compiled(np.zeros(1000), 3), fn(np.zeros(1000), 3))


# -- how long capturing takes


def over_range(x, n):
    total = 0.0
    for i in range(n):
        x = x * 0.5 + i
        total += x.sum()
    return x, total


def counted_down(x, n):
    while n > 0:
        x = np.sin(x) + n
        n -= 1
    return x


def two_deep(x, n):
    for i in range(n):
        for j in range(i, n, 2):
            x[j % 3] += i
            if x[0] > 1e3:
                break
    return x


@pytest.mark.parametrize(("fn", "loops"), [(over_range, 1), (counted_down, 1), (two_deep, 2)])
def test_capturing_takes_as_many_steps_however_many_turns_there_are(fn, loops):
    few, many = (capture_call(fn, wave(3), n) for n in (10, 10_000_000))
    assert few.steps == many.steps
    assert few.graph.text() == many.graph.text()
    assert loops_in(many.graph) == loops


# -- three ways out


def three_ways(x, low, high):
    for i in range(len(x)):
        if x[i] > high:
            return -1.0
        if not low < x[i] < high:
            break
    else:
        i = 100
    return float(i)


@pytest.mark.parametrize("limits", [(-9.0, 5.5), (3.5, 90.0), (-9.0, 90.0)])
def test_a_loop_with_three_ways_out_is_one_graph(limits):
    compiled = compile_eager(three_ways)
    x = np.arange(20.0)
    assert compiled(x, *limits) == three_ways(x, *limits)
    assert captured_parts(compiled) == 1


# -- going on behind a loop that was left from within another one: what it drops from the stack is no value any more


def warns_on_the_way_out(x, seen):
    for i in range(len(x)):
        for j in range(i + 1):
            seen[j] += 1
            if x[i] > 3:
                return np.sqrt(-x[i])  # warns, and goes on: two iterators are dropped behind it
    return x[0]


def warns_behind_a_comparison(x, seen):
    i = 0
    while 0 <= i < len(x) - 1:
        for v in x[:i]:
            seen[i] += v
        i += 1
        if x[i] > 3:
            break
    return np.sqrt(-x[i])


@pytest.mark.parametrize("fn", [warns_on_the_way_out, warns_behind_a_comparison])
@pytest.mark.parametrize("setting", STANDARD_SETTINGS, ids=str)
def test_what_warns_on_the_way_out_of_two_loops_goes_on(fn, setting):
    def world():
        return World(
            fn, [lambda: args(np.arange(20.0), np.zeros(20)), lambda: args(np.ones(3), np.zeros(3))]
        )

    assert_same(world, compile_eager, (setting,))
    compiled = compile_eager(fn)
    compiled(np.zeros(3), np.zeros(3))
    assert loops_in(compiled.graphs[0]) == 2


def returns_a_constant(x, v):
    for i in range(len(x)):
        x[i] += 1
        if x[i] == v:
            return 1
    return 2


def returns_a_number(x, v):
    for i in range(len(x)):
        x[i] += 1
        if x[i] == v:
            return i
    return -1


@pytest.mark.parametrize("fn", [returns_a_constant, returns_a_number])
@pytest.mark.parametrize("v", [7.0, 100.0])
def test_a_failure_anywhere_does_no_write_twice(fn, v):
    plain = np.arange(20.0)
    result = fn(plain, v)
    failures = 0
    for at in range(24):
        x = np.arange(20.0)
        compiled = compile_failing(fn, at)
        assert compiled(x, v) == result
        assert np.array_equal(x, plain)
        failures += any(part.bailouts for part in getattr(compiled.report(), "parts", ()))
    assert failures > 3


# -- an input that a trace touches which is made anew


def touches_an_input_in_the_loop(x, n, r):
    s = 0.0
    j = 0
    while j < n:
        j += 1
        if x[0] < r:
            u = float(r)
        s = s + u
    j = 0
    while True:
        j += 1
        if j > n:
            break
        if x[0] < r:
            u = r
        else:
            u = r
        s = s + u
        if x[0] < r:
            break
    return s, j


def test_an_input_first_touched_in_a_turn_is_an_input_of_the_graph():
    compiled = compile_eager(touches_an_input_in_the_loop)
    for given in ((np.arange(3.0) - 1, 3, 0.5), (np.arange(3.0) - 1, 1, 1.25)):
        assert compiled(*given) == touches_an_input_in_the_loop(*given)
    assert captured_parts(compiled) == 1


# -- memory that an index or a branch chooses


def chosen_by_an_index(a, b, n):
    both = (a, b)
    total = 0.0
    for i in range(n):
        total = total - a.sum()
        one = both[i % 2]
        one += 1
        total = total + a.sum()
    return total


def chosen_by_a_branch(a, b, n):
    total = 0.0
    for _ in range(n):
        u, v = a + 1, b * 2
        one = u if a[0] < 1 else v
        total = total - u.sum()
        one += 1
        total = total + u.sum()
    return total


@pytest.mark.parametrize("fn", [chosen_by_an_index, chosen_by_a_branch])
def test_what_is_read_again_behind_a_write_to_a_chosen_array_is_new(fn):
    compiled = compile_eager(fn)
    for start in (0.0, 5.0):
        given, again = ((np.arange(3.0) + start, np.ones(3), 30) for _ in range(2))
        assert compiled(*given) == fn(*again)
        assert np.array_equal(given[0], again[0])
    assert captured_parts(compiled) == 1
    chosen = [
        n
        for g in compiled.graphs[0].nested()
        for n in g.nodes
        if n.alias == "maybe" and n.view_of is None
    ]
    assert chosen
    assert all(owner(node) is None for node in chosen)


# -- what counts is not below 0, and what is taken of an array has a known size


def windows(x):
    out = np.zeros(len(x))
    k = 0
    while k < len(x):
        out[k] = x[:k].sum() + x[k:].mean()
        k += 1
    return out


def test_a_count_that_goes_up_is_never_below_zero():
    compiled = compile_eager(windows)
    assert np.array_equal(compiled(np.arange(9.0)), windows(np.arange(9.0)))
    (loop,) = [n for n in compiled.graphs[0].nodes if n.kind is NodeKind.LOOP]
    sizes = [
        str(n.meta[0])
        for g in loop.bodies[0].nested()
        for n in g.nodes
        if n.name.startswith("getitem")
    ]
    assert any("min(" in size and "k" in size for size in sizes), sizes
