"""``python -m bcjit bench kernels``: every kernel is the same compiled, and its bytes, its share of a copy and what peers cannot are told. No time is asserted."""

from __future__ import annotations

import json
import time
import types

import numpy as np
import pytest

import bcjit
from bcjit.backends import eager, registry
from bcjit.bench import Asked, command, numexpr_text, peers
from bcjit.bench.kernels import DTYPES, KERNELS, SIZES, Case, figures, limits, programs
from bcjit.bench.suite import PROGRAMS, measuring
from bcjit.bench.through import named
from bcjit.config import config
from benchmarks.bench_kernels import Kernels


@pytest.fixture
def small(monkeypatch):
    """Sizes and copies that take no time."""
    monkeypatch.setattr(limits, "LARGE", 4096)
    monkeypatch.setattr(measuring, "FIRST_CALLS", 1)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_is_the_same_compiled_and_keeps_its_dtype(name):
    for dtype in DTYPES:
        case = Case(KERNELS[name], dtype)
        args = case.setup("10")
        assert all(array.dtype == dtype for array in args)
        found = bcjit.check(case.function, *args, backend="eager")
        assert found, str(found)
        results = case.function(*args)
        results = results if isinstance(results, tuple) else (results,)
        assert all(result.dtype == dtype for result in results)
        assert case.moved("10") == sum(array.nbytes for array in (*args, *results))
    assert case.kernel.what


def test_a_kernel_has_about_as_many_elements_as_its_size_says():
    for kernel in KERNELS.values():
        results = kernel.function(*Case(kernel, "float64").setup("1e3"))
        result = results[0] if isinstance(results, tuple) else results
        assert result.size in {1, 29 * 29, 31 * 31, 1000}, kernel.name
    rows = KERNELS["softmax"].make(10, np.random.default_rng(0))[0]
    assert rows.shape == (1, 10)
    assert list(SIZES.values()) == sorted(SIZES.values())


def run(capsys, tmp_path, **asked):
    def refuse(message):
        raise AssertionError(message)

    file = tmp_path / "figures.json"
    words = dict(peers=False, sizes=("10",), json_file=str(file)) | asked
    code = command.run(Asked("kernels", 1, **words), refuse)
    return code, capsys.readouterr().out, json.loads(file.read_text())


def test_every_kernel_is_in_the_tables_and_in_the_json(capsys, monkeypatch, tmp_path, small):
    monkeypatch.setattr(limits, "caches", lambda: {"L1": 8, "L2": 4096})
    code, out, told = run(capsys, tmp_path, backends=("eager",))
    assert code == 0
    copies, speedups, details, means = told["tables"]
    assert [row["case"] for row in copies["rows"]] == ["L1", "L2", "0 MB"]
    wanted = [(name, dtype, "10") for name in KERNELS for dtype in DTYPES]
    for table in (speedups, details):
        assert [(row["case"], row["dtype"], row["size"]) for row in table["rows"]] == wanted
    for row in details["rows"]:
        assert row["result"] == "equal"
        assert row["gb_per_s"] > 0
        assert row["within"] == "L2"
        assert (row["of_copy"] is not None) == KERNELS[row["case"]].memory_bound
        assert row["kernel_ms"] is row["reload_ms"] is None
    assert [(row["case"], row["dtype"]) for row in means["rows"]] == [("10", d) for d in DTYPES]
    assert "\nchain " in out


def test_what_a_backend_tells_of_its_kernels_is_shown_and_a_difference_fails(
    capsys, monkeypatch, tmp_path, small
):
    def tells(graph, example_inputs):
        made = eager(graph, example_inputs)

        def call(*inputs):
            return made(*inputs)

        call.kernels, call.compile_seconds, call.reload_seconds = 2, (0.25, 0.5), (0.125,)
        return call

    class Bound:
        """What a function in C is bound to."""

        kernels, compile_seconds, reload_seconds = 2, (0.25, 0.5), (0.125,)

        def __init__(self, made):
            self.call = made

        def __call__(self, *inputs):
            return self.call(*inputs)

    def wrong(graph, example_inputs):
        made = eager(graph, example_inputs)
        return lambda *inputs: tuple(value + 1 for value in made(*inputs))

    monkeypatch.setitem(registry._registered, "tells", tells)
    monkeypatch.setitem(registry._registered, "wrong", wrong)
    bound = lambda graph, example_inputs: Bound(eager(graph, example_inputs)).__call__  # noqa: E731
    monkeypatch.setitem(registry._registered, "bound", bound)
    words = dict(cases=("stencil",), backends=("tells,wrong,bound",))
    code, out, told = run(capsys, tmp_path, **words)
    assert code == 1
    assert "FAILED stencil float64 10, wrong: differs: " in out
    for place in (2, 4):
        first = told["tables"][place]["rows"][0]
        assert (first["kernels"], first["kernel_ms"], first["reload_ms"]) == (2, 500.0, 125.0)
    assert told["tables"][-1]["rows"][0]["wrong"] == 1.0


def test_first_calls_are_with_nothing_on_disk_and_with_the_kernels_there(monkeypatch):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(measuring, "FIRST_CALLS", 1)
    for on_disk in (True, False):
        with config.override(disk_cache=on_disk):
            case = Case(KERNELS["arithmetic"], "float64")
            found = measuring.measure(case, "1e3", (named("native"),), (), 1).backends["native"]
        assert found.facts["kernels"] >= 1  # of one output: what the backend tells is not lost
        assert found.facts["kernel_ms"] > 0
        for key in ("reload_ms", "disk_ms"):
            assert (found.facts[key] is not None) == on_disk


def test_a_peer_that_is_late_once_is_not_asked_again(monkeypatch, small):
    asked = []

    def slow(function):
        asked.append(function)
        raise OSError("interrupted")

    monkeypatch.setattr(measuring, "PEER_SECONDS", 0.0)
    late = peers.Peer("it", "it", "math", slow)
    _, speedups, _ = figures.tables(("stencil",), 1, (late,), backends=(), sizes=("10", "1e3"))
    reasons = [row["it"] for row in speedups.rows]
    assert reasons == ["cannot: more than 0 s to compile"] * 4
    assert len(asked) == 1


def test_a_late_peer_is_told_again_where_it_did_not_hear(monkeypatch):
    told = []

    def deaf(function):
        try:
            time.sleep(30)
        except TimeoutError:
            told.append(1)
        time.sleep(30)

    monkeypatch.setattr(measuring, "PEER_SECONDS", 0.05)
    monkeypatch.setattr(measuring, "LATE_AGAIN", 0.05)
    late, case = peers.Peer("it", "it", "math", deaf), Case(KERNELS["stencil"], "float64")
    found = measuring.measure(case, "10", (), (late,), 1).peers["it"]
    assert found.problem == "cannot: more than 0.05 s to compile"
    assert found.late
    assert told == [1]


def test_what_a_peer_logs_is_kept_off_the_tables(caplog):
    import logging

    def loud(function):
        logging.getLogger("peer").critical("no code for this")
        return function

    it = peers.Peer("it", "it", "math", loud)
    case = Case(KERNELS["chain"], "float64")
    assert not measuring.measure(case, "10", (), (it,), 1).peers["it"].problem
    assert not caplog.records
    logging.getLogger("peer").critical("heard")
    assert [record.message for record in caplog.records] == ["heard"]


# ---- the machine ----------------------------------------------------------------------------------------


def test_caches_are_read_from_the_system(tmp_path):
    for place, (kind, level, size) in enumerate(
        (("Data", 1, "48K"), ("Instruction", 1, "64K"), ("Unified", 2, "2M"), ("Unified", 3, "?"))
    ):
        folder = tmp_path / f"index{place}"
        folder.mkdir()
        for name, text in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    known = limits.caches(tmp_path)
    assert known == {"L1": 48 << 10, "L2": 2 << 20}
    assert limits.caches(tmp_path / "none") == {}
    for nbytes, level in ((48 << 10, "L1"), ((48 << 10) + 1, "L2"), (1 << 30, "memory")):
        assert limits.level(nbytes, known) == level


def test_a_copy_moves_so_many_bytes(monkeypatch):
    seen = []
    monkeypatch.setattr(np, "copyto", lambda to, of: seen.append(to.nbytes + of.nbytes))
    for nbytes in (0, 1600):
        limits.copying(nbytes)()
    assert seen == [16, 1600]


# ---- numexpr --------------------------------------------------------------------------------------------


def straight(x, y):
    """Two names and a sum."""
    d = x - 0.5
    return (np.where(d < y, -d, d) ** 2 / 3).sum()


def loops(x):
    for _ in range(2):
        x = x + 1
    return x


def two(x):
    return x, x


def names_a_global(x):
    return x * SIZES


def other_function(x):
    return np.sort(x)


def nothing(x):
    y = x


def grows(x):
    y = x * x * x * x * x * x * x * x * x * x
    z = y * y * y * y * y * y * y * y * y * y
    a = z * z * z * z * z * z * z * z * z * z
    return a * a * a * a * a * a * a * a * a * a


def test_an_expression_is_the_functions_source():
    text, parameters, constants = numexpr_text.expression(straight)
    assert parameters == ("x", "y")
    assert constants == {"constant_0": 0.5}
    d = "(x - constant_0)"
    assert text == f"sum(((where(({d} < y), (-{d}), {d}) ** 2) / 3))"


@pytest.mark.parametrize("function", (loops, two, names_a_global, other_function, nothing, grows))
def test_what_is_more_than_an_expression_is_refused(function):
    with pytest.raises(numexpr_text.NoExpression):
        numexpr_text.expression(function)


def test_no_program_of_the_suite_is_one_expression():
    for program in PROGRAMS.values():
        with pytest.raises(numexpr_text.NoExpression):
            numexpr_text.expression(program.function)


def test_numexpr_gives_what_numpy_gives_in_both_dtypes():
    pytest.importorskip("numexpr")
    (numexpr,) = (peer for peer in peers.KERNEL_PEERS if peer.key == "numexpr")
    for name, kernel in KERNELS.items():
        for dtype in DTYPES:
            case = Case(kernel, dtype)
            found = measuring.measure(case, "10", (), (numexpr,), 1).peers["numexpr"].problem
            can = name in {"chain", "arithmetic", "squared differences"}
            assert found.startswith("cannot: NoExpression: ") != can, (name, found)


def test_numba_is_asked_with_and_without_fastmath(monkeypatch):
    asked = []
    fake = types.ModuleType("numba")
    fake.njit = lambda function, **options: asked.append(options) or function
    monkeypatch.setitem(__import__("sys").modules, "numba", fake)
    for peer in peers.KERNEL_PEERS:
        if peer.module == "numba":
            peer.compile(programs.chain)
    assert asked == [{}, {"fastmath": True}]


def test_asv_measures_the_same_kernels():
    kernels = Kernels()
    for how in ("plain", "eager"):
        kernels.setup("stencil", "float32", "1e3", how)
        kernels.time_call("stencil", "float32", "1e3", how)


def test_the_table_says_where_a_backend_is_ahead_of_all_others():
    def made(ours, **others):
        times = lambda seconds: measuring.Figures(times=[seconds], plain_times=[1.0])  # noqa: E731
        one = measuring.Measured(Case(KERNELS["chain"], "float64"), "10", [1.0])
        one.backends["ours"] = times(ours)
        one.peers = {name: times(seconds) for name, seconds in others.items()}
        one.peers["cannot"] = measuring.Figures(problem="cannot: it is not so")
        return one

    every = [made(0.5, a=0.6, b=0.7), made(0.5, a=0.4), made(0.5, a=0.5), made(0.5)]
    assert [*figures._ahead(every)] == [
        "ours: as fast as the fastest of the others, or faster, in 2 of 3 rows."
    ]
    every[0].backends["ours"].problem = "differs"
    assert "in 1 of 3" in next(figures._ahead(every))
    assert not [*figures._ahead([made(0.5)])]
    assert not [*figures._ahead([])]
    table = figures._speedups(every, {"ours": "ours", "a": "a"})
    assert table.notes[-1].startswith("ours: as fast")


def test_a_reason_names_no_place_on_this_machine():
    for text, wanted in {
        "Cannot unify x and y for 'y.2', defined at /home/me/some/file.py (31)": "Cannot unify x and y for 'y.2'",
        "no such file /opt/a/b.so: really": "no such file",
        "a / b is not a/b": "a / b is not a/b",
    }.items():
        assert peers.one_line(TypeError(text)) == f"TypeError: {wanted}"
