"""What ops ask about their arguments: axes, dtypes, weak Python scalars, casts; emits casts only.

Helpers shared by the op modules. They raise `Unsupported` or `WouldRaise` and never look at an emitter's values beyond
shape and dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.dims import Dim, Expr, Relation, Undecidable, product, symbols
from bcjit.ops.emitter import DType, Emitter, Operand, Shape, Value
from bcjit.ops.opdef import MustKnow, Unsupported, WouldRaise
from bcjit.ops.scalar_functions import CAST, ScalarFunction

__all__ = [
    "ABSENT",
    "BOOL",
    "CASTINGS",
    "FLOAT64",
    "INTP",
    "Signature",
    "accepts_any_int",
    "agree",
    "as_dtype",
    "as_flag",
    "axis_index",
    "axis_tuple",
    "broadcast",
    "cast",
    "cast_can_fail",
    "check_dtype",
    "check_host",
    "check_order",
    "constant",
    "copy",
    "default_dtype",
    "depends_on_data",
    "equal",
    "expect",
    "flag",
    "in_range",
    "is_array",
    "less",
    "loop_dtypes",
    "loop_signature",
    "may_be_empty",
    "normal_axes",
    "require_default",
    "require_int64",
    "shape_argument",
    "size_of",
    "sized",
    "weak_can_fail",
]

ABSENT: Final = np._NoValue  # noqa: SLF001 - NumPy's own "not given"

# The dtypes of a loop that a call asks for, None where it leaves them open.
# The words that say which casts are allowed.
CASTINGS: Final = ("no", "equiv", "safe", "same_kind", "unsafe")

Signature: TypeAlias = tuple[DType | None, ...] | None

BOOL: Final[DType] = np.dtype(np.bool_)
INTP: Final[DType] = np.dtype(np.intp)
FLOAT64: Final[DType] = np.dtype(np.float64)

_PYTHON_TYPES: Final[frozenset[object]] = frozenset({bool, int, float, complex})
_DEFAULT: Final[dict[type, DType]] = {
    bool: BOOL,
    int: np.dtype(np.int64) if np.dtype(int).itemsize == 8 else np.dtype(int),
    float: FLOAT64,
    complex: np.dtype(np.complex128),
}
_CASTINGS: Final = ("no", "equiv", "safe", "same_kind", "unsafe", "same_value")
# Largest magnitude that any Python number may have and still fit every float dtype (float16 ends at 65504).
_FITS_ANY_FLOAT: Final = 65504


# Sizes


def equal(e: Emitter, left: Dim, right: Dim) -> bool:
    """Whether two sizes are equal, decided by the environment."""
    if left == right:
        return True
    if isinstance(left, int) and isinstance(right, int):
        return False
    return e.env.decide(Relation("==", left, right))


def less(e: Emitter, left: Dim, right: Dim) -> bool:
    """Whether one size is smaller than another, decided by the environment."""
    if isinstance(left, int) and isinstance(right, int):
        return left < right
    return e.env.decide(Relation("<", left, right))


def broadcast(e: Emitter, left: Shape, right: Shape) -> Shape:
    """Return the shape that two shapes broadcast to; asks the environment only if they differ."""
    if left == right or not right:
        return left
    if not left:
        return right
    try:
        return e.env.broadcast(left, right)
    except Undecidable:
        extra = len(left) - len(right)
        longer, shorter = (left, right) if extra >= 0 else (right, left)
        tail = zip(longer[abs(extra) :], shorter, strict=True)
        return (*longer[: abs(extra)], *(_broadcast_sizes(e, a, b) for a, b in tail))


def _broadcast_sizes(e: Emitter, left: Dim, right: Dim) -> Dim:
    """Return what two sizes broadcast to where data decide one of them; NumPy finds out whether they do."""
    if left == right:
        return left
    fixed: list[Dim] = []  # not 1: what the other one is can only be an error, or change nothing
    for one, other in ((left, right), (right, left)):
        try:
            if equal(e, one, 1):
                return other
        except Undecidable:
            continue
        fixed.append(one)
    fixed.sort(key=depends_on_data)
    if len(fixed) == 2 and not depends_on_data(fixed[1]):
        return e.env.broadcast((left,), (right,))[0]
    e.may_fail()
    return fixed[0] if fixed else e.unknown("joined")


def depends_on_data(dim: Dim) -> bool:
    """Whether a size is known only when the graph runs."""
    return any(symbol.kind == "data" for symbol in symbols(dim))


def agree(e: Emitter, left: Dim, right: Dim) -> bool:
    """Whether two sizes are equal; where data decide it, NumPy finds out before it writes or gives anything."""
    try:
        return equal(e, left, right)
    except Undecidable:
        e.may_fail()
        return True


def expect(e: Emitter, relation: Relation) -> bool:
    """Whether a relation of sizes holds; that it does is checked when the call is made, where data decide it."""
    try:
        return e.env.decide(relation)
    except Undecidable:
        e.require(relation)
        return True


def in_range(e: Emitter, index: Dim, length: Dim) -> Dim | None:
    """Return the index counted from the front, None if it is out of bounds.

    Of an axis whose length depends on data, NumPy finds that out.
    """
    try:
        if less(e, index, 0):
            index = index + length
            return None if less(e, index, 0) else index
        return index if less(e, index, length) else None
    except Undecidable:
        e.may_fail()
        return index


def may_be_empty(e: Emitter, length: Dim) -> bool:
    """Whether an axis has no elements; where that depends on data, NumPy's C code finds out and raises."""
    try:
        return equal(e, length, 0)
    except Undecidable:
        e.may_fail()
        return False


def size_of(value: Value) -> Dim:
    """Return the number of elements."""
    return product(value.shape)


def constant(e: Emitter, operand: Operand, name: str, *, few: bool = False) -> int:
    """Return an argument that must be a known int; `few` says that it has only a few values, like an axis."""
    integer = e.integer(operand)
    if isinstance(integer, Expr):
        integer = e.env.simplify(integer)
    if isinstance(integer, int):
        return integer
    if integer is not None:
        raise MustKnow(f"{name} is not a constant integer", integer, few=few)
    if e.weak_type(operand) in {float, complex} or isinstance(operand, str):
        raise WouldRaise(f"{name}: an integer is expected, got {operand!r}")
    raise Unsupported(f"{name} is not a constant integer")


def axis_index(e: Emitter, axis: Operand, ndim: int) -> int:
    """Return an axis counted from the front."""
    index = constant(e, axis, "axis", few=True)
    if not -ndim <= index < ndim:
        raise WouldRaise(f"axis {index} is out of bounds for array of dimension {ndim}")
    return index % ndim


def axis_tuple(e: Emitter, axis: Operand, ndim: int) -> tuple[int, ...]:
    """Return the axes of a reduction: all for None, distinct and counted from the front."""
    if axis is None:
        return tuple(range(ndim))
    if not isinstance(axis, tuple):
        # NumPy allows axis 0 and -1 of a 0-d array (PyUFunc_GenericReduction).
        if ndim == 0 and constant(e, axis, "axis", few=True) in {0, -1}:
            return ()
        return (axis_index(e, axis, ndim),)
    axes = tuple(axis_index(e, item, ndim) for item in axis)
    if len(set(axes)) != len(axes):
        raise WouldRaise("duplicate value in 'axis'")
    return axes


def normal_axes(e: Emitter, axis: Operand, ndim: int) -> tuple[int, ...]:
    """Return axes as NumPy's ``normalize_axis_tuple`` does: strict for 0-d arrays; all for None."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, tuple | list):
        return axis_tuple(e, tuple(axis), ndim)
    return (axis_index(e, axis, ndim),)


def shape_argument(e: Emitter, shape: Operand, *, minus_one: bool = False) -> Shape:
    """Return a shape given as int or as sequence of ints; -1 stays where allowed."""
    items: Sequence[Operand] = shape if isinstance(shape, tuple | list) else (shape,)
    dims: list[Dim] = []
    for item in items:
        dim = e.integer(item)
        if dim is None:
            if e.weak_type(item) in {float, complex} or item is None or isinstance(item, str):
                raise WouldRaise(f"shape: integers are expected, got {item!r}")
            raise Unsupported("a shape depends on values")
        if minus_one and dim == -1:
            dims.append(-1)
            continue
        try:
            if less(e, dim, 0):
                raise WouldRaise("negative dimensions are not allowed")
        except Undecidable:
            if minus_one:
                raise
            e.may_fail()
        dims.append(dim)
    return tuple(dims)


def flag(value: Operand, name: str) -> bool:
    """Return an argument that must be a constant bool; one that is not given is False."""
    return False if value is np._NoValue else as_flag(value, name)  # noqa: SLF001 - NumPy's own "not given"


def sized(e: Emitter, shape: Operand) -> Shape:
    """Return the shape of a new array, which may be too large for memory or for NumPy."""
    dims = shape_argument(e, shape)
    if any(isinstance(dim, Expr) for dim in dims):
        e.may_fail()
    return dims


def check_order(order: Operand) -> None:
    """Raise unless this is an order of memory: what it means for a layout is not said here."""
    if order is not None and (not isinstance(order, str) or order not in tuple("CFKA")):
        raise WouldRaise("order must be one of 'C', 'F', 'A', or 'K'")


def check_host(device: Operand, like: Operand = None) -> None:
    """Raise `Unsupported` unless an array is to be NumPy's own."""
    if device is not None or like is not None:
        raise Unsupported("device= or like=")


def as_flag(value: Operand, name: str) -> bool:
    """Return an argument that must be a constant bool."""
    if type(value) is not bool:
        raise Unsupported(f"{name} is not a constant bool")
    return value


def require_default(value: object, default: object, name: str) -> None:
    """Raise `Unsupported` unless an argument has the one value the table describes."""
    if value is not default:
        raise Unsupported(f"the argument {name} is not supported here")


# Dtypes


def check_dtype(dtype: DType) -> DType:
    """Return a dtype the table describes: native bool, integers, floats and complex numbers."""
    if dtype.kind not in "biufc" or not dtype.isnative:
        raise Unsupported(f"arrays of dtype {dtype} are not supported")
    return dtype


def as_dtype(dtype: Operand) -> DType | None:
    """Return what ``dtype=`` means, None for None."""
    if dtype is None:
        return None
    if isinstance(dtype, np.dtype):
        return check_dtype(dtype)
    # Only types whose meaning NumPy knows by itself: another class may have a ``dtype`` attribute, which is user code.
    known = isinstance(dtype, type) and (dtype in _PYTHON_TYPES or dtype in _NUMPY_TYPES)
    if not known and not isinstance(dtype, str):
        raise Unsupported("dtype: only NumPy's own dtypes are supported")
    try:
        return check_dtype(np.dtype(dtype))  # type: ignore[call-overload]
    except TypeError as error:
        raise WouldRaise(str(error)) from None


_NUMPY_TYPES: Final[frozenset[object]] = frozenset(np.sctypeDict.values())


def default_dtype(e: Emitter, operand: Operand) -> DType:
    """Return the dtype ``np.asarray`` gives: an array's own, the default of a Python scalar."""
    if e.is_value(operand):
        return operand.dtype
    weak = e.weak_type(operand)
    if weak is None:
        raise Unsupported(f"operands of type {type(operand).__name__} are not supported")
    return _DEFAULT[weak]


_INT64_LIMIT: Final = 2**63


def require_int64(e: Emitter, operand: Operand) -> None:
    """Make sure that ``np.asarray`` of a Python int is an int64 array: larger ones become uint64 or object."""
    if e.weak_type(operand) is not int:
        return
    number = e.integer(operand)
    if number is None:
        raise Unsupported("the dtype of an array made from an unknown int depends on the int")
    if less(e, number, -_INT64_LIMIT) or not less(e, number, _INT64_LIMIT):
        raise Unsupported("an array is made from an int that is not an int64")


def _descriptor(e: Emitter, operand: Operand) -> DType | type:
    """Return what ``resolve_dtypes`` wants for an operand; a Python bool is not weak."""
    weak = e.weak_type(operand)
    return weak if weak in {int, float, complex} else default_dtype(e, operand)


def loop_dtypes(
    e: Emitter,
    function: ScalarFunction,
    operands: Sequence[Operand],
    *,
    dtype: DType | None = None,
    signature: Signature = None,
    out: DType | None = None,
    outs: Sequence[DType | None] | None = None,
    casting: object = "same_kind",
) -> tuple[DType, ...]:
    """Return the dtypes of a ufunc's loop, inputs then outputs, as NumPy itself resolves them.

    Parameters
    ----------
    e, function, operands
        The call.
    dtype, signature
        As the call has them; not both.
    out, outs
        The dtype of the one output that is given, or of each.
    casting
        As the call has it.
    """
    ufunc = function.ufunc
    assert ufunc is not None
    if casting not in _CASTINGS:
        raise WouldRaise(f"casting: one of {', '.join(_CASTINGS)} is expected")
    given = tuple(_descriptor(e, operand) for operand in operands)
    outputs = (out,) * ufunc.nout if outs is None else tuple(outs)
    # dtype= fixes the outputs only (NumPy ufunc_object.c: _get_fixed_signature).
    fixed: dict[str, Any] = {}
    if dtype is not None:
        fixed["signature"] = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    elif signature is not None:
        fixed["signature"] = signature
    try:
        found: tuple[DType, ...] = ufunc.resolve_dtypes(
            (*given, *outputs), casting=casting, **fixed
        )
    except (TypeError, ValueError) as error:
        raise WouldRaise(str(error)) from None
    for item in found:
        check_dtype(item)
    any_int = accepts_any_int(e, function, operands)
    for operand, item in zip(operands, found, strict=False):
        _check_fits(operand, item, compares=any_int)
    return found


def loop_signature(ufunc: np.ufunc, signature: Operand) -> Signature:
    """Return what ``signature=`` means. Source: NumPy ufunc_object.c: ``_get_fixed_signature``."""
    if signature is None:
        return None
    if isinstance(signature, str):
        inputs, arrow, outputs = signature.partition("->")
        if not arrow:
            raise Unsupported("signature: a string of one dtype warns or raises")
        if len(inputs) != ufunc.nin or len(outputs) != ufunc.nout:
            raise WouldRaise("signature: a type for each input and output is expected")
        return tuple(as_dtype(char) for char in inputs + outputs)
    if not isinstance(signature, tuple):
        raise WouldRaise("the signature object to ufunc must be a string or a tuple")
    if len(signature) == 1:
        raise Unsupported("signature: a tuple of one warns or raises")
    if len(signature) != ufunc.nargs:
        raise WouldRaise("signature: a type for each input and output is expected")
    return tuple(as_dtype(item) for item in signature)


def accepts_any_int(e: Emitter, function: ScalarFunction, operands: Sequence[Operand]) -> bool:
    """Whether Python ints of any size may be compared: with integers, not with bools."""
    return function.compares and not any(
        e.is_value(operand) and operand.dtype.kind == "b" for operand in operands
    )


def _check_fits(operand: Operand, dtype: DType, *, compares: bool) -> None:
    """Refuse a constant Python int that does not fit the loop (NEP 50; comparisons of integers accept any)."""
    if type(operand) is not int:
        return
    if dtype.kind == "b" and not -_INT64_LIMIT <= operand < _INT64_LIMIT:
        raise Unsupported("bools with an int that is not an int64 differ between versions of NumPy")
    if dtype.kind in "iu" and not compares:
        limits = np.iinfo(dtype)
        if not limits.min <= operand <= limits.max:
            raise WouldRaise(f"Python integer {operand} out of bounds for {dtype}")


# Casts


def cast_can_fail(source: DType, target: DType) -> bool:
    """Whether casting some value sets a floating-point flag: overflow when narrowing, invalid to integers."""
    if source == target or target.kind == "b" or source.kind == "b":
        return False
    if target.kind in "iu":
        return source.kind in "fc"
    if source.kind in "iu":
        # Every integer dtype fits float32's range; float16 takes up to 65504.
        return _float_size(target) == 2 and (source.itemsize > 2 or source.str[1:] == "u2")
    return _float_size(target) < _float_size(source)


def _float_size(dtype: DType) -> int:
    return dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize


def weak_can_fail(weak: type, operand: Operand, dtype: DType, *, compares: bool = False) -> bool:
    """Whether a Python scalar can fail to become the loop's dtype."""
    if weak is bool or (dtype.kind == "b" and weak is not int):
        return False
    if weak is int and dtype.kind == "b":
        # It becomes an int64 on the way, even in a comparison.
        return type(operand) is not int or not -_INT64_LIMIT <= operand < _INT64_LIMIT
    if weak is int and dtype.kind in "iu":
        # A constant has been checked; a size fits 8 bytes, but not every expression of sizes does.
        return not compares and type(operand) is not int
    if weak is int and type(operand) is not int:
        # Larger than any float, or than float16.
        return True
    if isinstance(operand, bool | int | float):
        return not _float_fits(operand, dtype)
    return _float_size(dtype) < 8 or dtype.kind not in "fc"


def _float_fits(number: float, dtype: DType) -> bool:
    finite = abs(number) <= _FITS_ANY_FLOAT
    # A subnormal result sets the underflow flag.
    return finite and (number == 0 or abs(number) >= 2.0**-14 or _float_size(dtype) >= 8)


def cast(e: Emitter, value: Value, dtype: DType) -> Value:
    """Return a value in another dtype; itself if it has that already."""
    if value.dtype == dtype:
        return value
    return copy(e, value, dtype)


def copy(e: Emitter, value: Operand, dtype: DType | None = None) -> Value:
    """Return a new array with the elements of a value, cast."""
    source = default_dtype(e, value)
    (result,) = e.map(CAST, (value,), (source, source if dtype is None else dtype))
    return result


def is_array(e: Emitter, operand: Any) -> bool:
    """Whether an operand is an array, not a NumPy scalar."""
    return e.is_value(operand) and not e.is_scalar(operand)


def is_symbolic(dim: Dim) -> bool:
    """Whether a size is not a constant."""
    return isinstance(dim, Expr)
