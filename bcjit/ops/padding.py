"""``np.pad``: constants, edges, wrapped and reflected parts as views joined together; other modes are opaque."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.dims import Dim
from bcjit.ops.emitter import Broadcast, DType, Emitter, Operand, Range, Shape, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import cast, copy, equal, less
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows
from bcjit.ops.views import indexed

__all__: list[str] = []

example = Samplers("padding")
table = Rows()

_Pair: TypeAlias = tuple[Any, Any]

# The keyword of each mode.
_KEYWORDS: Final[dict[str, str | None]] = {
    "constant": "constant_values",
    "edge": None,
    "empty": None,
    "linear_ramp": "end_values",
    "maximum": "stat_length",
    "mean": "stat_length",
    "median": "stat_length",
    "minimum": "stat_length",
    "reflect": "reflect_type",
    "symmetric": "reflect_type",
    "wrap": None,
}


def pad(
    e: Emitter, array: Operand, pad_width: Operand, mode: Operand = "constant", **kwargs: Operand
) -> Value:
    """``np.pad``. Source: NumPy ``lib/_arraypad_impl.py``."""
    value = e.array(array)
    if not isinstance(mode, str):
        raise Unsupported("mode is not a string")
    if mode not in _KEYWORDS:
        raise WouldRaise(f"mode '{mode}' is not supported")
    if any(name != _KEYWORDS[mode] for name in kwargs):
        raise WouldRaise(f"unsupported keyword arguments for mode '{mode}'")
    widths = [_width(e, pair) for pair in _pairs(pad_width, len(value.shape))]
    if not value.shape:
        _width(e, *_pairs(pad_width, 1))
        for given in kwargs.values():
            _pairs(given, 1)
        return copy(e, value)  # nothing to go through, but a new array all the same
    shape: Shape = tuple(
        left + dim + right for dim, (left, right) in zip(value.shape, widths, strict=True)
    )
    if mode == "constant":
        pairs = _pairs(kwargs.get("constant_values", 0), len(value.shape))
        return _constant(e, value, widths, pairs)
    if mode != "empty" and any(equal(e, dim, 0) for dim in value.shape):
        return _of_nothing(e, value, widths, shape)
    if mode == "edge":
        return _edges(e, value, widths)
    if mode == "wrap" or (mode in {"reflect", "symmetric"} and not kwargs):
        skip = 0 if mode == "symmetric" else 1
        if _reach(e, value, widths, skip if mode == "reflect" else 0):
            return _repeated(e, value, widths, mode)
    return _opaque(e, value, shape, pad_width, mode, kwargs)


def _pairs(given: Operand, ndim: int) -> list[_Pair]:
    """Return a pair for each axis, as ``np.broadcast_to(given, (ndim, 2))`` does."""
    rows: Sequence[Any] = given if isinstance(given, tuple | list) else (given,)
    if any(isinstance(row, tuple | list) for row in rows):
        if not all(isinstance(row, tuple | list) and len(row) in {1, 2} for row in rows):
            raise Unsupported("pairs of different lengths")
        pairs = [(row[0], row[-1]) for row in rows]
        if len(pairs) not in {1, ndim} or len({len(row) for row in rows}) != 1:
            raise Unsupported("pairs that do not fit the axes")
        return pairs * ndim if len(pairs) == 1 else pairs
    if len(rows) not in {1, 2}:
        raise Unsupported("pairs that do not fit the axes")
    return [(rows[0], rows[-1])] * ndim


def _width(e: Emitter, pair: _Pair) -> tuple[Dim, Dim]:
    widths = []
    for given in pair:
        width = e.integer(given)
        if width is None:
            if e.weak_type(given) in {float, complex, bool}:
                raise WouldRaise("`pad_width` must be of integral type.")
            raise Unsupported("a width is not a known integer")
        if less(e, width, 0):
            raise WouldRaise("index can't contain negative values")
        widths.append(width)
    return widths[0], widths[1]


def _constant(
    e: Emitter, value: Value, widths: Sequence[tuple[Dim, Dim]], pairs: Sequence[_Pair]
) -> Value:
    dtypes = {e.array(number).dtype for pair in pairs for number in pair}
    if any(e.array(number).shape for pair in pairs for number in pair) or len(dtypes) > 1:
        raise Unsupported("constant_values are not numbers of one kind")
    for axis, (width, pair) in enumerate(zip(widths, pairs, strict=True)):
        numbers = [_fitting(e, number, value.dtype) for number in pair]
        value = _joined(
            e,
            value,
            axis,
            [_wide(e, value, axis, *one) for one in zip(numbers, width, strict=True)],
        )
    return value


def _fitting(e: Emitter, number: Operand, dtype: DType) -> Value:
    """Return what is put into the padded array; an int that does not fit may raise."""
    value = e.array(number)
    if value.dtype.kind in "iu" and dtype.kind in "iu" and value.dtype != dtype:
        limits = np.iinfo(dtype)
        if type(number) is not int:
            e.may_fail()
        elif not limits.min <= number <= limits.max:
            raise Unsupported("a constant that does not fit raises or wraps, by dtype")
    return cast(e, value, dtype)


def _wide(e: Emitter, value: Value, axis: int, number: Value, width: Dim) -> Value:
    return e.view(number, Broadcast((*value.shape[:axis], width, *value.shape[axis + 1 :])))


def _joined(e: Emitter, value: Value, axis: int, sides: Sequence[Value]) -> Value:
    return e.concat([sides[0], value, sides[1]], axis, value.dtype)


def _of_nothing(e: Emitter, value: Value, widths: Sequence[tuple[Dim, Dim]], shape: Shape) -> Value:
    for dim, pair in zip(value.shape, widths, strict=True):
        if equal(e, dim, 0) and not all(equal(e, width, 0) for width in pair):
            raise WouldRaise("can't extend an empty axis using modes other than 'constant'")
    return e.fill(shape, 0, value.dtype)


def _edges(e: Emitter, value: Value, widths: Sequence[tuple[Dim, Dim]]) -> Value:
    for axis, pair in enumerate(widths):
        sides = []
        for start, width in zip((0, value.shape[axis] - 1), pair, strict=True):
            edge = e.view(value, indexed(value, {axis: Range(start, 1, 1)}))
            wide = (*value.shape[:axis], width, *value.shape[axis + 1 :])
            sides.append(e.view(edge, Broadcast(wide)))
        value = _joined(e, value, axis, sides)
    return value


def _reach(e: Emitter, value: Value, widths: Sequence[tuple[Dim, Dim]], skip: int) -> bool:
    """Whether no side is wider than what there is to repeat once."""
    return not any(
        less(e, dim - skip, width)
        for dim, pair in zip(value.shape, widths, strict=True)
        for width in pair
    )


def _repeated(e: Emitter, value: Value, widths: Sequence[tuple[Dim, Dim]], mode: str) -> Value:
    for axis, (left, right) in enumerate(widths):
        length = value.shape[axis]
        skip = 1 if mode == "reflect" else 0
        if mode == "wrap":
            ranges = (Range(length - left, 1, left), Range(0, 1, right))
        else:
            ranges = (
                Range(left - 1 + skip, -1, left),
                Range(length - 1 - skip, -1, right),
            )
        sides = [e.view(value, indexed(value, {axis: piece})) for piece in ranges]
        value = _joined(e, value, axis, sides)
    return value


def _opaque(
    e: Emitter,
    value: Value,
    shape: Shape,
    pad_width: Operand,
    mode: str,
    kwargs: Mapping[str, Operand],
) -> Value:
    if not all(_is_constant(item) for item in kwargs.values()):
        raise Unsupported(f"the keyword of mode '{mode}' is not a constant")
    options = {"pad_width": pad_width, "mode": mode, **kwargs}
    return e.lib_call(np.pad, (value,), options, [(shape, value.dtype)])[0]


def _is_constant(item: Operand) -> bool:
    if isinstance(item, tuple | list):
        return all(_is_constant(inner) for inner in item)
    return item is None or type(item) in {int, float, complex, str}


# The table

table.define("pad", functions(pad, example.pads, "pad"))
