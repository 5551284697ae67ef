"""Copies and other readings of the same elements: astype, copy, view of a dtype, real and imaginary parts."""

from __future__ import annotations

from functools import partial

import numpy as np

from bcjit.dims import Dim, floor_divide, modulo
from bcjit.ops.emitter import Broadcast, DType, Emitter, Operand, Part, Reinterpret, Reshape, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import CASTINGS, FLOAT64, as_dtype, copy, equal, is_array, require_default
from bcjit.ops.samples import Samplers
from bcjit.ops.spell import attribute, functions, methods
from bcjit.ops.table import Rows
from bcjit.ops.views import back, by_layout, indexed

__all__: list[str] = []

example = Samplers("movement")
of_any = Samplers("values")
table = Rows()


def _order(order: Operand) -> str:
    """Return an order of memory as NumPy spells it."""
    if order is None:
        return "K"
    if not isinstance(order, str) or order not in tuple("CFKA"):
        raise Unsupported(f"order={order!r} is not supported here")
    return order


def astype(
    e: Emitter,
    x: Operand,
    dtype: Operand,
    order: Operand = "K",
    casting: Operand = "unsafe",
    subok: Operand = True,
    copy: Operand = True,
) -> Value:
    """``ndarray.astype``."""
    layout = _order(order)
    value = e.array(x)
    target = FLOAT64 if dtype is None else as_dtype(dtype)
    assert target is not None
    if type(subok) is not bool or type(copy) is not bool or casting not in CASTINGS:
        raise Unsupported("subok, copy or casting is not one of NumPy's")
    if not np.can_cast(value.dtype, target, casting):
        raise WouldRaise(f"cannot cast from {value.dtype} to {target} with casting rule {casting}")
    if not copy and value.dtype == target:
        if layout == "K":
            return back(e, x, value)
        # Itself where its layout is the order asked for.
        return back(e, x, e.view(value, Reshape(value.shape, by_layout(layout))))
    return back(e, x, _copied(e, value, target))


_copied = copy


def _astype_function(
    e: Emitter,
    x: Operand,
    dtype: Operand,
    /,
    *,
    copy: Operand = True,
    device: Operand = None,
) -> Value:
    """``np.astype`` of an array."""
    if not is_array(e, x):
        raise Unsupported("scalars are refused by the oldest NumPy")
    require_default(device, None, "device")
    return astype(e, x, dtype, copy=copy)


def _copy_function(e: Emitter, a: Operand, order: Operand = "K", subok: Operand = False) -> Value:
    _order(order)
    if type(subok) is not bool:
        raise Unsupported("subok is not a constant bool")
    return copy(e, e.array(a))


def _copy_method(e: Emitter, a: Operand, order: Operand = "C") -> Value:
    _order(order)
    return back(e, a, copy(e, e.array(a)))


def _view(e: Emitter, a: Operand, dtype: Operand = None, type: Operand = None) -> Value:  # noqa: A002 - NumPy's names
    """``x.view(dtype)``: the same memory. Source: NumPy ``getset.c``: ``array_descr_set``."""
    if dtype is np.ndarray and type is None:
        dtype = None
    if type is not None and type is not np.ndarray:
        raise Unsupported("a view of another class")
    value, target = e.array(a), as_dtype(dtype)
    if target is None or target == value.dtype:
        return back(e, a, e.view(value, indexed(value, {})))
    if not is_array(e, a):
        raise Unsupported("a NumPy scalar read as another dtype")
    return e.view(value, Reinterpret(target, _shape_of_bits(e, value, target)))


def _shape_of_bits(e: Emitter, value: Value, target: DType) -> tuple[Dim, ...]:
    old, new = value.dtype.itemsize, target.itemsize
    if old == new:
        return value.shape
    if not value.shape:
        raise WouldRaise("the dtype of a 0d array changes only where the size is the same")
    # The last axis must be contiguous.
    e.may_fail()
    *rest, last = value.shape
    if not equal(e, modulo(last * old, new), 0):
        raise WouldRaise("the last axis must be divisible by the size of the new dtype")
    return (*rest, floor_divide(last * old, new))


def _byteswap(e: Emitter, a: Operand, inplace: Operand = False) -> Value:
    """``x.byteswap()``: a copy with the bytes of each element in the other order."""
    require_default(inplace, False, "inplace")
    if not is_array(e, a):
        raise Unsupported("the bytes of a NumPy scalar")
    value = e.array(a)
    (result,) = e.lib_call(np.ndarray.byteswap, (value,), {}, [(value.shape, value.dtype)])
    return result


def _to_device(e: Emitter, a: Operand, device: Operand, /, *, stream: Operand = None) -> Value:
    """``x.to_device("cpu")``: the array itself."""
    require_default(stream, None, "stream")
    if device != "cpu" or not is_array(e, a):
        raise Unsupported("a device that is not 'cpu', or a NumPy scalar")
    return e.array(a)


def _part(name: str, e: Emitter, val: Operand) -> Value:
    """``x.real`` is a real array itself; ``x.imag`` of one is new read-only zeros."""
    value = e.array(val)
    if value.dtype.kind == "c":
        return back(e, val, e.view(value, Part(name)))
    if name == "real":
        return back(e, val, value)
    return back(e, val, e.view(e.fill((), 0, value.dtype), Broadcast(value.shape)))


# The table

table.define(
    "astype",
    functions(_astype_function, example.casts_of_arrays, "astype")
    + methods(astype, example.casts, "astype"),
)
table.define(
    "copy",
    functions(_copy_function, of_any.each_array, "copy")
    + methods(_copy_method, of_any.each_array, "copy"),
)
table.define("view", methods(_view, example.readings, "view"))
table.define("byteswap", methods(_byteswap, of_any.each_array, "byteswap", of_scalars=False))
table.define("to_device", methods(_to_device, example.devices, "to_device", of_scalars=False))
for _name in ("real", "imag"):
    _expand = partial(_part, _name)
    table.define(
        _name,
        functions(_expand, of_any.each_array, _name) + attribute(_expand, of_any.each_array, _name),
    )
