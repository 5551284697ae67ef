"""A backend that gets the chosen nodes only, for bisection; eager runs the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bcjit.backends.eager import eager
from bcjit.backends.registry import backend_name
from bcjit.backends.split import Split, leaves_of
from bcjit.fx_graph import Graph, Node, node_text
from bcjit.meta import meta_of

if TYPE_CHECKING:
    from bcjit.backends.registry import Backend, CompiledGraph
    from bcjit.selection import Selection

__all__ = ["narrowed"]


def narrowed(backend: Backend, selection: Selection) -> Backend:
    """Return the backend for the nodes that are chosen.

    Parameters
    ----------
    backend
        The backend.
    selection
        Numbers the nodes of each graph behind those of the graphs before it. Those in the bodies of loops and branches have numbers too, in the order of the graph. A graph that
        writes what others see, or draws, is one node: what fails behind the write is resumed from within the graph's own function.
    """

    def told(graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
        if selection.tells_nodes:
            pairs = zip(graph.inputs, example_inputs, strict=True)
            selection.tell(operands={node.name: _kind(value) for node, value in pairs})
        return backend(graph, example_inputs)

    def choose(graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
        effects = [node for node in graph.all_calls if node.visible and not node.bodies]
        found = [unit[0] for unit in leaves_of(graph)] if not effects else effects[:1]
        first, chosen = selection.takes_nodes(len(found))
        if selection.tells_nodes:
            for index in chosen:
                selection.tell(node=first + index, **_words(found[index], whole=bool(effects)))
        if len(chosen) == len(found):
            return told(graph, example_inputs)
        if not chosen:
            return eager(graph, example_inputs)
        made = Split(graph, chosen, told)
        made.__module__ = getattr(
            backend, "__module__", type(backend).__module__
        )  # whose failures they are
        return made

    choose.__qualname__ = backend_name(backend)
    return choose


def _kind(value: object) -> str:
    meta = meta_of(value)
    return type(value).__name__ if meta is None else str(meta)


def _words(node: Node, *, whole: bool) -> dict[str, object]:
    line = node.line
    where = {} if line is None else {"file": line.filename, "line": line.lineno, "function": line.function}  # fmt: skip
    name = f"the graph with {node.name}" if whole else node.name
    return {"name": name, "text": node_text(node), **where}
