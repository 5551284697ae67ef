"""From an object outside the frame to a symbolic value: a table by exact type, each row guarding what it relies on.

Reading is limited to reads that execute nothing: exact types, tuple and list items, C members of functions and methods.
"""

from __future__ import annotations

import abc
import collections
import enum
import types
from collections.abc import Callable
from typing import Final

import numpy as np

import bcjit.symbolic_vm.break_reasons as because
from bcjit import ops
from bcjit.guards import GuardKind, Identity, Source, SourceKind
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.named_tuples import FIELD
from bcjit.symbolic_vm.values import (
    UNBOUND,
    Known,
    Lazy,
    SymArray,
    SymCell,
    SymFunction,
    SymInstance,
    SymMethod,
    SymNamedTuple,
    SymObject,
    SymScalar,
    SymTuple,
    SymValue,
)

__all__ = ["PLAIN_METACLASSES", "input_name", "lazy", "member", "realize"]

NUMERIC_KINDS: Final = "biufc"
PLAIN_METACLASSES: Final = (type, abc.ABCMeta, enum.EnumMeta, type(np.dtype))
_DICT_KEYS: Final = (str, int, bool, float, complex, bytes, type(None), tuple)


def member(source: Source, name: str) -> Source:
    """Return the source of a C member of the object at `source`."""
    return Source(SourceKind.MEMBER, name, source)


def lazy(vm: Machine, source: Source) -> Lazy:
    """Return the untouched value at `source`."""
    return Lazy(source, vm.fetch(source))


def realize(vm: Machine, value: Lazy) -> SymValue:
    """Guard the type of an object from outside and return what is known of it then."""
    pytype = type(value.obj)
    metaclass = pytype if issubclass(pytype, type) else type(pytype)
    if not any(metaclass is plain for plain in PLAIN_METACLASSES):
        if ops.lookup(value.obj) is not None:  # methods of random generators, of Cython's own type
            return _identical(vm, value)
        # Comparing and hashing such a class, and reading its name, may run code: nothing more is asked of it.
        name = type.__dict__["__name__"].__get__(metaclass)
        break_graph(because.NO_RULE, f"an object whose class is made by metaclass {name}")
    rule = _RULES.get(pytype)
    if rule is not None:
        return rule(vm, value)
    for base, rule in _BASE_RULES:
        if base in pytype.__mro__:
            return rule(vm, value)
    if ops.lookup(value.obj) is not None:  # the same, of older versions
        return _identical(vm, value)
    return _instance(vm, value)


def _source(value: Lazy) -> Source:
    assert value.source is not None
    return value.source


def _equal(vm: Machine, value: Lazy) -> SymValue:
    vm.guard(GuardKind.EQUALS, _source(value), value.obj)
    return Known(value.source, value.obj)


def _identical(vm: Machine, value: Lazy) -> SymValue:
    try:
        identity = Identity(value.obj)
    except ValueError:
        return _instance(vm, value)
    vm.guard(GuardKind.IDENTITY, _source(value), identity)
    return Known(value.source, value.obj)


def _integer(vm: Machine, value: Lazy) -> SymValue:
    source = _source(value)
    if not vm.settings.dynamic:
        return _equal(vm, value)
    vm.guard(GuardKind.TYPE, source, int)
    assert isinstance(value.obj, int)
    name = input_name(source)
    node = vm.graph_input(name, ScalarMeta(int), source, value.obj)
    symbol = vm.env.symbol(vm.fresh_name(node.name), "input", value.obj, nonnegative=False)
    vm.bind_symbol(symbol, source)
    vm.root.bind_symbol(symbol, node, None)
    return SymScalar(source, int, symbol.expr)


def _number(vm: Machine, value: Lazy) -> SymValue:
    source = _source(value)
    if not vm.settings.dynamic:
        return _equal(vm, value)
    pytype = type(value.obj)
    vm.guard(GuardKind.TYPE, source, pytype)
    node = vm.graph_input(input_name(source), ScalarMeta(pytype), source, value.obj)
    return SymScalar(source, pytype, node)


def _tuple(vm: Machine, value: Lazy) -> SymValue:
    source = _source(value)
    assert type(value.obj) is tuple
    vm.guard(GuardKind.TYPE, source, tuple)
    vm.guard(GuardKind.EQUALS, Source(SourceKind.LENGTH, None, source), len(value.obj))
    return SymTuple(source, _items(source, value.obj))


def _named_tuple(vm: Machine, value: Lazy) -> SymValue:
    source, obj = _source(value), value.obj
    assert isinstance(obj, tuple)
    pytype = type(obj)
    vm.guard(GuardKind.TYPE, source, pytype)
    vm.guard(GuardKind.EQUALS, Source(SourceKind.LENGTH, None, source), len(obj))
    return SymNamedTuple(source, pytype, _items(source, obj))


def _list(vm: Machine, value: Lazy) -> SymValue:
    source = _source(value)
    assert type(value.obj) is list
    vm.guard(GuardKind.TYPE, source, list)
    return SymObject(source, list, vm.number_of(value.obj), None, value.obj)


def _items(source: Source, items: tuple[object, ...]) -> tuple[SymValue, ...]:
    return tuple(
        Lazy(Source(SourceKind.ITEM, index, source), item) for index, item in enumerate(items)
    )


def _container(vm: Machine, value: Lazy) -> SymValue:
    pytype = type(value.obj)
    vm.guard(GuardKind.TYPE, _source(value), pytype)
    return SymObject(value.source, pytype, vm.number_of(value.obj), None, value.obj)


def _dict(vm: Machine, value: Lazy) -> SymValue:
    vm.guard(GuardKind.TYPE, _source(value), dict)
    return SymObject(value.source, dict, vm.number_of(value.obj), None, value.obj)


def _array(vm: Machine, value: Lazy) -> SymValue:
    array = value.obj
    assert isinstance(array, np.ndarray)
    source = _source(value)
    if array.dtype.kind not in NUMERIC_KINDS or not array.dtype.isnative:
        # Not its type alone: what is made for such an array must not serve those that can be captured.
        vm.guard(GuardKind.OTHER_ARRAY, source, None)
        return SymInstance(source, np.ndarray, array, vm.number_of(array))
    vm.guard(GuardKind.ARRAY, source, (array.dtype, array.ndim))
    name = input_name(source)
    shape = []
    symbols = []
    for axis, size in enumerate(array.shape):
        place = Source(SourceKind.SHAPE, axis, source)
        if not vm.settings.dynamic:
            vm.guard(GuardKind.EQUALS, place, size)
            shape.append(size)
            continue
        symbol = vm.env.symbol(vm.fresh_name(f"{name}_{axis}"), "input", size)
        vm.bind_symbol(symbol, place)
        symbols.append((symbol, axis))
        shape.append(symbol.expr)
    meta = ArrayMeta(tuple(shape), array.dtype)
    node = vm.graph_input(name, meta, source, array)
    for symbol, axis in symbols:
        vm.root.bind_symbol(symbol, node, axis)
    return SymArray(source, node, meta)


def _numpy_scalar(vm: Machine, value: Lazy) -> SymValue:
    source = _source(value)
    pytype = type(value.obj)
    dtype = np.dtype(pytype)  # exact scalar classes only: the table has no others
    vm.guard(GuardKind.TYPE, source, pytype)
    meta = ArrayMeta((), dtype, is_scalar=True)
    return SymArray(source, vm.graph_input(input_name(source), meta, source, value.obj), meta)


def _function(vm: Machine, value: Lazy) -> SymValue:
    source = _source(value)
    function = value.obj
    assert isinstance(function, types.FunctionType)
    code = function.__code__
    if len(function.__closure__ or ()) != len(code.co_freevars):
        return _instance(vm, value)  # not whole yet (3.13, before SET_FUNCTION_ATTRIBUTE)
    if (
        ops.lookup(function) is not None
    ):  # np.ones and others are Python functions, and operations all the same
        return _identical(vm, value)
    vm.guard(GuardKind.TYPE, source, types.FunctionType)
    vm.guard(GuardKind.IDENTITY, member(source, "code"), Identity(code))
    namespace = member(source, "globals")
    if function.__globals__ is vm.roots.func.__globals__:
        here = Source(SourceKind.GLOBALS)
        vm.guard_same_object(namespace, here, same=True)
        namespace = here
    return SymFunction(
        source=source,
        code=code,
        globals=function.__globals__,
        globals_source=namespace,
        defaults=_defaults(vm, source, function),
        kwdefaults=_kwdefaults(vm, source, function),
        closure=_closure(vm, source, function, code),
        name=function.__name__,
        qualname=function.__qualname__,
        obj=function,
    )


def _defaults(
    vm: Machine, source: Source, function: types.FunctionType
) -> tuple[SymValue, ...] | None:
    place = member(source, "defaults")
    defaults = function.__defaults__
    if defaults is None:
        vm.guard(GuardKind.EQUALS, place, None)
        return None
    vm.guard(GuardKind.TYPE, place, tuple)
    vm.guard(GuardKind.EQUALS, Source(SourceKind.LENGTH, None, place), len(defaults))
    return _items(place, defaults)


def _kwdefaults(
    vm: Machine, source: Source, function: types.FunctionType
) -> tuple[tuple[str, SymValue], ...] | None:
    place = member(source, "kwdefaults")
    kwdefaults = function.__kwdefaults__
    if kwdefaults is None:
        vm.guard(GuardKind.EQUALS, place, None)
        return None
    kwdefaults = kwdefaults.copy()  # at once, as other threads may be changing it
    vm.guard(GuardKind.KEYS, place, tuple(kwdefaults))
    return tuple(
        (name, Lazy(Source(SourceKind.ITEM, name, place), default))
        for name, default in kwdefaults.items()
    )


def _closure(
    vm: Machine, source: Source, function: types.FunctionType, code: types.CodeType
) -> tuple[SymCell, ...]:
    cells = function.__closure__ or ()
    place = member(source, "closure")
    return tuple(
        outside_cell(vm, cell, Source(SourceKind.CELL_OF, index, place), name)
        for index, (cell, name) in enumerate(zip(cells, code.co_freevars, strict=True))
    )


def outside_cell(vm: Machine, cell: types.CellType, source: Source, name: str) -> SymCell:
    """Return the symbolic cell of a live one; `source` names its contents."""

    def make() -> SymCell:
        try:
            initial: SymValue = Lazy(source, cell.cell_contents)
        except ValueError:
            initial = UNBOUND
        return SymCell(source, vm.new_id(), name, initial, from_outside=True)

    return vm.cell(source, make)


def _method(vm: Machine, value: Lazy) -> SymValue:
    source = _source(value)
    method = value.obj
    assert isinstance(method, types.MethodType)
    if ops.lookup(method) is not None:  # the functions of np.random are methods
        return _identical(vm, value)
    vm.guard(GuardKind.TYPE, source, types.MethodType)
    return SymMethod(
        source,
        Lazy(member(source, "self"), method.__self__),
        Lazy(member(source, "func"), method.__func__),
    )


def _builtin(vm: Machine, value: Lazy) -> SymValue:
    owner = getattr(value.obj, "__self__", None)
    plain = owner is None or isinstance(owner, types.ModuleType | type)
    if plain or ops.lookup(value.obj) is not None:  # np.add.reduce under a name of its own
        return _identical(vm, value)
    return _instance(vm, value)


def _instance(vm: Machine, value: Lazy) -> SymValue:
    vm.guard(GuardKind.TYPE, _source(value), type(value.obj))
    return SymInstance(value.source, type(value.obj), value.obj, vm.number_of(value.obj))


def input_name(source: Source) -> str:
    """Return what the input of a graph is called that is read from a source."""
    return "".join(c if c.isidentifier() or c.isdigit() else "_" for c in source.text()).strip("_")


_SCALARS: Final = tuple(
    t
    for t in dict.fromkeys(np.dtype(c).type for c in np.typecodes["All"])
    if np.dtype(t).kind in NUMERIC_KINDS
)
_Rule = Callable[[Machine, Lazy], SymValue]
_RULES: Final[dict[type, _Rule]] = {
    type(None): _equal,
    bool: _equal,
    str: _equal,
    bytes: _equal,
    type(Ellipsis): _equal,
    int: _integer,
    float: _number,
    complex: _number,
    tuple: _tuple,
    list: _list,
    dict: _dict,
    set: _container,
    collections.deque: _container,
    np.ndarray: _array,
    types.FunctionType: _function,
    types.MethodType: _method,
    types.BuiltinFunctionType: _builtin,
    types.ModuleType: _identical,
    types.MethodDescriptorType: _identical,
    types.WrapperDescriptorType: _identical,
    types.GetSetDescriptorType: _identical,
    types.MemberDescriptorType: _identical,
    FIELD: _identical,
    types.CodeType: _identical,
    property: _identical,
    staticmethod: _identical,
    classmethod: _identical,
    type: _identical,
    np.ufunc: _identical,
    type(np.sum): _identical,  # NumPy's array-function dispatcher
    **dict.fromkeys(_SCALARS, _numpy_scalar),
    **dict.fromkeys(ops.NAMED_TUPLES, _named_tuple),
}
# For whole families: metaclasses, NumPy's dtype classes, modules with a class of their own.
_BASE_RULES: Final[tuple[tuple[type, _Rule], ...]] = (
    (type, _identical),
    (np.dtype, _identical),
)
