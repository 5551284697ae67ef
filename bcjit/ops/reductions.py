"""Reductions and scans: sum, mean, argmax, cumsum and their like; no linear algebra.

Mirrors NumPy's ``_core/_methods.py``. Where that warns in Python code (mean of nothing), the condition is decided and the call
is `Unsupported`, so that the fact guards the others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import floor
from typing import Any, Final

import numpy as np

from bcjit.dims import Dim, Relation, maximum, product
from bcjit.ops.elementwise import apply, single_out, store
from bcjit.ops.emitter import (
    Basic,
    DType,
    Emitter,
    NewAxis,
    Operand,
    Part,
    Range,
    Reshape,
    Value,
)
from bcjit.ops.numpy_facts import COUNT_IS_PYTHON_INT
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import (
    BOOL,
    FLOAT64,
    INTP,
    as_dtype,
    axis_index,
    axis_tuple,
    broadcast,
    cast,
    check_dtype,
    equal,
    expect,
    may_be_empty,
    size_of,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import ScalarFunction, row
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import define

__all__ = [
    "ABSENT",
    "arg_extreme",
    "fold",
    "mean",
    "reduced_size",
    "reduction",
    "scan",
    "std",
    "var",
]

example = Samplers("reductions")

ABSENT: Final = np._NoValue  # noqa: SLF001 - NumPy's own "not given"


# Building blocks


def _absent(value: Operand, name: str, default: object = None) -> None:
    if value is not ABSENT and value is not default:
        raise Unsupported(f"the argument {name} is not supported here")


def _flag(value: Operand) -> bool:
    if value is ABSENT:
        return False
    if type(value) is not bool:
        raise Unsupported("keepdims is not a constant bool")
    return value


def _accumulator(
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
) -> Value:
    """Reduce over axes, giving an array."""
    assert function.ufunc is not None
    loop = _accumulator(function, value.dtype, dtype, out)
    nothing = function.ufunc.identity is None and initial is ABSENT
    if nothing and any(may_be_empty(e, value.shape[axis]) for axis in axes):
        raise WouldRaise(f"reduction {function.name} of nothing has no identity")
    folded = e.reduce(function, value, axes, loop, None if initial is ABSENT else initial)
    return _keep_dims(e, folded, axes, len(value.shape)) if keepdims else folded


def _finish(e: Emitter, result: Value, out: Value | None) -> Value:
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
    """A ufunc folded over axes, with the keywords of ``np.sum``."""
    _absent(where, "where", default=True)
    value, target = e.array(a), single_out(e, out)
    if initial is not ABSENT and type(initial) not in {int, float}:
        raise Unsupported("initial is not a constant number")
    folded = fold(
        e,
        function,
        value,
        axis_tuple(e, axis, len(value.shape)),
        dtype=as_dtype(dtype),
        out=None if target is None else target.dtype,
        keepdims=_flag(keepdims),
        initial=initial,
    )
    return _finish(e, folded, target)


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


def _ufunc_reduce(
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
    _absent(dtype, "dtype")
    return _logical(function, e, a, axis, out, keepdims, where=where)


# mean, var, std, ptp


def _divided(e: Emitter, total: Value, count: Dim | float) -> Value:
    """Divide by a count, which NumPy has as an ``intp`` scalar, in place (``casting="unsafe"``)."""
    divisor = e.fill((), count, FLOAT64 if isinstance(count, float) else INTP)
    (quotient,) = apply(e, row("divide"), (total, divisor))
    return cast(e, quotient, total.dtype)


def mean(
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    keepdims: Operand = False,
    *,
    where: Operand = ABSENT,
) -> Value:
    """Arithmetic mean. Source: NumPy ``_methods._mean``."""
    _absent(where, "where", default=True)
    value, target = e.array(a), single_out(e, out)
    axes = axis_tuple(e, axis, len(value.shape))
    count = reduced_size(value, axes)
    if not expect(e, Relation("!=", count, 0)):
        raise Unsupported("the mean of nothing warns")
    given = as_dtype(dtype)
    half = given is None and value.dtype == np.float16
    if given is None and value.dtype.kind in "biu":
        given = FLOAT64
    total = fold(
        e,
        row("add"),
        value,
        axes,
        dtype=np.dtype(np.float32) if half else given,
        out=None if target is None else target.dtype,
        keepdims=_flag(keepdims),
    )
    if target is not None:
        total = cast(e, total, target.dtype)
    result = _divided(e, total, count)
    if half and target is None:
        result = cast(e, result, value.dtype)
    return _finish(e, result, target)


def _squared_deviations(e: Emitter, value: Value, centre: Value) -> Value:
    (deviation,) = apply(e, row("subtract"), (value, centre))
    if value.dtype.kind in "fiu":
        return apply(e, row("square"), (deviation,))[0]
    if deviation.dtype.kind == "c":
        parts = [e.view(deviation, Part(name)) for name in ("real", "imag")]
        squares = [apply(e, row("square"), (part,))[0] for part in parts]
        return apply(e, row("add"), squares)[0]
    return apply(e, row("multiply"), (deviation, deviation))[0]


def var(
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    ddof: Operand = 0,
    keepdims: Operand = False,
    *,
    where: Operand = ABSENT,
    mean: Operand = ABSENT,
    correction: Operand = ABSENT,
) -> Value:
    """Variance. Source: NumPy ``_methods._var``."""
    ddof = _corrected(ddof, correction)
    result, target = _variance(e, a, axis, dtype, out, ddof, keepdims, where, mean)
    return _finish(e, result, target)


def _corrected(ddof: Operand, correction: Operand) -> Operand:
    if correction is ABSENT:
        return ddof
    if type(ddof) not in {int, float} or ddof != 0:
        raise WouldRaise("ddof and correction can't be provided simultaneously.")
    return correction


def _variance(
    e: Emitter,
    a: Operand,
    axis: Operand,
    dtype: Operand,
    out: Operand,
    ddof: Operand,
    keepdims: Operand,
    where: Operand,
    centre: Operand,
) -> tuple[Value, Value | None]:
    _absent(where, "where", default=True)
    value, target = e.array(a), single_out(e, out)
    axes = axis_tuple(e, axis, len(value.shape))
    count = reduced_size(value, axes)
    if not isinstance(ddof, int | float):
        raise Unsupported("ddof is not a constant number")
    if not expect(e, Relation("<", floor(ddof), count)):
        raise Unsupported("a variance without degrees of freedom warns")
    given = as_dtype(dtype)
    if given is None and value.dtype.kind in "biu":
        given = FLOAT64
    if centre is ABSENT or centre is None:
        total = fold(e, row("add"), value, axes, dtype=given, keepdims=True)
        average = _divided(e, total, count)
    else:
        average = e.array(centre)
        shape = broadcast(e, value.shape, average.shape)
        if len(shape) != len(value.shape) or not all(map(partial(equal, e), shape, value.shape)):
            raise Unsupported("mean does not broadcast to the array")
    squares = _squared_deviations(e, value, average)
    out_dtype = None if target is None else target.dtype
    ret = fold(e, row("add"), squares, axes, dtype=given, out=out_dtype, keepdims=_flag(keepdims))
    if out_dtype is not None:
        ret = cast(e, ret, out_dtype)
    freedom: Dim | float
    if isinstance(ddof, float):
        if not isinstance(count, int):
            raise Unsupported("ddof is a float and the size is not constant")
        freedom = max(count - ddof, 0.0)
    else:
        freedom = maximum(count - ddof, 0)
    return _divided(e, ret, freedom), target


def std(
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    ddof: Operand = 0,
    keepdims: Operand = False,
    *,
    where: Operand = ABSENT,
    mean: Operand = ABSENT,
    correction: Operand = ABSENT,
) -> Value:
    """Standard deviation. Source: NumPy ``_methods._std``."""
    ddof = _corrected(ddof, correction)
    result, target = _variance(e, a, axis, dtype, out, ddof, keepdims, where, mean)
    if result.dtype.kind not in "fc":
        raise Unsupported("the standard deviation is computed in integers")
    (root,) = apply(e, row("sqrt"), (result,))
    return _finish(e, cast(e, root, result.dtype), target)


def _method(
    expand: Callable[..., Value],
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
    ddof: Operand = 0,
    keepdims: Operand = False,
    *,
    where: Operand = True,
    mean: Operand = None,
) -> Value:
    """``x.var()`` and ``x.std()``, which do not have all keywords of the functions."""
    return expand(e, a, axis, dtype, out, ddof, keepdims, where=where, mean=mean)


def ptp(
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    out: Operand = None,
    keepdims: Operand = False,
) -> Value:
    """Range of values. Source: NumPy ``_methods._ptp``."""
    value, target = e.array(a), single_out(e, out)
    if target is not None:
        raise Unsupported("the argument out is not supported here")
    axes = axis_tuple(e, axis, len(value.shape))
    extremes = [
        fold(e, row(name), value, axes, keepdims=_flag(keepdims)) for name in ("maximum", "minimum")
    ]
    return e.scalar(apply(e, row("subtract"), extremes)[0])


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
    """``np.argmax`` and ``np.argmin``."""
    _absent(out, "out")
    value = e.array(a)
    ndim = len(value.shape)
    keep = _flag(keepdims)
    if axis is None or ndim == 0:
        axes = axis_tuple(e, axis, ndim)
        position, source = 0, e.view(value, Reshape((size_of(value),)))
    else:
        position, source = axis_index(e, axis, ndim), value
        axes = (position,)
    if may_be_empty(e, source.shape[position]):
        raise WouldRaise(f"attempt to get {name} of an empty sequence")
    found = e.arg_reduce(name, source, position)
    return e.scalar(_keep_dims(e, found, axes, ndim) if keep else found)


def count_nonzero(
    e: Emitter, a: Operand, axis: Operand = None, *, keepdims: Operand = False
) -> Operand:
    """Number of elements that are not zero. Source: NumPy ``_core/numeric.py``."""
    value = e.array(a)
    axes = axis_tuple(e, axis, len(value.shape))
    keep = _flag(keepdims)
    counts = fold(e, row("add"), cast(e, value, BOOL), axes, dtype=INTP, keepdims=keep)
    if axis is None and not keep and COUNT_IS_PYTHON_INT:
        return e.item(counts, int)
    return e.scalar(counts)


# Scans


def scan(
    function: ScalarFunction,
    e: Emitter,
    a: Operand,
    axis: Operand = None,
    dtype: Operand = None,
    out: Operand = None,
) -> Value:
    """``np.cumsum`` and its like: of the flat array without an axis."""
    value, target = e.array(a), single_out(e, out)
    if axis is None or not value.shape:
        axis_tuple(e, axis, len(value.shape))
        value, axis = e.view(value, Reshape((size_of(value),))), 0
    return _accumulate(function, e, value, axis, dtype, target)


def _accumulate(
    function: ScalarFunction,
    e: Emitter,
    array: Operand,
    axis: Operand = 0,
    dtype: Operand = None,
    out: Operand = None,
) -> Value:
    value, target = e.array(array), single_out(e, out)
    if not value.shape:
        raise WouldRaise("cannot accumulate on a scalar")
    out_dtype = None if target is None else target.dtype
    loop = _accumulator(function, value.dtype, as_dtype(dtype), out_dtype)
    result = e.scan(function, value, axis_index(e, axis, len(value.shape)), loop)
    return result if target is None else store(e, target, result)


# The table


def _ufunc_methods(name: str, *, scan: bool = False) -> list[Spelling]:
    function = row(name)
    assert function.ufunc is not None
    if scan:
        target = function.ufunc.accumulate
        return [Spelling(target, partial(_accumulate, function), example.accumulations)]
    target = function.ufunc.reduce
    return [Spelling(target, partial(_ufunc_reduce, function), example.ufunc_reductions)]


def _define_reduction(name: str, ufunc: str, *aliases: str) -> None:
    expand = partial(reduction, row(ufunc))
    if name in {"max", "min"}:
        expand = partial(_reduce_without_dtype, row(ufunc))
    sampler = example.reductions if name in {"sum", "prod"} else example.reductions_without_dtype
    spellings = functions(expand, sampler, name, *aliases)
    define(name, spellings + methods(expand, sampler, name) + _ufunc_methods(ufunc), ulp=4)


_define_reduction("sum", "add")
_define_reduction("prod", "multiply")
_define_reduction("max", "maximum", "amax")
_define_reduction("min", "minimum", "amin")
for _name, _ufunc in (("any", "logical_or"), ("all", "logical_and")):
    define(
        _name,
        functions(partial(_logical, row(_ufunc)), example.reductions_without_dtype, _name)
        + methods(partial(_logical_method, row(_ufunc)), example.logical_methods, _name)
        + _ufunc_methods(_ufunc),
    )
define("mean", functions(mean, example.means, "mean") + methods(mean, example.means, "mean"), ulp=8)
for _name, _expand in (("var", var), ("std", std)):
    _spread = partial(_method, _expand)
    define(
        _name,
        functions(_expand, example.corrected_variances, _name)
        + methods(_spread, example.variances, _name),
        ulp=8,
    )
define("ptp", functions(ptp, example.reductions_without_dtype, "ptp"))
for _extreme in ("argmax", "argmin"):
    _arg = partial(arg_extreme, _extreme)
    define(
        _extreme,
        functions(_arg, example.arg_extremes, _extreme)
        + methods(_arg, example.arg_extremes, _extreme),
    )
define("count_nonzero", functions(count_nonzero, example.counts, "count_nonzero"))
for _name, _ufunc in (("cumsum", "add"), ("cumprod", "multiply")):
    _cumulative = partial(scan, row(_ufunc))
    define(
        _name,
        functions(_cumulative, example.scans, _name)
        + methods(_cumulative, example.scans, _name)
        + _ufunc_methods(_ufunc, scan=True),
        ulp=4,
    )
for _ufunc in ("maximum", "minimum"):
    define(f"{_ufunc}.accumulate", _ufunc_methods(_ufunc, scan=True))
