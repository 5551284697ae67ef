"""Processor time of ``import bcjit`` in a program that has imported NumPy, in fresh processes."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

from benchmarks.measure import Row

PROGRAM: Final = """
import time
import numpy
start = time.process_time()
import bcjit
print(time.process_time() - start)
"""


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
    milliseconds(PROGRAM, 1)  # writes the bytecode files
    return [Row("import bcjit after NumPy", 60.0, milliseconds(PROGRAM, min(rounds, 12)), "ms")]
