"""A loop in which nothing is captured: it stays in the original bytecode, and what comes behind it is a part again.

Decides where such a loop may be left and writes the entry that runs it; that a loop is idle is found by the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import CodeType

from bcjit.bytecode import Leave, Listing, Op, decode, resume_code
from bcjit.symbolic_vm import PartSpec

__all__ = ["loop_code"]

GetPart = Callable[[PartSpec], object]


def loop_code(
    spec: PartSpec, turn: Iterable[PartSpec], get_part: GetPart
) -> tuple[CodeType, tuple[PartSpec, ...]] | None:
    """Return code that runs the loop around a part's start as it is, and which parts it hands over to behind it.

    None where it is not certain what is live there: a local that only some ways out of the loop bind, a return from a
    handler in it.

    Parameters
    ----------
    spec
        The part.
    turn
        The parts of a whole turn.
    get_part
        Makes the part of a spec.
    """
    assert spec.offset is not None
    listing = decode(spec.code)
    starts = {listing.index_of(part.offset) for part in turn if part.offset is not None}
    loop = next((found for found in listing.loops() if starts <= found), None)
    if loop is None:
        return None
    start = listing.index_of(spec.offset)
    ends = frozenset(end for index in loop for end in listing.leads_to(index) if end not in loop)
    if not ends or not _binds_the_same(listing, listing.reached(start, ends), spec.bound):
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
