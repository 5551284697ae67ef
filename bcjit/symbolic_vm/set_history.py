"""A set made in the frame as what was done to it, so that its order is the real one.

The order of a set depends on its whole history. Items are constants of builtin types, which hash alike as long as the process
lives, so doing the same again, here or in residual code, gives the same set.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from bcjit.symbolic_vm.values import Known, SymValue

__all__ = ["SetStep", "items_in_order", "real_set"]


class SetStep(NamedTuple):
    """A method called on a set: `key` is the constant that `operand` stands for."""

    method: str
    key: object
    operand: SymValue


def real_set(steps: Iterable[object]) -> set[object]:
    """Return a set with this history."""
    made: set[object] = set()
    for step in steps:
        assert isinstance(step, SetStep)
        getattr(made, step.method)(step.key)
    return made


def items_in_order(steps: tuple[object, ...]) -> tuple[SymValue, ...]:
    """Return the items in the order in which the set gives them, each as it was put in."""
    spelled: dict[object, SymValue] = {}
    for step in steps:
        assert isinstance(step, SetStep)
        if step.method == "add":
            spelled.setdefault(step.key, step.operand)
        elif step.method == "discard":
            spelled.pop(step.key, None)
    return tuple(spelled.get(item, Known(None, item)) for item in real_set(steps))
