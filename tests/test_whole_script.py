"""Which frames of a whole script are captured, what is kept of them, and that it dies with their code."""

from __future__ import annotations

import gc
import json
import random
import sys
import types
import weakref

import hypothesis
import numpy as np
import pytest

import bcjit
from bcjit import _core, whole_script
from bcjit.backends import register_backend
from bcjit.backends.registry import _registered
from bcjit.config import config
from bcjit.errors import BackendError, InternalError
from bcjit.frame_hook import is_eligible, shows_arrays

SOURCE = """
def step(x, k):
    y = x * k
    if y.sum() > 0:
        return y + 1
    return y - 1
def outer(x):
    def inner(y):
        return y + x
    return inner
def recursive(x, n):
    x[0] += 1
    return x if n == 0 else recursive(x, n - 1)
def textual(word):
    return word.strip(np.__name__[:0])
def numbers(a, b):
    return a + b
def raising(x):
    return x + missing
"""


class watched:
    """Functions of a fresh module, watched for the length of a with block."""

    def __init__(self, backend="eager", filename="watched.py"):
        self.report = whole_script.Report()
        self.chooser = whole_script.Chooser(backend, self.report)
        self.names = {"np": np, "__name__": "watched"}
        exec(compile(SOURCE, filename, "exec"), self.names)

    def __enter__(self):
        config.strict = True
        _core.watch(self.chooser)
        return self

    def __exit__(self, *exc):
        _core.watch(None)

    def nodes(self, name):
        return sum(r.nodes for line, r in self.report.functions.items() if line.function == name)


def three(names, k):
    x = np.arange(3.0)
    results = [names["step"](x, k), names["outer"](x)(k), names["recursive"](x, 3)]
    return [result.tolist() for result in results]


_core.leave_alone(three.__code__)  # else it is captured itself, with all that it calls


def test_frames_are_captured_and_give_what_plain_python_gives():
    plain = [three(watched().names, k) for k in range(-2, 3)]
    with watched() as w:
        assert [three(w.names, k) for k in range(-2, 3)] == plain
        with pytest.raises(NameError, match="missing"):
            w.names["raising"](np.ones(2))
    assert w.nodes("step") == 5
    assert w.nodes("outer.<locals>.inner") == 1
    assert "BRK001" in str(w.report)


def compilers_of(filename):
    found = [o for o in gc.get_objects() if type(o) is whole_script.ScriptCompiler]
    return [compiler for compiler in found if compiler.line.filename == filename]


@pytest.mark.parametrize("name", ["step", "outer", "numbers", "raising"])
def test_everything_dies_with_the_code(name):
    filename = f"watched_{name}.py"
    with watched(filename=filename) as w:
        function = w.names[name]
        x = np.arange(3.0)
        for k in range(3):
            if name == "raising":
                with pytest.raises(NameError):
                    function(x)
            elif name == "outer":
                function(x)(k)
            else:
                function(x, k)
        assert compilers_of(filename)
        dead = weakref.ref(function.__code__)
        w.names.clear()
        del function
        gc.collect()
        gc.collect()  # code inside it goes once the first has let go of its own code
        assert dead() is None
        assert compilers_of(filename) == []


def test_functions_without_arrays_are_left_alone():
    with watched(filename="without.py") as w:
        for k in range(40):
            assert w.names["numbers"](k, "x" * 0 or 1) == k + 1
            w.names["textual"]("a" * (k % 30))
        assert w.nodes("numbers") == 0
        # Left alone for good, also with arrays.
        w.names["numbers"](np.ones(2), 1)
    assert "numbers" in {line.function for line in w.report.without_arrays}
    assert w.nodes("numbers") == 0
    assert w.nodes("textual") == 0
    (textual,) = compilers_of("without.py")
    assert textual.cache.captures <= 8


def test_arrays_that_come_late_are_seen():
    with watched() as w:
        for _ in range(10):
            assert w.names["numbers"](1, 2) == 3
        assert w.names["numbers"](np.ones(2), 2).tolist() == [3.0, 3.0]
    assert w.nodes("numbers") == 1


def test_functions_that_bcjit_disables_or_compiles_are_left_to_it():
    with watched() as w:
        compiled = bcjit.compile(w.names["step"])
        off = bcjit.disable(w.names["numbers"])
        x = np.arange(3.0)
        assert compiled(x, 1).tolist() == w.names["step"](x, 1).tolist() == [1.0, 2.0, 3.0]
        assert off(x, 1).tolist() == [1.0, 2.0, 3.0]
    assert compiled.graphs
    assert w.report.functions == {}


def test_a_compiled_function_that_a_captured_one_calls_keeps_its_backend():
    seen = []

    def mine(graph, examples):
        seen.append(graph.count)
        return graph.to_callable()

    with watched() as w:
        w.names["numbers"] = bcjit.compile(w.names["numbers"], backend=mine)
        source = "def caller(x):\n  y = x * 2\n  return numbers(y, 1) - 1\n"
        exec(compile(source, "watched.py", "exec"), w.names)
        for n in range(2, 5):
            assert w.names["caller"](np.ones(n)).tolist() == [2.0] * n
    assert seen == [1]
    assert w.nodes("caller") == 2


def test_a_backend_that_fails_leaves_the_function_plain():
    def failing(graph, examples):
        raise RuntimeError("no")

    register_backend("failing_in_a_script", failing)
    try:
        with watched("failing_in_a_script") as w:
            with pytest.raises(BackendError):
                w.names["step"](np.ones(2), 1)
            config.strict = False
            for _ in range(3):
                assert w.names["outer"](np.ones(2))(1).tolist() == [2.0, 2.0]
        assert any("failing_in_a_script" in why for why in w.report.plain.values())
    finally:
        del _registered["failing_in_a_script"]


def test_a_bug_in_the_choice_runs_the_frame_plain(monkeypatch):
    def wrong(code, function):
        if code.co_name == "step":
            raise LookupError("a bug")
        return False

    names = {"__name__": "bcjit.wrong", "LookupError": LookupError}
    wrong = types.FunctionType(wrong.__code__, names)
    monkeypatch.setattr(whole_script, "is_eligible", wrong)
    with watched() as w:
        with pytest.raises(InternalError, match="choosing step"):
            w.names["step"](np.ones(2), 1)
        config.strict = False
        for _ in range(3):
            assert w.names["step"](np.ones(2), 1).tolist() == [2.0, 2.0]


# ---- the policy --------------------------------------------------------------------------------------


class Holder:
    """Holds arrays, or not, in its attributes."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


class Slots:
    """The same in slots."""

    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Hostile:
    """Every question it is asked runs its code."""

    def __getattribute__(self, name):
        raise AssertionError(name)

    @property
    def __class__(self):
        raise AssertionError("class")


def test_what_shows_arrays():
    def f(x):
        return x

    def shows(*values):
        return shows_arrays(f.__code__, f, values)

    for value in (
        np.ones(2),
        np.float64(1),
        np.float32,
        np.sin,
        np,
        [1, np.ones(2)],
        (np.ones(2),),
        {"a": np.ones(2)},
        Holder(w=np.ones(2)),
        Slots(np.int8(1)),
        np.ones(2).view(np.matrix) if hasattr(np, "matrix") else np.ones(2),
    ):
        assert shows(1, value), value
    materialised = Holder(w=np.ones(2))
    assert vars(materialised)
    assert shows(materialised)
    for value in (
        1,
        1.5,
        "x",
        None,
        [1] * 5,
        {},
        (),
        set(),
        Holder(a=1),
        Slots("x"),
        Hostile(),
        f,
        json,
        int,
    ):
        assert not shows(value), value


def test_globals_cells_and_inner_code_show_arrays():
    def by_global():
        return np.ones(1)

    def by_inner():
        return [lambda: np.ones(1)]

    w = np.ones(2)

    def by_cell():
        return w

    def empty_cell():
        return later  # noqa: F821 - deleted below

    assert not shows_arrays(empty_cell.__code__, empty_cell, ())
    later = 1
    assert shows_arrays(by_cell.__code__, by_cell, ())
    for f in (by_global, by_inner):
        assert shows_arrays(f.__code__, f, ())
        assert not shows_arrays(f.__code__, types.FunctionType(f.__code__, {}), ())
    del later


def test_what_is_eligible():
    def eligible(function, **changes):
        code = function.__code__.replace(**changes)
        return is_eligible(code, function)

    def mine():
        return 1

    assert eligible(mine)
    assert eligible(hypothesis.given)
    assert not eligible(pytest.importorskip)
    assert eligible(mine, co_filename="<string>")
    assert not eligible(json.dumps)
    assert not eligible(random.Random.shuffle)
    assert not eligible(np.testing.assert_equal)
    assert not eligible(bcjit.compile)
    assert not eligible(whole_script.run)
    for module, expected in (("__main__", True), ("collections", False), ("bcjit.graph", False)):
        made = types.FunctionType(mine.__code__, {"__name__": module})
        assert is_eligible(mine.__code__.replace(co_filename="<string>"), made) is expected
    frozen = sys.modules["importlib._bootstrap"]._find_spec
    assert not is_eligible(frozen.__code__, frozen)
