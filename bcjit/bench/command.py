"""A run of ``python -m bcjit bench``: which cases, which peers, and where the tables go."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bcjit.bench import capture, dispatch
from bcjit.bench.peers import PEERS, Peer, version
from bcjit.bench.tables import Table, data, machine, show

__all__ = ["SUBJECTS", "run"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What can be measured: its cases, what yields a table as soon as it is measured, and how that is done."""

    cases: tuple[str, ...]
    tables: Callable[[Sequence[str], int, Sequence[Peer]], Iterator[Table]]
    how: str


SUBJECTS: Final = {
    "dispatch": Subject(
        dispatch.CASES,
        dispatch.tables,
        "Each figure is the least of {rounds} turns within this process; in a turn every subject of a row runs for about a millisecond. "
        "Differences are of such minima, good to some 10 ns of calls below 1,000 ns, to some percent of longer ones. Results of others are compared with NumPy's.",
    ),
    "capture": Subject(
        capture.CASES,
        capture.tables,
        f"Each figure is the least of {{rounds}} turns, but at most {capture.TURNS} of ours, {capture.PEER_TURNS} of others, {capture.FRESH_TURNS} fresh processes of ours, {capture.FRESH_PEER_TURNS} of others. "
        "A first call compiles a copy of the function that nothing is known of; caches on disk are off.",
    ),
}


def run(
    subject: str,
    *,
    rounds: int,
    cases: Sequence[str],
    peers: bool,
    json_file: str | None,
    fail: Callable[[str], object],
) -> None:
    """Measure, and print the tables as they are done.

    Parameters
    ----------
    subject
        A key of `SUBJECTS`.
    rounds
        The turns that each minimum is of.
    cases
        Names of cases; all where there are none.
    peers
        Whether other compilers are asked too.
    json_file
        Where the same figures are written, or None.
    fail
        What is told about a name that there is not; it does not return.
    """
    measures = SUBJECTS[subject]
    for name in cases:
        if name not in measures.cases:
            fail(f"--case: one of {', '.join(map(repr, measures.cases))} is expected, not {name!r}")
    chosen = cases or measures.cases
    facts = machine()
    print("; ".join(f"{name} {value}" for name, value in facts.items()))
    asked = PEERS if peers else ()
    measured = []
    for table in measures.tables(chosen, rounds, asked):
        show(table)
        measured.append(table)
    others = {peer.module: version(peer) for peer in asked}
    how = measures.how.format(rounds=rounds)
    print(f"\n{how}")
    if others:
        print("; ".join(f"{name} {value}" for name, value in others.items()))
    if json_file is not None:
        written = {
            "machine": facts | others,
            "rounds": rounds,
            "how": how,
            "tables": data(measured),
        }
        Path(json_file).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
