"""What is known of a value before it exists: shape and dtype of arrays, type of Python scalars; runs no user code.

``ArrayMeta``, ``ScalarMeta`` and ``ObjectMeta`` are the kinds of ``Meta``; ``SourceLine`` is a user's line. This module must not
hold values, nor know how a function computes its result.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np

from bcjit.dims import Dim, is_dim, product
from bcjit.records import dataclass

__all__ = ["ArrayMeta", "Meta", "ObjectMeta", "ScalarMeta", "SourceLine", "meta_of"]


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


Meta: TypeAlias = ArrayMeta | ScalarMeta | ObjectMeta


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
