"""What reports say, as records, text and plain data: guards beside lines, recompilations, limits, breaks, callees, all compiled functions."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import types

import numpy as np
import pytest

import bcjit
from bcjit import reports
from bcjit.config import config
from bcjit.reports.collect import package_of
from bcjit.reports.parts import Seconds
from bcjit.reports.words import count
from tests.report_kit import timeless

X = np.arange(6.0)
THRESHOLD = 2.0


def helper(x, k):
    return x * k + THRESHOLD


def branching(x, k):
    y = helper(x, k)
    if y.max() > 1.0:
        y = y / 2
    return y


def summed(x, n):
    for i in range(n):
        x = x + i
    return x


def line_of(fn, offset):
    return fn.__code__.co_firstlineno + offset


@pytest.fixture
def compiled():
    made = bcjit.compile(branching)
    for argument in (X, X, X.astype("f4"), X.astype("i4"), X.astype("f4")):
        made(argument, 3.0)
    return made


# ---------------------------------------------------------------------- records
def test_each_guard_has_the_line_that_relied_on_it(compiled):
    part = compiled.report().parts[0]
    found = {guard.what: guard.line.lineno for guard in part.guards}
    assert found["x is a float64 array of 1 dimension"] == line_of(helper, 1)
    assert found["k is a float"] == line_of(helper, 1)
    (name,) = {guard.name for guard in part.guards if guard.what == "helper is a function"}
    assert name == "helper"


def test_a_variant_has_its_times_lines_and_break(compiled):
    first, second = compiled.report().parts[:2]
    assert first.seconds.capture > 0
    assert first.seconds.assembly > 0
    assert first.seconds.total == sum(first.seconds.as_dict().values())
    lines = {line.lineno for line, _ in first.lines}
    assert lines == {line_of(helper, 1), line_of(branching, 2)}
    assert (first.cut.code, first.cut.line.lineno) == ("BRK001", line_of(branching, 2))
    assert first.cut.hint.startswith("np.where")
    assert first.cut.explanation
    assert second.cut is None
    assert second.ends == "returns"
    assert compiled.report().seconds.total >= first.seconds.total + second.seconds.total


def test_a_recompilation_has_both_values_and_the_line_that_relied(compiled):
    first = compiled.report().recompilations[0]
    assert (first.expected, first.seen) == ("x: dtype float64 was expected", "float32")
    assert first.guard == "x is a float64 array of 1 dimension"
    assert (first.line.lineno, first.relied.lineno) == (line_of(branching, 0), line_of(helper, 1))


def test_variants_of_one_part_have_its_number(compiled):
    parts = compiled.report().parts
    assert [(part.where, part.part) for part in parts if part.cut is not None] == [
        (f"test_reports.py:{line_of(branching, 0)}", 0)
    ] * 3
    assert {part.part for part in parts} == {0, 1}


def test_the_limit_says_what_kept_failing_and_what_to_do():
    made = bcjit.compile(helper)
    with config.override(cache_limit=2):
        for dtype in ("f8", "f4", "i4", "i2", "u1"):
            made(X.astype(dtype), 2.0)
        report = made.report()
        (limit,) = report.limits
        assert (limit.limit, limit.allowed, limit.calls) == ("cache_limit", 2, 3)
        assert report.plain_calls == 3
        assert "int16" in " ".join(limit.seen)
        assert limit.hint
        text = str(report)
    assert "3 calls ran plain, there are as many variants as bcjit.config.cache_limit (2)" in text
    assert f"hint: {limit.hint}" in text


def test_a_report_keeps_nothing_of_the_program_alive():
    import gc
    import weakref

    class Model:
        def __init__(self):
            self.w = np.ones(3)

        def __call__(self, x):
            return x * self.w

    model = Model()
    made = bcjit.compile(model)
    made(np.ones(3))
    report = made.report()
    alive = weakref.ref(model), weakref.ref(model.w), weakref.ref(made.graphs[0])
    del model, made
    gc.collect()
    assert [one() for one in alive] == [None] * 3
    assert report.parts[0].nodes == 1
    assert "<h1>" in report.html()


# ---------------------------------------------------------------------- callees and packages
def noisy(x):
    y = x + 1
    print(end="")
    return y * 2


def calling(x):
    return noisy(x) * 2


def test_the_function_itself_comes_first_and_callees_behind_it():
    made = bcjit.compile(calling)
    made(X)
    report = made.report()
    assert [function.name for function in report.functions] == ["calling", "noisy"]
    assert [part.function for part in report.parts] == ["calling"] * 2 + ["noisy"] * 2
    text = str(report)
    assert timeless(text.splitlines()[0]).startswith("calling: 4 compiled variants")
    where = f"test_reports.py:{line_of(noisy, 0)}"
    own, callee = text.split(f"\n  {where}: noisy, called from it: 2 compiled variants, ")
    assert "BRK006" in own
    assert "BRK003" in callee
    assert "Called from it: " in report.html()


def test_a_value_that_has_no_name_is_an_operand():
    made = bcjit.compile(calling)
    made(X)
    assert "<operand 1> is a float64 array of 1 dimension" in made.report().text()


def test_functions_of_installed_packages_are_counted():
    path = "/somewhere/site-packages/theirs/deep.py"
    source = "def deep(x):\n    y = x + 1\n    print(end='')\n    return y * 2\n"
    namespace = {}
    exec(compile(source, path, "exec"), namespace)
    deep = namespace["deep"]

    def outer(x):
        return deep(x) * 2

    made = bcjit.compile(outer)
    made(X)
    report = made.report()
    assert [function.package for function in report.functions] == ["", "theirs"]
    own, theirs = str(report).split("\n  1 function of theirs, called from it: ")
    assert timeless(theirs) == "2 compiled variants, 1 break, some time"
    assert "deep.py" not in own
    assert "1 function of theirs, called from it: " in report.html()
    assert "theirs" in str(made.explain(X))
    # What is itself asked about is not folded.
    of_theirs = bcjit.compile(deep)
    of_theirs(X)
    assert [function.package for function in of_theirs.report().functions] == [""]
    assert "deep.py:1: 1 node" in str(of_theirs.report())


def test_guards_and_nodes_of_inlined_code_of_packages_are_counted():
    path = "/somewhere/site-packages/theirs/flat.py"
    namespace = {"factor": 2.0}
    exec(compile("def flat(x):\n    return x * factor + 1\n", path, "exec"), namespace)
    flat = namespace["flat"]
    made = bcjit.compile(lambda x: flat(x) - 1)
    made(X)
    report = made.report()
    (part,) = report.parts
    assert part.elsewhere == (("theirs", 2),)
    assert [nodes for _, nodes in part.lines] == [1]
    text = report.text()
    assert "for code of theirs" in text
    assert "factor" not in text
    assert "2 nodes from code of theirs" in report.html()


@pytest.mark.parametrize(
    ("filename", "package"),
    [
        (np.__file__, "numpy"),
        (json.__file__, "the standard library"),
        ("<frozen runpy>", "the standard library"),
        (bcjit.__file__, "bcjit"),
        (r"C:\py\site-packages\pkg\mod.py", "pkg"),
        ("/lib/dist-packages/single.py", "single"),
        (__file__, ""),
        ("<string>", ""),
    ],
)
def test_whose_code_a_file_is(filename, package):
    assert package_of(filename) == package


# ---------------------------------------------------------------------- text
def test_the_same_thing_is_one_row(compiled):
    rows = compiled.report().text().splitlines()
    first = line_of(branching, 0)
    assert sum("BRK001 data-dependent branch" in row for row in rows) == 1
    assert any(row.endswith("(3 variants)") and "BRK001" in row for row in rows)
    assert sum("hint: np.where" in row for row in rows) == 1
    again = (
        f"  test_reports.py:{first} compiled again 2 times: x: dtype float64 was expected"
        f" (relied on at test_reports.py:{line_of(helper, 1)}), got float32, int32"
    )
    assert again in rows
    assert f"  test_reports.py:{first}: 3 variants" in rows
    common = [row for row in rows if row.startswith("    all need for ") and "THRESHOLD" in row]
    assert len(common) == 1
    own = f"      needs for line {line_of(helper, 1)}: x is a float32 array of 1 dimension"
    assert own in rows


def test_names_that_mean_what_they_did_are_one_row(compiled):
    text = compiled.report().text()
    assert "    all need unchanged: helper" in text.splitlines()
    assert "__globals__" not in text


def test_the_head_has_the_times(compiled):
    head = str(compiled.report()).splitlines()[0]
    assert timeless(head) == (
        "branching: 5 compiled variants, 3 recompilations, compiled in some time"
        " (capture some time, backend some time, assembly some time)"
    )


def test_long_reports_end_with_what_is_left_out():
    def cut(x):
        bcjit.graph_break()
        return x

    source = (
        "def many(x):\n" + "".join(f"    x = cut(x + {i})\n" for i in range(60)) + "    return x\n"
    )
    namespace = {"cut": bcjit.disable(cut)}
    exec(source, namespace)
    made = bcjit.compile(namespace["many"])
    made(X)
    report = made.report()
    assert len(report.parts) == 61
    rows = str(report).splitlines()
    assert "  and 21 more parts" in rows
    assert len(report.as_dict()["parts"]) == 61
    page = report.html()
    assert "more graphs left out" in page
    assert page.count("<svg") == 24


def test_a_long_graph_is_drawn_and_listed_in_part():
    source = "def long(x):\n" + "".join(f"    x = x + {i}\n" for i in range(500)) + "    return x\n"
    namespace = {}
    exec(source, namespace)
    found = bcjit.explain(namespace["long"], X)
    (part,) = found.parts
    assert (part.nodes, len(part.picture.rows), part.picture.left_out) == (500, 400, 101)
    assert "more lines" in str(found)
    page = found.html()
    assert "341 more nodes not drawn" in page


def test_a_report_of_nothing():
    report = bcjit.compile(branching).report()
    assert timeless(str(report)) == "branching: 0 compiled variants, 0 recompilations"
    assert report.parts == report.recompilations == report.problems == ()
    assert report.seconds == Seconds()
    assert "branching" in report.html()


def test_repr_is_short(compiled):
    assert re.fullmatch(
        r"<bcjit Report: branching: 5 compiled variants.*>", repr(compiled.report())
    )


def test_numbers_are_counted():
    assert [count(n, "node") for n in (0, 1, 2, 12345)] == [
        "0 nodes",
        "1 node",
        "2 nodes",
        "12,345 nodes",
    ]


# ---------------------------------------------------------------------- in colour
class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_print_is_plain_where_the_output_is_no_terminal(compiled, capsys):
    report = compiled.report()
    report.print()
    assert capsys.readouterr().out == f"{report}\n"


def test_print_is_in_colour_on_a_terminal_where_rich_is_installed(compiled, monkeypatch):
    pytest.importorskip("rich")
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    report = compiled.report()
    file = Terminal()
    report.print(file)
    shown = file.getvalue()
    assert "\x1b[1m" in shown
    without = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert [row.rstrip() for row in without.splitlines()] == str(report).splitlines()


def test_print_is_plain_on_a_terminal_without_rich(compiled, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    file = Terminal()
    compiled.report().print(file)
    assert file.getvalue() == f"{compiled.report()}\n"


def test_square_brackets_are_no_markup_of_rich(monkeypatch):
    rich = pytest.importorskip("rich.console")

    def fn(x, opts):
        return x + opts["[bold]"]

    made = bcjit.compile(fn)
    for value in (1.0, 1):
        made(X, {"[bold]": value})
    console = rich.Console(file=io.StringIO(), width=300)
    console.print(made.report())
    assert "opts['[bold]']: a float was expected" in console.file.getvalue()


# ---------------------------------------------------------------------- plain data
def test_all_of_a_report_is_plain_data(compiled):
    data = json.loads(json.dumps(compiled.report().as_dict()))
    assert data["function"] == "branching"
    (function,) = data["functions"]
    assert (function["variants"], function["recompilations"], function["package"]) == (5, 3, "")
    assert function["filename"] == __file__
    part = data["parts"][0]
    where = f"test_reports.py:{line_of(helper, 1)}"
    assert {"what": "k is a float", "relied": where} in part["guards"]
    assert part["break"]["code"] == "BRK001"
    assert part["lines"][where] == 2
    assert set(part["seconds"]) == {"capture", "backend", "assembly"}
    again = data["recompilations"][0]
    assert (again["expected"], again["seen"]) == ("x: dtype float64 was expected", "float32")
    assert again["relied"] == where
    assert "float32" in again["why"]


def test_an_explanation_is_plain_data_too():
    found = bcjit.explain(summed, X, 3)
    data = json.loads(json.dumps(found.as_dict()))
    assert data["parts"][0]["loops"] == data["loops"]
    assert found.result.tolist() == summed(X, 3).tolist()
    assert "seconds" in data


# ---------------------------------------------------------------------- verdicts of the cost model
@pytest.mark.parametrize(
    ("verdicts", "says"),
    [
        ((), "faster? not measured: time calls of it beside calls of its __wrapped__"),
        (((True, 1.3e-6, 2.1e-6),), "not faster: calls run as plain Python"),
        (((False, 2.1e-6, 1.5e-6),), "1.40 times as fast as plain Python;"),
        (
            ((False, 3e-6, 1e-6), (False, 3e-6, 2e-6), (True, 1e-7, 2e-7)),
            "1.50 to 3.00 times as fast as plain Python, for other sizes plain Python runs;",
        ),
        (((False, 3e-6, 2e-6), (False, 1e-6, 1e-6)), "up to 1.50 times as fast as plain Python;"),
        (((False, 1e-6, 0.98e-6),), "as fast as plain Python;"),
    ],
)
def test_the_first_line_says_whether_it_is_faster_and_what_to_change(monkeypatch, verdicts, says):
    from bcjit.code_cache import CacheEntry, Verdict

    found = tuple(Verdict(1, 64, plain, *times, 8) for plain, *times in verdicts)
    straight, cut = bcjit.compile(helper), bcjit.compile(branching)
    straight(X, 2.0)
    cut(X + 1, 3)
    monkeypatch.setattr(CacheEntry, "verdicts", property(lambda self: found))
    line = str(straight.report()).splitlines()[1]
    assert line.startswith(f"  {says}")
    assert line.endswith("; nothing to change")
    assert f"<b>{line.strip()}</b>" in straight.report().html()
    line = str(cut.report()).splitlines()[1]
    assert line.endswith(f"; first to change: test_reports.py:{line_of(branching, 2)} (BRK001)")


def test_the_first_line_names_the_limit_or_what_runs_plain_before_breaks():
    made = bcjit.compile(helper)
    with config.override(cache_limit=1):
        for dtype in ("f8", "f4"):
            made(X.astype(dtype), 2.0)
        (limit,) = made.report().limits
        line = str(made.report()).splitlines()[1]
    assert line.endswith(f"; first to change: {limit.line} ({limit.hint})")

    def suspended(x):
        yield x

    made = bcjit.compile(suspended)
    list(made(X))
    assert str(made.report()).splitlines()[1] == "  runs as plain Python"


def test_what_was_switched_back_has_both_times(monkeypatch):
    from bcjit.code_cache import CacheEntry, Verdict

    verdict = Verdict(1, 64, True, 1.3e-6, 2.1e-6, 8)
    monkeypatch.setattr(CacheEntry, "verdicts", property(lambda self: (verdict,)))
    made = bcjit.compile(helper)
    made(X, 2.0)
    report = made.report()
    assert "switched back to plain Python" in str(report)
    assert "1.3 µs plain, 2.1 µs compiled" in str(report)
    assert "1.3 µs plain, 2.1 µs compiled" in report.html()
    (data,) = report.as_dict()["parts"][0]["verdicts"]
    assert (data["plain"], data["plain_seconds"], data["compiled_seconds"]) == (
        True,
        1.3e-6,
        2.1e-6,
    )


# ---------------------------------------------------------------------- all compiled functions
def made_of_one_definition():
    return bcjit.compile(lambda x: x - 1)


def test_the_report_of_all_puts_copies_of_one_definition_together():
    bcjit.reset()
    first, second = made_of_one_definition(), made_of_one_definition()
    first(X)
    second(X)
    second(X.astype("f4"))
    idle = bcjit.compile(summed)
    report = bcjit.report()
    name = f"{made_of_one_definition.__qualname__}.<locals>.<lambda>"
    (one,) = [one for one in report.reports if one.function == name]
    assert one.copies == 2
    assert len(one.parts) == 3
    assert {part.part for part in one.parts} == {0}
    text = str(report)
    assert f"{name} (2 compiled functions): 3 compiled variants" in text
    assert re.search(r"^not called yet: .*\bsummed\b", text, re.MULTILINE)
    assert "2 compiled functions of this definition" in report.html()
    data = json.loads(json.dumps(report.as_dict()))
    assert name in [one["function"] for one in data["reports"]]
    del first, second, idle


def test_functions_that_are_gone_are_not_in_the_report_of_all():
    import gc

    def gone(x):
        return x

    made = bcjit.compile(gone)
    made(X)
    assert any(one.function.endswith("gone") for one in bcjit.report().reports)
    del made
    gc.collect()
    assert not any(one.function.endswith("gone") for one in bcjit.report().reports)


def test_a_backend_whose_callable_raises_is_a_problem():
    def broken(graph, inputs):
        return lambda *args: 1 / 0

    made = bcjit.compile(lambda x: x + 1, backend=broken)
    for _ in range(3):
        assert made(X).tolist() == (X + 1).tolist()
    (problem,) = made.report().problems
    assert (problem.code, problem.context) == ("BACKEND", "ZeroDivisionError: division by zero")
    assert "plain: BACKEND what backend" in str(made.report())
    assert "ZeroDivisionError" in made.report().html()


# ---------------------------------------------------------------------- where nothing is compiled
def test_what_runs_plain_has_the_methods_of_a_report(tmp_path, capsys):
    made = bcjit.compile(len)
    report = made.report()
    assert (
        report
        == "len runs as plain Python: it is a builtin_function_or_method, not a Python function"
    )
    assert report.parts == report.recompilations == report.problems == ()
    assert report.as_dict() == {"plain": str(report), "parts": [], "problems": []}
    report.print()
    assert capsys.readouterr().out == f"{report}\n"
    report.save(tmp_path / "plain.html")
    assert "runs as plain Python" in (tmp_path / "plain.html").read_text()
    assert "runs as plain Python" in report._repr_html_()
    assert made.explain("abc") == report


def test_the_report_of_all_where_everything_is_switched_off():
    program = "import bcjit\nf = bcjit.compile(lambda x: x)\nf(1)\nprint(bcjit.report())\nf.report().html()\n"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={"BCJIT_DISABLE": "1", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.stdout == "everything runs as plain Python: BCJIT_DISABLE is set\n"


# ---------------------------------------------------------------------- latency
def test_import_loads_neither_reports_nor_rich():
    program = (
        "import sys, bcjit\n"
        "print([name for name in sys.modules if name.startswith(('bcjit.reports.', 'rich'))])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert done.stdout == "[]\n"


def test_the_package_has_the_names_it_says():
    assert isinstance(reports, types.ModuleType)
    for name in reports.__all__:
        assert getattr(reports, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = reports.nothing


def test_loops_and_with_blocks_are_told_of_in_words():
    def turns(x, n):
        out = []
        for k in range(n):
            x = x + 1
            if k % 9 == 0:
                out.append(x)
        with np.errstate(divide="ignore"):
            return out, x

    made = bcjit.compile(turns)
    made(X, 30)
    text = made.report().text()
    for words in (
        "turn of a loop at test_reports.py",
        ": the first turn",
        ": the next turn, over a range",
        "the loop goes over a range",
        "next k is an int",
        "put the values into an array made before the loop",
        "with block at test_reports.py",
        "around the call of the compiled function",
    ):
        assert words in text
    for words in ("range_iterator", "BEFORE_WITH", "Nothing needs to be done. Whole"):
        assert words not in text


def test_a_module_that_imports_at_the_first_use_is_told_of():
    lazy = types.ModuleType("lazy")
    lazy.__getattr__ = lambda name: 3.0

    def scaled(x):
        return x * lazy.factor

    made = bcjit.compile(scaled)
    assert made(X).tolist() == (X * 3.0).tolist()
    (cut,) = {part.cut for part in made.report().parts if part.cut}
    assert (cut.code, cut.context.partition(",")[0]) == ("BRK010", "module lazy.factor")
    assert "a first use of lazy.factor may import it" in cut.context
    assert "import numpy.random" in cut.hint


def test_the_first_to_change_of_a_loop_is_what_keeps_it_in_python():
    def turns(x, n):
        found = []
        for k in range(n):
            x = x + 1
            if k % 9 == 0:
                found.append(x)
        return found

    made = bcjit.compile(turns)
    made(X, 30)
    where = f"test_reports.py:{line_of(turns, 2)}"
    line = str(made.report()).splitlines()[1]
    assert f"; first to change: {where}: loop left in Python: " in line
    assert "an array made before the loop" in line


def test_that_a_class_lacks_a_name_is_said_with_the_names():
    class Holder:
        def __init__(self):
            self.v = X

    def doubled(h):
        h.v = h.v * 2
        return h.v

    made = bcjit.compile(doubled)
    made(Holder())
    text = made.report().text()
    assert "has no 'v'" not in text
    assert "type(h).v" in text.partition("needs unchanged: ")[2]
    guards = [g["what"] for g in made.report().as_dict()["parts"][0]["guards"]]
    assert "type(h) has no 'v'" in guards


def test_guards_are_told_where_they_are_asked_for(capsys):
    made = bcjit.compile(helper)
    made(X, 2.0)
    report = made.report()
    assert "needs" not in str(report)
    assert "needs for line" in report.text()
    assert report.text(guards=False) == str(report)
    report.print(guards=True)
    assert capsys.readouterr().out == f"{report.text()}\n"
    report.print()
    assert capsys.readouterr().out == f"{report}\n"
