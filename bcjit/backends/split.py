"""A graph cut in pieces: a range of its calls for one backend, what is before and behind them for eager.

Calls are numbered in the order of the graph, those in the bodies of loops and branches too (`leaves`); a loop that is chosen only in part is run turn by turn
here, its body being cut in the same way.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from bcjit.backends.eager import eager
from bcjit.backends.registry import run_backend
from bcjit.fx_graph import Graph, Interpreter, Node, NodeKind, run_structured
from bcjit.fx_graph.extract import Extract, extract, units
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.backends.registry import Backend, CompiledGraph

__all__ = ["Split", "count_leaves", "leaves_of"]

Unit: TypeAlias = tuple[Node, ...]
_Whose: TypeAlias = "Literal['eager', 'chosen', 'cut']"


def leaves_of(graph: Graph) -> Iterator[Unit]:
    """Yield the `units` of a graph that hold no others, those in bodies included, in the order in which they are numbered."""
    for unit in units(graph):
        bodies = unit[0].bodies
        if _inner(unit):
            yield from itertools.chain.from_iterable(map(leaves_of, bodies))
        else:
            yield unit


def count_leaves(graph: Graph) -> int:
    """Return how many numbers the calls of a graph take."""
    return sum(map(_weight, units(graph)))


def _inner(unit: Unit) -> int:
    return sum(map(count_leaves, unit[0].bodies))


def _weight(unit: Unit) -> int:
    return _inner(unit) or 1


class Split:
    """The callable of a graph that is run in pieces.

    Parameters
    ----------
    graph
        The graph; it stays as it is.
    chosen
        The numbers of the calls that the backend gets, counted from 0 in this graph.
    backend
        The backend. It is called when it is first known what a piece is called with.
    """

    def __init__(self, graph: Graph, chosen: range, backend: Backend) -> None:
        self.graph = graph
        self.constants = {n: n.target for n in graph.nodes if n.kind is NodeKind.CONST}
        self.pieces: list[_Whole | _Cut] = []
        first = 0
        found: list[tuple[_Whose, range, Unit]] = []
        for unit in units(graph):
            here = range(first, first + _weight(unit))
            first = here.stop
            found.append((_whose(here, chosen), here, unit))
        for whose, group in itertools.groupby(found, key=lambda one: one[0]):
            if whose == "cut":
                self.pieces += [
                    _Cut(unit, _bodies(unit, chosen, here.start, backend))
                    for _, here, unit in group
                ]
            else:
                nodes = tuple(itertools.chain.from_iterable(unit for _, _, unit in group))
                runner = backend if whose == "chosen" else eager
                self.pieces.append(_Whole(extract(graph, nodes), runner))

    def __call__(self, *inputs: object) -> tuple[object, ...]:
        """Run the pieces on the graph's inputs; return its outputs."""
        run = Interpreter(self.graph)
        run.values = {**dict(zip(self.graph.inputs, inputs, strict=True)), **self.constants}
        for piece in self.pieces:
            piece.run(run)
        return tuple(run.fetch(output) for output in self.graph.outputs)


def _whose(here: range, chosen: range) -> _Whose:
    """Say who gets the calls with these numbers."""
    common = len(range(max(here.start, chosen.start), min(here.stop, chosen.stop)))
    return "eager" if not common else "chosen" if common == len(here) else "cut"


def _bodies(unit: Unit, chosen: range, first: int, backend: Backend) -> list[Split]:
    """Return what runs the bodies of a loop or branch whose first call has this number."""
    made = []
    for body in unit[0].bodies:
        made.append(Split(body, range(chosen.start - first, chosen.stop - first), backend))
        first += count_leaves(body)
    return made


@dataclass(slots=True, eq=False)
class _Whole:
    """Calls that one backend gets together."""

    extract: Extract
    backend: Backend
    function: CompiledGraph | None = None

    def run(self, run: Interpreter) -> None:
        handed = [run.values[node] for node in self.extract.inputs]
        if self.function is None:
            self.function = run_backend(self.backend, self.extract.graph, handed)
        given = cast("Sequence[object]", self.function(*handed))
        run.values.update(zip(self.extract.outputs, given, strict=True))


@dataclass(frozen=True, slots=True)
class _Cut:
    """A loop or branch that is cut itself."""

    unit: Unit
    bodies: list[Split]

    def run(self, run: Interpreter) -> None:
        node, *items = self.unit
        args = cast("tuple[object, ...]", run.fetch(node.args))
        run.values[node] = run_structured(node, args, self.bodies)
        for item in items:
            args = cast("tuple[object, ...]", run.fetch(item.args))
            run.values[item] = run.run_node(item, args, {})  # an index of a tuple
