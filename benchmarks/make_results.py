"""``python -m benchmarks.make_results``: measure everything that the pages show, and write the pages; some hours with peers, under one without.

Each run is a process of its own, one thread for everybody. What is written: ``benchmarks/results/*.json`` and the picture, then the pages and the README by ``docs/generate.py``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bcjit.bench.suite import picture
from bcjit.bench.tables import HEAP

__all__ = ["RUNS", "Run", "commands"]

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = ROOT / "benchmarks" / "results"
BACKENDS: Final = "eager,fused,native,native-fast"
# With all peers, of which one is told after two minutes that it is late, some six minutes on a machine that has nothing else to do.
KERNEL_SIZES: Final = ("--size", "1e3,1e5,1e6")
ONE_THREAD: Final = {
    "BCJIT_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
KEPT: Final = dict.fromkeys(HEAP, str(1 << 40))


@dataclass(frozen=True, slots=True)
class Run:
    """A run of ``python -m bcjit bench``: what is measured, through which backends, more words, and whether freed memory is kept."""

    subject: str
    words: tuple[str, ...] = ()
    backends: str = BACKENDS
    kept: bool = False
    drawn: bool = False


RUNS: Final = {
    # Peers at one size: some take two minutes for each of many programs before they give up.
    "suite": Run("suite", ("--size", "small,medium,large", "--peer-size", "medium"), drawn=True),
    "kernels": Run("kernels", KERNEL_SIZES, "native,native-fast"),
    "kernels-kept": Run("kernels", KERNEL_SIZES, "native,native-fast", kept=True),
}


def commands(
    name: str, more: list[str], folder: Path = RESULTS
) -> tuple[list[str], dict[str, str]]:
    """Return the words of a run, and its environment."""
    one = RUNS[name]
    # Everybody has one thread, so processor time is fair, and what the neighbours do is not in it.
    words = [sys.executable, "-m", "bcjit", "bench", one.subject, "--clock", "processor"]
    words += [] if "--backend" in more else ["--backend", one.backends]
    words += [*one.words, *more]
    words += ["--json", str(folder / f"{name}.json")]
    if one.drawn and picture.is_there():
        words += ["--picture", str(folder / f"{name}.png")]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": path}
    return words, environment | (KEPT if one.kept else {})


def _waited(process: subprocess.Popen[bytes]) -> tuple[int, bool]:
    """Return the exit code of a run, and whether somebody pressed Ctrl-C: the run has heard it too, and writes what it has."""
    interrupted = False
    while True:
        try:
            return process.wait(), interrupted
        except KeyboardInterrupt:
            interrupted = True


def main() -> int:
    """Measure, write, and say which runs failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.make_results", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*RUNS, []], help="all by default")
    parser.add_argument(
        "--backend", help="with commas, instead of the usual ones; what is missing is left out"
    )
    parser.add_argument("--rounds", default="100", help="turns that each minimum is of")
    parser.add_argument("--no-peers", action="store_true", help="leave other compilers out")
    options = parser.parse_args()
    more = ["--rounds", options.rounds]
    more += ["--backend", options.backend] if options.backend else []
    more += ["--no-peers"] * options.no_peers
    failed = []
    for name in options.names or RUNS:
        words, environment = commands(name, more)
        print(f"\n==== {name}: {' '.join(words[1:])}", flush=True)
        code, interrupted = _waited(subprocess.Popen(words, env=environment, cwd=ROOT))
        if code:
            failed.append(name)
        if interrupted:
            break
    pages = [sys.executable, str(ROOT / "docs" / "generate.py"), "benchmarks", "readme"]
    subprocess.run(pages, env=environment, cwd=ROOT, check=True)
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nall is written")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
