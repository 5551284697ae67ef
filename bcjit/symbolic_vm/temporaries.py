"""Which operands of a sum or product are temporaries: made by an expression, and held by nothing but the stack.

NumPy computes large results into them, so that which operands are some is part of what a program computes (`bcjit.fx_graph.elision`).
"""

from __future__ import annotations

from typing import cast

from bcjit.fx_graph import Node, NodeKind
from bcjit.guards import SourceKind
from bcjit.records import fields
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.values import Lazy, SymArray, SymValue

__all__ = ["note_temporaries"]


def note_temporaries(vm: Machine, result: SymValue, left: SymValue, right: SymValue) -> None:
    """Note at the node of a sum or product, just taken from the stack, which of its operands are temporaries."""
    if not isinstance(result, SymArray) or result.meta.is_scalar:
        return
    node = result.node
    if node.kind is not NodeKind.CALL or result.meta.dtype.kind not in "fc":
        return  # whole numbers are the same both ways
    same = isinstance(left, SymArray) and isinstance(right, SymArray) and left.node is right.node
    node.temporaries = (
        (False, False) if same else (_is_temporary(vm, left), _is_temporary(vm, right))
    )


def _is_temporary(vm: Machine, value: SymValue) -> bool:
    if not isinstance(value, SymArray) or value.meta.is_scalar:
        return False
    node = value.node
    if node.kind is NodeKind.INPUT:
        return _was_on_the_stack(value) and not _is_a_local(vm, node)
    return node.kind is NodeKind.CALL and node.alias == "fresh" and not _is_held(vm, node)


def _was_on_the_stack(value: SymArray) -> bool:
    """Whether an input was on the stack when the part before ended."""
    source = value.source
    if source is None or source.kind is not SourceKind.LOCAL:
        return False
    _, name = cast("tuple[int, str]", source.key)
    return name.startswith(".s")


def _is_a_local(vm: Machine, node: Node) -> bool:
    """Whether a variable holds what an input is; that of one part's values some are one object is the same in each call."""
    obj = vm.input_values[node]
    for value in vm.state.locals:
        if isinstance(value, Lazy):
            held = value.obj
        else:
            held = vm.input_values.get(value.node) if isinstance(value, SymArray) else None
        if held is obj:
            return True
    return False


def _is_held(vm: Machine, node: Node) -> bool:
    """Whether a variable, something on the stack or an object of any frame holds what a node gives."""
    states = [vm.state, *(position.state for position in vm.positions[:-1])]
    left: list[object] = [part for state in states for part in (state.locals, state.stack)]
    left += vm.state.heap.values()
    seen: set[int] = set()
    while left:
        value = left.pop()
        if isinstance(value, SymArray):
            if value.node is node:
                return True
        elif isinstance(value, tuple):
            left += value
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, SymValue) and id(value) not in seen:
            seen.add(id(value))
            left += [getattr(value, field.name) for field in fields(value) if field.name != "obj"]
    return False
