"""Functions that put elements where an index or a mask says: put, place, choose, select, take_along_axis; no ``x[...]``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from bcjit.ops.elementwise import apply, single_out, store, whole
from bcjit.ops.emitter import (
    DType,
    Emitter,
    Operand,
    Pick,
    Reshape,
    Shape,
    Value,
)
from bcjit.ops.indexing import check_item, check_region
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import (
    BOOL,
    INTP,
    axis_index,
    broadcast,
    cast,
    cast_can_fail,
    copy,
    default_dtype,
    equal,
    is_array,
    size_of,
)
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import SELECT, row
from bcjit.ops.spell import functions, methods
from bcjit.ops.table import Rows
from bcjit.ops.views import along_axis, indexed

__all__: list[str] = []

example = Samplers("placing")
table = Rows()

_MODES = ("raise", "wrap", "clip")


# Writing


def _target(e: Emitter, a: Operand) -> Value:
    if not is_array(e, a):
        raise Unsupported("what is written is not an array")
    return e.array(a)


def _values(e: Emitter, x: Value, values: Operand, *, safe: bool = False) -> Value:
    """Return values that are stored into an array, in its dtype."""
    if isinstance(values, tuple | list):
        values = e.array(values)
    check_item(e, x, values)
    source = default_dtype(e, values)
    if safe and not np.can_cast(source, x.dtype, "safe"):
        raise Unsupported("values of a dtype that is not safely cast")
    if not e.is_value(values):
        return e.fill((), values, x.dtype)
    if source.kind == "c" and x.dtype.kind in "iuf":
        raise Unsupported("casting complex to real warns")
    # The cast of a value that is nan or too large sets a flag once all is stored.
    return copy(e, values, x.dtype) if cast_can_fail(source, x.dtype) else cast(e, values, x.dtype)


def _rewrite(
    e: Emitter,
    x: Value,
    function: Callable[..., object],
    operands: Sequence[Value],
    options: dict[str, object],
) -> None:
    """Write the elements that a function, given a copy of an array, leaves in it."""
    call = partial(_on_copy, function)
    results = [(x.shape, x.dtype)]
    e.may_fail()
    (new,) = e.lib_call(call, (x, *operands), options, results, can_fail=False)
    e.scatter(x, new, whole(x))


def _on_copy(function: Callable[..., object], x: Any, *operands: object, **options: object) -> Any:
    new = x.copy()
    function(new, *operands, **options)
    return new


def _mode(mode: Operand) -> str:
    if not isinstance(mode, str) or mode not in _MODES:
        raise Unsupported("mode is not 'raise', 'wrap' or 'clip'")
    return mode


def put(e: Emitter, a: Operand, ind: Operand, v: Operand, mode: Operand = "raise") -> None:
    """``np.put``. Source: NumPy ``item_selection.c``: ``PyArray_PutTo``."""
    target = _target(e, a)
    positions = e.array(ind)
    if positions.dtype.kind not in "iu" or not np.can_cast(positions.dtype, INTP, "safe"):
        raise Unsupported("positions that are not safely cast to the index type")
    values = _values(e, target, v)
    if any(equal(e, dim, 0) for dim in values.shape):
        raise Unsupported("no values")
    _rewrite(e, target, np.put, (positions, values), {"mode": _mode(mode)})


def place(e: Emitter, arr: Operand, mask: Operand, vals: Operand) -> None:
    """``np.place``. Source: NumPy ``compiled_base.c``: ``arr_place``."""
    target, test = _target(e, arr), e.array(mask)
    if not equal(e, size_of(test), size_of(target)):
        raise WouldRaise("place: mask and data must be the same size")
    # An array must be safely cast, numbers are converted one by one.
    values = _values(e, target, vals, safe=e.is_value(vals))
    _rewrite(e, target, np.place, (test, values), {})


def putmask(e: Emitter, a: Operand, /, mask: Operand, values: Operand) -> None:
    """``np.putmask``. Source: NumPy ``item_selection.c``: ``PyArray_PutMask``."""
    target, test = _target(e, a), e.array(mask)
    if not equal(e, size_of(test), size_of(target)):
        raise WouldRaise("putmask: mask and data must be the same size")
    _rewrite(e, target, np.putmask, (test, _values(e, target, values, safe=True)), {})


def fill_diagonal(e: Emitter, a: Operand, val: Operand, wrap: Operand = False) -> None:
    """``np.fill_diagonal``. Source: NumPy ``lib/_index_tricks_impl.py``."""
    target = _target(e, a)
    if len(target.shape) < 2:
        raise WouldRaise("array must be at least 2-d")
    if type(wrap) is not bool:
        raise Unsupported("wrap is not a constant bool")
    if len(target.shape) > 2:
        for dim in target.shape[1:]:
            if not equal(e, dim, target.shape[0]):
                raise WouldRaise("All dimensions of input must be of equal length")
    values = _values(e, target, val)
    if any(equal(e, dim, 0) for dim in (*values.shape, *target.shape)):
        raise Unsupported("no values, or nowhere to put them")
    _rewrite(e, target, np.fill_diagonal, (values,), {"wrap": wrap})


# Along an axis


def _along_axis(e: Emitter, shape: Shape, indices: Operand, axis: int) -> tuple[Value, ...]:
    """Return index arrays for all axes. Source: NumPy ``lib/_shape_base_impl.py``: ``_make_along_axis_idx``."""
    if not is_array(e, indices):
        raise Unsupported("the indices are not an array")
    index = e.array(indices)
    if index.dtype.kind not in "iu":
        raise WouldRaise("`indices` must be an integer array")
    ndim = len(shape)
    if len(index.shape) != ndim:
        raise WouldRaise("`indices` and `arr` must have the same number of dimensions")
    arrays: list[Value] = []
    for i, dim in enumerate(shape):
        if i == axis:
            arrays.append(index)
        else:
            arrays.append(e.view(e.iota(dim, INTP), along_axis(dim, i, ndim)))
    return tuple(arrays)


def take_along_axis(e: Emitter, arr: Operand, indices: Operand, axis: Operand = -1) -> Value:
    """``np.take_along_axis``."""
    if not is_array(e, arr):
        raise Unsupported("the array is not an array")
    value = e.array(arr)
    if axis is None:
        value, axis = e.view(value, Reshape((size_of(value),))), 0
    at = axis_index(e, axis, len(value.shape))
    return e.gather(value, _along_axis(e, value.shape, indices, at))


def put_along_axis(
    e: Emitter, arr: Operand, indices: Operand, values: Operand, axis: Operand
) -> None:
    """``np.put_along_axis``."""
    target = _target(e, arr)
    if axis is None:
        raise Unsupported("axis=None writes into a copy, in some versions of NumPy")
    at = axis_index(e, axis, len(target.shape))
    arrays = _along_axis(e, target.shape, indices, at)
    region: Shape = ()
    for array in arrays:
        region = broadcast(e, region, array.shape)
    item = e.array(values) if isinstance(values, tuple | list) else values
    check_item(e, target, item)
    check_region(e, item.shape if e.is_value(item) else (), region)
    e.scatter(target, item, arrays)


# Choosing


def _choose(a: Any, *choices: Any, mode: Any) -> object:
    return np.choose(a, choices, mode=mode)


def choose(
    e: Emitter, a: Operand, choices: Operand, out: Operand = None, mode: Operand = "raise"
) -> Value:
    """``np.choose``. Source: NumPy ``item_selection.c``: ``PyArray_Choose``."""
    target = single_out(e, out)
    index = e.array(a)
    if index.dtype.kind not in "biu" or not np.can_cast(index.dtype, INTP, "safe"):
        raise Unsupported("choosing by what is not safely cast to the index type")
    if is_array(e, choices):
        stacked = e.array(choices)
        if not stacked.shape:
            raise Unsupported("choosing from one number")
        if not isinstance(stacked.shape[0], int):
            raise Unsupported("how many choices there are is not known")
        arrays = [e.view(stacked, indexed(stacked, {0: Pick(i)})) for i in range(stacked.shape[0])]
    elif isinstance(choices, tuple | list):
        if not all(is_array(e, item) or isinstance(item, tuple | list) for item in choices):
            raise Unsupported("numbers among the choices")
        arrays = [e.array(item) for item in choices]
    else:
        raise Unsupported("the choices are not arrays")
    if not arrays:
        raise WouldRaise("nothing to choose from")
    shape = index.shape
    for array in arrays:
        shape = broadcast(e, shape, array.shape)
    dtype = np.result_type(*(array.dtype for array in arrays))
    options = {"mode": _mode(mode)}
    if target is not None and target.dtype != dtype:
        raise Unsupported("out: an array of another dtype")
    e.may_fail()  # a choice that there is not, before anything is stored
    results = [(shape, dtype)]
    (chosen,) = e.lib_call(_choose, (index, *arrays), options, results, can_fail=False)
    return e.scalar(chosen) if target is None else store(e, target, chosen)


def _items(operand: Operand, name: str) -> Sequence[Operand]:
    if not isinstance(operand, tuple | list):
        raise Unsupported(f"{name} is not a sequence")
    return operand


def _choose_method(
    e: Emitter, a: Operand, *choices: Operand, out: Operand = None, mode: Operand = "raise"
) -> Value:
    if not choices:
        raise Unsupported("no choices")
    return choose(e, a, choices[0] if len(choices) == 1 else choices, out, mode)


def select(e: Emitter, condlist: Operand, choicelist: Operand, default: Operand = 0) -> Value:
    """``np.select``: always an array. Source: NumPy ``lib/_function_base_impl.py``."""
    tests, choices = _items(condlist, "condlist"), list(_items(choicelist, "choicelist"))
    if len(tests) != len(choices):
        raise WouldRaise("list of cases must be same length as list of conditions")
    if not tests:
        raise WouldRaise("select with an empty condition list is not possible")
    given: list[object] = []
    prepared: list[Operand] = []
    for item in (*choices, default):
        weak = e.weak_type(item)
        if weak in _WEAK:
            given.append(_WEAK[weak])
            prepared.append(item)
        else:
            array = e.array(item)
            given.append(array.dtype)
            prepared.append(array)
    dtype: DType = np.result_type(*given)  # type: ignore[arg-type]
    for item in prepared:
        if type(item) is int and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if not limits.min <= item <= limits.max:
                raise Unsupported("an int that does not fit the result")
    conditions = [e.array(test) for test in tests]
    if any(test.dtype.kind != "b" for test in conditions):
        raise WouldRaise("invalid entry in condlist: should be boolean ndarray")
    last = prepared[-1]
    result = last if e.is_value(last) else e.fill((), last, dtype)
    pairs = zip(reversed(conditions), reversed(prepared[:-1]), strict=True)
    for test, choice in pairs:
        (result,) = e.map(SELECT, (test, choice, result), (BOOL, dtype, dtype, dtype))
    assert e.is_value(result)
    return result


_WEAK: dict[type | None, object] = {int: 0, float: 0.0, complex: 0j}


def piecewise(e: Emitter, x: Operand, condlist: Operand, funclist: Operand) -> Value:
    """``np.piecewise`` of numbers only: functions run user code. Source: NumPy ``lib/_function_base_impl.py``."""
    if not is_array(e, x):
        raise Unsupported("x is not an array")
    value = e.array(x)
    if not value.shape:
        raise Unsupported("x has no axes")
    conditions = [condlist] if is_array(e, condlist) else _items(condlist, "condlist")
    if not conditions or not all(is_array(e, c) and c.dtype.kind == "b" for c in conditions):  # type: ignore[attr-defined]
        raise Unsupported("condlist is not made of boolean arrays")
    if len(conditions) == 1 and is_array(e, condlist):
        raise Unsupported("one array of conditions")
    numbers = list(_items(funclist, "funclist"))
    tests = [e.array(test) for test in conditions]
    for test in tests:
        if len(test.shape) != len(value.shape) or not all(
            equal(e, a, b) for a, b in zip(test.shape, value.shape, strict=True)
        ):
            raise Unsupported("a condition of another shape")
    if len(numbers) == len(tests) + 1:
        either = tests[0]
        for test in tests[1:]:
            (either,) = apply(e, row("logical_or"), (either, test))
        tests.append(apply(e, row("logical_not"), (either,))[0])
    elif len(numbers) != len(tests):
        raise WouldRaise("as many functions as conditions are expected, or one more")
    dtypes = (BOOL, value.dtype, value.dtype, value.dtype)
    result = e.fill(value.shape, 0, value.dtype)
    for test, number in zip(tests, numbers, strict=True):
        weak = e.weak_type(number)
        if weak is None or (weak is complex and value.dtype.kind != "c"):
            raise Unsupported("funclist is not made of numbers that fit")
        check_item(e, value, number)
        item = e.fill((), number, value.dtype)
        (result,) = e.map(SELECT, (test, item, result), dtypes)
    return result


# The table

table.define(
    "put",
    functions(put, example.puts, "put") + methods(put, example.puts, "put", of_scalars=False),
)
table.define("place", functions(place, example.places, "place"))
table.define("putmask", functions(putmask, example.masks, "putmask"))
table.define("fill_diagonal", functions(fill_diagonal, example.diagonals, "fill_diagonal"))
table.define("take_along_axis", functions(take_along_axis, example.alongs, "take_along_axis"))
table.define("put_along_axis", functions(put_along_axis, example.along_puts, "put_along_axis"))
table.define(
    "choose",
    functions(choose, example.choices, "choose")
    + methods(_choose_method, example.choices, "choose", of_scalars=False),
)
table.define("select", functions(select, example.selections, "select"))
table.define("piecewise", functions(piecewise, example.pieces, "piecewise"))
