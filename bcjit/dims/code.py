"""Integer expressions as Python code that takes few operations; it knows nothing of where their symbols come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from math import gcd
from typing import Final

from bcjit.dims.algebra import Atom, DimLike, FloorDiv, Max, Min, Monomial, Symbol, Terms, terms_of

__all__ = ["source"]


def source(dim: DimLike, names: Mapping[Symbol, str]) -> str:
    """Return a Python expression for the dim, with these names (or expressions) for the symbols.

    It need not look like `text`: it takes as few operations as a common factor taken out at a time makes them, and no powers of variables.
    """
    return _Code(lambda symbol: names[symbol]).sum(terms_of(dim))[0]


# CPython takes three times as long for a power as for a product.
_POWER: Final = 3


class _Code:
    """Writes polynomials as code, each with what it costs: the number of operations."""

    def __init__(self, name: Callable[[Symbol], str]) -> None:
        self.name = name

    def sum(self, terms: Terms) -> tuple[str, int]:
        """Return a sum, as it stands or with an atom taken out of the most terms that have one in common."""
        written, cost = self._plain(terms)
        common = Counter(atom for monomial in terms for atom, _ in monomial)
        atom, count = max(common.items(), key=lambda item: item[1], default=(None, 0))
        if atom is None or count < 2:
            return written, cost
        inside: Terms = {}
        outside: Terms = {}
        for monomial, coefficient in terms.items():
            powers = dict(monomial)
            if atom in powers:
                powers[atom] -= 1
                left = tuple(item for item in powers.items() if item[1])
                inside[left] = coefficient
            else:
                outside[monomial] = coefficient
        factor, of_factor = self.sum(inside)
        taken, of_taken = self._power(atom, 1, alone=False)
        product = f"{taken}*({factor})"
        total = of_factor + of_taken + 1
        divisor = gcd(*inside.values())
        if divisor > 1:
            factor, of_factor = self.sum({one: n // divisor for one, n in inside.items()})
            if of_factor + of_taken + 2 < total:
                product = f"{divisor}*{taken}*({factor})"
                total = of_factor + of_taken + 2
        if outside:
            rest, of_rest = self.sum(outside)
            product += f" - {rest[1:]}" if rest.startswith("-") else f" + {rest}"
            total += of_rest + 1
        return (product, total) if total < cost else (written, cost)

    def _plain(self, terms: Terms) -> tuple[str, int]:
        pieces: list[str] = []
        cost = 0
        for monomial, coefficient in terms.items():
            body, of_body = self._product(monomial, abs(coefficient), bare=coefficient == 1)
            cost += of_body + bool(pieces)
            sign = ("-" if coefficient < 0 else "") if not pieces else " + "
            pieces.append(f" - {body}" if pieces and coefficient < 0 else f"{sign}{body}")
        return "".join(pieces) or "0", cost

    def _product(self, monomial: Monomial, magnitude: int, *, bare: bool) -> tuple[str, int]:
        alone = bare and len(monomial) == 1 and monomial[0][1] == 1
        factors = [str(magnitude)] if magnitude != 1 or not monomial else []
        cost = 0
        for atom, power in monomial:
            factor, of_factor = self._power(atom, power, alone=alone)
            factors.append(factor)
            cost += of_factor
        return "*".join(factors), cost + len(factors) - 1

    def _power(self, atom: Atom, power: int, *, alone: bool) -> tuple[str, int]:
        factor, cost = self._atom(atom, alone=alone)
        if power == 1:
            return factor, cost
        if power <= _POWER and factor.isidentifier():
            return "*".join([factor] * power), power - 1
        return f"{factor}**{power}", cost + _POWER

    def _atom(self, atom: Atom, *, alone: bool) -> tuple[str, int]:
        if isinstance(atom, Symbol):
            return self.name(atom), 0
        written = [self.sum(terms_of(arg)) for arg in atom.args]
        cost = sum(of_one for _, of_one in written) + _POWER
        if isinstance(atom, Min | Max):
            return f"{type(atom).__name__.lower()}({', '.join(one for one, _ in written)})", cost
        sign = "//" if isinstance(atom, FloorDiv) else "%"
        left, right = (
            one if one.isidentifier() or one.isdecimal() else f"({one})" for one, _ in written
        )
        # Unary minus, * and ** bind differently from // and %.
        return f"{left} {sign} {right}" if alone else f"({left} {sign} {right})", cost
