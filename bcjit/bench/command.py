"""A run of ``python -m bcjit bench``: which cases, which peers, and where the tables go."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bcjit.bench.capture import CASES as CAPTURE_CASES
from bcjit.bench.capture import FRESH_PEER_TURNS, FRESH_TURNS, PEER_TURNS, TURNS
from bcjit.bench.capture import tables as capture_tables
from bcjit.bench.dispatch import CASES as DISPATCH_CASES
from bcjit.bench.dispatch import tables as dispatch_tables
from bcjit.bench.kernels import SIZES as KERNEL_SIZES
from bcjit.bench.kernels import figures as kernel_figures
from bcjit.bench.measure import CLOCKS
from bcjit.bench.peers import KERNEL_PEERS, PEERS, SUITE_PEERS, Peer, version
from bcjit.bench.suite import SIZES, figures, measuring, picture
from bcjit.bench.tables import Table, data, machine, show
from bcjit.bench.through import there, words_of

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
        For whole programs and kernels only: backends, sizes (also several in a word, with commas), and where the suite's picture goes; none: what is usual.
    peer_sizes
        For the suite only: sizes at which peers are asked; none: at all.
    clock
        For whole programs and kernels: a key of `CLOCKS`.
    """

    subject: str
    rounds: int
    cases: Sequence[str] = ()
    peers: bool = True
    json_file: str | None = None
    backends: Sequence[str] = ()
    sizes: Sequence[str] = ()
    picture_file: str | None = None
    peer_sizes: Sequence[str] = ()
    clock: str = "wall"


@dataclass(frozen=True, slots=True)
class Subject:
    """What can be measured: its cases, what yields a table as soon as it is measured, and how that is done.

    Those with sizes take backends and sizes too; `backends` and `usual_sizes` are what is measured where none are named.
    """

    cases: tuple[str, ...]
    tables: Callable[..., Iterator[Table]]
    how: str
    peers: tuple[Peer, ...] = PEERS
    sizes: tuple[str, ...] = ()
    usual_sizes: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()


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
        "peer run for about a millisecond, at least once. Arguments that a program writes into are made anew for each call, which is not timed. Results of backends are compared with NumPy's bit by bit, of peers, and of backends with an option, to half of the digits.",
        peers=SUITE_PEERS,
        sizes=SIZES,
        usual_sizes=("medium",),
        backends=("auto",),
    ),
    "kernels": Subject(
        kernel_figures.CASES,
        kernel_figures.tables,
        f"Each figure is the least of {{rounds}} turns within this process, of fewer where they take more than {measuring.BUDGET:g} s; first calls of {measuring.FIRST_CALLS}. In a turn plain NumPy, each backend, each peer and a copy of as many bytes run for about "
        "a millisecond, at least once. Results of backends are compared with NumPy's bit by bit, of peers, and of backends with an option, to half of the digits.",
        peers=KERNEL_PEERS,
        sizes=tuple(KERNEL_SIZES),
        usual_sizes=tuple(KERNEL_SIZES),
        backends=("auto",),
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
    make, sentences = _checked(asked, measures, fail)
    facts = machine() | ({"clock": asked.clock} if measures.sizes else {})
    print("; ".join(f"{name} {value}" for name, value in facts.items()))
    for sentence in sentences:
        print(sentence)
    peers = measures.peers if asked.peers else ()
    others = {peer.module: version(peer) for peer in peers}
    how = measures.how.format(rounds=asked.rounds)
    told = {
        "machine": facts | others,
        "rounds": asked.rounds,
        "how": how,
        "left_out": list(sentences),
    }
    measured: list[Table] = []
    for table in make(asked.cases or measures.cases, asked.rounds, peers):
        show(table)
        measured.append(table)
        if asked.json_file is not None:  # each time: who ends a long run keeps what is done
            text = json.dumps(told | {"tables": data(measured)}, indent=1)
            Path(asked.json_file).write_text(text + "\n", encoding="utf-8")
    print(f"\n{how}")
    if others:
        print("; ".join(f"{name} {value}" for name, value in others.items()))
    if asked.picture_file is not None:
        picture.draw(measured, facts, asked.picture_file)
    failures = [failure for table in measured for failure in table.failures]
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


def _checked(
    asked: Asked, measures: Subject, fail: Callable[[str], object]
) -> tuple[Callable[..., Iterator[Table]], tuple[str, ...]]:
    """Check what is asked; return what yields the tables, and sentences about backends that are not there."""
    for name in asked.cases:
        if name not in measures.cases:
            fail(f"--case: one of {', '.join(map(repr, measures.cases))} is expected, not {name!r}")
    if (asked.picture_file or asked.peer_sizes) and asked.subject != SUITE:
        fail(f"--picture, --peer-size: bench {SUITE} is expected, not {asked.subject}")
    if asked.picture_file is not None and not picture.is_there():
        fail("--picture: matplotlib is expected (pip install 'bcjit[demo]'), it is not installed")
    if measures.sizes:
        return _chosen(asked, measures, fail)
    if asked.backends or asked.sizes or asked.clock != "wall":
        fail(f"--backend, --size, --clock: {_those_with_sizes()} is expected, not {asked.subject}")
    return measures.tables, ()


def _those_with_sizes() -> str:
    return " or ".join(f"bench {name}" for name, one in SUBJECTS.items() if one.sizes)


def _chosen(
    asked: Asked, measures: Subject, fail: Callable[[str], object]
) -> tuple[Callable[..., Iterator[Table]], tuple[str, ...]]:
    """Check what is asked of backends and sizes; return what yields the tables, and sentences about backends that are not there."""
    sizes, peer_sizes = words_of(asked.sizes), words_of(asked.peer_sizes)
    for size in (*sizes, *peer_sizes):
        if size not in measures.sizes:
            fail(f"--size: one of {', '.join(measures.sizes)} is expected, not {size!r}")
    only: dict[str, object] = {"peer_sizes": peer_sizes} if peer_sizes else {}
    only["clock"] = CLOCKS[asked.clock]
    backends, sentences = there(words_of(asked.backends) or measures.backends, fail)
    make = functools.partial(
        measures.tables, backends=backends, sizes=sizes or measures.usual_sizes, **only
    )
    return make, sentences
