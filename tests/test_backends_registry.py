"""Backends by name and as callables; what is wrong is said in one sentence."""

from __future__ import annotations

import importlib.metadata
import io
from functools import cache
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from bcjit import backends, ops
from bcjit.backends import choice, registry
from bcjit.errors import ArgumentError, ArgumentTypeError, BackendError, BackendNotFoundError
from bcjit.fx_graph import Graph
from bcjit.logs import forget_once
from bcjit.meta import ArrayMeta

VECTOR = ArrayMeta((3,), np.dtype(float))


def sample_graph():
    graph = Graph()
    x = graph.input("x", VECTOR)
    graph.output((graph.call(np.add, (x, 1.0), meta=VECTOR),))
    return graph


def mine(graph, example_inputs):
    return graph.to_callable()


@pytest.fixture(autouse=True)
def _own_tables(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(registry, "_loaded", {})


@pytest.fixture
def entry_points(monkeypatch):
    entries = []
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda *, group: entries)

    def add(name, value):
        entries.append(EntryPoint(name, value, registry.ENTRY_POINTS))

    return add


@pytest.mark.parametrize("name", ["auto", "eager", "fused", "native", "print"])
def test_builtin_backend_runs_the_graph(name, capsys):
    x = np.arange(3.0)
    (result,) = backends.get_backend(name)(sample_graph(), (x,))(x)
    assert result.tolist() == [1.0, 2.0, 3.0]


def test_registered_backend_is_listed_and_found():
    backends.register_backend("mine", mine)
    assert backends.list_backends() == ["auto", "eager", "fused", "mine", "native", "print"]
    assert backends.get_backend("mine") is mine
    assert backends.backend_name(mine) == "mine"


def test_registering_again_replaces():
    backends.register_backend("mine", backends.eager)
    backends.register_backend("mine", mine)
    assert backends.get_backend("mine") is mine


def test_callable_is_its_own_backend():
    assert backends.get_backend(mine) is mine
    assert backends.backend_name(mine) == "mine"


def kernels_of(backend):
    x = np.ones(3)
    graph = Graph()
    node = graph.input("x", VECTOR)
    inner = graph.call(np.add, (node, 1.0), meta=VECTOR, op=ops.lookup(np.add))
    graph.output((graph.call(np.multiply, (inner, node), meta=VECTOR, op=ops.lookup(np.multiply)),))
    function = backends.run_backend(backends.get_backend(backend), graph, (x,))
    np.testing.assert_array_equal(function(x)[0], [2, 2, 2])
    return getattr(function, "kernels", 0)


def test_auto_is_native_where_llvm_is():
    pytest.importorskip("llvmlite")
    assert kernels_of("auto") == kernels_of("native") == 1
    assert backends.backend_name(backends.get_backend("native")) == "native"


@pytest.mark.parametrize("problem", ["missing", "broken"])
def test_auto_is_eager_where_llvm_cannot_be_used(monkeypatch, caplog, problem):
    if problem == "missing":
        monkeypatch.setattr(choice, "has_llvm", lambda: False)
    else:
        monkeypatch.setattr(choice, "has_llvm", cache(lambda: True))
        monkeypatch.setattr("bcjit.backends.native.backend.NATIVE", LLVM["broken"])
        forget_once()
    assert kernels_of("auto") == 0
    assert len(caplog.messages) == (problem == "broken")


LLVM = {"__name__": "llvmlite.binding"}
exec("def broken(graph, example_inputs):\n    raise OSError('no such library')", LLVM)


@pytest.mark.parametrize("name", ["auto", "native"])
def test_what_others_raise_in_the_middle_goes_on(monkeypatch, name):
    pytest.importorskip("llvmlite")

    def handler(graph, example_inputs):  # as a signal's might
        raise TimeoutError("too late")

    monkeypatch.setattr("bcjit.backends.native.backend.NATIVE", handler)
    with pytest.raises(BackendError, match="too late"):
        kernels_of(name)


@pytest.mark.parametrize("name", ["auto", "native"])
def test_a_mistake_of_ours_leaves_a_graph_to_numpy(monkeypatch, caplog, name):
    pytest.importorskip("llvmlite")
    forget_once()
    monkeypatch.setattr("bcjit.backends.native.backend.NATIVE", LLVM["broken"])
    assert kernels_of(name) == 0
    assert len(caplog.messages) == 1
    monkeypatch.setattr(choice.config, "strict", True)
    with pytest.raises(BackendError, match="no such library"):
        kernels_of(name)


def test_unknown_name_lists_names_and_close_matches():
    with pytest.raises(BackendNotFoundError) as caught:
        backends.get_backend("eagr")
    assert caught.value.known == ("auto", "eager", "fused", "native", "print")
    assert caught.value.similar == ("eager",)


@pytest.mark.parametrize("wrong", [None, 3, ["eager"]])
def test_wrong_kind_of_backend_says_what_is_expected(wrong):
    with pytest.raises(
        ArgumentTypeError,
        match=r"backend: a name \(auto, eager, fused, native, print\) or a callable",
    ):
        backends.get_backend(wrong)


@pytest.mark.parametrize(
    ("name", "backend", "error", "says"),
    [
        (3, mine, ArgumentTypeError, "name: a string is expected, got int: 3"),
        ("a b", mine, ArgumentError, "name: an identifier is expected .* got 'a b'"),
        ("", mine, ArgumentError, "name: an identifier is expected"),
        ("eager", mine, ArgumentError, "'eager' is a built-in backend"),
        ("mine", "eager", ArgumentTypeError, "backend: a callable .* got str: 'eager'"),
    ],
)
def test_wrong_registration_says_why(name, backend, error, says):
    with pytest.raises(error, match=says):
        backends.register_backend(name, backend)
    assert backends.list_backends() == ["auto", "eager", "fused", "native", "print"]


def test_entry_point_is_listed_without_import_and_loaded_on_use(entry_points):
    entry_points("theirs", "bcjit.backends.eager:eager")
    entry_points("broken", "no_such_module_of_anyone:backend")
    assert backends.list_backends() == [
        "auto",
        "broken",
        "eager",
        "fused",
        "native",
        "print",
        "theirs",
    ]
    assert backends.get_backend("theirs") is backends.eager


def test_entry_point_that_cannot_be_imported_is_named(entry_points):
    entry_points("broken", "no_such_module_of_anyone:backend")
    with pytest.raises(
        BackendError, match=r"'broken' \(no_such_module_of_anyone:backend\) cannot be"
    ):
        backends.get_backend("broken")


def test_entry_point_that_is_no_callable_is_named(entry_points):
    entry_points("constant", "bcjit.backends.registry:ENTRY_POINTS")
    with pytest.raises(BackendError, match="is str, not a callable"):
        backends.get_backend("constant")


def test_registered_backend_wins_over_an_entry_point(entry_points):
    entry_points("mine", "bcjit.backends.eager:eager")
    backends.register_backend("mine", mine)
    assert backends.get_backend("mine") is mine


def failing(graph, example_inputs):
    raise KeyError("k")


def nothing(graph, example_inputs):
    return None


def refusing(graph, example_inputs):
    raise BackendError("refusing", "refuses")


@pytest.mark.parametrize(
    ("backend", "says"),
    [
        (failing, "backend 'failing' raised KeyError: 'k';"),
        (nothing, "backend 'nothing' returned NoneType instead of a callable;"),
        (refusing, "backend 'refusing' refuses;"),
    ],
)
def test_backend_that_fails_is_a_backend_error(backend, says):
    with pytest.raises(BackendError, match=says):
        backends.run_backend(backend, sample_graph(), ())


def test_cause_of_a_failed_backend_is_kept():
    with pytest.raises(BackendError) as caught:
        backends.run_backend(failing, sample_graph(), ())
    assert type(caught.value.__cause__) is KeyError


def test_run_backend_returns_the_callable():
    x = np.zeros(3)
    (result,) = backends.run_backend(mine, sample_graph(), (x,))(x)
    assert result.tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("outputs", "says"),
    [
        ([1], "returned list instead of a tuple"),
        ((), "returned 0 outputs instead of 1"),
        ((1, 2), "returned 2 outputs instead of 1"),
    ],
)
def test_wrong_outputs_are_a_backend_error(outputs, says):
    with pytest.raises(BackendError, match=says):
        backends.check_outputs(mine, sample_graph(), outputs)


def test_right_outputs_pass():
    outputs = (np.zeros(3),)
    assert backends.check_outputs(mine, sample_graph(), outputs) is outputs


def test_print_backend_prints_once_when_captured(capsys):
    graph = sample_graph()
    compiled = backends.get_backend("print")(graph, ())
    assert capsys.readouterr().out == graph.text() + "\n"
    compiled(np.zeros(3))
    assert capsys.readouterr().out == ""


def test_print_backend_prints_to_a_stream_of_choice(capsys):
    stream = io.StringIO()
    graph = sample_graph()
    backends.PrintBackend(stream)(graph, ())
    assert stream.getvalue() == graph.text() + "\n"
    assert capsys.readouterr().out == ""
