"""A run of ``python -m bcjit bench``: which cases, which peers, and where the tables go."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bcjit.backends import get_backend
from bcjit.bench.capture import CASES as CAPTURE_CASES
from bcjit.bench.capture import FRESH_PEER_TURNS, FRESH_TURNS, PEER_TURNS, TURNS
from bcjit.bench.capture import tables as capture_tables
from bcjit.bench.dispatch import CASES as DISPATCH_CASES
from bcjit.bench.dispatch import tables as dispatch_tables
from bcjit.bench.peers import PEERS, Peer, version
from bcjit.bench.suite import SIZES, figures, measuring, picture
from bcjit.bench.tables import Table, data, machine, show
from bcjit.errors import BackendNotFoundError

__all__ = ["SUBJECTS", "SUITE", "Asked", "run"]

SUITE: Final = "suite"


@dataclass(frozen=True, slots=True)
class Asked:
    """What the words of a command line ask for.

    Attributes
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
    backends, sizes, picture_file
        For the suite only: its backends, its sizes, and where the picture goes; none: what is usual.
    """

    subject: str
    rounds: int
    cases: Sequence[str] = ()
    peers: bool = True
    json_file: str | None = None
    backends: Sequence[str] = ()
    sizes: Sequence[str] = ()
    picture_file: str | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """What can be measured: its cases, what yields a table as soon as it is measured, and how that is done."""

    cases: tuple[str, ...]
    tables: Callable[[Sequence[str], int, Sequence[Peer]], Iterator[Table]]
    how: str


SUBJECTS: Final = {
    "dispatch": Subject(
        DISPATCH_CASES,
        dispatch_tables,
        "Each figure is the least of {rounds} turns within this process; in a turn every subject of a row runs for about a millisecond. "
        "Differences are of such minima, good to some 10 ns of calls below 1,000 ns, to some percent of longer ones. Results of others are compared with NumPy's.",
    ),
    "capture": Subject(
        CAPTURE_CASES,
        capture_tables,
        f"Each figure is the least of {{rounds}} turns, but at most {TURNS} of ours, {PEER_TURNS} of others, {FRESH_TURNS} fresh processes of ours, {FRESH_PEER_TURNS} of others. "
        "A first call compiles a copy of the function that nothing is known of; caches on disk are off.",
    ),
    SUITE: Subject(
        figures.CASES,
        figures.tables,
        f"Each figure is the least of {{rounds}} turns within this process, of fewer where they take more than {measuring.BUDGET:g} s; first calls of {measuring.FIRST_CALLS}. In a turn the plain program, each backend and each "
        "peer run for about a millisecond, at least once. Arguments that a program writes into are made anew for each call, which is not timed. Results of backends are compared with NumPy's bit by bit, of peers to half of the digits.",
    ),
}


def run(asked: Asked, fail: Callable[[str], object]) -> int:
    """Measure, and print the tables as they are done.

    Parameters
    ----------
    asked
        What.
    fail
        What is told about a name that there is not; it does not return.

    Returns
    -------
    int
        The exit code: 1 where a compiled program did something else than the plain one.
    """
    measures = SUBJECTS[asked.subject]
    for name in asked.cases:
        if name not in measures.cases:
            fail(f"--case: one of {', '.join(map(repr, measures.cases))} is expected, not {name!r}")
    make = measures.tables
    if asked.subject == SUITE:
        make = _suite(asked, fail)
    elif asked.backends or asked.sizes or asked.picture_file:
        fail(f"--backend, --size and --picture: bench {SUITE} is expected, not {asked.subject}")
    facts = machine()
    print("; ".join(f"{name} {value}" for name, value in facts.items()))
    peers = PEERS if asked.peers else ()
    measured = []
    for table in make(asked.cases or measures.cases, asked.rounds, peers):
        show(table)
        measured.append(table)
    others = {peer.module: version(peer) for peer in peers}
    how = measures.how.format(rounds=asked.rounds)
    print(f"\n{how}")
    if others:
        print("; ".join(f"{name} {value}" for name, value in others.items()))
    if asked.json_file is not None:
        written = {
            "machine": facts | others,
            "rounds": asked.rounds,
            "how": how,
            "tables": data(measured),
        }
        Path(asked.json_file).write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    if asked.picture_file is not None:
        picture.draw(measured, facts, asked.picture_file)
    failures = [failure for table in measured for failure in table.failures]
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


def _suite(
    asked: Asked, fail: Callable[[str], object]
) -> Callable[[Sequence[str], int, Sequence[Peer]], Iterator[Table]]:
    """Check what only the suite is asked, and return what yields its tables."""
    for name in asked.backends:
        try:
            get_backend(name)
        except BackendNotFoundError as error:
            fail(f"--backend: {error}")
    for size in asked.sizes:
        if size not in SIZES:
            fail(f"--size: one of {', '.join(SIZES)} is expected, not {size!r}")
    if asked.picture_file is not None and not picture.is_there():
        fail("--picture: matplotlib is expected (pip install 'bcjit[demo]'), it is not installed")
    return functools.partial(
        figures.tables, backends=asked.backends or ("auto",), sizes=asked.sizes or ("medium",)
    )
