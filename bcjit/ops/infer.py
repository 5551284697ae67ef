"""Facts about one call of an op, found by running its expansion over metas; calls nothing.

`infer` is the only way in for the layers above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bcjit.dims import ShapeEnv, ShapeMismatch, Undecidable
from bcjit.meta import ArrayMeta, Meta, ScalarMeta
from bcjit.ops.meta_emitter import Argument, MetaEmitter, MetaValue, Sharing
from bcjit.ops.opdef import OpDef, Spelling, Unsupported, WouldRaise, declared
from bcjit.records import dataclass

__all__ = ["Inferred", "infer"]


@dataclass(frozen=True, slots=True)
class Inferred:
    """What is known of a call before it is made."""

    results: Meta | tuple[Meta, ...]  # a tuple if the call returns a tuple; () if it returns None
    alias: Sharing  # how every result relates to the argument view_of
    view_of: Argument | None  # position or keyword of that argument; None if fresh
    writes: tuple[Argument, ...]  # arguments whose elements are written
    can_fail: bool  # can raise, warn, or set a floating-point flag, for some values
    torn: (
        bool  # can do so after it has written: repeating the call is not the same as making it once
    )
    tuple_type: type[tuple[object, ...]] = tuple  # of a tuple of results: exact, or a named tuple's


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
        ``ArrayMeta``, ``ScalarMeta``, ``Expr``, constants, and tuples, lists and slices of those.
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
    try:
        bound = declared(spelling.expand).bind(emitter, *args, **kwargs)
    except TypeError as error:
        raise Unsupported(f"arguments: {error}") from None
    return spelling.expand(*bound.args, **bound.kwargs)


def _facts(emitter: MetaEmitter, result: object) -> Inferred:
    values = result if isinstance(result, tuple) else (result,)
    if result is None:
        values = ()
    metas: list[Meta] = []
    shared: set[tuple[Sharing, Argument | None]] = set()
    for value in values:
        if isinstance(value, ScalarMeta):
            metas.append(value)
            shared.add(("fresh", None))
            continue
        assert isinstance(value, MetaValue)
        metas.append(ArrayMeta(value.shape, value.dtype, value.is_scalar))
        fresh = value.sharing == "fresh" or value.is_scalar
        shared.add(("fresh", None) if fresh else (value.sharing, value.origin))
    if len(shared) > 1:
        raise Unsupported("results share memory with different arguments")
    alias, view_of = next(iter(shared), ("fresh", None))
    return Inferred(
        results=metas[0] if isinstance(result, MetaValue | ScalarMeta) else tuple(metas),
        alias=alias,
        view_of=view_of,
        writes=tuple(emitter.writes),
        can_fail=emitter.can_fail,
        torn=emitter.torn,
        tuple_type=type(result) if isinstance(result, tuple) else tuple,
    )
