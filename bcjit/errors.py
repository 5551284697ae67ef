"""The exceptions of bcjit, and the plain data they carry; it knows nothing of graphs, guards or bytecode.

User errors, code that cannot be captured, and our own bugs are three branches::

    Exception
    ├── BcjitError                       everything a user may want to catch
    │   ├── UsageError                   the call into bcjit is wrong
    │   │   ├── ArgumentError            also ValueError: a bad value
    │   │   │   └── ArgumentTypeError    also TypeError: a value of the wrong kind
    │   │   └── BackendNotFoundError     also ValueError: no backend has that name
    │   ├── GraphBreakError              ``fullgraph=True``, and the function does not fit in one graph
    │   ├── BackendError                 a backend failed, or returned something it must not
    │   └── InternalError                a bug in bcjit; shown under ``config.strict``, else logged once
    └── GraphBreak                       internal control flow: cut the graph here; users never see it

No exception of the user's program or of NumPy is ever wrapped in one of these.
A message says what failed, on which value, what was expected, and what to do.
"""

from __future__ import annotations

from bcjit.meta import SourceLine
from bcjit.records import dataclass

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "BackendError",
    "BackendNotFoundError",
    "BcjitError",
    "BreakReason",
    "GraphBreak",
    "GraphBreakError",
    "InternalError",
    "SourceLine",
    "UsageError",
]


@dataclass(frozen=True, slots=True)
class BreakReason:
    """One row of the table of graph-break reasons (the table itself is the symbolic interpreter's).

    Parameters
    ----------
    code
        Stable identifier, ``"BRK001"``.
    title
        A few words, the same each time; details go into the context of the break.
    explanation
        Why the graph is cut, in one or two sentences.
    hint
        What the user can do, empty when there is nothing to do.
    """

    code: str
    title: str
    explanation: str
    hint: str = ""


class BcjitError(Exception):
    """Base of every exception that bcjit raises on its own account."""


class UsageError(BcjitError):
    """bcjit was called in a way it does not accept."""


class ArgumentError(UsageError, ValueError):
    """An argument or a configuration field has a value that is not accepted."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument or a configuration field has a value of the wrong type."""


class BackendNotFoundError(UsageError, ValueError):
    """No backend is registered under a name.

    Parameters
    ----------
    name
        The name that was asked for.
    known
        The names there are.
    similar
        Those of `known` that look like `name`.
    """

    def __init__(self, name: str, known: tuple[str, ...], similar: tuple[str, ...] = ()) -> None:
        super().__init__(name, known, similar)
        self.name = name
        self.known = known
        self.similar = similar

    def __str__(self) -> str:
        meant = f" Did you mean {' or '.join(map(repr, self.similar))}?" if self.similar else ""
        return (
            f"no backend is named {self.name!r}; the backends are {', '.join(self.known)}.{meant}"
            " Give one of these names, a callable, or add yours with bcjit.register_backend."
        )


class GraphBreak(Exception):
    """Raised by a handler of the symbolic interpreter that cannot go on: the graph is cut there.

    Parameters
    ----------
    reason
        The row of the table of reasons.
    context
        What it was about, for example ``"np.nonzero(x), x: float64[s0]"``.
    line
        The user's line, None when it is not known.
    """

    def __init__(
        self, reason: BreakReason, context: str = "", line: SourceLine | None = None
    ) -> None:
        super().__init__(reason, context, line)
        self.reason = reason
        self.context = context
        self.line = line

    def __str__(self) -> str:
        return _break_text(self.reason, self.context, self.line)


class GraphBreakError(BcjitError):
    """A function compiled with ``fullgraph=True`` does not fit in one graph.

    Takes the same three values as `GraphBreak`, and has the row's `code`, `title`, `explanation` and
    `hint` as attributes.
    """

    def __init__(
        self, reason: BreakReason, context: str = "", line: SourceLine | None = None
    ) -> None:
        super().__init__(reason, context, line)
        self.reason = reason
        self.context = context
        self.line = line

    @classmethod
    def from_break(cls, graph_break: GraphBreak) -> GraphBreakError:
        """Make the user's error from the internal one."""
        return cls(graph_break.reason, graph_break.context, graph_break.line)

    @property
    def code(self) -> str:
        """The code of the reason, ``"BRK001"``."""
        return self.reason.code

    @property
    def title(self) -> str:
        """The title of the reason."""
        return self.reason.title

    @property
    def explanation(self) -> str:
        """Why the graph is cut there."""
        return self.reason.explanation

    @property
    def hint(self) -> str:
        """What to do, or an empty string."""
        return self.reason.hint

    def __str__(self) -> str:
        return (
            _break_text(self.reason, self.context, self.line)
            + "\n  fullgraph=True asks for one graph; leave it out to let the graph be split here."
        )


class BackendError(BcjitError):
    """A backend raised, or returned something that is not a callable over the graph's inputs.

    Parameters
    ----------
    backend
        Name of the backend.
    problem
        What it did, as the rest of a sentence: ``"returned None instead of a callable"``.
    """

    def __init__(self, backend: str, problem: str) -> None:
        super().__init__(backend, problem)
        self.backend = backend
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"backend {self.backend!r} {self.problem}; a backend is called as"
            " backend(graph, example_inputs) and must return a callable that takes the graph's inputs"
            " and returns a tuple of its outputs"
        )


class InternalError(BcjitError):
    """Something inside bcjit is wrong. The frame it happened in runs as plain Python."""


def _break_text(reason: BreakReason, context: str, line: SourceLine | None) -> str:
    where = f"at {line}" if line is not None else ""
    rows = [f'graph break {reason.code} "{reason.title}"']
    rows.extend(
        f"  {row}"
        for row in (
            " ".join(filter(None, (context, where))),
            reason.explanation,
            f"Hint: {reason.hint}" if reason.hint else "",
        )
        if row
    )
    return "\n".join(rows)
