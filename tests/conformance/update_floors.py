"""Raises the floors of floors.json to what is captured now; lowers none.

    python -m tests.conformance.update_floors [PYTHON ...]

Run from the top of the repository. A floor must hold on every Python: with several interpreters given, the least count is taken.
"""

from __future__ import annotations

import json
import subprocess
import sys

from .harness import CASES, Floor, captured_nodes, load_floors, save_floors


def main(arguments: list[str]) -> int:
    """Count here (``--count``), or in each interpreter, and raise the floors."""
    if arguments == ["--count"]:
        print(json.dumps({case["name"]: captured_nodes(case) for case in CASES}))
        return 0
    floors = load_floors()
    counts: list[dict[str, int]] = []
    for python in arguments or [sys.executable]:
        command = [python, "-m", "tests.conformance.update_floors", "--count"]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        counts.append(json.loads(done.stdout.splitlines()[-1]))
    raised = {}
    for name in (case["name"] for case in CASES):
        old = floors.get(name, Floor(0))
        least = min(count[name] for count in counts)
        new = Floor(max(old.nodes, least), old.reason if max(old.nodes, least) == 0 else "")
        if new != old:
            print(f"{name}: {old.nodes} -> {new.nodes}")
        elif least < old.nodes:
            print(f"{name}: {least} captured, below the floor of {old.nodes}")
        raised[name] = new
    save_floors(raised)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
