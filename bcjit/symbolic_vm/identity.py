"""Which class a value is of, and whether two values are one object; compares nothing by value."""

from __future__ import annotations

import types
from typing import Final

import numpy as np

import bcjit.symbolic_vm.break_reasons as because
from bcjit.fx_graph import NodeKind
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.half_known import is_untouched, type_alone
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import describe
from bcjit.symbolic_vm.values import (
    Known,
    Lazy,
    SymArray,
    SymFunction,
    SymGenerator,
    SymInstance,
    SymIterator,
    SymMethod,
    SymNamedTuple,
    SymNew,
    SymObject,
    SymRandom,
    SymRange,
    SymScalar,
    SymSlice,
    SymTuple,
    SymUnion,
    SymValue,
    SymView,
)

__all__ = ["holds_nan", "identical", "pytype_of", "same_object"]


def pytype_of(vm: Machine, value: SymValue) -> type:
    """Return ``type(value)``, guarding it for a value from outside."""
    alone = type_alone(vm, value)
    if alone is not None:
        return alone
    value = vm.realize(value)
    if isinstance(value, Known):
        return type(value.value)
    if isinstance(value, SymArray):
        return value.meta.dtype.type if value.meta.is_scalar else np.ndarray
    if isinstance(value, _TYPED):
        return value.pytype
    for kind, pytype in _KIND_TYPES:
        if isinstance(value, kind):
            return pytype
    return break_graph(because.NO_RULE, f"type of {describe(value)}")


_TYPED: Final = (
    SymScalar,
    SymObject,
    SymInstance,
    SymIterator,
    SymNamedTuple,
    SymNew,
    SymRandom,
    SymView,
)
_KIND_TYPES: Final[tuple[tuple[type[SymValue], type], ...]] = (
    (SymTuple, tuple),
    (SymSlice, slice),
    (SymRange, range),
    (SymFunction, types.FunctionType),
    (SymMethod, types.MethodType),
    (SymGenerator, types.GeneratorType),
)


def identical(vm: Machine, left: SymValue, right: SymValue) -> SymValue:
    """``left is right``."""
    answer = same_object(vm, left, right)
    if answer is None:
        break_graph(because.NO_RULE, f"{describe(left)} is {describe(right)}")
    return Known(None, answer)


_SINGLETONS: Final = (type(None), bool, type(Ellipsis), type(NotImplemented))


def same_object(vm: Machine, left: SymValue, right: SymValue) -> bool | None:
    """Answer ``left is right``, None where only the objects themselves can tell."""
    if left is right:
        return True
    if isinstance(left, Lazy) and isinstance(right, Lazy) and not _is_singleton(left, right):
        return left.source == right.source or _same_place(vm, left, right)
    if _differs_in_type_alone(vm, left, right) or _differs_in_type_alone(vm, right, left):
        return False
    left, right = vm.realize(left), vm.realize(right)
    if left is right:
        return True
    return _same_realized(vm, left, right)


def _same_realized(vm: Machine, left: SymValue, right: SymValue) -> bool | None:
    if any(isinstance(one, SymUnion) for one in (left, right)):
        none = any(isinstance(one, Known) and one.value is None for one in (left, right))
        return False if none else None
    if pytype_of(vm, left) is not pytype_of(vm, right):
        return False
    if isinstance(left, SymArray) and isinstance(right, SymArray):
        return _same_array(vm, left, right)
    if isinstance(left, Known) and isinstance(right, Known):
        return _same_known(left, right)
    if left.source is not None and right.source is not None:
        return _same_place(vm, left, right)
    if isinstance(left, SymTuple) and isinstance(right, SymTuple):
        # () is one object, and what a loop or branch gives may be a tuple that was there before.
        return (
            None if vm.structured or vm.loops_captured or not (left.items or right.items) else False
        )
    fresh = (SymObject, SymNew, SymFunction, SymNamedTuple, SymSlice, SymRange, SymRandom)
    if isinstance(left, fresh) and isinstance(right, fresh):
        return False
    made = (SymNamedTuple, SymNew, SymObject, SymRandom)
    if any(isinstance(one, made) and one.source is None for one in (left, right)):
        return False  # one made here, and one from outside
    return None  # of equal numbers and texts, which are one object is the interpreter's business


def _differs_in_type_alone(vm: Machine, one: SymValue, other: SymValue) -> bool:
    """Whether the first is None or its like, and the other something of which then no more than the type is asked."""
    if not is_untouched(other) or (isinstance(one, Lazy) and not _is_singleton(one, one)):
        return False
    known = vm.realize(one)
    if not isinstance(known, Known) or type(known.value) not in _SINGLETONS:
        return False
    return type_alone(vm, other) is not None


def _is_singleton(left: Lazy, right: Lazy) -> bool:
    # By identity: comparing classes may run code of their metaclass.
    return any(type(value.obj) is kind for value in (left, right) for kind in _SINGLETONS)


def _same_place(vm: Machine, left: SymValue, right: SymValue) -> bool:
    assert left.source is not None
    assert right.source is not None
    same = vm.fetch(left.source) is vm.fetch(right.source)
    vm.guard_same_object(left.source, right.source, same=same)
    return same


def _same_known(left: Known, right: Known) -> bool | None:
    if type(left.value) in _SINGLETONS or isinstance(left.value, type):
        return left.value is right.value
    guarded = left.source is not None and right.source is not None
    return left.value is right.value if guarded and isinstance(left.value, _UNIQUE) else None


_UNIQUE: Final = (np.dtype, np.ufunc, types.BuiltinFunctionType)  # guarded by identity


def _same_array(vm: Machine, left: SymArray, right: SymArray) -> bool | None:
    if left.node is right.node:
        return True
    if left.source is not None and right.source is not None:
        return _same_place(vm, left, right)
    if left.meta.is_scalar or "maybe" in (left.node.alias, right.node.alias):
        return None  # np.True_ is one object; np.ascontiguousarray(x) may be x
    if any(one.source is None and one.node.kind is NodeKind.INPUT for one in (left, right)):
        return None  # what a turn of a loop gets from the one before
    return False  # a result of a call is a new object


def holds_nan(value: SymValue) -> bool:
    """Whether a known value is, or holds, something that does not equal itself."""
    return isinstance(value, Known) and _nan_in(value.value)


def _nan_in(value: object) -> bool:
    if type(value) is tuple:
        return any(map(_nan_in, value))
    return type(value) in (float, complex) and value != value  # noqa: PLR0124 - only a NaN does
