"""The order in which guards are checked: the same answer as in any order, parents first, nothing twice, nothing implied."""

from __future__ import annotations

import types

import numpy as np
import pytest
from guards_kit import arg, first_failing_of_both, function_with, guard, roots, step
from hypothesis import given, settings
from hypothesis import strategies as st
from test_guards_generated import cases

import bcjit
from bcjit.config import config
from bcjit.dims import Relation, Symbol
from bcjit.guards import (
    Guard,
    GuardKind,
    Identity,
    Source,
    SourceKind,
    SymbolicRelation,
    first_failing,
    ordered,
    sentence,
)
from bcjit.meta import SourceLine

X, Y, Z = arg(), arg(1, "y"), arg(2, "z")
G = {name: Source(SourceKind.GLOBAL, name) for name in ("np", "helper")}
F8 = (np.dtype("f8"), 1)
N, M, K = Symbol("n"), Symbol("m"), Symbol("k")
SIZES = {N: step("SHAPE", X, 0), M: step("SHAPE", Y, 0), K: step("SHAPE", Z, 0)}


def relation(op, left, right):
    found = Relation(op, left, right)
    symbols = tuple((s, SIZES[s]) for s in sorted(found.symbols(), key=str))
    return guard("RELATION", symbols[0][1], SymbolicRelation(found, symbols))


def shuffled(guards, order):
    return [guards[place] for place in order]


# ---------------------------------------------------------------------- properties
@settings(max_examples=40)
@given(case=cases(), data=st.data())
def test_ordered_guards_hold_exactly_when_all_do(case, data):
    guards, places = case
    found = ordered(guards)
    again = ordered(shuffled(guards, data.draw(st.permutations(range(len(guards))))))
    assert set(found) <= set(guards)
    assert len(set(found)) == len(found)
    assert ordered(found) == found
    for where in places:
        holds = first_failing(guards, where) == -1
        assert (first_failing_of_both(found, where) == -1) is holds
        assert (first_failing(again, where) == -1) is holds


relations = st.one_of(
    st.builds(
        relation,
        st.sampled_from(["==", "!=", "<=", "<"]),
        st.sampled_from([N.expr, M.expr, N + M, N - M, N * M, N // 2 + M, 2 * N - K, N % (M - 2)]),
        st.integers(-2, 5),
    ),
    st.builds(lambda size, n: guard("EQUALS", size, n), st.sampled_from([*SIZES.values()]), st.integers(0, 4)),
)  # fmt: skip


@settings(max_examples=100)
@given(guards=st.lists(relations, max_size=6), sizes=st.tuples(*[st.integers(0, 5)] * 3))
def test_no_relation_is_lost_that_the_others_do_not_imply(guards, sizes):
    found = ordered(guards)
    where = roots(*(np.zeros(size) for size in sizes))
    assert (first_failing(found, where) == -1) is (first_failing(guards, where) == -1)


ESTABLISHING = (
    GuardKind.TYPE,
    GuardKind.ARRAY,
    GuardKind.OTHER_ARRAY,
    GuardKind.IDENTITY,
    GuardKind.EQUALS,
    GuardKind.KEYS,
    GuardKind.PRESENT,
)


@settings(max_examples=40)
@given(case=cases())
def test_what_a_path_goes_through_is_checked_first(case):
    found = ordered(case[0])
    for place, later in enumerate(found):
        behind = {base for source in later.sources() for base in source.chain()[:-1]}
        for earlier in found[place + 1 :]:
            assert earlier.kind not in ESTABLISHING or earlier.source not in behind


# ---------------------------------------------------------------------- samples
def test_what_changes_most_comes_first_and_globals_last():
    cell = Source(SourceKind.CELL, (0, "c"))
    best = [
        guard("ARRAY", X, F8),
        guard("TYPE", Y, float),
        relation("==", N, 3),
        guard("OVERLAP", X, (Y, False)),
        guard("TYPE", step("ITEM", Y, 0), int),
        guard("TYPE", step("ATTR", Y, "buf"), int),
        guard("TYPE", cell, int),
        guard("IDENTITY", G["np"], Identity(np)),
        guard("IDENTITY", step("MODULE_ATTR", G["np"], "add"), Identity(np.add)),
        guard("IDENTITY", step("MRO", step("TYPE", Y), "method"), Identity(len)),
        guard("ABSENT", Source(SourceKind.GLOBALS), "len"),
    ]
    assert ordered(best[:2] + best[:1:-1]) == tuple(best)


def test_the_first_of_equal_guards_stays_with_its_line():
    first = guard("TYPE", X, int)
    other = Guard(GuardKind.TYPE, X, int, SourceLine("other.py", 1))
    (kept,) = ordered([first, other])
    assert kept.why is first.why


TEXT = step("ATTR", X, "name")
IMPLIED = {
    "type of an array": ([guard("ARRAY", X, F8)], guard("TYPE", X, np.ndarray)),
    "type of another array": ([guard("OTHER_ARRAY", X)], guard("TYPE", X, np.ndarray)),
    "type of a constant": ([guard("EQUALS", X, "a")], guard("TYPE", X, str)),
    "type of a dict": ([guard("KEYS", X, ("a",))], guard("TYPE", X, dict)),
    "type of a ufunc": ([guard("IDENTITY", X, Identity(np.add))], guard("TYPE", X, np.ufunc)),
    "type of a function": (
        [guard("IDENTITY", X, Identity(function_with))],
        guard("TYPE", X, types.FunctionType),
    ),
    "number of keys": ([guard("KEYS", X, ("a", 1))], guard("EQUALS", step("LENGTH", X), 2)),
    "length of text": ([guard("EQUALS", TEXT, "abc")], guard("EQUALS", step("LENGTH", TEXT), 3)),
    "length of a tuple": ([guard("EQUALS", X, (1, 2))], guard("EQUALS", step("LENGTH", X), 2)),
    "presence where it is typed": ([guard("TYPE", X, int)], guard("PRESENT", X)),
    "presence where something is behind": ([guard("PRESENT", TEXT)], guard("PRESENT", X)),
    "presence of one of a pair": ([guard("OVERLAP", X, (Y, False))], guard("PRESENT", Y)),
    "presence of a size": ([relation("==", N, M)], guard("PRESENT", Y)),
    "another number": ([relation("==", N, 3)], relation("!=", N, 1)),
    "a bound of a number": ([relation("==", N, 3)], relation("<=", N, 7)),
    "a size that is compared": ([guard("EQUALS", SIZES[N], 3)], relation("<=", 2, N)),
    "a wider bound": ([relation("<=", 5, N)], relation("<=", 2, N)),
    "a wider bound above": ([relation("<=", N, 5)], relation("<=", N, 8)),
    "a hole outside the bounds": ([relation("<=", 5, N)], relation("!=", N, 1)),
    "a sum of numbers": ([relation("==", N, 3), relation("==", M, 2)], relation("<=", N + M, 6)),
    "a difference": ([relation("<=", 2, N - M)], relation("!=", N - M, 0)),
}
NOT_IMPLIED = {
    "type of an object that may get another class": (
        guard("IDENTITY", X, Identity(types.ModuleType("m"))),
        guard("TYPE", X, types.ModuleType),
    ),
    "another type": (guard("EQUALS", X, "a"), guard("TYPE", X, bytes)),
    "another length": (guard("KEYS", X, ("a",)), guard("EQUALS", step("LENGTH", X), 2)),
    "presence of what is behind": (guard("TYPE", X, int), guard("PRESENT", TEXT)),
    "presence in an empty cell": (
        guard("UNBOUND_CELL", Source(SourceKind.CELL, (0, "c"))),
        guard("PRESENT", Source(SourceKind.CELL, (0, "c"))),
    ),
    "a pair with another answer": (
        guard("OVERLAP", X, (Y, True)),
        guard("OVERLAP", Y, (X, False)),
    ),
    "a hole within the bounds": (relation("<=", 2, N), relation("!=", N, 5)),
    "another size": (relation("==", N, 3), relation("<=", 2, M)),
    "a number that does not fit": (relation("==", N, 3), relation("!=", N, 3)),
    "a divisor that may be nothing": (guard("EQUALS", SIZES[M], 2), relation("==", N % (M - 2), 0)),
}


@pytest.mark.parametrize("name", IMPLIED)
def test_what_others_imply_is_left_out(name):
    others, implied = IMPLIED[name]
    assert set(ordered([implied, *others])) == set(ordered([*others, implied])) == set(others)


@pytest.mark.parametrize("kind", ["SAME_OBJECT", "OVERLAP"])
def test_a_pair_is_compared_one_way_round(kind):
    one, other = guard(kind, X, (Y, True)), guard(kind, Y, (X, True))
    assert ordered([one, other]) == (one,)
    assert ordered([other, one]) == (other,)


@pytest.mark.parametrize("name", NOT_IMPLIED)
def test_what_others_do_not_imply_stays(name):
    pair = NOT_IMPLIED[name]
    assert set(ordered(pair)) == set(ordered(pair[::-1])) == set(pair)


# ---------------------------------------------------------------------- what captures make
def guards_of(fn, *args):
    compiled = bcjit.compile(fn)
    compiled(*args)
    (entry,) = compiled._caches[0].entries
    return entry.guards


@pytest.fixture(autouse=True)
def _strict():
    config.strict = True


def total(a, b, c, d, e):
    return np.sin(a) + b * c - d + e


def test_arrays_of_one_length_need_one_relation_fewer():
    found = guards_of(total, *(np.ones(4) for _ in range(5)))
    assert sum(one.kind is GuardKind.RELATION for one in found) == 4


def test_the_guard_that_is_named_is_that_on_the_argument():
    """Also where a global is another one by now."""
    module = types.ModuleType("settings")
    module.f = np.sin
    fn = lambda x: module.f(x)
    found = guards_of(fn, np.ones(3))
    module.f = np.cos
    where = roots(np.ones(3, "f4"), func=fn)
    failing = found[first_failing_of_both(found, where)]
    assert sentence(failing, where).startswith("x: dtype float64 was expected")


def test_only_what_is_written_needs_to_lie_apart():
    def scratch(a, b):
        z = a + b
        z[1:] = 0.0
        return z

    def one_written(out, a, b):
        out += a * b

    def pairs(fn, *args):
        found = [one for one in guards_of(fn, *args) if one.kind is GuardKind.OVERLAP]
        return [tuple(str(source) for source in one.sources()) for one in found], found

    a, b, c = np.ones(3), np.ones(3), np.ones(3)
    assert pairs(scratch, a, b)[0] == []
    names, found = pairs(one_written, a, b, c)
    assert {frozenset(pair) for pair in names} == {frozenset({"out", "a"}), frozenset({"out", "b"})}
    assert {one.why.lineno for one in found} == {one_written.__code__.co_firstlineno + 1}
