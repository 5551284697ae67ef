"""Processor time of ``import bcjit`` in a program that has imported NumPy, and of its first call of a compiled function, in fresh processes.

The figures of one process go together: what is made when it is first needed is paid by the call, not by the import.
"""

from __future__ import annotations

import inspect
from typing import Final

from bcjit.bench.capture import IMPORT_AT_MOST, in_fresh_process
from bcjit.bench.measure import Row
from bcjit.bench.programs import add_one, twenty_operations

# The thread's time: NumPy's linear algebra may have started threads that wait by turning round.
NUMPY: Final = """
import time
start = time.thread_time()
import numpy
print(time.thread_time() - start)
"""
BCJIT: Final = """
from __future__ import annotations
import time
import numpy as np
{first}
{second}
x = np.linspace(0.1, 1.0, 10)
twenty_operations(x), add_one(x)
times = [time.thread_time()]
import bcjit
times.append(time.thread_time())
bcjit.compile(twenty_operations, backend="eager")(x)
times.append(time.thread_time())
bcjit.compile(add_one, backend="eager")(x)
times.append(time.thread_time())
print(*(after - before for before, after in zip(times, times[1:])))
"""


def rows(rounds: int) -> list[Row]:
    """Measure."""
    times = min(rounds, 12)
    program = BCJIT.format(
        first=inspect.getsource(twenty_operations), second=inspect.getsource(add_one)
    )
    in_fresh_process(program)  # writes the bytecode files
    found = [[1e3 * spent for spent in in_fresh_process(program)] for _ in range(times)]
    numpy = 1e3 * min(in_fresh_process(NUMPY)[0] for _ in range(times))
    imported, first, second = (min(column) for column in zip(*found, strict=True))
    both = min(one[0] + one[1] for one in found)
    return [
        Row(
            "import bcjit after NumPy",
            IMPORT_AT_MOST,
            imported,
            "ms",
            f"NumPy itself: {numpy:.1f} ms",
        ),
        Row("first call of the process, 20 operations", 10.0, first, "ms"),
        Row("both", IMPORT_AT_MOST + 10.0, both, "ms", "least of one process"),
        Row("first call of another function, 1 operation", None, second, "ms"),
    ]
