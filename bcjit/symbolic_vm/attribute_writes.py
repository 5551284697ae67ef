"""``obj.name = value`` and ``del obj.name``, mirroring ``PyObject_GenericSetAttr`` (Objects/object.c) without doing it.

Only stores that can run no code and cannot fail are taken: they are logged, and residual code does them. A property's setter is inlined.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Final

import numpy as np

import bcjit.symbolic_vm.break_reasons as because
from bcjit.guards import GuardKind, Identity, Source, SourceKind
from bcjit.symbolic_vm.attributes import MISSING, class_of, namespace_of, raw_in_mro, stored
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.finalisers import drop
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import describe
from bcjit.symbolic_vm.realize import PLAIN_METACLASSES, member
from bcjit.symbolic_vm.state import Effect
from bcjit.symbolic_vm.subscripts import delete_from_dict, set_in_dict
from bcjit.symbolic_vm.values import (
    DELETED,
    Known,
    Lazy,
    SymInstance,
    SymNew,
    SymValue,
)

__all__ = ["delete_attribute", "set_attribute"]

# How a property is written: given by the call layer, which inlines the setter.
CallSetter = Callable[[Machine, SymValue, SymValue, SymValue], None]
HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def set_attribute(
    vm: Machine,
    value: SymValue,
    name: str,
    item: SymValue,
    call_setter: CallSetter,
    *,
    plain: bool = False,
) -> None:
    """``value.name = item``; with `plain` as ``object.__setattr__`` does it.

    Raises
    ------
    GraphBreak
        If it would raise or may run code.
    """
    value = vm.realize(value)
    if isinstance(value, Known) and type(value.value) is types.ModuleType:
        _check_module(value, name)
        set_in_dict(vm, namespace_of(vm, value), Known(None, name), item)
        return
    owner = _owner(vm, value, name)
    setter = _place(vm, owner, name, None if plain else "__setattr__")
    if setter is not None:
        call_setter(vm, setter, owner, item)
        return
    if isinstance(owner, SymInstance):
        drop(vm, _present(vm, owner, name))
        kind = "plain_setattr" if plain else "setattr"
        vm.perform(Effect(kind, owner=owner, key=name, operands=(item,)))
    vm.state = vm.state.with_heap(owner.oid, {**_attributes(vm, owner), name: item})


def delete_attribute(vm: Machine, value: SymValue, name: str) -> None:
    """``del value.name``."""
    value = vm.realize(value)
    if isinstance(value, Known) and type(value.value) is types.ModuleType:
        _check_module(value, name)
        delete_from_dict(vm, namespace_of(vm, value), Known(None, name))
        return
    owner = _owner(vm, value, name)
    if _place(vm, owner, name, "__delattr__") is not None:
        break_graph(because.OUTSIDE_WRITE, f"del {describe(value)}.{name}: a property")
    before = _present(vm, owner, name)
    if before is None or before is DELETED:
        break_graph(because.WOULD_RAISE, f"{describe(value)}.{name} is not set")
    drop(vm, before)
    attributes = _attributes(vm, owner)
    if isinstance(owner, SymNew):
        vm.state = vm.state.with_heap(
            owner.oid, {known: held for known, held in attributes.items() if known != name}
        )
        return
    if name not in attributes:
        assert owner.source is not None
        vm.present(Source(SourceKind.ATTR, name, owner.source), None)
    vm.perform(Effect("delattr", owner=owner, key=name))
    vm.state = vm.state.with_heap(owner.oid, {**attributes, name: DELETED})


def _owner(vm: Machine, value: SymValue, name: str) -> SymInstance | SymNew:
    if isinstance(value, SymNew):
        return value
    if isinstance(value, SymInstance) and value.source is not None:
        if issubclass(value.pytype, np.ndarray):
            break_graph(because.NOT_NUMERIC, f"{describe(value)}.{name} = ...")
        return value
    return break_graph(because.OUTSIDE_WRITE, f"attribute {name} of {describe(value)}")


def _attributes(vm: Machine, owner: SymInstance | SymNew) -> dict[str, SymValue]:
    found = vm.state.heap.get(owner.oid, {})
    assert isinstance(found, dict)
    return found


def _present(vm: Machine, owner: SymInstance | SymNew, name: str) -> SymValue | None:
    """Return what the object has under a name now; what it is is guarded where it is dropped, that it is missing here."""
    known = _attributes(vm, owner).get(name)
    if known is not None or isinstance(owner, SymNew):
        return known
    assert owner.source is not None
    raw = raw_in_mro(owner.pytype, name)
    live = stored(owner.obj, name, raw)
    if live is MISSING:
        if raw is MISSING:
            vm.guard(GuardKind.NO_INSTANCE_ATTR, owner.source, name)
        return None
    return Lazy(Source(SourceKind.ATTR, name, owner.source), live)


def _place(
    vm: Machine, owner: SymInstance | SymNew, name: str, hook: str | None
) -> SymValue | None:
    """Guard that a name of an object is stored plainly; return a property's setter if there is one.

    `hook` is the method that must be `object`'s; None if it is not asked.
    """
    cls = owner.pytype
    where = class_of(owner)
    if type(cls) not in PLAIN_METACLASSES:
        break_graph(because.OUTSIDE_WRITE, f"{cls.__name__}.{name}: its metaclass may run code")
    if hook is not None:
        theirs = getattr(object, hook)
        if raw_in_mro(cls, hook) is not theirs:
            break_graph(because.OUTSIDE_WRITE, f"{cls.__name__} has a {hook} of its own")
        vm.guard(GuardKind.IDENTITY, Source(SourceKind.MRO, hook, where), Identity(theirs))
    raw = raw_in_mro(cls, name)
    in_class = Source(SourceKind.MRO, name, where)
    kind = type(raw)
    if kind is property:
        vm.realize(Lazy(in_class, raw))
        setter = raw.fset  # type: ignore[attr-defined]
        if setter is None:
            break_graph(because.WOULD_RAISE, f"{cls.__name__}.{name} has no setter")
        return Lazy(member(in_class, "fset"), setter)
    if kind is types.MemberDescriptorType:
        if not _is_slot(raw, cls):
            break_graph(because.OUTSIDE_WRITE, f"{cls.__name__}.{name} is no slot of its own")
        vm.guard(GuardKind.IDENTITY, in_class, Identity(raw))
        return None
    _check_in_class(vm, raw, in_class, where, name)
    if type.__dict__["__dictoffset__"].__get__(cls) == 0:
        break_graph(because.WOULD_RAISE, f"{cls.__name__} has no place for {name}")
    return None


def _check_in_class(vm: Machine, raw: object, in_class: Source, where: Source, name: str) -> None:
    """Guard that what the class has under a name, if anything, lets the instance have its own."""
    if raw is MISSING:
        vm.guard(GuardKind.ABSENT, where, name)
        return
    kind = type(raw)
    hooks = [raw_in_mro(kind, special) for special in ("__set__", "__delete__")]
    if any(found is not MISSING for found in hooks):
        break_graph(because.OUTSIDE_WRITE, f"{name}: a data descriptor")
    vm.guard(GuardKind.TYPE, in_class, kind)
    if kind.__flags__ & HEAP_TYPE:
        for special in ("__set__", "__delete__"):
            vm.guard(GuardKind.ABSENT, Source(SourceKind.TYPE, None, in_class), special)


def _is_slot(raw: object, cls: type) -> bool:
    """Whether a member descriptor was made by ``__slots__`` of a class: any object can be stored and taken away."""
    made_for = raw.__objclass__  # type: ignore[attr-defined]
    bases = type.__dict__["__mro__"].__get__(cls)
    if not made_for.__flags__ & HEAP_TYPE or not any(base is made_for for base in bases):
        return False
    return "__slots__" in type.__dict__["__dict__"].__get__(made_for)


def _check_module(module: Known, name: str) -> None:
    if raw_in_mro(types.ModuleType, name) is not MISSING or module.source is None:
        break_graph(because.OUTSIDE_WRITE, f"module.{name}")
