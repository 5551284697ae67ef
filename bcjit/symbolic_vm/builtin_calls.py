"""Rules for Python's builtin functions and types; a table, one small function a row.

Each rule mirrors the builtin for arguments whose types have rules, and breaks for the rest. Importing this module fills the table.
"""

from __future__ import annotations

import operator
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

import bcjit.symbolic_vm.break_reasons as because
from bcjit import ops
from bcjit.dims import Expr, Relation, maximum, minimum
from bcjit.guards import Source, SourceKind
from bcjit.meta import Meta, ScalarMeta, UnionMeta
from bcjit.symbolic_vm.attribute_writes import delete_attribute, set_attribute
from bcjit.symbolic_vm.attributes import has_attribute
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.calls import builtin, call_setter, get, use_of_frame
from bcjit.symbolic_vm.half_known import is_text, type_alone
from bcjit.symbolic_vm.identity import pytype_of
from bcjit.symbolic_vm.iterators import drain, each_left, is_iterator
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.named_tuples import tuple_items
from bcjit.symbolic_vm.numpy_calls import (
    LONGEST,
    add_node,
    call_op,
    call_scalar,
    describe,
    from_meta,
    operand,
)
from bcjit.symbolic_vm.operators import (
    as_dim,
    binary,
    compare,
    fold,
    from_dim,
    length,
    new_list,
    truth,
)
from bcjit.symbolic_vm.set_history import items_in_order
from bcjit.symbolic_vm.subscripts import (
    add_to_list,
    dict_items,
    view_items,
    with_item,
    write_contents,
)
from bcjit.symbolic_vm.values import (
    Changes,
    DictItem,
    Known,
    SymArray,
    SymFunction,
    SymInstance,
    SymMethod,
    SymNew,
    SymObject,
    SymRange,
    SymScalar,
    SymSlice,
    SymTuple,
    SymUnion,
    SymValue,
    SymView,
)

__all__ = [
    "Args",
    "Kwargs",
    "each_of",
    "extend_list",
    "is_one_number",
    "items_of",
    "plain",
    "positional",
]

Args = tuple[SymValue, ...]
Kwargs = Mapping[str, SymValue]


def positional(name: str, args: Args, kwargs: Kwargs, low: int, high: int) -> None:
    """Break unless a builtin has only positional arguments, so many of them."""
    if kwargs or not low <= len(args) <= high:
        break_graph(because.NO_RULE, f"{name} with these arguments")


def items_of(vm: Machine, value: SymValue, what: str) -> Args:
    """Return the items of an iterable whose length and items are known without running anything."""
    value = vm.realize(value)
    stored = tuple_items(vm, value)
    if stored is not None:
        return stored
    if isinstance(value, SymObject):
        if value.pytype is dict:
            return tuple(item.spelled for item in dict_items(vm, value))
        if value.pytype is list or (value.pytype is deque and value.source is None):
            if isinstance(value.obj, list) and len(value.obj) > LONGEST:
                break_graph(because.NO_RULE, f"{what} of a list of more than {LONGEST} items")
            contents = vm.contents(value)
            assert isinstance(contents, tuple)
            return contents
        if value.pytype is set and value.source is None:
            contents = vm.contents(value)
            assert isinstance(contents, tuple)
            return items_in_order(contents)
    if isinstance(value, SymView):
        return view_items(vm, value)
    if isinstance(value, SymRange):
        bounds: list[Any] = [
            vm.constant(part, "length of a range") for part in (value.start, value.stop, value.step)
        ]
        numbers = range(*bounds)
        if len(numbers) > _LONGEST:
            break_graph(because.NO_RULE, f"{what} of a long range")
        return tuple(Known(None, number) for number in numbers)
    if is_iterator(value):
        return drain(vm, value, what)
    if isinstance(value, Known) and type(value.value) in (str, tuple, bytes):
        return tuple(Known(None, item) for item in value.value)  # type: ignore[attr-defined]
    return break_graph(because.NO_RULE, f"{what} of {describe(value)}")


def each_of(vm: Machine, value: SymValue, what: str) -> Iterable[SymValue]:
    """Give the items of `items_of` to a rule that deals with each before the next is asked for.

    What an iterator runs to find the next item sees what was done with the last one, and may change it.
    """
    value = vm.realize(value)
    return each_left(vm, value, what) if is_iterator(value) else items_of(vm, value, what)


def extend_list(vm: Machine, owner: SymObject, value: SymValue, what: str) -> None:
    """``owner.extend(value)`` of a list; what an iterator runs sees the items before."""
    value = vm.realize(value)
    if is_iterator(value):
        for item in each_left(vm, value, what):
            add_to_list(vm, owner, (item,), list.append, item)
        return
    more = items_of(vm, value, what)
    add_to_list(vm, owner, more, list.extend, SymTuple(None, more))


_LONGEST: Final = 1024
HEAP_TYPE: Final = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class of the program, which can be changed


@builtin(len)
def _len(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("len", args, kwargs, 1, 1)
    if is_text(args[0]):
        return length(vm, args[0])
    value = vm.realize(args[0])
    if isinstance(value, SymObject) and isinstance(vm.contents(value), Changes):
        return Known(None, len(dict_items(vm, value)))
    return length(vm, args[0])


@builtin(abs)
def _abs(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("abs", args, kwargs, 1, 1)
    value = vm.realize(args[0])
    if isinstance(value, SymArray):
        # Not np.absolute: of the least integer the operator of NumPy's scalars warns; it is quicker too.
        op = ops.lookup(operator.abs)
        assert op is not None
        return call_op(vm, op, operator.abs, (value,))
    if isinstance(value, Known):
        return fold(abs, plain(value))
    if isinstance(value, SymScalar) and isinstance(value.payload, Expr):
        negative = vm.ask(Relation("<", value.payload, 0))
        if negative is None:
            return call_scalar(vm, abs, (value,), int, can_fail=False)
        return from_dim(vm, -value.payload if negative else value.payload)
    if isinstance(value, SymScalar) and value.pytype in (float, complex):
        return call_scalar(vm, abs, (value,), float, can_fail=value.pytype is complex)
    return break_graph(because.NO_RULE, f"abs of {describe(value)}")


def plain(value: Known) -> object:
    """Return a constant that a builtin can be called with now."""
    if type(value.value) in (bool, int, float, complex, str, bytes, type(None), tuple):
        return value.value
    return break_graph(because.NO_RULE, f"an argument of type {type(value.value).__name__}")


def _better(vm: Machine, symbol: str, item: SymValue, best: SymValue) -> SymValue:
    """Return which of two items `min` or `max` keeps; of two ints neither is chosen before the sizes are known."""
    if pytype_of(vm, item) is int and pytype_of(vm, best) is int:
        a, b = as_dim(vm, item), as_dim(vm, best)
        if a is not None and b is not None and vm.env.known(Relation("<", a, b)) is None:
            return from_dim(vm, minimum(a, b) if symbol == "<" else maximum(a, b))
    return item if truth(vm, compare(vm, symbol, item, best)) else best


def _chosen_by_data(vm: Machine, function: Callable[..., object], args: Args) -> SymValue | None:
    """Return what `min` or `max` gives of numbers where data decide: a node that calls it; None for other arguments."""
    values = [vm.realize(arg) for arg in args]
    metas = [_number_meta(value) for value in values]
    if None in metas or not any(isinstance(v, SymArray | SymUnion) or _is_node(v) for v in values):
        return None
    kinds = tuple(dict.fromkeys(kind for meta in metas for kind in _kinds_of(meta)))
    held = tuple(operand(vm, value)[1] for value in values)
    meta = kinds[0] if len(kinds) == 1 else UnionMeta(kinds)
    node = add_node(vm, function, held, {}, (meta,), can_fail=True, op=None)
    return from_meta(vm, node, meta)


def _is_node(value: SymValue) -> bool:
    return isinstance(value, SymScalar) and not isinstance(value.payload, Expr)


def _number_meta(value: SymValue) -> Meta | None:
    if isinstance(value, SymArray):
        return value.meta if value.meta.is_scalar else None
    if isinstance(value, SymUnion):
        return UnionMeta(value.kinds)
    if isinstance(value, SymScalar):
        return ScalarMeta(value.pytype)
    if isinstance(value, Known) and type(value.value) in (bool, int, float):
        return ScalarMeta(type(value.value))
    return None


def _kinds_of(meta: Meta | None) -> tuple[Meta, ...]:
    if meta is None:
        return ()
    return meta.kinds if isinstance(meta, UnionMeta) else (meta,)


def _extreme(symbol: str, name: str) -> Callable[[Machine, Args, Kwargs], SymValue]:
    function: Callable[..., object] = min if symbol == "<" else max

    def rule(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
        if kwargs or not args:
            break_graph(because.NO_RULE, f"{name} with these arguments")
        best: SymValue | None = None
        chosen = _chosen_by_data(vm, function, args) if len(args) > 1 else None
        if chosen is not None:
            return chosen
        for item in args if len(args) > 1 else each_of(vm, args[0], name):
            best = item if best is None else _better(vm, symbol, item, best)
        return break_graph(because.WOULD_RAISE, f"{name} of nothing") if best is None else best

    return rule


builtin(min)(_extreme("<", "min"))
builtin(max)(_extreme(">", "max"))


@builtin(sum)
def _sum(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("sum", args, kwargs, 1, 2)
    total = vm.realize(args[1]) if len(args) == 2 else Known(None, 0)
    if pytype_of(vm, total) in (str, bytes, bytearray):
        break_graph(because.WOULD_RAISE, "sum can't sum strings")
    for item in each_of(vm, args[0], "sum"):
        if _may_be_float(vm, item):
            break_graph(because.NO_RULE, "sum of floats, which builtin sum adds in its own way")
        total = binary(vm, "+", total, item)
    return total


def _may_be_float(vm: Machine, item: SymValue) -> bool:
    # Python 3.12 and later add floats with compensation, and only among themselves: NumPy's are none to it.
    pytype = pytype_of(vm, item)
    return issubclass(pytype, float | complex) and not issubclass(pytype, np.generic)


@builtin(isinstance)
def _isinstance(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("isinstance", args, kwargs, 2, 2)
    pytype = pytype_of(vm, args[0])
    classes = _classes(vm, args[1])
    for cls in classes:
        if type(cls).__instancecheck__ is not type.__instancecheck__:
            break_graph(
                because.NO_RULE, f"isinstance with {cls.__name__}, whose metaclass may run code"
            )
    if any("__class__" in base.__dict__ for base in pytype.__mro__[:-1]):
        break_graph(because.NO_RULE, f"isinstance of {pytype.__name__}, which defines __class__")
    if pytype.__flags__ & HEAP_TYPE and any(
        cls is not pytype and cls is not object for cls in classes
    ):
        break_graph(because.NO_RULE, f"isinstance of {pytype.__name__}, whose bases can be changed")
    return Known(None, any(cls in pytype.__mro__ for cls in classes))


def _classes(vm: Machine, value: SymValue) -> tuple[type, ...]:
    value = vm.realize(value)
    if isinstance(value, SymTuple):
        return tuple(cls for item in value.items for cls in _classes(vm, item))
    if isinstance(value, Known) and isinstance(value.value, type):
        return (value.value,)
    return break_graph(because.NO_RULE, "isinstance with something that is not a class")


@builtin(type)
def _type(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("type", args, kwargs, 1, 1)
    pytype = pytype_of(vm, args[0])
    if type_alone(vm, args[0]) is not None:
        return Known(None, pytype)
    value = vm.realize(args[0])
    if isinstance(value, SymNew):
        return value.cls
    if isinstance(value, SymInstance) and value.source is not None:
        return Known(Source(SourceKind.TYPE, None, value.source), pytype)
    return Known(None, pytype)


@builtin(bool)
def _bool(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("bool", args, kwargs, 0, 1)
    if not args:
        return Known(None, False)
    if is_text(args[0]):
        return Known(None, truth(vm, args[0]))
    value = vm.realize(args[0])
    if isinstance(value, SymScalar) and value.pytype is bool:
        return value
    if isinstance(value, SymArray) or (
        isinstance(value, SymScalar) and not isinstance(value.payload, Expr)
    ):
        return call_scalar(vm, operator.truth, (value,), bool)
    return Known(None, truth(vm, value))


@builtin(float)
def _float(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("float", args, kwargs, 1, 1)
    value = vm.realize(args[0])
    if isinstance(value, Known):
        return fold(float, plain(value))
    if isinstance(value, SymScalar) and value.pytype is float:
        return value
    if is_one_number(value, "biuf"):
        return call_scalar(vm, float, (value,), float)
    return break_graph(because.NO_RULE, f"float of {describe(value)}")


@builtin(int)
def _int(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("int", args, kwargs, 1, 1)
    value = vm.realize(args[0])
    if isinstance(value, Known):
        return fold(int, plain(value))
    dim = as_dim(vm, value)
    if dim is not None:
        return from_dim(vm, dim)
    if is_one_number(value, "biuf"):
        return call_scalar(vm, int, (value,), int)
    return break_graph(because.NO_RULE, f"int of {describe(value)}")


@builtin(operator.index)
def _index(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("operator.index", args, kwargs, 1, 1)
    value = vm.realize(args[0])
    if pytype_of(vm, value) is int:
        return value
    return break_graph(because.NO_RULE, f"operator.index of {describe(value)}")


@builtin(complex)
def _complex(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("complex", args, kwargs, 1, 2)
    values = [vm.realize(arg) for arg in args]
    if all(isinstance(value, Known) for value in values):
        return fold(complex, *[plain(value) for value in values if isinstance(value, Known)])
    if all(isinstance(value, Known) or is_one_number(value, "biuf") for value in values):
        return call_scalar(vm, complex, tuple(values), complex)
    return break_graph(because.NO_RULE, "complex of these arguments")


def is_one_number(value: SymValue, kinds: str) -> bool:
    """Whether a value is one number that Python can convert: not complex, of these kinds of dtype if NumPy's."""
    if isinstance(value, SymScalar):
        return value.pytype is not complex
    return isinstance(value, SymArray) and value.meta.ndim == 0 and value.meta.dtype.kind in kinds


@builtin(round)
def _round(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("round", args, kwargs, 1, 2)
    values = [vm.realize(arg) for arg in args]
    if all(isinstance(value, Known) for value in values):
        return fold(round, *[plain(value) for value in values if isinstance(value, Known)])
    if isinstance(values[0], SymScalar) and values[0].pytype is float:
        if len(values) == 1:
            return call_scalar(vm, round, (values[0],), int)
        if as_dim(vm, values[1]) is not None:
            return call_scalar(vm, round, tuple(values), float)
    return break_graph(because.NO_RULE, f"round of {describe(values[0])}")


@builtin(divmod)
def _divmod(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("divmod", args, kwargs, 2, 2)
    if as_dim(vm, args[0]) is None or as_dim(vm, args[1]) is None:
        break_graph(because.NO_RULE, "divmod of other than integers")
    return SymTuple(None, (binary(vm, "//", *args), binary(vm, "%", *args)))


@builtin(pow)
def _pow(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("pow", args, kwargs, 2, 2)
    return binary(vm, "**", *args)


@builtin(tuple)
def _tuple(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("tuple", args, kwargs, 0, 1)
    value = vm.realize(args[0]) if args else None
    if isinstance(value, SymTuple):
        return value  # tuple(t) is t
    return SymTuple(None, items_of(vm, args[0], "tuple") if args else ())


@builtin(list)
def _list(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("list", args, kwargs, 0, 1)
    return new_list(vm, items_of(vm, args[0], "list") if args else ())


@builtin(dict)
def _dict(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("dict", args, {}, 0, 1)
    contents: tuple[DictItem, ...] = ()
    if args:
        value = vm.realize(args[0])
        if not (isinstance(value, SymObject) and value.pytype is dict):
            break_graph(because.NO_RULE, f"dict of {describe(value)}")
        contents = dict_items(vm, value)
    made = SymObject(None, dict, vm.new_id(), ())
    for name, item in kwargs.items():
        contents = with_item(contents, name, item, Known(None, name))
    write_contents(vm, made, contents, "")
    return made


def _as_index(vm: Machine, value: SymValue) -> SymValue:
    """Return an integer of NumPy's as the int that ``operator.index`` gives; other values as they are."""
    value = vm.realize(value)
    if isinstance(value, SymArray) and not value.meta.shape and value.meta.dtype.kind in "iu":
        return call_scalar(vm, operator.index, (value,), int)
    return value


@builtin(range)
def _range(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("range", args, kwargs, 1, 3)
    args = tuple(_as_index(vm, arg) for arg in args)
    if any(as_dim(vm, arg) is None for arg in args):
        break_graph(because.NO_RULE, "range of other than integers")
    zero, one = Known(None, 0), Known(None, 1)
    start, stop, step = {
        1: (zero, *args, one),
        2: (*args, one),
        3: args,
    }[len(args)]
    step_dim = as_dim(vm, step)
    assert step_dim is not None
    if not vm.decide(Relation("!=", step_dim, 0)):
        break_graph(because.WOULD_RAISE, "range step zero")
    return SymRange(None, start, stop, step)


@builtin(slice)
def _slice(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("slice", args, kwargs, 1, 3)
    none = Known(None, None)
    start, stop, step = {1: (none, *args, none), 2: (*args, none), 3: args}[len(args)]
    return SymSlice(None, start, stop, step)


@builtin(getattr)
def _getattr(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("getattr", args, kwargs, 2, 3)
    name = vm.constant(args[1], "name of an attribute")
    if type(name) is not str:
        break_graph(because.WOULD_RAISE, "getattr with a name that is not a str")
    if len(args) == 3 and not has_attribute(vm, args[0], name):
        return args[2]
    return get(vm, args[0], name)


@builtin(setattr)
def _setattr(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("setattr", args, kwargs, 3, 3)
    name = vm.constant(args[1], "name of an attribute")
    if type(name) is not str:
        break_graph(because.WOULD_RAISE, "setattr with a name that is not a str")
    set_attribute(vm, args[0], name, args[2], call_setter)
    return Known(None, None)


@builtin(delattr)
def _delattr(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("delattr", args, kwargs, 2, 2)
    name = vm.constant(args[1], "name of an attribute")
    if type(name) is not str:
        break_graph(because.WOULD_RAISE, "delattr with a name that is not a str")
    delete_attribute(vm, args[0], name)
    return Known(None, None)


@builtin(object.__setattr__)
def _object_setattr(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("object.__setattr__", args, kwargs, 3, 3)
    name = vm.constant(args[1], "name of an attribute")
    if type(name) is not str:
        break_graph(because.WOULD_RAISE, "a name that is not a str")
    set_attribute(vm, args[0], name, args[2], call_setter, plain=True)
    return Known(None, None)


@builtin(hasattr)
def _hasattr(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("hasattr", args, kwargs, 2, 2)
    name = vm.constant(args[1], "name of an attribute")
    if type(name) is not str:
        break_graph(because.WOULD_RAISE, "hasattr with a name that is not a str")
    return Known(None, has_attribute(vm, args[0], name))


@builtin(callable)
def _callable(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("callable", args, kwargs, 1, 1)
    value = vm.realize(args[0])
    if isinstance(value, SymFunction | SymMethod):
        return Known(None, True)
    pytype = pytype_of(vm, value)
    if pytype.__flags__ & HEAP_TYPE:
        break_graph(because.NO_RULE, f"callable of {pytype.__name__}, a class that can be changed")
    return Known(None, any("__call__" in base.__dict__ for base in pytype.__mro__))


@builtin(str, repr, format, chr, ord, hash)
def _text(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    del vm, args, kwargs
    return break_graph(because.NO_RULE, "text of a value")


def _namespace(function: Callable[..., object], looks_elsewhere: int) -> None:
    """Make the rule of a builtin that looks at the calling frame unless it has as many arguments."""

    def rule(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
        if len(args) + len(kwargs) < looks_elsewhere:
            use_of_frame(vm, function.__name__)
        return break_graph(because.UNKNOWN_CALL, f"builtins.{function.__name__}")

    builtin(function)(rule)


for _reader, _arguments in ((locals, 1), (vars, 1), (dir, 1), (eval, 2), (exec, 2)):
    _namespace(_reader, _arguments)


@builtin(sys._getframe)  # noqa: SLF001 - what programs call
def _getframe(vm: Machine, args: Args, kwargs: Kwargs) -> SymValue:
    positional("sys._getframe", args, kwargs, 0, 1)
    depth = vm.constant(args[0], "which frame") if args else 0
    use_of_frame(vm, "sys._getframe", depth if type(depth) is int else 0)
