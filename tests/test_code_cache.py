"""The cache of a code object: entries and parts, their order and limits, the log of misses and of what runs plain."""

from __future__ import annotations

import gc
import linecache
import sys
import weakref

import numpy as np
import pytest

import bcjit
from bcjit import bytecode, symbolic_vm
from bcjit.backends.testing import CountingBackend
from bcjit.bytecode import loops
from bcjit.code_cache import LOG_LENGTH, CodeCache, Problem
from bcjit.config import config
from bcjit.errors import SourceLine
from bcjit.symbolic_vm import PartSpec

LINE = SourceLine("model.py", 12, "f")


@pytest.fixture(autouse=True)
def _strict():
    config.strict = True


def fn(x, k=2):
    y = x * k
    if y.sum() > 0:
        return y + 1
    return y - 1


def cache_of(compiled):
    return compiled._caches[0]


def test_an_entry_a_variant_and_a_part_a_continuation():
    compiled = bcjit.compile(fn)
    cache = cache_of(compiled)
    assert list(cache.parts) == [PartSpec(fn.__code__)]
    assert not cache.entries
    compiled(np.ones(3))
    first, positive = cache.entries
    assert (first.spec, positive.spec) == (PartSpec(fn.__code__), positive.spec)
    assert positive.spec.offset is not None
    assert positive.spec.bound
    assert len(cache.parts) == 3  # both sides have a part, one has an entry
    assert set(first.next_specs) == set(cache.parts) - {first.spec}
    assert first.cause.reason.code == "BRK001"
    assert positive.cause is None
    compiled(-np.ones(3))
    assert len(cache.entries) == 3
    assert {entry.spec for entry in cache.entries} == set(cache.parts)
    assert cache.captures == 3


def test_lines_of_entries_are_those_where_their_parts_begin():
    compiled = bcjit.compile(fn)
    compiled(np.ones(3))
    compiled(-np.ones(3))
    first = fn.__code__.co_firstlineno
    assert [entry.line.lineno for entry in cache_of(compiled).entries] == [
        first,
        first + 3,
        first + 4,
    ]
    assert {entry.line.function for entry in cache_of(compiled).entries} == {"fn"}


def test_hits_do_not_count_the_call_of_the_capture():
    compiled = bcjit.compile(fn)
    for calls in range(4):
        compiled(np.ones(3))
        assert [entry.hits for entry in cache_of(compiled).entries] == [calls, calls]
    assert [entry.bailouts for entry in cache_of(compiled).entries] == [0, 0]


def test_the_entry_used_last_is_asked_first():
    compiled = bcjit.compile(fn)
    arrays = [np.ones(3), np.ones(3, "f4"), np.ones(3, "i8")]
    for x in arrays:
        compiled(x)
    part = cache_of(compiled).parts[PartSpec(fn.__code__)]
    assert len(part.entries) == 3
    for x in arrays:
        found = part.find(fn, None, (x, 2))
        compiled(x)
        assert part.entries[0] is found


def test_entries_of_one_part_are_found_oldest_first():
    compiled = bcjit.compile(fn)
    for dtype in ("f8", "f4", "i8"):
        compiled(np.ones(3, dtype))
    cache = cache_of(compiled)
    found = list(cache.of_part(PartSpec(fn.__code__)))
    assert len(found) == 3
    assert [str(entry.graph.inputs[0].meta[0].dtype) for entry in found] == [
        "float64",
        "float32",
        "int64",
    ]


def test_a_part_holds_as_many_entries_as_the_limit_says():
    counting = CountingBackend()
    compiled = bcjit.compile(lambda x: x + 1, backend=counting)
    with config.override(cache_limit=2):
        for dtype in ("f8", "f4", "i8", "i4", "f8", "f4"):
            assert compiled(np.ones(3, dtype)).dtype == dtype
    cache = cache_of(compiled)
    (part,) = cache.parts.values()
    assert len(part.entries) == 2
    assert counting.graph_count == 2
    assert counting.call_count == 4
    with config.override(cache_limit=2):
        assert cache.is_full(part)
    with config.override(cache_limit=3):
        assert not cache.is_full(part)
    assert cache.plain_calls() == 2


def test_a_code_object_has_as_many_parts_as_the_limit_says():
    def prints(x):
        y = x + 1
        print(end="")
        y = y + 2
        print(end="")
        y = y + 3
        print(end="")
        return y + 4

    counting = CountingBackend()
    with config.override(part_limit=2):
        compiled = bcjit.compile(prints, backend=counting)
        for _ in range(3):
            assert compiled(np.ones(2)).tolist() == [11.0, 11.0]
    cache = cache_of(compiled)
    assert sum(not part.skip for part in cache.parts.values()) == 2
    assert counting.graph_count == 2
    assert counting.call_count == 6


def test_misses_name_the_guard_that_failed_and_are_a_short_log():
    compiled = bcjit.compile(lambda x, how: x + len(how))
    cache = cache_of(compiled)
    with config.override(cache_limit=100_000):
        for turn in range(LOG_LENGTH + 10):
            compiled(np.ones(2), "a" * (turn + 1))
    assert len(cache.misses) == LOG_LENGTH
    assert all(miss.compiled for miss in cache.misses)
    assert "how" in str(cache.misses[-1])


def test_a_problem_is_noted_once():
    cache = CodeCache()
    first = Problem(LINE, "BRK017", "loop, try or with", "loop")
    assert cache.note(first)
    assert not cache.note(Problem(LINE, "BRK017", "loop, try or with", "another"))
    assert cache.note(Problem(LINE, "BRK012", "other", ""))
    assert list(cache.problems.values())[0] is first


def test_clearing_empties_everything_and_lets_parts_be_captured_again():
    compiled = bcjit.compile(fn)
    compiled(np.ones(3))
    cache = cache_of(compiled)
    parts = list(cache.parts.values())
    for part in parts:
        part.skip = True
    cache.note(Problem(LINE, "BRK012", "other", ""))
    cache.clear()
    assert not cache.entries
    assert not cache.misses
    assert not cache.problems
    assert cache.captures == 0
    assert all(not part.entries and not part.skip for part in parts)
    compiled(np.ones(3))
    assert len(cache.entries) == 2


def test_an_entry_does_not_hold_the_c_entry_that_counts_for_it():
    compiled = bcjit.compile(lambda x: x + 1)
    compiled(np.ones(2))
    cache = cache_of(compiled)
    (entry,) = cache.entries
    (part,) = cache.parts.values()
    counted = weakref.ref(part.entries[0])
    assert entry.hits == 0
    compiled(np.ones(2))
    assert entry.hits == 1
    part.clear()
    gc.collect()
    assert counted() is None
    assert (entry.hits, entry.bailouts) == (0, 0)


def test_two_functions_of_one_code_share_nothing():
    def make(k):
        return lambda x: x + k

    first, second = bcjit.compile(make(1)), bcjit.compile(make(2))
    assert first(np.ones(2)).tolist() == [2.0, 2.0]
    assert second(np.ones(2)).tolist() == [3.0, 3.0]
    assert cache_of(first) is not cache_of(second)
    assert len(cache_of(first).entries) == len(cache_of(second).entries) == 1


def test_callees_that_are_not_inlined_have_caches_of_their_own():
    def inner(x):
        y = x * 3
        print(end="")
        return y

    def outer(x):
        return inner(x + 1) - 1

    compiled = bcjit.compile(outer)
    compiled(np.ones(2))
    compiled(np.ones(2))
    assert len(compiled._caches) == 2
    assert {e.line.function.rpartition(".")[2] for c in compiled._caches for e in c.entries} == {
        "outer",
        "inner",
    }
    compiled.reset()
    assert all(not cache.entries for cache in compiled._caches)


def test_a_recursion_is_compiled_once_however_deep_it_goes():
    def descend(x, depth):
        y = x * 2.0
        print(end="")
        return y if depth == 0 else descend(y, depth - 1) + x

    compiled = bcjit.compile(descend)
    for depth in (1, 2, 7, 12):
        assert compiled(np.ones(2), depth).tolist() == descend(np.ones(2), depth).tolist()
    (own,) = compiled._caches
    assert len(own.parts) == 3
    assert len(own.entries) == 4  # the part behind the print has one for each side


def test_functions_that_call_each_other_are_compiled_once_whoever_calls_them():
    def halve(x):
        print(end="")
        return x / 2.0 if x[0] < 1.0 else shrink(x)

    def shrink(x):
        print(end="")
        return halve(x - 1.0) + 1.0

    def both(x):
        return halve(x) + shrink(x)

    compiled = bcjit.compile(both)
    for most in (1.0, 4.0, 9.0):
        x = np.linspace(most, most + 1.0, 3)
        assert compiled(x).tolist() == both(x).tolist()
    assert len(compiled._caches) == 3
    gone = [weakref.ref(part) for cache in compiled._caches for part in cache.parts.values()]
    del compiled
    gc.collect()
    assert [part() for part in gone] == [None] * len(gone)


def test_a_function_of_the_same_code_that_it_calls_has_its_own_variables():
    def make(k, then):
        def scaled(x):
            print(end="")
            return x * k if then is None else then(x) + k

        return scaled

    plain = make(2.0, make(3.0, make(5.0, None)))
    compiled = bcjit.compile(plain)
    for _ in range(3):
        assert compiled(np.ones(2)).tolist() == plain(np.ones(2)).tolist() == [10.0, 10.0]


def test_no_python_code_runs_when_what_is_known_of_code_is_dropped():
    """A signal could strike in it, and what its handler raises would be lost there."""
    graph_of = bcjit.compile(lambda x: x * 2.0, backend="eager")
    graph_of(np.ones(1))
    (graph,) = graph_of.graphs

    def loop(n):
        for _ in range(n):
            n -= 1

    code = loop.__code__.replace(co_name="copy")
    symbolic_vm.refusal(code)
    listing = bytecode.decode(code)
    loops.loops_of(listing)
    held = [graph.to_callable(), listing, code]
    del listing, code
    file = held[0].__code__.co_filename
    assert file in linecache.cache
    ran = []
    sys.setprofile(lambda frame, event, _: ran.append(frame.f_code) if event == "call" else None)
    held.clear()
    sys.setprofile(None)
    assert ran == []
    assert file not in linecache.cache
