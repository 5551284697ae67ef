"""The backends that are read when they are first needed, and the one that chooses among them."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from bcjit.backends.eager import eager
from bcjit.lazy import Later
from bcjit.logs import get_logger, once

if TYPE_CHECKING:
    from bcjit.backends.native import backend as native_backend
    from bcjit.backends.registry import CompiledGraph
    from bcjit.fx_graph import Graph
else:
    native_backend = Later("bcjit.backends.native.backend")

__all__ = ["auto", "has_llvm", "native"]


@cache
def has_llvm() -> bool:
    """Whether llvmlite is installed, which the native backend needs."""
    return importlib.util.find_spec("llvmlite") is not None


def native(graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
    """Return the graph's function, groups of its calls compiled to machine code (extra ``native``)."""
    return native_backend.NATIVE(graph, example_inputs)


def auto(graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
    """Return what the fastest backend that is installed makes of a graph."""
    if has_llvm():
        try:
            return native(graph, example_inputs)
        except RecursionError:
            raise  # of the program's depth, not of llvmlite
        except (ImportError, OSError, RuntimeError) as error:
            # An llvmlite that cannot be used here is as good as none.
            message = f"backend 'native' is not used: {type(error).__name__}: {error}"
            once(get_logger("kernels"), "native", message)
            has_llvm.cache_clear()
    return eager(graph, example_inputs)


native.__dict__["optimizes"] = True
auto.__dict__["optimizes"] = True
