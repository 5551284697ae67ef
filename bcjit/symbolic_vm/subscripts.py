"""``obj[key]``, ``obj[key] = value`` and ``del obj[key]`` on symbolic values.

Arrays become nodes; tuples, lists and dicts of known keys are computed here. Changing a container from outside the frame is a break.
"""

from __future__ import annotations

import operator
from typing import Final

import bcjit.symbolic_vm.break_reasons as because
from bcjit import ops
from bcjit.guards import GuardKind, Source, SourceKind, is_constant_key
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import call_op, describe, no_rule
from bcjit.symbolic_vm.operators import as_dim, fold, holds_nan, new_list
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

__all__ = ["dict_key", "dict_lookup", "get_item", "set_item", "write_contents"]

KEY_TYPES: Final = (str, bytes, bool, int, float, type(None), tuple, type)
MISSING: Final = object()


def get_item(vm: Machine, value: SymValue, key: SymValue) -> SymValue:
    """``value[key]``."""
    value = vm.realize(value)
    if isinstance(value, SymArray):
        op = ops.lookup(operator.getitem)
        assert op is not None
        return call_op(vm, op, operator.getitem, (value, key))
    if isinstance(value, SymTuple):
        return _sequence_item(vm, value, value.items, key)
    if isinstance(value, SymObject) and value.pytype is list:
        contents = vm.contents(value)
        assert isinstance(contents, tuple)
        return _sequence_item(vm, value, contents, key)
    if isinstance(value, SymObject) and value.pytype is dict:
        found = dict_lookup(vm, value, dict_key(vm, key))
        if isinstance(found, SymValue):
            return found
        return break_graph(because.WOULD_RAISE, "KeyError")
    if isinstance(value, Known) and isinstance(value.value, str | bytes | tuple):
        index = _index(vm, key)
        return fold(operator.getitem, value.value, index)
    return no_rule(f"{describe(value)}[...]", value)


def _index(vm: Machine, key: SymValue) -> int | slice:
    """Return a list index or a slice as plain numbers, guarding what was symbolic."""
    key = vm.realize(key)
    if isinstance(key, SymSlice):
        parts = []
        for part in (key.start, key.stop, key.step):
            found = vm.constant(part, "bound of a slice of a sequence")
            if found is not None and type(found) is not int:
                break_graph(because.NO_RULE, "bound of a slice that is not an int")
            parts.append(found)
        return slice(*parts)
    dim = as_dim(vm, key)
    if dim is None:
        return break_graph(because.NO_RULE, f"index of type {describe(key)}")
    return vm.fix_here(dim, "index of a sequence")


def _sequence_item(
    vm: Machine, owner: SymValue, items: tuple[SymValue, ...], key: SymValue
) -> SymValue:
    index = _index(vm, key)
    if isinstance(index, slice):
        if index.step == 0:
            break_graph(because.WOULD_RAISE, "slice step zero")
        part = items[index]
        if not isinstance(owner, SymTuple):
            return new_list(vm, part)
        # tuplesubscript (Objects/tupleobject.c): all of a tuple in order is the tuple itself
        whole = index.indices(len(items)) == (0, len(items), 1)
        return owner if whole else SymTuple(None, part)
    if not -len(items) <= index < len(items):
        break_graph(because.WOULD_RAISE, "IndexError")
    return items[index]


def dict_key(vm: Machine, key: SymValue) -> object:
    """Return a dict key as a constant of exact builtin type; hashing it runs no user code."""
    key = vm.realize(key)
    if isinstance(key, SymTuple):
        return tuple(dict_key(vm, item) for item in key.items)
    if vm.continues and isinstance(key, SymScalar):
        break_graph(because.MUST_KNOW, "key of a dict")
    found = vm.constant(key, "key of a dict")
    if type(found) not in KEY_TYPES and not (isinstance(found, type) and type(found) is type):
        return break_graph(because.NO_RULE, f"key of type {type(found).__name__}")
    if holds_nan(Known(None, found)):
        break_graph(because.NO_RULE, "a key that is NaN, which is found by identity")
    return found


def dict_lookup(vm: Machine, value: SymObject, key: object) -> object:
    """Return the value at a key, or `MISSING`; of a dict from outside only that key is guarded."""
    contents = vm.contents(value)
    if contents is not None:
        assert isinstance(contents, tuple)
        for item in contents:
            if item.key == key:  # dict keys: 1, 1.0 and True are one key
                return item.value
        return MISSING
    assert isinstance(value.obj, dict)
    assert value.source is not None
    if not is_constant_key(key):
        break_graph(because.NO_RULE, "a key that is no constant")  # what guards cannot say
    _outside_keys(value.obj)
    found = value.obj.get(key, MISSING)
    if found is MISSING:
        vm.guard(GuardKind.ABSENT, value.source, key)
        return MISSING
    return vm.present(Source(SourceKind.ITEM, key, value.source), found)


def _outside_keys(live: dict[object, object]) -> tuple[object, ...]:
    """Return the keys of a dict that other threads may be changing, all read at once."""
    keys = tuple(live)
    if any(type(known) not in KEY_TYPES for known in keys):
        break_graph(because.NO_RULE, "a dict with keys of other than builtin types")
    return keys


def dict_items(vm: Machine, value: SymObject) -> tuple[DictItem, ...]:
    """Return all items in order; of a dict from outside the keys and their order are guarded."""
    contents = vm.contents(value)
    if contents is None:
        assert isinstance(value.obj, dict)
        assert value.source is not None
        live = value.obj.copy()  # at once, as other threads may be changing it
        keys = _outside_keys(live)
        if not all(map(is_constant_key, keys)):
            break_graph(because.NO_RULE, "a dict with keys that are no constants")
        vm.guard(GuardKind.KEYS, value.source, keys)
        return tuple(
            DictItem(
                key,
                Lazy(Source(SourceKind.ITEM, key, value.source), live[key]),
                Known(None, key),
            )
            for key in keys
        )
    assert isinstance(contents, tuple)
    return contents


def write_contents(vm: Machine, value: SymObject, contents: object, what: str) -> None:
    """Change a list or dict made in the frame."""
    if value.source is not None:
        break_graph(because.OUTSIDE_WRITE, f"{what} of a {value.pytype.__name__}")
    if _holds(vm, contents, value.oid):
        break_graph(because.NO_RULE, f"a {value.pytype.__name__} that holds itself")
    vm.state = vm.state.with_heap(value.oid, contents)


def _holds(vm: Machine, contents: object, oid: int) -> bool:
    """Whether these contents lead to the object `oid`."""
    if isinstance(contents, SymObject):
        return contents.oid == oid or (
            contents.source is None and _holds(vm, vm.contents(contents), oid)
        )
    if isinstance(contents, SymTuple):
        return contents.source is None and _holds(vm, contents.items, oid)
    if isinstance(contents, tuple):
        return any(_holds(vm, item, oid) for item in contents)
    return False


def set_item(vm: Machine, value: SymValue, key: SymValue, item: SymValue) -> None:
    """``value[key] = item``."""
    value = vm.realize(value)
    if isinstance(value, SymArray):
        op = ops.lookup(operator.setitem)
        assert op is not None
        call_op(vm, op, operator.setitem, (value, key, item))
        return
    if isinstance(value, SymObject) and value.pytype is dict:
        if value.source is not None:
            break_graph(because.OUTSIDE_WRITE, "item of a dict")
        write_contents(
            vm, value, with_item(dict_items(vm, value), dict_key(vm, key), item, key), "item"
        )
        return
    if isinstance(value, SymObject) and value.pytype is list:
        contents = vm.contents(value)
        assert isinstance(contents, tuple)
        index = _index(vm, key)
        if isinstance(index, slice) or not -len(contents) <= index < len(contents):
            break_graph(because.NO_RULE, "assignment to a slice, or out of range")
        changed: list[object] = list(contents)
        changed[index] = item
        write_contents(vm, value, tuple(changed), "item")
        return
    no_rule(f"{describe(value)}[...] = ...", value)


def with_item(
    items: tuple[DictItem, ...], key: object, item: SymValue, spelled: SymValue
) -> tuple[DictItem, ...]:
    """Return dict contents after ``d[key] = item``; a key keeps its place and its first spelling."""
    for index, known in enumerate(items):
        if known.key == key:
            return (*items[:index], known._replace(value=item), *items[index + 1 :])
    return (*items, DictItem(key, item, spelled))
