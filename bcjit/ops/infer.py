"""Facts about one call of an op, found by running its expansion over metas; calls nothing.

`infer` is the only way in for the layers above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bcjit.dims import Relation, ShapeEnv, ShapeMismatch, Symbol, Undecidable
from bcjit.meta import ArrayMeta, Meta, ObjectMeta, ScalarMeta
from bcjit.ops.meta_emitter import Argument, MetaEmitter, MetaObject, MetaValue, Sharing
from bcjit.ops.numpy_facts import lacks
from bcjit.ops.opdef import Fact, OpDef, Spelling, Unsupported, WouldRaise, declared
from bcjit.records import dataclass

__all__ = ["Inferred", "infer"]


@dataclass(frozen=True, slots=True)
class Inferred:
    """What is known of a call before it is made."""

    # A tuple if the call returns a tuple or list; () if it returns None, or a fact.
    results: Meta | tuple[Meta, ...]
    # How each result relates to which argument: its position or keyword; None if fresh.
    shares: tuple[tuple[Sharing, Argument | None], ...]
    writes: tuple[Argument, ...]  # arguments whose elements are written
    can_fail: bool  # can raise, warn, or set a floating-point flag, for some values
    torn: (
        bool  # can do so after it has written: repeating the call is not the same as making it once
    )
    partial: bool = False  # can raise with only some of the elements written
    draws: bool = False  # advances a random stream, or makes one
    is_list: bool = False  # the call returns a list
    tuple_type: type[tuple[object, ...]] = tuple  # of a tuple of results: exact, or a named tuple's
    fact: Fact | None = None  # the result, of a call that gives no array
    one_array: bool = False  # all results of several are the same object
    # Sizes that depend on data, and the arguments whose elements that are not zero they count.
    sizes: tuple[tuple[Symbol, Argument], ...] = ()
    requires: tuple[Relation, ...] = ()  # what else must hold of such sizes, when the call is made

    rereads: bool = False  # what it writes is made of what was there

    @property
    def alias(self) -> Sharing:
        """How the first result relates to an argument."""
        return self.shares[0][0] if self.shares else "fresh"

    @property
    def view_of(self) -> Argument | None:
        """The argument that the first result relates to."""
        return self.shares[0][1] if self.shares else None


def infer(
    op: OpDef,
    target: Callable[..., object],
    args: Sequence[object],
    kwargs: Mapping[str, object],
    env: ShapeEnv,
) -> Inferred:
    """Return the facts about ``target(*args, **kwargs)``, one spelling of an op.

    Parameters
    ----------
    op, target
        As `lookup` or `lookup_method` gave them.
    args, kwargs
        ``ArrayMeta``, ``ScalarMeta``, ``ObjectMeta``, ``Expr``, constants, and tuples, lists and slices of those.
    env
        Decides relations between sizes; what it had to decide from hints is recorded there as facts.

    Raises
    ------
    Unsupported
        If the table does not describe this call, or a size that has no hint would have to be known.
    WouldRaise
        If NumPy raises.
    """
    emitter = MetaEmitter(env)
    spelling = op.spelling(target)
    try:
        positional = [emitter.argument(operand, i) for i, operand in enumerate(args)]
        named = {name: emitter.argument(operand, name) for name, operand in kwargs.items()}
        result = _expand(spelling, emitter, positional, named)
    except ShapeMismatch as error:
        raise WouldRaise(f"shapes {error}") from None
    except Undecidable as error:
        raise Unsupported(f"a size depends on data: {error}") from None
    return _facts(emitter, result)


def _expand(
    spelling: Spelling, emitter: MetaEmitter, args: Sequence[object], kwargs: dict[str, object]
) -> object:
    if any(lacks(spelling.target, name) for name in kwargs):
        raise Unsupported("arguments: a keyword that this NumPy does not have")
    try:
        bound = declared(spelling.expand).bind(emitter, *args, **kwargs)
    except TypeError as error:
        raise Unsupported(f"arguments: {error}") from None
    if (
        args
        and isinstance(args[0], MetaValue)
        and args[0].is_scalar
        and bound.arguments.get("out") is not None
        and not isinstance(spelling.target, np.ufunc)
    ):
        # Methods of NumPy scalars, and functions that call them, give a scalar then, not the array written.
        raise Unsupported("a NumPy scalar with out")
    return spelling.expand(*bound.args, **bound.kwargs)


def _facts(emitter: MetaEmitter, result: object) -> Inferred:
    if isinstance(result, tuple) and not result:  # ``np.atleast_1d()``: there is nothing to compute
        result = Fact(())
    values = result if isinstance(result, tuple | list) else (result,)
    if result is None or isinstance(result, Fact):
        values = ()
    if isinstance(result, Fact) and (emitter.can_fail or emitter.requires):
        # No call is made that could raise.
        raise Unsupported("whether this raises depends on data")
    metas: list[Meta] = []
    shares: list[tuple[Sharing, Argument | None]] = []
    for value in values:
        if isinstance(value, ScalarMeta):
            metas.append(value)
            shares.append(("fresh", None))
            continue
        if isinstance(value, MetaObject):
            metas.append(ObjectMeta(value.pytype))
            shares.append(("fresh" if value.origin is None else "same", value.origin))
            continue
        assert isinstance(value, MetaValue)
        metas.append(ArrayMeta(value.shape, value.dtype, value.is_scalar))
        fresh = value.sharing == "fresh" or value.is_scalar
        shares.append(("fresh", None) if fresh else (value.sharing, value.origin))
    return Inferred(
        results=metas[0]
        if isinstance(result, MetaValue | ScalarMeta | MetaObject)
        else tuple(metas),
        shares=tuple(shares),
        writes=tuple(emitter.writes),
        can_fail=emitter.can_fail,
        torn=emitter.torn,
        partial=emitter.partial,
        draws=emitter.draws,
        is_list=isinstance(result, list),
        fact=result if isinstance(result, Fact) else None,
        one_array=len(values) > 1 and all(value is values[0] for value in values),
        tuple_type=type(result) if isinstance(result, tuple) else tuple,
        sizes=tuple(emitter.sizes),
        requires=tuple(emitter.requires),
        rereads=any(place in emitter.reads for place in emitter.writes),
    )
