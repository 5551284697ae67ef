"""Merges a call into an earlier equal one, where nobody can tell; draws and writes are never merged."""

from __future__ import annotations

import operator
import struct
import types
from collections.abc import Hashable
from typing import TYPE_CHECKING, Final

import numpy as np

from bcjit.dims import Expr
from bcjit.fx_graph.dependencies import Owner, has_memory, owner, reads
from bcjit.fx_graph.node import Node, NodeKind, Operand
from bcjit.fx_graph.passes.sharing import Sharing

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph

__all__ = ["merge_common_subexpressions"]

# Callables without an entry in the op table whose calls in a graph are functions of their operands alone.
_PURE: Final = (types.BuiltinFunctionType, type, types.MethodDescriptorType, operator.attrgetter)


class _Unhashable(Exception):
    """An operand of which it is not known when two are the same."""


def merge_common_subexpressions(graph: Graph) -> int:
    """Let one call serve for all equal ones; return how many calls were removed.

    A call that can fail may be merged with an earlier one: where that did not fail, this would not have failed either.
    """
    sharing = Sharing(graph)
    versions: dict[Owner, int] = {}  # how often the memory was written so far
    known: dict[Hashable, Node] = {}
    removed = 0
    for node in tuple(graph.nodes):
        for target in node.writes:
            versions[owner(target)] = versions.get(owner(target), 0) + 1
        if not _is_pure(node):
            continue
        try:
            key = _key(node, versions)
        except _Unhashable:
            continue
        twin = known.setdefault(key, node)
        if twin is not node and node not in graph.keep and _may_merge(twin, node, sharing):
            _merge(graph, twin, node, sharing)
            removed += 1
    return removed


def _is_pure(node: Node) -> bool:
    if node.kind is not NodeKind.CALL or node.has_effect:
        return False
    return node.op is not None or isinstance(node.target, _PURE)


def _may_merge(twin: Node, node: Node, sharing: Sharing) -> bool:
    """Whether one result can serve as both."""
    if _leaves(node, sharing) and _leaves(twin, sharing):
        return False  # "is" tells them apart
    if not has_memory(node) or node.alias == "view":
        return True  # immutable, or the same memory in any case
    one, other = owner(twin), owner(node)
    if one in sharing.written or other in sharing.written:
        return False
    return not (one in sharing.seen and other in sharing.seen)


def _leaves(node: Node, sharing: Sharing) -> bool:
    """Whether the program gets hold of a result itself, or of an item of it."""
    return node in sharing.leaving or (
        node.multi and any(user in sharing.leaving for user in node.users)
    )


def _merge(graph: Graph, twin: Node, node: Node, sharing: Sharing) -> None:
    if node in sharing.leaving:
        sharing.leaving.add(twin)
    if has_memory(node) and owner(node) in sharing.seen:
        sharing.seen.add(owner(twin))
    graph.replace_uses(node, twin)
    for symbol, (source, axis) in graph.symbols.items():
        if source is node:
            graph.symbols[symbol] = (twin, axis)
    graph.erase(node)


def _key(node: Node, versions: dict[Owner, int]) -> Hashable:
    """Return what two calls must have in common."""
    read = set(reads(node))
    target = node.target
    identity: Hashable = id(target)
    if isinstance(target, types.BuiltinFunctionType) and isinstance(target.__self__, np.ufunc):
        identity = (id(target.__self__), target.__name__)  # a new object at each access
    operands = [_freeze(arg, read, versions) for arg in node.args]
    named = [(name, _freeze(arg, read, versions)) for name, arg in sorted(node.kwargs.items())]
    return (identity, tuple(operands), tuple(named), node.temporaries)


def _freeze(operand: Operand, read: set[Node], versions: dict[Owner, int]) -> Hashable:
    """Return something that is equal for two operands exactly if they are the same value, read at the same time."""
    if isinstance(operand, Node):
        return (id(operand), versions.get(owner(operand), 0) if operand in read else -1)
    if type(operand) in (tuple, list):
        items: tuple[object, ...] = tuple(operand)  # type: ignore[arg-type]  # a sequence, by its type
        return (type(operand), *(_freeze(item, read, versions) for item in items))
    if isinstance(operand, slice):
        parts = (operand.start, operand.stop, operand.step)
        return (slice, *(_freeze(part, read, versions) for part in parts))
    if type(operand) is dict:
        return (dict, *((key, _freeze(item, read, versions)) for key, item in operand.items()))
    if isinstance(operand, Expr):
        return operand
    if isinstance(operand, float | complex) and type(operand) in (float, complex):
        # By bits: -0.0 and NaN have signs, and the text of a NaN does not show its.
        number = complex(operand)
        return (type(operand), struct.pack("dd", number.real, number.imag))
    if isinstance(operand, np.generic):
        return (type(operand), operand.tobytes())
    if type(operand) in (bool, int, str, type(None), type(Ellipsis)):
        return (type(operand), operand)
    if isinstance(operand, type | np.dtype):
        return (id(type(operand)), id(operand) if isinstance(operand, type) else operand)
    raise _Unhashable
