"""A decoded code object: its virtual instructions, its groups, and facts that follow from them alone.

Depths and loops come from the declared stack effects and the control flow, exception handlers included. It decodes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from types import CodeType
from typing import Final

from bcjit.bytecode.instruction import (
    JUMPS,
    TERMINATORS,
    Instruction,
    Op,
    count_of,
    stack_effect,
)
from bcjit.records import dataclass

_CO_SUSPENDS: Final = 0x20 | 0x80 | 0x200  # CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Listing:
    """A decoded code object."""

    instructions: tuple[Instruction, ...]
    code: CodeType
    # offset of a group -> index of its first instruction; depths are filled on first use
    _first: dict[int, int] = field(init=False, repr=False)
    _depths: list[tuple[int | None, ...]] = field(init=False, repr=False)
    _positions: list[tuple[frozenset[int], ...]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        first: dict[int, int] = {}
        for index, instruction in enumerate(self.instructions):
            first.setdefault(instruction.offset, index)
        object.__setattr__(self, "_first", first)
        object.__setattr__(self, "_depths", [])
        object.__setattr__(self, "_positions", [])

    def __len__(self) -> int:
        return len(self.instructions)

    def __getitem__(self, index: int) -> Instruction:
        return self.instructions[index]

    def index_of(self, offset: int) -> int:
        """Index of the first instruction of the group at `offset`.

        Raises
        ------
        KeyError
            If no group starts at `offset`.
        """
        return self._first[offset]

    def is_group_start(self, offset: int) -> bool:
        """Whether a group starts at `offset`."""
        return offset in self._first

    def group_at(self, offset: int) -> tuple[Instruction, ...]:
        """The instructions of the group that starts at `offset`."""
        start = stop = self._first[offset]
        while stop < len(self.instructions) and self.instructions[stop].offset == offset:
            stop += 1
        return self.instructions[start:stop]

    def next_offset(self, offset: int) -> int:
        """Offset of the group behind the one at `offset`.

        Raises
        ------
        IndexError
            If the group at `offset` is the last.
        """
        return self.instructions[self._first[offset] + len(self.group_at(offset))].offset

    def depths(self) -> tuple[int | None, ...]:
        """Stack depth before each instruction; None where it is never reached.

        Raises
        ------
        ValueError
            If two paths reach an instruction with different depths.
        """
        if not self._depths:
            self._depths.append(_depths_before(self.instructions))
        return self._depths[0]

    def positions(self, index: int) -> frozenset[int]:
        """The slots of the stack before an instruction that hold a saved position: those that handlers with `lasti` push.

        From 3.14 on a position is no object, and no Python code can hold it. No opcode moves one.
        """
        if not self._positions:
            self._positions.append(_positions_before(self.instructions, self.depths()))
        return self._positions[0][index]

    def stack_depth(self) -> int:
        """The deepest the stack gets between groups, by the declared effects.

        Inside a group a virtual stack may be one deeper than the native one: RETURN_CONST pushes nothing natively.
        """
        depths, deepest = self.depths(), 0
        for index, instruction in enumerate(self.instructions):
            depth, region = depths[index], instruction.handler
            if depth is None:
                continue
            if self._first[instruction.offset] == index:
                deepest = max(deepest, depth)
            if region is not None:
                deepest = max(deepest, region.depth + region.lasti + 1)
        return deepest

    def line_of(self, index: int) -> int:
        """The user's line of an instruction; where it has none, that of the next one, or the function's first.

        What follows a jump back in the code does not follow it when it runs: the end of a turn is on the last line before it.
        """
        for place, instruction in enumerate(self.instructions[index:], index):
            if instruction.position.lineno is not None:
                return instruction.position.lineno
            if instruction.op is Op.JUMP and count_of(instruction.arg) <= place:
                before = (i.position.lineno for i in reversed(self.instructions[:place]))
                return next((line for line in before if line is not None), self.code.co_firstlineno)
        return self.code.co_firstlineno

    def loops(self) -> tuple[frozenset[int], ...]:
        """The instructions of each loop, smaller loops first; handlers are no part of one.

        A loop is what leads to a jump backwards without passing its target (a natural loop), for all jumps to one target.
        """
        before: dict[int, list[int]] = {}
        back: dict[int, list[int]] = {}
        for index in self.reached(0):
            for successor, _ in _successors(self.instructions, index):
                before.setdefault(successor, []).append(index)
                if successor <= index:
                    back.setdefault(successor, []).append(index)
        found = []
        for head, sources in back.items():
            body = {head}
            work = list(sources)
            while work:
                current = work.pop()
                if current not in body:
                    body.add(current)
                    work += before.get(current, ())
            if 0 not in body:  # a handler that jumps back into what is protected
                found.append(frozenset(body))
        return tuple(sorted(found, key=len))

    def reached(self, index: int, stops: frozenset[int] = frozenset()) -> frozenset[int]:
        """The instructions that control may come to from one, handlers included; not those in `stops`, nor beyond them."""
        found: set[int] = set()
        work = [index]
        while work:
            current = work.pop()
            if current in found or current in stops:
                continue
            found.add(current)
            region = self.instructions[current].handler
            work += [] if region is None else [region.handler]
            work += [successor for successor, _ in _successors(self.instructions, current)]
        return frozenset(found)

    def leads_to(self, index: int) -> tuple[int, ...]:
        """Where control goes from an instruction when it does not raise."""
        return tuple(successor for successor, _ in _successors(self.instructions, index))

    def has_loop(self) -> int | None:
        """The first line of a loop, or None. A handler may jump backwards without being one."""
        for index, instruction in enumerate(self.instructions):
            if instruction.op in JUMPS and count_of(instruction.arg) <= index:
                target = count_of(instruction.arg)
                if index in self.reached(target):
                    return min(self.line_of(target), self.line_of(index))
        return None

    def has_try(self) -> int | None:
        """The first line protected by a ``try`` of the user, or None.

        Handlers of ``with``, of inlined comprehensions and of generators do not count.
        """
        for index, instruction in enumerate(self.instructions):
            region = instruction.handler
            if region is not None and self._is_user_handler(region.handler):
                return self.line_of(index)
        return None

    def _is_user_handler(self, index: int) -> bool:
        ops = [instruction.op for instruction in self.instructions[index : index + 2]]
        return ops[0] is Op.PUSH_EXC_INFO and ops[1] is not Op.WITH_EXCEPT_START

    def has_with(self) -> int | None:
        """The first line of a ``with``, or None."""
        for index, instruction in enumerate(self.instructions):
            if instruction.op in (Op.BEFORE_WITH, Op.BEFORE_ASYNC_WITH):
                return self.line_of(index)
        return None

    def is_generator(self) -> int | None:
        """The first line of a generator, coroutine or asynchronous generator, or None."""
        return self.code.co_firstlineno if self.code.co_flags & _CO_SUSPENDS else None


def _successors(instructions: tuple[Instruction, ...], index: int) -> Iterator[tuple[int, int]]:
    """Where control goes from an instruction, and how many slots deeper or less deep it is there."""
    instruction = instructions[index]
    if instruction.op in JUMPS:
        pops, pushes = stack_effect(instruction.op, instruction.arg, jump=True)
        yield count_of(instruction.arg), pushes - pops
    if instruction.op not in TERMINATORS:
        pops, pushes = stack_effect(instruction.op, instruction.arg)
        yield index + 1, pushes - pops


def _depths_before(instructions: tuple[Instruction, ...]) -> tuple[int | None, ...]:
    depths: list[int | None] = [None] * len(instructions)
    work: list[int] = []

    def reach(index: int, depth: int) -> None:
        known = depths[index]
        if known is None:
            depths[index] = depth
            work.append(index)
        elif known != depth:
            message = f"stack depths {known} and {depth} meet at instruction {index}, {instructions[index].op.name}"
            raise ValueError(message)

    if instructions:
        reach(0, 0)
    while work:
        index = work.pop()
        instruction, depth = instructions[index], depths[index]
        assert depth is not None
        region = instruction.handler
        if region is not None:
            reach(region.handler, region.depth + region.lasti + 1)
        for successor, change in _successors(instructions, index):
            reach(successor, depth + change)
    return tuple(depths)


def _positions_before(
    instructions: tuple[Instruction, ...], depths: tuple[int | None, ...]
) -> tuple[frozenset[int], ...]:
    none: frozenset[int] = frozenset()
    held: list[frozenset[int] | None] = [None] * len(instructions)
    work = [(0, none)] if instructions else []
    while work:
        index, slots = work.pop()
        depth, known = depths[index], held[index]
        assert depth is not None
        slots = frozenset(slot for slot in slots if slot < depth) | (known or none)
        if slots == known:
            continue
        held[index] = slots
        region = instructions[index].handler
        if region is not None:
            kept = frozenset(slot for slot in slots if slot < region.depth)
            work.append((region.handler, kept | {region.depth} if region.lasti else kept))
        work += [(successor, slots) for successor, _ in _successors(instructions, index)]
    return tuple(slots or none for slots in held)
