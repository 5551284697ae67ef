"""Checks that a primitive graph is well formed, after each step; it reports, and repairs nothing.

One generator for each kind of mistake, in the table `RULES`; `bcjit.fx_graph`'s own lint comes first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, cast

from bcjit.dims import ShapeEnv, ShapeMismatch, Undecidable
from bcjit.errors import InternalError
from bcjit.fx_graph import Graph, Node, NodeKind, map_operand, nodes_in
from bcjit.fx_graph.lint import check
from bcjit.meta import ArrayMeta, Meta, ObjectMeta, ScalarMeta
from bcjit.ops.meta_emitter import MetaObject, MetaValue
from bcjit.ops.opdef import OpFailure
from bcjit.primitives.kinds import (
    PRIMITIVES,
    Claim,
    Commit,
    Map,
    Primitive,
    Rng,
    Scatter,
    View,
)
from bcjit.primitives.versions import Sizes, data_size, meta_of_fact

__all__ = ["RULES", "buffer_of", "problems", "verify", "written_in_place"]

Rule: TypeAlias = "Callable[[Graph, ShapeEnv], Iterator[str]]"


def written_in_place(node: Node) -> Node | None:
    """Return the operand whose memory a node of a bufferised graph writes and gives back, None if it writes none."""
    target = node.target
    if isinstance(target, Map) and target.in_place is not None:
        return cast("Node", node.kwargs["out"])
    if isinstance(target, Scatter) and target.in_place:
        return cast("Node", node.args[0])
    return cast("Node", node.args[0]) if isinstance(target, Commit) else None


def buffer_of(node: Node) -> Node:
    """Return the node that made the memory of a value, or is the input that brought it."""
    while node.view_of is not None:
        node = node.view_of
    return node


# The rules


def _closed(graph: Graph, env: ShapeEnv) -> Iterator[str]:
    """Calls are primitives, items of several results, and operations of Python numbers."""
    for node in graph.calls:
        if isinstance(node.target, Primitive):
            if type(node.target) not in PRIMITIVES:
                yield f"{node.name} is a {type(node.target).__name__}, which is not in the closed set"
        elif node.kind is not NodeKind.CALL:
            yield f"{node.name} is of kind {node.kind.value}"
        elif node.op is not None:
            yield f"{node.name} is a call of the captured level"
        elif not _is_item(node) and not (len(node.meta) == 1 and _is_number(node.meta[0])):
            yield f"{node.name} is no primitive and does not give a Python number"


def _is_item(node: Node) -> bool:
    owner = node.args[0] if len(node.args) == 2 else None
    return (
        node.target is operator.getitem
        and isinstance(owner, Node)
        and owner.multi
        and node.args[1] in range(len(owner.meta))
        and node.meta == (owner.meta[cast("int", node.args[1])],)
    )


def _is_number(meta: Meta) -> bool:
    return isinstance(meta, ScalarMeta)


def _facts(graph: Graph, env: ShapeEnv) -> Iterator[str]:
    """Operands are what the primitive takes, and results have the facts that follow."""
    for node in graph.calls:
        if not isinstance(node.target, Primitive):
            continue
        sizes = [dim for meta in node.meta if isinstance(meta, ArrayMeta) for dim in meta.shape]
        emitter = Sizes(env)
        emitter.expected = [dim for dim in sizes if data_size(dim) is not None]
        try:
            args = [map_operand(arg, _fact) for arg in node.args]
            kwargs = {key: map_operand(arg, _fact) for key, arg in node.kwargs.items()}
            found = node.target.facts(emitter, *args, **kwargs)
        except (
            OpFailure, ShapeMismatch, Undecidable, AttributeError, TypeError, ValueError, KeyError,
            IndexError, AssertionError, StopIteration, NotImplementedError,
        ) as error:  # fmt: skip
            yield f"{node.name}: the operands are not those of {node.target.__name__}: {error}"
            continue
        if found is None:
            continue
        metas = tuple(map(meta_of_fact, found))
        if len(metas) != len(node.meta) or not all(
            _agree(one, other, env) for one, other in zip(metas, node.meta, strict=True)
        ):
            said, follows = ("; ".join(map(str, some)) for some in (node.meta, metas))
            yield f"{node.name} is said to give ({said}), but gives ({follows})"


def _fact(leaf: object) -> object:
    if not isinstance(leaf, Node):
        return leaf
    (meta,) = leaf.meta  # no operand is a tuple of several results
    if isinstance(meta, ScalarMeta):
        return meta
    if isinstance(meta, ObjectMeta):
        return MetaObject(meta.pytype)
    assert isinstance(meta, ArrayMeta)
    return MetaValue(meta.shape, meta.dtype, is_scalar=meta.is_scalar)


def _agree(one: Meta, other: Meta, env: ShapeEnv) -> bool:
    if not isinstance(one, ArrayMeta) or not isinstance(other, ArrayMeta):
        return one == other
    return (
        one.dtype == other.dtype
        and one.is_scalar == other.is_scalar
        and one.ndim == other.ndim
        and all(
            a == b or env.simplify(a) == env.simplify(b)
            for a, b in zip(one.shape, other.shape, strict=True)
        )
    )


def _pure(graph: Graph, env: ShapeEnv) -> Iterator[str]:
    """Nothing is written but by Commit and in place, nothing is drawn but by Rng, and aliases are of views."""
    for node in graph.calls:
        written = written_in_place(node)
        if node.writes != (() if written is None else (written,)):
            names = ", ".join(one.name for one in node.writes)
            yield f"{node.name} is said to write ({names}), which is not what it writes"
        if node.draws != isinstance(node.target, Rng):
            yield f"{node.name} draws, or does not, against what it is"
        shares = written is not None or isinstance(node.target, View | Claim)
        if shares != (node.view_of is not None):
            yield f"{node.name} shares memory with an operand, or does not, against what it is"


def _claims(graph: Graph, env: ShapeEnv) -> Iterator[str]:
    """An input that is written is claimed, once."""
    claimed = _owners(graph, Claim)
    committed = _owners(graph, Commit)
    places = [written_in_place(node) for node in graph.calls if not isinstance(node.target, Commit)]
    in_place = {buffer_of(place) for place in places if place is not None}
    for owner, nodes in claimed.items():
        if owner.kind is not NodeKind.INPUT:
            yield f"{nodes[0].name} claims {owner.name}, which is no input"
        elif owner not in committed and owner not in in_place:
            yield f"{nodes[0].name} claims {owner.name}, which no version is put into"
        for again in nodes[1:]:
            yield f"{again.name} claims {owner.name}, which {nodes[0].name} did before"
    for owner in (*committed, *in_place):
        if owner.kind is not NodeKind.CALL and owner not in claimed:
            yield f"{owner.name} is written, but not claimed"


def _commits(graph: Graph, env: ShapeEnv) -> Iterator[str]:
    """One version is put into an input, and nothing but views for the results is made behind."""
    for owner, nodes in _owners(graph, Commit).items():
        for again in nodes[1:]:
            yield f"{again.name} commits to {owner.name}, as {nodes[0].name} did before"
    first: Node | None = None
    for node in graph.calls:
        if isinstance(node.target, Commit):
            first = first or node
        elif first is not None and not isinstance(node.target, View):
            yield f"{node.name} comes behind {first.name}"


def _owners(graph: Graph, kind: type[Primitive]) -> dict[Node, list[Node]]:
    """Return the Claim or Commit nodes of each input."""
    found: dict[Node, list[Node]] = {}
    for node in graph.calls:
        if isinstance(node.target, kind):
            found.setdefault(cast("Node", node.args[0]), []).append(node)
    return found


def _versions(graph: Graph, env: ShapeEnv) -> Iterator[str]:
    """No value is read behind a write into its memory, save by the version that the write gives."""
    # For each buffer, the values of it that are still what they were.
    valid: dict[Node, set[Node]] = {}
    for node in graph.nodes:
        reads = node.args[1:] if isinstance(node.target, Commit) else node.operands
        for used in nodes_in(reads):
            if used in valid.get(buffer_of(used), (used,)):
                continue
            if node.kind is NodeKind.OUTPUT and buffer_of(used).kind is NodeKind.INPUT:
                yield f"{node.name} gives {used.name}, the caller's array as it was before it was written"
            else:
                yield f"{node.name} reads {used.name}, whose memory has been overwritten"
        place = written_in_place(node)
        if place is not None:
            valid[buffer_of(place)] = {node}
        elif node.view_of is not None and buffer_of(node) in valid:
            valid[buffer_of(node)].add(node)


RULES: Final[tuple[Rule, ...]] = (_closed, _facts, _pure, _claims, _commits, _versions)


def problems(graph: Graph, env: ShapeEnv) -> list[str]:
    """Return what is wrong with a primitive graph, one sentence each; `env` is that of its lowering."""
    found = check(graph)
    return found or [problem for rule in RULES for problem in rule(graph, env)]


def verify(graph: Graph, env: ShapeEnv) -> None:
    """Raise InternalError naming every node that is wrong."""
    found = problems(graph, env)
    if found:
        listed = "\n".join(f"  {problem}" for problem in found)
        raise InternalError(f"broken primitive graph:\n{listed}")
