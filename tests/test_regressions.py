"""Defects that adversarial programs found, each with the value plain Python gives; none may come back.

A test states the fact that was wrong. Where values are not enough (warnings, tracebacks, argument writes) the program also goes
through `assert_same`.
"""

from __future__ import annotations

import builtins
import collections
import io
import itertools
import math
import pdb  # noqa: T100 - the subject
import re
import signal
import sys
import traceback
import warnings

import numpy as np
import pytest
from differential import PLAIN, Setting, World, args, assert_same
from under_test import compile_eager

import bcjit
from bcjit.backends.choice import has_llvm
from bcjit.compiler import compile as compile_module
from bcjit.compiler import entry as entry_module

RAISING = Setting(errstate={"all": "raise"})
EVERY_FLAG = (PLAIN, RAISING, Setting("error"))


def same(fn, *calls, settings=(PLAIN,)):
    assert_same(lambda: World(fn, calls), compile_eager, settings)


# ---------------------------------------------------------------------- guards that were missing
def _two_scalers(k):
    def times(x):
        return x * k

    def plus(x):
        return x + k

    return times, plus


def test_callees_that_shared_a_cell_need_not_share_it_later():
    times_2, plus_2 = _two_scalers(2.0)
    times_3, plus_3 = _two_scalers(3.0)

    def f(x, g, h):
        return g(x) + h(x)

    compiled = compile_eager(f)
    x = np.ones(2)
    assert compiled(x, times_2, times_2).tolist() == [4.0, 4.0]
    assert compiled(x, times_2, times_3).tolist() == [5.0, 5.0]
    assert compiled(x, times_2, plus_2).tolist() == [5.0, 5.0]
    assert compiled(x, times_2, plus_3).tolist() == [6.0, 6.0]
    assert compiled(x, times_3, plus_2).tolist() == [6.0, 6.0]


def test_own_cell_and_that_of_a_callee_need_not_stay_the_same():
    def pair(k):
        def g(x):
            return x * k

        def f(x, h):
            return h(x) + k

        return f, g

    f, own = pair(2.0)
    _, other = pair(3.0)
    compiled = compile_eager(f)
    x = np.ones(2)
    assert compiled(x, own).tolist() == [4.0, 4.0]
    assert compiled(x, other).tolist() == [5.0, 5.0]
    assert compiled(x, own).tolist() == [4.0, 4.0]


def test_class_that_becomes_callable_is_seen():
    class Thing:
        pass

    thing = Thing()
    compiled = compile_eager(lambda x, o: (x * 2, callable(o)))
    assert compiled(np.ones(1), thing)[1] is False
    Thing.__call__ = lambda self: 1
    assert compiled(np.ones(1), thing)[1] is True


def test_class_that_gets_other_bases_is_seen():
    class Base:
        pass

    class Other:
        pass

    class Middle(Base):
        pass

    class Thing(Middle):
        pass

    thing = Thing()
    compiled = compile_eager(lambda x, o: (x * 2, isinstance(o, Other)))
    assert compiled(np.ones(1), thing)[1] is False
    Thing.__bases__ = (Other, Middle)
    assert compiled(np.ones(1), thing)[1] is True


def test_cell_that_is_empty_on_a_later_call_fails_at_its_del():
    k = 1

    def f(x):
        nonlocal k
        y = x * 2
        if len(y) == 2:
            k = 1
        del k
        return y

    compiled = compile_eager(f)
    compiled(np.ones(3))
    with pytest.raises(NameError) as caught:
        compiled(np.ones(3))
    assert caught.traceback[-1].lineno + 1 == f.__code__.co_firstlineno + 5


# ---------------------------------------------------------------------- wrong answers
@pytest.mark.parametrize("name", ["__name__", "__qualname__", "__module__", "mro", "__mro__"])
@pytest.mark.parametrize(
    "value", [np.ones(2), [1], 3, np.float64(1)], ids=lambda v: type(v).__name__
)
def test_what_only_the_metaclass_has_is_no_attribute_of_an_instance(value, name):
    compiled = compile_eager(lambda x, o: (x * 2, hasattr(o, name), getattr(o, name, "none")))
    assert compiled(np.ones(2), value)[1:] == (False, "none")


@pytest.mark.parametrize("start", ["", b"", bytearray()], ids=repr)
def test_sum_refuses_text(start):
    compiled = compile_eager(lambda x, s: (x * 2, sum((s, s), s)))
    with pytest.raises(TypeError, match=r"sum\(\) can't sum"):
        compiled(np.ones(2), start)


def test_nan_is_found_by_identity():
    def f(x):
        nan = float("nan")
        other = float("nan")
        return (
            x * 2,
            nan in [1, nan],
            nan in (other,),
            (nan, 2) == (nan, len(x)),
            {nan: 1}.get(nan),
            len({nan: 1, nan: 2}),  # noqa: F602 - the subject
            len({nan: 1, other: 2}),
        )

    assert compile_eager(f)(np.ones(2))[1:] == (True, False, True, 1, 1, 2)


def test_tuple_operations_that_change_nothing_give_the_tuple_itself():
    t = (1, [2])
    compiled = compile_eager(lambda x, t: (x * 2, t[:], t + (), () + t, t * 1, tuple(t), t[::1]))
    assert all(item is t for item in compiled(np.ones(2), t)[1:])


def test_tuple_operations_that_change_something_give_a_new_tuple():
    t = (1, [2])
    compiled = compile_eager(lambda x, t: (x * 2, t[::-1][::-1], t[0:1] + t[1:], t[:1] * 2))
    got = compiled(np.ones(2), t)[1:]
    assert got == ((1, [2]), (1, [2]), (1, 1))
    assert not any(item is t for item in got)


@pytest.mark.parametrize(
    ("make", "use", "value"),
    [
        (lambda: re.match("(a)(b)", "ab"), lambda o: o.group(2), "b"),
        (lambda: re.compile("a"), lambda o: o.match("ab").span(), (0, 1)),
        (lambda: io.StringIO("abc"), lambda o: o.read(), "abc"),
        (lambda: frozenset([1]), lambda o: o.union([2]), {1, 2}),
        (lambda: type("Text", (str,), {})("a"), lambda o: o.upper(), "A"),
        (lambda: type("Real", (float,), {})(2), lambda o: o.is_integer(), True),
        (lambda: np.timedelta64(3, "D"), lambda o: o.astype(int), 3),
        (object, lambda o: o.__eq__(1), NotImplemented),
        (lambda: np.random.default_rng(5), lambda o: o.integers(1), 0),
    ],
    ids=["match", "pattern", "StringIO", "frozenset", "str", "float", "timedelta", "object", "rng"],
)
def test_c_method_of_an_object_is_bound_to_it(make, use, value):
    compiled = compile_eager(lambda x, o: (x * 2, use(o)))
    for _ in range(2):
        assert compiled(np.ones(2), make())[1] == value


def test_dot_into_a_scalar_array_returns_a_scalar():
    compiled = compile_eager(lambda x, out: np.dot(x, x, out=out))
    out = np.array(0.0)
    got = compiled(np.arange(3.0), out)
    assert type(got) is np.float64
    assert (got, out) == (5.0, 5.0)


# ---------------------------------------------------------------------- writes and flags
@pytest.mark.parametrize("name", ["std", "var"])
def test_flag_in_the_middle_of_a_function_does_not_lose_its_write(name):
    function = getattr(np, name)

    def f(x, out):
        x[0] += 0
        function(x, out=out)
        return out

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert math.isnan(compile_eager(f)(np.array([np.inf, 1.0]), np.array(0.0)))
    assert {str(w.message) for w in caught} == {"invalid value encountered in subtract"}
    same(f, lambda: args(np.array([np.inf, 1.0]), np.array(0.0)), settings=EVERY_FLAG)


def test_fill_that_overflows_fills():
    def f(x, value):
        x.fill(value)
        return x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = compile_eager(f)(np.ones(2, dtype=np.float32), np.float64(1e300))
    assert got.tolist() == [math.inf, math.inf]
    assert len(caught) == 1
    same(f, lambda: args(np.ones(2, dtype="f4"), np.float64(1e300)), settings=EVERY_FLAG)


@pytest.mark.parametrize(("name", "text"), [("cumprod", "accumulate"), ("prod", "reduce")])
def test_flag_of_a_written_reduction_names_what_numpy_names(name, text):
    function = getattr(np, name)

    def f(x, out):
        function(x, out=out)

    x = np.array([1e-200, 1e-200])
    out = np.zeros(2) if name == "cumprod" else np.array(0.0)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError) as caught:
        compile_eager(f)(x, out)
    assert str(caught.value) == f"underflow encountered in {text}"


@pytest.mark.parametrize("mode", ["call", "log"])
def test_error_state_without_its_handler_raises_numpys_name_error(mode):
    def f(x):
        x *= 1e308
        return x

    with np.errstate(all=mode), pytest.raises(NameError) as caught:
        compile_eager(f)(np.full(3, 1e10))
    assert str(caught.value).startswith(
        "python callback specified for" if mode == "call" else "log specified for"
    )
    same(f, lambda: args(np.full(3, 1e10)), settings=(Setting(errstate={"all": mode}),))


# ---------------------------------------------------------------------- lines
@pytest.mark.parametrize("column", range(190, 264, 3))
def test_error_far_right_on_a_line_has_its_line(column):
    pad = " " * column
    namespace = {}
    source = f"def f(x):\n    y = x * 2\n    z = 1;{pad}return float(y)\n\n\n\n"
    exec(compile(source, "far_right.py", "exec"), namespace)
    same(namespace["f"], lambda: args(np.ones(2)))
    try:
        compile_eager(namespace["f"])(np.ones(2))
    except TypeError as error:
        frames = traceback.extract_tb(error.__traceback__)
    assert frames[-1].lineno == 3
    assert frames[-1].colno == len(f"    z = 1;{pad}return ")


# ---------------------------------------------------------------------- signals, recursion, debuggers
class Alarm(Exception):
    """An ordinary exception, raised by a signal handler."""


@pytest.fixture
def alarm():
    """Arrange that a signal handler raises `Alarm`; the test chooses when."""

    def handler(number, frame):
        raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_exception_of_a_signal_handler_leaves_a_graph(alarm):
    x = np.random.RandomState(0).rand(2_000_000)

    def f(x):
        y = np.sort(x)
        return np.sort(y[::-1]), np.sort(x), np.sort(x), np.sort(x)

    compiled = compile_eager(f)
    compiled(x[:3])
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(Alarm):
        for _ in range(100):
            compiled(x)


@pytest.mark.parametrize("stage", ["capture", "build_residual", "compile_guards"])
def test_exception_of_a_signal_handler_leaves_a_compilation(stage, alarm, monkeypatch, caplog):
    module = compile_module if stage == "capture" else entry_module
    real = getattr(module, stage)
    struck = []

    def strike(*arguments, **keywords):
        if not struck:
            struck.append(True)
            signal.raise_signal(signal.SIGALRM)
        return real(*arguments, **keywords)

    monkeypatch.setattr(module, stage, strike)
    bcjit.config.strict = False
    compiled = bcjit.compile(lambda x: x * 2)
    with pytest.raises(Alarm):
        compiled(np.ones(2))
    assert struck
    assert not caplog.records
    assert compiled(np.ones(2)).tolist() == [2.0, 2.0]
    assert len(compiled.graphs) == 1


def test_exception_of_a_signal_handler_leaves_the_making_of_a_graphs_callable(alarm, monkeypatch):
    real = entry_module.Graph.to_callable
    struck = []

    def strike(graph):
        if not struck:
            struck.append(True)
            signal.raise_signal(signal.SIGALRM)
        return real(graph)

    monkeypatch.setattr(entry_module.Graph, "to_callable", strike)
    bcjit.config.strict = False
    compiled = bcjit.compile(lambda x: x * 2, backend="eager")
    with pytest.raises(Alarm):
        compiled(np.ones(2))
    assert struck
    assert compiled(np.ones(2)).tolist() == [2.0, 2.0]


def test_compiling_near_the_recursion_limit_is_like_running_plain(caplog):
    def leaf(x, n):
        y = x * n
        y += 1
        print(end="")
        return y.sum()

    def at_depth(fn, depth):
        return at_depth(fn, depth - 1) if depth else fn(np.ones(2), 3)

    bcjit.config.strict = False
    room = sys.getrecursionlimit() - len(traceback.extract_stack())
    for depth in range(max(room - 200, 10), room - 12, 7):
        compiled = bcjit.compile(leaf)
        assert at_depth(leaf, depth) == 8.0
        assert at_depth(compiled, depth) == 8.0
        assert compiled(np.ones(2), 3) == 8.0
    assert not caplog.records


def _stops_with_pdb(x):
    y = x * 2
    breakpoint()  # noqa: T100 - the subject
    z = y + 1
    return z.sum()


def test_debugger_stops_behind_breakpoint_in_a_compiled_function(monkeypatch):
    def stops(fn):
        out = io.StringIO()

        def hook():
            stdin = io.StringIO("n\np y\nn\np z\nc\n")
            pdb.Pdb(stdin=stdin, stdout=out, nosigint=True).set_trace(sys._getframe(1))

        monkeypatch.setattr(sys, "breakpointhook", hook)
        before = sys.gettrace()
        try:
            assert fn(np.ones(2)) == 6.0
        finally:
            sys.settrace(before)
        return out.getvalue()

    compiled = compile_eager(_stops_with_pdb)
    assert "array([2., 2.])" in stops(_stops_with_pdb)
    assert stops(compiled) == stops(_stops_with_pdb)


@pytest.mark.parametrize(("dtype", "number"), [("f4", 1e308), ("f4", -1e200), ("f2", 70_000)])
@pytest.mark.parametrize("spelling", ["operator", "out"])
def test_number_too_large_for_the_array_is_not_taken_for_a_finished_write(dtype, number, spelling):
    def operator_(x):
        x *= number
        return x

    def out(x):
        np.multiply(x, number, out=x)
        return x

    f = operator_ if spelling == "operator" else out
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = compile_eager(f)(np.ones(2, dtype=dtype))
    assert got.tolist() == [math.copysign(math.inf, number)] * 2
    assert str(caught[0].message) == "overflow encountered in cast"
    same(f, lambda: args(np.ones(2, dtype=dtype)), settings=EVERY_FLAG)


def test_flag_of_clip_into_its_operand_is_not_lost():
    def f(x, high):
        x.clip(0, high, out=x)
        return x

    def call():
        return args(np.ones(3, dtype="f4"), np.full(3, 1e-300))

    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="underflow .* clip"):
        compile_eager(f)(*call()[0])
    same(f, call, settings=EVERY_FLAG)


def test_flag_of_a_written_ufunc_with_a_list_operand_is_plain_pythons():
    def f(x):
        x += 0
        np.multiply(x, [1e308, 2], out=x)
        return x

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        got = compile_eager(f)(np.full(2, 1e10))
    assert got.tolist() == [math.inf, 2e10]
    assert [str(w.message) for w in caught] == ["overflow encountered in multiply"]
    same(f, lambda: args(np.full(2, 1e10)), settings=EVERY_FLAG)


# ---------------------------------------------------------------------- found in code that nobody here wrote
_MASK_INDICES = (
    np.True_, True, (np.True_,), (..., np.False_), (None, np.True_), (np.int64(0), np.True_),
    (np.True_, np.array([0, 0])), (0, np.array(True)), (None, np.array(True)), np.array(True),
)  # fmt: skip


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)], ids=str)
@pytest.mark.parametrize("index", _MASK_INDICES, ids=repr)
def test_bool_that_is_no_axis_of_its_own_is_a_mask(index, shape):
    # The place of a NumPy bool among the axes was counted two ways, and compiling failed.
    def read(x, i):
        return x[i]

    def write(x, i):
        y = x * 1
        y[i] = 2
        return y

    for x in (np.ones(shape), np.ones(shape)[()]):
        same(read, lambda: args(x, index))
        same(write, lambda: args(x, index))


def test_numpy_bool_masks_a_scalar():
    def f(x):
        x = np.sqrt(x)
        x[x == 0] = 1.0
        return x

    same(f, lambda: args(np.float64(0)), lambda: args(np.array(0.0)))
    assert compile_eager(lambda x: x[x > 1])(np.float64(2)).tolist() == [2.0]


_BY_TYPE = {dict: 1, list: 2}
_BY_NAME = {"a": 1, ("b", 1): 2}
_BY_TYPES = {(int, "a"): 1, (str, "b"): 2}


@pytest.mark.parametrize("value", [{}, [], 3, np.float64(1)], ids=lambda v: type(v).__name__)
def test_class_is_a_key_of_a_dict_from_outside(value):
    # No guard can hold a class as key, and the exception of trying was taken for the program's.
    def get(x, o):
        return x * 2, _BY_TYPE.get(type(o)), _BY_NAME.get(type(o)), _BY_TYPES.get((type(o), "a"))

    def contains(x, o):
        return type(o) in _BY_TYPE, type(o) in _BY_NAME, (type(o), "a") in _BY_TYPES, x * 2

    def subscript(x, o):
        y = x * 2
        return y, _BY_TYPE[type(o)]

    def walk(x, o):
        return [(number, key) for key, number in _BY_TYPE.items()], list(_BY_TYPES), x * 2

    for fn in (get, contains, subscript, walk):
        same(fn, lambda: args(np.ones(2), value))


def test_mistake_inside_a_record_is_bcjits():
    from bcjit.compiler.foreign import traceback_from_elsewhere
    from bcjit.guards import Source, SourceKind

    with pytest.raises(ValueError) as caught:
        Source(SourceKind.ITEM, object())
    assert traceback_from_elsewhere(caught.value.with_traceback(caught.tb.tb_next)) is None


@pytest.mark.parametrize("kind", ["zip", "map", "enumerate"])
def test_chain_does_not_ask_again_what_has_ended(kind):
    # zip and map take an item from those before the one that ended, each time they are asked.
    def f(x, kind):
        it = iter([1, 2, 3, 4, 5, 6, 7])
        first = zip(it, (x, x + 1))
        if kind == "map":
            first = map(lambda n, y: y * n, it, (x, x + 1))
        elif kind == "enumerate":
            first = enumerate(zip(it, (x,)))
        return list(itertools.chain(first, (x, 1, 2))), list(it), x * 2

    same(f, lambda: args(np.ones(2), kind))


@pytest.mark.parametrize("view", ["dict", "items", "values"])
def test_chain_asks_a_dict_for_its_iterator_when_its_turn_comes(view):
    def f(x, d, view):
        r = []
        part = d if view == "dict" else d.items() if view == "items" else d.values()
        for v in itertools.chain((1, 2), part):
            if len(r) == 0:
                d["new"] = x + 1
            r.append(v)
        return r

    same(f, lambda: args(np.ones(2), {"a": 3}, view))


def test_sum_adds_before_it_asks_for_the_next_item():
    # All items were asked for first: what the generator does between two was done before the first addition.
    def f(x):
        def arrays(y):
            yield y
            y += 1
            yield y
            y[0] = 7

        def lists():
            made = [1]
            yield made
            made.append(2)
            yield made

        return sum(arrays(x * 2)), sum(lists(), []), max(lists()) + [max(lists()) == [1, 2]]

    same(f, lambda: args(np.ones(3)), lambda: args(np.arange(3)))


@pytest.mark.parametrize("outside", [False, True])
def test_extending_shows_each_item_before_the_next_is_asked_for(outside):
    def f(x, items, queue, outside):
        if not outside:
            items, queue = [], collections.deque()
        seen = set()

        def h(n):
            items.append(n)
            queue.append(-n)
            return x * n

        items.extend(h(n) for n in (1, 2))
        items += map(h, (3, 4))
        queue.extend(h(n) for n in (5, 6))
        queue.extendleft(map(h, (7, 8)))
        seen.update(len(seen) for _ in range(3))
        return items, queue, seen

    same(f, lambda: args(np.ones(2), [0], collections.deque([0]), outside))


def test_builtin_that_was_replaced_is_the_new_one():
    def f(x):
        before = builtins.round
        builtins.round = lambda value: ("new", value)
        try:
            return round(2.5), x * 2
        finally:
            builtins.round = before

    def g(x):
        before = round
        del builtins.round
        try:
            return round(2.5)
        except NameError as error:
            return str(error), x * 2
        finally:
            builtins.round = before

    same(f, lambda: args(np.ones(2)))
    same(g, lambda: args(np.ones(2)))


@pytest.mark.parametrize("dtype", ["f8", "f4", "D"])
@pytest.mark.parametrize(
    "exponent", [0.5, 2, -1, 2.0, np.float64(0.5), np.array(2.0), 3, 0.3], ids=repr
)
def test_warning_of_an_in_place_power_names_what_numpy_ran(dtype, exponent):
    # Square, reciprocal or square root for some exponents; which ones, versions differ in.
    def f(x, r):
        x **= r
        return x

    large = 1e30 if dtype == "f4" else 1e300
    calls = [lambda: args(np.array([-1, 0, large], dtype), exponent)]
    assert_same(lambda: World(f, calls), compile_eager, EVERY_FLAG)


def test_padding_of_no_axis_is_a_copy():
    def f(x, mode):
        y = np.pad(x, 1, mode=mode)
        y += 1
        return y, x, np.pad(x, 0, mode)

    for mode in ("edge", "constant", "wrap", "mean"):
        same(f, lambda mode=mode: args(np.array(2.0), mode))


def test_one_base_in_a_list_is_an_axis():
    def f(x, base):
        return np.logspace(0, x[0], 3, base=[base]), np.logspace(0, 2, 3, base=(2.0, base))

    same(f, lambda: args(np.ones(2), 3.0))


def test_an_unused_call_that_raises_still_raises():
    def sizes(x):
        np.eye((3,))
        return x + 1

    def no_axes(x):
        np.fft.fftshift(x)
        return x + 1

    def kinds(x):
        np.isdtype(x.dtype, ["real floating", np.int8])
        return x + 1

    for f in (sizes, no_axes, kinds):
        same(f, lambda: args(np.array(1.0)))


def test_a_class_that_gets_a_lookup_of_its_own_is_seen():
    class Model:
        @property
        def scale(self):
            return 2.0

    def f(m, x):
        return x * m.scale, m.__class__

    for name in ("__getattribute__", "__getattr__"):
        compiled = compile_eager(f)
        model, x = Model(), np.ones(2)
        compiled(model, x)
        setattr(Model, name, lambda self, name: 5.0)
        np.testing.assert_equal(compiled(model, x), f(model, x))
        delattr(Model, name)
        np.testing.assert_equal(compiled(model, x), f(model, x))


def test_a_scalar_made_of_an_array_of_one_number():
    # NumPy 2.0 converts it, with a warning; later ones make an array.
    def f(x):
        return np.float64(x), np.float32(x), np.float64(x + x)

    same(
        f,
        lambda: args(np.ones(3, "i4")),
        lambda: args(np.ones(1, "i4")),
        lambda: args(np.ones((1, 1))),
    )


def test_a_scalars_method_writes_out_and_gives_a_scalar():
    def f(x, y):
        return x[0].min(out=y), x[1].sum(out=y), np.max(x[0], out=y), np.add(x[0], 1, out=y), y

    same(f, lambda: args(np.array([1.5, 2.5]), np.array(0.0)))


def test_a_call_whose_result_is_written_is_not_simplified_away():
    def negated(x):
        n = -(x + x)
        n[0] = 5
        return (-n).sum(), np.abs(n)

    def products(x):
        n, m = -(x + x), -(x + 1)
        n[0] = 5
        return n * m, m + n, (~m) + 1

    def inverted(x):
        n = ~(x ^ 3)
        n[:] = 1
        return (~n).sum()

    for f in (negated, products, inverted):
        same(f, lambda: args(np.arange(4)))
    same(negated, lambda: args(np.ones(3)))


def test_a_write_that_warns_behind_another_effect_is_not_done_twice():
    # The array is the graph's own, but the part cannot start again once something was written that others see.
    def f(x, y):
        own = x * 1.0
        y[0] = 5
        np.sqrt(own, out=own[:])
        return own

    def drawn(x, y):
        own = x * 1.0
        r = np.random.rand()
        np.sqrt(own, out=own.ravel())
        return own, r

    for g in (f, drawn):
        same(g, lambda: args(np.array([16.0, -1.0]), np.ones(1)), settings=EVERY_FLAG)


def test_a_store_that_warns_and_writes_its_own_index_is_done_once():
    def f(x, y):
        y[y] = x
        return y

    same(f, lambda: args(np.array([np.nan, 1, 0, 2]), np.array([3, 1, 0, 2], "i4")))


def test_views_of_a_merged_array_are_views_of_the_one_that_stays():
    def f(x):
        a, b = x + 1, x + 1
        parts = np.split(b, 2)
        parts[0][0] = 7
        return a.sum(), b.sum(), np.split(b, 2)[0].sum()

    def unwritten(x):
        a, b = x + 1, x + 1
        return a.sum(), np.split(b, 2)[0]

    for g in (f, unwritten):
        same(g, lambda: args(np.arange(4.0)))


def test_a_method_found_in_its_class_asks_what_it_is_called_with():
    def scalars(x):
        return np.generic.squeeze(x.reshape(2, -1) + 1)

    def arrays(x):
        return np.ndarray.sum(x[0])

    def nothing(x):
        return np.float32.item()

    def later(x, y):
        return x.squeeze(y.reshape(1, 2).T)

    for f in (scalars, arrays, nothing):
        same(f, lambda: args(np.arange(4.0)))
    same(later, lambda: args(np.eye(2), np.arange(2)), lambda: args(np.float32, np.arange(2)))


def test_arguments_that_cannot_be_hashed_or_are_too_large_raise_as_in_numpy():
    def f(x, name, value):
        calls = {
            "sort": lambda: np.sort(x, kind=value),
            "packbits": lambda: np.packbits(x, bitorder=value),
            "meshgrid": lambda: np.meshgrid(x, indexing=value),
            "fftfreq": lambda: np.fft.fftfreq(3, device=value),
            "array": lambda: np.array(x, order=value),
        }
        return calls[name]()

    names = ("sort", "packbits", "meshgrid", "fftfreq", "array")
    same(f, *[lambda name=name: args(np.arange(3, dtype="u1"), name, ["a"]) for name in names])

    def sort(x):
        return np.sort(x, kind=["stable"])

    def bits(x):
        return np.packbits(x, bitorder=["big"])

    def grids(x):
        return np.meshgrid(x, indexing=["xy"])

    def rounded(x):
        return np.round(x * 1.5, 400), np.round(x * 1.5, -400)

    def variance(x):
        return np.var(x, ddof=np.inf), np.var(x, ddof=float("nan"))

    def casts(x):
        return x.astype("f4", casting="bad")

    for g in (sort, bits, grids, rounded, variance, casts):
        same(g, lambda: args(np.arange(3, dtype="u1")))


def test_round_wants_an_output_of_its_size():
    def f(x, out):
        return np.round(x, 1, out=out)

    same(
        f,
        lambda: args(np.ones((1, 3)), np.zeros((2, 3))),
        lambda: args(np.ones(3), np.zeros((1, 3))),
        lambda: args(np.arange(3), np.zeros((2, 3), int)),
    )


def test_calls_with_nan_constants_of_two_signs_are_two_calls():
    def f(x):
        nan = float("nan")
        minus = -nan
        return np.copysign(x, nan).sum(), np.copysign(x, minus).sum()

    def of_complex(x):
        one, other = complex(0, float("nan")), complex(0, -float("nan"))
        return np.copysign(1, (x + one).imag).sum(), np.copysign(1, (x + other).imag).sum()

    for g in (f, of_complex):
        same(g, lambda: args(np.ones(3)))


def raised_to_itself(x, y):
    x **= x
    return y


def raised_into_itself(x, y):
    return np.power(x, x, out=x)


def raised_in_part(x, y):
    x[1:] **= y[1:]
    return x


def raised_elsewhere(x, y):
    return np.power(y, x, out=x[:])


def raised_at_places(x, y):
    np.power.at(x, [0, 1, 2, 0], y)
    return x


def raised_behind_a_write(x, y):
    y[0] = 7
    own = y * 2
    own **= x
    return own


@pytest.mark.parametrize(
    "fn",
    [
        raised_to_itself, raised_into_itself, raised_in_part, raised_elsewhere, raised_at_places,
        raised_behind_a_write,
    ],
    ids=lambda fn: fn.__name__,
)  # fmt: skip
def test_a_power_that_raises_at_an_element_is_not_made_again_over_what_it_wrote(fn):
    compiled = bcjit.compile(fn, backend="eager")
    for bad in ([3, 2, 2, 4], [3, 2, -1, 4], [3, 2, 2, -4]):
        worlds = []
        for run in (fn, compiled):
            args = np.array(bad), np.array(bad[::-1])
            try:
                result = run(*args).tolist()
            except ValueError as error:
                result = str(error)
            worlds.append((result, args[0].tolist(), args[1].tolist()))
        assert worlds[0] == worlds[1]


def test_a_fold_in_a_captured_loop_knows_the_sizes_it_divides_by():
    def f(y):
        x = np.arange(1.0, 5.0)
        for v in y:
            x %= x.mean() + v * 0
        return x

    y = np.ones(3)
    for backend in ("native", "fused") if has_llvm() else ("fused",):
        assert bcjit.compile(f, backend=backend)(y).tobytes() == f(y).tobytes()


def test_the_absolute_value_of_a_scalar_is_the_operator_s():
    """NumPy's scalars warn of the least integer, which the ufunc does not."""

    def fn(x):
        return abs(x[0]), np.abs(x[0]), abs(x)

    compiled = bcjit.compile(fn)
    x = np.array([-128, 3], np.int8)
    for function in (fn, compiled, compiled):
        with pytest.warns(
            RuntimeWarning, match="overflow encountered in scalar absolute"
        ) as caught:
            values = function(x)
        assert len(caught) == 1
        assert [value.tolist() for value in values] == [-128, -128, [-128, 3]]
    assert compiled.graphs


def test_an_array_has_no_attribute_that_raises_when_it_is_read():
    def f(x):
        return hasattr(x, "ptp"), hasattr(x, "mT"), hasattr(x, "T"), x * 2

    def g(x):
        try:
            return hasattr(x, "mT")
        except ValueError as error:
            return str(error)

    same(f, lambda: args(np.ones((2, 3))))
    same(g, lambda: args(np.ones(3)), lambda: args(np.ones((2, 3))))
