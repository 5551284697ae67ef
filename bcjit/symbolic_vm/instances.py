"""``Class(...)`` of a plain Python class: an instance made in the frame, mirroring ``type.__call__`` (Objects/typeobject.c).

Plain means: `object` makes it, a Python ``__init__`` (or none) fills it, and neither its metaclass nor a finaliser has a say.
"""

from __future__ import annotations

import abc
import types
from collections.abc import Callable, Mapping
from typing import Final

import bcjit.symbolic_vm.break_reasons as because
from bcjit.guards import GuardKind, Identity, Source, SourceKind
from bcjit.symbolic_vm.attributes import MISSING, raw_in_mro
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.values import Known, SymNew, SymValue

__all__ = ["construct", "is_plain_class"]

HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE
ABSTRACT: Final = 1 << 20  # Py_TPFLAGS_IS_ABSTRACT
Args = tuple[SymValue, ...]
Call = Callable[[Machine, SymValue, Args, Mapping[str, SymValue]], SymValue]
# What an instance has of `object` itself: nothing of the program runs when it is made, read or written.
_OBJECTS_OWN: Final = ("__new__", "__getattribute__")
_MISSING_NAMES: Final = ("__del__", "__getattr__")


def is_plain_class(cls: object) -> bool:
    """Whether calling a class does no more than its ``__init__`` says."""
    if type(cls) not in (type, abc.ABCMeta):
        return False
    assert isinstance(cls, type)
    if cls.__flags__ & ABSTRACT:
        return False
    bases = type.__dict__["__mro__"].__get__(cls)[:-1]
    if not bases or not all(base.__flags__ & HEAP_TYPE for base in bases):
        return False
    return (
        all(raw_in_mro(cls, name) is object.__dict__[name] for name in _OBJECTS_OWN)
        and all(raw_in_mro(cls, name) is MISSING for name in _MISSING_NAMES)
        and type(raw_in_mro(cls, "__init__")) in (types.FunctionType, types.WrapperDescriptorType)
    )


def construct(
    vm: Machine, cls: Known, args: Args, kwargs: Mapping[str, SymValue], call: Call
) -> SymValue:
    """Make an instance of a plain class; `call` inlines its ``__init__``."""
    source = cls.source
    assert isinstance(cls.value, type)
    if source is None:
        break_graph(because.UNKNOWN_CALL, cls.value.__name__)
    for name in _OBJECTS_OWN:
        own = Identity(object.__dict__[name])
        vm.guard(GuardKind.IDENTITY, Source(SourceKind.MRO, name, source), own)
    for name in _MISSING_NAMES:
        vm.guard(GuardKind.ABSENT, source, name)
    if raw_in_mro(cls.value, "__setattr__") is object.__setattr__:
        setter = Identity(object.__setattr__)
        vm.guard(GuardKind.IDENTITY, Source(SourceKind.MRO, "__setattr__", source), setter)
    made = SymNew(None, cls.value, vm.new_id(), cls)
    vm.state = vm.state.with_heap(made.oid, {})
    place = Source(SourceKind.MRO, "__init__", source)
    raw = raw_in_mro(cls.value, "__init__")
    if raw is object.__init__:
        if args or kwargs:
            break_graph(because.WOULD_RAISE, f"{cls.value.__name__}() takes no arguments")
        vm.guard(GuardKind.IDENTITY, place, Identity(raw))
        return made
    if type(raw) is not types.FunctionType:
        break_graph(because.UNKNOWN_CALL, f"{cls.value.__name__}.__init__")
    vm.constructing.append(len(vm.positions) - 1)
    try:
        result = vm.realize(call(vm, vm.present(place, raw), (made, *args), kwargs))
    finally:
        vm.constructing.pop()
        vm.callee = None  # it is the class that is called
    if not isinstance(result, Known) or result.value is not None:
        break_graph(because.WOULD_RAISE, "__init__() should return None")
    return made
