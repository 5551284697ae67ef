"""Functions that sort, take or cut out elements: sort, partition, take, diagonal, triu; ``x[...]`` is in ``indexing``."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from bcjit.dims import maximum, minimum
from bcjit.ops.elementwise import apply, single_out, store
from bcjit.ops.emitter import (
    Basic,
    Diagonal,
    Emitter,
    NewAxis,
    Operand,
    Permute,
    Range,
    Reshape,
    Value,
)
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    BOOL,
    INTP,
    as_dtype,
    axis_index,
    constant,
    equal,
    is_array,
    size_of,
)
from bcjit.ops.reductions import fold
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import SELECT, row
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import Rows

__all__ = ["diagonal", "gather_along", "trace"]

example = Samplers("indexing")
products = Samplers("products")
table = Rows()


# Sorting


def _kind(kind: Operand, order: Operand, stable: Operand) -> str | None:
    """Return how to sort."""
    if order is not None:
        raise Unsupported("order: arrays without fields have none")
    if stable is not None and type(stable) is not bool:
        raise Unsupported("stable is not a constant bool")
    if kind is not None and stable is not None:
        raise WouldRaise("kind and stable cannot be given together")
    if stable:
        return "stable"
    if kind is not None and kind not in ("quicksort", "mergesort", "heapsort", "stable"):
        raise Unsupported("this kind of sorting")
    return kind if isinstance(kind, str) else None


def sort(
    e: Emitter,
    a: Operand,
    axis: Operand = -1,
    kind: Operand = None,
    order: Operand = None,
    *,
    stable: Operand = None,
) -> Value:
    """``np.sort``: a copy."""
    value = e.array(a)
    if axis is None:
        value, axis = e.view(value, Reshape((size_of(value),))), -1
    at = axis_index(e, axis, len(value.shape))
    return e.sort(value, at, _kind(kind, order, stable), indices=False)


def argsort(
    e: Emitter,
    a: Operand,
    axis: Operand = -1,
    kind: Operand = None,
    order: Operand = None,
    *,
    stable: Operand = None,
) -> Value:
    """``np.argsort``: a 0-d array counts as 1-d."""
    value, how = e.array(a), _kind(kind, order, stable)
    if axis is None or not value.shape:
        value, axis = e.view(value, Reshape((size_of(value),))), 0 if axis is None else axis
    return e.sort(value, axis_index(e, axis, len(value.shape)), how, indices=True)


def _sort_method(
    e: Emitter,
    a: Operand,
    axis: Operand = -1,
    kind: Operand = None,
    order: Operand = None,
    *,
    stable: Operand = None,
) -> None:
    value = e.array(a)
    if axis is None:
        raise WouldRaise("axis: an integer is expected, got None")
    store(e, value, sort(e, value, axis, kind, order, stable=stable))


def _kth(e: Emitter, kth: Operand, kind: Operand, order: Operand) -> Operand:
    """Return the positions to partition at."""
    if kind != "introselect" or order is not None:
        raise Unsupported("this kind of partition")
    if isinstance(kth, tuple | list) or (e.is_value(kth) and kth.shape):
        kth = e.array(kth)
    numeric = e.is_value(kth) and kth.dtype.kind in "iu" and len(kth.shape) <= 1
    if not numeric and e.weak_type(kth) is not int:
        raise Unsupported("the positions are not integers")
    return kth


def partition(
    e: Emitter,
    a: Operand,
    kth: Operand,
    axis: Operand = -1,
    kind: Operand = "introselect",
    order: Operand = None,
) -> Value:
    """``np.partition``: a copy."""
    value, at = e.array(a), _kth(e, kth, kind, order)
    if axis is None:
        value, axis = e.view(value, Reshape((size_of(value),))), -1
    options = {"axis": axis_index(e, axis, len(value.shape))}
    # A position out of bounds is found before anything is moved; only comparing complex NaN sets a flag.
    e.may_fail()
    flags = value.dtype.kind == "c"
    results = [(value.shape, value.dtype)]
    return e.lib_call(np.partition, (value, at), options, results, can_fail=flags)[0]


def _partition_method(
    e: Emitter,
    a: Operand,
    kth: Operand,
    axis: Operand = -1,
    kind: Operand = "introselect",
    order: Operand = None,
) -> None:
    value = e.array(a)
    if axis is None:
        raise WouldRaise("axis: an integer is expected, got None")
    store(e, value, partition(e, value, kth, axis, kind, order))


def argpartition(
    e: Emitter,
    a: Operand,
    kth: Operand,
    axis: Operand = -1,
    kind: Operand = "introselect",
    order: Operand = None,
) -> Value:
    """``np.argpartition``: a 0-d array counts as 1-d."""
    value, at = e.array(a), _kth(e, kth, kind, order)
    if axis is None or not value.shape:
        value, axis = e.view(value, Reshape((size_of(value),))), 0 if axis is None else axis
    options = {"axis": axis_index(e, axis, len(value.shape))}
    return e.lib_call(np.argpartition, (value, at), options, [(value.shape, INTP)])[0]


def _lexsort(*keys: object, axis: int) -> object:
    return np.lexsort(keys, axis=axis)  # type: ignore[arg-type]


def lexsort(e: Emitter, keys: Operand, axis: Operand = -1) -> Value:
    """``np.lexsort``: the last key counts most; keys are a sequence, or the first axis of an array."""
    if is_array(e, keys):
        stacked = e.array(keys)
        if len(stacked.shape) < 2:
            raise Unsupported("lexsort of less than two dimensions")
        shape = stacked.shape[1:]
        options = {"axis": axis_index(e, axis, len(shape))}
        if equal(e, stacked.shape[0], 0):
            raise WouldRaise("need sequence of keys with len > 0 in lexsort")
        return e.lib_call(np.lexsort, (stacked,), options, [(shape, INTP)])[0]
    if not isinstance(keys, tuple | list) or not keys:
        raise Unsupported("the keys are not arrays")
    arrays = [e.array(key) for key in keys]
    shape = arrays[0].shape
    if not shape:
        raise Unsupported("lexsort of numbers")
    for other in arrays[1:]:
        alike = len(other.shape) == len(shape)
        if not alike or not all(equal(e, a, b) for a, b in zip(shape, other.shape, strict=True)):
            raise WouldRaise("all keys need to be the same shape")
    options = {"axis": axis_index(e, axis, len(shape))}
    return e.lib_call(_lexsort, arrays, options, [(shape, INTP)])[0]


# Taking


def gather_along(e: Emitter, value: Value, index: Value, at: int) -> Value:
    """Return the elements at these positions of an axis; the axes of the index stand where the axis was."""
    ndim, extra = len(value.shape), len(index.shape)
    front = e.view(value, Permute((at, *(i for i in range(ndim) if i != at))))
    taken = e.gather(front, (index,))
    rest = tuple(range(extra, extra + ndim - 1))
    return e.view(taken, Permute((*rest[:at], *range(extra), *rest[at:])))


def take(
    e: Emitter,
    a: Operand,
    indices: Operand,
    axis: Operand = None,
    out: Operand = None,
    mode: Operand = "raise",
) -> Value:
    """``np.take``. Source: NumPy ``item_selection.c``: ``PyArray_TakeFrom``."""
    value, target = e.array(a), single_out(e, out)
    if axis is None:
        value, at = e.view(value, Reshape((size_of(value),))), 0
    elif not value.shape:
        value, at = e.view(value, Reshape((1,))), axis_index(e, axis, 1)
    else:
        at = axis_index(e, axis, len(value.shape))
    index = e.array(indices)
    if index.dtype.kind == "f" and any(dim == 0 for dim in index.shape) and not e.is_value(indices):
        raise Unsupported("an empty list of indices")
    if index.dtype.kind not in "biu" or index.dtype.str[1:] == "u8":
        raise WouldRaise(f"cannot cast indices from {index.dtype} to intp")
    if index.dtype.kind == "b":
        raise Unsupported("bools as indices of take")
    if mode == "raise":
        taken = gather_along(e, value, index, at)
    elif mode in ("wrap", "clip"):
        if equal(e, value.shape[at], 0):
            raise Unsupported("taking from an empty axis")
        shape = (*value.shape[:at], *index.shape, *value.shape[at + 1 :])
        options = {"axis": at, "mode": mode}
        results = [(shape, value.dtype)]
        (taken,) = e.lib_call(np.take, (value, index), options, results, can_fail=False)
    else:
        raise Unsupported("mode is not 'raise', 'wrap' or 'clip'")
    if target is None:
        return e.scalar(taken)
    if target.dtype != taken.dtype:
        raise Unsupported("out: an array of another dtype")
    return store(e, target, taken)


# Diagonals


def _diagonal(e: Emitter, value: Value, offset: Operand, axis1: Operand, axis2: Operand) -> Value:
    ndim = len(value.shape)
    if ndim < 2:
        raise WouldRaise("diag requires an array of at least two dimensions")
    first, second = axis_index(e, axis1, ndim), axis_index(e, axis2, ndim)
    if first == second:
        raise WouldRaise("axis1 and axis2 cannot be the same")
    shift = constant(e, offset, "offset")
    height, width = value.shape[first], value.shape[second]
    if shift == 0:
        length = minimum(height, width)
    else:
        length = minimum(height + min(shift, 0), width - max(shift, 0))
        length = maximum(length, 0)
    return e.view(value, Diagonal(shift, first, second, length))


def diagonal(
    e: Emitter, a: Operand, offset: Operand = 0, axis1: Operand = 0, axis2: Operand = 1
) -> Value:
    """``np.diagonal``: a read-only view."""
    return _diagonal(e, e.array(a), offset, axis1, axis2)


def trace(
    e: Emitter,
    a: Operand,
    offset: Operand = 0,
    axis1: Operand = 0,
    axis2: Operand = 1,
    dtype: Operand = None,
    out: Operand = None,
) -> Value:
    """``np.trace``: the sum of the diagonal. Source: NumPy ``calculation.c``: ``PyArray_Trace``."""
    entries = _diagonal(e, e.array(a), offset, axis1, axis2)
    target = single_out(e, out)
    total = fold(
        e,
        row("add"),
        entries,
        (len(entries.shape) - 1,),
        dtype=as_dtype(dtype),
        out=None if target is None else target.dtype,
    )
    return e.scalar(total) if target is None else store(e, target, total)


def _triangle(upper: Literal[True, False], e: Emitter, m: Operand, k: Operand = 0) -> Value:
    """``np.triu``, ``np.tril``. Source: NumPy ``lib/_twodim_base_impl.py``: a mask and ``where``."""
    value = e.array(m)
    if not value.shape:
        raise WouldRaise("a triangle of a 0-d array")
    shift = constant(e, k, "k")
    columns = value.shape[-1]
    rows = value.shape[-2] if len(value.shape) > 1 else columns
    if upper:
        shift -= 1
    column = e.view(e.iota(rows, INTP), Basic((Range(0, 1, rows), NewAxis())))
    (shifted,) = apply(e, row("add"), (column, e.fill((), shift, INTP)))
    (below,) = apply(e, row("greater_equal"), (shifted, e.iota(columns, INTP)))
    zero = e.fill((), 0, value.dtype)
    chosen = (zero, value) if upper else (value, zero)
    return e.map(SELECT, (below, *chosen), (BOOL, value.dtype, value.dtype, value.dtype))[0]


# The table

table.define("sort", functions(sort, example.sorts, "sort"))
table.define("sort_method", methods(_sort_method, example.sort_methods, "sort", of_scalars=False))
table.define(
    "argsort",
    functions(argsort, example.sorts, "argsort") + methods(argsort, example.sorts, "argsort"),
)
table.define("partition", functions(partition, example.partitions, "partition"))
table.define(
    "partition_method",
    methods(_partition_method, example.partition_methods, "partition", of_scalars=False),
)
table.define(
    "argpartition",
    functions(argpartition, example.partitions, "argpartition")
    + methods(argpartition, example.partition_methods, "argpartition", of_scalars=False),
)
table.define("lexsort", functions(lexsort, example.key_sorts, "lexsort"))
table.define("take", functions(take, example.takes, "take") + methods(take, example.takes, "take"))
table.define(
    "diagonal",
    functions(diagonal, example.traces, "diagonal")
    + methods(diagonal, example.traces, "diagonal", of_scalars=False),
)
table.define(
    "trace",
    functions(trace, products.traces, "trace")
    + methods(trace, products.traces, "trace", of_scalars=False),
    ulp=4,
)
for _upper, _name in ((True, "triu"), (False, "tril")):
    table.define(_name, functions(partial(_triangle, _upper), example.triangles, _name))
