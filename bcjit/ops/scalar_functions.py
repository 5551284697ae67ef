"""The table of scalar functions: one row for each elementwise NumPy function; knows nothing about arrays.

A row gives the ufunc, and the kinds of loop dtypes for which its inner loop can neither raise nor set a visible
floating-point flag, whatever the values (``quiet``). Kinds are those of ``np.dtype.kind``: b, i, u, f, c. What is not sure is
left out. Comparisons and extremes of real NaN are quiet because their loops clear the flags
(NumPy ``loops_comparison.dispatch.c.src``, ``loops_minmax.dispatch.c.src``: ``npy_clear_floatstatus_barrier``).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from bcjit.records import dataclass

__all__ = [
    "CAST",
    "CLIP",
    "SCALAR_FUNCTIONS",
    "SELECT",
    "ScalarFunction",
    "is_elementwise",
    "row",
    "row_of",
]


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """One row: a function of scalars."""

    name: str  # NumPy's
    ufunc: np.ufunc | None  # None: not a ufunc (cast, select)
    quiet: str  # kinds of the loop's first input for which nothing can go wrong
    compares: bool = False  # accepts Python ints that do not fit the other operand's dtype
    ulp: int = 0  # how far another correct implementation may be, in units in the last place

    @property
    def nin(self) -> int:
        """Number of inputs."""
        return self.ufunc.nin if self.ufunc is not None else {"cast": 1, "select": 3}[self.name]

    @property
    def nout(self) -> int:
        """Number of results."""
        return self.ufunc.nout if self.ufunc is not None else 1

    @property
    def reorderable(self) -> bool:
        """Whether a reduction may go over several axes; what is not known to be is not."""
        assert self.ufunc is not None
        return self.ufunc.identity is not None or self.name in _REORDERABLE

    def stops_midway(self, dtype: np.dtype[Any]) -> bool:
        """Whether the loop for this first input dtype can raise at one element, with those before it stored.

        Only powers of signed integers do, at a negative exponent (NumPy ``loops.c.src``: ``@TYPE@_power``).
        """
        return self.name == "power" and dtype.kind == "i"

    def can_fail(self, dtype: np.dtype[Any]) -> bool:
        """Whether the loop for this first input dtype can raise or set a flag."""
        return dtype.kind not in self.quiet


# Ufuncs of those that have no identity.
_REORDERABLE: Final = frozenset({"maximum", "minimum", "fmax", "fmin"})
_COMPARISONS: Final = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")

# name: quiet kinds
_QUIET: Final[dict[str, str]] = {
    "absolute": "biuf",
    "add": "biu",
    "arccos": "",
    "arccosh": "",
    "arcsin": "",
    "arcsinh": "",
    "arctan": "",
    "arctan2": "",
    "arctanh": "",
    "bitwise_and": "biu",
    "bitwise_count": "biu",
    "bitwise_or": "biu",
    "bitwise_xor": "biu",
    "cbrt": "",
    "ceil": "biuf",
    "conjugate": "biufc",
    "copysign": "f",
    "cos": "",
    "cosh": "",
    "deg2rad": "",
    "degrees": "",
    "divide": "",
    "divmod": "",
    "exp": "",
    "exp2": "",
    "expm1": "",
    "fabs": "f",
    "float_power": "",
    "floor": "biuf",
    "floor_divide": "",
    "fmax": "biuf",
    "fmin": "biuf",
    "fmod": "",
    "frexp": "",
    "gcd": "iu",
    "heaviside": "",
    "hypot": "",
    "invert": "biu",
    "isfinite": "biufc",
    "isinf": "biufc",
    "isnan": "biufc",
    "lcm": "iu",
    "ldexp": "",
    "left_shift": "iu",
    "log": "",
    "log10": "",
    "log1p": "",
    "log2": "",
    "logaddexp": "",
    "logaddexp2": "",
    "logical_and": "biufc",
    "logical_not": "biufc",
    "logical_or": "biufc",
    "logical_xor": "biufc",
    "maximum": "biuf",
    "minimum": "biuf",
    "modf": "",
    "multiply": "biu",
    "negative": "iufc",
    "nextafter": "",
    "positive": "iufc",
    "power": "",
    "rad2deg": "",
    "radians": "",
    "reciprocal": "",
    "remainder": "",
    "right_shift": "iu",
    "rint": "biuf",
    "sign": "iuf",
    "signbit": "f",
    "sin": "",
    "sinh": "",
    "spacing": "",
    "sqrt": "",
    "square": "iu",
    "subtract": "iu",
    "tan": "",
    "tanh": "",
    "trunc": "biuf",
} | dict.fromkeys(_COMPARISONS, "biuf")


def _rows() -> dict[str, ScalarFunction]:
    """Return a row for each elementwise ufunc of NumPy's, of which `_QUIET` may not have heard."""
    rows: dict[str, ScalarFunction] = {}
    for name in sorted(np.__all__):  # NumPy lists them in no order
        ufunc = vars(np).get(name)  # getattr would import submodules that NumPy leaves for later
        if not isinstance(ufunc, np.ufunc) or not is_elementwise(ufunc):
            continue
        if not any(row.ufunc is ufunc for row in rows.values()):
            name = name if name in _QUIET else ufunc.__name__  # noqa: PLW2901 - one name of several
            rows[name] = ScalarFunction(
                name, ufunc, _QUIET.get(name, ""), compares=name in _COMPARISONS
            )
    return rows


_NUMERIC: Final = frozenset("?bBhHiIlLqQefdgFDG->")


def is_elementwise(ufunc: np.ufunc) -> bool:
    """Whether a ufunc works element by element and has a C loop for numbers."""
    return ufunc.signature is None and any(_NUMERIC.issuperset(loop) for loop in ufunc.types)


SCALAR_FUNCTIONS: Final[dict[str, ScalarFunction]] = _rows()
# astype: the cast itself says whether it can fail.
CAST: Final = ScalarFunction("cast", None, "biufc")
# where(condition, x, y)
SELECT: Final = ScalarFunction("select", None, "biufc")


# np.clip of two limits is a ufunc without a public name.
CLIP: Final = ScalarFunction("clip", np._core.umath.clip, "biuf")  # type: ignore[attr-defined]  # noqa: SLF001


def row_of(ufunc: np.ufunc) -> ScalarFunction:
    """Return the row of an elementwise ufunc, a new one if it is none of NumPy's: nothing is known of its loops."""
    for known in (*SCALAR_FUNCTIONS.values(), CLIP):
        if known.ufunc is ufunc:
            return known
    return ScalarFunction(ufunc.__name__, ufunc, "")


def row(name: str) -> ScalarFunction:
    """Return the row of a scalar function that every supported NumPy has."""
    return SCALAR_FUNCTIONS[name]
