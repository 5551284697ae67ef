"""The closed set of primitives: what each computes, in NumPy, and the facts of its results; knows no graph.

A primitive is a frozen object with the static facts of a computation; called on NumPy values it computes. It is pure
but for Commit, Rng, and the forms that bufferisation makes (``in_place``). Where NumPy has a routine for exactly this
computation it is that routine, so that values are NumPy's to the bit.

Operands are arrays, NumPy scalars, Python numbers, and tuples of sizes. ``facts`` takes what is known of them (a
``MetaValue`` for each array) and gives what is known of the results, None where nothing follows from the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast

import numpy as np

from bcjit.meta import ScalarMeta
from bcjit.ops.emitter import DType, Shape, Value, ViewMap
from bcjit.ops.meta_emitter import MetaEmitter, MetaObject, MetaValue
from bcjit.ops.scalar_functions import CAST, SELECT, ScalarFunction
from bcjit.primitives.views import Array, follow, join_view, join_views
from bcjit.records import dataclass

__all__ = [
    "PRIMITIVES",
    "ArgReduce",
    "Claim",
    "Commit",
    "Concat",
    "Contract",
    "Fact",
    "Fill",
    "Gather",
    "Iota",
    "LibCall",
    "Literal",
    "Map",
    "Primitive",
    "Reduce",
    "Rng",
    "Scan",
    "Scatter",
    "Sort",
    "ToArray",
    "ToItem",
    "ToScalar",
    "View",
]

Fact: TypeAlias = MetaValue | MetaObject | ScalarMeta
Dims: TypeAlias = tuple[Any, ...]


class Primitive:
    """What all primitives have."""

    __slots__ = ()

    @property
    def __name__(self) -> str:
        """What a graph's text calls it."""
        return type(self).__qualname__.lower()

    def __call__(self, *operands: Any, **named: Any) -> object:
        """Compute, on NumPy values."""
        raise NotImplementedError

    def facts(self, e: MetaEmitter, *operands: Any, **named: Any) -> tuple[Fact, ...] | None:
        """Return the facts of the results; a flag of `e` says whether the computation can fail."""
        raise NotImplementedError


def _arrays(results: object) -> object:
    """Return results as arrays, several in a tuple."""
    if isinstance(results, tuple):
        return tuple(np.asarray(result) for result in results)
    return np.asarray(results)


def _as_values(values: Sequence[Value]) -> tuple[MetaValue, ...]:
    return cast("tuple[MetaValue, ...]", tuple(values))


# Elementwise


@dataclass(frozen=True, slots=True)
class Map(Primitive):
    """Cast to the loop's dtypes, broadcast, apply elementwise.

    With ``in_place`` the result goes into a view (of these forms) of the array ``out``, which is returned.
    """

    function: ScalarFunction
    dtypes: tuple[DType, ...]
    in_place: tuple[ViewMap, ...] | None = None

    @property
    def __name__(self) -> str:
        """``map_add``."""
        return f"map_{self.function.name}"

    def __call__(
        self, *operands: Any, out: Any = None, dims: Dims = (), mask: Any = None
    ) -> object:
        if mask is not None:
            return self._masked(operands, mask)
        if self.in_place is None:
            return self._results(operands, {})
        target = out
        for how in join_views(self.in_place, dims):
            target = follow(target, how)
        self._results(operands, {"out": target, "casting": "unsafe"})
        return out

    def _masked(self, operands: Sequence[Any], mask: Any) -> object:
        shape = np.broadcast_shapes(mask.shape, *(np.shape(operand) for operand in operands))
        out = tuple(np.zeros(shape, dtype) for dtype in self.dtypes[len(operands) :])
        return self._results(operands, {"out": out, "where": mask})

    def _results(self, operands: Sequence[Any], options: dict[str, Any]) -> object:
        if self.function is CAST:
            return np.asarray(operands[0], self.dtypes[0]).astype(self.dtypes[1])
        cast = [self._converted(x, d) for x, d in zip(operands, self.dtypes, strict=False)]
        if self.function is SELECT:
            return np.array(np.where(*cast))
        assert self.function.ufunc is not None
        # Python ints that no dtype holds are compared as they are.
        if all(isinstance(x, np.ndarray | np.generic) for x in cast):
            options["signature"] = self.dtypes
        return _arrays(self.function.ufunc(*cast, **options))

    def _converted(self, operand: Any, dtype: DType) -> Any:
        if isinstance(operand, np.ndarray | np.generic):
            return operand if operand.dtype == dtype else operand.astype(dtype)
        return operand if self.function.compares else dtype.type(operand)

    def facts(
        self,
        e: MetaEmitter,
        *operands: Any,
        out: MetaValue | None = None,
        dims: Dims = (),
        mask: MetaValue | None = None,
    ) -> tuple[Fact, ...]:
        results = _as_values(e.map(self.function, operands, self.dtypes, mask))
        return results if out is None else (out,)


# Folds


@dataclass(frozen=True, slots=True)
class Reduce(Primitive):
    """Cast to the loop's dtype and fold axes away; ``initial`` is a Python number, or not given."""

    function: ScalarFunction
    axes: tuple[int, ...]
    dtype: DType

    @property
    def __name__(self) -> str:
        """``reduce_add``."""
        return f"reduce_{self.function.name}"

    def __call__(self, value: Any, initial: Any = None, mask: Any = None) -> object:
        assert self.function.ufunc is not None
        given = {} if initial is None else {"initial": initial}
        if mask is not None:
            given["where"] = mask
        reduce: Any = self.function.ufunc.reduce
        return np.asarray(reduce(value, axis=self.axes, dtype=self.dtype, **given))

    def facts(
        self, e: MetaEmitter, value: MetaValue, initial: Any = None, mask: MetaValue | None = None
    ) -> tuple[Fact, ...]:
        found = e.reduce(self.function, value, self.axes, self.dtype, initial, mask)
        return _as_values([found])


@dataclass(frozen=True, slots=True)
class ArgReduce(Primitive):
    """Position of the first extreme element along an axis."""

    name: str  # "argmax" or "argmin"
    axis: int

    def __call__(self, value: Any) -> object:
        return np.asarray(getattr(np, self.name)(value, axis=self.axis))

    def facts(self, e: MetaEmitter, value: MetaValue) -> tuple[Fact, ...]:
        return _as_values([e.arg_reduce(self.name, value, self.axis)])


@dataclass(frozen=True, slots=True)
class Scan(Primitive):
    """Running fold along an axis."""

    function: ScalarFunction
    axis: int
    dtype: DType

    @property
    def __name__(self) -> str:
        """``scan_add``."""
        return f"scan_{self.function.name}"

    def __call__(self, value: Any) -> object:
        assert self.function.ufunc is not None
        return self.function.ufunc.accumulate(value, axis=self.axis, dtype=self.dtype)

    def facts(self, e: MetaEmitter, value: MetaValue) -> tuple[Fact, ...]:
        return _as_values([e.scan(self.function, value, self.axis, self.dtype)])


@dataclass(frozen=True, slots=True)
class Contract(Primitive):
    """Sum of products, with axis labels as in ``einsum`` (left, right, result)."""

    labels: tuple[str, str, str]
    dtype: DType

    def __call__(self, left: Any, right: Any) -> object:
        operands = left.astype(self.dtype, copy=False), right.astype(self.dtype, copy=False)
        routine = _routine(*self.labels)
        if routine is not None:
            return np.asarray(routine(*operands))
        return np.asarray(np.einsum("{},{}->{}".format(*self.labels), *operands))

    def facts(self, e: MetaEmitter, left: MetaValue, right: MetaValue) -> tuple[Fact, ...]:
        return _as_values([e.contract(left, right, self.labels, self.dtype)])


def _routine(left: str, right: str, result: str) -> Any:
    """Return what NumPy has for such labels: its order of summation is that of a BLAS."""
    shared = [name for name in left if name in right and name not in result]
    if len(shared) != 1 or not left.endswith(shared[0]):
        # The one with the summed axis in front of the last: ``y,yz->z`` is covered, transposes are not.
        return None
    name = shared[0]
    if right == name:
        return np.matmul if result == left[:-1] else None
    if len(right) >= 2 and right[-2] == name:
        batch = left[:-2] or right[:-2]
        rows = left[-2:-1]
        stacked = right[:-2] in {"", batch} and (len(left) > 1 or not right[:-2])
        if stacked and result == f"{batch}{rows}{right[-1]}":
            return np.matmul
        if result == left[:-1] + right[:-2] + right[-1]:
            return np.dot
    if right.endswith(name) and result == left[:-1] + right[:-1]:
        return np.inner
    return None


# Elements that move


@dataclass(frozen=True, slots=True)
class View(Primitive):
    """Other shape, same elements; a reshape may copy, by layout."""

    form: ViewMap

    @property
    def __name__(self) -> str:
        """``view_basic``."""
        return f"view_{type(self.form).__qualname__.lower()}"

    def __call__(self, value: Any, dims: Dims = ()) -> object:
        return follow(value, join_view(self.form, iter(dims)))

    def facts(self, e: MetaEmitter, value: MetaValue, dims: Dims = ()) -> tuple[Fact, ...]:
        return _as_values([e.view(value, join_view(self.form, iter(dims)))])


@dataclass(frozen=True, slots=True)
class Concat(Primitive):
    """Joined along an axis, cast."""

    axis: int
    dtype: DType

    def __call__(self, *values: Any) -> object:
        return np.concatenate([value.astype(self.dtype) for value in values], self.axis)

    def facts(self, e: MetaEmitter, *values: MetaValue) -> tuple[Fact, ...]:
        return _as_values([e.concat(values, self.axis, self.dtype)])


@dataclass(frozen=True, slots=True)
class Gather(Primitive):
    """The first axes indexed by integer arrays, broadcast together."""

    def __call__(self, value: Any, *indices: Any) -> object:
        return np.asarray(value[indices])

    def facts(self, e: MetaEmitter, value: MetaValue, *indices: MetaValue) -> tuple[Fact, ...]:
        return _as_values([e.gather(value, indices)])


@dataclass(frozen=True, slots=True)
class Scatter(Primitive):
    """A new version of base with item, broadcast and cast, at a view of a view... of it, or at index arrays there.

    A mask keeps what is there where it is false.

    With ``in_place`` it is base itself that is written and returned.
    """

    forms: tuple[ViewMap, ...]
    in_place: bool = False

    def __call__(
        self, base: Any, item: Any, dims: Dims = (), indices: Dims = (), mask: Any = None
    ) -> object:
        version = base if self.in_place else np.array(base)
        target = version
        for how in join_views(self.forms, dims):
            target = follow(target, how)
        if mask is not None:
            np.copyto(target, item, where=mask, casting="unsafe")
        else:
            target[indices or ...] = item
        return version

    def facts(
        self,
        e: MetaEmitter,
        base: MetaValue,
        item: Any,
        dims: Dims = (),
        indices: Dims = (),
        mask: MetaValue | None = None,
    ) -> tuple[Fact, ...]:
        source = item.dtype if isinstance(item, MetaValue) else base.dtype
        before = e.can_fail
        e.can_fail = bool(indices)
        # Only what the cast may do: versions are writeable.
        e.map(CAST, (item,), (source, base.dtype))
        region: Value = base
        for how in join_views(self.forms, dims):
            region = e.view(region, how)
        e.can_fail = e.can_fail or before
        return (base,)


@dataclass(frozen=True, slots=True)
class Sort(Primitive):
    """Sorted along an axis, or the positions of the sorted elements."""

    axis: int
    kind: str | None
    indices: bool

    def __call__(self, value: Any) -> object:
        function: Any = np.argsort if self.indices else np.sort
        return function(value, axis=self.axis, kind=self.kind)

    def facts(self, e: MetaEmitter, value: MetaValue) -> tuple[Fact, ...]:
        return _as_values([e.sort(value, self.axis, self.kind, indices=self.indices)])


# New arrays


@dataclass(frozen=True, slots=True)
class Fill(Primitive):
    """One number everywhere; None leaves the elements undefined."""

    dtype: DType

    def __call__(self, shape: Dims, item: Any) -> object:
        if item is None:
            return np.zeros(shape, self.dtype)
        return np.full(shape, item, self.dtype)

    def facts(self, e: MetaEmitter, shape: Dims, item: Any) -> tuple[Fact, ...]:
        return _as_values([e.fill(shape, item, self.dtype)])


@dataclass(frozen=True, slots=True)
class Iota(Primitive):
    """0, 1, ... length-1."""

    dtype: DType

    def __call__(self, length: Any) -> object:
        return np.arange(length).astype(self.dtype, copy=False)

    def facts(self, e: MetaEmitter, length: Any) -> tuple[Fact, ...]:
        return _as_values([e.iota(length, self.dtype)])


@dataclass(frozen=True, slots=True)
class Literal(Primitive):
    """The array of a nest of lists and tuples of numbers."""

    dtype: DType

    def __call__(self, items: Any) -> object:
        return np.array(items, self.dtype)

    def facts(self, e: MetaEmitter, items: Any) -> tuple[Fact, ...]:
        return _as_values([e.array(items)])


# What is opaque


@dataclass(frozen=True, slots=True)
class LibCall(Primitive):
    """A library routine, opaque but for its results: one array, or a tuple of several."""

    function: Callable[..., object]
    dtypes: tuple[DType, ...]
    can_fail: bool = True

    @property
    def __name__(self) -> str:
        """``lib_fft``."""
        return f"lib_{getattr(self.function, '__name__', 'call')}"

    def __call__(self, *operands: Any, **options: Any) -> object:
        results = self.function(*operands, **options)
        results = tuple(results) if isinstance(results, tuple) else (results,)
        arrays = tuple(np.asarray(result) for result in results)
        return arrays if len(self.dtypes) > 1 else arrays[0]

    def facts(self, e: MetaEmitter, *operands: Any, **options: Any) -> None:
        """Nothing follows from the operands."""
        if self.can_fail:
            e.may_fail()


@dataclass(frozen=True, slots=True)
class Rng(Primitive):
    """A draw from the real generator, or a new generator: an effect, and opaque."""

    function: Callable[..., object]
    gives: str  # "array", "object" or "nothing"

    @property
    def __name__(self) -> str:
        """``rng_normal``."""
        return f"rng_{getattr(self.function, '__name__', 'call')}"

    def __call__(self, *operands: Any, **options: Any) -> object:
        result = self.function(*operands, **options)
        return np.asarray(result) if self.gives == "array" else result

    def facts(self, e: MetaEmitter, *operands: Any, **options: Any) -> None:
        """Nothing follows from the operands."""
        e.may_fail()


# At the edges


@dataclass(frozen=True, slots=True)
class ToArray(Primitive):
    """A NumPy scalar as a new 0-d array."""

    def __call__(self, value: Any) -> object:
        return np.array(value)

    def facts(self, e: MetaEmitter, value: MetaValue) -> tuple[Fact, ...]:
        return _as_values([e.array(value)])


@dataclass(frozen=True, slots=True)
class ToScalar(Primitive):
    """A 0-d array as NumPy scalar."""

    def __call__(self, value: Any) -> object:
        return value[()]

    def facts(self, e: MetaEmitter, value: MetaValue) -> tuple[Fact, ...]:
        return _as_values([e.scalar(value)])


@dataclass(frozen=True, slots=True)
class ToItem(Primitive):
    """A 0-d value as Python number."""

    pytype: type

    def __call__(self, value: Any) -> object:
        return self.pytype(value[()])

    def facts(self, e: MetaEmitter, value: MetaValue) -> tuple[Fact, ...]:
        if self.pytype is int and value.dtype.kind == "f":
            # NaN and infinities have no int.
            e.may_fail()
        return (ScalarMeta(self.pytype),)


@dataclass(frozen=True, slots=True)
class Claim(Primitive):
    """The caller's array itself, once it is known that it can be written and has no element twice."""

    def __call__(self, value: Array) -> object:
        if not value.flags.writeable:
            raise ValueError("assignment destination is read-only")
        if _has_element_twice(value.shape, value.strides, value.itemsize):
            raise ValueError("an array that is written shares memory with itself")
        return value

    def facts(self, e: MetaEmitter, value: MetaValue) -> tuple[Fact, ...]:
        e.may_fail()
        return (value,)


def _has_element_twice(shape: Shape, strides: Sequence[int], itemsize: int) -> bool:
    """Whether elements may overlap: some axis steps less far than all that lies within one of its steps."""
    reach = itemsize
    for step, length in sorted((abs(s), n) for s, n in zip(strides, shape, strict=True)):
        if length == 0:
            return False
        if length == 1:
            continue
        if step < reach:
            return True
        reach += step * (cast("int", length) - 1)
    return False


@dataclass(frozen=True, slots=True)
class Commit(Primitive):
    """Put a version into the caller's array, which is returned."""

    def __call__(self, target: Array, version: Array) -> object:
        target[...] = version
        return target

    def facts(self, e: MetaEmitter, target: MetaValue, version: MetaValue) -> tuple[Fact, ...]:
        return (target,)


PRIMITIVES: Final[tuple[type[Primitive], ...]] = (
    Map, Reduce, ArgReduce, Scan, Contract, View, Concat, Gather, Scatter, Sort, Fill, Iota, Literal,
    LibCall, Rng, ToArray, ToScalar, ToItem, Claim, Commit,
)  # fmt: skip
