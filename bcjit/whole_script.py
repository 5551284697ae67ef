"""A whole script with the hook on: which frames get a compiler, how the script is started, and what is told at the end.

The script runs as ``python script.py`` runs it, with nothing of ours below it (``bcjit._core.run_file``). Each code object
that `bcjit.frame_hook` finds eligible gets one compiler, which serves all functions made of it and dies with it.
"""

from __future__ import annotations

import atexit
import builtins
import importlib.machinery
import linecache
import logging
import os
import pkgutil
import runpy
import sys
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Literal, NoReturn

from bcjit.config import config
from bcjit.errors import BackendError, InternalError, SourceLine
from bcjit.frame_hook import is_eligible, shows_arrays, why_unsupported
from bcjit.lazy import load
from bcjit.logs import get_logger, once
from bcjit.progress import Progress
from bcjit.records import dataclass

_UNSUPPORTED: Final = why_unsupported()
if _UNSUPPORTED is None or TYPE_CHECKING:
    from bcjit import _core
    from bcjit.callables import LIVE
    from bcjit.code_cache import CacheEntry, Problem
    from bcjit.compiler import FunctionCompiler
    from bcjit.compiler.foreign import traceback_from_elsewhere
    from bcjit.symbolic_vm import Settings, marked
else:
    FunctionCompiler = object

__all__ = ["Report", "Target", "interpreter_flags", "run", "why_plain"]

# Frames that show no array are asked again this often: the first calls of a helper may come without.
_ASKED: Final = 16
# A function of which this many captures held no node is left alone.
_FRUITLESS: Final = 8
# Records of functions; a program that makes code without end must not fill memory with them.
_RECORDS: Final = 10_000
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Target:
    """What is run: a script's path (or a folder or zip file with a ``__main__``), a module's name, or the text of -c."""

    kind: Literal["script", "module", "code"]
    value: str
    args: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        """Return the target as words of a command line of python."""
        option = {"script": (), "module": ("-m",), "code": ("-c",)}[self.kind]
        return (*option, self.value, *self.args)


# ---- which frames -----------------------------------------------------------------------------------


@dataclass(slots=True)
class FunctionRecord:
    """What was captured of a function."""

    graphs: int = 0
    nodes: int = 0
    breaks: Counter[str] = field(default_factory=Counter)  # in words, with how many parts end so
    problems: tuple[str, ...] = ()


class Report:
    """What a run has captured, in words; holds nothing of the program."""

    def __init__(self) -> None:
        self.functions: dict[SourceLine, FunctionRecord] = {}
        self.plain: dict[SourceLine, str] = {}
        self.hints: dict[str, str] = {}  # of breaks in words
        self.without_arrays: dict[SourceLine, None] = {}
        self.left: dict[SourceLine, None] = {}  # to bcjit.compile

    def record(self, line: SourceLine) -> FunctionRecord:
        """Return the record of a function, made at its first use."""
        if line not in self.functions and len(self.functions) < _RECORDS:
            self.functions[line] = FunctionRecord()
        return self.functions.get(line) or FunctionRecord()

    def leave(self, line: SourceLine, why: str) -> None:
        """Remember why a function runs plain."""
        if len(self.plain) < _RECORDS:
            self.plain[line] = why

    def __str__(self) -> str:
        captured = {line: record for line, record in self.functions.items() if record.nodes}
        records = captured.values()
        breaks = sum((record.breaks for record in records), Counter[str]())
        lines = [
            f"bcjit: {_count(len(captured), 'function')} captured,"
            f" {_count(sum(record.graphs for record in records), 'graph')},"
            f" {_count(sum(record.nodes for record in records), 'node')},"
            f" {_count(breaks.total(), 'break')}"
        ]
        lines += _shown(
            f"{line} {line.function}: {_count(record.graphs, 'graph')}, {_count(record.nodes, 'node')},"
            f" {_count(record.breaks.total(), 'break')}"
            for line, record in captured.items()
        )
        if breaks:
            lines.append("graph breaks:")
            lines += _shown(self._reasons(breaks))
        plain = dict(self._plain(captured))
        if plain:
            lines.append(f"{_count(len(plain), 'function')} ran as plain Python, in part or whole:")
            lines += _shown(f"{line} {line.function}: {why}" for line, why in plain.items())
        if self.left:
            lines.append(
                f"{_count(len(self.left), 'function')} left to bcjit.compile, which was given the same code (report() tells of it):"
            )
            lines += _shown(f"{line} {line.function}" for line in self.left)
        lines += self._without()
        if not captured and not self.left:
            lines.append(
                "nothing was captured: code outside functions runs as plain Python; put the work on arrays into a function"
            )
        return "\n".join(lines)

    def _without(self) -> Iterator[str]:
        """Yield which functions saw no array: the program's own by name, those of packages as a number."""
        # Late: what makes reports is not loaded while the program runs.
        package_of = load("bcjit.reports.collect").package_of
        found = [line for line in tuple(self.without_arrays) if line not in self.functions]
        # A lambda of no file is what the standard library makes for a class (namedtuple).
        own = [
            line
            for line in found
            if not package_of(line.filename)
            and not (line.filename.startswith("<") and line.function == "<lambda>")
        ]
        if own:
            yield f"{_count(len(own), 'function')} had no array in sight:"
            yield from _shown(f"{line} {line.function}" for line in own)
        packages = Counter(name for line in found if (name := package_of(line.filename)))
        for name, number in packages.items():
            yield f"{_count(number, 'function')} of {name} had no array in sight"

    def _reasons(self, breaks: Counter[str]) -> Iterator[str]:
        told = {""}
        for why, times in breaks.most_common():
            yield why + (f" ({times} parts)" if times > 1 else "")
            hint = self.hints.get(why, "")
            if hint not in told:  # once for breaks of one kind
                told.add(hint)
                yield f"  hint: {hint}"

    def _plain(
        self, captured: dict[SourceLine, FunctionRecord]
    ) -> Iterator[tuple[SourceLine, str]]:
        yield from self.plain.items()
        for line, record in self.functions.items():
            if record.problems:
                yield line, "; ".join(record.problems)
            elif line not in captured and line not in self.plain:
                yield line, "no array work was found in it"


def _shown(lines: Iterator[str]) -> list[str]:
    found = [f"  {line}" for line in lines]
    more = len(found) - _SHOWN
    return found if more <= 0 else [*found[:_SHOWN], f"  and {more} more"]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


class ScriptCompiler(FunctionCompiler):  # type: ignore[misc,unused-ignore]  # object where the extension is missing
    """Compiles what the watch finds; gives up on functions in which there is nothing to capture.

    The code is a copy: the original, whose slot holds the part, could else never be freed.
    """

    def __init__(
        self, code: types.CodeType, backend: str, report: Report, progress: Progress
    ) -> None:
        settings = Settings(inlines_compiled=False)
        super().__init__(code.replace(), backend, fullgraph=False, settings=settings)
        self.line = _line_of(code)
        self.report = report
        self.progress = progress
        self.nodes = 0

    def for_callee(self, code: types.CodeType) -> None:
        """Say that no callee is compiled for this function alone: its frame meets the hook too."""

    def on_miss(
        self, part: _core.Part, func: Any, closure: Any, values: tuple[object, ...]
    ) -> _core.Entry | None:
        """Compile a part unless this function was given up; note what was found."""
        if self.first.skip:
            return None
        before = len(self.cache.entries)
        try:
            self.progress.begin(self.line)
            entry = super().on_miss(part, func, closure, values)
        except BackendError as error:
            if config.strict:
                raise
            once(get_logger("capture"), ("backend", str(error)), f"{self.line}: {error}")
            self.first.skip = True
            self.report.leave(self.line, str(error))
            return None
        finally:
            self.progress.end()
        self._note(self.cache.entries[before:])
        if not self.nodes and self.cache.captures >= _FRUITLESS:
            self.first.skip = True
        return entry

    def begins(self, step: str) -> None:
        """Tell those who wait."""
        self.progress.step(step)

    def _note(self, entries: list[CacheEntry]) -> None:
        record = self.report.record(self.line)
        for entry in entries:
            nodes = len(entry.graph.calls)
            self.nodes += nodes
            record.nodes += nodes
            record.graphs += bool(nodes)
            if entry.cause is not None:
                cause, line = entry.cause, entry.cause.line
                where = f" at {line}" if line is not None else ""
                context = f": {cause.context}" if cause.context else ""
                why = f"{cause.reason.code} {cause.reason.title}{where}{context}"
                record.breaks[why] += 1
                if len(self.report.hints) < _RECORDS:
                    self.report.hints[why] = cause.reason.hint
        told = [_problem_text(problem) for problem in self.cache.problems.values()]
        told += [note.text() for note in self.cache.limit_notes()]
        record.problems = tuple(told)


def _problem_text(problem: Problem) -> str:
    context = f": {problem.context}" if problem.context else ""
    return f"{problem.code} {problem.title} at {problem.line}{context}"


def _line_of(code: types.CodeType) -> SourceLine:
    return SourceLine(code.co_filename, code.co_firstlineno, code.co_qualname)


class Chooser:
    """Asked by the watch about code that nothing is known of."""

    def __init__(self, backend: str, report: Report, progress: Progress | None = None) -> None:
        self.backend = backend
        self.report = report
        self.progress = Progress() if progress is None else progress

    def __call__(
        self, code: types.CodeType, func: types.FunctionType, values: tuple[object, ...], asked: int
    ) -> _core.Part | Literal[False] | None:
        """Return the part to run frames of this code with, False to leave them alone, None to be asked again."""
        try:
            return self._choose(code, func, values, asked)
        except (RecursionError, MemoryError):
            return None
        except Exception as error:
            if traceback_from_elsewhere(error) is not None:
                raise  # a signal handler's
            line = _line_of(code)
            if config.strict:
                raise InternalError(f"choosing {line.function} at {line} failed") from error
            once(
                get_logger("capture"),
                ("choose", line, type(error)),
                f"bug in bcjit: {line} runs as plain Python; please report this: {error!r}",
                exc_info=error,
            )
            return False

    def _choose(
        self, code: types.CodeType, func: types.FunctionType, values: tuple[object, ...], asked: int
    ) -> _core.Part | Literal[False] | None:
        if not is_eligible(code, func) or marked(func) is not None:
            return False
        if not shows_arrays(code, func, values):
            if len(self.report.without_arrays) < _RECORDS:
                self.report.without_arrays[_line_of(code)] = None
            return None if asked < _ASKED else False
        self.report.without_arrays.pop(_line_of(code), None)
        compiler = ScriptCompiler(code, self.backend, self.report, self.progress)
        why = compiler.refusal
        if why is None:
            return compiler.first
        problem = next(iter(compiler.cache.problems.values()))
        self.report.leave(compiler.line, _problem_text(problem))
        return False


# ---- the script ---------------------------------------------------------------------------------------


def why_plain() -> str | None:
    """Return why a script is run without the hook, None where it is run with it."""
    return "BCJIT_DISABLE is set" if config.disabled else _UNSUPPORTED


def run(target: Target, backend: str, *, report: bool) -> None:
    """Run a script, module or text as python does, with the hook on; returns when it has ended without a failure.

    Parameters
    ----------
    target
        What to run.
    backend
        Name of a backend.
    report
        Print a summary to stderr when the program ends.
    """
    why = why_plain()
    if why is not None:
        if report:
            print(f"bcjit: everything runs as plain Python: {why}", file=sys.stderr, flush=True)  # noqa: T201 - asked for
        os.execv(sys.executable, [sys.executable, *interpreter_flags(), *target.words()])
    found = Report()
    _keep_quiet()
    # The first to be registered is the last to be called.
    atexit.register(_end, found if report else None, os.getpid())
    os.register_at_fork(after_in_child=_core.watch_forked)
    progress = Progress()
    os.register_at_fork(after_in_parent=progress.give_up, after_in_child=progress.give_up)
    start = _prepare(target)
    main = sys.modules["__main__"]  # its namespace is that of frames that still run
    sys.modules["__main__"] = _fresh_main(main)
    _core.watch(Chooser(backend, found, progress))
    if start():
        _fail()


def _keep_quiet() -> None:
    """Keep warnings of ours out of a program that has not asked for them; the report says the same."""
    logger = logging.getLogger("bcjit")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False


def _end(report: Report | None, pid: int) -> None:
    _core.watch(None)
    if report is not None and os.getpid() == pid and sys.stderr is not None:
        report.left = dict.fromkeys(_given_to_compile())
        print(report, file=sys.stderr, flush=True)  # noqa: T201 - asked for


def _given_to_compile() -> Iterator[SourceLine]:
    """Yield the functions that the program has compiled itself, if they are alive: the watch leaves their code alone."""
    for reference in tuple(LIVE.values()):
        compiled = reference()
        function = None if compiled is None else compiled.__wrapped__
        if isinstance(function, types.FunctionType):
            yield _line_of(function.__code__)


def interpreter_flags() -> list[str]:
    """Return the options of python in front of ``-m bcjit``."""
    head = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
    return head[:-1] if head[-1:] == ["-mbcjit"] else head[:-2]


def _fresh_main(old: types.ModuleType) -> types.ModuleType:
    """Make the module ``__main__`` as the interpreter makes it before it knows what to run."""
    main = types.ModuleType("__main__")
    main.__loader__ = importlib.machinery.BuiltinImporter
    # From 3.14 on they are made when they are asked for; the old module has them because its own are strings.
    if "__annotations__" in vars(old) and "__annotate__" not in vars(types.ModuleType):
        main.__annotations__ = {}
    vars(main)["__builtins__"] = builtins
    return main


def _prepare(target: Target) -> Any:
    """Set ``sys.argv`` and ``sys.path`` for a target; return what runs it and says whether it failed."""
    option = {"script": target.value, "module": "-m", "code": "-c"}[target.kind]
    sys.argv[:] = [option, *target.args]
    if target.kind == "module":
        return lambda: _core.run_call(_run_module, target.value, True)
    if target.kind == "code":
        _set_first_path("")
        _remember_source(target.value)
        return lambda: _core.run_string(target.value)
    path = os.path.join(os.getcwd(), target.value)  # noqa: PTH109, PTH118 - not normalised, as there
    if pkgutil.get_importer(path) is not None:  # a folder or zip file
        if not sys.flags.safe_path:
            del sys.path[0]
        sys.path.insert(0, path)
        return lambda: _core.run_call(_run_module, "__main__", False)
    _set_first_path(os.path.dirname(os.path.realpath(target.value)))  # noqa: PTH120 - as CPython computes it
    return lambda: _core.run_file(path)


# What the interpreter itself calls for -m.
_run_module: Final[Any] = getattr(runpy, "_run_module_as_main")  # noqa: B009 - private to mypy


def _set_first_path(path: str) -> None:
    if not sys.flags.safe_path:
        sys.path[0] = path


def _remember_source(source: str) -> None:
    """Let tracebacks show the lines of -c, where the interpreter does so (run_mod, Python/pythonrun.c)."""
    register = getattr(linecache, "_register_code", None)
    if register is None:
        return
    name = "<string>"
    try:
        code = compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return  # said when it is run
    register(code if hasattr(linecache, "_interactive_cache") else name, source, name)


def _fail() -> NoReturn:
    """End the process as the interpreter does once the exception that ended the program has been printed."""
    if getattr(sys, "last_type", None) is not KeyboardInterrupt:
        sys.exit(1)
    # The interpreter ends itself with the signal when this reaches it; the traceback is out already.
    hook, last = sys.excepthook, {n: getattr(sys, n) for n in _LAST if hasattr(sys, n)}

    def silent(*_exception: object) -> None:
        sys.excepthook = hook
        vars(sys).update(last)

    sys.excepthook = silent
    raise KeyboardInterrupt


_LAST: Final = ("last_type", "last_value", "last_traceback", "last_exc")
