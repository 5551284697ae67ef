"""Functions and attributes that give facts about shapes and dtypes: a Python value, no array; they read no element.

What depends on the layout of an array (strides, flags, memory shared) is not known here and is in no entry.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from bcjit.ops.emitter import DType, Emitter, Operand, Shape
from bcjit.ops.opdef import Fact, Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import (
    as_dtype,
    axis_index,
    broadcast,
    require_int64,
    shape_argument,
    size_of,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import attribute, functions
from bcjit.ops.table import Rows

__all__: list[str] = []

example = Samplers("metadata")
of_any = Samplers("values")
table = Rows()


def _ask(function: Callable[..., object], *args: object) -> Fact:
    """Return what NumPy itself says about constants; what it raises or warns is left to the program."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return Fact(function(*args))
        except Warning as warning:
            raise Unsupported(str(warning)) from None
        except (TypeError, ValueError, KeyError) as error:
            raise WouldRaise(str(error)) from None


# Shapes


def shape(e: Emitter, a: Operand) -> Fact:
    """``np.shape``."""
    return Fact(e.array(a).shape)


def ndim(e: Emitter, a: Operand) -> Fact:
    """``np.ndim``."""
    return Fact(len(e.array(a).shape))


def size(e: Emitter, a: Operand, axis: Operand = None) -> Fact:
    """``np.size``."""
    value = e.array(a)
    if axis is None:
        return Fact(size_of(value))
    if isinstance(axis, tuple):
        raise Unsupported("the size along several axes is not in every NumPy")
    return Fact(value.shape[axis_index(e, axis, len(value.shape))])


def broadcast_shapes(e: Emitter, *args: Operand) -> Fact:
    """``np.broadcast_shapes``."""
    result: Shape = ()
    for arg in args:
        result = broadcast(e, result, shape_argument(e, arg))
    return Fact(result)


def _nbytes(e: Emitter, a: Operand) -> Fact:
    value = e.array(a)
    return Fact(size_of(value) * value.dtype.itemsize)


def _itemsize(e: Emitter, a: Operand) -> Fact:
    return Fact(e.array(a).dtype.itemsize)


def _dtype_of(e: Emitter, a: Operand) -> Fact:
    return Fact(e.array(a).dtype)


def _device(e: Emitter, a: Operand) -> Fact:
    e.array(a)
    return Fact("cpu")


def isfortran(e: Emitter, a: Operand) -> Fact:
    """``np.isfortran``: never of less than two axes, which are contiguous in both ways or in none."""
    if not e.is_value(a):
        raise Unsupported("the argument is not an array")
    if len(a.shape) > 1:
        raise Unsupported("the layout of the array is not known")
    return Fact(False)


# Dtypes

# Classes that NumPy knows by itself, abstract ones too; another may run code of the program when it is asked.
_CLASSES: Final[frozenset[object]] = frozenset(
    {
        *np.sctypeDict.values(),
        *(cls for name in np.sctypeDict for cls in np.sctypeDict[name].__mro__[:-1]),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        object,
    }
)


def _dtype_like(operand: Operand) -> object:
    if isinstance(operand, np.dtype | str):
        return operand
    if isinstance(operand, type) and operand in _CLASSES:
        return operand
    raise Unsupported("only NumPy's own dtypes are supported")


def _stand_in(e: Emitter, operand: Operand) -> Any:
    """Return what means the same to ``np.result_type``: a dtype, or a Python scalar of the type."""
    if e.is_value(operand):
        return operand.dtype
    weak = e.weak_type(operand)
    if weak is None:
        return _dtype_like(operand)
    require_int64(e, operand)
    return weak(0)


def result_type(e: Emitter, *arrays_and_dtypes: Operand) -> Fact:
    """``np.result_type``."""
    return _ask(np.result_type, *(_stand_in(e, operand) for operand in arrays_and_dtypes))


def promote_types(e: Emitter, type1: Operand, type2: Operand, /) -> Fact:
    """``np.promote_types``."""
    del e
    return _ask(np.promote_types, _dtype_like(type1), _dtype_like(type2))


def can_cast(
    e: Emitter,
    from_: Operand,
    /,
    to: Operand,
    casting: Operand = "safe",
) -> Fact:
    """``np.can_cast``."""
    if e.is_value(from_):
        if not from_.shape:
            raise Unsupported("the oldest NumPy looks at the value of a number")
        return _ask(np.can_cast, from_.dtype, _dtype_like(to), casting)
    if e.weak_type(from_) is not None:
        raise WouldRaise("can_cast() does not support Python ints, floats, and complex")
    return _ask(np.can_cast, _dtype_like(from_), _dtype_like(to), casting)


def min_scalar_type(e: Emitter, a: Operand, /) -> Fact:
    """``np.min_scalar_type``."""
    if e.is_value(a):
        if not a.shape:
            raise Unsupported("the answer depends on the value")
        return Fact(a.dtype)
    if type(a) not in {bool, int, float, complex}:
        raise Unsupported("the answer depends on the value")
    return _ask(np.min_scalar_type, a)


def common_type(e: Emitter, *arrays: Operand) -> Fact:
    """``np.common_type``."""
    if not all(e.is_value(array) for array in arrays):
        raise Unsupported("an argument is not an array")
    return _ask(np.common_type, *(np.empty(0, array.dtype) for array in arrays))  # type: ignore[attr-defined]


def mintypecode(
    e: Emitter, typechars: Operand, typeset: Operand = "GDFgdf", default: Operand = "d"
) -> Fact:
    """``np.mintypecode``."""
    if not isinstance(typechars, str | tuple | list):
        raise Unsupported("typechars is not a string or sequence")
    chars = [item.dtype.char if e.is_value(item) else item for item in typechars]
    if not all(isinstance(item, str) for item in (*chars, typeset, default)):
        raise Unsupported("typechars are not strings or arrays")
    return _ask(np.mintypecode, chars, typeset, default)


def isdtype(e: Emitter, dtype: Operand, kind: Operand) -> Fact:
    """``np.isdtype``."""
    del e
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return _ask(np.isdtype, _dtype_like(dtype), tuple(map(_dtype_like, kinds)))


def issubdtype(e: Emitter, arg1: Operand, arg2: Operand) -> Fact:
    """``np.issubdtype``."""
    del e
    return _ask(np.issubdtype, _dtype_like(arg1), _dtype_like(arg2))


def _is_complex(e: Emitter, x: Operand) -> bool:
    return e.weak_type(x) is complex or e.array(x).dtype.kind == "c"


def iscomplexobj(e: Emitter, x: Operand) -> Fact:
    """``np.iscomplexobj``."""
    return Fact(_is_complex(e, x))


def isrealobj(e: Emitter, x: Operand) -> Fact:
    """``np.isrealobj``."""
    return Fact(not _is_complex(e, x))


def isscalar(e: Emitter, element: Operand) -> Fact:
    """``np.isscalar``: a Python number, text or NumPy scalar."""
    if e.is_value(element):
        return Fact(e.is_scalar(element))
    return Fact(e.weak_type(element) is not None or isinstance(element, str))


def iterable(e: Emitter, y: Operand) -> Fact:
    """``np.iterable``: an array that is not 0-d, a sequence."""
    if e.is_value(y):
        return Fact(bool(y.shape))
    if y is None or e.weak_type(y) is not None:
        return Fact(False)
    if not isinstance(y, str | tuple | list):
        raise Unsupported("asking may run code")
    return Fact(True)


def _described(dtype: Operand) -> DType:
    found = as_dtype(dtype)
    if found is None:
        raise Unsupported("dtype=None")
    return found


def finfo(e: Emitter, dtype: Operand) -> Fact:
    """``np.finfo``: one object a dtype, of which NumPy keeps a table."""
    del e
    found = _described(dtype)
    if found.char in "gG":
        raise Unsupported("asking about a long double may warn")
    return _ask(np.finfo, found)


def iinfo(e: Emitter, int_type: Operand, /) -> Fact:
    """``np.iinfo``."""
    del e
    return _ask(np.iinfo, _described(int_type))


def dtype(e: Emitter, dtype: Operand, /, align: Operand = False, copy: Operand = False) -> Fact:
    """``np.dtype``."""
    del e
    if align is not False or copy is not False:
        raise Unsupported("align or copy")
    return Fact(_described(dtype))


# The table

table.define(
    "shape",
    functions(shape, of_any.each_array, "shape") + attribute(shape, of_any.each_array, "shape"),
)
table.define(
    "ndim", functions(ndim, of_any.each_array, "ndim") + attribute(ndim, of_any.each_array, "ndim")
)
table.define(
    "size", functions(size, example.sizes, "size") + attribute(size, of_any.each_array, "size")
)
for _name, _expand in (
    ("dtype_of", _dtype_of),
    ("itemsize", _itemsize),
    ("nbytes", _nbytes),
    ("device", _device),
):
    table.define(_name, attribute(_expand, of_any.each_array, _name.removesuffix("_of")))
for _function, _sampler in (
    (broadcast_shapes, example.shapes),
    (isfortran, of_any.each_array),
    (result_type, example.operands),
    (promote_types, example.pairs),
    (can_cast, example.casts),
    (min_scalar_type, example.numbers),
    (common_type, example.arrays),
    (mintypecode, example.codes),
    (isdtype, example.kinds),
    (issubdtype, example.classes),
    (iscomplexobj, example.numbers),
    (isrealobj, example.numbers),
    (isscalar, example.objects),
    (iterable, example.objects),
    (finfo, example.dtypes),
    (iinfo, example.dtypes),
):
    table.define(_function.__name__, functions(_function, _sampler, _function.__name__))
table.define("dtype", [Spelling(np.dtype, dtype, example.dtypes)])
