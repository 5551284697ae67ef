"""NumPy's generalised ufuncs of vectors: vecdot, matvec, vecmat, as sums of products; matmul is in ``contraction``.

A generalised ufunc that is not NumPy's breaks the graph: what it computes of its core dimensions is not known.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from bcjit.ops.elementwise import apply, single_out, store
from bcjit.ops.emitter import Basic, Broadcast, Emitter, NewAxis, Operand, Permute, Range, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    ABSENT,
    Signature,
    as_dtype,
    axis_index,
    broadcast,
    loop_dtypes,
    loop_signature,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import ScalarFunction, row
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("gufuncs")
table = Rows()

_BATCH: Final = "abcdefghijklmnopqrstuvw"
# Core dimensions of both operands and the result; the first operand is conjugated where it is a vector.
_CORES: Final[dict[str, tuple[str, str, str]]] = {
    "vecdot": ("y", "y", ""),
    "matvec": ("xy", "y", "x"),
    "vecmat": ("y", "yz", "z"),
}


def _contracted(
    e: Emitter,
    function: ScalarFunction,
    operands: tuple[Value, Value],
    out: Operand,
    dtype: Operand,
    signature: Signature,
    casting: Operand,
) -> tuple[Value, Value | None]:
    left, right = operands
    core_left, core_right, core_result = _CORES[function.name]
    for value, core in zip(operands, (core_left, core_right), strict=True):
        if len(value.shape) < len(core):
            raise WouldRaise(f"{function.name}: an operand does not have enough dimensions")
    target = single_out(e, out)
    dtypes = loop_dtypes(
        e,
        function,
        operands,
        dtype=as_dtype(dtype),
        signature=signature,
        out=None if target is None else target.dtype,
        casting=casting,
    )
    batches = [
        value.shape[: len(value.shape) - len(core)]
        for value, core in ((left, core_left), (right, core_right))
    ]
    batch = broadcast(e, *batches)
    letters = _BATCH[: len(batch)]
    labels: list[str] = []
    wide: list[Value] = []
    for value, own, core in zip((left, right), batches, (core_left, core_right), strict=True):
        spread = own and own != batch
        shape = (*batch, *value.shape[len(own) :])
        wide.append(e.view(value, Broadcast(shape)) if spread else value)
        labels.append(letters + core if own else core)
    if dtypes[0].kind == "c" and len(core_left) == 1 and left.dtype.kind == "c":
        (wide[0],) = apply(e, row("conjugate"), (wide[0],))
    names = (labels[0], labels[1], letters + core_result)
    return e.contract(wide[0], wide[1], names, dtypes[2]), target


def _generalised(
    function: ScalarFunction,
    e: Emitter,
    x1: Operand,
    x2: Operand,
    /,
    out: Operand = None,
    *,
    casting: Operand = "same_kind",
    order: Operand = "K",
    dtype: Operand = None,
    subok: Operand = True,
    signature: Operand = None,
    axes: Operand = ABSENT,
) -> Value:
    """``np.matvec``, ``np.vecmat``. Source: NumPy ``ufunc_object.c``: ``PyUFunc_GeneralizedFunctionInternal``."""
    del order
    _check(subok, axes)
    assert function.ufunc is not None
    values = (e.array(x1), e.array(x2))
    fixed = loop_signature(function.ufunc, signature)
    result, target = _contracted(e, function, values, out, dtype, fixed, casting)
    return e.scalar(result) if target is None else store(e, target, result)


def _vecdot(
    function: ScalarFunction,
    e: Emitter,
    x1: Operand,
    x2: Operand,
    /,
    out: Operand = None,
    *,
    casting: Operand = "same_kind",
    order: Operand = "K",
    dtype: Operand = None,
    subok: Operand = True,
    signature: Operand = None,
    axis: Operand = ABSENT,
    axes: Operand = ABSENT,
    keepdims: Operand = False,
) -> Value:
    """``np.vecdot``, whose one core dimension may be any axis and may be kept."""
    del order
    _check(subok, axes)
    if type(keepdims) is not bool:
        raise Unsupported("keepdims is not a constant bool")
    assert function.ufunc is not None
    left, right = e.array(x1), e.array(x2)
    ndim = max(len(left.shape), len(right.shape))
    if axis is not ABSENT:
        left, right = (_last(e, value, axis) for value in (left, right))
    fixed = loop_signature(function.ufunc, signature)
    result, target = _contracted(e, function, (left, right), out, dtype, fixed, casting)
    if keepdims:
        at = ndim - 1 if axis is ABSENT else axis_index(e, axis, ndim)
        kept = iter(result.shape)
        items = tuple(NewAxis() if i == at else Range(0, 1, next(kept)) for i in range(ndim))
        result = e.view(result, Basic(items))
    return e.scalar(result) if target is None else store(e, target, result)


def _check(subok: Operand, axes: Operand) -> None:
    if type(subok) is not bool:
        raise WouldRaise("'subok' must be a boolean")
    if axes is not ABSENT:
        raise Unsupported("the argument axes is not supported here")


def _last(e: Emitter, value: Value, axis: Operand) -> Value:
    ndim = len(value.shape)
    if not ndim:
        raise WouldRaise("vecdot: an operand does not have enough dimensions")
    at = axis_index(e, axis, ndim)
    order = (*(i for i in range(ndim) if i != at), at)
    return value if at == ndim - 1 else e.view(value, Permute(order))


# The table: matvec and vecmat are newer than the oldest NumPy.

for _name, _expand in (("vecdot", _vecdot), ("matvec", _generalised), ("vecmat", _generalised)):
    _ufunc = vars(np).get(_name)
    if _ufunc is not None:
        _row = ScalarFunction(_name, _ufunc, "biu")
        table.define(
            _name, functions(partial(_expand, _row), getattr(example, _name), _name), ulp=16
        )
