"""The suite's tables: speed-ups side by side, the details of each backend; geometric means are in ``means``."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from bcjit.bench.measure import Clock
from bcjit.bench.peers import SUITE_PEERS, Peer
from bcjit.bench.suite import PROGRAMS, SIZES, means
from bcjit.bench.suite.measuring import Measured, Stoppable, measure
from bcjit.bench.suite.program import Program
from bcjit.bench.tables import Column, Table
from bcjit.bench.through import Through, named

__all__ = ["CASES", "tables"]

CASES: Final = tuple(PROGRAMS)
SPEED_NOTES: Final = (
    "NumPy: the plain program, ms. Others: how many times as fast; below 1 is slower.",
)
DETAILS: Final = (
    Column("case", "case"),
    Column("compiled_ms", "ms", 3),
    Column("speedup", "speed-up", 2),
    Column("low", "25 %", 2),
    Column("high", "75 %", 2),
    Column("runs", "runs"),
    Column("first_ms", "first call", 1),
    Column("compile_ms", "of it compiling", 1),
    Column("disk_ms", "from disk", 1),
    Column("graphs", "graphs"),
    Column("breaks", "breaks"),
    Column("nodes", "nodes"),
    Column("kernels", "kernels"),
    Column("kernel_ms", "kernel ms", 1),
    Column("peak_kb", "peak kB", 1),
    Column("peak_ratio", "of plain", 2),
    Column("result", "result"),
)
DETAIL_NOTES: Final = (
    "speed-up: least plain time over least compiled time; 25 % and 75 %: quartiles of the ratios of single turns.",
    "runs: plain where the cost model went back to plain Python. First call: ms, with its compiling, nothing in memory or on disk; from disk: with the kernels there. Kernels, and the most that one took to compile: where the backend tells.",
    "peak: the most memory allocated at once in a call, arrays included, and how many times plain NumPy's. Result: equal is bit for bit, writes and random streams included; close is half of the digits, of a backend with an option.",
)


def tables(
    chosen: Sequence[str],
    rounds: int,
    peers: Sequence[Peer] = SUITE_PEERS,
    *,
    backends: Sequence[Through] = (named("auto"),),
    sizes: Sequence[str] = ("medium",),
    peer_sizes: Sequence[str] = SIZES,
    clock: Clock = time.perf_counter,
) -> Iterator[Table]:
    """Measure the chosen programs and yield the tables of each size, and those of all where there are several.

    Parameters
    ----------
    chosen
        Names of programs.
    rounds
        Turns at most.
    peers
        Other compilers that are asked.
    backends, sizes
        What compiles the programs, and some of `SIZES`.
    peer_sizes
        Those of them at which peers are asked: some take minutes for one program.
    clock
        What tells the time.
    """
    programs = [program for name, program in PROGRAMS.items() if name in chosen]
    ours = {one.name: one.name for one in backends}
    everywhere = dict[str, str]()
    every: list[Measured[Program]] = []
    stoppable = Stoppable()
    for size in (one for one in SIZES if one in sizes):
        asked = peers if size in peer_sizes else ()
        names = ours | {one.key: one.name for one in asked}
        found = list(
            stoppable(
                measure(program, size, backends, asked, rounds, clock=clock)
                for program in _told(programs, size)
            )
        )
        _say("")
        if stoppable.stopped and not found:
            break
        everywhere = names if not every or len(names) < len(everywhere) else everywhere
        every += found
        yield _speedups(size, found, names)
        for backend in backends:
            yield _details(size, found, backend.name)
        yield means.by_way(size, found, names)
        yield means.by_kind(size, found, names)
        if stoppable.stopped:
            break
    if len({one.size for one in every}) > 1:
        yield means.by_size(every, everywhere)


def _told(programs: Sequence[Program], size: str) -> Iterator[Program]:
    """Yield the programs, and tell a terminal which is measured."""
    for place, program in enumerate(programs, 1):
        _say(f"{size}: {program.name} ({place} of {len(programs)})")
        yield program


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _speedups(size: str, found: Sequence[Measured[Program]], names: Mapping[str, str]) -> Table:
    columns = [Column("case", "case"), Column("numpy_ms", "NumPy", 3)]
    columns += [Column(key, name, 2) for key, name in names.items()]
    table = Table(
        f"Speed-ups over plain NumPy, {size}",
        tuple(columns),
        notes=SPEED_NOTES,
        about={"what": "speedups", "size": size},
    )
    for one in found:
        cells = {key: f.problem or f.speedup for key, f in (one.backends | one.peers).items()}
        table.rows.append(
            {
                "case": one.program.name,
                "subject": one.program.subject,
                "numpy_ms": min(one.plain_times) * 1e3,
                **cells,
            }
        )
    return table


def _details(size: str, found: Sequence[Measured[Program]], backend: str) -> Table:
    table = Table(
        f"{backend}, {size}",
        DETAILS,
        notes=DETAIL_NOTES,
        about={"what": "details", "size": size, "backend": backend},
    )
    for one in found:
        figures = one.backends[backend]
        if figures.problem:
            row = {"case": one.program.name, "subject": one.program.subject}
            table.rows.append({**row, "result": figures.problem})
            table.failures.append(f"{one.program.name}, {size}, {backend}: {figures.problem}")
            continue
        low, high = figures.quartiles
        facts = dict(figures.facts)
        peak = facts.pop("peak_bytes")
        assert isinstance(peak, float)
        table.rows.append(
            {
                "case": one.program.name,
                "subject": one.program.subject,
                "numpy_ms": min(figures.plain_times) * 1e3,
                "compiled_ms": min(figures.times) * 1e3,
                "speedup": figures.speedup,
                "low": low,
                "high": high,
                **facts,
                "peak_kb": peak / 1e3,
                "peak_ratio": peak / max(one.plain_peak, 1),
                "turns": float(len(figures.times)),
            }
        )
    return table
