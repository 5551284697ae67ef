"""Items and fields of the program's own named tuples, where they come from outside; see note 0013.

They are read where they are stored, once it is guarded that the class reads them so too. Making one in the frame is not
followed.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, Final, cast

import bcjit.symbolic_vm.break_reasons as because
from bcjit.guards import GuardKind, Source, SourceKind, Unavailable, lookup_in_mro
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.values import Lazy, SymInstance, SymNamedTuple, SymTuple, SymValue

__all__ = ["FIELD", "field_of", "tuple_items"]

# The class of the descriptors of fields (Modules/_collectionsmodule.c: tuplegetter): it reads an item and runs no code.
FIELD: Final[type] = type(vars(namedtuple("_", "x"))["x"])  # noqa: PYI024
_READS: Final = ("__getitem__", "__iter__", "__len__")


def _reads_plainly(vm: Machine, value: SymInstance, *methods: str) -> bool:
    """Whether these methods of an object's class are tuple's own; that they are is guarded."""
    if value.source is None or not issubclass(value.pytype, tuple):
        return False
    of_class = Source(SourceKind.TYPE, None, value.source)
    found = []
    for name in methods:
        try:
            raw = lookup_in_mro(value.pytype, name)
        except Unavailable:
            return False
        if raw is not lookup_in_mro(tuple, name):
            return False
        found.append(Lazy(Source(SourceKind.MRO, name, of_class), raw))
    for each in found:
        vm.realize(each)
    return True


def field_of(vm: Machine, value: SymInstance, in_class: Source, raw: object) -> SymValue:
    """Return the item that a field names; ``raw`` is its descriptor, found in the class at ``in_class``."""
    if not _reads_plainly(vm, value, "__getattribute__", "__getitem__"):
        break_graph(because.ATTRIBUTE, f"a field of {value.pytype.__name__}, not read as a tuple's")
    vm.realize(Lazy(in_class, raw))
    _, (index, _) = cast("Any", raw).__reduce__()
    items = cast("tuple[object, ...]", value.obj)
    if index >= tuple.__len__(items):
        break_graph(because.WOULD_RAISE, "a field beyond the end of its tuple")
    assert value.source is not None
    return vm.present(Source(SourceKind.ITEM, index, value.source), tuple.__getitem__(items, index))


def tuple_items(vm: Machine, value: SymValue) -> tuple[SymValue, ...] | None:
    """Return the items of a tuple, of whatever class; None for other values, and where a class may read them otherwise."""
    if isinstance(value, SymTuple | SymNamedTuple):
        return value.items
    if not isinstance(value, SymInstance) or not _reads_plainly(vm, value, *_READS):
        return None
    assert value.source is not None
    items = cast("tuple[object, ...]", value.obj)
    size = tuple.__len__(items)
    vm.guard(GuardKind.EQUALS, Source(SourceKind.LENGTH, None, value.source), size)
    return tuple(
        Lazy(Source(SourceKind.ITEM, index, value.source), item)
        for index, item in enumerate(tuple.__iter__(items))
    )
