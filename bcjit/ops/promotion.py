"""The dtype that operands promote to outside of ufuncs: ``np.result_type`` of arrays and Python scalars."""

from __future__ import annotations

from typing import Final

import numpy as np

from bcjit.ops.emitter import DType, Emitter, Operand
from bcjit.ops.operands import default_dtype

__all__ = ["promoted"]

# Stand-ins of unknown Python scalars, of which only the type matters (NEP 50).
_WEAK: Final[dict[type, object]] = {int: 0, float: 0.0, complex: 0j}


def promoted(e: Emitter, *operands: Operand) -> DType:
    """Return the dtype of ``np.result_type``."""
    kinds = [_WEAK.get(e.weak_type(x) or bool, None) for x in operands]
    given = [default_dtype(e, x) if k is None else k for x, k in zip(operands, kinds, strict=True)]
    return np.result_type(*given)  # type: ignore[arg-type]
