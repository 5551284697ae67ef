"""Named tuples in compiled functions: those that NumPy returns, whole and cut anywhere, and the program's own from outside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from differential import Setting, World, args, assert_same
from under_test import TRANSFORMS, break_points, captured_nodes, compile_breaking

import bcjit
from bcjit.config import config


def matrix(size=3):
    return np.arange(size * size).reshape(size, size) % 5 + 4 * np.eye(size)


# ---------------------------------------------------------------------- named tuples
def unpacked(a):
    q, r = np.linalg.qr(a)
    return q @ r


def by_name(a):
    found = np.linalg.svd(a)
    return found.U * found.S, found.Vh


def by_index(a):
    found = np.linalg.eigh(a)
    return found[0] + found[-1], found[::-1], found[:], len(found), bool(found)


def returned(a):
    return np.linalg.slogdet(a)


def returned_twice(a):
    found = np.linalg.qr(a)
    return found, [found, {"key": found}], found is found


def starred(a):
    first, *rest = np.linalg.svd(a @ a.T)
    return first, rest


def iterated(a):
    return [part.sum() for part in np.linalg.svd(a)], tuple(np.linalg.qr(a)), list(np.linalg.qr(a))


def chosen(a):
    found = np.linalg.qr(a) if a.shape[0] > 1 else np.linalg.eigh(a)
    return type(found), found


def two_are_two(a):
    return np.linalg.qr(a) is np.linalg.qr(a), np.linalg.qr(a)


WHOLE = (
    unpacked, by_name, by_index, returned, returned_twice, starred, iterated, chosen, two_are_two,
)  # fmt: skip


def world_of(fn, *calls):
    calls = calls or (lambda: args(matrix()), lambda: args(matrix(4)), lambda: args(matrix(1)))
    return lambda: World(fn, calls)


@pytest.mark.parametrize("fn", WHOLE, ids=lambda fn: fn.__name__)
def test_named_tuples_are_captured_whole(fn):
    assert_same(world_of(fn), TRANSFORMS["eager"])
    config.strict = True
    compiled = bcjit.compile(fn, backend="eager", fullgraph=True)
    compiled(matrix())
    assert captured_nodes(compiled)


@pytest.mark.parametrize("fn", WHOLE, ids=lambda fn: fn.__name__)
def test_named_tuples_live_on_over_a_break_anywhere(fn):
    for offset in break_points(fn):
        assert_same(
            world_of(fn, lambda: args(matrix())),
            lambda fn, at=offset: compile_breaking(fn, (at,)),
            (Setting(repeats=1),),
            f"{fn.__name__} cut at {offset}",
        )


def kept_over_a_print(a):
    found = np.linalg.svd(a)
    both = [found, found]
    print("factored")
    return (found.U * found.S) @ found.Vh, both, both[0] is found


def tuple_methods(a):
    found = np.linalg.qr(a)
    return found._fields, found._replace(Q=found.R), found._asdict(), found + (1,), found.count(1)


def as_arguments(a):
    found = np.linalg.qr(a)
    return product_of(found), np.add(*found), [*found, 1], (*found, 2)


def matched(a):
    match np.linalg.slogdet(a):
        case (sign, size):
            return sign, size


def held(a):
    found = np.linalg.qr(a)
    table, items, some = {}, [0, 1], [1, 2, 3]
    table[found.Q.shape] = items[0] = found
    items.extend(found)
    some[0:1] = found
    return table, items, some


def operators(a):
    found = np.linalg.slogdet(a)
    longer = found
    longer += (a,)
    return found, longer, found * 2, found + found, found == found, found == (1.0, 2.0), -a


def loops(a):
    found = np.linalg.qr(a)
    parts, rest = [], iter(found)
    first = next(rest)
    for part in found:
        print("part")
        parts.append(part)
    return parts, list(zip(found, found, strict=True)), first, next(rest), next(rest, None)


def written_through(a):
    found = np.linalg.eigh(a)
    found.eigenvalues[0] = 7
    return found, found[0] is found.eigenvalues


def as_array(a):
    return np.linalg.qr(a) * 2, np.asarray(np.linalg.qr(a))


def other_tuples(a):
    found = np.linalg.qr(a)
    return isinstance(found, tuple), hasattr(found, "Q"), found.__class__


def assigned(a):
    np.linalg.qr(a).Q = 1


def beyond(a):
    return np.linalg.qr(a)[2]


USES = (
    kept_over_a_print, tuple_methods, as_array, other_tuples, as_arguments, matched, held, operators, loops,
    written_through, assigned, beyond,
)  # fmt: skip


@pytest.mark.parametrize("fn", USES, ids=lambda fn: fn.__name__)
def test_named_tuples_with_breaks(fn):
    assert_same(world_of(fn), TRANSFORMS["eager"])


def test_what_comes_after_a_break_is_captured_from_the_named_tuple():
    compiled = bcjit.compile(kept_over_a_print, backend="eager")
    compiled(matrix())
    compiled(matrix(4))
    counts = [graph.count for graph in compiled.graphs]
    assert counts == [4, 2]  # svd and its three items; two products


def product_of(pair):
    return pair.Q @ pair.R, pair[0], pair


def test_named_tuples_from_outside():
    result = type(np.linalg.qr(matrix()))
    calls = (
        lambda: args(np.linalg.qr(matrix())),
        lambda: args(result(matrix(), matrix())),
        lambda: args(result(Q=matrix(2), R=3)),
        lambda: args(np.linalg.svd(matrix())),
        lambda: args((matrix(), matrix())),
        lambda: args(tuple.__new__(result, (matrix(), matrix(), 5))),
    )
    assert_same(world_of(product_of, *calls), TRANSFORMS["eager"])
    compiled = bcjit.compile(product_of, backend="eager", fullgraph=True)
    compiled(np.linalg.qr(matrix()))
    assert captured_nodes(compiled) == 1


# ---------------------------------------------------------------------- the program's own, from outside
class Pair(NamedTuple):
    left: np.ndarray
    right: float = 2.0

    @property
    def both(self):
        return self.left * self.right

    def scaled(self, by):
        return self.left * by


class Reversed(Pair):
    def __getitem__(self, index):
        return tuple.__getitem__(self, -1 - index)


class Counted(Pair):
    def __iter__(self):
        return iter((self.right, self.left))

    def __len__(self):
        return 3


class Shadowed(Pair):
    left = property(lambda self: self.right)


def fields_and_items(p):
    left, right = p
    return p.left + right, p[1] + left, p[:1], [*p], p.both, p.scaled(3), p.right


def test_named_tuples_of_the_program_are_read_from_outside():
    x = np.arange(3.0)
    calls = tuple(
        lambda make=make: args(make(x.copy()))
        for make in (Pair, Reversed, Counted, Shadowed, lambda x: Pair(x, x + 1), lambda x: Pair(2, 3))
    )  # fmt: skip
    assert_same(world_of(fields_and_items, *calls), TRANSFORMS["eager"])
    config.strict = True
    compiled = bcjit.compile(fields_and_items, backend="eager", fullgraph=True)
    compiled(Pair(x))
    compiled(Pair(x, 4.0))
    assert [graph.count for graph in compiled.graphs] == [4]


def test_a_class_of_named_tuples_that_changes_is_seen():
    class Point(NamedTuple):
        x: np.ndarray
        y: int

    def reads(p):
        first, second = p
        return p.x * 2, p[1] + 1, first, second

    compiled = TRANSFORMS["eager"](reads)
    point = Point(np.ones(2), 3)
    compiled(point)
    assert captured_nodes(compiled)
    original = {name: Point.__dict__.get(name) for name in ("x", "__getitem__", "__iter__")}
    changes = {
        "x": property(lambda self: np.zeros(2)),
        "__getitem__": lambda self, index: 40,
        "__iter__": lambda self: iter((5, 6)),
    }
    for name, change in changes.items():
        setattr(Point, name, change)
        np.testing.assert_equal(compiled(point), reads(point))
        if original[name] is None:
            delattr(Point, name)
        else:
            setattr(Point, name, original[name])
        np.testing.assert_equal(compiled(point), reads(point))
    short = tuple.__new__(Point, (np.ones(2),))
    for fn in (reads, compiled):
        with pytest.raises(ValueError, match="not enough values"):
            fn(short)
