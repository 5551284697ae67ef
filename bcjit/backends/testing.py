"""Backends for tests: counting, recording, failing; not for speed.

Each wraps another backend, so that a third party can test theirs as we test ours. They are made for one test and are
not locked against threads.
"""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bcjit.backends.registry import Backend, CompiledGraph, get_backend
from bcjit.errors import ArgumentError

if TYPE_CHECKING:
    from bcjit.fx_graph import Graph, GraphFunction

__all__ = ["CountingBackend", "FailingBackend", "RecordingBackend", "assert_text"]


class CountingBackend:
    """Counts graphs, their calls (nodes), and how often they run.

    Attributes
    ----------
    graph_count, node_count, call_count
        Graphs compiled, call nodes in them, runs of any of them (also those that failed).
    """

    def __init__(self, inner: str | Backend = "eager") -> None:
        self.inner = get_backend(inner)
        self.graph_count = 0
        self.node_count = 0
        self.call_count = 0

    def __call__(self, graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
        """Compile with the inner backend, and count."""
        compiled = self.inner(graph, example_inputs)
        self.graph_count += 1
        self.node_count += graph.count
        return _Counted(self, compiled)


class _Counted:
    """A graph's callable that counts its runs; failures are located through `__wrapped__`."""

    def __init__(self, counter: CountingBackend, compiled: CompiledGraph) -> None:
        self._counter = counter
        self.__wrapped__ = compiled

    def __call__(self, *inputs: object) -> object:
        self._counter.call_count += 1
        return self.__wrapped__(*inputs)


class RecordingBackend:
    """Keeps every graph it compiles.

    Attributes
    ----------
    graphs
        In the order of capture.
    example_inputs
        The input values of each, as given.
    """

    def __init__(self, inner: str | Backend = "eager") -> None:
        self.inner = get_backend(inner)
        self.graphs: list[Graph] = []
        self.example_inputs: list[tuple[object, ...]] = []

    def __call__(self, graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
        """Compile with the inner backend, and keep the graph."""
        self.graphs.append(graph)
        self.example_inputs.append(tuple(example_inputs))
        return self.inner(graph, example_inputs)


class FailingBackend:
    """Runs each graph as eager does, but fails just before one of its calls, to test what follows a failure.

    Parameters
    ----------
    at
        Index into ``graph.steps``; their number means before the output. Graphs with fewer do not fail. In a loop the
        first turn that gets there fails.
    """

    def __init__(self, at: int) -> None:
        if at < 0:
            raise ArgumentError(f"at: the index of a call of the graph is expected, got {at}")
        self.at = at

    def __call__(
        self,
        graph: Graph,
        example_inputs: Sequence[object],
    ) -> GraphFunction:
        """Return eager's function with the failure in it."""
        return graph.to_callable(force_failure_at=self.at)


def assert_text(graph: Graph, expected: str, *, lines: bool = False) -> None:
    """Compare the text of a graph with an indented expected text; AssertionError shows the difference.

    Runs of spaces are one, so that columns may be written without padding. The user's lines (``# model.py:12``) are
    left out of both texts unless `lines` is true.
    """
    got, wanted = (_plain(text, lines=lines) for text in (graph.text(), expected))
    if got != wanted:
        difference = "\n".join(difflib.unified_diff(wanted, got, "expected", "graph", lineterm=""))
        raise AssertionError(f"the graph's text is not as expected\n{difference}")


def _plain(text: str, *, lines: bool) -> list[str]:
    rows = textwrap.dedent(text).strip("\n").splitlines()
    if not lines:
        rows = [re.sub(r"\s*# \S+:\d+$", "", row) for row in rows]
    return [re.sub(r"(?<=\S)\s+", " ", row).rstrip() for row in rows]
