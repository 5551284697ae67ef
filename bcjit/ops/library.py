"""Other library routines that stay opaque: FFT, interpolation, convolution, search; only their results are known."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from bcjit.dims import Dim, floor_divide
from bcjit.ops.emitter import DType, Emitter, Operand, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import FLOAT64, INTP, axis_index, equal, less
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import define

__all__: list[str] = []

example = Samplers("algebra")

_COMPLEX128: Final[DType] = np.dtype(np.complex128)


# FFT


def _fft(name: str, e: Emitter, a: Operand, n: Operand = None, axis: Operand = -1) -> Value:
    """``np.fft.fft``, ``ifft``, ``rfft``, ``irfft``. Source: NumPy ``fft/_pocketfft.py``: ``_raw_fft``."""
    value = e.array(a)
    if value.dtype == np.float16:
        raise Unsupported("float16 in an FFT")
    at = axis_index(e, axis, len(value.shape))
    length: Dim = value.shape[at]
    count = e.integer(n)
    if n is not None and count is None:
        raise Unsupported("n is not a known integer")
    if count is None:
        count = (length - 1) * 2 if name == "irfft" else length
    if less(e, count, 1):
        raise WouldRaise("Invalid number of FFT data points")
    real = np.result_type(_real(value.dtype), 1.0)
    if name == "rfft" and value.dtype.kind == "c":
        raise WouldRaise("rfft of complex numbers")
    out = floor_divide(count, 2) + 1 if name == "rfft" else count
    dtype = real if name == "irfft" else np.result_type(real, 1j)
    shape = (*value.shape[:at], out, *value.shape[at + 1 :])
    options = {"n": n, "axis": axis}
    function = getattr(np.fft, name)
    return e.lib_call(function, (value,), options, [(shape, dtype)])[0]


def _real(dtype: DType) -> DType:
    return np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


# Interpolation, search, convolution


def interp(e: Emitter, x: Operand, xp: Operand, fp: Operand) -> Value:
    """``np.interp``: float64 or complex128, of the shape of x."""
    points, knots, values = e.array(x), e.array(xp), e.array(fp)
    if points.dtype.kind == "c" or knots.dtype.kind == "c":
        raise Unsupported("interp at complex points warns or raises")
    if len(knots.shape) != 1 or len(values.shape) != 1:
        raise WouldRaise("interp: the data points must be 1-d")
    if not equal(e, knots.shape[0], values.shape[0]) or equal(e, knots.shape[0], 0):
        raise WouldRaise("interp: fp and xp are not of the same length, or empty")
    dtype = _COMPLEX128 if values.dtype.kind == "c" else FLOAT64
    operands = (points, knots, values)
    (result,) = e.lib_call(np.interp, operands, {}, [(points.shape, dtype)])
    return e.scalar(result)


def searchsorted(e: Emitter, a: Operand, v: Operand, side: Operand = "left") -> Value:
    """``np.searchsorted``: positions, of the shape of v."""
    values, sought = e.array(a), e.array(v)
    if len(values.shape) != 1:
        raise WouldRaise("object too deep for desired array")
    if side not in {"left", "right"}:
        raise Unsupported("side is not 'left' or 'right'")
    options = {"side": side}
    (result,) = e.lib_call(np.searchsorted, (values, sought), options, [(sought.shape, INTP)])
    return e.scalar(result)


def convolve(e: Emitter, a: Operand, v: Operand, mode: Operand = "full") -> Value:
    """``np.convolve`` of 1-d arrays."""
    left, right = e.array(a), e.array(v)
    if len(left.shape) != 1 or len(right.shape) != 1:
        raise Unsupported("convolution of arrays that are not 1-d")
    long, short = left.shape[0], right.shape[0]
    if equal(e, long, 0) or equal(e, short, 0):
        raise WouldRaise("a cannot be empty")
    if less(e, long, short):
        long, short = short, long
    lengths: dict[object, Dim] = {
        "full": long + short - 1,
        "same": long,
        "valid": long - short + 1,
    }
    if not isinstance(mode, str) or mode not in lengths:
        raise Unsupported("mode is not 'full', 'same' or 'valid'")
    dtype = np.promote_types(left.dtype, right.dtype)
    options = {"mode": mode}
    return e.lib_call(np.convolve, (left, right), options, [((lengths[mode],), dtype)])[0]


# The table


def _define_fft(name: str) -> None:
    expand: Any = partial(_fft, name)
    define(f"fft.{name}", functions(expand, example.ffts, name, module=np.fft))


for _name in ("fft", "ifft", "rfft", "irfft"):
    _define_fft(_name)
define("interp", functions(interp, example.interps, "interp"))
define(
    "searchsorted",
    functions(searchsorted, example.searches, "searchsorted")
    + methods(searchsorted, example.searches, "searchsorted", of_scalars=False),
)
define("convolve", functions(convolve, example.convolutions, "convolve"))
