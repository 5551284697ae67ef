"""Loops as a scientist writes them in plain NumPy, for `test_loop_programs` and the benchmark of loops; nothing is compiled here.

`PROGRAMS` holds them all. Nothing here may depend on what the compiler can do: that is in floors.json.
"""

from __future__ import annotations

from loop_programs import (  # noqa: F401  (importing a file fills the table)
    forms,
    grids,
    matrices,
    series,
    simulations,
    tables,
)
from loop_programs.registry import PROGRAMS, LoopProgram

__all__ = ["PROGRAMS", "LoopProgram"]
