"""`bcjit.check`: what is right is called right, and backends that are wrong on purpose lead to the node they get wrong."""

from __future__ import annotations

import dataclasses
import doctest
import functools
import itertools
import operator
import random
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from corpus import ENTRIES

import bcjit
from bcjit import debugging
from bcjit.debugging.compare import differences, text_of
from bcjit.fx_graph import Interpreter, Node, NodeKind


class Wrong(Interpreter):
    """Runs graphs node by node, and gets some calls wrong."""

    def run_node(self, node, args, kwargs):
        value = super().run_node(node, args, kwargs)
        return self.spoil(node, args, value) if node.kind is NodeKind.CALL else value


def wrong(spoil):
    """Return a backend that gives what `spoil` makes of the value of each call."""
    kind = type("Wrong", (Wrong,), {"spoil": lambda _self, *args: spoil(*args)})
    return lambda graph, _examples: lambda *inputs: kind(graph).run(*inputs)


def spoils(target, change):
    return wrong(lambda node, _args, value: change(value) if node.target is target else value)


def three_steps(x, y):
    a = x * 2.0
    b = np.sin(a)
    return b + y


X, Y = np.arange(4.0), np.ones(4)


@pytest.mark.parametrize("backend", [None, "auto", "eager", wrong(lambda _n, _a, value: value)])
def test_what_is_right_is_equal(backend):
    result = bcjit.check(three_steps, X, Y, backend=backend)
    assert result
    assert result.equal
    assert result.repeatable
    assert result.node is None
    assert result.differences == ()
    assert "equal" in str(result)
    assert "1 graph with 3 calls" in str(result)


def test_wrong_call_is_named_with_its_line_and_both_values():
    result = bcjit.check(three_steps, X, Y, backend=spoils(np.sin, lambda v: v + 1.0))
    assert not result
    assert result.repeatable
    assert result.node.target is np.sin
    assert result.line.lineno == three_steps.__code__.co_firstlineno + 2
    assert np.array_equal(result.plain, np.sin(X * 2.0))
    assert np.array_equal(result.compiled, np.sin(X * 2.0) + 1.0)
    text = str(result)
    assert "three_steps: differs" in text
    assert "when it is captured:" in text
    assert "the result: 4 of 4 elements differ, first the result[0]" in text
    assert "first node that differs: sin at test_debugging_check.py:" in text
    assert "b = np.sin(a)" in text
    assert result.turns == ()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda v: v.astype(np.float32), "dtype is float64 plain, float32 compiled"),
        (lambda v: np.repeat(v, 2)[::2], "strides is (8,) plain, (16,) compiled"),
        (lambda v: v[:3], "shape is (4,) plain, (3,) compiled"),
        (lambda v: np.copysign(v, -1.0), "2 of 4 elements differ"),
        (list, "ndarray"),
    ],
)
def test_dtype_layout_shape_sign_and_kind_are_compared(change, says):
    result = bcjit.check(lambda x: np.abs(x) * 1.0, np.array([0.0, -1.0, -0.0, 2.0]) * 0.0, backend=spoils(operator.mul, change))  # fmt: skip
    assert not result
    assert result.node.target is operator.mul
    if change is not list:
        assert says in str(result) or "elements differ" in str(result)


def test_lost_write_is_named():
    def fill(x, y):
        x[1:] = 7.0
        return x + y

    def losing(graph, _examples):
        for node in graph.calls:
            if node.target is operator.setitem:
                graph.set_operands(node, (*node.args[:1], slice(0, 0), 0.0))
        return graph.to_callable()

    x = np.zeros(3)
    result = bcjit.check(fill, x, x, backend=losing)
    assert not result
    assert result.node.target is operator.setitem
    assert result.line.lineno == fill.__code__.co_firstlineno + 1
    assert result.plain.tolist() == [0.0, 7.0, 7.0]
    assert x.tolist() == [0.0, 0.0, 0.0]  # only copies are written


def test_backend_that_raises_is_named_although_plain_python_does_the_work():
    def refuse(node, _args, value):
        if node.target is np.sin:
            raise RuntimeError("no sine here")
        return value

    with bcjit.config.override(strict=False):
        result = bcjit.check(three_steps, X, Y, backend=wrong(refuse))
    assert result.equal
    assert result.node.target is np.sin
    assert "no sine here" in str(result)


def test_backend_that_cannot_compile_a_call_is_named():
    def picky(graph, _examples):
        if any(node.target is np.sin for node in graph.calls):
            raise ValueError("cannot do sines")
        return graph.to_callable()

    result = bcjit.check(three_steps, X, Y, backend=picky)
    assert not result.equal
    assert result.node.target is np.sin
    assert "plain returns float64[4]" in str(result)
    assert "compiled raises BackendError" in str(result)


def test_wrong_turn_of_a_loop_is_told():
    def decay(x, n):
        for _ in range(n):
            x = x * 0.5
            x = x + 1.0
        return x

    third = wrong(lambda n, args, v: v + 1.0 if n.target is operator.add and args[0][0] == 0.75 else v)  # fmt: skip
    with bcjit.config.override(unroll_limit=0):
        result = bcjit.check(decay, np.zeros(2), 5, backend=third)
    assert not result
    assert result.node.target is operator.add
    assert result.turns == (2,)
    assert result.line.lineno == decay.__code__.co_firstlineno + 3
    assert "turn 2 of its loop" in str(result)


def test_wrong_side_of_a_branch_in_a_loop_is_told():
    def zigzag(x, n):
        i = 0
        while i < n:
            if x[0] > 1.0:
                x = x - 3.0
            else:
                x = x * 2.0
            i += 1
        return x

    with bcjit.config.override(unroll_limit=0):
        result = bcjit.check(zigzag, np.array([0.4, 1.0]), 4, backend=spoils(operator.sub, lambda v: v - 1))  # fmt: skip
    assert result.node.target is operator.sub
    assert result.turns == (2,)


def test_calls_that_are_wrong_only_together_are_told():
    def fusing(graph, _examples):
        run = graph.to_callable()
        targets = [node.target for node in graph.calls]
        fused = np.sin in targets and operator.mul in targets
        return lambda *inputs: tuple(np.add(v, 1.0) for v in run(*inputs)) if fused else run(*inputs)  # fmt: skip

    result = bcjit.check(three_steps, X, Y, backend=fusing)
    assert result.node.target is np.sin
    assert "wrong with the calls in front of it" in str(result)


def test_wrong_pass_is_told(monkeypatch):
    from bcjit.debugging import replay  # noqa: PLC0415 - to break it

    def breaking(graph):
        for node in graph.calls:
            if node.target is np.sin:
                node.target = np.cos

    monkeypatch.setattr(replay, "optimize", breaking)
    monkeypatch.setattr("bcjit.compiler.entry.optimize", breaking)
    result = bcjit.check(three_steps, X, Y, backend="eager")
    assert not result
    assert "passes" in str(result)


def test_fault_around_the_graphs_blames_no_node(monkeypatch):
    from bcjit.debugging import checking as module  # noqa: PLC0415 - to break it

    real = module.compile_function
    monkeypatch.setattr(module, "compile_function", lambda _fn, **options: real(other, **options))

    def other(x, y):
        return three_steps(x, y) + 1.0

    result = bcjit.check(three_steps, X, Y)
    assert not result
    assert result.node is None
    assert "BCJIT_DUMP" in str(result)


def test_part_that_is_compiled_wrongly_is_told(monkeypatch):
    from bcjit.compiler import entry as module  # noqa: PLC0415 - to break it

    def parts(x):
        y = x + 1.0
        bcjit.graph_break()
        z = y * 2.0
        bcjit.graph_break()
        return z.sum(), 77_000  # no small int, which 3.14 has in the instruction

    real = module.build_residual

    def wrongly(*args):
        made = real(*args)
        consts = tuple(78_000 if value == 77_000 else value for value in made.code.co_consts)
        return dataclasses.replace(made, code=made.code.replace(co_consts=consts))

    monkeypatch.setattr(module, "build_residual", wrongly)
    result = bcjit.check(parts, X)
    assert not result
    assert result.node is None
    line = parts.__code__.co_firstlineno + 4
    assert f"The rest of the function that begins at test_debugging_check.py:{line} is" in str(
        result
    )


def test_what_is_not_repeatable_is_told_and_nothing_is_blamed():
    numbers = itertools.count()

    def counts(x):
        return x + next(numbers)

    result = bcjit.check(counts, X)
    assert not result.equal
    assert not result.repeatable
    assert result.node is None
    assert str(result).startswith(f"{counts.__qualname__}: not repeatable")
    assert "is in the first run, " in str(result)
    assert "compiled" not in str(result)


def test_what_both_runs_raise_is_told_and_that_no_graph_was_compared():
    def f(x, y):
        return x + y

    result = bcjit.check(f, X)
    assert result
    missing = f"{f.__qualname__}() missing 1 required positional argument: 'y'"
    assert result.reason == f"both raise TypeError: {missing}\nno graph was compared: none was captured"  # fmt: skip


def test_backend_whose_graph_is_wrong_only_at_times_is_not_a_fault_of_ours():
    def fickle(graph, examples):
        run, calls = graph.to_callable(), itertools.count(1)
        return lambda *inputs: tuple(v + (next(calls) == 2) for v in run(*inputs))

    result = bcjit.check(lambda x: x * 2.0, X, backend=fickle)
    assert not result
    assert result.node is not None
    assert result.node.kind is NodeKind.OUTPUT
    assert "what it makes of the whole graph does not" in result.reason
    assert "report this" not in str(result)


def test_bits_of_numbers_that_look_the_same_are_shown():
    (sentence,) = differences([("n", float("nan"), -float("nan"))])
    assert sentence == "n: nan is plain, nan is compiled (bytes 000000000000f87f and 000000000000f8ff)"  # fmt: skip


def test_worlds_are_equal_and_the_callers_stays_as_it_was():
    """Writes, aliases, printed text, warnings, random streams, exceptions, attributes: all are as in plain Python."""

    class Holder:
        def __init__(self, buffer):
            self.buffer = buffer
            self.row = buffer[0]

        def step(self, x, *, rng):
            self.row += x
            print(self.buffer.sum())
            warnings.warn("once", stacklevel=2)
            noise = rng.normal(size=2) + np.random.rand(2) * random.random()  # noqa: NPY002 - the global stream
            if noise[0] > 99.0:
                return None
            self.last = noise
            return self.row, np.float32(1.0) / np.float32(0.0)

    buffer = np.zeros((2, 2))
    holder = Holder(buffer)
    rng = np.random.default_rng(3)
    state = rng.bit_generator.state
    with np.errstate(divide="warn"):
        result = bcjit.check(holder.step, buffer[0], rng=rng)
    assert result, str(result)
    assert not buffer.any()
    assert not hasattr(holder, "last")
    assert rng.bit_generator.state == state


class Hostile(type):
    def __getattribute__(cls, name):
        if name in {"__mro__", "__module__", "__qualname__", "__dict__"}:
            raise RuntimeError("outside of its context")
        return super().__getattribute__(name)


class Unbound(metaclass=Hostile):
    """As a proxy that stands for nothing yet."""

    def __getattribute__(self, name):
        if name in {"__dict__", "__deepcopy__"}:
            return object.__getattribute__(self, name)
        raise RuntimeError("outside of its context")

    def __deepcopy__(self, memo):
        return object.__new__(Unbound)


class Odd(Exception):  # noqa: N818
    def __str__(self):
        raise RuntimeError("outside of its context")


def test_no_code_of_the_program_is_run_by_the_comparison():
    proxy = Unbound()
    assert list(differences([("the value", proxy, proxy)])) == []
    one, two = [object.__new__(Unbound) for _ in range(2)]
    one.__dict__["held"], two.__dict__["held"] = 1, 2
    (sentence,) = differences([("the value", one, two)])
    assert sentence == "the value.held: 1 is plain, 2 is compiled"
    (sentence,) = differences([("the value", (proxy,), 3)])
    assert "(<Unbound>,)" in sentence
    assert text_of(Odd("said")) == "'said'"
    assert text_of(ValueError(proxy)) == "<Unbound>"


@pytest.mark.parametrize("place", ["argument", "result", "exception"])
def test_values_whose_class_cannot_be_asked_for_are_compared(place):
    def f(x, proxy, place):
        if place == "exception":
            raise Odd(proxy, x)
        return proxy if place == "result" else x * 2.0

    result = bcjit.check(f, X, Unbound(), place)
    assert result, str(result)


def test_numbers_and_text_of_classes_of_the_program_are_compared():
    class Count(int):
        __slots__ = ()

    (sentence,) = differences([("n", Count(1), Count(2))])
    assert (
        sentence.replace(Count.__qualname__, "Count")
        == "n: Count(1) is plain, Count(2) is compiled"
    )


@pytest.mark.parametrize("entry", ENTRIES[::40], ids=lambda entry: entry.name)
def test_functions_of_every_kind_are_equal(entry):
    world = entry.make()
    positional, keyword = world.calls[0]()
    with bcjit.config.override(strict=True):
        result = bcjit.check(world.fn, *positional, backend="eager", **keyword)
    assert result or not result.repeatable, str(result)


def test_backend_that_breaks_its_contract_is_not_our_fault():
    def writes(x):
        x += 1.0
        return np.log(x - 1.0)

    def careless(graph, _examples):
        run = graph.to_callable()
        return lambda *inputs: run(*inputs)

    with np.errstate(divide="warn"):
        result = bcjit.check(writes, np.zeros(2), backend=careless)
    assert not result
    assert "cannot be told how far it came" in str(result)
    assert "report" not in str(result)


def test_modules_among_the_arguments_stay_themselves():
    assert bcjit.check(lambda module, x: module.sin(x), np, X)


def test_exceptions_are_compared_with_their_tracebacks():
    def fails(x):
        y = x + 1.0
        return y[7]

    assert bcjit.check(fails, np.ones(2))


@pytest.mark.parametrize("how", ["compiled", "partial", "instance", "bound", "builtin", "class"])
def test_any_callable_can_be_checked(how):
    class Adds:
        def __init__(self, k=1.0):
            self.k = k

        def __call__(self, x):
            return x + self.k

    def add(k, x):
        return x + k

    fn, args = {
        "compiled": (bcjit.compile(add, backend=spoils(operator.add, lambda v: v + 1)), (1.0, X)),
        "partial": (functools.partial(add, 1.0), (X,)),
        "instance": (Adds(), (X,)),
        "bound": (bcjit.compile(Adds().__call__), (X,)),
        "builtin": (np.add, (X, 1.0)),
        "class": (Adds, (1.0,)),
    }[how]
    result = bcjit.check(fn, *args)
    assert bool(result) is (how != "compiled")  # whose own backend is taken
    if how in ("builtin", "class"):
        assert "runs as plain Python" in str(result)


def test_wrong_arguments_are_named():
    with pytest.raises(bcjit.errors.ArgumentTypeError, match="fn: a function is expected, got int"):
        bcjit.check(3)
    with pytest.raises(bcjit.errors.BackendNotFoundError):
        bcjit.check(three_steps, X, Y, backend="egaer")
    with pytest.raises(bcjit.errors.ArgumentError, match="an argument cannot be copied"):
        bcjit.check(len, (i for i in ()))


def test_node_is_one_of_the_graph():
    result = bcjit.check(three_steps, X, Y, backend=spoils(np.sin, lambda v: v * 2))
    assert isinstance(result.node, Node)


def test_page_on_debugging_says_what_is_printed(tmp_path):
    text = (Path(__file__).parents[1] / "docs" / "debugging.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (expected,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    (tmp_path / "example.py").write_text(program)
    done = subprocess.run(
        [sys.executable, tmp_path / "example.py"], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (expected, "")


def test_examples_of_docstrings_run():
    assert doctest.testmod(debugging) == (0, 4)
