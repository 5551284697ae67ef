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
from bcjit.dims import DimLike, Symbol, substitute
from bcjit.fx_graph import Graph, Node, NodeKind
from bcjit.meta import ArrayMeta
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.dims import Dim

__all__ = ["Group", "groups"]

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
    for run in _between_effects(graph):
        found += _of_run(graph, run, equal, smallest)
    return found


def _between_effects(graph: Graph) -> list[list[Node]]:
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
            shapes[node] = _shape(node, equal)
    place = {node: i for i, node in enumerate(run)}
    of: dict[Node, int] = {}  # group of each call
    members: list[list[Node]] = []
    # What a call waits for, of this run: calls in a group wait for all that the group waits for.
    waits: dict[Node, set[Node]] = {}
    for node in run:
        used = {one for one in node.uses() if one in place}
        waits[node] = used.union(*(waits[one] for one in used))
        if node not in items:
            continue
        joined = _joined(node, used, of, members, shapes, waits)
        if joined is None:
            of[node] = len(members)
            members.append([node])
        else:
            of[node] = joined
            members[joined].append(node)
            for index in sorted({of[one] for one in used if one in of} - {joined}):
                one, other = members[joined], members[index]
                if _are_one(one, other, shapes, waits):
                    members[joined] = sorted((*one, *other), key=place.__getitem__)
                    of |= dict.fromkeys(other, joined)
                    members[index] = []
            _wait_together(members[joined], waits)
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


def _shape(node: Node, equal: Mapping[Symbol, Dim]) -> tuple[DimLike, ...]:
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
    shapes: Mapping[Node, tuple[DimLike, ...]],
    waits: dict[Node, set[Node]],
) -> int | None:
    """Return the group that a call joins: one whose results it uses, else one that uses the same operands."""
    candidates = [of[one] for one in used if one in of]
    shared = set(node.uses())
    for index in range(len(members) - 1, max(len(members) - 5, -1), -1):
        if index not in candidates and any(shared & set(one.uses()) for one in members[index]):
            candidates.append(index)
    for index in candidates:
        group = members[index]
        inside = set(group)
        if not 0 < len(group) < LARGEST or shapes[group[0]] != shapes[node]:
            continue
        outside = used.difference(inside)
        # Something it needs waits for the group.
        if any(one in inside or waits[one] & inside for one in outside):
            continue
        return index
    return None


def _are_one(
    group: Sequence[Node],
    other: Sequence[Node],
    shapes: Mapping[Node, tuple[DimLike, ...]],
    waits: dict[Node, set[Node]],
) -> bool:
    """Whether two groups can be computed at once."""
    both = {*group, *other}
    if len(both) > LARGEST or shapes[group[0]] != shapes[other[0]]:
        return False
    outside = set().union(*(waits[one] for one in both)) - both
    return not any(waits[one] & both for one in outside)


def _wait_together(group: Sequence[Node], waits: dict[Node, set[Node]]) -> None:
    """A group is computed at once: whoever waits for one of its calls waits for what all of them need."""
    inside = set(group)
    needed = set().union(*(waits[one] for one in group)) - inside
    grown = [node for node, on in waits.items() if on & inside or node in inside]
    for node in grown:
        waits[node] |= needed | (inside - {node})
