"""Kernels of several threads: the same bits whatever their number, flags, interrupts, forks, the end of the process."""

import gc
import os
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import bcjit
from bcjit import _core
from bcjit.backends.native.backend import Native
from bcjit.backends.native.engine import apart
from bcjit.backends.native.threads import thread_count
from bcjit.config import Config, config

pytest.importorskip("llvmlite")

# Enough for the pool to be asked, when the pace is known.
N = 1 << 17


def chain(x, y):
    return np.sin(x) * np.exp(-y) + np.log(y * y + 1.5) - np.cos(x * y) / (x * x + 2.0)


def compiled(fn):
    return bcjit.compile(fn, backend=Native(smallest=1))


def operands():
    """Yield pairs of each way in which a kernel goes through its operands."""
    one = np.linspace(-3.0, 5.0, N)
    two = np.linspace(0.5, 2.0, N)
    yield one, two  # side by side
    yield one.reshape(512, -1), two.reshape(512, -1)[:, ::2].repeat(2, axis=1)
    yield one.reshape(-1, 256).T, two.reshape(-1, 256).T
    yield one.reshape(-1, 128), two[:128]  # rows, one of them repeated
    yield one.reshape(-1, 64), two[:64]  # blocks that are copied
    yield one.reshape(64, -1), two[:64].reshape(-1, 1)  # an element for a row
    yield np.linspace(-3.0, 5.0, 2 * N)[::2], two
    yield one.astype("f4"), two.astype("f4")


@pytest.mark.parametrize(
    "pair", tuple(operands()), ids=lambda pair: f"{pair[0].shape}{pair[0].strides}"
)
def test_the_number_of_threads_cannot_be_seen(pair):
    fn, plain = compiled(chain), chain(*pair)
    for count in (1, 2, 3, 4):
        with config.override(num_threads=count):
            for _ in range(2):  # the first call with a new kernel finds its pace
                found = fn(*pair)
                assert found.tobytes() == plain.tobytes()
                assert found.strides == plain.strides
    if sys.platform != "win32":
        assert 0 < _core.pool_size() <= 64


def test_flags_that_threads_raise_are_seen():
    """Wherever the one element stands that divides by zero."""

    def divided(x, y):
        return np.sin(x) * np.exp(x) + np.cos(x) / y

    fn = compiled(divided)
    x, ones = np.linspace(-3.0, 5.0, N), np.ones(N)
    with config.override(num_threads=3), np.errstate(all="ignore"):
        for _ in range(3):
            fn(x, ones)
    for at in (0, N // 2, N - 1):
        y = ones.copy()
        y[at] = 0.0
        with config.override(num_threads=3), warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = fn(x, y)
        with np.errstate(all="ignore"):
            assert found.tobytes() == divided(x, y).tobytes()
        assert [str(one.message) for one in seen] == ["divide by zero encountered in divide"]
        with config.override(num_threads=3), np.errstate(divide="raise"):
            with pytest.raises(FloatingPointError, match="divide by zero"):
                fn(x, y)


def test_several_callers_at_once():
    """The pool helps one of them; the others do their own."""
    fn = compiled(chain)
    pairs = [(np.linspace(-i, 5.0, N), np.linspace(0.5, 2.0 + i, N)) for i in range(3)]
    wanted = [chain(*pair).tobytes() for pair in pairs]
    found = [[] for _ in pairs]

    def work(i):
        for _ in range(4):
            found[i].append(fn(*pairs[i]).tobytes() == wanted[i])

    with config.override(num_threads=3):
        fn(*pairs[0])
        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(pairs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert found == [[True] * 4] * 3


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="a timer that signals")
def test_a_signal_ends_a_long_kernel():
    def handler(_number, _frame):
        raise KeyboardInterrupt

    fn = compiled(chain)
    x = np.linspace(-3.0, 5.0, 1 << 21)
    with config.override(num_threads=2):
        wanted = fn(x, x)
        before = signal.signal(signal.SIGALRM, handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.02)
            with pytest.raises(KeyboardInterrupt):
                while True:
                    fn(x, x)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert fn(x, x).tobytes() == wanted.tobytes()


def run(source, **environ):
    """Run a program that has ``fn``, ``x`` and ``wanted``; return what it prints."""
    head = (
        "import os, sys, threading, warnings\nimport numpy as np\nimport bcjit\n"
        "from bcjit import _core\nfrom bcjit.backends.native.backend import Native\n"
        "def chain(x, y):\n"
        "    return np.sin(x) * np.exp(-y) + np.log(y * y + 1.5) - np.cos(x * y) / (x * x + 2.0)\n"
        "fn = bcjit.compile(chain, backend=Native())\n"
        f"x = np.linspace(-3.0, 5.0, {N})\nwanted = chain(x, x).tobytes()\n"
        "def right():\n    return all(fn(x, x).tobytes() == wanted for _ in range(3))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", head + source],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_has_no_pool_and_starts_its_own():
    """Nor does Python warn that a process of several threads forks."""
    source = (
        "print(right(), _core.pool_size() > 0)\n"
        "sys.stdout.flush()\n"
        "child = os.fork()\n"
        "before = _core.pool_size()\n"
        "here = (before, right(), _core.pool_size() > 0) == (0, True, True)\n"
        "if child == 0:\n    os._exit(3 if here else 1)\n"
        "print(here, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    found = run(source, BCJIT_NUM_THREADS="3", OPENBLAS_NUM_THREADS="1")
    assert found == ["True", "True", "True", "3"]


def test_a_process_ends_with_the_pool_asleep_or_at_work():
    source = (
        "print(right())\n"
        "def work():\n    while True: fn(x, x)\n"
        "threading.Thread(target=work, daemon=True).start()\n"
        "right()\n"
    )
    assert run(source, BCJIT_NUM_THREADS="3") == ["True"]


@pytest.mark.skipif(sys.platform == "win32", reason="no pool there")
@pytest.mark.parametrize(("text", "workers"), [("1", 0), ("2", 1), ("4", 3)])
def test_the_environment_says_how_many(text, workers):
    assert run("print(right(), _core.pool_size())\n", BCJIT_NUM_THREADS=text) == [
        "True",
        str(workers),
    ]


def test_the_setting():
    assert Config({"BCJIT_NUM_THREADS": "3"}).num_threads == 3
    assert Config({}).num_threads == 0
    with config.override(num_threads=5):
        assert thread_count() == 5
    with config.override(num_threads=0):
        assert 1 <= thread_count() <= (os.cpu_count() or 1)


def test_a_kernel_that_is_forgotten_while_it_runs_runs_to_its_end():
    x = np.linspace(-3.0, 5.0, 1 << 20)
    wanted = chain(x, x).tobytes()
    found = []
    with config.override(num_threads=2):
        for _ in range(3):
            fn = compiled(chain)
            fn(x[:8], x[:8])
            thread = threading.Thread(target=lambda fn=fn: found.append(fn(x, x).tobytes()))
            thread.start()
            fn.reset()
            del fn
            gc.collect()
            thread.join(60)
    assert found == [wanted] * 3


def test_what_llvm_does_is_done_where_no_signal_handler_comes():
    seen = []

    def work():
        seen.append(threading.current_thread() is threading.main_thread())
        return 7

    assert apart(work) == 7
    assert seen == [False]
    with pytest.raises(ZeroDivisionError):
        apart(lambda: 1 // 0)


def test_what_a_handler_raises_meanwhile_leaves_the_work_to_its_end():
    class Alarm(Exception):
        pass

    def handler(_number, _frame):
        raise Alarm

    begun, go, ended = (threading.Event() for _ in range(3))

    def work():
        begun.set()
        go.wait(30)
        ended.set()

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Alarm):
            apart(work)
    finally:
        signal.signal(signal.SIGALRM, before)
        go.set()
    assert begun.is_set()
    assert ended.wait(30)
