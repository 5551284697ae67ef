"""Finds the node at which a backend goes wrong: graphs are run node by node beside a reference, on copies.

The reference is `Interpreter`: each node is the call that was captured. The backend is given one node as a graph, on copies of the reference's
operands; in a loop or branch that differs the same is done in its body, turn by turn. What no node shows alone is looked for in the
first nodes of the graph together.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bcjit.backends import Backend, run_backend
from bcjit.config import config
from bcjit.debugging.compare import differences
from bcjit.debugging.copies import copy_of
from bcjit.debugging.observe import same_streams
from bcjit.errors import BackendError, SourceLine
from bcjit.fx_graph import Graph, Interpreter, Node, NodeKind, optimize
from bcjit.fx_graph.extract import copy_graph, extract, units
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.fx_graph.extract import Extract

__all__ = ["Blame", "Watch"]

_Values = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Blame:
    """The first node whose value differs."""

    node: Node
    line: SourceLine | None
    turns: tuple[int, ...]  # of the loops it is in, outermost first, counted from 0
    how: str  # "alone", "with those before it", "only whole", "after the passes"
    difference: str  # in a sentence
    plain: object  # the values, or the operand that was written
    compiled: object


class Watch:
    """A backend that runs each graph beside the reference, until one differs: that is in `blame` then.

    Parameters
    ----------
    backend
        Whose graphs are looked at.

    Attributes
    ----------
    blame
        None while every graph gave what it should.
    graphs
        How many graphs were compiled.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.blame: Blame | None = None
        self.graphs = 0

    def __call__(self, graph: Graph, example_inputs: Sequence[object]) -> Callable[..., object]:
        """Compile as the backend does, the passes included that it takes."""
        captured = copy_graph(graph)
        if config.optimize and getattr(self.backend, "optimizes", False):
            optimize(graph)
        self.graphs += 1
        given = copy_graph(graph)  # a backend may change the graph
        try:
            function = run_backend(self.backend, graph, example_inputs)
        except BackendError:
            if self.blame is None:
                self.look(captured, given, copy_of(tuple(example_inputs)))
            raise
        return _Watched(self, captured, given, function)

    def look(self, captured: Graph, graph: Graph, before: _Values) -> None:
        """Look for the node of a graph that went wrong on these inputs."""
        with np.errstate(all="ignore"), same_streams():
            blame = _Search(self.backend).graph(graph, before, ())
        self.blame = blame or _whole(captured, graph, before)


class _Watched:
    """A graph's callable beside the reference; failures are located through `__wrapped__`."""

    def __init__(
        self, watch: Watch, captured: Graph, graph: Graph, function: Callable[..., object]
    ) -> None:
        self._watch = watch
        self._captured = captured
        self._graph = graph
        self.__wrapped__ = function

    def __call__(self, *inputs: object) -> object:
        if self._watch.blame is not None:
            return self.__wrapped__(*inputs)
        before = copy_of(inputs)
        wanted = _run(Interpreter(self._captured).run, copy_of(inputs))
        try:
            got = self.__wrapped__(*inputs)
        except Exception as error:
            if wanted.error is None:
                self._watch.look(self._captured, self._graph, before)
                if self._watch.blame is None:
                    node = self._captured.nodes[-1]
                    self._watch.blame = Blame(
                        node, None, (), "only whole", f"raises {error!r}", wanted.value, error
                    )  # fmt: skip
            raise
        rows = [("the outputs", wanted.value, got), ("the inputs", wanted.inputs, inputs)]
        sentence = "" if wanted.error is not None else next(differences(rows), "")
        if wanted.error is not None or sentence:
            self._watch.look(self._captured, self._graph, before)
        if sentence and self._watch.blame is None:
            node = self._captured.nodes[-1]
            self._watch.blame = Blame(node, None, (), "only whole", sentence, wanted.value, got)
        return got


@dataclass(frozen=True, slots=True)
class _Outcome:
    value: object
    inputs: _Values  # afterwards
    error: Exception | None


def _run(function: Callable[..., object], inputs: _Values) -> _Outcome:
    """Run on inputs that may be written; the global random streams are put back."""
    with same_streams():
        try:
            return _Outcome(function(*inputs), inputs, None)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is compared
            return _Outcome(None, inputs, error)


def _whole(captured: Graph, graph: Graph, before: _Values) -> Blame | None:
    """Say that the passes are to blame, where they are."""
    plain, other = (_run(Interpreter(one).run, copy_of(before)) for one in (captured, graph))
    rows = [("the outputs", plain.value, other.value), ("the inputs", plain.inputs, other.inputs)]
    sentence = next(differences(rows), None)
    if sentence is None or plain.error is not None:
        return None
    output = graph.nodes[-1]
    return Blame(output, None, (), "after the passes", sentence, plain.value, other.value)


class _Search:
    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        # Of single nodes, compiled once for all turns.
        self.pieces: dict[tuple[Node, ...], tuple[Extract, Callable[..., object]]] = {}

    def graph(self, graph: Graph, before: _Values, turns: tuple[int, ...]) -> Blame | None:
        """Look in a graph, run on copies of these inputs: first at each node alone, then at the first ones together."""
        return self.alone(graph, before, turns) or self.together(graph, before, turns)

    def alone(self, graph: Graph, before: _Values, turns: tuple[int, ...]) -> Blame | None:
        """Run a graph by the reference, and each node by the backend too."""
        reference = Interpreter(graph)
        inputs = dict(zip(graph.inputs, copy_of(before), strict=True))
        constants = {n: n.target for n in graph.nodes if n.kind is NodeKind.CONST}
        reference.values = {**inputs, **constants}
        for unit in units(graph):
            blame = self.unit(graph, unit, reference, turns)
            if blame is not None:
                return blame
            if unit[0] not in reference.values:
                return None  # the reference itself fails there, as plain Python does
        return None

    def unit(
        self, graph: Graph, unit: tuple[Node, ...], reference: Interpreter, turns: tuple[int, ...]
    ) -> Blame | None:
        """Run a node by the backend on copies, then by the reference; compare."""
        values = tuple(n for n in unit if n.has_value and not n.multi)
        if unit not in self.pieces:
            self.pieces[unit] = self.piece(graph, unit, values, reference.values)
        piece, function = self.pieces[unit]
        handed = tuple(reference.values[node] for node in piece.inputs)
        before = copy_of(handed)
        got = _run(function, copy_of(before))
        with contextlib.suppress(Exception):
            _step(reference, unit)
        if unit[0] not in reference.values:
            return None
        names = [f"operand {node.name}" for node in piece.inputs]
        wanted = tuple(reference.values[node] for node in values)
        if got.error is not None:
            sentence = f"{unit[0].name}: raises {type(got.error).__name__}: {got.error}"
            return self.found(unit[0], before, turns, sentence, _one(wanted), got.error)
        outputs = got.value if type(got.value) is tuple else (got.value,)
        rows = [
            *((node.name, one, two) for node, one, two in zip(values, wanted, outputs, strict=False)),
            *zip(names, handed, got.inputs, strict=True),
        ]  # fmt: skip
        for name, plain, other in rows:
            sentence = next(differences([(name, plain, other)]), "")
            if sentence:
                return self.found(unit[0], before, turns, sentence, plain, other)
        sentence = next(differences(rows), "")
        if sentence:
            return self.found(unit[0], before, turns, sentence, _one(wanted), _one(outputs))
        return None

    def piece(
        self,
        graph: Graph,
        nodes: Sequence[Node],
        values: Sequence[Node] | None,
        known: Mapping[Node, object],
    ) -> tuple[Extract, Callable[..., object]]:
        """Return a part of the graph, and what the backend makes of it: what raises, where the backend did."""
        piece = extract(graph, nodes, values)
        examples = copy_of(tuple(known[node] for node in piece.inputs))
        try:
            return piece, run_backend(self.backend, copy_graph(piece.graph), examples)
        except Exception as error:  # noqa: BLE001 - it is told with the node
            return piece, _raising(error)

    def found(
        self, node: Node, before: _Values, turns: tuple[int, ...], sentence: str, plain: object, compiled: object,
    ) -> Blame:  # fmt: skip
        """Blame a node, or one in its body."""
        if node.bodies:
            piece = next(piece for unit, (piece, _) in self.pieces.items() if unit[0] is node)
            outer = Interpreter(piece.graph)
            outer.values = dict(zip(piece.graph.inputs, copy_of(before), strict=True))
            inner = self.body(piece.nodes[node], outer, turns)
            if inner is not None:
                return inner
        return Blame(node, node.line, turns, "alone", sentence, plain, compiled)

    def body(self, node: Node, outer: Interpreter, turns: tuple[int, ...]) -> Blame | None:
        """Look in the body of a loop or branch, turn by turn, on copies of what the reference hands to it."""
        *_, free = handed = cast("tuple[Any, ...]", outer.fetch(node.args))
        if node.kind is NodeKind.COND:
            body = node.bodies[0] if handed[0] else node.bodies[1]
            return self.graph(body, free, turns)
        (body,) = node.bodies
        over, carried, _ = handed
        for turn, index in enumerate(_indices(over)):
            inputs = (*index, *carried, *free)
            blame = self.graph(body, inputs, (*turns, turn))
            if blame is not None:
                return blame
            try:
                status, *carried = Interpreter(body).run(*inputs)
            except Exception:  # noqa: BLE001 - as plain Python does
                return None
            if status != 0:
                return None
        return None

    def together(self, graph: Graph, before: _Values, turns: tuple[int, ...]) -> Blame | None:
        """Give the backend more and more of the first nodes; blame the node with which they begin to differ."""
        found = units(graph)
        good, bad = 0, len(found)
        last = self.prefix(graph, found, bad, before) if bad > 1 else None
        if last is None:
            return None
        while bad - good > 1:
            middle = (good + bad) // 2
            seen = self.prefix(graph, found, middle, before)
            if seen is None:
                good = middle
            else:
                bad, last = middle, seen
        node = found[bad - 1][0]
        sentence, plain, compiled = last
        return Blame(node, node.line, turns, "with those before it", sentence, plain, compiled)

    def prefix(
        self, graph: Graph, found: Sequence[tuple[Node, ...]], count: int, before: _Values
    ) -> tuple[str, object, object] | None:
        """Compare the first nodes of a graph as the backend runs them together; return where they differ."""
        nodes = tuple(itertools.chain.from_iterable(found[:count]))
        known = dict(zip(graph.inputs, before, strict=True))
        piece, function = self.piece(graph, nodes, None, known)
        handed = tuple(known[node] for node in piece.inputs)
        plain = _run(Interpreter(piece.graph).run, copy_of(handed))
        got = _run(function, copy_of(handed))
        if plain.error is not None:
            return None
        if got.error is not None:
            return f"raises {type(got.error).__name__}: {got.error}", plain.value, got.error
        outputs = cast("_Values", got.value)
        rows = [
            *(
                (node.name, one, two)
                for node, one, two in zip(piece.outputs, cast("_Values", plain.value), outputs, strict=False)
            ),
            *zip((n.name for n in piece.inputs), plain.inputs, got.inputs, strict=True),
        ]  # fmt: skip
        for row in rows:
            sentence = next(differences([row]), None)
            if sentence is not None:
                return sentence, row[1], row[2]
        sentence = next(differences(rows), None)
        return None if sentence is None else (sentence, plain.value, outputs)


def _one(values: _Values) -> object:
    return values[0] if len(values) == 1 else values


def _raising(error: Exception) -> Callable[..., object]:
    def fail(*_inputs: object) -> object:
        raise error

    return fail


def _step(reference: Interpreter, unit: Sequence[Node]) -> None:
    """Run the nodes of a unit."""
    for node in unit:
        args = tuple(reference.fetch(arg) for arg in node.args)
        kwargs = {key: reference.fetch(arg) for key, arg in node.kwargs.items()}
        reference.values[node] = reference.run_node(node, args, kwargs)


def _indices(over: tuple[int, int, int] | None) -> Iterator[tuple[int, ...]]:
    if over is None:
        yield from itertools.repeat(())
    else:
        yield from ((index,) for index in range(*over))
