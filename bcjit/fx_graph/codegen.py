"""A graph as the source of one Python function, NumPy bit for bit; it must not know what a target computes.

The bodies of loops and branches stand in the same function: ``for``, ``while`` and ``if`` over variables (`places`, `statements`).

Two regions. Before the first effect (write or draw) a failure may run everything again, so a value that is used once
is nested into the expression that uses it: NumPy then reuses the buffers of temporaries and frees them as early as in
the user's own code. From the first effect on, and in all of a loop with a visible one, there is one node a line, so that a failure's line is its
node.

The function's globals hold ``__warningregistry__ = 0``: a warning that Python would attribute to the graph raises
TypeError (CPython ``Python/_warnings.c``, ``warn_explicit``: "'registry' must be a dict or None").
"""

from __future__ import annotations

import itertools
import linecache
import operator
import weakref
from collections.abc import Callable, Collection, Mapping
from functools import partial
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Final, TypeAlias, cast

import numpy as np

from bcjit.dims import Expr
from bcjit.errors import InternalError
from bcjit.fx_graph.buffers import Buffers
from bcjit.fx_graph.expressions import Renderer, size_text, warns_here
from bcjit.fx_graph.node import Node, NodeKind, item_of
from bcjit.fx_graph.places import Places
from bcjit.fx_graph.sight import values_in_sight
from bcjit.fx_graph.statements import ForcedFailure, Line, write_lines
from bcjit.records import dataclass, replace

if TYPE_CHECKING:
    from bcjit.dims import Dim
    from bcjit.fx_graph.buffers import Plan, Planner
    from bcjit.fx_graph.graph import Graph

__all__ = [
    "CodegenResult", "ForcedFailure", "GraphFunction", "is_generated", "locate_failure", "refuses_warnings",
    "returning_value", "source_of", "to_callable", "to_source",
]  # fmt: skip

GraphFunction: TypeAlias = FunctionType

_RESULT_KEY: Final = "__bcjit_codegen__"
_counter: Final = itertools.count()


@dataclass(frozen=True, slots=True)
class Way:
    """What is known of the variables on one way through a graph's function."""

    end: int  # the first line behind it
    places: Places  # the variables of nodes
    assigned: dict[Node, frozenset[str]]  # the output of a body -> variables that its end assigns
    stored: frozenset[Node] = frozenset()  # whose memory other calls may have taken since


@dataclass(frozen=True, slots=True)
class CodegenResult:
    """The source of a graph's function and what it needs."""

    source: str
    name: str  # of the function
    namespace: dict[str, object]  # its globals
    line_to_node: dict[int, Node]  # a line's node; nodes nested in a line belong to the outermost
    ways: tuple[Way, ...]  # through the function, in the order of their lines
    refuses_warnings: (
        bool  # whatever would warn raises TypeError instead, and can be done again then
    )
    origin: Mapping[Node, Node] | None = None  # what `locate_failure` speaks of instead of nodes


def to_source(
    graph: Graph,
    *,
    keep: Collection[Node] | None = None,
    force_failure_at: int | None = None,
    planner: Planner | None = None,
) -> CodegenResult:
    """Return the source of the graph's function.

    Parameters
    ----------
    keep
        Nodes whose values a bail-out record needs: they are variables, and live to the end, those in a loop to the end of their
        turn. ``keep`` of the graph and all its bodies by default.
    force_failure_at
        Raise `ForcedFailure` just before this call of ``graph.steps`` (their number: before the output; beyond: never); in a
        loop when it is first reached. Before what follows, where the call only asks which way a loop was left: nothing can happen between these. There is then one node a line everywhere, so that there is a moment before each.
    planner
        Plans in which buffers calls write; where its test holds, a call goes that way.
    """
    output = graph.output_node
    if output is None:
        raise InternalError(f"{graph!r} has no output; code is made of complete graphs")
    steps = (*graph.steps, output)
    forced = None
    if force_failure_at is not None and force_failure_at < len(steps):
        forced = next(node for node in steps[force_failure_at:] if not _is_no_moment(graph, node))
    places = Places(graph, keep, forced)
    renderer = Renderer(places)
    name = renderer.new_name("graph")
    inputs = ", ".join(node.name for node in graph.inputs)
    lines, assigned = write_lines(places, renderer)
    ways: list[Way] = []
    if planner is not None and forced is None and graph.inputs:
        planned = _planned(graph, keep, planner, renderer)
        if planned is not None:
            before, way = planned
            lines = [*before, *lines]
            ways.append(way)
    ways.append(Way(len(lines) + 2, places, assigned))
    rows = [f"def {name}({inputs}):", *(f"    {'    ' * line.depth}{line.text}" for line in lines)]
    line_to_node = {number: line.node for number, line in enumerate(lines, 2)}
    namespace = {
        **renderer.namespace, "__name__": "bcjit.graph", "__warningregistry__": 0,
    }  # fmt: skip
    source = "\n".join(rows) + "\n"
    return CodegenResult(source, name, namespace, line_to_node, tuple(ways), _refuses(graph))


def _planned(
    graph: Graph, keep: Collection[Node] | None, planner: Planner, beside: Renderer
) -> tuple[list[Line], Way] | None:
    """Return the lines that use buffers, under the test for which they hold."""
    candidates = planner.candidates(graph)
    if not candidates:
        return None
    places = Places(graph, keep, None, candidates)
    plan = planner.plan(places, candidates)
    if plan is None:
        return None
    stored_in = [-1 if one.buffer is None else one.buffer for one in plan.calls.values()]
    number = max(len(plan.scratch), 1 + max(stored_in))  # those behind it leave the graph
    buffers = Buffers(plan.calls, tuple(beside.new_name("buffer") for _ in range(number)))
    buffers.runs = {node: run for run in plan.runs for node in (*run.nodes, *run.views)}
    buffers.threads = plan.threads
    # A failure in front of every call is one of an input: nothing has happened.
    start = graph.inputs[0]
    taking: list[Line] = []
    if plan.scratch:
        held, outputs = beside.new_name("held"), beside.new_name("outputs")
        take, give = beside.bind(plan.pool.take, "take"), beside.bind(plan.pool.give, "give")
        buffers.closing = outputs, f"{give}({held})"
        shapes = ", ".join(_shape_text(graph, scratch.shape) for scratch in plan.scratch)
        names = ", ".join(buffers.names[: len(plan.scratch)])
        taking.append(Line(1, f"{held} = {take}(({shapes},))", start))
        taking.append(Line(1, f"{names}, = {held}", start))
    written, assigned = write_lines(places, Renderer(places, buffers, beside))
    inner = [Line(line.depth + 1, line.text, line.node) for line in written]
    lines = [Line(0, f"if {_test_text(graph, plan)}:", start), *taking, *inner]
    stored = frozenset(node for node, one in plan.calls.items() if one.buffer is not None)
    return lines, Way(len(lines) + 2, places, assigned, stored)


def _test_text(graph: Graph, plan: Plan) -> str:
    size = f"{plan.size.name}.size" if isinstance(plan.size, Node) else size_text(graph, plan.size)
    parts = [f"{size} >= {plan.smallest}"]
    parts += [f"{size_text(graph, one)} == {size_text(graph, other)}" for one, other in plan.equal]
    parts += [f"{node.name}.flags.c_contiguous" for node in plan.contiguous]
    return " and ".join(parts)


def _shape_text(graph: Graph, shape: tuple[Dim, ...]) -> str:
    return f"({''.join(f'{size_text(graph, dim)}, ' for dim in shape)})"


def _is_no_moment(graph: Graph, node: Node) -> bool:
    """Whether a node only reads a result of a loop or branch, or asks for its status: what cannot fail there."""
    if item_of(node) is not None:
        return True
    if node.kind is NodeKind.COND and isinstance(node.args[0], Node):
        return _is_no_moment(graph, node.args[0])  # on the way a loop was left
    if node.can_fail or node.target is not operator.eq or not isinstance(node.args[0], Expr):
        return False
    sources = [
        one.symbols[symbol][0]
        for one in graph.nested()
        for symbol in node.args[0].symbols()
        if symbol in one.symbols
    ]
    return any((item_of(source) or (None, 1))[1] == 0 for source in sources)


def _refuses(graph: Graph) -> bool:
    """Whether all that would warn raises instead, and can then be done again.

    A draw checks its arguments in C code, and then draws. What writes and fails must say by its flag that the write is done, unless
    all is run again: where no draw can be seen, a write into an array of the graph's own.
    """
    calls = [node for node in graph.all_calls if not node.bodies]
    drawn = any(node.draws and node.visible for node in calls)
    return all(
        (not node.can_fail or node.draws or warns_here(node))
        and not (node.writes and (node.visible or (drawn and node.can_fail)))
        for node in calls
    )


def to_callable(
    graph: Graph,
    *,
    keep: Collection[Node] | None = None,
    force_failure_at: int | None = None,
    origin: Mapping[Node, Node] | None = None,
    planner: Planner | None = None,
) -> GraphFunction:
    """Return the function: it takes the graph's inputs in order and returns the tuple of its outputs.

    Its source is in `linecache` while it lives. See `to_source` for the parameters, `locate_failure` for failures: it speaks of the
    nodes of another graph, of which this one is an edited copy, where `origin` has them.
    """
    made = to_source(graph, keep=keep, force_failure_at=force_failure_at, planner=planner)
    return _function(made if origin is None else replace(made, origin=origin))


def is_generated(function: Callable[..., object]) -> bool:
    """Whether a callable is a graph's own function, or wraps one (as ``__wrapped__``)."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return isinstance(function, FunctionType) and _RESULT_KEY in function.__dict__


def source_of(function: Callable[..., object]) -> str | None:
    """Return the source of a graph's own function, also of one that is wrapped (as ``__wrapped__``); None of any other callable."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    result = _result_of(function)
    return None if result is None else result.source


def returning_value(function: Callable[..., object]) -> GraphFunction | None:
    """Return what does the same as a graph's function of one output, but returns the output itself, without a tuple.

    None when `function` is no such function.
    """
    result = _result_of(function)
    if result is None:
        return None
    lines = result.source.splitlines()
    if not lines[-1].endswith(",)"):  # how only a tuple of one ends
        return None
    output = result.line_to_node[len(lines)]
    for number, node in result.line_to_node.items():
        line = lines[number - 1]
        if node is output and line.endswith(",)"):
            head, _, value = line.partition("(")
            if head.endswith(("return ", " = ")):
                lines[number - 1] = head + value.removesuffix(",)")
    made = _function(replace(result, source="\n".join(lines) + "\n"))
    made.__dict__.update(function.__dict__)  # what the backend tells of it
    return made


class _FileName(str):
    """The name of a function's file in `linecache`; it holds the reference that takes it out of there when the function is gone."""

    __slots__ = ("function",)
    function: weakref.ref[FunctionType]


def _function(result: CodegenResult) -> GraphFunction:
    filename = f"<bcjit graph {next(_counter)}>"
    made: dict[str, object] = {}
    # The function is not put into its own globals: that would be a reference cycle.
    exec(compile(result.source, filename, "exec", dont_inherit=True), result.namespace, made)
    function = cast("FunctionType", made[result.name])
    function.__dict__[_RESULT_KEY] = result
    # No modification time: linecache.checkcache leaves such entries alone.
    lines = result.source.splitlines(keepends=True)
    fullname = _FileName(filename)
    # No finalizer: in its Python code a signal could strike, whose exception would be lost.
    fullname.function = weakref.ref(function, partial(linecache.cache.pop, filename))
    linecache.cache[filename] = (len(result.source), None, lines, fullname)
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
    itself is never among the values, inputs always are, constants (their own values) are not. Of a node in a body they are those of its turn: what
    comes before it there and around it, the index, what is carried and what is handed in (unless a later value has taken the variable, see `keep`). The
    frame's variables are released: this can be asked once.
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
    way = next(way for way in result.ways if traceback.tb_lineno < way.end)
    values = _values(way, node, traceback)
    origin = result.origin
    if origin is None:
        return node, values
    return origin.get(node, node), {origin[n]: v for n, v in values.items() if n in origin}


def _values(way: Way, failed: Node, traceback: TracebackType) -> dict[Node, object]:
    frame = traceback.tb_frame
    variables = frame.f_locals
    bound = dict(variables)
    frame.clear()
    if isinstance(variables, dict):
        variables.clear()  # before 3.13 a snapshot that the frame keeps (CPython Objects/frameobject.c)
    found = values_in_sight(way.places, failed, bound, way.assigned.get(failed, frozenset()))
    for node in way.stored:
        value = found.pop(node, None)
        if node in way.places.kept and isinstance(value, np.ndarray):
            found[node] = value.copy()  # a buffer's memory is not handed out
    return found
