"""Processor time of ``import bcjit`` in a program that has imported NumPy, in fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

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
    """Return the least of the times that a program prints; it may write bytecode files, as installed packages have them."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return 1e3 * min(
        float(
            subprocess.run(
                [sys.executable, "-c", program], env=environment, capture_output=True, check=True
            ).stdout
        )
        for _ in range(times)
    )


def rows(rounds: int) -> list[Row]:
    """Measure."""
    times = min(rounds, 12)
    milliseconds(BCJIT, 1)  # writes the bytecode files
    note = f"NumPy itself: {milliseconds(NUMPY, times):.1f} ms"
    return [Row("import bcjit after NumPy", 60.0, milliseconds(BCJIT, times), "ms", note)]
