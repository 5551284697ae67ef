"""The C extension: frames, parts, dispatchers and graph calls; it knows no graphs and no NumPy."""

from collections.abc import Callable
from contextvars import ContextVar
from types import CellType, CodeType, FunctionType, TracebackType
from typing import Any, Literal, TypeAlias, TypeVar

_Closure: TypeAlias = tuple[CellType, ...] | None
_Values: TypeAlias = tuple[object, ...]
_OnMiss: TypeAlias = Callable[[Part, FunctionType, _Closure, _Values], Entry | None]
_Next: TypeAlias = tuple[object, ...]
_OnBailOut: TypeAlias = Callable[[Entry, FunctionType, _Closure, _Values, BailOut], _Next | None]
_DispatcherT = TypeVar("_DispatcherT", bound=type[Dispatcher])

def check_support() -> str | None:
    """None, or a sentence that says why bcjit cannot work here."""

def bound_special(*call: Callable[..., object]) -> Callable[..., object]:
    """The method that a call of ``function`` with ``self``, if any, in front would call: ``([self,] function)``."""

def set_thread_count(count: Callable[[], int] | None) -> None:
    """Say what tells how many threads a kernel may use, the caller's one of them; None: one."""

def pool_size() -> int:
    """Return how many threads have been started to help kernels."""

def set_flags_test(test: Callable[[int], bool] | None) -> None:
    """Say what tells whether NumPy would say something of the flags that kernels raise: bits 1 divide, 2 over, 4 under, 8 invalid."""

def ufunc_loop(ufunc: object, index: int) -> tuple[int, int]:
    """The addresses of an inner loop of a ufunc and of its data."""

class Kernel:
    """Machine code for the elements of arrays, as a callable over arrays; where it is not for what it gets, ``fallback`` is called.

    The arguments: arrays, then numbers, of which the fallback takes the first ``n_fallback``. ``operands``: (argument, type number) of
    each array, and the code of a view of it; ``scalars``: (argument, type number, whether it is a NumPy scalar) of each number;
    ``results``: type numbers; ``loops``: addresses that the code is handed. ``destination``: as an operand, where the last result is
    stored if all goes well; ``n_handed`` times None is then given for what the fallback gives in its place.
    ``layouts``: 1 where something lies as a copy does, which is told from what ufuncs make where an operand is not of one piece; 2 where results lie
    in C's order only if all arguments do.
    ``most``: elements of an operand up to which this is not left to the fallback; 0 for any number.
    ``mask``: as an operand: what it selects is computed, of the operands whose row ends with True, and stored there; the others have one
    axis and as many elements. ``tables``: (row as of an operand, axes) of each array that the code reads at computed places.
    ``computes_numbers``: something is computed of numbers alone, which NumPy does where there are no elements, too.
    """

    def __init__(
        self,
        run: int,
        owner: object,
        fallback: Callable[..., object],
        n_arguments: int,
        n_fallback: int,
        operands: tuple[
            tuple[int, int]
            | tuple[int, int, tuple[int, ...]]
            | tuple[int, int, tuple[int, ...], bool],
            ...,
        ],
        scalars: tuple[tuple[int, int, bool], ...],
        results: tuple[int, ...],
        loops: tuple[int, ...],
        width: int,
        block: int,
        scratch: int,
        checks_flags: int,
        warns_here: bool,
        destination: tuple[int, int, tuple[int, ...]] | None = None,
        n_handed: int = 0,
        layouts: int = 0,
        most: int = 0,
        mask: tuple[int, int, tuple[int, ...]] | None = None,
        tables: tuple[tuple[tuple[int, int, tuple[int, ...]], int], ...] = (),
        computes_numbers: bool = False,
    ) -> None: ...
    calls: int
    fell_back: int
    off: bool
    fallback: Callable[..., object]
    warns_here: bool
    def __call__(self, *args: object) -> object: ...

class ReduceKernel:
    """A `Kernel` with reductions of some axes of arrays with ``ndim``; see bcjit/csrc/reduce.h.

    NumPy folds a row ``pieces`` elements at a time. The argument -1 of a scalar is how many elements a result is made of, -2 one less.

    ``operands`` and ``scalars`` as for `Kernel`, each array also with whether it is reduced itself. ``bigs``: (kind, type number) of
    each value with all elements, ``smalls``: type numbers of what was folded. ``phases``: (code, folds, code) each.
    ``results``: (place, kind, type number).
    """

    def __init__(
        self,
        fallback: Callable[..., object],
        n_arguments: int,
        n_fallback: int,
        ndim: int,
        axes: tuple[int, ...],
        pieces: int,
        operands: tuple[tuple[int, int, tuple[int, ...], bool], ...],
        scalars: tuple[tuple[int, int, bool], ...],
        bigs: tuple[tuple[int, int], ...],
        smalls: tuple[int, ...],
        phases: tuple[tuple[object, ...], ...],
        results: tuple[tuple[tuple[int, int], int, int], ...],
        checks_flags: int,
        warns_here: bool,
    ) -> None: ...
    calls: int
    fell_back: int
    off: bool
    fallback: Callable[..., object]
    warns_here: bool
    def __call__(self, *args: object) -> object: ...

class ScanKernel:
    """A `Kernel` with running folds along one axis of arrays with ``ndim``, or, for the axis -1, of all elements; see bcjit/csrc/scan.h.

    ``operands`` and ``scalars`` as for `Kernel`. ``values``: type numbers of what has an element for each element of these.
    ``phases``: (code, scans) each; ``results``: (value, whether it is of one axis only).
    """

    def __init__(
        self,
        fallback: Callable[..., object],
        n_arguments: int,
        n_fallback: int,
        ndim: int,
        axis: int,
        operands: tuple[tuple[int, int], ...],
        scalars: tuple[tuple[int, int, bool], ...],
        values: tuple[int, ...],
        phases: tuple[tuple[object, ...], ...],
        results: tuple[tuple[int, bool], ...],
        checks_flags: int,
        warns_here: bool,
        copies: bool,
    ) -> None: ...
    calls: int
    fell_back: int
    off: bool
    fallback: Callable[..., object]
    warns_here: bool
    def __call__(self, *args: object) -> object: ...

class GuardTree:
    def __init__(self, spec: tuple[object, ...]) -> None: ...
    def check(self, values: _Values, func: FunctionType, closure: _Closure) -> int:
        """-1 when every guard holds, else the index of the first that fails."""

class Entry:
    """Guards, and the residual code that is right while they hold.

    Nothing else may own ``code``: the entry then answers to the cycle collector for its constants.
    The graph calls that the code uses must be constants of it. ``direct``: all the code does is to return the only
    output of its only graph, called with the values in these places; the code is then not run at all.
    ``hand_over``: all the code does is to call its only graph and to hand over to the next part: (places of the values that
    the graph takes, count of its outputs, the output whose truth says which side, or -1, sides, literals). A side is
    (part, places of its values), the true one first; a place below 0 is an output or, behind those, a literal.
    ``judged``: the cost model times whole calls through it and the plain function's, and keeps to the faster.
    """

    def __init__(
        self,
        guards: GuardTree,
        code: CodeType,
        returns: bool,
        on_bailout: _OnBailOut | None,
        tag: object,
        direct: tuple[int, ...] | None = None,
        judged: bool = False,
        hand_over: tuple[
            tuple[int, ...],
            int,
            int,
            tuple[tuple[object, tuple[int, ...]], ...],
            tuple[object, ...],
        ]
        | None = None,
    ) -> None: ...
    @property
    def guards(self) -> GuardTree: ...
    @property
    def code(self) -> CodeType: ...
    @property
    def returns(self) -> bool: ...
    @property
    def on_bailout(self) -> _OnBailOut | None: ...
    @property
    def tag(self) -> Any: ...
    @property
    def hand_over(self) -> tuple[Any, ...] | None: ...
    @property
    def verdicts(self) -> tuple[tuple[int, int, bool, float, float, int, int], ...]:
        """Of each range of sizes judged: lowest, highest or -1, plain?, seconds plain and compiled, samples of both."""
    hits: int
    @property
    def plain_hits(self) -> int: ...
    @property
    def unchecked(self) -> int: ...
    bailouts: int
    plain: bool

class Part:
    """A piece of a code object, from one position on: plain code and entries."""

    def __init__(self, plain_code: CodeType, on_miss: _OnMiss | None, tag: object) -> None: ...
    @property
    def plain_code(self) -> CodeType: ...
    @property
    def busy(self) -> bool: ...
    @property
    def entries(self) -> tuple[Entry, ...]: ...
    on_miss: _OnMiss | None
    tag: Any
    skip: bool
    misses: int
    def add(self, entry: Entry, /) -> None: ...
    def remove(self, entry: Entry, /) -> None: ...
    def clear(self) -> None: ...
    def find(self, func: FunctionType, closure: _Closure, values: _Values, /) -> Entry | None:
        """The entry whose guards hold, or None; changes nothing."""

class Dispatcher:
    """Calls a function through the entries of its first part."""

    def __init__(self, fn: FunctionType, part: Part) -> None: ...
    @property
    def fn(self) -> FunctionType: ...
    @property
    def part(self) -> Part: ...
    enabled: bool
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __get__(self, instance: object, owner: type | None = None, /) -> Any: ...

class GraphCall:
    """Calls a compiled graph with warnings raised; any Exception becomes a BailOut.

    ``refuses_warnings``: NumPy's warnings raise in ``fn`` by themselves, so that only error states in which NumPy
    calls or prints need be replaced. ``single``: ``fn`` returns the graph's only output, not a tuple of outputs.
    """

    def __init__(
        self,
        fn: Callable[..., object],
        tag: object,
        refuses_warnings: bool = False,
        single: bool = False,
    ) -> None: ...
    @property
    def single(self) -> bool: ...
    @property
    def refuses_warnings(self) -> bool: ...
    @property
    def fn(self) -> Callable[..., object]: ...
    @property
    def tag(self) -> Any: ...
    def __call__(self, *args: object) -> Any: ...

class BailOut(BaseException):
    """A graph failed: plain code must run instead. Never seen by user code."""

    @property
    def call(self) -> GraphCall | None: ...
    @property
    def exception(self) -> Exception | None: ...

class Resumed:
    """Called once, with any arguments, runs code as a function on values."""

    def __init__(
        self, code: CodeType, namespace: dict[str, Any], closure: _Closure, values: _Values, /
    ) -> None: ...
    def __call__(self, *args: object, **kwargs: object) -> Any: ...

class Completed:
    """Stands in for an operand or callable of an instruction that is done but for its floating-point report.

    ``actions``: ("warn" | "raise" | "print", text), or (mode, callable) for error states that call.
    """

    def __init__(self, result: object, actions: tuple[tuple[str, object], ...]) -> None: ...
    def __call__(self, *args: object, **kwargs: object) -> Any: ...

def drive(part: Part, func: FunctionType, closure: _Closure, values: _Values, /) -> Any:
    """Run a part and what follows, as a dispatcher does."""

def judge_samples(
    compiled: tuple[float, ...], plain: tuple[float, ...], /
) -> tuple[bool, int, int] | None:
    """Decide as the cost model does: plain?, samples used of compiled and of plain; None: more are needed."""

def run_plain(
    code: CodeType, namespace: dict[str, Any], closure: _Closure, values: _Values, /
) -> Any:
    """Run code as a function on values."""

def set_error_state_mapper(
    contextvar: ContextVar[Any] | None,
    mapper: Callable[[Any], object] | None,
    refusing: Callable[[Any], object] = ...,
    /,
) -> None:
    """How graphs are made to raise: mapper(state or None) -> the state to set, or None to keep it.

    ``refusing`` is the mapper for graphs that refuse warnings, the same one by default.
    """

def set_clock(clock: Callable[[bool], float] | None, /) -> None:
    """Let the cost model take times by a function, in tests, which is told whether plain code runs; None: by the system's clock."""

def set_foreign_test(
    test: Callable[[BaseException, Callable[..., object]], TracebackType | None] | None, /
) -> None:
    """test(exc, fn) -> the traceback with which an exception goes on that is not the graph's own, or None."""

def tracing_active() -> bool:
    """Whether a trace function, debugger or coverage tool watches this thread."""

def set_tracing_override(on: bool, /) -> None:
    """True: stay compiled under tracing (to measure our own coverage)."""

def hook_armed() -> bool:
    """Whether this thread waits for a frame."""

def hook_installed() -> bool:
    """Whether the evaluator is ours now."""

def callee(fn: object, tag: object, /) -> Any:
    """What residual code calls instead of fn."""

def set_callee_factory(factory: Callable[[FunctionType, Any], object] | None, /) -> None:
    """factory(fn, tag) makes callees, once for a code object and tag; None: none are made."""

def leave_alone(code: CodeType, /) -> None:
    """A watch runs frames of this code plain."""

def watch(
    chooser: Callable[[CodeType, FunctionType, _Values, int], Part | Literal[False] | None] | None,
    /,
) -> None:
    """Look at every frame of a function from now on; None: at none.

    ``chooser(code, func, values, asked)`` is asked about code that nothing is known of. It returns a part whose plain
    code is a copy of the code, False to leave the code alone, or None to be asked again at the next frame (``asked``
    counts).
    """

def watch_forked() -> None:
    """To be called in the child of a fork: the pauses of other threads are over."""

def run_file(path: str, /) -> int:
    """Run a script as python does, with no frame below it; 0, or -1 once an exception was printed."""

def run_string(source: str, /) -> int:
    """The same for the text of -c."""

def run_call(function: Callable[..., object], /, *args: object) -> int:
    """The same for a call that is all of a program."""

def get_code_slot(code: CodeType, /) -> Any:
    """The object kept for a code object, or None."""

def set_code_slot(code: CodeType, obj: object, /) -> None:
    """Keep an object for a code object, weakly when possible; None forgets it."""

def enable_vectorcall(cls: _DispatcherT, /) -> _DispatcherT:
    """Make a subclass of Dispatcher as cheap to call as Dispatcher; returns it."""

def after_fork() -> None:
    """In a child process: what other threads of the parent were compiling is nobody's work here."""
