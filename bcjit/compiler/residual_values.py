"""Values in residual code: a recipe read into bytecode, each source read once, shared objects made once; and effects done.

What a part's code consists of, and where it leads, is ``residual``'s; what a value is made of is said by ``recipes``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, cast

import numpy as np

from bcjit import _core
from bcjit.bytecode import CodeBuilder, Op
from bcjit.compiler.recipes import (
    Build,
    Closure,
    FromGraph,
    FromSource,
    Literal,
    MakeFunction,
    Nothing,
    Recipe,
    RecipeMaker,
    Step,
    walk,
)
from bcjit.compiler.restore import (
    make_cell,
    make_deque,
    make_function,
    make_iterator,
    make_method,
    make_named_tuple,
    make_view,
)
from bcjit.dims import Expr
from bcjit.fx_graph import Node
from bcjit.guards import Source, SourceKind, lookup_in_mro
from bcjit.symbolic_vm import Capture, PartSpec

__all__ = ["GetPart", "ValueWriter", "needs_call"]

GetPart = Callable[[PartSpec], object]

_MEMBERS: Final[Mapping[str, str]] = {
    "code": "__code__",
    "defaults": "__defaults__",
    "kwdefaults": "__kwdefaults__",
    "globals": "__globals__",
    "closure": "__closure__",
    "self": "__self__",
    "func": "__func__",
    "fget": "fget",
    "fset": "fset",
    "dict": "__dict__",
}


_HELPERS: Final[Mapping[str, Callable[..., object]]] = {
    "cell": make_cell,
    "method": make_method,
    "named_tuple": make_named_tuple,
    "range": range,
    "iterator": make_iterator,
    "new": object.__new__,
    "set": set,
    "deque": make_deque,
    "view": make_view,
    "iinfo": np.iinfo,
}


_APPENDS: Final[Mapping[object, Op]] = {
    list.append: Op.LIST_APPEND,
    list.extend: Op.LIST_EXTEND,
}
# The instruction that does a step.
_STEP_OPS: Final[Mapping[str, Callable[[object], tuple[Op, object]]]] = {
    "setattr": lambda key: (Op.STORE_ATTR, key),
    "delattr": lambda key: (Op.DELETE_ATTR, key),
    "setitem": lambda _: (Op.STORE_SUBSCR, None),
    "delitem": lambda _: (Op.DELETE_SUBSCR, None),
    "setcell": lambda _: (Op.STORE_ATTR, "cell_contents"),
    "delcell": lambda _: (Op.DELETE_ATTR, "cell_contents"),
}


class ValueWriter:
    """Loads values by their recipes into the code of one builder, and does effects; knows nothing of how a part ends.

    Uses are counted first (planning), so that what is shared is made once, and let go at its last use.
    """

    def __init__(
        self,
        capture: Capture,
        inputs: Sequence[Node],
        graph_call: Callable[[tuple[Node | Expr, ...]], _core.GraphCall],
        get_part: GetPart,
        callee_tag: object,
    ) -> None:
        self.capture = capture
        self.inputs = inputs
        self.graph_call = graph_call
        self.get_part = get_part
        self.callee_tag = callee_tag
        code = capture.spec.code
        self.code = code
        first = capture.spec.offset is None
        self.cell_names = code.co_cellvars + code.co_freevars
        self.builder = CodeBuilder(
            name=code.co_name,
            qualname=code.co_qualname,
            filename=code.co_filename,
            firstlineno=code.co_firstlineno,
            argnames=capture.spec.value_names,
            cellvars=code.co_cellvars if first else (),
            freevars=code.co_freevars if first else self.cell_names,
            resume=False,
        )
        self.first = first
        self.outputs: dict[Node | Expr, int] = {}
        self.next_parts: list[object] = []
        self._shared: Counter[int] = Counter()
        self._temps: dict[int, str] = {}
        self._output_uses: Counter[int] = Counter()
        self._held: dict[
            int, str
        ] = {}  # operands of steps in temporaries, by the identity of their recipes
        self._held_uses: Counter[int] = Counter()
        self._input_set = {node: capture.input_sources[node] for node in inputs}
        self._source_uses: Counter[Source] = Counter()  # of sources outside the frame
        self._early: dict[
            Source, str
        ] = {}  # those that are kept in a temporary until their last use

    # ------------------------------------------------------------------ planning
    def _resolve(self, recipe: Recipe) -> Recipe:
        """Give every graph value among a recipe's parts a place among the outputs."""
        for part in walk(recipe):
            if isinstance(part, FromGraph) and part.operand not in self._input_set:
                self.outputs.setdefault(part.operand, len(self.outputs))
        return recipe

    def _steps(self, maker: RecipeMaker) -> tuple[Step, ...]:
        steps = maker.steps()
        for step in steps:
            for operand in step.operands:
                self._resolve(operand)
        return steps

    def _plan(self, recipes: Iterable[Recipe], steps: Iterable[Step]) -> None:
        """Count uses, so that shared objects are made once and outputs are let go at their last use."""
        for recipe in recipes:
            self._count(recipe)
        for step in steps:
            for operand in step.operands:
                if self._must_hold(operand):
                    self._held_uses[id(operand)] += 1
                if self._held_uses[id(operand)] <= 1:
                    self._count(operand)

    def _must_hold(self, recipe: Recipe) -> bool:
        """Whether an operand of a step must be made before the first step is done."""
        if isinstance(recipe, FromGraph):
            return recipe.operand not in self.outputs
        if isinstance(recipe, FromSource):
            return not self._is_argument(recipe.source)
        return not isinstance(recipe, Literal | Closure)

    def _is_argument(self, source: Source) -> bool:
        return source.kind is SourceKind.LOCAL and not (
            self.first and cast("tuple[int, str]", source.key)[1] in self.code.co_cellvars
        )

    def _count(self, recipe: Recipe) -> None:
        if isinstance(recipe, FromGraph):
            if recipe.operand in self.outputs:
                self._output_uses[self.outputs[recipe.operand]] += 1
            else:
                assert isinstance(recipe.operand, Node)
                self._use(self._input_set[recipe.operand])
        elif isinstance(recipe, FromSource):
            self._use(recipe.source)
        elif isinstance(recipe, Build | MakeFunction):
            self._shared[recipe.key] += 1
            if self._shared[recipe.key] == 1:
                for part in _parts(recipe):
                    self._count(part)

    def _use(self, source: Source) -> None:
        if source.kind not in (SourceKind.LOCAL, SourceKind.GLOBALS):
            self._source_uses[source] += 1

    # ------------------------------------------------------------------ loading
    def _load(self, recipe: Recipe) -> None:
        builder = self.builder
        if isinstance(recipe, Nothing):
            builder.push_null()
        elif isinstance(recipe, Literal):
            builder.load_const(recipe.value)
        elif isinstance(recipe, FromSource):
            self._load_source(recipe.source)
        elif isinstance(recipe, Closure):
            builder.load_closure(recipe.name)
        elif isinstance(recipe, FromGraph):
            self._load_graph_value(recipe)
        elif isinstance(recipe, Build | MakeFunction):
            self._load_made(recipe)

    def _load_graph_value(self, recipe: FromGraph) -> None:
        if recipe.operand not in self.outputs:
            assert isinstance(recipe.operand, Node)
            self._load_source(self._input_set[recipe.operand])
            return
        index = self.outputs[recipe.operand]
        name = f".o{index}"
        self.builder.load_fast(name)
        self._output_uses[index] -= 1
        if self._output_uses[index] == 0:
            self.builder.delete_fast(name)

    def _load_made(self, recipe: Build | MakeFunction) -> None:
        known = self._temps.get(recipe.key)
        self._shared[recipe.key] -= 1
        if known is not None:
            self.builder.load_fast(known)
            if self._shared[recipe.key] == 0:
                self.builder.delete_fast(known)
            return
        if isinstance(recipe, Build):
            self._build(recipe)
        else:
            self._make_function(recipe)
        if self._shared[recipe.key] > 0:
            name = self._temps[recipe.key] = self.builder.temp()
            self.builder.copy(1)
            self.builder.store_fast(name)

    def _build(self, recipe: Build) -> None:
        builder = self.builder
        helper = _HELPERS.get(recipe.kind)
        items = [item for item in recipe.items if not isinstance(item, Nothing)]
        if helper is not None:
            builder.begin_call()
            builder.load_const(helper)
            builder.end_callable()
            for item in items:
                self._load(item)
            builder.call(len(items))
            return
        if recipe.kind == "attribute":
            owner, name = recipe.items
            assert isinstance(name, Literal)
            self._load(owner)
            builder.load_attr(str(name.value))
            return
        for item in items:
            self._load(item)
        if recipe.kind == "tuple":
            builder.build_tuple(len(items))
        elif recipe.kind == "list":
            builder.build_list(len(items))
        elif recipe.kind == "dict":
            builder.build_map(len(items) // 2)
        else:
            builder.build_slice(len(items))

    def _make_function(self, recipe: MakeFunction) -> None:
        builder = self.builder
        builder.begin_call()
        builder.load_const(make_function)
        builder.end_callable()
        parts = (Literal(recipe.code), *_parts(recipe))
        for part in parts:
            self._load(part)
        builder.call(len(parts))

    def _load_source(self, source: Source) -> None:
        name = self._early.get(source)
        if name is None:
            self._read(source)
            return
        self.builder.load_fast(name)
        self._source_uses[source] -= 1
        if self._source_uses[source] == 0:
            self.builder.delete_fast(name)

    def _read(self, source: Source) -> None:
        builder = self.builder
        kind, key, base = source.kind, source.key, source.base
        if kind is SourceKind.LOCAL:
            _, name = cast("tuple[int, str]", key)
            if self.first and name in self.code.co_cellvars:
                builder.load_deref(name)
            else:
                builder.load_fast(name)
        elif kind is SourceKind.CELL:
            _, name = cast("tuple[int, str]", key)
            builder.load_deref(name)
        elif kind in (SourceKind.GLOBAL, SourceKind.BUILTIN):
            builder.load_global(str(key))
        elif kind is SourceKind.GLOBALS:
            # The builtin reads the frame that calls it, which is seen from the RESUME on only; the dict stays the same.
            self._call_constant(globals, ())
        else:
            assert base is not None
            self._load_part(kind, key, base)

    def _load_part(self, kind: SourceKind, key: object, base: Source) -> None:
        builder = self.builder
        if kind in (SourceKind.ATTR, SourceKind.MODULE_ATTR):
            self._read(base)
            builder.load_attr(str(key))
        elif kind is SourceKind.ITEM:
            self._read(base)
            builder.load_const(key)
            builder.binary_subscr()
        elif kind is SourceKind.MEMBER:
            self._read(base)
            builder.load_attr(_MEMBERS[str(key)])
        elif kind is SourceKind.CELL_OF:
            self._read(base)
            builder.load_const(key)
            builder.binary_subscr()
            builder.load_attr("cell_contents")
        elif kind is SourceKind.SHAPE:
            self._read(base)
            builder.load_attr("shape")
            builder.load_const(key)
            builder.binary_subscr()
        elif kind is SourceKind.TYPE:
            self._call_constant(type, (base,))
        elif kind is SourceKind.LENGTH:
            self._call_constant(len, (base,))
        else:
            assert kind is SourceKind.MRO
            self._call_constant(lookup_in_mro, (base,), key)

    def _call_constant(
        self, function: object, sources: tuple[Source, ...], *constants: object
    ) -> None:
        builder = self.builder
        builder.begin_call()
        builder.load_const(function)
        builder.end_callable()
        for source in sources:
            self._read(source)
        for constant in constants:
            builder.load_const(constant)
        builder.call(len(sources) + len(constants))

    # ------------------------------------------------------------------ effects
    def _hold(self, steps: Iterable[Step]) -> None:
        """Make the operands of steps: nothing may be read once the first is done."""
        for step in steps:
            for operand in step.operands:
                if self._must_hold(operand) and id(operand) not in self._held:
                    name = self._held[id(operand)] = self.builder.temp()
                    self._load(operand)
                    self.builder.store_fast(name)

    def _load_held(self, recipe: Recipe) -> None:
        name = self._held.get(id(recipe))
        if name is None:
            self._load(recipe)
            return
        self.builder.load_fast(name)
        self._held_uses[id(recipe)] -= 1
        if self._held_uses[id(recipe)] == 0:
            self.builder.delete_fast(name)

    def _do(self, step: Step) -> None:
        """Do a step, leaving the stack as it was."""
        builder = self.builder
        owner, *operands = step.operands
        append = _APPENDS.get(step.key) if step.kind == "method" else None
        if append is not None:  # not a call: signals are not looked for between effects
            self._load_held(owner)
            self._load_held(operands[0])
            builder.emit(append, 1)
            builder.pop()
            return
        if step.kind in ("method", "plain_setattr"):
            builder.begin_call()
            plain = step.kind == "plain_setattr"
            builder.load_const(object.__setattr__ if plain else step.key)
            builder.end_callable()
            self._load_held(owner)
            if plain:
                builder.load_const(step.key)
            for operand in operands:
                self._load_held(operand)
            builder.call(len(step.operands) + plain)
            builder.pop()
            return
        key, value = None, None
        if step.kind in ("setitem", "delitem"):
            key, *rest = operands
            value = rest[0] if rest else None
        elif operands:
            (value,) = operands
        if value is not None:
            self._load_held(value)
        self._load_held(owner)
        if key is not None:
            self._load_held(key)
        builder.emit(*_STEP_OPS[step.kind](step.key))


def _parts(recipe: Build | MakeFunction) -> tuple[Recipe, ...]:
    if isinstance(recipe, Build):
        return recipe.items
    return (
        recipe.globals,
        recipe.defaults,
        recipe.kwdefaults,
        recipe.closure,
        recipe.annotations,
    )


def needs_call(source: Source) -> bool:
    """Whether reading a source calls something, so that it may be interrupted: such sources are read last."""
    called = (SourceKind.TYPE, SourceKind.LENGTH, SourceKind.MRO)
    return any(step.kind in called for step in source.chain())
