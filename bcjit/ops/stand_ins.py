"""NumPy asked for dtypes by a call on a few ones, for routines written in Python whose dtypes follow from many steps.

The ones have the dtypes, numbers of axes and scalar-ness of the arguments. Only NumPy's own functions are called; nobody can see it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bcjit.ops.emitter import Emitter, Operand
from bcjit.ops.opdef import Unsupported, WouldRaise

__all__ = ["answer", "stand_in"]

_SIZE = 2  # of each axis: enough for NumPy not to warn of too few elements


def stand_in(e: Emitter, operand: Operand) -> object:
    """Return ones for an array or a NumPy scalar, a number for an unknown Python number; anything else as it is."""
    if e.is_value(operand):
        if e.is_scalar(operand):
            return operand.dtype.type(1)
        return np.ones((_SIZE,) * len(operand.shape), operand.dtype)
    if isinstance(operand, tuple):
        return tuple(stand_in(e, item) for item in operand)
    if isinstance(operand, list):
        return [stand_in(e, item) for item in operand]
    weak = e.weak_type(operand)
    if weak is None or isinstance(operand, bool | int | float | complex):
        return operand
    return weak(1)


def answer(
    function: Callable[..., Any], args: Sequence[object], options: Mapping[str, object]
) -> Any:
    """Return what NumPy gives for stand-ins.

    Raises
    ------
    WouldRaise
        If NumPy refuses their types.
    Unsupported
        If it fails in another way, which may be due to the ones.
    """
    try:
        with np.errstate(all="ignore"):
            return function(*args, **options)
    except TypeError as error:
        raise WouldRaise(str(error)) from None
    except (ValueError, IndexError, ArithmeticError, Warning) as error:
        raise Unsupported(str(error)) from None
