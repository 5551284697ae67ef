"""NumPy's functions of floats that are made of ufuncs: fix, isposinf, nan_to_num, sinc, unwrap; no complex ones.

Each mirrors the Python function of NumPy that it names.
"""

from __future__ import annotations

from functools import partial
from math import pi
from typing import Final

import numpy as np

from bcjit.ops.elementwise import apply, call, single_out
from bcjit.ops.emitter import Basic, Emitter, Operand, Part, Range, Value
from bcjit.ops.numpy_facts import FIX_IS_TRUNC, FIX_WARNS, SINC_SCALES_FIRST
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import BOOL, axis_index, cast, copy, is_array, less
from bcjit.ops.promotion import promoted
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import SELECT, row
from bcjit.ops.scans import scan
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("float_functions")
table = Rows()


def _one(e: Emitter, name: str, *operands: Operand) -> Value:
    return apply(e, row(name), operands)[0]


def _select(e: Emitter, test: Value, x: Operand, y: Operand) -> Value:
    """``np.where``, of numbers that fit."""
    dtype = promoted(e, x, y)
    return e.map(SELECT, (test, x, y), (BOOL, dtype, dtype, dtype))[0]


def fix(e: Emitter, x: Operand, out: Operand = None) -> Value:
    """``np.fix``. Source: NumPy ``lib/_ufunclike_impl.py``."""
    if FIX_WARNS:
        raise Unsupported("np.fix is deprecated and warns")
    target = single_out(e, out)
    if FIX_IS_TRUNC:
        result = apply(e, row("trunc"), (x,), out=target)[0]
        return result if target is not None else e.scalar(result)
    up = apply(e, row("ceil"), (x,), out=target)[0]
    mask = _one(e, "greater_equal", x, 0)
    result = call(e, row("floor"), (x,), (up,), mask=mask)[0]
    return result if target is not None else e.scalar(result)


def is_signed_infinity(
    negative: bool,
    e: Emitter,
    x: Operand,
    out: Operand = None,
) -> Value:
    """``np.isposinf``, ``np.isneginf``. Source: NumPy ``lib/_ufunclike_impl.py``."""
    infinite = _infinite(e, x, negative=negative)
    target = single_out(e, out)
    result = apply(e, row("logical_and"), infinite, out=target)[0]
    return result if target is not None else e.scalar(result)


def _infinite(e: Emitter, x: Operand, *, negative: bool) -> tuple[Value, Value]:
    infinite, sign = _one(e, "isinf", x), _one(e, "signbit", x)
    return infinite, sign if negative else _one(e, "invert", sign)


def nan_to_num(
    e: Emitter,
    x: Operand,
    copy: Operand = True,
    nan: Operand = 0.0,
    posinf: Operand = None,
    neginf: Operand = None,
) -> Value:
    """``np.nan_to_num``. Source: NumPy ``lib/_type_check_impl.py``."""
    if type(copy) is not bool:
        raise Unsupported("copy is not a constant bool")
    if not copy and not is_array(e, x):
        raise WouldRaise("unable to avoid a copy")
    for fill in (nan, posinf, neginf):
        if fill is not None and e.weak_type(fill) not in {bool, int, float}:
            raise Unsupported("nan, posinf or neginf is not a real number")
    if nan is None:
        raise Unsupported("nan is None")
    value = _copied(e, x) if copy else e.array(x)
    parts = {"f": (None,), "c": ("real", "imag")}.get(value.dtype.kind, ())
    for name in parts:
        value = _replace(e, value, name, nan, posinf, neginf)
    return e.scalar(value)


def _copied(e: Emitter, x: Operand) -> Value:
    return copy(e, e.array(x))


def _replace(
    e: Emitter, value: Value, name: str | None, nan: Operand, posinf: Operand, neginf: Operand
) -> Value:
    where = Basic(tuple(Range(0, 1, dim) for dim in value.shape)) if name is None else Part(name)
    part = e.view(value, where)
    limits = np.finfo(part.dtype)
    masks = (
        _one(e, "isnan", part),
        _one(e, "logical_and", *_infinite(e, part, negative=False)),
        _one(e, "logical_and", *_infinite(e, part, negative=True)),
    )
    fills = (
        nan,
        float(limits.max) if posinf is None else posinf,
        float(limits.min) if neginf is None else neginf,
    )
    for mask, fill in zip(masks, fills, strict=True):
        value = e.scatter(value, e.fill((), fill, part.dtype), where, mask)
    return value


def sinc(e: Emitter, x: Operand) -> Value:
    """``np.sinc``. Source: NumPy ``lib/_function_base_impl.py``."""
    value: Operand = e.array(x)
    if SINC_SCALES_FIRST:
        scaled = _one(e, "multiply", pi, value)
        tiny = float(np.finfo(scaled.dtype).eps) if scaled.dtype.kind == "f" else 1e-20
        y = _select(e, cast(e, scaled, BOOL), scaled, tiny)
    else:
        y = _one(e, "multiply", pi, _select(e, _one(e, "equal", value, 0), 1e-20, value))
    return e.scalar(_one(e, "divide", _one(e, "sin", y), y))


def unwrap(
    e: Emitter,
    p: Operand,
    discont: Operand = None,
    axis: Operand = -1,
    *,
    period: Operand = 2 * pi,
) -> Value:
    """``np.unwrap``. Source: NumPy ``lib/_function_base_impl.py``."""
    if type(period) not in {int, float} or type(discont) not in {int, float, type(None)}:
        raise Unsupported("period or discont is not a constant number")
    assert isinstance(period, int | float)
    value = e.array(p)
    if not value.shape:
        raise WouldRaise("diff requires input that is at least one dimensional")
    at = axis_index(e, axis, len(value.shape))
    later, earlier = _neighbours(e, value, at)
    changes = _one(e, "not_equal" if value.dtype.kind == "b" else "subtract", later, earlier)
    dtype = promoted(e, changes, period)
    high, ambiguous = period / 2, True
    if dtype.kind in "iu":
        high, rest = divmod(period, 2)
        ambiguous = rest == 0
    low = -high
    turned = _one(e, "remainder", _one(e, "subtract", changes, low), period)
    turned = _one(e, "add", turned, low)
    if ambiguous:
        edge = _one(e, "bitwise_and", _one(e, "equal", turned, low), _one(e, "greater", changes, 0))
        turned = _select(e, edge, e.fill((), high, turned.dtype), turned)
    correction = _one(e, "subtract", turned, changes)
    small = _one(
        e, "less", _one(e, "absolute", changes), period / 2 if discont is None else discont
    )
    correction = _select(e, small, e.fill((), 0, correction.dtype), correction)
    total = _one(e, "add", later, scan(row("add"), e, correction, at))
    result = copy(e, value, dtype)
    length = value.shape[at]
    return e.scatter(result, total, _along(value, at, _after_first(e, value, at, length)))


def _neighbours(e: Emitter, value: Value, axis: int) -> tuple[Value, Value]:
    length = value.shape[axis]
    after = _after_first(e, value, axis, length)
    before = Range(0, 1, after.length)
    return e.view(value, _along(value, axis, after)), e.view(value, _along(value, axis, before))


def _after_first(e: Emitter, value: Value, axis: int, length: object) -> Range:
    del length
    size = value.shape[axis]
    return Range(0, 1, 0) if less(e, size, 1) else Range(1, 1, size - 1)


def _along(value: Value, axis: int, item: Range) -> Basic:
    whole = [Range(0, 1, dim) for dim in value.shape]
    return Basic((*whole[:axis], item, *whole[axis + 1 :]))


# The table

_INFINITIES: Final = {"isposinf": False, "isneginf": True}
if not FIX_WARNS:
    table.define("fix", functions(fix, example.stored, "fix"))
for _name, _negative in _INFINITIES.items():
    table.define(_name, functions(partial(is_signed_infinity, _negative), example.stored, _name))
table.define("nan_to_num", functions(nan_to_num, example.replaced, "nan_to_num"))
table.define("sinc", functions(sinc, example.each_array, "sinc"))
table.define("unwrap", functions(unwrap, example.unwrapped, "unwrap"), ulp=8)
