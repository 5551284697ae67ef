"""What a group of calls gives to the rest of its graph, and the write that its kernel does; it makes no code and edits no graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bcjit.backends.native.alone import is_slow_in_numpy, is_worth_it_alone
from bcjit.backends.native.groups import Draft, results_of
from bcjit.backends.native.parts import are_whole
from bcjit.backends.native.scalars import Item, Leaf
from bcjit.backends.native.views import view_of
from bcjit.backends.native.writes import Write, write_of
from bcjit.fx_graph import Graph, Node
from bcjit.records import dataclass

__all__ = ["Group", "halves", "lazy_views", "outcomes"]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Calls in the order of the graph, as one kernel."""

    nodes: tuple[Node, ...]
    items: dict[Node, Item]
    results: tuple[Node, ...]  # those that something else needs
    views: tuple[Node, ...]  # operands that the kernel makes itself
    write: Write | None = None  # a call that stores what is computed, behind the others
    handed: tuple[Node, ...] = ()  # what only that call needs, if the kernel has not done it
    lazy: tuple[Node, ...] = ()  # views that only it needs then
    alone: bool = False  # NumPy does it where arrays are large: see `alone`


def outcomes(graph: Graph, drafts: Iterable[Draft], smallest: int) -> list[Group]:
    """Return the groups that are worth a kernel: of so many calls at least, or one that is worth it alone."""
    at = {node: i for i, node in enumerate(graph.nodes)}
    read_from = {node for node, _ in graph.symbols.values()}
    made = []
    for draft in drafts:
        alone = draft.size < smallest and not is_slow_in_numpy(draft)
        if (alone and not is_worth_it_alone(draft)) or not are_whole(draft.nodes):
            continue
        write = _write(draft, at)
        handed = () if write is None else _handed(graph, draft, write, read_from)
        results = _results(graph, draft, handed, write)
        if write is not None and (
            not any(write.node in node.users for node in handed)
            or any(_same(draft, node, write.item) for node in results)
        ):
            write, handed = None, ()
            results = _results(graph, draft, (), None)
        lazy = () if write is None else lazy_views(graph, write.node, read_from, draft.nodes)
        made.append(
            Group(draft.nodes, draft.items, results, draft.views, write, handed, lazy, alone)
        )
    return made


def halves(group: Group) -> list[Draft]:
    """Return the first and the second half of the calls of a group of which no kernel can be made; nothing where some are inside others."""
    if len(group.items) < len(group.nodes):
        return []
    middle = len(group.nodes) // 2
    effect = None if group.write is None else group.write.node
    return [
        Draft(
            part,
            {node: group.items[node] for node in part},
            tuple(view for view in group.views if any(view in node.uses() for node in part)),
            effect if part[-1] is group.nodes[-1] else None,
        )
        for part in (group.nodes[:middle], group.nodes[middle:])
        if part
    ]


def _results(
    graph: Graph, draft: Draft, handed: tuple[Node, ...], write: Write | None
) -> tuple[Node, ...]:
    others = () if write is None else (write.node,)
    return tuple(node for node in results_of(graph, draft.nodes, *others) if node not in handed)


def _same(draft: Draft, node: Node, item: Item) -> bool:
    """Whether a call gives what an item is."""
    if isinstance(item, Leaf):
        return node is item.source
    return draft.items[node] is item


def _write(draft: Draft, at: dict[Node, int]) -> Write | None:
    """Return the write that the kernel of a group can do: then it stands there."""
    node = draft.effect
    if node is None or not any(used in draft.nodes for used in node.uses()):
        return None
    if any(one.multi for one in draft.nodes):
        return None
    inside = {*draft.nodes, node}
    if any(user not in inside and at[user] < at[node] for one in draft.nodes for user in one.users):
        return None
    write = write_of(node)
    if write is None or any(one.can_fail for one in write.to.nodes):
        return None
    if any(one in inside for one in write.to.reads):
        return None  # an array that the group makes
    if isinstance(write.item, Leaf) and write.item.source not in inside:
        return None  # only copied
    return write


def _handed(graph: Graph, draft: Draft, write: Write, read_from: set[Node]) -> tuple[Node, ...]:
    """Return the values that only the write needs, or its failure."""
    inside = {*draft.nodes, write.node}
    return tuple(
        node
        for node in draft.nodes
        if node not in read_from
        and _needed_by(graph, node) <= {write.node}
        and all(user in inside for user in node.users)
        and (write.node in node.users or node in graph.keep)
    )


def lazy_views(
    graph: Graph, node: Node, read_from: set[Node], inside: Collection[Node] = ()
) -> tuple[Node, ...]:
    """Return the operands of a write that need not be made if a kernel does it: views, in order. What is inside uses them no more."""
    found: list[Node] = []
    read_from = {*read_from, *(source for source, _ in graph.symbols.values())}
    users = {*inside, node}
    for operand in node.uses():
        if operand in found or operand in read_from or operand.alias != "view":
            continue
        view = view_of(operand)
        if view is None or any(one.can_fail for one in view.nodes):
            continue  # the kernel takes it from the graph, as `own_views` says
        if _needed_by(graph, operand) <= {node} and all(user in users for user in operand.users):
            found.append(operand)
    return tuple(found)


def _needed_by(graph: Graph, node: Node) -> set[Node | None]:
    """Return the calls whose failure needs a value; None stands for all behind."""
    if node not in graph.keep:
        return set()
    return {*graph.keep_for.get(node, (None,))}
