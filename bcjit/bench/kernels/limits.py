"""What this machine's memory gives: the rate of plain copies, by the level of the caches that what is copied fits into."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np

from bcjit.bench.measure import Clock, in_each_turn
from bcjit.bench.tables import Cell, Column, Table

__all__ = ["caches", "copying", "level", "table"]

CACHES: Final = Path("/sys/devices/system/cpu/cpu0/cache")
UNITS: Final = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
LARGE: Final = 160_000_000  # bytes that are read and written: ten million float64 copied
BUDGET: Final = 2.0
MEMORY: Final = "memory"
NEAREST: Final = "L1"
COLUMNS: Final = (
    Column("case", "within"),
    Column("kb", "kB"),
    Column("gb_per_s", "GB/s", 1),
    Column("low", "25 %", 1),
    Column("high", "75 %", 1),
)


def caches(folder: Path = CACHES) -> dict[str, int]:
    """Return the bytes of the caches for data, from the nearest on; none where the system does not say."""
    found = {}
    for index in sorted(folder.glob("index*")):
        kind, number, size = (
            (index / name).read_text(encoding="ascii").strip() for name in ("type", "level", "size")
        )
        if kind != "Instruction" and size[:-1].isdecimal():
            found[f"L{number}"] = int(size[:-1]) * UNITS[size[-1]]
    return found


def level(nbytes: int, known: dict[str, int]) -> str:
    """Return the nearest cache that so many bytes fit into, or that they do not fit."""
    return next((name for name, size in known.items() if nbytes <= size), MEMORY)


def copying(nbytes: int) -> Callable[[], object]:
    """Return what copies into memory that is there already, so many bytes read and written in all."""
    count = max(nbytes // 16, 1)
    source, target = np.ones(count), np.zeros(count)
    return lambda: np.copyto(target, source)


def table(rounds: int, clock: Clock) -> Table:
    """Measure copies that fit half into each cache, and a large one."""
    known = caches()
    sizes = {name: size // 2 for name, size in known.items() if size // 2 < LARGE}
    sizes |= {f"{LARGE // 1_000_000} MB": LARGE}
    timers = [timeit.Timer(copying(nbytes), timer=clock) for nbytes in sizes.values()]
    times = in_each_turn(timers, rounds, BUDGET)
    about = {"what": "limits"}
    made = Table("Copies, read and written, one thread", COLUMNS, about=about, notes=_notes(known))
    for (name, nbytes), found in zip(sizes.items(), times, strict=True):
        rates = nbytes / np.array(found) / 1e9
        low, high = (float(rate) for rate in np.percentile(rates, (25, 75)))
        row: dict[str, Cell] = {"case": name, "kb": nbytes / 1e3, "gb_per_s": float(rates.max())}
        made.rows.append(row | {"low": low, "high": high})
    return made


def _notes(known: dict[str, int]) -> tuple[str, ...]:
    sizes = ", ".join(f"{name} {size / 1e6:.3g} MB" for name, size in known.items())
    return (f"By np.copyto into memory that is there already. Caches: {sizes or 'not known'}.",)
