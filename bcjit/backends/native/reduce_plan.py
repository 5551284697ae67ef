"""A group with reductions as what a `_core.ReduceKernel` is made of: phases of programs and folds, and where each value lies.

A phase is a program over elements, folds of what it gives, and a program over folded values. A value belongs to the first phase in which all
it is made of is there. Elements are computed anew in each phase that needs them, unless that takes long: then they are kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from bcjit.backends.native.compiled import Compiled, compiled
from bcjit.backends.native.fast import fast_of
from bcjit.backends.native.program import Program, can_compute, flags_that_count, loop_of, loops_of
from bcjit.backends.native.rules import rule_of
from bcjit.backends.native.scalars import Apply, Constant, Element, Fold, Item, Number, Spread
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.fx_graph import Node

__all__ = ["Plan", "pieces", "plan"]

Place: TypeAlias = "tuple[int, int]"
Row: TypeAlias = "tuple[Any, ...]"

# As bcjit/csrc/reduce.h has them.
_IN_OPERAND, _IN_BIG, _IN_SMALL, _IN_NUMBER = range(4)
_BIG_RESULT, _BIG_TILE, _BIG_BLOCK = range(3)
_FLOAT64, _FLOAT32, _LOOP, _WHOLE, _COUNT, _POSITION = range(6)
_CAST_NONE, _CAST_MADE = -1, -2
_OPERANDS, _BIGS, _SMALLS, _PHASES, _FOLDS, _RESULTS, _NUMBERS = 16, 24, 48, 8, 8, 8, 32

_INITIAL: Final = {"add": 0, "multiply": 1, "logical_or": 0, "logical_and": 1}
_EXTREMES: Final = frozenset({"maximum", "minimum"})
# Where a vector of these takes as long as loading and storing several.
_SLOW: Final = frozenset({"divide", "sqrt", "reciprocal"})


_BUFFER: Final = 8192  # elements


@cache
def pieces() -> int:
    """Return how many elements NumPy folds at a time: before 2.3 those of its buffer, even where nothing is cast."""
    probe = np.zeros(12288)
    # 2**53 + 1 rounds to 2**53: the ones count only if they meet first, as they do in the second half of all elements.
    probe[[0, 7000, 9000]] = 2.0**53, 1.0, 1.0
    return _BUFFER if np.add.reduce(probe) == 2.0**53 else sys.maxsize


class CannotPlan(Exception):
    """A kernel has no room for it, or nothing computes it."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The arguments of a kernel that depend on what is computed."""

    folded: frozenset[int]  # operands that are folded themselves
    bigs: tuple[tuple[int, int], ...]
    smalls: tuple[int, ...]
    phases: tuple[Row, ...]
    places: tuple[Place, ...]  # of the results
    codes: tuple[Compiled, ...]
    checks_flags: int


def plan(results: Sequence[tuple[Node, Item, bool]], *, trailing: bool) -> Plan | None:
    """Return the plan for results: nodes, items over `Element` and `Number`, and whether they are folded; None where there is none.

    ``trailing`` says that the last axes are folded.
    """
    try:
        return _Planner(trailing=trailing).plan(results)
    except CannotPlan:
        return None


class _Planner:
    def __init__(self, *, trailing: bool) -> None:
        self.trailing = trailing
        self.phase: dict[Item, int] = {}  # of elements
        self.folded_phase: dict[Item, int] = {}
        self.bigs: dict[Item, int] = {}  # kind of those that lie somewhere
        self.smalls: dict[Item, None] = {}
        self.folds: dict[Fold, None] = {}
        self.spread: dict[Item, None] = {}
        self.slow: dict[Item, bool] = {}
        self.last_use: dict[Item, int] = {}
        self.codes: list[Compiled] = []
        self.flags = 0
        self.folded: set[int] = set()

    def plan(self, results: Sequence[tuple[Node, Item, bool]]) -> Plan:
        for _, item, folded in results:
            if folded:
                self._visit_folded(item)
            else:
                self._visit(item)
        if len({id(item) for _, item, _ in results}) < len(results):
            raise CannotPlan  # one value, two arrays
        count = 1 + max((*self.phase.values(), *self.folded_phase.values()))
        self._place(results)
        phases = tuple(self._phase(p, results) for p in range(count))
        big_index = {item: i for i, item in enumerate(self.bigs)}
        places = tuple(
            (_IN_SMALL, self._small(item)) if folded else (_IN_BIG, big_index[item])
            for _, item, folded in results
        )
        sizes = (
            (self.bigs, _BIGS), (self.smalls, _SMALLS), (phases, _PHASES), (results, _RESULTS),
        )  # fmt: skip
        if any(len(some) > most for some, most in sizes) or any(len(p[1]) > _FOLDS for p in phases):
            raise CannotPlan
        return Plan(
            frozenset(self.folded),
            tuple((kind, item.dtype.num) for item, kind in self.bigs.items()),
            tuple(item.dtype.num for item in self.smalls),
            phases, places, tuple(self.codes), self.flags,
        )  # fmt: skip

    # When each value is there

    def _visit(self, item: Item) -> int:
        """Return the phase of a value of elements."""
        if item in self.phase:
            return self.phase[item]
        if isinstance(item, Spread):
            self.spread[item.operand] = None
            found = self._visit_folded(item.operand) + 1
        elif isinstance(item, Apply):
            found = max(self._visit(one) for one in item.operands)
        else:
            found = 0
        self.phase[item] = found
        return found

    def _visit_folded(self, item: Item) -> int:
        if item in self.folded_phase:
            return self.folded_phase[item]
        if isinstance(item, Fold):
            self.folds[item] = None
            found = self._visit(item.operand)
        elif isinstance(item, Apply):
            found = max(self._visit_folded(one) for one in item.operands)
        elif isinstance(item, Number | Constant):
            found = 0
        else:
            raise CannotPlan
        self.folded_phase[item] = found
        return found

    # Where each value lies

    def _place(self, results: Sequence[tuple[Node, Item, bool]]) -> None:
        for _, item, folded in results:
            if folded:
                self._small(item)
            elif isinstance(item, Apply):
                self.bigs[item] = _BIG_RESULT
            else:
                raise CannotPlan
        for item in self.spread:
            self._small(item)
        self.folded.update(source for fold in self.folds if (source := _cast_of(fold)) >= 0)
        for fold in self.folds:
            self._small(fold)
            operand = fold.operand
            if isinstance(operand, Element):
                self.folded.add(operand.operand)
            elif not isinstance(operand, Apply):
                raise CannotPlan
            elif operand not in self.bigs:
                whole = _kind(fold) in (_WHOLE, _POSITION)
                self.bigs[operand] = _BIG_TILE if whole else _BIG_BLOCK
            elif self.bigs[operand] == _BIG_BLOCK and _kind(fold) in (_WHOLE, _POSITION):
                self.bigs[operand] = _BIG_TILE
        for item, until in self._uses().items():
            if until > self.phase[item] and self._is_slow(item):
                kind = self.bigs.get(item)
                self.bigs[item] = _BIG_RESULT if kind == _BIG_RESULT else _BIG_TILE

    def _uses(self) -> dict[Item, int]:
        """Return the last phase in which each value of elements is an operand, or is folded."""
        last: dict[Item, int] = dict.fromkeys(self.phase, 0)
        for item, phase in self.phase.items():
            for operand in item.operands if isinstance(item, Apply) else ():
                last[operand] = max(last[operand], phase)
        # What is computed anew in a later phase needs its operands there.
        for item in reversed(list(self.phase)):
            if isinstance(item, Apply) and not self._is_slow(item):
                for operand in item.operands:
                    last[operand] = max(last[operand], last[item])
        return last

    def _is_slow(self, item: Item) -> bool:
        """Whether it pays to keep a value for a later phase."""
        if item not in self.slow:
            self.slow[item] = isinstance(item, Apply) and (
                rule_of(item.function, item.dtypes) is None
                or fast_of(item.function) is not None
                or item.function.name in _SLOW
                or any(map(self._is_slow, item.operands))
            )
        return self.slow[item]

    def _small(self, item: Item) -> int:
        self.smalls.setdefault(item)
        return list(self.smalls).index(item)

    # Programs

    def _phase(self, phase: int, results: Sequence[tuple[Node, Item, bool]]) -> Row:
        made = [item for item, kind in self.bigs.items() if self.phase[item] == phase]
        big = self._code(made, self._cut_elements(phase), _IN_BIG, list(self.bigs))
        folds = tuple(self._fold(fold) for fold in self.folds if self.folded_phase[fold] == phase)
        given = {item for _, item, folded in results if folded}
        small: list[Item] = [
            item
            for item in self.smalls
            if isinstance(item, Apply)
            and self.folded_phase[item] == phase
            and (item in given or item in self.spread)
        ]
        return big, folds, self._code(small, self._cut_folded(phase), _IN_SMALL, list(self.smalls))

    def _cut_elements(self, phase: int) -> Callable[[Item], Place | None]:
        """Return what says where a value comes from that is not computed in this phase."""
        bigs = list(self.bigs)

        def place(item: Item) -> Place | None:
            if isinstance(item, Element):
                return _IN_OPERAND, item.operand
            if isinstance(item, Number):
                return _IN_NUMBER, item.slot
            if isinstance(item, Spread):
                return _IN_SMALL, self._small(item.operand)
            kept = self.bigs.get(item, _BIG_BLOCK) != _BIG_BLOCK
            if kept and self.phase[item] < phase and self._is_slow(item):
                return _IN_BIG, bigs.index(item)
            return None

        return place

    def _cut_folded(self, phase: int) -> Callable[[Item], Place | None]:
        def place(item: Item) -> Place | None:
            if isinstance(item, Number):
                return _IN_NUMBER, item.slot
            if isinstance(item, Fold) or (item in self.smalls and self.folded_phase[item] < phase):
                return _IN_SMALL, self._small(item)
            return None

        return place

    def _code(
        self,
        wanted: list[Item],
        place_of: Callable[[Item], Place | None],
        space: int,
        index: list[Item],
    ) -> Row | None:
        if not wanted:
            return None
        operands: dict[Place, Element] = {}
        numbers: dict[Place, Number] = {}
        memo: dict[Item, Item] = {}

        def cut(item: Item) -> Item:
            if item in memo:
                return memo[item]
            place = place_of(item)
            made: Item = item
            if place is not None:
                as_number = place[0] == _IN_NUMBER or (
                    place[0] == _IN_SMALL and space == _IN_BIG and self.trailing
                )
                if as_number:
                    made = numbers.setdefault(place, Number(len(numbers), item.dtype))
                else:
                    made = operands.setdefault(place, Element(len(operands), item.dtype))
            elif isinstance(item, Apply):
                made = Apply(item.function, item.dtypes, tuple(map(cut, item.operands)))
            elif not isinstance(item, Constant):
                raise CannotPlan
            memo[item] = made
            return made

        program = Program(
            tuple(map(cut, wanted)),
            tuple(one.dtype for one in operands.values()),
            tuple(one.dtype for one in numbers.values()),
        )
        if len(operands) + len(wanted) > _OPERANDS or len(numbers) > _NUMBERS:
            raise CannotPlan
        if not all(map(can_compute, program.results)):
            raise CannotPlan
        if any(number.dtype.kind == "c" or number.dtype.char == "e" for number in numbers.values()):
            raise CannotPlan
        self.flags = max(self.flags, *map(flags_that_count, program.items))
        code = compiled(program)
        self.codes.append(code)
        return (
            code.loaded.address, code.loaded, loops_of(program), code.width, code.block,
            code.scratch, tuple(operands), tuple(numbers),
            tuple((space, index.index(item)) for item in wanted),
        )  # fmt: skip

    def _fold(self, fold: Fold) -> Row:
        operand, kind = fold.operand, _kind(fold)
        source = (
            (_IN_OPERAND, operand.operand)
            if isinstance(operand, Element)
            else (_IN_BIG, list(self.bigs).index(operand))
        )
        if fold.function is None:
            which = 1 if fold.name == "argmax" else 2
            if not self.trailing or operand.dtype.kind == "c":
                raise CannotPlan
            return kind, source, self._small(fold), which, 0, None, False, False, _CAST_NONE
        loop = loop_of(fold.function, (fold.dtype,) * 3)
        if loop is None:
            raise CannotPlan
        self.flags = max(self.flags, int(fold.function.can_fail(fold.dtype)))
        initial = _INITIAL.get(fold.name)
        if initial is None and fold.name not in _EXTREMES:
            raise CannotPlan
        extreme = fold.name in _EXTREMES
        return (
            kind, source, self._small(fold), *loop,
            None if initial is None else fold.dtype.type(initial).tobytes(),
            extreme and fold.dtype.kind == "f", extreme, _cast_of(fold),
        )  # fmt: skip


def _cast_of(fold: Fold) -> int:
    """Return which operand NumPy casts as it folds it."""
    if not fold.casts:
        return _CAST_NONE
    assert isinstance(fold.operand, Apply)
    (source,) = fold.operand.operands
    return source.operand if isinstance(source, Element) else _CAST_MADE


def _kind(fold: Fold) -> int:
    """Return how a value is folded; by pieces where that gives the same."""
    dtype = fold.dtype
    if fold.function is None:
        return _POSITION
    if fold.name == "add":
        if fold.operand.dtype.kind == "b" and dtype.kind != "b":
            return _COUNT
        if dtype == np.float64:
            return _FLOAT64
        if dtype == np.float32:
            return _FLOAT32
    if dtype.kind in "iub" or fold.name == "multiply":
        return _LOOP
    return _LOOP if fold.name in _EXTREMES and dtype.kind == "f" else _WHOLE
