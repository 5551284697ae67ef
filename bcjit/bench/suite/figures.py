"""The suite's tables: speed-ups side by side, the details of each backend, and geometric means."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from bcjit.bench.peers import PEERS, Peer
from bcjit.bench.suite import PROGRAMS, SIZES
from bcjit.bench.suite.measuring import MISSING, Figures, Measured, measure
from bcjit.bench.tables import Cell, Column, Table

__all__ = ["CASES", "KINDS", "geometric_mean", "tables"]

CASES: Final = tuple(PROGRAMS)
KINDS: Final[dict[str, Callable[[Measured], bool]]] = {
    "all": lambda _measured: True,
    "on arrays": lambda measured: not measured.program.by_element,
    "by element": lambda measured: measured.program.by_element,
}
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
    Column("graphs", "graphs"),
    Column("breaks", "breaks"),
    Column("nodes", "nodes"),
    Column("kernels", "kernels"),
    Column("peak_kb", "peak kB", 1),
    Column("peak_ratio", "of plain", 2),
    Column("result", "result"),
)
DETAIL_NOTES: Final = (
    "speed-up: least plain time over least compiled time; 25 % and 75 %: quartiles of the ratios of single turns.",
    "runs: plain where the cost model went back to plain Python. First call: ms, with its compiling. Kernels: where the backend tells.",
    "peak: the most memory allocated at once in a call, arrays included, and how many times plain NumPy's. Result: equal is bit for bit, writes and random streams included.",
)
MEANS: Final = (
    Column("case", "through"),
    Column("right", "right"),
    Column("of", "of"),
    Column("all", "all", 2),
    Column("on arrays", "on arrays", 2),
    Column("by element", "by element", 2),
    Column("least", "least", 2),
    Column("first_ms", "first call, median", 1),
    Column("first_most_ms", "most", 1),
)
MEAN_NOTES: Final = (
    "Geometric means of speed-ups over plain NumPy; a program that is not run, or not right, counts as 1.",
)


def geometric_mean(values: Iterable[float]) -> float | None:
    """Return the geometric mean of some numbers, None of none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def tables(
    chosen: Sequence[str],
    rounds: int,
    peers: Sequence[Peer] = PEERS,
    *,
    backends: Sequence[str] = ("auto",),
    sizes: Sequence[str] = ("medium",),
) -> Iterator[Table]:
    """Measure the chosen programs and yield the tables of each size.

    Parameters
    ----------
    chosen
        Names of programs.
    rounds
        Turns at most.
    peers
        Other compilers that are asked.
    backends, sizes
        Names of backends, and some of `SIZES`.
    """
    programs = [program for name, program in PROGRAMS.items() if name in chosen]
    for size in (one for one in SIZES if one in sizes):
        found = []
        for place, program in enumerate(programs, 1):
            _say(f"{size}: {program.name} ({place} of {len(programs)})")
            found.append(measure(program, size, backends, peers, rounds))
        _say("")
        yield _speedups(size, found, backends, peers)
        for backend in backends:
            yield _details(size, found, backend)
        yield _means(size, found, backends, peers)


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _speedups(
    size: str, found: Sequence[Measured], backends: Sequence[str], peers: Sequence[Peer]
) -> Table:
    columns = [Column("case", "case"), Column("numpy_ms", "NumPy", 3)]
    columns += [Column(name, name, 2) for name in backends]
    columns += [Column(peer.key, peer.name, 2) for peer in peers]
    table = Table(f"Speed-ups over plain NumPy, {size}", tuple(columns), notes=SPEED_NOTES)
    for one in found:
        cells = {name: _speedup(f) for name, f in (one.backends | one.peers).items()}
        table.rows.append(
            {"case": one.program.name, "numpy_ms": min(one.plain_times) * 1e3, **cells}
        )
    return table


def _speedup(figures: Figures) -> Cell:
    return figures.problem or figures.speedup


def _details(size: str, found: Sequence[Measured], backend: str) -> Table:
    table = Table(f"{backend}, {size}", DETAILS, notes=DETAIL_NOTES)
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
                "result": "equal",
                "turns": float(len(figures.times)),
            }
        )
    return table


def _means(
    size: str, found: Sequence[Measured], backends: Sequence[str], peers: Sequence[Peer]
) -> Table:
    table = Table(f"Geometric means, {size}", MEANS, notes=MEAN_NOTES)
    through = [(name, name) for name in backends] + [(peer.key, peer.name) for peer in peers]
    for key, title in through:
        row: dict[str, Cell] = {"case": title}
        figures = [(one, (one.backends | one.peers)[key]) for one in found]
        if all(f.problem == MISSING for _, f in figures):
            table.rows.append({"case": title, "right": MISSING})
            continue
        right = [f for _, f in figures if not f.problem]
        row |= {"right": float(len(right)), "of": float(len(found))}
        for kind, belongs in KINDS.items():
            row[kind] = geometric_mean(
                1.0 if f.problem else f.speedup for one, f in figures if belongs(one)
            )
        firsts = sorted(ms for f in right if isinstance(ms := f.facts.get("first_ms"), float))
        if firsts:
            row["least"] = min(f.speedup for f in right)
            row |= {"first_ms": firsts[len(firsts) // 2], "first_most_ms": firsts[-1]}
        table.rows.append(row)
    return table
