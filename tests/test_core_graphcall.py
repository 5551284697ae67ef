"""GraphCall: the error state it sets, what it makes of exceptions, and that it leaves nothing behind."""

from __future__ import annotations

import contextvars
import gc
import sys
import traceback
import warnings
import weakref

import numpy as np
import pytest
from numpy._core.umath import _extobj_contextvar, _get_extobj_dict, _make_extobj

from bcjit import _core


def raising(state):
    """Map a NumPy error state to one that raises whatever it does not ignore; None: it ignores all."""
    kinds = {
        k: v for k, v in _get_extobj_dict().items() if k in {"divide", "over", "under", "invalid"}
    }
    wanted = {k: "ignore" if v == "ignore" else "raise" for k, v in kinds.items()}
    return None if wanted == kinds else _make_extobj(**wanted)


@pytest.fixture
def mapped():
    """Set the mapper; ``.states`` are the states it was asked about."""

    def mapper(state):
        mapper.states.append(state)
        return raising(state)

    mapper.states = []
    _core.set_error_state_mapper(_extobj_contextvar, mapper)
    yield mapper
    _core.set_error_state_mapper(None, None)


def test_graph_call_passes_arguments_and_results():
    call = _core.GraphCall(lambda *args, **kwargs: (args, kwargs), "tag")
    assert call(1, 2, k=3) == ((1, 2), {"k": 3})
    assert call.tag == "tag"
    with pytest.raises(TypeError, match="fn must be callable, not int"):
        _core.GraphCall(5, None)


def test_graph_raises_where_numpy_would_warn(mapped):
    one, zero = np.ones(1), np.zeros(1)
    call = _core.GraphCall(np.divide, None)
    with pytest.raises(_core.BailOut) as caught:
        call(one, zero)
    assert type(caught.value.exception) is FloatingPointError
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.divide(one, zero)
    assert call(one, one) == 1


def test_what_is_ignored_stays_ignored(mapped):
    one, zero = np.ones(1), np.zeros(1)
    call = _core.GraphCall(np.divide, None)
    with np.errstate(divide="ignore"):
        assert call(one, zero) == np.inf
        with pytest.raises(_core.BailOut):
            call(zero, zero)
    with np.errstate(all="ignore"):
        assert call(one, zero) == np.inf
        assert np.isnan(call(zero, zero))
    with np.errstate(all="raise"), pytest.raises(_core.BailOut):
        call(one, zero)


def test_error_state_is_as_before_after_success_and_failure(mapped):
    call = _core.GraphCall(lambda fail: 1 / 0 if fail else np.geterr(), None)
    for settings in ({}, {"all": "ignore"}, {"divide": "ignore", "over": "raise"}):
        with np.errstate(**settings):
            before = np.geterr(), _extobj_contextvar.get()
            inside = call(False)
            assert inside == {k: v if v == "ignore" else "raise" for k, v in before[0].items()}
            assert (np.geterr(), _extobj_contextvar.get()) == before
            with pytest.raises(_core.BailOut):
                call(True)
            assert (np.geterr(), _extobj_contextvar.get()) == before


@pytest.mark.parametrize("outside", [{}, {"over": "raise"}])
def test_what_else_a_graph_does_to_its_context_stays(mapped, outside):
    """Tables of variables are exchanged; here they are not those that were put in place."""
    other = contextvars.ContextVar("other")

    def graph(what):
        inside = np.geterr()
        if what == "set":
            other.set(what)
        elif what == "errstate":
            with np.errstate(all="ignore"):
                pass
        elif what == "left":
            np.seterr(all="ignore")
        elif what == "reset":
            other.reset(token)
        return inside, contextvars.copy_context().get(_extobj_contextvar)

    def run():
        nonlocal token
        with np.errstate(**outside):
            call = _core.GraphCall(graph, None)
            before = np.geterr(), contextvars.copy_context().get(_extobj_contextvar)
            for what in ("", "set", "", "errstate", "left", "set", "left", "reset", "", ""):
                if what == "reset":
                    token = other.set("outside")
                inside, state = call(what)
                assert set(inside.values()) == {"ignore", "raise"}
                assert state is not before[1]
                now = np.geterr(), contextvars.copy_context().get(_extobj_contextvar)
                assert now == before
                if what == "set":
                    assert other.get() == "set"
                if what == "reset":
                    assert other.get() == "set"

    token = None
    contextvars.Context().run(run)
    contextvars.copy_context().run(run)


def test_variables_of_a_context_die_as_ever(mapped):
    class Held:
        pass

    call = _core.GraphCall(lambda: None, None)
    other = contextvars.ContextVar("other")
    held = Held()
    ref = weakref.ref(held)

    def run(value):
        call()
        other.set(value)
        call()
        call()

    contextvars.Context().run(run, held)
    del held
    assert ref() is None


def test_a_graph_in_a_context_inside_another_graph(mapped):
    def graph(inner):
        contextvars.ContextVar("other").set(1)
        inner()

    call = _core.GraphCall(graph, None)
    before = np.geterr()
    call(lambda: contextvars.Context().run(lambda: call(np.geterr)))
    assert np.geterr() == before


def test_mapper_is_asked_once_for_a_state(mapped):
    call = _core.GraphCall(lambda: None, None)
    for _ in range(5):
        call()
    assert len(mapped.states) == 1
    with np.errstate(over="raise"):
        for _ in range(5):
            call()
    assert len(mapped.states) == 2
    call()
    assert len(mapped.states) == 3


def test_unset_variable_without_default_is_none():
    var = contextvars.ContextVar("var")
    seen = []

    def mapper(state):
        seen.append(state)
        return "raising"

    _core.set_error_state_mapper(var, mapper)
    try:
        assert _core.GraphCall(var.get, None)() == "raising"
        assert var.get("unset") == "unset"
        var.set("set")
        assert _core.GraphCall(var.get, None)() == "raising"
        assert var.get() == "set"
        assert seen == [None, "set"]
        _core.set_error_state_mapper(var, lambda state: None)
        assert _core.GraphCall(var.get, None)() == "set"
    finally:
        _core.set_error_state_mapper(None, None)


def test_error_of_the_mapper_is_not_hidden():
    def mapper(state):
        raise LookupError("mapper")

    _core.set_error_state_mapper(_extobj_contextvar, mapper)
    try:
        with pytest.raises(LookupError, match="mapper"):
            _core.GraphCall(lambda: 1, None)()
    finally:
        _core.set_error_state_mapper(None, None)


def test_mapper_arguments_are_checked():
    for wrong in [
        (5, len),
        (_extobj_contextvar, 5),
        (None, len),
        (_extobj_contextvar, len, 5),
    ]:
        with pytest.raises(TypeError, match="takes a ContextVar and callables"):
            _core.set_error_state_mapper(*wrong)


def test_graph_that_refuses_warnings_has_a_mapper_of_its_own():
    var = contextvars.ContextVar("var", default="unset")
    _core.set_error_state_mapper(var, lambda state: "raising", lambda state: None)
    try:
        refusing = _core.GraphCall(var.get, None, refuses_warnings=True)
        other = _core.GraphCall(var.get, None)
        assert (refusing.refuses_warnings, other.refuses_warnings) == (True, False)
        assert [refusing(), other(), refusing(), other()] == ["unset", "raising"] * 2
        _core.set_error_state_mapper(var, lambda state: "all")
        assert [refusing(), other()] == ["all", "all"]
    finally:
        _core.set_error_state_mapper(None, None)


def test_exception_becomes_a_bail_out_with_its_own_traceback():
    def graph(x):
        return deeper(x)

    def deeper(x):
        raise ValueError(x)

    call = _core.GraphCall(graph, None)
    for _ in range(2):
        with pytest.raises(_core.BailOut) as caught:
            call(5)
        bail = caught.value
        assert (type(bail.exception), bail.exception.args) == (ValueError, (5,))
        assert bail.exception is bail.__cause__
        assert bail.call is call
        names = [f.name for f in traceback.extract_tb(bail.exception.__traceback__)]
        assert names == ["graph", "deeper"]


def test_one_exception_object_raised_often_keeps_a_short_traceback():
    error = ValueError("the same object")

    def graph():
        raise error.with_traceback(None)

    call = _core.GraphCall(graph, None)
    for _ in range(5):
        with pytest.raises(_core.BailOut):
            call()
    assert len(traceback.extract_tb(error.__traceback__)) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, _core.BailOut])
def test_base_exceptions_pass_unchanged(error, mapped):
    raised = error()

    def graph():
        raise raised

    before = _extobj_contextvar.get()
    with pytest.raises(error) as caught:
        _core.GraphCall(graph, None)()
    assert caught.value is raised
    assert _extobj_contextvar.get() is before


def test_warnings_of_a_graph_are_left_to_python():
    def graph():
        warnings.warn("from the graph", UserWarning, stacklevel=1)
        return 1

    call = _core.GraphCall(graph, None)
    with pytest.warns(UserWarning, match="from the graph"):
        assert call() == 1


def test_bail_out_and_graph_call_die_together():
    class Tag:
        pass

    tag = Tag()
    ref = weakref.ref(tag)

    def graph():
        raise ValueError

    call = _core.GraphCall(graph, tag)
    try:
        call()
    except _core.BailOut as bail:
        bail.cycle = bail
        tag.call = call
    del call, tag, graph
    gc.collect()
    assert ref() is None


def test_bail_out_is_no_exception_that_users_catch():
    assert _core.BailOut.__bases__ == (BaseException,)
    bail = _core.BailOut()
    assert (bail.call, bail.exception) == (None, None)


def test_context_of_the_handled_exception_is_not_touched():
    call = _core.GraphCall(lambda: 1 / 0, None)
    try:
        raise KeyError("handled")
    except KeyError as handled:
        with pytest.raises(_core.BailOut):
            call()
        assert sys.exc_info()[1] is handled
        assert handled.__context__ is None
