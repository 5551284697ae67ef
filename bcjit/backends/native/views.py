"""Views that a kernel makes itself: basic indexing, transposes, repetition and rolled axes, as numbers that C reads; no array is made.

What `np.roll` makes is a copy, which cannot be told from a view as long as nothing is written between.
`bcjit/csrc/kernel_views.c` has the same codes. A value of a code is a constant, or the place of an argument of the kernel.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

import numpy as np

from bcjit.dims import Expr
from bcjit.fx_graph import Node, NodeKind
from bcjit.meta import ArrayMeta, ScalarMeta
from bcjit.records import dataclass

__all__ = ["Picked", "View", "basic_view", "view_of"]

# As bcjit/csrc/kernel_views.c has them.
_BASIC, _PERMUTE, _BROADCAST, _ROLL = range(4)
_ALL, _NEW, _PICK, _SLICE, _PICK_OF = range(5)
_START, _STOP, _STEP = 1, 2, 4
_MOST_AXES: Final = 16

# Beyond this NumPy clips the bounds of slices by other means.
_LARGEST: Final = 1 << 62

# A code, or a value: a constant in a tuple of one, or what is known when the kernel is called.
Piece: TypeAlias = "int | tuple[int] | Expr | Node"


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A view as a kernel makes it."""

    base: Node
    nodes: tuple[Node, ...]  # the calls it stands for, the one nearest to the base first
    pieces: tuple[Piece, ...]

    @property
    def reads(self) -> tuple[Node, ...]:
        """The base, and numbers that are known when the kernel is called."""
        return (self.base, *(piece for piece in self.pieces if isinstance(piece, Node)))

    def code(self, place: Callable[[Expr | Node], int]) -> tuple[int, ...]:
        """Return the numbers for C; `place` says which argument something is."""
        found: list[int] = []
        for piece in self.pieces:
            if isinstance(piece, int):
                found.append(piece)
            elif isinstance(piece, tuple):
                found += (0, piece[0])
            else:
                found += (1, place(piece))
        return tuple(found)


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """Some elements of an array, by axes of what they are used for.

    Attributes
    ----------
    base
        The array.
    axes
        For each axis of the result one of the array, or None for a new one.
    places
        Of each other axis which place, of how many there must be.
    """

    base: Node
    axes: tuple[int | None, ...]
    places: tuple[tuple[int, int, int], ...]

    def of(self, view: View | None) -> View:
        """Return it as a view of the array, or of the array behind it."""
        pieces = tuple(self._pieces())
        if view is None:
            return View(self.base, (), pieces)
        return View(view.base, view.nodes, (*view.pieces, *pieces))

    def _pieces(self) -> Iterable[Piece]:
        kept = [axis for axis in self.axes if axis is not None]
        order = [*(axis for axis, _, _ in self.places), *kept]
        if order != sorted(order):
            yield from (_PERMUTE, len(order), *order)
        yield from (_BASIC, len(self.places) + len(self.axes))
        for _, place, count in self.places:
            yield from (_PICK_OF, (place,), count)
        for axis in self.axes:
            yield _NEW if axis is None else _ALL


def view_of(node: Node, *, copies: bool = False) -> View | None:
    """Return a node's value as a view of the array behind it, None where it is none that a kernel makes.

    ``copies`` says that the value is only read, and nothing is written between: a copy with rolled axes is a view as well.
    """
    found: list[Node] = []
    pieces: list[Piece] = []
    while True:
        step = _step(node)
        if step is None and copies and (not pieces or pieces[0] == _ROLL):
            step = _roll(node)  # C makes nothing else of what is rolled
        if step is None:
            break
        found.insert(0, node)
        pieces[:0] = step
        base = node.args[0]
        assert isinstance(base, Node)
        node = base
    return View(node, tuple(found), tuple(pieces)) if found and _is_array(node) else None


def basic_view(base: Node, index: object) -> View | None:
    """Return ``base[index]`` as a view; None where the index is not basic, or has a value of another kind than the rest."""
    step = _basic(base, index)
    if step is None or not _is_array(base):
        return None
    inner = view_of(base)
    if inner is None:
        return View(base, (), tuple(step))
    return View(inner.base, inner.nodes, (*inner.pieces, *step))


def _is_array(node: Node) -> bool:
    meta = node.meta[0] if len(node.meta) == 1 and not node.multi else None
    return isinstance(meta, ArrayMeta) and not meta.is_scalar and 0 < len(meta.shape) <= _MOST_AXES


def _step(node: Node) -> list[Piece] | None:
    """Return the codes of one call, None where it is not such a view."""
    if node.kind is not NodeKind.CALL or node.has_effect or node.multi or not node.args:
        return None
    base = node.args[0]
    if not isinstance(base, Node) or not _is_array(base) or len(node.meta) != 1:
        return None
    meta = node.meta[0]
    if not isinstance(meta, ArrayMeta) or len(meta.shape) > _MOST_AXES:
        return None
    if node.target is operator.getitem:
        # An element is read when the call is made, a view when the kernel runs: see `groups`.
        if node.alias != "view" and not (meta.is_scalar and node.alias == "fresh"):
            return None
        return _basic(base, node.args[1])
    if node.alias != "view" or node.view_of is not base or meta.is_scalar:
        return None
    axes = _permutation(node, _ndim(base))
    if axes is not None:
        return [_PERMUTE, len(axes), *axes]
    if node.target is np.broadcast_to and len(node.args) == 2 and not node.kwargs:
        pieces = [_value(dim) for dim in meta.shape]
        if any(piece is None for piece in pieces):
            return None
        return [_BROADCAST, len(pieces), *(piece for piece in pieces if piece is not None)]
    return None


def _roll(node: Node) -> list[Piece] | None:
    """Return the codes of ``np.roll`` along axes that are known, None where a call is something else."""
    base = node.args[0] if node.args else None
    if node.target is not np.roll or node.has_effect or not isinstance(base, Node):
        return None
    if not _is_array(base):
        return None
    ndim = _ndim(base)
    given = dict(zip(("shift", "axis"), node.args[1:], strict=False)) | node.kwargs
    shifts, axes = given.get("shift"), given.get("axis")
    if axes is None and ndim == 1:
        axes = 0
    shifts = shifts if isinstance(shifts, tuple | list) else (shifts,)
    axes = axes if isinstance(axes, tuple | list) else (axes,)
    if len(shifts) != len(axes) or given.keys() > {"shift", "axis"}:
        return None
    pieces: list[Piece] = []
    for shift, axis in zip(shifts, axes, strict=True):
        value = _value(shift)
        if type(axis) is not int or not -ndim <= axis < ndim or value is None:
            return None
        pieces += (axis % ndim, value)
    return [_ROLL, len(shifts), *pieces]


def _ndim(node: Node) -> int:
    meta = node.meta[0]
    assert isinstance(meta, ArrayMeta)
    return len(meta.shape)


_TRANSPOSES: Final = frozenset({np.transpose, np.ndarray.transpose})
_SWAPS: Final = frozenset({np.swapaxes, np.ndarray.swapaxes})


def _permutation(node: Node, ndim: int) -> tuple[int, ...] | None:
    """Return the order in which a call puts the axes, None where it does something else."""
    target, rest = node.target, node.args[1:]
    if node.kwargs:
        return None
    if type(target) is operator.attrgetter:
        known = target.__reduce__()[1] == ("T",) and not rest
        return tuple(reversed(range(ndim))) if known else None
    try:
        if target in _TRANSPOSES:
            given = rest[0] if len(rest) == 1 and not isinstance(rest[0], int) else rest
            if given is None or given == ():
                return tuple(reversed(range(ndim)))
            axes = _constants(given)
        elif target in _SWAPS:
            swapped = _constants(rest)
            if swapped is None or len(swapped) != 2:
                return None
            one, other = (axis % ndim for axis in swapped)
            order = list(range(ndim))
            order[one], order[other] = order[other], order[one]
            return tuple(order)
        else:
            return None
    except TypeError:  # not hashable
        return None
    if axes is None or sorted(axis % ndim for axis in axes) != list(range(ndim)):
        return None
    return tuple(axis % ndim for axis in axes)


def _constants(given: object) -> tuple[int, ...] | None:
    if not isinstance(given, tuple | list):
        return None
    found = tuple(axis for axis in given if type(axis) is int)
    return found if len(found) == len(given) else None


def _basic(base: Node, index: object) -> list[Piece] | None:
    entries = index if isinstance(index, tuple) else (index,)
    ndim = _ndim(base)
    taken = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if taken > ndim or sum(entry is Ellipsis for entry in entries) > 1:
        return None
    if not any(entry is Ellipsis for entry in entries):
        entries = (*entries, Ellipsis)
    made: list[list[Piece]] = []
    for entry in entries:
        if entry is Ellipsis:
            made += [[_ALL]] * (ndim - taken)
        elif entry is None:
            made.append([_NEW])
        elif isinstance(entry, slice):
            bounds = _slice(entry)
            if bounds is None:
                return None
            made.append(bounds)
        else:
            value = _value(entry)
            if value is None:
                return None
            made.append([_PICK, value])
    return [_BASIC, len(made), *_joined(made)]


def _joined(lists: Iterable[list[Piece]]) -> list[Piece]:
    return [piece for one in lists for piece in one]


def _slice(entry: slice) -> list[Piece] | None:
    mask = 0
    values: list[Piece] = []
    for bit, bound in ((_START, entry.start), (_STOP, entry.stop), (_STEP, entry.step)):
        value = (0,) if bound is None else _value(bound)
        if value is None or (bit == _STEP and value == (0,) and bound is not None):
            return None
        mask |= 0 if bound is None else bit
        values.append(value)
    return [_ALL] if not mask else [_SLICE, mask, *values]


def _value(entry: object) -> Piece | None:
    """Return a number of an index: a constant, a size, or a Python int that is known when the kernel is called."""
    if type(entry) is int:
        return (entry,) if abs(entry) < _LARGEST else None
    if isinstance(entry, Expr):
        return entry
    if isinstance(entry, Node) and not entry.multi and len(entry.meta) == 1:
        meta = entry.meta[0]
        if isinstance(meta, ScalarMeta) and meta.pytype is int:
            return entry
    return None
