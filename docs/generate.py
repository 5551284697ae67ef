"""Writes the generated pages of the documentation; run as ``python docs/generate.py [graph_breaks] [op_support]``.

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


PAGES: Final[dict[str, Callable[[], str]]] = {
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
