"""What is missing to build bcjit is said in one sentence, before anything is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PREFLIGHT = Path(__file__).parent.parent / "tools" / "preflight.py"


def _run(preamble: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
    code = f"import runpy, sys, sysconfig\n{preamble}\nrunpy.run_path({str(PREFLIGHT)!r}, run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_is_said_where_everything_is_there():
    done = _run()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("preamble", "environ", "expected"),
    [
        ("", {"CC": "no-such-compiler"}, "no C compiler ('no-such-compiler' is not found)"),
        ("sysconfig.get_path = lambda name: '/nowhere'", {}, "the C headers of Python"),
        ("sys.version_info = (3, 9, 18)", {}, "needs CPython 3.11 or newer and this is 3.9.18"),
        ("sys.implementation.name = 'pypy'", {}, "works through CPython's frame-evaluation hook"),
    ],
    ids=["no compiler", "no headers", "old Python", "not CPython"],
)
def test_what_is_missing_is_one_sentence(preamble, environ, expected):
    done = _run(preamble, **environ)
    assert done.returncode == 1
    assert done.stdout == ""
    assert expected in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith(".\n")
