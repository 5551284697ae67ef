"""The named tuples that NumPy's functions return: an expansion returns one of values, and so says the call's type.

Their classes are C-level tuples with a name for each item; nothing in them runs code of the program.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

import numpy as np

__all__ = [
    "NAMED_TUPLES",
    "EigResult",
    "EighResult",
    "QRResult",
    "SVDResult",
    "SlogdetResult",
    "UniqueAllResult",
    "UniqueCountsResult",
    "UniqueInverseResult",
]

_LINALG: Final[ModuleType] = np.linalg._linalg  # noqa: SLF001
_SETS: Final[ModuleType] = np.lib._arraysetops_impl  # noqa: SLF001

# Built from values, which their annotations (of arrays) do not know.
EigResult: Final[Any] = _LINALG.EigResult
EighResult: Final[Any] = _LINALG.EighResult
QRResult: Final[Any] = _LINALG.QRResult
SVDResult: Final[Any] = _LINALG.SVDResult
SlogdetResult: Final[Any] = _LINALG.SlogdetResult
UniqueAllResult: Final[Any] = _SETS.UniqueAllResult
UniqueCountsResult: Final[Any] = _SETS.UniqueCountsResult
UniqueInverseResult: Final[Any] = _SETS.UniqueInverseResult

NAMED_TUPLES: Final[frozenset[type[tuple[object, ...]]]] = frozenset(
    found
    for module in (_LINALG, _SETS)
    for found in vars(module).values()
    if isinstance(found, type) and issubclass(found, tuple) and found.__module__ == module.__name__
)
