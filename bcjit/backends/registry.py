"""Backends by name; it calls them and checks what they return, and knows none of them.

A backend is any callable ``(graph, example_inputs) -> callable``; what it returns takes the graph's inputs in order
and returns the tuple of its outputs, and may have its text as attribute `source`, for logs and dumps, the number of its kernels as `kernels`, and of each the seconds as `compile_seconds` or `reload_seconds`. Other packages offer theirs in the entry-point group ``bcjit.backends``; such a
backend is imported when it is first asked for. How options reach a backend is in ``options``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

from bcjit.errors import ArgumentError, ArgumentTypeError, BackendError, BackendNotFoundError
from bcjit.fx_graph import Graph, is_generated
from bcjit.lazy import Later, Unreadable, load

if TYPE_CHECKING:
    import difflib
    from importlib.metadata import EntryPoint
else:
    # Only an unknown name needs it.
    difflib = Later("difflib")

__all__ = [
    "Backend", "add_builtin", "backend_name", "check_outputs", "checked", "get_backend", "list_backends",
    "register_backend", "run_backend",
]  # fmt: skip

CompiledGraph: TypeAlias = Callable[..., object]
Backend: TypeAlias = Callable[[Graph, Sequence[object]], CompiledGraph]

ENTRY_POINTS: Final = "bcjit.backends"


class _Metadata(Protocol):
    def entry_points(self, *, group: str) -> Sequence[EntryPoint]: ...


_builtin: Final[dict[str, Backend]] = {}
_registered: Final[dict[str, Backend]] = {}
_loaded: Final[dict[str, Backend]] = {}


def add_builtin(name: str, backend: Backend) -> None:
    """Register one of our own backends, under a name that users cannot take."""
    _builtin[name] = backend


def register_backend(name: str, backend: Backend) -> None:
    """Make a backend known under a name; an earlier one of this name is replaced.

    Parameters
    ----------
    name
        Any identifier but the names of the built-in backends.
    backend
        A callable ``(graph, example_inputs) -> callable``.

    Examples
    --------
    >>> from bcjit.backends import eager
    >>> def loud(graph, example_inputs):
    ...     return eager(graph, example_inputs)
    >>> register_backend("loud", loud)
    >>> "loud" in list_backends()
    True
    """
    _check_name(name)
    if not callable(backend):
        raise ArgumentTypeError(
            "backend: a callable (graph, example_inputs) -> callable is expected,"
            f" got {type(backend).__name__}: {backend!r}"
        )
    _registered[name] = backend


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise ArgumentTypeError(f"name: a string is expected, got {type(name).__name__}: {name!r}")
    if not name.isidentifier():
        raise ArgumentError(f"name: an identifier is expected (letters, digits, _), got {name!r}")
    if name in _builtin:
        raise ArgumentError(f"name: {name!r} is a built-in backend and stays so; take another name")


def list_backends() -> list[str]:
    """Return the names of all backends, sorted; those of other packages are named without importing them."""
    return sorted({*_builtin, *_registered, *_entry_points()})


def get_backend(backend: object) -> Backend:
    """Return the backend of a name; a callable is its own backend.

    Takes any object, because what users give is checked here.

    Raises
    ------
    BackendNotFoundError
        No backend has that name.
    ArgumentTypeError
        Neither a name nor a callable.
    BackendError
        Another package offers the name, but it cannot be imported, or is no callable.
    """
    if isinstance(backend, str):
        return _by_name(backend)
    if not callable(backend):
        raise ArgumentTypeError(
            f"backend: a name ({', '.join(list_backends())}) or a callable (graph, example_inputs) ->"
            f" callable is expected, got {type(backend).__name__}: {backend!r}"
        )
    return cast("Backend", backend)


def backend_name(backend: str | Backend) -> str:
    """Return a name for messages: the registered one, else the callable's own."""
    if isinstance(backend, str):
        return backend
    for table in (_registered, _builtin, _loaded):
        for name, known in table.items():
            if known is backend and name != "auto":
                return name
    return str(getattr(backend, "__qualname__", type(backend).__qualname__))


def run_backend(backend: Backend, graph: Graph, example_inputs: Sequence[object]) -> CompiledGraph:
    """Return the backend's callable for a graph; whatever goes wrong is a BackendError."""
    try:
        compiled: object = backend(graph, example_inputs)
    except (BackendError, RecursionError, MemoryError, Unreadable):
        raise  # all but the first say nothing about the backend, but about the stack, the memory or our own files
    except Exception as error:
        problem = f"raised {type(error).__name__}: {error}"
        raise BackendError(backend_name(backend), problem) from error
    if not callable(compiled):
        problem = f"returned {type(compiled).__name__} instead of a callable"
        raise BackendError(backend_name(backend), problem)
    return cast("CompiledGraph", compiled)


def check_outputs(backend: Backend, graph: Graph, outputs: object) -> tuple[object, ...]:
    """Return what a graph's callable returned, if it is a tuple with one value for each output of the graph."""
    wanted = len(graph.outputs)
    if type(outputs) is not tuple:
        problem = f"made a callable that returned {type(outputs).__name__} instead of a tuple"
        raise BackendError(backend_name(backend), problem)
    if len(outputs) != wanted:
        problem = f"made a callable that returned {len(outputs)} outputs instead of {wanted}"
        raise BackendError(backend_name(backend), problem)
    return outputs


def checked(backend: Backend, graph: Graph, function: CompiledGraph) -> CompiledGraph:
    """Return a backend's callable with its outputs checked; one that the graph itself made needs no check."""
    if is_generated(function):
        return function

    def call(*inputs: object) -> object:
        return check_outputs(backend, graph, function(*inputs))

    # Not functools.wraps: what failed must still be found to be the backend's own.
    call.__module__ = getattr(function, "__module__", None) or type(function).__module__
    # What logs and dumps show, and what benchmarks count; a function in C has no attributes, but what it is bound to may.
    for told in ("source", "kernels", "compile_seconds", "reload_seconds"):
        for teller in (function, getattr(function, "__self__", None)):
            if (value := getattr(teller, told, None)) is not None:
                call.__dict__[told] = value
    return call


def _by_name(name: str) -> Backend:
    for table in (_builtin, _registered, _loaded):
        if name in table:
            return table[name]
    entry = _entry_points().get(name)
    if entry is None:
        known = tuple(list_backends())
        raise BackendNotFoundError(name, known, tuple(difflib.get_close_matches(name, known)))
    try:
        backend: object = entry.load()
    except Exception as error:
        problem = f"({entry.value}) cannot be imported: {type(error).__name__}: {error}"
        raise BackendError(name, problem) from error
    if not callable(backend):
        raise BackendError(name, f"({entry.value}) is {type(backend).__name__}, not a callable")
    return _loaded.setdefault(name, cast("Backend", backend))


def _entry_points() -> dict[str, EntryPoint]:
    # A third of the time that `import bcjit` may take, for programs that never ask: so not at import.
    metadata = cast("_Metadata", load("importlib.metadata"))
    return {entry.name: entry for entry in metadata.entry_points(group=ENTRY_POINTS)}
