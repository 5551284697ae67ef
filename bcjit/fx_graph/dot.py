"""A graph in the graphviz language; it must not change the graph, and draws nothing itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bcjit.fx_graph.node import Node, NodeKind
from bcjit.fx_graph.printer import target_name

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["to_dot"]

_SHAPES: Final = {
    NodeKind.INPUT: "oval", NodeKind.CONST: "note", NodeKind.CALL: "box", NodeKind.LOOP: "box3d",
    NodeKind.COND: "diamond", NodeKind.OUTPUT: "oval",
}  # fmt: skip


def _quoted(*rows: str) -> str:
    """Return a label; backslash, quote and line ends are what the language gives a meaning to."""
    escaped = (row.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for row in rows)
    return '"' + "\\n".join(row for row in escaped if row) + '"'


def to_dot(graph: Graph) -> str:
    """Return the graph as a digraph: operands are solid edges, writes are dashed and bold."""
    number = {node: index for index, node in enumerate(graph.nodes)}
    lines = ["digraph {", "  node [fontname=monospace];"]
    for node, index in number.items():
        what = target_name(node.target) if node.kind is NodeKind.CALL else node.kind.value
        metas = ", ".join(map(str, node.meta))
        label = _quoted(node.name, what, metas, str(node.line) if node.line is not None else "")
        lines.append(f"  n{index} [shape={_SHAPES[node.kind]}, label={label}];")
    for node, index in number.items():
        lines.extend(
            f"  n{number[used]} -> n{index}{_edge_style(node, used)};"
            for used in dict.fromkeys(node.uses())
        )
    lines.append("}")
    return "\n".join(lines)


def _edge_style(node: Node, used: Node) -> str:
    return ' [style="dashed,bold"]' if used in node.writes else ""
