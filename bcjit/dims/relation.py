"""Comparisons of two dims in canonical form; knows nothing of what is true of the symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from bcjit.dims.algebra import (
    Dim,
    DimLike,
    Expr,
    Symbol,
    add,
    build,
    content,
    evaluate,
    split_constant,
    substitute,
    subtract,
    symbols,
    text,
)
from bcjit.dims.code import source
from bcjit.records import dataclass

RelationOp: TypeAlias = Literal["==", "!=", "<", "<="]
COMPARE: Final[dict[str, Callable[[int, int], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
}


@dataclass(frozen=True, slots=True, repr=False, init=False)
class Relation:
    """A comparison of two dims in canonical form, so that equal meanings are mostly equal objects.

    ``a < b`` becomes ``a <= b - 1``; a common factor is divided out; terms with a positive coefficient stand on the
    left, the constant on the right unless the left is empty. ``op`` is therefore one of ``==``, ``!=``, ``<=``. A
    relation without symbols is one of ``0 == 0`` and ``0 == 1``.
    """

    op: RelationOp
    lhs: Dim
    rhs: Dim

    def __init__(self, op: RelationOp, lhs: DimLike, rhs: DimLike) -> None:
        if op not in COMPARE:
            msg = f"op: one of {', '.join(COMPARE)} is expected, got {op!r}"
            raise ValueError(msg)
        difference = subtract(lhs, rhs)
        if op == "<":
            op, difference = "<=", add(difference, 1)
        if isinstance(difference, Expr):
            op, left, right = _balance(op, difference)
        else:
            op, left, right = "==", 0, 0 if COMPARE[op](difference, 0) else 1
        object.__setattr__(self, "op", op)
        object.__setattr__(self, "lhs", left)
        object.__setattr__(self, "rhs", right)

    def difference(self) -> Dim:
        """``lhs - rhs``: the relation compares it with 0."""
        return subtract(self.lhs, self.rhs)

    def constant(self) -> bool | None:
        """Return the truth of a relation without symbols, None for others."""
        if isinstance(self.lhs, int) and isinstance(self.rhs, int):
            return self.lhs == self.rhs
        return None

    def holds(self, bindings: Mapping[Symbol, int]) -> bool:
        """Return the truth for these values of the symbols."""
        return COMPARE[self.op](evaluate(self.lhs, bindings), evaluate(self.rhs, bindings))

    def negated(self) -> Relation:
        """Return the relation that holds exactly when this one does not."""
        if self.op == "<=":
            return Relation("<", self.rhs, self.lhs)
        return Relation("!=" if self.op == "==" else "==", self.lhs, self.rhs)

    def symbols(self) -> frozenset[Symbol]:
        """Return the symbols of both sides."""
        return symbols(self.lhs) | symbols(self.rhs)

    def substitute(self, mapping: Mapping[Symbol, DimLike]) -> Relation:
        """Return the relation with symbols replaced, all at once."""
        return Relation(self.op, substitute(self.lhs, mapping), substitute(self.rhs, mapping))

    def source(self, names: Mapping[Symbol, str]) -> str:
        """Return a Python expression for the relation."""
        return f"{source(self.lhs, names)} {self.op} {source(self.rhs, names)}"

    def __str__(self) -> str:
        return f"{text(self.lhs)} {self.op} {text(self.rhs)}"

    __repr__ = __str__


def _balance(op: RelationOp, difference: Expr) -> tuple[RelationOp, Dim, Dim]:
    """Write ``difference op 0`` with the terms on the side where their coefficients are positive."""
    variable, constant = split_constant(difference)
    common = content(variable, 0)
    if op == "<=":
        # g*p + c <= 0  <=>  p <= floor(-c / g)
        limit = -constant // common
    elif constant % common:
        return ("==", 0, 1) if op == "==" else ("==", 0, 0)
    else:
        limit = -constant // common
        if next(iter(variable.values())) < 0:
            common, limit = -common, -limit
    scaled = {monomial: coefficient // common for monomial, coefficient in variable.items()}
    left = build(
        {monomial: coefficient for monomial, coefficient in scaled.items() if coefficient > 0}
    )
    right = build(
        {monomial: -coefficient for monomial, coefficient in scaled.items() if coefficient < 0}
    )
    if left == 0:
        return op, -limit, right
    return op, left, add(right, limit)
