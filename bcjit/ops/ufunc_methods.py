"""The methods of ufuncs that are no ops of their own: reduce and accumulate of any ufunc, reduceat, outer, at.

They become ops when they are looked up, as ufuncs do that NumPy does not name: there are five for each ufunc.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.ops.elementwise import single_out, store, whole
from bcjit.ops.emitter import Emitter, Operand, Reshape, Value
from bcjit.ops.numpy_facts import OUT_TAKES_ELLIPSIS
from bcjit.ops.opdef import OpDef, Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import as_dtype, cast_can_fail, default_dtype, is_array, require_int64
from bcjit.ops.reductions import accumulator, ufunc_reduce
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import ScalarFunction, is_elementwise, row_of
from bcjit.ops.scans import accumulate, one_axis
from bcjit.ops.ufuncs import ufunc_call, ufunc_spellings

__all__ = ["unlisted"]

DType: TypeAlias = "np.dtype[Any]"

example = Samplers("ufunc_methods")


def outer(
    function: ScalarFunction, e: Emitter, a: Operand, b: Operand, /, **options: Operand
) -> Value | tuple[Value, ...]:
    """``ufunc.outer``: of each pair of elements. Source: NumPy ``ufunc_object.c``: ``ufunc_outer``."""
    if function.nin != 2:
        raise WouldRaise("outer product only supported for binary functions")
    left, right = _as_array(e, a), _as_array(e, b)
    spread = e.view(left, Reshape((*left.shape, *(1,) * len(right.shape))))
    return ufunc_call(function, e, spread, right, **options)


def _as_array(e: Emitter, operand: Operand) -> Value:
    """Return an operand as array: a Python scalar is not weak here."""
    if not e.is_value(operand) and e.weak_type(operand) is not None:
        require_int64(e, operand)
    return e.array(operand)


def reduceat(
    function: ScalarFunction,
    e: Emitter,
    array: Operand,
    indices: Operand,
    axis: Operand = 0,
    dtype: Operand = None,
    out: Operand = None,
) -> Value:
    """``ufunc.reduceat``: of slices that begin at indices. Source: NumPy ``ufunc_object.c``: ``PyUFunc_Reduceat``."""
    if function.nin != 2 or function.nout != 1:
        raise WouldRaise("reduceat only supported for binary functions")
    assert function.ufunc is not None
    value, at = e.array(array), e.array(indices)
    target = None if out is Ellipsis and OUT_TAKES_ELLIPSIS else single_out(e, out)
    given = as_dtype(dtype)
    place = one_axis(e, axis, value)
    if len(at.shape) != 1:
        raise Unsupported("the indices are not 1-d")
    if not np.can_cast(at.dtype, np.intp):
        # A list of floats is taken, by int() of each.
        answer = WouldRaise if is_array(e, indices) else Unsupported
        raise answer(f"cannot cast indices from {at.dtype} to intp")
    loop = accumulator(function, value.dtype, given, None if target is None else target.dtype)
    if value.dtype.kind == "c" and loop.kind in "iuf":
        raise Unsupported("casting complex to real warns")
    shape = (*value.shape[:place], at.shape[0], *value.shape[place + 1 :])
    (result,) = e.lib_call(
        function.ufunc.reduceat,
        (value, at),
        {"axis": place, "dtype": loop},
        [(shape, loop)],
        sets_flags=function.can_fail(loop),
    )
    return result if target is None else store(e, target, result)


def at(
    function: ScalarFunction,
    e: Emitter,
    a: Operand,
    indices: Operand,
    b: Operand = None,
    /,
) -> None:
    """``ufunc.at``: in place, one index after the other. Source: NumPy ``ufunc_object.c``: ``ufunc_at``.

    What is wrong with the indices, the second operand or the dtypes is raised before anything is written.
    """
    assert function.ufunc is not None
    if function.nin > 2 or function.nout != 1:
        raise WouldRaise("only unary and binary ufuncs supported at this time")
    if not is_array(e, a):
        raise Unsupported("the first operand is not an array")
    assert e.is_value(a)
    if (b is None) != (function.nin == 1):
        raise WouldRaise("second operand needed for ufunc, or not used")
    operands = [a, *(indices if isinstance(indices, tuple) else (indices,))]
    if b is not None:
        operands.append(_as_array(e, b))
    given = (a.dtype,) if b is None else (a.dtype, default_dtype(e, operands[-1]))
    (result,) = e.lib_call(
        partial(_changed_at, function.ufunc),
        (a, indices) if b is None else (a, indices, operands[-1]),
        {},
        [(a.shape, a.dtype)],
        sets_flags=_at_can_fail(function, given),
    )
    e.scatter(a, result, whole(a))


def _at_can_fail(function: ScalarFunction, given: tuple[DType, ...]) -> bool:
    """Whether flags may be reported, which comes behind the writes: also those of casts to the loop's dtypes and back."""
    ufunc = function.ufunc
    assert ufunc is not None
    try:
        loop = ufunc.resolve_dtypes((*given, None), casting="unsafe")
    except TypeError:
        return False  # there is none
    casts = [*zip(given, loop, strict=False), (loop[-1], given[0])]
    return function.can_fail(loop[0]) or any(cast_can_fail(*cast) for cast in casts)


def _changed_at(
    ufunc: np.ufunc, array: np.ndarray[Any, Any], *operands: Any
) -> np.ndarray[Any, Any]:
    """Return a changed copy, as ``ufunc.at`` changes an array."""
    changed = array.copy()
    ufunc.at(changed, *operands)
    return changed


# The table

_METHODS: Final[dict[str, Callable[..., object]]] = {
    "accumulate": accumulate,
    "at": at,
    "outer": outer,
    "reduce": ufunc_reduce,
    "reduceat": reduceat,
}


def unlisted(ufunc: np.ufunc, method: str | None) -> OpDef | None:
    """Return the op of a ufunc, or of its method, that has no entry; None if it is not elementwise in C loops."""
    if not is_elementwise(ufunc):
        return None
    function = row_of(ufunc)
    if method is None:
        return OpDef(function.name, tuple(ufunc_spellings(function)))
    expand = _METHODS.get(method)
    if expand is None:
        return None
    spelling = Spelling(getattr(ufunc, method), partial(expand, function), getattr(example, method))
    return OpDef(f"{function.name}.{method}", (spelling,))
