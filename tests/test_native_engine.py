"""Where LLVM is asked, and where what it holds is freed: in a thread in which no signal's handler runs."""

from __future__ import annotations

from _thread import get_ident

import pytest

pytest.importorskip("llvmlite")

from bcjit.backends.native.engine import Loaded, apart


class Library:
    """What llvmlite hands out: freed by Python code of its own."""

    def __init__(self, freed):
        self.freed = freed

    def __del__(self):
        self.freed.append(get_ident())


def test_work_is_done_in_another_thread_than_the_main_one():
    assert apart(get_ident) != get_ident()
    assert get_ident() not in apart(lambda: (get_ident(), apart(get_ident)))


def test_what_is_raised_comes_out():
    with pytest.raises(ZeroDivisionError, match="zero"):
        apart(lambda: 1 // 0)


def test_code_is_freed_in_that_thread_before_the_next_is_made():
    freed = []
    loaded = Loaded(0, Library(freed))
    apart(int)
    assert not freed
    del loaded
    assert not freed  # here a handler could raise in the middle of it
    assert apart(freed.copy) == freed
    assert len(freed) == 1
    assert freed[0] != get_ident()
