"""Parts that C hands over without a frame: which ones, that nobody can tell, and what is refused."""

from __future__ import annotations

import operator
import signal
import sys
import threading
import time
import types
import weakref

import numpy as np
import pytest

import bcjit
from bcjit import _core
from bcjit.backends.testing import CountingBackend
from bcjit.guards import compile_guards


def branches(x, k):
    y = x * k
    name = "low"
    if y.sum() > 3:
        name = "high"
        y = y + 1
    elif y.min() < 0:
        return -y
    return name, y, x


def truth_of_a_number(x, k):
    if x.sum():
        return x + 1
    return k


def truth_of_an_array(x, k):
    if x > k:
        return x + 1
    return k


def turns(x, k):
    while x.sum() < 50:
        print("at", x.sum())
        x = x * 2 + k
    return x


def many(x, k):
    a, b, c, d = x + 1, x + 2, x + 3, x + 4
    if (a + b).sum() > (c * d).sum() * k:
        return a, d
    return b, c, a


PROGRAMS = {
    branches: [(np.ones(4), 1), (np.ones(4), 0.5), (-np.ones(4), 1), (np.ones((2, 3), np.float32), 2)],
    truth_of_a_number: [(np.zeros(3), 7), (np.ones(3), 7), (np.array([np.nan]), 7), (np.arange(0), 7)],
    truth_of_an_array: [(np.array(3.0), 1), (np.array(0.0), 1), (np.ones(1), 0), (np.ones(2), 0)],
    turns: [(np.ones(3), 1), (np.ones(3), 0.0), (np.full(3, 90.0), 1)],
    many: [(np.ones(3), 1), (np.ones(3), 0), (np.ones(3), -1.0)],
}  # fmt: skip


def outcome(function, args, capsys):
    args = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in args)
    try:
        result: object = function(*args)
    except Exception as error:
        steps = [(frame.f_lineno, frame.f_code.co_name) for frame, _ in walk(error.__traceback__)]
        result = (type(error), str(error), steps[1:])
    same = isinstance(result, tuple) and any(part is args[0] for part in result)
    return repr(result), same, capsys.readouterr().out


def walk(traceback):
    while traceback is not None:
        yield traceback.tb_frame, traceback
        traceback = traceback.tb_next


@pytest.mark.parametrize("backend", ["eager", CountingBackend()], ids=["eager", "counting"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_nobody_can_tell(program, backend, capsys):
    compiled = bcjit.compile(program, backend=backend)
    for _ in range(3):
        for args in PROGRAMS[program]:
            assert outcome(compiled, args, capsys) == outcome(program, args, capsys)


def handed_over(compiled) -> int:
    parts = compiled._compiler.cache.parts.values()
    return sum(entry.hand_over is not None for part in parts for entry in part.entries)


def test_which_ends_are_handed_over():
    # one for each kind of k
    for program, count in {branches: 3, truth_of_a_number: 1, many: 2}.items():
        compiled = bcjit.compile(program, backend="eager")
        for args in PROGRAMS[program][:3]:
            compiled(*args)
        assert handed_over(compiled) == count, program
    compiled = bcjit.compile(truth_of_an_array, backend="eager")
    compiled(np.ones(1), 0)
    assert handed_over(compiled) == 0  # of more elements it would be an error
    compiled(np.array(1.0), 0)
    assert handed_over(compiled) == 1  # comparing those gives a number


cut = bcjit.graph_break


def test_a_break_that_was_asked_for_is_handed_over_while_it_is_that_function(monkeypatch):
    def program(x):
        y = x + 1
        cut()
        z = y * 2
        print(cut(), end="")
        return y, z

    compiled = bcjit.compile(program, backend="eager")
    said: list[str] = []
    x = np.ones(2)
    for _ in range(3):
        assert repr(compiled(x)) == repr(program(x))
    assert handed_over(compiled) == 1  # the other one has `print` below it
    captures = compiled._compiler.cache.captures
    monkeypatch.setitem(globals(), "cut", lambda: said.append("called"))
    for _ in range(3):
        assert repr(compiled(x)) == repr(program(x))
    assert said == ["called"] * 12
    assert compiled._compiler.cache.captures > captures


def stop():
    pass


noted: list[str] = []


def test_a_cut_that_does_something_by_now_is_done(monkeypatch):
    from bcjit.symbolic_vm import mark

    mark(stop, "BRK004")

    def program(x):
        y = x + 1
        stop()
        return y * 2

    compiled = bcjit.compile(program, backend="eager")
    noted.clear()
    for _ in range(3):
        compiled(np.ones(2))
    assert handed_over(compiled) == 1
    monkeypatch.setattr(stop, "__code__", (lambda: noted.append("called")).__code__)
    for _ in range(3):
        compiled(np.ones(2))
    assert noted == ["called"] * 3


def cuts_and_counts():
    noted.append("counted")
    bcjit.graph_break()


def test_a_call_that_leads_to_a_cut_is_made():
    def program(x):
        y = x + 1
        cuts_and_counts()
        return y * 2

    compiled = bcjit.compile(program, backend="eager")
    noted.clear()
    for _ in range(4):
        assert compiled(np.ones(2)).tolist() == [4.0, 4.0]
    assert noted == ["counted"] * 4


def test_profilers_see_the_function():
    compiled = bcjit.compile(branches, backend="eager")
    direct = bcjit.compile(lambda x: x + 1, backend="eager")
    for _ in range(3):
        compiled(*PROGRAMS[branches][0])
        direct(np.ones(2))
    assert handed_over(compiled)
    names: list[str] = []

    def profile(frame, event, arg):
        if event == "call":
            names.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        compiled(*PROGRAMS[branches][0])
        direct(np.ones(2))
    finally:
        sys.setprofile(None)
    assert "branches" in names
    assert "<lambda>" in names


def test_a_graph_that_has_written_is_not_done_again():
    def writes(x):
        x += 1
        return x * 2 if x.sum() > 3 else x

    compiled = bcjit.compile(writes, backend="eager")
    for start in (0.0, 5.0, 0.0):
        x, y = np.full(2, start), np.full(2, start)
        assert compiled(x).tolist() == writes(y).tolist()
        assert x.tolist() == y.tolist()
    assert handed_over(compiled) == 0


@pytest.mark.parametrize("program", [truth_of_a_number, lambda x, k: np.sqrt(x) + k])
def test_a_call_from_within_the_graph_leaves_the_outer_one_its_values(program):
    calls: list[int] = []

    def backend(graph, examples):
        run = graph.to_callable()

        def call(*inputs):
            if not calls:
                calls.append(1)  # a signal handler's, or a finalizer's
                assert repr(compiled(np.full(3, 8.0), 2)) == repr(program(np.full(3, 8.0), 2))
                raise ValueError("the graph fails")
            return run(*inputs)

        return call

    compiled = bcjit.compile(program, backend=backend)
    with bcjit.config.override(strict=False):
        for _ in range(3):
            assert repr(compiled(np.ones(5), 2)) == repr(program(np.ones(5), 2))
            calls.clear()


class Told:
    def __init__(self, log: list[str], name: str) -> None:
        self.log = log
        self.name = name

    def __del__(self) -> None:
        self.log.append(self.name)


def test_values_die_when_they_do_in_plain_python():
    @bcjit.disable
    def says(log, word):
        log.append(word)

    def program(x, log):
        first, second = Told(log, "first"), Told(log, "second")
        y = x * 2
        held = first, y
        del first
        if y.sum() > 0:
            del held
            says(log, "behind")
            return second.name
        says(log, "else")
        return held[1]

    compiled = bcjit.compile(program, backend="eager")
    for sign in (1.0, -1.0, 1.0, -1.0):
        logs: list[list[str]] = [[], []]
        results = [
            f(np.full(2, sign), log) for f, log in zip((program, compiled), logs, strict=True)
        ]
        assert logs[0] == logs[1]
        assert repr(results[0]) == repr(results[1])


def test_no_reference_is_kept_or_lost():
    compiled = bcjit.compile(branches, backend="eager")
    x, k = np.ones(4), 1234567.0
    for _ in range(10):
        compiled(x, k)
    assert handed_over(compiled)
    before = sys.getrefcount(x), sys.getrefcount(k)
    for _ in range(1000):
        compiled(x, k)
    assert (sys.getrefcount(x), sys.getrefcount(k)) == before
    code = weakref.ref(compiled._compiler.cache.entries[0].entry())
    del compiled
    import gc

    gc.collect()
    assert code() is None


def test_what_interrupts_the_graph_goes_on_from_the_line_of_the_part():
    def backend(graph, examples):
        run = graph.to_callable()
        calls: list[int] = []

        def call(*inputs):
            calls.append(1)
            if len(calls) == 3:
                raise KeyboardInterrupt
            return run(*inputs)

        return call

    compiled = bcjit.compile(truth_of_a_number, backend=backend)
    x = np.zeros(3)
    for _ in range(2):
        assert compiled(x, 7) == 7
    assert handed_over(compiled)
    with pytest.raises(KeyboardInterrupt) as caught:
        compiled(x, 7)
    names = [frame.f_code.co_name for frame, _ in walk(caught.value.__traceback__)]
    assert "truth_of_a_number" in names
    assert compiled(x, 7) == 7


class Alarm(Exception):
    pass


def test_signals_and_other_threads_are_heard_where_no_python_code_runs():
    """A loop of parts that C hands over, whose graph is a C function: as a backend that makes machine code gives one."""

    def spins(x):
        return x

    graph_call = _core.GraphCall(operator.pos, None, False, True)
    code = spins.__code__.replace(co_consts=(None, graph_call))
    part = _core.Part(spins.__code__, None, None)
    again = ((0,), 1, -1, ((part, (0,)),), ())
    part.add(_core.Entry(compile_guards(()), code, False, None, None, None, False, again))
    ran: list[int] = []

    def handler(*_):
        raise Alarm

    def ring():
        time.sleep(
            0.1
        )  # the loop has begun by then: going on takes the lock that it must let go of
        ran.append(1)
        signal.raise_signal(signal.SIGALRM)

    before = signal.signal(signal.SIGALRM, handler)
    ringer = threading.Thread(target=ring)
    try:
        with pytest.raises(Alarm):
            ringer.start()
            _core.drive(part, spins, None, (1,))
    finally:
        ringer.join()
        signal.signal(signal.SIGALRM, before)
    assert ran == [1]


def test_a_specification_that_does_not_fit_is_refused():
    compiled = bcjit.compile(branches, backend="eager")
    for _ in range(2):
        compiled(*PROGRAMS[branches][0])
    entry = compiled._compiler.first.entries[0]
    arguments, outputs, test, sides, literals = entry.hand_over

    def made(spec: object) -> _core.Entry:
        code = entry.code.replace()  # the constants are the same
        return _core.Entry(entry.guards, code, False, None, None, None, False, spec)

    assert made(entry.hand_over).hand_over == entry.hand_over
    part, places = sides[0]
    wrong = [
        (),
        5,
        [arguments, outputs, test, sides, literals],
        ((99,), outputs, test, sides, literals),
        (arguments, 0, test, sides, literals),
        (arguments, outputs, outputs, sides, literals),
        (arguments, outputs, test, sides[:1], literals),
        (arguments, outputs, -1, sides, literals),
        (arguments, outputs, test, ((part, (-99,)), sides[1]), literals),
        (arguments, outputs, test, ((part, (99,)), sides[1]), literals),
        (arguments, outputs, test, ((part, ("x",)), sides[1]), literals),
        (arguments, outputs, test, ((None, places), sides[1]), literals),
        (arguments, outputs, test, (part, sides[1]), literals),
        (arguments, outputs, test, ((part, (0,) * 25), sides[1]), literals),
    ]
    for spec in wrong:
        with pytest.raises(ValueError, match="hand_over"):
            made(spec)
    plain: types.CodeType = branches.__code__
    with pytest.raises(ValueError, match="hand_over"):
        _core.Entry(entry.guards, plain, False, None, None, None, False, entry.hand_over)
