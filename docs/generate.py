"""Writes the generated pages of the documentation; run as ``python docs/generate.py graph_breaks``.

Each page is made from a table of the package, so that it cannot say anything else. A test holds that the pages are not stale.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

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


PAGES: Final[dict[str, Callable[[], str]]] = {"graph_breaks": graph_breaks}


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
