"""What each virtual opcode does: one handler an opcode, in one table, or a row in the list of those that break, with the reason.

Handlers move values between stack, locals and cells and leave the meaning of operations to the protocol modules. They never test a
Python version. A test holds that every opcode of every supported version is in the table.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, cast

import bcjit.symbolic_vm.break_reasons as because
import bcjit.symbolic_vm.builtin_calls as _builtin_calls
import bcjit.symbolic_vm.method_calls as _method_calls
from bcjit.bytecode import Instruction, Op
from bcjit.guards import GuardKind, Source, SourceKind
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.builtin_calls import items_of
from bcjit.symbolic_vm.calls import call, get
from bcjit.symbolic_vm.machine import Handler, Machine
from bcjit.symbolic_vm.numpy_calls import call_scalar, describe
from bcjit.symbolic_vm.operators import (
    binary,
    compare,
    contains,
    fold,
    identical,
    length,
    new_list,
    truth,
    unary,
)
from bcjit.symbolic_vm.state import Exit, Frame, ReturnExit
from bcjit.symbolic_vm.subscripts import (
    dict_items,
    dict_key,
    get_item,
    set_item,
    with_item,
    write_contents,
)
from bcjit.symbolic_vm.values import (
    NULL,
    UNBOUND,
    DictItem,
    Known,
    Null,
    SymArray,
    SymCell,
    SymFunction,
    SymObject,
    SymScalar,
    SymSlice,
    SymTuple,
    SymValue,
)

__all__ = ["BREAKS", "CALL_OPS", "HANDLERS", "PROLOGUE"]

HANDLERS: Final[dict[Op, Handler]] = {}
PROLOGUE: Final = frozenset({Op.MAKE_CELL, Op.COPY_FREE_VARS, Op.RESUME})
CALL_OPS: Final = frozenset({Op.CALL, Op.CALL_KW, Op.CALL_FUNCTION_EX})
_RULES_LOADED: Final = (_builtin_calls, _method_calls)  # importing them fills the table of builtins

_Simple = Callable[[Machine, Frame, Instruction], Exit | None]


def handles(*opcodes: Op) -> Callable[[_Simple], _Simple]:
    """Register the handler of some opcodes."""

    def register(function: _Simple) -> _Simple:
        for op in opcodes:
            if op in HANDLERS:
                message = f"two handlers for {op.name}"
                raise ValueError(message)
            HANDLERS[op] = function
        return function

    return register


def _name(instruction: Instruction) -> str:
    assert isinstance(instruction.arg, str)
    return instruction.arg


def _count(instruction: Instruction) -> int:
    assert isinstance(instruction.arg, int)
    return instruction.arg


# ---------------------------------------------------------------------- stack and constants
@handles(Op.NOP, Op.RESUME, Op.COPY_FREE_VARS)
def _nothing(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    del vm, frame, instruction


@handles(Op.POP_TOP)
def _pop_top(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.pop()


@handles(Op.PUSH_NULL)
def _push_null(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(NULL)


@handles(Op.COPY)
def _copy(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(vm.state.stack[-_count(instruction)])


@handles(Op.SWAP)
def _swap(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    stack = list(vm.state.stack)
    other = -_count(instruction)
    stack[-1], stack[other] = stack[other], stack[-1]
    vm.state = replace(vm.state, stack=tuple(stack))


@handles(Op.LOAD_CONST)
def _load_const(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(Known(None, instruction.arg))


@handles(Op.LOAD_ASSERTION_ERROR)
def _load_assertion_error(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(Known(None, AssertionError))


# ---------------------------------------------------------------------- names
def _local(frame: Frame, name: str) -> int:
    return frame.code.co_varnames.index(name)


@handles(Op.LOAD_FAST)
def _load_fast(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    value = vm.state.locals[_local(frame, _name(instruction))]
    if value is UNBOUND:
        break_graph(because.UNBOUND_NAME, _name(instruction))
    vm.push(value)


def _set_local(vm: Machine, frame: Frame, name: str, value: SymValue) -> None:
    slot = _local(frame, name)
    variables = vm.state.locals
    vm.state = replace(vm.state, locals=(*variables[:slot], value, *variables[slot + 1 :]))


@handles(Op.STORE_FAST)
def _store_fast(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    value = vm.pop()
    _set_local(vm, frame, _name(instruction), UNBOUND if isinstance(value, Null) else value)


@handles(Op.DELETE_FAST)
def _delete_fast(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    if vm.state.locals[_local(frame, _name(instruction))] is UNBOUND:
        break_graph(because.UNBOUND_NAME, _name(instruction))
    _set_local(vm, frame, _name(instruction), UNBOUND)


def _cell_slot(frame: Frame, name: str) -> int:
    return (frame.code.co_cellvars + frame.code.co_freevars).index(name)


def _cell(vm: Machine, frame: Frame, name: str) -> SymCell:
    cell = vm.state.cells[_cell_slot(frame, name)]
    if cell is None:
        break_graph(because.UNBOUND_NAME, name)
    return cell


@handles(Op.MAKE_CELL)
def _make_cell(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    name = _name(instruction)
    initial: SymValue = UNBOUND
    if name in frame.code.co_varnames:
        initial = vm.state.locals[_local(frame, name)]
        _set_local(vm, frame, name, UNBOUND)
    cell = SymCell(None, vm.new_id(), name, initial, from_outside=False)
    slot = _cell_slot(frame, name)
    cells = vm.state.cells
    vm.state = replace(vm.state, cells=(*cells[:slot], cell, *cells[slot + 1 :]))


@handles(Op.LOAD_CLOSURE)
def _load_closure(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(_cell(vm, frame, _name(instruction)))


@handles(Op.LOAD_DEREF)
def _load_deref(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    cell = _cell(vm, frame, _name(instruction))
    if (
        vm.outside_cell_written
        and cell.source is not None
        and cell.source.kind is SourceKind.CELL_OF
    ):
        # It may be a cell that was written under another name.
        break_graph(because.OUTSIDE_WRITE, f"{cell.name} of another function may have changed")
    vm.push(_contents_of(vm, cell))


def _contents_of(vm: Machine, cell: SymCell) -> SymValue:
    """Return what a cell holds; that it holds something is guarded if it was so from the start."""
    value = vm.contents(cell)
    assert isinstance(value, SymValue)
    if value is UNBOUND:
        break_graph(because.UNBOUND_NAME, cell.name)
    if value is cell.initial and cell.source is not None:
        vm.guard(GuardKind.PRESENT, cell.source, None)
    return value


@handles(Op.STORE_DEREF)
def _store_deref(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    cell = _cell(vm, frame, _name(instruction))
    value = vm.pop()
    _write_cell(vm, cell, value)


@handles(Op.DELETE_DEREF)
def _delete_deref(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    cell = _cell(vm, frame, _name(instruction))
    _contents_of(vm, cell)
    _write_cell(vm, cell, UNBOUND)


def _write_cell(vm: Machine, cell: SymCell, value: SymValue) -> None:
    if cell.source is not None and cell.source.kind is not SourceKind.CELL:
        break_graph(because.OUTSIDE_WRITE, f"variable {cell.name} of an enclosing function")
    if cell.from_outside:
        vm.note_cell_written()
    vm.state = vm.state.with_heap(cell.oid, value)


@handles(Op.LOAD_GLOBAL)
def _load_global(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(_global(vm, frame, _name(instruction)))


def _global(vm: Machine, frame: Frame, name: str) -> SymValue:
    """Mirror ``LOAD_GLOBAL`` (Python/bytecodes.c): the globals, else the builtins."""
    here = frame.globals_source
    if type(frame.globals) is not dict:
        break_graph(because.ATTRIBUTE, "globals that are not a plain dict")
    if name in frame.globals:
        kind = here.kind is SourceKind.GLOBALS
        source = Source(SourceKind.GLOBAL, name) if kind else Source(SourceKind.ITEM, name, here)
        return vm.present(source, frame.globals[name])
    if not vm.same_builtins(frame.globals):
        break_graph(because.ATTRIBUTE, "builtins of another module")
    builtins = vm.builtins
    if name not in builtins:
        break_graph(because.UNBOUND_NAME, name)
    vm.guard(GuardKind.ABSENT, here, name)
    return vm.present(Source(SourceKind.BUILTIN, name), builtins[name])


# ---------------------------------------------------------------------- attributes and operators
@handles(Op.LOAD_ATTR)
def _load_attr(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    value = vm.pop()
    vm.push(get(vm, value, _name(instruction)))


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
    value = vm.realize(vm.pop())
    data = isinstance(value, SymArray) or (
        isinstance(value, SymScalar) and not vm.is_integer(value)
    )
    if data and not _is_jump(frame.listing.instructions[vm.state.index]):
        if isinstance(value, SymScalar) and value.pytype is bool:
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
    symbol = _name(instruction)
    if symbol.endswith("="):
        left = vm.realize(left)
        if isinstance(left, SymObject):
            _inplace_container(vm, symbol, left, right)
            return
    vm.push(binary(vm, symbol, left, right))


def _inplace_container(vm: Machine, symbol: str, left: SymObject, right: SymValue) -> None:
    if symbol != "+=" or left.pytype is not list:
        break_graph(because.NO_RULE, f"{describe(left)} {symbol} {describe(right)}")
    more = items_of(vm, right, "+=")
    contents = vm.contents(left)
    assert isinstance(contents, tuple)
    write_contents(vm, left, contents + more, "+=")
    vm.push(left)


@handles(Op.COMPARE_OP)
def _compare_op(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    left, right = vm.popn(2)
    vm.push(compare(vm, _name(instruction), left, right))


@handles(Op.IS_OP)
def _is_op(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    left, right = vm.popn(2)
    _push_answer(vm, identical(vm, left, right), invert=bool(instruction.arg))


@handles(Op.CONTAINS_OP)
def _contains_op(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    item, container = vm.popn(2)
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


@handles(Op.GET_LEN)
def _get_len(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(length(vm, vm.state.stack[-1]))


# ---------------------------------------------------------------------- containers
@handles(Op.BUILD_TUPLE)
def _build_tuple(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(SymTuple(None, vm.popn(_count(instruction))))


@handles(Op.BUILD_LIST)
def _build_list(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(new_list(vm, vm.popn(_count(instruction))))


@handles(Op.BUILD_MAP)
def _build_map(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    flat = vm.popn(2 * _count(instruction))
    _push_dict(vm, flat[::2], flat[1::2])


@handles(Op.BUILD_CONST_KEY_MAP)
def _build_const_key_map(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    *items, keys = vm.popn(_count(instruction) + 1)
    _push_dict(vm, items_of(vm, keys, "keys"), tuple(items))


def _push_dict(vm: Machine, keys: tuple[SymValue, ...], items: tuple[SymValue, ...]) -> None:
    contents: tuple[DictItem, ...] = ()
    for key, item in zip(keys, items, strict=True):
        contents = with_item(contents, dict_key(vm, key), item, key)
    vm.push(SymObject(None, dict, vm.new_id(), contents))


@handles(Op.BUILD_SLICE)
def _build_slice(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    parts = vm.popn(_count(instruction))
    none = Known(None, None)
    start, stop, step = (*parts, none)[:3]
    vm.push(SymSlice(None, start, stop, step))


@handles(Op.BUILD_STRING)
def _build_string(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    parts = vm.popn(_count(instruction))
    texts = [vm.realize(part) for part in parts]
    if not all(isinstance(text, Known) for text in texts):
        break_graph(because.NO_RULE, "text of a value")
    vm.push(Known(None, "".join(str(text.value) for text in texts if isinstance(text, Known))))


@handles(Op.FORMAT_VALUE)
def _format_value(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    conversion, has_spec = cast("tuple[str | None, bool]", instruction.arg)
    spec = vm.realize(vm.pop()) if has_spec else Known(None, "")
    value = vm.realize(vm.pop())
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
    vm.push(fold(_CONVERT[_name(instruction)], value.value))


_CONVERT: Final[dict[str, Callable[[Any], Any]]] = {"str": str, "repr": repr, "ascii": ascii}


def _below(vm: Machine, instruction: Instruction) -> SymObject:
    found = vm.realize(vm.state.stack[-_count(instruction)])
    if not isinstance(found, SymObject):
        break_graph(because.NO_RULE, f"{instruction.op.name} into {describe(found)}")
    return found


@handles(Op.LIST_EXTEND)
def _list_extend(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    more = items_of(vm, vm.pop(), "unpacking")
    owner = _below(vm, instruction)
    contents = vm.contents(owner)
    assert isinstance(contents, tuple)
    write_contents(vm, owner, contents + more, "extend")


@handles(Op.LIST_APPEND)
def _list_append(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    item = vm.pop()
    owner = _below(vm, instruction)
    contents = vm.contents(owner)
    assert isinstance(contents, tuple)
    write_contents(vm, owner, (*contents, item), "append")


@handles(Op.DICT_UPDATE, Op.DICT_MERGE)
def _dict_update(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    more = vm.realize(vm.pop())
    if not isinstance(more, SymObject) or more.pytype is not dict:
        break_graph(because.NO_RULE, f"** of {describe(more)}")
    owner = _below(vm, instruction)
    contents = dict_items(vm, owner)
    for key, item, spelled in dict_items(vm, more):
        if instruction.op is Op.DICT_MERGE and (
            type(key) is not str or any(key == known.key for known in contents)
        ):
            break_graph(because.WOULD_RAISE, "keywords given twice, or not text")
        contents = with_item(contents, key, item, spelled)
    write_contents(vm, owner, contents, "update")


@handles(Op.MAP_ADD)
def _map_add(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    key, item = vm.popn(2)
    owner = _below(vm, instruction)
    contents = with_item(dict_items(vm, owner), dict_key(vm, key), item, key)
    write_contents(vm, owner, contents, "item")


@handles(Op.LIST_TO_TUPLE)
def _list_to_tuple(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.push(SymTuple(None, items_of(vm, vm.pop(), "tuple")))


@handles(Op.UNPACK_SEQUENCE)
def _unpack_sequence(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    for item in reversed(_unpacked(vm, vm.pop(), _count(instruction), exact=True)):
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


# ---------------------------------------------------------------------- calls and functions
def _callable(
    first: SymValue, second: SymValue, args: tuple[SymValue, ...]
) -> tuple[SymValue, tuple[SymValue, ...]]:
    """Sort out the two slots below the arguments; one rule fits the layouts of all versions."""
    if isinstance(first, Null):
        return second, args
    if isinstance(second, Null):
        return first, args
    return first, (second, *args)


@handles(Op.CALL)
def _call(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    first, second, *args = vm.popn(_count(instruction) + 2)
    function, given = _callable(first, second, tuple(args))
    vm.push(call(vm, function, given))


@handles(Op.CALL_KW)
def _call_kw(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    count, names = cast("tuple[int, tuple[str, ...]]", instruction.arg)
    first, second, *args = vm.popn(count + 2)
    positional = len(args) - len(names)
    function, given = _callable(first, second, tuple(args[:positional]))
    vm.push(call(vm, function, given, dict(zip(names, args[positional:], strict=True))))


@handles(Op.CALL_FUNCTION_EX)
def _call_function_ex(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    kwargs: dict[str, SymValue] = {}
    if instruction.arg:
        more = vm.realize(vm.pop())
        if not isinstance(more, SymObject) or more.pytype is not dict:
            break_graph(because.NO_RULE, f"** of {describe(more)}")
        for key, item, _ in dict_items(vm, more):
            if type(key) is not str:
                break_graph(because.WOULD_RAISE, "keywords must be strings")
            kwargs[key] = item
    first, second, packed = vm.popn(3)
    function, given = _callable(first, second, items_of(vm, packed, "*"))
    vm.push(call(vm, function, given, kwargs))


@handles(Op.MAKE_FUNCTION)
def _make_function(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    names = instruction.arg
    assert isinstance(names, tuple)
    *parts, code = vm.popn(len(names) + 1)
    code = vm.realize(code)
    assert isinstance(code, Known)
    made = SymFunction(
        source=None,
        code=code.value,  # type: ignore[arg-type]
        globals=frame.globals,
        globals_source=frame.globals_source,
        defaults=None,
        kwdefaults=None,
        closure=(),
        name=code.value.co_name,  # type: ignore[attr-defined]
        qualname=code.value.co_qualname,  # type: ignore[attr-defined]
    )
    for name, part in zip(names, parts, strict=True):
        made = _with_attribute(vm, made, name, part)
    vm.push(made)


@handles(Op.SET_FUNCTION_ATTRIBUTE)
def _set_function_attribute(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    part, function = vm.popn(2)
    function = vm.realize(function)
    if not isinstance(function, SymFunction) or function.source is not None:
        break_graph(because.OUTSIDE_WRITE, "attribute of a function")
    vm.push(_with_attribute(vm, function, _name(instruction), part))


def _with_attribute(vm: Machine, function: SymFunction, name: str, part: SymValue) -> SymFunction:
    if name == "closure":
        items = items_of(vm, part, "closure")
        cells = tuple(cell for cell in items if isinstance(cell, SymCell))
        if len(cells) != len(items):
            break_graph(because.NO_RULE, "a closure over cells that are on the stack")
        return replace(function, closure=cells)
    if name == "defaults":
        return replace(function, defaults=items_of(vm, part, "defaults"))
    if name == "kwdefaults":
        part = vm.realize(part)
        if not isinstance(part, SymObject):
            break_graph(because.NO_RULE, "keyword defaults that are no dict")
        pairs = tuple((str(item.key), item.value) for item in dict_items(vm, part))
        return replace(function, kwdefaults=pairs)
    return replace(function, annotations=part)


# ---------------------------------------------------------------------- control flow
@handles(Op.JUMP)
def _jump(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    vm.jump(_count(instruction))


@handles(Op.POP_JUMP_IF_TRUE)
def _pop_jump_if_true(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    if truth(vm, vm.pop()):
        vm.jump(_count(instruction))


@handles(Op.POP_JUMP_IF_FALSE)
def _pop_jump_if_false(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    if not truth(vm, vm.pop()):
        vm.jump(_count(instruction))


@handles(Op.POP_JUMP_IF_NONE, Op.POP_JUMP_IF_NOT_NONE)
def _pop_jump_if_none(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    answer = identical(vm, vm.pop(), Known(None, None))
    assert isinstance(answer, Known)
    if answer.value is (instruction.op is Op.POP_JUMP_IF_NONE):
        vm.jump(_count(instruction))


@handles(Op.JUMP_IF_TRUE_OR_POP, Op.JUMP_IF_FALSE_OR_POP)
def _jump_or_pop(vm: Machine, frame: Frame, instruction: Instruction) -> None:
    if truth(vm, vm.state.stack[-1]) is (instruction.op is Op.JUMP_IF_TRUE_OR_POP):
        vm.jump(_count(instruction))
    else:
        vm.pop()


@handles(Op.RETURN_VALUE)
def _return_value(vm: Machine, frame: Frame, instruction: Instruction) -> Exit:
    value = vm.pop()
    return ReturnExit(vm.state, value)


# ---------------------------------------------------------------------- opcodes that break, and why
BREAKS: Final[dict[Op, tuple[str, str]]] = {
    **dict.fromkeys(
        (Op.RAISE_VARARGS, Op.RERAISE), (because.RAISE, "the real traceback comes from Python")
    ),
    **dict.fromkeys(
        (Op.STORE_ATTR, Op.DELETE_ATTR, Op.DELETE_SUBSCR),
        (because.OUTSIDE_WRITE, "changes an object that others may see"),
    ),
    **dict.fromkeys(
        (Op.STORE_GLOBAL, Op.DELETE_GLOBAL),
        (because.OUTSIDE_WRITE, "changes the module's globals"),
    ),
    **dict.fromkeys(
        (
            Op.LOAD_NAME, Op.STORE_NAME, Op.DELETE_NAME, Op.LOAD_LOCALS, Op.LOAD_BUILD_CLASS,
            Op.LOAD_FROM_DICT_OR_DEREF, Op.LOAD_FROM_DICT_OR_GLOBALS, Op.SETUP_ANNOTATIONS,
        ),
        (because.INSTRUCTION, "class and module bodies work on a namespace, not on fast locals"),
    ),
    **dict.fromkeys(
        (Op.IMPORT_NAME, Op.IMPORT_FROM), (because.INSTRUCTION, "an import runs a module's code")
    ),
    **dict.fromkeys(
        (Op.BUILD_SET, Op.SET_ADD, Op.SET_UPDATE),
        (because.NO_RULE, "a set hashes its items, which may run code"),
    ),
    **dict.fromkeys(
        (Op.CALL_INTRINSIC_1, Op.CALL_INTRINSIC_2),
        (because.INSTRUCTION, "import *, type parameters and the interactive prompt"),
    ),
    Op.LOAD_SUPER_ATTR: (because.ATTRIBUTE, "super() walks the MRO of the live class"),
    **dict.fromkeys(
        (Op.MATCH_CLASS, Op.MATCH_KEYS, Op.MATCH_MAPPING, Op.MATCH_SEQUENCE),
        (because.NO_RULE, "patterns ask classes of the program what they are"),
    ),
    **dict.fromkeys(
        (Op.GET_ITER, Op.FOR_ITER, Op.END_FOR, Op.JUMP_NO_INTERRUPT, Op.LOAD_FAST_AND_CLEAR),
        (because.LOOP_TRY_WITH, "comes with the breaks issue"),
    ),
    **dict.fromkeys(
        (
            Op.PUSH_EXC_INFO, Op.POP_EXCEPT, Op.CHECK_EXC_MATCH, Op.CHECK_EG_MATCH, Op.BEFORE_WITH,
            Op.WITH_EXCEPT_START,
        ),
        (because.LOOP_TRY_WITH, "comes with the breaks issue"),
    ),
    **dict.fromkeys(
        (
            Op.RETURN_GENERATOR, Op.YIELD_VALUE, Op.GET_YIELD_FROM_ITER, Op.GET_AWAITABLE,
            Op.GET_AITER, Op.GET_ANEXT, Op.BEFORE_ASYNC_WITH, Op.END_ASYNC_FOR, Op.SEND,
            Op.SEND_POP, Op.END_SEND, Op.CLEANUP_THROW,
        ),
        (because.SUSPENDS, "a suspended frame cannot be replaced"),
    ),
}  # fmt: skip


def _breaking(reason: str, context: str) -> Handler:
    def handler(vm: Machine, frame: Frame, instruction: Instruction) -> Exit | None:
        return break_graph(reason, f"{instruction.op.name}: {context}")

    return handler


for _op, (_reason, _context) in BREAKS.items():
    handles(_op)(_breaking(_reason, _context))
