"""The print backend: shows each graph once, when it is captured, and runs it as eager; it changes no graph."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from bcjit.backends.eager import eager

if TYPE_CHECKING:
    from bcjit.fx_graph import Graph, GraphFunction

__all__ = ["PrintBackend"]


class PrintBackend:
    """Prints the text of each graph it is given.

    Parameters
    ----------
    stream
        Where to; None is what ``sys.stdout`` is at that moment.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream

    def __call__(self, graph: Graph, example_inputs: Sequence[object]) -> GraphFunction:
        """Print the graph, and return eager's function for it."""
        stream = self.stream if self.stream is not None else sys.stdout
        stream.write(graph.text() + "\n")
        return eager(graph, example_inputs)
