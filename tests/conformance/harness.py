"""Runs the behaviour cases through bcjit and counts what was captured; it judges nothing: the tests do.

A floor is the number of graph nodes that a case must capture at least. Falling back to plain Python everywhere passes
every behaviour case, so the floors are what shows that something was compiled. They may only rise.
"""

from __future__ import annotations

import ast
import inspect
import io
import json
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import bcjit
from bcjit.backends.native.backend import Native
from bcjit.primitives import ReferenceBackend

from . import behaviour_cases

Case = dict[str, Any]
Function = Callable[..., Any]

CASES: Final[tuple[Case, ...]] = tuple(behaviour_cases.CASES)
SOFT: Final = ("layout", "tb", "message")
FLOORS_FILE: Final = Path(__file__).with_name("floors.json")

# What is captured work, and not an input, a constant or the output.

# Syntax that cuts a function to pieces or leaves it plain, so that a case may have no node without a reason.
_BLOCKS: Final = (
    ast.For, ast.While, ast.Try, ast.TryStar, ast.With,
    ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Floor:
    """What floors.json says of a case."""

    nodes: int
    reason: str = ""  # why nothing is captured, for a case that has no blocks


def load_floors() -> dict[str, Floor]:
    """Read floors.json."""
    return {name: Floor(**row) for name, row in json.loads(FLOORS_FILE.read_text()).items()}


def save_floors(floors: Mapping[str, Floor]) -> None:
    """Write floors.json, one case a line, in the order of the cases."""
    rows = []
    for name in (case["name"] for case in CASES):
        floor = floors[name]
        row = {"nodes": floor.nodes} | ({"reason": floor.reason} if floor.reason else {})
        rows.append(f"  {json.dumps(name)}: {json.dumps(row)}")
    FLOORS_FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def compile_eager(function: Function) -> Function:
    """Compile under the eager backend."""
    return bcjit.compile(function, backend="eager")


def compile_print(function: Function) -> Function:
    """Compile under the print backend, which prints elsewhere than where the case's own prints are compared."""
    return bcjit.compile(function, backend=bcjit.backends.PrintBackend(io.StringIO()))


def compile_reference(function: Function) -> Function:
    """Compile to the primitive level, each primitive run by NumPy."""
    return bcjit.compile(function, backend=ReferenceBackend())


def compile_native(function: Function) -> Function:
    """Compile with machine code for whatever a graph allows."""
    return bcjit.compile(function, backend=Native(smallest=1))


def compile_fused(function: Function) -> Function:
    """Compile so that arrays of every size go through the buffers."""
    return bcjit.compile(function, backend=bcjit.backends.Fused(smallest=0, block=5))


def identity(function: Function) -> Function:
    """Compile nothing: passes every behaviour case, and must fail the floors."""
    return function


def captured_nodes(case: Case, transform: Callable[[Function], Function] = compile_eager) -> int:
    """Run a case and return the number of nodes that do work in the graphs of its function."""
    compiled: list[Function] = []

    def remember(function: Function) -> Function:
        compiled.append(transform(function))
        return compiled[-1]

    behaviour_cases.run(case, remember)
    reports = [f.report() for f in compiled if hasattr(f, "report")]
    return sum(part.nodes for report in reports for part in getattr(report, "parts", ()))


def below_floor(counts: Mapping[str, int], floors: Mapping[str, Floor]) -> list[str]:
    """Name each case that captured less than its floor."""
    return [
        f"{name}: {counts[name]} nodes captured, the floor is {floor.nodes}"
        for name, floor in floors.items()
        if counts[name] < floor.nodes
    ]


def has_blocks(case: Case) -> bool:
    """Whether the case's function contains a loop, try, with or comprehension."""
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(case["make"]()["f"])))
    return any(isinstance(node, _BLOCKS) for node in ast.walk(ast.parse(source)))
