"""The driver: parts one after another, failed graphs, and what user code can see of either (nothing)."""

from __future__ import annotations

import gc
import sys
import traceback
import types
import weakref

import pytest
from core_kit import (
    capturing,
    dispatcher,
    entry_of,
    function_at,
    is_type,
    part_of,
    raised,
    restart,
    tree,
)

from bcjit import _core


class Thing:
    """An object that can be watched."""


def failing(error=ZeroDivisionError):
    """Make a GraphCall that raises."""

    def graph(*args):
        raise error("from the graph")

    return _core.GraphCall(graph, None)


def next_of(x):
    return "NEXT", None, x


# ---- parts in a row -------------------------------------------------------------------------------


def test_three_parts_run_one_after_another():
    def f(x):
        return "plain"

    last = part_of(lambda z: None, entry_of(lambda z: ("end", z)))
    middle = part_of(
        lambda y: None, entry_of(lambda y: ("NEXT", None, y * 10), returns=False, NEXT=last)
    )
    d = dispatcher(f, entry_of(lambda x: ("NEXT", None, x + 1), returns=False, NEXT=middle))
    assert d(1) == ("end", 20)
    assert d(x=2) == ("end", 30)
    assert [p.entries[0].hits for p in (d.part, middle, last)] == [2, 2, 2]


def test_first_part_drives_on_after_a_capture():
    last = part_of(lambda z: None, entry_of(lambda z: ("end", z)))
    make = capturing(lambda: entry_of(next_of, returns=False, NEXT=last))
    d = dispatcher(lambda x: "plain", on_miss=make)
    assert [d(1), d(2)] == [("end", 1), ("end", 2)]
    assert len(make.calls) == 1


def test_continuations_are_captured_when_first_taken():
    kinds = iter([int, str])
    make = capturing(lambda: entry_of(lambda y, z: ("captured", y, z), is_type(0, next(kinds))))
    rest = part_of(lambda y, z: ("resumed", y, z), on_miss=make)
    d = dispatcher(
        lambda x: "plain", entry_of(lambda x: ("NEXT", None, x, 5), returns=False, NEXT=rest)
    )
    assert [d(1), d(2), d("")] == [("captured", 1, 5), ("captured", 2, 5), ("captured", "", 5)]
    assert [(func, closure, values) for _, func, closure, values in make.calls] == [
        (d.fn, None, (1, 5)),
        (d.fn, None, ("", 5)),
    ]


def test_an_entry_whose_guards_do_not_hold_when_it_is_made_is_for_another_time():
    make = capturing(lambda: entry_of(lambda y: ("captured", y), is_type(0, str)))
    rest = part_of(lambda y: ("resumed", y), on_miss=make)
    d = dispatcher(lambda x: "plain", entry_of(next_of, returns=False, NEXT=rest))
    assert [d(1), d("a")] == [("resumed", 1), ("captured", "a")]
    first = dispatcher(
        lambda x: ("plain", x),
        on_miss=capturing(lambda: entry_of(lambda x: ("captured", x), is_type(0, str))),
    )
    assert [first(1), first("a")] == [("plain", 1), ("captured", "a")]
    assert len(make.calls) == 1


@pytest.mark.parametrize("why", ["skip", "no on_miss", "plain entry", "on_miss gives None", "busy"])
def test_continuation_that_is_not_compiled_runs_its_plain_code(why):
    rest = part_of(lambda y: ("resumed", y))
    first = entry_of(next_of, returns=False, NEXT=rest)
    d = dispatcher(lambda x: "plain", first)
    if why == "skip":
        rest.add(entry_of(lambda y: "new"))
        rest.skip = True
    elif why == "plain entry":
        rest.add(entry_of(lambda y: "new"))
        rest.entries[0].plain = True
    elif why == "on_miss gives None":
        rest.on_miss = lambda *_: None
    elif why == "busy":

        def on_miss(part, func, closure, values):
            assert d("inner") == ("resumed", "inner")
            return None

        rest.on_miss = on_miss
    assert d(3) == ("resumed", 3)


def test_tracing_that_starts_in_one_part_makes_the_next_plain():
    rest = part_of(lambda y: ("resumed", y), entry_of(lambda y: "new"))

    def tracer(frame, event, arg):
        return None

    names = {"sys": sys, "tracer": tracer}
    starts = function_at(
        1, "def starts(x):\n sys.settrace(tracer)\n return 'NEXT', None, x\n", **names
    )
    plain = types.FunctionType((lambda x: "plain").__code__, starts.__globals__)
    d = dispatcher(plain, entry_of(starts, returns=False, NEXT=rest))
    before = sys.gettrace()
    try:
        result = d(1)
    finally:
        sys.settrace(before)
    assert result == ("resumed", 1)


def test_loop_of_parts_takes_no_depth():
    def f(n):
        return "plain"

    loop = part_of(lambda n, k: None)
    end = part_of(lambda n: None, entry_of(lambda n: ("end", n)))
    step = entry_of(
        lambda n, k: ("END", None, n) if k == 0 else ("LOOP", None, n + 1, k - 1),
        returns=False,
        END=end,
        LOOP=loop,
    )
    loop.add(step)
    d = dispatcher(f, entry_of(lambda n: ("LOOP", None, 0, n), returns=False, LOOP=loop))
    assert d(50_000) == ("end", 50_000)
    loop.clear()


def test_cells_go_from_part_to_part():
    def source(x):
        def get():
            return x

        def rest(y):
            nonlocal x
            x += y
            return get, x

        return rest

    rest = part_of(source(0))
    cells = source(0).__closure__
    assert len(cells) == 2

    first = function_at(
        1,
        "def first(x):\n return 'NEXT', make_cells(x), 100\n",
        make_cells=lambda x: source(x).__closure__,
    )
    plain = types.FunctionType((lambda x: "plain").__code__, first.__globals__)
    d = dispatcher(plain, entry_of(first, returns=False, NEXT=rest))
    for _ in range(3):
        get, value = d(5)
        assert (value, get()) == (105, 105)


def test_new_cells_at_each_call_reach_a_compiled_continuation():
    def source(x):
        def rest(y):
            return x + y

        return rest

    rest = part_of(source(0), entry_of(source(0)))
    names = {"cells": lambda x: source(x).__closure__}
    first = function_at(1, "def first(x):\n return 'NEXT', cells(x), 100\n", **names)
    d = dispatcher(
        types.FunctionType((lambda x: 0).__code__, names), entry_of(first, returns=False, NEXT=rest)
    )
    assert [d(1), d(2), d(3)] == [101, 102, 103]


@pytest.mark.parametrize(
    "wrong",
    [None, (), ("text", None), "(Part, 5)", [1, 2]],
    ids=["none", "empty", "no part", "closure", "list"],
)
def test_what_is_no_next_part_is_a_system_error(wrong):
    rest = part_of(lambda y: y)
    value = (rest, 5) if wrong == "(Part, 5)" else wrong
    names = {"value": value}
    first = function_at(1, "def first(x):\n return value\n", **names)
    d = dispatcher(
        types.FunctionType((lambda x: 0).__code__, names), entry_of(first, returns=False)
    )
    with pytest.raises(SystemError, match="bcjit: a part"):
        d(1)


def test_drive_runs_a_part_as_a_dispatcher_does():
    def f(x):
        return ("plain", x)

    rest = part_of(lambda y: ("resumed", y))
    part = part_of(f, entry_of(next_of, is_type(0, int), returns=False, NEXT=rest))
    assert _core.drive(part, f, None, (1,)) == ("resumed", 1)
    assert _core.drive(part, f, None, ("",)) == ("plain", "")
    part.on_miss = capturing(lambda: entry_of(lambda x: ("new", x)))
    assert _core.drive(part, f, None, ("",)) == ("new", "")
    with pytest.raises(TypeError, match="drive takes a Part"):
        _core.drive(part, f, None, [1])


def test_run_plain_and_resumed_run_code_on_values():
    def make(x):
        return lambda a, b: (x, a, b, GLOBAL)  # noqa: F821

    code, cells = make(1).__code__, make(7).__closure__
    names = {"GLOBAL": "g"}
    assert _core.run_plain(code, names, cells, (2, 3)) == (7, 2, 3, "g")
    resumed = _core.Resumed(code, names, cells, (4, 5))
    assert resumed("any", thing=1) == (7, 4, 5, "g")
    with pytest.raises(RuntimeError, match="once only"):
        resumed()
    for wrong in [
        (5, {}, None, ()),
        (code, 5, None, ()),
        (code, {}, 5, ()),
        (code, {}, (1,), ()),
        (code, {}, None, []),
    ]:
        with pytest.raises(TypeError):
            _core.run_plain(*wrong)
        with pytest.raises(TypeError):
            _core.Resumed(*wrong)
    with pytest.raises(ValueError, match="needs 1 cells, got 0"):
        _core.run_plain(code, names, None, (1, 2))
    with pytest.raises(TypeError, match="takes 4 arguments"):
        _core.run_plain(code)


# ---- bail-outs -----------------------------------------------------------------------------------------


def bailing(*arguments, **kwargs):
    """Make an entry that calls a failing graph; ``seen`` gets what on_bailout was called with."""
    seen = []

    def on_bailout(entry, func, closure, values, exc):
        seen.append((entry, func, closure, values, exc.exception, exc.call, sys.exc_info()[1]))
        return kwargs.get("where")

    graph = failing(kwargs.get("error", ZeroDivisionError))
    names = ", ".join(arguments)
    code = function_at(1, f"def residual({names}):\n g = 'GRAPH'\n return g({names})\n")
    return entry_of(code, on_bailout=on_bailout, GRAPH=graph), graph, seen


@pytest.mark.parametrize("how", ["hit", "hit, bound by keyword", "capture"])
def test_failed_graph_runs_the_plain_code_from_the_parts_start(how):
    def f(a, *args, k=3, **kw):
        return ("plain", a, args, k, kw)

    entry, graph, seen = bailing("a", "k", "args", "kw")
    d = (
        dispatcher(f, entry)
        if how != "capture"
        else dispatcher(f, on_miss=capturing(lambda: entry))
    )
    result = d(1, 2) if how == "hit" else d(1, 2, z=4)
    expected = {} if how == "hit" else {"z": 4}
    assert result == ("plain", 1, (2,), 3, expected)
    assert entry.bailouts == 1
    [(seen_entry, func, closure, values, exc, call, handled)] = seen
    assert (seen_entry, func, closure, values) == (entry, f, None, (1, 3, (2,), expected))
    assert (type(exc), call, handled) == (ZeroDivisionError, graph, None)


def test_plain_code_gets_the_very_objects_it_was_called_with():
    def f(*args, **kw):
        return args, kw

    entry, _, seen = bailing("args", "kw")
    d = dispatcher(f, entry)
    args, kw = d(1, z=2)
    assert args is seen[0][3][0]
    assert kw is seen[0][3][1]


def test_failed_graph_of_a_later_part_runs_that_parts_plain_code():
    entry, _, seen = bailing("y")
    rest = part_of(lambda y: ("resumed", y), entry)
    d = dispatcher(
        lambda x: "plain", entry_of(lambda x: ("NEXT", None, x + 1), returns=False, NEXT=rest)
    )
    assert d(1) == ("resumed", 2)
    assert [values for _, _, _, values, *_ in seen] == [(2,)]


def test_bail_out_may_resume_elsewhere():
    elsewhere = part_of(lambda p, q: ("elsewhere", p, q), entry_of(lambda p, q: "compiled"))
    entry, _, _ = bailing("x", where=(elsewhere, None, 8, 9))
    assert dispatcher(lambda x: "plain", entry)(1) == ("elsewhere", 8, 9)
    entry, _, _ = bailing("x", where=(elsewhere, None, 8, 9))
    assert dispatcher(lambda x: "plain", on_miss=capturing(lambda: entry))(1) == ("elsewhere", 8, 9)


def test_error_of_on_bailout_propagates():
    def broken(entry, func, closure, values, exc):
        raise LookupError("broken")

    code = function_at(1, "def residual(x):\n g = 'GRAPH'\n return g(x)\n")
    for returns in (True, False):
        entry = entry_of(code, on_bailout=broken, returns=returns, GRAPH=failing())
        with pytest.raises(LookupError, match="broken") as caught:
            dispatcher(lambda x: "plain", entry)(1)
        assert caught.value.__context__ is None
    entry = entry_of(code, on_bailout=lambda *_: 5, GRAPH=failing())
    with pytest.raises(SystemError, match="bcjit: a part"):
        dispatcher(lambda x: "plain", entry)(1)
    entry = entry_of(code, on_bailout=None, GRAPH=failing())
    with pytest.raises(SystemError, match="an entry bailed out that cannot"):
        dispatcher(lambda x: "plain", entry)(1)


PLAIN = """\
def f(x):
    y = x + 1
    try:
        return helper(y)
    finally:
        y = None
def helper(y):
    return y / 0
"""


@pytest.mark.parametrize("how", ["hit", "capture", "later part", "elsewhere"])
def test_exception_of_the_plain_run_is_the_plain_functions(how):
    f = function_at(10, PLAIN)
    part_code = f.__code__.replace()
    entry, _, _ = bailing("x")
    if how == "hit":
        d = dispatcher(f, entry)
    elif how == "capture":
        d = dispatcher(f, on_miss=capturing(lambda: entry))
    elif how == "later part":
        rest = part_of(part_code, entry)
        d = dispatcher(f, entry_of(next_of, returns=False, NEXT=rest))
    else:
        entry, _, _ = bailing("x", where=(part_of(part_code), None, 1))
        d = dispatcher(f, entry)
    expected = raised(f, 1)
    assert len(expected[4]) == 2
    for _ in range(3):
        assert raised(d, 1) == expected
    try:
        raise KeyError("outer")
    except KeyError:
        assert raised(d, 1) == raised(f, 1)
        assert sys.exc_info()[0] is KeyError


def test_traceback_of_a_later_part_names_only_that_part():
    f = function_at(10, PLAIN)
    part_code = f.__code__.replace()
    rest = part_of(part_code)
    middle = part_of(lambda y: None, entry_of(next_of, returns=False, NEXT=rest))
    d = dispatcher(f, entry_of(next_of, returns=False, NEXT=middle))
    assert raised(d, 1) == raised(f, 1)
    rest.add(entry_of(part_code.replace()))
    types_f = types.FunctionType(part_code, f.__globals__)
    assert raised(d, 1) == raised(types_f, 1)


def test_except_block_entered_by_a_failed_part_is_left_again():
    code = function_at(
        1,
        """\
def residual(x):
    g = 'GRAPH'
    try:
        raise KeyError
    except KeyError:
        return leave(g, x)
""",
    )
    # Only the first row of the exception table stays: what leaves the except block does not reset
    # the exception being handled, as in a part that ends within one.
    table = code.__code__.co_exceptiontable
    first_row = table[: next(i for i in range(1, len(table)) if table[i] & 0x80)]
    stays = code.__code__.replace(co_exceptiontable=first_row)
    names = {"sys": sys, "leave": lambda g, x: g(x)}
    plain = function_at(1, "def f(x):\n return sys.exc_info()\n", **names)
    entry = entry_of(types.FunctionType(stays, plain.__globals__), GRAPH=failing())
    rest = part_of(plain.__code__.replace(), entry)
    later = dispatcher(plain, entry_of(next_of, returns=False, NEXT=rest))
    for d in (dispatcher(plain, entry), dispatcher(plain, on_miss=lambda *_: entry), later):
        assert d(1) == (None, None, None)
        try:
            raise ValueError("outer")
        except ValueError as outer:
            assert d(1)[1] is outer
            assert sys.exc_info()[1] is outer


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_interrupt_of_a_graph_is_no_bail_out(error):
    entry, _, seen = bailing("x", error=error)
    d = dispatcher(lambda x: "plain", entry)
    with pytest.raises(error, match="from the graph"):
        d(1)
    assert seen == []
    assert entry.bailouts == 0


def test_bail_out_frees_what_the_failed_graph_held():
    def f(x):
        return "plain"

    for how in ("hit", "capture"):
        entry, _, seen = bailing("x")
        d = dispatcher(f, entry) if how == "hit" else dispatcher(f, on_miss=lambda *_: entry)
        thing = Thing()
        ref = weakref.ref(thing)
        assert d(thing) == "plain"
        del thing
        seen.clear()
        assert ref() is None


# ---- object lifetimes ------------------------------------------------------------------------------------


class Dies:
    """Notes in a list when it dies."""

    def __init__(self, log, name="dies"):
        self.log, self.name = log, name

    def __del__(self):
        self.log.append(self.name)


LIFETIME = """\
def rest(c, log):
    log.append("before")
    del c
    log.append("after")
    return log
"""


@pytest.mark.parametrize(
    "how", ["plain code", "no graph", "after its graph", "bail-out", "resumed", "capture"]
)
def test_values_die_when_the_code_lets_them_go(how):
    graph = _core.GraphCall(lambda: None, None)
    rest_fn = function_at(1, LIFETIME)
    calls = function_at(1, LIFETIME.replace('"before")', '"before")\n    g = "GRAPH"\n    g()'))
    rest = part_of(rest_fn)
    if how == "no graph":
        rest.add(entry_of(rest_fn, on_bailout=None))
    elif how == "after its graph":
        rest.add(entry_of(calls, GRAPH=graph))
    elif how == "bail-out":
        rest.add(entry_of(function_at(1, "def r(c, log):\n g = 'GRAPH'\n g()\n"), GRAPH=failing()))
    elif how == "capture":
        rest.on_miss = lambda *_: entry_of(calls, GRAPH=graph)
    names = {"Dies": Dies, "resumed": None}
    first = function_at(1, "def first(log):\n return 'NEXT', None, Dies(log), log\n", **names)
    plain = types.FunctionType((lambda log: "plain").__code__, first.__globals__)
    if how == "resumed":
        log = []
        resumed = _core.Resumed(rest_fn.__code__, {}, None, (Dies(log), log))
        assert resumed() == ["before", "dies", "after"]
        return
    d = dispatcher(plain, entry_of(first, returns=False, NEXT=rest))
    for _ in range(2):
        assert d([]) == ["before", "dies", "after"]


def test_graph_of_an_inner_call_does_not_let_go_of_an_outer_parts_values():
    """The same GraphCall runs in a nested call before the outer one has succeeded."""
    graph = _core.GraphCall(lambda x: 1 / x, None)
    names = {}
    residual = function_at(
        1, "def r(x, again):\n g = 'GRAPH'\n if again: d(1, False)\n return g(x)\n", **names
    )
    plain = types.FunctionType(
        (lambda x, again: ("plain", x, again)).__code__, residual.__globals__
    )
    seen = []

    def on_bailout(entry, func, closure, values, exc):
        seen.append(values)

    entry = entry_of(residual, on_bailout=on_bailout, GRAPH=graph)
    residual.__globals__["d"] = dispatcher(plain, entry)
    part = part_of(plain, entry)
    assert _core.drive(part, plain, None, (0, True)) == ("plain", 0, True)
    assert seen == [(0, True)]


def test_values_of_a_captured_frame_die_when_the_code_lets_them_go():
    graph = _core.GraphCall(lambda: None, None)
    code = function_at(
        1,
        "def r(log):\n c = Dies(log)\n g = 'GRAPH'\n g()\n del c\n log.append('after')\n return log\n",
        Dies=Dies,
    )
    plain = types.FunctionType((lambda log: "plain").__code__, code.__globals__)
    d = dispatcher(plain, on_miss=lambda *_: entry_of(code, GRAPH=graph))
    assert d([]) == ["dies", "after"]

    def resize(array):
        array.resize(5)
        return array

    import numpy as np

    array = np.zeros(3)
    residual = function_at(1, "def r(array):\n array.resize(5)\n return array\n")
    rest = part_of(resize, entry_of(residual, on_bailout=None))
    first = function_at(1, "def first(n):\n return 'NEXT', None, np.zeros(n)\n", np=np)
    d = dispatcher(
        types.FunctionType((lambda n: 0).__code__, first.__globals__),
        entry_of(first, returns=False, NEXT=rest),
    )
    assert d(3).shape == (5,)  # NumPy refuses to resize an array that others refer to
    rest.clear()
    assert d(3).shape == (5,)
    assert array.shape == (3,)


@pytest.mark.parametrize(
    "how", ["hit", "graph", "capture", "captured graph", "bail-out", "parts", "miss"]
)
def test_keyword_dict_has_as_many_references_as_in_plain_python(how):
    source = "def f(**kw):\n return sys.getrefcount(kw)\n"
    f = function_at(1, source, sys=sys)
    residual = function_at(1, source.replace("**", ""), sys=sys)
    graph = function_at(1, "def r(kw):\n g = 'GRAPH'\n g()\n return sys.getrefcount(kw)\n", sys=sys)
    fails = function_at(1, "def r(kw):\n g = 'GRAPH'\n return g()\n")
    succeeds = _core.GraphCall(lambda: None, None)
    rest = part_of(function_at(1, source.replace("**", ""), sys=sys))
    d = {
        "hit": lambda: dispatcher(f, entry_of(residual)),
        "graph": lambda: dispatcher(f, entry_of(graph, GRAPH=succeeds)),
        "capture": lambda: dispatcher(f, on_miss=lambda *_: entry_of(residual)),
        "captured graph": lambda: dispatcher(f, on_miss=lambda *_: entry_of(graph, GRAPH=succeeds)),
        "bail-out": lambda: dispatcher(f, entry_of(fails, GRAPH=failing())),
        "parts": lambda: dispatcher(f, entry_of(next_of, returns=False, NEXT=rest)),
        "miss": lambda: dispatcher(f, on_miss=lambda *_: None),
    }[how]()
    assert [d(a=1), d(a=1)] == [f(a=1)] * 2


def test_code_runs_with_the_functions_own_builtins():
    names = {"__builtins__": {"len": lambda x: "own len"}}
    exec("def f(x): return 'plain'\ndef new(x): return len(x)\n", names)
    names["__builtins__"] = {"len": lambda x: "later len"}
    assert names["new"]([]) == "own len"
    d = dispatcher(names["f"], entry_of(names["new"]))
    assert [d([]), d([])] == ["own len", "own len"]


def test_unused_values_of_a_part_die_before_the_next_part():
    log = []
    rest = part_of(function_at(1, "def rest(log):\n log.append('rest')\n return log\n"))
    names = {"Dies": Dies}
    drop = function_at(1, "def drop(c, log):\n return 'NEXT', None, log\n")
    middle = part_of(lambda c, log: None, entry_of(drop, returns=False, NEXT=rest))
    first = function_at(1, "def first(log):\n return 'MIDDLE', None, Dies(log), log\n", **names)
    plain = types.FunctionType((lambda log: 0).__code__, first.__globals__)
    assert dispatcher(plain, entry_of(first, returns=False, MIDDLE=middle))(log) == ["dies", "rest"]


def test_parts_see_the_frame_of_the_caller_behind_them():
    names = {"sys": sys}
    where = function_at(
        1,
        "def where(x):\n return [f.f_code.co_name for f in (sys._getframe(), sys._getframe(1))]\n",
        **names,
    )
    rest = part_of(where)
    plain = types.FunctionType((lambda x: 0).__code__, where.__globals__)
    d = dispatcher(plain, entry_of(next_of, returns=False, NEXT=rest))
    me = "test_parts_see_the_frame_of_the_caller_behind_them"
    assert d(1) == ["where", me]
    rest.add(entry_of(where))
    assert d(1) == ["where", me]


def test_frame_object_outlives_its_part():
    names = {"sys": sys}
    keeps = function_at(1, "def keeps(x):\n y = [x]\n return sys._getframe()\n", **names)
    rest = part_of(keeps)
    plain = types.FunctionType((lambda x: 0).__code__, keeps.__globals__)
    d = dispatcher(plain, entry_of(next_of, returns=False, NEXT=rest))
    captured = dispatcher(plain, on_miss=lambda *_: entry_of(keeps))
    frames = [d(1), d(2), captured(3)]
    gc.collect()
    assert [f.f_locals for f in frames] == [{"x": i, "y": [i]} for i in (1, 2, 3)]
    assert [f.f_back for f in frames] == [None] * 3 or all(
        f.f_back is None or f.f_back.f_code.co_name == "test_frame_object_outlives_its_part"
        for f in frames
    )


def test_exceptions_text_prints_without_traces_of_the_driver():
    f = function_at(10, PLAIN)
    entry, _, _ = bailing("x")
    d = dispatcher(f, entry)
    texts = []
    for call in (f, d):
        try:
            call(1)
        except ZeroDivisionError:
            texts.append(traceback.format_exc().splitlines()[3:])
    assert texts[0] == texts[1]


# ---- entries whose graph is all there is ------------------------------------------------------------


def direct_entry(graph, places, count=3, **options):
    """Make an entry whose code, if it ran, would give another answer than the graph."""
    call = _core.GraphCall(graph, None)
    names = ", ".join(f"a{i}" for i in range(count))
    code = function_at(1, f"def f({names}):\n GRAPH\n return 'the code ran'\n").__code__
    code = code.replace(co_consts=(*code.co_consts, call))
    return _core.Entry(tree(), code, True, restart, None, places, **options)


def test_direct_entry_calls_its_graph_with_the_values_in_these_places():
    for places in [(), (0,), (0, 1), (0, 1, 2), (2,), (2, 0), (1, 1)]:
        d = dispatcher(lambda a, b, c: "plain", direct_entry(lambda *args: (args,), places))
        values = ("a", "b", "c")
        assert d(*values) == d(c="c", a="a", b="b") == tuple(values[place] for place in places)


def test_direct_entry_behind_another_part():
    last = part_of(lambda a: "plain", direct_entry(lambda a: (a * 2,), (0,), count=1))
    first = entry_of(lambda x: ("NEXT", None, x + 1), returns=False, NEXT=last)
    assert dispatcher(lambda x: "plain", first)(4) == 10


def test_direct_entry_that_fails_runs_the_plain_code():
    entry = direct_entry(lambda a: 1 / a, (0,), count=1)
    d = dispatcher(lambda a: ("plain", a), entry)
    assert d(0) == ("plain", 0)
    assert entry.bailouts == 1


def test_interrupt_of_a_direct_entry_shows_the_function_in_its_traceback():
    def graph(a):
        raise KeyboardInterrupt

    d = dispatcher(lambda a: "plain", direct_entry(graph, (0,), count=1))
    with pytest.raises(KeyboardInterrupt) as caught:
        d(1)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert [frame.name for frame in frames[-2:]] == ["f", "graph"]


def test_direct_entry_of_a_graph_that_returns_its_only_output():
    call = _core.GraphCall(lambda a: [a], None, single=True)
    assert (call.single, _core.GraphCall(len, None).single) == (True, False)
    code = function_at(1, "def f(a):\n return 'the code ran'\n").__code__
    code = code.replace(co_consts=(*code.co_consts, call))
    d = dispatcher(lambda a: "plain", _core.Entry(tree(), code, True, restart, None, (0,)))
    assert d(1) == [1]


def test_direct_entry_wants_a_tuple_of_one_output():
    for outputs in [(), (1, 2), [1], None]:
        d = dispatcher(lambda a: "plain", direct_entry(lambda a, o=outputs: o, (0,), count=1))
        with pytest.raises(ValueError, match="tuple of 1 output"):
            d(1)


def test_direct_is_refused_where_it_cannot_be():
    for places in [(1,), (-1,), (0,) * 25]:
        with pytest.raises(ValueError, match="direct"):
            direct_entry(lambda a: (a,), places, count=1)
    with pytest.raises(TypeError, match="direct must be a tuple"):
        direct_entry(lambda a: (a,), [0], count=1)
    code = (lambda a: a).__code__
    for returns in (True, False):
        with pytest.raises(ValueError, match="direct"):
            _core.Entry(tree(), code, returns, restart, None, (0,))


def test_result_and_values_of_a_direct_entry_live_as_long_as_in_plain_python():
    d = dispatcher(lambda a: a, direct_entry(lambda a: (a,), (0,), count=1))
    for call in (d, lambda thing: d(a=thing)):
        thing = Thing()
        watch = weakref.ref(thing)
        count = sys.getrefcount(thing)
        result = call(thing)
        assert result is thing
        del result
        assert sys.getrefcount(thing) == count
        del thing
        assert watch() is None
