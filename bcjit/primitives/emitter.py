"""The emitter that builds a primitive graph: each primitive becomes a node; it knows no captured graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

from bcjit.dims import Dim, Relation
from bcjit.ops.emitter import DType, Operand, Shape, Value, ViewMap
from bcjit.ops.meta_emitter import MetaObject, MetaValue
from bcjit.ops.scalar_functions import ScalarFunction
from bcjit.primitives.kinds import (
    ArgReduce,
    Concat,
    Contract,
    Fill,
    Gather,
    Iota,
    LibCall,
    Literal,
    Map,
    Reduce,
    Rng,
    Scan,
    Sort,
    ToArray,
    ToItem,
    ToScalar,
)
from bcjit.primitives.versions import Stored, Versions, fact_of, stored
from bcjit.primitives.views import is_whole

__all__ = ["GraphEmitter"]


class GraphEmitter(Versions):
    """Appends primitives to a graph; see `Emitter` for the methods."""

    # Arguments

    def is_value(self, operand: Operand) -> TypeGuard[Value]:
        """See `Emitter.is_value`."""
        return isinstance(operand, Stored)

    def is_scalar(self, value: Value) -> bool:
        """See `Emitter.is_scalar`."""
        return stored(value).meta.is_scalar

    def weak_type(self, operand: Operand) -> type | None:
        """See `Emitter.weak_type`."""
        return self.meta.weak_type(fact_of(operand))

    def integer(self, operand: Operand) -> Dim | None:
        """See `Emitter.integer`."""
        return self.meta.integer(fact_of(operand))

    def array(self, operand: Operand) -> Value:
        """See `Emitter.array`."""
        if isinstance(operand, Stored):
            return self._fresh(ToArray(), operand) if operand.meta.is_scalar else operand
        found = self.meta.array(operand if isinstance(operand, tuple | list) else fact_of(operand))
        if isinstance(operand, tuple | list):
            return self._fresh(Literal(found.dtype), operand)
        return self.fill((), operand, found.dtype)

    def scalar(self, value: Value) -> Value:
        """See `Emitter.scalar`."""
        value = stored(value)
        if value.shape or value.meta.is_scalar:
            return value
        return self._fresh(ToScalar(), value)

    def item(self, value: Value, pytype: type) -> Operand:
        """See `Emitter.item`."""
        (node,), _ = self.emit(ToItem(pytype), (value,))
        return node

    def object_type(self, operand: Operand) -> type | None:
        """See `Emitter.object_type`."""
        return self.meta.object_type(fact_of(operand))

    def require(self, relation: Relation) -> None:
        """See `Emitter.require`: the captured graph has a node that checks it."""

    def unknown(self, name: str, of: Value | None = None) -> Dim:
        """See `Emitter.unknown`."""
        return self.meta.unknown(name, None if of is None else stored(of).meta)

    def may_fail(self) -> None:
        """See `Emitter.may_fail`."""
        self.fails = True

    # Primitives

    def map(
        self,
        function: ScalarFunction,
        operands: Sequence[Operand],
        dtypes: Sequence[DType],
        mask: Value | None = None,
    ) -> tuple[Value, ...]:
        """See `Emitter.map`."""
        named = {} if mask is None else {"mask": mask}
        nodes, facts = self.emit(Map(function, tuple(dtypes)), tuple(operands), named)
        return tuple(self.new(node, fact) for node, fact in zip(nodes, facts, strict=True))

    def reduce(
        self,
        function: ScalarFunction,
        value: Value,
        axes: tuple[int, ...],
        dtype: DType,
        initial: Operand = None,
        mask: Value | None = None,
    ) -> Value:
        """See `Emitter.reduce`."""
        given = {"initial": initial, "mask": mask}
        named = {name: operand for name, operand in given.items() if operand is not None}
        return self._fresh(Reduce(function, axes, dtype), value, **named)

    def arg_reduce(self, name: str, value: Value, axis: int) -> Value:
        """See `Emitter.arg_reduce`."""
        return self._fresh(ArgReduce(name, axis), value)

    def scan(self, function: ScalarFunction, value: Value, axis: int, dtype: DType) -> Value:
        """See `Emitter.scan`."""
        return self._fresh(Scan(function, axis, dtype), value)

    def contract(
        self, left: Value, right: Value, labels: tuple[str, str, str], dtype: DType
    ) -> Value:
        """See `Emitter.contract`."""
        return self._fresh(Contract(labels, dtype), left, right)

    def view(self, value: Value, how: ViewMap) -> Value:
        """See `Emitter.view`."""
        return self.view_node(stored(value), how)

    def concat(self, values: Sequence[Value], axis: int, dtype: DType) -> Value:
        """See `Emitter.concat`."""
        return self._fresh(Concat(axis, dtype), *values)

    def gather(self, value: Value, indices: tuple[Value, ...]) -> Value:
        """See `Emitter.gather`."""
        return self._fresh(Gather(), value, *indices)

    def scatter(
        self,
        base: Value,
        item: Operand,
        where: ViewMap | tuple[Value, ...],
        mask: Value | None = None,
    ) -> Value:
        """See `Emitter.scatter`: a new version of all that base is a view of."""
        base = stored(base)
        if isinstance(where, tuple):
            return self.write(base, item, base.chain, {"indices": where})
        chain = base.chain if is_whole(where, base) else (*base.chain, where)
        return self.write(base, item, chain, {} if mask is None else {"mask": mask})

    def fill(self, shape: Shape, item: Operand, dtype: DType) -> Value:
        """See `Emitter.fill`."""
        return self._fresh(Fill(dtype), shape, item)

    def iota(self, length: Dim, dtype: DType) -> Value:
        """See `Emitter.iota`."""
        return self._fresh(Iota(dtype), length)

    def sort(self, value: Value, axis: int, kind: str | None, *, indices: bool) -> Value:
        """See `Emitter.sort`."""
        return self._fresh(Sort(axis, kind, indices), value)

    def lib_call(
        self,
        function: Callable[..., object],
        operands: Sequence[Operand],
        options: Mapping[str, object],
        results: Sequence[tuple[Shape, DType]],
        *,
        can_fail: bool = True,
        sets_flags: bool = True,
    ) -> tuple[Value, ...]:
        """See `Emitter.lib_call`."""
        declared = tuple(MetaValue(shape, dtype) for shape, dtype in results)
        primitive = LibCall(function, tuple(dtype for _, dtype in results), can_fail)
        nodes, _ = self.emit(primitive, tuple(operands), options, declared=declared)
        return tuple(self.new(node, fact) for node, fact in zip(nodes, declared, strict=True))

    def draw(
        self,
        function: Callable[..., object],
        operands: Sequence[Operand],
        options: Mapping[str, Operand],
        results: Sequence[tuple[Shape, DType]],
    ) -> tuple[Value, ...]:
        """See `Emitter.draw`."""
        drawn = tuple(MetaValue(shape, dtype) for shape, dtype in results)
        primitive = Rng(function, "array" if results else "nothing")
        nodes, _ = self.emit(primitive, tuple(operands), options, declared=drawn, draws=True)
        return tuple(self.new(node, fact) for node, fact in zip(nodes, drawn, strict=True))

    def make(
        self, function: Callable[..., object], operands: Sequence[Operand], pytype: type
    ) -> Operand:
        """See `Emitter.make`."""
        declared = (MetaObject(pytype),)
        primitive = Rng(function, "object")
        (node,), _ = self.emit(primitive, tuple(operands), declared=declared, draws=True)
        return node
