"""``np.fft``: the transforms of one axis are library calls, those of several are made of them, as in NumPy's own Python.

Source: NumPy ``fft/_pocketfft.py`` and ``fft/_helper.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Final

import numpy as np

from bcjit.dims import Dim, floor_divide
from bcjit.ops.elementwise import apply, single_out, store
from bcjit.ops.emitter import DType, Emitter, Operand, Value
from bcjit.ops.movement import roll
from bcjit.ops.numpy_facts import FFT_ALWAYS_FILLS_OUT, RFFTN_FROM_THE_LAST
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import FLOAT64, INTP, axis_index, less
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("fft")
table = Rows()

_NORMS: Final = (None, "backward", "ortho", "forward")
# Functions whose result is real, or half as long, or whose argument is real.
_TO_REAL: Final = ("irfft", "hfft")
_TO_HALF: Final = ("rfft", "ihfft")
_IGNORES_OUT: Final = () if FFT_ALWAYS_FILLS_OUT else ("hfft", "ifft2", "irfft2")


def _real(dtype: DType) -> DType:
    return np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


def _line(e: Emitter, name: str, value: Value, n: Operand, axis: Operand, norm: Operand) -> Value:
    """One transform along one axis. Source: ``_raw_fft``."""
    if norm not in _NORMS:
        raise WouldRaise("norm: should be 'backward', 'ortho' or 'forward'")
    at = axis_index(e, axis, len(value.shape))
    length: Dim = value.shape[at]
    count = e.integer(n)
    if n is not None and count is None:
        raise Unsupported("n is not an integer")
    if count is None:
        count = (length - 1) * 2 if name in _TO_REAL else length
    if less(e, count, 1):
        raise WouldRaise("invalid number of FFT data points")
    if name in _TO_HALF and value.dtype.kind == "c":
        raise WouldRaise(f"{name} of complex numbers")
    size = floor_divide(count, 2) + 1 if name in _TO_HALF else count
    if name in _TO_REAL:
        dtype = np.result_type(_real(value.dtype), 1.0)
    else:
        dtype = np.result_type(value.dtype, 1j)
    shape = (*value.shape[:at], size, *value.shape[at + 1 :])
    options = {"n": None if n is None else count, "axis": at, "norm": norm}
    return e.lib_call(getattr(np.fft, name), (value,), options, [(shape, dtype)])[0]


def _into(e: Emitter, name: str, out: Operand, result: Value) -> Value:
    target = single_out(e, out)
    if target is None:
        return result
    if name in _IGNORES_OUT:
        raise Unsupported("out: this NumPy does not write into it")
    if isinstance(out, tuple):
        raise WouldRaise("out: an array is expected")
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise WouldRaise("out: cannot be cast to")
    return store(e, target, result)


def _fft(
    name: str,
    e: Emitter,
    a: Operand,
    n: Operand = None,
    axis: Operand = -1,
    norm: Operand = None,
    out: Operand = None,
) -> Value:
    return _into(e, name, out, _line(e, name, e.array(a), n, axis, norm))


# Several axes


def _sizes_and_axes(
    e: Emitter, value: Value, s: Operand, axes: Operand
) -> tuple[list[Operand], list[int]]:
    """Return ``n`` for each axis, None for its whole size. Source: ``_cook_nd_args``."""
    ndim = len(value.shape)
    if axes is None:
        if s is not None:
            raise Unsupported("s without axes warns")
        places = list(range(ndim))
    else:
        if not isinstance(axes, tuple | list):
            raise Unsupported("axes is not a sequence")
        places = [axis_index(e, axis, ndim) for axis in axes]
    if s is None:
        return [None] * len(places), places
    if not isinstance(s, tuple | list):
        raise Unsupported("s is not a sequence")
    if len(s) != len(places):
        raise WouldRaise("shape and axes have different lengths")
    if any(item is None for item in s):
        raise Unsupported("None in s warns")
    return [None if _is_whole(item) else item for item in s], places


def _is_whole(size: Operand) -> bool:
    return type(size) is int and size == -1


def _all(
    e: Emitter,
    name: str,
    value: Value,
    sizes: Sequence[Operand],
    axes: Sequence[int],
    norm: Operand,
) -> Value:
    for size, axis in zip(sizes, axes, strict=True):
        value = _line(e, name, value, size, axis, norm)
    return value


def _fftn(name: str, e: Emitter, a: Value, s: Operand, axes: Operand, norm: Operand) -> Value:
    sizes, places = _sizes_and_axes(e, a, s, axes)
    if len(set(places)) != len(places):
        raise Unsupported("an axis is transformed twice")
    if name in {"fft", "ifft"}:
        return _all(e, name, a, sizes[::-1], places[::-1], norm)
    if not places:
        raise WouldRaise("no axis to transform")
    if name == "rfft":
        half = _line(e, "rfft", a, sizes[-1], places[-1], norm)
        others = slice(-2, None, -1) if RFFTN_FROM_THE_LAST else slice(-1)
        return _all(e, "fft", half, sizes[others], places[others], norm)
    full = _all(e, "ifft", a, sizes[:-1], places[:-1], norm)
    return _line(e, "irfft", full, sizes[-1], places[-1], norm)


def _several(
    line: str,
    name: str,
    e: Emitter,
    a: Operand,
    s: Operand = None,
    axes: Operand = None,
    norm: Operand = None,
    out: Operand = None,
) -> Value:
    value, target = e.array(a), single_out(e, out)
    result = _fftn(line, e, value, s, axes, norm)
    if target is not None and (s is not None or target.dtype != result.dtype):
        # Each axis is written into it.
        raise Unsupported("out: with sizes, or of another dtype than the result's")
    return _into(e, name, out, result)


def _two(
    line: str,
    name: str,
    e: Emitter,
    a: Operand,
    s: Operand = None,
    axes: Operand = (-2, -1),
    norm: Operand = None,
    out: Operand = None,
) -> Value:
    return _several(line, name, e, a, s, axes, norm, out)


# Frequencies and shifts


def _spacing(e: Emitter, n: Operand, d: Operand, device: Operand) -> tuple[Dim, Value]:
    """Return the number of points, and ``1.0 / (n * d)``."""
    count = e.integer(n)
    if count is None:
        raise Unsupported("n is not an integer")
    if e.weak_type(d) not in {int, float} or device not in (None, "cpu"):
        raise Unsupported("d is not a Python number, or device is not the CPU")
    if less(e, count, 1):
        raise Unsupported("no frequencies")
    e.may_fail()  # d may be 0
    span = apply(e, row("multiply"), (e.fill((), count, FLOAT64), e.fill((), d, FLOAT64)))
    return count, apply(e, row("divide"), (1.0, span[0]))[0]


def fftfreq(e: Emitter, n: Operand, d: Operand = 1.0, device: Operand = None) -> Value:
    """``np.fft.fftfreq``."""
    count, step = _spacing(e, n, d, device)
    half = floor_divide(count - 1, 2) + 1
    negative = count - half
    (lower,) = apply(e, row("subtract"), (e.iota(negative, INTP), e.fill((), negative, INTP)))
    steps = e.concat((e.iota(half, INTP), lower), 0, INTP)
    return apply(e, row("multiply"), (steps, step))[0]


def rfftfreq(e: Emitter, n: Operand, d: Operand = 1.0, device: Operand = None) -> Value:
    """``np.fft.rfftfreq``."""
    count, step = _spacing(e, n, d, device)
    steps = e.iota(floor_divide(count, 2) + 1, INTP)
    return apply(e, row("multiply"), (steps, step))[0]


def _shift(sign: int, e: Emitter, x: Operand, axes: Operand = None) -> Value:
    """``np.fft.fftshift`` and ``ifftshift``: half around."""
    value = e.array(x)
    ndim = len(value.shape)
    if not ndim:
        raise Unsupported("a 0-d array raises")
    if axes is None:
        places = tuple(range(ndim))
    elif isinstance(axes, tuple | list):
        places = tuple(axis_index(e, axis, ndim) for axis in axes)
    else:
        places = (axis_index(e, axes, ndim),)
    if not places:
        raise Unsupported("no axis: versions of NumPy raise or do not")
    by = tuple(floor_divide(value.shape[axis], 2) * sign for axis in places)
    return roll(e, value, by, places)


# The table

_MODULES: Final = tuple(sys.modules[f"numpy.fft.{name}"] for name in ("_helper", "_pocketfft"))


def _define(name: str, expand: Callable[..., object], sampler: Any) -> None:
    # NumPy's versions differ in the order of the axes.
    spellings = functions(expand, sampler, name, module=np.fft)
    table.define(f"fft.{name}", filter(_is_numpys, spellings), ulp=16)


def _is_numpys(spelling: Spelling) -> bool:
    """Whether what a name of the module means is NumPy's: by now the program may have put something else there."""
    function = getattr(spelling.target, "_implementation", spelling.target)
    return isinstance(function, FunctionType) and function.__globals__ in map(vars, _MODULES)


for _name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
    _define(_name, partial(_fft, _name), example.lines)
for _name in ("fft", "ifft", "rfft", "irfft"):
    _define(f"{_name}2", partial(_two, _name, f"{_name}2"), example.planes)
    _define(f"{_name}n", partial(_several, _name, f"{_name}n"), example.volumes)
_define("fftfreq", fftfreq, example.frequencies)
_define("rfftfreq", rfftfreq, example.frequencies)
_define("fftshift", partial(_shift, 1), example.shifts)
_define("ifftshift", partial(_shift, -1), example.shifts)
