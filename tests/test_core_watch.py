"""The watch: every fresh frame is offered to the parts of its code; what it must leave alone, and what must not stay behind."""

from __future__ import annotations

import gc
import signal
import sys
import threading
import types
import weakref

import pytest
from core_kit import entry_of, function_at, is_type, part_of, raised, resident_kb
from test_core_hook import foreign  # noqa: F401 - a fixture

from bcjit import _core

pytestmark = pytest.mark.filterwarnings("error")


class Thing:
    """An object that can be watched."""


def copied(code):
    return code.replace()


class Chooser:
    """Gives the functions named in a table the parts that the table makes, and leaves others alone."""

    def __init__(self, **make):
        self.make = make
        self.asked = []
        self.seen = []

    def __call__(self, code, func, values, asked):
        self.seen.append(code.co_name)
        if code.co_name not in self.make:
            return False
        self.asked.append((code.co_name, func, values, asked))
        return self.make[code.co_name](code)


class watching:
    """For the length of a with block the watch is on."""

    def __init__(self, chooser=None, **make):
        self.chooser = chooser or Chooser(**make)

    def __enter__(self):
        _core.watch(self.chooser)
        return self.chooser

    def __exit__(self, *exc):
        _core.watch(None)
        assert not _core.hook_installed()


def with_entry(new, **how):
    """Make parts whose one entry runs new."""
    return lambda code: part_of(copied(code), entry_of(new, **how))


def test_a_frame_runs_the_entry_of_its_code_and_the_choice_is_kept():
    def f(a, b=2, *args, k=3, **kw):
        return ("plain", a)

    def new(a, b, k, args, kw):
        return ("new", a, b, k, args, kw)

    with watching(f=with_entry(new)) as chooser:
        assert _core.hook_installed()
        for _ in range(3):
            assert f(1, 5, 6, z=7) == ("new", 1, 5, 3, (6,), {"z": 7})
    assert chooser.asked == [("f", f, (1, 5, 3, (6,), {"z": 7}), 0)]
    assert f(1) == ("plain", 1)


def test_functions_of_one_code_share_its_part():
    def make(k):
        def f(x):
            return ("plain", x, k)

        return f

    def closed(k):
        def new(x):
            return ("new", x, k)

        return new

    with watching(f=with_entry(closed(0))) as chooser:
        assert [make(k)(1) for k in range(5)] == [("new", 1, k) for k in range(5)]
    assert len(chooser.asked) == 1


def test_none_asks_again_and_false_does_not():
    answers = iter([None, None, False])

    def f(x):
        return x

    with watching(f=lambda code: next(answers)) as chooser:
        assert [f(k) for k in range(6)] == list(range(6))
    assert [(values, asked) for _, _, values, asked in chooser.asked] == [
        ((0,), 0),
        ((1,), 1),
        ((2,), 2),
    ]


def test_wrong_answers_leave_the_code_alone():
    def f(x):
        return x

    with watching(f=lambda code: "a part") as chooser:
        assert [f(1), f(2)] == [1, 2]
    assert len(chooser.asked) == 1


def test_code_that_is_left_alone_runs_plain_with_or_without_a_part():
    def f(x):
        return ("plain", x)

    def g(x):
        return ("plain", x)

    make = with_entry(lambda x: ("new", x))
    _core.leave_alone(f.__code__)
    with watching(f=make, g=make) as chooser:
        assert f(1) == ("plain", 1)
        assert g(1) == ("new", 1)
        _core.leave_alone(g.__code__)
        assert g(1) == ("plain", 1)
    assert [name for name, *_ in chooser.asked] == ["g"]
    with pytest.raises(TypeError, match="a code object was expected, not int"):
        _core.leave_alone(5)
    with pytest.raises(TypeError, match="chooser must be callable or None"):
        _core.watch(5)


def test_a_miss_is_compiled_and_a_part_that_is_skipped_runs_plain():
    def f(x):
        return ("plain", x)

    def on_miss(part, func, closure, values):
        assert not _core.hook_installed()
        assert func is f
        assert closure is None
        if type(values[0]) is str:
            return None
        entry = entry_of(lambda x: ("new", x), is_type(0, type(values[0])))
        part.add(entry)
        return entry

    parts = []

    def make(code):
        parts.append(part_of(copied(code), on_miss=on_miss))
        return parts[0]

    with watching(f=make):
        assert [f(1), f(2), f(1.5), f("s"), f(3)] == [
            ("new", 1),
            ("new", 2),
            ("new", 1.5),
            ("plain", "s"),
            ("new", 3),
        ]
        assert parts[0].misses == 3
        assert sorted(entry.hits for entry in parts[0].entries) == [0, 2]
        parts[0].skip = True
        assert f(1) == ("plain", 1)


def test_neither_the_chooser_nor_on_miss_is_watched():
    def helper(x):
        return x

    def f(x):
        return helper(x)

    def on_miss(part, func, closure, values):
        helper(1)
        return None

    def choose(code, func, values, asked):
        helper(2)
        seen.append(code.co_name)
        return part_of(copied(code), on_miss=on_miss) if code.co_name == "f" else False

    seen = []
    with watching(choose):
        assert f(5) == 5
    assert seen == ["f", "helper"]


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
def test_no_stack_or_memory_for_the_chooser_runs_the_frame_plain(error):
    source = "def choose(code, func, values, asked):\n raise error\n"
    names = {"error": error, "__name__": "bcjit.test"}
    exec(source, names)

    def f(x):
        return x

    with watching(names["choose"]):
        assert f(3) == 3


def test_what_the_program_raises_in_the_chooser_goes_on_and_frees_the_frame():
    def interrupted(code, func, values, asked):
        if code.co_name == "f":
            raise KeyError("of the program")
        return False

    def f(x, *args, **kw):
        return x

    for _ in range(5):
        thing = Thing()
        ref = weakref.ref(thing)
        with watching(interrupted):
            kind, args, _, context, entries = raised(f, thing, thing, a=thing)
        assert (kind, args, context) == (KeyError, ("of the program",), "None")
        assert [name for name, *_ in entries] == ["interrupted"]
        del thing
        gc.collect()
        assert ref() is None


def test_a_keyboard_interrupt_in_the_chooser_shows_no_frame_of_ours():
    source = "def choose(code, func, values, asked):\n  raise KeyboardInterrupt if code.co_name == 'f' else KeyError\n"
    names = {"__name__": "bcjit.test"}
    exec(source, names)
    choose = names["choose"]
    _core.set_foreign_test(lambda exc, fn: None)

    def f(x):
        return x

    _core.leave_alone(raised.__code__)
    with watching(choose):
        kind, _, _, _, entries = raised(f, 1)
    assert kind is KeyboardInterrupt
    assert entries == []


def test_error_of_on_miss_goes_on_and_frees_the_frame():
    def on_miss(part, func, closure, values):
        raise LookupError("from on_miss")

    def f(x):
        return x

    with watching(f=lambda code: part_of(copied(code), on_miss=on_miss)) as chooser:
        for _ in range(10):
            thing = Thing()
            ref = weakref.ref(thing)
            with pytest.raises(LookupError, match="from on_miss"):
                f(thing)
            del thing
            chooser.asked.clear()
            gc.collect()
            assert ref() is None


def test_only_fresh_frames_of_functions_are_shown():
    def generator(x):
        yield x

    async def coroutine(x):
        return x

    async def asynchronous(x):
        yield x

    def function(x):
        return [x * 2 for x in (x,)]

    with watching() as chooser:
        assert list(generator(1)) == [1]
        coroutine(1).close()
        asynchronous(1)
        exec("x = 1\nclass A:\n  y = x\n", {"__name__": __name__})
        assert function(1) == [2]
    assert "function" in chooser.seen
    assert not {"generator", "coroutine", "asynchronous", "<module>", "A"} & set(chooser.seen)


def test_traced_frames_are_left_alone():
    def f(x):
        return ("plain", x)

    with watching(f=with_entry(lambda x: ("new", x))) as chooser:
        sys.settrace(lambda *_: None)
        try:
            assert f(1) == ("plain", 1)
        finally:
            sys.settrace(None)
        assert chooser.asked == []
        assert f(1) == ("new", 1)


@pytest.mark.parametrize("n", [0, 1, 30, 400, 3000])
def test_swapped_code_may_have_more_or_fewer_variables(n):
    body = "".join(f"    v{i} = a\n" for i in range(n))
    names = {}
    exec(f"def new(a, b):\n{body}    return ('new', a, b, locals())\n", names)
    exec("def f(a, b):\n" + "".join(f"    w{i} = a\n" for i in range(20)) + "    return 1\n", names)
    expected = {"a": 1, "b": 2} | {f"v{i}": 1 for i in range(n)}
    with watching(f=with_entry(names["new"])):
        for _ in range(3):
            assert names["f"](1, 2) == ("new", 1, 2, expected)


def test_swap_works_wherever_the_data_stack_ends():
    names = {}
    exec("def new(a):\n" + "".join(f"    v{i} = a\n" for i in range(200)) + "    return a\n", names)

    def f(a):
        return None

    def nested(depth, thing):
        return f(thing) if depth == 0 else nested(depth - 1, thing)

    with watching(f=with_entry(names["new"])) as chooser:
        f(1)
        assert len(chooser.asked) == 1
        for depth in range(190):
            thing = Thing()
            ref = weakref.ref(thing)
            assert nested(depth, thing) is thing
            del thing
            assert ref() is None


def test_more_arguments_than_are_kept_on_the_c_stack():
    names = {}
    arguments = ", ".join(f"a{i}" for i in range(60))
    exec(f"def f({arguments}): return 1\ndef new({arguments}): return ({arguments})\n", names)
    with watching(f=with_entry(names["new"])):
        assert names["f"](*range(60)) == tuple(range(60))


def test_closures_and_argument_cells():
    def make(k):
        def f(a):
            def inner():
                return a + k

            return inner

        def new(a):
            def inner():
                nonlocal a, k
                a += 100
                k += 1000
                return a + k

            return inner

        return f, new

    f, _ = make(1)
    with watching(f=with_entry(make(0)[1])):
        inner = f(5)
        assert (inner(), inner()) == (1106, 2206)
    assert f(5)() == 2006


def test_parts_follow_one_another_and_let_go_of_what_they_are_done_with():
    died = []

    class Dies:
        def __del__(self):
            died.append(True)

    end = part_of(function_at(1, "def f(n):\n return ('plain end', n)\n"))
    end.add(entry_of(function_at(1, "def f(n):\n return ('end', n, died())\n", died=died.copy)))
    first = function_at(1, "def f(x, n):\n y = x()\n return ('END', None, n)\n")
    f = function_at(1, "def f(x, n):\n return 'plain'\n", died=died.copy)
    with watching(f=with_entry(first, returns=False, END=end)):
        assert f(Dies, 3) == ("end", 3, [True])
        assert f(Dies, 4) == ("end", 4, [True, True])


def test_a_failed_graph_runs_the_plain_code_from_the_start():
    def fails(x):
        raise ValueError("graph")

    handled = []

    def on_bailout(entry, func, closure, values, exc):
        assert not _core.hook_installed()
        handled.append((func, values, exc.exception.args))

    graph = _core.GraphCall(fails, None)
    new = function_at(1, "def f(x):\n g = 'GRAPH'\n return g(x)\n")
    f = function_at(1, "def f(x):\n return ('plain', x, __import__('sys').exc_info())\n")
    with watching(f=with_entry(new, on_bailout=on_bailout, GRAPH=graph)):
        assert f(1) == ("plain", 1, (None, None, None))
        thing = Thing()
        ref = weakref.ref(thing)
        assert f(thing)[1] is thing
        handled.clear()
        del thing
        assert ref() is None


def test_traceback_has_one_entry_and_the_frames_locals():
    f = function_at(1, "def f(x):\n return x\n")
    new = function_at(1, "def f(x):\n y = [x]\n raise KeyError(x)\n")
    with watching(f=with_entry(new)):
        try:
            f(1)
        except KeyError as error:
            found = error.__traceback__.tb_next
    assert found.tb_next is None
    assert (found.tb_lineno, found.tb_frame.f_locals) == (3, {"x": 1, "y": [1]})


def test_residual_code_that_a_dispatcher_runs_is_not_shown():
    def f(x):
        return "plain"

    graph = _core.GraphCall(lambda x: (x,), None)
    new = function_at(1, "def residual(x):\n g = 'GRAPH'\n y = g(x)\n return y\n")
    d = _core.Dispatcher(f, part_of(f, entry_of(new, GRAPH=graph)))
    with watching() as chooser:
        assert [d(1), d(2)] == [(1,), (2,)]
    assert "residual" not in chooser.seen
    assert "f" not in chooser.seen


def test_a_dispatchers_miss_meets_its_frame_under_the_watch():
    def f(x):
        return "plain"

    part = part_of(f, on_miss=lambda *_: entry_of(lambda x: ("dispatcher", x)))
    d = _core.Dispatcher(f, part)
    with watching(f=with_entry(lambda x: ("watch", x))):
        assert d(1) == ("dispatcher", 1)
        assert f(1) == ("watch", 1)
        assert _core.hook_installed()


# ---- depth ----------------------------------------------------------------------------------------


def test_the_hook_is_off_below_200_frames_and_back_above():
    seen = []

    def nested(n):
        seen.append(_core.hook_installed())
        if n:
            nested(n - 1)
        seen.append(_core.hook_installed())

    with watching():
        nested(300)
        inside = seen.copy()
        assert _core.hook_installed()
    assert inside[0]
    assert inside[-1]
    on = sum(inside[:301])
    assert 190 <= on <= 200
    assert inside[:on] == [True] * on
    assert inside == inside[::-1]


@pytest.mark.parametrize("depth", [900, 20_000])
def test_recursion_is_as_deep_as_without_the_watch(depth):
    def nested(n):
        return 0 if n == 0 else 1 + nested(n - 1)

    def endless(n):
        reached.append(n)
        endless(n + 1)

    reached = []
    limit = sys.getrecursionlimit()
    results = []
    try:
        for watched in (False, True):
            sys.setrecursionlimit(depth + 200)
            if watched:
                _core.watch(lambda *_: False)
            assert nested(depth) == depth
            reached.clear()
            with pytest.raises(RecursionError):
                endless(0)
            results.append(len(reached))
    finally:
        _core.watch(None)
        sys.setrecursionlimit(limit)
    assert results[0] == results[1]


def test_recursion_through_entries_ends_in_a_recursion_error():
    f = function_at(1, "def f(n):\n return n\n")
    new = function_at(1, "def f(n):\n return 0 if n == 0 else 1 + F(n - 1)\n")
    f.__globals__["F"] = f
    limit = sys.getrecursionlimit()
    with watching(f=with_entry(new)):
        try:
            sys.setrecursionlimit(10**6)
            assert f(150) == 150
        finally:
            sys.setrecursionlimit(limit)


# ---- threads, other tools ------------------------------------------------------------------------


def test_frames_of_all_threads_are_seen():
    f = function_at(1, "def f(x):\n return ('plain', x)\n")
    failures = []

    def on_miss(part, func, closure, values):
        entry = entry_of(lambda x: ("new", x), is_type(0, type(values[0])))
        part.add(entry)
        return entry

    def work(k):
        for round_ in range(300):
            for value in (round_, float(round_), str(round_), (round_,)):
                result = f(value)
                if result[1] != value or result[0] not in {"new", "plain"}:
                    failures.append(result)

    with watching(f=lambda code: part_of(copied(code), on_miss=on_miss)) as chooser:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert f(1) == ("new", 1)
        assert _core.hook_installed()
    assert failures == []
    assert len([name for name, *_ in chooser.asked]) == 1


def test_another_tools_evaluator_stays_on_top(foreign):  # noqa: F811 - the fixture
    f = function_at(1, "def f(x):\n return ('plain', x)\n")

    def nested(n):
        return 0 if n == 0 else 1 + nested(n - 1)

    with watching(f=with_entry(lambda x: ("new", x))):
        foreign.foreign_set()
        try:
            before = foreign.foreign_seen()
            assert f(1) == ("new", 1)
            assert nested(300) == 300
            assert foreign.foreign_seen() > before
            assert foreign.foreign_is_set()
        finally:
            foreign.foreign_reset()
        assert f(2) == ("new", 2)


# ---- nothing stays ---------------------------------------------------------------------------------


def test_code_takes_its_part_with_it():
    with watching() as chooser:

        def make(code):
            part = part_of(copied(code), entry_of(lambda x: ("new", x)), tag=Thing())
            watched.extend([weakref.ref(part), weakref.ref(part.tag)])
            return part

        chooser.make["dies"] = make
        watched = []
        names = {}
        exec("def dies(x):\n return x\n", names)
        assert names["dies"](1) == ("new", 1)
        watched.append(weakref.ref(names["dies"].__code__))
        chooser.asked.clear()
        del names
        gc.collect()
        assert [ref() for ref in watched] == [None] * 3


def test_no_reference_is_kept_per_call():
    f = function_at(1, "def f(x, n):\n return x\n")
    last = part_of(function_at(1, "def f(x):\n return x\n"))
    last.add(entry_of(function_at(1, "def f(x):\n return x\n")))
    new = function_at(1, "def f(x, n):\n return ('LAST', None, x)\n")

    def fails(x):
        raise ValueError

    g = function_at(1, "def g(x):\n return x\n")
    graph = _core.GraphCall(fails, None)
    bails = function_at(1, "def g(x):\n g = 'GRAPH'\n return g(x)\n")
    thing = Thing()
    with watching(f=with_entry(new, returns=False, LAST=last), g=with_entry(bails, GRAPH=graph)):

        def many(n):
            for _ in range(n):
                assert f(thing, 1) is thing
                assert g(thing) is thing

        many(100)
        gc.collect()
        before, memory = [sys.getrefcount(o) for o in (thing, f, g, new, last)], resident_kb()
        many(20_000)
        gc.collect()
        assert [sys.getrefcount(o) for o in (thing, f, g, new, last)] == before
        if memory is not None:
            assert resident_kb() - memory < 2000


# ---- a program with nothing below it ---------------------------------------------------------------


def test_a_call_at_the_bottom_sees_no_frame_below_and_the_whole_recursion_limit(capfd):
    def bottom(found):
        frame = sys._getframe()
        found.append((frame.f_code.co_name, frame.f_back))

        def nested(n):
            found[1:] = [n]
            nested(n + 1)

        try:
            nested(1)
        except RecursionError:
            return
        raise AssertionError

    def deeper(n, found):
        return _core.run_call(bottom, found) if n == 0 else deeper(n - 1, found)

    results = []
    for depth in (0, 30):
        found = []
        assert deeper(depth, found) == 0
        assert found[0] == ("bottom", None)
        results.append(found[1])
    assert results[0] == results[1]
    assert abs(sys.getrecursionlimit() - results[0]) < 5
    assert sys._getframe().f_code.co_name.startswith("test_a_call")


def test_an_exception_at_the_bottom_is_printed_with_its_own_frames_alone(capfd, monkeypatch):
    def fails(x):
        raise KeyError(x)

    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        monkeypatch.setattr(sys, name, None, raising=False)
    assert _core.run_call(fails, "key") == -1
    lines = capfd.readouterr().err.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-1] == "KeyError: 'key'"
    assert sum(line.startswith("  File") for line in lines) == 1
    with pytest.raises(FileNotFoundError, match="no such"):
        _core.run_file("no such file")


def test_a_signal_reaches_the_watched_program():
    class Alarm(Exception):
        pass

    def handler(number, frame):
        raise Alarm(frame.f_code.co_name)

    def f(x):
        return x + 1

    def busy():
        k = 0
        while True:
            k = f(k)

    if not hasattr(signal, "setitimer"):
        pytest.skip("no interval timers")
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with watching(f=with_entry(lambda x: x + 1)):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(Alarm):
                busy()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_code_objects_of_functions_that_are_made_again_and_again_need_no_memory():
    source = compile("def made(x):\n return x\n", "made.py", "exec")
    made = next(c for c in source.co_consts if isinstance(c, types.CodeType))
    with watching(made=with_entry(lambda x: ("new", x))):
        for _ in range(5):
            gc.collect()
        before = resident_kb()
        for k in range(20_000):
            assert types.FunctionType(made, {})(k) == ("new", k)
        if before is not None:
            assert resident_kb() - before < 2000
