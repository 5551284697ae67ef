"""The native backend as a callable, with its options; see the package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bcjit import _core
from bcjit.backends.native.build import build
from bcjit.backends.native.flags import flags_matter

if TYPE_CHECKING:
    from bcjit.fx_graph import Graph, GraphFunction

__all__ = ["NATIVE", "Native"]


class Native:
    """A backend that compiles groups of calls.

    Parameters
    ----------
    smallest
        The fewest calls of which a kernel is made.
    """

    optimizes = True

    def __init__(self, smallest: int = 2) -> None:
        self.smallest = smallest

    def __call__(self, graph: Graph, example_inputs: Sequence[object]) -> GraphFunction:
        """Return the graph's function, with kernels for groups of its calls."""
        del example_inputs
        _core.set_flags_test(flags_matter)
        made = build(graph, self.smallest)
        function = made.graph.to_callable(origin=made.origin)
        function.__dict__["kernels"] = len(made.kernels)
        function.__dict__["compile_seconds"] = tuple(one.seconds for one in made.kernels)
        return function


NATIVE: Final = Native()
