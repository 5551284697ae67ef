"""Temporaries of loops that nobody reads again are given by no kernel; all that somebody reads is."""

from __future__ import annotations

import numpy as np
from test_native_views import Array, Recorder, same

import bcjit


def run(function, *given, turns: int = 3) -> Recorder:
    made = Recorder()
    compiled = bcjit.compile(function, backend=made)
    for _ in range(2):
        same(compiled(*given, turns), function(*given, turns))
    same(compiled(*given, 0), function(*given, 0))
    return made


def test_a_temporary_that_is_made_anew_in_each_turn() -> None:
    def decay(x: Array, turns: int) -> Array:
        for _ in range(turns):
            rate = x * 0.5 + 1
            x = x - rate * 0.25
        return x

    made = run(decay, np.arange(5.0))
    assert "[" not in made.source, made.source  # one result


def test_what_is_read_behind_the_loop_or_in_the_next_turn_stays() -> None:
    def last(x: Array, turns: int) -> tuple[Array, Array]:
        rate = x
        before = x
        for _ in range(turns):
            x = x - before * 0.25
            before = rate
            rate = x * 0.5 + 1
        return x, rate

    run(last, np.arange(5.0))


def test_what_changes_places_stays() -> None:
    def swapped(x: Array, y: Array, turns: int) -> Array:
        for _ in range(turns):
            x, y = y * 0.5 + 1, x
        return x

    run(swapped, np.arange(5.0), np.ones(5))
    run(swapped, np.arange(5.0), np.ones(5), turns=4)


def test_an_inner_loop() -> None:
    def nested(x: Array, turns: int) -> Array:
        for _ in range(turns):
            for _ in range(2):
                rate = x * 0.5 + 1
                x = x - rate * 0.25
            rate = x + 1
        return x

    run(nested, np.arange(5.0))


def test_failures_behind_a_write_find_all_locals() -> None:
    def written(x: Array, y: Array, turns: int) -> Array:
        rate = x
        for _ in range(turns):
            rate = x * 0.5 + 1
            y += rate
            x = x / y
        return x

    function = bcjit.compile(written, backend=Recorder())
    with np.errstate(all="ignore"):
        for start in (1.0, 0.0):
            y, twin = np.full(3, start - 1.5), np.full(3, start - 1.5)
            same(function(np.arange(3.0), y, 2), written(np.arange(3.0), twin, 2))
            same(y, twin)


def test_sizes_that_only_the_graph_around_a_loop_reads() -> None:
    def centred(x: Array, turns: int) -> Array:
        t = x * 1.0
        for i in range(turns):
            t[i] -= t.mean()
        return t

    run(centred, np.arange(5.0))
