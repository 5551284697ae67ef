"""What an element of the result of a contraction or a sum over few elements is, found by running its expansion, as `tracing` does for elementwise calls.

A value has a shape of its own here, and the leaves of its item are broadcast to that. To choose elements of a value is to choose those of its leaves (`Picked`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bcjit.backends.native.scalars import MULTIPLY_ADD, Apply, Constant, DType, Item, Leaf
from bcjit.backends.native.tracing import NotElementwise, Tracer, _Traced
from bcjit.backends.native.views import Picked
from bcjit.dims import Expr, Relation
from bcjit.fx_graph import Node
from bcjit.meta import ArrayMeta
from bcjit.ops.emitter import (
    Basic,
    Broadcast,
    NewAxis,
    Operand,
    Permute,
    Range,
    Shape,
    Value,
    ViewMap,
)
from bcjit.ops.operands import broadcast
from bcjit.ops.scalar_functions import SCALAR_FUNCTIONS, ScalarFunction
from bcjit.records import replace

if TYPE_CHECKING:
    from bcjit.dims import Dim

__all__ = ["MOST", "Unroller"]

# Elements of a sum.
MOST: Final = 8
# Of NumPy's sums along the last axis; with fewer elements it has one.
_ACCUMULATORS: Final = 8


class Unroller(Tracer):
    """Keeps what Map, sums and Contract compute, each over few elements.

    Parameters
    ----------
    inside
        Calls that are computed with the one that is traced, and what they compute.
    shape_of
        The shape of a value.
    known
        What a size is in the first call, if that can be told.
    is_for_blas
        Whether a product of so many axes, none of them in both operands and the result, is NumPy's.
    exact
        Only sums in NumPy's order: over one axis of less than 8 elements, which all its loops take one after the other.

    Attributes
    ----------
    picks
        How often an element was chosen.
    """

    def __init__(
        self,
        inside: Mapping[Node, Item],
        shape_of: Callable[[Node], Shape],
        known: Callable[[Dim], int | None],
        is_for_blas: Callable[[int], bool],
        *,
        exact: bool,
    ) -> None:
        super().__init__(())
        self.inside, self.shape_of, self.known, self.is_for_blas = (
            inside,
            shape_of,
            known,
            is_for_blas,
        )
        self.exact = exact
        self.picks = 0
        self._known: dict[object, Item] = {}

    def leaf(self, node: Node) -> object:
        """Return what stands for an operand: an array, or what a call inside computes."""
        meta = node.meta[0] if len(node.meta) == 1 and not node.multi else None
        if not isinstance(meta, ArrayMeta) or meta.is_scalar:
            raise NotElementwise
        return _Traced(self.shape_of(node), meta.dtype, "same", item=self._inside(node))

    def _inside(self, node: Node) -> Item:
        item = self.inside.get(node)
        if item is None:
            meta = node.meta[0]
            assert isinstance(meta, ArrayMeta)
            return Leaf(node, meta.dtype)
        memo: dict[Item, Item] = {}

        def visit(one: Item) -> Item:
            if one not in memo:
                made: Item = one
                if isinstance(one, Apply):
                    made = Apply(one.function, one.dtypes, tuple(map(visit, one.operands)))
                elif isinstance(one, Leaf) and isinstance(one.source, Node):
                    made = self._inside(one.source) if one.source in self.inside else one
                memo[one] = made
            return memo[one]

        return visit(item)

    def require(self, relation: Relation) -> None:
        """See `Emitter.require`: the capture has seen to it."""

    def map(
        self,
        function: ScalarFunction,
        operands: Sequence[Operand],
        dtypes: Sequence[DType],
        mask: Value | None = None,
    ) -> tuple[Value, ...]:
        """See `Emitter.map`."""
        (made,) = super().map(function, operands, dtypes, mask)
        assert isinstance(made, _Traced)
        shape: Shape = ()
        for operand in operands:
            if isinstance(operand, _Traced):
                shape = broadcast(self, shape, operand.shape)
        return (replace(made, shape=shape),)

    def view(self, value: Value, how: ViewMap) -> Value:
        """See `Emitter.view`: repetition, other orders of axes, new ones."""
        if not isinstance(value, _Traced):
            raise NotElementwise
        axes: list[int | None] = []
        if isinstance(how, Broadcast):
            return replace(value, shape=how.shape)
        if isinstance(how, Permute):
            axes += how.axes
        elif isinstance(how, Basic):
            axis = 0
            for item in how.items:
                if isinstance(item, NewAxis):
                    axes.append(None)
                    continue
                if item != Range(0, 1, value.shape[axis]):
                    raise NotElementwise
                axes.append(axis)
                axis += 1
        else:
            raise NotElementwise
        shape = tuple(1 if axis is None else value.shape[axis] for axis in axes)
        return _Traced(shape, value.dtype, item=self._seen(value, tuple(axes), {}))

    def fill(self, shape: Shape, item: Operand, dtype: DType) -> Value:
        """See `Emitter.fill`: a size is a number that is handed in."""
        if not shape and isinstance(item, Expr):
            return _Traced((), dtype, item=Leaf(item, dtype))
        return super().fill(shape, item, dtype)

    def reduce(  # type: ignore[override]  # the base class refuses it
        self,
        function: ScalarFunction,
        value: Value,
        axes: tuple[int, ...],
        dtype: DType,
        initial: Operand = None,
        mask: Value | None = None,
    ) -> Value:
        """See `Emitter.reduce`."""
        if not isinstance(value, _Traced) or initial is not None or mask is not None:
            raise NotElementwise
        add = SCALAR_FUNCTIONS["add"]
        if function is not add or dtype.char in "egG" or value.dtype.char in "egG":
            raise NotElementwise
        counts = self._counts([value.shape[axis] for axis in axes])
        if self.exact and not _is_in_numpys_order(counts, value.dtype, dtype):
            raise NotElementwise
        kept = tuple(axis for axis in range(len(value.shape)) if axis not in axes)
        total: Item = Constant(dtype.type(0))  # of negative zeros alone NumPy's sum is positive
        for at in itertools.product(*map(range, counts)):
            places = dict(zip(axes, zip(at, counts, strict=True), strict=True))
            total = Apply(add, (dtype,) * 3, (total, self._element(value, kept, places, dtype)))
        return _Traced(tuple(value.shape[axis] for axis in kept), dtype, item=total)

    def contract(  # type: ignore[override]  # as above
        self, left: Value, right: Value, labels: tuple[str, str, str], dtype: DType
    ) -> Value:
        """See `Emitter.contract`."""
        if self.exact or dtype.char in "egG":
            raise NotElementwise
        if not isinstance(left, _Traced) or not isinstance(right, _Traced):
            raise NotElementwise
        *given, out = labels
        sizes: dict[str, Dim] = {}
        for value, names in zip((left, right), given, strict=True):
            if len(set(names)) != len(names):
                raise NotElementwise
            for name, dim in zip(names, value.shape, strict=True):
                if sizes.setdefault(name, dim) != dim:
                    raise NotElementwise
        if len(out) > 1 and all(set(out) <= set(names) for names in given):
            raise NotElementwise  # the order of the operands might be the result's
        summed = [name for name in sizes if name not in out]
        alike = set(given[0]).intersection(given[1], out)
        if not alike and self.is_for_blas(max(map(len, given))):
            raise NotElementwise
        counts = self._counts([sizes[name] for name in summed])
        total: Item = Constant(dtype.type(0))  # as above
        for at in itertools.product(*map(range, counts)):
            chosen = dict(zip(summed, zip(at, counts, strict=True), strict=True))
            factors = []
            for value, names in zip((left, right), given, strict=True):
                axes = tuple(names.index(name) if name in names else None for name in out)
                places = {names.index(name): at for name, at in chosen.items() if name in names}
                factors.append(self._element(value, axes, places, dtype))
            total = _with_product(total, factors, dtype)
        return _Traced(tuple(sizes[name] for name in out), dtype, item=total)

    def _counts(self, dims: Sequence[Dim]) -> list[int]:
        counts = [self.known(dim) for dim in dims]
        found = [count for count in counts if count is not None]
        if len(found) < len(dims) or not 0 < math.prod(found) <= MOST:
            raise NotElementwise
        return found

    def _element(
        self,
        value: _Traced,
        axes: tuple[int | None, ...],
        places: Mapping[int, tuple[int, int]],
        dtype: DType,
    ) -> Item:
        return self.converted(replace(value, item=self._seen(value, axes, places)), dtype)

    def _seen(
        self,
        value: _Traced,
        axes: tuple[int | None, ...],
        places: Mapping[int, tuple[int, int]],
    ) -> Item:
        """Return a value with these of its axes (None is a new one), and chosen places on others."""
        self.picks += len(places)
        memo: dict[Item, Item] = {}

        def visit(one: Item) -> Item:
            if one not in memo:
                made: Item = one
                if isinstance(one, Apply):
                    made = Apply(one.function, one.dtypes, tuple(map(visit, one.operands)))
                elif isinstance(one, Leaf):
                    made = self._seen_leaf(one, value.shape, axes, places)
                memo[one] = self._known.setdefault(_named(made), made)
            return memo[one]

        assert value.item is not None
        return visit(value.item)

    def _seen_leaf(
        self,
        leaf: Leaf,
        shape: Shape,
        axes: tuple[int | None, ...],
        places: Mapping[int, tuple[int, int]],
    ) -> Leaf:
        """As `_seen`, of an operand that is broadcast to a shape."""
        source = leaf.source
        if isinstance(source, Node):
            meta = source.meta[0]
            if not isinstance(meta, ArrayMeta) or meta.is_scalar or not meta.shape:
                return leaf
            source = Picked(source, tuple(range(len(meta.shape))), ())
        if not isinstance(source, Picked):
            return leaf  # a number
        dims = self.shape_of(source.base)
        missing = len(shape) - len(source.axes)
        if missing < 0:
            raise NotElementwise

        def own(axis: int | None) -> int | None:
            """Return which axis of the array one of the value is."""
            found = None if axis is None or axis < missing else source.axes[axis - missing]
            assert axis is not None or found is None
            if found is not None and axis is not None and dims[found] not in (1, shape[axis]):
                raise NotElementwise
            return found

        chosen = list(source.places)
        for axis, (place, count) in places.items():
            of = own(axis)
            if of is not None:
                chosen.append((of, 0, 1) if dims[of] == 1 else (of, place, count))
        kept = tuple(own(axis) for axis in axes)
        # An axis of one element that is repeated is none of what it is repeated to.
        left = {axis for axis in range(len(dims)) if axis not in kept}
        for axis in left - {axis for axis, _, _ in chosen}:
            if dims[axis] != 1:
                raise NotElementwise
            chosen.append((axis, 0, 1))
        return Leaf(Picked(source.base, kept, tuple(sorted(chosen))), leaf.dtype)


def _named(item: Item) -> object:
    """Return what tells an item from others, so that what is computed of the same elements is computed once."""
    if isinstance(item, Apply):
        return item.function.name, item.dtypes, item.operands
    if isinstance(item, Leaf) and isinstance(item.source, Picked):
        return item.source.base, item.source.axes, item.source.places, item.dtype
    return item


def _is_in_numpys_order(counts: Sequence[int], source: DType, dtype: DType) -> bool:
    if len(counts) != 1 or counts[0] >= _ACCUMULATORS or dtype.kind not in "biuf":
        return False
    return source == dtype or (source.kind in "biu" and dtype.kind in "iu")


def _with_product(total: Item, factors: Sequence[Item], dtype: DType) -> Item:
    """Return a sum and a product: at once, with one rounding, where these are floats."""
    if dtype.kind == "f":
        return Apply(MULTIPLY_ADD, (dtype,) * 4, (*factors, total))
    made = Apply(SCALAR_FUNCTIONS["multiply"], (dtype,) * 3, tuple(factors))
    return Apply(SCALAR_FUNCTIONS["add"], (dtype,) * 3, (total, made))
