"""States are joined value by value: what differs goes to `phi` with its place, what cannot be joined says so."""

from __future__ import annotations

import pytest

from bcjit.fx_graph import Graph
from bcjit.meta import ScalarMeta
from bcjit.symbolic_vm.state import Effect, JoinError, State, join
from bcjit.symbolic_vm.values import NULL, UNBOUND, Known, SymCell, SymObject, SymTuple, SymValue


def known(value: object) -> Known:
    return Known(None, value)


def state(*stack: SymValue, local=(), cells=(), heap=None, effects=(), index=3, blocks=()) -> State:
    return State(index, tuple(stack), tuple(local), tuple(cells), heap or {}, effects, blocks)


class Phi:
    """Records what it is asked to merge."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, SymValue, SymValue]] = []

    def __call__(self, place: str, left: SymValue, right: SymValue) -> SymValue:
        self.asked.append((place, left, right))
        return SymTuple(None, (left, right))


def refuse(place: str, left: SymValue, right: SymValue) -> SymValue:
    raise JoinError(f"{place} cannot be merged")


def test_equal_states_join_without_asking():
    a, b = known(1), known(2)
    left = state(a, NULL, local=(b, UNBOUND), heap={1: (a, b)})
    merged = join(left, state(a, NULL, local=(b, UNBOUND), heap={1: (a, b)}), refuse)
    assert (merged.index, merged.stack, merged.locals) == (3, (a, NULL), (b, UNBOUND))
    assert merged.heap == {1: (a, b)}


def test_values_that_differ_go_to_phi_with_their_places():
    a, b, c, d, e, f = (known(i) for i in range(6))
    phi = Phi()
    left = state(a, b, local=(c, d), heap={7: e})
    right = state(a, c, local=(c, a), heap={7: f})
    merged = join(left, right, phi)
    assert phi.asked == [("stack 1", b, c), ("local 1", d, a), ("heap 7", e, f)]
    assert merged.stack[0] is a
    assert merged.locals[0] is c
    assert merged.stack[1].items == (b, c)
    assert merged.locals[1].items == (d, a)
    assert merged.heap[7].items == (e, f)


def test_phi_may_refuse():
    with pytest.raises(JoinError, match="stack 0 cannot be merged"):
        join(state(known(1)), state(known(2)), refuse)


def test_values_are_one_only_if_they_are_the_same_object():
    phi = Phi()
    join(state(known(1)), state(known(1)), phi)
    assert [place for place, _, _ in phi.asked] == ["stack 0"]


@pytest.mark.parametrize("nothing", [UNBOUND, NULL])
@pytest.mark.parametrize("turned", [False, True])
def test_what_is_bound_on_one_side_only_cannot_be_joined(nothing, turned):
    for place, make in (("stack 0", state), ("local 0", lambda v: state(local=(v,)))):
        pair = [make(nothing), make(known(1))]
        phi = Phi()
        with pytest.raises(JoinError, match=f"{place} is bound on one side only"):
            join(*(pair[::-1] if turned else pair), phi)
        assert not phi.asked


@pytest.mark.parametrize(
    "right",
    [state(), state(known(1), known(2)), state(known(1), index=4)],
    ids=["less", "more", "elsewhere"],
)
def test_states_that_do_not_meet_cannot_be_joined(right):
    with pytest.raises(JoinError, match="one instruction with one stack depth"):
        join(state(known(1)), right, refuse)


def test_contents_made_on_one_side_are_kept():
    """An object made on one side only cannot be named by the other: it does no harm."""
    a, b = known(1), known(2)
    left = state(heap={1: (a,), 2: (b,)})
    right = state(heap={1: (a,), 3: (a, b)})
    assert join(left, right, refuse).heap == {1: (a,), 2: (b,), 3: (a, b)}
    assert left.heap == {1: (a,), 2: (b,)}


def test_contents_changed_on_one_side_cannot_be_joined():
    a, b = known(1), known(2)
    changed = state(heap={1: (a, b)})
    with pytest.raises(JoinError, match="object 1 has different contents"):
        join(state(heap={1: (a,)}), changed, Phi())


def test_contents_changed_from_what_they_were_at_first_cannot_be_lost():
    """The heap holds what was changed: an object that one side changed is in one heap only, and has its first contents on the other."""
    box = SymObject(None, list, 5, (known(1),))
    left = state(box, heap={5: (known(1), known(2))})
    for pair in ((left, state(box)), (state(box), left)):
        with pytest.raises(JoinError):
            join(*pair, Phi())


def test_effects_must_be_the_same():
    node = Graph().input("x", ScalarMeta(float))
    written = (Effect("write", node),)
    assert join(state(effects=written), state(effects=written), refuse).effects == written
    with pytest.raises(JoinError, match="different effects"):
        join(state(effects=written), state(), refuse)


def test_cells_and_blocks_must_be_the_same():
    cell = SymCell(None, 1, "total", UNBOUND, from_outside=False)
    other = SymCell(None, 2, "total", UNBOUND, from_outside=False)
    assert join(state(cells=(cell,)), state(cells=(cell,)), refuse).cells == (cell,)
    with pytest.raises(JoinError):
        join(state(cells=(cell,)), state(cells=(other,)), refuse)
    with pytest.raises(JoinError):
        join(state(blocks=("try",)), state(), refuse)


def test_contents_of_a_cell_are_merged_by_phi():
    cell = SymCell(None, 1, "total", UNBOUND, from_outside=False)
    a, b = known(1), known(2)
    phi = Phi()
    merged = join(state(cells=(cell,), heap={1: a}), state(cells=(cell,), heap={1: b}), phi)
    assert phi.asked == [("heap 1", a, b)]
    assert merged.heap[1].items == (a, b)


def test_a_cell_that_is_empty_on_one_side_cannot_be_joined():
    cell = SymCell(None, 1, "total", UNBOUND, from_outside=False)
    with pytest.raises(JoinError, match="bound on one side only"):
        join(
            state(cells=(cell,), heap={1: known(1)}), state(cells=(cell,), heap={1: UNBOUND}), Phi()
        )


def test_a_state_is_not_changed_by_what_is_made_of_it():
    first = state(known(1))
    second = first.push(known(2)).with_heap(4, known(3))
    assert len(first.stack) == 1
    assert first.heap == {}
    assert len(second.stack) == 2
    assert list(second.heap) == [4]
    with pytest.raises(AttributeError):
        first.index = 4


def test_a_cell_that_one_side_changed_is_merged_with_its_first_contents():
    a, b = known(1), known(2)
    cell = SymCell(None, 1, "total", a, from_outside=True)
    phi = Phi()
    merged = join(state(cells=(cell,), heap={1: b}), state(cells=(cell,)), phi)
    assert phi.asked == [("heap 1", b, a)]
    assert merged.heap[1].items == (b, a)


def test_objects_inside_others_are_found():
    inner = SymObject(None, list, 6, ())
    outer = SymObject(None, list, 5, (inner,))
    with pytest.raises(JoinError, match="object 6"):
        join(state(SymTuple(None, (outer,)), heap={6: (known(1),)}), state(outer), Phi())
