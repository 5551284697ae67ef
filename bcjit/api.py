"""What users call: argument checks and the Python half of a compiled function; everything else is below.

A compiled function is a C callable (`bcjit._core.Dispatcher`) with the methods of `CompiledFunction`. Where nothing can be compiled (an unknown
Python, ``BCJIT_DISABLE=1``, something that is not a Python function) `compile` returns a `PlainFunction`, which has the same methods.
"""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, cast, overload

from bcjit import backends
from bcjit.config import config
from bcjit.errors import ArgumentError, ArgumentTypeError
from bcjit.frame_hook import may_compile_callee, report_once, why_unsupported
from bcjit.logs import forget_once

if TYPE_CHECKING:
    from bcjit.code_cache import CodeCache
    from bcjit.fx_graph import Graph

_UNSUPPORTED: Final = why_unsupported()
if _UNSUPPORTED is None or TYPE_CHECKING:
    from bcjit import _core
    from bcjit.compiler import (
        Explanation,
        FunctionCompiler,
        RecompileReport,
        explanation_of,
        graphs_of,
        install_error_state,
        install_foreign_test,
        report_of,
    )
    from bcjit.symbolic_vm import Settings, mark, refusal

    _Base: type = _core.Dispatcher
else:
    _Base = object

__all__ = [
    "CompiledFunction",
    "PlainFunction",
    "compile",
    "disable",
    "explain",
    "graph_break",
    "reset",
]

P = ParamSpec("P")
R = TypeVar("R")
_live: Final[weakref.WeakSet[CompiledFunction]] = weakref.WeakSet()


def _close(compiler: weakref.ref[FunctionCompiler]) -> None:
    found = compiler()
    if found is not None:
        found.close()


class PlainFunction:
    """A function that runs as it is, with the methods of a compiled one; `reason` says why it is not compiled."""

    def __init__(self, fn: Callable[..., Any], reason: str) -> None:
        self.reason = reason
        functools.update_wrapper(self, fn)
        self.__wrapped__ = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind like a function."""
        return self if instance is None else types.MethodType(self, instance)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """Nothing is captured."""
        return ()

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Call the function and return the sentence that says why nothing was captured."""
        self.__wrapped__(*args, **kwargs)
        return self.report()

    def report(self) -> str:
        """Return the sentence that says why nothing is captured."""
        name = getattr(self.__wrapped__, "__qualname__", None) or type(self.__wrapped__).__name__
        return f"{name} runs as plain Python: {self.reason}"

    def reset(self) -> None:
        """There is nothing to forget."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if (
                name == "__annotations__"
            ):  # not copied from 3.14 on, where asking for them may run code
                return self.__wrapped__.__annotations__
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<bcjit plain {self.__wrapped__!r}>"


class CompiledFunction(_Base):  # type: ignore[misc]  # object where the extension is missing
    """A function compiled by `compile`: call it like the function it was made from.

    Attributes
    ----------
    __wrapped__
        The plain function.
    graphs
        The graphs captured so far.
    """

    def __init__(self, fn: types.FunctionType, compiler: FunctionCompiler) -> None:
        super().__init__(fn, compiler.first)
        functools.update_wrapper(self, fn)
        self._compiler = compiler
        _live.add(self)
        # Weakly: what the registry of finalizers holds is not garbage in the same collection as this function.
        weakref.finalize(self, _close, weakref.ref(compiler)).atexit = False

    @property
    def _caches(self) -> list[CodeCache]:
        return self._compiler.caches()

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs captured so far, those of functions it calls included."""
        return graphs_of(self._caches)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Call the plain function's code once, freshly compiled, and say what was captured and why.

        The call is a real one: what the function changes or prints happens. What this compiled function has cached is
        neither used nor changed.

        Parameters
        ----------
        *args, **kwargs
            Arguments of the function.

        Returns
        -------
        Explanation
            ``str()`` of it is for people, ``as_dict()`` for programs, ``result`` is what the call returned.
        """
        fresh = self._compiler.fresh()
        call = _core.Dispatcher(self.fn, fresh.first)
        try:
            result = call(*args, **kwargs)
            return explanation_of(self.__qualname__, fresh.caches(), result)
        finally:
            del call

    def report(self) -> RecompileReport:
        """Return compiled variants with their hits, and for every recompilation the guard that failed."""
        return report_of(self.__qualname__, self._caches)

    def reset(self) -> None:
        """Forget everything compiled; the next call captures anew."""
        self._compiler.reset()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if (
                name == "__annotations__"
            ):  # not copied from 3.14 on, where asking for them may run code
                return self.__wrapped__.__annotations__
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<bcjit compiled {self.__wrapped__!r}>"

    def __reduce__(self) -> str:
        """Pickle by reference, as functions are."""
        return cast("str", self.__qualname__)

    def __copy__(self) -> CompiledFunction:
        """Functions are not copied."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> CompiledFunction:
        """Functions are not copied."""
        return self


if _UNSUPPORTED is None:
    _core.enable_vectorcall(CompiledFunction)


@overload
def compile(  # noqa: A001 - the name users know
    fn: Callable[P, R],
    *,
    backend: str | backends.Backend = ...,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    options: Mapping[str, object] | None = ...,
) -> Callable[P, R]: ...
@overload
def compile(  # noqa: A001 - the name users know
    fn: None = None,
    *,
    backend: str | backends.Backend = ...,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    options: Mapping[str, object] | None = ...,
) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def compile(  # noqa: A001 - the name users know
    fn: Callable[..., Any] | None = None,
    *,
    backend: str | backends.Backend = "auto",
    fullgraph: bool = False,
    dynamic: bool | None = None,
    options: Mapping[str, object] | None = None,
) -> Any:
    """Make a function faster without changing what it does; also a decorator.

    Nothing is compiled here: each part is captured when it is first reached with given kinds of arguments.

    Parameters
    ----------
    fn
        A Python function or method, also in a ``staticmethod`` or ``classmethod``. Other callables run as they are, a
        class is returned unchanged. None: return a decorator.
    backend
        A registered name (see `list_backends`) or a callable ``(graph, example_inputs) -> callable``.
    fullgraph
        Raise `GraphBreakError` where the graph would have to be split.
    dynamic
        None and True: sizes and Python numbers are symbolic. False: each size and number is compiled for.
    options
        Options of the backend; none has any yet.

    Returns
    -------
    CompiledFunction
        Or a `PlainFunction` where nothing can be compiled.

    Raises
    ------
    ArgumentTypeError
        `fn` is not callable, or another argument is of the wrong type.
    BackendNotFoundError
        No backend has the name.

    Examples
    --------
    >>> import numpy as np
    >>> import bcjit
    >>> @bcjit.compile
    ... def scaled(x, k):
    ...     return (x - x.mean()) * k
    >>> scaled(np.arange(3.0), 10)
    array([-10.,   0.,  10.])
    """
    _check_arguments(backend, fullgraph, dynamic, options)
    if fn is None:
        return functools.partial(
            compile, backend=backend, fullgraph=fullgraph, dynamic=dynamic, options=options
        )
    given: object = fn
    if not callable(given) and not isinstance(given, classmethod):
        raise ArgumentTypeError(
            f"fn: a function is expected, got {type(fn).__name__}: {fn!r}; write bcjit.compile(f) or @bcjit.compile"
        )
    if isinstance(fn, CompiledFunction | PlainFunction):
        fn = fn.__wrapped__
    if isinstance(fn, type):
        return fn  # a class must stay one; compile its methods
    again = functools.partial(
        compile, backend=backend, fullgraph=fullgraph, dynamic=dynamic, options=options
    )
    if isinstance(fn, types.MethodType):
        return types.MethodType(again(fn.__func__), fn.__self__)
    if isinstance(fn, staticmethod | classmethod):
        return type(fn)(again(fn.__func__))
    reason = _why_plain(fn)
    if reason is not None:
        return PlainFunction(fn, reason)
    assert isinstance(fn, types.FunctionType)
    _core.leave_alone(fn.__code__)  # where a whole script is watched, this compiler wins
    compiler = FunctionCompiler(
        fn.__code__, backend, fullgraph=fullgraph, settings=Settings(dynamic=dynamic is not False)
    )
    return CompiledFunction(fn, compiler)


def _why_plain(fn: Callable[..., Any]) -> str | None:
    if _UNSUPPORTED is not None:
        report_once(_UNSUPPORTED)
        return _UNSUPPORTED
    if config.disabled:
        report_once("BCJIT_DISABLE is set")
        return "BCJIT_DISABLE is set"
    if not isinstance(fn, types.FunctionType):
        return f"it is a {type(fn).__name__}, not a Python function"
    return None


def _check_arguments(backend: object, fullgraph: object, dynamic: object, options: object) -> None:
    backends.get_backend(backend)
    if not isinstance(fullgraph, bool):
        raise ArgumentTypeError(f"fullgraph: True or False is expected, got {fullgraph!r}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise ArgumentTypeError(f"dynamic: None, True or False is expected, got {dynamic!r}")
    if options is not None and not isinstance(options, Mapping):
        raise ArgumentTypeError(f"options: a dict of options is expected, got {options!r}")
    if options:
        raise ArgumentError(f"options: no backend has options yet, got {list(options)}")


def explain(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function once and say what was captured and why.

    Parameters
    ----------
    fn
        A function, compiled or not.
    *args, **kwargs
        Its arguments. The call is a real one: what the function changes or prints happens.

    Returns
    -------
    Explanation
    """
    if isinstance(fn, types.MethodType):
        return explain(fn.__func__, fn.__self__, *args, **kwargs)
    compiled: Any = fn if isinstance(fn, CompiledFunction | PlainFunction) else compile(fn)
    return compiled.explain(*args, **kwargs)


def disable(fn: Callable[P, R]) -> Callable[P, R]:
    """Make a function run as plain Python wherever it is called from; also a decorator.

    Parameters
    ----------
    fn
        A function.

    Returns
    -------
    Callable
        The same function. Calls of it break graphs, and it is never inlined.
    """
    if not callable(fn):
        raise ArgumentTypeError(f"fn: a function is expected, got {type(fn).__name__}: {fn!r}")
    if _UNSUPPORTED is None:
        mark(fn, "BRK005")
        if isinstance(fn, types.FunctionType):
            _core.leave_alone(fn.__code__)
    return fn


def graph_break() -> None:
    """Cut the graph here. Outside a compiled function it does nothing."""


def reset() -> None:
    """Forget everything that was compiled, and every message that was logged once."""
    for compiled in list(_live):
        compiled.reset()
    forget_once()


def _callee(fn: types.FunctionType, compiler: FunctionCompiler) -> object:
    """Return what compiled code calls instead of a Python function that it could not inline."""
    if not may_compile_callee(fn) or refusal(fn.__code__) is not None:
        return fn
    own = compiler.for_callee(fn.__code__)
    return fn if own is None else _core.Dispatcher(fn, own.first)


def _install() -> None:
    """Tell the C extension what it asks Python for; done once, and again by tests that have told it something else."""
    if _UNSUPPORTED is None:
        install_error_state()
        install_foreign_test()
        _core.set_callee_factory(_callee)


_install()
if _UNSUPPORTED is None:
    mark(graph_break, "BRK004")
