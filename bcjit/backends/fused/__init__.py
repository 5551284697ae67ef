"""The fused backend: eager's function with a second way through it, on which temporaries are in buffers; NumPy bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bcjit.lazy import Later

if TYPE_CHECKING:
    from bcjit.backends.fused import plan
    from bcjit.fx_graph import Graph, GraphFunction
else:
    plan = Later("bcjit.backends.fused.plan")  # who takes another backend never needs it

__all__ = ["BLOCK", "SMALLEST", "Fused", "fused"]

# Elements below which fresh memory costs less than looking whether buffers can be used (docs/design/0022-fused.md has the figures).
SMALLEST: Final = 65536
# Elements of a block: what a chain works on stays in the nearer caches, and calls of NumPy cost little beside it.
BLOCK: Final = 16384


class Fused:
    """Runs a graph as eager does, and large arrays through a plan of buffers that are used again.

    Parameters
    ----------
    smallest
        The least number of elements for which buffers are used: elements of eight bytes; there must be more smaller ones.
    block
        How many such elements are computed at once, where several calls behind one another are.
    """

    # It runs what is left of a graph after the passes that hold for every backend; see ``compiler``.
    optimizes = True

    def __init__(self, smallest: int = SMALLEST, block: int = BLOCK) -> None:
        self.smallest = smallest
        self.block = block

    def __call__(self, graph: Graph, example_inputs: Sequence[object]) -> GraphFunction:
        """Return the graph's Python function."""
        return graph.to_callable(planner=plan.BufferPlanner(self.smallest, self.block))


fused: Final = Fused()
