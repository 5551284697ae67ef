"""The cases of found.json and the floors of floors.json: makes worlds of them, runs them, counts what was captured.

A case is a function of somebody else's package with the kinds of its arguments; `finder` finds them. A floor is the number of
graph nodes that a case must capture at least. Running everything as plain Python passes every comparison, so the floors are
what shows that something was compiled. They may only rise.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import importlib.util
import json
import types
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from differential import PLAIN, Arguments, World, assert_same, observe

import bcjit
from bcjit.errors import InternalError

from .inputs import COMPLEX, arguments

# The name that is imported, and the one that is installed.
PACKAGES: Final = {"scipy": "scipy", "colour": "colour-science", "ahrs": "AHRS"}
FOUND_FILE: Final = Path(__file__).with_name("found.json")
FLOORS_FILE: Final = Path(__file__).with_name("floors.json")

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A function and how it is called."""

    name: str  # module and function, dotted
    kinds: tuple[str, ...]  # of the positional arguments
    keywords: tuple[tuple[str, str], ...] = ()  # name and kind
    takes_complex: bool = False

    @property
    def package(self) -> str:
        """Return the name of the package that is imported."""
        return self.name.partition(".")[0]

    def function(self) -> Function | None:
        """Return the function; None where this version of the package has none of that name."""
        module, _, name = self.name.rpartition(".")
        try:
            return getattr(quiet_import(module), name, None)
        except ImportError:
            return None

    def arguments(self, call: int) -> Arguments:
        """Make the arguments of one call."""
        kinds = (*self.kinds, *(kind for _, kind in self.keywords))
        made = arguments(self.name, kinds, call)
        names = (name for name, _ in self.keywords)
        positional = len(self.kinds)
        return tuple(made[:positional]), dict(zip(names, made[positional:], strict=True))

    def world(self) -> World:
        """Make the world of the function and its calls."""
        function = self.function()
        assert function is not None, self.name
        calls = range(COMPLEX + self.takes_complex)
        return World(function, [functools.partial(self.arguments, call) for call in calls])


@dataclass(frozen=True, slots=True)
class Counts:
    """What was captured of a case."""

    nodes: int = 0
    graphs: int = 0
    breaks: int = 0


def quiet_import(module: str) -> types.ModuleType:
    """Import a module of somebody else: what it warns of is theirs, and NumPy's settings are not (colour sets them)."""
    with warnings.catch_warnings(), np.errstate(), np.printoptions():
        warnings.simplefilter("ignore")
        return importlib.import_module(module)


def version(package: str) -> str | None:
    """Return ``package major.minor``, or None where it is not installed."""
    if importlib.util.find_spec(package) is None:
        return None
    parts = importlib.metadata.version(PACKAGES[package]).split(".")
    return f"{package} {'.'.join(parts[:2])}"


def load_cases(package: str) -> list[Case]:
    """Read the cases of a package from found.json."""
    rows = json.loads(FOUND_FILE.read_text())[package]
    return [
        Case(
            name=name,
            kinds=tuple(row["kinds"]),
            keywords=tuple(row.get("keywords", {}).items()),
            takes_complex=row.get("complex", False),
        )
        for name, row in rows.items()
    ]


def save_cases(cases: Mapping[str, Sequence[Case]]) -> None:
    """Write found.json, one case a line."""
    blocks = []
    for package, found in cases.items():
        rows = []
        for case in found:
            row: dict[str, object] = {"kinds": list(case.kinds)}
            if case.keywords:
                row["keywords"] = dict(case.keywords)
            if case.takes_complex:
                row["complex"] = True
            rows.append(f"    {json.dumps(case.name)}: {json.dumps(row)}")
        blocks.append(f"  {json.dumps(package)}: {{\n" + ",\n".join(rows) + "\n  }")
    FOUND_FILE.write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def load_floors() -> dict[str, dict[str, Counts]]:
    """Read floors.json: by package and version, then by function."""
    if not FLOORS_FILE.exists():
        return {}
    return {
        key: {name: Counts(*row) for name, row in rows.items()}
        for key, rows in json.loads(FLOORS_FILE.read_text()).items()
    }


def save_floors(floors: Mapping[str, Mapping[str, Counts]]) -> None:
    """Write floors.json, one function a line: nodes, graphs, breaks."""
    blocks = []
    for key, rows in sorted(floors.items()):
        lines = [
            f"    {json.dumps(name)}: {json.dumps(list(asdict(counts).values()))}"
            for name, counts in sorted(rows.items())
        ]
        blocks.append(f"  {json.dumps(key)}: {{\n" + ",\n".join(lines) + "\n  }")
    FLOORS_FILE.write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def counts_of(compiled: Function) -> Counts:
    """Count what was captured of a function and of those that it calls; nothing where it is no compiled one."""
    graphs = getattr(compiled, "graphs", ())
    report = getattr(compiled, "report", None)
    parts = getattr(report(), "parts", ()) if report is not None else ()
    return Counts(
        nodes=sum(part.nodes for part in parts),
        graphs=sum(graph.count > 0 for graph in graphs),
        breaks=sum(part.ends.startswith("BRK") for part in parts),
    )


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a case."""

    name: str
    problem: str  # in what compiled and plain differ, empty where they do not
    returned: bool  # whether the first call returned, as it did where the case was found
    counts: Counts


def table(rows: Mapping[str, Counts]) -> str:
    """Return what was captured of each function, and of all."""

    def line(counts: Counts, text: str) -> str:
        return f"{counts.nodes:7} {counts.graphs:7} {counts.breaks:7}  {text}"

    found = rows.values()
    total = Counts(*(sum(getattr(c, field.name) for c in found) for field in fields(Counts)))
    some = sum(counts.nodes > 0 for counts in found)
    return "\n".join(
        [
            f"{'nodes':>7} {'graphs':>7} {'breaks':>7}  function",
            *(line(counts, name) for name, counts in rows.items()),
            line(total, f"in all, {len(rows)} functions, {some} of them captured"),
        ]
    )


def check(case: Case, transform: Callable[[Function], Function]) -> Result:
    """Compare a case's compiled and plain function and count what was captured."""
    # Once before: packages fill caches of their own in a first call.
    world = case.world()
    first = observe(world.fn, world.calls, PLAIN, world)[0]
    compiled: list[Function] = []

    def remember(function: Function) -> Function:
        compiled.append(transform(function))
        return compiled[-1]

    problem = ""
    try:
        assert_same(case.world, remember, label=case.name)
    except (AssertionError, InternalError) as error:
        problem = str(error)
    result = Result(case.name, problem, first.outcome[0] == "returned", counts_of(compiled[-1]))  # type: ignore[index]
    bcjit.reset()
    return result


def identity(function: Function) -> Function:
    """Compile nothing: passes every comparison, and must fail the floors."""
    return function


def below_floor(counts: Mapping[str, Counts], floors: Mapping[str, Counts]) -> list[str]:
    """Name each case that captured less than its floor."""
    return [
        f"{name}: {got.nodes} nodes captured, the floor is {floors[name].nodes}"
        for name, got in counts.items()
        if name in floors and got.nodes < floors[name].nodes
    ]
