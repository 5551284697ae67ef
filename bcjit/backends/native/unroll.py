"""Contractions and sums over a few elements, written out: what an element of their result is, as `tracing` finds it for other calls. It edits no graph.

Sums are in the order of the elements. That is NumPy's own order for sums over one axis of less than 8 elements: all else is for the option ``fast``.
How many elements there are is what the example inputs say; the kernel looks at the sizes (`Picked`), and leaves other ones to its fallback. Operands that
only such a call needs are computed in its kernel.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from bcjit.backends.native.division import QUOTIENTS
from bcjit.backends.native.groups import between_effects, shape_of
from bcjit.backends.native.program import can_compute
from bcjit.backends.native.reduce_tracing import REDUCTIONS
from bcjit.backends.native.rules import has_rule
from bcjit.backends.native.scalars import Apply, Item, Leaf, in_order
from bcjit.backends.native.tracing import (
    NotElementwise,
    _Traced,
    copies,
    expanded,
    traced,
)
from bcjit.backends.native.unroll_tracing import Unroller
from bcjit.backends.native.views import Picked, view_of
from bcjit.dims import Expr, Undecidable, substitute
from bcjit.fx_graph import Graph, Node, NodeKind
from bcjit.meta import ArrayMeta
from bcjit.ops import OpDef, OpFailure
from bcjit.ops.emitter import (
    Shape,
)
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.dims import Dim, DimLike, Symbol

__all__ = ["Unrolled", "sizes_of", "unrolled"]

# With fewer results it does not pay, and what is small by chance is not what comes next.
FEWEST: Final = 32
# Functions and operands of one kernel.
_LARGEST: Final = 160
_OPERANDS: Final = 24
_CONTRACTIONS: Final = frozenset({"matmul", "dot", "inner", "einsum", "vecdot", "matvec", "vecmat"})
_SUMS: Final = frozenset({"sum", "mean", "var", "std", "linalg.norm"})
_KEYWORDS: Final = frozenset({"axis", "keepdims", "dtype", "ddof", "ord"})
# Dear ones would be computed again for each element of the result that needs them.
_DEAR: Final = frozenset({"divide", "sqrt", "reciprocal", *QUOTIENTS})


@dataclass(frozen=True, slots=True, eq=False)
class Unrolled:
    """A call that is written out."""

    item: Item
    inside: tuple[Node, ...]  # calls of which nothing else needs the results


def sizes_of(graph: Graph, example_inputs: Sequence[object] | None) -> dict[Symbol, int]:
    """Return the sizes that inputs of a graph have in its first call."""
    given = dict(zip(graph.inputs, example_inputs or (), strict=False))
    found: dict[Symbol, int] = {}
    for symbol, (node, axis) in graph.symbols.items():
        value = given.get(node)
        if axis is not None and isinstance(value, np.ndarray) and axis < value.ndim:
            found[symbol] = value.shape[axis]
        elif axis is None and type(value) is int:
            found[symbol] = value
    return found


def unrolled(
    graph: Graph, equal: Mapping[Symbol, Dim], sizes: Mapping[Symbol, int], *, exact: bool
) -> dict[Node, Unrolled]:
    """Return the calls of a graph, not of its bodies, that are written out.

    Parameters
    ----------
    graph
        The graph.
    equal
        What is known of the symbols of its shapes.
    sizes
        What these are in the first call.
    exact
        Only what NumPy computes in the same order.
    """
    read_from = {node for node, _ in graph.symbols.values()}
    found: dict[Node, Unrolled] = {}
    for run in between_effects(graph):
        place = {node: i for i, node in enumerate(run)}
        for node in run:
            if _may_be(node) and (node.users or node in graph.keep):
                search = _Search(graph, place, read_from, equal, sizes, exact=exact)
                one = search.of(node)
                if one is not None:
                    found[node] = one
    return found


def _may_be(node: Node) -> bool:
    if (
        node.unless_done is not None
        or node.kind is not NodeKind.CALL
        or node.has_effect
        or node.multi
        or len(node.meta) != 1
    ):
        return False
    meta = node.meta[0]
    if not isinstance(meta, ArrayMeta) or meta.is_scalar or not meta.shape or node.alias != "fresh":
        return False
    if not isinstance(node.op, OpDef) or meta.dtype.kind not in "biufc" or meta.dtype.char in "egG":
        return False
    if node.op.name in _CONTRACTIONS:
        return not node.kwargs
    return node.op.name in _SUMS and node.kwargs.keys() <= _KEYWORDS


class _Search:
    """What one call is, and which of its operands are computed with it."""

    def __init__(
        self,
        graph: Graph,
        place: Mapping[Node, int],
        read_from: set[Node],
        equal: Mapping[Symbol, Dim],
        sizes: Mapping[Symbol, int],
        *,
        exact: bool,
    ) -> None:
        self.graph, self.place, self.read_from = graph, place, read_from
        self.equal, self.sizes, self.exact = equal, sizes, exact
        self.inside: dict[Node, Item] = {}
        self.name = ""

    def of(self, node: Node) -> Unrolled | None:
        """Return what a call is, None where it is not written out."""
        assert isinstance(node.op, OpDef)
        results = 1
        for dim in shape_of(node, self.equal):
            size = self.known(dim)
            if size is None:
                return None
            results *= size
        if results < FEWEST:
            return None
        self.name = node.op.name
        contracts = self.name in _CONTRACTIONS
        if contracts and self.exact:
            return None
        self._find_inside(node, cheap=contracts)
        if not contracts and any(map(self._is_folded_elsewhere, node.uses())):
            return None
        if not self._lies_in_c(node, contracts=contracts):
            return None
        if self.exact and any(
            view_of(used) is not None for used in node.uses() if used not in self.inside
        ):
            return None  # which way NumPy goes along its axes is told from strides
        tracer = Unroller(self.inside, self._shape, self.known, self.is_for_blas, exact=self.exact)
        try:
            result = expanded(node, tracer, tracer.leaf)
        except (NotElementwise, OpFailure, Undecidable, ZeroDivisionError):
            return None
        meta = node.meta[0]
        assert isinstance(meta, ArrayMeta)
        item = result.item if isinstance(result, _Traced) else None
        if not isinstance(item, Apply) or item.dtype != meta.dtype or not tracer.picks:
            return None
        items = in_order([item])
        leaves = {_named(one) for one in items if isinstance(one, Leaf)}
        if len(items) - len(leaves) > _LARGEST or len(leaves) > _OPERANDS or not can_compute(item):
            return None
        return Unrolled(item, tuple(sorted(self.inside, key=self.place.__getitem__)))

    def _shape(self, node: Node) -> Shape:
        dims = shape_of(node, self.equal)
        return tuple(dim if isinstance(dim, int | Expr) else dim.expr for dim in dims)

    def is_for_blas(self, ndim: int) -> bool:
        """Whether NumPy has BLAS multiply two matrices, or one and a vector, which is faster."""
        return self.name in ("dot", "inner") or (self.name == "matmul" and ndim <= 2)

    def known(self, dim: DimLike) -> int | None:
        """Return what a size is in the first call."""
        try:
            found = substitute(dim, self.sizes)
        except ZeroDivisionError:
            return None
        return found if isinstance(found, int) else None

    def _is_folded_elsewhere(self, operand: Node) -> bool:
        """Whether something else is made of an operand of a sum, so that a kernel with reductions may do both."""
        if operand in self.inside or len(operand.users) < 2:
            return False
        names = [getattr(user.op, "name", "") for user in operand.users]
        return operand in self.place or sum(name in REDUCTIONS for name in names) > 1

    def _find_inside(self, node: Node, *, cheap: bool) -> None:
        """Find the calls that only this one needs, directly or not."""
        around = {node}
        waiting = [one for one in node.uses() if one in self.place]
        while waiting:
            one = waiting.pop()
            if one in around or one in self.graph.keep or one in self.read_from:
                continue
            if one.unless_done is not None:
                continue
            if any(user not in around for user in one.users) or copies(one):
                continue
            item = traced(one)
            if item is None or not can_compute(item):
                continue
            if cheap and any(map(_is_dear, in_order([item]))):
                continue
            around.add(one)
            self.inside[one] = item
            waiting += [used for used in one.uses() if used in self.place]

    def _lies_in_c(self, node: Node, *, contracts: bool) -> bool:
        """Whether the result lies in C's order wherever the arrays that are given do."""
        used = [one for each in (node, *self.inside) for one in each.uses()]
        if any(view_of(one) is None and view_of(one, copies=True) is not None for one in used):
            return False  # C chooses no elements of what is rolled
        turned = [one for one in used if _is_turned(one)]
        meta = node.meta[0]
        assert isinstance(meta, ArrayMeta)
        assert isinstance(node.op, OpDef)
        return not turned or (
            contracts
            and node.op.name != "einsum"
            and len(meta.shape) < 3
            and all(one in node.uses() for one in turned)
        )


def _is_turned(node: Node) -> bool:
    """Whether a view that a kernel makes has its axes in another order, or repeats some."""
    view = view_of(node)
    return view is not None and any(one.target is not operator.getitem for one in view.nodes)


def _is_dear(item: Item) -> bool:
    return isinstance(item, Apply) and (
        item.function.name in _DEAR or not has_rule(item.function, item.dtypes)
    )


def _named(leaf: Leaf) -> object:
    source = leaf.source
    if isinstance(source, Picked):
        return source.base, source.axes, source.places
    return source
