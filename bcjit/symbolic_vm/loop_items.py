"""What an iterator made in the frame gives in a turn of a loop that is a node, by the number of the turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import bcjit.symbolic_vm.break_reasons as because
from bcjit.dims import Dim, Relation, floor_divide, maximum, minimum
from bcjit.meta import ScalarMeta
from bcjit.records import dataclass
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.merging import chosen
from bcjit.symbolic_vm.numpy_calls import describe
from bcjit.symbolic_vm.operators import as_dim, from_dim
from bcjit.symbolic_vm.subscripts import get_item
from bcjit.symbolic_vm.values import (
    IteratorState,
    Known,
    SymArray,
    SymIterator,
    SymObject,
    SymRange,
    SymTuple,
    SymValue,
)

__all__ = ["Count", "Counter", "counter_of", "item_in_turn", "taken"]

_LONGEST: Final = 256  # items of a list or tuple that are looked at one by one


@dataclass(frozen=True, slots=True)
class Count:
    """The number of a turn, from 0, and the index in the range that the loop counts."""

    turn: Dim
    index: Dim


@dataclass(frozen=True, slots=True)
class Counter:
    """The range that a loop counts: that of the program, or one from 0."""

    start: Dim
    stop: Dim
    step: int
    own: bool  # whether the items are the indices

    def runs(self, vm: Machine) -> bool | None:
        """Whether there is a turn; None if that depends on data."""
        low, high = (self.start, self.stop) if self.step > 0 else (self.stop, self.start)
        return vm.ask(Relation("<", low, high))

    def operands(self) -> tuple[Dim, Dim, Dim]:
        """Return start, stop and step."""
        return self.start, self.stop, self.step

    def begin(self, vm: Machine, name: str) -> Count:
        """Make the index an input of the present graph, a turn's; that it lies in the range is known from then on."""
        node = vm.graph.input(name, ScalarMeta(int))
        env = vm.env
        if self.step > 0:
            low, high = self.start, self.stop - 1
        else:
            low, high = self.stop + 1, self.start
        nonnegative = env.known(Relation("<=", 0, low)) is True
        symbol = env.symbol(vm.fresh_name(node.name), "data", nonnegative=nonnegative)
        vm.graph.bind_symbol(symbol, node, None)
        env.assume(Relation("<=", low, symbol.expr))
        env.assume(Relation("<=", symbol.expr, high))
        turn = floor_divide(symbol.expr - self.start, self.step)
        return Count(env.simplify(turn), symbol.expr)


def counter_of(vm: Machine, iterator: SymIterator) -> Counter:
    """Return what a loop over an iterator counts.

    Raises
    ------
    GraphBreak
        If it cannot be said how often the iterator gives something, or what.
    """
    owner = iterator.parts[0] if iterator.parts else None
    if iterator.kind == "items" and isinstance(owner, SymRange) and _given(vm, iterator) == 0:
        start, stop, step = (as_dim(vm, part) for part in (owner.start, owner.stop, owner.step))
        if isinstance(step, int) and start is not None and stop is not None:
            return Counter(start, stop, step, own=True)
    return Counter(0, _left(vm, iterator), 1, own=False)


def _given(vm: Machine, iterator: SymIterator) -> Dim:
    state = vm.state.heap.get(iterator.oid, iterator.initial)
    assert isinstance(state, IteratorState)
    if state.done:
        break_graph(because.LOOP, "over an iterator that has ended")
    return state.given


def _left(vm: Machine, iterator: SymValue) -> Dim:
    """Return how many items an iterator still gives."""
    iterator = vm.realize(iterator)
    if not isinstance(iterator, SymIterator):
        return break_graph(because.LOOP, f"over {describe(iterator)}")
    given = _given(vm, iterator)
    if iterator.kind in ("items", "reversed"):
        left = vm.env.simplify(_length(vm, iterator.parts[0]) - given)
        return left if vm.env.known(Relation("<=", 0, left)) else maximum(left, 0)
    if iterator.kind == "enumerate":
        return _left(vm, iterator.parts[0])
    if iterator.kind == "zip" and iterator.parts:
        lengths = [_left(vm, part) for part in iterator.parts]
        found = lengths[0]
        for length in lengths[1:]:
            found = _shorter(vm, found, length)
        return found
    return break_graph(because.LOOP, f"over {iterator.kind}")


def _shorter(vm: Machine, a: Dim, b: Dim) -> Dim:
    if a == b or vm.env.known(Relation("<=", a, b)):
        return a
    return b if vm.env.known(Relation("<=", b, a)) else minimum(a, b)


def _length(vm: Machine, owner: SymValue) -> Dim:
    if isinstance(owner, SymArray):
        return owner.meta.shape[0]
    if isinstance(owner, SymRange):
        start, stop, step = (as_dim(vm, part) for part in (owner.start, owner.stop, owner.step))
        if start is None or stop is None or not isinstance(step, int):
            return break_graph(because.LOOP, "over a range whose step is not constant")
        span = stop - start if step > 0 else start - stop
        return vm.env.simplify(maximum(floor_divide(span + abs(step) - 1, abs(step)), 0))
    return len(_items(vm, owner))


def _items(vm: Machine, owner: SymValue) -> tuple[SymValue, ...]:
    """Return the items of a list or tuple."""
    items: object = None
    if isinstance(owner, SymTuple):
        items = owner.items
    elif isinstance(owner, SymObject) and owner.pytype is list:
        if isinstance(owner.obj, list) and len(owner.obj) > _LONGEST:
            break_graph(because.LOOP, f"over a list of more than {_LONGEST} items")
        items = vm.contents(owner)
    elif isinstance(owner, Known) and type(owner.value) is tuple:
        items = tuple(Known(None, item) for item in owner.value)
    if not isinstance(items, tuple):
        break_graph(because.LOOP, f"over {describe(owner)}")
    if len(items) > _LONGEST:
        break_graph(because.LOOP, f"over more than {_LONGEST} items")
    return items


def item_in_turn(vm: Machine, iterator: SymIterator, count: Count, *, own: bool) -> SymValue:
    """Return what an iterator gives in a turn; `own` says that it is the loop's own range."""
    if own:
        return from_dim(vm, count.index)
    return _item(vm, iterator, count.turn)


def _item(vm: Machine, iterator: SymValue, turn: Dim) -> SymValue:
    iterator = vm.realize(iterator)
    assert isinstance(iterator, SymIterator)
    state = vm.state.heap.get(iterator.oid, iterator.initial)
    assert isinstance(state, IteratorState)
    place = state.given - 1  # `taken` has counted it already
    del turn
    if iterator.kind == "zip":
        return SymTuple(None, tuple(_item(vm, part, 0) for part in iterator.parts))
    if iterator.kind == "enumerate":
        item = _item(vm, iterator.parts[0], 0)
        return SymTuple(None, (from_dim(vm, place), item))
    owner = iterator.parts[0]
    if iterator.kind == "reversed":
        size = as_dim(vm, iterator.parts[1])
        assert size is not None
        place = size - 1 - place
    if isinstance(owner, SymRange):
        start, step = as_dim(vm, owner.start), as_dim(vm, owner.step)
        assert start is not None
        assert step is not None
        return from_dim(vm, start + place * step)
    if isinstance(owner, SymArray):
        return get_item(vm, owner, from_dim(vm, place))
    found = chosen(vm, _items(vm, owner), place, can_fail=False)
    return break_graph(because.LOOP, "over items of several kinds") if found is None else found


def taken(vm: Machine, iterator: SymIterator, turns: Dim) -> None:
    """Say in the state that an iterator, and those it asks, have given what belongs to so many turns."""
    for one in _tree(iterator):
        state = vm.state.heap.get(one.oid, one.initial)
        assert isinstance(state, IteratorState)
        given = vm.env.simplify(state.given + turns)
        vm.state = vm.state.with_heap(one.oid, IteratorState(given))


def _tree(iterator: SymValue) -> Iterator[SymIterator]:
    if isinstance(iterator, SymIterator):
        yield iterator
        for part in iterator.parts:
            yield from _tree(part)
