"""A short walk through every way of ``bcjit._core``, for ``valgrind_core.sh``; asserts that each gives its result."""

from __future__ import annotations

import gc
import threading

import test_core_leaks as leaks
from core_kit import dispatcher, entry_of

from bcjit import _core


def main() -> None:
    """Run each scenario of the leak tests a few times, on two threads, and collect."""
    thing = leaks.Thing()

    def work() -> None:
        for _ in range(3):
            for call in leaks.SCENARIOS.values():
                call(thing)

    thread = threading.Thread(target=work)
    thread.start()
    work()
    thread.join()
    leaks.test_parts_that_lead_back_to_themselves_are_collected()
    leaks.test_collection_during_a_run_frees_nothing_that_is_in_use()
    leaks.test_callees_and_slots_die_with_their_code()

    def nested(depth: int) -> object:
        d = dispatcher(lambda x: x, on_miss=lambda *_: entry_of(leaks.GROWS))
        return d(depth) if depth == 0 else nested(depth - 1)

    assert nested(150) == 0
    assert not _core.hook_installed()
    gc.collect()


main()
