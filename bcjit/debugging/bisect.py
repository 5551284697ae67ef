"""Bisection of a script: which part, or which node for a backend, makes the compiled run differ from the plain one.

The script is run again and again, each time with another choice in ``BCJIT_ONLY`` (see `bcjit.selection`); what it shows (stdout, stderr, exit
code) is compared with what it shows as plain Python. See ``docs/design/0018-debugging.md``.
"""

from __future__ import annotations

import ast
import linecache
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from bcjit.records import dataclass
from bcjit.selection import TOLD, VARIABLE
from bcjit.whole_script import Target, interpreter_flags

__all__ = ["EQUAL", "FOUND", "NOT_REPEATABLE", "Bisection", "Run", "bisect"]

# Exit codes of the command; 2 is for wrong words.
EQUAL: Final = 0
FOUND: Final = 1
NOT_REPEATABLE: Final = 3

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Run:
    """What one run showed, and what came up in it."""

    stdout: str
    stderr: str
    code: int
    told: tuple[dict[str, Any], ...]

    @property
    def shown(self) -> tuple[str, str, int]:
        """What is compared."""
        return self.stdout, self.stderr, self.code

    def count(self, what: str) -> int:
        """Return how many parts or nodes came up."""
        last = [row[what] for row in self.told if what in row]
        return (last[-1] + (what == "part")) if last else 0


def bisect(target: Target, backend: str, *, say: Say, progress: Say) -> int:
    """Find what makes the compiled run of a script differ; return the exit code of the command.

    Parameters
    ----------
    target
        What is run.
    backend
        Name of the backend under test.
    say
        Is given the lines of the answer.
    progress
        Is given a line for each run.
    """
    with tempfile.TemporaryDirectory(prefix="bcjit-bisect-") as folder:
        file = Path(folder) / "told"
        return Bisection(lambda choice: _run(target, backend, file, choice), say, progress).answer()


def _run(target: Target, backend: str, file: Path, choice: str | None) -> Run:
    """Run a script: None as plain Python, else compiled with a choice of parts and nodes."""
    # Sets must have one order in all runs.
    environment = {"PYTHONHASHSEED": "0", **os.environ}
    words = [sys.executable, *interpreter_flags()]
    if choice is None:
        environment["BCJIT_DISABLE"] = "1"
    else:
        words += ["-m", "bcjit", "run", "--backend", backend]
        environment[VARIABLE] = f"{choice},parent={os.getpid()},to={file}"
        # What runs plain because it is slow compiled would not be tested.
        environment["BCJIT_COST_MODEL"] = "0"
        file.unlink(missing_ok=True)
    done = subprocess.run(
        [*words, *target.words()],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    known = choice is not None and file.exists()
    told = file.read_text(encoding="utf-8").splitlines() if known else []
    return Run(
        stdout=done.stdout.decode(errors="backslashreplace"),
        stderr=_without_ours(done.stderr.decode(errors="backslashreplace")),
        code=done.returncode,
        told=tuple(ast.literal_eval(line) for line in told),
    )


class Bisection:
    """The search, whatever the runs are.

    Parameters
    ----------
    run
        Runs with a choice; None is plain Python.
    say, progress
        See `bisect`.
    """

    def __init__(self, run: Callable[[str | None], Run], say: Say, progress: Say) -> None:
        self.run = run
        self.say = say
        self.progress = progress
        self.seen: dict[str, tuple[bool, Run]] = {}
        self.plain = run(None)
        self.runs = 1

    def look(self, choice: str) -> tuple[bool, Run]:
        """Say whether a run differs from the plain one; each choice is run once."""
        if choice in self.seen:
            return self.seen[choice]
        self.runs += 1
        found = self.run(choice)
        wrong = found.shown != self.plain.shown
        self.seen[choice] = wrong, found
        what = choice or "everything"
        self.progress(f"run {self.runs}: {what}: {'differs' if wrong else 'equal'}")
        return wrong, found

    def first_wrong(self, most: int, choice: Callable[[int], str]) -> int:
        """Return the smallest number with which a run differs and without the last of which it does not: `most` is known to differ, 0 not to."""
        good, bad = 0, most
        while bad - good > 1:
            middle = (good + bad) // 2
            wrong, _ = self.look(choice(middle))
            good, bad = (good, middle) if wrong else (middle, bad)
        return bad

    def answer(self) -> int:
        """Look for what makes the difference, and tell it."""
        self.runs += 1
        if self.run(None).shown != self.plain.shown:
            self.say("not repeatable: two plain runs of the script show different things")
            return NOT_REPEATABLE
        wrong, whole = self.look("")
        parts, nodes = whole.count("part"), whole.count("nodes")
        if not wrong:
            self.say(
                f"equal: {_count(parts, 'part')} and {_count(nodes, 'node')} compiled, and the script shows the same"
            )
            return EQUAL
        self._tell_difference(whole)
        wrong, _ = self.look("nodes=0:0")
        if wrong:
            self._bisect_parts(parts)
        else:
            self._bisect_nodes(nodes)
        self.say(f"({self.runs} runs)")
        return FOUND

    def _bisect_parts(self, parts: int) -> None:
        """NumPy's own calls are already wrong: what is around the graphs is."""
        wrong, run = self.look("parts=0:0")
        if wrong and any("process" in row for row in run.told):
            self.say("in the script's own process nothing is compiled, and it still shows something else: what makes the difference runs in another process that it forks off or starts, into which a bisection does not look; call bcjit.check there")  # fmt: skip
            return
        if wrong:
            self.say("nothing is compiled, and the script still shows something else: the hook alone makes the difference")  # fmt: skip
            return
        last = self.first_wrong(parts, lambda high: f"parts=0:{high}")
        _, run = self.look(f"parts=0:{last}")
        row = next((row for row in run.told if row.get("part") == last - 1), {})
        self.say(f"the part that makes the difference: {_where(row)}")
        self.say(f"  {_source(row)}")
        self.say("with NumPy's own calls for its graph too: capture or residual code is wrong. Please report this; BCJIT_DUMP=folder writes it down")  # fmt: skip

    def _bisect_nodes(self, nodes: int) -> None:
        last = self.first_wrong(nodes, lambda high: f"nodes=0:{high}")
        # From the front: the most that can be left out.
        bad, good = 0, last
        while good - bad > 1:
            middle = (good + bad) // 2
            wrong, _ = self.look(f"nodes={middle}:{last}")
            bad, good = (middle, good) if wrong else (bad, middle)
        first = bad
        shown = first if last - first <= TOLD else last - 1
        _, run = self.look(f"nodes={shown}:{last}")
        rows = [row for row in run.told if "node" in row]
        if not rows:
            self.say(f"nodes {first} to {last - 1} of the run make the difference")
        elif last - first == 1:
            self.say(f"the node that makes the difference: {_where(rows[0])}")
        else:
            self.say(
                f"{last - first} nodes that make the difference only together, the last one: {_where(rows[-1])}"
            )
        for row in rows:
            self.say(f"  {row['text']}")
        if rows and _source(rows[-1]):
            self.say(f"  in the line: {_source(rows[-1])}")
        operands: dict[str, str] = next(
            (row["operands"] for row in run.told if "operands" in row), {}
        )
        if operands:
            self.say("  called with " + ", ".join(f"{name}: {kind}" for name, kind in operands.items()))  # fmt: skip

    def _tell_difference(self, run: Run) -> None:
        """Tell the first thing that a run shows otherwise."""
        if run.code != self.plain.code:
            self.say(f"exit code {self.plain.code} plain, {run.code} compiled")
        for name, plain, other in (
            ("stdout", self.plain.stdout, run.stdout),
            ("stderr", self.plain.stderr, run.stderr),
        ):
            if plain != other:
                rows, others = plain.splitlines(), other.splitlines()
                same = sum(1 for _ in _common(rows, others))
                one, two = (repr(r[same]) if same < len(r) else "nothing" for r in (rows, others))
                self.say(f"{name}, line {same + 1}: {one} plain, {two} compiled")


def _common(left: list[str], right: list[str]) -> list[str]:
    found = []
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        found.append(one)
    return found


def _without_ours(stderr: str) -> str:
    """Leave out what only a plain run says: that nothing is compiled."""
    rows = stderr.splitlines(keepends=True)
    return "".join(row for row in rows if not row.startswith("bcjit: functions run as plain Python"))  # fmt: skip


def _where(row: dict[str, Any]) -> str:
    name = f"{row['name']} " if "name" in row else ""
    file, line = row.get("file", "?"), row.get("line", "?")
    return f"{name}at {file}:{line} in {row.get('function', '?')}"


def _source(row: dict[str, Any]) -> str:
    return linecache.getline(str(row.get("file", "")), int(row.get("line", 0))).strip()


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
