"""What `compile` returns: a compiled function, a partial or instance over one, or what runs plain; how each is bound, copied and pickled.

A compiled function is a C callable (`bcjit._core.Dispatcher`) with the methods of `CompiledFunction`. A partial or a callable instance becomes a
`CompiledCallable`, a ``functools.partial`` over the compiled function underneath. Where nothing can be compiled there is a `PlainFunction`. All
have the same methods, and none adds a frame to a call. Which of them a callable becomes is decided in ``api``.
"""

from __future__ import annotations

import copy
import functools
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

from bcjit import reports
from bcjit.frame_hook import why_unsupported

if TYPE_CHECKING:
    from bcjit.backends import Backend
    from bcjit.code_cache import CodeCache
    from bcjit.fx_graph import Graph
    from bcjit.reports import Explanation, PlainReport, ProgramReport, Report

UNSUPPORTED: Final = why_unsupported()
if UNSUPPORTED is None or TYPE_CHECKING:
    from bcjit import _core
    from bcjit.compiler import FunctionCompiler

    _Base = _core.Dispatcher
else:

    class _Base:
        """Nothing is compiled, so there is none."""


__all__ = [
    "LIVE",
    "UNSUPPORTED",
    "CompiledCallable",
    "CompiledFunction",
    "CompiledInstance",
    "PlainFunction",
    "backend_of",
    "explain_call",
    "report_all",
    "set_compile",
    "underneath",
]

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
S = TypeVar("S")
R_co = TypeVar("R_co", covariant=True)
# By identity. Not a WeakSet: another thread may add to it while `reset` goes through it.
LIVE: Final[dict[int, weakref.ref[CompiledFunction[..., Any]]]] = {}


def _close(compiler: weakref.ref[FunctionCompiler]) -> None:
    found = compiler()
    if found is not None:
        found.close()


def _graphs_of(caches: list[CodeCache]) -> tuple[Graph, ...]:
    """Return the captured graphs that hold at least one call, in order of capture for each function."""
    entries = (entry for cache in caches for entry in tuple(cache.entries))
    return tuple(entry.graph for entry in entries if entry.graph.calls)


class _NotCopied:
    __slots__ = ()

    def __copy__(self) -> Self:
        """Functions are not copied."""
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        """Functions are not copied."""
        return self


class PlainFunction(functools.partial[Any], _NotCopied):
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

    def explain(self, *args: Any, **kwargs: Any) -> PlainReport:
        """Call the function and return the sentence that says why nothing was captured."""
        self.__wrapped__(*args, **kwargs)
        return self.report()

    def report(self) -> PlainReport:
        """Return the sentence that says why nothing is captured, with the methods of a report."""
        name = getattr(self.__wrapped__, "__qualname__", None) or type(self.__wrapped__).__name__
        return reports.PlainReport(f"{name} runs as plain Python: {self.reason}")

    def reset(self) -> None:
        """There is nothing to forget."""

    def __repr__(self) -> str:
        return f"<bcjit plain {self.__wrapped__!r}>"

    def __reduce__(self) -> Any:
        """Pickle by reference where there is a name, else what it wraps; it is compiled there if it can be."""
        return _reduced(self, self.__wrapped__, _DEFAULTS)


def _of_function(name: str) -> Any:
    """Return a property that is the plain function's attribute, also when it is set."""

    def read(self: Any) -> Any:
        return getattr(self.fn, name)

    def write(self: Any, value: object) -> None:
        setattr(self.fn, name, value)

    return property(read, write, doc=f"{name} of the plain function.")


_ASSIGNED: Final = tuple(n for n in functools.WRAPPER_ASSIGNMENTS if n != "__annotations__")


class CompiledFunction(_Base, _NotCopied, Generic[P, R]):
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
        functools.update_wrapper(self, fn, _ASSIGNED)
        self._compiler = compiler
        self._marker: types.FunctionType | None = None
        key = id(self)
        # A builtin, as all callbacks of weak references here: in Python code a signal could strike, whose exception would be lost.
        LIVE[key] = weakref.ref(self, functools.partial(LIVE.pop, key))
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
        return _graphs_of(self._caches)

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
            caches = fresh.caches()
            return reports.explanation_of(self.__qualname__, caches, _graphs_of(caches), result)
        finally:
            del call

    def report(self) -> Report:
        """Return what its calls have led to so far.

        Returns
        -------
        Report
            Compiled variants with hits, guards in words and compile times; for every recompilation the guard that failed,
            what was expected and what was seen; breaks with reason and hint; what runs plain and why. ``str()`` of it is for
            people, ``as_dict()`` for programs, ``print()`` is in colour on a terminal, ``save(path)`` writes a page for a
            browser, and notebooks show that page.

        Examples
        --------
        >>> import numpy as np
        >>> import bcjit
        >>> double = bcjit.compile(lambda x: x * 2)
        >>> _ = double(np.ones(3)), double(np.ones(4)), double(np.ones(3, np.float32))
        >>> report = double.report()
        >>> [part.hits for part in report.parts]
        [1, 0]
        >>> [(again.expected, again.seen) for again in report.recompilations]
        [('x: dtype float64 was expected', 'float32')]
        """
        return reports.report_of(self.__qualname__, self._caches)

    def reset(self) -> None:
        """Forget everything compiled; the next call captures anew."""
        self._compiler.reset()

    if not TYPE_CHECKING:

        @property
        def __annotations__(self) -> dict[str, Any]:
            # Asked for when they are wanted: from 3.14 on that may run code. No `__getattr__`: guards read what is held here.
            return self.__wrapped__.__annotations__

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
            parts = fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__
            made = types.FunctionType(*parts)
            functools.update_wrapper(made, fn)
            made.__kwdefaults__ = fn.__kwdefaults__
            del made.__wrapped__  # type: ignore[attr-defined]  # update_wrapper has set it
            made.__qualname__ = f"{self.__qualname__}{_MARK}"
            self._marker = made
        return self._marker

    def _options(self) -> dict[str, Any]:
        compiler = self._compiler
        dynamic = None if compiler.settings.dynamic else False
        return {
            "backend": compiler.backend, "fullgraph": compiler.fullgraph, "dynamic": dynamic,
            "options": compiler.options,
        }  # fmt: skip


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
        found = underneath(_PARTIAL_FUNC(self))
        assert isinstance(found, CompiledFunction)
        return found

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The graphs captured so far, those of functions it calls included."""
        return self._function().graphs

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Call the plain function's code once, freshly compiled, and say what was captured and why."""
        call = functools.partial(
            explain_call, _PARTIAL_FUNC(self), *_PARTIAL_ARGS(self), **_PARTIAL_KEYWORDS(self)
        )
        return cast("Explanation", call(*args, **kwargs))

    def report(self) -> Report:
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


class CompiledInstance(CompiledCallable[R]):
    """A callable instance: a partial of its class's ``__call__``, which does not look like one."""

    __slots__ = ()
    func = _of_instance("func")
    args = _of_instance("args")
    keywords = _of_instance("keywords")

    def __get__(self, instance: object, owner: type | None = None) -> Self:
        return self  # what is no function is not bound


def underneath(call: object) -> object:
    """Return the compiled or plain function that a callable made by `compile` leads to, else the callable."""
    if isinstance(call, types.MethodType):
        return underneath(call.__func__)
    if isinstance(call, CompiledCallable):
        return underneath(_PARTIAL_FUNC(call))
    return call


def backend_of(call: object) -> str | Backend | None:
    """Return the backend of what was compiled, None of any other callable."""
    found = underneath(call)
    return found._options()["backend"] if isinstance(found, CompiledFunction) else None  # noqa: SLF001 - of this module


def report_all() -> ProgramReport:
    """Return the report on every compiled function there is, in the order in which they were made."""
    found = (reference() for reference in tuple(LIVE.values()))
    return reports.program_report_of(
        reports.Compiled(one.__qualname__, one._caches)  # noqa: SLF001 - of this module
        for one in found
        if one is not None
    )


def explain_call(fn: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function once and return what was captured and why."""
    if isinstance(fn, types.MethodType):
        return explain_call(fn.__func__, fn.__self__, *args, **kwargs)
    known = isinstance(fn, CompiledFunction | CompiledCallable | PlainFunction)
    compiled: Any = fn if known else _compile[0](fn)
    return compiled.explain(*args, **kwargs)


# ---------------------------------------------------------------------- pickling
# `bcjit.compile`, which is above this module: what was pickled is compiled again where it is loaded.
_compile: Final[list[Callable[..., Any]]] = []


def set_compile(function: Callable[..., Any]) -> None:
    """Say what compiles a plain callable again."""
    _compile[:] = [function]


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
    return _compile[0](fn, **options)


def _from_main(marker: types.FunctionType, options: Mapping[str, Any]) -> Any:
    """Return the compiled function that a marker stands for: here, or made of a marker that came by value."""
    marker.__qualname__, mark = marker.__qualname__.removesuffix(_MARK), marker.__qualname__
    found = _named(marker)
    if isinstance(found, CompiledFunction) and found._marker is marker:  # noqa: SLF001 - of this module
        marker.__qualname__ = mark
        return found
    return _compile[0](marker, **options)


if UNSUPPORTED is None:
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
        def report(self) -> Report: ...
        def reset(self) -> None: ...
