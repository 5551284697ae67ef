"""Where bcjit cannot work, functions run as plain Python and one line says so: unknown Python, no C extension, BCJIT_DISABLE=1.

These also run on Pythons that bcjit has no dialect for; on the others such a Python is pretended.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.unknown_python

# What the process does in each case: two functions are compiled and called, as a function, a method, and a decorated one.
PROGRAM = """
import logging
import numpy as np

lines = []
handler = logging.Handler()
handler.emit = lambda record: lines.append(record.getMessage())
logging.getLogger("bcjit").addHandler(handler)

import bcjit

@bcjit.compile
def f(x, k=2):
    if x.sum() < 0:
        raise ValueError(k)
    return x * k

class Scale:
    @bcjit.compile(backend="eager")
    def by(self, x):
        return x + f(x)

assert f(np.ones(2)).tolist() == [2.0, 2.0]
assert f(np.ones(2), k=3).tolist() == [3.0, 3.0]
assert Scale().by(np.ones(1)).tolist() == [3.0]
try:
    f(-np.ones(2))
except ValueError as error:
    assert error.args == (2,)
else:
    raise AssertionError("no ValueError")
assert f.__name__ == "f"
assert f.__wrapped__(np.ones(1)).tolist() == [2.0]
assert f.graphs == ()
assert reason in str(f.explain(np.ones(2)))
assert reason in str(f.report())
f.reset()
assert len(lines) == 1, lines
assert reason in lines[0], lines
assert "plain" in lines[0], lines
"""

UNKNOWN = """
import sys
import numpy  # as on a Python that it knows
sys.version_info = (3, 99, 0, "final", 0)
reason = "Python 3.99 is not known"
"""
NOT_BUILT = """
import sys
sys.modules["bcjit._core"] = None
reason = "bcjit._core was not built"
"""
DISABLED = """
reason = "BCJIT_DISABLE is set"
"""


def run(program: str, **environ: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def known_here() -> bool:
    from bcjit.bytecode.dialect import SUPPORTED

    return sys.version_info[:2] in SUPPORTED


def test_functions_run_plain_on_an_unknown_python():
    run(UNKNOWN + PROGRAM)


def test_functions_run_plain_on_this_python_if_it_is_unknown():
    if known_here():
        pytest.skip("this Python has a dialect")
    run('reason = "is not known to this bcjit"\n' + PROGRAM)


@pytest.mark.parametrize(
    ("preamble", "environ"),
    [(NOT_BUILT, {}), (DISABLED, {"BCJIT_DISABLE": "1"})],
    ids=["no C extension", "BCJIT_DISABLE"],
)
def test_functions_run_plain_with_one_line(preamble, environ):
    if not known_here():
        pytest.skip("that this Python is unknown is said first")
    run(preamble + PROGRAM, **environ)
