"""The emitter that finds facts: runs an op's expansion over metas only; computes nothing and builds no graph.

Its values are `MetaValue`: shape and dtype, and how the memory relates to an argument of the call. Sharing only moves
down this chain, from view to view::

    same      the argument itself
    view      another array object over the argument's memory
    maybe     the argument, a view of it, or new memory, by layout
    fresh     new memory
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from typing import Literal, TypeAlias, TypeGuard

import numpy as np

from bcjit.dims import Dim, Expr, Relation, ShapeEnv, Symbol, Undecidable, product
from bcjit.meta import ArrayMeta, ObjectMeta, ScalarMeta
from bcjit.ops.emitter import (
    Basic,
    Broadcast,
    Diagonal,
    DType,
    MemoryOrder,
    NewAxis,
    Operand,
    Part,
    Permute,
    Pick,
    Range,
    Reinterpret,
    Reshape,
    Shape,
    Slice,
    Value,
    ViewMap,
    Window,
)
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    INTP,
    accepts_any_int,
    broadcast,
    cast_can_fail,
    check_dtype,
    default_dtype,
    require_int64,
    weak_can_fail,
)
from bcjit.ops.scalar_functions import CAST, ScalarFunction
from bcjit.records import dataclass, replace

__all__ = ["Argument", "MetaEmitter", "MetaObject", "MetaValue", "Sharing"]

Sharing: TypeAlias = Literal["same", "view", "maybe", "fresh"]
# Position or keyword in the call; an item of a sequence there is the pair of its place and its index.
Argument: TypeAlias = "int | str | tuple[Argument, int]"

_PYTHON_SCALARS = frozenset({bool, int, float, complex})
_REAL_PART: dict[str, str] = {"F": "f", "D": "d", "G": "g"}


@dataclass(frozen=True, slots=True)
class MetaValue:
    """A value of which only the facts are known."""

    shape: Shape
    dtype: DType
    sharing: Sharing = "fresh"
    origin: Argument | None = None  # the argument whose memory this shares (or may share)
    is_scalar: bool = False
    constant: np.generic | None = None  # a NumPy scalar that is known
    written: bool = False  # a version of the argument that this call wrote

    @property
    def meta(self) -> ArrayMeta:
        """What the caller gets."""
        return ArrayMeta(self.shape, self.dtype, self.is_scalar)


@dataclass(frozen=True, slots=True)
class MetaObject:
    """An opaque object of which only the class is known."""

    pytype: type
    origin: Argument | None = None  # the argument that it is; None if the call makes it


def _meta_value(value: Value) -> MetaValue:
    assert isinstance(value, MetaValue)
    return value


class MetaEmitter:
    """Collects the facts about one call; see `Emitter` for the methods."""

    def __init__(self, env: ShapeEnv) -> None:
        self.env = env
        self.writes: list[Argument] = []
        self._new: set[Symbol] = set()
        self.requires: list[Relation] = []
        # Unknown sizes, and the arguments whose elements that are not zero they count.
        self.sizes: list[tuple[Symbol, Argument]] = []
        self.can_fail = False
        self.sets_flags = False  # some result so far may have set a floating-point flag
        self.torn = False
        self._stops_midway = False  # some loop so far may have raised at any element
        self.partial = False
        self.draws = False
        self.reads: set[Argument] = set()  # arguments whose elements something was made of

    # Arguments

    def argument(self, operand: object, where: Argument) -> object:
        """Return an argument of the call as expand sees it: metas become values, also inside sequences."""
        if isinstance(operand, ArrayMeta):
            check_dtype(operand.dtype)
            return MetaValue(
                operand.shape, operand.dtype, "same", where, is_scalar=operand.is_scalar
            )
        if isinstance(operand, np.generic):
            check_dtype(operand.dtype)
            return MetaValue((), operand.dtype, "same", where, is_scalar=True, constant=operand)
        if isinstance(operand, ObjectMeta):
            return MetaObject(operand.pytype, where)
        if type(operand) is tuple:
            return tuple(self.argument(item, (where, i)) for i, item in enumerate(operand))
        if type(operand) is list:
            return [self.argument(item, (where, i)) for i, item in enumerate(operand)]
        if type(operand) is slice:
            return slice(
                *(self.argument(i, where) for i in (operand.start, operand.stop, operand.step))
            )
        return operand

    def is_value(self, operand: Operand) -> TypeGuard[Value]:
        """See `Emitter.is_value`."""
        return type(operand) is MetaValue

    def is_scalar(self, value: Value) -> bool:
        """See `Emitter.is_scalar`."""
        return _meta_value(value).is_scalar

    def weak_type(self, operand: Operand) -> type | None:
        """See `Emitter.weak_type`."""
        if isinstance(operand, ScalarMeta):
            return operand.pytype
        if isinstance(operand, Expr):
            return int
        return type(operand) if type(operand) in _PYTHON_SCALARS else None

    def integer(self, operand: Operand) -> Dim | None:
        """See `Emitter.integer`."""
        if type(operand) is int or isinstance(operand, Expr):
            return operand
        if isinstance(operand, MetaValue) and isinstance(operand.constant, np.integer):
            return int(operand.constant)
        return None

    def array(self, operand: Operand) -> Value:
        """See `Emitter.array`."""
        if isinstance(operand, MetaValue):
            if operand.is_scalar:
                return MetaValue((), operand.dtype, constant=operand.constant)
            return operand
        if isinstance(operand, tuple | list):
            return self._constant_array(operand)
        require_int64(self, operand)
        return self.fill((), operand, default_dtype(self, operand))

    def _constant_array(self, items: Sequence[object]) -> Value:
        if not _all_constant(items):
            raise Unsupported("a sequence of values is used as an array")
        try:
            array = np.asarray(self._examples(items))
        except (ValueError, OverflowError) as error:
            raise WouldRaise(str(error)) from None
        return MetaValue(array.shape, check_dtype(array.dtype))

    def _examples(self, items: Sequence[object]) -> list[object]:
        """Return numbers of the same types: any int that fits an int64 stands for the others."""
        found: list[object] = []
        for item in items:
            if isinstance(item, Expr):
                require_int64(self, item)
                found.append(1)
            else:
                found.append(self._examples(item) if isinstance(item, tuple | list) else item)
        return found

    def scalar(self, value: Value) -> Value:
        """See `Emitter.scalar`."""
        value = _meta_value(value)
        if value.shape or value.is_scalar:
            return value
        return MetaValue((), value.dtype, is_scalar=True)

    def item(self, value: Value, pytype: type) -> Operand:
        """See `Emitter.item`."""
        self._read(value)
        return ScalarMeta(pytype)

    def object_type(self, operand: Operand) -> type | None:
        """See `Emitter.object_type`."""
        return operand.pytype if isinstance(operand, MetaObject) else None

    def may_fail(self) -> None:
        """See `Emitter.may_fail`."""
        self.can_fail = True

    def require(self, relation: Relation) -> None:
        """See `Emitter.require`."""
        if not relation.symbols().isdisjoint(self._new):
            # It is the call itself that decides them.
            raise Undecidable(relation)
        if relation not in self.requires:
            self.requires.append(relation)

    def unknown(self, name: str, of: Value | None = None) -> Dim:
        """See `Emitter.unknown`."""
        taken = {symbol.name for symbol in self.env.symbols}
        names = chain((name,), (f"{name}_{i}" for i in count(2)))
        fresh = next(each for each in names if each not in taken)
        symbol = self.env.symbol(fresh, "data")
        self._new.add(symbol)
        if isinstance(of, MetaValue) and of.sharing == "same" and of.origin is not None:
            self.sizes.append((symbol, of.origin))
        return symbol.expr

    def _may_set_flags(self) -> None:
        self.can_fail = self.sets_flags = True

    def _use(self, operand: Operand, dtype: DType, *, compares: bool = False) -> None:
        """Account for the cast of an operand to a loop's dtype."""
        self._read(operand)
        if isinstance(operand, MetaValue):
            if operand.dtype.kind == "c" and dtype.kind in "iuf":
                raise Unsupported("casting complex to real warns")
            if cast_can_fail(operand.dtype, dtype):
                self._may_set_flags()
            return
        weak = self.weak_type(operand)
        assert weak is not None
        # A Python scalar is converted before anything is computed or written.
        if weak_can_fail(weak, operand, dtype, compares=compares):
            self.can_fail = True

    def _read(self, *operands: Operand) -> None:
        for operand in operands:
            if isinstance(operand, tuple | list):
                self._read(*operand)
            elif isinstance(operand, MetaValue) and operand.origin is not None:
                self.reads.add(operand.origin)

    # Primitives

    def map(
        self,
        function: ScalarFunction,
        operands: Sequence[Operand],
        dtypes: Sequence[DType],
        mask: Value | None = None,
    ) -> tuple[Value, ...]:
        """See `Emitter.map`."""
        shape: Shape = () if mask is None else mask.shape
        any_int = accepts_any_int(self, function, operands)
        for operand, dtype in zip(operands, dtypes, strict=False):
            if isinstance(operand, MetaValue):
                shape = broadcast(self, shape, operand.shape)
            self._use(operand, dtype, compares=any_int)
        if function is CAST:
            self._use(MetaValue((), dtypes[0]), dtypes[1])
        if function.can_fail(dtypes[0]):
            self._may_set_flags()
        if function.stops_midway(dtypes[0]) and not _is_natural(operands[-1]):
            self._stops_midway = True
        return tuple(MetaValue(shape, dtype) for dtype in dtypes[len(operands) :])

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
        del mask
        self._use(value, dtype)
        if initial is not None:
            self._use(initial, dtype)
        if function.can_fail(dtype):
            self._may_set_flags()
        return MetaValue(tuple(d for i, d in enumerate(value.shape) if i not in axes), dtype)

    def arg_reduce(self, name: str, value: Value, axis: int) -> Value:
        """See `Emitter.arg_reduce`."""
        del name
        self._read(value)
        if value.dtype.kind == "c":
            # Comparing complex NaN sets the invalid flag.
            self._may_set_flags()
        return MetaValue(value.shape[:axis] + value.shape[axis + 1 :], INTP)

    def scan(self, function: ScalarFunction, value: Value, axis: int, dtype: DType) -> Value:
        """See `Emitter.scan`."""
        del axis
        self._use(value, dtype)
        if function.can_fail(dtype):
            self._may_set_flags()
        return MetaValue(value.shape, dtype)

    def contract(
        self, left: Value, right: Value, labels: tuple[str, str, str], dtype: DType
    ) -> Value:
        """See `Emitter.contract`."""
        sizes: dict[str, Dim] = {}
        for value, names in ((left, labels[0]), (right, labels[1])):
            self._use(value, dtype)
            for name, dim in zip(names, value.shape, strict=True):
                known = sizes.setdefault(name, dim)
                sizes[name] = self._agreed(known, dim, given=name in labels[2])
        if dtype.kind in "fc":
            self._may_set_flags()
        return MetaValue(tuple(sizes[name] for name in labels[2]), dtype)

    def _agreed(self, one: Dim, other: Dim, *, given: bool) -> Dim:
        """Return the size that two axes must have in common; `given` says that the result has it too."""
        if one == other:
            return one
        try:
            return self.env.unify(one, other)
        except Undecidable:
            if given:
                self.require(Relation("==", one, other))
            self.may_fail()  # NumPy finds out
            return one

    def view(self, value: Value, how: ViewMap) -> Value:
        """See `Emitter.view`."""
        value = _meta_value(value)
        sharing: Sharing = "view" if value.sharing == "same" else value.sharing
        if isinstance(how, Reshape | MemoryOrder) and sharing == "view":
            sharing = "maybe"
        dtype = value.dtype
        if isinstance(how, Part):
            dtype = np.dtype(_REAL_PART[value.dtype.char])
        elif isinstance(how, Reinterpret):
            dtype = how.dtype
        origin = None if sharing == "fresh" else value.origin
        return MetaValue(_view_shape(value.shape, how), dtype, sharing, origin)

    def concat(self, values: Sequence[Value], axis: int, dtype: DType) -> Value:
        """See `Emitter.concat`."""
        total: Dim = 0
        for value in values:
            self._use(value, dtype)
            total = value.shape[axis] + total
        shape = values[0].shape
        return MetaValue((*shape[:axis], total, *shape[axis + 1 :]), dtype)

    def gather(self, value: Value, indices: tuple[Value, ...]) -> Value:
        """See `Emitter.gather`."""
        self._read(value, *indices)
        if indices[0].dtype.kind == "b":
            (mask,) = indices
            return MetaValue(
                (self.unknown("selected", mask), *value.shape[len(mask.shape) :]), value.dtype
            )
        shape: Shape = ()
        for index in indices:
            shape = broadcast(self, shape, index.shape)
        self.may_fail()
        return MetaValue(shape + value.shape[len(indices) :], value.dtype)

    def scatter(
        self,
        base: Value,
        item: Operand,
        where: ViewMap | tuple[Value, ...],
        mask: Value | None = None,
    ) -> Value:
        """See `Emitter.scatter`."""
        base = _meta_value(base)
        self._read(mask, *(where if isinstance(where, tuple) else ()))
        computed = self.sets_flags
        self._use(item, base.dtype)
        if base.origin is not None or isinstance(where, tuple):
            # The array may be read-only; index arrays may be out of bounds; both before anything is written.
            self.can_fail = True
        # Writing the same again is harmless, unless what is written may have changed by the first writing.
        shared = isinstance(item, MetaValue) and item.sharing != "fresh" and not item.is_scalar
        self.torn = self.torn or computed or (shared and self.sets_flags)
        self.partial = self.partial or self._stops_midway
        if base.origin is not None and base.origin not in self.writes:
            self.writes.append(base.origin)
        return replace(base, written=True)

    def fill(self, shape: Shape, item: Operand, dtype: DType) -> Value:
        """See `Emitter.fill`."""
        if item is not None:
            self._use(item, dtype)
        return MetaValue(shape, dtype)

    def iota(self, length: Dim, dtype: DType) -> Value:
        """See `Emitter.iota`."""
        return MetaValue((length,), dtype)

    def sort(self, value: Value, axis: int, kind: str | None, *, indices: bool) -> Value:
        """See `Emitter.sort`."""
        del axis, kind
        self._read(value)
        if value.dtype.kind == "c":
            self._may_set_flags()
        return MetaValue(value.shape, INTP if indices else value.dtype)

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
        del function, options
        self._read(*operands)
        if can_fail:
            self.can_fail = True
            self.sets_flags = self.sets_flags or sets_flags
        return tuple(MetaValue(shape, dtype) for shape, dtype in results)

    def draw(
        self,
        function: Callable[..., object],
        operands: Sequence[Operand],
        options: Mapping[str, Operand],
        results: Sequence[tuple[Shape, DType]],
    ) -> tuple[Value, ...]:
        """See `Emitter.draw`."""
        del function, operands, options
        self.can_fail = self.draws = True
        return tuple(MetaValue(shape, dtype) for shape, dtype in results)

    def make(
        self, function: Callable[..., object], operands: Sequence[Operand], pytype: type
    ) -> Operand:
        """See `Emitter.make`."""
        del function, operands
        self.can_fail = self.draws = True
        return MetaObject(pytype)


def _is_natural(exponent: Operand) -> bool:
    """Whether an exponent is known not to be negative."""
    return type(exponent) in {bool, int} and exponent >= 0  # type: ignore[operator]  # a number, by its type


def _all_constant(items: Sequence[object]) -> bool:
    return all(
        _all_constant(item)
        if isinstance(item, tuple | list)
        else type(item) in _PYTHON_SCALARS or isinstance(item, Expr)
        for item in items
    )


def _view_shape(shape: Shape, how: ViewMap) -> Shape:
    match how:
        case Basic(items):
            result: list[Dim] = []
            for item in items:
                if isinstance(item, Range | Slice):
                    result.append(item.length)
                elif isinstance(item, NewAxis):
                    result.append(1)
                else:
                    assert isinstance(item, Pick)
            return tuple(result)
        case Permute(axes):
            return tuple(shape[axis] for axis in axes)
        case Broadcast(target) | Reshape(target) | Reinterpret(_, target):
            return target
        case MemoryOrder():
            return (product(shape),)
        case Part():
            return shape
        case Window():
            return how.shape + how.sizes
        case Diagonal():
            kept = [d for i, d in enumerate(shape) if i not in {how.axis1, how.axis2}]
            return (*kept, how.length)
