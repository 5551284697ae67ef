"""The tables of kernels: speed-ups side by side, the details of each backend with the share of a copy's rate, geometric means by size."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bcjit.bench.kernels import limits
from bcjit.bench.kernels.programs import DTYPES, KERNELS, SIZES, Case
from bcjit.bench.measure import Clock
from bcjit.bench.peers import KERNEL_PEERS, Peer
from bcjit.bench.suite.means import geometric_mean
from bcjit.bench.suite.measuring import MISSING, Figures, Measured, Stoppable, measure
from bcjit.bench.tables import Cell, Column, Table
from bcjit.bench.through import Through, named

__all__ = ["CASES", "tables"]

CASES: Final = tuple(KERNELS)
COPY: Final = "copy"
Found = Sequence[Measured[Case]]

WHICH: Final = (Column("case", "kernel"), Column("dtype", "dtype"), Column("size", "elements"))
SPEED_NOTES: Final = (
    "NumPy: plain, µs. Others: how many times as fast; below 1 is slower. The heap's settings are in the first line: with the default ones what is saved of page faults counts.",
)
DETAILS: Final = (
    *WHICH,
    Column("compiled_us", "µs", 2),
    Column("speedup", "speed-up", 2),
    Column("low", "25 %", 2),
    Column("high", "75 %", 2),
    Column("gb_per_s", "GB/s", 1),
    Column("of_copy", "of copy", 2),
    Column("within", "within"),
    Column("first_ms", "first call", 1),
    Column("disk_ms", "from disk", 1),
    Column("kernels", "kernels"),
    Column("kernel_ms", "kernel ms", 1),
    Column("reload_ms", "reload ms", 2),
    Column("peak_ratio", "peak of plain", 2),
    Column("result", "result"),
)
DETAIL_NOTES: Final = (
    "GB/s: arguments read once and results written once, over the least time; of copy: that over the rate of a copy of as many bytes into memory that is there, in the same turns, for kernels that memory limits, beyond the nearest cache; within: the nearest cache that the bytes fit into.",
    "first call: ms, with its compiling, nothing in memory or on disk; from disk: with the kernels there; kernel and reload: the most that one kernel took, where the backend tells. Result: equal is bit for bit; close is half of the digits, of a backend with an option.",
)
MEANS_NOTES: Final = (
    "Geometric means of speed-ups over plain NumPy; what is not run counts as 1.",
)


def tables(
    chosen: Sequence[str],
    rounds: int,
    peers: Sequence[Peer] = KERNEL_PEERS,
    *,
    backends: Sequence[Through] = (named("auto"),),
    sizes: Sequence[str] = tuple(SIZES),
    clock: Clock = time.perf_counter,
) -> Iterator[Table]:
    """Measure the chosen kernels and yield their tables.

    Parameters
    ----------
    chosen
        Names of kernels.
    rounds
        Turns at most.
    peers
        Other compilers that are asked.
    backends, sizes
        What compiles the kernels, and some keys of `SIZES`.
    clock
        What tells the time.
    """
    yield limits.table(rounds, clock)
    known = limits.caches()
    names = {one.name: one.name for one in backends} | {one.key: one.name for one in peers}
    cases = _measured(chosen, sizes, backends, peers, rounds, clock)
    every, moved = [], []
    for one, nbytes in Stoppable()(cases):
        every.append(one)
        moved.append(nbytes)
    _say("")
    yield _speedups(every, names)
    for backend in backends:
        yield _details(every, moved, backend.name, known)
    yield _means(every, names)


def _measured(
    chosen: Sequence[str],
    sizes: Sequence[str],
    backends: Sequence[Through],
    peers: Sequence[Peer],
    rounds: int,
    clock: Clock,
) -> Iterator[tuple[Measured[Case], int]]:
    """Yield the figures of each kernel, dtype and size, and the bytes that must move."""
    for kernel in (kernel for name, kernel in KERNELS.items() if name in chosen):
        late: dict[str, Figures] = {}  # who took too long once is not asked again
        for dtype in DTYPES:
            case = Case(kernel, dtype)
            for size in (one for one in SIZES if one in sizes):
                _say(f"{kernel.name} {dtype} {size}")
                moved = case.moved(size)
                beside = {COPY: limits.copying(moved)}
                asked = [peer for peer in peers if peer.key not in late]
                one = measure(case, size, backends, asked, rounds, beside, clock)
                late |= {key: figures for key, figures in one.peers.items() if figures.late}
                one.peers |= late
                yield one, moved


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _which(one: Measured[Case]) -> dict[str, Cell]:
    return {"case": one.program.kernel.name, "dtype": one.program.dtype, "size": one.size}


def _figures(one: Measured[Case]) -> dict[str, Figures]:
    return one.backends | one.peers


def _speedups(every: Found, names: Mapping[str, str]) -> Table:
    ways = (Column(key, name, 2) for key, name in names.items())
    columns = (*WHICH, Column("numpy_us", "NumPy", 2), *ways)
    table = Table(
        "Speed-ups over plain NumPy", columns, notes=SPEED_NOTES, about={"what": "speedups"}
    )
    for one in every:
        cells = {key: f.problem or f.speedup for key, f in _figures(one).items()}
        table.rows.append(_which(one) | {"numpy_us": min(one.plain_times) * 1e6} | cells)
    table.notes = (*SPEED_NOTES, *_ahead(every))
    return table


def _ahead(every: Found) -> Iterator[str]:
    """Yield in how many rows each backend is as fast as every peer that runs there; nothing where nobody was asked."""
    asked = [one for one in every if any(not peer.problem for peer in one.peers.values())]
    for name in asked[0].backends if asked else ():
        ahead = sum(
            not one.backends[name].problem
            and all(
                peer.problem or peer.speedup <= one.backends[name].speedup
                for peer in one.peers.values()
            )
            for one in asked
        )
        yield f"{name}: as fast as the fastest of the others, or faster, in {ahead} of {len(asked)} rows."


def _details(every: Found, moved: Sequence[int], backend: str, known: dict[str, int]) -> Table:
    about = {"what": "details", "backend": backend}
    table = Table(backend, DETAILS, notes=DETAIL_NOTES, about=about)
    for one, nbytes in zip(every, moved, strict=True):
        figures = one.backends[backend]
        if figures.problem:
            table.rows.append(_which(one) | {"result": figures.problem})
            which = " ".join(map(str, _which(one).values()))
            table.failures.append(f"{which}, {backend}: {figures.problem}")
            continue
        low, high = figures.quartiles
        facts = dict(figures.facts)
        peak = facts.pop("peak_bytes")
        assert isinstance(peak, float)
        least = min(figures.times)
        within = limits.level(nbytes, known)
        # What takes nanoseconds says nothing about memory.
        bound = one.program.kernel.memory_bound and within != limits.NEAREST
        table.rows.append(
            _which(one)
            | {
                "compiled_us": least * 1e6,
                "speedup": figures.speedup,
                "low": low,
                "high": high,
                "gb_per_s": nbytes / least / 1e9,
                "of_copy": min(one.beside[COPY]) / least if bound else None,
                "within": within,
                **facts,
                "peak_ratio": peak / max(one.plain_peak, 1),
                "turns": float(len(figures.times)),
            }
        )
    return table


def _means(every: Found, names: Mapping[str, str]) -> Table:
    ways = (Column(key, name, 2) for key, name in names.items())
    columns = (Column("case", "elements"), Column("dtype", "dtype"), *ways)
    table = Table("Geometric means by size", columns, notes=MEANS_NOTES, about={"what": "means"})
    for size in dict.fromkeys(one.size for one in every):
        for dtype in DTYPES:
            found = [one for one in every if (one.size, one.program.dtype) == (size, dtype)]
            row: dict[str, Cell] = {"case": size, "dtype": dtype}
            for key in names:
                figures = [_figures(one)[key] for one in found]
                missing = all(one.problem == MISSING for one in figures)
                mean = geometric_mean(1.0 if one.problem else one.speedup for one in figures)
                row[key] = MISSING if missing else mean
            table.rows.append(row)
    return table
