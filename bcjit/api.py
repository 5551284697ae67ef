"""What users call: argument checks, and what a callable becomes; everything else is below (the objects returned are in ``callables``)."""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Callable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from bcjit import backends, reports
from bcjit.callables import (
    LIVE,
    UNSUPPORTED,
    CompiledCallable,
    CompiledFunction,
    CompiledInstance,
    PlainFunction,
    explain_call,
    report_all,
    set_compile,
    underneath,
)
from bcjit.config import config
from bcjit.errors import ArgumentTypeError
from bcjit.frame_hook import may_compile_callee, report_once
from bcjit.fx_graph import set_drawing
from bcjit.logs import forget_once

if UNSUPPORTED is None or TYPE_CHECKING:
    from bcjit import _core
    from bcjit.compiler import FunctionCompiler, install_error_state, install_foreign_test
    from bcjit.symbolic_vm import Settings, mark, refusal

__all__ = [
    "CompiledCallable",
    "CompiledFunction",
    "PlainFunction",
    "compile",
    "disable",
    "explain",
    "graph_break",
    "report",
    "reset",
]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
C = TypeVar("C", bound=type)

if TYPE_CHECKING:

    class _Decorator(Protocol):
        """What ``compile(backend=...)`` returns."""

        @overload
        def __call__(self, fn: C, /) -> C: ...  # type: ignore[overload-overlap]  # a class is callable too: what comes first is meant
        @overload
        def __call__(self, fn: staticmethod[P, R], /) -> staticmethod[P, R]: ...  # type: ignore[overload-overlap]  # as above
        @overload
        def __call__(self, fn: classmethod[S, P, R], /) -> classmethod[S, P, R]: ...
        @overload
        def __call__(self, fn: Callable[P, R], /) -> CompiledFunction[P, R]: ...

    class _Options(TypedDict, total=False):
        """The keyword arguments of `compile`."""

        backend: str | backends.Backend
        fullgraph: bool
        dynamic: bool | None
        options: Mapping[str, object] | None


@overload
def compile(fn: C, **options: Unpack[_Options]) -> C: ...  # type: ignore[overload-overlap]  # noqa: A001 - a class is callable too: what comes first is meant; the name users know
@overload
def compile(  # type: ignore[overload-overlap]  # noqa: A001 - as above
    fn: staticmethod[P, R], **options: Unpack[_Options]
) -> staticmethod[P, R]: ...
@overload
def compile(  # noqa: A001 - as above
    fn: classmethod[S, P, R], **options: Unpack[_Options]
) -> classmethod[S, P, R]: ...
@overload
def compile(fn: Callable[P, R], **options: Unpack[_Options]) -> CompiledFunction[P, R]: ...  # noqa: A001 - as above
@overload
def compile(fn: None = None, **options: Unpack[_Options]) -> _Decorator: ...  # noqa: A001 - as above
def compile(  # noqa: A001 - the name users know
    fn: Any = None,
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
        A Python function or method, also in a ``staticmethod`` or ``classmethod``, a ``functools.partial`` of one, or an
        instance whose class has a ``__call__`` in Python. Other callables run as they are, and so do generator functions
        and coroutines; a class is returned unchanged. None: return a decorator.
    backend
        A registered name (see `list_backends`) or a callable ``(graph, example_inputs) -> callable``.
    fullgraph
        Raise `GraphBreakError` where the graph would have to be split.
    dynamic
        None and True: sizes and Python numbers are symbolic. False: each size and number is compiled for.
    options
        Options of the backend. ``"native"`` and ``"auto"`` have ``"fast"``: True lets functions like ``np.sin`` be up to 4 units in the last place
        off, instead of what NumPy gives bit for bit. A backend of your own gets them through its attribute ``with_options(options)``, which returns the backend to use.

    Returns
    -------
    CompiledFunction
        A `CompiledCallable` for a partial or an instance; a `PlainFunction` where nothing can be compiled.

    Raises
    ------
    ArgumentTypeError
        `fn` is not callable, or another argument is of the wrong type.
    BackendNotFoundError, ArgumentError
        No backend has the name; the backend has no such option.

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
    options = _checked_options(backend, fullgraph, dynamic, options)
    again: Any = functools.partial(
        compile, backend=backend, fullgraph=fullgraph, dynamic=dynamic, options=options
    )
    if fn is None:
        return again
    given: object = fn
    if not callable(given) and not isinstance(given, classmethod):
        raise ArgumentTypeError(
            f"fn: a function is expected, got {type(fn).__name__}: {fn!r}; write bcjit.compile(f) or @bcjit.compile"
        )
    if isinstance(fn, CompiledFunction | CompiledCallable | PlainFunction):
        fn = fn.__wrapped__
    if isinstance(fn, type):
        return fn  # a class must stay one; compile its methods
    if isinstance(fn, types.MethodType):
        return types.MethodType(again(fn.__func__), fn.__self__)
    if isinstance(fn, staticmethod | classmethod):
        return type(fn)(again(fn.__func__))
    reason = _why_plain()
    if reason is not None:
        return PlainFunction(fn, reason)
    if not isinstance(fn, types.FunctionType):
        return _compile_object(fn, again)
    _core.leave_alone(fn.__code__)  # where a whole script is watched, this compiler wins
    settings = Settings(dynamic=dynamic is not False)
    compiler = FunctionCompiler(
        fn.__code__, backend, fullgraph=fullgraph, settings=settings, options=options
    )
    return CompiledFunction(fn, compiler)


def _compile_object(fn: Any, again: Callable[[Any], Any]) -> Any:
    """Compile the Python function that a call of an object leads to."""
    if type(fn) is functools.partial:
        inner = again(fn.func)
        found = underneath(inner)
        if isinstance(found, CompiledFunction):
            return CompiledCallable(fn, inner, fn.args, fn.keywords)
        reason = found.reason if isinstance(found, PlainFunction) else _no_function(found)
        return PlainFunction(fn, reason)
    method = inspect.getattr_static(type(fn), "__call__")
    if isinstance(method, CompiledFunction):
        method = method.__wrapped__
    if not isinstance(method, types.FunctionType):
        return PlainFunction(fn, _no_function(fn))
    if not may_compile_callee(method):
        return PlainFunction(
            fn, f"{type(fn).__name__} is left alone, as all of {method.__module__}"
        )
    return CompiledInstance(fn, again(method), (fn,), {})


def _no_function(fn: object) -> str:
    what = f"the class {fn.__name__}" if isinstance(fn, type) else f"a {type(fn).__name__}"
    return f"it is {what}, not a Python function"


def _why_plain() -> str | None:
    if UNSUPPORTED is not None:
        report_once(UNSUPPORTED)
        return UNSUPPORTED
    if config.disabled:
        report_once("BCJIT_DISABLE is set")
        return "BCJIT_DISABLE is set"
    return None


def _checked_options(
    backend: str | backends.Backend, fullgraph: object, dynamic: object, options: object
) -> dict[str, object]:
    """Return the options as they are now; raise for whatever is wrong in one of the arguments."""
    backends.get_backend(backend)
    if not isinstance(fullgraph, bool):
        raise ArgumentTypeError(f"fullgraph: True or False is expected, got {fullgraph!r}")
    if dynamic is not None and not isinstance(dynamic, bool):
        raise ArgumentTypeError(f"dynamic: None, True or False is expected, got {dynamic!r}")
    if options is not None and not isinstance(options, Mapping):
        raise ArgumentTypeError(f"options: a dict of options is expected, got {options!r}")
    given = dict(options or backends.NO_OPTIONS)
    for key in given:
        if not isinstance(key, str):
            raise ArgumentTypeError(f"options: names of options are expected, got {key!r}")
    backends.with_options(backend, given)
    return given


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
    return explain_call(fn, *args, **kwargs)


def report() -> Any:
    """Return what the calls of all compiled functions have led to so far.

    Returns
    -------
    ProgramReport
        The reports of all compiled functions that are alive, those made of one definition together. ``str()`` of it is for people,
        ``as_dict()`` for programs, ``print()`` is in colour on a terminal, ``save(path)`` writes a page for a browser, and notebooks show that page. Where
        nothing is compiled it is a sentence that says why.

    Examples
    --------
    >>> import numpy as np
    >>> import bcjit
    >>> bcjit.reset()
    >>> @bcjit.compile
    ... def halves(x):
    ...     return x / 2
    >>> _ = halves(np.ones(3))
    >>> [one.function for one in bcjit.report().reports if one.parts]
    ['halves']
    """
    why = UNSUPPORTED or ("BCJIT_DISABLE is set" if config.disabled and not LIVE else None)
    if why is not None:
        return reports.PlainReport(f"everything runs as plain Python: {why}")
    return report_all()


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
    if UNSUPPORTED is None:
        mark(fn, "BRK005")
        if isinstance(fn, types.FunctionType):
            _core.leave_alone(fn.__code__)
    return fn


def graph_break() -> None:
    """Cut the graph here. Outside a compiled function it does nothing."""


def reset() -> None:
    """Forget everything that was compiled, and every message that was logged once."""
    for reference in tuple(LIVE.values()):
        compiled = reference()
        if compiled is not None:
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
    if UNSUPPORTED is None:
        install_error_state()
        install_foreign_test()
        _core.set_callee_factory(_callee)


_install()
set_compile(compile)
set_drawing(lambda graph: reports.graph_element(graph))  # noqa: PLW0108 - what draws is loaded when a graph is drawn
if UNSUPPORTED is None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_core.after_fork)
    mark(graph_break, "BRK004")
