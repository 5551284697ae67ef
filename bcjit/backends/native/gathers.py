"""Reads at computed places, ``table[i]``, ``table[i, j]`` and ``np.take(table, i)``, as functions of scalars: how they are found, and their rule.

An index out of bounds raises the invalid flag of the processor, so that NumPy does it all again and says so. See
``docs/design/0031-native-gathers-and-masks.md``.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.backends.native.scalars import Apply, Item, Leaf, Table
from bcjit.backends.native.text import Text, Vector, element_type, memory_type
from bcjit.backends.native.tracing import NotElementwise, Tracer, _Traced, expanded
from bcjit.dims import Undecidable
from bcjit.fx_graph import Node, NodeKind
from bcjit.meta import ArrayMeta
from bcjit.ops import OpDef, OpFailure
from bcjit.ops.emitter import Permute, Reshape, Value, ViewMap
from bcjit.ops.operands import INTP
from bcjit.ops.scalar_functions import ScalarFunction

__all__ = ["GATHER", "READS", "gather_rule", "gathered", "load_table", "table_of"]

DType: TypeAlias = "np.dtype[Any]"

GATHER: Final = ScalarFunction("gather", None, "")

# As bcjit/csrc/kernel.h has them: where the tables lie behind the numbers, each an address, then (size, stride) of its axes.
_SLOTS, _TABLE_SLOTS, _SLOT_SIZE = 32, 4, 16
_MOST_AXES: Final = _TABLE_SLOTS - 1
# What may read so.
READS: Final = frozenset({operator.getitem, np.take, np.ndarray.take})
_KINDS: Final = "biufc"


def gathered(node: Node) -> Item | None:
    """Return how an element of what is read at index arrays is found; None where a call does something else, or more than a kernel can."""
    if not _may_be(node):
        return None
    meta = node.meta[0]
    assert isinstance(meta, ArrayMeta)
    try:
        result = expanded(node, _GatherTracer(meta.shape))
    except (NotElementwise, OpFailure, Undecidable):
        return None
    item = result.item if isinstance(result, _Traced) else None
    return item if isinstance(item, Apply) and item.function is GATHER else None


def table_of(item: Item) -> Node | None:
    """Return the array that a call reads at computed places."""
    table = item.operands[0] if isinstance(item, Apply) and item.operands else None
    return table.source if isinstance(table, Table) and isinstance(table.source, Node) else None


def _may_be(node: Node) -> bool:
    if node.kind is not NodeKind.CALL or node.has_effect or node.multi or len(node.meta) != 1:
        return False
    if not isinstance(node.op, OpDef) or node.alias != "fresh" or len(node.args) < 2:
        return False
    meta = node.meta[0]
    if not isinstance(meta, ArrayMeta) or meta.is_scalar or not meta.shape:
        return False
    indices = node.args[1] if isinstance(node.args[1], tuple) else (node.args[1],)
    axes = [_axes(index) for index in indices]
    if node.target is operator.getitem:
        return all(axes)
    # What np.take gives lies in C order, however its indices do.
    return (
        node.target in (np.take, np.ndarray.take) and axes == [1] and node.kwargs.keys() <= {"axis"}
    )


def _axes(index: object) -> int:
    """Return how many axes an index array has, 0 for all else."""
    meta = index.meta[0] if isinstance(index, Node) and len(index.meta) == 1 else None
    if not isinstance(meta, ArrayMeta) or meta.is_scalar or meta.dtype.kind not in "iu":
        return 0
    return len(meta.shape)


class _GatherTracer(Tracer):
    """Knows reads at index arrays for all axes."""

    def view(self, value: Value, how: ViewMap) -> Value:
        """See `Emitter.view`: of one axis, it is the same."""
        if isinstance(how, Reshape | Permute) and len(value.shape) == 1:
            if isinstance(how, Reshape) and len(how.shape) != 1:
                raise NotElementwise
            return value
        return super().view(value, how)

    def gather(self, value: Value, indices: tuple[Value, ...]) -> Value:
        """See `Emitter.gather`."""
        table = value.item if isinstance(value, _Traced) else None
        if not isinstance(table, Leaf) or len(indices) != len(value.shape):
            raise NotElementwise
        if len(indices) > _MOST_AXES or any(index.dtype.kind not in "iu" for index in indices):
            raise NotElementwise
        dtype = table.dtype
        if dtype.kind not in _KINDS or dtype.char in "gG" or not dtype.isnative:
            raise NotElementwise
        places = tuple(self.converted(index, INTP) for index in indices)
        read = Table(table.source, dtype, len(indices))
        dtypes = (dtype, *(INTP,) * len(places), dtype)
        return _Traced(self.shape, dtype, item=Apply(GATHER, dtypes, (read, *places)))


# Text


def load_table(t: Text, table: Table) -> Vector:
    """Load where a table lies, and return what stands for it: its name, to which those of its sizes and strides are added."""
    assert isinstance(table.source, int)
    name = f"%table{table.source}"
    slot = _SLOTS + _TABLE_SLOTS * table.source

    def at(offset: int) -> str:
        return t.value(f"getelementptr i8, ptr %scalars, i64 {offset}")

    t.emit(f"{name} = load ptr, ptr {at(slot * _SLOT_SIZE)}")
    kind = t.vector_type("i64")
    for axis in range(table.axes):
        for k, what in enumerate(("size", "stride")):
            scalar = t.value(f"load i64, ptr {at((slot + 1 + axis) * _SLOT_SIZE + 8 * k)}")
            one = t.value(f"insertelement {kind} poison, i64 {scalar}, i64 0")
            zeros = f"<{t.width} x i32> zeroinitializer"
            t.emit(f"{name}.{what}{axis} = shufflevector {kind} {one}, {kind} poison, {zeros}")
    return Vector(name, table.dtype)


def gather_rule(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    """Return the elements of a table at these places; see `rules`."""
    table, dtype, kind = operands[0].name, dtypes[-1], t.vector_type("i64")
    inside, offset = "", ""
    for axis, index in enumerate(operands[1:]):
        size = f"{table}.size{axis}"
        below = t.value(f"icmp slt {kind} {index.name}, zeroinitializer")
        turned = t.value(f"add {kind} {index.name}, {size}")
        flags = t.vector_type("i1")
        place = t.value(f"select {flags} {below}, {kind} {turned}, {kind} {index.name}")
        here = t.value(f"icmp ult {kind} {place}, {size}")
        step = t.value(f"mul {kind} {place}, {table}.stride{axis}")
        inside = t.value(f"and {flags} {inside}, {here}") if axis else here
        offset = t.value(f"add {kind} {offset}, {step}") if axis else step
    _raise_unless(t, inside)
    places = t.value(f"getelementptr i8, ptr {table}, {kind} {offset}")
    if dtype.kind == "c" and dtype.itemsize == 16:
        return _pairs(t, table, offset, inside, dtype)
    if dtype.kind == "c":
        found = _masked(t, places, inside, "i64", "i64", dtype.itemsize // 2)
        return t.make(dtype, f"bitcast {kind} {found} to {t.type_of(dtype)}")
    if dtype.itemsize < 4:
        return _narrow(t, places, inside, dtype)
    memory = memory_type(dtype)
    suffix = {"float": "f32", "double": "f64"}.get(memory, memory)
    return Vector(_masked(t, places, inside, memory, suffix, dtype.itemsize), dtype)


def _masked(t: Text, places: str, inside: str, element: str, suffix: str, alignment: int) -> str:
    kind = t.vector_type(element)
    given = [
        (t.vector_type("ptr"), places), ("i32", str(alignment)), (t.vector_type("i1"), inside),
        (kind, "zeroinitializer"),
    ]  # fmt: skip
    return t.call(f"llvm.masked.gather.v{t.width}{suffix}.v{t.width}p0", kind, given)


def _narrow(t: Text, places: str, inside: str, dtype: DType) -> Vector:
    """Return elements of one or two bytes, each out of the word that it lies in: no instruction gathers less. A word is never on two pages."""
    size, longs = dtype.itemsize, t.vector_type("i64")
    address = t.value(f"ptrtoint {t.vector_type('ptr')} {places} to {longs}")
    low = t.value(f"and {longs} {address}, {t.constant(np.int64(3)).name}")
    back = t.value(f"sub {longs} zeroinitializer, {low}")
    words = t.value(f"getelementptr i8, {t.vector_type('ptr')} {places}, {longs} {back}")
    found = _masked(t, words, inside, "i32", "i32", 4)
    if sys.byteorder == "big":
        low = t.value(f"xor {longs} {low}, {t.constant(np.int64(4 - size)).name}")
    bits = t.value(f"shl {longs} {low}, {t.constant(np.int64(3)).name}")
    shift = t.value(f"trunc {longs} {bits} to {t.vector_type('i32')}")
    moved = t.value(f"lshr {t.vector_type('i32')} {found}, {shift}")
    kind = t.vector_type(f"i{8 * size}")
    narrow = t.value(f"trunc {t.vector_type('i32')} {moved} to {kind}")
    if dtype.kind == "b":
        return t.make(dtype, f"icmp ne {kind} {narrow}, zeroinitializer")
    if dtype.kind == "f":
        return t.make(dtype, f"bitcast {kind} {narrow} to {t.vector_type(element_type(dtype))}")
    return Vector(narrow, dtype)


def _pairs(t: Text, table: str, offset: str, inside: str, dtype: DType) -> Vector:
    """Return complex numbers, each loaded alone: two instructions that gather the parts take longer. No table is empty."""
    longs, pair, part = t.vector_type("i64"), "<2 x double>", "double"
    safe = t.value(
        f"select {t.vector_type('i1')} {inside}, {longs} {offset}, {longs} zeroinitializer"
    )
    found = []
    for lane in range(t.width):
        at = t.value(f"extractelement {longs} {safe}, i64 {lane}")
        place = t.value(f"getelementptr i8, ptr {table}, i64 {at}")
        found.append(t.value(f"load {pair}, ptr {place}, align 8"))
    size = 2
    while len(found) > 1:  # as many vectors as a power of two
        kind, size = f"<{size} x {part}>", 2 * size
        places = ", ".join(f"i32 {i}" for i in range(size))
        found = [
            t.value(f"shufflevector {kind} {one}, {kind} {other}, <{size} x i32> <{places}>")
            for one, other in zip(found[::2], found[1::2], strict=True)
        ]
    return Vector(found[0], dtype)


def _raise_unless(t: Text, inside: str) -> None:
    """Raise the invalid flag where not all lanes are true: by the quotient of zero and zero, of which LLVM knows that it has a meaning."""
    lanes = t.value(f"bitcast {t.vector_type('i1')} {inside} to i{t.width}")
    all_inside = t.value(f"icmp eq i{t.width} {lanes}, -1")
    name = t.name("g")[1:]
    t.emit(f"br i1 {all_inside}, label %{name}, label %{name}beyond")
    t.label(f"{name}beyond")
    given = [("double", "0x0000000000000000")] * 2
    given += [("metadata", '!"round.tonearest"'), ("metadata", '!"fpexcept.strict"')]
    t.call("llvm.experimental.constrained.fdiv.f64", "double", given)
    t.emit(f"br label %{name}")
    t.label(name)
