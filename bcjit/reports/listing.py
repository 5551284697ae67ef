"""The source code that a page shows, read through ``linecache``; where there is none it says why."""

from __future__ import annotations

import ast
import functools
import linecache
import re
from collections.abc import Iterable, Iterator

from bcjit.errors import SourceLine
from bcjit.records import dataclass

__all__ = ["Listing", "listing", "listing_around"]

# Lines of one function that are shown.
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines of a file with their numbers; `missing` says why there are none."""

    name: str
    filename: str
    lines: tuple[tuple[int, str], ...]
    left_out: int = 0
    missing: str = ""


def listing(name: str, first: SourceLine, last: int) -> Listing:
    """Return the source of a function that is defined at a line and whose code goes to another one."""
    source = linecache.getlines(first.filename)
    if not source:
        why = "There is no source code to show: it was made by exec, typed in, or its file cannot be read."
        return Listing(name, first.filename, (), missing=why)
    lines = source[first.lineno - 1 : max(last, first.lineno)]
    if not _defines(first.function, lines):
        why = "The file does not define this function at this place any more; the source code that was compiled cannot be shown."
        return Listing(name, first.filename, (), missing=why)
    return _listing(name, first.filename, first.lineno, lines)


def listing_around(function: str, filename: str, numbers: Iterable[int]) -> Listing:
    """Return the source of a function of which only its name and some of its lines are known (it was captured in a caller)."""
    numbers = sorted(numbers)
    source = linecache.getlines(filename)
    first, last = numbers[0], numbers[-1]
    if last > len(source):
        why = "There is no source code to show: it was made by exec, typed in, or its file cannot be read."
        return Listing(function, filename, (), missing=why)
    for name, start, end in _definitions("".join(source)):
        if name == function and start <= first and last <= end:
            return _listing(function, filename, start, source[start - 1 : end])
    return _listing(function, filename, first, source[first - 1 : last])


def _listing(name: str, filename: str, first: int, lines: list[str]) -> Listing:
    shown = tuple(
        (first + i, line.rstrip("\r\n").expandtabs()) for i, line in enumerate(lines[:_LONGEST])
    )
    return Listing(name, filename, _dedented(shown), max(0, len(lines) - _LONGEST))


def _dedented(lines: tuple[tuple[int, str], ...]) -> tuple[tuple[int, str], ...]:
    """Take the space off that all lines begin with, but for those in strings and comments that begin before it."""
    space = len(lines[0][1]) - len(lines[0][1].lstrip())
    return tuple(
        (number, text[space:] if not text[:space].strip() else text.lstrip())
        for number, text in lines
    )


def _defines(function: str, lines: list[str]) -> bool:
    """Whether the lines look like the definition of a function: a file may have been changed since it was imported."""
    name = function.rpartition(".")[2]
    if name == "<lambda>":
        return any("lambda" in line for line in lines)
    if name.startswith("<"):
        return True
    pattern = re.compile(rf"\s*(async\s+)?def\s+{re.escape(name)}\b")
    for line in lines:
        if pattern.match(line):
            return True
        if re.match(r"\s*(async\s+)?def\s", line):
            return False
    return False


@functools.lru_cache(maxsize=16)
def _definitions(source: str) -> tuple[tuple[str, int, int], ...]:
    """Return qualified name, first and last line of each function of a file; none where it is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(_named(tree, ""))


def _named(tree: ast.AST, prefix: str) -> Iterator[tuple[str, int, int]]:
    for node in ast.iter_child_nodes(tree):
        inside = prefix
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            yield f"{prefix}{node.name}", first, node.end_lineno or node.lineno
            inside = f"{prefix}{node.name}.<locals>."
        elif isinstance(node, ast.Lambda):
            yield f"{prefix}<lambda>", node.lineno, node.end_lineno or node.lineno
            inside = f"{prefix}<lambda>.<locals>."
        elif isinstance(node, ast.ClassDef):
            inside = f"{prefix}{node.name}."
        yield from _named(node, inside)
