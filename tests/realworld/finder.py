"""Finds the functions: walks a package, and tries which plain Python function can be called on random arrays.

The rule, for each function that a module of the package defines under a public name: some assignment of `inputs.KINDS` to its
required parameters makes the float64 call, and at least one of the calls in other shapes and dtypes, return; the results hold
numbers, depend on the arguments, and come quickly. The first assignment that does is the case, if its results are the same in a
second world over other memory (so no clock, no address, no entropy, nothing uninitialised). A module gives at most a few. Each
function is tried in a process of its own, with a limit of time and memory.
"""

from __future__ import annotations

import inspect
import itertools
import json
import os
import pkgutil
import resource
import shutil
import signal
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
from differential import PLAIN, Record, compare, observe

from .harness import Case, quiet_import
from .inputs import COMPLEX, KINDS

_SKIPPED_MODULES = frozenset(
    # Tests, what draws on a screen, what reads files, builds and fetches: nothing that computes.
    "tests testing conftest plotting plot plots io datasets docs doc setup sandbox examples _precompute".split()
    # What a package holds of others.
    + "_lib _external".split()
)
_EXCLUDED = frozenset(
    {
        "bisplrep",  # FITPACK writes outside its arrays for some values: the process dies, now or later
        "kronsum",  # its result's base ends in memory that nobody wrote, and `soil` cannot reach it
    }
)
_SKIPPED_STEMS = ("test", "plot", "set_", "show", "print", "write", "save", "load", "read", "download", "warn")  # fmt: skip
_RANDOM = ("rng", "random_state", "seed")  # parameters that choose the random stream
_PER_MODULE = {"scipy": 3, "colour": 2, "ahrs": 40}
_QUICK = 0.02  # seconds for a call
_SECONDS = 10  # for a function, all tries together
_MEMORY = 6 << 30
_WORLDS = 3  # that must be the same

_ARRAYS = ("vector", "positive", "unit", "sorted", "matrix", "definite", "triples", "quads", "rotations")  # fmt: skip
_FEW = ("vector", "positive", "matrix", "triples", "number", "count")


def functions_of(package: str) -> Iterator[tuple[str, types.FunctionType]]:
    """Yield the public plain functions that the package's modules define, by dotted name."""
    root = quiet_import(package)
    for info in sorted(pkgutil.walk_packages(root.__path__, f"{package}."), key=lambda i: i.name):
        if _SKIPPED_MODULES & set(info.name.split(".")) or ".test" in info.name:
            continue
        try:
            module = quiet_import(info.name)
        except Exception as error:
            print(f"{info.name} cannot be imported: {error}", file=sys.stderr)
            continue
        for name, value in vars(module).items():
            if (
                type(value) is types.FunctionType
                and value.__module__ == module.__name__
                and not name.startswith(("_", *_SKIPPED_STEMS))
                and name not in _EXCLUDED
            ):
                yield f"{info.name}.{name}", value


def assignments(count: int) -> Iterator[tuple[str, ...]]:
    """Yield kinds for so many required parameters, the likely ones first."""
    if count == 0:
        return
    tried: set[tuple[str, ...]] = set()
    likely = [
        *((kind,) * count for kind in (*_ARRAYS, "number")),
        *((first, *(rest,) * (count - 1)) for first in _ARRAYS for rest in ("number", "count")),
        *(("function", *(rest,) * (count - 1)) for rest in ("number", "vector")),
    ]
    pool = {1: tuple(KINDS), 2: (*_ARRAYS, "number", "count", "function"), 3: _FEW}.get(count, ())
    for kinds in itertools.chain(likely, itertools.product(pool, repeat=count)):
        if kinds not in tried and len(kinds) == count:
            tried.add(kinds)
            yield kinds


def cases_for(name: str, fn: types.FunctionType) -> Iterator[Case]:
    """Yield the cases to try for a function."""
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return
    required = [p for p in parameters if p.default is p.empty]
    positional = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in required)
    if any(p.kind is p.KEYWORD_ONLY for p in required):
        return
    keywords = tuple(
        (p.name, "generator") for p in parameters if p.name in _RANDOM and p.default is not p.empty
    )
    counts = [positional]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        counts = [positional + 2, positional + 1]
    for count in counts:
        for kinds in assignments(count):
            yield Case(name, kinds, keywords)


def _holds_numbers(picture: object) -> bool:
    """Whether a result's picture has the elements of an array or the bits of a float in it."""
    if isinstance(picture, tuple):
        return any(map(_holds_numbers, picture))
    return type(picture).__name__ == "Bits"


def _returns(case: Case, fn: types.FunctionType, call: int) -> bool:
    positional, keyword = case.arguments(call)
    begin = time.perf_counter()
    try:
        fn(*positional, **keyword)
    except Exception:
        return False
    return time.perf_counter() - begin < _QUICK


def accepted(case: Case, fn: types.FunctionType) -> Case | None:
    """Return the case, completed, if the rule holds for it."""
    if not _returns(case, fn, 0) and not _returns(case, fn, 0):  # the first call may import
        return None
    if not any(_returns(case, fn, call) for call in range(1, COMPLEX)):
        return None
    found = Case(case.name, case.kinds, case.keywords, _returns(case, fn, COMPLEX))
    world = found.world()
    records = observe(world.fn, world.calls, PLAIN, world)
    outcomes = [r.outcome for r in records if r.outcome[0] == "returned"]  # type: ignore[index]
    if not any(map(_holds_numbers, outcomes)) or len(set(map(repr, outcomes))) < 2:
        return None
    return found


def soil(number: int) -> None:
    """Fill what is allocated next with something else than before, as far as this can be reached."""
    byte = 0x55 + 0x1F * number & 0xFF
    # NumPy keeps freed blocks below 1 KiB by size, several of each.
    held = [np.full(size, byte, np.uint8) for size in range(4, 512, 4) for _ in range(3)]
    held += [np.full(size, byte, np.uint8) for size in range(512, 4096, 64)]


def is_stable(case: Case) -> bool:
    """Whether the plain function does the same in several worlds, whatever lay in memory before."""
    records: Sequence[Record] = ()
    for number in range(
        _WORLDS + 1
    ):  # what the first one fills, caches of the package, is no difference
        world = case.world()
        world.between = lambda call, shift=number: soil(call + shift)  # type: ignore[misc]
        again = observe(world.fn, world.calls, PLAIN, world)
        if number > 1 and compare(records, again):
            return False
        records = again
    return True


def search(name: str, fn: types.FunctionType) -> Case | None:
    """Try a function's cases in this process; return the first that does, if it is stable."""
    for case in cases_for(name, fn):
        found = accepted(case, fn)
        if found is not None:
            return found if is_stable(found) else None
    return None


def find_one(name: str, fn: types.FunctionType) -> Case | None:
    """Try a function in a process of its own: what it breaks, fills or leaves behind ends with it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        place = tempfile.mkdtemp()
        os.chdir(place)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        signal.alarm(_SECONDS)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        try:
            found = search(name, fn)
            if found is not None:
                row = [found.kinds, found.keywords, found.takes_complex]
                os.write(writer, json.dumps(row).encode())
        finally:
            shutil.rmtree(place, ignore_errors=True)
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    if not text:
        return None
    kinds, keywords, takes_complex = json.loads(text)
    return Case(name, tuple(kinds), tuple((n, kind) for n, kind in keywords), takes_complex)


def find(package: str) -> list[Case]:
    """Find the cases of a package."""
    tried = list(functions_of(package))
    found: list[Case] = []
    taken: Counter[str] = Counter()
    for number, (name, fn) in enumerate(tried):
        module = name.rpartition(".")[0]
        case = find_one(name, fn) if taken[module] < _PER_MODULE[package] else None
        if case is not None:
            found.append(case)
            taken[module] += 1
        if number % 50 == 0:
            print(f"{package}: {number} of {len(tried)} tried, {len(found)} found", file=sys.stderr)
    print(f"{package}: {len(tried)} plain functions, {len(found)} found", file=sys.stderr)
    return found
