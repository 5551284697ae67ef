"""Functions made of elementwise ones: where, clip, round, isclose, diff, conversions to Python scalars; no ufuncs.

Each mirrors the Python or C function of NumPy that it names.
"""

from __future__ import annotations

import builtins
import math
from functools import partial
from typing import Final

import numpy as np

from bcjit.dims import product
from bcjit.ops.elementwise import apply, mask_of, single_out, store
from bcjit.ops.emitter import Basic, Emitter, Operand, Part, Pick, Value
from bcjit.ops.numpy_facts import CLIP_TAKES_ANY_INT, ROUND_COPIES_INTS
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import (
    ABSENT,
    BOOL,
    CASTINGS,
    cast,
    constant,
    copy,
    equal,
    is_array,
)
from bcjit.ops.promotion import promoted
from bcjit.ops.reductions import fold
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import CLIP, SELECT, row
from bcjit.ops.searching import nonzero
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import Rows
from bcjit.ops.ufuncs import ufunc_call

__all__: list[str] = []

example = Samplers("elementwise")
of_any = Samplers("values")
table = Rows()

# where, clip, round

_NOT_GIVEN: Final = object()


def where(
    e: Emitter, condition: Operand, x: Operand = _NOT_GIVEN, y: Operand = _NOT_GIVEN, /
) -> Value | tuple[Value, ...]:
    """``np.where``: always arrays; `np.nonzero` of one argument. Source: NumPy ``multiarraymodule.c``: ``PyArray_Where``."""
    if x is _NOT_GIVEN:
        return nonzero(e, condition)
    if y is _NOT_GIVEN:
        raise WouldRaise("either both or neither of x and y should be given")
    operands = [e.array(item) if isinstance(item, tuple | list) else item for item in (x, y)]
    dtype = promoted(e, *operands)
    for operand in operands:
        if type(operand) is int and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if not limits.min <= operand <= limits.max:
                raise Unsupported("an int that does not fit wraps or raises, by NumPy's version")
    test = e.array(condition)
    (result,) = e.map(SELECT, (cast(e, test, BOOL), *operands), (BOOL, dtype, dtype, dtype))
    return result


def _clip(
    e: Emitter,
    a: Operand,
    low: Operand,
    high: Operand,
    out: Operand,
    options: dict[str, Operand],
) -> Value | tuple[Value, ...]:
    """Source: NumPy ``_methods._clip``; further keywords are those of the ufunc."""
    value = e.array(a)
    if value.dtype.kind in "iu" and CLIP_TAKES_ANY_INT:
        limits = np.iinfo(value.dtype)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
    operands = tuple(x for x in (value, low, high) if x is not None)
    if len(operands) == 1 and not CLIP_TAKES_ANY_INT:
        raise WouldRaise("One of max or min must be given")
    if len(operands) == 1:
        function = row("positive")
    elif len(operands) == 3:
        function = CLIP
    else:
        function = row("minimum" if low is None else "maximum")
    return ufunc_call(function, e, *operands, out=out, **options)


def clip(
    e: Emitter,
    a: Operand,
    a_min: Operand = ABSENT,
    a_max: Operand = ABSENT,
    out: Operand = None,
    *,
    min: Operand = ABSENT,  # noqa: A002 - NumPy's names
    max: Operand = ABSENT,  # noqa: A002
    **options: Operand,
) -> Value | tuple[Value, ...]:
    """``np.clip``; ``min`` and ``max`` are newer names of ``a_min`` and ``a_max``."""
    renamed = min is not ABSENT or max is not ABSENT
    if not CLIP_TAKES_ANY_INT and renamed:
        raise Unsupported("the keywords min and max are newer than this NumPy")
    if a_min is ABSENT and a_max is ABSENT and CLIP_TAKES_ANY_INT:
        low, high = (None if limit is ABSENT else limit for limit in (min, max))
        return _clip(e, a, low, high, out, options)
    if a_min is ABSENT or a_max is ABSENT:
        raise WouldRaise("clip: a_min and a_max are both needed")
    if renamed:
        raise WouldRaise("a_min and a_max together with min or max")
    return _clip(e, a, a_min, a_max, out, options)


def _clip_method(
    e: Emitter,
    a: Operand,
    min: Operand = None,  # noqa: A002 - NumPy's names
    max: Operand = None,  # noqa: A002
    out: Operand = None,
    **options: Operand,
) -> Value | tuple[Value, ...]:
    return _clip(e, a, min, max, out, options)


def around(e: Emitter, a: Operand, decimals: Operand = 0, out: Operand = None) -> Value:
    """``np.round``. Source: NumPy ``calculation.c``: ``PyArray_Round``."""
    if isinstance(out, tuple):
        raise WouldRaise("return arrays must be of ArrayType")
    value, places = e.array(a), constant(e, decimals, "decimals")
    target = single_out(e, out)
    if target is not None and not equal(e, product(target.shape), product(value.shape)):
        raise WouldRaise("invalid output shape")
    if value.dtype.kind in "iu" and target is None and not ROUND_COPIES_INTS:
        raise Unsupported("rounding integers gives the array itself, in this NumPy")
    if value.dtype.kind == "c":
        result = _round_parts(e, value, places, target)
    elif value.dtype.kind in "iu" and places >= 0:
        result = copy(e, value) if target is None else store(e, target, value)
    else:
        result = _round_real(e, value, places, target)
    return result if target is not None else e.scalar(result)


def _round_real(e: Emitter, value: Value, places: int, target: Value | None) -> Value:
    if places == 0:
        return apply(e, row("rint"), (value,), out=target)[0]
    if abs(places) > 308:
        raise Unsupported("10 ** decimals is no float")
    power = 10.0 ** abs(places)
    first, last = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    if target is not None:
        for name, operands in ((first, (power,)), ("rint", ()), (last, (power,))):
            source = value if name == first else target
            (target,) = apply(e, row(name), (source, *operands), out=target)
        return target
    if value.dtype.kind == "b":
        raise WouldRaise("cannot cast ufunc 'multiply' output to bool")
    (scaled,) = apply(e, row(first), (value, power))
    (rounded,) = apply(e, row("rint"), (scaled,))
    (result,) = apply(e, row(last), (rounded, power))
    return cast(e, result, value.dtype)


def _round_parts(e: Emitter, value: Value, places: int, target: Value | None) -> Value:
    result = value if target is None else target
    if result.dtype.kind != "c":
        raise Unsupported("rounding complex numbers into a real array")
    if target is None:
        result = copy(e, value)
    for name in ("real", "imag"):
        part = _round_real(e, e.view(value, Part(name)), places, None)
        if len(part.shape) != len(result.shape) or not builtins.all(
            equal(e, have, want) for have, want in zip(part.shape, result.shape, strict=True)
        ):
            raise Unsupported("rounding complex numbers into an array of another shape")
        result = e.scatter(result, part, Part(name))
    return result


# Comparisons with tolerance


def _is_finite(number: complex) -> bool:
    return math.isfinite(number.real) and math.isfinite(number.imag)


def _close(
    e: Emitter, a: Operand, b: Operand, rtol: Operand, atol: Operand, equal_nan: Operand
) -> Value:
    """Source: NumPy ``_core/numeric.py``: ``isclose``."""
    if type(equal_nan) is not bool:
        raise Unsupported("equal_nan is not a constant bool")
    for tolerance in (rtol, atol):
        # NumPy reads the error state to warn of one that is not finite, and a graph has a state of its own.
        known = isinstance(tolerance, bool | int | float | complex) and _is_finite(tolerance)
        if not known and e.weak_type(tolerance) is not int:
            raise Unsupported("rtol or atol may not be finite")
    x, y = (v if e.weak_type(v) in {int, float, complex} else e.array(v) for v in (a, b))
    y = cast(e, e.array(y), promoted(e, y, 1.0))
    (difference,) = apply(e, row("subtract"), (x, y))
    (size,) = apply(e, row("absolute"), (y,))
    (scaled,) = apply(e, row("multiply"), (rtol, size))
    (limit,) = apply(e, row("add"), (atol, scaled))
    (distance,) = apply(e, row("absolute"), (difference,))
    (near,) = apply(e, row("less_equal"), (distance, limit))
    (finite,) = apply(e, row("isfinite"), (y,))
    (near,) = apply(e, row("bitwise_and"), (near, finite))
    (same,) = apply(e, row("equal"), (x, y))
    (result,) = apply(e, row("bitwise_or"), (near, same))
    if equal_nan:
        nans = [apply(e, row("isnan"), (e.array(v),))[0] for v in (x, y)]
        (result,) = apply(e, row("bitwise_or"), (result, *apply(e, row("bitwise_and"), nans)))
    return result


def isclose(
    e: Emitter,
    a: Operand,
    b: Operand,
    rtol: Operand = 1e-5,
    atol: Operand = 1e-8,
    equal_nan: Operand = False,
) -> Value:
    """``np.isclose``."""
    return e.scalar(_close(e, a, b, rtol, atol, equal_nan))


def _all_of(e: Emitter, value: Value) -> Value:
    return fold(e, row("logical_and"), value, tuple(range(len(value.shape))), dtype=BOOL)


def allclose(
    e: Emitter,
    a: Operand,
    b: Operand,
    rtol: Operand = 1e-5,
    atol: Operand = 1e-8,
    equal_nan: Operand = False,
) -> Operand:
    """``np.allclose``: a Python bool."""
    return e.item(_all_of(e, _close(e, a, b, rtol, atol, equal_nan)), bool)


def array_equal(e: Emitter, a1: Operand, a2: Operand, equal_nan: Operand = False) -> Operand:
    """``np.array_equal``: a Python bool. Source: NumPy ``_core/numeric.py``."""
    if type(equal_nan) is not bool:
        raise Unsupported("equal_nan is not a constant bool")
    left, right = e.array(a1), e.array(a2)
    alike = len(left.shape) == len(right.shape) and builtins.all(
        equal(e, a, b) for a, b in zip(left.shape, right.shape, strict=True)
    )
    if not alike:
        return e.item(e.fill((), False, BOOL), bool)
    (same,) = apply(e, row("equal"), (left, right))
    if equal_nan and left.dtype.kind in "fc" and right.dtype.kind in "fc":
        nans = [apply(e, row("isnan"), (value,))[0] for value in (left, right)]
        (same,) = apply(e, row("bitwise_or"), (same, *apply(e, row("bitwise_and"), nans)))
    return e.item(_all_of(e, same), bool)


def array_equiv(e: Emitter, a1: Operand, a2: Operand) -> Operand:
    """``np.array_equiv``: a Python bool. Source: NumPy ``_core/numeric.py``."""
    left, right = e.array(a1), e.array(a2)
    for one, other in zip(left.shape[::-1], right.shape[::-1], strict=False):
        if not (equal(e, one, other) or equal(e, one, 1) or equal(e, other, 1)):
            return e.item(e.fill((), False, BOOL), bool)
    return e.item(_all_of(e, apply(e, row("equal"), (left, right))[0]), bool)


def copyto(
    e: Emitter,
    dst: Operand,
    src: Operand,
    casting: Operand = "same_kind",
    where: Operand = True,
) -> None:
    """``np.copyto``: src is broadcast and cast into dst, where a mask is true."""
    if not is_array(e, dst) or not e.is_value(dst):
        raise Unsupported("the destination is not an array")
    mask = mask_of(e, where)
    if mask is not None and len(mask.shape) > len(dst.shape):
        raise WouldRaise("could not broadcast the mask to the destination")
    if mask is not None:
        for have, want in zip(mask.shape[::-1], dst.shape[::-1], strict=False):
            if not equal(e, have, want) and not equal(e, have, 1):
                raise WouldRaise("could not broadcast the mask to the destination")
    if isinstance(src, list | tuple):
        src = e.array(src)
    if e.is_value(src):
        if casting not in CASTINGS:
            raise Unsupported("casting is not one of NumPy's words")
        if not np.can_cast(src.dtype, dst.dtype, casting):
            # The oldest NumPy looks at the value of a 0-d source.
            answer = WouldRaise if src.shape else Unsupported
            raise answer(f"cannot cast from {src.dtype} to {dst.dtype}")
        store(e, dst, src, exact=False, mask=mask)
        return
    weak = e.weak_type(src)
    if weak is None:
        raise Unsupported("the source is not an array or a number")
    if _RANK[weak] > _RANK[_ITEM_TYPE[dst.dtype.kind]] or dst.dtype.kind == "u":
        raise Unsupported("a Python number of another kind")
    store(e, dst, e.fill((), src, dst.dtype), exact=False, mask=mask)


_RANK: Final[dict[type, int]] = {bool: 0, int: 1, float: 2, complex: 3}


# Python scalars

_ITEM_TYPE: Final[dict[str, type]] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def item(e: Emitter, a: Operand) -> Operand:
    """``x.item()`` of one element."""
    value = e.array(a)
    if value.dtype.char in "gG":
        raise Unsupported("a long double has no Python type")
    if not all(equal(e, dim, 1) for dim in value.shape):
        raise WouldRaise("can only convert an array of size 1 to a Python scalar")
    first = e.view(value, Basic(tuple(Pick(0) for _ in value.shape)))
    return e.item(first, _ITEM_TYPE[value.dtype.kind])


def _conversion(pytype: type, e: Emitter, x: Operand, /) -> Operand:
    if not e.is_value(x):
        raise Unsupported("the operand is not an array")
    if x.shape:
        raise Unsupported("only 0-d arrays are converted without a warning")
    if x.dtype.kind == "c" and pytype is not complex:
        raise Unsupported("converting complex to real warns")
    if pytype is int and x.dtype.kind == "f":
        # NaN and infinities have no int.
        e.may_fail()
    return e.item(e.array(x), pytype)


# conjugate, fill


def _conjugate_method(e: Emitter, a: Operand) -> Value:
    """``x.conj()``: a real array itself (NumPy ``calculation.c``: ``PyArray_Conjugate``)."""
    value = e.array(a)
    if value.dtype.kind != "c":
        return e.scalar(value) if e.is_value(a) and e.is_scalar(a) else value
    return e.scalar(apply(e, row("conjugate"), (value,))[0])


def _fill_method(e: Emitter, a: Operand, value: Operand) -> None:
    target = e.array(a)
    if not e.is_value(a) or e.is_scalar(a):
        raise Unsupported("fill of what is not an array")
    if e.is_value(value):
        if value.shape:
            raise Unsupported("fill by an array")
    elif e.weak_type(value) is None:
        raise Unsupported("fill by what is not a number")
    elif e.weak_type(value) is complex and target.dtype.kind in "iuf":
        raise WouldRaise("a complex number does not fit a real array")
    elif type(value) is int and target.dtype.kind in "iu":
        limits = np.iinfo(target.dtype)
        if not limits.min <= value <= limits.max:
            raise WouldRaise(f"Python integer {value} out of bounds for {target.dtype}")
    store(
        e,
        target,
        e.array(value) if e.is_value(value) else e.fill((), value, target.dtype),
        exact=False,
    )


# The table

table.define("where", functions(where, example.wheres, "where"))
table.define(
    "clip",
    functions(clip, example.clips, "clip") + methods(_clip_method, example.clip_methods, "clip"),
)
table.define(
    "round",
    functions(around, example.rounds, "round", "around") + methods(around, example.rounds, "round"),
)
table.define("isclose", functions(isclose, example.closes, "isclose"))
table.define("allclose", functions(allclose, example.closes, "allclose"))
table.define("array_equal", functions(array_equal, example.pairs, "array_equal"))
table.define("array_equiv", functions(array_equiv, example.equivalents, "array_equiv"))
table.define("copyto", functions(copyto, example.copies, "copyto"))
table.define("item", methods(item, of_any.each_array, "item"))
table.define(
    "conjugate_method",
    methods(_conjugate_method, of_any.each_array, "conjugate")
    + methods(_conjugate_method, of_any.each_array, "conj"),
)
table.define("fill", methods(_fill_method, example.fills, "fill", of_scalars=False))
for _type in (builtins.int, builtins.float, builtins.complex):
    table.define(
        f"{_type.__name__}()",
        [Spelling(_type, partial(_conversion, _type), example.unary_operator)],
    )
