"""The functions of other people's packages, and what is captured of each; raises the floors; finds the functions anew.

    python -m tests.realworld                       the table for this Python
    python -m tests.realworld --update [PYTHON ...] floors.json raised to the least that these Pythons capture; none is lowered
    python -m tests.realworld --find                found.json made anew from the versions that are installed here

Run from the top of the repository. A floor must hold on every Python and NumPy that bcjit supports (NumPy 2.0 captures less than
later ones): give the interpreter of an environment with the oldest NumPy too.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

# The harness of the tests, which pytest finds in the same way.
sys.path.insert(0, str(Path(__file__).parents[1]))

from under_test import compile_eager

from . import finder, harness
from .harness import PACKAGES, Counts

Table = dict[str, dict[str, Counts]]


def count_here() -> Table:
    """Run every case of every package that is installed here."""
    table: Table = {}
    for package in PACKAGES:
        key = harness.version(package)
        if key is None:
            print(f"{package} is not installed", file=sys.stderr)
            continue
        table[key] = {}
        for case in harness.load_cases(package):
            if case.function() is None:
                continue
            result = harness.check(case, compile_eager)
            table[key][case.name] = result.counts
            if result.problem:
                print(result.problem, file=sys.stderr)
    return table


def count_in(python: str) -> Table:
    """Run every case in another interpreter."""
    command = [python, "-m", "tests.realworld", "--json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    rows = json.loads(done.stdout.splitlines()[-1])
    return {
        key: {name: Counts(**row) for name, row in found.items()} for key, found in rows.items()
    }


def show(table: Table) -> None:
    """Print what was captured of each function."""
    for key, rows in table.items():
        print(f"\n{key}", harness.table(rows), sep="\n")


def update(tables: list[Table]) -> None:
    """Raise the floors to the least of what was counted."""
    floors = harness.load_floors()
    for key in sorted({key for table in tables for key in table}):
        counted = [table[key] for table in tables if key in table]
        old = floors.get(key, {})
        new = {}
        for name in counted[0]:
            if not all(name in rows for rows in counted):
                continue
            least = min((rows[name] for rows in counted), key=lambda counts: counts.nodes)
            before = old.get(name)
            new[name] = least if before is None or least.nodes > before.nodes else before
            if before is not None and least.nodes < before.nodes:
                print(f"{name}: {least.nodes} captured, below the floor of {before.nodes}")
        risen = sum(name in old and new[name].nodes > old[name].nodes for name in new)
        print(f"{key}: {len(new)} floors, {risen} raised, {len(new.keys() - old.keys())} new")
        floors[key] = new
    harness.save_floors(floors)


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.realworld", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    does = parser.add_mutually_exclusive_group()
    does.add_argument("--update", nargs="*", metavar="PYTHON")
    does.add_argument("--find", action="store_true")
    does.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    # Else the message at the cache limit is a difference: it goes to stderr where nobody handles it, which pytest does.
    logging.getLogger("bcjit").addHandler(logging.NullHandler())
    if chosen.find:
        harness.save_cases({package: finder.find(package) for package in PACKAGES})
    elif chosen.update is not None:
        update([count_in(python) for python in chosen.update or [sys.executable]])
    elif chosen.json:
        table = count_here()
        rows = {k: {n: asdict(c) for n, c in found.items()} for k, found in table.items()}
        print(json.dumps(rows))
    else:
        show(count_here())
    return 0


if __name__ == "__main__":
    # What the functions compute is small: threads would only cost, and a process that has some is not forked.
    if os.environ.setdefault("OPENBLAS_NUM_THREADS", "1") != "1":
        print("OPENBLAS_NUM_THREADS is not 1", file=sys.stderr)
    raise SystemExit(main())
