"""Nothing stays: no reference per call, no cycle that the collector cannot see, no object of the user's."""

from __future__ import annotations

import gc
import subprocess
import sys
import types
import weakref
from pathlib import Path

import pytest
from core_kit import (
    capturing,
    dispatcher,
    entry_of,
    function_at,
    is_type,
    part_of,
    resident_kb,
    restart,
)

from bcjit import _core

CALLS = 100_000


class Thing:
    """An object that can be watched."""


def boom(*args):
    raise ValueError("from the graph")


def looping():
    """Make a dispatcher whose parts refer to each other, and to graphs, through their codes' constants."""
    loop = part_of(function_at(1, "def plain(x, n):\n return x\n"))
    end = part_of(function_at(1, "def plain(x):\n return x\n"))
    end.add(entry_of(function_at(1, "def end(x):\n return x\n")))
    body = "def loop(x, n):\n g = 'GRAPH'\n x = g(x)\n return ('END', None, x) if n == 0 else ('LOOP', None, x, n - 1)\n"
    graph = _core.GraphCall(function_at(1, "def graph(x):\n return x\n"), Thing())
    loop.add(
        entry_of(function_at(1, body), returns=False, tag=Thing(), GRAPH=graph, END=end, LOOP=loop)
    )
    first = entry_of(
        function_at(1, "def first(x, n):\n return 'LOOP', None, x, n\n"), returns=False, LOOP=loop
    )
    return dispatcher(function_at(1, "def plain(x, n):\n return x\n"), first), loop, end, graph


def test_parts_that_lead_back_to_themselves_are_collected():
    for warm in (False, True):
        d, loop, end, graph = looping()
        if warm:
            thing = Thing()
            assert d(thing, 5) is thing
        watched = [
            d,
            d.part,
            loop,
            end,
            graph,
            graph.tag,
            loop.entries[0],
            loop.entries[0].tag,
            d.fn,
        ]
        refs = [weakref.ref(w) for w in watched]
        codes = [e.code for e in loop.entries] if not warm else []
        del d, loop, end, graph, watched
        gc.collect()
        if codes:
            assert refs[2]() is not None, "whoever holds the code keeps what it names"
            codes.clear()
            gc.collect()
        assert [r() for r in refs] == [None] * len(refs)


def test_collection_during_a_run_frees_nothing_that_is_in_use():
    d, loop, end, graph = looping()
    graph_fn = function_at(1, "def graph(x):\n gc.collect()\n return x\n", gc=gc)
    body = loop.entries[0].code
    replaced = tuple(_core.GraphCall(graph_fn, None) if c is graph else c for c in body.co_consts)
    loop.clear()
    loop.add(entry_of(body.replace(co_consts=replaced), returns=False))
    call = [d]
    del d, loop, end, graph, replaced
    assert call.pop()(7, 3) == 7


def test_deleting_the_dispatcher_frees_parts_entries_and_graphs():
    def f(x):
        return x

    class Compiled(_core.Dispatcher):
        """A subclass with a cycle of its own."""

    for cls in (_core.Dispatcher, Compiled):
        graph = _core.GraphCall(boom, None)
        code = function_at(1, "def r(x):\n g = 'GRAPH'\n return g(x)\n")
        d = cls(f, part_of(f, entry_of(code, GRAPH=graph)))
        d.me = d
        assert d(1) == 1
        refs = [weakref.ref(o) for o in (d, d.part, d.part.entries[0], graph)]
        del d, graph
        gc.collect()
        assert [r() for r in refs] == [None] * 4


def scenarios():
    """Yield (name, call): each call exercises one way through the C code."""

    def f(x, *args, k=1, **kw):
        return x

    hit = dispatcher(f, entry_of(lambda x, k, args, kw: x))
    yield "hit, positional", lambda t: hit(t)
    yield "hit, all kinds", lambda t: hit(t, t, k=t, z=t)
    yield "binding error", lambda t: fails(hit, TypeError)

    def g(x):
        return x

    simple = dispatcher(g, entry_of(lambda x: x, is_type(0, Thing)))
    yield "hit, simple", lambda t: simple(t)
    yield "miss without compiling", lambda t: simple([t])
    capture = dispatcher(g, on_miss=lambda *_: entry_of(GROWS))
    yield "capture", lambda t: capture(t)
    capture_none = dispatcher(f, on_miss=lambda *_: None)
    yield "capture of nothing", lambda t: capture_none(t, t, z=t)
    capture_error = dispatcher(f, on_miss=boom)
    yield "capture that raises", lambda t: fails(capture_error, ValueError, t)
    graph = _core.GraphCall(boom, None)
    bails = entry_of(function_at(1, "def r(x):\n g = 'GRAPH'\n return g(x)\n"), GRAPH=graph)
    bail = dispatcher(g, bails)
    yield "bail-out", lambda t: bail(t)
    bail_capture = dispatcher(g, on_miss=lambda *_: bails)
    yield "bail-out of a capture", lambda t: bail_capture(t)
    rest = part_of(lambda y: y)
    resumes = entry_of(
        function_at(1, "def r(x):\n g = 'GRAPH'\n return g(x)\n"),
        GRAPH=graph,
        on_bailout=lambda entry, func, closure, values, exc: (rest, None, *values),
    )
    elsewhere = dispatcher(g, resumes)
    yield "bail-out to elsewhere", lambda t: elsewhere(t)
    loop, *_keep = looping()
    yield "parts", lambda t: loop(t, 3)
    plain_parts = dispatcher(g, entry_of(lambda x: ("NEXT", None, x), returns=False, NEXT=rest))
    yield "plain part", lambda t: plain_parts(t)

    def make(x):
        return lambda y: (x, y)

    cells = part_of(make(0), entry_of(make(0)))
    first = function_at(1, "def r(x):\n return 'NEXT', make(x).__closure__, x\n", make=make)
    with_cells = dispatcher(
        types.FunctionType(g.__code__, first.__globals__),
        entry_of(first, returns=False, NEXT=cells),
    )
    yield "fresh cells", lambda t: with_cells(t)
    raises = part_of(function_at(1, "def r(x):\n y = [x]\n raise KeyError\n"))
    raising = dispatcher(g, entry_of(lambda x: ("NEXT", None, x), returns=False, NEXT=raises))
    yield "exception in a part", lambda t: fails(raising, KeyError, t)
    yield "resumed", lambda t: _core.Resumed(g.__code__, {}, None, (t,))()
    yield "many values", lambda t: _core.run_plain(MANY.__code__, {}, None, (t,) * 40)
    yield "drive", lambda t: _core.drive(simple.part, g, None, (t,))


GROWS = function_at(
    1, "def r(x):\n" + "".join(f"    v{i} = x\n" for i in range(300)) + "    return x\n"
)
MANY = function_at(1, f"def many({', '.join(f'p{i}' for i in range(40))}):\n return p0\n")


def fails(fn, error, *args):
    try:
        fn(*args)
    except error:
        return
    raise AssertionError("nothing was raised")


SCENARIOS = dict(scenarios())


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_call_keeps_its_arguments_or_leaks_references(name):
    call = SCENARIOS[name]
    thing = Thing()
    ref, own = weakref.ref(thing), sys.getrefcount(thing)
    for _ in range(20):
        call(thing)
    gc.collect()
    blocks, references = sys.getallocatedblocks(), sys.getrefcount(None)
    for _ in range(300):
        call(thing)
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 100
    assert abs(sys.getrefcount(None) - references) < 100
    assert sys.getrefcount(thing) == own
    del thing
    assert ref() is None


def test_many_calls_leave_memory_flat():
    before = resident_kb()
    if before is None:
        pytest.skip("the resident memory can be read on Linux only")
    names = ("hit, all kinds", "hit, simple", "parts", "bail-out", "fresh cells", "plain part")
    thing = Thing()
    calls = [SCENARIOS[name] for name in names]
    for _ in range(1_000):
        for call in calls:
            call(thing)
    gc.collect()
    before = resident_kb()
    for _ in range(CALLS // len(calls)):
        for call in calls:
            call(thing)
    gc.collect()
    assert resident_kb() - before < 1_000


def test_entry_keeps_no_cells_of_its_function():
    def make(x):
        def f():
            return x

        def new():
            return x, 1

        return f, new

    f, new = make(Thing())
    code = new.__code__
    part = part_of(f, entry_of(code))
    ref = weakref.ref(f.__closure__[0].cell_contents)
    d = _core.Dispatcher(f, part)
    assert d() == (ref(), 1)
    del f, new, d
    gc.collect()
    assert ref() is None
    assert len(part.entries) == 1


def test_callees_and_slots_die_with_their_code():
    tag = Thing()
    kept = []

    def factory(fn, tag):
        kept.append(dispatcher(fn, entry_of(lambda: 2)))
        return kept[-1]

    _core.set_callee_factory(factory)
    try:
        f = function_at(1, "def f():\n return 1\n")
        owner = Thing()
        _core.set_code_slot(f.__code__, owner)
        assert _core.callee(f, tag)() == 2
        refs = [weakref.ref(o) for o in (f, f.__code__, kept[0], owner)]
        owner_ref = refs.pop()
        del owner
        assert owner_ref() is None
        del f
        kept.clear()
        gc.collect()
        assert [r() for r in refs] == [None] * 3
        for _ in range(50):  # tags and callees that died make room
            f = function_at(1, "def f():\n return 1\n")
            _core.callee(f, Thing())
            kept.clear()
            _core.set_code_slot(f.__code__, [owner_ref])
    finally:
        _core.set_callee_factory(None)


def test_on_miss_that_refers_to_its_part_is_collected():
    class Owner:
        def on_miss(self, part, func, closure, values):
            return None

    owner = Owner()
    owner.part = part_of(lambda: 1, on_miss=owner.on_miss, tag=owner)
    owner.entry = entry_of(lambda: 1, on_bailout=owner.on_miss, tag=owner)
    owner.part.add(owner.entry)
    refs = [weakref.ref(owner), weakref.ref(owner.part), weakref.ref(owner.entry)]
    del owner
    gc.collect()
    assert [r() for r in refs] == [None] * 3


def test_capture_keeps_no_arguments():
    make = capturing(lambda: entry_of(lambda x: x))
    d = dispatcher(lambda x: x, on_miss=make)
    thing = Thing()
    ref = weakref.ref(thing)
    d(thing)
    make.calls.clear()
    del thing
    assert ref() is None
    assert restart(None, None, None, None, None) is None


@pytest.mark.valgrind
def test_valgrind_finds_nothing_in_the_extension():
    script = Path(__file__).with_name("valgrind_core.sh")
    done = subprocess.run(
        ["/bin/sh", script, sys.executable], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
