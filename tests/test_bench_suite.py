"""``python -m bcjit bench suite``: every program is the same compiled, and what differs, is refused or is missing is told. No time is asserted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import bcjit
from bcjit.__main__ import main
from bcjit.backends import eager, registry
from bcjit.bench import Asked, command, measure, peers
from bcjit.bench.suite import PROGRAMS, SIZES, Program, means, measuring, picture
from bcjit.bench.suite.program import Sizes
from bcjit.debugging.compare import differences
from benchmarks import bench_suite

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_the_same_compiled(name):
    program = PROGRAMS[name]
    found = bcjit.check(program.function, *program.setup("small"), backend="eager")
    assert found, str(found)
    assert found.repeatable


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_what_it_is_and_has_the_same_arguments_for_the_same_seed(name):
    program = PROGRAMS[name]
    assert program.what
    assert not program.what.endswith(".")
    assert program.function.__module__.endswith(f".{program.subject}")
    small, medium, large = (getattr(program.sizes, size) for size in SIZES)
    assert small < medium < large
    first, again = (program.setup("small") for _ in range(2))
    assert list(differences([("arguments", first, again)])) == []
    assert not any(a is b for a, b in zip(first, again) if isinstance(a, np.ndarray))


def test_there_are_programs_of_both_kinds():
    assert len(PROGRAMS) == sum(
        map(len, (module.PROGRAMS for module in bcjit.bench.suite._MODULES))
    )
    assert len(PROGRAMS) >= 30
    assert sum(program.by_element for program in PROGRAMS.values()) >= 8


# Kinds that the suite promises, by programs of them.
KINDS = {
    "elementwise finance": ("black scholes",),
    "image filters": ("blur and sharpen", "sobel edges", "bilateral"),
    "stencils in one to three dimensions": ("heat 1d", "jacobi 2d", "heat 3d"),
    "reaction and diffusion": ("reaction diffusion",),
    "bodies": ("n body",),
    "clusters and components": ("k means", "principal components"),
    "layers forward": ("softmax", "attention", "layer norm", "mlp", "lstm", "convolution layer"),
    "fractals": ("mandelbrot", "julia"),
    "convolution by Fourier transforms": ("fft convolution",),
    "filters of states": ("kalman",),
    "histograms": ("histogram 2d", "equalise"),
    "Monte Carlo with np.random": ("barrier option", "asian option"),
    "sparse matrices by hand": ("sparse product",),
    "tridiagonal systems": ("tridiagonal",),
    "shortest paths": ("floyd warshall",),
    "dynamic programming": ("edit distance", "knapsack", "viterbi"),
    "factorisation by hand": ("cholesky",),
    "weather": ("horizontal diffusion", "vertical diffusion"),
    "pairwise distances": ("pairwise distances",),
    "spectral sums": ("spectral sums",),
    "prefix scans": ("prefix scans",),
    "statistics of texts without strings": ("text statistics",),
}


def test_each_kind_has_a_program():
    missing = {kind for kind, names in KINDS.items() if not set(names) <= set(PROGRAMS)}
    assert not missing


# ---- the command ----------------------------------------------------------------------------------------


def bench(*words):
    return subprocess.run(
        [sys.executable, "-m", "bcjit", "bench", *words],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def test_table_json_and_picture(tmp_path):
    pytest.importorskip("matplotlib")
    file, drawn = tmp_path / "figures.json", tmp_path / "figures.png"
    words = ("--size", "small", "--backend", "eager,auto", "--clock", "processor", "--case", "heat 1d")  # fmt: skip
    done = bench("suite", "--rounds", "2", "--no-peers", *words, "--case", "sparse product", "--json", str(file), "--picture", str(drawn))  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    figures_of = json.loads(file.read_text())
    speedups, by_eager, by_auto, means, by_kind = figures_of["tables"]
    assert [table["title"] for table in figures_of["tables"]] == [
        "Speed-ups over plain NumPy, small",
        "eager, small",
        "auto, small",
        "Geometric means, small",
        "Geometric means by kind of program, small",
    ]
    assert figures_of["machine"]["clock"] == "processor"
    kinds = [(row["case"], row["of"]) for row in by_kind["rows"]]
    assert kinds == [("all", 2), ("on arrays", 1), ("by element", 1), ("stencils", 1), ("matrices", 1)]  # fmt: skip
    assert by_kind["rows"][1]["eager"] == pytest.approx(by_eager["rows"][0]["speedup"])
    for table in (speedups, by_eager, by_auto):
        assert [row["case"] for row in table["rows"]] == ["heat 1d", "sparse product"]
    for row in by_eager["rows"]:
        assert row["result"] == "equal"
        assert row["graphs"] >= 1
        assert row["nodes"] >= 1
        assert 0 < row["low"] <= row["high"]
        assert row["numpy_ms"] / row["compiled_ms"] == pytest.approx(row["speedup"])
        assert row["first_ms"] >= row["compile_ms"] > 0
        assert row["peak_kb"] > 0
        assert row["kernels"] is None
        assert row["turns"] == 2
    assert [(row["case"], row["right"], row["of"]) for row in means["rows"]] == [
        ("eager", 2, 2),
        ("auto", 2, 2),
    ]
    assert means["rows"][0]["on arrays"] == pytest.approx(by_eager["rows"][0]["speedup"])
    assert means["rows"][0]["by element"] == pytest.approx(by_eager["rows"][1]["speedup"])
    assert "\nheat 1d " in done.stdout
    assert drawn.read_bytes().startswith(b"\x89PNG")


BAD_USAGE = {
    "unknown size": (("suite", "--size", "huge"), "small, medium, large is expected, not 'huge'"),
    "unknown backend": (("suite", "--backend", "fast"), "--backend: "),
    "unknown program": (("suite", "--case", "x + 1"), "not 'x + 1'"),
    "a size of calls": (
        ("dispatch", "--size", "small"),
        "bench suite or bench kernels is expected, not dispatch",
    ),
    "a clock of calls": (("capture", "--clock", "processor"), "--clock: bench suite or "),
    "sizes of peers of kernels": (("kernels", "--peer-size", "1e3"), "bench suite is expected"),
    "unknown size of peers": (("suite", "--peer-size", "10"), "is expected, not '10'"),
    "unknown size of kernels": (("kernels", "--size", "1e3,2"), "1e7 is expected, not '2'"),
    "a picture of calls": (("capture", "--picture", "x.png"), "bench suite is expected"),
}


class Failed(Exception):
    pass


def refuse(message):
    raise Failed(message)


@pytest.mark.parametrize("name", BAD_USAGE)
def test_bad_usage_says_what_is_expected(name, capsys):
    words, sentence = BAD_USAGE[name]
    with pytest.raises(SystemExit) as left:
        main(["bench", *words])
    assert left.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_picture_without_matplotlib_is_refused_before_anything_is_measured(monkeypatch):
    monkeypatch.setattr(picture, "is_there", lambda: False)
    with pytest.raises(Failed, match=r"bcjit\[demo\]"):
        command.run(Asked("suite", 1, picture_file="x.png"), refuse)


def run(capsys, **asked):
    code = command.run(Asked("suite", 1, peers=False, sizes=("small",), **asked), refuse)
    return code, capsys.readouterr().out


def test_a_difference_is_shown_and_is_a_failure(capsys, monkeypatch, tmp_path):
    def wrong(graph, example_inputs):
        function = eager(graph, example_inputs)
        return lambda *inputs: tuple(np.nextafter(value, np.inf) for value in function(*inputs))

    monkeypatch.setitem(registry._registered, "wrong", wrong)
    pytest.importorskip("matplotlib")
    file, drawn = tmp_path / "figures.json", tmp_path / "figures.svg"
    words = dict(json_file=str(file), picture_file=str(drawn))
    code, out = run(capsys, cases=("layer norm", "sieve"), backends=("wrong",), **words)
    assert code == 1
    assert "FAILED layer norm, small, wrong: differs: " in out
    assert "elements differ" in out
    speedups, details, means, _ = json.loads(file.read_text())["tables"]
    assert all(
        row["wrong"] == row2["result"] for row, row2 in zip(speedups["rows"], details["rows"])
    )
    assert means["rows"] == [
        {"case": "wrong", "right": 0, "of": 2, "all": 1.0, "on arrays": 1.0, "by element": None}
    ]
    assert drawn.read_text().count("<!-- DIFFERS -->") == 2


def test_kernels_are_counted_where_the_backend_tells(capsys, monkeypatch, tmp_path):
    def counting(kernels):
        def backend(graph, example_inputs):
            function = eager(graph, example_inputs)

            def call(*inputs):
                return function(*inputs)

            call.kernels = kernels
            return call

        return backend

    for kernels, count in ((2, 2), (("a", "b", "c"), 3), (0, 0)):
        monkeypatch.setitem(registry._registered, "counting", counting(kernels))
        file = tmp_path / "figures.json"
        words = dict(cases=("layer norm",), backends=("counting",), json_file=str(file))
        assert run(capsys, **words)[0] == 0
        assert json.loads(file.read_text())["tables"][1]["rows"][0]["kernels"] == count


# ---- measuring ------------------------------------------------------------------------------------------


def adds_one(x, rng):
    """A program that writes and draws."""
    x += 1.0
    return x * rng.random()


def reads(x, rng):
    """A program that leaves its arguments as they are."""
    return x + 1.0


def program_of(function):
    return Program(function, lambda n, rng: (np.zeros(n), rng), Sizes(2, 3, 4), "test")


def test_what_a_call_changes_is_new_for_each_call():
    arguments = measuring.Arguments(program_of(adds_one), "small")
    assert arguments.change
    seen = []

    def records(x, rng):
        seen.append((x.copy(), rng.random()))
        x += 1.0

    measure.Fresh(records, arguments).timeit(3)
    assert all(not x.any() and draw == seen[0][1] for x, draw in seen)
    assert len(seen) == 3
    plain = measuring.Arguments(program_of(reads), "small")
    assert not plain.change
    assert [args[0] for args in plain(2)][1] is plain.args[0]


def test_turns_end_after_their_time_but_a_few_there_are():
    timers = [measure.Fresh(lambda: time.sleep(1e-3), lambda count: iter([()] * count))] * 2
    assert [len(found) for found in measure.in_each_turn(timers, 9, 0.0)] == [measure.FEWEST] * 2
    assert [len(found) for found in measure.in_each_turn(timers, 7)] == [7, 7]


def test_speed_ups_are_of_minima_and_the_spread_of_turns():
    one = measuring.Figures(times=[1.0, 2.0, 4.0, 1.0, 1.0], plain_times=[4.0, 4.0, 4.0, 3.0, 5.0])
    assert one.speedup == 3.0
    assert one.quartiles == (2.0, 4.0)


def test_the_peak_is_the_most_memory_at_once():
    def holds(x, rng):
        y = np.ones(100_000)
        del y
        return np.ones(50_000)

    arguments = measuring.Arguments(program_of(holds), "small")
    assert 800_000 <= measuring._peak(holds, arguments) < 1_000_000


def test_geometric_means():
    assert means.geometric_mean([2.0, 8.0]) == pytest.approx(4.0)
    assert means.geometric_mean([]) is None


# ---- peers ----------------------------------------------------------------------------------------------


def writes_two(x, rng):
    """A program with two results that writes."""
    x += 1.0
    return x, [x.sum(), 3]


def slow(function):
    end = time.monotonic() + 20.0
    while time.monotonic() < end:
        pass
    return function


def peer(make, module="math"):
    return peers.Peer("it", "it", module, make)


PEERS = {
    "equal": (peer(lambda f: f), ""),
    "other digits": (peer(lambda f: lambda x, r: (f(x, r)[0] * (1 + 1e-12), [x.sum(), 3])), ""),
    "missing": (peer(lambda f: f, "no_such_module"), "not installed"),
    "raises": (peer(lambda f: f.nothing), "cannot: AttributeError: "),
    "wrong": (peer(lambda f: lambda x, r: (f(x, r)[0], [x.sum(), 4])), "another value than NumPy"),
    "one value": (peer(lambda f: lambda x, r: f(x, r)[0]), "it gives ndarray, NumPy 2 values"),
    "does not write": (peer(lambda f: lambda x, r: f(x.copy(), r)), "leaves an argument otherwise"),
    "slow": (peer(slow), "cannot: more than 0.05 s to compile"),
}


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_has_a_figure_or_a_reason(name, monkeypatch):
    monkeypatch.setattr(measuring, "PEER_SECONDS", 0.05 if name == "slow" else 60.0)
    it, reason = PEERS[name]
    measured = measuring.measure(program_of(writes_two), "small", (), (it,), 1)
    found = measured.peers["it"]
    assert reason in found.problem
    assert bool(found.problem) == bool(reason)
    assert bool(found.times) == (not reason)
    (row,) = means.by_way("small", [measured], {"it": "it"}).rows
    if name == "missing":
        assert row == {"case": "it", "right": "not installed"}
    else:
        assert row["right"] == (not reason)
        assert (row["all"] == 1.0) == bool(reason)


def test_asv_measures_the_same_programs():
    calls = bench_suite.Programs()
    assert calls.params[0] == tuple(PROGRAMS)
    for how in ("plain", "eager"):
        calls.setup("knapsack", how)
        calls.time_call("knapsack", how)
