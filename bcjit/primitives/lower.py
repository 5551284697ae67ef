"""From the captured level to the primitive level: each call's `expand`, run with the emitter that builds a graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

import numpy as np

from bcjit.dims import Dim, Expr, Relation, ShapeEnv, ShapeMismatch, Symbol, Undecidable
from bcjit.errors import InternalError
from bcjit.fx_graph import Graph, Node, NodeKind, eliminate_dead_code, map_operand
from bcjit.meta import ArrayMeta, Meta, ScalarMeta
from bcjit.ops import OpDef, Unsupported, WouldRaise
from bcjit.ops.meta_emitter import MetaValue
from bcjit.ops.opdef import declared
from bcjit.ops.operators import POWERS, power_is_open
from bcjit.primitives.emitter import GraphEmitter
from bcjit.primitives.versions import CannotLower, Stored, data_size
from bcjit.records import dataclass

__all__ = ["Lowered", "lower", "size_of_input"]


@dataclass(frozen=True, slots=True)
class Lowered:
    """A primitive graph, and what its making relied on."""

    graph: Graph
    env: ShapeEnv

    @property
    def facts(self) -> tuple[Relation, ...]:
        """Relations between sizes that must hold; the capture that made the graph has guards for them."""
        return self.env.facts


# What a captured node is at the primitive level: a value, a Python number, several of them, or nothing.
_Meaning = object


def lower(graph: Graph, example_inputs: Sequence[object]) -> Lowered:
    """Return the primitive graph of a captured graph.

    Parameters
    ----------
    graph
        Complete; it is not changed.
    example_inputs
        What the inputs are now: sizes, from which questions about sizes are answered, and whether arrays share memory.

    Raises
    ------
    CannotLower
        If the graph, or something in it, has no meaning at the primitive level. It stays at the captured level.
    """
    return _Lowering(graph, example_inputs).run()


class _Lowering:
    def __init__(self, graph: Graph, example_inputs: Sequence[object]) -> None:
        self.source = graph
        self.inputs = dict(zip(graph.inputs, example_inputs, strict=True))
        self.graph = Graph()
        self.emitter = GraphEmitter(self.graph, _environment(graph, self.inputs))
        self.values: dict[Node, _Meaning] = {}
        self.examples: dict[Node, object] = {}  # by the inputs of the new graph

    def run(self) -> Lowered:
        try:
            for node in self.source.inputs:  # some stand between calls
                self._input(node)
            for node in self.source.nodes:
                self._node(node)
        except (Unsupported, WouldRaise) as error:
            raise CannotLower("a call has no expansion here", str(error)) from error
        except (ShapeMismatch, Undecidable) as error:
            raise CannotLower("a size is not known", str(error)) from error
        # Views made in passing, that nothing read.
        eliminate_dead_code(self.graph)
        return Lowered(self.graph, self.emitter.env)

    def _node(self, node: Node) -> None:
        self.emitter.begin(node.name, node.line, self._data_sizes(node))
        if node.kind is NodeKind.INPUT:
            return
        if node.kind is NodeKind.CONST:
            self.values[node] = self._of_node(
                self.graph.const(node.target, node.meta[0], name=node.name, line=node.line)
            )
        elif node.kind is NodeKind.OUTPUT:
            self._output(node)
        elif node.kind is not NodeKind.CALL:
            raise CannotLower("loops and branches have no primitives yet", node.name)
        else:
            self._call(node)
            self._bind(node)

    def _data_sizes(self, node: Node) -> list[Dim]:
        """Return the sizes of a call's results that depend on elements, each once; new ones become known."""
        found: dict[Dim, None] = {}
        for meta in node.meta:
            for dim in meta.shape if isinstance(meta, ArrayMeta) else ():
                symbol = data_size(dim)
                if symbol is None:
                    continue
                found[dim] = None
                if symbol not in self.emitter.env.symbols:
                    self.emitter.env.symbol(symbol.name, symbol.kind)
        return list(found)

    def _bind(self, node: Node) -> None:
        """Read the symbols that are read from a node, from what it has become."""
        meaning = self.values[node]
        made = meaning.node if isinstance(meaning, Stored) else meaning
        for symbol, axis in _symbols_of(self.source, node):
            assert isinstance(made, Node)
            self.graph.bind_symbol(symbol, made, axis)

    def _input(self, node: Node) -> None:
        made = self.graph.input(node.name, node.meta[0], line=node.line)
        self.examples[made] = self.inputs[node]
        self.values[node] = self._of_node(made)
        self._bind(node)

    def _of_node(self, node: Node) -> _Meaning:
        meta = node.meta[0]
        if not isinstance(meta, ArrayMeta):
            return node
        constant = node.target if isinstance(node.target, np.generic) else None
        return self.emitter.new(
            node, MetaValue(meta.shape, meta.dtype, is_scalar=meta.is_scalar, constant=constant)
        )

    def _output(self, node: Node) -> None:
        self._check_inputs_apart()
        self.emitter.commit()

        found: dict[Node, object] = {}  # one object each

        def result(leaf: object) -> object:
            if not isinstance(leaf, Node):
                return leaf
            while leaf.alias == "same" and leaf.view_of is not None:
                leaf = leaf.view_of
            if leaf not in found:
                meaning = self.values[leaf]
                self.emitter.begin(leaf.name, leaf.line)
                if isinstance(meaning, Stored):
                    meaning = self.emitter.result(meaning)
                found[leaf] = meaning
            return found[leaf]

        self.graph.output(tuple(map_operand(arg, result) for arg in node.args), line=node.line)

    def _check_inputs_apart(self) -> None:
        """Refuse a write to memory that another input has too: it would be another version there."""
        for storage in self.emitter.written:
            written = self.examples[storage.owner]
            for node, value in self.examples.items():
                if node is storage.owner or not isinstance(value, np.ndarray):
                    continue
                if np.may_share_memory(value, cast("_Shaped", written)):
                    raise CannotLower("an input is written that may overlap another one", node.name)

    # Calls

    def _operand(self, operand: object) -> object:
        """Return an operand of a captured call as `expand` sees it: arrays as they are now."""

        def present(leaf: object) -> object:
            if not isinstance(leaf, Node):
                return leaf
            meaning = self.values[leaf]
            return self.emitter.present(meaning) if isinstance(meaning, Stored) else meaning

        return map_operand(operand, present)

    def _call(self, node: Node) -> None:
        owner = node.args[0] if node.args else None
        if node.op is None and isinstance(owner, Node) and owner.multi:
            results = self.values[owner]
            assert isinstance(results, tuple)
            self.values[node] = results[cast("int", node.args[1])]
            return
        args = tuple(map(self._operand, node.args))
        kwargs = {key: self._operand(arg) for key, arg in node.kwargs.items()}
        if node.op is None:
            self.values[node] = self._number(node, args, kwargs)
        elif _is_open_power(node):
            raise CannotLower("which function a power is depends on the exponent", node.name)
        elif _warns(node):
            raise CannotLower("NumPy warns of how the call is made", node.name)
        elif _is_integer_arithmetic(node):
            # NumPy's scalars report overflow, its loops do not.
            dtypes = tuple(meta.dtype for meta in node.meta if isinstance(meta, ArrayMeta))
            results = self.emitter.lib_call(
                cast("type", node.target), args, kwargs, [((), dtype) for dtype in dtypes]
            )
            scalars = tuple(map(self.emitter.scalar, results))
            self.values[node] = scalars if node.multi else scalars[0]
        else:
            self.values[node] = self._expanded(node, args, kwargs)

    def _number(
        self, node: Node, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> _Meaning:
        """Copy an operation of Python numbers, or one that gives a Python number."""
        if len(node.meta) != 1 or not isinstance(node.meta[0], ScalarMeta) or node.has_effect:
            raise CannotLower("a call is not in the op table", node.name)

        def held(leaf: object) -> object:
            return leaf.node if isinstance(leaf, Stored) else leaf

        return self.graph.call(
            cast("type", node.target),
            tuple(map_operand(arg, held) for arg in args),
            {key: map_operand(arg, held) for key, arg in kwargs.items()},
            meta=node.meta[0],
            can_fail=node.can_fail,
            line=node.line,
            name=node.name,
        )

    def _expanded(
        self, node: Node, args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> _Meaning:
        assert isinstance(node.op, OpDef)
        expand = node.op.spelling(cast("type", node.target)).expand
        before = len(self.graph.nodes)
        bound = declared(expand).bind(self.emitter, *args, **kwargs)
        result = expand(*bound.args, **bound.kwargs)
        if isinstance(result, list):
            result = tuple(result)
        if self.emitter.fails and len(self.graph.nodes) == before:
            raise CannotLower("a call looks at values and computes nothing", node.name)
        if self.emitter.fails:
            for made in self.graph.nodes[before:]:
                made.can_fail = True
        self._check(node, result)
        return result

    def _check(self, node: Node, result: object) -> None:
        """The expansion must give what the capture was told."""
        results = result if isinstance(result, tuple) else () if result is None else (result,)
        metas = tuple(map(_meta, results))
        if len(metas) != len(node.meta) or not all(map(self._agree, metas, node.meta)):
            if self._data_sizes(node):
                raise CannotLower("sizes that depend on elements cannot be told apart", node.name)
            said, found = ("; ".join(map(str, some)) for some in (node.meta, metas))
            raise InternalError(f"lowering {node.name} gives ({found}), the capture has ({said})")

    def _agree(self, one: Meta, other: Meta) -> bool:
        if not isinstance(one, ArrayMeta) or not isinstance(other, ArrayMeta):
            return one == other
        env = self.emitter.env
        alike = one.dtype == other.dtype and one.is_scalar == other.is_scalar
        return (
            alike
            and one.ndim == other.ndim
            and all(
                a == b or env.simplify(a) == env.simplify(b) or env.hint(a) == env.hint(b)
                for a, b in zip(one.shape, other.shape, strict=True)
            )
        )


def _meta(meaning: object) -> Meta:
    if isinstance(meaning, Stored):
        return meaning.meta.meta
    assert isinstance(meaning, Node)
    return meaning.meta[0]


def _symbols_of(graph: Graph, node: Node) -> Iterator[tuple[Symbol, int | None]]:
    """Yield the symbols that are read from a node: more than the operands of the captured graph need."""
    for symbol, (place, axis) in graph.symbols.items():
        if place is node:
            yield symbol, axis
    meta = node.meta[0] if node.kind is NodeKind.INPUT else None
    if isinstance(meta, ArrayMeta):
        for axis, dim in enumerate(meta.shape):
            if isinstance(dim, Expr):
                symbol, *others = dim.symbols()
                if not others and dim == symbol.expr:
                    yield symbol, axis


def _environment(graph: Graph, inputs: Mapping[Node, object]) -> ShapeEnv:
    """Return an environment that answers from the sizes of the inputs, as the capture's did."""
    env = ShapeEnv()
    places = dict(graph.symbols)
    for node in inputs:
        for symbol, axis in _symbols_of(graph, node):
            places.setdefault(symbol, (node, axis))
    for symbol, (node, axis) in places.items():
        hint: int | None = None
        if node in inputs and symbol.kind == "input":
            hint = size_of_input(inputs[node], axis)
        env.symbol(symbol.name, symbol.kind, hint, nonnegative=axis is not None)
    return env


def size_of_input(value: object, axis: int | None) -> int:
    """Return what a symbol is that is read from an input: the length of an axis, or the int itself."""
    return cast("int", value) if axis is None else cast("_Shaped", value).shape[axis]


_Shaped = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


def _warns(node: Node) -> bool:
    """Whether NumPy may warn where nothing that is computed does.

    Of an output that is given by position, and of the cast of what a mask keeps in complex outputs.
    """
    if any(node.target is one for one in (np.maximum, np.minimum)) and len(node.args) > 2:
        return True
    metas = [written.meta[0] for written in node.writes]
    return "where" in node.kwargs and any(
        isinstance(meta, ArrayMeta) and meta.dtype.kind == "c" for meta in metas
    )


def _is_open_power(node: Node) -> bool:
    """Whether the exponent is a number that is not known, and NumPy has other functions, with other last bits, for some."""
    if node.target not in POWERS or not isinstance(node.args[0], Node):
        return False
    base, exponent = node.args[0].meta[0], node.args[1]
    if not isinstance(base, ArrayMeta) or not power_is_open(base.dtype):
        return False
    return isinstance(exponent, Expr) or (
        isinstance(exponent, Node) and isinstance(exponent.meta[0], ScalarMeta)
    )


_CHECKED: Final = "iu"


def _is_integer_arithmetic(node: Node) -> bool:
    """Whether a call is an operator on NumPy scalars that gives integers."""
    scalars = all(
        not isinstance(used.meta[0], ArrayMeta) or used.meta[0].is_scalar for used in node.uses()
    )
    return (
        scalars
        and not isinstance(node.target, np.ufunc)
        and getattr(node.target, "__module__", "") in {"_operator", "builtins"}
        and bool(node.meta)
        and all(
            isinstance(meta, ArrayMeta) and meta.is_scalar and meta.dtype.kind in _CHECKED
            for meta in node.meta
        )
    )
