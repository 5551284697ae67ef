"""Scalar functions as vector instructions, where these give NumPy's bits and flags; what has no rule here runs as NumPy's inner loop.

Source of what NumPy computes: ``numpy/_core/src/umath`` (``loops_arithm_fp``, ``loops_minmax``, ``loops_comparison``, ``loops.c.src``).
Which NaN a sum or product of two gives is not part of it: IEEE 754 leaves that open.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from bcjit.backends.native.complexes import complex_rule, real_of
from bcjit.backends.native.division import QUOTIENTS, can_divide, division_rule
from bcjit.backends.native.engine import machine
from bcjit.backends.native.fast import fast_of
from bcjit.backends.native.fast_rules import inverse
from bcjit.backends.native.gathers import GATHER, gather_rule
from bcjit.backends.native.halves import half_rule
from bcjit.backends.native.lanes import Lanes
from bcjit.backends.native.part_rules import part_rule_of
from bcjit.backends.native.scalars import BETWEEN, INVERSE, MULTIPLY_ADD
from bcjit.backends.native.text import Text, Vector, element_type
from bcjit.ops.scalar_functions import (
    CAST,
    CLIP,
    SCALAR_FUNCTIONS,
    SELECT,
    ScalarFunction,
)

__all__ = ["X86", "Rule", "has_rule", "rule_of"]

DType: TypeAlias = "np.dtype[Any]"
Rule: TypeAlias = "Callable[[Text, Sequence[Vector], tuple[DType, ...]], Vector]"

X86: Final = platform.machine().lower() in {"x86_64", "amd64"}
_BOOL: Final = np.dtype(bool)
_SINGLE: Final = np.dtype(np.float32)
_SUFFIXES: Final = {"float": "f32", "double": "f64", "half": "f16"}


def _suffix(t: Text, dtype: DType) -> str:
    element = element_type(dtype)
    return f"v{t.width}{_SUFFIXES.get(element, element)}"


def _instruction(opcode: str) -> Rule:
    def rule(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
        names = ", ".join(operand.name for operand in operands)
        return t.make(dtypes[-1], f"{opcode} {t.type_of(operands[0].dtype)} {names}")

    return rule


def _intrinsic(name: str, *, flag: bool = False) -> Rule:
    def rule(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
        kind = t.type_of(dtypes[0])
        given = [(kind, operand.name) for operand in operands]
        if flag:
            given.append(("i1", "0"))
        return Vector(t.call(f"llvm.{name}.{_suffix(t, dtypes[0])}", kind, given), dtypes[-1])

    return rule


def _identity(_t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
    return operands[0]


def _twice(rule: Rule) -> Rule:
    return lambda t, operands, dtypes: rule(t, (operands[0], operands[0]), (dtypes[0], *dtypes))


def _negated_integer(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    return t.make(dtypes[-1], f"sub {t.type_of(dtypes[0])} zeroinitializer, {operands[0].name}")


def _negated_float(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    """Turn the sign bit over, so that LLVM does not see a negation, which it would move to other operands: NaN have signs."""
    dtype = dtypes[0]
    integer = np.dtype(f"i{dtype.itemsize}")
    kind, bits = t.type_of(dtype), t.type_of(integer)
    mask = t.opaque(integer.type(np.iinfo(integer).min))
    turned = t.value(f"bitcast {kind} {operands[0].name} to {bits}")
    turned = t.value(f"xor {bits} {turned}, {mask.name}")
    return t.make(dtype, f"bitcast {bits} {turned} to {kind}")


def _reciprocal(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    one = t.constant(dtypes[0].type(1))
    return _instruction("fdiv")(t, (one, operands[0]), dtypes)


def _inverted(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    ones = t.constant(~dtypes[0].type(0))
    return _instruction("xor")(t, (operands[0], ones), dtypes)


# Predicates, for floats, signed and unsigned integers. Those of floats are false for NaN but for "une".
_PREDICATES: Final = {
    "equal": ("oeq", "eq", "eq"), "not_equal": ("une", "ne", "ne"), "less": ("olt", "slt", "ult"),
    "less_equal": ("ole", "sle", "ule"), "greater": ("ogt", "sgt", "ugt"),
    "greater_equal": ("oge", "sge", "uge"),
}  # fmt: skip


def _compare(t: Text, predicate: str, one: Vector, other: Vector) -> Vector:
    if X86 and one.dtype.kind == "f":
        # Plain instructions for order raise the invalid flag for quiet NaN, which NumPy's loops take back.
        return t.compared(predicate, one, other)
    opcode = "fcmp" if one.dtype.kind == "f" else "icmp"
    return t.make(_BOOL, f"{opcode} {predicate} {t.type_of(one.dtype)} {one.name}, {other.name}")


def _comparison(name: str) -> Rule:
    def rule(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
        place = {"f": 0, "i": 1}.get(dtypes[0].kind, 2)
        return _compare(t, _PREDICATES[name][place], operands[0], operands[1])

    return rule


def _select(t: Text, condition: Vector, one: Vector, other: Vector) -> Vector:
    kind = t.type_of(one.dtype)
    text = f"select {t.vector_type('i1')} {condition.name}, {kind} {one.name}, {kind} {other.name}"
    return t.make(one.dtype, text)


def _where(t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
    condition, one, other = operands
    if one.dtype.kind != "f":
        return _select(t, condition, one, other)
    return _select(t, t.undecided(condition), t.fence(one), t.fence(other))


def _truth(t: Text, value: Vector) -> Vector:
    """Return whether elements are not zero; NaN is true."""
    if value.dtype.kind == "b":
        return value
    zero = t.constant(value.dtype.type(0))
    return _compare(t, "une" if value.dtype.kind == "f" else "ne", value, zero)


def _logical(opcode: str) -> Rule:
    def rule(t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
        return _instruction(opcode)(t, [_truth(t, one) for one in operands], (_BOOL, _BOOL, _BOOL))

    return rule


def _logical_not(t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
    return _inverted(t, (_truth(t, operands[0]),), (_BOOL, _BOOL))


def _magnitude(t: Text, value: Vector) -> Vector:
    return _intrinsic("fabs")(t, (value,), (value.dtype, value.dtype))


def _is_nan(t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
    return _compare(t, "uno", operands[0], operands[0])


def _is_infinite(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    return _compare(t, "oeq", _magnitude(t, operands[0]), t.constant(dtypes[0].type(np.inf)))


def _is_finite(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    return _compare(t, "one", _magnitude(t, operands[0]), t.constant(dtypes[0].type(np.inf)))


def _sign_bit(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    integer = np.dtype(f"i{dtypes[0].itemsize}")
    kind = t.type_of(dtypes[0])
    t.compared("uno", operands[0], operands[0])  # for its flags, where nobody needs the sign
    bits = t.make(integer, f"bitcast {kind} {operands[0].name} to {t.type_of(integer)}")
    return _compare(t, "slt", bits, t.constant(integer.type(0)))


def _extreme(predicate: str) -> Rule:
    """Return maximum or minimum as the processor has it, of NaN the first: ``a`` where it is NaN or beyond ``b``, else ``b``."""

    def rule(t: Text, operands: Sequence[Vector], _dtypes: tuple[DType, ...]) -> Vector:
        one, other = operands
        beyond = _compare(t, predicate, one, other)
        nan = _compare(t, "uno", one, one)
        either = _instruction("or")(t, (beyond, nan), (_BOOL, _BOOL, _BOOL))
        return _select(t, either, one, other)

    return rule


def _clipped(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    """Where limits are arrays, which of two zeros is taken is for NumPy to say: it looks whether they are repeated for some elements side by side."""
    value, low, high = operands
    pair = (dtypes[0],) * 3
    if dtypes[0].kind != "f":
        sign = "u" if dtypes[0].kind in "bu" else "s"
        raised = _intrinsic(f"{sign}max")(t, (value, low), pair)
        return _intrinsic(f"{sign}min")(t, (raised, high), pair)
    raised = _extreme("ogt")(t, (value, low), pair)
    _invalid_where(t, _are_twins(t, value, low), dtypes[0])
    _invalid_where(t, _are_twins(t, raised, high), dtypes[0])
    return _extreme("olt")(t, (raised, high), pair)


def _are_twins(t: Text, one: Vector, other: Vector) -> Vector:
    """Return where floats are equal, or both NaN, and have other bits."""
    integer = np.dtype(f"i{one.dtype.itemsize}")
    kind, target, flags = t.type_of(one.dtype), t.type_of(integer), (_BOOL,) * 3
    bits = [t.make(integer, f"bitcast {kind} {each.name} to {target}") for each in (one, other)]
    nans = [_compare(t, "uno", each, each) for each in (one, other)]
    alike = (_instruction("and")(t, nans, flags), _compare(t, "oeq", one, other))
    either = _instruction("or")(t, alike, flags)
    return _instruction("and")(t, (either, _compare(t, "ne", *bits)), flags)


def _invalid_where(t: Text, condition: Vector, dtype: DType) -> None:
    """Raise the invalid flag where a condition holds for some element: then NumPy does it."""
    beyond, zero = (t.constant(dtype.type(value)) for value in (np.inf, 0))
    t.whole(_select(t, condition, beyond, zero), np.dtype(np.int32))


def _between(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    """NumPy compares with numbers otherwise than with arrays (``clip.cpp``: ``_npy_clip_const_minmax_``): what is equal stays, and a limit that is NaN is taken."""
    value, low, high = operands
    pair = (dtypes[0],) * 3
    if not _stays(dtypes[0]):
        return _extreme("olt")(t, (_extreme("ogt")(t, (value, low), pair), high), pair)
    found = _select(t, _compare(t, "olt", value, low), low, value)
    found = _select(t, _compare(t, "ogt", found, high), high, found)
    found = _select(t, _compare(t, "uno", high, high), high, found)
    return _select(t, _compare(t, "uno", low, low), low, found)


@cache
def _stays(dtype: DType) -> bool:
    """Whether this NumPy leaves a zero what it is where the limit is one of the other sign; it is tried."""
    zeros = np.full(9, -0.0, dtype)
    return bool(np.signbit(np.clip(zeros, dtype.type(0), dtype.type(1))).all())


def _ones_and_zeros(t: Text, condition: Vector, dtype: DType) -> Vector:
    return _select(t, condition, t.constant(dtype.type(1)), t.constant(dtype.type(0)))


def _sign(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    """NaN stays what it is; both zeros are +0."""
    (value,), dtype = operands, dtypes[0]
    zero = t.constant(dtype.type(0))
    above, below = {"f": ("ogt", "olt"), "i": ("sgt", "slt")}.get(dtype.kind, ("ugt", None))
    found = _ones_and_zeros(t, _compare(t, above, value, zero), dtype)
    if below is not None:
        found = _select(t, _compare(t, below, value, zero), t.constant(dtype.type(-1)), found)
    if dtype.kind == "f":
        found = _select(t, _is_nan(t, operands, dtypes), value, found)
    return found


def _copied_sign(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    """Of what LLVM knows the sign of, or whose sign it finds not to be needed, it would compute nothing, and raise no flag."""
    sized, signed = operands
    return t.fence(_intrinsic("copysign")(t, (sized, t.fence(signed)), dtypes))


def _heaviside(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    """Source: NumPy ``npy_math_internal.h.src``: ``npy_heaviside``."""
    (value, at_zero), dtype = (operands[0], t.fence(operands[1])), dtypes[0]
    zero = t.constant(dtype.type(0))
    found = _ones_and_zeros(t, _compare(t, "oge", value, zero), dtype)
    found = _select(t, _compare(t, "oeq", value, zero), at_zero, found)
    return _select(t, _is_nan(t, operands, dtypes), t.constant(dtype.type(np.nan)), found)


def _scaled(factor: float, divisor: float) -> Rule:
    def rule(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
        dtype = dtypes[0]
        by = t.constant(dtype.type(factor) / dtype.type(divisor))
        return _instruction("fmul")(t, (operands[0], by), (dtype,) * 3)

    return rule


def _count_of_bits(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    value = operands[0]
    if dtypes[0].kind == "i":
        value = _intrinsic("abs", flag=True)(t, operands, (dtypes[0],) * 2)
    counted = _intrinsic("ctpop")(t, (value,), (dtypes[0],) * 2)
    return _cast(t, (counted,), dtypes)


def _shifted(opcode: str) -> Rule:
    """Shifts as NumPy defines them, by negative counts and by more bits than there are too (``npy_math_internal.h.src``: ``npy_lshift``)."""

    def rule(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
        (value, count), dtype = operands, dtypes[0]
        bits = 8 * dtype.itemsize
        fits = _compare(t, "ult", count, t.constant(dtype.type(bits)))
        signed = opcode == "shr" and dtype.kind == "i"
        # What is beyond is not defined in LLVM.
        count = _select(t, fits, count, t.constant(dtype.type(bits - 1 if signed else 0)))
        name = {"shl": "shl", "shr": "ashr" if signed else "lshr"}[opcode]
        found = _instruction(name)(t, (value, count), dtypes)
        return found if signed else _select(t, fits, found, t.constant(dtype.type(0)))

    return rule


def _float_to_integer(t: Text, value: Vector, target: DType) -> Vector:
    """As C does on x86, by the instruction for int32 or int64: what is out of range raises the invalid flag, and is what NumPy has there."""
    source, large = value.dtype, None
    through = np.dtype(
        np.int32 if target.itemsize < 4 or target == np.dtype(np.int32) else np.int64
    )
    if target == np.dtype(np.uint64):
        half = t.constant(source.type(2.0**63))
        large = _compare(t, "oge", value, half)
        less = _instruction("fsub")(t, (value, half), (source,) * 3)
        value = _select(t, large, less, value)
    if target == np.dtype(np.uint32) and source.itemsize > 2:
        # There NumPy's vectors raise the flag and give 0, what is left behind the last one neither: it is always NumPy's.
        above = _compare(t, "oge", value, t.constant(source.type(2.0**32)))
        below = _compare(t, "olt", value, t.constant(source.type(-(2.0**31))))
        beyond = t.constant(source.type(np.inf))
        value = _select(t, above, beyond, _select(t, below, beyond, value))
    found = t.whole(value, through)
    if large is not None:
        bit = _select(t, large, t.constant(np.int64(-(2**63))), t.constant(np.int64(0)))
        found = _instruction("xor")(t, (found, bit), (through,) * 3)
    return _cast(t, (found,), (through, target))


def _cast(t: Text, operands: Sequence[Vector], dtypes: tuple[DType, ...]) -> Vector:
    source, target = dtypes
    name, kind = operands[0].name, t.type_of(source)
    if target.kind == "b":
        return _truth(t, operands[0])
    if source.kind == "f" and target.kind in "iu":
        return _float_to_integer(t, operands[0], target)
    if source.kind in "bu" and target.kind == "f":
        opcode = "uitofp"
    elif source.kind == "i" and target.kind == "f":
        opcode = "sitofp"
    elif source.kind == "f":
        opcode = "fpext" if target.itemsize > source.itemsize else "fptrunc"
    elif target.itemsize > source.itemsize or source.kind == "b":
        opcode = "sext" if source.kind == "i" else "zext"
    elif target.itemsize < source.itemsize:
        opcode = "trunc"
    else:
        return Vector(name, target)
    if element_type(source) == element_type(target):
        return Vector(name, target)
    made = t.make(target, f"{opcode} {kind} {name} to {t.type_of(target)}")
    # Of integers LLVM knows much: that ``x * 0`` is 0.
    return t.fence(made) if source.kind != "f" and target.kind == "f" else made


# name -> {kind of the loop's first operand: rule}
_RULES: Final[dict[str, dict[str, Rule]]] = {
    "add": {"f": _instruction("fadd"), "iu": _instruction("add"), "b": _logical("or")},
    "subtract": {"f": _instruction("fsub"), "iu": _instruction("sub")},
    "multiply": {"f": _instruction("fmul"), "iu": _instruction("mul"), "b": _logical("and")},
    "divide": {"f": _instruction("fdiv")},
    "negative": {"f": _negated_float, "iu": _negated_integer},
    "positive": {"fiu": _identity},
    "conjugate": {"fiu": _identity},
    "absolute": {"f": _intrinsic("fabs"), "i": _intrinsic("abs", flag=True), "u": _identity, "b": _identity},
    "fabs": {"f": _intrinsic("fabs")},
    "sqrt": {"f": _intrinsic("sqrt")},
    "square": {"f": _twice(_instruction("fmul")), "iu": _twice(_instruction("mul"))},
    "reciprocal": {"f": _reciprocal},
    "floor": {"f": _intrinsic("floor"), "biu": _identity},
    "ceil": {"f": _intrinsic("ceil"), "biu": _identity},
    "trunc": {"f": _intrinsic("trunc"), "biu": _identity},
    "rint": {"f": _intrinsic("rint")},
    "sign": {"fiu": _sign},
    "heaviside": {"f": _heaviside},
    "deg2rad": {"f": _scaled(np.pi, 180.0)},
    "rad2deg": {"f": _scaled(180.0, np.pi)},
    "radians": {"f": _scaled(np.pi, 180.0)},
    "degrees": {"f": _scaled(180.0, np.pi)},
    "bitwise_count": {"iu": _count_of_bits},
    "left_shift": {"iu": _shifted("shl")},
    "right_shift": {"iu": _shifted("shr")},
    "copysign": {"f": _copied_sign},
    "bitwise_and": {"iu": _instruction("and"), "b": _logical("and")},
    "bitwise_or": {"iu": _instruction("or"), "b": _logical("or")},
    "bitwise_xor": {"iu": _instruction("xor"), "b": _logical("xor")},
    "invert": {"iu": _inverted, "b": _logical_not},
    "logical_and": {"fiub": _logical("and")},
    "logical_or": {"fiub": _logical("or")},
    "logical_xor": {"fiub": _logical("xor")},
    "logical_not": {"fiub": _logical_not},
    "isnan": {"f": _is_nan},
    "isinf": {"f": _is_infinite},
    "isfinite": {"f": _is_finite},
    "signbit": {"f": _sign_bit},
    "maximum": {"f": _extreme("ogt"), "i": _intrinsic("smax"), "u": _intrinsic("umax"), "b": _logical("or")},
    "minimum": {"f": _extreme("olt"), "i": _intrinsic("smin"), "u": _intrinsic("umin"), "b": _logical("and")},
    "clip": {"f": _clipped, "iu": _clipped},
    "between": {"f": _between},
    "select": {"b": _where},
    "cast": {"biuf": _cast},
    **{name: {"fiu": division_rule(name)} for name in QUOTIENTS},
    "multiply_add": {"f": _intrinsic("fmuladd")},
    "inverse": {"f": lambda t, operands, _: inverse(Lanes(t, operands[0])).vector},
    **{name: {"fiub": _comparison(name)} for name in _PREDICATES},
}  # fmt: skip

_OWN: Final = {
    **SCALAR_FUNCTIONS,
    "cast": CAST,
    "select": SELECT,
    "clip": CLIP,
    "between": BETWEEN,
    "multiply_add": MULTIPLY_ADD,
    "inverse": INVERSE,
}

_CHARS: Final = frozenset("?bhilqpBHILQPefdFD")
_ROUND: Final = frozenset({"floor", "ceil", "trunc", "rint"})
# Of operands of several dtypes.
_MIXED: Final = frozenset({"select"})
# Elsewhere the processor's own instruction orders zeros: NumPy's inner loop knows.
_OF_X86: Final = frozenset({"maximum", "minimum", "clip"})


def _by_lanes(compute: Callable[..., Lanes]) -> Rule:
    return lambda t, operands, _dtypes: compute(*(Lanes(t, one) for one in operands)).vector


def _of_part(compute: Callable[[Lanes, DType], Lanes]) -> Rule:
    return lambda t, operands, dtypes: compute(Lanes(t, operands[0]), dtypes[-1]).vector


def rule_of(function: ScalarFunction, dtypes: tuple[DType, ...]) -> Rule | None:
    """Return the rule of a scalar function for a loop, None if there is none."""
    if function is GATHER:
        return gather_rule
    name = function.name
    fast = fast_of(function)
    if fast is not None:
        return _by_lanes(fast.value)
    part = part_rule_of(function)
    if part is not None:
        known = dtypes[0].char in "fd" and machine().rounds and X86
        return _of_part(part) if known else None
    if _OWN.get(name) is not function:
        return None  # somebody else's ufunc of the same name
    if any(dtype.char not in _CHARS for dtype in dtypes):
        return None
    if name not in _MIXED and len(set(dtypes[:-1])) > 1:
        return None  # comparisons of int64 with uint64
    if any(dtype.kind == "c" for dtype in dtypes):
        parts = tuple(real_of(dtype) if dtype.kind == "c" else dtype for dtype in dtypes)
        halves = any(dtype.char == "e" for dtype in dtypes)
        return None if halves else complex_rule(name, dtypes, _of_kind(name, parts))
    if any(dtype.char == "e" for dtype in dtypes):
        if not machine().halves:
            return None
        singles = tuple(_SINGLE if dtype.char == "e" else dtype for dtype in dtypes)
        return half_rule(name, dtypes, _of_kind(name, singles))
    return _of_kind(name, dtypes)


def _of_kind(name: str, dtypes: tuple[DType, ...]) -> Rule | None:
    if name in _ROUND and dtypes[0].kind == "f" and not machine().rounds:
        return None
    if not X86 and dtypes[0].kind == "f" and (name in _OF_X86 or dtypes[-1].kind in "iu"):
        return (
            None  # what is out of range of integers, too, is decided by the processor's instruction
        )
    if name in QUOTIENTS and not (X86 and can_divide(dtypes[0])):
        return None
    for kinds, rule in _RULES.get(name, {}).items():
        if dtypes[0].kind in kinds:
            return rule
    return None


def has_rule(function: ScalarFunction, dtypes: tuple[DType, ...]) -> bool:
    """Whether there is a rule."""
    return rule_of(function, dtypes) is not None
