"""What is known of a value before it exists: shape and dtype of arrays, type of Python scalars; runs no user code.

``ArrayMeta``, ``ScalarMeta`` and ``ObjectMeta`` are the kinds of ``Meta``, beside those of values of more than one kind:
``UnionMeta`` and ``UnboundMeta``. ``SourceLine`` is a user's line. This module must not hold values, nor know how a function
computes its result.
"""

from __future__ import annotations

from typing import Final, Self, TypeAlias, cast

import numpy as np

from bcjit.dims import Dim, is_dim, product
from bcjit.records import dataclass

__all__ = [
    "UNBOUND", "ArrayMeta", "Meta", "ObjectMeta", "ScalarMeta", "SourceLine", "UnboundMeta", "UnboundType", "UnionMeta",
    "meta_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ArrayMeta:
    """An array, or with ``is_scalar`` a NumPy scalar (``np.generic``), which is not the same as a 0-d array."""

    shape: tuple[Dim, ...]
    dtype: np.dtype[np.generic]
    is_scalar: bool = False

    def __post_init__(self) -> None:
        if not all(map(is_dim, self.shape)):
            msg = f"shape: int or Expr is expected for each axis, got {self.shape!r}"
            raise TypeError(msg)
        if self.is_scalar and self.shape:
            msg = f"shape: () is expected of a scalar, got {self.shape!r}"
            raise ValueError(msg)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> Dim:
        """Number of elements."""
        return product(self.shape)

    def __str__(self) -> str:
        if self.is_scalar:
            return f"scalar {self.dtype}"
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


_PYTHON_SCALARS: Final[tuple[type, ...]] = (bool, int, float, complex)


@dataclass(frozen=True, slots=True)
class ScalarMeta:
    """A Python bool, int, float or complex: to NumPy 2 a weak scalar."""

    pytype: type

    def __post_init__(self) -> None:
        if self.pytype not in _PYTHON_SCALARS:
            msg = f"pytype: bool, int, float or complex is expected, got {self.pytype!r}"
            raise TypeError(msg)

    def __str__(self) -> str:
        return self.pytype.__name__


@dataclass(frozen=True, slots=True)
class ObjectMeta:
    """An opaque object of NumPy's: a random generator, or what one is made of. It is passed on, and drawn from."""

    pytype: type

    def __str__(self) -> str:
        return self.pytype.__name__


@dataclass(frozen=True, slots=True)
class UnionMeta:
    """A scalar that is of one of several kinds: what a loop of no turn leaves, or what it computes.

    Parameters
    ----------
    kinds
        At least two, each once: Python scalars and NumPy scalars. They are put in one order, so that equal sets are equal.
    """

    kinds: tuple[Meta, ...]

    def __post_init__(self) -> None:
        if not all(isinstance(kind, ScalarMeta) or _is_numpy_scalar(kind) for kind in self.kinds):
            msg = f"kinds: scalars are expected, got ({', '.join(map(str, self.kinds))})"
            raise TypeError(msg)
        if len(self.kinds) < 2 or len(set(self.kinds)) < len(self.kinds):
            msg = f"kinds: at least two, each once, are expected, got ({', '.join(map(str, self.kinds))})"
            raise ValueError(msg)
        ordered = sorted(self.kinds, key=lambda kind: (isinstance(kind, ArrayMeta), str(kind)))
        object.__setattr__(self, "kinds", tuple(ordered))

    def __str__(self) -> str:
        return "|".join(map(_short, self.kinds))


@dataclass(frozen=True, slots=True)
class UnboundMeta:
    """A value of a kind, or the object `UNBOUND` where a local has no value."""

    kind: Meta

    def __post_init__(self) -> None:
        if isinstance(self.kind, UnboundMeta):
            msg = f"kind: that of the value is expected, got {self.kind}"
            raise TypeError(msg)

    def __str__(self) -> str:
        text = _short(self.kind)
        return f"({text})?" if isinstance(self.kind, UnionMeta) else f"{text}?"


class UnboundType:
    """The type of `UNBOUND`, its only instance."""

    __slots__ = ()

    def __new__(cls) -> Self:
        """Return the only instance."""
        return cast("Self", UNBOUND)

    def __reduce__(self) -> str:
        return "UNBOUND"  # copies, and what is loaded from a pickle, are the same object

    def __repr__(self) -> str:
        return "<unbound>"


# What a local that has no value is in a graph that goes on without it.
UNBOUND: Final[UnboundType] = object.__new__(UnboundType)

Meta: TypeAlias = ArrayMeta | ScalarMeta | ObjectMeta | UnionMeta | UnboundMeta


def _is_numpy_scalar(meta: Meta) -> bool:
    return isinstance(meta, ArrayMeta) and meta.is_scalar


def _short(meta: Meta) -> str:
    """Return the text of one of several kinds: ``float64`` for a NumPy scalar, but ``numpy.bool``, which is not ``bool``."""
    if not isinstance(meta, ArrayMeta) or not meta.is_scalar:
        return str(meta)
    return "numpy.bool" if meta.dtype.kind == "b" else str(meta.dtype)


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of the user's program.

    Parameters
    ----------
    filename
        ``co_filename`` of the code object, unchanged.
    lineno
        The line, counted from 1.
    function
        Qualified name of the function, empty when it is not known.
    """

    filename: str
    lineno: int
    function: str = ""

    def text(self) -> str:
        """Return ``model.py:12``: the last part of the file name and the line."""
        # Not os.path: a file name of another system's style must still be cut at its last part.
        return f"{self.filename.replace(chr(92), '/').rpartition('/')[2]}:{self.lineno}"

    def __str__(self) -> str:
        return self.text()


# Exact types only: a subclass can lie about its dtype.
_NUMPY_SCALARS: Final[frozenset[type]] = frozenset(np.sctypeDict.values())


def meta_of(value: object) -> Meta | None:
    """Return the meta of an array, NumPy scalar or Python scalar of exact type, None of anything else."""
    if type(value) is np.ndarray:
        return ArrayMeta(value.shape, value.dtype)
    if type(value) in _PYTHON_SCALARS:
        return ScalarMeta(type(value))
    if type(value) in _NUMPY_SCALARS:
        assert isinstance(value, np.generic)
        return ArrayMeta((), value.dtype, is_scalar=True)
    return None
