"""Rules for methods of builtin types: list, dict, tuple and str; a table, one small function a row.

A change of a container from outside is logged, for residual code to do. Importing this module fills the table.
"""

from __future__ import annotations

from typing import Final

import numpy as np

import bcjit.symbolic_vm.break_reasons as because
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.builtin_calls import Args, Kwargs, extend_list
from bcjit.symbolic_vm.calls import builtin
from bcjit.symbolic_vm.finalisers import drop
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import call_scalar, describe
from bcjit.symbolic_vm.operators import as_dim, fold, new_list
from bcjit.symbolic_vm.state import Effect
from bcjit.symbolic_vm.subscripts import (
    MISSING,
    add_to_list,
    delete_from_dict,
    dict_items,
    dict_key,
    dict_lookup,
    set_in_dict,
    write_contents,
)
from bcjit.symbolic_vm.values import (
    Changes,
    DictItem,
    Known,
    SymArray,
    SymObject,
    SymValue,
)

NONE = Known(None, None)


def _owner(vm: Machine, value: SymValue, pytype: type) -> SymObject:
    value = vm.realize(value)
    if isinstance(value, SymObject) and value.pytype is pytype:
        return value
    return break_graph(because.NO_RULE, f"{pytype.__name__} method of {describe(value)}")


def _contents(vm: Machine, owner: SymObject) -> tuple[SymValue, ...]:
    contents = vm.contents(owner)
    assert isinstance(contents, tuple)
    return contents


def _arity(name: str, args: Args, kwargs: Kwargs, low: int, high: int) -> None:
    if kwargs or not low <= len(args) - 1 <= high:
        break_graph(because.NO_RULE, f"{name} with these arguments")


# ---------------------------------------------------------------------- list
@builtin(list.append)
def _append(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("list.append", args, kwargs, 1, 1)
    owner = _owner(vm, args[0], list)
    add_to_list(vm, owner, (args[1],), list.append, args[1])
    return NONE


@builtin(list.extend)
def _extend(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("list.extend", args, kwargs, 1, 1)
    owner = _owner(vm, args[0], list)
    extend_list(vm, owner, args[1], "extend")
    return NONE


def _method(owner: SymObject, method: object, *operands: SymValue) -> Effect:
    return Effect("method", owner=owner, key=method, operands=operands)


def _take_out(vm: Machine, owner: SymObject, *gone: SymValue) -> None:
    if owner.source is not None:
        drop(vm, *gone)


@builtin(list.insert)
def _insert(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("list.insert", args, kwargs, 2, 2)
    owner = _owner(vm, args[0], list)
    index = vm.constant(args[1], "index of list.insert")
    if type(index) is not int:
        break_graph(because.NO_RULE, "list.insert at other than an int")
    changed = list(_contents(vm, owner))
    changed.insert(index, args[2])
    effect = _method(owner, list.insert, Known(None, index), args[2])
    write_contents(vm, owner, tuple(changed), "insert", effect)
    return NONE


@builtin(list.pop)
def _pop(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("list.pop", args, kwargs, 0, 1)
    owner = _owner(vm, args[0], list)
    index = vm.constant(args[1], "index of list.pop") if len(args) == 2 else -1
    items = list(_contents(vm, owner))
    if type(index) is not int or not -len(items) <= index < len(items):
        break_graph(because.WOULD_RAISE, "list.pop out of range")
    found = items.pop(index)
    _take_out(vm, owner, found)
    effect = _method(owner, list.pop, Known(None, index))
    write_contents(vm, owner, tuple(items), "pop", effect)
    return found


@builtin(list.reverse)
def _reverse(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("list.reverse", args, kwargs, 0, 0)
    owner = _owner(vm, args[0], list)
    effect = _method(owner, list.reverse)
    write_contents(vm, owner, _contents(vm, owner)[::-1], "reverse", effect)
    return NONE


@builtin(list.clear)
def _clear(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("list.clear", args, kwargs, 0, 0)
    owner = _owner(vm, args[0], list)
    _clear_outside(vm, owner, list.clear)
    return NONE


def _clear_outside(vm: Machine, owner: SymObject, method: object) -> None:
    if owner.source is not None:
        drop(vm, owner)
        held = vm.state.heap.get(owner.oid)
        drop(vm, *(item.value for item in held.items) if isinstance(held, Changes) else ())
    write_contents(vm, owner, (), "clear", _method(owner, method))


@builtin(dict.clear)
def _clear_dict(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("dict.clear", args, kwargs, 0, 0)
    _clear_outside(vm, _owner(vm, args[0], dict), dict.clear)
    return NONE


@builtin(list.copy)
def _copy(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("list.copy", args, kwargs, 0, 0)
    return new_list(vm, _contents(vm, _owner(vm, args[0], list)))


# ---------------------------------------------------------------------- dict
@builtin(dict.get)
def _get(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("dict.get", args, kwargs, 1, 2)
    found = dict_lookup(vm, _owner(vm, args[0], dict), dict_key(vm, args[1]))
    if found is MISSING:
        return args[2] if len(args) == 3 else NONE
    assert isinstance(found, SymValue)
    return found


@builtin(dict.setdefault)
def _setdefault(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("dict.setdefault", args, kwargs, 1, 2)
    owner = _owner(vm, args[0], dict)
    key = dict_key(vm, args[1])
    found = dict_lookup(vm, owner, key)
    if isinstance(found, SymValue):
        return found
    default = args[2] if len(args) == 3 else NONE
    set_in_dict(vm, owner, args[1], default)
    return default


@builtin(dict.pop)
def _dict_pop(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("dict.pop", args, kwargs, 1, 2)
    owner = _owner(vm, args[0], dict)
    key = dict_key(vm, args[1])
    found = dict_lookup(vm, owner, key)
    if found is MISSING:
        if len(args) == 3:
            return args[2]
        break_graph(because.WOULD_RAISE, "KeyError")
    assert isinstance(found, SymValue)
    delete_from_dict(vm, owner, args[1])
    return found


@builtin(dict.update)
def _update(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    if len(args) > 2:
        break_graph(because.NO_RULE, "dict.update with these arguments")
    owner = _owner(vm, args[0], dict)
    more = dict_items(vm, _owner(vm, args[1], dict)) if len(args) == 2 else ()
    named = (DictItem(name, item, Known(None, name)) for name, item in kwargs.items())
    for _, item, spelled in (*more, *named):
        set_in_dict(vm, owner, spelled, item)
    return NONE


@builtin(dict.copy)
def _dict_copy(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    _arity("dict.copy", args, kwargs, 0, 0)
    made = SymObject(None, dict, vm.new_id(), ())
    write_contents(vm, made, dict_items(vm, _owner(vm, args[0], dict)), "")
    return made


# ---------------------------------------------------------------------- tuple, str, arrays
def _constant_method(method: object) -> None:
    def rule(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
        if kwargs:
            break_graph(because.NO_RULE, "a method of a constant with keywords")
        values = [vm.realize(arg) for arg in args]
        plain = (str, bytes, int, float, bool, type(None), tuple)
        if not all(isinstance(v, Known) and type(v.value) in plain for v in values):
            break_graph(because.NO_RULE, "a method of a value that is not constant")
        found = fold(method, *[v.value for v in values if isinstance(v, Known)])  # type: ignore[arg-type]
        if isinstance(found, Known) and isinstance(
            found.value, list
        ):  # "a b".split(): new each time
            return new_list(vm, tuple(Known(None, item) for item in found.value))
        return found

    builtin(method)(rule)


for _name in (
    "upper", "lower", "strip", "lstrip", "rstrip", "startswith", "endswith", "replace", "split",
    "title", "capitalize", "find", "index", "count", "isdigit", "isalpha", "partition",
    "rpartition", "zfill", "center", "ljust", "rjust", "removeprefix", "removesuffix",
):  # fmt: skip
    _constant_method(getattr(str, _name))
_constant_method(float.is_integer)
_constant_method(int.bit_length)


_ITEM_TYPES: Final = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


@builtin(np.ndarray.item, np.generic.item)
def _item(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    value = vm.realize(args[0])
    if isinstance(value, SymArray) and not value.meta.is_scalar and len(args) > 1 and not kwargs:
        return _item_at(vm, value, args[1:])
    _arity("item", args, kwargs, 0, 0)
    if isinstance(value, SymArray) and value.meta.ndim == 0:
        pytype = _ITEM_TYPES[value.meta.dtype.kind]
        if value.meta.dtype.char not in "gG":  # a long double stays a NumPy scalar
            if value.meta.is_scalar:
                return call_scalar(vm, np.generic.item, (value,), pytype)
            return call_scalar(vm, np.ndarray.item, (value,), pytype)
    return break_graph(because.NO_RULE, f"item of {describe(value)}")


def _item_at(vm: Machine, value: SymArray, index: Args) -> SymValue:
    """``x.item(i, j)`` or, counted in C order, ``x.item(i)``; NumPy finds out whether that is out of bounds."""
    dims = [as_dim(vm, part) for part in index]
    if any(dim is None for dim in dims) or len(dims) not in (1, value.meta.ndim):
        break_graph(because.NO_RULE, "item at other than integers")
    if value.meta.dtype.char in "gG":
        break_graph(because.NO_RULE, "item of a long double")
    return call_scalar(vm, np.ndarray.item, (value, *index), _ITEM_TYPES[value.meta.dtype.kind])


@builtin(tuple.count, tuple.index, list.index, list.count)
def _search(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    del vm, args, kwargs
    return break_graph(because.NO_RULE, "search in a sequence")
