"""LLVM's text: values of vectors of elements, and the instructions of one function in order; it knows no scalar function."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.records import dataclass

__all__ = ["Text", "Vector", "element_type", "memory_type"]

DType: TypeAlias = "np.dtype[Any]"

_FLOATS: Final = {2: "half", 4: "float", 8: "double"}
_FLOAT_NAMES: Final = {2: "f16", 4: "f32", 8: "f64"}


def element_type(dtype: DType) -> str:
    """Return the type of an element as it is computed with; a bool is one bit. Of a complex number it is that of a part."""
    if dtype.kind == "b":
        return "i1"
    if dtype.kind == "c":
        return _FLOATS[dtype.itemsize // 2]
    if dtype.kind in "iu":
        return f"i{8 * dtype.itemsize}"
    return _FLOATS[dtype.itemsize]


def memory_type(dtype: DType) -> str:
    """Return the type of an element as it lies in memory."""
    if dtype.kind == "c":
        return f"[2 x {element_type(dtype)}]"
    return "i8" if dtype.kind == "b" else element_type(dtype)


@dataclass(frozen=True, slots=True)
class Vector:
    """A value: the name of a vector of elements of a dtype, what all of them are if that is known, and of a bool whether LLVM can know nothing of it."""

    name: str
    dtype: DType
    value: np.generic | None = None
    unknown: bool = False


class Text:
    """The instructions of one function, and what it declares.

    Attributes
    ----------
    width
        Elements of a vector.
    block
        The label under which instructions are appended.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[str] = []
        self.prologue: list[str] = []  # before all other instructions
        self._opaque: dict[tuple[str, bytes], Vector] = {}
        self.declared: dict[str, None] = {}
        self.block = ""
        self._names = 0

    # Instructions

    def name(self, base: str = "v") -> str:
        """Return a new name."""
        self._names += 1
        return f"%{base}{self._names}"

    def emit(self, line: str) -> None:
        """Append an instruction that gives nothing."""
        self.lines.append(f"  {line}")

    def value(self, text: str) -> str:
        """Append an instruction, return the name of what it gives."""
        name = self.name()
        self.emit(f"{name} = {text}")
        return name

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self.block = name

    # Vectors

    def vector_type(self, element: str) -> str:
        """Return the type of a vector of elements."""
        return f"<{self.width} x {element}>"

    def type_of(self, dtype: DType) -> str:
        """Return the type of a vector of elements of a dtype; of complex numbers it holds the parts by turns."""
        if dtype.kind == "c":
            return f"<{2 * self.width} x {element_type(dtype)}>"
        return self.vector_type(element_type(dtype))

    def _memory_of(self, dtype: DType) -> str:
        """Return the type of a vector of elements as it lies in memory."""
        return self.vector_type("i8") if dtype.kind == "b" else self.type_of(dtype)

    def make(self, dtype: DType, text: str) -> Vector:
        """Append an instruction that gives a vector of a dtype."""
        return Vector(self.value(text), dtype)

    def splat(self, scalar: str, element: str) -> str:
        """Return the vector of one scalar."""
        vector = self.vector_type(element)
        one = self.value(f"insertelement {vector} poison, {element} {scalar}, i64 0")
        zeros = f"<{self.width} x i32> zeroinitializer"
        return self.value(f"shufflevector {vector} {one}, {vector} poison, {zeros}")

    def constant(self, value: np.generic) -> Vector:
        """Return the vector of a constant."""
        element = element_type(value.dtype)
        text = scalar_text(value)
        return Vector(f"<{', '.join([f'{element} {text}'] * self.width)}>", value.dtype, value)

    def opaque(self, value: np.generic) -> Vector:
        """Return the vector of a constant that LLVM does not know, made once.

        What it knows it computes with by rules that hold for numbers, but not for the signs of NaN: ``x * -1`` would become ``-x``. And what a
        bool decides against is left out, with the flags that it would raise.
        """
        key = value.dtype.char, value.tobytes()
        if key not in self._opaque:
            body, self.lines = self.lines, self.prologue
            memory = memory_type(value.dtype)
            place = self.value(f"alloca {memory}")
            self.emit(f"store volatile {memory} {scalar_text(value)}, ptr {place}")
            scalar = self.value(f"load volatile {memory}, ptr {place}")
            if value.dtype.kind == "b":
                scalar = self.value(f"icmp ne {memory} {scalar}, 0")
            element = element_type(value.dtype)
            self._opaque[key] = Vector(self.splat(scalar, element), value.dtype, unknown=True)
            self.lines = body
        return self._opaque[key]

    def complex_constant(self, value: np.generic) -> Vector:
        """Return the vector of a complex constant, of which LLVM knows nothing either."""
        real, imaginary = (self.opaque(part).name for part in (value.real, value.imag))
        return self._by_turns(real, imaginary, value.dtype)

    def complex_splat(self, place: str, dtype: DType) -> Vector:
        """Return the vector of the complex number at a place."""
        part, size = element_type(dtype), dtype.itemsize // 2
        behind = self.value(f"getelementptr i8, ptr {place}, i64 {size}")
        parts = [self.value(f"load {part}, ptr {at}, align {size}") for at in (place, behind)]
        real, imaginary = (self.splat(one, part) for one in parts)
        return self._by_turns(real, imaginary, dtype)

    def _by_turns(self, real: str, imaginary: str, dtype: DType) -> Vector:
        kind = self.vector_type(element_type(dtype))
        places = ", ".join(f"i32 {at}" for i in range(self.width) for at in (i, self.width + i))
        mask = f"<{2 * self.width} x i32> <{places}>"
        return self.make(dtype, f"shufflevector {kind} {real}, {kind} {imaginary}, {mask}")

    def load(self, pointer: str, dtype: DType) -> Vector:
        """Load a vector of elements that lie side by side."""
        memory = self._memory_of(dtype)
        loaded = self.value(f"load {memory}, ptr {pointer}, align {_alignment(dtype)}")
        if dtype.kind != "b":
            return Vector(loaded, dtype)
        name = self.value(f"icmp ne {memory} {loaded}, zeroinitializer")
        return Vector(name, dtype, unknown=True)

    def store(self, vector: Vector, pointer: str) -> None:
        """Store a vector."""
        memory = self._memory_of(vector.dtype)
        name = vector.name
        if vector.dtype.kind == "b":
            name = self.value(f"zext {self.vector_type('i1')} {name} to {memory}")
        self.emit(f"store {memory} {name}, ptr {pointer}, align {_alignment(vector.dtype)}")

    def whole(self, value: Vector, dtype: DType) -> Vector:
        """Convert floats to integers, with the flag of what is out of range, also where nothing needs the result."""
        kind, target = self.type_of(value.dtype), self.type_of(dtype)
        opcode = "fptosi" if dtype.kind == "i" else "fptoui"
        float_name = _FLOAT_NAMES[value.dtype.itemsize]
        name = f"llvm.experimental.constrained.{opcode}.v{self.width}{element_type(dtype)}.v{self.width}{float_name}"
        given = [(kind, value.name), ("metadata", '!"fpexcept.strict"')]
        return Vector(self.call(name, target, given), dtype)

    def compared(self, predicate: str, one: Vector, other: Vector) -> Vector:
        """Compare floats, without the flag of NaN, and also where nothing needs the result: what is compared has flags."""
        kind = self.type_of(one.dtype)
        given = [(kind, one.name), (kind, other.name)]
        given += [("metadata", f'!"{predicate}"'), ("metadata", '!"fpexcept.strict"')]
        float_name = _FLOAT_NAMES[one.dtype.itemsize]
        name = f"llvm.experimental.constrained.fcmp.v{self.width}{float_name}"
        made = self.call(name, self.vector_type("i1"), given)
        return Vector(made, np.dtype(bool), unknown=True)

    def fence(self, value: Vector) -> Vector:
        """Return floats of which LLVM knows no more than that they are computed, as what they are and in all elements.

        Of what it knows it computes with constants itself, and raises no flag; instructions with masks raise none for elements that are left out.
        """
        kind = self.type_of(value.dtype)
        name = f"llvm.arithmetic.fence.v{self.width}{_FLOAT_NAMES[value.dtype.itemsize]}"
        return Vector(self.call(name, kind, [(kind, value.name)]), value.dtype)

    def undecided(self, condition: Vector) -> Vector:
        """Return a condition of which LLVM cannot know that it always holds, or never: it would leave out what is not chosen, and its flags."""
        if condition.unknown:
            return condition
        never = self.opaque(np.False_)
        made = self.value(f"xor {self.vector_type('i1')} {condition.name}, {never.name}")
        return Vector(made, condition.dtype, unknown=True)

    def call(self, function: str, result: str, operands: Iterable[tuple[str, str]]) -> str:
        """Call a function, which is declared; operands are types and names."""
        operands = tuple(operands)
        types = ", ".join(kind for kind, _ in operands)
        self.declared[f"declare {result} @{function}({types})"] = None
        given = ", ".join(f"{kind} {name}" for kind, name in operands)
        return self.value(f"call {result} @{function}({given})")


def _alignment(dtype: DType) -> int:
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def scalar_text(value: np.generic) -> str:
    """Return a constant as LLVM writes it: floats by their bits."""
    dtype = value.dtype
    if dtype.kind == "b":
        return "1" if value else "0"
    if dtype.kind in "iu":
        return str(int(value))
    if dtype.itemsize == 2:
        return f"0xH{int(value.view(np.uint16)):04X}"
    # A float32 is written as the double of the same value; NaN keep their bits.
    bits = struct.unpack("<Q", struct.pack("<d", float(value)))[0]
    if dtype.itemsize == 4 and np.isnan(value):
        own = int(value.view(np.uint32))
        bits = (own >> 31) << 63 | 0x7FF << 52 | (own & 0x7FFFFF) << 29
    return f"0x{bits:016X}"
