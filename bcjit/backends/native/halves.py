"""Scalar functions of float16: computed in float32 and rounded once more, as NumPy's loops do it; it has no rule of its own for other dtypes.

Source: NumPy ``npymath/halffloat.cpp``, ``loops.c.src`` (``HALF_*``). Sums, products, quotients and roots of float16 are rounded once,
whichever way: float32 has more than twice the bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.backends.native.text import Text, Vector

__all__ = ["half_rule"]

DType: TypeAlias = "np.dtype[Any]"
Rule: TypeAlias = "Callable[[Text, Sequence[Vector], tuple[DType, ...]], Vector]"

_HALF: Final = np.dtype(np.float16)
_SINGLE: Final = np.dtype(np.float32)
_BITS: Final = np.dtype(np.uint16)
_SIGN: Final = np.uint16(0x8000)

# What NumPy computes in float32, and of which no result is rounded to a subnormal number.
_EXACT_BELOW: Final = frozenset(
    {
        "add", "subtract", "sqrt", "floor", "ceil", "trunc", "rint", "sign", "heaviside",
        "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan", "isinf", "isfinite",
        "logical_and", "logical_or", "logical_xor", "logical_not",
    }
)  # fmt: skip
_ROUNDED_BELOW: Final = frozenset(
    {"multiply", "divide", "square", "reciprocal", "deg2rad", "rad2deg", "radians", "degrees"}
)


def half_rule(name: str, dtypes: tuple[DType, ...], rule: Rule | None) -> Rule | None:
    """Return the rule of a function for a loop in which float16 takes part.

    Parameters
    ----------
    name
        The function's.
    dtypes
        Of the loop.
    rule
        That of the same loop with float32 in place of float16.
    """
    if name in _BIT_RULES:
        return _BIT_RULES[name]
    if name == "select":
        return rule
    if rule is None or (name == "cast" and np.dtype(np.float64) in dtypes and dtypes[1] == _HALF):
        return None
    if name == "cast":
        return _through_single(rule, rounds=dtypes[0].kind == "f")
    if name in _EXACT_BELOW | _ROUNDED_BELOW:
        return _through_single(rule, rounds=name in _ROUNDED_BELOW)
    return None


def _wide(dtype: DType) -> DType:
    return _SINGLE if dtype == _HALF else dtype


def _through_single(rule: Rule, *, rounds: bool) -> Rule:
    def made(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
        given = [_extended(t, one) if one.dtype == _HALF else one for one in operands]
        found = rule(t, given, tuple(map(_wide, dtypes)))
        if dtypes[-1] != _HALF:
            return found
        if rounds:
            _raise_underflow(t, found)
        kind = t.type_of(_SINGLE)
        return t.make(_HALF, f"fptrunc {kind} {found.name} to {t.type_of(_HALF)}")

    return made


def _extended(t: Text, value: Vector) -> Vector:
    return t.make(_SINGLE, f"fpext {t.type_of(_HALF)} {value.name} to {t.type_of(_SINGLE)}")


def _raise_underflow(t: Text, value: Vector) -> None:
    """Raise the underflow flag wherever NumPy might: it looks before it rounds, x86 behind.

    Whatever is below 2**-13 and not 0 gives a subnormal number here that is not exact: the last of its bits is set.
    """
    kind = t.type_of(_SINGLE)
    by = t.constant(np.float32(2.0**-113 * (1 + 2.0**-23)))
    t.call(
        f"llvm.experimental.constrained.fmul.v{t.width}f32",
        kind,
        [
            (kind, value.name),
            (kind, by.name),
            ("metadata", '!"round.tonearest"'),
            ("metadata", '!"fpexcept.strict"'),
        ],
    )


# Those that only look at bits, or change them: no NaN becomes another one.


def _bits(t: Text, value: Vector) -> Vector:
    return t.make(_BITS, f"bitcast {t.type_of(_HALF)} {value.name} to {t.type_of(_BITS)}")


def _of_bits(t: Text, text: str) -> Vector:
    made = t.make(_BITS, text)
    return t.make(_HALF, f"bitcast {t.type_of(_BITS)} {made.name} to {t.type_of(_HALF)}")


def _with_bits(opcode: str, mask: np.uint16) -> Rule:
    def rule(t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
        bits, other = _bits(t, operands[0]), t.constant(mask)
        return _of_bits(t, f"{opcode} {t.type_of(_BITS)} {bits.name}, {other.name}")

    return rule


def _copied_sign(t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
    kind = t.type_of(_BITS)
    size, sign = _bits(t, operands[0]), _bits(t, t.fence(operands[1]))
    rest, bit = t.constant(~_SIGN), t.constant(_SIGN)
    size = t.make(_BITS, f"and {kind} {size.name}, {rest.name}")
    sign = t.make(_BITS, f"and {kind} {sign.name}, {bit.name}")
    return t.fence(_of_bits(t, f"or {kind} {size.name}, {sign.name}"))


def _sign_bit(t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
    wide = _extended(t, operands[0])
    t.compared("uno", wide, wide)  # for its flags, where nobody needs the sign
    bits, bit = _bits(t, operands[0]), t.constant(_SIGN)
    return t.make(np.dtype(bool), f"icmp uge {t.type_of(_BITS)} {bits.name}, {bit.name}")


def _same(_t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
    return operands[0]


def _extreme(predicate: str) -> Rule:
    """Of equal ones the first, as of NaN."""

    def rule(t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
        wide = [_extended(t, one) for one in operands]
        kind = t.type_of(_SINGLE)
        beyond = t.compared(predicate, *wide).name
        nan = t.value(f"fcmp uno {kind} {wide[0].name}, {wide[0].name}")
        first = t.value(f"or {t.vector_type('i1')} {beyond}, {nan}")
        half = t.type_of(_HALF)
        names = f"{half} {operands[0].name}, {half} {operands[1].name}"
        return t.make(_HALF, f"select {t.vector_type('i1')} {first}, {names}")

    return rule


_BIT_RULES: Final[dict[str, Rule]] = {
    "negative": _with_bits("xor", _SIGN),
    "absolute": _with_bits("and", ~_SIGN),
    "fabs": _with_bits("and", ~_SIGN),
    "copysign": _copied_sign,
    "signbit": _sign_bit,
    "positive": _same,
    "conjugate": _same,
    "maximum": _extreme("oge"),
    "minimum": _extreme("ole"),
}
