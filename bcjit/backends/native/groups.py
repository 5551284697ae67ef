"""Which calls of a graph become one kernel; it makes no code and edits no graph.

Calls of one shape between which nothing is written or drawn, such that none of them waits for a call outside that waits for another of
them. A group is computed where its last operand is there: what fails between two effects is resumed behind the first of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bcjit.backends.native.gathers import READS, gathered, table_of
from bcjit.backends.native.parts import parts_of
from bcjit.backends.native.program import can_compute
from bcjit.backends.native.scalars import Item, Leaf, in_order
from bcjit.backends.native.tracing import traced
from bcjit.backends.native.views import Picked, View, view_of
from bcjit.backends.native.waiting import Waiting
from bcjit.dims import DimLike, Symbol, substitute
from bcjit.fx_graph import Graph, Node, NodeKind
from bcjit.fx_graph.node import exprs_in
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.backends.native.unroll import Unrolled
    from bcjit.dims import Dim

__all__ = [
    "Draft",
    "between_effects",
    "drafts",
    "is_done_once",
    "is_free",
    "read_elsewhere",
    "results_of",
    "shape_of",
    "taken_by",
    "used_by",
    "views_among",
]

# More calls would take long to compile, and there are only so many registers.
LARGEST: Final = 128


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """Calls in the order of the graph."""

    nodes: tuple[Node, ...]
    items: dict[Node, Item]
    views: tuple[Node, ...]  # operands that the kernel makes itself
    effect: Node | None  # the call with an effect behind the stretch of these

    @property
    def size(self) -> int:
        """How many calls the kernel saves, or one."""
        stored = self.effect is not None and any(one in self.nodes for one in self.effect.uses())
        # NumPy goes over an index array twice; what takes it long is to read large elements.
        gathers = sum(
            table_of(item) is not None and item.dtype.itemsize < 16 for item in self.items.values()
        )
        written_out = any(map(read_elsewhere, self.items.values()))
        return len(self.nodes) + len(self.views) + stored + gathers + written_out


def drafts(
    graph: Graph, equal: Mapping[Symbol, Dim], written_out: Mapping[Node, Unrolled]
) -> list[Draft]:
    """Return the groups of one graph, not of its bodies.

    Parameters
    ----------
    graph
        The graph.
    equal
        What is known of the symbols of its shapes.
    written_out
        The calls that are not element by element, and what they compute nevertheless.
    """
    found: list[Draft] = []
    for run, effect in _stretches(graph):
        found += _of_run(graph, run, effect, equal, written_out)
    return found


def between_effects(graph: Graph) -> list[list[Node]]:
    """Return the stretches of calls between which something is written, drawn or done once."""
    return [run for run, _ in _stretches(graph)]


def _stretches(graph: Graph) -> list[tuple[list[Node], Node | None]]:
    """Return the stretches, each with the call with an effect behind it."""
    runs: list[tuple[list[Node], Node | None]] = []
    run: list[Node] = []
    for node in graph.nodes:
        if node.has_effect or node.bodies or is_done_once(node):
            runs.append((run, node if node.has_effect and not node.bodies else None))
            run = []
        elif node.kind is NodeKind.CALL:
            run.append(node)
    runs.append((run, None))
    return [(run, effect) for run, effect in runs if run]


def is_free(node: Node, graph: Graph) -> bool:
    """Whether something needs a call, and no kernel does it already."""
    return node.unless_done is None and bool(node.users or node in graph.keep)


def results_of(graph: Graph, nodes: Sequence[Node], *others: Node) -> tuple[Node, ...]:
    """Return the calls of a kernel that something else needs; what only `others` use is not among them."""
    inside = {*nodes, *others}
    read_from = {node for node, _ in graph.symbols.values()}
    return tuple(
        node
        for node in nodes
        if node in graph.keep or node in read_from or any(user not in inside for user in node.users)
    )


def is_done_once(node: Node) -> bool:
    """Whether a call is of a function that nothing is known of: what fails behind it goes on behind it. Arithmetic of numbers is not."""
    if node.kind is not NodeKind.CALL or node.op is not None:
        return False
    if getattr(node.target, "__module__", "") == "_operator" and all(
        isinstance(meta, ScalarMeta) for meta in node.meta
    ):
        return False
    of = node.args[0] if node.args else None
    return not (isinstance(of, Node) and (of.multi or of.bodies))  # it reads a result


def _computed(
    graph: Graph,
    run: Sequence[Node],
    equal: Mapping[Symbol, Dim],
    written_out: Mapping[Node, Unrolled],
) -> tuple[dict[Node, Item], dict[Node, tuple[DimLike, ...]], dict[Node, tuple[Node, ...]]]:
    """Return what calls compute that kernels can; shapes, of calls inside others those of these; and which are inside which.

    A call with several results stands for the first of those that read them.
    """
    items: dict[Node, Item] = {}
    shapes: dict[Node, tuple[DimLike, ...]] = {}
    inside: dict[Node, tuple[Node, ...]] = {}
    there = set(run)
    for node in run:
        # A kernel of other calls may stand between by now.
        if node in written_out and there.issuperset(written_out[node].inside):
            items[node], inside[node] = written_out[node].item, written_out[node].inside
            shapes |= dict.fromkeys((node, *inside[node]), shape_of(node, equal))
    for node in run:
        if node in shapes or not is_free(node, graph):
            continue  # what nothing needs is there for what it may raise or warn of
        parts = parts_of(node, graph.keep)
        if parts is not None and all(user in run for user in parts):
            for user, part in parts.items():
                items[node] = items[user] = part
                shapes[node] = shapes[user] = shape_of(node, equal)
            continue
        item = traced(node) or gathered(node)
        if item is not None and can_compute(item):
            items[node] = item
            shapes[node] = shape_of(node, equal)
    return items, shapes, inside


def _of_run(
    graph: Graph,
    run: Sequence[Node],
    effect: Node | None,
    equal: Mapping[Symbol, Dim],
    written_out: Mapping[Node, Unrolled],
) -> list[Draft]:
    items, shapes, inside = _computed(graph, run, equal, written_out)
    place = {node: i for i, node in enumerate(run)}
    views = views_among([node for node in run if node in shapes], place, graph.keep)
    of: dict[Node, int] = {}  # group of each call
    members: list[list[Node]] = []
    takes: list[set[Node]] = []  # what the calls of each group use
    waiting: Waiting[object] = Waiting()
    for node in run:
        used = {one for one in used_by(node, graph) if one in place}
        waiting.add(node, _behind_arrays(items.get(node), used, waiting))
        if node not in items:
            continue
        whole = (*inside.get(node, ()), node)
        for part in whole:
            waiting.unite(node, part)
        taken = {one for each in whole for one in taken_by(each, views)} - set(whole)
        joined = _joined(node, used, of, members, takes, taken, shapes, waiting)
        if joined is None:
            of[node] = len(members)
            members.append([*whole])
            takes.append(taken)
        else:
            of[node] = joined
            waiting.unite(members[joined][0], node)
            members[joined] += whole
            takes[joined] |= taken
            for index in _neighbours(used, of, takes, taken):
                one, other = members[joined], members[index]
                if index != joined and other and _are_one(one, other, shapes, waiting):
                    waiting.unite(one[0], other[0])
                    takes[joined] |= takes[index]
                    members[joined] = sorted((*one, *other), key=place.__getitem__)
                    of |= dict.fromkeys(other, joined)
                    members[index] = []
                    takes[index] = set()
    made = []
    for nodes in filter(None, members):
        made_inside = tuple(dict.fromkeys(v for node in nodes for v in node.uses() if v in views))
        nodes.sort(key=place.__getitem__)
        of_nodes = {node: items[node] for node in nodes if node in items}
        made.append(Draft(tuple(nodes), of_nodes, made_inside, effect))
    return made


def _behind_arrays(item: Item | None, used: set[Node], waiting: Waiting[object]) -> set[object]:
    """Return what a call waits for: that a table or an array is whole, if it reads elements of it. So no kernel reads what it makes itself."""
    if item is None:
        return {*used}
    found: set[object] = {*used}
    for array in {table_of(item), *read_elsewhere(item)}:
        if array is not None and array in waiting:
            whole = object()
            waiting.add(whole, {array})
            found.add(whole)
    return found


def read_elsewhere(item: Item) -> set[Node]:
    """Return the arrays of which an item needs other elements than the one at its own place: they must be there."""
    leaves = (one.source for one in in_order([item]) if isinstance(one, Leaf))
    return {source.base for source in leaves if isinstance(source, Picked)}


def used_by(node: Node, graph: Graph) -> set[Node]:
    """Return what a call uses: operands, and that from which sizes are read, or numbers that are sizes."""
    of_sizes = (
        graph.symbols[symbol][0]
        for expr in exprs_in(node.operands)
        for symbol in expr.symbols()
        if symbol in graph.symbols
    )
    return {*node.uses(), *of_sizes}


def shape_of(node: Node, equal: Mapping[Symbol, Dim]) -> tuple[DimLike, ...]:
    """Return the shape of a value, so that what is known to be equal looks equal."""
    meta = node.meta[0]
    assert isinstance(meta, ArrayMeta)
    try:
        return tuple(substitute(dim, equal) for dim in meta.shape)
    except ZeroDivisionError:  # a size that cannot be
        return meta.shape


def _neighbours(
    used: set[Node], of: dict[Node, int], takes: list[set[Node]], taken: set[Node]
) -> list[int]:
    """Return the groups whose results a call uses, then late ones that take the same operands."""
    found = list(dict.fromkeys(of[one] for one in used if one in of))
    for index in range(len(takes) - 1, max(len(takes) - 5, -1), -1):
        if index not in found and not takes[index].isdisjoint(taken):
            found.append(index)
    return found


def _joined(
    node: Node,
    used: set[Node],
    of: dict[Node, int],
    members: list[list[Node]],
    takes: list[set[Node]],
    taken: set[Node],
    shapes: Mapping[Node, tuple[DimLike, ...]],
    waiting: Waiting[object],
) -> int | None:
    """Return the group that a call joins: one whose results it uses, else one that uses the same operands."""
    for one in used:
        if one.multi and one in of:
            return of[one]  # what reads one of several results is done with what gives them
    for index in _neighbours(used, of, takes, taken):
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
    waiting: Waiting[object],
) -> bool:
    """Whether two groups can be computed at once."""
    if len(group) + len(other) > LARGEST or shapes[group[0]] != shapes[other[0]]:
        return False
    return waiting.can_unite(group[0], other[0])


def views_among(
    nodes: Collection[Node], place: dict[Node, int], keep: Collection[Node]
) -> dict[Node, View]:
    """Return the operands that a kernel can make itself.

    What may fail or copy, and elements, which are read when the call is made, must be of the same stretch. What copies is left alone if
    something else needs it too.
    """
    found: dict[Node, View] = {}
    tables = {node.args[0] for node in nodes if node.target in READS}  # copied, not rolled
    for operand in dict.fromkeys(used for node in nodes for used in node.uses()):
        alone = operand not in keep and operand not in tables
        alone = alone and all(user in nodes for user in operand.users)
        view = view_of(operand, copies=alone)
        if view is not None and all(
            node in place or (node.alias == "view" and not node.can_fail) for node in view.nodes
        ):
            found[operand] = view
    return found


def taken_by(node: Node, views: dict[Node, View]) -> set[Node]:
    """Return what a call in a kernel takes: of a view its array."""
    found: set[Node] = set()
    for used in node.uses():
        found.update(views[used].reads if used in views else (used,))
    return found
