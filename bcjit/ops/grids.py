"""Grids of coordinates: meshgrid and indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bcjit.dims import Dim
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
from bcjit.ops.numpy_facts import MESHES_ARE_A_TUPLE
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import as_dtype, copy, shape_argument, size_of
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__ = ["along", "filled"]

example = Samplers("grids")
table = Rows()


def along(e: Emitter, value: Value, axis: int, ndim: int) -> Value:
    """Return a 1-d value as one axis of several, the others of size 1."""
    items = [NewAxis() if i != axis else Range(0, 1, value.shape[0]) for i in range(ndim)]
    return e.view(value, Basic(tuple(items)))


def meshgrid(
    e: Emitter,
    *xi: Operand,
    copy: Operand = True,
    sparse: Operand = False,
    indexing: Operand = "xy",
) -> tuple[Value, ...] | list[Value]:
    """``np.meshgrid``. Source: NumPy ``lib/_function_base_impl.py``."""
    if indexing not in ("xy", "ij"):
        raise WouldRaise("Valid values for `indexing` are 'xy' and 'ij'.")
    if type(copy) is not bool or type(sparse) is not bool:
        raise Unsupported("copy or sparse is not a constant bool")
    ndim = len(xi)
    order = list(range(ndim))
    if indexing == "xy" and ndim > 1:
        order[:2] = [1, 0]
    values = [e.array(x) for x in xi]
    sizes = [size_of(value) for value in values]
    full: list[Dim] = [1] * ndim
    for axis, size in zip(order, sizes, strict=True):
        full[axis] = size
    grids = []
    for axis, size, value in zip(order, sizes, values, strict=True):
        shape: list[Dim] = [1] * ndim
        shape[axis] = size
        grid = e.view(value, Reshape(tuple(shape)))
        grids.append(grid if sparse else e.view(grid, Broadcast(tuple(full))))
    if copy:
        return tuple(_copied(e, grid) for grid in grids)
    return grids if sparse and not MESHES_ARE_A_TUPLE else tuple(grids)


_copied = copy


def indices(
    e: Emitter, dimensions: Operand, dtype: Operand = int, sparse: Operand = False
) -> Value | tuple[Value, ...]:
    """``np.indices``."""
    if not isinstance(dimensions, tuple | list) or type(sparse) is not bool:
        raise Unsupported("dimensions is not a sequence, or sparse no constant bool")
    target = as_dtype(dtype)
    if target is None or target.kind not in "iuf":
        raise Unsupported("indices as bools or complex numbers")
    shape = shape_argument(e, dimensions)
    if target.itemsize < _WIDE:
        # A size may not fit the dtype.
        e.may_fail()
    axes = [e.iota(dim, target) for dim in shape]
    if sparse:
        return tuple(along(e, axis, i, len(shape)) for i, axis in enumerate(axes))
    return filled(e, axes, target)


_WIDE: Final = 8  # bytes


def filled(e: Emitter, axes: Sequence[Value], dtype: DType) -> Value:
    """Return the open grid of these axes as one array, the first axis of which tells them apart."""
    shape = tuple(axis.shape[0] for axis in axes)
    if not axes:
        return e.fill((0,), 0, dtype)
    layers = []
    for i, axis in enumerate(axes):
        wide = e.view(along(e, axis, i, len(axes)), Broadcast(shape))
        layers.append(e.view(wide, Reshape((1, *shape))))
    return e.concat(layers, 0, dtype)


# The table

table.define("meshgrid", functions(meshgrid, example.meshes, "meshgrid"))
table.define("indices", functions(indices, example.sizes, "indices"))
