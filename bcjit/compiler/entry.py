"""From a capture to an entry of the cache: backend, guards, residual code, in this order of what is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bcjit import _core, backends
from bcjit.bytecode import leads_to_raise
from bcjit.code_cache import CacheEntry, Problem, Times
from bcjit.compiler.artifacts import Artifacts
from bcjit.compiler.bailout import BailOuts, Record, make_record
from bcjit.compiler.hand_over import cut_guards
from bcjit.compiler.idle_loops import idle_loop, loop_code
from bcjit.compiler.overlap import overlap_guards
from bcjit.compiler.recipes import CannotRebuild, FromSource
from bcjit.compiler.residual import build_residual, continuations_end
from bcjit.compiler.restore import symbols_of
from bcjit.compiler.timing import timed
from bcjit.config import config
from bcjit.dims import Expr, Symbol
from bcjit.errors import GraphBreakError
from bcjit.fx_graph import Graph, Node, optimize, refuses_warnings, returning_value
from bcjit.guards import compile_guards, ordered
from bcjit.lazy import Later
from bcjit.meta import ScalarMeta, UnionMeta
from bcjit.selection import selected
from bcjit.symbolic_vm import RAISING, REASONS, BreakExit, Capture, PartSpec, Position

if TYPE_CHECKING:
    from bcjit.backends import narrowed
    from bcjit.compiler.compile import FunctionCompiler
else:
    narrowed = Later("bcjit.backends.narrowed")  # only a bisection needs it

__all__ = ["make_entry"]


def make_entry(compiler: FunctionCompiler, found: Capture, times: Times) -> _core.Entry | None:
    """Return the C entry of a capture, and remember it in the cache; None where the part was given up.

    Raises
    ------
    GraphBreakError
        The part breaks, and the function is to be one graph.
    CannotRebuild
        Something live at its end cannot be made again.
    """
    cause = found.end.cause if isinstance(found.end, BreakExit) else None
    if cause is not None and compiler.fullgraph and not _only_raises(found):
        raise GraphBreakError.from_break(cause)
    graph = found.graph
    line = found.spec.source_line
    with timed(times, "assembly"):
        guards = ordered((*found.guards, *overlap_guards(found, line), *cut_guards(found)))
        tree = compile_guards(guards)
    nothing = not graph.calls and continuations_end(found)
    record = CacheEntry(
        spec=found.spec,
        line=line,
        guards=guards,
        graph=graph,
        captured=graph.count,
        backend=compiler.backend_name,
        options=backends.options_text(compiler.options),
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
        plain = compiler.part(found.spec).plain_code
        judged = _is_judged(compiler, found.spec)
        entry = _core.Entry(tree, plain, True, _never, record, None, judged)
        entry.plain = True
    else:
        entry = _compiled_entry(compiler, found, tree, record, artifacts)
    artifacts.finished()
    record.attach(entry)
    compiler.cache.entries.append(record)
    loop = idle_loop(compiler.cache, record) if config.plain_loops else frozenset()
    return _leave_to_python(compiler, record, loop) if loop else entry


def _leave_to_python(
    compiler: FunctionCompiler, record: CacheEntry, loop: frozenset[int]
) -> _core.Entry | None:
    """Run a loop in which nothing is captured as it is; what comes behind it is a part again if that can be."""
    part = compiler.part(record.spec)
    found = loop_code(record.spec, loop, compiler.part)
    if found is None:
        compiler.refuse(part, "BRK025", "what comes behind it is not captured", record.line)
        return None
    code, behind = found
    compiler.cache.note(Problem(record.line, "BRK025", REASONS["BRK025"].title, ""))
    part.clear()
    entry = _core.Entry(compile_guards(()), code, False, _never, record)
    record.become_loop(behind)
    record.attach(entry)
    return entry


def _compiled_entry(
    compiler: FunctionCompiler,
    found: Capture,
    tree: _core.GuardTree,
    record: CacheEntry,
    artifacts: Artifacts,
) -> _core.Entry:
    inputs = found.graph.inputs
    bailouts: list[BailOuts] = []

    def graph_call(outputs: tuple[Node | Expr, ...]) -> _core.GraphCall:
        found.graph.output(outputs)
        artifacts.captured(found.graph)
        records, end = _records(found)
        compiler.begins(f"backend {compiler.backend_name}")
        with timed(record.times, "backend"):
            function = _run_backend(compiler, found)
        artifacts.compiled(found.graph, function)
        single = returning_value(function)
        # A graph that is one call of machine code needs no frame of its own; where it fails, nothing has happened yet.
        only_call = getattr(function, "only_call", None)
        function = function if single is None else single
        bailouts.append(
            BailOuts(found.graph, function, records, end, compiler.part, compiler.backend_name)
        )
        called = function if single is None or only_call is None else only_call
        # The tag tells reports and benchmarks what the backend made of the graph.
        return _core.GraphCall(called, function, refuses_warnings(function), single is not None)

    with timed(record.times, "assembly"):
        residual = build_residual(found, inputs, graph_call, compiler.part, compiler)
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
        _is_judged(compiler, found.spec),
        # Where its truth were none after all, the part would be done again.
        None if bailouts and bailouts[0].resumes else residual.hand_over,
    )


def _is_judged(compiler: FunctionCompiler, spec: PartSpec) -> bool:
    """Whether the cost model decides if an entry is used: where the backend was ours to choose."""
    whole = spec.offset is None and not compiler.fullgraph
    return whole and config.cost_model and compiler.backend_name == "auto"


def _run_backend(compiler: FunctionCompiler, found: Capture) -> Callable[..., object]:
    graph = found.graph
    if config.strict:
        graph.lint()
    backend = backends.with_options(compiler.backend, compiler.options)
    if config.optimize and getattr(backend, "optimizes", False):
        optimize(graph)
    examples = [found.input_values[node] for node in graph.inputs]
    selection = selected()
    if selection is not None:
        backend = narrowed.narrowed(backend, selection)
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


def _records(found: Capture) -> tuple[dict[Node, Record | None], Record | None]:
    """Turn the positions of a capture into records, and keep in the graph what they need."""
    if not any(effect.node is not None for effect in found.end.state.effects):
        return {}, None  # what residual code does comes behind the graph
    symbols = symbols_of(found.graph)
    owners = {node: graph for graph in found.graph.nested() for node in graph.nodes}
    made: dict[tuple[Position, ...], Record | None] = {}
    records: dict[Node, Record | None] = {}
    end = (found.end_position,)
    starts = _starts(found)
    for node, own in (*found.records.items(), (None, end)):
        positions = found.records[starts[node]] if node in starts else own
        if positions not in made:
            namespaces = tuple(FromSource(p.frame.globals_source) for p in positions)
            record = made[positions] = make_record(positions, namespaces)
            if record is None:
                # What is visible by then must not be done again, so there would be no way on after a failure.
                raise CannotRebuild("where to go on after a write")
        record = made[positions]
        assert record is not None
        for operand in record.operands():
            _keep(owners, symbols, operand, node)
        if node is not None:
            records[node] = record
            for written in node.writes:  # what the call gives back once its warning is given
                _keep(owners, symbols, written, node)
    return records, made[end]


def _starts(found: Capture) -> dict[Node, Node]:
    """Return, for calls that have no effect, the one behind the last effect: what lies between is done again after a failure, as if for the first time.

    So nothing that comes to be between two effects must be kept, and generated code may nest it.
    """
    starts: dict[Node, Node] = {}
    for graph in found.graph.nested():
        start: Node | None = None
        for node in graph.nodes:
            if node.has_effect or node.bodies:
                start = None
            elif node in found.records:
                if start is None or _effects(found.records[start]) != _effects(found.records[node]):
                    # What asks how a loop ended stands behind it, but would be done again with the whole loop.
                    start = node
                starts[node] = start
                if node.op is None and not _is_arithmetic(node):
                    again = start is not node and _reads_a_result(node)
                    start = start if again else None  # what nothing is known of is not called again
    return starts


def _reads_a_result(node: Node) -> bool:
    """Whether a call reads one of several results of a call of which something is known."""
    of = node.args[0] if node.args else None
    return isinstance(of, Node) and of.multi and of.op is not None and not of.has_effect


def _is_arithmetic(node: Node) -> bool:
    """Whether a call is an operator of Python's numbers, or of numbers that may be NumPy's."""
    if getattr(node.target, "__module__", "") != "_operator":
        return False
    metas = [*node.meta, *(meta for used in node.uses() for meta in used.meta)]
    return all(isinstance(meta, ScalarMeta | UnionMeta) for meta in metas)


def _effects(positions: tuple[Position, ...]) -> int:
    """Count what was visible before what is done again from a position."""
    return len(positions[-1].state.effects)


def _keep(
    owners: Mapping[Node, Graph],
    symbols: Mapping[Symbol, tuple[Node, int | None]],
    operand: Node | Expr,
    failing: Node | None,
) -> None:
    """Keep what a record needs in the graph that it belongs to, the whole one or a body of a loop or branch: for a node that may fail, or to the end."""
    needed = [operand] if isinstance(operand, Node) else [symbols[s][0] for s in operand.symbols()]
    for node in needed:
        graph = owners[node]
        if failing is None:
            graph.keep_for.pop(node, None)
        elif node not in graph.keep or node in graph.keep_for:
            graph.keep_for.setdefault(node, set()).add(failing)
        graph.keep.add(node)
