"""What a first call costs: bytecode to graph, graph to callable, guards and residual code; in a warm process and in a fresh one.

A first call is of a copy of the function's code, so that nothing is known of it. The fresh processes import what they
measure and make one first call: ``python -c``, and `first_call` here.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bcjit.api import compile as compile_function
from bcjit.bench.measure import Call, Function, captured
from bcjit.bench.peers import PEERS, Peer, Refusal, prepared, rebound
from bcjit.bench.programs import (
    arrays,
    newton,
    three_parts,
    twenty_on_five,
    twenty_operations,
)
from bcjit.bench.tables import Cell, Column, Table, verdict

__all__ = ["CASES", "FIRST_CALLS", "FirstCallCase", "first_call", "in_fresh_process", "tables"]

TURNS: Final = 60  # at most, for ours
PEER_TURNS: Final = 3  # at most: some of them take seconds
FRESH_TURNS: Final = 8
FRESH_PEER_TURNS: Final = 2


@dataclass(frozen=True, slots=True)
class FirstCallCase:
    """A function whose first call is measured."""

    call: Call
    at_most: float | None = None  # milliseconds


FIRST_CALLS: Final = {
    "20 operations": FirstCallCase(Call(twenty_operations, arrays(1)), 10.0),
    "20 operations on 5 arrays": FirstCallCase(Call(twenty_on_five, arrays(5)), 10.0),
    "two branches, three parts": FirstCallCase(Call(three_parts, arrays(1))),
    "while, until the data say so": FirstCallCase(Call(newton, (arrays(1)[0] + 1.0,))),
}
FRESH: Final = "fresh process"
CASES: Final = (*FIRST_CALLS, FRESH)
STEPS: Final = ("capture", "backend", "assembly")


def _eager(function: Function) -> Function:
    compiled: Function = compile_function(function, backend="eager")
    return compiled


def our_turn(call: Call) -> dict[str, float]:
    """Make a first call; return its milliseconds, processor time, and the steps that its entries tell of."""
    compiled: Any = _eager(rebound(call.function))
    start, processor = time.perf_counter(), time.process_time()
    compiled(*call.args)
    times = {
        "first_ms": (time.perf_counter() - start) * 1e3,
        "cpu_ms": (time.process_time() - processor) * 1e3,
    }
    entries = [entry for cache in compiled._caches for entry in cache.entries]  # noqa: SLF001 - the reports' own door
    for step in STEPS:
        times[f"{step}_ms"] = sum(getattr(entry.times, step) for entry in entries) * 1e3
    return times


def peer_turns(peer: Peer, call: Call, turns: int) -> Cell:
    """Return the least milliseconds in which a peer compiles a function and calls it, or why it cannot."""
    found = prepared(peer, [call])
    if isinstance(found, Refusal):
        return found.reason
    best = float("inf")
    for _ in range(turns):
        start = time.perf_counter()
        peer.compile(call.function)(*call.args)
        best = min(best, (time.perf_counter() - start) * 1e3)
    return best


def first_call_row(title: str, case: FirstCallCase, rounds: int) -> dict[str, Cell]:
    """Measure the first calls of one function, ours only."""
    captured(case.call.function, case.call.args)
    turns = [our_turn(case.call) for _ in range(min(rounds, TURNS))]
    # The steps are of one turn, so that they add up.
    quickest = min(turns, key=lambda turn: turn["first_ms"])
    least = min(turn["cpu_ms"] for turn in turns)
    promised = {"at_most_ms": case.at_most, "verdict": verdict(least, case.at_most)}
    return {"case": title, **quickest, "cpu_ms": least, **promised}


FIRST_COLUMNS: Final = (
    Column("case", "case"),
    Column("first_ms", "first call", 2),
    Column("capture_ms", "capture", 2),
    Column("backend_ms", "backend", 2),
    Column("assembly_ms", "assembly", 2),
    Column("cpu_ms", "processor", 2),
    Column("at_most_ms", "at most", 2),
    Column("verdict", ""),
)
FIRST_NOTES: Final = (
    "first call: all of it; capture: bytecode to graph; backend: passes and graph to callable; assembly: guards and residual code.",
    "processor: the least processor time of a first call, which is what was promised.",
)


# ---- fresh processes ------------------------------------------------------------------------------------

PROGRAM: Final = """
import importlib, sys, time
start = time.perf_counter()
import numpy
numpy_there = time.perf_counter()
importlib.import_module(sys.argv[1])
imported = time.perf_counter()
from bcjit.bench.capture import first_call
print(numpy_there - start, imported - numpy_there, first_call(sys.argv[2]))
"""
IMPORT_AT_MOST: Final = 60.0


def first_call(key: str) -> float:
    """Return the seconds of the first call of the first case, through bcjit or the peer of this key."""
    call = next(iter(FIRST_CALLS.values())).call
    make = next((peer.compile for peer in PEERS if peer.key == key), _eager)
    start = time.perf_counter()
    make(call.function)(*call.args)
    return time.perf_counter() - start


def in_fresh_process(program: str, *words: str) -> list[float]:
    """Return the numbers that a program prints in a process of its own; it may write bytecode files, as installed packages have them."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no output"])[-1])
    return [float(word) for word in done.stdout.split()]


def fresh_row(title: str, module: str, key: str, turns: int) -> dict[str, Cell]:
    """Measure fresh processes that import a module and make a first call with it."""
    try:
        in_fresh_process(PROGRAM, module, key)  # writes the bytecode files
        found = [in_fresh_process(PROGRAM, module, key) for _ in range(turns)]
    except RuntimeError as error:
        return {"case": title, "import_ms": f"cannot: {error}"}
    numpy, imported, called = (min(column) * 1e3 for column in zip(*found, strict=True))
    return {
        "case": title,
        "numpy_ms": numpy,
        "import_ms": imported,
        "first_ms": called,
        "all_ms": min(map(sum, found)) * 1e3,
    }


FRESH_COLUMNS: Final = (
    Column("case", "through"),
    Column("numpy_ms", "import numpy"),
    Column("import_ms", "its import"),
    Column("at_most_ms", "at most"),
    Column("verdict", ""),
    Column("first_ms", "first call"),
    Column("all_ms", "all"),
)


def tables(chosen: Sequence[str], rounds: int, peers: Sequence[Peer] = PEERS) -> Iterator[Table]:
    """Measure the chosen cases, a table at a time."""
    columns = (*FIRST_COLUMNS, *(Column(f"{peer.key}_ms", peer.name, 1) for peer in peers))
    first = Table("First calls in a warm process, ms", columns, notes=FIRST_NOTES)
    cases = {title: case for title, case in FIRST_CALLS.items() if title in chosen}
    # Ours first: what peers import and start must not weigh on it.
    rows = {title: first_call_row(title, case, rounds) for title, case in cases.items()}
    for title, case in cases.items():
        for peer in peers:
            rows[title][f"{peer.key}_ms"] = peer_turns(peer, case.call, min(rounds, PEER_TURNS))
    first.rows.extend(rows.values())
    if first.rows:
        yield first
    if FRESH in chosen:
        yield _fresh(rounds, peers)


def _fresh(rounds: int, peers: Sequence[Peer]) -> Table:
    title = f"A fresh process: imports, then the first call of {next(iter(FIRST_CALLS))!r}, ms"
    table = Table(title, FRESH_COLUMNS)
    ours = fresh_row("bcjit", "bcjit", "bcjit", min(rounds, FRESH_TURNS))
    ours["at_most_ms"] = IMPORT_AT_MOST
    if isinstance(ours["import_ms"], float):
        ours["verdict"] = verdict(ours["import_ms"], IMPORT_AT_MOST)
    table.rows.append(ours)
    for peer in peers:
        if peer.installed:
            row = fresh_row(peer.name, peer.module, peer.key, min(rounds, FRESH_PEER_TURNS))
        else:
            row = {"case": peer.name, "import_ms": "not installed"}
        table.rows.append(row)
    return table
