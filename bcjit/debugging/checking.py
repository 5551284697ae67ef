"""Whether a compiled function does what the plain one does, and where it begins to differ: what is behind `bcjit.check`."""

from __future__ import annotations

import functools
import inspect
import linecache
import types
from collections.abc import Callable, Hashable
from typing import Any, cast

from bcjit.api import compile as compile_function
from bcjit.backends import Backend, backend_name, get_backend
from bcjit.callables import CompiledCallable, CompiledFunction, PlainFunction, backend_of
from bcjit.debugging.compare import show
from bcjit.debugging.observe import Call, Observation, ending, observe, unlike
from bcjit.debugging.replay import Blame, Watch
from bcjit.errors import ArgumentTypeError, BackendError, SourceLine
from bcjit.fx_graph import Node
from bcjit.records import dataclass
from bcjit.selection import Selection, choosing

__all__ = ["CheckResult", "run_check"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What `check` found; ``str()`` of it is for people, and it is true where nothing differs.

    Attributes
    ----------
    function, backend
        Names of the function and of the backend.
    equal
        Whether the compiled function did what the plain one did.
    repeatable
        Whether two plain runs did the same. If not, `equal` is false and nothing is blamed.
    differences
        Where the runs differ, in sentences.
    node
        The first node of a graph whose value differs, None if there is none.
    line
        The line of the program that the node comes from.
    turns
        In which turn of the loops around the node, outermost first, counted from 0.
    plain, compiled
        Its two values (of a node that writes: the operand afterwards), or what was raised.
    reason
        What is known of why, in words.
    """

    function: str
    backend: str
    equal: bool
    repeatable: bool
    differences: tuple[str, ...]
    node: Node | None
    line: SourceLine | None
    turns: tuple[int, ...]
    plain: object
    compiled: object
    reason: str

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        rows = [f"{self.function}: {self._verdict()}"]
        rows += [f"  {sentence}" for sentence in self.differences[:_SHOWN]]
        if len(self.differences) > _SHOWN:
            rows.append(f"  and {len(self.differences) - _SHOWN} more")
        if self.node is not None:
            where = "" if self.line is None else f" at {self.line}"
            turns = "".join(f", turn {turn} of its loop" for turn in self.turns)
            rows.append(f"first node that differs: {self.node.name}{where}{turns}")
            source = "" if self.line is None else _source(self.line)
            rows += [f"  {source}"] if source else []
            rows += [f"  plain    {show(self.plain)}", f"  compiled {show(self.compiled)}"]
        if self.reason:
            rows.append(self.reason)
        return "\n".join(rows)

    def _verdict(self) -> str:
        if not self.repeatable:
            return "not repeatable: two plain runs differ"
        return f"{'equal' if self.equal else 'differs'} (backend {self.backend})"


_SHOWN = 8


def _source(line: SourceLine) -> str:
    return linecache.getline(line.filename, line.lineno).strip()


def run_check(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    backend: str | Backend | None,
) -> CheckResult:
    """Do what `bcjit.check` says."""
    if not callable(fn):
        raise ArgumentTypeError(
            f"fn: a function is expected, got {type(fn).__name__}; write bcjit.check(f, *args)"
        )
    call, own = _resolved(fn, args, kwargs)
    chosen = backend if backend is not None else own if own is not None else "auto"
    get_backend(chosen)
    return _Checker(call, chosen).result()


class _Checker:
    def __init__(self, call: Call, backend: str | Backend) -> None:
        self.call = call
        self.backend = backend
        function = call.function
        self.name = getattr(function, "__qualname__", None) or type(function).__qualname__

    def result(self) -> CheckResult:
        """Run and compare."""
        plain = observe(self.call)
        again = unlike(plain, observe(self.call), ("in the first run", "in the second"))
        if again:
            return self.say(
                equal=False, repeatable=False, differences=again,
                reason="What it gives depends on more than its arguments and the random streams: the time, a global, a file.",
            )  # fmt: skip
        # Not by its name: what "auto" leaves to plain Python because it is slow is to be looked at too.
        compiled: object = compile_function(self.call.function, backend=get_backend(self.backend))
        if not isinstance(compiled, CompiledFunction):
            why = compiled.reason if isinstance(compiled, PlainFunction) else "it is a class"
            return self.say(equal=True, reason=f"It runs as plain Python: {why}")
        found: tuple[str, ...] = ()
        other = plain
        for when in ("when it is captured", "from the cache"):
            other = observe(self.call, compiled)
            found = unlike(plain, other)
            if found:
                found = (f"{when}:", *found)
                break
        failed = any(part.bailouts for part in compiled.report().parts)
        graphs = compiled.graphs
        what = f"{_count(len(graphs), 'graph')} with {_count(sum(g.count for g in graphs), 'call')}"
        if not graphs:
            what = "no graph was compared: none was captured"
        if plain.raised:
            what = f"both {ending(plain).replace('raises', 'raise', 1)}\n{what}"
        if not found and not failed:
            return self.say(equal=True, reason=what)
        blame = self.blamed()
        if blame is not None:
            return self.say(equal=not found, differences=found, blame=blame, reason=_HOW[blame.how])
        if not found:
            return self.say(equal=True, reason=what)
        broken = isinstance(other.value, BackendError)
        return self.say(
            equal=False, differences=found, reason="" if broken else self.part_blamed(plain)
        )

    def blamed(self) -> Blame | None:
        """Run once more, each graph beside the reference."""
        watch = Watch(get_backend(self.backend))
        compiled = compile_function(self.call.function, backend=watch)
        for _ in range(2):  # captured, and from the cache
            observe(self.call, compiled)
            if watch.blame is not None:
                break
        return watch.blame

    def part_blamed(self, plain: Observation) -> str:
        """Compile more and more of the parts; say with which one the difference begins."""
        wrong, seen = self.with_parts(plain, "")
        if not wrong or self.with_parts(plain, "parts=0:0")[0]:
            return _NO_NODE
        good, bad = 0, len(seen)
        while bad - good > 1:
            middle = (good + bad) // 2
            wrong, _ = self.with_parts(plain, f"parts=0:{middle}")
            good, bad = (good, middle) if wrong else (middle, bad)
        line, offset = cast("tuple[SourceLine, int | None]", seen[bad - 1])
        which = "function" if offset is None else "rest of the function"
        return f"The {which} that begins at {line} is compiled wrongly. {_NO_NODE}"

    def with_parts(self, plain: Observation, choice: str) -> tuple[bool, tuple[Hashable, ...]]:
        """Say whether the function differs with some of its parts compiled, and which parts came up."""
        with choosing(Selection(choice)) as selection:
            compiled = compile_function(self.call.function, backend=get_backend(self.backend))
            wrong = any(unlike(plain, observe(self.call, compiled)) for _ in range(2))
        return wrong, selection.seen

    def say(
        self,
        *,
        equal: bool,
        reason: str,
        repeatable: bool = True,
        differences: tuple[str, ...] = (),
        blame: Blame | None = None,
    ) -> CheckResult:
        """Return the result."""
        return CheckResult(
            function=self.name,
            backend=backend_name(self.backend),
            equal=equal,
            repeatable=repeatable,
            differences=differences,
            node=None if blame is None else blame.node,
            line=None if blame is None else blame.line,
            turns=() if blame is None else blame.turns,
            plain=None if blame is None else blame.plain,
            compiled=None if blame is None else blame.compiled,
            reason=reason if blame is None else f"{blame.difference}\n{reason}",
        )


_HOW = {
    "alone": "The backend gets this call wrong by itself.",
    "with those before it": "The backend gets this call right by itself, and wrong with the calls in front of it.",
    "only whole": "Node by node the backend gives what NumPy's own calls give; what it makes of the whole graph does not, or not each time.",
    "after the passes": "The passes change what the graph gives: bcjit.config.optimize = False turns them off. Please report this.",
}
_NO_NODE = "Every graph gave what NumPy's own calls give: what is around the graphs is wrong. Please report this; BCJIT_DUMP=folder writes it down."


def _resolved(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Call, str | Backend | None]:
    """Return the plain Python function that a call leads to with all that it is called with, and the backend of a compiled one."""
    backend: str | Backend | None = None
    while True:
        if isinstance(fn, CompiledFunction | CompiledCallable | PlainFunction):
            backend = backend_of(fn) or backend
            fn = fn.__wrapped__
        elif isinstance(fn, types.MethodType):
            args, fn = (fn.__self__, *args), fn.__func__
        elif type(fn) is functools.partial:
            args, kwargs, fn = (*fn.args, *args), {**fn.keywords, **kwargs}, fn.func
        elif isinstance(
            inspect.getattr_static(type(fn), "__call__"), types.FunctionType | CompiledFunction
        ):
            args, fn = (fn, *args), type(fn).__call__
        else:
            return Call(fn, args, kwargs), backend


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
