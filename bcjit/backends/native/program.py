"""What is to be compiled: results as items over operands and numbers, and the loops of NumPy's that it calls; it makes no code.

The text of a program (`Program.key`) says all that its machine code depends on: kernels of equal text share their code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from bcjit import _core
from bcjit.backends.native.complexes import turns
from bcjit.backends.native.division import QUOTIENTS
from bcjit.backends.native.fast import fast_of
from bcjit.backends.native.gathers import GATHER
from bcjit.backends.native.rules import X86, has_rule
from bcjit.backends.native.scalars import (
    INVERSE,
    Apply,
    Constant,
    Element,
    Item,
    Leaf,
    Number,
    Table,
    in_order,
)
from bcjit.backends.native.views import Picked
from bcjit.fx_graph import Node
from bcjit.meta import ArrayMeta
from bcjit.ops.scalar_functions import CLIP
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.ops.scalar_functions import ScalarFunction

__all__ = ["Program", "can_compute", "flags_that_count", "loop_of", "loops_of"]

DType: TypeAlias = "np.dtype[Any]"

# Elements of these are opaque to a kernel: only NumPy's loops read them. float16 is one of them.
_KINDS: Final = "biufc"


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Items in order, of which some are the results."""

    results: tuple[Item, ...]
    operands: tuple[DType, ...]
    numbers: tuple[DType, ...]  # by slot

    @property
    def items(self) -> list[Item]:
        """All items, operands before what uses them."""
        return in_order(self.results)

    @property
    def by_loop(self) -> list[Apply]:
        """The items that are made by NumPy's inner loops, in the order in which the code is handed these."""
        return [
            item
            for item in self.items
            if isinstance(item, Apply) and not has_rule(item.function, item.dtypes)
        ]

    @property
    def calls(self) -> list[Apply]:
        """The items for which the code is handed NumPy's inner loops, in order: also those whose rule is not for all operands."""
        fast = [item for item in self.items if isinstance(item, Apply) and fast_of(item.function)]
        return self.by_loop + fast

    @property
    def computes_numbers(self) -> bool:
        """Whether something is computed of numbers alone, of which NumPy may say something where there are no elements, too."""
        alone: set[Item] = set()
        for item in self.items:
            operands = item.operands if isinstance(item, Apply) else ()
            if isinstance(item, Number | Constant) or (operands and alone.issuperset(operands)):
                alone.add(item)
        return any(map(flags_that_count, alone))

    @property
    def key(self) -> str:
        """The program as text."""
        names: dict[Item, str] = {}
        lines = [f"operands {_chars(self.operands)} numbers {_chars(self.numbers)}"]
        for item in self.items:
            names[item] = f"%{len(names)}"
            lines.append(f"{names[item]} = {_said(item, names)}")
        lines.append(f"return {' '.join(names[item] for item in self.results)}")
        return "\n".join(lines)


def _chars(dtypes: Sequence[DType]) -> str:
    return "".join(dtype.char for dtype in dtypes) or "-"


def _said(item: Item, names: dict[Item, str]) -> str:
    if isinstance(item, Element):
        return f"element {item.operand}"
    if isinstance(item, Number):
        return f"number {item.slot}"
    if isinstance(item, Table):
        return f"table {item.source} {item.dtype.char} {item.axes}"
    if isinstance(item, Constant):
        return f"constant {item.dtype.char} {item.value.tobytes().hex()}"
    assert isinstance(item, Apply)
    given = " ".join(names[operand] for operand in item.operands)
    # Somebody else's ufunc may have the name of one of NumPy's.
    how = "" if has_rule(item.function, item.dtypes) else "loop "
    return f"{how}{item.function.name} {_chars(item.dtypes)} {given}"


def loop_of(function: ScalarFunction, dtypes: tuple[DType, ...]) -> tuple[int, int] | None:
    """Return the addresses of NumPy's inner loop for exactly these dtypes, and of its data; None where there is none."""
    ufunc = function.ufunc
    if ufunc is None:
        return None
    wanted = f"{_chars(dtypes[:-1])}->{dtypes[-1].char}"
    try:
        index = ufunc.types.index(wanted)
    except ValueError:
        return None
    address, data = _core.ufunc_loop(ufunc, index)
    return (address, data) if address else None


def loops_of(program: Program) -> tuple[int, ...]:
    """Return the addresses that the code is handed: of NumPy's inner loops, each with that of its data.

    A kernel that has some leaves operands that go backwards to NumPy. Where this is to be so for what has a rule, its loop stands
    behind the others, and the code calls it nowhere.
    """
    turned = [item for item in program.items if isinstance(item, Apply) and _turns(item)]
    found = (loop_of(item.function, item.dtypes) for item in (*program.calls, *turned[:1]))
    return tuple(address for loop in found if loop is not None for address in loop)


def _turns(item: Apply) -> bool:
    name = item.function.name
    return (
        name in {"multiply", "square"}
        and item.dtypes[0].char in "FD"
        and turns(item.dtypes[0], name)
    )


# What a loop gives may depend on where in a block an element stands, or on how its operands lie, or it may stop midway.
_NOT_BY_BLOCKS: Final = frozenset({"fmax", "fmin"})
# These clear the flags that others raised; code for x86 raises them again.
_CLEAR_FLAGS: Final = frozenset(
    {"absolute", "clip", "isfinite", "isinf", "isnan", "maximum", "minimum", "tanh"}
)
# Of float16 these take other ways for what does not lie side by side, with other last bits.
_NOT_HALVES_BY_BLOCKS: Final = frozenset(
    {
        "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "cos", "cosh", "exp", "exp2",
        "expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh",
    }
)  # fmt: skip


def can_compute(item: Item) -> bool:
    """Whether a kernel can compute a function: by a rule, or by NumPy's loop in blocks."""
    if isinstance(item, Leaf):
        # A number that is not an array is handed in as C has it, which has no float16.
        return item.dtype.char != "e" or not _is_one_number(item)
    if not isinstance(item, Apply):
        return True
    if any(
        dtype.kind not in _KINDS or dtype.char in "gG" or not dtype.isnative
        for dtype in item.dtypes
    ):
        return False
    if has_rule(item.function, item.dtypes):
        return all(map(can_compute, item.operands))
    name = item.function.name
    if name in _NOT_BY_BLOCKS or item.function.stops_midway(item.dtypes[0]):
        return False
    if name in _CLEAR_FLAGS and not X86:
        return False
    if name in _NOT_HALVES_BY_BLOCKS and item.dtypes[0].char == "e":
        return False
    if name == "power" and not _is_one_number(item.operands[1]):
        return False  # its loop looks at the stride of exponents
    return loop_of(item.function, item.dtypes) is not None and all(map(can_compute, item.operands))


def _is_one_number(item: Item) -> bool:
    if isinstance(item, Leaf):
        if isinstance(item.source, Picked):
            return False
        meta = item.source.meta[0] if isinstance(item.source, Node) else None
        return not isinstance(meta, ArrayMeta) or meta.is_scalar
    return isinstance(item, Constant | Number)


def flags_that_count(item: Item) -> int:
    """Return whether a function can raise a flag of which NumPy would say something, as `_core.Kernel` is told; 2: its result may not be NumPy's then."""
    if not isinstance(item, Apply):
        return 0
    if item.function is GATHER:
        return 2
    if item.function.name == "cast":
        beyond = item.dtypes[0].kind == "f" and item.dtypes[1].kind in "iu"
        return 2 if beyond else int(item.dtypes[0].kind in "iufc")
    if item.function.name in QUOTIENTS and has_rule(item.function, item.dtypes):
        by = item.operands[1]
        known = isinstance(by, Constant) and by.dtype.kind in "iu" and int(by.value) not in (0, -1)
        return 0 if known else 2
    if item.function is INVERSE or (item.function is CLIP and item.dtype.char in "fd"):
        return 2
    return int(item.function.can_fail(item.dtypes[0]))
