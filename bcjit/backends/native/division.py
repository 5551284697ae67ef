"""Floor division and remainders as vector instructions: NumPy's bits, and a flag wherever NumPy might have something to say.

Source: NumPy ``loops_arithmetic.dispatch.c.src``, ``loops_modulo.dispatch.c.src``, ``npy_math_internal.h.src`` (``npy_divmod``). Processors have no
vectors of integer quotients. What NumPy warns of, and what these ways are not exact for, raises the invalid flag, so that
NumPy does it again (`program.flags_that_count`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.backends.native.engine import machine
from bcjit.backends.native.lanes import Lanes, select
from bcjit.backends.native.text import Text, Vector

__all__ = ["QUOTIENTS", "can_divide", "division_rule"]

DType: TypeAlias = "np.dtype[Any]"
Rule: TypeAlias = "Callable[[Text, Sequence[Vector], tuple[DType, ...]], Vector]"
Pair: TypeAlias = "tuple[Lanes, Lanes]"

QUOTIENTS: Final = frozenset({"floor_divide", "remainder"})
_INT32, _INT64 = np.dtype(np.int32), np.dtype(np.int64)
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def can_divide(dtype: DType) -> bool:
    """Whether the processor has the instructions for elements of a dtype: LLVM would call functions, or go one by one."""
    known = machine()
    if dtype.kind == "f":
        return known.fuses and known.rounds
    return known.rounds and (dtype.itemsize < 8 or known.long_floats)


def division_rule(name: str) -> Rule:
    """Return the rule of a function of `QUOTIENTS`, for integers and floats."""
    place = 0 if name == "floor_divide" else 1

    def rule(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
        value, by = (Lanes(t, one) for one in operands)
        known = operands[1].value
        if dtypes[0].kind == "f":
            return _of_floats(value, by)[place].vector
        if known is not None and _is_multiplied(int(known), value.dtype):
            return _by_constant(value, by, int(known))[place].vector
        return (_of_long if value.dtype.itemsize == 8 else _of_short)(value, by)[place].vector

    return rule


# Integers


def _converted(opcode: str, value: Lanes, dtype: DType) -> Lanes:
    t = value.text
    if t.type_of(value.dtype) == t.type_of(dtype):
        return Lanes(t, Vector(value.vector.name, dtype))
    return value.make(
        f"{opcode} {t.type_of(value.dtype)} {value.vector.name} to {t.type_of(dtype)}", dtype
    )


def _is_multiplied(known: int, dtype: DType) -> bool:
    """Whether LLVM has vectors for the division by a constant: of 64 bits only shifts. Those by 0 and -1 are not to raise a flag less."""
    if known in (0, -1):
        return False
    size = abs(known)
    return dtype.itemsize < 8 or size & (size - 1) == 0 or size > 1 << 62


def _by_constant(value: Lanes, by: Lanes, known: int) -> Pair:
    """LLVM multiplies by the inverse as an integer, or shifts. No flag is raised."""
    signed = value.dtype.kind == "i"
    kind = value.text.type_of(value.dtype)
    opcode = "sdiv" if signed else "udiv"
    names = f"{value.vector.name}, {by.vector.name}"
    quotient = value.make(f"{opcode} {kind} {names}", value.dtype)
    rest = value - quotient * by
    if not signed:
        return quotient, rest
    below = rest.compare("slt" if known > 0 else "sgt", 0)
    return select(below, quotient - 1, quotient), select(below, rest + by, rest)


def _of_short(value: Lanes, by: Lanes) -> Pair:
    """Multiply by the inverse as a float: zero, and what does not fit, is beyond the range of the conversion back, which raises the flag.

    Floats have many more bits than these integers: with a half added to what is divided, no quotient is so close to an integer
    that the product is on the other side of it.
    """
    dtype = value.dtype
    signed, size = dtype.kind == "i", dtype.itemsize
    floats = _SINGLE if size < 4 else _DOUBLE
    one, other = (
        _converted("sext" if signed else "zext", given, _INT32) if size < 4 else given
        for given in (value, by)
    )
    to_float = "sitofp" if signed or size < 4 else "uitofp"
    divisor = _converted(to_float, other, floats)
    half = divisor.like(0.5).with_sign(divisor)
    product = (_converted(to_float, one, floats) + half) * (1.0 / divisor)
    if signed and size < 4:
        low = value.compare("eq", np.iinfo(dtype).min) & by.compare("eq", -1)
        product = select(low, product.like(np.nan), product)
    floor = product.intrinsic("floor")
    if size == 4 and not signed:
        quotient = _whole(floor - 2.0**31, _INT32) ^ np.iinfo(_INT32).min
    else:
        quotient = _whole(floor, _INT32)
    rest = _signed(one) - quotient * _signed(other)
    return _converted("trunc", quotient, dtype), _converted("trunc", rest, dtype)


def _of_long(value: Lanes, by: Lanes) -> Pair:
    """The same in two steps: products of floats are off by some thousands, and what is left then is divided once more.

    Rounded to the nearest integer, the second one is at most one too large: what is left has the wrong sign then.
    """
    dtype, signed = value.dtype, value.dtype.kind == "i"
    to_float = "sitofp" if signed else "uitofp"
    inverse = 1.0 / _converted(to_float, by, _DOUBLE)
    product = _converted(to_float, value, _DOUBLE) * inverse
    if not signed:
        large = by.compare("ugt", 1 << 62)  # of what is left, the sign would be lost
        product = select(large, product.like(np.nan), product)
    quotient = _signed(_whole(product, dtype))
    divisor = _signed(by)
    rest = _signed(value) - quotient * divisor
    more = (_converted("sitofp", rest, _DOUBLE) * inverse).intrinsic("rint")
    more = _whole(more, _INT64)
    quotient, rest = quotient + more, rest - more * divisor
    below = rest.compare("slt", 0)
    if signed:
        below = (rest ^ divisor).compare("slt", 0) & rest.compare("ne", 0)
    quotient = select(below, quotient - 1, quotient)
    rest = select(below, rest + divisor, rest)
    return _converted("trunc", quotient, dtype), _converted("trunc", rest, dtype)


def _whole(value: Lanes, dtype: DType) -> Lanes:
    return Lanes(value.text, value.text.whole(value.vector, dtype))


def _signed(value: Lanes) -> Lanes:
    return Lanes(value.text, Vector(value.vector.name, value.integers))


# Floats


def _of_floats(value: Lanes, by: Lanes) -> Pair:
    """``npy_divmod``, step by step, but for its first: the rest of a division is exact, so it does not matter how it is found.

    Where the quotient fits, its product with the divisor is subtracted in one rounding, which has nothing to round. Of larger ones, and
    of infinite numbers, the invalid flag is raised.
    """
    ratio = value / by
    whole = ratio.intrinsic("trunc")
    large = _quiet(ratio.magnitude(), "oge", 2.0 ** (np.finfo(value.dtype).nmant + 1))
    whole = select(large, whole.like(np.inf), whole)
    divisor = select(large, by.like(0.0), by)
    rest = (-whole).intrinsic("fma", divisor, value)
    # One too many where the ratio was rounded up.
    beyond = (rest.bits() ^ value.bits()).compare("slt", 0) & ~rest.equal(0.0)
    rest = select(beyond, rest + by.with_sign(value), rest)
    is_exact = rest.equal(0.0)
    quotient = (value - rest) / by
    below = (rest.bits() ^ by.bits()).compare("slt", 0) & ~is_exact
    quotient = select(below, quotient - 1.0, quotient)
    rest = select(below, rest + by, rest)
    rest = select(is_exact, by.like(0.0).with_sign(by), rest)
    floor = quotient.intrinsic("floor")
    nearer = _quiet(quotient - floor, "ogt", 0.5)
    floor = select(nearer, floor + 1.0, floor)
    return select(quotient.equal(0.0), ratio.like(0.0).with_sign(ratio), floor), rest


def _quiet(value: Lanes, predicate: str, limit: float) -> Lanes:
    """Compare without the flag of NaN."""
    t = value.text
    return Lanes(t, t.compared(predicate, value.vector, value.like(limit).vector))
