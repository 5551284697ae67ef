"""``python -m bcjit bench``: every case is in the table and in the JSON; peers that are missing, fail or are wrong say so. No time is asserted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from bcjit.bench import SUBJECTS, capture, dispatch, peers, tables
from bcjit.bench.measure import Call, captured, in_turns, timer
from bcjit.bench.programs import add_one, applied, arrays, in_three
from benchmarks.bench_capture import FirstCalls
from benchmarks.bench_dispatch import WholeCalls

ROOT = Path(__file__).parents[1]


def bench(*words, path=()):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*path, ROOT)))}
    return subprocess.run(
        [sys.executable, "-m", "bcjit", "bench", *words],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


@pytest.mark.parametrize("subject", ("dispatch", "capture"))
def test_every_case_is_in_the_table_and_in_the_json(subject, tmp_path):
    file = tmp_path / "figures.json"
    done = bench(subject, "--rounds", "1", "--no-peers", "--json", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert np.__version__ in done.stdout.splitlines()[0]
    figures = json.loads(file.read_text())
    assert figures["rounds"] == 1
    assert set(figures["machine"]) == {"cpu", "python", "numpy", "system", "heap", "threads"}
    rows = [row for table in figures["tables"] for row in table["rows"]]
    titles = [row["case"] for row in rows]
    assert len(set(titles)) == len(titles)
    for title in titles:
        assert f"\n{title} " in done.stdout
    for case in SUBJECTS[subject].cases:
        if case == capture.FRESH:
            assert "\nA fresh process" in done.stdout
            case = "bcjit"
        assert [title for title in titles if title.startswith(case)], case
    for row in rows:
        numbers = [value for key, value in row.items() if key.endswith(("_ms", "_ns"))]
        assert all(value is None or isinstance(value, float) for value in numbers), row
        assert (row.get("at_most_ns", row.get("at_most_ms")) is None) == (
            row.get("verdict") is None
        )
    assert {row.get("verdict") for row in rows} <= {"met", "missed", None}


BAD_USAGE = {
    "no subject": ((), "subject"),
    "unknown subject": (("speed",), "invalid choice: 'speed'"),
    "no rounds": (("dispatch", "--rounds", "0"), "at least 1, is expected, not '0'"),
    "rounds that are no number": (
        ("dispatch", "--rounds", "x"),
        "at least 1, is expected, not 'x'",
    ),
    "unknown case": (("capture", "--case", "loop"), "not 'loop'"),
    "unknown option": (("capture", "--fast"), "no option --fast; there is --rounds"),
}


@pytest.mark.parametrize("name", BAD_USAGE)
def test_bad_usage_says_what_is_expected(name):
    words, sentence = BAD_USAGE[name]
    done = bench(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_nothing_but_the_command_loads_it():
    loaded = "import sys; import bcjit; print([name for name in sys.modules if 'bench' in name])"
    for words in (("-c", loaded), ("-m", "bcjit", "run", "-c", loaded)):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        assert subprocess.check_output([sys.executable, *words], env=environment) == b"[]\n"


# ---- peers ----------------------------------------------------------------------------------------------


def peer(make, module="math"):
    return peers.Peer("it", "it", module, make)


def raises(function):
    raise LookupError("\n\n  the first line at 0x7f00\nthe second")


PEERS = {
    "missing": (peer(raises, "no_such_module"), "not installed"),
    "fails to compile": (peer(raises), "cannot: LookupError: the first line"),
    "fails in the call": (peer(lambda f: lambda x: x[99]), "cannot: IndexError: "),
    "fails without words": (peer(lambda f: lambda x: next(iter(()))), "cannot: StopIteration"),
    "wrong value": (peer(lambda f: lambda x: f(x) * 1.0001), "it gives another value than NumPy"),
    "wrong dtype": (
        peer(lambda f: lambda x: f(x).astype("f4")),
        "cannot: it gives float32(10,), NumPy float64(10,)",
    ),
    "wrong shape": (peer(lambda f: lambda x: f(x)[:3]), "cannot: it gives float64(3,)"),
    "wrong at the second call": (
        peer(lambda f: lambda x, calls=[]: f(x) + len(calls) * (calls.append(0) is None)),
        "cannot: it gives another value than NumPy",
    ),
}


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_without_a_figure_says_why(name):
    it, reason = PEERS[name]
    (calls,) = dispatch.tables(("x + 1",), 1, (it,))
    (first,) = capture.tables(("20 operations",), 1, (it,))
    assert reason in calls.rows[0]["it_ns"]
    assert isinstance(first.rows[0]["it_ms"], str) or "value" in reason or "call" in name
    assert isinstance(calls.rows[0]["eager_ns"], float)


def test_a_peer_that_fails_has_no_first_call():
    (first,) = capture.tables(("20 operations",), 1, (peer(raises),))
    assert first.rows[0]["it_ms"] == "cannot: LookupError: the first line"


def test_a_peer_that_rounds_otherwise_has_a_figure():
    it = peer(lambda f: lambda *args: f(*args) * (1 + 2**-50))
    (calls,) = dispatch.tables(("x + 1",), 1, (it,))
    assert calls.rows[0]["it_ns"] > 0
    (first,) = capture.tables(("20 operations",), 1, (it,))
    assert first.rows[0]["it_ms"] > 0


def test_an_integer_that_differs_by_one_is_another_value():
    it = peer(lambda f: lambda x: f(x) + (x.dtype == np.int64))
    found = peers.prepared(it, [Call(add_one, (np.arange(2**60, 2**60 + 3),))])
    assert found == peers.Refusal("cannot: it gives another value than NumPy")


FAKES = {
    "numba": "def njit(f):\n    raise TypeError('Failed in nopython mode\\nuntyped global name')",
    "jax": "config = None",
    "torch": "class compile:\n    def __init__(self, f, backend): self.f = f\n    def __call__(self, *a): return self.f(*a)",
}


def test_peers_are_asked_by_the_command_line(tmp_path):
    for name, text in FAKES.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    (tmp_path / "torch" / "_dynamo.py").write_text("def graph_break(): pass")
    file = tmp_path / "figures.json"
    words = ("dispatch", "--rounds", "1", "--case", "x + 1", "--json", str(file))
    done = bench(*words, path=(tmp_path,))
    assert (done.returncode, done.stderr) == (0, "")
    assert "[1] cannot: TypeError: untyped global name\n" in done.stdout
    assert "cannot [1]  cannot [2]" in done.stdout
    figures = json.loads(file.read_text())
    (row,) = figures["tables"][0]["rows"]
    assert row["numba_ns"] == "cannot: TypeError: untyped global name"
    assert row["jax_ns"].startswith("cannot: AttributeError: ")
    assert row["torch_inductor_ns"] > 0
    assert row["torch_eager_ns"] > 0
    assert figures["machine"]["torch"] != "not installed"


def test_a_fresh_process_that_fails_says_why():
    found = capture.fresh_row("it", "no_such_module", "it", 1)
    assert found["import_ms"] == "cannot: ModuleNotFoundError: No module named 'no_such_module'"
    (fresh,) = capture.tables((capture.FRESH,), 1, (peer(raises, "no_such_module"),))
    assert fresh.rows[1] == {"case": "it", "import_ms": "not installed"}


def test_a_peer_compiles_a_copy_with_names_of_its_own():
    math_like = types.ModuleType("math_like")
    made = peers.rebound(applied, np=math_like)
    assert made.__globals__["np"] is math_like
    assert made.__code__ is not applied.__code__
    assert made.__code__ == applied.__code__
    assert applied.__globals__["np"] is np


# ---- measuring and showing ------------------------------------------------------------------------------


def test_calls_are_timed_as_they_are_written():
    seen = []

    class Counts:
        def method(self, *args, **keywords):
            seen.append((args, keywords))

    calls = (
        Call(Counts(), (1, 2), {"k": 3}, method="method"),
        Call(Counts().method, (), {"b": 1, "a": 2}),
    )
    timer(*calls).timeit(1)
    for call in calls:
        call()
    assert seen == [((1, 2), {"k": 3}), ((), {"b": 1, "a": 2})] * 2


def test_a_figure_is_the_least_of_its_turns_and_of_one_call():
    ticks = iter([*[0.5] * 3, 9.0, 4.0, 6.0])

    class Slow:
        def repeat(self, times, number):
            return [next(ticks) for _ in range(times)]

        def timeit(self, number):
            assert number == 1
            return next(ticks)

    assert in_turns([Slow()], 3) == [4e9]


def test_nothing_captured_is_no_figure():
    with pytest.raises(SystemExit, match="nothing was captured"):
        captured(lambda n: n + 1, (3,))


def test_the_graph_gets_its_inputs_in_its_own_order():
    compiled = captured(lambda a, b, c: np.subtract(c, a) * b, arrays(3))
    (entry,) = compiled.part.entries
    (graph,) = (c for c in entry.code.co_consts if type(c).__name__ == "GraphCall")
    found = graph(*dispatch.graph_inputs(entry, arrays(3)))
    assert np.array_equal(found, compiled(*arrays(3)))
    assert len(dispatch.graph_inputs(entry, arrays(3))) == 3
    assert captured(in_three, arrays(3)).graphs


TABLE = tables.Table(
    "Title",
    (tables.Column("case", "case"), tables.Column("x", "ns", 1), tables.Column("v", "")),
    [
        {"case": "a case with a long name", "x": 1234.56, "v": "met"},
        {"case": "b", "x": "cannot: it is not so", "v": None},
        {"case": "c", "x": 2.0, "v": "missed"},
    ],
    ("a note",),
)
SHOWN = """
Title

case                             ns
-----------------------  ----------  ------
a case with a long name     1,234.6     met
b                        cannot [1]
c                               2.0  missed
[1] cannot: it is not so
a note
"""


def test_a_table_is_aligned(capsys):
    tables.show(TABLE)
    assert capsys.readouterr().out == SHOWN


def test_a_terminal_gets_colours_where_rich_is_installed(capsys, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    tables.show(TABLE)
    out = capsys.readouterr().out
    assert all(word in out for word in ("1,234.6", "cannot [1]", "missed", "a note"))
    assert "-----" not in out


def test_verdicts():
    assert [tables.verdict(1.0, limit) for limit in (1.0, 0.9, None)] == ["met", "missed", None]


def test_asv_measures_the_same_cases():
    calls = WholeCalls()
    for run in ("plain", "eager"):
        calls.setup("x + 1", run)
        ((function, args),) = calls.calls
        assert np.array_equal(function(*args), arrays(1)[0] + 1)
        calls.time_call("x + 1", run)
    assert FirstCalls().track_first_call("20 operations") > 0
