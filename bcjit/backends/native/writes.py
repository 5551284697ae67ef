"""Writes that a kernel does itself: what is stored where.

``x[...] = v``, ``x[mask] = number``, ``x += v``, ``np.add(a, b, out=x)`` and ``np.copyto(x, v)``, where what is stored is computed by
the kernel. See ``docs/design/0027-native-views-and-writes.md``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection
from itertools import pairwise
from typing import Final

import numpy as np

from bcjit.backends.native.program import can_compute, flags_that_count
from bcjit.backends.native.reduce_bound import constant_of
from bcjit.backends.native.scalars import Apply, Item, Leaf
from bcjit.backends.native.tracing import NotElementwise, Tracer, expanded, number_of
from bcjit.backends.native.views import View, basic_view, view_of
from bcjit.dims import Expr
from bcjit.fx_graph import Graph, Node, NodeKind
from bcjit.meta import ArrayMeta
from bcjit.ops import OpDef, OpFailure
from bcjit.ops.emitter import Operand, Value, ViewMap
from bcjit.ops.scalar_functions import CAST, SELECT
from bcjit.records import dataclass

__all__ = [
    "IN_PLACE", "Write", "bound_alone", "converted", "counts_flags", "drop_own_stores", "leave_unless_done", "lone_write", "not_done",
    "own_views", "stored", "write_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """A call that stores what a kernel computes."""

    node: Node
    to: View
    item: Item  # an element of what is stored, in the dtype of the array


IN_PLACE: Final = frozenset(
    {
        operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod,
        operator.ipow, operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift,
    }
)  # fmt: skip


def write_of(node: Node) -> Write | None:
    """Return what a call stores, None where that is not what it does, or not for a kernel."""
    if node.kind is not NodeKind.CALL or node.draws or node.multi or len(node.writes) != 1:
        return None
    target, (written,) = node.target, node.writes
    if not isinstance(node.op, OpDef) or len(written.meta) != 1:
        return None
    meta = written.meta[0]
    if not isinstance(meta, ArrayMeta) or meta.is_scalar or not meta.shape:
        return None
    try:
        if target is operator.setitem:
            found = _setitem(node, written, meta)
        elif target is np.copyto and len(node.args) == 2 and not node.kwargs:
            found = _whole(written), converted(node.args[1], meta)
        elif target in IN_PLACE or (isinstance(target, np.ufunc) and _only_out(node)):
            found = _whole(written), stored(node, meta)
        else:
            return None
    except (NotElementwise, OpFailure):
        return None
    to, item = found
    if to is None or not isinstance(item, Apply | Leaf) or not can_compute(item):
        return None
    if any(one.target is np.broadcast_to for one in to.nodes):
        return None  # it is read-only, whatever its array is
    return Write(node, to, item)


def _whole(array: Node) -> View | None:
    view = view_of(array)
    if view is None:
        return View(array, (), ())
    return view if array.alias == "view" else None


def _only_out(node: Node) -> bool:
    target = node.target
    assert isinstance(target, np.ufunc)
    return target.nout == 1 and target.signature is None and node.kwargs.keys() <= {"out"}


def _setitem(node: Node, array: Node, meta: ArrayMeta) -> tuple[View | None, Item]:
    base, index, value = node.args
    if base is not array:
        raise NotElementwise
    mask = index.meta[0] if isinstance(index, Node) and len(index.meta) == 1 else None
    if not isinstance(mask, ArrayMeta) or mask.is_scalar:
        return basic_view(array, index), converted(value, meta)
    assert isinstance(index, Node)
    if mask.dtype != np.dtype(bool) or len(mask.shape) != len(meta.shape):
        raise NotElementwise
    if isinstance(value, Node):
        given = value.meta[0] if len(value.meta) == 1 else None
        if isinstance(given, ArrayMeta) and not given.is_scalar:
            raise NotElementwise  # as many elements as are true
    chosen = Leaf(index, mask.dtype), converted(value, meta), Leaf(array, meta.dtype)
    return _whole(array), Apply(SELECT, (mask.dtype, *(meta.dtype,) * 3), chosen)


def converted(value: object, meta: ArrayMeta) -> Item:
    """Return a value as an assignment converts it."""
    if isinstance(value, Node):
        given = value.meta[0] if len(value.meta) == 1 and not value.multi else None
        if isinstance(given, ArrayMeta):
            if given.dtype.kind == "c" and meta.dtype.kind != "c":
                raise NotElementwise  # that warns
            if len(given.shape) > len(meta.shape):
                raise NotElementwise  # leading axes of one element are dropped
            item = Leaf(value, given.dtype)
            same = given.dtype == meta.dtype
            return item if same else Apply(CAST, (given.dtype, meta.dtype), (item,))
    return number_of(value, meta.dtype)


def stored(node: Node, meta: ArrayMeta) -> Item:
    """Return what a ufunc with an output stores, by its expansion."""
    tracer = _StoreTracer(meta.shape)
    expanded(node, tracer)
    if tracer.stored is None:
        raise NotElementwise
    return tracer.stored


def own_views(write: Write) -> dict[Node, View]:
    """Return the operands of the call itself that are views."""
    found: dict[Node, View] = {}
    for operand in write.node.uses():
        view = view_of(operand)
        if view is not None and operand.alias == "view" and not any(n.can_fail for n in view.nodes):
            found[operand] = view
    return found


def lone_write(node: Node) -> Write | None:
    """Return what a call stores that no kernel does yet."""
    write = None if node.unless_done is not None else write_of(node)
    if write is None or any(one.can_fail for one in write.to.nodes):
        return None
    if isinstance(write.item, Apply):
        return write
    same = write.item.dtype  # only copied
    copied = Apply(CAST, (same, same), (write.item,))
    return Write(node, write.to, copied) if can_compute(copied) else None


def counts_flags(item: Item) -> bool:
    """Whether a function may raise a flag; a copy does not."""
    if isinstance(item, Apply) and item.function is CAST and item.dtypes[0] == item.dtypes[1]:
        return False
    return bool(flags_that_count(item))


def bound_alone(item: Item, take: Callable[[Leaf], Item]) -> Item:
    """Return an item over what a kernel takes."""
    if isinstance(item, Leaf):
        return constant_of(item.source) or take(item)
    if isinstance(item, Apply):
        operands = tuple(bound_alone(operand, take) for operand in item.operands)
        return Apply(item.function, item.dtypes, operands)
    return item


class _StoreTracer(Tracer):
    """Keeps what is stored into the output."""

    stored: Item | None = None

    def scatter(
        self,
        base: Value,
        item: Operand,
        where: ViewMap | tuple[Value, ...],
        mask: Value | None = None,
    ) -> Value:
        """See `Emitter.scatter`."""
        if mask is not None or isinstance(where, tuple) or self.stored is not None:
            raise NotElementwise
        self.stored = self.converted(item, base.dtype)
        return base


def drop_own_stores(graph: Graph) -> None:
    """Erase ``x[1:] = v`` behind ``v += y`` where v is ``x[1:]`` itself: augmented assignments end so, and nothing changes by it."""
    for before, node in pairwise(tuple(graph.nodes)):
        if node.target is not operator.setitem or len(node.args) != 3 or node in graph.keep:
            continue
        base, index, value = node.args
        if (
            before.kind is NodeKind.CALL
            and before.target in IN_PLACE
            and isinstance(value, Node)
            and value in before.writes
            and value.target is operator.getitem
            and value.alias == "view"
            and value.args[0] is base
            and _equal(value.args[1], index)
        ):
            graph.erase(node)
            for kept, failing in tuple(graph.keep_for.items()):
                failing.discard(node)
                if not failing:
                    graph.keep.discard(kept)
                    del graph.keep_for[kept]


def _equal(one: object, other: object) -> bool:
    """Whether two basic indices are the same."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if isinstance(one, slice) and isinstance(other, slice):
        return all(
            _equal(getattr(one, name), getattr(other, name)) for name in ("start", "stop", "step")
        )
    if isinstance(one, Expr) and isinstance(other, Expr):
        return one == other
    if one is None or one is Ellipsis:
        return one is other
    return type(one) is int and type(other) is int and one == other


def leave_unless_done(graph: Graph, write: Node, lazy: Collection[Node], done: Node) -> None:
    """Have a write, and the calls that are for it alone, made only where `done`, which a kernel gives, says that it has not done them."""
    rest = [node for node in graph.nodes if node not in lazy]
    at = rest.index(write)
    graph.reorder([*rest[:at], *lazy, *rest[at:]])
    for node in (*lazy, write):
        graph.call_unless_done(node, done)


def not_done() -> bool:
    """Return what a kernel that only stores falls back to: the calls that it stands for come behind it."""
    return True
