"""Ufuncs, Python operators on arrays, and functions made of them (where, clip, round, isclose); no reductions.

Every ufunc is one row of the scalar-function table; its operators and in-place operators are spellings of the same op.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np

from bcjit.ops.emitter import Basic, DType, Emitter, Operand, Range, Value
from bcjit.ops.numpy_facts import POWER_READS_SCALARS
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import (
    agree,
    as_dtype,
    default_dtype,
    equal,
    is_array,
    loop_dtypes,
    require_default,
    require_int64,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import SCALAR_FUNCTIONS, ScalarFunction, row
from bcjit.ops.table import define

__all__ = ["apply", "single_out", "store", "unwrap", "whole"]

example = Samplers("elementwise")


# Building blocks for this and other op modules


def apply(
    e: Emitter,
    function: ScalarFunction,
    operands: Sequence[Operand],
    *,
    dtype: DType | None = None,
    out: Value | None = None,
    casting: object = "same_kind",
) -> tuple[Value, ...]:
    """Apply a ufunc as NumPy does, giving arrays (0-d ones included), or the array written."""
    prepared = [_operand(e, operand) for operand in operands]
    out_dtype = None if out is None else out.dtype
    dtypes = loop_dtypes(e, function, prepared, dtype=dtype, out=out_dtype, casting=casting)
    results = e.map(function, prepared, dtypes)
    if out is None:
        return results
    return (store(e, out, results[0], exact=False),)


def _operand(e: Emitter, operand: Operand) -> Operand:
    if isinstance(operand, tuple | list):
        return e.array(operand)
    default_dtype(e, operand)
    return operand


def whole(value: Value) -> Basic:
    """Return the index of all elements."""
    return Basic(tuple(Range(0, 1, dim) for dim in value.shape))


def store(e: Emitter, out: Value, result: Value, *, exact: bool = True) -> Value:
    """Write a result into ``out=``: of exactly its shape, or broadcast to it."""
    if e.is_scalar(out):
        raise WouldRaise("return arrays must be of ArrayType")
    if len(result.shape) > len(out.shape) or (exact and len(result.shape) != len(out.shape)):
        raise WouldRaise("the out array has the wrong number of dimensions")
    tail = out.shape[len(out.shape) - len(result.shape) :]
    for have, want in zip(result.shape, tail, strict=True):
        if agree(e, have, want):
            continue
        if not equal(e, have, 1):
            raise WouldRaise("the out array has the wrong shape")
        if exact:
            # Generalized ufuncs repeat it, reductions and LAPACK do not.
            raise Unsupported("out: a result that would be repeated into it")
    return e.scatter(out, result, whole(out))


def single_out(e: Emitter, out: Operand) -> Value | None:
    """Return the array of ``out=``, given alone or in a tuple of one."""
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if out is None:
        return None
    if not e.is_value(out):
        raise Unsupported("out: one array is supported")
    return out


def unwrap(e: Emitter, results: tuple[Value, ...]) -> Value | tuple[Value, ...]:
    """Return results as a ufunc does: 0-d ones as scalars, one result alone."""
    scalars = tuple(e.scalar(result) for result in results)
    return scalars[0] if len(scalars) == 1 else scalars


# Ufuncs


def _call(
    function: ScalarFunction,
    e: Emitter,
    operands: Sequence[Operand],
    out: Operand,
    keywords: dict[str, Operand],
) -> Value | tuple[Value, ...]:
    require_default(keywords["where"], True, "where")
    require_default(keywords["subok"], True, "subok")
    if not isinstance(keywords["order"], str) or keywords["order"] not in "CFAK":
        raise WouldRaise("order: one of 'C', 'F', 'A', or 'K' is expected")
    if not any(map(e.is_value, operands)):
        # No operand decides the dtype, so a large int makes it uint64 or object.
        for operand in operands:
            require_int64(e, operand)
    casting, dtype = keywords["casting"], as_dtype(keywords["dtype"])
    if isinstance(out, tuple) and function.nout > 1:
        require_default(builtins.all(item is None for item in out), True, "out")
        out = None
    target = single_out(e, out)
    if target is not None:
        if function.nout > 1:
            raise Unsupported("out: functions of one result are supported")
        return apply(e, function, operands, dtype=dtype, out=target, casting=casting)[0]
    return unwrap(e, apply(e, function, operands, dtype=dtype, casting=casting))


def _unary_ufunc(
    function: ScalarFunction,
    e: Emitter,
    x: Operand,
    /,
    out: Operand = None,
    *,
    where: Operand = True,
    casting: Operand = "same_kind",
    order: Operand = "K",
    dtype: Operand = None,
    subok: Operand = True,
) -> Value | tuple[Value, ...]:
    keywords = {
        "where": where,
        "casting": casting,
        "order": order,
        "dtype": dtype,
        "subok": subok,
    }
    return _call(function, e, (x,), out, keywords)


def _binary_ufunc(
    function: ScalarFunction,
    e: Emitter,
    x1: Operand,
    x2: Operand,
    /,
    out: Operand = None,
    *,
    where: Operand = True,
    casting: Operand = "same_kind",
    order: Operand = "K",
    dtype: Operand = None,
    subok: Operand = True,
) -> Value | tuple[Value, ...]:
    keywords = {
        "where": where,
        "casting": casting,
        "order": order,
        "dtype": dtype,
        "subok": subok,
    }
    return _call(function, e, (x1, x2), out, keywords)


# Python operators


def _unary_operator(function: ScalarFunction, e: Emitter, x: Operand, /) -> object:
    if not e.is_value(x):
        raise Unsupported("the operand is not an array")
    if e.is_scalar(x):
        # Scalar arithmetic reports integer overflow, ufuncs do not (NumPy scalarmath.c.src).
        e.may_fail()
    return unwrap(e, apply(e, function, (x,)))


def _binary_operator(
    function: ScalarFunction, e: Emitter, x: Operand, y: Operand, /
) -> Value | tuple[Value, ...]:
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


def _inplace_operator(
    function: ScalarFunction, e: Emitter, x: Operand, y: Operand, /
) -> Value | tuple[Value, ...]:
    if not e.is_value(x) or e.is_scalar(x):
        # Immutable: the operator falls back to the plain one.
        if isinstance(x, list | tuple):
            raise Unsupported("the target is a sequence")
        return _binary_operator(function, e, x, y)
    return apply(e, *_fast_power(e, function, x, y), out=x)[0]


# ``array ** constant`` calls another ufunc (NumPy number.c: fast_scalar_power).
_FAST_POWERS: Final[dict[tuple[type, object], str]] = {
    (int, 2): "square",
    (int, -1): "reciprocal",
    (float, 0.5): "sqrt",
}


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


# The table

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


def _spellings(function: ScalarFunction) -> list[Spelling]:
    assert function.ufunc is not None
    unary = function.nin == 1
    call = _unary_ufunc if unary else _binary_ufunc
    sampler = example.unary if unary else example.binary
    found = [Spelling(function.ufunc, partial(call, function), sampler)]
    for target in _UNARY_OPERATORS.get(function.name, ()):
        expand = partial(_unary_operator, function)
        found.append(Spelling(target, expand, example.unary_operator))
    for target in _BINARY_OPERATORS.get(function.name, ()):
        binary = partial(_binary_operator, function)
        found.append(Spelling(target, binary, example.binary_operator))
    if function.name in _INPLACE_OPERATORS:
        inplace = partial(_inplace_operator, function)
        found.append(Spelling(_INPLACE_OPERATORS[function.name], inplace, example.inplace))
    return found


for _function in SCALAR_FUNCTIONS.values():
    define(_function.name, _spellings(_function), ulp=_function.ulp)
