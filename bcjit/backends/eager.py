"""The eager backend: the graph as one Python function that calls NumPy; it edits no graph itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bcjit.fx_graph import Graph, GraphFunction

__all__ = ["eager"]


def eager(graph: Graph, example_inputs: Sequence[object]) -> GraphFunction:
    """Return the graph's Python function: NumPy bit for bit, without the cost of the user's other bytecode."""
    return graph.to_callable()


# It runs what is left of a graph after the passes that hold for every backend; see ``compiler``.
eager.__dict__["optimizes"] = True
