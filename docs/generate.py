"""Writes the generated pages of the documentation; run as ``python docs/generate.py [benchmarks] [graph_breaks] [op_support] [readme]``.

Each page is made from a table of the package, or from the figures in ``benchmarks/results/``, so that it cannot say anything else; in the README what stands between two marks.
A test holds that the pages are not stale.
"""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from bcjit import ops
from bcjit.bench.kernels import KERNELS
from bcjit.bench.suite import PROGRAMS, SIZES
from bcjit.bench.tables import Table, markdown, read
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

`python -m bcjit bench dispatch` and `bench capture` measure what calls and first calls cost; `bench suite` measures whole programs and `bench kernels` single loops over arrays, which this page is about.
The others are in [benchmarks/](../benchmarks/README.md), and why it is measured so is in the design notes [0019](design/0019-benchmarks.md) and [0025](design/0025-benchmarks.md).

## Running it

```console
$ python -m bcjit bench suite                                     # all programs, backend auto, medium size
$ python -m bcjit bench suite --backend eager,fused,native --size small,large     # in turns, a column each
$ python -m bcjit bench suite --backend native,native-fast        # the second one with options={{"fast": True}}
$ python -m bcjit bench suite --case "heat 3d" --case softmax --no-peers
$ python -m bcjit bench suite --json figures.json --picture figures.png    # the picture needs the extra `demo`
$ python -m bcjit bench kernels --backend native --size 1e3,1e5
$ python -m benchmarks.make_results kernels-kept                  # the kernels with all peers, memory kept: some six minutes
$ python -m benchmarks.make_results                               # all of benchmarks/results, this page and the README's table
```

A run of all programs at the medium size takes a few minutes; `--rounds 100` makes it shorter. Peers add the time in which they compile (`--peer-size medium` asks them at one size only). A backend that is not installed here, or refuses an option, is left out with a sentence. The exit code is 1
where a compiled program did something else than the plain one.

## What is measured

| column | what it says |
|---|---|
| result | `equal`, or where the compiled program differs. `bcjit.check` runs each twice plain and twice compiled and compares bit by bit: results with dtype and memory layout, what is written into arguments, random streams, warnings, exceptions. What differs has no figures and makes the run a failure. `close`: of a backend with an option, which may round otherwise; half of the digits are NumPy's |
| speed-up | the least time of a plain call over the least time of a compiled one; below 1 is slower |
| 25 %, 75 % | quartiles of that ratio turn by turn: how far to trust it |
| runs | `plain` where the cost model of the backend `auto` measured that plain Python is quicker, and went back to it |
| first call | milliseconds of a call of a copy of the code that nothing is known of, compiling included, nothing in memory or on disk; least of three |
| from disk | the same with the kernels on disk, where the backend keeps them there |
| graphs, breaks, nodes | what was captured |
| kernels, kernel ms | how many the backend made of it, and the most that one took to compile, where it says so |
| peak | the most memory allocated at once during a call, arrays included (NumPy tells `tracemalloc` of them), in a call of its own; beside it, how many times plain NumPy's |

Calls are timed in turns within one process: in each turn the plain program, each backend and each peer run for about a millisecond and at least once, so that a busy machine disturbs all alike. Where a program writes into its arguments or draws random numbers,
each call gets arguments of its own, made outside what is timed.

Peers (`numba.njit`, `jax.jit`, `torch.compile`) get the unmodified source, with `np` bound to `jax.numpy` for JAX, where they are installed (extra `bench-peers`). Half of the digits must be NumPy's, since they sum in another order, and so must be what is left in arguments;
else, or where they raise or take longer than two minutes to compile, the table says `cannot: ...`. In the geometric means a program that is not run, or not right, counts as 1. numexpr takes the text of one expression, which no program is; it stands beside the kernels.

Half of the time that NumPy spends on large temporaries goes into page faults, and what a backend saves of them counts. Set `MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_THRESHOLD_` to a large number for a run in which memory is kept, so that the first line of a run says `heap memory kept`.

The timer underneath is `timeit.Timer` of the standard library, as it is underneath asv; asv records the same programs and kernels over commits ([benchmarks/](../benchmarks/README.md)).

`bench kernels` measures the functions below at 10 to 10,000,000 elements in float64 and float32, beside `numba.njit` with `fastmath` off and on, `jax.jit`, `torch.compile` and numexpr. In the same turns as many bytes are copied as a kernel must move (each argument read once, each result written once): `of copy` is
the kernel's share of that rate, for the kernels that memory limits. Copies within each cache and beyond stand above.

## The programs

{count} programs, as NumPy users write them, in `bcjit/bench/suite/`. Each is a plain function and a set-up that makes its arguments from a size and a seed. Sizes are what the set-up is told: elements, the length of a side, or turns.
"""

RESULTS: Final = HERE.parent / "benchmarks" / "results"


def figures(name: str) -> dict[str, Any]:
    """Return what a run wrote, empty where there is no such file; `tables` are tables."""
    file = RESULTS / f"{name}.json"
    if not file.exists():
        return {"tables": []}
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found | {"tables": read(found["tables"])}


def chosen(run: Mapping[str, Any], **about: str) -> list[Table]:
    """Return the tables of a run that are about this."""
    return [one for one in run["tables"] if about.items() <= one.about.items()]


def machine_of(run: Mapping[str, Any]) -> str:
    """Return a sentence on the machine and the versions, and on what was left out."""
    facts = "; ".join(f"{name} {value}" for name, value in run["machine"].items())
    return " ".join([f"{facts}; least of {run['rounds']} turns.", *run["left_out"]])


def usual_size(suite: Mapping[str, Any]) -> str:
    """Return the size whose single programs are shown."""
    sizes = [one.about["size"] for one in chosen(suite, what="means")]
    return "medium" if "medium" in sizes else sizes[-1]


def sections(run: Mapping[str, Any], **about: str) -> list[str]:
    """Return the tables of a run that are about this, with headings."""
    return [f"#### {one.title}\n\n{markdown(one)}" for one in chosen(run, **about)]


def results() -> str:
    """Return the figures of the runs in benchmarks/results, as sections of the page."""
    parts = [
        "## Results\n",
        "Of single runs; [benchmarks/results/](../benchmarks/results/README.md) has all of their figures as JSON. Ratios count, not times.\n",
    ]
    suite = figures("suite")
    if suite["tables"]:
        parts.append(f"### Whole programs\n\n{machine_of(suite)}\n")
        if (RESULTS / "suite.png").exists():
            parts.append("![Speed-ups of each program](../benchmarks/results/suite.png)\n")
        for what in ("means", "by size", "by kind", "speedups"):
            parts += sections(suite, what=what)
        parts += sections(suite, what="details", size=usual_size(suite))
    for name in ("kernels", "kernels-kept"):
        run = figures(name)
        if run["tables"]:
            parts.append(f"### Kernels, heap {run['machine']['heap']}\n\n{machine_of(run)}\n")
            for what in ("limits", "means", "speedups"):
                parts += sections(run, what=what)
            if name != "kernels":  # hundreds of lines: once is enough
                parts += sections(run, what="details")
    return "\n".join(parts)


README: Final = HERE.parent / "README.md"
MARKS: Final = (
    "<!-- The suite's figures: written by docs/generate.py from benchmarks/results/suite.json, run python docs/generate.py readme -->",
    "<!-- end of the suite's figures -->",
)


def suite_in_short() -> str:
    """Return what the README says of the suite: geometric means, and the table of one size to be folded out."""
    run = figures("suite")
    if not run["tables"]:
        return ""
    size = usual_size(run)
    (means,) = chosen(run, what="means", size=size)
    (speedups,) = chosen(run, what="speedups", size=size)
    parts = [
        f"`python -m bcjit bench suite`: {len(speedups.rows)} whole programs ([which, and how measured](docs/benchmarks.md)), size {size}, times as fast as plain NumPy ({machine_of(run)}):\n",
        markdown(means),
        *(markdown(replace(one, notes=())) for one in chosen(run, what="by size")),
        f"<details><summary>Each program, size {size}</summary>\n\n{markdown(speedups)}\n</details>\n",
    ]
    return "\n".join(parts)


def readme() -> str:
    """Return the README with what stands between the marks made anew."""
    before, _, rest = README.read_text(encoding="utf-8").partition(MARKS[0])
    _, mark, after = rest.partition(MARKS[1])
    if not mark:
        raise ValueError(f"{README}: the marks are expected, {MARKS[0]!r} and {MARKS[1]!r}")
    return f"{before}{MARKS[0]}\n{suite_in_short()}{mark}{after}"


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
    rows = [
        f"| {kernel.name} | {kernel.what} | {'memory' if kernel.memory_bound else 'arithmetic'} |"
        for kernel in KERNELS.values()
    ]
    head = "| kernel | what it computes | limited by |\n|---|---|---|"
    parts.append("\n".join(["## The kernels\n", head, *rows]) + "\n")
    parts.append(results())
    return "\n".join(parts)


PAGES: Final[dict[str, Callable[[], str]]] = {
    "benchmarks": benchmarks,
    "graph_breaks": graph_breaks,
    "op_support": op_support,
    "readme": readme,
}


def main(names: list[str]) -> int:
    """Write the named pages, or all."""
    for name in names or list(PAGES):
        if name not in PAGES:
            sys.stderr.write(f"no page is called {name!r}; the pages are {', '.join(PAGES)}\n")
            return 2
        file = README if name == "readme" else HERE / f"{name}.md"
        file.write_text(PAGES[name](), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
