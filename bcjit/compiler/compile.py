"""Joins the stages: capture, backend, residual code, cache entry. The only place that does.

A `FunctionCompiler` serves one function with one set of options: it is what C parts call when no entry fits. Whatever goes wrong inside is
a bug of ours: it is logged once and the frame runs plain (raised under ``config.strict``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from types import CellType, CodeType, FunctionType

from bcjit import _core, backends
from bcjit.bytecode import CannotResume, Listing, decode, leads_to_raise, resume_code
from bcjit.code_cache import CacheEntry, CodeCache, Problem, Times
from bcjit.compiler.artifacts import Artifacts
from bcjit.compiler.bailout import BailOuts, Record, make_record
from bcjit.compiler.foreign import traceback_from_elsewhere
from bcjit.compiler.hand_over import cut_guard
from bcjit.compiler.idle_loops import idle_loop, loop_code
from bcjit.compiler.misses import note_miss, note_part_limit
from bcjit.compiler.overlap import overlap_guards
from bcjit.compiler.recipes import CannotRebuild, FromSource
from bcjit.compiler.residual import build_residual, continuations_end
from bcjit.compiler.restore import symbols_of
from bcjit.compiler.timing import timed
from bcjit.config import config
from bcjit.dims import Expr, Symbol
from bcjit.errors import BackendError, GraphBreakError, InternalError, SourceLine
from bcjit.fx_graph import Graph, Node, optimize, refuses_warnings, returning_value
from bcjit.guards import (
    Roots,
    Unavailable,
    compile_guards,
    ordered,
)
from bcjit.logs import get_logger, once
from bcjit.selection import Selection, selected
from bcjit.symbolic_vm import (
    RAISING,
    REASONS,
    BreakExit,
    Capture,
    PartSpec,
    Position,
    Settings,
    capture,
    refusal,
)

__all__ = ["FunctionCompiler"]

Closure = tuple[CellType, ...] | None
Values = tuple[object, ...]


class FunctionCompiler:
    """Compiles the parts of one function.

    Parameters
    ----------
    code
        The function's code.
    backend
        A backend's name or the backend itself.
    fullgraph
        Raise `GraphBreakError` instead of breaking.
    settings
        For the capture.
    """

    def __init__(
        self,
        code: CodeType,
        backend: str | backends.Backend,
        *,
        fullgraph: bool,
        settings: Settings,
    ) -> None:
        self.code = code
        self.backend = backend
        self.backend_name = backends.backend_name(backend)
        self.fullgraph = fullgraph
        self.settings = settings
        self.cache = CodeCache()
        # By the identity of the code, which the compiler holds: equal code objects may be of different files.
        self.callees: dict[int, FunctionCompiler] = {}
        self.generation = 0  # counts resets, for captures that began before one
        self.listing: Listing | None = None  # held for all parts, so that the code is decoded once
        self.refusal = refusal(code)
        self.first = self.part(PartSpec(code))
        self._apply_refusal()

    # ------------------------------------------------------------------ the function as a whole
    def for_callee(self, code: CodeType) -> FunctionCompiler | None:
        """Return the compiler of a function that this one calls, with the same options; None beyond a limit."""
        found = self.callees.get(id(code))
        if found is None and len(self.callees) < config.part_limit:
            made = FunctionCompiler(
                code, self.backend, fullgraph=self.fullgraph, settings=self.settings
            )
            found = self.callees.setdefault(id(code), made)
        return found

    def fresh(self) -> FunctionCompiler:
        """Return a compiler of the same function that has seen no call, prints nothing and breaks where it must."""
        quiet = "eager" if self.backend_name == "print" else self.backend
        return FunctionCompiler(self.code, quiet, fullgraph=False, settings=self.settings)

    def caches(self) -> list[CodeCache]:
        """Return the caches of this function and of those it calls."""
        found = {id(self): self}
        queue = [self]
        while queue:
            for callee in tuple(queue.pop(0).callees.values()):
                if id(callee) not in found:
                    found[id(callee)] = callee
                    queue.append(callee)
        return [compiler.cache for compiler in found.values()]

    def reset(self) -> None:
        """Forget what was compiled; refusals stay."""
        self.generation += 1
        # The callees stay: their parts may be running, and are found again through their code.
        for callee in tuple(self.callees.values()):
            callee.reset()
        self.cache.clear()
        for part in tuple(self.cache.parts.values()):
            part.on_miss = self.on_miss
        self._apply_refusal()

    def _apply_refusal(self) -> None:
        """Let a function that is not captured at all run plain; under `fullgraph` its call says why instead."""
        why = self.refusal
        if why is not None and not self.fullgraph:
            self.refuse(self.first, why.reason, why.context, why.line)

    def close(self) -> None:
        """Let go of everything: the compiled function is gone."""
        for callee in tuple(self.callees.values()):
            callee.close()
        self.callees.clear()
        self.listing = None
        for part in (self.first, *tuple(self.cache.parts.values())):
            part.on_miss = None  # a method of this object: a cycle
        self.cache.clear()
        self.cache.parts.clear()

    # ------------------------------------------------------------------ parts
    def part(self, spec: PartSpec) -> _core.Part:
        """Return the part of a spec, made at its first use."""
        found = self.cache.parts.get(spec)
        if found is None:
            plain = (
                spec.code
                if spec.offset is None
                else resume_code(spec.code, spec.offset, spec.stack, spec.bound)
            )
            made = _core.Part(plain, self.on_miss, spec)
            made.skip = not self.cache.can_split()
            found = self.cache.parts.setdefault(spec, made)
            if found.skip:
                note_part_limit(self.cache, spec, _line_of(spec), _line_of(PartSpec(self.code)))
        return found

    def refuse(self, part: _core.Part, reason: str, context: str, line: SourceLine) -> None:
        """Let a part run plain from now on, and say why."""
        part.skip = True
        row = REASONS[reason]
        self.cache.note(Problem(line, row.code, row.title, context))

    # ------------------------------------------------------------------ a miss
    def on_miss(
        self, part: _core.Part, func: FunctionType, closure: Closure, values: Values
    ) -> _core.Entry | None:
        """Compile a part for these values: the door from C. None lets the plain code run."""
        spec = part.tag
        assert isinstance(spec, PartSpec)
        if self.refusal is not None:
            raise GraphBreakError(
                REASONS[self.refusal.reason], self.refusal.context, self.refusal.line
            )
        try:
            return self._compile(part, spec, func, closure, values)
        except GraphBreakError:
            raise
        except (RecursionError, MemoryError, Unavailable):
            # Stack or memory is nearly full, or something was changed while it was looked at: plain this time.
            return None
        except Exception as error:
            foreign = _foreign(error, self.backend)
            if foreign is None and isinstance(error, BackendError):
                raise
            if foreign is None:
                self._report_bug(part, spec, error)
                return None
        raise foreign  # outside the handler: it does not get ours as its context

    def _report_bug(self, part: _core.Part, spec: PartSpec, error: Exception) -> None:
        """Let the part run plain and say so once; raise under ``config.strict``."""
        line = SourceLine(spec.code.co_filename, spec.line, spec.code.co_qualname)
        if config.strict:
            message = f"compiling {line.function or spec.code.co_name} at {line} failed: {error!r}"
            raise InternalError(message) from error
        self.cache.note(Problem(line, "BUG", "a bug in bcjit", repr(error)))
        part.skip = True
        once(
            get_logger("capture"),
            ("bug", line, type(error)),
            f"bug in bcjit: {line} runs as plain Python; please report this: {error!r}",
            exc_info=error,
        )

    def _compile(
        self, part: _core.Part, spec: PartSpec, func: FunctionType, closure: Closure, values: Values
    ) -> _core.Entry | None:
        selection = selected()
        if selection is not None and not _is_selected(spec, selection):
            part.skip = True
            return None
        generation = self.generation
        roots = Roots(values, func, closure)
        full = self.cache.is_full(part)
        self.cache.asked[spec] += 1
        if part.entries:
            note_miss(self.cache, spec, _line_of(spec), roots, compiled=not full)
        if full:
            # The entries stay; looking at each new variant would cost every call.
            if self.cache.has_seen_enough(spec):
                part.on_miss = None
            if self.generation != generation:
                part.on_miss = self.on_miss
            return None
        self.cache.captures += 1
        self.listing = decode(self.code)
        times = Times()
        try:
            with timed(times, "capture"):
                found = capture(func, closure, values, spec, self.settings)
            if _takes_frame(found) and not self.fullgraph:
                cause = found.end.cause  # type: ignore[union-attr]  # it breaks there
                self.refuse(part, cause.reason.code, cause.context, cause.line or _line_of(spec))
                return None
            made = self._make_entry(found, times)
        except (CannotRebuild, CannotResume) as error:
            self.refuse(part, "BRK012", str(error), _line_of(spec))
            return None
        if made is None:
            return None
        part.add(made)
        if self.generation != generation:
            # A reset since this began: it serves this call, and none to come. What a later reset finds it takes out.
            with contextlib.suppress(ValueError):
                part.remove(made)
            with contextlib.suppress(ValueError):
                self.cache.entries.remove(made.tag)
        return made

    def begins(self, step: str) -> None:
        """Say that a step of a compilation begins that may take long; a subclass shows it."""

    # ------------------------------------------------------------------ an entry
    def _make_entry(self, found: Capture, times: Times) -> _core.Entry | None:
        cause = found.end.cause if isinstance(found.end, BreakExit) else None
        if cause is not None and self.fullgraph and not _only_raises(found):
            raise GraphBreakError.from_break(cause)
        graph = found.graph
        line = _line_of(found.spec)
        with timed(times, "assembly"):
            cut = cut_guard(found)
            more = (
                overlap_guards(found, line) if cut is None else (*overlap_guards(found, line), cut)
            )
            guards = ordered((*found.guards, *more))
            tree = compile_guards(guards)
        nothing = not graph.calls and continuations_end(found)
        record = CacheEntry(
            spec=found.spec,
            line=line,
            guards=guards,
            graph=graph,
            captured=graph.count,
            backend=self.backend_name,
            cause=cause,
            effects=tuple(effect.text() for effect in found.end.state.effects),
            next_specs=(),
            loops=found.loops,
            plain=nothing,
            times=times,
        )
        artifacts = Artifacts(record)
        artifacts.guarded()
        if nothing:
            plain = self.part(found.spec).plain_code
            judged = _is_judged(self, found.spec)
            entry = _core.Entry(tree, plain, True, _never, record, None, judged)
            entry.plain = True
        else:
            entry = self._compiled_entry(found, tree, record, artifacts)
        artifacts.finished()
        record.attach(entry)
        self.cache.entries.append(record)
        loop = idle_loop(self.cache, record) if config.plain_loops else frozenset()
        return self._leave_to_python(record, loop) if loop else entry

    def _leave_to_python(self, record: CacheEntry, loop: frozenset[int]) -> _core.Entry | None:
        """Run a loop in which nothing is captured as it is; what comes behind it is a part again if that can be."""
        part = self.part(record.spec)
        found = loop_code(record.spec, loop, self.part)
        if found is None:
            self.refuse(part, "BRK025", "what comes behind it is not captured", record.line)
            return None
        code, behind = found
        self.cache.note(Problem(record.line, "BRK025", REASONS["BRK025"].title, ""))
        part.clear()
        entry = _core.Entry(compile_guards(()), code, False, _never, record)
        record.become_loop(behind)
        record.attach(entry)
        return entry

    def _compiled_entry(
        self, found: Capture, tree: _core.GuardTree, record: CacheEntry, artifacts: Artifacts
    ) -> _core.Entry:
        inputs = found.graph.inputs
        bailouts: list[BailOuts] = []

        def graph_call(outputs: tuple[Node | Expr, ...]) -> _core.GraphCall:
            found.graph.output(outputs)
            artifacts.captured(found.graph)
            records, end = _records(found)
            self.begins(f"backend {self.backend_name}")
            with timed(record.times, "backend"):
                function = _run_backend(self.backend, found)
            artifacts.compiled(found.graph, function)
            single = returning_value(function)
            function = function if single is None else single
            bailouts.append(
                BailOuts(found.graph, function, records, end, self.part, self.backend_name)
            )
            return _core.GraphCall(function, None, refuses_warnings(function), single is not None)

        with timed(record.times, "assembly"):
            residual = build_residual(found, inputs, graph_call, self.part, self)
        record.times.assembly -= record.times.backend  # which ran inside
        on_bailout = bailouts[0] if bailouts else _never
        record.next_specs = tuple(part.tag for part in residual.next_parts)  # type: ignore[attr-defined]
        artifacts.assembled(found.spec.code, residual.code)
        return _core.Entry(
            tree,
            residual.code,
            residual.returns,
            on_bailout,
            record,
            residual.direct,
            _is_judged(self, found.spec),
            # Where its truth were none after all, the part would be done again.
            None if bailouts and bailouts[0].resumes else residual.hand_over,
        )


def _is_judged(compiler: FunctionCompiler, spec: PartSpec) -> bool:
    """Whether the cost model decides if an entry is used: where the backend was ours to choose."""
    whole = spec.offset is None and not compiler.fullgraph
    return whole and config.cost_model and compiler.backend_name == "auto"


def _is_selected(spec: PartSpec, selection: Selection) -> bool:
    """Whether a bisection wants this part compiled."""
    line = _line_of(spec)
    words = {"file": line.filename, "line": line.lineno, "function": line.function}
    return selection.takes_part((line, spec.offset), **words)


def _line_of(spec: PartSpec) -> SourceLine:
    return SourceLine(spec.code.co_filename, spec.line, spec.code.co_qualname)


def _foreign(error: Exception, backend: str | backends.Backend) -> BaseException | None:
    """Return the exception of the program that struck while we worked, with its own traceback; None if it is ours."""
    cause = error.__cause__ if isinstance(error, BackendError) else error
    if cause is None:
        return None
    elsewhere = traceback_from_elsewhere(cause, backends.get_backend(backend))
    return None if elsewhere is None else cause.with_traceback(elsewhere)


def _run_backend(chosen: str | backends.Backend, found: Capture) -> Callable[..., object]:
    graph = found.graph
    if config.strict:
        graph.lint()
    backend = backends.get_backend(chosen)
    if config.optimize and getattr(backend, "optimizes", False):
        optimize(graph)
    examples = [found.input_values[node] for node in graph.inputs]
    selection = selected()
    if selection is not None:
        backend = backends.narrowed(backend, selection)
    return backends.checked(backend, graph, backends.run_backend(backend, graph, examples))


def _never(*_arguments: object) -> None:
    """Restart: the answer of entries that cannot fail behind a visible change."""
    return


def _only_raises(found: Capture) -> bool:
    """Whether a part breaks only because the program raises there: it fits in one graph all the same."""
    end = found.end
    if not isinstance(end, BreakExit):
        return False
    return end.cause.reason.code in RAISING or leads_to_raise(found.frame.listing, end.state.index)


def _takes_frame(found: Capture) -> bool:
    """Whether a part takes its frame, or its namespace: it must be the function's last, so it runs plain."""
    return isinstance(found.end, BreakExit) and found.end.cause.reason.code == "BRK026"


def _records(found: Capture) -> tuple[dict[Node, Record | None], Record | None]:
    """Turn the positions of a capture into records, and keep in the graph what they need."""
    if not any(effect.node is not None for effect in found.end.state.effects):
        return {}, None  # what residual code does comes behind the graph
    symbols = symbols_of(found.graph)
    owners = {node: graph for graph in found.graph.nested() for node in graph.nodes}
    made: dict[tuple[Position, ...], Record | None] = {}
    records: dict[Node, Record | None] = {}
    end = (found.end_position,)
    for node, positions in (*found.records.items(), (None, end)):
        if positions not in made:
            namespaces = tuple(FromSource(p.frame.globals_source) for p in positions)
            record = made[positions] = make_record(positions, namespaces)
            if record is None:
                # What is visible by then must not be done again, so there would be no way on after a failure.
                raise CannotRebuild("where to go on after a write")
            for operand in record.operands():
                _keep(owners, symbols, operand)
        if node is not None:
            records[node] = made[positions]
            for written in node.writes:  # what the call gives back once its warning is given
                _keep(owners, symbols, written)
    return records, made[end]


def _keep(
    owners: Mapping[Node, Graph],
    symbols: Mapping[Symbol, tuple[Node, int | None]],
    operand: Node | Expr,
) -> None:
    """Keep what a record needs in the graph that it belongs to: the whole one, or a body of a loop or branch."""
    needed = [operand] if isinstance(operand, Node) else [symbols[s][0] for s in operand.symbols()]
    for node in needed:
        owners[node].keep.add(node)
