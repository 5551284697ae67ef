"""Passes over the captured graph that hold for every backend; none may change what a graph does.

Each takes a graph, edits it, and returns how many calls it removed or changed. `optimize` runs them all. What is exact, and why, is in
``docs/design/0014-passes.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from bcjit.config import config
from bcjit.fx_graph.passes.common_subexpressions import merge_common_subexpressions
from bcjit.fx_graph.passes.constants import fold_constants
from bcjit.fx_graph.passes.dead_code import eliminate_dead_code
from bcjit.fx_graph.passes.simplify import simplify
from bcjit.fx_graph.passes.unread import drop_unread

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = [
    "PASSES", "drop_unread", "eliminate_dead_code", "fold_constants", "merge_common_subexpressions", "optimize",
    "simplify",
]  # fmt: skip

Pass: TypeAlias = "Callable[[Graph], int]"

# In this order: each leaves work for the next, and only the last removes what the others left without users.
PASSES: Final[tuple[Pass, ...]] = (
    fold_constants,
    simplify,
    merge_common_subexpressions,
    drop_unread,
    eliminate_dead_code,
)


def optimize(graph: Graph) -> int:
    """Run every pass once, on bodies too; return how many calls were removed or changed. Under ``config.strict`` lint after each.

    A body is a function of its inputs, run once or often: what is exact for a graph is exact for it.
    """
    changed = 0
    for one in PASSES:
        found = sum(map(one, tuple(graph.nested())))
        changed += found
        if found and config.strict:
            graph.lint()
    return changed
