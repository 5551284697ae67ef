"""Vectors as one computes with them in Python: operators append LLVM's instructions; the functions are in ``fast_rules``.

Floats have ``+ - * /``, integers ``+ - << >> & | ^``, conditions ``& | ~``; a Python number is a constant of the other operand's dtype. Comparisons of
floats are `equal` and `is_nan` only: the others raise the flag of NaN, so order is asked of `bits`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.backends.native.text import Text, Vector, element_type

__all__ = ["Lanes", "fma", "horner", "select"]

DType: TypeAlias = "np.dtype[Any]"
Number: TypeAlias = "Lanes | float | np.generic"

_BOOL: Final = np.dtype(bool)
_SUFFIXES: Final = {4: "f32", 8: "f64"}


class Lanes:
    """A vector and where its instructions go.

    Parameters
    ----------
    text
        Where instructions go.
    vector
        The vector.
    """

    __slots__ = ("text", "vector")

    def __init__(self, text: Text, vector: Vector) -> None:
        self.text, self.vector = text, vector

    @property
    def dtype(self) -> DType:
        """Of its elements."""
        return self.vector.dtype

    @property
    def integers(self) -> DType:
        """The integers as wide as its elements."""
        return np.dtype(f"i{self.dtype.itemsize}")

    @property
    def floats(self) -> DType:
        """The floats as wide as its elements."""
        return np.dtype(f"f{self.dtype.itemsize}")

    def like(self, value: Number) -> Lanes:
        """Return a number as a vector of this one's dtype."""
        if isinstance(value, Lanes):
            return value
        return Lanes(self.text, self.text.constant(self.dtype.type(value)))

    def make(self, text: str, dtype: DType) -> Lanes:
        """Append an instruction that gives elements of a dtype."""
        return Lanes(self.text, self.text.make(dtype, text))

    def _pair(self, opcode: str, other: Number) -> Lanes:
        kind = self.text.type_of(self.dtype)
        given = f"{self.vector.name}, {self.like(other).vector.name}"
        return self.make(f"{opcode} {kind} {given}", self.dtype)

    def _f(self, opcode: str) -> str:
        return f"f{opcode}" if self.dtype.kind == "f" else opcode

    def __add__(self, other: Number) -> Lanes:
        return self._pair(self._f("add"), other)

    def __sub__(self, other: Number) -> Lanes:
        return self._pair(self._f("sub"), other)

    def __rsub__(self, other: Number) -> Lanes:
        return self.like(other) - self

    def __mul__(self, other: Number) -> Lanes:
        return self._pair(self._f("mul"), other)

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, other: Number) -> Lanes:
        return self._pair("fdiv", other)

    def __rtruediv__(self, other: Number) -> Lanes:
        return self.like(other) / self

    def __neg__(self) -> Lanes:
        return self.make(f"fneg {self.text.type_of(self.dtype)} {self.vector.name}", self.dtype)

    def __lshift__(self, places: int) -> Lanes:
        return self._pair("shl", places)

    def __rshift__(self, places: int) -> Lanes:
        return self._pair("ashr", places)

    def __and__(self, other: Number) -> Lanes:
        return self._pair("and", other)

    def __or__(self, other: Number) -> Lanes:
        return self._pair("or", other)

    def __xor__(self, other: Number) -> Lanes:
        return self._pair("xor", other)

    def __invert__(self) -> Lanes:
        return self ^ 1 if self.dtype == _BOOL else self ^ -1

    # Floats

    def bits(self) -> Lanes:
        """Return the bits of floats as integers."""
        return self._seen_as(self.integers)

    def as_floats(self) -> Lanes:
        """Return the floats of these bits."""
        return self._seen_as(self.floats)

    def _seen_as(self, dtype: DType) -> Lanes:
        kind, target = self.text.type_of(self.dtype), self.text.type_of(dtype)
        return self.make(f"bitcast {kind} {self.vector.name} to {target}", dtype)

    def to_floats(self) -> Lanes:
        """Return integers as floats of the same value."""
        kind, target = self.text.type_of(self.dtype), self.text.type_of(self.floats)
        return self.make(f"sitofp {kind} {self.vector.name} to {target}", self.floats)

    def intrinsic(self, name: str, *others: Number) -> Lanes:
        """Call a function of LLVM's on floats."""
        t, kind = self.text, self.text.type_of(self.dtype)
        given = [(kind, self.like(one).vector.name) for one in (self, *others)]
        function = f"llvm.{name}.v{t.width}{_SUFFIXES[self.dtype.itemsize]}"
        return Lanes(t, Vector(t.call(function, kind, given), self.dtype))

    def magnitude(self) -> Lanes:
        """Return absolute values of floats."""
        return self.intrinsic("fabs")

    def sqrt(self) -> Lanes:
        """Return square roots."""
        return self.intrinsic("sqrt")

    def with_sign(self, sign: Lanes) -> Lanes:
        """Return these magnitudes with the signs of others."""
        return self.intrinsic("copysign", sign)

    # Conditions

    def compare(self, predicate: str, other: Number) -> Lanes:
        """Return the condition of a predicate of LLVM's."""
        opcode = "fcmp" if self.dtype.kind == "f" else "icmp"
        kind = self.text.type_of(self.dtype)
        given = f"{self.vector.name}, {self.like(other).vector.name}"
        return self.make(f"{opcode} {predicate} {kind} {given}", _BOOL)

    def equal(self, other: Number) -> Lanes:
        """Return where elements are equal."""
        return self.compare("oeq" if self.dtype.kind == "f" else "eq", other)

    def is_nan(self) -> Lanes:
        """Return where floats are NaN."""
        return self.compare("uno", self)

    def above(self, limit: float) -> Lanes:
        """Return where the magnitude of floats is above a limit; NaN is above all."""
        return (self.bits() & _magnitude_bits(self.dtype)).compare("sgt", _bits(self, limit))

    def outside(self, low: float, high: float) -> Lanes:
        """Return where floats are not in an interval of positive numbers; negative ones and NaN are outside."""
        first = _bits(self, low)
        return (self.bits() - first).compare("ugt", _bits(self, high) - first)


def _magnitude_bits(dtype: DType) -> int:
    return (1 << (8 * dtype.itemsize - 1)) - 1


def _bits(like: Lanes, value: float) -> int:
    return int(like.floats.type(value).view(like.integers))


def select(condition: Lanes, one: Lanes, other: Number) -> Lanes:
    """Return elements of one where a condition holds, else of the other."""
    t = condition.text
    kind = t.vector_type(element_type(one.dtype))
    names = condition.vector.name, one.vector.name, one.like(other).vector.name
    return one.make(
        f"select {t.vector_type('i1')} {names[0]}, {kind} {names[1]}, {kind} {names[2]}", one.dtype
    )


def fma(one: Lanes, other: Number, added: Number) -> Lanes:
    """Return ``one * other + added``, with one rounding where the target has an instruction for it."""
    return one.intrinsic("fmuladd", other, added)


def horner(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """Return a polynomial, its coefficients from the constant on.

    It is the sum of two in the square of `x` (of even and odd powers): half as long a way as one.
    """
    if len(coefficients) < 5:
        return _horner(x, coefficients)
    square = x * x
    even, odd = coefficients[::2], coefficients[1::2]
    return fma(_horner(square, odd), x, _horner(square, even))


def _horner(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    *rest, last = coefficients
    total = x.like(last)
    for coefficient in reversed(rest):
        total = fma(total, x, coefficient)
    return total
