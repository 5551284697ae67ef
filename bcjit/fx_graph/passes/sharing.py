"""Which memory of a graph is written, and what of it others get hold of; decides nothing and edits nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bcjit.fx_graph.dependencies import Owner, has_memory, owner
from bcjit.fx_graph.node import Node, nodes_in

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["Sharing"]


class Sharing:
    """Facts about the memory of a graph's nodes at one moment.

    Attributes
    ----------
    written
        Owners that some call writes.
    leaving
        Nodes that are outputs, or that a bail-out record needs.
    seen
        Owners of those: the program can get hold of their memory.
    """

    def __init__(self, graph: Graph) -> None:
        self.written: set[Owner] = {owner(w) for node in graph.nodes for w in node.writes}
        self.leaving: set[Node] = {*nodes_in(graph.outputs), *graph.keep}
        self.seen: set[Owner] = {owner(node) for node in self.leaving if has_memory(node)}

    def is_private(self, node: Node) -> bool:
        """Whether a node's result is never written, and neither it nor its memory reaches the program."""
        if node in self.leaving:
            return False
        own = owner(node)
        return not has_memory(node) or (own not in self.written and own not in self.seen)
