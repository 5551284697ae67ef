"""Sizes that depend on data: where they are read at run time, and when two of them are one.

The op table makes their symbols (note 0012); nothing here decides anything about them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

import bcjit.symbolic_vm.break_reasons as because
from bcjit import ops
from bcjit.dims import DimLike, Symbol, substitute, symbols
from bcjit.fx_graph import Node
from bcjit.meta import ArrayMeta, Meta
from bcjit.records import replace
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.values import SymArray, SymValue

__all__ = ["bind_sizes", "check_readable", "require", "with_known_sizes"]


_COMPARE: Final[dict[str, Callable[[int, int], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
}


def require(op: str, left: int, right: int) -> bool:
    """Raise, so that the graph bails out, unless a relation of sizes holds."""
    if not _COMPARE[op](left, right):
        raise ValueError(f"{left} {op} {right} was expected of sizes")
    return True


def bind_sizes(vm: Machine, node: Node) -> None:
    """Say that new sizes that depend on data are read from this node, where they are its axes."""
    if node.multi or len(node.meta) != 1:
        return
    (meta,) = node.meta
    if not isinstance(meta, ArrayMeta):
        return
    for axis, dim in enumerate(meta.shape):
        for symbol in symbols(dim):
            known = any(symbol in graph.symbols for graph in vm.graphs)  # it is handed in
            if symbol.kind == "data" and dim == symbol.expr and not known:
                vm.graph.bind_symbol(symbol, node, axis)


def check_readable(vm: Machine, inferred: ops.Inferred) -> None:
    """Break where a size of a result could not be read: it would be known only in a formula."""
    results = inferred.results if isinstance(inferred.results, tuple) else (inferred.results,)
    dims = [dim for meta in results if isinstance(meta, ArrayMeta) for dim in meta.shape]
    for symbol in frozenset().union(*map(symbols, dims)):
        readable = any(symbol in graph.symbols for graph in vm.graphs) or symbol.expr in dims
        if symbol.kind == "data" and not readable:
            break_graph(because.NUMPY_UNSUPPORTED, "a size of a result that cannot be read")


def with_known_sizes(
    vm: Machine,
    inferred: ops.Inferred,
    argument: Callable[[object], SymValue],
    may_share: Callable[[Node, Node], bool],
) -> ops.Inferred:
    """Return the facts about a call with sizes that an earlier call of the graph has already.

    Parameters
    ----------
    argument
        Gives an argument of the call.
    may_share
        Whether two nodes may share memory.
    """
    known: dict[Symbol, DimLike] = {}
    for symbol, place in inferred.sizes:
        value = argument(place)
        if isinstance(value, SymArray):
            found = _count_of(vm, value.node, symbol, may_share)
            if found is not symbol:
                known[symbol] = found
    if not known:
        return inferred
    requires = tuple(relation.substitute(known) for relation in inferred.requires)
    inferred = replace(inferred, requires=tuple(r for r in requires if r.constant() is not True))
    results = inferred.results
    if isinstance(results, tuple):
        return replace(inferred, results=tuple(_with_sizes(meta, known) for meta in results))
    return replace(inferred, results=_with_sizes(results, known))


def _with_sizes(meta: Meta, known: dict[Symbol, DimLike]) -> Meta:
    if not isinstance(meta, ArrayMeta):
        return meta
    return replace(meta, shape=tuple(substitute(dim, known) for dim in meta.shape))


def _count_of(
    vm: Machine, node: Node, symbol: Symbol, may_share: Callable[[Node, Node], bool]
) -> Symbol:
    """Return the number of an array's elements that are not zero: the symbol of an earlier call, else this one."""
    if vm.structured:
        return symbol  # what earlier calls have found is counted by nodes of one graph
    before = vm.nonzero_counts.get(node)
    if before is not None:
        known, since = before
        later = vm.graph.nodes[since:]
        if known in vm.graph.symbols and not any(
            may_share(written, node) for call in later for written in call.writes
        ):
            return known
    vm.nonzero_counts[node] = symbol, len(vm.graph.nodes)

    def undo() -> None:
        if before is None:
            vm.nonzero_counts.pop(node, None)
        else:
            vm.nonzero_counts[node] = before

    vm.undoable(undo)
    return symbol
