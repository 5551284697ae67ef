"""Calls of graphs as Python expressions: operators, methods, subscripts, constants; it places no statements.

Every form here does exactly what ``target(*args, **kwargs)`` does, on the types that the nodes' metas promise.
"""

from __future__ import annotations

import keyword
import math
import operator
from types import BuiltinFunctionType, MethodDescriptorType, MethodWrapperType
from typing import TYPE_CHECKING, Final

import numpy as np

from bcjit.dims import Expr, Symbol
from bcjit.fx_graph.buffers import NO_BUFFERS
from bcjit.fx_graph.elision import COMMUTED, LEAST, ever_swaps, swaps
from bcjit.fx_graph.node import Node, NodeKind, Operand
from bcjit.fx_graph.places import Handed, Places, Size
from bcjit.fx_graph.printer import target_name
from bcjit.meta import ArrayMeta
from bcjit.ops.warning_twins import refusing
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.dims import Dim
    from bcjit.fx_graph.buffers import Buffers, Stored
    from bcjit.fx_graph.graph import Graph

__all__ = ["Expression", "Renderer", "size_text", "warns_here"]

INFIX: Final[dict[object, str]] = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/",
    operator.floordiv: "//", operator.mod: "%", operator.pow: "**", operator.matmul: "@",
    operator.and_: "&", operator.or_: "|", operator.xor: "^", operator.lshift: "<<",
    operator.rshift: ">>", operator.lt: "<", operator.le: "<=", operator.eq: "==",
    operator.ne: "!=", operator.gt: ">", operator.ge: ">=",
}  # fmt: skip
PREFIX: Final[dict[object, str]] = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}
IN_PLACE: Final[dict[object, str]] = {
    operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.itruediv: "/=",
    operator.ifloordiv: "//=", operator.imod: "%=", operator.ipow: "**=", operator.imatmul: "@=",
    operator.iand: "&=", operator.ior: "|=", operator.ixor: "^=", operator.ilshift: "<<=",
    operator.irshift: ">>=",
}  # fmt: skip

# What NumPy's Python code for a reduction calls when the operand is an exact array and at most the axis is positional
# (numpy/_core/_methods.py, and _wrapreduction in fromnumeric.py): the same result, a frame or three sooner.
REDUCTIONS: Final[dict[object, object]] = {
    np.ndarray.sum: np.add.reduce, np.sum: np.add.reduce,
    np.ndarray.prod: np.multiply.reduce, np.prod: np.multiply.reduce,
    np.ndarray.max: np.maximum.reduce, np.max: np.maximum.reduce, np.amax: np.maximum.reduce,
    np.ndarray.min: np.minimum.reduce, np.min: np.minimum.reduce, np.amin: np.minimum.reduce,
}  # fmt: skip

# Methods of arrays that are Python functions of numpy._core._methods.
PYTHON_METHODS: Final = frozenset(
    {"all", "any", "clip", "dump", "dumps", "max", "mean", "min", "prod", "std", "sum", "var"}
)

# Longer integers meet the limit of int <-> str conversion; they are bound by name.
_INT_BITS: Final = 512


@dataclass(frozen=True, slots=True)
class Expression:
    """How a value is written."""

    text: str
    atom: bool = True  # needs no parentheses beside an operator
    reads: frozenset[str] = frozenset()  # variables
    sizes: tuple[Size, ...] = ()  # axes of arrays whose lengths it reads, in order


class Renderer:
    """Writes the calls of a graph and of the bodies in it, and collects the globals they need.

    Attributes
    ----------
    namespace
        Globals so far: functions, and constants whose text is not exact.
    """

    def __init__(
        self, places: Places, buffers: Buffers = NO_BUFFERS, beside: Renderer | None = None
    ) -> None:
        self.places = places
        self.buffers = buffers
        self.graph = places.graph  # the one whose node is being written: its symbols are meant
        # min and max: dims.Expr.source calls them by name, and no node has these names.
        self.namespace: dict[str, object] = {"min": min, "max": max}
        self.nested: dict[Node, Expression] = {}
        self._names: set[str] = {node.name for node in places.where} | set(self.namespace)
        self._global_of: dict[int, str] = {}
        if beside is not None:  # in the same function
            self.namespace = beside.namespace
            self._names, self._global_of = beside.taken
        self._size_names: dict[Size, str] = {}
        self._objects = False
        self._reads: dict[str, None] = {}
        self._sizes: dict[Size, None] = {}

    @property
    def taken(self) -> tuple[set[str], dict[int, str]]:
        """The names that are taken, and those of objects by identity."""
        return self._names, self._global_of

    # Whole nodes

    def expression(self, node: Node) -> Expression:
        """Return the value of a call or an output node as an expression."""
        self.graph, _ = self.places.where[node]
        return self._collect(*self._value(node))

    def operand(self, operand: Operand, graph: Graph) -> Expression:
        """Return an operand of a node of a graph as an expression."""
        self.graph = graph
        return self._collect(*self._operand(operand))

    def handed_on(self, operand: Operand, graph: Graph) -> Expression:
        """Return an operand whose value is handed on: a float or complex number as the object it is, which a program may compare by identity."""
        self._objects = True
        try:
            return self.operand(operand, graph)
        finally:
            self._objects = False

    def range(self, over: tuple[Operand, Operand, Operand], graph: Graph) -> Expression:
        """Return the range of a loop, as short as people write it."""
        self.graph = graph
        start, stop, step = over
        shown = (start, stop, step)
        if type(step) is int and step == 1:
            shown = (stop,) if type(start) is int and start == 0 else (start, stop)  # type: ignore[assignment]  # shorter
        inner = ", ".join(self._operand(part)[0] for part in shown)
        return self._collect(f"{self.bind(range, 'range')}({inner})", True)

    def effect(self, node: Node) -> Expression | None:
        """Return a call as a statement (in-place operator, item assignment); None if it is none."""
        self.graph, _ = self.places.where[node]
        first = node.args[0] if node.args else None
        if node.kwargs or not isinstance(first, Node):
            return None
        sign = IN_PLACE.get(node.target)
        if sign is not None and len(node.args) == 2:
            name, left = self.places.name(node), self._operand(first)[0]
            change = f"{name} {sign} {self._operand(node.args[1])[0]}"
            text = change if name == left else f"{name} = {left}; {change}"
            return self._collect(text, False)
        if node.target is operator.setitem and len(node.args) == 3 and not node.has_value:
            base, value = self._atom(first), self._operand(node.args[2])[0]
            return self._collect(f"{base}[{self._subscript(node.args[1])}] = {value}", False)
        return None

    def size_name(self, size: Size) -> str:
        """Return the variable of the length of an axis."""
        return self._size_names[size]

    def _symbol(self, symbol: Symbol) -> str:
        """Return what a symbol of the present graph is at run time: the node's own variable when the node is the int."""
        node, axis = self.graph.symbols[symbol]
        if axis is None:
            return self._atom(node)
        meaning = self.places.meaning(node)
        if isinstance(meaning, Handed):
            return f"{self._atom(node)}.shape[{axis}]"
        size = (meaning, axis)
        self._sizes[size] = None
        self._reads[self.places.name(meaning)] = None
        if size not in self._size_names:
            self._size_names[size] = self.new_name(symbol.name)
        return self._size_names[size]

    def bind(self, value: object, hint: str) -> str:
        """Return the global name of an object."""
        name = self._global_of.get(id(value))
        if name is None:
            name = self._global_of[id(value)] = self.new_name(hint)
            self.namespace[name] = value
        return name

    def _collect(self, text: str, atom: bool) -> Expression:
        found = Expression(text, atom, frozenset(self._reads), tuple(self._sizes))
        self._reads, self._sizes = {}, {}
        return found

    def _value(self, node: Node) -> tuple[str, bool]:
        if node.kind is NodeKind.OUTPUT:
            return self._operand(node.args)
        stored = self.buffers.calls.get(node)
        if stored is not None:
            return self._stored(node, stored), False
        plain = not node.kwargs and any(isinstance(arg, Node | Expr) for arg in node.args[:2])
        special = self._special(node) if plain else None
        return special if special is not None else (self._call(node), True)

    def _stored(self, node: Node, stored: Stored) -> str:
        """Return the call of a ufunc that writes into a buffer, or that makes one."""
        words = [self._operand(arg)[0] for arg in node.args[: stored.inputs]]
        if stored.buffer is None:
            return self.stored_call(stored, words, "")
        name = self.buffers.names[stored.buffer]
        if stored.makes:
            return f"{name} = {self.stored_call(stored, words, '')}"
        self._reads[name] = None
        return self.stored_call(stored, words, f", out={name}")

    def stored_call(self, stored: Stored, words: list[str], more: str) -> str:
        """Return the call of a ufunc, with its operands in the order in which NumPy takes them."""
        function = self.bind(stored.function, f"np_{stored.function.__name__}")
        written = f"{function}({', '.join(words)}{more})"
        if stored.swapped is False:
            return written
        swapped = f"{function}({', '.join(words[::-1])}{more})"
        if stored.swapped is True:
            return swapped
        number = size_text(self.places.graph, stored.swapped)
        return f"{swapped} if {number} >= {LEAST} else {written}"

    def _special(self, node: Node) -> tuple[str, bool] | None:
        """Return operators, subscripts and attributes: calls without keywords over a node."""
        first, *rest = node.args
        sign = INFIX.get(node.target)
        if sign is not None and len(rest) == 1 and self._is_swapped(node):
            left, right = self._atom(first), self._atom(rest[0])
            large = f"{right}.nbytes >= {LEAST}"  # small ones are asked no more
            swapped = (
                f"{right} {sign} {left} if {large} and {self.bind(swaps, 'swaps')}({left}, {right})"
            )
            return f"{swapped} else {left} {sign} {right}", False
        if sign is not None and len(rest) == 1:
            return f"{self._atom(first)} {sign} {self._atom(rest[0])}", False
        sign = PREFIX.get(node.target)
        if sign is not None and not rest:
            return f"{sign}{self._atom(first)}", False
        if not isinstance(first, Node):
            return None
        if node.target is operator.getitem and len(rest) == 1:
            return f"{self._owner(first)}[{self._subscript(rest[0])}]", True
        attribute = _attribute(node)
        if attribute is not None and not rest:
            return f"{self._owner(first)}.{attribute}", True
        return None

    def _is_swapped(self, node: Node) -> bool:
        """Whether NumPy would swap the operands of a large result, and the right one is no temporary here."""
        only_right = node.temporaries == (False, True) and node.args[1] not in self.places.nested
        return only_right and node.target in COMMUTED and ever_swaps()

    def _call(self, node: Node) -> str:
        args = list(node.args)
        if _is_reduction(node):
            reduction = REDUCTIONS[node.target]
            function = self.bind(reduction, _short(target_name(reduction)))
            if len(args) == 1 and "axis" not in node.kwargs:
                args.append(None)
        elif _is_method(node):
            function = f"{self._owner(args.pop(0))}.{getattr(node.target, '__name__', '')}"
        else:
            function = self.bind(refusing(node.target), _short(target_name(node.target)))
        words = [self._operand(arg)[0] for arg in args]
        if all(key.isidentifier() and not keyword.iskeyword(key) for key in node.kwargs):
            words.extend(f"{key}={self._operand(arg)[0]}" for key, arg in node.kwargs.items())
        else:
            words.append(f"**{self._operand(node.kwargs)[0]}")
        return f"{function}({', '.join(words)})"

    # Operands

    def _owner(self, operand: Operand) -> str:
        """Return what stands in front of a dot or a bracket; a body may be handed a number."""
        text = self._atom(operand)
        return f"({text})" if text[0].isdigit() else text

    def _atom(self, operand: Operand) -> str:
        text, atom = self._operand(operand)
        return text if atom else f"({text})"

    def _operand(self, operand: Operand) -> tuple[str, bool]:
        """Return the text of an operand, and whether it needs no parentheses."""
        if isinstance(operand, Node):
            return self._node(operand)
        if isinstance(operand, Expr):
            ordered = sorted(operand.symbols(), key=Symbol.key)
            text = operand.source({symbol: self._symbol(symbol) for symbol in ordered})
            return text, text.isidentifier()
        if type(operand) is tuple:
            inner = ", ".join(self._operand(item)[0] for item in operand)
            return f"({inner},)" if len(operand) == 1 else f"({inner})", True
        if type(operand) is list:
            return f"[{', '.join(self._operand(item)[0] for item in operand)}]", True
        if type(operand) is dict:
            pairs = (
                f"{self._constant(key)[0]}: {self._operand(value)[0]}"
                for key, value in operand.items()
            )
            return f"{{{', '.join(pairs)}}}", True
        if isinstance(operand, slice):
            parts = (operand.start, operand.stop, operand.step)
            inner = ", ".join(self._operand(part)[0] for part in parts)
            return f"{self.bind(slice, 'slice')}({inner})", True
        return self._constant(operand)

    def _node(self, node: Node) -> tuple[str, bool]:
        meaning = self.places.meaning(node)
        if isinstance(meaning, Handed):
            return self._handed(meaning)
        nested = self.nested.get(meaning) if isinstance(meaning, Node) else None
        if nested is None:
            name = self.places.name(meaning)
            self._reads[name] = None
            return name, True
        self._reads.update(dict.fromkeys(nested.reads))
        self._sizes.update(dict.fromkeys(nested.sizes))
        return nested.text, nested.atom

    def _handed(self, handed: Handed) -> tuple[str, bool]:
        """Write what stands in the place of a node, as an operand of its own graph."""
        operand = handed.operand
        if isinstance(operand, Node):
            return self.bind(operand.target, operand.name), True
        present, self.graph = self.graph, handed.graph
        found = self._operand(operand)
        self.graph = present
        return found

    def _subscript(self, key: Operand) -> str:
        """Write what stands between the brackets; slices have their own syntax at the top and in one tuple."""
        if type(key) is tuple and key:
            inner = ", ".join(self._slice_or_operand(item) for item in key)
            return f"{inner}," if len(key) == 1 else inner
        return self._slice_or_operand(key)

    def _slice_or_operand(self, key: Operand) -> str:
        if not isinstance(key, slice):
            return self._operand(key)[0]
        start, stop, step = (
            "" if part is None else self._operand(part)[0]
            for part in (key.start, key.stop, key.step)
        )
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"

    def _constant(self, value: object) -> tuple[str, bool]:
        text = _literal(value)
        if text is None or (self._objects and type(value) in (float, complex)):
            return self.bind(value, _short(_constant_hint(value))), True
        return text, not text.startswith("-")

    def new_name(self, wanted: str) -> str:
        """Return and take a name that no variable and no global has."""
        name = wanted
        for number in range(1, len(self._names) + 2):
            if name not in self._names and not keyword.iskeyword(name) and name.isidentifier():
                break
            name = f"{wanted if wanted.isidentifier() else 'value'}_{number}"
        self._names.add(name)
        return name


def size_text(graph: Graph, dim: Dim) -> str:
    """Return a size in terms of the inputs of the whole graph, which have their variables everywhere."""
    if not isinstance(dim, Expr):
        return str(dim)
    names: dict[Symbol, str] = {}
    for symbol in dim.symbols():
        node, axis = graph.symbols[symbol]
        names[symbol] = node.name if axis is None else f"{node.name}.shape[{axis}]"
    return dim.source(names)


def _literal(value: object) -> str | None:
    """Return source that gives this very value, None where only a name will do."""
    if value is None or value is True or value is False:
        return str(value)
    if value is ...:
        return "..."
    if type(value) is int:
        return repr(value) if value.bit_length() <= _INT_BITS else None
    if type(value) is float:
        exact = math.isfinite(value) and (value != 0.0 or math.copysign(1.0, value) > 0.0)
        return repr(value) if exact else None
    return repr(value) if type(value) in (str, bytes) else None


def _constant_hint(value: object) -> str:
    if isinstance(value, np.dtype):
        return f"dtype_{value.name}"
    return target_name(value) if callable(value) else f"const_{type(value).__name__}"


def _short(name: str) -> str:
    """Return ``np_linalg_norm`` for ``numpy.linalg.norm``."""
    head, dot, rest = name.partition(".")
    name = f"np.{rest}" if head == "numpy" and dot else name
    return "".join(char if char.isascii() and char.isalnum() else "_" for char in name)


def warns_here(node: Node) -> bool:
    """Whether a warning of the call belongs to the frame that makes it: C code warns, not Python code of NumPy's."""
    target = node.target
    if isinstance(target, MethodDescriptorType):
        return target.__name__ not in PYTHON_METHODS or _is_reduction(node)
    known = (BuiltinFunctionType, MethodWrapperType, operator.attrgetter, np.ufunc)
    # A kernel says it of the calls it stands for.
    return (
        isinstance(target, known)
        or _is_reduction(node)
        or getattr(target, "warns_here", None) is True
    )


def _is_reduction(node: Node) -> bool:
    """Whether the target is a Python function for whose call that of a ufunc's method can stand."""
    return (
        node.target in REDUCTIONS and 0 < len(node.args) <= 2 and _finds(node.args[0], np.ndarray)
    )


def _is_method(node: Node) -> bool:
    """Whether the target is the method that ``first_operand.name`` finds: exact arrays and NumPy scalars."""
    target = node.target
    if not isinstance(target, MethodDescriptorType) or not node.args:
        return False
    return _finds(node.args[0], target.__objclass__) and hasattr(
        target.__objclass__, target.__name__
    )


def _attribute(node: Node) -> str | None:
    """Return the attribute that a call of ``np.ndarray.T.__get__`` or ``attrgetter("T")`` reads."""
    target = node.target
    if type(target) is operator.attrgetter:
        names = target.__reduce__()[1]
        return str(names[0]) if len(names) == 1 else None
    if isinstance(target, MethodWrapperType) and target.__name__ == "__get__":
        owner = getattr(target.__self__, "__objclass__", None)
        if owner is not None and _finds(node.args[0], owner):
            return str(getattr(target.__self__, "__name__", "")) or None
    return None


def _finds(operand: Operand, owner: type) -> bool:
    """Whether attribute lookup on the operand finds what `owner` defines."""
    meta = operand.meta[0] if isinstance(operand, Node) and len(operand.meta) == 1 else None
    if not isinstance(meta, ArrayMeta) or (isinstance(operand, Node) and operand.multi):
        return False
    return owner is (np.generic if meta.is_scalar else np.ndarray)
