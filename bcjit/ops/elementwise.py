"""The building blocks of what is done element by element: apply a ufunc, store into ``out=``; holds no ops.

Ufunc calls are in ``ufuncs``, Python operators in ``operators``, functions made of ufuncs in ``compound``.
"""

from __future__ import annotations

from collections.abc import Sequence

from bcjit.dims import Undecidable
from bcjit.ops.emitter import Basic, DType, Emitter, Operand, Range, Reshape, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    BOOL,
    Signature,
    broadcast,
    cast_can_fail,
    default_dtype,
    equal,
    is_array,
    loop_dtypes,
    require_int64,
)
from bcjit.ops.scalar_functions import ScalarFunction

__all__ = ["apply", "call", "mask_of", "single_out", "store", "unwrap", "whole"]


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
    prepared = [_prepare(e, operand) for operand in operands]
    out_dtype = None if out is None else out.dtype
    dtypes = loop_dtypes(e, function, prepared, dtype=dtype, out=out_dtype, casting=casting)
    results = e.map(function, prepared, dtypes)
    if out is None:
        return results
    return (store(e, out, results[0], exact=False),)


def call(
    e: Emitter,
    function: ScalarFunction,
    inputs: Sequence[Operand],
    outs: Sequence[Value | None],
    *,
    dtype: DType | None = None,
    signature: Signature = None,
    casting: object = "same_kind",
    mask: Value | None = None,
) -> tuple[Value, ...]:
    """Apply a ufunc of any number of results, giving arrays, those of `outs` where given."""
    prepared = [_prepare(e, operand) for operand in inputs]
    if not any(map(e.is_value, prepared)):
        # No operand decides the dtype, so a large int makes it uint64 or object.
        for operand in prepared:
            require_int64(e, operand)
    dtypes = loop_dtypes(
        e,
        function,
        prepared,
        dtype=dtype,
        signature=signature,
        outs=[None if out is None else out.dtype for out in outs],
        casting=casting,
    )
    for out, loop in zip(outs, dtypes[len(prepared) :], strict=True):
        # What the mask keeps may be cast to the loop's dtype and back all the same, in NumPy's buffers.
        if mask is not None and out is not None and _cast_warns(out.dtype, loop):
            raise Unsupported("where= with an output that the loop's dtype does not hold")
    results = e.map(function, prepared, dtypes, mask)
    given = [out for out in outs if out is not None]
    if given and len(given) < len(outs):
        # An output that is given takes part in the broadcasting of the others.
        shape = results[0].shape
        for out in given:
            shape = broadcast(e, shape, out.shape)
        if len(shape) != len(results[0].shape) or not all(
            equal(e, a, b) for a, b in zip(shape, results[0].shape, strict=True)
        ):
            raise Unsupported("out: an array that is larger than the other results")
    return tuple(
        result if out is None else store(e, out, result, exact=False, mask=mask)
        for result, out in zip(results, outs, strict=True)
    )


def _cast_warns(source: DType, target: DType) -> bool:
    """Whether a cast can set a flag, or drops an imaginary part, of which NumPy warns."""
    return (source.kind == "c" and target.kind in "iuf") or cast_can_fail(source, target)


def _prepare(e: Emitter, operand: Operand) -> Operand:
    """Return an operand as a ufunc takes it: sequences become arrays, Python scalars stay weak."""
    if isinstance(operand, tuple | list):
        return e.array(operand)
    default_dtype(e, operand)
    return operand


def whole(value: Value) -> Basic:
    """Return the index of all elements."""
    return Basic(tuple(Range(0, 1, dim) for dim in value.shape))


def store(
    e: Emitter, out: Value, result: Value, *, exact: bool = True, mask: Value | None = None
) -> Value:
    """Write a result into ``out=``: of exactly its shape, or broadcast to it."""
    if e.is_scalar(out):
        raise WouldRaise("return arrays must be of ArrayType")
    if len(result.shape) > len(out.shape) or (exact and len(result.shape) != len(out.shape)):
        raise WouldRaise("the out array has the wrong number of dimensions")
    tail = out.shape[len(out.shape) - len(result.shape) :]
    undecided = 0
    for have, want in zip(result.shape, tail, strict=True):
        try:
            if equal(e, have, want):
                continue
        except Undecidable:
            e.may_fail()
            undecided += 1
            continue
        if not equal(e, have, 1):
            raise WouldRaise("the out array has the wrong shape")
        if exact:
            # Generalized ufuncs repeat it, reductions and LAPACK do not.
            raise Unsupported("out: a result that would be repeated into it")
    if exact and undecided > 1:
        raise Unsupported("out: several sizes that depend on data")
    if exact and undecided:
        # One row is not repeated either.
        result = e.view(result, Reshape(out.shape))
    return e.scatter(out, result, whole(out), mask)


def single_out(e: Emitter, out: Operand) -> Value | None:
    """Return the array of ``out=``, given alone or in a tuple of one."""
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if out is None:
        return None
    if not e.is_value(out) or e.is_scalar(out):
        raise WouldRaise("output must be an array")
    return out


def mask_of(e: Emitter, where: Operand) -> Value | None:
    """Return the mask that ``where=`` gives, None for all elements. Source: NumPy ``_wheremask_converter``."""
    if where is True:
        return None
    if not e.is_value(where) and not isinstance(where, list | tuple):
        if e.weak_type(where) is not bool:
            raise Unsupported("where is not a bool or an array")
        return e.fill((), where, BOOL)
    mask = e.array(where)
    if mask.dtype != BOOL:
        if not is_array(e, where):
            raise Unsupported("where is not of bools")
        raise WouldRaise(f"where: cannot cast array data from {mask.dtype} to bool")
    return mask


def unwrap(e: Emitter, results: tuple[Value, ...]) -> Value | tuple[Value, ...]:
    """Return results as a ufunc does: 0-d ones as scalars, one result alone."""
    scalars = tuple(e.scalar(result) for result in results)
    return scalars[0] if len(scalars) == 1 else scalars
