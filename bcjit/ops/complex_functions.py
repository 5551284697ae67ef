"""NumPy's functions about the parts of complex numbers: angle, isreal, iscomplex, real_if_close, sort_complex.

Each mirrors the Python function of NumPy that it names.
"""

from __future__ import annotations

from functools import partial
from math import pi

import numpy as np

from bcjit.ops.elementwise import apply
from bcjit.ops.emitter import Emitter, Operand, Part, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import BOOL, cast, copy
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("float_functions")
table = Rows()


def angle(e: Emitter, z: Operand, deg: Operand = False) -> Value:
    """``np.angle``. Source: NumPy ``lib/_function_base_impl.py``."""
    if type(deg) is not bool:
        raise Unsupported("deg is not a constant bool")
    value = e.array(z)
    if value.dtype.kind == "c":
        parts: tuple[Operand, ...] = (e.view(value, Part("imag")), e.view(value, Part("real")))
    else:
        parts = (0, value)
    (result,) = apply(e, row("arctan2"), parts)
    if deg:
        (result,) = apply(e, row("multiply"), (result, 180 / pi))
    return e.scalar(result)


def has_imaginary(
    answer: bool,
    e: Emitter,
    x: Operand,
) -> Value:
    """``np.iscomplex``, ``np.isreal``. Source: NumPy ``lib/_type_check_impl.py``."""
    if e.weak_type(x) is not None:
        raise Unsupported("a Python number")
    value = e.array(x)
    if value.dtype.kind != "c":
        return e.scalar(e.fill(value.shape, not answer, BOOL))
    name = "not_equal" if answer else "equal"
    return e.scalar(apply(e, row(name), (e.view(value, Part("imag")), 0))[0])


def real_if_close(e: Emitter, a: Operand, tol: Operand = 100) -> Value:
    """``np.real_if_close``: real arrays themselves; the dtype of others depends on their values."""
    if e.weak_type(tol) is None:
        raise Unsupported("tol is not a number")
    value = e.array(a)
    if value.dtype.kind == "c":
        raise Unsupported("the dtype of the result depends on values")
    return value


def sort_complex(e: Emitter, a: Operand) -> Value:
    """``np.sort_complex``. Source: NumPy ``lib/_function_base_impl.py``."""
    value = e.array(a)
    if not value.shape:
        raise WouldRaise("axis -1 is out of bounds for array of dimension 0")
    ordered = e.sort(copy(e, value), len(value.shape) - 1, None, indices=False)
    if value.dtype.kind == "c":
        return ordered
    char = "F" if value.dtype.char in "bhBH" else "G" if value.dtype.char == "g" else "D"
    return cast(e, ordered, np.dtype(char))


table.define("angle", functions(angle, example.angles, "angle"))
for _name, _answer in (("iscomplex", True), ("isreal", False)):
    table.define(_name, functions(partial(has_imaginary, _answer), example.each_array, _name))
table.define("real_if_close", functions(real_if_close, example.each_array, "real_if_close"))
table.define("sort_complex", functions(sort_complex, example.each_array, "sort_complex"))
