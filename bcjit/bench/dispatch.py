"""What a call costs: dispatch over the compiled entry itself, continuations, and whole calls beside NumPy and other compilers.

Three tables, each measured in turns within this process. The first two have no peers, and are measured before any is
imported.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from bcjit import _core
from bcjit.api import compile as compile_function
from bcjit.bench.measure import Call, Function, captured, in_turns, timer
from bcjit.bench.peers import PEERS, Peer, Refusal, prepared
from bcjit.bench.programs import (
    BREAKS,
    Layer,
    add_one,
    applied,
    arrays,
    branch,
    five_arrays,
    in_five,
    in_one,
    in_three,
    into,
    nothing_captured,
    scaled,
    standardised,
    ten_operations,
    three_arrays,
    two_arrays,
    with_numbers,
)
from bcjit.bench.tables import Cell, Column, Table, verdict
from bcjit.guards import compile_guards

__all__ = ["CALLS", "CASES", "CallCase", "compiled_calls", "tables"]

WARM: Final = (
    100  # calls before a compiled function is measured: by then the cost model has decided
)


# ---- over the entry itself ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EntryCase:
    """A function with next to no work of its own, and what dispatch may add."""

    function: Function
    args: tuple[Any, ...]
    at_most: float | None


DISPATCH_AT_MOST: Final = {1: 100.0, 3: 150.0, 5: 200.0}  # by array arguments
ENTRIES: Final = {
    "1 array": EntryCase(in_one, arrays(1), DISPATCH_AT_MOST[1]),
    "3 arrays": EntryCase(in_three, arrays(3), DISPATCH_AT_MOST[3]),
    "5 arrays": EntryCase(in_five, arrays(5), DISPATCH_AT_MOST[5]),
    "3 arrays, one written": EntryCase(into, arrays(3), DISPATCH_AT_MOST[3]),
}


@dataclass(frozen=True, slots=True)
class FormCase:
    """The same call written in another way than by position."""

    by_position: Call
    written: Call


def _forms() -> dict[str, FormCase]:
    a, b, c = arrays(3)

    class Compiled(Layer):
        negative = compile_function(Layer.negative, backend="eager")

    layer = Compiled()
    three = compile_function(in_three, backend="eager")
    two = compile_function(scaled, backend="eager")
    return {
        "keyword arguments": FormCase(Call(three, (a, b, c)), Call(three, (a,), {"b": b, "c": c})),
        "default": FormCase(Call(two, (a, 2.0)), Call(two, (a,))),
        "bound method": FormCase(
            Call(Compiled.negative, (layer, a)), Call(layer, (a,), method="negative")
        ),
    }


FORMS: Final = ("keyword arguments", "default", "bound method")
FORM_AT_MOST: Final = 100.0


def _direct(entry: _core.Entry, graph: _core.GraphCall) -> bool:
    """Whether the dispatcher calls the graph itself: all that the residual code does is to call it."""
    return entry.returns and graph.single


def entry_row(title: str, case: EntryCase, rounds: int) -> dict[str, Cell]:
    """Measure one function's call, and the pieces it is made of."""
    compiled = captured(case.function, case.args)
    plain = compiled.fn
    (entry,) = compiled.part.entries
    (graph,) = (c for c in entry.code.co_consts if isinstance(c, _core.GraphCall))
    residual = types.FunctionType(entry.code, plain.__globals__)
    order = graph_inputs(entry, case.args)
    itself = Call(graph, order) if _direct(entry, graph) else Call(residual, case.args)
    check = (case.args, plain, None)
    times = in_turns(
        [
            timer(Call(plain, case.args)),
            timer(Call(compiled, case.args)),
            timer(itself),
            timer(Call(residual, case.args)),
            timer(Call(graph, order)),
            timer(Call(graph.fn, order)),
            timer(Call(entry.guards.check, check)),
            timer(Call(compile_guards(()).check, check)),
        ],
        rounds,
    )
    numpy, ours, alone, code, called, function, guards, none = times
    return {
        "case": title,
        "numpy_ns": numpy,
        "compiled_ns": ours,
        "entry_ns": alone,
        "added_ns": ours - alone,
        "at_most_ns": case.at_most,
        "verdict": verdict(ours - alone, case.at_most),
        "guards_ns": guards - none,
        "graph_call_ns": called - function,
        "over_graph_ns": ours - function,
        "over_code_ns": ours - code,
    }


def graph_inputs(entry: _core.Entry, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments that the graph reads, in its order; each input of these cases is an argument of that name."""
    names = entry.code.co_varnames
    return tuple(args[names.index(node.name)] for node in entry.tag.graph.inputs)


def form_row(title: str, case: FormCase, rounds: int) -> dict[str, Cell]:
    """Measure a call against the same call by position."""
    case.by_position()
    case.written()
    position, written = in_turns([timer(case.by_position), timer(case.written)], rounds)
    return {
        "case": title,
        "compiled_ns": written,
        "entry_ns": position,
        "added_ns": written - position,
        "at_most_ns": FORM_AT_MOST,
        "verdict": verdict(written - position, FORM_AT_MOST),
    }


ENTRY_COLUMNS: Final = (
    Column("case", "case"),
    Column("numpy_ns", "NumPy"),
    Column("compiled_ns", "compiled"),
    Column("entry_ns", "entry"),
    Column("added_ns", "added"),
    Column("at_most_ns", "at most"),
    Column("verdict", ""),
    Column("guards_ns", "guards"),
    Column("graph_call_ns", "graph call"),
    Column("over_graph_ns", "over graph"),
    Column("over_code_ns", "over code"),
)
ENTRY_NOTES: Final = (
    "entry: what the dispatcher calls once the guards hold, called by itself: the graph with NumPy's error state made to raise",
    "(of it, graph call), or, where more is done than to return the graph's result, the residual code as a function.",
    "over graph: what is added to the graph's bare Python function; over code: to the residual code run as a Python function.",
    "guards: a check from Python, less one of no guards. Of keyword arguments, default and bound method, entry is the same call by position.",
)


# ---- continuations --------------------------------------------------------------------------------------

CONTINUATION_AT_MOST: Final = 150.0
BREAK_COLUMNS: Final = (
    Column("case", "case"),
    Column("numpy_ns", "NumPy"),
    Column("compiled_ns", "compiled"),
    Column("added_ns", "added"),
    Column("each_ns", "a break"),
    Column("last_ns", "the last"),
    Column("at_most_ns", "at most"),
    Column("verdict", ""),
)
BREAK_NOTES: Final = (
    "added: compiled less NumPy. A break: what is added more than without breaks, divided by their number; the last: more than in the row above.",
)


def break_rows(title: str, functions: Sequence[Function], rounds: int) -> Iterator[dict[str, Cell]]:
    """Measure a function with 0, 1, 2, ... breaks."""
    args = arrays(1)
    plain = [timer(Call(function, args)) for function in functions]
    ours = [timer(Call(captured(function, args, calls=3), args)) for function in functions]
    times = in_turns([*plain, *ours], rounds)
    before: list[float] = []
    for count, (numpy, compiled) in enumerate(
        zip(times[: len(plain)], times[len(plain) :], strict=True)
    ):
        added = compiled - numpy
        row: dict[str, Cell] = {
            "case": f"{title}, {count} breaks" if count != 1 else f"{title}, 1 break",
            "numpy_ns": numpy,
            "compiled_ns": compiled,
            "added_ns": added,
        }
        if count:
            each = (added - before[0]) / count
            row |= {
                "each_ns": each,
                "last_ns": added - before[-1],
                "at_most_ns": CONTINUATION_AT_MOST,
                "verdict": verdict(each, CONTINUATION_AT_MOST),
            }
        before.append(added)
        yield row


# ---- end to end -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CallCase:
    """Calls of plain functions, made in turn, and what a compiled one may cost: so many ns more, or times as much."""

    calls: tuple[Call, ...]
    plus: float | None = None
    times: float | None = None

    def at_most(self, numpy: float) -> float | None:
        """Return the nanoseconds promised for a call that takes NumPy so many."""
        if self.plus is not None:
            return numpy + self.plus
        return None if self.times is None else numpy * self.times

    @property
    def dispatch_at_most(self) -> float:
        """The nanoseconds that dispatch may add, by the number of array arguments, and so any call of what is left to bcjit."""
        count = max(sum(isinstance(arg, np.ndarray) for arg in call.args) for call in self.calls)
        return next(ns for arrays, ns in DISPATCH_AT_MOST.items() if count <= arrays)


def _kinds(*dtypes: type) -> tuple[Call, ...]:
    return tuple(Call(add_one, (arrays(1)[0].astype(dtype),)) for dtype in dtypes)


CALLS: Final = {
    "x + 1": CallCase((Call(add_one, arrays(1)),), plus=200.0),
    "a + b": CallCase((Call(two_arrays, arrays(2)),)),
    "a + b + c": CallCase((Call(three_arrays, arrays(3)),)),
    "a + b + c + d + e": CallCase((Call(five_arrays, arrays(5)),), times=1600 / 1397),
    "array and 2 numbers": CallCase((Call(with_numbers, (*arrays(1), 0.5, 3)),)),
    "attributes of an object": CallCase((Call(applied, (Layer(), *arrays(1))),)),
    "NumPy scalar": CallCase((Call(ten_operations, (np.float64(0.3),)),)),
    "10 operations": CallCase((Call(ten_operations, arrays(1)),), times=6000 / 5789),
    "mean and std": CallCase((Call(standardised, arrays(1)),)),
    "branch on x.sum()": CallCase((Call(branch, arrays(1)),), times=2300 / 1882),
    "nothing to capture": CallCase((Call(nothing_captured, (20,)),)),
    "2 dtypes in turn": CallCase(_kinds(np.float64, np.float32)),
    "4 dtypes in turn": CallCase(_kinds(np.float64, np.float32, np.int64, np.complex128)),
}


def compiled_calls(case: CallCase, backend: str) -> list[Call]:
    """Return the calls of functions compiled for a backend, made often enough that all is captured and decided."""
    made = {f: compile_function(f, backend=backend) for f in {call.function for call in case.calls}}
    calls = [replace(call, function=made[call.function]) for call in case.calls]
    for _ in range(WARM):
        for call in calls:
            call()
    return calls


def call_row(title: str, case: CallCase, peers: Sequence[Peer], rounds: int) -> dict[str, Cell]:
    """Measure calls plain, compiled, and through each peer."""
    subjects = {"numpy_ns": list(case.calls)}
    subjects |= {f"{backend}_ns": compiled_calls(case, backend) for backend in BACKENDS}
    row: dict[str, Cell] = {"case": title}
    for peer in peers:
        found = prepared(peer, case.calls)
        if isinstance(found, Refusal):
            row[f"{peer.key}_ns"] = found.reason
        else:
            subjects[f"{peer.key}_ns"] = found
    times = in_turns([timer(*calls) for calls in subjects.values()], rounds)
    figures = {key: ns / len(case.calls) for key, ns in zip(subjects, times, strict=True)}
    numpy, eager, auto = (figures[key] for key in ("numpy_ns", "eager_ns", "auto_ns"))
    limit, auto_limit = case.at_most(numpy), numpy + case.dispatch_at_most
    return {
        **row,
        **figures,
        "added_ns": eager - numpy,
        "ratio": eager / numpy,
        "at_most_ns": limit,
        "verdict": verdict(eager, limit),
        "auto_at_most_ns": auto_limit,
        "auto_verdict": verdict(auto, auto_limit),
    }


BACKENDS: Final = ("eager", "auto")
CALL_COLUMNS: Final = (
    Column("case", "case"),
    Column("numpy_ns", "NumPy"),
    Column("eager_ns", "eager"),
    Column("added_ns", "added"),
    Column("ratio", "ratio", 2),
    Column("at_most_ns", "at most"),
    Column("verdict", ""),
    Column("auto_ns", "auto"),
    Column("auto_at_most_ns", "at most"),
    Column("auto_verdict", ""),
)
CALL_NOTES: Final = (
    "eager: the same NumPy calls, made from graphs; added, ratio and at most are its. auto: the backend that bcjit chooses, which goes back to plain Python where that is quicker: a small call never costs more than dispatch may add.",
)

# every case by the names that --case takes
CASES: Final = (*ENTRIES, *FORMS, *BREAKS, *CALLS)


def tables(chosen: Sequence[str], rounds: int, peers: Sequence[Peer] = PEERS) -> Iterator[Table]:
    """Measure the chosen cases, a table at a time."""
    entries = Table("Dispatch, ns added to the compiled entry", ENTRY_COLUMNS, notes=ENTRY_NOTES)
    for title, case in ENTRIES.items():
        if title in chosen:
            entries.rows.append(entry_row(title, case, rounds))
    for title, form in _forms().items():
        if title in chosen:
            entries.rows.append(form_row(title, form, rounds))
    breaks = Table("Continuations after a break, ns", BREAK_COLUMNS, notes=BREAK_NOTES)
    for title, functions in BREAKS.items():
        if title in chosen:
            breaks.rows.extend(break_rows(title, functions, rounds))
    columns = (*CALL_COLUMNS, *(Column(f"{peer.key}_ns", peer.name) for peer in peers))
    yield from (table for table in (entries, breaks) if table.rows)
    calls = Table("Whole calls, ns (vectors of 10 elements)", columns, notes=CALL_NOTES)
    calls.rows.extend(
        call_row(title, call, peers, rounds) for title, call in CALLS.items() if title in chosen
    )
    if calls.rows:
        yield calls
