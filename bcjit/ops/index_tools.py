"""Functions that make indices: ix_, ravel_multi_index, unravel_index, tril_indices; none looks at elements but ix_ of bools.

Mirrors NumPy ``lib/_index_tricks_impl.py`` and ``lib/_twodim_base_impl.py``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from bcjit.dims import Dim, floor_divide
from bcjit.ops.emitter import Emitter, Operand, Shape, Value
from bcjit.ops.index_entries import index_array, true_positions
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    INTP,
    broadcast,
    constant,
    depends_on_data,
    equal,
    is_array,
    less,
    shape_argument,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows
from bcjit.ops.views import along_axis

__all__: list[str] = []

example = Samplers("index_tools")
table = Rows()


def ix(e: Emitter, *args: Operand) -> tuple[Value, ...]:
    """``np.ix_``: views of its arguments, each along an axis of its own."""
    if not args:
        raise Unsupported("a grid without axes")
    found: list[Value] = []
    for i, item in enumerate(args):
        array = e.array(item) if is_array(e, item) else index_array(e, _sequence(item))
        if len(array.shape) != 1:
            raise WouldRaise("Cross index must be 1 dimensional")
        if array.dtype.kind == "b":
            (array,) = true_positions(e, array)
        found.append(e.view(array, along_axis(array.shape[0], i, len(args))))
    return tuple(found)


def _sequence(item: Operand) -> tuple[Operand, ...]:
    if not isinstance(item, tuple | list):
        raise Unsupported("an index that is no array")
    return tuple(item)


def _order(order: Operand) -> str:
    if not isinstance(order, str) or order not in ("C", "F"):
        raise Unsupported("order is not 'C' or 'F'")
    return order


def _ravel(*indices: Any, dims: Any, mode: Any, order: Any) -> object:
    return np.ravel_multi_index(indices, dims, mode=mode, order=order)


def ravel_multi_index(
    e: Emitter,
    multi_index: Operand,
    dims: Operand,
    mode: Operand = "raise",
    order: Operand = "C",
) -> Value:
    """``np.ravel_multi_index``. Source: NumPy ``compiled_base.c``: ``arr_ravel_multi_index``."""
    if not isinstance(multi_index, tuple):
        raise Unsupported("the indices are not a tuple")
    shape = shape_argument(e, dims)
    if len(shape) != len(multi_index):
        raise WouldRaise("one index for each dimension is expected")
    modes = mode if isinstance(mode, tuple) else (mode,)
    if not all(isinstance(one, str) and one in ("raise", "wrap", "clip") for one in modes):
        raise Unsupported("mode is not 'raise', 'wrap' or 'clip'")
    arrays = [e.array(index) for index in multi_index]
    result: Shape = ()
    for array in arrays:
        if array.dtype.kind not in "iu" or not np.can_cast(array.dtype, INTP, "same_kind"):
            raise Unsupported("indices that are not integers")
        result = broadcast(e, result, array.shape)
    options = {"dims": shape, "mode": mode, "order": _order(order)}
    return e.scalar(e.lib_call(_ravel, arrays, options, [(result, INTP)])[0])


def unravel_index(
    e: Emitter, indices: Operand, shape: Operand, order: Operand = "C"
) -> tuple[Value, ...]:
    """``np.unravel_index``. Source: NumPy ``compiled_base.c``: ``arr_unravel_index``."""
    dims, index = shape_argument(e, shape), e.array(indices)
    if not dims:
        raise Unsupported("indices of a 0-d array")
    if index.dtype.kind not in "iu":
        raise Unsupported("indices that are not integers")
    options = {"shape": dims, "order": _order(order)}
    found = e.lib_call(np.unravel_index, (index,), options, [(index.shape, INTP)] * len(dims))
    return tuple(e.scalar(one) for one in found)


# Triangles


def _triangle(
    function: Any, e: Emitter, n: Operand, k: Operand = 0, m: Operand = None
) -> tuple[Value, ...]:
    """``np.tril_indices``, ``np.triu_indices``."""
    height = e.integer(n)
    width = height if m is None else e.integer(m)
    if height is None or width is None:
        raise Unsupported("a size depends on values")
    return _indices(function, e, height, constant(e, k, "k"), width)


def _triangle_from(function: Any, e: Emitter, arr: Operand, k: Operand = 0) -> tuple[Value, ...]:
    """``np.tril_indices_from``, ``np.triu_indices_from``."""
    value = e.array(arr)
    if len(value.shape) != 2:
        raise WouldRaise("input array must be 2-d")
    return _indices(function, e, value.shape[0], constant(e, k, "k"), value.shape[1])


def _indices(function: Any, e: Emitter, height: Dim, k: int, width: Dim) -> tuple[Value, ...]:
    count = _count(e, function is np.tril_indices, height, k, width)
    options = {"n": height, "k": k, "m": width}
    return e.lib_call(function, (), options, [((count,), INTP)] * 2)


def _count(e: Emitter, lower: bool, height: Dim, k: int, width: Dim) -> Dim:
    """Return how many positions a triangle has: a closed form where the diagonal is the main one or next to it."""
    if isinstance(height, int) and isinstance(width, int):
        rows, columns = max(height, 0), max(width, 0)
        below = sum(min(max(i + k + (1 if lower else 0), 0), columns) for i in range(rows))
        return below if lower else rows * columns - below
    if height == width and k in ((0, -1) if lower else (0, 1)) and not depends_on_data(height):
        if less(e, height, 0):
            return 0
        wide = height + 1 if k == 0 else height - 1
        return floor_divide(height * wide, 2)
    return e.unknown("triangle")


# Diagonals


def diag_indices(e: Emitter, n: Operand, ndim: Operand = 2) -> tuple[Value, ...]:
    """``np.diag_indices``: one array, several times."""
    length = e.integer(n)
    if length is None:
        raise Unsupported("a size depends on values")
    count = constant(e, ndim, "ndim")
    if count < 2:
        raise Unsupported("the diagonal of less than two axes")
    return (e.iota(0 if less(e, length, 0) else length, INTP),) * count


def diag_indices_from(e: Emitter, arr: Operand) -> tuple[Value, ...]:
    """``np.diag_indices_from``."""
    value = e.array(arr)
    if len(value.shape) < 2:
        raise WouldRaise("input array must be at least 2-d")
    if not all(equal(e, dim, value.shape[0]) for dim in value.shape[1:]):
        raise WouldRaise("All dimensions of input must be of equal length")
    return (e.iota(value.shape[0], INTP),) * len(value.shape)


# The table

table.define("ix_", functions(ix, example.grids, "ix_"))
table.define("ravel_multi_index", functions(ravel_multi_index, example.ravels, "ravel_multi_index"))
table.define("unravel_index", functions(unravel_index, example.unravels, "unravel_index"))
for _name in ("tril_indices", "triu_indices"):
    _function = getattr(np, _name)
    table.define(_name, functions(partial(_triangle, _function), example.triangles, _name))
    table.define(
        f"{_name}_from",
        functions(partial(_triangle_from, _function), example.matrices, f"{_name}_from"),
    )
table.define("diag_indices", functions(diag_indices, example.diagonals, "diag_indices"))
table.define(
    "diag_indices_from", functions(diag_indices_from, example.squares, "diag_indices_from")
)
