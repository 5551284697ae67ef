"""Which sizes of a graph are the same where a plan is used, and in which order NumPy takes the operands of its sums and products."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from bcjit.backends.fused.calls import array_meta, array_shape, elementwise
from bcjit.dims import Dim, Expr, product
from bcjit.fx_graph import Graph, Node, NodeKind
from bcjit.fx_graph.elision import COMMUTED, LEAST, ever_swaps
from bcjit.meta import ArrayMeta, ScalarMeta

__all__ = ["Sizes", "count_bytes", "dtype_of", "has_axes", "has_known_size", "swaps", "with_users"]


class Sizes:
    """Sizes that are the same where the plan is used.

    Attributes
    ----------
    equal
        The pairs that are compared.
    """

    def __init__(self, graph: Graph, nodes: Collection[Node]) -> None:
        self.graph = graph
        self.equal: list[tuple[Dim, Dim]] = []
        self._same: dict[Dim, Dim] = {}
        for node in nodes:
            self.join(node)

    def join(self, node: Node) -> None:
        """Take the axes of the operands of an elementwise call for those of its result, where none is known to be stretched."""
        shape = array_shape(node)
        for operand in node.uses():
            if has_axes(operand) and has_known_size(self.graph, operand):
                for one, other in zip(
                    reversed(array_shape(operand)), reversed(shape), strict=False
                ):
                    if one != 1 and (isinstance(one, Expr) or isinstance(other, Expr)):
                        self._join(one, other)

    def _join(self, one: Dim, other: Dim) -> None:
        one, other = self._find(one), self._find(other)
        if one == other or (isinstance(one, int) and isinstance(other, int)):
            return
        if isinstance(one, int):
            one, other = other, one
        self._same[one] = other
        self.equal.append((one, other))

    def _find(self, dim: Dim) -> Dim:
        while dim in self._same:
            dim = self._same[dim]
        return dim

    def shape(self, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """Return a shape in terms of the sizes that stand for others."""
        return tuple(map(self._find, shape))


def swaps(node: Node, sizes: Sizes) -> bool | None:
    """Whether NumPy takes the operands of a large sum or product in the other order; None where that cannot be told."""
    if node.target not in COMMUTED or node.temporaries is None or not node.temporaries[1]:
        return False
    left, right = node.args
    taken = _is_taken(right, left, sizes)
    if taken is False or not ever_swaps():
        return False
    first = _is_taken(left, right, sizes) if node.temporaries[0] else False
    if first is True:
        return False
    return None if taken is None or first is None else True


def with_users(nodes: list[Node], sizes: Sizes) -> list[Node]:
    """Leave out calls whose order of operands cannot be told, and temporaries that NumPy may compute other calls into than those here.

    Such a temporary stays inside the expression of its user, where it is one.
    """
    left = dict.fromkeys(nodes)
    while True:
        wrong = [
            node
            for node in left
            if swaps(node, sizes) is None
            or any(
                user.temporaries is not None
                and user not in left
                and any(is_one and arg is node for arg, is_one in zip(user.args, user.temporaries, strict=False))
                for user in node.users
            )
        ]  # fmt: skip
        if not wrong:
            return list(left)
        for node in wrong:
            del left[node]


def _is_taken(operand: object, other: object, sizes: Sizes) -> bool | None:
    """Whether NumPy computes a large result into an operand that is a temporary."""
    if not isinstance(operand, Node) or array_meta(operand) is None:
        return False
    if isinstance(other, Node) and len(other.meta) == 1 and isinstance(other.meta[0], ArrayMeta):
        dtype = other.meta[0].dtype
        one, two = sizes.shape(array_shape(operand)), sizes.shape(array_shape(other))
        if two and len(one) != len(two):
            return False
        if two and one != two:
            pairs = zip(one, two, strict=True)
            apart = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
            return False if apart else None
    elif isinstance(other, Node):
        meta = other.meta[0]
        assert isinstance(meta, ScalarMeta)
        dtype = np.dtype(meta.pytype)
    else:
        dtype = np.dtype(int) if isinstance(other, Expr) else np.asarray(other).dtype
    if not np.can_cast(dtype, dtype_of(operand), "safe"):
        return False
    # Whether others' results own their memory is not known.
    return True if elementwise(operand) is not None else None


def count_bytes(node: Node) -> bool | Expr:
    """Return how many bytes an array has; of a known number, whether it is large."""
    number = product(array_shape(node)) * dtype_of(node).itemsize
    return number >= LEAST if isinstance(number, int) else number


def has_known_size(graph: Graph, node: Node) -> bool:
    """Whether the shape of an array can be told from the inputs."""
    return all(
        symbol in graph.symbols and graph.symbols[symbol][0].kind is NodeKind.INPUT
        for dim in array_shape(node)
        if isinstance(dim, Expr)
        for symbol in dim.symbols()
    )


def has_axes(node: Node) -> bool:
    """Whether a node's value is, or holds, an array with axes."""
    return any(isinstance(meta, ArrayMeta) and meta.shape for meta in node.meta)


def dtype_of(node: Node) -> np.dtype[np.generic]:
    """Return the dtype of an array."""
    meta = node.meta[0]
    assert isinstance(meta, ArrayMeta)
    return meta.dtype
