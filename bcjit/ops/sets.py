"""Sets of elements and counts of them: unique, intersect1d, isin, bincount, digitize; the results' sizes depend on data.

Mirrors NumPy ``lib/_arraysetops_impl.py``. The work stays NumPy's.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bcjit.dims import Relation
from bcjit.ops.emitter import DType, Emitter, Operand, Shape, Value
from bcjit.ops.named_tuples import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import BOOL, FLOAT64, INTP, axis_index, constant, expect, is_array
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("sets")
of_any = Samplers("values")
table = Rows()


def _flags(**flags: Operand) -> dict[str, object]:
    for name, value in flags.items():
        if type(value) is not bool:
            raise Unsupported(f"{name} is not a constant bool")
    return dict(flags)


def _array(e: Emitter, operand: Operand) -> Value:
    """Return an operand of a set function: Python scalars, whose dtype another operand may decide, are left out."""
    if is_array(e, operand) or isinstance(operand, tuple | list):
        return e.array(operand)
    raise Unsupported("the operand is not an array")


def unique(
    e: Emitter,
    ar: Operand,
    return_index: Operand = False,
    return_inverse: Operand = False,
    return_counts: Operand = False,
    axis: Operand = None,
    *,
    equal_nan: Operand = True,
    sorted: Operand = True,  # noqa: A002 - NumPy's name
) -> Value | tuple[Value, ...]:
    """``np.unique``: alone, or with the positions and counts asked for."""
    value = e.array(ar)
    options = _flags(
        return_index=return_index,
        return_inverse=return_inverse,
        return_counts=return_counts,
        equal_nan=equal_nan,
    )
    if sorted is not True:
        options |= _flags(sorted=sorted)
    count = e.unknown("unique")
    shape: Shape = (count,)
    if axis is not None:
        if return_inverse:
            raise Unsupported("the shape of the inverse along an axis differs between versions")
        at = axis_index(e, axis, len(value.shape))
        shape = (*value.shape[:at], count, *value.shape[at + 1 :])
        options["axis"] = axis
    results: list[tuple[Shape, DType]] = [(shape, value.dtype)]
    if return_index:
        results.append(((count,), INTP))
    if return_inverse:
        results.append((value.shape, INTP))
    if return_counts:
        results.append(((count,), INTP))
    found = e.lib_call(np.unique, (value,), options, results)
    return found[0] if len(results) == 1 else found


def _unique_tuple(
    function: Any, type_: Any, names: tuple[str, ...], e: Emitter, x: Operand, /
) -> tuple[Value, ...]:
    """``np.unique_all``, ``unique_counts`` and ``unique_inverse``: NaNs are all unique."""
    value, count = e.array(x), e.unknown("unique")
    shapes = {"values": (count,), "inverse_indices": value.shape}
    results = [
        (shapes.get(name, (count,)), value.dtype if name == "values" else INTP) for name in names
    ]
    named: tuple[Value, ...] = type_(*e.lib_call(function, (value,), {}, results))
    return named


def unique_values(e: Emitter, x: Operand, /) -> Value:
    """``np.unique_values``: in NumPy's order."""
    value = e.array(x)
    result = ((e.unknown("unique"),), value.dtype)
    return e.lib_call(np.unique_values, (value,), {}, [result])[0]


def intersect1d(
    e: Emitter,
    ar1: Operand,
    ar2: Operand,
    assume_unique: Operand = False,
    return_indices: Operand = False,
) -> Value | tuple[Value, ...]:
    """``np.intersect1d``."""
    left, right = _array(e, ar1), _array(e, ar2)
    options = _flags(assume_unique=assume_unique, return_indices=return_indices)
    shape = (e.unknown("common"),)
    results = [(shape, np.promote_types(left.dtype, right.dtype))]
    if return_indices:
        results += [(shape, INTP), (shape, INTP)]
    found = e.lib_call(np.intersect1d, (left, right), options, results)
    return found if return_indices else found[0]


def union1d(e: Emitter, ar1: Operand, ar2: Operand) -> Value:
    """``np.union1d``."""
    left, right = _array(e, ar1), _array(e, ar2)
    result = ((e.unknown("union"),), np.promote_types(left.dtype, right.dtype))
    return e.lib_call(np.union1d, (left, right), {}, [result])[0]


def setdiff1d(e: Emitter, ar1: Operand, ar2: Operand, assume_unique: Operand = False) -> Value:
    """``np.setdiff1d``."""
    left, right = _array(e, ar1), _array(e, ar2)
    options = _flags(assume_unique=assume_unique)
    result = ((e.unknown("difference"),), left.dtype)
    return e.lib_call(np.setdiff1d, (left, right), options, [result])[0]


def setxor1d(e: Emitter, ar1: Operand, ar2: Operand, assume_unique: Operand = False) -> Value:
    """``np.setxor1d``."""
    left, right = _array(e, ar1), _array(e, ar2)
    options = _flags(assume_unique=assume_unique)
    result = ((e.unknown("difference"),), np.promote_types(left.dtype, right.dtype))
    return e.lib_call(np.setxor1d, (left, right), options, [result])[0]


def isin(
    e: Emitter,
    element: Operand,
    test_elements: Operand,
    assume_unique: Operand = False,
    invert: Operand = False,
    *,
    kind: Operand = None,
) -> Value:
    """``np.isin``: always an array."""
    value, tests = e.array(element), _array(e, test_elements)
    options = _flags(assume_unique=assume_unique, invert=invert)
    if kind is not None:
        if not isinstance(kind, str):
            raise Unsupported("kind is not a constant")
        options["kind"] = kind
    return e.lib_call(np.isin, (value, tests), options, [(value.shape, BOOL)])[0]


def bincount(e: Emitter, x: Operand, /, weights: Operand = None, minlength: Operand = 0) -> Value:
    """``np.bincount``. Source: NumPy ``compiled_base.c``: ``arr_bincount``."""
    value = e.array(x)
    if len(value.shape) != 1:
        raise WouldRaise("object of too small depth, or too deep, for the desired array")
    if not np.can_cast(value.dtype, INTP, "safe"):
        raise Unsupported("integers that are not safely cast to the index type")
    options = {"minlength": constant(e, minlength, "minlength")}
    if weights is None:
        result = ((e.unknown("bins"),), INTP)
        return e.lib_call(np.bincount, (value,), options, [result])[0]
    weight = e.array(weights)
    if not np.can_cast(weight.dtype, FLOAT64, "safe"):
        raise Unsupported("weights that are not safely cast to float64")
    if not expect(e, Relation("!=", value.shape[0], 0)):
        raise Unsupported("of nothing the weights are not looked at")
    result = ((e.unknown("bins"),), FLOAT64)
    return e.lib_call(np.bincount, (value, weight), options, [result])[0]


def digitize(e: Emitter, x: Operand, bins: Operand, right: Operand = False) -> Value:
    """``np.digitize``. Source: NumPy ``lib/_function_base_impl.py``."""
    value, edges = e.array(x), e.array(bins)
    if value.dtype.kind == "c":
        raise WouldRaise("x may not be complex")
    if edges.dtype.kind == "c" or len(edges.shape) != 1:
        raise Unsupported("edges that are complex, or not along one axis")
    options = _flags(right=right)
    return e.scalar(e.lib_call(np.digitize, (value, edges), options, [(value.shape, INTP)])[0])


# The table

table.define("unique", functions(unique, example.uniques, "unique"))
for _name, _type in (
    ("unique_all", UniqueAllResult),
    ("unique_counts", UniqueCountsResult),
    ("unique_inverse", UniqueInverseResult),
):
    _expand = partial(_unique_tuple, getattr(np, _name), _type, _type._fields)
    table.define(_name, functions(_expand, of_any.each_array, _name))
table.define("unique_values", functions(unique_values, of_any.each_array, "unique_values"))
table.define("intersect1d", functions(intersect1d, example.intersections, "intersect1d"))
table.define("union1d", functions(union1d, example.pairs, "union1d"))
table.define("setdiff1d", functions(setdiff1d, example.differences, "setdiff1d"))
table.define("setxor1d", functions(setxor1d, example.differences, "setxor1d"))
table.define("isin", functions(isin, example.memberships, "isin"))
table.define("bincount", functions(bincount, example.counts, "bincount"))
table.define("digitize", functions(digitize, example.bins, "digitize"))
