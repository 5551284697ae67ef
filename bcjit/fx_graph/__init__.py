"""The captured graph: nodes, checks, text, Python source; it must not know how graphs are captured or compiled."""

from typing import TYPE_CHECKING

from bcjit.fx_graph.codegen import (
    CodegenResult,
    GraphFunction,
    is_generated,
    locate_failure,
    refuses_warnings,
    returning_value,
    source_of,
    to_source,
)
from bcjit.fx_graph.dependencies import dependencies, maker, owner, schedule
from bcjit.fx_graph.graph import Graph, Mark, set_drawing
from bcjit.fx_graph.node import (
    Alias,
    Node,
    NodeKind,
    Operand,
    exprs_in,
    item_of,
    leaves,
    map_operand,
    nodes_in,
)
from bcjit.fx_graph.passes import PASSES, eliminate_dead_code, optimize
from bcjit.fx_graph.printer import node_text
from bcjit.lazy import load

if TYPE_CHECKING:
    from bcjit.fx_graph.interpreter import Interpreter, run_structured

__all__ = [
    "PASSES",
    "Alias",
    "CodegenResult",
    "Graph",
    "GraphFunction",
    "Interpreter",
    "Mark",
    "Node",
    "NodeKind",
    "Operand",
    "dependencies",
    "eliminate_dead_code",
    "exprs_in",
    "is_generated",
    "item_of",
    "leaves",
    "locate_failure",
    "maker",
    "map_operand",
    "node_text",
    "nodes_in",
    "optimize",
    "owner",
    "refuses_warnings",
    "returning_value",
    "run_structured",
    "schedule",
    "set_drawing",
    "source_of",
    "to_source",
]


def __getattr__(name: str) -> object:
    """Return what is read when it is first asked for: no function that is called runs node by node."""
    if name not in {"Interpreter", "run_structured"}:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(load("bcjit.fx_graph.interpreter"), name)
