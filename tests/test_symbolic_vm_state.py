"""States and what several ways bring to one place: which kinds fit both, and what is taken apart and put together again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bcjit.dims import ShapeEnv
from bcjit.fx_graph import Graph
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.symbolic_vm.merging import (
    GONE,
    NOWHERE,
    Gone,
    Items,
    Kind,
    Leaf,
    Maybe,
    Same,
    join,
    kind_of,
    same_kind,
    same_value,
)
from bcjit.symbolic_vm.places import Place, read_places, with_places
from bcjit.symbolic_vm.state import State
from bcjit.symbolic_vm.values import (
    UNBOUND,
    Known,
    SymArray,
    SymObject,
    SymScalar,
    SymTuple,
    SymValue,
)

F8, F4 = np.dtype("f8"), np.dtype("f4")
REACH = frozenset()


class Vm:
    """What joining asks of a machine."""

    def __init__(self) -> None:
        self.env = ShapeEnv()

    def realize(self, value: SymValue) -> SymValue:
        return value


@pytest.fixture
def vm():
    return Vm()


def known(value: object) -> Known:
    return Known(None, value)


def array(dtype=F8, shape=(3,), *, is_scalar=False) -> SymArray:
    meta = ArrayMeta(() if is_scalar else shape, dtype, is_scalar)
    return SymArray(None, Graph().input("x", meta), meta)


def number(pytype=float) -> SymScalar:
    return SymScalar(None, pytype, Graph().input("k", ScalarMeta(pytype)))


def joined(vm, a: SymValue, b: SymValue) -> Kind:
    kinds = [kind_of(vm, value, REACH) for value in (a, b)]
    there, back = join(vm, *kinds, REACH), join(vm, *kinds[::-1], REACH)
    assert same_kind(there, back)
    return there


def test_one_value_is_handed_over_by_nobody(vm):
    one = array()
    assert isinstance(joined(vm, known(3), known(3)), Same)
    assert same_value(one, one)
    assert isinstance(joined(vm, UNBOUND, UNBOUND), Same)


@pytest.mark.parametrize(
    ("a", "b"), [(0.0, -0.0), (1, True), (1, 1.0), ("x", b"x"), ((1,), (1.0,))]
)
def test_constants_that_can_be_told_apart_are_not_the_same(a, b):
    assert not same_value(known(a), known(b))
    assert same_value(known(a), known(type(a)(a)))


def test_a_nan_is_the_same_bits():
    assert same_value(known(float("nan")), known(float("nan")))


def test_numbers_of_one_kind_are_one_leaf(vm):
    assert joined(vm, known(1.0), known(2.0)) == Leaf((ScalarMeta(float),))
    assert joined(vm, known(1.0), number()) == Leaf((ScalarMeta(float),))


def test_a_number_and_a_numpy_scalar_are_of_two_kinds(vm):
    kind = joined(vm, known(0.0), array(is_scalar=True))
    assert isinstance(kind, Leaf)
    assert set(kind.metas) == {ScalarMeta(float), ArrayMeta((), F8, is_scalar=True)}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (array(F8), array(F4)),
        (array(F8), array(F8, (3, 3))),
        (array(F8), array(F8, is_scalar=True)),
        (array(F8), known(1.0)),
        (known("a"), known("b")),
        (known(None), known(1)),
        (SymTuple(None, (known(1),)), SymTuple(None, (known(1), known(2)))),
        (SymTuple(None, (known("a"),)), SymTuple(None, (known("b"),))),
    ],
    ids=itertools.count(),
)
def test_what_has_no_common_kind_is_gone(vm, a, b):
    assert joined(vm, a, b) is GONE


def test_a_size_that_differs_is_not_known(vm):
    kind = joined(vm, array(shape=(3, 4)), array(shape=(3, 5)))
    assert isinstance(kind, Leaf)
    assert kind.dims == (3, None)


def test_a_size_that_is_the_same_now_is_guarded_to_be(vm):
    n, m = (vm.env.symbol(name, hint=4).expr for name in "nm")
    kind = joined(vm, array(shape=(n,)), array(shape=(m,)))
    assert isinstance(kind, Leaf)
    assert vm.env.simplify(n) == vm.env.simplify(m) == vm.env.simplify(kind.dims[0])


def test_a_value_on_one_way_only_is_perhaps_one(vm):
    kind = joined(vm, UNBOUND, known(1.0))
    assert isinstance(kind, Maybe)
    again = join(vm, kind, kind_of(vm, known(2.0), REACH), REACH)
    assert again == Maybe(Leaf((ScalarMeta(float),)))
    assert same_kind(join(vm, again, NOWHERE, REACH), again)
    assert isinstance(join(vm, Gone(), NOWHERE, REACH), Gone)


def test_tuples_are_joined_item_by_item(vm):
    kind = joined(
        vm, SymTuple(None, (known(1.0), known("a"))), SymTuple(None, (known(2.0), known("a")))
    )
    assert isinstance(kind, Items)
    assert kind.items[0] == Leaf((ScalarMeta(float),))
    assert isinstance(kind.items[1], Same)


def test_joining_settles(vm):
    values = [
        known(1),
        known(2.0),
        number(int),
        array(is_scalar=True),
        array(),
        UNBOUND,
        known("a"),
    ]
    for three in itertools.permutations(values, 3):
        kind = kind_of(vm, three[0], REACH)
        for value in three[1:]:
            kind = join(vm, kind, kind_of(vm, value, REACH), REACH)
        for value in three:  # what has been joined changes nothing any more
            assert same_kind(join(vm, kind, kind_of(vm, value, REACH), REACH), kind)


# -- places


def test_places_are_read_and_written_in_locals_stack_and_objects(vm):
    items = SymObject(None, list, 7, (known(1), known(2)))
    state = State(3, (known("s"),), (items, UNBOUND), ())
    found = read_places(vm, state)
    assert found.values[Place("heap", 7, 1)].value == 2
    assert found.values[Place("local", 1)] is UNBOUND
    new = known(5)
    changed = with_places(
        state, {Place("heap", 7, 1): new, Place("local", 1): new, Place("stack", 0): new}
    )
    assert changed.heap[7] == (items.initial[0], new)
    assert (changed.locals[1], changed.stack[0]) == (new, new)
    assert (state.heap, state.locals[1]) == ({}, UNBOUND)  # the other is what it was


def test_a_list_that_grows_has_another_shape(vm):
    items = SymObject(None, list, 7, (known(1),))
    state = State(3, (), (items,), ())
    grown = state.with_heap(7, (known(1), known(2)))
    assert read_places(vm, state).shapes[7] != read_places(vm, grown).shapes[7]
