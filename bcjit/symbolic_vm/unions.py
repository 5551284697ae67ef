"""Operations on numbers whose kind depends on data: each kind is tried, and what all of them give is the result."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Final

import bcjit.symbolic_vm.break_reasons as because
from bcjit.meta import ArrayMeta, Meta, ScalarMeta, UnionMeta
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.values import Known, SymArray, SymScalar, SymUnion, SymValue

__all__ = ["has_union", "over_kinds"]

_MOST_TRIALS: Final = 9


def has_union(values: Sequence[SymValue]) -> bool:
    """Whether the kind of one of some values depends on data."""
    return any(isinstance(value, SymUnion) for value in values)


def over_kinds(
    vm: Machine, values: Sequence[SymValue], compute: Callable[[list[SymValue]], SymValue]
) -> SymValue:
    """Return what an operation gives for values of several kinds.

    `compute` is called with each combination of kinds, and what it recorded is kept for the last one: the same call of the
    same nodes for all of them, so that at run time it does what is right for the kind there is.
    """
    choices = [_kinds(vm, value) for value in values]
    combinations = list(itertools.product(*choices))
    if len(combinations) > _MOST_TRIALS:
        break_graph(because.NO_RULE, "numbers of too many kinds")
    metas: list[Meta | None] = []
    can_fail = False
    targets: set[object] = set()
    for combination in combinations[:-1]:
        mark = vm.mark()
        value = compute(list(combination))
        metas.append(_meta(value))
        nodes = vm.graph.nodes[mark.graphs[-1].nodes :]
        can_fail |= any(node.can_fail for node in nodes)
        targets |= {node.target for node in nodes[-1:]}
        vm.truncate(mark)
    count = len(vm.graph.nodes)
    value = compute(list(combinations[-1]))
    metas.append(_meta(value))
    made = vm.graph.nodes[count:]
    targets |= {node.target for node in made[-1:]}
    if len(targets) > 1 or not made:
        break_graph(because.NO_RULE, "a number whose kind depends on data")
    for node in made:
        node.can_fail = node.can_fail or can_fail
    # What one kind gives may itself be of several: of max(), where data decide.
    found = tuple(
        dict.fromkeys(k for m in metas for k in (m.kinds if isinstance(m, UnionMeta) else (m,)))
    )
    if len(found) == 1:
        return value
    if None in found or any(isinstance(m, ArrayMeta) and not m.is_scalar for m in found):
        break_graph(because.NO_RULE, "a result whose dtype depends on data")
    node = made[-1]
    kinds = UnionMeta(tuple(meta for meta in found if meta is not None)).kinds
    node.meta = (UnionMeta(kinds),)
    for symbol in [s for s, read in vm.graph.symbols.items() if read == (node, None)]:
        del vm.graph.symbols[symbol]  # it was an int for the last of the kinds only
    return SymUnion(None, node, kinds)


def _kinds(vm: Machine, value: SymValue) -> list[SymValue]:
    if not isinstance(value, SymUnion):
        return [value]
    return [_as_kind(vm, value, kind) for kind in value.kinds]


def _as_kind(vm: Machine, value: SymUnion, kind: Meta) -> SymValue:
    if isinstance(kind, ArrayMeta):
        return SymArray(None, value.node, kind)
    assert isinstance(kind, ScalarMeta)
    # An int is no formula here: what is computed of it must be a node, as for the other kinds.
    return SymScalar(None, kind.pytype, value.node)


def _meta(value: SymValue) -> Meta | None:
    if isinstance(value, SymArray):
        return value.meta
    if isinstance(value, SymScalar):
        return ScalarMeta(value.pytype)
    if isinstance(value, SymUnion):
        return UnionMeta(value.kinds)
    if isinstance(value, Known) and value.value is None:
        return None
    return break_graph(because.NO_RULE, "a number whose kind depends on data")
