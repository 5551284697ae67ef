"""The kernels: chains of arithmetic and of functions, rows with reductions, a stencil, a loop of masks, distances."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

__all__ = ["DTYPES", "KERNELS", "SIZES", "Case", "Kernel"]

Array = np.ndarray[Any, Any]
SIZES: Final = {
    "10": 10,
    "1e3": 1_000,
    "1e5": 100_000,
    "1e6": 1_000_000,
    "1e7": 10_000_000,
}
DTYPES: Final = ("float64", "float32")
COLUMNS: Final = 100  # of arrays of rows
SEED: Final = 20_241


def chain(x: Array, y: Array, z: Array) -> Any:
    """Seven operations, three of them transcendental or roots."""
    return np.sin(x) * np.exp(-y) + z * 2 - np.sqrt(np.abs(x))


def arithmetic(a: Array, b: Array, c: Array, d: Array, e: Array, f: Array) -> Any:
    """Six arrays, five operations."""
    return a * b + c * d - e / f


def black_scholes(spot: Array, strike: Array, years: Array) -> Any:
    """Prices of calls and puts, the normal distribution by tanh."""
    spread = 0.25 * np.sqrt(years)
    up = (np.log(spot / strike) + 0.06125 * years) / spread
    down = up - spread
    near = 0.5 + 0.5 * np.tanh(0.7978845608 * (up + 0.044715 * up * up * up))
    far = 0.5 + 0.5 * np.tanh(0.7978845608 * (down + 0.044715 * down * down * down))
    discounted = strike * np.exp(-0.03 * years)
    call = spot * near - discounted * far
    return call, call - spot + discounted


def softmax(x: Array) -> Any:
    """Rows to probabilities."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def squared_differences(x: Array, y: Array) -> Any:
    """A sum of squared differences."""
    d = x - y
    return (d * d).sum()


def layer_norm(x: Array) -> Any:
    """Rows to mean zero and variance one."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5)


def stencil(u: Array) -> Any:
    """Five points of a plane."""
    return 0.5 * u[1:-1, 1:-1] + 0.125 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])


def escape(real: Array, imaginary: Array) -> Any:
    """Eight steps of Mandelbrot's iteration, points that have left masked."""
    x, y = real, imaginary
    for _ in range(8):
        xx, yy = x * x, y * y
        inside = xx + yy < 4.0
        x, y = np.where(inside, xx - yy + real, x), np.where(inside, 2.0 * x * y + imaginary, y)
    return x, y


def distances(a: Array, b: Array) -> Any:
    """Distances of all pairs of points in space."""
    return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1))


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function, what makes its arguments of so many elements, and whether memory limits it rather than arithmetic."""

    function: Callable[..., Any]
    make: Callable[[int, np.random.Generator], tuple[Array, ...]]
    memory_bound: bool = False

    @property
    def name(self) -> str:
        """How it is called in tables."""
        return self.function.__name__.replace("_", " ")

    @property
    def what(self) -> str:
        """What it computes, in a line."""
        return (self.function.__doc__ or "").partition("\n")[0].removesuffix(".")


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel on arrays of one dtype; it is set up for a key of `SIZES`."""

    kernel: Kernel
    dtype: str

    @property
    def function(self) -> Callable[..., Any]:
        """The kernel's function."""
        return self.kernel.function

    def setup(self, size: str, /) -> tuple[Any, ...]:
        """Return its arguments; the same in each run."""
        made = self.kernel.make(SIZES[size], np.random.default_rng(SEED))
        return tuple(array.astype(self.dtype) for array in made)

    def moved(self, size: str) -> int:
        """Return the bytes that must move: each argument is read once, each result written once."""
        args = self.setup(size)
        found = self.function(*args)
        results = found if isinstance(found, tuple) else (found,)
        return sum(array.nbytes for array in (*args, *results))


def _normal(count: int) -> Callable[[int, np.random.Generator], tuple[Array, ...]]:
    return lambda n, rng: tuple(rng.standard_normal(n) for _ in range(count))


def _positive(count: int) -> Callable[[int, np.random.Generator], tuple[Array, ...]]:
    return lambda n, rng: tuple(rng.uniform(0.5, 2.0, n) for _ in range(count))


def _rows(n: int, rng: np.random.Generator) -> tuple[Array, ...]:
    columns = min(n, COLUMNS)
    return (rng.standard_normal((n // columns, columns)),)


def _plane(n: int, rng: np.random.Generator) -> tuple[Array, ...]:
    side = max(math.isqrt(n), 3)
    return (rng.standard_normal((side, side)),)


def _points(n: int, rng: np.random.Generator) -> tuple[Array, ...]:
    count = math.isqrt(n)
    return rng.standard_normal((count, 3)), rng.standard_normal((count, 3))


_ALL: Final = (
    Kernel(chain, _normal(3)),
    Kernel(arithmetic, _positive(6), memory_bound=True),
    Kernel(black_scholes, _positive(3)),
    Kernel(softmax, _rows),
    Kernel(squared_differences, _normal(2), memory_bound=True),
    Kernel(layer_norm, _rows, memory_bound=True),
    Kernel(stencil, _plane, memory_bound=True),
    Kernel(escape, _normal(2)),
    Kernel(distances, _points),
)
KERNELS: Final = {kernel.name: kernel for kernel in _ALL}
