"""``obj[key]``, ``obj[key] = value`` and ``del obj[key]`` on symbolic values.

Arrays become nodes; tuples, lists and dicts of known keys are computed here. A change of a container from outside the frame is logged, for residual code
to do, and seen by what reads the container later.
"""

from __future__ import annotations

import operator
from collections import deque
from typing import Final

import numpy as np

import bcjit.symbolic_vm.break_reasons as because
from bcjit import ops
from bcjit.dims import Expr
from bcjit.guards import GuardKind, Source, SourceKind, is_constant_key
from bcjit.ops.indexed_objects import INDEXED
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.finalisers import drop
from bcjit.symbolic_vm.identity import holds_nan
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.merging import chosen
from bcjit.symbolic_vm.named_tuples import tuple_items
from bcjit.symbolic_vm.numpy_calls import LONGEST, call_op, describe, no_rule, slice_of
from bcjit.symbolic_vm.operators import as_dim, fold, new_list
from bcjit.symbolic_vm.set_history import real_set
from bcjit.symbolic_vm.state import Effect
from bcjit.symbolic_vm.values import (
    DELETED,
    Appended,
    Changes,
    DictItem,
    Known,
    Lazy,
    SymArray,
    SymInstance,
    SymNamedTuple,
    SymObject,
    SymScalar,
    SymSlice,
    SymTuple,
    SymValue,
    SymView,
)

__all__ = [
    "add_to_list",
    "delete_from_dict",
    "delete_item",
    "dict_key",
    "dict_lookup",
    "get_item",
    "holds_key",
    "set_in_dict",
    "set_item",
    "view_item",
    "view_items",
    "write_contents",
]

KEY_TYPES: Final = (str, bytes, bool, int, float, type(None), tuple, type)
MISSING: Final = object()


def get_item(vm: Machine, value: SymValue, key: SymValue) -> SymValue:  # noqa: C901 - one branch a kind of value
    """``value[key]``."""
    value = vm.realize(value)
    if isinstance(value, SymArray):
        op = ops.lookup(operator.getitem)
        assert op is not None
        return call_op(vm, op, operator.getitem, (value, key))
    stored = tuple_items(vm, value)
    if stored is not None:
        return _sequence_item(vm, value, stored, key)
    if isinstance(value, SymObject) and value.pytype is list:
        item = _item_of_outside(vm, value, key)
        if item is not None:
            return item
        contents = vm.contents(value)
        assert isinstance(contents, tuple)
        return _sequence_item(vm, value, contents, key)
    if isinstance(value, SymObject) and value.pytype is deque and value.source is None:
        contents = vm.contents(value)
        assert isinstance(contents, tuple)
        if isinstance(vm.realize(key), SymSlice):
            break_graph(because.WOULD_RAISE, "a slice of a deque")
        return _sequence_item(vm, value, contents, key)
    if isinstance(value, SymObject) and value.pytype is dict:
        found = dict_lookup(vm, value, dict_key(vm, key))
        if isinstance(found, SymValue):
            return found
        return break_graph(because.WOULD_RAISE, "KeyError")
    if isinstance(value, Known) and type(value.value) is tuple and vm.structured:
        items = tuple(Known(None, item) for item in value.value)
        return _sequence_item(vm, SymTuple(value.source, items), items, key)
    if isinstance(value, Known) and isinstance(value.value, str | bytes | tuple):
        index = _index(vm, key)
        return fold(operator.getitem, value.value, index)
    if isinstance(value, SymInstance) and value.pytype in INDEXED:
        target = INDEXED[value.pytype]
        op = ops.lookup(target)
        assert op is not None
        return call_op(vm, op, target, (value, key))
    if isinstance(value, SymInstance) and value.pytype is type(np.s_):
        return _index_itself(vm, value, key)
    return no_rule(f"{describe(value)}[...]", value)


def _index_itself(vm: Machine, value: SymInstance, key: SymValue) -> SymValue:
    """``np.s_[key]`` and ``np.index_exp[key]`` (NumPy ``lib/_index_tricks_impl.py``: ``IndexExpression``)."""
    assert value.source is not None
    source = Source(SourceKind.ATTR, "maketuple", value.source)
    makes_tuple = vm.constant(vm.present(source, value.obj.maketuple), "np.s_")  # type: ignore[attr-defined]
    key = vm.realize(key)
    is_tuple = isinstance(key, SymTuple) or (isinstance(key, Known) and type(key.value) is tuple)
    return key if is_tuple or not makes_tuple else SymTuple(None, (key,))


def _item_of_outside(vm: Machine, value: SymObject, key: SymValue) -> SymValue | None:
    """Return an item, counted from the start, of a list from outside that is unchanged: its length is not guarded.

    None for anything else. Behind a break the list may be one that grows by the turn: what is counted from its end is left
    to Python.
    """
    key = vm.realize(key)
    if value.source is None or not isinstance(key, Known) or type(key.value) is not int:
        return None
    vm.meet(value)
    changed = vm.state.heap.get(value.oid, value.initial)
    if key.value < 0:
        if vm.continues and not isinstance(changed, tuple):
            break_graph(because.MUST_KNOW, "the end of a list from outside")
        return None
    assert isinstance(value.obj, list)
    live = value.obj[key.value : key.value + 1]  # at once: see capture
    if changed is not None or not live:
        return None
    return vm.present(Source(SourceKind.ITEM, key.value, value.source), live[0])


def _index(vm: Machine, key: SymValue) -> int | slice:
    """Return a list index or a slice as plain numbers, guarding what was symbolic."""
    key = vm.realize(key)
    if isinstance(key, Known) and type(key.value) is slice:  # a literal, from 3.14 on
        key = slice_of(key.value)
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
    dim = as_dim(vm, key) if vm.structured else None
    if isinstance(dim, Expr) and vm.env.hint(dim) is None and len(items) <= LONGEST:
        found = chosen(vm, items, dim, can_fail=True)
        if found is not None:
            return found
    index = _index(vm, key)
    if isinstance(index, slice):
        if index.step == 0:
            break_graph(because.WOULD_RAISE, "slice step zero")
        part = items[index]
        if isinstance(owner, SymNamedTuple | SymInstance):
            return SymTuple(None, part)
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
        break_graph(because.MUST_KNOW, "key of a dict, which may be another in each turn")
    found = vm.constant(key, "key of a dict")
    if type(found) not in KEY_TYPES and not (isinstance(found, type) and type(found) is type):
        return break_graph(because.NO_RULE, f"key of type {type(found).__name__}")
    if holds_nan(Known(None, found)):
        break_graph(because.NO_RULE, "a key that is NaN, which is found by identity")
    return found


def dict_lookup(vm: Machine, value: SymObject, key: object) -> object:
    """Return the value at a key, or `MISSING`; of a dict from outside only that key is guarded."""
    contents = vm.contents(value)
    if isinstance(contents, tuple):
        for item in contents:
            if item.key == key:  # dict keys: 1, 1.0 and True are one key
                return item.value
        return MISSING
    assert isinstance(value.obj, dict)
    assert value.source is not None
    if not is_constant_key(key):
        break_graph(because.NO_RULE, "a key that is no constant")  # what guards cannot say
    _outside_keys(value.obj)
    if isinstance(contents, Changes):
        changed = contents.find(key)
        if changed is not None:
            return MISSING if changed is DELETED else changed
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
    if isinstance(contents, tuple):
        return contents
    items = _outside_items(vm, value)
    if isinstance(contents, Changes):
        for change in contents.items:
            if change.value is DELETED:
                items = tuple(item for item in items if item.key != change.key)
            else:
                items = with_item(items, *change)
    return items


def _outside_items(vm: Machine, value: SymObject) -> tuple[DictItem, ...]:
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


def set_in_dict(vm: Machine, value: SymObject, key: SymValue, item: SymValue) -> None:
    """``value[key] = item`` of a dict; of one from outside only that key is looked at."""
    constant = dict_key(vm, key)
    if value.source is None:
        write_contents(vm, value, with_item(dict_items(vm, value), constant, item, key), "item")
        return
    _check_no_builtins(vm, value)
    drop(vm, _peek(vm, value, constant))
    vm.perform(Effect("setitem", owner=value, operands=(key, item)))
    held = vm.contents(value)
    added = DictItem(constant, item, key)
    if isinstance(held, tuple):
        changed: object = with_item(held, *added)
    else:
        changed = Changes((*(held.items if isinstance(held, Changes) else ()), added))
    vm.state = vm.state.with_heap(value.oid, changed)


def delete_from_dict(vm: Machine, value: SymObject, key: SymValue) -> None:
    """``del value[key]`` of a dict."""
    constant = dict_key(vm, key)
    if dict_lookup(vm, value, constant) is MISSING:
        break_graph(because.WOULD_RAISE, "KeyError")
    if value.source is None:
        rest = tuple(item for item in dict_items(vm, value) if item.key != constant)
        write_contents(vm, value, rest, "item")
        return
    _check_no_builtins(vm, value)
    drop(vm, _peek(vm, value, constant))
    vm.perform(Effect("delitem", owner=value, operands=(key,)))
    held = vm.contents(value)
    if isinstance(held, tuple):
        changed: object = tuple(item for item in held if item.key != constant)
    else:
        gone = DictItem(constant, DELETED, key)
        changed = Changes((*(held.items if isinstance(held, Changes) else ()), gone))
    vm.state = vm.state.with_heap(value.oid, changed)


def _check_no_builtins(vm: Machine, value: SymObject) -> None:
    """Break before a builtin is changed: names that are no globals are looked up there, without a look at what was written."""
    if value.obj is vm.builtins:
        break_graph(because.OUTSIDE_WRITE, "a name of the builtins")


def _peek(vm: Machine, value: SymObject, key: object) -> SymValue | None:
    """Return what a dict from outside has under a key now; what it is is guarded where it is dropped, that it is missing here."""
    held = vm.state.heap.get(value.oid)
    if isinstance(held, tuple):
        return next((item.value for item in held if item.key == key), None)
    changed = held.find(key) if isinstance(held, Changes) else None
    assert isinstance(value.obj, dict)
    _outside_keys(value.obj)
    found = value.obj.get(key, MISSING)
    if changed is not None:
        return changed
    assert value.source is not None
    if found is MISSING:
        vm.guard(GuardKind.ABSENT, value.source, key)
        return None
    return Lazy(Source(SourceKind.ITEM, key, value.source), found)


def add_to_list(
    vm: Machine, value: SymObject, items: tuple[SymValue, ...], method: object, *operands: SymValue
) -> None:
    """Put items at the end of a list; of one from outside nothing need be known."""
    if value.source is None:
        contents = vm.contents(value)
        assert isinstance(contents, tuple)
        write_contents(vm, value, contents + items, "append")
        return
    vm.perform(Effect("method", owner=value, key=method, operands=operands))
    held = vm.state.heap.get(value.oid)
    if isinstance(held, tuple):
        changed: object = held + items
    else:
        changed = Appended((*(held.items if isinstance(held, Appended) else ()), *items))
    vm.state = vm.state.with_heap(value.oid, changed)


def write_contents(
    vm: Machine, value: SymObject, contents: object, what: str, effect: Effect | None = None
) -> None:
    """Change a container; `effect` says how one from outside is changed."""
    if value.source is not None:
        if effect is None:
            break_graph(because.OUTSIDE_WRITE, f"{what} of a {value.pytype.__name__}")
        vm.perform(effect)
        vm.state = vm.state.with_heap(value.oid, contents)
        return
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


def holds_key(vm: Machine, container: SymValue, item: SymValue) -> bool | None:
    """Answer ``item in container`` for what finds its items by hash; None for other containers."""
    container = vm.realize(container)
    if isinstance(container, SymView) and container.which == "keys":
        container = container.owner
    if isinstance(container, Known) and type(container.value) is frozenset:
        if any(type(known) not in KEY_TYPES for known in container.value):
            break_graph(because.NO_RULE, "a set with items of other than builtin types")
        return dict_key(vm, item) in container.value
    if not isinstance(container, SymObject) or container.pytype not in (dict, set):
        return None
    if container.pytype is dict:
        return dict_lookup(vm, container, dict_key(vm, item)) is not MISSING
    contents = vm.contents(container)
    if not isinstance(contents, tuple):
        break_graph(because.NO_RULE, "in a set from outside")
    return dict_key(vm, item) in real_set(contents)


def view_items(vm: Machine, view: SymView) -> tuple[SymValue, ...]:
    """Return what a view gives, in order."""
    items = dict_items(vm, view.owner)
    return tuple(view_item(view.which, item) for item in items)


def view_item(which: str, item: DictItem) -> SymValue:
    """Return what a view of a dict gives for one of its items."""
    if which == "keys":
        return item.spelled
    return item.value if which == "values" else SymTuple(None, (item.spelled, item.value))


def set_item(vm: Machine, value: SymValue, key: SymValue, item: SymValue) -> None:
    """``value[key] = item``."""
    value = vm.realize(value)
    if isinstance(value, SymArray):
        op = ops.lookup(operator.setitem)
        assert op is not None
        call_op(vm, op, operator.setitem, (value, key, item))
        return
    if isinstance(value, SymObject) and value.pytype is dict:
        set_in_dict(vm, value, key, item)
        return
    if isinstance(value, SymObject) and value.pytype is list:
        _set_in_list(vm, value, key, item)
        return
    no_rule(f"{describe(value)}[...] = ...", value)


def _set_in_list(vm: Machine, value: SymObject, key: SymValue, item: SymValue) -> None:
    contents = vm.contents(value)
    assert isinstance(contents, tuple)
    index = _index(vm, key)
    changed: list[SymValue] = list(contents)
    if isinstance(index, slice):
        items = list_or_tuple(vm, item)
        try:
            changed[index] = items
        except ValueError as error:
            break_graph(because.WOULD_RAISE, str(error))
        item = SymTuple(None, items)  # what is stored: a list may be another by the end
    elif -len(contents) <= index < len(contents):
        changed[index] = item
    else:
        break_graph(because.WOULD_RAISE, "IndexError")
    _take_out(vm, value, contents[index])
    effect = Effect("setitem", owner=value, operands=(_plain_index(vm, key, index), item))
    write_contents(vm, value, tuple(changed), "item", effect)


def list_or_tuple(vm: Machine, value: SymValue) -> tuple[SymValue, ...]:
    """Return the items of a list or a tuple; other iterables are left to Python."""
    value = vm.realize(value)
    if isinstance(value, SymTuple):
        return value.items
    if isinstance(value, SymObject) and value.pytype is list:
        contents = vm.contents(value)
        assert isinstance(contents, tuple)
        return contents
    return break_graph(because.NO_RULE, f"a slice filled from {describe(value)}")


def _take_out(vm: Machine, value: SymObject, gone: SymValue | tuple[SymValue, ...]) -> None:
    if value.source is not None:
        drop(vm, *(gone if isinstance(gone, tuple) else (gone,)))


def _plain_index(vm: Machine, key: SymValue, index: int | slice) -> SymValue:
    """Return an index as a value whose parts are constants."""
    del vm
    if isinstance(index, int):
        return Known(None, index)
    parts = (Known(None, part) for part in (index.start, index.stop, index.step))
    return SymSlice(key.source, *parts)


def delete_item(vm: Machine, value: SymValue, key: SymValue) -> None:
    """``del value[key]``."""
    value = vm.realize(value)
    if isinstance(value, SymObject) and value.pytype is dict:
        delete_from_dict(vm, value, key)
        return
    if not isinstance(value, SymObject) or value.pytype is not list:
        no_rule(f"del {describe(value)}[...]", value)
    contents = vm.contents(value)
    assert isinstance(contents, tuple)
    index = _index(vm, key)
    changed: list[SymValue] = list(contents)
    try:
        del changed[index]
    except (IndexError, ValueError) as error:
        break_graph(because.WOULD_RAISE, str(error))
    _take_out(vm, value, contents[index])
    effect = Effect("delitem", owner=value, operands=(_plain_index(vm, key, index),))
    write_contents(vm, value, tuple(changed), "item", effect)


def with_item(
    items: tuple[DictItem, ...], key: object, item: SymValue, spelled: SymValue
) -> tuple[DictItem, ...]:
    """Return dict contents after ``d[key] = item``; a key keeps its place and its first spelling."""
    for index, known in enumerate(items):
        if known.key == key:
            return (*items[:index], known._replace(value=item), *items[index + 1 :])
    return (*items, DictItem(key, item, spelled))
