"""Samples for functions that cut arrays."""

from __future__ import annotations

from typing import Final

import numpy as np

from bcjit.ops.opdef import sample
from bcjit.ops.samples.values import each

__all__ = ["short_splits", "splits", "unstacks"]

splits: Final = each(
    sample(2),
    sample(2, 1),
    sample(2, axis=-1),
    sample(0),
    sample(-1),
    sample([1]),
    sample((1, 3), 2),
    sample([-1, 9], 1),
    sample([]),
    sample(np.int64(1)),
    sample(1, 5),
)
short_splits: Final = each(sample(2), sample([1, 2]), sample(1))
unstacks: Final = each(sample(), sample(axis=1), sample(axis=-1), sample(axis=4))
