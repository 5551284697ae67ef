"""Tables filled in order, graphs, checksums: what is one item after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from bcjit.bench.suite.program import Array, Program, Sizes

__all__ = ["PROGRAMS"]


def edit_distance(a: Array, b: Array) -> Any:
    """How far two sequences are apart, item by item."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    table[:, 0] = np.arange(len(a) + 1)
    table[0, :] = np.arange(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1]
            else:
                table[i, j] = 1 + min(table[i - 1, j], table[i, j - 1], table[i - 1, j - 1])
    return table[len(a), len(b)]


def knapsack(weights: Array, values: Array, capacity: int) -> Any:
    """The best of what can be carried: a row of the table at a time."""
    best = np.zeros(capacity + 1, dtype=np.int64)
    for k in range(len(weights)):
        weight = int(weights[k])
        best[weight:] = np.maximum(best[weight:], best[: capacity + 1 - weight] + values[k])
    return best


def floyd_warshall(paths: Array) -> Any:
    """Shortest paths between all, a row at a time."""
    n = len(paths)
    for k in range(n):
        for i in range(n):
            paths[i] = np.minimum(paths[i], paths[i, k] + paths[k])
    return paths


def viterbi(observed: Array, start: Array, moves: Array, emits: Array) -> Any:
    """The likeliest states behind observations: there by maxima, back by indices."""
    length, states = len(observed), len(start)
    score = start + emits[:, observed[0]]
    back = np.zeros((length, states), dtype=np.int64)
    for t in range(1, length):
        options = score[:, None] + moves
        back[t] = options.argmax(axis=0)
        score = options.max(axis=0) + emits[:, observed[t]]
    path = np.zeros(length, dtype=np.int64)
    path[-1] = score.argmax()
    for t in range(length - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, score.max()


def page_rank(links: Array, damping: float, tolerance: float) -> Any:
    """Ranks of linked pages, until they stay."""
    n = len(links)
    out = links.sum(axis=1)
    shares = links / np.maximum(out, 1.0)[:, None]
    rank = np.full(n, 1.0 / n)
    change = 1.0
    while change > tolerance:
        lost = rank[out == 0].sum()
        new = (1.0 - damping) / n + damping * (rank @ shares + lost / n)
        change = np.abs(new - rank).sum()
        rank = new
    return rank


def crc32(data: Array) -> Any:
    """A checksum bit by bit, of Python's ints."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= int(byte)
        for _ in range(8):
            crc = (crc >> 1) ^ 0xEDB88320 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF


def crc32_by_table(data: Array) -> Any:
    """The same checksum of many rows at once: a table, shifts and gathers of unsigned numbers."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(
            table & 1, (table >> np.uint32(1)) ^ np.uint32(0xEDB88320), table >> np.uint32(1)
        )
    crc = np.full(data.shape[0], 0xFFFFFFFF, dtype=np.uint32)
    for k in range(data.shape[1]):
        crc = table[(crc ^ data[:, k]) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return ~crc


def sieve(limit: int) -> Any:
    """The primes below a limit: steps of a slice set to False."""
    prime = np.ones(limit, dtype=bool)
    prime[:2] = False
    for k in range(2, int(limit**0.5) + 1):
        if prime[k]:
            prime[k * k :: k] = False
    return np.flatnonzero(prime)


def _hidden(n: int, rng: np.random.Generator) -> tuple[Any, ...]:
    states = 12
    start, moves, emits = (
        np.log(rng.random(shape)) for shape in ((states,), (states, states), (states, 5))
    )
    return rng.integers(0, 5, n), start, moves, emits


PROGRAMS = (
    Program(
        edit_distance,
        lambda n, rng: (rng.integers(0, 4, n), rng.integers(0, 4, n)),
        Sizes(5, 80, 500),
        "tables",
        by_element=True,
    ),
    Program(
        knapsack,
        lambda n, rng: (rng.integers(1, n, n), rng.integers(1, 100, n), 20 * n),
        Sizes(6, 150, 2_000),
        "tables",
    ),
    Program(floyd_warshall, lambda n, rng: (rng.random((n, n)),), Sizes(5, 80, 400), "tables"),
    Program(viterbi, _hidden, Sizes(6, 1_000, 50_000), "tables"),
    Program(
        page_rank,
        lambda n, rng: ((rng.random((n, n)) < 4.0 / n).astype(float), 0.85, 1e-8),
        Sizes(8, 300, 2_000),
        "tables",
    ),
    Program(
        crc32,
        lambda n, rng: (rng.integers(0, 256, n, dtype=np.uint8),),
        Sizes(8, 4_000, 200_000),
        "tables",
        by_element=True,
    ),
    Program(
        crc32_by_table,
        lambda n, rng: (rng.integers(0, 256, (n, 32), dtype=np.uint8),),
        Sizes(4, 2_000, 200_000),
        "tables",
    ),
    Program(sieve, lambda n, rng: (n,), Sizes(50, 100_000, 10_000_000), "tables"),
)
