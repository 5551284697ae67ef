"""What is read when it is first needed: the index of the op table, modules that nobody sees half, no import at the start that is not needed."""

from __future__ import annotations

import importlib.util
import operator
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from bcjit import lazy
from bcjit.ops import all_ops, lookup, table
from bcjit.ops.index import NAMES, UNTIL_IMPORTED
from bcjit.ops.unsupported import UNSUPPORTED
from bcjit.records import replace

all_ops()  # so that numpy.fft and numpy.random are there


def run(program: str) -> str:
    """Run a program in a fresh process and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def identity(target: object) -> object:
    """Return what makes a target itself: a ufunc's method is a new object each time it is read."""
    owner = getattr(target, "__self__", None)
    return (id(owner), target.__name__) if isinstance(owner, np.ufunc) else id(target)


# The index


@pytest.mark.parametrize("module", NAMES)
def test_the_index_names_what_a_module_has(module):
    rows = lazy.load(f"bcjit.ops.{module}").table
    spellings = [spelling for op in rows.ops for spelling in op.spellings]
    named = {name: table.named(name) for name in NAMES[module].split() if name[0] != "."}
    listed = {identity(target) for target in named.values()}
    missing = [
        s.target for s in spellings if not s.is_attribute and identity(s.target) not in listed
    ]
    assert missing == [], f"add their names to {module!r} in bcjit/ops/index.py"
    held = {identity(spelling.target) for spelling in spellings}
    others = [
        name
        for name, target in named.items()
        if target is not None and identity(target) not in held
    ]
    others = [
        name for name in others if f"np.{name}" not in UNSUPPORTED
    ]  # in this version of NumPy
    assert others == [], f"{module!r} in bcjit/ops/index.py has no row for them"
    read = {name[1:] for name in NAMES[module].split() if name[0] == "."}
    has = {spelling.method for spelling in spellings if spelling.is_attribute}
    assert has <= read
    assert all(name in has for name in read if hasattr(np.ndarray, name))


def test_names_are_in_the_index_once():
    names = [name for names in NAMES.values() for name in names.split()]
    assert len(names) == len(set(names))


def test_what_a_program_puts_in_place_of_a_function_is_not_that_function():
    """The module with the rows is read behind the change."""
    answer = run(
        """
        import numpy as np, bcjit
        from bcjit.ops import lookup
        plain = np.einsum
        def einsum(text, x): return x
        np.einsum = einsum
        print(lookup(einsum), lookup(plain), lookup(np.median).name)
        """
    )
    assert answer == "None None median\n"


def test_putting_the_ops_of_a_module_into_the_table_again_does_no_harm():
    """Two threads may come at once, and who is interrupted comes again; what counts of a module may be made anew each time."""
    whole, plain = lookup(np.pad), np.pad.__wrapped__
    made = table.Rows()
    made.define("pad", [*whole.spellings, replace(whole.spellings[0], target=plain)])
    for _ in range(2):
        table.add("padding", made, anything=False)
    assert [spelling.target for spelling in lookup(np.pad).spellings] == [np.pad]
    assert lookup(plain) is None
    table.add("padding", lazy.load("bcjit.ops.padding").table)
    assert lookup(np.pad) is whole


def test_functions_of_modules_that_numpy_imports_late_are_found_when_they_are_there():
    assert set(UNTIL_IMPORTED) == {"numpy.fft", "numpy.random"}
    answer = run(
        """
        import sys, numpy as np
        import bcjit
        from bcjit.ops import lookup
        print(lookup(print))
        import numpy.fft, numpy.random
        def fake(x): return x
        np.fft.ifft = np.random.beta = fake
        print(lookup(np.fft.fft).name, lookup(np.random.normal).name, lookup(fake))
        """
    )
    assert answer == "None\nfft.fft random.normal None\n"


# Reading


def test_nothing_is_seen_of_a_module_whose_reading_was_interrupted():
    answer = run(
        """
        import sys, numpy as np
        import bcjit
        from bcjit import lazy
        from bcjit.ops import all_ops, lookup, table
        all_ops()
        def forget():
            table._READ.pop("padding", None)
            sys.modules.pop("bcjit.ops.padding", None)
            for key in [key for key, op in table._BY_IDENTITY.items() if op.name == "pad"]:
                del table._BY_IDENTITY[key]
        forget()

        class Interrupt(BaseException): pass

        for many in range(1, 5000, 3):
            seen = 0
            def tracer(frame, event, arg):
                # In the module's own lines, and in those that read it and put its rows into the table.
                global seen
                seen += frame.f_code.co_filename.endswith(("padding.py", "lazy.py", "table.py"))
                if seen == many:
                    sys.settrace(None)
                    raise Interrupt
                return tracer
            sys.settrace(tracer)
            try:
                lookup(np.pad)
            except Interrupt:
                pass
            else:
                break
            finally:
                sys.settrace(None)
            assert lookup(np.pad).name == "pad"
            assert "pad" in {op.name for op in all_ops()}
            forget()
        print(many > 100, many < 4000)
        """
    )
    assert answer == "True True\n"


def test_threads_that_need_a_module_at_once_get_the_same_one():
    name = "bcjit.ops.bits"
    del sys.modules[name]
    barrier = threading.Barrier(4)
    found = []

    def need():
        barrier.wait()
        found.append(lazy.load(name))

    threads = [threading.Thread(target=need) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert len(set(map(id, found))) == 1
    assert found[0] is sys.modules[name]


def test_a_module_that_is_being_imported_is_not_waited_for():
    """A signal handler may come in the middle of the import that it would wait for."""
    name = "bcjit.ops.bits"
    whole = sys.modules[name]
    half = type(sys)(name)
    half.__spec__ = type(whole.__spec__)(name, whole.__spec__.loader)
    half.__spec__._initializing = True
    sys.modules[name] = half
    try:
        made = lazy.load(name)
        assert made is not half
        assert [op.name for op in made.table.ops] == ["packbits", "unpackbits"]
        assert sys.modules[name] is half
    finally:
        sys.modules[name] = whole


def test_half_a_module_of_the_standard_library_is_not_used():
    """A signal handler may come in the middle of the import of one."""
    answer = run(
        """
        import sys, html
        import numpy as np, bcjit
        f = bcjit.compile(lambda x: x * 2)
        f(np.ones(1))
        half = sys.modules["html"] = type(sys)("html")
        half.__spec__ = type(html.__spec__)("html", html.__spec__.loader)
        half.__spec__._initializing = True
        print(f.report().html().startswith("<!DOCTYPE html>"), sys.modules["html"] is half)
        """
    )
    assert answer == "True True\n"


def test_reports_need_little_of_the_standard_library():
    """A signal handler must be able to ask for one in the middle of another, and not each module bears to be begun twice."""
    answer = run(
        """
        import sys, numpy as np, bcjit
        f = bcjit.compile(lambda x: x * 2)
        f(np.ones(1))
        before = set(sys.modules)
        str(f.report()), f.report().html()
        print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
        """
    )
    # `linecache` of 3.15 reads the last three when it is first asked for a line.
    assert set(answer.split()) <= {"bcjit", "html", "threading", "_tokenize", "token", "tokenize"}


def test_import_hooks_of_the_program_are_not_asked():
    """Reading all that can be read later imports nothing else, and runs no code of the program."""
    answer = run(
        """
        import builtins, sys
        import numpy, numpy.fft, numpy.random
        import bcjit
        from bcjit import lazy
        from bcjit.ops import lookup
        from bcjit.ops.index import NAMES

        class Finder:
            def find_spec(*args):
                print("asked for", args)

        sys.meta_path.insert(0, Finder)
        plain, asked = builtins.__import__, set()
        def hook(name, *rest):
            asked.add(name)
            return plain(name, *rest)
        builtins.__import__ = hook
        before = set(sys.modules)
        for name in NAMES:
            lazy.load(f"bcjit.ops.{name}")
        assert lookup(numpy.einsum).name == "einsum"
        builtins.__import__ = plain
        sys.meta_path.pop(0)
        assert asked <= {"_io", "io"}, asked  # C code asks for them, to open a file
        print(sorted(name for name in set(sys.modules) - before if not name.startswith("bcjit.")))
        """
    )
    assert answer == "[]\n"


def test_a_module_that_is_not_there_is_unreadable():
    with pytest.raises(lazy.Unreadable, match=r"No module named 'bcjit\.ops\.no_such_module'"):
        lazy.load("bcjit.ops.no_such_module")


def test_where_no_file_can_be_opened_functions_run_plain_and_are_compiled_later():
    answer = run(
        """
        import os, resource, sys
        sys.path[0] = os.path.relpath(sys.path[0] or ".")
        import numpy as np, bcjit
        from bcjit import backends
        os.chdir("/")
        f = bcjit.compile(lambda x: np.sort(x) + np.linalg.norm(x))
        def reads(graph, examples):
            graph.lint()
            return backends.eager(graph, examples)
        g = bcjit.compile(lambda x: x * 2, backend=reads)
        _, most = limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        def call():
            assert f(np.array([4.0, 3.0])).tolist() == [8.0, 9.0] and g(np.ones(1)).tolist() == [2.0]
            print(len(f.graphs), len(g.graphs))
        bcjit.config.strict = True
        for limit in ((3, most), (3, most), limits):
            resource.setrlimit(resource.RLIMIT_NOFILE, limit)
            call()
        """
    )
    assert answer == "0 0\n0 0\n1 1\n"


@pytest.mark.parametrize("kind", [OSError, ImportError])
def test_what_a_program_raises_while_a_module_is_read_is_not_ours(monkeypatch, kind):
    """A signal handler may raise the same classes."""

    class Finder:
        @staticmethod
        def find_spec(*_):
            raise kind("the program's")

    monkeypatch.setattr(lazy, "PathFinder", Finder)
    with pytest.raises(kind, match="^the program's$") as caught:
        lazy.load("bcjit.ops.no_such_module")
    assert type(caught.value) is kind


def test_a_loaded_module_is_an_attribute_of_its_package():
    assert operator.attrgetter("padding")(sys.modules["bcjit.ops"]) is lazy.load(
        "bcjit.ops.padding"
    )
    assert lookup(np.pad).name == "pad"


# What is imported at the start


LATER = {
    "bcjit.backends.narrowed", "bcjit.backends.split", "bcjit.bench", "bcjit.disk_cache", "bcjit.fx_graph.extract", "bcjit.fx_graph.interpreter", "bcjit.bytecode.sketch", "bcjit.debugging.checking", "bcjit.reports.html", "bcjit.reports.text", "bcjit.dumps", "bcjit.fx_graph.dataflow", "bcjit.fx_graph.dot",
    "bcjit.fx_graph.lint", "bcjit.ops.samples.values", "bcjit.ops.ufunc_methods", "bcjit.ops.unsupported",
    "bcjit.primitives", "bcjit.symbolic_vm.branches", "bcjit.symbolic_vm.loops", "bcjit.whole_script",
}  # fmt: skip

OTHERS = {
    "logging", "threading", "traceback", "argparse", "asyncio", "difflib", "html", "ipaddress", "json", "numpy.fft", "numpy.random", "numpy.testing", "pathlib", "pdb", "rich",
    "runpy", "socket", "subprocess", "tempfile", "urllib", "urllib.parse", "xml",
}  # fmt: skip


def test_importing_bcjit_imports_nothing_that_few_programs_need():
    """What a text editor adds at the top of a module may cost each program milliseconds."""
    imported = set(
        run(
            "import numpy, sys; b = {*sys.modules}; import bcjit; print(*{*sys.modules} - b)"
        ).split()
    )
    assert "bcjit.symbolic_vm.machine" in imported
    assert not imported & {f"bcjit.ops.{name}" for name in NAMES}
    assert not imported & LATER
    assert not imported & OTHERS


def test_loggers_are_made_when_somebody_listens_or_something_is_said():
    answer = run(
        """
        import sys, bcjit
        from bcjit.logs import INFO, WARNING, get_logger
        guards, breaks = get_logger("guards"), get_logger("breaks")
        print(guards.is_enabled_for(INFO), guards.is_enabled_for(WARNING), "logging" in sys.modules)
        import logging
        logging.basicConfig(level="DEBUG", stream=sys.stdout, format="%(name)s %(message)s")
        guards.info("not asked for")
        print(sorted(name for name in logging.root.manager.loggerDict if name.startswith("bcjit")))
        logging.getLogger("bcjit.guards").setLevel("INFO")
        guards.info("said %d", 1)
        breaks.info("not asked for")
        logging.getLogger("bcjit").setLevel("ERROR")
        print(breaks.is_enabled_for(WARNING), guards.is_enabled_for(INFO))
        logging.disable("CRITICAL")
        print(guards.is_enabled_for(INFO))
        """
    )
    assert answer == "False True False\n[]\nbcjit.guards said 1\nFalse True\nFalse\n"


def test_a_message_that_nobody_asked_for_goes_to_stderr():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from bcjit import logs; logs.once(logs.get_logger('hook'), 1, 'said %d', 2)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == "said 2\n"


def test_modules_of_the_test_above_are_there():
    for name in LATER:
        assert importlib.util.find_spec(name) is not None, name


def test_a_call_of_elementwise_functions_reads_nothing_more():
    answer = run(
        """
        import sys, numpy as np, bcjit
        def f(x): return np.sin(x) * 2 + x
        plain, compiled = f(np.ones(3)), bcjit.compile(f, backend="eager")
        before = set(sys.modules)
        assert (compiled(np.ones(3)) == plain).all() and compiled.graphs
        print(*set(sys.modules) - before)
        """
    )
    assert answer == "\n"


def test_what_is_read_in_the_middle_of_a_call_does_what_it_should():
    answer = run(
        """
        import sys, numpy as np, bcjit
        @bcjit.compile(backend="eager")
        def f(x, n):
            total = np.zeros(3)
            for i in range(n):
                total = total + np.median(x[i:]) * np.linalg.norm(x)
            return np.add.accumulate(total), np.hypot.outer(x, x).sum()
        x, plain = np.arange(6.0), f.__wrapped__
        for n in (2, 40, 41):
            for ours, theirs in zip(f(x, n % 5), plain(x, n % 5)):
                assert (ours == theirs).all()
        print(len(f.graphs) > 0, "bcjit.ops.quantiles" in sys.modules, "bcjit.ops.einsum" in sys.modules)
        """
    )
    assert answer == "True True False\n"
