"""What is made on the way to an entry, as texts for people: for the log channels and for dumps; gathered only where somebody asks."""

from __future__ import annotations

import dis
import inspect
import io
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Final

from bcjit import _core
from bcjit.config import config
from bcjit.fx_graph import source_of
from bcjit.guards import describe
from bcjit.lazy import Later
from bcjit.logs import INFO, get_logger

if TYPE_CHECKING:
    from bcjit import dumps
    from bcjit.bytecode import sketch
    from bcjit.code_cache import CacheEntry
    from bcjit.fx_graph import Graph
else:
    # Only what is dumped needs them.
    dumps, sketch = Later("bcjit.dumps"), Later("bcjit.bytecode.sketch")

__all__ = ["Artifacts", "kernel_text"]

_MS: Final = 1000.0


class Artifacts:
    """The texts of one entry, told to the channels as they are made and dumped at the end.

    Parameters
    ----------
    record
        The entry that is being made.
    """

    def __init__(self, record: CacheEntry) -> None:
        self.record = record
        self.files: dict[str, str] = {}
        self._wanted = bool(config.dump)
        self._before = ""  # the graph as captured

    def _is_wanted(self, channel: str) -> bool:
        return self._wanted or get_logger(channel).is_enabled_for(INFO)

    def _tell(self, channel: str, what: str, text: str, file: str = "") -> None:
        line = self.record.line
        get_logger(channel).info("%s at %s%s:\n%s", line.function, line, what, text)
        if file:
            self.files[file] = text

    def guarded(self) -> None:
        """Take the guards, and why the graph was cut."""
        record = self.record
        if self._is_wanted("guards"):
            held = tuple(dict.fromkeys(describe(guard) for guard in record.guards))
            line = record.line
            get_logger("guards").info("%s at %s: %s", line.function, line, "; ".join(held))
            self.files["guards.txt"] = "\n".join(held)
        if record.cause is not None:
            get_logger("breaks").info("%s", record.cause)

    def captured(self, graph: Graph) -> None:
        """Take a graph before the passes."""
        if self._is_wanted("graph"):
            self._before = graph.text()
            self._tell("graph", "", self._before, "graph.txt")

    def compiled(self, graph: Graph, function: Callable[..., object]) -> None:
        """Take a graph after the passes, and what a backend made of it."""
        if self._is_wanted("graph"):
            after = graph.text()
            if after != self._before:
                self._tell("graph", " after the passes", after, "graph_after_passes.txt")
        if self._is_wanted("kernels"):
            self._tell("kernels", f" by {self.record.backend}", kernel_text(function), "kernel.py")

    def assembled(self, original: CodeType, residual: CodeType) -> None:
        """Take the code that the program has and the code that runs instead."""
        if self._is_wanted("bytecode"):
            self._tell("bytecode", ", original", _disassembled(original), "original.txt")
            self._tell("bytecode", ", residual", _disassembled(residual), "residual.txt")
        if self._wanted:
            self.files["residual.py"] = sketch.sketch(residual, _constant_name)

    def finished(self) -> None:
        """Tell the times, and write what is to be dumped."""
        record = self.record
        if self._is_wanted("time"):
            times = record.times
            parts = {
                "capture": times.capture, "backend": times.backend, "assembly": times.assembly,
            }  # fmt: skip
            parts["total"] = sum(parts.values())
            text = ", ".join(f"{what} {spent * _MS:.2f} ms" for what, spent in parts.items())
            get_logger("time").info("%s at %s: %s", record.line.function, record.line, text)
            self.files["summary.txt"] = _summary(record, text)
        if self._wanted:
            code = record.spec.code
            self.files["original.py"] = _source(code)
            self.files.setdefault("original.txt", _disassembled(code))
            dumps.write(code.co_qualname.replace("<locals>.", ""), self.files)


def kernel_text(function: Callable[..., object]) -> str:
    """Return what a backend made of a graph: its attribute `source`, the source of a generated function, else its repr."""
    found = getattr(function, "source", None) or source_of(function)
    return found if isinstance(found, str) else f"# {function!r}"


def _disassembled(code: CodeType) -> str:
    stream = io.StringIO()
    dis.dis(code, file=stream, depth=0)
    return stream.getvalue()


def _source(code: CodeType) -> str:
    try:
        return inspect.getsource(code)
    except (OSError, TypeError, SyntaxError):  # no file, or another one by now
        return ""


def _constant_name(value: object) -> str | None:
    """Name what residual code holds of ours."""
    if type(value) is _core.GraphCall:
        return "graph"
    if type(value) is _core.Part:
        return f"part_from_line_{getattr(value.tag, 'line', 0)}"
    return None


def _summary(record: CacheEntry, times: str) -> str:
    spec = record.spec
    rows = [
        f"{record.line.function}, {record.line.filename}:{record.line.lineno}",
        "the whole function"
        if spec.offset is None
        else f"from byte {spec.offset} of its code, with {', '.join(spec.value_names) or 'no value'}",
        f"backend {record.backend}{f' ({record.options})' * bool(record.options)}, {record.captured} node{'s' * (record.captured != 1)} captured",
        f"ends: {record.cause}" if record.cause is not None else "ends: returns",
        *(f"goes on at line {following.line}" for following in record.next_specs),
        *(f"effect: {effect}" for effect in record.effects),
        *(loop.text() for loop in record.loops),
        times,
    ]
    return "\n".join(rows)
