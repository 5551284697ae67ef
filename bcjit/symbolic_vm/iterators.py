"""``iter``, ``next`` and the builtin iterators on symbolic values.

An iterator made in the frame is stepped here as long as what it gives is known without running code; how far it is, is part of the
state, so that it can be made again where a graph is cut. A live iterator from outside is never stepped: asking it is left to Python.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

import bcjit.symbolic_vm.break_reasons as because
from bcjit.config import config
from bcjit.dims import Expr
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.calls import builtin, call
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import describe
from bcjit.symbolic_vm.operators import as_dim, from_dim, truth
from bcjit.symbolic_vm.subscripts import dict_items, get_item, view_item
from bcjit.symbolic_vm.values import (
    Appended,
    IteratorState,
    Known,
    SymArray,
    SymGenerator,
    SymInstance,
    SymIterator,
    SymNamedTuple,
    SymObject,
    SymRange,
    SymTuple,
    SymValue,
    SymView,
)

__all__ = ["drain", "each_left", "get_iter", "is_iterator", "step", "turns_left"]

Args = tuple[SymValue, ...]
Kwargs = Mapping[str, SymValue]
# Iterators that are their own iterator and whose class cannot be changed.
_SAMPLES_LIVE: Final[tuple[object, ...]] = (
    iter(()), iter([]), iter(""), iter(b""), iter({}), iter({}.items()), iter({}.values()),
    iter(set()), iter(range(0)), iter(range(1 << 70)), reversed([]), reversed({}),
    zip(), enumerate(()), map(abs, ()), filter(None, ()), (n for n in (0,)),
    itertools.chain(), itertools.count(), itertools.islice((), 0), itertools.product(),
)  # fmt: skip
_LIVE: Final = tuple(map(type, _SAMPLES_LIVE))


def is_iterator(value: SymValue) -> bool:
    """Whether a value is an iterator made in the frame."""
    return isinstance(value, SymIterator | SymGenerator)


def get_iter(vm: Machine, value: SymValue) -> SymValue:
    """``iter(value)``."""
    value = vm.realize(value)
    if is_iterator(value):
        return value
    if isinstance(value, SymInstance) and value.pytype in _LIVE:
        return value
    if isinstance(value, SymArray):
        if not value.meta.shape:
            break_graph(because.WOULD_RAISE, "iteration over a 0-d array")
        return _made(vm, "items", _SEQUENCE_ITERATOR, (value,))
    if isinstance(value, SymView):
        _must_be_as_found(vm, value.owner)
        keys = Known(None, _peek_keys(vm, value.owner))
        return _made(vm, "keys", type(iter(getattr({}, value.which)())), (value, keys))
    sample = _SAMPLES.get(_container_type(value))
    if sample is None:
        return break_graph(because.NO_RULE, f"iteration over {describe(value)}")
    if isinstance(value, SymObject) and value.pytype is dict:
        _must_be_as_found(vm, value)
        return _made(vm, "keys", type(iter(sample)), (value, Known(None, _peek_keys(vm, value))))
    return _made(vm, "items", type(iter(sample)), (value,))


def _must_be_as_found(vm: Machine, value: SymObject) -> None:
    """Break where an iterator could not be made: it is made of the container before that is changed."""
    if value.source is not None and value.oid in vm.state.heap:
        break_graph(because.NO_RULE, f"iteration over a changed {value.pytype.__name__}")


def _peek_keys(vm: Machine, value: SymObject) -> tuple[object, ...]:
    contents = vm.state.heap.get(value.oid, value.initial)
    if isinstance(contents, tuple):
        return tuple(item.key for item in contents)
    assert isinstance(value.obj, dict)
    return tuple(value.obj)


class _Sequence:
    def __getitem__(self, index: int) -> object:
        raise IndexError


_SEQUENCE_ITERATOR: Final[type] = type(iter(_Sequence()))
_SAMPLES: Final[dict[type | None, Any]] = {tuple: (), list: [], dict: {}, range: range(0), str: "", bytes: b""}  # fmt: skip


def _container_type(value: SymValue) -> type | None:
    if isinstance(value, SymTuple | SymNamedTuple):
        return tuple
    if isinstance(value, SymRange):
        return range
    if isinstance(value, SymObject) and value.pytype in (list, dict):
        return value.pytype
    if isinstance(value, Known) and type(value.value) in (str, bytes, tuple):
        return type(value.value)
    return None


def _made(
    vm: Machine, kind: str, pytype: type, parts: tuple[SymValue, ...], start: int = 0
) -> SymIterator:
    return SymIterator(None, kind, pytype, vm.new_id(), parts, IteratorState(start))


def _state(vm: Machine, it: SymIterator) -> IteratorState:
    found = vm.state.heap.get(it.oid, it.initial)
    assert isinstance(found, IteratorState)
    return found


# ---------------------------------------------------------------------- how long
def turns_left(vm: Machine, value: SymValue) -> float:
    """Return at most how many items an iterator still gives; infinite where that is not known. Guards nothing."""
    if not isinstance(value, SymIterator):
        return math.inf
    state = _state(vm, value)
    if state.done:
        return 0
    if isinstance(state.given, Expr):
        return math.inf
    if value.kind in _OVER_ITEMS:
        size = _peek_length(vm, value.parts[0])
        return math.inf if size is None else max(size - state.given, 0)
    iterators = value.parts[1:] if value.kind in ("map", "filter") else value.parts
    lengths = [turns_left(vm, part) for part in iterators]
    return sum(lengths) if value.kind == "chain" else min(lengths, default=0)


def _peek_length(vm: Machine, value: SymValue) -> float | None:
    if isinstance(value, SymView):
        value = value.owner
    if isinstance(value, SymTuple | SymNamedTuple):
        return len(value.items)
    if isinstance(value, SymObject):
        contents = vm.state.heap.get(value.oid, value.initial)
        if isinstance(contents, tuple):
            return len(contents)
        if isinstance(contents, Appended):
            assert isinstance(value.obj, list)
            return len(value.obj) + len(contents.items)
        return len(value.obj) if isinstance(value.obj, list | dict) else None
    if isinstance(value, SymRange):
        return _range_length((value.start, value.stop, value.step))
    if isinstance(value, SymArray):
        size = value.meta.shape[0]
        return size if isinstance(size, int) else None
    assert isinstance(value, Known)
    return len(value.value)  # type: ignore[arg-type]  # str, bytes or tuple: see _container_type


def _range_length(parts: tuple[SymValue, ...]) -> float:
    bounds = [part.value for part in parts if isinstance(part, Known)]
    if len(bounds) != len(parts):
        return math.inf
    return len(range(*cast("list[int]", bounds)))  # the rule of range saw to it


# ---------------------------------------------------------------------- one step
def step(vm: Machine, value: SymValue) -> SymValue | None:
    """Return what ``next`` gives, None when the iterator is exhausted.

    Raises
    ------
    GraphBreak
        If that is not known here.
    """
    if isinstance(value, SymGenerator):
        return vm.resume_generator(value)
    if not isinstance(value, SymIterator):
        return break_graph(because.LOOP, f"over {describe(value)}")
    state = _state(vm, value)
    if state.done:
        return None
    if isinstance(state.given, Expr):
        break_graph(because.LOOP, "over an iterator in a turn of a loop")
    item = _STEPS[value.kind](vm, value, state.given)
    if item is not None:
        vm.state = vm.state.with_heap(value.oid, IteratorState(state.given + 1))
    elif value.kind in _OVER_ITEMS:  # the others ask again
        vm.state = vm.state.with_heap(value.oid, IteratorState(state.given, done=True))
    return item


def _next_item(vm: Machine, it: SymIterator, given: int) -> SymValue | None:
    owner = it.parts[0]
    if isinstance(owner, SymTuple | SymNamedTuple):
        return owner.items[given] if given < len(owner.items) else None
    if isinstance(owner, SymArray):
        size = vm.fix(owner.meta.shape[0], "length of an array iterated over")
        return get_item(vm, owner, Known(None, given)) if given < size else None
    if isinstance(owner, SymRange):
        bounds: list[Any] = [
            vm.constant(part, "range") for part in (owner.start, owner.stop, owner.step)
        ]
        numbers = range(*bounds)
        return Known(None, numbers[given]) if given < len(numbers) else None
    if isinstance(owner, SymObject):
        contents = vm.contents(owner)
        assert isinstance(contents, tuple)
        if owner.source is not None and given < len(contents):
            assert isinstance(owner.obj, list)
            if given >= len(owner.obj):
                _must_be_as_found(vm, owner)
        return contents[given] if given < len(contents) else None
    assert isinstance(owner, Known)
    constant: Any = owner.value
    return Known(None, constant[given]) if given < len(constant) else None


def _next_key(vm: Machine, it: SymIterator, given: int) -> SymValue | None:
    owner, keys = it.parts
    which = "keys"
    if isinstance(owner, SymView):
        which = owner.which
        owner = owner.owner
    assert isinstance(owner, SymObject)
    assert isinstance(keys, Known)
    items = dict_items(vm, owner)
    if tuple(item.key for item in items) != keys.value:
        break_graph(because.WOULD_RAISE, "a dict that changes while it is iterated over")
    return view_item(which, items[given]) if given < len(items) else None


def _next_zip(vm: Machine, it: SymIterator, given: int) -> SymValue | None:
    items: list[SymValue] = []
    for part in it.parts:
        item = step(vm, part)
        if item is None:
            return None
        items.append(item)
    return SymTuple(None, tuple(items)) if items else None


def _next_strict_zip(vm: Machine, it: SymIterator, given: int) -> SymValue | None:
    items: list[SymValue] = []
    for place, part in enumerate(it.parts):
        item = step(vm, part)
        if item is None:
            # Where the first one ends, the others have to.
            if place or any(step(vm, other) is not None for other in it.parts[1:]):
                break_graph(because.WOULD_RAISE, "zip of arguments of different lengths")
            return None
        items.append(item)
    return SymTuple(None, tuple(items)) if items else None


def _next_enumerate(vm: Machine, it: SymIterator, given: int) -> SymValue | None:
    item = step(vm, it.parts[0])
    return None if item is None else SymTuple(None, (Known(None, given), item))


def _next_map(vm: Machine, it: SymIterator, given: int) -> SymValue | None:
    function, *iterators = it.parts
    items: list[SymValue] = []
    for part in iterators:
        item = step(vm, part)
        if item is None:
            return None
        items.append(item)
    with vm.inside_builtin():
        return call(vm, function, items)


def _next_filter(vm: Machine, it: SymIterator, given: int) -> SymValue | None:
    function, iterator = it.parts
    while True:
        item = step(vm, iterator)
        if item is None:
            return None
        kept = item
        if not (isinstance(function, Known) and function.value in (None, bool)):
            with vm.inside_builtin():
                kept = call(vm, function, (item,))
        if truth(vm, kept):
            return item


def _next_chain(vm: Machine, it: SymIterator, given: int) -> SymValue | None:
    for part in it.parts:
        item = step(vm, part)
        if item is not None:
            return item
    return None


def _next_reversed(vm: Machine, it: SymIterator, given: int) -> SymValue | None:
    owner = it.parts[0]
    size = vm.realize(it.parts[1])
    if isinstance(owner, SymArray):
        count = vm.fix(owner.meta.shape[0], "length of an array iterated over")
        return get_item(vm, owner, Known(None, count - 1 - given)) if given < count else None
    assert isinstance(size, Known)
    assert isinstance(size.value, int)
    items = drain(vm, get_iter(vm, owner), "reversed")
    place = size.value - 1 - given
    return items[place] if 0 <= place < len(items) else None


_OVER_ITEMS: Final = ("items", "keys", "reversed")
_STEPS: Final = {
    "items": _next_item,
    "keys": _next_key,
    "zip": _next_zip,
    "strict zip": _next_strict_zip,
    "enumerate": _next_enumerate,
    "map": _next_map,
    "filter": _next_filter,
    "chain": _next_chain,
    "reversed": _next_reversed,
}
_LONGEST: Final = 64


def drain(vm: Machine, iterator: SymValue, what: str) -> tuple[SymValue, ...]:
    """Return all that an iterator made in the frame still gives."""
    return tuple(each_left(vm, iterator, what))


def each_left(vm: Machine, iterator: SymValue, what: str) -> Iterator[SymValue]:
    """Ask an iterator made in the frame until it ends, for each item when the one before has been dealt with."""
    if isinstance(iterator, SymIterator) and turns_left(vm, iterator) > _LONGEST:
        break_graph(because.NO_RULE, f"{what} of a long or endless iterator")
    given = 0
    while (item := step(vm, iterator)) is not None:
        given += 1
        if given > _LONGEST:
            break_graph(because.NO_RULE, f"{what} of a long generator")
        yield item


# ---------------------------------------------------------------------- builtins
@builtin(iter)
def _iter(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    if kwargs or len(args) != 1:
        break_graph(because.NO_RULE, "iter with these arguments")
    return get_iter(vm, args[0])


@builtin(next)
def _next(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    if kwargs or not 1 <= len(args) <= 2:
        break_graph(because.NO_RULE, "next with these arguments")
    iterator = vm.realize(args[0])
    if not is_iterator(iterator):
        break_graph(because.NO_RULE, f"next of {describe(iterator)}")
    item = step(vm, iterator)
    if item is None:
        return args[1] if len(args) > 1 else break_graph(because.WOULD_RAISE, "StopIteration")
    return item


@builtin(zip)
def _zip(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    strict = vm.realize(kwargs.get("strict", Known(None, False)))
    if not (set(kwargs) <= {"strict"} and isinstance(strict, Known) and type(strict.value) is bool):
        break_graph(because.NO_RULE, "zip with keywords")
    kind = "strict zip" if strict.value else "zip"
    return _made(vm, kind, zip, tuple(get_iter(vm, arg) for arg in args))


@builtin(enumerate)
def _enumerate(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    start: SymValue = Known(None, 0)
    if len(args) == 2 and not kwargs:
        start = args[1]
    elif len(args) == 1 and set(kwargs) <= {"start"}:
        start = kwargs.get("start", start)
    else:
        break_graph(because.NO_RULE, "enumerate with these arguments")
    first = vm.realize(start)
    if not isinstance(first, Known) or type(first.value) is not int:
        break_graph(because.NO_RULE, "enumerate from a number that is not constant")
    return _made(vm, "enumerate", enumerate, (get_iter(vm, args[0]),), first.value)


@builtin(map)
def _map(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    if kwargs or len(args) < 2:
        break_graph(because.NO_RULE, "map with these arguments")
    function = vm.realize(args[0])
    return _made(vm, "map", map, (function, *(get_iter(vm, arg) for arg in args[1:])))


@builtin(filter)
def _filter(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    if kwargs or len(args) != 2:
        break_graph(because.NO_RULE, "filter with these arguments")
    return _made(vm, "filter", filter, (vm.realize(args[0]), get_iter(vm, args[1])))


@builtin(itertools.chain)
def _chain(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    if kwargs:
        break_graph(because.NO_RULE, "chain with keywords")
    return _made(vm, "chain", itertools.chain, tuple(_link(vm, arg) for arg in args))


def _link(vm: Machine, value: SymValue) -> SymValue:
    """Return the iterator of one part of a chain.

    A chain asks for it when its turn comes, which only an iterator over a dict can tell, and never asks it again once it has
    ended, while `_next_chain` does.
    """
    value = vm.realize(value)
    owner = value.owner if isinstance(value, SymView) else value
    if isinstance(owner, SymObject) and owner.pytype is dict and owner.source is not None:
        break_graph(because.NO_RULE, "a chain over a dict from outside")
    iterator = get_iter(vm, value)
    if not _ends_for_good(iterator):
        break_graph(because.NO_RULE, f"a chain over {describe(iterator)}")
    return iterator


def _ends_for_good(value: SymValue) -> bool:
    """Whether asking an exhausted iterator again changes nothing: `zip` and `map` take from those before the one that ended."""
    if not isinstance(value, SymIterator) or value.kind in _OVER_ITEMS:
        return is_iterator(value)
    iterators = value.parts[1:] if value.kind in ("map", "filter") else value.parts
    if value.kind in ("zip", "strict zip", "map") and len(iterators) > 1:
        return False
    return all(map(_ends_for_good, iterators))


@builtin(reversed)
def _reversed(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    if kwargs or len(args) != 1:
        break_graph(because.NO_RULE, "reversed with these arguments")
    value = vm.realize(args[0])
    sequence = _container_type(value)
    if sequence is range:
        assert isinstance(value, SymRange)
        return get_iter(vm, _backwards(vm, value))
    if isinstance(value, SymArray) and value.meta.shape:
        return _made(vm, "reversed", reversed, (value, from_dim(vm, value.meta.shape[0])))
    if sequence not in (tuple, list, str):
        break_graph(because.NO_RULE, f"reversed of {describe(value)}")
    if isinstance(value, SymObject):
        _must_be_as_found(vm, value)
    size = Known(None, _length_now(vm, value))
    return _made(vm, "reversed", type(reversed(_SAMPLES[sequence])), (value, size))


def _length_now(vm: Machine, value: SymValue) -> float | None:
    """Return how long a sequence is: `reversed` begins where its end was, whatever happens to a list later."""
    size = _peek_length(vm, value)
    if isinstance(value, SymObject) and value.source is not None:
        if size is None or size > config.unroll_limit:
            break_graph(because.LOOP, "over a long list, reversed")
        vm.contents(value)  # guards the length of a list from outside
    return size


def _backwards(vm: Machine, value: SymRange) -> SymRange:
    bounds = [vm.realize(part) for part in (value.start, value.stop, value.step)]
    start, stop, step_ = (as_dim(vm, part) for part in bounds)
    if step_ == 1 and start is not None and stop is not None:
        # Of a range of nothing the bounds are others; nobody can ask a range_iterator for them.
        first, last = from_dim(vm, stop - 1), from_dim(vm, start - 1)
        return SymRange(None, first, last, Known(None, -1))
    if not all(isinstance(bound, Known) for bound in bounds):
        break_graph(because.NO_RULE, "reversed of a range that is not constant")
    numbers: range = range(*(bound.value for bound in bounds))[::-1]  # type: ignore[attr-defined]  # all Known
    parts = (Known(None, n) for n in (numbers.start, numbers.stop, numbers.step))
    return SymRange(None, *parts)


def _short(function: Callable[..., bool], *, stops_at: bool) -> None:
    name = function.__name__

    def rule(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
        if kwargs or len(args) != 1:
            break_graph(because.NO_RULE, f"{name} with these arguments")
        iterator = get_iter(vm, args[0])
        if not is_iterator(iterator):
            break_graph(because.NO_RULE, f"{name} of {describe(iterator)}")
        if isinstance(iterator, SymIterator) and turns_left(vm, iterator) > _LONGEST:
            break_graph(because.NO_RULE, f"{name} of a long iterator")
        while (item := step(vm, iterator)) is not None:
            if truth(vm, item) is stops_at:
                return Known(None, stops_at)
        return Known(None, not stops_at)

    builtin(function)(rule)


_short(any, stops_at=True)
_short(all, stops_at=False)
