"""Functions as polynomials, at most 4 units in the last place from the true value: the option ``fast``.

A rule is right for usual operands; `Fast.unusual` says where they are not, and there NumPy's own loop computes the vector: whatever overflows, huge arguments of
``sin``, subnormal ones of ``log``. So flags are NumPy's, but for underflow and inexact, of which there may be more. NaN is usual, and raises nothing.

Arguments are reduced as by W. J. Cody and W. Waite (Software Manual for the Elementary Functions, 1980): a constant is taken away in parts of so few bits that
the products are exact, with or without fused multiply-add. The polynomials are our own (``polynomials``).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.backends.native.lanes import Lanes, fma, horner, select
from bcjit.backends.native.polynomials import POLYNOMIALS
from bcjit.records import dataclass

__all__ = ["FAST", "POWERS", "Fast", "inverse"]

DType: TypeAlias = "np.dtype[Any]"


@dataclass(frozen=True, slots=True)
class Fast:
    """A function of floats.

    Attributes
    ----------
    value
        Computes it for usual operands.
    unusual
        Where operands are not usual; None: they always are.
    """

    value: Callable[..., Lanes]
    unusual: Callable[..., Lanes] | None


@dataclass(frozen=True, slots=True)
class _Format:
    """What depends on the precision."""

    fraction: int  # bits
    bias: int
    magic: float  # added to a number and taken away again it leaves the nearest integer, which its last bits are meanwhile
    half_pi: tuple[float, ...]
    ln2: tuple[float, float]
    log10_2: tuple[float, float]
    most_angle: float
    most_exp: float  # beyond, the exponential may overflow
    most_sinh: float  # beyond, a power of 2 in the way would be subnormal
    least_exp: float  # below, it is 0
    most_exp2: float
    least_exp2: float
    flat: float  # beyond, tanh is 1, and expm1 of its negative -1


_FORMATS: Final = {
    "d": _Format(
        52, 1023, 1.5 * 2.0**52,
        (1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32),
        (0.6931471803691238, 1.9082149292705877e-10), (0.3010299955494702, 1.1451100898021838e-10),
        1.6e6, 709.0, 708.0, -746.0, 1023.5, -1080.0, 40.0,
    ),
    "f": _Format(
        23, 127, 1.5 * 2.0**23,
        (1.5703125, 0.0004837512969970703, 7.549533620476723e-08, 2.5633440682570896e-12),
        (0.693145751953125, 1.428606765330187e-06), (0.301025390625, 4.605039066518657e-06),
        6.0e3, 88.0, 87.0, -104.0, 127.5, -156.0, 18.0,
    ),
}  # fmt: skip


def _format(x: Lanes) -> _Format:
    return _FORMATS[x.dtype.char]


def _polynomial(name: str, x: Lanes) -> Lanes:
    return horner(x, POLYNOMIALS[name][x.dtype.char])


def _integer_bits(x: Lanes) -> int:
    return int(x.dtype.type(_format(x).magic).view(x.integers))


def _power_of_two(k: Lanes) -> Lanes:
    """Return 2 to the power of integers, in the range of normal numbers; 0 for the one below it."""
    form = _FORMATS[k.floats.char]
    return ((k + form.bias) << form.fraction).as_floats()


# Sine and cosine: the nearest multiple k of pi/2 is taken away, in four parts; the last two bits of k choose between +-sin and +-cos.


def _turned(x: Lanes, *, careful: bool = False) -> tuple[Lanes, Lanes, Lanes]:
    """Return sine and cosine of what is left of a magnitude, and an integer whose last bits are the quadrant.

    What the second and third subtraction round away is added again where it is asked for.
    """
    form = _format(x)
    shifted = fma(x, 2 / math.pi, form.magic)
    k = shifted - form.magic
    first, second, third, fourth = form.half_pi
    r = fma(k, -first, x)
    after = fma(k, -second, r)
    last = fma(k, -third, after)
    lost = x.like(0.0)
    if careful:
        lost = fma(k, -second, r - after) + fma(k, -third, after - last)
    r = last + fma(k, -fourth, lost) if careful else fma(k, -fourth, last)
    u = r * r
    sine = fma(r, u * _polynomial("sin", u), r)
    cosine = fma(u * u, _polynomial("cos", u), fma(u, -0.5, 1.0))
    return sine, cosine, shifted.bits()


def _sign_bit(x: Lanes, bits: Lanes, place: int) -> Lanes:
    """Return what flips the sign where the bit at a place is set."""
    return (bits << (8 * x.dtype.itemsize - 1 - place)) & _sign(x)


def _sign(x: Lanes) -> int:
    return -(1 << (8 * x.dtype.itemsize - 1))


def _sin(x: Lanes) -> Lanes:
    sine, cosine, quadrant = _turned(x.magnitude())
    found = select((quadrant & 1).equal(0), sine, cosine).bits()
    return (found ^ _sign_bit(x, quadrant, 1) ^ (x.bits() & _sign(x))).as_floats()


def _cos(x: Lanes) -> Lanes:
    sine, cosine, quadrant = _turned(x.magnitude())
    found = select((quadrant & 1).equal(0), cosine, sine).bits()
    return (found ^ _sign_bit(x, quadrant + 1, 1)).as_floats()


def _tan(x: Lanes) -> Lanes:
    sine, cosine, quadrant = _turned(x.magnitude(), careful=True)
    even = (quadrant & 1).equal(0)
    found = (select(even, sine, cosine) / select(even, cosine, sine)).bits()
    return (found ^ _sign_bit(x, quadrant, 0) ^ (x.bits() & _sign(x))).as_floats()


def _far(x: Lanes) -> Lanes:
    return x.above(_format(x).most_angle) & ~x.is_nan()


# Exponentials: 2**k times the exponential of what is left, at most ln(2)/2 from 0.


def _above(limit: str) -> Callable[[Lanes], Lanes]:
    """Return what says where a number is above a limit; NaN is not."""

    def unusual(x: Lanes) -> Lanes:
        bound = getattr(_format(x), limit)
        return x.bits().compare("sgt", _bits(x, bound)) & ~x.is_nan()

    return unusual


def _bits(x: Lanes, value: float) -> int:
    return int(x.dtype.type(value).view(x.integers))


def _at_least(x: Lanes, limit: float) -> Lanes:
    """Return a number, or a negative limit where it is below; negative NaN becomes the limit."""
    below = x.bits().compare("ugt", _bits(x, limit))
    return select(below, x.like(limit), x)


def _parts(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return the integer k and what is left of ``x - k ln(2)``."""
    form = _format(x)
    shifted = fma(x, 1 / math.log(2), form.magic)
    k = shifted - form.magic
    r = fma(k, -form.ln2[1], fma(k, -form.ln2[0], x))
    return shifted.bits() - _integer_bits(x), r


def _scaled(x: Lanes, k: Lanes) -> Lanes:
    """Return ``x * 2**k`` for a number near 1: in two steps, of which the last may leave the range of normal numbers."""
    half = k >> 1
    first = (x.bits() + (half << _format(x).fraction)).as_floats()
    return first * _power_of_two(k - half)


def _exp(x: Lanes) -> Lanes:
    k, r = _parts(_at_least(x, _format(x).least_exp))
    found = _scaled(fma(r * r, _polynomial("exp", r), r) + 1.0, k)
    return select(x.is_nan(), x, found)


def _exp2(x: Lanes) -> Lanes:
    form = _format(x)
    bounded = _at_least(x, form.least_exp2)
    shifted = bounded + form.magic
    r = bounded - (shifted - form.magic)
    found = _scaled(fma(r, _polynomial("exp2", r), 1.0), shifted.bits() - _integer_bits(x))
    return select(x.is_nan(), x, found)


def _grown(x: Lanes) -> Lanes:
    """Return the exponential less 1, for numbers whose exponential does not overflow, but for the sign of 0."""
    k, r = _parts(x)
    power = _power_of_two(k)
    return fma(power, fma(r * r, _polynomial("exp", r), r), power - 1.0)


def _expm1(x: Lanes) -> Lanes:
    found = _grown(_at_least(x, -_format(x).flat)).with_sign(x)
    return select(x.is_nan(), x, found)


def _tanh(x: Lanes) -> Lanes:
    """Return ``t / (t + 2)`` where t is the exponential of twice the number, less 1."""
    size = x.magnitude()
    flat = _format(x).flat / 2
    large = size.bits().compare("sgt", _bits(x, flat))
    double = select(large, x.like(flat), size)
    t = _grown(double + double)
    return select(x.is_nan(), x, (t / (t + 2.0)).with_sign(x))


def _halves(x: Lanes) -> tuple[Lanes, Lanes, Lanes, Lanes]:
    """Return sinh and cosh - 1 of what is left of a magnitude, and cosh and sinh of what was taken away."""
    k, r = _parts(x)
    u = r * r
    sine = fma(r, u * _polynomial("sinh", u), r)
    cosine = fma(u * u, _polynomial("cosh", u), u * 0.5)
    up, down = _power_of_two(k - 1), _power_of_two(-1 - k)
    return sine, cosine, up + down, up - down


def _sinh(x: Lanes) -> Lanes:
    sine, cosine, a, b = _halves(x.magnitude())
    return (fma(a, sine, b * cosine) + b).with_sign(x)


def _cosh(x: Lanes) -> Lanes:
    sine, cosine, a, b = _halves(x.magnitude())
    return fma(b, sine, a * cosine) + a


def _large(x: Lanes) -> Lanes:
    return x.above(_format(x).most_sinh) & ~x.is_nan()


# Logarithms: x is 2**k (1 + f), 1 + f between the root of 1/2 and the root of 2.


def _reduced(x: Lanes) -> tuple[Lanes, Lanes]:
    """Return the integer k and 1 + f."""
    form = _format(x)
    bits = x.bits()
    k = (bits - _bits(x, math.sqrt(0.5))) >> form.fraction
    return k, (bits - (k << form.fraction)).as_floats()


def _as_floats(k: Lanes) -> Lanes:
    """Return small integers as floats."""
    like = Lanes(k.text, k.text.constant(k.floats.type(0)))
    return (k + _integer_bits(like)).as_floats() - _format(like).magic


def _bent(f: Lanes) -> Lanes:
    """Return the logarithm of 1 + f, less f."""
    return (f * f) * fma(f, _polynomial("log", f), -0.5)


def _sum(k: Lanes, f: Lanes) -> Lanes:
    high, low = _format(f).ln2
    whole = _as_floats(k)
    return fma(whole, high, f + fma(whole, low, _bent(f)))


def _log(x: Lanes) -> Lanes:
    k, m = _reduced(x)
    return select(x.is_nan(), x, _sum(k, m - 1.0))


def _log2(x: Lanes) -> Lanes:
    k, m = _reduced(x)
    f = m - 1.0
    found = fma(f + _bent(f), 1 / math.log(2), _as_floats(k))
    return select(x.is_nan(), x, found)


def _log10(x: Lanes) -> Lanes:
    k, m = _reduced(x)
    f = m - 1.0
    high, low = _format(x).log10_2
    whole = _as_floats(k)
    found = fma(whole, high, fma(f + _bent(f), 1 / math.log(10), whole * low))
    return select(x.is_nan(), x, found)


def _log1p(x: Lanes) -> Lanes:
    """Of 1 + x rounded, with what rounding took away added to f."""
    w = x + 1.0
    lost = x - (w - 1.0)
    k, m = _reduced(w)
    f = fma(lost, _power_of_two(0 - k), m - 1.0)
    return select(x.is_nan(), x, _sum(k, f).with_sign(x))


def _no_logarithm(x: Lanes) -> Lanes:
    """Return where a number is not positive, not normal or not finite; NaN is usual."""
    info = np.finfo(x.dtype)
    return x.outside(float(info.tiny), float(info.max)) & ~x.is_nan()


def _no_logarithm_of_next(x: Lanes) -> Lanes:
    """Return where 1 + x has no logarithm, or is so large that a power of 2 in the way would be subnormal."""
    info = np.finfo(x.dtype)
    w = x + 1.0
    return w.outside(float(info.tiny), float(info.max) / 4) & ~x.is_nan()


def _hypot(x: Lanes, y: Lanes) -> Lanes:
    return fma(x, x, y * y).sqrt()


def _no_squares(x: Lanes, y: Lanes) -> Lanes:
    """Return where squares would overflow, or be subnormal; zeros are usual."""
    most = {"d": 2.0**510, "f": 2.0**62}[x.dtype.char]
    least = {"d": 2.0**-480, "f": 2.0**-50}[x.dtype.char]
    one, other = x.magnitude().bits(), y.magnitude().bits()
    greater = select(one.compare("sgt", other), one, other)
    first = _bits(x, least)
    far = (greater - first).compare("ugt", _bits(x, most) - first)
    return far & ~greater.equal(0)


def _logaddexp(x: Lanes, y: Lanes) -> Lanes:
    """Return the greater, and what the exponential of the difference adds."""
    greater = select(x.compare("ogt", y), x, y)
    return greater + _log1p(_exp(-(x - y).magnitude()))


def _cancels(x: Lanes, y: Lanes) -> Lanes:
    """Return where a number is not finite, or the greater is negative and not much less than 0: what is added, at most ln(2), takes it away."""
    most, near = float(np.finfo(x.dtype).max), _bits(x, 2.0 * math.log(2))
    sizes = x.magnitude().bits(), y.magnitude().bits()
    close = sizes[0].compare("slt", near) | sizes[1].compare("slt", near)
    negative = (x.bits() & y.bits()).compare("slt", 0)
    return x.above(most) | y.above(most) | (close & negative)


# Powers by constants: products of squares, and of a root. Each operation counts for one unit at most, as often as its result is a factor: so at most 4.


def _product(x: Lanes, count: int) -> Lanes:
    """Return a positive power."""
    found: Lanes | None = None
    square = x
    while count:
        if count & 1:
            found = square if found is None else found * square
        count >>= 1
        if count:
            square = square * square
    assert found is not None
    return found


def _power(exponent: float) -> Fast:
    """Return the power by a multiple of a half."""
    whole, half = divmod(abs(exponent), 1)

    def value(x: Lanes, _exponent: Lanes) -> Lanes:
        factors = [_product(x, int(whole))] if whole else []
        factors += [x.sqrt()] if half else []
        found = reduce(operator.mul, factors)
        return found if exponent > 0 else 1.0 / found

    def is_small(x: Lanes, _exponent: Lanes) -> Lanes:
        """Return where a result would be subnormal: whether NumPy says something then is its business."""
        limit = float(np.finfo(x.dtype).tiny) ** (1 / exponent) * 1.01
        # 0 becomes the greatest.
        return (x.magnitude().bits() - 1).compare("ult", _bits(x, limit) - 1)

    def unusual(x: Lanes, _exponent: Lanes) -> Lanes:
        ends = {"d": (2.0**-120, 2.0**120), "f": (2.0**-15, 2.0**15)}[x.dtype.char]
        size = x if half else x.magnitude()
        far = size.outside(*ends) & ~x.is_nan()
        return far if exponent < 0 else far & ~x.bits().equal(0)

    return Fast(value, is_small if exponent > 0 and not half else unusual)


def inverse(x: Lanes) -> Lanes:
    """Return what multiplies instead of dividing by a number; where that is as good as nothing, NaN, and the invalid flag is raised."""
    info = np.finfo(x.dtype)
    size = x.magnitude()
    poor = size.outside(float(info.tiny) * 4, float(info.max) / 16) & ~x.is_nan()
    poor = poor & ~size.bits().equal(0) & ~size.bits().equal(_bits(x, math.inf))
    return select(poor, x.like(0.0), 1.0) / select(poor, x.like(0.0), x)


POWERS: Final = {
    exponent: _power(exponent)
    for exponent in (3.0, 4.0, 5.0, 1.5, 2.5, 3.5, -0.5, -1.5, -2.0, -3.0, -4.0)
}  # fmt: skip


FAST: Final[dict[str, Fast]] = {
    "sin": Fast(_sin, _far),
    "cos": Fast(_cos, _far),
    "tan": Fast(_tan, _far),
    "exp": Fast(_exp, _above("most_exp")),
    "exp2": Fast(_exp2, _above("most_exp2")),
    "expm1": Fast(_expm1, _above("most_exp")),
    "tanh": Fast(_tanh, None),
    "sinh": Fast(_sinh, _large),
    "cosh": Fast(_cosh, _large),
    "log": Fast(_log, _no_logarithm),
    "log2": Fast(_log2, _no_logarithm),
    "log10": Fast(_log10, _no_logarithm),
    "log1p": Fast(_log1p, _no_logarithm_of_next),
    "hypot": Fast(_hypot, _no_squares),
    "logaddexp": Fast(_logaddexp, _cancels),
}
