"""Objects whose death runs code of the program: an object with a ``__del__`` is never replaced unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import bcjit.symbolic_vm.break_reasons as because
from bcjit.guards import GuardKind, is_exactly
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.values import (
    Lazy,
    SymInstance,
    SymNamedTuple,
    SymObject,
    SymTuple,
    SymValue,
)

if TYPE_CHECKING:
    from bcjit.symbolic_vm.machine import Machine

__all__ = ["drop", "has_finaliser"]

_DEPTH: Final = 3
_MOST: Final = 100


def has_finaliser(value: object) -> bool:
    """Whether an object's class has a ``__del__``."""
    mro = type.__dict__["__mro__"].__get__(type(value))
    return any("__del__" in type.__dict__["__dict__"].__get__(base) for base in mro)


def drop(vm: Machine, *values: SymValue | None) -> None:
    """Break if an object that is taken out of another one may have a finaliser, whose moment would be missed.

    That it has none is guarded by its class: what is read behind the change may be what a finaliser changes.
    """
    for value in values:
        if isinstance(value, Lazy | SymInstance | SymObject) and _may_finalise(value.obj, _DEPTH):
            break_graph(because.OUTSIDE_WRITE, "the object that was there has a __del__")
        if isinstance(value, Lazy):
            assert value.source is not None
            vm.guard(GuardKind.TYPE, value.source, type(value.obj))
        if isinstance(value, SymTuple | SymNamedTuple):
            drop(vm, *value.items)


def _may_finalise(obj: object, depth: int) -> bool:
    if has_finaliser(obj):
        return True
    if depth == 0:
        return False
    items: list[object] = []
    if is_exactly(obj, (list, tuple, set, frozenset)):
        items = list(obj)  # type: ignore[call-overload]  # iterable by its type
    elif type(obj) is dict:
        items = list(obj.values())
    return any(_may_finalise(item, depth - 1) for item in items[:_MOST])
