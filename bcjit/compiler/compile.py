"""Joins the stages: capture, backend, residual code, cache entry. The only place that does.

A `FunctionCompiler` serves one function with one set of options: it is what C parts call when no entry fits. Whatever goes wrong inside is
a bug of ours: it is logged once and the frame runs plain (raised under ``config.strict``).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from types import CellType, CodeType, FunctionType

from bcjit import _core, backends
from bcjit.bytecode import CannotResume, Listing, decode, resume_code
from bcjit.code_cache import CodeCache, Problem, Times
from bcjit.compiler.entry import make_entry
from bcjit.compiler.foreign import traceback_from_elsewhere
from bcjit.compiler.misses import note_miss, note_part_limit
from bcjit.compiler.recipes import CannotRebuild
from bcjit.compiler.timing import timed
from bcjit.config import config
from bcjit.errors import BackendError, GraphBreakError, InternalError, SourceLine
from bcjit.guards import (
    Roots,
    Unavailable,
)
from bcjit.lazy import Unreadable
from bcjit.logs import get_logger, once
from bcjit.selection import Selection, selected
from bcjit.symbolic_vm import (
    REASONS,
    BreakExit,
    Capture,
    PartSpec,
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
    options
        Of the backend, which has said that it takes them.
    family
        The compilers of all functions that are compiled for one's sake, those that it calls and those that they call:
        one for each function, whoever calls it, and itself again where it recurses. By the identity of the code, which
        each holds: equal code objects may be of different files.
    """

    def __init__(
        self,
        code: CodeType,
        backend: str | backends.Backend,
        *,
        fullgraph: bool,
        settings: Settings,
        options: Mapping[str, object] = backends.NO_OPTIONS,
        family: dict[int, FunctionCompiler] | None = None,
    ) -> None:
        self.code = code
        self.backend = backend
        self.backend_name = backends.backend_name(backend)
        self.fullgraph = fullgraph
        self.settings = settings
        self.options = options
        self.cache = CodeCache()
        self.family = {id(code): self} if family is None else family
        self.callees = 0  # that were made for this function
        self.generation = 0  # counts resets, for captures that began before one
        self.listing: Listing | None = None  # held for all parts, so that the code is decoded once
        self.refusal = refusal(code)
        self.first = self.part(PartSpec(code))
        self._apply_refusal()

    # ------------------------------------------------------------------ the function as a whole
    def for_callee(self, code: CodeType) -> FunctionCompiler | None:
        """Return the compiler of a function that this one calls, with the same options; None beyond a limit."""
        found = self.family.get(id(code))
        if found is None and self.callees < config.part_limit:
            self.callees += 1
            made = FunctionCompiler(
                code, self.backend, fullgraph=self.fullgraph, settings=self.settings,
                options=self.options, family=self.family,
            )  # fmt: skip
            found = self.family.setdefault(id(code), made)
        return found

    def fresh(self) -> FunctionCompiler:
        """Return a compiler of the same function that has seen no call, prints nothing and breaks where it must."""
        quiet = "eager" if self.backend_name == "print" else self.backend
        return FunctionCompiler(
            self.code, quiet, fullgraph=False, settings=self.settings, options=self.options
        )

    def caches(self) -> list[CodeCache]:
        """Return the caches of this function and of those compiled for its sake."""
        return [compiler.cache for compiler in tuple(self.family.values())]

    def reset(self) -> None:
        """Forget what was compiled of the whole family; refusals stay."""
        # The family stays: parts may be running, and are found again through their code.
        for compiler in tuple(self.family.values()):
            compiler.forget()

    def forget(self) -> None:
        """Forget what was compiled of this function alone."""
        self.generation += 1
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
        """Let go of everything, the family's too: the compiled function is gone."""
        family = tuple(self.family.values())
        self.family.clear()
        for compiler in family:
            compiler.let_go()

    def let_go(self) -> None:
        """Let go of everything of this function alone."""
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
                note_part_limit(self.cache, spec, spec.source_line, PartSpec(self.code).source_line)
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
        except (RecursionError, MemoryError, Unavailable, Unreadable):
            # Stack or memory is nearly full, something was changed while it was looked at, or a module of ours cannot be read now: plain
            # this time.
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
        line = spec.source_line
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
            note_miss(self.cache, spec, spec.source_line, roots, compiled=not full)
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
                self.refuse(part, cause.reason.code, cause.context, cause.line or spec.source_line)
                return None
            made = make_entry(self, found, times)
        except (CannotRebuild, CannotResume) as error:
            self.refuse(part, "BRK012", str(error), spec.source_line)
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


def _is_selected(spec: PartSpec, selection: Selection) -> bool:
    """Whether a bisection wants this part compiled."""
    line = spec.source_line
    words = {"file": line.filename, "line": line.lineno, "function": line.function}
    return selection.takes_part((line, spec.offset), **words)


def _foreign(error: Exception, backend: str | backends.Backend) -> BaseException | None:
    """Return the exception of the program that struck while we worked, with its own traceback; None if it is ours."""
    cause = error.__cause__ if isinstance(error, BackendError) else error
    if cause is None:
        return None
    elsewhere = traceback_from_elsewhere(cause, backends.get_backend(backend))
    return None if elsewhere is None else cause.with_traceback(elsewhere)


def _takes_frame(found: Capture) -> bool:
    """Whether a part takes its frame, or its namespace: it must be the function's last, so it runs plain."""
    return isinstance(found.end, BreakExit) and found.end.cause.reason.code == "BRK026"
