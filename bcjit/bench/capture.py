"""What a first call costs: capture, backend, guards and residual code, in a warm process and in a fresh one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bcjit.bench.peers import PEERS, Peer
from bcjit.bench.tables import Table

CASES: Final = ()


def tables(chosen: Sequence[str], rounds: int, peers: Sequence[Peer] = PEERS) -> Iterator[Table]:
    """Measure the chosen cases, a table at a time."""
    yield from ()
