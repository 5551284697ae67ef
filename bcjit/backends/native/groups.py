"""Which calls of a graph become one kernel; it makes no code and edits no graph.

Calls of one shape between which nothing is written or drawn, such that none of them waits for a call outside that waits for another of
them. A group is computed where its last operand is there: what fails between two effects is resumed behind the first of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bcjit.backends.native.program import can_compute
from bcjit.backends.native.scalars import Item
from bcjit.backends.native.tracing import traced
from bcjit.backends.native.waiting import Waiting
from bcjit.dims import DimLike, Symbol, substitute
from bcjit.fx_graph import Graph, Node, NodeKind
from bcjit.meta import ArrayMeta
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.dims import Dim

__all__ = ["Group", "between_effects", "groups", "shape_of"]

# More calls would take long to compile, and there are only so many registers.
LARGEST: Final = 128


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Calls in the order of the graph."""

    nodes: tuple[Node, ...]
    items: dict[Node, Item]
    results: tuple[Node, ...]  # those that something else needs


def groups(graph: Graph, equal: Mapping[Symbol, Dim], smallest: int) -> list[Group]:
    """Return the groups of one graph, not of its bodies.

    Parameters
    ----------
    graph
        The graph.
    equal
        What is known of the symbols of its shapes.
    smallest
        Calls in a group at least.
    """
    found: list[Group] = []
    for run in between_effects(graph):
        found += _of_run(graph, run, equal, smallest)
    return found


def between_effects(graph: Graph) -> list[list[Node]]:
    """Return the stretches of calls between which something is written, drawn or done once."""
    runs: list[list[Node]] = [[]]
    for node in graph.nodes:
        if node.has_effect or node.bodies or _is_done_once(node):
            runs.append([])
        elif node.kind is NodeKind.CALL:
            runs[-1].append(node)
    return [run for run in runs if run]


def _is_done_once(node: Node) -> bool:
    """Whether a call is of a function that nothing is known of: what fails behind it goes on behind it."""
    if node.kind is not NodeKind.CALL or node.op is not None:
        return False
    of = node.args[0] if node.args else None
    return not (isinstance(of, Node) and (of.multi or of.bodies))  # it reads a result


def _of_run(
    graph: Graph, run: Sequence[Node], equal: Mapping[Symbol, Dim], smallest: int
) -> list[Group]:
    items: dict[Node, Item] = {}
    shapes: dict[Node, tuple[DimLike, ...]] = {}
    for node in run:
        if not node.users and node not in graph.keep:
            continue  # it is there for what it may raise or warn of
        item = traced(node)
        if item is not None and can_compute(item):
            items[node] = item
            shapes[node] = shape_of(node, equal)
    place = {node: i for i, node in enumerate(run)}
    of: dict[Node, int] = {}  # group of each call
    members: list[list[Node]] = []
    takes: list[set[Node]] = []  # what the calls of each group use
    waiting: Waiting[Node] = Waiting()
    for node in run:
        used = {one for one in node.uses() if one in place}
        waiting.add(node, used)
        if node not in items:
            continue
        joined = _joined(node, used, of, members, takes, shapes, waiting)
        if joined is None:
            of[node] = len(members)
            members.append([node])
            takes.append(set(node.uses()))
        else:
            of[node] = joined
            waiting.unite(members[joined][0], node)
            members[joined].append(node)
            takes[joined].update(node.uses())
            for index in sorted({of[one] for one in used if one in of} - {joined}):
                one, other = members[joined], members[index]
                if _are_one(one, other, shapes, waiting):
                    waiting.unite(one[0], other[0])
                    takes[joined] |= takes[index]
                    members[joined] = sorted((*one, *other), key=place.__getitem__)
                    of |= dict.fromkeys(other, joined)
                    members[index] = []
    needed = {node for node, _ in graph.symbols.values()}
    made = []
    for nodes in members:
        if len(nodes) < max(smallest, 1):
            continue
        inside = set(nodes)
        results = tuple(
            node
            for node in nodes
            if node in graph.keep
            or node in needed
            or any(user not in inside for user in node.users)
        )
        made.append(Group(tuple(nodes), {node: items[node] for node in nodes}, results))
    return made


def shape_of(node: Node, equal: Mapping[Symbol, Dim]) -> tuple[DimLike, ...]:
    """Return the shape of a value, so that what is known to be equal looks equal."""
    meta = node.meta[0]
    assert isinstance(meta, ArrayMeta)
    try:
        return tuple(substitute(dim, equal) for dim in meta.shape)
    except ZeroDivisionError:  # a size that cannot be
        return meta.shape


def _joined(
    node: Node,
    used: set[Node],
    of: dict[Node, int],
    members: list[list[Node]],
    takes: list[set[Node]],
    shapes: Mapping[Node, tuple[DimLike, ...]],
    waiting: Waiting[Node],
) -> int | None:
    """Return the group that a call joins: one whose results it uses, else one that uses the same operands."""
    candidates = [of[one] for one in used if one in of]
    for index in range(len(members) - 1, max(len(members) - 5, -1), -1):
        if index not in candidates and not takes[index].isdisjoint(node.uses()):
            candidates.append(index)
    for index in candidates:
        group = members[index]
        if not 0 < len(group) < LARGEST or shapes[group[0]] != shapes[node]:
            continue
        if waiting.can_unite(node, group[0]):
            return index
    return None


def _are_one(
    group: Sequence[Node],
    other: Sequence[Node],
    shapes: Mapping[Node, tuple[DimLike, ...]],
    waiting: Waiting[Node],
) -> bool:
    """Whether two groups can be computed at once."""
    if len(group) + len(other) > LARGEST or shapes[group[0]] != shapes[other[0]]:
        return False
    return waiting.can_unite(group[0], other[0])
