"""What users call: forms of `compile`, its argument errors, what a compiled function looks like, explain, report, reset, lifetimes."""

from __future__ import annotations

import copy
import functools
import gc
import inspect
import json
import os
import pickle
import subprocess
import sys
import threading
import types
import weakref
from pathlib import Path

import numpy as np
import pytest

import bcjit
from bcjit import _core, errors
from bcjit.backends.testing import CountingBackend, RecordingBackend
from bcjit.config import config
from tests.report_kit import timeless

ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _strict():
    config.strict = True


def scaled(x, k: float = 2.0, *more, shift=0.0, **named) -> np.ndarray:
    """Return a scaled array."""
    return x * k + shift


compiled_scaled = bcjit.compile(scaled)


@bcjit.compile
def decorated(x):
    """A decorated function."""
    return x + 1


@bcjit.compile(backend="eager", dynamic=False)
def decorated_with_options(x):
    return x + 1


class Filter:
    gain = 3.0

    @bcjit.compile
    def method(self, x):
        return x * self.gain

    @staticmethod
    @bcjit.compile
    def static(x):
        return x * 2

    @classmethod
    @bcjit.compile
    def of_class(cls, x):
        return x * cls.gain

    @property
    @bcjit.compile
    def computed(self):
        return np.full(2, self.gain)

    @bcjit.compile
    @staticmethod
    def outer_static(x):
        return x * 4

    @bcjit.compile
    @classmethod
    def outer_of_class(cls, x):
        return x * cls.gain + 1


X = np.arange(3.0)


# ---------------------------------------------------------------------- forms
def test_every_form_of_compile_computes_what_the_function_does():
    o = Filter()
    rows = [
        (bcjit.compile(scaled)(X, 3), scaled(X, 3)),
        (bcjit.compile()(scaled)(X, 3), scaled(X, 3)),
        (bcjit.compile(backend="eager")(scaled)(X, k=3), scaled(X, 3)),
        (bcjit.compile(scaled, backend="eager")(X, 3, 4, shift=1, other=2), scaled(X, 3, shift=1)),
        (decorated(X), X + 1),
        (decorated_with_options(X), X + 1),
        (o.method(X), X * 3),
        (Filter.method(o, X), X * 3),
        (o.static(X), X * 2),
        (Filter.static(X), X * 2),
        (o.of_class(X), X * 3),
        (Filter.of_class(X), X * 3),
        (o.computed, np.full(2, 3.0)),
        (o.outer_static(X), X * 4),
        (Filter.outer_of_class(X), X * 3 + 1),
        (bcjit.compile(o.method)(X), X * 3),
        (bcjit.compile(Filter().method.__func__)(o, X), X * 3),
        (bcjit.compile(lambda x: x - 1)(X), X - 1),
    ]
    for _ in range(2):
        for got, wanted in rows:
            assert type(got) is type(wanted)
            assert got.tolist() == wanted.tolist()
    assert decorated.graphs
    assert Filter.method.graphs


def test_a_bound_method_is_bound_again():
    class Local:
        def method(self, x):
            return x, self

    o = Local()
    compiled = bcjit.compile(o.method)
    assert type(compiled) is types.MethodType
    assert compiled.__self__ is o
    assert compiled(X)[1] is o
    assert compiled.__func__.__wrapped__ is Local.method


def test_a_compiled_function_is_compiled_anew_with_other_options():
    counting = CountingBackend()
    again = bcjit.compile(decorated, backend=counting)
    assert again.__wrapped__ is decorated.__wrapped__
    again(X)
    assert counting.graph_count == 1


def test_a_callable_that_is_no_python_function_runs_as_it_is():
    rows = (
        (np.sin, X),
        (functools.partial(np.add, 2), X),
        (functools.lru_cache(scaled), 3),
        (len, X),
    )
    for fn, argument in rows:
        plain = bcjit.compile(fn)
        assert isinstance(plain, bcjit.PlainFunction)
        assert plain.__wrapped__ is fn
        assert np.all(plain(argument) == fn(argument))
        assert plain.graphs == ()
        assert "not a Python function" in plain.report()
        assert plain.explain(argument) == plain.report()
        assert repr(plain).startswith("<bcjit plain")
        plain.reset()


def test_compiled_functions_call_each_other():
    inner = bcjit.compile(lambda x: x * 2)

    @bcjit.compile
    def outer(x):
        return inner(x + 1) + decorated(x)

    assert outer(X).tolist() == ((X + 1) * 2 + X + 1).tolist()
    assert outer(X).tolist() == ((X + 1) * 2 + X + 1).tolist()


def test_generators_and_coroutines_run_plain():
    @bcjit.compile
    def generates(x):
        yield x + 1

    @bcjit.compile
    async def waits(x):
        return x + 1

    assert [v.tolist() for v in generates(X)] == [(X + 1).tolist()]
    with pytest.raises(StopIteration) as caught:
        waits(X).send(None)
    assert caught.value.value.tolist() == (X + 1).tolist()
    assert generates.report().problems[0].code == "BRK019"
    assert waits.report().problems[0].code == "BRK019"


# ---------------------------------------------------------------------- errors
ERRORS = [
    (lambda: bcjit.compile(3), errors.ArgumentTypeError, "fn: a function is expected, got int: 3; write bcjit.compile(f) or @bcjit.compile"),
    (lambda: bcjit.compile("f"), errors.ArgumentTypeError, "fn: a function is expected, got str: 'f'"),
    (lambda: bcjit.compile(scaled, backend="eagre"), errors.BackendNotFoundError, "no backend is named 'eagre'"),
    (lambda: bcjit.compile(scaled, backend="eagre"), errors.BackendNotFoundError, "Did you mean 'eager'?"),
    (lambda: bcjit.compile(backend="nothing like it"), errors.BackendNotFoundError, "bcjit.register_backend"),
    (lambda: bcjit.compile(scaled, backend=3), errors.ArgumentTypeError, "backend"),
    (lambda: bcjit.compile(scaled, backend=None), errors.ArgumentTypeError, "backend"),
    (lambda: bcjit.compile(scaled, fullgraph=1), errors.ArgumentTypeError, "fullgraph: True or False is expected, got 1"),
    (lambda: bcjit.compile(scaled, dynamic="yes"), errors.ArgumentTypeError, "dynamic: None, True or False is expected, got 'yes'"),
    (lambda: bcjit.compile(scaled, options=[1]), errors.ArgumentTypeError, "options: a dict of options is expected, got [1]"),
    (lambda: bcjit.compile(scaled, options={1: True, "a": 2}), errors.ArgumentTypeError, "options: names of options are expected, got 1"),
    (lambda: bcjit.compile(scaled, options={"fats": True}), errors.ArgumentError, "options: backend 'auto' has {'fast': bool}, got 'fats'"),
    (lambda: bcjit.compile(scaled, backend="native", options={"fast": 1}), errors.ArgumentTypeError, "options: 'fast' of backend 'native' is of type bool, got 1"),
    (lambda: bcjit.compile(scaled, backend="eager", options={"fast": True}), errors.ArgumentError, "options: backend 'eager' takes none, got 'fast'"),
    (lambda: bcjit.compile(scaled, backend=lambda graph, inputs: graph.to_callable(), options={"a": 1, "b": 2}), errors.ArgumentError, "takes none, got 'a', 'b'"),
    (lambda: bcjit.disable(4), errors.ArgumentTypeError, "fn: a function is expected, got int: 4"),
    (lambda: bcjit.explain(4), errors.ArgumentTypeError, "fn: a function is expected, got int: 4"),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(ERRORS)))
def test_a_wrong_argument_is_told_in_one_sentence(index):
    call, kind, says = ERRORS[index]
    with pytest.raises(kind) as caught:
        call()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, errors.UsageError)
    assert isinstance(caught.value, ValueError)
    if kind is errors.ArgumentTypeError:
        assert isinstance(caught.value, TypeError)


def test_unknown_keywords_and_positions_are_pythons_own_errors():
    with pytest.raises(TypeError, match="speed"):
        bcjit.compile(scaled, speed=3)
    with pytest.raises(TypeError):
        bcjit.compile(scaled, "eager")
    with pytest.raises(TypeError) as plain:
        scaled()
    with pytest.raises(TypeError) as got:
        compiled_scaled()
    assert str(got.value) == str(plain.value)


def test_fullgraph_says_what_breaks_and_where():
    def fn(x):
        y = x + 1
        print("unseen")
        return y

    compiled = bcjit.compile(fn, fullgraph=True)
    with pytest.raises(errors.GraphBreakError) as caught:
        compiled(X)
    error = caught.value
    assert error.code == "BRK003"
    assert error.title == "print or other output"
    assert error.line.filename == __file__
    assert error.line.lineno == fn.__code__.co_firstlineno + 2
    assert error.line.function == fn.__qualname__
    text = str(error)
    assert text.startswith('graph break BRK003 "print or other output"\n')
    assert f"test_api.py:{error.line.lineno}" in text
    assert "fullgraph=True asks for one graph" in text


def test_fullgraph_of_a_whole_function_is_no_error(capsys):
    def fn(x, k):
        y = x * k
        return y.sum(), y

    compiled = bcjit.compile(fn, fullgraph=True)
    assert compiled(X, 2)[0] == 6.0
    assert len(compiled.graphs) == 1


@pytest.mark.parametrize("config_strict", [False, True])
def test_fullgraph_of_a_function_that_is_not_captured_at_all_says_so(config_strict):
    config.strict = config_strict

    def fn(x):
        sys.settrace(None)
        return x + 1

    with pytest.raises(errors.GraphBreakError, match="BRK022"):
        bcjit.compile(fn, fullgraph=True)(X)


# ---------------------------------------------------------------------- what it looks like
def test_metadata_is_that_of_the_function():
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        assert getattr(compiled_scaled, name) == getattr(scaled, name)
    assert compiled_scaled.__wrapped__ is scaled
    assert inspect.signature(compiled_scaled) == inspect.signature(scaled)
    assert inspect.unwrap(compiled_scaled) is scaled
    assert inspect.getsource(compiled_scaled) == inspect.getsource(scaled)
    assert repr(compiled_scaled) == f"<bcjit compiled {scaled!r}>"
    assert callable(compiled_scaled)


def test_attributes_of_the_function_are_there():
    def fn(x):
        return x

    fn.note = [1]
    compiled = bcjit.compile(fn)
    assert compiled.note is fn.note
    compiled.other = 2
    assert compiled.other == 2
    assert not hasattr(fn, "other")


def test_it_is_pickled_by_reference():
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(decorated, protocol)) is decorated
    local = bcjit.compile(lambda x: x)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(local)


def test_copies_are_the_function_itself():
    assert copy.copy(decorated) is decorated
    assert copy.deepcopy(decorated) is decorated
    assert copy.deepcopy([decorated])[0] is decorated


def test_it_can_be_weakly_referenced_hashed_and_compared():
    other = bcjit.compile(decorated.__wrapped__)
    assert len({decorated, decorated, other}) == 2
    assert decorated == decorated
    assert decorated != other
    reference = weakref.ref(other)
    assert reference() is other


def test_it_binds_as_functions_do():
    o = Filter()
    bound = o.method
    assert type(bound) is types.MethodType
    assert bound.__self__ is o
    assert bound.__func__ is Filter.method
    assert isinstance(Filter.method, bcjit.CompiledFunction)


# ---------------------------------------------------------------------- explain and report
def breaking(x):
    y = x * 2
    print("in between")
    return y + 1


def test_explain_is_a_real_call_that_leaves_the_cache_alone(capsys):
    compiled = bcjit.compile(breaking)
    found = compiled.explain(X)
    assert capsys.readouterr().out == "in between\n"
    assert found.result.tolist() == breaking(X).tolist()
    assert compiled.graphs == ()
    assert compiled.report().parts == ()
    assert len(found.graphs) == 2
    assert [part.nodes for part in found.parts] == [1, 1]
    line = breaking.__code__.co_firstlineno + 2
    assert found.breaks == (f"BRK003 print or other output at test_api.py:{line}: print",)


def test_explain_has_a_text_and_plain_data(capsys):
    found = bcjit.explain(breaking, X)
    text = str(found)
    assert text.startswith("breaking: 2 graphs, 2 nodes, 1 break, compiled in ")
    for part in (
        "operator.mul(x, 2)",
        "guard: x is a float64 array of 1 dimension",
        "ends: returns",
        "test_api.py:",
    ):
        assert part in text
    data = json.loads(json.dumps(found.as_dict()))
    assert data["function"] == "breaking"
    assert [part["nodes"] for part in data["parts"]] == [1, 1]
    assert data["parts"][1]["ends"] == "returns"
    assert data["problems"] == []


def test_explain_of_plain_and_compiled_functions_agree(capsys):
    plain, compiled = (bcjit.explain(fn, X) for fn in (breaking, bcjit.compile(breaking)))
    assert timeless(str(plain)) == timeless(str(compiled))


def test_explain_of_a_call_that_raises_raises():
    def fn(x):
        y = x + 1
        raise KeyError("told")

    with pytest.raises(KeyError, match="told"):
        bcjit.explain(fn, X)


def test_explain_prints_no_graph_twice_under_the_print_backend(capsys):
    compiled = bcjit.compile(scaled, backend="print")
    compiled.explain(X)
    assert "graph(" not in capsys.readouterr().out


def test_report_names_the_guard_that_failed_with_both_values():
    compiled = bcjit.compile(scaled)
    compiled(X)
    compiled(X)
    compiled(X.astype("f4"))
    report = compiled.report()
    assert [part.hits for part in report.parts] == [1, 0]
    (miss,) = report.recompilations
    assert miss.compiled
    text = str(report)
    assert text.startswith("scaled: 2 compiled variants, 1 recompilation")
    row = next(row for row in text.splitlines() if "compiled again" in row)
    assert "float64" in row
    assert "float32" in row
    assert "test_api.py:" in row
    data = json.loads(json.dumps(report.as_dict()))
    assert data["function"] == "scaled"
    assert len(data["recompilations"]) == 1
    assert "float32" in json.dumps(data["recompilations"])


def test_report_counts_bail_outs():
    compiled = bcjit.compile(lambda x: np.log(x) + 1)
    compiled(X + 1)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        compiled(X)
    (part,) = compiled.report().parts
    assert part.bailouts == 1
    assert "1 bail-out" in str(compiled.report())


def test_report_says_what_runs_plain():
    def fn(x):
        sys.settrace(None)
        return x + 1

    compiled = bcjit.compile(fn)
    compiled(X)
    (problem,) = compiled.report().problems
    assert problem.code == "BRK022"
    assert problem.line.lineno in range(fn.__code__.co_firstlineno, fn.__code__.co_firstlineno + 4)
    assert "plain:" in str(compiled.report())


def test_graphs_are_those_the_backend_got():
    recording = RecordingBackend()
    compiled = bcjit.compile(scaled, backend=recording)
    compiled(X)
    compiled(X, 2)
    assert list(compiled.graphs) == recording.graphs


# ---------------------------------------------------------------------- reset, disable, graph_break
def test_reset_forgets_and_compiles_anew():
    counting = CountingBackend()
    compiled = bcjit.compile(scaled, backend=counting)
    for _ in range(2):
        compiled(X)
        compiled(X)
    assert counting.graph_count == 1
    compiled.reset()
    assert compiled.graphs == ()
    assert compiled.report().parts == ()
    assert compiled(X).tolist() == scaled(X).tolist()
    assert counting.graph_count == 2


def test_reset_of_all_reaches_every_compiled_function():
    first, second = bcjit.compile(scaled), bcjit.compile(lambda x: x + 1)
    first(X)
    second(X)
    bcjit.reset()
    assert first.graphs == second.graphs == ()
    assert first(X).tolist() == scaled(X).tolist()


def test_reset_within_a_call_is_harmless():
    def fn(x):
        y = x + 1
        bcjit.reset()
        return y * 2

    compiled = bcjit.compile(fn)
    for _ in range(3):
        assert compiled(X).tolist() == ((X + 1) * 2).tolist()


def test_a_disabled_function_is_returned_and_never_inlined():
    def inner(x):
        return x + 1

    assert bcjit.disable(inner) is inner
    compiled = bcjit.compile(lambda x: inner(x * 2) * 3)
    assert compiled(X).tolist() == ((X * 2 + 1) * 3).tolist()
    assert any("BRK005" in part.ends for part in compiled.report().parts)
    assert not any("add" in graph.text() for graph in compiled.graphs)


def test_graph_break_outside_does_nothing():
    assert bcjit.graph_break() is None


# ---------------------------------------------------------------------- limits, threads, lifetimes
def test_beyond_the_cache_limit_entries_keep_working_and_one_message_is_logged(caplog):
    dtypes = ["f8", "f4", "i8", "i4", "i2", "u1"]
    counting = CountingBackend()
    with config.override(cache_limit=3), caplog.at_level("WARNING", logger="bcjit.recompiles"):
        compiled = bcjit.compile(scaled, backend=counting)
        for _ in range(3):
            for dtype in dtypes:
                x = np.arange(3, dtype=dtype)
                assert compiled(x).dtype == scaled(x).dtype
        assert counting.graph_count == 3
        runs = counting.call_count
        for dtype in dtypes[:3]:
            compiled(np.arange(3, dtype=dtype))
        assert counting.call_count == runs + 3
        compiled(np.arange(3, dtype="u2"))
        assert counting.call_count == runs + 3
    (record,) = [r for r in caplog.records if r.levelname == "WARNING"]
    message = record.getMessage()
    assert "scaled" in message
    assert "test_api.py:" in message
    assert "3" in message
    assert "plain" in message
    text = str(compiled.report())
    assert "plain" in text
    compiled.reset()
    compiled(np.arange(3, dtype="u2"))
    assert counting.graph_count == 4


def test_the_switch_in_the_environment_turns_everything_off():
    program = (
        "import numpy as np, bcjit\n"
        "f = bcjit.compile(lambda x: x + 1)\n"
        "print(type(f).__name__, f(np.ones(2)).tolist(), f.graphs)\n"
        "print(f.report())\n"
    )
    for value, kind in (
        ("1", "PlainFunction"),
        ("0", "CompiledFunction"),
        ("", "CompiledFunction"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "BCJIT_DISABLE": value, "PYTHONPATH": str(ROOT)},
        )
        assert done.stdout.startswith(f"{kind} [2.0, 2.0] ")
        assert ("BCJIT_DISABLE is set" in done.stdout) == (value == "1")
        assert ("BCJIT_DISABLE" in done.stderr) == (value == "1")


def test_the_setting_turns_new_functions_off():
    with config.override(disabled=True):
        plain = bcjit.compile(scaled)
    assert isinstance(plain, bcjit.PlainFunction)
    assert plain(X).tolist() == scaled(X).tolist()


def test_deleting_a_compiled_function_frees_its_graphs_and_parts():
    recording = RecordingBackend()

    def fn(x, k):
        y = x * k
        print(end="")
        return y + len([k])

    compiled = bcjit.compile(fn, backend=recording)
    compiled(X, 2)
    compiled(X, 2.5)
    cache = compiled._caches[0]
    things = [
        weakref.ref(thing)
        for thing in (*recording.graphs, *cache.parts.values(), cache, *cache.entries, compiled)
    ]
    assert len(things) > 7
    recording.graphs.clear()
    recording.example_inputs.clear()
    del compiled, cache
    gc.collect()
    assert [thing() for thing in things if thing() is not None] == []
    assert _core.get_code_slot(fn.__code__) is None


def test_an_entry_keeps_no_array_alive():
    compiled = bcjit.compile(lambda x, items: (x * 2 + items[0], x[1:]))
    x = np.arange(3.0)
    item = np.ones(3)
    result = compiled(x, [item])
    references = [weakref.ref(x), weakref.ref(item)]
    del x, item, result
    gc.collect()
    assert [reference() for reference in references] == [None, None]
    assert compiled.graphs


def test_threads_calling_one_function_with_different_shapes_agree_with_plain():
    def fn(x, k):
        y = x * k
        if y.sum() > 0:
            y = y - 1
        return y.reshape(-1), y.shape

    compiled = bcjit.compile(fn)
    problems = []
    ready = threading.Barrier(6)

    def work(number):
        ready.wait()
        for turn in range(40):
            shape = [(number + 1,), (2, number + 1), (1, 1, turn + 1)][turn % 3]
            x = np.full(shape, turn - 20.0, dtype=["f8", "f4"][number % 2])
            got, wanted = compiled(x, number), fn(x, number)
            if got[0].tobytes() != wanted[0].tobytes() or got[1] != wanted[1]:
                problems.append((number, turn))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert compiled.graphs


def test_threads_may_reset_while_others_call():
    compiled = bcjit.compile(scaled)
    problems = []

    def work():
        for turn in range(60):
            if compiled(X, turn).tolist() != scaled(X, turn).tolist():
                problems.append(turn)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(30):
        compiled.reset()
    for thread in threads:
        thread.join()
    assert not problems
