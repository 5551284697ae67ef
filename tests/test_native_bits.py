"""Bits that are easily lost: which of two zeros ``np.clip`` takes, by numbers or arrays as limits; powers by numbers that are not known."""

from __future__ import annotations

import numpy as np
import pytest

import bcjit
from bcjit.backends.choice import has_llvm
from bcjit.backends.native.backend import Native

pytestmark = pytest.mark.skipif(not has_llvm(), reason="needs llvmlite")

SHAPES = [(1,), (70,), (3, 17), (17, 3), (1, 9), (9, 1), (5000,)]
LAYOUTS = {
    "C": lambda a: a,
    "F": np.asfortranarray,
    "backwards": lambda a: a[..., ::-1],
    "sparse": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
}
CLIPPED = {
    "ints": lambda x, y, k: x.clip(0, 3),
    "floats": lambda x, y, k: np.clip(x, -3.0, -0.0),
    "given": lambda x, y, k: np.clip(x, k, k + 1),
    "of NumPy": lambda x, y, k: np.clip(x, x.dtype.type(0), np.int8(3)),
    "one element": lambda x, y, k: np.clip(x, x.max() * 0, y.ravel()[0]),
    "not a number": lambda x, y, k: np.clip(x, np.nan, 3) + np.clip(x, 0, np.nan),
    "low array": lambda x, y, k: np.clip(x, y, 3),
    "high array": lambda x, y, k: np.clip(x, -3, y),
    "arrays": lambda x, y, k: np.clip(x, y, y),
    "made": lambda x, y, k: np.clip(x * 1, -abs(y), y + 1) + x,
    "number": lambda x, y, k: np.clip(0.0, y, x),
    "reduced": lambda x, y, k: np.clip(x, x.min(axis=0), x.max(axis=-1, keepdims=True)),
    "summed": lambda x, y, k: np.clip(x * k, 0, 1).max(axis=-1),
}


@pytest.mark.parametrize("char", "dfe")
@pytest.mark.parametrize("name", CLIPPED)
def test_zeros_keep_or_lose_their_signs_as_in_numpy(name, char):
    fn = CLIPPED[name]
    random = np.random.default_rng(0)
    for shape in SHAPES:
        x = random.choice(np.array([0.0, -0.0, -0.0, np.nan, 2], char), shape)
        for repeated in dict.fromkeys((shape, shape[-1:], (*shape[:-1], 1), (1,))):
            y = random.choice(np.array([0.0, -0.0], char), repeated)
            compiled = bcjit.compile(fn, backend=Native(smallest=1))
            for place in LAYOUTS.values():
                given = place(x), place(y), -0.0
                wanted, made = fn(*given), compiled(*given)
                assert made.dtype == wanted.dtype
                assert made.tobytes() == wanted.tobytes(), (shape, repeated)


@pytest.mark.parametrize("char", "efdFD")
@pytest.mark.parametrize("k", [-1, 0, 1, 2, 3, 0.5, -1.0, 2.0, 2.5])
def test_powers_by_a_number_that_is_not_known_are_the_operators(char, k):
    x = np.linspace(0.25, 40, 160).astype(char)
    if char in "FD":
        x[::2] += 1j * x[::-2]
    alone, within = lambda x, k: x**k, lambda x, k: (x**k) / 2 - x
    for fn in (alone, within):
        compiled = bcjit.compile(fn, backend=Native(smallest=1))
        for _ in range(2):
            assert compiled(x, k).tobytes() == fn(x, k).tobytes()
