"""Why no entry fitted, and that a limit was reached: into the code cache and the log channel ``recompiles``."""

from __future__ import annotations

from bcjit.code_cache import CodeCache, Miss
from bcjit.errors import SourceLine
from bcjit.guards import Failure, Roots, failure, first_failing
from bcjit.logs import get_logger, once
from bcjit.symbolic_vm import PartSpec

__all__ = ["note_miss", "note_part_limit"]


def note_miss(
    cache: CodeCache, spec: PartSpec, line: SourceLine, roots: Roots, *, compiled: bool
) -> None:
    """Remember why no entry of a part fitted: the guard that failed of the one that came nearest.

    ``line`` is where the part begins; ``compiled`` is False where there are as many entries as there may be.
    """
    nearest: tuple[int, Failure | None] = (-1, None)
    for known in cache.of_part(spec):
        failing = first_failing(known.guards, roots)
        if failing > nearest[0]:
            nearest = (failing, failure(known.guards[failing], roots))
    miss = Miss(line, nearest[1], compiled)
    cache.miss(spec, miss)
    logger = get_logger("recompiles")
    if compiled:
        logger.info("%s at %s is compiled again: %s", line.function, line, miss.sentence)
        return
    note = cache.limit_note(spec)
    if note is not None:
        once(logger, ("limit", line), note.text())


def note_part_limit(cache: CodeCache, spec: PartSpec, line: SourceLine, start: SourceLine) -> None:
    """Remember that a part is one too many of its code object, which begins at ``start``."""
    cache.leave_plain(spec, line)
    note = cache.parts_note()
    if note is not None:
        once(get_logger("recompiles"), ("part limit", start), note.text())
