"""Where the loops of a listing are, and where ways through it meet again.

Facts that follow from the control flow alone, without exceptional edges. It decodes nothing.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import partial
from typing import Final

from bcjit.bytecode.instruction import FOR_ITERS, JUMPS, TERMINATORS, Instruction, Op
from bcjit.bytecode.listing import Listing
from bcjit.records import dataclass

__all__ = ["Loop", "leads_to_raise", "loops_of", "meeting_of", "same_places"]


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of a listing: the instructions of one turn, and where it begins and ends.

    Attributes
    ----------
    head
        The first instruction of a turn: the ``FOR_ITER``, or the first one of a ``while`` loop's test.
    entry
        Where the jumps backwards lead. It is not `head` where CPython wrote the test twice (up to 3.13): then it is the first
        instruction behind the test.
    body
        The instructions of a turn, `head` among them; of a test that is written twice, the first writing. Handlers are no part.
    exits
        The instructions behind the loop: those that control goes to from one in `body`.
    is_for
        Whether `head` asks an iterator.
    protected
        Whether `head` lies in a protected region.
    same
        Where the second writing of the test begins -> `head`: who is there is at the head again.
    """

    head: int
    entry: int
    body: frozenset[int]
    exits: frozenset[int]
    is_for: bool
    protected: bool
    same: Mapping[int, int]


def loops_of(listing: Listing) -> tuple[Loop, ...]:
    """The natural loops of a listing, smaller ones first; jumps backwards to one head are one loop."""
    flow = _flow_of(listing)
    if flow.loops is None:
        flow.loops = _find_loops(flow)
    return flow.loops


def same_places(listing: Listing) -> Mapping[int, int]:
    """Where the second writing of a ``while`` loop's test begins -> where the first does, for all loops."""
    return {start: head for start, (head, _) in _flow_of(listing).twins.items()}


def meeting_of(
    listing: Listing, places: Iterable[int], stops: frozenset[int] = frozenset()
) -> int | None:
    """Where all ways from some places meet again: their nearest common post-dominator, one of the places itself or behind them.

    Parameters
    ----------
    listing
        The instructions.
    places
        Where the ways begin; those behind a branch, for its join.
    stops
        Instructions at which a way ends, as it does at a return or a raise. One of them is the result where all ways come to it.

    Returns
    -------
    int or None
        None if only their ends are common to all ways. A way that goes round for ever has one too.
    """
    flow = _flow_of(listing)
    tree = flow.joins.setdefault(stops, {_END: _END})
    starts = [flow.place(place, stops) for place in places]
    if not all(start in tree for start in starts):
        tree.update(_post_dominators(flow, starts, stops))
    ways = [_upwards(tree, start) for start in starts]
    shared = set(ways[0]).intersection(*ways[1:]) if ways else {_END}
    found = next((place for place in (ways[0] if ways else ()) if place in shared), _END)
    return None if found == _END else found


def leads_to_raise(listing: Listing, index: int) -> bool:
    """Whether the code from an instruction on raises, whichever way: it comes to a ``raise`` without a jump."""
    for instruction in listing.instructions[index:]:
        if instruction.op is Op.RAISE_VARARGS:
            return True
        if instruction.op in JUMPS or instruction.op in TERMINATORS:
            return False
    return False


_END: Final = -1  # what all ways lead to
Graph = Mapping[int, Iterable[int]]


@dataclass(slots=True, eq=False)
class _Flow:
    """The control flow of a listing, and what has been found out about it. It must not hold the listing, whose life it shares."""

    instructions: tuple[Instruction, ...]
    after: tuple[tuple[int, ...], ...]  # for each instruction, where control goes, as written
    twins: Mapping[int, tuple[int, int]]  # start of a second writing -> head and entry
    loops: tuple[Loop, ...] | None = None
    # for each set of stops, places -> their immediate post-dominators
    joins: dict[frozenset[int], dict[int, int]] = field(default_factory=dict)

    def place(self, index: int, stops: frozenset[int] = frozenset()) -> int:
        """The instruction itself; for the second writing of a test, the first."""
        return self.twins[index][0] if index in self.twins and index not in stops else index

    def next_of(self, index: int, stops: frozenset[int] = frozenset()) -> tuple[int, ...]:
        """Where control goes from an instruction, the two writings of a test being one place."""
        if index in stops:
            return ()
        return tuple(self.place(successor, stops) for successor in self.after[index])


# By identity. No WeakKeyDictionary: its callbacks are Python code, in which a signal could strike, whose exception would be lost.
_flows: Final[dict[int, tuple[weakref.ref[Listing], _Flow]]] = {}


def _flow_of(listing: Listing) -> _Flow:
    key = id(listing)
    reference, flow = _flows.get(key, (None, None))
    if flow is None or reference is None or reference() is not listing:
        after = tuple(listing.leads_to(index) for index in range(len(listing)))
        flow = _Flow(listing.instructions, after, _find_twins(listing.instructions, after))
        _flows[key] = weakref.ref(listing, partial(_flows.pop, key)), flow
    return flow


def _before(after: Graph) -> dict[int, list[int]]:
    before: dict[int, list[int]] = {}
    for index, successors in after.items():
        for successor in successors:
            before.setdefault(successor, []).append(index)
    return before


def _homes(instructions: tuple[Instruction, ...], after: Graph) -> dict[int, int]:
    """For each instruction that is reached: the handler from which it is if no exception is raised, 0 outside handlers.

    What a handler has in common with what it protects belongs to that.
    """
    homes: dict[int, int] = {}
    starts = [0] if instructions else []
    for start in starts:  # which grows
        work = [start]
        while work:
            index = work.pop()
            if index in homes:
                continue
            homes[index] = start
            work += after[index]
            region = instructions[index].handler
            if region is not None:
                starts.append(region.handler)
    return homes


def _turns(instructions: tuple[Instruction, ...], after: Graph) -> dict[int, frozenset[int]]:
    """For each target of jumps backwards, what leads to these jumps without passing it: its natural loop."""
    homes = _homes(instructions, after)
    before = _before({index: after[index] for index in homes})
    turns: dict[int, frozenset[int]] = {}
    for index, home in homes.items():
        for head in after[index]:
            if head <= index and homes[head] == home:
                turn = _natural(head, index, before, homes)
                if home not in turn - {head}:  # else there is another way in
                    turns[head] = turns.get(head, frozenset()) | turn
    return turns


def _natural(head: int, source: int, before: Graph, homes: Mapping[int, int]) -> frozenset[int]:
    body = {head}
    work = [source]
    while work:
        index = work.pop()
        if index not in body and homes[index] == homes[head]:
            body.add(index)
            work += before.get(index, ())
    return frozenset(body)


def _find_loops(flow: _Flow) -> tuple[Loop, ...]:
    instructions = flow.instructions
    after = {index: flow.next_of(index) for index in range(len(instructions))}
    entries = {head: (start, entry) for start, (head, entry) in flow.twins.items()}
    found = []
    for head, body in _turns(instructions, after).items():
        start, entry = entries.get(head, (None, head))
        found.append(
            Loop(
                head,
                entry,
                body,
                frozenset(end for index in body for end in after[index]) - body,
                instructions[head].op in FOR_ITERS,
                instructions[head].handler is not None,
                {} if start is None else {start: head},
            )
        )
    return tuple(sorted(found, key=lambda loop: (len(loop.body), loop.head)))


_SKIPPED: Final = frozenset({Op.NOP, Op.JUMP, Op.JUMP_NO_INTERRUPT})
_TRUTH: Final = frozenset({Op.POP_JUMP_IF_TRUE, Op.POP_JUMP_IF_FALSE})
_NONENESS: Final = frozenset({Op.POP_JUMP_IF_NONE, Op.POP_JUMP_IF_NOT_NONE})
_IF_NOT: Final = frozenset({Op.POP_JUMP_IF_FALSE, Op.POP_JUMP_IF_NOT_NONE})
# two of these may be one native instruction, which has one position
_FUSED: Final = frozenset({Op.LOAD_FAST, Op.STORE_FAST})


def _key(instruction: Instruction) -> tuple[object, ...]:
    """What two writings of one piece of source have in common."""
    op, position = instruction.op, instruction.position
    if op in _TRUTH:
        return _TRUTH, position
    if op in _NONENESS:
        return _NONENESS, position
    if op in JUMPS:
        return op, position
    if op is Op.LOAD_CONST:
        return op, id(instruction.arg), position
    return op, instruction.arg, position.lineno if op in _FUSED else position


def _find_twins(
    instructions: tuple[Instruction, ...], flow: tuple[tuple[int, ...], ...]
) -> Mapping[int, tuple[int, int]]:
    """Where the tests of ``while`` loops are written again -> where they are first, and where both lead."""
    after = dict(enumerate(flow))
    homes = _homes(instructions, after)
    before = _before({index: after[index] for index in homes})
    places: dict[tuple[object, ...], list[int]] = {}
    for index in sorted(homes):
        places.setdefault(_key(instructions[index]), []).append(index)
    found: dict[int, tuple[int, int]] = {}
    for entry, turn in _turns(instructions, after).items():
        if instructions[entry].op in FOR_ITERS:
            continue
        search = _Twins(instructions, after, before, entry, turn)
        for second in sorted(turn):
            first = search.first_of(second, places[_key(instructions[second])])
            if first is not None:
                found[second] = first, entry
                break
    return found


@dataclass(slots=True)
class _Twins:
    """The search for the two writings of the test of a ``while`` loop: they lead to one place, and are alike step by step.

    CPython up to 3.13 writes it in front of the loop and at the end of a turn, where its last branch has the other sense
    (``compiler_while`` in Python/compile.c); ``continue`` jumps to the first. From 3.14 on there is one.
    """

    instructions: tuple[Instruction, ...]
    after: Graph
    before: Mapping[int, list[int]]
    entry: int
    turn: frozenset[int]  # what leads to a jump backwards to the entry

    def first_of(self, second: int, candidates: Iterable[int]) -> int | None:
        """Where the first writing begins if the second one begins here."""
        for first in candidates:
            if first < self.entry and self._alike(first, second):
                return first
        return None

    def _alike(self, first: int, second: int) -> bool:
        front = self._leads_in(first)
        passed: tuple[set[int], set[int]] = set(), set()
        seen: set[tuple[int, int]] = set()
        work = [(first, second)]
        while work:
            (one, skipped), (other, skipped_again) = map(self._skip, work.pop())
            enters = one == self.entry
            # a loop without a body: the second writing is what both lead to
            if enters != (other == self.entry) and (enters or other != second or seen):
                return False
            if not enters:
                inside = one in front
                if inside != (other in self.turn):
                    return False
                if not inside or (one, other) in seen:
                    continue
                if _key(self.instructions[one]) != _key(self.instructions[other]):
                    return False
                seen.add((one, other))
                skipped.add(one)
                skipped_again.add(other)
                work += zip(self._branches(one), self._branches(other), strict=True)
            passed[0].update(skipped)
            passed[1].update(skipped_again)
        return self._only_way(first, second, *passed)

    def _leads_in(self, first: int) -> frozenset[int]:
        """What lies between a place and the entry, and leads to the entry without leaving."""
        found: set[int] = set()
        work = [self.entry]
        while work:
            for index in self.before.get(work.pop(), ()):
                if first <= index < self.entry and index not in found:
                    found.add(index)
                    work.append(index)
        return frozenset(found)

    def _skip(self, index: int) -> tuple[int, set[int]]:
        """The next instruction that does something, or the entry; and what is passed on the way."""
        passed: set[int] = set()
        while index != self.entry and self.instructions[index].op in _SKIPPED:
            if index in passed:
                break
            passed.add(index)
            (index,) = self.after[index]
        return index, passed

    def _branches(self, index: int) -> tuple[int, ...]:
        """Where control goes, first where it does if what is tested holds."""
        branches = tuple(self.after[index])
        return branches[::-1] if self.instructions[index].op in _IF_NOT else branches

    def _only_way(self, first: int, second: int, front: set[int], back: set[int]) -> bool:
        """Whether the loop is entered through the first writing only, and each of both only where it starts."""
        entered = {index for index in self.before[self.entry] if index < self.entry}
        return (
            bool(entered)
            and entered <= front
            and all(
                set(self.before.get(index, ())) <= passed
                for start, passed in ((first, front), (second, back))
                for index in passed - {start}
            )
        )


def _post_dominators(flow: _Flow, starts: Iterable[int], stops: frozenset[int]) -> dict[int, int]:
    """The immediate post-dominator of each place that ways from `starts` pass.

    Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm" (2001), on the reversed graph.
    """
    after: dict[int, tuple[int, ...]] = {}
    work = list(starts)
    while work:
        index = work.pop()
        if index not in after:
            after[index] = flow.next_of(index, stops)
            work += after[index]
    before = _before(after)
    ends = [index for index in after if not after[index]]
    order = _postorder(ends, before)
    endless = [index for index in after if index not in order]
    if endless:  # each is an end of its own
        ends += endless
        after |= {index: (*after[index], _END) for index in endless}
        order = _postorder(ends, before)
    order[_END] = len(order)
    tree = {_END: _END}
    changed = True
    while changed:
        changed = False
        for index in sorted(after, key=order.__getitem__, reverse=True):
            found: int | None = None
            for successor in after[index] or (_END,):
                if successor in tree:
                    found = successor if found is None else _meeting(tree, order, found, successor)
            assert found is not None
            if tree.get(index) != found:
                tree[index] = found
                changed = True
    return tree


def _postorder(ends: Iterable[int], before: Mapping[int, list[int]]) -> dict[int, int]:
    """Number what leads to `ends` in the order in which a search backwards is done with it."""
    order: dict[int, int] = {}
    seen: set[int] = set()
    for end in ends:
        stack = [end]
        while stack:
            index = stack[-1]
            if index in seen:
                stack.pop()
                order.setdefault(index, len(order))
                continue
            seen.add(index)
            stack += (i for i in before.get(index, ()) if i not in seen)
    return order


def _meeting(tree: Mapping[int, int], order: Mapping[int, int], one: int, other: int) -> int:
    while one != other:
        while order[one] < order[other]:
            one = tree[one]
        while order[other] < order[one]:
            other = tree[other]
    return one


def _upwards(tree: Mapping[int, int], place: int) -> list[int]:
    way = [place]
    while place != _END:
        place = tree[place]
        way.append(place)
    return way
