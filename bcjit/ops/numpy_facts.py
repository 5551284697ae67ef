"""What differs between the supported versions of NumPy, in one place and mostly found by asking NumPy; no op definitions."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Final

import numpy as np

__all__ = [
    "BROADCAST_KEEPS_ARRAYS",
    "CLIP_TAKES_ANY_INT",
    "COND_IS_REAL",
    "COUNT_IS_PYTHON_INT",
    "COV_KEEPS_ONE_ROW",
    "EIG_IS_COMPLEX",
    "FFT_ALWAYS_FILLS_OUT",
    "FIX_IS_TRUNC",
    "FIX_WARNS",
    "FLOAT64_TAKES_ONE_ELEMENT",
    "MESHES_ARE_A_TUPLE",
    "NORM_OF_NOTHING_IS_ZERO",
    "OUT_TAKES_ELLIPSIS",
    "POWER_IS_OPERATOR",
    "POWER_READS_SCALARS",
    "RFFTN_FROM_THE_LAST",
    "ROUND_COPIES_INTS",
    "SINC_SCALES_FIRST",
    "lacks",
]

_VERSION: Final = np.lib.NumpyVersion(np.__version__)

_INTS: Final = np.zeros(1, np.int64)
_COMPLEX: Final = np.ones((1, 1), np.complex128)


def _norm_of_nothing_is_zero() -> bool:
    try:
        np.linalg.norm(np.zeros(0), np.inf)
    except ValueError:
        return False
    return True


# broadcast_arrays gives those back that have the shape already; older ones do only where all have it.
BROADCAST_KEEPS_ARRAYS: Final = np.broadcast_arrays(_INTS, 0)[0] is _INTS
# clip ignores int limits that the dtype does not reach, and has the keywords min and max.
CLIP_TAKES_ANY_INT: Final = _VERSION >= "2.1.0"
# count_nonzero of all elements gives a Python int, not an intp.
COUNT_IS_PYTHON_INT: Final = not isinstance(np.count_nonzero(np.zeros(1)), np.generic)
# np.float64 makes a number of an array of one element, and warns, as Python's float does.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    FLOAT64_TAKES_ONE_ELEMENT: Final = not isinstance(np.float64(_INTS), np.ndarray)
# meshgrid gives open grids that are not copied in a tuple, not in a list.
MESHES_ARE_A_TUPLE: Final = isinstance(np.meshgrid(0, copy=False, sparse=True), tuple)
_BASES: Final = [np.linspace(0.25, 40, 400, dtype=dtype) for dtype in (np.float32, np.float64)]
# Whether np.power of real numbers gives what ``x ** k`` gives, which is np.reciprocal or np.square for some k.
POWER_IS_OPERATOR: Final = all(
    np.array_equal(np.power(x, x.dtype.type(k)), x**k) for x in _BASES for k in (-1, 2)
)
# ``array ** exponent`` looks at the value of a NumPy scalar or 0-d array, on which the dtype then depends.
POWER_READS_SCALARS: Final = (np.ones(1, np.float16) ** np.int16(1)).dtype == np.float16
# Rounding integers to integers gives a copy, not the array itself.
ROUND_COPIES_INTS: Final = np.round(_INTS) is not _INTS
# cov with ``rowvar=False`` takes a matrix of one row as one variable, not as one observation of each.
COV_KEEPS_ONE_ROW: Final = np.cov(np.zeros((1, 2)), rowvar=False, ddof=0).ndim == 0
# Condition numbers other than the default one are real for complex matrices too.
COND_IS_REAL: Final = np.linalg.cond(_COMPLEX, 1).dtype.kind == "f"
# Eigenvalues of real matrices are complex, whatever they are.
EIG_IS_COMPLEX: Final = np.linalg.eigvals(np.ones((1, 1))).dtype.kind == "c"
# The largest of no absolute values is 0.
NORM_OF_NOTHING_IS_ZERO: Final = _norm_of_nothing_is_zero()
# hfft, ifft2 and irfft2 write into ``out`` like their siblings. (Asking would import numpy.fft, which importing NumPy does not.)
FFT_ALWAYS_FILLS_OUT: Final = _VERSION >= "2.5.0"
# rfftn transforms its axes from the last one to the first, as fftn does.
RFFTN_FROM_THE_LAST: Final = _VERSION >= "2.1.0"

# ``out=...`` asks for an array where there would be a scalar.
OUT_TAKES_ELLIPSIS: Final = _VERSION >= "2.3.0"
# np.fix is np.trunc, of which integers stay integers.
FIX_IS_TRUNC: Final = "trunc" in inspect.unwrap(np.fix).__code__.co_names
# np.fix is deprecated.
FIX_WARNS: Final = "warn" in inspect.unwrap(np.fix).__code__.co_names
# np.sinc multiplies by pi before it looks for zeros.
SINC_SCALES_FIRST: Final = "finfo" in inspect.unwrap(np.sinc).__code__.co_names


def _refuses(target: Callable[..., object], *args: object, **keyword: object) -> bool:
    try:
        target(*args, **keyword)
    except TypeError:
        return True
    return False


# Keywords that some NumPy's functions in C do not have.
_LACKING: Final = tuple(
    (target, name)
    for target, args, name, value in (
        (np.array, (0,), "ndmax", 0),
        (np.asanyarray, (0,), "copy", None),
        (np.asanyarray, (0,), "device", None),
        (np.ndarray.reshape, (_INTS, 1), "copy", None),
    )
    if _refuses(target, *args, **{name: value})
)


def lacks(target: Callable[..., object], name: str) -> bool:
    """Whether a function of NumPy does not have a keyword that other versions of it have."""
    code = getattr(getattr(target, "_implementation", target), "__code__", None)
    if code is not None and not code.co_flags & _TAKES_ANY:
        return name not in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return any(target is known and name == keyword for known, keyword in _LACKING)


_TAKES_ANY: Final = 0x08  # CO_VARKEYWORDS
