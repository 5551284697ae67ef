"""The option ``fast``: which items are computed by polynomials instead of NumPy's loops; the polynomials are in ``fast_rules``.

Such an item has another function than NumPy's, of another name: so a program says which of both it means, and exact programs are as they were.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.lib import introspect

from bcjit.backends.native.fast_rules import FAST, POWERS, Fast
from bcjit.backends.native.scalars import INVERSE, Apply, Constant, Fold, Item, Running, Spread
from bcjit.ops.scalar_functions import SCALAR_FUNCTIONS, ScalarFunction
from bcjit.records import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["fast_of", "quick"]

DType: TypeAlias = "np.dtype[Any]"

_TWINS: Final[dict[str, ScalarFunction]] = {
    name: replace(SCALAR_FUNCTIONS[name], name=f"fast {name}", ulp=4) for name in FAST
}
_POWERS: Final[dict[float, ScalarFunction]] = {
    exponent: replace(SCALAR_FUNCTIONS["power"], name=f"fast power {exponent}", ulp=4)
    for exponent in POWERS
}
_DIVIDE: Final = SCALAR_FUNCTIONS["divide"]
_BY_TWIN: Final = {
    **{twin.name: (twin, FAST[name]) for name, twin in _TWINS.items()},
    **{twin.name: (twin, POWERS[exponent]) for exponent, twin in _POWERS.items()},
}

# What NumPy's loops for AVX-512 compute faster, by the dtype's character: each in half the time, or in the same with less to compile.
LEFT_TO_NUMPY: Final = {
    "f": frozenset({"exp2", "log2", "log10", "tan", "tanh"}),
    "d": frozenset({"exp2"}),
}
_AVX512: Final = frozenset({"AVX512_SKX", "X86_V4"})


@cache
def _has_fast_loop(name: str, char: str) -> bool:
    """Whether NumPy has chosen a loop of those for this processor."""
    loops = introspect.opt_func_info(func_name=f"^{name}$").get(name, {})
    return loops.get(2 * char, {}).get("current") in _AVX512


def quick(items: Sequence[Item]) -> tuple[Item, ...]:
    """Return items that compute the same, by polynomials where there are any."""
    made: dict[Item, Item] = {}

    def visit(one: Item) -> Item:
        if one not in made:
            made[one] = one
            if isinstance(one, Apply):
                made[one] = _quick(one, [visit(operand) for operand in one.operands])
            elif isinstance(one, Fold | Spread | Running):
                made[one] = replace(one, operand=visit(one.operand))
        return made[one]

    return tuple(map(visit, items))


def _quick(item: Apply, operands: Sequence[Item]) -> Apply:
    if item.function is _DIVIDE and isinstance(operands[1], Spread) and item.dtype.char in "fd":
        # One division for all that one sum is spread to.
        dtype = item.dtype
        inverse = Spread(Apply(INVERSE, (dtype, dtype), (operands[1].operand,)))
        return Apply(SCALAR_FUNCTIONS["multiply"], (dtype,) * 3, (operands[0], inverse))
    return Apply(_twin(item) or item.function, item.dtypes, tuple(operands))


def _twin(item: Apply) -> ScalarFunction | None:
    name, char = item.function.name, item.dtype.char
    if SCALAR_FUNCTIONS.get(name) is not item.function:
        return None
    if any(dtype.char not in "fd" or not dtype.isnative for dtype in item.dtypes):
        return None
    if name == "power":
        exponent = item.operands[1]
        return _POWERS.get(float(exponent.value)) if isinstance(exponent, Constant) else None
    if name in LEFT_TO_NUMPY[char] and _has_fast_loop(name, char):
        return None
    return _TWINS.get(name)


def fast_of(function: ScalarFunction) -> Fast | None:
    """Return the polynomials of a function that `quick` put in."""
    twin, found = _BY_TWIN.get(function.name, (None, None))
    return found if twin is function else None
