"""Views with windows along axes: sliding_window_view; ``as_strided`` reads addresses and is not described."""

from __future__ import annotations

from typing import Final

import numpy as np

from bcjit.dims import Dim, Relation
from bcjit.ops.emitter import Emitter, Operand, Value, Window
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import axis_index, expect, shape_argument
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("differences")
table = Rows()

_MODULE: Final = np.lib.stride_tricks


def sliding_window_view(
    e: Emitter,
    x: Operand,
    window_shape: Operand,
    axis: Operand = None,
    *,
    subok: Operand = False,
    writeable: Operand = False,
) -> Value:
    """``sliding_window_view``: read-only. Source: NumPy ``lib/_stride_tricks_impl.py``."""
    if type(subok) is not bool or writeable is not False:
        raise Unsupported("a writeable view whose elements overlap")
    value, sizes = e.array(x), shape_argument(e, window_shape)
    ndim = len(value.shape)
    if axis is None:
        axes = tuple(range(ndim))
    elif isinstance(axis, tuple | list):
        axes = tuple(axis_index(e, item, ndim) for item in axis)  # one may come twice
    else:
        axes = (axis_index(e, axis, ndim),)
    if len(sizes) != len(axes):
        raise WouldRaise("Must provide matching length window_shape and axis")
    left: list[Dim] = list(value.shape)
    for at, size in zip(axes, sizes, strict=True):
        if not expect(e, Relation("<=", size, left[at])):
            raise WouldRaise("window shape cannot be larger than input array shape")
        left[at] = left[at] - size + 1
    return e.view(value, Window(axes, sizes, tuple(left)))


# The table

table.define(
    "sliding_window_view",
    functions(sliding_window_view, example.windows, "sliding_window_view", module=_MODULE),
)
