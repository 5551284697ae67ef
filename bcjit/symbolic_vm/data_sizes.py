"""Sizes that depend on data: where they are read at run time.

The op table makes their symbols; nothing here decides anything about them.
"""

from __future__ import annotations

from bcjit.dims import symbols
from bcjit.fx_graph import Node
from bcjit.meta import ArrayMeta
from bcjit.symbolic_vm.machine import Machine

__all__ = ["bind_sizes"]


def bind_sizes(vm: Machine, node: Node) -> None:
    """Say that new sizes that depend on data are read from this node, where they are its axes."""
    if node.multi or len(node.meta) != 1:
        return
    (meta,) = node.meta
    if not isinstance(meta, ArrayMeta):
        return
    for axis, dim in enumerate(meta.shape):
        for symbol in symbols(dim):
            if symbol.kind == "data" and dim == symbol.expr:
                vm.graph.bind_symbol(symbol, node, axis)
