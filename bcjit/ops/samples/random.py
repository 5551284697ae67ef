"""Samples for ``np.random``: a sampler is named ``Generator.normal``, ``module.rand`` or ``new.PCG64``; see `__getattr__`.

A generator among the arguments is copied by the tests before each call; NumPy's own is seeded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from bcjit.ops.opdef import Sample, Sampler, sample

__all__: list[str] = []

# One value for each name that a distribution's parameters have, right for all distributions that have it.
_PARAMETERS: Final[dict[str, float | int]] = {
    "a": 2.0, "b": 3.0, "df": 3.0, "dfden": 4.0, "dfnum": 3.0, "kappa": 1.0, "lam": 2.0, "left": 0.0,
    "loc": 0.0, "low": 0.0, "high": 5.0, "mean": 1.0, "mode": 0.5, "mu": 0.0, "n": 5, "nbad": 4,
    "ngood": 3, "nonc": 0.5, "nsample": 2, "p": 0.5, "right": 1.0, "scale": 1.5, "shape": 2.0,
    "sigma": 0.5,
}  # fmt: skip
# The samples are made once, for a dtype for which the tests have symbolic sizes.
_DTYPE: Final = np.dtype("i8")
_GRID: Final = np.arange(6.0).reshape(3, 2)


def _distribution(function: Callable[..., object]) -> Iterator[Sample]:
    names = [name for name in inspect.signature(function).parameters if name in _PARAMETERS]
    given = [_PARAMETERS[name] for name in names]
    yield sample(*given)
    for size in (3, (2, 0), (), [2, 2], np.int64(2), -1, 2.0):
        yield sample(*given, size=size)
    if not names:
        return
    first = given[0]
    yield sample(np.full((2, 1), first), *given[1:])
    yield sample(np.full((2, 1), first), *given[1:], size=(2, 3))
    yield sample(np.full((2, 1), first), *given[1:], size=3)
    yield sample(np.array(first), *given[1:])
    yield sample(np.float32(first), *given[1:])
    yield sample([first, first], *given[1:])
    yield sample(*[np.full(shape, p) for shape, p in zip(((2, 1), (3,), (1,)), given)])  # noqa: B905
    yield sample(-7.5, *given[1:])
    yield sample("text", *given[1:])


def _typed() -> Iterator[Sample]:
    yield sample(dtype=np.float32)
    yield sample(3, dtype="f4")
    yield sample((), np.float64)
    yield sample(dtype="i4")
    yield sample(out=np.zeros((2, 3)))
    yield sample(out=np.zeros((3, 2)).T)
    yield sample(size=(3,), out=np.zeros(3))
    yield sample(size=(2,), out=np.zeros(3))
    yield sample(dtype=np.float32, out=np.zeros(3, np.float32))
    yield sample(out=np.zeros(3, np.float32))


def _with_shape(samples: Iterator[Sample]) -> Iterator[Sample]:
    for one in samples:
        yield sample(**dict(zip(("size", "dtype"), one.args)), shape=2.0, **one.kwargs)  # noqa: B905


def _sizes() -> Iterator[Sample]:
    for args in ((), (3,), (2, 0), (2, np.int64(3)), ((2, 3),), (2.0,), (-1,)):
        yield sample(*args)


def _integers() -> Iterator[Sample]:
    yield sample(5)
    yield sample(2, 7)
    yield sample(5, size=3)
    yield sample(0, 5, (2, 2))
    yield sample(7, 2)
    yield sample([3, 4])
    yield sample([1, 2], [[3], [4]])
    yield sample(0, np.array([5]))
    yield sample(np.array(0), np.array(5))
    yield sample(0, np.int16(5))
    for dtype in (bool, int, np.int64, "i4", np.uint8, np.bool_, "q", "u8", float, None):
        yield sample(0, 2, dtype=dtype)
        yield sample(0, 2, 2, dtype)


def _choices() -> Iterator[Sample]:
    items = np.arange(3, dtype="f4")
    for population in (4, np.int64(4), np.array(4), [1.0, 2.0], items, _GRID, 2.5, 0, np.array([])):
        yield sample(population)
        yield sample(population, 2)
        yield sample(population, ())
    yield sample(4, replace=False)
    yield sample(4, 2, replace=False)
    yield sample(4, (), False)
    yield sample(items, 5, replace=False)
    yield sample(2, p=[0.5, 0.5])
    yield sample(2, 3, p=[0.5, 0.5])
    yield sample(2, 3, p=np.array([0.5, 0.6]))
    yield sample(items, p=[0.5, 0.25, 0.25])
    yield sample(2, 2, replace=False, p=[0.5, 0.5])
    yield sample(_GRID, axis=1)
    yield sample(_GRID, (2, 2), axis=-1)
    yield sample(_GRID, axis=2)


def _permutations() -> Iterator[Sample]:
    for items in (4, 0, -2, np.int32(4), _GRID, _GRID[:, 0], [1, 2], np.array(3.0), True):
        yield sample(items)


def _permuted() -> Iterator[Sample]:
    for items in (_GRID, _GRID[:, 0], [1, 2], np.array(3.0), 5):
        yield sample(items)
    yield sample(_GRID, axis=-1)
    yield sample(_GRID, axis=2)
    yield sample(_GRID, out=_GRID.copy())
    yield sample(_GRID, out=np.zeros((2, 2)))
    yield sample(_GRID, out=_GRID.astype("f4"))
    yield sample(_GRID.astype("f4"), out=_GRID.copy())


def _shuffles() -> Iterator[Sample]:
    fixed = np.arange(3.0)
    fixed.flags.writeable = False
    for items in (_GRID, _GRID[:, 0], _GRID.astype("i2")[::-1], np.array(3.0), fixed, [1, 2]):
        yield sample(items)


def _axes(samples: Iterator[Sample]) -> Iterator[Sample]:
    yield from samples
    yield sample(_GRID, axis=1)
    yield sample(_GRID, -3)


def _multinomials() -> Iterator[Sample]:
    chances = np.full((3, 2), 0.5)
    for trials in (5, np.array(5), [5, 6], [[5], [6]], -1):
        yield sample(trials, [0.25, 0.75])
        yield sample(trials, chances)
    for size in (4, (), (4, 3), (3,)):
        yield sample(5, [0.25, 0.75], size)
        yield sample(5, chances, size=size)
    yield sample(5, [0.75, 0.75])
    yield sample(5, 0.5)
    yield sample(5, [])


def _dirichlets() -> Iterator[Sample]:
    for alpha in ([1.0, 2.0], np.array([1, 2, 3]), _GRID, 2.0, [], [-1.0]):
        yield sample(alpha)
        yield sample(alpha, 3)
        yield sample(alpha, size=(2, 0))
    yield sample([1.0, 2.0], ())


def _colors() -> Iterator[Sample]:
    yield sample([3, 4], 2)
    yield sample(np.array([3, 4, 5]), np.array(2), 3)
    yield sample([3, 4], 2, size=(2, 2), method="count")
    yield sample([3, 4], 9)
    yield sample(_GRID, 2)
    yield sample([3, 4], [1, 2])


def _seeds() -> Iterator[Sample]:
    for value in (0, 5, np.int64(7), [1, 2], np.array([3, 4]), -1, 2.5, "text"):
        yield sample(value)


_OWN: Final[dict[str, Callable[[], Iterator[Sample]]]] = {
    "choice": _choices,
    "dirichlet": _dirichlets,
    "integers": _integers,
    "multinomial": _multinomials,
    "multivariate_hypergeometric": _colors,
    "permutation": _permutations,
    "permuted": _permuted,
    "rand": _sizes,
    "randint": _integers,
    "randn": _sizes,
    "seed": _seeds,
    "shuffle": _shuffles,
}


def _calls(owner: str, name: str) -> Iterator[Sample]:
    """Yield the arguments of a function, without a generator."""
    random = np.random
    where = random if owner == "module" else getattr(random, owner)
    if name in _OWN:
        found = _OWN[name]()
        axis = owner == "Generator" and name in ("permutation", "shuffle")
        yield from _axes(found) if axis else found
        return
    yield from _distribution(getattr(where, {"sample": "random", "ranf": "random"}.get(name, name)))
    if owner == "Generator" and name in ("random", "standard_normal", "standard_exponential"):
        yield from _typed()
    if owner == "Generator" and name == "standard_gamma":
        yield from _with_shape(_typed())
    if name == "standard_exponential" and owner == "Generator":
        yield sample(3, method="inv")


def _constructions(name: str) -> Iterator[Sample]:
    random = np.random
    if name != "Generator":
        yield from _seeds()
    if name == "SeedSequence":
        return
    yield sample(random.PCG64(3))
    if name not in ("Generator", "RandomState"):
        yield sample(random.SeedSequence(3))
    yield sample(random.default_rng(3))
    if name == "default_rng":
        yield sample(seed=3)
        yield sample(random.RandomState(3))


def __getattr__(name: str) -> Sampler:
    owner, dot, function = name.partition(".")
    if not dot:
        raise AttributeError(name)

    def sampler(dtype: np.dtype[Any]) -> Iterator[Sample]:
        if dtype != _DTYPE:
            return
        if owner == "new":
            yield from _constructions(function)
            return
        for one in _calls(owner, function):
            if owner == "module":
                yield one
                continue
            make = np.random.RandomState if owner == "RandomState" else np.random.default_rng
            yield sample(make(3), *one.args, **one.kwargs)

    return sampler
