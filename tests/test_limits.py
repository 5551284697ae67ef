"""Past a limit new variants run plain, what is compiled stays, and the log and the cache say what kept failing and what to do."""

from __future__ import annotations

import logging

import numpy as np
import pytest
from guards_kit import arg, guard, step

import bcjit
from bcjit.backends.testing import CountingBackend
from bcjit.code_cache import LOOKED_AT_PAST_LIMIT
from bcjit.config import config
from bcjit.dims import Relation, Symbol
from bcjit.guards import GuardKind, Identity, Source, SourceKind, SymbolicRelation, hint
from bcjit.logs import forget_once

X, Y = arg(), arg(1, "y")


@pytest.fixture(autouse=True)
def _strict_and_as_if_new():
    config.strict = True
    forget_once()


def depends_on_text(x, how):
    if how == "double":
        return x * 2
    return x + 1


def notes(compiled):
    return [note for cache in compiled._caches for note in cache.limit_notes()]


def test_the_guard_that_failed_most_often_is_named_with_the_values_and_a_hint(caplog):
    compiled = bcjit.compile(depends_on_text)
    x = np.arange(3.0)
    with config.override(cache_limit=3), caplog.at_level(logging.WARNING):
        compiled(x, "a")
        assert not notes(compiled)
        for how in ("b", "c", "d", "e"):
            assert compiled(x, how).tolist() == [1.0, 2.0, 3.0]
        compiled(np.arange(3), "a")
        (note,) = notes(compiled)
        assert (note.limit, note.allowed) == ("cache_limit", 3)
        assert note.line.lineno == depends_on_text.__code__.co_firstlineno
        assert note.relied.lineno == note.line.lineno + 1
        assert note.guard in {"how == 'a'", "how == 'b'", "how == 'c'"}
        assert note.seen == ("'d'", "'e'")  # the others have variants
        assert note.count == 4
        assert note.plain_calls == 3
        assert note.hint == hint(guard("EQUALS", arg(1, "how"), "a"))
    (message,) = [record.getMessage() for record in caplog.records]
    for word in (
        note.guard[:7],
        "found instead: 'd'",
        note.relied.text(),
        note.hint,
        "cache_limit = 3",
    ):
        assert word in message
    assert "plain" in note.text()


def test_values_are_told_by_how_many_calls_came_with_them():
    compiled = bcjit.compile(depends_on_text)
    with config.override(cache_limit=2):
        for how in ("a", "b", "c", "b", "d", "e", "f", "g", "c"):
            compiled(np.arange(3.0), how)
        (note,) = notes(compiled)
    assert (note.seen, note.times) == (("'c'", "'d'", "'e'", "'f'", "'g'"), (2, 1, 1, 1, 1))
    told = (
        "found instead: 'c' (2), 'd' (1), 'e' (1), 'f' (1), 'g' (1) of 6 calls that were looked at"
    )
    assert told in note.text()
    assert told in str(compiled.report())


def test_arrays_are_told_by_dtype_and_dimensions():
    compiled = bcjit.compile(lambda x: x + 1)
    with config.override(cache_limit=1):
        for x in (np.ones(2), np.ones(2, "f4"), np.ones((2, 2)), np.ones(3, "f4"), [1]):
            try:
                compiled(x)
            except TypeError:
                assert x == [1]
        (note,) = notes(compiled)
    assert note.guard == "x is a float64 array of 1 dimension"
    assert note.seen == (
        "a float32 array of 1 dimension",
        "a float64 array of 2 dimensions",
        "a list object",
    )
    assert note.times == (2, 1, 1)


def test_calls_past_the_limit_are_counted_but_soon_not_looked_at():
    counting = CountingBackend()
    compiled = bcjit.compile(depends_on_text, backend=counting)
    cache = compiled._caches[0]
    (part,) = cache.parts.values()
    with config.override(cache_limit=1):
        compiled(np.ones(2), "a")
        for turn in range(LOOKED_AT_PAST_LIMIT):
            assert part.on_miss is not None
            compiled(np.ones(2), f"other {turn}")
        assert part.on_miss is None
        looked_at = len(cache.misses)
        for turn in range(5):
            compiled(np.ones(2), f"more {turn}")
        (note,) = notes(compiled)
    assert len(cache.misses) == looked_at == LOOKED_AT_PAST_LIMIT == note.count
    assert note.plain_calls == cache.plain_calls() == LOOKED_AT_PAST_LIMIT + 5
    assert (counting.graph_count, counting.call_count) == (1, 1)
    compiled(np.ones(2), "a")
    assert counting.call_count == 2


def test_the_entry_used_longest_ago_is_last_and_stays_valid():
    compiled = bcjit.compile(lambda x: x + 1)
    with config.override(cache_limit=3):
        arrays = [np.ones(2, dtype) for dtype in ("f8", "f4", "i8")]
        for x in arrays:
            compiled(x)
        (part,) = compiled._caches[0].parts.values()
        oldest = part.entries[-1]
        for _ in range(4):
            compiled(np.ones(2, "i2"))
            compiled(arrays[1])
            compiled(arrays[2])
        assert part.entries[-1] is oldest
        assert compiled(arrays[0]).dtype == "f8"
        assert part.entries[0] is oldest
        assert oldest.hits == 1


def test_after_a_reset_counting_starts_anew():
    compiled = bcjit.compile(depends_on_text)
    with config.override(cache_limit=1):
        for turn in range(2 * LOOKED_AT_PAST_LIMIT):
            compiled(np.ones(2), f"value {turn}")
        compiled.reset()
        assert not notes(compiled)
        compiled(np.ones(2), "a")
        for turn in range(LOOKED_AT_PAST_LIMIT):
            compiled(np.ones(2), f"value {turn}")
        compiled(np.ones(2), "b")
        (note,) = notes(compiled)
    assert note.plain_calls == LOOKED_AT_PAST_LIMIT + 1


def cut_often(x):
    y = x + 1
    print(end="")
    y = y + 2
    print(end="")
    y = y + 3
    print(end="")
    return y + 4


def test_parts_too_many_are_told_in_the_same_way_and_stay_plain_after_a_reset(caplog):
    compiled = bcjit.compile(cut_often)
    cache = compiled._caches[0]
    with config.override(part_limit=2), caplog.at_level(logging.WARNING):
        for _ in range(2):
            assert compiled(np.ones(2)).tolist() == [11.0, 11.0]
        (note,) = notes(compiled)
        assert (note.limit, note.allowed, note.count) == ("part_limit", 2, 1)
        assert note.line.lineno > cut_often.__code__.co_firstlineno + 2
        assert note.line.text() in note.text()
        assert "bcjit.config.part_limit = 2" in note.text()
        compiled.reset()
        assert compiled(np.ones(2)).tolist() == [11.0, 11.0]
        assert sum(not part.skip for part in cache.parts.values()) == 2
        assert notes(compiled) == [note]
    assert [record.getMessage() for record in caplog.records] == [note.text()]
    compiled.reset()
    assert not notes(compiled)
    compiled(np.ones(2))
    assert not any(part.skip for part in cache.parts.values())


N = Symbol("n")
GLOBAL_LEN = Source(SourceKind.GLOBAL, "helper")
HINTS = [
    (guard("TYPE", X, int), "x to one type"),
    (guard("IDENTITY", X, Identity(len)), "make x once"),
    (guard("IDENTITY", GLOBAL_LEN, Identity(len)), "hand helper in as an argument"),
    (guard("EQUALS", X, "a"), "decide by x before the call"),
    (guard("EQUALS", X, 3), "use x in arithmetic only"),
    (guard("EQUALS", step("LENGTH", X), 3), "keep x at one length"),
    (guard("EQUALS", step("SHAPE", X, 0), 3), "without dynamic=False"),
    (guard("ARRAY", X, (np.dtype("f8"), 1)), "x to one dtype"),
    (guard("ABSENT", X, "k"), "let x have 'k' always or never"),
    (guard("NO_INSTANCE_ATTR", X, "scale"), "set scale on the object x always or never"),
    (guard("UNBOUND_CELL", Source(SourceKind.CELL, (0, "total"))), "assign total"),
    (guard("KEYS", X, ("a", "b")), "read x by key"),
    (
        guard("RELATION", X, SymbolicRelation(Relation("<=", N, 3), ((N, step("SHAPE", X, 0)),))),
        "x.shape[0] <= 3, or bring x.shape[0] to few values",
    ),
    (guard("SAME_OBJECT", X, (Y, True)), "x and y always as one or always apart"),
    (guard("OVERLAP", X, (Y, False)), "x and y always as one or always apart"),
    (guard("OTHER_ARRAY", X), "convert x to numbers"),
    (guard("PRESENT", X), "a value at x in every call"),
]


def test_every_guard_kind_has_a_hint():
    assert {one.kind for one, _ in HINTS} == set(GuardKind)


@pytest.mark.parametrize(("one", "words"), HINTS, ids=lambda value: str(value)[:40])
def test_a_hint_names_what_to_do(one, words):
    assert words in hint(one)
