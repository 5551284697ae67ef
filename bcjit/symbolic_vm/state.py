"""The interpreter's state, frames, regions and exits: immutable data, so that going back is keeping the old one.

`interpret(state, region) -> exits` runs a region from a state. A branch side, a loop body and an inlined call are each
another call of it. What a state does not hold (graph, guards, shape facts) is append-only and has marks, see ``machine``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from types import CodeType
from typing import TYPE_CHECKING, Protocol

from bcjit.records import dataclass, fields, replace
from bcjit.symbolic_vm.values import (
    SymCell,
    SymGenerator,
    SymObject,
    SymValue,
)

if TYPE_CHECKING:
    from bcjit.bytecode import Instruction, Listing
    from bcjit.dims import Dim
    from bcjit.errors import GraphBreak
    from bcjit.fx_graph import Node
    from bcjit.guards import Source
    from bcjit.meta import Meta

__all__ = [
    "BreakExit",
    "Effect",
    "Exit",
    "FallExit",
    "Frame",
    "Position",
    "Region",
    "ReturnExit",
    "State",
    "Turn",
    "TurnEnd",
    "YieldExit",
    "suspended_generators",
]


@dataclass(frozen=True, slots=True)
class Effect:
    """Something that others can see, in program order.

    One with a node is done by the graph: ``write`` (an array), ``draw`` (a random stream). The others are done by residual code on the real objects, in
    this order: ``setattr`` and ``delattr`` (`key` is the name), ``setitem`` and ``delitem`` (`operands` are the key, and the
    value), ``method`` (`key` is the method of a builtin container), ``setcell`` and ``delcell``.
    """

    kind: str
    node: Node | None = None
    owner: SymValue | None = None
    key: object = None
    operands: tuple[SymValue, ...] = ()

    def text(self) -> str:
        """Return the effect in words: ``write x``, ``setattr self.step``, ``append log``."""
        if self.node is not None:
            return f"{self.kind} {self.node.name}"
        source = None if self.owner is None else self.owner.source
        place = "an object made here" if source is None else source.text()
        if self.kind in ("setattr", "delattr"):
            return f"{self.kind} {place}.{self.key}"
        name = getattr(self.key, "__name__", "")
        return f"{name or self.kind} {place}"


@dataclass(frozen=True, slots=True, eq=False)
class State:
    """Everything about a frame that changes from one instruction to the next."""

    index: int  # next virtual instruction of the frame's listing
    stack: tuple[SymValue, ...]
    locals: tuple[SymValue, ...]  # by position in co_varnames; UNBOUND where there is no value
    # By position in co_cellvars + co_freevars; None before MAKE_CELL.
    cells: tuple[SymCell | None, ...]
    # Contents of mutable objects that were made or changed.
    heap: Mapping[int, object] = field(default_factory=dict)
    effects: tuple[Effect, ...] = ()
    blocks: tuple[object, ...] = ()  # protected regions entered (for later: breaks inside them)

    # Written out: these are made for every instruction, and `replace` takes five times as long.

    def with_stack(self, stack: tuple[SymValue, ...]) -> State:
        """Return the state with another stack."""
        return State(
            self.index, stack, self.locals, self.cells, self.heap, self.effects, self.blocks
        )

    def at(self, index: int) -> State:
        """Return the state before another instruction."""
        return State(
            index, self.stack, self.locals, self.cells, self.heap, self.effects, self.blocks
        )

    def push(self, value: SymValue) -> State:
        """Return the state with `value` on top of the stack."""
        return self.with_stack((*self.stack, value))

    def with_heap(self, oid: int, contents: object) -> State:
        """Return the state in which the object `oid` has these contents."""
        return replace(self, heap={**self.heap, oid: contents})


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What stays the same while a frame runs: its code and where its globals are found."""

    listing: Listing
    globals: dict[str, object]
    globals_source: Source
    qualname: str
    inlined: bool

    @property
    def code(self) -> CodeType:
        """The code object that runs."""
        return self.listing.code


@dataclass(frozen=True, slots=True, eq=False)
class Position:
    """A frame and its state at the start of the instruction it is at: one level of a bail-out record."""

    frame: Frame
    state: State


class Turn(Protocol):
    """A turn of a loop that is being traced."""

    stop: frozenset[int]  # where it ends: the loop's head, and the ways out

    def end(self, exit_: Exit) -> TurnEnd:
        """Return the end of one of the ways through the turn."""

    def metas(self) -> list[tuple[Meta, tuple[Dim | None, ...]]]:
        """Return what is known of all that is carried, leaf by leaf."""


@dataclass(frozen=True, slots=True)
class Region:
    """The instructions to run: those of `frame`, up to (not including) the indices in `stop`.

    Of a nested region, a side of a branch or a turn of a loop, a break is no exit: it gives up what the region is part of.
    """

    frame: Frame
    stop: frozenset[int] = frozenset()
    nested: bool = False
    begins_at_stop: bool = False  # the first instruction is one of `stop`, and is run
    turn: Turn | None = None  # that it is part of


@dataclass(frozen=True, slots=True)
class ReturnExit:
    """The frame returns `value`."""

    state: State
    value: SymValue


@dataclass(frozen=True, slots=True)
class BreakExit:
    """The instruction cannot be captured; `state` is that before it."""

    state: State
    instruction: Instruction
    cause: GraphBreak
    # A Python function whose call was given up: it is captured by itself.
    callee: SymValue | None = None


@dataclass(frozen=True, slots=True)
class FallExit:
    """The region's end was reached at `state.index`."""

    state: State


@dataclass(frozen=True, slots=True)
class YieldExit:
    """A generator's frame gives `value`; `state` is that before it goes on, without the value sent."""

    state: State
    value: SymValue


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """A turn of a loop ends, on whatever way: its status and what is carried, as operands; None if the trace is to be made anew."""

    operands: tuple[object, ...] | None


Exit = ReturnExit | BreakExit | FallExit | YieldExit | TurnEnd


def suspended_generators(state: State) -> Iterator[int]:
    """Yield where the generators were made that a state holds and that have not returned."""
    seen: set[int] = set()
    left: list[object] = [state.stack, state.locals, state.cells]
    while left:
        value = left.pop()
        if isinstance(value, tuple):
            left += value
            continue
        if not isinstance(value, SymValue) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, SymGenerator) and state.heap.get(value.oid) is not None:
            yield value.born
        if isinstance(value, SymObject | SymCell):
            left.append(state.heap.get(value.oid, value.initial))
        else:
            left += [getattr(value, field.name) for field in fields(value) if field.name != "obj"]
