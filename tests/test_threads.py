"""Many threads and one compiled function: right answers, no deadlock, one compilation for a key, whatever is reset or changed meanwhile.

Threads are switched after every few bytecodes, so that a second here is many schedules. Nothing here is timed: a thread that does not end fails
its test through the timeout of `run_threads`.
"""

from __future__ import annotations

import gc
import itertools
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import bcjit
from bcjit import _core
from bcjit.config import config

ROOT = Path(__file__).parents[1]
THREADS = 32


@pytest.fixture(autouse=True)
def _switching() -> Iterator[None]:
    config.strict = True
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def run_threads(*workers: Callable[[], None], others: tuple[Callable[[], None], ...] = ()) -> None:
    """Run the workers to their ends, and the others again and again until then; raise what any of them raised."""
    problems: list[BaseException] = []
    done = threading.Event()
    start = threading.Barrier(len(workers) + len(others))

    def guarded(work: Callable[[], None], *, repeats: bool) -> None:
        try:
            start.wait()
            work()
            while repeats and not done.is_set():
                work()
        except BaseException as error:  # noqa: BLE001 - raised below
            problems.append(error)

    threads = [
        threading.Thread(target=guarded, args=(w,), kwargs={"repeats": False}, daemon=True)
        for w in workers
    ]
    helpers = [
        threading.Thread(target=guarded, args=(w,), kwargs={"repeats": True}, daemon=True)
        for w in others
    ]
    for thread in (*threads, *helpers):
        thread.start()
    for thread in threads:
        thread.join(60)
    done.set()
    for thread in helpers:
        thread.join(60)
    assert not any(thread.is_alive() for thread in (*threads, *helpers)), "a thread hangs"
    if problems:
        raise problems[0]


class Counting:
    """A backend that counts the graphs it gets by the shapes and dtypes of their inputs, and gives way to other threads."""

    def __init__(self) -> None:
        self.keys: Counter[object] = Counter()

    def __call__(self, graph, inputs):
        key = (
            graph.text(),
            *((v.ndim, v.dtype) if isinstance(v, np.ndarray) else type(v) for v in inputs),
        )
        time.sleep(0)
        self.keys.update([key])
        return graph.to_callable()


def same(left, right):
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and (
        (left.dtype, left.shape, left.tobytes()) == (right.dtype, right.shape, right.tobytes())
        if isinstance(left, np.ndarray)
        else left == right
    )


def announces(x):
    bcjit.graph_break()
    return x * 2 + 1


def branches(x, k):
    y = x * k
    if y.sum() > 0:
        y = announces(y) - 1
    return y.reshape(-1), y.shape


def arguments(number: int, turn: int):
    shape = [(number % 5 + 2,), (2, number % 7 + 2), (3, 2, turn % 3 + 2)][turn % 3]
    return np.full(shape, turn - 20.0, dtype=["f8", "f4"][number % 2]), number


def test_threads_with_other_shapes_compile_once_for_a_key():
    counting = Counting()
    with config.override(cache_limit=64):
        compiled = bcjit.compile(branches, backend=counting)

        def worker(number):
            def work():
                for turn in range(40):
                    call = arguments(number, turn)
                    assert same(compiled(*call), branches(*call))

            return work

        run_threads(*(worker(number) for number in range(THREADS)))
    assert counting.keys
    assert set(counting.keys.values()) == {1}
    assert sum(len(cache.entries) for cache in compiled._caches) == sum(
        len(part.entries) for cache in compiled._caches for part in cache.parts.values()
    )


def test_threads_go_on_while_everything_is_reset_and_reported():
    compiled = bcjit.compile(branches)
    made = []

    def worker(number):
        def work():
            for turn in range(2):
                call = arguments(number, turn)
                assert same(compiled(*call), branches(*call))

        return work

    def look():
        str(compiled.report())
        assert all(graph.count for graph in compiled.graphs)

    def make():
        made.append(bcjit.compile(lambda x: x + 1))
        made[-1](np.ones(3))
        del made[:-3]

    run_threads(
        *(worker(number) for number in range(THREADS)),
        others=(compiled.reset, bcjit.reset, look, make, gc.collect),
    )
    compiled.reset()
    for number, turn in itertools.product(range(4), range(6)):
        call = arguments(number, turn)
        assert same(compiled(*call), branches(*call))
    for cache in compiled._caches:  # what is reported is what is used
        for part in cache.parts.values():
            assert not part.busy
            assert {id(e.tag) for e in part.entries} == {id(e) for e in cache.of_part(part.tag)}
    assert compiled.graphs


def test_the_limit_reached_in_one_thread_does_not_outlive_a_reset_in_another():
    dtypes = ["f8", "f4", "i8", "i4", "i2", "u1"]
    with config.override(cache_limit=2):
        compiled = bcjit.compile(lambda x: x + x)

        def work():
            for turn in range(40):
                x = np.arange(3, dtype=dtypes[turn % 6])
                assert same(compiled(x), x + x)

        run_threads(*[work] * 8, others=(compiled.reset,))
        compiled.reset()
        compiled(np.arange(3.0))
        assert len(compiled.graphs) == 1


def test_another_thread_runs_plain_while_one_compiles_and_never_waits():
    entered, leave = threading.Event(), threading.Event()

    def slow(graph, inputs):
        entered.set()
        assert leave.wait(60)
        return graph.to_callable()

    compiled = bcjit.compile(lambda x: x * 3, backend=slow)
    x = np.arange(3.0)
    first = threading.Thread(target=compiled, args=(x,), daemon=True)
    first.start()
    assert entered.wait(60)
    assert compiled._caches[0].parts
    for _ in range(3):
        assert compiled(x).tolist() == [0.0, 3.0, 6.0]
    compiled.reset()
    assert compiled(x).tolist() == [0.0, 3.0, 6.0]
    leave.set()
    first.join(60)
    assert not first.is_alive()
    assert compiled.graphs == ()  # what was begun before the reset is not kept
    compiled(x)
    assert len(compiled.graphs) == 1


# ---------------------------------------------------------------------- containers that change
class Box:
    def __init__(self, value, scale):
        self.value = value
        self.scale = scale


A, B, C = np.arange(4.0), np.arange(6, dtype="f4").reshape(2, 3), np.arange(3)
VALUES = [(A, 2.0), (B, 3), (C, 2.5), (A[:1], np.float32(4))]
SCALE = 2.0


def reads_list(box):
    value = box[0]
    return value * 2, value.shape, value


def reads_dict(box):
    value = box["value"]
    return value.sum(axis=0), value.ndim, value


def reads_attribute(box):
    value = box.value
    return value + 1, value.size, value


def reads_global(box):
    value = SCALE
    return value * A, type(value), np.asarray(value)


def consistent(result, box_reads):
    """Whether a result can come from one read of the value."""
    return any(same(result, wanted) for wanted in box_reads)


CHANGES = {
    "list": (reads_list, lambda: [A], lambda box, value: box.__setitem__(0, value[0])),
    "dict": (
        reads_dict,
        lambda: {"value": A},
        lambda box, value: box.__setitem__("value", value[0]),
    ),
    "attribute": (
        reads_attribute,
        lambda: Box(A, 2.0),
        lambda box, value: setattr(box, "value", value[0]),
    ),
    "global": (
        reads_global,
        lambda: None,
        lambda box, value: globals().__setitem__("SCALE", value[1]),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_container_changed_by_another_thread_gives_the_answer_for_one_of_its_states(name):
    fn, make, change = CHANGES[name]
    before = SCALE
    wanted = []
    for value in VALUES:
        box = make()
        change(box, value)
        wanted.append(fn(box))
    compiled = bcjit.compile(fn)
    box = make()
    states = itertools.cycle(VALUES)

    def work():
        for turn in range(400):
            assert consistent(compiled(box), wanted), turn
            if turn % 20 == 10:
                compiled.reset()

    try:
        run_threads(*[work] * 4, others=(lambda: change(box, next(states)),))
    finally:
        globals()["SCALE"] = before
    assert not compiled.report().problems


def test_keys_that_come_and_go_are_no_error_of_ours():
    box: dict[object, object] = {"value": A, "kept": B}
    numbers = itertools.count()

    def fn(box):
        value = box.get("value", A)
        other = {**box}
        return value + 1, len(other) >= 1, box["kept"] * 2

    compiled = bcjit.compile(fn)

    def change():
        number = next(numbers) % 20
        box[f"key {number}"] = number
        box.pop("value", None)
        box.pop(f"key {(number * 7) % 20}", None)
        box["value"] = A

    def work():
        for turn in range(300):
            found = compiled(box)
            assert same(found, (A + 1, True, B * 2))
            if turn % 10 == 5:
                compiled.reset()

    run_threads(*[work] * 4, others=(change,))
    assert not compiled.report().problems


def test_classes_that_change_are_no_error_of_ours():
    class Layer:
        k = 2.0

        def scale(self, x):
            return x * self.k

    class Sub(Layer):
        pass

    numbers = itertools.count()

    def change():
        number = next(numbers)
        setattr(Layer, f"extra{number % 10}", number)
        if number % 3 == 0:
            Sub.k = 3.0
        elif number % 3 == 1 and "k" in vars(Sub):
            del Sub.k

    def fn(layer, x):
        return layer.scale(x) + 1, isinstance(layer, Layer)

    compiled = bcjit.compile(fn)
    layer = Sub()

    def work():
        for turn in range(300):
            found = compiled(layer, A)
            assert found[1] is True
            assert any(same(found[0], A * k + 1) for k in (2.0, 3.0))
            if turn % 10 == 5:
                compiled.reset()

    run_threads(*[work] * 4, others=(change,))
    assert not compiled.report().problems


def test_what_changes_between_the_guards_and_the_code_is_not_run_on():
    """A backend that changes what the capture has read: the entry is for another time, the call sees what is there."""
    box = [A]

    def changes(graph, inputs):
        assert inputs[0] is A  # what was captured, whatever is there by now
        box[0] = B
        return graph.to_callable()

    compiled = bcjit.compile(reads_list, backend=changes)
    assert same(compiled(box), (B * 2, B.shape, B))
    box[0] = A
    assert same(compiled(box), (A * 2, A.shape, A))
    assert [part.hits for part in compiled.report().parts] == [1]


def test_a_value_is_read_once_though_it_is_used_twice():
    """A graph that takes the value from its place: what is returned is what it was given."""
    box = [A]

    def takes_away(graph, inputs):
        inner = graph.to_callable()

        def run(*values):
            box[0] = None
            return inner(*values)

        return run

    compiled = bcjit.compile(reads_list, backend=takes_away)
    for _ in range(2):
        box[0] = A
        found = compiled(box)
        assert same(found, (A * 2, A.shape, A))
        assert found[2] is A
        assert box == [None]


# ---------------------------------------------------------------------- the C extension alone
def test_entries_come_and_go_while_a_part_runs():
    from core_kit import dispatcher, entry_of, is_type

    kinds = [int, str, float, bytes, list, tuple]
    entries = [entry_of(lambda x: ("entry", x), is_type(0, kind)) for kind in kinds]
    d = dispatcher(lambda x: ("plain", x), *entries)
    part = d.part

    def work():
        for turn in range(300):
            value = kinds[turn % 6]()
            assert d(value) in (("entry", value), ("plain", value))

    def change():
        part.clear()
        for entry in entries:
            part.add(entry)
        assert len(part.entries) <= len(entries)
        part.remove(entries[3])
        part.add(entry_of(lambda x: ("entry", x), is_type(0, bytes)))

    run_threads(*[work] * 8, others=(change,))


def test_callees_are_made_once():
    made = Counter()

    class Tag:
        pass

    def factory(fn, tag):
        time.sleep(0)
        made.update([fn])
        return _core.Dispatcher(fn, parts.setdefault(fn, _core.Part(fn.__code__, None, None)))

    def fn(x):
        return x

    parts: dict[object, _core.Part] = {}
    tag = Tag()
    _core.set_callee_factory(factory)
    found = []

    def work():
        for _ in range(20):
            found.append(_core.callee(fn, tag))
            assert found[-1](3) == 3

    run_threads(*[work] * 8)
    assert {callee.part for callee in found} == {parts[fn]}


PROGRAM = """
import faulthandler, sys
faulthandler.enable()
sys.path.insert(0, sys.argv[1])
import pytest
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", sys.argv[2], "-k", sys.argv[3]]))
"""


@pytest.mark.skipif("BCJIT_THREADS_INNER" in os.environ, reason="runs itself")
def test_under_the_debug_allocator():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            PROGRAM,
            str(ROOT / "tests"),
            __file__,
            "once_for_a_key or come_and_go or changed_by",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        timeout=240,
        env={
            **os.environ,
            "PYTHONMALLOC": "debug",
            "BCJIT_THREADS_INNER": "1",
            "PYTHONPATH": str(ROOT),
        },
    )
    assert done.returncode == 0, done.stdout + done.stderr
