"""Captures for the tests of the symbolic interpreter: values of a call in part order, and pictures of what a machine holds.

A picture is plain data: two captures are the same if their pictures are equal. Nothing here judges.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from types import FunctionType
from typing import Any

import pytest

from bcjit.dims import Expr, Symbol
from bcjit.fx_graph import Node
from bcjit.guards import Source
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.symbolic_vm import Capture, PartSpec, Settings, capture
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.state import Position, State
from bcjit.symbolic_vm.values import (
    Appended,
    Changes,
    DictItem,
    Lazy,
    SymCell,
    SymInstance,
    SymNew,
    SymObject,
    SymValue,
)

DOOR = importlib.import_module(
    "bcjit.symbolic_vm.capture"
)  # the package's `capture` is the function


def values_of(fn: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the values of a function's first part for one call."""
    bound = inspect.signature(fn).bind(*args, **kwargs)
    bound.apply_defaults()
    code = fn.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[: count + bool(code.co_flags & 4) + bool(code.co_flags & 8)]
    return tuple(bound.arguments[name] for name in names)


def capture_call(fn: FunctionType, *args: Any, **kwargs: Any) -> Capture:
    """Capture the first part of a function for one call."""
    return capture(fn, None, values_of(fn, args, kwargs), PartSpec(fn.__code__), Settings())


@contextmanager
def machines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, object]]]:
    """Collect a picture of each machine at the end of its capture."""
    found: list[dict[str, object]] = []
    close = Machine.close

    def remembering(self: Machine) -> None:
        found.append(machine_picture(self))
        close(self)

    with monkeypatch.context() as patch:
        patch.setattr(Machine, "close", remembering)
        yield found


def machine_picture(vm: Machine) -> dict[str, object]:
    """Return all that a machine has recorded, save its counters of identities and steps."""
    painter = Painter()
    return {
        "graph": vm.graph.text(),
        "symbols of the graph": painter.paint(list(vm.graph.symbols.items())),
        "names": vm.graph.mark().names,
        "guards": list(vm.guards),
        "known guards": len(vm._guarded),
        "facts": [str(fact) for fact in vm.env.facts],
        "fact lines": list(vm.fact_lines),
        "symbols": [str(symbol) for symbol in vm.env.symbols],
        "journal": len(vm._journal),
        "realized": [(source, painter.paint(value)) for source, value in vm._realized.items()],
        "cells": [painter.paint(cell) for cell in vm._cells.values()],
        "inputs": [(node.name, source) for node, source in vm.input_sources.items()],
        "symbol sources": [(str(s), source) for s, source in vm.symbol_sources.items()],
        "records": [(n.name, painter.paint(record)) for n, record in vm.records.items()],
        "written cell": [cell.source for cell in vm.outside_cells_written],
    }


class Painter:
    """Turns symbolic values into plain data; objects made in the frame are numbered as they are met."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._heap: Any = {}

    def number(self, oid: int) -> int:
        return self._numbers.setdefault(oid, len(self._numbers))

    def paint(self, value: object) -> object:
        if isinstance(value, State):
            heap, self._heap = self._heap, value.heap
            found = (
                value.index,
                self.paint(value.stack),
                self.paint(value.locals),
                self.paint(value.cells),
                self.paint(
                    [(e.kind, e.node, e.owner, repr(e.key), e.operands) for e in value.effects]
                ),
                len(value.heap),
            )
            self._heap = heap
            return found
        if isinstance(value, Position):
            return value.frame.qualname, self.paint(value.state)
        if isinstance(value, Node):
            return value.name
        if isinstance(value, Source | Symbol | Expr | ArrayMeta | ScalarMeta):
            return value
        if isinstance(value, Lazy):
            return "Lazy", value.source, id(value.obj)
        if isinstance(value, SymObject | SymCell | SymNew | SymInstance):
            known = value.oid in self._numbers
            number = self.number(value.oid)
            held = self._heap.get(value.oid, getattr(value, "initial", None))
            return type(value).__name__, value.source, number, None if known else self.paint(held)
        if isinstance(value, SymValue):
            return (
                type(value).__name__,
                *(self.paint(getattr(value, f.name)) for f in fields(value) if f.name != "obj"),
            )
        if isinstance(value, DictItem):
            return "item", repr(value.key), self.paint(value.value), self.paint(value.spelled)
        if isinstance(value, Appended | Changes):
            return type(value).__name__, self.paint(value.items)
        if isinstance(value, dict):  # attributes
            return "attributes", [(name, self.paint(held)) for name, held in value.items()]
        if isinstance(value, tuple | list):
            return [self.paint(item) for item in value]
        if isinstance(value, str | bytes | int | float | complex | None):
            return type(value), repr(value)
        return "object", id(value)
