"""What `make demo` runs: the three probes, then four real jobs, compiled and plain side by side.

Printed for each job: the subgraphs, the guards in words, the recompilations, whether the results equal plain NumPy's bit
for bit, and both times, measured in turns in this one run.
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import black_scholes
import filter_chain
import heat_plate
import numpy as np
import probe_branch
import probe_random
import probe_shape

import bcjit

RUNS = 7
# Machine code where llvmlite is installed, as `make demo` has it; else NumPy's calls with planned buffers.
BACKEND = "native" if importlib.util.find_spec("llvmlite") else "fused"


@dataclass(frozen=True)
class JobFacts:
    """What a job showed."""

    name: str
    graphs: int
    equal: bool
    plain_seconds: float
    compiled_seconds: float


def same_bits(a: object, b: object) -> bool:
    """Whether two results are equal to the bit: types, dtypes, shapes, bytes."""
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same_bits, a, b))
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return type(a) is type(b) and a == b
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def best_of(functions: list[Callable[[], object]], runs: int = RUNS) -> list[float]:
    """Least time of each function in seconds, measured in turns so that all meet the same machine."""
    best = [float("inf")] * len(functions)
    for _ in range(runs):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def run_job(function: Callable[..., object], calls: list[tuple[object, ...]]) -> JobFacts:
    """Compile a function, call it with each tuple of arguments, and show everything about it."""
    compiled = bcjit.compile(function, backend=BACKEND)
    same = [same_bits(function(*args), compiled(*args)) for args in calls]
    print(compiled.explain(*calls[0]))
    print(compiled.report())
    plain, fast = best_of([lambda: function(*calls[0]), lambda: compiled(*calls[0])])
    print(f"equal to plain NumPy bit for bit, {len(calls)} calls: {all(same)}")
    print(
        f"plain {plain * 1e3:.2f} ms, compiled ({BACKEND}) {fast * 1e3:.2f} ms: {fast / plain:.3f} of plain"
    )
    return JobFacts(function.__name__, len(compiled.graphs), all(same), plain, fast)


def summary(jobs: list[JobFacts]) -> str:
    """Return a line a job, below each other."""
    lines = [
        f"{'job':<14}{'graphs':>7}{'equal':>7}{'plain ms':>10}{'compiled ms':>13}{'times as fast':>15}"
    ]
    for job in jobs:
        equal, plain, fast = "yes" if job.equal else "NO", job.plain_seconds, job.compiled_seconds
        lines.append(
            f"{job.name:<14}{job.graphs:>7}{equal:>7}{plain * 1e3:>10.2f}{fast * 1e3:>13.2f}{plain / fast:>15.2f}"
        )
    return "\n".join(lines)


def title(text: str) -> None:
    """Print a heading."""
    print(f"\n=== {text} ===")


def main() -> list[JobFacts]:
    """Run everything in order."""
    title("probe (a): a branch on data, called with 0, 1, -1")
    probe_branch.main()
    title("probe (b): shapes as symbols, called with 3, 5, 7, 100 elements")
    probe_shape.main()
    title("probe (c): random numbers")
    probe_random.main()

    title(f"Black-Scholes, {black_scholes.OPTIONS:,} options")
    spot, strike, years, rate, volatility = black_scholes.market()
    in_float32 = tuple(a.astype(np.float32) for a in (spot, strike, years))
    prices = run_job(
        black_scholes.black_scholes,
        [
            (spot, strike, years, rate, volatility),
            (spot[:1000], strike[:1000], years[:1000], 0.05, 0.25),
            (*in_float32, rate, volatility),
        ],
    )

    photo = filter_chain.photograph()
    title(f"filter chain over a photograph of {photo.shape[0]} by {photo.shape[1]} pixels")
    filtered = run_job(
        filter_chain.filter_chain, [(photo, 2.0), (photo[::2, ::2], 1.5), (photo.T, 2.0)]
    )

    size, steps = heat_plate.SIZE, heat_plate.STEPS
    title(f"heat equation on a plate of {size} by {size} points, {steps} time steps")
    plate = heat_plate.plate()
    spread = run_job(
        heat_plate.heat,
        [(plate, steps, 0.2), (plate[:50, :70], 30, 0.1), (plate.astype(np.float32), 20, 0.2)],
    )

    title("its rest state, iterated until no point changes by more than 0.05 degrees")
    rested = run_job(
        heat_plate.rest_state, [(plate, 0.05), (plate[:40, :40], 0.2), (plate, 1000.0)]
    )
    jobs = [prices, filtered, spread, rested]
    title(f"all four, through {BACKEND}")
    print(summary(jobs))
    return jobs


if __name__ == "__main__":
    sys.exit(0 if all(job.equal for job in main()) else "a job differs from plain NumPy")
