"""Recipes run by Python: the slow path of a bail-out, and the helpers that residual bytecode calls for rare values.

`Restorer` makes values from the live values of a part and from what the graph had computed when it failed.
"""

from __future__ import annotations

import functools
import itertools
import operator
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from bcjit.compiler.recipes import (
    Build,
    Closure,
    FromGraph,
    FromSource,
    Literal,
    MakeFunction,
    Nothing,
    Perhaps,
    Recipe,
    Step,
)
from bcjit.dims import Expr, Symbol
from bcjit.fx_graph import Graph, Node, NodeKind, map_operand
from bcjit.guards import Roots, fetch
from bcjit.meta import UNBOUND

if TYPE_CHECKING:
    from bcjit.symbolic_vm.values import IteratorState

__all__ = [
    "NOTHING",
    "Restorer",
    "make_cell",
    "make_deque",
    "make_function",
    "make_iterator",
    "make_method",
    "make_named_tuple",
    "make_view",
    "perform",
    "symbols_of",
    "unbound_local",
]

NOTHING = object()  # a NULL or an unbound local


def make_cell(*contents: object) -> CellType:
    """Return a new cell."""
    return CellType(*contents)


def make_method(function: object, owner: object) -> types.MethodType:
    """Return a bound method."""
    return types.MethodType(function, owner)  # type: ignore[arg-type]


def make_named_tuple(cls: type[tuple[object, ...]], *items: object) -> tuple[object, ...]:
    """Return a named tuple of these items; nothing of the class is called."""
    return tuple.__new__(cls, items)


def make_deque(*items: object) -> deque[object]:
    """Return a deque of these items."""
    return deque(items)


def make_view(owner: dict[object, object], which: str) -> object:
    """Return the keys, values or items of a dict."""
    return getattr(owner, which)()


def make_iterator(kind: str, state: IteratorState, *parts: object) -> Iterator[object]:
    """Return an iterator as far on as `state` says; `kind` and `parts` are those of a `SymIterator`."""
    given, done = cast("tuple[int, bool]", state)
    made: Any
    if kind == "reversed":
        sequence, size = cast("tuple[Sequence[object], int]", parts)
        made = reversed(sequence)
        made.__setstate__(size - 1 - given)
    elif kind == "enumerate":
        made = enumerate(cast("Iterator[object]", parts[0]), given)
    elif kind in _BUILTIN_ITERATORS:
        made = _BUILTIN_ITERATORS[kind](*parts)
    else:
        made = iter(cast("Iterable[object]", parts[0]))
        if hasattr(made, "__setstate__"):
            made.__setstate__(given)
        else:
            deque(itertools.islice(made, given), maxlen=0)
    if done:
        deque(made, maxlen=0)
    return cast("Iterator[object]", made)


_BUILTIN_ITERATORS: Final[Mapping[str, Callable[..., object]]] = {
    "zip": zip,
    "strict zip": functools.partial(zip, strict=True),
    "chain": itertools.chain,
    "map": map,
    "filter": filter,
}


def unbound_local(cell: CellType, name: str) -> UnboundLocalError | None:
    """Return what reading a local raises whose cell is empty (``format_exc_unbound``, Python/ceval.c), None if it is not."""
    try:
        cell.cell_contents  # noqa: B018 - it raises
    except ValueError:
        message = f"cannot access local variable '{name}' where it is not associated with a value"
        return UnboundLocalError(message)
    return None


def make_function(
    code: CodeType,
    namespace: dict[str, object],
    defaults: tuple[object, ...] | None,
    kwdefaults: dict[str, object] | None,
    closure: tuple[CellType, ...] | None,
    annotations: tuple[object, ...] | dict[str, object] | FunctionType | None,
) -> FunctionType:
    """Return what executing a ``def`` returns (``MAKE_FUNCTION``, Python/bytecodes.c)."""
    made = FunctionType(code, namespace, None, defaults, closure)
    made.__kwdefaults__ = kwdefaults
    if isinstance(annotations, tuple):
        made.__annotations__ = dict(zip(annotations[::2], annotations[1::2], strict=True))  # type: ignore[arg-type]
    elif isinstance(
        annotations, FunctionType
    ):  # evaluates them when they are asked for, from 3.14 on
        made.__annotate__ = annotations  # type: ignore[attr-defined]  # newer than the checker's Python
    elif annotations is not None:
        made.__annotations__ = annotations
    made.__qualname__ = code.co_qualname
    return made


def perform(step: Step, values: tuple[object, ...]) -> None:
    """Do a step to an object: the first value."""
    owner, *operands = values
    kind, key = step.kind, step.key
    if kind == "setattr":
        setattr(owner, str(key), *operands)
    elif kind == "plain_setattr":
        object.__setattr__(owner, str(key), *operands)
    elif kind == "delattr":
        delattr(owner, str(key))
    elif kind == "setitem":
        operator.setitem(owner, *operands)  # type: ignore[call-overload]  # what it is was guarded
    elif kind == "delitem":
        operator.delitem(owner, *operands)  # type: ignore[call-overload]
    elif kind == "setcell":
        (owner.cell_contents,) = operands  # type: ignore[attr-defined]
    elif kind == "delcell":
        del owner.cell_contents  # type: ignore[attr-defined]
    else:
        assert kind == "method", kind
        key(owner, *operands)  # type: ignore[operator]


def symbols_of(graph: Graph) -> dict[Symbol, tuple[Node, int | None]]:
    """Return where each symbol of a graph and its bodies is read; one that is handed in to a body, where it comes from."""
    found: dict[Symbol, tuple[Node, int | None]] = {}
    for part in graph.nested():
        for symbol, place in part.symbols.items():
            found.setdefault(symbol, place)
    return found


class Restorer:
    """Makes the values of recipes.

    Parameters
    ----------
    roots
        The part's live values.
    graph
        The graph that failed.
    computed
        Values of the nodes that had been computed.
    cells
        The frame's cells, by slot; made where they are missing.
    """

    def __init__(
        self,
        roots: Roots,
        graph: Graph,
        computed: Mapping[Node, object],
        cells: tuple[CellType, ...],
    ) -> None:
        self._roots = roots
        self._symbols = symbols_of(graph)
        self._computed = computed
        self.cells = cells
        self._made: dict[int, object] = {}

    def make(self, recipe: Recipe) -> object:
        """Return the value of a recipe, `NOTHING` for a NULL."""
        if isinstance(recipe, Nothing):
            return NOTHING
        if isinstance(recipe, Literal):
            return recipe.value
        if isinstance(recipe, FromSource):
            return fetch(recipe.source, self._roots)
        if isinstance(recipe, FromGraph):
            return self.operand(recipe.operand)
        if isinstance(recipe, Perhaps):
            return NOTHING if self.operand(recipe.flag) is UNBOUND else self.make(recipe.value)
        if isinstance(recipe, Closure):
            return self.cells[recipe.slot]
        assert isinstance(recipe, Build | MakeFunction)
        if recipe.key not in self._made:
            self._made[recipe.key] = (
                self._build(recipe) if isinstance(recipe, Build) else self._function(recipe)
            )
        return self._made[recipe.key]

    def operand(self, operand: object) -> object:
        """Return what an operand of the graph was; constants are themselves."""
        return map_operand(operand, self._leaf)

    def _leaf(self, operand: object) -> object:
        if isinstance(operand, Node):
            return operand.target if operand.kind is NodeKind.CONST else self._computed[operand]
        if isinstance(operand, Expr):
            return operand.evaluate({symbol: self._symbol(symbol) for symbol in operand.symbols()})
        return operand

    def _symbol(self, symbol: Symbol) -> int:
        node, axis = self._symbols[symbol]
        value = self._computed[node]
        return value if axis is None else value.shape[axis]  # type: ignore[attr-defined, return-value]

    def _build(self, recipe: Build) -> object:
        items = [self.make(item) for item in recipe.items]
        kind = recipe.kind
        if kind == "tuple":
            return tuple(items)
        if kind == "list":
            return items
        if kind == "dict":
            return dict(zip(items[::2], items[1::2], strict=True))
        if kind == "cell":
            return make_cell(*(item for item in items if item is not NOTHING))
        if kind == "attribute":
            return getattr(items[0], str(items[1]))
        if kind == "new":
            return object.__new__(items[0])  # type: ignore[arg-type]  # a class, by its recipe
        makers = {
            "slice": slice,
            "range": range,
            "method": make_method,
            "named_tuple": make_named_tuple,
            "iterator": make_iterator,
            "set": set,
            "deque": make_deque,
            "view": make_view,
            "iinfo": np.iinfo,
        }
        return makers[kind](*items)  # type: ignore[operator]

    def _function(self, recipe: MakeFunction) -> FunctionType:
        parts = (
            recipe.globals,
            recipe.defaults,
            recipe.kwdefaults,
            recipe.closure,
            recipe.annotations,
        )
        return make_function(recipe.code, *(self.make(part) for part in parts))  # type: ignore[arg-type]
