"""Values that several ways bring to one place: what is common to them, and how one value is made of them at run time.

A `Kind` says what a place holds at the end of a branch or at each turn of a loop. What the graph hands over for it are *leaves*, operands in a fixed
order; `spread` takes a value apart into them, `assemble` makes a value of the nodes that carry them.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from bcjit.dims import Dim, Expr, Relation, Symbol, symbols
from bcjit.fx_graph import Node
from bcjit.meta import UNBOUND as NO_VALUE
from bcjit.meta import ArrayMeta, Meta, ScalarMeta, UnboundMeta, UnionMeta
from bcjit.records import dataclass
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.numpy_calls import add_node, operand
from bcjit.symbolic_vm.values import (
    UNBOUND,
    Known,
    Lazy,
    SymArray,
    SymGone,
    SymMaybe,
    SymMethod,
    SymScalar,
    SymSlice,
    SymTuple,
    SymUnion,
    SymValue,
)

__all__ = [
    "GONE", "NOWHERE", "Gone", "Items", "Kind", "Leaf", "Maybe", "Same", "assemble", "bound_value", "chosen", "handed_over", "join", "kind_of", "metas", "same_kind", "same_value",
    "spread",
]  # fmt: skip

_NUMBERS: Final = (bool, int, float, complex)
_MOST_KINDS: Final = 3  # of a number whose kind depends on data


@dataclass(frozen=True, slots=True)
class Kind:
    """Base of all kinds."""


@dataclass(frozen=True, slots=True)
class Same(Kind):
    """One value on every way, the same one; there is nothing to hand over."""

    value: SymValue


@dataclass(frozen=True, slots=True)
class Leaf(Kind):
    """A number, or an array: `metas` are its possible kinds. A size that is not always the same is None."""

    metas: tuple[Meta, ...]
    dims: tuple[Dim | None, ...] = ()
    nonnegative: bool = False  # an int that is never negative


@dataclass(frozen=True, slots=True)
class Items(Kind):
    """A tuple."""

    items: tuple[Kind, ...]


@dataclass(frozen=True, slots=True)
class Maybe(Kind):
    """On some ways there is no value."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class Gone(Kind):
    """There is a value that cannot be handed over."""


GONE: Final = Gone()
NOWHERE: Final = Same(UNBOUND)  # no value on any way


# ---------------------------------------------------------------------- what is the same
def same_value(a: SymValue, b: SymValue) -> bool:
    """Whether two values are known to be the same one, as far as a program can tell."""
    if a is b:
        return True
    if a.source is not None and a.source == b.source:
        return True
    if isinstance(a, Lazy) or isinstance(b, Lazy) or type(a) is not type(b):
        return False
    if isinstance(a, Known):
        assert isinstance(b, Known)
        return _same_constant(a.value, b.value)
    if isinstance(a, SymArray | SymUnion):
        return a.node is b.node  # type: ignore[attr-defined]  # of one type, by the line above
    if isinstance(a, SymScalar):
        assert isinstance(b, SymScalar)
        return a.pytype is b.pytype and (
            a.payload is b.payload or (isinstance(a.payload, Expr) and a.payload == b.payload)
        )
    if isinstance(a, SymTuple):
        assert isinstance(b, SymTuple)
        return len(a.items) == len(b.items) and all(map(same_value, a.items, b.items))
    if isinstance(a, SymMethod):
        assert isinstance(b, SymMethod)
        return same_value(a.self, b.self) and same_value(a.func, b.func)
    if isinstance(a, SymSlice):
        assert isinstance(b, SymSlice)
        return all(map(same_value, (a.start, a.stop, a.step), (b.start, b.stop, b.step)))
    if isinstance(a, SymMaybe):
        assert isinstance(b, SymMaybe)
        return a.node is b.node
    return False


def _same_constant(a: object, b: object) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) in (int, bool, str, bytes):
        return bool(a == b)
    if type(a) is float:
        return struct.pack("d", a) == struct.pack("d", b)
    if type(a) is tuple:
        assert type(b) is tuple
        return len(a) == len(b) and all(map(_same_constant, a, b))
    return False


def same_kind(a: Kind, b: Kind) -> bool:
    """Whether two kinds are equal."""
    if isinstance(a, Same) and isinstance(b, Same):
        return same_value(a.value, b.value)
    if isinstance(a, Items) and isinstance(b, Items):
        return len(a.items) == len(b.items) and all(map(same_kind, a.items, b.items))
    if isinstance(a, Maybe) and isinstance(b, Maybe):
        return same_kind(a.kind, b.kind)
    return type(a) is type(b) and not isinstance(a, Same | Items | Maybe) and a == b


# ---------------------------------------------------------------------- kinds
def kind_of(vm: Machine, value: SymValue, outer: frozenset[Symbol]) -> Kind:
    """Return the kind of a value where the nodes it was made of are out of reach.

    Parameters
    ----------
    vm
        The capture.
    value
        A value of a local, or of a place on the stack.
    outer
        The symbols that are in reach: a size in others is one that is not known.
    """
    if value is UNBOUND:
        return NOWHERE
    if isinstance(value, SymGone):
        return GONE
    if isinstance(value, SymMaybe):
        return Maybe(kind_of(vm, value.value, outer))
    if isinstance(value, SymUnion):
        return Leaf(value.kinds)
    if isinstance(value, SymArray | SymScalar) and value.source is not None:
        # Untouched again: the input that was made for it goes when the trace that touched it is made anew.
        return Same(Lazy(value.source, vm.fetch(value.source)))
    if value.source is not None and not isinstance(value, Lazy):
        return Same(value)
    if isinstance(value, Known):
        return Same(value)
    return handed_over(vm, value, outer)


def handed_over(vm: Machine, value: SymValue, outer: frozenset[Symbol]) -> Kind:
    """Return the kind of a value that may be another on other ways: it is handed over, even if it is a constant or from outside."""
    value = vm.realize(value)
    if isinstance(value, SymUnion | SymMaybe):
        return kind_of(vm, value, outer)
    if isinstance(value, SymArray):
        dims = tuple(_in_reach(vm, dim, outer) for dim in value.meta.shape)
        plain = ArrayMeta((0,) * len(dims), value.meta.dtype, value.meta.is_scalar)
        return Leaf((plain,), dims)
    if isinstance(value, SymScalar):
        return Leaf((ScalarMeta(value.pytype),), nonnegative=_is_nonnegative(vm, value))
    if isinstance(value, Known):
        if type(value.value) in _NUMBERS:
            nonnegative = type(value.value) is int and value.value >= 0
            return Leaf((ScalarMeta(type(value.value)),), nonnegative=nonnegative)
        if type(value.value) is tuple:
            return Items(tuple(Same(Known(None, item)) for item in value.value))
        return Same(value)
    if isinstance(value, SymTuple):
        items = tuple(kind_of(vm, item, outer) for item in value.items)
        return GONE if any(item is GONE for item in items) else Items(items)
    return Same(value) if value.source is not None else GONE


def _is_nonnegative(vm: Machine, value: SymScalar) -> bool:
    if not isinstance(value.payload, Expr):
        return False
    return vm.env.known(Relation("<=", 0, value.payload)) is True


def _in_reach(vm: Machine, dim: Dim, outer: frozenset[Symbol]) -> Dim | None:
    simple = vm.env.simplify(dim)
    # Sizes of inputs are in reach everywhere, also of those that are first touched within a turn.
    reached = all(symbol.kind == "input" or symbol in outer for symbol in symbols(simple))
    return simple if reached else None


def join(vm: Machine, a: Kind, b: Kind, outer: frozenset[Symbol]) -> Kind:
    """Return the kind that fits what two ways bring."""
    if isinstance(a, Gone) or isinstance(b, Gone):
        return GONE
    if isinstance(a, Same) and isinstance(b, Same) and same_value(a.value, b.value):
        return a
    unbound = [kind is NOWHERE for kind in (a, b)]
    if any(unbound) or isinstance(a, Maybe) or isinstance(b, Maybe):
        inner = [k.kind if isinstance(k, Maybe) else k for k in (a, b) if k is not NOWHERE]
        joined = inner[0] if len(inner) == 1 else join(vm, inner[0], inner[1], outer)
        return GONE if joined is GONE else Maybe(joined)
    a, b = (
        handed_over(vm, kind.value, outer) if isinstance(kind, Same) else kind for kind in (a, b)
    )
    if isinstance(a, Items) and isinstance(b, Items) and len(a.items) == len(b.items):
        items = tuple(join(vm, x, y, outer) for x, y in zip(a.items, b.items, strict=True))
        return GONE if any(item is GONE for item in items) else Items(items)
    if isinstance(a, Leaf) and isinstance(b, Leaf):
        return _join_leaves(vm, a, b)
    return GONE


def _joined_size(vm: Machine, a: Dim | None, b: Dim | None) -> Dim | None:
    """Return the size that fits both: one that has to be the same, and is so now, is guarded to be."""
    if a is None or b is None or a == b:
        return a if a == b else None
    left, right = vm.env.hint(a), vm.env.hint(b)
    if left is None or left != right:
        return None
    return vm.env.unify(a, b)


def _join_leaves(vm: Machine, a: Leaf, b: Leaf) -> Kind:
    one, other = a.metas[0], b.metas[0]
    if _is_array(one) or _is_array(other):
        if one != other:
            return GONE  # another dtype, rank, or kind of thing
        dims = tuple(_joined_size(vm, x, y) for x, y in zip(a.dims, b.dims, strict=True))
        return Leaf(a.metas, dims)
    found = tuple(dict.fromkeys((*a.metas, *b.metas)))
    # In an order of its own, so that joining is the same whichever comes first.
    found = tuple(sorted(found, key=lambda meta: (isinstance(meta, ArrayMeta), str(meta))))
    return GONE if len(found) > _MOST_KINDS else Leaf(found, (), a.nonnegative and b.nonnegative)


def _is_array(meta: Meta) -> bool:
    return isinstance(meta, ArrayMeta) and not meta.is_scalar


# ---------------------------------------------------------------------- leaves
def metas(kind: Kind) -> Iterator[tuple[Meta, tuple[Dim | None, ...]]]:
    """Yield what is known of each leaf, and the sizes of an array."""
    if isinstance(kind, Leaf):
        meta = kind.metas[0] if len(kind.metas) == 1 else UnionMeta(kind.metas)
        yield meta, kind.dims
    elif isinstance(kind, Items):
        for item in kind.items:
            yield from metas(item)
    elif isinstance(kind, Maybe):
        found = list(metas(kind.kind)) or [(ScalarMeta(bool), ())]
        for meta, dims in found:
            yield UnboundMeta(meta), dims


def spread(vm: Machine, kind: Kind, value: SymValue) -> list[object]:
    """Return the leaves of a value as operands of the present graph."""
    if isinstance(kind, Maybe):
        return _spread_maybe(vm, kind.kind, value)
    if isinstance(kind, Leaf):
        return [operand(vm, value)[1]]
    if isinstance(kind, Items):
        value = vm.realize(value)
        if isinstance(value, Known):
            assert type(value.value) is tuple
            value = SymTuple(None, tuple(Known(None, item) for item in value.value))
        assert isinstance(value, SymTuple)
        parts = zip(kind.items, value.items, strict=True)
        return [leaf for part, item in parts for leaf in spread(vm, part, item)]
    return []


def _spread_maybe(vm: Machine, kind: Kind, value: SymValue) -> list[object]:
    count = len(list(metas(kind)))
    if value is UNBOUND:
        return [NO_VALUE] * (count or 1)
    flag = None
    if isinstance(value, SymMaybe):
        flag, value = value.node, value.value
    if not count:
        return [True if flag is None else flag]
    leaves = spread(vm, kind, value)
    if flag is None:
        return leaves
    # What is the flag itself is UNBOUND where it must be; others are made so.
    return [
        flag if _is_value_of(vm, leaf, flag) else _where_bound(vm, flag, leaf) for leaf in leaves
    ]


def _is_value_of(vm: Machine, leaf: object, node: Node) -> bool:
    """Whether an operand is what a node gives: an int is written as its symbol."""
    if not isinstance(leaf, Expr):
        return leaf is node
    found = [s for s in leaf.symbols() if leaf == s.expr]
    return any(graph.symbols.get(s) == (node, None) for s in found for graph in vm.graphs)


def where_bound(flag: object, value: object) -> object:
    """Return a value where there is one, else `UNBOUND`."""
    return flag if flag is NO_VALUE else value


def _where_bound(vm: Machine, flag: Node, leaf: object) -> Node:
    meta = leaf.meta[0] if isinstance(leaf, Node) else None
    if meta is None:
        meta = ScalarMeta(int) if isinstance(leaf, Expr) else ScalarMeta(type(leaf))
    if not isinstance(meta, UnboundMeta):
        meta = UnboundMeta(meta)
    shares = isinstance(leaf, Node) and isinstance(meta.kind, ArrayMeta) and not meta.kind.is_scalar
    return add_node(
        vm,
        where_bound,
        (flag, leaf),
        {},
        (meta,),
        can_fail=False,
        op=None,
        view_of=leaf if shares else None,  # type: ignore[arg-type]  # then it is a node
        alias="maybe" if shares else "fresh",
    )


def assemble(vm: Machine, kind: Kind, new_node: Callable[[Meta], Node]) -> SymValue:
    """Return the value whose leaves are the nodes that `new_node` makes, in order; sizes that are not known get symbols."""
    if isinstance(kind, Same):
        return kind.value
    if isinstance(kind, Gone):
        return SymGone(None)
    if isinstance(kind, Items):
        return SymTuple(None, tuple(assemble(vm, item, new_node) for item in kind.items))
    if isinstance(kind, Maybe):
        first: list[Node] = []

        def noted(meta: Meta) -> Node:
            node = new_node(UnboundMeta(meta))
            first.append(node)
            return node

        value = assemble(vm, kind.kind, noted)
        if not first:
            noted(ScalarMeta(bool))
        return SymMaybe(None, value, first[0])
    assert isinstance(kind, Leaf)
    return _assemble_leaf(vm, kind, new_node)


def _assemble_leaf(vm: Machine, kind: Leaf, new_node: Callable[[Meta], Node]) -> SymValue:
    if len(kind.metas) > 1:
        return SymUnion(None, new_node(UnionMeta(kind.metas)), kind.metas)
    (meta,) = kind.metas
    if isinstance(meta, ScalarMeta):
        node = new_node(meta)
        if meta.pytype is not int:
            return SymScalar(None, meta.pytype, node)
        symbol = vm.env.symbol(vm.fresh_name(node.name), "data", nonnegative=kind.nonnegative)
        vm.graph.bind_symbol(symbol, node, None)
        return SymScalar(None, int, symbol.expr)
    assert isinstance(meta, ArrayMeta)
    shape: list[Dim] = []
    new: list[tuple[Symbol, int]] = []
    for axis, dim in enumerate(kind.dims):
        if dim is None:
            symbol = vm.env.symbol(vm.fresh_name("size"), "data")
            new.append((symbol, axis))
            shape.append(symbol.expr)
        else:
            shape.append(dim)
    whole = ArrayMeta(tuple(shape), meta.dtype, meta.is_scalar)
    node = new_node(whole)
    for symbol, axis in new:
        vm.graph.bind_symbol(symbol, node, axis)
    return SymArray(None, node, whole)


def bound_value(vm: Machine, value: SymMaybe) -> SymValue:
    """Return what a local holds that may have no value: a node fails where it has none, so that Python raises."""
    add_node(vm, must_be_bound, (value.node,), {}, (ScalarMeta(bool),), can_fail=True, op=None)
    return value.value


def must_be_bound(flag: object) -> bool:
    """Raise, so that the graph bails out, where a local has no value."""
    if flag is NO_VALUE:
        raise UnboundLocalError("a local variable has no value")
    return True


def chosen(
    vm: Machine, items: Sequence[SymValue], place: Dim, *, can_fail: bool
) -> SymValue | None:
    """Return the item of a sequence at a place that data decide; None unless all are numbers or arrays of one kind."""
    outer = frozenset(vm.env.symbols)
    kinds = [handed_over(vm, item, outer) for item in items]
    if not kinds:
        return None
    kind = kinds[0]
    for other in kinds[1:]:
        kind = join(vm, kind, other, outer)
    if not isinstance(kind, Leaf):
        return None
    held = tuple(operand(vm, item)[1] for item in items)

    def new_node(meta: Meta) -> Node:
        alias = "maybe" if _is_array(meta) else "fresh"
        parts = (held, place)
        return add_node(
            vm, operator.getitem, parts, {}, (meta,), can_fail=can_fail, op=None, alias=alias
        )

    return assemble(vm, kind, new_node)


def complete_locals(vm: Machine) -> None:
    """Before a break: a local that may have no value has one, or the graph fails; `Completer` of the machine."""
    state = vm.state
    for slot, value in enumerate(state.locals):
        if isinstance(value, SymMaybe):
            vm.set_local(slot, bound_value(vm, value))
    if any(isinstance(value, SymMaybe) for value in vm.state.stack):
        stack = (bound_value(vm, v) if isinstance(v, SymMaybe) else v for v in vm.state.stack)
        vm.state = vm.state.with_stack(tuple(stack))
