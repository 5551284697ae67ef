"""What differs between the supported versions of NumPy, in one place and found by asking NumPy; no op definitions."""

from __future__ import annotations

from typing import Final

import numpy as np

__all__ = [
    "CLIP_TAKES_ANY_INT",
    "COND_IS_REAL",
    "COUNT_IS_PYTHON_INT",
    "EIG_IS_COMPLEX",
    "FFT_ALWAYS_FILLS_OUT",
    "NORM_OF_NOTHING_IS_ZERO",
    "POWER_READS_SCALARS",
    "RFFTN_FROM_THE_LAST",
    "ROUND_COPIES_INTS",
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


# clip ignores int limits that the dtype does not reach, and has the keywords min and max.
CLIP_TAKES_ANY_INT: Final = _VERSION >= "2.1.0"
# count_nonzero of all elements gives a Python int, not an intp.
COUNT_IS_PYTHON_INT: Final = not isinstance(np.count_nonzero(np.zeros(1)), np.generic)
# ``array ** exponent`` looks at the value of a NumPy scalar or 0-d array, on which the dtype then depends.
POWER_READS_SCALARS: Final = (np.ones(1, np.float16) ** np.int16(1)).dtype == np.float16
# Rounding integers to integers gives a copy, not the array itself.
ROUND_COPIES_INTS: Final = np.round(_INTS) is not _INTS
# Condition numbers other than the default one are real for complex matrices too.
COND_IS_REAL: Final = np.linalg.cond(_COMPLEX, 1).dtype.kind == "f"
# Eigenvalues of real matrices are complex, whatever they are.
EIG_IS_COMPLEX: Final = np.linalg.eigvals(np.ones((1, 1))).dtype.kind == "c"
# The largest of no absolute values is 0.
NORM_OF_NOTHING_IS_ZERO: Final = _norm_of_nothing_is_zero()
# hfft, ifft2 and irfft2 write into ``out`` like their siblings.
FFT_ALWAYS_FILLS_OUT: Final = np.fft.ifft2(_COMPLEX, out=_COMPLEX) is _COMPLEX
# rfftn transforms its axes from the last one to the first, as fftn does.
RFFTN_FROM_THE_LAST: Final = _VERSION >= "2.1.0"
