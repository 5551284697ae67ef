"""Python's operators on arrays and NumPy scalars, in-place ones too: spellings of the ufunc that they run; defines no ops.

An operator is a ufunc call but for NumPy scalars, which compute by themselves (NumPy ``scalarmath.c.src``), and powers, which
look at their exponent.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from bcjit.ops.elementwise import apply, unwrap
from bcjit.ops.emitter import DType, Emitter, Operand
from bcjit.ops.numpy_facts import POWER_IS_OPERATOR, POWER_READS_SCALARS
from bcjit.ops.opdef import Spelling, Unsupported
from bcjit.ops.operands import BOOL, is_array
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import ScalarFunction, row

__all__ = ["POWERS", "operator_spellings", "power_is_open"]

example = Samplers("elementwise")


def _unary_operator(function: ScalarFunction, e: Emitter, x: Operand, /) -> object:
    if not e.is_value(x):
        raise Unsupported("the operand is not an array")
    if e.is_scalar(x):
        # Scalar arithmetic reports integer overflow, ufuncs do not (NumPy scalarmath.c.src).
        e.may_fail()
    return unwrap(e, apply(e, function, (x,)))


def _binary_operator(function: ScalarFunction, e: Emitter, x: Operand, y: Operand, /) -> object:
    if function.name in {"equal", "not_equal"} and (x is None or y is None):
        return _compared_to_none(e, x if y is None else y, answer=function.name == "not_equal")
    if not (is_array(e, x) or is_array(e, y)):
        if not (e.is_value(x) or e.is_value(y)) or isinstance(x, list | tuple):
            raise Unsupported("no operand is an array")
        if isinstance(y, list | tuple):
            raise Unsupported("a NumPy scalar and a sequence")
        if e.weak_type(x) is complex and e.is_value(y) and y.dtype == np.float64:
            # np.float64 is a float, so Python's complex computes with it.
            raise Unsupported("a Python complex number and a NumPy scalar")
        if not function.compares:
            e.may_fail()
    return unwrap(e, apply(e, *_fast_power(e, function, x, y)))


def _compared_to_none(e: Emitter, x: Operand, *, answer: bool) -> object:
    """``x == None``: each number is unequal to None, and so is a NumPy scalar."""
    if not e.is_value(x):
        raise Unsupported("no operand is an array")
    if e.is_scalar(x):
        return e.item(e.fill((), answer, BOOL), bool)
    return e.scalar(e.fill(x.shape, answer, BOOL))


def _inplace_operator(function: ScalarFunction, e: Emitter, x: Operand, y: Operand, /) -> object:
    if not e.is_value(x) or e.is_scalar(x):
        # Immutable: the operator falls back to the plain one.
        if isinstance(x, list | tuple):
            raise Unsupported("the target is a sequence")
        return _binary_operator(function, e, x, y)
    return apply(e, *_fast_power(e, function, x, y), out=x)[0]


POWERS: Final = frozenset({operator.pow, builtins.pow, operator.ipow})
# ``array ** constant`` calls another ufunc (NumPy number.c: fast_scalar_power).
_FAST_POWERS: Final[dict[tuple[type, object], str]] = {
    (int, 2): "square",
    (int, -1): "reciprocal",
    (float, 0.5): "sqrt",
}


def power_is_open(dtype: DType) -> bool:
    """Whether ``array ** number`` is another function, with other last bits, for some numbers."""
    return dtype.kind == "c" or (
        dtype.kind == "f" and (dtype.char not in "fd" or not POWER_IS_OPERATOR)
    )


def _fast_power(
    e: Emitter, function: ScalarFunction, x: Operand, y: Operand
) -> tuple[ScalarFunction, tuple[Operand, ...]]:
    if function.name != "power" or not e.is_value(x) or e.is_scalar(x):
        return function, (x, y)
    if type(y) in {int, float}:
        name = _FAST_POWERS.get((type(y), y))
        if name is not None and x.dtype.kind in ("bfc" if name == "square" else "fc"):
            return row(name), (x,)
    elif POWER_READS_SCALARS and e.is_value(y) and not y.shape:
        raise Unsupported("the dtype of a power depends on the exponent, in this NumPy")
    elif e.weak_type(y) is int and x.dtype.kind == "b":
        raise Unsupported("the dtype of a bool array to an unknown power depends on the power")
    return function, (x, y)


_UNARY_OPERATORS: Final[dict[str, tuple[Callable[..., object], ...]]] = {
    "absolute": (builtins.abs, operator.abs),
    "invert": (operator.invert,),
    "negative": (operator.neg,),
    "positive": (operator.pos,),
}
_BINARY_OPERATORS: Final[dict[str, tuple[Callable[..., object], ...]]] = {
    "add": (operator.add,),
    "bitwise_and": (operator.and_,),
    "bitwise_or": (operator.or_,),
    "bitwise_xor": (operator.xor,),
    "divide": (operator.truediv,),
    "divmod": (builtins.divmod,),
    "equal": (operator.eq,),
    "floor_divide": (operator.floordiv,),
    "greater": (operator.gt,),
    "greater_equal": (operator.ge,),
    "left_shift": (operator.lshift,),
    "less": (operator.lt,),
    "less_equal": (operator.le,),
    "multiply": (operator.mul,),
    "not_equal": (operator.ne,),
    "power": (operator.pow, builtins.pow),
    "remainder": (operator.mod,),
    "right_shift": (operator.rshift,),
    "subtract": (operator.sub,),
}
_INPLACE_OPERATORS: Final[dict[str, Callable[..., object]]] = {
    "add": operator.iadd,
    "bitwise_and": operator.iand,
    "bitwise_or": operator.ior,
    "bitwise_xor": operator.ixor,
    "divide": operator.itruediv,
    "floor_divide": operator.ifloordiv,
    "left_shift": operator.ilshift,
    "multiply": operator.imul,
    "power": operator.ipow,
    "remainder": operator.imod,
    "right_shift": operator.irshift,
    "subtract": operator.isub,
}


def operator_spellings(function: ScalarFunction) -> list[Spelling]:
    """Return the operators that run a ufunc."""
    found = []
    for target in _UNARY_OPERATORS.get(function.name, ()):
        unary = partial(_unary_operator, function)
        found.append(Spelling(target, unary, example.unary_operator))
    for target in _BINARY_OPERATORS.get(function.name, ()):
        binary = partial(_binary_operator, function)
        found.append(Spelling(target, binary, example.binary_operator))
    if function.name in _INPLACE_OPERATORS:
        inplace = partial(_inplace_operator, function)
        found.append(Spelling(_INPLACE_OPERATORS[function.name], inplace, example.inplace))
    return found
