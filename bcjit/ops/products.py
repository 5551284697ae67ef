"""Products made of others: tensordot, kron, cross, powers and chains of matrices, ``np.linalg``'s own spellings; no einsum.

Each is written out as the Python function of NumPy that it names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from bcjit.dims import Dim, maximum, minimum
from bcjit.ops.contraction import dot, letters, matmul, outer
from bcjit.ops.creation import identity
from bcjit.ops.elementwise import apply, single_out
from bcjit.ops.emitter import (
    Basic,
    Broadcast,
    Emitter,
    NewAxis,
    Operand,
    Permute,
    Pick,
    Reshape,
    Value,
)
from bcjit.ops.linalg import define_linalg, inverse, square
from bcjit.ops.opdef import Sampler, Unsupported, WouldRaise
from bcjit.ops.operands import (
    axis_index,
    broadcast,
    cast,
    constant,
    copy,
    equal,
    less,
    loop_dtypes,
    size_of,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import ScalarFunction, row
from bcjit.ops.selection import diagonal, trace
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows
from bcjit.ops.views import indexed, with_new_axes

__all__: list[str] = []

example = Samplers("products")
table = Rows()

# tensordot, kron


def _axes_of(e: Emitter, axes: Operand, ndim: int) -> tuple[int, ...]:
    items: Sequence[Operand] = axes if isinstance(axes, tuple | list) else (axes,)
    return tuple(axis_index(e, axis, ndim) for axis in items)


def tensordot(e: Emitter, a: Operand, b: Operand, axes: Operand = 2) -> Value:
    """``np.tensordot``: a 0-d result stays an array. Source: NumPy ``_core/numeric.py``."""
    left, right = e.array(a), e.array(b)
    if isinstance(axes, tuple | list):
        if len(axes) != 2:
            raise WouldRaise("axes: two items are expected")
        axes_left, axes_right = axes
    else:
        count = constant(e, axes, "axes")
        axes_left, axes_right = tuple(range(-count, 0)), tuple(range(count))
    summed = _axes_of(e, axes_left, len(left.shape)), _axes_of(e, axes_right, len(right.shape))
    if len(summed[0]) != len(summed[1]):
        raise WouldRaise("shape-mismatch for sum")
    if any(len(set(some)) != len(some) for some in summed):
        raise WouldRaise("duplicate axes are not allowed in tensordot")
    for i, j in zip(*summed, strict=True):
        if not equal(e, left.shape[i], right.shape[j]):
            raise WouldRaise("shape-mismatch for sum")
    named = letters(len(left.shape) + len(right.shape))
    names, free = list(named[: len(left.shape)]), iter(named[len(left.shape) :])
    shared = dict(zip(summed[1], summed[0], strict=True))
    others = [names[shared[j]] if j in shared else next(free) for j in range(len(right.shape))]
    result = [n for n in names if n not in others] + [n for n in others if n not in names]
    labels = ("".join(names), "".join(others), "".join(result))
    return e.contract(left, right, labels, np.promote_types(left.dtype, right.dtype))


def _linalg_tensordot(e: Emitter, x1: Operand, x2: Operand, /, *, axes: Operand = 2) -> Value:
    return tensordot(e, x1, x2, axes)


def kron(e: Emitter, a: Operand, b: Operand) -> Value:
    """``np.kron``. Source: NumPy ``lib/_shape_base_impl.py``."""
    left, right = e.array(a), e.array(b)
    if not left.shape or not right.shape:
        return e.scalar(apply(e, row("multiply"), (left, right))[0])
    ndim = max(len(left.shape), len(right.shape))
    wide: list[Value] = []
    shapes: list[tuple[Dim, ...]] = []
    for value, at in ((left, 1), (right, 0)):
        missing = ndim - len(value.shape)
        shapes.append((*(1,) * missing, *value.shape))
        full = e.view(value, with_new_axes(value, range(missing))) if missing else value
        wide.append(e.view(full, with_new_axes(full, range(at, 2 * ndim, 2))))
    (result,) = apply(e, row("multiply"), wide)
    return e.view(result, Reshape(tuple(m * n for m, n in zip(*shapes, strict=True))))


# cross


def _last(e: Emitter, value: Value, axis: int) -> Value:
    order = [i for i in range(len(value.shape)) if i != axis]
    return e.view(value, Permute((*order, axis)))


def cross(
    e: Emitter,
    a: Operand,
    b: Operand,
    axisa: Operand = -1,
    axisb: Operand = -1,
    axisc: Operand = -1,
    axis: Operand = None,
) -> Value:
    """``np.cross`` of vectors of three numbers. Source: NumPy ``_core/numeric.py``."""
    if axis is not None:
        axisa = axisb = axisc = axis
    vectors: list[Value] = []
    for vector, along in ((a, axisa), (b, axisb)):
        value = e.array(vector)
        if not value.shape:
            raise WouldRaise("at least one array has zero dimension")
        value = _last(e, value, axis_index(e, along, len(value.shape)))
        if not equal(e, value.shape[-1], 3):
            raise Unsupported("a cross product of other than three numbers warns or raises")
        vectors.append(value)
    dtype = np.promote_types(vectors[0].dtype, vectors[1].dtype)
    parts = [
        [cast(e, e.view(v, indexed(v, {len(v.shape) - 1: Pick(i)})), dtype) for i in range(3)]
        for v in vectors
    ]
    ndim = max(len(parts[0][0].shape), len(parts[1][0].shape)) + 1
    to = axis_index(e, axisc, ndim)
    columns: list[Value] = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        products = [
            apply(e, row("multiply"), (parts[0][m], parts[1][n]))[0] for m, n in ((i, j), (j, i))
        ]
        (column,) = apply(e, row("subtract"), products)
        columns.append(e.view(column, with_new_axes(column, (ndim - 1,))))
    result = e.concat(columns, ndim - 1, dtype)
    order = list(range(ndim - 1))
    order.insert(to, ndim - 1)
    return e.view(result, Permute(tuple(order)))


def _linalg_cross(e: Emitter, x1: Operand, x2: Operand, /, *, axis: Operand = -1) -> Value:
    return cross(e, x1, x2, axis=axis)


# Powers and chains


def matrix_power(e: Emitter, a: Operand, n: Operand) -> Value:
    """``np.linalg.matrix_power``: the array itself for 1. Source: NumPy ``linalg/_linalg.py``."""
    value = square(e, a)
    power = constant(e, n, "n")
    if power == 0:
        one = identity(e, value.shape[-1], value.dtype)
        return one if len(value.shape) == 2 else copy(e, e.view(one, Broadcast(value.shape)))
    if power < 0:
        value, power = inverse(e, value), -power
    if power == 3:
        return matmul(e, matmul(e, value, value), value)
    result: Value | None = None
    while True:
        power, bit = divmod(power, 2)
        if bit:
            result = value if result is None else matmul(e, result, value)
        if not power:
            assert result is not None
            return result
        value = matmul(e, value, value)


def multi_dot(e: Emitter, arrays: Operand, *, out: Operand = None) -> Value:
    """``np.linalg.multi_dot``: in the order of least cost. Source: NumPy ``linalg/_linalg.py``."""
    if not isinstance(arrays, tuple | list):
        raise Unsupported("the arrays are not in a list or a tuple")
    if len(arrays) < 2:
        raise WouldRaise("expecting at least two arrays")
    if len(arrays) == 2:
        return dot(e, arrays[0], arrays[1], out)
    chain = [e.array(item) for item in arrays]
    first, last = (len(chain[i].shape) == 1 for i in (0, -1))
    if first:
        chain[0] = e.view(chain[0], with_new_axes(chain[0], (0,)))
    if last:
        chain[-1] = e.view(chain[-1], with_new_axes(chain[-1], (1,)))
    if any(len(item.shape) != 2 for item in chain):
        raise WouldRaise("the arrays must be matrices, the first and the last may be vectors")
    if single_out(e, out) is not None and (first or last):
        raise Unsupported("out: of a product with a vector")
    result = _in_order(e, chain, _order(e, chain), 0, len(chain) - 1, out)
    if first and last:
        return e.scalar(e.view(result, Basic((Pick(0), Pick(0)))))
    return e.view(result, Reshape((size_of(result),))) if first or last else result


_Order = dict[tuple[int, int], int]


def _order(e: Emitter, chain: Sequence[Value]) -> _Order:
    """Return where to split each stretch of a chain: ``_multi_dot_three``, ``_multi_dot_matrix_chain_order``."""
    n = len(chain)
    sizes = [item.shape[0] for item in chain] + [chain[-1].shape[1]]
    if n == 3:
        (a, b), (c, d) = chain[0].shape, chain[2].shape
        return {(0, 2): 1 if less(e, a * c * (b + d), b * d * (a + c)) else 0, (0, 1): 0, (1, 2): 1}
    costs: dict[tuple[int, int], Dim] = {(i, i): 0 for i in range(n)}
    order: _Order = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            for k in range(i, j):
                cost = costs[i, k] + costs[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if (i, j) not in order or less(e, cost, costs[i, j]):
                    costs[i, j], order[i, j] = cost, k
    return order


def _in_order(
    e: Emitter, chain: Sequence[Value], order: _Order, i: int, j: int, out: Operand = None
) -> Value:
    if i == j:
        return chain[i]
    k = order[i, j]
    return dot(e, _in_order(e, chain, order, i, k), _in_order(e, chain, order, k + 1, j), out)


# np.linalg's spellings of others


def _linalg_matmul(e: Emitter, x1: Operand, x2: Operand, /) -> Value:
    return matmul(e, x1, x2)


def _linalg_outer(e: Emitter, x1: Operand, x2: Operand, /) -> Value:
    left, right = e.array(x1), e.array(x2)
    if len(left.shape) != 1 or len(right.shape) != 1:
        raise WouldRaise("input arrays must be one-dimensional")
    return outer(e, left, right)


def _linalg_diagonal(e: Emitter, x: Operand, /, *, offset: Operand = 0) -> Value:
    return diagonal(e, x, offset, -2, -1)


def _linalg_trace(
    e: Emitter, x: Operand, /, *, offset: Operand = 0, dtype: Operand = None
) -> Value:
    return trace(e, x, offset, -2, -1, dtype)


def matrix_transpose(e: Emitter, x: Operand, /) -> Value:
    """``np.linalg.matrix_transpose``."""
    value = e.array(x)
    ndim = len(value.shape)
    if ndim < 2:
        raise WouldRaise("input array must be at least 2-dimensional")
    return e.view(value, Permute((*range(ndim - 2), ndim - 1, ndim - 2)))


_VECDOT: Final = ScalarFunction("vecdot", np.vecdot, "biu")


def _linalg_vecdot(e: Emitter, x1: Operand, x2: Operand, /, *, axis: Operand = -1) -> Value:
    """``np.linalg.vecdot``: the first operand is conjugated."""
    values: list[Value] = []
    for x in (x1, x2):
        value = e.array(x)
        if not value.shape:
            raise WouldRaise("vecdot of a scalar")
        values.append(_last(e, value, axis_index(e, axis, len(value.shape))))
    dtypes = loop_dtypes(e, _VECDOT, values)
    if dtypes[0].kind == "c":
        values[0] = apply(e, row("conjugate"), (cast(e, values[0], dtypes[0]),))[0]
    if not equal(e, values[0].shape[-1], values[1].shape[-1]):
        raise WouldRaise("the sizes of the core dimension do not match")
    batch = broadcast(e, values[0].shape[:-1], values[1].shape[:-1])
    stack = letters(len(batch))
    wide = [
        v if v.shape[:-1] == batch else e.view(v, Broadcast((*batch, v.shape[-1]))) for v in values
    ]
    labels = (f"{stack}y", f"{stack}y", stack)
    return e.scalar(e.contract(wide[0], wide[1], labels, dtypes[2]))


# Sliding products


def _slide(
    function: Callable[..., object], e: Emitter, left: Value, right: Value, mode: Operand
) -> Value:
    long = maximum(left.shape[0], right.shape[0])
    short = minimum(left.shape[0], right.shape[0])
    lengths: dict[object, Dim] = {
        "full": left.shape[0] + right.shape[0] - 1,
        "same": long,
        "valid": long - short + 1,
    }
    if not isinstance(mode, str) or mode not in lengths:
        raise Unsupported("mode is not 'full', 'same' or 'valid'")
    result = ((lengths[mode],), np.promote_types(left.dtype, right.dtype))
    return e.lib_call(function, (left, right), {"mode": mode}, [result])[0]


def _line(e: Emitter, x: Operand) -> Value:
    value = e.array(x)
    if not value.shape:
        return e.view(value, Basic((NewAxis(),)))
    if len(value.shape) > 1:
        raise WouldRaise("object too deep for desired array")
    return value


def convolve(e: Emitter, a: Operand, v: Operand, mode: Operand = "full") -> Value:
    """``np.convolve`` of arrays of at most one axis."""
    return _slide(np.convolve, e, _line(e, a), _line(e, v), mode)


def correlate(e: Emitter, a: Operand, v: Operand, mode: Operand = "valid") -> Value:
    """``np.correlate`` of 1-d arrays."""
    left, right = e.array(a), e.array(v)
    if len(left.shape) != 1 or len(right.shape) != 1:
        raise WouldRaise("object of too small or too large depth for desired array")
    return _slide(np.correlate, e, left, right, mode)


# The table

for _name, _expand, _sampler, _ulp in (
    ("tensordot", tensordot, example.tensordots, 16),
    ("kron", kron, example.krons, 0),
    ("cross", cross, example.crosses, 0),
    ("convolve", convolve, example.convolutions, 0),
    ("correlate", correlate, example.correlations, 0),
):
    table.define(_name, functions(_expand, _sampler, _name), ulp=_ulp)
_LINALG: Final[tuple[tuple[str, Callable[..., object], Sampler, int], ...]] = (
    ("tensordot", _linalg_tensordot, example.linalg_tensordots, 16),
    ("cross", _linalg_cross, example.linalg_crosses, 0),
    ("matrix_power", matrix_power, example.powers, 16),
    ("multi_dot", multi_dot, example.chains, 16),
    ("matmul", _linalg_matmul, example.products, 16),
    ("outer", _linalg_outer, example.outers, 0),
    ("diagonal", _linalg_diagonal, example.diagonals, 0),
    ("trace", _linalg_trace, example.linalg_traces, 4),
    ("matrix_transpose", matrix_transpose, example.transposes, 0),
    ("vecdot", _linalg_vecdot, example.vecdots, 16),
)
for _row in _LINALG:
    define_linalg(table, _row[1], _row[2], _row[0], _row[3])
