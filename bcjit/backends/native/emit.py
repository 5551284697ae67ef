"""A program as the text of one LLVM function; it compiles nothing.

``void kernel(ptr data, ptr scalars, ptr loops, i64 n, ptr scratch)``: at least one vector of elements, at most a block where
there is scratch. The last vector ends with the last element and overlaps the one before it: what is computed twice is the same.

Functions without a rule are NumPy's inner loops over the whole block. They cut the program into stages: a stage is one loop over
vectors, then the calls whose operands are ready. What a later stage or a call needs lies in scratch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.backends.native.fast import fast_of
from bcjit.backends.native.gathers import load_table
from bcjit.backends.native.loop_calls import LoopCalls
from bcjit.backends.native.program import Program
from bcjit.backends.native.rules import Rule, rule_of
from bcjit.backends.native.scalars import Apply, Constant, Element, Item, Number, Table
from bcjit.backends.native.text import Text, Vector, element_type, memory_type, scalar_text
from bcjit.records import dataclass

__all__ = ["Emitted", "emit"]

DType: TypeAlias = "np.dtype[Any]"

# As bcjit/csrc/kernel.h has it.
_SCALAR_SIZE: Final = 16
# All that a block touches should fit a small first-level cache.
_CACHE: Final = 32 << 10
_LONGEST, _SHORTEST = 1024, 128
# A loop of fewer functions does two vectors a turn.
_SMALL: Final = 8
# More elements than any array has: no scratch, so no blocks.
_NO_BLOCKS: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Emitted:
    """The text of a kernel, and what its caller must know."""

    text: str
    width: int
    block: int
    scratch: int  # bytes


def emit(program: Program, vector_bytes: int, attributes: str = "") -> Emitted:
    """Return the text of a program.

    Parameters
    ----------
    program
        What to compute.
    vector_bytes
        Of the target's vectors.
    attributes
        Of the function.
    """
    return _Emitter(program, vector_bytes).run(attributes)


class _Emitter:
    def __init__(self, program: Program, vector_bytes: int) -> None:
        self.program = program
        self.items = program.items
        self.by_loop = program.by_loop
        self.calls = program.calls
        self.stage = _stages(self.items)
        self.in_blocks = bool(self.by_loop) or any(self.stage.values())
        self.results = {item: i for i, item in enumerate(program.results)}
        widest = max((_width(item) for item in self.items if self._in_vectors(item)), default=8)
        self.width = max(vector_bytes // widest, 1)
        self.t = Text(self.width)
        self.buffers: dict[Item, int] = {}  # places in scratch, in blocks of 16 bytes an element
        self.block = _NO_BLOCKS
        self.splats: dict[Item, Vector] = {}
        self.slots: dict[Item, str] = {}  # where a number lies that a loop reads

    def _in_vectors(self, item: Item) -> bool:
        """Whether an item is computed with or made in vectors, not only by loops."""
        if item.dtype.kind != "c":
            return True
        users = [one for one in self.items if isinstance(one, Apply) and item in one.operands]
        made = isinstance(item, Apply) and not _is_loop(item)
        return made or not all(map(_is_loop, users))

    # Planning

    def _needs_memory(self, item: Item) -> bool:
        """Whether the elements of an item must lie somewhere: a loop gives or reads them, or a later stage."""
        if not isinstance(item, Apply):
            return False
        if _is_loop(item):
            return True
        return any(
            item in user.operands and (_is_loop(user) or self.stage[user] > self.stage[item])
            for user in self.items
            if isinstance(user, Apply)
        )

    def _plan(self) -> None:
        if not self.in_blocks:
            return
        touched = sum(dtype.itemsize for dtype in self.program.operands)
        touched += sum(item.dtype.itemsize for item in self.program.results)
        # A result's buffer is its own memory.
        inner = [one for one in self.items if self._needs_memory(one) and one not in self.results]
        last = self._last_uses()
        free: list[int] = []
        alive: list[tuple[int, int]] = []  # (until, place)
        places = 0
        for item in sorted(inner, key=lambda one: (self.stage[one], _is_loop(one))):
            moment = self._moment(item)
            for until, place in tuple(alive):
                if until < moment:
                    alive.remove((until, place))
                    free.append(place)
            if free:
                place = free.pop()
            else:
                place, places = places, places + 1
            self.buffers[item] = place
            alive.append((last[item], place))
        size = max((item.dtype.itemsize for item in inner), default=8)
        self.size = size
        touched += places * size
        fitting = _CACHE // max(touched, 1)
        self.block = max(min(fitting, _LONGEST), _SHORTEST, self.width)
        self.block -= self.block % max(self.width, 16)
        self.block = max(self.block, self.width)
        self.scratch = places * size * self.block

    def _moment(self, item: Item) -> int:
        """Return when an item is made: stages are even, the calls behind them odd, one by one."""
        calls = self.by_loop
        base = self.stage[item] * (len(calls) + 2)
        return base + 1 + calls.index(item) if _is_loop(item) and isinstance(item, Apply) else base

    def _last_uses(self) -> dict[Item, int]:
        found: dict[Item, int] = {}
        for item in self.items:
            found[item] = max(
                (
                    self._moment(user)
                    for user in self.items
                    if isinstance(user, Apply) and item in user.operands
                ),
                default=self._moment(item),
            )
        return found

    # Text

    def run(self, attributes: str) -> Emitted:
        self.size = self.scratch = 0
        self._plan()
        t = self.t
        n_data = len(self.program.operands) + len(self.program.results)
        self.data = []
        for i in range(n_data):
            place = t.value(f"getelementptr ptr, ptr %data, i64 {i}")
            self.data.append(t.value(f"load ptr, ptr {place}"))
        self.end = t.value(f"sub i64 %n, {self.width}")
        if self.calls:
            vectors = len(self.calls) > len(self.by_loop)
            self.loops = LoopCalls(t, self.calls, vectors=vectors)
        for item in self.items:
            if isinstance(item, Number | Constant):
                self._number(item)
            elif isinstance(item, Table):
                self.splats[item] = load_table(t, item)
        self.label = "entry"
        for stage in range(max(self.stage.values(), default=0) + 1):
            self._stage(stage)
            for item in self.by_loop:
                if self.stage[item] == stage:
                    self._call(item)
        t.emit("ret void")
        return Emitted(self._function(attributes), self.width, self.block, self.scratch)

    def _function(self, attributes: str) -> str:
        head = (
            "define void @kernel(ptr noalias %data, ptr %scalars, ptr %loops, i64 %n, ptr %scratch)"
        )
        declared = "\n".join(self.t.declared)
        body = "\n".join(("entry:", *self.t.prologue, *self.t.lines))
        return f"{declared}\n{head} {attributes} {{\n{body}\n}}\n"

    def _number(self, item: Number | Constant) -> None:
        """Have a number in all elements of a vector, and where a loop reads it."""
        t = self.t
        read = any(
            _is_loop(user) and item in user.operands
            for user in self.items
            if isinstance(user, Apply)
        )
        if isinstance(item, Number):
            place = t.value(f"getelementptr i8, ptr %scalars, i64 {item.slot * _SCALAR_SIZE}")
            self.slots[item] = place
            if self._in_vectors(item) and item.dtype.kind == "c":
                self.splats[item] = t.complex_splat(place, item.dtype)
            elif self._in_vectors(item):
                memory = memory_type(item.dtype)
                scalar = t.value(f"load {memory}, ptr {place}")
                if item.dtype.kind == "b":
                    scalar = t.value(f"icmp ne i8 {scalar}, 0")
                self.splats[item] = Vector(t.splat(scalar, element_type(item.dtype)), item.dtype)
            return
        if self._in_vectors(item):
            made = {"f": t.opaque, "b": t.opaque, "c": t.complex_constant}.get(
                item.dtype.kind, t.constant
            )
            self.splats[item] = made(item.value)
        if read:
            place = self.slots[item] = t.value(f"alloca [{item.dtype.itemsize} x i8], align 16")
            if item.dtype.kind != "c":
                text = scalar_text(item.value)
                t.emit(f"store {memory_type(item.dtype)} {text}, ptr {place}")
                return
            for offset, byte in enumerate(item.value.tobytes()):
                at = t.value(f"getelementptr i8, ptr {place}, i64 {offset}")
                t.emit(f"store i8 {byte}, ptr {at}")

    def _memory(self, item: Item) -> str:
        """Return the pointer to the first of an item's elements."""
        if isinstance(item, Element):
            return self.data[item.operand]
        if item in self.results:
            return self.data[len(self.program.operands) + self.results[item]]
        offset = self.buffers[item] * self.size * self.block
        return self.t.value(f"getelementptr i8, ptr %scratch, i64 {offset}")

    def _at(self, item: Item) -> str:
        return self.t.value(
            f"getelementptr {memory_type(item.dtype)}, ptr {self._memory(item)}, i64 {self.index}"
        )

    def _stage(self, number: int) -> None:
        """One loop over vectors: what is computed in a stage and needed behind it, and results that are there already."""
        stored = [
            item
            for item in self.items
            if isinstance(item, Apply)
            and not _is_loop(item)
            and self.stage[item] == number
            and (item in self.results or self._needs_memory(item))
        ]
        if not stored:
            return
        if not self.in_blocks:
            self._whole(stored)
            return
        t = self.t
        t.emit(f"br label %stage{number}")
        t.label(f"stage{number}")
        begin = len(t.lines)
        self._body(stored, number, f"%i{number}")
        self._at_most_end(f"%next{number}", t.value(f"add i64 %i{number}, {self.width}"))
        more = t.value(f"icmp slt i64 %i{number}, {self.end}")
        t.emit(f"br i1 {more}, label %stage{number}, label %behind{number}")
        before = f"[0, %{self.label}], [%next{number}, %{t.block}]"
        t.lines.insert(begin, f"  %i{number} = phi i64 {before}")
        t.label(f"behind{number}")
        self.label = f"behind{number}"

    def _body(self, stored: Sequence[Item], number: int, index: str) -> None:
        """Compute one vector of each of these items, from an index on."""
        self.index = index
        self.here: dict[Item, Vector] = {}
        for item in stored:
            self.t.store(self._vector(item, number), self._at(item))

    def _whole(self, stored: Sequence[Item]) -> None:
        """The only stage, over all elements. The first vector is followed by one that begins a line of the cache; small bodies are done twice a turn."""
        t, width = self.t, self.width
        first = max(stored, key=lambda item: item.dtype.itemsize)
        size = first.dtype.itemsize
        address = t.value(f"ptrtoint ptr {self._memory(first)} to i64")
        beyond = t.value(f"and i64 {address}, {width * size - 1}")
        missing = t.value(f"sub i64 {width * size}, {beyond}")
        t.emit(f"%first = lshr i64 {missing}, {size.bit_length() - 1}")
        applied = sum(isinstance(item, Apply) for item in self.items)
        branches = bool(self.calls) or any(isinstance(item, Table) for item in self.items)
        twice = applied <= _SMALL and not branches
        t.emit("br label %vector")
        t.label("vector")
        begin = len(t.lines)
        self._body(stored, 0, "%i")
        self._at_most_end("%next", t.value("add i64 %i, %step"))
        goes_on = t.value(f"icmp slt i64 %i, {self.end}")
        back = (("%next", "more"), ("%left", "rest")) if twice else (("%next", t.block),)
        t.emit(f"br i1 {goes_on}, label %{back[0][1] if twice else 'vector'}, label %behind")
        steps, at = (f", [{width}, %{at}]" for _, at in back), (f", [{i}, %{at}]" for i, at in back)
        t.lines[begin:begin] = [
            f"  %i = phi i64 [0, %entry]{''.join(at)}",
            f"  %step = phi i64 [%first, %entry]{''.join(steps)}",
        ]
        if twice:
            t.label("more")
            room = t.value(f"sub i64 %n, {2 * width}")
            fits = t.value(f"icmp sle i64 %next, {room}")
            t.emit(f"br i1 {fits}, label %wide, label %vector")
            t.label("wide")
            t.emit("%j = phi i64 [%next, %more], [%later, %wide]")
            self._body(stored, 0, "%j")
            self._body(stored, 0, t.value(f"add i64 %j, {width}"))
            t.emit(f"%later = add i64 %j, {2 * width}")
            fits = t.value(f"icmp sle i64 %later, {room}")
            t.emit(f"br i1 {fits}, label %wide, label %rest")
            t.label("rest")
            self._at_most_end("%left", "%later")
            done = t.value("icmp sge i64 %later, %n")
            t.emit(f"br i1 {done}, label %behind, label %vector")
        t.label("behind")

    def _at_most_end(self, name: str, index: str) -> None:
        """Name an index, or that of the last vector where it is beyond."""
        beyond = self.t.value(f"icmp sgt i64 {index}, {self.end}")
        self.t.emit(f"{name} = select i1 {beyond}, i64 {self.end}, i64 {index}")

    def _vector(self, item: Item, stage: int) -> Vector:
        """Return the present vector of an item."""
        if item in self.splats:
            return self.splats[item]
        if item not in self.here:
            made_here = isinstance(item, Apply) and not _is_loop(item) and self.stage[item] == stage
            if not made_here:
                self.here[item] = self.t.load(self._at(item), item.dtype)
            else:
                assert isinstance(item, Apply)
                for operand in item.operands:
                    self._vector(operand, stage)
                rule = _rule(item)
                assert rule is not None
                operands = [self._vector(operand, stage) for operand in item.operands]
                fast = fast_of(item.function)
                if fast is None:
                    self.here[item] = rule(self.t, operands, item.dtypes)
                else:
                    self.here[item] = self.loops.fast(item, fast, operands)
        return self.here[item]

    def _call(self, item: Apply) -> None:
        """Call NumPy's inner loop over the whole block."""
        places = []
        for operand in (*item.operands, item):
            repeated = isinstance(operand, Number | Constant)
            pointer = self.slots[operand] if repeated else self._memory(operand)
            places.append((pointer, 0 if repeated else operand.dtype.itemsize))
        self.loops.call(item, places, self.loops.count)
        self.label = self.t.block


def _stages(items: Sequence[Item]) -> dict[Item, int]:
    """Return in which stage each item is computed; what a loop gives is there from the next stage on.

    One polynomial over another is a stage of its own: a processor looks ahead so far only, and several elements at a time are faster than one.
    """
    found: dict[Item, int] = {}
    over: set[Item] = set()  # what is made of polynomials of the same stage
    for item in items:
        stage = 0
        operands = item.operands if isinstance(item, Apply) else ()
        for operand in operands:
            later = _is_loop(operand) and not _is_loop(item)
            later |= operand in over and _is_fast(item)
            stage = max(stage, found[operand] + later)
        found[item] = stage
        if _is_fast(item) or any(one in over and found[one] == stage for one in operands):
            over.add(item)
    return found


def _rule(item: Apply) -> Rule | None:
    return rule_of(item.function, item.dtypes)


def _is_loop(item: Item) -> bool:
    return isinstance(item, Apply) and _rule(item) is None


def _is_fast(item: Item) -> bool:
    return isinstance(item, Apply) and fast_of(item.function) is not None


def _width(item: Item) -> int:
    return item.dtype.itemsize
