"""Where what LLVM holds is freed: in a thread in which no signal's handler runs."""

from __future__ import annotations

from _thread import get_ident

import pytest

pytest.importorskip("llvmlite")

from bcjit.backends.native.engine import Loaded, in_turn


class Library:
    """What llvmlite hands out: freed by Python code of its own."""

    def __init__(self, freed):
        self.freed = freed

    def __del__(self):
        self.freed.append(get_ident())


def test_code_is_freed_there_before_the_next_is_made():
    freed = []
    loaded = Loaded(0, Library(freed))
    in_turn(int)
    assert not freed
    del loaded
    assert not freed  # here a handler could raise in the middle of it
    assert in_turn(freed.copy) == freed
    assert len(freed) == 1
    assert freed[0] != get_ident()
