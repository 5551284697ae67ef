"""``python -m bcjit bisect``: the search with runs that are made up, the choices in the environment, and one script."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import bcjit
from bcjit import backends, selection
from bcjit.__main__ import main
from bcjit.debugging.bisect import EQUAL, FOUND, NOT_REPEATABLE, Bisection, Run
from bcjit.errors import ArgumentError
from bcjit.records import replace
from bcjit.selection import Selection, choosing

ROOT = Path(__file__).parents[1]


class Program:
    """A program of parts and nodes that shows something else when `is_wrong` says so of those that were chosen."""

    def __init__(self, is_wrong, parts=6, nodes=20):
        self.is_wrong = is_wrong
        self.parts, self.nodes = range(parts), range(nodes)
        self.choices = []

    def __call__(self, choice):
        self.choices.append(choice)
        if choice is None:
            return Run("one\ntwo\n", "", 0, ())
        chosen = Selection(choice)
        told = [{"part": k, "file": "model.py", "line": k, "function": "f"} for k in self.parts]
        told.append({"nodes": len(self.nodes)})
        if len(chosen.nodes) <= selection.TOLD:
            told += [
                {"node": k, "name": f"n{k}", "text": f"n{k} = f()", "file": __file__, "line": 3, "function": "f"}
                for k in self.nodes if k in chosen.nodes
            ]  # fmt: skip
            told.append({"operands": {"x": "float64[4]"}})
        picked = [k for k in self.parts if k in chosen.parts], [k for k in self.nodes if k in chosen.nodes]  # fmt: skip
        wrong = self.is_wrong(*picked)
        return Run("one\nthree\n" if wrong else "one\ntwo\n", "", 4 if wrong else 0, tuple(told))


def answer(run):
    said, progress = [], []
    return Bisection(run, said.append, progress.append).answer(), "\n".join(said), progress


@pytest.mark.parametrize("culprit", [0, 7, 19])
def test_one_node_is_found_in_few_runs(culprit):
    program = Program(lambda parts, nodes: len(parts) == 6 and culprit in nodes)
    code, said, progress = answer(program)
    assert code == FOUND
    assert f"the node that makes the difference: n{culprit} at" in said
    assert f"  n{culprit} = f()" in said
    assert "called with x: float64[4]" in said
    assert "exit code 0 plain, 4 compiled" in said
    assert "stdout, line 2: 'two' plain, 'three' compiled" in said
    assert len(program.choices) <= 16
    assert len(progress) == len(program.choices) - 2
    assert (
        len(set(program.choices)) == len(program.choices) - 1
    )  # none is run twice but the plain one


def test_nodes_that_fail_only_together_are_told():
    code, said, _ = answer(Program(lambda _parts, nodes: {3, 5} <= set(nodes)))
    assert code == FOUND
    assert "3 nodes that make the difference only together, the last one: n5" in said


def test_wrong_part_is_found_where_numpy_itself_runs_the_graphs():
    code, said, _ = answer(Program(lambda parts, _nodes: 4 in parts))
    assert code == FOUND
    assert "the part that makes the difference: at model.py:4 in f" in said
    assert "please report this" in said.lower()


def test_hook_alone_is_told():
    code, said, _ = answer(Program(lambda _parts, _nodes: True))
    assert code == FOUND
    assert "the hook alone makes the difference" in said


def test_what_is_equal_or_not_repeatable_is_told():
    code, said, _ = answer(Program(lambda _parts, _nodes: False))
    assert code == EQUAL
    assert said == "equal: 6 parts and 20 nodes compiled, and the script shows the same"
    numbers = iter(range(9))
    code, said, _ = answer(lambda _choice: Run(str(next(numbers)), "", 0, ()))
    assert code == NOT_REPEATABLE
    assert "not repeatable" in said


def test_choice_is_read_and_what_comes_up_is_told(tmp_path):
    file = tmp_path / "told"
    chosen = Selection(f"parts=1:2,nodes=3:,to={file}")
    assert [chosen.takes_part(key, line=1) for key in "aabba"] == [False, False, True, True, False]
    assert chosen.takes_nodes(2) == (0, range(2, 2))
    assert chosen.takes_nodes(4) == (2, range(1, 4))
    assert not chosen.tells_nodes  # too many
    rows = [ast.literal_eval(line) for line in file.read_text().splitlines()]
    assert rows == [{"part": 0, "line": 1}, {"part": 1, "line": 1}, {"nodes": 2}, {"nodes": 6}]


def test_file_is_the_rest_of_the_choice(tmp_path):
    folder = tmp_path / "a, nodes=b"
    folder.mkdir()
    Selection(f" parts=0:1 , to={folder}/to=ld").tell(line=1)
    assert (folder / "to=ld").read_text() == "{'line': 1}\n"


# pytest-xdist has threads of its own.
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("fork", [False, True])
def test_other_processes_compile_everything_and_tell_only_that_they_are_there(tmp_path, fork):
    file = tmp_path / "told"
    parent = os.getppid() if fork else os.getpid()
    chosen = Selection(f"parts=0:0,nodes=0:0,parent={parent},to={file}")
    script = f"""if True:
        from bcjit.selection import Selection
        chosen = Selection("parts=0:0,nodes=0:0,parent=1{parent},to={file}")
        answers = [chosen.takes_part(key) for key in "aba"], chosen.takes_nodes(3), chosen.tells_nodes
        raise SystemExit(answers != ([True] * 3, (0, range(3)), False))
        """
    if not fork:
        done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)  # fmt: skip
        assert done.returncode == 0
    else:
        chosen.tell(line=1)
        child = os.fork()
        if child == 0:
            answers = [chosen.takes_part(key) for key in "aba"], chosen.takes_nodes(3), chosen.tells_nodes  # fmt: skip
            os._exit(answers != ([True] * 3, (0, range(3)), False))
        assert os.waitpid(child, 0)[1] == 0
        assert not chosen.takes_part("a", line=2)
    rows = [ast.literal_eval(line) for line in file.read_text().splitlines()]
    others = [row for row in rows if "process" in row]
    assert len(others) == 1
    own = [row for row in rows if "process" not in row]
    assert own == ([{"line": 1}, {"part": 0, "line": 2}] if fork else [])


def test_difference_in_another_process_is_told():
    program = Program(lambda _parts, _nodes: True, parts=0, nodes=0)

    def run(choice):
        found = program(choice)
        return found if choice is None else replace(found, told=(*found.told, {"process": 7}))

    code, said, _ = answer(run)
    assert code == FOUND
    assert "runs in another process" in said
    assert "the hook" not in said


@pytest.mark.parametrize("text", ["parts", "parent=x", "nodes=3", "nodes=a:b", "edges=1:2"])
def test_unreadable_choice_is_named(text):
    with pytest.raises(ArgumentError, match="environment variable BCJIT_ONLY"):
        Selection(text)


def test_only_the_chosen_nodes_go_to_the_backend(tmp_path):
    """A graph of six nodes: none, some and all of them; the results are the same."""

    def f(x):
        return np.sin(np.cos(x) * 2.0) + np.exp(x - 1.0)

    x = np.arange(3.0)
    for text, wanted in (("nodes=0:0", []), ("nodes=1:3", [2]), ("nodes=0:6", [6])):
        file = tmp_path / "told"
        file.unlink(missing_ok=True)
        chosen = Selection(f"{text},to={file}")
        backend = Counting()
        compiled = bcjit.compile(f, backend=backend)
        with choosing(chosen):
            for _ in range(2):
                assert np.array_equal(compiled(x), f(x))
        assert backend.counts == wanted
        rows = [ast.literal_eval(line) for line in file.read_text().splitlines()]
        assert rows[0]["function"].endswith("f")
        named = [row["name"] for row in rows if "node" in row]
        assert named == ["cos", "mul", "sin", "sub", "exp", "add"][chosen.nodes.start : chosen.nodes.stop]  # fmt: skip
        operands = [row["operands"] for row in rows if "operands" in row]
        assert (
            operands
            == {
                "nodes=0:0": [],
                "nodes=1:3": [{"x": "float64[3]", "cos": "float64[3]"}],
                "nodes=0:6": [{"x": "float64[3]"}],
            }[text]
        )


def test_graph_that_writes_is_not_cut(tmp_path):
    """What fails behind the write can be resumed, whatever is chosen."""

    def f(x, y):
        x += 1.0
        return np.log(y) * 2.0

    file = tmp_path / "told"
    for text, wanted in (("nodes=0:0", []), ("nodes=0:1", [3])):
        backend = Counting()
        x = np.zeros(2)
        with (
            choosing(Selection(f"{text},to={file}")),
            np.errstate(divide="warn"),
            pytest.warns(RuntimeWarning, match="divide by zero"),
        ):
            assert bcjit.compile(f, backend=backend)(x, np.zeros(2))[0] == -np.inf
        assert x.tolist() == [1.0, 1.0]
        assert backend.counts == wanted
    (row,) = [row for row in map(ast.literal_eval, file.read_text().splitlines()) if "node" in row]
    assert row["name"] == "the graph with iadd"


class Counting:
    def __init__(self):
        self.counts = []

    def __call__(self, graph, examples):
        self.counts.append(graph.count)
        return backends.eager(graph, examples)


def test_parts_that_are_not_chosen_run_plain():
    def f(x):
        y = x + 1.0
        bcjit.graph_break()
        return y * 2.0

    compiled = bcjit.compile(f)
    with choosing(Selection("parts=0:1")):
        for _ in range(2):
            assert compiled(np.ones(2)).tolist() == [4.0, 4.0]
    assert [graph.count for graph in compiled.graphs] == [1]


SCRIPT = """
    import sys
    import numpy as np
    import bcjit

    @bcjit.disable
    def backend(graph, examples):
        for node in graph.all_calls:
            if node.target is np.sin:
                node.target = np.cos
        return graph.to_callable()

    @bcjit.compile(backend=backend)
    def model(x):
        y = x * 2.0
        for _ in range(20):
            y = np.sin(y) - 1.0
        return y - x

    print(model(np.zeros(3)).max() > -1.0)
"""


def test_script_with_a_wrong_backend_leads_to_its_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    done = subprocess.run(
        [sys.executable, "-m", "bcjit", "bisect", str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == FOUND, done.stderr
    assert "stdout, line 1: 'False' plain, 'True' compiled" in done.stdout
    assert f"the node that makes the difference: sin at {script}:17 in model" in done.stdout
    assert "in the line: y = np.sin(y) - 1.0" in done.stdout
    assert "y: float64[3]" in done.stdout


def test_words_are_checked(capsys):
    for words, says in (
        (["bisect"], "a script, -m module or -c code is expected"),
        (["bisect", "--backend", "egaer", "-c", "pass"], "no backend is named 'egaer'"),
        (["bisect", "--report", "-c", "pass"], "no option --report; there is --backend, --help"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
        assert says in capsys.readouterr().err
