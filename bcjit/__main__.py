"""The command line, ``python -m bcjit``: one subcommand a table row; it checks words and leaves the work to others.

``run`` runs a script with the hook on, ``bisect`` finds what makes it differ from plain Python, ``backends`` lists the backends, ``bench`` measures what calls and first calls cost here, and how fast whole programs are,
``cache`` shows or empties the folder of compiled kernels.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from bcjit import __version__, list_backends
from bcjit.backends import get_backend
from bcjit.errors import BackendNotFoundError
from bcjit.whole_script import Target, run

__all__ = ["main"]

_USAGE: Final = (
    "python -m bcjit run [--report] [--backend NAME] (script.py | -m module | -c code) [args ...]"
)
_BISECT_USAGE: Final = (
    "python -m bcjit bisect [--backend NAME] (script.py | -m module | -c code) [args ...]"
)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one sentence, and exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


def _parser() -> _Parser:
    parser = _Parser(
        prog="python -m bcjit",
        allow_abbrev=False,
        description="Makes unmodified NumPy code faster without changing what it does.",
    )
    parser.add_argument("--version", action="version", version=f"bcjit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    command = commands.add_parser(
        "run",
        usage=_USAGE,
        allow_abbrev=False,
        help="run a script, every function that works on arrays captured",
        description="Run a script, a module or a text as python does, and capture every function that works on arrays.",
        epilog="The words behind the script are its own. BCJIT_DISABLE=1 runs it as plain Python.",
    )
    command.add_argument(
        "--report",
        action="store_true",
        help="print to stderr, at the end, what was captured, what broke graphs and what ran plain",
    )
    _add_target(command)
    command = commands.add_parser(
        "bisect",
        usage=_BISECT_USAGE,
        allow_abbrev=False,
        help="find the call that makes a script show something else than plain Python",
        description="Run a script plain and compiled, again and again, and narrow down to the part or the node that makes the difference.",
        epilog="Stdin is empty. Exit code: 0 nothing differs, 1 found, 3 two plain runs differ.",
    )
    _add_target(command)
    commands.add_parser(
        "backends", help="list the backends", description="List the backends, one a line."
    )
    _add_bench(commands.add_parser)
    command = commands.add_parser(
        "cache",
        allow_abbrev=False,
        help="show (info) or empty (clear) the folder of compiled kernels",
        description="Say where compiled kernels are kept, how many and which files are ignored and why; or remove them, and nothing else.",
        epilog="BCJIT_CACHE=0 keeps none, BCJIT_CACHE_DIR names another folder, BCJIT_CACHE_SIZE the most MiB.",
    )
    command.add_argument("action", choices=("info", "clear"), help="what is done")
    return parser


def _add_target(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--backend", metavar="NAME", default="auto", help="what runs the graphs (default: auto)"
    )
    command.add_argument("-m", metavar="module", help="run a module, as python -m does")
    command.add_argument("-c", metavar="code", help="run a text, as python -c does")


def _count(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(
            f"a number of turns, at least 1, is expected, not {word!r}"
        )
    return int(word)


def _add_bench(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    command = add_parser(
        "bench",
        allow_abbrev=False,
        help="measure what calls (dispatch) or first calls (capture) cost here, or whole programs (suite) or kernels",
        description="Print what calls or first calls cost here, beside what was promised, or how fast whole programs and kernels are; beside other compilers.",
        epilog="Exit code of suite and kernels: 1 where what was compiled did something else than plain Python.",
    )
    command.add_argument("subject", choices=_SUBJECTS, help="what is measured")
    command.add_argument(
        "--rounds", type=_count, default=300, metavar="N", help="turns that each minimum is of"
    )
    command.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="NAME",
        help="this case only; may be given again",
    )
    command.add_argument(
        "--no-peers",
        action="store_true",
        help="leave other compilers out where they are installed",
    )
    command.add_argument("--json", metavar="FILE", help="write the figures to a file too")
    command.add_argument(
        "--backend",
        action="append",
        default=[],
        metavar="NAME",
        help="suite, kernels: what runs the graphs (default: auto); several with commas, with an option as in native-fast",
    )
    command.add_argument(
        "--size",
        action="append",
        default=[],
        metavar="SIZE",
        help="suite: small, medium (default) or large; kernels: 10 to 1e7 elements (default: all); several with commas",
    )
    command.add_argument(
        "--peer-size",
        action="append",
        default=[],
        metavar="SIZE",
        help="suite: ask other compilers at these sizes only: some take minutes for one program",
    )
    command.add_argument(
        "--clock",
        choices=("wall", "processor"),
        default="wall",
        help="suite, kernels: what tells the time; processor: of the process, all threads, for machines that do other work",
    )
    command.add_argument(
        "--picture", metavar="FILE", help="suite: draw the speed-ups to a file; needs matplotlib"
    )


_SUBJECTS: Final = ("dispatch", "capture", "suite", "kernels")
_OPTIONS: Final = {
    "run": ("--report", "--backend", "--help"),
    "bisect": ("--backend", "--help"),
    "backends": ("--help",),
    "bench": (
        "--rounds",
        "--case",
        "--no-peers",
        "--json",
        "--backend",
        "--size",
        "--peer-size",
        "--clock",
        "--picture",
        "--help",
    ),
    "cache": ("--help",),
}
_VALUED: Final = ("--backend",)
_TARGETS: Final = {"-m": "module", "-c": "code"}


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Cut the words of ``run`` into our options and what is run, which begins at a script, ``-m`` or ``-c``."""
    place = 0
    while place < len(words):
        word = words[place]
        if word == "--":
            return [*words[:place]], [*words[place + 1 :]]
        if not word.startswith("-") or word == "-" or word[:2] in _TARGETS:
            break
        place += 2 if word in _VALUED else 1
    return [*words[:place]], [*words[place:]]


def _target(words: list[str], fail: Callable[[str], NoReturn]) -> Target:
    if not words:
        fail("a script, -m module or -c code is expected behind the options")
    option = words[0][:2]
    if option in _TARGETS:
        attached = [words[0][2:]] if words[0][2:] else []
        rest = [*attached, *words[1:]]
        if not rest:
            fail(f"{option} needs {'program text' if option == '-c' else 'the name of a module'}")
        kind = "module" if option == "-m" else "code"
        return Target("module" if kind == "module" else "code", rest[0], tuple(rest[1:]))
    script = words[0]
    if not os.path.exists(script):  # noqa: PTH110 - the word stays the string it is
        fail(f"{script!r}: the path of a script is expected, there is no such file")
    return Target("script", script, tuple(words[1:]))


def _meant(word: str, known: Sequence[str]) -> str:
    """Return the end of a sentence about a word that is not known: what was meant, or what there is."""
    # Late: a script under `run` shares the interpreter, and has no use for it.
    names = {name.lstrip("-"): name for name in known}  # dashes alone make nothing similar
    similar = importlib.import_module("difflib").get_close_matches(word.lstrip("-"), names, n=1)
    if similar:
        return f"; did you mean {names[similar[0]]}?"
    return f"; there is {', '.join(known)}" if known else "; there is none"


def _tell(given: argparse.Namespace, fail: Callable[[str], NoReturn]) -> None:
    """List the backends, measure, or look after the cache."""
    if given.command == "backends":
        print("\n".join(list_backends()))
        return
    # Late, as above.
    if given.command == "cache":
        command = importlib.import_module("bcjit.disk_cache.command")
        lines, code = (command.info(), 0) if given.action == "info" else command.clear()
        print("\n".join(lines))
        if code:
            sys.stdout.flush()
            sys.exit(code)
        return
    bench = importlib.import_module("bcjit.bench")
    asked = bench.Asked(
        given.subject,
        given.rounds,
        given.case,
        peers=not given.no_peers,
        json_file=given.json,
        backends=given.backend,
        sizes=given.size,
        picture_file=given.picture,
        peer_sizes=given.peer_size,
        clock=given.clock,
    )
    code = bench.run(asked, fail)
    if code:
        sys.stdout.flush()
        sys.exit(code)


def _until_unread(work: Callable[[], None]) -> None:
    """Print until nobody reads on (``| head``): that is no error to show a traceback for."""
    try:
        work()
        sys.stdout.flush()
    except BrokenPipeError:
        # Else the interpreter flushes what is left when it ends, and complains.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def main(words: Sequence[str]) -> None:
    """Do what the words of a command line ask.

    Parameters
    ----------
    words
        The words behind ``python -m bcjit``.
    """
    parser = _parser()
    if words and not words[0].startswith("-") and words[0] not in _OPTIONS:
        parser.error(f"no command {words[0]!r}{_meant(words[0], tuple(_OPTIONS))}")
    rest = list[str]()
    if words[:1] in (["run"], ["bisect"]):
        options, rest = _split(words[1:])
        given, unknown = parser.parse_known_args([words[0], *options])
    else:
        given, unknown = parser.parse_known_args(words)
    if given.command is None and unknown:
        parser.error(f"no option {unknown[0]}{_meant(unknown[0], ('--help', '--version'))}")
    if given.command is None:
        parser.error("a command is expected: run, bisect, backends, bench or cache")
    prog = f"{parser.prog} {given.command}"

    def fail(message: str) -> NoReturn:
        parser.exit(2, f"{prog}: {message}\nTry '{prog} --help'.\n")

    if unknown:
        word = unknown[0].partition("=")[0]
        if not word.startswith("-"):
            fail(f"{given.command} takes no word {word!r}")
        fail(f"no option {word}{_meant(word, _OPTIONS[given.command])}")
    if given.command in ("backends", "bench", "cache"):
        _until_unread(lambda: _tell(given, fail))
        return
    try:
        get_backend(given.backend)
    except BackendNotFoundError as error:
        fail(f"--backend: {error}")
    target = _target(rest, fail)
    if given.command == "bisect":
        # Late, as above.
        code = importlib.import_module("bcjit.debugging.bisect").bisect(
            target,
            given.backend,
            say=print,
            progress=lambda line: print(line, file=sys.stderr, flush=True),
        )
        sys.exit(code)
    run(target, given.backend, report=given.report)


if __name__ == "__main__":
    main(sys.argv[1:])
