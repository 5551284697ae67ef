"""What a plan of buffers says: which calls of a graph write into which memory, and when the plan holds; it plans nothing.

A plan is made by a backend (`Planner`); generated code then has two ways through it: with the plan, where its test holds for the
inputs of a call, and as written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from bcjit.dims import Dim, Expr
from bcjit.fx_graph.node import Node
from bcjit.records import dataclass

if TYPE_CHECKING:
    from bcjit.fx_graph.graph import Graph
    from bcjit.fx_graph.places import Places

__all__ = ["NO_BUFFERS", "Plan", "Planner", "Pool", "Run", "Scratch", "Stored", "Threads"]


@dataclass(frozen=True, slots=True)
class Stored:
    """How a call gets its memory.

    Parameters
    ----------
    function
        What does what the node's target does: a ufunc, or `numpy.where`, whose result is copied.
    inputs
        How many of the node's operands it takes.
    buffer
        The number of the buffer; those of `Plan.scratch` come first. None: the result is memory of its own.
    makes
        The call makes its result as NumPy does, and that is the buffer from then on.
    swapped
        Whether the two operands change places, as NumPy does it (`elision`): always, never, or from this many bytes of the result on.
    mask
        Of `numpy.where` in a run: the buffer for the condition as integers of all bits or none, by which the bits of the result are chosen.
    makes_mask
        This call is the first that needs what is in it.
    """

    function: Callable[..., Any]
    inputs: int
    buffer: int | None
    makes: bool = False
    swapped: bool | Expr = False
    mask: int | None = None
    makes_mask: bool = False


@dataclass(frozen=True, slots=True)
class Scratch:
    """A buffer that is there before the call and stays behind it."""

    shape: tuple[Dim, ...]
    dtype: np.dtype[np.generic]


@dataclass(frozen=True, slots=True)
class Run:
    """Calls behind one another, with no other statement between them, that are made block by block.

    Parameters
    ----------
    nodes
        In order; all of them are in `Plan.calls`. Those that reduce the last axis are called with the keywords axis, keepdims and out.
    whole
        The arrays of their shape among their operands.
    sliced
        The operands of which a block needs a part; others are needed whole: numbers, and what is stretched along the first axis.
    shape
        Their shape.
    flat
        A block is a part of all elements in order; else it is some of the first axis.
    block
        How many elements a block has.
    local
        The buffers that hold one block.
    makes
        The buffers that are made here, with the dtype of each.
    read_later
        The calls whose results are read behind the run.
    views
        Views between the calls; they are made before.
    rows
        The calls that give a number for each row of the last axis, or work on such numbers: their results are arrays of their own, made before.
    """

    nodes: tuple[Node, ...]
    whole: frozenset[Node]
    sliced: frozenset[Node]
    shape: tuple[Dim, ...]
    flat: bool
    block: int
    local: frozenset[int]
    makes: tuple[tuple[int, np.dtype[np.generic]], ...]
    read_later: frozenset[Node]
    views: tuple[Node, ...] = ()
    rows: frozenset[Node] = frozenset()


class Pool(Protocol):
    """Where scratch buffers wait between calls."""

    def take(self, shapes: tuple[tuple[int, ...], ...]) -> list[np.ndarray]:
        """Return a set of buffers, of undefined contents."""
        ...

    def give(self, held: list[np.ndarray]) -> None:
        """Take a set back."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """The buffers of a graph.

    Parameters
    ----------
    calls
        The calls that write into buffers.
    scratch
        The buffers that outlive the call.
    pool
        Where they are.
    size
        What decides if the plan is worth it: a number of elements, or an input that has as many.
    smallest
        The least number of elements for which it is.
    equal
        Sizes that must be the same.
    contiguous
        Inputs that must be C-contiguous.
    runs
        Calls that are made block by block.
    threads
        What may do their blocks.
    """

    calls: Mapping[Node, Stored]
    scratch: tuple[Scratch, ...]
    pool: Pool
    size: Dim | Node
    smallest: int
    equal: tuple[tuple[Dim, Dim], ...] = ()
    contiguous: tuple[Node, ...] = ()
    runs: tuple[Run, ...] = ()
    threads: Threads | None = None


class Threads(Protocol):
    """Has several threads do the blocks of a run."""

    def __call__(
        self,
        part: Callable[..., object],
        length: int,
        step: int,
        local: tuple[np.ndarray, ...],
        shared: tuple[object, ...],
        /,
    ) -> bool:
        """Have them do it, where that is worth it; return whether it is done.

        Parameters
        ----------
        part
            Called with where blocks start, the length, the step, arrays as the local ones, and what is shared.
        length, step
            What is cut, and the parts' length; a multiple of it will do, if what is left over is none or no less than `UNIT`.
        local
            Arrays with room for a block, which may not be the same in two threads at a time.
        shared
            What all threads read or write parts of.
        """
        ...


class Planner(Protocol):
    """Plans the buffers of a graph."""

    def candidates(self, graph: Graph) -> Collection[Node]:
        """Return the calls that may be given a buffer; they are not nested into expressions."""
        ...

    def plan(self, places: Places, candidates: Collection[Node]) -> Plan | None:
        """Return the plan, None where there is nothing to gain."""
        ...


@dataclass(slots=True)
class Buffers:
    """The names of a plan's buffers in generated code.

    Attributes
    ----------
    closing
        Before the graph returns: the variable of what it returns, and the statement that gives the buffers back.
    """

    calls: Mapping[Node, Stored] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    closing: tuple[str, str] | None = None
    runs: Mapping[Node, Run] = field(default_factory=dict)  # by each of their calls
    threads: Threads | None = None


NO_BUFFERS: Final = Buffers()
