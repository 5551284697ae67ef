"""The places of a state that hold values: locals, the stack, and what is in objects made in the frame.

It reads and writes them; what merged values are is said by ``merging``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import NamedTuple

from bcjit.records import dataclass, fields, replace
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.state import State
from bcjit.symbolic_vm.values import DictItem, SymCell, SymNew, SymObject, SymValue

__all__ = ["Place", "Places", "read_places", "with_places"]


class Place(NamedTuple):
    """Where a value is: a slot of the locals or the stack, or a key in an object."""

    kind: str  # local, stack, heap
    slot: int  # in the locals or on the stack; the object's number
    key: object = None

    @property
    def heap(self) -> bool:
        """Whether it is in an object."""
        return self.kind == "heap"

    @property
    def is_local(self) -> bool:
        """Whether it is a local."""
        return self.kind == "local"

    def text(self) -> str:
        """Return it in words."""
        return {"local": "locals", "stack": "values on the stack", "heap": "contents of an object"}[
            self.kind
        ]


@dataclass(slots=True)
class Places:
    """The values of a state by place, and what objects are beside the values they hold."""

    values: dict[Place, SymValue] = field(default_factory=dict)
    shapes: dict[int, object] = field(default_factory=dict)


def read_places(vm: Machine, state: State) -> Places:
    """Return the values of a state, those of objects that it can reach included."""
    found = Places()
    for slot, value in enumerate(state.locals):
        found.values[Place("local", slot)] = value
    for slot, value in enumerate(state.stack):
        found.values[Place("stack", slot)] = value
    initial = _initial_contents(state)
    for oid in dict.fromkeys([*initial, *state.heap]):
        contents = state.heap.get(oid, initial.get(oid))
        values, shape = _taken_apart(contents)
        found.shapes[oid] = shape
        for key, value in values.items():
            found.values[Place("heap", oid, key)] = value
    return found


def _taken_apart(contents: object) -> tuple[dict[object, SymValue], object]:
    """Return the values in what an object holds, and the rest, which can be compared."""
    if isinstance(contents, SymValue):
        return {None: contents}, "cell"
    if isinstance(contents, dict) and all(isinstance(v, SymValue) for v in contents.values()):
        return dict(contents), ("attributes", tuple(contents))
    if type(contents) is tuple and all(isinstance(item, SymValue) for item in contents):
        return dict(enumerate(contents)), ("items", len(contents))
    if (
        type(contents) is tuple
        and contents
        and all(isinstance(item, DictItem) for item in contents)
    ):
        return {item.key: item.value for item in contents}, (
            "dict",
            tuple(item.key for item in contents),
        )
    return {}, ("other", contents)


def with_places(state: State, values: Mapping[Place, SymValue]) -> State:
    """Return the state with other values at some places."""
    variables, stack, heap = list(state.locals), list(state.stack), dict(state.heap)
    initial: dict[int, object] | None = None
    for place, value in values.items():
        if place.kind == "local":
            variables[place.slot] = value
        elif place.kind == "stack":
            stack[place.slot] = value
        else:
            if place.slot not in heap:
                initial = _initial_contents(state) if initial is None else initial
                heap[place.slot] = initial[place.slot]
            heap[place.slot] = _with_item(heap[place.slot], place.key, value)
    return replace(state, locals=tuple(variables), stack=tuple(stack), heap=heap)


def _with_item(contents: object, key: object, value: SymValue) -> object:
    if isinstance(contents, SymValue):
        return value
    if isinstance(contents, dict):
        return {**contents, key: value}
    assert type(contents) is tuple
    if contents and isinstance(contents[0], DictItem):
        return tuple(item._replace(value=value) if item.key == key else item for item in contents)
    assert isinstance(key, int)
    return (*contents[:key], value, *contents[key + 1 :])


def _initial_contents(state: State) -> dict[int, object]:
    """Return what the mutable objects made in the frame that a state can reach held before they were changed, by number."""
    found: dict[int, object] = {}
    left: list[object] = [state.stack, state.locals, state.cells]
    while left:
        value = left.pop()
        if isinstance(value, SymObject | SymCell):
            if value.oid in found:
                continue
            if value.initial is not None:
                found[value.oid] = value.initial
            left += [value.initial, state.heap.get(value.oid)]
        elif isinstance(value, SymNew):
            if value.oid in found:
                continue
            found[value.oid] = {}
            left.append(state.heap.get(value.oid))
        elif isinstance(value, SymValue):
            left += [getattr(value, one.name) for one in fields(value) if one.name != "obj"]
        elif isinstance(value, dict):
            left += value.values()
        elif isinstance(value, tuple):
            left += value
    return found
