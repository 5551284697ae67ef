"""``python -m bcjit``: a script under ``run`` cannot be told from the plain one; usage errors say what is expected."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import pytest

import bcjit

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"

# Scripts that only Python's own machinery has a say in. Each is run plain and under `run`.
PLAIN_SCRIPTS = {
    "argv, path, file and main module": """
        import os, sys
        main = sys.modules["__main__"]
        print(sys.argv, __name__, __file__, sys.path[0], __spec__, __package__, __cached__)
        print(list(vars(main)), type(__loader__).__name__, vars(main) is globals())
        print(__builtins__, __doc__, os.path.exists(__file__), sys.flags.interactive)
    """,
    "exit code": "import sys\nprint('out')\nsys.exit(7)",
    "exit text": "import sys\nsys.exit('a text for stderr')",
    "exit none": "raise SystemExit",
    "exit in a function": """
        import sys
        def leave():
            try:
                sys.exit(3)
            finally:
                print("finally")
        leave()
    """,
    "os._exit": "import os, sys\nprint('x', flush=True)\nos._exit(9)",
    "keyboard interrupt": "def f():\n    raise KeyboardInterrupt\nf()",
    "syntax error": "print('never')\nx = = 1",
    "exception with a cause and a note": """
        def inner(x):
            return {}[x]
        def outer(x):
            try:
                inner(x)
            except KeyError as error:
                error.add_note("a note")
                raise ValueError("outer") from error
        outer("key")
    """,
    "exception in a thread": """
        import threading
        def work():
            raise LookupError("in a thread")
        t = threading.Thread(target=work, name="worker")
        t.start()
        t.join()
        print("done")
    """,
    "own excepthook": """
        import sys
        sys.excepthook = lambda *a: print("hook", a[0].__name__, a[2].tb_lineno, a[2].tb_next)
        1 / 0
    """,
    "atexit order": """
        import atexit, sys
        atexit.register(print, "first")
        atexit.register(print, "second")
        class Dies:
            def __del__(self):
                print("deleted", sys is not None)
        keep = Dies()
        sys.exit(2)
    """,
    "stack walks": """
        import inspect, logging, sys, traceback, warnings
        def f():
            traceback.print_stack()
            print(len(inspect.stack()), sys._getframe(1).f_code.co_name, sys._getframe(1).f_back)
            warnings.warn("here")
            warnings.warn("above", stacklevel=2)
            warnings.warn("too far", stacklevel=9)
            logging.basicConfig(format="%(filename)s:%(lineno)d %(funcName)s %(message)s")
            logging.warning("logged")
        f()
        warnings.warn("deprecated", DeprecationWarning)
    """,
    "recursion": """
        import sys
        def depth(n):
            return 0 if n == 0 else 1 + depth(n - 1)
        def endless(n):
            global reached
            reached = n
            return endless(n + 1)
        try:
            endless(0)
        except RecursionError as error:
            print(error, reached)
        sys.setrecursionlimit(6000)
        print(depth(5000))
        sys.setrecursionlimit(10**6)
        print(depth(20000))
        sys.setrecursionlimit(300)
        endless(0)
    """,
    "generators and coroutines": """
        import asyncio, contextlib
        def numbers(n):
            total = yield
            for i in range(n):
                total += yield i
            return total
        def delegating(n):
            result = yield from numbers(n)
            print("result", result)
        g = delegating(3)
        next(g)
        print(g.send(5), g.send(1), g.send(2))
        g.close()
        @contextlib.contextmanager
        def managed():
            print("in")
            try:
                yield 4
            finally:
                print("out")
        async def tick(k):
            await asyncio.sleep(0)
            return k
        async def main():
            with managed() as four:
                print(await asyncio.gather(*(tick(k) for k in range(four))))
            async for x in agen():
                print(x)
            await asyncio.wait_for(tick(1), 5)
            raise OSError("from a coroutine")
        async def agen():
            yield 1
            yield 2
        asyncio.run(main())
    """,
    "standard input": """
        import sys
        name = input("name? ")
        print("hello", name)
        print(sys.stdin.read().upper(), end="")
        input()
    """,
    "relative files": """
        import pathlib
        pathlib.Path("made.txt").write_text("text")
        print(open("made.txt").read(), pathlib.Path.cwd() == pathlib.Path(__file__).parent)
        open("missing.txt")
    """,
    "pickling of main": """
        import pickle
        class Point:
            def __init__(self, x):
                self.x = x
            def __reduce_ex__(self, protocol):
                return type(self), (self.x,)
        def double(x):
            return 2 * x
        p = pickle.loads(pickle.dumps(Point(3)))
        print(p.x, type(p) is Point, pickle.loads(pickle.dumps(double)) is double, Point.__module__)
        Point = 3
        pickle.dumps(p)
    """,
    "import of a neighbour and of main": """
        import sys
        from pathlib import Path
        Path("neighbour.py").write_text("import __main__\\nNAME = __main__.HERE\\n")
        HERE = "from main"
        import neighbour
        print(neighbour.NAME, neighbour.__main__ is sys.modules["__main__"])
    """,
    "signal handler that raises": """
        import signal
        def handler(number, frame):
            raise TimeoutError(frame.f_code.co_name)
        signal.signal(signal.SIGALRM, handler)
        def wait():
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            signal.pause()
        wait()
    """,
    "tracing": """
        import sys
        seen = []
        def tracer(frame, event, arg):
            if frame.f_code.co_filename == __file__:
                seen.append((event, frame.f_lineno))
            return tracer
        def f(x):
            y = x + 1
            return y
        sys.settrace(tracer)
        f(1)
        sys.settrace(None)
        print(seen)
        def profiler(frame, event, arg):
            if frame.f_code.co_filename == __file__:
                seen.append((event, frame.f_code.co_name))
        sys.setprofile(profiler)
        f(1)
        sys.setprofile(None)
        print(seen)
    """,
}

# Scripts over arrays: also, at least so many nodes are captured.
ARRAY_SCRIPTS = {
    "methods, branches, prints": (
        8,
        """
        import numpy as np
        class Model:
            def __init__(self, n):
                self.w = np.arange(float(n))
            def step(self, x):
                y = self.w * x + 1
                if y.sum() > 3:
                    return y - 1
                return y / 2
        def helper(a, b=2, *args, c=1, **kw):
            z = np.sin(a) + b
            print("z", z.shape, args, kw)
            return z * c
        m = Model(4)
        for k in range(12):
            print(m.step(float(k)), helper(m.w, k, 5, c=k, d=1))
        """,
    ),
    "exception in nested calls": (
        2,
        """
        import numpy as np
        def pick(x, i):
            y = x * 2
            return y[i]
        def outer(x):
            x = x + 1
            print("before")
            return pick(x, 10)
        try:
            outer(np.arange(20.0))
            outer(np.arange(3.0))
        except IndexError as error:
            print(error, error.__traceback__.tb_next.tb_next.tb_lineno)
        outer(np.arange(3.0))
        """,
    ),
    "warnings of NumPy": (
        3,
        """
        import warnings
        import numpy as np
        def ratio(a, b):
            c = a + 1
            return c / b
        def quiet(a, b):
            return (a - b) / b
        print(ratio(np.ones(3), np.ones(3)))
        print(ratio(np.ones(3), np.zeros(3)))
        print(ratio(np.ones(3), np.zeros(3)))
        with np.errstate(all="ignore"):
            print(quiet(np.ones(3), np.zeros(3)))
        warnings.simplefilter("error")
        ratio(np.ones(2), np.zeros(2))
        """,
    ),
    "loops call functions": (
        4,
        """
        import numpy as np
        def gradient(w, x, y):
            error = x @ w - y
            return x.T @ error / len(y)
        def train(x, y, steps):
            w = np.zeros(x.shape[1])
            for step in range(steps):
                w -= 0.1 * gradient(w, x, y)
                if step % 10 == 0:
                    print(step, loss(w, x, y))
            return w
        def loss(w, x, y):
            r = x @ w - y
            return float((r * r).mean())
        rng = np.random.default_rng(0)
        x = rng.normal(size=(50, 3))
        print(train(x, x @ np.array([1.0, -2.0, 0.5]), 60).round(6))
        """,
    ),
    "recursion over arrays": (
        1,
        """
        import sys
        import numpy as np
        def fold(x, n):
            if n == 0:
                return x
            return fold(x + 1, n - 1)
        def endless(x):
            y = x + 1
            return endless(y)
        print(fold(np.zeros(2), 700))
        try:
            endless(np.zeros(2))
        except RecursionError as error:
            print(error)
        sys.setrecursionlimit(6000)
        print(fold(np.zeros(2), 5000))
        """,
    ),
    "closures, defaults, cells": (
        2,
        """
        import numpy as np
        def make(k):
            scale = np.float64(k)
            def scaled(x, more=k):
                nonlocal scale
                scale = scale + 1
                return x * scale + more
            return scaled
        fs = [make(k) for k in range(20)]
        print([f(np.arange(2.0)).tolist() for f in fs for _ in range(3)])
        """,
    ),
    "threads": (
        2,
        """
        import threading
        import numpy as np
        def work(x, k):
            y = x * k
            if y.sum() > 10:
                return y - 1
            return y + 1
        results = {}
        def run(k):
            results[k] = [work(np.arange(float(n)), k).sum() for n in range(2, 30)]
        threads = [threading.Thread(target=run, args=(k,)) for k in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print([results[k] for k in range(8)])
        """,
    ),
    "compile in the script": (
        2,
        """
        import numpy as np
        import bcjit
        def plain(x):
            return x * 2 + 1
        @bcjit.disable
        def off(x):
            return x - 1
        calls = []
        def backend(graph, examples):
            calls.append(graph.count)
            return graph.to_callable()
        compiled = bcjit.compile(lambda x: (x + 1) / 2, backend=backend)
        for n in range(2, 5):
            print(plain(np.arange(n)), off(np.arange(n)), compiled(np.arange(float(n))))
        print(calls, len(compiled.graphs), compiled.__wrapped__(np.ones(2)), calls)
        """,
    ),
    "dataclass, property, staticmethod": (
        2,
        """
        from dataclasses import dataclass
        import numpy as np
        @dataclass
        class Box:
            low: np.ndarray
            high: np.ndarray
            @property
            def size(self):
                return self.high - self.low
            @staticmethod
            def unit(n):
                return Box(np.zeros(n), np.ones(n))
            def __add__(self, other):
                return Box(np.minimum(self.low, other.low), np.maximum(self.high, other.high))
        total = Box.unit(2)
        for k in range(5):
            total = total + Box(np.full(2, -k), np.full(2, k))
        print(total, total.size)
        """,
    ),
}

MULTIPROCESSING = """
    import multiprocessing, sys
    import numpy as np
    def norm(x):
        return float(np.sqrt((x * x).sum()))
    class Job:
        def __init__(self, k):
            self.k = k
        def __call__(self, x):
            return x * self.k
    if __name__ == "__main__":
        context = multiprocessing.get_context(sys.argv[1])
        with context.Pool(2) as pool:
            print(pool.map(norm, [np.arange(float(n)) for n in range(6)]))
            print(pool.map(Job(3), [1, 2]), __name__)
            try:
                pool.map(norm, ["x"])
            except TypeError as error:
                print(error)
"""


def environment(**more):
    found = {k: v for k, v in os.environ.items() if not k.startswith(("BCJIT", "PYTHON"))}
    path = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    kept = {"BCJIT_CACHE_DIR": bcjit.config.disk_cache_folder, "BCJIT_STRICT": "1"}
    return found | path | kept | more


def python(*words, cwd, stdin="", **more):
    command = [sys.executable, "-X", "faulthandler", *map(str, words)]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    child = subprocess.Popen(command, cwd=cwd, env=environment(**more), text=True, **pipes)
    with child:
        try:
            out, err = child.communicate(stdin, timeout=200)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGABRT)  # it tells where its threads are
            out, err = child.communicate(timeout=20)
            pytest.fail(f"{words} hangs:\n{out}\n{err}")
        finally:
            child.kill()
    return subprocess.CompletedProcess(command, child.returncode, out, err)


def outcome(done):
    return done.returncode, done.stdout, done.stderr


def both(folder, *words, stdin="", **more):
    """Run words of a command line of python plainly and under ``run``; the same must come out."""
    plain = python(*words, cwd=folder, stdin=stdin, **more)
    under = python("-m", "bcjit", "run", *words, cwd=folder, stdin=stdin, **more)
    assert outcome(under) == outcome(plain)
    return plain


def written(folder, source, name="script.py"):
    path = folder / name
    path.write_text(textwrap.dedent(source))
    return path


def captured_nodes(stderr):
    return int(re.search(r"^bcjit: .* (\d+) nodes?,", stderr, re.MULTILINE)[1])


@pytest.mark.parametrize("name", PLAIN_SCRIPTS)
def test_a_script_is_run_as_python_runs_it(name, tmp_path):
    written(tmp_path, PLAIN_SCRIPTS[name])
    both(tmp_path, "script.py", "one", "--two", "-m", stdin="Ada\nrest\nof it\n")


@pytest.mark.parametrize("name", ARRAY_SCRIPTS)
def test_a_script_over_arrays_is_captured_and_gives_the_same(name, tmp_path):
    nodes, source = ARRAY_SCRIPTS[name]
    written(tmp_path, source)
    plain = both(tmp_path, "script.py")
    told = python("-m", "bcjit", "run", "--report", "script.py", cwd=tmp_path)
    assert told.returncode == plain.returncode
    assert told.stdout == plain.stdout
    assert told.stderr.startswith(plain.stderr)
    assert captured_nodes(told.stderr) >= nodes


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_functions_of_main_go_to_other_processes(method, tmp_path):
    written(tmp_path, MULTIPROCESSING)
    # 3.12 and newer warn of a fork in a process with threads, which the pool has.
    plain = both(tmp_path, "script.py", method, PYTHONWARNINGS="ignore::DeprecationWarning")
    assert plain.returncode == 0


def test_the_script_may_lie_elsewhere(tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    source = "import sys\nprint(sys.argv, __file__, sys.path[0])\nimport neighbour\n1/0"
    written(folder, source)
    written(folder, "print(__name__, __file__)", "neighbour.py")
    (tmp_path / "link.py").symlink_to(folder / "script.py")
    inside = tmp_path / "inside"
    inside.mkdir()
    for words in (
        ("a folder/script.py",),
        ("./a folder/script.py", "x"),
        (folder / "script.py",),
        ("link.py",),
    ):
        both(tmp_path, *words)
    both(inside, "../a folder/script.py")
    both(inside, ".././/a folder/script.py")


def test_a_module_is_run_as_python_does(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    written(package, "print('package', __name__)", "__init__.py")
    written(package, "import sys\nprint(sys.argv, __name__, __spec__.name)", "__main__.py")
    written(
        package,
        """
        import sys
        from . import other
        print(sys.argv, __name__, __package__, __spec__.name, sys.path[0], __file__)
        def f():
            raise ValueError(other.__name__)
        f()
        """,
        "module.py",
    )
    written(package, "", "other.py")
    written(tmp_path, "raise KeyboardInterrupt", "interrupted.py")
    for words in (
        ("-m", "package", "a", "-b"),
        ("-m", "package.module", "--report"),
        ("-mpackage.module", "x"),
        ("-m", "no.such.module"),
        ("-m", "interrupted"),
        ("-m", "timeit", "-n", "1", "-r", "1", "-h"),
    ):
        both(tmp_path, *words)


def test_a_text_is_run_as_python_does(tmp_path):
    for text in (
        "import sys; print(sys.argv, repr(sys.path[0]), list(globals()))",
        "def f():\n    1/0\nf()",
        "x = = 1",
        "raise KeyboardInterrupt",
        "import sys; sys.exit(4)",
        "print('\u00e4\u20ac')",
    ):
        both(tmp_path, "-c", text, "a", "-m")
    both(tmp_path, "-cprint(1)")


def test_a_folder_and_a_zip_file_are_run_as_python_does(tmp_path):
    source = "import sys\nprint(sys.argv, sys.path[0], __name__, __file__)\nimport beside\n1/0"
    folder = tmp_path / "folder"
    folder.mkdir()
    written(folder, source, "__main__.py")
    written(folder, "print(__name__)", "beside.py")
    with zipfile.ZipFile(tmp_path / "zipped.pyz", "w") as archive:
        archive.write(folder / "__main__.py", "__main__.py")
        archive.write(folder / "beside.py", "beside.py")
    both(tmp_path, "folder", "x")
    both(folder, "../folder/")
    both(tmp_path, "zipped.pyz")


def test_options_of_python_hold(tmp_path):
    written(
        tmp_path,
        "import sys, warnings\nassert False\nprint(sys.flags.optimize)\nwarnings.warn('w')",
    )
    for flags in (["-O"], ["-O", "-W", "error"], ["-X", "utf8", "-O"]):
        plain = python(*flags, "script.py", cwd=tmp_path)
        assert outcome(python(*flags, "-m", "bcjit", "run", "script.py", cwd=tmp_path)) == outcome(
            plain
        )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_script_as_they_end_python(number, tmp_path, request):
    written(
        tmp_path,
        """
        import time
        import numpy as np
        def busy(x):
            y = x + 1
            print("ready", flush=True)
            time.sleep(60)
            return y
        busy(np.ones(3))
        """,
    )
    # What is started in the background ignores SIGINT, and so would the script: a handler is not inherited.
    before = signal.signal(number, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(number, before))
    results = []
    for head in ([], ["-m", "bcjit", "run"]):
        process = subprocess.Popen(
            [sys.executable, *head, "script.py"],
            cwd=tmp_path,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)  # into the sleep
        process.send_signal(number)
        results.append((*process.communicate(timeout=60), process.returncode))
    assert results[0] == results[1]


INTERRUPTED = """
    import signal, sys, traceback
    import numpy as np
    class Alarm(Exception):
        pass
    live = False
    def handler(number, frame):
        global live
        if live:
            live = False
            raise Alarm
    signal.signal(signal.SIGALRM, handler)
    lines = (
        "def work(x, n):",
        " y = x * {0} + n",
        " if y.sum() > 0:",
        "  z = y - 1",
        " else:",
        "  z = y + 1",
        " print_(z.shape)",
        " w = z / 2",
        " return w[0]",
    )
    def check(k, n, result):
        if result != ((k + n - 1) / 2 if k + n else 0.5):
            print("wrong", k, n, result)
    for k in range(150):
        names = {"print_": lambda *shape: None}
        exec(compile(chr(10).join(lines).format(k), "work.py", "exec"), names)
        try:
            live = True
            signal.setitimer(signal.ITIMER_REAL, 0.0001 + k % 50 * 0.00015)
            for n in range(6):
                # No "if" at the end of the loop: CPython 3.14 leaves its jump back out of the exception table.
                check(k, n, names["work"](np.ones(3 + n), n))
            live = False
        except Alarm as alarm:
            # NumPy may lie in an environment of that name.
            if alarm.__context__ is not None or "bcjit" in traceback.format_exc().replace(sys.prefix, ""):
                print(traceback.format_exc())
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    print("done")
"""


def test_signal_handlers_that_raise_anywhere_show_nothing_of_ours(tmp_path):
    written(tmp_path, INTERRUPTED)
    # stderr is not compared: Python reports there what is raised while it frees an object.
    done = python("-m", "bcjit", "run", "script.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "done\n")


def test_disabled_everything_is_plain(tmp_path):
    written(
        tmp_path,
        """
        import sys
        import numpy as np
        def f(x):
            return x + 1
        print(f(np.ones(2)), "bcjit" in sys.modules, sys.argv, sys.flags.optimize)
        1/0
        """,
    )
    plain = python("-O", "script.py", "-x", cwd=tmp_path)
    words = ("-O", "-m", "bcjit", "run", "script.py", "-x")
    assert outcome(python(*words, cwd=tmp_path, BCJIT_DISABLE="1")) == outcome(plain)
    told = python("-m", "bcjit", "run", "--report", "-c", "1", cwd=tmp_path, BCJIT_DISABLE="1")
    assert told.stderr == "bcjit: everything runs as plain Python: BCJIT_DISABLE is set\n"


def test_the_report_names_functions_breaks_and_what_ran_plain(tmp_path):
    written(
        tmp_path,
        """
        import numpy as np
        def judge(x):
            y = x * 2
            if y.sum() > 0:
                return y
            return -y
        def suspended(x):
            yield x + 1
        def breakpointed(x):
            if x is None:
                breakpoint()
            return x + 1
        def number(n):
            return n + 1
        for k in range(40):
            judge(np.ones(k)), next(suspended(np.ones(2))), breakpointed(np.ones(2)), number(k)
        """,
    )
    told = python("-m", "bcjit", "run", "--report", "script.py", cwd=tmp_path)
    assert told.returncode == 0
    lines = told.stderr.splitlines()
    assert lines[0].startswith("bcjit: 1 function captured, 2 graphs, 4 nodes, 1 break")
    assert "  script.py:3 judge: 2 graphs, 4 nodes, 1 break" in lines
    at = lines.index("  BRK001 data-dependent branch at script.py:5: scalar bool")
    assert lines[at + 1] == "    hint: np.where(condition, a, b) keeps both sides in one graph."
    assert any(re.match(r"  script.py:10 breakpointed: BRK022 .*", line) for line in lines)
    at = lines.index("1 function had no array in sight:")
    assert lines[at + 1 :] == ["  script.py:14 number"]


def test_the_report_names_what_is_left_to_compile_and_says_where_the_work_is_not_seen(tmp_path):
    written(
        tmp_path,
        """
        import numpy as np
        import bcjit
        def f(x):
            return x + 1
        g = bcjit.compile(f)
        f(np.ones(2))
        """,
    )
    told = python("-m", "bcjit", "run", "--report", "script.py", cwd=tmp_path)
    assert told.stderr.splitlines() == [
        "bcjit: 0 functions captured, 0 graphs, 0 nodes, 0 breaks",
        "1 function left to bcjit.compile, which was given the same code (report() tells of it):",
        "  script.py:4 f",
    ]
    written(tmp_path, "import numpy as np\ndef asked(n):\n    return n\nx = np.ones(asked(2)) + 1")
    told = python("-m", "bcjit", "run", "--report", "script.py", cwd=tmp_path)
    assert told.stderr.splitlines()[1:] == [
        "1 function had no array in sight:",
        "  script.py:2 asked",
        "nothing was captured: code outside functions runs as plain Python; put the work on arrays into a function",
    ]


def test_the_report_is_the_last_thing_and_the_parents_alone(tmp_path):
    written(
        tmp_path,
        """
        import atexit, os, sys
        import numpy as np
        def f(x):
            return x + 1
        atexit.register(print, "at exit", file=sys.stderr, flush=True)
        f(np.ones(2))
        if os.fork() == 0:
            f(np.ones(3))
            sys.exit(0)
        os.wait()
        """,
    )
    told = python("-m", "bcjit", "run", "--report", "script.py", cwd=tmp_path)
    assert told.stderr.splitlines()[:3] == [
        "at exit",
        "at exit",
        "bcjit: 1 function captured, 1 graph, 1 node, 0 breaks",
    ]


def test_a_backend_is_chosen_by_name(tmp_path):
    written(tmp_path, "import numpy as np\ndef f(x):\n    return x + 1\nprint(f(np.ones(2)))")
    done = python("-m", "bcjit", "run", "--backend", "print", "script.py", cwd=tmp_path)
    assert done.stdout.startswith("graph(x: float64[x_0]):\n")
    assert done.stdout.endswith("\n[2. 2.]\n")


USAGE = {
    "nothing": ((), "a command is expected: run, bisect, backends, bench or cache"),
    "no target": (("run",), "a script, -m module or -c code is expected"),
    "option without target": (("run", "--report"), "a script, -m module or -c code is expected"),
    "module without name": (("run", "-m"), "-m needs the name of a module"),
    "no text": (("run", "-c"), "-c needs program text"),
    "missing script": (("run", "no.py"), "'no.py': the path of a script is expected"),
    "unknown option": (
        ("run", "--fast", "x.py"),
        "no option --fast; there is --report, --backend, --help",
    ),
    "backend without name": (("run", "--backend"), "--backend: expected one argument"),
    "unknown backend": (("run", "--backend", "eagr", "x"), "Did you mean 'eager'?"),
    "unknown command": (
        ("walk",),
        "no command 'walk'; there is run, bisect, backends, bench, cache",
    ),
    "mistyped command": (("rnu",), "no command 'rnu'; did you mean run?"),
    "mistyped option": (
        ("bench", "capture", "--round", "3"),
        "no option --round; did you mean --rounds?",
    ),
    "option of nothing": (("--versoin",), "no option --versoin; did you mean --version?"),
    "cache without an action": (("cache",), "the following arguments are required: action"),
    "word behind backends": (("backends", "x"), "backends takes no word 'x'"),
}


@pytest.mark.parametrize("name", USAGE)
def test_bad_usage_says_what_is_expected_and_gives_2(name, tmp_path):
    words, sentence = USAGE[name]
    done = python("-m", "bcjit", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_help_names_the_options_and_commands(tmp_path):
    assert "backends" in python("-m", "bcjit", "--help", cwd=tmp_path).stdout
    shown = python("-m", "bcjit", "run", "--help", cwd=tmp_path)
    assert shown.returncode == 0
    assert all(word in shown.stdout for word in ("--report", "--backend NAME", "-m module"))


def test_backends_are_listed(tmp_path):
    listed = python("-m", "bcjit", "backends", cwd=tmp_path)
    assert {"auto", "eager", "print"} <= set(listed.stdout.split())
    assert listed.returncode == 0


JOBS = """
    import sys
    sys.path.insert(0, sys.argv[1])
    import numpy as np
    from black_scholes import black_scholes, market
    from filter_chain import filter_chain
    calls, puts = black_scholes(*market(1000))
    print(repr(calls.sum()), repr(puts.sum()))
    rng = np.random.default_rng(3)
    for size in (20, 31):
        print(repr(filter_chain(rng.random((size, size)), 0.1).sum()))
"""


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.glob("probe_*.py")))
def test_examples_say_the_same(name):
    both(EXAMPLES, name)


def test_jobs_that_know_nothing_of_bcjit_are_captured(tmp_path):
    pytest.importorskip("matplotlib", reason="the photograph is matplotlib's")
    written(tmp_path, JOBS)
    both(tmp_path, "script.py", EXAMPLES)
    told = python("-m", "bcjit", "run", "--report", "script.py", EXAMPLES, cwd=tmp_path)
    assert captured_nodes(told.stderr) >= 60


def test_the_version_is_told(tmp_path):
    told = python("-m", "bcjit", "--version", cwd=tmp_path)
    assert (told.returncode, told.stdout, told.stderr) == (0, f"bcjit {bcjit.__version__}\n", "")


def test_a_list_that_nobody_reads_on_ends_without_a_traceback():
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as unread:
        told = subprocess.run(
            [sys.executable, "-m", "bcjit", "backends"],
            stdout=unread, stderr=subprocess.PIPE, env=environment(), check=False,
        )  # fmt: skip
    assert (told.returncode, told.stderr) == (1, b"")
