"""Exceptions carry their facts, say them in sentences, and stand in the right branch."""

from __future__ import annotations

import pickle

import pytest

from bcjit import errors
from bcjit.errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendError,
    BackendNotFoundError,
    BcjitError,
    BreakReason,
    GraphBreak,
    GraphBreakError,
    InternalError,
    SourceLine,
    UsageError,
)

LINE = SourceLine("/home/user/model.py", 31, "step")
REASON = BreakReason(
    "BRK014", "data-dependent shape", "The shape depends on values.", "np.where keeps the shape."
)


def test_every_public_class_is_drawn_in_the_tree():
    tree = errors.__doc__
    for name in errors.__all__:
        if isinstance(getattr(errors, name), type) and issubclass(
            getattr(errors, name), BaseException
        ):
            assert f"─ {name} " in tree


@pytest.mark.parametrize(
    ("kind", "bases"),
    [
        (ArgumentError, (UsageError, ValueError)),
        (ArgumentTypeError, (ArgumentError, TypeError)),
        (BackendNotFoundError, (UsageError, ValueError)),
        (GraphBreakError, (BcjitError,)),
        (BackendError, (BcjitError,)),
        (InternalError, (BcjitError,)),
    ],
)
def test_error_can_be_caught_as_its_bases(kind, bases):
    assert all(issubclass(kind, base) for base in (*bases, BcjitError))


def test_control_flow_is_no_error_of_the_user():
    assert not issubclass(GraphBreak, BcjitError)


def test_graph_break_error_says_reason_line_hint_and_way_out():
    error = GraphBreakError.from_break(GraphBreak(REASON, "np.nonzero(x), x: float64[s0]", LINE))
    assert str(error) == (
        'graph break BRK014 "data-dependent shape"\n'
        "  np.nonzero(x), x: float64[s0] at model.py:31\n"
        "  The shape depends on values.\n"
        "  Hint: np.where keeps the shape.\n"
        "  fullgraph=True asks for one graph; leave it out to let the graph be split here."
    )
    assert (error.code, error.title) == ("BRK014", "data-dependent shape")
    assert (error.explanation, error.hint, error.line) == (REASON.explanation, REASON.hint, LINE)


def test_graph_break_without_context_line_and_hint_has_no_empty_rows():
    assert str(GraphBreak(BreakReason("BRK001", "print", "A print is never moved."))) == (
        'graph break BRK001 "print"\n  A print is never moved.'
    )


def test_backend_not_found_lists_names_and_close_matches():
    error = BackendNotFoundError("eagr", ("auto", "eager"), ("eager",))
    assert str(error) == (
        "no backend is named 'eagr'; the backends are auto, eager. Did you mean 'eager'?"
        " Give one of these names, a callable, or add yours with bcjit.register_backend."
    )
    assert "Did you mean" not in str(BackendNotFoundError("z", ("auto",)))


def test_backend_error_says_what_a_backend_must_return():
    text = str(BackendError("mine", "returned None instead of a callable"))
    assert text.startswith("backend 'mine' returned None instead of a callable;")
    assert "must return a callable" in text


@pytest.mark.parametrize(
    "error",
    [
        GraphBreakError(REASON, "context", LINE),
        GraphBreak(REASON, "context", LINE),
        BackendNotFoundError("a", ("b",)),
        BackendError("a", "failed"),
        ArgumentTypeError("text"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_error_survives_pickling(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
