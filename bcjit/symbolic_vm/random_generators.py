"""Random generators as values: opaque operands of the graph, whose methods are found and which are never drawn from here."""

from __future__ import annotations

import sys
from typing import Final, TypeGuard

from bcjit.fx_graph import Node
from bcjit.meta import ObjectMeta
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.realize import input_name
from bcjit.symbolic_vm.values import Known, SymInstance, SymMethod, SymRandom, SymValue

__all__ = ["generator_method", "generator_node", "is_generator"]

_NAMES: Final = frozenset(
    {
        "Generator",
        "RandomState",
        "SeedSequence",
        "MT19937",
        "PCG64",
        "PCG64DXSM",
        "Philox",
        "SFC64",
    }
)

_IMMUTABLE: Final = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def is_generator(value: SymValue) -> TypeGuard[SymInstance | SymRandom]:
    """Whether a value is a random generator, or what one is made of, of exactly a class of NumPy's."""
    if isinstance(value, SymRandom):
        return True
    if not isinstance(value, SymInstance) or value.source is None:
        return False
    module = sys.modules.get("numpy.random")  # NumPy imports it when it is first used
    if module is None or type(value.pytype) is not type:
        return False
    name = type.__dict__["__name__"].__get__(value.pytype)
    return name in _NAMES and vars(module).get(name) is value.pytype


def generator_node(vm: Machine, value: SymInstance | SymRandom) -> Node:
    """Return the node of a generator: an input for one from outside."""
    if isinstance(value, SymRandom):
        return value.node
    source = value.source
    assert source is not None
    for node, known in vm.input_sources.items():
        if known == source and isinstance(node.meta[0], ObjectMeta):
            return node
    return vm.graph_input(input_name(source), ObjectMeta(value.pytype), source, value.obj)


def generator_method(value: SymInstance | SymRandom, name: str) -> SymMethod | None:
    """Return ``generator.name`` if it is a method of its class, which is guarded and cannot be changed."""
    if not value.pytype.__flags__ & _IMMUTABLE:
        return None
    raw = vars(value.pytype).get(name)
    if type(raw).__name__ != "cython_function_or_method":
        return None
    return SymMethod(None, value, Known(None, raw))
