"""A graph as the source of one Python function, NumPy bit for bit; it must not know what a target computes.

Two regions. Before the first effect (write or draw) a failure may run everything again, so a value that is used once
is nested into the expression that uses it: NumPy then reuses the buffers of temporaries and frees them as early as in
the user's own code. From the first effect on there is one node a line, so that a failure's line is its node.

The function's globals hold ``__warningregistry__ = 0``: a warning that Python would attribute to the graph raises
TypeError (CPython ``Python/_warnings.c``, ``warn_explicit``: "'registry' must be a dict or None").
"""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import field, replace
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from bcjit.errors import InternalError
from bcjit.fx_graph.expressions import Expression, Renderer, warns_here
from bcjit.fx_graph.node import Node, NodeKind
from bcjit.meta import ArrayMeta
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.dims import Symbol
    from bcjit.fx_graph.graph import Graph

__all__ = [
    "CodegenResult", "ForcedFailure", "GraphFunction", "is_generated", "locate_failure", "refuses_warnings",
    "returning_value", "to_callable", "to_source",
]  # fmt: skip

GraphFunction: TypeAlias = FunctionType

# Deeper nesting helps nothing, and the parser takes at most 200 brackets (CPython Parser/tokenizer.h, MAXLEVEL).
_DEEPEST: Final = 20
_RESULT_KEY: Final = "__bcjit_codegen__"
_counter: Final = itertools.count()


class ForcedFailure(Exception):
    """Raised by generated code where a test asked for a failure."""


@dataclass(frozen=True, slots=True)
class CodegenResult:
    """The source of a graph's function and what it needs."""

    source: str
    name: str  # of the function
    namespace: dict[str, object]  # its globals
    line_to_node: dict[int, Node]  # a line's node; nodes nested in a line belong to the outermost
    variables: dict[str, Node]  # local variable -> node
    refuses_warnings: (
        bool  # whatever would warn raises TypeError instead, and can be done again then
    )


@dataclass(frozen=True, slots=True)
class _Statement:
    """A line that runs one node."""

    node: Node
    text: str
    reads: frozenset[Node]  # nodes whose variables it reads
    symbols: tuple[Symbol, ...]  # symbols it needs
    binds: bool  # whether it assigns the node's variable


@dataclass(slots=True)
class _Plan:
    """What is nested, what is bound, in which order."""

    renderer: Renderer
    keep: frozenset[Node]  # must be variables to the end
    sources: set[Node]  # must be variables: symbols are read from them
    forced: Node | None  # fail just before this node
    statements: list[_Statement] = field(default_factory=list)


def to_source(
    graph: Graph, *, keep: Collection[Node] | None = None, force_failure_at: int | None = None
) -> CodegenResult:
    """Return the source of the graph's function.

    Parameters
    ----------
    keep
        Nodes whose values a bail-out record needs: they are variables, and live to the end. ``graph.keep`` by default.
    force_failure_at
        Raise `ForcedFailure` just before this call of ``graph.calls`` (their number: before the output; beyond: never).
        There is then one node a line everywhere, so that there is a moment before each.
    """
    output = graph.output_node
    if output is None:
        raise InternalError(f"{graph!r} has no output; code is made of complete graphs")
    steps = (*graph.calls, output)
    forced = None
    if force_failure_at is not None and force_failure_at < len(steps):
        forced = steps[force_failure_at]
    kept = frozenset(graph.keep if keep is None else keep)
    plan = _Plan(Renderer(graph), kept, graph.symbol_sources(), forced)
    nestable = _nestable(graph, plan) if forced is None else frozenset()
    for node in steps:
        _place(plan, node, nest=node in nestable)
    return _write(graph, plan)


def _nestable(graph: Graph, plan: _Plan) -> frozenset[Node]:
    """Return the nodes that may stand inside the expression of their user.

    The value is used once, no effect lies between it and its use, and no visible effect comes before: running it
    later, just before its use, changes nothing but which of several failures comes first, and after any of them the
    part starts again.
    """
    counts = Counter(used for node in graph.nodes for used in node.uses())
    variables = plan.keep | plan.sources
    found: set[Node] = set()
    stretch: set[Node] = set()  # calls since the last effect
    for node in graph.nodes:
        if node.visible:
            # Nothing is nested into it: its failure must be told from its operands'.
            break
        if node.kind in (NodeKind.CALL, NodeKind.OUTPUT):
            found.update(
                used
                for used in node.uses()
                if used in stretch and counts[used] == 1 and used not in variables
            )
        if node.has_effect:
            stretch.clear()
        elif node.kind is NodeKind.CALL:
            stretch.add(node)
    return frozenset(found)


def _place(plan: _Plan, node: Node, *, nest: bool) -> None:
    """Write one node: nested into its user, or as a statement."""
    if node.kind not in (NodeKind.CALL, NodeKind.OUTPUT):
        raise InternalError(f"{node.kind.value} nodes cannot be run yet: {node.name}")
    if node.kind is NodeKind.OUTPUT:
        value = plan.renderer.expression(node)
        _add(plan, node, f"return {value.text}", value, binds=False)
        return
    effect = plan.renderer.effect(node)
    if effect is not None:
        _add(plan, node, effect.text, effect, binds=node.has_value)
        return
    value = plan.renderer.expression(node)
    if nest and value.depth < _DEEPEST:
        plan.renderer.nested[node] = value
        return
    binds = bool(node.users) or node in plan.keep or node in plan.sources
    _add(plan, node, f"{node.name} = {value.text}" if binds else value.text, value, binds=binds)


def _add(plan: _Plan, node: Node, text: str, value: Expression, *, binds: bool) -> None:
    plan.statements.append(_Statement(node, text, value.reads, value.symbols, binds))


def _write(graph: Graph, plan: _Plan) -> CodegenResult:
    renderer = plan.renderer
    name = renderer.new_name("graph")
    variables = {node.name: node for node in graph.inputs}
    lines = [f"def {name}({', '.join(variables)}):"]
    line_to_node: dict[int, Node] = {}
    dead_after = _last_reads(plan)
    symbols_read: set[Symbol] = set()
    for index, statement in enumerate(plan.statements):
        prologue = [
            f"{renderer.symbol_name(symbol)} = {graph.symbols[symbol][0].name}.shape[{axis}]"
            for symbol in statement.symbols
            if symbol not in symbols_read and (axis := graph.symbols[symbol][1]) is not None
        ]
        symbols_read.update(statement.symbols)
        if statement.node is plan.forced:
            prologue.append(f"raise {renderer.bind(ForcedFailure, 'ForcedFailure')}")
        text = statement.text
        if dead_after[index]:
            text += f"; del {', '.join(dead_after[index])}"
        if statement.binds:
            variables[statement.node.name] = statement.node
        for line in (*prologue, text):
            lines.append(f"    {line}")
            line_to_node[len(lines)] = statement.node
    namespace = {
        **renderer.namespace, "__name__": "bcjit.graph", "__warningregistry__": 0,
    }  # fmt: skip
    source = "\n".join(lines) + "\n"
    return CodegenResult(source, name, namespace, line_to_node, variables, _refuses(graph))


def _refuses(graph: Graph) -> bool:
    """Whether all that would warn raises instead, and can then be done again.

    A draw checks its arguments in C code, and then draws. What writes and fails must say by its flag that the write is done, unless
    all is run again: where no draw can be seen, a write into an array of the graph's own.
    """
    drawn = any(node.draws and node.visible for node in graph.calls)
    return all(
        (not node.can_fail or node.draws or warns_here(node))
        and not (node.writes and (node.visible or (drawn and node.can_fail)))
        for node in graph.calls
    )


def _last_reads(plan: _Plan) -> list[list[str]]:
    """Return, for each statement, the variables that nothing reads any more.

    Only arrays are worth it, inputs belong to the caller, and at the last call or the return the function's own
    end is soon enough.
    """
    last: dict[Node, int] = {}
    for index, statement in enumerate(plan.statements):
        if statement.binds:
            last[statement.node] = index
        last.update(dict.fromkeys(statement.reads, index))
    dead: list[list[str]] = [[] for _ in plan.statements]
    for node, index in last.items():
        big = node.multi or any(isinstance(m, ArrayMeta) and not m.is_scalar for m in node.meta)
        ours = node.kind is NodeKind.CALL and node not in plan.keep
        if ours and big and index < len(plan.statements) - 2:
            dead[index].append(node.name)
    return dead


def to_callable(
    graph: Graph, *, keep: Collection[Node] | None = None, force_failure_at: int | None = None
) -> GraphFunction:
    """Return the function: it takes the graph's inputs in order and returns the tuple of its outputs.

    Its source is in `linecache` while it lives. See `to_source` for the parameters, `locate_failure` for failures.
    """
    return _function(to_source(graph, keep=keep, force_failure_at=force_failure_at))


def is_generated(function: Callable[..., object]) -> bool:
    """Whether a callable is a graph's own function, or wraps one (as ``__wrapped__``)."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return isinstance(function, FunctionType) and _RESULT_KEY in function.__dict__


def returning_value(function: Callable[..., object]) -> GraphFunction | None:
    """Return what does the same as a graph's function of one output, but returns the output itself, without a tuple.

    None when `function` is no such function.
    """
    result = _result_of(function)
    if result is None:
        return None
    lines, _, last = result.source.rstrip("\n").rpartition("\n")
    if not last.endswith(",)"):  # how only a tuple of one ends
        return None
    value = last.removeprefix("    return (").removesuffix(",)")
    return _function(replace(result, source=f"{lines}\n    return {value}\n"))


def _function(result: CodegenResult) -> GraphFunction:
    filename = f"<bcjit graph {next(_counter)}>"
    made: dict[str, object] = {}
    # The function is not put into its own globals: that would be a reference cycle.
    exec(compile(result.source, filename, "exec", dont_inherit=True), result.namespace, made)
    function = cast("FunctionType", made[result.name])
    function.__dict__[_RESULT_KEY] = result
    # No modification time: linecache.checkcache leaves such entries alone.
    lines = result.source.splitlines(keepends=True)
    linecache.cache[filename] = (len(result.source), None, lines, filename)
    weakref.finalize(function, linecache.cache.pop, filename, None).atexit = False
    return function


def refuses_warnings(function: Callable[..., object]) -> bool:
    """Whether this is a graph's function in which every warning of NumPy's raises, and what raises it can be done again.

    So it is where C code that the function itself calls would warn. Python code of NumPy's has frames of its own,
    to which its warnings belong.
    """
    result = _result_of(function)
    return result is not None and result.refuses_warnings


def _result_of(function: Callable[..., object]) -> CodegenResult | None:
    if not isinstance(function, FunctionType):
        return None
    return cast("CodegenResult | None", function.__dict__.get(_RESULT_KEY))


def locate_failure(
    exc: BaseException, function: Callable[..., object]
) -> tuple[Node, dict[Node, object]] | None:
    """Say which node of a graph's function raised `exc`, and the values of the nodes bound so far.

    Before the first effect the node is the outermost of its line, and values nested into others are missing. The node
    itself is never among the values, inputs always are, constants (their own values) are not. The frame's variables are released: this can be asked once.
    None when the exception did not come from a run of this function. A callable that wraps a graph's function has it
    as ``__wrapped__``.
    """
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    result = _result_of(function)
    if result is None or not isinstance(function, FunctionType):
        return None
    traceback = exc.__traceback__
    while traceback is not None and traceback.tb_frame.f_code is not function.__code__:
        traceback = traceback.tb_next
    if traceback is None:
        return None
    node = result.line_to_node.get(traceback.tb_lineno)
    if node is None:
        return None
    return node, _values(result, node, traceback)


def _values(result: CodegenResult, failed: Node, traceback: TracebackType) -> dict[Node, object]:
    frame = traceback.tb_frame
    variables = frame.f_locals
    bound = dict(variables)
    frame.clear()
    if isinstance(variables, dict):
        variables.clear()  # before 3.13 a snapshot that the frame keeps (CPython Objects/frameobject.c)
    return {
        node: bound[name]
        for name, node in result.variables.items()
        if node is not failed and name in bound
    }
