"""Unary and binary operators, comparisons, truth and length; each algorithm once, mirroring CPython's Objects/abstract.c.

Rules are chosen by the kinds of the operands: constants fold, symbolic integers are computed on shapes' algebra, other numbers
and arrays become nodes. Operators of user classes are left to Python (a break).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import bcjit.symbolic_vm.break_reasons as because
from bcjit import ops
from bcjit.dims import Dim, Expr, Relation, RelationOp, floor_divide
from bcjit.fx_graph.elision import COMMUTED
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.half_known import is_filled, is_text, text_length
from bcjit.symbolic_vm.identity import holds_nan, same_object
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import call_op, call_scalar, describe, no_rule
from bcjit.symbolic_vm.set_history import real_set
from bcjit.symbolic_vm.temporaries import note_temporaries
from bcjit.symbolic_vm.unions import has_union, over_kinds
from bcjit.symbolic_vm.values import (
    Known,
    SymArray,
    SymFunction,
    SymInstance,
    SymMethod,
    SymNamedTuple,
    SymObject,
    SymScalar,
    SymSlice,
    SymTuple,
    SymUnion,
    SymValue,
    SymView,
)

__all__ = [
    "as_dim",
    "binary",
    "compare",
    "contains",
    "from_dim",
    "is_data",
    "length",
    "truth",
    "unary",
]

BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "@=": operator.imatmul,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
}
UNARY: Final[dict[str, Callable[[Any], Any]]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
}
COMPARE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
_FOLDABLE: Final = (bool, int, float, complex, str, bytes, type(None), tuple)
_NUMBERS: Final = (bool, int, float, complex)
_FOLD_BITS: Final = 4096  # larger integers and longer texts are left to run time
_FOLD_LENGTH: Final = 4096
_SHIFT_BITS: Final = 62


def as_dim(vm: Machine, value: SymValue) -> Dim | None:
    """Return the value as a symbolic or known integer, None if it is not a Python int (bool counts)."""
    value = vm.realize(value)
    if isinstance(value, SymScalar) and isinstance(value.payload, Expr):
        return value.payload
    if (
        isinstance(value, Known)
        and isinstance(value.value, int)
        and type(value.value) in (int, bool)
    ):
        return int(value.value)
    return None


def from_dim(vm: Machine, dim: Dim) -> SymValue:
    """Return the Python int that a dim stands for."""
    simple = vm.env.simplify(dim)
    if isinstance(simple, Expr):
        return SymScalar(None, int, simple)
    return Known(None, simple)


def _foldable(value: SymValue) -> bool:
    return isinstance(value, Known) and type(value.value) in _FOLDABLE


def fold(function: Callable[..., object], *values: object) -> SymValue:
    """Compute a constant now; what raises, or would be large, is left to run time."""
    try:
        result = function(*values)
    except Exception as error:  # noqa: BLE001 - whatever it is, Python raises it again at run time
        break_graph(because.WOULD_RAISE, f"{type(error).__name__}: {error}")
    return Known(None, result)


def _too_large(symbol: str, left: object, right: object) -> bool:
    sizes = [len(v) for v in (left, right) if isinstance(v, str | bytes | tuple)]
    bits = [v.bit_length() for v in (left, right) if isinstance(v, int)]
    if symbol in ("**", "<<") and isinstance(right, int) and isinstance(left, int):
        return right > _FOLD_BITS or left.bit_length() * max(right, 1) > _FOLD_BITS
    if symbol == "*" and sizes and bits:
        count = right if isinstance(right, int) else left
        return isinstance(count, int) and count * sizes[0] > _FOLD_LENGTH
    return any(b > _FOLD_BITS for b in bits) or sum(sizes) > _FOLD_LENGTH


def binary(vm: Machine, symbol: str, left: SymValue, right: SymValue) -> SymValue:
    """``left <symbol> right``; in-place forms end in ``=``."""
    left, right = vm.realize(left), vm.realize(right)
    if has_union((left, right)):
        return over_kinds(vm, (left, right), lambda pair: binary(vm, symbol, *pair))
    plain = symbol.removesuffix("=")
    if _foldable(left) and _foldable(right):
        assert isinstance(left, Known)
        assert isinstance(right, Known)
        if _too_large(plain, left.value, right.value):
            break_graph(because.NO_RULE, f"{plain} of large constants")
        return fold(BINARY[plain], left.value, right.value)
    if isinstance(left, SymArray) or isinstance(right, SymArray):
        return _array_binary(vm, symbol, left, right)
    if _is_number(left) and _is_number(right):
        return _number_binary(vm, plain, left, right)
    sequence = _sequence_binary(vm, symbol, left, right)
    if sequence is not None:
        return sequence
    return no_rule(f"{describe(left)} {symbol} {describe(right)}", left, right)


def _array_binary(vm: Machine, symbol: str, left: SymValue, right: SymValue) -> SymValue:
    target = BINARY[symbol]
    if symbol.endswith("=") and not _writes_in_place(left):
        target = BINARY[symbol.removesuffix("=")]
    _check_operands(symbol, left, right)
    op = ops.lookup(target)
    if op is None:
        break_graph(because.NUMPY_UNSUPPORTED, f"operator {symbol}")
    result = call_op(vm, op, target, (left, right))
    if target in COMMUTED:
        note_temporaries(vm, result, left, right)
    return result


def _check_operands(symbol: str, left: SymValue, right: SymValue) -> None:
    """Break unless the op table knows what an operator does with these, of which one is an array."""
    for value in (left, right):
        known = isinstance(value, SymArray | SymScalar | SymTuple) or _is_list(value)
        known = known or (isinstance(value, Known) and type(value.value) is tuple)
        none = isinstance(value, Known) and value.value is None and symbol in ("==", "!=")
        if not (known or none or _is_number(value)):
            no_rule(f"{describe(left)} {symbol} {describe(right)}", left, right)


def _writes_in_place(value: SymValue) -> bool:
    return isinstance(value, SymArray) and not value.meta.is_scalar


def _is_number(value: SymValue) -> bool:
    return isinstance(value, SymScalar) or (
        isinstance(value, Known) and type(value.value) in _NUMBERS
    )


def _number_type(value: SymValue) -> type:
    return value.pytype if isinstance(value, SymScalar) else type(value.value)  # type: ignore[attr-defined]


def _number_binary(vm: Machine, symbol: str, left: SymValue, right: SymValue) -> SymValue:
    types = {_number_type(left), _number_type(right)}
    if types <= {int, bool}:
        return _integer_binary(vm, symbol, left, right)
    if complex in types:
        pytype: type = complex
    else:
        if symbol == "**" and not _is_real_power(vm, left, right):
            break_graph(because.NO_RULE, "power of a float, which may be complex")
        pytype = float
    if symbol in ("&", "|", "^", "<<", ">>", "@") or (pytype is complex and symbol in ("//", "%")):
        break_graph(because.WOULD_RAISE, f"{symbol} of {pytype.__name__}")
    return call_scalar(vm, BINARY[symbol], (left, right), pytype)


def _is_real_power(vm: Machine, base: SymValue, exponent: SymValue) -> bool:
    """Whether ``base ** exponent`` is a float for certain (float_pow, Objects/floatobject.c)."""
    if _number_type(exponent) in (int, bool):
        return True
    if isinstance(exponent, Known) and float(exponent.value).is_integer():  # type: ignore[arg-type]
        return True
    if isinstance(base, SymScalar) and isinstance(base.payload, Expr):
        return vm.decide(Relation("<=", 0, base.payload))
    return isinstance(base, Known) and base.value >= 0  # type: ignore[operator]


def _integer_binary(  # noqa: C901, PLR0912 - one branch an operator
    vm: Machine, symbol: str, left: SymValue, right: SymValue
) -> SymValue:
    a, b = as_dim(vm, left), as_dim(vm, right)
    if a is None or b is None:
        return _node_binary(vm, symbol, left, right)
    if symbol in ("+", "-", "*"):
        return from_dim(vm, BINARY[symbol](a, b))
    if symbol in ("//", "%", "/"):
        divides = vm.ask(Relation("!=", b, 0))
        if divides is None:
            return _node_binary(vm, symbol, left, right)
        if not divides:
            break_graph(because.WOULD_RAISE, "division by zero")
        if symbol == "/":
            return call_scalar(vm, operator.truediv, (left, right), float)
        return from_dim(vm, BINARY[symbol](a, b))
    if symbol == "**" and isinstance(b, int) and 0 <= b <= 8:
        power: Dim = 1
        for _ in range(b):
            power = power * a
        return from_dim(vm, power)
    if symbol == "**":
        if vm.decide(Relation("<", b, 0)):
            if not vm.decide(Relation("!=", a, 0)):
                break_graph(because.WOULD_RAISE, "zero to a negative power")
            return call_scalar(vm, operator.pow, (left, right), float)
        return call_scalar(vm, operator.pow, (left, right), int)
    if symbol in ("<<", ">>"):
        return _shift(vm, symbol, left, right)
    if symbol == "@":
        break_graph(because.WOULD_RAISE, "@ of int")
    return call_scalar(vm, BINARY[symbol], (left, right), int)


def _node_binary(vm: Machine, symbol: str, left: SymValue, right: SymValue) -> SymValue:
    """Record an operation of ints and bools about which nothing can be decided; what would raise fails at run time."""
    types = {_number_type(left), _number_type(right)}
    if symbol in ("**", "@"):
        break_graph(because.NO_RULE, f"{symbol} of ints that depend on data")
    pytype: type = float if symbol == "/" else int
    if symbol in ("&", "|", "^") and types == {bool}:
        pytype = bool
    return call_scalar(vm, BINARY[symbol], (left, right), pytype)


def _shift(vm: Machine, symbol: str, left: SymValue, right: SymValue) -> SymValue:
    a, b = as_dim(vm, left), as_dim(vm, right)
    assert a is not None
    assert b is not None
    positive = vm.ask(Relation("<=", 0, b))
    if positive is None:
        return _node_binary(vm, symbol, left, right)
    if not positive:
        break_graph(because.WOULD_RAISE, "negative shift count")
    if isinstance(b, int) and b <= _SHIFT_BITS:
        return from_dim(vm, a * 2**b if symbol == "<<" else floor_divide(a, 2**b))
    return call_scalar(vm, BINARY[symbol], (left, right), int)


def _sequence_binary(vm: Machine, symbol: str, left: SymValue, right: SymValue) -> SymValue | None:
    """``+`` and ``*`` of lists and tuples made in the frame, of known length."""
    if symbol == "+" and _is_list(left) and _is_list(right):
        return new_list(vm, _list_items(vm, left) + _list_items(vm, right))
    if symbol in ("+", "+="):
        return _tuple_sum(left, right)
    if symbol in ("*", "*="):
        items, count = (left, right) if not _is_number(left) else (right, left)
        times = vm.realize(count)
        if isinstance(times, Known) and type(times.value) is int and times.value <= _FOLD_LENGTH:
            if isinstance(items, SymTuple):
                # tuplerepeat (Objects/tupleobject.c) gives back the tuple itself
                same = times.value == 1 or not items.items
                return items if same else SymTuple(None, items.items * times.value)
            if symbol == "*" and _is_list(items):
                return new_list(vm, _list_items(vm, items) * times.value)
    return None


def _tuple_sum(left: SymValue, right: SymValue) -> SymValue | None:
    """Mirror ``tupleconcat`` (Objects/tupleobject.c): the empty tuple added gives back the other one."""
    a, b = _tuple_items(left), _tuple_items(right)
    if a is None or b is None:
        return None
    if not a:
        return right
    return SymTuple(None, a + b) if b else left


def _tuple_items(value: SymValue) -> tuple[SymValue, ...] | None:
    if isinstance(value, SymTuple):
        return value.items
    if isinstance(value, Known) and type(value.value) is tuple:
        return tuple(Known(None, item) for item in value.value)
    return None


def _is_list(value: SymValue) -> bool:
    return isinstance(value, SymObject) and value.pytype is list


def _list_items(vm: Machine, value: SymValue) -> tuple[SymValue, ...]:
    assert isinstance(value, SymObject)
    contents = vm.contents(value)
    assert isinstance(contents, tuple)
    return contents


def new_list(vm: Machine, items: tuple[SymValue, ...]) -> SymObject:
    """Return a list made in the frame."""
    return SymObject(None, list, vm.new_id(), items)


def unary(vm: Machine, symbol: str, value: SymValue) -> SymValue:
    """``-x``, ``+x``, ``~x``."""
    value = vm.realize(value)
    if isinstance(value, SymUnion):
        return over_kinds(vm, (value,), lambda one: unary(vm, symbol, *one))
    if _foldable(value):
        assert isinstance(value, Known)
        if symbol == "~" and type(value.value) is bool:
            break_graph(because.NO_RULE, "~ of a bool, which warns")
        return fold(UNARY[symbol], value.value)
    if isinstance(value, SymArray):
        op = ops.lookup(UNARY[symbol])
        if op is None:
            break_graph(because.NUMPY_UNSUPPORTED, f"operator {symbol}")
        return call_op(vm, op, UNARY[symbol], (value,))
    if isinstance(value, SymScalar):
        if isinstance(value.payload, Expr):
            dim = {"-": -value.payload, "+": value.payload, "~": -value.payload - 1}[symbol]
            return from_dim(vm, dim)
        if value.pytype in (float, complex) and symbol != "~":
            return call_scalar(vm, UNARY[symbol], (value,), value.pytype, can_fail=False)
        if value.pytype is int or (value.pytype is bool and symbol != "~"):
            return call_scalar(vm, UNARY[symbol], (value,), int, can_fail=False)
    return no_rule(f"{symbol}{describe(value)}", value)


def compare(vm: Machine, symbol: str, left: SymValue, right: SymValue) -> SymValue:
    """``left <symbol> right``."""
    left, right = vm.realize(left), vm.realize(right)
    if has_union((left, right)):
        return over_kinds(vm, (left, right), lambda pair: compare(vm, symbol, *pair))
    if _foldable(left) and _foldable(right):
        assert isinstance(left, Known)
        assert isinstance(right, Known)
        return fold(COMPARE[symbol], left.value, right.value)
    if isinstance(left, SymArray) or isinstance(right, SymArray):
        return _array_binary_compare(vm, symbol, left, right)
    a, b = as_dim(vm, left), as_dim(vm, right)
    if a is not None and b is not None:
        answer = _ask_compare(vm, symbol, a, b)
        if answer is not None:
            return Known(None, answer)
        return call_scalar(vm, COMPARE[symbol], (left, right), bool, can_fail=False)
    if _is_number(left) and _is_number(right):
        if complex in (_number_type(left), _number_type(right)) and symbol not in ("==", "!="):
            break_graph(because.WOULD_RAISE, "order of complex numbers")
        return call_scalar(vm, COMPARE[symbol], (left, right), bool, can_fail=False)
    if symbol in ("==", "!="):
        answer = _structural_equality(vm, left, right)
        if answer is not None:
            return Known(None, answer is (symbol == "=="))
    return no_rule(f"{describe(left)} {symbol} {describe(right)}", left, right)


def _ask_compare(vm: Machine, symbol: str, a: Dim, b: Dim) -> bool | None:
    if symbol in (">", ">="):
        a, b = b, a
        symbol = {">": "<", ">=": "<="}[symbol]
    relation: RelationOp = symbol  # type: ignore[assignment]
    return vm.ask(Relation(relation, a, b))


def _array_binary_compare(vm: Machine, symbol: str, left: SymValue, right: SymValue) -> SymValue:
    _check_operands(symbol, left, right)
    op = ops.lookup(COMPARE[symbol])
    if op is None:
        break_graph(because.NUMPY_UNSUPPORTED, f"operator {symbol}")
    return call_op(vm, op, COMPARE[symbol], (left, right))


def _structural_equality(vm: Machine, left: SymValue, right: SymValue) -> bool | None:
    """Compare by identity or item by item; None where an item's own ``==`` would have to run."""
    same = same_object(vm, left, right)
    if same is True and not isinstance(left, SymInstance):
        return True
    ours, theirs = _tuple_items(left), _tuple_items(right)
    if ours is not None and theirs is not None and not (_foldable(left) and _foldable(right)):
        if len(ours) != len(theirs):
            return False
        for a, b in zip(ours, theirs, strict=True):
            if holds_nan(vm.realize(a)) or holds_nan(vm.realize(b)):
                return None  # identity comes before equality, and which object it is is not known
            item = compare(vm, "==", a, b)
            if not isinstance(item, Known):
                return None
            if not item.value:
                return False
        return True
    if isinstance(left, Known) and isinstance(right, Known) and _has_plain_equality(left, right):
        return bool(left.value == right.value)
    return None


def _has_plain_equality(left: Known, right: Known) -> bool:
    both = (left.value, right.value)
    if all(isinstance(value, np.dtype) for value in both):
        return True
    plain = (bool, int, float, complex, str, bytes, type(None), tuple, type, np.dtype)
    return all(type(value) in plain or isinstance(value, np.dtype) for value in both) and all(
        not isinstance(value, np.dtype) or isinstance(other, type | np.dtype | str | type(None))
        for value, other in (both, both[::-1])
    )


def contains(vm: Machine, item: SymValue, container: SymValue) -> SymValue:
    """``item in container``."""
    item, container = vm.realize(item), vm.realize(container)
    if holds_nan(item) or holds_nan(container):
        break_graph(because.NO_RULE, "in with a NaN, which is found by identity")
    if _foldable(item) and _foldable(container):
        assert isinstance(item, Known)
        assert isinstance(container, Known)
        return fold(lambda c, i: i in c, container.value, item.value)
    items = _tuple_items(container)
    if _is_list(container):
        items = _list_items(vm, container)
    if items is None:
        return break_graph(because.NO_RULE, f"in {describe(container)}")
    for candidate in items:
        if same_object(vm, item, candidate) is True:
            return Known(None, True)
        equal = compare(vm, "==", candidate, item)
        if not isinstance(equal, Known):
            return break_graph(
                because.MUST_KNOW, f"whether an item of a {describe(container)} is equal"
            )
        if equal.value:
            return Known(None, True)
    return Known(None, False)


def truth(vm: Machine, value: SymValue) -> bool:
    """Return ``bool(value)`` if it is known without running the graph, else break."""
    filled = is_filled(vm, value)
    if filled is not None:
        return filled
    value = vm.realize(value)
    if isinstance(value, Known):
        if type(value.value) in _FOLDABLE:
            return bool(value.value)
        if isinstance(value.value, type) and type(value.value) is type:
            return True
        if callable(value.value) and type(value.value).__module__ in ("builtins", "numpy"):
            return True
        return no_rule(f"truth of {describe(value)}", value)
    if isinstance(value, SymScalar) and isinstance(value.payload, Expr):
        return vm.decide(Relation("!=", value.payload, 0))
    if isinstance(value, SymTuple | SymNamedTuple):
        return bool(value.items)
    if isinstance(value, SymObject):
        size = length(vm, value)
        assert isinstance(size, Known)
        return bool(size.value)
    if isinstance(value, SymFunction | SymMethod | SymSlice):
        return True
    if isinstance(value, SymArray | SymScalar | SymUnion):
        return break_graph(because.DATA_BRANCH, describe(value))
    return no_rule(f"truth of {describe(value)}", value)


def is_data(vm: Machine, value: SymValue) -> bool:
    """Whether the truth of a value depends on what the graph computes."""
    if is_text(value):
        return False
    value = vm.realize(value)
    if isinstance(value, SymScalar) and isinstance(value.payload, Expr):
        return vm.ask(Relation("!=", value.payload, 0)) is None
    return isinstance(value, SymArray | SymScalar | SymUnion)


def length(vm: Machine, value: SymValue) -> SymValue:
    """``len(value)``."""
    size = text_length(vm, value)
    if size is not None:
        return Known(None, size)
    value = vm.realize(value)
    if isinstance(value, SymView):
        value = value.owner
    if isinstance(value, Known) and isinstance(value.value, str | bytes | tuple):
        return Known(None, len(value.value))
    if isinstance(value, SymTuple | SymNamedTuple):
        return Known(None, len(value.items))
    if isinstance(value, SymObject):
        contents = vm.contents(value)
        if value.pytype is set and isinstance(contents, tuple):
            return Known(None, len(real_set(contents)))
        if contents is None and value.pytype is dict:
            return vm.outside_length(value)
        if not isinstance(contents, tuple):
            return break_graph(because.NO_RULE, f"len of a {value.pytype.__name__} from outside")
        return Known(None, len(contents))
    if isinstance(value, SymArray) and not value.meta.is_scalar and value.meta.shape:
        return from_dim(vm, value.meta.shape[0])
    return no_rule(f"len of {describe(value)}", value)
