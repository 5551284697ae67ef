"""The backends that are read when they are first needed, and the one that chooses among them."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from bcjit.backends.eager import eager
from bcjit.backends.options import check_options
from bcjit.lazy import Later
from bcjit.logs import get_logger, once

if TYPE_CHECKING:
    from bcjit.backends.native import backend as native_backend
    from bcjit.backends.registry import Backend, CompiledGraph
    from bcjit.fx_graph import Graph
else:
    native_backend = Later("bcjit.backends.native.backend")

__all__ = ["auto", "has_llvm", "native"]


@cache
def has_llvm() -> bool:
    """Whether llvmlite is installed, which the native backend needs."""
    return importlib.util.find_spec("llvmlite") is not None


# What the native backend has; it need not be read to say so.
_OPTIONS: Final = {"fast": bool}


def native(graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
    """Return the graph's function, groups of its calls compiled to machine code (extra ``native``)."""
    return native_backend.NATIVE(graph, example_inputs)


def auto(graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
    """Return what the fastest backend that is installed makes of a graph."""
    made = _if_it_can(native, graph, example_inputs)
    return eager(graph, example_inputs) if made is None else made


def _if_it_can(
    backend: Backend, graph: Graph, example_inputs: Sequence[object]
) -> CompiledGraph | None:
    """Return what the native backend makes of a graph, None where it cannot be used."""
    if has_llvm():
        try:
            return backend(graph, example_inputs)
        except RecursionError:
            raise  # of the program's depth, not of llvmlite
        except (ImportError, OSError, RuntimeError) as error:
            # An llvmlite that cannot be used here is as good as none.
            message = f"backend 'native' is not used: {type(error).__name__}: {error}"
            once(get_logger("kernels"), "native", message)
            has_llvm.cache_clear()
    return None


class _WithOptions:
    """One of these backends with options: each heeds those of `native`."""

    optimizes = True

    def __init__(self, name: str, options: Mapping[str, object]) -> None:
        check_options(name, options, _OPTIONS)
        self.__qualname__ = name
        self.fast = bool(options.get("fast"))

    def native(self, graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
        """As `native`."""
        chosen = native_backend.FAST if self.fast else native_backend.NATIVE
        return chosen(graph, example_inputs)

    def __call__(self, graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
        """As the backend of the name."""
        if self.__qualname__ == "native":
            return self.native(graph, example_inputs)
        made = _if_it_can(self.native, graph, example_inputs)
        if made is not None:
            return made
        if self.fast:
            message = "option 'fast' is for backend 'native', which needs llvmlite: NumPy computes"
            once(get_logger("kernels"), "fast", message)
        return eager(graph, example_inputs)


for _backend in (native, auto):
    _backend.__dict__["optimizes"] = True
    _backend.__dict__["with_options"] = partial(_WithOptions, _backend.__name__)
