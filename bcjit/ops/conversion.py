"""Functions that make an array of what is given, or give it back: array, asarray, ascontiguousarray, require."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, Literal

import numpy as np

from bcjit.ops.emitter import (
    Basic,
    DType,
    Emitter,
    NewAxis,
    Operand,
    Range,
    Reinterpret,
    Reshape,
    Value,
)
from bcjit.ops.numpy_facts import FLOAT64_TAKES_ONE_ELEMENT
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import (
    FLOAT64,
    as_dtype,
    check_host,
    check_order,
    constant,
    copy,
    equal,
    is_array,
    require_default,
    size_of,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows
from bcjit.ops.views import by_layout, with_new_axes

__all__: list[str] = []

example = Samplers("creation")
table = Rows()


def _from_sequence(e: Emitter, items: Sequence[Operand], target: DType | None) -> Value:
    """Return the array of a list of numbers and arrays; dtypes are promoted as found, not weakly."""
    if not any(_holds_value(e, item) for item in items):
        value = e.array(items)
        if target is None or target == value.dtype:
            return value
        # A flag of the cast, of numbers that do not fit.
        e.may_fail()
        _check_numbers(items, target)
        return copy(e, value, target)
    if target is not None and target.kind in "iu":
        for item in items:
            if e.is_value(item) and e.is_scalar(item) and not np.can_cast(item.dtype, target):
                raise Unsupported("a NumPy scalar in a sequence raises where it does not fit")
    parts = [
        _from_sequence(e, item, target)
        if isinstance(item, tuple | list)
        else e.array(item)
        if e.is_value(item) or target is None
        else e.fill((), item, target)
        for item in items
    ]
    shape = parts[0].shape
    if any(len(part.shape) != len(shape) for part in parts):
        raise Unsupported("an array of parts of different shapes")
    for part in parts[1:]:
        if not all(equal(e, a, b) for a, b in zip(part.shape, shape, strict=True)):
            raise Unsupported("an array of parts of different shapes")
    if target is not None:
        e.may_fail()
    dtype = target or np.result_type(*(part.dtype for part in parts))
    new = Basic((NewAxis(), *(Range(0, 1, dim) for dim in shape)))
    return e.concat([e.view(part, new) for part in parts], 0, dtype)


def _check_numbers(items: Sequence[Operand], target: DType) -> None:
    """NumPy converts each number by itself, and raises where a cast of the array would wrap."""
    with np.errstate(all="ignore"):
        try:
            np.array(items, target)
        except (TypeError, ValueError, OverflowError) as error:
            raise WouldRaise(str(error)) from None


def _holds_value(e: Emitter, item: Operand) -> bool:
    if isinstance(item, tuple | list):
        return any(_holds_value(e, inner) for inner in item)
    return e.is_value(item) or type(item) not in {bool, int, float, complex}


def _as_array(
    e: Emitter, a: Operand, dtype: Operand, copying: Operand, order: Operand = None
) -> Value:
    """Return an argument as an array: itself where nothing has to change."""
    target = as_dtype(dtype)
    if copying is not None and type(copying) is not bool:
        raise Unsupported("copy is not a constant bool")
    if copying is False and not is_array(e, a):
        raise WouldRaise("Unable to avoid copy while creating an array as requested.")
    if isinstance(a, tuple | list):
        return _from_sequence(e, a, target)
    value = e.array(a)
    if copying or target not in {None, value.dtype}:
        if copying is False:
            raise WouldRaise("Unable to avoid copy while creating an array as requested.")
        return copy(e, value, target)
    if target is not None and target.char != value.dtype.char:
        # Two classes of one size: np.longlong and np.int64.
        value = e.view(value, Reinterpret(target, value.shape))
    if order in (None, "K", "A"):
        return value
    if copying is False:
        # It raises where the layout is another.
        e.may_fail()
        order = None
    return e.view(value, Reshape(value.shape, by_layout(order)))


def array(
    e: Emitter,
    object: Operand,  # noqa: A002 - NumPy's name
    dtype: Operand = None,
    *,
    copy: Operand = True,
    order: Operand = "K",
    subok: Operand = False,
    ndmin: Operand = 0,
    ndmax: Operand = 0,
    like: Operand = None,
) -> Value:
    """``np.array``."""
    check_order(order)
    check_host(None, like)
    require_default(ndmax, 0, "ndmax")
    if type(subok) is not bool:
        raise Unsupported("subok is not a constant bool")
    value = _as_array(e, object, dtype, copy, order)
    missing = constant(e, ndmin, "ndmin") - len(value.shape)
    if missing > _MOST_AXES:
        raise WouldRaise("ndmin is larger than any array allows")
    return e.view(value, with_new_axes(value, tuple(range(missing)))) if missing > 0 else value


_MOST_AXES: Final = 32


def asarray(
    e: Emitter,
    a: Operand,
    dtype: Operand = None,
    order: Operand = None,
    *,
    device: Operand = None,
    copy: Operand = None,
    like: Operand = None,
) -> Value:
    """``np.asarray``: the array itself where nothing has to change."""
    check_order(order)
    check_host(device, like)
    return _as_array(e, a, dtype, copy, order)


def asanyarray(
    e: Emitter,
    a: Operand,
    dtype: Operand = None,
    order: Operand = None,
    *,
    device: Operand = None,
    copy: Operand = None,
    like: Operand = None,
) -> Value:
    """``np.asanyarray``."""
    return asarray(e, a, dtype, order, device=device, copy=copy, like=like)


def _contiguous(
    order: Literal["C", "F"],
    e: Emitter,
    a: Operand,
    dtype: Operand = None,
    *,
    like: Operand = None,
) -> Value:
    """``np.ascontiguousarray`` and ``np.asfortranarray``: at least 1-d."""
    check_host(None, like)
    value = _as_array(e, a, dtype, None)
    return e.view(value, Reshape(value.shape or (1,), order))


def asarray_chkfinite(
    e: Emitter, a: Operand, dtype: Operand = None, order: Operand = None
) -> Value:
    """``np.asarray_chkfinite``."""
    value = asarray(e, a, dtype, order)
    if value.dtype.kind in "fc":
        e.may_fail()
    return value


def require(
    e: Emitter,
    a: Operand,
    dtype: Operand = None,
    requirements: Operand = None,
    *,
    like: Operand = None,
) -> Value:
    """``np.require``. Source: NumPy ``_core/_asarray.py``."""
    check_host(None, like)
    if requirements is None or requirements in ((), [], ""):
        return asanyarray(e, a, dtype)
    if not isinstance(requirements, str | tuple | list):
        raise Unsupported("requirements are not strings")
    wanted = {_FLAGS.get(item.upper()) if isinstance(item, str) else None for item in requirements}
    if None in wanted:
        raise WouldRaise("a requirement is not known")
    if wanted >= set("CF"):
        raise WouldRaise('Cannot specify both "C" and "F" order')
    value = _as_array(e, a, dtype, None)
    return e.view(value, Reshape(value.shape, "flags"))


_FLAGS: Final[dict[str, str]] = {
    name: names[0]
    for names in (
        ("C", "C_CONTIGUOUS", "CONTIGUOUS"),
        ("F", "F_CONTIGUOUS", "FORTRAN"),
        ("A", "ALIGNED"),
        ("W", "WRITEABLE"),
        ("O", "OWNDATA"),
        ("E", "ENSUREARRAY"),
    )
    for name in names
}


# Classes of NumPy scalars


def _made(target: DType, e: Emitter, x: Operand = 0, /) -> Value:
    """``np.float32(x)``: a NumPy scalar; of an array or sequence an array. Source: NumPy ``scalartypes.c.src``."""
    becomes_number = FLOAT64_TAKES_ONE_ELEMENT and target == FLOAT64
    if becomes_number and e.is_value(x) and x.shape and equal(e, size_of(x), 1):
        raise Unsupported("an array of one element becomes a number, with a warning")
    if e.is_value(x) or isinstance(x, tuple | list):
        if target == FLOAT64 and is_array(e, x):
            given = e.array(x)
            if given.shape and equal(e, size_of(given), 1):
                raise Unsupported("NumPy 2.0 converts it as Python's float does, and warns")
        if is_array(e, x) and e.array(x).shape and e.array(x).dtype == target:
            # Also of another class of the same size: np.longlong leaves an array of np.int64 as it is.
            return e.array(x)
        return e.scalar(copy(e, _as_array(e, x, target, None), target))
    weak = e.weak_type(x)
    if weak is None:
        raise Unsupported("the argument is not a number or array")
    if weak is complex and target.kind in "iuf":
        raise WouldRaise("a real number is expected")
    if weak is int and type(x) is int and target.kind in "iu":
        limits = np.iinfo(target)
        if not limits.min <= x <= limits.max:
            raise WouldRaise(f"Python integer {x} out of bounds for {target}")
    if weak is not bool and (weak is not float or target.kind not in "fc" or target.itemsize < 8):
        # It may not fit the dtype, or be NaN.
        e.may_fail()
    return e.scalar(copy(e, e.array(x), target))


# The table

table.define("array", functions(array, example.to_arrays, "array"))
table.define("asarray", functions(asarray, example.converted, "asarray"))
table.define("asanyarray", functions(asanyarray, example.converted, "asanyarray"))
table.define(
    "ascontiguousarray",
    functions(partial(_contiguous, "C"), example.to_contiguous, "ascontiguousarray"),
)
table.define(
    "asfortranarray", functions(partial(_contiguous, "F"), example.to_contiguous, "asfortranarray")
)
table.define(
    "asarray_chkfinite", functions(asarray_chkfinite, example.to_contiguous, "asarray_chkfinite")
)
table.define("require", functions(require, example.requirements, "require"))
for _char in "?bhilqBHILQefdgFDG":
    _dtype = np.dtype(_char)
    table.define(
        f"{_dtype.type.__name__}()",
        [Spelling(_dtype.type, partial(_made, _dtype), example.of_class)],
    )
