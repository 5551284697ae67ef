"""What ``python -m bcjit run`` shows while compiling takes long: on a terminal, in a line that leaves no trace."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
import threading
import tty

import pytest

from bcjit import progress
from bcjit.config import config
from bcjit.errors import SourceLine

LINE = SourceLine("folder/model.py", 12, "Model.step")
SAVE, RESTORE = b"\x1b7", b"\x1b8\x1b[K"


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    # Those of whoever runs the tests (pytest-xdist has some) do not write to our terminal.
    others = progress._threads() - 1
    count = progress._threads
    monkeypatch.setattr(progress, "_threads", lambda: count() - others)
    monkeypatch.setenv("TERM", "xterm")
    return made


@pytest.fixture
def terminal():
    """The two ends of a terminal: what a person sees, and what programs write to."""
    master, slave = open_terminal()
    yield master, slave
    os.close(slave)
    os.close(master)


END = b"<end>"


def open_terminal():
    try:
        return pty.openpty()
    except OSError as error:
        pytest.skip(f"no pseudo-terminal can be opened here: {error}")


def seen(terminal):
    """Return what has been written so far: up to a word written now, since terminals hand on when they like to."""
    master, slave = terminal
    os.write(slave, END)
    text = b""
    while not text.endswith(END):
        text += os.read(master, 65536)
    return text.removesuffix(END)


def compile_for(shower, clock, seconds, step=""):
    shower.begin(LINE)
    clock.now += seconds
    if step:
        shower.step(step)
    shower.end()


def test_what_is_quick_is_not_shown(clock, terminal):
    shower = progress.Progress(terminal[1])
    for _ in range(4):
        compile_for(shower, clock, 0.1, "backend eager")
    assert seen(terminal) == b""


def test_what_takes_long_is_shown_until_the_program_goes_on(clock, terminal):
    shower = progress.Progress(terminal[1])
    compile_for(shower, clock, 0.7)
    assert seen(terminal) == b""
    shower.begin(LINE)
    text = b" bcjit: compiling Model.step (model.py:12)%s; 2 parts, %s s"
    shown = b"\x1b7\x1b[?7l" + text + b"\x1b[?7h"
    assert seen(terminal) == shown % (b"", b"0.7")
    clock.now += 0.5
    shower.step("backend eager")
    assert seen(terminal) == RESTORE + shown % (b", backend eager", b"1.2")
    shower.end()
    assert seen(terminal) == RESTORE


def test_a_program_that_ran_in_between_has_begun_anew(clock, terminal):
    shower = progress.Progress(terminal[1])
    compile_for(shower, clock, 0.7)
    clock.now += progress.PAUSE + 0.1
    compile_for(shower, clock, 0.1, "backend eager")
    assert seen(terminal) == b""


def test_one_step_that_takes_long_is_said_at_the_next(clock, terminal):
    shower = progress.Progress(terminal[1])
    compile_for(shower, clock, 0.7, "backend eager")
    assert b"backend eager; 1 parts, 0.7 s" in seen(terminal)


def test_names_cannot_write_control_characters(clock, terminal):
    shower = progress.Progress(terminal[1], after=0.0)
    shower.begin(SourceLine("a\x1b[2Jb.py", 1, "f\nü"))
    assert b"f?? (a?[2Jb.py:1)" in seen(terminal)


def test_nothing_is_shown_where_it_could_be_noticed(clock, terminal, monkeypatch):
    def shows():
        shower = progress.Progress(terminal[1], after=0.0)
        compile_for(shower, clock, 1.0)
        return seen(terminal) != b""

    assert shows()
    with monkeypatch.context() as patch:
        patch.setenv("TERM", "dumb")
        assert not shows()
    with config.override(progress=False):
        assert not shows()
    go = threading.Event()
    other = threading.Thread(target=go.wait)
    other.start()
    try:
        assert not shows()
    finally:
        go.set()
        other.join()
    before = termios.tcgetattr(terminal[1])
    tty.setraw(terminal[1])
    assert not shows()
    termios.tcsetattr(terminal[1], termios.TCSANOW, before)
    assert shows()


def test_no_terminal_and_a_closed_one_are_left_alone(clock, tmp_path):
    with (tmp_path / "log").open("wb") as file:
        compile_for(progress.Progress(file.fileno(), after=0.0), clock, 1.0)
    assert (tmp_path / "log").read_bytes() == b""
    master, slave = open_terminal()
    shower = progress.Progress(slave, after=0.0)
    shower.begin(LINE)
    assert SAVE in seen((master, slave))
    os.close(master)
    os.close(slave)
    shower.end()
    compile_for(shower, clock, 1.0)


SCRIPT = """
import sys
import numpy as np

def first(x):
    y = np.sin(x) * 2
    print("in first", end="", file=sys.stderr, flush=True)
    return y + 1

def second(x):
    return np.cos(x).sum()

print(round(float(first(np.ones(3)).sum() + second(np.ones(3))), 3))
"""

STARTER = """
import sys
from bcjit import progress, whole_script
progress.Progress.__init__.__defaults__ = (2, 0.0)
whole_script.run(whole_script.Target("script", sys.argv[1]), "eager", report=False)
"""


def run_in_terminal(script, terminal, **environment):
    """Run a script with its stderr in a terminal; return its stdout and what the terminal got."""
    done = subprocess.run(
        [sys.executable, "-c", STARTER, script],
        env={**os.environ, "TERM": "xterm", **environment},
        stdout=subprocess.PIPE,
        stderr=terminal[1],
        check=True,
        start_new_session=True,
    )
    return done.stdout.decode(), seen(terminal)


def test_a_script_in_a_terminal(tmp_path, terminal):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    stdout, screen = run_in_terminal(script, terminal)
    shown = re.findall(rb"compiling (\w+) \(script\.py:\d+\)", screen)
    assert {b"first", b"second"} <= set(shown)
    # In front of whatever the script writes, and at the end, the line has been taken away.
    assert re.sub(rb"\x1b7.*?\x1b8\x1b\[K", b"", screen) == b"in first"
    silent = run_in_terminal(script, terminal, BCJIT_PROGRESS="0")
    assert silent == (stdout, b"in first")
    piped = subprocess.run(
        [sys.executable, "-c", STARTER, script], capture_output=True, text=True, check=True
    )
    assert (piped.stdout, piped.stderr) == (stdout, "in first")
