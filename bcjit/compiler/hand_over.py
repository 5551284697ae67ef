"""What residual code does where that is no more than to call its graph and hand values over: then C does it, without a frame for it.

Three ends of parts are like that: a branch on a number that the graph gives, the jump at the end of a loop's turn, and a call of
`bcjit.graph_break`, which does nothing (a guard says that it is that function). It is decided here,
and said as plain data (`_core.Entry`'s ``hand_over``); the residual code is written all the same, for where a frame is there already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import Final, TypeAlias, cast

from bcjit.bytecode import Instruction, Op
from bcjit.compiler.recipes import FromGraph, FromSource, Literal, Recipe
from bcjit.dims import Expr
from bcjit.fx_graph import Node
from bcjit.guards import Guard, GuardKind, Identity, Source, SourceKind
from bcjit.meta import ArrayMeta
from bcjit.records import dataclass
from bcjit.symbolic_vm import BreakExit, Capture, only_cuts
from bcjit.symbolic_vm.break_reasons import ASKED
from bcjit.symbolic_vm.values import Lazy

__all__ = ["MOST_VALUES", "HandOver", "Side", "cut_guards", "hand_over", "jump_of", "places_of"]

MOST_VALUES: Final = 24  # BCJIT_SMALL_VALUES of csrc/core.h

# (places of the graph's arguments, count of its outputs, the output tested or -1, sides, literals): see _core.pyi
HandOver: TypeAlias = tuple[
    tuple[int, ...], int, int, tuple[tuple[object, tuple[int, ...]], ...], tuple[object, ...]
]


@dataclass(frozen=True, slots=True)
class Side:
    """The next part, and the recipes of its values."""

    part: object
    values: tuple[Recipe, ...]


def places_of(sources: Sequence[Source]) -> tuple[int, ...] | None:
    """Return the places of a part's values that are read, None where something else is read too or they are many."""
    if len(sources) > MOST_VALUES or any(s.kind is not SourceKind.LOCAL for s in sources):
        return None
    return tuple(cast("tuple[int, str]", source.key)[0] for source in sources)


def jump_of(group: Sequence[Instruction]) -> Op | None:
    """Return how the instructions at the end of a part jump, None if they do anything else or may raise into a handler."""
    ops = [i.op for i in group if i.op not in (Op.NOP, Op.TO_BOOL)]
    if len(ops) != 1 or ops[0] not in _JUMPS or any(i.handler is not None for i in group):
        return None
    return ops[0]


def cut_guards(found: Capture) -> tuple[Guard, ...]:
    """Return what must hold for a part to end in a call that does nothing, nothing if that is not how it ends."""
    end = found.end
    if not isinstance(end, BreakExit) or end.cause.reason.code != ASKED:
        return ()
    instruction, line = end.instruction, end.cause.line
    if (
        line is None
        or instruction.op is not Op.CALL
        or instruction.arg != 0
        or instruction.handler is not None
    ):
        return ()
    for value in end.state.stack[-2:]:
        source = value.source
        if not isinstance(value, Lazy) or not isinstance(value.obj, FunctionType) or source is None:
            continue
        if only_cuts(value.obj):
            code = Source(SourceKind.MEMBER, "code", source)
            return (
                Guard(GuardKind.IDENTITY, source, Identity(value.obj), line),
                Guard(GuardKind.IDENTITY, code, Identity(value.obj.__code__), line),
            )
    return ()


_JUMPS: Final = (Op.POP_JUMP_IF_TRUE, Op.POP_JUMP_IF_FALSE, Op.JUMP)


def hand_over(
    inputs: Mapping[Node, Source],
    outputs: Mapping[Node | Expr, int],
    test: Recipe | None,
    sides: Sequence[Side],
) -> HandOver | None:
    """Say in places what a part hands over, None where it is more than that.

    Parameters
    ----------
    inputs, outputs
        Of the graph: where the inputs are found, the places of the outputs.
    test
        What is tested; None: nothing is.
    sides
        Where it is true and where it is false, or the only one.
    """
    arguments = places_of(list(inputs.values()))
    taken = _Taken(inputs, outputs)
    tested = -1 if test is None else _scalar_output(test, outputs)
    found = tuple((side.part, taken.places(side.values)) for side in sides)
    if arguments is None or tested is None or taken.failed:
        return None
    return arguments, len(outputs), tested, found, tuple(taken.literals)


def _scalar_output(recipe: Recipe, outputs: Mapping[Node | Expr, int]) -> int | None:
    """Return the place of an output whose truth is no question: an array of several elements has none."""
    if not isinstance(recipe, FromGraph) or not isinstance(recipe.operand, Node):
        return None
    meta = recipe.operand.meta[0]
    if isinstance(meta, ArrayMeta) and not meta.is_scalar:
        return None
    return outputs.get(recipe.operand)


class _Taken:
    """Where values are taken from: the part's values (their places), the graph's outputs and literals (-1 and down)."""

    def __init__(self, inputs: Mapping[Node, Source], outputs: Mapping[Node | Expr, int]) -> None:
        self.inputs = inputs
        self.outputs = outputs
        self.literals: list[object] = []
        self.failed = False

    def places(self, recipes: Sequence[Recipe]) -> tuple[int, ...]:
        """Return a place for each recipe; `failed` says whether there was none."""
        found = [self._place(recipe) for recipe in recipes]
        self.failed |= None in found or len(found) > MOST_VALUES
        return tuple(place for place in found if place is not None)

    def _place(self, recipe: Recipe) -> int | None:
        if isinstance(recipe, Literal):
            self.literals.append(recipe.value)
            return -len(self.outputs) - len(self.literals)
        if isinstance(recipe, FromGraph):
            index = self.outputs.get(recipe.operand)
            if index is not None:
                return -1 - index
            source = self.inputs.get(cast("Node", recipe.operand))
        else:
            source = recipe.source if isinstance(recipe, FromSource) else None
        if source is None:
            return None
        places = places_of([source])
        return None if places is None else places[0]
