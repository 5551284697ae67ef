"""One result of a function with several, as vector instructions.

Source: C's ``modf`` and ``frexp``, which NumPy's loops call (``loops.c.src``); of infinity and NaN ``frexp`` gives the exponent 0 (glibc, tried).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.backends.native.lanes import Lanes, select
from bcjit.backends.native.text import Vector
from bcjit.ops.scalar_functions import SCALAR_FUNCTIONS, ScalarFunction

__all__ = ["PARTS", "part_rule_of"]

DType: TypeAlias = "np.dtype[Any]"


def _part(name: str) -> ScalarFunction:
    return ScalarFunction(name, None, "f")


_FRACTION, _WHOLE = _part("modf fraction"), _part("modf whole")
_MANTISSA, _EXPONENT = _part("frexp mantissa"), _part("frexp exponent")

# By the name of a function, what gives each of its results.
PARTS: Final[dict[str, tuple[ScalarFunction, ...]]] = {
    "divmod": (SCALAR_FUNCTIONS["floor_divide"], SCALAR_FUNCTIONS["remainder"]),
    "modf": (_FRACTION, _WHOLE),
    "frexp": (_MANTISSA, _EXPONENT),
}


def _fraction(x: Lanes, _dtype: DType) -> Lanes:
    """Of infinity it is zero, with its sign."""
    finite = select(x.magnitude().compare("oeq", np.inf), x.like(0.0), x)
    return (finite - finite.intrinsic("trunc")).with_sign(x)


def _whole(x: Lanes, _dtype: DType) -> Lanes:
    return x.intrinsic("trunc")


def _scaled(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """Return bits with the exponent of a normal number, the bits that its exponent has more than it should, and where there is none."""
    size = np.finfo(x.dtype)
    tiny = ~x.above(float(size.smallest_normal) * (1 - float(size.epsneg)))
    bits = select(tiny, select(tiny, x, 0.0) * 2.0**size.nmant, x).bits()
    magnitude = (1 << (8 * x.dtype.itemsize - 1)) - 1
    without = x.equal(0.0) | x.above(float(size.max))
    return bits & magnitude, select(tiny, bits.like(size.nmant), bits.like(0)), without


def _mantissa(x: Lanes, _dtype: DType) -> Lanes:
    size = np.finfo(x.dtype)
    bits, _, without = _scaled(x)
    half = int(x.dtype.type(0.5).view(x.integers))
    made = ((bits & ((1 << size.nmant) - 1)) | half).as_floats().with_sign(x)
    return select(without, x, made)


def _exponent(x: Lanes, dtype: DType) -> Lanes:
    size = np.finfo(x.dtype)
    x.text.compared("uno", x.vector, x.vector)  # for its flags, where nobody needs the exponent
    bits, more, without = _scaled(x)
    bias = size.maxexp - 2
    made = select(without, bits.like(0), (bits >> size.nmant) - bias - more)
    t = x.text
    if made.dtype.itemsize == dtype.itemsize:
        return Lanes(t, Vector(made.vector.name, dtype))
    return x.make(f"trunc {t.type_of(made.dtype)} {made.vector.name} to {t.type_of(dtype)}", dtype)


_RULES: Final[dict[ScalarFunction, Callable[[Lanes, DType], Lanes]]] = {
    _FRACTION: _fraction,
    _WHOLE: _whole,
    _MANTISSA: _mantissa,
    _EXPONENT: _exponent,
}


def part_rule_of(function: ScalarFunction) -> Callable[[Lanes, DType], Lanes] | None:
    """Return how a result is made of a float32 or float64."""
    return _RULES.get(function)
