"""Fit the polynomials of ``bcjit/backends/native/polynomials.py`` and write it: ``python tools/fit_polynomials.py`` (needs mpmath).

Each row is ``f(x) = base(x) + factor(x) * P(u(x))`` on an interval; P is the polynomial of least greatest error (Remez's exchange, in 60 digits),
relative to a weight. The first coefficients are rounded one by one, and those behind are fitted again to make up for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 60
Real = Any
Function = Callable[[Real], Real]


@dataclass(frozen=True)
class Row:
    """What to fit."""

    name: str
    target: Function  # (f - base) / factor, by x
    argument: Function  # u(x)
    scale: Function  # factor / weight: what an error of P weighs
    low: Real
    high: Real
    terms: dict[str, int]  # how many coefficients, by dtype


def _solve(row: Row, points: list[Real], fixed: list[Real], terms: int) -> tuple[list[Real], Real]:
    free = terms - len(fixed)
    matrix = mp.matrix(free + 1, free + 1)
    right = mp.matrix(free + 1, 1)
    for i, x in enumerate(points):
        u, scale = row.argument(x), row.scale(x)
        for j in range(free):
            matrix[i, j] = scale * u ** (j + len(fixed))
        matrix[i, free] = (-1) ** i
        known = sum((c * u**j for j, c in enumerate(fixed)), mp.mpf(0))
        right[i] = scale * (row.target(x) - known)
    found = mp.lu_solve(matrix, right)
    return [*fixed, *found[:free]], found[free]


def _error(row: Row, coefficients: list[Real], x: Real) -> Real:
    u = row.argument(x)
    return row.scale(x) * (row.target(x) - mp.polyval(coefficients[::-1], u))


def _exchange(row: Row, fixed: list[Real], terms: int) -> tuple[list[Real], Real]:
    """Return the best coefficients behind those that are fixed, and the greatest error."""
    count = terms - len(fixed) + 1
    middle, half = (row.low + row.high) / 2, (row.high - row.low) / 2
    points = [middle - half * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / count) for i in range(count)]
    grid = [middle - half * mp.cos(mp.pi * i / 300) for i in range(301)]
    best: tuple[list[Real], Real] | None = None
    for _ in range(12):
        coefficients, _level = _solve(row, points, fixed, terms)
        errors = [_error(row, coefficients, x) for x in grid]
        greatest = max(map(abs, errors))
        if best is None or greatest < best[1]:
            best = coefficients, greatest
        extremes: list[int] = []
        for i, error in enumerate(errors):
            if extremes and (error > 0) == (errors[extremes[-1]] > 0):
                if abs(error) > abs(errors[extremes[-1]]):
                    extremes[-1] = i
            else:
                extremes.append(i)
        while len(extremes) > count:
            del extremes[0 if abs(errors[extremes[0]]) < abs(errors[extremes[-1]]) else -1]
        if len(extremes) < count:
            break
        points = [grid[i] for i in extremes]
    assert best is not None
    return best


def fit(row: Row, dtype: str, terms: int) -> tuple[list[float], float]:
    """Return coefficients of a dtype from the constant on, and the greatest relative error."""

    def rounded(value: Real) -> Real:
        return mp.mpf(float(np.float32(float(value)) if dtype == "f" else value))

    fixed: list[Real] = []
    for i in range(min(3, terms)):
        coefficients, _ = _exchange(row, fixed, terms)
        fixed.append(rounded(coefficients[i]))
    fixed += map(rounded, _exchange(row, fixed, terms)[0][len(fixed) :])
    grid = [row.low + (row.high - row.low) * i / 1000 for i in range(1001)]
    return [float(c) for c in fixed], float(max(abs(_error(row, fixed, x)) for x in grid))


def _near_zero(function: Function, limit: Real) -> Function:
    """Return a function whose value at 0 is its limit there."""
    return lambda x: function(x) if x else limit


LN2 = mp.log(2)
ROOT = mp.sqrt(2)
ROWS = [
    Row(
        "sin",  # r + r**3 P(r**2)
        _near_zero(lambda r: (mp.sin(r) - r) / r**3, -mp.mpf(1) / 6),
        lambda r: r * r,
        _near_zero(lambda r: r**3 / mp.sin(r), mp.mpf(0)),
        mp.mpf(0), mp.pi / 4 * mp.mpf("1.0001"), {"d": 6, "f": 3},
    ),
    Row(
        "cos",  # 1 - r**2 / 2 + r**4 P(r**2)
        _near_zero(lambda r: (mp.cos(r) - 1 + r * r / 2) / r**4, mp.mpf(1) / 24),
        lambda r: r * r,
        lambda r: r**4 / mp.cos(r),
        mp.mpf(0), mp.pi / 4 * mp.mpf("1.0001"), {"d": 6, "f": 3},
    ),
    Row(
        "sinh",  # r + r**3 P(r**2)
        _near_zero(lambda r: (mp.sinh(r) - r) / r**3, mp.mpf(1) / 6),
        lambda r: r * r,
        _near_zero(lambda r: r**3 / mp.sinh(r), mp.mpf(0)),
        mp.mpf(0), LN2 / 2 * mp.mpf("1.0001"), {"d": 5, "f": 3},
    ),
    Row(
        "cosh",  # 1 + r**2 / 2 + r**4 P(r**2)
        _near_zero(lambda r: (mp.cosh(r) - 1 - r * r / 2) / r**4, mp.mpf(1) / 24),
        lambda r: r * r,
        lambda r: r**4 / mp.cosh(r),
        mp.mpf(0), LN2 / 2 * mp.mpf("1.0001"), {"d": 4, "f": 2},
    ),
    Row(
        "exp",  # 1 + r + r**2 P(r); relative to expm1, which is harder
        _near_zero(lambda r: (mp.expm1(r) - r) / r**2, mp.mpf(1) / 2),
        lambda r: r,
        _near_zero(lambda r: r**2 / mp.expm1(r), mp.mpf(0)),
        -LN2 / 2 * mp.mpf("1.0001"), LN2 / 2 * mp.mpf("1.0001"), {"d": 11, "f": 6},
    ),
    Row(
        "exp2",  # 1 + r P(r)
        _near_zero(lambda r: (mp.mpf(2) ** r - 1) / r, LN2),
        lambda r: r,
        lambda r: r / mp.mpf(2) ** r,
        mp.mpf(-1) / 2, mp.mpf(1) / 2, {"d": 12, "f": 7},
    ),
    Row(
        "log",  # log1p(f) = f - f**2 / 2 + f**3 P(f)
        _near_zero(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, mp.mpf(1) / 3),
        lambda f: f,
        _near_zero(lambda f: f**3 / mp.log1p(f), mp.mpf(0)),
        1 / ROOT - 1 - mp.mpf(2) ** -16, ROOT - 1 + mp.mpf(2) ** -16, {"d": 19, "f": 9},
    ),
]  # fmt: skip

_HEAD = '''"""Coefficients of polynomials, from the constant on, by the character of a dtype; written by ``tools/fit_polynomials.py``, which says of what."""

from typing import Final

__all__ = ["POLYNOMIALS"]

POLYNOMIALS: Final[dict[str, dict[str, tuple[float, ...]]]] = {
'''


def main() -> None:
    """Write the module."""
    lines = [_HEAD]
    for row in ROWS:
        lines.append(f'    "{row.name}": {{\n')
        for dtype, terms in row.terms.items():
            coefficients, error = fit(row, dtype, terms)
            sys.stderr.write(f"{row.name} {dtype} {terms}: 2**{np.log2(error):.1f}\n")
            lines.append(f'        "{dtype}": (\n')
            lines.extend(f"            {c!r},\n" for c in coefficients)
            lines.append("        ),\n")
        lines.append("    },\n")
    lines.append("}\n")
    path = Path(__file__).parent.parent / "bcjit/backends/native/polynomials.py"
    path.write_text("".join(lines))


if __name__ == "__main__":
    main()
