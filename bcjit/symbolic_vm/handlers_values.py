"""Handlers of attributes, operators and containers: each asks the protocol module that knows what the operation means."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final, cast

import bcjit.symbolic_vm.break_reasons as because
from bcjit.bytecode import Instruction, Op
from bcjit.symbolic_vm.attribute_writes import delete_attribute, set_attribute
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.builtin_calls import extend_list, items_of
from bcjit.symbolic_vm.calls import call_setter, get
from bcjit.symbolic_vm.handler_table import argument_count, argument_name, handles
from bcjit.symbolic_vm.identity import identical
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import call_scalar, describe
from bcjit.symbolic_vm.operators import (
    binary,
    compare,
    contains,
    fold,
    is_data,
    length,
    new_list,
    truth,
    unary,
)
from bcjit.symbolic_vm.state import Frame
from bcjit.symbolic_vm.subscripts import (
    MISSING,
    add_to_list,
    delete_item,
    dict_items,
    dict_key,
    dict_lookup,
    get_item,
    holds_key,
    set_in_dict,
    set_item,
    with_item,
)
from bcjit.symbolic_vm.values import (
    DictItem,
    Known,
    Lazy,
    SymArray,
    SymObject,
    SymScalar,
    SymSlice,
    SymTuple,
    SymValue,
)


@handles(Op.LOAD_ATTR)
def _load_attr(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    value = vm.pop()
    vm.push(get(vm, value, argument_name(instruction)))


@handles(Op.UNARY_NEGATIVE)
def _unary_negative(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(unary(vm, "-", vm.pop()))


@handles(Op.UNARY_POSITIVE)
def _unary_positive(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(unary(vm, "+", vm.pop()))


@handles(Op.UNARY_INVERT)
def _unary_invert(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(unary(vm, "~", vm.pop()))


@handles(Op.TO_BOOL)
def _to_bool(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    value = vm.pop()
    if is_data(vm, value):
        value = vm.realize(value)
        if _is_jump(frame.listing.instructions[vm.state.index]):
            if not vm.structured:
                truth(vm, value)  # it breaks
            vm.push(value)  # the jump asks it
        elif isinstance(value, SymScalar) and value.pytype is bool:
            vm.push(value)
        else:
            vm.push(call_scalar(vm, operator.truth, (value,), bool))
        return
    vm.push(Known(None, truth(vm, value)))


def _is_jump(instruction: Instruction) -> bool:
    return instruction.op in (Op.POP_JUMP_IF_TRUE, Op.POP_JUMP_IF_FALSE)


@handles(Op.UNARY_NOT)
def _unary_not(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    value = vm.realize(vm.pop())
    if isinstance(value, Known):
        vm.push(Known(None, not value.value))
    else:
        vm.push(call_scalar(vm, operator.not_, (value,), bool, can_fail=False))


@handles(Op.BINARY_OP)
def _binary_op(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    left, right = vm.popn(2)
    symbol = argument_name(instruction)
    if symbol.endswith("="):
        left = vm.realize(left)
        if isinstance(left, SymObject):
            _inplace_container(vm, symbol, left, right)
            return
    vm.push(binary(vm, symbol, left, right))


def _inplace_container(vm: Machine, symbol: str, left: SymObject, right: SymValue) -> None:
    if symbol != "+=" or left.pytype is not list:
        break_graph(because.NO_RULE, f"{describe(left)} {symbol} {describe(right)}")
    extend_list(vm, left, right, "+=")
    vm.push(left)


@handles(Op.COMPARE_OP)
def _compare_op(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    left, right = vm.popn(2)
    vm.push(compare(vm, argument_name(instruction), left, right))


@handles(Op.IS_OP)
def _is_op(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    left, right = vm.popn(2)
    _push_answer(vm, identical(vm, left, right), invert=bool(instruction.arg))


@handles(Op.CONTAINS_OP)
def _contains_op(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    item, container = vm.popn(2)
    found = holds_key(vm, container, item)
    if found is not None:
        _push_answer(vm, Known(None, found), invert=bool(instruction.arg))
        return
    _push_answer(vm, contains(vm, item, container), invert=bool(instruction.arg))


def _push_answer(vm: Machine, answer: SymValue, *, invert: bool) -> None:
    assert isinstance(answer, Known)
    vm.push(Known(None, bool(answer.value) is not invert))


@handles(Op.BINARY_SUBSCR)
def _binary_subscr(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    value, key = vm.popn(2)
    vm.push(get_item(vm, value, key))


@handles(Op.STORE_SUBSCR)
def _store_subscr(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    item, value, key = vm.popn(3)
    set_item(vm, value, key, item)


@handles(Op.DELETE_SUBSCR)
def _delete_subscr(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    value, key = vm.popn(2)
    delete_item(vm, value, key)


@handles(Op.STORE_ATTR)
def _store_attr(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    item, value = vm.popn(2)
    set_attribute(vm, value, argument_name(instruction), item, call_setter)


@handles(Op.DELETE_ATTR)
def _delete_attr(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    delete_attribute(vm, vm.pop(), argument_name(instruction))


@handles(Op.GET_LEN)
def _get_len(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(length(vm, vm.state.stack[-1]))


@handles(Op.BUILD_TUPLE)
def _build_tuple(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(SymTuple(None, vm.popn(argument_count(instruction))))


@handles(Op.BUILD_LIST)
def _build_list(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(new_list(vm, vm.popn(argument_count(instruction))))


@handles(Op.BUILD_MAP)
def _build_map(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    flat = vm.popn(2 * argument_count(instruction))
    _push_dict(vm, flat[::2], flat[1::2])


@handles(Op.BUILD_CONST_KEY_MAP)
def _build_const_key_map(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    *items, keys = vm.popn(argument_count(instruction) + 1)
    _push_dict(vm, items_of(vm, keys, "keys"), tuple(items))


def _push_dict(vm: Machine, keys: tuple[SymValue, ...], items: tuple[SymValue, ...]) -> None:
    contents: tuple[DictItem, ...] = ()
    for key, item in zip(keys, items, strict=True):
        contents = with_item(contents, dict_key(vm, key), item, key)
    vm.push(SymObject(None, dict, vm.new_id(), contents))


@handles(Op.BUILD_SLICE)
def _build_slice(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    parts = vm.popn(argument_count(instruction))
    none = Known(None, None)
    start, stop, step = (*parts, none)[:3]
    vm.push(SymSlice(None, start, stop, step))


@handles(Op.BUILD_STRING)
def _build_string(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    parts = vm.popn(argument_count(instruction))
    if vm.continues and any(isinstance(part, Lazy) for part in parts):
        break_graph(because.NO_RULE, "text that was made before")  # another one in each turn
    texts = [vm.realize(part) for part in parts]
    if not all(isinstance(text, Known) for text in texts):
        break_graph(because.NO_RULE, "text of a value")
    vm.push(Known(None, "".join(str(text.value) for text in texts if isinstance(text, Known))))


@handles(Op.FORMAT_VALUE)
def _format_value(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    conversion, has_spec = cast("tuple[str | None, bool]", instruction.arg)
    spec = vm.realize(vm.pop()) if has_spec else Known(None, "")
    value = vm.pop()
    if vm.continues and isinstance(value, Lazy):
        break_graph(because.NO_RULE, "text of a value that was made before")
    value = vm.realize(value)
    if not (isinstance(value, Known) and isinstance(spec, Known)) or type(value.value) not in (
        str, int, float, bool, type(None),
    ):  # fmt: skip
        break_graph(because.NO_RULE, f"text of {describe(value)}")
    convert = _CONVERT[conversion] if conversion is not None else lambda v: v
    vm.push(fold(lambda v, s: format(convert(v), s), value.value, spec.value))


@handles(Op.CONVERT_VALUE)
def _convert_value(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    value = vm.realize(vm.pop())
    if not isinstance(value, Known) or type(value.value) not in (str, int, float, bool, type(None)):
        break_graph(because.NO_RULE, f"text of {describe(value)}")
    vm.push(fold(_CONVERT[argument_name(instruction)], value.value))


_CONVERT: Final[dict[str, Callable[[Any], Any]]] = {"str": str, "repr": repr, "ascii": ascii}


def _below(vm: Machine, instruction: Instruction) -> SymObject:
    found = vm.realize(vm.state.stack[-argument_count(instruction)])
    if not isinstance(found, SymObject):
        break_graph(because.NO_RULE, f"{instruction.op.name} into {describe(found)}")
    return found


@handles(Op.LIST_EXTEND)
def _list_extend(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    more = items_of(vm, vm.pop(), "unpacking")
    add_to_list(vm, _below(vm, instruction), more, list.extend, SymTuple(None, more))


@handles(Op.LIST_APPEND)
def _list_append(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    item = vm.pop()
    add_to_list(vm, _below(vm, instruction), (item,), list.append, item)


@handles(Op.DICT_UPDATE, Op.DICT_MERGE)
def _dict_update(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    more = vm.realize(vm.pop())
    if not isinstance(more, SymObject) or more.pytype is not dict:
        break_graph(because.NO_RULE, f"** of {describe(more)}")
    owner = _below(vm, instruction)
    merge = instruction.op is Op.DICT_MERGE
    for key, item, spelled in dict_items(vm, more):
        if merge and (type(key) is not str or dict_lookup(vm, owner, key) is not MISSING):
            break_graph(because.WOULD_RAISE, "keywords given twice, or not text")
        set_in_dict(vm, owner, spelled, item)


@handles(Op.MAP_ADD)
def _map_add(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    key, item = vm.popn(2)
    set_in_dict(vm, _below(vm, instruction), key, item)


@handles(Op.LIST_TO_TUPLE)
def _list_to_tuple(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(SymTuple(None, items_of(vm, vm.pop(), "tuple")))


@handles(Op.UNPACK_SEQUENCE)
def _unpack_sequence(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    for item in reversed(_unpacked(vm, vm.pop(), argument_count(instruction), exact=True)):
        vm.push(item)


def _unpacked(vm: Machine, value: SymValue, count: int, *, exact: bool) -> tuple[SymValue, ...]:
    value = vm.realize(value)
    if isinstance(value, SymArray):
        if not value.meta.shape:
            break_graph(because.WOULD_RAISE, "unpacking of a 0-d array")
        size = vm.fix(value.meta.shape[0], "number of items unpacked")
        if size != count:
            break_graph(because.WOULD_RAISE, "number of items unpacked")
        return tuple(get_item(vm, value, Known(None, index)) for index in range(size))
    items = items_of(vm, value, "unpacking")
    if len(items) < count or (exact and len(items) != count):
        break_graph(because.WOULD_RAISE, "number of items unpacked")
    return items


@handles(Op.UNPACK_EX)
def _unpack_ex(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    before, after = cast("tuple[int, int]", instruction.arg)
    value = vm.realize(vm.pop())
    if isinstance(value, SymArray):
        break_graph(because.NO_RULE, "starred unpacking of an array")
    items = _unpacked(vm, value, before + after, exact=False)
    middle = len(items) - after
    rest = new_list(vm, items[before:middle])
    for item in reversed((*items[:before], rest, *items[middle:])):
        vm.push(item)
