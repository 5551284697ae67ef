"""Which objects were changed, and which places hold one object; it guards nothing itself."""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import bcjit.symbolic_vm.break_reasons as because
from bcjit.guards import Source, SourceKind, own_dict
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.state import Effect, State
from bcjit.symbolic_vm.values import SymCell, SymInstance, SymObject, SymValue

__all__ = ["Changed", "SameObject", "holds_root", "relation"]


class SameObject(NamedTuple):
    """Whether two places hold one object."""

    left: Source
    right: Source
    same: bool


class Changed:
    """The objects from outside that a log of effects changes, each place once; a longer log is only read on."""

    def __init__(self) -> None:
        self._log: tuple[Effect, ...] = ()
        self._owners: tuple[SymValue, ...] = ()

    def of(self, log: tuple[Effect, ...]) -> tuple[SymValue, ...]:
        """Return the owners of a log's effects, in order."""
        if self._log is log:
            return self._owners
        seen, owners = len(self._log), self._owners
        if seen > len(log) or (seen and log[seen - 1] is not self._log[-1]):
            seen, owners = 0, ()
        for effect in log[seen:]:
            owner = effect.owner
            if owner is None or owner.source is None or isinstance(owner, SymCell):
                continue
            if all(owner.source != known.source for known in owners):
                owners = (*owners, owner)
        self._log, self._owners = log, owners
        return owners


def relation(value: SymValue, other: SymValue) -> SameObject | None:
    """Say whether two values from outside are one object; None where their types rule it out.

    Raises
    ------
    GraphBreak
        If one is the dict that holds the other's attributes.
    """
    if not isinstance(value, SymObject | SymInstance) or not isinstance(
        other, SymObject | SymInstance
    ):
        return None
    assert value.source is not None
    assert other.source is not None
    if value.pytype is other.pytype:
        return SameObject(value.source, other.source, value.obj is other.obj)
    if value.pytype is dict:
        return _namespace(value, value.source, other, other.source)
    if other.pytype is dict:
        return _namespace(other, other.source, value, value.source)
    return None


def _namespace(
    namespace: SymObject | SymInstance,
    place: Source,
    value: SymObject | SymInstance,
    owner: Source,
) -> SameObject | None:
    attributes = own_dict(value.obj)
    if attributes is None or type(value.obj) is ModuleType:
        return None
    if attributes is namespace.obj:
        break_graph(because.OUTSIDE_WRITE, "an object's attributes and its __dict__")
    return SameObject(place, Source(SourceKind.MEMBER, "dict", owner), same=False)


def holds_root(state: State, place: int) -> bool:
    """Whether a frame still has the value that was the part's at this place."""
    values = (*state.stack, *state.locals, *(c.initial for c in state.cells if c is not None))
    return any(
        value.source is not None
        and value.source.kind is SourceKind.LOCAL
        and value.source.key[0] == place  # type: ignore[index]
        for value in values
    )
