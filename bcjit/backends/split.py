"""A graph cut in three: the calls in the middle for one backend, what is before and behind them for eager."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from bcjit.backends.eager import eager
from bcjit.backends.registry import run_backend
from bcjit.fx_graph import Extract, Graph, Interpreter, Node, NodeKind, extract, units
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.backends.registry import Backend, CompiledGraph

__all__ = ["Split"]


@dataclass(slots=True, eq=False)
class _Piece:
    extract: Extract
    backend: Backend
    function: CompiledGraph | None = None  # compiled when it is first known what it is called with


class Split:
    """The callable of a graph that is run in up to three pieces.

    Parameters
    ----------
    graph
        The graph; it stays as it is.
    chosen
        Which of its `units` the backend gets.
    backend
        The backend.
    """

    def __init__(self, graph: Graph, chosen: range, backend: Backend) -> None:
        self.graph = graph
        found = units(graph)
        cuts = (0, chosen.start, chosen.stop, len(found))
        runners: tuple[Backend, ...] = (eager, backend, eager)
        self.pieces = [
            _Piece(extract(graph, _flat(found[low:high])), one)
            for (low, high), one in zip(itertools.pairwise(cuts), runners, strict=True)
            if low < high
        ]

    def __call__(self, *inputs: object) -> tuple[object, ...]:
        """Run the pieces on the graph's inputs; return its outputs."""
        run = Interpreter(self.graph)
        values = run.values = dict(zip(self.graph.inputs, inputs, strict=True))
        values.update((n, n.target) for n in self.graph.nodes if n.kind is NodeKind.CONST)
        for piece in self.pieces:
            handed = [values[node] for node in piece.extract.inputs]
            if piece.function is None:
                piece.function = run_backend(piece.backend, piece.extract.graph, handed)
            given = cast("Sequence[object]", piece.function(*handed))
            values.update(zip(piece.extract.outputs, given, strict=True))
        return tuple(run.fetch(output) for output in self.graph.outputs)


def _flat(found: Sequence[tuple[Node, ...]]) -> tuple[Node, ...]:
    return tuple(itertools.chain.from_iterable(found))
