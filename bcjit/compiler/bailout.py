"""What happens when a graph fails: where to go on in plain code, and with which values.

While nothing visible has happened the part simply starts again in plain code. After a visible write a record says at which
instruction to go on: the frames of inlined calls are resumed as they would have been, the caller at its call instruction with a stand-in
for the callee, so that tracebacks are those of the plain program.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bcjit import _core
from bcjit.bytecode import Op, resume_code
from bcjit.compiler.error_state import FlagRaised, pending_actions
from bcjit.compiler.recipes import (
    CannotRebuild,
    FromGraph,
    Literal,
    Nothing,
    Recipe,
    RecipeMaker,
    Step,
    walk,
)
from bcjit.compiler.restore import NOTHING, Restorer, perform
from bcjit.config import config
from bcjit.dims import Expr
from bcjit.errors import BackendError, InternalError
from bcjit.fx_graph import Graph, Node, is_generated, locate_failure
from bcjit.guards import Roots, SourceKind
from bcjit.logs import get_logger, once
from bcjit.ops.operands import as_dtype, loop_signature
from bcjit.records import dataclass
from bcjit.symbolic_vm import CALL_OPS, PartSpec, Position
from bcjit.symbolic_vm.values import UNBOUND, SymGone, SymValue

if TYPE_CHECKING:
    from bcjit._core import BailOut, Entry

__all__ = ["BailOuts", "FrameRecord", "Record", "make_record"]

GetPart = Callable[[PartSpec], "_core.Part"]


@dataclass(frozen=True, slots=True)
class FrameRecord:
    """How to resume one frame."""

    code: CodeType
    namespace: Recipe
    offset: int
    stack: tuple[Recipe, ...]
    bound: tuple[str, ...]
    variables: tuple[Recipe, ...]
    cells: tuple[Recipe, ...]
    op: Op  # of the last instruction of the group it is resumed at
    argument: object
    pushed: int  # slices that the group builds of two operands first (STORE_SLICE)


@dataclass(frozen=True, slots=True)
class Record:
    """How to resume a part in its middle: its frames, outermost first."""

    frames: tuple[FrameRecord, ...]
    cell_stores: tuple[tuple[Recipe, Recipe], ...]  # cells from outside, and what they hold by now
    steps: tuple[Step, ...] = ()  # what the program did to objects so far

    def operands(self) -> Iterable[Node | Expr]:
        """Yield what must still be known of the graph when it fails."""
        for frame in self.frames:
            for recipe in (*frame.stack, *frame.variables, *frame.cells, frame.namespace):
                yield from (p.operand for p in walk(recipe) if isinstance(p, FromGraph))
        others = [recipe for _, recipe in self.cell_stores]
        others += [recipe for step in self.steps for recipe in step.operands]
        for recipe in others:
            yield from (p.operand for p in walk(recipe) if isinstance(p, FromGraph))


def make_record(positions: tuple[Position, ...], namespaces: tuple[Recipe, ...]) -> Record | None:
    """Return the record for a point of a capture, None if it cannot be resumed there.

    Parameters
    ----------
    positions
        The frames, outermost first; the states of callers are those before their call.
    namespaces
        The globals of each frame.
    """
    innermost = positions[-1].state
    maker = RecipeMaker(innermost, (), ())
    try:
        frames = tuple(
            _frame_record(position, namespace, maker)
            for position, namespace in zip(positions, namespaces, strict=True)
        )
        stores = []
        for position in positions:
            for cell in position.state.cells:
                if cell is None or not cell.from_outside or cell.oid not in innermost.heap:
                    continue
                if (
                    cell.source is None or cell.source.kind is not SourceKind.CELL_OF
                ):  # those are steps
                    contents = innermost.heap[cell.oid]
                    assert isinstance(contents, SymValue)
                    stores.append((maker.make(cell), maker.make(contents)))
        steps = maker.steps()
    except CannotRebuild:
        return None
    return Record(frames, tuple(stores), steps)


def _frame_record(position: Position, namespace: Recipe, maker: RecipeMaker) -> FrameRecord:
    state = position.state
    code = position.frame.code
    instruction = position.frame.listing.instructions[state.index]
    group = position.frame.listing.group_at(instruction.offset)
    pairs = [
        (name, maker.make(value))
        for name, value in zip(code.co_varnames, state.locals, strict=True)
        if value is not UNBOUND
        and name not in code.co_cellvars
        # What goes on from here does not read it: see `symbolic_vm.loops`.
        and not isinstance(value, SymGone)
    ]
    return FrameRecord(
        code=code,
        namespace=namespace,
        offset=instruction.offset,
        # What a loop does not hand on is only dropped from the stack: any object will do, but not NULL.
        stack=tuple(
            Literal(None) if isinstance(value, SymGone) else maker.make(value)
            for value in state.stack
        ),
        bound=tuple(name for name, _ in pairs),
        variables=tuple(recipe for _, recipe in pairs),
        cells=tuple(maker.make(cell) for cell in state.cells if cell is not None),
        op=group[-1].op,
        argument=group[-1].arg,
        pushed=sum(g.op is Op.BUILD_SLICE for g in group),
    )


# How deep below the top the operand lies that can stand in for the whole instruction.
_STAND_IN_PLACE: Final = {Op.BINARY_OP: 2, Op.STORE_SUBSCR: 2}


def stand_in_place(frame: FrameRecord) -> int | None:
    """Return the index on the stack of the operand whose replacement decides what the instruction does."""
    depth = len(frame.stack)
    if frame.op in _STAND_IN_PLACE:
        return depth - _STAND_IN_PLACE[frame.op] - frame.pushed
    if frame.op in CALL_OPS:
        return _callable_place(frame)
    return None


def _callable_place(frame: FrameRecord) -> int:
    depth = len(frame.stack)
    if frame.op is Op.CALL:
        assert isinstance(frame.argument, int)
        first = depth - frame.argument - 2
    elif frame.op is Op.CALL_KW:
        first = depth - frame.argument[0] - 2  # type: ignore[index]
    else:
        first = depth - (4 if frame.argument else 3)
    return first + 1 if isinstance(frame.stack[first], Nothing) else first


class BailOuts:
    """What an entry does when its graph fails; `on_bailout` of C entries.

    Parameters
    ----------
    graph
        The graph.
    function
        What the backend made of it.
    records
        For nodes behind a visible change, where to go on; other nodes go back to the part's start.
    end
        The record for a failure after all nodes, None when nothing visible was done.
    get_part
        Returns the part of a continuation.
    """

    def __init__(
        self,
        graph: Graph,
        function: Callable[..., object],
        records: dict[Node, Record | None],
        end: Record | None,
        get_part: GetPart,
        backend: str,
    ) -> None:
        self.graph = graph
        self.function = function
        self.records = records
        self.end = end
        self.get_part = get_part
        self.backend = backend
        self.own = is_generated(function)

    @property
    def resumes(self) -> bool:
        """Whether plain code goes on in the middle of the part, since something visible has happened by then."""
        return bool(self.records) or self.end is not None

    def __call__(
        self,
        entry: Entry,
        func: FunctionType,
        closure: tuple[CellType, ...] | None,
        values: tuple[object, ...],
        failure: BailOut,
    ) -> tuple[object, ...] | None:
        """Return None to start the part again in plain code, or ``(part, closure, values...)`` to go on."""
        self._count(entry)
        exc = failure.exception
        assert exc is not None
        if isinstance(exc, BackendError):
            raise exc
        if not self.own and not isinstance(exc, FlagRaised):
            # For reports, which must hold nothing of the program: a sentence.
            entry.tag.failure = f"{type(exc).__name__}: {exc}"
            self._backend_failed(exc)
        if not self.resumes:
            return None
        located = locate_failure(exc, self.function)
        if located is None:
            problem = (
                f"failed after the graph had changed an array ({type(exc).__name__}: {exc}), and it cannot be"
                " told how far it came; a graph that writes must be run by graph.to_callable()"
            )
            raise BackendError(self.backend, problem) from exc
        node, computed = located
        # A body of a loop or branch has an output too, where what is nested in it may fail.
        record = self.end if node is self.graph.output_node else self.records.get(node)
        if record is None:
            return None
        restorer = Restorer(
            Roots(values, func, closure), self.graph, computed, _cells(func, closure)
        )
        stand_in: object = NOTHING
        if (
            isinstance(exc, FlagRaised)
            and _changes_its_operand(node)
            and not _flags_before_the_loop(node, restorer)
        ):
            # The write is done and only its warning is due: the operation must not be done again.
            stand_in = _completed(node, computed, exc.status, restorer)
        return _resume(record, restorer, stand_in, self.get_part)

    def _backend_failed(self, exc: Exception) -> None:
        """Say once that a backend's code raised; plain code does its work."""
        if config.strict:
            raise BackendError(self.backend, f"raised {type(exc).__name__}: {exc}") from exc
        once(
            get_logger("capture"),
            ("backend", self.backend, type(exc)),
            f"backend {self.backend!r} raised {type(exc).__name__}: {exc}; the graph runs as plain Python instead",
        )

    @staticmethod
    def _count(entry: Entry) -> None:
        """Give up an entry that fails too often: running twice costs more than not compiling."""
        if entry.bailouts >= _TOO_MANY and entry.bailouts * 4 > entry.hits:
            entry.plain = True


_TOO_MANY: Final = 16


def _cells(func: FunctionType, closure: tuple[CellType, ...] | None) -> tuple[CellType, ...]:
    return closure if closure is not None else func.__closure__ or ()


def _changes_its_operand(node: Node) -> bool:
    """Whether doing a call again after a flag is not the same as doing it once: it has stored over what it reads.

    What is only written can be written again. Generalised ufuncs work on copies of what overlaps, and drop these when a
    flag raises (NumPy's nditer_constr.c, ``NpyIter_Deallocate``).
    """
    target = node.target
    if isinstance(target, np.ufunc):
        inputs = node.args[: target.nin]
        return target.signature is None and any(w is arg for w in node.writes for arg in inputs)
    return getattr(target, "__name__", "") in _UFUNC_NAMES and target is not operator.imatmul


def _flags_before_the_loop(node: Node, restorer: Restorer) -> bool:
    """Whether it was the cast of a Python number to the loop's dtype that raised a flag: nothing is stored then."""
    target = node.target
    ufunc = target if isinstance(target, np.ufunc) else getattr(np, _ufunc_name(target))
    values = [restorer.operand(operand) for operand in node.args[: ufunc.nin]]
    values = [np.asarray(v) if isinstance(v, list | tuple) else v for v in values]
    kinds = [v.dtype if isinstance(v, np.ndarray | np.generic) else type(v) for v in values]
    written = restorer.operand(node.writes[0])
    assert isinstance(written, np.ndarray)
    try:
        loop = ufunc.resolve_dtypes((*kinds, written.dtype), **_loop_options(ufunc, node))
    except TypeError:  # an operand that has no dtype of its own: no Python number is cast for it
        return False
    modes = {k: "ignore" if mode == "ignore" else "raise" for k, mode in np.geterr().items()}
    with np.errstate(**modes):  # type: ignore[arg-type]  # modes are str, not Literals
        for value, dtype in zip(values, loop, strict=False):
            if isinstance(value, int | float | complex) and not isinstance(value, np.generic):
                try:
                    np.asarray(value).astype(dtype)
                except FloatingPointError:
                    return True
    return False


def _loop_options(ufunc: np.ufunc, node: Node) -> dict[str, Any]:
    """Return what a call says of its loop, for ``resolve_dtypes``."""
    options: dict[str, Any] = {"casting": node.kwargs.get("casting", "same_kind")}
    dtype = as_dtype(node.kwargs.get("dtype"))
    signature = loop_signature(ufunc, node.kwargs.get("signature", node.kwargs.get("sig")))
    if dtype is not None:
        signature = (None,) * ufunc.nin + (dtype,) * ufunc.nout
    if signature is not None:
        options["signature"] = signature
    return options


def _ufunc_name(target: object) -> str:
    """Return the name NumPy gives in its messages to what a ufunc or an in-place operator runs."""
    name = str(getattr(target, "__name__", ""))
    return name if isinstance(target, np.ufunc) else _UFUNC_NAMES[name]


def _completed(node: Node, computed: dict[Node, object], status: int, restorer: Restorer) -> object:
    written = node.writes[0]
    result = computed[written] if node.meta else None
    name = _ufunc_name(node.target)
    if node.target is operator.ipow:
        name = _power_name(restorer.operand(written), restorer.operand(node.args[1]))
    return _core.Completed(result, pending_actions(status, name))


def _power_name(base: object, exponent: object) -> str:
    """Return which ufunc ``base **= exponent`` runs: NumPy takes another one for some exponents (number.c, ``fast_scalar_power``).

    Which ones, versions differ in; so NumPy is asked, by powers that fail in each of them.
    """
    assert isinstance(base, np.ndarray)
    if base.dtype.kind in "fc" and not (isinstance(exponent, np.ndarray) and exponent.ndim):
        for number in (-1, 0, np.finfo(base.dtype).max):
            try:
                with np.errstate(all="raise"):
                    probe = np.array([number], base.dtype)
                    probe **= exponent
            except FloatingPointError as error:
                return str(error).rpartition(" encountered in ")[2]
    return "power"


# What an in-place operator runs.
_UFUNC_NAMES: Final = {
    "iadd": "add",
    "isub": "subtract",
    "imul": "multiply",
    "itruediv": "divide",
    "ifloordiv": "floor_divide",
    "imod": "remainder",
    "ipow": "power",
    "imatmul": "matmul",
}


def _resume(
    record: Record, restorer: Restorer, stand_in: object, get_part: GetPart
) -> tuple[object, ...]:
    # Everything is read before anything is changed.
    stores = [(restorer.make(cell), restorer.make(held)) for cell, held in record.cell_stores]
    steps = [
        (step, tuple(restorer.make(operand) for operand in step.operands)) for step in record.steps
    ]
    for frame in reversed(record.frames[1:]):
        spec, closure, values = _frame_values(frame, restorer, stand_in)
        namespace = restorer.make(frame.namespace)
        code = resume_code(frame.code, frame.offset, spec.stack, spec.bound)
        stand_in = _core.Resumed(code, namespace, closure, values)  # type: ignore[arg-type]  # restored: a dict, by its recipe
    spec, closure, values = _frame_values(record.frames[0], restorer, stand_in)
    for step, operands in steps:
        perform(step, operands)
    for cell, value in stores:
        assert isinstance(cell, CellType)
        if value is NOTHING:
            del cell.cell_contents
        else:
            cell.cell_contents = value
    return (get_part(spec), closure, *values)


def _frame_values(
    frame: FrameRecord, restorer: Restorer, stand_in: object
) -> tuple[PartSpec, tuple[CellType, ...] | None, tuple[object, ...]]:
    stack = [restorer.make(recipe) for recipe in frame.stack]
    if stand_in is not NOTHING:
        place = stand_in_place(frame)
        if place is None:
            raise InternalError(f"{frame.op.name} cannot be resumed with a stand-in")
        stack[place] = stand_in
    nulls = tuple(value is NOTHING for value in stack)
    pairs = [
        (name, value)
        for name, recipe in zip(frame.bound, frame.variables, strict=True)
        if (value := restorer.make(recipe)) is not NOTHING  # a local that has no value this time
    ]
    spec = PartSpec(frame.code, frame.offset, nulls, tuple(name for name, _ in pairs))
    cells = tuple(restorer.make(cell) for cell in frame.cells)
    values = (
        *(value for _, value in pairs),
        *(value for value in stack if value is not NOTHING),
    )
    return spec, cells or None, values  # type: ignore[return-value]  # restored: cells, by their recipes
