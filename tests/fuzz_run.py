"""Runs the programs of `fuzzer`, `array_fuzzer` and `loop_fuzzer` plain and compiled, and makes one that differs small; it writes none itself.

By hand (each batch in a process of its own, so that a crash is found too)::

    python -m tests.fuzzer --count 1000 --seed 7
    python -m tests.array_fuzzer --count 1000 --seed 7
    python -m tests.loop_fuzzer --count 1000 --seed 7
"""

from __future__ import annotations

import argparse
import ast
import copy
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import array_fuzzer
import fuzzer
import loop_fuzzer
from differential import Arguments, Setting, World, args, compare, observe
from programs import PRELUDE, module_from
from under_test import (
    break_points,
    captured_nodes,
    compile_breaking,
    compile_eager,
    compile_failing,
    compile_native,
)

from bcjit.config import config
from bcjit.errors import InternalError
from bcjit.logs import get_logger

Compile = Callable[[Callable[..., Any]], Callable[..., Any]]

REPEATS: Final = 3
SETTINGS: Final = (
    Setting(repeats=REPEATS),
    Setting(in_except=True, repeats=REPEATS),
    Setting("error", repeats=REPEATS),
    Setting("default", errstate={"divide": "raise"}, in_except=True, repeats=REPEATS),
)


def _broken(share: int) -> Compile:
    """Break at every `share`-th instruction, at others in each stretch of code."""
    return lambda fn: compile_breaking(
        fn, [at for number, at in enumerate(break_points(fn)) if (number * 7 // 3) % share == 0]
    )


# How a program is compiled; programs differ in it, so that all are used.
TRANSFORMS: Final[Mapping[str, Compile]] = {
    "eager": compile_eager,
    "broken everywhere": _broken(1),
    "native": compile_native,
    "broken at some places": _broken(9),
    "eager once more": compile_eager,
    "failing at the first node": lambda fn: compile_failing(fn, 0),
    "failing at the third node": lambda fn: compile_failing(fn, 2),
}
SECONDS: Final = 60.0  # most that a program may take by hand
BATCH: Final = 25


def world_of(source: str, chosen: Sequence[int] | None = None) -> World:
    """Return a fresh world in which a program is called with every argument set, or with the chosen ones."""
    if "\nCALLS = [" in source:
        return _array_world(source, chosen)
    module = module_from(PRELUDE + fuzzer.PRELUDE + source, "fuzz")
    namespace = module.__dict__

    def made(index: int) -> Arguments:
        given = fuzzer.argument_sets()[index]
        given["box"] = namespace["Box"](given["box"])
        return args(**given)

    if chosen is None:
        chosen = range(len(fuzzer.argument_sets()))
    return World(
        namespace["f"],
        [lambda index=index: made(index) for index in chosen],
        watch=lambda: (
            namespace["SEEN"],
            namespace["TOTAL"],
            namespace["STATE"],
            namespace["Box"].gain,
        ),
        between=lambda number: namespace["SEEN"].clear(),
    )


def _array_world(source: str, chosen: Sequence[int] | None) -> World:
    """Return a fresh world of a program of `array_fuzzer` or `loop_fuzzer`, which says itself how it is called."""
    prelude = PRELUDE + array_fuzzer.PRELUDE + loop_fuzzer.PRELUDE
    module = module_from(prelude + source, "arrays")
    namespace = module.__dict__
    makers = namespace["CALLS"]
    if chosen is not None:
        makers = [makers[index] for index in chosen if index < len(makers)]
    return World(
        namespace["f"],
        [lambda make=make: args(*make()) for make in makers],
        watch=lambda: namespace["SEEN"],
        between=lambda number: namespace["SEEN"].clear(),
    )


@dataclass(frozen=True, slots=True)
class Way:
    """How a program is run."""

    setting: Setting
    transform: str
    variants: int  # of each part, before calls run plain

    def __str__(self) -> str:
        return f"[{self.setting}, {self.transform}, {self.variants} variants]"


def way_of(number: int, transform: str | None = None) -> Way:
    """Return how program `number` is run."""
    transform = transform or list(TRANSFORMS)[number % len(TRANSFORMS)]
    return Way(SETTINGS[number % len(SETTINGS)], transform, 2 if number % 5 == 0 else 32)


def differences_of(
    source: str, setting: Setting, transform: Compile, chosen: Sequence[int] | None = None
) -> list[str]:
    """Return what differs between the plain and the compiled program, and a bug of ours as one line."""
    world = world_of(source, chosen)
    plain = observe(world.fn, world.calls, setting, world)
    world = world_of(source, chosen)
    try:
        compiled = observe(transform(world.fn), world.calls, setting, world)
    except InternalError as error:
        return [f"InternalError: {error}"]
    return compare(plain, compiled)


def differences(source: str, way: Way, chosen: Sequence[int] | None = None) -> list[str]:
    """Return what differs when a program is run in a way."""
    limits = {"part_limit": 10_000, "cache_limit": way.variants}
    with config.override(strict=True, **limits):
        return differences_of(source, way.setting, TRANSFORMS[way.transform], chosen)


def nodes(source: str, transform: Compile = compile_eager) -> int:
    """Return how many nodes are captured from a program."""
    world = world_of(source)
    compiled = transform(world.fn)
    observe(compiled, world.calls, Setting(repeats=1), world)
    return captured_nodes(compiled)


# -- making a program small -----------------------------------------------------------------------

_BODIES: Final = ("body", "orelse", "finalbody", "handlers", "cases", "items", "targets", "elts")


def _smaller(tree: ast.Module) -> Iterator[ast.Module]:
    """Yield variants of a program, larger cuts first: statements left out, blocks unwrapped, expressions made simple."""
    count = sum(1 for _ in ast.walk(tree))
    for number in range(count):
        for change in (_drop_half, _drop, _unwrap, _simplify):
            yield from change(tree, number)


def _at(tree: ast.Module, number: int) -> tuple[ast.Module, Any]:
    """Return a copy of a program and the node in it at a place of the walk."""
    made = copy.deepcopy(tree)
    for index, node in enumerate(ast.walk(made)):
        if index == number:
            return made, node
    raise IndexError(number)


def _lists(node: ast.AST) -> Iterator[str]:
    for name in _BODIES:
        if isinstance(getattr(node, name, None), list) and getattr(node, name):
            yield name


def _drop_half(tree: ast.Module, number: int) -> Iterator[ast.Module]:
    _, node = _at(tree, number)
    for name in _lists(node):
        size = len(getattr(node, name))
        step = size // 2
        while step > 1:
            for start in range(0, size, step):
                made, copied = _at(tree, number)
                del getattr(copied, name)[start : start + step]
                yield made
            step //= 2


def _drop(tree: ast.Module, number: int) -> Iterator[ast.Module]:
    _, node = _at(tree, number)
    for name in _lists(node):
        for index in reversed(range(len(getattr(node, name)))):
            made, copied = _at(tree, number)
            del getattr(copied, name)[index]
            yield made


def _unwrap(tree: ast.Module, number: int) -> Iterator[ast.Module]:
    """Put the statements of a compound statement in its place."""
    _, node = _at(tree, number)
    for name in ("body", "orelse", "finalbody"):
        statements = getattr(node, name, None)
        for index, statement in enumerate(statements if isinstance(statements, list) else ()):
            if not isinstance(statement, ast.stmt) or isinstance(statement, ast.FunctionDef):
                continue
            for inner in _lists(statement):
                if inner in {"body", "orelse", "finalbody"}:
                    made, copied = _at(tree, number)
                    block = getattr(copied, name)
                    block[index : index + 1] = getattr(block[index], inner)
                    yield made


def _simplify(tree: ast.Module, number: int) -> Iterator[ast.Module]:
    """Put a part of an expression, a name or a number in its place."""
    _, node = _at(tree, number)
    for name, value in ast.iter_fields(node):
        if not isinstance(value, ast.expr) or name in {"func", "target"}:
            continue
        parts = [child for child in ast.iter_child_nodes(value) if isinstance(child, ast.expr)]
        parts += [ast.Name("x", ast.Load()), ast.Name("k", ast.Load()), ast.Constant(1)]
        size = sum(1 for _ in ast.walk(value))
        for part in parts:
            if sum(1 for _ in ast.walk(part)) < size:
                made, copied = _at(tree, number)
                setattr(copied, name, copy.deepcopy(part))
                yield made


def _text(tree: ast.Module) -> str | None:
    """Return the source text of a variant; None where it is no program."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and not node.handlers and not node.finalbody:
            return None
        if hasattr(node, "body") and node.body == []:
            node.body = [ast.Pass()]
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        compile(text, "smaller", "exec")
    except (SyntaxError, ValueError, AttributeError, TypeError, IndexError):
        return None
    return text


def shrink(source: str, differs: Callable[[str], bool], most: int = 3_000) -> str:
    """Make a program smaller while it differs, greedily.

    Parameters
    ----------
    source
        A program.
    differs
        Says whether a smaller one still does what is looked for.
    most
        How many variants are tried at most.
    """
    found = _text(ast.parse(source))
    assert found is not None
    if not differs(found):
        return source
    seen = {found}
    tried = 0
    again = True
    while again:
        again = False
        for variant in _smaller(ast.parse(found)):
            text = _text(variant)
            if text is None or text in seen or len(text) >= len(found) + 1:
                continue
            seen.add(text)
            tried += 1
            if tried > most:
                return found
            if differs(text):
                found = text
                again = True
                break
    return found


class TooLong(KeyboardInterrupt):
    """A program does not come to its end."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise `TooLong` in what takes longer."""

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, stop)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, left, interval)
        signal.signal(signal.SIGALRM, before)


def still_differs(way: Way, chosen: Sequence[int] | None = None) -> Callable[[str], bool]:
    """Return the question that `shrink` asks."""

    def differs(text: str) -> bool:
        if "def f(" not in text:
            return False
        try:
            for make in world_of(text, chosen).calls:
                make()
        except Exception:  # noqa: BLE001 - no program any more: what makes its arguments was cut
            return False
        try:
            with at_most(10.0):
                return bool(differences(text, way, chosen))
        except TooLong:
            return False

    return differs


def smallest(source: str, way: Way) -> tuple[str, list[str]]:
    """Return a small program that still differs, and how it does."""
    chosen: Sequence[int] | None = None
    for index in range(len(world_of(source).calls)):
        if still_differs(way, [index])(source):
            chosen = [index]
            break
    small = shrink(source, still_differs(way, chosen))
    return small, [f"(argument sets {chosen})", *differences(small, way, chosen)]


# -- by hand --------------------------------------------------------------------------------------


WRITERS: Final = {
    "language": fuzzer.program,
    "arrays": array_fuzzer.program,
    "loops": loop_fuzzer.program,
}


def _work(
    write: Callable[[object], str], seed: int, start: int, stop: int, transform: str | None
) -> int:
    failed = 0
    for number in range(start, stop):
        print(f"@ {number}", flush=True)
        source = write(f"{seed}/{number}")
        way = way_of(number, transform)
        try:
            with at_most(SECONDS):
                found = differences(source, way)
        except TooLong:
            found = [f"takes longer than {SECONDS} s"]
        if not found:
            continue
        failed += 1
        print(f"program {seed}/{number} {way} differs:")
        print("\n".join(found[:5]))
        small, lines = smallest(source, way)
        print(f"smallest {way}:\n{small}")
        print("\n".join(lines[:8]), flush=True)
    return failed


def _run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "faulthandler", str(Path(__file__)), *arguments]
    return subprocess.run(
        command,
        env={"PYTHONMALLOC": "debug", **os.environ},
        capture_output=True,
        text=True,
        check=False,
    )


def _crashes(number: int, named: Sequence[str]) -> Callable[[str], bool]:
    def differs(text: str) -> bool:
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(text)
            file.flush()
            return (
                "def f(" in text
                and _run(["--program", file.name, "--way", str(number), *named]).returncode < 0
            )

    return differs


def main(arguments: Sequence[str] | None = None, writer: str = "language") -> int:
    """Run programs in batches and print what differs or crashes; return how many did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--writer", choices=tuple(WRITERS), default=writer)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--start", type=int, default=0, help="the first program's number")
    parser.add_argument("--batch", action="store_true", help="in this process")
    parser.add_argument("--program", help="a file with one program to run in this process")
    parser.add_argument("--way", type=int, default=0, help="--program is run as this number is")
    parser.add_argument("--transform", choices=tuple(TRANSFORMS), help="all are compiled so")
    given = parser.parse_args(arguments)
    named = ["--transform", given.transform] if given.transform else []
    get_logger("recompiles").logger().addHandler(
        logging.NullHandler()
    )  # what is told there is no difference
    get_logger("recompiles").logger().propagate = False
    if given.program is not None:
        found = differences(Path(given.program).read_text(), way_of(given.way, given.transform))
        print("\n".join(found))
        return bool(found)
    if given.batch:
        stop = given.start + given.count
        return _work(WRITERS[given.writer], given.seed, given.start, stop, given.transform)
    failed = 0
    stop = given.start + given.count
    start = given.start
    while start < stop:
        count = min(BATCH, stop - start)
        ended = _run(
            [
                "--batch",
                "--writer",
                given.writer,
                "--seed",
                str(given.seed),
                "--start",
                str(start),
                "--count",
                str(count),
                *named,
            ]
        )
        lines = [line for line in ended.stdout.splitlines() if not line.startswith("@ ")]
        print("\n".join(lines), end="\n" if lines else "", flush=True)
        if 0 <= ended.returncode <= count and "Traceback" not in ended.stderr:
            failed += ended.returncode
            start += count
            continue
        reached = [line for line in ended.stdout.splitlines() if line.startswith("@ ")]
        number = int(reached[-1].split()[1]) if reached else start
        print(
            f"program {given.seed}/{number} ended the process with {ended.returncode}:\n{ended.stderr[-4000:]}"
        )
        source = WRITERS[given.writer](f"{given.seed}/{number}")
        if ended.returncode < 0:
            print(f"smallest:\n{shrink(source, _crashes(number, named), 300)}", flush=True)
        failed += 1
        start = number + 1
    print(f"{given.count} programs from seed {given.seed}, {failed} differ")
    return min(failed, 100)


if __name__ == "__main__":
    sys.exit(main())
