"""A loop in which nothing is captured: it stays in the original bytecode, and what comes behind it is a part again.

Decides which loop is idle, where it may be left, and writes the code that runs it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import CodeType
from typing import Final

from bcjit.bytecode import Leave, Listing, Op, decode, resume_code
from bcjit.bytecode.instruction import count_of
from bcjit.code_cache import CacheEntry, CodeCache
from bcjit.fx_graph import Node
from bcjit.meta import ArrayMeta
from bcjit.symbolic_vm import PartSpec

__all__ = ["idle_loop", "loop_code"]

GetPart = Callable[[PartSpec], object]


def idle_loop(cache: CodeCache, record: CacheEntry) -> frozenset[int]:
    """Return the instructions of the loop that a new part closes if no part of it has computed anything, else nothing."""
    turn = _turn_without_work(cache, record)
    if not turn:
        return frozenset()
    listing = decode(record.spec.code)
    # A NULL on the stack may be what a comprehension puts back into its variable, which is unbound then.
    comprehends = any(i.op is Op.LOAD_FAST_AND_CLEAR for i in listing.instructions)
    if comprehends and any(record.spec.stack):
        return frozenset()
    starts = {listing.index_of(part.offset) for part in turn if part.offset is not None}
    loop = next((loop for loop in listing.loops() if starts <= loop), frozenset())
    for entry in cache.entries:
        offset = entry.spec.offset
        if _works(entry) and offset is not None and listing.index_of(offset) in loop:
            return frozenset()
    return loop


def _works(entry: CacheEntry) -> bool:
    """Whether a part does what plain Python would not do as fast.

    It computes on an array (reading and writing items is not that, nor drawing one), or calls a function that is compiled by itself.
    """
    calls = entry.cause is not None and entry.cause.reason.code in _CALLS
    return calls or any(_computes(call) for call in entry.graph.calls)


_CALLS: Final = ("BRK006", "BRK007")  # a call that was not inlined: of its own accord, or too deep


def _computes(call: Node) -> bool:
    if call.draws or call.target in (operator.getitem, operator.setitem):
        return False
    metas = [*call.meta, *(m for node in call.uses() for m in node.meta)]
    return any(isinstance(meta, ArrayMeta) and meta.ndim > 0 for meta in metas)


def _turn_without_work(cache: CodeCache, record: CacheEntry) -> tuple[PartSpec, ...]:
    """Return the parts by which a part leads back to itself, all of them without work; none if there is no such way."""
    seen: set[PartSpec] = set()
    left: list[tuple[CacheEntry, tuple[PartSpec, ...]]] = [(record, (record.spec,))]
    while left:
        current, way = left.pop()
        if _works(current):
            continue
        for spec in current.next_specs:
            if spec == record.spec:
                return way
            entries = list(cache.of_part(spec))
            if spec not in seen and not any(_works(entry) for entry in entries):
                seen.add(spec)
                left += [(entry, (*way, spec)) for entry in entries]
    return ()


def loop_code(
    spec: PartSpec, loop: frozenset[int], get_part: GetPart
) -> tuple[CodeType, tuple[PartSpec, ...]] | None:
    """Return code that runs a loop as it is from a part's start on, and which parts it hands over to behind it.

    None where it is not certain what is live there: a local that only some ways out of the loop bind, a return from a
    handler in it.

    Parameters
    ----------
    spec
        The part.
    loop
        The instructions of the loop.
    get_part
        Makes the part of a spec.
    """
    assert spec.offset is not None
    listing = decode(spec.code)
    start = listing.index_of(spec.offset)
    ends = frozenset(end for index in loop for end in listing.leads_to(index) if end not in loop)
    reached = listing.reached(start, ends)
    if not ends or not _binds_the_same(listing, reached, spec.bound):
        return None
    if _puts_aside(listing, reached, {start, *ends}, nulls=any(spec.stack)):
        return None
    depths = listing.depths()
    lowest = min(depth for index in loop if (depth := depths[index]) is not None)
    leaves = []
    specs = []
    for end in sorted(ends):
        depth = depths[end]
        offset = listing[end].offset
        if depth is None or depth > min(lowest, len(spec.stack)) or listing.index_of(offset) != end:
            return None
        behind = PartSpec(spec.code, offset, spec.stack[:depth], spec.bound)
        specs.append(behind)
        leaves.append(Leave(offset, get_part(behind), behind.stack, behind.bound))
    code = resume_code(spec.code, spec.offset, spec.stack, spec.bound, tuple(leaves))
    return code, tuple(specs)


def _binds_the_same(listing: Listing, reached: frozenset[int], names: tuple[str, ...]) -> bool:
    """Whether these locals, and no others, are bound all along, and no instruction returns."""
    bound = {*names, *listing.code.co_cellvars}
    for index in reached:
        instruction = listing[index]
        if instruction.op is Op.RETURN_VALUE:
            return False
        if instruction.op is Op.DELETE_FAST and instruction.arg in bound:
            return False
        if (
            instruction.op in (Op.STORE_FAST, Op.LOAD_FAST_AND_CLEAR)
            and instruction.arg not in bound
        ):
            return False
    return True


def _puts_aside(
    listing: Listing, reached: frozenset[int], places: set[int], *, nulls: bool
) -> bool:
    """Whether a comprehension may have put a variable of its own aside at one of these places, or put back that it is unbound.

    What is bound there is then another thing in another turn. `nulls` says that the variable may be among the NULLs on the
    stack.
    """
    for index in reached:
        instruction = listing[index]
        if instruction.op is Op.LOAD_FAST_AND_CLEAR:
            if nulls:
                return True
            heads = (i for i in range(index, len(listing)) if listing[i].op is Op.FOR_ITER)
            behind = count_of(listing[next(heads)].arg)
            back = next(
                i
                for i in range(behind, len(listing))
                if listing[i].op is Op.STORE_FAST and listing[i].arg == instruction.arg
            )
            if any(index < place <= back for place in places):
                return True
    return False
