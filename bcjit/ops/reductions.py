"""Reductions: sum, max, any, argmax, count_nonzero and ``ufunc.reduce``; means are in ``averages``, cumsum in ``scans``.

Mirrors NumPy's ``_core/_methods.py`` and ``PyUFunc_Reduce`` (``ufunc_object.c``, ``reduction.c``).
"""

from __future__ import annotations

from functools import partial
from types import EllipsisType
from typing import Any

import numpy as np

from bcjit.dims import Dim, product
from bcjit.ops.elementwise import mask_of, single_out, store
from bcjit.ops.emitter import (
    Basic,
    DType,
    Emitter,
    NewAxis,
    Operand,
    Range,
    Reshape,
    Value,
)
from bcjit.ops.numpy_facts import COUNT_IS_PYTHON_INT, OUT_TAKES_ELLIPSIS
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import (
    ABSENT,
    BOOL,
    INTP,
    as_dtype,
    axis_index,
    axis_tuple,
    cast,
    check_dtype,
    equal,
    flag,
    may_be_empty,
    size_of,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import ScalarFunction, row
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import Rows

__all__ = [
    "ABSENT",
    "accumulator",
    "arg_extreme",
    "finish",
    "fold",
    "reduced_size",
    "reduction",
    "reduction_mask",
    "ufunc_reduce",
]

example = Samplers("reductions")
table = Rows()

# Building blocks


def reduction_mask(e: Emitter, where: Operand, value: Value) -> Value | None:
    """Return the mask of a reduction, which does not enlarge the array."""
    mask = None if where is ABSENT else mask_of(e, where)
    if mask is None:
        return None
    extra = len(mask.shape) - len(value.shape)
    if extra > 0:
        raise WouldRaise("where= has more dimensions than the array")
    for have, want in zip(mask.shape, value.shape[-extra:] if extra else value.shape, strict=True):
        if not equal(e, have, want) and not equal(e, have, 1):
            raise WouldRaise("where= does not broadcast to the array")
    return mask


def accumulator(
    function: ScalarFunction, source: DType, dtype: DType | None, out: DType | None
) -> DType:
    """Return the dtype a reduction is computed in, as NumPy itself resolves it."""
    assert function.ufunc is not None
    # The first operand is the accumulator: out= and dtype= decide it (NumPy ufunc_object.c: resolve_descriptors).
    fixed: dict[str, Any] = {} if dtype is None else {"signature": (dtype, None, None)}
    try:
        found = function.ufunc.resolve_dtypes(
            (out, source, None), reduction=True, casting="unsafe", **fixed
        )
    except TypeError as error:
        raise WouldRaise(str(error)) from None
    return check_dtype(found[0])


def reduced_size(value: Value, axes: tuple[int, ...]) -> Dim:
    """Return how many elements each result of a reduction comes from."""
    return product(value.shape[axis] for axis in axes)


def _keep_dims(e: Emitter, folded: Value, axes: tuple[int, ...], ndim: int) -> Value:
    kept = iter(folded.shape)
    items = tuple(NewAxis() if i in axes else Range(0, 1, next(kept)) for i in range(ndim))
    return e.view(folded, Basic(items))


def fold(
    e: Emitter,
    function: ScalarFunction,
    value: Value,
    axes: tuple[int, ...],
    *,
    dtype: DType | None = None,
    out: DType | None = None,
    keepdims: bool = False,
    initial: Operand = ABSENT,
    mask: Value | None = None,
) -> Value:
    """Reduce over axes, giving an array."""
    ufunc = function.ufunc
    assert ufunc is not None
    loop = accumulator(function, value.dtype, dtype, out)
    if len(axes) > 1 and not function.reorderable:
        raise Unsupported(f"the reduction {function.name} is not known to go over several axes")
    if ufunc.identity is None and initial is ABSENT:
        if mask is not None:
            raise WouldRaise(f"{function.name} has no identity: a mask needs an initial value")
        if any(may_be_empty(e, value.shape[axis]) for axis in axes):
            raise WouldRaise(f"reduction {function.name} of nothing has no identity")
    folded = e.reduce(function, value, axes, loop, None if initial is ABSENT else initial, mask)
    return _keep_dims(e, folded, axes, len(value.shape)) if keepdims else folded


def _initial(e: Emitter, function: ScalarFunction, initial: Operand) -> Operand:
    """Return the number that a reduction begins with; any number is cast as an assignment casts."""
    assert function.ufunc is not None
    if initial is ABSENT:
        return initial
    if initial is None and function.ufunc.identity is None:
        return ABSENT
    if e.weak_type(initial) is None and not (e.is_value(initial) and not initial.shape):
        raise Unsupported("initial is not a number")
    # A Python int may not fit, a NaN has no int.
    e.may_fail()
    return initial


def finish(e: Emitter, result: Value, out: Value | None) -> Value:
    """Return a result as a reduction does: stored into ``out=``, or a scalar if it has no axes."""
    return e.scalar(result) if out is None else store(e, out, result)


# sum, prod, max, min, any, all


def reduction(
    function: ScalarFunction,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    keepdims: Operand = False,
    initial: Operand = ABSENT,
    where: Operand = ABSENT,
) -> Value:
    """``np.sum``, ``np.prod``. Source: NumPy ``_core/fromnumeric.py``: ``_wrapreduction``."""
    return finish(e, *_reduced(function, e, a, axis, dtype, out, keepdims, initial, where))


def _reduced(
    function: ScalarFunction,
    e: Emitter,
    a: Operand,
    axis: Operand,
    dtype: Operand,
    out: Operand,
    keepdims: Operand,
    initial: Operand,
    where: Operand,
) -> tuple[Value, Value | None]:
    value, target = e.array(a), single_out(e, out)
    folded = fold(
        e,
        function,
        value,
        axis_tuple(e, axis, len(value.shape)),
        dtype=as_dtype(dtype),
        out=None if target is None else target.dtype,
        keepdims=flag(keepdims, "keepdims"),
        initial=_initial(e, function, initial),
        mask=reduction_mask(e, where, value),
    )
    return folded, target


def _reduce_without_dtype(
    function: ScalarFunction,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    out: Operand = None,
    keepdims: Operand = False,
    initial: Operand = ABSENT,
    where: Operand = ABSENT,
) -> Value:
    return reduction(function, e, a, axis, None, out, keepdims, initial, where)


def ufunc_reduce(
    function: ScalarFunction,
    e: Emitter,
    array: Operand,
    axis: Operand = 0,
    dtype: Operand = None,
    out: Operand = None,
    keepdims: Operand = False,
    initial: Operand = ABSENT,
    where: Operand = True,
) -> Value:
    """``ufunc.reduce``. Source: NumPy ``ufunc_object.c``: ``PyUFunc_GenericReduction``."""
    if function.nin != 2 or function.nout != 1:
        raise WouldRaise("reduce only supported for binary functions")
    if isinstance(out, EllipsisType) and OUT_TAKES_ELLIPSIS:
        # A result of no axes is an array all the same.
        return _reduced(function, e, array, axis, dtype, None, keepdims, initial, where)[0]
    return reduction(function, e, array, axis, dtype, out, keepdims, initial, where)


def _logical(
    function: ScalarFunction,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    out: Operand = None,
    keepdims: Operand = False,
    *,
    where: Operand = ABSENT,
) -> Value:
    return reduction(function, e, a, axis, BOOL, out, keepdims, where=where)


def _logical_method(
    function: ScalarFunction,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    keepdims: Operand = False,
    *,
    where: Operand = True,
) -> Value:
    given = BOOL if dtype is None else dtype
    return reduction(function, e, a, axis, given, out, keepdims, where=where)


# argmax, argmin, count_nonzero


def arg_extreme(
    name: str,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    out: Operand = None,
    *,
    keepdims: Operand = False,
) -> Value:
    """``np.argmax``, ``np.argmin``. Source: NumPy ``calculation.c``: ``_PyArray_ArgMinMaxCommon``."""
    value, target = e.array(a), single_out(e, out)
    if isinstance(out, tuple):
        raise WouldRaise("output must be an array")
    if target is not None and not np.can_cast(target.dtype, INTP):
        raise WouldRaise(f"out: cannot cast from {target.dtype} to intp")
    ndim = len(value.shape)
    keep = flag(keepdims, "keepdims")
    if axis is None or ndim == 0:
        axes = axis_tuple(e, axis, ndim)
        position, source = 0, e.view(value, Reshape((size_of(value),)))
    else:
        position, source = axis_index(e, axis, ndim), value
        axes = (position,)
    if may_be_empty(e, source.shape[position]):
        raise WouldRaise(f"attempt to get {name} of an empty sequence")
    found = e.arg_reduce(name, source, position)
    return finish(e, _keep_dims(e, found, axes, ndim) if keep else found, target)


def count_nonzero(
    e: Emitter, a: Operand, axis: Operand = None, *, keepdims: Operand = False
) -> Operand:
    """Number of elements that are not zero. Source: NumPy ``_core/numeric.py``."""
    value = e.array(a)
    axes = axis_tuple(e, axis, len(value.shape))
    keep = flag(keepdims, "keepdims")
    counts = fold(e, row("add"), cast(e, value, BOOL), axes, dtype=INTP, keepdims=keep)
    if axis is None and not keep and COUNT_IS_PYTHON_INT:
        return e.item(counts, int)
    return e.scalar(counts)


# The table


def _ufunc_method(name: str) -> Spelling:
    function = row(name)
    assert function.ufunc is not None
    return Spelling(
        function.ufunc.reduce, partial(ufunc_reduce, function), example.ufunc_reductions
    )


def _define_reduction(name: str, ufunc: str, *aliases: str) -> None:
    expand = partial(reduction, row(ufunc))
    if name in {"max", "min"}:
        expand = partial(_reduce_without_dtype, row(ufunc))
    sampler = example.reductions if name in {"sum", "prod"} else example.bounded
    spellings = functions(expand, sampler, name, *aliases)
    table.define(name, spellings + methods(expand, sampler, name) + [_ufunc_method(ufunc)], ulp=4)


_define_reduction("sum", "add")
_define_reduction("prod", "multiply")
_define_reduction("max", "maximum", "amax")
_define_reduction("min", "minimum", "amin")
for _name, _ufunc in (("any", "logical_or"), ("all", "logical_and")):
    table.define(
        _name,
        functions(partial(_logical, row(_ufunc)), example.reductions_without_dtype, _name)
        + methods(partial(_logical_method, row(_ufunc)), example.logical_methods, _name)
        + [_ufunc_method(_ufunc)],
    )
for _extreme in ("argmax", "argmin"):
    _arg = partial(arg_extreme, _extreme)
    table.define(
        _extreme,
        functions(_arg, example.arg_extremes, _extreme)
        + methods(_arg, example.arg_extremes, _extreme),
    )
table.define("count_nonzero", functions(count_nonzero, example.counts, "count_nonzero"))
