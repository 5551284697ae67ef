"""A group with scans as what a `_core.ScanKernel` is made of: phases of a program and scans of what it gives, and which values there are.

A scan gives an element as soon as it has those before it, so all phases go over a block of elements at once: what a phase has made
lies in the cache for the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from bcjit.backends.native.compiled import Compiled, compiled
from bcjit.backends.native.program import Program, can_compute, flags_that_count, loop_of, loops_of
from bcjit.backends.native.scalars import Apply, Constant, DType, Element, Item, Number, Running
from bcjit.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["MOST_OPERANDS", "ScanPlan", "scan_plan"]

Row: TypeAlias = "tuple[Any, ...]"

# As bcjit/csrc/scan.h has them.
MOST_OPERANDS: Final = 16
_VALUES, _PHASES, _SCANS, _RESULTS = 24, 8, 8, 8
# Comparing NaN raises a flag that NumPy does not speak of.
_CLEARS: Final = frozenset({"maximum", "minimum"})


class _CannotPlan(Exception):
    """A kernel has no room for it, or nothing computes it."""


@dataclass(frozen=True, slots=True, eq=False)
class ScanPlan:
    """The arguments of a kernel that depend on what is computed."""

    values: tuple[int, ...]  # type numbers; the results come first
    phases: tuple[Row, ...]
    codes: tuple[Compiled, ...]
    checks_flags: int


def scan_plan(results: Sequence[Item], numbers: Sequence[DType]) -> ScanPlan | None:
    """Return the plan for results over `Element` and `Number`, None where there is none.

    Parameters
    ----------
    results
        What is computed.
    numbers
        The dtypes of all numbers.
    """
    try:
        return _Planner(tuple(numbers)).plan(results)
    except _CannotPlan:
        return None


class _Planner:
    def __init__(self, numbers: tuple[DType, ...]) -> None:
        self.numbers = numbers
        self.ready: dict[Item, int] = {}  # in which phase a value is there for a program
        self.values: dict[Item, None] = {}  # that lie somewhere
        self.codes: list[Compiled] = []
        self.flags = 0

    def plan(self, results: Sequence[Item]) -> ScanPlan:
        for item in results:
            if not isinstance(item, Apply | Running):
                raise _CannotPlan
            self._visit(item)
        if len({id(item) for item in results}) < len(results):
            raise _CannotPlan  # one value, two arrays
        self.values = dict.fromkeys(results) | self.values
        count = 1 + max(self._phase_of(item) for item in self.values)
        phases = tuple(self._phase(p) for p in range(count))
        sizes = ((self.values, _VALUES), (phases, _PHASES), (results, _RESULTS))
        if any(len(some) > most for some, most in sizes):
            raise _CannotPlan
        return ScanPlan(
            tuple(item.dtype.num for item in self.values),
            phases,
            tuple(self.codes),
            self.flags,
        )

    def _visit(self, item: Item) -> int:
        """Return when a value is there. What a scan is made of, and what a later phase uses, must lie somewhere."""
        if item in self.ready:
            return self.ready[item]
        found = 0
        if isinstance(item, Running):
            found = self._visit(item.operand) + 1
            self.values[item] = None
            if isinstance(item.operand, Apply):
                self.values[item.operand] = None
            elif not isinstance(item.operand, Element | Running):
                raise _CannotPlan
        elif isinstance(item, Apply):
            found = max(self._visit(one) for one in item.operands)
            for one in item.operands:
                if isinstance(one, Apply) and self.ready[one] < found:
                    self.values[one] = None
        elif not isinstance(item, Element | Number | Constant):
            raise _CannotPlan
        self.ready[item] = found
        return found

    def _phase_of(self, item: Item) -> int:
        """Return in which phase a value is made."""
        return self.ready[item] - isinstance(item, Running)

    def _index(self, item: Item) -> int:
        """Return where an operand or a value is, as C numbers them."""
        if isinstance(item, Element):
            return item.operand
        return MOST_OPERANDS + list(self.values).index(item)

    def _phase(self, phase: int) -> Row:
        made = [item for item in self.values if self._phase_of(item) == phase]
        scans = tuple(self._scan(item) for item in made if isinstance(item, Running))
        if len(scans) > _SCANS:
            raise _CannotPlan
        wanted = [item for item in made if isinstance(item, Apply)]
        return (self._code(wanted, phase) if wanted else None), scans

    def _scan(self, item: Running) -> Row:
        loop = loop_of(item.function, (item.dtype,) * 3)
        if loop is None:
            raise _CannotPlan
        self.flags = max(self.flags, int(item.function.can_fail(item.dtype)))
        name, kind = item.function.name, item.dtype.kind
        value = self._index(item) - MOST_OPERANDS
        return name, kind, *loop, self._index(item.operand), value, name in _CLEARS

    def _code(self, wanted: Sequence[Item], phase: int) -> Row:
        operands: dict[int, Element] = {}
        memo: dict[Item, Item] = {}

        def cut(item: Item) -> Item:
            if item not in memo:
                memo[item] = self._made(item, phase, operands, cut)
            return memo[item]

        program = Program(
            tuple(map(cut, wanted)), tuple(one.dtype for one in operands.values()), self.numbers
        )
        if not all(map(can_compute, program.results)):
            raise _CannotPlan
        self.flags = max(self.flags, *map(flags_that_count, program.items))
        code = compiled(program)
        self.codes.append(code)
        return (
            code.loaded.address, code.loaded, loops_of(program), code.width, code.block, code.scratch,
            tuple(operands), tuple(self._index(item) - MOST_OPERANDS for item in wanted),
        )  # fmt: skip

    def _made(
        self, item: Item, phase: int, operands: dict[int, Element], cut: Callable[[Item], Item]
    ) -> Item:
        """Return an item over what a program is handed."""
        kept = item in self.values and (isinstance(item, Running) or self.ready[item] < phase)
        if kept or isinstance(item, Element):
            index = self._index(item)
            return operands.setdefault(index, Element(len(operands), item.dtype))
        if isinstance(item, Apply):
            return Apply(item.function, item.dtypes, tuple(map(cut, item.operands)))
        return item
