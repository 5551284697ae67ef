"""What a kernel is called with, and what its code makes of that; it makes no code and calls nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import numpy as np

from bcjit.backends.native.scalars import Element, Item, Leaf, Number, Table
from bcjit.backends.native.views import Picked, View
from bcjit.fx_graph import Graph, Node
from bcjit.meta import ArrayMeta

if TYPE_CHECKING:
    from bcjit.dims import Expr

__all__ = ["Inputs", "fits"]

DType: TypeAlias = "np.dtype[Any]"

# As bcjit/csrc/kernel.h has them.
_OPERANDS, _NUMBERS, _TABLES = 32, 32, 4
_NUMBER_KINDS: Final = "biufc"


class Inputs:
    """What a kernel is called with: values of nodes, then sizes; and what its code makes of them."""

    def __init__(self, given: tuple[Node, ...], views: Mapping[Node, View]) -> None:
        self.views = views
        self.arguments: list[Node | Expr] = list(given)
        self.places: dict[object, int] = {node: i for i, node in enumerate(given)}
        self.operands: dict[object, Element] = {}
        self.numbers: dict[tuple[object, DType], Number] = {}
        self.operand_rows: list[
            tuple[int, int, tuple[int, ...]] | tuple[int, int, tuple[int, ...], bool]
        ] = []
        self.number_rows: list[tuple[int, int, bool]] = []
        self.tables: dict[tuple[tuple[int, int, tuple[int, ...]], int], Table] = {}

    def item(self, leaf: Leaf) -> Item:
        """Return what a leaf is in the kernel."""
        if isinstance(leaf.source, Picked):
            return self.element(leaf.source.of(self.views.get(leaf.source.base)), leaf.dtype)
        view = self.views.get(leaf.source) if isinstance(leaf.source, Node) else None
        if view is not None:
            return self.element(view, leaf.dtype)
        place = self.place(cast("Node | Expr", leaf.source))
        meta = leaf.source.meta[0] if isinstance(leaf.source, Node) else None
        if isinstance(meta, ArrayMeta) and not meta.is_scalar:
            return self._element(place, (), leaf.dtype)
        key = leaf.source, leaf.dtype
        if key not in self.numbers:
            self.numbers[key] = Number(len(self.numbers), leaf.dtype)
            self.number_rows.append(
                (place, leaf.dtype.num, meta is not None and isinstance(meta, ArrayMeta))
            )
        return self.numbers[key]

    def place(self, source: Node | Expr) -> int:
        """Return which argument something is; a size becomes one."""
        if source not in self.places:
            self.places[source] = len(self.arguments)
            self.arguments.append(source)
        return self.places[source]

    def argument(self, source: Node | Expr) -> int:
        """Return which argument something is, also where the kernel knows it itself."""
        if self.place(source) < 0:
            del self.places[source]
        return self.place(source)

    def row(self, view: View, dtype: DType) -> tuple[int, int, tuple[int, ...]]:
        """Return how the kernel finds a view."""
        return self.place(view.base), dtype.num, view.code(self.argument)

    def element(self, view: View, dtype: DType) -> Element:
        """Return an element of a view."""
        return self._element(self.place(view.base), view.code(self.argument), dtype)

    def table(self, table: Table) -> Table:
        """Return what an array that is read at computed places is in the kernel."""
        source = cast("Node", table.source)
        view = self.views.get(source)
        place = self.place(source if view is None else view.base)
        row = place, table.dtype.num, () if view is None else view.code(self.place)
        key = row, table.axes
        if key not in self.tables:
            self.tables[key] = Table(len(self.tables), table.dtype, table.axes)
        return self.tables[key]

    def selected(self, array: Node, dtype: DType) -> Element:
        """Return an element of what the kernel's mask selects of an array."""
        place = self.place(array)
        key = place, None
        if key not in self.operands:
            self.operands[key] = Element(len(self.operands), dtype)
            self.operand_rows.append((place, dtype.num, (), True))
        return self.operands[key]

    def _element(self, place: int, code: tuple[int, ...], dtype: DType) -> Element:
        key = place, code
        if key not in self.operands:
            self.operands[key] = Element(len(self.operands), dtype)
            self.operand_rows.append((place, dtype.num, code))
        return self.operands[key]


def fits(graph: Graph, inputs: Inputs) -> bool:
    """Whether a kernel can take these arguments, and the graph can give them."""
    return (
        0 < len(inputs.operands) <= _OPERANDS
        and len(inputs.numbers) <= _NUMBERS
        and len(inputs.tables) <= _TABLES
        and not any(
            number.dtype.kind not in _NUMBER_KINDS or number.dtype.char in "egG"
            for number in inputs.numbers.values()
        )
        and _can_be_read(graph, inputs.arguments)
    )


def _can_be_read(graph: Graph, arguments: list[Node | Expr]) -> bool:
    """Whether the sizes among arguments can be read in a graph: those that only a graph around it reads, from an array among them."""
    arrays = [one for one in arguments if isinstance(one, Node) and len(one.meta) == 1]
    axes = [
        (dim, node, axis)
        for node in arrays
        if isinstance(meta := node.meta[0], ArrayMeta)
        for axis, dim in enumerate(meta.shape)
    ]
    for size in arguments:
        for symbol in size.symbols() if not isinstance(size, Node) else ():
            if symbol in graph.symbols:
                continue
            found = next(((node, axis) for dim, node, axis in axes if dim == symbol.expr), None)
            if found is None:
                return False
            graph.bind_symbol(symbol, *found)
    return True
