"""How to make a value again: plain data, read by two interpreters, residual bytecode and the bail-out's restorer.

A recipe is what stays of a symbolic value once the capture is over: it holds no live object of the program. `RecipeMaker` turns the values
of one state into recipes; values that are one object become recipes with one `key`, so that identity is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, MethodDescriptorType, WrapperDescriptorType
from typing import TYPE_CHECKING, cast

import numpy as np

from bcjit.dims import Expr
from bcjit.fx_graph import Node
from bcjit.guards import Source, SourceKind, lookup_in_mro
from bcjit.records import dataclass
from bcjit.symbolic_vm.values import (
    DELETED,
    DictItem,
    IteratorState,
    Known,
    Lazy,
    Null,
    SymArray,
    SymCell,
    SymFunction,
    SymGone,
    SymInstance,
    SymIterator,
    SymMaybe,
    SymMethod,
    SymNamedTuple,
    SymNew,
    SymObject,
    SymRandom,
    SymRange,
    SymScalar,
    SymSlice,
    SymTuple,
    SymUnion,
    SymValue,
    SymView,
    Unbound,
)

if TYPE_CHECKING:
    from bcjit.symbolic_vm import State

__all__ = [
    "Build",
    "CannotRebuild",
    "Closure",
    "FromGraph",
    "FromSource",
    "Literal",
    "MakeFunction",
    "Nothing",
    "Perhaps",
    "Recipe",
    "RecipeMaker",
    "Step",
    "walk",
]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Base of all recipes."""


@dataclass(frozen=True, slots=True)
class Nothing(Recipe):
    """The NULL of a call, or an unbound local."""


@dataclass(frozen=True, slots=True)
class Literal(Recipe):
    """An immutable constant."""

    value: object


@dataclass(frozen=True, slots=True)
class FromSource(Recipe):
    """Read it again where it was found."""

    source: Source


@dataclass(frozen=True, slots=True)
class FromGraph(Recipe):
    """A value that the graph computes: a node, or an integer over the sizes of its inputs."""

    operand: Node | Expr


@dataclass(frozen=True, slots=True)
class Perhaps(Recipe):
    """A local that has no value where a node of the graph is `UNBOUND`; only where a graph has failed."""

    flag: Node
    value: Recipe


@dataclass(frozen=True, slots=True)
class Build(Recipe):
    """Make an object of a kind, from items.

    ``kind`` is tuple, list, dict (items alternate key, value), slice, range, cell, method, attribute, iterator, named_tuple, new, iinfo.

    ``new`` is an instance of a class without attributes: giving it those are `Step`s.
    """

    kind: str
    items: tuple[Recipe, ...]
    key: int  # equal keys are one object


@dataclass(frozen=True, slots=True)
class Closure(Recipe):
    """The cell of the frame itself, by its position in ``co_cellvars + co_freevars``."""

    slot: int
    name: str


@dataclass(frozen=True, slots=True)
class MakeFunction(Recipe):
    """Make a function whose ``def`` ran in the part."""

    code: CodeType
    globals: Recipe
    defaults: Recipe
    kwdefaults: Recipe
    closure: Recipe
    annotations: Recipe
    key: int


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do to an object once all values are made: an effect of the program, or a part of making an instance.

    ``kind`` and `key` are those of `Effect`; the first operand is the object.
    """

    kind: str
    key: object
    operands: tuple[Recipe, ...]


class CannotRebuild(Exception):
    """A live value has no recipe (a list that holds itself)."""


def walk(recipe: Recipe) -> Iterator[Recipe]:
    """Yield a recipe and all it is made of."""
    yield recipe
    if isinstance(recipe, Perhaps):
        yield FromGraph(recipe.flag)
        yield from walk(recipe.value)
    elif isinstance(recipe, Build):
        for item in recipe.items:
            yield from walk(item)
    elif isinstance(recipe, MakeFunction):
        for part in (
            recipe.globals,
            recipe.defaults,
            recipe.kwdefaults,
            recipe.closure,
            recipe.annotations,
        ):
            yield from walk(part)


class RecipeMaker:
    """Makes the recipes of the values of one state.

    Parameters
    ----------
    state
        Whose heap says what mutable objects hold.
    frame_cells
        The cells of the frame that the recipes are for, in the order of their slots.
    cell_names
        Their names.
    """

    def __init__(
        self, state: State, frame_cells: tuple[SymCell | None, ...], cell_names: tuple[str, ...]
    ) -> None:
        self._state = state
        self._slots = {
            cell.oid: (slot, name)
            for slot, (cell, name) in enumerate(zip(frame_cells, cell_names, strict=True))
            if cell is not None
        }
        self._made: dict[int, Recipe] = {}
        self._keep: list[SymValue] = []  # ids stay unique while values live
        self._open: set[int] = set()
        self._keys = 0
        self._unfilled: list[tuple[SymNew | SymObject, Recipe]] = []

    def make(self, value: SymValue) -> Recipe:
        """Return the recipe of a value; the same one for the same value."""
        known = self._made.get(id(value))
        if known is not None:
            return known
        if id(value) in self._open:
            raise CannotRebuild("a container that holds itself")
        self._open.add(id(value))
        recipe = self._make(value)
        self._open.discard(id(value))
        self._made[id(value)] = recipe
        self._keep.append(value)
        return recipe

    def _key(self) -> int:
        self._keys += 1
        return self._keys

    def _build(self, kind: str, *items: SymValue) -> Build:
        return Build(kind, tuple(self.make(item) for item in items), self._key())

    def _make(self, value: SymValue) -> Recipe:  # noqa: C901, PLR0912 - one branch a kind of value
        if isinstance(value, Null | Unbound):
            return Nothing()
        if isinstance(value, SymCell):
            return self._cell(value)
        if value.source is not None:
            return FromSource(value.source)
        if isinstance(value, Known):
            if type(value.value) is np.iinfo:
                return self._build("iinfo", Known(None, value.value.dtype))
            return Literal(value.value)
        if isinstance(value, SymArray | SymRandom):
            return FromGraph(value.node)
        if isinstance(value, SymScalar):
            return FromGraph(value.payload)
        if isinstance(value, SymUnion):
            return FromGraph(value.node)
        if isinstance(value, SymMaybe):
            return Perhaps(value.node, self.make(value.value))
        if isinstance(value, SymGone):
            raise CannotRebuild("a value that a loop does not hand on")
        if isinstance(value, SymTuple):
            return self._build("tuple", *value.items)
        if isinstance(value, SymNamedTuple):
            items = (self.make(item) for item in value.items)
            return Build("named_tuple", (Literal(value.pytype), *items), self._key())
        if isinstance(value, SymSlice | SymRange):
            kind = "slice" if isinstance(value, SymSlice) else "range"
            return self._build(kind, value.start, value.stop, value.step)
        if isinstance(value, SymObject):
            return self._container(value)
        if isinstance(value, SymIterator):
            return self._iterator(value)
        if isinstance(value, SymView):
            return Build("view", (self.make(value.owner), Literal(value.which)), self._key())
        if isinstance(value, SymNew):
            made = self._build("new", value.cls)
            self._unfilled.append((value, made))
            return made
        if isinstance(value, SymMethod):
            return self._method(value)
        if isinstance(value, SymFunction):
            return self._function(value)
        assert not isinstance(value, Lazy | SymInstance), "objects from outside have a source"
        raise CannotRebuild(type(value).__name__)

    def steps(self) -> tuple[Step, ...]:
        """Return what is to be done to objects once all values are there; called after the last `make`.

        Instances made in the frame get their attributes first: until then nobody can see them.
        """
        effects = [effect for effect in self._state.effects if effect.node is None]
        done = []
        for effect in effects:
            assert effect.owner is not None
            operands = tuple(self.make(value) for value in (effect.owner, *effect.operands))
            done.append(Step(effect.kind, effect.key, operands))
        filling = []
        while self._unfilled:
            new, made = self._unfilled.pop(0)
            if isinstance(new, SymObject):
                filling += self._set_steps(new, made)
                continue
            attributes = self._state.heap.get(new.oid, {})
            assert isinstance(attributes, dict)
            setter: object = object.__setattr__
            plain = lookup_in_mro(new.pytype, "__setattr__") is setter
            kind = "setattr" if plain else "plain_setattr"
            for name, value in attributes.items():
                if value is not DELETED:
                    filling.append(Step(kind, name, (made, self.make(value))))
        return (*filling, *done)

    def _set_steps(self, value: SymObject, made: Recipe) -> list[Step]:
        """Return what was done to a set made in the frame, so that its order is the same."""
        steps = self.contents(value)
        assert isinstance(steps, tuple)
        return [
            Step("method", getattr(set, step.method), (made, self.make(step.operand)))
            for step in steps
        ]

    def contents(self, value: SymObject | SymCell) -> object:
        """Return what a mutable object holds in the state."""
        return self._state.heap.get(value.oid, value.initial)

    def _container(self, value: SymObject) -> Recipe:
        contents = self.contents(value)
        assert isinstance(contents, tuple)
        if value.pytype is dict:
            items = tuple(
                part
                for item in contents
                for part in (self.make(item.spelled), self.make(item.value))
            )
            return Build("dict", items, self._key())
        if value.pytype is set:
            made = self._build("set")
            self._unfilled.append((value, made))
            return made
        return self._build("list" if value.pytype is list else "deque", *contents)

    def _cell(self, value: SymCell) -> Recipe:
        if value.oid in self._slots:
            return Closure(*self._slots[value.oid])
        source = value.source
        if source is not None and source.kind is SourceKind.CELL_OF:
            assert source.base is not None
            return FromSource(Source(SourceKind.ITEM, source.key, source.base))
        if source is not None:
            index, name = cast("tuple[int, str]", source.key)
            return Closure(index, name)
        contents = self.contents(value)
        assert isinstance(contents, SymValue)
        return self._build("cell", contents)

    def _iterator(self, value: SymIterator) -> Recipe:
        state = self._state.heap.get(value.oid, value.initial)
        if value.kind == "keys":
            owner, keys = value.parts
            owner = owner.owner if isinstance(owner, SymView) else owner
            assert isinstance(owner, SymObject)
            assert isinstance(keys, Known)
            contents = self.contents(owner)
            # The real iterator raises if the dict has changed; one that is made of it now would not. (Of a dict from outside it is
            # made before the changes are done.)
            made_here = owner.source is None and isinstance(contents, tuple)
            if (
                made_here
                and tuple(item.key for item in cast("tuple[DictItem, ...]", contents)) != keys.value
            ):
                raise CannotRebuild("an iterator over a dict that has changed since")
        parts = tuple(self.make(part) for part in value.parts)
        assert isinstance(state, IteratorState)
        far: Recipe = Literal(state)
        if isinstance(state.given, Expr):  # in a turn of a loop
            far = Build("tuple", (FromGraph(state.given), Literal(state.done)), self._key())
        return Build("iterator", (Literal(value.kind), far, *parts), self._key())

    def _method(self, value: SymMethod) -> Recipe:
        function = value.func
        if isinstance(function, Known) and isinstance(
            function.value, MethodDescriptorType | WrapperDescriptorType
        ):
            name = function.value.__name__
            return Build("attribute", (self.make(value.self), Literal(name)), self._key())
        return self._build("method", function, value.self)

    def _function(self, value: SymFunction) -> Recipe:
        none = Literal(None)
        key = self._key()

        def pack(kind: str, items: tuple[Recipe, ...] | None) -> Recipe:
            return none if items is None else Build(kind, items, self._key())

        defaults = tuple(self.make(item) for item in value.defaults or ())
        kwdefaults = tuple(
            part
            for name, item in value.kwdefaults or ()
            for part in (Literal(name), self.make(item))
        )
        cells = tuple(self.make(cell) for cell in value.closure) if value.closure else None
        return MakeFunction(
            code=value.code,
            globals=FromSource(value.globals_source),
            defaults=pack("tuple", defaults or None),
            kwdefaults=pack("dict", kwdefaults or None),
            closure=pack("tuple", cells),
            annotations=none if value.annotations is None else self.make(value.annotations),
            key=key,
        )
