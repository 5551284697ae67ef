"""What a call of a graph computes for one element, found by running its expansion; it groups nothing and makes no code.

Only calls whose expansion is Map alone have an answer. The shape is the node's own: whatever such a call computes between is
broadcast to it.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from typing import Final, NoReturn, TypeGuard, cast

import numpy as np

from bcjit.backends.native.scalars import BETWEEN, Apply, Constant, DType, Item, Leaf
from bcjit.dims import Expr, ShapeEnv, Undecidable
from bcjit.fx_graph import Node, NodeKind, map_operand
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.ops import OpDef, OpFailure
from bcjit.ops.emitter import Basic, Broadcast, Operand, Range, Shape, Value, ViewMap
from bcjit.ops.meta_emitter import MetaEmitter, MetaValue
from bcjit.ops.opdef import declared
from bcjit.ops.operators import POWERS, power_is_open
from bcjit.ops.scalar_functions import CAST, CLIP, SELECT, ScalarFunction
from bcjit.records import dataclass

__all__ = ["NotElementwise", "Tracer", "copies", "expanded", "leaf_of", "number_of", "traced"]


class NotElementwise(Exception):
    """The call does something else than computing element by element."""


@dataclass(frozen=True, slots=True)
class _Traced(MetaValue):
    """A value and how an element of it is computed."""

    item: Item | None = None


@dataclass(frozen=True, slots=True)
class _Weak(ScalarMeta):
    """A Python number that is known when the kernel is called."""

    source: object = None


# Functions that lay out what they compute in C order for operands in C order and in Fortran's for such ones, as ufuncs do, with the
# keywords that change nothing of that. (np.select, np.copy and the types of scalars are others; what np.isclose gives is a view.)
_FUNCTIONS: Final[dict[object, frozenset[str]]] = {
    np.where: frozenset(),
    np.clip: frozenset({"min", "max", "a_min", "a_max", "dtype"}),
    np.ndarray.clip: frozenset({"min", "max", "dtype"}),
    np.ndarray.astype: frozenset({"dtype"}),
    np.ndarray.conj: frozenset(),
    np.ndarray.conjugate: frozenset(),
    np.around: frozenset({"decimals"}),
    np.round: frozenset({"decimals"}),
    np.ndarray.round: frozenset({"decimals"}),
    np.angle: frozenset({"deg"}),
    np.isposinf: frozenset(),
    np.isneginf: frozenset(),
    np.nan_to_num: frozenset({"nan", "posinf", "neginf"}),
    np.sinc: frozenset(),
    np.fix: frozenset(),
}
# Of these, those that copy: where axes repeat elements, or do not lie side by side, a copy is laid out otherwise than what a ufunc makes.
_COPIES: Final = frozenset(
    {np.ndarray.astype, np.around, np.round, np.ndarray.round, np.nan_to_num}
)
# Most arguments by position: what comes behind says where the result lies.
_MOST_ARGUMENTS: Final[dict[object, int]] = {
    np.clip: 3, np.ndarray.clip: 3, np.ndarray.astype: 2, np.around: 2, np.round: 2, np.ndarray.round: 2,
    np.isposinf: 1, np.isneginf: 1, np.nan_to_num: 1, np.fix: 1, np.ndarray.conj: 1, np.ndarray.conjugate: 1,
}  # fmt: skip


def leaf_of(node: Node) -> _Traced | _Weak:
    """Return what stands for an operand: its meta, with where it comes from."""
    if node.multi or len(node.meta) != 1:
        raise NotElementwise
    meta = node.meta[0]
    if isinstance(meta, ArrayMeta):
        constant = node.target if isinstance(node.target, np.generic) else None
        leaf = Leaf(node, meta.dtype)
        return _Traced(
            meta.shape, meta.dtype, "same", is_scalar=meta.is_scalar, constant=constant, item=leaf
        )
    if isinstance(meta, ScalarMeta) and meta.pytype in (bool, int, float, complex):
        return _Weak(meta.pytype, node)
    raise NotElementwise


def traced(node: Node) -> Item | None:
    """Return how an element of a call's result is computed from elements of its operands, as `Leaf`; None where that is not what it does."""
    if not _may_be(node):
        return None
    meta = node.meta[0]
    assert isinstance(meta, ArrayMeta)
    try:
        result = expanded(node, Tracer(meta.shape))
    except (NotElementwise, OpFailure, Undecidable):
        return None
    item = result.item if isinstance(result, _Traced) else None
    return item if isinstance(item, Apply) and item.dtype == meta.dtype else None


def expanded(node: Node, tracer: Tracer, leaf_of: Callable[[Node], object] = leaf_of) -> object:
    """Return what the expansion of a call of the op table gives under a tracer; `leaf_of` says what stands for an operand: by default, where it comes from."""
    leaves: dict[Node, object] = {}

    def operand(leaf: object) -> object:
        if isinstance(leaf, Node):
            if leaf not in leaves:
                leaves[leaf] = leaf_of(leaf)
            return leaves[leaf]
        return leaf

    assert isinstance(node.op, OpDef)
    args = [map_operand(arg, operand) for arg in node.args]
    kwargs = {key: map_operand(arg, operand) for key, arg in node.kwargs.items()}
    expand = node.op.spelling(cast("Callable[..., object]", node.target)).expand
    bound = declared(expand).bind(tracer, *args, **kwargs)
    return expand(*bound.args, **bound.kwargs)


def _may_be(node: Node) -> bool:
    if node.kind is not NodeKind.CALL or node.has_effect or node.multi or len(node.meta) != 1:
        return False
    meta = node.meta[0]
    if not isinstance(meta, ArrayMeta) or meta.is_scalar or not meta.shape or node.alias != "fresh":
        return False
    if not isinstance(node.op, OpDef):
        return False
    target = node.target
    if isinstance(target, np.ufunc):
        return len(node.args) == target.nin and node.kwargs.keys() <= {"dtype"}
    if meta.dtype.kind == "c" and target is operator.mul and (node.temporaries or (0, 1))[1]:
        return False  # NumPy may swap the operands, which shows in the last bits: see `elision`
    if target in POWERS and any(isinstance(arg, Node) for arg in node.args[1:]):
        return False  # which ufunc it is depends on the exponent's value
    if target in POWERS and power_is_open(meta.dtype) and isinstance(node.args[1], Expr):
        return False
    if getattr(target, "__module__", "") == "_operator" or target in (builtins.abs, builtins.pow):
        return target is not operator.getitem and not node.kwargs
    if target not in _FUNCTIONS or len(node.args) > _MOST_ARGUMENTS.get(target, 9):
        return False
    return node.kwargs.keys() <= _FUNCTIONS[target]


def copies(node: Node) -> bool:
    """Whether the result of a call lies as a copy of its operand does."""
    return node.target in _COPIES


class Tracer(MetaEmitter):
    """Keeps what Map computes, and refuses all else."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(ShapeEnv())
        self.shape = shape
        self._numbers: dict[tuple[object, object], Item] = {}

    def is_value(self, operand: Operand) -> TypeGuard[Value]:
        """See `Emitter.is_value`."""
        return isinstance(operand, _Traced)

    def array(self, operand: Operand) -> Value:
        """See `Emitter.array`."""
        if isinstance(operand, _Traced):
            return operand
        if type(operand) in (bool, int, float, complex):
            dtype = np.dtype(type(operand))
            return _Traced((), dtype, item=_constant(operand, dtype))
        raise NotElementwise

    def scalar(self, value: Value) -> Value:
        """See `Emitter.scalar`."""
        return value

    def map(
        self,
        function: ScalarFunction,
        operands: Sequence[Operand],
        dtypes: Sequence[DType],
        mask: Value | None = None,
    ) -> tuple[Value, ...]:
        """See `Emitter.map`."""
        if mask is not None or len(dtypes) != len(operands) + 1 or function.nout != 1:
            raise NotElementwise
        if function is CLIP and dtypes[0].char in "fd" and all(map(_is_number, operands[1:])):
            function = BETWEEN
        items = tuple(
            self.converted(operand, dtype) for operand, dtype in zip(operands, dtypes, strict=False)
        )
        return (_Traced(self.shape, dtypes[-1], item=Apply(function, tuple(dtypes), items)),)

    def converted(self, operand: Operand, dtype: DType) -> Item:
        """Return an operand in a dtype."""
        if isinstance(operand, _Traced):
            assert operand.item is not None
            if operand.dtype == dtype:
                return operand.item
            return Apply(CAST, (operand.dtype, dtype), (operand.item,))
        if isinstance(operand, _Weak | Expr):
            source = operand.source if isinstance(operand, _Weak) else operand
            key = source, dtype
            if key not in self._numbers:
                self._numbers[key] = Leaf(source, dtype)
            return self._numbers[key]
        return _constant(operand, dtype)

    def view(self, value: Value, how: ViewMap) -> Value:
        """See `Emitter.view`: only what broadcasting undoes, and all of it."""
        if not isinstance(value, _Traced) or not (
            isinstance(how, Broadcast) or _is_whole(how, value)
        ):
            raise NotElementwise
        return value

    def fill(self, shape: Shape, item: Operand, dtype: DType) -> Value:
        """See `Emitter.fill`."""
        if shape or item is None:
            raise NotElementwise
        return _Traced((), dtype, item=_constant(item, dtype))

    def scatter(
        self,
        base: Value,
        item: Operand,
        where: ViewMap | tuple[Value, ...],
        mask: Value | None = None,
    ) -> Value:
        """See `Emitter.scatter`: only into all of what was just made, at a mask."""
        if not (isinstance(base, _Traced) and isinstance(base.item, Apply)):
            raise NotElementwise
        if not isinstance(mask, _Traced) or not _is_whole(where, base):
            raise NotElementwise
        dtypes = (mask.dtype, base.dtype, base.dtype, base.dtype)
        (made,) = self.map(SELECT, (mask, item, base), dtypes)
        return made

    def gather(self, value: Value, indices: tuple[Value, ...]) -> Value:
        """See `Emitter.gather`: `gathers` knows some."""
        raise NotElementwise

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise NotElementwise

    reduce = arg_reduce = scan = contract = concat = iota = sort = lib_call = draw = make = item = (
        _refuse
    )


def _is_number(operand: Operand) -> bool:
    return not isinstance(operand, _Traced) or operand.shape == ()


def number_of(value: object, dtype: DType) -> Item:
    """Return a Python number as it is stored in an array."""
    if isinstance(value, Node):
        weak = leaf_of(value)
        if not isinstance(weak, _Weak) or (weak.pytype is float and dtype.kind != "f"):
            raise NotElementwise
        return Leaf(value, dtype)
    if isinstance(value, Expr):
        return Leaf(value, dtype)
    if type(value) is complex and dtype.kind != "c":
        raise NotElementwise
    return _constant(value, dtype)


# Of dtypes that a Python number is converted to without a loss of which NumPy would speak.
_KINDS_OF: Final = {bool: "biufc", int: "iufc", float: "fc", complex: "c"}


def _is_whole(how: object, value: Value) -> bool:
    whole = tuple(Range(0, 1, dim) for dim in value.shape)
    return isinstance(how, Basic) and how.items == whole


def _constant(value: object, dtype: DType) -> Constant:
    """Return a Python number as NumPy converts it for a loop; not where it would say something of that."""
    if type(value) not in _KINDS_OF or dtype.kind not in _KINDS_OF[type(value)]:
        raise NotElementwise
    try:
        # Nothing here touches the filters of warnings: what was warned of once would be warned of again.
        with np.errstate(all="raise"):
            return Constant(dtype.type(value))
    except (ArithmeticError, ValueError, TypeError):
        raise NotElementwise from None
