"""Library routines called with other than positional arguments, for ``lib_call``.

Warnings that NumPy attributes to these frames raise, as in a graph: ``__warningregistry__`` is no dict.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

__all__ = ["covariance", "weighted"]

__warningregistry__: Final = 0


def weighted(
    function: Callable[..., Any], a: object, q: object, weights: object, **options: object
) -> object:
    """Call a quantile with weights."""
    return function(a, q, weights=weights, **options)


def covariance(dtype: object, *args: Any) -> object:
    """Call ``np.cov`` with a dtype."""
    return np.cov(*args, dtype=dtype)  # type: ignore[call-overload]  # any dtype
