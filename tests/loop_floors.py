"""What is captured of each loop program at least: counts it, and keeps it in loop_programs/floors.json; it judges nothing.

Of the first call of each program: the graphs that it is captured in, at most, and the loops in them that are captured whole, at least.
Graphs may only become fewer, and loops more::

    python -m tests.loop_floors [--reasons] [PYTHON ...]

raises the floors to what is captured now, and lowers none; run it from the top of the repository. A floor must hold on every Python: with
several interpreters given, what holds in all is taken. ``--reasons`` prints instead why programs are not captured as one graph, the most frequent
reasons first.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from differential import Setting, observe
from loop_programs import PROGRAMS, LoopProgram
from under_test import captured_loops, captured_parts, compile_eager

FLOORS_FILE: Final = Path(__file__).parent / "loop_programs" / "floors.json"


@dataclass(frozen=True, slots=True)
class Floor:
    """What floors.json says of a program."""

    graphs: int
    loops: int

    def better(self, other: Floor) -> Floor:
        """Return the best of two."""
        return Floor(min(self.graphs, other.graphs), max(self.loops, other.loops))

    def worse(self, other: Floor) -> Floor:
        """Return what holds where either is found."""
        return Floor(max(self.graphs, other.graphs), min(self.loops, other.loops))


def load_floors() -> dict[str, Floor]:
    """Read floors.json."""
    return {name: Floor(**row) for name, row in json.loads(FLOORS_FILE.read_text()).items()}


def save_floors(floors: Mapping[str, Floor]) -> None:
    """Write floors.json, one program a line, in their order."""
    rows = [f"  {json.dumps(p.name)}: {json.dumps(asdict(floors[p.name]))}" for p in PROGRAMS]
    FLOORS_FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n")


def compiled_once(
    program: LoopProgram, transform: Callable[[Any], Any] = compile_eager
) -> Callable[..., Any]:
    """Compile a program and make its first call."""
    world = program.world()
    compiled = transform(world.fn)
    observe(compiled, world.calls[:1], Setting(repeats=1), world)
    return compiled


def counted(program: LoopProgram, transform: Callable[[Any], Any] = compile_eager) -> Floor:
    """Return what is captured of a program now."""
    compiled = compiled_once(program, transform)
    return Floor(captured_parts(compiled), captured_loops(compiled))


def below(name: str, now: Floor, floor: Floor) -> list[str]:
    """Say what is worse than its floor."""
    found = []
    if now.graphs > floor.graphs:
        found.append(f"{name}: captured in {now.graphs} graphs, {floor.graphs} at most")
    if now.loops < floor.loops:
        found.append(f"{name}: {now.loops} loops captured whole, the floor is {floor.loops}")
    return found


def reasons() -> None:
    """Print the reasons for which programs are not one graph, with the programs."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    whole = 0
    for program in PROGRAMS:
        report = compiled_once(program).report()
        ends = {part.ends for part in report.parts}
        if len(report.parts) == 1 and ends == {"returns"} and not report.problems:
            whole += 1
            continue
        lines = [loop.text() for loop in report.loops if loop.how == "left"]
        for line in lines or sorted(ends):
            found[line.partition(": ")[2] or line][program.name].append(line)
    print(f"{whole} of {len(PROGRAMS)} programs are one graph")
    for why, programs in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"\n{why} ({len(programs)})")
        for name, lines in programs.items():
            print(f"  {name}: {'; '.join(lines)}")


def main(arguments: list[str]) -> int:
    """Count here (``--count``), or in each interpreter, and raise the floors."""
    if arguments == ["--count"]:
        print(json.dumps({program.name: asdict(counted(program)) for program in PROGRAMS}))
        return 0
    if arguments == ["--reasons"]:
        reasons()
        return 0
    floors = load_floors()
    counts: list[dict[str, Floor]] = []
    for python in arguments or [sys.executable]:
        command = [python, "-m", "tests.loop_floors", "--count"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        rows = json.loads(done.stdout.splitlines()[-1])
        counts.append({name: Floor(**row) for name, row in rows.items()})
    raised = {}
    for program in PROGRAMS:
        name = program.name
        now = counts[0][name]
        for count in counts[1:]:
            now = now.worse(count[name])
        old = floors.get(name, now)
        for line in below(name, now, old):
            print(line)
        raised[name] = old.better(now)
        if raised[name] != floors.get(name):
            print(f"{name}: {floors.get(name)} -> {raised[name]}")
    save_floors(raised)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
