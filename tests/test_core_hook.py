"""The evaluator: which frame it meets, what it does to it, and that nothing of it stays behind."""

from __future__ import annotations

import ctypes
import gc
import shlex
import subprocess
import sysconfig
import threading
import weakref

import pytest
from core_kit import capturing, dispatcher, entry_of, raised

from bcjit import _core

pytestmark = pytest.mark.filterwarnings("error")


class Thing:
    """An object that can be watched."""


def test_hook_is_off_before_during_and_after_a_capture():
    seen = []

    def on_miss(part, func, closure, values):
        seen.append((_core.hook_armed(), _core.hook_installed()))
        return entry_of(lambda x: ("new", _core.hook_armed(), _core.hook_installed()))

    d = dispatcher(lambda x: "plain", on_miss=on_miss)
    assert not _core.hook_installed()
    assert d(1) == ("new", False, False)
    assert seen == [(False, False)]
    assert not _core.hook_armed()
    assert not _core.hook_installed()


def test_on_miss_gets_part_function_closure_and_bound_values():
    def f(a, b=2, *args, k=3, **kw):
        return None

    on_miss = capturing(lambda: entry_of(lambda a, b, k, args, kw: ("new", a, b, k, args, kw)))
    d = dispatcher(f, on_miss=on_miss)
    assert d(1, 5, 6, z=7) == ("new", 1, 5, 3, (6,), {"z": 7})
    assert on_miss.calls == [(d.part, f, None, (1, 5, 3, (6,), {"z": 7}))]


def test_on_miss_runs_busy_and_a_call_from_it_runs_plain():
    def f(x):
        return ("plain", x)

    def on_miss(part, func, closure, values):
        assert part.busy
        assert d(5) == ("plain", 5)
        return entry_of(lambda x: ("new", x))

    d = dispatcher(f, on_miss=on_miss)
    assert d(1) == ("new", 1)
    assert not d.part.busy


def test_none_from_on_miss_runs_the_frame_as_it_is():
    def f(x, y=2):
        return locals()

    d = dispatcher(f, on_miss=lambda *_: None)
    assert d(1) == {"x": 1, "y": 2}
    assert d.part.misses == 1


def test_error_of_on_miss_propagates_and_frees_the_frame():
    def f(x):
        return x

    def on_miss(part, func, closure, values):
        raise LookupError("from on_miss")

    d = dispatcher(f, on_miss=on_miss)
    for _ in range(50):
        thing = Thing()
        ref = weakref.ref(thing)
        with pytest.raises(LookupError, match="from on_miss"):
            d(thing)
        del thing
        gc.collect()
        assert ref() is None
        assert not d.part.busy
    d.part.on_miss = None
    assert d(4) == 4


def test_wrong_result_of_on_miss_is_a_type_error():
    d = dispatcher(lambda x: x, on_miss=lambda *_: 5)
    with pytest.raises(TypeError, match="on_miss must return an Entry or None, not int"):
        d(1)


@pytest.mark.parametrize("n", [0, 1, 30, 400, 3000])
def test_swapped_code_may_have_more_or_fewer_variables(n):
    body = "".join(f"    v{i} = a\n" for i in range(n))
    names = {}
    exec(f"def new(a, b):\n{body}    return ('new', a, b, locals())\n", names)
    exec("def f(a, b):\n" + "".join(f"    w{i} = a\n" for i in range(20)) + "    return 1\n", names)
    expected = {"a": 1, "b": 2} | {f"v{i}": 1 for i in range(n)}
    for _ in range(3):
        d = dispatcher(names["f"], on_miss=capturing(lambda: entry_of(names["new"])))
        assert d(1, 2) == ("new", 1, 2, expected)
        assert d(1, 2) == ("new", 1, 2, expected)


def test_swap_works_wherever_the_data_stack_ends():
    names = {}
    exec("def new(a):\n" + "".join(f"    v{i} = a\n" for i in range(200)) + "    return a\n", names)

    def f(a):
        return None

    def nested(depth, d, thing):
        return d(thing) if depth == 0 else nested(depth - 1, d, thing)

    for depth in range(220):
        d = dispatcher(f, on_miss=lambda *_: entry_of(names["new"]))
        thing = Thing()
        ref = weakref.ref(thing)
        assert nested(depth, d, thing) is thing
        del thing
        assert ref() is None


def test_error_is_cleaned_up_wherever_the_data_stack_ends():
    def on_miss(*_):
        raise LookupError

    def f(a, b=1):
        c = d = e = a
        return c, d, e

    def nested(depth, d, thing):
        return d(thing) if depth == 0 else nested(depth - 1, d, thing)

    d = dispatcher(f, on_miss=on_miss)
    for depth in range(220):
        thing = Thing()
        ref = weakref.ref(thing)
        with pytest.raises(LookupError):
            nested(depth, d, thing)
        del thing
        assert ref() is None


def test_argument_cells_are_made_by_the_swapped_code():
    def f(a, b):
        def g():
            return a

        return g() + b

    def new(a, b):
        def g():
            nonlocal a
            a += 100
            return a

        return ("new", g() + b, g)

    d = dispatcher(f, on_miss=capturing(lambda: entry_of(new)))
    for _ in range(2):
        kind, total, g = d(1, 2)
        assert (kind, total, g()) == ("new", 103, 201)


def test_closure_cells_of_the_function_are_the_swapped_codes():
    def make(x):
        def f():
            return x

        def new():
            nonlocal x
            x += 1
            return ("new", x)

        return f, new

    f, new = make(5)
    on_miss = capturing(lambda: entry_of(new))
    d = dispatcher(f, on_miss=on_miss)
    assert [d(), d(), f()] == [("new", 6), ("new", 7), 7]
    assert on_miss.calls[0][2] is f.__closure__


def test_code_that_needs_other_cells_is_refused():
    def make(x):
        return lambda: x

    d = dispatcher(lambda: 1, on_miss=lambda *_: entry_of(make(1)))
    with pytest.raises(ValueError, match="needs 1 cells, got 0"):
        d()


def test_traceback_of_swapped_code_has_one_entry():
    def f(x):
        return x

    def new(x):
        y = [x]
        raise KeyError(x)

    d = dispatcher(f, on_miss=capturing(lambda: entry_of(new)))
    first, second = raised(d, 1), raised(d, 1)
    assert first == second
    assert first[0] is KeyError
    assert [name for name, *_ in first[4]] == ["new"]


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"a": 1}), ((1,), {"z": 1}), ((), {"b": 1})],
)
def test_binding_error_is_pythons_own_and_disarms(args, kwargs):
    def f(a, b=2):
        return a

    d = dispatcher(f, on_miss=capturing(lambda: entry_of(lambda a, b: "new")))
    assert raised(d, *args, **kwargs) == raised(f, *args, **kwargs)
    assert not _core.hook_armed()
    assert not _core.hook_installed()
    assert d(1) == "new"


class Keyword(str):
    """A keyword string whose comparison calls the function it is a keyword of."""

    __slots__ = ()
    calls: list = []
    __hash__ = str.__hash__

    def __eq__(self, other):
        if len(Keyword.calls) < 3:
            Keyword.calls.append(None)
            Keyword.calls[-1] = Keyword.target(7)
        return str.__eq__(self, other)


def test_keyword_strings_of_a_users_class_are_bound_by_python_alone():
    def f(long_name):
        return ("plain", long_name)

    on_miss = capturing(lambda: entry_of(lambda long_name: ("new", long_name)))
    d = dispatcher(f, on_miss=on_miss)
    Keyword.target, Keyword.calls = d, []
    assert d(**{Keyword("long_" + "name"): 1}) == ("plain", 1)
    assert Keyword.calls
    assert set(Keyword.calls) == {("new", 7)}
    assert [values for *_, values in on_miss.calls] == [(7,)]
    assert not _core.hook_armed()


def test_collection_during_argument_binding_does_not_bring_the_wrong_frame():
    """The function is also a finalizer, and binding allocates enough to start a collection."""

    def f(self, *args):
        return ("plain", args)

    class Cyclic:
        __del__ = f

        def __init__(self):
            self.me = self

    on_miss = capturing(lambda: entry_of(lambda self, args: ("new", args)))
    many = tuple(range(40))  # a tuple of this length comes from no free list
    old = gc.get_threshold()
    gc.collect()
    try:
        for threshold in range(1, 40):
            gc.set_threshold(0)
            d = dispatcher(f, on_miss=on_miss)
            Cyclic()
            gc.set_threshold(threshold)
            assert d(None, *many) == ("new", many)
            assert gc.isenabled()
    finally:
        gc.set_threshold(*old)
    assert all(values[1] == many for *_, values in on_miss.calls)


def test_capture_within_a_capture():
    def inner(x):
        return ("inner plain", x)

    def outer(x):
        return ("outer plain", x)

    inner_d = dispatcher(inner, on_miss=capturing(lambda: entry_of(lambda x: ("inner new", x))))

    def on_miss(part, func, closure, values):
        assert inner_d(1) == ("inner new", 1)
        return entry_of(lambda x: ("outer new", x))

    outer_d = dispatcher(outer, on_miss=on_miss)
    assert outer_d(2) == ("outer new", 2)
    assert not _core.hook_armed()
    assert not _core.hook_installed()


@pytest.mark.parametrize("kind", ["generator", "coroutine", "async generator"])
def test_generators_and_coroutines_run_plain(kind):
    source = {
        "generator": "def f(x):\n yield x\n",
        "coroutine": "async def f(x):\n return x\n",
        "async generator": "async def f(x):\n yield x\n",
    }[kind]
    names = {}
    exec(source, names)
    on_miss = capturing(lambda: entry_of(lambda x: "new"))
    d = dispatcher(names["f"], on_miss=on_miss)
    made = d(3)
    assert type(made).__name__ == kind.replace(" ", "_")
    if kind == "generator":
        assert list(made) == [3]
    elif kind == "coroutine":
        made.close()
    assert on_miss.calls == []
    assert not d.enabled


def test_other_thread_runs_plain_while_on_miss_runs():
    def f(x):
        return ("plain", x)

    inside, go_on = threading.Event(), threading.Event()
    calls = []

    def on_miss(part, func, closure, values):
        calls.append(values)
        inside.set()
        assert go_on.wait(30)
        return entry_of(lambda x: ("new", x))

    d = dispatcher(f, on_miss=on_miss)
    results = {}
    thread = threading.Thread(target=lambda: results.update(first=d(1)))
    thread.start()
    assert inside.wait(30)
    assert d(2) == ("plain", 2)
    assert d.part.busy
    go_on.set()
    thread.join()
    assert results == {"first": ("new", 1)}
    assert calls == [(1,)]
    assert not _core.hook_installed()


def test_threads_capture_different_functions_at_once():
    barrier = threading.Barrier(4)
    failures = []

    def work(k):
        try:
            for round_ in range(40):
                fn = eval(f"lambda x: ('plain', {k}, x)")
                new = eval(f"lambda x: ('new', {k}, x)")

                def on_miss(part, func, closure, values, new=new):
                    barrier.wait(30)
                    return entry_of(new)

                d = dispatcher(fn, on_miss=on_miss)
                assert d(round_) == ("new", k, round_)
        except BaseException as exc:
            failures.append(exc)
            barrier.abort()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []
    assert not _core.hook_installed()


# ---- another tool's evaluator -----------------------------------------------------------------

FOREIGN = r"""
#include <Python.h>
typedef PyObject *(*evaluator)(PyThreadState *, struct _PyInterpreterFrame *, int);
extern PyObject *_PyEval_EvalFrameDefault(PyThreadState *, struct _PyInterpreterFrame *, int);
extern void _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState *, evaluator);
extern evaluator _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState *);
static long seen;
static evaluator below;
static PyObject *foreign(PyThreadState *ts, struct _PyInterpreterFrame *frame, int throwflag)
{
    seen++;
    return below(ts, frame, throwflag);
}
long foreign_set(void)
{
    PyInterpreterState *interp = PyInterpreterState_Get();
    below = _PyInterpreterState_GetEvalFrameFunc(interp);
    if (below == NULL) below = _PyEval_EvalFrameDefault;
    _PyInterpreterState_SetEvalFrameFunc(interp, foreign);
    return 0;
}
long foreign_reset(void)
{
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), below);
    return 0;
}
long foreign_is_set(void) { return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get()) == foreign; }
long foreign_seen(void) { return seen; }
"""


@pytest.fixture(scope="module")
def foreign(tmp_path_factory):
    """Another tool's evaluator, which counts the frames it sees."""
    folder = tmp_path_factory.mktemp("foreign")
    source = folder / "foreign.c"
    source.write_text(FOREIGN)
    library = folder / "foreign.so"
    compiler = shlex.split(sysconfig.get_config_var("CC") or "cc")
    command = [
        *compiler,
        "-shared",
        "-fPIC",
        "-I",
        sysconfig.get_path("include"),
        str(source),
        "-o",
        str(library),
    ]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("no C compiler for another tool's evaluator")
    loaded = ctypes.PyDLL(str(library))
    for name in ("foreign_set", "foreign_reset", "foreign_is_set", "foreign_seen"):
        getattr(loaded, name).restype = ctypes.c_long
    return loaded


def test_another_tools_evaluator_is_chained_and_put_back(foreign):
    def f(x):
        return "plain"

    d = dispatcher(f, on_miss=capturing(lambda: entry_of(lambda x: "new")))
    foreign.foreign_set()
    try:
        before = foreign.foreign_seen()
        assert d(1) == "new"
        assert foreign.foreign_seen() > before
        assert foreign.foreign_is_set()
    finally:
        foreign.foreign_reset()
    assert not _core.hook_installed()


def test_evaluator_set_in_on_miss_stays_and_later_captures_chain_it(foreign):
    def f(x):
        return ("plain", x)

    def setting(part, func, closure, values):
        foreign.foreign_set()
        return entry_of(lambda x: ("new", x))

    assert dispatcher(f, on_miss=setting)(1) == ("new", 1)
    try:
        assert foreign.foreign_is_set()
        before = foreign.foreign_seen()
        assert dispatcher(f, on_miss=lambda *_: entry_of(lambda x: ("new", x)))(2) == ("new", 2)
        assert foreign.foreign_seen() > before
        assert foreign.foreign_is_set()
    finally:
        foreign.foreign_reset()
    assert not _core.hook_installed()
