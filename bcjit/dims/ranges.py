"""Bounds of dims that follow from facts; records no fact and decides nothing.

A fact about ``p + c``, with p a dim without constant term, narrows what is stored for p. The range of any other dim
is computed from the ranges of its parts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from bcjit.dims.algebra import (
    Atom,
    Dim,
    Expr,
    Max,
    Min,
    Mod,
    Monomial,
    Symbol,
    build,
    split_constant,
)
from bcjit.dims.relation import Relation
from bcjit.records import dataclass


@dataclass(slots=True)
class _Range:
    """What facts say about one expression without constant term: bounds, and single values it does not have."""

    low: int | None = None
    high: int | None = None
    holes: frozenset[int] = frozenset()

    def narrowed(self, low: int | None, high: int | None) -> _Range:
        lows = [bound for bound in (self.low, low) if bound is not None]
        highs = [bound for bound in (self.high, high) if bound is not None]
        tight = _Range(max(lows, default=None), min(highs, default=None), self.holes)
        # A hole at an end moves the end: n >= 0 and n != 0 is n >= 1.
        while tight.low is not None and tight.low in self.holes:
            tight.low += 1
        while tight.high is not None and tight.high in self.holes:
            tight.high -= 1
        return tight


class Ranges:
    """What facts say about dims, stored by dims without constant term."""

    __slots__ = ("_is_size", "_ranges")

    def __init__(self, is_size: Callable[[Symbol], bool]) -> None:
        self._is_size = is_size  # whether a symbol is never negative
        self._ranges: dict[Expr, _Range] = {}

    def learn(self, fact: Relation) -> None:
        """Narrow the range of the fact's expression."""
        difference = fact.difference()
        if isinstance(difference, int):
            return
        pattern, sign, constant = _pattern(difference)
        known = self._ranges.get(pattern, _Range())
        # sign * pattern + constant (op) 0
        limit = -constant * sign
        if fact.op == "!=":
            known = _Range(known.low, known.high, known.holes | {limit})
        elif fact.op == "==":
            known = known.narrowed(limit, limit)
        elif sign > 0:
            known = known.narrowed(None, limit)
        else:
            known = known.narrowed(limit, None)
        self._ranges[pattern] = known

    def interval(self, dim: Dim) -> tuple[int | None, int | None, frozenset[int]]:
        """Return bounds of a dim and values it cannot have."""
        if isinstance(dim, int):
            return dim, dim, frozenset()
        pattern, sign, constant = _pattern(dim)
        low: int | None = 0
        high: int | None = 0
        for monomial, coefficient in pattern.terms:
            term_low, term_high = _scaled(self._monomial_interval(monomial), coefficient)
            low = None if low is None or term_low is None else low + term_low
            high = None if high is None or term_high is None else high + term_high
        known = self._ranges.get(pattern, _Range()).narrowed(low, high)
        low, high = _scaled((known.low, known.high), sign)
        holes = frozenset(sign * hole + constant for hole in known.holes)
        return (
            None if low is None else low + constant,
            None if high is None else high + constant,
            holes,
        )

    def _monomial_interval(self, monomial: Monomial) -> tuple[int | None, int | None]:
        low, high = 1, cast("int | None", 1)
        for atom, power in monomial:
            atom_low, atom_high = self._atom_interval(atom)
            if atom_low is None or atom_low < 0:
                return (
                    self._atom_interval(atom) if len(monomial) == 1 and power == 1 else (None, None)
                )
            low *= atom_low**power
            high = None if high is None or atom_high is None else high * atom_high**power
        return low, high

    def _atom_interval(self, atom: Atom) -> tuple[int | None, int | None]:
        if isinstance(atom, Symbol):
            low = 0 if self._is_size(atom) else None
            known = self._ranges.get(atom.expr, _Range()).narrowed(low, None)
            return known.low, known.high
        bounds = [self.interval(arg)[:2] for arg in atom.args]
        if isinstance(atom, Min | Max):
            lows = [low for low, _ in bounds if low is not None]
            highs = [high for _, high in bounds if high is not None]
            if isinstance(atom, Min):
                return min(lows) if len(lows) == len(bounds) else None, min(highs, default=None)
            return max(lows, default=None), max(highs) if len(highs) == len(bounds) else None
        (low, high), (least, _) = bounds
        if least is None or least <= 0:
            return None, None
        if isinstance(atom, Mod):
            limit = bounds[1][1]
            return 0, None if limit is None else limit - 1
        if isinstance(atom.denominator, int):
            return _quotient(low, atom.denominator), _quotient(high, atom.denominator)
        return (0 if low is not None and low >= 0 else None), (
            high if high is not None and high >= 0 else None
        )


def _quotient(bound: int | None, divisor: int) -> int | None:
    return None if bound is None else bound // divisor


def _pattern(difference: Expr) -> tuple[Expr, int, int]:
    """Write a dim as ``sign * pattern + constant``: the pattern is what ranges are stored by."""
    variable, constant = split_constant(difference)
    sign = 1 if next(iter(variable.values())) > 0 else -1
    pattern = build({monomial: sign * coefficient for monomial, coefficient in variable.items()})
    return cast("Expr", pattern), sign, constant


def _scaled(bounds: tuple[int | None, int | None], factor: int) -> tuple[int | None, int | None]:
    low, high = (None if bound is None else bound * factor for bound in bounds)
    return (low, high) if factor >= 0 else (high, low)
