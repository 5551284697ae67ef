"""What becomes of the figures: through JSON and back, means over kinds and sizes, pages and the README; backends and peers that are not there. No time is asserted."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bcjit.api import compile as compile_function
from bcjit.backends import eager, registry
from bcjit.bench import Asked, command, measure, peers, tables, through
from bcjit.bench.kernels import figures as kernel_figures
from bcjit.bench.kernels import limits
from bcjit.bench.suite import PROGRAMS, Program, figures, means, measuring, picture
from bcjit.bench.suite.program import Sizes
from bcjit.errors import BackendError
from benchmarks import make_results

ROOT = Path(__file__).parents[1]


def pages():
    spec = importlib.util.spec_from_file_location("generate_docs", ROOT / "docs" / "generate.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def refuse(message):
    raise AssertionError(message)


# ---- tables ---------------------------------------------------------------------------------------------

TABLE = tables.Table(
    "Title",
    (tables.Column("case", "case"), tables.Column("x", "ns", 1), tables.Column("y", "of")),
    [
        {"case": "a|b", "x": 1234.56, "y": None},
        {"case": "c", "x": "cannot: it is not so at all", "extra": 0.1},
    ],
    ("a note",),
    ["a failure"],
    {"what": "means", "size": "small"},
)


def test_a_table_comes_back_from_json_as_it_was():
    (again,) = tables.read(json.loads(json.dumps(tables.data([TABLE]))))
    assert again == TABLE


def test_a_table_as_markdown():
    assert tables.markdown(TABLE).splitlines() == [
        "| case | ns | of |",
        "| --- | --: | --: |",
        "| a\\|b | 1,234.6 |  |",
        "| c | cannot [1] |  |",
        "",
        "[1] cannot: it is not so at all  ",
        "a note",
    ]
    assert tables.markdown(tables.Table("", TABLE.columns)).count("\n") == 2


def test_the_machine_says_which_heap_and_how_many_threads(monkeypatch):
    for name in (*tables.HEAP, "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    assert (tables.machine()["heap"], tables.machine()["threads"]) == ("default", "default")
    for name, value in {**make_results.KEPT, **make_results.ONE_THREAD}.items():
        monkeypatch.setenv(name, value)
    assert (tables.machine()["heap"], tables.machine()["threads"]) == ("memory kept", "1")


# ---- means ----------------------------------------------------------------------------------------------


def measured(name, size, **speedups):
    one = measuring.Measured(PROGRAMS[name], size, plain_times=[0.5])
    for key, speed in speedups.items():
        times = dict(times=[1.0], plain_times=[speed], facts={"first_ms": speed})
        problem = speed if isinstance(speed, str) else ""
        made = measuring.Figures(problem) if problem else measuring.Figures(**times)
        (one.peers if key == "peer" else one.backends)[key] = made
    return one


FOUND = [
    measured("softmax", "small", ours=4.0, peer=measuring.MISSING),
    measured("heat 1d", "small", ours=1.0, peer=measuring.MISSING),
    measured("sparse product", "small", ours="differs: so", peer=measuring.MISSING),
    measured("softmax", "large", ours=16.0, peer="cannot: it"),
]
NAMES = {"ours": "ours", "peer": "the peer"}


def test_means_by_backend_kind_and_size():
    small = FOUND[:3]
    ours, peer = means.by_way("small", small, NAMES).rows
    assert (ours["right"], ours["of"], ours["least"]) == (2, 3, 1.0)
    assert ours["all"] == pytest.approx(4.0 ** (1 / 3))  # what is not right counts as 1
    assert ours["on arrays"] == pytest.approx(2.0)
    assert ours["by element"] == 1.0
    assert peer == {"case": "the peer", "right": measuring.MISSING}
    kinds = {row["case"]: row for row in means.by_kind("small", small, NAMES).rows}
    assert list(kinds) == ["all", "on arrays", "by element", "learning", "stencils", "matrices"]
    assert kinds["learning"]["ours"] == pytest.approx(4.0)
    assert kinds["all"]["peer"] == measuring.MISSING
    sizes = {row["case"]: row for row in means.by_size(FOUND, NAMES).rows}
    assert [(size, row["of"]) for size, row in sizes.items()] == [("small", 3), ("large", 1), ("all", 4)]  # fmt: skip
    assert sizes["all"]["ours"] == pytest.approx(math.prod((4.0, 1.0, 1.0, 16.0)) ** 0.25)
    assert sizes["large"]["peer"] == 1.0


def test_several_sizes_have_a_table_of_all_and_peers_only_where_they_are_asked():
    it = peers.Peer("it", "it", "math", lambda function: function)
    eager_only = (through.named("eager"),)
    words = dict(backends=eager_only, sizes=("small", "medium"), peer_sizes=("small",))
    found = list(figures.tables(("knapsack",), 1, (it,), **words))
    small, medium = (one for one in found if one.about["what"] == "speedups")
    assert [column.key for column in small.columns] == ["case", "numpy_ms", "eager", "it"]
    assert [column.key for column in medium.columns] == ["case", "numpy_ms", "eager"]
    assert [column.key for column in found[-1].columns] == ["case", "of", "eager"]
    assert [row["case"] for row in found[-1].rows] == ["small", "medium", "all"]


def test_who_interrupts_a_run_keeps_what_is_done(monkeypatch):
    def interrupted(function):
        raise KeyboardInterrupt

    # The second program is the one that is interrupted: its peer is asked for the first time there.
    asked = iter((lambda function: function, interrupted))
    it = peers.Peer("it", "it", "math", lambda function: next(asked)(function))
    words = dict(backends=(), sizes=("small", "medium"))
    found = list(figures.tables(("knapsack", "sieve"), 1, (it,), **words))
    assert {table.about["size"] for table in found} == {"small"}
    assert [row["case"] for row in found[0].rows] == ["knapsack"]
    assert list(figures.tables(("sieve",), 1, (peers.Peer("it", "it", "math", interrupted),), **words)) == []  # fmt: skip
    monkeypatch.setattr(limits, "LARGE", 4096)
    late = peers.Peer("it", "it", "math", interrupted)
    *_, speedups, means_of = kernel_figures.tables(("chain",), 1, (late,), backends=(), sizes=("10",))  # fmt: skip
    assert speedups.rows == means_of.rows == []


# ---- backends -------------------------------------------------------------------------------------------


def test_names_of_backends_with_options():
    fast = through.named("native-fast")
    assert (fast.name, fast.backend, fast.flags, fast.exact) == ("native-fast", "native", ("fast",), False)  # fmt: skip
    assert through.named("eager").exact
    assert through.words_of(("a,b", "c", "b,")) == ("a", "b", "c")


def lacks(graph, example_inputs):
    raise BackendError("lacks", "needs llvmlite")


def test_a_backend_that_is_not_there_is_left_out_with_a_sentence(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(through, "OURS", ("eager", "not_built"))
    monkeypatch.setitem(registry._registered, "lacks", lacks)
    file = tmp_path / "figures.json"
    asked = Asked(
        "suite",
        1,
        cases=("knapsack",),
        peers=False,
        backends=("eager,not_built", "lacks", "eager-fast"),
        sizes=("small",),
        json_file=str(file),
    )
    assert command.run(asked, refuse) == 0
    told = json.loads(file.read_text())
    first, second, third = told["left_out"]
    assert first == "not_built is left out: no backend here is called not_built"
    assert second.startswith("lacks is left out: BackendError: ")
    assert third.startswith("eager-fast is left out: ArgumentError: options: ")
    out = capsys.readouterr().out
    assert all(f"{sentence}\n" in out for sentence in told["left_out"])
    assert [table["about"].get("backend") for table in told["tables"]][1] == "eager"
    assert len(told["tables"]) == 4


def test_a_name_that_there_never_is_is_an_error():
    with pytest.raises(AssertionError, match="no backend is named 'eagre'"):
        through.there(("eager", "eagre"), refuse)


def adds(x):
    """A program that writes."""
    x += 1.0
    return x * 2.0


PROGRAM = Program(adds, lambda n, rng: (np.ones(n),), Sizes(2, 3, 4), "test")


class Rounds(through.Through):
    """A backend whose results differ by a factor, if an option is set, and one whose call leaves its arguments alone."""

    def compile(self, function):
        if self.name == "unwritten":
            return lambda x: function(x.copy())
        return compile_function(function, backend=self.backend)


def times(factor):
    def backend(graph, example_inputs):
        made = eager(graph, example_inputs)
        return lambda *inputs: tuple(value * factor for value in made(*inputs))

    return backend


def test_results_of_a_backend_with_an_option_may_round_otherwise(monkeypatch):
    for name, factor, problem in (
        ("near", 1 + 1e-12, ""),
        ("far", 1.1, "differs: it gives another value than NumPy"),
        ("unwritten", 1.0, "differs: it leaves an argument otherwise than NumPy"),
    ):
        monkeypatch.setitem(registry._registered, name, times(factor))
        way = Rounds(name, name, ("fast",))
        found = measuring.measure(PROGRAM, "small", (way,), (), 1).backends[name]
        assert found.problem == problem
        assert found.differs == bool(problem)
        assert found.facts.get("result") == (None if problem else measuring.CLOSE)
        exact = through.named(name)
        found = measuring.measure(PROGRAM, "small", (exact,), (), 1).backends[name]
        assert bool(found.problem) == (factor != 1.0)


def test_a_backend_with_an_option_that_raises_is_a_difference():
    way = through.named("eager-fast")
    found = measuring.measure(PROGRAM, "small", (way,), (), 1).backends["eager-fast"]
    assert found.problem.startswith("differs: ArgumentError: ")


def test_calls_are_timed_by_the_clock_that_is_asked_for():
    ticks = iter(range(100))
    it = measure.Fresh(lambda: None, lambda count: iter([()] * count), lambda: next(ticks))
    assert it.timeit(3) == 1
    assert set(measure.CLOCKS) == {"wall", "processor"}


# ---- pages ----------------------------------------------------------------------------------------------


def test_the_pages_are_what_the_tables_and_figures_give():
    generate = pages()
    for name, file in (("benchmarks", "docs/benchmarks.md"), ("readme", "README.md")):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert text == generate.PAGES[name](), f"run: python docs/generate.py {name}"


def test_pages_hold_what_runs_wrote(monkeypatch, tmp_path):
    generate = pages()
    monkeypatch.setattr(generate, "RESULTS", tmp_path)
    monkeypatch.setattr(generate, "README", tmp_path / "README.md")
    before, after = (f"before\n{generate.MARKS[0]}\n", f"{generate.MARKS[1]}\nafter\n")
    generate.README.write_text(f"{before}old{after}")
    assert generate.readme() == before + after  # nothing is measured yet
    assert "### " not in generate.results()
    told = {"machine": {"cpu": "one", "heap": "default"}, "rounds": 7, "left_out": ["x is left out."]}  # fmt: skip
    made = [
        means.by_way("small", FOUND[:3], NAMES),
        figures._speedups("small", FOUND[:3], NAMES),
        means.by_size(FOUND, NAMES),
    ]
    (tmp_path / "suite.json").write_text(json.dumps(told | {"tables": tables.data(made)}))
    for found in (generate.readme(), generate.results()):
        assert "cpu one; heap default; least of 7 turns. x is left out." in found
        assert all(tables.markdown(replace(table, notes=())) in found for table in made)
        assert means.NOTES[0] in found
    assert generate.readme().startswith(before)
    assert generate.readme().endswith(after)
    assert "suite.png" not in generate.results()
    generate.README.write_text("no marks")
    with pytest.raises(ValueError, match="the marks are expected"):
        generate.readme()


def test_the_picture_has_a_bar_for_each_backend_and_a_panel_for_each_size(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    panels = []
    kept = picture._panel
    monkeypatch.setattr(
        picture, "_panel", lambda axes, *rest, **more: (panels.append(axes), kept(axes, *rest, **more))
    )  # fmt: skip
    rows = [
        {"case": name, "subject": subject, "speedup": 2.0, "low": 1.5, "high": 2.5}
        for name, subject in (("a", "s"), ("b", "s"), ("c", "t"))
    ]
    made = [
        tables.Table("", (), rows, about={"what": "details", "size": size, "backend": backend})
        for size in ("small", "large")
        for backend in ("eager", "native", "native-fast")
    ]
    picture.draw([TABLE, *made], {"cpu": "one"}, tmp_path / "drawn.svg")
    assert [len(axes.containers) for axes in panels] == [3, 3]
    assert [text.get_text() for text in panels[0].get_yticklabels()] == ["a", "b", "c"]
    labels = [text.get_text() for text in panels[1].get_legend().get_texts()]
    assert labels == [f"{name} (geometric mean 2.00)" for name in ("eager", "native", "native-fast")]  # fmt: skip
    # Bars of one program stand below each other, those of the next behind them.
    tops = [bar.get_y() for one in zip(*panels[0].containers) for bar in one]
    assert tops == sorted(tops)
    picture.draw([TABLE], {}, tmp_path / "empty.svg")


def test_the_command_of_all_results(monkeypatch, tmp_path):
    monkeypatch.setattr(picture, "is_there", lambda: True)
    words, environment = make_results.commands("suite", ["--rounds", "3"], tmp_path)
    assert words[:4] == [sys.executable, "-m", "bcjit", "bench"]
    assert [words[i + 1] for i, word in enumerate(words) if word in ("--json", "--picture")] == [
        str(tmp_path / "suite.json"),
        str(tmp_path / "suite.png"),
    ]
    assert environment["OMP_NUM_THREADS"] == "1"
    assert not set(tables.HEAP) & set(environment)
    assert words[words.index("--backend") + 1] == make_results.BACKENDS
    words, environment = make_results.commands("kernels-kept", ["--backend", "fused"], tmp_path)
    assert [words[i + 1] for i, word in enumerate(words) if word == "--backend"] == ["fused"]
    assert words[words.index("--size") + 1] == "1e3,1e5,1e6"
    assert set(tables.HEAP) <= set(environment)
