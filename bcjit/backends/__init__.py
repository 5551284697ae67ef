"""Backends: a graph and example inputs in, a callable out; they must not know how graphs are captured."""

from typing import Final

from bcjit.backends import choice
from bcjit.backends.eager import eager
from bcjit.backends.fused import Fused, fused
from bcjit.backends.options import NO_OPTIONS, check_options, options_text, with_options
from bcjit.backends.print_backend import PrintBackend
from bcjit.backends.registry import (
    Backend,
    CompiledGraph,
    add_builtin,
    backend_name,
    check_outputs,
    checked,
    get_backend,
    list_backends,
    register_backend,
    run_backend,
)

__all__ = [
    "BUILTIN",
    "NO_OPTIONS",
    "Backend",
    "CompiledGraph",
    "Fused",
    "PrintBackend",
    "backend_name",
    "check_options",
    "check_outputs",
    "checked",
    "eager",
    "fused",
    "get_backend",
    "list_backends",
    "options_text",
    "register_backend",
    "run_backend",
    "with_options",
]

BUILTIN: Final[dict[str, Backend]] = {
    "auto": choice.auto, "eager": eager, "fused": fused, "native": choice.native,
    "print": PrintBackend(),
}  # fmt: skip

for _name, _backend in BUILTIN.items():
    add_builtin(_name, _backend)
