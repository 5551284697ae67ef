"""Rules for sets, deques and the views of dicts; importing this module fills the tables.

Of a set or a deque from outside nothing is read; what is done to it is logged, for residual code to do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

import bcjit.symbolic_vm.break_reasons as because
from bcjit.bytecode import Instruction, Op
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.builtin_calls import Args, Kwargs, each_of, items_of
from bcjit.symbolic_vm.calls import builtin
from bcjit.symbolic_vm.finalisers import drop
from bcjit.symbolic_vm.handler_table import argument_count, handles
from bcjit.symbolic_vm.iterators import each_left, is_iterator
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import describe
from bcjit.symbolic_vm.set_history import SetStep, real_set
from bcjit.symbolic_vm.state import Effect, Frame
from bcjit.symbolic_vm.subscripts import KEY_TYPES, dict_key, write_contents
from bcjit.symbolic_vm.values import Known, SymObject, SymScalar, SymTuple, SymValue, SymView

NONE = Known(None, None)
# Keys that any object can be compared with, without code of the program being run.
_PLAIN: Final = (*KEY_TYPES, complex)


def _arity(name: str, args: Args, kwargs: Kwargs, low: int, high: int) -> None:
    if kwargs or not low <= len(args) - 1 <= high:
        break_graph(because.NO_RULE, f"{name} with these arguments")


def _owner(vm: Machine, value: SymValue, pytype: type) -> SymObject:
    value = vm.realize(value)
    if isinstance(value, SymObject) and value.pytype is pytype:
        return value
    return break_graph(because.NO_RULE, f"{pytype.__name__} method of {describe(value)}")


def _contents(vm: Machine, owner: SymObject, what: str) -> tuple[object, ...]:
    contents = vm.contents(owner)
    if not isinstance(contents, tuple):
        break_graph(because.NO_RULE, f"{what} of a {owner.pytype.__name__} from outside")
    return contents


# ---------------------------------------------------------------------- sets
def new_set(vm: Machine, items: Args) -> SymObject:
    """Return a set made in the frame of these items."""
    steps = tuple(SetStep("add", dict_key(vm, item), item) for item in items)
    return SymObject(None, set, vm.new_id(), steps)


def _change(vm: Machine, owner: SymObject, method: str, key: object, operand: SymValue) -> None:
    steps = _contents(vm, owner, method)
    write_contents(vm, owner, (*steps, SetStep(method, key, operand)), method)


def _check_item(vm: Machine, owner: SymObject, item: SymValue) -> None:
    """Break unless hashing an item and comparing it with those of a set from outside runs nothing of the program."""
    assert isinstance(owner.obj, set)
    if any(type(known) not in _PLAIN for known in tuple(owner.obj)):  # at once: see capture
        break_graph(because.NO_RULE, "a set with items of other than builtin types")
    item = vm.realize(item)
    if isinstance(item, SymTuple):
        for part in item.items:
            _check_item(vm, owner, part)
    elif not isinstance(item, SymScalar) and not (
        isinstance(item, Known) and type(item.value) in _PLAIN
    ):
        break_graph(because.NO_RULE, f"a set of {describe(item)}")


def _outside(vm: Machine, owner: SymObject, method: object, *operands: SymValue) -> None:
    vm.perform(Effect("method", owner=owner, key=method, operands=operands))


def _set_method(name: str) -> None:
    method = getattr(set, name)

    def rule(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
        _arity(f"set.{name}", args, kwargs, 1, 1)
        owner = _owner(vm, args[0], set)
        if owner.source is None:
            _change(vm, owner, name, dict_key(vm, args[1]), args[1])
        else:
            _check_item(vm, owner, args[1])
            _outside(vm, owner, method, args[1])
        return NONE

    builtin(method)(rule)


_set_method("add")
_set_method("discard")


@builtin(set.remove)
def _remove(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("set.remove", args, kwargs, 1, 1)
    owner = _owner(vm, args[0], set)
    key = dict_key(vm, args[1])
    if key not in real_set(_contents(vm, owner, "remove")):
        break_graph(because.WOULD_RAISE, "KeyError")
    _change(vm, owner, "discard", key, args[1])
    return NONE


@builtin(set.clear)
def _clear(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("set.clear", args, kwargs, 0, 0)
    owner = _owner(vm, args[0], set)
    if owner.source is None:
        write_contents(vm, owner, (), "clear")
    else:
        drop(vm, owner)
        _outside(vm, owner, set.clear)
    return NONE


@builtin(set.update)
def _update(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("set.update", args, kwargs, 1, 1)
    _put_all(vm, _owner(vm, args[0], set), args[1])
    return NONE


def _put_all(vm: Machine, owner: SymObject, more: SymValue) -> None:
    more = vm.realize(more)
    if isinstance(more, Known) and type(more.value) is frozenset and owner.source is None:
        if any(type(item) not in _PLAIN for item in more.value):
            break_graph(because.NO_RULE, "a set with items of other than builtin types")
        _change(vm, owner, "update", more.value, more)
        return
    for item in _plain_items(vm, more):
        if owner.source is None:
            _change(vm, owner, "add", dict_key(vm, item), item)
        else:
            _check_item(vm, owner, item)
            _outside(vm, owner, set.add, item)


def _plain_items(vm: Machine, value: SymValue) -> Iterable[SymValue]:
    """Return the items of what a set takes one by one; sets and dicts are taken in other ways."""
    if isinstance(value, SymObject) and value.pytype not in (list, deque):
        break_graph(because.NO_RULE, f"a set of the items of {describe(value)}")
    return each_of(vm, value, "set")


@builtin(set)
def _set(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    if kwargs or len(args) > 1:
        break_graph(because.NO_RULE, "set with these arguments")
    return new_set(vm, tuple(_plain_items(vm, vm.realize(args[0]))) if args else ())


@handles(Op.BUILD_SET)
def _build_set(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(new_set(vm, vm.popn(argument_count(instruction))))


def _below(vm: Machine, instruction: Instruction) -> SymObject:
    return _owner(vm, vm.state.stack[-argument_count(instruction)], set)


@handles(Op.SET_ADD)
def _set_add(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    item = vm.pop()
    _put_all(vm, _below(vm, instruction), SymTuple(None, (item,)))


@handles(Op.SET_UPDATE)
def _set_update(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    more = vm.pop()
    _put_all(vm, _below(vm, instruction), more)


# ---------------------------------------------------------------------- deques
@builtin(deque)
def _deque(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    if kwargs or len(args) > 1:
        break_graph(because.NO_RULE, "deque with these arguments")
    return SymObject(None, deque, vm.new_id(), items_of(vm, args[0], "deque") if args else ())


def _pushes(name: str, *, many: bool, left: bool) -> None:
    method = getattr(deque, name)
    single = deque.appendleft if left else deque.append

    def rule(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
        _arity(f"deque.{name}", args, kwargs, 1, 1)
        owner = _owner(vm, args[0], deque)
        if many and is_iterator(more := vm.realize(args[1])):
            for item in each_left(vm, more, name):
                push(vm, owner, (item,), single, item)
            return NONE
        items = items_of(vm, args[1], name) if many else (args[1],)
        push(vm, owner, items, method, SymTuple(None, items) if many else args[1])
        return NONE

    def push(vm: Machine, owner: SymObject, items: Args, how: object, operand: SymValue) -> None:
        if owner.source is None:
            held = _contents(vm, owner, name)
            after = (*items[::-1], *held) if left else (*held, *items)
            write_contents(vm, owner, after, name)
            return
        assert isinstance(owner.obj, deque)
        if owner.obj.maxlen is not None:
            drop(vm, *(owner,) if _full_of_objects(owner.obj) else ())
        _outside(vm, owner, how, operand)

    builtin(method)(rule)


def _full_of_objects(items: deque[object]) -> bool:
    return len(items) == items.maxlen


_pushes("append", many=False, left=False)
_pushes("appendleft", many=False, left=True)
_pushes("extend", many=True, left=False)
_pushes("extendleft", many=True, left=True)


def _pops(name: str, place: int) -> None:
    def rule(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
        _arity(f"deque.{name}", args, kwargs, 0, 0)
        owner = _owner(vm, args[0], deque)
        items = list(_contents(vm, owner, name))
        if not items:
            break_graph(because.WOULD_RAISE, f"{name} from an empty deque")
        found = items.pop(place)
        assert isinstance(found, SymValue)
        write_contents(vm, owner, tuple(items), name)
        return found

    builtin(getattr(deque, name))(rule)


_pops("pop", -1)
_pops("popleft", 0)


@builtin(deque.clear)
def _clear_deque(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("deque.clear", args, kwargs, 0, 0)
    owner = _owner(vm, args[0], deque)
    if owner.source is None:
        write_contents(vm, owner, (), "clear")
    else:
        drop(vm, owner)
        _outside(vm, owner, deque.clear)
    return NONE


# ---------------------------------------------------------------------- views of dicts
def _view(name: str, sample: object) -> None:
    def rule(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
        _arity(f"dict.{name}", args, kwargs, 0, 0)
        return SymView(None, type(sample), _owner(vm, args[0], dict), name)

    builtin(getattr(dict, name))(rule)


_view("keys", {}.keys())
_view("values", {}.values())
_view("items", {}.items())
