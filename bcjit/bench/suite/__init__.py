"""The suite: programs as NumPy users write them, plain against compiled; ``python -m bcjit bench suite``.

``program`` says what a program is; ``finance``, ``images``, ``stencils``, ``weather``, ``learning``, ``physics``, ``signals``, ``matrices`` and ``tables`` hold them;
``measuring`` measures one, ``figures`` makes the tables, ``picture`` draws them.
"""

from __future__ import annotations

from typing import Final

from bcjit.bench.suite import (
    finance,
    images,
    learning,
    matrices,
    physics,
    signals,
    stencils,
    tables,
    weather,
)
from bcjit.bench.suite.program import SIZES, Program

__all__ = ["PROGRAMS", "SIZES", "Program"]

_MODULES: Final = (
    finance,
    images,
    stencils,
    weather,
    learning,
    physics,
    signals,
    matrices,
    tables,
)
PROGRAMS: Final = {program.name: program for module in _MODULES for program in module.PROGRAMS}
