"""Loops, comprehensions, iterators, generators, ``try`` and ``with``: how they are captured, and that they are as plain Python's."""

from __future__ import annotations

import contextlib
import itertools
import signal
import sys
import traceback

import numpy as np
import pytest
from differential import PLAIN, Setting, World, args, assert_same
from under_test import captured_nodes, compile_eager

import bcjit
from bcjit import config

X = np.arange(1.0, 6.0)


def same(fn, *calls, settings=(PLAIN,)):
    assert_same(lambda: World(fn, calls), compile_eager, settings)


def captures(compiled) -> int:
    return sum(cache.captures for cache in compiled._caches)


# ---------------------------------------------------------------------- one turn is captured
def step_by_step(x, n):
    total = 0.0
    for i in range(n):
        x = x * 0.5 + i
        total += x.sum()
    return x, total


def until_small(x, tolerance):
    turns = 0
    while np.abs(x).max() > tolerance:
        x = x * 0.5
        turns += 1
    return x, turns


def count_down(x, n):
    while n > 0:
        x = x + n
        n -= 1
    return x, n


@pytest.mark.parametrize(
    ("fn", "few", "many"),
    [(step_by_step, 5, 5000), (until_small, 1.0, 1e-200), (count_down, 5, 5000)],
)
def test_capturing_takes_as_long_however_many_turns_there_are(fn, few, many):
    counts = []
    for bound in (few, many):
        compiled = compile_eager(fn)
        assert repr(compiled(X, bound)) == repr(fn(X, bound))
        counts.append((captures(compiled), captured_nodes(compiled)))
    assert counts[0] == counts[1]
    before = captures(compiled)
    for bound in (few, many):
        assert repr(compiled(X, bound)) == repr(fn(X, bound))
    assert captures(compiled) == before


def test_a_loop_of_known_few_turns_is_unrolled_into_one_graph():
    def fn(x, weights):
        for i, weight in enumerate(weights):
            x = np.tanh(x * weight + i)
        for _ in range(3):
            x = x + 1
        return x

    compiled = compile_eager(fn)
    weights = [X * k for k in range(4)]
    assert np.array_equal(compiled(X, weights), fn(X, weights))
    (graph,) = compiled.graphs
    assert graph.count == 4 * 3 + 3
    with config.override(unroll_limit=2, loops=False):
        compiled.reset()
        assert np.array_equal(compiled(X, weights), fn(X, weights))
        assert len(compiled.graphs) > 1


def test_an_unrolled_loop_that_breaks_goes_on_at_its_turn():
    def fn(x, items):
        for i, (a, b) in enumerate(zip(items, reversed(items), strict=False), 5):
            x = x + a * b
            if i == 6:
                print(x.sum())
        for name in {"a": 1, "b": 2}:
            print(name)
            x = x * 2
        for k in range(9, 0, -4):
            print(k)
            x = x - k
        return x

    same(fn, lambda: args(X, [1.0, X, 3]), lambda: args(X, [2]), lambda: args(X, []))


def test_a_value_that_counts_the_turns_is_not_compiled_for():
    def fn(x, items, table):
        total = x * 0
        for i in range(len(items)):
            total = total + items[i] * table[i % 3]
        return total

    compiled = compile_eager(fn)
    items = [X * k for k in range(40)]
    table = {0: 1.0, 1: 2.0, 2: 0.5}
    for _ in range(2):
        assert np.array_equal(compiled(X, items, table), fn(X, items, table))
    assert captures(compiled) < 12
    assert compiled._caches[0].plain_calls() == 0


def test_long_lists_are_not_taken_apart():
    def fn(x, n):
        out = []
        for i in range(n):
            out.append(x * i)
        return (
            np.array(out),
            np.stack(out).sum(axis=0),
            sum(out),
            list(map(np.sum, out)),
            max(map(np.max, out)),
        )

    compiled = compile_eager(fn)
    for n in (300, 200, 40, 33, 250, 60, 70, 80, 90, 100):
        assert repr(compiled(X, n)) == repr(fn(X, n))
    assert captures(compiled) < 20
    assert max(len(graph.inputs) for graph in compiled.graphs) < 40


def test_the_end_of_a_list_that_grows_by_the_turn_is_not_compiled_for():
    def fn(x, n):
        path = [x]
        for i in range(n):
            path.append(path[-1] * 0.5 + path[0])
            print(f"{i:>3} {path[-1].sum():.2f}")
        return path[-1], len(path)

    compiled = compile_eager(fn)
    for n in (40, 3, 60):
        assert repr(compiled(X, n)) == repr(fn(X, n))
    assert captures(compiled) < 16
    assert compiled._caches[0].plain_calls() == 0


# ---------------------------------------------------------------------- loops left to Python
def test_an_idle_loop_stays_in_python_and_what_is_behind_it_is_captured():
    def fn(x, n):
        found = []
        for i in range(n):
            for j in range(i):
                found.append(j)
        return np.sin(x) * sum(found)

    compiled = compile_eager(fn)
    for n in (30, 0, 1, 2, 50):
        assert np.array_equal(compiled(X, n), fn(X, n)), n
    assert any("BRK025" in str(p.code) for p in compiled.report().problems)
    assert captured_nodes(compiled) >= 2


def test_items_read_one_by_one_are_no_work():
    def fn(a, b):
        for i in range(1, len(a)):
            a[i] = a[i - 1] * 0.5 + b[i]
        return a * 2

    compiled = compile_eager(fn)
    with config.override(loops=False):
        for n in (20, 1, 0, 3):
            assert np.array_equal(compiled(np.ones(n), np.arange(n)), fn(np.ones(n), np.arange(n)))
    assert "BRK025" in {p.code for p in compiled.report().problems}


def test_idle_loops_with_every_way_out():
    def fn(x, n, stop):
        found = None
        k = 0
        for i in range(n):
            try:
                if i == stop:
                    found = i
                    break
                if i % 2:
                    continue
                k += 10 // (i - 4)
            except ZeroDivisionError:
                k += 100
            if k > 1000:
                return x * k
        else:
            k = -k
        while True:
            k += 1
            if k % 7 == 0:
                break
        return x + k, found, i

    same(
        fn,
        *(
            (lambda n=n, stop=stop: args(X, n, stop))
            for n, stop in [(9, 20), (9, 5), (9, 4), (1, 1), (0, 0), (40, 33)]
        ),
    )


def test_a_loop_with_work_in_an_inner_loop_is_not_idle():
    def fn(a):
        n = a.shape[0]
        out = np.zeros_like(a)
        for i in range(n):
            for j in range(i + 1):
                out[i, j] = (a[i, :j] * a[j, :j]).sum()
        return out

    compiled = compile_eager(fn)
    a = np.arange(36.0).reshape(6, 6)
    for _ in range(2):
        assert np.array_equal(compiled(a), fn(a))
    assert compiled.report().problems == ()


def test_a_loop_that_calls_what_is_compiled_by_itself_is_not_idle():
    def work(x, log):
        log.append(1)
        print("working")
        return np.sort(x * 2)

    def fn(x, n):
        log = []
        for _ in range(n):
            work(x, log)
        return len(log)

    compiled = compile_eager(fn)
    assert compiled(X, 20) == 20
    assert compiled.report().problems == ()
    assert (
        sum(
            entry.hits for cache in compiled._caches for entry in cache.entries if entry.graph.count
        )
        >= 15
    )


# ---------------------------------------------------------------------- iterators and generators
def test_iterators_made_in_the_frame_live_on_behind_a_break():
    def fn(items, more):
        a = iter(items)
        b = enumerate(more, 3)
        c = zip(items, more, strict=False)
        d = map(np.negative, items)
        e = filter(None, (0, 1, 0, 2))
        f = reversed(items)
        g = itertools.chain((1,), more)
        h = iter({"k": 1, "m": 2})
        taken = [next(it) for it in (a, b, c, d, e, f, g, h)]
        print(len(taken))
        rest = [list(it) for it in (a, b, c, d, e, f, g, h)]
        return taken, rest, [type(it) for it in (a, b, c, d, e, f, g, h)]

    same(fn, lambda: args([X, X + 1, X * 2], (7, 8)), lambda: args([X, X], [1, 2, 3]))


def test_a_strict_zip():
    def fn(x, items, more, *rest):
        for a, b in zip(items, more, strict=True):
            x = x + a * b
        pairs = zip(items, more, *rest, strict=True)
        first = next(pairs, None)
        print(first)
        return x, first, list(pairs), next(pairs, "none")

    calls = [(2, 2), (0, 0), (1, 2), (2, 1), (3, 2), (2, 2, 3), (2, 3, 2), (3, 2, 2)]
    same(fn, *(lambda c=c: args(X, *([X] * n for n in c)) for c in calls))
    compiled = compile_eager(fn)
    compiled(X, [X, X], [X, X])
    assert compiled.graphs[0].count == 4  # both turns


def test_sum_of_numpy_s_floats_is_captured():
    """They are floats, but none to the sum that Python makes of floats with compensation."""

    def fn(items, start):
        return sum(item.max() for item in items), sum((item[0] for item in items), start)

    large = [X * 1e16, X, -X * 1e16, X]
    same(fn, lambda: args(large, 0.5), lambda: args(large, 1), lambda: args([], 0.5))
    compiled = bcjit.compile(fn, backend="eager", fullgraph=True)
    compiled(large, 0.5)
    assert len(compiled.graphs) == 1


def test_exhausted_iterators_stay_so():
    def fn(items):
        it = iter(items)
        first = list(it)
        print("cut")
        items.append(5)
        return first, list(it), next(it, "none")

    same(fn, lambda: args([1, 2]), lambda: args([]))


def test_a_dict_that_changes_while_it_is_iterated_over():
    def fn(x):
        table = {"a": x, "b": x}
        for key in table:
            table[key + "!"] = x * 2
        return table

    same(fn, lambda: args(X))


def test_generators_are_interpreted_lazily():
    def fn(x, items):
        log = []

        def gives():
            for k, item in enumerate(items):
                log.append(("given", k))
                yield x * item

        total = 0
        for value in gives():
            log.append("taken")
            total = total + value
            if total.size > 100:
                break
        found = any(item > 1 for item in items)
        every = all(item > 1 for item in items)
        return total, log, found, every, sum(i * i for i in items), list(gives())

    same(fn, lambda: args(X, (1, 2, 3)), lambda: args(X, ()))
    compiled = compile_eager(fn)
    compiled(X, (1, 2))
    assert len(compiled.graphs) <= 2


def test_a_generator_that_lives_on_is_a_real_one():
    def fn(x, n):
        def gives():
            for k in range(n):
                yield x * k

        it = gives()
        first = next(it)
        print(first.sum())
        return first, list(it), it, it.gi_frame is None

    def without_address(x, n):
        first, rest, it, done = fn(x, n)
        return first, rest, type(it), done

    same(without_address, lambda: args(X, 3), lambda: args(X, 1))


def test_a_generator_with_finally_is_closed_when_python_closes_it():
    def fn(x, items):
        log = []

        def gives():
            try:
                for item in items:
                    yield item * x
            finally:
                log.append("closed")

        found = any(value.sum() > 20 for value in gives())
        return found, log

    same(fn, lambda: args(X, (1, 2, 3)), lambda: args(X, (0,)))


def test_comprehension_variables_do_not_leak():
    def fn(x, items):
        i = "outer"
        squares = [i * x for i in items]
        table = {i: i * 2 for i in items if i}
        nested = [[j + i for j in range(i)] for i in items]
        return i, squares, table, nested

    same(fn, lambda: args(X, (0, 1, 2)), lambda: args(X, range(30)), lambda: args(X, []))


def test_comprehension_that_raises_restores_its_variable():
    def fn(x, items):
        i = "outer"
        try:
            [x / (1 // i) for i in items]
        except ZeroDivisionError:
            return i, x
        return i

    same(
        fn, lambda: args(X, [1, 0]), lambda: args(X, list(range(1, 40))), lambda: args(X, [0.5, 0])
    )


# ---------------------------------------------------------------------- try and with
def test_capture_goes_on_in_and_behind_try_and_with():
    @contextlib.contextmanager
    def logged(log):
        log.append("in")
        try:
            yield log
        except KeyError:
            log.append("swallowed")
        finally:
            log.append("out")

    def fn(x, key):
        log = []
        table = {"a": x}
        with logged(log):
            y = x * 2
            z = table[key] + y
            y = z + y
        try:
            x = np.linalg.inv(np.outer(x, x) * (key != "a") + np.eye(len(x)))
        except np.linalg.LinAlgError as error:
            log.append(str(error))
        finally:
            y = y * x.sum()
        return x, y, log

    same(fn, lambda: args(X, "a"), lambda: args(X, "b"))
    compiled = compile_eager(fn)
    compiled(X, "a")
    assert captured_nodes(compiled) >= 6


def raiser(x, kind):
    if kind == 1:
        raise ValueError("one")
    if kind == 2:
        return x[100]
    if kind == 3:
        return int("three")
    return x + 1


def test_exceptions_carry_the_frames_and_contexts_of_plain_python():
    def fn(x, kind, again):
        try:
            try:
                y = raiser(x, kind) * 2
            except ValueError as error:
                if again:
                    raise KeyError("inner") from error
                y = x - 1
            except IndexError:
                y = x * 0
                if again:
                    raise
            else:
                y = y + 1
        finally:
            x = x + 3
        return x, y

    calls = [(k, again) for k in range(4) for again in (False, True)]
    same(fn, *((lambda k=k, again=again: args(X, k, again)) for k, again in calls))
    compiled = compile_eager(fn)
    for k, again in calls:
        assert trace_of(compiled, k, again) == trace_of(fn, k, again)
        assert sys.exc_info() == (None, None, None)


def trace_of(fn, kind, again):
    """Return the printed traceback of a call below the line of the call itself, chained exceptions included."""
    try:
        fn(X, kind, again)
    except Exception:  # noqa: BLE001 - whatever it is, it is compared
        lines = traceback.format_exc().splitlines()
        return [line for line in lines if "trace_of" not in line and "fn(X, kind" not in line]
    return None


def test_handled_exception_is_seen_by_what_is_called():
    def seen():
        return repr(sys.exc_info()[1])

    def fn(x):
        log = [seen()]
        for k in range(3):
            try:
                log.append(seen())
                x = x / (k - 1)
                if k == 1:
                    raise ValueError(k)
            except ValueError:
                log.append(seen())
                x = x + 1
            log.append(seen())
        return log, x

    same(fn, lambda: args(X), settings=(PLAIN, Setting(errstate={"all": "raise"})))


class Interrupted(Exception):
    """Raised by a signal handler."""


def test_a_signal_during_a_graph_reaches_the_handler_around_it():
    log = []

    def fn(x, n, delay):
        try:
            signal.setitimer(signal.ITIMER_REAL, delay)
            for _ in range(n):
                x = np.sort(x)[::-1] * 1.0
                x = np.sort(x)[::-1] + 0.0
        except Interrupted:
            log.append("handled")
        finally:
            log.append("finally")
        return x

    def strike(number, frame):
        raise Interrupted

    compiled = compile_eager(fn)
    compiled(np.arange(10.0), 3, 0)
    log.clear()
    before = signal.signal(signal.SIGALRM, strike)
    try:
        for delay in (0.01, 0.013, 0.02, 0.031):
            assert compiled(np.arange(200_000.0), 100_000, delay) is not None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert log == ["handled", "finally"] * 4


def test_an_unbound_variable_of_nested_functions_is_a_local_behind_a_break_too():
    def fn(x, unbind):
        print("cut")
        y = x + 1
        if not unbind:
            cell = 1.0
        try:
            return cell * y
        except NameError as error:
            return type(error), str(error), error.name
        return lambda: cell  # noqa: F821 - the subject

    def deletes(x):
        cell = x
        del cell
        print("cut")
        try:
            del cell
        except NameError as error:
            return type(error), str(error), error.name
        return lambda: cell  # noqa: F821 - the subject

    same(fn, lambda: args(X, True), lambda: args(X, False))
    same(deletes, lambda: args(X))


def test_fullgraph_says_which_loop_stays():
    with (
        config.override(loops=False),
        pytest.raises(bcjit.errors.GraphBreakError, match="BRK017"),
    ):
        bcjit.compile(step_by_step, fullgraph=True)(X, 100)


# ---------------------------------------------------------------------- what is given up leaves nothing behind
def sides_do_not_meet(x, n, r):
    d = 0
    t = x * 1.0
    z = None
    for _ in range(n):
        c = n
        try:
            x[0] = r
            j = 0
            while np.abs(t).max() > 0.1 and j < n:
                j += 1
                t = t * 0.5
                if z is None or x[0] > z:
                    z = x[0]
                    d = n
        finally:
            c += 1
    return t, z, c, d


def test_what_reads_an_array_on_a_side_that_is_given_up_is_no_user_of_it():
    # Found by a sweep of generated loops: the graph of the sides was thrown away, and the array's list of users kept them.
    same(sides_do_not_meet, *(lambda n=n: args(X - 2.0, n, 0.5) for n in (3, 1, 0)))
