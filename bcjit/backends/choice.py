"""The backends that are read when they are first needed, and the one that chooses among them."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Final

from bcjit.backends.eager import eager
from bcjit.backends.options import check_options
from bcjit.config import config
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


# What the native backend has; it need not be read to say so.
_OPTIONS: Final = {"fast": bool}


def native(graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
    """Return the graph's function, groups of its calls compiled to machine code (extra ``native``)."""
    return _native(graph, example_inputs, fast=False)


def auto(graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
    """Return what the fastest backend that is installed makes of a graph."""
    return _auto(graph, example_inputs, fast=False)


def _native(graph: Graph, example_inputs: Sequence[object], *, fast: bool) -> CompiledGraph:
    if not has_llvm():
        raise ImportError("it needs llvmlite, which extra native brings (pip install llvmlite)")
    return _compiled(graph, example_inputs, fast=fast)


def _auto(graph: Graph, example_inputs: Sequence[object], *, fast: bool) -> CompiledGraph:
    if has_llvm():
        return _compiled(graph, example_inputs, fast=fast)
    if fast:
        message = "option 'fast' is for backend 'native', which needs llvmlite: NumPy computes"
        once(get_logger("kernels"), "fast", message)
    return eager(graph, example_inputs)


def _compiled(graph: Graph, example_inputs: Sequence[object], *, fast: bool) -> CompiledGraph:
    """Return what `native` makes of a graph; what `eager` does where that fails, which is no reason to stop a program."""
    try:
        backend = native_backend.FAST if fast else native_backend.NATIVE
        return backend(graph, example_inputs)
    except (RecursionError, MemoryError):
        raise  # of the program's depth, of its size
    except Exception as error:
        # An llvmlite that cannot be used here is as good as none.
        if config.strict or not _is_ours(error):
            raise
        message = f"backend 'native' is not used: {type(error).__name__}: {error}"
        once(get_logger("kernels"), ("native", type(error)), message)
        return eager(graph, example_inputs)


def _is_ours(error: BaseException) -> bool:
    """Whether an exception was raised by what makes kernels, not by a signal's handler of the program that came in the middle of it."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    module = "" if traceback is None else str(traceback.tb_frame.f_globals.get("__name__"))
    return module.partition(".")[0] in {"bcjit", "llvmlite", "numpy", "ctypes", "importlib"}


class _WithOptions:
    """One of these backends with options: each heeds those of `native`."""

    optimizes = True

    def __init__(self, name: str, options: Mapping[str, object]) -> None:
        check_options(name, options, _OPTIONS)
        self.__qualname__ = name
        self.fast = bool(options.get("fast"))

    def __call__(self, graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
        """As the backend of the name."""
        chosen = _native if self.__qualname__ == "native" else _auto
        return chosen(graph, example_inputs, fast=self.fast)


for _backend in (native, auto):
    _backend.__dict__["optimizes"] = True
    _backend.__dict__["with_options"] = partial(_WithOptions, _backend.__name__)
