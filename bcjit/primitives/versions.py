"""A primitive graph in the making: nodes with their facts, and the versions of arrays; it knows no op.

An array is a *storage*, the memory of one allocation or input, and a chain of views from it. Primitives read versions
of storages; `Versions.write` makes a new version of the whole storage, which later reads through any view see.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence

from bcjit.dims import Dim, ShapeEnv, Symbol
from bcjit.errors import SourceLine
from bcjit.fx_graph import Alias, Graph, Node, NodeKind, map_operand
from bcjit.meta import ArrayMeta, Meta, ObjectMeta, ScalarMeta
from bcjit.ops.emitter import Broadcast, Diagonal, DType, Reshape, Shape, Value, ViewMap
from bcjit.ops.meta_emitter import MetaEmitter, MetaObject, MetaValue
from bcjit.primitives.kinds import Claim, Commit, Fact, Primitive, Scatter, View
from bcjit.primitives.views import copies_by_layout, is_whole, split_view, split_views

__all__ = [
    "CannotLower",
    "Sizes",
    "Storage",
    "Stored",
    "Versions",
    "data_size",
    "fact_of",
    "meta_of_fact",
    "stored",
]


class CannotLower(Exception):
    """A graph stays at the captured level; ``reason`` is one of a few sentences, so that they can be counted."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class Storage:
    """The memory of one allocation or input: its present version, and how many came before it."""

    __slots__ = ("claimed", "current", "owner", "version")

    def __init__(self, node: Node) -> None:
        self.owner = node  # the input, or what made the memory
        self.current = node
        self.version = 0
        self.claimed = False


class Stored:
    """A value of this emitter: an array in a storage, or a NumPy scalar, which has none; it is of one version."""

    __slots__ = ("chain", "meta", "node", "storage", "version")

    def __init__(
        self,
        node: Node,
        meta: MetaValue,
        storage: Storage | None,
        chain: tuple[ViewMap, ...] = (),
    ) -> None:
        self.node = node
        self.meta = meta
        self.storage = storage
        self.chain = chain
        self.version = 0 if storage is None else storage.version

    @property
    def shape(self) -> Shape:
        """See `Value`."""
        return self.meta.shape

    @property
    def dtype(self) -> DType:
        """See `Value`."""
        return self.meta.dtype


def stored(value: Value) -> Stored:
    """Return a value of this level as what it is."""
    assert isinstance(value, Stored)
    return value


class Sizes(MetaEmitter):
    """The emitter of facts; sizes that depend on elements are those that the captured call has, as far as it has them."""

    def __init__(self, env: ShapeEnv) -> None:
        super().__init__(env)
        self.expected: list[Dim] = []

    def unknown(self, name: str, of: Value | None = None) -> Dim:
        """See `Emitter.unknown`."""
        return self.expected.pop(0) if self.expected else super().unknown(name, of)


class Versions:
    """A primitive graph that is being made, with the present versions of its arrays."""

    def __init__(self, graph: Graph, env: ShapeEnv) -> None:
        self.graph = graph
        self.meta = Sizes(env)
        self.name = "value"  # of the captured node that is lowered
        self.line: SourceLine | None = None
        self.fails = False  # the call that is lowered said that it may fail
        self.written: list[Storage] = []  # storages of inputs, in order of first writing

    @property
    def env(self) -> ShapeEnv:
        """See `Emitter.env`."""
        return self.meta.env

    def begin(self, name: str, line: SourceLine | None, sizes: Sequence[Dim] = ()) -> None:
        """Say which captured node comes next, and the sizes that depend on elements that its results have."""
        self.name, self.line, self.fails = name, line, False
        self.meta.expected = list(sizes)

    # Nodes

    def emit(
        self,
        primitive: Primitive,
        args: tuple[object, ...],
        named: Mapping[str, object] | None = None,
        *,
        declared: Sequence[Fact] = (),
        alias: Alias = "fresh",
        view_of: Node | None = None,
        writes: tuple[Node, ...] = (),
        draws: bool = False,
    ) -> tuple[tuple[Node, ...], tuple[Fact, ...]]:
        """Append a primitive; return a node and the facts for each result."""
        named = named or {}
        self.meta.can_fail = False
        seen = tuple(map_operand(arg, fact_of) for arg in args)
        shown = {key: map_operand(arg, fact_of) for key, arg in named.items()}
        found = primitive.facts(self.meta, *seen, **shown)
        facts = tuple(declared) if found is None else found
        metas: tuple[Meta, ...] = tuple(map(meta_of_fact, facts))
        multi = len(metas) > 1
        node = self.graph.call(
            primitive,
            tuple(map_operand(arg, _node_of) for arg in args),
            {key: map_operand(arg, _node_of) for key, arg in named.items()},
            meta=metas if multi else metas[0] if metas else None,
            alias=alias,
            view_of=view_of,
            writes=writes,
            draws=draws,
            can_fail=self.meta.can_fail,
            line=self.line,
            name=self.name,
        )
        if not multi:
            self._bind(node, metas)
            return (node,) if metas else (), facts
        return tuple(self.item_of(node, i, meta) for i, meta in enumerate(metas)), facts

    def item_of(self, node: Node, index: int, meta: Meta) -> Node:
        """Return one result of a node that has several."""
        item = self.graph.call(
            operator.getitem,
            (node, index),
            meta=meta,
            can_fail=False,
            line=self.line,
            name=self.name,
        )
        self._bind(item, (meta,))
        return item

    def _bind(self, node: Node, metas: tuple[Meta, ...]) -> None:
        """Say where sizes that depend on elements are read."""
        meta = metas[0] if metas else None
        for axis, dim in enumerate(meta.shape if isinstance(meta, ArrayMeta) else ()):
            if (symbol := data_size(dim)) is not None:
                self.graph.bind_symbol(symbol, node, axis)

    def _fresh(self, primitive: Primitive, *args: object, **named: object) -> Stored:
        """Append a primitive that makes one array."""
        (node,), (fact,) = self.emit(primitive, args, named)
        return self.new(node, fact)

    def new(self, node: Node, fact: Fact) -> Stored:
        """Return a node's result as a value of its own."""
        assert isinstance(fact, MetaValue)
        return Stored(node, fact, None if fact.is_scalar else Storage(node))

    # Versions

    def present(self, value: Stored) -> Stored:
        """Return an array as it is now, after the writes so far."""
        storage = value.storage
        if storage is None or storage.version == value.version:
            return value
        return self._through(value, storage.current)

    def _through(self, value: Stored, base: Node) -> Stored:
        if copies_by_layout(value.chain):
            raise CannotLower("an array is written that a reshape may be a view of")
        return self._rebuilt(value, base)

    def _rebuilt(self, value: Stored, base: Node) -> Stored:
        """Return the chain of views of another version."""
        found = Stored(base, _value_of(base), None)
        for how in value.chain:
            found = self.view_node(found, how)
        return Stored(found.node, value.meta, value.storage, value.chain)

    def result(self, value: Stored) -> Node:
        """Return the node of an output: of the caller's own array where it is one that was written."""
        storage = value.storage
        if storage is None or not storage.version:
            return value.node
        if value.version != storage.version:
            return self._through(value, storage.current).node
        # As new as the array is: a reshape finds the same elements there.
        return self._rebuilt(value, storage.current).node if storage.claimed else value.node

    def _version(self, storage: Storage, node: Node) -> None:
        storage.current = node
        storage.version += 1

    def _claim(self, storage: Storage) -> None:
        """Before anything else, make sure that an input can be written."""
        owner = storage.owner
        if owner.kind is NodeKind.CONST:
            raise CannotLower("a constant array is written")
        first = next((node for node in self.graph.nodes if node.kind is NodeKind.CALL), None)
        node = self.graph.call(
            Claim(),
            (owner,),
            meta=owner.meta[0],
            view_of=owner,
            alias="same",
            can_fail=True,
            line=self.line,
            name=owner.name,
            before=first,
        )
        storage.current = node
        storage.claimed = True
        self.written.append(storage)

    def commit(self) -> None:
        """Put the last versions into the caller's arrays."""
        for storage in self.written:
            owner = storage.owner
            self.name = owner.name
            (node,), _ = self.emit(
                Commit(),
                (
                    Stored(owner, _value_of(owner), None),
                    Stored(storage.current, _value_of(owner), None),
                ),
                alias="same",
                view_of=owner,
                writes=(owner,),
            )
            storage.current = node

    def view_node(self, value: Stored, how: ViewMap) -> Stored:
        """Return a view of an array, in the same storage."""
        if isinstance(how, Reshape) and how.by == "flags":
            raise CannotLower("whether a result is a copy is decided by what no primitive knows")
        form, dims = split_view(how)
        alias: Alias = "maybe" if copies_by_layout((how,)) else "view"
        # A node each, also for the same view of the same array: two results are two objects.
        (node,), (fact,) = self.emit(View(form), (value, dims), alias=alias, view_of=value.node)
        chain = value.chain if is_whole(how, value) and value.chain else (*value.chain, how)
        assert isinstance(fact, MetaValue)
        found = Stored(node, fact, value.storage, chain)
        found.version = value.version
        return found

    def write(
        self,
        base: Stored,
        item: object,
        chain: tuple[ViewMap, ...],
        where: Mapping[str, object],
    ) -> Stored:
        """Make a new version of all that base is a view of, with the item at views of it; `where`: a mask, or index arrays."""
        storage = base.storage
        assert storage is not None, "a NumPy scalar is written"
        if copies_by_layout(chain):
            raise CannotLower("a write through a reshape")
        if self._is_itself(item, storage, chain) and not where:
            return base
        if storage.owner.kind is not NodeKind.CALL and not storage.claimed:
            self._claim(storage)
        forms, dims = split_views(chain)
        named = {"dims": dims, **where} if dims else where
        before = Stored(storage.current, _value_of(storage.current), None)
        (node,), _ = self.emit(Scatter(forms), (before, item), named)
        if any(isinstance(how, Broadcast | Diagonal) for how in chain):
            node.can_fail = True  # read-only views
        self._version(storage, node)
        return self._through(base, node)

    @staticmethod
    def _is_itself(item: object, storage: Storage, chain: tuple[ViewMap, ...]) -> bool:
        """Whether what is written is there already: the store of ``x[1:] += 1`` behind the operator."""
        return (
            isinstance(item, Stored)
            and item.storage is storage
            and item.chain == chain
            and item.version == storage.version > 0
        )


def data_size(dim: Dim) -> Symbol | None:
    """Return the symbol that a size is, if it depends on elements."""
    if isinstance(dim, int):
        return None
    (symbol, *others) = dim.symbols()
    return symbol if not others and symbol.kind == "data" and dim == symbol.expr else None


def fact_of(operand: object) -> object:
    """Return what `MetaEmitter` sees of an operand."""
    if isinstance(operand, Stored):
        return operand.meta
    if isinstance(operand, Node):
        (meta,) = operand.meta
        return MetaObject(meta.pytype) if isinstance(meta, ObjectMeta) else meta
    return operand


def _node_of(operand: object) -> object:
    """Return what a node holds of an operand."""
    return operand.node if isinstance(operand, Stored) else operand


def meta_of_fact(fact: Fact) -> Meta:
    """Return the meta of a result."""
    if isinstance(fact, MetaObject):
        return ObjectMeta(fact.pytype)
    return fact if isinstance(fact, ScalarMeta) else fact.meta


def _value_of(node: Node) -> MetaValue:
    meta = node.meta[0]
    assert isinstance(meta, ArrayMeta)
    return MetaValue(meta.shape, meta.dtype, is_scalar=meta.is_scalar)
