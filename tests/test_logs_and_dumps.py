"""What becomes of a function, told to log channels by topic and written into folders; neither changes what the program does."""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path

import numpy as np
import pytest

import bcjit
from bcjit import dumps, logs
from bcjit.bytecode.sketch import sketch


def spread(x, log):
    y = x * 2.0 + 0.0
    z = np.add(x, 1.0)
    log.append(1)
    print(y.sum())
    return y - z


@pytest.fixture
def channels(caplog):
    caplog.set_level(logging.INFO, "bcjit")
    yield lambda name: [r.getMessage() for r in caplog.records if r.name == f"bcjit.{name}"]
    logs.forget_once()


def test_each_channel_tells_its_topic(channels):
    bcjit.compile(spread)(np.ones(3), [])
    assert "x is a float64 array of 1 dimension" in channels("guards")[0]
    assert "graph break BRK" in channels("breaks")[0]
    graph = channels("graph")[0]
    assert graph.startswith("spread at test_logs_and_dumps.py:")
    assert "operator.mul(x, 2.0)" in graph
    assert "numpy.add(x, 1.0)" in graph
    assert graph.splitlines()[-1].startswith("  return (")  # as the backend gets it
    kernel = channels("kernels")[0]
    assert "by auto" in kernel
    assert "def graph(x):" in kernel
    original, residual, *_ = channels("bytecode")
    assert ", original:" in original
    assert "LOAD_GLOBAL" in original
    assert ", residual:" in residual
    (first, *_) = channels("time")
    assert first.count(" ms") == 4
    assert channels("capture") == []


def test_graph_after_the_passes_is_told_where_they_changed_it(channels):
    def same_twice(x):
        return np.sin(x) + np.sin(x)

    bcjit.compile(same_twice)(np.ones(2))
    before, after = channels("graph")
    assert (before.count("numpy.sin"), after.count("numpy.sin")) == (2, 1)
    assert "after the passes" in after


def test_kernel_of_a_backend_is_what_it_says(channels):
    class Kernel:
        source = "the text of the kernel"

        def __init__(self, graph):
            self.run = graph.to_callable()

        def __call__(self, *inputs):
            return self.run(*inputs)

    bcjit.compile(lambda x: x + 1, backend=lambda graph, _examples: Kernel(graph))(np.ones(2))
    assert channels("kernels")[0].endswith(":\nthe text of the kernel")


@pytest.fixture
def fresh_numbers(monkeypatch):
    monkeypatch.setattr(dumps, "_numbers", iter(range(dumps.LIMIT + 1)))


def test_dump_writes_a_folder_for_each_entry(tmp_path, fresh_numbers, capsys):
    with bcjit.config.override(dump=str(tmp_path / "new" / "deep")):
        got = bcjit.compile(spread)(np.ones(3), [])
    assert got.tolist() == spread(np.ones(3), []).tolist()
    first, second = sorted((tmp_path / "new" / "deep").iterdir())
    assert first.name.startswith("spread-")
    assert first.name.endswith("-0")
    written = {file.name: file.read_text(encoding="utf-8") for file in first.iterdir()}
    assert set(written) == {
        "original.py", "original.txt", "residual.py", "residual.txt", "graph.txt",
        "graph_after_passes.txt", "guards.txt", "kernel.py", "summary.txt",
    } - ({"graph_after_passes.txt"} - set(written))  # fmt: skip
    assert written["original.py"].startswith("def spread(x, log):")
    assert "graph(x)" in written["residual.py"]
    assert "log.append(1)" in written["residual.py"]
    assert "part_from_line_" in written["residual.py"]
    compile(written["kernel.py"], "kernel.py", "exec")
    assert "ends: graph break BRK" in written["summary.txt"]
    assert "goes on at line" in written["summary.txt"]
    assert "ends: returns" in (second / "summary.txt").read_text(encoding="utf-8")


def test_dump_of_any_function_has_a_safe_name(tmp_path, fresh_numbers):
    def outer():
        return lambda x: x + 1

    with bcjit.config.override(dump=str(tmp_path)):
        bcjit.compile(outer())(np.ones(2))
    (folder,) = tmp_path.iterdir()
    assert folder.name.split("-")[0].replace("_", "").isalnum()


def test_dump_that_cannot_be_written_is_said_once_and_changes_nothing(tmp_path, channels):
    file = tmp_path / "file"
    file.write_text("not a folder")
    for bad in (str(file), "with\0null"):
        logs.forget_once()
        with bcjit.config.override(dump=bad):
            for function in (lambda x: x + 1, lambda x: x + 2):
                assert bcjit.compile(function)(np.zeros(1))[0] == function(0)
    assert sum("cannot be written" in text for text in channels("capture")) == 2


def test_dump_of_one_process_has_an_end(tmp_path, monkeypatch, channels):
    monkeypatch.setattr(dumps, "_numbers", iter([0, dumps.LIMIT, dumps.LIMIT + 1]))
    with bcjit.config.override(dump=str(tmp_path)):
        assert dumps.write("f", {"a.txt": "text", "empty.txt": ""}) is not None
        assert dumps.write("f", {"a.txt": "text"}) is None
        assert dumps.write("f", {"a.txt": "text"}) is None
    assert [p.name for p in tmp_path.rglob("*.txt")] == ["a.txt"]
    assert sum("no more are" in text for text in channels("capture")) == 1


def test_dumps_stay_in_one_folder_when_the_program_goes_to_another(
    tmp_path, fresh_numbers, monkeypatch
):
    for place in ("first", "second"):
        (tmp_path / place).mkdir()
        monkeypatch.chdir(tmp_path / place)
        with bcjit.config.override(dump="a relative folder"):
            dumps.write(place, {"a": "1"})
    assert len(list((tmp_path / "first" / "a relative folder").iterdir())) == 2


def test_dump_takes_the_next_number_where_a_folder_is(tmp_path, monkeypatch):
    with bcjit.config.override(dump=str(tmp_path)):
        monkeypatch.setattr(dumps, "_numbers", iter([0]))
        first = dumps.write("f", {"a": "1"})
        monkeypatch.setattr(dumps, "_numbers", iter([0, 1]))
        second = dumps.write("f", {"a": "2"})
    assert first != second
    assert Path(first, "a").read_text() == "1\n"


def test_dump_is_a_setting_that_is_a_string():
    assert bcjit.config.dump == ""
    with pytest.raises(bcjit.errors.ArgumentTypeError, match="must be of type str, not bool"):
        bcjit.config.dump = True
    made = type(bcjit.config)({"BCJIT_DUMP": "a folder"})
    assert made.dump == "a folder"


def test_sketch_reads_like_the_function():
    def made(a, key, *, b):
        a.x = b[key]
        first, second = divmod(a, b=b)
        if first > second and a is not None:
            del b[key]
        b[1:2] = [-first, (second,)]
        return {"k": not a}

    text = sketch(made.__code__)
    for part in (
        "def made(a, key, b):", "a.x = b[key]", "divmod(a, b=b)", "first > second", "del b[key]", "-first", "(second,)",
        "{'k': not a}", "goto L",
    ):  # fmt: skip
        assert part in text


def test_sketch_is_total():
    """Whatever the code: each function of a module with all kinds of syntax."""
    codes = [getattr(v, "__code__", None) for v in vars(contextlib.ExitStack).values()]
    assert all(sketch(code).startswith("def ") for code in codes if code is not None)
    assert "exceptions go to L" in sketch(contextlib.ExitStack.__exit__.__code__)
