"""Values for which NumPy's own Python code warns or raises: carrying out an expansion fails there, so that NumPy is called itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.ops.emitter import Emitter, Value
from bcjit.ops.operands import BOOL

__all__ = ["Refused", "refuse_where"]


class Refused(Exception):
    """NumPy warns or raises for these values."""


def _refuse(mask: Any) -> np.bool:
    if np.any(mask):
        raise Refused
    return np.False_


def refuse_where(e: Emitter, mask: Value) -> None:
    """Fail when the expansion is carried out, if some element of a mask is true; nothing else depends on it."""
    e.lib_call(_refuse, (mask,), {}, [((), BOOL)])
