"""Whether NumPy would say anything of the floating-point flags that a kernel raised."""

from __future__ import annotations

from typing import Final

import numpy as np

__all__ = ["flags_matter"]

# As bcjit/csrc/kernel.h numbers them.
_BITS: Final = {"divide": 1, "over": 2, "under": 4, "invalid": 8}


def flags_matter(flags: int) -> bool:
    """Whether one of these flags is not ignored by NumPy's present error state."""
    state = dict(np.geterr())
    return any(flags & bit and state[kind] != "ignore" for kind, bit in _BITS.items())
