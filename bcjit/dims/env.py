"""What is known of symbols: hints, and the facts that answers relied on; runs no user code.

Must not know where a symbol comes from (that is a source, one layer up), nor what an array is.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from bcjit.dims.algebra import (
    Atom,
    Dim,
    DimLike,
    Expr,
    Max,
    Min,
    Mod,
    Monomial,
    Symbol,
    SymbolKind,
    add,
    build,
    evaluate,
    multiply,
    split_constant,
    substitute,
    subtract,
    symbols,
)
from bcjit.dims.relation import COMPARE, Relation


class Undecidable(Exception):
    """A relation that neither structure nor facts nor hints can answer."""

    def __init__(self, relation: Relation) -> None:
        super().__init__(f"cannot decide whether {relation}")
        self.relation = relation


class ShapeMismatch(Exception):
    """Two shapes or sizes that cannot go together."""

    def __init__(self, left: object, right: object) -> None:
        super().__init__(f"{left} and {right} do not go together")
        self.left = left
        self.right = right


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


Mark: TypeAlias = tuple[int, int]


class ShapeEnv:
    """Symbols with their hints, and the facts that answers have relied on.

    ``decide`` answers from structure, then from what the facts imply, and only then from the hints; an answer from
    the hints becomes a fact. So any other values of the symbols that satisfy all facts (and are not negative where
    ``nonnegative`` was said) would have got the same answers.
    """

    def __init__(self) -> None:
        self._hints: dict[Symbol, int | None] = {}
        self._nonnegative: dict[Symbol, bool] = {}
        self._facts: list[Relation] = []
        self._forget()

    def symbol(
        self,
        name: str,
        kind: SymbolKind = "input",
        hint: int | None = None,
        nonnegative: bool = True,
    ) -> Symbol:
        """Add a symbol and return it; ``symbol.expr`` is the dim.

        Parameters
        ----------
        name : str
            Unique among the symbols of this environment and kind.
        kind : str
            Only ``"input"`` symbols can have a hint.
        hint : int or None
            The value seen now.
        nonnegative : bool
            Whether the value can never be negative (a size); this is relied on without a fact.
        """
        symbol = Symbol(name, kind)
        if symbol in self._hints:
            msg = f"name: a new symbol name is expected, {name!r} is taken"
            raise ValueError(msg)
        if hint is not None and kind != "input":
            msg = f"hint: only an input symbol has one, {name!r} is of kind {kind!r}"
            raise ValueError(msg)
        if hint is not None and nonnegative and hint < 0:
            msg = f"hint: not negative is expected for {name!r}, got {hint}"
            raise ValueError(msg)
        self._hints[symbol] = None if hint is None else operator.index(hint)
        self._nonnegative[symbol] = nonnegative
        return symbol

    @property
    def facts(self) -> tuple[Relation, ...]:
        """Everything that must hold, in the order it was relied on."""
        return tuple(self._facts)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """All symbols in the order they were added."""
        return tuple(self._hints)

    def hint(self, dim: DimLike) -> int | None:
        """Return the value now, None where a symbol has no hint or the value does not exist (division by zero)."""
        bindings: dict[Symbol, int] = {}
        for symbol in symbols(dim):
            value = self._hints.get(symbol)
            if value is None:
                return None
            bindings[symbol] = value
        try:
            return evaluate(dim, bindings)
        except ZeroDivisionError:
            return None

    def mark(self) -> Mark:
        """Return a mark for ``truncate``."""
        return len(self._hints), len(self._facts)

    def truncate(self, mark: Mark) -> None:
        """Forget every symbol and fact added after the mark."""
        symbol_count, fact_count = mark
        if fact_count > len(self._facts) or symbol_count > len(self._hints):
            msg = "the mark is newer than the environment"
            raise ValueError(msg)
        for symbol in list(self._hints)[symbol_count:]:
            del self._hints[symbol], self._nonnegative[symbol]
        if fact_count < len(self._facts):
            del self._facts[fact_count:]
            self._relearn()

    # Answers

    def decide(self, relation: Relation) -> bool:
        """Return the truth of a relation, recording a fact if only the hints know it.

        Raises
        ------
        Undecidable
            If neither structure nor facts answer it and a symbol has no hint.
        """
        answer = self.known(relation)
        if answer is not None:
            return answer
        left, right = self.hint(relation.lhs), self.hint(relation.rhs)
        if left is None or right is None:
            raise Undecidable(relation)
        answer = COMPARE[relation.op](left, right)
        self._record(relation if answer else relation.negated())
        return answer

    def known(self, relation: Relation) -> bool | None:
        """Return the truth if structure and facts imply it, else None; records nothing."""
        simplified = self._simplify_relation(relation)
        constant = simplified.constant()
        if constant is not None:
            return constant
        low, high, holes = self._interval(simplified.difference())
        if simplified.op == "<=":
            if high is not None and high <= 0:
                return True
            return False if low is not None and low > 0 else None
        equal: bool | None = None
        if (low is not None and low > 0) or (high is not None and high < 0) or 0 in holes:
            equal = False
        elif low == 0 and high == 0:
            equal = True
        return equal if equal is None or simplified.op == "==" else not equal

    def simplify(self, dim: DimLike) -> Dim:
        """Return the dim with the equalities known so far applied."""
        try:
            simplified = substitute(dim, self._solved)
        except ZeroDivisionError:
            # A divisor that is known to be 0: the dim has no value, and stays as it is.
            return add(dim, 0)
        if isinstance(simplified, Expr):
            low, high, _ = self._interval(simplified)
            if low is not None and low == high:
                return low
        return simplified

    def unify(self, left: DimLike, right: DimLike) -> Dim:
        """Make two sizes that must agree one, or raise ShapeMismatch if they differ now."""
        if not self.decide(Relation("==", left, right)):
            raise ShapeMismatch(left, right)
        left, right = self.simplify(left), self.simplify(right)
        return right if isinstance(right, int) else left

    def broadcast(self, left: Sequence[DimLike], right: Sequence[DimLike]) -> tuple[Dim, ...]:
        """Return the shape two shapes broadcast to by NumPy's rule, or raise ShapeMismatch.

        Source: NumPy's "General broadcasting rules": from the last axis, sizes agree or one of them is 1.
        """
        longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
        extra = len(longer) - len(shorter)
        result = [self.simplify(dim) for dim in longer[:extra]]
        for a, b in zip(
            left[len(left) - len(shorter) :], right[len(right) - len(shorter) :], strict=True
        ):
            try:
                result.append(self._broadcast_sizes(a, b))
            except ShapeMismatch:
                raise ShapeMismatch(tuple(left), tuple(right)) from None
        return tuple(result)

    def _broadcast_sizes(self, left: DimLike, right: DimLike) -> Dim:
        same = Relation("==", left, right)
        left_one, right_one = Relation("==", left, 1), Relation("==", right, 1)
        if self.known(same):
            return self.unify(left, right)
        if self.known(left_one):
            return self.simplify(right)
        if self.known(right_one):
            return self.simplify(left)
        # Equal sizes need no fact about 1: whatever they are later, the result is that size.
        left_hint, right_hint = self.hint(left), self.hint(right)
        if left_hint is not None and left_hint == right_hint:
            return self.unify(left, right)
        if self.decide(left_one):
            return self.simplify(right)
        if self.decide(right_one):
            return self.simplify(left)
        return self.unify(left, right)

    # Facts and what follows from them

    def _forget(self) -> None:
        self._solved: dict[Symbol, Dim] = {}
        self._ranges: dict[Expr, _Range] = {}

    def _record(self, fact: Relation) -> None:
        self._facts.append(fact)
        simplified = self._simplify_relation(fact)
        if simplified.op == "==" and self._solve(simplified):
            # Everything known about the symbol is now known about what it equals.
            self._reread()
        else:
            self._learn(simplified)

    def _relearn(self) -> None:
        self._forget()
        for fact in self._facts:
            simplified = self._simplify_relation(fact)
            if simplified.op == "==":
                self._solve(simplified)
        self._reread()

    def _reread(self) -> None:
        self._ranges = {}
        for symbol, nonnegative in self._nonnegative.items():
            # The solved symbol is gone from every expression, but what it equals is still not negative.
            if nonnegative and symbol in self._solved:
                self._learn(Relation("<=", 0, self._solved[symbol]))
        for fact in self._facts:
            self._learn(self._simplify_relation(fact))

    def _simplify_relation(self, relation: Relation) -> Relation:
        try:
            return relation.substitute(self._solved)
        except ZeroDivisionError:
            return relation

    def _solve(self, equality: Relation) -> bool:
        """Use an equality to replace its newest symbol that stands alone; False if there is none."""
        difference = equality.difference()
        if isinstance(difference, int):
            return False
        for symbol in reversed(self._hints):
            coefficient = dict(difference.terms).get(((symbol, 1),))
            if coefficient not in (1, -1):
                continue
            rest = subtract(difference, multiply(coefficient, symbol))
            if symbol in symbols(rest):
                continue
            value = multiply(-coefficient, rest)
            solution: dict[Symbol, DimLike] = {symbol: value}
            try:
                solved = {old: substitute(known, solution) for old, known in self._solved.items()}
            except ZeroDivisionError:
                continue
            self._solved = {**solved, symbol: value}
            return True
        return False

    def _learn(self, fact: Relation) -> None:
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

    def _interval(self, dim: Dim) -> tuple[int | None, int | None, frozenset[int]]:
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
            low = 0 if self._nonnegative.get(atom, False) else None
            known = self._ranges.get(atom.expr, _Range()).narrowed(low, None)
            return known.low, known.high
        bounds = [self._interval(arg)[:2] for arg in atom.args]
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
