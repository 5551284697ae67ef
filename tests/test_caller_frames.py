"""Code that reads its caller's frame sees a plain function's: locals and their values, names, lines, and none of ours.

A row of `READERS` is a function compiled, in which something reads the frame; what was read is in what it returns. Each is called three times, so
that the frame that captures, the entry and its parts are all looked at.
"""

from __future__ import annotations

import inspect
import logging
import os
import subprocess
import sys
import textwrap
import traceback
import types
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bcjit
from bcjit.config import config

ROOT = Path(__file__).parents[1]
X = np.arange(4.0)
LOGGER = logging.getLogger("tests.caller_frames")


@pytest.fixture(autouse=True)
def _strict():
    config.strict = True


def picture(value: object) -> object:
    """Return plain data that is equal for equal values."""
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: picture(item) for key, item in sorted(value.items(), key=lambda i: str(i[0]))}
    if isinstance(value, list | tuple):
        return type(value).__name__, *map(picture, value)
    if isinstance(value, types.FunctionType | types.ModuleType | type):
        return value.__name__
    return "frame" if isinstance(value, types.FrameType) else value


def frame_picture(frame: types.FrameType) -> object:
    """Return what a program may look at in a frame."""
    return (
        picture(dict(frame.f_locals)),
        sorted(frame.f_locals),
        frame.f_lineno,
        frame.f_code.co_name,
        frame.f_code.co_qualname,
        frame.f_code.co_filename,
        frame.f_globals is globals(),
        frame.f_code.co_freevars,
    )


def look(depth: int = 1) -> object:
    """Read the caller's frame."""
    return frame_picture(sys._getframe(depth))


def look_inside(extra):
    kept = extra + 1
    return look(2), kept


def names_of_callers() -> list[tuple[str, int]]:
    return [(f.function, f.lineno) for f in inspect.stack()[1:4]]


def reads_own_frame(x, k):
    y = x * k
    seen = frame_picture(sys._getframe())
    z = y + 1
    return seen, z, frame_picture(sys._getframe())


def reads_own_frame_below_a_value(x, k):
    y = x * k
    return y + 1, frame_picture(sys._getframe()), y - 1


def reads_from_callee(x, k):
    y = x + k
    before = look()
    y = y * 2
    del k
    z = [y, x]
    return before, look(), z


def reads_from_inlined_callee(x, k):
    y = x + k
    found = look_inside(y)
    more = look_inside(y * 2)
    return found, more, y


def reads_two_up(x, k):
    def middle(v):
        w = v * 2
        return look(2), look(1), w

    y = x - k
    return middle(y), y


def reads_locals(x, k):
    y = x * k
    a = picture(locals())
    z = y + 1
    b = picture(vars())
    return a, b, sorted(locals()), dir(), z


def reads_locals_with_cells(x, k):
    y = x * k

    def inner(v):
        w = v + y
        return picture(locals()), w

    first = inner(x)
    k = k + 1
    return first, picture(locals()), k


def reads_locals_in_call(x, k):
    y = x + k
    return sorted([*locals(), "more"]), len(locals()), "{y} {k}".format(**locals()) if k else y


def evaluates(x, k):
    y = x * 2
    a = eval("x + y * k")
    z = a - 1
    b = eval("z.sum() + k", {}, {"z": z, "k": k})
    c = eval("y", globals(), locals())
    return a, b, c, z


def executes(x, k):
    y = x * 2
    space: dict[str, Any] = {}
    exec("made = x + y + k", globals() | {"x": x, "y": y, "k": k}, space)
    exec("y = None")  # changes a copy of the locals, as everywhere
    return space["made"] + 1, y


def reads_current_frame(x, k):
    y = x * k
    frame = inspect.currentframe()
    line, seen = frame.f_lineno, frame_picture(frame)
    del frame
    return line, seen, y + 1


def reads_stack(x, k):
    y = x + k
    rows = names_of_callers()
    z = y * 2
    return rows, names_of_callers(), z


def reads_back(x, k):
    y = x * k
    back = sys._getframe().f_back
    name = back.f_code.co_name
    del back
    return name, y + 1


def keeps_frame(x, k):
    y = x * k
    frame = sys._getframe()
    z = y + 1
    k = k * 2
    return picture(dict(frame.f_locals) | {"frame": None}), z, k


def warns(x, k):
    y = x * k
    warnings.warn("of this line", stacklevel=1)
    z = y + 1
    warnings.warn("of the caller", stacklevel=2)
    warns_for_caller()
    return z


def warns_for_caller():
    """Warn at the caller's line."""
    warnings.warn("asked for by a callee", DeprecationWarning, stacklevel=2)


def logs(x, k):
    y = x * k
    LOGGER.warning("at this line %s", k)
    z = y + 1
    LOGGER.warning("at the caller's", stacklevel=2)
    logs_for_caller()
    return z


def logs_for_caller():
    """Log at the caller's line."""
    LOGGER.warning("asked for by a callee", stacklevel=2)


def formats_stack(x, k):
    y = x * k
    rows = [(f.name, f.lineno, f.line) for f in traceback.extract_stack()[-2:]]
    return rows, y + 1


def names_made_by_exec(x, k):
    y = x * k
    exec("made = y + 1")
    z = y + 2
    return eval("made"), z  # the frame's dict has it, before 3.13


def locals_kept(x, k):
    kept = locals()
    y = x * k
    z = y + 1
    locals()
    return picture({n: v for n, v in kept.items() if n != "kept"}), z


def behind_a_branch(x, k):
    y = x * k
    if y.sum() > 0:
        frame = inspect.currentframe()
        z = y + 1
        return frame.f_lineno, sorted(frame.f_locals), z
    return y


def behind_other_breaks(x, k):
    y = x * k
    bcjit.graph_break()
    z = y + 1
    frames = [f.frame for f in inspect.stack()[:1]]
    z = z * 2
    bcjit.graph_break()
    w = z - 1
    return sorted(frames[0].f_locals), frames[0].f_lineno, w


def in_an_inlined_callee(x, k):
    y = x * k
    names = keeps_own(y)
    return names, y + 1


def keeps_own(v):
    w = v + 1
    frame = sys._getframe()
    u = w * 2
    return sorted(frame.f_locals), frame.f_lineno, u


def super_without_arguments(x, k):
    class Base:
        def scale(self, x):
            return x * k

    class Sub(Base):
        def scale(self, x):
            y = super().scale(x)
            return y + 1, picture(
                {n: v for n, v in locals().items() if n not in ("self", "__class__")}
            )

    return Sub().scale(x)


def names_in_comprehension(x, k):
    y = x * k
    return [sorted(locals()) for _ in range(1)], [v * k for v in (y + 1, y)]


READERS = [
    reads_own_frame, reads_own_frame_below_a_value, reads_from_callee, reads_from_inlined_callee, reads_two_up,
    reads_locals, reads_locals_with_cells, reads_locals_in_call, evaluates, executes, reads_current_frame, reads_stack,
    reads_back, keeps_frame, formats_stack, super_without_arguments, names_in_comprehension, names_made_by_exec,
    locals_kept, behind_a_branch, behind_other_breaks, in_an_inlined_callee,
]  # fmt: skip


def call(fn: Callable[..., Any], *args: Any) -> object:
    try:
        return picture(fn(*args))
    except NameError as error:
        return repr(error), [row[1:] for row in traceback.extract_tb(error.__traceback__)[1:]]


@pytest.mark.parametrize("fn", READERS, ids=lambda fn: fn.__name__)
def test_what_is_read_of_a_frame_is_what_plain_python_shows(fn):
    compiled = bcjit.compile(fn)
    for shape, k in [((4,), 2.0), ((4,), 3.0), ((2, 2), 4), ((4,), 2.0)]:
        x = np.arange(4.0).reshape(shape)
        results = [call(f, x, k) for f in (fn, compiled)]
        assert results[0] == results[1]
    assert compiled.report().parts or compiled.report().problems


def test_the_part_that_takes_the_frame_runs_plain_and_says_so():
    compiled = bcjit.compile(behind_a_branch)
    compiled(X, -1.0)
    compiled(X, 2.0)
    report = compiled.report()
    assert [problem.code for problem in report.problems] == ["BRK026"]
    assert report.problems[0].line.lineno == behind_a_branch.__code__.co_firstlineno + 3
    assert "inspect.currentframe" in report.problems[0].context or "currentframe" in str(report)
    assert [part.ends[:6] for part in report.parts][0] == "BRK001"  # what comes before is captured
    with pytest.raises(bcjit.errors.GraphBreakError, match="BRK026"):
        bcjit.compile(reads_own_frame, fullgraph=True)(X, 2.0)


@pytest.mark.parametrize("fn", [warns, logs])
def test_warnings_and_log_records_name_the_lines_of_the_program(fn, caplog):
    compiled = bcjit.compile(fn)

    def seen(f):
        caplog.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = f(X, 2.0)
        shown = [(str(w.message), w.category, w.filename, w.lineno) for w in caught]
        logged = [(r.getMessage(), r.pathname, r.lineno, r.funcName) for r in caplog.records]
        return picture(result), shown, logged

    wanted = seen(fn)
    assert len(wanted[1]) + len(wanted[2]) == 3
    for _ in range(3):
        assert seen(compiled) == wanted
    assert compiled.graphs


def test_warnings_are_shown_once_for_a_line_as_in_plain_python():
    def fn(x):
        y = x + 1
        warnings.warn("once", stacklevel=1)
        return y * 2

    def counted(f):
        globals().pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for _ in range(3):
                f(X)
        return len(caught)

    assert counted(bcjit.compile(fn)) == counted(fn) == 1


def test_numexpr_finds_the_names_of_its_caller():
    numexpr = pytest.importorskip("numexpr", reason="numexpr is not installed")

    def fn(a, b):
        c = a * 2
        d = numexpr.evaluate("a * b + c")
        e = d - 1
        return numexpr.evaluate("e + d"), numexpr.evaluate("c * k", local_dict={"c": c, "k": b}), e

    compiled = bcjit.compile(fn)
    for n in (5, 5, 7):
        a, b = np.arange(float(n)), np.arange(float(n)) + 1
        assert picture(compiled(a, b)) == picture(fn(a, b))
    assert compiled.graphs


def test_hidden_names_are_in_the_code_of_a_frame_only():
    """Known difference: ``f_code`` is the code that runs, whose list of names has more than those of the program."""
    frames = []

    def fn(x):
        y = x * 2
        frames.append(sys._getframe())
        z = y + 1
        bcjit.graph_break()
        return z

    compiled = bcjit.compile(fn)
    for _ in range(2):
        compiled(X)
    fn(X)
    wanted = fn.__code__.co_varnames
    for frame in frames:
        assert not [name for name in frame.f_locals if name.startswith(".")]
        assert [n for n in frame.f_code.co_varnames if not n.startswith(".")] == list(wanted)
    del frames[:]


def test_a_callee_that_changes_its_callers_locals():
    """From 3.13 on ``f_locals`` writes through; before, it is a copy. Either way as in plain Python."""

    def change():
        sys._getframe(1).f_locals["k"] = 100.0

    def fn(x, k):
        y = x * k
        change()
        return y + k

    compiled = bcjit.compile(fn)
    for _ in range(3):
        assert picture(compiled(X, 2.0)) == picture(fn(X, 2.0))


PROGRAM = """
import numpy as np, bcjit, sys

@bcjit.compile
def fn(x, k):
    y = x * k
    print(sorted(locals()))
    raise ValueError(sys._getframe().f_lineno)

try:
    fn(np.ones(2), 2)
except ValueError as error:
    print(error, set(error.__traceback__.tb_next.tb_frame.f_locals) - {"x", "k", "y"})
    print(error.__traceback__.tb_next.tb_lineno)
fn(np.ones(2), 3)
"""


def test_a_programs_traceback_shows_its_own_lines(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    outputs = []
    for disabled in "01":
        done = subprocess.run(
            [sys.executable, str(script)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT), "BCJIT_DISABLE": disabled},
        )
        errors = [row for row in done.stderr.splitlines() if "BCJIT_DISABLE is set" not in row]
        outputs.append((done.stdout, errors))
    assert outputs[0] == outputs[1]
    assert textwrap.dedent(outputs[0][0]).startswith("['k', 'x', 'y']\n8 set()\n8\n")
