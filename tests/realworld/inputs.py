"""Random arguments by kind: what a rule can try on a function of which only the signature is known.

A kind makes one argument for one of the calls of a function; every call has another shape and another dtype.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

# One call each, in this order; the complex one only where the finder saw it return.
DTYPES: Final = ("float64", "float32", "int64", "complex128")
COMPLEX: Final = 3

_SIZES: Final = (8, 13, 5, 9)
_ORDERS: Final = (4, 3, 5, 4)
_BATCHES: Final = ((), (5,), (2, 3), (2,))

Maker = Callable[[np.random.Generator, int], Any]


def _converted(values: np.ndarray, call: int, rng: np.random.Generator) -> np.ndarray:
    """Return the values in the dtype of a call; integers keep some of their spread."""
    if call == COMPLEX:
        return values + 1j * rng.permutation(values)
    if DTYPES[call] == "int64":
        return np.rint(values * 4).astype(np.int64)
    return values.astype(DTYPES[call])


def _array(draw: Callable[[np.random.Generator, int], np.ndarray]) -> Maker:
    return lambda rng, call: _converted(draw(rng, call), call, rng)


def _positive_definite(rng: np.random.Generator, call: int) -> np.ndarray:
    order = _ORDERS[call]
    factor = rng.normal(size=(order, order))
    return factor @ factor.T + order * np.eye(order)


def _rotations(rng: np.random.Generator, call: int) -> np.ndarray:
    return np.linalg.qr(rng.normal(size=(*_BATCHES[call], 3, 3)))[0]


def _unit_quads(rng: np.random.Generator, call: int) -> np.ndarray:
    drawn = rng.normal(size=(*_BATCHES[call], 4))
    return drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)


def _number(rng: np.random.Generator, call: int) -> object:
    value = float(rng.uniform(0.3, 2.5))
    return (value, np.float32(value), int(value) + 1, complex(value, 0.5))[call]


def smooth(x, *rest):
    """Something to integrate, minimise, or find the root of."""
    return (x - 1.25) ** 3 + 0.5 * x


KINDS: Final[dict[str, Maker]] = {
    "vector": _array(lambda rng, call: rng.normal(size=_SIZES[call])),
    "positive": _array(lambda rng, call: rng.uniform(0.5, 5.0, _SIZES[call])),
    "unit": _array(lambda rng, call: rng.uniform(0.05, 0.95, _SIZES[call])),
    "sorted": _array(lambda rng, call: np.cumsum(rng.uniform(0.3, 1.5, _SIZES[call]))),
    "matrix": _array(lambda rng, call: rng.normal(size=(_SIZES[call], _ORDERS[call]))),
    "definite": _array(_positive_definite),
    "triples": _array(lambda rng, call: rng.uniform(0.05, 0.95, (*_BATCHES[call], 3))),
    "quads": _array(_unit_quads),
    "rotations": _array(_rotations),
    "number": _number,
    "count": lambda rng, call: int(rng.integers(2, 6)),
    "function": lambda rng, call: smooth,
    "generator": lambda rng, call: np.random.default_rng(int(rng.integers(2**31))),
}


def arguments(name: str, kinds: Sequence[str], call: int) -> list[Any]:
    """Make the arguments of one call of a function; they depend on nothing else."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), call])
    return [KINDS[kind](rng, call) for kind in kinds]
