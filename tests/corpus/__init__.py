"""Functions of every kind that a NumPy user writes, for the differential tests.

`ENTRIES` holds them all. Nothing here may depend on what the compiler can do, save the
`expects_capture` flag.
"""

from __future__ import annotations

from corpus import (  # noqa: F401  (importing a file fills the table)
    branches,
    calls,
    containers,
    corners,
    dtypes,
    effects,
    elementwise,
    guards,
    loops,
    names,
    objects,
    printing,
    raising,
    random_streams,
    reductions,
    scalars,
    shapes,
    views,
    warning,
    writes,
)
from corpus.registry import ENTRIES, Entry

__all__ = ["ENTRIES", "Entry"]
