"""Scalar functions of complex numbers, over their parts as they lie in memory: real and imaginary by turns.

Sums are those of the parts. Products are computed as NumPy's vector loops do it, which on some processors round a product and a sum at once
(``loops_arithm_fp.dispatch.c.src``: ``simd_cmul``): which way it is here is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.backends.native.engine import machine
from bcjit.backends.native.text import Text, Vector

__all__ = ["complex_rule", "real_of"]

DType: TypeAlias = "np.dtype[Any]"
Rule: TypeAlias = "Callable[[Text, Sequence[Vector], tuple[DType, ...]], Vector]"

_SUFFIXES: Final = {8: "f32", 16: "f64"}


def complex_rule(name: str, dtypes: tuple[DType, ...], of_parts: Rule | None) -> Rule | None:
    """Return the rule of a function for a loop in which complex numbers take part.

    Parameters
    ----------
    name
        The function's.
    dtypes
        Of the loop.
    of_parts
        The rule of the same loop of real numbers.
    """
    if dtypes[-1].kind != "c":
        return None
    if name in ("multiply", "square"):
        way = product_of(dtypes[0], name)
        return None if way is None else _product(fused=way == "fused")
    if name == "cast":
        if dtypes[0].kind == "c":
            return _converted
        part = real_of(dtypes[1])
        return None if of_parts is None and dtypes[0] != part else _made_complex(of_parts)
    return _RULES.get(name)


def real_of(dtype: DType) -> DType:
    """Return the dtype of a complex number's parts."""
    return np.dtype(f"f{dtype.itemsize // 2}")


def _by_parts(opcode: str) -> Rule:
    def rule(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
        one, other = operands
        return t.make(dtypes[-1], f"{opcode} {t.type_of(one.dtype)} {one.name}, {other.name}")

    return rule


def _with_signs_turned(*, real: bool) -> Rule:
    """Turn signs over as bits: NaN have some too."""

    def rule(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
        (value,), size = operands, dtypes[0].itemsize // 2
        bits = f"<{2 * t.width} x i{8 * size}>"
        sign = -(1 << (8 * size - 1))
        pair = f"i{8 * size} {sign if real else 0}, i{8 * size} {sign}"
        mask = f"<{', '.join([pair] * t.width)}>"
        kind = t.type_of(value.dtype)
        whole = t.value(f"bitcast {kind} {value.name} to {bits}")
        turned = t.value(f"xor {bits} {whole}, {mask}")
        return t.make(dtypes[-1], f"bitcast {bits} {turned} to {kind}")

    return rule


def _same(_t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
    return operands[0]


def _converted(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    (value,), (source, target) = operands, dtypes
    if source == target:
        return value
    opcode = "fpext" if target.itemsize > source.itemsize else "fptrunc"
    return t.make(target, f"{opcode} {t.type_of(source)} {value.name} to {t.type_of(target)}")


def _made_complex(of_parts: Rule | None) -> Rule:
    def rule(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
        part, (value,) = real_of(dtypes[1]), operands
        if value.dtype != part:
            assert of_parts is not None
            value = of_parts(t, operands, (dtypes[0], part))
        places = ", ".join(f"i32 {at}" for i in range(t.width) for at in (i, t.width + i))
        kind, zero = t.type_of(part), t.opaque(part.type(0))
        text = f"shufflevector {kind} {value.name}, {kind} {zero.name}, <{2 * t.width} x i32> <{places}>"
        return t.make(dtypes[1], text)

    return rule


def _shuffled(t: Text, value: Vector, first: int, second: int) -> str:
    """Return a vector with these of each two parts: 0 the real one, 1 the imaginary one."""
    kind = t.type_of(value.dtype)
    places = ", ".join(f"i32 {2 * i + at}" for i in range(t.width) for at in (first, second))
    return t.value(
        f"shufflevector {kind} {value.name}, {kind} poison, <{2 * t.width} x i32> <{places}>"
    )


def _product(*, fused: bool) -> Rule:
    def rule(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
        one, other = operands[0], operands[-1]  # of a square the same
        kind, lanes = t.type_of(dtypes[0]), 2 * t.width
        real, imaginary = _shuffled(t, one, 0, 0), _shuffled(t, one, 1, 1)
        crossed = t.value(f"fmul {kind} {imaginary}, {_shuffled(t, other, 1, 0)}")
        if fused:
            name = f"llvm.fma.v{lanes}{_SUFFIXES[dtypes[0].itemsize]}"
            given = [(kind, real), (kind, other.name)]
            negated = t.value(f"fneg {kind} {crossed}")
            less = t.call(name, kind, [*given, (kind, negated)])
            more = t.call(name, kind, [*given, (kind, crossed)])
        else:
            straight = t.value(f"fmul {kind} {real}, {other.name}")
            less = t.value(f"fsub {kind} {straight}, {crossed}")
            more = t.value(f"fadd {kind} {straight}, {crossed}")
        places = ", ".join(f"i32 {at}" for i in range(t.width) for at in (2 * i, lanes + 2 * i + 1))
        mask = f"<{lanes} x i32> <{places}>"
        return t.make(dtypes[-1], f"shufflevector {kind} {less}, {kind} {more}, {mask}")

    return rule


_RULES: Final[dict[str, Rule]] = {
    "add": _by_parts("fadd"),
    "subtract": _by_parts("fsub"),
    "negative": _with_signs_turned(real=True),
    "conjugate": _with_signs_turned(real=False),
    "positive": _same,
}


@cache
def product_of(dtype: DType, name: str) -> str | None:
    """Return how NumPy multiplies complex numbers that lie side by side: "fused", "plain", or None where it is neither."""
    part = real_of(dtype).type
    one, other = _factors(dtype)
    a, b, c, d = one.real, one.imag, other.real, other.imag
    if name == "square":
        other, c, d = one, a, b
    made = np.multiply(one, other) if name == "multiply" else np.square(one)
    plain, crossed = (a * c - b * d, a * d + b * c), (b * d, b * c)
    if np.array_equal(made.real, plain[0]) and np.array_equal(made.imag, plain[1]):
        return "plain"

    def fused(x: Any, y: Any, z: Any, sign: int) -> list[object]:
        exact = [
            Fraction(float(p)) * Fraction(float(q)) + sign * Fraction(float(r))
            for p, q, r in zip(x, y, z, strict=True)
        ]
        return [_rounded(one, part) for one in exact]

    same = made.real.tolist() == fused(a, c, crossed[0], -1)
    same = same and made.imag.tolist() == fused(a, d, crossed[1], 1)
    return "fused" if same and machine().fuses else None


@cache
def turns(dtype: DType, name: str) -> bool:
    """Whether NumPy multiplies complex numbers in another way, with other last bits, where they go backwards, or one is an array of no stride."""
    one, other = _factors(dtype)
    back, other_back = one[::-1].copy()[::-1], other[::-1].copy()[::-1]
    if name == "square":
        return not np.array_equal(np.square(back), np.square(one))
    pairs = ((back, other), (one, other_back), (back, other_back))
    expected = np.multiply(one, other)
    single = [one[i : i + 1, None] * other[i : i + 1] for i in range(len(one))]
    if not np.array_equal(np.concatenate(single).ravel(), expected):
        return True
    return not all(np.array_equal(np.multiply(*pair), expected) for pair in pairs)


def _factors(dtype: DType) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return numbers whose products are rounded, the same on each machine."""
    part = real_of(dtype).type
    parts = [part((i * 7919 % 10007) / 97 - 50) for i in range(1, 4 * 37 + 1)]
    one, other = np.empty(37, dtype), np.empty(37, dtype)
    one.real, one.imag, other.real, other.imag = (np.array(parts[i::4], part) for i in range(4))
    return one, other


def _rounded(value: Fraction, part: type) -> float:
    """Return the nearest float32 or float64, of which there is one: ties have few digits, and are none of those asked for."""
    near = float(value)
    if part is np.float64:
        return near
    low = np.float32(near)
    around = (low, np.nextafter(low, np.float32(-np.inf)), np.nextafter(low, np.float32(np.inf)))
    return min((float(one) for one in around), key=lambda one: abs(Fraction(one) - value))
