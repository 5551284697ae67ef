"""Dispatcher: arguments bound as Python binds them, the entry found, and when a call stays plain."""

from __future__ import annotations

import sys
import threading
import types

import pytest
from core_kit import capturing, dispatcher, entry_of, is_type, part_of, raised, tree

from bcjit import _core

SIGNATURES = [
    "",
    "a",
    "a, b=2",
    "a, /, b",
    "a, b=2, /, c=3",
    "*args",
    "**kw",
    "*args, **kw",
    "a, *args",
    "a, /, **kw",
    "a=1, *args, k, **kw",
    "*, k",
    "*, k=1",
    "*, k=1, j",
    "a, b=2, *, k=3, j=4",
    "a, b=(), /, c={}, *args, k=3, j, **kw",
    ", ".join(f"p{i}={i}" for i in range(40)),
]
CALLS = [
    ((), {}),
    ((1,), {}),
    ((1, 2), {}),
    ((1, 2, 3), {}),
    ((1, 2, 3, 4), {}),
    ((), {"a": 1}),
    ((1,), {"a": 1}),
    ((1,), {"b": 5}),
    ((), {"b": 5, "a": 6}),
    ((), {"k": 7}),
    ((), {"j": 8}),
    ((1,), {"k": 7, "j": 8}),
    ((1,), {"j": 8, "z": 9, "y": 10}),
    ((1, 2), {"c": 5, "k": 7, "j": 8, "a": 9}),
    ((), {"p39": "x", "p0": "y"}),
    ((), {"args": 1, "kw": 2}),
]


def names_of(code):
    total = (
        code.co_argcount
        + code.co_kwonlyargcount
        + bool(code.co_flags & 4)
        + bool(code.co_flags & 8)
    )
    return code.co_varnames[:total]


def outcome(fn, args, kwargs):
    try:
        return "value", fn(*args, **kwargs)
    except TypeError as exc:
        return "TypeError", str(exc)


@pytest.mark.parametrize("signature", SIGNATURES)
def test_arguments_are_bound_as_python_binds_them(signature):
    names = {}
    exec(f"def f({signature}): return locals()", names)
    f = names["f"]
    parameters = names_of(f.__code__)
    exec(f"def new({', '.join(parameters)}): return locals()", names)
    bound = 0
    for args, kwargs in CALLS:
        d = dispatcher(f, entry_of(names["new"]))
        expected = outcome(f, args, kwargs)
        assert outcome(d, args, kwargs) == expected
        assert d.part.entries[0].hits == (expected[0] == "value")
        if expected[0] == "value":
            assert list(d(*args, **kwargs).get("kw", ())) == list(expected[1].get("kw", ()))
            bound += 1
    assert bound


def test_errors_of_binding_have_pythons_traceback():
    def f(a, *, k):
        return a

    d = dispatcher(f, entry_of(lambda a, k: "new"))
    for args, kwargs in [((), {}), ((1,), {}), ((1, 2), {"k": 1}), ((1,), {"k": 1, "z": 2})]:
        assert raised(d, *args, **kwargs) == raised(f, *args, **kwargs)


def test_defaults_are_read_at_each_call():
    def f(a=1, *, k=2):
        return None

    d = dispatcher(f, entry_of(lambda a, k: (a, k)))
    assert d() == (1, 2)
    f.__defaults__ = (10,)
    f.__kwdefaults__ = {"k": 20}
    assert d() == (10, 20)
    f.__kwdefaults__["k"] = 30
    assert d() == (10, 30)
    f.__defaults__ = None
    assert raised(d) == raised(f)
    f.__defaults__ = (1,)
    f.__kwdefaults__ = None
    assert raised(d) == raised(f)


def test_changed_code_runs_plain():
    def f(a):
        return ("plain", a)

    d = dispatcher(f, entry_of(lambda a: "new"))
    old = f.__code__
    assert d(1) == "new"
    f.__code__ = (lambda a: ("other", a)).__code__
    assert d(1) == ("other", 1)
    f.__code__ = old
    assert d(1) == "new"


def test_first_entry_whose_guards_hold_runs_and_moves_to_the_front():
    def f(x):
        return ("plain", x)

    ints = entry_of(lambda x: "int", is_type(0, int))
    floats = entry_of(lambda x: "float", is_type(0, float))
    strings = entry_of(lambda x: "str", is_type(0, str))
    d = dispatcher(f, ints, floats, strings)
    assert [d(""), d(1), d(2.0), d(2.0), d(b"")] == ["str", "int", "float", "float", ("plain", b"")]
    assert d.part.entries == (floats, ints, strings)
    assert [e.hits for e in (ints, floats, strings)] == [1, 2, 1]
    assert d.part.misses == 1


def test_find_changes_nothing():
    def f(x):
        return None

    ints, floats = entry_of(f, is_type(0, int)), entry_of(f, is_type(0, float))
    part = part_of(f, ints, floats)
    assert part.find(f, None, (1.0,)) is floats
    assert part.find(f, None, ("",)) is None
    assert part.entries == (ints, floats)
    assert (floats.hits, part.misses) == (0, 0)


def test_plain_entry_runs_the_function():
    def f(x, *args):
        return ("plain", x, args)

    entry = entry_of(lambda x, args: "new")
    d = dispatcher(f, entry)
    entry.plain = True
    assert d(1, 2) == ("plain", 1, (2,))
    assert entry.hits == 1


def test_capture_of_a_plain_entry_runs_the_frame_as_it_is():
    def plain_entry():
        entry = entry_of(lambda x: "new")
        entry.plain = True
        return entry

    d = dispatcher(lambda x: "plain", on_miss=capturing(plain_entry))
    assert [d(1), d(1)] == ["plain", "plain"]


@pytest.mark.parametrize("switch", ["enabled", "skip", "busy part", "no on_miss"])
def test_switched_off_dispatcher_calls_the_function(switch):
    def f(x, k=1):
        return ("plain", x, k)

    on_miss = capturing(lambda: entry_of(lambda x, k: "new", is_type(0, int)))
    d = dispatcher(f, on_miss=on_miss)
    assert d(1) == "new"
    if switch == "enabled":
        d.enabled = False
    elif switch == "skip":
        d.part.skip = True
    elif switch == "no on_miss":
        d.part.on_miss = None
    else:
        d.part.on_miss = lambda *_: (None, d("inner"))[0]
    argument = 1 if switch in {"enabled", "skip"} else "x"
    assert d(argument, k=5) == ("plain", argument, 5)
    assert len(on_miss.calls) == 1


def test_enabled_takes_booleans_only():
    d = dispatcher(lambda: 1)
    with pytest.raises(TypeError, match="enabled must be True or False"):
        d.enabled = 1
    with pytest.raises(TypeError, match="enabled must be True or False"):
        del d.enabled


# ---- methods and subclasses ---------------------------------------------------------------------


class Compiled(_core.Dispatcher):
    """As the API's class: a Python half with attributes of its own."""

    def __init__(self, fn, *entries):
        super().__init__(fn, part_of(fn, *entries))
        self.extra = "extra"


_core.enable_vectorcall(Compiled)


@pytest.mark.parametrize("cls", [dispatcher, Compiled])
def test_dispatcher_binds_as_a_method(cls):
    def method(self, x, *args):
        return ("plain", self, x, args)

    class Owner:
        call = cls(method, entry_of(lambda self, x, args: ("new", self, x, args)))

    owner = Owner()
    assert owner.call(1, 2) == ("new", owner, 1, (2,))
    assert Owner.call(owner, 1) == ("new", owner, 1, ())
    bound = owner.call
    assert type(bound) is types.MethodType
    assert bound(5) == ("new", owner, 5, ())
    assert Owner.call is Owner.__dict__["call"]
    for _ in range(100):  # past the specialisation of the call site
        assert owner.call(3) == ("new", owner, 3, ())


def test_subclass_has_attributes_and_the_flags_of_a_function():
    method_descriptor, vectorcall = 1 << 17, 1 << 11
    compiled = Compiled(lambda x: x, entry_of(lambda x: ("new", x)))
    assert compiled(1) == ("new", 1)
    assert compiled.__dict__ == {"extra": "extra"}
    assert Compiled.__flags__ & method_descriptor
    assert Compiled.__flags__ & vectorcall


def test_enable_vectorcall_refuses_overridden_calls():
    class Calls(_core.Dispatcher):
        def __call__(self):
            return "mine"

    class Gets(_core.Dispatcher):
        def __get__(self, instance, owner=None):
            return "mine"

    for cls in (Calls, Gets):
        with pytest.raises(TypeError, match="overrides __call__ or __get__"):
            _core.enable_vectorcall(cls)
    with pytest.raises(TypeError, match="takes a subclass of Dispatcher"):
        _core.enable_vectorcall(int)


def test_uninitialised_dispatcher_cannot_be_called():
    with pytest.raises(TypeError, match="has not been initialised"):
        _core.Dispatcher.__new__(_core.Dispatcher)()


def test_constructors_check_their_arguments():
    f, g = (lambda: 1), (lambda: 2)
    part = part_of(f)
    with pytest.raises(ValueError, match="the whole of fn's code"):
        _core.Dispatcher(g, part)
    with pytest.raises(TypeError):
        _core.Dispatcher(len, part)
    with pytest.raises(TypeError, match="twice"):
        _core.Dispatcher(f, part).__init__(f, part)
    with pytest.raises(TypeError, match="twice"):
        part.__init__(f.__code__, None, None)
    with pytest.raises(TypeError):
        _core.Entry(None, f.__code__, True, None, None)
    with pytest.raises(TypeError, match="Part.add takes an Entry, not int"):
        part.add(5)
    with pytest.raises(TypeError, match="twice"):
        entry_of(f).__init__(tree(), f.__code__, True, None, None)
    entry = entry_of(f)
    part.add(entry)
    with pytest.raises(ValueError, match="already in this part"):
        part.add(entry)
    part.remove(entry)
    with pytest.raises(ValueError, match="not in this part"):
        part.remove(entry)
    with pytest.raises(TypeError, match="set it to None"):
        del part.on_miss


# ---- tracing ------------------------------------------------------------------------------------


def test_trace_function_makes_calls_plain_unless_overridden():
    def f(x):
        return ("plain", x)

    d = dispatcher(f, entry_of(lambda x: "new"))
    before = sys.gettrace()
    seen = []
    try:
        sys.settrace(None)
        assert d(0) == "new"
        sys.settrace(lambda frame, event, arg: seen.append(frame.f_code))
        assert _core.tracing_active()
        plain = d(1)
        _core.set_tracing_override(True)
        overridden = _core.tracing_active(), d(2)
    finally:
        _core.set_tracing_override(False)
        sys.settrace(before)
    assert plain == ("plain", 1)
    assert f.__code__ in seen
    assert overridden == (False, "new")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring came with 3.12")
@pytest.mark.parametrize(("tool", "plain"), [(0, True), (1, True), (2, False), (3, False)])
def test_debugger_and_coverage_tools_make_calls_plain(tool, plain):
    if sys.monitoring.get_tool(tool) is not None:
        pytest.skip("the tool's number is taken")
    d = dispatcher(lambda x: "plain", entry_of(lambda x: "new"))
    sys.monitoring.use_tool_id(tool, "test")
    try:
        assert d(1) == ("plain" if plain else "new")
    finally:
        sys.monitoring.free_tool_id(tool)


def test_profile_function_leaves_calls_compiled():
    d = dispatcher(lambda x: "plain", entry_of(lambda x: "new"))
    before = sys.getprofile()
    sys.setprofile(lambda *_: None)
    try:
        assert d(1) == "new"
    finally:
        sys.setprofile(before)


# ---- recursion ----------------------------------------------------------------------------------


def depth_reached(fn):
    reached = 0

    def note(n):
        nonlocal reached
        reached = max(reached, n)

    with pytest.raises(RecursionError):
        fn(0, note)
    return reached


def test_recursion_goes_as_deep_as_plain_python():
    names = {}
    exec("def f(n, note):\n note(n)\n return f(n + 1, note)\n", names)
    plain = depth_reached(names["f"])
    names["f"] = d = dispatcher(names["f"], entry_of(names["f"]))
    assert depth_reached(d) == plain
    assert depth_reached(d) == plain
    d.part.clear()
    assert depth_reached(d) == plain


def test_endless_recursion_through_parts_raises_recursion_error():
    names = {}
    exec("def f(n, note):\n note(n)\n return 'NEXT', None, n, note\n", names)
    exec("def rest(n, note):\n return f(n + 1, note)\n", names)
    rest = part_of(names["rest"], entry_of(names["rest"]))
    first = entry_of(names["f"], returns=False, NEXT=rest)
    names["f"] = dispatcher(names["f"], first)
    plain = {}
    exec("def f(n, note):\n note(n)\n return f(n + 1, note)\n", plain)
    assert depth_reached(names["f"]) == depth_reached(plain["f"])


@pytest.mark.parametrize("stack_kb", [None, 512])
def test_recursion_beyond_the_c_stack_raises_recursion_error(stack_kb):
    names = {}
    exec("def f(n, note):\n note(n)\n return f(n + 1, note)\n", names)
    names["f"] = d = dispatcher(names["f"], entry_of(names["f"]))
    limit = sys.getrecursionlimit()
    old_stack = threading.stack_size(stack_kb * 1024) if stack_kb else None
    depths = []
    try:
        sys.setrecursionlimit(10**6)
        thread = threading.Thread(target=lambda: depths.append(depth_reached(d)))
        thread.start()
        thread.join()
    finally:
        sys.setrecursionlimit(limit)
        if old_stack is not None:
            threading.stack_size(old_stack)
    assert depths
    assert depths[0] > 100


# ---- callees and code slots ------------------------------------------------------------------------


class Tag:
    """A tag that can die."""


@pytest.fixture
def factory():
    """Install a factory that notes its calls; what it returns is looked up in ``.result``."""

    def make(fn, tag):
        make.calls.append((fn, tag))
        return make.result(fn)

    make.calls, make.result = [], lambda fn: fn
    _core.set_callee_factory(make)
    yield make
    _core.set_callee_factory(None)


def test_callee_of_anything_but_a_function_is_itself(factory):
    d = dispatcher(lambda: 1)
    for thing in (len, d, int, "text", types.MethodType(len, [])):
        assert _core.callee(thing, Tag()) is thing
    assert factory.calls == []


def test_callee_is_made_once_for_code_and_tag(factory):
    def f(x):
        return ("plain", x)

    kept = []

    def make(fn):
        kept.append(dispatcher(fn, entry_of(lambda x: ("new", x))))
        return kept[-1]

    factory.result = make
    tag, other = Tag(), Tag()
    assert _core.callee(f, tag) is kept[0]
    assert _core.callee(f, tag) is kept[0]
    assert _core.callee(f, other) is kept[1]
    assert factory.calls == [(f, tag), (f, other)]
    part = kept[0].part
    del kept[0]
    again = _core.callee(f, tag)  # the part is still there: another dispatcher of it will do
    assert again.part is part
    assert again(1) == ("new", 1)
    assert len(factory.calls) == 2
    del part, again
    assert _core.callee(f, tag) is kept[1]
    assert len(factory.calls) == 3


def test_callee_left_plain_is_not_asked_for_again(factory):
    def f():
        return 1

    tag = Tag()
    assert _core.callee(f, tag) is f
    assert _core.callee(f, tag) is f
    assert factory.calls == [(f, tag)]


def test_callee_of_another_function_of_the_same_code_shares_the_part(factory):
    def make(k):
        def f(x):
            return ("plain", k, x)

        return f

    def make_new(k):
        def f(x):
            return ("new", k, x)

        return f

    kept = []
    factory.result = lambda fn: kept.append(dispatcher(fn, entry_of(make_new(0)))) or kept[-1]
    tag = Tag()
    one, two = make(1), make(2)
    assert _core.callee(one, tag)(5) == ("new", 1, 5)
    second = _core.callee(two, tag)
    assert second(5) == ("new", 2, 5)
    assert second.part is kept[0].part
    assert second.fn is two
    assert len(factory.calls) == 1


def test_callee_without_a_factory_is_the_function():
    def f():
        return 1

    _core.set_callee_factory(None)
    assert _core.callee(f, Tag()) is f


def test_error_of_the_factory_propagates(factory):
    def f():
        return 1

    def broken(fn):
        raise LookupError("broken")

    factory.result = broken
    with pytest.raises(LookupError, match="broken"):
        _core.callee(f, Tag())


def test_code_slot_holds_weakly_what_can_be_held_weakly():
    code = (lambda: 1).__code__
    assert _core.get_code_slot(code) is None
    tag = Tag()
    _core.set_code_slot(code, tag)
    assert _core.get_code_slot(code) is tag
    del tag
    assert _core.get_code_slot(code) is None
    _core.set_code_slot(code, [1])
    assert _core.get_code_slot(code) == [1]
    _core.set_code_slot(code, None)
    assert _core.get_code_slot(code) is None
    with pytest.raises(TypeError, match="a code object was expected, not int"):
        _core.get_code_slot(5)


def test_support_is_reported():
    assert _core.check_support() is None
