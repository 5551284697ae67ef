"""What is known of symbols: hints, and the facts that answers relied on; runs no user code.

Must not know where a symbol comes from (that is a source, one layer up), nor what an array is.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TypeAlias, cast

from bcjit.dims.algebra import (
    Dim,
    DimLike,
    Expr,
    Symbol,
    SymbolKind,
    add,
    evaluate,
    multiply,
    substitute,
    subtract,
    symbols,
)
from bcjit.dims.ranges import Ranges
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
        self._changed()
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

    def assume(self, relation: Relation) -> None:
        """Record as a fact what is so by construction, whatever the symbols are: an index lies in the range it counts.

        A relation that has an answer already is not recorded.
        """
        if self.known(relation) is None:
            self._record(relation)

    def known(self, relation: Relation) -> bool | None:
        """Return the truth if structure and facts imply it, else None; records nothing."""
        constant = relation.constant()
        if constant is not None:
            return constant
        if relation not in self._known:
            self._known[relation] = self._imply(relation)
        return self._known[relation]

    def _imply(self, relation: Relation) -> bool | None:
        simplified = self._simplify_relation(relation)
        constant = simplified.constant()
        if constant is not None:
            return constant
        low, high, holes = self._ranges.interval(simplified.difference())
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
        if isinstance(dim, int):
            return dim
        if dim not in self._simple:
            self._simple[dim] = self._simplify(dim)
        return self._simple[dim]

    def _simplify(self, dim: Expr | Symbol) -> Dim:
        try:
            simplified = substitute(dim, self._solved)
        except ZeroDivisionError:
            # A divisor that is known to be 0: the dim has no value, and stays as it is.
            return add(dim, 0)
        if isinstance(simplified, Expr):
            low, high, _ = self._ranges.interval(simplified)
            if low is not None and low == high:
                return low
        return simplified

    def equalities(self) -> dict[Symbol, Dim]:
        """Return what symbols from outside are known to equal, in terms of others of them."""
        return {
            symbol: value
            for symbol, value in self._solved.items()
            if symbol.kind == "input" and all(one.kind == "input" for one in symbols(value))
        }

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
        # Most sizes are the same object, or known numbers.
        if right in (left, 1):
            return self.simplify(left)
        if left == 1:
            return self.simplify(right)
        size = self.simplify(left)
        if size == self.simplify(right):
            return size
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

    def _is_size(self, symbol: Symbol) -> bool:
        return self._nonnegative.get(symbol, False)

    def _changed(self) -> None:
        """Drop answers that were worked out from what was known before."""
        self._known: dict[Relation, bool | None] = {}
        self._simple: dict[Expr | Symbol, Dim] = {}

    def _forget(self) -> None:
        self._changed()
        self._solved: dict[Symbol, Dim] = {}
        self._ranges = Ranges(self._is_size)

    def _record(self, fact: Relation) -> None:
        self._changed()
        self._facts.append(fact)
        simplified = self._simplify_relation(fact)
        if simplified.op == "==" and self._solve(simplified):
            # Everything known about the symbol is now known about what it equals.
            self._reread()
        else:
            self._ranges.learn(simplified)
        self._changed()

    def _relearn(self) -> None:
        self._forget()
        for fact in self._facts:
            simplified = self._simplify_relation(fact)
            if simplified.op == "==":
                self._solve(simplified)
        self._reread()

    def _reread(self) -> None:
        self._ranges = Ranges(self._is_size)
        for symbol, nonnegative in self._nonnegative.items():
            # The solved symbol is gone from every expression, but what it equals is still not negative.
            if nonnegative and symbol in self._solved:
                self._ranges.learn(Relation("<=", 0, self._solved[symbol]))
        for fact in self._facts:
            self._ranges.learn(self._simplify_relation(fact))

    def _simplify_relation(self, relation: Relation) -> Relation:
        try:
            return relation.substitute(self._solved)
        except ZeroDivisionError:
            return relation

    def _solve(self, equality: Relation) -> bool:
        """Use an equality to replace its newest symbol that stands alone; False if there is none."""
        # No constant: it would have been known, and so no fact.
        difference = cast("Expr", equality.difference())
        for symbol in reversed(self._hints):
            coefficient = dict(difference.terms).get(((symbol, 1),))
            if coefficient not in (1, -1):
                continue
            rest = subtract(difference, multiply(coefficient, symbol))
            if symbol in symbols(rest):
                continue
            value = multiply(-coefficient, rest)
            solution: dict[Symbol, DimLike] = {symbol: value}
            # No division by zero: the hints satisfy every fact, and so have a value for every divisor.
            self._solved = {old: substitute(known, solution) for old, known in self._solved.items()}
            self._solved[symbol] = value
            return True
        return False
