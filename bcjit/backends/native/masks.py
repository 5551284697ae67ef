"""Writes through a mask of what was read through the same mask: ``z[m] = z[m] ** 2 + c[m]``, ``n[m] += 1``, as one kernel each.

The kernel computes with what is selected and stores it where it came from. It is asked before the first of these calls, all of which
are then made only where it has not done so: nothing has happened by then, and each call fails as itself. See
``docs/design/0031-native-gathers-and-masks.md``.
"""

from __future__ import annotations

import operator
from typing import Final, cast

import numpy as np

from bcjit import _core
from bcjit.backends.native.compiled import Compiled, compiled
from bcjit.backends.native.fast import quick
from bcjit.backends.native.groups import is_done_once
from bcjit.backends.native.inputs import Inputs, fits
from bcjit.backends.native.program import Program, can_compute, flags_that_count, loops_of
from bcjit.backends.native.reduce_bound import constant_of
from bcjit.backends.native.scalars import Apply, Item, Leaf
from bcjit.backends.native.tracing import NotElementwise, traced
from bcjit.backends.native.writes import IN_PLACE, converted, leave_unless_done, not_done, stored
from bcjit.dims import Symbol, Undecidable
from bcjit.fx_graph import Graph, Node, NodeKind
from bcjit.fx_graph.node import exprs_in
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.ops import OpFailure
from bcjit.ops.scalar_functions import CAST
from bcjit.records import dataclass

__all__ = ["masked_writes"]

_LONGEST: Final = 64  # calls before a write that are looked at


@dataclass(frozen=True, slots=True, eq=False)
class _Masked:
    """A write and the calls that it alone needs."""

    array: Node
    mask: Node
    node: Node
    calls: tuple[Node, ...]  # in order
    program: Program
    inputs: Inputs


def masked_writes(
    graph: Graph, root: Graph, origin: dict[Node, Node], *, fast: bool
) -> list[Compiled]:
    """Have kernels do the writes through masks in one graph, each with the calls that it alone needs.

    Parameters
    ----------
    graph
        The graph; calls that may have been done have `unless_done` behind.
    root
        The graph that it is in.
    origin
        Of each node in the captured graph.
    fast
        Whether functions may be polynomials.

    Returns
    -------
    list of Compiled
        The kernels.
    """
    made = []
    named: set[Symbol] | None = None
    for node in tuple(graph.nodes):
        found = _masked(graph, node, fast=fast)
        if found is None:
            continue
        named = _named(root) if named is None else named
        if _forget_sizes(graph, named, found):
            made.append(_put(graph, found, origin))
            named |= {
                symbol for expr in exprs_in(found.inputs.arguments) for symbol in expr.symbols()
            }
    return made


def _put(graph: Graph, found: _Masked, origin: dict[Node, Node]) -> Compiled:
    program, inputs, node = found.program, found.inputs, found.node
    code = compiled(program)
    (result,) = program.results
    to = inputs.place(found.array), result.dtype.num, ()
    mask = inputs.place(found.mask), np.dtype(bool).num, ()
    target = _core.Kernel(
        code.loaded.address, code.loaded, not_done, len(inputs.arguments), 0,
        tuple(inputs.operand_rows), tuple(inputs.number_rows), (result.dtype.num,), loops_of(program),
        code.width, code.block, code.scratch, max(map(flags_that_count, program.items)), True,
        to, 1, mask=mask, computes_numbers=program.computes_numbers,
    )  # fmt: skip
    done = graph.call(
        target, tuple(inputs.arguments), meta=ScalarMeta(bool), writes=(found.array,),
        can_fail=False, name="left", line=node.line, before=node,
    )  # fmt: skip
    done.visible = node.visible
    origin[done] = origin[node]
    leave_unless_done(graph, node, found.calls, done)
    return code


def _masked(graph: Graph, node: Node, *, fast: bool) -> _Masked | None:
    """Return what a kernel does in the place of a write through a mask, None where it cannot."""
    if node.target is not operator.setitem or len(node.args) != 3 or node.unless_done is not None:
        return None
    array, mask, value = node.args
    if not isinstance(array, Node) or not isinstance(mask, Node) or not isinstance(value, Node):
        return None
    to, size = _array(array), _array(value)
    if to is None or size is None or len(size.shape) != 1 or not _selects(mask, array):
        return None
    calls = _alone(graph, node, _before(graph, node, mask, size))
    if not any(_is_selection(one, mask) for one in calls):
        return None
    try:
        made = _program(node, calls, mask, size, to, fast=fast)
    except (NotElementwise, OpFailure, Undecidable):
        return None
    if made is None or not fits(graph, made[1]):
        return None
    program, inputs = made
    return _Masked(array, mask, node, tuple(calls), program, inputs)


def _array(node: Node) -> ArrayMeta | None:
    meta = node.meta[0] if len(node.meta) == 1 and not node.multi else None
    return meta if isinstance(meta, ArrayMeta) and not meta.is_scalar and meta.shape else None


def _selects(mask: Node, array: Node) -> bool:
    """Whether an index is a mask with an element for each of an array's."""
    given, of = _array(mask), _array(array)
    return (
        given is not None
        and of is not None
        and given.dtype == np.dtype(bool)
        and len(given.shape) == len(of.shape)
    )


def _is_selection(node: Node, mask: Node) -> bool:
    if node.target is not operator.getitem or node.kind is not NodeKind.CALL or node.multi:
        return False
    if len(node.args) != 2 or node.args[1] is not mask or node.alias != "fresh":
        return False
    return isinstance(node.args[0], Node) and _selects(mask, node.args[0])


def _before(graph: Graph, node: Node, mask: Node, size: ArrayMeta) -> dict[Node, bool]:
    """Return the calls before a write that a kernel could do with it, in order; True for those that write into what another one made.

    Between the first of them and the write nothing else is written.
    """
    at = graph.nodes.index(node)
    found: dict[Node, bool] = {}
    for one in graph.nodes[max(at - _LONGEST, 0) : at]:
        if one.has_effect or one.bodies or is_done_once(one):
            written = one.writes[0] if len(one.writes) == 1 and not one.draws else None
            if (
                one.target in IN_PLACE and written in found and one.args[0] is written
            ):  # which nobody sees
                found[one] = True
            else:
                found.clear()
            continue
        meta = _array(one) if one.kind is NodeKind.CALL and one.unless_done is None else None
        if meta is None or meta.shape != size.shape:
            continue
        if _is_selection(one, mask):
            found[one] = False
        else:
            item = traced(one)
            if item is not None and can_compute(item):
                found[one] = False
    return found


def _alone(graph: Graph, node: Node, before: dict[Node, bool]) -> list[Node]:
    """Return those calls that nothing but the write needs, in order; none where a write among them is another one's."""
    inside = {node}
    for one in reversed(before):
        needed = graph.keep_for.get(one) if one in graph.keep else ()
        written = before[one]
        if needed is None or not all(user in inside for user in (*one.users, *needed)):
            if written:
                return []
        elif one.users or written:
            inside.add(one)
    chosen = [one for one in before if one in inside]
    if any(before[one] and one.writes[0] not in inside for one in chosen):
        return []
    return chosen


def _program(
    node: Node, calls: list[Node], mask: Node, size: ArrayMeta, to: ArrayMeta, *, fast: bool
) -> tuple[Program, Inputs] | None:
    """Return what is computed for an element that is selected, and of what."""
    lanes = _Lanes(size)
    for one in calls:
        lanes.add(one, selection=_is_selection(one, mask))
    last = lanes.bound(converted(node.args[2], to))
    if not isinstance(last, Apply):
        last = Apply(CAST, (last.dtype, last.dtype), (last,))
    inputs = lanes.inputs
    if not can_compute(last) or not inputs.operands:
        return None
    program = Program(
        quick((last,)) if fast else (last,),
        tuple(element.dtype for element in inputs.operands.values()),
        tuple(number.dtype for number in inputs.numbers.values()),
    )
    return program, inputs


class _Lanes:
    """What calls make of one element that is selected, one call after the other."""

    def __init__(self, size: ArrayMeta) -> None:
        self.size = size
        self.inputs = Inputs((), {})
        self.now: dict[Node, Item] = {}  # what each value is by now
        self._memo: dict[Item, Item] = {}

    def add(self, call: Node, *, selection: bool) -> None:
        if selection:
            base = cast("Node", call.args[0])
            meta = _array(base)
            assert meta is not None
            self.now[call] = self.inputs.selected(base, meta.dtype)
        elif call.has_effect:
            written = call.writes[0]
            meta = _array(written)
            assert meta is not None
            self.now[call] = self.now[written] = self.bound(stored(call, meta))
            self._memo.clear()
        else:
            item = traced(call)
            assert item is not None
            self.now[call] = self.bound(item)

    def bound(self, item: Item) -> Item:
        """Return an item over what the kernel takes."""
        if isinstance(item, Leaf):
            return self._leaf(item)
        if not isinstance(item, Apply):
            return item
        if item not in self._memo:
            operands = tuple(map(self.bound, item.operands))
            self._memo[item] = Apply(item.function, item.dtypes, operands)
        return self._memo[item]

    def _leaf(self, leaf: Leaf) -> Item:
        source = leaf.source
        if isinstance(source, Node):
            if source in self.now:
                return self.now[source]
            meta = _array(source)
            if meta is not None and meta.shape != self.size.shape:
                raise NotElementwise
        return constant_of(source) or self.inputs.item(leaf)


def _forget_sizes(graph: Graph, named: set[Symbol], found: _Masked) -> bool:
    """Have sizes not be read from what may not be made; False where somebody reads them."""
    read = {symbol for symbol, (source, _) in graph.symbols.items() if source in found.calls}
    if read & named:
        return False
    for symbol in read:
        del graph.symbols[symbol]
    return True


def _named(root: Graph) -> set[Symbol]:
    """Return the symbols that calls are called with."""
    return {
        symbol
        for graph in root.nested()
        for node in graph.nodes
        for expr in exprs_in(node.operands)
        for symbol in expr.symbols()
    }
