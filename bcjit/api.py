"""What users call: argument checks and the Python half of a compiled function; everything else is below.

A compiled function is a C callable (`bcjit._core.Dispatcher`) with the methods of `CompiledFunction`. A partial or a callable instance becomes a
`CompiledCallable`, a ``functools.partial`` over the compiled function underneath. Where nothing can be compiled (an unknown Python,
``BCJIT_DISABLE=1``, something that leads to no Python function) `compile` returns a `PlainFunction`. All have the same methods, and none adds a
frame to a call.
"""

from __future__ import annotations

import copy
import functools
import inspect
import os
import sys
import types
import weakref
from collections.abc import Callable, Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    cast,
    overload,
)

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

    _Base = _core.Dispatcher
else:
    _Base = object

__all__ = [
    "CompiledCallable",
    "CompiledFunction",
    "PlainFunction",
    "compile",
    "disable",
    "explain",
    "graph_break",
    "reset",
]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
C = TypeVar("C", bound=type)
R_co = TypeVar("R_co", covariant=True)
# By identity. Not a WeakSet: another thread may add to it while `reset` goes through it.
_live: Final[dict[int, weakref.ref[CompiledFunction[..., Any]]]] = {}


def _close(compiler: weakref.ref[FunctionCompiler]) -> None:
    found = compiler()
    if found is not None:
        found.close()


class PlainFunction(functools.partial[Any]):
    """A callable that runs as it is, with the methods of a compiled one; `reason` says why it is not compiled."""

    __slots__ = ()
    __wrapped__: Callable[..., Any]
    reason: str

    def __new__(cls, fn: Callable[..., Any], reason: str) -> Self:
        """Wrap `fn`; a partial without arguments, so that a call takes no frame."""
        self = super().__new__(cls, fn)
        functools.update_wrapper(self, fn, updated=())
        self.__doc__ = fn.__doc__
        self.__wrapped__ = fn
        self.reason = reason
        return self

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind as what it wraps does."""
        if isinstance(self.__wrapped__, types.FunctionType):
            return self if instance is None else types.MethodType(self, instance)
        bind = getattr(type(self.__wrapped__), "__get__", None)
        return self if bind is None else bind(self.__wrapped__, instance, owner)

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # not there yet
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

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

    def __repr__(self) -> str:
        return f"<bcjit plain {self.__wrapped__!r}>"

    def __reduce__(self) -> Any:
        """Pickle by reference where there is a name, else what it wraps; it is compiled there if it can be."""
        return _reduced(self, self.__wrapped__, _DEFAULTS)

    def __copy__(self) -> Self:
        """Functions are not copied."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Functions are not copied."""
        return self


def _of_function(name: str) -> Any:
    """Return a property that is the plain function's attribute, also when it is set."""

    def read(self: Any) -> Any:
        return getattr(self.fn, name)

    def write(self: Any, value: object) -> None:
        setattr(self.fn, name, value)

    return property(read, write, doc=f"{name} of the plain function.")


class CompiledFunction(_Base, Generic[P, R]):
    """A function compiled by `compile`: call it like the function it was made from.

    Attributes
    ----------
    __wrapped__
        The plain function.
    graphs
        The graphs captured so far.
    """

    __slots__ = ("_compiler", "_marker")  # not in the dict, which functools.wraps copies

    # What makes inspect, dis and others take it for a function.
    __code__ = _of_function("__code__")
    __defaults__ = _of_function("__defaults__")
    __kwdefaults__ = _of_function("__kwdefaults__")
    __closure__ = _of_function("__closure__")
    __globals__ = _of_function("__globals__")
    __builtins__ = _of_function("__builtins__")

    if TYPE_CHECKING:
        __name__: str
        __qualname__: str
        __wrapped__: Callable[P, R]

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
            """Call the function."""

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Self: ...
        @overload
        def __get__(
            self: CompiledFunction[Concatenate[S, Q], R], instance: S, owner: type | None = None
        ) -> _BoundFunction[Q, R]: ...
        def __get__(self, instance: object, owner: type | None = None) -> Any:
            """Bind like a function."""

    def __init__(self, fn: types.FunctionType, compiler: FunctionCompiler) -> None:
        super().__init__(fn, compiler.first)
        functools.update_wrapper(self, fn)
        self._compiler = compiler
        self._marker: types.FunctionType | None = None
        key = id(self)
        _live[key] = weakref.ref(self, lambda _: _live.pop(key, None) and None)
        # Weakly: what the registry of finalizers holds is not garbage in the same collection as this function.
        weakref.finalize(self, _close, weakref.ref(compiler)).atexit = False

    def _fn(self) -> types.FunctionType:
        return cast(
            "types.FunctionType", self.fn
        )  # to type checkers a property gives what its value's __get__ gives

    @property
    def _caches(self) -> list[CodeCache]:
        return self._compiler.caches()

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs captured so far, those of functions it calls included."""
        return graphs_of(self._caches)

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> Explanation:
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
        call = _core.Dispatcher(self._fn(), fresh.first)
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

    def __repr__(self) -> str:
        return f"<bcjit compiled {self.__wrapped__!r}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle by reference, as functions are; under another name than the function's, the plain function.

        What a program's main module holds is pickled by reference where plain functions are, and by value where they
        are (``cloudpickle``): a function stands for it, which the pickler treats as it treats functions.
        """
        if protocol < 4 or self.__module__ != "__main__" or _named(self) is not self:
            return _reduced(self, self.fn, self._options())
        return _from_main, (self._reference, self._options())

    @property
    def _reference(self) -> types.FunctionType:
        if self._marker is None:
            fn = self._fn()
            made = types.FunctionType(
                fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__
            )
            functools.update_wrapper(made, fn)
            made.__kwdefaults__ = fn.__kwdefaults__
            del made.__wrapped__  # type: ignore[attr-defined]  # update_wrapper has set it
            made.__qualname__ = f"{self.__qualname__}{_MARK}"
            self._marker = made
        return self._marker

    def _options(self) -> dict[str, Any]:
        compiler = self._compiler
        dynamic = None if compiler.settings.dynamic else False
        return {"backend": compiler.backend, "fullgraph": compiler.fullgraph, "dynamic": dynamic}

    def __copy__(self) -> Self:
        """Functions are not copied."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Functions are not copied."""
        return self


_MARK: Final = "._reference"


class CompiledCallable(functools.partial[R]):
    """A partial or a callable instance whose Python function is compiled; calls and methods as of `CompiledFunction`.

    Other attributes are those of the object it was made from, also when they are set.

    Attributes
    ----------
    __wrapped__
        The plain object.
    graphs
        The graphs captured so far.
    """

    __slots__ = ()
    __wrapped__: Any

    def __new__(
        cls, fn: Any, func: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Self:
        """Make a partial over what is compiled underneath."""
        self = super().__new__(cls, func, *args, **keywords)
        object.__setattr__(self, "__wrapped__", fn)
        object.__setattr__(self, "__doc__", fn.__doc__)
        return self

    def _function(self) -> CompiledFunction[..., Any]:
        found = _underneath(_PARTIAL_FUNC(self))
        assert isinstance(found, CompiledFunction)
        return found

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs captured so far, those of functions it calls included."""
        return self._function().graphs

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Call the plain function's code once, freshly compiled, and say what was captured and why.

        Parameters
        ----------
        *args, **kwargs
            Arguments, without those that are there already.

        Returns
        -------
        Explanation
        """
        call = functools.partial(
            explain, _PARTIAL_FUNC(self), *_PARTIAL_ARGS(self), **_PARTIAL_KEYWORDS(self)
        )
        return cast("Explanation", call(*args, **kwargs))

    def report(self) -> RecompileReport:
        """Return compiled variants with their hits, and for every recompilation the guard that failed."""
        return self._function().report()

    def reset(self) -> None:
        """Forget everything compiled; the next call captures anew."""
        self._function().reset()

    def __getattr__(self, name: str) -> Any:
        if name == "__wrapped__":  # not there yet
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__wrapped__, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.__wrapped__, name)

    def __repr__(self) -> str:
        return f"<bcjit compiled {self.__wrapped__!r}>"

    def __reduce__(self) -> Any:
        """Pickle the plain object; it is compiled where it is loaded."""
        return _recompiled, (self.__wrapped__, self._function()._options())  # noqa: SLF001 - of this module

    def __copy__(self) -> Any:
        """Compile a copy."""
        return _recompiled(copy.copy(self.__wrapped__), self._function()._options())  # noqa: SLF001 - of this module

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Compile a copy."""
        return _recompiled(copy.deepcopy(self.__wrapped__, memo), self._function()._options())  # noqa: SLF001 - of this module


# The members of partials themselves: an instance may have attributes of the same names.
_PARTIAL_FUNC: Final[Any] = vars(functools.partial)["func"].__get__
_PARTIAL_ARGS: Final[Any] = vars(functools.partial)["args"].__get__
_PARTIAL_KEYWORDS: Final[Any] = vars(functools.partial)["keywords"].__get__


def _of_instance(name: str) -> Any:
    def read(self: Any) -> Any:
        return getattr(self.__wrapped__, name)

    return property(read)


class _CompiledInstance(CompiledCallable[R]):
    """A callable instance: a partial of its class's ``__call__``, which does not look like one."""

    __slots__ = ()
    func = _of_instance("func")
    args = _of_instance("args")
    keywords = _of_instance("keywords")

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        return self  # what is no function is not bound


def _underneath(call: object) -> object:
    """Return the compiled or plain function that a callable made by `compile` leads to, else the callable."""
    if isinstance(call, types.MethodType):
        return _underneath(call.__func__)
    if isinstance(call, CompiledCallable):
        return _underneath(_PARTIAL_FUNC(call))
    return call


# ---------------------------------------------------------------------- pickling
_DEFAULTS: Final[Mapping[str, Any]] = {}


def _named(compiled: object) -> Any:
    """Return what the program has under the name of a compiled function, None if nothing."""
    found: object = sys.modules.get(getattr(compiled, "__module__", None) or "")
    for name in (getattr(compiled, "__qualname__", None) or "").split("."):
        found = getattr(found, name, None)
    return found


def _reduced(compiled: Any, fn: object, options: Mapping[str, Any]) -> Any:
    if _named(compiled) is compiled:
        return compiled.__qualname__
    return _recompiled, (fn, options)


def _recompiled(fn: Any, options: Mapping[str, Any]) -> Any:
    return compile(fn, **options)


def _from_main(marker: types.FunctionType, options: Mapping[str, Any]) -> Any:
    """Return the compiled function that a marker stands for: here, or made of a marker that came by value."""
    marker.__qualname__, mark = marker.__qualname__.removesuffix(_MARK), marker.__qualname__
    found = _named(marker)
    if isinstance(found, CompiledFunction) and found._marker is marker:  # noqa: SLF001 - of this module
        marker.__qualname__ = mark
        return found
    return compile(marker, **options)


if _UNSUPPORTED is None:
    _core.enable_vectorcall(CompiledFunction)


if TYPE_CHECKING:

    class _BoundFunction(Protocol[Q, R_co]):
        """A compiled function bound to an instance: a method, which has the function's attributes."""

        __self__: object
        __func__: CompiledFunction[..., Any]
        __name__: str

        def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> R_co: ...
        @property
        def graphs(self) -> tuple[Graph, ...]: ...
        def report(self) -> RecompileReport: ...
        def reset(self) -> None: ...

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


@overload
def compile(  # type: ignore[overload-overlap]  # noqa: A001 - a class is callable too: what comes first is meant; the name users know
    fn: C,
    *,
    backend: str | backends.Backend = ...,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    options: Mapping[str, object] | None = ...,
) -> C: ...
@overload
def compile(  # type: ignore[overload-overlap]  # noqa: A001 - as above
    fn: staticmethod[P, R],
    *,
    backend: str | backends.Backend = ...,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    options: Mapping[str, object] | None = ...,
) -> staticmethod[P, R]: ...
@overload
def compile(  # noqa: A001 - the name users know
    fn: classmethod[S, P, R],
    *,
    backend: str | backends.Backend = ...,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    options: Mapping[str, object] | None = ...,
) -> classmethod[S, P, R]: ...
@overload
def compile(  # noqa: A001 - the name users know
    fn: Callable[P, R],
    *,
    backend: str | backends.Backend = ...,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    options: Mapping[str, object] | None = ...,
) -> CompiledFunction[P, R]: ...
@overload
def compile(  # noqa: A001 - the name users know
    fn: None = None,
    *,
    backend: str | backends.Backend = ...,
    fullgraph: bool = ...,
    dynamic: bool | None = ...,
    options: Mapping[str, object] | None = ...,
) -> _Decorator: ...
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
        Options of the backend; none has any yet.

    Returns
    -------
    CompiledFunction
        A `CompiledCallable` for a partial or an instance; a `PlainFunction` where nothing can be compiled.

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
    if isinstance(fn, CompiledFunction | CompiledCallable | PlainFunction):
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
    reason = _why_plain()
    if reason is not None:
        return PlainFunction(fn, reason)
    if not isinstance(fn, types.FunctionType):
        return _compile_object(fn, again)
    _core.leave_alone(fn.__code__)  # where a whole script is watched, this compiler wins
    compiler = FunctionCompiler(
        fn.__code__, backend, fullgraph=fullgraph, settings=Settings(dynamic=dynamic is not False)
    )
    return CompiledFunction(fn, compiler)


def _compile_object(fn: Any, again: Callable[[Any], Any]) -> Any:
    """Compile the Python function that a call of an object leads to."""
    if type(fn) is functools.partial:
        inner = again(fn.func)
        found = _underneath(inner)
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
    return _CompiledInstance(fn, again(method), (fn,), {})


def _no_function(fn: object) -> str:
    what = f"the class {fn.__name__}" if isinstance(fn, type) else f"a {type(fn).__name__}"
    return f"it is {what}, not a Python function"


def _why_plain() -> str | None:
    if _UNSUPPORTED is not None:
        report_once(_UNSUPPORTED)
        return _UNSUPPORTED
    if config.disabled:
        report_once("BCJIT_DISABLE is set")
        return "BCJIT_DISABLE is set"
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
    known = isinstance(fn, CompiledFunction | CompiledCallable | PlainFunction)
    compiled: Any = fn if known else compile(fn)
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
    for reference in tuple(_live.values()):
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
    if _UNSUPPORTED is None:
        install_error_state()
        install_foreign_test()
        _core.set_callee_factory(_callee)


_install()
if _UNSUPPORTED is None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_core.after_fork)
    mark(graph_break, "BRK004")
