"""Functions that make new arrays of one number, or of ones at places: zeros, full, eye, tri and their like; no ranges.

Arguments that choose layout only (``order``) are accepted and mean nothing here.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from bcjit.dims import Dim
from bcjit.ops.elementwise import apply
from bcjit.ops.emitter import (
    Basic,
    Broadcast,
    DType,
    Emitter,
    NewAxis,
    Operand,
    Range,
    Reshape,
    Value,
)
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    FLOAT64,
    INTP,
    as_dtype,
    cast,
    check_host,
    check_order,
    copy,
    default_dtype,
    equal,
    less,
    require_int64,
    size_of,
    sized,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.selection import diagonal
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("creation")
table = Rows()

_EMPTY: Final = object()  # fill with nothing in particular


def _constant(
    item: Operand,
    e: Emitter,
    shape: Operand,
    dtype: Operand = float,
    order: Operand = "C",
    *,
    device: Operand = None,
    like: Operand = None,
) -> Value:
    """``np.zeros``, ``np.ones``, ``np.empty``."""
    check_host(device, like)
    check_order(order)
    return e.fill(sized(e, shape), None if item is _EMPTY else item, as_dtype(dtype) or FLOAT64)


def _filled(e: Emitter, shape: tuple[Dim, ...], item: Operand, dtype: DType | None) -> Value:
    if e.is_value(item) or isinstance(item, tuple | list):
        value = e.array(item)
        if len(value.shape) > len(shape):
            raise WouldRaise("could not broadcast the fill value to the shape")
        wide = e.view(value, Broadcast(_broadcast(e, value, shape)))
        return copy(e, wide, dtype)
    if e.weak_type(item) is None:
        raise Unsupported("fill_value is not a number")
    if dtype is None:
        require_int64(e, item)
        dtype = default_dtype(e, item)
    _check_fits(e, item, dtype)
    return e.fill(shape, item, dtype)


def _broadcast(e: Emitter, value: Value, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    tail = shape[len(shape) - len(value.shape) :]
    for have, want in zip(value.shape, tail, strict=True):
        if not equal(e, have, want) and not equal(e, have, 1):
            raise WouldRaise("could not broadcast the fill value to the shape")
    return shape


def _check_fits(e: Emitter, item: Operand, dtype: DType) -> None:
    if e.weak_type(item) is complex and dtype.kind in "iuf":
        raise Unsupported("casting complex to real warns")
    if type(item) is int and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= item <= limits.max:
            raise Unsupported("filling with an int that does not fit wraps or raises, by version")


def full(
    e: Emitter,
    shape: Operand,
    fill_value: Operand,
    dtype: Operand = None,
    order: Operand = "C",
    *,
    device: Operand = None,
    like: Operand = None,
) -> Value:
    """``np.full``."""
    check_host(device, like)
    check_order(order)
    return _filled(e, sized(e, shape), fill_value, as_dtype(dtype))


def _like(
    item: Operand,
    e: Emitter,
    a: Operand,
    dtype: Operand = None,
    order: Operand = "K",
    subok: Operand = True,
    shape: Operand = None,
    *,
    device: Operand = None,
) -> Value:
    """``np.zeros_like``, ``np.ones_like``, ``np.empty_like``."""
    check_host(device)
    model = _model(e, a, order, subok)
    dims = model.shape if shape is None else sized(e, shape)
    return e.fill(dims, None if item is _EMPTY else item, as_dtype(dtype) or model.dtype)


def _model(e: Emitter, a: Operand, order: Operand, subok: Operand) -> Value:
    check_order(order)
    if type(subok) is not bool:
        raise Unsupported("subok is not a constant bool")
    return e.array(a)


def full_like(
    e: Emitter,
    a: Operand,
    fill_value: Operand,
    dtype: Operand = None,
    order: Operand = "K",
    subok: Operand = True,
    shape: Operand = None,
    *,
    device: Operand = None,
) -> Value:
    """``np.full_like``."""
    check_host(device)
    model = _model(e, a, order, subok)
    dims = model.shape if shape is None else sized(e, shape)
    return _filled(e, dims, fill_value, as_dtype(dtype) or model.dtype)


# Diagonals and triangles


def eye(
    e: Emitter,
    N: Operand,  # noqa: N803 - NumPy's names
    M: Operand = None,  # noqa: N803
    k: Operand = 0,
    dtype: Operand = float,
    order: Operand = "C",
    *,
    device: Operand = None,
    like: Operand = None,
) -> Value:
    """``np.eye``."""
    check_host(device, like)
    check_order(order)
    if isinstance(N, tuple | list) or isinstance(M, tuple | list):
        raise WouldRaise("a tuple or list is no size of an axis")
    (height,) = sized(e, N)
    width = height if M is None else sized(e, M)[0]
    offset = e.integer(k)
    if offset is None:
        raise Unsupported("k is not a known integer")
    ones = _compared(e, "equal", height, width, offset)
    return cast(e, ones, as_dtype(dtype) or FLOAT64)


def _compared(e: Emitter, name: str, height: Dim, width: Dim, offset: Dim) -> Value:
    """Return where the number of a row, plus an offset, compares with the number of a column."""
    rows = e.view(e.iota(height, INTP), Basic((Range(0, 1, height), NewAxis())))
    (shifted,) = apply(e, row("add"), (rows, e.fill((), offset, INTP)))
    return apply(e, row(name), (shifted, e.iota(width, INTP)))[0]


def identity(e: Emitter, n: Operand, dtype: Operand = None, *, like: Operand = None) -> Value:
    """``np.identity``."""
    check_host(None, like)
    return eye(e, n, dtype=as_dtype(dtype))


def tri(
    e: Emitter,
    N: Operand,  # noqa: N803 - NumPy's names
    M: Operand = None,  # noqa: N803
    k: Operand = 0,
    dtype: Operand = float,
    *,
    like: Operand = None,
) -> Value:
    """``np.tri``. Source: NumPy ``lib/_twodim_base_impl.py``."""
    check_host(None, like)
    height, offset = e.integer(N), e.integer(k)
    width = height if M is None else e.integer(M)
    if height is None or width is None or offset is None:
        raise Unsupported("a size or k is not a known integer")
    height, width = (0 if less(e, dim, 0) else dim for dim in (height, width))
    return cast(e, _compared(e, "greater_equal", height, width, offset), as_dtype(dtype) or FLOAT64)


def diag(e: Emitter, v: Operand, k: Operand = 0) -> Value:
    """``np.diag``: the matrix with a diagonal, or a read-only view of the diagonal of a matrix."""
    value = e.array(v)
    if len(value.shape) == 2:
        return diagonal(e, value, k)
    if len(value.shape) != 1:
        raise WouldRaise("Input must be 1- or 2-d.")
    return _with_diagonal(e, value, k)


def diagflat(e: Emitter, v: Operand, k: Operand = 0) -> Value:
    """``np.diagflat``."""
    value = e.array(v)
    return _with_diagonal(e, e.view(value, Reshape((size_of(value),))), k)


def _with_diagonal(e: Emitter, value: Value, k: Operand) -> Value:
    offset = e.integer(k)
    if offset is None:
        raise Unsupported("k is not a known integer")
    (length,) = value.shape
    below = less(e, offset, 0)
    size = length - offset if below else length + offset
    start = -offset * size if below else offset
    zeros = e.fill((size * size,), 0, value.dtype)
    filled = e.scatter(zeros, value, Basic((Range(start, size + 1, length),)))
    return e.view(filled, Reshape((size, size)))


def vander(
    e: Emitter,
    x: Operand,
    N: Operand = None,  # noqa: N803 - NumPy's name
    increasing: Operand = False,
) -> Value:
    """``np.vander``. Source: NumPy ``lib/_twodim_base_impl.py``."""
    value = e.array(x)
    if len(value.shape) != 1:
        raise WouldRaise("x must be a one-dimensional array or sequence.")
    (length,) = value.shape
    count = length if N is None else e.integer(N)
    if count is None or type(increasing) is not bool:
        raise Unsupported("N is not a known integer, or increasing no constant")
    if less(e, count, 0):
        raise WouldRaise("negative dimensions are not allowed")
    dtype = np.promote_types(value.dtype, int)
    if less(e, count, 1):
        return e.fill((length, 0), 0, dtype)
    ones = e.fill((length, 1), 1, dtype)
    column = e.view(value, Basic((Range(0, 1, length), NewAxis())))
    wide = e.view(column, Broadcast((length, count - 1)))
    powers = e.concat([ones, e.scan(row("multiply"), wide, 1, dtype)], 1, dtype)
    if increasing:
        return powers
    backward = Basic((Range(0, 1, length), Range(count - 1, -1, count)))
    return copy(e, e.view(powers, backward))


# The table

for _name, _item in (("zeros", 0), ("ones", 1), ("empty", _EMPTY)):
    _sampler = example.empties if _item is _EMPTY else example.shapes
    table.define(_name, functions(partial(_constant, _item), _sampler, _name))
    table.define(f"{_name}_like", functions(partial(_like, _item), example.likes, f"{_name}_like"))
table.define("full", functions(full, example.fulls, "full"))
table.define("full_like", functions(full_like, example.full_likes, "full_like"))
table.define("eye", functions(eye, example.eyes, "eye"))
table.define("identity", functions(identity, example.identities, "identity"))
table.define("tri", functions(tri, example.triangles, "tri"))
table.define("diag", functions(diag, example.diagonals, "diag"))
table.define("diagflat", functions(diagflat, example.diagonals, "diagflat"))
table.define("vander", functions(vander, example.vanders, "vander"))
