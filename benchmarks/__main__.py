"""``python -m benchmarks [name ...]``: figures that were promised, beside what is measured now.

Those of calls and first calls are ``python -m bcjit bench dispatch`` and ``python -m bcjit bench capture``.
"""

from __future__ import annotations

import argparse

from bcjit.bench.measure import show
from benchmarks import (
    bench_guards,
    bench_import,
    bench_loops,
    bench_thousand,
)

MODULES = {
    "guards": bench_guards,
    "thousand": bench_thousand,
    "loops": bench_loops,
    "import": bench_import,
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*MODULES, []], help="all by default")
    parser.add_argument("--rounds", type=int, default=300, help="turns that each minimum is of")
    options = parser.parse_args()
    for name in options.names or MODULES:
        module = MODULES[name]
        title = (module.__doc__ or "").partition("\n")[0]
        show(title, module.rows(options.rounds))


if __name__ == "__main__":
    main()
