"""The reference backend: graphs run through the primitive level, each primitive by NumPy; for tests, not for speed.

What has no meaning at that level runs as captured, and is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from bcjit.dims import Relation, Symbol
from bcjit.errors import BackendError
from bcjit.fx_graph import Graph
from bcjit.primitives.bufferise import bufferise
from bcjit.primitives.kinds import Rng
from bcjit.primitives.lower import Lowered, lower, size_of_input
from bcjit.primitives.verify import verify
from bcjit.primitives.versions import CannotLower

__all__ = ["ReferenceBackend"]


class ReferenceBackend:
    """Lowers, verifies, bufferises and runs graphs.

    Parameters
    ----------
    in_place
        Whether graphs are bufferised; else they run with all the versions of arrays.

    Attributes
    ----------
    lowered
        The primitive graphs as they run.
    refused
        How many graphs run as captured, by reason.
    """

    def __init__(self, *, in_place: bool = True) -> None:
        self.in_place = in_place
        self.lowered: list[Graph] = []
        self.refused: Counter[str] = Counter()

    def __call__(self, graph: Graph, example_inputs: Sequence[object]) -> Callable[..., object]:
        """Return the function of the primitive graph, or of the graph itself where there is none."""
        try:
            lowered = lower(graph, example_inputs)
            _check_restarts(lowered.graph)
        except CannotLower as error:
            self.refused[error.reason] += 1
            return graph.to_callable()
        verify(lowered.graph, lowered.env)
        final = lowered.graph
        if self.in_place:
            final = bufferise(lowered.graph, lowered.env)
            verify(final, lowered.env)
        self.lowered.append(final)
        return _Run(lowered, final)


def _check_restarts(graph: Graph) -> None:
    """A graph that fails is run again from its start in plain Python: nothing may have been drawn by then."""
    draws = [place for place, node in enumerate(graph.nodes) if isinstance(node.target, Rng)]
    failing = [place for place, node in enumerate(graph.nodes) if node.can_fail]
    if draws and failing and failing[-1] > draws[0]:
        raise CannotLower("a node behind a draw can fail")


class _Run:
    """A graph's function that checks what the lowering relied on; failures are located through `__wrapped__`."""

    def __init__(self, lowered: Lowered, final: Graph) -> None:
        self.__wrapped__ = final.to_callable()
        places = {node: place for place, node in enumerate(lowered.graph.inputs)}
        self._symbols: dict[Symbol, tuple[int, int | None]] = {
            symbol: (places[node], axis)
            for symbol, (node, axis) in lowered.graph.symbols.items()
            if node in places
        }
        self._facts: tuple[Relation, ...] = lowered.facts

    def __call__(self, *inputs: object) -> object:
        bindings = {
            symbol: size_of_input(inputs[place], axis)
            for symbol, (place, axis) in self._symbols.items()
        }
        for fact in self._facts:
            if not fact.holds(bindings):
                # Not a failure of the graph, which would be hidden by starting again in plain Python.
                problem = f"relies on {fact}, which does not hold: a guard is missing"
                raise BackendError("reference", problem)
        return self.__wrapped__(*inputs)
