"""Integer expressions over symbols in canonical form; knows nothing of what is true of the symbols.

``Symbol`` names an unknown integer, ``Expr`` is an integer polynomial over symbols and the four functions floor
division, modulo, minimum and maximum, and a ``Dim`` is an ``int`` or an ``Expr``: whatever is constant collapses to
``int``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, ClassVar, Final, Literal, SupportsIndex, TypeAlias, cast

from bcjit.lazy import Later
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.dims import code
else:
    code = Later("bcjit.dims.code")  # it knows polynomials, not they it

SymbolKind: TypeAlias = Literal["input", "loop", "data"]


class _Arithmetic:
    """Python's integer operators for ``Symbol`` and ``Expr``, with ``int`` on either side."""

    __slots__ = ()
    # NumPy integers leave the operation to us.
    __array_ufunc__: ClassVar[None] = None

    def __add__(self, other: object) -> Dim:
        return _binary(add, self, other)

    def __radd__(self, other: object) -> Dim:
        return _binary(add, other, self)

    def __sub__(self, other: object) -> Dim:
        return _binary(subtract, self, other)

    def __rsub__(self, other: object) -> Dim:
        return _binary(subtract, other, self)

    def __mul__(self, other: object) -> Dim:
        return _binary(multiply, self, other)

    def __rmul__(self, other: object) -> Dim:
        return _binary(multiply, other, self)

    def __floordiv__(self, other: object) -> Dim:
        return _binary(floor_divide, self, other)

    def __rfloordiv__(self, other: object) -> Dim:
        return _binary(floor_divide, other, self)

    def __mod__(self, other: object) -> Dim:
        return _binary(modulo, self, other)

    def __rmod__(self, other: object) -> Dim:
        return _binary(modulo, other, self)

    def __neg__(self) -> Dim:
        return negative(cast("DimLike", self))

    def __pos__(self) -> Dim:
        return add(cast("DimLike", self), 0)

    def __bool__(self) -> bool:
        msg = f"the truth of {self} is not known here: ask ShapeEnv.decide"
        raise TypeError(msg)


@dataclass(frozen=True, slots=True, repr=False)
class Symbol(_Arithmetic):
    """An unknown integer; two symbols are the same when name and kind are.

    ``kind`` is ``"input"`` (has a hint, may be guarded), ``"loop"`` (varies between turns) or ``"data"`` (a size
    that depends on values).
    """

    name: str
    kind: SymbolKind = "input"

    @property
    def expr(self) -> Expr:
        """The expression that is this symbol alone."""
        return Expr(((((self, 1),), 1),))

    def key(self) -> str:
        """Text that orders atoms; different for different symbols."""
        return f"{self.name}:{self.kind}"

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """``numerator // denominator`` as Python has it."""

    numerator: Dim
    denominator: Dim

    @property
    def args(self) -> tuple[Dim, ...]:
        """The operands in order."""
        return (self.numerator, self.denominator)

    def key(self) -> str:
        """Text that orders atoms."""
        return f"//({_key(self.numerator)},{_key(self.denominator)})"


@dataclass(frozen=True, slots=True)
class Mod:
    """``numerator % denominator`` as Python has it: the sign of the denominator."""

    numerator: Dim
    denominator: Dim

    @property
    def args(self) -> tuple[Dim, ...]:
        """The operands in order."""
        return (self.numerator, self.denominator)

    def key(self) -> str:
        """Text that orders atoms."""
        return f"%({_key(self.numerator)},{_key(self.denominator)})"


@dataclass(frozen=True, slots=True)
class Min:
    """The smallest of two or more operands, sorted, without repetition."""

    args: tuple[Dim, ...]

    def key(self) -> str:
        """Text that orders atoms."""
        return f"min({','.join(map(_key, self.args))})"


@dataclass(frozen=True, slots=True)
class Max:
    """The largest of two or more operands, sorted, without repetition."""

    args: tuple[Dim, ...]

    def key(self) -> str:
        """Text that orders atoms."""
        return f"max({','.join(map(_key, self.args))})"


@dataclass(frozen=True, slots=True, repr=False)
class Expr(_Arithmetic):
    """A polynomial that is not constant; equality is equality of the canonical form.

    Build one with operators or with the functions of this module, never by hand: ``terms`` is sorted (higher
    degree first, the constant last), has no zero coefficient, and no monomial twice.
    """

    terms: tuple[tuple[Monomial, int], ...]

    def evaluate(self, bindings: Mapping[Symbol, int]) -> int:
        """Return the value; KeyError for a symbol that is not bound, ZeroDivisionError as in Python."""
        return evaluate(self, bindings)

    def symbols(self) -> frozenset[Symbol]:
        """Return every symbol in the expression, also below functions."""
        return symbols(self)

    def substitute(self, mapping: Mapping[Symbol, DimLike]) -> Dim:
        """Return the expression with symbols replaced, all at once."""
        return substitute(self, mapping)

    def source(self, names: Mapping[Symbol, str]) -> str:
        """Return a Python expression; it may call the builtins ``min`` and ``max``."""
        return code.source(self, names)

    def __str__(self) -> str:
        return text(self)

    __repr__ = __str__


Atom: TypeAlias = Symbol | FloorDiv | Mod | Min | Max
Monomial: TypeAlias = tuple[
    tuple[Atom, int], ...
]  # (atom, power >= 1) sorted by key; () is the constant
Dim: TypeAlias = int | Expr
DimLike: TypeAlias = int | Expr | Symbol
Terms: TypeAlias = dict[Monomial, int]


# Canonical form


def is_dim(value: object) -> bool:
    """Whether the value is an exact ``int`` or an ``Expr``."""
    return type(value) is int or type(value) is Expr


def _coerce(value: object) -> DimLike | None:
    if type(value) is int or isinstance(value, Expr | Symbol):
        return value
    if isinstance(value, SupportsIndex):  # by protocol, which takes long
        return operator.index(value)
    return None


def _binary(function: Callable[[DimLike, DimLike], Dim], left: object, right: object) -> Dim:
    a, b = _coerce(left), _coerce(right)
    if a is None or b is None:
        return cast("Dim", NotImplemented)
    return function(a, b)


def _key(dim: Dim) -> str:
    if isinstance(dim, int):
        return str(dim)
    return "+".join(
        f"{coefficient}*{_monomial_key(monomial)}" for monomial, coefficient in dim.terms
    )


def _monomial_key(monomial: Monomial) -> str:
    return "*".join(f"{atom.key()}^{power}" for atom, power in monomial)


# Cached, because every operation sorts: monomials are few and small.
@lru_cache(maxsize=8192)
def _order(monomial: Monomial) -> tuple[int, str]:
    return (-sum(power for _, power in monomial), _monomial_key(monomial))


def terms_of(dim: DimLike) -> Terms:
    """Return the terms of a dim as a new dict, monomial to coefficient."""
    if isinstance(dim, Expr):
        return dict(dim.terms)
    if isinstance(dim, Symbol):
        return {((dim, 1),): 1}
    return {(): operator.index(dim)}


def build(terms: Mapping[Monomial, int]) -> Dim:
    """Return the dim of these terms: sorted, without zeros, an int if constant."""
    kept = [item for item in terms.items() if item[1]]
    if not kept:
        return 0
    if len(kept) == 1:
        return kept[0][1] if kept[0][0] == () else Expr((kept[0],))
    kept.sort(key=lambda item: _order(item[0]))
    return Expr(tuple(kept))


def _of_atom(atom: Atom) -> Expr:
    return Expr(((((atom, 1),), 1),))


def _multiply_monomials(left: Monomial, right: Monomial) -> Monomial:
    if not left or not right:
        return left or right
    powers = dict(left)
    for atom, power in right:
        powers[atom] = powers.get(atom, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: item[0].key()))


def add(left: DimLike, right: DimLike) -> Dim:
    """``left + right``."""
    return _combine(left, right, 1)


def negative(dim: DimLike) -> Dim:
    """``-dim``."""
    return _combine(0, dim, -1)


def subtract(left: DimLike, right: DimLike) -> Dim:
    """``left - right``."""
    return _combine(left, right, -1)


def _shifted(one: Expr, number: int) -> Dim:
    """``one + number``; the constant is the last term, so the others stay in order."""
    terms = one.terms
    if terms[-1][0] == ():
        number += terms[-1][1]
        terms = terms[:-1]
    return Expr((*terms, ((), number))) if number else Expr(terms)


def _combine(left: DimLike, right: DimLike, factor: int) -> Dim:
    """``left + factor * right``."""
    if type(right) is int:
        if isinstance(left, int):
            return left + factor * right
        return _shifted(left.expr if isinstance(left, Symbol) else left, factor * right)
    if type(left) is int and isinstance(right, Expr | Symbol):
        one = right.expr if isinstance(right, Symbol) else right
        if factor == 1:
            return _shifted(one, left)
        return _shifted(Expr(tuple((monomial, -n) for monomial, n in one.terms)), left)
    terms = terms_of(left)
    for monomial, coefficient in terms_of(right).items():
        terms[monomial] = terms.get(monomial, 0) + factor * coefficient
    return build(terms)


def multiply(left: DimLike, right: DimLike) -> Dim:
    """``left * right``."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    terms: Terms = {}
    right_terms = terms_of(right)
    for monomial, coefficient in terms_of(left).items():
        for other, factor in right_terms.items():
            both = _multiply_monomials(monomial, other)
            terms[both] = terms.get(both, 0) + coefficient * factor
    return build(terms)


def product(dims: Iterable[DimLike]) -> Dim:
    """Return the product of all dims, 1 for none."""
    result: Dim = 1
    for dim in dims:
        result = multiply(result, dim)
    return result


def _split(terms: Mapping[Monomial, int], divisor: int) -> tuple[Dim, Terms]:
    """Write terms as ``divisor * quotient + rest`` with every coefficient of rest between 0 and the divisor."""
    quotient: Terms = {}
    rest: Terms = {}
    for monomial, coefficient in terms.items():
        quotient[monomial], remainder = divmod(coefficient, divisor)
        if remainder:
            rest[monomial] = remainder
    return build(quotient), rest


def content(terms: Mapping[Monomial, int], divisor: int) -> int:
    """Return the largest common factor of the divisor and of all coefficients."""
    common = abs(divisor)
    for coefficient in terms.values():
        common = gcd(common, coefficient)
    return common


def floor_divide(left: DimLike, right: DimLike) -> Dim:
    """``left // right``; a constant divisor of 0 raises ZeroDivisionError.

    A constant divisor b is pulled through: ``(b*q + r) // b == q + r // b`` and ``(g*r) // (g*b) == r // b``, which
    hold for all integers, so that ``3*n//2``, ``n + n//2`` and ``(6*n)//4`` have one form.
    """
    divisor = build(terms_of(right))
    if isinstance(divisor, Expr):
        return _of_atom(FloorDiv(build(terms_of(left)), divisor))
    if divisor == 0:
        msg = "integer division or modulo by zero"
        raise ZeroDivisionError(msg)
    quotient, rest = _split(terms_of(left), divisor)
    if not rest:
        return quotient
    common = content(rest, divisor)
    reduced = build({monomial: coefficient // common for monomial, coefficient in rest.items()})
    if isinstance(reduced, int):
        return add(quotient, reduced // (divisor // common))
    return add(quotient, _of_atom(FloorDiv(reduced, divisor // common)))


def modulo(left: DimLike, right: DimLike) -> Dim:
    """``left % right``; a constant divisor of 0 raises ZeroDivisionError.

    A constant divisor b reduces the coefficients: ``(b*q + r) % b == r % b`` and ``(g*r) % (g*b) == g * (r % b)``.
    """
    divisor = build(terms_of(right))
    if isinstance(divisor, Expr):
        return _of_atom(Mod(build(terms_of(left)), divisor))
    if divisor == 0:
        msg = "integer division or modulo by zero"
        raise ZeroDivisionError(msg)
    _, rest = _split(terms_of(left), divisor)
    if not rest:
        return 0
    common = content(rest, divisor)
    reduced = build({monomial: coefficient // common for monomial, coefficient in rest.items()})
    if isinstance(reduced, int):
        return common * (reduced % (divisor // common))
    return multiply(common, _of_atom(Mod(reduced, divisor // common)))


def _extreme(
    kind: type[Min | Max], better: Callable[[int], bool], dims: tuple[DimLike, ...]
) -> Dim:
    if not dims:
        msg = f"{kind.__name__.lower()}imum of no dims"
        raise ValueError(msg)
    flat: list[Dim] = []
    for dim in dims:
        flat.extend(_operands_of(kind, build(terms_of(dim))))
    kept: list[Dim] = []
    for dim in flat:
        differences = [subtract(dim, other) for other in kept]
        if any(
            isinstance(difference, int) and not better(difference) for difference in differences
        ):
            continue
        kept = [
            other
            for other, difference in zip(kept, differences, strict=True)
            if isinstance(difference, Expr)
        ]
        kept.append(dim)
    if len(kept) == 1:
        return kept[0]
    return _of_atom(kind(tuple(sorted(kept, key=lambda dim: (isinstance(dim, int), _key(dim))))))


def _operands_of(kind: type[Min | Max], dim: Dim) -> tuple[Dim, ...]:
    if isinstance(dim, Expr) and len(dim.terms) == 1:
        monomial, coefficient = dim.terms[0]
        if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            atom = monomial[0][0]
            if type(atom) is kind:
                return atom.args
    return (dim,)


def minimum(*dims: DimLike) -> Dim:
    """Return the smallest of the dims; those that are larger by a constant are dropped."""
    return _extreme(Min, lambda difference: difference < 0, dims)


def maximum(*dims: DimLike) -> Dim:
    """Return the largest of the dims; those that are smaller by a constant are dropped."""
    return _extreme(Max, lambda difference: difference > 0, dims)


_APPLY: Final[dict[type, Callable[..., Dim]]] = {
    FloorDiv: floor_divide,
    Mod: modulo,
    Min: minimum,
    Max: maximum,
}
_EVALUATE: Final[dict[type, Callable[..., int]]] = {
    FloorDiv: operator.floordiv,
    Mod: operator.mod,
    Min: min,
    Max: max,
}


# Reading an expression


def evaluate(dim: DimLike, bindings: Mapping[Symbol, int]) -> int:
    """Return the value of a dim; KeyError for a symbol that is not bound."""
    total = 0
    for monomial, coefficient in terms_of(dim).items():
        value = coefficient
        for atom, power in monomial:
            value *= _evaluate_atom(atom, bindings) ** power
        total += value
    return total


def _evaluate_atom(atom: Atom, bindings: Mapping[Symbol, int]) -> int:
    if isinstance(atom, Symbol):
        return bindings[atom]
    return _EVALUATE[type(atom)](*(evaluate(arg, bindings) for arg in atom.args))


def symbols(dim: DimLike) -> frozenset[Symbol]:
    """Return the symbols of a dim."""
    return frozenset() if isinstance(dim, int) else _symbols_of(dim)


@lru_cache(maxsize=8192)
def _symbols_of(dim: Expr | Symbol) -> frozenset[Symbol]:
    found: set[Symbol] = set()
    for monomial in terms_of(dim):
        for atom, _ in monomial:
            if isinstance(atom, Symbol):
                found.add(atom)
            else:
                found.update(*(symbols(arg) for arg in atom.args))
    return frozenset(found)


def substitute(dim: DimLike, mapping: Mapping[Symbol, DimLike]) -> Dim:
    """Return the dim with symbols replaced, all at once."""
    if symbols(dim).isdisjoint(mapping):
        return add(dim, 0)
    total: Dim = 0
    for monomial, coefficient in terms_of(dim).items():
        value: Dim = coefficient
        for atom, power in monomial:
            factor: DimLike
            if isinstance(atom, Symbol):
                factor = mapping.get(atom, atom)
            else:
                factor = _APPLY[type(atom)](*(substitute(arg, mapping) for arg in atom.args))
            for _ in range(power):
                value = multiply(value, factor)
        total = add(total, value)
    return total


def text(dim: DimLike) -> str:
    """Return the dim as people write it, with the names of the symbols."""
    return _render(dim, lambda symbol: symbol.name)


def _render(dim: DimLike, name: Callable[[Symbol], str]) -> str:
    if isinstance(dim, int):
        return str(dim)
    pieces: list[str] = []
    for monomial, coefficient in terms_of(dim).items():
        body = _render_monomial(monomial, abs(coefficient), name, bare=coefficient == 1)
        if not pieces:
            pieces.append(body if coefficient > 0 else f"-{body}")
        else:
            pieces.append(f" + {body}" if coefficient > 0 else f" - {body}")
    return "".join(pieces)


def _render_monomial(
    monomial: Monomial, magnitude: int, name: Callable[[Symbol], str], *, bare: bool
) -> str:
    alone = bare and len(monomial) == 1 and monomial[0][1] == 1
    factors = [str(magnitude)] if magnitude != 1 or not monomial else []
    for atom, power in monomial:
        if isinstance(atom, Symbol):
            factor = name(atom)
        elif isinstance(atom, Min | Max):
            arguments = ", ".join(_render(arg, name) for arg in atom.args)
            factor = f"{type(atom).__name__.lower()}({arguments})"
        else:
            sign = "//" if isinstance(atom, FloorDiv) else "%"
            factor = f"{_operand(atom.numerator, name)} {sign} {_operand(atom.denominator, name)}"
            # Unary minus, * and ** bind differently from // and %.
            factor = factor if alone else f"({factor})"
        factors.append(factor if power == 1 else f"{factor}**{power}")
    return "*".join(factors)


def _operand(dim: Dim, name: Callable[[Symbol], str]) -> str:
    rendered = _render(dim, name)
    simple = isinstance(dim, int) and dim >= 0
    if isinstance(dim, Expr) and len(dim.terms) == 1:
        monomial, coefficient = dim.terms[0]
        simple = (
            coefficient == 1
            and len(monomial) == 1
            and isinstance(monomial[0][0], Symbol | Min | Max)
        )
        simple = simple and monomial[0][1] == 1
    return rendered if simple else f"({rendered})"


def split_constant(difference: Expr) -> tuple[Terms, int]:
    """Return the terms that are not constant, and the constant."""
    variable = dict(difference.terms)
    return variable, variable.pop((), 0)
