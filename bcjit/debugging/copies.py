"""Deep copies of whatever a function is called with, in which arrays share memory as the originals do."""

from __future__ import annotations

import copy
import gc
import types
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import numpy as np

from bcjit.debugging.compare import text_of
from bcjit.errors import ArgumentError

__all__ = ["copy_of"]

T = TypeVar("T")
_Array = np.ndarray[Any, Any]

# What is shared, not copied: its referents are the program's, not the call's.
_SHARED: Final = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.CodeType,
    types.FrameType,
    np.dtype,
    np.ufunc,
)
# Of memory that is no array's own the same distance to a cache line is kept: some loops treat it differently.
_LINE: Final = 64


def copy_of(world: T) -> T:
    """Return a deep copy of anything; arrays that share memory do so in the copy, at the same distances.

    That holds for arrays of exact type and of no objects; others are copied one by one, as ``copy.deepcopy`` does. Modules are not copied.

    Parameters
    ----------
    world
        One object; what must be copied together is put into one tuple.

    Raises
    ------
    ArgumentError
        Something in it cannot be copied.
    """
    memo: dict[int, Any] = {}
    for together in _sharing(_arrays(world, memo)):
        for array, made in _copied(together):
            memo[id(array)] = made
    try:
        return copy.deepcopy(world, memo)
    except Exception as error:
        raise ArgumentError(
            "an argument cannot be copied, so that each run would find it as it is now"
            f" ({type(error).__name__}: {text_of(error)})"
        ) from error


def _arrays(world: object, memo: dict[int, Any]) -> list[_Array]:
    """Return every array of numbers that can be reached, without those that only classes, functions and modules hold.

    Modules, which cannot be copied, are put into the memo as their own copies.
    """
    found: dict[int, _Array] = {}
    seen: dict[int, object] = {}
    queue: list[object] = [world]
    while queue:
        value = queue.pop()
        if type(value) is types.ModuleType:
            memo[id(value)] = value
        # Not isinstance, which asks the value for its __class__.
        if id(value) in seen or issubclass(type(value), _SHARED):
            continue
        seen[id(value)] = value
        if issubclass(type(value), np.ndarray):
            assert isinstance(value, np.ndarray)
            if type(value) is np.ndarray and not value.dtype.hasobject:
                found[id(value)] = value
                queue.append(value.base)
            elif value.dtype == object:
                queue.extend(value.flat)
        else:
            queue.extend(gc.get_referents(value))
    return list(found.values())


def _extent(array: _Array) -> tuple[int, int]:
    """Return the first byte of an array and the one behind its last."""
    low, high = np.lib.array_utils.byte_bounds(array)
    return low, high


def _sharing(arrays: list[_Array]) -> Iterator[list[_Array]]:
    """Group arrays whose memory touches; each group by the length of its memory, longest first."""
    ordered = sorted(((*_extent(array), place) for place, array in enumerate(arrays)))
    group: list[_Array] = []
    end = -1
    for low, high, place in ordered:
        if group and low >= end:
            yield group
            group = []
        group.append(arrays[place])
        end = max(end, high) if len(group) > 1 else high
    if group:
        yield group


def _copied(group: list[_Array]) -> Iterator[tuple[_Array, _Array]]:
    """Yield the arrays of a group, each with its copy."""
    low = min(_extent(array)[0] for array in group)
    high = max(_extent(array)[1] for array in group)
    own = [array for array in group if array.flags.owndata and _extent(array) == (low, high)]
    whole = own[0] if own else None
    made = None if whole is None else whole.copy(order="K")
    if whole is None or made is None or made.strides != whole.strides:
        memory = _memory(group, low, high)
        whole = None
    else:
        memory = made.ravel(order="K").view()
        if made.size and made.itemsize:
            memory = memory.view(np.uint8)
    for array in group:
        if array is whole and made is not None:
            made.flags.writeable = array.flags.writeable
            yield array, made
            continue
        start = array.__array_interface__["data"][0] - low
        view: _Array = np.ndarray(
            array.shape, array.dtype, memory if memory.size else None, start if memory.size else 0, array.strides
        )  # fmt: skip
        view.flags.writeable = array.flags.writeable
        yield array, view


def _memory(group: list[_Array], low: int, high: int) -> _Array:
    """Return a copy of the bytes of a group."""
    room = np.empty(high - low + 2 * _LINE, np.uint8)
    shift = (low - room.__array_interface__["data"][0]) % _LINE
    memory = room[shift : shift + high - low]
    for array in group:
        # Byte by byte where it is: elements that overlap are written twice with the same.
        start = array.__array_interface__["data"][0] - low
        part: _Array = np.ndarray(array.shape, array.dtype, memory, start, array.strides)
        part[...] = array
    return memory
