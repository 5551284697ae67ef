"""What can be said of a value from outside without asking for all of it: its type, its length, whether it holds anything.

Text and tuples are compared whole once they are used; where only this much of them is asked, only this much is guarded.
"""

from __future__ import annotations

from typing import Final

from bcjit.dims import Relation, Symbol
from bcjit.guards import GuardKind, Source, SourceKind, SymbolicRelation
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.values import Lazy, SymObject, SymValue

__all__ = ["is_filled", "is_text", "is_untouched", "text_length", "type_alone"]

_TEXT: Final = (str, bytes)
_WHOLE: Final = (str, bytes, tuple)  # of which using them guards more than the type


def _is_of(value: SymValue, types: tuple[type, ...]) -> bool:
    # By identity: comparing classes may run code of their metaclass.
    return isinstance(value, Lazy) and any(type(value.obj) is pytype for pytype in types)


def is_text(value: SymValue) -> bool:
    """Whether a value is text from outside that nothing has been asked of here; guards nothing."""
    return _is_of(value, _TEXT)


def is_untouched(value: SymValue) -> bool:
    """Whether a value is text or a tuple from outside: no kind of it need be found out; guards nothing."""
    return _is_of(value, _WHOLE)


def type_alone(vm: Machine, value: SymValue) -> type | None:
    """Return the type of a value that need not be used for it, guarding the type; None for others."""
    if not is_untouched(value):
        return None
    assert isinstance(value, Lazy)
    assert value.source is not None
    pytype = type(value.obj)
    vm.guard(GuardKind.TYPE, value.source, pytype)
    return pytype


def text_length(vm: Machine, value: SymValue) -> int | None:
    """Return the length of text from outside, guarding it and not the text; None for other values."""
    if not is_text(value) or type_alone(vm, value) is None:
        return None
    assert isinstance(value, Lazy)
    assert isinstance(value.obj, str | bytes)
    vm.guard(GuardKind.EQUALS, Source(SourceKind.LENGTH, None, value.source), len(value.obj))
    return len(value.obj)


def is_filled(vm: Machine, value: SymValue) -> bool | None:
    """Return whether text, a list or a dict from outside holds anything, guarding that alone; None for other values."""
    if is_text(value):
        type_alone(vm, value)
        assert isinstance(value, Lazy)
        return _guard_filled(vm, value.source, value.obj)
    known = vm.realize(value)
    if not isinstance(known, SymObject) or known.source is None:
        return None
    if known.pytype not in (list, dict) or vm.state.heap.get(known.oid, known.initial) is not None:
        return None  # changed here
    vm.meet(known)
    return _guard_filled(vm, known.source, known.obj)


def _guard_filled(vm: Machine, source: Source | None, obj: object) -> bool:
    assert source is not None
    assert isinstance(obj, str | bytes | list | dict)
    place = Source(SourceKind.LENGTH, None, source)
    filled = bool(obj)
    if not filled:
        vm.guard(GuardKind.EQUALS, place, 0)
        return False
    size = Symbol(place.text())
    vm.guard(GuardKind.RELATION, place, SymbolicRelation(Relation("!=", size, 0), ((size, place),)))
    return True
