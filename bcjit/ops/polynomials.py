"""Polynomials as arrays of coefficients, the highest power first: polyadd, polyder, polyint, polyval, polyfit.

Mirrors NumPy's ``lib/_polynomial_impl.py``. ``poly1d`` objects are no arrays: calls with them are not described. ``polymul`` and ``polydiv``
cut zeros off, so sizes of their results depend on values; of ``roots`` the dtype does too.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from bcjit.dims import Dim, Relation, maximum
from bcjit.ops.elementwise import apply
from bcjit.ops.emitter import DType, Emitter, Operand, Pick, Range, Reshape, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import FLOAT64, agree, check_dtype, constant, equal, expect, less
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.spell import functions
from bcjit.ops.stand_ins import answer, stand_in
from bcjit.ops.table import Rows
from bcjit.ops.views import indexed

__all__: list[str] = []

example = Samplers("polynomials")
table = Rows()

_INT: Final[DType] = np.dtype(int)
_LONGEST = 16  # coefficients that are written out one by one


def _at_least_1d(e: Emitter, operand: Operand) -> Value:
    value = e.array(operand)
    return value if value.shape else e.view(value, Reshape((1,)))


def _vector(e: Emitter, operand: Operand) -> Value:
    value = _at_least_1d(e, operand)
    if len(value.shape) != 1:
        raise Unsupported("coefficients that are not a vector")
    return value


def _slice(e: Emitter, value: Value, start: Dim, length: Dim) -> Value:
    return e.view(value, indexed(value, {0: Range(start, 1, length)}))


def _descending(e: Emitter, length: Dim) -> Value:
    """Return length, ..., 2, 1."""
    (values,) = apply(e, row("subtract"), (length, e.iota(length, _INT)))
    return values


def _sum(ufunc: str, e: Emitter, a1: Operand, a2: Operand) -> Value:
    """``np.polyadd`` and ``np.polysub``: zeros in front of the shorter one."""
    left, right = _vector(e, a1), _vector(e, a2)
    lengths = left.shape[0], right.shape[0]
    if not equal(e, *lengths):
        if less(e, *lengths):
            left = _padded(e, left, lengths[1] - lengths[0])
        else:
            right = _padded(e, right, lengths[0] - lengths[1])
    return apply(e, row(ufunc), (left, right))[0]


def _padded(e: Emitter, value: Value, count: Dim) -> Value:
    return e.concat([e.fill((count,), 0, value.dtype), value], 0, value.dtype)


def polyder(e: Emitter, p: Operand, m: Operand = 1) -> Value:
    """``np.polyder``."""
    order = constant(e, m, "m")
    if order < 0:
        raise WouldRaise("Order of derivative must be positive (see polyint)")
    value = e.array(p)
    if len(value.shape) != 1:
        raise Unsupported("coefficients that are not a vector")
    if order == 0:
        return value
    for _ in range(order):
        length = value.shape[0]
        count = length - 1 if expect(e, Relation("<=", 1, length)) else 0
        factors = _descending(e, count)
        (value,) = apply(e, row("multiply"), (_slice(e, value, 0, count), factors))
    return value


def polyint(e: Emitter, p: Operand, m: Operand = 1, k: Operand = None) -> Value:
    """``np.polyint``."""
    order = constant(e, m, "m")
    if order < 0:
        raise WouldRaise("Order of integral must be positive (see polyder)")
    value = e.array(p)
    if len(value.shape) != 1:
        raise Unsupported("coefficients that are not a vector")
    if order == 0:
        return value
    constants = _constants(e, order, k)
    for i in range(order):
        length = value.shape[0]
        (quotient,) = apply(e, row("divide"), (value, _descending(e, length)))
        last = constants[i]
        dtype = np.promote_types(quotient.dtype, last.dtype)
        value = e.concat([quotient, last], 0, dtype)
    return value


def _constants(e: Emitter, order: int, k: Operand) -> list[Value]:
    """Return the constants of integration, the first one's first, each a vector of one."""
    if k is None:
        return [e.fill((1,), 0, FLOAT64)] * order
    given = _vector(e, k)
    if order > 1 and equal(e, given.shape[0], 1):
        ones = e.fill((1,), 1, FLOAT64)
        return [apply(e, row("multiply"), (given, ones))[0]] * order
    if less(e, given.shape[0], order):
        raise WouldRaise("k must be a scalar or a rank-1 array of length 1 or >m.")
    return [_slice(e, given, i, 1) for i in range(order)]


def polyval(e: Emitter, p: Operand, x: Operand) -> Value:
    """``np.polyval``: by Horner's scheme; opaque where the number of coefficients is unknown or large."""
    coefficients, points = e.array(p), e.array(x)
    if len(coefficients.shape) != 1:
        raise Unsupported("coefficients that are not a vector")
    count = coefficients.shape[0]
    if not expect(e, Relation("!=", count, 0)):
        raise Unsupported("a polynomial without coefficients gives zeros, as an array always")
    if not isinstance(count, int) or count > _LONGEST:
        like = answer(np.polyval, [stand_in(e, coefficients), stand_in(e, points)], {})
        results = [(points.shape, check_dtype(like.dtype))]
        return e.scalar(e.lib_call(np.polyval, (coefficients, points), {}, results)[0])
    total = e.fill(points.shape, 0, points.dtype)
    for i in range(count):
        (scaled,) = apply(e, row("multiply"), (total, points))
        factor = e.view(coefficients, indexed(coefficients, {0: Pick(i)}))
        (total,) = apply(e, row("add"), (scaled, factor))
    return e.scalar(total)


def polymul(e: Emitter, a1: Operand, a2: Operand) -> Value:
    """``np.polymul``: opaque, as it cuts leading zeros off first."""
    left, right = _vector(e, a1), _vector(e, a2)
    like = answer(np.polymul, [stand_in(e, left), stand_in(e, right)], {})
    shape = (e.unknown("coefficients"),)
    return e.lib_call(np.polymul, (left, right), {}, [(shape, like.dtype)])[0]


def polydiv(e: Emitter, u: Operand, v: Operand) -> tuple[Value, ...]:
    """``np.polydiv``: opaque, as it cuts leading zeros of the rest off."""
    left, right = _vector(e, u), _vector(e, v)
    for value in (left, right):
        if not expect(e, Relation("!=", value.shape[0], 0)):
            raise WouldRaise("a polynomial without coefficients")
    likes = answer(np.polydiv, [stand_in(e, left), stand_in(e, right)], {})
    shapes = (maximum(left.shape[0] - right.shape[0] + 1, 1),), (e.unknown("rest"),)
    results = [(shape, like.dtype) for shape, like in zip(shapes, likes, strict=True)]
    return e.lib_call(np.polydiv, (left, right), {}, results)


def poly(e: Emitter, seq_of_zeros: Operand) -> Value:
    """``np.poly`` of real roots; of complex ones, and of matrices, the dtype depends on values."""
    zeros = e.array(seq_of_zeros)
    if not zeros.shape:
        raise WouldRaise("the roots are not a sequence")
    if len(zeros.shape) != 1 or zeros.dtype.kind == "c":
        raise Unsupported("poly of a matrix or of complex roots")
    count = zeros.shape[0]
    if equal(e, count, 0):
        raise Unsupported("poly of no roots is a Python float")
    like = answer(np.poly, [stand_in(e, zeros)], {})
    return e.lib_call(np.poly, (zeros,), {}, [((count + 1,), like.dtype)])[0]


def polyfit(
    e: Emitter,
    x: Operand,
    y: Operand,
    deg: Operand,
    rcond: Operand = None,
    full: Operand = False,
    w: Operand = None,
    cov: Operand = False,
) -> Value | tuple[Value, ...]:
    """``np.polyfit``: least squares, opaque. The sizes of what ``full=True`` gives depend on values."""
    points, values = e.array(x), e.array(y)
    count = constant(e, deg, "deg") + 1
    if count < 1:
        raise WouldRaise("expected deg >= 0")
    if full is not False:
        raise Unsupported("the sizes of the residuals depend on values")
    if not (cov is False or cov is True or cov == "unscaled"):
        raise Unsupported("cov is not a constant bool or 'unscaled'")
    if len(points.shape) != 1 or len(values.shape) not in {1, 2}:
        raise WouldRaise("expected 1D vector for x, 1D or 2D array for y")
    filled = expect(e, Relation("!=", points.shape[0], 0))
    if not filled or not agree(e, points.shape[0], values.shape[0]):
        raise WouldRaise("expected x and y to have same length, and not to be empty")
    factors = None if w is None else e.array(w)
    if factors is not None and (
        len(factors.shape) != 1 or not agree(e, factors.shape[0], values.shape[0])
    ):
        raise WouldRaise("expected a 1-d array for weights, of the length of y")
    if rcond is not None and e.weak_type(rcond) not in {int, float}:
        raise Unsupported("rcond is not a Python number")
    small = [np.ones(4, points.dtype), np.ones((4,) * len(values.shape), values.dtype)]
    weights = None if factors is None else np.ones(4, factors.dtype)
    like = answer(np.polyfit, [*small, 0, None, False, weights, cov], {})
    tail = values.shape[1:]
    operands = (points, values, deg, rcond, full, factors, cov)
    if cov is False:
        return e.lib_call(np.polyfit, operands, {}, [((count, *tail), like.dtype)])[0]
    shared = tuple(1 for _ in tail) if cov == "unscaled" else tail
    shapes = ((count, *tail), (count, count, *shared))
    results = [(shape, one.dtype) for shape, one in zip(shapes, like, strict=True)]
    return e.lib_call(np.polyfit, operands, {}, results)


# The table

for _name, _ufunc in (("polyadd", "add"), ("polysub", "subtract")):
    table.define(_name, functions(partial(_sum, _ufunc), example.sums, _name))
table.define("polyder", functions(polyder, example.derivatives, "polyder"))
table.define("polyint", functions(polyint, example.integrals, "polyint"))
table.define("polyval", functions(polyval, example.evaluations, "polyval"))
table.define("polymul", functions(polymul, example.products, "polymul"))
table.define("polydiv", functions(polydiv, example.products, "polydiv"))
table.define("poly", functions(poly, example.roots, "poly"))
table.define("polyfit", functions(polyfit, example.fits, "polyfit"))
