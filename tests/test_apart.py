"""Work done in a thread in which no signal's handler runs."""

from __future__ import annotations

import signal
import sys
import threading
from _thread import get_ident

import pytest

from bcjit.apart import apart
from bcjit.lazy import load


def test_work_is_done_in_another_thread_that_is_gone_then():
    before = threading.active_count()
    assert get_ident() not in apart(lambda: (get_ident(), apart(get_ident)))
    assert threading.active_count() == before


def test_work_of_work_is_done_in_the_same_thread():
    own, inner = apart(lambda: (get_ident(), apart(get_ident)))
    assert own == inner


def test_what_is_raised_comes_out():
    with pytest.raises(ZeroDivisionError, match="zero"):
        apart(lambda: 1 // 0)


def test_what_a_handler_raises_leaves_the_work_to_its_end():
    main = get_ident()
    heard, may_end, ended = threading.Event(), threading.Event(), threading.Event()
    where = []

    def work():
        where.append(get_ident())
        # One that comes just before the main thread begins to wait does not wake it.
        while not heard.wait(0.05):
            signal.pthread_kill(main, signal.SIGUSR1)
        assert may_end.wait(60)
        ended.set()

    def handler(number, frame):
        if not heard.is_set():
            heard.set()
            raise TimeoutError("ours")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(TimeoutError, match="ours"):
            apart(work)
        assert not ended.is_set()
        may_end.set()
        assert where != [main]  # a thread could be started
        assert ended.wait(60)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_modules_of_others_are_imported_there(tmp_path, monkeypatch):
    (tmp_path / "imported_apart.py").write_text(
        "from _thread import get_ident\nwhere = get_ident()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "imported_apart", raising=False)
    module = load("imported_apart")
    assert module.where != get_ident()
    assert sys.modules.pop("imported_apart") is module
