"""What the tests of facts share: a compiled function beside the plain one, and tables of changes between calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any

from pictures import Painter

import bcjit

Calls = Generator[tuple[Callable[..., Any], tuple[Any, ...]], None, None]


def captures(compiled):
    """Return how many captures a compiled function has led to."""
    return sum(cache.captures for cache in compiled._caches)


def look(value):
    return Painter().paint(value, "value")


def outcome(fn, *args, **kwargs):
    try:
        return look(fn(*args, **kwargs))
    except Exception as error:
        return type(error), str(error)


def new_captures(compiled, fn, *args, **kwargs):
    """Call both and compare; return how many captures were needed."""
    before = captures(compiled)
    got = outcome(compiled, *args, **kwargs)
    assert got == outcome(fn, *args, **kwargs)
    return captures(compiled) - before


def agree(compiled, fn, *args, **kwargs):
    """Call both and compare; return whether a capture was needed."""
    return new_captures(compiled, fn, *args, **kwargs) > 0


class Table:
    """Generator functions: each yields ``(fn, args)`` for the first call, then for the next, after its change."""

    def __init__(self) -> None:
        self.rows: dict[str, tuple[Callable[[], Calls], int]] = {}

    def row(self, new: int) -> Callable[[Callable[[], Calls]], Callable[[], Calls]]:
        """Register a generator function; `new` is how many captures each change leads to."""

        def put(make: Callable[[], Calls]) -> Callable[[], Calls]:
            assert make.__name__ not in self.rows
            self.rows[make.__name__] = make, new
            return make

        return put

    def check(self, name: str) -> None:
        """Go through the calls of a row: each is as plain, and a change leads to as many captures as is said."""
        make, new = self.rows[name]
        with contextlib.closing(make()) as calls:
            compiled, found = None, []
            for fn, args in calls:
                if compiled is None:
                    compiled = bcjit.compile(fn, backend="eager")
                found.append(new_captures(compiled, fn, *args))
                assert not agree(compiled, fn, *args), "nothing changed"
        assert len(found) > 1
        assert found[0] > 0
        assert found[1:] == [new] * (len(found) - 1)
