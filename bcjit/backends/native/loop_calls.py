"""Calls of NumPy's inner loops: over a block, or over a vector with an operand that is not usual for polynomials (``fast_rules`` says which are)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from bcjit.backends.native.lanes import Lanes, select
from bcjit.backends.native.rules import X86

if TYPE_CHECKING:
    from bcjit.backends.native.fast_rules import Fast
    from bcjit.backends.native.scalars import Apply
    from bcjit.backends.native.text import Text, Vector

__all__ = ["LoopCalls"]

# What LLVM lays out the code by, and keeps values in registers for.
_WEIGHTS: Final = '!0 = !{!"branch_weights", i32 1, i32 100000}'


class LoopCalls:
    """What a function needs to call loops: made where it begins.

    Parameters
    ----------
    t
        Where instructions go.
    calls
        The items of which the function is handed the loops, in that order.
    vectors
        Whether single vectors are computed by loops.
    """

    def __init__(self, t: Text, calls: Sequence[Apply], *, vectors: bool) -> None:
        self.t, self.calls = t, calls
        self.pointers = t.value("alloca [8 x ptr]")
        self.steps = t.value("alloca [8 x i64]")
        self.state = t.value("alloca i32")
        self.count = self._count("%n")
        if vectors:  # of two operands and a result
            self.places = [t.value(f"alloca [{8 * t.width} x i8], align 64") for _ in range(3)]
            self.one = self._count(str(t.width))

    def _count(self, number: str) -> str:
        place = self.t.value("alloca i64")
        self.t.emit(f"store i64 {number}, ptr {place}")
        return place

    def call(self, item: Apply, places: Sequence[tuple[str, int]], count: str) -> None:
        """Call an item's loop on elements at these places, so many bytes apart."""
        t = self.t
        index = self.calls.index(item)
        for place, (pointer, step) in enumerate(places):
            at = t.value(f"getelementptr ptr, ptr {self.pointers}, i64 {place}")
            t.emit(f"store ptr {pointer}, ptr {at}")
            at = t.value(f"getelementptr i64, ptr {self.steps}, i64 {place}")
            t.emit(f"store i64 {step}, ptr {at}")
        loop, data = (
            t.value(f"load ptr, ptr {t.value(f'getelementptr ptr, ptr %loops, i64 {at}')}")
            for at in (2 * index, 2 * index + 1)
        )
        before = self._flags() if X86 else ""
        t.emit(f"call void {loop}(ptr {self.pointers}, ptr {count}, ptr {self.steps}, ptr {data})")
        if X86:
            self._raise_again(before)

    def _flags(self) -> str:
        """Return the processor's state, of which the flags are part."""
        t = self.t
        t.declared["declare void @llvm.x86.sse.stmxcsr(ptr)"] = None
        t.emit(f"call void @llvm.x86.sse.stmxcsr(ptr {self.state})")
        return t.value(f"load i32, ptr {self.state}")

    def _raise_again(self, before: str) -> None:
        """Raise the flags again that were up before a loop: some of NumPy's clear all that are, not only their own."""
        t, now = self.t, self._flags()
        raised = t.value(f"and i32 {before}, 63")
        both = t.value(f"or i32 {now}, {raised}")
        lost = t.value(f"icmp ne i32 {both}, {now}")
        name = t.name("l")[1:]
        t.emit(f"br i1 {lost}, label %{name}lost, label %{name}kept")
        t.label(f"{name}lost")
        t.declared["declare void @llvm.x86.sse.ldmxcsr(ptr)"] = None
        t.emit(f"store i32 {both}, ptr {self.state}")
        t.emit(f"call void @llvm.x86.sse.ldmxcsr(ptr {self.state})")
        t.emit(f"br label %{name}kept")
        t.label(f"{name}kept")

    def fast(self, item: Apply, fast: Fast, operands: Sequence[Vector]) -> Vector:
        """Compute a vector of an item by polynomials, and unusual elements by its loop.

        The other elements of the vector are polynomials nevertheless: what an element is must not depend on what stands beside it.
        """
        t = self.t
        lanes = [Lanes(t, one) for one in operands]
        if fast.unusual is None:
            return fast.value(*lanes).vector
        condition = fast.unusual(*lanes)
        bits = t.value(f"bitcast {t.vector_type('i1')} {condition.vector.name} to i{t.width}")
        some = t.value(f"icmp ne i{t.width} {bits}, 0")
        t.declared[_WEIGHTS] = None
        name, before = t.name("f")[1:], t.block
        t.emit(f"br i1 {some}, label %{name}rare, label %{name}, !prof !0")
        t.label(f"{name}rare")
        slow = self._vector(item, operands)
        harmless = [select(condition, one.like(1.0), one).vector for one in lanes]
        rare_end = t.block
        t.emit(f"br label %{name}")
        t.label(name)
        kind = t.type_of(item.dtype)

        def either(rare: Vector, usual: Vector) -> Lanes:
            phi = f"phi {kind} [{rare.name}, %{rare_end}], [{usual.name}, %{before}]"
            return Lanes(t, t.make(item.dtype, phi))

        given = list(map(either, harmless, operands))
        return select(condition, either(slow, operands[0]), fast.value(*given)).vector

    def _vector(self, item: Apply, operands: Sequence[Vector]) -> Vector:
        places = [*self.places[: len(operands)], self.places[-1]]
        for operand, place in zip(operands, places, strict=False):
            self.t.store(operand, place)
        steps = [dtype.itemsize for dtype in item.dtypes]
        self.call(item, list(zip(places, steps, strict=True)), self.one)
        return self.t.load(places[-1], item.dtype)
