"""Processor time of ``import bcjit`` in a program that has imported NumPy, in fresh processes."""

from __future__ import annotations

from typing import Final

from bcjit.bench.capture import IMPORT_AT_MOST, in_fresh_process
from bcjit.bench.measure import Row

PROGRAM: Final = """
import time
{before}
start = time.process_time()
import {module}
print(time.process_time() - start)
"""
NUMPY: Final = PROGRAM.format(before="", module="numpy")
BCJIT: Final = PROGRAM.format(before="import numpy", module="bcjit")


def milliseconds(program: str, times: int) -> float:
    """Return the least of the times that a program prints."""
    return 1e3 * min(in_fresh_process(program)[0] for _ in range(times))


def rows(rounds: int) -> list[Row]:
    """Measure."""
    times = min(rounds, 12)
    milliseconds(BCJIT, 1)  # writes the bytecode files
    note = f"NumPy itself: {milliseconds(NUMPY, times):.1f} ms"
    return [Row("import bcjit after NumPy", IMPORT_AT_MOST, milliseconds(BCJIT, times), "ms", note)]
