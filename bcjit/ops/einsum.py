"""``np.einsum``: subscripts are read here, the sums of products are Contract, Reduce and views.

Mirrors NumPy's C function (``einsum.cpp``: ``PyArray_EinsteinSum``); ``optimize=`` only chooses the order of the products.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np

from bcjit.dims import Dim
from bcjit.ops.elementwise import single_out, store
from bcjit.ops.emitter import Diagonal, DType, Emitter, Operand, Permute, Pick, Value
from bcjit.ops.opdef import Unsupported, WouldRaise
from bcjit.ops.operands import CASTINGS, as_dtype, broadcast, cast, constant, equal
from bcjit.ops.reductions import fold
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import row
from bcjit.ops.spell import functions
from bcjit.ops.table import Rows
from bcjit.ops.views import indexed
from bcjit.records import dataclass

__all__: list[str] = []

example = Samplers("products")
table = Rows()

_UPPER: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
# Of the numbers of a sublist.
_LETTERS: Final = _UPPER + _UPPER.lower()
# Of the axes under an ellipsis, counted from the last one.
_HIDDEN: Final = tuple(chr(0x100 + i) for i in range(64))


@dataclass(frozen=True, slots=True)
class _Term:
    """An operand with a letter for each axis."""

    value: Value
    letters: str


# Subscripts


def _split(e: Emitter, operands: Sequence[Operand]) -> tuple[list[str], str | None, list[Value]]:
    """Return the subscripts of each operand and of the result, an ellipsis being one dot, and the operands."""
    if not operands:
        raise WouldRaise("no operands")
    first, *rest = operands
    if not isinstance(first, str):
        count = len(operands) // 2
        subscripts = [_listed(e, item) for item in operands[1 : 2 * count : 2]]
        output = _listed(e, operands[-1]) if len(operands) % 2 else None
        return subscripts, output, [e.array(item) for item in operands[: 2 * count : 2]]
    text = first.replace(" ", "").replace("...", ".")
    inputs, arrow, target = text.partition("->")
    if not set(text) <= set(_LETTERS + ".,->") or not set(inputs + target) <= set(_LETTERS + ".,"):
        raise WouldRaise("a character is not a valid subscript")
    if "," in target:
        raise WouldRaise("a comma among the subscripts of the result")
    return inputs.split(","), target if arrow else None, [e.array(item) for item in rest]


def _listed(e: Emitter, item: Operand) -> str:
    if not isinstance(item, tuple | list):
        raise Unsupported("the subscripts are not a constant text or a list")
    numbers = [-1 if part is Ellipsis else constant(e, part, "subscript") for part in item]
    if any(
        not 0 <= n < len(_LETTERS) for n, part in zip(numbers, item, strict=True)
        if part is not Ellipsis
    ):  # fmt: skip
        raise WouldRaise("subscript is not within the valid range [0, 52)")
    return "".join("." if n < 0 else _LETTERS[n] for n in numbers)


def _term(value: Value, subscripts: str) -> _Term:
    """Give each axis a letter: those under the ellipsis one by their place from the end."""
    hidden = len(value.shape) - len(subscripts.replace(".", ""))
    if subscripts.count(".") > 1 or hidden < 0 or (hidden and "." not in subscripts):
        raise WouldRaise("the subscripts do not fit the operand")
    return _Term(value, subscripts.replace(".", "".join(reversed(_HIDDEN[:hidden]))))


def _result_letters(terms: Sequence[_Term], output: str | None, optimize: Operand) -> str:
    counts = Counter("".join(term.letters for term in terms))
    hidden = "".join(letter for letter in reversed(_HIDDEN) if letter in counts)
    if output is None:
        once = sorted(x for x, n in counts.items() if n == 1 and x not in hidden)
        return hidden + "".join(once)
    # In its Python, NumPy sums over them.
    unnamed = hidden and "." not in output and optimize is False
    if output.count(".") > 1 or unnamed:
        raise WouldRaise("the result has no ellipsis for the axes that are under one")
    letters = output.replace(".", hidden)
    if len(set(letters)) != len(letters) or not set(letters) <= set(counts):
        raise WouldRaise("a subscript of the result is there twice, or in no operand")
    return letters


# Terms


def _without_repeats(e: Emitter, term: _Term) -> _Term:
    """Take the diagonal of axes with one letter."""
    value, letters = term.value, term.letters
    for letter in dict.fromkeys(letters):
        while letters.count(letter) > 1:
            first = letters.index(letter)
            second = letters.index(letter, first + 1)
            size = value.shape[first]
            if not equal(e, size, value.shape[second]):
                if equal(e, size, 0):
                    raise Unsupported(
                        "NumPy takes the diagonal of 0 by n elements to be n elements"
                    )
                raise WouldRaise("dimensions for a collapsing index don't match")
            value = e.view(value, Diagonal(0, first, second, size, writeable=True))
            letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + letter
    return _Term(value, letters)


def _without_ones(e: Emitter, term: _Term, sizes: dict[str, Dim]) -> _Term:
    """Drop axes of size 1 where other operands have a larger one."""
    ones = {
        axis: Pick(0)
        for axis, (letter, dim) in enumerate(zip(term.letters, term.value.shape, strict=True))
        if not equal(e, dim, sizes[letter])
    }
    if not ones:
        return term
    kept = "".join(letter for axis, letter in enumerate(term.letters) if axis not in ones)
    return _Term(e.view(term.value, indexed(term.value, dict(ones))), kept)


def _sizes(e: Emitter, terms: Sequence[_Term]) -> dict[str, Dim]:
    sizes: dict[str, Dim] = {}
    for term in terms:
        for letter, dim in zip(term.letters, term.value.shape, strict=True):
            have = sizes.get(letter)
            sizes[letter] = dim if have is None else broadcast(e, (have,), (dim,))[0]
    return sizes


def _summed(e: Emitter, term: _Term, needed: str, dtype: DType) -> _Term:
    """Sum over the axes whose letter nothing else has."""
    axes = tuple(i for i, letter in enumerate(term.letters) if letter not in needed)
    if not axes:
        return term
    total = fold(e, row("add"), term.value, axes, dtype=dtype)
    return _Term(total, "".join(letter for letter in term.letters if letter in needed))


def _ordered(e: Emitter, term: _Term, letters: str) -> Value:
    return e.view(term.value, Permute(tuple(term.letters.index(x) for x in letters)))


def _product(e: Emitter, terms: Sequence[_Term], letters: str, dtype: DType) -> Value:
    """Return the sum of products as a new array."""
    result = terms[0]
    for i, term in enumerate(terms[1:], 1):
        later = letters + "".join(other.letters for other in terms[i + 1 :])
        left = _summed(e, result, later + term.letters, dtype)
        right = _summed(e, term, later + left.letters, dtype)
        both = "".join(dict.fromkeys(left.letters + right.letters))
        kept = letters if i == len(terms) - 1 else "".join(x for x in both if x in later)
        names = {letter: _LETTERS[n] for n, letter in enumerate(both)}
        labels = ["".join(names[x] for x in some) for some in (left.letters, right.letters, kept)]
        value = e.contract(left.value, right.value, (labels[0], labels[1], labels[2]), dtype)
        result = _Term(value, kept)
    if len(terms) > 1:
        return result.value
    total = _summed(e, result, letters, dtype)
    return cast(e, _ordered(e, total, letters), dtype)


# The function


def _check_optimize(e: Emitter, optimize: Operand) -> None:
    if type(optimize) is bool or (isinstance(optimize, str) and optimize in {"greedy", "optimal"}):
        return
    if not isinstance(optimize, tuple | list):
        raise Unsupported("this way to optimize")
    e.may_fail()  # a path that does not fit the operands


def einsum(
    e: Emitter,
    *operands: Operand,
    out: Operand = None,
    optimize: Operand = False,
    dtype: Operand = None,
    order: Operand = "K",
    casting: Operand = "safe",
) -> Value:
    """``np.einsum``: a view, not read-only, where one operand's axes are only moved."""
    _check_optimize(e, optimize)
    if not isinstance(order, str) or order not in "CFAK" or casting not in CASTINGS:
        raise Unsupported("order or casting is not one of NumPy's words")
    subscripts, output, values = _split(e, operands)
    if len(subscripts) != len(values):
        raise WouldRaise("another number of subscripts than of operands")
    target = single_out(e, out)
    terms = [_term(v, s) for v, s in zip(values, subscripts, strict=True)]
    letters = _result_letters(terms, output, optimize)
    terms = [_without_repeats(e, term) for term in terms]
    moved = len(terms) == 1 and target is None and set(terms[0].letters) == set(letters)
    if moved:
        # Whatever dtype is asked for.
        return _finished(e, _ordered(e, terms[0], letters), optimize)
    loop = _loop_dtype(values, as_dtype(dtype), casting, optimize)
    sizes = _sizes(e, terms)
    result = _product(e, [_without_ones(e, term, sizes) for term in terms], letters, loop)
    if target is None:
        return _finished(e, result, optimize)
    if target.dtype != loop:
        raise Unsupported("out: of another dtype than the operands'")
    return store(e, target, result)


def _finished(e: Emitter, result: Value, optimize: Operand) -> Value:
    if not result.shape and optimize is not False:
        raise Unsupported("whether an optimized product of no axes is a scalar depends on the path")
    return e.scalar(result)


def _loop_dtype(
    values: Sequence[Value], dtype: DType | None, casting: str, optimize: Operand
) -> DType:
    """Return the dtype of the products and sums: that of the operands together, or as asked for."""
    found = {value.dtype for value in values}
    if optimize is not False and (dtype is not None or (len(values) > 2 and len(found) > 1)):
        raise Unsupported("the dtypes of optimized products depend on their order")
    loop = np.result_type(*found) if dtype is None else dtype
    if not all(np.can_cast(one, loop, casting) for one in found):  # type: ignore[arg-type]  # a text
        raise WouldRaise(f"cannot cast to {loop} with casting rule {casting}")
    return loop


table.define("einsum", functions(einsum, example.einsums, "einsum"), ulp=64)
