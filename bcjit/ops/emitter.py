"""The protocol that op definitions are written against: values, and the closed set of primitives; holds no graph.

An op's ``expand(e, ...)`` builds its result from the primitives of an ``Emitter``. A ``Value`` offers only ``shape`` and
``dtype``, so an emitter chooses what its values are: metas (``MetaEmitter``), NumPy arrays (the tests), graph nodes.

Primitives are pure and give arrays, never NumPy scalars: `Emitter.scalar` turns a 0-d result into a scalar where NumPy
does. A write is `Emitter.scatter`, which gives a new version of an array; returning that version says that the
call returns the array written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeGuard

import numpy as np

from bcjit.dims import Dim, Relation, ShapeEnv
from bcjit.ops.scalar_functions import ScalarFunction
from bcjit.records import dataclass

__all__ = [
    "Basic",
    "Broadcast",
    "DType",
    "Diagonal",
    "Emitter",
    "MemoryOrder",
    "NewAxis",
    "Operand",
    "Part",
    "Permute",
    "Pick",
    "Range",
    "Reinterpret",
    "Reshape",
    "Shape",
    "Slice",
    "Value",
    "ViewMap",
    "Window",
]

DType: TypeAlias = np.dtype[Any]
Shape: TypeAlias = tuple[Dim, ...]


class Value(Protocol):
    """An array or NumPy scalar as an emitter sees it."""

    @property
    def shape(self) -> Shape:
        """Sizes, an ``int`` or an ``Expr`` each."""

    @property
    def dtype(self) -> DType:
        """A native numeric dtype."""


# A value, or a Python scalar (constant, ``ScalarMeta`` or ``Expr``), which is weak.
Operand: TypeAlias = object


@dataclass(frozen=True, slots=True)
class Pick:
    """Basic index item: one position of an axis, which disappears.

    ``index`` is a size that is not negative, or an operand: a Python or NumPy integer that is not known, maybe negative.
    """

    index: Operand


@dataclass(frozen=True, slots=True)
class Range:
    """Basic index item: ``length`` positions of an axis from ``start`` on, ``step`` apart (negative allowed).

    ``start`` means nothing where ``length`` is 0.
    """

    start: Dim
    step: Dim
    length: Dim


@dataclass(frozen=True, slots=True)
class Slice:
    """Basic index item: what a Python slice takes of an axis, where a bound is not known; ``length`` is unknown.

    Bounds are operands: Python and NumPy integers, or None.
    """

    start: Operand
    stop: Operand
    step: Operand
    length: Dim


@dataclass(frozen=True, slots=True)
class NewAxis:
    """Basic index item: a new axis of size 1; consumes no axis of the source."""


@dataclass(frozen=True, slots=True)
class Basic:
    """View: basic indexing, with one `Pick`, `Range` or `Slice` for each axis of the source."""

    items: tuple[Pick | Range | Slice | NewAxis, ...]


@dataclass(frozen=True, slots=True)
class Permute:
    """View: axes in another order."""

    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Broadcast:
    """View: read-only repetition along new axes and axes of size 1."""

    shape: Shape


@dataclass(frozen=True, slots=True)
class Reshape:
    """The same elements in C order under another shape: a view where the layout allows it, else a copy.

    By ``reshape`` it is a view where the strides allow it. By "C" or "F" the array itself (as at least 1-d) where it has this
    layout. By "flags" something else than the strides decides, so that only the function itself can tell.
    """

    shape: Shape
    by: Literal["reshape", "C", "F", "flags"] = "reshape"


@dataclass(frozen=True, slots=True)
class Part:
    """View: the real or imaginary part of a complex array."""

    name: str  # "real" or "imag"


@dataclass(frozen=True, slots=True)
class Diagonal:
    """View: the diagonal of two axes, as the last axis; read-only, save the main one that ``einsum`` gives."""

    offset: int
    axis1: int
    axis2: int
    length: Dim
    writeable: bool = False  # as the array is


@dataclass(frozen=True, slots=True)
class Window:
    """View: windows of these sizes along axes, one axis may come twice, as the last axes; read-only."""

    axes: tuple[int, ...]
    sizes: Shape
    shape: Shape  # of the axes before those of the windows


@dataclass(frozen=True, slots=True)
class MemoryOrder:
    """The elements on one axis, as ``ravel(order)`` finds them ("C", or "A" or "K" in memory): a view or a copy by layout."""

    order: str


@dataclass(frozen=True, slots=True)
class Reinterpret:
    """View: the same memory read as another dtype, under another shape where the sizes of elements differ."""

    dtype: DType
    shape: Shape


ViewMap: TypeAlias = (
    Basic | Permute | Broadcast | Reshape | Part | Diagonal | MemoryOrder | Reinterpret | Window
)


class Emitter(Protocol):
    """Receives the decomposition of a call."""

    @property
    def env(self) -> ShapeEnv:
        """Decides relations between sizes."""

    # What an argument is

    def is_value(self, operand: Operand) -> TypeGuard[Value]:
        """Whether the operand is an array or a NumPy scalar."""

    def is_scalar(self, value: Value) -> bool:
        """Whether the value is a NumPy scalar."""

    def weak_type(self, operand: Operand) -> type | None:
        """Return bool, int, float or complex for a Python scalar, None for anything else."""

    def integer(self, operand: Operand) -> Dim | None:
        """Return the integer that a Python int or a NumPy integer is known to be, None if it is not known."""

    def array(self, operand: Operand) -> Value:
        """Return the operand as ``np.asanyarray`` does: an array is itself, anything else becomes a new one."""

    def scalar(self, value: Value) -> Value:
        """Return a 0-d array as NumPy scalar, any other array as itself (``PyArray_Return``)."""

    def item(self, value: Value, pytype: type) -> Operand:
        """Return a 0-d value as Python bool, int, float or complex."""

    def object_type(self, operand: Operand) -> type | None:
        """Return the class of an opaque object (a random generator), None for anything else."""

    def may_fail(self) -> None:
        """Say that the call can raise or warn for some values, where the primitives do not imply it."""

    def require(self, relation: Relation) -> None:
        """Say that the call means what is emitted only if this holds of sizes that depend on elements.

        It must be checked before the call is made.
        """

    def unknown(self, name: str, of: Value | None = None) -> Dim:
        """Return a new size that depends on elements; an emitter that computes need not know it.

        ``of`` says that it is the number of this value's elements that are not zero.
        """

    # The primitives

    def map(
        self,
        function: ScalarFunction,
        operands: Sequence[Operand],
        dtypes: Sequence[DType],
        mask: Value | None = None,
    ) -> tuple[Value, ...]:
        """Map: cast to the loop dtypes (inputs, then outputs), broadcast, apply elementwise.

        A mask of bools is broadcast too; where it is false nothing is computed and the results are undefined.
        """

    def reduce(
        self,
        function: ScalarFunction,
        value: Value,
        axes: tuple[int, ...],
        dtype: DType,
        initial: Operand = None,
        mask: Value | None = None,
    ) -> Value:
        """Reduce: cast to the loop dtype and fold these axes away, without the elements where a mask is false."""

    def arg_reduce(self, name: str, value: Value, axis: int) -> Value:
        """ArgReduce: position of the first extreme element along an axis, ``"argmax"`` or ``"argmin"``."""

    def scan(self, function: ScalarFunction, value: Value, axis: int, dtype: DType) -> Value:
        """Scan: running fold along an axis."""

    def contract(
        self, left: Value, right: Value, labels: tuple[str, str, str], dtype: DType
    ) -> Value:
        """Contract: sum of products, with axis labels as in ``einsum`` (left, right, result)."""

    def view(self, value: Value, how: ViewMap) -> Value:
        """View: other shape, same elements."""

    def concat(self, values: Sequence[Value], axis: int, dtype: DType) -> Value:
        """Concat: joined along an axis; other sizes agree already."""

    def gather(self, value: Value, indices: tuple[Value, ...]) -> Value:
        """Gather: the first axes indexed by integer arrays, broadcast together, or by one boolean array.

        The boolean array has the shape of the axes it indexes; what it selects is one axis.
        """

    def scatter(
        self,
        base: Value,
        item: Operand,
        where: ViewMap | tuple[Value, ...],
        mask: Value | None = None,
    ) -> Value:
        """Scatter: a new version of base with item, broadcast and cast, at a view of it or at index arrays.

        Index arrays are for the first axes, as in ``gather``. A mask, broadcast to a view, keeps what is there where it is
        false.
        """

    def fill(self, shape: Shape, item: Operand, dtype: DType) -> Value:
        """Fill: one Python scalar everywhere; None leaves the elements undefined."""

    def iota(self, length: Dim, dtype: DType) -> Value:
        """Fill by position: 0, 1, ... length-1."""

    def sort(self, value: Value, axis: int, kind: str | None, *, indices: bool) -> Value:
        """Sort along an axis; the positions of the sorted elements if ``indices``."""

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
        """LibCall: a library routine, opaque but for its results.

        ``can_fail`` says that it may raise, or set a floating-point flag; ``sets_flags`` that it may set one.
        """

    def draw(
        self,
        function: Callable[..., object],
        operands: Sequence[Operand],
        options: Mapping[str, Operand],
        results: Sequence[tuple[Shape, DType]],
    ) -> tuple[Value, ...]:
        """Rng: ``function(*operands, **options)`` draws new arrays from a random stream, after it has checked its arguments."""

    def make(
        self, function: Callable[..., object], operands: Sequence[Operand], pytype: type
    ) -> Operand:
        """Rng: ``function(*operands)`` makes a new generator, an opaque object of this class."""
