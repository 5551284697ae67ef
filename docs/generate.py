"""Writes the generated pages of the documentation; run as ``python docs/generate.py [benchmarks] [graph_breaks] [op_support]``.

Each page is made from a table of the package, so that it cannot say anything else. A test holds that the pages are not stale.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from bcjit import ops
from bcjit.bench.suite import PROGRAMS, SIZES
from bcjit.ops.unsupported import UNSUPPORTED
from bcjit.symbolic_vm import REASONS

HERE: Final = Path(__file__).parent

_GRAPH_BREAKS: Final = """\
# Graph breaks

<!-- Written by docs/generate.py from the table in bcjit/symbolic_vm/break_reasons.py: change that, and run
     python docs/generate.py graph_breaks -->

Where a function does something that is not part of a graph, the graph is cut: what came before is one graph, the instruction runs as
plain Python, and capture goes on behind it. A break never changes what a function does; it only costs some of the speed.
`f.explain(...)` and `f.report()` name each break with its code, file and line, and `fullgraph=True` raises
`bcjit.errors.GraphBreakError` at the first one. Codes are stable.
"""


def graph_breaks() -> str:
    """Return the page on graph breaks."""
    parts = [_GRAPH_BREAKS]
    for reason in REASONS.values():
        parts.append(f"## {reason.code}: {reason.title}\n\n{reason.explanation}\n")
        if reason.hint:
            parts.append(f"*Hint:* {reason.hint}\n")
    return "\n".join(parts)


_OP_SUPPORT: Final = """\
# What of NumPy is captured

<!-- Written by docs/generate.py from the op table (bcjit/ops/) and bcjit/ops/unsupported.py, with NumPy {version}: run
     python docs/generate.py op_support -->

A captured name is part of a graph, with exact shape, dtype, aliasing and effects. Where a call of it needs what its entry does not describe (a keyword, an odd
dtype), the graph is cut there and the call runs as plain Python; `f.explain(...)` says why. Besides the names below every operator of arrays is captured, indexing in all its forms, and any elementwise
ufunc with loops in C, those of `scipy.special` included, with its methods.
"""

# Where public names are looked for, and the name of the place in `UNSUPPORTED`.
NAMESPACES: Final[dict[str, object]] = {
    "np": np,
    "np.linalg": np.linalg,
    "np.fft": np.fft,
    "np.random": np.random,
    "np.random.Generator": np.random.Generator,
    "np.random.RandomState": np.random.RandomState,
    "np.ndarray": np.ndarray,
    "np.generic": np.generic,
    "np.ufunc": np.ufunc,
}


def public_names(place: str) -> Iterator[tuple[str, bool]]:
    """Yield the public names of a namespace that can be called or read, and whether the op table has them."""
    owner = NAMESPACES[place]
    for name in sorted(getattr(owner, "__all__", None) or dir(owner)):
        if name.startswith("_"):
            continue
        if owner is np.ufunc:
            yield name, ops.lookup(getattr(np.add, name)) is not None
        elif owner is np.ndarray or owner is np.generic:
            scalar = owner is np.generic
            found = ops.lookup_method(name, is_scalar=scalar) or ops.lookup_attribute(
                name, is_scalar=scalar
            )
            yield name, found is not None
        else:
            value = getattr(owner, name)
            if callable(value) and not isinstance(value, types.ModuleType):
                yield name, ops.lookup(value) is not None


def op_support() -> str:
    """Return the page on what of NumPy is captured."""
    parts = [_OP_SUPPORT.format(version=np.__version__)]
    for place in NAMESPACES:
        names = list(public_names(place))
        captured = [name for name, known in names if known]
        parts.append(f"## {place}: {len(captured)} of {len(names)}\n")
        parts.append(", ".join(f"`{name}`" for name in captured) + "\n")
        reasons: dict[str, list[str]] = {}
        for name, known in names:
            if not known:
                reasons.setdefault(UNSUPPORTED.get(f"{place}.{name}", "?"), []).append(f"`{name}`")
        if reasons:
            rows = [f"| {', '.join(found)} | {reason} |" for reason, found in reasons.items()]
            parts.append("\n".join(["| not captured | why |", "|---|---|", *rows]) + "\n")
    return "\n".join(parts)


_BENCHMARKS: Final = """\
# Benchmarks

<!-- Written by docs/generate.py from the programs in bcjit/bench/suite/: change those, or the text there, and run
     python docs/generate.py benchmarks -->

`python -m bcjit bench dispatch` and `bench capture` measure what calls and first calls cost; `python -m bcjit bench suite` measures whole programs, which this page is about.
The others are in [benchmarks/](../benchmarks/README.md), and why it is measured so is in [design note 0019](design/0019-benchmarks.md).

## Running it

```console
$ python -m bcjit bench suite                                     # all programs, backend auto, medium size
$ python -m bcjit bench suite --backend eager --backend auto --size small --size large
$ python -m bcjit bench suite --case "heat 3d" --case softmax --no-peers
$ python -m bcjit bench suite --json figures.json --picture figures.png    # the picture needs the extra `demo`
```

A run of all programs at the medium size takes a few minutes; `--rounds 100` makes it shorter. Peers add the time in which they compile. The exit code is 1 where a compiled program did something else than the plain one.

## What is measured

| column | what it says |
|---|---|
| result | `equal`, or where the compiled program differs. `bcjit.check` runs each twice plain and twice compiled and compares bit by bit: results with dtype and memory layout, what is written into arguments, random streams, warnings, exceptions. What differs has no figures and makes the run a failure |
| speed-up | the least time of a plain call over the least time of a compiled one; below 1 is slower |
| 25 %, 75 % | quartiles of that ratio turn by turn: how far to trust it |
| runs | `plain` where the cost model of the backend `auto` measured that plain Python is quicker, and went back to it |
| first call | milliseconds of a call of a copy of the code that nothing is known of, compiling included; least of three |
| graphs, breaks, nodes | what was captured |
| kernels | what the backend made of it, where it says so |
| peak | the most memory allocated at once during a call, arrays included (NumPy tells `tracemalloc` of them), in a call of its own; beside it, how many times plain NumPy's |

Calls are timed in turns within one process: in each turn the plain program, each backend and each peer run for about a millisecond and at least once, so that a busy machine disturbs all alike. Where a program writes into its arguments or draws random numbers,
each call gets arguments of its own, made outside what is timed.

Peers (`numba.njit`, `jax.jit`, `torch.compile` with its own and its `eager` backend) get the unmodified source, with `np` bound to `jax.numpy` for JAX, where they are installed (extra `bench-peers`). Half of the digits must be NumPy's, since they sum in another order, and so must be what is left in arguments;
else, or where they raise or take longer than two minutes to compile, the table says `cannot: ...`. In the geometric means a program that is not run, or not right, counts as 1.

Half of the time that NumPy spends on large temporaries goes into page faults, and what a backend saves of them counts. Set `MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_THRESHOLD_` to a large number for a run in which memory is kept, and say which it was.

## Results

[benchmarks/results/](../benchmarks/results/README.md) has the figures of single runs as JSON, with pictures.

![Speed-ups of the backend eager at the medium size](../benchmarks/results/eager-medium.png)

## The programs

{count} programs, as NumPy users write them, in `bcjit/bench/suite/`. Each is a plain function and a set-up that makes its arguments from a size and a seed. Sizes are what the set-up is told: elements, the length of a side, or turns.
"""


def benchmarks() -> str:
    """Return the page on the benchmark suite."""
    parts = [_BENCHMARKS.format(count=len(PROGRAMS))]
    for subject in dict.fromkeys(program.subject for program in PROGRAMS.values()):
        rows = []
        for program in PROGRAMS.values():
            if program.subject == subject:
                sizes = " | ".join(f"{getattr(program.sizes, size):,}" for size in SIZES)
                how = "items" if program.by_element else "arrays"
                rows.append(f"| {program.name} | {program.what} | {how} | {sizes} |")
        head = f"| {subject} | what it computes | works on | {' | '.join(SIZES)} |"
        parts.append("\n".join([head, "|---|---|---|--:|--:|--:|", *rows]) + "\n")
    return "\n".join(parts)


PAGES: Final[dict[str, Callable[[], str]]] = {
    "benchmarks": benchmarks,
    "graph_breaks": graph_breaks,
    "op_support": op_support,
}


def main(names: list[str]) -> int:
    """Write the named pages, or all."""
    for name in names or list(PAGES):
        if name not in PAGES:
            sys.stderr.write(f"no page is called {name!r}; the pages are {', '.join(PAGES)}\n")
            return 2
        (HERE / f"{name}.md").write_text(PAGES[name](), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
