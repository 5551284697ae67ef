"""Loops and branches as functions of functions, for those who write them so: `cond`, `while_loop`, `fori_loop`, `scan`, `map`.

They are plain Python loops and branches, run as such where nothing is compiled, and captured like anyone's where something is. The names and
the order of arguments are those of JAX; what differs is said in each docstring. What they have in common: bodies are ordinary
functions, which may write into arrays, call anything, and give values of another kind in a later turn; what runs is what plain Python runs.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Final, TypeVar

import numpy as np

from bcjit.errors import ArgumentError, ArgumentTypeError

__all__ = ["cond", "fori_loop", "map", "scan", "while_loop"]

T = TypeVar("T")


def cond(pred: Any, true_fn: Callable[..., T], false_fn: Callable[..., T], *operands: Any) -> T:
    """``true_fn(*operands) if pred else false_fn(*operands)``.

    Parameters
    ----------
    pred
        What Python's ``if`` accepts; of arrays, those without axes.
    true_fn, false_fn
        Functions of the operands. Only one is called.
    *operands
        Their arguments.

    Returns
    -------
    object
        What the function that was called returned.

    Raises
    ------
    ArgumentTypeError
        A function is not callable.
    ArgumentError
        `pred` is an array with axes.

    Notes
    -----
    JAX traces both functions, and they must return values of one structure, shape and dtype; here the other one is not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> import bcjit
    >>> def root(x):
    ...     return bcjit.cond(x.min() >= 0, np.sqrt, np.zeros_like, x)
    >>> root(np.array([4.0, 9.0])), root(np.array([4.0, -9.0]))
    (array([2., 3.]), array([0., 0.]))
    """
    _check_function(true_fn, "true_fn")
    _check_function(false_fn, "false_fn")
    if _truth(pred, "pred"):
        return true_fn(*operands)
    return false_fn(*operands)


def while_loop(cond_fn: Callable[[T], Any], body_fn: Callable[[T], T], init: T) -> T:
    """Apply `body_fn` as long as `cond_fn` holds.

    Parameters
    ----------
    cond_fn
        A function of the value; its result is asked as Python's ``while`` asks it, of arrays those without axes.
    body_fn
        A function of the value; its result is the next one.
    init
        The first value; a tuple for several.

    Returns
    -------
    object
        The first value for which `cond_fn` does not hold.

    Raises
    ------
    ArgumentTypeError
        A function is not callable.
    ArgumentError
        `cond_fn` returned an array with axes.

    Notes
    -----
    JAX wants each value to have the structure, shapes and dtypes of `init`. Here they are what `body_fn` returns; a loop in which
    they keep changing is not captured, and runs as plain Python.

    Examples
    --------
    >>> import bcjit
    >>> def halve(state):
    ...     x, turns = state
    ...     return x / 2, turns + 1
    >>> bcjit.while_loop(lambda state: state[0] > 1, halve, (20.0, 0))
    (0.625, 5)
    """
    _check_function(cond_fn, "cond_fn")
    _check_function(body_fn, "body_fn")
    value = init
    while _truth(cond_fn(value), "cond_fn"):
        value = body_fn(value)
    return value


def fori_loop(lower: Any, upper: Any, body_fn: Callable[[int, T], T], init: T) -> T:
    """Apply `body_fn` once for each integer of a range.

    Parameters
    ----------
    lower, upper
        Integers: the first index, and the one behind the last. Nothing is called unless `lower` is below `upper`.
    body_fn
        A function of the index, a Python int, and of the value; its result is the next value.
    init
        The first value; a tuple for several.

    Returns
    -------
    object
        The last value.

    Raises
    ------
    ArgumentTypeError
        `body_fn` is not callable, or a bound is not an integer.

    Notes
    -----
    JAX hands over the index as an array, and wants each value to have the structure, shapes and dtypes of `init`.

    Examples
    --------
    >>> import bcjit
    >>> bcjit.fori_loop(0, 5, lambda i, total: total + i, 0.0)
    10.0
    """
    _check_function(body_fn, "body_fn")
    value = init
    for i in range(_whole(lower, "lower"), _whole(upper, "upper")):
        value = body_fn(i, value)
    return value


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Go through the rows of `xs`, carrying a value along and collecting what comes out of each turn.

    Parameters
    ----------
    f
        A function ``f(carry, x) -> (carry, y)``. `y` is an array, a number, None, or a tuple of such.
    init
        The first value carried.
    xs
        An array; a tuple of arrays of one length (also nested), of which each turn is given a tuple of rows; or None: each turn is
        given None, and `length` says how many there are.
    length
        How many turns; it must be the length of `xs` if there is one.
    reverse
        Begin with the last row. What comes out for a row is in its place all the same.

    Returns
    -------
    carry, ys
        The last value carried (`init` itself without a turn), and what came out, joined as ``np.stack`` does: an array, or None for
        None, in tuples as `y` has them. Without a turn nothing is known of its shape, and it is None.

    Raises
    ------
    ArgumentTypeError
        `f` is not callable, did not return a pair or something to collect, or `xs` holds something else than arrays.
    ArgumentError
        Lengths do not agree, or a turn's `y` has another shape or dtype than the first one's.

    Notes
    -----
    JAX wants each carry to have the structure, shapes and dtypes of `init`, gives rows of arrays with one axis as arrays without
    axes (here they are NumPy's scalars), and finds out the shape of `ys` without a turn.

    Examples
    --------
    >>> import numpy as np
    >>> import bcjit
    >>> def smooth(level, x):
    ...     level = 0.5 * level + 0.5 * x
    ...     return level, level
    >>> last, levels = bcjit.scan(smooth, 0.0, np.array([8.0, 4.0, 2.0]))
    >>> levels
    array([4., 4., 3.])
    """
    _check_function(f, "f")
    turns = _length(xs, length)
    if turns == 0:
        return init, None
    index = turns - 1 if reverse else 0
    carry, y = _pair(f(init, _row(xs, index)))
    ys = _room(y, turns)
    _put(ys, index, y)
    for turn in range(1, turns):
        index = turns - 1 - turn if reverse else turn
        carry, y = _pair(f(carry, _row(xs, index)))
        _put(ys, index, y)
    return carry, ys


def map(f: Callable[[Any], Any], xs: Any) -> Any:  # noqa: A001 - the name users know
    """Apply a function to each row and join the results as ``np.stack`` does.

    Parameters
    ----------
    f
        A function of a row. It returns an array, a number, None, or a tuple of such.
    xs
        An array, or a tuple of arrays of one length (also nested), of which each turn is given a tuple of rows.

    Returns
    -------
    object
        An array, or None for None, in tuples as the results are.

    Raises
    ------
    ArgumentTypeError
        `f` is not callable or did not return something to collect, or `xs` holds something else than arrays.
    ArgumentError
        `xs` has no rows, its lengths do not agree, or a result has another shape or dtype than the first one.

    Notes
    -----
    JAX traces `f` once, and finds out the shape of the result where `xs` has no rows.

    Examples
    --------
    >>> import numpy as np
    >>> import bcjit
    >>> bcjit.map(lambda row: row[::-1] - row.mean(), np.arange(6.0).reshape(2, 3))
    array([[ 1.,  0., -1.],
           [ 1.,  0., -1.]])
    """
    _check_function(f, "f")
    turns = _length(xs, None)
    if turns == 0:
        raise ArgumentError(
            "xs: at least one row is expected, as without a result its shape is not known;"
            " test for len(xs) == 0 before the call"
        )
    y = f(_row(xs, 0))
    ys = _room(y, turns)
    _put(ys, 0, y)
    for index in range(1, turns):
        _put(ys, index, f(_row(xs, index)))
    return ys


# The rest is written so that it leaves nothing behind in a captured loop: all of it is about kinds, shapes and dtypes.


def _check_function(fn: object, name: str) -> None:
    if not isinstance(fn, FunctionType) and not callable(fn):
        raise ArgumentTypeError(f"{name}: a function is expected, got {type(fn).__name__}: {fn!r}")


def _truth(value: Any, name: str) -> Any:
    if isinstance(value, np.ndarray) and value.ndim != 0:
        raise ArgumentError(
            f"{name}: one truth value is expected, got {_described(value)};"
            " use .any() or .all(), or np.where to choose for each element"
        )
    return value


_INTEGERS: Final = (int, np.integer)


def _whole(value: Any, name: str) -> Any:
    if isinstance(value, _INTEGERS):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu":
        return int(value)
    got = (
        _described(value) if isinstance(value, np.ndarray) else f"{type(value).__name__}: {value!r}"
    )
    raise ArgumentTypeError(f"{name}: an integer is expected, got {got}; write int({name})")


def _described(array: np.ndarray[Any, Any]) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _length(xs: Any, length: Any) -> Any:
    if xs is None:
        if length is None:
            raise ArgumentError("length: the number of turns is expected where there are no xs")
        if _whole(length, "length") < 0:
            raise ArgumentError(f"length: 0 or more is expected, got {length}")
        return length
    turns = _rows(xs, "xs")
    if length is not None and _whole(length, "length") != turns:
        raise ArgumentError(f"length: {length}, but xs has {turns} rows; leave one of them out")
    return turns


def _rows(xs: Any, name: str) -> Any:
    if type(xs) is tuple:
        if len(xs) == 0:
            raise ArgumentError(
                f"{name}: an array is expected, got an empty tuple; give length instead"
            )
        turns = _rows(xs[0], f"{name}[0]")
        for place in range(1, len(xs)):
            found = _rows(xs[place], f"{name}[{place}]")
            if found != turns:
                raise ArgumentError(
                    f"{name}: arrays of one length are expected, but {name}[0] has {turns} rows"
                    f" and {name}[{place}] has {found}"
                )
        return turns
    if not isinstance(xs, np.ndarray):
        raise ArgumentTypeError(
            f"{name}: an array or a tuple of arrays is expected, got {type(xs).__name__};"
            f" write np.asarray({name})"
        )
    if xs.ndim == 0:
        raise ArgumentError(
            f"{name}: an array with rows is expected, got {_described(xs)}; write np.atleast_1d({name})"
        )
    return xs.shape[0]


def _row(xs: Any, index: int) -> Any:
    if xs is None:
        return None
    if type(xs) is tuple:
        return tuple([_row(part, index) for part in xs])
    return xs[index]


def _pair(result: Any) -> tuple[Any, Any]:
    if type(result) is not tuple or len(result) != 2:
        got = f"a tuple of {len(result)}" if type(result) is tuple else type(result).__name__
        raise ArgumentTypeError(f"f: it must return a tuple (carry, y), and returned {got}")
    return result


_OF_NUMPY: Final = (np.ndarray, np.generic)
_OUTPUTS: Final = (*_OF_NUMPY, int, float, complex)


def _as_array(y: Any) -> Any:
    """Return what has a shape and a dtype, be it a NumPy scalar."""
    return y if isinstance(y, _OF_NUMPY) else np.asarray(y)


def _room(y: Any, turns: int) -> Any:
    """Where the outputs of all turns go that are like this one."""
    if y is None:
        return None
    if type(y) is tuple:
        return tuple([_room(part, turns) for part in y])
    if not isinstance(y, _OUTPUTS):
        raise ArgumentTypeError(
            f"f: arrays, numbers, None and tuples of them can be collected, not {type(y).__name__}"
        )
    one = _as_array(y)
    dtype = one.dtype if one.dtype.isnative else one.dtype.newbyteorder("=")
    return np.empty((turns, *one.shape), dtype)


def _put(ys: Any, index: int, y: Any) -> None:
    if type(ys) is tuple and type(y) is tuple and len(ys) == len(y):
        for place in range(len(ys)):
            _put(ys[place], index, y[place])
    elif isinstance(ys, np.ndarray) and isinstance(y, _OUTPUTS):
        one = _as_array(y)
        if one.shape != ys.shape[1:] or (
            one.dtype != ys.dtype and one.dtype.newbyteorder("=") != ys.dtype
        ):
            raise ArgumentError(
                f"f: what is collected must have one shape and dtype: row {index} gave {_described(one)},"
                f" the first turn {ys.dtype}{list(ys.shape[1:])}; convert it with np.asarray(y, dtype)"
            )
        ys[index] = one
    elif ys is not None or y is not None:
        raise ArgumentTypeError(
            f"f: each turn must return outputs of one structure: row {index} gave {_structure(y)},"
            f" the first turn {_structure(ys)}"
        )


def _structure(y: Any) -> str:
    if type(y) is tuple:
        return f"({', '.join([_structure(part) for part in y])})"
    return (
        "None"
        if y is None
        else "an array or number"
        if isinstance(y, _OUTPUTS)
        else type(y).__name__
    )
