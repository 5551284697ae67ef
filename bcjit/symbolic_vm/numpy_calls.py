"""From a NumPy call on symbolic values to a node of the graph; the op table says what the call means.

This is the only module that makes call nodes. It must not know any function by name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NoReturn

import numpy as np

import bcjit.symbolic_vm.break_reasons as because
from bcjit import ops
from bcjit.dims import Expr
from bcjit.fx_graph import Node, NodeKind, nodes_in
from bcjit.meta import ArrayMeta, Meta, ObjectMeta, ScalarMeta, UnionMeta
from bcjit.ops.indexed_objects import INDEXED
from bcjit.records import replace
from bcjit.symbolic_vm.break_reasons import break_graph
from bcjit.symbolic_vm.data_sizes import bind_sizes, check_readable, require, with_known_sizes
from bcjit.symbolic_vm.machine import Machine
from bcjit.symbolic_vm.random_generators import generator_node, is_generator
from bcjit.symbolic_vm.state import Effect, State
from bcjit.symbolic_vm.unions import has_union, over_kinds
from bcjit.symbolic_vm.values import (
    Known,
    SymArray,
    SymInstance,
    SymNamedTuple,
    SymNew,
    SymObject,
    SymRandom,
    SymScalar,
    SymSlice,
    SymTuple,
    SymUnion,
    SymValue,
    SymView,
)

__all__ = [
    "LONGEST",
    "add_node",
    "call_op",
    "call_scalar",
    "describe",
    "from_fact",
    "from_meta",
    "is_seen",
    "no_rule",
    "operand",
    "owner",
    "slice_of",
]

_LEAF_TYPES: Final = (bool, int, float, complex, str, type(None), type(Ellipsis), type, np.dtype)


def operand(vm: Machine, value: SymValue) -> tuple[object, object]:  # noqa: C901, PLR0912 - one branch a kind of value
    """Return what the op table sees of a value, and what the graph holds of it.

    Raises
    ------
    GraphBreak
        If the value has no place in a graph.
    """
    value = vm.realize(value)
    if isinstance(value, SymArray):
        return value.meta, value.node
    if isinstance(value, SymScalar):
        if isinstance(value.payload, Expr):
            return value.payload, value.payload
        return ScalarMeta(value.pytype), value.payload
    if isinstance(value, SymUnion):
        return UnionMeta(value.kinds), value.node
    if isinstance(value, Known):
        if type(value.value) is tuple:
            seen, held = _operands(vm, tuple(Known(None, v) for v in value.value))
            return tuple(seen), tuple(held)
        if type(value.value) is slice:
            return operand(vm, slice_of(value.value))
        if isinstance(value.value, _LEAF_TYPES):
            return value.value, value.value
    elif isinstance(value, SymTuple):
        _not_long(len(value.items), "tuple")
        seen, held = _operands(vm, value.items)
        return tuple(seen), tuple(held)
    elif isinstance(value, SymObject) and value.pytype is list:
        if isinstance(value.obj, list):
            _not_long(len(value.obj), "list")
        contents = vm.contents(value)
        assert isinstance(contents, tuple)
        _not_long(len(contents), "list")
        return _operands(vm, contents)
    elif isinstance(value, SymSlice):
        seen, held = _operands(vm, (value.start, value.stop, value.step))
        return slice(*seen), slice(*held)
    elif isinstance(value, SymInstance) and value.pytype in INDEXED:
        return value.obj, value.obj
    elif is_generator(value):
        node = generator_node(vm, value)
        return node.meta[0], node
    elif isinstance(value, SymInstance) and issubclass(value.pytype, np.ndarray):
        break_graph(because.NOT_NUMERIC, describe(value))
    return break_graph(because.NUMPY_UNSUPPORTED, f"an argument is {describe(value)}")


LONGEST: Final = 32  # items of a sequence that are looked at one by one


def _not_long(length: int, what: str) -> None:
    """Break for a long sequence: each item would be an input of the graph, with guards, for each length anew."""
    if length > LONGEST:
        break_graph(
            because.NUMPY_UNSUPPORTED, f"an argument is a {what} of more than {LONGEST} items"
        )


def slice_of(value: slice) -> SymSlice:
    """Return a constant slice as one made in the frame."""
    start, stop, step = (Known(None, part) for part in (value.start, value.stop, value.step))
    return SymSlice(None, start, stop, step)


def _operands(vm: Machine, values: Sequence[SymValue]) -> tuple[list[object], list[object]]:
    pairs = [operand(vm, value) for value in values]
    return [seen for seen, _ in pairs], [held for _, held in pairs]


def call_op(
    vm: Machine,
    op: ops.OpDef,
    target: Callable[..., object],
    args: Sequence[SymValue],
    kwargs: Mapping[str, SymValue] | None = None,
) -> SymValue:
    """Record one call of a function of the op table and return its result."""
    kwargs = kwargs or {}
    given = [vm.realize(arg) for arg in args]
    if has_union(given):
        return over_kinds(vm, given, lambda args: call_op(vm, op, target, args, kwargs))
    seen, held = _operands(vm, args)
    pairs = {name: operand(vm, value) for name, value in kwargs.items()}
    try:
        inferred = _infer(
            vm, op, target, tuple(seen), {name: pair[0] for name, pair in pairs.items()}
        )
    except ops.NotConstant as error:
        return call_op(vm, op, target, *_with_constant(vm, op, target, args, kwargs, error))
    if inferred.fact is not None:
        return from_fact(vm, inferred.fact.value)
    inferred = _with_data_sizes(vm, inferred, args, kwargs)
    results = inferred.results
    multi = isinstance(results, tuple) and (bool(results) or inferred.is_list)
    if not (multi or inferred.writes or inferred.can_fail) and inferred.alias == "same":
        return vm.realize(_argument(vm, args, kwargs, inferred.view_of))
    writes = tuple(_node(_argument(vm, args, kwargs, place), vm) for place in inferred.writes)
    if (
        # The part starts again if nobody can have seen anything of it; else it goes on at this call.
        _has_several(inferred, writes)
        or (writes and is_seen(vm.state))
        or any(map(_from_outside, writes))
    ) and not _resumes_after_flag(
        vm, target, inferred, writes, held, {name: pair[1] for name, pair in pairs.items()}
    ):
        # After a flag it could not be told whether the store was done: it can neither be repeated nor be left.
        break_graph(because.NUMPY_UNSUPPORTED, f"{_spelling(target)} into an array from outside")
    source = None if inferred.view_of is None else _argument(vm, args, kwargs, inferred.view_of)
    node = add_node(
        vm,
        target,
        tuple(held),
        {name: pair[1] for name, pair in pairs.items()},
        results if isinstance(results, tuple) else (results,),
        multi=multi,
        view_of=None if source is None or multi else _node(source, vm),
        alias="fresh" if multi else inferred.alias,
        writes=writes,
        can_fail=inferred.can_fail,
        draws=inferred.draws,
        op=op,
    )
    if multi:
        items = _items_of(vm, node, inferred, args, kwargs)
        if inferred.is_list:
            return SymObject(None, list, vm.new_id(), items)
        if inferred.tuple_type is not tuple:
            return SymNamedTuple(None, inferred.tuple_type, items)
        return SymTuple(None, items)
    if isinstance(results, tuple):
        return Known(None, None)
    if inferred.alias == "same" and source is not None:
        # The call gave back one of its arguments (``out=``, ``+=``): the same object.
        return vm.realize(source)
    return from_meta(vm, node, results)


def _with_data_sizes(
    vm: Machine,
    inferred: ops.Inferred,
    args: Sequence[SymValue],
    kwargs: Mapping[str, SymValue],
) -> ops.Inferred:
    """Return the facts about a call with the sizes that the graph has already; what must hold of them is checked first."""
    inferred = with_known_sizes(
        vm,
        inferred,
        lambda place: vm.realize(_argument(vm, args, kwargs, place)),
        lambda one, other: owner(one) is owner(other) or _both_from_outside(one, other),
    )
    check_readable(vm, inferred)
    for relation in inferred.requires:
        parts = (relation.op, relation.lhs, relation.rhs)
        add_node(vm, require, parts, {}, (ScalarMeta(bool),), can_fail=True, op=None)
    return inferred


def _with_constant(
    vm: Machine,
    op: ops.OpDef,
    target: Callable[..., object],
    args: Sequence[SymValue],
    kwargs: Mapping[str, SymValue],
    error: ops.NotConstant,
) -> tuple[tuple[SymValue, ...], dict[str, SymValue]]:
    """Return the arguments with the one that must be known as a constant, which is guarded."""
    given = op.spelling(target).bind(args, kwargs)[error.parameter]
    assert isinstance(given, SymValue)
    known = Known(given.source, vm.constant(given, f"{_spelling(target)}: {error}"))
    return (
        tuple(known if arg is given else arg for arg in args),
        {name: known if arg is given else arg for name, arg in kwargs.items()},
    )


def _infer(
    vm: Machine,
    op: ops.OpDef,
    target: Callable[..., object],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> ops.Inferred:
    while True:
        try:
            return ops.infer(op, target, args, kwargs, vm.env)
        except ops.MustKnow as error:
            fix = vm.fix if error.few else vm.fix_here
            fix(error.dim, f"{_spelling(target)}: {error}")
        except ops.NotConstant:
            raise
        except ops.Unsupported as error:
            break_graph(because.NUMPY_UNSUPPORTED, f"{_spelling(target)}: {error}")
        except ops.WouldRaise as error:
            break_graph(because.WOULD_RAISE, f"{_spelling(target)}: {error}")


def _items_of(
    vm: Machine,
    node: Node,
    inferred: ops.Inferred,
    args: Sequence[SymValue],
    kwargs: Mapping[str, SymValue],
) -> tuple[SymValue, ...]:
    """Return the results of a call that gives several: each shares memory with an argument of its own."""
    assert isinstance(inferred.results, tuple)
    items: list[SymValue] = []
    for index, (meta, share) in enumerate(zip(inferred.results, inferred.shares, strict=True)):
        if items and inferred.one_array:
            items.append(items[0])
            continue
        alias, place = share
        source = None if place is None else vm.realize(_argument(vm, args, kwargs, place))
        if source is not None and not isinstance(source, SymArray):
            break_graph(because.NUMPY_UNSUPPORTED, "results that are items of an argument")
        if alias == "same" and source is not None:
            items.append(source)
            continue
        item = add_node(
            vm,
            operator.getitem,
            (node, index),
            {},
            (meta,),
            can_fail=False,
            op=None,
            view_of=None if source is None else source.node,
            alias=alias,
        )
        items.append(from_meta(vm, item, meta))
    return tuple(items)


def from_fact(vm: Machine, value: object) -> SymValue:
    """Return a Python value that follows from what is known already; sizes stay symbolic."""
    if isinstance(value, Expr):
        simple = vm.env.simplify(value)
        return SymScalar(None, int, simple) if isinstance(simple, Expr) else Known(None, simple)
    if type(value) is tuple:
        return SymTuple(None, tuple(from_fact(vm, item) for item in value))
    if isinstance(value, np.generic):
        meta = ArrayMeta((), value.dtype, is_scalar=True)
        return SymArray(None, vm.graph.const(value, meta, line=vm.line), meta)
    return Known(None, value)


def from_meta(vm: Machine, node: Node, meta: Meta) -> SymValue:
    """Return what a node gives."""
    if isinstance(meta, UnionMeta):
        return SymUnion(None, node, meta.kinds)
    if isinstance(meta, ArrayMeta):
        return SymArray(None, node, meta)
    if isinstance(meta, ObjectMeta):
        return SymRandom(None, meta.pytype, node)
    assert isinstance(meta, ScalarMeta)
    if meta.pytype is int:
        return _integer(vm, node)
    return SymScalar(None, meta.pytype, node)


def _integer(vm: Machine, node: Node) -> SymScalar:
    """Return the Python int that a node gives."""
    symbol = vm.env.symbol(vm.fresh_name(node.name), "data", nonnegative=False)
    vm.graph.bind_symbol(symbol, node, None)
    return SymScalar(None, int, symbol.expr)


def add_node(
    vm: Machine,
    target: Callable[..., object],
    args: tuple[object, ...],
    kwargs: dict[str, object],
    meta: tuple[Meta, ...],
    *,
    can_fail: bool,
    op: object,
    multi: bool = False,
    view_of: Node | None = None,
    alias: str = "fresh",
    writes: tuple[Node, ...] = (),
    draws: bool = False,
) -> Node:
    """Append a call node, with a bail-out record if something visible came before it."""
    before = vm.state.effects
    seen = is_seen(vm.state)
    node = vm.graph.call(
        target,
        args,
        kwargs,
        meta=meta,
        multi=multi,
        view_of=view_of,
        alias=alias,  # type: ignore[arg-type]
        writes=writes,
        draws=draws,
        can_fail=can_fail,
        op=op,
        line=vm.line,
    )
    bind_sizes(vm, node)
    node.visible = any(map(_from_outside, writes)) or (draws and _stream_from_outside(node))
    if seen or node.visible:
        # Also for nodes that cannot fail: a backend may fail anywhere.
        vm.records[node] = vm.record(visible=node.visible)
        vm.undoable(lambda: vm.records.pop(node, None))
    if node.visible:
        effect = Effect("draw" if draws else "write", node)
        vm.state = replace(vm.state, effects=(*before, effect))
    return node


def is_seen(state: State) -> bool:
    """Whether the graph has done something that others can see; effects without a node are done behind it."""
    return any(effect.node is not None for effect in state.effects)


_STORES: Final = (
    operator.setitem,
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ifloordiv,
    operator.imod,
    operator.ipow,
    operator.imatmul,
    operator.iand,
    operator.ior,
    operator.ixor,
    operator.ilshift,
    operator.irshift,
)


def _resumes_after_flag(
    vm: Machine,
    target: Callable[..., object],
    inferred: ops.Inferred,
    writes: Sequence[Node],
    args: Sequence[object],
    kwargs: Mapping[str, object],
) -> bool:
    """Whether it is known, when a call that writes raises a flag, if its store is done or can be done again."""
    if not inferred.can_fail:
        return True
    in_place = any(target is store for store in _STORES)
    if inferred.partial and in_place:
        return False  # some elements are changed, which ones is not known
    if _is_one_store(target) and not (inferred.partial or _has_several(inferred, writes)):
        if target is operator.setitem and any(used in writes for used in nodes_in(tuple(args[1:]))):
            return False  # an index that was written over: the store cannot be done again
        return not inferred.torn or _is_all_or_apart(vm, writes, (*args, *kwargs.values()))
    # Other functions may be anywhere in their work: they must not have changed what they read.
    places = [*enumerate(args), *kwargs.items()]
    reads = [node for place in places for node in _read(*place, inferred.writes)]
    # What is only written can be written again, if each store is where nothing else is.
    again = not inferred.torn or (not inferred.rereads and _apart(vm, writes))
    return again and all(
        owner(node) is not owner(written) and not _overlap(vm, node, written)
        for node in reads
        for written in writes
    )


def _has_several(inferred: ops.Inferred, writes: Sequence[Node]) -> bool:
    """Whether a call that writes gives a tuple, which no stand-in for a finished call can be."""
    return isinstance(inferred.results, tuple) and bool(inferred.results) and bool(writes)


def _read(place: object, operand: object, writes: Sequence[object]) -> Iterator[Node]:
    """Yield the nodes of an argument but for what is at the places that are written."""
    if place in writes:
        return
    if isinstance(operand, tuple | list):
        for index, item in enumerate(operand):
            yield from _read((place, index), item, writes)
    else:
        yield from nodes_in(operand)


def _apart(vm: Machine, nodes: Sequence[Node]) -> bool:
    return all(
        owner(one) is not owner(other) and not _overlap(vm, one, other)
        for index, one in enumerate(nodes)
        for other in nodes[:index]
    )


def _is_one_store(target: object) -> bool:
    """Whether a call is one NumPy loop into its output: when a flag is reported, all of it is stored."""
    return isinstance(target, np.ufunc) or any(target is store for store in _STORES)


def _is_all_or_apart(vm: Machine, writes: Sequence[Node], operands: object) -> bool:
    """Whether each operand is the very array that is written, or shares no memory with it.

    Where they share a part, NumPy writes into a copy, and drops it when a flag raises (NumPy's nditer_constr.c,
    ``NpyIter_Deallocate``), or it does not, by the order of their elements.
    """
    return all(
        node is written or (owner(node) is not owner(written) and not _overlap(vm, node, written))
        for node in nodes_in(operands)
        for written in writes
    )


def _overlap(vm: Machine, left: Node, right: Node) -> bool:
    """Whether two inputs share memory now; that they do not is guarded where anything is written."""
    owners = owner(left), owner(right)
    if not all(map(_from_outside, owners)):
        return False
    if not all(owner in vm.input_values for owner in owners):
        return True  # what is handed from turn to turn, or chosen by a branch, may be any of them
    one, other = (vm.input_values[owner] for owner in owners)
    arrays = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
    return arrays and np.may_share_memory(one, other)


def owner(node: Node) -> Node:
    """Return the node whose memory this is, as far as is known."""
    while node.view_of is not None:
        node = node.view_of
    return node


def _both_from_outside(one: Node, other: Node) -> bool:
    return _from_outside(one) and _from_outside(other)


def _from_outside(node: Node) -> bool:
    """Whether a node's memory may be that of an input: others can see what is written there."""
    memory = owner(node)
    return memory.kind is NodeKind.INPUT or memory.alias == "maybe"


def _stream_from_outside(node: Node) -> bool:
    """Whether a call draws from a stream that was there before the graph: NumPy's own, or that of an input.

    A stream that the graph made is made anew when the part is run again.
    """
    if _is_object(node):
        return False  # it makes a stream
    streams = [used for used in node.uses() if _is_object(used)]
    return not streams or any(map(_object_from_outside, streams))


def _is_object(node: Node) -> bool:
    return any(isinstance(meta, ObjectMeta) for meta in node.meta)


def _object_from_outside(node: Node) -> bool:
    """Whether an opaque object is an input, or made of one: a generator of a bit generator."""
    return node.kind is NodeKind.INPUT or any(
        map(_object_from_outside, filter(_is_object, node.uses()))
    )


def call_scalar(
    vm: Machine,
    target: Callable[..., object],
    args: Sequence[SymValue],
    pytype: type,
    *,
    can_fail: bool = True,
) -> SymScalar:
    """Record an operation of Python numbers; its result is a number of `pytype`."""
    held = tuple(operand(vm, value)[1] for value in args)
    node = add_node(vm, target, held, {}, (ScalarMeta(pytype),), can_fail=can_fail, op=None)
    if pytype is not int:
        return SymScalar(None, pytype, node)
    return _integer(vm, node)


def _argument(
    vm: Machine, args: Sequence[SymValue], kwargs: Mapping[str, SymValue], place: object
) -> SymValue:
    """Return the argument at a place of the call, as `ops.infer` names places."""
    if isinstance(place, int):
        return args[place]
    if isinstance(place, str):
        return kwargs[place]
    assert isinstance(place, tuple)
    sequence = vm.realize(_argument(vm, args, kwargs, place[0]))
    items = vm.contents(sequence) if isinstance(sequence, SymObject) else None
    if isinstance(sequence, SymTuple):
        items = sequence.items
    assert isinstance(items, tuple)
    item = items[place[1]]
    assert isinstance(item, SymValue)
    return item


def _node(value: SymValue, vm: Machine) -> Node:
    value = vm.realize(value)
    assert isinstance(value, SymArray)
    return value.node


def no_rule(context: str, *values: SymValue) -> NoReturn:
    """Break where these values have no rule, saying so if one is an array that is not a plain numeric one."""
    for value in values:
        if isinstance(value, SymInstance) and issubclass(value.pytype, np.ndarray):
            kind = str(value.obj.dtype) if type(value.obj) is np.ndarray else ""
            break_graph(because.NOT_NUMERIC, f"{context}, dtype {kind:.60}" if kind else context)
    break_graph(because.NO_RULE, context)


def _spelling(target: Callable[..., object]) -> str:
    module = getattr(target, "__module__", None) or ""
    name = getattr(target, "__qualname__", None) or getattr(target, "__name__", repr(target))
    return f"{module}.{name}".lstrip(".")


def describe(value: SymValue) -> str:
    """Return a few words on a value for messages: its type, and shape and dtype where it has them."""
    if isinstance(value, SymArray):
        return str(value.meta)
    if isinstance(value, SymScalar):
        return value.pytype.__name__
    if isinstance(value, SymUnion):
        return str(UnionMeta(value.kinds))
    if isinstance(value, Known):
        return type(value.value).__name__
    if isinstance(value, SymInstance | SymNamedTuple | SymObject | SymNew | SymRandom | SymView):
        return value.pytype.__name__
    return type(value).__name__.removeprefix("Sym").lower()
