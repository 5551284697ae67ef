"""Ufunc calls: every ufunc without a signature is an op, elementwise by its own loops and its own dtype rule.

NumPy's are entries of the table, one for each row of the scalar-function table, with the operators that run them. Any other
ufunc (``scipy.special``'s, a compiled one) becomes an op when it is looked up (``ufunc_methods``).
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from functools import partial
from types import EllipsisType
from typing import Final

import numpy as np

from bcjit.ops.elementwise import call, mask_of, unwrap
from bcjit.ops.emitter import Emitter, Operand, Value
from bcjit.ops.numpy_facts import OUT_TAKES_ELLIPSIS
from bcjit.ops.opdef import Spelling, Unsupported, WouldRaise
from bcjit.ops.operands import ABSENT, Signature, as_dtype, loop_signature
from bcjit.ops.operators import operator_spellings
from bcjit.ops.samples import Samplers
from bcjit.ops.scalar_functions import SCALAR_FUNCTIONS, ScalarFunction
from bcjit.ops.table import Rows

__all__ = ["ufunc_call", "ufunc_spellings"]

example = Samplers("elementwise")
table = Rows()


def ufunc_call(
    function: ScalarFunction,
    e: Emitter,
    /,
    *args: Operand,
    out: Operand = ABSENT,
    where: Operand = True,
    casting: Operand = "same_kind",
    order: Operand = "K",
    dtype: Operand = None,
    subok: Operand = True,
    **signatures: Operand,
) -> Value | tuple[Value, ...]:
    """Source: NumPy ``ufunc_object.c``: ``ufunc_generic_fastcall``."""
    ufunc = function.ufunc
    assert ufunc is not None
    if not ufunc.nin <= len(args) <= ufunc.nargs:
        raise WouldRaise(f"{function.name} takes {ufunc.nin} to {ufunc.nargs} arguments")
    _check_options(subok, order)
    inputs = args[: ufunc.nin]
    outs = _outputs(e, function, args[ufunc.nin :], out)
    mask = mask_of(e, where)
    if mask is not None and builtins.any(out is None for out in outs):
        raise Unsupported("where= without out= leaves elements undefined")
    results = call(
        e,
        function,
        inputs,
        outs,
        dtype=as_dtype(dtype),
        signature=_signature(ufunc, dtype, signatures),
        casting=casting,
        mask=mask,
    )
    if out is Ellipsis:
        return results[0] if len(results) == 1 else results
    if builtins.all(out is None for out in outs):
        return unwrap(e, results)
    if len(results) == 1:
        return results[0]
    # The arrays given are what is returned; the others as always.
    return tuple(
        result if given is not None else e.scalar(result)
        for result, given in zip(results, outs, strict=True)
    )


_ORDERS: Final = frozenset("CFAKcfak")


def _check_options(subok: Operand, order: Operand) -> None:
    if type(subok) is not bool:
        raise WouldRaise("'subok' must be a boolean")
    if order is not None and (not isinstance(order, str) or order not in _ORDERS):
        raise WouldRaise("order: one of 'C', 'F', 'A', or 'K' is expected")


def _outputs(
    e: Emitter, function: ScalarFunction, positional: Sequence[Operand], out: Operand
) -> tuple[Value | None, ...]:
    if positional and out is not ABSENT:
        raise WouldRaise("cannot specify 'out' as both a positional and keyword argument")
    items: tuple[Operand, ...]
    if out is None or out is ABSENT:
        items = (*positional, *(None,) * (function.nout - len(positional)))
    elif isinstance(out, EllipsisType):
        if not OUT_TAKES_ELLIPSIS:
            raise WouldRaise("return arrays must be of ArrayType")
        items = (None,) * function.nout
    elif isinstance(out, tuple):
        if len(out) != function.nout:
            raise WouldRaise("the 'out' tuple must have one entry per ufunc output")
        items = out
    elif function.nout > 1:
        raise WouldRaise("'out' must be a tuple of arrays")
    else:
        items = (out,)
    return tuple(_array_or_none(e, item) for item in items)


def _array_or_none(e: Emitter, item: Operand) -> Value | None:
    if item is None:
        return None
    if not e.is_value(item) or e.is_scalar(item):
        raise WouldRaise("return arrays must be of ArrayType")
    return item


def _signature(ufunc: np.ufunc, dtype: Operand, signatures: dict[str, Operand]) -> Signature:
    if not signatures:
        return None
    if not signatures.keys() <= {"sig", "signature"}:
        raise WouldRaise(f"got an unexpected keyword argument: {', '.join(signatures)}")
    if len(signatures) == 2:
        raise WouldRaise("cannot specify both 'sig' and 'signature'")
    (signature,) = signatures.values()
    if signature is not None and dtype is not None:
        raise WouldRaise("cannot specify both 'signature' and 'dtype'")
    return loop_signature(ufunc, signature)


# The table


def ufunc_spellings(function: ScalarFunction) -> list[Spelling]:
    """Return a ufunc and the operators that run it."""
    assert function.ufunc is not None
    sampler = {1: example.unary, 2: example.binary}.get(function.nin, example.of_any_arity)
    call_spelling = Spelling(function.ufunc, partial(ufunc_call, function), sampler)
    return [call_spelling, *operator_spellings(function)]


for _function in SCALAR_FUNCTIONS.values():
    table.define(_function.name, ufunc_spellings(_function), ulp=_function.ulp)
